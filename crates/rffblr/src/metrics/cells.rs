//! What every cell scores under its own predictive distribution.

use super::{MetricsError, check_shape};
use crate::linalg::{Mat, MatRef};
use crate::transform::Law;
use std::borrow::Cow;

/// Scores of single cells, rows × tasks each; NaN where nothing was observed.
#[derive(Clone, Debug, PartialEq)]
pub struct CellScores {
    /// Distance from the median.
    pub absolute: Mat<f64>,
    /// Negative log predictive density, in nats.
    pub nlpd: Mat<f64>,
    /// Continuous ranked probability score.
    pub crps: Mat<f64>,
    /// Distance in standard deviations, on the scale on which the distribution is normal.
    pub z: Mat<f64>,
}

impl CellScores {
    /// Under the normal distribution with a mean and a standard deviation for every cell.
    pub fn normal(
        truth: MatRef<'_, f64>,
        mean: MatRef<'_, f64>,
        std: MatRef<'_, f64>,
    ) -> Result<CellScores, MetricsError> {
        check_shape("prediction", truth, mean)?;
        CellScores::of(truth, std.shape(), |n, c| Law { transform: None, location: mean[(n, c)], scale: std[(n, c)] })
    }

    /// Under any distributions, of which there are so many rows and columns.
    pub(crate) fn of<'a>(
        truth: MatRef<'_, f64>,
        found: (usize, usize),
        law: impl Fn(usize, usize) -> Law<'a>,
    ) -> Result<CellScores, MetricsError> {
        if found != truth.shape() {
            return Err(MetricsError::ShapeMismatch { what: "standard deviation", expected: truth.shape(), found });
        }
        let cells = |score: fn(&Law<'a>, f64) -> f64| {
            Mat::from_fn(truth.nrows(), truth.ncols(), |n, c| match truth[(n, c)] {
                y if y.is_nan() => f64::NAN,
                y => score(&law(n, c), y),
            })
        };
        Ok(CellScores {
            absolute: cells(|law, y| (y - law.median()).abs()),
            nlpd: cells(|law, y| law.nlpd(y)),
            crps: cells(|law, y| law.crps(y)),
            z: cells(|law, y| law.z(y)),
        })
    }

    /// The same change to every table.
    pub(super) fn map(&self, change: impl Fn(&Mat<f64>) -> Mat<f64>) -> CellScores {
        CellScores {
            absolute: change(&self.absolute),
            nlpd: change(&self.nlpd),
            crps: change(&self.crps),
            z: change(&self.z),
        }
    }

    /// One below the other.
    pub(super) fn stacked<'a>(
        parts: impl Iterator<Item = Cow<'a, CellScores>>,
        rows: usize,
        tasks: usize,
    ) -> CellScores {
        let empty = || Mat::zeros(rows, tasks);
        let mut out = CellScores { absolute: empty(), nlpd: empty(), crps: empty(), z: empty() };
        let mut next = 0;
        for part in parts {
            let count = part.z.nrows();
            let put = |to: &mut Mat<f64>, from: &Mat<f64>| to.as_mut().subrows_mut(next, count).copy_from(from);
            put(&mut out.absolute, &part.absolute);
            put(&mut out.nlpd, &part.nlpd);
            put(&mut out.crps, &part.crps);
            put(&mut out.z, &part.z);
            next += count;
        }
        out
    }
}
