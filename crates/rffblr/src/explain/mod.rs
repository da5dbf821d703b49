//! Explanations of a fitted model in closed form: each is a linear functional of the function (or, for relevance, a
//! variance of such), with posterior mean and deviation computed without sampling, per task and on the scale on which its
//! target was learned (equations 31 to 38). Of a transformed target [`PartialDependence::band`] and [`Shapley::in_units`]
//! bring them back to the unit of the target.
//!
//! Explanations average over the training rows, which [`Explainer`] holds as its background. Inputs are
//! those of the table: the one-hot columns of a text and the column that marks gaps belong to one [`Input`].
//!
//! ```
//! use rffblr::{Settings, data::Dataset, explain::Explainer, fit, linalg::Mat};
//!
//! # fn main() -> rffblr::Result<()> {
//! let inputs = Mat::from_fn(40, 3, |n, d| ((n * (d + 2)) as f64 * 0.7).sin());
//! let targets = Mat::from_fn(40, 1, |n, _| (2.0 * inputs[(n, 0)]).sin() + inputs[(n, 1)]);
//! let data = Dataset::new(inputs, targets)?;
//! let model = fit(&data, &Settings::DEFAULT)?;
//!
//! let explainer = Explainer::new(&model, data.inputs(), data.weights())?;
//! let shapley = explainer.shapley(data.inputs().subrows(0, 1), 100)?;
//! let sum: f64 = (0..3).map(|input| shapley.values[0][(0, input)]).sum();
//! assert!((shapley.base[0] + sum - shapley.prediction[(0, 0)]).abs() < 1e-9);
//! # Ok(())
//! # }
//! ```

mod along;
mod diagnostics;
mod functional;
mod game;
mod hybrids;
mod kernels;
mod left_out;
mod partial;
mod quadratic;
mod relevance;
mod shapley;
mod spread;
#[cfg(test)]
mod tests;
mod units;

pub use diagnostics::{Calibration, Diagnostics, TaskCorrelation, diagnostics, new_row_diagnostics, task_correlation};
pub use partial::{Band, PartialDependence, Point, Value};
pub use relevance::VarianceShares;
pub use shapley::{LeftOutShapley, Shapley};

use crate::data::{DateEncoding, Encoding, check_inputs, expect_count};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, select_rows};
use crate::model::Model;
use partial::Averaged;
use std::sync::OnceLock;

/// One input as the user knows it, and the columns of the model that belong to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Name in the table.
    pub name: String,
    /// Positions among [`Model::input_names`].
    pub columns: Vec<usize>,
    /// What the columns hold.
    pub kind: Kind,
}

/// What the columns of an [`Input`] hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number; `median` is what a missing one takes, if a second column marks those.
    Number {
        /// Median of the training rows, if there were gaps.
        median: Option<f64>,
    },
    /// A date: days since its start, then cosine and sine of each cycle, then a mark if there were gaps.
    Date(DateEncoding),
    /// Whether a number is there: one column, 1 where it is missing.
    Presence,
    /// One column for each level and one more for what is none of them, such as missing cells.
    Text {
        /// The levels.
        levels: Vec<String>,
        /// Whether training had missing cells.
        gaps: bool,
    },
}

impl Kind {
    /// Whether the first column is a number of its own, of days for a date.
    pub fn is_number(&self) -> bool {
        matches!(self, Kind::Number { .. } | Kind::Date(_))
    }
}

impl Input {
    /// The column that marks missing cells, if there is one.
    pub fn mark(&self) -> Option<usize> {
        let marked = match &self.kind {
            Kind::Number { median } => median.is_some(),
            Kind::Date(date) => date.indicator,
            Kind::Presence | Kind::Text { .. } => true,
        };
        self.columns.last().copied().filter(|_| marked)
    }
}

/// Explains a model by how it behaves around its training rows.
pub struct Explainer<'a> {
    model: &'a Model,
    inputs: Vec<Input>,
    /// Background rows, original scale.
    rows: Mat<f64>,
    /// The same, standardised.
    standardised: Mat<f64>,
    /// Lowest standardised value of each column.
    lowest: Vec<f64>,
    /// Share of each row; they sum to one.
    share: Vec<f64>,
    /// What partial dependences have in common, when there was one.
    averaged: OnceLock<Averaged<'a>>,
}

