//! What a model learned: Shapley values, relevance, partial dependence, the report.

use crate::arrays::{Inputs, array};
use crate::errors::Failure;
use crate::model::{Around, Model};
use crate::patience::heard;
use crate::training::told;
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rffblr::data::Note;
use rffblr::explain::{Explainer, Shapley, Value};
use rffblr::linalg::Mat;
use rffblr_report::{Data, Labels, Options, Report};

/// Shapley values of rows, all training rows if none are given, in the units of the targets, and relevance of the inputs.
#[pyfunction]
pub fn explain<'py>(
    py: Python<'py>,
    model: &Model,
    inputs: Option<Inputs<'py>>,
    background: Option<Inputs<'py>>,
    uncertain: bool,
    count: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let around = model.around(py, "an explanation", background.as_ref())?;
    let (rows, notes) = match &inputs {
        Some(inputs) => inputs.encode(&model.encoder).map(|(rows, notes)| (rows.into_owned(), notes))?,
        None => (around.all(), Vec::new()),
    };
    let (most, scales) = {
        let explainer = explainer(&model.model, &around).map_err(Failure::from)?;
        (explainer.affordable_rows_with_std(), explainer.learned_scales())
    };
    if uncertain && rows.nrows() > most {
        return Err(PyValueError::new_err(format!(
            "deviations of {} rows would take too long; explain at most {most} rows at once, or leave return_std out",
            rows.nrows()
        )));
    }
    let shares = model.variance_shares(py, &around, background.is_none(), count)?;
    let (of, compared) = (model.model.clone(), around.clone());
    let found = heard(py, count, move || {
        let explainer = explainer(&of, &compared)?;
        let found = match uncertain {
            true => {
                let background = explainer.affordable_background_with_std(rows.nrows());
                explainer.shapley_with_std(rows.as_ref(), background)
            }
            false => explainer.shapley(rows.as_ref(), explainer.affordable_background(rows.nrows())),
        };
        Ok::<_, rffblr::Error>(found?.in_units(&of))
    })?;
    let shapley = found.map_err(Failure::from)?;
    let Shapley { base, prediction, values, std, background } = shapley;
    let stack = |tables: &[Mat<f64>]| tables.iter().map(|table| array(py, table)).collect::<PyResult<Vec<_>>>();
    let out = PyDict::new(py);
    out.set_item("inputs", explained_inputs(model))?;
    out.set_item("shapley", stack(&values)?)?;
    out.set_item("std", std.as_deref().map(stack).transpose()?)?;
    out.set_item("base", PyArray1::from_vec(py, base))?;
    out.set_item("prediction", array(py, &prediction)?)?;
    out.set_item("background", background.into_iter().map(|row| around.number(row)).collect::<Vec<usize>>())?;
    out.set_item("total", array(py, &shares.total)?)?;
    out.set_item("first_order", array(py, &shares.first_order)?)?;
    out.set_item("total_std", array(py, &shares.total_std)?)?;
    out.set_item("first_order_std", array(py, &shares.first_order_std)?)?;
    out.set_item("scales", array(py, &scales)?)?;
    out.set_item("training_rows", around.rows().0.nrows())?;
    out.set_item("notes", told(&notes))?;
    Ok(out)
}

/// Around these rows.
pub fn explainer<'a>(model: &'a rffblr::Model, around: &Around) -> rffblr::Result<Explainer<'a>> {
    let (rows, weights) = around.rows();
    Explainer::new(model, rows, weights)
}

