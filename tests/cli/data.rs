//! `rffblr data`: finding and fetching, against a server on this machine.

use crate::server::{Server, fixed, ranged, short, whole};
use crate::{fail, folder, names, rffblr, succeed, text};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;

/// A body that is not the expected file of any data set.
fn body() -> Vec<u8> {
    b"@relation other\n".repeat(100)
}

#[test]
fn the_list_says_what_there_is_and_where() {
    let folder = folder();
    fs::create_dir(folder.path().join("sets")).unwrap();
    fs::write(folder.path().join("sets/jura.arff"), "").unwrap();
    let table = succeed(folder.path(), &["data", "list", "--data-dir", "sets"]);
    let line = |name: &str| table.lines().find(|line| line.trim().starts_with(name)).unwrap().to_string();
    assert!(line("jura").contains("359") && line("jura").contains("sets/jura.arff"), "{table}");
    assert!(line("enb").contains("768") && line("enb").contains("not here"), "{table}");

    let output = rffblr(folder.path()).args(["data", "list", "--json"]).env("RFFBLR_DATA", "sets").output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sets = list.as_array().unwrap();
    assert_eq!(sets.len(), 14);
    let jura = sets.iter().find(|set| set["name"] == "jura").unwrap();
    assert_eq!((&jura["rows"], &jura["inputs"], &jura["tasks"]), (&359.into(), &15.into(), &3.into()));
    assert_eq!(jura["path"], "sets/jura.arff");
    assert_eq!(jura["in_paper"], true);
    assert_eq!(jura["sha256"].as_str().unwrap().len(), 64);
    let flares = sets.iter().find(|set| set["name"] == "sf1").unwrap();
    assert!(flares["sha256"].is_null() && flares["path"].is_null());
}

#[test]
fn a_path_is_printed_or_the_folders_are_named() {
    let folder = folder();
    let message = fail(folder.path(), &["data", "path", "edm"], 1);
    assert!(message.contains("`edm.arff` was not found") && message.contains("rffblr data fetch edm"), "{message}");
    fs::create_dir_all(folder.path().join("cache/rffblr")).unwrap();
    fs::write(folder.path().join("cache/rffblr/edm.arff"), "").unwrap();
    let path = succeed(folder.path(), &["data", "path", "edm"]);
    assert_eq!(path, format!("{}\n", folder.path().join("cache/rffblr/edm.arff").display()));
    let message = fail(folder.path(), &["data", "path", "jurra"], 1);
    assert!(message.contains("did you mean `jura`?"), "{message}");
}

#[test]
fn a_file_without_known_checksum_is_fetched_only_when_allowed() {
    let folder = folder();
    let server = Server::start(vec![whole(body())]);
    let fetch = ["data", "fetch", "sf1", "--url", &server.url()];
    let message = fail(folder.path(), &fetch, 1);
    assert!(message.contains("no checksum is known") && message.contains("--allow-unverified"), "{message}");
    assert!(names(folder.path()).is_empty());

    let output = rffblr(folder.path()).args(fetch).arg("--allow-unverified").output().unwrap();
    let path = folder.path().join("cache/rffblr/sf1.arff");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), format!("{}\n", path.display()));
    assert_eq!(fs::read(&path).unwrap(), body());
    // No bar where no terminal is.
    let message = text(&output.stderr);
    assert!(message.starts_with("note: sf1 downloaded") && message.contains("NOT verified"), "{message}");
    assert!(message.lines().count() == 1 && !message.contains(['\r', '\u{1b}']), "{message:?}");

    // There already: no further request, which nobody would answer.
    let output = rffblr(folder.path()).args(fetch).arg("--allow-unverified").output().unwrap();
    assert!(text(&output.stderr).contains("was there already"));
}

#[test]
fn a_wrong_checksum_keeps_nothing() {
    let folder = folder();
    let server = Server::start(vec![whole(body())]);
    let message = fail(folder.path(), &["data", "fetch", "jura", "--url", &server.url(), "--data-dir", "sets"], 1);
    assert!(message.contains("78ce7655f4907") && message.contains("nothing was kept"), "{message}");
    assert!(names(&folder.path().join("sets")).is_empty());
}

#[test]
fn a_truncated_body_is_kept_and_continued() {
    let folder = folder();
    let server = Server::start(vec![short(body(), 1000), ranged(body())]);
    let fetch = ["data", "fetch", "jura", "--url", &server.url(), "--data-dir", "sets"];
    let message = fail(folder.path(), &fetch, 1);
    assert!(message.contains("broke off after 1000 of 1600 bytes"), "{message}");
    assert_eq!(names(&folder.path().join("sets")), ["jura.arff.part"]);
    assert!(!server.request().contains("range:"));
    // Continued to its end, where the checksum shows that it is not the file.
    let message = fail(folder.path(), &fetch, 1);
    assert!(server.request().contains("range: bytes=1000-"));
    assert!(message.contains("gave 1600 bytes with SHA-256"), "{message}");
    assert!(names(&folder.path().join("sets")).is_empty());
}

#[test]
fn a_refused_connection_and_a_missing_file_say_so() {
    let folder = folder();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let message = fail(folder.path(), &["data", "fetch", "jura", "--url", &format!("http://127.0.0.1:{port}/x")], 1);
    assert!(message.contains("was refused"), "{message}");
    let server = Server::start(vec![fixed("HTTP/1.1 404 Not Found", "")]);
    let message = fail(folder.path(), &["data", "fetch", "jura", "--url", &server.url()], 1);
    assert!(message.contains("HTTP status 404"), "{message}");
    let message = fail(folder.path(), &["data", "fetch", "jura", "--url", "http://example.com/jura.arff"], 1);
    assert!(message.contains("https://"), "{message}");
    assert!(names(&folder.path().join("cache/rffblr")).is_empty());
}

#[test]
fn another_file_of_that_name_is_not_replaced_unasked() {
    let folder = folder();
    let file = folder.path().join("jura.arff");
    fs::write(&file, "mine").unwrap();
    let server = Server::start(vec![whole(body())]);
    let fetch = ["data", "fetch", "jura", "--url", &server.url(), "--data-dir", "."];
    let message = fail(folder.path(), &fetch, 1);
    assert!(message.contains("already exists") && message.contains("--force"), "{message}");
    assert!(server.is_quiet());
    // By force it is asked for; the wrong answer still does not take its place.
    let forced = [fetch.as_slice(), &["--force"]].concat();
    assert!(fail(folder.path(), &forced, 1).contains("nothing was kept"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}
