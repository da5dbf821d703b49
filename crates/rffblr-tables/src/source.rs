//! The bytes of a file or of standard input, readable from the start more than once.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::packing::{Letters, Packing};
use super::{TableError, TextEncoding};

/// Bytes that decide on the format and the delimiter.
pub(super) const HEAD: usize = 64 << 10;

/// Where a table is read from.
pub(super) struct Source {
    name: String,
    input: Input,
    pub(super) packing: Packing,
    /// Of a text, once that is known to be one.
    pub(super) letters: Letters,
    /// Whether a little packed may become very much.
    pub(super) allow_expansion: bool,
}

enum Input {
    /// A regular file is opened anew for every pass.
    File(PathBuf),
    /// Standard input and pipes can be read once: what has been read is kept for the next pass.
    Stream { rest: Box<dyn Read + Send>, kept: Vec<u8> },
    /// A file in memory.
    Bytes(Vec<u8>),
    /// What was made of another file.
    Made(Vec<u8>),
}

impl Source {
    /// Opens `path`, where `-` stands for standard input.
    pub(super) fn new(path: &Path) -> Result<Source, TableError> {
        if path.as_os_str() == "-" {
            return Source::stream("standard input", Box::new(io::stdin())).recognised();
        }
        let name = path.display().to_string();
        let failed = |cause| TableError::Read { file: name.clone(), cause };
        let found = fs::metadata(path).map_err(failed)?;
        if found.is_dir() {
            return Err(TableError::Folder { file: name });
        }
        if found.is_file() {
            return Source::of(&name, Input::File(path.to_path_buf())).recognised();
        }
        let stream = Box::new(File::open(path).map_err(failed)?);
        Source::stream(&name, stream).recognised()
    }

    fn of(name: &str, input: Input) -> Source {
        Source { name: name.to_owned(), input, packing: Packing::Plain, letters: Letters::Utf8, allow_expansion: false }
    }

    fn stream(name: &str, rest: Box<dyn Read + Send>) -> Source {
        Source::of(name, Input::Stream { rest, kept: Vec::new() })
    }

    /// A file in memory, under this name.
    pub(super) fn bytes_of(name: &str, bytes: Vec<u8>) -> Result<Source, TableError> {
        Source::of(name, Input::Bytes(bytes)).recognised()
    }

    /// Text that was made of a file with this name.
    pub(super) fn made(name: &str, bytes: Vec<u8>) -> Source {
        Source::of(name, Input::Made(bytes))
    }

    /// The same, unpacked as it is read.
    fn recognised(mut self) -> Result<Source, TableError> {
        let start = self.bytes(4)?;
        self.packing = Packing::of(&start);
        Ok(self)
    }

    /// Recognises the encoding of a text, unless one is asked for.
    pub(super) fn is_text(&mut self, asked: Option<TextEncoding>) -> Result<(), TableError> {
        let head = self.head()?;
        self.letters = Letters::of(&head, asked);
        Ok(())
    }

    /// The name that messages show.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The path, if this is a regular file.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.input {
            Input::File(path) => Some(path),
            Input::Stream { .. } | Input::Bytes(_) | Input::Made(_) => None,
        }
    }

    /// A reader of the unpacked bytes that begins at the first.
    fn open(&mut self) -> Result<Box<dyn Read + Send + '_>, TableError> {
        let failed = |cause| TableError::Read { file: self.name.clone(), cause };
        let (packing, allowed) = (self.packing, self.allow_expansion);
        match &mut self.input {
            Input::File(path) => File::open(path).and_then(|file| unpacked(packing, allowed, file)).map_err(failed),
            Input::Stream { rest, kept } => unpacked(packing, allowed, Replay { rest, kept, at: 0 }).map_err(failed),
            Input::Bytes(bytes) => unpacked(packing, allowed, &bytes[..]).map_err(failed),
            Input::Made(bytes) => Ok(Box::new(&bytes[..])),
        }
    }

    /// A reader of the text, as UTF-8.
    pub(super) fn text(&mut self) -> Result<Box<dyn Read + Send + '_>, TableError> {
        let letters = self.letters;
        Ok(letters.decode(self.open()?))
    }

    /// The first [`HEAD`] bytes, or all of a shorter file.
    pub(super) fn head(&mut self) -> Result<Vec<u8>, TableError> {
        self.bytes(HEAD as u64)
    }

    /// The same of the text, as UTF-8.
    pub(super) fn text_head(&mut self) -> Result<Vec<u8>, TableError> {
        let mut bytes = Vec::new();
        let outcome = self.text()?.take(HEAD as u64).read_to_end(&mut bytes);
        self.outcome(outcome, bytes)
    }

    /// Everything, for formats that are not read front to back.
    pub(super) fn all(&mut self) -> Result<Vec<u8>, TableError> {
        self.bytes(u64::MAX)
    }

    fn bytes(&mut self, limit: u64) -> Result<Vec<u8>, TableError> {
        let mut bytes = Vec::new();
        let outcome = self.open()?.take(limit).read_to_end(&mut bytes);
        self.outcome(outcome, bytes)
    }

    fn outcome(&self, outcome: io::Result<usize>, bytes: Vec<u8>) -> Result<Vec<u8>, TableError> {
        outcome.map(|_| bytes).map_err(|cause| TableError::Read { file: self.name.clone(), cause })
    }
}

fn unpacked<'a>(
    packing: Packing,
    allow_expansion: bool,
    input: impl Read + Send + 'a,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    if allow_expansion { packing.unpack(input) } else { packing.unpack_modest(input) }
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
