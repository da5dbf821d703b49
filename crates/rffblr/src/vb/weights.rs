//! q(W), equation 4: the weights of all tasks given everything else, and those moments of them that others need.
//!
//! Work happens in the whitened system S = ΨᵀΨ (primal, M ≤ N) or ΨΨᵀ (dual, M > N), Ψ = ΦA^{-½}; everything follows
//! from Q_c = (I + τ_c S)⁻¹ (equations 11–13). The factorisation does not outlive the update.

use super::design::{Design, Sensitivity, View};
use super::moments::Moments;
use super::resolvent::{Resolvent, Sums};
use crate::error::Result;
use crate::linalg::{Accumulate, Mat, Threads, dot, map_columns, multiply, outer, product, scale_columns, scale_rows};
use crate::problem::{Group, Problem};
use std::ops::Range;

/// q(W) = Π_c N(w_c | mean_c, Σ_c) as the other factors see it.
#[derive(Clone)]
pub(crate) struct Weights {
    /// M×C means.
    pub(crate) mean: Mat<f64>,
    /// Σ_c (Σ_c)_mm for each feature.
    pub(crate) variance: Vec<f64>,
    /// tr(Σ_c ΦᵀΦ) for each task.
    pub(crate) trace: Vec<f64>,
    /// Σ_n u_n (y_nc − w_cᵀφ_n) for each task.
    pub(crate) residual_sum: Vec<f64>,
    /// Σ_n (y_nc − w_cᵀφ_n)² for each task.
    pub(crate) residual_square: Vec<f64>,
    /// Σ_c ln|Σ_c|.
    pub(crate) ln_det: f64,
    /// −½ ∂/∂ln γ (or ln r) of Σ_c (τ_c/τ̄) tr(Σ_c ΦᵀΦ) at fixed Σ_c, with the τ of this update.
    pub(crate) trace_gradient: Vec<f64>,
}

/// What q(W) depends on besides the data.
pub(crate) struct Given<'a> {
    /// ⟨α⟩ for each feature.
    pub(crate) alpha: &'a [f64],
    /// ⟨τ⟩ for each task.
    pub(crate) tau: &'a [f64],
    /// ⟨b⟩ for each task.
    pub(crate) bias: &'a [f64],
}

impl Weights {
    /// A placeholder until the first update.
    pub(crate) fn none(features: usize, tasks: usize) -> Self {
        Weights {
            mean: Mat::zeros(features, tasks),
            variance: vec![0.0; features],
            trace: vec![0.0; tasks],
            residual_sum: vec![0.0; tasks],
            residual_square: vec![0.0; tasks],
            ln_det: 0.0,
            trace_gradient: Vec::new(),
        }
    }

    /// The update. `moments` has an entry per group, filled on demand: in the primal form they are all that is used
    /// of the rows, derivatives aside.
    pub(crate) fn update(
        problem: &Problem,
        design: &Design,
        moments: &mut [Option<Moments>],
        given: &Given<'_>,
        sensitivity: Sensitivity,
    ) -> Result<Weights> {
        let (features, tasks) = (design.columns(), problem.tasks());
        let mut out = Weights::none(features, tasks);
        out.trace_gradient.resize(sensitivity.len(design.basis.inputs()), 0.0);
        let whiten: Vec<f64> = given.alpha.iter().map(|a| a.sqrt().recip()).collect();
        for (group, moments) in problem.groups.iter().zip(moments) {
            let step = Step {
                group,
                view: design.group_view(problem, group, sensitivity),
                whiten: &whiten,
                tau: group.tasks.iter().map(|&c| given.tau[c]).collect(),
                bias: group.tasks.iter().map(|&c| given.bias[c]).collect(),
                sensitivity,
                threads: design.threads,
            };
            if features <= step.view.features.nrows() {
                let known = moments.get_or_insert_with(|| {
                    let mut fresh = Moments::zero(features, group.tasks.len());
                    fresh.add(&step.view.features, &group.root, &group.targets, design.threads);
                    fresh
                });
                step.primal(known, &mut out)?;
                if sensitivity != Sensitivity::None {
                    *moments = None;
                }
            } else {
                step.dual(&mut out)?;
            }
        }
        let ln_alpha: f64 = given.alpha.iter().map(|a| a.ln()).sum();
        out.ln_det -= tasks as f64 * ln_alpha;
        let mean_tau = given.tau.iter().sum::<f64>() / tasks as f64;
        out.trace_gradient.iter_mut().for_each(|g| *g /= -mean_tau);
        Ok(out)
    }
}

