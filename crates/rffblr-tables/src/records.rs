//! Rows of delimited text, read in bounded memory and with their line numbers.
//!
//! Lines may end in CR LF, LF or CR; blank lines do not count.

use std::io::Read;

use memchr::memchr;

use super::TableError;
use super::delimiter::blank_separator_line;
use super::scan::{Cells, Kind, Layout, Scan};

/// Longest row in bytes, so that a file without line breaks cannot fill the memory.
pub(super) const MAX_RECORD: usize = 64 << 20;

const CHUNK: usize = 1 << 20;
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Some rows of the file, all with the same number of cells.
#[derive(Default)]
pub(super) struct Batch {
    cells: Cells,
    columns: usize,
    /// Line on which each row starts.
    lines: Vec<u64>,
    line_end: u8,
}

impl Batch {
    pub(super) fn rows(&self) -> usize {
        self.lines.len()
    }

    /// A cell without its quotes.
    pub(super) fn cell(&self, row: usize, column: usize) -> &[u8] {
        match self.cells.spans.get(row * self.columns + column) {
            Some(&span) => self.cells.text(span),
            None => &[],
        }
    }

    /// The line on which a cell starts; quoted cells may hold line breaks, so a row can span several.
    pub(super) fn line(&self, row: usize, column: usize) -> u64 {
        let start = self.lines.get(row).copied().unwrap_or(0);
        let before = (0..column).map(|column| breaks(self.cell(row, column), self.line_end));
        start + before.sum::<u64>()
    }

    /// Takes the first row off as names, trimmed.
    fn take_header(&mut self, file: &str, cells: usize) -> Result<Vec<String>, TableError> {
        let mut names = Vec::with_capacity(cells);
        for column in 0..cells {
            let name = std::str::from_utf8(self.cell(0, column));
            let name = name.map_err(|_| TableError::NotUtf8 { file: file.to_owned(), line: self.line(0, column) })?;
            names.push(name.trim_ascii().to_owned());
        }
        self.cells.spans.drain(..cells);
        self.lines.remove(0);
        Ok(names)
    }
}

fn breaks(bytes: &[u8], line_end: u8) -> u64 {
    bytes.iter().filter(|&&byte| byte == line_end).count() as u64
}

/// Reads a file batch by batch.
pub(super) struct Records<'a, R> {
    file: &'a str,
    input: R,
    layout: Layout,
    /// The beginning of a row that the last batch could not finish.
    rest: Vec<u8>,
    /// Line on which the next row starts; 0 before the first byte is read.
    line: u64,
    /// Number of cells in the header; 0 before it is read.
    columns: usize,
    /// Whether the rows have one cell more than the header, which is counted then.
    unnamed: usize,
    /// Whether the first row that is read is the header.
    at_header: bool,
    at_end: bool,
    /// Bytes to read at a time.
    chunk: usize,
}

