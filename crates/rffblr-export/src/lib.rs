//! Models of [`rffblr`] for use without it: ONNX, Python, C, JavaScript, SQL and workbooks.
//!
//! Every writer has its own short module and begins with the same formula (`formula.rs`): inputs are encoded and
//! standardised, terms are computed, and from these mean, standard deviation and interval of each target. What each target carries, how precise
//! it is and what it cannot do is in `docs/exports.md`.

#![warn(missing_docs)]

mod c;
mod formula;
mod onnx;
mod protobuf;
mod script;
mod sql;
mod text;
mod workbook;

use formula::{Formula, called};
use rffblr::Model;
use rffblr::internals::plain_size;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use text::{Names, commented};

/// What a model can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A graph of ONNX, in double precision.
    Onnx,
    /// One file of Python that needs its standard library alone.
    Python,
    /// One header of C99.
    C,
    /// One module of JavaScript.
    JavaScript,
    /// A SELECT.
    Sql(Dialect),
    /// A workbook with formulas.
    Xlsx,
}

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Dialect {
    #[default]
    Sqlite,
    Postgresql,
    Duckdb,
}

impl Target {
    /// Names of all.
    pub const NAMES: [&str; 6] = ["onnx", "python", "c", "javascript", "sql", "xlsx"];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Target::Onnx => "onnx",
            Target::Python => "python",
            Target::C => "c",
            Target::JavaScript => "javascript",
            Target::Sql(_) => "sql",
            Target::Xlsx => "xlsx",
        }
    }

    /// How the names of its files usually end.
    pub fn ending(self) -> &'static str {
        match self {
            Target::Onnx => "onnx",
            Target::Python => "py",
            Target::C => "h",
            Target::JavaScript => "mjs",
            Target::Sql(_) => "sql",
            Target::Xlsx => "xlsx",
        }
    }

    /// What the ending of a file's name stands for.
    pub fn of_ending(ending: &str) -> Option<Target> {
        match ending.to_ascii_lowercase().as_str() {
            "js" => Some(Target::JavaScript),
            ending => {
                Target::NAMES.iter().filter_map(|name| name.parse::<Target>().ok()).find(|t| t.ending() == ending)
            }
        }
    }

    /// Most numbers that such a file may be made of.
    fn room(self) -> usize {
        match self {
            // The format allows two gigabytes, and triangles are stored as squares.
            Target::Onnx => 100_000_000,
            // Some forty megabytes of text.
            Target::Python | Target::C | Target::JavaScript => 2_000_000,
            Target::Sql(_) => 40_000,
            Target::Xlsx => 100_000,
        }
    }

    /// Most columns and terms, where they become columns of tables.
    fn width(self) -> usize {
        match self {
            // PostgreSQL has at most 1600 columns, SQLite 2000.
            Target::Sql(_) => 1500,
            // As many columns as every program has.
            Target::Xlsx => 1000,
            _ => usize::MAX,
        }
    }
}

impl FromStr for Target {
    type Err = ExportError;

    fn from_str(name: &str) -> Result<Target> {
        Ok(match name {
            "onnx" => Target::Onnx,
            "python" => Target::Python,
            "c" => Target::C,
            "javascript" => Target::JavaScript,
            "sql" => Target::Sql(Dialect::default()),
            "xlsx" => Target::Xlsx,
            _ => return Err(ExportError::Unknown { what: "target", name: name.into(), known: &Target::NAMES }),
        })
    }
}

impl Dialect {
    /// Names of all.
    pub const NAMES: [&str; 3] = ["sqlite", "postgresql", "duckdb"];
}

impl FromStr for Dialect {
    type Err = ExportError;

    fn from_str(name: &str) -> Result<Dialect> {
        Ok(match name {
            "sqlite" => Dialect::Sqlite,
            "postgresql" => Dialect::Postgresql,
            "duckdb" => Dialect::Duckdb,
            _ => return Err(ExportError::Unknown { what: "dialect", name: name.into(), known: &Dialect::NAMES }),
        })
    }
}

/// What is wanted beside the model.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the model is called: in comments, and before the names of C.
    pub name: String,
    /// Probability of the interval; `None` leaves out standard deviations and intervals, and of a transformed target only
    /// the median is known then.
    pub coverage: Option<f64>,
    /// Of SQL, the table to predict.
    pub table: String,
    /// Of SQL, columns of that table to show before the predictions.
    pub keep: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { name: "model".into(), coverage: Some(0.9), table: "data".into(), keep: Vec::new() }
    }
}

