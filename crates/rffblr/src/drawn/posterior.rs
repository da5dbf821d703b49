//! From sums over the rows to the posterior: prior variances and noise are refined, then every task is solved.

use super::ard::{Ard, Relevant};
use super::features::Draw;
use super::learn::{Group, MOST_RAISES};
use super::marginal::{Level, Marginal, Whitened, marginal};
use super::sums::System;
use crate::device::{Backend, Host};
use crate::error::{Error, Result};
use crate::kernel::hyper::{RANGE, SCALE, VARIANCE};
use crate::kernel::{Kernel, Summit, Tolerance, best_noise, climb};
use crate::linalg::{Mat, scale_rows};
use crate::model::{Posterior, Shape};
use crate::settings::CosineSettings;
use std::ops::ControlFlow;

/// Most steps of the refinement, each of which costs the cube of the features for every task.
const STEPS: usize = 12;
/// It ends when a step gains less than this, in nats.
const TOLERANCE: f64 = 0.5;
/// With more tasks their noise is refined on the grid alone.
const MOST_TASKS: usize = 8;

/// What the sums do not say.
pub(crate) struct Context<'a, B> {
    pub(crate) backend: &'a B,
    /// Variance that rounding adds to the noise of each task of the group.
    pub(crate) rounding: &'a [f64],
    /// Whether weights say how precise rows are rather than how often they are there.
    pub(crate) relative: bool,
}

impl<B> Clone for Context<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Context<'_, B> {}

/// Solves a group of tasks; its variances and noise are refined first, unless they were.
pub(crate) fn solve<B: Backend>(
    systems: &[System<B::Matrix>],
    draw: &Draw,
    mut group: Group,
    refined: bool,
    context: Context<'_, B>,
) -> Result<(Group, Posterior)> {
    let Context { backend, rounding, relative } = context;
    let refined = refined || group.tasks.len() <= MOST_TASKS && refine(systems, draw, &mut group, context);
    let precision = draw.precision(&group.kernel);
    let deviation: Vec<f64> = precision.iter().map(|a| a.sqrt().recip()).collect();
    let tasks = group.tasks.len();
    let (mut tau, mut unit, mut shapes) = (vec![1.0; tasks], vec![1.0; tasks], Vec::new());
    let mut mean = Mat::zeros(precision.len(), tasks);
    for system in systems {
        let whitened = Whitened::new(backend, system, &deviation, relative);
        let singular = |noise: f64| Error::Singular { size: precision.len(), noise };
        let levels = |noise: f64| -> Result<Vec<Level>> {
            let factor = whitened.factor(noise).ok_or_else(|| singular(noise))?;
            let (ln_det, mut half) = (backend.ln_det(&factor), whitened.cross.clone());
            backend.half_solve(&factor, &mut half);
            Ok((0..half.ncols()).map(|c| whitened.level(c, noise, ln_det, half.col_as_slice(c))).collect())
        };
        if refined {
            for (place, &task) in system.tasks.iter().enumerate() {
                let mut noise = group.noise[task];
                let mut amplitude = levels(noise)?[place].amplitude;
                // aσ² rises with σ²: what rounding adds is reached in a few steps.
                for _ in 0..20 {
                    if amplitude * noise >= 0.999 * rounding[task] {
                        break;
                    }
                    noise *= rounding[task] / (amplitude * noise);
                    amplitude = levels(noise)?[place].amplitude;
                }
                (tau[task], unit[task]) = (noise.recip(), amplitude);
            }
        } else {
            let score = |noise: f64| -> Result<Vec<(f64, f64)>> {
                let enough = |place: usize, level: &Level| level.amplitude * noise >= rounding[system.tasks[place]];
                let of = |(place, level): (usize, Level)| {
                    (if enough(place, &level) { level.value } else { f64::NEG_INFINITY }, level.amplitude)
                };
                Ok(levels(noise)?.into_iter().enumerate().map(of).collect())
            };
            let found = best_noise(group.shared_noise, system.tasks.len(), score)?;
            for (level, &task) in found.iter().zip(&system.tasks) {
                (tau[task], unit[task]) = (level.noise.recip(), level.amplitude);
            }
        }
        shapes.extend(weights(backend, &whitened, &deviation, &tau, &mut mean)?);
    }
    group.noise = tau.iter().map(|tau| tau.recip()).collect();
    Ok((group, Posterior { mean, precision, tau, unit, shapes }))
}

/// The posterior means of the tasks of a system at their noise, and their covariances.
fn weights<B: Backend>(
    backend: &B,
    whitened: &Whitened<'_, B>,
    deviation: &[f64],
    tau: &[f64],
    mean: &mut Mat<f64>,
) -> Result<Vec<Shape>> {
    let tasks = &whitened.system.tasks;
    let (mut left, mut shapes) = (tasks.clone(), Vec::new());
    while let Some(&first) = left.first() {
        let (same, others): (Vec<usize>, Vec<usize>) = left.into_iter().partition(|&task| tau[task] == tau[first]);
        left = others;
        let noise = tau[first].recip();
        let singular = || Error::Singular { size: deviation.len(), noise };
        let factor = whitened.factor(noise).ok_or_else(singular)?;
        let places: Vec<usize> = same.iter().filter_map(|task| tasks.binary_search(task).ok()).collect();
        let mut solved = crate::linalg::select_columns(whitened.cross.as_ref(), &places);
        backend.half_solve(&factor, &mut solved);
        backend.half_solve_transposed(&factor, &mut solved);
        scale_rows(&mut solved, deviation);
        for (i, &task) in same.iter().enumerate() {
            mean.col_as_slice_mut(task).copy_from_slice(solved.col_as_slice(i));
        }
        shapes.push(Shape::factor(same, backend.lower(factor), noise));
    }
    Ok(shapes)
}

