//! Ridge regression, one penalty per task chosen by generalised cross-validation.
//!
//! Inputs and targets standardised, intercept not penalised: min Σ_n s_n (y_n − wᵀx_n − b)² + λ‖w‖². With the centred,
//! weighted inputs X = U diag(d) Vᵀ and z = Uᵀy the fit uses 1 + Σ d²/(d² + λ) degrees of freedom, its residual sum of
//! squares is ‖y‖² − ‖z‖² + Σ z² (λ/(d² + λ))², and GCV(λ) = n RSS/(n − df)². One eigendecomposition of the smaller
//! Gram matrix serves every λ and every task observed in the same rows.

use super::scales::Scales;
use super::stored::{restored, stored};
use crate::method::{Forecast, Method, Predictor};
use crate::select::Plan;
use rffblr::Result;
use rffblr::data::Dataset;
use rffblr::internals::{Accumulate, Group, Problem, Spectral, dot, multiply, outer, scale_rows};
use rffblr::linalg::{Mat, MatRef, Threads};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Ridge regression with generalised cross-validation.
#[derive(Clone, Copy, Debug)]
pub struct Ridge;

#[derive(Serialize, Deserialize)]
struct Fitted {
    scales: Scales,
    /// D×C weights and C intercepts for standardised inputs and targets.
    #[serde(with = "super::stored::matrix")]
    weights: Mat<f64>,
    intercepts: Vec<f64>,
    /// √GCV: the expected error of a new observation, standardised.
    errors: Vec<f64>,
}

impl Method for Ridge {
    fn name(&self) -> &'static str {
        "ridge"
    }

    fn describe(&self) -> &'static str {
        "linear regression with one ridge penalty per target, chosen by generalised cross-validation"
    }

    fn fit(&self, data: &Dataset, _plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        let (scales, problem) = standardised(data)?;
        let tasks = problem.tasks();
        let mut fitted = Fitted {
            scales,
            weights: Mat::zeros(problem.inputs.ncols(), tasks),
            intercepts: vec![0.0; tasks],
            errors: vec![0.0; tasks],
        };
        for group in &problem.groups {
            let Centred { x, y, x_mean, y_mean } = Centred::new(&problem, group);
            let decomposition = Decomposition::new(&x, &y);
            for (c, &task) in group.tasks.iter().enumerate() {
                let square = dot(y.col_as_slice(c), y.col_as_slice(c));
                let (penalty, error) = decomposition.best_penalty(c, square, group.count);
                let w = decomposition.weights(&x, c, penalty);
                fitted.intercepts[task] = y_mean[c] - dot(&w, &x_mean);
                fitted.weights.col_as_slice_mut(task).copy_from_slice(&w);
                fitted.errors[task] = error;
            }
        }
        Ok(Box::new(fitted))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        restored::<Fitted>(state)
    }
}

impl Ridge {
    /// What each training row would have been predicted without it, at the scales and penalties learned from all rows:
    /// a residual divided by 1 − h, h being the row's own share of its fit. NaN where the target was not observed.
    pub fn leave_one_out(&self, data: &Dataset) -> Result<Mat<f64>> {
        let (scales, problem) = standardised(data)?;
        let mut out = Mat::full(data.rows(), problem.tasks(), f64::NAN);
        for group in &problem.groups {
            let Centred { x, y, .. } = Centred::new(&problem, group);
            let decomposition = Decomposition::new(&x, &y);
            let mass = dot(&group.root, &group.root);
            for (c, &task) in group.tasks.iter().enumerate() {
                let square = dot(y.col_as_slice(c), y.col_as_slice(c));
                let (penalty, _) = decomposition.best_penalty(c, square, group.count);
                let w = decomposition.weights(&x, c, penalty);
                let share = decomposition.shares(&x, penalty);
                for (i, &u) in group.root.iter().enumerate().filter(|(_, u)| **u > 0.0) {
                    let row = group.rows.as_ref().map_or(i, |rows| rows[i]);
                    let fitted: f64 = (0..x.ncols()).map(|d| x[(i, d)] * w[d]).sum();
                    let left = (1.0 - u * u / mass - share[i]).max(f64::EPSILON);
                    let residual = (y[(i, c)] - fitted) / (u * left);
                    out[(row, task)] = data.targets()[(row, task)] - scales.targets.scale[task] * residual;
                }
            }
        }
        Ok(out)
    }
}

