//! The simplest reference: every row is predicted to be average.
//!
//! Per task, the mean of the observed training cells and their population standard deviation, both by row weight. A
//! method that does not beat it has learned nothing from the inputs.

use super::check_question;
use super::stored::{restored, stored};
use crate::method::{Forecast, Method, Predictor};
use crate::select::Plan;
use rffblr::Result;
use rffblr::data::{Dataset, Standardiser};
use rffblr::linalg::{Mat, MatRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Predicts the training mean of each task, with the training standard deviation.
#[derive(Clone, Copy, Debug)]
pub struct TrainingMean;

#[derive(Serialize, Deserialize)]
struct Fitted {
    input_names: Vec<String>,
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl Method for TrainingMean {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn describe(&self) -> &'static str {
        "the training mean of each target, whatever the inputs: the least a method must beat"
    }

    fn fit(&self, data: &Dataset, _plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        let Standardiser { mean, scale } = Standardiser::new(data.targets(), data.weights());
        // A standardiser gives constant columns scale one, to divide by; their deviation is zero.
        let std = scale.into_iter().enumerate().map(|(task, s)| if is_constant(data, task) { 0.0 } else { s });
        Ok(Box::new(Fitted { input_names: data.input_names().to_vec(), mean, std: std.collect() }))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        restored::<Fitted>(state)
    }
}

impl TrainingMean {
    /// The mean of the other rows for each training row; NaN where the target was not observed or no other row has it.
    pub fn leave_one_out(&self, data: &Dataset) -> Mat<f64> {
        let mean = Standardiser::new(data.targets(), data.weights()).mean;
        let weight = |row: usize| data.weights().map_or(1.0, |w| w[row]);
        let targets = data.targets();
        let mass =
            |task: usize| -> f64 { (0..data.rows()).filter(|&row| !targets[(row, task)].is_nan()).map(weight).sum() };
        let mass: Vec<f64> = (0..targets.ncols()).map(mass).collect();
        Mat::from_fn(data.rows(), targets.ncols(), |row, task| {
            let (own, left) = (weight(row), mass[task] - weight(row));
            // The mean moves away from the row by its share of the weight.
            if own > 0.0 && left > 0.0 {
                mean[task] - (targets[(row, task)] - mean[task]) * own / left
            } else {
                f64::NAN
            }
        })
    }
}

fn is_constant(data: &Dataset, task: usize) -> bool {
    let counts = |&row: &usize| data.weights().is_none_or(|w| w[row] > 0.0);
    let mut cells = (0..data.rows()).filter(counts).map(|row| data.targets()[(row, task)]).filter(|y| !y.is_nan());
    let first = cells.next();
    cells.all(|y| Some(y) == first)
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        check_question(inputs, &self.input_names)?;
        let repeat = |values: &[f64]| Mat::from_fn(inputs.nrows(), values.len(), |_, task| values[task]);
        Ok(Forecast { mean: repeat(&self.mean), std: Some(repeat(&self.std)), laws: None })
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffblr::data::Weights;

    #[test]
    fn leave_one_out_is_the_mean_of_the_others() {
        let y = [1.0, 4.0, f64::NAN, 2.0, 9.0];
        let weights = [1.0, 2.0, 1.0, 3.0, 0.0];
        let data = Dataset::new(Mat::zeros(5, 1), Mat::from_fn(5, 1, |n, _| y[n])).unwrap();
        let found = TrainingMean.leave_one_out(&data.with_weights(Weights::Repeats(weights.to_vec())).unwrap());
        for row in [0, 1, 3] {
            let others = [0, 1, 3].into_iter().filter(|&n| n != row);
            let (sum, mass) = others.fold((0.0, 0.0), |(sum, mass), n| (sum + weights[n] * y[n], mass + weights[n]));
            assert!((found[(row, 0)] - sum / mass).abs() < 1e-14);
        }
        assert!(found[(2, 0)].is_nan() && found[(4, 0)].is_nan());
    }
}
