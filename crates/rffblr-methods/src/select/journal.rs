//! A file that remembers finished inner folds.

use super::Plan;
use super::lines::{JsonLines, Writers};
use rffblr::Result;
use rffblr::internals::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// First line of the file: nothing else is ever appended to.
const HEADER: &str = "{\"journal\":\"rffblr selection\",\"format\":1}";

/// Everything the scores of an inner fold depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Version of the program, with its commit where known: another one may fit otherwise.
    version: String,
    method: String,
    grid: String,
    points: usize,
    seed: u64,
    fold: usize,
    /// SHA-256 of the positions held out.
    held_out: String,
    /// Fingerprint of the rows the inner folds divide.
    data: String,
}

impl Identity {
    pub(super) fn new(
        method: &str,
        points: usize,
        plan: &Plan<'_>,
        fold: usize,
        held_out: &[usize],
        data: &str,
    ) -> Self {
        let mut hash = Sha256::new();
        held_out.iter().for_each(|&row| hash.update((row as u64).to_le_bytes()));
        Identity {
            version: crate::VERSION.to_owned(),
            method: method.to_owned(),
            grid: plan.grid.name().to_owned(),
            points,
            seed: plan.seed,
            fold,
            held_out: hex(hash.finalize()),
            data: data.to_owned(),
        }
    }
}

/// One line: an inner fold and the scores of all points on it.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    identity: Identity,
    /// JSON has no −∞, the score of a point that failed: it is `null`.
    scores: Vec<Option<f64>>,
}

/// Inner folds that are done, kept in a file so that an interrupted selection can go on.
///
/// Scores are found again only if everything they depend on is the same: version, method, grid, seed, training data
/// and rows held out. Lines that cannot be read, such as one cut off by an interruption, are ignored.
#[derive(Debug)]
pub struct Journal {
    lines: JsonLines,
    known: Mutex<HashMap<Identity, Vec<f64>>>,
}

impl Journal {
    /// Opens a journal, or begins one where there is no file. A file that is something else is refused.
    pub fn open(path: &Path) -> Result<Journal> {
        let (lines, contents) = JsonLines::open(path, HEADER, Writers::Many)?;
        let known = contents.records.into_iter().filter_map(Line::read).collect();
        Ok(Journal { lines, known: Mutex::new(known) })
    }

    /// Number of inner folds it knows.
    pub fn len(&self) -> usize {
        self.known().len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The scores of an inner fold, if it is known.
    pub(super) fn find(&self, identity: &Identity) -> Option<Vec<f64>> {
        self.known().get(identity).cloned()
    }

    /// Adds an inner fold.
    pub(super) fn add(&self, identity: Identity, scores: &[f64]) -> Result<()> {
        let finite = scores.iter().map(|score| score.is_finite().then_some(*score)).collect();
        let line = Line { identity, scores: finite };
        self.lines.add(&line)?;
        self.known().insert(line.identity, scores.to_vec());
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Identity, Vec<f64>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// `None` if the number of scores is not the number of points.
    fn read(self) -> Option<(Identity, Vec<f64>)> {
        let scores: Vec<f64> = self.scores.into_iter().map(|score| score.unwrap_or(f64::NEG_INFINITY)).collect();
        (scores.len() == self.identity.points).then_some((self.identity, scores))
    }
}
