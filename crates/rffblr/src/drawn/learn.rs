//! Learning the kernels of drawn features on samples that grow: exactly first, as the kernel form does, then through the
//! marginal likelihood of drawn cosines, until another size does not pay.

use super::evidence::Evidence;
use super::features::Draw;
use crate::error::{Error, Result};
use crate::kernel::hyper::{INPUT_SCALES, NOISE, RANGE, pack};
use crate::kernel::{End, Groups, Kernel, Learned, Shared, climb, fit_groups};
use crate::linalg::Threads;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::steps::{Iteration, Observer, Stop};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Rows of the first sample on which drawn cosines learn; each next one is [`GROWTH`] times as large.
const FIRST_ROWS: usize = 6_000;
const GROWTH: usize = 4;
/// Most rows of such a sample.
pub(crate) const MOST_ROWS: usize = 96_000;
/// Most cosines on which the kernel is learned, on the first sample and on larger ones: each step costs rows times their
/// square, and a kernel that falls fast shows its worth only with many.
const MOST_FEATURES: [usize; 2] = [1024, 2048];
/// L-BFGS steps on one sample.
const STEPS: usize = 30;
/// Multiplications that learning may cost: so many for each row of the data, within bounds.
const WORK: (f64, f64, f64) = (2.5e7, 1e12, 8e12);
/// A larger sample must allow this many steps.
const LEAST_STEPS: f64 = 4.0;
/// A search ends when a step gains less than this for each observed cell, in nats.
const TOLERANCE: f64 = 5e-5;
/// The sample grows as long as it gained more than this for each observed cell: 0.002 nats are 0.4 % of the variance that
/// is left.
const WORTH: f64 = 0.002;

/// A task gets a kernel of its own if that gains this much for each of its cells on the first sample.
const APART: f64 = 0.01;
/// Steps in which it shows.
const APART_STEPS: usize = 8;

/// Tasks that share a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// The tasks, rising.
    pub(crate) tasks: Vec<usize>,
    pub(crate) kernel: Kernel,
    /// σ² shared by the tasks, from which each one's own may depart.
    pub(crate) shared_noise: f64,
    /// σ² of each task in units of its amplitude.
    pub(crate) noise: Vec<f64>,
}

/// What was learned, and how.
pub(crate) struct Found {
    pub(crate) groups: Vec<Group>,
    pub(crate) trace: Vec<Iteration>,
    pub(crate) stop: Stop,
}

/// Where the search for the kernel of some tasks is: the logarithms of its hyper-parameters.
#[derive(Clone)]
struct State {
    tasks: Vec<usize>,
    at: Vec<f64>,
}

/// What all searches have in common.
struct Search<'a> {
    sample: &'a Problem,
    /// For the first sample and for larger ones.
    draws: [Draw; 2],
    settings: &'a Settings,
    observer: Observer<'a>,
    trace: Vec<Iteration>,
    stop: Stop,
    threads: Threads,
}

/// Learns from a sample of data that have so many rows; the model will have this many features.
pub(crate) fn learn(
    sample: &Problem,
    (rows, features): (f64, usize),
    settings: &Settings,
    observer: Observer<'_>,
) -> Result<Found> {
    let Groups { groups, trace, stop } = fit_groups(sample, settings, observer)?;
    let draw = |most: usize| {
        let quarter = features.min(most).div_ceil(4).max(1);
        Draw::new(sample.inputs.ncols(), [quarter, quarter], settings.seed)
    };
    let draws = MOST_FEATURES.map(draw);
    let threads = Threads::current();
    let mut search = Search { sample, draws, settings, observer, trace, stop, threads };
    let mut found = Vec::new();
    for Shared { tasks, kernel, noise } in groups {
        let at = pack(&Learned::at(kernel, noise), &sample.origin);
        found.extend(search.first(State { tasks, at })?);
    }
    let work = (WORK.0 * rows).clamp(WORK.1, WORK.2) / found.len() as f64;
    for state in &mut found {
        search.grow(state, work)?;
    }
    let groups = found.into_iter().map(|state| search.group(state)).collect();
    Ok(Found { groups, trace: search.trace, stop: search.stop })
}

