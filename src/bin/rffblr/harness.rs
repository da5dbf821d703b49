//! What every comparison of methods needs: the rows of one fold, and jobs that run side by side.

use crate::training::Training;
use anyhow::{Context, Result, bail};
use rffblr::data::{Encoder, Folds};
use rffblr::evaluate::Split;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Encodes one fold: everything about the columns is learned from its training rows alone. Also gives those rows.
pub fn split(training: &Training, folds: &Folds, fold: usize) -> Result<(Split, Vec<usize>)> {
    let test = &folds.test()[fold];
    let rows: Vec<usize> =
        folds.train(test).into_iter().filter(|row| training.rows.binary_search(row).is_ok()).collect();
    if rows.is_empty() {
        bail!("no training row has a target value; use fewer or other folds");
    }
    let (encoder, _) = Encoder::learn(&training.table, &rows, &training.roles, training.missing)?;
    let (train, _) = encoder.dataset(&training.table, &rows)?;
    let (test_inputs, test_targets) = encoder.test_rows(&training.table, test)?;
    Ok((Split { train, test_inputs, test_targets }, rows))
}

/// Runs jobs 0, 1, … on so many workers and gives the results in order, or the error of the first
/// job that failed. Each worker is a pool of one thread, so that no job takes time from another.
pub fn in_parallel<T: Send>(workers: usize, jobs: usize, job: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::new());
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= jobs {
                break;
            }
            let result = job(index);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    let pools: Vec<rayon::ThreadPool> = (0..workers)
        .map(|_| rayon::ThreadPoolBuilder::new().num_threads(1).build())
        .collect::<Result<_, _>>()
        .context("cannot start threads")?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| pool.install(work));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
