//! Learning the features on samples that grow: the kernels exactly first, as the kernel form does, then through the marginal
//! likelihood of features drawn from them, and at last, for the features of the model, the frequencies themselves.

use super::evidence::{Evidence, Rows, with_tasks};
use super::features::{Draw, shares};
use crate::adam::Adam;
use crate::device::{Backend, Cuda, chosen};
use crate::error::{Error, Result};
use crate::kernel::hyper::{INPUT_SCALES, NOISE, RANGE, pack};
use crate::kernel::{Curvature, Groups, Kernel, Learned, Shared, Start, Tolerance, climb};
use crate::problem::Problem;
use crate::settings::Settings;
use crate::steps::{Iteration, Observer, Stop};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Rows of the first sample, on which kernels are learned and tasks are grouped. With half as many features as the model may
/// have, or this many: far fewer could not follow a function that varies fast, and the kernel would be too smooth.
const FIRST_ROWS: usize = 6_000;
const FIRST_FEATURES: usize = 512;
/// Most rows of the sample on which the features of the model are learned with the usual effort, and with four times as much or
/// more.
const MOST_ROWS: (usize, usize) = (96_000, 384_000);
/// It is divided into batches, each of which serves one step in turn: a step costs its rows. So many rows for each feature,
/// within bounds: with fewer the frequencies follow the noise of a batch, with more there are too few steps.
const BATCH_EACH: usize = 22;
pub(crate) const BATCH: (usize, usize) = (24_000, 48_000);
/// Most L-BFGS steps of a search for the kernel on the first sample, and on a batch.
const KERNEL_STEPS: [usize; 2] = [30, 8];
/// Most steps of the search for frequencies with the usual effort, and whatever the effort.
const STEPS: (usize, usize) = (100, 400);
/// Length of its first steps, in units of the prior of each frequency; they become shorter step by step, down to nothing.
const RATE: f64 = 0.3;
/// One row in so many, or this many, are not learned from but used to check, after some steps each time, that the
/// frequencies predict better; so many checks in vain, and two more for every other batch, end the search.
const CHECK: usize = 10;
const CHECK_ROWS: usize = 5_000;
const CHECK_STEPS: usize = 3;
const CHECKS: usize = 4;
/// Multiplications that learning the features of the model may cost: so many for each row of the data, within bounds.
const WORK: (f64, f64, f64) = (4e7, 1e12, 1.2e13);
/// A search for the kernel ends when a step gains less than this for each observed cell, in nats.
const TOLERANCE: f64 = 5e-5;

/// How often noise is made ten times as large if the features are singular to rounding.
pub(super) const MOST_RAISES: usize = 8;

/// A task gets a kernel of its own if that gains this much for each of its cells on the first sample: each group of tasks costs
/// as much as all of them together.
const APART: f64 = 0.03;
/// Steps in which it shows.
const APART_STEPS: usize = 8;

/// Most rows of the sample on which the features of the model are learned: more effort is worth as many times more.
pub(crate) fn most_rows(effort: f64) -> usize {
    ((MOST_ROWS.0 as f64 * effort) as usize).clamp(MOST_ROWS.0, MOST_ROWS.1)
}

/// Most rows of a batch for features of so many columns.
fn batch_rows(columns: usize) -> usize {
    (BATCH_EACH * columns).clamp(BATCH.0, BATCH.1)
}

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
    /// Each group with its frequencies.
    pub(crate) groups: Vec<(Group, Draw)>,
    pub(crate) trace: Vec<Iteration>,
    pub(crate) stop: Stop,
}

/// Where the search for the kernel of some tasks is: the logarithms of its hyper-parameters.
struct State {
    tasks: Vec<usize>,
    at: Vec<f64>,
    /// Curvature of the objective there, for each observed cell.
    curvature: Curvature,
}

impl State {
    fn new(tasks: Vec<usize>, at: Vec<f64>) -> State {
        State { tasks, at, curvature: Curvature::default() }
    }
}

