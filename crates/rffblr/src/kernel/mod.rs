//! The default form: a Gaussian process with a learned sum kernel, the limit of infinitely many random cosines.
//!
//! κ(x, x′) = 1 + v₀ x·x′/D + v₁ exp(−γ₁ Σ Δ_d²) + v₂ exp(−γ₂ Σ r_d |Δ_d|), Δ = x − x′: bias and direct links,
//! the paper's RBF kernel, and a Laplace kernel with a scale for each input (automatic relevance determination). The
//! hyper-parameters v, γ, r and the noise are type-II MAP estimates: they maximise the log marginal likelihood plus
//! their log prior (equations 24 to 27).

pub(crate) mod ascent;
mod departures;
mod fit;
pub(crate) mod hyper;
mod information;
pub(crate) mod learn;
mod machine;
mod machines;
mod noise;
mod pairs;

pub(crate) use ascent::{Curvature, Start, Summit, Tolerance, climb};
use departures::groups;
pub(crate) use fit::{Climbed, Groups, LEARNING_ROWS, MOST_ROWS, MOST_ROWS_HERE, Search, first_rows};
pub(crate) use learn::Learned;
use learn::{Prior, learn};
pub(crate) use learn::{factorised_in, sized};
pub(crate) use machine::{KernelMachine, LeftOut, Scaled, TaskLevels, VARIANCE_ROWS, nonnegative_variance};
pub(crate) use machines::{Machines, Member, Shared};
pub(crate) use noise::best_noise;
pub(crate) use pairs::exponentials;

use crate::linalg::{Accumulate, Mat, MatRef, Threads, map_lower, multiply, outer};
use pairs::Distance;
use serde::{Deserialize, Serialize};

/// What κ of a pair of rows costs, in multiplications of a matrix product, with so many terms of distances: two exponentials
/// take as long as some fifty.
fn cell(terms: usize) -> usize {
    50 + 8 * terms
}

/// One summand of the kernel: prior variance v and bandwidth γ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Prior variance v of this family's share of a standardised target.
    pub variance: f64,
    /// γ, an inverse length scale: the larger, the faster the kernel falls.
    pub bandwidth: f64,
}

/// The kernel, for standardised inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// v₀: variance of the direct links.
    pub linear: f64,
    /// exp(−γ‖Δ‖²): smooth, one bandwidth for all inputs.
    pub rbf: Family,
    /// exp(−γ Σ r_d |Δ_d|): rough along the axes, as trees are.
    pub laplace_l1: Family,
    /// r_d: how fast the rough family falls along input d; one is typical.
    pub input_scales: Vec<f64>,
}

impl Family {
    /// `distance[i] ← exp(−γ distance[i])`.
    #[doc(hidden)]
    pub fn decay(&self, distance: &mut [f64]) {
        distance.iter_mut().for_each(|d| *d *= -self.bandwidth);
        exponentials(distance);
    }
}

/// How a family measures the distance of two rows: Σ_d r_d |Δ_d| or Σ_d r_d Δ_d².
pub(crate) struct Metric {
    pub(crate) family: Family,
    distance: Distance,
    scales: Vec<f64>,
}

impl Metric {
    /// The part of input d.
    #[inline]
    pub(crate) fn part(&self, d: usize, delta: f64) -> f64 {
        match self.distance {
            Distance::Absolute => self.scales[d] * delta.abs(),
            Distance::Square => self.scales[d] * (delta * delta),
        }
    }

    /// Adds the parts of some inputs of the distances of a row of `b` to the rows of `a` from `first` on.
    pub(crate) fn add(
        &self,
        inputs: &[usize],
        (a, first): (&Mat<f64>, usize),
        (b, row): (&Mat<f64>, usize),
        out: &mut [f64],
    ) {
        pairs::add_along(
            inputs.iter().copied(),
            (a, first),
            (b.as_ref(), row),
            (self.distance, self.scales.as_slice()),
            out,
        );
    }
}

/// Distances between rows: N×N′ each.
#[doc(hidden)]
pub struct Distances {
    /// Σ Δ_d².
    pub square: Mat<f64>,
    /// Σ r_d |Δ_d|.
    pub absolute: Mat<f64>,
}

impl Distances {
    /// In the order of [`Kernel::metrics`].
    pub(crate) fn by_metric(&self) -> [&Mat<f64>; 2] {
        [&self.square, &self.absolute]
    }
}

impl Kernel {
    /// Of the RBF family and of the Laplace family.
    pub(crate) fn metrics(&self) -> [Metric; 2] {
        let ones = vec![1.0; self.input_scales.len()];
        [
            Metric { family: self.rbf, distance: Distance::Square, scales: ones },
            Metric { family: self.laplace_l1, distance: Distance::Absolute, scales: self.input_scales.clone() },
        ]
    }

