//! Choosing hyper-parameters by cross-validation inside the training rows.
//!
//! A method lists the points of its grid and fits all of them to one inner training set at a time, so that it can share
//! whatever the points have in common (one eigendecomposition, one path of warm starts). Everything else is here: the
//! inner folds, the score (mean over tasks of R² on the held-out rows, each counted once unless
//! its weight is zero, then mean over inner folds), the choice, and a
//! [`Journal`] that lets an interrupted selection go on where it stopped.

mod journal;
pub mod lines;
#[cfg(test)]
mod tests;

pub use journal::Journal;

use crate::folds::Folds;
use journal::Identity;
use rayon::prelude::*;
use rffblr::data::Dataset;
use rffblr::internals::select_rows;
use rffblr::linalg::{Mat, MatRef};
use rffblr::metrics::task_r2;
use rffblr::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Inner folds of a selection for which nothing else is asked.
pub const INNER_FOLDS: usize = 10;
/// With fewer rows there is nothing to hold out that could be scored.
const FEWEST_ROWS: usize = 4;

/// Which points of its grid a method tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grid {
    /// All of them.
    #[default]
    Full,
    /// A small subset with the values most often chosen, for quick looks.
    Coarse,
}

impl Grid {
    /// Name on the command line and in a journal.
    pub fn name(self) -> &'static str {
        match self {
            Grid::Full => "full",
            Grid::Coarse => "coarse",
        }
    }
}

/// How a method is to be fitted: what it draws, and how it chooses its hyper-parameters.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Points to try.
    pub grid: Grid,
    /// Rows each inner fold holds out, as positions in the training data; `None` deals out [`INNER_FOLDS`] (fewer if
    /// there are few rows) by the seed.
    pub inner: Option<&'a [Vec<usize>]>,
    /// Where finished inner folds are kept.
    pub journal: Option<&'a Journal>,
    /// Called after every inner fold, possibly from several threads.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
}

impl Plan<'static> {
    /// The full grid with seeded inner folds; no journal, no progress.
    pub fn seeded(seed: u64) -> Self {
        Plan { seed, grid: Grid::Full, inner: None, journal: None, progress: None }
    }
}

/// One inner fold is finished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Inner folds finished so far in this selection.
    pub done: usize,
    /// Inner folds of this selection.
    pub total: usize,
    /// Wall-clock time of this one; `None` if it was found in the journal.
    pub seconds: Option<f64>,
}

/// The outcome of a selection.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The point with the highest score, the first of equals.
    pub index: usize,
    /// Mean R² of each point over the inner folds; −∞ for a point that failed in one of them. Empty if there was
    /// nothing to choose or nothing to choose by.
    pub scores: Vec<f64>,
}

/// Rows that an inner fold holds out.
pub struct HeldOutRows {
    /// Their inputs.
    pub inputs: Mat<f64>,
    /// Their targets; NaN where one is not observed or the row has weight zero.
    pub targets: Mat<f64>,
}

