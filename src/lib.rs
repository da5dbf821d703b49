//! rffblr
pub mod data;
mod error;
pub mod fourier;
pub mod linalg;
mod vb;
pub use error::{Error, Result};
pub use vb::*;
