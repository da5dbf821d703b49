//! The kernel by features drawn from it, for any number of rows: random Fourier features of the learned spectrum, weighted
//! exactly from sums over the rows (equations 39 to 43).
//!
//! [`FeatureMap::learn`] learns the kernel from a sample and fixes the features; every worker that has the map computes the
//! same ones. An [`Accumulator`] adds up what the posterior needs, block by block, in any order and number of processes,
//! with the same bits. [`FeatureMap::model`] makes the model of the sums.

mod accumulator;
mod ard;
mod bytes;
mod evidence;
mod features;
mod held;
pub(crate) mod learn;
mod map;
mod marginal;
mod needs;
mod posterior;
mod stream;
mod sums;
#[cfg(test)]
mod tests;
mod tree;

pub use accumulator::{Accumulator, BLOCK};
pub(crate) use features::{basis_of_kept, basis_of_pairs, precision_of_pairs};
pub use held::NotHeld;
pub(crate) use learn::{BATCH, Group, most_rows};
pub use map::FeatureMap;
pub(crate) use map::features_for;
pub use stream::{BlockSource, EachBlock, HeldRows, StreamFit, StreamPlan, Streamed, sample_rows};
#[cfg(test)]
pub(crate) use sums::{Sums, parts};
