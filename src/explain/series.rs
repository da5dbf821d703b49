//! Games of exponentials with small s, all of them at once, by power series (equation 35c).
//!
//! With η = −s e/2, e the difference of the two distances of an input, its factor is exp(−s · mean) (cosh η + τ sinh η),
//! τ = 2t − 1. Its logarithm is a power series Σ c_k(τ) η^k, so the product over inputs needs only the power sums Σ_j e_j^k,
//! whatever s and τ; and the Shapley value of input i, sinh η_i / (cosh η_i + τ sinh η_i) times that product, is one power
//! series in e_i whose coefficients add up over s and τ. Both series converge for |η| < π/2.

use super::game::{LANES, Lane, Rules};
use crate::kernel::exponentials;
#[cfg(target_arch = "x86_64")]
use crate::kernel::{Level, level};

/// Terms of a series …
const TERMS: usize = 14;
/// … and the largest |η| for which they are enough: (2η/π)¹⁵ is 4·10⁻¹⁴.
const REACH: f64 = 0.2;
/// Fewest inputs for which the series are faster.
pub(super) const FEWEST_INPUTS: usize = 32;
/// Rules used, smallest first; a game that would need a larger one is not for the series.
const RULES: usize = 12;

/// One node τ: its weight and the coefficients c_k and those of sinh/(cosh + τ sinh), k from 1 on.
struct Node {
    weight: f64,
    logarithm: [f64; TERMS],
    value: [f64; TERMS],
}

/// The series at the nodes of each rule.
pub(super) struct Series(Vec<Vec<Node>>);

impl Node {
    fn new(tau: f64, weight: f64) -> Node {
        // y = (sinh + τ cosh)/(cosh + τ sinh) is the derivative of the logarithm and y' = 1 − y².
        // v = sinh/(cosh + τ sinh) has v' = 1 − 2τv − (1 − τ²)v².
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
        let logarithm = std::array::from_fn(|k| y[k] / (k + 1) as f64);
        Node { weight, logarithm, value: std::array::from_fn(|k| v[k + 1]) }
    }
}

impl Series {
    pub(super) fn new(rules: &Rules) -> Series {
        let nodes = |position: usize| {
            let rule = rules.get(position);
            rule.nodes.iter().zip(&rule.weights).map(|(&t, &w)| Node::new(t, w)).collect()
        };
        Series((0..RULES).map(nodes).collect())
    }

    /// Whether the series hold for an s, given the largest difference of an input and the rule needed.
    pub(super) fn reaches(&self, s: f64, largest: f64, rule: usize) -> bool {
        0.5 * s * largest <= REACH && rule < self.0.len()
    }

    /// `out[i] += share · φ_i` of Σ weight exp(−s Σ u) over the pairs (s, weight) given, each by the rule that `order`
    /// says.
    pub(super) fn play(
        &self,
        (x, z): (&[Lane], &[Lane]),
        mixture: &[(f64, f64)],
        order: impl Fn(f64, f64) -> usize,
        share: f64,
        largest: f64,
        out: &mut [Lane],
    ) {
        let pair = Pair::new(x, z, largest);
        let mut exponents: Vec<Lane> = Vec::with_capacity(4 * mixture.len());
        let rule = |s: f64, weight: f64| &self.0[order(s, weight)];
        for &(s, weight) in mixture {
            let eta = -0.5 * s * largest;
            for node in rule(s, weight) {
                exponents.push(pair.exponent(s, eta, node));
            }
        }
        exponentials(exponents.as_flattened_mut());
        let mut coefficients = [[0.0; LANES]; TERMS];
        let mut products = exponents.iter();
        for &(s, weight) in mixture {
            let eta = -0.5 * s * largest;
            for (node, product) in rule(s, weight).iter().zip(&mut products) {
                let mut power = share * weight * node.weight;
                for (coefficient, value) in coefficients.iter_mut().zip(&node.value) {
                    power *= eta;
                    (0..LANES).for_each(|l| coefficient[l] += product[l] * (power * value));
                }
            }
        }
        polynomials(x, z, largest.recip(), &coefficients, out);
    }
}

