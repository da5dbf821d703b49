//! Files of any number of rows: a model from them, and predictions for them, in memory that does not depend on it.

use crate::checkpoint::Checkpoint;
use crate::errors::Failure;
use crate::model::{Model, named, told_of};
use crate::patience::{Progress, patiently};
use crate::training::{Training, missing_of, told};
use pyo3::prelude::*;
use rffblr::data::{EncodeError, Encoder, MissingInputs, Note, RoleChoice, Roles, Summary, TrainingTable, Weights};
use rffblr::drawn::{Accumulator, BLOCK, SAMPLE, StreamFit};
use rffblr::metrics::SplitBy;
use rffblr::{Error, Form, Iteration, Result, Settings, fit_observed};
use rffblr_methods::evaluate;
use rffblr_methods::folds::Folds;
use rffblr_tables::{Parts, Types, Writer};
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
    missing: String,
    hold_out: bool,
    checkpoint: Option<PathBuf>,
}

/// What the listener gets to know.
enum Event {
    Step(Iteration),
    /// What is being done, how far it is, and how far it goes.
    Pass(&'static str, u64, u64),
}

/// Tells the listener; true if it has enough.
type Tell<'a> = &'a (dyn Fn(Event) -> bool + Sync);

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
    let weight = match &files.weight {
        Some((column, meaning)) => Weights::named(meaning).map(|weights| weights.map(|()| column.clone())),
        None => None,
    };
    let roles = Roles { targets: files.targets, ignore: files.ignore, weight, ..Roles::default() };
    let parts = Parts::open(&files.paths, &RoleChoice::from(roles.clone()).read_options()).map_err(Failure::from)?;
    let (hold_out, checkpoint) = (files.hold_out, files.checkpoint);
    let fitted = watched(py, threads, listener, move |tell| {
        Fit { parts, settings, missing, hold_out, checkpoint, tell }.fit(roles)
    })?;
    let (model, training) = fitted.map_err(Failure::from)?;
    Ok(Model::of(model, Some(training)))
}

/// Runs work on threads of its own and tells the listener how far it is.
fn watched<T: Send + 'static>(
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

fn observe(tell: Tell<'_>, step: &Iteration) -> ControlFlow<()> {
    if tell(Event::Step(step.clone())) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

struct Fit<'a> {
    parts: Parts,
    settings: Settings,
    missing: MissingInputs,
    hold_out: bool,
    checkpoint: Option<PathBuf>,
    tell: Tell<'a>,
}

impl Fit<'_> {
    fn fit(self, roles: Roles) -> Result<(rffblr::Model, Training)> {
        let bytes = self.parts.bytes();
        let (types, summary) = self.parts.summarise(SAMPLE, self.settings.seed, |block| {
            (self.tell)(Event::Pass("reading", block.bytes_read, bytes));
            ControlFlow::Continue(())
        })?;
        let roles = RoleChoice::from(roles).resolve(&summary.sample().0)?;
        let settings = self.settings.for_rows(usize::try_from(summary.rows()).unwrap_or(usize::MAX));
        match settings.form {
            Form::Drawn { .. } => self.streamed(types, &summary, &roles, &settings),
            _ => self.in_memory(&summary, roles, &settings),
        }
    }

    /// Drawn features: one pass over the rows.
    fn streamed(
        self,
        types: Types,
        summary: &Summary,
        roles: &Roles,
        settings: &Settings,
    ) -> Result<(rffblr::Model, Training)> {
        let (encoder, mut notes) = Encoder::learn_summary(summary, roles, self.missing)?;
        let mut checkpoint = match &self.checkpoint {
            None => None,
            Some(path) => Some(Checkpoint::new(path, &self.parts, summary, &encoder, settings, self.hold_out)),
        };
        let resume = checkpoint.as_ref().map(Checkpoint::read).transpose()?.flatten();
        let (seed, hold_out, tell) = (settings.seed, self.hold_out, self.tell);
        let observer = |step: &Iteration| observe(tell, step);
        let fit = StreamFit { summary, seed, encoder: &encoder, settings, hold_out, observer: &observer, resume };
        let found = fit.fit(&self.parts.typed(types), &mut |rows: u64, sums: &Accumulator| {
            if let Some(checkpoint) = &mut checkpoint {
                checkpoint.save(rows, sums)?;
            }
            tell(Event::Pass("adding up rows", rows, summary.rows()));
            Ok(())
        })?;
        let mut model = found.model;
        if let Some((inputs, held_out)) = found.held_out {
            model = model.with_check(evaluate::held_out_check(&found.sample, &inputs, held_out, seed)?)?;
        }
        notes.extend(encoder.suspicions(&found.sample));
        if let Some(checkpoint) = checkpoint {
            checkpoint.remove();
        }
        Ok((model, Training::of_sample(encoder, found.sample, notes)))
    }

    /// Any other form needs all rows at once; the sample has them if they are not too many.
    fn in_memory(&self, summary: &Summary, roles: Roles, settings: &Settings) -> Result<(rffblr::Model, Training)> {
        let (table, _) = summary.sample();
        if (table.rows() as u64) < summary.rows() {
            let problem = format!(
                "this one needs all {} rows in memory, and from files takes at most {SAMPLE}; use preset cosines",
                summary.rows()
            );
            return Err(Error::Setting { name: "preset", problem });
        }
        let training = TrainingTable::new(table, roles, self.missing)?;
        let mut model = fit_observed(training.dataset(), settings, &|step| observe(self.tell, step))?;
        model = model.with_encoder(training.encoder().clone())?;
        if self.hold_out && training.rows().len() >= FOLDS {
            let folds = Folds::random(training.rows().len(), FOLDS, settings.seed)?
                .among(training.rows(), training.table().rows())?;
            let by = SplitBy::Random { seed: settings.seed };
            let observer = |refits: evaluate::Refits| {
                (self.tell)(Event::Pass("refitting", refits.done as u64, refits.total as u64));
                ControlFlow::Continue(())
            };
            if let Some((check, _)) = evaluate::check(settings, &training, &folds, by, &observer)? {
                model = model.with_check(check)?;
            }
        }
        Ok((model, Training::of_table(training)?))
    }
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
            let (inputs, more) = encoder.inputs(&block.table).map_err(|problem| counted(problem, block.first_row))?;
            let known = |note: &Note| notes.iter().any(|old| old.kind == note.kind && old.columns == note.columns);
            let new: Vec<Note> = more.into_iter().filter(|note| !known(note)).collect();
            notes.extend(new);
            writer.write(&model.prediction_table(&model.predict(inputs.as_ref())?, coverage)?)?;
            rows = block.first_row + block.table.rows() as u64;
            tell(Event::Pass("predicting", block.bytes_read, parts.bytes()));
        }
        writer.finish()?;
        Ok((rows, notes))
    })?;
    let (rows, notes) = done.map_err(Failure::from)?;
    Ok((rows, told(&notes)))
}

/// The error with the row counted from the first of all rows.
fn counted(problem: EncodeError, first_row: u64) -> EncodeError {
    match problem {
        EncodeError::MissingInput { column, row } => {
            EncodeError::MissingInput { column, row: row + first_row as usize }
        }
        other => other,
    }
}
