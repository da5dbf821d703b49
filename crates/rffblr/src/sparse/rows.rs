//! Rows like the training rows, at which the sinusoids are fitted to the posterior mean.

use crate::linalg::{Accumulate, Mat, Threads, fill_upper, outer};
use rand::{Rng, RngExt};

/// Number of nearest neighbours from which x_k of a new row is drawn.
const NEIGHBOURS: usize = 10;
/// New rows for each training row, where [`ENOUGH`] allows it.
const TIMES: usize = 8;
/// Most training and new rows together, except that each training row has at least one new row.
const ENOUGH: usize = 4096;

/// The training rows and, below them, new ones x_i + x_j − x_k: i in turn, j any row, k a near neighbour of j. Such a
/// row is about as far from the training rows as unseen rows are, and differs from x_i in ways rows do differ.
pub(super) fn surroundings(x: &Mat<f64>, input_scales: &[f64], rng: &mut impl Rng, threads: Threads) -> Mat<f64> {
    let rows = x.nrows();
    let near = neighbours(x, input_scales, threads);
    let extra = if rows < 2 { 0 } else { (TIMES * rows).min(rows.max(ENOUGH.saturating_sub(rows))) };
    let sums: Vec<(usize, usize, usize)> = (0..extra)
        .map(|n| {
            let j = rng.random_range(0..rows);
            let near = &near[j];
            (n % rows, j, near[rng.random_range(0..near.len())])
        })
        .collect();
    Mat::from_fn(rows + extra, x.ncols(), |n, d| match n.checked_sub(rows) {
        None => x[(n, d)],
        Some(n) => {
            let (i, j, k) = sums[n];
            x[(i, d)] + x[(j, d)] - x[(k, d)]
        }
    })
}

/// The nearest other rows of each row by Σ r_d Δ_d², ties in favour of earlier rows.
fn neighbours(x: &Mat<f64>, input_scales: &[f64], threads: Threads) -> Vec<Vec<usize>> {
    let rows = x.nrows();
    let scaled = Mat::from_fn(rows, x.ncols(), |n, d| x[(n, d)] * input_scales[d].sqrt());
    let mut products = Mat::zeros(rows, rows);
    outer(products.as_mut(), Accumulate::Replace, scaled.as_ref(), threads);
    fill_upper(products.as_mut());
    let mut distances: Vec<(f64, usize)> = Vec::with_capacity(rows);
    (0..rows)
        .map(|j| {
            distances.clear();
            let others = (0..rows).filter(|&k| k != j);
            distances.extend(others.map(|k| (products[(k, k)] - 2.0 * products[(k, j)], k)));
            let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            let kept = distances.len().min(NEIGHBOURS);
            if kept < distances.len() {
                distances.select_nth_unstable_by(kept, order);
            }
            distances[..kept].sort_unstable_by(order);
            distances[..kept].iter().map(|&(_, k)| k).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn neighbours_are_the_nearest_by_input_scales() {
        let x = Mat::from_fn(40, 3, |n, d| ((n * 7 + d * 13) as f64 * 0.61).sin());
        let input_scales = [0.2, 3.0, 1.0];
        for (j, near) in neighbours(&x, &input_scales, Threads::ONE).iter().enumerate() {
            let distance = |k: usize| (0..3).map(|d| input_scales[d] * (x[(j, d)] - x[(k, d)]).powi(2)).sum::<f64>();
            let mut all: Vec<usize> = (0..40).filter(|&k| k != j).collect();
            all.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
            assert_eq!(near, &all[..NEIGHBOURS]);
        }
    }

    #[test]
    fn training_rows_come_first_and_new_rows_are_sums_of_three() {
        let x = Mat::from_fn(12, 2, |n, d| (n * n + 3 * d) as f64 * 0.25);
        let all = surroundings(&x, &[1.0, 1.0], &mut ChaCha8Rng::seed_from_u64(1), Threads::ONE);
        assert_eq!(all.nrows(), 12 * (TIMES + 1));
        assert!(all.as_ref().subrows(0, 12) == x.as_ref());
        for n in 12..all.nrows() {
            let i = n % 12;
            let sum_of_three = |j: usize, k: usize| {
                j != k && (0..2).all(|d| (x[(i, d)] + x[(j, d)] - x[(k, d)] - all[(n, d)]).abs() < 1e-12)
            };
            assert!((0..12).any(|j| (0..12).any(|k| sum_of_three(j, k))));
        }
        let alone = Mat::from_fn(1, 2, |_, d| d as f64);
        assert!(surroundings(&alone, &[1.0, 1.0], &mut ChaCha8Rng::seed_from_u64(1), Threads::ONE) == alone);
    }
}
