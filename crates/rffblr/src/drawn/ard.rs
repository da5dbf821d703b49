//! Automatic relevance determination: the published updates (equations 4 to 9 and 21a) at fixed features, from sums over
//! the rows alone. Every feature has a precision of its own, shared by the tasks, and features that help none are dropped.

use super::sums::System;
use crate::linalg::{Cholesky, Mat, Threads, dot, scale_rows};
use crate::settings::{GammaPrior, Pruning};
use crate::vb::Gamma;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// What the updates depend on besides the sums.
pub(super) struct Ard<'a> {
    /// The last column of their features is one: its weight is the bias.
    pub(super) systems: &'a [System<Mat<f64>>],
    /// Whether weights say how precise rows are rather than how often they are there.
    pub(super) relative: bool,
    pub(super) weight_prior: GammaPrior,
    pub(super) noise_prior: GammaPrior,
    pub(super) pruning: Pruning,
    pub(super) max_iterations: usize,
    /// Converged when the bound changes by less than this share.
    pub(super) tolerance: f64,
    pub(super) threads: Threads,
}

/// The features that stayed, with their precisions, and the noise of each task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Relevant {
    /// Rising; without the bias.
    pub(super) kept: Vec<usize>,
    /// ⟨α⟩ of each of them.
    pub(super) alpha: Vec<f64>,
    /// q(τ) of each task.
    pub(super) noise: Vec<Gamma>,
    /// The lower bound after each sweep.
    pub(super) bounds: Vec<f64>,
}

/// What q(W) and q(b) say of a task.
#[derive(Clone, Default)]
struct Task {
    mean: Vec<f64>,
    /// R of equation 8.
    residual: f64,
    bias: f64,
    bias_variance: f64,
    ln_det: f64,
}

