//! One record for each sweep, and when it is enough.

use super::Plan;
use super::beliefs::Beliefs;
use super::design::Design;
use crate::steps::{Iteration, Observer, Stop};

impl Iteration {
    pub(crate) fn of(restart: usize, number: usize, objective: f64, design: &Design, q: &Beliefs) -> Self {
        Iteration {
            restart,
            number,
            objective,
            active: design.columns(),
            bandwidth: design.scales.bandwidth,
            noise_precision: q.noise.iter().map(|t| t.mean()).collect(),
            left: None,
        }
    }
}

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
