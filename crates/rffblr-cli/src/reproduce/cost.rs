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
/// Products of two inputs that make up a target.
const PRODUCTS: usize = 10;
/// Standard deviation of the noise; that of the signal is 1.
const NOISE: f64 = 0.3;

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
        method.fit(&draw(50, 2, 1)?, &plan)?;
        let data = draw(key.samples, key.tasks, u64::from(key.repetition))?;
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

/// Targets that are sums of products of two inputs, and noise.
pub fn draw(samples: usize, tasks: usize, seed: u64) -> Result<Dataset> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let inputs = Mat::from_fn(samples, INPUTS, |_, _| normal());
    let mut targets = Mat::zeros(samples, tasks);
    for task in 0..tasks {
        for product in 0..PRODUCTS {
            let weight = normal() / (PRODUCTS as f64).sqrt();
            // Neighbouring tasks share half of their products.
            let first = (5 * task + 3 * product) % INPUTS;
            let second = (5 * task + 7 * product + 1) % INPUTS;
            for row in 0..samples {
                targets[(row, task)] += weight * inputs[(row, first)] * inputs[(row, second)];
            }
        }
        for row in 0..samples {
            targets[(row, task)] += NOISE * normal();
        }
    }
    Ok(Dataset::new(inputs, targets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_are_products_and_noise() {
        let data = draw(4000, 3, 7).unwrap();
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