impl Ard<'_> {
    /// From precisions α of the features and τ of the tasks; `None` where a system is singular to rounding.
    pub(super) fn run(&self, mut alpha: Vec<f64>, mut tau: Vec<f64>) -> Option<Relevant> {
        let (drawn, c) = (alpha.len(), tau.len() as f64);
        let mut kept: Vec<usize> = (0..drawn).collect();
        let mut tasks = vec![Task::default(); tau.len()];
        let mut bounds: Vec<f64> = Vec::new();
        let mut pruned = true;
        loop {
            let variance = self.update_tasks(&kept, &alpha, &tau, &mut tasks)?;
            let square: Vec<f64> = (0..kept.len())
                .map(|m| variance[m] + tasks.iter().map(|task| task.mean[m].powi(2)).sum::<f64>())
                .collect();
            let GammaPrior { shape, rate } = self.weight_prior;
            let precisions: Vec<Gamma> =
                square.iter().map(|square| Gamma { shape: shape + 0.5 * c, rate: rate + 0.5 * square }).collect();
            let noise = self.noise(&tasks);
            alpha = precisions.iter().map(|alpha| alpha.mean()).collect();
            tau = noise.iter().map(|tau| tau.mean()).collect();
            bounds.push(self.bound(&precisions, &noise, &square, &tasks));
            let converged = match bounds.as_slice() {
                [.., before, now] => !pruned && (now - before).abs() < self.tolerance * now.abs().max(1.0),
                _ => false,
            };
            if converged || bounds.len() >= self.max_iterations {
                return Some(Relevant { kept, alpha, noise, bounds });
            }
            let stays: Vec<bool> =
                kept.iter().zip(&square).map(|(&m, square)| self.stays(m, square / c, drawn)).collect();
            pruned = stays.contains(&false);
            let chosen = |i: &usize| stays[*i];
            alpha = (0..kept.len()).filter(chosen).map(|i| alpha[i]).collect();
            kept = (0..kept.len()).filter(chosen).map(|i| kept[i]).collect();
        }
    }

    /// Equations 4, 6 and 8; gives Σ_c (Σ_c)_mm for each feature.
    fn update_tasks(&self, kept: &[usize], alpha: &[f64], tau: &[f64], tasks: &mut [Task]) -> Option<Vec<f64>> {
        let size = kept.len();
        let whiten: Vec<f64> = alpha.iter().map(|alpha| alpha.sqrt().recip()).collect();
        let mut variance = vec![0.0; size];
        for system in self.systems {
            let one = system.gram.nrows() - 1;
            let sum: Vec<f64> = kept.iter().map(|&m| system.gram[(one, m)]).collect();
            let mut same: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            for place in 0..system.tasks.len() {
                same.entry(tau[system.tasks[place]].to_bits()).or_default().push(place);
            }
            for (bits, places) in same {
                let tau = f64::from_bits(bits);
                let factor = Cholesky::new(
                    Mat::from_fn(size, size, |i, j| match i < j {
                        true => 0.0,
                        false => {
                            tau * whiten[i] * whiten[j] * system.gram[(kept[i], kept[j])] + f64::from(u8::from(i == j))
                        }
                    }),
                    self.threads,
                )?;
                let right =
                    |m: usize, place: usize| system.cross[(kept[m], place)] - tasks[system.tasks[place]].bias * sum[m];
                let given = Mat::from_fn(size, places.len(), |m, c| right(m, places[c]));
                let mut mean = given.clone();
                scale_rows(&mut mean, &whiten.iter().map(|w| tau * w).collect::<Vec<_>>());
                factor.half_solve(mean.as_mut());
                factor.half_solve_transposed(mean.as_mut());
                scale_rows(&mut mean, &whiten);
                let ln_det = -factor.ln_det() - alpha.iter().map(|alpha| alpha.ln()).sum::<f64>();
                let diagonal = factor.inverse_diagonal();
                let trace = (size as f64 - diagonal.iter().sum::<f64>()) / tau;
                for m in 0..size {
                    variance[m] += places.len() as f64 * diagonal[m] / alpha[m];
                }
                for (c, &place) in places.iter().enumerate() {
                    let w = mean.col_as_slice(c);
                    // ΦᵀΦw = Φᵀ(y − b) − Aw/τ at this very w.
                    let image = |m: usize| given[(m, c)] - alpha[m] * w[m] / tau;
                    let product = |m: usize| w[m] * (image(m) - 2.0 * system.cross[(kept[m], place)]);
                    let without_bias = (system.square[place] + (0..size).map(product).sum::<f64>()).max(0.0);
                    let left = system.cross[(one, place)] - dot(w, &sum);
                    let bias_variance = 1.0 / (system.mass * tau + 1.0);
                    let b = tau * bias_variance * left;
                    let fit = without_bias - 2.0 * b * left + system.mass * b * b;
                    let residual = fit.max(0.0) + trace + system.mass * bias_variance;
                    tasks[system.tasks[place]] = Task { mean: w.to_vec(), residual, bias: b, bias_variance, ln_det };
                }
            }
        }
        Some(variance)
    }

    /// As how many observations the rows of a system count.
    fn count(&self, system: &System<Mat<f64>>) -> f64 {
        if self.relative { system.rows } else { system.mass }
    }

    /// Equation 7, for each task its own.
    fn noise(&self, tasks: &[Task]) -> Vec<Gamma> {
        let GammaPrior { shape, rate } = self.noise_prior;
        let mut noise = vec![Gamma { shape, rate }; tasks.len()];
        for system in self.systems {
            for &task in &system.tasks {
                noise[task].shape += 0.5 * self.count(system);
                noise[task].rate += 0.5 * tasks[task].residual;
            }
        }
        noise
    }

    /// Equation 9.
    fn bound(&self, alpha: &[Gamma], noise: &[Gamma], square: &[f64], tasks: &[Task]) -> f64 {
        let (c, ln_two_pi) = (tasks.len() as f64, TAU.ln());
        let mut bound = 0.0;
        for system in self.systems {
            for &task in &system.tasks {
                let (q, task) = (noise[task], &tasks[task]);
                bound += 0.5 * self.count(system) * (q.mean_ln() - ln_two_pi) - 0.5 * q.mean() * task.residual;
                bound += q.expected_ln_prior(self.noise_prior) + q.entropy() + 0.5 * task.ln_det;
                bound += 0.5 * (1.0 + task.bias_variance.ln() - task.bias.powi(2) - task.bias_variance);
            }
        }
        for (q, square) in alpha.iter().zip(square) {
            bound += 0.5 * c * (q.mean_ln() + 1.0) - 0.5 * q.mean() * square;
            bound += q.expected_ln_prior(self.weight_prior) + q.entropy();
        }
        bound
    }

    /// Equation 21a; with gaps the mean square of a feature is averaged over the tasks, each over its rows.
    fn stays(&self, feature: usize, weight: f64, drawn: usize) -> bool {
        let Pruning::BelowEqualShare(share) = self.pruning else { return true };
        let (mut size, mut variance, mut mass, mut tasks) = (0.0, 0.0, 0.0, 0.0);
        for system in self.systems {
            let (one, count) = (system.gram.nrows() - 1, system.tasks.len() as f64);
            tasks += count;
            mass += count * system.mass;
            size += count * system.gram[(feature, feature)] / system.mass;
            for place in 0..system.tasks.len() {
                variance += system.square[place] - system.cross[(one, place)].powi(2) / system.mass;
            }
        }
        weight * size / tasks >= share * variance / mass / drawn as f64
    }
}
