//! All scores of one prediction in one record.

use super::{
    CellScores, MetricsError, ReferenceMean, check_shape, mae, mean_over_cells, observed_tasks, pooled_r2, rmse, rrmse,
    task_r2,
};
use crate::linalg::{Mat, MatRef};
use crate::normal;
use serde::{Deserialize, Deserializer, Serialize};

/// The uncertainty of a prediction, judged.
#[derive(Debug, Clone, Copy)]
pub struct Spread<'a> {
    /// What every cell scores under its distribution.
    pub cells: &'a CellScores,
    /// Probability of the central interval whose coverage is scored, for example 0.9.
    pub level: f64,
}

/// All scores of one prediction. The functions of [`crate::metrics`] hold the formulas.
///
/// JSON has no NaN and no infinity: both are written as `null` and read back as NaN (for the
/// optional numbers of this struct as `None`). A record with a NaN is not equal to itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Mean of R² over the tasks that vary.
    #[serde(deserialize_with = "number_or_nan")]
    pub task_r2: f64,
    /// R² of all observed cells as one vector.
    #[serde(deserialize_with = "number_or_nan")]
    pub pooled_r2: f64,
    /// Mean over tasks of the relative root mean squared error.
    #[serde(deserialize_with = "number_or_nan")]
    pub arrmse: f64,
    /// Root mean squared error over all observed cells.
    #[serde(deserialize_with = "number_or_nan")]
    pub rmse: f64,
    /// Mean absolute error over all observed cells, of the median of each one's distribution.
    #[serde(deserialize_with = "number_or_nan")]
    pub mae: f64,
    /// Negative log predictive density over all observed cells, in nats.
    pub nlpd: Option<f64>,
    /// Continuous ranked probability score over all observed cells.
    pub crps: Option<f64>,
    /// Share of all observed cells inside the central interval of probability `level`.
    pub coverage: Option<f64>,
    /// Probability that `coverage` should come close to.
    pub level: Option<f64>,
    /// The same scores for every task.
    pub per_task: PerTask,
}

/// Scores of every task, in the order of the columns; NaN for a task without an observed cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerTask {
    /// Number of observed cells.
    pub observed: Vec<usize>,
    /// R²; NaN also for a task that never varies.
    #[serde(deserialize_with = "numbers_or_nan")]
    pub r2: Vec<f64>,
    /// Relative root mean squared error.
    #[serde(deserialize_with = "numbers_or_nan")]
    pub rrmse: Vec<f64>,
    /// Root mean squared error.
    #[serde(deserialize_with = "numbers_or_nan")]
    pub rmse: Vec<f64>,
    /// Mean absolute error.
    #[serde(deserialize_with = "numbers_or_nan")]
    pub mae: Vec<f64>,
    /// Negative log predictive density, in nats.
    #[serde(deserialize_with = "optional_numbers_or_nan")]
    pub nlpd: Option<Vec<f64>>,
    /// Continuous ranked probability score.
    #[serde(deserialize_with = "optional_numbers_or_nan")]
    pub crps: Option<Vec<f64>>,
    /// Share of cells inside the central interval.
    #[serde(deserialize_with = "optional_numbers_or_nan")]
    pub coverage: Option<Vec<f64>>,
    /// Largest distance of an observed cell from its prediction, in standard deviations.
    #[serde(default, deserialize_with = "optional_numbers_or_nan")]
    pub largest_z: Option<Vec<f64>>,
}

impl Scores {
    /// Scores `prediction` against `truth`.
    ///
    /// `spread` is `None` for methods without uncertainty; `nlpd`, `crps`, `coverage` and `level`
    /// are then `None`, and the absolute error is that of `prediction` rather than of the median. The interval behind
    /// `coverage` is central, of the predictive distribution.
    pub fn new(
        truth: MatRef<'_, f64>,
        prediction: MatRef<'_, f64>,
        spread: Option<Spread<'_>>,
        reference: ReferenceMean<'_>,
    ) -> Result<Scores, MetricsError> {
        let r2 = task_r2(truth, prediction)?;
        let rrmse = rrmse(truth, prediction, reference)?;
        let rmse = rmse(truth, prediction)?;
        let mae = mae(truth, prediction)?;
        let tasks = observed_tasks(truth, prediction)?;
        let mut scores = Scores {
            task_r2: r2.overall,
            pooled_r2: pooled_r2(truth, prediction)?,
            arrmse: rrmse.overall,
            rmse: rmse.overall,
            mae: mae.overall,
            nlpd: None,
            crps: None,
            coverage: None,
            level: None,
            per_task: PerTask {
                observed: tasks.iter().map(|task| task.truth.len()).collect(),
                r2: r2.per_task,
                rrmse: rrmse.per_task,
                rmse: rmse.per_task,
                mae: mae.per_task,
                nlpd: None,
                crps: None,
                coverage: None,
                largest_z: None,
            },
        };
        if let Some(spread) = spread {
            scores.add_spread(truth, spread)?;
        }
        Ok(scores)
    }

    fn add_spread(&mut self, truth: MatRef<'_, f64>, Spread { cells, level }: Spread<'_>) -> Result<(), MetricsError> {
        if !(level > 0.0 && level < 1.0) {
            return Err(MetricsError::Level(level));
        }
        check_shape("standard deviation", truth, cells.z.as_ref())?;
        // The lower quantile keeps all digits of a level near 1: 1 + level would round.
        let half_width = -normal::quantile(0.5 * (1.0 - level));
        let of = |table: &Mat<f64>| mean_over_cells(truth, |_, i, j| table[(i, j)]);
        let coverage = mean_over_cells(truth, |_, i, j| match cells.z[(i, j)].abs() {
            z if z.is_nan() => f64::NAN,
            z => f64::from(z <= half_width),
        });
        let (nlpd, crps, mae) = (of(&cells.nlpd), of(&cells.crps), of(&cells.absolute));
        (self.mae, self.per_task.mae) = (mae.overall, mae.per_task);
        self.nlpd = Some(nlpd.overall);
        self.crps = Some(crps.overall);
        self.coverage = Some(coverage.overall);
        self.level = Some(level);
        self.per_task.nlpd = Some(nlpd.per_task);
        self.per_task.crps = Some(crps.per_task);
        self.per_task.coverage = Some(coverage.per_task);
        // NaN cells are not observed, and no maximum.
        let largest = |j: usize| cells.z.col_as_slice(j).iter().map(|z| z.abs()).fold(f64::NAN, f64::max);
        self.per_task.largest_z = Some((0..truth.ncols()).map(largest).collect());
        Ok(())
    }
}

pub(super) fn number_or_nan<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or(f64::NAN))
}

pub(super) fn numbers_or_nan<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
    Ok(nan_for_null(Vec::deserialize(input)?))
}

fn optional_numbers_or_nan<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Vec<f64>>, D::Error> {
    Ok(Option::deserialize(input)?.map(nan_for_null))
}

fn nan_for_null(numbers: Vec<Option<f64>>) -> Vec<f64> {
    let or_nan = |number: Option<f64>| number.unwrap_or(f64::NAN);
    numbers.into_iter().map(or_nan).collect()
}
