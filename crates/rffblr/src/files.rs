//! Files that are written whole or not at all, and checksums as text.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// How the name of a file begins and ends that is not yet whole. A kill leaves it behind; it can be deleted.
const PREFIX: &str = ".rffblr-";
const SUFFIX: &str = ".part";

/// Writes a file, whole or not at all; see [`WholeFile`].
pub fn write_whole<E: From<io::Error>>(
    path: &Path,
    replace: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = WholeFile::create(path, replace)?;
    write(&mut file)?;
    Ok(file.keep()?)
}

/// A file that is written whole or not at all: a temporary file in the same folder takes its name once everything is on
/// the disk.
///
/// An existing file is replaced only if `replace` says so, and hands on its permissions. Terminals, pipes and the like
/// are written to as they are.
pub struct WholeFile {
    path: PathBuf,
    replace: bool,
    output: Output,
}

enum Output {
    Device(File),
    New(NamedTempFile),
}

impl WholeFile {
    /// An error if a file could not be written here: another name is tried in the same folder, and taken as a whole file takes
    /// its own, which not every file system can do. Nothing is left of it.
    pub fn rehearse(path: &Path, replace: bool) -> io::Result<()> {
        let folder = folder_of(path);
        let mut named = tempfile::Builder::new();
        named.prefix(PREFIX).suffix(SUFFIX);
        let new = || named.tempfile_in(folder).map_err(without_path);
        let target = new()?.into_temp_path();
        if !replace {
            std::fs::remove_file(&target)?;
        }
        take_name(new()?, &target, replace)
    }

    /// Starts a file; nothing is to be seen of it before [`WholeFile::keep`].
    pub fn create(path: &Path, replace: bool) -> io::Result<WholeFile> {
        let output = if is_device(path) {
            Output::Device(OpenOptions::new().write(true).open(path)?)
        } else {
            let mut new = tempfile::Builder::new();
            new.prefix(PREFIX).suffix(SUFFIX);
            // The permissions of any other file, not those of a secret.
            #[cfg(unix)]
            new.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            let file = new.tempfile_in(folder_of(path)).map_err(without_path)?;
            // Before anything is written: what was a secret stays one.
            #[cfg(unix)]
            if let Ok(replaced) = path.metadata() {
                file.as_file().set_permissions(replaced.permissions())?;
            }
            Output::New(file)
        };
        Ok(WholeFile { path: path.to_owned(), replace, output })
    }

    /// Ends the file, which takes its name.
    pub fn keep(self) -> io::Result<()> {
        match self.output {
            Output::Device(mut device) => device.flush(),
            Output::New(file) => {
                file.as_file().sync_all()?;
                take_name(file, &self.path, self.replace)
            }
        }
    }
}

/// Gives a temporary file its name; another file of that name is replaced, or left alone and an error.
fn take_name(file: NamedTempFile, path: &Path, replace: bool) -> io::Result<()> {
    if replace && cfg!(unix) {
        let temporary = file.into_temp_path();
        // By the C library, unlike `persist`: the tests make this call fail.
        std::fs::rename(&temporary, path)?;
        return temporary.keep().map(drop).map_err(|failed| failed.error);
    }
    let named = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    named.map(drop).map_err(|failed| failed.error)
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.output {
            Output::Device(device) => device.write(bytes),
            // The file itself: errors of the temporary one name it, and nobody knows that name.
            Output::New(file) => file.as_file_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.output {
            Output::Device(device) => device.flush(),
            Output::New(file) => file.as_file_mut().flush(),
        }
    }
}

/// What the system said, without the name of a temporary file.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::new(error.kind(), text.split(" at path ").next().unwrap_or_default())
}

/// The bytes of a file that has no reason to hold more than `most`: what is larger, or has no end, is not read to it.
pub fn read_within(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let remedy = format!("it has more than {} MiB, which no such file has; name another file", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, remedy));
    }
    Ok(bytes)
}

/// The same as text.
pub fn read_text_within(file: impl Read, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read_within(file, most)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8; name another file"))
}

/// Whether this is a terminal, a pipe or the like: something that is written to, not replaced.
pub fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The folder that holds a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Bytes, such as those of a checksum, in lower-case hexadecimal digits.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let failed = write_whole(&path, true, |file| {
            file.write_all(b"new")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        let taken = write_whole(&path, false, |file| file.write_all(b"new"));
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_rehearsal_leaves_no_trace_and_tells_what_a_write_would() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for replace in [true, false] {
            WholeFile::rehearse(&path, replace).unwrap();
            let problem = WholeFile::rehearse(&folder.path().join("no/a"), replace).unwrap_err();
            assert_eq!(problem.kind(), io::ErrorKind::NotFound);
            assert!(!problem.to_string().contains(SUFFIX), "{problem}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_too_large_is_not_read_to_its_end() {
        assert_eq!(read_text_within(&b"abc"[..], 3).unwrap(), "abc");
        let problem = read_within(io::repeat(7), 3 << 20).unwrap_err();
        assert_eq!(problem.kind(), io::ErrorKind::FileTooLarge);
        assert!(problem.to_string().contains("more than 3 MiB"), "{problem}");
        assert!(read_text_within(&b"\xff"[..], 3).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    #[cfg(unix)]
    fn permissions_of_a_replaced_file_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = |text: &str| write_whole(&path, true, |file| file.write_all(text.as_bytes()));
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        write("one").unwrap();
        // Where others may read at all, they may read this.
        fs::write(folder.path().join("b"), "").unwrap();
        assert_eq!(mode(), fs::metadata(folder.path().join("b")).unwrap().permissions().mode() & 0o777);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        write("two").unwrap();
        assert_eq!((mode(), fs::read_to_string(&path).unwrap().as_str()), (0o640, "two"));
    }
}
