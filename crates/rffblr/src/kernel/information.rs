//! Average information about the hyper-parameters of a kernel: ½ Σ_c b_cᵀ K_i K⁻¹ K_j b_c with b_c = K⁻¹ y_c and K_i the
//! derivative of K by the i-th logarithm (Gilmour, Thompson and Cullis 1995). For a K that is linear in its
//! hyper-parameters it is the average of minus the second derivatives of the log likelihood and of their expectation, whose
//! traces of products of N×N matrices cancel: it takes products of matrices and vectors alone.

use super::Kernel;
use super::hyper::{HyperPrior, INPUT_SCALES, NOISE, SCALE, VARIANCE};
use crate::linalg::{Cholesky, Mat, Threads, dot};
use crate::problem::{Group, Problem};
use rayon::prelude::*;

/// It is cheap where the products of matrices and vectors, two for each task and hyper-parameter, are at most this share of the
/// cubes of the rows.
const SHARE: f64 = 0.25;

/// The information of data and prior about the logarithms.
pub(super) struct Information {
    sum: Mat<f64>,
}

impl Information {
    /// Whether it costs little beside the value and the gradient. A row that stands for several counts as these, so that it is
    /// learned from as they are.
    pub(super) fn is_cheap(problem: &Problem) -> bool {
        let products = 2 * problem.tasks() * (INPUT_SCALES + problem.input_count());
        let rows = problem.groups.iter().fold(0.0, |most: f64, group| most.max(group.count));
        products as f64 <= SHARE * rows
    }

    /// That of the prior.
    pub(super) fn new(prior: &HyperPrior) -> Information {
        let size = prior.width.len();
        Information { sum: Mat::from_fn(size, size, |i, j| if i == j { prior.width[i].powi(-2) } else { 0.0 }) }
    }

    pub(super) fn matrix(self) -> Mat<f64> {
        self.sum
    }

    /// Adds that of some tasks, from the factor of their K, K⁻¹Y, what the kernel is made of (products, squared distances and
    /// the values of the two families, lower triangles) and their noise without rounding. Where a row stands for several, their b are
    /// equal: the noise of what they differ by, which is nothing, adds nothing.
    pub(super) fn add(
        &mut self,
        (problem, group): (&Problem, &Group),
        kernel: &Kernel,
        tables: [&Mat<f64>; 4],
        (factor, solved): (&Cholesky, &Mat<f64>),
        own: f64,
        threads: Threads,
    ) {
        let rows = problem.inputs.nrows();
        for c in 0..solved.ncols() {
            let mut b = vec![0.0; rows];
            for (i, (value, u)) in solved.col_as_slice(c).iter().zip(&group.root).enumerate() {
                b[group.rows.as_ref().map_or(i, |rows| rows[i])] = value * u;
            }
            let turned = derivatives(problem, kernel, tables, &b, threads);
            let mut columns = Mat::zeros(group.root.len(), self.sum.nrows());
            for (k, from) in turned.iter().enumerate() {
                for (i, (to, u)) in columns.col_as_slice_mut(k).iter_mut().zip(&group.root).enumerate() {
                    *to = u * from[group.rows.as_ref().map_or(i, |rows| rows[i])];
                }
            }
            columns.col_as_slice_mut(NOISE).iter_mut().zip(solved.col_as_slice(c)).for_each(|(to, b)| *to = own * b);
            factor.half_solve(columns.as_mut());
            for j in 0..self.sum.ncols() {
                for i in 0..self.sum.nrows() {
                    self.sum[(i, j)] += 0.5 * dot(columns.col_as_slice(i), columns.col_as_slice(j));
                }
            }
        }
    }
}

/// The derivatives of the kernel matrix by each logarithm, times b; nothing for the noise.
fn derivatives(
    problem: &Problem,
    kernel: &Kernel,
    [products, square, rbf, laplace_l1]: [&Mat<f64>; 4],
    b: &[f64],
    threads: Threads,
) -> Vec<Vec<f64>> {
    let x = &problem.inputs;
    let (smooth, rough) = (kernel.rbf, kernel.laplace_l1);
    let fall = -rough.bandwidth * rough.variance;
    let columns = [VARIANCE, VARIANCE + 1, VARIANCE + 2, SCALE];
    let one = |k: usize| match columns.get(k) {
        Some(&VARIANCE) => times(kernel.linear / x.ncols() as f64, b, |j, out| out.copy_from_slice(below(products, j))),
        Some(&k) if k == VARIANCE + 1 => times(smooth.variance, b, |j, out| out.copy_from_slice(below(rbf, j))),
        Some(&k) if k == VARIANCE + 2 => times(rough.variance, b, |j, out| out.copy_from_slice(below(laplace_l1, j))),
        Some(_) => times(-smooth.bandwidth * smooth.variance, b, |j, out| {
            let both = below(rbf, j).iter().zip(below(square, j));
            out.iter_mut().zip(both).for_each(|(out, (value, distance))| *out = value * distance);
        }),
        None => {
            let d = k - columns.len();
            let input = x.col_as_slice(d);
            times(fall * kernel.input_scales[d], b, |j, out| {
                let both = below(laplace_l1, j).iter().zip(&input[j..]);
                out.iter_mut().zip(both).for_each(|(out, (value, x))| *out = value * (x - input[j]).abs());
            })
        }
    };
    let count = columns.len() + x.ncols();
    let found: Vec<Vec<f64>> = match threads {
        Threads::ONE => (0..count).map(one).collect(),
        _ => (0..count).into_par_iter().map(one).collect(),
    };
    let mut out = vec![vec![0.0; b.len()]; INPUT_SCALES + problem.input_count()];
    for (k, column) in found.into_iter().enumerate() {
        let mut add = |to: usize| out[to].iter_mut().zip(&column).for_each(|(to, from)| *to += from);
        match columns.get(k) {
            Some(&to) => add(to),
            // All input scales together are the bandwidth.
            None => {
                add(INPUT_SCALES + problem.origin[k - columns.len()]);
                add(SCALE + 1);
            }
        }
    }
    out
}

/// A column from its diagonal on.
fn below(from: &Mat<f64>, j: usize) -> &[f64] {
    &from.col_as_slice(j)[j..]
}

/// A symmetric matrix times b times a factor; `column` fills in a column from its diagonal on.
fn times(factor: f64, b: &[f64], column: impl Fn(usize, &mut [f64])) -> Vec<f64> {
    let (mut out, mut memory) = (vec![0.0; b.len()], vec![0.0; b.len()]);
    for j in 0..b.len() {
        let values = &mut memory[j..];
        column(j, values);
        out[j] += dot(values, &b[j..]);
        out[j + 1..].iter_mut().zip(&values[1..]).for_each(|(out, value)| *out += value * b[j]);
    }
    out.iter_mut().for_each(|v| *v *= factor);
    out
}
