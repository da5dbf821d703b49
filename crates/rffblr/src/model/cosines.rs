//! The function as drawn cosines, weighted by variational inference.

use super::Function;
use super::fit::Found;
use super::posterior::Posterior;
use super::waves::Waves;
use crate::error::{Error, Result};
use crate::fourier::Scales;
use crate::linalg::{Threads, scale_rows};
use crate::problem::Problem;
use crate::steps::Observer;
use crate::vb::{self, Gamma, Inference, Plan};

/// Cosines that were drawn and kept.
#[derive(Clone, Debug)]
pub(crate) struct Cosines {
    pub(crate) waves: Waves,
    /// The bandwidth and input scales that are in their frequencies.
    pub(crate) scales: Scales,
    /// q(τ) of each task.
    pub(crate) noise: Vec<Gamma>,
    /// How many were drawn.
    pub(crate) drawn: usize,
}

/// Draws cosines and infers their weights; the rows count as `weight` rows.
pub(super) fn fit(problem: &Problem, plan: Plan<'_>, weight: f64, observer: Observer<'_>) -> Result<Found> {
    let drawn = plan.settings.feature_count(weight);
    let rows = problem.inputs.nrows();
    let bytes = 8.0 * rows as f64 * drawn as f64;
    if bytes > 64e9 {
        return Err(Error::Setting {
            name: "features",
            problem: format!("{drawn} cosines of {rows} rows need {:.0} GB a copy; use fewer", bytes / 1e9),
        });
    }
    let Inference { basis, scales, alpha, noise, trace, stop } = vb::infer_best(problem, plan, drawn, observer)?;
    let basis = basis.scaled(&scales);
    // The joint posterior of weights and bias where inference ended.
    let mut design = basis.features_and_one(problem.inputs.as_ref().as_ref());
    scale_rows(&mut design, &problem.root);
    let tau = noise.iter().map(|t| t.mean()).collect();
    let posterior = Posterior::new(problem, design, &alpha, tau, Threads::current())?;
    let cosines = Cosines { waves: Waves { basis, posterior }, scales, noise, drawn };
    Ok(Found { function: Function::Cosines(Box::new(cosines)), trace, stop })
}
