//! Models from blocks of rows: what turns rows into features, and sums that any number of processes make and merge.

use crate::arrays::{Inputs, matrix};
use crate::errors::Failure;
use crate::model::{Model, named, stepwise};
use crate::patience::heard;
use crate::training::{Given, Training, told};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rffblr::data::{Encoder, MissingInputs};
use rffblr::drawn;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Starts the bytes of an accumulator; the encoder and the library's own bytes follow, each after its length.
const MAGIC: &[u8; 8] = b"RFFBLRP1";

/// The library's map, and what the columns become before it.
#[pyclass(frozen, module = "rffblr._rffblr")]
pub struct FeatureMap {
    map: drawn::FeatureMap,
    encoder: Encoder,
}

/// Learns a map from a sample of data with about so many rows. The listener is that of a fit.
#[pyfunction]
pub fn learn(
    py: Python<'_>,
    given: Given<'_>,
    rows: f64,
    settings: Vec<(String, String)>,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<(FeatureMap, Vec<String>)> {
    let settings = named(Some("cosines"), &settings)?;
    let Training { encoder, data, notes, .. } = given.encode()?;
    let learned =
        stepwise(py, threads, listener, move |observer| drawn::FeatureMap::learn(&data, rows, &settings, observer))?;
    Ok((FeatureMap { map: learned.map_err(Failure::from)?, encoder }, told(&notes)))
}

fn unreadable(what: &str) -> impl Fn(serde_json::Error) -> PyErr {
    move |problem| PyValueError::new_err(format!("{what}: {problem}"))
}

#[pymethods]
impl FeatureMap {
    fn to_json(&self) -> PyResult<String> {
        let encoder = serde_json::to_string(&self.encoder).map_err(unreadable("the encoder"))?;
        let map = self.map.to_json().map_err(Failure::from)?;
        Ok(format!("{{\"encoder\":{encoder},\"map\":{map}}}"))
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<FeatureMap> {
        let mut whole: Value = serde_json::from_str(text).map_err(unreadable("the feature map"))?;
        let encoder = serde_json::from_value(whole["encoder"].take()).map_err(unreadable("the feature map"))?;
        let map = drawn::FeatureMap::from_json(&whole["map"].to_string()).map_err(Failure::from)?;
        Ok(FeatureMap { map, encoder })
    }

    /// The model of the rows that were added up.
    fn model(&self, py: Python<'_>, sums: &Accumulator, threads: usize) -> PyResult<Model> {
        if sums.encoder != self.encoder {
            return Err(PyValueError::new_err("the accumulator is of another map"));
        }
        let (map, encoder, sums) = (self.map.clone(), self.encoder.clone(), sums.sums.clone());
        let found = heard(py, threads, move || map.model(&held(&sums))?.with_encoder(encoder))?;
        Ok(Model::of(found.map_err(Failure::from)?, None))
    }

    /// Number of cosines and sines.
    #[getter]
    fn features(&self) -> usize {
        self.map.features()
    }

    /// Names of the input columns of the sample.
    #[getter]
    fn input_columns(&self) -> Vec<String> {
        self.encoder.input_columns().into_iter().map(String::from).collect()
    }

    /// Names of the targets.
    #[getter]
    fn target_names(&self) -> Vec<String> {
        self.encoder.roles().targets.clone()
    }

    /// What becomes of missing inputs.
    #[getter]
    fn missing(&self) -> &'static str {
        match self.encoder.missing_inputs() {
            MissingInputs::Impute => "impute",
            MissingInputs::Error => "error",
        }
    }

    fn __eq__(&self, other: &FeatureMap) -> bool {
        self.encoder == other.encoder && self.map == other.map
    }
}

/// The library's sums. Python's lock is never held by a thread that waits for them.
#[pyclass(frozen, module = "rffblr._rffblr")]
pub struct Accumulator {
    encoder: Encoder,
    sums: Arc<Mutex<drawn::Accumulator>>,
}

fn held(sums: &Mutex<drawn::Accumulator>) -> MutexGuard<'_, drawn::Accumulator> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Accumulator {
    pub fn of(encoder: Encoder, sums: drawn::Accumulator) -> Accumulator {
        Accumulator { encoder, sums: Arc::new(Mutex::new(sums)) }
    }

    /// The sums as they are now.
    pub fn sums(&self, py: Python<'_>) -> drawn::Accumulator {
        self.with(py, |sums| sums.clone())
    }

    /// Adds the blocks of other sums.
    pub fn take_in(&self, py: Python<'_>, other: drawn::Accumulator) -> PyResult<()> {
        Ok(self.with(py, |sums| sums.merge(other)).map_err(Failure::from)?)
    }

    /// Does something with the sums.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut drawn::Accumulator) -> T + Send) -> T {
        py.detach(|| work(&mut held(&self.sums)))
    }
}

