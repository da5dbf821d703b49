//! The kernel view taken at its word: the model with infinitely many cosines, whose dot product IS the kernel.
//!
//! κ(x, x′) = 1 + v₀ x·x′/D + v₁ exp(−γ₁ Σ Δ_d²) + v₂ exp(−γ₂ √(Σ r_d Δ_d²)) + v₃ exp(−γ₃ Σ r_d |Δ_d|), Δ = x − x′:
//! bias and direct links, the paper's RBF cosines, and the cosines of two rough spectra that know how much each input
//! matters. One precision 1/v for all cosines of a family ties them; v, γ, r and the noise are learned from the bound,
//! which is exact here (equations 24 to 27).

mod ascent;
mod departures;
mod learn;
mod machine;
mod machines;
mod pairs;

pub(crate) use ascent::climb;
pub(crate) use departures::groups;
pub(crate) use learn::{Learned, Prior, learn};
pub(crate) use machine::{KernelMachine, LeftOut, Scaled, left_open};
pub(crate) use machines::{Machines, Member, Shared};
pub(crate) use pairs::exponentials;
#[cfg(target_arch = "x86_64")]
pub(crate) use pairs::{Level, level};

use crate::linalg::{Accumulate, Mat, MatRef, Threads, multiply, outer};
use serde::{Deserialize, Serialize};

/// One family of cosines: the variance v of its share of the function and the scale γ of its spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Variance v of this family's share of a standardised target, before the data are seen.
    pub variance: f64,
    /// γ: the larger, the faster the cosines.
    pub scale: f64,
}

/// The kernel, for standardised inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// v₀: variance of the direct links.
    pub linear: f64,
    /// exp(−γ‖Δ‖²): smooth, all inputs alike.
    pub rbf: Family,
    /// exp(−γ √(Σ r_d Δ_d²)): rough, in any direction.
    pub laplace: Family,
    /// exp(−γ Σ r_d |Δ_d|): rough along the axes, as trees are.
    pub laplace_l1: Family,
    /// r_d: how much input d counts in the two rough families; one is typical.
    pub relevance: Vec<f64>,
}

/// What the kernel between training rows is made of: each exp(…) alone and the distances inside, lower triangles.
struct Parts {
    rbf: Mat<f64>,
    laplace: Mat<f64>,
    laplace_l1: Mat<f64>,
    /// √(Σ r_d Δ_d²).
    root: Mat<f64>,
    /// Σ r_d |Δ_d|.
    absolute: Mat<f64>,
}

impl Parts {
    fn new(rows: usize) -> Parts {
        let empty = || Mat::zeros(rows, rows);
        Parts { rbf: empty(), laplace: empty(), laplace_l1: empty(), root: empty(), absolute: empty() }
    }
}

/// What does not change while the kernel is learned, lower triangles.
struct Fixed {
    /// XXᵀ/D.
    linear: Mat<f64>,
    /// Σ Δ_d².
    square: Mat<f64>,
}

impl Fixed {
    fn new(x: &Mat<f64>, threads: Threads) -> Fixed {
        let mut linear = Mat::zeros(x.nrows(), x.nrows());
        outer(linear.as_mut(), Accumulate::Replace, x.as_ref(), threads);
        for j in 0..linear.ncols() {
            linear.col_as_slice_mut(j).iter_mut().for_each(|v| *v /= x.ncols() as f64);
        }
        let (mut absolute, mut square) = (Mat::zeros(x.nrows(), x.nrows()), Mat::zeros(x.nrows(), x.nrows()));
        pairs::within(x, &vec![1.0; x.ncols()], &mut absolute, &mut square, threads);
        Fixed { linear, square }
    }
}

/// `out[i] ← exp(−scale · distance[i])`.
fn decay(out: &mut [f64], scale: f64, distance: &[f64]) {
    out.iter_mut().zip(distance).for_each(|(out, d)| *out = -scale * d);
    exponentials(out);
}

/// Distances between rows: N×N′ each.
pub(crate) struct Distances {
    /// Σ Δ_d².
    pub(crate) square: Mat<f64>,
    /// Σ r_d Δ_d².
    pub(crate) weighted: Mat<f64>,
    /// Σ r_d |Δ_d|.
    pub(crate) absolute: Mat<f64>,
}

impl Family {
    /// `out[i] ← exp(−γ (distance[i] + more))`.
    pub(crate) fn decay(&self, out: &mut [f64], distance: &[f64], more: f64) {
        out.iter_mut().zip(distance).for_each(|(out, d)| *out = -self.scale * (d + more));
        exponentials(out);
    }

    /// `out[i] ← exp(−γ √(square[i] + more))`.
    pub(crate) fn decay_root(&self, out: &mut [f64], square: &[f64], more: f64) {
        out.iter_mut().zip(square).for_each(|(out, d)| *out = -self.scale * (d + more).sqrt());
        exponentials(out);
    }
}

