//! Downloads one file. It gets its name only when it is complete and has the right checksum.

use super::{CatalogueError, Dataset, at};
use rffblr::internals::{hex, write_whole};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{ErrorKind, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(600);

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
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions { url: None, allow_unverified: false, force: false, max_bytes: 256 * 1024 * 1024 }
    }
}

/// A data file that is now in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The file.
    pub path: PathBuf,
    /// Its SHA-256 in lower-case hex, which is the expected one wherever one is known.
    pub sha256: String,
    /// Whether it was downloaded now; otherwise it was there already.
    pub is_new: bool,
}

/// Fetches a data set into a folder, which is created when missing. A right file that is there already is kept.
///
/// `progress` gets the number of bytes received and, if the server says it, their total.
pub fn fetch(
    set: &Dataset,
    folder: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Fetched, CatalogueError> {
    let url = options.url.clone().unwrap_or(set.url());
    if set.sha256.is_none() && !options.allow_unverified {
        return Err(CatalogueError::ChecksumUnknown(set.name));
    }
    let path = folder.join(set.file_name());
    // Without a checksum, force means another download.
    if path.exists() && !(options.force && set.sha256.is_none()) {
        match set.check(&path) {
            Ok(sha256) => return Ok(Fetched { path, sha256, is_new: false }),
            Err(CatalogueError::OtherFile { .. }) if options.force => {}
            Err(problem) => return Err(problem),
        }
    }
    let bytes = download(&url, options.max_bytes, progress)
        .map_err(|problem| CatalogueError::Download { url: url.clone(), problem })?;
    let sha256 = hex(Sha256::digest(&bytes));
    if let Some(expected) = set.sha256.filter(|expected| *expected != sha256) {
        let problem = format!(
            "its SHA-256 is {sha256}, expected {expected}; nothing was kept: try again, and if it repeats, a network login \
             page or a changed file is the likely cause"
        );
        return Err(CatalogueError::Download { url, problem });
    }
    fs::create_dir_all(folder).map_err(at(folder))?;
    write_whole(&path, true, |file| file.write_all(&bytes)).map_err(at(&path))?;
    Ok(Fetched { path, sha256, is_new: true })
}

/// The content behind an address, or what went wrong and what to do about it.
fn download(url: &str, limit: u64, progress: &mut dyn FnMut(u64, Option<u64>)) -> Result<Vec<u8>, String> {
    let mut response = agent(url)?.get(url).call().map_err(explained)?;
    let total = response.body().content_length();
    if total.is_some_and(|total| total > limit) {
        return Err(explained(ureq::Error::BodyExceedsLimit(limit)));
    }
    let mut body = response.body_mut().with_config().limit(limit).reader();
    let mut bytes = Vec::new();
    let mut block = vec![0; 1 << 16];
    loop {
        progress(bytes.len() as u64, total);
        match body.read(&mut block) {
            Ok(0) if bytes.is_empty() => return Err("the answer is empty; check the address".into()),
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend(&block[..read]),
            Err(problem) => {
                let (received, problem) = (bytes.len(), explained(problem.into()));
                return Err(format!("broke off after {received} bytes: {problem}"));
            }
        }
    }
}

/// A connection to an address, which must be encrypted unless it is on this machine.
fn agent(url: &str) -> Result<Agent, String> {
    let uri: Uri = url.parse().map_err(|problem| format!("{problem}; give an address that begins with https://"))?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_local = uri.scheme_str() == Some("http") && is_here;
    if !is_local && uri.scheme_str() != Some("https") {
        return Err("it is not encrypted; give an address that begins with https://".into());
    }
    // The certificates of the system, because companies add their own there.
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let mut config = Agent::config_builder()
        .tls_config(tls)
        .https_only(!is_local)
        .max_redirects(5)
        .user_agent(concat!("rffblr/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_global(Some(TOTAL_TIMEOUT));
    if is_local {
        // A proxy would look for the address on another machine.
        config = config.proxy(None);
    }
    Ok(config.build().new_agent())
}

/// What went wrong in words, and what to do about it.
fn explained(problem: ureq::Error) -> String {
    let remedy = match &problem {
        ureq::Error::StatusCode(404 | 410) => "the file is no longer there; give another address",
        ureq::Error::StatusCode(500..) => "the server has a problem; try again later",
        ureq::Error::StatusCode(_) => "check the address",
        ureq::Error::BodyExceedsLimit(_) => "the file is larger than is accepted; check the address",
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "check the clock and the certificates of this system",
        ureq::Error::Io(problem) if problem.kind() == ErrorKind::ConnectionRefused => {
            "the server or the proxy is down or blocked; try later, or check HTTPS_PROXY"
        }
        _ => {
            "check the internet connection and try again, or download it in a browser and set RFFBLR_DATA to its folder"
        }
    };
    format!("{problem}; {remedy}")
}
