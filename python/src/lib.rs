//! The compiled part of the Python package: a thin layer that turns arrays and columns into tables, runs the library
//! without holding Python's lock, and turns what it returns into arrays. Everything a user calls is in `rffblr/*.py`.

mod arrays;
mod baseline;
mod blocks;
mod check;
mod cluster;
mod errors;
mod explain;
mod export;
mod files;
mod model;
mod patience;
mod scores;
mod training;

use pyo3::prelude::*;
use rffblr::{PRESETS, SETTINGS, Setting};
use std::path::PathBuf;

/// Name, meaning, values (words, or one placeholder), whether of drawn cosines alone, and defaults in words.
type Row = (String, &'static str, &'static [&'static str], bool, String);

/// The library's table of settings: where the Python signature and its docs come from.
#[pyfunction]
fn settings() -> Vec<Row> {
    let row = |setting: &Setting| {
        let name = setting.name.replace('-', "_");
        (name, setting.meaning, setting.values, setting.of_cosines, setting.defaults())
    };
    SETTINGS.iter().map(row).collect()
}

/// Names and values of the settings of a preset.
#[pyfunction]
fn preset(name: &str) -> PyResult<Vec<(String, String)>> {
    let settings = rffblr::Settings::preset(name).map_err(errors::Failure::from)?;
    Ok(settings.spelled().into_iter().map(|(name, value)| (name.replace('-', "_"), value)).collect())
}

/// Writes a text file whole or not at all; an existing one is replaced.
#[pyfunction]
fn write_whole(path: PathBuf, text: &str) -> PyResult<()> {
    let written = rffblr::internals::write_whole(&path, true, |file| file.write_all(text.as_bytes()));
    Ok(written.map_err(rffblr::Error::io(&path)).map_err(errors::Failure::from)?)
}

/// Compiled part of the package rffblr.
#[pymodule]
fn _rffblr(module: &Bound<'_, PyModule>) -> PyResult<()> {
    patience::silence_own_threads();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BUILD", rffblr_methods::VERSION)?;
    module.add("PRESETS", PRESETS.map(|(name, ..)| name).to_vec())?;
    module.add_class::<model::Model>()?;
    module.add_class::<baseline::Baseline>()?;
    module.add_class::<blocks::FeatureMap>()?;
    module.add_class::<blocks::Accumulator>()?;
    module.add_class::<cluster::Summary>()?;
    module.add_class::<cluster::Plan>()?;
    module.add("BLOCK", rffblr::drawn::BLOCK)?;
    module.add_function(wrap_pyfunction!(settings, module)?)?;
    module.add_function(wrap_pyfunction!(preset, module)?)?;
    module.add_function(wrap_pyfunction!(write_whole, module)?)?;
    module.add_function(wrap_pyfunction!(model::fit, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::learn, module)?)?;
    module.add_function(wrap_pyfunction!(files::fit_files, module)?)?;
    module.add_function(wrap_pyfunction!(files::predict_files, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::is_streamed, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::learn_plan, module)?)?;
    module.add_function(wrap_pyfunction!(cluster::fit_summary, module)?)?;
    module.add_function(wrap_pyfunction!(check::check, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explained_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(explain::dependence, module)?)?;
    module.add_function(wrap_pyfunction!(explain::report, module)?)?;
    module.add_function(wrap_pyfunction!(explain::judged, module)?)?;
    module.add_function(wrap_pyfunction!(export::export, module)?)?;
    module.add_function(wrap_pyfunction!(baseline::fit_baseline, module)?)?;
    module.add_function(wrap_pyfunction!(baseline::methods, module)?)?;
    module.add_function(wrap_pyfunction!(scores::scores, module)?)?;
    module.add_function(wrap_pyfunction!(scores::reach, module)?)?;
    module.add_function(wrap_pyfunction!(patience::panic_inside, module)?)?;
    Ok(())
}
