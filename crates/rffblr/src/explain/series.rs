//! Games of exponentials, many s at once, with power series for the inputs that change little (equation 35c).
//!
//! With η = ½ s e, e the difference of the two distances of an input, its factor is exp(−s · mean) (cosh η − τ sinh η),
//! τ = 2t − 1. Its logarithm is a power series Σ c_k(τ) η^k, so the product over inputs needs only the power sums Σ_j e_j^k,
//! whatever s and τ; and the Shapley value of input i, −sinh η_i / (cosh η_i − τ sinh η_i) times the product of all, is one
//! power series in e_i whose coefficients add up over s and τ. Both series converge for |η| < π/2. At each s the inputs
//! within reach of the series are light; the few others, heavy, are played factor by factor as in `game`.

use super::game::{LANES, Lane, Rules, Scratch, products};
use crate::kernel::exponentials;
#[cfg(target_arch = "x86_64")]
use crate::kernel::{Level, level};
use std::ops::Range;

/// Terms of a series …
const TERMS: usize = 14;
/// … and the largest |η| for which they are enough: (2η/π)¹⁵ is 4·10⁻¹⁴.
const REACH: f64 = 0.2;
/// Fewest inputs for which the series are faster.
pub(super) const FEWEST_INPUTS: usize = 32;

/// One node τ: the coefficients c_k and those of −2 sinh/(cosh − τ sinh), k from 1 on.
struct Node {
    tau: f64,
    weight: f64,
    logarithm: [f64; TERMS],
    value: [f64; TERMS],
}

impl Node {
    fn new(tau: f64, weight: f64) -> Node {
        // y = (sinh + τ cosh)/(cosh + τ sinh) is the derivative of the logarithm and y' = 1 − y².
        // v = sinh/(cosh + τ sinh) has v' = 1 − 2τv − (1 − τ²)v². At −η the odd powers change their sign.
        let (mut y, mut v) = ([0.0; TERMS + 1], [0.0; TERMS + 1]);
        y[0] = tau;
        for n in 0..TERMS {
            let unit = if n == 0 { 1.0 } else { 0.0 };
            let square = |series: &[f64]| (0..=n).map(|i| series[i] * series[n - i]).sum::<f64>();
            (y[n + 1], v[n + 1]) = (
                (unit - square(&y)) / (n + 1) as f64,
                (unit - 2.0 * tau * v[n] - (1.0 - tau * tau) * square(&v)) / (n + 1) as f64,
            );
        }
        let sign = |k: usize| if k.is_multiple_of(2) { -1.0 } else { 1.0 };
        let logarithm = std::array::from_fn(|k| sign(k) * y[k] / (k + 1) as f64);
        // Twice, because the totals are half the weight times the product.
        Node { tau, weight, logarithm, value: std::array::from_fn(|k| 2.0 * sign(k) * v[k + 1]) }
    }
}

/// The series at the nodes of each rule.
pub(super) struct Series(Vec<Vec<Node>>);

impl Series {
    pub(super) fn new(rules: &Rules) -> Series {
        let nodes = |position: usize| {
            let rule = rules.get(position);
            rule.nodes.iter().zip(&rule.weights).map(|(&t, &w)| Node::new(t, w)).collect()
        };
        Series((0..rules.len()).map(nodes).collect())
    }

