//! Columns that are more than an input: names of units, times, counts of rows.

use super::columns::text;
use crate::table::{Column, Values};
use std::collections::{BTreeSet, HashMap};

/// Fewest rows from which a column can look like anything.
const FEWEST_ROWS: usize = 10;
/// Fewest units of a column whose name says that it names units, and of one whose name does not.
const FEWEST_UNITS: (usize, usize) = (5, 10);
/// Most rows a unit has on average, where the name does not show it.
const MOST_ROWS_EACH: f64 = 20.0;
/// Fewest values of a time.
const FEWEST_TIMES: usize = 5;

/// Whether a text is different in every row that has one, and most rows have.
pub(super) fn is_identifier(column: &Column, rows: &[usize]) -> bool {
    let Values::Text { levels, codes } = &column.values else { return false };
    let present: Vec<u32> = rows.iter().map(|&row| codes[row]).filter(|&code| (code as usize) < levels.len()).collect();
    let distinct: BTreeSet<u32> = present.iter().copied().collect();
    present.len() > 1 && distinct.len() == present.len() && 2 * present.len() > rows.len()
}

/// Whether a number counts the rows of the table from zero or one; `row_number` of each row is from zero.
pub(super) fn is_index(column: &Column, row_number: impl Fn(usize) -> u64) -> bool {
    let Values::Numeric(numbers) = &column.values else { return false };
    let counts = |first: f64| numbers.iter().enumerate().all(|(row, &number)| number == first + row_number(row) as f64);
    numbers.len() >= FEWEST_ROWS && (counts(0.0) || counts(1.0))
}

/// How many units a column names, if it looks as if it named any: many of them, with a few rows each. Whole numbers do
/// by their name, or if they are 1, 2, 3, … in blocks of rows; other numbers never.
pub(super) fn units(column: &Column, rows: &[usize]) -> Option<usize> {
    // Numbers that are not whole are told apart before they are written out as text.
    let is_whole = |&row: &usize, numbers: &[f64]| numbers[row].is_nan() || numbers[row].fract() == 0.0;
    if let Values::Numeric(numbers) = &column.values
        && !rows.iter().all(|row| is_whole(row, numbers))
    {
        return None;
    }
    let named = names_units(&column.name);
    let values: Vec<_> = rows.iter().filter_map(|&row| text(column, row)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    values.iter().for_each(|value| *counts.entry(value.as_ref()).or_default() += 1);
    let (units, repeated) = (counts.len(), counts.values().filter(|count| **count > 1).count());
    let each = values.len() as f64 / units.max(1) as f64;
    let many = units >= if named { FEWEST_UNITS.0 } else { FEWEST_UNITS.1 } && 5 * repeated >= 4 * units;
    if rows.len() < FEWEST_ROWS || !many || each < 2.0 || (!named && each > MOST_ROWS_EACH) {
        return None;
    }
    let fits = match &column.values {
        Values::Text { .. } => true,
        Values::Numeric(numbers) => {
            let numbers: Vec<f64> = rows.iter().map(|&row| numbers[row]).filter(|number| !number.is_nan()).collect();
            named || numbered_blocks(&numbers, units)
        }
    };
    fits.then_some(units)
}

/// Whether numbers are 1, 2, 3, … or 0, 1, 2, …, each in one block.
fn numbered_blocks(numbers: &[f64], distinct: usize) -> bool {
    let blocks = 1 + numbers.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let (low, high) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), n| (l.min(*n), h.max(*n)));
    blocks == distinct && (low == 0.0 || low == 1.0) && high - low + 1.0 == distinct as f64
}

/// A number that seems to stand for a missing value: written in nines, such as -999 or 99, in two cells at least, and farther from
/// all others than these are apart.
pub(super) fn placeholder(column: &Column, rows: &[usize]) -> Option<f64> {
    let Values::Numeric(numbers) = &column.values else { return None };
    let present = || rows.iter().map(|&row| numbers[row]).filter(|number| !number.is_nan());
    let ends = |skipped: f64| {
        let others = present().filter(|number| *number != skipped);
        others.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| (low.min(number), high.max(number)))
    };
    let is_far = |code: f64| {
        let (low, high) = ends(code);
        let gap = if code < low { low - code } else { code - high };
        low < high && gap > high - low && present().filter(|number| *number == code).nth(1).is_some()
    };
    let (low, high) = ends(f64::NAN);
    [low, high].into_iter().find(|&end| rows.len() >= FEWEST_ROWS && is_nines(end) && is_far(end))
}

/// Whether a number is written with nines alone, two at least.
fn is_nines(number: f64) -> bool {
    let size = number.abs();
    (99.0..1e15).contains(&size) && format!("{size}").bytes().all(|digit| digit == b'9')
}

/// Whether the name of a column says that it is a time.
pub fn names_time(name: &str) -> bool {
    const WORDS: [&str; 9] = ["year", "date", "time", "timestamp", "datetime", "day", "week", "month", "quarter"];
    words(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

/// Two columns that are coordinates of places by their names, such as `lat` and `lon`, `easting` and `northing`, `x` and
/// `y`: they differ in these words alone.
pub fn coordinates<'a>(names: &[&'a str]) -> Option<(&'a str, &'a str)> {
    const PAIRS: [[&str; 2]; 6] = [
        ["latitude", "longitude"],
        ["lat", "lon"],
        ["lat", "long"],
        ["lat", "lng"],
        ["easting", "northing"],
        ["x", "y"],
    ];
    // Of x and y that are part of a name the rest must say that it is a place.
    const PLACES: [&str; 8] = ["", "coord", "coordinate", "coordinates", "loc", "location", "pos", "position"];
    /// The name without the word of an axis, if it has it.
    fn rest(name: &str, axis: &str) -> Option<String> {
        let name = words(name).join(" ");
        let split = name.strip_prefix(axis).or(name.strip_suffix(axis))?;
        let is_word = split.is_empty() || split.starts_with(' ') || split.ends_with(' ');
        let rest = split.trim();
        let place = PLACES.contains(&rest);
        (if axis.len() == 1 { place } else { is_word }).then(|| rest.to_owned())
    }
    let of = |[first, second]: [&str; 2]| {
        names.iter().find_map(|a| {
            let own = rest(a, first)?;
            names.iter().find(|b| rest(b, second).as_ref() == Some(&own)).map(|b| (*a, *b))
        })
    };
    PAIRS.into_iter().find_map(of)
}

