//! The hyper-parameters of a kernel as one vector of logarithms, and their prior (equation 25).

use super::learn::Learned;
use super::{Family, Kernel};
use crate::problem::Problem;

/// Range of the logarithm of every hyper-parameter, for standardised data.
pub(crate) const RANGE: (f64, f64) = (-12.0, 8.0);
/// Prior standard deviation of ln v around ln ½: a factor of twenty either way is plausible.
const VARIANCE_WIDTH: f64 = 3.0;
/// Prior standard deviation of ln γ around scales at which the function varies over typical distances between rows: a
/// family of so short a length scale that no two rows are correlated would be noise.
const SCALE_WIDTH: f64 = 1.0;
/// Prior standard deviation of ln σ² around ln 0.3: few rows that happen to agree do not prove that there is no noise.
const NOISE_WIDTH: f64 = 0.7;
/// Prior standard deviation of ln r around 0: without evidence from the data all inputs have the same scale.
const INPUT_SCALES_WIDTH: f64 = 0.7;

/// Positions in the vector of logarithms: v₀ … v₂, γ₁ and γ₂, σ², then r of each input.
pub(crate) const VARIANCE: usize = 0;
pub(crate) const SCALE: usize = 3;
pub(crate) const NOISE: usize = 5;
pub(crate) const INPUT_SCALES: usize = 6;

/// Independent normal priors of the logarithms.
pub(crate) struct HyperPrior {
    pub(crate) mean: Vec<f64>,
    pub(crate) width: Vec<f64>,
}

impl HyperPrior {
    /// Values that are typical of standardised data.
    pub(crate) fn typical(problem: &Problem) -> HyperPrior {
        let x = &problem.inputs;
        // Distances grow with the inputs that vary; for two draws of N(0, 1), E Δ² = 2 and E|Δ| = 2/√π.
        let varies = |d: &usize| x.col_as_slice(*d).iter().any(|v| *v != 0.0);
        let mut varying: Vec<usize> = (0..x.ncols()).filter(varies).map(|d| problem.origin[d]).collect();
        varying.dedup();
        let count = (varying.len() as f64).max(1.0);
        let inputs = problem.input_count();
        let mut mean = vec![0.0; INPUT_SCALES + inputs];
        mean[VARIANCE..SCALE].fill(0.5f64.ln());
        // The links are divided by the number of columns, of which a text has many with variance one together.
        mean[VARIANCE] += (x.ncols() as f64 / inputs as f64).ln();
        mean[SCALE] = -(2.0 * count).ln();
        mean[SCALE + 1] = -(1.128 * count).ln();
        mean[NOISE] = 0.3f64.ln();
        let mut width = vec![INPUT_SCALES_WIDTH; mean.len()];
        width[VARIANCE..SCALE].fill(VARIANCE_WIDTH);
        width[SCALE..NOISE].fill(SCALE_WIDTH);
        width[NOISE] = NOISE_WIDTH;
        HyperPrior { mean, width }
    }

    /// Where a search starts.
    pub(crate) fn start(&self) -> Vec<f64> {
        let mut start = self.mean.clone();
        start[VARIANCE..SCALE].iter_mut().for_each(|v| *v += 0.35f64.ln());
        start[NOISE] = 0.3f64.ln();
        start
    }

    /// Log density without constants; its derivatives are added to the gradient.
    pub(crate) fn add_to(&self, at: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for (((g, at), mean), width) in gradient.iter_mut().zip(at).zip(&self.mean).zip(&self.width) {
            let z = (at - mean) / width;
            value -= 0.5 * z * z;
            *g -= z / width;
        }
        value
    }
}

/// `origin` says which input each column belongs to.
pub(crate) fn unpack(at: &[f64], origin: &[usize]) -> (Kernel, f64) {
    let family = |k: usize| Family { variance: at[VARIANCE + k].exp(), bandwidth: at[SCALE + k - 1].exp() };
    let kernel = Kernel {
        linear: at[VARIANCE].exp(),
        rbf: family(1),
        laplace_l1: family(2),
        input_scales: origin.iter().map(|input| at[INPUT_SCALES + input].exp()).collect(),
    };
    (kernel, at[NOISE].exp())
}

pub(crate) fn pack(learned: &Learned, origin: &[usize]) -> Vec<f64> {
    let Kernel { linear, rbf, laplace_l1, input_scales } = &learned.kernel;
    let variances = [*linear, rbf.variance, laplace_l1.variance];
    let scales = [rbf.bandwidth, laplace_l1.bandwidth, learned.noise];
    let first_of_each = input_scales.iter().enumerate().filter(|(d, _)| *d == 0 || origin[*d] != origin[d - 1]);
    variances.iter().chain(&scales).chain(first_of_each.map(|(_, r)| r)).map(|v| v.ln()).collect()
}
