//! The joint posterior of weights and bias at the learned hyper-parameters, equation 16.
//!
//! With the bias as one more column of the features (prior precision 1) and Ψ = [Φ, u]A^{-½}, one orthonormal V and
//! its eigenvalues λ give every task's covariance, whatever its noise:
//! Σ_c = A^{-½} [ V diag(1/(1 + τ_c λ)) Vᵀ + (I − VVᵀ) ] A^{-½}, in some models times a unit of the task (equation 30).
//! With thousands of features the decomposition takes too long, and tasks of the same noise share a Cholesky factor:
//! Σ_c = A^{-½} (LLᵀ)⁻¹ A^{-½}, LLᵀ = I + τ_c ΨᵀΨ.

use crate::error::{Error, Result};
use crate::kernel::{LeftOut, Scaled, nonnegative_variance};
use crate::linalg::{
    Accumulate, Cholesky, Mat, Spectral, Threads, dot, multiply, orthonormal, outer, scale_columns, scale_rows,
    select_columns, select_rows,
};
use crate::problem::Problem;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// Covariance of the tasks observed in the same rows.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) tasks: Vec<usize>,
    pub(crate) inverse: Inverse,
}

/// How (I + τΨᵀΨ)⁻¹ is kept.
#[derive(Clone, Debug)]
pub(crate) enum Inverse {
    Spectral(Eigen),
    /// L of the tasks' common τ, in single precision: half the memory, and variances to seven digits.
    Factor(Cholesky),
}

/// For any τ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Eigen {
    /// K×rank, orthonormal columns.
    pub(crate) vectors: Mat<f64>,
    /// λ of each column.
    pub(crate) values: Vec<f64>,
}

impl Inverse {
    /// Dimensions in which the data say something.
    pub(crate) fn rank(&self) -> usize {
        match self {
            Inverse::Spectral(eigen) => eigen.values.len(),
            Inverse::Factor(factor) => factor.lower().nrows(),
        }
    }
}

impl Shape {
    /// For tasks whose noise in their unit is `noise`, from the factor of ΨᵀΨ + noise I.
    pub(crate) fn factor(tasks: Vec<usize>, factor: Cholesky, noise: f64) -> Shape {
        Shape { tasks, inverse: Inverse::Factor(factor.scaled(noise.sqrt().recip()).in_single_precision()) }
    }
}

/// L⁻¹Ψᵀ for rows ψ: the squares of a column sum to the variance at that row.
fn solved(factor: &Cholesky, whitened: &Mat<f64>) -> Mat<f64> {
    let mut columns = whitened.transpose().to_owned();
    factor.half_solve(columns.as_mut());
    columns
}

/// Means and covariances on the standardised scale. The last of the K rows is the bias.
#[derive(Clone, Debug)]
pub(crate) struct Posterior {
    /// K×C.
    pub(crate) mean: Mat<f64>,
    /// Prior precision of each row.
    pub(crate) precision: Vec<f64>,
    /// Noise precision of each task, in its unit.
    pub(crate) tau: Vec<f64>,
    /// What each task's precisions and covariances are multiplied by: for sinusoids the variance of its noise (equation
    /// 30), else one.
    pub(crate) unit: Vec<f64>,
    pub(crate) shapes: Vec<Shape>,
}

