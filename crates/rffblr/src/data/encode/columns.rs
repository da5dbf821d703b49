//! Single columns: what they become, and the zeros and ones of text.

use super::dates::{dates, times};
use super::{Encoding, MOST_LEVELS, OTHER, suspects};
use crate::data::{EncodeError, Roles};
use crate::linalg::Mat;
use crate::table::{Column, DateOrder, DateTexts, MISSING, Values, number_text};
use std::collections::{BTreeMap, HashMap};

/// Sets the ones of a text column; gives levels that are not known: how many rows, and the first of them. Where rare ones
/// share the last level, those are unknown too, and take it.
pub(super) fn one_hot(
    column: &Column,
    rows: &[usize],
    (levels, rare): (&[String], bool),
    first: usize,
    out: &mut Mat<f64>,
) -> BTreeMap<String, (usize, usize)> {
    let position: HashMap<&str, usize> = levels.iter().enumerate().map(|(k, level)| (level.as_str(), k)).collect();
    let place = |level: &str| position.get(level).copied();
    // A text is looked up once, not in every row.
    let places: Vec<Option<usize>> = match &column.values {
        Values::Text { levels, .. } => levels.iter().map(|level| place(level)).collect(),
        Values::Numeric(_) => Vec::new(),
    };
    let mut unseen = BTreeMap::new();
    for (i, &row) in rows.iter().enumerate() {
        let level = text(column, row);
        let known = match &column.values {
            Values::Text { codes, .. } => places.get(codes[row] as usize).copied().flatten(),
            Values::Numeric(_) => level.as_deref().and_then(place),
        };
        let other = if rare && level.is_some() { levels.len() - 1 } else { levels.len() };
        out[(i, first + known.unwrap_or(other))] = 1.0;
        if let (Some(level), None) = (level, known) {
            unseen.entry(level.into_owned()).or_insert((0, row)).0 += 1;
        }
    }
    unseen
}

/// How a text column is to be read, as far as its rows do not say it.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// Its levels count, whatever they look like.
    levels: bool,
    /// The order of dates that can be read in two ways.
    dates: Option<DateOrder>,
}

impl Reading {
    /// As the user said.
    pub(super) fn asked(roles: &Roles, column: &str) -> Reading {
        Reading { levels: roles.text.iter().any(|text| text == column), dates: roles.dates }
    }

    /// As levels, once it is known that it holds no dates.
    pub(super) fn of_levels() -> Reading {
        Reading { levels: true, dates: None }
    }

    /// As it was read before, with more rows, if it was text then.
    pub(super) fn known(encoding: &Encoding) -> Option<Reading> {
        match encoding {
            Encoding::Date(date) => Some(Reading { levels: false, dates: Some(date.order) }),
            Encoding::Categorical { .. } => Some(Reading::of_levels()),
            Encoding::Numeric { .. } | Encoding::Presence => None,
        }
    }
}

/// What decides on the encoding of a column.
pub(super) struct Facts {
    /// The first row with a missing cell, from 0, and the number of such rows.
    pub(super) first_gap: Option<usize>,
    pub(super) gaps: usize,
    /// Whether no row of the table has a value.
    pub(super) empty: bool,
    /// Whether it counts the rows.
    pub(super) index: bool,
    /// Whether it is a text that is different in every row.
    pub(super) identifier: bool,
    /// What it becomes; `None` if it is the same in all the rows.
    pub(super) encoding: Result<Option<Encoding>, EncodeError>,
}

impl Facts {
    /// From the rows themselves.
    pub(super) fn of(column: &Column, rows: &[usize], reading: Reading) -> Facts {
        let gaps = || rows.iter().copied().filter(|&row| is_missing(column, row));
        let any_gap = gaps().next().is_some();
        let mut identifier = suspects::is_identifier(column, rows);
        let encoding = match &column.values {
            Values::Numeric(numbers) => {
                let mut present = rows.iter().map(|&row| numbers[row]).filter(|x| !x.is_nan());
                let first = present.next();
                let constant = present.all(|number| Some(number) == first);
                Ok(number(median(column, rows), constant, any_gap))
            }
            Values::Text { levels, codes } => {
                let mut cells = vec![0; levels.len()];
                for &row in rows {
                    if let Some(count) = cells.get_mut(codes[row] as usize) {
                        *count += 1;
                    }
                }
                let seen = || levels.iter().zip(&cells).filter(|(_, cells)| **cells > 0);
                let texts = || DateTexts::of(seen().map(|(level, cells)| (level.as_str(), *cells)));
                let encoding = text_encoding(
                    &column.name,
                    texts,
                    reading,
                    any_gap,
                    |order| times(column, rows, order),
                    || Ok(category(seen().map(|(level, cells)| (level.as_str(), *cells)), any_gap)),
                );
                identifier &= !is_date(&encoding);
                encoding.map_err(|problem| placed(problem, column, rows))
            }
        };
        Facts {
            first_gap: gaps().next(),
            gaps: gaps().count(),
            empty: (0..column.values.len()).all(|row| is_missing(column, row)),
            index: suspects::is_index(column, |row| row as u64),
            identifier,
            encoding,
        }
    }
}

