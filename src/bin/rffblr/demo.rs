//! `rffblr demo`: data it makes itself, two ways to fit them, and how far each is from the truth.

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets::UTF8_HORIZONTAL_ONLY};
use rffblr::data::{Cohort, cohort};
use rffblr::{Model, Settings, Stop, fit, metrics};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Rows to learn from; as many again are held out
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=20_000))]
    rows: u32,
    /// Seed of the cohort and of the fits
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let cohort = cohort(arguments.rows as usize, arguments.seed)?;
    let (inputs, tasks) = (cohort.train.inputs().ncols(), cohort.train.targets().ncols());
    let missing = (0..tasks).flat_map(|c| cohort.train.targets().col(c).iter().copied()).filter(|y| y.is_nan()).count();
    println!(
        "A cohort of {} rows to learn from and as many held out: {inputs} inputs, of which 4 matter, {tasks} targets, \
         {missing} target cells missing.\n",
        arguments.rows
    );
    let seeded = |settings: Settings| Settings { seed: arguments.seed, ..settings };
    let mut summary = Table::new();
    summary.load_style(UTF8_HORIZONTAL_ONLY).set_header([
        "held-out rows",
        "task R²",
        "90 % intervals hold",
        "features kept",
        "bandwidth γ",
        "bound (nats)",
        "sweeps",
        "seconds",
    ]);
    let mut per_task = Table::new();
    per_task.load_style(UTF8_HORIZONTAL_ONLY);
    per_task.set_header(["R² by target"].into_iter().map(String::from).chain(cohort.test.target_names().to_vec()));
    for (name, settings) in [
        ("default", seeded(Settings::DEFAULT)),
        ("paper", seeded(Settings { links: true, ..Settings::PAPER })),
        (
            "paper + relevance",
            seeded(Settings { links: true, relevance: rffblr::Relevance::Learned, ..Settings::PAPER }),
        ),
    ] {
        let start = Instant::now();
        let model = fit(&cohort.train, &settings)?;
        let seconds = start.elapsed().as_secs_f64();
        let (scores, coverage) = judge(&model, &cohort)?;
        summary.add_row([
            name.to_string(),
            format!("{:.3}", scores.overall),
            format!("{:.0} %", 100.0 * coverage),
            format!("{} of {}", model.active_features(), model.drawn_features() + inputs),
            format!("{:.4}", model.bandwidth()),
            format!("{:.1}", model.bound()),
            format!("{}{}", model.trace().len(), if model.stop() == Stop::Converged { "" } else { " (limit)" }),
            format!("{seconds:.2}"),
        ]);
        add_scores(&mut per_task, name, &scores);
    }
    add_scores(&mut per_task, "the truth itself", &metrics::task_r2(cohort.test.targets(), cohort.truth.as_ref())?);
    for table in [&mut summary, &mut per_task] {
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        println!("{table}\n");
    }
    println!("No model can beat the last line: what it lacks to 1 is the noise of each target.");
    Ok(())
}

fn judge(model: &Model, cohort: &Cohort) -> Result<(metrics::TaskScore, f64)> {
    let prediction = model.predict(cohort.test.inputs())?;
    let (lower, upper) = prediction.interval(0.9)?;
    let scores = metrics::task_r2(cohort.test.targets(), prediction.mean.as_ref())?;
    let coverage = metrics::coverage(cohort.test.targets(), lower.as_ref(), upper.as_ref())?;
    Ok((scores, coverage.overall))
}

fn add_scores(table: &mut Table, name: &str, scores: &metrics::TaskScore) {
    let numbers = scores.per_task.iter().map(|score| format!("{score:.3}"));
    table.add_row([name.to_string()].into_iter().chain(numbers));
}
