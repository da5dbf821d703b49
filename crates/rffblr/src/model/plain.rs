//! The learned function as plain numbers, alike for every form: what a program that evaluates it elsewhere needs.
//!
//! The mean of a task is the sum of its weights times the terms φ(z) of a standardised row z. The variance of the function
//! is a‖Rφ‖² where φ are cosines, and a(κ(z, z) − ‖Rφ‖²) where they are kernels, with one lower triangular R for tasks
//! whose posterior has the same shape.

use super::posterior::{Eigen, Inverse, Posterior};
use super::{Model, Part};
use crate::data::Standardiser;
use crate::error::{Error, Result};
use crate::fourier::Basis;
use crate::kernel::{Kernel, KernelMachine};
use crate::linalg::{Mat, Threads, multiply, orthonormal, scale_columns};
use std::sync::Arc;

/// A model between its encoded inputs and its targets, those on the scale of their transforms.
pub struct Plain {
    /// Of the encoded inputs.
    pub inputs: Standardiser,
    /// Of the targets.
    pub targets: Standardiser,
    /// Variance of the noise of each task, standardised.
    pub noise: Vec<f64>,
    /// Every task is in one of them.
    pub parts: Vec<PlainPart>,
}

/// Tasks made of the same terms.
pub struct PlainPart {
    /// The tasks, in the order of the columns of `weights`.
    pub tasks: Vec<usize>,
    /// What the function is the weighted sum of.
    pub terms: Terms,
    /// A row for each term, a column for each task.
    pub weights: Mat<f64>,
    /// Each task is in one of them, unless variances were not asked for.
    pub spreads: Vec<Spread>,
}

/// The terms φ of a standardised row z.
pub enum Terms {
    /// a cos(ωᵀz + p) of each cosine, z_d/√D of each link, and 1.
    Waves(Basis),
    /// κ(x, z) for each training row x.
    Kernel(Kernel, Arc<Mat<f64>>),
}

/// The posterior covariance of some tasks.
pub struct Spread {
    /// The tasks.
    pub tasks: Vec<SpreadTask>,
    /// The terms that R is of.
    pub terms: Vec<usize>,
    /// R, lower triangular.
    pub factor: Mat<f64>,
}

/// What of a variance is a task's own.
pub struct SpreadTask {
    /// Its number in the model.
    pub task: usize,
    /// What the variance is multiplied by.
    pub unit: f64,
    /// κ of equation 27b; zero where variances are exact.
    pub correction: f64,
}

/// A model as plain numbers, with or without what variances need.
pub fn plain(model: &Model, uncertain: bool) -> Result<Plain> {
    let part = |(tasks, part): (Vec<usize>, Part<'_>)| {
        let (terms, weights) = match part {
            Part::Waves(waves) => (Terms::Waves(waves.basis.clone()), waves.posterior.mean.clone()),
            Part::Kernel(machine) => {
                (Terms::Kernel(machine.kernel.clone(), machine.inputs.clone()), machine.coefficients.clone())
            }
        };
        let spreads = match (uncertain, part) {
            (false, _) => Vec::new(),
            (true, Part::Waves(waves)) => of_posterior(&waves.posterior, &tasks),
            (true, Part::Kernel(machine)) => of_machine(machine, &tasks),
        };
        let known: usize = spreads.iter().map(|spread| spread.tasks.len()).sum();
        if uncertain && known < tasks.len() {
            return Err(Error::Singular { size: weights.nrows(), noise: 0.0 });
        }
        Ok(PlainPart { tasks, terms, weights, spreads })
    };
    Ok(Plain {
        inputs: model.input_scale.clone(),
        targets: model.target_scale.clone(),
        noise: (0..model.target_names.len()).map(|task| model.function.noise_variance(task)).collect(),
        parts: model.function.parts().into_iter().map(part).collect::<Result<_>>()?,
    })
}