/// What all searches have in common.
struct Search<'a, B> {
    sample: &'a Problem,
    settings: &'a Settings,
    backend: &'a B,
    observer: Observer<'a>,
    trace: Vec<Iteration>,
    stop: Stop,
    /// Most rows to learn the features of the model from.
    rows: usize,
    /// Most steps of a search for frequencies, and of all that come after the one that is under way.
    steps: usize,
    later: usize,
}

/// Multiplications that learning the features of the model may cost.
fn work(rows: f64, effort: f64) -> f64 {
    effort * (WORK.0 * rows).clamp(WORK.1, WORK.2)
}

/// The device that learning is done on, if that is asked for or quicker.
pub(crate) fn device(
    sample: &Problem,
    rows: f64,
    features: impl Fn(usize) -> usize,
    (settings, effort): (&Settings, f64),
) -> Result<Option<Cuda>> {
    let columns = features(1) as f64;
    // A batch of rows, their features and slopes; sums, factors and inverses of the features.
    let bytes = 8.0 * (8.0 * columns * columns + 3.0 * sample.inputs.nrows() as f64 * 32.0) + 7e9;
    chosen(settings.device, work(rows, effort), bytes, "learning the features")
}

/// Goes on from kernels that were learned from a sample of data that have so many rows; `features` says how many the model
/// will have if tasks are in so many groups.
pub(crate) fn learn<B: Backend>(
    sample: &Problem,
    kernels: Groups,
    rows: f64,
    features: impl Fn(usize) -> usize,
    (settings, effort, backend): (&Settings, f64, &B),
    observer: Observer<'_>,
) -> Result<Found> {
    let Groups { groups, trace, stop } = kernels;
    let inputs = sample.inputs.ncols();
    let most_steps = ((STEPS.0 as f64 * effort) as usize).clamp(STEPS.0, STEPS.1);
    let mut search = Search {
        sample,
        settings,
        backend,
        observer,
        trace,
        stop,
        rows: most_rows(effort),
        steps: most_steps,
        later: 0,
    };
    let most = features(sample.tasks());
    let quarter = most.min(FIRST_FEATURES.max(most / 2)).div_ceil(4).max(1);
    let draw = Draw::new(inputs, [quarter, quarter], settings.seed);
    let mut found = Vec::new();
    for Shared { tasks, kernel, noise } in groups {
        let at = pack(&Learned::at(kernel, noise), &sample.origin);
        found.extend(search.first(State::new(tasks, at), &draw)?);
    }
    let (features, work) = (features(found.len()), work(rows, effort) / found.len() as f64);
    let mut groups = Vec::new();
    let count = found.len();
    for (g, state) in found.into_iter().enumerate() {
        search.later = (count - g - 1) * (KERNEL_STEPS[1] + most_steps.min(settings.max_iterations));
        let kernel = search.group(&state).kernel;
        let own = Draw::new(inputs, shares(&kernel, features), settings.seed);
        groups.push(search.grow(state, own, work)?);
    }
    Ok(Found { groups, trace: search.trace, stop: search.stop })
}

