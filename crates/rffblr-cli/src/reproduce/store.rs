//! Raw results: JSON lines in a file that is only ever appended to, so that a run can go on where it was cut off.

use crate::output;
use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
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
    path: PathBuf,
    state: Mutex<State<R>>,
}

struct State<R> {
    file: File,
    records: Vec<R>,
}

impl<R: Serialize + DeserializeOwned + Clone> Store<R> {
    /// Opens the results of an experiment in a folder, or begins them. A last line that is damaged is cut off: what it
    /// recorded is run again. Anything else that cannot be read is an error, since it may be the results of something
    /// else.
    pub fn open(folder: &Path, experiment: &str) -> Result<Store<R>> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let path = folder.join(FILE);
        let cannot = || format!("cannot use {}", path.display());
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).with_context(cannot)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            bail!("another run writes to {}; wait for it, or name another folder with --out", path.display());
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(cannot)?;
        let (records, whole) = read(&bytes, experiment).with_context(cannot)?;
        if whole < bytes.len() {
            output::note(&format!("the last line of {} was cut off; it is run again", path.display()));
            file.set_len(whole as u64).with_context(cannot)?;
        }
        file.seek(SeekFrom::End(0)).with_context(cannot)?;
        if whole == 0 {
            file.write_all(line(&header(experiment))?.as_bytes()).with_context(cannot)?;
        } else if bytes[whole - 1] != b'\n' {
            file.write_all(b"\n").with_context(cannot)?;
        }
        Ok(Store { path, state: Mutex::new(State { file, records }) })
    }

    /// Adds a record in one write of one whole line.
    pub fn add(&self, record: R) -> Result<()> {
        let text = line(&record)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", self.path.display()))?;
        state.records.push(record);
        Ok(())
    }

    /// Everything recorded so far, in the order of the file.
    pub fn records(&self) -> Vec<R> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).records.clone()
    }
}

/// The experiment whose results lie in a folder.
pub fn experiment(folder: &Path) -> Result<String> {
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{} holds no results: cannot read {FILE}", folder.display()))?;
    let header: Option<Header> = text.lines().next().and_then(|first| serde_json::from_str(first).ok());
    match header {
        Some(header) => Ok(header.results),
        None => bail!("{} does not begin as results of this program do", path.display()),
    }
}

fn line(value: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    Ok(text)
}

/// The records in a file and the length of the part of it that is whole.
fn read<R: DeserializeOwned>(bytes: &[u8], experiment: &str) -> Result<(Vec<R>, usize)> {
    let mut records = Vec::new();
    let mut start = 0;
    for (number, text) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let end = start + text.len();
        let problem = if number == 0 {
            check_header(text, experiment).err()
        } else {
            match serde_json::from_slice(text) {
                Ok(record) => {
                    records.push(record);
                    None
                }
                Err(error) => Some(error.into()),
            }
        };
        match problem {
            None => start = end,
            // A first line may be cut off too, but then nothing of another file may stand there.
            Some(_)
                if end == bytes.len() && (number > 0 || line(&header(experiment))?.as_bytes().starts_with(text)) =>
            {
                return Ok((records, start));
            }
            Some(problem) => return Err(problem.context(format!("line {} is damaged", number + 1))),
        }
    }
    Ok((records, start))
}

fn header(experiment: &str) -> Header {
    Header { results: experiment.to_owned(), format: FORMAT }
}

fn check_header(text: &[u8], experiment: &str) -> Result<()> {
    let found: Header = serde_json::from_slice(text).context("these are not results of this program")?;
    if found.results != experiment {
        bail!("these are results of {}, not of {experiment}; name another folder with --out", found.results);
    }
    if found.format != FORMAT {
        bail!("these results have format {}, this program writes format {FORMAT}; name another folder", found.format);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path) -> Result<Store<u32>> {
        Store::open(folder, "counting")
    }

    #[test]
    fn records_come_back_and_a_damaged_end_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let store = open(folder.path()).unwrap();
        (0..3).for_each(|number| store.add(number).unwrap());
        let whole = std::fs::read(&path).unwrap();
        drop(store);
        // Cut at every length: never more than one record is lost beyond the cut, and a new one can follow.
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let store = open(folder.path()).unwrap();
            let known = store.records();
            assert!((0..3).take(known.len()).eq(known.iter().copied()), "{length}: {known:?}");
            store.add(9).unwrap();
            drop(store);
            let again = open(folder.path()).unwrap().records();
            assert_eq!(again, [known, vec![9]].concat());
        }
        // Damaged but ended.
        std::fs::write(&path, [&whole[..], b"{\"half\n"].concat()).unwrap();
        assert_eq!(open(folder.path()).unwrap().records(), [0, 1, 2]);
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let others = [
            "my notes\n",
            "my notes",
            "{\"results\":\"counting\",\"format\":1}\nnot a number\n7\n",
            "{}\n1\n",
            "{\"results\":\"other\",\"format\":1}\n1\n",
            "{\"results\":\"counting\",\"format\":2}\n1\n",
        ];
        for other in others {
            std::fs::write(&path, other).unwrap();
            assert!(open(folder.path()).is_err(), "{other}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
    }

    #[test]
    fn two_runs_do_not_share_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = open(folder.path()).unwrap();
        assert!(format!("{:#}", open(folder.path()).err().unwrap()).contains("another run"));
        drop(first);
        assert!(open(folder.path()).is_ok());
    }
}
