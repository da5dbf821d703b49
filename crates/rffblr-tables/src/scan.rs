//! Splits delimited text into cells, in place.
//!
//! The rules are those of RFC 4180, read kindly: blanks may stand around a quoted cell, and a double quote
//! inside an unquoted cell is an ordinary character.

use memchr::{memchr, memchr3_iter};

/// Most cells in one row.
pub(super) const MAX_CELLS: usize = 1 << 20;

/// Where the text of a cell lies.
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: usize,
    end: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Plain,
    Quoted,
    /// Quoted with doubled quotes inside, which were made single in the second buffer.
    Unescaped,
}

/// Text with the places of its cells.
#[derive(Default)]
pub(super) struct Cells {
    pub(super) bytes: Vec<u8>,
    pub(super) unescaped: Vec<u8>,
    pub(super) spans: Vec<Span>,
}

/// How the text is laid out.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) delimiter: u8,
    /// Last byte of a line: CR in files that have no LF.
    pub(super) line_end: u8,
}

/// What came of looking for a whole row.
pub(super) enum Scan {
    /// Found; the next row starts here.
    Row(usize),
    /// The bytes end before the row does.
    Cut,
    TooManyCells,
    /// Text follows the closing quote at this position.
    StrayText(usize),
}

impl Cells {
    pub(super) fn text(&self, span: Span) -> &[u8] {
        let bytes = match span.kind {
            Kind::Plain | Kind::Quoted => &self.bytes,
            Kind::Unescaped => &self.unescaped,
        };
        bytes.get(span.start..span.end).unwrap_or(&[])
    }

    /// Splits the row that starts at `row` into cells; `at_end` says that no bytes will follow.
    pub(super) fn scan_row(&mut self, row: usize, at_end: bool, layout: Layout) -> Scan {
        let most = self.spans.len() + MAX_CELLS;
        let mut start = row;
        let mut known_plain = None;
        // The search starts over after every quoted cell.
        'search: loop {
            let from = start;
            let rest = self.bytes.get(from..).unwrap_or(&[]);
            for offset in memchr3_iter(layout.delimiter, layout.line_end, b'"', rest) {
                let at = from + offset;
                let byte = self.bytes[at];
                if self.spans.len() >= most {
                    return Scan::TooManyCells;
                }
                if byte == b'"' {
                    // One look per cell, lest many quotes after many blanks take quadratic time.
                    if known_plain == Some(start) || !self.bytes[start..at].trim_ascii().is_empty() {
                        known_plain = Some(start);
                        continue;
                    }
                    let after = match self.scan_quoted(at + 1, at_end, layout) {
                        Ok(after) => after,
                        Err(outcome) => return outcome,
                    };
                    match self.bytes.get(after) {
                        None => return Scan::Row(after),
                        Some(&byte) if byte == layout.line_end => return Scan::Row(after + 1),
                        Some(_) => start = after + 1,
                    }
                    continue 'search;
                }
                let (end, kind) = (at, Kind::Plain);
                self.spans.push(Span { start, end, kind });
                start = at + 1;
                if byte == layout.line_end {
                    return Scan::Row(start);
                }
            }
            break;
        }
        let (end, kind) = (self.bytes.len(), Kind::Plain);
        if !at_end || row == end {
            return Scan::Cut;
        }
        self.spans.push(Span { start, end, kind });
        Scan::Row(end)
    }

    /// Reads a quoted cell whose text begins at `start`; gives the place of the delimiter or line end after it.
    fn scan_quoted(&mut self, start: usize, at_end: bool, layout: Layout) -> Result<usize, Scan> {
        let unescaped = self.unescaped.len();
        let mut piece = start;
        let end = loop {
            let rest = self.bytes.get(piece..).unwrap_or(&[]);
            let quote = piece + memchr(b'"', rest).ok_or(Scan::Cut)?;
            match self.bytes.get(quote + 1) {
                Some(b'"') => {
                    self.unescaped.extend_from_slice(&self.bytes[piece..=quote]);
                    piece = quote + 2;
                }
                None if !at_end => return Err(Scan::Cut),
                _ => break quote,
            }
        };
        self.spans.push(if piece == start {
            let kind = Kind::Quoted;
            Span { start, end, kind }
        } else {
            self.unescaped.extend_from_slice(&self.bytes[piece..end]);
            Span { start: unescaped, end: self.unescaped.len(), kind: Kind::Unescaped }
        });
        for (after, &byte) in self.bytes.iter().enumerate().skip(end + 1) {
            match byte {
                _ if byte == layout.delimiter || byte == layout.line_end => return Ok(after),
                b' ' | b'\t' | b'\r' => {}
                _ => return Err(Scan::StrayText(end)),
            }
        }
        if at_end { Ok(self.bytes.len()) } else { Err(Scan::Cut) }
    }

    /// A line with nothing but blanks.
    pub(super) fn is_blank(&self, row: &[Span]) -> bool {
        match row {
            [span] => span.kind == Kind::Plain && self.text(*span).trim_ascii().is_empty(),
            _ => false,
        }
    }
}
