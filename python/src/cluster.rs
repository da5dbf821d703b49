//! Fits to tables whose rows lie in many processes: summaries of some of the rows, which are merged; a plan learned from
//! them; sums by that plan; and the model of these. All of it goes between processes as bytes.

use crate::arrays::Inputs;
use crate::blocks::Accumulator;
use crate::errors::Failure;
use crate::files::{self, Tell, observe, roles_of, scored, watched};
use crate::model::{Model, named};
use crate::patience::heard;
use crate::training::missing_of;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rffblr::data::{self, Encoder, MissingInputs, RoleChoice, TrainingTable};
use rffblr::drawn::{StreamFit, StreamPlan, sample_rows};
use rffblr::table::Table;
use rffblr::{Form, Iteration, Settings};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the columns are for, and whether rows are held out.
#[derive(FromPyObject)]
pub struct Job {
    targets: Vec<String>,
    ignore: Vec<String>,
    /// Column with the row weights and what they mean.
    weight: Option<(String, String)>,
    missing: String,
    hold_out: bool,
    preset: Option<String>,
    settings: Vec<(String, String)>,
    /// Columns that say which rows belong together, or in which order they came.
    group: Option<String>,
    time: Option<String>,
}

impl Job {
    fn settings(&self, rows: u64) -> PyResult<Settings> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        Ok(named(self.preset.as_deref(), &self.settings)?.for_rows(rows))
    }

    fn roles(&self) -> PyResult<(RoleChoice, MissingInputs)> {
        let order = (self.group.as_deref(), self.time.as_deref());
        Ok((roles_of(&self.targets, &self.ignore, self.weight.as_ref(), order)?, missing_of(&self.missing)?))
    }
}

/// Whether so many rows are added up by a plan; few are fitted as they are, as are those of other forms.
#[pyfunction]
pub fn is_streamed(job: Job, rows: u64) -> PyResult<bool> {
    Ok(matches!(job.settings(rows)?.form, Form::Drawn { .. }))
}

/// What is known of some of the rows of a table, with their share of a sample.
#[pyclass(frozen, module = "rffblr._rffblr")]
pub struct Summary {
    summary: Mutex<data::Summary>,
    /// What the columns are for, where rows are held out by their groups or times.
    places: Option<RoleChoice>,
}

impl Summary {
    fn of(summary: data::Summary) -> Summary {
        Summary { summary: Mutex::new(summary), places: None }
    }

    fn held(&self) -> MutexGuard<'_, data::Summary> {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Summary {
    /// For a table of so many rows in all.
    #[new]
    fn new(job: Job, rows: u64) -> PyResult<Summary> {
        let settings = job.settings(rows)?;
        let summary = Mutex::new(data::Summary::of_part(sample_rows(&settings), settings.seed, rows));
        let placed = job.hold_out && (job.group.is_some() || job.time.is_some());
        Ok(Summary { summary, places: if placed { Some(job.roles()?.0) } else { None } })
    }

    /// Adds rows, the first of which has this number; some columns were left out before.
    fn add(&self, py: Python<'_>, first_row: u64, columns: Inputs<'_>, left_out: Vec<String>) -> PyResult<()> {
        let table = Table::new(columns.columns(&[])?).map_err(Failure::from)?.leaving_out(left_out);
        if let Some(Ok(roles)) = self.places.clone().map(|choice| choice.resolve(&table)) {
            roles.expect_places(&table).map_err(Failure::from)?;
        }
        Ok(py.detach(|| self.held().add(&table, first_row)).map_err(Failure::from)?)
    }

    /// Adds the rows of another.
    fn merge(&self, py: Python<'_>, other: &Summary) -> PyResult<()> {
        let other = other.held().clone();
        Ok(py.detach(|| self.held().merge(other)).map_err(Failure::from)?)
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.held().rows()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.held().to_bytes()).map_err(Failure::from)?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Summary> {
        Ok(Summary::of(py.detach(|| data::Summary::from_bytes(bytes)).map_err(Failure::from)?))
    }
}

/// What the rows are added up by.
#[pyclass(frozen, module = "rffblr._rffblr")]
pub struct Plan {
    plan: Arc<StreamPlan>,
}

