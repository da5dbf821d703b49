//! The library's scores of predictions.

use crate::arrays::matrix;
use crate::errors::Failure;
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rffblr::metrics::{HeldOut, ReferenceMean};

/// All scores over all targets, by name; those of the uncertainty only with standard deviations.
#[pyfunction]
pub fn scores<'py>(
    py: Python<'py>,
    truth: PyReadonlyArray2<'py, f64>,
    mean: PyReadonlyArray2<'py, f64>,
    std: Option<PyReadonlyArray2<'py, f64>>,
    level: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let (truth, mean, std) = (matrix(&truth), matrix(&mean), std.map(|std| matrix(&std)));
    let found = HeldOut::new(truth, mean, std).scores(level, ReferenceMean::Test);
    let found = found.map_err(|problem| Failure::from(rffblr::Error::from(problem)))?;
    let out = PyDict::new(py);
    out.set_item("r2_task", found.task_r2)?;
    out.set_item("r2_pooled", found.pooled_r2)?;
    out.set_item("rmse", found.rmse)?;
    out.set_item("mae", found.mae)?;
    out.set_item("nlpd", found.nlpd)?;
    out.set_item("crps", found.crps)?;
    out.set_item("coverage", found.coverage)?;
    Ok(out)
}

/// Half the length of the central interval with this probability, in standard deviations.
#[pyfunction]
pub fn reach(coverage: f64) -> PyResult<f64> {
    if !(coverage > 0.0 && coverage < 1.0) {
        return Err(PyValueError::new_err(format!("setting `coverage`: {coverage} is not between 0 and 1")));
    }
    Ok(rffblr::normal::quantile(0.5 + 0.5 * coverage))
}
