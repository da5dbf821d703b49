//! Workbooks of spreadsheets (.xlsx, .xlsb, .xls, .ods): a sheet as lines of cells, which are then read as those of CSV.

use std::fmt::Write;
use std::io::Cursor;

use calamine::{Cell, Data, DataRef, ExcelDateTime, Range, Reader, Sheets};

use super::packing::{Expansion, expect_modest};
use super::panics::caught;
use super::{ReadOptions, TableError, archive};
use rffblr::internals::number_text;
use rffblr::memory::require;

/// A sheet as CSV: line n is row n of the sheet. The options name it or give its number, or else the first is taken.
pub(super) fn sheet(file: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<Vec<u8>, TableError> {
    if !options.allow_expansion {
        archive::check(file, &bytes)?;
    }
    // What another program wrote must not take this one down.
    let read = || range(file, bytes, options);
    let range = caught(read).unwrap_or_else(|| Err(damaged(file, "its parts contradict each other")))?;
    Ok(lines(&range).into_bytes())
}

fn damaged(file: &str, message: impl ToString) -> TableError {
    TableError::Workbook { file: file.to_owned(), message: message.to_string() }
}

fn range(file: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<Range<Data>, TableError> {
    let wanted = options.sheet.as_deref();
    let mut book = calamine::open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|error| damaged(file, error))?;
    let names = book.sheet_names();
    let name = match wanted {
        None => names.first(),
        Some(wanted) => names.iter().find(|name| *name == wanted).or_else(|| {
            let number: usize = wanted.trim_start_matches('#').parse().ok()?;
            names.get(number.checked_sub(1)?)
        }),
    };
    match name {
        Some(name) => {
            // These two say where each cell is, so that two of them can span billions.
            let cells: Option<Result<Vec<_>, String>> = match &mut book {
                Sheets::Xlsx(book) => Some(
                    book.worksheet_cells_reader(name)
                        .map_err(|e| e.to_string())
                        .and_then(|mut reader| collected(|| reader.next_cell().map_err(|e| e.to_string()))),
                ),
                Sheets::Xlsb(book) => Some(
                    book.worksheet_cells_reader(name)
                        .map_err(|e| e.to_string())
                        .and_then(|mut reader| collected(|| reader.next_cell().map_err(|e| e.to_string()))),
                ),
                _ => None,
            };
            match cells {
                Some(cells) => spread(file, cells.map_err(|error| damaged(file, error))?, options.allow_expansion),
                None => book.worksheet_range(name).map_err(|error| damaged(file, error)),
            }
        }
        None => Err(TableError::NoSheet {
            file: file.to_owned(),
            wanted: wanted.unwrap_or_default().to_owned(),
            sheets: names.join("', '"),
        }),
    }
}

/// The cells of a sheet that hold something.
fn collected<'a>(
    mut next: impl FnMut() -> Result<Option<Cell<DataRef<'a>>>, String>,
) -> Result<Vec<Cell<Data>>, String> {
    let mut cells = Vec::new();
    while let Some(cell) = next()? {
        if *cell.get_value() != DataRef::Empty {
            cells.push(Cell::new(cell.get_position(), Data::from(cell.get_value().clone())));
        }
    }
    Ok(cells)
}

/// Cells in the rectangle that they span, which must not be absurdly larger than they are many.
fn spread(file: &str, cells: Vec<Cell<Data>>, allowed: bool) -> Result<Range<Data>, TableError> {
    let ends = cells.iter().map(Cell::get_position).fold((0, 0), |(r, c), (row, column)| (row.max(r), column.max(c)));
    let places = (u64::from(ends.0) + 1) * (u64::from(ends.1) + 1);
    let bytes = |places: u64| places * size_of::<Data>() as u64;
    let expansion = Expansion { packed: bytes(cells.len() as u64).max(1), unpacked: bytes(places) };
    expect_modest(file, expansion, allowed)?;
    let what = format!("{file}, a sheet of {} rows and {} columns,", u64::from(ends.0) + 1, u64::from(ends.1) + 1);
    require(bytes(places) as f64, what, "remove cells far from the others, or save the table as CSV")?;
    Ok(Range::from_sparse(cells))
}

fn lines(range: &Range<Data>) -> String {
    let mut text = "\n".repeat(range.start().map_or(0, |(row, _)| row as usize));
    for row in range.rows() {
        // A line without any cell is blank.
        if row.iter().any(|cell| *cell != Data::Empty) {
            for (index, cell) in row.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                push(&mut text, cell);
            }
        }
        text.push('\n');
    }
    text
}

fn push(text: &mut String, cell: &Data) {
    match cell {
        // An error of a formula is a missing cell.
        Data::Empty | Data::Error(_) => {}
        Data::Int(number) => text.push_str(&number.to_string()),
        Data::Float(number) => text.push_str(&number_text(*number)),
        Data::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Data::DateTime(time) if time.is_duration() => text.push_str(&number_text(time.as_f64())),
        Data::DateTime(time) => moment(text, time),
        Data::String(words) | Data::DateTimeIso(words) | Data::DurationIso(words) => {
            // One line of text for each row of the sheet.
            let words = words.replace(['\n', '\r'], " ").replace('"', "\"\"");
            text.push('"');
            text.push_str(words.trim());
            text.push('"');
        }
    }
}

/// A date, with a time if it has one; a time of a day alone is a fraction.
fn moment(text: &mut String, time: &ExcelDateTime) {
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    if time.as_f64() >= 1.0 {
        let _ = write!(text, "{year:04}-{month:02}-{day:02}");
        if time.as_f64().fract() != 0.0 {
            text.push(' ');
        }
    }
    if time.as_f64().fract() != 0.0 || time.as_f64() < 1.0 {
        let _ = write!(text, "{hour:02}:{minute:02}:{second:02}");
        if milli > 0 {
            let _ = write!(text, ".{milli:03}");
        }
    }
}
