//! The rows of one fold as numbers.

use super::Folds;
use rffblr::data::{Dataset, TrainingTable};
use rffblr::internals::select_rows;
use rffblr::linalg::Mat;
use rffblr::{Error, Result};

/// What one fold learns from and what it is tested on.
#[derive(Clone, Debug)]
pub struct Split {
    /// What to learn from.
    pub train: Dataset,
    /// Inputs to predict from.
    pub test_inputs: Mat<f64>,
    /// What should come out; NaN cells are not scored.
    pub test_targets: Mat<f64>,
}

impl Split {
    /// A fold of a dataset.
    pub fn new(data: &Dataset, folds: &Folds, fold: usize) -> Result<Split> {
        let test = folds.test().get(fold).map(Vec::as_slice).unwrap_or_default();
        if let Some(&row) = test.iter().find(|&&row| row >= data.rows()) {
            return Err(Error::Shape { what: "the dataset", unit: "rows", found: data.rows(), expected: row + 1 });
        }
        Ok(Split {
            train: data.select(&folds.train(fold))?,
            test_inputs: select_rows(data.inputs(), test),
            test_targets: select_rows(data.judged_targets().as_ref(), test),
        })
    }

    /// A fold of a table: everything about its columns is learned from the training rows alone, of which those without a
    /// target value are left out. Also gives the rows trained on.
    pub fn of_table(training: &TrainingTable, folds: &Folds, fold: usize) -> Result<(Split, Vec<usize>)> {
        let mut rows = folds.train(fold);
        rows.retain(|row| training.rows().binary_search(row).is_ok());
        if rows.is_empty() {
            let problem = "no training row has a target value; use fewer or other folds".into();
            return Err(Error::Folds { place: format!("fold {}", fold + 1), problem });
        }
        let (encoder, train) = training.part(&rows)?;
        let test = folds.test().get(fold).map(Vec::as_slice).unwrap_or_default();
        let (test_inputs, test_targets) = training.held_out(&encoder, test)?;
        Ok((Split { train, test_inputs, test_targets }, rows))
    }
}
