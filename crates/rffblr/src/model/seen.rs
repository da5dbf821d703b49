//! Whether rows are those a model learned from.

use super::{Function, Model};
use crate::data::{Dataset, RowSums};
use crate::error::Result;
use crate::linalg::{Mat, MatRef};
use std::collections::HashSet;

impl Model {
    /// Whether these are the data the model was fitted to; `None` if the model does not know.
    pub fn is_fitted_to(&self, data: &Dataset) -> Option<bool> {
        match self.fingerprint.is_empty() {
            true => self.is_fitted_to_rows(&data.row_sums()),
            false => Some(self.fingerprint == data.fingerprint()),
        }
    }

    /// The same by sums over the rows that are learned from, in whatever order.
    pub fn is_fitted_to_rows(&self, rows: &RowSums) -> Option<bool> {
        let known = self.row_fingerprints.as_ref()?.whole.as_ref()?;
        Some(*known == rows.text())
    }

    /// Whether these are the inputs of all rows that the model was fitted to, in whatever order. A kernel machine says no:
    /// [`learned_from`](Model::learned_from) asks it for single rows.
    pub fn learned_from_rows(&self, rows: &RowSums) -> bool {
        self.row_fingerprints.as_ref().is_some_and(|known| known.inputs == rows.input_text())
    }

    /// How many of these rows the model learned from. A kernel machine knows its rows one by one; any other form knows
    /// them all together or not at all. None are known where many training rows are equal: a new one may be so too.
    pub fn learned_from(&self, inputs: MatRef<'_, f64>) -> Result<usize> {
        let Function::Kernel(machines) = &self.function else {
            let known = self.learned_from_rows(&RowSums::of(inputs, None, None));
            return Ok(if known { inputs.nrows() } else { 0 });
        };
        let rows_of = |table: &Mat<f64>| -> Vec<Vec<u64>> {
            (0..table.nrows()).map(|n| table.row(n).iter().map(|value| (value + 0.0).to_bits()).collect()).collect()
        };
        let given = rows_of(&self.standardised_inputs(inputs)?);
        let learned = rows_of(machines.inputs());
        if given == learned {
            return Ok(given.len());
        }
        let distinct: HashSet<Vec<u64>> = learned.into_iter().collect();
        let mostly_distinct = 10 * distinct.len() >= 9 * self.rows;
        Ok(if mostly_distinct { given.iter().filter(|row| distinct.contains(*row)).count() } else { 0 })
    }
}
