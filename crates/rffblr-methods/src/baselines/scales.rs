//! Standardised inputs and targets for the methods that cannot do without, and the way back.

use super::check_question;
use rffblr::data::{Dataset, Standardiser};
use rffblr::linalg::{Mat, MatRef};
use rffblr::{Error, Result};

/// The scales of training data and the names of their columns.
pub(super) struct Scales {
    input_names: Vec<String>,
    target_names: Vec<String>,
    inputs: Standardiser,
    /// Mean of each target and its deviation, zero for a constant one: whatever a model says of it does not matter.
    shifts: Vec<f64>,
    spreads: Vec<f64>,
}

impl Scales {
    /// Learns the scales; also the standardised inputs and targets.
    pub(super) fn learn(data: &Dataset) -> Result<(Self, Mat<f64>, Mat<f64>)> {
        let inputs = Standardiser::new(data.inputs(), None);
        let targets = Standardiser::new(data.targets(), None);
        let x = inputs.apply(data.inputs(), data.input_names())?;
        let y = targets.apply(data.targets(), data.target_names())?;
        let constant = |task: usize| y.col_as_slice(task).iter().all(|cell| *cell == 0.0 || cell.is_nan());
        let spreads = targets.scale.iter().enumerate().map(|(task, s)| if constant(task) { 0.0 } else { *s }).collect();
        let (input_names, target_names) = (data.input_names().to_vec(), data.target_names().to_vec());
        Ok((Scales { input_names, target_names, inputs, shifts: targets.mean, spreads }, x, y))
    }

    /// Number of targets.
    pub(super) fn targets(&self) -> usize {
        self.shifts.len()
    }

    /// Inputs to predict from, checked and standardised.
    pub(super) fn inputs(&self, inputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        check_question(inputs, &self.input_names)?;
        self.inputs.apply(inputs, &self.input_names)
    }

    /// Standardised predictions on the scale of the targets.
    pub(super) fn restore(&self, mut predictions: Mat<f64>) -> Result<Mat<f64>> {
        self.scale(&mut predictions, |task, value| self.shifts[task] + self.spreads[task] * value)?;
        Ok(predictions)
    }

    /// Standardised deviations on the scale of the targets.
    pub(super) fn restore_deviations(&self, mut deviations: Mat<f64>) -> Result<Mat<f64>> {
        self.scale(&mut deviations, |task, value| self.spreads[task] * value)?;
        Ok(deviations)
    }

    /// An input far outside the training range can overflow inside a model: that is an error, not a prediction.
    fn scale(&self, table: &mut Mat<f64>, scaled: impl Fn(usize, f64) -> f64) -> Result<()> {
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
        Ok(())
    }
}
