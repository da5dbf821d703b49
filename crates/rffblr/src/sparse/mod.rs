//! A sparse approximation: few sinusoids that reproduce the posterior mean of Gaussian processes (distillation).
//!
//! The posterior mean f is known everywhere, so the sinusoids need not be fitted to noisy targets. It is evaluated at
//! the training rows and at many rows like them ([`surroundings`]); then f(x) ≈ Σ_k w_k cos(ω_kᵀx + p_k) + b is fitted:
//! frequencies are drawn from the learned spectra, the most useful ones are picked one by one ([`pick`]), and all
//! frequencies and phases are learned together by descent with the weights solved for ([`refine`]). Few rows would let
//! learned frequencies agree with f there and nowhere else; at many rows they cannot (equations 28 to 30).

mod pool;
mod pursuit;
mod refine;
mod rows;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::fourier::Basis;
use crate::kernel::Kernel;
use crate::linalg::{Mat, MatRef, Threads};
use pool::draw;
use pursuit::pick;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use refine::{Teacher, refine};
use rows::surroundings;

/// Frequencies of each kernel to pick from, at least; and of all kernels at least this many per sinusoid wanted.
const POOL: (usize, usize) = (256, 2);
/// Steps of the descent in frequencies and phases.
const STEPS: usize = 40;
/// The penalty λ in units of σ²K/N, the ridge penalty of K sinusoids with prior variance one together and N rows. It is
/// larger than one because f is evaluated at more rows than were observed.
const PENALTY: f64 = 5.0;
/// Smallest penalty, for any noise: the weights of equal sinusoids must be determined.
const LEAST_PENALTY: f64 = 1e-8;

/// What the sinusoids are to reproduce, on the standardised scale.
pub(crate) struct Original<'a, F: Fn(MatRef<'_, f64>) -> Mat<f64>> {
    /// N×D training inputs.
    pub(crate) inputs: &'a Mat<f64>,
    /// What they weigh together: how many rows they stand for.
    pub(crate) weight: f64,
    /// Its kernels: where frequencies are drawn from.
    pub(crate) kernels: &'a [&'a Kernel],
    /// Mean variance of the noise over the tasks.
    pub(crate) noise: f64,
    /// Its mean at any rows: N′×C.
    pub(crate) mean: F,
}

/// f(x) = Σ_k w_k cos(ω_kᵀx + p_k) + b for standardised inputs and targets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sinusoids {
    /// D×K frequencies ω.
    pub(crate) frequencies: Mat<f64>,
    /// K phases p.
    pub(crate) phases: Vec<f64>,
    /// K×C weights w.
    pub(crate) weights: Mat<f64>,
    /// C biases b.
    pub(crate) bias: Vec<f64>,
    /// Penalty of each sinusoid's squared weights, as the ratio α_k/τ of precisions with the rows counted as their weight.
    pub(crate) ratio: Vec<f64>,
    /// Mean squared difference to the original over the rows it was fitted at, by task.
    pub(crate) misfit: Vec<f64>,
    /// Those rows.
    pub(crate) rows: Mat<f64>,
}

impl Sinusoids {
    /// The sinusoids as a basis whose directions are their frequencies.
    pub(crate) fn basis(&self) -> Basis {
        Basis { directions: self.frequencies.clone(), offsets: self.phases.clone(), amplitude: 1.0, links: Vec::new() }
    }
}

/// At most `count` sinusoids (at least one) that reproduce the original; fewer if fewer do so exactly.
pub(crate) fn distil<F: Fn(MatRef<'_, f64>) -> Mat<f64>>(
    original: &Original<'_, F>,
    count: usize,
    seed: u64,
    threads: Threads,
) -> Result<Sinusoids> {
    let Original { inputs, weight, kernels, noise, mean } = original;
    let count = count.max(1);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows = surroundings(inputs, &pool::mean_scales(kernels), &mut rng, threads);
    let values = mean(rows.as_ref());
    let pool = draw(kernels, inputs, POOL.0.max(POOL.1 * count / kernels.len()), &mut rng, threads);
    let (frequencies, phases) = pick(&rows, &values, &pool, count, threads);
    let penalty = (PENALTY * noise * count as f64 / weight).max(LEAST_PENALTY);
    let teacher = Teacher::new(rows, values, penalty, pool::typical(kernels), threads);
    let (frequencies, phases) = refine(&teacher, frequencies, phases, STEPS);
    let singular = Error::Singular { size: phases.len(), noise: *noise };
    let solution = teacher.solve(&frequencies, &phases).ok_or(singular)?;
    let ratio = solution.power.iter().map(|power| penalty * weight * power).collect();
    let misfit = solution.misfit();
    Ok(Sinusoids {
        frequencies,
        phases,
        weights: solution.weights,
        bias: solution.bias,
        ratio,
        misfit,
        rows: teacher.rows,
    })
}
