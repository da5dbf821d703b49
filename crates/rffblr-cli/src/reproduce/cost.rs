//! What one fit to synthetic data costs, measured in a process of its own: its memory is then that of the fit, whatever
//! was fitted before.

use super::record::machine;
use anyhow::{Context, Result, bail};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rffblr::data::Dataset;
use rffblr::linalg::Mat;
use rffblr_methods::evaluate::{in_parallel, thread_seconds};
use rffblr_methods::method::by_name;
use rffblr_methods::select::Plan;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Inputs of the synthetic data.
const INPUTS: usize = 50;
/// Products of two inputs that make up a target of [`Data::Products`], and its noise; the signal has variance 1.
const PRODUCTS: usize = 10;
const NOISE: f64 = 0.3;
/// Inputs that a target of [`Data::Linear`] depends on, and its noise; the signal has variance 20.
const RELEVANT: usize = 20;
const LINEAR_NOISE: f64 = 2.0;

/// How targets depend on inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// Sums of products of two inputs.
    #[default]
    Products,
    /// Linear in some of the inputs, as the script of the paper's authors draws them.
    Linear,
}

impl Data {
    pub const ALL: [Data; 2] = [Data::Products, Data::Linear];
}

impl std::fmt::Display for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Data::Products => "products",
            Data::Linear => "linear",
        })
    }
}

/// One fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    #[serde(flatten)]
    pub key: Key,
    pub version: String,
    pub machine: String,
    pub wall_seconds: f64,
    pub cpu_seconds: Option<f64>,
    /// Most memory the fit had in use at once, the data not counted, where the system reports it.
    pub peak_bytes: Option<u64>,
    pub active_features: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    pub method: String,
    #[serde(default)]
    pub data: Data,
    pub tasks: usize,
    pub samples: usize,
    /// Counted from 1; also the seed of the data and of the fit.
    pub repetition: u32,
}

impl Record {
    pub fn seconds(&self) -> Option<f64> {
        Some(self.cpu_seconds.unwrap_or(self.wall_seconds))
    }

    pub fn mebibytes(&self) -> Option<f64> {
        self.peak_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20))
    }
}

/// Measures a fit in a new process of this command, which answers by [`measure`].
pub fn measure_apart(key: &Key, out: &Path) -> Result<Record> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(["reproduce", "figure3", "--one"]).arg(serde_json::to_string(key)?).arg("--out").arg(out);
    let answer = child.output().context("cannot start a process for the fit")?;
    if !answer.status.success() {
        bail!("{}", String::from_utf8_lossy(&answer.stderr).trim().trim_start_matches("error: "));
    }
    Ok(serde_json::from_slice(&answer.stdout)?)
}

/// Measures a fit on one thread.
pub fn measure(key: &Key) -> Result<Record> {
    let records = in_parallel(1, 1, |_| {
        let method = by_name(&key.method)?;
        let plan = Plan::seeded(u64::from(key.repetition));
        // The first products of a thread reserve buffers that are there for good.
        method.fit(&draw(key.data, 50, 2, 1)?, &plan)?;
        let data = draw(key.data, key.samples, key.tasks, u64::from(key.repetition))?;
        let (start, processor, memory) = (Instant::now(), thread_seconds(), resident("VmRSS"));
        let fitted = method.fit(&data, &plan)?;
        let wall_seconds = start.elapsed().as_secs_f64();
        Ok::<_, anyhow::Error>(Record {
            key: key.clone(),
            version: crate::VERSION.to_owned(),
            machine: machine(),
            wall_seconds,
            cpu_seconds: thread_seconds().zip(processor).map(|(end, start)| end - start),
            peak_bytes: resident("VmHWM").zip(memory).map(|(peak, before)| peak.saturating_sub(before)),
            active_features: fitted.active_features(),
        })
    })?;
    records.into_iter().next().context("no fit was run")
}

/// Bytes of this process in memory: now (`VmRSS`) or at most so far (`VmHWM`).
fn resident(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(1024 * value.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
}

/// Normal inputs, and targets of them.
pub fn draw(data: Data, samples: usize, tasks: usize, seed: u64) -> Result<Dataset> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let inputs = Mat::from_fn(samples, INPUTS, |_, _| normal());
    let mut targets = Mat::zeros(samples, tasks);
    for task in 0..tasks {
        let mut add = |weight: f64, term: &dyn Fn(usize) -> f64| {
            targets.col_as_slice_mut(task).iter_mut().enumerate().for_each(|(row, y)| *y += weight * term(row));
        };
        match data {
            Data::Products => {
                for product in 0..PRODUCTS {
                    // Neighbouring tasks share half of their products.
                    let first = (5 * task + 3 * product) % INPUTS;
                    let second = (5 * task + 7 * product + 1) % INPUTS;
                    let weight = normal() / (PRODUCTS as f64).sqrt();
                    add(weight, &|row| inputs[(row, first)] * inputs[(row, second)]);
                }
            }
            Data::Linear => (0..RELEVANT).for_each(|input| add(normal(), &|row| inputs[(row, input)])),
        }
        let noise = if data == Data::Products { NOISE } else { LINEAR_NOISE };
        let column = targets.col_as_slice_mut(task);
        column.iter_mut().for_each(|y: &mut f64| *y += noise * normal());
    }
    Ok(Dataset::new(inputs, targets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_are_products_and_noise() {
        let data = draw(Data::Products, 4000, 3, 7).unwrap();
        assert_eq!((data.rows(), data.inputs().ncols(), data.targets().ncols()), (4000, INPUTS, 3));
        // No input says anything about a target by itself: correlations of 4000 rows stay near 1/√4000.
        for task in 0..3 {
            let target = |row: usize| data.targets()[(row, task)];
            let variance = (0..4000).map(|row| target(row).powi(2)).sum::<f64>() / 4000.0;
            assert!(variance > NOISE * NOISE);
            for input in 0..INPUTS {
                let product = (0..4000).map(|row| target(row) * data.inputs()[(row, input)]).sum::<f64>() / 4000.0;
                assert!(product.abs() < 0.2 * variance.sqrt(), "{task} {input} {product}");
            }
        }
    }

    /// Only the relevant inputs say anything about a target, and their weights and noise account for all of its variance.
    #[test]
    fn linear_data_are_linear_in_some_inputs() {
        let data = draw(Data::Linear, 20_000, 2, 3).unwrap();
        let moment = |task: usize, input: usize| {
            let products = (0..20_000).map(|row| data.targets()[(row, task)] * data.inputs()[(row, input)]);
            products.sum::<f64>() / 20_000.0
        };
        for task in 0..2 {
            let slopes: Vec<f64> = (0..INPUTS).map(|input| moment(task, input)).collect();
            assert!(slopes[RELEVANT..].iter().all(|slope| slope.abs() < 0.2), "{slopes:?}");
            let explained: f64 = slopes[..RELEVANT].iter().map(|slope| slope * slope).sum();
            let variance = (0..20_000).map(|row| data.targets()[(row, task)].powi(2)).sum::<f64>() / 20_000.0;
            assert!(
                (variance - explained - LINEAR_NOISE * LINEAR_NOISE).abs() < 0.05 * variance,
                "{variance} {explained}"
            );
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_is_that_of_the_work() {
        let before = resident("VmRSS").unwrap();
        let touched = vec![1u8; 64 << 20];
        // Other tests give memory back meanwhile.
        assert!(resident("VmHWM").unwrap() >= before + (32 << 20), "{}", touched.len());
        assert_eq!(resident("VmNone"), None);
    }
}
