//! Learning the kernels of a model: from few rows first, from a sample if there are many, then those of tasks that depart.

use super::{Learned, Prior, Shared, groups, learn};
use crate::error::Result;
use crate::linalg::Threads;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::steps::{Iteration, Observer, Stop};
use std::ops::ControlFlow;

/// Most rows from which the kernel is learned: each step of the search costs their cube.
const LEARNING_ROWS: usize = 1500;
/// Rows from which it is learned first, if there are more than twice as many.
const FIRST_ROWS: usize = 300;
/// Most steps of a search that starts from what was learned before.
const WARM_STEPS: usize = 15;
/// Most rows of a kernel machine, whose memory is a few of their squares.
pub(crate) const MOST_ROWS: usize = 20_000;

/// What was learned for each group of tasks, and how.
pub(crate) struct Groups {
    pub(crate) groups: Vec<Shared>,
    pub(crate) trace: Vec<Iteration>,
    pub(crate) stop: Stop,
}

/// Learns the kernel of all tasks, from a part of the rows if they are many, and those of tasks that depart from it. The
/// search starts from what was learned of similar targets before, if there is such; then it takes few steps, and tasks depart
/// only if some did before.
pub(crate) fn fit_groups(
    problem: &Problem,
    before: Option<&[Shared]>,
    settings: &Settings,
    observer: Observer<'_>,
) -> Result<Groups> {
    let rows = problem.inputs.nrows();
    let threads = Threads::current();
    let part = problem.part(LEARNING_ROWS, settings.seed);
    let learned_from = part.as_ref().unwrap_or(problem);
    // First with few rows, which cost little.
    let few = learned_from.part(FIRST_ROWS, settings.seed).filter(|_| learned_from.inputs.nrows() > 2 * FIRST_ROWS);
    let mut trace = Vec::new();
    let mut climb = |problem: &Problem, earlier: Option<&Learned>| {
        // Where it starts counts too, and so does what was spent on few rows.
        let most = if before.is_some() { WARM_STEPS.min(settings.max_iterations) } else { settings.max_iterations };
        let steps = most.saturating_sub(trace.len() + 1);
        trace.clear();
        learn(problem, Prior::Typical, earlier, steps, threads, |kernel, noise, objective| {
            trace.push(Iteration {
                restart: 0,
                number: trace.len() + 1,
                objective,
                active: rows,
                bandwidth: kernel.rbf.bandwidth,
                noise_precision: vec![1.0 / noise],
            });
            trace.last().map_or(ControlFlow::Continue(()), observer)
        })
    };
    let earlier = match before.and_then(|groups| groups.first()) {
        Some(Shared { kernel, noise, .. }) => Some(Learned::at(kernel.clone(), *noise)),
        None => few.map(|few| climb(&few, None)).transpose()?,
    };
    let learned = match earlier {
        Some(earlier) if earlier.asked => earlier,
        earlier => climb(learned_from, earlier.as_ref())?,
    };
    let mut stop = match (learned.asked, learned.converged) {
        (true, _) => Stop::Requested,
        (false, true) => Stop::Converged,
        (false, false) => Stop::MaxIterations,
    };
    if before.is_some_and(|groups| groups.len() == 1) {
        let tasks = (0..problem.tasks()).collect();
        let all = Shared { tasks, kernel: learned.kernel, noise: learned.noise };
        return Ok(Groups { groups: vec![all], trace, stop });
    }
    let steps = (settings.seed, settings.max_iterations);
    let groups = groups(learned_from, learned, steps, threads, |_, _, _| {
        let go_on = trace.last().map_or(ControlFlow::Continue(()), observer);
        if go_on.is_break() {
            stop = Stop::Requested;
        }
        go_on
    })?;
    Ok(Groups { groups, trace, stop })
}
