//! Intervals: by the normal distribution, or by errors that were seen on held-out rows.

use super::Model;
use crate::error::{Error, Result};
use crate::metrics::{HeldOut, LEVEL};
use crate::normal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Least number of held-out cells of a task whose quantiles are worth keeping.
const LEAST: usize = 1000;
/// Least number of held-out cells of a task that can show its intervals to be too narrow.
const FEWEST: usize = 30;
/// Quantiles are kept for the probabilities 1/STEPS to (STEPS − 1)/STEPS.
const STEPS: usize = 200;

/// Quantiles of (observation − mean)/std of each task on rows that were held out, on the scale of the fit: errors need
/// not be normal, and with thousands of them their distribution is known. Empty for a task with too few.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorQuantiles(Vec<Vec<f64>>);

impl ErrorQuantiles {
    /// From rows that were held out.
    pub fn new(held_out: &HeldOut) -> ErrorQuantiles {
        ErrorQuantiles::of(held_out, |_| LEAST)
    }

    /// From some of the rows that these are from, for the tasks that have any: what the intervals of the other rows are judged
    /// by. Less than a tenth of the cells that are needed otherwise leaves a task without.
    pub fn from_part(&self, part: &HeldOut) -> ErrorQuantiles {
        ErrorQuantiles::of(part, |task| if self.has(task) { LEAST / 10 } else { usize::MAX })
    }

    /// Whether a task has quantiles of its own, and not those of the normal distribution.
    pub fn has(&self, task: usize) -> bool {
        self.0.get(task).is_some_and(|list| !list.is_empty())
    }

    /// Of tasks with at least so many held-out cells.
    fn of(held_out: &HeldOut, least: impl Fn(usize) -> usize) -> ErrorQuantiles {
        let of_task = |c: usize| {
            let cells = (0..held_out.truth.nrows()).map(|n| held_out.z(n, c));
            let mut errors: Vec<f64> = cells.filter(|z| z.is_finite()).collect();
            if errors.len() < least(c) {
                return Vec::new();
            }
            errors.sort_unstable_by(f64::total_cmp);
            (1..STEPS).map(|k| at(&errors, k as f64 / STEPS as f64)).collect()
        };
        ErrorQuantiles((0..held_out.truth.ncols()).map(of_task).collect())
    }

    /// The quantiles of a model after another check: those of tasks that the check `before` had made wider are dropped, and
    /// tasks that the one of `now` makes wider get theirs. `None` if no task has any then.
    pub(super) fn rewidened(kept: Option<&ErrorQuantiles>, before: &[f64], now: &[f64]) -> Option<ErrorQuantiles> {
        let is_wider = |factors: &[f64], task: usize| factors.get(task).is_some_and(|factor| *factor > 1.0);
        let mut wide = ErrorQuantiles::wider(now).0;
        wide.resize(kept.map_or(now.len(), |kept| kept.0.len()), Vec::new());
        for (task, list) in wide.iter_mut().enumerate().filter(|(_, list)| list.is_empty()) {
            if let Some(kept) = kept.and_then(|kept| kept.0.get(task)).filter(|_| !is_wider(before, task)) {
                list.clone_from(kept);
            }
        }
        wide.iter().any(|list| !list.is_empty()).then_some(ErrorQuantiles(wide))
    }

    /// Those of the normal distribution, so many times as far out for each task.
    pub(super) fn wider(factors: &[f64]) -> ErrorQuantiles {
        let of_task = |&factor: &f64| match factor > 1.0 {
            true => (1..STEPS).map(|k| factor * normal::quantile(k as f64 / STEPS as f64)).collect(),
            false => Vec::new(),
        };
        ErrorQuantiles(factors.iter().map(of_task).collect())
    }

