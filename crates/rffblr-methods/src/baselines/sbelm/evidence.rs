//! The evidence of one task, climbed by MacKay's fixed point.
//!
//! With Σ = (βΦᵀΦ + A)⁻¹, A = diag(α), μ = βΣΦᵀt and g_m = 1 − α_m Σ_mm (how well feature m is determined),
//!
//! ```text
//! α_m ← g_m/μ_m²,    β ← (N − Σ_m g_m)/‖t − Φμ‖²
//! ```
//!
//! Let Ψ = ΦA^{−½}. With M ≤ N features the update uses K = I + βΨᵀΨ, so that A^½ΣA^½ = K⁻¹ and no eigenvalue is below
//! one. With more, C = I/β + ΨΨᵀ = LLᵀ and X = L⁻¹Ψ give g_m = ‖X_m‖², A^½μ = XᵀL⁻¹t and, without cancellation,
//! N − Σg = tr(C⁻¹)/β and t − Φμ = C⁻¹t/β.
//!
//! Row weights are folded into Φ and t as roots, and N is their sum: a weight of two is the row twice.

use rffblr::internals::{Accumulate, Cholesky, dot, multiply, outer, scale_columns, scale_rows, select_columns};
use rffblr::linalg::{Mat, Threads};
use rffblr::{Error, Result};

/// Constants of the iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// α_m of every feature at the start; β starts at one over the variance of t.
    pub(super) first_precision: f64,
    /// A feature whose α_m reaches this leaves.
    pub(super) largest_precision: f64,
    /// β stays below this over the variance of t: a perfect fit would send it to infinity.
    pub(super) largest_noise_precision: f64,
    /// The iteration stops when no ln α_m moves by this much.
    pub(super) tolerance: f64,
    pub(super) most_iterations: usize,
}

impl Rule {
    /// Where α starts matters: from small α the first step interpolates and β never recovers. One is for features whose
    /// squares add up to about one in a row; the method sets its own.
    pub(super) const USUAL: Rule = Rule {
        first_precision: 1.0,
        largest_precision: 1e9,
        largest_noise_precision: 1e6,
        tolerance: 1e-3,
        most_iterations: 200,
    };
}

/// What a task has found.
#[derive(Clone, Debug)]
pub(super) struct Relevance {
    /// Features still there, rising; α and μ of each.
    pub(super) active: Vec<usize>,
    pub(super) precisions: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// 1/β: a variance, because that of a constant target is zero.
    pub(super) noise_variance: f64,
}

/// Maximises the evidence of `targets` over α and β. `mass` is the sum of the row weights.
pub(super) fn maximise(features: &Mat<f64>, targets: &[f64], mass: f64, rule: Rule, threads: Threads) -> Relevance {
    // Standardised targets have mean zero.
    let variance = dot(targets, targets) / mass;
    let mut climb = Climb::new(features, targets, mass, rule.first_precision, 1.0 / variance);
    let no_features = |noise_variance: f64| Relevance {
        active: Vec::new(),
        precisions: Vec::new(),
        weights: Vec::new(),
        noise_variance,
    };
    if !(variance > 0.0 && (1.0 / variance).is_finite()) {
        return no_features(0.0);
    }
    let mut moment = climb.moment(threads);
    for _ in 0..rule.most_iterations {
        let Some(now) = &moment else { break };
        let moved = climb.update(now, rule.largest_noise_precision / variance);
        climb.prune(rule.largest_precision);
        moment = climb.moment(threads);
        if moved < rule.tolerance {
            break;
        }
    }
    let Some(moment) = moment else { return no_features(variance) };
    Relevance {
        active: climb.active,
        precisions: climb.precisions,
        weights: moment.weights,
        noise_variance: 1.0 / climb.noise,
    }
}

/// The state of the iteration.
pub(super) struct Climb<'a> {
    targets: &'a [f64],
    mass: f64,
    /// Φ of the active features.
    features: Mat<f64>,
    /// ΦᵀΦ (lower triangle) and Φᵀt of them, once they are no more than the rows.
    gram: Option<(Mat<f64>, Vec<f64>)>,
    pub(super) active: Vec<usize>,
    /// α
    pub(super) precisions: Vec<f64>,
    /// β
    pub(super) noise: f64,
}

