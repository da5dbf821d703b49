//! What a model says about some rows: a distribution for every cell, and the numbers that follow from it.

use super::Model;
use super::intervals::{ErrorQuantiles, reach};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::metrics::{CellScores, HeldOut, MetricsError};
use crate::normal;
use crate::table::{Column, Table, Values};
use crate::transform::{Law, Point, Transform};
use rayon::prelude::*;
use std::sync::Arc;

/// Means and standard deviations for some rows (N×C each), on the original scale of each target, and the distributions
/// they are of.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Expected target.
    pub mean: Mat<f64>,
    /// Uncertainty about the function itself.
    pub latent_std: Mat<f64>,
    /// Uncertainty about a new observation: the function's and the noise.
    pub std: Mat<f64>,
    /// What [`interval`](Prediction::interval) takes for the distribution of an observation; `None` is the normal one.
    pub(super) errors: Option<Arc<ErrorQuantiles>>,
    /// Where targets are transformed; else distributions are normal with this mean and standard deviation.
    pub(super) laws: Option<Laws>,
}

/// Distributions of cells of which some are transformed: normal on the scale of the fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Laws {
    location: Mat<f64>,
    scale: Mat<f64>,
    transforms: Arc<[Option<Transform>]>,
}

impl Laws {
    /// The distribution of a cell.
    pub fn law(&self, row: usize, task: usize) -> Law<'_> {
        Law {
            transform: self.transforms[task].as_ref(),
            location: self.location[(row, task)],
            scale: self.scale[(row, task)],
        }
    }

    /// What each observed cell scores.
    pub fn judged(&self, truth: MatRef<'_, f64>) -> std::result::Result<CellScores, MetricsError> {
        CellScores::of(truth, self.location.shape(), |n, c| self.law(n, c))
    }
}

/// What a table of predictions has beside the standard deviation.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionColumns<'a> {
    /// Mean or median; `None` is the one that [`Transform::point`] has of each target, and the mean of others.
    pub point: Option<Point>,
    /// Probability of the interval.
    pub coverage: f64,
    /// Probabilities of further columns, one for each.
    pub quantiles: &'a [f64],
}

impl PredictionColumns<'_> {
    /// The point of each target and an interval of this probability.
    pub fn usual(coverage: f64) -> PredictionColumns<'static> {
        PredictionColumns { point: None, coverage, quantiles: &[] }
    }
}

impl Prediction {
    /// From location and deviations on the scale of the fit, in the place of those on the original scale.
    pub(super) fn back(mut self, transforms: &Arc<[Option<Transform>]>) -> Prediction {
        if transforms.iter().all(Option::is_none) {
            return self;
        }
        let laws = Laws { location: self.mean.clone(), scale: self.std.clone(), transforms: transforms.clone() };
        for (c, transform) in transforms.iter().enumerate().filter(|(_, transform)| transform.is_some()) {
            let columns = (self.mean.col_as_slice_mut(c), self.std.col_as_slice_mut(c));
            let cells = columns.0.par_iter_mut().zip(columns.1).zip(self.latent_std.col_as_slice_mut(c));
            cells.for_each(|((mean, std), latent)| {
                let of = |scale: f64| Law { transform: transform.as_ref(), location: *mean, scale }.moments();
                let (own, function) = (of(*std), of(*latent));
                (*mean, *std, *latent) = (own.0, own.1, function.1);
            });
        }
        Prediction { laws: Some(laws), ..self }
    }