/// Numbers that [`plain`] would take, told without computing them.
pub fn plain_size(model: &Model, uncertain: bool) -> usize {
    let triangle = |side: usize| side * (side + 1) / 2;
    let of_part = |(tasks, part): (Vec<usize>, Part<'_>)| {
        let (terms, inputs) = (part.terms(), model.input_names.len());
        let factors: usize = match (uncertain, part) {
            (false, _) => 0,
            (true, Part::Waves(waves)) => waves.posterior.levels().len() * triangle(terms),
            (true, Part::Kernel(machine)) => machine.variance_sizes().into_iter().map(triangle).sum(),
        };
        terms * (inputs + tasks.len()) + factors
    };
    model.function.parts().into_iter().map(of_part).sum()
}

fn of_machine(machine: &KernelMachine, tasks: &[usize]) -> Vec<Spread> {
    let spread = |(own, terms, factor): (Vec<usize>, Vec<usize>, Mat<f64>)| {
        let of = |&i: &usize| SpreadTask {
            task: tasks[i],
            unit: machine.amplitude[i],
            correction: machine.correction.get(i).copied().unwrap_or(0.0),
        };
        Spread { tasks: own.iter().map(of).collect(), terms, factor }
    };
    machine.variance_factors().into_iter().map(spread).collect()
}

impl Posterior {
    /// Tasks with the same covariance up to a factor: the number of their shape, and the tasks.
    fn levels(&self) -> Vec<(usize, Vec<usize>)> {
        let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
        for (number, shape) in self.shapes.iter().enumerate() {
            for &task in &shape.tasks {
                let same = |(shape, tasks): &&mut (usize, Vec<usize>)| {
                    let (kept, own) = (self.tau[tasks[0]], self.tau[task]);
                    *shape == number && kept.to_bits() == own.to_bits()
                };
                match found.iter_mut().find(same) {
                    Some((_, tasks)) => tasks.push(task),
                    None => found.push((number, vec![task])),
                }
            }
        }
        found
    }
}

fn of_posterior(posterior: &Posterior, tasks: &[usize]) -> Vec<Spread> {
    let terms = posterior.precision.len();
    let spread = |(shape, own): (usize, Vec<usize>)| {
        let mut factor = match &posterior.shapes[shape].inverse {
            Inverse::Spectral(eigen) => root(eigen, posterior.tau[own[0]]),
            Inverse::Factor(factor) => {
                let mut inverse = Mat::identity(terms, terms);
                factor.half_solve(inverse.as_mut());
                inverse
            }
        };
        scale_columns(&mut factor, |k| posterior.precision[k].sqrt().recip());
        let of = |&i: &usize| SpreadTask { task: tasks[i], unit: posterior.unit[i], correction: 0.0 };
        Spread { tasks: own.iter().map(of).collect(), terms: (0..terms).collect(), factor }
    };
    posterior.levels().into_iter().map(spread).collect()
}

/// Lower triangular R with RᵀR = V diag(1/(1 + τλ))Vᵀ + I − VVᵀ: the triangle of a QR decomposition of a root of it, with
/// the columns in reverse order. A Cholesky factor of the inverse would lose digits where τλ is large.
fn root(eigen: &Eigen, tau: f64) -> Mat<f64> {
    let Eigen { vectors, values } = eigen;
    let (terms, rank) = vectors.shape();
    // A complete V leaves nothing outside its span.
    let outside = (rank < terms).then(|| {
        let mut outside = multiply(vectors.as_ref(), vectors.as_ref().transpose(), Threads::ONE);
        outside *= faer::Scale(-1.0);
        (0..terms).for_each(|k| outside[(k, k)] += 1.0);
        outside
    });
    let rows = rank + outside.as_ref().map_or(0, |outside| outside.nrows());
    let stacked = Mat::from_fn(rows, terms, |i, j| {
        let k = terms - 1 - j;
        match &outside {
            Some(outside) if i >= rank => outside[(i - rank, k)],
            _ => vectors[(k, i)] / (1.0 + tau * values[i]).sqrt(),
        }
    });
    let q = orthonormal(stacked.clone());
    let upper = multiply(q.as_ref().transpose(), stacked.as_ref(), Threads::ONE);
    Mat::from_fn(terms, terms, |i, j| if j <= i { upper[(terms - 1 - i, terms - 1 - j)] } else { 0.0 })
}
