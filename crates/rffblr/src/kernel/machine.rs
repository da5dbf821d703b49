//! The posterior of the Gaussian process, called kernel machine for its mean f(x) = Σ_n β_n κ(x_n, x): noise and
//! amplitude of each task, posterior variances, leave-one-out and draws (equation 27).

use super::Kernel;
use super::noise::{Level, best_noise};
use crate::device::{Backend, Host};
use crate::error::{Error, Result};
use crate::interrupt::go_on;
use crate::linalg::{Cholesky, Mat, MatRef, Spectral, Threads, dot, fill_upper, multiply, scale_rows, select_rows};
use crate::problem::{Group, Problem};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

mod variance;
pub(crate) use variance::VARIANCE_ROWS;

/// Rows whose kernel with all training rows is held at once.
const BLOCK: usize = 1024;

/// Tasks observed in the same rows with the same noise share one factor.
#[derive(Clone, Debug)]
struct Share<F = Cholesky> {
    tasks: Vec<usize>,
    /// The observed rows; `None` means all.
    rows: Option<Vec<usize>>,
    /// Root weights of those rows.
    root: Vec<f64>,
    /// Of u K uᵀ + σ²I.
    factor: F,
}

/// A machine, the log marginal likelihood of each task, and the factors that belong to it.
type Fitted<F> = (KernelMachine, Vec<f64>, Vec<Share<F>>);

/// Tasks, each with a number, and a covariance that is to be multiplied by it.
pub(crate) type Scaled = (Vec<(usize, f64)>, Mat<f64>);

/// A posterior variance with rounding errors below zero set to zero, and infinite where its terms overflowed (NaN).
pub(crate) fn nonnegative_variance(variance: f64) -> f64 {
    if variance.is_nan() { f64::INFINITY } else { variance.max(0.0) }
}

/// Leaving each row out in turn, on the standardised scale: N×C each, zero in cells that were not observed.
pub(crate) struct LeftOut {
    /// Observed minus predicted.
    pub(crate) residual: Mat<f64>,
    /// Of the function.
    pub(crate) variance: Mat<f64>,
    /// Derivative of the fitted value by the cell's own target.
    pub(crate) leverage: Mat<f64>,
}

impl LeftOut {
    pub(crate) fn new(rows: usize, tasks: usize) -> LeftOut {
        let zero = || Mat::zeros(rows, tasks);
        LeftOut { residual: zero(), variance: zero(), leverage: zero() }
    }
}

/// The posterior at learned hyper-parameters, on the standardised scale.
#[derive(Clone, Debug)]
pub(crate) struct KernelMachine {
    pub(crate) kernel: Kernel,
    /// N×D standardised training inputs.
    pub(crate) inputs: Arc<Mat<f64>>,
    /// Root of the weight of each row.
    pub(crate) root: Vec<f64>,
    /// The rows in which each task was observed; `None` means all.
    pub(crate) observed: Vec<Option<Vec<usize>>>,
    /// σ² of each task, in units of its amplitude.
    pub(crate) noise: Vec<f64>,
    /// What each task's kernel is multiplied by.
    pub(crate) amplitude: Vec<f64>,
    /// N×C coefficients β; zero where not observed.
    pub(crate) coefficients: Mat<f64>,
    /// κ of each task (27b) if variances come from a sample of the rows; else empty.
    pub(crate) correction: Vec<f64>,
    /// Of all rows, and of a sample for variances, each computed when it is first needed.
    shares: OnceLock<Vec<Share>>,
    sampled: OnceLock<Vec<Share>>,
    /// The diagonals of the inverses of all rows, where they are known without the factors.
    diagonals: OnceLock<Vec<Vec<f64>>>,
}

/// What is learned of each task once the kernel is known, as a file keeps it.
pub(crate) struct TaskLevels {
    pub(crate) noise: Vec<f64>,
    pub(crate) amplitude: Vec<f64>,
    pub(crate) correction: Vec<f64>,
}

