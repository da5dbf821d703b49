//! A file of JSON lines that is only ever appended to: a header that says what it holds, then one record in each line.
//!
//! A write that fails, on a full disk for example, is taken back. Where even that fails, or the program was killed, half a
//! line is left at the end: whoever writes next begins a new one, and that record alone is lost.

use rffblr::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file to which records are added, possibly by several threads.
#[derive(Debug)]
pub struct JsonLines {
    path: PathBuf,
    writers: Writers,
    file: Mutex<File>,
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
    /// Any number of programs, a line at a time.
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
        let first = format!("{header}\n");
        let is_begun = |bytes: &[u8]| bytes.len() < first.len() && first.as_bytes().starts_with(bytes);
        let mut bytes = read_all(&mut file).map_err(&io)?;
        // Empty, or cut off in its first line.
        if is_begun(&bytes) {
            let complete = |mut file: &File| -> io::Result<Vec<u8>> {
                // Another program may have completed it meanwhile.
                let bytes = read_all(&mut file)?;
                if !is_begun(&bytes) {
                    return Ok(bytes);
                }
                file.write_all(&first.as_bytes()[bytes.len()..])?;
                Ok(first.clone().into_bytes())
            };
            bytes = alone(&file, writers, complete).map_err(&io)?;
        }
        let contents = parse(path, header, &bytes)?;
        Ok((JsonLines { path: path.to_owned(), writers, file: Mutex::new(file) }, contents))
    }

    /// Reads what a file with this header holds; the file is not touched.
    pub fn read<R: DeserializeOwned>(path: &Path, header: &str) -> Result<Contents<R>> {
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        parse(path, header, &bytes)
    }

    /// Adds a record; after an error the file is as it was, if that could be written.
    pub fn add(&self, record: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(record).map_err(io::Error::from).map_err(Error::io(&self.path))?;
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        append(&file, &mut &*file, self.writers, &line).map_err(Error::io(&self.path))?;
        // A line stands for seconds of work: it outlives a loss of power. If that cannot be had, the line is still there.
        file.sync_data().map_err(Error::io(&self.path))
    }
}

/// Adds one whole line to a file through a writer to its end, or nothing.
fn append(file: &File, end: &mut impl Write, writers: Writers, line: &str) -> io::Result<()> {
    alone(file, writers, |mut file| {
        let length = file.seek(SeekFrom::End(0))?;
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let start = if last == [b'\n'] { "" } else { "\n" };
        let written = end.write_all(format!("{start}{line}\n").as_bytes());
        if written.is_err() {
            // If this fails too, the next line starts a new one.
            let _ = file.set_len(length);
        }
        written
    })
}

/// Does something while no other program writes to the file; where the system has no such locks, at once.
fn alone<T>(file: &File, writers: Writers, work: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
    // A single writer has it locked for good.
    let is_locked = writers == Writers::Many && file.lock().is_ok();
    let done = work(file);
    if is_locked {
        // Closing the file unlocks it as well.
        let _ = file.unlock();
    }
    done
}

fn read_all(file: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
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
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    /// Writes to the end of a file; one write takes some bytes and then fails, as on a full disk.
    struct Full<'a> {
        file: &'a File,
        /// Writes until then.
        left: &'a AtomicUsize,
        /// Bytes it takes.
        room: usize,
    }

    impl Write for Full<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.left.fetch_sub(1, Ordering::Relaxed) != 0 {
                return self.file.write(bytes);
            }
            // A short write and the error of the one for the rest.
            self.file.write_all(&bytes[..bytes.len().min(self.room)])?;
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A file with a header, to be added to; one that cannot be cut back if it is only open for reading.
    fn begun(path: &Path) -> (File, File) {
        let _ = fs::remove_file(path);
        open(path).unwrap();
        let writable = OpenOptions::new().read(true).append(true).open(path).unwrap();
        (writable, File::open(path).unwrap())
    }

    /// What was added is there, and adding the rest makes it complete.
    fn resumes(path: &Path, added: &[Count], all: &[Count]) {
        let (lines, known) = open(path).unwrap();
        assert!(added.iter().all(|record| known.records.contains(record)), "{added:?} {known:?}");
        all.iter().filter(|record| !known.records.contains(record)).for_each(|record| lines.add(record).unwrap());
        let mut found = JsonLines::read::<Count>(path, HEADER).unwrap().records;
        found.sort_unstable();
        assert_eq!(found, all);
    }

    #[test]
    fn a_write_that_fails_costs_its_record_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let all: Vec<Count> = (1..=4).map(|number| [number]).collect();
        for (failing, room, is_cut) in
            (0..4).flat_map(|failing| (0..=4).flat_map(move |room| [true, false].map(|is_cut| (failing, room, is_cut))))
        {
            let (writable, readable) = begun(&path);
            let left = AtomicUsize::new(failing);
            let file = if is_cut { &writable } else { &readable };
            let add = |record: &&Count| {
                let mut end = Full { file: &writable, left: &left, room };
                append(file, &mut end, Writers::Many, &serde_json::to_string(record).unwrap()).is_ok()
            };
            let added: Vec<Count> = all.iter().filter(add).copied().collect();
            assert_eq!(added.len(), 3);
            let found = JsonLines::read::<Count>(&path, HEADER).unwrap();
            if is_cut {
                assert_eq!((&found.records, found.unreadable), (&added, 0));
            }
            resumes(&path, &added, &all);
        }
    }

    #[test]
    fn of_several_writers_each_keeps_its_records_when_one_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let all: Vec<Count> = (1000..1040).map(|number| [number]).collect();
        for (failing, room, is_cut) in [0, 1, 17, 39]
            .into_iter()
            .flat_map(|at| (0..=7).flat_map(move |room| [(at, room, true), (at, room, false)]))
        {
            begun(&path);
            let left = AtomicUsize::new(failing);
            // Four jobs, each of which has the file open on its own, as programs have.
            let added: Vec<Count> = std::thread::scope(|scope| {
                let jobs: Vec<_> = all
                    .chunks(10)
                    .map(|records| {
                        let (path, left) = (&path, &left);
                        scope.spawn(move || {
                            let writable = OpenOptions::new().read(true).append(true).open(path).unwrap();
                            let readable = File::open(path).unwrap();
                            let file = if is_cut { &writable } else { &readable };
                            let add = |record: &&Count| {
                                let mut end = Full { file: &writable, left, room };
                                let line = serde_json::to_string(record).unwrap();
                                append(file, &mut end, Writers::Many, &line).is_ok()
                            };
                            records.iter().filter(add).copied().collect::<Vec<Count>>()
                        })
                    })
                    .collect();
                jobs.into_iter().flat_map(|job| job.join().unwrap()).collect()
            });
            assert_eq!(added.len(), 39);
            resumes(&path, &added, &all);
        }
    }

    #[test]
    fn threads_and_programs_that_begin_a_file_together_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::thread::scope(|scope| {
            for job in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let (lines, _) = open(path).unwrap();
                    (0..25).for_each(|number| lines.add(&[25 * job + number]).unwrap());
                });
            }
        });
        let mut found = JsonLines::read::<Count>(&path, HEADER).unwrap();
        found.records.sort_unstable();
        assert!(found.records.into_iter().eq((0..100).map(|number| [number])));
        assert_eq!(found.unreadable, 0);
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
