//! Downloads one data set: resumable, checked, and never leaving half a file under its final name.
//!
//! Bytes go to `NAME.arff.part` beside the target. Only a complete file with the right checksum
//! is renamed to `NAME.arff`. A partial file is kept for the next attempt when a checksum can
//! later prove that the pieces belong together, and removed otherwise.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::http::{Response, Uri, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, ResponseExt, Timeout};

use super::part::{BUFFER_BYTES, PartFile, at, hash_all, hex, regular_size};
use super::{CatalogueError, Dataset};

/// How to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchOptions {
    /// Another address for the file, such as a mirror. Plain `http` is accepted only from this machine.
    pub url: Option<String>,
    /// Accept a file for which the catalogue has no checksum.
    pub allow_unverified: bool,
    /// Replace an existing file that is not the expected one.
    pub force: bool,
    /// Largest file to accept, in bytes.
    pub max_bytes: u64,
    /// Longest wait for the address of the server, and again for the connection.
    pub connect_timeout: Duration,
    /// Longest wait for the next bytes.
    pub stall_timeout: Duration,
    /// Longest time for the whole download.
    pub total_timeout: Duration,
}

impl FetchOptions {
    /// The settings used unless told otherwise; the largest file of the catalogue has 1.1 MB.
    pub const DEFAULT: FetchOptions = FetchOptions {
        url: None,
        allow_unverified: false,
        force: false,
        max_bytes: 256 * 1024 * 1024,
        connect_timeout: Duration::from_secs(15),
        stall_timeout: Duration::from_secs(30),
        total_timeout: Duration::from_secs(600),
    };
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions::DEFAULT
    }
}

/// How far a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes on disk, including those of an earlier attempt.
    pub received: u64,
    /// Size of the file, where the server says it.
    pub total: Option<u64>,
}

/// Where the file came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was there already; nothing was downloaded.
    AlreadyThere,
    /// Downloaded from the first byte.
    Downloaded,
    /// An earlier, interrupted download was completed.
    Resumed,
}

/// A data file that is now in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256 in lower-case hex.
    pub sha256: String,
    /// Whether `sha256` was compared with a known checksum.
    pub verified: bool,
    /// Where it came from.
    pub origin: Origin,
}

/// Fetches `dataset` into the folder `destination`, which is created when missing.
///
/// `progress` is called before the first and after every block; when it breaks, the download stops
/// with [`CatalogueError::Cancelled`]. A file that is already there and right is not downloaded again.
pub fn fetch(
    dataset: &Dataset,
    destination: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Fetched, CatalogueError> {
    let url = options.url.as_deref().unwrap_or(dataset.url);
    let encrypted = is_encrypted(url)?;
    if dataset.sha256.is_none() && !options.allow_unverified {
        return Err(CatalogueError::ChecksumUnknown { name: dataset.name, url: url.to_string() });
    }
    fs::create_dir_all(destination).map_err(at("create the folder", destination))?;
    let path = destination.join(dataset.file_name());
    if let Some(there) = already_there(dataset, &path, options.force)? {
        return Ok(there);
    }

    let mut part = PartFile::open(&path, dataset.sha256, options.max_bytes)?;
    let source = Source { url, encrypted, agent: agent(encrypted, options), options };
    let finished =
        source.download(&mut part, progress).and_then(|origin| part.check(url).map(|sha256| (origin, sha256)));
    match finished {
        Ok((origin, sha256)) => {
            let bytes = part.received;
            part.rename_to(&path)?;
            Ok(Fetched { path, bytes, sha256, verified: dataset.sha256.is_some(), origin })
        }
        Err(error) => {
            part.leave(&error);
            Err(error)
        }
    }
}

/// The file at `path` when it makes a download needless; an error when it is in the way.
fn already_there(dataset: &Dataset, path: &Path, force: bool) -> Result<Option<Fetched>, CatalogueError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at("open", path)(error)),
    };
    regular_size(&file).map_err(at("read", path))?;
    let (hasher, bytes) = hash_all(&mut file).map_err(at("read", path))?;
    let sha256 = hex(hasher);
    let there = Fetched {
        path: path.to_path_buf(),
        bytes,
        sha256,
        verified: dataset.sha256.is_some(),
        origin: Origin::AlreadyThere,
    };
    match dataset.sha256 {
        Some(expected) if there.sha256 == expected => Ok(Some(there)),
        _ if force => Ok(None),
        None => Ok(Some(there)),
        Some(expected) => {
            Err(CatalogueError::DifferentFile { path: there.path, found: there.sha256, expected: expected.to_string() })
        }
    }
}