impl KernelMachine {
    /// Fits every task at the learned kernel; its noise and amplitude maximise its own marginal likelihood and prior.
    pub(crate) fn new(problem: &Problem, kernel: Kernel, shared_noise: f64, threads: Threads) -> Result<Self> {
        Ok(KernelMachine::fitted(problem, kernel, shared_noise, threads)?.0)
    }

    /// The same with the log marginal likelihood of each task, without constants.
    pub(crate) fn fitted(
        problem: &Problem,
        kernel: Kernel,
        shared_noise: f64,
        threads: Threads,
    ) -> Result<(Self, Vec<f64>)> {
        let (mut machine, evidence, shares) = KernelMachine::fitted_by(&Host(threads), problem, kernel, shared_noise)?;
        machine.shares = shares.into();
        Ok((machine, evidence))
    }

    /// The same by a device. Factors stay there; what leave-one-out needs of them is kept.
    pub(crate) fn fitted_there<B: Backend>(
        device: &B,
        problem: &Problem,
        kernel: Kernel,
        shared_noise: f64,
    ) -> Result<Self> {
        let (mut machine, _, shares) = KernelMachine::fitted_by(device, problem, kernel, shared_noise)?;
        let diagonals: Vec<Vec<f64>> = shares.into_iter().map(|share| device.inverse(share.factor, false).0).collect();
        machine.diagonals = diagonals.into();
        Ok(machine)
    }

    fn fitted_by<B: Backend>(
        backend: &B,
        problem: &Problem,
        kernel: Kernel,
        shared_noise: f64,
    ) -> Result<Fitted<B::Factor>> {
        let gram = backend.gram(&kernel, &problem.inputs);
        let tasks = problem.tasks();
        let (mut noise, mut amplitude, mut observed) = (vec![0.0; tasks], vec![0.0; tasks], vec![None; tasks]);
        let mut evidence = vec![0.0; tasks];
        for group in &problem.groups {
            for (&task, best) in group.tasks.iter().zip(noise_levels(backend, &gram, problem, group, shared_noise)?) {
                (noise[task], amplitude[task], evidence[task]) = (best.noise, best.amplitude, best.evidence);
                observed[task].clone_from(&group.rows);
            }
        }
        let shares = shares(backend, &gram, &problem.root, &observed, &noise)?;
        drop(gram);
        let mut coefficients = Mat::zeros(problem.inputs.nrows(), tasks);
        for share in &shares {
            let solved = share.solve(backend, &problem.targets);
            for (c, &task) in share.tasks.iter().enumerate() {
                let column = coefficients.col_as_slice_mut(task);
                for (i, &u) in share.root.iter().enumerate() {
                    column[share.at(i)] = u * solved[(i, c)];
                }
            }
        }
        let mut machine = KernelMachine {
            kernel,
            inputs: problem.inputs.clone(),
            root: problem.root.clone(),
            observed,
            noise,
            amplitude,
            coefficients,
            correction: Vec::new(),
            shares: OnceLock::new(),
            sampled: OnceLock::new(),
            diagonals: OnceLock::new(),
        };
        machine.correction = machine.corrections(backend, &shares);
        Ok((machine, evidence, shares))
    }

    /// The machine stored in a file. The Cholesky factors, which are not stored, are computed when they are needed; at once
    /// where there is so little noise that rounding could make that fail.
    pub(crate) fn restore(
        kernel: Kernel,
        inputs: Arc<Mat<f64>>,
        root: Vec<f64>,
        observed: Vec<Option<Vec<usize>>>,
        TaskLevels { noise, amplitude, correction }: TaskLevels,
        coefficients: Mat<f64>,
    ) -> Result<Self> {
        let diagonal = kernel.diagonal(inputs.as_ref().as_ref());
        let largest = diagonal.iter().zip(&root).map(|(k, u)| u * u * k).fold(0.0, f64::max);
        // Cholesky's algorithm never fails if the smallest eigenvalue is above this.
        let safe = largest * f64::EPSILON * (root.len() as f64).powi(2);
        let (shares, sampled, diagonals) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let machine = KernelMachine {
            kernel,
            inputs,
            root,
            observed,
            noise,
            amplitude,
            coefficients,
            correction,
            shares,
            sampled,
            diagonals,
        };
        match machine.noise.iter().all(|noise| *noise > safe) {
            true => Ok(machine),
            false => Ok(KernelMachine { shares: machine.factorise(Threads::current())?.into(), ..machine }),
        }
    }

