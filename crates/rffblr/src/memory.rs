//! Memory: how much this process may still take, and a question before much of it is taken.

use std::path::{Path, PathBuf};

/// More memory would be needed than there is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{what} needs about {} of memory, and {} are to be had, less {} for all else; {remedy}",
    size(*bytes),
    size(*available as f64),
    size(RESERVE as f64)
)]
pub struct Shortage {
    /// What needs it.
    pub what: String,
    /// How many bytes.
    pub bytes: f64,
    /// How many there are.
    pub available: u64,
    /// What would fit.
    pub remedy: &'static str,
}

/// What is left alone: other threads, buffers, and estimates that are a little low.
pub(crate) const RESERVE: u64 = 64 << 20;

/// Bytes in words.
fn size(bytes: f64) -> String {
    if bytes < 1e9 { format!("{:.0} MB", (bytes / 1e6).ceil()) } else { format!("{:.1} GB", bytes / 1e9) }
}

/// An error unless this process may take so many bytes more. `what` needs them; `remedy` says what would fit.
///
/// Where the system does not say how much there is, all is granted.
pub fn require(bytes: f64, what: impl Into<String>, remedy: &'static str) -> Result<(), Shortage> {
    match available() {
        Some(available) if bytes > available.saturating_sub(RESERVE) as f64 => {
            Err(Shortage { what: what.into(), bytes, available, remedy })
        }
        _ => Ok(()),
    }
}

/// Bytes of a matrix of doubles.
pub fn of_doubles(rows: usize, columns: usize) -> f64 {
    8.0 * rows as f64 * columns as f64
}

/// Bytes that this process may still take: what the system has left, a control group allows, or limits of the process do.
/// `None` where the system does not say.
pub fn available() -> Option<u64> {
    let limits = [system(), of_groups(Path::new("/sys/fs/cgroup")), of_process()];
    limits.into_iter().flatten().min()
}

fn system() -> Option<u64> {
    kibibytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The number of a line such as `MemAvailable:    1234 kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// Limits on the address space and on data, less what is in use.
fn of_process() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let left = |limit: &str, used: &str| -> Option<u64> {
        let soft = limits.lines().find_map(|line| line.strip_prefix(limit))?.split_whitespace().next()?;
        Some(soft.parse::<u64>().ok()?.saturating_sub(kibibytes(&status, used)?))
    };
    [left("Max address space", "VmSize:"), left("Max data size", "VmData:")].into_iter().flatten().min()
}

/// The least that any control group above this process leaves, of either version.
fn of_groups(root: &Path) -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let left = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (folder, most, used) = match (id, controllers) {
            ("0", "") => (root.to_owned(), "memory.max", "memory.current"),
            (_, controllers) if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => return None,
        };
        let own = folder.join(path.trim_start_matches('/'));
        own.ancestors()
            .take_while(|place| place.starts_with(&folder))
            .filter_map(|place| of_group(place, most, used))
            .min()
    };
    groups.lines().filter_map(left).min()
}

/// What one control group leaves; cached files that it can drop do not count.
fn of_group(folder: &Path, most: &str, used: &str) -> Option<u64> {
    let number = |name: &str| -> Option<u64> { read(folder.join(name))?.trim().parse().ok() };
    let cached = read(folder.join("memory.stat")).and_then(|text| {
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        value("total_inactive_file ").or_else(|| value("inactive_file "))
    });
    // Without a limit it says `max`, or a number near the largest.
    let limit = number(most).filter(|limit| *limit < 1 << 60)?;
    Some(limit.saturating_sub(number(used)?.saturating_sub(cached.unwrap_or(0))))
}

fn read(path: PathBuf) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_is_refused_with_the_numbers() {
        let problem = require(1e18, "a matrix", "take fewer rows").unwrap_err().to_string();
        assert!(
            problem.contains("a matrix") && problem.contains("take fewer rows") && problem.contains("GB"),
            "{problem}"
        );
        require(1e3, "a matrix", "").unwrap();
    }

    #[test]
    fn the_strictest_group_counts_and_cached_files_do_not() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        write("memory.max", "1000000\n");
        write("memory.current", "700000\n");
        write("memory.stat", "anon 5\ninactive_file 300000\n");
        assert_eq!(of_group(root.path(), "memory.max", "memory.current"), Some(600_000));
        write("memory.max", "max\n");
        assert_eq!(of_group(root.path(), "memory.max", "memory.current"), None);
    }

    #[test]
    fn lines_of_the_system_are_read_in_bytes() {
        assert_eq!(kibibytes("MemTotal: 9 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12 << 10));
        assert_eq!(kibibytes("MemTotal: 9 kB", "MemAvailable:"), None);
    }
}
