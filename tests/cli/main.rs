//! The command as its users run it: the real binary in a temporary folder.

mod bad_input;
mod common;
mod fit;
mod inspect;
mod predict;
mod safety;
