//! Names, cells and numbers of a table as messages show them.

/// Spellings of a missing value in text, the errors of spreadsheets among them; letters in either case.
pub const MISSING_WORDS: [&str; 17] = [
    "", ".", "NA", "NaN", "-NaN", "?", "N/A", "null", "none", "#N/A", "#N/D", "#NULL!", "#VALUE!", "#DIV/0!", "#REF!",
    "#NUM!", "#NAME?",
];

/// Most letters beside a number, blanks and sign among them.
const LONGEST_UNIT: usize = 10;

/// Text from a file, quoted, on one line and short enough for a message.
pub fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown = String::from("'");
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            shown.push('…');
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.push('\'');
    shown
}

/// What to do about text in a column that must be numeric.
pub fn how_to_correct(text: &str) -> &'static str {
    if is_percentage(text) {
        "remove the percent sign"
    } else if has_comma_inside(text) {
        "it has a comma inside the number: write decimals with a point and no thousands separator"
    } else if has_groups(text) {
        "its digits stand in groups: say which decimal mark the file has, or write the number without marks between them"
    } else if has_company(text) {
        "write the number without what stands beside it, and a negative one with a minus"
    } else {
        "correct it, or leave the cell empty if the value is missing"
    }
}

/// What to do about text in a column that is to be predicted: it may be a class.
pub fn how_to_predict(text: &str) -> String {
    let class = !text.bytes().any(|byte| byte.is_ascii_digit());
    let classes = if class {
        "; classes such as yes and no are not predicted here: with a column of 1 for one of them and 0 for the others, the \
         prediction estimates its probability, and the intervals mean little"
    } else {
        ""
    };
    format!("{}{classes}", how_to_correct(text))
}

/// What to do about a name that is not there.
pub fn did_you_mean(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean {}?", excerpt(name)),
        None => String::from("; compare its spelling with the names in the file"),
    }
}

/// The shortest text that reads back to the same number, with an exponent only where it saves digits.
pub fn number_text(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-5..1e16).contains(&size) || !number.is_finite() {
        format!("{number}")
    } else {
        format!("{number:e}")
    }
}

/// A number but for decimal or thousands commas.
pub fn has_comma_inside(text: &str) -> bool {
    let starts_like_one = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    text.contains(',') && starts_like_one && number_in(&text.replace(',', "")).is_some()
}

/// A number with blanks or apostrophes between its digits.
fn has_groups(text: &str) -> bool {
    let is_mark = |c: char| matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'' | '’');
    text.trim().contains(is_mark) && number_in(&text.trim().replace(is_mark, "")).is_some()
}

/// A number with a sign of currency, brackets or a unit beside it.
fn has_company(text: &str) -> bool {
    let inner = text.trim().trim_start_matches(['(', '$', '€', '£', '¥', '₹', '₩', '₽', '₺', ' ', '-', '+', '−']);
    let number = inner.trim_end_matches(|c: char| !c.is_ascii_digit());
    let beside = text.trim().chars().count() - number.chars().count();
    (1..=LONGEST_UNIT).contains(&beside)
        && inner.starts_with(|c: char| c.is_ascii_digit())
        && number_in(number).is_some()
}

/// A number with a percent sign behind it.
pub fn is_percentage(text: &str) -> bool {
    text.trim_end().strip_suffix('%').is_some_and(|number| number_in(number).is_some() || has_comma_inside(number))
}

/// The number in a text that is nothing but one.
fn number_in(text: &str) -> Option<f64> {
    text.trim_ascii().parse().ok().filter(|number: &f64| !number.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_about_numbers_that_are_none() {
        let alone = "write the number without what stands beside it, and a negative one with a minus";
        let groups = "its digits stand in groups: say which decimal mark the file has, or write the number without marks between them";
        let other = "correct it, or leave the cell empty if the value is missing";
        for text in ["€4.176", "$ -3", "(1.454)", "−1.5", "5 kg", "-3 °C", "12.5€"] {
            assert_eq!(how_to_correct(text), alone, "{text}");
        }
        for text in ["41'760", "41 760", "1\u{202f}234\u{202f}567.5", "-1’000"] {
            assert_eq!(how_to_correct(text), groups, "{text}");
        }
        for text in ["oops", "-", "2024-02-01", "A1", "1/2", "12:30", "", "5 apples and no pears", "."] {
            assert_eq!(how_to_correct(text), other, "{text}");
        }
    }
}
