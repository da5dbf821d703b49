//! Methods to compare RFF-BLR with, one file each. They are reached by name through
//! [`method`](crate::method).

mod batches;
mod fnn;
mod gp;
mod hi_vae;
mod mean;
mod ridge;
mod scales;

pub use fnn::{Activation, Fnn};
pub use gp::GaussianProcess;
pub use hi_vae::{HiVae, Learning};
pub use mean::TrainingMean;
pub use ridge::Ridge;
