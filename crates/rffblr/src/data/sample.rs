//! Which rows a sample has.

use super::row_hash;

/// The rows of a sample, rising; `None` if these are all.
pub(crate) fn row_sample(rows: usize, count: usize, seed: u64) -> Option<Vec<usize>> {
    if rows <= count {
        return None;
    }
    let mut hashed: Vec<(u64, usize)> = (0..rows).map(|row| (row_hash(seed, row as u64), row)).collect();
    hashed.select_nth_unstable(count);
    let mut chosen: Vec<usize> = hashed[..count].iter().map(|(_, row)| *row).collect();
    chosen.sort_unstable();
    Some(chosen)
}