    fn factorise(&self, threads: Threads) -> Result<Vec<Share>> {
        shares(&Host(threads), &self.kernel.gram(&self.inputs, threads), &self.root, &self.observed, &self.noise)
    }

    /// The factors of all rows. There are none where factorising fails, which `restore` rules out.
    fn shares(&self) -> &[Share] {
        self.shares.get_or_init(|| self.factorise(Threads::current()).unwrap_or_default())
    }

    /// Mean and, if wanted, variance of the function at standardised rows: N′×C each.
    pub(crate) fn predict(
        &self,
        new: MatRef<'_, f64>,
        uncertain: bool,
        threads: Threads,
    ) -> (Mat<f64>, Option<Mat<f64>>) {
        let cross = self.kernel.cross(&self.inputs, new, threads);
        let mean = multiply(cross.as_ref().transpose(), self.coefficients.as_ref(), threads);
        (mean, uncertain.then(|| self.variances(&cross, &self.kernel.diagonal(new))))
    }

    /// The posterior means alone at many rows, in blocks.
    pub(crate) fn means(&self, new: MatRef<'_, f64>, threads: Threads) -> Mat<f64> {
        let mut out = Mat::zeros(new.nrows(), self.noise.len());
        for start in (0..new.nrows()).step_by(BLOCK) {
            let block = new.subrows(start, BLOCK.min(new.nrows() - start));
            let (mean, _) = self.predict(block, false, threads);
            for c in 0..mean.ncols() {
                out.col_as_slice_mut(c)[start..start + mean.nrows()].copy_from_slice(mean.col_as_slice(c));
            }
        }
        out
    }

    /// Posterior mean and, if the prior variances are given, posterior variance of linear functionals of the function:
    /// one row for each. A column of `cross` is the prior covariance of one with the function at the training rows; the
    /// value at a row is such a functional.
    pub(crate) fn functionals(
        &self,
        cross: &Mat<f64>,
        prior: Option<&[f64]>,
        threads: Threads,
    ) -> (Mat<f64>, Option<Mat<f64>>) {
        let mean = multiply(cross.as_ref().transpose(), self.coefficients.as_ref(), threads);
        let variance = prior.map(|prior| {
            let mut variance = Mat::full(cross.ncols(), self.noise.len(), f64::INFINITY);
            for share in self.shares() {
                let explained = share.explained(cross);
                for (i, prior) in prior.iter().enumerate() {
                    let column = explained.col_as_slice(i);
                    let left = nonnegative_variance(prior - dot(column, column));
                    share.tasks.iter().for_each(|&task| variance[(i, task)] = self.amplitude[task] * left);
                }
            }
            variance
        });
        (mean, variance)
    }

    /// Joint posterior covariance of linear functionals, from their prior covariances with the function at the training
    /// rows and with each other: one for all tasks that share a factor, each of which multiplies it by its amplitude.
    pub(crate) fn covariances(&self, cross: &Mat<f64>, prior: &Mat<f64>, threads: Threads) -> Vec<Scaled> {
        let one = |share: &Share| {
            let explained = share.explained(cross);
            let mut left = prior.clone();
            left -= multiply(explained.as_ref().transpose(), explained.as_ref(), threads);
            (share.tasks.iter().map(|&task| (task, self.amplitude[task])).collect(), left)
        };
        self.shares().iter().map(one).collect()
    }

