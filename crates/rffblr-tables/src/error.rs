//! What can go wrong when a table is read or written.
//!
//! Every message says where (file, line or row, column), shows the offending text and names a remedy.

use std::fmt;
use std::io;

use super::records::MAX_RECORD;
use super::scan::MAX_CELLS;
use rffblr::data::EncodeError;
use rffblr::internals::{did_you_mean, excerpt, how_to_correct};
use rffblr::memory::Shortage;
use rffblr::table::ColumnsError;

/// Where a cell stands: text files have lines, Parquet files and stored columns have rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line of a text file, counted from 1.
    Line(u64),
    /// Row of data, counted from 1 without the header.
    Row(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Row(row) => write!(f, "data row {row}"),
        }
    }
}

impl From<TableError> for rffblr::Error {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Columns(error) => error.into(),
            TableError::Memory(error) => error.into(),
            error => rffblr::Error::Table(error.into()),
        }
    }
}

/// Why a table could not be read or written. It converts to [`rffblr::Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the place and the text that the message shows")]
pub enum TableError {
    /// The operating system refused to open or read the file.
    #[error("cannot read {file}: {cause}")]
    Read { file: String, cause: io::Error },

    /// More memory would be needed than there is.
    #[error(transparent)]
    Memory(#[from] Shortage),

    /// A little that becomes very much.
    #[error("{file}: {}", TableError::expansion(*packed, *unpacked))]
    Expansion { file: String, packed: u64, unpacked: u64 },

    /// A folder where a file is needed.
    #[error("{file} is a folder, not a table; name a file")]
    Folder { file: String },

    /// Nothing but blank lines.
    #[error("{file} is empty; expected column names followed by one row per line")]
    Empty { file: String },

    /// Column names without data.
    #[error("{file} has column names but no rows of data")]
    NoRows { file: String },

    /// A zero byte: not a text file.
    #[error(
        "{file}, line {line}: found a zero byte, so this is not plain text; tables are read from CSV, TSV, ARFF, \
         Parquet, Arrow, Excel and OpenDocument files, also packed by gzip or zstd"
    )]
    Binary { file: String, line: u64 },

    /// A file of a kind that is not read.
    #[error("{file} is {what}, which cannot be read; {remedy}")]
    Foreign { file: String, what: &'static str, remedy: &'static str },

    /// A damaged workbook, or one with a password.
    #[error(
        "{file} is not a readable workbook ({message}); open it in a spreadsheet and save the table as .xlsx or CSV"
    )]
    Workbook { file: String, message: String },

    /// A sheet that is not there.
    #[error("{file} has no sheet {}; it has '{sheets}'", excerpt(wanted))]
    NoSheet { file: String, wanted: String, sheets: String },

    /// A header that names less than half of the columns.
    #[error(
        "{file}: {nameless} of the {columns} columns have no name; write the names into the first line, and remove any title \
         above them"
    )]
    NoNames { file: String, nameless: usize, columns: usize },

    /// Text in another encoding.
    #[error(
        "{file}, line {line}: the text is not UTF-8; name its encoding (Latin-1 or UTF-16), or save it as UTF-8 (in a \
         spreadsheet: 'CSV UTF-8')"
    )]
    NotUtf8 { file: String, line: u64 },

    /// A text column of a Parquet file in another encoding.
    #[error(
        "{file}, {place}, column {}: the text is not UTF-8; ignore the column or write it as UTF-8",
        excerpt(column)
    )]
    NotUtf8InColumn { file: String, place: Place, column: String },

    /// A line (or a row with quoted line breaks) beyond the bound on memory.
    #[error(
        "{file}, line {line}: the row that starts here has more than {} MiB or {MAX_CELLS} cells; look for a missing \
         line break or a double quote that is never closed", MAX_RECORD >> 20
    )]
    LongLine { file: String, line: u64 },

    /// Double quotes that do not pair up.
    #[error("{file}, line {line}: a double quote {problem}")]
    Quote { file: String, line: u64, problem: &'static str },

    /// A row with too few or too many cells.
    #[error("{file}, line {line}: {found} cells where {expected} columns are declared; {hint}")]
    Ragged { file: String, line: u64, expected: usize, found: usize, hint: &'static str },

    /// One column was found, but the lines look split by something else.
    #[error(
        "{file}, line {line}: with {used} as the delimiter there is only one column, but this line holds {count} of \
         {other}; choose {other} as the delimiter and remove any title above the header"
    )]
    Delimiter { file: String, line: u64, used: &'static str, other: &'static str, count: usize },

    /// A delimiter that cannot separate cells.
    #[error("a double quote or a line break cannot be the delimiter; choose a comma, semicolon, tab or bar")]
    BadDelimiter,

    /// A cell without a number in a column that has to be numeric.
    #[error(
        "{file}, {place}, column {}: {} is not a number, and this column must be numeric; {}",
        excerpt(column),
        excerpt(text),
        how_to_correct(text)
    )]
    NotNumeric { file: String, place: Place, column: String, text: String },

    /// A few cells without a number in a column that is otherwise numeric.
    #[error(
        "{file}, {place}, column {}: {} is not a number, but {numbers} of the {cells} values in this column are; \
         correct it, leave the cell empty if the value is missing, or list the column as text",
        excerpt(column),
        excerpt(text)
    )]
    MostlyNumeric { file: String, place: Place, column: String, text: String, numbers: usize, cells: usize },

    /// Numbers with commas inside.
    #[error(
        "{file}, {place}, column {}: {} has a comma inside the number; say whether the decimal mark is a comma or a point, \
         write decimals with a point and no thousands separator, or list the column as text",
        excerpt(column),
        excerpt(text)
    )]
    CommaInNumber { file: String, place: Place, column: String, text: String },

    /// Numbers with percent signs.
    #[error(
        "{file}, column {}: {signs} of the {cells} values are numbers with a percent sign, such as {}; remove the \
         sign, or list the column as text",
        excerpt(column),
        excerpt(example)
    )]
    PercentSign { file: String, column: String, example: String, signs: usize, cells: usize },

    /// An infinite value, or one beyond the range of a double.
    #[error(
        "{file}, {place}, column {}: {} is not a finite number; correct it, leave the cell empty if the value is \
         missing, or ignore the column",
        excerpt(column),
        excerpt(text)
    )]
    Infinite { file: String, place: Place, column: String, text: String },

    /// A column named in the options is not in the file.
    #[error("{file} has no column {}{}", excerpt(column), TableError::instead(nearest, names))]
    UnknownColumn { file: String, column: String, nearest: Option<String>, names: Vec<String> },

    /// The options ask for two different things of one column.
    #[error("column {} is listed twice, as {first} and as {second}; keep one of them", excerpt(column))]
    Conflict { column: String, first: &'static str, second: &'static str },

    /// A nominal cell with a text that its attribute does not declare.
    #[error(
        "{file}, {place}, column {}: {} is not among the declared levels{}",
        excerpt(column),
        excerpt(text),
        did_you_mean(nearest)
    )]
    UnknownLevel { file: String, place: Place, column: String, text: String, nearest: Option<String> },

    /// An ARFF file that breaks the rules of its format.
    #[error("{file}, line {line}: {message}")]
    Arff { file: String, line: u64, message: String },

    /// A kind of column that has no place in the table.
    #[error("{file}, column {}: {kind} cannot be read; ignore the column or {remedy}", excerpt(column))]
    Unsupported { file: String, column: String, kind: String, remedy: &'static str },

    /// Parquet data packed by a codec that is not built in.
    #[error(
        "{file}, column {}: compressed with {codec}; write the file with snappy, zstd or no compression",
        excerpt(column)
    )]
    Codec { file: String, column: String, codec: String },

    /// A damaged or truncated file of columns.
    #[error("{file} is not a readable {format} file ({message}); write or copy it again")]
    Damaged { file: String, format: &'static str, message: String },

    /// The file differed between the two passes over it.
    #[error("{file} changed while it was being read; try again once it is complete")]
    Changed { file: String },

    /// A file that was there when it was first looked at.
    #[error(
        "{file} is gone, although it was there at the start; put it back and start again, which goes on from the checkpoint if there is one"
    )]
    Vanished { file: String },

    /// A caller asked to stop.
    #[error("reading was stopped before its end")]
    Stopped,

    /// Nothing that a folder, a pattern or a list stands for.
    #[error(
        "{path} names no CSV, TSV or Parquet file; name files, a folder with some, or a pattern such as 'data/*.csv'"
    )]
    NoFiles { path: String },

    /// A format or a source that cannot be read block by block.
    #[error("{file}: {what} cannot be read block by block; write it as a CSV or Parquet file, or read it as a whole")]
    NotInBlocks { file: String, what: &'static str },

    /// Text and Parquet files, which are likely the same rows twice.
    #[error(
        "{file} and {first} are of different formats; name files of one format only, with a pattern such as \
         'data/*.parquet' if they share a folder"
    )]
    MixedFormats { file: String, first: String },

    /// Files of one table with different columns.
    #[error(
        "{file} {} column {}, {first} {}; give both the same columns, ignore this one, or leave the file out",
        if *extra { "has a" } else { "has no" },
        excerpt(column),
        if *extra { "has not" } else { "has" }
    )]
    OtherColumns { file: String, first: String, column: String, extra: bool },

    /// Files of one table that declare different types.
    #[error(
        "{file}, column {}: {here} here, {there} in {first}; write both with one type, ignore the column, or list \
         it as text",
        excerpt(column)
    )]
    OtherType { file: String, first: String, column: String, here: &'static str, there: &'static str },

    /// Rows of a file that cannot be used as asked; they are counted from its first one.
    #[error("{file}: {cause}")]
    Rows { file: String, cause: EncodeError },

    /// Columns that do not form a table.
    #[error(transparent)]
    Columns(#[from] ColumnsError),

    /// The table could not be written.
    #[error("cannot write the table: {cause}")]
    Write { cause: io::Error },

    /// The Parquet encoder refused the table.
    #[error("cannot write the table as Parquet: {message}")]
    WriteParquet { message: String },
}

impl TableError {
    /// What to do about a column that is not there: the name that was meant, or else those that are there.
    fn instead(nearest: &Option<String>, names: &[String]) -> String {
        const NAMED: usize = 10;
        let shown = || names.iter().take(NAMED).map(|name| excerpt(name)).collect::<Vec<_>>().join(", ");
        match names {
            _ if nearest.is_some() => did_you_mean(nearest),
            [] => did_you_mean(nearest),
            [one] => {
                format!("; all it has is one column, {}: name the delimiter if this is not one name", excerpt(one))
            }
            _ if names.len() > NAMED => format!("; its columns are {} and {} more", shown(), names.len() - NAMED),
            _ => format!("; its columns are {}", shown()),
        }
    }

    /// What to say of bytes that become absurdly many.
    pub(super) fn expansion(packed: u64, unpacked: u64) -> String {
        format!(
            "{packed} bytes of it unpack to {unpacked} or more, as a table hardly does; if you trust the file, allow its \
             expansion (--allow-expansion)"
        )
    }
}
