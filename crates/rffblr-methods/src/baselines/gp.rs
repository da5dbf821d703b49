//! A Gaussian process with one kernel for all tasks, its parameters by evidence: the reference for uncertainty.
//!
//! On standardised inputs and targets, K = f exp(−γ‖x − x'‖²) + l xᵀx'/D + 1 + σ² diag(1/weight). The evidence of all
//! tasks, L = −½[C ln|K| + tr(YᵀK⁻¹Y) + NC ln 2π], is climbed in (ln γ, ln f, ln l, ln σ²) by L-BFGS from two bandwidths;
//! ∂L/∂θ = ½ Σ (VVᵀ − C K⁻¹) ∘ ∂K/∂θ with V = K⁻¹Y. Cost N³ an evaluation.

use super::scales::Scales;
use super::stored::{restored, stored};
use super::{require_few, require_observed};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::method::{Forecast, Method, Predictor};
use crate::select::Plan;
use rffblr::data::Dataset;
use rffblr::internals::{Accumulate, Cholesky, Tolerance, climb, dot, multiply, outer};
use rffblr::kernel::{Family, Kernel};
use rffblr::linalg::{Mat, MatRef, Threads};
use rffblr::{Error, Result};
use std::f64::consts::TAU;
use std::ops::ControlFlow;

/// Gaussian process with a shared RBF and linear kernel.
#[derive(Clone, Copy, Debug)]
pub struct GaussianProcess;

/// Logarithms of the parameters stay in this range: wide for standardised data, narrow enough to stay factorisable.
const RANGE: (f64, f64) = (-16.0, 8.0);
/// Steps of a climb, and the gain below which another is not worth its factorisation: in nats, or a share of the evidence.
const STEPS: usize = 60;
const TOLERANCE: Tolerance = Tolerance { gain: 1e-5, of_value: 1e-5, of_climb: 0.0 };
/// More rows than this would take minutes an evaluation.
const MOST_ROWS: usize = 5000;

struct Training {
    inputs: Mat<f64>,
    /// XXᵀ and squared distances.
    products: Mat<f64>,
    distances: Mat<f64>,
    targets: Mat<f64>,
    inverse_weights: Vec<f64>,
    threads: Threads,
}

/// What is known at some parameters.
struct Solved {
    /// exp(−γ‖x − x'‖²) between training rows: lower triangle.
    rbf: Mat<f64>,
    /// Of K.
    factor: Cholesky,
    /// K⁻¹Y.
    coefficients: Mat<f64>,
}

#[derive(Serialize, Deserialize)]
struct Fitted {
    scales: Scales,
    #[serde(with = "super::stored::matrix")]
    inputs: Mat<f64>,
    kernel: Kernel,
    noise: f64,
    #[serde(with = "super::stored::cholesky")]
    factor: Cholesky,
    /// K⁻¹Y.
    #[serde(with = "super::stored::matrix")]
    coefficients: Mat<f64>,
}

/// Kernel and noise from ln γ, ln f, ln l, ln σ².
fn unpack(at: &[f64], inputs: usize) -> (Kernel, f64) {
    let none = Family { variance: 0.0, bandwidth: 1.0 };
    let rbf = Family { variance: at[1].exp(), bandwidth: at[0].exp() };
    (Kernel { linear: at[2].exp(), rbf, laplace_l1: none, input_scales: vec![1.0; inputs] }, at[3].exp())
}

impl Method for GaussianProcess {
    fn name(&self) -> &'static str {
        "gp"
    }

    fn describe(&self) -> &'static str {
        "Gaussian process, RBF plus linear kernel shared by all targets, parameters by evidence"
    }

    fn fit(&self, data: &Dataset, _plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        require_observed(self.name(), data)?;
        require_few(self.name(), data, MOST_ROWS)?;
        // A row of weight zero has no information, and one over zero is not a variance.
        let rows: Vec<usize> = (0..data.rows()).filter(|&n| data.weights().is_none_or(|w| w[n] > 0.0)).collect();
        let data = &data.select(&rows)?;
        let (scales, inputs, targets) = Scales::learn(data)?;
        let training = Training::new(inputs, targets, data.weights());
        let (kernel, noise) = unpack(&training.best(), training.inputs.ncols());
        let Some(Solved { factor, coefficients, .. }) = training.solve(&kernel, noise) else {
            return Err(Error::Singular { size: data.rows(), noise: 1.0 / noise });
        };
        let inputs = training.inputs;
        Ok(Box::new(Fitted { scales, inputs, kernel, noise, factor, coefficients }))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        restored::<Fitted>(state)
    }
}