    /// `out[i] += φ_i` of the games of a pair of rows.
    pub(super) fn play<S: Fn(usize) -> Lane, O: Fn(usize) -> usize>(
        &self,
        games: &Games<'_, S, O>,
        room: &mut Room,
        out: &mut [Lane],
    ) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512dq,fma")]
            fn avx512<S: Fn(usize) -> Lane, O: Fn(usize) -> usize>(
                series: &Series,
                games: &Games<'_, S, O>,
                room: &mut Room,
                out: &mut [Lane],
            ) {
                series.play_body(games, room, out);
            }
            #[target_feature(enable = "avx2,fma")]
            fn avx2<S: Fn(usize) -> Lane, O: Fn(usize) -> usize>(
                series: &Series,
                games: &Games<'_, S, O>,
                room: &mut Room,
                out: &mut [Lane],
            ) {
                series.play_body(games, room, out);
            }
            match level() {
                // SAFETY: `level` found the features on this machine.
                Level::Avx512 => return unsafe { avx512(self, games, room, out) },
                // SAFETY: as above.
                Level::Avx2 => return unsafe { avx2(self, games, room, out) },
                Level::Plain => {}
            }
        }
        self.play_body(games, room, out);
    }

    #[inline(always)]
    fn play_body<S: Fn(usize) -> Lane, O: Fn(usize) -> usize>(
        &self,
        games: &Games<'_, S, O>,
        room: &mut Room,
        out: &mut [Lane],
    ) {
        room.sort(games.x, games.z, &games.mixture[games.nodes.clone()]);
        let (count, first) = (games.x.len(), games.nodes.start);
        room.totals.clear();
        room.rules.clear();
        let mut light = count;
        let (mut middle, mut sums) = ([0.0; LANES], [[0.0; LANES]; TERMS]);
        // Downwards more and more inputs are light: their power sums, in units of the node's own η, are added.
        for node in games.nodes.clone().rev() {
            let s = games.mixture[node].0;
            if node + 1 < games.nodes.end {
                rescale(&mut sums, s / games.mixture[node + 1].0);
            }
            let heavy = room.starts[node - first + 1];
            add_powers(&room.x[heavy..light], &room.z[heavy..light], 0.5 * s, &mut middle, &mut sums);
            light = heavy;
            let (position, size) = ((games.order)(node), (games.size)(node));
            let rule = &self.0[position];
            room.rules.push(position);
            let begin = room.totals.len();
            // Plain loops: what is inside closures may be compiled without the features of the machine.
            for tau in rule {
                room.totals.push(exponent(&middle, &sums, s, tau));
            }
            let totals = &mut room.totals[begin..];
            exponentials(totals.as_flattened_mut());
            for (total, tau) in totals.iter_mut().zip(rule) {
                for l in 0..LANES {
                    total[l] *= 0.5 * tau.weight * size[l];
                }
            }
            if heavy > 0 {
                decay(&room.x[..heavy], s, &mut room.a[..heavy]);
                decay(&room.z[..heavy], s, &mut room.b[..heavy]);
                room.at.clear();
                room.at.extend(rule.iter().map(|tau| tau.tau));
                let (a, b) = (&room.a[..heavy], &room.b[..heavy]);
                products(a, b, &room.at, totals, &mut room.scratch, &mut room.values[..heavy]);
            }
        }
        // Upwards the coefficients of the light inputs add up, until an input is light no more.
        let mut coefficients = [[0.0; LANES]; TERMS];
        let mut end = room.totals.len();
        for node in games.nodes.clone() {
            let s = games.mixture[node].0;
            if node > first {
                rescale(&mut coefficients, games.mixture[node - 1].0 / s);
            }
            let rule = room.rules.pop().map_or(&[][..], |position| &self.0[position]);
            let totals = &room.totals[end - rule.len()..end];
            end -= rule.len();
            for (k, coefficient) in coefficients.iter_mut().enumerate() {
                let mut sum = *coefficient;
                for (total, tau) in totals.iter().zip(rule) {
                    for l in 0..LANES {
                        sum[l] = tau.value[k].mul_add(total[l], sum[l]);
                    }
                }
                *coefficient = sum;
            }
            let done = room.starts[node - first + 1]..room.starts[node - first + 2];
            let values = &mut room.values[done.clone()];
            add_polynomials(&room.x[done.clone()], &room.z[done], 0.5 * s, &coefficients, values);
        }
        for (value, &j) in room.values[..count].iter().zip(&room.order) {
            for l in 0..LANES {
                out[j][l] += value[l];
            }
        }
    }
}

/// Eight games of Σ weight exp(−s Σ u) for some of the pairs (s, weight).
pub(super) struct Games<'a, S: Fn(usize) -> Lane, O: Fn(usize) -> usize> {
    /// Distances u of each input, at the row to explain and at the background row.
    pub(super) x: &'a [Lane],
    pub(super) z: &'a [Lane],
    pub(super) mixture: &'a [(f64, f64)],
    pub(super) nodes: Range<usize>,
    /// The weight of each game at a node.
    pub(super) size: S,
    /// The position of the rule for a node.
    pub(super) order: O,
}

/// Room for one pair of rows after the other.
pub(super) struct Room {
    /// Inputs, those first that are light for the fewest nodes.
    order: Vec<usize>,
    /// Where in that order those begin that are light for at least 0, 1, … nodes, less one: the first number is 0.
    starts: Vec<usize>,
    /// Nodes for which each input is light.
    lasts: Vec<usize>,
    x: Vec<Lane>,
    z: Vec<Lane>,
    a: Vec<Lane>,
    b: Vec<Lane>,
    values: Vec<Lane>,
    /// Half the weight times the product of all factors, for each node and τ.
    totals: Vec<Lane>,
    /// Position of the rule of each node, the last node first.
    rules: Vec<usize>,
    at: Vec<f64>,
    scratch: Scratch,
}