/// What a text becomes: a date if all of it is one and no one wants its levels, and else what `category` says.
pub(super) fn text_encoding(
    name: &str,
    texts: impl FnOnce() -> DateTexts,
    reading: Reading,
    gaps: bool,
    times: impl FnOnce(DateOrder) -> Vec<f64>,
    category: impl FnOnce() -> Result<Option<Encoding>, EncodeError>,
) -> Result<Option<Encoding>, EncodeError> {
    if reading.levels {
        return category();
    }
    match dates(name, &texts(), reading.dates, gaps, times)? {
        Some(date) => Ok(date),
        None => category(),
    }
}

/// A problem with the dates of a column, with the first of its rows that shows it.
fn placed(mut problem: EncodeError, column: &Column, rows: &[usize]) -> EncodeError {
    if let EncodeError::MostlyDates { row: place, text: shown, .. }
    | EncodeError::AmbiguousDates { row: place, text: shown, .. } = &mut problem
    {
        let first = rows.iter().find(|&&row| text(column, row).is_some_and(|text| text == *shown));
        *place = first.map(|row| row + 1);
    }
    problem
}

/// Whether a text is a date, or is to be one as soon as it is told how to read it: then it names no rows.
pub(super) fn is_date(encoding: &Result<Option<Encoding>, EncodeError>) -> bool {
    matches!(
        encoding,
        Ok(Some(Encoding::Date(_))) | Err(EncodeError::AmbiguousDates { .. } | EncodeError::MostlyDates { .. })
    )
}

/// What numbers become that have this median.
pub(super) fn number(median: Option<f64>, constant: bool, gaps: bool) -> Option<Encoding> {
    match (median, constant) {
        (None, _) => None,
        (Some(_), true) => gaps.then_some(Encoding::Presence),
        (Some(median), false) => Some(Encoding::Numeric { median, indicator: gaps }),
    }
}

/// What a text becomes that has these levels, with the number of rows of each; `None` if it does not vary.
pub(super) fn category<'a>(levels: impl Iterator<Item = (&'a str, u64)>, gaps: bool) -> Option<Encoding> {
    let all: Vec<(&str, u64)> = levels.collect();
    let (mut levels, mut rare): (Vec<&str>, usize) = (all.iter().map(|(level, _)| *level).collect(), 0);
    if levels.len() > MOST_LEVELS {
        let mut frequent: Vec<usize> = (0..all.len()).filter(|&level| all[level].0 != OTHER).collect();
        // Of equally frequent ones those that come first.
        frequent.sort_by_key(|&level| std::cmp::Reverse(all[level].1));
        frequent.truncate(MOST_LEVELS - 1);
        frequent.sort_unstable();
        rare = all.len() - frequent.len();
        levels = frequent.into_iter().map(|level| all[level].0).chain([OTHER]).collect();
    }
    let varies = levels.len() > 1 || (levels.len() == 1 && gaps);
    let levels = levels.into_iter().map(String::from).collect();
    varies.then_some(Encoding::Categorical { levels, gaps, rare })
}

/// Median of the numbers in some rows that are not missing.
pub(super) fn median(column: &Column, rows: &[usize]) -> Option<f64> {
    let Values::Numeric(numbers) = &column.values else { return None };
    let mut present: Vec<f64> = rows.iter().map(|&row| numbers[row]).filter(|x| !x.is_nan()).collect();
    if present.is_empty() {
        return None;
    }
    let (half, odd) = (present.len() / 2, present.len() % 2 == 1);
    let (below, &mut upper, _) = present.select_nth_unstable_by(half, f64::total_cmp);
    let lower = || below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    Some(if odd { upper } else { 0.5 * lower() + 0.5 * upper })
}

/// The text of a cell; a number in a column that should be text is read as it would be written.
pub(super) fn text(column: &Column, row: usize) -> Option<std::borrow::Cow<'_, str>> {
    match &column.values {
        Values::Text { levels, codes } => levels.get(codes[row] as usize).map(|level| level.as_str().into()),
        Values::Numeric(numbers) => (!numbers[row].is_nan()).then(|| number_text(numbers[row]).into()),
    }
}

pub(super) fn is_missing(column: &Column, row: usize) -> bool {
    match &column.values {
        Values::Numeric(numbers) => numbers[row].is_nan(),
        Values::Text { codes, .. } => codes[row] == MISSING,
    }
}
