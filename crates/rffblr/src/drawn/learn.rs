//! Learning the kernels of drawn features on samples that grow: exactly first, as the kernel form does, then through the
//! marginal likelihood of drawn cosines, until another size does not pay.

use super::evidence::Evidence;
use super::features::Draw;
use crate::error::{Error, Result};
use crate::kernel::hyper::{RANGE, pack};
use crate::kernel::{End, Groups, Kernel, Learned, climb, fit_groups};
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
/// Most cosines on which the kernel is learned: each step costs rows times their square.
const MOST_FEATURES: usize = 1024;
/// L-BFGS steps on one sample.
const STEPS: usize = 40;
/// Multiplications that learning may cost: so many for each row of the data, within bounds.
const WORK: (f64, f64, f64) = (4e7, 1e12, 8e12);
/// A larger sample must allow this many steps.
const LEAST_STEPS: f64 = 4.0;
/// A search ends when a step gains less than this for each observed cell, in nats.
const TOLERANCE: f64 = 1e-4;
/// The sample grows as long as it gained more than this for each observed cell: 0.002 nats are 0.4 % of the variance that
/// is left.
const WORTH: f64 = 0.002;

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

/// Learns from a sample of data that have so many rows; the model will have this many features.
pub(crate) fn learn(
    sample: &Problem,
    (rows, features): (f64, usize),
    settings: &Settings,
    observer: Observer<'_>,
) -> Result<Found> {
    let Groups { groups, mut trace, mut stop } = fit_groups(sample, settings, observer)?;
    if std::env::var("LAB").is_ok() {
        eprintln!(
            "LAB groups {} exact steps {} at {}",
            groups.len(),
            trace.len(),
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64() % 1000.0
        );
    }
    let (threads, available) = (Threads::current(), sample.inputs.nrows());
    let features = features.min(MOST_FEATURES);
    let mut out = Vec::new();
    let work = (WORK.0 * rows).clamp(WORK.1, WORK.2) / groups.len() as f64;
    for shared in groups {
        let mut work = work;
        let own = (shared.tasks.len() < sample.tasks()).then(|| sample.of_tasks(&shared.tasks));
        let problem = own.as_ref().unwrap_or(sample);
        let half = features.div_ceil(4).max(1);
        let draw = Draw::new(problem.inputs.ncols(), [half, half], settings.seed);
        let start = Learned::at(shared.kernel.clone(), shared.noise);
        let mut at = pack(&start, &problem.origin);
        let mut size = FIRST_ROWS;
        while stop != Stop::Requested {
            let part = problem.part(size, settings.seed);
            let evidence = Evidence::new(part.as_ref().unwrap_or(problem), &draw, threads);
            at.resize(evidence.prior.mean.len(), 0.0);
            let cells: f64 = part.as_ref().unwrap_or(problem).count.iter().sum();
            let mut first = None;
            let watch = |at: &[f64], objective: f64| {
                first.get_or_insert(objective);
                let (kernel, _, noise) = evidence.unpack(at);
                trace.push(Iteration {
                    restart: 0,
                    number: trace.len() + 1,
                    objective,
                    active: features,
                    bandwidth: kernel.rbf.bandwidth,
                    noise_precision: noise.iter().map(|noise| noise.recip()).collect(),
                });
                trace.last().map_or(ControlFlow::Continue(()), observer)
            };
            let cost = cost_of_step(&draw, size.min(available));
            let steps = STEPS.min(settings.max_iterations).min((work / cost) as usize);
            let function = |at: &[f64]| {
                work -= cost;
                evidence.at(at)
            };
            let found = climb(at, RANGE, steps, (TOLERANCE * cells, 0.0), function, watch);
            let (top, value, end) = found.ok_or(Error::Singular { size: draw.columns(), noise: shared.noise })?;
            at = top;
            if std::env::var("LAB").is_ok() {
                eprintln!(
                    "LAB size {size} first {:?} value {value} cells {cells} gain/cell {} steps {} end {end:?} at {:?}",
                    first,
                    (value - first.unwrap_or(value)) / cells,
                    trace.len(),
                    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64() % 1000.0
                );
            }
            if end == End::Asked {
                stop = Stop::Requested;
            }
            let gain = (value - first.unwrap_or(value)) / cells;
            let next = (size * GROWTH).min(MOST_ROWS);
            let affordable = work > LEAST_STEPS * cost_of_step(&draw, next.min(available));
            if size >= available.min(MOST_ROWS) || gain < WORTH || !affordable {
                break;
            }
            size = next;
        }
        let evidence = Evidence::new(problem, &draw, threads);
        let (kernel, shared_noise, noise) = evidence.unpack(&at);
        out.push(Group { tasks: shared.tasks, kernel, shared_noise, noise });
    }
    Ok(Found { groups: out, trace, stop })
}

/// Multiplications of the marginal likelihood and its gradient: ΦᵀΦ, and Φ times a matrix of its width.
fn cost_of_step(draw: &Draw, rows: usize) -> f64 {
    1.5 * rows as f64 * (draw.columns() as f64).powi(2)
}