/// A kernel that some inputs do not enter.
pub(crate) struct Without<'a> {
    kernel: &'a Kernel,
    columns: &'a [usize],
}

impl Without<'_> {
    /// Distances from the rows of `x` to those of `new` along the other inputs.
    pub(crate) fn distances(&self, x: &Mat<f64>, new: MatRef<'_, f64>, threads: Threads) -> Distances {
        let (mut ones, mut relevance) = (vec![1.0; x.ncols()], self.kernel.relevance.clone());
        for &column in self.columns {
            (ones[column], relevance[column]) = (0.0, 0.0);
        }
        let (_, square) = pairs::between(x, new, &ones, threads);
        let (absolute, weighted) = pairs::between(x, new, &relevance, threads);
        Distances { square, weighted, absolute }
    }
}

impl Kernel {
    /// The kernel without some inputs.
    pub(crate) fn without<'a>(&'a self, columns: &'a [usize]) -> Without<'a> {
        Without { kernel: self, columns }
    }

    fn parts(&self, x: &Mat<f64>, fixed: &Fixed, parts: &mut Parts, threads: Threads) {
        let Parts { rbf, laplace, laplace_l1, root, absolute } = parts;
        pairs::within(x, &self.relevance, absolute, root, threads);
        for j in 0..x.nrows() {
            root.col_as_slice_mut(j)[j..].iter_mut().for_each(|d| *d = d.sqrt());
            decay(&mut rbf.col_as_slice_mut(j)[j..], self.rbf.scale, &fixed.square.col_as_slice(j)[j..]);
            decay(&mut laplace.col_as_slice_mut(j)[j..], self.laplace.scale, &root.col_as_slice(j)[j..]);
            decay(&mut laplace_l1.col_as_slice_mut(j)[j..], self.laplace_l1.scale, &absolute.col_as_slice(j)[j..]);
        }
    }

    /// κ between training rows, into a lower triangle.
    fn sum_of(&self, parts: &Parts, fixed: &Fixed, gram: &mut Mat<f64>) {
        for j in 0..gram.ncols() {
            let (a, b) = (&parts.rbf.col_as_slice(j)[j..], &parts.laplace.col_as_slice(j)[j..]);
            let (c, linear) = (&parts.laplace_l1.col_as_slice(j)[j..], &fixed.linear.col_as_slice(j)[j..]);
            let column = gram.col_as_slice_mut(j)[j..].iter_mut().zip(linear);
            for ((((v, linear), a), b), c) in column.zip(a).zip(b).zip(c) {
                *v = self.sum(*linear, *a, *b, *c);
            }
        }
    }

    pub(crate) fn sum(&self, linear: f64, rbf: f64, laplace: f64, laplace_l1: f64) -> f64 {
        1.0 + self.linear * linear
            + self.rbf.variance * rbf
            + self.laplace.variance * laplace
            + self.laplace_l1.variance * laplace_l1
    }

    /// How alike the function is at two points that differ by so much along one standardised input, without the constant
    /// and straight lines: one at distance zero.
    pub(crate) fn along(&self, input: usize, distance: f64) -> f64 {
        let Kernel { rbf, laplace, laplace_l1, relevance, .. } = self;
        let total = rbf.variance + laplace.variance + laplace_l1.variance;
        let r = relevance[input];
        let value = rbf.variance * (-rbf.scale * distance * distance).exp()
            + laplace.variance * (-laplace.scale * r.sqrt() * distance).exp()
            + laplace_l1.variance * (-laplace_l1.scale * r * distance).exp();
        if total > 0.0 { value / total } else { 0.0 }
    }

    /// The distance along one standardised input at which that has fallen to 1/e; infinite if it never does.
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
    pub(crate) fn gram(&self, x: &Mat<f64>, threads: Threads) -> Mat<f64> {
        let rows = x.nrows();
        let mut gram = Mat::zeros(rows, rows);
        outer(gram.as_mut(), Accumulate::Replace, x.as_ref(), threads);
        let (mut absolute, mut square) = (Mat::zeros(rows, rows), Mat::zeros(rows, rows));
        let add = |family: Family, distance: &mut [f64], column: &mut [f64]| {
            distance.iter_mut().for_each(|d| *d *= -family.scale);
            exponentials(distance);
            column.iter_mut().zip(&*distance).for_each(|(v, k)| *v += family.variance * k);
        };
        pairs::within(x, &vec![1.0; x.ncols()], &mut absolute, &mut square, threads);
        for j in 0..rows {
            let column = &mut gram.col_as_slice_mut(j)[j..];
            column.iter_mut().for_each(|v| *v = 1.0 + self.linear * (*v / x.ncols() as f64));
            add(self.rbf, &mut square.col_as_slice_mut(j)[j..], column);
        }
        pairs::within(x, &self.relevance, &mut absolute, &mut square, threads);
        for j in 0..rows {
            let column = &mut gram.col_as_slice_mut(j)[j..];
            let root = &mut square.col_as_slice_mut(j)[j..];
            root.iter_mut().for_each(|d| *d = d.sqrt());
            add(self.laplace, root, column);
            add(self.laplace_l1, &mut absolute.col_as_slice_mut(j)[j..], column);
        }
        gram
    }

