//! Jobs that run side by side.

use rffblr::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs jobs 0, 1, … on this many workers and gives the results in order, or the error of the first
/// job that failed. Each worker is a pool of one thread, so that no job takes time from another.
pub fn in_parallel<T: Send, E: From<Error> + Send>(
    workers: usize,
    jobs: usize,
    job: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<T, E>)>> = Mutex::new(Vec::new());
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
        .map_err(|problem| Error::Threads(problem.to_string()))?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| pool.install(work));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
