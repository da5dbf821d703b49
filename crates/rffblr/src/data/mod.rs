//! Numbers in: a [`Dataset`] of inputs and targets, how it is made from a table, and the scaling that puts every
//! column on one footing.

mod cohort;
pub(crate) mod dataset;
pub(crate) mod encode;
mod encode_error;
mod note;
pub(crate) mod order;
pub(crate) mod roles;
mod rounding;
mod rows;
mod standardise;
mod summary;
mod training;
mod weights;
mod wild;

pub use cohort::{Cohort, cohort};
pub use dataset::{Dataset, Lent};
pub(crate) use dataset::{check_inputs, expect_count};
pub use encode::{Cycle, DateEncoding, Encoder, Encoding, MOST_LEVELS, MissingInputs, OTHER, RawInput};
pub use encode_error::EncodeError;
pub use note::{Note, NoteKind};
pub use roles::{RoleChoice, Roles, names_among, one_name};
pub(crate) use rounding::rounding_variance;
pub use rows::RowSums;
pub use standardise::Standardiser;
pub(crate) use standardise::back;
pub(crate) use summary::row_sample;
pub use summary::{ColumnSummary, LevelCounts, Moments, Present, Summary, row_hash};
pub use training::TrainingTable;
pub use weights::Weights;
pub(crate) use weights::expect_repeats;
pub use wild::SetAside;
