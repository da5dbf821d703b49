//! From Python's inputs and targets to a dataset, as the command line would make it from a file of the same content.

use crate::arrays::{Inputs, matrix};
use crate::errors::Failure;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rffblr::data::{Dataset, Encoder, MissingInputs, Roles};
use rffblr::linalg::Mat;
use rffblr::table::{Column, Table, Values};

/// What a fit learns from.
pub struct Training {
    pub encoder: Encoder,
    pub data: Dataset,
    /// The rows of the caller that are in `data`: those with at least one observed target.
    pub rows: Vec<usize>,
    /// Encoded inputs of the other rows.
    pub unused: Mat<f64>,
    /// What the caller may not expect.
    pub notes: Vec<String>,
}

/// Inputs, targets and weights as Python hands them over, with the names of their columns.
#[derive(FromPyObject)]
pub struct Given<'py> {
    inputs: Inputs<'py>,
    input_names: Vec<String>,
    targets: PyReadonlyArray2<'py, f64>,
    target_names: Vec<String>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    missing: String,
}

impl Given<'_> {
    pub fn encode(&self) -> Result<Training, Failure> {
        let names: Vec<&str> = self.input_names.iter().map(String::as_str).collect();
        let mut columns = self.inputs.columns(&names)?;
        let targets = matrix(&self.targets);
        for (c, name) in self.target_names.iter().enumerate().take(targets.ncols()) {
            let values = Values::Numeric(targets.col_as_slice(c).to_vec());
            columns.push(Column { name: name.clone(), values });
        }
        let table = Table::new(columns)?;
        let roles = Roles { targets: self.target_names.clone(), ..Roles::default() };
        let missing = match self.missing.as_str() {
            "impute" => MissingInputs::Impute,
            "error" => MissingInputs::Error,
            other => return Err(PyValueError::new_err(format!("missing=\"{other}\": write impute or error")).into()),
        };
        let (rows, mut notes) = roles.observed_rows(&table)?;
        let (encoder, more) = Encoder::learn(&table, &rows, &roles, missing)?;
        notes.extend(more);
        let (mut data, _) = encoder.dataset(&table, &rows)?;
        if let Some(weights) = &self.weights {
            let weights = weights.as_array();
            if weights.len() != table.rows() {
                let problem = format!("{} row weights for {} rows", weights.len(), table.rows());
                return Err(PyValueError::new_err(problem).into());
            }
            data = data.with_weights(rows.iter().map(|&row| weights[row]).collect())?;
        }
        let others: Vec<usize> = (0..table.rows()).filter(|row| rows.binary_search(row).is_err()).collect();
        let (unused, _) = encoder.test_rows(&table, &others)?;
        Ok(Training { encoder, data, rows, unused, notes })
    }
}

impl Training {
    /// A table with a row for each of the caller's, from one for the rows that were used and one for the others.
    pub fn spread(&self, used: &Mat<f64>, unused: &Mat<f64>) -> Mat<f64> {
        let mut out = Mat::zeros(used.nrows() + unused.nrows(), used.ncols());
        let (mut next, mut other) = (0, 0);
        for row in 0..out.nrows() {
            let is_used = self.rows.get(next) == Some(&row);
            for c in 0..out.ncols() {
                out[(row, c)] = if is_used { used[(next, c)] } else { unused[(other, c)] };
            }
            if is_used { next += 1 } else { other += 1 }
        }
        out
    }
}
