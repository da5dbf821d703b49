//! Scores of multitask predictions.
//!
//! Rows are samples, columns are tasks. Rules that hold for every score:
//!
//! - A NaN cell of the truth is missing and left out.
//! - A task without an observed cell scores NaN and is left out of means over tasks. Without any
//!   observed cell at all (also: no rows or no tasks) the overall score is NaN.
//! - A NaN in the prediction of an observed cell makes the score of its task and the overall
//!   score NaN: a failed prediction is never hidden by leaving it out. The same holds for a
//!   negative standard deviation.
//! - Sums of squares are scaled, so data between 1e-300 and 1e300 in size neither overflow nor
//!   vanish. Infinite truth gives NaN or infinite scores.
//!
//! A table whose shape does not match the truth is an error, never a panic.

mod cells;
mod held_out;
mod scores;
#[cfg(test)]
mod tests;

pub use cells::CellScores;
pub use held_out::{Check, HeldOut, LEVEL, OutOfFold, SplitBy, with_error};
pub use scores::{PerTask, Scores, Spread};

use crate::linalg::MatRef;
use crate::normal;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// What was wrong with the tables given to a score.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MetricsError {
    /// A table or a list of means does not fit the truth.
    #[error(
        "{what} is {} x {}, but the truth asks for {} x {} (rows x tasks): pass the same rows and tasks in both",
        found.0, found.1, expected.0, expected.1
    )]
    ShapeMismatch {
        /// The argument that does not fit.
        what: &'static str,
        /// Rows and columns that fit the truth.
        expected: (usize, usize),
        /// Rows and columns that were given.
        found: (usize, usize),
    },
    /// The probability of a central interval is not strictly between 0 and 1.
    #[error("interval level {0} is not between 0 and 1: use for example 0.9")]
    Level(f64),
}

/// One score for every task and over all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskScore {
    /// One value for every task; NaN for a task without an observed cell, and where a function says so.
    pub per_task: Vec<f64>,
    /// The value over all tasks. Each function says if it is a mean over tasks or over cells.
    pub overall: f64,
}

/// The constant prediction that [`rrmse`] compares with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReferenceMean<'a> {
    /// The mean of each task in the training data: what a constant model could have predicted.
    Train(&'a [f64]),
    /// The mean of the observed cells of each task in the scored data itself.
    /// Then `R² = 1 - RRMSE²` for every task that varies.
    Test,
}

/// (M1) Coefficient of determination, R² = 1 - Σ(y - ŷ)² / Σ(y - ȳ)² for each task.
///
/// ȳ is the mean of the observed scored cells of the task; the overall score is the unweighted
/// mean over the tasks that vary. A constant truth (also: a single row) has nothing to explain: its
/// R² is NaN and does not count.
pub fn task_r2(truth: MatRef<'_, f64>, prediction: MatRef<'_, f64>) -> Result<TaskScore, MetricsError> {
    let tasks = observed_tasks(truth, prediction)?;
    let per_task = |task: &Observed| if task.varies() { task.r2() } else { f64::NAN };
    // A prediction that failed is not hidden behind a truth that never varies.
    let counts = |task: &Observed| task.varies() || task.residual.iter().any(|error| error.is_nan());
    Ok(mean_over_tasks(&tasks, counts, |_, task| per_task(task)))
}

/// (M2) R² of all observed cells taken as one long vector, on their raw scale, around one overall mean.
///
/// Differences between the levels of the tasks count as explained variance here, so this can be
/// far above [`task_r2`]. Constant truth (also: a single cell) scores 1 if predicted exactly, else 0.
pub fn pooled_r2(truth: MatRef<'_, f64>, prediction: MatRef<'_, f64>) -> Result<f64, MetricsError> {
    Ok(Observed::pool(&observed_tasks(truth, prediction)?).r2())
}

/// (M3) Relative root mean squared error, √(Σ(y - ŷ)² / Σ(y - m)²) for each task, where m is the
/// reference mean of that task. The overall score is the mean over tasks, known as aRRMSE.
///
/// If the reference is exact (denominator 0) the score is 0 for an exact prediction, else 1;
/// with the mean of the scored data, `R² = 1 - RRMSE²` for every task that varies.
pub fn rrmse(
    truth: MatRef<'_, f64>,
    prediction: MatRef<'_, f64>,
    reference: ReferenceMean<'_>,
) -> Result<TaskScore, MetricsError> {
    let tasks = observed_tasks(truth, prediction)?;
    match reference {
        ReferenceMean::Test => {
            Ok(mean_over_tasks(&tasks, Observed::any, |_, task| task.error_ratio(mean(&task.truth))))
        }
        ReferenceMean::Train(means) => {
            if means.len() != tasks.len() {
                return Err(MetricsError::ShapeMismatch {
                    what: "list of training means",
                    expected: (1, tasks.len()),
                    found: (1, means.len()),
                });
            }
            Ok(mean_over_tasks(&tasks, Observed::any, |index, task| task.error_ratio(means[index])))
        }
    }
}