/// One group's part of the update.
struct Step<'a> {
    group: &'a Group,
    view: View<'a>,
    /// A^{-½}.
    whiten: &'a [f64],
    tau: Vec<f64>,
    bias: Vec<f64>,
    sensitivity: Sensitivity,
    threads: Threads,
}

impl Step<'_> {
    /// M×M form, from moments alone; only derivatives look at rows, a block at a time.
    fn primal(&self, moments: &mut Moments, out: &mut Weights) -> Result<()> {
        let features = self.whiten.len();
        let derivatives = self.sensitivity != Sensitivity::None;
        // Features that are about to change leave no use for their Gram matrix: work in its place.
        let mut s = if derivatives { std::mem::replace(&mut moments.gram, Mat::new()) } else { moments.gram.clone() };
        scale_rows(&mut s, self.whiten);
        scale_columns(&mut s, |m| self.whiten[m]);
        let resolvent = Resolvent::new(s, &self.tau, self.threads)?;

        let right = |m: usize, c: usize| moments.cross[(m, c)] - self.bias[c] * moments.sum[m];
        let mut mean = Mat::from_fn(features, self.tau.len(), |m, c| self.tau[c] * self.whiten[m] * right(m, c));
        resolvent.solve(&mut mean);
        scale_rows(&mut mean, self.whiten);
        for (c, &task) in self.group.tasks.iter().enumerate() {
            let w = mean.col_as_slice(c);
            out.mean.col_as_slice_mut(task).copy_from_slice(w);
            out.ln_det -= resolvent.ln_det(c);
            out.residual_sum[task] = moments.target_sum[c] - dot(w, &moments.sum);
            // ‖y − Φw‖² = Σy² − 2wᵀΦᵀy + wᵀΦᵀΦw, and ΦᵀΦw = Φᵀ(y − bu) − Aw/τ at this very w.
            let gram = |m: usize| right(m, c) - w[m] / (self.tau[c] * self.whiten[m] * self.whiten[m]);
            let square: f64 = (0..features).map(|m| w[m] * (gram(m) - 2.0 * moments.cross[(m, c)])).sum();
            out.residual_square[task] = (moments.target_square[c] + square).max(0.0);
        }

        let Sums { diagonal, traces, summed } = resolvent.into_sums(derivatives);
        for (m, q) in diagonal.iter().enumerate() {
            out.variance[m] += q * self.whiten[m] * self.whiten[m];
        }
        for (&task, trace) in self.group.tasks.iter().zip(traces) {
            out.trace[task] = trace;
        }
        if let Some(mut inverse) = summed {
            // Σ_c τ_c ΦΣ_c = Φ · A^{-½} (Σ_c τ_c Q_c) A^{-½}
            scale_rows(&mut inverse, self.whiten);
            scale_columns(&mut inverse, |m| self.whiten[m]);
            let phi = self.view.features.as_ref().as_ref();
            let waves = self.view.cosines();
            let inverse = inverse.as_ref().subcols(0, waves);
            for rows in blocks(phi.nrows()) {
                let mut block = Mat::zeros(rows.len(), waves);
                let phi = phi.subrows(rows.start, rows.len());
                product(block.as_mut(), Accumulate::Replace, phi, inverse, 1.0, self.threads);
                self.view.pull_back(rows, 0..waves, &mut block, self.sensitivity, &mut out.trace_gradient);
            }
        }
        Ok(())
    }

    /// N×N form: no M×M matrix, and no N×M matrix besides the features.
    fn dual(&self, out: &mut Weights) -> Result<()> {
        let phi: &Mat<f64> = &self.view.features;
        let (rows, features) = (phi.nrows(), self.whiten.len());
        let mut s = Mat::zeros(rows, rows);
        for columns in blocks(features) {
            outer(s.as_mut(), Accumulate::Add, self.whitened(columns).0.as_ref(), self.threads);
        }
        let resolvent = Resolvent::new(s, &self.tau, self.threads)?;

        // Q(y − bu) is at once the residual y − bu − Φw and, times τA⁻¹Φᵀ, the mean.
        let root = &self.group.root;
        let mut residual =
            Mat::from_fn(rows, self.tau.len(), |n, c| self.group.targets[(n, c)] - self.bias[c] * root[n]);
        resolvent.solve(&mut residual);
        let mut mean = multiply(phi.as_ref().transpose(), residual.as_ref(), self.threads);
        scale_rows(&mut mean, self.whiten);
        scale_rows(&mut mean, self.whiten);
        scale_columns(&mut mean, |c| self.tau[c]);

        // With RᵀR = Σ_c τ_c Q_c and Z = RΨ:  Σ_c (Σ_c)_mm = (C − ‖z_m‖²)/α_m  and  Σ_c τ_c ΦΣ_c = RᵀZ A^{-½}.
        let (count, total_tau) = (self.tau.len() as f64, self.tau.iter().sum::<f64>());
        let mut total = 0.0;
        for columns in blocks(features) {
            let (mut z, prior) = self.whitened(columns.clone());
            resolvent.half(&mut z);
            let used = map_columns(&mut z, self.threads, |_, column| dot(column, column));
            for (j, m) in columns.clone().enumerate() {
                let used = used[j];
                total += used;
                // Rounding must not take a variance below what this feature alone would leave: Σ_c 1/(1 + τ_c ‖ψ_m‖²),
                // which is at least C/(1 + τ̄ ‖ψ_m‖²) because 1/(1 + x) is convex.
                let left = (count - used).max(count / (1.0 + total_tau / count * prior[j]));
                out.variance[m] += left * self.whiten[m] * self.whiten[m];
            }
            let waves = columns.start..columns.end.min(self.view.cosines());
            if self.sensitivity != Sensitivity::None && !waves.is_empty() {
                z.truncate(rows, waves.len());
                resolvent.half_transposed(&mut z);
                scale_columns(&mut z, |j| self.whiten[waves.start + j]);
                self.view.pull_back(0..rows, waves, &mut z, self.sensitivity, &mut out.trace_gradient);
            }
        }

        for (c, &task) in self.group.tasks.iter().enumerate() {
            out.mean.col_as_slice_mut(task).copy_from_slice(mean.col_as_slice(c));
            out.trace[task] = resolvent.trace(c, total);
            out.ln_det -= resolvent.ln_det(c);
            for (r, u) in residual.col_as_slice(c).iter().zip(root) {
                let without_bias = r + self.bias[c] * u;
                out.residual_sum[task] += without_bias * u;
                out.residual_square[task] += without_bias * without_bias;
            }
        }
        Ok(())
    }

    /// Columns of Ψ = ΦA^{-½} and the square of their norms.
    fn whitened(&self, columns: Range<usize>) -> (Mat<f64>, Vec<f64>) {
        let phi: &Mat<f64> = &self.view.features;
        let mut psi = Mat::zeros(phi.nrows(), columns.len());
        let squares = map_columns(&mut psi, self.threads, |j, psi| {
            let m = columns.start + j;
            psi.iter_mut().zip(phi.col_as_slice(m)).for_each(|(psi, phi)| *psi = phi * self.whiten[m]);
            dot(psi, psi)
        });
        (psi, squares)
    }
}

/// 0..n in pieces: what is handled at once where a whole N×M temporary is not needed.
pub(crate) fn blocks(n: usize) -> impl Iterator<Item = Range<usize>> {
    const BLOCK: usize = 256;
    (0..n).step_by(BLOCK).map(move |start| start..n.min(start + BLOCK))
}