#[pymethods]
impl Accumulator {
    #[new]
    fn new(map: &FeatureMap) -> Accumulator {
        Accumulator::of(map.encoder.clone(), drawn::Accumulator::new(&map.map))
    }

    /// Adds a block; what is returned are notes on its inputs. The block is added up apart, so that an interrupt leaves
    /// everything as it was and several threads can add blocks at once.
    fn update(
        &self,
        py: Python<'_>,
        number: u64,
        inputs: Inputs<'_>,
        targets: PyReadonlyArray2<'_, f64>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        threads: usize,
    ) -> PyResult<Vec<String>> {
        let (known, map) = self.with(py, |sums| (sums.has(number), sums.map().clone()));
        if known {
            return Err(PyValueError::new_err(format!("accumulator: block {number} was added before")));
        }
        let (encoded, notes) = inputs.encode(&self.encoder)?;
        let (rows, targets) = (encoded.into_owned(), matrix(&targets));
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let block = heard(py, threads, move || {
            let mut block = drawn::Accumulator::new(&map);
            block.update(number, rows.as_ref(), targets.as_ref(), weights.as_deref()).map(|()| block)
        })?;
        let block = block.map_err(Failure::from)?;
        self.take_in(py, block)?;
        Ok(told(&notes))
    }

    /// Adds the blocks of another.
    fn merge(&self, py: Python<'_>, other: &Accumulator) -> PyResult<()> {
        if other.encoder != self.encoder {
            return Err(PyValueError::new_err("accumulator: it is for features of another map"));
        }
        self.take_in(py, other.sums(py))
    }

    /// Whether a block is in it.
    fn has(&self, py: Python<'_>, number: u64) -> bool {
        self.with(py, |sums| sums.has(number))
    }

    /// Rows that were added.
    #[getter]
    fn rows(&self, py: Python<'_>) -> u64 {
        self.with(py, |sums| sums.rows())
    }

    /// The map it is for.
    #[getter]
    fn map(&self, py: Python<'_>) -> FeatureMap {
        FeatureMap { map: self.with(py, |sums| sums.map().clone()), encoder: self.encoder.clone() }
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let encoder = serde_json::to_vec(&self.encoder).map_err(unreadable("the encoder"))?;
        let sums = self.with(py, |sums| sums.to_bytes()).map_err(Failure::from)?;
        let length = (encoder.len() as u64).to_le_bytes();
        Ok(PyBytes::new(py, &[MAGIC, &length[..], &encoder, &sums].concat()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Accumulator> {
        let wrong = || PyValueError::new_err("accumulator: these are no bytes of one, or they are cut off");
        let (length, rest) = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk()).ok_or_else(wrong)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| wrong())?;
        let (encoder, sums) = rest.split_at_checked(length).ok_or_else(wrong)?;
        let encoder = serde_json::from_slice(encoder).map_err(unreadable("accumulator"))?;
        let sums = py.detach(|| drawn::Accumulator::from_bytes(sums)).map_err(Failure::from)?;
        Ok(Accumulator::of(encoder, sums))
    }
}
