//! How well a method does on rows it has not seen: one fold of a cross-validation, the summary over folds, and the check
//! of a model by refits.

mod check;
mod parallel;

pub use crate::folds::Split;
pub use check::{Refits, check, held_out_check};
pub use parallel::in_parallel;
pub use rffblr::metrics::LEVEL;

use crate::method::{Chosen, Forecast, Method};
use crate::select::{Plan, Progress};
use rffblr::Result;
use rffblr::data::Standardiser;
use rffblr::linalg::Mat;
use rffblr::metrics::{HeldOut, ReferenceMean, Scores};
use serde::Serialize;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How a method did on one fold.
#[derive(Clone, Debug)]
pub struct FoldResult {
    /// Rows learned from.
    pub train_rows: usize,
    /// Rows predicted.
    pub test_rows: usize,
    /// Wall-clock time of the fit, the choice of hyper-parameters included.
    pub fit_seconds: f64,
    /// Wall-clock time of the prediction: long for methods that learn from the rows they predict.
    pub predict_seconds: f64,
    /// Of the fit, the seconds of inner folds.
    pub inner_seconds: f64,
    /// Inner folds found in a journal.
    pub inner_folds_remembered: usize,
    /// Processor time of fit and prediction, where the system reports it: other programs do not lengthen it. It is that
    /// of the calling thread, and so of the whole if that is the only one.
    pub cpu_seconds: Option<f64>,
    /// Hyper-parameters found by selection, by name.
    pub chosen: Vec<(&'static str, Chosen)>,
    /// Features the prediction is made of, for methods that choose among features.
    pub active_features: Option<usize>,
    /// All scores on the test rows; relative errors are relative to the mean of the training rows.
    pub scores: Scores,
    /// The same for predictions at inputs held in the range that each has in the training rows: what a few rows far
    /// outside it add to the scores is the difference.
    pub scores_in_range: Scores,
    /// What was observed and what was predicted.
    pub held_out: HeldOut,
    /// Numbers of the tasks of which no training row has a value, rising: they are neither predicted nor scored.
    pub unknown: Vec<usize>,
}

impl FoldResult {
    /// Whether there was anything to score: at least one test cell was observed.
    pub fn is_scored(&self) -> bool {
        self.scores.per_task.observed.iter().any(|&count| count > 0)
    }

    /// Seconds of fit and prediction apart from inner folds.
    pub fn other_seconds(&self) -> f64 {
        (self.fit_seconds + self.predict_seconds - self.inner_seconds).max(0.0)
    }

