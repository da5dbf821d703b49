//! A file from which a pass over many rows goes on after it was broken off.

use super::{FileFit, Parts};
use rffblr::data::{Encoder, Present, Summary};
use rffblr::drawn::Accumulator;
use rffblr::internals::{WholeFile, folder_of, is_device, write_whole};
use rffblr::{Error, Result};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Starts the file; what it was made for and the accumulator follow, the former after its length.
const MAGIC: &[u8; 8] = b"RFFBLRC1";
/// Time between two writings, and how many times longer than a writing it is at least.
const INTERVAL: Duration = Duration::from_secs(30);
const SHARE: u32 = 20;

pub(super) struct Checkpoint {
    path: PathBuf,
    /// Everything the sums depend on, as text.
    purpose: String,
    next: Instant,
}

const NOT_ONE: &str = "it is there already and not a checkpoint; name another file";

/// An error, before any work, if a job could not write its checkpoint here or would destroy another file by it.
pub(super) fn expect_usable(path: &Path, files: &[PathBuf]) -> Result<()> {
    let wrong = |problem: String| Err(Error::Checkpoint { path: path.to_owned(), problem });
    if path.is_dir() {
        return wrong("it is a folder; name a file in it".into());
    }
    if is_device(path) {
        return wrong("it is no file that can be replaced; name another".into());
    }
    let own = path.canonicalize();
    let is_own = |file: &&PathBuf| own.as_ref().is_ok_and(|own| file.canonicalize().is_ok_and(|file| file == *own));
    if let Some(input) = files.iter().find(is_own) {
        return wrong(format!("it is the same file as the input {}; name another file", input.display()));
    }
    let mut start = Vec::new();
    match File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start)) {
        Ok(_) if start != MAGIC => return wrong(NOT_ONE.into()),
        Err(problem) if problem.kind() != ErrorKind::NotFound => return wrong(format!("{problem}; name another file")),
        _ => {}
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return wrong(format!("there is no folder {}; make it, or name a file in another", folder.display()));
    }
    // It leaves no trace.
    let cannot = |problem: io::Error| {
        let kind = problem.kind();
        wrong(format!("no file can be written to {} ({kind}); name a file in another folder", folder.display()))
    };
    WholeFile::create(path, true).map_or_else(cannot, |_| Ok(()))
}

impl Checkpoint {
    pub(super) fn new(path: &Path, parts: &Parts, summary: &Summary, encoder: &Encoder, job: &FileFit) -> Checkpoint {
        let numbers = |present: &Present| match present {
            Present::Numbers(moments) => Some(*moments),
            Present::Texts(_) => None,
        };
        let columns: Vec<_> = summary.columns().iter().map(|column| (&column.name, numbers(&column.present))).collect();
        let about = (parts.files(), parts.bytes(), summary.rows(), columns, encoder, &job.settings, job.hold_out);
        Checkpoint { path: path.to_owned(), purpose: format!("{about:?}"), next: Instant::now() }
    }

    /// The sums that were saved, if any were.
    pub(super) fn read(&self) -> Result<Option<Accumulator>> {
        let io = Error::io(&self.path);
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(problem) if problem.kind() == ErrorKind::NotFound => return Ok(None),
            Err(problem) => return Err(io(problem)),
        };
        let wrong = |problem: &str| Error::Checkpoint { path: self.path.clone(), problem: problem.into() };
        // What does not even begin as one is not read to its end, which there may not be.
        let mut bytes = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(&io)?;
        if bytes != MAGIC {
            return Err(wrong(NOT_ONE));
        }
        bytes.clear();
        file.read_to_end(&mut bytes).map_err(&io)?;
        let (length, rest) = bytes.split_first_chunk().ok_or_else(|| wrong("it is cut off; remove it"))?;
        let split = usize::try_from(u64::from_le_bytes(*length)).ok().and_then(|length| rest.split_at_checked(length));
        match split {
            Some((purpose, sums)) if purpose == self.purpose.as_bytes() => Ok(Some(Accumulator::from_bytes(sums)?)),
            _ => Err(wrong("it is of other files or settings; remove it, or name another file")),
        }
    }

    /// Saves the sums, the first time and then now and again.
    pub(super) fn save(&mut self, rows: u64, sums: &Accumulator) -> Result<()> {
        let start = Instant::now();
        if rows > 0 && start < self.next {
            return Ok(());
        }
        let sums = sums.to_bytes()?;
        let length = (self.purpose.len() as u64).to_le_bytes();
        let parts = [MAGIC, &length[..], self.purpose.as_bytes(), &sums];
        let written = write_whole(&self.path, true, |file| parts.iter().try_for_each(|part| file.write_all(part)));
        written.map_err(Error::io(&self.path))?;
        self.next = Instant::now() + INTERVAL.max(SHARE * start.elapsed());
        Ok(())
    }
}