    /// The quantile of a task's errors in units of the standard deviation. Beyond the outermost that are kept, the tail is
    /// that of a normal distribution through them.
    pub fn quantile(&self, task: usize, p: f64) -> f64 {
        let Some([first, .., last]) = self.0.get(task).map(Vec::as_slice) else { return normal::quantile(p) };
        let end = 1.0 / STEPS as f64;
        match p {
            _ if p < end => first * normal::quantile(p) / normal::quantile(end),
            _ if p > 1.0 - end => last * normal::quantile(p) / normal::quantile(1.0 - end),
            _ => {
                let (table, place) = (&self.0[task], (p * STEPS as f64 - 1.0).max(0.0));
                let low = (place as usize).min(table.len() - 1);
                let high = (low + 1).min(table.len() - 1);
                table[low] + (place - low as f64) * (table[high] - table[low])
            }
        }
    }

    /// The share of a task's errors below z standard deviations: [`quantile`](ErrorQuantiles::quantile) the other way round.
    pub fn probability(&self, task: usize, z: f64) -> f64 {
        let Some(table @ [first, .., last]) = self.0.get(task).map(Vec::as_slice) else { return normal::cdf(z) };
        let end = 1.0 / STEPS as f64;
        match z {
            z if z.is_nan() => f64::NAN,
            z if z < *first => normal::cdf(z * normal::quantile(end) / first).min(end),
            z if z > *last => normal::cdf(z * normal::quantile(1.0 - end) / last).max(1.0 - end),
            z => {
                // Of equal quantiles the middle.
                let (below, up_to) = (table.partition_point(|q| *q < z), table.partition_point(|q| *q <= z));
                let place = match below == up_to {
                    true => below as f64 - 1.0 + (z - table[below - 1]) / (table[below] - table[below - 1]),
                    false => (below + up_to - 1) as f64 / 2.0,
                };
                (place + 1.0) / STEPS as f64
            }
        }
    }

    pub(super) fn check(&self, tasks: usize) -> std::result::Result<(), String> {
        let fits = |list: &Vec<f64>| {
            list.is_empty() || (list.len() == STEPS - 1 && list.iter().all(|z| z.is_finite()) && list.is_sorted())
        };
        match self.0.len() == tasks && self.0.iter().all(fits) {
            true => Ok(()),
            false => Err(format!("`error_quantiles` needs {tasks} rising lists of {} numbers", STEPS - 1)),
        }
    }
}

/// Intervals that are too narrow, as rows that were held out show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Widening {
    /// How many times as wide they must be.
    pub factor: f64,
    /// The share of held-out cells in intervals so wide, those of each fold widened by what the other folds show.
    pub coverage: f64,
}

