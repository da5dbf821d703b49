//! Prior variance of Shapley values: the same integral on both sides of a kernel (equation 36).
//!
//! For two background rows z, z′ and nodes t, t′ an input j inside neither, one or both coalitions gives the factor
//! F_j = tt′ + t(1−t′) k(x, z′) + (1−t)t′ k(z, x) + (1−t)(1−t′) k(z, z′), and exchanging input i on both sides
//! 1 − k(x, z′) − k(z, x) + k(z, z′).

use super::game::{LANES, Lane, Rule, Rules};
use super::shapley::Table;
use crate::interrupt::go_on;
use crate::kernel::{Family, KernelMachine};
use crate::simd::vectorised;
use rayon::prelude::*;

/// What the double integral of a term of size one may be wrong by: a variance needs fewer digits than a value.
const TOLERANCE: f64 = 1e-10;

impl Table<'_> {
    /// Prior variance of the Shapley value of each player at a row, for amplitude one. Costs the square of
    /// the background.
    pub(super) fn prior(&self, machine: &KernelMachine, row: usize) -> Vec<f64> {
        let (kernel, players) = (&machine.kernel, self.players.len());
        let r = &kernel.input_scales;
        let rules = Rules::new(players, 1, TOLERANCE);
        let one_background_row = |z: usize| {
            let mut out = vec![0.0; players];
            let mut add = |distance: &dyn Fn(usize, f64) -> f64, family: Family| {
                self.double((row, z), distance, family, &rules, &mut out);
            };
            add(&|_, delta| delta * delta, kernel.rbf);
            add(&|d, delta| r[d] * delta.abs(), kernel.laplace_l1);
            out
        };
        let each: Vec<Vec<f64>> = (0..self.background.share.len()).into_par_iter().map(one_background_row).collect();
        let unit = kernel.linear / machine.inputs.ncols() as f64;
        let total = |player: usize| {
            let straight: f64 =
                self.players[player].iter().map(|&d| (self.rows[(row, d)] - self.means[d]).powi(2)).sum();
            unit * straight + each.iter().map(|out| out[player]).sum::<f64>()
        };
        (0..players).map(total).collect()
    }

    /// Adds the part of background row z and of the family v exp(−γ Σ_d distance(d, Δ_d)).
    fn double(
        &self,
        (row, z): (usize, usize),
        distance: &dyn Fn(usize, f64) -> f64,
        family: Family,
        rules: &Rules,
        out: &mut [f64],
    ) {
        let (rows, count) = (&self.background.standardised, self.background.share.len());
        let between = |player: usize, delta: &dyn Fn(usize) -> f64| -> f64 {
            self.players[player].iter().map(|&d| distance(d, delta(d))).sum()
        };
        let players = 0..self.players.len();
        let mut corners = Corners::new(players.len());
        corners.back = players.clone().map(|p| between(p, &|d| rows[(z, d)] - self.rows[(row, d)])).collect();
        family.decay(&mut corners.back);
        for first in (0..count).step_by(LANES) {
            go_on();
            let other = |l: usize| (first + l).min(count - 1);
            let lanes = |delta: &dyn Fn(usize, usize) -> f64| -> Vec<Lane> {
                let lane = |p| std::array::from_fn(|l| between(p, &|d| delta(d, other(l))));
                players.clone().map(lane).collect()
            };
            corners.across = lanes(&|d, other| self.rows[(row, d)] - rows[(other, d)]);
            corners.aside = lanes(&|d, other| rows[(z, d)] - rows[(other, d)]);
            family.decay(corners.across.as_flattened_mut());
            family.decay(corners.aside.as_flattened_mut());
            let share = |l: usize| if first + l < count { self.background.share[first + l] } else { 0.0 };
            let weights = std::array::from_fn(|l| family.variance * self.background.share[z] * share(l));
            let rule = corners.rule(rules);
            doubled(&mut corners, rule, &weights);
        }
        for (out, lanes) in out.iter_mut().zip(&corners.sums) {
            *out += lanes.iter().sum::<f64>();
        }
    }
}

/// The kernels of every input between the explained row x, one background row z and eight others z′.
struct Corners {
    /// k(x, z′).
    across: Vec<Lane>,
    /// k(z, x).
    back: Vec<f64>,
    /// k(z, z′).
    aside: Vec<Lane>,
    /// Products of the factors before each input.
    before: Vec<Lane>,
    /// What was found so far.
    sums: Vec<Lane>,
}

impl Corners {
    fn new(inputs: usize) -> Corners {
        let lanes = || vec![[0.0; LANES]; inputs];
        Corners { across: Vec::new(), back: Vec::new(), aside: Vec::new(), before: lanes(), sums: lanes() }
    }

    /// The smallest rule that both integrals need: as a function of one node a factor runs between two ends, as in a
    /// single game, and the other node moves it between two such pairs.
    fn rule<'a>(&self, rules: &'a Rules) -> &'a Rule {
        let mut excess = [[0.0; LANES]; 4];
        for ((across, back), aside) in self.across.iter().zip(&self.back).zip(&self.aside) {
            for l in 0..LANES {
                let ends = [(1.0, *back), (across[l], aside[l]), (1.0, across[l]), (*back, aside[l])];
                for (excess, (a, b)) in excess.iter_mut().zip(ends) {
                    let (smaller, larger) = if a < b { (a, b) } else { (b, a) };
                    excess[l] += if larger > 0.0 { 1.0 - smaller / larger } else { 0.0 };
                }
            }
        }
        let most = excess.as_flattened().iter().copied().fold(0.0, f64::max);
        rules.get(rules.for_products(1.0, 0.0, most))
    }
}

/// `sums[i] += weight · ` the double integral for input i, in each lane.
#[inline(always)]
fn doubled_body(corners: &mut Corners, rule: &Rule, weight: &Lane) {
    let count = corners.back.len();
    let (across, aside, back) = (&corners.across[..count], &corners.aside[..count], &corners.back[..count]);
    let (before, sums) = (&mut corners.before[..count], &mut corners.sums[..count]);
    for (t, w) in rule.nodes.iter().zip(&rule.weights) {
        for (s, v) in rule.nodes.iter().zip(&rule.weights) {
            let (t, s) = (0.5 + 0.5 * t, 0.5 + 0.5 * s);
            let (both, first, second, none) = (t * s, t * (1.0 - s), (1.0 - t) * s, (1.0 - t) * (1.0 - s));
            let mut product = [0.0; LANES];
            for l in 0..LANES {
                product[l] = weight[l] * (0.25 * w * v);
            }
            for j in 0..count {
                before[j] = product;
                let constant = second.mul_add(back[j], both);
                for l in 0..LANES {
                    product[l] *= first.mul_add(across[j][l], none.mul_add(aside[j][l], constant));
                }
            }
            let mut after = [1.0; LANES];
            for j in (0..count).rev() {
                let constant = second.mul_add(back[j], both);
                for l in 0..LANES {
                    let change = (1.0 - back[j]) - (across[j][l] - aside[j][l]);
                    sums[j][l] = change.mul_add(before[j][l] * after[l], sums[j][l]);
                    after[l] *= first.mul_add(across[j][l], none.mul_add(aside[j][l], constant));
                }
            }
        }
    }
}

vectorised!(fn doubled(corners: &mut Corners, rule: &Rule, weight: &Lane) = doubled_body);