/// The features that stay where each has a precision of its own, learned from the sums, and the posterior of their weights.
/// The search starts at the precisions of the kernel.
pub(super) fn free(
    systems: &[System<Mat<f64>>],
    tied: &Posterior,
    max_iterations: usize,
    Context { backend, rounding, relative }: Context<'_, Host>,
) -> Result<(Vec<usize>, Posterior)> {
    let (features, tasks) = (tied.precision.len() - 1, tied.unit.len());
    let amplitude = tied.unit.iter().sum::<f64>() / tasks as f64;
    let alpha: Vec<f64> = tied.precision[..features].iter().map(|precision| precision / amplitude).collect();
    let tau: Vec<f64> = tied.tau.iter().zip(&tied.unit).map(|(tau, unit)| tau / unit).collect();
    let (weight_prior, noise_prior) = (CosineSettings::PAPER.weight_prior, CosineSettings::PAPER.noise_prior);
    let CosineSettings { pruning, tolerance, .. } = CosineSettings::PAPER;
    let threads = backend.0;
    let ard = Ard { systems, relative, weight_prior, noise_prior, pruning, max_iterations, tolerance, threads };
    let singular = Error::Singular { size: features, noise: tau[0].recip() };
    let Relevant { kept, alpha, noise, .. } = ard.run(alpha, tau).ok_or(singular)?;
    let precision = alpha.into_iter().chain([1.0]).collect();
    let tau = noise.iter().zip(rounding).map(|(noise, rounding)| noise.mean_inverse().max(*rounding).recip()).collect();
    let posterior = at_precisions(backend, systems, &kept, precision, tau)?;
    Ok((kept, posterior))
}

/// The posterior of the weights of some features, and of the bias, at given precisions of weights and noise.
pub(super) fn at_precisions(
    backend: &Host,
    systems: &[System<Mat<f64>>],
    kept: &[usize],
    precision: Vec<f64>,
    tau: Vec<f64>,
) -> Result<Posterior> {
    let deviation: Vec<f64> = precision.iter().map(|a| a.sqrt().recip()).collect();
    let (mut mean, mut shapes) = (Mat::zeros(precision.len(), tau.len()), Vec::new());
    for system in systems {
        let columns: Vec<usize> = kept.iter().copied().chain([system.gram.nrows() - 1]).collect();
        let part = system.part(&columns);
        let whitened = Whitened::new(backend, &part, &deviation, false);
        shapes.extend(weights(backend, &whitened, &deviation, &tau, &mut mean)?);
    }
    Ok(Posterior { mean, precision, unit: vec![1.0; tau.len()], tau, shapes })
}

/// The kernel with other prior variances, from the logarithms of these.
fn at_variances(kernel: &Kernel, at: &[f64]) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.linear = at[VARIANCE].exp();
    kernel.rbf.variance = at[VARIANCE + 1].exp();
    kernel.laplace_l1.variance = at[VARIANCE + 2].exp();
    kernel
}

/// The noise of each task: what the logarithms say, and rounding.
fn noises(at: &[f64], rounding: &[f64]) -> Vec<f64> {
    at[SCALE..].iter().zip(rounding).map(|(v, rounding)| v.exp() + rounding).collect()
}

/// The marginal likelihood and its gradient as a function of the logarithms of the three prior variances and of the noise
/// of each task, for which the sums are enough; `None` where a system is singular to rounding.
pub(super) fn refinement<B: Backend>(
    systems: &[System<B::Matrix>],
    draw: &Draw,
    kernel: &Kernel,
    at: &[f64],
    Context { backend, rounding, relative }: Context<'_, B>,
) -> Option<(f64, Vec<f64>)> {
    let deviation: Vec<f64> = draw.precision(&at_variances(kernel, at)).iter().map(|a| a.sqrt().recip()).collect();
    let whitened: Vec<Whitened<'_, B>> =
        systems.iter().map(|system| Whitened::new(backend, system, &deviation, relative)).collect();
    let noise = noises(at, rounding);
    let Marginal { value, by_variance, by_noise, .. } = marginal(backend, &whitened, &noise, false)?;
    let mut gradient = draw.by_family(&by_variance).to_vec();
    gradient.extend(by_noise.iter().zip(&at[SCALE..]).zip(&noise).map(|((by, at), noise)| by * at.exp() / noise));
    Some((value, gradient))
}

/// Climbs the marginal likelihood; whether it could. Noise that is nothing to rounding is raised.
pub(super) fn refine<B: Backend>(
    systems: &[System<B::Matrix>],
    draw: &Draw,
    group: &mut Group,
    context: Context<'_, B>,
) -> bool {
    let kernel = group.kernel.clone();
    let function = |at: &[f64]| refinement(systems, draw, &kernel, at, context);
    let Kernel { linear, rbf, laplace_l1, .. } = &group.kernel;
    let variances = [*linear, rbf.variance, laplace_l1.variance];
    let mut start: Vec<f64> = variances.iter().chain(&group.noise).map(|v| v.ln()).collect();
    let go_on = |_: &[f64], _: f64| ControlFlow::Continue(());
    for _ in 0..MOST_RAISES {
        if let Some(Summit { at: top, .. }) =
            climb(start.clone(), RANGE, STEPS, Tolerance::gain(TOLERANCE), function, go_on)
        {
            group.kernel = at_variances(&kernel, &top);
            group.noise = noises(&top, context.rounding);
            return true;
        }
        start[SCALE..].iter_mut().for_each(|noise| *noise += std::f64::consts::LN_10);
    }
    false
}