impl<'a> Explainer<'a> {
    /// For a model and the rows it is to be explained around, with their weights: usually
    /// [`Dataset::inputs`](crate::data::Dataset::inputs) and its weights. A kernel machine stores its rows:
    /// [`Model::stored_inputs`].
    pub fn new(model: &'a Model, rows: MatRef<'_, f64>, weights: Option<&[f64]>) -> Result<Self> {
        expect_count("the input table", "columns", rows.ncols(), model.input_names().len())?;
        check_inputs(rows, model.input_names())?;
        if let Some(weights) = weights {
            expect_count("the row weights", "entries", weights.len(), rows.nrows())?;
        }
        let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
        // Relative to the largest, so that the sum of huge weights is finite.
        let largest = (0..rows.nrows()).map(weight).fold(0.0, f64::max);
        let total: f64 = (0..rows.nrows()).map(|row| weight(row) / largest).sum();
        if rows.nrows() == 0 || !(total > 0.0 && total.is_finite()) || (0..rows.nrows()).any(|row| weight(row) < 0.0) {
            return Err(Error::Empty("rows with a positive weight to explain the model around"));
        }
        let standardised = model.standardised_inputs(rows)?;
        let lowest = |d: usize| standardised.col_as_slice(d).iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Explainer {
            model,
            inputs: inputs_of(model),
            rows: rows.to_owned(),
            lowest: (0..rows.ncols()).map(lowest).collect(),
            standardised,
            share: (0..rows.nrows()).map(|row| weight(row) / largest / total).collect(),
            averaged: OnceLock::new(),
        })
    }

    /// The inputs that are explained, in the order of every result.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The background rows, on their original scale.
    pub fn rows(&self) -> MatRef<'_, f64> {
        self.rows.as_ref()
    }

    /// How fast the learned kernel of each task changes along each input (the largest r of its columns; one is typical):
    /// inputs × tasks. A scale, not a relevance: an input can vary fast and matter little, or enter by its direct link
    /// alone.
    pub fn learned_scales(&self) -> Mat<f64> {
        let scales = self.model.input_scales();
        let largest = |input: &Input, c: usize| input.columns.iter().map(|&d| scales[(d, c)]).fold(0.0, f64::max);
        Mat::from_fn(self.inputs.len(), scales.ncols(), |i, c| largest(&self.inputs[i], c))
    }

    /// At most `most` background rows, evenly spaced among those that have weight, with their shares.
    fn background(&self, most: usize) -> Background {
        let all: Vec<usize> = (0..self.share.len()).filter(|&row| self.share[row] > 0.0).collect();
        let count = most.clamp(1, all.len());
        let rows: Vec<usize> = (0..count).map(|i| all[(2 * i + 1) * all.len() / (2 * count)]).collect();
        let total: f64 = rows.iter().map(|&row| self.share[row]).sum();
        Background {
            standardised: select_rows(self.standardised.as_ref(), &rows),
            share: rows.iter().map(|&row| self.share[row] / total).collect(),
            rows,
        }
    }

    /// The input at a position, or an error that says how many there are.
    fn input(&self, position: usize) -> Result<&Input> {
        self.inputs.get(position).ok_or(Error::UnknownInput { position, inputs: self.inputs.len() })
    }
}

/// The rows an explanation averages over.
struct Background {
    /// Positions among the rows of the explainer.
    rows: Vec<usize>,
    standardised: Mat<f64>,
    /// They sum to one.
    share: Vec<f64>,
}

/// Columns grouped back into the inputs of the table.
fn inputs_of(model: &Model) -> Vec<Input> {
    let encoder = model.table_encoder();
    let mut next = 0;
    let mut columns = |raw: &crate::data::RawInput| {
        let first = next;
        next += raw.width();
        (first..next).collect()
    };
    let input = |raw: &crate::data::RawInput| Input {
        name: raw.name.clone(),
        columns: columns(raw),
        kind: match &raw.encoding {
            Encoding::Numeric { median, indicator } => Kind::Number { median: indicator.then_some(*median) },
            Encoding::Presence => Kind::Presence,
            Encoding::Date(date) => Kind::Date(date.clone()),
            Encoding::Categorical { levels, gaps, .. } => Kind::Text { levels: levels.clone(), gaps: *gaps },
        },
    };
    encoder.raw_inputs().iter().map(input).collect()
}
