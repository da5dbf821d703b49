//! Recognises the delimiter of a text file, and explains a wrong one.

use super::TableError;
use super::records::BYTE_ORDER_MARK;
use super::scan::{Cells, Layout, Scan};
use super::source::HEAD;

/// Delimiters that are recognised, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Rows that decide on the delimiter.
const FIRST_ROWS: usize = 20;

/// The delimiter that a first line such as `sep=;` names, as spreadsheets write it. The line is made blank, so that it is
/// no header and the lines below keep their numbers.
pub(super) fn blank_separator_line(start: &mut [u8]) -> Option<u8> {
    let mark = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let text = start.get_mut(mark..)?;
    let end = text.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
    let line = text.get_mut(..end)?;
    let plain = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let delimiter = match plain {
        [name @ .., b'=', delimiter] if name.eq_ignore_ascii_case(b"sep") && !delimiter.is_ascii_alphanumeric() => {
            *delimiter
        }
        _ => return None,
    };
    // A blank that does not itself separate cells.
    line.fill(if delimiter == b' ' { b'\t' } else { b' ' });
    Some(delimiter)
}

/// Splits the first rows of a file's head; false if its quotes make no sense. The last row may be cut off by the end of the
/// head, and is then not among them.
pub(super) fn first_rows(head: &[u8], delimiter: u8, most: usize, mut use_row: impl FnMut(&[&[u8]])) -> bool {
    let mut cells = Cells { bytes: head.to_vec(), ..Cells::default() };
    let line_end = if head.contains(&b'\n') { b'\n' } else { b'\r' };
    let layout = Layout { delimiter, line_end };
    let (mut at, mut rows) = (0, 0);
    while rows < most {
        cells.spans.clear();
        match cells.scan_row(at, true, layout) {
            Scan::Row(next) => at = next,
            Scan::StrayText(_) => return false,
            Scan::Cut | Scan::TooManyCells => break,
        }
        let is_cut = at >= head.len() && head.len() >= HEAD && rows > 0;
        if !is_cut && !cells.is_blank(&cells.spans) {
            rows += 1;
            use_row(&cells.spans.iter().map(|span| cells.text(*span)).collect::<Vec<_>>());
        }
    }
    true
}

/// Number of cells in the first rows of a file's head, and whether its quotes make sense.
fn row_lengths(head: &[u8], delimiter: u8) -> (Vec<usize>, bool) {
    let mut lengths = Vec::new();
    let sound = first_rows(head, delimiter, FIRST_ROWS, |cells| lengths.push(cells.len()));
    (lengths, sound)
}

fn same(lengths: &[usize]) -> bool {
    lengths.windows(2).all(|pair| pair[0] == pair[1])
}

/// The delimiter with which the first rows agree with the header, and of those the one with most columns.
pub(super) fn recognise_delimiter(head: &[u8]) -> u8 {
    let mut best = ((false, 1), DELIMITERS[0]);
    for delimiter in DELIMITERS {
        let (lengths, sound) = row_lengths(head, delimiter);
        let columns = lengths.first().copied().unwrap_or(1);
        // Above a column of row names there may be no cell.
        let agree = sound && (same(&lengths) || lengths.get(1) == Some(&(columns + 1)) && same(&lengths[1..]));
        if columns > 1 && (agree, columns) > best.0 {
            best = ((agree, columns), delimiter);
        }
    }
    best.1
}

/// Explains a file that fell into one column although another delimiter splits its lines.
pub(super) fn suspect_delimiter(file: &str, head: &[u8], used: u8) -> Option<TableError> {
    if row_lengths(head, used).0.first() != Some(&1) {
        return None;
    }
    let mut quoted = false;
    let mut lines: Vec<(u64, [usize; 4])> = Vec::new();
    let mut counts = [0; 4];
    let mut line = 1;
    let mut blank = true;
    for &byte in head.iter().chain(b"\n") {
        if byte == b'"' {
            quoted = !quoted;
        }
        blank &= byte.is_ascii_whitespace();
        if byte == b'\n' {
            if !quoted && !blank {
                lines.push((line, counts));
                (counts, blank) = ([0; 4], true);
            }
            line += 1;
        } else if !quoted && let Some(which) = DELIMITERS.iter().position(|&d| d == byte) {
            counts[which] += 1;
        }
        if lines.len() == FIRST_ROWS {
            break;
        }
    }
    for (which, &other) in DELIMITERS.iter().enumerate() {
        let in_line = |index: usize| lines.get(index).map_or(0, |(_, counts)| counts[which]);
        let splits_all = in_line(0) > 0 && in_line(0) == in_line(1);
        // Reversed, because the last of equals is taken.
        let most = lines.iter().rev().max_by_key(|(_, counts)| counts[which]);
        if let Some((line, counts)) = most
            && other != used
            && (splits_all || counts[which] > 1)
        {
            return Some(TableError::Delimiter {
                file: file.to_owned(),
                line: *line,
                used: delimiter_name(used),
                other: delimiter_name(other),
                count: counts[which],
            });
        }
    }
    blank_separated(file, head, used)
}

/// Lines of numbers with blanks between them, under a header with as many words.
fn blank_separated(file: &str, head: &[u8], used: u8) -> Option<TableError> {
    let text = String::from_utf8_lossy(head);
    let mut lines = (1..).zip(text.lines());
    let mut next_words = || {
        let (line, text) = lines.find(|(_, text)| !text.trim().is_empty())?;
        Some((line, text.split_whitespace().collect::<Vec<_>>()))
    };
    let (_, names) = next_words()?;
    let (line, cells) = next_words()?;
    let numbers = cells.iter().all(|cell| cell.parse::<f64>().is_ok());
    if used == b' ' || cells.len() < 2 || cells.len() != names.len() || !numbers {
        return None;
    }
    Some(TableError::Delimiter {
        file: file.to_owned(),
        line,
        used: delimiter_name(used),
        other: delimiter_name(b' '),
        count: cells.len() - 1,
    })
}

fn delimiter_name(delimiter: u8) -> &'static str {
    match delimiter {
        b',' => "','",
        b';' => "';'",
        b'\t' => "the tab",
        b'|' => "'|'",
        b' ' => "the blank",
        _ => "the given byte",
    }
}
