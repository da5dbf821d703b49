//! A cohort with known truth, for the demonstration and for tests: several tasks driven by a few shared nonlinear
//! effects of a few of many inputs, noise different per task, some target cells missing.

use super::Dataset;
use crate::error::Result;
use crate::linalg::Mat;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Training data, held-out rows, and what the held-out targets would be without noise.
pub struct Cohort {
    /// Rows to learn from; some target cells are NaN.
    pub train: Dataset,
    /// Rows to judge by; complete.
    pub test: Dataset,
    /// Targets of the held-out rows before noise.
    pub truth: Mat<f64>,
    /// Noise standard deviation of each task.
    pub noise: Vec<f64>,
}

/// What the targets are called, their unit offset and scale, and how noisy they are.
const TASKS: [(&str, f64, f64, f64); 4] = [
    ("glucose", 95.0, 12.0, 0.15),
    ("pressure", 128.0, 9.0, 0.35),
    ("score", 0.55, 0.08, 0.6),
    ("cost", 2400.0, 700.0, 0.25),
];
/// Inputs that matter come first, the rest are distraction.
const INPUTS: [&str; 12] =
    ["age", "weight", "dose", "sleep", "steps", "altitude", "humidity", "visit", "shift", "ward", "device", "batch"];
/// Share of training target cells that are missing.
const MISSING: f64 = 0.08;

/// Draws a cohort of `rows` training rows and as many held-out ones.
pub fn cohort(rows: usize, seed: u64) -> Result<Cohort> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mix = Mat::from_fn(TASKS.len(), 3, |_, _| StandardNormal.sample(&mut rng));
    let (train, _) = draw(rows, &mix, MISSING, &mut rng)?;
    let (test, truth) = draw(rows, &mix, 0.0, &mut rng)?;
    let noise = TASKS.iter().map(|(_, _, scale, noise)| scale * noise).collect();
    Ok(Cohort { train, test, truth, noise })
}

fn draw(rows: usize, mix: &Mat<f64>, missing: f64, rng: &mut impl Rng) -> Result<(Dataset, Mat<f64>)> {
    let inputs: Mat<f64> = Mat::from_fn(rows, INPUTS.len(), |_, _| StandardNormal.sample(rng));
    let effects = |row: usize| {
        let x = |d: usize| inputs[(row, d)];
        [(1.6 * x(0)).sin(), x(1) * x(2) * 0.8, (x(3) + 0.5 * x(0)).tanh() * 1.2]
    };
    let mut truth = Mat::zeros(rows, TASKS.len());
    let mut targets = Mat::zeros(rows, TASKS.len());
    for row in 0..rows {
        let effects = effects(row);
        for (c, (_, offset, scale, noise)) in TASKS.iter().enumerate() {
            let signal: f64 = effects.iter().enumerate().map(|(k, e)| mix[(c, k)] * e).sum();
            truth[(row, c)] = offset + scale * signal;
            let error: f64 = StandardNormal.sample(rng);
            let hidden = rng.random_bool(missing);
            targets[(row, c)] = if hidden { f64::NAN } else { truth[(row, c)] + scale * noise * error };
        }
    }
    let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
    let target_names: Vec<&str> = TASKS.iter().map(|t| t.0).collect();
    Ok((Dataset::named(inputs, targets, names(&INPUTS), names(&target_names))?, truth))
}
