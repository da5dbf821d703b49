//! Methods for multitask regression behind one trait, [`Method`](method::Method): RFF-BLR in its forms and the methods
//! it is compared with. How their hyper-parameters are chosen ([`select`]), how rows are split ([`folds`]), and how well a
//! method does on rows it has not seen ([`evaluate`]): one fold, a whole [`cross_validate`], the check of a model.

#![warn(missing_docs)]

pub mod baselines;
mod cross_validate;
pub mod evaluate;
pub mod folds;
#[cfg(test)]
#[path = "../../rffblr/src/golden.rs"]
mod golden;
pub mod method;
pub mod select;
pub mod views;

pub use cross_validate::{CrossValidation, InnerFolds, Job, cross_validate};

/// Version of this release, with the commit it was built from where that is known.
pub const VERSION: &str = env!("RFFBLR_VERSION");
