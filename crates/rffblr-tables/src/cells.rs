//! Single cells: what is missing, what is a number, and how text is stored as codes.

use std::collections::HashMap;
use std::str::Utf8Error;

use super::error::Place;
use super::{Column, MISSING, TableError, Values, Wish};
use rffblr::internals::number_text;

/// Spellings of a missing value, the errors of spreadsheets among them; letters in either case.
const MISSING_WORDS: [&str; 16] = [
    "", "NA", "NaN", "-NaN", "?", "N/A", "null", "none", "#N/A", "#N/D", "#NULL!", "#VALUE!", "#DIV/0!", "#REF!",
    "#NUM!", "#NAME?",
];

/// True for the spellings of a missing value.
pub(super) fn is_missing(text: &str) -> bool {
    text.len() <= 7 && MISSING_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// What the text of a cell means.
#[derive(Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Missing,
    /// Possibly infinite, never NaN.
    Number(f64),
    Text(&'a str),
}

/// A finite number without blanks around it, which is what nearly all cells hold.
pub(super) fn plain_number(bytes: &[u8]) -> Option<f64> {
    let number: f64 = fast_float2::parse(bytes).ok()?;
    number.is_finite().then_some(number)
}

/// Reads a cell, without the blanks around it.
pub(super) fn parse(bytes: &[u8]) -> Result<Cell<'_>, Utf8Error> {
    let text = std::str::from_utf8(bytes.trim_ascii())?;
    Ok(match fast_float2::parse::<f64, _>(text) {
        Ok(number) if number.is_nan() => Cell::Missing,
        Ok(number) => Cell::Number(number),
        Err(_) if is_missing(text) => Cell::Missing,
        Err(_) => Cell::Text(text),
    })
}

/// The number in a text that is nothing but one.
pub(super) fn number_in(text: &str) -> Option<f64> {
    match parse(text.as_bytes()) {
        Ok(Cell::Number(number)) => Some(number),
        _ => None,
    }
}

/// Text stored as codes into the list of distinct texts.
#[derive(Default)]
pub(super) struct Levels {
    index: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl Levels {
    /// A column that starts with `count` missing cells.
    pub(super) fn after_missing(count: usize) -> Levels {
        Levels { index: HashMap::new(), codes: vec![MISSING; count] }
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    /// Adds a level that no cell has used yet; false if it is there already.
    pub(super) fn declare(&mut self, level: &str) -> bool {
        let new = self.code(level).is_none();
        if new {
            let code = self.next_code();
            self.index.insert(level.to_owned(), code);
        }
        new
    }

    /// The code of a known level.
    pub(super) fn code(&self, text: &str) -> Option<u32> {
        self.index.get(text).copied()
    }

    /// The known levels, in no particular order.
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }

    /// Counts the cells whose text has a property and those whose text has not; missing cells are neither.
    pub(super) fn count_cells(&self, property: impl Fn(&str) -> bool) -> (usize, usize) {
        let mut holds = vec![false; self.index.len()];
        for (text, &code) in &self.index {
            if let Some(flag) = holds.get_mut(code as usize) {
                *flag = property(text);
            }
        }
        let flags = self.codes.iter().filter_map(|&code| holds.get(code as usize));
        flags.fold((0, 0), |(with, without), &flag| if flag { (with + 1, without) } else { (with, without + 1) })
    }

    /// Appends a cell by its code.
    pub(super) fn push_code(&mut self, code: u32) {
        self.codes.push(code);
    }

    /// Appends a cell, adding its text to the levels if it is new.
    pub(super) fn push(&mut self, text: &str) {
        let code = match self.code(text) {
            Some(code) => code,
            None => {
                let code = self.next_code();
                self.index.insert(text.to_owned(), code);
                code
            }
        };
        self.codes.push(code);
    }

    pub(super) fn push_missing(&mut self) {
        self.codes.push(MISSING);
    }

    pub(super) fn finish(self) -> Values {
        let mut levels: Vec<(u32, String)> = self.index.into_iter().map(|(l, c)| (c, l)).collect();
        levels.sort_unstable_by_key(|(code, _)| *code);
        Values::Text { levels: levels.into_iter().map(|(_, level)| level).collect(), codes: self.codes }
    }

    fn next_code(&self) -> u32 {
        // Four billion distinct texts do not fit into memory, so the fallback is never reached.
        u32::try_from(self.index.len()).unwrap_or(MISSING)
    }
}

/// Turns a column of a typed format into what the options wish for.
pub(super) fn settle(file: &str, column: Column, wish: Wish) -> Result<Column, TableError> {
    let Column { name, values } = column;
    let values = match values {
        Values::Numeric(numbers) => {
            if let Some(row) = numbers.iter().position(|x| x.is_infinite()) {
                return Err(TableError::Infinite {
                    file: file.to_owned(),
                    place: Place::Row(row + 1),
                    column: name,
                    text: number_text(numbers[row]),
                });
            }
            if wish == Wish::Text {
                let mut levels = Levels::default();
                for x in numbers {
                    if x.is_nan() {
                        levels.push_missing();
                    } else {
                        levels.push(&number_text(x));
                    }
                }
                levels.finish()
            } else {
                Values::Numeric(numbers)
            }
        }
        Values::Text { levels, codes } if wish == Wish::Numeric => {
            let mut numbers = Vec::with_capacity(codes.len());
            let parsed: Vec<Option<f64>> = levels.iter().map(|level| finite(level)).collect();
            for (row, &code) in codes.iter().enumerate() {
                let number = match parsed.get(code as usize) {
                    None => f64::NAN,
                    Some(Some(number)) => *number,
                    Some(None) => {
                        return Err(TableError::NotNumeric {
                            file: file.to_owned(),
                            place: Place::Row(row + 1),
                            column: name,
                            text: levels[code as usize].clone(),
                        });
                    }
                };
                numbers.push(number);
            }
            Values::Numeric(numbers)
        }
        values => values,
    };
    Ok(Column { name, values })
}

fn finite(text: &str) -> Option<f64> {
    match parse(text.as_bytes()) {
        Ok(Cell::Missing) => Some(f64::NAN),
        Ok(Cell::Number(number)) if number.is_finite() => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_mean_what_a_reader_expects() {
        for text in [
            "", " ", "NA", "na", "nan", "NaN", "-nan", "?", " ? ", "n/a", "NULL", "None", "\tNA ", "#N/A", "#DIV/0!",
            "#name?",
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(Cell::Missing), "{text:?}");
        }
        for (text, number) in [
            ("1", 1.0),
            (" -2.5 ", -2.5),
            ("+3", 3.0),
            (".5", 0.5),
            ("1e-3", 1e-3),
            ("-inf", f64::NEG_INFINITY),
            ("1e999", f64::INFINITY),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(Cell::Number(number)), "{text:?}");
        }
        for text in ["1,5", "1%", "#1", "#OTHER!", "1 000", "0x10", "nano", "nothing", "--", "é"] {
            assert_eq!(parse(text.as_bytes()), Ok(Cell::Text(text)), "{text:?}");
        }
        assert!(parse(b"\xff").is_err());
    }
}
