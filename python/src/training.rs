//! From Python's inputs and targets to a dataset, as the command line would make it from a file of the same content.

use crate::arrays::{Inputs, LentArray, is_plain, matrix};
use crate::check::Source;
use crate::errors::Failure;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rffblr::data::{Dataset, Encoder, MissingInputs, Note, NoteKind, Roles, Weights};
use rffblr::linalg::Mat;
use rffblr::table::{Column, Table, Values};
use std::collections::HashSet;
use std::sync::Arc;

/// What a fit learns from.
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

impl Given<'_> {
    pub fn encode(&self) -> Result<Training, Failure> {
        let (missing, targets) = (self.missing()?, self.target_columns());
        let roles = Roles { targets: self.target_names.clone(), ..Roles::default() };
        match self.as_it_is(&targets, &roles, missing)? {
            Some(training) => Ok(training),
            None => self.encoded(targets, &roles, missing),
        }
    }

    fn missing(&self) -> Result<MissingInputs, Failure> {
        match self.missing.as_str() {
            "impute" => Ok(MissingInputs::Impute),
            "error" => Ok(MissingInputs::Error),
            other => Err(PyValueError::new_err(format!("missing=\"{other}\": write impute or error")).into()),
        }
    }

    fn target_columns(&self) -> Vec<Column> {
        let targets = matrix(&self.targets);
        let named = self.target_names.iter().enumerate().take(targets.ncols());
        named
            .map(|(c, name)| Column { name: name.clone(), values: Values::Numeric(targets.col_as_slice(c).to_vec()) })
            .collect()
    }

    /// Everything as one table, weights too, for those who learn from parts of it.
    pub fn source(&self) -> Result<Source, Failure> {
        let names: Vec<&str> = self.input_names.iter().map(String::as_str).collect();
        let mut columns = self.inputs.columns(&names)?;
        columns.extend(self.target_columns());
        let mut roles = Roles { targets: self.target_names.clone(), ..Roles::default() };
        if let Some(weights) = &self.weights {
            let mut name = String::from("weight");
            while columns.iter().any(|column| column.name == name) {
                name.push('_');
            }
            let values = Values::Numeric(weights.as_array().iter().copied().collect());
            columns.push(Column { name: name.clone(), values });
            roles.weight = Some(Weights::named(&self.weighting).unwrap_or(Weights::Relative(())).map(|()| name));
        }
        Ok(Source { table: Table::new(columns)?, roles, missing: self.missing()? })
    }

    /// Reads the inputs where they lie, if every row and every number is used and there is nothing to encode.
    fn as_it_is(&self, targets: &[Column], roles: &Roles, missing: MissingInputs) -> Result<Option<Training>, Failure> {
        let Some((lent, inputs)) = self.inputs.lent() else { return Ok(None) };
        let mut names = HashSet::new();
        let distinct = self.input_names.iter().chain(&self.target_names).all(|name| names.insert(name));
        let table = Table::new(targets.to_vec())?;
        if !distinct || table.rows() != inputs.nrows() || self.input_names.len() != inputs.ncols() {
            return Ok(None);
        }
        let (rows, mut notes) = roles.observed_rows(&table)?;
        let (encoder, more) = Encoder::learn_numbers(inputs, &self.input_names, roles, missing)?;
        notes.extend(more);
        if rows.len() < inputs.nrows() || !is_plain(&encoder, &encoder.input_columns()) {
            return Ok(None);
        }
        let columns = (self.input_names.clone(), self.target_names.clone());
        let data = Dataset::lent(lent.clone(), matrix(&self.targets), columns.0, columns.1)?;
        let (data, unused) = (self.weighted(data, &rows)?, Mat::zeros(0, inputs.ncols()));
        notes.extend(encoder.suspicions(&data));
        Ok(Some(Training { encoder, data, lent: Some(lent), rows, unused, notes }))
    }

    /// Makes numbers of the inputs as the command line does of a file.
    fn encoded(&self, targets: Vec<Column>, roles: &Roles, missing: MissingInputs) -> Result<Training, Failure> {
        let names: Vec<&str> = self.input_names.iter().map(String::as_str).collect();
        let mut columns = self.inputs.columns(&names)?;
        columns.extend(targets);
        let table = Table::new(columns)?;
        let (rows, mut notes) = roles.observed_rows(&table)?;
        let (encoder, more) = Encoder::learn(&table, &rows, roles, missing)?;
        notes.extend(more);
        let data = self.weighted(encoder.dataset(&table, &rows)?.0, &rows)?;
        notes.extend(encoder.suspicions(&data));
        let others: Vec<usize> = (0..table.rows()).filter(|row| rows.binary_search(row).is_err()).collect();
        let (unused, _) = encoder.test_rows(&table, &others)?;
        Ok(Training { encoder, data, lent: None, rows, unused, notes })
    }

    /// The data with the weights of their rows, if there are any.
    fn weighted(&self, data: Dataset, rows: &[usize]) -> Result<Dataset, Failure> {
        let Some(weights) = &self.weights else { return Ok(data) };
        let (weights, expected) = (weights.as_array(), self.targets.as_array().nrows());
        if weights.len() != expected {
            return Err(PyValueError::new_err(format!("{} row weights for {expected} rows", weights.len())).into());
        }
        let weights = rows.iter().map(|&row| weights[row]).collect();
        Ok(data.with_weights(weights_of(&self.weighting, weights)?)?)
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
