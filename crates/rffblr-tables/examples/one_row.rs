//! Fits a table and says how long the explanation of one row takes, elapsed and of the processor, the mean over some rows, as a
//! line of JSON: `cargo run --release --example one_row -- FILE TARGETS [IGNORED]`, names divided by commas.

use rffblr::Settings;
use rffblr::data::{MissingInputs, RoleChoice, TrainingTable};
use rffblr::explain::Explainer;
use rffblr::linalg::MatRef;
use rffblr_tables as table;
use std::time::Instant;

/// Rows explained one by one.
const ROWS: usize = 50;

/// Seconds of processor time of this process so far, in hundredths; Linux.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    (fields.get(13).unwrap_or(&0.0) + fields.get(14).unwrap_or(&0.0)) / 100.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, targets, ignored @ ..] = arguments.as_slice() else { return Err("FILE and TARGETS are needed".into()) };
    let choice = RoleChoice::parse(std::slice::from_ref(targets), ignored, None)?;
    let training = TrainingTable::new(table::read(path, &choice.read_options())?, choice, MissingInputs::Impute)?;
    let (data, model) = (training.dataset(), training.fit(&Settings::DEFAULT)?);
    let explainer = Explainer::new(&model, data.inputs(), data.weights())?;
    let mean = |explain: &dyn Fn(MatRef<'_, f64>) -> rffblr::Result<()>| -> rffblr::Result<(f64, f64)> {
        let (start, clock) = (processor_seconds(), Instant::now());
        for i in 0..ROWS {
            explain(data.inputs().subrows(i * data.rows() / ROWS, 1))?;
        }
        let (elapsed, processor) = (clock.elapsed().as_secs_f64(), processor_seconds() - start);
        Ok((1e3 * elapsed / ROWS as f64, 1e3 * processor / ROWS as f64))
    };
    let (plain, with_std) = (explainer.affordable_background(1), explainer.affordable_background_with_std(1));
    let (elapsed, processor) = mean(&|row| explainer.shapley(row, plain).map(drop))?;
    let (elapsed_with_std, processor_with_std) = mean(&|row| explainer.shapley_with_std(row, with_std).map(drop))?;
    println!(
        r#"{{"rows": {}, "inputs": {}, "columns": {}, "targets": {}, "background": {plain}, "ms": {elapsed:.1}, "processor_ms": {processor:.1}, "background_with_std": {with_std}, "ms_with_std": {elapsed_with_std:.1}, "processor_ms_with_std": {processor_with_std:.1}}}"#,
        data.rows(),
        explainer.inputs().len(),
        data.inputs().ncols(),
        data.targets().ncols()
    );
    Ok(())
}
