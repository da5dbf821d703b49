//! A table of typed columns, as an [`Encoder`](crate::data::Encoder) takes it, and what is wanted of a file that holds one.
//!
//! A column is numeric (missing cells are NaN) or text (cells are codes into a list of levels). Files are read by the
//! crate `rffblr-tables`; anything else may build its columns itself.

pub(crate) mod cells;
mod dates;
pub(crate) mod pattern;
mod suggest;
pub(crate) mod words;

use crate::data::Note;
use std::collections::{BTreeMap, HashMap};

pub(crate) use dates::day_of_month;
pub use dates::{AreDates, DAY, DateOrder, DateTexts, Moment, date_text, moment};
pub use suggest::nearest;
pub(crate) use words::{did_you_mean, excerpt, how_to_correct, how_to_predict, number_text};

/// Code of a missing cell in [`Values::Text`].
pub const MISSING: u32 = u32::MAX;

/// Columns of equal length with distinct names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    /// Where each name is among them.
    places: BTreeMap<String, usize>,
    rows: usize,
    ignored: Vec<String>,
    notes: Vec<Note>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, unique in the table.
    pub name: String,
    /// One value for every row.
    pub values: Values,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN is a missing cell.
    Numeric(Vec<f64>),
    /// Text, stored once per distinct value.
    Text {
        /// Distinct texts: in declared order for a nominal ARFF attribute, else in order of first appearance.
        levels: Vec<String>,
        /// For every row the position of its text in `levels`, or [`MISSING`].
        codes: Vec<u32>,
    },
}

impl Column {
    /// Whether it holds numbers.
    pub fn is_numeric(&self) -> bool {
        matches!(self.values, Values::Numeric(_))
    }
}

impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Numeric(numbers) => numbers.len(),
            Values::Text { codes, .. } => codes.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// Joins columns into a table; fails on unequal lengths, repeated or empty names, or codes without a level.
    pub fn new(columns: Vec<Column>) -> Result<Table, ColumnsError> {
        let rows = columns.first().map_or(0, |column| column.values.len());
        check_names("the table", columns.iter().map(|c| c.name.as_str()))?;
        for column in &columns {
            let found = column.values.len();
            let message = match &column.values {
                _ if found != rows => format!("{found} rows where the first column has {rows}"),
                Values::Text { levels, codes } => {
                    let stray = |&&code: &&u32| code != MISSING && code as usize >= levels.len();
                    match codes.iter().find(stray) {
                        Some(code) => {
                            format!("code {code} without a level; there are {}", levels.len())
                        }
                        None => continue,
                    }
                }
                Values::Numeric(_) => continue,
            };
            let column = column.name.clone();
            return Err(ColumnsError::BadColumn { column, message });
        }
        let places = columns.iter().enumerate().map(|(place, column)| (column.name.clone(), place)).collect();
        Ok(Table { columns, places, rows, ignored: Vec::new(), notes: Vec::new() })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns in the order of the file.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column called `name`, exactly; see [`nearest`] for a suggestion when there is none.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.places.get(name).map(|&place| &self.columns[place])
    }

    /// Names of the columns that the file has but that were left out when it was read.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// The same table, read from a file that has these columns too.
    #[doc(hidden)]
    pub fn leaving_out(self, ignored: Vec<String>) -> Table {
        Table { ignored, ..self }
    }

    /// What a user may not expect of how it was read.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The same table with more to know about how it was read.
    #[doc(hidden)]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = Note>) -> Table {
        self.notes.extend(notes);
        self
    }

    /// Hands over the columns.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }
}

/// File formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text with a header line and a delimiter, which is recognised among comma, semicolon, tab and bar.
    Csv,
    /// Text with a header line and tabs between the cells.
    Tsv,
    /// Attribute-relation file format, dense or sparse.
    Arff,
    /// Apache Parquet with flat columns.
    Parquet,
    /// Apache Arrow file, also called Feather, with flat columns.
    Arrow,
    /// A sheet of a workbook: .xlsx, .xlsb, .xls or .ods.
    Workbook,
}

/// Encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEncoding {
    /// The usual one.
    Utf8,
    /// Two bytes for most letters, as Windows writes 'Unicode text'.
    Utf16,
    /// One byte for each letter, with the signs of Windows-1252.
    Latin1,
}

/// Mark between the digits of a number and its decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimal {
    /// As in 1.5.
    Point,
    /// As in 1,5.
    Comma,
}

/// How a file is read; the default recognises everything.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Format; by default recognised by the file's extension, or else from its first bytes.
    pub format: Option<Format>,
    /// Delimiter of CSV and TSV files; by default what a first line such as `sep=;` says, or else recognised (CSV) or
    /// the tab (TSV).
    pub delimiter: Option<u8>,
    /// Encoding of text; by default recognised.
    pub encoding: Option<TextEncoding>,
    /// Decimal mark of text, whose digits may then stand in groups of three; by default recognised from the first rows.
    pub decimal: Option<Decimal>,
    /// Name or number, from 1, of the sheet of a workbook; by default the first.
    pub sheet: Option<String>,
    /// Columns to keep as text even if they hold only numbers.
    pub text_columns: Vec<String>,
    /// Columns that must be numeric: any other text in them is an error.
    pub numeric_columns: Vec<String>,
    /// Columns to leave out of the table.
    pub ignored_columns: Vec<String>,
    /// Pass over names in these lists that the file does not have, instead of refusing the file.
    pub allow_absent: bool,
    /// Take a table without rows, instead of refusing it.
    pub allow_empty: bool,
    /// Read what unpacks to absurdly many bytes, as few tables do and files made to do harm, instead of refusing it.
    pub allow_expansion: bool,
}

/// Why columns do not form a table. `file` is where they come from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the place and the text that the message shows")]
pub enum ColumnsError {
    /// Two columns share a name.
    #[error("{file}: columns {first} and {second} are both named {}; rename one of them", excerpt(name))]
    Duplicate { file: String, name: String, first: usize, second: usize },

    /// A column without a name.
    #[error(
        "{file}: column {position} has no name; name it in the header or remove it (often a row index, or a \
         delimiter at the end of every line)"
    )]
    Unnamed { file: String, position: usize },

    /// A column of another length, or with codes that mean nothing.
    #[error("column {}: {message}", excerpt(column))]
    BadColumn { column: String, message: String },
}

/// Refuses empty and repeated names; gives the position of each.
pub fn check_names<'a>(
    file: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<HashMap<&'a str, usize>, ColumnsError> {
    let mut positions = HashMap::new();
    for (position, name) in names.enumerate() {
        if name.trim().is_empty() {
            return Err(ColumnsError::Unnamed { file: file.to_owned(), position: position + 1 });
        }
        if let Some(first) = positions.insert(name, position) {
            return Err(ColumnsError::Duplicate {
                file: file.to_owned(),
                name: name.to_owned(),
                first: first + 1,
                second: position + 1,
            });
        }
    }
    Ok(positions)
}
