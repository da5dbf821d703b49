//! Files of any number of rows: a model from them, and predictions for them, in memory that does not depend on it.

use crate::errors::Failure;
use crate::model::{Model, named, told_of};
use crate::patience::{Progress, patiently};
use crate::training::{Training, missing_of, told};
use pyo3::prelude::*;
use rffblr::data::{Encoder, Note, RoleChoice, Roles, TrainingTable, Weights};
use rffblr::drawn::{BLOCK, Streamed};
use rffblr::{Error, Iteration, PredictionColumns, Result, Settings};
use rffblr_methods::evaluate;
use rffblr_methods::folds::Folds;
use rffblr_tables::{FileFit, FromFiles, Parts, Stage, Writer};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Folds of the check of a model whose rows fit in memory.
const FOLDS: usize = 5;

/// Which files, and what their columns are for.
#[derive(FromPyObject)]
pub struct Files {
    paths: Vec<PathBuf>,
    targets: Vec<String>,
    ignore: Vec<String>,
    /// Column with the row weights and what they mean.
    weight: Option<(String, String)>,
    /// Columns that say which rows belong together, or in which order they came.
    group: Option<String>,
    time: Option<String>,
    missing: String,
    hold_out: bool,
    checkpoint: Option<PathBuf>,
}

/// What the listener gets to know.
pub enum Event {
    Step(Iteration),
    /// What is being done, how far it is, and how far it goes.
    Pass(&'static str, u64, u64),
}

/// Tells the listener; true if it has enough.
pub type Tell<'a> = &'a (dyn Fn(Event) -> bool + Sync);

/// Fits a model to files. The listener has `step`, which is that of a fit, and `passed`, which gets what is done and how
/// much of it.
#[pyfunction]
pub fn fit_files(
    py: Python<'_>,
    files: Files,
    preset: Option<&str>,
    settings: Vec<(String, String)>,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let settings = named(preset, &settings)?;
    let missing = missing_of(&files.missing)?;
    let order = (files.group.as_deref(), files.time.as_deref());
    let choice = roles_of(&files.targets, &files.ignore, files.weight.as_ref(), order)?;
    let parts = Parts::open(&files.paths, &choice.read_options()).map_err(Failure::from)?;
    let job = FileFit { choice, missing, settings, hold_out: files.hold_out, checkpoint: files.checkpoint };
    let fitted = watched(py, threads, listener, move |tell| fit(parts, job, tell))?;
    let (model, training) = fitted.map_err(Failure::from)?;
    Ok(Model::of(model, Some(training)))
}

/// The parts of the columns; the weight comes with what it means, and groups or times come last.
pub fn roles_of(
    targets: &[String],
    ignore: &[String],
    weight: Option<&(String, String)>,
    (group, time): (Option<&str>, Option<&str>),
) -> PyResult<RoleChoice> {
    let named =
        |(column, meaning): &(String, String)| Weights::named(meaning).map(|weight| weight.map(|()| column.clone()));
    let (targets, ignore, weight) = (targets.to_vec(), ignore.to_vec(), weight.and_then(named));
    let choice = RoleChoice::from(Roles { targets, ignore, weight, ..Roles::default() });
    Ok(choice.with_order(group, time).map_err(|problem| Failure::from(Error::from(problem)))?)
}

/// Runs work on threads of its own and tells the listener how far it is.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(Tell<'_>) -> T + Send + 'static,
) -> PyResult<T> {
    let hear = listener.map(|listener| {
        move |event: Event| match event {
            Event::Step(step) => listener.call_method1("step", told_of(&step))?.is_truthy(),
            Event::Pass(what, done, total) => listener.call_method1("passed", (what, done, total))?.is_truthy(),
        }
    });
    let hear = hear.as_ref().map(|hear| hear as &dyn Fn(Event) -> PyResult<bool>);
    patiently(py, threads, hear, move |progress: Progress<Event, T>| {
        let progress = Mutex::new(progress);
        work(&|event| progress.lock().unwrap_or_else(PoisonError::into_inner).tell(|| event))
    })
}

