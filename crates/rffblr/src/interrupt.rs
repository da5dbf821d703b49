//! Ends work that nobody waits for any more. A thread that was told so by [`ended_by`] unwinds at the next product, solve or
//! explained row after the flag was raised; what called the work catches the unwinding. Other threads never look.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static RAISED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Panic payload with which work unwinds that is not wanted any more. It is a panic that no hook reports.
pub struct Interrupted;

/// From here on the work of this thread ends soon after the flag is raised.
pub fn ended_by(flag: Arc<AtomicBool>) {
    RAISED.with(|raised| *raised.borrow_mut() = Some(flag));
}

/// What ends the work of this thread, for threads that share it.
pub fn flag() -> Option<Arc<AtomicBool>> {
    RAISED.with(|raised| raised.borrow().clone())
}

/// Unwinds if the work of this thread is not wanted any more.
pub fn go_on() {
    let raised = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
    if RAISED.with(|known| known.borrow().as_ref().is_some_and(raised)) {
        resume_unwind(Box::new(Interrupted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, Mat, Threads, multiply};

    /// A pool whose work has been given up.
    fn given_up() -> rayon::ThreadPool {
        let flag = Arc::new(AtomicBool::new(true));
        rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(move |_| ended_by(flag.clone())).build().unwrap()
    }

    #[test]
    fn unwanted_work_unwinds_and_other_threads_go_on() {
        let a = Mat::from_fn(3, 3, |i, j| f64::from(u8::from(i == j)));
        let product = || multiply(a.as_ref(), a.as_ref(), Threads::ONE);
        let unwound = given_up().install(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(product)));
        assert!(unwound.unwrap_err().is::<Interrupted>());
        let unwound = given_up().install(|| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Cholesky::new(a.clone(), Threads::ONE).is_some()))
        });
        assert!(unwound.unwrap_err().is::<Interrupted>());
        assert_eq!(product(), a);
    }
}
