//! Reads CSV and TSV: text with a header line.
//!
//! Columns start out numeric. One that meets text before any number collects text from there on. One that
//! meets text after numbers is counted to the end of the file and, if it is to be text, read again in a
//! second pass, because its first cells were kept as numbers only.

use std::io::Read;
use std::ops::Range;

use rayon::prelude::*;

use super::cells::{Cell, is_limit, is_missing, parse, plain_number};
use super::delimiter::{blank_separator_line, recognise_delimiter, suspect_delimiter};
use super::error::Place;
use super::guess::{Found, Guess};
use super::numerals::Numerals;
use super::records::{Batch, Records};
use super::source::Source;
use super::{Column, ReadOptions, Table, TableError, Values, Wish, plan};
use rffblr::data::{Note, NoteKind};
use rffblr::internals::{Cells, Levels, excerpt, plural};

/// How a text file is laid out: the delimiter and the numerals.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) delimiter: u8,
    pub(super) numerals: Numerals,
}

/// The style of a text. The delimiter is that of the options, or of the first line, or else the usual one of the format; it
/// is recognised if the format has none.
pub(super) fn style(source: &mut Source, usual: Option<u8>, options: &ReadOptions) -> Result<Style, TableError> {
    let mut head = source.text_head()?;
    let named = blank_separator_line(&mut head);
    let delimiter = match options.delimiter.or(named).or(usual) {
        Some(b'"' | b'\n' | b'\r') => return Err(TableError::BadDelimiter),
        Some(delimiter) => delimiter,
        None => recognise_delimiter(&head),
    };
    match suspect_delimiter(source.name(), &head, delimiter) {
        Some(error) => Err(error),
        None => Ok(Style { delimiter, numerals: Numerals::of(&head, delimiter, options.decimal) }),
    }
}

/// The names of the columns.
pub(super) fn names(source: &mut Source, style: Style) -> Result<Vec<String>, TableError> {
    let file = source.name().to_owned();
    Records::new(&file, source.text()?, style.delimiter).start(&mut Batch::default())
}

/// Reads a table.
pub(super) fn read(source: &mut Source, usual: Option<u8>, options: &ReadOptions) -> Result<Table, TableError> {
    let file = source.name().to_owned();
    let Style { delimiter, numerals } = style(source, usual, options)?;
    let mut records = Records::new(&file, source.text()?, delimiter);
    let mut batch = Batch::default();
    let names = records.start(&mut batch)?;
    let wishes = plan(&file, &names, options)?;
    let new = |(name, wish): (&String, Wish)| Building::new(name.clone(), wish, numerals);
    let mut columns: Vec<Building> = names.iter().zip(wishes).map(new).collect();
    let rows = read_rows(&file, &mut records, batch, &mut columns)?;
    drop(records);

    for column in &mut columns {
        column.end_of_first_pass()?;
    }
    if columns.iter().any(|column| !column.complete) {
        let mut records = Records::new(&file, source.text()?, delimiter);
        let mut batch = Batch::default();
        if records.start(&mut batch)? != names || read_rows(&file, &mut records, batch, &mut columns)? != rows {
            drop(records);
            return Err(TableError::Changed { file });
        }
    }
    let counted = || columns.iter().map(|column| (column.name.as_str(), &column.guess));
    let nearly =
        nearly_numbers_note(counted().zip(&columns).filter(|(_, column)| column.is_guess()).map(|(one, _)| one));
    let notes: Vec<Note> = limits_note(counted()).into_iter().chain(nearly).collect();
    Ok(Table::new(columns.into_iter().filter_map(Building::finish).collect())?.with_notes(notes))
}

/// What became of cells that name a limit and no number.
pub(super) fn limits_note<'a>(columns: impl Iterator<Item = (&'a str, &'a Guess)>) -> Option<Note> {
    let found = columns.filter(|(_, guess)| guess.limits > 0 && guess.texts == 0 && guess.numbers > 0);
    let (mut names, mut shown) = (Vec::new(), Vec::new());
    for (name, guess) in found {
        let example = excerpt(guess.limit.as_deref().unwrap_or_default());
        shown.push(format!("{} ({} such as {example})", excerpt(name), plural(guess.limits, "cell")));
        names.push(name.to_owned());
    }
    let rest = shown.len().saturating_sub(5);
    shown.truncate(5);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let text = format!("limits are no values and count as missing: {}{more}", shown.join(", "));
    (!names.is_empty()).then(|| Note::new(NoteKind::Limits, names, text))
}