impl<'a, R: Read> Records<'a, R> {
    pub(super) fn new(file: &'a str, input: R, delimiter: u8) -> Records<'a, R> {
        let line_end = b'\n';
        Records {
            file,
            input,
            layout: Layout { delimiter, line_end },
            rest: Vec::new(),
            line: 0,
            columns: 0,
            unnamed: 0,
            at_header: false,
            at_end: false,
            chunk: CHUNK,
        }
    }

    /// Reads the header and the first rows.
    pub(super) fn start(&mut self, batch: &mut Batch) -> Result<Vec<String>, TableError> {
        self.at_header = true;
        self.next(batch)?;
        self.at_header = false;
        if batch.rows() == 0 {
            let file = self.file.to_owned();
            return Err(TableError::Empty { file });
        }
        let mut names = batch.take_header(self.file, self.columns - self.unnamed)?;
        if self.unnamed > 0 {
            // R writes row names under no name; some programs end every line but the header with a delimiter.
            let at = if batch.rows() > 0 && batch.cell(0, self.columns - 1).trim_ascii().is_empty() {
                names.len()
            } else {
                0
            };
            names.insert(at, String::new());
        }
        Ok(names)
    }

    /// Fills the batch with the next rows that are not blank; it stays empty at the end of the file.
    pub(super) fn next(&mut self, batch: &mut Batch) -> Result<(), TableError> {
        batch.cells.spans.clear();
        batch.cells.unescaped.clear();
        batch.lines.clear();
        batch.cells.bytes.clear();
        batch.cells.bytes.append(&mut self.rest);
        let mut at = 0;
        while batch.lines.is_empty() && !self.at_end {
            // Blank lines are all that can lie before `at`.
            batch.cells.bytes.drain(..at);
            at = self.fill(&mut batch.cells.bytes)?;
            while self.row(batch, &mut at)? {}
        }
        batch.columns = self.columns;
        batch.line_end = self.layout.line_end;
        let rest = batch.cells.bytes.get(at..).unwrap_or(&[]);
        self.rest.extend_from_slice(rest);
        Ok(())
    }

    /// Adds the row that starts at `at`; false if it is not there as a whole.
    fn row(&mut self, batch: &mut Batch, at: &mut usize) -> Result<bool, TableError> {
        let cells = &mut batch.cells;
        let (spans, unescaped) = (cells.spans.len(), cells.unescaped.len());
        let outcome = cells.scan_row(*at, self.at_end, self.layout);
        let row = cells.spans.get(spans..).unwrap_or(&[]);
        let quote_error = |line, problem| TableError::Quote { file: self.file.to_owned(), line, problem };
        let line_end = self.layout.line_end;
        match outcome {
            Scan::Row(next) if next - *at > MAX_RECORD => Err(self.too_long()),
            Scan::Row(next) => {
                let line = self.line;
                // Only quoted cells hold line breaks.
                let plain = row.iter().all(|span| span.kind == Kind::Plain);
                let bytes = cells.bytes.get(*at..next).unwrap_or(&[]);
                self.line += if plain { 1 } else { breaks(bytes, line_end) };
                *at = next;
                if cells.is_blank(row) {
                    cells.spans.truncate(spans);
                    return Ok(true);
                }
                let found = row.len();
                if self.columns == 0 {
                    self.columns = found;
                }
                if self.at_header && batch.lines.len() == 1 && found == self.columns + 1 && self.columns > 1 {
                    (self.unnamed, self.columns) = (1, found);
                }
                if found != self.columns {
                    return Err(self.ragged(line, found));
                }
                batch.lines.push(line);
                Ok(true)
            }
            Scan::Cut if self.at_end && *at < cells.bytes.len() => {
                Err(quote_error(self.line, "that opens in this row is never closed"))
            }
            Scan::Cut => {
                cells.spans.truncate(spans);
                cells.unescaped.truncate(unescaped);
                Ok(false)
            }
            Scan::TooManyCells => Err(self.too_long()),
            Scan::StrayText(quote) => {
                let before = cells.bytes.get(*at..quote).unwrap_or(&[]);
                let line = self.line + breaks(before, line_end);
                let problem = "closes before the cell ends; write a quote inside quoted text twice";
                Err(quote_error(line, problem))
            }
        }
    }

    /// Reads on, whole chunks even from a slow pipe; gives the place of the first row.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<usize, TableError> {
        let kept = bytes.len();
        if kept > MAX_RECORD {
            return Err(self.too_long());
        }
        // Doubling keeps the number of looks at a long row small.
        let wanted = kept.max(self.chunk).min(MAX_RECORD + 1 - kept) as u64;
        let outcome = (&mut self.input).take(wanted).read_to_end(bytes);
        let count = outcome.map_err(|cause| TableError::Read { file: self.file.to_owned(), cause })?;
        self.at_end = (count as u64) < wanted;
        let mut first = 0;
        if self.line == 0 {
            self.line = 1;
            if bytes.starts_with(BYTE_ORDER_MARK) {
                first = BYTE_ORDER_MARK.len();
            }
            blank_separator_line(bytes);
            // A CR at the very end may be the first half of CR LF.
            let inside = bytes.split_last().map_or(&[][..], |(_, inside)| inside);
            if inside.contains(&b'\r') && !bytes.contains(&b'\n') {
                self.layout.line_end = b'\r';
            }
        }
        if let Some(zero) = memchr(0, bytes) {
            let before = bytes.get(..zero).unwrap_or(&[]);
            return Err(TableError::Binary {
                file: self.file.to_owned(),
                line: self.line + breaks(before, self.layout.line_end),
            });
        }
        Ok(first)
    }

    fn too_long(&self) -> TableError {
        TableError::LongLine { file: self.file.to_owned(), line: self.line }
    }

