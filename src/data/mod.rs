//! Numbers in: a [`Dataset`] of inputs and targets, and the scaling that puts every column on one footing.

mod cohort;
mod dataset;
mod folds;
mod standardise;

pub use cohort::{Cohort, cohort};
pub use dataset::Dataset;
pub(crate) use dataset::{check_inputs, expect_count};
pub use folds::Folds;
pub use standardise::Standardiser;
