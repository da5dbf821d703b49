//! NumPy arrays and columns of data frames in, NumPy arrays out.

use crate::errors::Failure;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rffblr::data::{Encoder, Encoding, Note};
use rffblr::linalg::{Mat, MatRef};
use rffblr::table::{Column, Table, Values};
use std::sync::Arc;

/// The cells of one column of a data frame.
#[derive(FromPyObject)]
pub enum Cells<'py> {
    /// Numbers; NaN is a missing cell.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// Distinct texts, and for each row the position of its text or 2³²−1 for a missing cell.
    Text(Vec<String>, PyReadonlyArray1<'py, u32>),
}

/// Inputs as Python hands them over.
#[derive(FromPyObject)]
pub enum Inputs<'py> {
    /// A table of numbers; NaN is a missing cell. Names come separately.
    Array(PyReadonlyArray2<'py, f64>),
    /// The columns of a data frame by name.
    Columns(Vec<(String, Cells<'py>)>),
}

/// Encoded inputs: those of the caller as they are, or made from them.
pub enum Encoded<'a> {
    Theirs(MatRef<'a, f64>),
    Ours(Mat<f64>),
}

impl Encoded<'_> {
    pub fn as_ref(&self) -> MatRef<'_, f64> {
        match self {
            Encoded::Theirs(view) => *view,
            Encoded::Ours(matrix) => matrix.as_ref(),
        }
    }

    /// The numbers themselves, for work that may outlive the caller.
    pub fn into_owned(self) -> Mat<f64> {
        match self {
            Encoded::Theirs(view) => view.to_owned(),
            Encoded::Ours(matrix) => matrix,
        }
    }
}

/// The numbers of a C-contiguous array of the caller, read where they lie for as long as this is kept.
pub struct LentArray {
    array: Py<PyArray2<f64>>,
    first: *const f64,
    count: usize,
}

// SAFETY: the numbers are only read, and belong to an array that is kept. As with every function of NumPy that releases
// Python's lock, a caller who writes into the array meanwhile gets what it asked for.
unsafe impl Send for LentArray {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for LentArray {}

impl AsRef<[f64]> for LentArray {
    fn as_ref(&self) -> &[f64] {
        // SAFETY: `first` and `count` are those of a C-contiguous array that `array` keeps alive. NumPy does not resize
        // an array that someone else refers to.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

impl LentArray {
    /// Whether the array still has its numbers in the same place: false if it was resized by force.
    pub fn is_in_place(&self, py: Python<'_>) -> bool {
        let array = self.array.bind(py).readonly();
        array.as_slice().is_ok_and(|numbers| numbers.as_ptr() == self.first && numbers.len() == self.count)
    }
}

/// The numbers of an array where they lie, if they lie without gaps.
fn view<'a>(array: &'a PyReadonlyArray2<'_, f64>) -> Option<MatRef<'a, f64>> {
    let (rows, columns) = (array.shape()[0], array.shape()[1]);
    let numbers = array.as_slice().ok()?;
    Some(match array.is_c_contiguous() {
        true => MatRef::from_row_major_slice(numbers, rows, columns),
        false => MatRef::from_column_major_slice(numbers, rows, columns),
    })
}

/// A copy of an array, column after column.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> Mat<f64> {
    let numbers = array.as_array();
    Mat::from_fn(numbers.nrows(), numbers.ncols(), |i, j| numbers[(i, j)])
}

impl Inputs<'_> {
    /// The array itself, if it is C-contiguous and without missing cells: with its shape, not copied.
    pub fn lent(&self) -> Option<(Arc<LentArray>, MatRef<'_, f64>)> {
        let Inputs::Array(array) = self else { return None };
        let numbers = array.as_slice().ok().filter(|_| array.is_c_contiguous())?;
        let whole = !numbers.is_empty() && !numbers.iter().any(|x| x.is_nan());
        let lent = || LentArray { array: (**array).clone().unbind(), first: numbers.as_ptr(), count: numbers.len() };
        whole.then(lent).map(Arc::new).zip(view(array))
    }

