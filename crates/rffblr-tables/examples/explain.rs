//! Fits a data set, explains the model and says how long each explanation took:
//! `cargo run --release --example explain -- FILE TASKS [SPARSITY]`, the last TASKS columns being the targets.

use rffblr::data::{MissingInputs, RoleChoice, TrainingTable};
use rffblr::explain::{Explainer, diagnostics, task_correlation};
use rffblr::{Form, Settings};
use rffblr_tables as table;
use std::time::Instant;

/// Seconds of processor time of this process so far, where the system reports it.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect();
    (fields.get(13).unwrap_or(&0.0) + fields.get(14).unwrap_or(&0.0)) / 100.0
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (start, before) = (Instant::now(), processor_seconds());
    let found = work();
    println!("{:8.2} s, {:8.2} s of processors: {what}", start.elapsed().as_secs_f64(), processor_seconds() - before);
    found
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, tasks, ..] = arguments.as_slice() else { return Err("FILE and TASKS are needed".into()) };
    let choice = RoleChoice::parse(&[format!("last:{tasks}")], &[], None)?;
    let table = table::read(path, &choice.read_options())?;
    let training = TrainingTable::new(table, choice, MissingInputs::Impute)?;
    let data = training.dataset();
    let form = match arguments.get(2) {
        Some(sparsity) => Form::Sinusoids { sparsity: sparsity.parse()? },
        None => Form::Kernel,
    };
    let settings = Settings { form, ..Settings::DEFAULT };
    let model = timed("fit", || training.fit(&settings))?;
    let explainer = Explainer::new(&model, data.inputs(), data.weights())?;
    println!("{} rows, {} inputs, {} terms", data.rows(), explainer.inputs().len(), model.active_features());

    let all = data.rows();
    let background = explainer.affordable_background(all);
    let shapley = timed(&format!("Shapley values of all rows against {background}"), || {
        explainer.shapley(data.inputs(), background)
    })?;
    let mut worst = 0.0f64;
    for (c, values) in shapley.values.iter().enumerate() {
        for n in 0..all {
            let sum: f64 = (0..values.ncols()).map(|input| values[(n, input)]).sum();
            let off = shapley.base[c] + sum - shapley.prediction[(n, c)];
            worst = worst.max(off.abs() / model.target_std()[c]);
        }
    }
    println!("they add up to {worst:.1e} of a target's standard deviation");
    let background = explainer.affordable_background(1);
    timed(&format!("Shapley values of one row against {background}"), || {
        explainer.shapley(data.inputs().subrows(0, 1), background)
    })?;
    let background = explainer.affordable_background_with_std(1);
    timed(&format!("the same with deviations against {background}"), || {
        explainer.shapley_with_std(data.inputs().subrows(0, 1), background)
    })?;
    let shares = timed("relevance", || explainer.variance_shares())?;
    println!("from {} rows, deviations from {}", shares.background.len(), shares.std_background.len());
    let points = explainer.points(0, 30)?;
    timed("partial dependence on one input", || explainer.partial_dependence(0, points))?;
    if explainer.inputs().len() > 1 {
        let points = (explainer.points(0, 12)?, explainer.points(1, 12)?);
        timed("on two inputs", || explainer.partial_dependence_of_two((0, 1), points))?;
    }
    let left_out = timed("leave-one-out diagnostics", || diagnostics(&model, data))?;
    let (rows, background) = explainer.affordable_sample();
    let sample: Vec<usize> = (0..rows).map(|i| i * all / rows).collect();
    let with_std = explainer.affordable_sample_with_std(rows);
    timed(&format!("{rows} rows explained without themselves against {background}, deviations {with_std:?}"), || {
        explainer.shapley_left_out(&left_out.prediction, &sample, background, false)
    })?;
    timed("correlation of tasks", || task_correlation(&model, data, &left_out))?;
    Ok(())
}
