//! Tables on disk: reading CSV, TSV, ARFF, Parquet, Arrow (Feather) and workbooks (.xlsx, .xls, .ods) into typed columns,
//! and writing CSV and Parquet. Files may be packed by gzip or zstd, and text be UTF-8, UTF-16 or Latin-1.
//!
//! A column is numeric (missing cells are NaN) or text (cells are codes into a list of levels). Text files
//! carry no types, so [`read`] decides per column and refuses what looks like a slip: a few words in a
//! column of numbers, numbers with a percent sign, infinite values. The options settle such cases. A decimal comma is
//! recognised; limits such as <0.5 among numbers count as missing, with a note.
//! A cell is missing if it is empty or says NA, N/A, NaN, null, none, ? or a single point, or what spreadsheets write for an error,
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

/// The code in the guide is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rust.md")]
struct Guide;

mod archive;
mod arff;
mod arrow;
mod cells;
mod delimited;
mod delimiter;
mod error;
mod foreign;
mod guess;
mod numerals;
mod packing;
mod pages;
mod panics;
mod parquet;
mod records;
mod scan;
mod source;
mod stream;
mod workbook;
mod write;

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

pub use error::{Place, TableError};
pub use rffblr::table::{
    Column, ColumnsError, Decimal, Format, MISSING, ReadOptions, Table, TextEncoding, Values, nearest,
};
pub use stream::{Block, Blocks, FileFit, FileModel, FromFiles, Parts, Stage, TypedParts, Types};
pub use write::{Writer, write_csv, write_parquet};

use packing::Letters;
use rffblr::data::{Note, NoteKind};
use rffblr::internals::check_names;
use source::Source;

/// Reads the table at `path`, or from standard input if `path` is `-`.
///
/// Text files are streamed: memory holds the columns, not the file. Standard input is kept in memory as
/// well, because a column may turn out to be text only after its first cells were read as numbers.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Table, TableError> {
    TableFile::open(path, options)?.read(options)
}

/// A table that is opened, so that its columns can be asked for before it is read.
pub struct TableFile {
    source: Source,
    format: Format,
}

impl TableFile {
    /// Opens the file at `path`, or standard input if that is `-`. Of the options those count that are not about columns.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<TableFile, TableError> {
        TableFile::of(Source::new(path.as_ref())?, path.as_ref(), options)
    }

    /// A file in memory, which would have this name.
    pub fn of_bytes(name: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<TableFile, TableError> {
        TableFile::of(Source::bytes_of(name, bytes)?, Path::new(name), options)
    }

    fn of(mut source: Source, path: &Path, options: &ReadOptions) -> Result<TableFile, TableError> {
        source.allow_expansion = options.allow_expansion;
        let format = format_of(&mut source, path, options)?;
        match format {
            Format::Parquet | Format::Arrow => {}
            Format::Workbook => {
                let bytes = source.all()?;
                let text = workbook::sheet(source.name(), bytes, options)?;
                source = Source::made(source.name(), text);
            }
            Format::Csv | Format::Tsv | Format::Arff => source.is_text(options.encoding)?,
        }
        Ok(TableFile { source, format })
    }

    /// Names of the columns in their order; one that has none is empty.
    pub fn names(&mut self, options: &ReadOptions) -> Result<Vec<String>, TableError> {
        let options = self.options(options);
        match self.format {
            Format::Csv | Format::Tsv | Format::Workbook => {
                let style = delimited::style(&mut self.source, usual_delimiter(self.format), &options)?;
                delimited::names(&mut self.source, style)
            }
            Format::Arff => arff::names(&mut self.source),
            Format::Parquet => parquet::names(&mut self.source),
            Format::Arrow => arrow::names(&mut self.source),
        }
    }

    /// Reads the rows.
    pub fn read(&mut self, options: &ReadOptions) -> Result<Table, TableError> {
        let (mut notes, first) = (Vec::new(), self.source.letters);
        let outcome = match self.columns(options) {
            // The first of it was UTF-8, all of it is not.
            Err(TableError::NotUtf8 { .. }) if options.encoding.is_none() && first == Letters::Utf8 => {
                self.source.letters = Letters::Latin1;
                self.columns(options)
            }
            outcome => outcome,
        };
        let mut table = outcome?;
        if table.rows() == 0 && !options.allow_empty {
            let file = self.source.name().to_owned();
            return Err(TableError::NoRows { file });
        }
        if self.source.letters == Letters::Latin1 && options.encoding.is_none() {
            let text = format!("{} is not UTF-8 and was read as Latin-1 (Windows-1252)", self.source.name());
            notes.push(Note::new(NoteKind::File, Vec::new(), text));
        }
        // The reader has checked them: without `allow_absent` the file has each of these.
        if !options.allow_absent {
            notes.extend(skipped(&self.names(options)?));
            table = table.leaving_out(options.ignored_columns.clone());
        }
        Ok(table.with_notes(notes))
    }

    fn columns(&mut self, options: &ReadOptions) -> Result<Table, TableError> {
        let options = &self.options(options);
        match self.format {
            Format::Csv | Format::Tsv | Format::Workbook => {
                delimited::read(&mut self.source, usual_delimiter(self.format), options)
            }
            Format::Arff => arff::read(&mut self.source, options),
            Format::Parquet => parquet::read(&mut self.source, options),
            Format::Arrow => arrow::read(&mut self.source, options),
        }
    }

    /// A sheet was made into lines in one way, whatever is asked for.
    fn options<'a>(&self, options: &'a ReadOptions) -> Cow<'a, ReadOptions> {
        match self.format {
            Format::Workbook => {
                let (delimiter, decimal) = (Some(b','), Some(Decimal::Point));
                Cow::Owned(ReadOptions { delimiter, decimal, ..options.clone() })
            }
            _ => Cow::Borrowed(options),
        }
    }
}