/// (M4) Root mean squared error, √(Σ(y - ŷ)² / n) for each task; overall over all observed cells.
pub fn rmse(truth: MatRef<'_, f64>, prediction: MatRef<'_, f64>) -> Result<TaskScore, MetricsError> {
    let tasks = observed_tasks(truth, prediction)?;
    let root_mean_square = |v: &[f64]| norm(v) / (v.len() as f64).sqrt();
    Ok(TaskScore {
        per_task: tasks.iter().map(|task| root_mean_square(&task.residual)).collect(),
        overall: root_mean_square(&Observed::pool(&tasks).residual),
    })
}

/// (M5) Mean absolute error, Σ|y - ŷ| / n for each task; overall over all observed cells.
pub fn mae(truth: MatRef<'_, f64>, prediction: MatRef<'_, f64>) -> Result<TaskScore, MetricsError> {
    check_shape("prediction", truth, prediction)?;
    Ok(mean_over_cells(truth, |y, i, j| (y - prediction[(i, j)]).abs()))
}

/// (M6) Negative log predictive density: the mean of [`gaussian_nlpd`] for each task; overall over all
/// observed cells. In nats. Lower is better.
pub fn nlpd(
    truth: MatRef<'_, f64>,
    prediction: MatRef<'_, f64>,
    std: MatRef<'_, f64>,
) -> Result<TaskScore, MetricsError> {
    check_shape("prediction", truth, prediction)?;
    check_shape("standard deviation", truth, std)?;
    Ok(mean_over_cells(truth, |y, i, j| gaussian_nlpd(y, prediction[(i, j)], std[(i, j)])))
}

/// (M7) Continuous ranked probability score: the mean of [`gaussian_crps`] for each task; overall over
/// all observed cells. In units of the task. Lower is better.
pub fn crps(
    truth: MatRef<'_, f64>,
    prediction: MatRef<'_, f64>,
    std: MatRef<'_, f64>,
) -> Result<TaskScore, MetricsError> {
    check_shape("prediction", truth, prediction)?;
    check_shape("standard deviation", truth, std)?;
    Ok(mean_over_cells(truth, |y, i, j| gaussian_crps(y, prediction[(i, j)], std[(i, j)])))
}

/// (M8) Share of observed cells with `lower <= y <= upper` for each task; overall over all observed
/// cells. A NaN bound gives NaN.
pub fn coverage(
    truth: MatRef<'_, f64>,
    lower: MatRef<'_, f64>,
    upper: MatRef<'_, f64>,
) -> Result<TaskScore, MetricsError> {
    check_shape("lower bound", truth, lower)?;
    check_shape("upper bound", truth, upper)?;
    Ok(mean_over_cells(truth, |y, i, j| {
        let (low, high) = (lower[(i, j)], upper[(i, j)]);
        if low.is_nan() || high.is_nan() {
            return f64::NAN;
        }
        f64::from(low <= y && y <= high)
    }))
}

/// `-ln N(y | mean, std²) = ln(std √(2π)) + (y - mean)² / (2 std²)`, in nats.
///
/// With std = 0 it is -∞ for an exact prediction and ∞ otherwise. Above 1e154 standard deviations
/// the square overflows to ∞. NaN for a negative std.
pub fn gaussian_nlpd(y: f64, mean: f64, std: f64) -> f64 {
    if std == 0.0 && y == mean {
        return f64::NEG_INFINITY;
    }
    let z = (y - mean) / std;
    if std >= 0.0 && z.is_infinite() {
        // ln(std) may be -∞ here; their sum would be NaN.
        return f64::INFINITY;
    }
    normal::LN_SQRT_2PI + std.ln() + 0.5 * z * z
}

/// CRPS of a Gaussian, `std [z (2Φ(z) - 1) + 2φ(z) - 1/√π]` with `z = (y - mean) / std`.
///
/// With std = 0 it is the absolute error. NaN for a negative std.
pub fn gaussian_crps(y: f64, mean: f64, std: f64) -> f64 {
    let error = (y - mean).abs();
    if std == 0.0 {
        return error;
    }
    if std < 0.0 {
        return f64::NAN;
    }
    let z = error / std;
    // 2Φ(z) - 1 = erf(z/√2) and std z = error: written so, a z that overflows does no harm.
    error * libm::erf(z * FRAC_1_SQRT_2) + std * (2.0 * normal::pdf(z) - 1.0 / PI.sqrt())
}

