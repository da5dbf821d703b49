//! When the system has no memory to give: a sentence and an exit code of its own, instead of an abort.
//!
//! What a fit or a table needs is estimated and asked for before ([`rffblr::memory`]); this is for what no estimate saw.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// Exit code when there is not enough memory.
pub const NO_MEMORY: u8 = 3;

#[global_allocator]
static ALLOCATOR: Telling = Telling;

/// The system's allocator, except that the program ends if it has nothing to give.
struct Telling;

// SAFETY: every call goes to the system's allocator unchanged, and only what it gives is handed on.
unsafe impl GlobalAlloc for Telling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as promised by the caller.
        given(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn given(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() { give_up(bytes) } else { pointer }
}

/// Ends the program, without memory.
fn give_up(bytes: usize) -> ! {
    let mut text = [0u8; 200];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: the system has no memory left for another {:.1} MB; use fewer rows, columns, features or threads",
        bytes as f64 / 1e6
    );
    let unused = rest.len();
    let length = text.len() - unused;
    let _ = std::io::stderr().write_all(&text[..length]);
    std::process::exit(NO_MEMORY.into())
}
