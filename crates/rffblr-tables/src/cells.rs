//! Single cells: what is missing, what is a number, and how text is stored as codes.

use std::str::Utf8Error;

use super::error::Place;
use super::numerals::Numerals;
use super::{Decimal, TableError, Values, Wish};
use rffblr::internals::{Levels, MISSING_WORDS, number_text};

/// Most letters of a unit.
const MOST_LETTERS: usize = 8;

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
pub(super) fn plain_number(bytes: &[u8], numerals: Numerals) -> Option<f64> {
    let number: f64 = fast_float2::parse(bytes).ok().filter(|_| numerals.takes(bytes))?;
    number.is_finite().then_some(number)
}

/// Reads a cell, without the blanks around it.
pub(super) fn parse(bytes: &[u8], numerals: Numerals) -> Result<Cell<'_>, Utf8Error> {
    let text = std::str::from_utf8(bytes.trim_ascii())?;
    Ok(match fast_float2::parse::<f64, _>(text) {
        Ok(number) if number.is_nan() => Cell::Missing,
        Ok(number) if numerals.takes(bytes) => Cell::Number(number),
        _ if is_missing(text) => Cell::Missing,
        _ => match numerals.plain(text).and_then(|plain| fast_float2::parse::<f64, _>(&plain).ok()) {
            Some(number) => Cell::Number(number),
            None => Cell::Text(text),
        },
    })
}

/// The number in a text that is nothing but one.
pub(super) fn number_in(text: &str, numerals: Numerals) -> Option<f64> {
    match parse(text.as_bytes(), numerals) {
        Ok(Cell::Number(number)) => Some(number),
        _ => None,
    }
}

/// Whether a text says no more than that a number is below or above a limit, as laboratories write it: <0.5, > 100, <LOD,
/// n.d., BDL.
pub(super) fn is_limit(text: &str, numerals: Numerals) -> bool {
    const WORDS: [&str; 9] = ["LOD", "LOQ", "MDL", "BDL", "BLQ", "BLOQ", "ND", "n.d.", "DL"];
    let is_word = |text: &str| WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    match text.strip_prefix(['<', '>', '≤', '≥']) {
        Some(limit) => {
            let limit = limit.strip_prefix('=').unwrap_or(limit).trim();
            number_in(limit, numerals).is_some() || is_word(limit)
        }
        None => is_word(text) && !text.eq_ignore_ascii_case("DL"),
    }
}

/// What stands beside the number in a text such as $114.90, 114.90 €, 5 kg or (3.82): a sign of currency before it, letters
/// or a sign behind it, or brackets around it.
pub(super) fn beside_number(text: &str) -> Option<&str> {
    const CURRENCIES: [char; 8] = ['$', '€', '£', '¥', '₹', '₩', '₽', '₺'];
    // Whatever marks groups and decimals in this column.
    let is_number = |text: &str| {
        let grouped = |decimal| Numerals { decimal, grouped: true };
        let text = text.trim();
        text.ends_with(|last: char| last.is_ascii_digit())
            && [Decimal::Point, Decimal::Comma].iter().any(|&decimal| number_in(text, grouped(decimal)).is_some())
    };
    if text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).is_some_and(is_number) {
        return Some("()");
    }
    let unsigned = text.strip_prefix(['-', '+', '−']).unwrap_or(text);
    if let Some(rest) = unsigned.strip_prefix(CURRENCIES).filter(|rest| is_number(rest)) {
        return unsigned.strip_suffix(rest);
    }
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text.strip_prefix(digits)?.trim();
    let is_unit = !unit.is_empty() && !unit.contains('%') && unit.chars().count() <= MOST_LETTERS;
    (is_unit && is_number(digits)).then_some(unit)
}

/// Turns cells of a typed format into what the options wish for; `first` is the row of the first cell, from 0.
pub(super) fn settle(file: &str, name: &str, values: Values, first: usize, wish: Wish) -> Result<Values, TableError> {
    Ok(match values {
        Values::Numeric(numbers) => {
            if let Some(row) = numbers.iter().position(|x| x.is_infinite()) {
                return Err(TableError::Infinite {
                    file: file.to_owned(),
                    place: Place::Row(first + row + 1),
                    column: name.to_owned(),
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
                            place: Place::Row(first + row + 1),
                            column: name.to_owned(),
                            text: levels[code as usize].clone(),
                        });
                    }
                };
                numbers.push(number);
            }
            Values::Numeric(numbers)
        }
        values => values,
    })
}

fn finite(text: &str) -> Option<f64> {
    match parse(text.as_bytes(), Numerals::PLAIN) {
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
            "#name?", ".", " . ",
        ] {
            assert_eq!(parse(text.as_bytes(), Numerals::PLAIN), Ok(Cell::Missing), "{text:?}");
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
            assert_eq!(parse(text.as_bytes(), Numerals::PLAIN), Ok(Cell::Number(number)), "{text:?}");
        }
        for text in ["1,5", "1%", "#1", "#OTHER!", "1 000", "0x10", "nano", "nothing", "--", "..", "é"] {
            assert_eq!(parse(text.as_bytes(), Numerals::PLAIN), Ok(Cell::Text(text)), "{text:?}");
        }
        assert!(parse(b"\xff", Numerals::PLAIN).is_err());
    }

    #[test]
    fn signs_and_units_beside_numbers() {
        for (text, beside) in [
            ("$114.90", "$"),
            ("-$1,114.90", "$"),
            ("€ 1.114,90", "€"),
            ("114,90 €", "€"),
            ("(3.82)", "()"),
            ("5 kg", "kg"),
            ("5.5m²", "m²"),
            ("-3 °C", "°C"),
        ] {
            assert_eq!(beside_number(text), Some(beside), "{text}");
        }
        for text in
            ["5", "kg", "A1", "5 kg 3", "5%", "()", "(a)", "$", "1/2", "3 or more of them", "2024-01-05", "1-2 kg"]
        {
            assert_eq!(beside_number(text), None, "{text}");
        }
    }

    #[test]
    fn limits_and_what_is_none() {
        for text in ["<0.5", "< 0.5", ">=100", "≤3", "<LOD", "< loq", "n.d.", "ND", "bdl"] {
            assert!(is_limit(text, Numerals::PLAIN), "{text}");
        }
        for text in ["0.5", "<", "<low", "DL", "trace", "nd2", "", "<1,5"] {
            assert!(!is_limit(text, Numerals::PLAIN), "{text}");
        }
    }
}
