//! Shapley values of predictions (equations 34 to 36).

use super::Explainer;
use crate::error::Result;
use crate::linalg::{Mat, MatRef};

/// What each input adds to a prediction, compared with the mean prediction over the background: averaged over all orders
/// in which inputs can be changed from those of a background row to those of the explained one.
///
/// For each row and task `base + Σ values = prediction` to 1e-9 of the target's scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Shapley {
    /// Mean prediction over the background, for each task.
    pub base: Vec<f64>,
    /// rows×C predictions.
    pub prediction: Mat<f64>,
    /// For each task, rows×inputs, in the unit of the target.
    pub values: Vec<Mat<f64>>,
    /// Posterior standard deviation of each value, where asked for.
    pub std: Option<Vec<Mat<f64>>>,
    /// Background rows used.
    pub background: Vec<usize>,
}

impl Explainer<'_> {
    /// Shapley values of each row of inputs (on their original scale), against at most `background` rows, evenly spaced
    /// among those of the explainer.
    pub fn shapley(&self, inputs: MatRef<'_, f64>, background: usize) -> Result<Shapley> {
        let _ = (inputs, background);
        todo!()
    }

    /// The same with posterior standard deviations. For a kernel machine they cost the square of the background.
    pub fn shapley_with_std(&self, inputs: MatRef<'_, f64>, background: usize) -> Result<Shapley> {
        let _ = (inputs, background);
        todo!()
    }

    /// The largest background for which the Shapley values of so many rows take a few seconds on two cores.
    pub fn affordable_background(&self, rows: usize) -> usize {
        let _ = rows;
        todo!()
    }
}
