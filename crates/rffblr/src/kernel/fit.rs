//! Learning the kernels of a model: from few rows first, from a sample if there are many, then those of tasks that depart.

use super::{Learned, Prior, Shared, groups, learn};
use crate::error::Result;
use crate::linalg::Threads;
use crate::problem::Problem;
use crate::settings::{Form, Settings};
use crate::steps::{Iteration, Observer, Stop};
use std::ops::ControlFlow;

/// Most rows from which the kernel is learned: each step of the search costs their cube.
pub(crate) const LEARNING_ROWS: usize = 1500;
/// Rows from which it is learned first, if there are more than twice as many.
const FIRST_ROWS: usize = 300;
/// A climb that only tries something, from where another ended, also ends when a step gains less than this share of what all of its
/// steps have gained. The kernel itself is climbed to the top: on the way are plateaus with more to gain behind them.
pub(super) const OF_CLIMB: f64 = 0.02;
/// Most steps of a climb that only tries something.
const FEW_STEPS: usize = 15;
/// Most rows of a kernel machine, and most that the processor fits: the cube of the rows takes less time on a device.
pub(crate) const MOST_ROWS: usize = 40_000;
pub(crate) const MOST_ROWS_HERE: usize = 20_000;

/// What was learned for each group of tasks, and how.
pub(crate) struct Groups {
    pub(crate) groups: Vec<Shared>,
    pub(crate) trace: Vec<Iteration>,
    pub(crate) stop: Stop,
}

/// How many rows a first look takes: few if there are many, which cost little, and else all.
pub(crate) fn first_rows(rows: usize) -> usize {
    if rows > 2 * FIRST_ROWS { FIRST_ROWS } else { rows }
}

/// A search for the kernel of a model, in several climbs, each from where one before it ended.
pub(crate) struct Search<'a> {
    settings: &'a Settings,
    observer: Observer<'a>,
    threads: Threads,
    /// Of the model.
    rows: usize,
    spent: usize,
}

/// The end of a climb, and the way there.
pub(crate) struct Climbed {
    pub(crate) learned: Learned,
    trace: Vec<Iteration>,
}

impl Climbed {
    /// Whether the observer asked to stop.
    pub(crate) fn asked(&self) -> bool {
        self.learned.asked
    }

    /// The other one, to stop there.
    pub(crate) fn instead(self, mut other: Climbed) -> Climbed {
        other.learned.asked = self.learned.asked;
        other
    }

    /// An attempt that stands in for the climb it started from: where that one had ended, it goes no farther than needed.
    pub(crate) fn converged_like(mut self, other: &Climbed) -> Climbed {
        self.learned.converged = other.learned.converged;
        self
    }
}

impl<'a> Search<'a> {
    pub(crate) fn new(rows: usize, settings: &'a Settings, observer: Observer<'a>) -> Self {
        Search { settings, observer, threads: Threads::current(), rows, spent: 0 }
    }

    /// Climbs with the rows of this problem, or a sample of them, until there is nothing to gain.
    pub(crate) fn climb(&mut self, problem: &Problem, earlier: Option<&Climbed>) -> Result<Climbed> {
        let part = problem.part(LEARNING_ROWS, self.settings.seed);
        self.steps(part.as_ref().unwrap_or(problem), earlier, (usize::MAX, 0.0))
    }

    /// Climbs by a few steps: what similar targets would change.
    pub(crate) fn attempt(&mut self, problem: &Problem, earlier: &Climbed) -> Result<Climbed> {
        let drawn = matches!(self.settings.form, Form::Drawn { .. });
        self.steps(problem, Some(earlier), (FEW_STEPS, if drawn { 0.0 } else { OF_CLIMB }))
    }

    fn steps(
        &mut self,
        problem: &Problem,
        earlier: Option<&Climbed>,
        (most, of_climb): (usize, f64),
    ) -> Result<Climbed> {
        // Where it starts counts too, and so do earlier climbs.
        let steps = self.settings.max_iterations.saturating_sub(self.spent + 1).min(most);
        let (mut trace, rows) = (Vec::new(), self.rows);
        let earlier = earlier.map(|earlier| &earlier.learned);
        let learned =
            learn(problem, Prior::Typical, earlier, (steps, of_climb), self.threads, |kernel, noise, objective| {
                trace.push(Iteration {
                    restart: 0,
                    number: trace.len() + 1,
                    objective,
                    active: rows,
                    bandwidth: kernel.rbf.bandwidth,
                    noise_precision: vec![1.0 / noise],
                    left: None,
                });
                trace.last().map_or(ControlFlow::Continue(()), self.observer)
            })?;
        self.spent += trace.len();
        Ok(Climbed { learned, trace })
    }

    /// The tasks in groups: those that stay with the kernel of all, and those that depart from it.
    pub(crate) fn groups(self, problem: &Problem, Climbed { learned, trace }: Climbed) -> Result<Groups> {
        let mut stop = match (learned.asked, learned.converged) {
            (true, _) => Stop::Requested,
            (false, true) => Stop::Converged,
            (false, false) => Stop::MaxIterations,
        };
        let part = problem.part(LEARNING_ROWS, self.settings.seed);
        let steps = (self.settings.seed, self.settings.max_iterations);
        let groups = groups(part.as_ref().unwrap_or(problem), learned, steps, self.threads, |_, _, _| {
            let go_on = trace.last().map_or(ControlFlow::Continue(()), self.observer);
            if go_on.is_break() {
                stop = Stop::Requested;
            }
            go_on
        })?;
        Ok(Groups { groups, trace, stop })
    }
}