pub fn observe(tell: Tell<'_>, step: &Iteration) -> ControlFlow<()> {
    if tell(Event::Step(step.clone())) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn fit(parts: Parts, job: FileFit, tell: Tell<'_>) -> Result<(rffblr::Model, Training)> {
    let (settings, hold_out, checkpoint) = (job.settings.clone(), job.hold_out, job.checkpoint.clone());
    let found = parts.fit(job, &|stage| match stage {
        Stage::Learning(step) => observe(tell, step),
        Stage::Reading(bytes, of) => passed(tell, "reading", bytes, of),
        Stage::Adding(rows, of) => passed(tell, "adding up rows", rows, of),
    })?;
    let found = match found {
        FromFiles::Model(found) => *found,
        FromFiles::Table(training) => return in_memory(*training, &settings, hold_out, tell),
    };
    let fitted = scored(found.fitted, found.encoder, found.notes, settings.seed)?;
    if let Some(path) = checkpoint {
        // The model is there. A file that cannot be removed does no harm.
        let _ = std::fs::remove_file(path);
    }
    Ok(fitted)
}

/// A model with its scores on the rows that were held out, and what is kept of its rows.
pub fn scored(fitted: Streamed, encoder: Encoder, notes: Vec<Note>, seed: u64) -> Result<(rffblr::Model, Training)> {
    let mut model = fitted.model;
    if let Ok(rows) = fitted.held_out {
        model = model.with_check(evaluate::held_out_check(&fitted.sample, rows, seed)?)?;
    }
    Ok((model, Training::of_sample(encoder, fitted.sample, notes)))
}

/// Passes are not stopped.
fn passed(tell: Tell<'_>, what: &'static str, done: u64, total: u64) -> ControlFlow<()> {
    tell(Event::Pass(what, done, total));
    ControlFlow::Continue(())
}

/// A table with few rows, or a form that needs all of them at once.
pub fn in_memory(
    training: TrainingTable,
    settings: &Settings,
    hold_out: bool,
    tell: Tell<'_>,
) -> Result<(rffblr::Model, Training)> {
    let mut model = training.fit_observed(settings, &|step| observe(tell, step))?;
    if hold_out && training.rows().len() >= FOLDS {
        let count = Folds::most(&training)?.min(FOLDS);
        let observer = |refits: evaluate::Refits| passed(tell, "refitting", refits.done as u64, refits.total as u64);
        if count > 1 {
            let (folds, by) = Folds::of_table(&training, count, settings.seed)?;
            if let Some((check, _)) = evaluate::check(settings, &training, &folds, by, &observer)? {
                model = model.with_check(check)?;
            }
        }
    }
    Ok((model, Training::of_table(training)?))
}

/// Writes predictions for the rows of files, and returns how many they are with notes on the inputs. The listener has
/// `passed`, as that of a fit.
#[pyfunction]
pub fn predict_files(
    py: Python<'_>,
    model: &Model,
    paths: Vec<PathBuf>,
    output: PathBuf,
    coverage: f64,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<(u64, Vec<String>)> {
    let (model, encoder) = (model.model.clone(), model.encoder.clone());
    let parts = Parts::open(&paths, &encoder.read_options()).map_err(Failure::from)?;
    let done = watched(py, threads, listener, move |tell| {
        let same = |file: &PathBuf| matches!((file.canonicalize(), output.canonicalize()), (Ok(a), Ok(b)) if a == b);
        if parts.files().iter().any(same) {
            let problem = std::io::Error::other("is a file to predict from; write the predictions to another");
            return Err(Error::io(&output)(problem));
        }
        let mut writer = Writer::create(&output, true)?;
        let (mut rows, mut notes) = (0, Vec::<Note>::new());
        for block in parts.blocks(&parts.declared_types(), BLOCK) {
            let block = block?;
            let (inputs, more) = encoder.inputs(&block.table).map_err(|problem| block.placed(problem.into()))?;
            let known = |note: &Note| notes.iter().any(|old| old.kind == note.kind && old.columns == note.columns);
            let new: Vec<Note> = more.into_iter().filter(|note| !known(note)).collect();
            notes.extend(new);
            writer.write(
                &model.prediction_table(&model.predict(inputs.as_ref())?, &PredictionColumns::usual(coverage))?,
            )?;
            rows = block.first_row + block.table.rows() as u64;
            tell(Event::Pass("predicting", block.bytes_read, parts.bytes()));
        }
        writer.finish()?;
        Ok((rows, notes))
    })?;
    let (rows, notes) = done.map_err(Failure::from)?;
    Ok((rows, told(&notes)))
}
