//! A Gaussian process with one kernel for all tasks, its parameters by evidence: the reference for uncertainty.
//!
//! On standardised inputs and targets, K = f exp(−γ‖x − x'‖²) + l xᵀx'/D + 1 + σ² diag(1/weight). The evidence of all
//! tasks, L = −½[C ln|K| + tr(YᵀK⁻¹Y) + NC ln 2π], is climbed in (ln γ, ln f, ln l, ln σ²) by BFGS from two bandwidths;
//! ∂L/∂θ = ½ Σ (VVᵀ − C K⁻¹) ∘ ∂K/∂θ with V = K⁻¹Y. Cost N³ an evaluation.

use super::scales::Scales;
use super::{require_few, require_observed};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::linalg::{Accumulate, Cholesky, Mat, MatRef, Threads, dot, multiply, outer};
use crate::method::{Forecast, Method, Predictor};
use crate::select::Plan;
use std::f64::consts::TAU;

/// Gaussian process with a shared RBF and linear kernel.
#[derive(Clone, Copy, Debug)]
pub struct GaussianProcess;

/// ln γ, ln f, ln l, ln σ².
type Parameters = [f64; 4];

/// Logarithms of the parameters stay in this range: wide for standardised data, narrow enough to stay factorisable.
const RANGE: (f64, f64) = (-16.0, 8.0);
/// More rows than this would take minutes an evaluation.
const MOST_ROWS: usize = 5000;

struct Training {
    /// Squared distances and inner products over D; lower triangles.
    distances: Mat<f64>,
    linear: Mat<f64>,
    targets: Mat<f64>,
    inverse_weights: Vec<f64>,
    threads: Threads,
}

struct Fitted {
    scales: Scales,
    inputs: Mat<f64>,
    parameters: Parameters,
    factor: Cholesky,
    /// K⁻¹Y.
    coefficients: Mat<f64>,
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
        // A row of weight zero says nothing, and one over zero is no variance.
        let rows: Vec<usize> = (0..data.rows()).filter(|&n| data.weights().is_none_or(|w| w[n] > 0.0)).collect();
        let data = &data.select(&rows)?;
        let (scales, inputs, targets) = Scales::learn(data)?;
        let training = Training::new(&inputs, targets, data.weights());
        let flat = 1.0 / inputs.ncols() as f64;
        let starts = [flat, 0.1 * flat].map(|gamma| [gamma.ln(), 0.5f64.ln(), 0.5f64.ln(), 0.1f64.ln()]);
        let best = starts.map(|start| training.climb(start)).into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
        let parameters = best.map_or(starts[0], |(parameters, _)| parameters);
        let Some((factor, coefficients)) = training.solve(&parameters) else {
            return Err(Error::Singular { size: data.rows(), noise: (-parameters[3]).exp() });
        };
        Ok(Box::new(Fitted { scales, inputs, parameters, factor, coefficients }))
    }
}

impl Training {
    fn new(inputs: &Mat<f64>, targets: Mat<f64>, weights: Option<&[f64]>) -> Self {
        let threads = Threads::current();
        let (rows, columns) = (inputs.nrows(), inputs.ncols() as f64);
        let mut linear = Mat::zeros(rows, rows);
        outer(linear.as_mut(), Accumulate::Replace, inputs.as_ref(), threads);
        let norms: Vec<f64> = (0..rows).map(|n| linear[(n, n)]).collect();
        let distances =
            Mat::from_fn(
                rows,
                rows,
                |i, j| {
                    if i >= j { (norms[i] + norms[j] - 2.0 * linear[(i, j)]).max(0.0) } else { 0.0 }
                },
            );
        for j in 0..rows {
            linear.col_as_slice_mut(j).iter_mut().for_each(|v| *v /= columns);
        }
        let inverse_weights = weights.map_or(vec![1.0; rows], |w| w.iter().map(|w| 1.0 / w).collect());
        Training { distances, linear, targets, inverse_weights, threads }
    }

    /// Cholesky factor of K and K⁻¹Y; `None` where K is not positive definite to rounding.
    fn solve(&self, parameters: &Parameters) -> Option<(Cholesky, Mat<f64>)> {
        let [gamma, rbf, linear, noise] = parameters.map(f64::exp);
        let mut k = self.distances.clone();
        for j in 0..k.ncols() {
            let column = k.col_as_slice_mut(j)[j..].iter_mut();
            column
                .zip(&self.linear.col_as_slice(j)[j..])
                .for_each(|(v, l)| *v = rbf * (-gamma * *v).exp() + linear * l + 1.0);
            k[(j, j)] += noise * self.inverse_weights[j];
        }
        let factor = Cholesky::new(k, self.threads)?;
        let mut coefficients = self.targets.clone();
        factor.half_solve(coefficients.as_mut());
        factor.half_solve_transposed(coefficients.as_mut());
        Some((factor, coefficients))
    }

