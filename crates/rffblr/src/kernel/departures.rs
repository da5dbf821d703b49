//! Hyper-parameters of its own for a task, with the shared ones as prior mean, where they improve it (equation 27a).

use super::fit::OF_CLIMB;
use super::learn::{Learned, Prior, learn};
use super::{Kernel, KernelMachine, Shared};
use crate::error::Result;
use crate::linalg::Threads;
use crate::problem::Problem;
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Rows on which hyper-parameters of its own are tried for every task; most tasks keep the shared ones after this.
const FIRST_ROWS: usize = 100;
/// Most rows from which a task's own kernel is learned.
const MOST_ROWS: usize = 400;
/// L-BFGS steps on [`FIRST_ROWS`] and on [`MOST_ROWS`].
const STEPS: [usize; 2] = [6, 25];
/// Least gain in log marginal likelihood plus log prior, in nats, for a task to get its own kernel.
const GAIN: f64 = 3.0;
/// Further gain that is required for each input: with many inputs some gain is found by chance.
const GAIN_PER_INPUT: f64 = 1.0 / 40.0;
/// Largest squared leave-one-out error of the own kernel as a share of that of the shared one: a few outliers alone can
/// raise the marginal likelihood.
const ERROR: f64 = 0.9;

/// The tasks in groups: those that stay with the shared kernel, and one for each that departs from it. `watch` sees every
/// step; asked to stop, all stay.
pub(crate) fn groups(
    problem: &Problem,
    shared: Learned,
    (seed, steps): (u64, usize),
    threads: Threads,
    watch: impl FnMut(&Kernel, f64, f64) -> ControlFlow<()> + Send,
) -> Result<Vec<Shared>> {
    let watch = Mutex::new(watch);
    let mut staying: Vec<usize> = (0..problem.tasks()).collect();
    let mut departed = Vec::new();
    if problem.tasks() > 1 && !shared.asked {
        for (most, climb) in [FIRST_ROWS, MOST_ROWS].into_iter().zip(STEPS) {
            let part = problem.part(most, seed);
            let rows = part.as_ref().unwrap_or(problem);
            let all = rows.inputs.nrows() == problem.inputs.nrows();
            let climb = if all { STEPS[1] } else { climb }.min(steps);
            // What was found on few rows is tried again on more.
            let tried = if departed.is_empty() { staying.clone() } else { tasks_of(&departed) };
            departed = alone(rows, &shared, &departed, &tried, climb, threads, &watch)?;
            if departed.is_empty() || all {
                break;
            }
        }
        let gone = tasks_of(&departed);
        staying.retain(|task| !gone.contains(task));
    }
    let rest = Shared { tasks: staying, kernel: shared.kernel, noise: shared.noise };
    let own =
        departed.into_iter().map(|(task, own)| Shared { tasks: vec![task], kernel: own.kernel, noise: own.noise });
    Ok(Some(rest).filter(|rest| !rest.tasks.is_empty()).into_iter().chain(own).collect())
}

fn tasks_of(departed: &[(usize, Learned)]) -> Vec<usize> {
    departed.iter().map(|(task, _)| *task).collect()
}

/// The tasks that do better with their own kernel on these rows, each on one thread; the search starts from what was found
/// before.
fn alone(
    rows: &Problem,
    shared: &Learned,
    before: &[(usize, Learned)],
    tasks: &[usize],
    steps: usize,
    threads: Threads,
    watch: &Mutex<impl FnMut(&Kernel, f64, f64) -> ControlFlow<()> + Send>,
) -> Result<Vec<(usize, Learned)>> {
    let together = Fit::new(&rows.of_tasks(tasks), shared, threads)?;
    let least = GAIN + GAIN_PER_INPUT * rows.input_count() as f64;
    let one = |(i, &task): (usize, &usize)| -> Result<Option<(usize, Learned)>> {
        let own = rows.of_tasks(&[task]);
        if own.groups.iter().all(|group| group.root.is_empty()) {
            return Ok(None);
        }
        let start = before.iter().find(|(other, _)| *other == task).map_or(shared, |(_, found)| found);
        let show = |kernel: &Kernel, noise: f64, objective: f64| {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch(kernel, noise, objective)
        };
        let found = learn(&own, Prior::Around(shared), Some(start), (steps, OF_CLIMB), Threads::ONE, show)?;
        if found.asked {
            return Ok(Some((task, found)));
        }
        let fit = Fit::new(&own, &found, Threads::ONE)?;
        let gain = fit.evidence[0] - found.surprise - together.evidence[i];
        Ok((gain > least && fit.error[0] < ERROR * together.error[i]).then_some((task, found)))
    };
    let tried = match threads {
        Threads::ONE => tasks.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?,
        _ => tasks.par_iter().enumerate().map(one).collect::<Result<Vec<_>>>()?,
    };
    let better: Vec<(usize, Learned)> = tried.into_iter().flatten().collect();
    Ok(if better.iter().any(|(_, found)| found.asked) { Vec::new() } else { better })
}

