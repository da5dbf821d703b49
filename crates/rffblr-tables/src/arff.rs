//! Reads ARFF: declared attributes followed by dense or sparse rows.
//!
//! Numeric attributes (`numeric`, `real`, `integer`), nominal ones (`{a, 'b c'}`), `string` and `date`, as text, are read.
//! In a sparse row an absent cell is zero, the first declared level, or missing in a string attribute. A few bytes of such
//! rows can stand for a very large table, which is refused before it is taken into memory.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};

use super::cells::{Cell, is_missing, parse, settle};
use super::error::Place;
use super::numerals::Numerals;
use super::packing::{Expansion, expect_modest};
use super::records::MAX_RECORD;
use super::scan::MAX_CELLS;
use super::source::Source;
use super::{Column, ReadOptions, Table, TableError, Values, Wish, nearest, plan};
use rffblr::internals::{Levels, excerpt};
use rffblr::memory::require;

/// What an attribute holds, with the cells read so far.
enum Cells {
    Numeric(Vec<f64>),
    Nominal(Levels),
    Text(Levels),
    Ignored,
}

/// The names of the attributes.
pub(super) fn names(source: &mut Source) -> Result<Vec<String>, TableError> {
    let file = source.name().to_owned();
    let mut lines = Lines { file: &file, input: BufReader::new(source.text()?), number: 0, bytes: Vec::new() };
    Ok(read_header(&mut lines)?.into_iter().map(|(name, _)| name).collect())
}

/// Reads a table.
pub(super) fn read(source: &mut Source, options: &ReadOptions) -> Result<Table, TableError> {
    let file = source.name().to_owned();
    let mut lines = Lines { file: &file, input: BufReader::new(source.text()?), number: 0, bytes: Vec::new() };
    let attributes = read_header(&mut lines)?;
    let (names, mut columns): (Vec<String>, Vec<Cells>) = attributes.into_iter().unzip();
    let wishes = plan(&file, &names, options)?;
    for (cells, &wish) in columns.iter_mut().zip(&wishes) {
        if wish == Wish::Ignore {
            *cells = Cells::Ignored;
        }
    }

    let mut size =
        Size { file: &file, allowed: options.allow_expansion, row: 0, read: 0, taken: 0, granted: Expansion::SMALL };
    size.row = columns.iter().map(Cells::bytes_each).sum();
    while let Some((line, text)) = lines.next()? {
        size.add_row(text.len())?;
        let row = if text.starts_with('{') { sparse_row(text, &names) } else { dense_row(text, columns.len()) };
        let (row, found) = row.map_err(|message| TableError::Arff { file: file.clone(), line, message })?;
        if found != columns.len() {
            return Err(TableError::Ragged {
                file,
                line,
                expected: columns.len(),
                found,
                hint: "separate cells by commas, write ? for a missing one and quote text that holds a comma",
            });
        }
        for ((cell, cells), name) in row.iter().zip(&mut columns).zip(&names) {
            cells.push(cell.as_ref(), &file, line, name)?;
        }
    }

    let mut table = Vec::with_capacity(columns.len());
    for ((cells, name), wish) in columns.into_iter().zip(names).zip(wishes) {
        let values = match cells {
            Cells::Numeric(numbers) => Values::Numeric(numbers),
            Cells::Nominal(levels) | Cells::Text(levels) => levels.finish(),
            Cells::Ignored => continue,
        };
        let values = settle(&file, &name, values, 0, wish)?;
        table.push(Column { name, values });
    }
    Ok(Table::new(table)?)
}

/// What the rows take in memory beside what they take in the file.
struct Size<'a> {
    file: &'a str,
    allowed: bool,
    /// Bytes of one row in memory.
    row: u64,
    /// Bytes of all rows so far, in the file and in memory.
    read: u64,
    taken: u64,
    /// Bytes that may be taken without another look at the memory that is left.
    granted: u64,
}