impl Search<'_> {
    /// Some tasks on some rows.
    fn problem(&self, tasks: &[usize], rows: usize) -> Problem {
        let part = self.sample.part(rows, self.settings.seed);
        part.as_ref().unwrap_or(self.sample).of_tasks(tasks)
    }

    /// Climbs on some rows; gives the gain for each observed cell.
    fn climb(&mut self, state: &mut State, rows: usize, steps: usize, evaluations: &mut usize) -> Result<f64> {
        let problem = self.problem(&state.tasks, rows);
        let draw = &self.draws[usize::from(rows > FIRST_ROWS)];
        let evidence = Evidence::new(&problem, draw, self.threads);
        state.at.resize(evidence.prior.mean.len(), 0.0);
        let (cells, columns) = (problem.count.iter().sum::<f64>(), draw.columns());
        let (trace, observer, mut first) = (&mut self.trace, self.observer, None);
        let watch = |at: &[f64], objective: f64| {
            first.get_or_insert(objective);
            let (kernel, _, noise) = evidence.unpack(at);
            trace.push(Iteration {
                restart: 0,
                number: trace.len() + 1,
                objective,
                active: columns,
                bandwidth: kernel.rbf.bandwidth,
                noise_precision: noise.iter().map(|noise| noise.recip()).collect(),
            });
            trace.last().map_or(ControlFlow::Continue(()), observer)
        };
        let function = |at: &[f64]| {
            *evaluations += 1;
            evidence.at(at)
        };
        let steps = steps.min(self.settings.max_iterations);
        let found = climb(std::mem::take(&mut state.at), RANGE, steps, (TOLERANCE * cells, 0.0), function, watch);
        let (top, value, end) = found.ok_or(Error::Singular { size: columns, noise: f64::NAN })?;
        state.at = top;
        if end == End::Asked {
            self.stop = Stop::Requested;
        }
        Ok((value - first.unwrap_or(value)) / cells)
    }

    /// The first sample: together, then each task that gains by a kernel of its own.
    fn first(&mut self, mut state: State) -> Result<Vec<State>> {
        if self.stop == Stop::Requested {
            return Ok(vec![state]);
        }
        self.climb(&mut state, FIRST_ROWS, STEPS, &mut 0)?;
        let mut apart = Vec::new();
        let kernel = state.at.len().min(INPUT_SCALES + self.sample.input_count());
        for (place, &task) in state.tasks.iter().enumerate().filter(|_| state.tasks.len() > 1) {
            if self.stop == Stop::Requested {
                break;
            }
            let mut own = State { tasks: vec![task], at: state.at[..kernel].to_vec() };
            own.at[NOISE] += state.at.get(kernel + place).unwrap_or(&0.0);
            if self.climb(&mut own, FIRST_ROWS, APART_STEPS, &mut 0)? > APART {
                apart.push(own);
            }
        }
        let gone: Vec<usize> = apart.iter().map(|own| own.tasks[0]).collect();
        let stays: Vec<usize> = (0..state.tasks.len()).filter(|&place| !gone.contains(&state.tasks[place])).collect();
        if stays.len() < state.tasks.len() {
            let noise = stays.iter().filter_map(|place| state.at.get(kernel + place).copied());
            let at = state.at[..kernel].iter().copied().chain(noise).collect();
            state = State { tasks: stays.iter().map(|&place| state.tasks[place]).collect(), at };
        }
        Ok(Some(state).filter(|state| !state.tasks.is_empty()).into_iter().chain(apart).collect())
    }

    /// Larger samples, as long as they pay and the work is left.
    fn grow(&mut self, state: &mut State, mut work: f64) -> Result<()> {
        let available = self.sample.inputs.nrows().min(MOST_ROWS);
        let mut size = FIRST_ROWS;
        while size < available && self.stop != Stop::Requested {
            size = (size * GROWTH).min(MOST_ROWS);
            // ΦᵀΦ, and Φ times a matrix of its width.
            let cost = 1.5 * size.min(available) as f64 * (self.draws[1].columns() as f64).powi(2);
            if work < LEAST_STEPS * cost {
                break;
            }
            let mut evaluations = 0;
            let gain = self.climb(state, size, STEPS.min((work / cost) as usize), &mut evaluations)?;
            work -= cost * evaluations as f64;
            if gain < WORTH {
                break;
            }
        }
        Ok(())
    }

    fn group(&self, State { tasks, at }: State) -> Group {
        let problem = self.problem(&tasks, 1);
        let (kernel, shared_noise, noise) = Evidence::new(&problem, &self.draws[0], self.threads).unpack(&at);
        Group { tasks, kernel, shared_noise, noise }
    }
}