    /// Number of Cholesky factors.
    pub(crate) fn factors(&self) -> usize {
        self.shares().len()
    }

    /// Variance of the noise of each task.
    pub(crate) fn noise_variance(&self, task: usize) -> f64 {
        self.amplitude[task] * self.noise[task]
    }

    /// In the scaled problem K′ = u K uᵀ + σ²I all comes from K′⁻¹: e = (K′⁻¹y)ᵢ/(K′⁻¹)ᵢᵢ, its variance is 1/(K′⁻¹)ᵢᵢ, and
    /// the leverage of a cell is 1 − σ²(K′⁻¹)ᵢᵢ.
    pub(crate) fn leave_one_out(&self) -> LeftOut {
        let mut out = LeftOut::new(self.inputs.nrows(), self.noise.len());
        let inverses = || self.shares().iter().map(|share| share.factor.inverse_diagonal()).collect();
        let diagonals = self.diagonals.get_or_init(inverses);
        for ((share, _), diagonal) in patterns(&self.root, &self.observed, &self.noise).iter().zip(diagonals) {
            for &task in &share.tasks {
                for (i, (&u, &q)) in share.root.iter().zip(diagonal).enumerate().filter(|(_, (u, _))| **u > 0.0) {
                    let row = share.at(i);
                    out.residual[(row, task)] = self.coefficients[(row, task)] / (u * u * q);
                    let latent = (1.0 / q - self.noise[task]).max(0.0) / (u * u);
                    out.variance[(row, task)] = self.amplitude[task] * latent;
                    out.leverage[(row, task)] = (1.0 - self.noise[task] * q).clamp(0.0, 1.0);
                }
            }
        }
        out
    }

    /// The changes of the coefficients of each task that lower the function by one at each of some training rows when its
    /// target is forgotten: N×rows for each task. They are those of K′⁻¹eₙ; zero where the target was not observed.
    pub(crate) fn directions(&self, rows: &[usize]) -> Vec<Mat<f64>> {
        let mut out = vec![Mat::zeros(self.inputs.nrows(), rows.len()); self.noise.len()];
        for share in self.shares() {
            let place = |row: usize| match &share.rows {
                Some(known) => known.binary_search(&row).ok(),
                None => Some(row),
            };
            let known: Vec<(usize, usize)> =
                rows.iter().enumerate().filter_map(|(j, &row)| place(row).map(|i| (j, i))).collect();
            let mut solved = Mat::zeros(share.root.len(), known.len());
            known.iter().enumerate().for_each(|(k, &(_, i))| solved[(i, k)] = 1.0);
            share.factor.half_solve(solved.as_mut());
            share.factor.half_solve_transposed(solved.as_mut());
            for (k, &(j, i)) in known.iter().enumerate() {
                // The function of these coefficients has the value leverage/u at the row.
                let leverage = 1.0 - self.noise[share.tasks[0]] * solved[(i, k)];
                if leverage <= 0.0 || share.root[i] == 0.0 {
                    continue;
                }
                for (m, u) in share.root.iter().enumerate() {
                    let change = share.root[i] / leverage * u * solved[(m, k)];
                    share.tasks.iter().for_each(|&task| out[task][(share.at(m), j)] = change);
                }
            }
        }
        out
    }

    /// Slope of the direct link of each input: D×C. A priori a slope has variance v₀/D, and covariance v₀x_nd/D with the
    /// function at row n.
    pub(crate) fn slopes(&self, threads: Threads) -> Mat<f64> {
        let mut slopes = multiply(self.inputs.as_ref().as_ref().transpose(), self.coefficients.as_ref(), threads);
        let unit = self.kernel.linear / self.inputs.ncols() as f64;
        (0..slopes.ncols()).for_each(|c| slopes.col_as_slice_mut(c).iter_mut().for_each(|slope| *slope *= unit));
        slopes
    }