impl Room {
    pub(super) fn new(inputs: usize) -> Room {
        let lanes = || vec![[0.0; LANES]; inputs];
        Room {
            order: vec![0; inputs],
            starts: Vec::new(),
            lasts: vec![0; inputs],
            x: lanes(),
            z: lanes(),
            a: lanes(),
            b: lanes(),
            values: lanes(),
            totals: Vec::new(),
            rules: Vec::new(),
            at: Vec::new(),
            scratch: Scratch::new(inputs),
        }
    }

    /// Orders the inputs by how long they are light: `starts[k + 1]` of them are so for at most k nodes.
    #[inline(always)]
    fn sort(&mut self, x: &[Lane], z: &[Lane], mixture: &[(f64, f64)]) {
        self.starts.clear();
        self.starts.resize(mixture.len() + 2, 0);
        for ((x, z), last) in x.iter().zip(z).zip(&mut self.lasts) {
            let mut largest = 0.0;
            for l in 0..LANES {
                let difference = (x[l] - z[l]).abs();
                largest = if difference > largest { difference } else { largest };
            }
            *last = mixture.partition_point(|(s, _)| 0.5 * s * largest <= REACH);
            self.starts[*last + 1] += 1;
        }
        for k in 1..self.starts.len() {
            self.starts[k] += self.starts[k - 1];
        }
        let mut next = self.starts.clone();
        for (j, &last) in self.lasts[..x.len()].iter().enumerate() {
            let place = next[last];
            next[last] += 1;
            (self.order[place], self.x[place], self.z[place], self.values[place]) = (j, x[j], z[j], [0.0; LANES]);
        }
    }
}

/// Column k of a table, k from 1 on, times ratio^k.
#[inline(always)]
fn rescale(table: &mut [Lane; TERMS], ratio: f64) {
    let mut power = 1.0;
    for lane in table {
        power *= ratio;
        for value in lane {
            *value *= power;
        }
    }
}

/// Adds the means of the two distances and the powers of their scaled differences.
#[inline(always)]
fn add_powers(x: &[Lane], z: &[Lane], unit: f64, middle: &mut Lane, sums: &mut [Lane; TERMS]) {
    let (mut centre, mut totals) = (*middle, *sums);
    for (x, z) in x.iter().zip(z) {
        let (mut power, mut difference) = ([1.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            centre[l] = (x[l] + z[l]).mul_add(0.5, centre[l]);
            difference[l] = (x[l] - z[l]) * unit;
        }
        for total in &mut totals {
            for l in 0..LANES {
                power[l] *= difference[l];
                total[l] += power[l];
            }
        }
    }
    (*middle, *sums) = (centre, totals);
}

/// ln of the product of the light factors at a node.
#[inline(always)]
fn exponent(middle: &Lane, sums: &[Lane; TERMS], s: f64, tau: &Node) -> Lane {
    let mut out = [0.0; LANES];
    for l in 0..LANES {
        out[l] = -s * middle[l];
    }
    for (sum, coefficient) in sums.iter().zip(&tau.logarithm) {
        for l in 0..LANES {
            out[l] = sum[l].mul_add(*coefficient, out[l]);
        }
    }
    // Rounding must not make a product of numbers below one larger than one.
    for value in &mut out {
        *value = if *value < 0.0 { *value } else { 0.0 };
    }
    out
}

/// `out[i] += Σ_k coefficients_k ((x_i − z_i) unit)^k`, k from 1 on.
#[inline(always)]
fn add_polynomials(x: &[Lane], z: &[Lane], unit: f64, coefficients: &[Lane; TERMS], out: &mut [Lane]) {
    for ((x, z), out) in x.iter().zip(z).zip(out) {
        let (mut value, mut difference) = ([0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            difference[l] = (x[l] - z[l]) * unit;
        }
        for coefficient in coefficients.iter().rev() {
            for l in 0..LANES {
                value[l] = (value[l] + coefficient[l]) * difference[l];
            }
        }
        for l in 0..LANES {
            out[l] += value[l];
        }
    }
}

/// exp(−s distance).
pub(super) fn decay(distance: &[Lane], s: f64, out: &mut [Lane]) {
    for (out, distance) in out.iter_mut().zip(distance) {
        *out = distance.map(|d| -s * d);
    }
    exponentials(out.as_flattened_mut());
}
