//! Fits a table and says how much processor time the explanation of one row takes, the mean over some rows, as a line of JSON:
//! `cargo run --release --example one_row -- FILE TARGETS [IGNORED]`, names divided by commas.

use rffblr::Settings;
use rffblr::data::{MissingInputs, RoleChoice, TrainingTable};
use rffblr::explain::Explainer;
use rffblr::linalg::MatRef;
use rffblr_tables as table;

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
    let mean = |explain: &dyn Fn(MatRef<'_, f64>) -> rffblr::Result<()>| -> rffblr::Result<f64> {
        let start = processor_seconds();
        for i in 0..ROWS {
            explain(data.inputs().subrows(i * data.rows() / ROWS, 1))?;
        }
        Ok(1e3 * (processor_seconds() - start) / ROWS as f64)
    };
    let (plain, with_std) = (explainer.affordable_background(1), explainer.affordable_background_with_std(1));
    let values = mean(&|row| explainer.shapley(row, plain).map(drop))?;
    let deviations = mean(&|row| explainer.shapley_with_std(row, with_std).map(drop))?;
    println!(
        r#"{{"rows": {}, "inputs": {}, "columns": {}, "targets": {}, "background": {plain}, "ms": {values:.1}, "background_with_std": {with_std}, "ms_with_std": {deviations:.1}}}"#,
        data.rows(),
        explainer.inputs().len(),
        data.inputs().ncols(),
        data.targets().ncols()
    );
    Ok(())
}
