//! The one error type of the library: what its stages return converts to it. Every variant says what happened, where,
//! and what to do about it.

use crate::data::EncodeError;
use crate::memory::Shortage;
use crate::metrics::MetricsError;
use crate::table::{ColumnsError, number_text};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What can go wrong. Failing to converge is not an error: it is a [`Stop`](crate::Stop) reason of the fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file to go on from that cannot be written.
    #[error("checkpoint {}: {problem}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },

    /// More memory would be needed than there is.
    #[error(transparent)]
    Memory(#[from] Shortage),

    /// Sums over rows that do not fit together.
    #[error("accumulator: {0}")]
    Accumulator(String),

    /// Two tables that must have matching shapes do not.
    #[error("{what} has {found} {unit}, expected {expected}")]
    Shape {
        /// The table that is off.
        what: &'static str,
        /// What is counted: rows or columns.
        unit: &'static str,
        /// How many were found.
        found: usize,
        /// How many were needed.
        expected: usize,
    },
    /// There is nothing to learn from.
    #[error("the data have no {0}; at least one is needed")]
    Empty(&'static str),
    /// A number that must be finite is not.
    #[error("{what}, row {row}, column \"{column}\": {value} is not a finite number; {remedy}", row = row + 1)]
    NotFinite {
        /// The table it stands in.
        what: &'static str,
        /// Row, counted from zero (the message counts from one).
        row: usize,
        /// Column name.
        column: String,
        /// The offending value.
        value: f64,
        /// What the user can do.
        remedy: &'static str,
    },
    /// A finite number that cannot be computed with.
    #[error("{what}, row {row}, column \"{column}\": {} is {problem}", number_text(*value), row = row + 1)]
    TooLarge {
        /// The table it stands in.
        what: &'static str,
        /// Row, counted from zero (the message counts from one).
        row: usize,
        /// Column name.
        column: String,
        /// The offending value.
        value: f64,
        /// Too large for what, and what the user can do.
        problem: &'static str,
    },
    /// A row weight is negative or not finite, or all are zero.
    #[error("row weights: {0}")]
    Weights(String),
    /// A target column has no observed cell.
    #[error("target \"{0}\" has no observed value; remove it or supply at least one row in which it is known")]
    TargetUnobserved(String),
    /// The joint distribution of observations was asked for, and a target is learned transformed.
    #[error(
        "target \"{0}\" is learned transformed, so that its observations have no joint normal distribution; draw from it \
         instead, or fit with target-transform none"
    )]
    TransformedCovariance(String),
    /// Columns that are said to be the levels of one text do not fit the inputs.
    #[error(
        "columns {block:?} cannot be the levels of one text; give ranges of the {inputs} inputs, counted from 0, in \
         rising order and none empty"
    )]
    OneHot {
        /// The range that does not fit.
        block: Range<usize>,
        /// Number of inputs.
        inputs: usize,
    },
    /// A table that was read, or given, cannot be used as asked.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Columns do not form a table.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// A table could not be read or written: what the crate that did it says.
    #[error(transparent)]
    Table(Box<dyn std::error::Error + Send + Sync>),
    /// A setting is outside its range, or two settings contradict each other.
    #[error("setting `{name}`: {problem}")]
    Setting {
        /// Name of the field.
        name: &'static str,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// Nothing of this kind has this name.
    #[error(
        "no {kind} is called \"{name}\"{}; the {kind}s are {}",
        nearest.map(|near| format!(" (did you mean \"{near}\"?)")).unwrap_or_default(),
        known.join(", ")
    )]
    Unknown {
        /// A setting or a method.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// A known name that looks like it.
        nearest: Option<&'static str>,
        /// All names.
        known: Vec<&'static str>,
    },
    /// Something that is defined for the training data alone was asked for with other data.
    #[error(
        "{0} needs the very data the model was fitted to, and these differ; give the same rows in the same order, with \
         the same weights, or fit the model to these"
    )]
    OtherData(&'static str),
    /// Sinusoids fitted to a kernel machine were not drawn from a kernel.
    #[error("sinusoids fitted to a kernel machine have no kernel view; fit that machine, with form kernel")]
    NoKernelView,
    /// An encoder or a check that belongs to another model.
    #[error("the {what} does not fit the model: {problem}; use the one made from the model's training data")]
    Foreign {
        /// What does not fit.
        what: &'static str,
        /// Why.
        problem: String,
    },
    /// An explanation of an input that is not there.
    #[error("there is no input {position}; they are numbered from 0 to {}", inputs - 1)]
    UnknownInput {
        /// The position asked for.
        position: usize,
        /// How many inputs there are.
        inputs: usize,
    },
    /// A dependence on a pair of inputs that are one.
    #[error("a dependence on two inputs needs two different ones, not input {0} twice; choose another")]
    SameInput(usize),
    /// A report without row data would disclose single rows.
    #[error("a report without row data: {0}")]
    RowData(String),
    /// A matrix that is positive definite in exact arithmetic was not, in floating point.
    #[error(
        "the {size}×{size} system of the weights is numerically singular (noise precision {noise:e}); \
         a larger prior on the noise or fewer features helps"
    )]
    Singular {
        /// Side of the matrix.
        size: usize,
        /// Noise precision it was built with.
        noise: f64,
    },
    /// A method cannot do what the data ask of it.
    #[error("method {method}: {problem}")]
    Unsupported {
        /// Its name.
        method: &'static str,
        /// What it cannot do, and what to do instead.
        problem: String,
    },
    /// Rows cannot be split for cross-validation as asked.
    #[error("{place}: {problem}")]
    Folds {
        /// The file or the setting that asks for it.
        place: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// One of the refits of a check failed.
    #[error("refit {number} of {total}: {problem}")]
    Refit {
        /// Which, counted from one.
        number: usize,
        /// How many there are.
        total: usize,
        /// Why.
        problem: Box<Error>,
    },
    /// The device that was asked for cannot be used: what is missing, and what to do.
    #[error("device: {0}")]
    Device(String),
    /// Threads could not be started.
    #[error("cannot start threads: {0}; use fewer of them")]
    Threads(String),
    /// Predictions could not be scored.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A file could not be read or written.
    #[error("{path}: {cause}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said. The message shows it, so it is not a `source()` besides.
        cause: std::io::Error,
    },
    /// A journal of selections, or another file of records, is not what it should be.
    #[error("{path}: {problem}", path = path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A model file, or the text of one, is not what it should be.
    #[error("{}{problem}", path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default())]
    ModelFile {
        /// The file; none for a text.
        path: Option<PathBuf>,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// Something could not be written as JSON.
    #[error("{what} cannot be written as JSON: {problem}")]
    Json {
        /// What it was.
        what: &'static str,
        /// Why.
        problem: String,
    },
}

impl Error {
    /// What the operating system said about a file.
    pub fn io(path: &Path) -> impl Fn(std::io::Error) -> Error {
        |cause| Error::Io { path: path.to_owned(), cause }
    }
}

/// Shorthand for results of this library.
pub type Result<T> = std::result::Result<T, Error>;
