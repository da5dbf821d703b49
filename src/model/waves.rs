//! The function as weighted cosines and direct links.

use super::posterior::Posterior;
use super::{Found, Function};
use crate::error::{Error, Result};
use crate::fourier::{Basis, Scales};
use crate::linalg::{Mat, MatRef, Threads, multiply, scale_rows};
use crate::vb::{self, Gamma, Inference, Observer, Problem, Settings};
use rand::Rng;

/// Cosines, their scales and the posterior of their weights, on the standardised scale.
#[derive(Clone, Debug)]
pub(super) struct Waves {
    pub(super) basis: Basis,
    pub(super) scales: Scales,
    /// q(τ) of each task.
    pub(super) noise: Vec<Gamma>,
    pub(super) posterior: Posterior,
    /// Cosines that were drawn.
    pub(super) drawn: usize,
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
        let mut design = found.basis.features_and_one(problem.inputs.as_ref(), &found.scales);
        scale_rows(&mut design, &problem.root);
        let tau = found.noise.iter().map(|t| t.mean()).collect();
        let posterior = Posterior::new(problem, design, &found.alpha, tau, Threads::current())?;
        let waves = Waves { basis: found.basis, scales: found.scales, noise: found.noise, posterior, drawn };
        Ok(Found { function: Function::Waves(waves), trace: found.trace, stop: found.stop })
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
