//! The model: Bayesian linear regression on random Fourier features by mean-field variational inference.
//!
//! [`infer`] is the whole algorithm on one screen; each call in it is one equation of `docs/derivation.md`.

mod bandwidth;
mod beliefs;
mod bound;
mod design;
mod gamma;
mod moments;

mod prune;
mod resolvent;
#[cfg(test)]
mod tests;
mod trace;
mod weights;

use bound::Bound;
pub use gamma::Gamma;

use crate::error::Result;
use crate::fourier::{Basis, Recipe, Scales};
use crate::linalg::Threads;
use crate::problem::Problem;
use crate::settings::{Bandwidth, CosineSettings, InputScales};
use crate::steps::{Iteration, Observer, Stop};
use bandwidth::Ascent;
use beliefs::Beliefs;
use design::{Design, Sensitivity};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// What is drawn and inferred, and how long.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) settings: &'a CosineSettings,
    pub(crate) max_iterations: usize,
    pub(crate) seed: u64,
}

/// Where inference ended.
pub(crate) struct Inference {
    /// The features that stayed.
    pub(crate) basis: Basis,
    pub(crate) scales: Scales,
    /// ⟨α⟩ of each of them.
    pub(crate) alpha: Vec<f64>,
    /// q(τ) of each task.
    pub(crate) noise: Vec<Gamma>,
    pub(crate) trace: Vec<Iteration>,
    pub(crate) stop: Stop,
}

impl Inference {
    fn bound(&self) -> f64 {
        self.trace.last().map_or(f64::NEG_INFINITY, |last| last.objective)
    }
}

/// Runs every restart and keeps the one with the best bound. Restarts run in parallel with one thread each; a
/// single one may use all threads itself. Either way the bits are the same.
pub(crate) fn infer_best(problem: &Problem, plan: Plan<'_>, count: usize, observer: Observer<'_>) -> Result<Inference> {
    let one = |restart: usize, threads: Threads| {
        let basis = draw(problem, plan, count, restart);
        infer(problem, plan, basis, restart, threads, observer)
    };
    if plan.settings.restarts == 1 {
        return one(0, Threads::current());
    }
    let runs: Vec<Result<Inference>> =
        (0..plan.settings.restarts).into_par_iter().map(|restart| one(restart, Threads::ONE)).collect();
    let mut best: Option<Inference> = None;
    for run in runs {
        let run = run?;
        let better = |best: &Inference| run.bound() > best.bound() || best.bound().is_nan();
        if best.as_ref().is_none_or(better) {
            best = Some(run);
        }
    }
    best.ok_or(crate::Error::Setting { name: "restarts", problem: "must be at least 1".into() })
}

/// The features of one restart: each has a random stream of its own.
fn draw(problem: &Problem, Plan { settings, seed, .. }: Plan<'_>, count: usize, restart: usize) -> Basis {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(restart as u64);
    let recipe = Recipe {
        spectrum: settings.spectrum,
        offsets: settings.offsets,
        directions: settings.directions,
        count,
        links: settings.links,
    };
    Basis::draw(&recipe, problem.inputs.ncols(), &mut rng)
}

/// The algorithm.
pub(crate) fn infer(
    problem: &Problem,
    plan: Plan<'_>,
    basis: Basis,
    restart: usize,
    threads: Threads,
    observer: Observer<'_>,
) -> Result<Inference> {
    let settings = plan.settings;
    let scales = first_scales(settings, problem.inputs.ncols());
    let mut design = Design::new(problem, basis, scales, settings.link_scale, threads);
    let mut q = Beliefs::start(problem, &design, settings);
    let mut ascent = Ascent::new(settings, problem.inputs.ncols());
    let mut moments = no_moments(problem);
    let mut trace = Vec::new();
    if ascent.sensitivity == Sensitivity::None {
        design.freeze();
    }

    let stop = loop {
        q.update_weights(problem, &design, &mut moments, ascent.sensitivity)?; // (4)
        let uphill = bandwidth::gradient(problem, &design, &q, ascent.sensitivity); // (10)
        q.update_precisions(); // (5)
        q.update_bias(problem); // (6)
        q.update_noise(problem); // (7, 8)
        let bound = Bound::of(&q, problem); // (9)

        trace.push(Iteration::of(restart, trace.len() + 1, bound.total(), &design, &q));
        if let Some(stop) = trace::stop(&trace, plan, observer) {
            break stop;
        }
        if trace.len() >= settings.pruning_from
            && let Some(kept) = prune::survivors(settings.pruning, problem, &design, &q)
        {
            design.keep(&kept);
            q.keep(&kept);
            moments = no_moments(problem);
        }
        if !uphill.is_empty() {
            let scales = ascent.step(&design.scales, uphill);
            design.rescale(problem, scales);
            moments = no_moments(problem);
        }
    };

    Ok(Inference {
        alpha: design.of_basis(q.alpha()),
        noise: (0..problem.tasks()).map(|c| q.noise_of(c)).collect(),
        basis: design.basis,
        scales: design.scales,
        trace,
        stop,
    })
}

fn no_moments(problem: &Problem) -> Vec<Option<moments::Moments>> {
    problem.groups.iter().map(|_| None).collect()
}

fn first_scales(settings: &CosineSettings, inputs: usize) -> Scales {
    let bandwidth = match settings.bandwidth {
        Bandwidth::Fixed(value) | Bandwidth::Learned { start: Some(value) } => value,
        Bandwidth::Learned { start: None } => 1.0 / inputs as f64,
    };
    match &settings.input_scales {
        InputScales::Fixed(values) => Scales { bandwidth, input_scales: values.clone() },
        InputScales::Uniform | InputScales::Learned => Scales::uniform(bandwidth, inputs),
    }
}
