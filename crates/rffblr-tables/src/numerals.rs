//! How the numbers of a file are written: decimal point or comma, and digits in groups of three.

use super::Decimal;
use super::delimiter::first_rows;

/// What stands for what in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numerals {
    pub(super) decimal: Decimal,
    /// Whether digits may stand in groups of three, with a mark between them that is not the decimal one.
    pub(super) grouped: bool,
}

impl Numerals {
    /// As in most files.
    pub(super) const PLAIN: Numerals = Numerals { decimal: Decimal::Point, grouped: false };

    /// As asked for, or else as the first rows of a file show it.
    pub(super) fn of(head: &[u8], delimiter: u8, asked: Option<Decimal>) -> Numerals {
        if let Some(decimal) = asked {
            return Numerals { decimal, grouped: true };
        }
        let mut found = [0; 4];
        first_rows(head, delimiter, 1000, |cells| {
            for cell in cells {
                if let Some(shape) = std::str::from_utf8(cell).ok().and_then(|text| Shape::of(text.trim())) {
                    found[shape as usize] += 1;
                }
            }
        });
        let [point, comma, groups, either] = found;
        match point == 0 && groups == 0 && (comma > 0 || either > 0 && delimiter == b';') {
            true => Numerals { decimal: Decimal::Comma, grouped: true },
            false => Numerals { decimal: Decimal::Point, grouped: groups > 0 && comma == 0 },
        }
    }

    /// Whether bytes that read as a number in Rust are that number here.
    pub(super) fn takes(self, bytes: &[u8]) -> bool {
        self.decimal == Decimal::Point || !bytes.contains(&b'.')
    }

    /// A text with the decimal point and without groups, if it is a number that needs that.
    pub(super) fn plain(self, text: &str) -> Option<String> {
        let mark = match self.decimal {
            // The minus sign of a typesetter is that of no programming language.
            Decimal::Point if !self.grouped => return text.strip_prefix('−').map(|digits| format!("-{digits}")),
            Decimal::Point => '.',
            Decimal::Comma => ',',
        };
        let (sign, digits) = match text.strip_prefix(['-', '+', '−']) {
            Some(rest) => (if text.starts_with('+') { "" } else { "-" }, rest),
            None => ("", text),
        };
        let (whole, rest) = match digits.split_once(mark) {
            Some((whole, rest)) => (whole, format!(".{rest}")),
            None => (digits, String::new()),
        };
        // No mark of groups behind the decimal mark.
        let sound = rest.bytes().skip(1).all(|byte| byte.is_ascii_digit() || matches!(byte, b'e' | b'E' | b'+' | b'-'));
        (sound && !digits.is_empty()).then(|| Some(format!("{sign}{}{rest}", ungrouped(whole, mark)?)))?
    }
}

/// Digits without the marks between groups of three of them; `None` if they are not written so.
fn ungrouped(whole: &str, decimal: char) -> Option<String> {
    let Some(mark) = whole.chars().find(|c| !c.is_ascii_digit()) else { return Some(whole.to_owned()) };
    let marks = ['.', ',', ' ', '\u{a0}', '\u{202f}', '\'', '’'];
    if mark == decimal || !marks.contains(&mark) {
        return None;
    }
    let groups: Vec<&str> = whole.split(mark).collect();
    let is_group = |group: &&str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    let (first, others) = groups.split_first()?;
    let starts = (1..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_digit());
    let starts = starts && !first.starts_with('0');
    (starts && others.iter().all(is_group)).then(|| groups.concat())
}

/// What a cell shows about the numbers of its file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// 1.5
    Point,
    /// 1,5 or 1.234,5 or 1.234.567
    Comma,
    /// 1,234.5 or 1,234,567
    Groups,
    /// 1,234
    Either,
}

impl Shape {
    fn of(text: &str) -> Option<Shape> {
        let digits = text.strip_prefix(['-', '+', '−']).unwrap_or(text);
        let inside = |byte: u8| byte.is_ascii_digit() || matches!(byte, b',' | b'.');
        if !digits.starts_with(|c: char| c.is_ascii_digit()) || !digits.bytes().all(inside) {
            return None;
        }
        let (commas, points) = (digits.matches(',').count(), digits.matches('.').count());
        let after = |mark: char| digits.rsplit(mark).next().unwrap_or("");
        let before = |mark: char| digits.rsplit_once(mark).map_or("", |(before, _)| before);
        match (commas, points) {
            (0, 0) => None,
            (0, 1) => (ungrouped(digits, ',').is_none()).then_some(Shape::Point),
            (0, _) => ungrouped(digits, ',').map(|_| Shape::Comma),
            (1, 0) if ungrouped(digits, '.').is_some() => Some(Shape::Either),
            (1, 0) => (!after(',').is_empty()).then_some(Shape::Comma),
            (_, 0) => ungrouped(digits, '.').map(|_| Shape::Groups),
            (_, 1) if !after('.').contains(',') => ungrouped(before('.'), '.').map(|_| Shape::Groups),
            (1, _) => ungrouped(before(','), ',').map(|_| Shape::Comma),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_by_hand() {
        for (text, shape) in [
            ("1.5", Some(Shape::Point)),
            ("0.123", Some(Shape::Point)),
            ("12.345", None),
            ("0,123", Some(Shape::Comma)),
            ("1234.567", Some(Shape::Point)),
            ("1,5", Some(Shape::Comma)),
            ("-12,25", Some(Shape::Comma)),
            ("1.234,5", Some(Shape::Comma)),
            ("1.234.567", Some(Shape::Comma)),
            ("1,234.5", Some(Shape::Groups)),
            ("1,234,567", Some(Shape::Groups)),
            ("1,234", Some(Shape::Either)),
            ("12", None),
            ("31.12.2024", None),
            ("1.2.3", None),
            ("a,5", None),
        ] {
            assert_eq!(Shape::of(text), shape, "{text}");
        }
    }

    #[test]
    fn numbers_as_they_are_written() {
        let comma = Numerals { decimal: Decimal::Comma, grouped: true };
        let point = Numerals { decimal: Decimal::Point, grouped: true };
        for (text, number) in [
            ("1,5", Some("1.5")),
            ("-1.234,50", Some("-1234.50")),
            ("1.234", Some("1234")),
            ("1 234,5", Some("1234.5")),
            ("1\u{a0}234", Some("1234")),
            ("1,5e3", Some("1.5e3")),
            ("1.5", None),
            ("1,234,5", None),
            ("1,2.5", None),
            ("12.34,5", None),
        ] {
            assert_eq!(comma.plain(text).as_deref(), number, "{text}");
        }
        for (text, number) in [("1,234.5", Some("1234.5")), ("1'234", Some("1234")), ("1,5", None), ("1,23.5", None)] {
            assert_eq!(point.plain(text).as_deref(), number, "{text}");
        }
        assert_eq!(Numerals::PLAIN.plain("1,234"), None);
        assert_eq!(Numerals::PLAIN.plain("−1.5e3").as_deref(), Some("-1.5e3"));
        let of = |text: &str, delimiter| Numerals::of(text.as_bytes(), delimiter, None);
        assert_eq!(of("a;b\n1,5;2\n", b';'), comma);
        assert_eq!(of("a;b\n1,234;2\n", b';'), comma);
        assert_eq!(of("a,b\n\"1,234\",2\n", b','), Numerals::PLAIN);
        assert_eq!(of("a,b\n\"1,234.5\",2\n", b','), point);
        // Both: neither is taken for granted.
        assert_eq!(of("a;b\n1,5;2.5\n", b';'), Numerals::PLAIN);
    }
}
