//! A file that remembers finished inner folds: JSON lines, only ever appended to.

use super::Plan;
use rffblr::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// First line of the file: nothing else is ever appended to.
const HEADER: &str = "{\"journal\":\"rffblr selection\",\"format\":1}\n";

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
            held_out: hash.finalize().iter().map(|b| format!("{b:02x}")).collect(),
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
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    known: HashMap<Identity, Vec<f64>>,
}

impl Journal {
    /// Opens a journal, or begins one where there is no file. A file that is something else is refused.
    pub fn open(path: &Path) -> Result<Journal> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        // Reading a terminal or a pipe would wait for ever.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            let problem = "it is not a plain file; name one for the journal";
            return Err(Error::Journal { path: path.to_owned(), problem });
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        if !bytes.starts_with(HEADER.as_bytes()) {
            if !HEADER.as_bytes().starts_with(&bytes) {
                let problem = "it is not a journal of selections; name another file, or one that does not exist yet";
                return Err(Error::Journal { path: path.to_owned(), problem });
            }
            // Empty, or interrupted in its first line.
            file.write_all(&HEADER.as_bytes()[bytes.len()..]).map_err(io)?;
        } else if !bytes.ends_with(b"\n") {
            file.write_all(b"\n").map_err(io)?;
        }
        let lines = bytes.split(|&byte| byte == b'\n').skip(1);
        let known = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok()).filter_map(Line::read).collect();
        Ok(Journal { path: path.to_owned(), state: Mutex::new(State { file, known }) })
    }

    /// Number of inner folds it knows.
    pub fn len(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).known.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The scores of an inner fold, if it is known.
    pub(super) fn find(&self, identity: &Identity) -> Option<Vec<f64>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).known.get(identity).cloned()
    }

    /// Adds an inner fold, in one write of one whole line.
    pub(super) fn add(&self, identity: Identity, scores: &[f64]) -> Result<()> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        let finite = scores.iter().map(|score| score.is_finite().then_some(*score)).collect();
        let line = Line { identity, scores: finite };
        let mut text = serde_json::to_string(&line).map_err(|error| io(error.into()))?;
        text.push('\n');
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.file.write_all(text.as_bytes()).map_err(io)?;
        state.known.insert(line.identity, scores.to_vec());
        Ok(())
    }
}

impl Line {
    /// `None` if the number of scores is not the number of points.
    fn read(self) -> Option<(Identity, Vec<f64>)> {
        let scores: Vec<f64> = self.scores.into_iter().map(|score| score.unwrap_or(f64::NEG_INFINITY)).collect();
        (scores.len() == self.identity.points).then_some((self.identity, scores))
    }
}
