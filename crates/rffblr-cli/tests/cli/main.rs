//! The command as its users run it: the real binary in a temporary folder.

mod bad_input;
mod check;
#[path = "../../../rffblr/tests/library/checksum.rs"]
mod checksum;
mod common;
mod data;
mod demo;
mod dependencies;
mod evaluate;
mod export;
mod fit;
mod guide;
mod inspect;
mod notes;
mod predict;
mod report;
mod reproduce;
mod safety;
mod selection;
#[allow(dead_code, reason = "the tests of the library use more of it")]
#[path = "../fetch/server.rs"]
mod server;
mod shell;
mod stream;
mod tables;
