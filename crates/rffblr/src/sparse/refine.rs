//! Learning frequencies and phases by L-BFGS, the weights solved for (variable projection).
//!
//! With P the features cos(XΩ + p) less their column means, s_k² the mean square of column k, F the values to reproduce
//! less theirs, and n rows, J(Ω, p) = min_W [ ‖F − PW‖² + λn Σ_k s_k²‖w_k‖² ] / 2nC. The penalty counts what a sinusoid
//! contributes, not its weight: a slow sinusoid of large weight is as good as a line and costs no more. W is at its
//! minimum, so ∂J/∂Φ = [ −RWᵀ + λ P diag(‖w_k‖²) ] / nC with R = F − PW, and ∂J/∂Ω = −Xᵀ(sin(XΩ + p) ∘ ∂J/∂Φ).

use super::pursuit::centre_column;
use crate::fourier::cosines;
use crate::kernel::{Tolerance, climb};
use crate::linalg::{Accumulate, Cholesky, Mat, Threads, dot, map_columns, multiply, outer, product};
use std::f64::consts::FRAC_PI_2;
use std::ops::ControlFlow;

/// The search ends when a step gains less than this share of J without sinusoids.
const TOLERANCE: f64 = 1e-5;
/// A column of less mean square than this is constant to rounding.
const LEAST_POWER: f64 = 1e-12;

/// The values to be reproduced and the penalty.
pub(super) struct Teacher {
    pub(super) rows: Mat<f64>,
    /// Values less their means.
    values: Mat<f64>,
    means: Vec<f64>,
    /// λ.
    penalty: f64,
    /// Typical size of a frequency for each input.
    typical: Vec<f64>,
    threads: Threads,
}

/// The best weights for given frequencies and phases.
pub(super) struct Solution {
    /// K×C.
    pub(super) weights: Mat<f64>,
    pub(super) bias: Vec<f64>,
    /// s_k².
    pub(super) power: Vec<f64>,
    /// R.
    residual: Mat<f64>,
    /// P.
    centred: Mat<f64>,
    /// XΩ, without the phases.
    angles: Mat<f64>,
    /// J.
    pub(super) value: f64,
}

impl Solution {
    /// Mean of R² for each task.
    pub(super) fn misfit(&self) -> Vec<f64> {
        let mean = |c: usize| {
            let column = self.residual.col_as_slice(c);
            dot(column, column) / column.len() as f64
        };
        (0..self.residual.ncols()).map(mean).collect()
    }
}

impl Teacher {
    pub(super) fn new(rows: Mat<f64>, mut values: Mat<f64>, penalty: f64, typical: Vec<f64>, threads: Threads) -> Self {
        let means = (0..values.ncols()).map(|c| centre_column(values.col_as_slice_mut(c))).collect();
        Teacher { rows, values, means, penalty, typical, threads }
    }

    /// J of no sinusoids at all.
    fn spread(&self) -> f64 {
        let squares: f64 =
            (0..self.values.ncols()).map(|c| dot(self.values.col_as_slice(c), self.values.col_as_slice(c))).sum();
        squares / (2.0 * (self.values.nrows() * self.values.ncols()) as f64)
    }

