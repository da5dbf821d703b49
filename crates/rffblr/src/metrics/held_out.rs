//! Scores over the folds of a cross-validation, all held-out cells together, and the record of such a check.

use super::scores::{number_or_nan, numbers_or_nan};
use super::{CellScores, MetricsError, ReferenceMean, Scores, Spread};
use crate::linalg::{Mat, select_rows};
use crate::words::plural;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Probability of the interval whose coverage is scored.
pub const LEVEL: f64 = 0.9;

/// The rows that one fold held out: what was observed (NaN where nothing was) and what was predicted, rows × tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// What was observed.
    pub truth: Mat<f64>,
    /// Point prediction of a fit that has not seen these rows.
    pub mean: Mat<f64>,
    /// Standard deviation of an observation around it; `None` for methods without uncertainty.
    pub std: Option<Mat<f64>>,
    /// What the cells score under their own distributions; `None` if these are normal with this mean and deviation.
    pub own: Option<CellScores>,
}

impl HeldOut {
    /// Predictions that are normal, or without a distribution.
    pub fn new(truth: Mat<f64>, mean: Mat<f64>, std: Option<Mat<f64>>) -> HeldOut {
        HeldOut { truth, mean, std, own: None }
    }

    /// How far a cell is from its prediction, in standard deviations of the scale of the fit; NaN if it was not observed or
    /// has none.
    pub fn z(&self, row: usize, task: usize) -> f64 {
        match (&self.own, &self.std) {
            (Some(own), _) => own.z[(row, task)],
            (None, Some(std)) => (self.truth[(row, task)] - self.mean[(row, task)]) / std[(row, task)],
            (None, None) => f64::NAN,
        }
    }

    /// Some of the rows.
    pub fn select(&self, rows: &[usize]) -> HeldOut {
        let of = |table: &Mat<f64>| select_rows(table.as_ref(), rows);
        HeldOut {
            truth: of(&self.truth),
            mean: of(&self.mean),
            std: self.std.as_ref().map(of),
            own: self.own.as_ref().map(|own| own.map(of)),
        }
    }

    /// The same among more tasks: those of these numbers, rising, were not predicted and are not scored.
    pub fn with_unknown(self, tasks: &[usize]) -> HeldOut {
        if tasks.is_empty() {
            return self;
        }
        let count = self.truth.ncols() + tasks.len();
        let known: Vec<usize> = (0..count).filter(|task| tasks.binary_search(task).is_err()).collect();
        let of = |table: &Mat<f64>| {
            let cell = |row, task| known.binary_search(&task).map_or(f64::NAN, |at| table[(row, at)]);
            Mat::from_fn(table.nrows(), count, cell)
        };
        HeldOut {
            truth: of(&self.truth),
            mean: of(&self.mean),
            std: self.std.as_ref().map(of),
            own: self.own.as_ref().map(|own| own.map(of)),
        }
    }

    /// All scores, with the coverage of intervals of a level.
    pub fn scores(&self, level: f64, reference: ReferenceMean<'_>) -> Result<Scores, MetricsError> {
        let judged = self.judged()?;
        let spread = judged.as_deref().map(|cells| Spread { cells, level });
        Scores::new(self.truth.as_ref(), self.mean.as_ref(), spread, reference)
    }

    /// What the cells score, if the predictions are distributions.
    pub(crate) fn judged(&self) -> Result<Option<Cow<'_, CellScores>>, MetricsError> {
        match (&self.own, &self.std) {
            (Some(own), _) => Ok(Some(Cow::Borrowed(own))),
            (None, Some(std)) => {
                let normal = CellScores::normal(self.truth.as_ref(), self.mean.as_ref(), std.as_ref())?;
                Ok(Some(Cow::Owned(normal)))
            }
            (None, None) => Ok(None),
        }
    }

    /// Whether two of the observed cells of a task differ, so that it has an R².
    pub fn varies(&self, task: usize) -> bool {
        let mut cells = self.truth.col_as_slice(task).iter().filter(|y| !y.is_nan());
        cells.next().is_some_and(|first| cells.any(|y| y != first))
    }
}

