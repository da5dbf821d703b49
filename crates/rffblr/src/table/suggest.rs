//! Suggests the name that was probably meant.

/// Names longer than this are compared only for equality up to case, so that the cost stays bounded.
const LONGEST: usize = 200;

/// The candidate nearest to `name`, ignoring case, if one is near enough to be a slip of the pen.
///
/// Near enough is at most one insertion, deletion, substitution or swap of neighbours for every three
/// characters of `name`, and at most three in all. The first of equally near candidates wins.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = letters(name);
    let allowed = (wanted.len() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters = letters(candidate);
        let distance = if letters == wanted {
            0
        } else if wanted.len().max(letters.len()) > LONGEST || wanted.len().abs_diff(letters.len()) > allowed {
            continue;
        } else {
            edits(&wanted, &letters)
        };
        // A name replaced as a whole is not a slip: 'x' is not a misspelt 'y'.
        let near = distance <= allowed && distance < wanted.len().max(1);
        if near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn letters(name: &str) -> Vec<char> {
    name.trim().chars().flat_map(char::to_lowercase).collect()
}

/// Edit distance with swaps of neighbours (optimal string alignment).
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_worked_out_by_hand() {
        let d = |a: &str, b: &str| edits(&letters(a), &letters(b));
        assert_eq!(d("", ""), 0);
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("saturday", "sunday"), 3);
        assert_eq!(d("price", "pirce"), 1); // one swap
        assert_eq!(d("ca", "abc"), 3); // alignment: a swapped pair is not edited again
    }

    #[test]
    fn suggests_slips_and_nothing_else() {
        let names = ["Temperature", "pH", "Cadmium", "cadmium_2"];
        let near = |name| nearest(name, names.into_iter());
        assert_eq!(near("temprature"), Some("Temperature"));
        assert_eq!(near("PH"), Some("pH"));
        assert_eq!(near("Cadmuim"), Some("Cadmium"));
        assert_eq!(near(" cadmium2"), Some("Cadmium")); // one edit from both: the first wins
        assert_eq!(near("zinc"), None);
        assert_eq!(near(""), None);
        assert_eq!(nearest("y", ["x"].into_iter()), None);
        assert_eq!(nearest("x", std::iter::empty()), None);
    }

    #[test]
    fn long_names_are_compared_for_equality_only() {
        let long = "A".repeat(1_000_000);
        let other = format!("{long}b");
        let candidates = [other.as_str(), long.as_str()];
        assert_eq!(nearest(&long.to_lowercase(), candidates.into_iter()), Some(long.as_str()));
    }
}
