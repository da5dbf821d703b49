//! The function as weighted cosines and direct links.

use super::posterior::Posterior;
use super::{Found, Function};
use crate::error::{Error, Result};
use crate::fourier::{Basis, Scales};
use crate::kernel::{Kernel, KernelMachine};
use crate::linalg::{Mat, MatRef, Threads, multiply, scale_rows};
use crate::sparse::{Original, distil};
use crate::vb::{self, Gamma, Inference, Observer, Problem, Settings};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// Cosines, their scales and the posterior of their weights, on the standardised scale.
#[derive(Clone, Debug)]
pub(crate) struct Waves {
    pub(crate) basis: Basis,
    pub(crate) scales: Scales,
    /// q(τ) of each task.
    pub(crate) noise: Vec<Gamma>,
    pub(crate) posterior: Posterior,
    /// Cosines that were drawn.
    pub(crate) drawn: usize,
    /// The kernel machine whose function the cosines reproduce, if they do.
    pub(crate) origin: Option<Origin>,
}

/// What brings a kernel machine back, together with its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(super) kernel: Kernel,
    /// σ² shared by the tasks.
    pub(crate) noise: f64,
}

/// Draws cosines and infers their weights.
pub(super) fn fit(problem: &Problem, settings: &Settings, weight: f64, observer: Observer<'_>) -> Result<Found> {
    let drawn = settings.feature_count(weight);
    let rows = problem.inputs.nrows();
    let bytes = 8.0 * rows as f64 * drawn as f64;
    if bytes > 64e9 {
        return Err(Error::Setting {
            name: "features",
            problem: format!("{drawn} cosines of {rows} rows need {:.0} GB a copy; use fewer", bytes / 1e9),
        });
    }
    Waves::found(problem, vb::infer_best(problem, settings, drawn, observer)?, drawn)
}

impl Waves {
    /// The joint posterior where inference ended.
    pub(super) fn found(problem: &Problem, found: Inference, drawn: usize) -> Result<Found> {
        let mut design = found.basis.features_and_one(problem.inputs.as_ref().as_ref(), &found.scales);
        scale_rows(&mut design, &problem.root);
        let tau = found.noise.iter().map(|t| t.mean()).collect();
        let posterior = Posterior::new(problem, design, &found.alpha, tau, Threads::current())?;
        let waves =
            Waves { basis: found.basis, scales: found.scales, noise: found.noise, posterior, drawn, origin: None };
        Ok(Found { function: Function::Waves(waves), trace: found.trace, stop: found.stop })
    }

    /// Sinusoids that reproduce a kernel machine. Their weights are those that do; the noise of a task is what that
    /// machine's leave-one-out residuals and the difference of the two functions leave to it (equation 30). Its own noise
    /// would not do: what a rough kernel takes for a narrow spike at a row is noise to a few sinusoids.
    pub(super) fn distilled(
        problem: &Problem,
        machine: KernelMachine,
        shared_noise: f64,
        count: usize,
        seed: u64,
    ) -> Result<Waves> {
        let threads = Threads::current();
        let tasks = problem.tasks();
        let original = Original {
            inputs: &problem.inputs,
            kernel: &machine.kernel,
            noise: (0..tasks).map(|c| machine.noise_variance(c)).sum::<f64>() / tasks as f64,
            mean: |rows: MatRef<'_, f64>| machine.predict(rows, false, threads).0,
        };
        let sinusoids = distil(&original, count, seed, threads)?;
        let (basis, scales) = sinusoids.basis();
        let (bias, weights) = (&sinusoids.bias, &sinusoids.weights);
        let mean =
            Mat::from_fn(
                weights.nrows() + 1,
                tasks,
                |k, c| {
                    if k < weights.nrows() { weights[(k, c)] } else { bias[c] }
                },
            );
        let design = basis.features_and_one(problem.inputs.as_ref().as_ref(), &scales);
        let (residual, _) = machine.leave_one_out();
        let square = |c: usize| mean_square(problem, &machine, &residual, c) + sinusoids.misfit[c];
        // What was read off at many rows is known no better than the training rows know it: together they weigh as much.
        let share = problem.inputs.nrows() as f64 / sinusoids.rows.nrows() as f64;
        let weights = vec![share; sinusoids.rows.nrows()];
        let around = Problem::new(sinusoids.rows.clone(), Mat::zeros(weights.len(), tasks), Some(&weights));
        let posterior = |tau: Vec<f64>| {
            let typical = tau.iter().sum::<f64>() / tasks as f64;
            let alpha: Vec<f64> = sinusoids.ratio.iter().map(|ratio| ratio * typical).collect();
            let mut design = basis.features_and_one(around.inputs.as_ref().as_ref(), &scales);
            scale_rows(&mut design, &around.root);
            Posterior::new(&around, design, &alpha, tau, threads)
        };
        // Residuals hold the noise and what the weights leave open, which is proportional to it.
        let open = posterior(vec![1.0; tasks])?.variance(&design, threads);
        let open = open.col_as_slice(0).iter().sum::<f64>() / design.nrows() as f64;
        // E[1/τ] is the noise, known as well as its rows allow.
        let belief = |c: usize| {
            let half = 0.5 * problem.mass[c];
            Gamma { shape: 1.0 + half, rate: half * square(c) / (1.0 + open) }
        };
        let noise: Vec<Gamma> = (0..tasks).map(belief).collect();
        let mut posterior = posterior(noise.iter().map(|noise| noise.mean()).collect())?;
        posterior.mean = mean;
        let origin = Some(Origin { kernel: machine.kernel, noise: shared_noise });
        Ok(Waves { basis, scales, noise, posterior, drawn: sinusoids.phases.len(), origin })
    }