impl Posterior {
    /// Exact given precisions α of the features and τ of the tasks. `design` is [Φ, 1] with its rows
    /// multiplied by u.
    /// Memory: one more matrix of that size, and five of the smaller Gram matrix.
    pub(super) fn new(
        problem: &Problem,
        design: Mat<f64>,
        alpha: &[f64],
        tau: Vec<f64>,
        threads: Threads,
    ) -> Result<Self> {
        let precision: Vec<f64> = alpha.iter().copied().chain([1.0]).collect();
        let whiten: Vec<f64> = precision.iter().map(|a| a.sqrt().recip()).collect();
        let k = precision.len();
        let mut psi = design;
        scale_columns(&mut psi, |j| whiten[j]);
        let mut mean = Mat::zeros(k, problem.tasks());
        let mut shapes = Vec::with_capacity(problem.groups.len());
        for group in &problem.groups {
            let psi = match (problem.groups.len(), &group.rows) {
                (1, None) => std::mem::replace(&mut psi, Mat::new()),
                _ => group.rows_of(&psi).into_owned(),
            };
            let right = multiply(psi.as_ref().transpose(), group.targets.as_ref(), threads);
            let singular = Error::Singular { size: k.min(psi.nrows()), noise: tau[group.tasks[0]] };
            let shape = decompose(psi, threads).ok_or(singular)?;
            // ⟨w_c⟩ = τ_c A^{-½} V diag(1/(1 + τ_c λ)) Vᵀ Ψᵀ y_c; Ψᵀy lies in the span of V.
            let mut inside = multiply(shape.vectors.as_ref().transpose(), right.as_ref(), threads);
            for (c, &task) in group.tasks.iter().enumerate() {
                let column = inside.col_as_slice_mut(c).iter_mut();
                column.zip(&shape.values).for_each(|(v, l)| *v *= tau[task] / (1.0 + tau[task] * l));
            }
            let mut solved = multiply(shape.vectors.as_ref(), inside.as_ref(), threads);
            scale_rows(&mut solved, &whiten);
            for (c, &task) in group.tasks.iter().enumerate() {
                mean.col_as_slice_mut(task).copy_from_slice(solved.col_as_slice(c));
            }
            shapes.push(Shape { tasks: group.tasks.clone(), inverse: Inverse::Spectral(shape) });
        }
        Ok(Posterior { mean, precision, tau, unit: vec![1.0; problem.tasks()], shapes })
    }

    /// φᵀΣ_cφ for each row and task, equation 17.
    pub(crate) fn variance(&self, design: &Mat<f64>, threads: Threads) -> Mat<f64> {
        let mut whitened = design.clone();
        scale_columns(&mut whitened, |j| self.precision[j].sqrt().recip());
        let rows = design.nrows();
        let mut out = Mat::zeros(rows, self.mean.ncols());
        let mut prior = vec![0.0; rows];
        for j in 0..whitened.ncols() {
            prior.iter_mut().zip(whitened.col_as_slice(j)).for_each(|(p, v)| *p += v * v);
        }
        for shape in &self.shapes {
            let tasks = &shape.tasks;
            let shape = match &shape.inverse {
                Inverse::Spectral(shape) => shape,
                Inverse::Factor(factor) => {
                    let columns = solved(factor, &whitened);
                    for i in 0..rows {
                        let left = dot(columns.col_as_slice(i), columns.col_as_slice(i));
                        tasks.iter().for_each(|&task| out[(i, task)] = self.unit[task] * nonnegative_variance(left));
                    }
                    continue;
                }
            };
            let mut inside = multiply(whitened.as_ref(), shape.vectors.as_ref(), threads);
            let mut outside = prior.clone();
            for j in 0..inside.ncols() {
                let column = inside.col_as_slice_mut(j).iter_mut();
                column.zip(&mut outside).for_each(|(v, left)| {
                    *v *= *v;
                    *left -= *v;
                });
            }
            // For a complete V what is outside its span is rounding.
            if shape.values.len() == self.precision.len() {
                outside.fill(0.0);
            }
            let shrink = Mat::from_fn(shape.values.len(), tasks.len(), |i, c| {
                1.0 / (1.0 + self.tau[tasks[c]] * shape.values[i])
            });
            let shrunk = multiply(inside.as_ref(), shrink.as_ref(), threads);
            for (c, &task) in tasks.iter().enumerate() {
                let column = out.col_as_slice_mut(task).iter_mut();
                column.zip(shrunk.col_as_slice(c)).zip(&outside).for_each(|((v, inside), outside)| {
                    *v = self.unit[task] * nonnegative_variance(inside + outside.max(0.0))
                });
            }
        }
        out
    }

