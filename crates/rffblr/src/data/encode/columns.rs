//! Single columns: what they become, and the zeros and ones of text.

use super::{Encoding, MOST_LEVELS};
use crate::data::EncodeError;
use crate::linalg::Mat;
use crate::table::{Column, MISSING, Values, number_text};
use std::collections::{BTreeMap, HashMap};

/// Sets the ones of a text column; gives levels without a column of their own: how many rows, and the first of them.
pub(super) fn one_hot(
    column: &Column,
    rows: &[usize],
    levels: &[String],
    first: usize,
    out: &mut Mat<f64>,
) -> BTreeMap<String, (usize, usize)> {
    let position: HashMap<&str, usize> = levels.iter().enumerate().map(|(k, level)| (level.as_str(), k)).collect();
    let mut unseen = BTreeMap::new();
    for (i, &row) in rows.iter().enumerate() {
        let level = text(column, row);
        let known = level.as_deref().and_then(|level| position.get(level));
        out[(i, first + known.copied().unwrap_or(levels.len()))] = 1.0;
        if let (Some(level), None) = (level, known) {
            unseen.entry(level.into_owned()).or_insert((0, row)).0 += 1;
        }
    }
    unseen
}

/// What a column becomes; `None` if it is the same in all the rows.
pub(super) fn learn_column(column: &Column, rows: &[usize]) -> Result<Option<Encoding>, EncodeError> {
    let gaps = rows.iter().any(|&row| is_missing(column, row));
    match &column.values {
        Values::Numeric(numbers) => {
            let mut present: Vec<f64> = rows.iter().map(|&row| numbers[row]).filter(|x| !x.is_nan()).collect();
            present.sort_unstable_by(f64::total_cmp);
            let constant = present.first() == present.last();
            let half = present.len() / 2;
            let median = match present.len() {
                0 => return Ok(None),
                n if n % 2 == 1 => present[half],
                _ => 0.5 * present[half - 1] + 0.5 * present[half],
            };
            Ok(match (constant, gaps) {
                (true, false) => None,
                (true, true) => Some(Encoding::Presence),
                (false, indicator) => Some(Encoding::Numeric { median, indicator }),
            })
        }
        Values::Text { levels, codes } => {
            let mut seen = vec![false; levels.len()];
            for &row in rows {
                if let Some(flag) = seen.get_mut(codes[row] as usize) {
                    *flag = true;
                }
            }
            let levels: Vec<String> =
                levels.iter().zip(&seen).filter(|(_, seen)| **seen).map(|(l, _)| l.clone()).collect();
            if levels.len() > MOST_LEVELS {
                let column = column.name.clone();
                return Err(EncodeError::TooManyLevels { column, levels: levels.len(), most: MOST_LEVELS });
            }
            let varies = levels.len() > 1 || (levels.len() == 1 && gaps);
            Ok(varies.then_some(Encoding::Categorical { levels, gaps }))
        }
    }
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