    /// Leave-one-out of sinusoids that reproduce a kernel machine: that machine's residuals, their own uncertainty.
    pub(super) fn leave_one_out_of(&self, machine: &KernelMachine, threads: Threads) -> (Mat<f64>, Mat<f64>) {
        let design = self.basis.features_and_one(machine.inputs.as_ref().as_ref(), &self.scales);
        (machine.leave_one_out().0, self.posterior.variance(&design, threads))
    }

    /// Mean and, if wanted, variance of the function at standardised rows.
    pub(super) fn predict(
        &self,
        rows: MatRef<'_, f64>,
        uncertain: bool,
        threads: Threads,
    ) -> (Mat<f64>, Option<Mat<f64>>) {
        let design = self.basis.features_and_one(rows, &self.scales);
        let mean = multiply(design.as_ref(), self.posterior.mean.as_ref(), threads);
        (mean, uncertain.then(|| self.posterior.variance(&design, threads)))
    }

    /// Joint draws of the function at standardised rows.
    pub(super) fn sample(
        &self,
        rows: MatRef<'_, f64>,
        draws: usize,
        rng: &mut impl Rng,
        threads: Threads,
    ) -> Vec<Mat<f64>> {
        let design = self.basis.features_and_one(rows, &self.scales);
        (0..draws).map(|_| multiply(design.as_ref(), self.posterior.sample(rng).as_ref(), threads)).collect()
    }

    /// Share of each observed cell in its own fitted value; others stay zero.
    pub(super) fn leverage(
        &self,
        rows: MatRef<'_, f64>,
        targets: &Mat<f64>,
        root: &[f64],
        threads: Threads,
    ) -> Mat<f64> {
        let design = self.basis.features_and_one(rows, &self.scales);
        let (_, without) = self.posterior.leave_one_out(&design, targets, root, threads);
        let with = self.posterior.variance(&design, threads);
        Mat::from_fn(with.nrows(), with.ncols(), |n, c| {
            let ratio = with[(n, c)] / without[(n, c)];
            if ratio.is_finite() { (1.0 - ratio).clamp(0.0, 1.0) } else { 0.0 }
        })
    }

    /// Residual and variance of the function in each observed cell had its row been left out: equation 18.
    pub(super) fn leave_one_out(
        &self,
        rows: MatRef<'_, f64>,
        targets: &Mat<f64>,
        root: &[f64],
        threads: Threads,
    ) -> (Mat<f64>, Mat<f64>) {
        let design = self.basis.features_and_one(rows, &self.scales);
        let (mut residual, variance) = self.posterior.leave_one_out(&design, targets, root, threads);
        // The posterior sees rows times the root of their weight; one of weight zero was never in.
        let factors: Vec<f64> = root.iter().map(|u| if *u > 0.0 { u.recip() } else { 0.0 }).collect();
        scale_rows(&mut residual, &factors);
        (residual, variance)
    }
}

/// Weighted mean square of the observed residuals of a task.
fn mean_square(problem: &Problem, machine: &KernelMachine, residual: &Mat<f64>, task: usize) -> f64 {
    let all: Vec<usize> = (0..residual.nrows()).collect();
    let rows = machine.observed[task].as_ref().unwrap_or(&all);
    let sum: f64 = rows.iter().map(|&n| (problem.root[n] * residual[(n, task)]).powi(2)).sum();
    // A target hit exactly still needs a noise that can be divided by.
    (sum / problem.mass[task]).max(1e-12)
}