fn usual_delimiter(format: Format) -> Option<u8> {
    (format == Format::Tsv).then_some(b'\t')
}

/// The format: as asked for, by what the file certainly is, by its name, or by its text. What is no table is refused.
fn format_of(source: &mut Source, path: &Path, options: &ReadOptions) -> Result<Format, TableError> {
    if let Some(format) = options.format {
        return Ok(format);
    }
    let head = source.head()?;
    if head.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    if head.starts_with(arrow::MAGIC) {
        return Ok(Format::Arrow);
    }
    if is_workbook(&head) {
        return Ok(Format::Workbook);
    }
    let named = format_of_name(path);
    // What is packed may have another name than what is in it.
    if named != Some(Format::Parquet) {
        foreign::refuse(source.name(), &head)?;
    }
    Ok(named.filter(|format| *format != Format::Workbook).unwrap_or_else(|| format_of_content(&head)))
}

/// Whether a file is a workbook: an archive whose first file is one of these, or what Excel wrote before.
fn is_workbook(head: &[u8]) -> bool {
    const FIRST: [&[u8]; 6] = [b"[Content_Types].xml", b"mimetype", b"_rels/", b"xl/", b"docProps/", b"META-INF/"];
    let name = head.get(30..).filter(|_| head.starts_with(b"PK\x03\x04"));
    head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
        || name.is_some_and(|name| FIRST.iter().any(|first| name.starts_with(first)))
}

fn format_of_name(path: &Path) -> Option<Format> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "gz" | "zst" => format_of_name(Path::new(path.file_stem()?)),
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "arff" => Some(Format::Arff),
        "parquet" | "pq" => Some(Format::Parquet),
        "arrow" | "feather" | "ftr" => Some(Format::Arrow),
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => Some(Format::Workbook),
        _ => None,
    }
}

/// Whether a column is a row index: it has no name, or one that pandas gives to what has none.
fn is_nameless(name: &str) -> bool {
    let numbered = |prefix: &str, suffix: &str| {
        let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name.trim().is_empty() || numbered("Unnamed: ", "") || numbered("__index_level_", "__")
}

/// A note about columns without a name, which are not read.
fn skipped(names: &[String]) -> Option<Note> {
    let positions = (1..).zip(names).filter(|(_, name)| is_nameless(name)).map(|(position, _)| format!("#{position}"));
    let positions: Vec<String> = positions.take(5).collect();
    let text = match &positions[..] {
        [] => return None,
        [one] => format!("column {one} has no name (a row index?) and was skipped; name it in the header to use it"),
        some => {
            format!("columns {} have no name and were skipped; name them in the header to use them", some.join(", "))
        }
    };
    Some(Note::new(NoteKind::File, Vec::new(), text))
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
    let nameless = names.iter().filter(|name| name.trim().is_empty()).count();
    if 2 * nameless > names.len() || nameless == names.len() {
        return Err(TableError::NoNames { file: file.to_owned(), nameless, columns: names.len() });
    }
    // A column without a name has one that no other has: its position.
    let known: Vec<String> = (1..)
        .zip(names)
        .map(|(position, name)| if name.trim().is_empty() { format!("\0{position}") } else { name.clone() })
        .collect();
    let positions = check_names(file, known.iter().map(String::as_str))?;
    let listed: HashSet<&String> = options.text_columns.iter().chain(&options.numeric_columns).collect();
    let is_skipped = |name: &String| is_nameless(name) && !listed.contains(name);
    let mut wishes: Vec<Wish> =
        names.iter().map(|name| if is_skipped(name) { Wish::Ignore } else { Wish::Guess }).collect();
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
                    names: names.to_vec(),
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
