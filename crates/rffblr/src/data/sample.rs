//! Which rows a sample has.

/// A number that looks random, from a seed and the number of a row.
fn row_hash(seed: u64, row: u64) -> u64 {
    let mut z = seed.wrapping_mul(0xd134_2543_de82_ef95) ^ row.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

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