/// What the updates need of the posterior at the present α and β.
pub(super) struct Moment {
    /// μ
    pub(super) weights: Vec<f64>,
    /// g
    pub(super) determined: Vec<f64>,
    /// N − Σg and ‖t − Φμ‖².
    freedom: f64,
    residual: f64,
}

impl<'a> Climb<'a> {
    pub(super) fn new(features: &Mat<f64>, targets: &'a [f64], mass: f64, precision: f64, noise: f64) -> Self {
        let count = features.ncols();
        Climb {
            targets,
            mass,
            features: features.clone(),
            gram: None,
            active: (0..count).collect(),
            precisions: vec![precision; count],
            noise,
        }
    }

    /// `None` if no feature is left, or rounding has made the system indefinite.
    pub(super) fn moment(&mut self, threads: Threads) -> Option<Moment> {
        if self.active.is_empty() {
            return None;
        }
        if self.active.len() > self.targets.len() {
            self.moment_by_rows(threads)
        } else {
            self.moment_by_features(threads)
        }
    }

    /// The N×N form.
    pub(super) fn moment_by_rows(&self, threads: Threads) -> Option<Moment> {
        let rows = self.targets.len();
        let roots: Vec<f64> = self.precisions.iter().map(|a| a.sqrt().recip()).collect();
        let mut scaled = self.features.clone();
        scale_columns(&mut scaled, |m| roots[m]);
        let mut c = Mat::zeros(rows, rows);
        outer(c.as_mut(), Accumulate::Replace, scaled.as_ref(), threads);
        for n in 0..rows {
            c[(n, n)] += 1.0 / self.noise;
        }
        let factor = Cholesky::new(c, threads)?;
        factor.half_solve(scaled.as_mut());
        let mut y = Mat::from_fn(rows, 1, |n, _| self.targets[n]);
        factor.half_solve(y.as_mut());
        let column = |m: usize| scaled.col_as_slice(m);
        let weights = (0..roots.len()).map(|m| roots[m] * dot(column(m), y.col_as_slice(0))).collect();
        let determined = (0..roots.len()).map(|m| dot(column(m), column(m))).collect();
        factor.half_solve_transposed(y.as_mut());
        let (inverse, _) = factor.into_inverse(false);
        Some(Moment {
            weights,
            determined,
            freedom: inverse.iter().sum::<f64>() / self.noise + (self.mass - rows as f64),
            residual: dot(y.col_as_slice(0), y.col_as_slice(0)) / (self.noise * self.noise),
        })
    }

    /// The M×M form.
    pub(super) fn moment_by_features(&mut self, threads: Threads) -> Option<Moment> {
        let (gram, correlation) = self.gram.get_or_insert_with(|| gram(&self.features, self.targets, threads));
        let count = self.active.len();
        let roots: Vec<f64> = self.precisions.iter().map(|a| a.sqrt().recip()).collect();
        let mut k = gram.clone();
        for j in 0..count {
            let factor = self.noise * roots[j];
            k.col_as_slice_mut(j)[j..].iter_mut().zip(&roots[j..]).for_each(|(v, root)| *v *= factor * root);
            k[(j, j)] += 1.0;
        }
        let factor = Cholesky::new(k, threads)?;
        let mut mean = Mat::from_fn(count, 1, |m, _| self.noise * roots[m] * correlation[m]);
        factor.half_solve(mean.as_mut());
        factor.half_solve_transposed(mean.as_mut());
        scale_rows(&mut mean, &roots);
        let fit = multiply(self.features.as_ref(), mean.as_ref(), threads);
        let left: Vec<f64> = self.targets.iter().zip(fit.col_as_slice(0)).map(|(t, f)| t - f).collect();
        let (inverse, _) = factor.into_inverse(false);
        let determined: Vec<f64> = inverse.iter().map(|v| 1.0 - v).collect();
        Some(Moment {
            weights: mean.col_as_slice(0).to_vec(),
            freedom: self.mass - determined.iter().sum::<f64>(),
            determined,
            residual: dot(&left, &left),
        })
    }

