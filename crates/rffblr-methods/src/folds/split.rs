//! The rows of one fold as numbers.

use super::Folds;
use rffblr::data::{Dataset, TrainingTable};
use rffblr::linalg::Mat;
use rffblr::{Error, Result};

/// What one fold learns from and what it is tested on.
#[derive(Clone, Debug)]
pub struct Split {
    /// What to learn from.
    pub train: Dataset,
    /// Inputs to predict from.
    pub test_inputs: Mat<f64>,
    /// What should come out, of the targets that are learned; NaN cells are not scored.
    pub test_targets: Mat<f64>,
    /// Numbers of the targets of which no training row has a value, rising: they are not learned.
    pub unknown: Vec<usize>,
}

impl Split {
    /// A fold of a table: everything about its columns is learned from the training rows alone, of which those without a
    /// target value are left out. Also gives the rows trained on.
    pub fn of_table(training: &TrainingTable, folds: &Folds, fold: usize) -> Result<(Split, Vec<usize>)> {
        let rows = folds.train_in(training, fold);
        if rows.is_empty() {
            let problem = "no training row has a target value; use fewer or other folds".into();
            return Err(Error::Folds { place: format!("fold {}", fold + 1), problem });
        }
        let (encoder, train) = training.part(&rows)?;
        let test = folds.test().get(fold).map(Vec::as_slice).unwrap_or_default();
        let (test_inputs, test_targets) = training.held_out(&encoder, test)?;
        Ok((Split { train, test_inputs, test_targets, unknown: training.unknown(&rows) }, rows))
    }
}
