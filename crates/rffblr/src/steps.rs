//! What happens during a fit, step by step, in every form.

use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// One sweep of the updates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// Which restart this belongs to.
    pub restart: usize,
    /// Counted from one.
    pub number: usize,
    /// What the fit maximises, in nats: for a Gaussian process the log marginal likelihood plus the log prior of its
    /// hyper-parameters, without constants; for drawn cosines the variational lower bound (ELBO).
    pub objective: f64,
    /// Features still in the model, links included.
    pub active: usize,
    /// Bandwidth γ during the sweep.
    pub bandwidth: f64,
    /// ⟨τ⟩, one or one per task.
    pub noise_precision: Vec<f64>,
    /// Most steps like this one that are still to come, while that is known; not in the trace of a model.
    #[serde(skip)]
    pub left: Option<usize>,
}

/// Why the updates ended. None of these is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The bound changed by less than the tolerance.
    Converged,
    /// The largest number of sweeps was reached.
    MaxIterations,
    /// All steps were made that its effort allows: more of it might predict better. Drawn features alone.
    Effort,
    /// The observer asked for it.
    Requested,
}

/// Sees every sweep of every restart (possibly from several threads) and may ask to stop.
pub type Observer<'a> = &'a (dyn Fn(&Iteration) -> ControlFlow<()> + Sync);