/// Scores over all held-out cells of all folds, with the standard errors of R².
///
/// R² is 1 − Σ(y − ŷ)² / Σ(y − ȳ)² with the sums, and the mean ȳ, over the cells of all folds: not the mean of the folds'
/// own R², which is noisy and too low where folds are small. A standard error is that of a ratio over K folds to first order,
/// √(K/(K − 1) Σₖ (aₖ − (1 − R²) bₖ)²) / Σₖ bₖ, with aₖ and bₖ the parts of fold k in the two sums: unlike the jackknife's it
/// is defined if what is left of a target without some fold hardly varies. It is NaN with fewer than two folds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutOfFold {
    /// All scores; relative errors are relative to the mean of the held-out cells.
    pub scores: Scores,
    /// Standard error of the task R².
    #[serde(deserialize_with = "number_or_nan")]
    pub task_r2_se: f64,
    /// Standard error of the R² of each task.
    #[serde(deserialize_with = "numbers_or_nan")]
    pub r2_se: Vec<f64>,
}

impl OutOfFold {
    /// Scores the folds of one method, which all have the same tasks.
    pub fn new(folds: &[HeldOut]) -> Result<OutOfFold, MetricsError> {
        let all = stacked(&folds.iter().collect::<Vec<_>>())?;
        let scores = all.scores(LEVEL, ReferenceMean::Test)?;
        let tasks = all.truth.ncols();
        // Of each task that varies, what each fold that has a cell of it moves its R² by.
        let moves: Vec<Option<Vec<f64>>> = (0..tasks).map(|c| all.varies(c).then(|| moves(folds, &all, c))).collect();
        // A fold without a cell has no say in an error.
        let has = |k: usize, c: usize| folds[k].truth.col_as_slice(c).iter().any(|y| !y.is_nan());
        let of_task = |c: usize| match &moves[c] {
            Some(moves) => standard_error((0..folds.len()).filter(|&k| has(k, c)).map(|k| moves[k])),
            None => f64::NAN,
        };
        let count = moves.iter().flatten().count() as f64;
        let mean = |k: usize| moves.iter().flatten().map(|moves| moves[k]).sum::<f64>() / count;
        let scored = (0..folds.len()).filter(|&k| (0..tasks).any(|c| has(k, c)));
        let task_r2_se = standard_error(scored.map(mean));
        Ok(OutOfFold { scores, task_r2_se, r2_se: (0..tasks).map(of_task).collect() })
    }
}

/// What each fold moves the R² of a task by, to first order: ((1 − R²) bₖ − aₖ) / Σ b, with aₖ the squared errors of the fold
/// and bₖ its squared deviations from the mean of all cells, which moves nothing to first order.
fn moves(folds: &[HeldOut], all: &HeldOut, task: usize) -> Vec<f64> {
    let cells = || all.truth.col_as_slice(task).iter().copied().filter(|y| !y.is_nan());
    // Divided by the largest, no square overflows.
    let largest = cells().fold(f64::MIN_POSITIVE, |largest, y| largest.max(y.abs()));
    let mean = cells().map(|y| y / largest).sum::<f64>() / cells().count() as f64;
    let range = cells().fold(f64::MIN_POSITIVE, |range, y| range.max((y / largest - mean).abs()));
    let parts = |fold: &HeldOut| {
        let pairs = fold.truth.col_as_slice(task).iter().zip(fold.mean.col_as_slice(task));
        pairs.filter(|(y, _)| !y.is_nan()).fold((0.0, 0.0), |(a, b), (y, predicted)| {
            let (error, deviation) = ((y / largest - predicted / largest) / range, (y / largest - mean) / range);
            (a + error * error, b + deviation * deviation)
        })
    };
    let parts: Vec<(f64, f64)> = folds.iter().map(parts).collect();
    let (errors, spread) = parts.iter().fold((0.0, 0.0), |(a, b), part| (a + part.0, b + part.1));
    parts.iter().map(|(a, b)| (errors / spread * b - a) / spread).collect()
}

/// √(K/(K − 1) Σ dₖ²) of what K folds move a score by; NaN for fewer than two.
fn standard_error(moves: impl Iterator<Item = f64>) -> f64 {
    let (count, squares) = moves.fold((0.0, 0.0), |(count, squares), d| (count + 1.0, squares + d * d));
    if count < 2.0 { f64::NAN } else { (count / (count - 1.0) * squares).sqrt() }
}

