//! The command as its users run it: the real binary in a temporary folder.

mod common;
