//! Files that are written whole or not at all, and checksums as text.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
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
            let file = new.tempfile_in(folder_of(path))?;
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
                let named = if self.replace { file.persist(&self.path) } else { file.persist_noclobber(&self.path) };
                named.map(drop).map_err(|failed| failed.error)
            }
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.output {
            Output::Device(device) => device.write(bytes),
            Output::New(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.output {
            Output::Device(device) => device.flush(),
            Output::New(file) => file.flush(),
        }
    }
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
