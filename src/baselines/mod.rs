//! Methods to compare RFF-BLR with, one file each. They are reached by name through
//! [`method`](crate::method).

mod mean;

pub use mean::TrainingMean;