    /// κ from the rows of `x` to those of `new`: N×N′.
    pub(crate) fn cross(&self, x: &Mat<f64>, new: MatRef<'_, f64>, threads: Threads) -> Mat<f64> {
        let mut out = multiply(x.as_ref(), new.transpose(), threads);
        let (_, square) = pairs::between(x, new, &vec![1.0; x.ncols()], threads);
        let (absolute, mut root) = pairs::between(x, new, &self.relevance, threads);
        let columns = x.ncols() as f64;
        let mut decayed = [vec![0.0; x.nrows()], vec![0.0; x.nrows()], vec![0.0; x.nrows()]];
        for j in 0..out.ncols() {
            root.col_as_slice_mut(j).iter_mut().for_each(|d| *d = d.sqrt());
            decay(&mut decayed[0], self.rbf.scale, square.col_as_slice(j));
            decay(&mut decayed[1], self.laplace.scale, root.col_as_slice(j));
            decay(&mut decayed[2], self.laplace_l1.scale, absolute.col_as_slice(j));
            for (i, v) in out.col_as_slice_mut(j).iter_mut().enumerate() {
                *v = self.sum(*v / columns, decayed[0][i], decayed[1][i], decayed[2][i]);
            }
        }
        out
    }

    /// κ of each row of `new` with itself.
    pub(crate) fn diagonal(&self, new: MatRef<'_, f64>) -> Vec<f64> {
        let columns = new.ncols() as f64;
        (0..new.nrows())
            .map(|i| self.sum((0..new.ncols()).map(|d| new[(i, d)].powi(2)).sum::<f64>() / columns, 1.0, 1.0, 1.0))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn example(inputs: usize) -> Kernel {
        Kernel {
            linear: 0.4,
            rbf: Family { variance: 0.3, scale: 0.2 },
            laplace: Family { variance: 0.5, scale: 0.7 },
            laplace_l1: Family { variance: 0.6, scale: 0.3 },
            relevance: (0..inputs).map(|d| 0.4 + 0.5 * d as f64).collect(),
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
                let r = &kernel.relevance;
                let expected = 1.0
                    + 0.4 * sum(&|d| x[(i, d)] * x[(j, d)]) / 3.0
                    + 0.3 * (-0.2 * sum(&|d| delta(d).powi(2))).exp()
                    + 0.5 * (-0.7 * sum(&|d| r[d] * delta(d).powi(2)).sqrt()).exp()
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
        let none = Family { variance: 0.0, scale: 1.0 };
        let only = |rbf, laplace_l1| Kernel { linear: 0.0, rbf, laplace: none, laplace_l1, relevance: vec![0.5, 0.0] };
        let some = Family { variance: 2.0, scale: 0.3 };
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
        let relevance = vec![0.5, 1.5];
        let alone = |pick: &dyn Fn(&mut Kernel) -> &mut Family| {
            let none = Family { variance: 0.0, scale: 1.0 };
            let mut kernel =
                Kernel { linear: 0.0, rbf: none, laplace: none, laplace_l1: none, relevance: relevance.clone() };
            *pick(&mut kernel) = Family { variance: 1.0, scale: 0.9 };
            kernel.gram(&x, Threads::ONE)
        };
        // √(2γr) of a basis multiplies differences: 0.9 Δ² is γ = 0.9; 0.9 √(r)|Δ| and 0.9 r |Δ| follow from it.
        let cases: [(Spectrum, Mat<f64>, f64, Vec<f64>); 3] = [
            (Spectrum::Rbf, alone(&|k| &mut k.rbf), 0.9, vec![1.0, 1.0]),
            (Spectrum::LaplaceL2, alone(&|k| &mut k.laplace), 0.405, relevance.clone()),
            (Spectrum::LaplaceL1, alone(&|k| &mut k.laplace_l1), 0.405, relevance.iter().map(|r| r * r).collect()),
        ];
        for (spectrum, gram, bandwidth, relevance) in cases {
            let recipe = Recipe {
                spectrum,
                offsets: Offsets::Paired,
                directions: Directions::Independent,
                count: 200_000,
                links: false,
            };
            let basis = Basis::draw(&recipe, 2, &mut rand_chacha::ChaCha8Rng::seed_from_u64(3));
            let features = basis.features(x.as_ref(), &Scales { bandwidth, relevance });
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
