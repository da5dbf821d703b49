//! Cosine–sine pairs whose frequencies follow the spectrum of a kernel: drawn once, scaled by its hyper-parameters.

use crate::fourier::{Basis, Directions, Spectrum, directions};
use crate::kernel::Kernel;
use crate::linalg::Mat;
use crate::packed;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_PI_2;
use std::ops::Range;

/// Least share of the pairs that a family gets, however small its variance.
const LEAST_SHARE: f64 = 0.05;

/// Largest unscaled frequency of the Laplace family. The law is Cauchy's, without a mean: frequencies in its tail, which
/// no data resolve, would be noise among the features and make the marginal likelihood jagged as a function of the
/// bandwidth. A share of 2/(π·LIMIT) is brought back inside.
const LIMIT: f64 = 16.0;

/// Unscaled frequencies of each family, D×P: RBF, then Laplace L1. The same seed gives the same draw everywhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub(crate) struct Draw {
    families: [Mat<f64>; 2],
}

/// A draw as it is written: unscaled frequencies pair after pair, packed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    pairs: [usize; 2],
    unscaled: String,
}

impl From<Draw> for Stored {
    fn from(draw: Draw) -> Stored {
        let columns = draw.families.iter().flat_map(|family| (0..family.ncols()).map(|p| family.col_as_slice(p)));
        Stored { pairs: draw.counts(), unscaled: packed::doubles(columns.flatten().copied()) }
    }
}

impl TryFrom<Stored> for Draw {
    type Error = &'static str;

    fn try_from(Stored { pairs: [first, second], unscaled }: Stored) -> std::result::Result<Draw, &'static str> {
        let list =
            packed::from_doubles(&unscaled).filter(|list| !list.is_empty() && list.iter().all(|z| z.is_finite()));
        let list = list.ok_or("frequencies must be finite numbers, packed")?;
        let pairs = first.checked_add(second).filter(|pairs| first > 0 && second > 0 && list.len() % pairs == 0);
        let inputs = list.len() / pairs.ok_or("the number of frequencies is not that of the pairs")?;
        let family = |skip: usize, count: usize| Mat::from_fn(inputs, count, |d, p| list[(skip + p) * inputs + d]);
        Ok(Draw { families: [family(0, first), family(first, second)] })
    }
}

/// Pairs of each family for a number of features: as the kernel's variances are to each other, which makes the expected
/// error of the drawn kernel smallest.
pub(crate) fn shares(kernel: &Kernel, features: usize) -> [usize; 2] {
    let pairs = features.div_ceil(2).max(2);
    let share = kernel.rbf.variance / (kernel.rbf.variance + kernel.laplace_l1.variance);
    let first = (pairs as f64 * share.clamp(LEAST_SHARE, 1.0 - LEAST_SHARE)).round() as usize;
    let first = first.clamp(1, pairs - 1);
    [first, pairs - first]
}

impl Draw {
    /// For D inputs.
    pub(crate) fn new(inputs: usize, pairs: [usize; 2], seed: u64) -> Draw {
        let family = |number: u64, spectrum, how| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(number);
            directions(spectrum, how, inputs, pairs[number as usize], &mut rng)
        };
        let mut rough = family(1, Spectrum::LaplaceL1, Directions::Independent);
        for p in 0..rough.ncols() {
            let column = rough.col_as_slice_mut(p).iter_mut();
            column.filter(|z| z.abs() > LIMIT).for_each(|z| *z = LIMIT * (LIMIT / *z));
        }
        Draw { families: [family(0, Spectrum::Rbf, Directions::Orthogonal), rough] }
    }

    /// Number of inputs D.
    pub(crate) fn inputs(&self) -> usize {
        self.families[0].nrows()
    }

    /// Pairs of each family.
    pub(crate) fn counts(&self) -> [usize; 2] {
        [self.families[0].ncols(), self.families[1].ncols()]
    }

    /// Pairs of all families.
    pub(crate) fn pairs(&self) -> usize {
        self.families.iter().map(Mat::ncols).sum()
    }

    /// Columns of [Φ, 1]: cosines and sines, links, one.
    pub(crate) fn columns(&self) -> usize {
        2 * self.pairs() + self.inputs() + 1
    }

    /// The pairs of a family.
    pub(crate) fn family(&self, k: usize) -> Range<usize> {
        let first = self.families[0].ncols();
        if k == 0 { 0..first } else { first..self.pairs() }
    }

    /// Sums of something known of each column: over the links, and over the features of each family.
    pub(crate) fn by_family(&self, columns: &[f64]) -> [f64; 3] {
        let cosines = 2 * self.pairs();
        let of = |k: usize| columns[2 * self.family(k).start..2 * self.family(k).end].iter().sum();
        [columns[cosines..cosines + self.inputs()].iter().sum(), of(0), of(1)]
    }

    /// Frequency of pair p along input d: √(2γ) z for exp(−γΔ²), γ r_d z for exp(−γ r|Δ|).
    pub(crate) fn frequency(&self, kernel: &Kernel, d: usize, p: usize) -> f64 {
        self.unit(kernel, d, p) * self.unscaled(d, p)
    }

    /// What an unscaled frequency is multiplied by.
    pub(crate) fn unit(&self, kernel: &Kernel, d: usize, p: usize) -> f64 {
        match p < self.families[0].ncols() {
            true => (2.0 * kernel.rbf.bandwidth).sqrt(),
            false => kernel.laplace_l1.bandwidth * kernel.input_scales[d],
        }
    }

    fn unscaled(&self, d: usize, p: usize) -> f64 {
        let first = self.families[0].ncols();
        if p < first { self.families[0][(d, p)] } else { self.families[1][(d, p - first)] }
    }

    /// How far an unscaled frequency is from its neighbours, about: those of the Laplace family lie the further apart the
    /// larger they are.
    pub(crate) fn width(&self, d: usize, p: usize) -> f64 {
        if p < self.families[0].ncols() { 1.0 } else { self.unscaled(d, p).hypot(1.0) }
    }

    /// The same pairs, each frequency moved by so many times `width` of it; pair after pair.
    pub(crate) fn moved(&self, moves: &[f64], width: f64) -> Draw {
        let (inputs, [first, second]) = (self.inputs(), self.counts());
        let at = |d: usize, p: usize| self.unscaled(d, p) + moves[p * inputs + d] * width * self.width(d, p);
        Draw { families: [Mat::from_fn(inputs, first, at), Mat::from_fn(inputs, second, |d, p| at(d, first + p))] }
    }

    /// The features of a kernel: cosine and sine of each pair, then the links.
    pub(crate) fn basis(&self, kernel: &Kernel) -> Basis {
        basis_of_pairs(self.inputs(), self.pairs(), |d, p| self.frequency(kernel, d, p))
    }

    /// Prior precision of the weight of each column, the last being the bias: with these ΦA⁻¹Φᵀ is the drawn kernel.
    pub(crate) fn precision(&self, kernel: &Kernel) -> Vec<f64> {
        precision_of_pairs(kernel, self.counts())
    }
}

