//! Numbers in messages, the same in the library, the report and the command.

/// A number of things: `1 row`, `2 rows`.
pub fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A number with some significant digits, at most six of them after the point.
pub fn significant(value: f64, digits: usize) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return value.to_string();
    }
    let after_first = digits.saturating_sub(1);
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.after_first$e}");
    }
    let decimals = (after_first as i32 - size.log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_matter() {
        let shown = |value| significant(value, 3);
        assert_eq!(["0.00123", "1.23", "123", "123457"], [0.00123456, 1.23456, 123.456, 123_456.7].map(shown));
        assert_eq!(
            ["1.23e6", "-4.57e-5", "0", "NaN", "inf"],
            [1.23e6, -4.567e-5, 0.0, f64::NAN, f64::INFINITY].map(shown)
        );
        assert_eq!((plural(1, "row"), plural(0, "row")), ("1 row".into(), "0 rows".into()));
    }
}