/// Learns a plan from the summary of all rows. The listener is that of a fit to files.
#[pyfunction]
pub fn learn_plan(
    py: Python<'_>,
    summary: &Summary,
    job: Job,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Plan> {
    let summary = summary.held().clone();
    let settings = job.settings(summary.rows())?;
    let ((choice, missing), hold_out) = (job.roles()?, job.hold_out);
    let plan = watched(py, threads, listener, move |tell: Tell<'_>| -> rffblr::Result<StreamPlan> {
        let roles = choice.resolve(&summary.sample().0)?;
        let (encoder, _) = Encoder::learn_summary(&summary, &roles, missing)?;
        let (settings, observer) = (&settings, &|step: &Iteration| observe(tell, step));
        let (summary, encoder, seed) = (&summary, &encoder, settings.seed);
        StreamFit { summary, seed, encoder, settings, hold_out, observer, resume: None }.learn()
    })?;
    Ok(Plan { plan: Arc::new(plan.map_err(Failure::from)?) })
}

/// Fits to few rows, all of which are in the summary.
#[pyfunction]
pub fn fit_summary(
    py: Python<'_>,
    summary: &Summary,
    job: Job,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let summary = summary.held().clone();
    let (table, rows) = (summary.sample().0, summary.rows());
    let settings = job.settings(rows)?;
    let ((choice, missing), hold_out) = (job.roles()?, job.hold_out);
    if (table.rows() as u64) < rows {
        let most = sample_rows(&settings);
        let problem =
            format!("this one needs all {rows} rows in memory, and from a cluster takes at most {most}; use cosines");
        return Err(Failure::from(rffblr::Error::Setting { name: "preset", problem }).into());
    }
    let fitted = watched(py, threads, listener, move |tell| {
        files::in_memory(TrainingTable::new(table, choice, missing)?, &settings, hold_out, tell)
    })?;
    let (model, training) = fitted.map_err(Failure::from)?;
    Ok(Model::of(model, Some(training)))
}

#[pymethods]
impl Plan {
    /// Sums of no rows.
    fn accumulator(&self) -> Accumulator {
        Accumulator::of(self.plan.encoder().clone(), self.plan.accumulator())
    }

    /// Adds a block of rows, the first of which has the number `first_row` among all rows.
    fn add(
        &self,
        py: Python<'_>,
        sums: &Accumulator,
        number: u64,
        first_row: u64,
        columns: Inputs<'_>,
        threads: usize,
    ) -> PyResult<()> {
        let table = Table::new(columns.columns(&[])?).map_err(Failure::from)?;
        let plan = self.plan.clone();
        let block = heard(py, threads, move || {
            let mut block = plan.accumulator();
            plan.add(&mut block, number, first_row, &table, 0..table.rows()).map(|()| block)
        })?;
        sums.take_in(py, block.map_err(Failure::from)?)
    }

    /// The model of all rows, when all blocks are in the sums, so many.
    fn finish(
        &self,
        py: Python<'_>,
        summary: &Summary,
        sums: &Accumulator,
        blocks: u64,
        threads: usize,
    ) -> PyResult<Model> {
        let (plan, summary, sums) = (self.plan.clone(), summary.held().clone(), sums.sums(py));
        let fitted = heard(py, threads, move || {
            let encoder = plan.encoder();
            let (_, mut notes) = Encoder::learn_summary(&summary, encoder.roles(), encoder.missing_inputs())?;
            let fitted = plan.finish(&summary, sums, blocks)?;
            notes.extend(encoder.suspicions(&fitted.sample, None));
            scored(fitted, encoder.clone(), notes, plan.seed())
        })?;
        let (model, training) = fitted.map_err(Failure::from)?;
        Ok(Model::of(model, Some(training)))
    }

    fn to_json(&self) -> PyResult<String> {
        Ok(self.plan.to_json().map_err(Failure::from)?)
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Plan> {
        Ok(Plan { plan: Arc::new(StreamPlan::from_json(text).map_err(Failure::from)?) })
    }

    /// Number of cosines and sines.
    #[getter]
    fn features(&self) -> usize {
        self.plan.map().features()
    }
}
