//! Whole fits with the paper's settings and direct links, M = 1.5 N, on one training fold of four data sets of the
//! paper, beside the seconds the method's public reference implementation needs for the same on one core.
//!
//! `cargo bench --bench paper_fits`; the data are looked for as `rffblr data path NAME` does.

use rffblr::data::Dataset;
use rffblr::linalg::Mat;
use rffblr::{CosineSettings, FeatureCount, Settings, fit};
use rffblr_cli::catalogue;
use rffblr_tables::{ReadOptions, Values, read};
use std::time::Instant;

/// Name, and the shortest and longest of the reference's times.
const REFERENCE: [(&str, f64, f64); 4] =
    [("jura", 5.0, 12.0), ("oes97", 68.0, 91.0), ("oes10", 137.0, 153.0), ("wq", 175.0, 183.0)];

fn load(name: &str) -> Result<Dataset, Box<dyn std::error::Error>> {
    let known = catalogue::find(name)?;
    let table = read(&catalogue::locate(known, None)?, &ReadOptions::default())?;
    let numbers = |column: usize| match &table.columns()[column].values {
        Values::Numeric(numbers) => numbers,
        Values::Text { .. } => panic!("{name} has numbers alone"),
    };
    let inputs = Mat::from_fn(table.rows(), known.inputs, |row, column| numbers(column)[row]);
    let targets = Mat::from_fn(table.rows(), known.tasks, |row, column| numbers(known.inputs + column)[row]);
    let data = Dataset::new(inputs, targets)?;
    let train: Vec<usize> = (0..data.rows()).filter(|row| row % 10 != 0).collect();
    Ok(data.select(&train)?)
}

fn main() {
    println!("threads {}", rayon::current_num_threads());
    println!(
        "{:>6} {:>5} {:>3} {:>5} {:>7} {:>6} {:>9} {:>12} {:>14}",
        "", "N", "C", "M", "sweeps", "kept", "seconds", "reference", "times faster"
    );
    for (name, shortest, longest) in REFERENCE {
        let data = match load(name) {
            Ok(data) => data,
            Err(problem) => {
                println!("{name:>6} skipped: {problem}");
                continue;
            }
        };
        let settings = Settings {
            form: CosineSettings { features: FeatureCount::PerRow(1.5), links: true, ..CosineSettings::PAPER }.into(),
            ..Settings::PAPER
        };
        let mut best = f64::INFINITY;
        let mut model = None;
        for _ in 0..3 {
            let start = Instant::now();
            model = Some(fit(&data, &settings).expect("the paper's own data"));
            best = best.min(start.elapsed().as_secs_f64());
        }
        if let Some(model) = model {
            println!(
                "{name:>6} {:>5} {:>3} {:>5} {:>7} {:>6} {best:>9.3} {:>12} {:>14}",
                data.rows(),
                data.targets().ncols(),
                model.drawn_features(),
                model.trace().len(),
                model.active_features(),
                format!("{shortest:.0}–{longest:.0} s"),
                format!("{:.0}–{:.0}", shortest / best, longest / best),
            );
        }
    }
}