impl Training {
    fn new(inputs: Mat<f64>, targets: Mat<f64>, weights: Option<&[f64]>) -> Self {
        let threads = Threads::current();
        let products = multiply(inputs.as_ref(), inputs.as_ref().transpose(), threads);
        let distances = unpack(&[0.0; 4], inputs.ncols()).0.distances(&inputs, inputs.as_ref(), threads);
        let inverse_weights = weights.map_or(vec![1.0; inputs.nrows()], |w| w.iter().map(|w| 1.0 / w).collect());
        Training { inputs, products, distances: distances.square, targets, inverse_weights, threads }
    }

    /// `None` where K is not positive definite to rounding.
    fn solve(&self, kernel: &Kernel, noise: f64) -> Option<Solved> {
        let (mut k, mut rbf) = (self.products.clone(), self.distances.clone());
        for j in 0..k.ncols() {
            let (column, rbf) = (&mut k.col_as_slice_mut(j)[j..], &mut rbf.col_as_slice_mut(j)[j..]);
            kernel.rbf.decay(rbf);
            column.iter_mut().zip(&*rbf).for_each(|(v, rbf)| *v = kernel.sum(*v, *rbf, 0.0));
            column[0] += noise * self.inverse_weights[j];
        }
        let factor = Cholesky::new(k, self.threads)?;
        let mut coefficients = self.targets.clone();
        factor.half_solve(coefficients.as_mut());
        factor.half_solve_transposed(coefficients.as_mut());
        Some(Solved { rbf, factor, coefficients })
    }

    /// L and its gradient.
    fn evidence(&self, at: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (kernel, noise) = unpack(at, self.inputs.ncols());
        let Solved { rbf, factor, coefficients: v } = self.solve(&kernel, noise)?;
        let (rows, tasks) = (self.targets.nrows(), self.targets.ncols() as f64);
        let square: f64 = (0..self.targets.ncols()).map(|c| dot(v.col_as_slice(c), self.targets.col_as_slice(c))).sum();
        let value = -0.5 * (tasks * factor.ln_det() + square + rows as f64 * tasks * TAU.ln());
        let inverse = factor.into_inverse(true).1?;
        let mut pull = Mat::zeros(rows, rows);
        outer(pull.as_mut(), Accumulate::Replace, v.as_ref(), self.threads);
        let mut gradient = vec![0.0; 4];
        for j in 0..rows {
            for i in j..rows {
                // Each pair below the diagonal stands for two entries, and ½ of two is one.
                let p = (pull[(i, j)] - tasks * inverse[(i, j)]) * if i == j { 0.5 } else { 1.0 };
                gradient[0] -= p * rbf[(i, j)] * self.distances[(i, j)];
                gradient[1] += p * rbf[(i, j)];
                gradient[2] += p * self.products[(i, j)];
            }
            gradient[3] += 0.5 * (pull[(j, j)] - tasks * inverse[(j, j)]) * self.inverse_weights[j];
        }
        let factors = [
            kernel.rbf.variance * kernel.rbf.bandwidth,
            kernel.rbf.variance,
            kernel.linear / self.inputs.ncols() as f64,
            noise,
        ];
        gradient.iter_mut().zip(factors).for_each(|(g, factor)| *g *= factor);
        Some((value, gradient))
    }

