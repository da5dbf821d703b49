//! Columns that grow cell by cell or block by block.

use super::{MISSING, Values};
use std::collections::HashMap;

/// The cells of a column so far.
#[derive(Clone, Debug)]
pub enum Cells {
    /// Numbers; NaN is a missing cell.
    Numbers(Vec<f64>),
    /// Text as codes.
    Text(Levels),
}

impl Cells {
    /// A column of text or of numbers without cells.
    pub fn empty(text: bool) -> Cells {
        if text { Cells::Text(Levels::default()) } else { Cells::Numbers(Vec::new()) }
    }

    /// Whether it holds text.
    pub fn is_text(&self) -> bool {
        matches!(self, Cells::Text(_))
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Cells::Numbers(numbers) => numbers.len(),
            Cells::Text(levels) => levels.len(),
        }
    }

    /// True without cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends some rows of another column; false, and nothing appended, if that is of the other type.
    pub fn extend(&mut self, values: &Values, rows: impl Iterator<Item = usize>) -> bool {
        match (self, values) {
            (Cells::Numbers(out), Values::Numeric(numbers)) => {
                out.extend(rows.map(|row| numbers.get(row).copied().unwrap_or(f64::NAN)));
                true
            }
            (Cells::Text(out), Values::Text { levels, codes }) => {
                // The code here of each level there, once it is met.
                let mut known = vec![MISSING; levels.len()];
                for row in rows {
                    let code = codes.get(row).copied().unwrap_or(MISSING);
                    match (known.get_mut(code as usize), levels.get(code as usize)) {
                        (Some(known), Some(_)) if *known != MISSING => out.push_code(*known),
                        (Some(known), Some(level)) => *known = out.push(level),
                        _ => out.push_missing(),
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// Hands over the cells.
    pub fn finish(self) -> Values {
        match self {
            Cells::Numbers(numbers) => Values::Numeric(numbers),
            Cells::Text(levels) => levels.finish(),
        }
    }

    /// Hands over the cells so far and starts again without any.
    pub fn take(&mut self) -> Values {
        let empty = Cells::empty(self.is_text());
        std::mem::replace(self, empty).finish()
    }
}

/// Text stored as codes into the list of distinct texts.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    index: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl Levels {
    /// A column that starts with `count` missing cells.
    pub fn after_missing(count: usize) -> Levels {
        Levels { index: HashMap::new(), codes: vec![MISSING; count] }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// True without cells.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Adds a level that no cell has used yet; false if it is there already.
    pub fn declare(&mut self, level: &str) -> bool {
        let new = self.code(level).is_none();
        if new {
            let code = self.next_code();
            self.index.insert(level.to_owned(), code);
        }
        new
    }

    /// The code of a known level.
    pub fn code(&self, text: &str) -> Option<u32> {
        self.index.get(text).copied()
    }

    /// The known levels, in no particular order.
    pub fn known(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }

    /// The known levels with the number of their cells, in no particular order.
    pub fn counted(&self) -> impl Iterator<Item = (&str, usize)> {
        let mut cells = vec![0; self.index.len()];
        for &code in &self.codes {
            if let Some(count) = cells.get_mut(code as usize) {
                *count += 1;
            }
        }
        self.index.iter().map(move |(level, &code)| (level.as_str(), cells.get(code as usize).copied().unwrap_or(0)))
    }

    /// Appends a cell by its code.
    pub fn push_code(&mut self, code: u32) {
        self.codes.push(code);
    }

    /// Appends a cell, adding its text to the levels if it is new; gives its code.
    pub fn push(&mut self, text: &str) -> u32 {
        let code = match self.code(text) {
            Some(code) => code,
            None => {
                let code = self.next_code();
                self.index.insert(text.to_owned(), code);
                code
            }
        };
        self.codes.push(code);
        code
    }

    /// Appends a missing cell.
    pub fn push_missing(&mut self) {
        self.codes.push(MISSING);
    }

    /// Hands over the levels in order of their codes, and the cells.
    pub fn finish(self) -> Values {
        let mut levels: Vec<(u32, String)> = self.index.into_iter().map(|(l, c)| (c, l)).collect();
        levels.sort_unstable_by_key(|(code, _)| *code);
        Values::Text { levels: levels.into_iter().map(|(_, level)| level).collect(), codes: self.codes }
    }

    fn next_code(&self) -> u32 {
        // Four billion distinct texts do not fit into memory, so the fallback is never reached.
        u32::try_from(self.index.len()).unwrap_or(MISSING)
    }
}
