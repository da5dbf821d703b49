//! The partial file of a download, and its checksum.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::CatalogueError;

/// Size of the blocks that are read, hashed and written at once.
pub(super) const BUFFER_BYTES: usize = 64 * 1024;

/// The partial file, locked against other downloads, with the running checksum of its content.
pub(super) struct PartFile {
    path: PathBuf,
    file: File,
    hasher: Sha256,
    /// Bytes in the file.
    pub(super) received: u64,
    expected: Option<&'static str>,
}

impl PartFile {
    pub(super) fn open(
        target: &Path,
        expected: Option<&'static str>,
        max_bytes: u64,
    ) -> Result<PartFile, CatalogueError> {
        let mut path = target.as_os_str().to_os_string();
        path.push(".part");
        let path = PathBuf::from(path);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(at("open", &path))?;
        // File systems without locks are used unlocked. The other download may also have ended
        // between opening and locking: then the file opened here is the renamed, finished one.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !path.exists() {
            return Err(CatalogueError::Busy { part: path });
        }
        let mut part = PartFile { path, file, hasher: Sha256::new(), received: 0, expected };
        let bytes = regular_size(&part.file).map_err(at("read", &part.path))?;
        // Without a checksum nobody could tell whether old and new bytes are of the same file.
        if expected.is_some() && bytes <= max_bytes {
            let hashed = hash_all(&mut part.file).map_err(at("read", &part.path))?;
            (part.hasher, part.received) = hashed;
        } else {
            part.restart()?;
        }
        Ok(part)
    }

    /// Forgets everything received so far.
    pub(super) fn restart(&mut self) -> Result<(), CatalogueError> {
        self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0))).map_err(at("empty", &self.path))?;
        self.hasher = Sha256::new();
        self.received = 0;
        Ok(())
    }

    pub(super) fn append(&mut self, block: &[u8]) -> Result<(), CatalogueError> {
        self.file.write_all(block).map_err(at("write", &self.path))?;
        self.hasher.update(block);
        self.received += block.len() as u64;
        Ok(())
    }

    fn sha256(&self) -> String {
        hex(self.hasher.clone())
    }

    pub(super) fn is_complete(&self) -> bool {
        self.expected == Some(self.sha256().as_str())
    }

    /// Compares the complete file with the expected checksum.
    pub(super) fn check(&self, url: &str) -> Result<String, CatalogueError> {
        let found = self.sha256();
        match self.expected {
            Some(expected) if found != expected => Err(CatalogueError::WrongChecksum {
                url: url.to_string(),
                bytes: self.received,
                found,
                expected: expected.to_string(),
            }),
            _ => Ok(found),
        }
    }

    pub(super) fn rename_to(self, target: &Path) -> Result<(), CatalogueError> {
        // On disk before it gets its name, so that a power cut cannot leave half a file;
        // and renamed before the lock is released, so that nobody else can still write to it.
        self.file.sync_all().map_err(at("write", &self.path))?;
        fs::rename(&self.path, target).map_err(at("rename to the final name", &self.path))
    }

    /// The path to name in an error, when the file is worth keeping.
    pub(super) fn kept(&self) -> Option<PathBuf> {
        (self.expected.is_some() && self.received > 0).then(|| self.path.clone())
    }

    /// After a failure: removes the file unless a later attempt can go on from it.
    pub(super) fn leave(self, error: &CatalogueError) {
        let hopeless = matches!(error, CatalogueError::WrongChecksum { .. } | CatalogueError::TooLarge { .. });
        if hopeless || self.kept().is_none() {
            // A file that cannot be removed does no harm: its content is checked next time.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Size of a regular file; an error for folders, pipes and devices, which may never end.
pub(super) fn regular_size(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(metadata.len()) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Reads `file` from where it stands to its end; returns the checksum so far and the bytes read.
pub(super) fn hash_all(file: &mut File) -> io::Result<(Sha256, u64)> {
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(block) = buffer.get(..read).filter(|block| !block.is_empty()) else {
            return Ok((hasher, bytes));
        };
        hasher.update(block);
        bytes += block.len() as u64;
    }
}

pub(super) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Names the action and the path in an input or output error.
pub(super) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CatalogueError {
    let path = path.to_path_buf();
    move |source| CatalogueError::Io { action, path, source }
}
