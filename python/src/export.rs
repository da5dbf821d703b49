//! Models written for use without this package.

use crate::errors::Failure;
use crate::model::Model;
use crate::patience::heard;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rffblr::internals::write_whole;
use rffblr_export::{ExportError, Options, Target, inputs_path};
use std::path::PathBuf;

/// Writes a model as what `to`, or the ending of the path, stands for; existing files are replaced.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the method")]
pub fn export(
    py: Python<'_>,
    model: &Model,
    path: PathBuf,
    to: Option<&str>,
    interval: Option<f64>,
    dialect: &str,
    table: String,
    keep: Vec<String>,
    count: usize,
) -> PyResult<()> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
    let target = match to {
        Some(name) => name.parse().map_err(told)?,
        None => Target::of_ending(&ending).ok_or_else(|| {
            PyValueError::new_err(format!("to=None and the ending of {} says nothing", path.display()))
        })?,
    };
    let target = if let Target::Sql(_) = target { Target::Sql(dialect.parse().map_err(told)?) } else { target };
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let options = Options { name, coverage: interval, table, keep };
    let of = model.model.clone();
    let written = heard(py, count, move || rffblr_export::export(&of, target, &options))?.map_err(told)?;
    let beside = inputs_path(&path);
    let files = [(&path, Some(written.bytes)), (&beside, written.inputs.map(String::into_bytes))];
    for (path, bytes) in files.iter().filter_map(|(path, bytes)| Some((path, bytes.as_ref()?))) {
        let saved = write_whole(path, true, |file| file.write_all(bytes));
        saved.map_err(rffblr::Error::io(path)).map_err(Failure::from)?;
    }
    Ok(())
}

/// The error with the settings that help.
fn told(problem: ExportError) -> PyErr {
    let advice = match &problem {
        ExportError::TooLarge { fits_without: true, .. } => {
            "; use interval=None, or fit with form=Sinusoids(sparsity=0.75)"
        }
        ExportError::TooLarge { .. } | ExportError::TooWide { .. } => {
            "; fit with form=Sinusoids(sparsity=0.75), or use to=\"onnx\""
        }
        _ => "",
    };
    match problem {
        ExportError::Model(problem) => Failure::from(problem).into(),
        problem => PyValueError::new_err(format!("{problem}{advice}")),
    }
}
