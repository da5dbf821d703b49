//! The posterior of the Gaussian process, called kernel machine for its mean f(x) = Σ_n β_n κ(x_n, x): noise and
//! amplitude of each task, posterior variances, leave-one-out and draws (equation 27).

use super::Kernel;
use super::learn::factorised;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef, Spectral, Threads, dot, fill_upper, multiply, scale_rows, select_rows};
use crate::vb::{Group, Problem};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Step of the search over ln σ² of a task, which starts at the ln σ² shared by all tasks.
const STEP: f64 = 0.5;
/// Most steps of [`STEP`] between ln σ² of a task and the shared one.
const REACH: i32 = 24;
/// Most steps upwards where less noise would fall below the variance of rounding.
const FARTHEST: i32 = 40;
/// Prior standard deviation of ln σ² of a task around the shared one.
const WIDTH: f64 = 1.0;

/// Rows whose kernel with all training rows is held at once.
const BLOCK: usize = 1024;

/// Tasks observed in the same rows with the same noise share one factor.
#[derive(Clone, Debug)]
struct Share {
    tasks: Vec<usize>,
    /// The observed rows; `None` means all.
    rows: Option<Vec<usize>>,
    /// Root weights of those rows.
    root: Vec<f64>,
    /// Of u K uᵀ + σ²I.
    factor: Cholesky,
}

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
    shares: Vec<Share>,
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
        let gram = kernel.gram(&problem.inputs, threads);
        let tasks = problem.tasks();
        let (mut noise, mut amplitude, mut observed) = (vec![0.0; tasks], vec![0.0; tasks], vec![None; tasks]);
        let mut evidence = vec![0.0; tasks];
        for group in &problem.groups {
            for (&task, best) in group.tasks.iter().zip(best_noise(&gram, problem, group, shared_noise, threads)?) {
                (noise[task], amplitude[task], evidence[task]) = (best.noise, best.amplitude, best.evidence);
                observed[task].clone_from(&group.rows);
            }
        }
        let mut machine = KernelMachine {
            shares: shares(&gram, &problem.root, &observed, &noise, threads)?,
            kernel,
            inputs: problem.inputs.clone(),
            root: problem.root.clone(),
            observed,
            noise,
            amplitude,
            coefficients: Mat::zeros(problem.inputs.nrows(), tasks),
        };
        for share in &machine.shares {
            let solved = share.solve(&problem.targets);
            for (c, &task) in share.tasks.iter().enumerate() {
                let column = machine.coefficients.col_as_slice_mut(task);
                for (i, &u) in share.root.iter().enumerate() {
                    column[share.at(i)] = u * solved[(i, c)];
                }
            }
        }
        Ok((machine, evidence))
    }

    /// The machine stored in a file; the Cholesky factors, which are not stored, are computed again.
    pub(crate) fn restore(
        kernel: Kernel,
        inputs: Arc<Mat<f64>>,
        root: Vec<f64>,
        observed: Vec<Option<Vec<usize>>>,
        (noise, amplitude): (Vec<f64>, Vec<f64>),
        coefficients: Mat<f64>,
    ) -> Result<Self> {
        let threads = Threads::current();
        let gram = kernel.gram(&inputs, threads);
        let shares = shares(&gram, &root, &observed, &noise, threads)?;
        Ok(KernelMachine { kernel, inputs, root, observed, noise, amplitude, coefficients, shares })
    }

    /// Mean and, if wanted, variance of the function at standardised rows: N′×C each.
    pub(crate) fn predict(
        &self,
        new: MatRef<'_, f64>,
        uncertain: bool,
        threads: Threads,
    ) -> (Mat<f64>, Option<Mat<f64>>) {
        let cross = self.kernel.cross(&self.inputs, new, threads);
        let prior = uncertain.then(|| self.kernel.diagonal(new));
        self.functionals(&cross, prior.as_deref(), threads)
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
            let mut variance = Mat::zeros(cross.ncols(), self.noise.len());
            for share in &self.shares {
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
        self.shares.iter().map(one).collect()
    }

    /// Number of Cholesky factors.
    pub(crate) fn factors(&self) -> usize {
        self.shares.len()
    }

    /// Variance of the noise of each task.
    pub(crate) fn noise_variance(&self, task: usize) -> f64 {
        self.amplitude[task] * self.noise[task]
    }

    /// In the scaled problem K′ = u K uᵀ + σ²I all comes from K′⁻¹: e = (K′⁻¹y)ᵢ/(K′⁻¹)ᵢᵢ, its variance is 1/(K′⁻¹)ᵢᵢ, and
    /// the leverage of a cell is 1 − σ²(K′⁻¹)ᵢᵢ.
    pub(crate) fn leave_one_out(&self) -> LeftOut {
        let mut out = LeftOut::new(self.inputs.nrows(), self.noise.len());
        for share in &self.shares {
            let (diagonal, _) = share.factor.clone().into_inverse(false);
            for &task in &share.tasks {
                for (i, (&u, &q)) in share.root.iter().zip(&diagonal).enumerate().filter(|(_, (u, _))| **u > 0.0) {
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

    /// Slope of the direct link of each input and its standard deviation: D×C each. A priori a slope has
    /// variance v₀/D, and covariance v₀x_nd/D with the function at row n.
    pub(crate) fn slopes(&self, threads: Threads) -> (Mat<f64>, Mat<f64>) {
        let unit = self.kernel.linear / self.inputs.ncols() as f64;
        let covariance = Mat::from_fn(self.inputs.nrows(), self.inputs.ncols(), |n, d| unit * self.inputs[(n, d)]);
        let slope = multiply(covariance.as_ref().transpose(), self.coefficients.as_ref(), threads);
        let mut deviation = Mat::zeros(slope.nrows(), slope.ncols());
        for share in &self.shares {
            let explained = share.explained(&covariance);
            for d in 0..explained.ncols() {
                let left = (unit - dot(explained.col_as_slice(d), explained.col_as_slice(d))).max(0.0);
                share.tasks.iter().for_each(|&task| deviation[(d, task)] = (self.amplitude[task] * left).sqrt());
            }
        }
        (slope, deviation)
    }

    /// Turns standard normal numbers, N′×C for each draw, into joint posterior draws at standardised rows. Costs N′³.
    pub(crate) fn sample(&self, new: MatRef<'_, f64>, draws: &mut [Mat<f64>], threads: Threads) {
        let cross = self.kernel.cross(&self.inputs, new, threads);
        let mean = multiply(cross.as_ref().transpose(), self.coefficients.as_ref(), threads);
        let mut prior = self.kernel.gram(&new.to_owned(), threads);
        fill_upper(prior.as_mut());
        for share in &self.shares {
            let mut covariance = prior.clone();
            let explained = share.explained(&cross);
            let explained = multiply(explained.as_ref().transpose(), explained.as_ref(), threads);
            covariance -= explained;
            // Negative eigenvalues are rounding, and `Spectral` takes them for zero.
            let Some(Spectral { values, mut vectors }) = Spectral::new(covariance) else { continue };
            crate::linalg::scale_columns(&mut vectors, |j| values[j].sqrt());
            for draw in &mut *draws {
                for &task in &share.tasks {
                    let shaken = multiply(vectors.as_ref(), draw.as_ref().subcols(task, 1), threads);
                    let size = self.amplitude[task].sqrt();
                    for i in 0..new.nrows() {
                        draw[(i, task)] = mean[(i, task)] + size * shaken[(i, 0)];
                    }
                }
            }
        }
    }
}

impl Share {
    fn at(&self, i: usize) -> usize {
        self.rows.as_ref().map_or(i, |rows| rows[i])
    }

    /// K′⁻¹ of the share's columns of the weighted targets.
    fn solve(&self, targets: &Mat<f64>) -> Mat<f64> {
        let mut solved = Mat::from_fn(self.root.len(), self.tasks.len(), |i, c| targets[(self.at(i), self.tasks[c])]);
        self.factor.half_solve(solved.as_mut());
        self.factor.half_solve_transposed(solved.as_mut());
        solved
    }

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

/// Best noise of a task in units of its amplitude, that amplitude, and log marginal likelihood without constants.
struct Level {
    noise: f64,
    amplitude: f64,
    evidence: f64,
}

/// Noise and amplitude of each task of a group. With the kernel multiplied by a, the marginal likelihood is highest at
/// a = yᵀK′⁻¹y/m for any noise; the noise is searched in steps outwards from the shared one. It is at least the
/// variance of rounding: aσ² rises with σ², so that too little noise means a higher step.
fn best_noise(gram: &Mat<f64>, problem: &Problem, group: &Group, shared: f64, threads: Threads) -> Result<Vec<Level>> {
    let shared = shared + group.rounding(problem);
    let (mass, count) = (group.count, group.root.len() as f64);
    let level = |offset: i32| (shared.ln() + STEP * f64::from(offset)).exp();
    let score = |offset: i32| -> Result<Vec<(f64, f64)>> {
        let noise = level(offset);
        let factor = factorised(gram, group.rows.as_deref(), &group.root, noise, threads)
            .ok_or(Error::Singular { size: group.root.len(), noise })?;
        let mut half = group.targets.clone();
        factor.half_solve(half.as_mut());
        let surprise = f64::from(offset) * STEP / WIDTH;
        let cost = 0.5 * (factor.ln_det() + (mass - count) * noise.ln() + surprise * surprise);
        let each = |c: usize| {
            // The amplitude of a constant target would be zero; its logarithm must be finite.
            let amplitude = (dot(half.col_as_slice(c), half.col_as_slice(c)) / mass).max(1e-12);
            let enough = amplitude * noise >= problem.rounding[group.tasks[c]];
            (if enough { -cost - 0.5 * mass * amplitude.ln() } else { f64::NEG_INFINITY }, amplitude)
        };
        Ok((0..half.ncols()).map(each).collect())
    };
    let mut tried: BTreeMap<i32, Vec<(f64, f64)>> = BTreeMap::new();
    for offset in [-1, 0, 1] {
        tried.insert(offset, score(offset)?);
    }
    let best = |tried: &BTreeMap<i32, Vec<(f64, f64)>>, c: usize| {
        let scored = tried.iter().map(|(offset, all)| (*offset, all[c].0, all[c].1));
        // Of equals the last: where no step has noise enough, the largest.
        scored.fold((0, f64::NEG_INFINITY, 1.0), |best, next| if next.1 >= best.1 { next } else { best })
    };
    for direction in [-1, 1] {
        let mut end: i32 = direction;
        // A task whose best is the last one tried goes on, for longer if that has too little noise.
        let goes_on = |tried: &BTreeMap<i32, Vec<(f64, f64)>>, end: i32| {
            (0..group.tasks.len()).map(|c| best(tried, c)).any(|(offset, value, _)| {
                let reach = if value == f64::NEG_INFINITY { direction * FARTHEST } else { REACH };
                offset == end && end.abs() < reach
            })
        };
        while goes_on(&tried, end) {
            end += direction;
            tried.insert(end, score(end)?);
        }
    }
    Ok((0..group.tasks.len())
        .map(|c| best(&tried, c))
        .map(|(offset, evidence, amplitude)| Level { noise: level(offset), amplitude, evidence })
        .collect())
}

/// One factor for each pattern of observed rows and level of noise.
fn shares(
    gram: &Mat<f64>,
    root: &[f64],
    observed: &[Option<Vec<usize>>],
    noise: &[f64],
    threads: Threads,
) -> Result<Vec<Share>> {
    let mut same: BTreeMap<(Option<&Vec<usize>>, u64), Vec<usize>> = BTreeMap::new();
    for (task, rows) in observed.iter().enumerate() {
        same.entry((rows.as_ref(), noise[task].to_bits())).or_default().push(task);
    }
    let share = |((rows, noise), tasks): ((Option<&Vec<usize>>, u64), Vec<usize>)| {
        let root: Vec<f64> = rows.map_or(root.to_vec(), |rows| rows.iter().map(|&row| root[row]).collect());
        let noise = f64::from_bits(noise);
        let factor = factorised(gram, rows.map(Vec::as_slice), &root, noise, threads);
        let factor = factor.ok_or(Error::Singular { size: root.len(), noise })?;
        Ok(Share { tasks, rows: rows.cloned(), root, factor })
    };
    same.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    fn data(weights: Option<&[f64]>) -> (Mat<f64>, Mat<f64>, KernelMachine) {
        let x = Mat::from_fn(16, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
        let y = Mat::from_fn(16, 3, |n, c| {
            let noise = 0.3 * c as f64 * ((n * 7 + c) as f64).cos();
            if c == 1 && n % 5 == 2 { f64::NAN } else { (2.0 * x[(n, 0)]).sin() + noise }
        });
        let problem = Problem::new(x.clone(), y.clone(), weights);
        let machine = KernelMachine::new(&problem, example(2), 0.1, Threads::ONE).unwrap();
        (x, y, machine)
    }

    /// Against a refit without the row at the same kernel, noise and amplitude; with weights, one of them zero.
    #[test]
    fn leave_one_out_is_what_refitting_gives() {
        let weights: Vec<f64> = (0..16).map(|n| [1.0, 0.5, 3.0, 0.0][n % 4]).collect();
        for weights in [None, Some(weights.as_slice())] {
            let (x, y, machine) = data(weights);
            let LeftOut { residual, variance, leverage } = machine.leave_one_out();
            let fitted = machine.predict(x.as_ref(), false, Threads::ONE).0;
            for task in 0..3 {
                let learned = |n: &usize| !y[(*n, task)].is_nan() && machine.root[*n] > 0.0;
                for row in (0..16).filter(learned) {
                    let others: Vec<usize> = (0..16).filter(|n| *n != row && learned(n)).collect();
                    let gram = machine.kernel.gram(&x, Threads::ONE);
                    let root: Vec<f64> = others.iter().map(|&n| machine.root[n]).collect();
                    let factor = factorised(&gram, Some(&others), &root, machine.noise[task], Threads::ONE).unwrap();
                    let cross = machine.kernel.cross(&x, x.as_ref().subrows(row, 1), Threads::ONE);
                    let mut k = select_rows(cross.as_ref(), &others);
                    let mut z = Mat::from_fn(others.len(), 1, |i, _| y[(others[i], task)]);
                    scale_rows(&mut k, &root);
                    scale_rows(&mut z, &root);
                    factor.half_solve(k.as_mut());
                    factor.half_solve(z.as_mut());
                    let mean = dot(k.col_as_slice(0), z.col_as_slice(0));
                    let prior = machine.kernel.diagonal(x.as_ref().subrows(row, 1))[0];
                    let left = prior - dot(k.col_as_slice(0), k.col_as_slice(0));
                    assert!((y[(row, task)] - mean - residual[(row, task)]).abs() < 1e-9);
                    assert!((machine.amplitude[task] * left - variance[(row, task)]).abs() < 1e-9);
                    // The fitted value lies that share of the way from there to the observed one.
                    let moved = leverage[(row, task)] * residual[(row, task)];
                    assert!((fitted[(row, task)] - mean - moved).abs() < 1e-9);
                }
            }
        }
    }

    /// The search tries few levels; trying all of them finds no better one. Noisier tasks get more noise.
    #[test]
    fn each_task_finds_its_own_noise() {
        let (x, y, machine) = data(None);
        let gram = machine.kernel.gram(&x, Threads::ONE);
        for task in 0..3 {
            let rows: Vec<usize> = (0..16).filter(|&n| !y[(n, task)].is_nan()).collect();
            let count = rows.len() as f64;
            // (27), with nothing shared.
            let score = |offset: i32| {
                let noise = 0.1 * (STEP * f64::from(offset)).exp();
                let factor = factorised(&gram, Some(&rows), &vec![1.0; rows.len()], noise, Threads::ONE).unwrap();
                let mut z = Mat::from_fn(rows.len(), 1, |i, _| y[(rows[i], task)]);
                factor.half_solve(z.as_mut());
                let amplitude = dot(z.col_as_slice(0), z.col_as_slice(0)) / count;
                let away = STEP * f64::from(offset) / WIDTH;
                (-0.5 * factor.ln_det() - 0.5 * count * amplitude.ln() - 0.5 * away * away, noise)
            };
            let best = (-REACH..=REACH).map(score).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            assert!((machine.noise[task] / best.1 - 1.0).abs() < 1e-12, "{} {}", machine.noise[task], best.1);
        }
        assert!(machine.noise_variance(0) < machine.noise_variance(1));
        assert!(machine.noise_variance(1) < machine.noise_variance(2));
    }

    #[test]
    fn predictions_in_blocks_equal_those_at_once() {
        let (_, _, machine) = data(None);
        let new = Mat::from_fn(BLOCK + 3, 2, |n, d| (n as f64 * 0.01).sin() - d as f64);
        let (at_once, _) = machine.predict(new.as_ref(), false, Threads::ONE);
        let means = machine.means(new.as_ref(), Threads::ONE);
        let rows = (0..at_once.nrows()).flat_map(|i| (0..3).map(move |c| (i, c)));
        assert!(rows.into_iter().all(|cell| (means[cell] - at_once[cell]).abs() < 1e-12));
    }

    #[test]
    fn an_integer_weight_is_a_repeated_row() {
        let weights: Vec<f64> = (0..16).map(|n| (n % 3) as f64).collect();
        let (x, y, weighted) = data(Some(&weights));
        let rows: Vec<usize> = (0..16).flat_map(|n| std::iter::repeat_n(n, weights[n] as usize)).collect();
        let problem = Problem::new(select_rows(x.as_ref(), &rows), select_rows(y.as_ref(), &rows), None);
        let repeated = KernelMachine::new(&problem, example(2), 0.1, Threads::ONE).unwrap();
        let new = Mat::from_fn(5, 2, |n, d| (n as f64 - 2.0) * 0.6 + d as f64);
        let (a, b) =
            (weighted.predict(new.as_ref(), true, Threads::ONE), repeated.predict(new.as_ref(), true, Threads::ONE));
        let (va, vb) = (a.1.unwrap(), b.1.unwrap());
        for c in 0..3 {
            assert!((weighted.noise_variance(c) - repeated.noise_variance(c)).abs() < 1e-9);
            for i in 0..5 {
                assert!((a.0[(i, c)] - b.0[(i, c)]).abs() < 1e-9 && (va[(i, c)] - vb[(i, c)]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn draws_have_the_predicted_mean_and_variance() {
        let (_, _, machine) = data(None);
        let new = Mat::from_fn(3, 2, |n, d| n as f64 * 0.7 - d as f64 * 0.4);
        let (mean, variance) = machine.predict(new.as_ref(), true, Threads::ONE);
        let variance = variance.unwrap();
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let mut draws: Vec<Mat<f64>> =
            (0..4000).map(|_| Mat::from_fn(3, 3, |_, _| StandardNormal.sample(&mut rng))).collect();
        machine.sample(new.as_ref(), &mut draws, Threads::ONE);
        for c in 0..3 {
            for i in 0..3 {
                let values: Vec<f64> = draws.iter().map(|d| d[(i, c)]).collect();
                let centre = values.iter().sum::<f64>() / 4000.0;
                let spread = values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / 4000.0;
                // Five standard errors.
                assert!((centre - mean[(i, c)]).abs() < 5.0 * (variance[(i, c)] / 4000.0).sqrt());
                assert!((spread / variance[(i, c)] - 1.0).abs() < 5.0 * (2.0f64 / 4000.0).sqrt());
            }
        }
    }

    #[test]
    fn a_restored_machine_predicts_the_same_bits() {
        let (_, _, machine) = data(None);
        let m = machine.clone();
        let again =
            KernelMachine::restore(m.kernel, m.inputs, m.root, m.observed, (m.noise, m.amplitude), m.coefficients)
                .unwrap();
        let new = Mat::from_fn(7, 2, |n, d| n as f64 * 0.3 - d as f64);
        assert!(machine.predict(new.as_ref(), true, Threads::ONE) == again.predict(new.as_ref(), true, Threads::ONE));
    }
}
