//! Prior variance of Shapley values: the same integral on both sides of a kernel (equation 36).
//!
//! For two background rows z, z′ and nodes t, t′ an input j inside neither, one or both coalitions gives the factor
//! F_j = tt′ + t(1−t′) k(x, z′) + (1−t)t′ k(z, x) + (1−t)(1−t′) k(z, z′), and exchanging input i on both sides
//! 1 − k(x, z′) − k(z, x) + k(z, z′).

use super::along::Rows;
use super::game::{LANES, Lane, Rule, Rules};
use super::shapley::Table;
use crate::interrupt::go_on;
use crate::kernel::{KernelMachine, Metric};
use crate::simd::vectorised;
use rayon::prelude::*;

/// What the double integral of a term of size one may be wrong by: a variance needs fewer digits than a value.
const TOLERANCE: f64 = 1e-10;

impl Table<'_> {
    /// Prior variance of the Shapley value of each player at each row, for amplitude one, players running fastest. Costs the
    /// square of the background.
    pub(super) fn priors(&self, machine: &KernelMachine) -> Vec<f64> {
        let (kernel, players, rows) = (&machine.kernel, self.players.len(), self.rows.nrows());
        let rules = Rules::new(players, 1, TOLERANCE);
        let metrics = kernel.metrics();
        let families = metrics.each_ref().map(|metric| Sides::new(self, metric));
        let one_background_row = |z: usize| {
            let mut out = vec![0.0; rows * players];
            families.iter().for_each(|sides| sides.add(self, z, &rules, &mut out));
            out
        };
        let each: Vec<Vec<f64>> = (0..self.background.share.len()).into_par_iter().map(one_background_row).collect();
        let unit = kernel.linear / machine.inputs.ncols() as f64;
        let total = |at: usize| {
            let (row, player) = (at / players, at % players);
            let straight: f64 =
                self.players[player].iter().map(|&d| (self.rows[(row, d)] - self.means[d]).powi(2)).sum();
            unit * straight + each.iter().map(|out| out[at]).sum::<f64>()
        };
        (0..rows * players).map(total).collect()
    }
}

/// A family, and its kernels of every player between rows to explain and background rows.
struct Sides<'a> {
    metric: &'a Metric,
    /// For each row, then for eight background rows at a time, those of each player.
    across: Vec<Vec<Vec<Lane>>>,
}

impl<'a> Sides<'a> {
    fn new(table: &Table<'_>, metric: &'a Metric) -> Self {
        let of_row = |row: usize| kernels(table, metric, (&table.along_rows, row));
        Sides { metric, across: (0..table.rows.nrows()).into_par_iter().map(of_row).collect() }
    }

    /// Adds the part of background row z, for every row.
    fn add(&self, table: &Table<'_>, z: usize, rules: &Rules, out: &mut [f64]) {
        let (share, players) = (&table.background.share, table.players.len());
        let aside = kernels(table, self.metric, (&table.along_background, z));
        let mut corners = Corners::new(players);
        for (across, out) in self.across.iter().zip(out.chunks_mut(players.max(1))) {
            let own = &across[z / LANES];
            corners.back.clear();
            corners.back.extend(own.iter().map(|lane| lane[z % LANES]));
            corners.sums.fill([0.0; LANES]);
            for (number, (across, aside)) in across.iter().zip(&aside).enumerate() {
                go_on();
                let share = |l: usize| share.get(number * LANES + l).copied().unwrap_or(0.0);
                let weights =
                    std::array::from_fn(|l| self.metric.family.variance * table.background.share[z] * share(l));
                let rule = rule(&corners.back, across, aside, rules);
                doubled(&mut corners, (across, aside), rule, &weights);
            }
            for (out, lanes) in out.iter_mut().zip(&corners.sums) {
                *out += lanes.iter().sum::<f64>();
            }
        }
    }
}

/// Between a row and all of the background, eight at a time: those of each player. The last ones may be repeated.
fn kernels(table: &Table<'_>, metric: &Metric, row: (&Rows<'_>, usize)) -> Vec<Vec<Lane>> {
    let background = &table.along_background;
    let eight = |first: usize| {
        go_on();
        let mut lanes: Vec<Lane> =
            (0..table.players.len()).map(|player| background.eight(player, metric, first, row)).collect();
        metric.family.decay(lanes.as_flattened_mut());
        lanes
    };
    (0..background.count()).step_by(LANES).map(eight).collect()
}

/// What is kept for one row x to explain, one background row z and eight others z′ after another.
struct Corners {
    /// k(z, x) of every player.
    back: Vec<f64>,
    /// Products of the factors before each player.
    before: Vec<Lane>,
    /// What was found so far.
    sums: Vec<Lane>,
}

impl Corners {
    fn new(players: usize) -> Corners {
        let lanes = || vec![[0.0; LANES]; players];
        Corners { back: Vec::with_capacity(players), before: lanes(), sums: lanes() }
    }
}

/// The smallest rule that both integrals need, given k(z, x), k(x, z′) and k(z, z′): as a function of one node a factor runs
/// between two ends, as in a single game, and the other node moves it between two such pairs.
fn rule<'a>(back: &[f64], across: &[Lane], aside: &[Lane], rules: &'a Rules) -> &'a Rule {
    if let Some(only) = rules.few() {
        return only;
    }
    let mut excess = [[0.0; LANES]; 4];
    for ((across, back), aside) in across.iter().zip(back).zip(aside) {
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

/// `sums[i] += weight · ` the double integral for input i, in each lane.
#[inline(always)]
fn doubled_body(corners: &mut Corners, (across, aside): (&[Lane], &[Lane]), rule: &Rule, weight: &Lane) {
    let count = corners.back.len();
    let (across, aside, back) = (&across[..count], &aside[..count], &corners.back[..count]);
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

vectorised!(fn doubled(corners: &mut Corners, sides: (&[Lane], &[Lane]), rule: &Rule, weight: &Lane) = doubled_body);
