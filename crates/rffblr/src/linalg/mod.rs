//! Matrices, and how many threads work on them.

pub(crate) mod dense;

pub(crate) use dense::*;
pub use dense::{Mat, MatMut, MatRef, Threads};