impl Size<'_> {
    /// An error if one more row makes the table absurdly larger than the file, or more than memory holds.
    fn add_row(&mut self, bytes: usize) -> Result<(), TableError> {
        self.read += bytes as u64 + 1;
        self.taken += self.row;
        expect_modest(self.file, Expansion { packed: self.read, unpacked: self.taken }, self.allowed)?;
        if self.taken > self.granted {
            // As much again is looked for at once, which columns also take while they grow.
            let what = format!("reading {}, whose rows take more than {} MB,", self.file, self.taken / 1_000_000);
            let remedy = "ignore columns, or write it as CSV and give a pattern such as 'data*.csv', which is read in blocks of rows";
            require(self.taken as f64, what, remedy)?;
            self.granted = 2 * self.taken;
        }
        Ok(())
    }
}

/// Lines without comments and blank ones, trimmed, in bounded memory.
struct Lines<'a, R> {
    file: &'a str,
    input: BufReader<R>,
    number: u64,
    bytes: Vec<u8>,
}

impl<R: Read> Lines<'_, R> {
    fn next(&mut self) -> Result<Option<(u64, &str)>, TableError> {
        let file = || self.file.to_owned();
        loop {
            self.bytes.clear();
            let limit = MAX_RECORD as u64 + 1;
            let outcome = (&mut self.input).take(limit).read_until(b'\n', &mut self.bytes);
            let count = outcome.map_err(|cause| TableError::Read { file: file(), cause })?;
            if count == 0 {
                return Ok(None);
            }
            self.number += 1;
            let line = self.number;
            if count as u64 == limit {
                return Err(TableError::LongLine { file: file(), line });
            }
            if self.bytes.contains(&0) {
                return Err(TableError::Binary { file: file(), line });
            }
            let mark: &[u8] = b"\xef\xbb\xbf";
            if line == 1 && self.bytes.starts_with(mark) {
                self.bytes.drain(..mark.len());
            }
            let text = self.bytes.trim_ascii();
            if !text.is_empty() && !text.starts_with(b"%") {
                break;
            }
        }
        let line = self.number;
        match std::str::from_utf8(self.bytes.trim_ascii()) {
            Ok(text) => Ok(Some((line, text))),
            Err(_) => Err(TableError::NotUtf8 { file: file(), line }),
        }
    }
}

fn read_header<R: Read>(lines: &mut Lines<'_, R>) -> Result<Vec<(String, Cells)>, TableError> {
    let file = lines.file;
    let mut attributes = Vec::new();
    while let Some((line, text)) = lines.next()? {
        let failed = |message: String| TableError::Arff { file: file.to_owned(), line, message };
        let (keyword, rest) = text.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((text, ""));
        match keyword.to_ascii_lowercase().as_str() {
            "@relation" => {}
            "@attribute" if attributes.len() < MAX_CELLS => {
                attributes.push(attribute(rest).map_err(failed)?);
            }
            "@attribute" => return Err(failed(format!("more than {MAX_CELLS} attributes"))),
            "@data" if attributes.is_empty() => {
                return Err(failed(String::from("@data before any @attribute line")));
            }
            "@data" => return Ok(attributes),
            _ => {
                let shown = excerpt(keyword);
                let message = format!("expected @relation, @attribute or @data, found {shown}");
                return Err(failed(message));
            }
        }
    }
    let (file, line) = (file.to_owned(), lines.number);
    if line == 0 {
        return Err(TableError::Empty { file });
    }
    let message = String::from("the file ends before its @data line");
    Err(TableError::Arff { file, line, message })
}

