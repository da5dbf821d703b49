//! When the system has no memory to give: a sentence and an exit code of its own, instead of an abort.
//!
//! What a fit or a table needs is estimated and asked for before ([`rffblr::memory`]); this is for what no estimate saw.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::panic::{set_hook, take_hook};

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
    say(&text[..length]);
    end()
}

/// Asks glibc to keep up to 256 MiB that is given back, instead of handing every matrix of a few megabytes to the kernel and
/// asking for zeroed pages a moment later: a fifteenth of the processor time of a fit to some hundred rows. What is larger
/// than 32 MiB still goes back at once.
pub fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const TRIM_THRESHOLD: i32 = -1;
        const MMAP_THRESHOLD: i32 = -3;
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        // SAFETY: glibc has this function with this signature; it takes any numbers, and nothing was allocated in parallel yet.
        unsafe {
            mallopt(MMAP_THRESHOLD, 32 << 20);
            mallopt(TRIM_THRESHOLD, 256 << 20);
        }
    }
}

/// Threads that cannot be started for want of memory end the program in the same way, wherever they are started.
pub fn watch_threads() {
    let usual = take_hook();
    set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        if message.contains("failed to spawn thread") {
            say(NO_THREAD);
            end();
        }
        usual(panic);
    }));
}

/// What is said where a thread cannot be started.
pub const NO_THREAD: &[u8] =
    b"error: the system has no memory, or no place, for another thread; use fewer of them, or fewer rows and columns\n";

/// Writes to standard error past its lock, which another thread may hold that waits for this one.
fn say(text: &[u8]) {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        if let Ok(error) = std::io::stderr().as_fd().try_clone_to_owned() {
            let _ = std::fs::File::from(error).write_all(text);
        }
    }
    #[cfg(not(unix))]
    let _ = std::io::stderr().write_all(text);
}

/// Ends the process at once: what is usually done at the end may wait for threads that wait for this one.
fn end() -> ! {
    #[cfg(unix)]
    {
        unsafe extern "C" {
            fn _exit(code: i32) -> !;
        }
        // SAFETY: POSIX has this function with this signature, and it asks nothing of its caller.
        unsafe { _exit(NO_MEMORY.into()) }
    }
    #[cfg(not(unix))]
    std::process::exit(NO_MEMORY.into())
}
