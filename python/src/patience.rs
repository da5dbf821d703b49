//! Runs work on its own threads with Python's lock released, while the calling thread checks for signals (Ctrl-C) and
//! reports progress.

use crate::errors::Failure;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rffblr::internals::{Interrupted, alone, ended_by};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Interval between two checks for signals.
const GLANCE: Duration = Duration::from_millis(20);
/// Name of the threads; panics in them are raised as exceptions and not printed.
const NAME: &str = "rffblr";

/// Threads for one piece of work, which ends soon after it is abandoned. A pool of its own each time: a shared one would not
/// survive a fork, and would make Python's threads wait for each other.
fn threads(count: usize, state: &State) -> PyResult<rayon::ThreadPool> {
    let abandoned = state.abandoned.clone();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(count.max(1))
        .thread_name(|_| NAME.into())
        .start_handler(move |_| ended_by(abandoned.clone()))
        .build();
    pool.map_err(|problem| PyRuntimeError::new_err(format!("cannot start {count} threads: {problem}")))
}

enum Message<P, T> {
    Progress(P),
    Done(std::thread::Result<T>),
}

/// Handle with which the work reports progress.
pub struct Progress<P, T> {
    sender: Sender<Message<P, T>>,
    /// Whether there is a listener.
    wanted: bool,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The result is no longer wanted.
    abandoned: Arc<AtomicBool>,
    /// The work should stop early and return what it has.
    enough: AtomicBool,
}

impl<P, T> Progress<P, T> {
    /// Reports progress; true if the work should stop early. Unwinds if the result is no longer wanted.
    pub fn tell(&self, progress: impl FnOnce() -> P) -> bool {
        if self.state.abandoned.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Interrupted));
        }
        if self.wanted {
            // Fails only if the receiver has gone, and then progress is not needed.
            let _ = self.sender.send(Message::Progress(progress()));
        }
        self.state.enough.load(Ordering::Relaxed)
    }
}

/// Runs work on `count` threads and waits for it with Python's lock released. Progress goes to `listener`, in this
/// thread; what it returns says whether the work should end early. A signal or an exception of the listener is raised at
/// once, and the work, which owns its data, ends soon after it.
pub fn patiently<P: Send + 'static, T: Send + 'static>(
    py: Python<'_>,
    count: usize,
    listener: Option<&dyn Fn(P) -> PyResult<bool>>,
    work: impl FnOnce(Progress<P, T>) -> T + Send + 'static,
) -> PyResult<T> {
    let state = Arc::new(State::default());
    let pool = threads(count, &state)?;
    let (sender, receiver) = channel();
    let progress = Progress { sender: sender.clone(), wanted: listener.is_some(), state: state.clone() };
    pool.spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(progress)));
        // Fails only if the caller has returned, and then the result is not needed.
        let _ = sender.send(Message::Done(outcome));
    });
    let receiver = Mutex::new(receiver);
    let outcome = wait(py, &receiver, listener, &state);
    state.abandoned.store(true, Ordering::Relaxed);
    outcome?.map_err(|panic| panicked(&panic))
}

fn wait<P: Send, T: Send>(
    py: Python<'_>,
    receiver: &Mutex<Receiver<Message<P, T>>>,
    listener: Option<&dyn Fn(P) -> PyResult<bool>>,
    state: &State,
) -> PyResult<std::thread::Result<T>> {
    loop {
        let message = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(GLANCE));
        match (message, listener) {
            (Ok(Message::Done(outcome)), _) => return Ok(outcome),
            (Ok(Message::Progress(progress)), Some(listener)) => {
                if listener(progress)? {
                    state.enough.store(true, Ordering::Relaxed);
                }
            }
            (Ok(Message::Progress(_)), None) | (Err(RecvTimeoutError::Timeout), _) => {}
            (Err(RecvTimeoutError::Disconnected), _) => {
                return Err(PyRuntimeError::new_err("the threads of a fit ended without a result"));
            }
        }
        py.check_signals()?;
    }
}

/// Runs work that reports no progress.
pub fn heard<T: Send + 'static>(
    py: Python<'_>,
    count: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    patiently(py, count, None::<&dyn Fn(()) -> PyResult<bool>>, |_| work())
}

/// The same for work that borrows what it reads: a signal is raised when it has ended, which is soon.
pub fn attended<T: Send>(py: Python<'_>, count: usize, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    let state = State::default();
    let pool = threads(count, &state)?;
    let (sender, receiver) = channel::<Message<(), T>>();
    let receiver = Mutex::new(receiver);
    let outcome = pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            let outcome = catch_unwind(AssertUnwindSafe(work));
            // Fails only if the caller was interrupted.
            let _ = sender.send(Message::Done(outcome));
        });
        let outcome = wait(py, &receiver, None, &state);
        state.abandoned.store(true, Ordering::Relaxed);
        outcome
    });
    outcome?.map_err(|panic| panicked(&panic).into())
}

/// Runs work of a few milliseconds in this thread: to start another takes longer than many a prediction of one row.
pub fn at_once<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| alone(work))));
    outcome.map_err(|panic| panicked(&panic).into())
}

/// A panic is a bug of the library: Python sees an exception, never a crash.
fn panicked(panic: &Box<dyn Any + Send>) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    PyRuntimeError::new_err(format!("internal error of rffblr, please report it: {text}"))
}

/// Keeps panics in our own threads from being printed: they are raised as exceptions.
pub fn silence_own_threads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(NAME) {
            usual(panic);
        }
    }));
}

/// Panics inside, for the test that a panic is raised as an exception.
#[pyfunction]
pub fn panic_inside(py: Python<'_>) -> PyResult<()> {
    patiently(py, 1, None::<&dyn Fn(()) -> PyResult<bool>>, |_| panic!("on purpose"))
}
