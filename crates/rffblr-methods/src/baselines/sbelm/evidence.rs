//! The evidence of one task, climbed by MacKay's fixed point.
//!
//! With Σ = (βΦᵀΦ + A)⁻¹, A = diag(α), μ = βΣΦᵀt and g_m = 1 − α_m Σ_mm (how well feature m is determined),
//!
//! ```text
//! α_m ← g_m/μ_m²,    β ← (N − Σ_m g_m)/‖t − Φμ‖²
//! ```
//!
//! Let Ψ = ΦA^{−½}. By features the update uses K = I + βΨᵀΨ, so that A^½ΣA^½ = K⁻¹ and no eigenvalue is below one. By rows,
//! C = I/β + ΨΨᵀ = LLᵀ and X = L⁻¹Ψ give g_m = ‖X_m‖², A^½μ = XᵀL⁻¹t and, without cancellation, N − Σg = tr(C⁻¹)/β and
//! t − Φμ = C⁻¹t/β. The first takes about ⅔M³ operations and the second 2N²M + ⅔N³, so that rows are cheaper from
//! M ≈ 1.9 N on.
//!
//! Tasks with the same rows share what does not depend on α: ΦᵀΦ, of which each takes the part of the features it has
//! left, and the covariance where all of them start, at the same α and β.
//!
//! Row weights are folded into Φ and t as roots, and N is their sum: a weight of two is the row twice.

use rffblr::internals::{Accumulate, Cholesky, dot, multiply, outer, scale_columns, scale_rows, select_columns};
use rffblr::linalg::{Mat, Threads};
use rffblr::{Error, Result};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;

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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Relevance {
    /// Features still there, rising; α and μ of each.
    pub(super) active: Vec<usize>,
    pub(super) precisions: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// 1/β: a variance, because that of a constant target is zero.
    pub(super) noise_variance: f64,
}

impl Relevance {
    fn none(noise_variance: f64) -> Relevance {
        Relevance { active: Vec::new(), precisions: Vec::new(), weights: Vec::new(), noise_variance }
    }
}

/// Maximises over α and β the evidence of each column of `targets` on its own. `mass` is the sum of the row weights.
pub(super) fn maximise(
    features: &Mat<f64>,
    targets: &Mat<f64>,
    mass: f64,
    rule: Rule,
    threads: Threads,
) -> Vec<Relevance> {
    let design = Design::new(features);
    let mut start: Option<Spread> = None;
    let one = |task: usize| {
        let targets = targets.col_as_slice(task);
        // Standardised targets have mean zero.
        let variance = dot(targets, targets) / mass;
        if !(variance > 0.0 && (1.0 / variance).is_finite()) {
            return Relevance::none(0.0);
        }
        let mut climb = Climb::new(&design, targets, mass, rule.first_precision, 1.0 / variance);
        // Tasks of the same variance to rounding, as standardised ones are, start from the same covariance.
        if start.as_ref().is_none_or(|start| (start.noise * variance - 1.0).abs() > 1e-12) {
            start = climb.spread(threads);
        }
        let first = start.as_ref().map(|start| start.moment(&climb, threads));
        climb.rise(first, rule, rule.largest_noise_precision / variance, threads)
    };
    (0..targets.ncols()).map(one).collect()
}

/// Φ, and ΦᵀΦ (its lower triangle) as soon as a task asks for it.
pub(super) struct Design<'a> {
    features: &'a Mat<f64>,
    gram: OnceCell<Mat<f64>>,
}

impl<'a> Design<'a> {
    pub(super) fn new(features: &'a Mat<f64>) -> Self {
        Design { features, gram: OnceCell::new() }
    }

    fn gram(&self, threads: Threads) -> &Mat<f64> {
        self.gram.get_or_init(|| {
            let mut gram = Mat::zeros(self.features.ncols(), self.features.ncols());
            outer(gram.as_mut(), Accumulate::Replace, self.features.as_ref().transpose(), threads);
            gram
        })
    }
}

/// The state of the iteration for one task.
pub(super) struct Climb<'a> {
    design: &'a Design<'a>,
    targets: &'a [f64],
    mass: f64,
    /// Φ and Φᵀt of the active features.
    features: Mat<f64>,
    correlation: Vec<f64>,
    /// ΦᵀΦ of them, since it was needed for the first time.
    gram: Option<Mat<f64>>,
    pub(super) active: Vec<usize>,
    /// α
    pub(super) precisions: Vec<f64>,
    /// β
    pub(super) noise: f64,
}

/// What the posterior at some α and β is, whatever the targets are.
pub(super) struct Spread {
    /// α^{−½} and β.
    roots: Vec<f64>,
    noise: f64,
    form: Form,
    /// g
    determined: Vec<f64>,
    /// N − Σg.
    freedom: f64,
}

enum Form {
    /// Of C, and X.
    Rows { factor: Cholesky, half: Mat<f64> },
    /// Of K.
    Features { factor: Cholesky },
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
    pub(super) fn new(design: &'a Design<'a>, targets: &'a [f64], mass: f64, precision: f64, noise: f64) -> Self {
        let features = design.features.clone();
        let count = features.ncols();
        Climb {
            design,
            targets,
            mass,
            correlation: (0..count).map(|m| dot(features.col_as_slice(m), targets)).collect(),
            features,
            gram: None,
            active: (0..count).collect(),
            precisions: vec![precision; count],
            noise,
        }
    }