    /// The diagonal of Σ_c for each task: K×C.
    pub(super) fn marginal(&self) -> Mat<f64> {
        let mut out = Mat::zeros(self.precision.len(), self.mean.ncols());
        for shape in &self.shapes {
            let tasks = &shape.tasks;
            let shape = match &shape.inverse {
                Inverse::Spectral(shape) => shape,
                Inverse::Factor(factor) => {
                    let diagonal = factor.inverse_diagonal();
                    for &task in tasks {
                        for (i, v) in diagonal.iter().enumerate() {
                            out[(i, task)] = self.unit[task] * v / self.precision[i];
                        }
                    }
                    continue;
                }
            };
            // A complete V spans everything; without a subtraction nothing cancels.
            let outside = if shape.values.len() == self.precision.len() { 0.0 } else { 1.0 };
            for &task in tasks {
                let column = out.col_as_slice_mut(task);
                column.fill(outside);
                for (j, value) in shape.values.iter().enumerate() {
                    let share = 1.0 / (1.0 + self.tau[task] * value) - outside;
                    column.iter_mut().zip(shape.vectors.col_as_slice(j)).for_each(|(v, x)| *v += share * x * x);
                }
                column.iter_mut().zip(&self.precision).for_each(|(v, a)| *v = self.unit[task] * v.max(0.0) / a);
            }
        }
        out
    }

    /// The whole of φΣ_cφᵀ for rows φ of `design`: one for all tasks with the same rows and noise, each times one.
    pub(crate) fn covariances(&self, design: &Mat<f64>, threads: Threads) -> Vec<Scaled> {
        let mut whitened = design.clone();
        scale_columns(&mut whitened, |j| self.precision[j].sqrt().recip());
        let mut out: Vec<Scaled> = Vec::new();
        for Shape { tasks, inverse } in &self.shapes {
            let shape = match inverse {
                Inverse::Spectral(shape) => shape,
                Inverse::Factor(factor) => {
                    let columns = solved(factor, &whitened);
                    let covariance = multiply(columns.as_ref().transpose(), columns.as_ref(), threads);
                    out.push((tasks.iter().map(|&task| (task, self.unit[task])).collect(), covariance));
                    continue;
                }
            };
            let inside = multiply(whitened.as_ref(), shape.vectors.as_ref(), threads);
            let mut left: Vec<usize> = tasks.clone();
            while let Some(&first) = left.first() {
                let tau = self.tau[first];
                let (same, others): (Vec<usize>, Vec<usize>) =
                    left.into_iter().partition(|&task| self.tau[task] == tau);
                left = others;
                let mut shrunk = inside.clone();
                // A complete V spans everything.
                let complete = shape.values.len() == self.precision.len();
                let outside = if complete { 0.0 } else { 1.0 };
                scale_columns(&mut shrunk, |j| 1.0 / (1.0 + tau * shape.values[j]) - outside);
                let mut covariance = multiply(shrunk.as_ref(), inside.as_ref().transpose(), threads);
                if !complete {
                    covariance += multiply(whitened.as_ref(), whitened.as_ref().transpose(), threads);
                }
                out.push((same.into_iter().map(|task| (task, self.unit[task])).collect(), covariance));
            }
        }
        out
    }

    /// Σ_cφ/(φᵀΣ_cφ) for rows φ of `design`: the changes of the weights that change the function by one there if the
    /// target of the row is forgotten. K×rows for each task.
    pub(crate) fn directions(&self, design: &Mat<f64>, threads: Threads) -> Vec<Mat<f64>> {
        let root: Vec<f64> = self.precision.iter().map(|a| a.sqrt().recip()).collect();
        let mut whitened = design.transpose().to_owned();
        scale_rows(&mut whitened, &root);
        let mut out = vec![Mat::new(); self.mean.ncols()];
        for Shape { tasks, inverse } in &self.shapes {
            for &task in tasks {
                let mut direction = match inverse {
                    Inverse::Spectral(Eigen { vectors, values }) => {
                        // A complete V spans everything.
                        let outside = if values.len() == self.precision.len() { 0.0 } else { 1.0 };
                        let mut inside = multiply(vectors.as_ref().transpose(), whitened.as_ref(), threads);
                        let shrunk = |l: &f64| 1.0 / (1.0 + self.tau[task] * l) - outside;
                        scale_rows(&mut inside, &values.iter().map(shrunk).collect::<Vec<_>>());
                        let mut found = multiply(vectors.as_ref(), inside.as_ref(), threads);
                        if outside > 0.0 {
                            found += &whitened;
                        }
                        found
                    }
                    Inverse::Factor(factor) => {
                        let mut found = whitened.clone();
                        factor.half_solve(found.as_mut());
                        factor.half_solve_transposed(found.as_mut());
                        found
                    }
                };
                let sizes: Vec<f64> = (0..direction.ncols())
                    .map(|j| dot(direction.col_as_slice(j), whitened.col_as_slice(j)))
                    .map(|size| if size > 0.0 { size.recip() } else { 0.0 })
                    .collect();
                scale_columns(&mut direction, |j| sizes[j]);
                scale_rows(&mut direction, &root);
                out[task] = direction;
            }
        }
        out
    }

