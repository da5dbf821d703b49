//! The bytes of a file or of standard input, readable from the start more than once.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::TableError;

/// Bytes that decide on the format and the delimiter.
pub(super) const HEAD: usize = 64 << 10;

/// Where a table is read from.
pub(super) struct Source {
    name: String,
    input: Input,
}

enum Input {
    /// A regular file is opened anew for every pass.
    File(PathBuf),
    /// Standard input and pipes can be read once: what has been read is kept for the next pass.
    Stream { rest: Box<dyn Read + Send>, kept: Vec<u8> },
}

impl Source {
    /// Opens `path`, where `-` stands for standard input.
    pub(super) fn new(path: &Path) -> Result<Source, TableError> {
        if path.as_os_str() == "-" {
            return Ok(Source::stream("standard input", Box::new(io::stdin())));
        }
        let name = path.display().to_string();
        let failed = |cause| TableError::Read { file: name.clone(), cause };
        let found = fs::metadata(path).map_err(failed)?;
        if found.is_dir() {
            return Err(TableError::Folder { file: name });
        }
        if found.is_file() {
            let input = Input::File(path.to_path_buf());
            return Ok(Source { name, input });
        }
        let stream = Box::new(File::open(path).map_err(failed)?);
        Ok(Source::stream(&name, stream))
    }

    fn stream(name: &str, rest: Box<dyn Read + Send>) -> Source {
        let kept = Vec::new();
        Source { name: name.to_owned(), input: Input::Stream { rest, kept } }
    }

    /// The name that messages show.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The path, if this is a regular file.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.input {
            Input::File(path) => Some(path),
            Input::Stream { .. } => None,
        }
    }

    /// A reader that begins at the first byte.
    pub(super) fn open(&mut self) -> Result<Box<dyn Read + Send + '_>, TableError> {
        match &mut self.input {
            Input::File(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(file)),
                Err(cause) => Err(TableError::Read { file: self.name.clone(), cause }),
            },
            Input::Stream { rest, kept } => Ok(Box::new(Replay { rest, kept, at: 0 })),
        }
    }

    /// The first [`HEAD`] bytes, or all of a shorter file.
    pub(super) fn head(&mut self) -> Result<Vec<u8>, TableError> {
        self.bytes(HEAD as u64)
    }

    /// Everything, for formats that are not read front to back.
    pub(super) fn all(&mut self) -> Result<Vec<u8>, TableError> {
        self.bytes(u64::MAX)
    }

    fn bytes(&mut self, limit: u64) -> Result<Vec<u8>, TableError> {
        let mut bytes = Vec::new();
        let outcome = self.open()?.take(limit).read_to_end(&mut bytes);
        match outcome {
            Ok(_) => Ok(bytes),
            Err(cause) => Err(TableError::Read { file: self.name.clone(), cause }),
        }
    }
}

/// Reads what was kept first, then the rest of the stream, which it keeps too.
struct Replay<'a> {
    rest: &'a mut (dyn Read + Send),
    kept: &'a mut Vec<u8>,
    at: usize,
}

impl Read for Replay<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut known = self.kept.get(self.at..).unwrap_or(&[]);
        let count = if known.is_empty() {
            let count = self.rest.read(buffer)?;
            self.kept.extend(buffer.iter().take(count));
            count
        } else {
            known.read(buffer)?
        };
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, as a slow pipe may.
    struct Drip(Vec<u8>);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match buffer.first_mut() {
                Some(byte) if !self.0.is_empty() => {
                    *byte = self.0.remove(0);
                    Ok(1)
                }
                _ => Ok(0),
            }
        }
    }

    #[test]
    fn a_stream_starts_over_on_every_pass() {
        let mut source = Source::stream("pipe", Box::new(Drip(b"hello world".to_vec())));
        assert_eq!(source.bytes(4).unwrap(), b"hell");
        assert_eq!(source.bytes(7).unwrap(), b"hello w");
        assert_eq!(source.all().unwrap(), b"hello world");
        assert_eq!(source.all().unwrap(), b"hello world");
        assert_eq!(source.path(), None);
    }
}