    /// The standard deviations of the [`slopes`](KernelMachine::slopes), which take the factors of all rows.
    pub(crate) fn slope_deviations(&self) -> Mat<f64> {
        let unit = self.kernel.linear / self.inputs.ncols() as f64;
        let covariance = Mat::from_fn(self.inputs.nrows(), self.inputs.ncols(), |n, d| unit * self.inputs[(n, d)]);
        let mut deviation = Mat::zeros(self.inputs.ncols(), self.noise.len());
        for share in self.shares() {
            let explained = share.explained(&covariance);
            for d in 0..explained.ncols() {
                let left = (unit - dot(explained.col_as_slice(d), explained.col_as_slice(d))).max(0.0);
                share.tasks.iter().for_each(|&task| deviation[(d, task)] = (self.amplitude[task] * left).sqrt());
            }
        }
        deviation
    }

    /// Turns standard normal numbers, N′×C for each draw, into joint posterior draws at standardised rows. Costs N′³.
    pub(crate) fn sample(&self, new: MatRef<'_, f64>, draws: &mut [Mat<f64>], threads: Threads) {
        let cross = self.kernel.cross(&self.inputs, new, threads);
        let mean = multiply(cross.as_ref().transpose(), self.coefficients.as_ref(), threads);
        let mut prior = self.kernel.gram(&new.to_owned(), threads);
        fill_upper(prior.as_mut());
        for share in self.shares() {
            let mut covariance = prior.clone();
            let explained = share.explained(&cross);
            let explained = multiply(explained.as_ref().transpose(), explained.as_ref(), threads);
            covariance -= explained;
            go_on();
            let Some(root) = square_root(covariance, &self.kernel.diagonal(new), threads) else { continue };
            for draw in &mut *draws {
                for &task in &share.tasks {
                    let shaken = multiply(root.as_ref(), draw.as_ref().subcols(task, 1), threads);
                    let size = self.amplitude[task].sqrt();
                    for i in 0..new.nrows() {
                        draw[(i, task)] = mean[(i, task)] + size * shaken[(i, 0)];
                    }
                }
            }
        }
    }
}

/// A matrix R with R Rᵀ = s, for a positive semidefinite s with rounding errors. Of many rows it is a Cholesky factor,
/// which takes a tenth of the time of an eigendecomposition; what is added to the diagonal for it starts at 10⁻¹⁰ of the
/// prior variance.
fn square_root(s: Mat<f64>, prior: &[f64], threads: Threads) -> Option<Mat<f64>> {
    const SPECTRAL_ROWS: usize = 512;
    if s.nrows() <= SPECTRAL_ROWS {
        // Negative eigenvalues are rounding, and `Spectral` takes them for zero.
        let Spectral { values, mut vectors } = Spectral::new(s)?;
        crate::linalg::scale_columns(&mut vectors, |j| values[j].sqrt());
        return Some(vectors);
    }
    (0..4).find_map(|attempt| {
        let mut raised = s.clone();
        prior.iter().enumerate().for_each(|(i, prior)| raised[(i, i)] += 1e-10 * 100f64.powi(attempt) * prior);
        let mut lower = Cholesky::new(raised, threads)?.lower().clone();
        (1..lower.ncols()).for_each(|j| lower.col_as_slice_mut(j)[..j].fill(0.0));
        Some(lower)
    })
}

impl<F> Share<F> {
    fn at(&self, i: usize) -> usize {
        self.rows.as_ref().map_or(i, |rows| rows[i])
    }

    /// K′⁻¹ of the share's columns of the weighted targets.
    fn solve<B: Backend<Factor = F>>(&self, backend: &B, targets: &Mat<f64>) -> Mat<f64> {
        let mut solved = Mat::from_fn(self.root.len(), self.tasks.len(), |i, c| targets[(self.at(i), self.tasks[c])]);
        backend.half_solve(&self.factor, &mut solved);
        backend.half_solve_transposed(&self.factor, &mut solved);
        solved
    }
}