    /// L and its gradient.
    fn evidence(&self, parameters: &Parameters) -> Option<(f64, Parameters)> {
        let (factor, v) = self.solve(parameters)?;
        let (rows, tasks) = (self.targets.nrows(), self.targets.ncols() as f64);
        let square: f64 = (0..self.targets.ncols()).map(|c| dot(v.col_as_slice(c), self.targets.col_as_slice(c))).sum();
        let value = -0.5 * (tasks * factor.ln_det() + square + rows as f64 * tasks * TAU.ln());
        let inverse = factor.into_inverse(true).1?;
        let mut pull = Mat::zeros(rows, rows);
        outer(pull.as_mut(), Accumulate::Replace, v.as_ref(), self.threads);
        let [gamma, rbf, linear, noise] = parameters.map(f64::exp);
        let mut gradient = [0.0; 4];
        for j in 0..rows {
            for i in j..rows {
                // Each pair below the diagonal stands for two entries, and ½ of two is one.
                let p = (pull[(i, j)] - tasks * inverse[(i, j)]) * if i == j { 0.5 } else { 1.0 };
                let smooth = rbf * (-gamma * self.distances[(i, j)]).exp();
                gradient[0] -= p * gamma * self.distances[(i, j)] * smooth;
                gradient[1] += p * smooth;
                gradient[2] += p * linear * self.linear[(i, j)];
            }
            gradient[3] += 0.5 * (pull[(j, j)] - tasks * inverse[(j, j)]) * noise * self.inverse_weights[j];
        }
        Some((value, gradient))
    }

    /// BFGS with backtracking; returns the best parameters and their evidence.
    fn climb(&self, start: Parameters) -> (Parameters, f64) {
        let Some((mut value, mut gradient)) = self.evidence(&start) else {
            return (start, f64::NEG_INFINITY);
        };
        let mut at = start;
        let mut curvature = identity();
        for _ in 0..60 {
            let direction = times(&curvature, &gradient);
            let slope: f64 = inner(&direction, &gradient);
            let (direction, slope) =
                if slope > 0.0 { (direction, slope) } else { (gradient, inner(&gradient, &gradient)) };
            let longest = direction.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            let mut step = (2.0 / longest.max(1e-300)).min(1.0);
            let mut next = None;
            for _ in 0..20 {
                let mut trial = at;
                for (t, d) in trial.iter_mut().zip(&direction) {
                    *t = (*t + step * d).clamp(RANGE.0, RANGE.1);
                }
                match self.evidence(&trial) {
                    Some((v, g)) if v.is_finite() && v >= value + 1e-6 * step * slope => {
                        next = Some((trial, v, g));
                        break;
                    }
                    _ => step *= 0.4,
                }
            }
            let Some((trial, v, g)) = next else { break };
            let s: Parameters = std::array::from_fn(|i| trial[i] - at[i]);
            // Of −L, which has positive curvature at its minimum.
            let y: Parameters = std::array::from_fn(|i| gradient[i] - g[i]);
            update(&mut curvature, &s, &y);
            let gain = v - value;
            (at, value, gradient) = (trial, v, g);
            if gain < 1e-5 * value.abs().max(1.0) {
                break;
            }
        }
        (at, value)
    }
}

type Square = [[f64; 4]; 4];

fn identity() -> Square {
    std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))))
}

fn inner(a: &Parameters, b: &Parameters) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(m: &Square, v: &Parameters) -> Parameters {
    std::array::from_fn(|i| inner(&m[i], v))
}

/// The BFGS update of the inverse curvature: H ← (I − ρsyᵀ) H (I − ρysᵀ) + ρssᵀ, skipped without positive curvature.
fn update(h: &mut Square, s: &Parameters, y: &Parameters) {
    let sy = inner(s, y);
    if sy <= 1e-12 {
        return;
    }
    let hy = times(h, y);
    let yhy = inner(y, &hy);
    for i in 0..4 {
        for j in 0..4 {
            h[i][j] += (1.0 + yhy / sy) * s[i] * s[j] / sy - (hy[i] * s[j] + s[i] * hy[j]) / sy;
        }
    }
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let threads = Threads::current();
        let x = self.scales.question(inputs)?;
        let [gamma, rbf, linear, noise] = self.parameters.map(f64::exp);
        let columns = x.ncols() as f64;
        let norm = |table: &Mat<f64>, n: usize| (0..table.ncols()).map(|d| table[(n, d)].powi(2)).sum::<f64>();
        let train: Vec<f64> = (0..self.inputs.nrows()).map(|n| norm(&self.inputs, n)).collect();
        let new: Vec<f64> = (0..x.nrows()).map(|n| norm(&x, n)).collect();
        let mut k = multiply(self.inputs.as_ref(), x.as_ref().transpose(), threads);
        for (j, new) in new.iter().enumerate() {
            for (k, train) in k.col_as_slice_mut(j).iter_mut().zip(&train) {
                let distance = (train + new - 2.0 * *k).max(0.0);
                *k = rbf * (-gamma * distance).exp() + linear * *k / columns + 1.0;
            }
        }
        let mean = multiply(k.as_ref().transpose(), self.coefficients.as_ref(), threads);
        self.factor.half_solve(k.as_mut());
        let deviation = |(j, new): (usize, &f64)| {
            let explained = dot(k.col_as_slice(j), k.col_as_slice(j));
            let latent = (rbf + linear * new / columns + 1.0 - explained).max(0.0);
            (latent + noise).sqrt()
        };
        let deviations: Vec<f64> = new.iter().enumerate().map(deviation).collect();
        let std = Mat::from_fn(mean.nrows(), mean.ncols(), |j, _| deviations[j]);
        Ok(Forecast { mean: self.scales.restore(mean)?, std: Some(self.scales.restore_deviations(std)?) })
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
        (x.clone(), Training::new(&x, y, Some(&weights)))
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
        let at: Parameters = [-0.3, -0.5, -1.0, -2.0];
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
}
