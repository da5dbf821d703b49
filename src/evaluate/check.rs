//! The check of a model: its recipe fitted again without some rows, and tested on them.

use super::{Split, in_parallel};
use crate::baselines::{Ridge, TrainingMean};
use crate::data::Folds;
use crate::error::{Error, Result};
use crate::method::Method;
use crate::metrics::{Check, HeldOut, OutOfFold, SplitBy};
use crate::select::Plan;
use crate::{Settings, fit_observed};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refits {
    /// Refits that are finished.
    pub done: usize,
    /// All of them.
    pub total: usize,
}

/// Fits with these settings to the training rows of each fold and scores the predictions of its test rows; ridge
/// regression and the training mean beside it, on the same folds.
///
/// `split` makes the data of a fold: everything it learns must come from the training rows alone. Fits run side by side
/// on as many threads as the rayon pool of the caller has, one thread each, and give the same bits for any number. The
/// observer is told at every step of every refit and may ask to stop: then there is no check. Beside the check come the
/// predictions of every fold, whose rows are those of [`Folds::test`].
pub fn check<E: From<Error> + Send>(
    settings: &Settings,
    folds: &Folds,
    by: SplitBy,
    split: impl Fn(usize) -> std::result::Result<Split, E> + Sync,
    observer: &(dyn Fn(Refits) -> ControlFlow<()> + Sync),
) -> std::result::Result<Option<(Check, Vec<HeldOut>)>, E> {
    let total = folds.count();
    let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let tell = || {
        let asked = observer(Refits { done: done.load(Ordering::Relaxed), total }).is_break();
        match stopped.fetch_or(asked, Ordering::Relaxed) || asked {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let workers = rayon::current_num_threads().min(total);
    let refits = in_parallel(workers, total, |fold| {
        if tell().is_break() {
            return Ok(None);
        }
        let split = split(fold)?;
        let named = |problem: Error| Error::Refit { number: fold + 1, total, problem: Box::new(problem) };
        let refit = || -> Result<[HeldOut; 3]> {
            let model = fit_observed(&split.train, settings, &|_| tell())?.predict(split.test_inputs.as_ref())?;
            let held_out = |mean, std| HeldOut { truth: split.test_targets.clone(), mean, std };
            let simple = |method: &dyn Method| -> Result<HeldOut> {
                let fitted = method.fit(&split.train, &Plan::seeded(settings.seed))?;
                let forecast = fitted.predict(split.test_inputs.as_ref())?;
                Ok(held_out(forecast.mean, forecast.std))
            };
            Ok([held_out(model.mean, Some(model.std)), simple(&Ridge)?, simple(&TrainingMean)?])
        };
        let refit = refit().map_err(named)?;
        done.fetch_add(1, Ordering::Relaxed);
        // What was stopped on the way is no refit.
        Ok((!tell().is_break()).then_some(refit))
    })?;
    let Some(refits) = refits.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let [mut model, mut ridge, mut mean] = [const { Vec::new() }; 3];
    for [of_model, of_ridge, of_mean] in refits {
        model.push(of_model);
        ridge.push(of_ridge);
        mean.push(of_mean);
    }
    let scored = |held_out: &[HeldOut]| OutOfFold::new(held_out).map_err(|problem| E::from(problem.into()));
    let check = Check {
        split: by,
        folds: total,
        rows: folds.tested(),
        model: scored(&model)?,
        ridge: scored(&ridge)?,
        mean: scored(&mean)?,
    };
    Ok(Some((check, model)))
}
