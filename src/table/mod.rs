//! Tables on disk: reading CSV, TSV, ARFF and Parquet into typed columns, and writing CSV and Parquet.
//!
//! A column is numeric (missing cells are NaN) or text (cells are codes into a list of levels). Text files
//! carry no types, so [`read`] decides per column and refuses what looks like a slip: a few words in a
//! column of numbers, numbers with a decimal comma or a percent sign, infinite values. The options settle such cases.
//! A cell is missing if it is empty or says NA, N/A, NaN, null, none or ?, or what spreadsheets write for an error,
//! such as #N/A or #DIV/0!.

mod arff;
mod cells;
mod delimited;
mod delimiter;
mod error;
mod parquet;
mod records;
mod scan;
mod source;
mod suggest;
mod write;

use std::collections::HashMap;
use std::path::Path;

pub use error::{Place, TableError};
pub(crate) use error::{did_you_mean, excerpt, how_to_correct};
pub use suggest::nearest;
pub(crate) use write::number_text;
pub use write::{write_csv, write_parquet};

use source::Source;

/// Code of a missing cell in [`Values::Text`].
pub const MISSING: u32 = u32::MAX;

/// Columns of equal length with distinct names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: usize,
    ignored: Vec<String>,
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
    pub fn new(columns: Vec<Column>) -> Result<Table, TableError> {
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
            return Err(TableError::BadColumn { column, message });
        }
        Ok(Table { columns, rows, ignored: Vec::new() })
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
        self.columns.iter().find(|column| column.name == name)
    }

    /// Names of the columns that the file has but that were left out when it was read.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
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
}

/// How a file is read; the default recognises everything.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Format; by default told from the file's extension, or else from its first bytes.
    pub format: Option<Format>,
    /// Delimiter of CSV and TSV files; by default what a first line such as `sep=;` says, or else recognised (CSV) or
    /// the tab (TSV).
    pub delimiter: Option<u8>,
    /// Columns to keep as text even if they hold only numbers.
    pub text_columns: Vec<String>,
    /// Columns that must be numeric: any other text in them is an error.
    pub numeric_columns: Vec<String>,
    /// Columns to leave out of the table.
    pub ignored_columns: Vec<String>,
    /// Pass over names in these lists that the file does not have, instead of refusing the file.
    pub allow_absent: bool,
}

/// Reads the table at `path`, or from standard input if `path` is `-`.
///
/// Text files are streamed: memory holds the columns, not the file. Standard input is kept in memory as
/// well, because a column may turn out to be text only after its first cells were read as numbers.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table, TableError> {
    let mut source = Source::new(path)?;
    let format = match options.format.or_else(|| format_of_name(path)) {
        Some(format) => format,
        None => format_of_content(&source.head()?),
    };
    let mut table = match format {
        Format::Csv => delimited::read(&mut source, None, options)?,
        Format::Tsv => delimited::read(&mut source, Some(b'\t'), options)?,
        Format::Arff => arff::read(&mut source, options)?,
        Format::Parquet => parquet::read(&mut source, options)?,
    };
    if table.rows == 0 {
        let file = source.name().to_owned();
        return Err(TableError::NoRows { file });
    }
    // The reader has checked them: without `allow_absent` the file has each of these.
    if !options.allow_absent {
        table.ignored = options.ignored_columns.clone();
    }
    Ok(table)
}

fn format_of_name(path: &Path) -> Option<Format> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "arff" => Some(Format::Arff),
        "parquet" | "pq" => Some(Format::Parquet),
        _ => None,
    }
}

fn format_of_content(head: &[u8]) -> Format {
    if head.starts_with(b"PAR1") {
        return Format::Parquet;
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && !line.starts_with(b"%"));
    let starts_arff = |line: &[u8]| {
        let word = line.split(u8::is_ascii_whitespace).next().unwrap_or(line);
        word.eq_ignore_ascii_case(b"@relation") || word.eq_ignore_ascii_case(b"@attribute")
    };
    if first.is_some_and(starts_arff) { Format::Arff } else { Format::Csv }
}

/// What the options want of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// Decide from the cells, or keep the type that the file declares.
    Guess,
    Text,
    Numeric,
    Ignore,
}

impl Wish {
    fn name(self) -> &'static str {
        match self {
            Wish::Guess => "unspecified",
            Wish::Text => "text",
            Wish::Numeric => "numeric",
            Wish::Ignore => "ignored",
        }
    }
}

/// Matches the options with the columns of a file, and checks the names of both.
fn plan(file: &str, names: &[String], options: &ReadOptions) -> Result<Vec<Wish>, TableError> {
    let positions = check_names(file, names.iter().map(String::as_str))?;
    let mut wishes = vec![Wish::Guess; names.len()];
    let lists = [
        (&options.text_columns, Wish::Text),
        (&options.numeric_columns, Wish::Numeric),
        (&options.ignored_columns, Wish::Ignore),
    ];
    for (list, wish) in lists {
        for column in list {
            let Some(&position) = positions.get(column.as_str()) else {
                if options.allow_absent {
                    continue;
                }
                return Err(TableError::UnknownColumn {
                    file: file.to_owned(),
                    column: column.clone(),
                    nearest: nearest(column, names.iter().map(String::as_str)).map(String::from),
                });
            };
            let before = std::mem::replace(&mut wishes[position], wish);
            if before != Wish::Guess && before != wish {
                return Err(TableError::Conflict { column: column.clone(), first: before.name(), second: wish.name() });
            }
        }
    }
    Ok(wishes)
}

/// Refuses empty and repeated names; gives the position of each.
fn check_names<'a>(file: &str, names: impl Iterator<Item = &'a str>) -> Result<HashMap<&'a str, usize>, TableError> {
    let mut positions = HashMap::new();
    for (position, name) in names.enumerate() {
        if name.trim().is_empty() {
            return Err(TableError::UnnamedColumn { file: file.to_owned(), position: position + 1 });
        }
        if let Some(first) = positions.insert(name, position) {
            return Err(TableError::DuplicateColumn {
                file: file.to_owned(),
                name: name.to_owned(),
                first: first + 1,
                second: position + 1,
            });
        }
    }
    Ok(positions)
}
