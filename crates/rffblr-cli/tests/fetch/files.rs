//! What happens to files that are there already, and to files without a known checksum.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

use rffblr_cli::catalogue::{CatalogueError, FetchOptions, Origin, fetch, find};
use tempfile::TempDir;

use crate::server::{Server, fixed, short, whole};
use crate::{Case, SHA256, SHA256_ABC, body, closed};

#[test]
fn missing_folders_are_made() {
    let server = Server::start(vec![whole(body())]);
    let case = Case::new(server.url());
    let inner = case.folder.path().join("made").join("on demand");
    let fetched = fetch(&case.dataset, &inner, &case.options, &mut |_| ControlFlow::Continue(()));
    assert_eq!(fetched.unwrap().path, inner.join("edm.arff"));
    assert!(fs::read(inner.join("edm.arff")).unwrap() == body());
}

#[test]
fn an_existing_right_file_is_kept_without_a_server() {
    for force in [false, true] {
        let mut case = Case::new(closed());
        case.options.force = force;
        fs::write(case.target(), body()).unwrap();
        case.assert_complete(&case.fetch().unwrap(), Origin::AlreadyThere);
    }
}

#[test]
fn an_existing_other_file_is_replaced_only_by_force() {
    let server = Server::start(vec![fixed("HTTP/1.1 404 Not Found", ""), whole(body())]);
    let mut case = Case::new(server.url());
    fs::write(case.target(), "abc").unwrap();
    let error = case.fetch().unwrap_err();
    match &error {
        CatalogueError::DifferentFile { path, found, expected } => {
            assert_eq!(path, &case.target());
            assert_eq!((found.as_str(), expected.as_str()), (SHA256_ABC, SHA256));
        }
        other => panic!("{other}"),
    }
    assert!(server.is_quiet());

    case.options.force = true;
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::Status { .. }), "{error}");
    assert_eq!(fs::read(case.target()).unwrap(), b"abc");

    case.assert_complete(&case.fetch().unwrap(), Origin::Downloaded);
}

#[test]
fn a_folder_in_the_way_is_named() {
    let case = Case::new(closed());
    fs::create_dir(case.target()).unwrap();
    let error = case.fetch().unwrap_err();
    assert!(matches!(&error, CatalogueError::Io { path, .. } if path == &case.target()), "{error}");
}

#[test]
fn two_downloads_do_not_write_the_same_file() {
    let case = Case::new(closed());
    let other = File::create(case.part()).unwrap();
    other.lock().unwrap();
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::Busy { .. }), "{error}");
}

#[test]
fn without_a_checksum_consent_is_needed() {
    let abc = || fixed("HTTP/1.1 200 OK\r\nContent-Length: 3", "abc");
    let server = Server::start(vec![abc(), fixed("HTTP/1.1 200 OK\r\nContent-Length: 3", "xyz")]);
    let mut case = Case::new(server.url());
    case.dataset.sha256 = None;
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::ChecksumUnknown { .. }), "{error}");
    assert!(server.is_quiet());
    assert_eq!(case.files(), 0);

    case.options.allow_unverified = true;
    // Old bytes of unknown origin must not be mixed with new ones.
    fs::write(case.part(), "a").unwrap();
    let fetched = case.fetch().unwrap();
    assert!(!server.request().contains("range:"));
    assert_eq!((fetched.bytes, fetched.sha256.as_str(), fetched.verified), (3, SHA256_ABC, false));
    assert_eq!(fs::read(case.target()).unwrap(), b"abc");

    let again = case.fetch().unwrap();
    assert_eq!((again.origin, again.verified), (Origin::AlreadyThere, false));
    assert!(server.is_quiet());

    case.options.force = true;
    case.fetch().unwrap();
    assert_eq!(fs::read(case.target()).unwrap(), b"xyz");
    assert_eq!(case.files(), 1);
}

#[test]
fn without_a_checksum_no_partial_file_stays() {
    let server = Server::start(vec![short(body(), 500_000), whole(body())]);
    let mut case = Case::new(server.url());
    case.dataset.sha256 = None;
    case.options.allow_unverified = true;
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::Interrupted { kept: None, .. }), "{error}");
    assert_eq!(case.files(), 0);
    let error = case.fetch_watched(&mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error, CatalogueError::Cancelled { kept: None, .. }), "{error}");
    assert_eq!(case.files(), 0);
}

/// The files that the checksums stand for, read by other means than the library's.
#[test]
fn the_catalogue_describes_the_files() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/datasets");
    let folder = std::env::var_os("RFFBLR_DATA").map_or(beside, std::path::PathBuf::from);
    if !folder.is_dir() {
        println!("SKIPPED: {} is not there (set RFFBLR_DATA)", folder.display());
        return;
    }
    for name in ["atp1d", "atp7d", "oes97", "oes10", "edm", "jura", "wq", "enb"] {
        let dataset = find(name).unwrap();
        let text = fs::read_to_string(folder.join(dataset.file_name())).unwrap();
        let lower = text.to_ascii_lowercase();
        let (head, data) = lower.split_once("@data").unwrap();
        let columns = head.matches("@attribute").count();
        let rows = data.lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!((rows, columns), (dataset.rows, dataset.inputs + dataset.tasks), "{name}");
        let options = FetchOptions { url: Some(closed()), ..FetchOptions::DEFAULT };
        let copy = TempDir::new().unwrap();
        fs::write(copy.path().join(dataset.file_name()), text).unwrap();
        let fetched = fetch(dataset, copy.path(), &options, &mut |_| ControlFlow::Continue(()));
        assert_eq!(fetched.unwrap().origin, Origin::AlreadyThere, "{name}");
    }
}
