//! Matrices, and how many threads work on them: the only folder that names faer's products and decompositions.
//!
//! Matrices are column-major `f64`; rows are samples. Symmetric results are stored in the LOWER triangle alone.

pub(crate) mod cholesky;
pub(crate) mod columns;
pub(crate) mod product;
pub(crate) mod spectral;
#[cfg(test)]
mod tests;
pub(crate) mod threads;

pub(crate) use cholesky::*;
pub(crate) use columns::*;
pub use faer::{Mat, MatMut, MatRef};
pub(crate) use product::*;
pub(crate) use spectral::*;
pub use threads::Threads;
