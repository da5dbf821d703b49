//! How much each input matters for each task (equation 34).

use super::Explainer;
use crate::error::Result;
use crate::linalg::Mat;

/// Relevance of each input (rows) for each task (columns).
#[derive(Clone, Debug, PartialEq)]
pub struct Relevance {
    /// Variance of the partial dependence over the background's values of the input, as a share of `signal_variance`.
    pub first_order: Mat<f64>,
    /// Mean variance of the prediction when the input alone is redrawn from the background, as a share of
    /// `signal_variance`; never below `first_order`. What is more is interaction.
    pub total: Mat<f64>,
    /// Mean absolute Shapley value over the explained rows, in the unit of the target.
    pub mean_absolute_shapley: Mat<f64>,
    /// Standard deviation of the prediction over the background, for each task, in the unit of the target.
    pub signal_std: Vec<f64>,
    /// Background rows used for the two variances.
    pub background: Vec<usize>,
    /// Rows explained by Shapley values, each against all of these.
    pub shapley_rows: Vec<usize>,
}

impl Explainer<'_> {
    /// Relevance of every input. Where all rows would take longer than a few seconds on two cores, rows are thinned
    /// evenly; the result names those used.
    pub fn relevance(&self) -> Result<Relevance> {
        todo!()
    }
}
