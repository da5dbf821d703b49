//! Shapley values of kernels, for rows to explain against a background: eight training rows at a time.
//!
//! A family v exp(−γ Σ_j u_j), u_j the distance along input j, is a game of products; its factors at a row are computed
//! once for all pairs of rows.

use super::game::{LANES, Lane, Rules, Scratch, play};
use crate::interrupt::go_on;
use crate::kernel::Family;
use crate::simd::vectorised;

/// The games of one family and one chunk of training rows.
pub(super) struct Games<'a> {
    pub(super) players: usize,
    /// Distance of each row to explain along each input, to eight training rows: rows·players.
    pub(super) x: Vec<Lane>,
    /// The same of the background rows.
    pub(super) z: Vec<Lane>,
    pub(super) share: &'a [f64],
    pub(super) family: Family,
    pub(super) rules: &'a Rules,
}

impl Games<'_> {
    /// Adds the Shapley values of all pairs of rows: rows·players lanes.
    pub(super) fn play(&self, out: &mut [Lane]) {
        let Games { players, x, z, family, rules, .. } = self;
        let factors = |distances: &[Lane]| {
            let mut factors = distances.to_vec();
            family.decay(factors.as_flattened_mut());
            factors
        };
        let (to, back) = (factors(x), factors(z));
        let mut scratch = Scratch::new(*players);
        for (from, share) in self.share.iter().enumerate() {
            go_on();
            let z_place = from * players..(from + 1) * players;
            for row in 0..x.len() / players {
                let place = row * players..(row + 1) * players;
                let (depth, excess) = bounds(&x[place.clone()], &z[z_place.clone()], family.bandwidth);
                // No coalition is near a training row, or none differs from another.
                if family.variance * (-depth).exp() <= rules.tolerance || excess == 0.0 {
                    continue;
                }
                let rule = rules.get(rules.for_products(family.variance, depth, excess));
                let size = [family.variance * share; LANES];
                play(&to[place.clone()], &back[z_place.clone()], &size, rule, &mut scratch, &mut out[place]);
            }
        }
    }
}

/// What [`Rules::for_products`] asks, for the worst of eight games: −ln of the largest product is s Σ min(a, b), and
/// Σ (1 − exp(−s|a − b|)) is at most Σ min(s|a − b|, 1).
#[inline(always)]
fn bounds_body(a: &[Lane], b: &[Lane], s: f64) -> (f64, f64) {
    let (mut lowest, mut excess) = ([0.0; LANES], [0.0; LANES]);
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            let difference = s * (a[l] - b[l]).abs();
            lowest[l] += if a[l] < b[l] { a[l] } else { b[l] };
            excess[l] += if difference < 1.0 { difference } else { 1.0 };
        }
    }
    (s * lowest.into_iter().fold(f64::INFINITY, f64::min), excess.into_iter().fold(0.0, f64::max))
}

vectorised!(fn bounds(a: &[Lane], b: &[Lane], s: f64) -> (f64, f64) = bounds_body);