/// Values of each input that is set, and the mean prediction at each of them or at each pair, with the ends of its band.
type Dependence<'py> = (Vec<Vec<Bound<'py, PyAny>>>, [Bound<'py, PyArray2<f64>>; 3]);

/// Partial dependence on one input or two, by their positions among those of `explain`, in the units of the targets.
#[pyfunction]
pub fn dependence<'py>(
    py: Python<'py>,
    model: &Model,
    inputs: Vec<usize>,
    background: Option<Inputs<'py>>,
    most: usize,
    coverage: f64,
    count: usize,
) -> PyResult<Dependence<'py>> {
    let (of, around) = (model.model.clone(), model.around(py, "partial dependence", background.as_ref())?);
    let found = heard(py, count, move || {
        let explainer = explainer(&of, &around)?;
        let points = |input: usize| explainer.points(input, most);
        let found = match inputs[..] {
            [first, second] => {
                explainer.partial_dependence_of_two((first, second), (points(first)?, points(second)?))?
            }
            _ => {
                let first = inputs.first().copied().unwrap_or(0);
                explainer.partial_dependence(first, points(first)?)?
            }
        };
        let band = found.band(coverage)?;
        Ok::<_, rffblr::Error>((found.points, band))
    })?;
    let (points, band) = found.map_err(Failure::from)?;
    let value = |value: &Value| match value {
        Value::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
        Value::Level(level) => Ok(level.into_pyobject(py)?.into_any()),
        Value::Missing => Ok(py.None().into_bound(py)),
        Value::Present => Ok("(present)".into_pyobject(py)?.into_any()),
    };
    let values = |points: &Vec<rffblr::explain::Point>| points.iter().map(|point| value(&point.value)).collect();
    let values = points.iter().map(values).collect::<PyResult<_>>()?;
    Ok((values, [array(py, &band.mean)?, array(py, &band.lower)?, array(py, &band.upper)?]))
}

/// Names of the inputs that explanations speak of.
#[pyfunction]
pub fn explained_inputs(model: &Model) -> Vec<String> {
    model.encoder.raw_inputs().iter().map(|input| input.name.clone()).collect()
}

/// The report and the model card. A model from a file is shown without data.
#[pyfunction]
pub fn report(
    py: Python<'_>,
    model: &Model,
    title: String,
    row_data: bool,
    labels: Vec<(String, String, String)>,
    count: usize,
) -> PyResult<(String, String)> {
    // Of a sample of the rows nothing can be left out to see how well it is predicted.
    let whole = model.training.as_ref().filter(|training| training.data.rows() == model.model.training_rows());
    let training = whole.map(|_| model.training(py, "a report").cloned()).transpose()?;
    let row_numbers =
        training.as_ref().map(|training| training.rows.iter().map(|row| row + 1).collect()).unwrap_or_default();
    let origin = vec![
        ("program".into(), format!("rffblr {} for Python", env!("CARGO_PKG_VERSION"))),
        ("SHA-256 of the training data".into(), model.model.fingerprint().unwrap_or("not known").to_owned()),
    ];
    let noticed = training.as_ref().map_or(&[][..], |training| &training.notes);
    let warnings: Vec<Note> = noticed.iter().filter(|note| note.is_warning()).cloned().collect();
    let notes = warnings.iter().map(|note| note.kind).zip(told(&warnings)).collect();
    let encoder = model.model.table_encoder().into_owned();
    let inputs = encoder.raw_inputs().iter().map(|input| &input.name);
    let known: Vec<&String> = inputs.chain(model.model.target_names()).collect();
    let mut called = Labels::default();
    for (column, label, unit) in labels {
        if !known.contains(&&column) {
            return Err(PyValueError::new_err(format!(
                "labels: `{column}` is neither an input nor a target of the model"
            )));
        }
        called.insert(column, label, unit);
    }
    let options = Options { title, row_data, row_numbers, origin, notes, groups: None, labels: called };
    let of = model.model.clone();
    let made = heard(py, count, move || {
        let data = training.as_ref().map_or(Data::None, |training| Data::Training(&training.data));
        let report = Report::new(&of, data, &options)?;
        Ok::<_, rffblr::Error>((report.html().to_owned(), report.card().to_owned()))
    })?;
    Ok(made.map_err(Failure::from)?)
}

/// The training rows, each predicted without it: what was observed, mean, ends of the interval, and the predicted
/// probability of less than was observed. Rows × targets each, NaN where nothing was observed.
#[pyfunction]
pub fn judged<'py>(
    py: Python<'py>,
    model: &Model,
    coverage: f64,
    count: usize,
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    let (of, training) = (model.model.clone(), model.training(py, "leaving rows out")?.clone());
    let found = heard(py, count, move || {
        let found = rffblr::explain::diagnostics(&of, &training.data)?;
        let (lower, upper) = found.prediction.interval(coverage)?;
        let observed = training.data.targets().to_owned();
        Ok::<_, rffblr::Error>([observed, found.prediction.mean, lower, upper, found.transform])
    })?;
    found.map_err(Failure::from)?.iter().map(|table| array(py, table)).collect()
}