    /// The columns, those of an array by the names given.
    pub fn columns(&self, names: &[&str]) -> PyResult<Vec<Column>> {
        match self {
            Inputs::Array(array) => {
                let numbers = array.as_array();
                let cells = |j: usize| Values::Numeric(numbers.column(j).to_vec());
                let columns = names.iter().take(numbers.ncols()).enumerate();
                Ok(columns.map(|(j, name)| Column { name: name.to_string(), values: cells(j) }).collect())
            }
            Inputs::Columns(columns) => columns.iter().map(|(name, cells)| column(name, cells)).collect(),
        }
    }

    /// What a model sees of these inputs, and notes on what it made of them. An array that needs no encoding is not
    /// copied.
    pub fn encode(&self, encoder: &Encoder) -> Result<(Encoded<'_>, Vec<Note>), Failure> {
        let names = encoder.input_columns();
        if let Inputs::Array(array) = self {
            let found = array.shape()[1];
            if found != names.len() {
                let text = format!("the input table has {found} columns, expected {}", names.len());
                return Err(PyValueError::new_err(text).into());
            }
            if let Some(view) = view(array).filter(|_| is_plain(encoder, &names))
                && array.as_slice().is_ok_and(|numbers| !numbers.iter().any(|x| x.is_nan()))
            {
                return Ok((Encoded::Theirs(view), Vec::new()));
            }
        }
        let (inputs, notes) = encoder.inputs(&Table::new(self.columns(&names)?)?)?;
        Ok((Encoded::Ours(inputs), notes))
    }
}

/// Whether every column is a number that the model sees as it is.
pub fn is_plain(encoder: &Encoder, names: &[&str]) -> bool {
    let as_is = |encoding: &Encoding| matches!(encoding, Encoding::Numeric { indicator: false, .. });
    encoder.raw_inputs().len() == names.len() && encoder.raw_inputs().iter().all(|input| as_is(&input.encoding))
}

fn column(name: &str, cells: &Cells<'_>) -> PyResult<Column> {
    let values = match cells {
        Cells::Numbers(numbers) => {
            let numbers = numbers.as_array().to_vec();
            if let Some(row) = numbers.iter().position(|x| x.is_infinite()) {
                let problem = format!("data row {}, column '{name}': infinite inputs cannot be used", row + 1);
                return Err(PyValueError::new_err(problem));
            }
            Values::Numeric(numbers)
        }
        Cells::Text(levels, codes) => Values::Text { levels: levels.clone(), codes: codes.as_array().to_vec() },
    };
    Ok(Column { name: name.to_owned(), values })
}

/// Cells of a large matrix that are copied between two looks for signals: some hundredths of a second.
const AT_ONCE: usize = 1 << 21;
/// Rows and columns that are copied together, so that memory is used as it is read.
const TILE: usize = 32;

/// A matrix as an array, row after row.
pub fn array<'py>(py: Python<'py>, matrix: &Mat<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (rows, columns) = (matrix.nrows(), matrix.ncols());
    let mut numbers = vec![0.0; rows * columns];
    let part = (AT_ONCE / columns.max(1)).max(1);
    for (number, cells) in numbers.chunks_mut((part * columns).max(1)).enumerate() {
        if number > 0 {
            py.check_signals()?;
        }
        fill(cells, matrix, number * part);
    }
    PyArray1::from_vec(py, numbers).reshape([rows, columns])
}

/// Fills rows of an array from those of a matrix, beginning with row `first` of it.
fn fill(cells: &mut [f64], matrix: &Mat<f64>, first: usize) {
    let columns = matrix.ncols();
    for (tile, rows) in cells.chunks_mut(TILE * columns).enumerate() {
        let (start, count) = (first + tile * TILE, rows.len() / columns);
        for left in (0..columns).step_by(TILE) {
            for j in left..columns.min(left + TILE) {
                let values = &matrix.col_as_slice(j)[start..start + count];
                let cells = rows.iter_mut().skip(j).step_by(columns);
                cells.zip(values).for_each(|(cell, value)| *cell = *value);
            }
        }
    }
}

/// Rows given as the lists of their entries, as an array.
pub fn stacked<'py>(py: Python<'py>, rows: &[Vec<f64>], columns: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_vec(py, rows.concat()).reshape([rows.len(), columns])
}
