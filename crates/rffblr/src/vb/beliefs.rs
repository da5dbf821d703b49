//! The mean-field posterior q(W) q(b) q(τ) Π q(α_m) and its coordinate updates, equations 4–8. Each raises the bound.

use super::design::{Design, Sensitivity};
use super::gamma::Gamma;
use super::moments::Moments;
use super::weights::{Given, Weights};
use crate::error::Result;
use crate::problem::Problem;
use crate::settings::{CosineSettings, GammaPrior, Noise, Precision};

/// q as it stands, with the priors it is measured against.
#[derive(Clone)]
pub(crate) struct Beliefs {
    pub(crate) weights: Weights,
    /// q(α), one per feature or one per block.
    pub(crate) precisions: Vec<Gamma>,
    /// Which precision each feature has.
    pub(crate) precision_of: Vec<usize>,
    /// ⟨b⟩ and its variance for each task.
    pub(crate) bias: Vec<f64>,
    pub(crate) bias_variance: Vec<f64>,
    /// q(τ), one or one per task.
    pub(crate) noise: Vec<Gamma>,
    pub(crate) weight_prior: GammaPrior,
    pub(crate) noise_prior: GammaPrior,
    tasks: usize,
}

impl Beliefs {
    /// Where the updates begin: ⟨α⟩ and ⟨τ⟩ as the settings say, in units of one over the variance of a typical target;
    /// ⟨b⟩ = 0.
    pub(crate) fn start(problem: &Problem, design: &Design, settings: &CosineSettings) -> Self {
        let tasks = problem.tasks();
        let features = design.columns();
        let waves = design.basis.cosines();
        let precision_of: Vec<usize> = match settings.precision {
            Precision::Free => (0..features).collect(),
            // Cosines share one precision, links the next.
            Precision::Tied => (0..features).map(|m| usize::from(waves > 0 && m >= waves)).collect(),
        };
        let variance = problem.target_variance();
        let at = |mean: f64| Gamma { shape: mean / variance, rate: 1.0 };
        let levels = precision_of.iter().max().map_or(0, |last| last + 1);
        Beliefs {
            weights: Weights::none(features, tasks),
            precisions: vec![at(settings.weight_start); levels],
            precision_of,
            bias: vec![0.0; tasks],
            bias_variance: vec![0.0; tasks],
            noise: vec![at(settings.noise_start); if settings.noise == Noise::Shared { 1 } else { tasks }],
            weight_prior: settings.weight_prior,
            noise_prior: settings.noise_prior,
            tasks,
        }
    }

    /// ⟨α⟩ of each feature.
    pub(crate) fn alpha(&self) -> Vec<f64> {
        self.precision_of.iter().map(|&i| self.precisions[i].mean()).collect()
    }

    /// q(τ) of each task.
    pub(crate) fn noise_of(&self, task: usize) -> Gamma {
        self.noise[if self.noise.len() == 1 { 0 } else { task }]
    }

    /// ⟨τ⟩ of each task.
    pub(crate) fn tau(&self) -> Vec<f64> {
        (0..self.tasks).map(|c| self.noise_of(c).mean()).collect()
    }

    /// Equation 4.
    pub(crate) fn update_weights(
        &mut self,
        problem: &Problem,
        design: &Design,
        moments: &mut [Option<Moments>],
        sensitivity: Sensitivity,
    ) -> Result<()> {
        let (alpha, tau) = (self.alpha(), self.tau());
        let given = Given { alpha: &alpha, tau: &tau, bias: &self.bias };
        self.weights = Weights::update(problem, design, moments, &given, sensitivity)?;
        Ok(())
    }

    /// E‖w_m‖² = ‖⟨w_m⟩‖² + Σ_c (Σ_c)_mm for each feature.
    pub(crate) fn weight_square(&self) -> Vec<f64> {
        let mut square = self.weights.variance.clone();
        for c in 0..self.tasks {
            let w = self.weights.mean.col_as_slice(c);
            square.iter_mut().zip(w).for_each(|(s, w)| *s += w * w);
        }
        square
    }

    /// Equation 5: q(α) = Ga(a₀ + kC/2, b₀ + ½ΣE‖w_m‖²) over the k features that share it.
    pub(crate) fn update_precisions(&mut self) {
        let GammaPrior { shape, rate } = self.weight_prior;
        self.precisions.fill(Gamma { shape, rate });
        for (&i, square) in self.precision_of.iter().zip(self.weight_square()) {
            self.precisions[i].shape += 0.5 * self.tasks as f64;
            self.precisions[i].rate += 0.5 * square;
        }
    }

    /// Equation 6: σ_b² = 1/(N_c⟨τ_c⟩ + 1), ⟨b_c⟩ = ⟨τ_c⟩σ_b² Σ_n (y_nc − ⟨w_c⟩ᵀφ_n).
    pub(crate) fn update_bias(&mut self, problem: &Problem) {
        for (c, tau) in self.tau().into_iter().enumerate() {
            self.bias_variance[c] = 1.0 / (problem.mass[c] * tau + 1.0);
            self.bias[c] = tau * self.bias_variance[c] * self.weights.residual_sum[c];
        }
    }

    /// Equation 8: R_c = E‖y_c − Φw_c − b_c‖².
    pub(crate) fn residual(&self, problem: &Problem, task: usize) -> f64 {
        let (w, b) = (&self.weights, self.bias[task]);
        let fit = w.residual_square[task] - 2.0 * b * w.residual_sum[task] + problem.mass[task] * b * b;
        fit.max(0.0) + w.trace[task] + problem.mass[task] * self.bias_variance[task]
    }

    /// Equation 7: q(τ) = Ga(a₀ + N/2, b₀ + R/2) over the cells that share it.
    pub(crate) fn update_noise(&mut self, problem: &Problem) {
        let residuals: Vec<f64> = (0..self.tasks).map(|c| self.residual(problem, c)).collect();
        let GammaPrior { shape, rate } = self.noise_prior;
        self.noise.fill(Gamma { shape, rate });
        let shared = self.noise.len() == 1;
        for (c, residual) in residuals.into_iter().enumerate() {
            let noise = &mut self.noise[if shared { 0 } else { c }];
            noise.shape += 0.5 * problem.count[c];
            noise.rate += 0.5 * residual;
        }
    }

    /// Forgets every feature but the named ones (rising); q(W) must be updated before it is used again.
    pub(crate) fn keep(&mut self, columns: &[usize]) {
        self.precision_of = columns.iter().map(|&m| self.precision_of[m]).collect();
        let mut used: Vec<usize> = self.precision_of.clone();
        used.dedup();
        self.precisions = used.iter().map(|&i| self.precisions[i]).collect();
        for slot in &mut self.precision_of {
            *slot = used.partition_point(|&i| i < *slot);
        }
        self.weights = Weights::none(columns.len(), self.tasks);
    }
}
