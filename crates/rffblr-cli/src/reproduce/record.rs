//! One fold of one method on one data set, as it is kept for good.

use anyhow::{Result, bail};
use rffblr::metrics::Scores;
use rffblr_methods::evaluate::FoldResult;
use rffblr_methods::method::Chosen;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a record is about: no two records of a run have the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    pub method: String,
    pub dataset: String,
    /// Counted from 1.
    pub fold: usize,
    pub seed: u64,
    /// Features to begin with for each training row, where an experiment varies that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub per_row: Option<f64>,
}

/// What must be the same for all records of a method on a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Points tried by methods that choose among some.
    pub grid: String,
    /// Number of folds.
    pub folds: usize,
    /// SHA-256 of the numbers of the data set, of the rows tested by each fold and of those held out by its inner
    /// folds.
    pub data_sha256: String,
    pub folds_sha256: String,
    pub inner_sha256: String,
}

impl Setting {
    /// An error if results of a method on a data set are there already, found in another way.
    pub fn refuse_others(&self, known: &[Record], method: &str, dataset: &str) -> Result<()> {
        let same = |record: &&Record| record.key.method == method && record.key.dataset == dataset;
        if let Some(difference) = known.iter().filter(same).find_map(|record| record.setting.difference(self)) {
            bail!(
                "{method} on {dataset} was run with {difference}; results of both cannot be mixed: run it as before, \
                 or name another folder with --out"
            );
        }
        Ok(())
    }

    /// In words what is not the same in another setting.
    fn difference(&self, other: &Setting) -> Option<String> {
        let pairs = [
            ("grid", &self.grid, &other.grid),
            ("data", &self.data_sha256, &other.data_sha256),
            ("folds", &self.folds_sha256, &other.folds_sha256),
            ("inner folds", &self.inner_sha256, &other.inner_sha256),
        ];
        let (what, old, new) = pairs.into_iter().find(|(_, old, new)| old != new)?;
        Some(format!("{what} {}, not {}", abridged(old), abridged(new)))
    }
}

/// The beginning of a checksum; words as they are.
fn abridged(text: &str) -> &str {
    text.get(..12).unwrap_or(text)
}

/// One line of the raw results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    #[serde(flatten)]
    pub key: Key,
    #[serde(flatten)]
    pub setting: Setting,
    /// Version and commit of the program.
    pub version: String,
    pub machine: String,
    pub train_rows: usize,
    pub test_rows: usize,
    pub fit_seconds: f64,
    pub predict_seconds: f64,
    /// Time the processor spent on both, where the system reports it: other programs do not lengthen it.
    pub cpu_seconds: Option<f64>,
    /// Inner folds known from an earlier, interrupted run: their time is not in `fit_seconds`.
    pub inner_folds_remembered: usize,
    pub active_features: Option<usize>,
    pub chosen: BTreeMap<String, Chosen>,
    pub scores: Scores,
    /// The same for inputs held in the range of the training rows; records from before there were such scores have none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scores_in_range: Option<Scores>,
}

impl Record {
    pub fn new(key: Key, setting: Setting, result: FoldResult) -> Record {
        Record {
            key,
            setting,
            version: crate::VERSION.to_owned(),
            machine: machine(),
            train_rows: result.train_rows,
            test_rows: result.test_rows,
            fit_seconds: result.fit_seconds,
            predict_seconds: result.predict_seconds,
            cpu_seconds: result.cpu_seconds,
            inner_folds_remembered: result.inner_folds_remembered,
            active_features: result.active_features,
            chosen: result.chosen.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            scores: result.scores,
            scores_in_range: Some(result.scores_in_range),
        }
    }

    pub fn is_scored(&self) -> bool {
        self.scores.per_task.observed.iter().any(|&count| count > 0)
    }

    /// Seconds of fit and prediction, if none of them were spent in an earlier run.
    pub fn seconds(&self) -> Option<f64> {
        let wall = self.fit_seconds + self.predict_seconds;
        (self.inner_folds_remembered == 0).then(|| self.cpu_seconds.unwrap_or(wall))
    }
}

/// Processor, its threads and the system.
pub fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{}, {threads} threads, {system}", name.unwrap_or(processor))
}