    /// Distances from the rows of `x` to those of `new`.
    #[doc(hidden)]
    pub fn distances(&self, x: &Mat<f64>, new: MatRef<'_, f64>, threads: Threads) -> Distances {
        Distances {
            square: pairs::between(x, new, Distance::Square, &vec![1.0; x.ncols()], threads),
            absolute: pairs::between(x, new, Distance::Absolute, &self.input_scales, threads),
        }
    }

    /// κ from x·x′ and the values of the two families, each one at distance zero.
    #[doc(hidden)]
    pub fn sum(&self, product: f64, rbf: f64, laplace_l1: f64) -> f64 {
        1.0 + self.linear * (product / self.input_scales.len() as f64) + self.curved(rbf, laplace_l1)
    }

    /// The part of κ that is neither bias nor links.
    fn curved(&self, rbf: f64, laplace_l1: f64) -> f64 {
        self.rbf.variance * rbf + self.laplace_l1.variance * laplace_l1
    }

    /// A column of products x·x′ becomes one of κ, and the two distances the values of their families.
    fn column(&self, products: &mut [f64], square: &mut [f64], absolute: &mut [f64]) {
        self.rbf.decay(square);
        self.laplace_l1.decay(absolute);
        let unit = self.linear / self.input_scales.len() as f64;
        pairs::weighted_sum(products, square, absolute, [unit, self.rbf.variance, self.laplace_l1.variance]);
    }