/// Columns that are text because of few cells, or of what stands beside their numbers.
pub(super) fn nearly_numbers_note<'a>(columns: impl Iterator<Item = (&'a str, &'a Guess)>) -> Option<Note> {
    let found = columns.filter_map(|(name, guess)| Some((name.to_owned(), guess.nearly_numbers(name)?)));
    let (names, mut shown): (Vec<String>, Vec<String>) = found.unzip();
    let rest = shown.len().saturating_sub(5);
    shown.truncate(5);
    let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    (!names.is_empty()).then(|| Note::new(NoteKind::NearlyNumbers, names, shown.join("; ") + &more))
}

/// Appends the rows of `batch` and of the rest of the file to the columns; gives their number.
///
/// The next batch is split into cells while the cells of this one are read, column by column.
fn read_rows<R: Read + Send>(
    file: &str,
    records: &mut Records<'_, R>,
    mut batch: Batch,
    columns: &mut [Building],
) -> Result<usize, TableError> {
    let mut next = Batch::default();
    let mut rows = 0;
    loop {
        let read_cells = || -> Vec<(usize, TableError)> {
            let columns = columns.par_iter_mut().enumerate();
            let flaw =
                |(index, column): (usize, &mut Building)| column.read(file, &batch, 0..batch.rows(), index).err();
            columns.filter_map(flaw).collect()
        };
        let (scanned, flaws) = rayon::join(|| records.next(&mut next), read_cells);
        // The first flaw in the file, whichever thread was first; they come in the order of the columns.
        if let Some((_, error)) = flaws.into_iter().min_by_key(|(row, _)| *row) {
            return Err(error);
        }
        rows += batch.rows();
        scanned?;
        if next.rows() == 0 {
            return Ok(rows);
        }
        std::mem::swap(&mut batch, &mut next);
    }
}

/// A column under construction.
pub(super) struct Building {
    pub(super) name: String,
    wish: Wish,
    /// `None` if the column is ignored.
    cells: Option<Cells>,
    /// Whether the type of the cells is settled: text among numbers is then counted and missing.
    settled: bool,
    /// Needs no further cells.
    complete: bool,
    numerals: Numerals,
    pub(super) guess: Guess,
}

impl Building {
    fn new(name: String, wish: Wish, numerals: Numerals) -> Building {
        let cells = (wish != Wish::Ignore).then(|| Cells::empty(wish == Wish::Text));
        Building {
            name,
            wish,
            cells,
            settled: false,
            complete: wish == Wish::Ignore,
            numerals,
            guess: Guess::default(),
        }
    }

    /// A column that is kept as text or as numbers, whatever its cells.
    pub(super) fn settled(name: String, wish: Wish, text: bool) -> Building {
        Building { cells: Some(Cells::empty(text)), settled: true, ..Building::new(name, wish, Numerals::PLAIN) }
    }

    /// The same column in a file whose numbers are written otherwise.
    pub(super) fn written(&mut self, numerals: Numerals) {
        self.numerals = numerals;
    }

    /// Appends the cells of some rows of a batch; a flaw comes with its row in the batch.
    pub(super) fn read(
        &mut self,
        file: &str,
        batch: &Batch,
        rows: Range<usize>,
        index: usize,
    ) -> Result<(), (usize, TableError)> {
        if self.complete {
            return Ok(());
        }
        let before = self.cells.as_ref().map_or(0, Cells::len);
        for row in rows {
            let bytes = batch.cell(row, index);
            // Nearly all cells of a large file are plain numbers, which take the short way.
            if let Some(Cells::Numbers(numbers)) = &mut self.cells
                && let Some(number) = plain_number(bytes, self.numerals)
            {
                numbers.push(number);
                self.guess.numbers += 1;
                continue;
            }
            self.push(file, bytes, || batch.line(row, index)).map_err(|error| (row, error))?;
        }
        if let Some(Cells::Numbers(numbers)) = &self.cells {
            self.guess.compare(numbers.get(before..).unwrap_or(&[]));
        }
        Ok(())
    }