/// The scales, and the data on them.
fn standardised(data: &Dataset) -> Result<(Scales, Problem)> {
    let (scales, inputs, targets) = Scales::learn(data)?;
    Ok((scales, Problem::of(inputs, targets, data)))
}

/// The rows of a group times the roots of their weights, without their means.
struct Centred {
    x: Mat<f64>,
    y: Mat<f64>,
    x_mean: Vec<f64>,
    y_mean: Vec<f64>,
}

impl Centred {
    fn new(problem: &Problem, group: &Group) -> Centred {
        let mut x = group.rows_of(&problem.inputs).into_owned();
        scale_rows(&mut x, &group.root);
        let mut y = group.targets.clone();
        let (x_mean, y_mean) = (centre(&mut x, &group.root), centre(&mut y, &group.root));
        Centred { x, y, x_mean, y_mean }
    }
}

/// Takes the weighted mean off every column (u times it) and returns the means.
fn centre(table: &mut Mat<f64>, root: &[f64]) -> Vec<f64> {
    let mass = dot(root, root);
    (0..table.ncols())
        .map(|j| {
            let column = table.col_as_slice_mut(j);
            let mean = dot(column, root) / mass;
            column.iter_mut().zip(root).for_each(|(v, u)| *v -= mean * u);
            mean
        })
        .collect()
}

/// Squared singular values of X, z = Uᵀy for each task, and what turns z into weights.
struct Decomposition {
    squares: Vec<f64>,
    z: Mat<f64>,
    /// U if there are fewer rows than inputs, else V.
    vectors: Mat<f64>,
    dual: bool,
}

impl Decomposition {
    fn new(x: &Mat<f64>, y: &Mat<f64>) -> Self {
        let threads = Threads::current();
        let dual = x.nrows() < x.ncols();
        let wide = if dual { x.as_ref() } else { x.as_ref().transpose() };
        let mut gram = Mat::zeros(wide.nrows(), wide.nrows());
        outer(gram.as_mut(), Accumulate::Replace, wide, threads);
        let size = gram.nrows();
        let Spectral { values, vectors } =
            Spectral::new(gram).unwrap_or(Spectral { values: vec![0.0; size], vectors: Mat::zeros(size, size) });
        // Directions below rounding count as null: the standardised inputs may be rank deficient.
        let cutoff = values.iter().copied().fold(0.0, f64::max) * f64::EPSILON * size as f64;
        let squares: Vec<f64> = values.iter().map(|v| if *v > cutoff { *v } else { 0.0 }).collect();
        let right = if dual { y.clone() } else { multiply(x.as_ref().transpose(), y.as_ref(), threads) };
        let mut z = multiply(vectors.as_ref().transpose(), right.as_ref(), threads);
        let root = |d: &f64| if *d > 0.0 { d.sqrt().recip() } else { 0.0 };
        let factors: Vec<f64> = if dual {
            squares.iter().map(|d| f64::from(*d > 0.0)).collect()
        } else {
            squares.iter().map(root).collect()
        };
        scale_rows(&mut z, &factors);
        Decomposition { squares, z, vectors, dual }
    }