    /// The distribution of a cell. Intervals of a model that has seen many held-out rows are wider or narrower where their
    /// errors were.
    pub fn law(&self, row: usize, task: usize) -> Law<'_> {
        match &self.laws {
            Some(laws) => laws.law(row, task),
            None => Law { transform: None, location: self.mean[(row, task)], scale: self.std[(row, task)] },
        }
    }

    /// The distributions, if some target is transformed; if not, they are normal.
    pub fn laws(&self) -> Option<&Laws> {
        self.laws.as_ref()
    }

    /// The value that an observation is below with probability ½.
    pub fn median(&self) -> Mat<f64> {
        Mat::from_fn(self.mean.nrows(), self.mean.ncols(), |n, c| self.law(n, c).median())
    }

    /// The point prediction of each target: its mean, or its median where that predicted training rows better (see
    /// [`Transform::point`]).
    pub fn point(&self) -> Mat<f64> {
        let Some(laws) = &self.laws else { return self.mean.clone() };
        let median = |c: usize| laws.transforms[c].is_some_and(|transform| transform.point == Point::Median);
        Mat::from_fn(self.mean.nrows(), self.mean.ncols(), |n, c| match median(c) {
            true => laws.law(n, c).median(),
            false => self.mean[(n, c)],
        })
    }

    /// The value that an observation is below with probability p, strictly between 0 and 1.
    pub fn quantile(&self, p: f64) -> Result<Mat<f64>> {
        if !(p > 0.0 && p < 1.0) {
            return Err(Error::Setting { name: "quantiles", problem: format!("{p} is not between 0 and 1") });
        }
        let reach = |c: usize| self.errors.as_ref().map_or(normal::quantile(p), |errors| errors.quantile(c, p));
        let reach: Vec<f64> = (0..self.mean.ncols()).map(reach).collect();
        Ok(self.at(|c| reach[c]))
    }

    /// Lower and upper end of the central interval that holds an observation with the given probability.
    pub fn interval(&self, coverage: f64) -> Result<(Mat<f64>, Mat<f64>)> {
        let reach = reach(self.errors.as_deref(), self.mean.ncols(), coverage)?;
        Ok((self.at(|c| reach[c].0), self.at(|c| reach[c].1)))
    }

    /// The probability of an observation of a cell below y by the distribution of which [`interval`](Prediction::interval) and
    /// [`quantile`](Prediction::quantile) are: with errors of held-out rows, or the normal one.
    pub fn probability(&self, row: usize, task: usize, y: f64) -> f64 {
        let z = self.law(row, task).z(y);
        self.errors.as_ref().map_or_else(|| normal::cdf(z), |errors| errors.probability(task, z))
    }

    /// The value at so many standard deviations from the mean on the scale of the fit.
    fn at(&self, z: impl Fn(usize) -> f64) -> Mat<f64> {
        Mat::from_fn(self.mean.nrows(), self.mean.ncols(), |n, c| self.law(n, c).at(z(c)))
    }

    /// What each observed cell scores under its distribution.
    pub fn judged(&self, truth: MatRef<'_, f64>) -> std::result::Result<CellScores, MetricsError> {
        CellScores::of(truth, self.mean.shape(), |n, c| self.law(n, c))
    }

    /// The same with what was observed, to be scored together with other rows.
    pub fn held_out(self, truth: Mat<f64>) -> std::result::Result<HeldOut, MetricsError> {
        let own = self.laws.as_ref().map(|laws| laws.judged(truth.as_ref())).transpose()?;
        let mean = self.point();
        Ok(HeldOut { truth, mean, std: Some(self.std), own })
    }
}

impl Model {
    /// Predictions as a table with four columns for each target: a point, and with the endings `_std`, `_lower` and
    /// `_upper` its standard deviation and interval. A quantile has the ending `_q0.05`.
    pub fn prediction_table(&self, prediction: &Prediction, columns: &PredictionColumns<'_>) -> Result<Table> {
        let point = match columns.point {
            None => prediction.point(),
            Some(Point::Mean) => prediction.mean.clone(),
            Some(Point::Median) => prediction.median(),
        };
        let (lower, upper) = prediction.interval(columns.coverage)?;
        let mut parts: Vec<(String, Mat<f64>)> = vec![(String::new(), point), ("_std".into(), prediction.std.clone())];
        parts.extend([("_lower".into(), lower), ("_upper".into(), upper)]);
        for p in columns.quantiles {
            parts.push((format!("_q{p}"), prediction.quantile(*p)?));
        }
        let column = |(c, target): (usize, &String)| {
            let column = move |(ending, values): &(String, Mat<f64>)| Column {
                name: format!("{target}{ending}"),
                values: Values::Numeric(values.col_as_slice(c).to_vec()),
            };
            parts.iter().map(column).collect::<Vec<Column>>()
        };
        Ok(Table::new(self.target_names.iter().enumerate().flat_map(column).collect())?)
    }

    /// The transform of each target; `None` for those that are learned as they are.
    pub fn transforms(&self) -> &[Option<Transform>] {
        &self.transforms
    }

    /// What the function of a target, its explanations, nugget, sinusoids and links are of: the target itself, or its
    /// transform in words.
    pub fn scale_of(&self, task: usize) -> String {
        let name = &self.target_names[task];
        self.transforms[task].map_or(name.clone(), |transform| transform.describe(name))
    }
}
