//! Tables larger than memory: files with the same columns, read one after another in blocks of rows.

mod checkpoint;
mod files;
mod fit;
mod pass;
mod source;

pub use fit::{FileFit, FileModel, FromFiles, Stage};
pub use source::TypedParts;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::delimited::{limits_note, nearly_numbers_note};
use super::{ReadOptions, Table, TableError, Wish, skipped};
use files::{Declared, Part};
use pass::Pass;
use rffblr::data::{EncodeError, Note, Summary};

/// Files with the same columns, read one after another in blocks.
///
/// Nothing is kept of the rows: memory holds a few blocks, whatever the size of the files.
///
/// ```
/// # fn main() -> Result<(), rffblr_tables::TableError> {
/// use rffblr_tables::{Parts, ReadOptions};
///
/// let parts = Parts::open(&["../../examples/soil.csv".into()], &ReadOptions::default())?;
/// let types = parts.types()?;
/// let mut rows = 0;
/// for block in parts.blocks(&types, 50) {
///     rows += block?.table.rows();
/// }
/// assert_eq!(rows, 120);
/// # Ok(())
/// # }
/// ```
pub struct Parts {
    inner: Arc<Inner>,
}

struct Inner {
    files: Vec<PathBuf>,
    parts: Vec<Part>,
    /// Columns of the first file.
    names: Vec<String>,
    wishes: Vec<Wish>,
    /// What a Parquet file declares a column as; `None` if no file says.
    declared: Vec<Option<Declared>>,
    /// Whether the files are text, which declares no types.
    untyped: bool,
    /// Columns that the tables name as left out.
    ignored: Vec<String>,
    options: ReadOptions,
}

/// The type of each column of some [`Parts`].
#[derive(Clone, Debug, PartialEq)]
pub struct Types {
    text: Vec<Option<bool>>,
    notes: Vec<Note>,
}

impl Types {
    /// Whether a column, by its position in [`Parts::names`], is text; `None` if it is left out of the blocks.
    pub fn is_text(&self, column: usize) -> Option<bool> {
        self.text.get(column).copied().flatten()
    }

    /// What a user may not expect of how the files are read.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    fn declared(text: Vec<Option<bool>>) -> Types {
        Types { text, notes: Vec::new() }
    }
}

/// Some rows in the order of the files.
#[derive(Clone, Debug)]
pub struct Block {
    /// The rows. Levels of text are those of this block.
    pub table: Table,
    /// Number of the first row among the rows of all files, from 0.
    pub first_row: u64,
    /// Bytes of all files that are read so far, for progress.
    pub bytes_read: u64,
    pub(crate) starts: Starts,
}

/// Where the rows of each file begin, rising: their number among all rows, the file, and their number in it, from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Starts(Vec<(u64, Arc<str>, u64)>);

impl Starts {
    /// Says where a row stands, if not where the rows before it lead to expect it.
    fn add(&mut self, row: u64, file: &Arc<str>, in_file: u64) {
        if self
            .0
            .last()
            .is_none_or(|(first, last, number)| last != file || row - first != in_file.wrapping_sub(*number))
        {
            self.0.push((row, Arc::clone(file), in_file));
        }
    }

    fn extend(&mut self, other: &Starts) {
        other.0.iter().for_each(|(row, file, in_file)| self.add(*row, file, *in_file));
    }

    /// An error about a row, counted from `first` on, with its file and its number there.
    fn place(&self, first: u64, mut cause: EncodeError) -> TableError {
        let row = first + cause.row().map_or(0, |row| *row as u64 - 1);
        let start = self.0.iter().rev().find(|(start, ..)| *start <= row);
        if let (Some((start, _, in_file)), Some(own)) = (start, cause.row()) {
            *own = (row - start + in_file) as usize + 1;
        }
        TableError::Rows { file: start.map_or_else(String::new, |(_, file, _)| file.to_string()), cause }
    }

    /// The same of an error of all rows, if it is about one of them.
    fn place_row(&self, problem: rffblr::Error) -> rffblr::Error {
        match problem {
            rffblr::Error::Encode(mut cause) => match cause.row() {
                Some(_) => self.place(0, cause).into(),
                None => cause.into(),
            },
            problem => problem,
        }
    }
}

impl Block {
    /// An error about a row of this block, counted from its first one, with the file and the number of the row there; one
    /// about all rows with the file in which the block begins.
    pub fn placed(&self, problem: rffblr::Error) -> rffblr::Error {
        match problem {
            rffblr::Error::Encode(cause) => self.starts.place(self.first_row, cause).into(),
            problem => problem,
        }
    }
}

