//! The command as its users run it: the real binary in a temporary folder.

mod common;
mod data;
mod demo;
mod evaluate;
#[path = "../fetch/server.rs"]
mod server;
mod shell;