/// Where the bytes come from.
struct Source<'a> {
    url: &'a str,
    encrypted: bool,
    agent: Agent,
    options: &'a FetchOptions,
}

impl Source<'_> {
    fn download(
        &self,
        part: &mut PartFile,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Origin, CatalogueError> {
        if part.is_complete() {
            return Ok(Origin::Resumed);
        }
        let mut response = self.request(part.received)?;
        if part.received > 0 {
            let status = response.status().as_u16();
            let continues = status == 206 && range_start(&response) == Some(part.received);
            if status == 416 || (status == 206 && !continues) {
                // The server has no such range, or sent another one: ask for the whole file.
                part.restart()?;
                response = self.request(0)?;
            } else if status == 200 {
                part.restart()?;
            }
        }
        let status = response.status().as_u16();
        if status != if part.received > 0 { 206 } else { 200 } {
            let url = self.url.to_string();
            return Err(CatalogueError::Status { url, status });
        }
        let origin = match part.received {
            0 => Origin::Downloaded,
            _ => Origin::Resumed,
        };
        self.receive(response, part, progress)?;
        Ok(origin)
    }

    /// One GET, of the whole file or of what follows the first `offset` bytes.
    fn request(&self, offset: u64) -> Result<Response<Body>, CatalogueError> {
        // A compressed body would have other offsets and another checksum.
        let mut request = self.agent.get(self.url).header(header::ACCEPT_ENCODING, "identity");
        if offset > 0 {
            request = request.header(header::RANGE, format!("bytes={offset}-"));
        }
        let response = request.call().map_err(|error| self.no_answer(error))?;
        if !self.encrypted {
            // A redirect must not lead to an unencrypted server elsewhere.
            is_encrypted(&response.get_uri().to_string())?;
        }
        Ok(response)
    }

    /// Appends the body of `response` to the partial file.
    fn receive(
        &self,
        response: Response<Body>,
        part: &mut PartFile,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), CatalogueError> {
        let limit = self.options.max_bytes;
        let too_large = || CatalogueError::TooLarge { url: self.url.to_string(), limit };
        let length = response.body().content_length();
        let total = range_total(&response).or(length.map(|n| n.saturating_add(part.received)));
        if total.is_some_and(|total| total > limit) {
            return Err(too_large());
        }
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; BUFFER_BYTES];
        // Ends with the body, at `max_bytes`, or at `total_timeout`, whichever comes first.
        loop {
            let received = part.received;
            if progress(Progress { received, total }).is_break() {
                let kept = part.kept();
                return Err(CatalogueError::Cancelled { received, kept });
            }
            let read = match body.read(&mut buffer) {
                Ok(read) => read,
                Err(error) => return Err(self.broke_off(part, total, self.reason(error))),
            };
            let Some(block) = buffer.get(..read).filter(|block| !block.is_empty()) else {
                break;
            };
            if received + block.len() as u64 > limit {
                return Err(too_large());
            }
            part.append(block)?;
        }
        if part.received == 0 || total.is_some_and(|total| part.received < total) {
            let reason = "the server sent no more".to_string();
            return Err(self.broke_off(part, total, reason));
        }
        Ok(())
    }

    fn broke_off(&self, part: &PartFile, total: Option<u64>, reason: String) -> CatalogueError {
        CatalogueError::Interrupted {
            url: self.url.to_string(),
            received: part.received,
            total,
            reason,
            kept: part.kept(),
        }
    }

    /// Says in plain words why the body broke off.
    fn reason(&self, error: io::Error) -> String {
        match ureq::Error::from(error) {
            ureq::Error::Timeout(which) => {
                format!("no more data within {} s", self.seconds(which))
            }
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                "the connection was closed early".to_string()
            }
            other => other.to_string(),
        }
    }

    /// Says why there was no response at all.
    fn no_answer(&self, error: ureq::Error) -> CatalogueError {
        let url = self.url.to_string();
        let reason = error.to_string();
        match error {
            ureq::Error::Timeout(which) => CatalogueError::TimedOut { url, seconds: self.seconds(which) },
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                CatalogueError::Refused { url }
            }
            ureq::Error::RequireHttpsOnly(redirect) => {
                CatalogueError::BadUrl { url, reason: format!("it leads to the unencrypted address {redirect}") }
            }
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => CatalogueError::Insecure { url, reason },
            // What the TLS library refuses, such as a certificate, arrives as invalid data.
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                CatalogueError::Insecure { url, reason: error.to_string() }
            }
            ureq::Error::HostNotFound => CatalogueError::HostNotFound { url, reason },
            ureq::Error::Io(error) if is_lookup_failure(&error) => {
                CatalogueError::HostNotFound { url, reason: error.to_string() }
            }
            _ => CatalogueError::Transport { url, reason },
        }
    }

    /// The configured limit behind a time-out, for messages.
    fn seconds(&self, which: Timeout) -> f64 {
        let limit = match which {
            Timeout::Resolve | Timeout::Connect => self.options.connect_timeout,
            Timeout::PerRead | Timeout::PerWrite => self.options.stall_timeout,
            _ => self.options.total_timeout,
        };
        limit.as_secs_f64()
    }
}