/// The rows of all folds, one below the other; deviations only if every fold has them.
fn stacked(folds: &[&HeldOut]) -> Result<HeldOut, MetricsError> {
    let tasks = folds.first().map_or(0, |fold| fold.truth.ncols());
    for fold in folds {
        let expected = (fold.truth.nrows(), tasks);
        let tables = [("truth", Some(&fold.truth)), ("prediction", Some(&fold.mean)), ("deviation", fold.std.as_ref())];
        for (what, table) in tables {
            if let Some(found) = table.map(Mat::shape).filter(|found| *found != expected) {
                return Err(MetricsError::ShapeMismatch { what, expected, found });
            }
        }
    }
    let rows = folds.iter().map(|fold| fold.truth.nrows()).sum();
    let stack = |table: fn(&HeldOut) -> Option<&Mat<f64>>| {
        let mut out = Mat::zeros(rows, tasks);
        let mut next = 0;
        for fold in folds {
            let part = table(fold)?;
            out.as_mut().subrows_mut(next, part.nrows()).copy_from(part);
            next += part.nrows();
        }
        Some(out)
    };
    let none = || Mat::zeros(0, tasks);
    // Distributions of one fold make those of all be scored cell by cell.
    let mut own = None;
    if folds.iter().any(|fold| fold.own.is_some()) {
        let judged: Vec<_> = folds.iter().map(|fold| fold.judged()).collect::<Result<_, _>>()?;
        if judged.iter().all(Option::is_some) {
            own = Some(CellScores::stacked(judged.into_iter().flatten(), rows, tasks));
        }
    }
    Ok(HeldOut {
        own,
        truth: stack(|fold| Some(&fold.truth)).unwrap_or_else(none),
        mean: stack(|fold| Some(&fold.mean)).unwrap_or_else(none),
        std: stack(|fold| fold.std.as_ref()),
    })
}

/// How rows were split into those to learn from and those to be tested on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum SplitBy {
    /// At random, every row alone.
    Random {
        /// Seed that dealt them out.
        seed: u64,
    },
    /// Whole groups are held out: rows with the same value of a column.
    Group {
        /// The column, if it has a name.
        column: Option<String>,
        /// Seed that dealt them out.
        seed: u64,
    },
    /// Trained on the past, tested on the future.
    Time {
        /// The column that orders the rows.
        column: String,
    },
    /// As whoever asked for the check said.
    Custom,
    /// At random and once: the model itself was scored on these rows, before it learned from them too.
    HeldOut {
        /// Seed that chose them.
        seed: u64,
    },
    /// The same with whole groups: rows with the same value of a column.
    HeldOutGroups {
        /// The column.
        column: String,
        /// Seed that chose them.
        seed: u64,
        /// Number of groups with rows that were scored.
        groups: usize,
        /// Rows that were held out, of which those in the sample were scored.
        of: usize,
    },
    /// The same with the last rows.
    HeldOutTime {
        /// The column that orders the rows.
        column: String,
        /// The time of the first of them, as a number or a date.
        from: String,
        /// Rows that were held out, of which those in the sample were scored.
        of: usize,
    },
}

impl std::fmt::Display for SplitBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SplitBy::Random { .. } => write!(f, "random folds"),
            SplitBy::Group { column: Some(column), .. } => write!(f, "whole groups of {column} held out"),
            SplitBy::Group { column: None, .. } => write!(f, "whole groups held out"),
            SplitBy::Time { column } => write!(f, "trained on the past, tested on the future by {column}"),
            SplitBy::Custom => write!(f, "folds of one's own"),
            SplitBy::HeldOut { .. } | SplitBy::HeldOutGroups { .. } | SplitBy::HeldOutTime { .. } => {
                write!(f, "scored before it learned from them")
            }
        }
    }
}