    /// Residual y − f and latent variance of each observed cell had its row been left out, and its leverage h, equation 18;
    /// `design` is [Φ, 1] and `targets` the standardised targets of the training rows.
    ///
    /// Nothing is subtracted that nearly cancels: in the basis U of row space, H = U diag(τλ/(1 + τλ)) Uᵀ, so both
    /// the residual (I − H)y and 1 − h come from 1/(1 + τλ), however close to interpolation the fit is.
    pub(super) fn leave_one_out(
        &self,
        design: &Mat<f64>,
        targets: &Mat<f64>,
        root: &[f64],
        threads: Threads,
    ) -> LeftOut {
        let variance = self.variance(design, threads);
        let mut out = LeftOut::new(targets.nrows(), targets.ncols());
        for Shape { tasks, inverse } in &self.shapes {
            let rows: Vec<usize> = (0..targets.nrows()).filter(|&n| !targets[(n, tasks[0])].is_nan()).collect();
            let shape = match inverse {
                Inverse::Spectral(shape) => shape,
                Inverse::Factor(_) => {
                    // Far fewer features than rows: no leverage is so close to one that the difference cancels.
                    let fitted = multiply(design.as_ref(), self.mean.as_ref(), threads);
                    for &task in tasks {
                        for &row in &rows {
                            let share = root[row].powi(2) * variance[(row, task)] * self.tau[task] / self.unit[task];
                            let slack = (1.0 - share).clamp(f64::EPSILON, 1.0);
                            let seen = if root[row] > 0.0 { 1.0 } else { 0.0 };
                            out.residual[(row, task)] = seen * (targets[(row, task)] - fitted[(row, task)]) / slack;
                            out.variance[(row, task)] = variance[(row, task)] / slack;
                            out.leverage[(row, task)] = 1.0 - slack;
                        }
                    }
                    continue;
                }
            };
            let largest = shape.values.iter().copied().fold(0.0, f64::max);
            let cutoff = largest * f64::EPSILON * shape.values.len() as f64;
            let used: Vec<usize> = (0..shape.values.len()).filter(|&j| shape.values[j] > cutoff).collect();
            let mut whitened = select_rows(design.as_ref(), &rows);
            scale_columns(&mut whitened, |j| self.precision[j].sqrt().recip());
            let mut basis =
                multiply(whitened.as_ref(), select_columns(shape.vectors.as_ref(), &used).as_ref(), threads);
            scale_rows(&mut basis, &rows.iter().map(|&n| root[n]).collect::<Vec<_>>());
            scale_columns(&mut basis, |j| shape.values[used[j]].sqrt().recip());
            // A square U has no complement; a tall one does.
            let complement = if used.len() < rows.len() { 1.0 } else { 0.0 };
            for &task in tasks {
                let tau = self.tau[task];
                let keep = |j: usize| 1.0 / (1.0 + tau * shape.values[used[j]]);
                let y = Mat::from_fn(rows.len(), 1, |i, _| root[rows[i]] * targets[(rows[i], task)]);
                let inside = multiply(basis.as_ref().transpose(), y.as_ref(), threads);
                for (i, &row) in rows.iter().enumerate() {
                    let (mut residual, mut slack) = (complement * y[(i, 0)], complement);
                    for j in 0..used.len() {
                        let (u, share) = (basis[(i, j)], keep(j) - complement);
                        residual += u * inside[(j, 0)] * share;
                        slack += u * u * share;
                    }
                    let slack = slack.clamp(f64::MIN_POSITIVE, 1.0);
                    // The posterior sees rows times the root of their weight; one of weight zero was never in.
                    let back = if root[row] > 0.0 { root[row].recip() } else { 0.0 };
                    out.residual[(row, task)] = back * residual / slack;
                    out.variance[(row, task)] = variance[(row, task)] / slack;
                    out.leverage[(row, task)] = 1.0 - slack;
                }
            }
        }
        out
    }