/// The observed cells of one task, or of all tasks pooled.
struct Observed {
    truth: Vec<f64>,
    /// Truth minus prediction.
    residual: Vec<f64>,
}

impl Observed {
    fn pool(tasks: &[Observed]) -> Observed {
        Observed {
            truth: tasks.iter().flat_map(|t| &t.truth).copied().collect(),
            residual: tasks.iter().flat_map(|t| &t.residual).copied().collect(),
        }
    }

    /// Whether there is an observed cell.
    fn any(&self) -> bool {
        !self.truth.is_empty()
    }

    /// Whether two of the observed cells differ.
    fn varies(&self) -> bool {
        self.truth.iter().any(|y| *y != self.truth[0])
    }

    fn r2(&self) -> f64 {
        1.0 - self.error_ratio(mean(&self.truth)).powi(2)
    }

    /// Root of the sum of squared errors over that of the constant prediction `reference`.
    fn error_ratio(&self, reference: f64) -> f64 {
        if self.truth.is_empty() {
            return f64::NAN;
        }
        let from_reference: Vec<f64> = self.truth.iter().map(|y| y - reference).collect();
        let (error, scale) = (norm(&self.residual), norm(&from_reference));
        if scale != 0.0 || error.is_nan() {
            error / scale
        } else if error == 0.0 {
            0.0
        } else {
            1.0
        }
    }
}

/// The observed cells of every task, in the order of the columns.
fn observed_tasks(truth: MatRef<'_, f64>, prediction: MatRef<'_, f64>) -> Result<Vec<Observed>, MetricsError> {
    check_shape("prediction", truth, prediction)?;
    let observe = |j| {
        let rows = (0..truth.nrows()).filter(|&i| !truth[(i, j)].is_nan());
        let (truth, residual) = rows.map(|i| (truth[(i, j)], truth[(i, j)] - prediction[(i, j)])).unzip();
        Observed { truth, residual }
    };
    Ok((0..truth.ncols()).map(observe).collect())
}

fn check_shape(what: &'static str, truth: MatRef<'_, f64>, table: MatRef<'_, f64>) -> Result<(), MetricsError> {
    if table.shape() == truth.shape() {
        return Ok(());
    }
    Err(MetricsError::ShapeMismatch { what, expected: truth.shape(), found: table.shape() })
}

/// Scores every task; the overall score is the mean over the tasks that count.
fn mean_over_tasks(
    tasks: &[Observed],
    counts: impl Fn(&Observed) -> bool,
    score: impl Fn(usize, &Observed) -> f64,
) -> TaskScore {
    let (mut per_task, mut sum, mut count) = (Vec::with_capacity(tasks.len()), 0.0, 0.0);
    for (index, task) in tasks.iter().enumerate() {
        let value = score(index, task);
        per_task.push(value);
        // Asks for cells, not for a NaN value: a task that failed must not be left out.
        if counts(task) {
            sum += value;
            count += 1.0;
        }
    }
    TaskScore { per_task, overall: sum / count }
}

/// Means of `cell(truth, row, task)` over the observed cells; 0/0 = NaN where there are none.
fn mean_over_cells(truth: MatRef<'_, f64>, cell: impl Fn(f64, usize, usize) -> f64) -> TaskScore {
    let (mut per_task, mut all, mut all_count) = (Vec::with_capacity(truth.ncols()), 0.0, 0.0);
    for j in 0..truth.ncols() {
        let (mut sum, mut count) = (0.0, 0.0);
        for i in 0..truth.nrows() {
            let y = truth[(i, j)];
            if !y.is_nan() {
                sum += cell(y, i, j);
                count += 1.0;
            }
        }
        per_task.push(sum / count);
        all += sum;
        all_count += count;
    }
    TaskScore { per_task, overall: all / all_count }
}

/// Arithmetic mean; NaN for an empty slice.
///
/// Averaging the distances from the first value keeps the rounding error small against the spread
/// of the values, also far from zero. The mean of equal values is exact, so that a constant task
/// is recognised.
fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let first = values.first().copied().unwrap_or(f64::NAN);
    first + values.iter().map(|v| (v - first) / n).sum::<f64>()
}

/// Root of the sum of squares, scaled by the largest entry against overflow and underflow.
fn norm(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0_f64, |top, v| top.max(v.abs()));
    if largest == 0.0 || largest.is_infinite() {
        // `max` ignores NaN, the sum does not: zeros give 0, a NaN gives NaN.
        return values.iter().map(|v| v.abs()).sum();
    }
    let squares: f64 = values.iter().map(|v| (v / largest).powi(2)).sum();
    largest * squares.sqrt()
}
