//! Downloads against a server on this machine.

mod server;

use rffblr_cli::catalogue::{CatalogueError, Dataset, FetchOptions, Fetched, fetch, find};
use server::{Server, fixed, redirect, short, whole};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// GNU coreutils 9.1: `seq 0 199999 | sha256sum`.
const SHA256: &str = "6f90caf91bd7362f38cdd423e205c1738dd29f3ff95e6db3cc2b0eafc806547a";
/// SHA-256 of `abc`: FIPS 180-2, appendix B.1.
const SHA256_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// The output of `seq 0 199999`.
fn body() -> Vec<u8> {
    (0..200_000).map(|number| format!("{number}\n")).collect::<String>().into_bytes()
}

/// A folder for one test, and the data set and options to fetch into it.
struct Case {
    folder: TempDir,
    dataset: Dataset,
    options: FetchOptions,
}

impl Case {
    fn new(url: String) -> Case {
        let dataset = Dataset { sha256: Some(SHA256), ..*find("edm").unwrap() };
        let options = FetchOptions { url: Some(url), ..FetchOptions::default() };
        Case { folder: TempDir::new().unwrap(), dataset, options }
    }

    fn fetch(&self) -> Result<Fetched, CatalogueError> {
        fetch(&self.dataset, self.folder.path(), &self.options, &mut |_, _| {})
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("edm.arff")
    }

    /// Fetching fails, says this, and leaves nothing.
    fn fails(&self, says: &[&str]) {
        let message = self.fetch().unwrap_err().to_string();
        says.iter().for_each(|word| assert!(message.contains(word), "{word}: {message}"));
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 0);
    }
}

/// An address where nothing listens.
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}/edm.arff")
}

#[test]
fn the_file_arrives_whole_through_redirects_and_into_new_folders() {
    let server = Server::start(vec![redirect("/elsewhere".into()), whole(body())]);
    let case = Case::new(server.url());
    let folder = case.folder.path().join("made").join("on demand");
    let mut told = Vec::new();
    let fetched = fetch(&case.dataset, &folder, &case.options, &mut |received, total| told.push((received, total)));
    let path = folder.join("edm.arff");
    assert_eq!(fetched.unwrap(), Fetched { path: path.clone(), sha256: SHA256.into(), is_new: true });
    assert!(fs::read(&path).unwrap() == body());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let total = body().len() as u64;
    assert_eq!((told[0], told[told.len() - 1]), ((0, Some(total)), (total, Some(total))));
}

#[test]
fn what_is_not_the_file_leaves_nothing() {
    let reply = |reply, says: &[&str]| Case::new(Server::start(vec![reply]).url()).fails(says);
    reply(fixed("HTTP/1.1 200 OK\r\nContent-Length: 3", "abc"), &[SHA256_ABC, SHA256]);
    reply(short(body(), 500_000), &["broke off after 500000 bytes"]);
    reply(fixed("HTTP/1.1 404 Not Found", ""), &["404", "no longer there"]);
    reply(fixed("HTTP/1.1 503 Service Unavailable", ""), &["503", "try again later"]);
    reply(fixed("HTTP/1.1 200 OK\r\nContent-Length: 0", ""), &["empty"]);
    reply(fixed("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000", "abc"), &["larger"]);
    Case::new(closed()).fails(&["refused"]);
    Case::new(Server::start((0..20).map(|_| redirect("/again".into())).collect()).url()).fails(&["redirect"]);
    // Labels of more than 63 letters cannot be asked for (RFC 1035), so no name server is needed.
    reply(redirect(format!("https://{}.invalid/edm.arff", "a".repeat(64))), &["RFFBLR_DATA"]);
}

#[test]
fn a_body_without_length_is_cut_off_at_the_limit() {
    let server = Server::start(vec![fixed("HTTP/1.1 200 OK", "0123456789")]);
    let mut case = Case::new(server.url());
    case.options.max_bytes = 9;
    case.fails(&["larger"]);
}

#[test]
fn addresses_without_encryption_are_refused() {
    for url in [
        "http://example.com/edm.arff",
        "http://127.0.0.1.example.com/edm.arff",
        "http://127.0.0.1@example.com/edm.arff",
        "ftp://127.0.0.1/edm.arff",
        "edm.arff",
        "",
    ] {
        Case::new(url.into()).fails(&["https://"]);
    }
}

#[test]
fn a_file_that_is_there_is_kept_or_replaced_by_force() {
    let server = Server::start(vec![fixed("HTTP/1.1 404 Not Found", ""), whole(body())]);
    let mut case = Case::new(server.url());
    fs::write(case.target(), "abc").unwrap();
    let error = case.fetch().unwrap_err();
    assert!(matches!(&error, CatalogueError::OtherFile { found, .. } if found == SHA256_ABC), "{error}");
    assert!(server.is_quiet());

    case.options.force = true;
    case.fetch().unwrap_err();
    assert_eq!(fs::read(case.target()).unwrap(), b"abc");
    assert!(case.fetch().unwrap().is_new);
    assert!(fs::read(case.target()).unwrap() == body());
    // The right one is kept even so; nobody would answer.
    assert!(!case.fetch().unwrap().is_new);

    let case = Case::new(closed());
    fs::create_dir(case.target()).unwrap();
    let error = case.fetch().unwrap_err();
    assert!(matches!(&error, CatalogueError::Io { path, .. } if path == &case.target()), "{error}");
}

#[test]
fn without_a_checksum_consent_is_needed() {
    let server = Server::start(vec![fixed("HTTP/1.1 200 OK\r\nContent-Length: 3", "abc")]);
    let mut case = Case::new(server.url());
    case.dataset.sha256 = None;
    case.fails(&["no checksum is known"]);
    assert!(server.is_quiet());

    case.options.allow_unverified = true;
    let fetched = case.fetch().unwrap();
    assert_eq!((fetched.sha256.as_str(), fetched.is_new), (SHA256_ABC, true));
    assert!(!case.fetch().unwrap().is_new);
}

/// The files that the checksums stand for, read by other means than the library's.
#[test]
fn the_catalogue_describes_the_files() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/datasets");
    let folder = std::env::var_os("RFFBLR_DATA").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        println!("SKIPPED: {} is not there (set RFFBLR_DATA)", folder.display());
        return;
    }
    for name in ["atp1d", "atp7d", "oes97", "oes10", "edm", "jura", "wq", "enb"] {
        let dataset = find(name).unwrap();
        let path = folder.join(dataset.file_name());
        let lower = fs::read_to_string(&path).unwrap().to_ascii_lowercase();
        let (head, data) = lower.split_once("@data").unwrap();
        let columns = head.matches("@attribute").count();
        let rows = data.lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!((rows, columns), (dataset.rows, dataset.inputs + dataset.tasks), "{name}");
        dataset.check(&path).unwrap();
    }
}

/// Links with the names that unfinished files could have are neither followed nor changed.
#[cfg(unix)]
#[test]
fn a_link_in_the_folder_is_not_followed() {
    let case = Case::new(Server::start(vec![whole(body())]).url());
    let elsewhere = TempDir::new().unwrap();
    let precious = elsewhere.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    for name in ["edm.arff.part", ".rffblr-edm.arff.part"] {
        std::os::unix::fs::symlink(&precious, case.folder.path().join(name)).unwrap();
    }
    assert!(case.fetch().unwrap().is_new);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(fs::read(case.target()).unwrap() == body());
}