/// Reads `name type` of an attribute line.
fn attribute(rest: &str) -> Result<(String, Cells), String> {
    let (name, rest) = token(rest, |c| c.is_ascii_whitespace() || c == '{')?;
    // Some writers quote twice: "'name'".
    let inner = |quote| name.text.strip_prefix(quote)?.strip_suffix(quote);
    let twice = inner('\'').or(inner('"')).filter(|inner| name.quoted && !inner.is_empty());
    let name = twice.unwrap_or(&name.text).to_owned();
    let problem = |what: &str| format!("attribute {}: {what}", excerpt(&name));
    if let Some(mut list) = rest.trim_ascii_start().strip_prefix('{') {
        let mut levels = Levels::default();
        while !list.trim_ascii_start().starts_with('}') {
            let (level, rest) = token(list, |c| c == ',' || c == '}')?;
            if level.text.is_empty() && !level.quoted {
                return Err(problem("an empty level; quote it as ''"));
            }
            if !levels.declare(&level.text) {
                return Err(problem(&format!("level {} is listed twice", excerpt(&level.text))));
            }
            list = match rest.trim_ascii_start() {
                end if end.starts_with('}') => end,
                more => more
                    .strip_prefix(',')
                    .ok_or_else(|| problem("the list of levels needs commas and a closing brace"))?,
            };
        }
        return Ok((name, Cells::Nominal(levels)));
    }
    let (kind, rest) = token(rest, |c| c.is_ascii_whitespace() || c == '[')?;
    let cells = match kind.text.to_ascii_lowercase().as_str() {
        "numeric" | "real" | "integer" => Cells::Numeric(Vec::new()),
        "string" => Cells::Text(Levels::default()),
        // What follows is the format of the date, which is read as a text is.
        "date" => return Ok((name, Cells::Text(Levels::default()))),
        "" => {
            return Err(problem("has no type; write numeric, string or {level, level}"));
        }
        other => {
            return Err(problem(&format!(
                "type {} is not known; write numeric, string or {{level, level}}",
                excerpt(other)
            )));
        }
    };
    // Some writers add a range or a comment.
    let rest = rest.trim_ascii_start();
    if rest.is_empty() || rest.starts_with(['[', '%']) {
        Ok((name, cells))
    } else {
        Err(problem(&format!("{} after the type; a name with blanks must be quoted", excerpt(rest))))
    }
}

/// A word or a quoted text.
struct Token<'a> {
    text: Cow<'a, str>,
    quoted: bool,
}

/// Takes one token off the front; an unquoted one ends before the first character for which `ends` holds.
fn token(input: &str, ends: impl Fn(char) -> bool) -> Result<(Token<'_>, &str), String> {
    let input = input.trim_ascii_start();
    let Some(quote) = input.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        let end = input.find(ends).unwrap_or(input.len());
        let (word, rest) = input.split_at(end);
        let text = Cow::Borrowed(word.trim_ascii_end());
        let quoted = false;
        return Ok((Token { text, quoted }, rest));
    };
    let mut text = String::new();
    let mut letters = input.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            let rest = input.get(at + 1..).unwrap_or("");
            let text = Cow::Owned(text);
            let quoted = true;
            return Ok((Token { text, quoted }, rest));
        }
        let escaped = if letter == '\\' { letters.next() } else { None };
        text.push(match escaped {
            None => letter,
            Some((_, 'n')) => '\n',
            Some((_, 'r')) => '\r',
            Some((_, 't')) => '\t',
            Some((_, other)) => other,
        });
    }
    Err(format!("a quote is never closed in {}", excerpt(input)))
}

const WEIGHTS: &str = "instance weights in braces are not supported; remove them";

/// The cells of a row, `None` where a sparse row leaves one out, and how many there were.
type Row<'a> = (Vec<Option<Token<'a>>>, usize);

fn dense_row(line: &str, columns: usize) -> Result<Row<'_>, String> {
    let mut row = Vec::with_capacity(columns);
    let mut found = 0;
    let mut rest = line;
    loop {
        if rest.trim_ascii_start().starts_with('{') {
            return Err(String::from(WEIGHTS));
        }
        let (cell, after) = token(rest, |c| c == ',')?;
        found += 1;
        // Surplus cells are only counted, so that a very long line costs no memory.
        if found <= columns {
            row.push(Some(cell));
        }
        let after = after.trim_ascii_start();
        if after.is_empty() {
            return Ok((row, found));
        }
        rest = after.strip_prefix(',').ok_or_else(|| format!("text after the closing quote of cell {found}"))?;
    }
}