    /// Products of row `at` of `new` with the rows of `x` from `first` on become κ.
    fn complete(&self, (x, first): (&Mat<f64>, usize), (new, at): (MatRef<'_, f64>, usize), products: &mut [f64]) {
        let (mut square, mut absolute) = (vec![0.0; products.len()], vec![0.0; products.len()]);
        pairs::distances_to((x, first), (new, at), Distance::Square, &vec![1.0; x.ncols()], &mut square);
        pairs::distances_to((x, first), (new, at), Distance::Absolute, &self.input_scales, &mut absolute);
        self.column(products, &mut square, &mut absolute);
    }

    /// Prior correlation of the function at two points at this distance along one standardised input, constant and
    /// straight lines excluded: one at distance zero.
    #[doc(hidden)]
    pub fn along(&self, input: usize, distance: f64) -> f64 {
        let rbf = (-self.rbf.bandwidth * distance * distance).exp();
        let laplace_l1 = (-self.laplace_l1.bandwidth * self.input_scales[input] * distance).exp();
        let total = self.curved(1.0, 1.0);
        if total > 0.0 { self.curved(rbf, laplace_l1) / total } else { 0.0 }
    }

    /// The distance along one standardised input at which [`along`](Kernel::along) is 1/e; infinite if it never is.
    pub(crate) fn length(&self, input: usize) -> f64 {
        let forgotten = |ln: f64| self.along(input, ln.exp()) <= (-1.0f64).exp();
        let (mut near, mut far) = (-700.0, 700.0);
        if !forgotten(far) {
            return f64::INFINITY;
        }
        // Halved sixty times: to rounding.
        for _ in 0..60 {
            let middle = 0.5 * (near + far);
            if forgotten(middle) { far = middle } else { near = middle }
        }
        far.exp()
    }

    /// κ between all rows of `x`: lower triangle.
    #[doc(hidden)]
    pub fn gram(&self, x: &Mat<f64>, threads: Threads) -> Mat<f64> {
        let rows = x.nrows();
        let mut gram = Mat::zeros(rows, rows);
        outer(gram.as_mut(), Accumulate::Replace, x.as_ref(), threads);
        map_lower([&mut gram], cell(2 * x.ncols()), threads, |j, [column]| {
            self.complete((x, j), (x.as_ref(), j), column)
        });
        gram
    }

    /// κ from the rows of `x` to those of `new`: N×N′.
    #[doc(hidden)]
    pub fn cross(&self, x: &Mat<f64>, new: MatRef<'_, f64>, threads: Threads) -> Mat<f64> {
        let mut out = multiply(x.as_ref(), new.transpose(), threads);
        pairs::each_column(&mut out, x.ncols(), threads, |j, column| self.complete((x, 0), (new, j), column));
        out
    }

    /// κ of each row of `new` with itself.
    #[doc(hidden)]
    pub fn diagonal(&self, new: MatRef<'_, f64>) -> Vec<f64> {
        let square = |i: usize| (0..new.ncols()).map(|d| new[(i, d)].powi(2)).sum::<f64>();
        (0..new.nrows()).map(|i| self.sum(square(i), 1.0, 1.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn example(inputs: usize) -> Kernel {
        Kernel {
            linear: 0.4,
            rbf: Family { variance: 0.3, bandwidth: 0.2 },
            laplace_l1: Family { variance: 0.6, bandwidth: 0.3 },
            input_scales: (0..inputs).map(|d| 0.4 + 0.5 * d as f64).collect(),
        }
    }

    #[test]
    fn the_kernel_is_its_formula() {
        let x = Mat::from_fn(9, 3, |i, d| ((i * 5 + d * 3) as f64 * 0.8).sin());
        let kernel = example(3);
        let (gram, cross) = (kernel.gram(&x, Threads::ONE), kernel.cross(&x, x.as_ref(), Threads::ONE));
        let diagonal = kernel.diagonal(x.as_ref());
        for j in 0..9 {
            for i in 0..9 {
                let delta = |d: usize| x[(i, d)] - x[(j, d)];
                let sum = |f: &dyn Fn(usize) -> f64| (0..3).map(f).sum::<f64>();
                let r = &kernel.input_scales;
                let expected = 1.0
                    + 0.4 * sum(&|d| x[(i, d)] * x[(j, d)]) / 3.0
                    + 0.3 * (-0.2 * sum(&|d| delta(d).powi(2))).exp()
                    + 0.6 * (-0.3 * sum(&|d| r[d] * delta(d).abs())).exp();
                assert!((cross[(i, j)] - expected).abs() < 1e-14);
                if i >= j {
                    assert!((gram[(i, j)] - expected).abs() < 1e-14);
                }
            }
            assert!((diagonal[j] - gram[(j, j)]).abs() < 1e-14);
        }
    }

    #[test]
    fn a_length_is_where_the_kernel_has_fallen_to_one_over_e() {
        let none = Family { variance: 0.0, bandwidth: 1.0 };
        let only = |rbf, laplace_l1| Kernel { linear: 0.0, rbf, laplace_l1, input_scales: vec![0.5, 0.0] };
        let some = Family { variance: 2.0, bandwidth: 0.3 };
        assert!((only(some, none).length(0) - (1.0f64 / 0.3).sqrt()).abs() < 1e-12);
        assert!((only(none, some).length(0) - 1.0 / (0.3 * 0.5)).abs() < 1e-12);
        assert_eq!(only(none, some).length(1), f64::INFINITY);
        let (kernel, input) = (example(3), 1);
        assert!((kernel.along(input, kernel.length(input)) - (-1.0f64).exp()).abs() < 1e-12);
        assert_eq!(kernel.along(input, 0.0), 1.0);
    }

    /// The spectra of `fourier` draw cosines whose mean product is the family's kernel.
    #[test]
    fn each_family_is_the_limit_of_its_cosines() {
        use crate::fourier::{Basis, Directions, Offsets, Recipe, Scales, Spectrum};
        use rand::SeedableRng;
        let x = Mat::from_fn(6, 2, |i, d| ((i * 5 + d * 3) as f64 * 0.8).sin());
        let input_scales = vec![0.5, 1.5];
        let alone = |pick: &dyn Fn(&mut Kernel) -> &mut Family| {
            let none = Family { variance: 0.0, bandwidth: 1.0 };
            let mut kernel = Kernel { linear: 0.0, rbf: none, laplace_l1: none, input_scales: input_scales.clone() };
            *pick(&mut kernel) = Family { variance: 1.0, bandwidth: 0.9 };
            kernel.gram(&x, Threads::ONE)
        };
        // √(2γr) of a basis multiplies differences: 0.9 Δ² is γ = 0.9; 0.9 r |Δ| follows from it.
        let cases: [(Spectrum, Mat<f64>, f64, Vec<f64>); 2] = [
            (Spectrum::Rbf, alone(&|k| &mut k.rbf), 0.9, vec![1.0, 1.0]),
            (Spectrum::LaplaceL1, alone(&|k| &mut k.laplace_l1), 0.405, input_scales.iter().map(|r| r * r).collect()),
        ];
        for (spectrum, gram, bandwidth, input_scales) in cases {
            let recipe = Recipe {
                spectrum,
                offsets: Offsets::Paired,
                directions: Directions::Independent,
                count: 200_000,
                links: false,
            };
            let basis = Basis::draw(&recipe, 2, &mut rand_chacha::ChaCha8Rng::seed_from_u64(3));
            let features = basis.scaled(&Scales { bandwidth, input_scales }).features(x.as_ref());
            let drawn = multiply(features.as_ref(), features.as_ref().transpose(), Threads::ONE);
            for j in 0..6 {
                for i in j..6 {
                    // The kernel has the bias, the cosines have not.
                    assert!((drawn[(i, j)] + 1.0 - gram[(i, j)]).abs() < 0.012, "{spectrum:?}");
                }
            }
        }
    }
}
