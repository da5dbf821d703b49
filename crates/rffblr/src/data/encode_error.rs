//! What can go wrong between a table as it was read and the numbers a model sees.

use crate::memory::Shortage;
use crate::table::{did_you_mean, excerpt, how_to_correct, how_to_predict, number_text};
use crate::words::plural;

/// Why a table cannot be used as asked. Rows are counted from one, without the header.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the place and the text that the message shows")]
pub enum EncodeError {
    /// No target was named.
    #[error("no target was named; name the columns to predict, or say last:3 for the last three")]
    NoTargets,

    /// `last:` without a usable number.
    #[error("{} is not a number of targets; write last:3 for the last three columns", excerpt(text))]
    BadLast { text: String },

    /// `last:` with more columns than there are.
    #[error(
        "last:{asked} takes {asked} columns as targets, but the table has {available} and at least one must remain as \
         an input"
    )]
    LastTooMany { asked: usize, available: usize },

    /// A list of names that cannot be split.
    #[error(
        "{}: a double quote is never closed; a name that contains a comma is written \"like, this\", and a double quote in \
         it twice",
        excerpt(text)
    )]
    Quote { text: String },

    /// A position that the table does not have.
    #[error("there is no column #{position}; the table has {columns}, counted from 1")]
    NoSuchColumn { position: usize, columns: usize },

    /// A pattern that no name fits.
    #[error("no column has a name like {}; * stands for any letters and ? for one", excerpt(pattern))]
    NoMatch { pattern: String },

    /// A pattern where one column is wanted.
    #[error("{} stands for {found} columns, but one is wanted here; name it", excerpt(text))]
    SeveralColumns { text: String, found: usize },

    /// A name that the table does not have.
    #[error("the table has no column {} to use as {role}{}", excerpt(name), did_you_mean(nearest))]
    UnknownColumn { role: &'static str, name: String, nearest: Option<String> },

    /// One column, two roles.
    #[error("column {} is named as {first} and as {second}; keep one of them", excerpt(name))]
    TwoRoles { name: String, first: &'static str, second: &'static str },

    /// The same name twice in one list.
    #[error("column {} is named twice as {role}; once is enough", excerpt(name))]
    NamedTwice { role: &'static str, name: String },

    /// Nothing to predict from.
    #[error(
        "no input column is left: every column is a target, a weight, ignored, the same in all rows, or a text that is \
         different in every row"
    )]
    NoInputs,

    /// No row says anything about a target.
    #[error(
        "no row has a value for {}; there is nothing to learn from: fill it in, or name another target",
        if *targets == 1 { "the target" } else { "any of the targets" }
    )]
    NoRows { targets: usize },

    /// A row that the table does not have.
    #[error("there is no data row {row}; the table has {rows}")]
    NoSuchRow { row: usize, rows: usize },

    /// A column that must be numeric is not.
    #[error(
        "data row {row}, column {}: {} is not a number, but {role} must be numeric; {}",
        excerpt(column),
        excerpt(text),
        if *role == "a target" { how_to_predict(text) } else { how_to_correct(text).into() }
    )]
    NotNumeric { role: &'static str, column: String, row: usize, text: String },

    /// A row weight that is missing, negative or infinite.
    #[error(
        "data row {row}, column {}: the row weight is {}; weights are finite numbers, not negative",
        excerpt(column), if value.is_nan() { "missing".to_string() } else { number_text(*value) }
    )]
    BadWeight { column: String, row: usize, value: f64 },

    /// A row of which it is not known where it belongs.
    #[error("data row {row}, column {}: {role} is missing; fill it in, or remove the row", excerpt(column))]
    NoPlace { role: &'static str, column: String, row: usize },

    /// A text that is not a time.
    #[error(
        "data row {row}, column {}: {} is not a time; a time is a number or a date such as 2024-05-31, 31.05.2024 14:30 \
         or 2024-05-31T14:30:05Z",
        excerpt(column),
        excerpt(text)
    )]
    NotATime { column: String, row: usize, text: String },

    /// A text that is not a date, in a column of dates.
    #[error(
        "data row {row}, column {}: {} is not a date, and this column has dates; write it as 2024-05-31 or 2024-05-31 \
         14:30, or leave the cell empty if it is missing",
        excerpt(column),
        excerpt(text)
    )]
    NotADate { column: String, row: usize, text: String },

    /// Texts that are dates but for a few.
    #[error(
        "{}column {}: {} is not a date, but {dates} of the {cells} values in this column are; correct it, leave the cell \
         empty if the value is missing, or list the column as text",
        of_row(row),
        excerpt(column),
        excerpt(text)
    )]
    MostlyDates { column: String, row: Option<usize>, text: String, dates: u64, cells: u64 },

    /// Dates that are others with day and month exchanged.
    #[error(
        "{}column {}: {} and all other dates in this column can be read with the day first or with the month first; say \
         which, or write them as 2024-05-31",
        of_row(row),
        excerpt(column),
        excerpt(text)
    )]
    AmbiguousDates { column: String, row: Option<usize>, text: String },

    /// A missing input where none is allowed.
    #[error(
        "data row {row}, column {}: the input is missing; fill it in, ignore the column, or let missing inputs be \
         imputed",
        excerpt(column)
    )]
    MissingInput { column: String, row: usize },

    /// More memory would be needed than there is.
    #[error(transparent)]
    Memory(#[from] Shortage),

    /// An input without any value.
    #[error("column {} has no value in any row; name another one or fill it in", excerpt(column))]
    EmptyColumn { column: String },

    /// Two encoded columns would have one name.
    #[error(
        "columns {} and {} would both be encoded as {}; rename one of them",
        excerpt(first),
        excerpt(second),
        excerpt(name)
    )]
    SameEncodedName { name: String, first: String, second: String },

    /// Inputs of the model that the table lacks.
    #[error("the table lacks {} that the model was trained on: {}", plural(.0.len(), "input column"), listed(.0))]
    MissingColumns(Vec<(String, Option<String>)>),

    /// More inputs than a model can be fitted to in reasonable time.
    #[error(
        "there are {inputs} input columns, text counted by its levels, and at most {most} can be learned from; ignore some of them"
    )]
    TooManyInputs { inputs: usize, most: usize },
}

impl EncodeError {
    /// The row it is about, if it is about one, for those who count it from elsewhere.
    pub fn row(&mut self) -> Option<&mut usize> {
        match self {
            EncodeError::NotNumeric { row, .. }
            | EncodeError::BadWeight { row, .. }
            | EncodeError::NoPlace { row, .. }
            | EncodeError::NotATime { row, .. }
            | EncodeError::NotADate { row, .. }
            | EncodeError::MissingInput { row, .. } => Some(row),
            EncodeError::MostlyDates { row, .. } | EncodeError::AmbiguousDates { row, .. } => row.as_mut(),
            _ => None,
        }
    }
}

/// The beginning of a message about a row, if it is known which.
fn of_row(row: &Option<usize>) -> String {
    row.map_or_else(String::new, |row| format!("data row {row}, "))
}

fn listed(names: &[(String, Option<String>)]) -> String {
    let one = |(name, nearest): &(String, Option<String>)| match nearest {
        Some(nearest) => format!("{} (did you mean {}?)", excerpt(name), excerpt(nearest)),
        None => excerpt(name),
    };
    const NAMED: usize = 10;
    let mut named: Vec<String> = names.iter().take(NAMED).map(one).collect();
    if names.len() > NAMED {
        named.push(format!("and {} more", names.len() - NAMED));
    }
    named.join(", ")
}