    /// The penalty with the smallest score over sixteen decades around the mean eigenvalue, and the root of that score.
    fn best_penalty(&self, task: usize, square: f64, count: f64) -> (f64, f64) {
        let typical = self.squares.iter().sum::<f64>() / self.squares.len().max(1) as f64;
        if typical <= 0.0 {
            return (1.0, (square / count).sqrt());
        }
        let z = self.z.col_as_slice(task);
        let score = |penalty: f64| {
            let (mut freedom, mut residual) = (1.0, (square - dot(z, z)).max(0.0));
            for (d, z) in self.squares.iter().zip(z) {
                freedom += d / (d + penalty);
                residual += (z * penalty / (d + penalty)).powi(2);
            }
            let left = count - freedom;
            // With no freedom left there is nothing to judge by.
            if left > 1e-9 * count { count * residual / (left * left) } else { f64::INFINITY }
        };
        let steps = (0..=320).map(|i| typical * 10f64.powf(f64::from(i) * 0.05 - 8.0));
        let scored = steps.map(|penalty| (penalty, score(penalty)));
        // On ties the larger penalty, the simpler model.
        let best = scored.reduce(|best, next| if next.1 <= best.1 { next } else { best });
        match best {
            Some((penalty, score)) if score.is_finite() => (penalty, score.sqrt()),
            _ => (typical * 1e8, (square / count).sqrt()),
        }
    }

    /// X ᵀU diag(1/(d² + λ)) z, or V diag(d/(d² + λ)) z.
    fn weights(&self, x: &Mat<f64>, task: usize, penalty: f64) -> Vec<f64> {
        let shrink = |d: &f64| if self.dual { 1.0 / (d + penalty) } else { d.sqrt() / (d + penalty) };
        let z = self.z.col_as_slice(task);
        let inside = Mat::from_fn(z.len(), 1, |i, _| z[i] * shrink(&self.squares[i]));
        let mut out = multiply(self.vectors.as_ref(), inside.as_ref(), Threads::ONE);
        if self.dual {
            out = multiply(x.as_ref().transpose(), out.as_ref(), Threads::ONE);
        }
        out.col_as_slice(0).to_vec()
    }

    /// The share of each row in its own fit, intercept aside: Σ U² d²/(d² + λ), where X = U diag(d) Vᵀ.
    fn shares(&self, x: &Mat<f64>, penalty: f64) -> Vec<f64> {
        let left = if self.dual {
            self.vectors.clone()
        } else {
            multiply(x.as_ref(), self.vectors.as_ref(), Threads::current())
        };
        // In the second case the columns are U times d already.
        let part = |d: &f64| if self.dual { d / (d + penalty) } else { 1.0 / (d + penalty) };
        let row = |i: usize| self.squares.iter().enumerate().map(|(j, d)| left[(i, j)].powi(2) * part(d)).sum();
        (0..x.nrows()).map(row).collect()
    }
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let x = self.scales.question(inputs)?;
        let mut mean = multiply(x.as_ref(), self.weights.as_ref(), Threads::current());
        for (c, intercept) in self.intercepts.iter().enumerate() {
            mean.col_as_slice_mut(c).iter_mut().for_each(|v| *v += intercept);
        }
        let std = Mat::from_fn(mean.nrows(), mean.ncols(), |_, c| self.errors[c]);
        Ok(Forecast { mean: self.scales.restore(mean)?, std: Some(self.scales.restore_deviations(std)?), laws: None })
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffblr::data::Weights;
    use rffblr::internals::select_rows;

