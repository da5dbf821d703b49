//! What the user is told about an encoding.

use super::Encoding;
use super::columns::is_missing;
use crate::data::encode_error::plural;
use crate::table::{Column, Values, excerpt, number_text};
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
        Encoding::Categorical { levels, gaps } => {
            let mut note = format!("column {name}: {}", plural(levels.len(), "level"));
            if *gaps {
                note += &format!(", {cells} as one more");
            }
            if levels.iter().all(|level| looks_like_date(level)) {
                note += "; they look like dates, and are taken as text: write them as numbers if their order matters";
            }
            if levels.len() > 20 && 2 * levels.len() > rows.len() {
                note += "; if it identifies rows, ignore it";
            }
            Some(note)
        }
    }
}

/// Day, month and year in any order, or year and month, with a time behind them or not.
fn looks_like_date(text: &str) -> bool {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let date = text.split([' ', 'T']).next().unwrap_or(text);
    let Some(separator) = date.chars().find(|c| matches!(c, '-' | '/' | '.')) else {
        return false;
    };
    let digits = |part: &str, longest: usize| {
        (1..=longest).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let month = |part: &str| {
        digits(part, 2) && part.parse().is_ok_and(|n: u8| (1..=31).contains(&n))
            || MONTHS.contains(&part.to_ascii_lowercase().as_str())
    };
    let year = |part: &str| part.len() == 4 && digits(part, 4);
    match date.split(separator).collect::<Vec<_>>()[..] {
        [first, second] => separator != '.' && (year(first) && month(second) || month(first) && year(second)),
        [first, second, third] if year(first) => month(second) && digits(third, 2),
        [first, second, third] => {
            month(first) && month(second) && (year(third) || third.len() == 2 && digits(third, 2))
        }
        _ => false,
    }
}

/// Scores count a constant that is predicted as it is for a perfect prediction.
pub(super) fn constant_note(target: &Column, rows: &[usize]) -> Option<String> {
    let Values::Numeric(values) = &target.values else { return None };
    let mut observed = rows.iter().map(|&row| values[row]).filter(|value| !value.is_nan());
    let first = observed.next()?;
    let name = excerpt(&target.name);
    observed.all(|value| value == first).then(|| format!("target {name} never varies, so that its R² says nothing"))
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
        "column {}: {} that training did not have, taken as an unknown level: {}",
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

#[cfg(test)]
mod tests {
    use super::looks_like_date;

    #[test]
    fn dates_and_what_is_none() {
        for text in [
            "2024-05-31",
            "2024-05",
            "05/2024",
            "31.12.2024",
            "1/2/24",
            "12-Jan-2024",
            "Jan-2024",
            "2024-05-31 10:00:00",
            "2024-05-31T10:00:00Z",
        ] {
            assert!(looks_like_date(text), "{text}");
        }
        for text in
            ["red", "", "-", "12", "1.2.3", "a-b-c", "0-1", "192.168.0.1", "2024-99-01", "10-20-thirty", "12-red-2024"]
        {
            assert!(!looks_like_date(text), "{text}");
        }
    }
}
