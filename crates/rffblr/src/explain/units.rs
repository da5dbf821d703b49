//! Shapley values of transformed targets in their own units (equation 36b).

use super::{LeftOutShapley, Shapley};
use crate::linalg::Mat;
use crate::model::Model;
use crate::transform::Transform;

/// Differences on the scale of the fit from which on the slope of a chord is that of the curve, to rounding.
const NEAR: f64 = 1e-6;

impl Shapley {
    /// The same in the units of the targets: the base and the prediction of a transformed target are brought back (the
    /// prediction is then the median), and its values, which add up on the scale of the fit, all change by the same factor, so that
    /// they add up to the difference of the two. Deviations change by that factor too, which is right to first order.
    pub fn in_units(mut self, model: &Model) -> Shapley {
        for (c, transform) in transformed(model) {
            let base = self.base[c];
            rescale(transform, c, |_| base, &mut self.prediction, (&mut self.values, &mut self.std));
            self.base[c] = transform.invert(base);
        }
        self
    }
}

impl LeftOutShapley {
    /// The same in the units of the targets; see [`Shapley::in_units`].
    pub fn in_units(mut self, model: &Model) -> LeftOutShapley {
        for (c, transform) in transformed(model) {
            let base = &self.base;
            rescale(transform, c, |i| base[(i, c)], &mut self.prediction, (&mut self.values, &mut self.std));
            self.base.col_as_slice_mut(c).iter_mut().for_each(|base| *base = transform.invert(*base));
        }
        self
    }
}

fn transformed(model: &Model) -> impl Iterator<Item = (usize, &Transform)> {
    model.transforms().iter().enumerate().filter_map(|(c, transform)| Some((c, transform.as_ref()?)))
}

/// Brings back the predictions of a task, and its values by the slope of the chord between base and prediction.
fn rescale(
    transform: &Transform,
    task: usize,
    base: impl Fn(usize) -> f64,
    prediction: &mut Mat<f64>,
    (values, std): (&mut [Mat<f64>], &mut Option<Vec<Mat<f64>>>),
) {
    for i in 0..prediction.nrows() {
        let (from, to) = (base(i), prediction[(i, task)]);
        let slope = match to - from {
            apart if apart.abs() > NEAR => (transform.invert(to) - transform.invert(from)) / apart,
            _ => (transform.invert(from + NEAR) - transform.invert(from - NEAR)) / (2.0 * NEAR),
        };
        let std = std.as_mut().map(|std| &mut std[task]);
        for table in [Some(&mut values[task]), std].into_iter().flatten() {
            table.row_mut(i).iter_mut().for_each(|value| *value *= slope);
        }
        prediction[(i, task)] = transform.invert(to);
    }
}