/// Takes the predictions of one point of the grid for the held-out rows.
pub type Report<'a> = &'a mut (dyn FnMut(usize, Mat<f64>) + 'a);

/// Scores every point of a grid on the inner folds and returns the best; of equals the first, so that a method lists
/// its simpler points first.
///
/// `scan(train, held_out_inputs, report)` fits all points to one inner training set and calls `report(point,
/// predictions)` once for each, in any order, with predictions on the original scale of the targets. A point that is
/// not reported, or whose predictions are not finite, scores −∞; if that is so for every point, the fit is refused.
///
/// Inner folds run in parallel if the current rayon pool has several threads; the choice does not depend on it. With
/// fewer than four rows, or if no inner fold can be scored (too many missing targets, or none that varies), the first point
/// is chosen.
pub fn choose(
    method: &'static str,
    points: usize,
    data: &Dataset,
    plan: &Plan<'_>,
    scan: impl Fn(&Dataset, MatRef<'_, f64>, Report<'_>) -> Result<()> + Sync,
) -> Result<Choice> {
    choose_by(method, points, data, plan, |train, held_out, report| {
        let (inputs, truth) = (held_out.inputs.as_ref(), held_out.targets.as_ref());
        let mut problem = None;
        scan(train, inputs, &mut |point, predictions| match task_r2(truth, predictions.as_ref()) {
            // Squares can overflow where predictions do not.
            Ok(r2) if is_finite(&predictions) => report(point, r2.overall),
            Ok(_) => report(point, f64::NEG_INFINITY),
            Err(error) => problem = Some(error),
        })?;
        problem.map_or(Ok(()), |error| Err(error.into()))
    })
}

/// The same for points that are judged by another score, higher the better: `scan(train, held_out, report)` calls
/// `report(point, score)`. A score that is not finite counts as −∞.
pub fn choose_by(
    method: &'static str,
    points: usize,
    data: &Dataset,
    plan: &Plan<'_>,
    scan: impl Fn(&Dataset, &HeldOutRows, &mut dyn FnMut(usize, f64)) -> Result<()> + Sync,
) -> Result<Choice> {
    if points == 0 {
        return Err(Error::Unsupported { method, problem: "its grid has no point to try".into() });
    }
    let folds = inner_folds(data.rows(), plan)?;
    if points == 1 || folds.is_empty() {
        return Ok(Choice { index: 0, scores: Vec::new() });
    }
    // Only a journal needs the fingerprint, which reads every number.
    let fingerprint = plan.journal.map(|_| data.fingerprint()).unwrap_or_default();
    let done = AtomicUsize::new(0);
    let run = |(fold, held_out): (usize, &Vec<usize>)| {
        let identity = || Identity::new(method, points, plan, fold, held_out, &fingerprint);
        let (scores, seconds) = remembered(plan.journal, identity, || score_fold(points, data, held_out, &scan))?;
        if let Some(tell) = plan.progress {
            tell(Progress { done: done.fetch_add(1, Ordering::Relaxed) + 1, total: folds.len(), seconds });
        }
        Ok(scores)
    };
    // Collected before errors are looked at, so that the first fold's error is the one returned.
    let by_fold: Vec<Result<Option<Vec<f64>>>> = if rayon::current_num_threads() > 1 {
        folds.par_iter().enumerate().map(run).collect()
    } else {
        folds.iter().enumerate().map(run).collect()
    };
    let by_fold: Vec<Vec<f64>> = by_fold.into_iter().filter_map(Result::transpose).collect::<Result<_>>()?;
    if by_fold.is_empty() {
        return Ok(Choice { index: 0, scores: Vec::new() });
    }
    best(method, points, &by_fold)
}

/// Scores from the journal, or computed, with the seconds that took, and added to it. A fold without scores takes no time
/// and is not kept.
fn remembered(
    journal: Option<&Journal>,
    identity: impl Fn() -> Identity,
    score: impl Fn() -> Result<Option<Vec<f64>>>,
) -> Result<(Option<Vec<f64>>, Option<f64>)> {
    if let Some(scores) = journal.and_then(|journal| journal.find(&identity())) {
        return Ok((Some(scores), None));
    }
    let start = Instant::now();
    let scores = score()?;
    if let (Some(journal), Some(scores)) = (journal, &scores) {
        journal.add(identity(), scores)?;
    }
    Ok((scores, Some(start.elapsed().as_secs_f64())))
}

/// The point with the highest mean over folds.
fn best(method: &'static str, points: usize, by_fold: &[Vec<f64>]) -> Result<Choice> {
    let mean = |point: usize| by_fold.iter().map(|scores| scores[point]).sum::<f64>() / by_fold.len() as f64;
    let scores: Vec<f64> = (0..points).map(mean).collect();
    let mut index = 0;
    for (point, score) in scores.iter().enumerate() {
        if *score > scores[index] {
            index = point;
        }
    }
    if scores[index] == f64::NEG_INFINITY {
        let problem = "no point of its grid gives finite predictions on the inner folds; rescale the data or look for \
                       extreme values in them";
        return Err(Error::Unsupported { method, problem: problem.into() });
    }
    Ok(Choice { index, scores })
}

/// Deals the rows of a training set out into inner folds by a seed. The folds around it, dealt by the same seed, have
/// nothing to do with these.
pub fn deal(rows: usize, count: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    const INNER: u64 = 0x9e37_79b9_7f4a_7c15;
    Ok(Folds::random(rows, count, seed ^ INNER)?.test().to_vec())
}

/// The inner folds of a plan, checked against the rows; empty if there are too few rows.
pub(crate) fn inner_folds(rows: usize, plan: &Plan<'_>) -> Result<Vec<Vec<usize>>> {
    match plan.inner {
        Some(given) => Ok(Folds::from_lists(rows, given.to_vec(), "inner folds")?.test().to_vec()),
        None if rows < FEWEST_ROWS => Ok(Vec::new()),
        // Two rows at least in each, because R² of a single one says nothing.
        None => deal(rows, INNER_FOLDS.min(rows / 2), plan.seed),
    }
}

/// The score of every point on one inner fold; `None` if the fold has nothing to learn from or nothing to score.
fn score_fold(
    points: usize,
    data: &Dataset,
    held_out: &[usize],
    scan: &impl Fn(&Dataset, &HeldOutRows, &mut dyn FnMut(usize, f64)) -> Result<()>,
) -> Result<Option<Vec<f64>>> {
    let rows: Vec<usize> = (0..data.rows()).filter(|row| held_out.binary_search(row).is_err()).collect();
    let mut truth = select_rows(data.targets(), held_out);
    // A row of weight zero says nothing, here too.
    for (row, _) in held_out.iter().enumerate().filter(|&(_, &row)| data.weights().is_some_and(|w| w[row] == 0.0)) {
        truth.row_mut(row).iter_mut().for_each(|cell| *cell = f64::NAN);
    }
    // R² of a target that does not vary is not defined.
    let varies = |task: usize| {
        let mut known = truth.col_as_slice(task).iter().filter(|y| !y.is_nan());
        known.next().is_some_and(|first| known.any(|y| y != first))
    };
    let scored = (0..truth.ncols()).any(varies);
    let train = match data.select(&rows) {
        // A target may be observed in the held-out rows alone, or all weight lie there.
        Err(Error::TargetUnobserved(_) | Error::Weights(_)) => return Ok(None),
        train => train?,
    };
    if !scored {
        return Ok(None);
    }
    let held_out = HeldOutRows { inputs: select_rows(data.inputs(), held_out), targets: truth };
    let mut scores = vec![f64::NEG_INFINITY; points];
    scan(&train, &held_out, &mut |point, score| {
        scores[point] = if score.is_finite() { score } else { f64::NEG_INFINITY };
    })?;
    Ok(Some(scores))
}

fn is_finite(table: &Mat<f64>) -> bool {
    (0..table.ncols()).all(|column| table.col_as_slice(column).iter().all(|value| value.is_finite()))
}