/// How a kernel does for each task, at its best noise and amplitude.
struct Fit {
    /// Log marginal likelihood, without constants.
    evidence: Vec<f64>,
    /// Sum of squared leave-one-out errors.
    error: Vec<f64>,
}

impl Fit {
    fn new(problem: &Problem, learned: &Learned, threads: Threads) -> Result<Fit> {
        let (machine, evidence) = KernelMachine::fitted(problem, learned.kernel.clone(), learned.noise, threads)?;
        let residual = machine.leave_one_out().residual;
        let error = (0..residual.ncols()).map(|c| residual.col_as_slice(c).iter().map(|e| e * e).sum()).collect();
        Ok(Fit { evidence, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    fn draws(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
    }

    fn learned(problem: &Problem) -> Learned {
        learn(problem, Prior::Typical, None, (60, 0.0), Threads::ONE, |_, _, _| ControlFlow::Continue(())).unwrap()
    }

    fn grouped(problem: &Problem) -> Vec<Shared> {
        let shared = learned(problem);
        groups(problem, shared, (0, 60), Threads::ONE, |_, _, _| ControlFlow::Continue(())).unwrap()
    }

    /// Each task has two inputs of its own.
    #[test]
    fn tasks_of_other_inputs_get_kernels_of_their_own() {
        let (x, noise) = (draws(120, 8, 1), draws(120, 4, 2));
        let y = Mat::from_fn(120, 4, |n, c| (1.5 * x[(n, 2 * c)]).sin() + x[(n, 2 * c + 1)] + 0.2 * noise[(n, c)]);
        let found = grouped(&Problem::new(x, y, None));
        let mut tasks: Vec<usize> = found.iter().flat_map(|group| group.tasks.clone()).collect();
        tasks.sort_unstable();
        assert_eq!(tasks, [0, 1, 2, 3]);
        assert!(found.len() >= 3, "{} groups", found.len());
        // The first are those that stayed.
        for group in &found[1..] {
            let (own, r) = (2 * group.tasks[0], &group.kernel.input_scales);
            let others = (0..8).filter(|d| *d != own && *d != own + 1).map(|d| r[d]).fold(0.0, f64::max);
            assert!(r[own] > others, "{:?}: {r:?}", group.tasks);
        }
    }

    #[test]
    fn tasks_of_the_same_inputs_stay_together() {
        let (x, noise) = (draws(90, 6, 1), draws(90, 3, 2));
        let y =
            Mat::from_fn(90, 3, |n, c| (2.0 * x[(n, 0)]).sin() * (1.0 + c as f64) + x[(n, 1)] + 0.3 * noise[(n, c)]);
        let found = grouped(&Problem::new(x, y, None));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].tasks, [0, 1, 2]);
    }

    #[test]
    fn asked_to_stop_all_stay() {
        let x = draws(90, 6, 1);
        let y = Mat::from_fn(90, 2, |n, c| (3.0 * x[(n, 3 * c)]).sin());
        let problem = Problem::new(x, y, None);
        let shared = learned(&problem);
        let found = groups(&problem, shared, (0, 60), Threads::ONE, |_, _, _| ControlFlow::Break(())).unwrap();
        assert_eq!(found.len(), 1);
    }
}
