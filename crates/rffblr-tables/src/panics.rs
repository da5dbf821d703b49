//! Decoders of others that panic on some damaged files, which must neither take the program down nor print a word.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What the work gives, or `None` if it panics. A panic of this thread meanwhile is not reported; those of others are, as
/// before.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(outer);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn panics_inside_are_silent_and_others_are_not() {
        static HEARD: AtomicUsize = AtomicUsize::new(0);
        let before = take_hook();
        set_hook(Box::new(move |info| {
            HEARD.fetch_add(1, Ordering::SeqCst);
            before(info);
        }));
        assert_eq!(caught(|| 1), Some(1));
        assert_eq!(caught(|| -> u8 { panic!("damaged") }), None);
        let _ = std::thread::spawn(|| panic!("this one is heard")).join();
        // The hook of `caught` may have been set by an earlier test, before ours, which then hears all.
        assert!(HEARD.load(Ordering::SeqCst) >= 1);
        assert!(!QUIET.get());
    }
}
