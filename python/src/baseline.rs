//! The other methods of the library's registry.

use crate::arrays::{Inputs, array};
use crate::errors::Failure;
use crate::patience::{heard, patiently};
use crate::training::{Given, Training, told};
use numpy::PyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rffblr::data::Encoder;
use rffblr_methods::method::{Method, Predictor, by_name, registry};
use rffblr_methods::select::{Grid, Plan, Progress};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// What a method has learned.
#[pyclass(frozen, module = "rffblr._rffblr")]
pub struct Baseline {
    method: &'static dyn Method,
    predictor: Arc<dyn Predictor>,
    encoder: Encoder,
    notes: Vec<String>,
}

/// What a pickle holds of it.
#[derive(Serialize, Deserialize)]
struct Stored {
    method: String,
    encoder: Encoder,
    notes: Vec<String>,
    state: Value,
}

fn unreadable(problem: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("not what a method has learned: {problem}"))
}

/// Name and description of every method.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, &'static str)> {
    registry().iter().map(|method| (method.name(), method.describe())).collect()
}

/// Fits a method; the listener gets how many inner folds are done and how many there are.
#[pyfunction]
pub fn fit_baseline(
    py: Python<'_>,
    method: &str,
    given: Given<'_>,
    seed: u64,
    grid: &str,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Baseline> {
    let method = by_name(method).map_err(Failure::from)?;
    let grid = match grid {
        "full" => Grid::Full,
        "coarse" => Grid::Coarse,
        other => return Err(PyValueError::new_err(format!("grid=\"{other}\": write full or coarse"))),
    };
    let Training { encoder, data, notes, .. } = given.encode()?;
    let hear = listener.map(|listener| {
        move |fold: Progress| -> PyResult<bool> {
            listener.call1((fold.done, fold.total))?;
            // Half a choice of hyper-parameters is none: there is nothing to end early with.
            Ok(false)
        }
    });
    let hear = hear.as_ref().map(|hear| hear as &dyn Fn(Progress) -> PyResult<bool>);
    let predictor = patiently(py, threads, hear, move |progress| {
        let progress = Mutex::new(progress);
        let tell = |fold: Progress| {
            progress.lock().unwrap_or_else(PoisonError::into_inner).tell(|| fold);
        };
        method.fit(&data, &Plan { grid, progress: Some(&tell), ..Plan::seeded(seed) })
    })?;
    Ok(Baseline { method, predictor: predictor.map_err(Failure::from)?.into(), encoder, notes: told(&notes) })
}

#[pymethods]
impl Baseline {
    /// Mean, standard deviation if the method has one, and notes on the inputs.
    #[allow(clippy::type_complexity, reason = "the tuple Python gets")]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        inputs: Inputs<'py>,
        uncertain: bool,
        count: usize,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray2<f64>>>, Vec<String>)> {
        let (encoded, notes) = inputs.encode(&self.encoder)?;
        let (predictor, rows) = (self.predictor.clone(), encoded.into_owned());
        let found = heard(py, count, move || predictor.predict(rows.as_ref()))?.map_err(Failure::from)?;
        let std = found.std.filter(|_| uncertain).map(|std| array(py, &std)).transpose()?;
        Ok((array(py, &found.mean)?, std, told(&notes)))
    }

    /// Features the prediction is made of, for methods that choose among features.
    #[getter]
    fn active(&self) -> Option<usize> {
        self.predictor.active_features()
    }

    /// Hyper-parameters found by selection.
    #[getter]
    fn chosen(&self) -> Vec<(&'static str, String)> {
        self.predictor.chosen().into_iter().map(|(name, value)| (name, value.to_string())).collect()
    }

    /// What the fit noticed in the data.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// All that was learned, as `restore` reads it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let (name, encoder, notes) = (self.method.name().to_owned(), self.encoder.clone(), self.notes.clone());
        let predictor = self.predictor.clone();
        heard(py, 1, move || {
            let state = predictor.state().map_err(Failure::from)?;
            serde_json::to_string(&Stored { method: name, encoder, notes, state }).map_err(unreadable)
        })?
    }

    /// What a pickle holds. Nothing is learned again.
    #[staticmethod]
    fn restore(py: Python<'_>, text: String) -> PyResult<Baseline> {
        // On one thread: a factor keeps the number of threads it is used with.
        heard(py, 1, move || {
            let Stored { method, encoder, notes, state } = serde_json::from_str(&text).map_err(unreadable)?;
            let method = by_name(&method).map_err(Failure::from)?;
            let predictor = method.restore(state).map_err(Failure::from)?;
            Ok(Baseline { method, predictor: predictor.into(), encoder, notes })
        })?
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("restore")?, (slf.get().to_json(slf.py())?,)))
    }

    /// A copy of what never changes is itself.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}
