//! Jobs that run side by side.

use rffblr::Error;
use rffblr::internals::{ended_by, flag};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

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
        .map(|_| pool())
        .collect::<Result<_, _>>()
        .map_err(|problem| Error::Threads(problem.to_string()))?;
    std::thread::scope(|scope| {
        let started: Vec<_> = pools.iter().map(|pool| scope.spawn(|| pool.install(work))).collect();
        let ended: Vec<_> = started.into_iter().map(ScopedJoinHandle::join).collect();
        if let Some(unwound) = ended.into_iter().find_map(Result::err) {
            resume_unwind(unwound);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// One thread with the name of this one, whose work ends when that of this one is to end.
fn pool() -> Result<rayon::ThreadPool, rayon::ThreadPoolBuildError> {
    let (flag, name) = (flag(), std::thread::current().name().unwrap_or_default().to_owned());
    let start = move |_| flag.iter().for_each(|flag| ended_by(flag.clone()));
    rayon::ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| name.clone()).start_handler(start).build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffblr::internals::{Interrupted, go_on};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    #[test]
    fn jobs_end_when_the_work_they_are_part_of_is_to_end() {
        let raised = Arc::new(AtomicBool::new(false));
        let shared = raised.clone();
        let ended = std::thread::spawn(move || {
            ended_by(shared);
            let job = |_| -> Result<(), Error> {
                loop {
                    raised.store(true, Ordering::Relaxed);
                    go_on();
                }
            };
            catch_unwind(AssertUnwindSafe(|| in_parallel(2, 5, job))).unwrap_err().is::<Interrupted>()
        });
        assert!(ended.join().unwrap());
    }
}