    /// The fit at the chosen penalty against the normal equations, the score against its definition by brute force.
    #[test]
    fn weights_solve_the_normal_equations_and_the_score_is_its_definition() {
        for (rows, inputs) in [(12, 3), (6, 9)] {
            let x0 = Mat::from_fn(rows, inputs, |n, d| ((n * 7 + d * 13) as f64 * 0.9).sin());
            let y0 = Mat::from_fn(rows, 1, |n, _| ((n * 5) as f64 * 0.7).cos() + x0[(n, 0)]);
            let root: Vec<f64> = (0..rows).map(|n| (1.0 + (n % 3) as f64).sqrt()).collect();
            let (mut x, mut y) = (x0.clone(), y0.clone());
            scale_rows(&mut x, &root);
            scale_rows(&mut y, &root);
            centre(&mut x, &root);
            centre(&mut y, &root);
            let decomposition = Decomposition::new(&x, &y);
            let mass = dot(&root, &root);
            let square = dot(y.col_as_slice(0), y.col_as_slice(0));
            let (penalty, error) = decomposition.best_penalty(0, square, mass);
            let w = decomposition.weights(&x, 0, penalty);
            // Xᵀ(y − Xw) = λw
            let fitted: Vec<f64> = (0..rows).map(|n| (0..inputs).map(|d| x[(n, d)] * w[d]).sum()).collect();
            for d in 0..inputs {
                let gradient: f64 = (0..rows).map(|n| x[(n, d)] * (y[(n, 0)] - fitted[n])).sum();
                assert!((gradient - penalty * w[d]).abs() < 1e-9, "{rows}×{inputs}");
            }
            let residual: f64 = (0..rows).map(|n| (y[(n, 0)] - fitted[n]).powi(2)).sum();
            // Degrees of freedom by brute force: move each target a little and see how its own fit moves.
            let mut freedom = 1.0;
            for n in 0..rows {
                let mut bumped = y.clone();
                bumped[(n, 0)] += 1.0;
                let moved = Decomposition::new(&x, &bumped).weights(&x, 0, penalty);
                freedom += (0..inputs).map(|d| x[(n, d)] * (moved[d] - w[d])).sum::<f64>();
            }
            let gcv = mass * residual / (mass - freedom).powi(2);
            assert!((error - gcv.sqrt()).abs() < 1e-9, "{error} for {}", gcv.sqrt());
        }
    }

    /// Each row really left out: the normal equations of the others with an intercept of its own, at the same scales.
    #[test]
    fn leave_one_out_is_what_refitting_gives() {
        for (rows, inputs) in [(14, 3), (9, 12)] {
            let x = Mat::from_fn(rows, inputs, |n, d| ((n * 7 + d * 13) as f64 * 0.9).sin());
            let y = Mat::from_fn(rows, 2, |n, c| {
                if (n + c) % 6 == 5 && c == 1 { f64::NAN } else { ((n * 5 + c) as f64 * 0.7).cos() + x[(n, 0)] }
            });
            let weights = (0..rows).map(|n| if n == 3 { 0.0 } else { 1.0 + (n % 3) as f64 }).collect();
            let data = Dataset::new(x, y).unwrap().with_weights(Weights::Repeats(weights)).unwrap();
            let found = Ridge.leave_one_out(&data).unwrap();
            let (scales, problem) = standardised(&data).unwrap();
            let scale = &scales.targets;
            for group in &problem.groups {
                let centred = Centred::new(&problem, group);
                let decomposition = Decomposition::new(&centred.x, &centred.y);
                let all: Vec<usize> = group.rows.clone().unwrap_or((0..rows).collect());
                for (c, &task) in group.tasks.iter().enumerate() {
                    let square = dot(centred.y.col_as_slice(c), centred.y.col_as_slice(c));
                    let mass = dot(&group.root, &group.root);
                    let (penalty, _) = decomposition.best_penalty(c, square, mass);
                    for (at, &row) in all.iter().enumerate() {
                        if group.root[at] == 0.0 {
                            assert!(found[(row, task)].is_nan());
                            continue;
                        }
                        let mut others = group.root.clone();
                        others[at] = 0.0;
                        let (mut x, mut y) =
                            (select_rows(problem.inputs.as_ref().as_ref(), &all), Mat::zeros(all.len(), 1));
                        for i in 0..all.len() {
                            // Weighted targets carry the root of the weight already.
                            y[(i, 0)] = if i == at { 0.0 } else { group.targets[(i, c)] };
                        }
                        scale_rows(&mut x, &others);
                        let (x_mean, y_mean) = (centre(&mut x, &others), centre(&mut y, &others));
                        let w = Decomposition::new(&x, &y).weights(&x, 0, penalty);
                        let at_row: f64 = (0..inputs).map(|d| (problem.inputs[(row, d)] - x_mean[d]) * w[d]).sum();
                        let expected = scale.mean[task] + scale.scale[task] * (y_mean[0] + at_row);
                        assert!((found[(row, task)] - expected).abs() < 1e-9, "{} for {expected}", found[(row, task)]);
                    }
                }
            }
        }
    }
}