impl<B: Backend> Search<'_, B> {
    /// Some tasks on batches of rows to learn features of so many columns from, and on rows to check.
    fn batches(&self, tasks: &[usize], columns: usize) -> (Vec<Problem>, Problem) {
        let chosen = self.sample.choose(self.rows, self.settings.seed);
        let one_in = CHECK.max(chosen.len() / CHECK_ROWS);
        let (check, learn): (Vec<_>, Vec<_>) = chosen.iter().enumerate().partition(|(k, _)| k.is_multiple_of(one_in));
        let rows = |part: &[(usize, &usize)]| part.iter().map(|(_, row)| **row).collect::<Vec<usize>>();
        let of = |rows: &[usize]| self.sample.of_rows(rows).of_tasks(tasks);
        let (check, learn) = (rows(&check), rows(&learn));
        let count = learn.len().div_ceil(batch_rows(columns)).max(1);
        let batch = |b: usize| of(&learn.iter().skip(b).step_by(count).copied().collect::<Vec<_>>());
        ((0..count).map(batch).collect(), of(&check))
    }

    /// Takes a step down in the trace, and asks whether to go on.
    fn seen(
        &mut self,
        objective: f64,
        active: usize,
        (bandwidth, noise): (f64, &[f64]),
        left: Option<usize>,
    ) -> ControlFlow<()> {
        let (number, noise_precision) = (self.trace.len() + 1, noise.iter().map(|noise| noise.recip()).collect());
        let step = Iteration { restart: 0, number, objective, active, bandwidth, noise_precision, left };
        let go_on = (self.observer)(&step);
        self.trace.push(Iteration { left: None, ..step });
        if go_on.is_break() {
            self.stop = Stop::Requested;
        }
        go_on
    }

    /// Searches for the kernel on some rows; gives the gain for each observed cell.
    fn kernel(&mut self, state: &mut State, draw: &Draw, rows: &Rows<'_, B>, steps: usize) -> Result<f64> {
        let evidence = Evidence::new(rows, draw);
        let mut start = std::mem::take(&mut state.at);
        start.resize(evidence.of_kernel(), 0.0);
        let (steps, tolerance) = (steps.min(self.settings.max_iterations), Tolerance::gain(TOLERANCE * rows.cells()));
        // Less noise than rounding leaves of so many rows cannot be told from none.
        for _ in 0..MOST_RAISES {
            let mut first = None;
            let watch = |at: &[f64], objective: f64| {
                first.get_or_insert(objective);
                let (kernel, _, noise) = evidence.unpack(at);
                self.seen(objective, draw.columns(), (kernel.rbf.bandwidth, &noise), None)
            };
            let from = Start { at: start.clone(), curvature: state.curvature.clone().times(rows.cells()) };
            if let Some(top) = climb(from, RANGE, steps, tolerance, |at| evidence.at(at), watch) {
                (state.at, state.curvature) = (top.at, top.curvature.times(rows.cells().recip()));
                return Ok((top.value - first.unwrap_or(top.value)) / rows.cells());
            }
            start[NOISE] += std::f64::consts::LN_10;
        }
        Err(Error::Singular { size: draw.columns(), noise: start[NOISE].exp() })
    }

    /// The first sample: together, then each task that gains by a kernel of its own.
    fn first(&mut self, mut state: State, draw: &Draw) -> Result<Vec<State>> {
        if self.stop == Stop::Requested {
            return Ok(vec![state]);
        }
        self.on_first(&mut state, draw, KERNEL_STEPS[0])?;
        let mut apart = Vec::new();
        let kernel = state.at.len().min(INPUT_SCALES + self.sample.input_count());
        for (place, &task) in state.tasks.iter().enumerate().filter(|_| state.tasks.len() > 1) {
            if self.stop == Stop::Requested {
                break;
            }
            let mut own = State::new(vec![task], state.at[..kernel].to_vec());
            own.at[NOISE] += state.at.get(kernel + place).unwrap_or(&0.0);
            if self.on_first(&mut own, draw, APART_STEPS)? > APART {
                apart.push(own);
            }
        }
        let gone: Vec<usize> = apart.iter().map(|own| own.tasks[0]).collect();
        let stays: Vec<usize> = (0..state.tasks.len()).filter(|&place| !gone.contains(&state.tasks[place])).collect();
        if stays.len() < state.tasks.len() {
            let noise = stays.iter().filter_map(|place| state.at.get(kernel + place).copied());
            let at = state.at[..kernel].iter().copied().chain(noise).collect();
            state = State::new(stays.iter().map(|&place| state.tasks[place]).collect(), at);
        }
        Ok(Some(state).filter(|state| !state.tasks.is_empty()).into_iter().chain(apart).collect())
    }

    /// The search for a kernel on the first sample.
    fn on_first(&mut self, state: &mut State, draw: &Draw, steps: usize) -> Result<f64> {
        let part = self.sample.part(FIRST_ROWS, self.settings.seed);
        let problem = part.as_ref().unwrap_or(self.sample).of_tasks(&state.tasks);
        self.kernel(state, draw, &Rows::new(&problem, draw.columns(), self.backend), steps)
    }

    /// The features of the model on a larger sample, as long as work is left: the kernel, then the frequencies.
    fn grow(&mut self, mut state: State, draw: Draw, work: f64) -> Result<(Group, Draw)> {
        let (batches, check) = self.batches(&state.tasks, draw.columns());
        let smallest = batches.iter().map(|batch| batch.inputs.nrows()).min().unwrap_or(0);
        // Rows must be more than what they are to tell apart.
        if self.stop == Stop::Requested || smallest <= draw.columns() {
            return Ok((self.group(&state), draw));
        }
        let rows = |problem| Rows::new(problem, draw.columns(), self.backend);
        let (batches, check): (Vec<Rows<'_, B>>, _) = (batches.iter().map(rows).collect(), rows(&check));
        // ΦᵀΦ, and Φ times a matrix of its width.
        let steps = work / (1.5 * smallest as f64 * (draw.columns() as f64).powi(2));
        let before = self.trace.len();
        self.kernel(&mut state, &draw, &batches[0], KERNEL_STEPS[1].min(steps as usize))?;
        let left = (steps as usize).saturating_sub(self.trace.len() - before).min(self.steps);
        if self.stop == Stop::Requested {
            return Ok((self.group(&state), draw));
        }
        let draw = self.frequencies(&mut state, &draw, (&batches, &check), left);
        Ok((self.group(&state), draw))
    }

    /// Searches for frequencies, and for the noise that they leave, on batches of rows, as long as others are predicted
    /// better by them. Adam, because some frequencies matter far more than others: it needs no curvature to move them all,
    /// and the batches may change. Its steps become shorter, so that the last ones average over the batches.
    fn frequencies(
        &mut self,
        state: &mut State,
        draw: &Draw,
        (batches, check): (&[Rows<'_, B>], &Rows<'_, B>),
        steps: usize,
    ) -> Draw {
        let evidence: Vec<Evidence<'_, B>> = batches.iter().map(|rows| Evidence::new(rows, draw)).collect();
        let patience = CHECKS + 2 * (batches.len() - 1);
        let of_kernel = state.at.len();
        let stays = |i: usize| i < INPUT_SCALES + self.sample.input_count() && i != NOISE;
        let mut at = state.at.clone();
        at.resize(of_kernel + evidence[0].of_frequencies(), 0.0);
        let (mut adam, mut best, mut in_vain) = (Adam::new(RATE, at.len()), (f64::NEG_INFINITY, at.clone()), 0);
        let (allowed, steps) = (steps, steps.min(self.settings.max_iterations));
        for step in 0..=steps {
            let evidence = &evidence[step % batches.len()];
            let Some((objective, mut gradient)) = evidence.at(&at) else { break };
            if step % CHECK_STEPS == 0 {
                let density = evidence.density(check);
                in_vain = if density > best.0 { 0 } else { in_vain + 1 };
                if in_vain == 0 {
                    best = (density, at.clone());
                }
            }
            let (kernel, _, noise) = evidence.unpack(&at);
            let left = Some(steps - step + self.later);
            let go_on = self.seen(objective, draw.columns(), (kernel.rbf.bandwidth, &noise), left);
            if in_vain == patience || go_on.is_break() {
                break;
            }
            if step == steps {
                self.stop = if steps < allowed { Stop::MaxIterations } else { Stop::Effort };
                break;
            }
            gradient.iter_mut().enumerate().filter(|(i, _)| stays(*i)).for_each(|(_, g)| *g = 0.0);
            adam.set_rate(RATE * (1.0 - step as f64 / steps.max(1) as f64));
            adam.ascend(&mut at, &gradient);
        }
        let moved = evidence[0].moved(&best.1).into_owned();
        state.at = best.1;
        state.at.truncate(of_kernel);
        moved
    }

    fn group(&self, State { tasks, at, .. }: &State) -> Group {
        let (kernel, shared_noise, noise) = with_tasks(at, self.sample, tasks.len());
        Group { tasks: tasks.clone(), kernel, shared_noise, noise }
    }
}
