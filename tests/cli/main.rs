//! The command as its users type it: the real binary in a folder of its own.

mod data;
#[path = "../fetch/server.rs"]
mod server;
mod shell;

use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The binary, to be run in a folder, with nothing of this machine's own data in reach.
fn rffblr(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rffblr"));
    command.current_dir(folder).env("HOME", folder).env("XDG_CACHE_HOME", folder.join("cache"));
    command.env_remove("RFFBLR_DATA").env("RUST_BACKTRACE", "1");
    command
}

/// Runs it with some arguments.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    rffblr(folder).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Standard output of a run that must succeed.
fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The message of a run that must fail with this exit code: short, without a backtrace, and nothing on standard output.
fn fail(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = run(folder, arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(message.starts_with("error: "), "{arguments:?}: {message}");
    assert!(!message.contains("panicked") && !message.contains("backtrace"), "{arguments:?}: {message}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    message
}

/// Names of what lies in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn folder() -> TempDir {
    TempDir::new().unwrap()
}
