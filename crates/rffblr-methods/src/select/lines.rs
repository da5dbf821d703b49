//! A file of JSON lines that is only ever appended to: a header that says what it holds, then one record in each line.
//!
//! A line that cannot be read, such as one that an interruption or a full disk cut off, costs that record alone.

use rffblr::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file to which records are added, possibly by several threads.
#[derive(Debug)]
pub struct JsonLines {
    path: PathBuf,
    end: Mutex<End<File>>,
}

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub struct Contents<R> {
    /// The records, in the order of the file.
    pub records: Vec<R>,
    /// How many other lines there are.
    pub unreadable: usize,
}

/// Who may write to a file at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Any number of programs.
    Many,
    /// This one alone.
    One,
}

impl JsonLines {
    /// Opens a file with this header to add to it, or begins one, and reads what it holds. A file that begins otherwise
    /// is refused and left as it is.
    pub fn open<R: DeserializeOwned>(path: &Path, header: &str, writers: Writers) -> Result<(JsonLines, Contents<R>)> {
        let io = Error::io(path);
        // Reading a terminal or a pipe would wait for ever.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(refused(path, "it is not a plain file; name one".into()));
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(&io)?;
        if writers == Writers::One && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(refused(path, "another program writes to it; wait for it, or name another".into()));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(&io)?;
        let first = format!("{header}\n");
        // Empty, or cut off in its first line.
        let is_begun = bytes.len() < first.len() && first.as_bytes().starts_with(&bytes);
        if is_begun {
            file.write_all(&first.as_bytes()[bytes.len()..]).map_err(&io)?;
            bytes = first.into_bytes();
        }
        let contents = parse(path, header, &bytes)?;
        let end = End { file, is_cut_off: !bytes.ends_with(b"\n") };
        Ok((JsonLines { path: path.to_owned(), end: Mutex::new(end) }, contents))
    }

    /// Reads what a file with this header holds; the file is not touched.
    pub fn read<R: DeserializeOwned>(path: &Path, header: &str) -> Result<Contents<R>> {
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        parse(path, header, &bytes)
    }

    /// Adds a record.
    pub fn add(&self, record: &impl Serialize) -> Result<()> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.add(record).map_err(Error::io(&self.path))
    }
}

/// The end of a file.
#[derive(Debug)]
struct End<W> {
    file: W,
    /// Whether the last line has no end, because writing it failed.
    is_cut_off: bool,
}

impl<W: Write> End<W> {
    /// Adds one whole line in one write. One that fails is closed by the next, so that it costs no other record.
    fn add(&mut self, record: &impl Serialize) -> io::Result<()> {
        let start = if self.is_cut_off { "\n" } else { "" };
        let line = format!("{start}{}\n", serde_json::to_string(record)?);
        let written = self.file.write_all(line.as_bytes());
        self.is_cut_off = written.is_err();
        written
    }
}

fn parse<R: DeserializeOwned>(path: &Path, header: &str, bytes: &[u8]) -> Result<Contents<R>> {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    if first != header.as_bytes() {
        let found: String = String::from_utf8_lossy(first).chars().take(80).collect();
        return Err(refused(path, format!("it begins with {found}, not with {header}; name another file")));
    }
    let mut contents = Contents { records: Vec::new(), unreadable: 0 };
    for line in lines.filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(record) => contents.records.push(record),
            Err(_) => contents.unreadable += 1,
        }
    }
    Ok(contents)
}

fn refused(path: &Path, problem: String) -> Error {
    Error::Journal { path: path.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const HEADER: &str = "{\"what\":\"counts\"}";

    /// A record that is not the beginning of another.
    type Count = [u32; 1];

    fn open(path: &Path) -> Result<(JsonLines, Contents<Count>)> {
        JsonLines::open(path, HEADER, Writers::Many)
    }

    #[test]
    fn a_file_cut_off_anywhere_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (lines, _) = open(&path).unwrap();
        (0..3).for_each(|number| lines.add(&[number]).unwrap());
        let whole = fs::read(&path).unwrap();
        assert_eq!(whole, b"{\"what\":\"counts\"}\n[0]\n[1]\n[2]\n");
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let (lines, known) = open(&path).unwrap();
            let expected = length.saturating_sub(HEADER.len()) / 4;
            assert!((0..expected as u32).map(|number| [number]).eq(known.records.iter().copied()), "{length}");
            lines.add(&[9]).unwrap();
            let again = JsonLines::read::<Count>(&path, HEADER).unwrap();
            assert_eq!(again.records, [known.records, vec![[9]]].concat(), "{length}");
            assert_eq!(again.unreadable, known.unreadable, "{length}");
        }
    }

    /// Takes this many bytes and then fails, once.
    struct Full(Vec<u8>, Option<usize>);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.1.unwrap_or(usize::MAX);
            if room == 0 {
                self.1 = None;
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(room);
            self.0.extend(&bytes[..count]);
            self.1 = self.1.map(|room| room - count);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_costs_the_record_that_was_being_written() {
        let whole = "[1]\n[2]\n[3]\n".len();
        for room in 0..whole {
            let mut end = End { file: Full(Vec::new(), Some(room)), is_cut_off: false };
            let added: Vec<Count> = (1..=3).map(|number| [number]).filter(|record| end.add(record).is_ok()).collect();
            assert_eq!(added.len(), 2, "{room}");
            let bytes = [HEADER.as_bytes(), b"\n", &end.file.0].concat();
            let mut found = parse::<Count>(Path::new("a"), HEADER, &bytes).unwrap().records;
            // A line that lacks nothing but its end counts.
            found.retain(|record| added.contains(record));
            assert_eq!(found, added, "{room}");
        }
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for other in ["my notes\n", "my notes", "{}\n[1]\n", "{\"what\":\"counts\",\"format\":2}\n[1]\n"] {
            fs::write(&path, other).unwrap();
            let message = open(&path).unwrap_err().to_string();
            assert!(message.contains("not with {\"what\":\"counts\"}"), "{message}");
            assert!(JsonLines::read::<Count>(&path, HEADER).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        assert!(open(folder.path()).unwrap_err().to_string().contains("not a plain file"));
    }

    #[test]
    fn one_writer_keeps_others_away_but_no_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let alone = || JsonLines::open::<Count>(&path, HEADER, Writers::One);
        let (first, _) = alone().unwrap();
        assert!(alone().unwrap_err().to_string().contains("another program"));
        assert!(JsonLines::read::<Count>(&path, HEADER).is_ok());
        drop(first);
        assert!(alone().is_ok());
    }
}