    /// One draw of all weights and biases: ⟨w⟩ + A^{-½}[z + V((1 + τλ)^{-½} − 1)Vᵀz], z ~ N(0, I), the second part times
    /// the root of the unit.
    pub(super) fn sample(&self, rng: &mut impl Rng) -> Mat<f64> {
        let (k, tasks) = (self.precision.len(), self.mean.ncols());
        // Drawn in the order of the tasks, whatever groups they are in.
        let normal: Mat<f64> = Mat::from_fn(k, tasks, |_, _| StandardNormal.sample(rng));
        let mut out = self.mean.clone();
        for Shape { tasks, inverse } in &self.shapes {
            for &task in tasks {
                let z = normal.as_ref().subcols(task, 1);
                let shaken = match inverse {
                    Inverse::Spectral(Eigen { vectors, values }) => {
                        let mut inside = multiply(vectors.as_ref().transpose(), z, Threads::ONE);
                        let column = inside.col_as_slice_mut(0).iter_mut();
                        column.zip(values).for_each(|(v, l)| *v *= (1.0 + self.tau[task] * l).sqrt().recip() - 1.0);
                        let mut shaken = multiply(vectors.as_ref(), inside.as_ref(), Threads::ONE);
                        shaken += z;
                        shaken
                    }
                    Inverse::Factor(factor) => {
                        let mut shaken = z.to_owned();
                        factor.half_solve_transposed(shaken.as_mut());
                        shaken
                    }
                };
                let size = self.unit[task].sqrt();
                for i in 0..k {
                    out[(i, task)] += size * shaken[(i, 0)] / self.precision[i].sqrt();
                }
            }
        }
        out
    }
}

/// V and λ of ΨᵀΨ, through the smaller of ΨᵀΨ and ΨΨᵀ.
fn decompose(psi: Mat<f64>, threads: Threads) -> Option<Eigen> {
    let (rows, k) = (psi.nrows(), psi.ncols());
    let size = rows.min(k);
    let mut s = Mat::zeros(size, size);
    let wide = if k <= rows { psi.as_ref().transpose() } else { psi.as_ref() };
    outer(s.as_mut(), Accumulate::Replace, wide, threads);
    if k <= rows {
        drop(psi);
        let Spectral { values, vectors } = Spectral::new(s)?;
        return Some(Eigen { vectors, values });
    }
    let Spectral { values, vectors } = Spectral::new(s)?;
    // ΨᵀU has columns √λ v; largest first, so that orthonormalising cleans the small ones of the large.
    let descending = vectors.as_ref().reverse_cols();
    let spanning = multiply(psi.as_ref().transpose(), descending, threads);
    drop(psi);
    let vectors = orthonormal(spanning);
    Some(Eigen { vectors, values: values.into_iter().rev().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The diagonal of Σ is the variance at rows of the identity, with few rows and with many.
    #[test]
    fn the_diagonal_is_that_of_the_covariance() {
        for rows in [3, 9] {
            let design = Mat::from_fn(rows, 6, |n, k| if k == 5 { 1.0 } else { ((n * 5 + k * 3) as f64 * 0.7).sin() });
            let targets = Mat::from_fn(rows, 2, |n, c| if n == 1 && c == 1 { f64::NAN } else { (n + c) as f64 });
            let problem = Problem::new(Mat::zeros(rows, 1), targets, None);
            let alpha = [0.3, 1.0, 2.0, 5.0, 0.7];
            let mut posterior = Posterior::new(&problem, design, &alpha, vec![2.0, 0.5], Threads::ONE).unwrap();
            posterior.unit = vec![1.0, 3.0];
            let expected = posterior.variance(&Mat::identity(6, 6), Threads::ONE);
            let found = posterior.marginal();
            for c in 0..2 {
                for k in 0..6 {
                    assert!((found[(k, c)] - expected[(k, c)]).abs() < 1e-13 * expected[(k, c)].max(1.0));
                }
            }
        }
    }
}