impl Share {
    /// L⁻¹ u κ(X, new): the squares of a column sum to prior minus posterior variance at that row.
    fn explained(&self, cross: &Mat<f64>) -> Mat<f64> {
        let mut explained = match &self.rows {
            Some(rows) => select_rows(cross.as_ref(), rows),
            None => cross.clone(),
        };
        scale_rows(&mut explained, &self.root);
        self.factor.half_solve(explained.as_mut());
        explained
    }
}

/// Noise and amplitude of each task of a group. With the kernel multiplied by a, the marginal likelihood is highest at
/// a = yᵀK′⁻¹y/m for any noise; the noise is searched in steps outwards from the shared one. It is at least the
/// variance of rounding: aσ² rises with σ², so that too little noise means a higher step.
fn noise_levels<B: Backend>(
    backend: &B,
    gram: &B::Matrix,
    problem: &Problem,
    group: &Group,
    shared: f64,
) -> Result<Vec<Level>> {
    let (mass, count) = (group.count, group.root.len() as f64);
    // Taking and giving back as much memory for every factor takes half as long as computing it.
    let memory = Cell::new(None);
    let score = |noise: f64| -> Result<Vec<(f64, f64)>> {
        let factor = backend
            .weighted_factor(memory.take(), gram, group.rows.as_deref(), &group.root, noise)
            .ok_or(Error::Singular { size: group.root.len(), noise })?;
        let mut half = group.targets.clone();
        backend.half_solve(&factor, &mut half);
        let cost = 0.5 * (backend.ln_det(&factor) + (mass - count) * noise.ln());
        let each = |c: usize| {
            // The amplitude of a constant target would be zero; its logarithm must be finite.
            let amplitude = (dot(half.col_as_slice(c), half.col_as_slice(c)) / mass).max(1e-12);
            let enough = amplitude * noise >= problem.rounding[group.tasks[c]];
            (if enough { -cost - 0.5 * mass * amplitude.ln() } else { f64::NEG_INFINITY }, amplitude)
        };
        let found = (0..half.ncols()).map(each).collect();
        memory.set(Some(factor));
        Ok(found)
    };
    best_noise(shared + group.rounding(problem), group.tasks.len(), score)
}

/// The patterns of observed rows and levels of noise, each with its noise.
fn patterns(root: &[f64], observed: &[Option<Vec<usize>>], noise: &[f64]) -> Vec<(Share<()>, f64)> {
    let mut same: BTreeMap<(Option<&Vec<usize>>, u64), Vec<usize>> = BTreeMap::new();
    for (task, rows) in observed.iter().enumerate() {
        same.entry((rows.as_ref(), noise[task].to_bits())).or_default().push(task);
    }
    let pattern = |((rows, noise), tasks): ((Option<&Vec<usize>>, u64), Vec<usize>)| {
        let root: Vec<f64> = rows.map_or(root.to_vec(), |rows| rows.iter().map(|&row| root[row]).collect());
        (Share { tasks, rows: rows.cloned(), root, factor: () }, f64::from_bits(noise))
    };
    same.into_iter().map(pattern).collect()
}

/// One factor for each of them.
fn shares<B: Backend>(
    backend: &B,
    gram: &B::Matrix,
    root: &[f64],
    observed: &[Option<Vec<usize>>],
    noise: &[f64],
) -> Result<Vec<Share<B::Factor>>> {
    let share = |(Share { tasks, rows, root, .. }, noise): (Share<()>, f64)| {
        let factor = backend.weighted_factor(None, gram, rows.as_deref(), &root, noise);
        let factor = factor.ok_or(Error::Singular { size: root.len(), noise })?;
        Ok(Share { tasks, rows, root, factor })
    };
    patterns(root, observed, noise).into_iter().map(share).collect()
}

#[cfg(test)]
mod tests;
