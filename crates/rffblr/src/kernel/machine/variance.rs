//! Posterior variances of predictions. Up to [`VARIANCE_ROWS`] rows they are exact. With more they are those given a sample
//! of the rows, corrected so that at other training rows they are, on average, what all rows would give (equation 27b):
//! a triangular solve costs the square of the rows for every row that is asked for and every level of noise.

use super::{KernelMachine, Share, nonnegative_variance, shares};
use crate::device::{Backend, Host};
use crate::linalg::{Mat, Threads, dot, select_rows};
use std::collections::BTreeSet;

/// Most training rows from which variances are computed.
pub(crate) const VARIANCE_ROWS: usize = 1500;
/// Most rows from which the correction is learned.
const CORRECTION_ROWS: usize = 300;

/// `count` of a list, evenly spaced; all if there are no more.
fn evenly<T: Copy>(all: &[T], count: usize) -> Vec<T> {
    let count = count.min(all.len());
    (0..count).map(|i| all[i * all.len() / count]).collect()
}

impl KernelMachine {
    /// Variances of the function where the kernel with the training rows is `cross`, one row for each of its columns.
    pub(super) fn variances(&self, cross: &Mat<f64>, prior: &[f64]) -> Mat<f64> {
        let mut out = Mat::full(cross.ncols(), self.noise.len(), f64::INFINITY);
        let shares = if self.correction.is_empty() { self.shares() } else { self.sampled() };
        let correction = |task: usize| self.correction.get(task).copied().unwrap_or(0.0);
        for share in shares {
            let explained = share.explained(cross);
            for (i, &prior) in prior.iter().enumerate() {
                let column = explained.col_as_slice(i);
                let left = nonnegative_variance(prior - dot(column, column));
                let near = self.nearness(left);
                for &task in &share.tasks {
                    out[(i, task)] = self.amplitude[task] * left * (1.0 - correction(task) * near);
                }
            }
        }
        out
    }

    /// What variances are computed from: for tasks that share a factor these tasks, the rows it is of, and R = L⁻¹U, with which
    /// the variance before correction is κ(z, z) − ‖R κ(X, z)‖².
    pub(crate) fn variance_factors(&self) -> Vec<(Vec<usize>, Vec<usize>, Mat<f64>)> {
        let shares = if self.correction.is_empty() { self.shares() } else { self.sampled() };
        let of = |share: &Share| {
            let count = share.root.len();
            let mut factor = Mat::from_fn(count, count, |i, j| if i == j { share.root[i] } else { 0.0 });
            share.factor.half_solve(factor.as_mut());
            (share.tasks.clone(), (0..count).map(|i| share.at(i)).collect(), factor)
        };
        shares.iter().map(of).collect()
    }

    /// Rows of each of those factors, told without computing them.
    pub(crate) fn variance_sizes(&self) -> Vec<usize> {
        let level = |task: usize| (self.observed[task].as_ref(), self.noise[task].to_bits());
        let levels: BTreeSet<(Option<&Vec<usize>>, u64)> = (0..self.noise.len()).map(level).collect();
        let rows = |(rows, _): (Option<&Vec<usize>>, u64)| rows.map_or(self.inputs.nrows(), Vec::len);
        levels.into_iter().map(rows).map(|rows| rows.min(VARIANCE_ROWS)).collect()
    }

    /// One where all is known, zero far from all rows, where only the linear part of the kernel says something.
    fn nearness(&self, left: f64) -> f64 {
        let far = self.kernel.rbf.variance + self.kernel.laplace_l1.variance;
        if far > 0.0 { (1.0 - left / far).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// The factors of a sample of the rows in which each task was observed.
    fn sampled(&self) -> &[Share] {
        self.sampled.get_or_init(|| {
            let threads = Threads::current();
            let rows: Vec<usize> = (0..self.inputs.nrows()).collect();
            let sample = |observed: &Option<Vec<usize>>| evenly(observed.as_ref().unwrap_or(&rows), VARIANCE_ROWS);
            let observed: Vec<Vec<usize>> = self.observed.iter().map(sample).collect();
            let mut used = observed.concat();
            used.sort_unstable();
            used.dedup();
            // The kernel between the rows that are used alone, in their order.
            let inputs = select_rows(self.inputs.as_ref().as_ref(), &used);
            let root: Vec<f64> = used.iter().map(|&row| self.root[row]).collect();
            let place = |row: &usize| used.binary_search(row).unwrap_or_default();
            let places = |rows: &Vec<usize>| Some(rows.iter().map(place).collect::<Vec<usize>>());
            let observed: Vec<_> = observed.iter().map(places).collect();
            let gram = self.kernel.gram(&inputs, threads);
            let mut found = shares(&Host(threads), &gram, &root, &observed, &self.noise).unwrap_or_default();
            for rows in found.iter_mut().filter_map(|share| share.rows.as_mut()) {
                rows.iter_mut().for_each(|row| *row = used[*row]);
            }
            found
        })
    }

    /// κ of each task, from leave-one-out variances at training rows that are not in the sample; nothing if that has all.
    pub(super) fn corrections<B: Backend>(&self, backend: &B, shares: &[Share<B::Factor>]) -> Vec<f64> {
        if self.inputs.nrows() <= VARIANCE_ROWS {
            return Vec::new();
        }
        let (mut out, threads) = (vec![0.0; self.noise.len()], Threads::current());
        for share in shares {
            let Some(sampled) = self.sampled().iter().find(|sampled| sampled.tasks == share.tasks) else { continue };
            let in_sample = |row: &usize| sampled.rows.as_ref().is_some_and(|rows| rows.binary_search(row).is_ok());
            let others: Vec<usize> =
                (0..share.root.len()).filter(|&i| share.root[i] > 0.0 && !in_sample(&share.at(i))).collect();
            let others = evenly(&others, CORRECTION_ROWS);
            let rows: Vec<usize> = others.iter().map(|&i| share.at(i)).collect();
            let inputs = select_rows(self.inputs.as_ref().as_ref(), &rows);
            let prior = self.kernel.diagonal(inputs.as_ref());
            let explained = sampled.explained(&self.kernel.cross(&self.inputs, inputs.as_ref(), threads));
            // (K′⁻¹)ᵢᵢ is the squared length of L⁻¹eᵢ.
            let mut units = Mat::zeros(others.len(), share.root.len());
            others.iter().enumerate().for_each(|(k, &i)| units[(k, i)] = 1.0);
            let diagonal = backend.explained(&share.factor, &backend.put(units.as_ref()));
            let (mut excess, mut slope) = (0.0, 0.0);
            for (k, &i) in others.iter().enumerate() {
                let (q, e) = (diagonal[k], explained.col_as_slice(k));
                let e = dot(e, e);
                let left = (1.0 / q - self.noise[share.tasks[0]]).max(0.0) / share.root[i].powi(2);
                let from_sample = (prior[k] - e).max(0.0);
                excess += from_sample - left;
                slope += from_sample * self.nearness(from_sample);
            }
            let correction = if slope > 0.0 { (excess / slope).clamp(0.0, 1.0) } else { 0.0 };
            share.tasks.iter().for_each(|&task| out[task] = correction);
        }
        out
    }
}
