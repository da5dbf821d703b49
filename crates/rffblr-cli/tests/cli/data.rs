//! `rffblr data`: finding and fetching, against a server on this machine.

use crate::common::Folder;
use crate::server::{Server, fixed, short, whole};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;

/// A body that is not the expected file of any data set.
fn body() -> Vec<u8> {
    b"@relation other\n".repeat(100)
}

#[test]
fn the_list_says_what_there_is_and_where() {
    let folder = Folder::new();
    fs::create_dir(folder.path("sets")).unwrap();
    fs::write(folder.path("sets/jura.arff"), "").unwrap();
    let table = folder.done(&["data", "list", "--data-dir", "sets"]).out;
    let line = |name: &str| table.lines().find(|line| line.trim().starts_with(name)).unwrap().to_string();
    assert!(line("jura").contains("359") && line("jura").contains("sets/jura.arff"), "{table}");
    assert!(line("enb").contains("768") && line("enb").contains("not here"), "{table}");

    let output = folder.command(&["data", "list", "--json"]).env("RFFBLR_DATA", "sets").output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sets = list.as_array().unwrap();
    assert_eq!(sets.len(), 18);
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
    let folder = Folder::new();
    let message = folder.fails(&["data", "path", "edm"], &[]).err;
    assert!(message.contains("`edm.arff` was not found") && message.contains("rffblr data fetch edm"), "{message}");
    fs::create_dir_all(folder.path("cache/rffblr")).unwrap();
    fs::write(folder.path("cache/rffblr/edm.arff"), "").unwrap();
    let path = folder.done(&["data", "path", "edm"]).out;
    assert_eq!(path, format!("{}\n", folder.path("cache/rffblr/edm.arff").display()));
    let message = folder.fails(&["data", "path", "jurra"], &[]).err;
    assert!(message.contains("did you mean `jura`?"), "{message}");
}

#[test]
fn a_file_without_known_checksum_is_fetched_only_when_allowed() {
    let folder = Folder::new();
    let server = Server::start(vec![whole(body())]);
    let fetch = ["data", "fetch", "sf1", "--url", &server.url()];
    let message = folder.fails(&fetch, &[]).err;
    assert!(message.contains("no checksum is known") && message.contains("--allow-unverified"), "{message}");
    assert!(folder.names().is_empty());

    let allowed = [fetch.as_slice(), &["--allow-unverified"]].concat();
    let ran = folder.done(&allowed);
    let path = folder.path("cache/rffblr/sf1.arff");
    assert_eq!(ran.out, format!("{}\n", path.display()));
    assert_eq!(fs::read(&path).unwrap(), body());
    // No bar where no terminal is.
    let message = ran.err;
    assert!(message.starts_with("note: sf1 downloaded") && message.contains("NOT verified"), "{message}");
    assert!(message.lines().count() == 1 && !message.contains(['\r', '\u{1b}']), "{message:?}");

    // There already: no further request, which nobody would answer.
    assert!(folder.done(&allowed).err.contains("was there already"));
}

#[test]
fn a_wrong_checksum_keeps_nothing() {
    let folder = Folder::new();
    let server = Server::start(vec![whole(body())]);
    let message = folder.fails(&["data", "fetch", "jura", "--url", &server.url(), "--data-dir", "sets"], &[]).err;
    assert!(message.contains("78ce7655f4907") && message.contains("nothing was kept"), "{message}");
    assert!(folder.names().is_empty());
}

#[test]
fn a_download_that_breaks_off_leaves_nothing() {
    let folder = Folder::new();
    let server = Server::start(vec![short(body(), 1000)]);
    let fetch = ["data", "fetch", "jura", "--url", &server.url(), "--data-dir", "sets"];
    folder.fails(&fetch, &["broke off after 1000 bytes"]);
    assert!(folder.names().is_empty());
}

#[test]
fn a_refused_connection_and_a_missing_file_say_so() {
    let folder = Folder::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let message = folder.fails(&["data", "fetch", "jura", "--url", &format!("http://127.0.0.1:{port}/x")], &[]).err;
    assert!(message.contains("refused"), "{message}");
    let server = Server::start(vec![fixed("HTTP/1.1 404 Not Found", "")]);
    let message = folder.fails(&["data", "fetch", "jura", "--url", &server.url()], &[]).err;
    assert!(message.contains("404"), "{message}");
    let message = folder.fails(&["data", "fetch", "jura", "--url", "http://example.com/jura.arff"], &[]).err;
    assert!(message.contains("https://"), "{message}");
    assert!(folder.names().is_empty());
}

#[test]
fn another_file_of_that_name_is_not_replaced_unasked() {
    let folder = Folder::new();
    let file = folder.path("jura.arff");
    fs::write(&file, "mine").unwrap();
    let server = Server::start(vec![whole(body())]);
    let fetch = ["data", "fetch", "jura", "--url", &server.url(), "--data-dir", "."];
    let message = folder.fails(&fetch, &[]).err;
    assert!(message.contains("not the expected file") && message.contains("--force"), "{message}");
    assert!(server.is_quiet());
    // By force it is asked for; the wrong answer still does not take its place.
    let forced = [fetch.as_slice(), &["--force"]].concat();
    assert!(folder.fails(&forced, &[]).err.contains("nothing was kept"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}