    /// One step of α and β; returns the largest change of ln α.
    pub(super) fn update(&mut self, moment: &Moment, largest_noise: f64) -> f64 {
        let mut moved: f64 = 0.0;
        for ((alpha, mu), g) in self.precisions.iter_mut().zip(&moment.weights).zip(&moment.determined) {
            // Rounding must neither make a precision negative nor divide by zero.
            let next = g.clamp(1e-12, 1.0) / (mu * mu).max(1e-300);
            moved = moved.max((next / *alpha).ln().abs());
            *alpha = next;
        }
        let noise = moment.freedom / moment.residual;
        self.noise = if noise > 0.0 { noise.min(largest_noise) } else { largest_noise };
        moved
    }

    /// Removes the features whose precision has reached the largest.
    pub(super) fn prune(&mut self, largest: f64) {
        let kept: Vec<usize> = (0..self.active.len()).filter(|&m| self.precisions[m] < largest).collect();
        if kept.len() == self.active.len() {
            return;
        }
        self.features = select_columns(self.features.as_ref(), &kept);
        self.active = kept.iter().map(|&m| self.active[m]).collect();
        self.precisions = kept.iter().map(|&m| self.precisions[m]).collect();
        if let Some((gram, correlation)) = &mut self.gram {
            *gram = Mat::from_fn(kept.len(), kept.len(), |i, j| gram[(kept[i], kept[j])]);
            *correlation = kept.iter().map(|&m| correlation[m]).collect();
        }
    }
}

fn gram(features: &Mat<f64>, targets: &[f64], threads: Threads) -> (Mat<f64>, Vec<f64>) {
    let mut gram = Mat::zeros(features.ncols(), features.ncols());
    outer(gram.as_mut(), Accumulate::Replace, features.as_ref().transpose(), threads);
    let correlation = (0..features.ncols()).map(|m| dot(features.col_as_slice(m), targets)).collect();
    (gram, correlation)
}

/// A task's posterior over its weights, for predictions with uncertainty.
pub(super) struct Posterior {
    pub(super) relevance: Relevance,
    /// Of K; `None` without features.
    factor: Option<Cholesky>,
}

impl Posterior {
    /// `features` are the training rows of the active features, times the roots of the row weights.
    pub(super) fn new(features: &Mat<f64>, relevance: Relevance, threads: Threads) -> Result<Self> {
        if relevance.active.is_empty() {
            return Ok(Posterior { relevance, factor: None });
        }
        let mut scaled = features.clone();
        let noise = 1.0 / relevance.noise_variance;
        scale_columns(&mut scaled, |m| (noise / relevance.precisions[m]).sqrt());
        let mut k = Mat::zeros(scaled.ncols(), scaled.ncols());
        outer(k.as_mut(), Accumulate::Replace, scaled.as_ref().transpose(), threads);
        for m in 0..k.nrows() {
            k[(m, m)] += 1.0;
        }
        let size = k.nrows();
        let factor = Cholesky::new(k, threads).ok_or(Error::Singular { size, noise })?;
        Ok(Posterior { relevance, factor: Some(factor) })
    }

    /// β⁻¹ + φᵀΣφ for each row of features, which may have more columns than the active ones.
    pub(super) fn variances(&self, features: &Mat<f64>) -> Vec<f64> {
        let Relevance { active, precisions, noise_variance, .. } = &self.relevance;
        let Some(factor) = &self.factor else { return vec![*noise_variance; features.nrows()] };
        let mut half =
            Mat::from_fn(active.len(), features.nrows(), |m, n| features[(n, active[m])] / precisions[m].sqrt());
        factor.half_solve(half.as_mut());
        (0..half.ncols()).map(|n| noise_variance + dot(half.col_as_slice(n), half.col_as_slice(n))).collect()
    }
}
