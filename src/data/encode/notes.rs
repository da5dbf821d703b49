//! What the user is told about an encoding.

use super::Encoding;
use super::columns::is_missing;
use crate::data::encode_error::plural;
use crate::table::{Column, excerpt, number_text};
use std::collections::BTreeMap;

/// What the user should know about the encoding of a training column.
pub(super) fn note_on(name: &str, column: &Column, encoding: &Encoding, rows: &[usize]) -> Option<String> {
    let gaps = rows.iter().filter(|&&row| is_missing(column, row)).count();
    let cells = plural(gaps, "missing cell");
    match encoding {
        Encoding::Numeric { indicator: false, .. } => None,
        Encoding::Numeric { median, .. } => {
            Some(format!("column {name}: {cells} set to the median {} and marked", number_text(*median)))
        }
        Encoding::Presence => Some(format!("column {name}: the same wherever present; only its {cells} count")),
        Encoding::Categorical { levels, indicator } => {
            let mut note = format!("column {name}: {}", plural(levels.len(), "level"));
            if *indicator {
                note += &format!(", {cells} as one more");
            }
            if levels.len() > 20 && 2 * levels.len() > rows.len() {
                note += "; if it identifies rows, ignore it";
            }
            Some(note)
        }
    }
}

pub(super) fn gaps_note(column: &Column, rows: &[usize], treated: &str) -> Option<String> {
    let gaps: Vec<usize> = rows.iter().copied().filter(|&row| is_missing(column, row)).collect();
    let first = gaps.first()? + 1;
    let (name, cells) = (excerpt(&column.name), plural(gaps.len(), "missing cell"));
    Some(format!("column {name}: {cells} (training had none), first in data row {first}, {treated}"))
}

pub(super) fn unseen_note(name: &str, unseen: &BTreeMap<String, (usize, usize)>) -> Option<String> {
    if unseen.is_empty() {
        return None;
    }
    let one = |(level, (count, first)): (&String, &(usize, usize))| {
        format!("{} ({}, first data row {})", excerpt(level), plural(*count, "row"), first + 1)
    };
    let levels: Vec<String> = unseen.iter().map(one).collect();
    Some(format!(
        "column {}: {} that training did not have, encoded as no level: {}",
        excerpt(name),
        plural(levels.len(), "level"),
        shortened(&levels)
    ))
}

/// The first few of a list.
pub(super) fn shortened(list: &[String]) -> String {
    const SHOWN: usize = 5;
    let rest = list.len().saturating_sub(SHOWN);
    let shown = list.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if rest > 0 { format!("{shown} and {rest} more") } else { shown }
}