/// By how much intervals of a task must be wider to hold what they promise, [`LEVEL`], of the cells that these folds held
/// out; `None` if they hold it, or if chance may be why they do not: fewer than that by no more than two standard errors, of
/// single cells or of whole folds, whichever is larger. Rows of one group or time are not independent, folds are; where rows were
/// held out once, parts of them stand in, with whole groups or stretches of time.
pub fn widening(folds: &[HeldOut], task: usize) -> Option<Widening> {
    let far = |fold: &HeldOut| -> Vec<f64> {
        let cells = (0..fold.truth.nrows()).map(|n| fold.z(n, task).abs());
        cells.filter(|z| z.is_finite()).collect()
    };
    let folds: Vec<Vec<f64>> = folds.iter().map(far).filter(|cells| !cells.is_empty()).collect();
    let usual = normal::quantile(0.5 + 0.5 * LEVEL);
    let inside = |cells: &[f64], end: f64| cells.iter().filter(|z| **z <= end).count() as f64;
    let (cells, count) = (folds.iter().map(Vec::len).sum::<usize>(), folds.len() as f64);
    if cells < FEWEST || folds.len() < 3 {
        return None;
    }
    let share = |fold: &Vec<f64>| inside(fold, usual) / fold.len() as f64;
    let mean = folds.iter().map(share).sum::<f64>() / count;
    let spread = folds.iter().map(|fold| (share(fold) - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (spread / count).max(LEVEL * (1.0 - LEVEL) / cells as f64).sqrt();
    let all = folds.iter().map(|fold| inside(fold, usual)).sum::<f64>() / cells as f64;
    if all + 2.0 * error >= LEVEL {
        return None;
    }
    let end_without = |left: usize| {
        let others = folds.iter().enumerate().filter(|(k, _)| *k != left);
        let mut others: Vec<f64> = others.flat_map(|(_, cells)| cells.iter().copied()).collect();
        others.sort_unstable_by(f64::total_cmp);
        at(&others, LEVEL).max(usual)
    };
    let held: f64 = folds.iter().enumerate().map(|(k, cells)| inside(cells, end_without(k))).sum();
    // No fold has this number: it leaves none out.
    Some(Widening { factor: end_without(folds.len()) / usual, coverage: held / cells as f64 })
}

/// The value below which a share p of sorted numbers lies, between neighbours by a straight line.
fn at(sorted: &[f64], p: f64) -> f64 {
    let place = (p * sorted.len() as f64 - 0.5).clamp(0.0, (sorted.len() - 1) as f64);
    let low = place as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (place - low as f64) * (sorted[high] - sorted[low])
}

impl Model {
    /// Keeps how errors on held-out rows were distributed.
    pub(crate) fn with_error_quantiles(mut self, quantiles: ErrorQuantiles) -> Model {
        self.error_quantiles = Some(Arc::new(quantiles));
        self
    }

    /// Ends of the central interval of each task in standard deviations from the mean, on the scale of the fit: of the normal distribution, or of
    /// the errors on held-out rows where these are kept.
    pub fn reach(&self, coverage: f64) -> Result<Vec<(f64, f64)>> {
        reach(self.error_quantiles.as_deref(), self.target_names.len(), coverage)
    }
}

/// Ends of the central interval of each task, in standard deviations.
pub(super) fn reach(errors: Option<&ErrorQuantiles>, tasks: usize, coverage: f64) -> Result<Vec<(f64, f64)>> {
    let normal = normal_reach(coverage)?;
    let (low, high) = (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage);
    let of_task =
        |task: usize| errors.map_or(normal, |errors| (errors.quantile(task, low), errors.quantile(task, high)));
    Ok((0..tasks).map(of_task).collect())
}

/// Ends of the central interval of the normal distribution, in standard deviations.
pub(crate) fn normal_reach(coverage: f64) -> Result<(f64, f64)> {
    if !(coverage > 0.0 && coverage < 1.0) {
        return Err(Error::Setting { name: "coverage", problem: format!("{coverage} is not between 0 and 1") });
    }
    let reach = normal::quantile(0.5 + 0.5 * coverage);
    Ok((-reach, reach))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;

    /// Errors of a skewed law on many rows: intervals hold what they say on other rows of the law, at every level; few rows
    /// leave the normal distribution.
    #[test]
    fn intervals_hold_skewed_errors() {
        // Exponential minus one: mean zero, standard deviation one, far from normal.
        let draw = |n: usize, shift: f64| -((((n as f64 + shift) * 0.618_033_988_75).fract()).max(1e-9)).ln() - 1.0;
        let rows = |count: usize| HeldOut {
            truth: Mat::from_fn(count, 1, |n, _| 5.0 + 2.0 * draw(n, 0.3)),
            mean: Mat::full(count, 1, 5.0),
            std: Some(Mat::full(count, 1, 2.0)),
            own: None,
        };
        let errors = ErrorQuantiles::new(&rows(5000));
        assert!(errors.check(1).is_ok() && errors.check(2).is_err());
        for level in [0.5, 0.9, 0.98, 0.995] {
            let (low, high) = (errors.quantile(0, 0.5 - 0.5 * level), errors.quantile(0, 0.5 + 0.5 * level));
            let inside = (0..20_000).filter(|&n| (low..=high).contains(&draw(n, 0.71))).count() as f64 / 20_000.0;
            assert!((inside - level).abs() < 0.01, "{level}: {inside}");
            // The law's own quantiles, −ln(1 − p) − 1.
            if level < 0.99 {
                assert!((high - (-(0.5 - 0.5 * level).ln() - 1.0)).abs() < 0.05, "{level}: {high}");
            }
        }
        for p in [0.001, 0.004, 0.006, 0.05, 0.3, 0.5, 0.77, 0.993, 0.996, 0.9999] {
            assert!((errors.probability(0, errors.quantile(0, p)) - p).abs() < 1e-9, "{p}");
        }
        assert!(errors.probability(0, f64::NAN).is_nan());
        let few = ErrorQuantiles::new(&rows(100));
        assert_eq!(few.quantile(0, 0.9), normal::quantile(0.9));
        assert_eq!(few.probability(0, 1.3), normal::cdf(1.3));
    }

    /// Folds of 40 groups of ten rows each, with errors `apart` standard deviations wide that the rows of a group share in part.
    fn grouped(apart: f64, shared: f64) -> Vec<HeldOut> {
        let spread = |n: usize| normal::quantile(((n as f64 + 0.5) * 0.618_033_988_75).fract().clamp(1e-6, 1.0 - 1e-6));
        let error = |row: usize| apart * (shared.sqrt() * spread(row / 10 + 500) + (1.0 - shared).sqrt() * spread(row));
        let fold = |k: usize| {
            let truth = Mat::from_fn(80, 1, |n, _| 3.0 + error(80 * k + n));
            HeldOut::new(truth, Mat::full(80, 1, 3.0), Some(Mat::full(80, 1, 1.0)))
        };
        (0..5).map(fold).collect()
    }

    #[test]
    fn intervals_that_refits_show_to_be_too_narrow_are_widened() {
        // Errors twice as large as promised: 59 of 100 cells inside, and twice as wide intervals hold 90.
        for shared in [0.0, 0.5] {
            let found = widening(&grouped(2.0, shared), 0).unwrap();
            assert!((found.factor - 2.0).abs() < 0.2, "{found:?}");
            assert!((found.coverage - 0.9).abs() < 0.04, "{found:?}");
            let wide = ErrorQuantiles::wider(&[found.factor, 1.0]);
            assert!(wide.check(2).is_ok());
            for p in [0.001, 0.05, 0.3, 0.5, 0.95, 0.9999] {
                assert!((wide.quantile(0, p) - found.factor * normal::quantile(p)).abs() < 1e-2, "{p}");
                assert_eq!(wide.quantile(1, p), normal::quantile(p));
            }
        }
        // As large as promised, smaller, or of too few cells and folds.
        assert_eq!(widening(&grouped(1.0, 0.0), 0), None);
        assert_eq!(widening(&grouped(0.5, 0.5), 0), None);
        assert_eq!(widening(&grouped(3.0, 0.0)[..2], 0), None);
        let few: Vec<HeldOut> = grouped(3.0, 0.0).iter().map(|fold| fold.select(&[0, 1, 2])).collect();
        assert_eq!(widening(&few, 0), None);
    }

    /// Another check undoes what the one before has made wider, and leaves what many held-out cells show.
    #[test]
    fn tasks_are_made_wider_one_by_one() {
        let list = |factor: f64| ErrorQuantiles::wider(&[factor]).0.remove(0);
        let kept = ErrorQuantiles(vec![list(1.5), list(3.0), Vec::new()]);
        let again =
            |kept, before: &[f64], now: &[f64]| ErrorQuantiles::rewidened(kept, before, now).map(|found| found.0);
        assert_eq!(again(Some(&kept), &[], &[1.0, 1.0, 2.0]), Some(vec![list(1.5), list(3.0), list(2.0)]));
        assert_eq!(again(Some(&kept), &[1.0, 3.0, 1.0], &[1.0, 1.0, 2.0]), Some(vec![list(1.5), vec![], list(2.0)]));
        assert_eq!(again(Some(&kept), &[1.5, 3.0, 1.0], &[]), None);
        assert_eq!(again(None, &[], &[1.0, 2.0]), Some(vec![vec![], list(2.0)]));
        assert_eq!(again(None, &[], &[]), None);
    }

    /// One fold of five that is far off says that groups differ, not how far the next one will be off.
    #[test]
    fn one_bad_fold_is_not_enough() {
        let mut folds = grouped(1.0, 0.0);
        folds[2] = grouped(2.0, 0.0).swap_remove(2);
        assert_eq!(widening(&folds, 0), None);
    }
}
