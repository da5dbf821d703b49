//! Whether a column of a text file is meant as numbers or as text: decided by counts over all of its cells.

use super::TableError;
use super::cells::{beside_number, number_in};
use super::error::Place;
use super::numerals::Numerals;
use rffblr::internals::{Levels, excerpt, has_comma_inside, is_percentage, plural};

/// A column with at least this share of numbers and more than this many different ones is meant to be numeric.
const MOSTLY: f64 = 0.9;
const MANY_NUMBERS: usize = 20;
/// Fewest cells of a column that looks like numbers.
const FEWEST_CELLS: usize = 10;

/// What is known of a column so far.
#[derive(Default)]
pub(super) struct Guess {
    /// Cells with a number.
    pub(super) numbers: usize,
    /// Cells with any other text.
    pub(super) texts: usize,
    /// Cells that name a limit and no number, and the first of them in the alphabet.
    pub(super) limits: usize,
    pub(super) limit: Option<String>,
    /// Of the cells with text, numbers with a comma inside, and numbers with a percent sign.
    commas: usize,
    signs: usize,
    /// The first of these in the alphabet.
    percentage: Option<String>,
    /// Numbers with a sign or a unit beside them, the first of these in the alphabet and what stands beside it; whether others
    /// have another sign or unit.
    beside: usize,
    beside_example: Option<(String, String)>,
    besides_differ: bool,
    /// One of the cells with text, and whether others have another text.
    only_text: Option<String>,
    texts_differ: bool,
    /// The first different numbers, by their bits, one more than [`MANY_NUMBERS`] at most.
    different: Vec<u64>,
    pub(super) first_text: Option<Found>,
    pub(super) first_infinite: Option<Found>,
}

/// A cell to be named in a message.
pub(super) struct Found {
    pub(super) file: String,
    pub(super) line: u64,
    pub(super) text: String,
}

impl Guess {
    /// Takes note of numbers that are counted already; NaN is a missing cell.
    pub(super) fn compare(&mut self, numbers: &[f64]) {
        for number in numbers.iter().filter(|number| !number.is_nan()) {
            if self.different.len() > MANY_NUMBERS {
                return;
            }
            if !self.different.contains(&number.to_bits()) {
                self.different.push(number.to_bits());
            }
        }
    }

    /// Counts a cell with a limit.
    pub(super) fn count_limit(&mut self, text: &str) {
        self.limits += 1;
        if self.limit.as_deref().is_none_or(|least| text < least) {
            self.limit = Some(text.to_owned());
        }
    }

    /// Counts cells with the same text, which is not a number.
    pub(super) fn count_text(&mut self, text: &str, cells: usize) {
        self.texts += cells;
        match &self.only_text {
            Some(known) => self.texts_differ |= known != text,
            None => self.only_text = Some(text.to_owned()),
        }
        if has_comma_inside(text) {
            self.commas += cells;
        }
        if let Some(sign) = beside_number(text) {
            self.count_beside(text, sign, cells);
        }
        if is_percentage(text) {
            self.signs += cells;
            if self.percentage.as_deref().is_none_or(|least| text < least) {
                self.percentage = Some(text.to_owned());
            }
        }
    }

    /// Counts a number with something beside it.
    fn count_beside(&mut self, text: &str, sign: &str, cells: usize) {
        self.beside += cells;
        match &self.beside_example {
            Some((_, known)) if known != sign => self.besides_differ = true,
            Some((least, _)) if least.as_str() <= text => {}
            _ => self.beside_example = Some((text.to_owned(), sign.to_owned())),
        }
    }

    /// Why a column is text although nearly all of it are numbers, once all cells are counted.
    pub(super) fn nearly_numbers(&self, column: &str) -> Option<String> {
        let (column, cells) = (excerpt(column), self.numbers + self.texts);
        let Found { line, text, .. } = self.first_text.as_ref().filter(|_| self.texts > 0)?;
        let most = |count: usize| count as f64 >= MOSTLY * cells as f64;
        if let Some((example, sign)) = self.beside_example.as_ref().filter(|_| !self.besides_differ)
            && most(self.numbers + self.beside)
            && cells >= FEWEST_CELLS
        {
            let what = if sign == "()" {
                "with brackets; write negative numbers with a minus"
            } else {
                "with a sign or unit; write the numbers without it"
            };
            return Some(format!(
                "column {column} is text because of {} such as {} {what}",
                plural(self.beside, "cell"),
                excerpt(example)
            ));
        }
        // One text among many different numbers stands for none of them.
        let one_text = !self.texts_differ && self.different.len() >= FEWEST_CELLS && 2 * self.numbers >= cells;
        if !(most(self.numbers) || one_text) || cells < FEWEST_CELLS {
            return None;
        }
        let because = match self.texts {
            1 => format!("{} in line {line}", excerpt(text)),
            texts if one_text => format!("{texts} cells with {}, the first in line {line}", excerpt(text)),
            texts => format!("{texts} cells, the first {} in line {line}", excerpt(text)),
        };
        let others = plural(self.numbers, "other cell");
        let are = if self.numbers == 1 { "is a number" } else { "are numbers" };
        Some(format!("column {column} is text because of {because}; {others} {are}; leave a missing value empty"))
    }

    /// Counts the cells of a column that is kept as text.
    pub(super) fn count_levels(&mut self, levels: &Levels, numerals: Numerals) {
        for (level, cells) in levels.counted().filter(|(_, cells)| *cells > 0) {
            match number_in(level, numerals) {
                Some(number) => {
                    self.numbers += cells;
                    self.compare(&[number]);
                }
                None => self.count_text(level, cells),
            }
        }
    }

    /// Refuses an infinite number in a column of numbers.
    pub(super) fn check_finite(&self, column: &str) -> Result<(), TableError> {
        match &self.first_infinite {
            None => Ok(()),
            Some(Found { file, line, text }) => Err(TableError::Infinite {
                file: file.clone(),
                place: Place::Line(*line),
                column: column.to_owned(),
                text: text.clone(),
            }),
        }
    }

    /// Whether the column is text, once all cells are counted; refuses one that looks wrong.
    pub(super) fn is_text(&self, column: &str) -> Result<bool, TableError> {
        // Nothing but limits: <18 and >65 are levels.
        if self.limits > 0 && self.numbers == 0 && self.texts == 0 {
            return Ok(true);
        }
        let Some(Found { file, line, text }) = self.first_text.as_ref().filter(|_| self.texts > 0) else {
            return self.check_finite(column).map(|()| false);
        };
        let (file, place, column, text) = (file.clone(), Place::Line(*line), column.to_owned(), text.clone());
        let (numbers, cells) = (self.numbers, self.numbers + self.texts);
        let most = |count: usize| count as f64 >= MOSTLY * cells as f64;
        if self.different.len() > MANY_NUMBERS && most(numbers) {
            return Err(TableError::MostlyNumeric { file, place, column, text, numbers, cells });
        }
        if self.commas == self.texts {
            return Err(TableError::CommaInNumber { file, place, column, text });
        }
        match &self.percentage {
            Some(example) if most(self.signs + numbers) => {
                let (example, signs) = (example.clone(), self.signs);
                Err(TableError::PercentSign { file, column, example, signs, cells })
            }
            _ => Ok(true),
        }
    }
}