/// Reads `{index value, index value}`; the columns have these names.
fn sparse_row<'a>(line: &'a str, names: &[String]) -> Result<Row<'a>, String> {
    let columns = names.len();
    let mut row: Vec<Option<Token>> = Vec::new();
    row.resize_with(columns, || None);
    let mut rest = line.strip_prefix('{').unwrap_or(line).trim_ascii_start();
    while !rest.starts_with('}') {
        let (index, after) = token(rest, |c| c.is_ascii_whitespace() || c == ',' || c == '}')?;
        let index = index.text;
        let Some(slot) = index.parse().ok().and_then(|i: usize| row.get_mut(i)) else {
            let last = columns.saturating_sub(1);
            let shown = excerpt(&index);
            return Err(format!(
                "{shown} is not a column number from 0 to {last} of a sparse row; columns are counted from 0 there, in the \
                 order of their @attribute lines"
            ));
        };
        // It parsed as the number of a column.
        let name = || index.parse().ok().and_then(|i: usize| names.get(i)).map_or(String::new(), |name| excerpt(name));
        let (value, after) = token(after, |c| c == ',' || c == '}')?;
        if value.text.is_empty() && !value.quoted {
            return Err(format!(
                "no value after column number {index} ({}); write a blank and the value after it, ? if it is missing, or \
                 leave both out if it is zero",
                name()
            ));
        }
        if slot.replace(value).is_some() {
            return Err(format!("column number {index} ({}) stands twice in the row; keep one of them", name()));
        }
        rest = after.trim_ascii_start();
        if let Some(more) = rest.strip_prefix(',') {
            rest = more.trim_ascii_start();
        } else if !rest.starts_with('}') {
            return Err(format!(
                "the sparse row has no closing brace after column number {index} ({}); end the row with a brace, separate \
                 cells by commas and quote text that holds a blank",
                name()
            ));
        }
    }
    let after = rest.strip_prefix('}').unwrap_or(rest).trim_ascii_start();
    if after.is_empty() {
        return Ok((row, columns));
    }
    let weights = after.trim_start_matches(',').trim_ascii_start().starts_with('{');
    Err(String::from(if weights {
        WEIGHTS
    } else {
        "text after the closing brace of the sparse row; remove it, or write it into a line of its own"
    }))
}

impl Cells {
    /// Bytes that a cell takes in memory.
    fn bytes_each(&self) -> u64 {
        match self {
            Cells::Numeric(_) => 8,
            Cells::Nominal(_) | Cells::Text(_) => 4,
            Cells::Ignored => 0,
        }
    }

    /// Appends a cell of a row; `None` is a cell that a sparse row leaves out.
    fn push(&mut self, cell: Option<&Token>, file: &str, line: u64, column: &str) -> Result<(), TableError> {
        let blank = |cell: &Token| !cell.quoted && matches!(&*cell.text, "" | "?");
        match (self, cell) {
            (Cells::Ignored, _) => {}
            (Cells::Numeric(numbers), None) => numbers.push(0.0),
            (Cells::Nominal(levels), None) if levels.known().next().is_some() => levels.push_code(0),
            (Cells::Nominal(levels) | Cells::Text(levels), None) => levels.push_missing(),
            (Cells::Numeric(numbers), Some(cell)) => {
                let (file, column) = (file.to_owned(), column.to_owned());
                let (place, text) = (Place::Line(line), cell.text.to_string());
                match parse(cell.text.as_bytes(), Numerals::PLAIN) {
                    Ok(Cell::Missing) => numbers.push(f64::NAN),
                    Ok(Cell::Number(number)) if number.is_finite() => numbers.push(number),
                    Ok(Cell::Number(_)) => {
                        return Err(TableError::Infinite { file, place, column, text });
                    }
                    _ => {
                        return Err(TableError::NotNumeric { file, place, column, text });
                    }
                }
            }
            (Cells::Nominal(levels), Some(cell)) => match levels.code(&cell.text) {
                Some(code) if !blank(cell) => levels.push_code(code),
                // A level may be called NA or none: what is declared comes first.
                _ if !cell.quoted && is_missing(&cell.text) => levels.push_missing(),
                _ => {
                    return Err(TableError::UnknownLevel {
                        file: file.to_owned(),
                        place: Place::Line(line),
                        column: column.to_owned(),
                        text: cell.text.to_string(),
                        nearest: nearest(&cell.text, levels.known()).map(String::from),
                    });
                }
            },
            (Cells::Text(levels), Some(cell)) if blank(cell) => levels.push_missing(),
            (Cells::Text(levels), Some(cell)) => {
                levels.push(&cell.text);
            }
        }
        Ok(())
    }
}