/// Whether a number looks like a time: it rises or falls all the way, and its name says so.
pub(super) fn is_time(column: &Column, rows: &[usize]) -> bool {
    let Values::Numeric(numbers) = &column.values else { return false };
    let numbers: Vec<f64> = rows.iter().map(|&row| numbers[row]).filter(|number| !number.is_nan()).collect();
    let steps = || numbers.windows(2).map(|pair| pair[1] - pair[0]);
    rows.len() >= FEWEST_ROWS
        && names_time(&column.name)
        && (steps().all(|step| step >= 0.0) || steps().all(|step| step <= 0.0))
        && steps().filter(|step| *step != 0.0).count() + 1 >= FEWEST_TIMES
}

/// Whether the name of a column says that it names units: `id`, `patient`, `subject no`, `plotID`.
fn names_units(name: &str) -> bool {
    const UNITS: [&str; 22] = [
        "subject",
        "patient",
        "participant",
        "person",
        "individual",
        "respondent",
        "animal",
        "child",
        "chick",
        "rat",
        "mouse",
        "student",
        "pupil",
        "user",
        "customer",
        "client",
        "household",
        "family",
        "athlete",
        "donor",
        "tree",
        "unit",
    ];
    const NUMBERS: [&str; 9] = ["id", "ids", "uid", "uuid", "identifier", "no", "nr", "number", "code"];
    let words = words(name);
    let Some((last, before)) = words.split_last() else { return false };
    match before {
        [] => {
            UNITS.contains(&last.as_str()) || NUMBERS[..5].contains(&last.as_str()) || {
                last.strip_suffix("id").is_some_and(|unit| UNITS.contains(&unit))
            }
        }
        [.., unit] => {
            NUMBERS[..5].contains(&last.as_str()) || NUMBERS.contains(&last.as_str()) && UNITS.contains(&unit.as_str())
        }
    }
}

/// The words of a name in small letters: `patientID` and `patient_id` are both patient and id.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut word, mut last) = (Vec::new(), String::new(), ' ');
    for letter in name.chars() {
        let starts = !letter.is_alphanumeric() || (letter.is_uppercase() && last.is_lowercase());
        if starts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        last = letter;
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_known_by_their_names() {
        for (a, b) in [
            ("Xloc", "Yloc"),
            ("x", "y"),
            ("easting", "northing"),
            ("Latitude", "Longitude"),
            ("start_lat", "start_lng"),
            ("coord.x", "coord.y"),
            ("x coordinate", "y coordinate"),
        ] {
            assert_eq!(coordinates(&["ph", b, a]), Some((a, b)));
        }
        for names in
            [["x1", "x2"], ["max", "may"], ["start_lat", "end_lon"], ["flat", "long"], ["x", "x"], ["box", "boy"]]
        {
            assert_eq!(coordinates(&names), None, "{names:?}");
        }
        assert!(names_time("Year") && names_time("sale_date") && !names_time("holidays"));
    }

    #[test]
    fn numbers_that_stand_for_missing_values() {
        let found = |codes: &[(usize, f64)], spread: f64| {
            let number =
                |row: usize| codes.iter().find(|(at, _)| *at == row).map_or(spread * row as f64, |(_, code)| *code);
            let column = Column { name: "x".into(), values: Values::Numeric((0..20).map(number).collect()) };
            placeholder(&column, &(0..20).collect::<Vec<_>>())
        };
        assert_eq!(found(&[(3, -999.0), (7, -999.0)], 1.0), Some(-999.0));
        assert_eq!(found(&[(3, 99.0), (7, 99.0), (9, f64::NAN)], 1.0), Some(99.0));
        assert_eq!(found(&[(3, -99_999.0), (7, -99_999.0)], 100.0), Some(-99_999.0));
        // Once, not far away, no code, and nothing else that varies.
        assert_eq!(found(&[(3, -999.0)], 1.0), None);
        assert_eq!(found(&[(3, -999.0), (7, -999.0)], 60.0), None);
        assert_eq!(found(&[(3, -1000.0), (7, -1000.0)], 1.0), None);
        assert_eq!(found(&[(3, -99.5), (7, -99.5)], 1.0), None);
        assert_eq!(found(&[(3, -999.0), (7, -999.0)], 0.0), None);
        assert!(
            [99.0, -9999.0].into_iter().all(is_nines)
                && ![9.0, 0.0, 98.0, 990.0, f64::INFINITY].into_iter().any(is_nines)
        );
    }

    #[test]
    fn names_of_units_and_what_are_none() {
        for name in ["id", "ID", "Subject", "patient_id", "patientID", "patientid", "Chick", "plot id", "subject no."] {
            assert!(names_units(name), "{name}");
        }
        for name in ["humid", "grid", "patient age", "idle", "number", "no", "user rating", "", "code", "x1"] {
            assert!(!names_units(name), "{name}");
        }
    }
}
