//! Methods to compare RFF-BLR with, one file each. They are reached by name through
//! [`method`](crate::method).

mod gorelm;
mod gp;
mod mean;
mod ridge;
mod sbelm;

pub use gorelm::GorElm;
pub use gp::GaussianProcess;
pub use mean::TrainingMean;
pub use ridge::Ridge;
pub use sbelm::SbElm;
