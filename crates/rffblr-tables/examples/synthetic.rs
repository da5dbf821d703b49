//! Writes the synthetic table of `experiments/scale` as Parquet or CSV files of 250 000 rows, on all threads:
//!
//! ```text
//! cargo run --release -p rffblr-tables --example synthetic -- FOLDER ROWS [SEED] [csv]
//! ```
//!
//! Standard normal inputs x1 to x20; targets y1 to y4, each a sum of six of twelve functions of one or two inputs with
//! variance 16, and noise of variance 1. Fewer rows of a seed are the first ones of more; the draws are not those of
//! `collect.py`.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use rffblr::table::{Column, Table, Values};
use rffblr_tables::Writer;
use std::error::Error;
use std::f64::consts::PI;
use std::path::Path;

const INPUTS: usize = 20;
const TARGETS: usize = 4;
/// Rows that are drawn together, and rows of a file.
const BLOCK: usize = 50_000;
const PART: usize = 250_000;

/// Weights of the functions in each target, before they are scaled to a variance of 16.
const MIXTURE: [[f64; 12]; TARGETS] = [
    [3., 2., 2., 2., 1., 1., 0., 0., 0., 0., 0., 0.],
    [0., 0., 0., -2., 2., 2., 3., 1., -2., 0., 0., 0.],
    [0., 0., 0., 0., 0., 0., 2., -2., 2., 2., 1., 3.],
    [-2., 3., 1., 0., 0., 0., 0., 0., 0., 2., 2., -1.],
];

/// Twelve functions of mean 0 and variance 1 over standard normal inputs; no two share an input.
fn components(x: &[f64]) -> [f64; 12] {
    let e = |power: f64| power.exp();
    [
        (2. * x[0]).sin() / ((1. - e(-8.)) / 2.).sqrt(),
        x[1] * x[2],
        (x[3].abs() - (2. / PI).sqrt()) / (1. - 2. / PI).sqrt(),
        if x[4] > 0. { 1. } else { -1. },
        x[5].sin() * x[6] / ((1. - e(-2.)) / 2.).sqrt(),
        ((x[7] - x[8]).abs() - 2. / PI.sqrt()) / (2. - 4. / PI).sqrt(),
        ((x[9] + x[10]).cos() - e(-1.)) / ((1. + e(-4.)) / 2. - e(-2.)).sqrt(),
        x[11],
        (x[12] * x[12] - 1.) / 2f64.sqrt(),
        if x[13] > 0. { x[14] * 2f64.sqrt() } else { 0. },
        (x[15] * x[16]).sin() / ((1. - 1. / 5f64.sqrt()) / 2.).sqrt(),
        (x[17].max(x[18]) - 1. / PI.sqrt()) / (1. - 1. / PI).sqrt(),
    ]
}

/// Some rows of one block, drawn from a stream of their own.
fn block(seed: u64, number: usize, rows: usize) -> Result<Table, Box<dyn Error + Send + Sync>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number as u64);
    let mut columns: Vec<Vec<f64>> = (0..INPUTS + TARGETS).map(|_| Vec::with_capacity(rows)).collect();
    let weights = MIXTURE.map(|row| {
        let length = row.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        row.map(|weight| 4. * weight / length)
    });
    for _ in 0..rows {
        let x: [f64; INPUTS] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
        let parts = components(&x);
        let target = |weights: &[f64; 12]| {
            let noise: f64 = StandardNormal.sample(&mut rng);
            weights.iter().zip(&parts).map(|(weight, part)| weight * part).sum::<f64>() + noise
        };
        let row = x.into_iter().chain(weights.iter().map(target));
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    let names = (1..=INPUTS).map(|d| format!("x{d}")).chain((1..=TARGETS).map(|c| format!("y{c}")));
    let column = |(name, numbers)| Column { name, values: Values::Numeric(numbers) };
    Ok(Table::new(names.zip(columns).map(column).collect())?)
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rows, rest @ ..] = arguments.as_slice() else { return Err("give FOLDER ROWS [SEED] [csv]".into()) };
    let ending = if rest.iter().any(|word| word == "csv") { "csv" } else { "parquet" };
    let seed = rest.iter().find_map(|word| word.parse().ok()).unwrap_or(17);
    let rows: usize = rows.parse()?;
    std::fs::create_dir_all(folder)?;
    (0..rows.div_ceil(PART)).into_par_iter().try_for_each(|part| {
        let path = Path::new(folder).join(format!("part-{part:03}.{ending}"));
        let mut writer = Writer::create(path, true)?;
        for first in (part * PART..rows.min((part + 1) * PART)).step_by(BLOCK) {
            writer.write(&block(seed, first / BLOCK, BLOCK.min(rows - first))?)?;
        }
        Ok(writer.finish()?)
    })
}
