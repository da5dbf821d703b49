//! What happened, sweep by sweep, and when it is enough.

use super::Plan;
use super::beliefs::Beliefs;
use super::design::Design;
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
}

impl Iteration {
    pub(crate) fn of(restart: usize, number: usize, objective: f64, design: &Design, q: &Beliefs) -> Self {
        Iteration {
            restart,
            number,
            objective,
            active: design.columns(),
            bandwidth: design.scales.bandwidth,
            noise_precision: q.noise.iter().map(|t| t.mean()).collect(),
        }
    }
}

/// Why the updates ended. None of these is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The bound changed by less than the tolerance.
    Converged,
    /// The largest number of sweeps was reached.
    MaxIterations,
    /// The observer asked for it.
    Requested,
}

/// Sees every sweep of every restart (possibly from several threads) and may ask to stop.
pub type Observer<'a> = &'a (dyn Fn(&Iteration) -> ControlFlow<()> + Sync);

/// Whether the last sweep was the last.
pub(crate) fn stop(trace: &[Iteration], plan: Plan<'_>, observer: Observer<'_>) -> Option<Stop> {
    let last = trace.last()?;
    if observer(last).is_break() {
        return Some(Stop::Requested);
    }
    if let [.., before, last] = trace
        && before.active == last.active
    {
        let (before, now) = (before.objective, last.objective);
        if (now - before).abs() < plan.settings.tolerance * now.abs().max(1.0) {
            return Some(Stop::Converged);
        }
    }
    (trace.len() >= plan.max_iterations).then_some(Stop::MaxIterations)
}
