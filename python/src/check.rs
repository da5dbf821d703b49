//! Refits on held-out folds.

use crate::errors::Failure;
use crate::model::Model;
use crate::patience::patiently;
use crate::training::Given;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rffblr::metrics::{OutOfFold, SplitBy};
use rffblr_methods::evaluate::{self, Refits};
use rffblr_methods::folds::Folds;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// How rows are split: given pairs of rows to train on and to test, or a number of folds of whole groups or at random.
#[derive(FromPyObject)]
pub struct Splitting {
    pairs: Option<Vec<(Vec<usize>, Vec<usize>)>>,
    /// A number for each row, the same for rows of one group.
    groups: Option<Vec<u64>>,
    /// What the groups are called.
    name: Option<String>,
    count: usize,
}

impl Splitting {
    /// Folds of the rows that are used.
    fn folds(self, rows: usize, used: &[usize], seed: u64) -> rffblr::Result<(Folds, SplitBy)> {
        Ok(match (self.pairs, self.groups) {
            (Some(pairs), _) => (Folds::from_pairs(rows, pairs, "cv")?, SplitBy::Custom),
            (None, Some(groups)) => {
                let groups: Vec<u64> = used.iter().filter_map(|&row| groups.get(row).copied()).collect();
                let folds = Folds::by_group(&groups, self.count, seed)?.among(used, rows)?;
                (folds, SplitBy::Group { column: self.name, seed })
            }
            (None, None) => {
                let folds = Folds::random(used.len(), self.count, seed)?.among(used, rows)?;
                (folds, SplitBy::Random { seed })
            }
        })
    }
}

/// The model with the scores of refits on the rows it was fitted to. The listener gets how many refits are done and how
/// many there are.
#[pyfunction]
pub fn check(
    py: Python<'_>,
    model: &Model,
    given: Given<'_>,
    splitting: Splitting,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let training = given.table()?;
    if model.model.is_fitted_to(training.dataset()) != Some(true) {
        let problem = "a check needs the very rows, and weights, that the model was fitted to; these differ";
        return Err(PyValueError::new_err(problem));
    }
    let settings = model.model.settings().clone();
    let (folds, by) =
        splitting.folds(training.table().rows(), training.rows(), settings.seed).map_err(Failure::from)?;
    let hear = listener.map(|listener| {
        move |refits: Refits| -> PyResult<bool> {
            listener.call1((refits.done, refits.total))?;
            Ok(false)
        }
    });
    let hear = hear.as_ref().map(|hear| hear as &dyn Fn(Refits) -> PyResult<bool>);
    let found = patiently(py, threads, hear, move |progress| {
        let progress = Mutex::new(progress);
        let observer = |refits: Refits| {
            // Unwinds if the result is no longer wanted.
            progress.lock().unwrap_or_else(PoisonError::into_inner).tell(|| refits);
            ControlFlow::Continue(())
        };
        evaluate::check(&settings, &training, &folds, by, &observer)
    })?;
    let (found, _) = found.map_err(Failure::from)?.ok_or_else(|| PyRuntimeError::new_err("the check was stopped"))?;
    let checked = rffblr::Model::clone(&model.model).with_check(found).map_err(Failure::from)?;
    Ok(model.replaced_by(checked))
}

/// What a check found: facts by name, and lists with an entry for each target.
pub fn facts<'py>(py: Python<'py>, model: &rffblr::Model) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(check) = model.check() else { return Ok(None) };
    let out = PyDict::new(py);
    out.set_item("headline", check.headline())?;
    out.set_item("split", check.split.to_string())?;
    out.set_item("notes", check.notes(model.target_names()))?;
    out.set_item("folds", check.folds)?;
    out.set_item("rows", check.rows)?;
    out.set_item("r2", check.model.scores.task_r2)?;
    out.set_item("r2_se", check.model.task_r2_se)?;
    out.set_item("ridge_r2", check.ridge.scores.task_r2)?;
    out.set_item("mean_r2", check.mean.scores.task_r2)?;
    let targets = PyDict::new(py);
    let known = |method: &OutOfFold, list: fn(&OutOfFold) -> &Option<Vec<f64>>| {
        list(method).clone().unwrap_or_else(|| vec![f64::NAN; method.r2_se.len()])
    };
    let each = &check.model.scores.per_task;
    targets.set_item("target", model.target_names())?;
    targets.set_item("values", &each.observed)?;
    targets.set_item("r2", &each.r2)?;
    targets.set_item("r2_se", &check.model.r2_se)?;
    targets.set_item("rmse", &each.rmse)?;
    targets.set_item("mae", &each.mae)?;
    targets.set_item("coverage90", known(&check.model, |method| &method.scores.per_task.coverage))?;
    targets.set_item("nlpd", known(&check.model, |method| &method.scores.per_task.nlpd))?;
    for (name, method) in [("ridge", &check.ridge), ("mean", &check.mean)] {
        targets.set_item(format!("{name}_r2"), &method.scores.per_task.r2)?;
        targets.set_item(format!("{name}_mae"), &method.scores.per_task.mae)?;
    }
    out.set_item("targets", targets)?;
    Ok(Some(out))
}