impl Parts {
    /// Opens files, folders and patterns such as `data/part-*.csv`, in which `*` and `?` may stand in the last
    /// component.
    ///
    /// Of a folder, but not of the folders in it, all CSV, TSV and Parquet files are taken; they are sorted by name, as
    /// are those that match a pattern. The files must have the same columns, in any order, and all be text or all be
    /// Parquet.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Parts, TableError> {
        Ok(Parts { inner: Arc::new(Inner::open(paths, options)?) })
    }

    /// The files, in the order in which they are read.
    pub fn files(&self) -> &[PathBuf] {
        &self.inner.files
    }

    /// Size of all files.
    pub fn bytes(&self) -> u64 {
        self.inner.parts.iter().map(|part| part.bytes).sum()
    }

    /// Names of the columns of the first file.
    pub fn names(&self) -> &[String] {
        &self.inner.names
    }

    /// Every row in order, in blocks of exactly `rows` rows, of which only the last may be shorter. The next block is
    /// read while this one is used.
    pub fn blocks(&self, types: &Types, rows: usize) -> Blocks {
        Blocks(Pass::start(&self.inner, types.text.clone(), rows, false))
    }

    /// The type of every column by the same rules as [`read`](super::read) has, which takes a pass over text files
    /// unless the options list all columns.
    pub fn types(&self) -> Result<Types, TableError> {
        match self.first_types() {
            types if self.guessed(&types).next().is_none() => Ok(Types::declared(types)),
            _ => Ok(self.survey(|| (), |(), _| Ok(()))?.0),
        }
    }

    /// The types that the options and Parquet files declare, without a pass; a column of which neither says is left
    /// out.
    pub fn declared_types(&self) -> Types {
        let mut types = self.first_types();
        for column in self.guessed(&types).collect::<Vec<_>>() {
            types[column] = None;
        }
        Types::declared(types)
    }

    /// The type of every column, and a summary of all rows, in the same pass. `watch` sees every block and may stop the
    /// pass, which is the error [`TableError::Stopped`]; see [`Parts::survey`] for passes that start again.
    pub fn summarise(
        &self,
        most_rows: usize,
        seed: u64,
        mut watch: impl FnMut(&Block) -> ControlFlow<()>,
    ) -> Result<(Types, Summary), TableError> {
        let add = |summary: &mut Summary, block: &Block| {
            summary.add(&block.table, block.first_row)?;
            if watch(block).is_break() { Err(TableError::Stopped) } else { Ok(()) }
        };
        self.survey(|| Summary::new(most_rows, seed), add)
    }

    /// The type of every column, and whatever `add` makes of all blocks, from one pass if possible.
    ///
    /// A column of a text file is taken for numbers until text is met in it. In the first block, the pass then starts
    /// again with `start`; later on it is followed to the end, without `add`, so that it is known what the columns are,
    /// and one more pass is made.
    pub fn survey<T>(
        &self,
        mut start: impl FnMut() -> T,
        mut add: impl FnMut(&mut T, &Block) -> Result<(), TableError>,
    ) -> Result<(Types, T), TableError> {
        /// Cells of a block, which bounds the memory of wide tables.
        const CELLS: usize = 1 << 22;
        let rows = (CELLS / self.inner.names.len().max(1)).clamp(1 << 10, 1 << 16);
        let mut types = self.first_types();
        loop {
            let mut made = start();
            let mut pass = Pass::start(&self.inner, types.clone(), rows, true);
            let (mut as_text, mut to_the_end) = (Vec::new(), true);
            while let Some(block) = pass.next_block() {
                let (block, surprises) = block?;
                as_text = surprises;
                if as_text.is_empty() {
                    add(&mut made, &block)?;
                } else if block.first_row == 0 {
                    to_the_end = false;
                    break;
                }
            }
            let guesses = pass.guesses();
            for (column, _, guess) in guesses.iter().filter(|(_, open, _)| to_the_end && *open) {
                // Refuses what looks wrong, of which the counts of all rows are the judge.
                guess.is_text(&self.inner.names[*column])?;
            }
            if as_text.is_empty() {
                let counted = || guesses.iter().map(|(column, _, guess)| (self.inner.names[*column].as_str(), guess));
                let open = counted().zip(&guesses).filter(|(_, (_, open, _))| *open).map(|(one, _)| one);
                let notes = skipped(&self.inner.names).into_iter().chain(limits_note(counted()));
                let notes = notes.chain(nearly_numbers_note(open)).collect();
                return Ok((Types { text: types, notes }, made));
            }
            for column in as_text {
                types[column] = Some(true);
            }
        }
    }

    /// The types to begin with: as declared, and numbers where that is open.
    fn first_types(&self) -> Vec<Option<bool>> {
        let columns = self.inner.wishes.iter().zip(&self.inner.declared);
        let first = |(wish, declared): (&Wish, &Option<Declared>)| match wish {
            Wish::Ignore => None,
            Wish::Text => Some(true),
            Wish::Numeric => Some(false),
            Wish::Guess => Some(*declared == Some(Declared::Text)),
        };
        columns.map(first).collect()
    }

    /// Columns whose type is to be found out.
    fn guessed(&self, types: &[Option<bool>]) -> impl Iterator<Item = usize> {
        let open = |column: &usize| self.inner.untyped && self.inner.wishes[*column] == Wish::Guess;
        (0..types.len()).filter(open)
    }
}

/// The blocks of one pass over some [`Parts`]. It ends after an error.
pub struct Blocks(Pass);

impl Iterator for Blocks {
    type Item = Result<Block, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_block().map(|block| block.map(|(block, _)| block))
    }
}

impl Inner {
    fn first_file(&self) -> &str {
        self.parts.first().map_or("", |part| &part.name)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