/// How well a model's recipe does on rows it has not seen: refits of everything it learned, each tested on the rows of a
/// fold it was not given, beside ridge regression and the training mean on the same folds. It holds scores and no row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// How rows were split.
    pub split: SplitBy,
    /// Number of refits.
    pub folds: usize,
    /// Rows that were tested, once or more.
    pub rows: usize,
    /// The model's recipe.
    pub model: OutOfFold,
    /// Ridge regression.
    pub ridge: OutOfFold,
    /// The mean of each fold's training rows.
    pub mean: OutOfFold,
    /// Of each task, the folds whose training rows have no value of it: there it is neither learned nor scored. Empty if
    /// there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unscored: Vec<usize>,
    /// Of each task, how many times as wide as by the normal distribution its intervals must be to hold what they promise on the
    /// rows that were held out; 1 where that may be chance. Empty if all are. The coverage among the scores is that of the wider
    /// intervals, those of each fold by what the others show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wider: Vec<f64>,
}

impl Check {
    /// The score in a sentence.
    pub fn headline(&self) -> String {
        let share = |method: &OutOfFold| format!("{:.0} %", 100.0 * method.scores.task_r2.max(0.0));
        if self.model.scores.task_r2.is_nan() {
            return format!("No target varies in the rows that were held out ({}).", self.how());
        }
        let tasks = self.model.r2_se.len();
        let over = if tasks == 1 { String::new() } else { format!(", on average over {tasks} targets") };
        format!(
            "Explains {} of the variance of rows it has not seen{over} (task R² {}; {}); ridge regression {}.",
            share(&self.model),
            with_error(self.model.scores.task_r2, self.model.task_r2_se),
            self.how(),
            share(&self.ridge),
        )
    }

    /// What to know of the scores and intervals of targets with these names, a sentence for each.
    pub fn notes(&self, targets: &[String]) -> Vec<String> {
        let tell = |(name, &folds): (&String, &usize)| {
            format!(
                "Target \"{name}\" has no value in the training rows of {folds} of {} refits and is not scored there.",
                self.folds
            )
        };
        let wider = |(name, factor): (&String, &f64)| {
            format!(
                "Intervals of \"{name}\" are {factor:.2} times as wide as the model alone would have them: they held too few of the \
                 rows it has not seen."
            )
        };
        let unscored = targets.iter().zip(&self.unscored).filter(|(_, folds)| **folds > 0).map(tell);
        unscored.chain(targets.iter().zip(&self.wider).filter(|(_, factor)| **factor > 1.0).map(wider)).collect()
    }

    /// How rows were held out, in words.
    pub fn how(&self) -> String {
        match &self.split {
            SplitBy::HeldOut { .. } => format!("{} rows held out, {}", self.rows, self.split),
            SplitBy::HeldOutGroups { column, groups, of, .. } => {
                let rows = if *of == self.rows { format!("{of}") } else { format!("{} of {of}", self.rows) };
                let groups = plural(*groups, "whole group");
                format!("{rows} rows of {groups} of {column} held out, {}", self.split)
            }
            SplitBy::HeldOutTime { column, from, of } => {
                let last = if *of == self.rows { "the last".into() } else { format!("{} of the last", self.rows) };
                format!("{last} {of} rows by {column} held out, from {from} on, {}", self.split)
            }
            split => format!("{} refits, {split}", self.folds),
        }
    }

    /// What a model file must hold for the check to belong to a model with this many tasks.
    pub(crate) fn fits(&self, tasks: usize) -> bool {
        let listed = |count: usize| count == 0 || count == tasks;
        let wider = listed(self.wider.len()) && self.wider.iter().all(|factor| factor.is_finite() && *factor >= 1.0);
        wider
            && listed(self.unscored.len())
            && [&self.model, &self.ridge, &self.mean].iter().all(|method| {
                let each = &method.scores.per_task;
                let optional =
                    [&each.nlpd, &each.crps, &each.coverage].map(|list| list.as_ref().map_or(tasks, Vec::len));
                let lists = [each.r2.len(), each.rrmse.len(), each.rmse.len(), each.mae.len(), method.r2_se.len()];
                each.observed.len() == tasks && lists.iter().chain(&optional).all(|&count| count == tasks)
            })
    }
}

/// A score and its standard error, `–` for a score that is not defined.
pub fn with_error(score: f64, error: f64) -> String {
    match (score.is_nan(), error.is_nan()) {
        (true, _) => "–".into(),
        (false, true) => format!("{score:.3}"),
        (false, false) => format!("{score:.3} ± {error:.3}"),
    }
}
