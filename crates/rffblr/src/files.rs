//! Files that are written whole or not at all, and checksums as text.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file, whole or not at all: a temporary file in the same folder takes its name once everything is on the disk.
///
/// An existing file is replaced only if `replace` says so, and hands on its permissions. Terminals, pipes and the like
/// are written to as they are.
pub fn write_whole<E: From<io::Error>>(
    path: &Path,
    replace: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    if is_device(path) {
        let mut device = OpenOptions::new().write(true).open(path)?;
        write(&mut device)?;
        return Ok(device.flush()?);
    }
    let mut new = tempfile::Builder::new();
    // The permissions of any other file, not those of a secret.
    #[cfg(unix)]
    new.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = new.tempfile_in(folder_of(path))?;
    // Before anything is written: what was a secret stays one.
    #[cfg(unix)]
    if let Ok(replaced) = path.metadata() {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    write(&mut file)?;
    file.as_file().sync_all()?;
    let named = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    named.map(drop).map_err(|failed| failed.error.into())
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
