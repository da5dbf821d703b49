//! Numbers in: a [`Dataset`] of inputs and targets, and the scaling that puts every column on one footing.

mod dataset;
mod standardise;

pub use dataset::Dataset;
pub use standardise::Standardiser;