/// Power sums of the differences of a pair of rows, relative to the largest.
struct Pair {
    /// Σ of the means of the two distances.
    middle: Lane,
    sums: [Lane; TERMS],
}

impl Pair {
    fn new(x: &[Lane], z: &[Lane], largest: f64) -> Pair {
        let mut pair = Pair { middle: [0.0; LANES], sums: [[0.0; LANES]; TERMS] };
        power_sums(x, z, largest.recip(), &mut pair);
        pair
    }

    /// ln of the product of all factors at a node.
    fn exponent(&self, s: f64, eta: f64, node: &Node) -> Lane {
        let (mut out, mut power) = (self.middle.map(|middle| -s * middle), 1.0);
        for (sum, coefficient) in self.sums.iter().zip(&node.logarithm) {
            power *= eta;
            (0..LANES).for_each(|l| out[l] += sum[l] * (power * coefficient));
        }
        // Rounding must not make a product of numbers below one larger than one.
        out.map(|v| v.min(0.0))
    }
}

#[inline(always)]
fn power_sums_body(x: &[Lane], z: &[Lane], unit: f64, pair: &mut Pair) {
    let (mut middle, mut sums) = ([0.0; LANES], [[0.0; LANES]; TERMS]);
    for (x, z) in x.iter().zip(z) {
        let mut power = [0.0; LANES];
        let mut difference = [0.0; LANES];
        for l in 0..LANES {
            middle[l] = (x[l] + z[l]).mul_add(0.5, middle[l]);
            difference[l] = (x[l] - z[l]) * unit;
            power[l] = 1.0;
        }
        for sum in &mut sums {
            for l in 0..LANES {
                power[l] *= difference[l];
                sum[l] += power[l];
            }
        }
    }
    (pair.middle, pair.sums) = (middle, sums);
}

#[inline(always)]
fn polynomials_body(x: &[Lane], z: &[Lane], unit: f64, coefficients: &[Lane; TERMS], out: &mut [Lane]) {
    for ((x, z), out) in x.iter().zip(z).zip(out) {
        let mut value = [0.0; LANES];
        let mut difference = [0.0; LANES];
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

fn power_sums(x: &[Lane], z: &[Lane], unit: f64, pair: &mut Pair) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,fma")]
        fn avx512(x: &[Lane], z: &[Lane], unit: f64, pair: &mut Pair) {
            power_sums_body(x, z, unit, pair);
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(x: &[Lane], z: &[Lane], unit: f64, pair: &mut Pair) {
            power_sums_body(x, z, unit, pair);
        }
        match level() {
            // SAFETY: `level` found the features on this machine.
            Level::Avx512 => return unsafe { avx512(x, z, unit, pair) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(x, z, unit, pair) },
            Level::Plain => {}
        }
    }
    power_sums_body(x, z, unit, pair);
}

/// `out[i] += Σ_k coefficients_k ((x_i − z_i) unit)^k`, k from 1 on.
fn polynomials(x: &[Lane], z: &[Lane], unit: f64, coefficients: &[Lane; TERMS], out: &mut [Lane]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,fma")]
        fn avx512(x: &[Lane], z: &[Lane], unit: f64, coefficients: &[Lane; TERMS], out: &mut [Lane]) {
            polynomials_body(x, z, unit, coefficients, out);
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(x: &[Lane], z: &[Lane], unit: f64, coefficients: &[Lane; TERMS], out: &mut [Lane]) {
            polynomials_body(x, z, unit, coefficients, out);
        }
        match level() {
            // SAFETY: `level` found the features on this machine.
            Level::Avx512 => return unsafe { avx512(x, z, unit, coefficients, out) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(x, z, unit, coefficients, out) },
            Level::Plain => {}
        }
    }
    polynomials_body(x, z, unit, coefficients, out);
}
