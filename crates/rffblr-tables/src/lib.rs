//! Tables on disk: reading CSV, TSV, ARFF and Parquet into typed columns, and writing CSV and Parquet.
//!
//! A column is numeric (missing cells are NaN) or text (cells are codes into a list of levels). Text files
//! carry no types, so [`read`] decides per column and refuses what looks like a slip: a few words in a
//! column of numbers, numbers with a decimal comma or a percent sign, infinite values. The options settle such cases.
//! A cell is missing if it is empty or says NA, N/A, NaN, null, none or ?, or what spreadsheets write for an error,
//! such as #N/A or #DIV/0!.
//!
//! # From a file to a model
//!
//! ```
//! use rffblr::Settings;
//! use rffblr::data::{MissingInputs, Roles, TrainingTable};
//! use rffblr_tables::ReadOptions;
//!
//! # fn main() -> rffblr::Result<()> {
//! # std::env::set_current_dir("../../examples").unwrap();
//! let table = rffblr_tables::read("soil.csv", &ReadOptions::default())?;
//! let training = TrainingTable::new(table, Roles::of_targets(["cadmium", "copper", "lead"]), MissingInputs::Impute)?;
//! let model = training.fit(&Settings::DEFAULT)?;
//!
//! // What a user should know: the column `site` is different in every row, so that it is not an input.
//! assert!(training.notes()[0].to_string().starts_with("column 'site' is different in every row"));
//! // The model keeps how text and gaps became numbers, and predicts from tables of the same kind.
//! let (inputs, _) = model.table_encoder().inputs(&rffblr_tables::read("soil.csv", &model.table_encoder().read_options())?)?;
//! let prediction = model.predict(inputs.as_ref())?;
//! assert_eq!(prediction.mean.nrows(), 120);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

/// The code in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod arff;
mod cells;
mod delimited;
mod delimiter;
mod error;
mod guess;
mod parquet;
mod records;
mod scan;
mod source;
mod stream;
mod write;

use std::path::Path;

pub use error::{Place, TableError};
pub use rffblr::table::{Column, ColumnsError, Format, MISSING, ReadOptions, Table, Values, nearest};
pub use stream::{Block, Blocks, FileFit, FileModel, FromFiles, Parts, Stage, TypedParts, Types};
pub use write::{Writer, write_csv, write_parquet};

use rffblr::internals::check_names;
use source::Source;

/// Reads the table at `path`, or from standard input if `path` is `-`.
///
/// Text files are streamed: memory holds the columns, not the file. Standard input is kept in memory as
/// well, because a column may turn out to be text only after its first cells were read as numbers.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table, TableError> {
    let path = path.as_ref();
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
    if table.rows() == 0 {
        let file = source.name().to_owned();
        return Err(TableError::NoRows { file });
    }
    // The reader has checked them: without `allow_absent` the file has each of these.
    if !options.allow_absent {
        table = table.leaving_out(options.ignored_columns.clone());
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