    fn ragged(&self, line: u64, found: usize) -> TableError {
        let hint = if self.line > line + 1 {
            "this row runs over several lines, so look for a double quote too many"
        } else if self.columns == 1 {
            "if the file starts with a title, remove it; put text that holds the delimiter in double quotes"
        } else if found > self.columns {
            "put text that holds the delimiter in double quotes"
        } else {
            "write a delimiter for every missing cell too"
        };
        TableError::Ragged { file: self.file.to_owned(), line, expected: self.columns, found, hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Row = (u64, Vec<String>);

    fn trimmed(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).trim_ascii().to_owned()
    }

    /// All rows with their lines, or nothing if the text is refused.
    fn rows(text: &str, chunk: usize) -> Option<Vec<Row>> {
        let mut records = Records::new("t", text.as_bytes(), b',');
        records.chunk = chunk;
        let mut batch = Batch::default();
        let mut rows = Vec::new();
        loop {
            records.next(&mut batch).ok()?;
            if batch.rows() == 0 {
                return Some(rows);
            }
            for row in 0..batch.rows() {
                let cells = (0..batch.columns).map(|column| trimmed(batch.cell(row, column)));
                rows.push((batch.line(row, 0), cells.collect()));
            }
        }
    }

    /// The same rules once more, a byte at a time over the whole text.
    fn rows_by_hand(text: &str) -> Option<Vec<Row>> {
        let bytes = text.as_bytes();
        let mut rows: Vec<Row> = Vec::new();
        let (mut at, mut line) = (0, 1);
        while at < bytes.len() {
            let row_line = line;
            let mut row = Vec::new();
            let mut any_quotes = false;
            loop {
                let mut cell = Vec::new();
                while bytes.get(at).is_some_and(|b| matches!(b, b' ' | b'\r')) {
                    at += 1;
                }
                if bytes.get(at) == Some(&b'"') {
                    any_quotes = true;
                    at += 1;
                    loop {
                        match (bytes.get(at)?, bytes.get(at + 1)) {
                            (b'"', Some(b'"')) => {
                                cell.push(b'"');
                                at += 2;
                            }
                            (b'"', _) => {
                                at += 1;
                                break;
                            }
                            (&byte, _) => {
                                line += u64::from(byte == b'\n');
                                cell.push(byte);
                                at += 1;
                            }
                        }
                    }
                    while bytes.get(at).is_some_and(|b| matches!(b, b' ' | b'\r')) {
                        at += 1;
                    }
                    if !matches!(bytes.get(at), None | Some(b',' | b'\n')) {
                        return None;
                    }
                } else {
                    while !matches!(bytes.get(at), None | Some(b',' | b'\n')) {
                        cell.push(bytes[at]);
                        at += 1;
                    }
                }
                row.push(trimmed(&cell));
                at += 1;
                if bytes.get(at - 1) != Some(&b',') {
                    break;
                }
            }
            line += 1;
            if any_quotes || row.len() > 1 || !row[0].is_empty() {
                rows.push((row_line, row));
            }
        }
        let same_length = rows.iter().all(|(_, row)| row.len() == rows[0].1.len());
        same_length.then_some(rows)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

        #[test]
        fn rows_do_not_depend_on_the_pieces_that_are_read(
            cells in proptest::collection::vec("(a|b| |,|,|\n|\n|\r\n|\"|\"\"|\"x\"|\"\n\"|,\"\"|1){0,6}", 1..6),
            chunk in 3usize..9,
        ) {
            let text = cells.concat();
            let expected = rows_by_hand(&text);
            prop_assert_eq!(&rows(&text, CHUNK), &expected);
            prop_assert_eq!(&rows(&text, chunk), &expected);
        }

        #[test]
        fn well_formed_rows_in_small_pieces(
            cells in proptest::collection::vec("([a-c ]{0,5}|\"([a,\n]|\"\"){0,6}\")", 3..30),
            chunk in 3usize..9,
        ) {
            let lines: Vec<String> = cells.chunks_exact(3).map(|row| row.join(",")).collect();
            let text = lines.join("\r\n");
            let expected = rows_by_hand(&text);
            prop_assert!(expected.as_ref().is_some_and(|rows| rows.len() == lines.len()));
            prop_assert_eq!(&rows(&text, chunk), &expected);
        }
    }
}
