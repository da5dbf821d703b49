//! Raw results: one file of JSON lines in the folder of a run, so that the run can go on where it was cut off.

use crate::output;
use anyhow::{Context, Result, bail};
use rffblr_methods::select::lines::{Contents, JsonLines, Writers};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Name of the file in the folder of a run.
const FILE: &str = "raw.jsonl";
const FORMAT: u32 = 1;

/// First line of the file.
#[derive(Serialize, Deserialize)]
struct Header {
    /// Which experiment this is.
    results: String,
    format: u32,
}

/// All records of a run, old and new.
pub struct Store<R> {
    lines: JsonLines,
    records: Mutex<Vec<R>>,
}

impl<R: Serialize + DeserializeOwned + Clone> Store<R> {
    /// Opens the results of an experiment in a folder, or begins them.
    pub fn open(folder: &Path, experiment: &str) -> Result<Store<R>> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let path = folder.join(FILE);
        let (lines, contents) = JsonLines::open(&path, &header(experiment)?, Writers::One)?;
        tell_unreadable(&path, &contents, "what they recorded is run again");
        Ok(Store { lines, records: Mutex::new(contents.records) })
    }

    /// Adds a record.
    pub fn add(&self, record: R) -> Result<()> {
        self.lines.add(&record)?;
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        Ok(())
    }

    /// Everything recorded so far.
    pub fn records(&self) -> Vec<R> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The records of an experiment in a folder, which is only read.
pub fn read<R: DeserializeOwned>(folder: &Path, experiment: &str) -> Result<Vec<R>> {
    let path = folder.join(FILE);
    let contents = JsonLines::read(&path, &header(experiment)?)?;
    tell_unreadable(&path, &contents, "they are left out");
    Ok(contents.records)
}

/// The experiment whose results lie in a folder.
pub fn experiment(folder: &Path) -> Result<String> {
    let path = folder.join(FILE);
    let bytes =
        std::fs::read(&path).with_context(|| format!("{} holds no results: cannot read {FILE}", folder.display()))?;
    // Bytes, not text: a line that was cut off may end inside a letter.
    let first = bytes.split(|&byte| byte == b'\n').next();
    let header: Option<Header> = first.and_then(|first| serde_json::from_slice(first).ok());
    match header {
        Some(header) => Ok(header.results),
        None => bail!("{} does not begin as results of this program do", path.display()),
    }
}

fn header(experiment: &str) -> Result<String> {
    Ok(serde_json::to_string(&Header { results: experiment.to_owned(), format: FORMAT })?)
}

fn tell_unreadable<R>(path: &Path, contents: &Contents<R>, consequence: &str) {
    if contents.unreadable > 0 {
        let (count, path) = (contents.unreadable, path.display());
        output::note(&format!("{path}: lines that cannot be read, as after an interruption: {count}; {consequence}"));
    }
}
