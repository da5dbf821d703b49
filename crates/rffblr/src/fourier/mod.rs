//! Random Fourier features: inputs lifted by cosines whose dot product approximates a kernel (equations 1–2).
//!
//! A [`Basis`] holds what was drawn, unscaled. Bandwidth γ and input scales r are applied where the features are
//! used, so that changing them never touches the draw.

mod cosine;
mod spectrum;

pub(crate) use cosine::cosines;
pub use spectrum::Spectrum;

use crate::linalg::{Accumulate, Mat, MatRef, Threads, map_columns, orthonormal, product, scale_rows, select_columns};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, TAU};

/// How the offsets p of the cosines are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offsets {
    /// Independent and uniform on [0, 2π), as in the paper.
    Random,
    /// Features come in pairs, cosine and sine of the same direction: a better kernel for the same number.
    Paired,
}

/// How the directions of the cosines relate to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// Drawn independently, as in the paper.
    Independent,
    /// Orthogonal within blocks of D: a better kernel for the same number.
    Orthogonal,
}

/// What to draw.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The kernel to approximate.
    pub spectrum: Spectrum,
    /// Offsets of the cosines.
    pub offsets: Offsets,
    /// Directions of the cosines.
    pub directions: Directions,
    /// Number of cosines M.
    pub count: usize,
    /// Whether the inputs themselves follow as columns x_d/√D.
    pub links: bool,
}

/// Bandwidth and input scales: the part of the features that is learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scales {
    /// Bandwidth γ.
    pub bandwidth: f64,
    /// Input scales r of each input.
    pub input_scales: Vec<f64>,
}

impl Scales {
    /// Every input counts the same.
    pub fn uniform(bandwidth: f64, inputs: usize) -> Self {
        Scales { bandwidth, input_scales: vec![1.0; inputs] }
    }

    /// √(2γ r_d), what input d is multiplied by.
    pub fn factor(&self, input: usize) -> f64 {
        (2.0 * self.bandwidth * self.input_scales[input]).sqrt()
    }
}

/// The drawn features: first the cosines, then the direct links.
#[derive(Clone, Debug)]
pub struct Basis {
    /// D×M directions: Ω₀, unscaled, as drawn; or frequencies Ω, once [`scaled`](Basis::scaled).
    pub directions: Mat<f64>,
    /// M offsets p.
    pub offsets: Vec<f64>,
    /// √(2/M) with the M of the draw: pruning does not change it.
    pub amplitude: f64,
    /// Inputs that enter directly, in rising order.
    pub links: Vec<usize>,
}

impl Basis {
    /// Draws a basis for `inputs` columns.
    pub fn draw(recipe: &Recipe, inputs: usize, rng: &mut impl Rng) -> Self {
        let count = recipe.count;
        let distinct = match recipe.offsets {
            Offsets::Random => count,
            Offsets::Paired => count.div_ceil(2),
        };
        let drawn = directions(recipe.spectrum, recipe.directions, inputs, distinct, rng);
        let (directions, offsets) = match recipe.offsets {
            Offsets::Random => (drawn, (0..count).map(|_| rng.random_range(0.0..TAU)).collect()),
            Offsets::Paired => {
                let partner: Vec<usize> = (0..count).map(|m| m / 2).collect();
                let offsets = (0..count).map(|m| match (m % 2, m + 1 == count) {
                    // A last feature without a partner needs a random offset to be unbiased.
                    (0, true) => rng.random_range(0.0..TAU),
                    (0, false) => 0.0,
                    // cos(a − π/2) = sin a
                    _ => -FRAC_PI_2,
                });
                let offsets = offsets.collect();
                (select_columns(drawn.as_ref(), &partner), offsets)
            }
        };
        Basis {
            directions,
            offsets,
            amplitude: (2.0 / count.max(1) as f64).sqrt(),
            links: if recipe.links { (0..inputs).collect() } else { Vec::new() },
        }
    }

    /// Number of inputs D.
    pub fn inputs(&self) -> usize {
        self.directions.nrows()
    }

    /// Number of cosines.
    pub fn cosines(&self) -> usize {
        self.offsets.len()
    }

    /// Number of columns: cosines and links.
    pub fn columns(&self) -> usize {
        self.cosines() + self.links.len()
    }

    /// The factor 1/√D of a direct link.
    pub fn link_factor(&self) -> f64 {
        1.0 / (self.inputs().max(1) as f64).sqrt()
    }

    /// Keeps the named columns (rising order).
    pub fn keep(&mut self, columns: &[usize]) {
        let cosines = self.cosines();
        let split = columns.partition_point(|&c| c < cosines);
        let (waves, links) = columns.split_at(split);
        self.directions = select_columns(self.directions.as_ref(), waves);
        self.offsets = waves.iter().map(|&c| self.offsets[c]).collect();
        self.links = links.iter().map(|&c| self.links[c - cosines]).collect();
    }

