//! How much work is split, and between how many threads.

use faer::Par;
use std::cell::Cell;
use std::sync::OnceLock;

/// How many threads a computation may use. Results have the same bits for any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads(pub(super) usize);

impl Threads {
    /// One thread: for work that is itself one of many parallel pieces.
    pub const ONE: Threads = Threads(1);

    /// The threads of the rayon pool this is called in, but never more than the machine has cores; one inside of [`alone`].
    pub fn current() -> Self {
        if ALONE.get() {
            return Threads::ONE;
        }
        // Asking the system takes longer than a small product.
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        Threads(rayon::current_num_threads().clamp(1, cores))
    }

    /// Threads pay off only above a few million multiplications; below, starting them costs more than they save.
    pub(super) fn par(self, multiplications: f64) -> Par {
        const WORTH_SPLITTING: f64 = 1.5e7;
        if self.0 <= 1 || multiplications < WORTH_SPLITTING { Par::Seq } else { Par::rayon(self.0) }
    }
}

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs work on this thread without asking for a pool: to be had only for work too small to be split, which would otherwise
/// start the threads of the global one.
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _back = Back(ALONE.replace(true));
    work()
}

pub(super) fn work(a: usize, b: usize, c: usize) -> f64 {
    a as f64 * b as f64 * c as f64
}

/// Multiplications after which a long computation looks whether it is still wanted: some hundredths of a second.
const GLANCE: f64 = 5e8;

/// Columns of a long computation that are worked on at once, if each takes so many multiplications. It does not depend on
/// threads, nor on whether anyone can interrupt the work: bits would.
pub(super) fn glance(columns: usize, each: f64) -> usize {
    const FEWEST: usize = 32;
    ((GLANCE / each.max(1.0)) as usize).clamp(FEWEST, columns.max(FEWEST))
}
