//! How much each input matters for each task (equation 33).

use super::hybrids::Around;
use super::{Background, Explainer, Shapley};
use crate::error::Result;
use crate::linalg::{Mat, dot, select_rows};
use crate::model::Function;
use rayon::prelude::*;

/// Kernel or cosine values worth a second or two on two cores.
const VALUES: f64 = 8e8;

/// Relevance of each input (rows) for each task (columns).
///
/// The distribution behind the two variances: the input in question as in one background row, all others together as in
/// another, independent of it. Inputs other than the one in question keep their dependence among each other; shares of
/// different inputs therefore need not add up to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Relevance {
    /// Variance of the partial dependence over the background's values of the input, as a share of the variance of the
    /// prediction over the background.
    pub first_order: Mat<f64>,
    /// Mean variance of the prediction when the input alone is exchanged, as the same share; never below `first_order`.
    /// What is more is interaction with other inputs.
    pub total: Mat<f64>,
    /// Mean absolute Shapley value over the rows explained in `shapley`, in the unit of the target.
    pub mean_absolute_shapley: Mat<f64>,
    /// Standard deviation of the prediction over the background, for each task, in the unit of the target.
    pub signal_std: Vec<f64>,
    /// Background rows used for the two variances.
    pub background: Vec<usize>,
    /// Those values: the rows of its background are also the rows explained, each against all of them.
    pub shapley: Shapley,
}

impl Explainer<'_> {
    /// Relevance of every input. Where all rows would take longer than a few seconds on two cores, rows are thinned
    /// evenly; the result names those used.
    pub fn relevance(&self) -> Result<Relevance> {
        let background = self.background(self.affordable_pairs());
        let around = Around::new(&self.model.function, &background);
        let signal = self.signal(&background)?;
        let (inputs, tasks) = (self.inputs.len(), signal.len());
        let shares: Vec<Vec<(f64, f64)>> = self
            .inputs
            .par_iter()
            .map(|input| {
                let tables = around.values(&input.columns, &background);
                tables.iter().zip(&signal).map(|(table, signal)| variances(table, &background.share, *signal)).collect()
            })
            .collect();
        let sample = self.background(self.affordable_square());
        let shapley = self.shapley(select_rows(self.rows.as_ref(), &sample.rows).as_ref(), sample.rows.len())?;
        let size = |c: usize, input: usize| {
            let column = shapley.values[c].col_as_slice(input).iter().zip(&sample.share);
            column.map(|(value, share)| share * value.abs()).sum()
        };
        Ok(Relevance {
            first_order: Mat::from_fn(inputs, tasks, |input, c| shares[input][c].0),
            total: Mat::from_fn(inputs, tasks, |input, c| shares[input][c].1),
            mean_absolute_shapley: Mat::from_fn(inputs, tasks, |input, c| size(c, input)),
            signal_std: signal.iter().zip(self.model.target_scale()).map(|(v, scale)| scale * v.sqrt()).collect(),
            background: background.rows,
            shapley,
        })
    }

    /// Variance of the prediction over the background, standardised scale.
    fn signal(&self, background: &Background) -> Result<Vec<f64>> {
        let rows = select_rows(self.rows.as_ref(), &background.rows);
        let prediction = self.model.predict_mean(rows.as_ref())?;
        let (shift, scale) = (self.model.target_shift(), self.model.target_scale());
        let task = |c: usize| {
            let values: Vec<f64> =
                prediction.col_as_slice(c).iter().map(|v| v / scale[c] - shift[c] / scale[c]).collect();
            variance(&values, &background.share)
        };
        Ok((0..prediction.ncols()).map(task).collect())
    }

    /// Background rows all pairs of which can be looked at for every input.
    fn affordable_pairs(&self) -> usize {
        let terms = match &self.model.function {
            Function::Waves(waves) => waves.basis.cosines(),
            Function::Kernel(machine) => machine.inputs.nrows(),
        };
        (VALUES / (terms * self.inputs.len()).max(1) as f64).sqrt() as usize
    }
}

/// First-order and total variance as shares of the signal's; a signal that does not vary leaves nothing to share.
fn variances(table: &Mat<f64>, share: &[f64], signal: f64) -> (f64, f64) {
    let mut curve = vec![0.0; table.nrows()];
    let mut total = 0.0;
    for (z, share_of_z) in share.iter().enumerate() {
        let column = table.col_as_slice(z);
        curve.iter_mut().zip(column).for_each(|(sum, value)| *sum += share_of_z * value);
        total += share_of_z * variance(column, share);
    }
    if signal > 0.0 { (variance(&curve, share) / signal, total / signal) } else { (0.0, 0.0) }
}

fn variance(values: &[f64], share: &[f64]) -> f64 {
    let mean = dot(values, share);
    values.iter().zip(share).map(|(value, share)| share * (value - mean).powi(2)).sum()
}
