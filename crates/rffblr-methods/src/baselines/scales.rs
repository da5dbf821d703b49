//! Inputs and targets on scales of their own, and the way back: what every method but the mean begins and ends with.

use super::check_question;
use rffblr::data::{Dataset, Standardiser};
use rffblr::linalg::{Mat, MatRef};
use rffblr::{Error, Result};
use serde::{Deserialize, Serialize};

/// The scales of training data and the names of their columns.
#[derive(Serialize, Deserialize)]
pub(super) struct Scales {
    input_names: Vec<String>,
    target_names: Vec<String>,
    pub(super) inputs: Standardiser,
    pub(super) targets: Standardiser,
}

impl Scales {
    /// Mean zero and deviation one by row weight; also the inputs and targets on these scales.
    pub(super) fn learn(data: &Dataset) -> Result<(Self, Mat<f64>, Mat<f64>)> {
        Scales::by(data, Standardiser::new)
    }

    /// From −1 to 1 by the range of the training rows.
    pub(super) fn of_range(data: &Dataset) -> Result<(Self, Mat<f64>, Mat<f64>)> {
        Scales::by(data, Standardiser::of_range)
    }

    fn by(
        data: &Dataset,
        scale: fn(MatRef<'_, f64>, Option<&[f64]>) -> Standardiser,
    ) -> Result<(Self, Mat<f64>, Mat<f64>)> {
        let inputs = scale(data.inputs(), data.weights());
        let targets = scale(data.targets(), data.weights());
        let x = inputs.apply(data.inputs(), data.input_names())?;
        let y = targets.apply(data.targets(), data.target_names())?;
        let (input_names, target_names) = (data.input_names().to_vec(), data.target_names().to_vec());
        Ok((Scales { input_names, target_names, inputs, targets }, x, y))
    }

    /// The same with scale zero for a constant target, for models that would say something else of it.
    pub(super) fn constants_stay(mut self, targets: &Mat<f64>) -> Self {
        let constant = |task: usize| targets.col_as_slice(task).iter().all(|cell| *cell == 0.0 || cell.is_nan());
        self.targets.scale.iter_mut().enumerate().filter(|(task, _)| constant(*task)).for_each(|(_, s)| *s = 0.0);
        self
    }

    /// Number of targets.
    pub(super) fn tasks(&self) -> usize {
        self.target_names.len()
    }

    /// Inputs to predict from, checked and scaled.
    pub(super) fn question(&self, inputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        check_question(inputs, &self.input_names)?;
        self.inputs.apply(inputs, &self.input_names)
    }

    /// Predictions on the scale of the targets.
    pub(super) fn restore(&self, predictions: Mat<f64>) -> Result<Mat<f64>> {
        self.scale(predictions, |task, value| self.targets.mean[task] + self.targets.scale[task] * value)
    }

    /// Deviations on the scale of the targets.
    pub(super) fn restore_deviations(&self, deviations: Mat<f64>) -> Result<Mat<f64>> {
        self.scale(deviations, |task, value| self.targets.scale[task] * value)
    }

    /// An input far outside the training range can overflow inside a model: that is an error, not a prediction.
    fn scale(&self, mut table: Mat<f64>, scaled: impl Fn(usize, f64) -> f64) -> Result<Mat<f64>> {
        for (task, name) in self.target_names.iter().enumerate() {
            for (row, cell) in table.col_as_slice_mut(task).iter_mut().enumerate() {
                *cell = scaled(task, *cell);
                if !cell.is_finite() {
                    return Err(Error::NotFinite {
                        what: "the predictions",
                        row,
                        column: name.clone(),
                        value: *cell,
                        remedy: "an input of the rows to predict is too far outside the range of the training data",
                    });
                }
            }
        }
        Ok(table)
    }
}