    /// Whether the observed test cells of a task differ, so that it has an R².
    pub fn varies(&self, task: usize) -> bool {
        self.held_out.varies(task)
    }
}

/// Fits a method to the training rows of a fold and scores its forecast of the test rows.
pub fn evaluate(method: &dyn Method, split: &Split, plan: &Plan<'_>) -> Result<FoldResult> {
    let inner = Mutex::new((0.0, 0));
    let progress = |progress: Progress| {
        let mut inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
        match progress.seconds {
            Some(seconds) => inner.0 += seconds,
            None => inner.1 += 1,
        }
        if let Some(tell) = plan.progress {
            tell(progress);
        }
    };
    let (start, processor) = (Instant::now(), thread_seconds());
    let fitted = method.fit(&split.train, &Plan { progress: Some(&progress), ..*plan })?;
    let fit_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let forecast = fitted.predict(split.test_inputs.as_ref())?;
    let predict_seconds = start.elapsed().as_secs_f64();
    let cpu_seconds = thread_seconds().zip(processor).map(|(end, start)| end - start);
    let (inner_seconds, inner_folds_remembered) = *inner.lock().unwrap_or_else(PoisonError::into_inner);
    let mut means = Standardiser::new(split.train.targets(), split.train.weights()).mean;
    split.unknown.iter().for_each(|&task| means.insert(task, f64::NAN));
    let held_out = |forecast: Forecast| -> Result<HeldOut> {
        Ok(forecast.held_out(split.test_targets.clone())?.with_unknown(&split.unknown))
    };
    let tested = held_out(forecast)?;
    let scores = tested.scores(LEVEL, ReferenceMean::Train(&means))?;
    let scores_in_range = match in_training_range(split) {
        Some(inputs) => held_out(fitted.predict(inputs.as_ref())?)?.scores(LEVEL, ReferenceMean::Train(&means))?,
        None => scores.clone(),
    };
    Ok(FoldResult {
        train_rows: split.train.rows(),
        test_rows: split.test_inputs.nrows(),
        fit_seconds,
        predict_seconds,
        inner_seconds,
        inner_folds_remembered,
        cpu_seconds,
        chosen: fitted.chosen(),
        active_features: fitted.active_features(),
        scores,
        scores_in_range,
        held_out: tested,
        unknown: split.unknown.clone(),
    })
}

/// The test inputs, each held between the least and the largest value it has in the training rows that count; `None` if
/// all of them are there already.
fn in_training_range(split: &Split) -> Option<Mat<f64>> {
    let (train, mut inputs) = (split.train.inputs(), split.test_inputs.clone());
    let counts = |row: usize| split.train.weights().is_none_or(|weights| weights[row] > 0.0);
    let mut is_moved = false;
    for column in 0..inputs.ncols() {
        let known = train.col(column).iter().enumerate().filter(|(row, _)| counts(*row)).map(|(_, x)| *x);
        let (low, high) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        for cell in inputs.col_as_slice_mut(column).iter_mut().filter(|cell| **cell < low || **cell > high) {
            *cell = if *cell < low { low } else { high };
            is_moved = true;
        }
    }
    is_moved.then_some(inputs)
}

/// Seconds the processor has spent on this thread so far, where the system reports it.
pub fn thread_seconds() -> Option<f64> {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(spent.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

/// Mean and population standard deviation of a number over folds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Population standard deviation.
    pub sd: f64,
}

impl Summary {
    /// `None` without any number. A NaN among them makes both NaN: a failure in one fold is not averaged away.
    pub fn of(values: &[f64]) -> Option<Summary> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        Some(Summary { mean, sd })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::by_name;
    use rffblr::data::{Dataset, Weights};

    #[test]
    fn summaries_by_hand() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[7.0]), Some(Summary { mean: 7.0, sd: 0.0 }));
        // Population: √((4 + 0 + 4)/3).
        let three = Summary::of(&[1.0, 3.0, 5.0]).unwrap();
        assert!(three.mean == 3.0 && (three.sd - (8.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!(Summary::of(&[1.0, f64::NAN]).unwrap().mean.is_nan());
    }

    #[test]
    fn the_mean_scores_as_worked_out_by_hand() {
        let column = |values: &[f64]| Mat::from_fn(values.len(), 1, |n, _| values[n]);
        let train = Dataset::new(column(&[0.0, 1.0, 2.0, 3.0]), column(&[1.0, 2.0, 3.0, 6.0])).unwrap();
        let split = Split {
            train,
            test_inputs: column(&[9.0, 8.0, 7.0]),
            test_targets: column(&[4.0, f64::NAN, 6.0]),
            unknown: Vec::new(),
        };
        let result = evaluate(by_name("mean").unwrap(), &split, &Plan::seeded(0)).unwrap();
        let scores = &result.scores;
        // The prediction is 3: squared errors 1 and 9, around the test mean 1 and 1.
        assert!((scores.task_r2 - (1.0 - 10.0 / 2.0)).abs() < 1e-14, "{}", scores.task_r2);
        // The training mean is what was predicted.
        assert!((scores.arrmse - 1.0).abs() < 1e-15);
        assert!((scores.rmse - 5f64.sqrt()).abs() < 1e-15 && scores.mae == 2.0);
        // σ² = 3.5: ln √(2π σ²) + (1 + 9)/(2·2·3.5); 90 % reach to 1.6449 σ = 3.077.
        let nlpd = 0.5 * (2.0 * std::f64::consts::PI * 3.5).ln() + 10.0 / 14.0;
        assert!((scores.nlpd.unwrap() - nlpd).abs() < 1e-14);
        assert_eq!(scores.coverage, Some(1.0));
        assert_eq!((result.train_rows, result.test_rows, result.active_features), (4, 3, None));
        assert!(result.is_scored() && result.fit_seconds >= 0.0);
        // Where a row lies is nothing to the mean.
        assert_eq!(result.scores_in_range.task_r2, scores.task_r2);
    }

    /// Ridge regression extrapolates along its line; held in the range it says what it says at the end of the range.
    #[test]
    fn inputs_far_outside_are_held_at_the_end_of_the_training_range() {
        let column = |values: &[f64]| Mat::from_fn(values.len(), 1, |n, _| values[n]);
        let train = Dataset::new(column(&[0.0, 1.0, 2.0, 3.0, 50.0]), column(&[0.1, 1.0, 2.1, 2.9, 0.0])).unwrap();
        // The last row does not count.
        let train = train.with_weights(Weights::Repeats(vec![1.0, 1.0, 1.0, 1.0, 0.0])).unwrap();
        let truth = column(&[-2.0, 1.5, 4.0]);
        let split = |test: &[f64]| Split {
            train: train.clone(),
            test_inputs: column(test),
            test_targets: truth.clone(),
            unknown: Vec::new(),
        };
        let ridge = by_name("ridge").unwrap();
        let evaluated = |test: &[f64]| evaluate(ridge, &split(test), &Plan::seeded(0)).unwrap();
        let (outside, held) = (evaluated(&[-40.0, 1.5, 900.0]), evaluated(&[0.0, 1.5, 3.0]));
        assert_eq!(outside.scores_in_range, held.scores);
        assert_eq!(held.scores_in_range, held.scores);
        assert!(outside.scores.task_r2 < -100.0 && held.scores.task_r2 > 0.0);
    }
}
