//! Reads CSV and TSV: text with a header line.
//!
//! Columns start out numeric. One that meets text before any number collects text from there on. One that
//! meets text after numbers is counted to the end of the file and, if it is to be text, read again in a
//! second pass, because its first cells were kept as numbers only.

use std::collections::HashSet;
use std::io::Read;

use rayon::prelude::*;

use super::cells::{Cell, Levels, is_missing, number_in, parse, plain_number};
use super::delimiter::{blank_separator_line, recognise_delimiter, suspect_delimiter};
use super::error::Place;
use super::records::{Batch, Records};
use super::source::Source;
use super::{Column, ReadOptions, Table, TableError, Values, Wish, plan};
use rffblr::internals::{has_comma_inside, is_percentage};

/// A column with at least this share of numbers and more than this many different ones is meant to be numeric.
const MOSTLY: f64 = 0.9;
const MANY_NUMBERS: usize = 20;

/// Reads a table. The delimiter is that of the options, or of the first line, or else the usual one of the format; it is
/// recognised if the format has none.
pub(super) fn read(source: &mut Source, usual: Option<u8>, options: &ReadOptions) -> Result<Table, TableError> {
    let file = source.name().to_owned();
    let mut head = source.head()?;
    let named = blank_separator_line(&mut head);
    let delimiter = match options.delimiter.or(named).or(usual) {
        Some(b'"' | b'\n' | b'\r') => return Err(TableError::BadDelimiter),
        Some(delimiter) => delimiter,
        None => recognise_delimiter(&head),
    };
    if let Some(error) = suspect_delimiter(&file, &head, delimiter) {
        return Err(error);
    }

    let mut records = Records::new(&file, source.open()?, delimiter);
    let mut batch = Batch::default();
    let names = records.start(&mut batch)?;
    let wishes = plan(&file, &names, options)?;
    let new = |(name, wish): (&String, Wish)| Building::new(name.clone(), wish);
    let mut columns: Vec<Building> = names.iter().zip(wishes).map(new).collect();
    let rows = read_rows(&file, &mut records, batch, &mut columns)?;
    drop(records);

    for column in &mut columns {
        column.end_of_first_pass(&file)?;
    }
    if columns.iter().any(|column| !column.complete) {
        let mut records = Records::new(&file, source.open()?, delimiter);
        let mut batch = Batch::default();
        if records.start(&mut batch)? != names || read_rows(&file, &mut records, batch, &mut columns)? != rows {
            drop(records);
            return Err(TableError::Changed { file });
        }
    }
    for column in &columns {
        column.check_spelling(&file)?;
    }
    Ok(Table::new(columns.into_iter().filter_map(Building::finish).collect())?)
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
            let flaw = |(index, column): (usize, &mut Building)| column.read(file, &batch, index).err();
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
struct Building {
    name: String,
    wish: Wish,
    cells: Cells,
    /// Needs no further cells.
    complete: bool,
    /// Cells read as numbers while the column was numeric.
    numbers: usize,
    /// Cells of text while the column was numeric.
    texts: usize,
    first_text: Option<Found>,
    first_infinite: Option<Found>,
}

enum Cells {
    Numbers(Vec<f64>),
    Text(Levels),
    Ignored,
}

/// A cell to be named in a message.
struct Found {
    line: u64,
    text: String,
}

impl Building {
    fn new(name: String, wish: Wish) -> Building {
        Building {
            name,
            wish,
            cells: match wish {
                Wish::Ignore => Cells::Ignored,
                Wish::Text => Cells::Text(Levels::default()),
                Wish::Guess | Wish::Numeric => Cells::Numbers(Vec::new()),
            },
            complete: wish == Wish::Ignore,
            numbers: 0,
            texts: 0,
            first_text: None,
            first_infinite: None,
        }
    }

    /// Appends the cells of a batch; a flaw comes with its row in the batch.
    fn read(&mut self, file: &str, batch: &Batch, index: usize) -> Result<(), (usize, TableError)> {
        if self.complete {
            return Ok(());
        }
        for row in 0..batch.rows() {
            let bytes = batch.cell(row, index);
            // Nearly all cells of a large file are plain numbers, which take the short way.
            if let Cells::Numbers(numbers) = &mut self.cells
                && let Some(number) = plain_number(bytes)
            {
                numbers.push(number);
                self.numbers += 1;
                continue;
            }
            self.push(file, bytes, || batch.line(row, index)).map_err(|error| (row, error))?;
        }
        Ok(())
    }

    fn push(&mut self, file: &str, bytes: &[u8], line: impl Fn() -> u64) -> Result<(), TableError> {
        let not_utf8 = |_| TableError::NotUtf8 { file: file.to_owned(), line: line() };
        let numbers = match &mut self.cells {
            Cells::Ignored => return Ok(()),
            Cells::Text(levels) => {
                match std::str::from_utf8(bytes).map_err(not_utf8)?.trim_ascii() {
                    text if is_missing(text) => levels.push_missing(),
                    text => levels.push(text),
                }
                return Ok(());
            }
            Cells::Numbers(numbers) => numbers,
        };
        match parse(bytes).map_err(not_utf8)? {
            Cell::Missing => numbers.push(f64::NAN),
            Cell::Number(number) => {
                numbers.push(number);
                self.numbers += 1;
                if number.is_infinite() && self.first_infinite.is_none() {
                    let text = String::from_utf8_lossy(bytes).trim_ascii().to_owned();
                    self.first_infinite = Some(Found { line: line(), text });
                }
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
                if self.first_text.is_none() {
                    let text = text.to_owned();
                    self.first_text = Some(Found { line: line(), text });
                }
                if self.numbers == 0 {
                    let mut levels = Levels::after_missing(numbers.len());
                    levels.push(text);
                    self.cells = Cells::Text(levels);
                } else {
                    self.texts += 1;
                    numbers.push(f64::NAN);
                }
            }
        }
        Ok(())
    }

    /// Refuses a column that looks wrong, and empties one that has to be read again as text.
    fn end_of_first_pass(&mut self, file: &str) -> Result<(), TableError> {
        self.complete = true;
        let (numbers, texts, different) = match &self.cells {
            Cells::Numbers(_) if self.texts == 0 => {
                let Some(infinite) = &self.first_infinite else {
                    return Ok(());
                };
                return Err(TableError::Infinite {
                    file: file.to_owned(),
                    place: Place::Line(infinite.line),
                    column: self.name.clone(),
                    text: infinite.text.clone(),
                });
            }
            Cells::Numbers(numbers) => {
                let present = numbers.iter().copied().filter(|x| !x.is_nan());
                let different = many_different(present);
                self.complete = false;
                (self.numbers, self.texts, different)
            }
            Cells::Text(levels) => {
                let (numbers, texts) = levels.count_cells(|level| number_in(level).is_some());
                let present = levels.known().filter_map(number_in);
                (numbers, texts, many_different(present))
            }
            Cells::Ignored => return Ok(()),
        };
        let cells = numbers + texts;
        if let Some(found) = &self.first_text
            && different
            && numbers as f64 >= MOSTLY * cells as f64
        {
            return Err(TableError::MostlyNumeric {
                file: file.to_owned(),
                place: Place::Line(found.line),
                column: self.name.clone(),
                text: found.text.clone(),
                numbers,
                cells,
            });
        }
        if !self.complete {
            self.cells = Cells::Text(Levels::default());
        }
        Ok(())
    }

    /// Refuses a column of nothing but numbers, some of them with commas inside, and one of percentages.
    fn check_spelling(&self, file: &str) -> Result<(), TableError> {
        let (Cells::Text(levels), Some(found)) = (&self.cells, &self.first_text) else {
            return Ok(());
        };
        let (file, column) = (file.to_owned(), self.name.clone());
        if levels.known().all(|level| number_in(level).is_some() || has_comma_inside(level)) {
            let (place, text) = (Place::Line(found.line), found.text.clone());
            return Err(TableError::CommaInNumber { file, place, column, text });
        }
        let (signs, others) = levels.count_cells(is_percentage);
        let (numbers, _) = levels.count_cells(|level| number_in(level).is_some());
        let cells = signs + others;
        match levels.known().filter(|level| is_percentage(level)).min() {
            Some(example) if (signs + numbers) as f64 >= MOSTLY * cells as f64 => {
                Err(TableError::PercentSign { file, column, example: example.to_owned(), signs, cells })
            }
            _ => Ok(()),
        }
    }

    fn finish(self) -> Option<Column> {
        let values = match self.cells {
            Cells::Ignored => return None,
            Cells::Text(levels) => levels.finish(),
            Cells::Numbers(mut numbers) => {
                numbers.shrink_to_fit();
                Values::Numeric(numbers)
            }
        };
        let name = self.name;
        Some(Column { name, values })
    }
}

fn many_different(mut numbers: impl Iterator<Item = f64>) -> bool {
    let mut seen = HashSet::new();
    numbers.any(|number| seen.insert(number.to_bits()) && seen.len() > MANY_NUMBERS)
}
