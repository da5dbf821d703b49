//! Everything that can go wrong while finding or fetching a data set.

use std::io;
use std::path::PathBuf;

/// Why a data set could not be found or fetched. Every message says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The name is not in the catalogue.
    #[error("no data set is called `{name}`; {}`rffblr data list` shows all names", did_you_mean(.suggestions))]
    UnknownName {
        /// What was asked for.
        name: String,
        /// Names in the catalogue that look alike; may be empty.
        suggestions: Vec<&'static str>,
    },

    /// The file of a known data set lies in none of the usual folders.
    #[error(
        "`{name}.arff` was not found; looked in:{}\ntype `rffblr data fetch {name}` to download it, \
         or set RFFBLR_DATA to the folder that holds it",
        one_per_line(.looked)
    )]
    NotFound {
        /// Name of the data set.
        name: &'static str,
        /// Folders that were searched, in order.
        looked: Vec<PathBuf>,
    },

    /// The system names no folder for cached files.
    #[error("no cache folder: {variable} is not set; set it or name a folder for the download")]
    NoCacheFolder {
        /// Environment variable that would have named it.
        variable: &'static str,
    },

    /// The download address cannot be used.
    #[error("`{url}` cannot be used as a download address: {reason}; give one that starts with https://")]
    BadUrl {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The catalogue holds no checksum for this data set and unverified files were not allowed.
    #[error(
        "no checksum is known for `{name}`, so a damaged or altered download could not be noticed; \
         allow unverified files (--allow-unverified) to fetch it anyway from {url}, its SHA-256 is then shown"
    )]
    ChecksumUnknown {
        /// Name of the data set.
        name: &'static str,
        /// Where it would have come from.
        url: String,
    },

    /// A file with other content already has the name.
    #[error(
        "{} already exists and is not the expected file (its SHA-256 is {found}, expected {expected}); \
         move it away, or force the download (--force) to replace it",
        .path.display()
    )]
    DifferentFile {
        /// The file in the way.
        path: PathBuf,
        /// Its checksum.
        found: String,
        /// The checksum in the catalogue.
        expected: String,
    },

    /// Another process is writing the same file.
    #[error("another download is writing {}; wait for it to finish", .part.display())]
    Busy {
        /// The partial file both want.
        part: PathBuf,
    },

    /// The name of the server could not be resolved.
    #[error(
        "the server of {url} was not found ({reason}); check the internet connection, \
         or download it in a browser and set RFFBLR_DATA to its folder"
    )]
    HostNotFound {
        /// What was asked for.
        url: String,
        /// What the system said.
        reason: String,
    },

    /// Nothing listens at the address.
    #[error(
        "the connection to {url} was refused; the server or the proxy is down or blocked: \
         try later, or check HTTPS_PROXY"
    )]
    Refused {
        /// What was asked for.
        url: String,
    },

    /// No answer in time.
    #[error("no answer from {url} within {seconds} s; check the connection and try again")]
    TimedOut {
        /// What was asked for.
        url: String,
        /// The limit that was reached.
        seconds: f64,
    },

    /// No trusted, encrypted connection could be made.
    #[error(
        "no secure connection to {url}: {reason}; check the clock, the certificates of this system, \
         and whether a company proxy needs its own certificate"
    )]
    Insecure {
        /// What was asked for.
        url: String,
        /// What the TLS library said.
        reason: String,
    },

    /// The server answered, but not with the file.
    #[error("{url} answered with HTTP status {status}; {}", status_remedy(*.status))]
    Status {
        /// What was asked for.
        url: String,
        /// The status code.
        status: u16,
    },

    /// Any other failure before the first byte of the file.
    #[error("{url} could not be fetched: {reason}; try again later")]
    Transport {
        /// What was asked for.
        url: String,
        /// What went wrong.
        reason: String,
    },

    /// The body broke off.
    #[error(
        "the download of {url} broke off after {received}{} bytes: {reason}; {}",
        of_total(.total),
        kept_remedy(.kept)
    )]
    Interrupted {
        /// What was asked for.
        url: String,
        /// Bytes on disk.
        received: u64,
        /// Bytes expected, where the server said so.
        total: Option<u64>,
        /// What went wrong.
        reason: String,
        /// The partial file, where it was kept.
        kept: Option<PathBuf>,
    },

    /// The file is larger than the caller accepts.
    #[error(
        "{url} is larger than the limit of {limit} bytes, so nothing was kept; \
         check the address, or raise the limit"
    )]
    TooLarge {
        /// What was asked for.
        url: String,
        /// The limit.
        limit: u64,
    },

    /// The download is complete but is not the expected file.
    #[error(
        "{url} gave {bytes} bytes with SHA-256 {found}, expected {expected}; nothing was kept: try again, \
         and if it repeats, a network login page or a changed file is the likely cause"
    )]
    WrongChecksum {
        /// What was asked for.
        url: String,
        /// Bytes received.
        bytes: u64,
        /// Checksum of what was received.
        found: String,
        /// The checksum in the catalogue.
        expected: String,
    },

    /// The progress callback asked to stop.
    #[error("the download was stopped after {received} bytes; {}", kept_remedy(.kept))]
    Cancelled {
        /// Bytes on disk.
        received: u64,
        /// The partial file, where it was kept.
        kept: Option<PathBuf>,
    },

    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}; check the path, its permissions and the free space", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn did_you_mean(suggestions: &[&str]) -> String {
    if suggestions.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = suggestions.iter().map(|name| format!("`{name}`")).collect();
    format!("did you mean {}? ", quoted.join(" or "))
}

fn one_per_line(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| format!("\n  {}", folder.display())).collect()
}

fn of_total(total: &Option<u64>) -> String {
    total.map_or(String::new(), |total| format!(" of {total}"))
}

fn kept_remedy(kept: &Option<PathBuf>) -> String {
    match kept {
        Some(part) => format!("{} was kept, the same command continues from there", part.display()),
        None => "nothing was kept, the same command starts again".to_string(),
    }
}

fn status_remedy(status: u16) -> &'static str {
    match status {
        404 | 410 => "the file is no longer there: look for a newer version of rffblr",
        401 | 403 | 407 => "access was denied: check the proxy and the network",
        429 => "too many requests: wait a few minutes and try again",
        500..=599 => "the server has a problem: try again later",
        _ => "the address is not a plain file: check it",
    }
}