    /// The better of two climbs; where there is no evidence, the first start.
    fn best(&self) -> Vec<f64> {
        let flat = 1.0 / self.inputs.ncols() as f64;
        let starts = [flat, 0.1 * flat].map(|gamma| [gamma, 0.5, 0.5, 0.1].map(f64::ln).to_vec());
        let go_on = |_: &[f64], _: f64| ControlFlow::Continue(());
        let ends = starts.iter().filter_map(|start| {
            climb(start.clone(), RANGE, STEPS, TOLERANCE, |at| self.evidence(at), go_on).map(|top| (top.at, top.value))
        });
        ends.reduce(|a, b| if b.1 > a.1 { b } else { a }).map_or_else(|| starts[0].clone(), |(at, _)| at)
    }
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let threads = Threads::current();
        let x = self.scales.question(inputs)?;
        let mut k = self.kernel.cross(&self.inputs, x.as_ref(), threads);
        let mean = multiply(k.as_ref().transpose(), self.coefficients.as_ref(), threads);
        self.factor.half_solve(k.as_mut());
        let prior = self.kernel.diagonal(x.as_ref());
        let deviation = |j: usize| {
            let latent = (prior[j] - dot(k.col_as_slice(j), k.col_as_slice(j))).max(0.0);
            (latent + self.noise).sqrt()
        };
        let std = Mat::from_fn(mean.nrows(), mean.ncols(), |j, _| deviation(j));
        Ok(Forecast { mean: self.scales.restore(mean)?, std: Some(self.scales.restore_deviations(std)?), laws: None })
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training() -> (Mat<f64>, Training) {
        let x = Mat::from_fn(14, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
        let y = Mat::from_fn(14, 2, |n, c| (2.0 * x[(n, c)]).sin() + 0.1 * ((n * 7 + c) as f64).cos());
        let weights: Vec<f64> = (0..14).map(|n| 1.0 + (n % 2) as f64).collect();
        (x.clone(), Training::new(x, y, Some(&weights)))
    }

    #[test]
    fn the_gradient_of_the_evidence_equals_central_differences() {
        let (_, training) = training();
        let at = [-0.3, -0.5, -1.0, -2.0];
        let (_, gradient) = training.evidence(&at).unwrap();
        for i in 0..4 {
            let shifted = |by: f64| {
                let mut moved = at;
                moved[i] += by;
                training.evidence(&moved).unwrap().0
            };
            let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!((slope - gradient[i]).abs() < 1e-6 * slope.abs().max(1.0), "{i}: {slope} {}", gradient[i]);
        }
    }

    /// ln N(y | 0, K) for each task by elimination, nothing shared with the code above.
    #[test]
    fn the_evidence_is_the_gaussian_log_density() {
        let (x, training) = training();
        let at: [f64; 4] = [-0.3, -0.5, -1.0, -2.0];
        let [gamma, rbf, linear, noise] = at.map(f64::exp);
        let mut k = Mat::from_fn(14, 14, |i, j| {
            let (mut square, mut product) = (0.0, 0.0);
            for d in 0..2 {
                square += (x[(i, d)] - x[(j, d)]).powi(2);
                product += x[(i, d)] * x[(j, d)];
            }
            let own = if i == j { noise / (1.0 + (i % 2) as f64) } else { 0.0 };
            rbf * (-gamma * square).exp() + linear * product / 2.0 + 1.0 + own
        });
        let mut y = training.targets.clone();
        let (mut ln_det, mut square) = (0.0, 0.0);
        for p in 0..14 {
            ln_det += k[(p, p)].ln();
            for c in 0..2 {
                square += y[(p, c)].powi(2) / k[(p, p)];
            }
            for i in p + 1..14 {
                let f = k[(i, p)] / k[(p, p)];
                for j in p..14 {
                    let v = k[(p, j)];
                    k[(i, j)] -= f * v;
                }
                for c in 0..2 {
                    let v = y[(p, c)];
                    y[(i, c)] -= f * v;
                }
            }
        }
        let expected = -0.5 * (2.0 * ln_det + square + 28.0 * TAU.ln());
        assert!((training.evidence(&at).unwrap().0 - expected).abs() < 1e-9);
    }

    /// No step of a tenth of a logarithm gains more than the climb may leave.
    #[test]
    fn the_climb_ends_at_the_top() {
        let (_, training) = training();
        let best = training.best();
        let top = training.evidence(&best).unwrap().0;
        for i in 0..4 {
            for step in [-0.1, 0.1] {
                let mut moved = best.clone();
                moved[i] += step;
                assert!(training.evidence(&moved).unwrap().0 < top + 1e-3, "parameter {i} by {step}");
            }
        }
    }
}