/// The features of pairs with these frequencies: cosine and sine of each, then the links.
pub(crate) fn basis_of_pairs(inputs: usize, pairs: usize, frequency: impl Fn(usize, usize) -> f64) -> Basis {
    let count = 2 * pairs;
    Basis {
        directions: Mat::from_fn(inputs, count, |d, m| frequency(d, m / 2)),
        offsets: (0..count).map(|m| if m % 2 == 0 { 0.0 } else { -FRAC_PI_2 }).collect(),
        amplitude: (2.0 / count as f64).sqrt(),
        links: (0..inputs).collect(),
    }
}

/// Some of the features of so many pairs, given the frequencies of the cosines and sines among them.
pub(crate) fn basis_of_kept(inputs: usize, pairs: usize, columns: &[usize], frequencies: &[f64]) -> Basis {
    let cosines = columns.partition_point(|m| *m < 2 * pairs);
    let offset = |m: &usize| if m.is_multiple_of(2) { 0.0 } else { -FRAC_PI_2 };
    Basis {
        directions: Mat::from_fn(inputs, cosines, |d, k| frequencies[k * inputs + d]),
        offsets: columns[..cosines].iter().map(offset).collect(),
        amplitude: (1.0 / pairs as f64).sqrt(),
        links: columns[cosines..].iter().map(|m| m - 2 * pairs).collect(),
    }
}

/// Prior precision of the weight of each column where the families have so many pairs.
pub(crate) fn precision_of_pairs(kernel: &Kernel, pairs: [usize; 2]) -> Vec<f64> {
    let variances = [kernel.rbf.variance, kernel.laplace_l1.variance];
    let total = (pairs[0] + pairs[1]) as f64;
    let of_family = |k: usize| std::iter::repeat_n(pairs[k] as f64 / (variances[k] * total), 2 * pairs[k]);
    let links = std::iter::repeat_n(1.0 / kernel.linear, kernel.input_scales.len());
    of_family(0).chain(of_family(1)).chain(links).chain([1.0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Family;
    use crate::linalg::{Threads, multiply, scale_columns};

    /// Products of many features are the kernel, family shares and links included.
    #[test]
    fn products_of_features_approximate_the_kernel() {
        let kernel = Kernel {
            linear: 0.4,
            rbf: Family { variance: 0.3, bandwidth: 0.2 },
            laplace_l1: Family { variance: 0.9, bandwidth: 0.3 },
            input_scales: vec![0.4, 0.9, 1.4],
        };
        let x = Mat::from_fn(7, 3, |i, d| ((i * 5 + d * 3) as f64 * 0.8).sin());
        let exact = kernel.cross(&x, x.as_ref(), Threads::ONE);
        let pairs = shares(&kernel, 100_000);
        assert_eq!(pairs, [12_500, 37_500]);
        let draw = Draw::new(3, pairs, 5);
        let mut features = draw.basis(&kernel).features_and_one(x.as_ref());
        let precision = draw.precision(&kernel);
        scale_columns(&mut features, |j| precision[j].sqrt().recip());
        let drawn = multiply(features.as_ref(), features.as_ref().transpose(), Threads::ONE);
        for j in 0..7 {
            // On the diagonal pairs are exact: cos² + sin² = 1.
            assert!((drawn[(j, j)] - exact[(j, j)]).abs() < 1e-10);
            for i in 0..7 {
                // Frequencies beyond the limit are missing: near zero distance the Laplace kernel has no cusp.
                assert!((drawn[(i, j)] - exact[(i, j)]).abs() < 0.12, "{} {}", drawn[(i, j)], exact[(i, j)]);
            }
        }
    }
}