/// A model, written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The file.
    pub bytes: Vec<u8>,
    /// What the inputs are, for a file beside it, where the file itself cannot say that to people.
    pub inputs: Option<String>,
}

/// Why a model is not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The model cannot be evaluated.
    #[error(transparent)]
    Model(#[from] rffblr::Error),
    /// It has too many numbers.
    #[error(
        "{model} with {inputs} columns of inputs {} {numbers} numbers, and {target} takes at most {room}",
        if *uncertain { "and its standard deviations has" } else { "has" }
    )]
    TooLarge {
        /// What it is.
        model: String,
        /// Its encoded inputs.
        inputs: usize,
        /// Whether they are with standard deviations.
        uncertain: bool,
        /// How many there are.
        numbers: usize,
        /// What it was to become.
        target: &'static str,
        /// How many are allowed.
        room: usize,
        /// Whether it has room without standard deviations.
        fits_without: bool,
    },
    /// It is too wide.
    #[error("{model} with {inputs} columns of inputs is too wide for {target}, which takes {room} columns and terms")]
    TooWide {
        /// What it is.
        model: String,
        /// Its encoded inputs.
        inputs: usize,
        /// What it was to become.
        target: &'static str,
        /// How many are allowed.
        room: usize,
    },
    /// Nothing has this name.
    #[error("no {what} is called \"{name}\"; they are {}", known.join(", "))]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// All names.
        known: &'static [&'static str],
    },
    /// The file cannot be put together.
    #[error("the workbook cannot be written: {0}")]
    Workbook(String),
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, ExportError>;

/// Where the inputs of an export are described, beside its file: `soil.inputs.json` for `soil.onnx`.
pub fn inputs_path(path: &Path) -> PathBuf {
    path.with_extension("inputs.json")
}

/// Writes a model for a target.
pub fn export(model: &Model, target: Target, options: &Options) -> Result<Export> {
    expect_room(model, target, options.coverage.is_some())?;
    let formula = Formula::new(model, options.coverage, about(model, target, options))?;
    if formula.width() > target.width() {
        let (inputs, room) = (formula.columns.len(), target.width());
        return Err(ExportError::TooWide { model: called(model), inputs, target: target.name(), room });
    }
    let text = match target {
        Target::Onnx => {
            let inputs = Some(onnx::inputs(&formula)?);
            return Ok(Export { bytes: onnx::model(&formula, &options.name)?, inputs });
        }
        Target::Xlsx => return Ok(Export { bytes: workbook::workbook(&formula)?, inputs: None }),
        Target::Python => script::python(&formula)?,
        Target::JavaScript => script::javascript(&formula)?,
        Target::C => c::header(&formula, &text::identifier(&options.name)),
        Target::Sql(dialect) => sql::select(&formula, dialect, options),
    };
    Ok(Export { bytes: text.into_bytes(), inputs: None })
}

fn expect_room(model: &Model, target: Target, uncertain: bool) -> Result<()> {
    let (inputs, room) = (model.input_names().len(), target.room());
    let numbers = plain_size(model, uncertain);
    if numbers > room {
        let fits_without = uncertain && plain_size(model, false) <= room;
        let (model, target) = (called(model), target.name());
        return Err(ExportError::TooLarge { model, inputs, uncertain, numbers, target, room, fits_without });
    }
    Ok(())
}

/// What stands at the top of a file.
fn about(model: &Model, target: Target, options: &Options) -> String {
    let (name, what) = (text::on_one_line(&options.name), called(model));
    let targets: Vec<String> = model.target_names().iter().map(|name| text::on_one_line(name)).collect();
    let interval = options.coverage.map_or(String::new(), |p| {
        format!(" Intervals hold an observation with probability {p}; standard deviations are those of an observation.")
    });
    format!(
        "{name}: a model of rffblr {}, written as {}.\n\nIt is {what}, learned from {} rows, and predicts {}.{interval}",
        env!("CARGO_PKG_VERSION"),
        target.name(),
        model.training_rows(),
        targets.join(", "),
    )
}
