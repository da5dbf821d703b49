//! Patterns of names.

/// Whether a name matches a pattern in which `*` stands for any letters and `?` for one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Of the last star: its place, and the end of what it stands for so far.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, n));
                p += 1;
            }
            (Some(letter), _) if *letter == '?' || *letter == name[n] => (p, n) = (p + 1, n + 1),
            (_, Some((at, end))) => {
                star = Some((at, end + 1));
                (p, n) = (at + 1, end + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rule itself, by recursion.
    fn by_recursion(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], _) => name.is_empty(),
            (['*', rest @ ..], _) => (0..=name.len()).any(|skipped| by_recursion(rest, &name[skipped..])),
            ([first, rest @ ..], [letter, more @ ..]) => (*first == '?' || first == letter) && by_recursion(rest, more),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

        #[test]
        fn patterns_match_by_their_rule(pattern in "[ab*?]{0,6}", name in "[ab]{0,8}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), by_recursion(&letters(&pattern), &letters(&name)));
        }
    }
}
