//! Summaries of single columns.

use crate::table::{Column, DateTexts, Values};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Most levels of a text that are counted.
pub const COUNTED_LEVELS: usize = 1000;

/// What is known of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnSummary {
    /// Name in the table.
    pub name: String,
    /// Number of missing cells.
    pub missing: u64,
    /// Number of the first row, from 0, whose cell is missing.
    pub first_missing: Option<u64>,
    /// What is known of the other cells.
    pub present: Present,
}

/// The cells of a column that are not missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Present {
    /// Numbers.
    Numbers(Moments),
    /// Texts.
    Texts(LevelCounts),
}

/// Number, range, mean and variance of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// How many.
    pub count: u64,
    /// The smallest; infinite if there is none.
    pub min: f64,
    /// The largest; minus infinity if there is none.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Sum of squared deviations from the mean.
    pub squares: f64,
}

/// As the bits of the numbers, which may be infinite.
impl Serialize for Moments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bits = [self.min, self.max, self.mean, self.squares].map(f64::to_bits);
        (self.count, bits).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Moments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moments, D::Error> {
        let (count, bits) = <(u64, [u64; 4])>::deserialize(deserializer)?;
        let [min, max, mean, squares] = bits.map(f64::from_bits);
        Ok(Moments { count, min, max, mean, squares })
    }
}

impl Moments {
    const NONE: Moments = Moments { count: 0, min: f64::INFINITY, max: f64::NEG_INFINITY, mean: 0.0, squares: 0.0 };

    /// Of numbers that are at hand; NaN is a missing one.
    fn of(numbers: &[f64]) -> Moments {
        let present = || numbers.iter().copied().filter(|number| !number.is_nan());
        let (count, sum) = present().fold((0, 0.0), |(count, sum), number| (count + 1, sum + number));
        let mean = if count > 0 { sum / count as f64 } else { 0.0 };
        present().fold(Moments { count, mean, ..Moments::NONE }, |moments, number| Moments {
            min: moments.min.min(number),
            max: moments.max.max(number),
            squares: moments.squares + (number - mean) * (number - mean),
            ..moments
        })
    }

    /// Both together (Chan, Golub and LeVeque 1983).
    fn merged(self, other: Moments) -> Moments {
        let count = self.count + other.count;
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let (gap, share) = (other.mean - self.mean, other.count as f64 / count as f64);
        Moments {
            count,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            mean: self.mean + gap * share,
            squares: self.squares + other.squares + gap * gap * share * self.count as f64,
        }
    }

    /// Mean squared deviation from the mean; NaN without a number.
    pub fn variance(&self) -> f64 {
        self.squares / self.count as f64
    }
}

/// Levels of a text with the number of their cells, as long as there are at most `COUNTED_LEVELS`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelCounts {
    /// Of each level the first row that has it, and the number of rows.
    levels: BTreeMap<String, (u64, u64)>,
    /// Number of texts.
    count: u64,
    too_many: bool,
    /// What all of them are as dates.
    dates: DateTexts,
}

impl LevelCounts {
    /// Number of cells.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The levels in order of their first row, with the number of their rows; `None` if there are more than
    /// `COUNTED_LEVELS`, which are not kept.
    pub fn levels(&self) -> Option<Vec<(&str, u64)>> {
        let mut levels: Vec<(u64, &str, u64)> =
            self.levels.iter().map(|(level, &(first, count))| (first, level.as_str(), count)).collect();
        levels.sort_unstable();
        (!self.too_many).then(|| levels.into_iter().map(|(_, level, count)| (level, count)).collect())
    }

    /// What the texts are as dates.
    pub fn dates(&self) -> &DateTexts {
        &self.dates
    }

    fn add(&mut self, level: &str, first: u64, count: u64) {
        self.dates.add(level, count);
        self.keep(level, first, count);
    }

    fn keep(&mut self, level: &str, first: u64, count: u64) {
        self.count += count;
        if self.too_many {
            return;
        }
        if let Some(known) = self.levels.get_mut(level) {
            *known = (known.0.min(first), known.1 + count);
        } else if self.levels.len() < COUNTED_LEVELS {
            self.levels.insert(level.to_owned(), (first, count));
        } else {
            self.too_many = true;
            self.levels.clear();
        }
    }

    fn merge(&mut self, other: LevelCounts) {
        let count = self.count + other.count;
        if other.too_many {
            self.too_many = true;
            self.levels.clear();
        }
        for (level, (first, count)) in other.levels {
            self.keep(&level, first, count);
        }
        self.dates.merge(other.dates);
        self.count = count;
    }
}

impl ColumnSummary {
    pub(super) fn empty(column: &Column) -> ColumnSummary {
        let present = match column.values {
            Values::Numeric(_) => Present::Numbers(Moments::NONE),
            Values::Text { .. } => Present::Texts(LevelCounts::default()),
        };
        ColumnSummary { name: column.name.clone(), missing: 0, first_missing: None, present }
    }

    /// Whether the column is text.
    pub fn is_text(&self) -> bool {
        matches!(self.present, Present::Texts(_))
    }

    pub(super) fn add(&mut self, column: &Column, first_row: u64) {
        let mut miss = |row: usize| {
            self.missing += 1;
            let row = first_row + row as u64;
            self.first_missing = Some(self.first_missing.map_or(row, |first| first.min(row)));
        };
        match (&mut self.present, &column.values) {
            (Present::Numbers(moments), Values::Numeric(numbers)) => {
                numbers.iter().enumerate().filter(|(_, number)| number.is_nan()).for_each(|(row, _)| miss(row));
                *moments = moments.merged(Moments::of(numbers));
            }
            (Present::Texts(counts), Values::Text { levels, codes }) => {
                let mut seen: Vec<(usize, u64)> = vec![(0, 0); levels.len()];
                for (row, &code) in codes.iter().enumerate() {
                    match seen.get_mut(code as usize) {
                        Some((first, count)) => {
                            if *count == 0 {
                                *first = row;
                            }
                            *count += 1;
                        }
                        None => miss(row),
                    }
                }
                for (level, (first, count)) in levels.iter().zip(seen).filter(|(_, (_, count))| *count > 0) {
                    counts.add(level, first_row + first as u64, count);
                }
            }
            // Compared before.
            _ => {}
        }
    }

    pub(super) fn merge(&mut self, other: ColumnSummary) {
        self.missing += other.missing;
        self.first_missing = match (self.first_missing, other.first_missing) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        match (&mut self.present, other.present) {
            (Present::Numbers(mine), Present::Numbers(theirs)) => *mine = mine.merged(theirs),
            (Present::Texts(mine), Present::Texts(theirs)) => mine.merge(theirs),
            _ => {}
        }
    }
}