fn agent(encrypted: bool, options: &FetchOptions) -> Agent {
    // The certificates of the system, because companies add their own there.
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let mut config = Agent::config_builder()
        .tls_config(tls)
        .https_only(encrypted)
        .http_status_as_error(false)
        .max_redirects(5)
        .user_agent(concat!("rffblr/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(options.connect_timeout))
        .timeout_connect(Some(options.connect_timeout))
        .timeout_per_read(Some(options.stall_timeout))
        .timeout_per_write(Some(options.stall_timeout))
        .timeout_global(Some(options.total_timeout));
    if !encrypted {
        // This machine itself: a proxy would look for the address on another one.
        config = config.proxy(None);
    }
    config.build().new_agent()
}

/// Whether `url` is https; plain http is an error except for servers on this machine.
fn is_encrypted(url: &str) -> Result<bool, CatalogueError> {
    let bad = |reason: String| CatalogueError::BadUrl { url: url.to_string(), reason };
    let uri: Uri = url.parse().map_err(|error| bad(format!("{error}")))?;
    let host = uri.host().unwrap_or_default();
    match uri.scheme_str() {
        Some("https") => Ok(true),
        Some("http") if is_loopback(host) => Ok(false),
        Some("http") => Err(bad("it is not encrypted".to_string())),
        _ => Err(bad("it is not an https address".to_string())),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the system could not resolve a name. There is no `ErrorKind` for it: Windows has its own
/// codes, elsewhere the standard library says it in words. A miss only makes the message plainer.
fn is_lookup_failure(error: &io::Error) -> bool {
    if cfg!(windows) {
        matches!(error.raw_os_error(), Some(11001..=11004))
    } else {
        error.to_string().contains("lookup address information")
    }
}

/// First byte of a 206 response: START of `Content-Range: bytes START-END/TOTAL`.
fn range_start(response: &Response<Body>) -> Option<u64> {
    let (range, _) = content_range(response)?.split_once('/')?;
    range.split_once('-')?.0.parse().ok()
}

/// TOTAL of `Content-Range: bytes START-END/TOTAL`; the server may also write `*`.
fn range_total(response: &Response<Body>) -> Option<u64> {
    content_range(response)?.split_once('/')?.1.parse().ok()
}

fn content_range(response: &Response<Body>) -> Option<&str> {
    let value = response.headers().get(header::CONTENT_RANGE)?;
    value.to_str().ok()?.trim().strip_prefix("bytes ")
}
