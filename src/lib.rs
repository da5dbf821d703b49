//! rffblr
pub mod data;
mod error;
pub mod fourier;
pub mod linalg;
pub mod metrics;
mod model;
pub mod normal;
mod vb;
pub use error::{Error, Result};
pub use model::*;
pub use vb::*;