    fn push(&mut self, file: &str, bytes: &[u8], line: impl Fn() -> u64) -> Result<(), TableError> {
        let not_utf8 = |_| TableError::NotUtf8 { file: file.to_owned(), line: line() };
        let found = |text: &str| Found { file: file.to_owned(), line: line(), text: text.to_owned() };
        let (guess, numerals) = (&mut self.guess, self.numerals);
        let numbers = match &mut self.cells {
            None => return Ok(()),
            Some(Cells::Text(levels)) => {
                let text = std::str::from_utf8(bytes).map_err(not_utf8)?.trim_ascii();
                if is_missing(text) {
                    levels.push_missing();
                    return Ok(());
                }
                levels.push(text);
                let is_text = || matches!(parse(bytes, numerals), Ok(Cell::Text(_)));
                if self.wish == Wish::Guess && guess.first_text.is_none() && is_text() {
                    guess.first_text = Some(found(text));
                }
                return Ok(());
            }
            Some(Cells::Numbers(numbers)) => numbers,
        };
        match parse(bytes, numerals).map_err(not_utf8)? {
            Cell::Missing => numbers.push(f64::NAN),
            Cell::Number(number) => {
                numbers.push(number);
                guess.numbers += 1;
                if number.is_infinite() && guess.first_infinite.is_none() {
                    guess.first_infinite = Some(found(String::from_utf8_lossy(bytes).trim_ascii()));
                }
            }
            Cell::Text(text) if is_limit(text, numerals) => {
                numbers.push(f64::NAN);
                guess.count_limit(text);
            }
            Cell::Text(text) if self.wish == Wish::Numeric => {
                return Err(TableError::NotNumeric {
                    file: file.to_owned(),
                    place: Place::Line(line()),
                    column: self.name.clone(),
                    text: text.to_owned(),
                });
            }
            Cell::Text(text) => {
                if guess.first_text.is_none() {
                    guess.first_text = Some(found(text));
                }
                if guess.numbers == 0 && guess.limits == 0 && !self.settled {
                    let mut levels = Levels::after_missing(numbers.len());
                    levels.push(text);
                    self.cells = Some(Cells::Text(levels));
                } else {
                    guess.count_text(text, 1);
                    numbers.push(f64::NAN);
                }
            }
        }
        Ok(())
    }

    /// Whether it is kept as text.
    pub(super) fn is_text(&self) -> bool {
        self.cells.as_ref().is_some_and(Cells::is_text)
    }

    /// Whether its type is to be found out.
    pub(super) fn is_guess(&self) -> bool {
        self.wish == Wish::Guess
    }

    /// Whether text was met although it is kept as numbers.
    pub(super) fn surprised(&self) -> bool {
        self.guess.texts > 0 && !self.is_text()
    }

    /// Hands over the cells of a settled column, counted.
    pub(super) fn take(&mut self) -> Result<Values, TableError> {
        match (self.wish, &self.cells) {
            (Wish::Guess, Some(Cells::Text(levels))) => self.guess.count_levels(levels, self.numerals),
            (Wish::Numeric, _) => self.guess.check_finite(&self.name)?,
            _ => {}
        }
        Ok(self.cells.as_mut().map_or(Values::Numeric(Vec::new()), Cells::take))
    }

    /// Refuses a column that looks wrong, and empties one that has to be read again as text.
    fn end_of_first_pass(&mut self) -> Result<(), TableError> {
        self.complete = true;
        match (self.wish, &self.cells) {
            (Wish::Ignore | Wish::Text, _) | (_, None) => {}
            (Wish::Numeric, _) => self.guess.check_finite(&self.name)?,
            (Wish::Guess, Some(Cells::Text(levels))) => {
                self.guess.count_levels(levels, self.numerals);
                self.guess.is_text(&self.name)?;
            }
            (Wish::Guess, Some(Cells::Numbers(_))) => {
                if self.guess.is_text(&self.name)? {
                    self.complete = false;
                    self.cells = Some(Cells::empty(true));
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Option<Column> {
        let mut cells = self.cells?;
        if let Cells::Numbers(numbers) = &mut cells {
            numbers.shrink_to_fit();
        }
        Some(Column { name: self.name, values: cells.finish() })
    }
}