    /// P = X diag(√(2r)) Ω₀ into the first M columns of `out`: the angles at unit bandwidth without their offsets.
    #[doc(hidden)]
    pub fn project(&self, out: &mut Mat<f64>, inputs: MatRef<'_, f64>, input_scales: &[f64], threads: Threads) {
        let at_unit_bandwidth = Scales { bandwidth: 1.0, input_scales: input_scales.to_vec() };
        self.scaled(&at_unit_bandwidth).angles(out, inputs, threads);
    }

    /// X Ω into the first M columns of `out`.
    fn angles(&self, out: &mut Mat<f64>, inputs: MatRef<'_, f64>, threads: Threads) {
        let angles = out.as_mut().subcols_mut(0, self.cosines());
        product(angles, Accumulate::Replace, inputs, self.directions.as_ref(), 1.0, threads);
    }

    /// The same cosines with frequencies in place of directions: Ω = diag(√(2γr)) Ω₀.
    pub fn scaled(&self, scales: &Scales) -> Basis {
        let mut basis = self.clone();
        scale_rows(&mut basis.directions, &(0..self.inputs()).map(|d| scales.factor(d)).collect::<Vec<_>>());
        basis
    }

    /// Φ (equation 1) in place of projections: √(2/M) cos(√γ P + p), then the links, then ones in what columns are left.
    #[doc(hidden)]
    pub fn lift(&self, out: &mut Mat<f64>, inputs: MatRef<'_, f64>, bandwidth: f64, threads: Threads) {
        let slope = bandwidth.sqrt();
        let waves = self.cosines();
        map_columns(out, threads, |m, column| {
            if m < waves {
                cosines(column, slope, self.offsets[m], self.amplitude);
            } else if let Some(&input) = self.links.get(m - waves) {
                for (row, cell) in column.iter_mut().enumerate() {
                    *cell = self.link_factor() * inputs[(row, input)];
                }
            } else {
                column.fill(1.0);
            }
        });
    }

    /// Φ (N×columns) of a scaled basis for standardised inputs.
    pub fn features(&self, inputs: MatRef<'_, f64>) -> Mat<f64> {
        self.features_in(inputs, self.columns())
    }

    /// [Φ, 1]: one more column, for the bias.
    pub(crate) fn features_and_one(&self, inputs: MatRef<'_, f64>) -> Mat<f64> {
        self.features_in(inputs, self.columns() + 1)
    }

    /// Φ in a table that may be wider; what is wider becomes one.
    fn features_in(&self, inputs: MatRef<'_, f64>, columns: usize) -> Mat<f64> {
        let mut out = Mat::zeros(inputs.nrows(), columns);
        self.features_into(&mut out, inputs, Threads::current());
        out
    }

    /// Φ into a table that was used before, and one into its other columns.
    pub(crate) fn features_into(&self, out: &mut Mat<f64>, inputs: MatRef<'_, f64>, threads: Threads) {
        self.angles(out, inputs, threads);
        self.lift(out, inputs, 1.0, threads);
    }
}

/// Unscaled directions, one in each column.
pub(crate) fn directions(
    spectrum: Spectrum,
    how: Directions,
    inputs: usize,
    count: usize,
    rng: &mut impl Rng,
) -> Mat<f64> {
    match how {
        Directions::Independent => independent(spectrum, inputs, count, rng),
        Directions::Orthogonal => orthogonal(spectrum, inputs, count, rng),
    }
}

fn independent(spectrum: Spectrum, inputs: usize, count: usize, rng: &mut impl Rng) -> Mat<f64> {
    let mut out = Mat::zeros(inputs, count);
    for m in 0..count {
        spectrum.direction(out.col_as_slice_mut(m), rng);
    }
    out
}

/// Blocks of at most D orthonormal columns, each then given the length an independent draw would have.
fn orthogonal(spectrum: Spectrum, inputs: usize, count: usize, rng: &mut impl Rng) -> Mat<f64> {
    let mut out = Mat::zeros(inputs, count);
    let mut length = vec![0.0; inputs];
    for first in (0..count).step_by(inputs.max(1)) {
        let block = inputs.min(count - first);
        let normal = Mat::from_fn(inputs, block, |_, _| StandardNormal.sample(rng));
        let unit = orthonormal(normal);
        for m in 0..block {
            spectrum.direction(&mut length, rng);
            let norm = length.iter().map(|v| v * v).sum::<f64>().sqrt();
            for d in 0..inputs {
                out[(d, first + m)] = norm * unit[(d, m)];
            }
        }
    }
    out
}
