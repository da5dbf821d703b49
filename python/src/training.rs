//! From Python's inputs and targets to a dataset, as the command line would make it from a file of the same content.

use crate::arrays::{Inputs, LentArray, is_plain, matrix};
use crate::errors::Failure;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rffblr::data::{Dataset, Encoder, MissingInputs, Note, NoteKind, Roles, TrainingTable, Weights};
use rffblr::linalg::Mat;
use rffblr::table::{Column, Table, Values};
use std::collections::HashSet;
use std::sync::Arc;

/// What a fit learns from; of files too large for memory, a sample of it.
pub struct Training {
    pub encoder: Encoder,
    pub data: Dataset,
    /// The caller's array, if the data are read from it.
    pub lent: Option<Arc<LentArray>>,
    /// The rows of the caller that are in `data`: those with at least one observed target.
    pub rows: Vec<usize>,
    /// Encoded inputs of the other rows.
    pub unused: Mat<f64>,
    /// What the caller may not expect.
    pub notes: Vec<Note>,
}

/// Inputs, targets and weights as Python hands them over, with the names of their columns.
#[derive(FromPyObject)]
pub struct Given<'py> {
    inputs: Inputs<'py>,
    input_names: Vec<String>,
    targets: PyReadonlyArray2<'py, f64>,
    target_names: Vec<String>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    /// What the weights mean.
    weighting: String,
    missing: String,
}

/// Weights with what they mean, by the name of that.
pub fn weights_of(weighting: &str, weights: Vec<f64>) -> PyResult<Weights> {
    let wrong = || PyValueError::new_err(format!("weights=\"{weighting}\": write relative or repeats"));
    Ok(Weights::named(weighting).ok_or_else(wrong)?.map(|()| weights))
}

/// What becomes of missing inputs, by the name of that.
pub fn missing_of(word: &str) -> PyResult<MissingInputs> {
    match word {
        "impute" => Ok(MissingInputs::Impute),
        "error" => Ok(MissingInputs::Error),
        other => Err(PyValueError::new_err(format!("missing=\"{other}\": write impute or error"))),
    }
}

impl Given<'_> {
    pub fn encode(&self) -> Result<Training, Failure> {
        if let Some(training) = self.as_it_is()? {
            return Ok(training);
        }
        Ok(Training::of_table(self.table()?)?)
    }

    /// Everything as one table.
    pub fn table(&self) -> Result<TrainingTable, Failure> {
        let names: Vec<&str> = self.input_names.iter().map(String::as_str).collect();
        let mut columns = self.inputs.columns(&names)?;
        columns.extend(self.target_columns());
        let (table, roles) = (Table::new(columns)?, Roles::of_targets(&self.target_names));
        Ok(TrainingTable::weighted(table, roles, self.missing()?, self.weights()?)?)
    }

    fn missing(&self) -> Result<MissingInputs, Failure> {
        Ok(missing_of(&self.missing)?)
    }

    fn weights(&self) -> Result<Option<Weights>, Failure> {
        let weights = self.weights.as_ref().map(|weights| weights.as_array().to_vec());
        Ok(weights.map(|weights| weights_of(&self.weighting, weights)).transpose()?)
    }

    fn target_columns(&self) -> Vec<Column> {
        let targets = matrix(&self.targets);
        let named = self.target_names.iter().enumerate().take(targets.ncols());
        named
            .map(|(c, name)| Column { name: name.clone(), values: Values::Numeric(targets.col_as_slice(c).to_vec()) })
            .collect()
    }

    /// Reads the inputs where they lie, if every row and every number is used and there is nothing to encode.
    fn as_it_is(&self) -> Result<Option<Training>, Failure> {
        let Some((lent, inputs)) = self.inputs.lent() else { return Ok(None) };
        let mut names = HashSet::new();
        let distinct = self.input_names.iter().chain(&self.target_names).all(|name| names.insert(name));
        let (targets, roles) = (Table::new(self.target_columns())?, Roles::of_targets(&self.target_names));
        if !distinct || targets.rows() != inputs.nrows() || self.input_names.len() != inputs.ncols() {
            return Ok(None);
        }
        let (rows, mut notes) = roles.observed_rows(&targets)?;
        let (encoder, more) = Encoder::learn_numbers(inputs, &self.input_names, &roles, self.missing()?)?;
        notes.extend(more);
        if rows.len() < inputs.nrows() || !is_plain(&encoder, &encoder.input_columns()) {
            return Ok(None);
        }
        let columns = (self.input_names.clone(), self.target_names.clone());
        let mut data = Dataset::lent(lent.clone(), matrix(&self.targets), columns.0, columns.1)?;
        if let Some(weights) = self.weights()? {
            data = data.with_weights(weights)?;
        }
        notes.extend(encoder.suspicions(&data, Some(&rows)));
        let unused = Mat::zeros(0, inputs.ncols());
        Ok(Some(Training { encoder, data, lent: Some(lent), rows, unused, notes }))
    }
}

/// Notes as text, with what follows their advice in Python.
pub fn told(notes: &[Note]) -> Vec<String> {
    let one = |note: &Note| match note.kind {
        NoteKind::Units => format!("{note} (groups= with GroupKFold)"),
        NoteKind::Time => format!("{note} (TimeSeriesSplit)"),
        _ => note.to_string(),
    };
    notes.iter().map(one).collect()
}

impl Training {
    /// Of a table that is in memory as a whole.
    pub fn of_table(table: TrainingTable) -> rffblr::Result<Training> {
        let others: Vec<usize> =
            (0..table.table().rows()).filter(|row| table.rows().binary_search(row).is_err()).collect();
        let (unused, _) = table.held_out(table.encoder(), &others)?;
        let (encoder, data, rows, notes) = table.into_parts();
        Ok(Training { encoder, data, lent: None, rows, unused, notes })
    }

    /// Rows of a table that is not in memory as a whole.
    pub fn of_sample(encoder: Encoder, data: Dataset, notes: Vec<Note>) -> Training {
        let (rows, unused) = ((0..data.rows()).collect(), Mat::zeros(0, data.inputs().ncols()));
        Training { encoder, data, lent: None, rows, unused, notes }
    }

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
