//! The fits of an experiment on data sets: run side by side, each recorded as it is done.

use super::RunArguments;
use super::record::{Key, Record};
use super::source::Source;
use super::store::Store;
use crate::watch::Watch;
use anyhow::Result;
use rffblr_methods::method::Method;
use rffblr_methods::select::{Journal, Progress};
use rffblr_methods::{CrossValidation, Job, cross_validate};
use std::sync::{Mutex, PoisonError};

/// A fit that is not recorded yet.
pub struct Fit<'a> {
    pub method: &'a dyn Method,
    pub source: &'a Source,
    pub key: Key,
}

impl<'a> Fit<'a> {
    pub fn job(&self) -> Job<'a> {
        let Source { training, folds, .. } = self.source;
        let (fold, seed) = (self.key.fold - 1, self.key.seed);
        Job { method: self.method, training, folds, fold, seed, inner: self.source.inner_folds() }
    }
}

/// Runs fits and records each as it is done; `recorded` is called then. Returns what failed, in words.
pub fn record_all(
    fits: &[Fit<'_>],
    run: &RunArguments,
    store: &Store<Record>,
    journal: &Journal,
    recorded: impl Fn(&Fit<'_>, &Watch) + Sync,
) -> Result<Vec<String>> {
    let jobs: Vec<Job<'_>> = fits.iter().map(Fit::job).collect();
    let (names, series) = series(fits);
    let count = |number: usize| series.iter().filter(|&&at| at == number).count();
    let workers = run.workers(jobs.len());
    let watched = names.iter().enumerate().map(|(number, name)| (name.clone(), count(number)));
    let watch = Watch::new(watched, workers, run.quiet);
    let progress = |number: usize, progress: Progress| watch.inner_fold(series[number], progress);
    let how = CrossValidation { workers, grid: run.grid, journal: Some(journal), progress: Some(&progress) };
    let failures = Mutex::new(Vec::new());
    let done = cross_validate(&jobs, &how, |number, result| -> Result<()> {
        let fit = &fits[number];
        match result {
            Ok(result) => {
                watch.fit(series[number], result.other_seconds());
                store.add(Record::new(fit.key.clone(), fit.source.setting(run.grid), result))?;
                recorded(fit, &watch);
            }
            Err(problem) => {
                let text = format!("{}, fold {}: {problem}", names[series[number]], fit.key.fold);
                watch.tell(&format!("error: {text}"));
                failures.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        }
        Ok(())
    });
    watch.finish();
    done?;
    Ok(failures.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Names of methods on data sets, and which of them each fit belongs to.
fn series(fits: &[Fit<'_>]) -> (Vec<String>, Vec<usize>) {
    let (mut names, mut series): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    for Fit { key, .. } in fits {
        let name = format!("{} on {}", key.method, key.dataset);
        series.push(names.iter().position(|known| *known == name).unwrap_or(names.len()));
        if series.last() == Some(&names.len()) {
            names.push(name);
        }
    }
    (names, series)
}