    /// `None` if the weights are not determined to working precision.
    pub(super) fn solve(&self, frequencies: &Mat<f64>, phases: &[f64]) -> Option<Solution> {
        let (n, tasks) = (self.rows.nrows() as f64, self.values.ncols());
        let angles = multiply(self.rows.as_ref(), frequencies.as_ref(), self.threads);
        let mut centred = angles.clone();
        let column_means = map_columns(&mut centred, self.threads, |k, column| {
            cosines(column, 1.0, phases[k], 1.0);
            let mean = centre_column(column);
            (mean, (dot(column, column) / n).max(LEAST_POWER))
        });
        let power: Vec<f64> = column_means.iter().map(|(_, power)| *power).collect();
        let mut gram = Mat::zeros(phases.len(), phases.len());
        outer(gram.as_mut(), Accumulate::Replace, centred.as_ref().transpose(), self.threads);
        power.iter().enumerate().for_each(|(k, power)| gram[(k, k)] += self.penalty * n * power);
        let factor = Cholesky::new(gram, self.threads)?;
        let mut weights = multiply(centred.as_ref().transpose(), self.values.as_ref(), self.threads);
        factor.half_solve(weights.as_mut());
        factor.half_solve_transposed(weights.as_mut());
        let mut residual = self.values.clone();
        product(residual.as_mut(), Accumulate::Add, centred.as_ref(), weights.as_ref(), -1.0, self.threads);
        let squares = |m: &Mat<f64>, c: usize| dot(m.col_as_slice(c), m.col_as_slice(c));
        let error: f64 = (0..tasks).map(|c| squares(&residual, c)).sum();
        let charge: f64 = power.iter().zip(square_rows(&weights)).map(|(power, square)| power * square).sum();
        let value = (error + self.penalty * n * charge) / (2.0 * n * tasks as f64);
        let shift = |c: usize| column_means.iter().zip(weights.col_as_slice(c)).map(|((m, _), w)| m * w).sum::<f64>();
        let bias = (0..tasks).map(|c| self.means[c] - shift(c)).collect();
        value.is_finite().then_some(Solution { weights, bias, power, residual, centred, angles, value })
    }

    /// ∂J/∂Ω and ∂J/∂p.
    pub(super) fn gradient(&self, solution: Solution, phases: &[f64]) -> (Mat<f64>, Vec<f64>) {
        let Solution { weights, residual, centred, angles, .. } = solution;
        let cells = (self.rows.nrows() * self.values.ncols()) as f64;
        let squares = square_rows(&weights);
        let mut slope = centred;
        for (k, square) in squares.iter().enumerate() {
            slope.col_as_slice_mut(k).iter_mut().for_each(|v| *v *= self.penalty * square);
        }
        product(slope.as_mut(), Accumulate::Add, residual.as_ref(), weights.as_ref().transpose(), -1.0, self.threads);
        let by_phase = map_columns(&mut slope, self.threads, |k, column| {
            let mut sines = angles.col_as_slice(k).to_vec();
            cosines(&mut sines, 1.0, phases[k] - FRAC_PI_2, -1.0 / cells);
            column.iter_mut().zip(&sines).for_each(|(g, sine)| *g *= sine);
            column.iter().sum::<f64>()
        });
        (multiply(self.rows.as_ref().transpose(), slope.as_ref(), self.threads), by_phase)
    }
}

fn square_rows(table: &Mat<f64>) -> Vec<f64> {
    (0..table.nrows()).map(|k| (0..table.ncols()).map(|c| table[(k, c)].powi(2)).sum()).collect()
}

/// Descends J in the phases and in the frequencies over their typical size. Where J is not known, or nothing better is
/// found, the start is returned.
pub(super) fn refine(teacher: &Teacher, frequencies: Mat<f64>, phases: Vec<f64>, steps: usize) -> (Mat<f64>, Vec<f64>) {
    let (inputs, count) = (frequencies.nrows(), phases.len());
    let typical = &teacher.typical;
    // All of the first sinusoid's frequency, of the second's, …, then the phases.
    let unpack = |at: &[f64]| {
        (Mat::from_fn(inputs, count, |d, k| typical[d] * at[k * inputs + d]), at[inputs * count..].to_vec())
    };
    let function = |at: &[f64]| {
        let (frequencies, phases) = unpack(at);
        let solution = teacher.solve(&frequencies, &phases)?;
        let value = solution.value;
        let (by_frequency, by_phase) = teacher.gradient(solution, &phases);
        let slopes = (0..inputs * count).map(|i| -typical[i % inputs] * by_frequency[(i % inputs, i / inputs)]);
        Some((-value, slopes.chain(by_phase.iter().map(|g| -g)).collect()))
    };
    let start: Vec<f64> = (0..inputs * count)
        .map(|i| frequencies[(i % inputs, i / inputs)] / typical[i % inputs])
        .chain(phases.clone())
        .collect();
    let everything = teacher.spread();
    let go_on = |_: &[f64], _: f64| ControlFlow::Continue(());
    match climb(
        start,
        (f64::NEG_INFINITY, f64::INFINITY),
        steps,
        Tolerance::gain(TOLERANCE * everything),
        function,
        go_on,
    ) {
        Some(top) => unpack(&top.at),
        None => (frequencies, phases),
    }
}
