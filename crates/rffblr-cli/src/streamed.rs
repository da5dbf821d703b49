//! Fitting to many rows, from memory or from files that are never all in memory, and scores on rows held out until then.

use crate::output;
use crate::training::{advise, advised, tell};
use anyhow::Result;
use indicatif::{HumanDuration, ProgressBar};
use rffblr::data::{Dataset, Summary, TrainingTable};
use rffblr::drawn::{NotHeld, StreamFit, Streamed, sample_rows};
use rffblr::{Iteration, Model, Settings};
use rffblr_methods::evaluate::held_out_check;
use rffblr_tables::{FileFit, FromFiles, Parts, ReadOptions, Stage};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Files above this size are not read into memory.
const IN_MEMORY: u64 = 64 << 20;

/// Whether tables at these paths are read block by block: several files, a folder, a pattern or a large file.
pub fn is_streamed(paths: &[PathBuf]) -> bool {
    let [path] = paths else { return true };
    let is_pattern = path.to_string_lossy().contains(['*', '?']) && !path.exists();
    let whole = ["arff", "xlsx", "xlsm", "xlsb", "xls", "ods"];
    let is_whole =
        path.extension().is_some_and(|extension| whole.iter().any(|name| extension.eq_ignore_ascii_case(name)));
    let is_large = path.metadata().is_ok_and(|found| found.is_file() && found.len() > IN_MEMORY);
    path.is_dir() || is_pattern || (is_large && !is_whole)
}

/// A model of many rows, with its scores on rows held out if there were any.
pub struct Fitted {
    pub model: Model,
    pub rows: u64,
    pub seconds: f64,
    /// Some of the rows, as the model sees them.
    pub sample: Dataset,
    /// Why no rows were held out, if none were.
    pub unchecked: Option<NotHeld>,
    /// What was said about the table.
    pub notes: Vec<String>,
}

/// Fits to files; a table to fit to comes back where another form is wanted, or the rows are few.
pub fn fit_files(
    paths: &[PathBuf],
    options: &ReadOptions,
    job: FileFit,
    quiet: bool,
) -> Result<std::result::Result<Fitted, TrainingTable>> {
    let (start, seed) = (Instant::now(), job.settings.seed);
    let parts = Parts::open(paths, options)?;
    let reading = bar(quiet, parts.bytes(), "first pass, what the columns are: {percent} %  {elapsed}, {eta} left");
    let (learning, adding) = (Learning::new(quiet), bar(quiet, 0, ADDING));
    let found = parts.fit(job, &|stage| {
        match stage {
            Stage::Reading(bytes, _) => reading.set_position(bytes),
            Stage::Learning(step) => {
                reading.finish_and_clear();
                learning.show(step);
            }
            Stage::Adding(rows, of) => {
                learning.bar.finish_and_clear();
                adding.set_length(of);
                adding.set_position(rows);
            }
        }
        ControlFlow::Continue(())
    });
    [reading, learning.bar, adding].iter().for_each(ProgressBar::finish_and_clear);
    match found.map_err(advise)? {
        FromFiles::Table(training) => {
            if !quiet {
                training.notes().iter().for_each(tell);
            }
            Ok(Err(*training))
        }
        FromFiles::Model(found) => {
            if !quiet {
                found.notes.iter().for_each(tell);
            }
            let notes = found.notes.iter().map(advised).collect();
            Ok(Ok(finished(found.fitted, found.rows, seed, start, notes)?))
        }
    }
}

/// Fits to a table in memory.
pub fn fit_table(training: &TrainingTable, settings: &Settings, hold_out: bool, quiet: bool) -> Result<Fitted> {
    let start = Instant::now();
    if hold_out {
        training.roles().expect_places(training.table())?;
    }
    let mut summary = Summary::new(sample_rows(settings), settings.seed);
    summary.add(training.table(), 0)?;
    let (learning, adding) = (Learning::new(quiet), bar(quiet, summary.rows(), ADDING));
    let observer = |step: &Iteration| {
        learning.show(step);
        ControlFlow::Continue(())
    };
    let (seed, encoder) = (settings.seed, training.encoder());
    let job = StreamFit { summary: &summary, seed, encoder, settings, hold_out, observer: &observer, resume: None };
    let found = job.fit(training.table(), &mut |rows, _| {
        learning.bar.finish_and_clear();
        adding.set_position(rows);
        Ok(())
    });
    [learning.bar, adding].iter().for_each(ProgressBar::finish_and_clear);
    let notes = training.notes().iter().map(advised).collect();
    let mut fitted = finished(found?, summary.rows(), seed, start, notes)?;
    fitted.model = fitted.model.with_training_data(training.dataset());
    Ok(fitted)
}

/// The model with its scores.
fn finished(found: Streamed, rows: u64, seed: u64, start: Instant, notes: Vec<String>) -> Result<Fitted> {
    let (model, unchecked) = match found.held_out {
        Ok(rows) => (found.model.with_check(held_out_check(&found.sample, rows, seed)?)?, None),
        Err(why) => (found.model, Some(why)),
    };
    Ok(Fitted { model, rows, seconds: start.elapsed().as_secs_f64(), sample: found.sample, unchecked, notes })
}

const ADDING: &str = "row {human_pos} of {human_len}  {elapsed}, {eta} left";

/// The steps of learning, and how long the last kind of them may take.
struct Learning {
    bar: ProgressBar,
    /// Where the steps began whose number is bounded, and how many there are so far.
    bounded: Mutex<Option<(Instant, u32)>>,
}

impl Learning {
    fn new(quiet: bool) -> Learning {
        let bar = bar(quiet, 0, "learning the kernel on a sample: step {pos}  {msg}  {elapsed}{prefix}");
        Learning { bar, bounded: Mutex::new(None) }
    }

    fn show(&self, step: &Iteration) {
        self.bar.inc(1);
        self.bar.set_message(format!("objective {:.1}", step.objective));
        let Some(left) = step.left else { return };
        let mut bounded = self.bounded.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, steps) = bounded.get_or_insert((Instant::now(), 0));
        if let Some(left) = time_left(start.elapsed(), *steps, left) {
            self.bar.set_prefix(format!(", at most {} left", HumanDuration(left)));
        }
        *steps += 1;
    }
}

/// The time of so many steps more, after some that took a time.
fn time_left(passed: Duration, steps: u32, left: usize) -> Option<Duration> {
    let each = passed.checked_div(steps)?;
    each.checked_mul(u32::try_from(left).ok()?)
}

fn bar(quiet: bool, length: u64, template: &str) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = output::progress(length, template);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_that_of_the_steps_so_far() {
        assert_eq!(time_left(Duration::from_secs(6), 3, 10), Some(Duration::from_secs(20)));
        assert_eq!(time_left(Duration::from_secs(6), 0, 10), None);
    }
}
