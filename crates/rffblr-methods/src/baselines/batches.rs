//! The order in which networks see the rows.

use rand::Rng;

/// Puts the items in a random order (Fisher and Yates). It depends on nothing but the generator, whose numbers are
/// fixed for good.
pub(super) fn shuffle<T>(items: &mut [T], rng: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        // The high half of a 128-bit product is uniform on 0..=last up to one part in 2⁶⁴/last.
        let chosen = ((u128::from(rng.next_u64()) * (last as u128 + 1)) >> 64) as usize;
        items.swap(last, chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn every_order_is_as_likely() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [0u32; 27];
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, &mut rng);
            counts[items[0] * 9 + items[1] * 3 + items[2]] += 1;
        }
        let seen: Vec<u32> = counts.into_iter().filter(|&count| count > 0).collect();
        // 10 000 each, standard deviation 91.
        assert!(seen.len() == 6 && seen.iter().all(|count| count.abs_diff(10_000) < 500), "{seen:?}");
    }
}
