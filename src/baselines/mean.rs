//! The simplest reference: every row is predicted to be average.
//!
//! Per task, the mean of the observed training cells and their population standard deviation, both by row weight. A
//! method that does not beat it has learned nothing from the inputs.

use crate::data::{Dataset, Standardiser, check_inputs, expect_count};
use crate::error::Result;
use crate::linalg::{Mat, MatRef};
use crate::method::{Forecast, Method, Predictor};
use crate::select::Plan;

/// Predicts the training mean of each task, with the training standard deviation.
#[derive(Clone, Copy, Debug)]
pub struct TrainingMean;

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
}

fn is_constant(data: &Dataset, task: usize) -> bool {
    let counts = |&row: &usize| data.weights().is_none_or(|w| w[row] > 0.0);
    let mut cells = (0..data.rows()).filter(counts).map(|row| data.targets()[(row, task)]).filter(|y| !y.is_nan());
    let first = cells.next();
    cells.all(|y| Some(y) == first)
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        expect_count("the input table", "columns", inputs.ncols(), self.input_names.len())?;
        check_inputs(inputs, &self.input_names)?;
        let repeat = |values: &[f64]| Mat::from_fn(inputs.nrows(), values.len(), |_, task| values[task]);
        Ok(Forecast { mean: repeat(&self.mean), std: Some(repeat(&self.std)) })
    }

    fn active_features(&self) -> Option<usize> {
        None
    }
}