    /// Iterates from the posterior at the start until α rests.
    fn rise(mut self, first: Option<Moment>, rule: Rule, largest_noise: f64, threads: Threads) -> Relevance {
        let mut moment = first;
        for _ in 0..rule.most_iterations {
            let Some(now) = &moment else { break };
            let moved = self.update(now, largest_noise);
            self.prune(rule.largest_precision);
            moment = self.moment(threads);
            if moved < rule.tolerance {
                break;
            }
        }
        let Some(Moment { weights, .. }) = moment else {
            return Relevance::none(dot(self.targets, self.targets) / self.mass);
        };
        let Climb { active, precisions, noise, .. } = self;
        Relevance { active, precisions, weights, noise_variance: 1.0 / noise }
    }

    /// `None` if no feature is left, or rounding has made the system indefinite.
    pub(super) fn moment(&mut self, threads: Threads) -> Option<Moment> {
        Some(self.spread(threads)?.moment(self, threads))
    }

    /// By rows or by features, whatever takes fewer operations.
    fn spread(&mut self, threads: Threads) -> Option<Spread> {
        let (rows, count) = (self.targets.len() as f64, self.active.len() as f64);
        match count {
            0.0 => None,
            _ if count.powi(3) > (3.0 * count + rows) * rows * rows => self.spread_by_rows(threads),
            _ => self.spread_by_features(threads),
        }
    }

    fn roots(&self) -> Vec<f64> {
        self.precisions.iter().map(|a| a.sqrt().recip()).collect()
    }

    /// By the N×N matrix C.
    pub(super) fn spread_by_rows(&self, threads: Threads) -> Option<Spread> {
        let (rows, roots) = (self.targets.len(), self.roots());
        let mut half = self.features.clone();
        scale_columns(&mut half, |m| roots[m]);
        let mut c = Mat::zeros(rows, rows);
        outer(c.as_mut(), Accumulate::Replace, half.as_ref(), threads);
        for n in 0..rows {
            c[(n, n)] += 1.0 / self.noise;
        }
        let factor = Cholesky::new(c, threads)?;
        factor.half_solve(half.as_mut());
        let inverse = factor.inverse_diagonal();
        Some(Spread {
            determined: (0..roots.len()).map(|m| dot(half.col_as_slice(m), half.col_as_slice(m))).collect(),
            freedom: inverse.iter().sum::<f64>() / self.noise + (self.mass - rows as f64),
            form: Form::Rows { factor, half },
            noise: self.noise,
            roots,
        })
    }

    /// By the M×M matrix K.
    pub(super) fn spread_by_features(&mut self, threads: Threads) -> Option<Spread> {
        let roots = self.roots();
        let gram = self.gram.get_or_insert_with(|| part(self.design.gram(threads), &self.active));
        let mut k = gram.clone();
        for j in 0..roots.len() {
            let factor = self.noise * roots[j];
            k.col_as_slice_mut(j)[j..].iter_mut().zip(&roots[j..]).for_each(|(v, root)| *v *= factor * root);
            k[(j, j)] += 1.0;
        }
        let factor = Cholesky::new(k, threads)?;
        let inverse = factor.inverse_diagonal();
        let determined: Vec<f64> = inverse.iter().map(|v| 1.0 - v).collect();
        let freedom = self.mass - determined.iter().sum::<f64>();
        Some(Spread { roots, noise: self.noise, form: Form::Features { factor }, determined, freedom })
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
        self.correlation = kept.iter().map(|&m| self.correlation[m]).collect();
        self.gram = self.gram.take().map(|gram| part(&gram, &kept));
    }
}

impl Spread {
    /// For the targets of a climb that is at this α and β.
    pub(super) fn moment(&self, climb: &Climb<'_>, threads: Threads) -> Moment {
        let Spread { roots, noise, form, determined, freedom } = self;
        let (weights, residual) = match form {
            Form::Rows { factor, half } => {
                let mut y = Mat::from_fn(climb.targets.len(), 1, |n, _| climb.targets[n]);
                factor.half_solve(y.as_mut());
                let weight = |m: usize| roots[m] * dot(half.col_as_slice(m), y.col_as_slice(0));
                let weights = (0..roots.len()).map(weight).collect();
                factor.half_solve_transposed(y.as_mut());
                (weights, dot(y.col_as_slice(0), y.col_as_slice(0)) / (noise * noise))
            }
            Form::Features { factor } => {
                let mut mean = Mat::from_fn(roots.len(), 1, |m, _| noise * roots[m] * climb.correlation[m]);
                factor.half_solve(mean.as_mut());
                factor.half_solve_transposed(mean.as_mut());
                scale_rows(&mut mean, roots);
                let fit = multiply(climb.features.as_ref(), mean.as_ref(), threads);
                let left: Vec<f64> = climb.targets.iter().zip(fit.col_as_slice(0)).map(|(t, f)| t - f).collect();
                (mean.col_as_slice(0).to_vec(), dot(&left, &left))
            }
        };
        Moment { weights, determined: determined.clone(), freedom: *freedom, residual }
    }
}

/// Some rows and the same columns of a symmetric matrix, lower triangles both; `kept` rises.
fn part(whole: &Mat<f64>, kept: &[usize]) -> Mat<f64> {
    let mut out = Mat::zeros(kept.len(), kept.len());
    for (j, &column) in kept.iter().enumerate() {
        let from = whole.col_as_slice(column);
        out.col_as_slice_mut(j)[j..].iter_mut().zip(&kept[j..]).for_each(|(to, &row)| *to = from[row]);
    }
    out
}

/// A task's posterior over its weights, for predictions with uncertainty.
#[derive(Serialize, Deserialize)]
pub(super) struct Posterior {
    pub(super) relevance: Relevance,
    /// Of K; `None` without features.
    #[serde(with = "super::super::stored::some_cholesky")]
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
