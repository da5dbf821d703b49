//! Downloads that succeed, at once or after an interruption.

use std::fs;
use std::ops::ControlFlow;

use rffblr_cli::catalogue::{CatalogueError, Origin};

use crate::server::{Reply, Server, fixed, ranged, redirect, short, whole};
use crate::{BYTES, Case, body, closed};

#[test]
fn a_good_download_reports_progress_up_to_the_total() {
    let server = Server::start(vec![whole(body())]);
    let case = Case::new(server.url());
    let mut seen = Vec::new();
    let fetched = case
        .fetch_watched(&mut |progress| {
            seen.push(progress);
            ControlFlow::Continue(())
        })
        .unwrap();
    case.assert_complete(&fetched, Origin::Downloaded);
    assert!(seen.iter().all(|progress| progress.total == Some(BYTES)));
    assert!(seen.is_sorted_by_key(|progress| progress.received));
    assert_eq!(seen.first().unwrap().received, 0);
    assert_eq!(seen.last().unwrap().received, BYTES);
    let request = server.request();
    assert!(!request.contains("range:"), "{request}");
    assert!(request.contains("accept-encoding: identity"), "{request}");
}

/// Leaves the first 500 000 bytes in the partial file.
fn interrupted(replies: Vec<Reply>) -> (Server, Case) {
    let mut script = vec![short(body(), 500_000)];
    script.extend(replies);
    let server = Server::start(script);
    let case = Case::new(server.url());
    let error = case.fetch().unwrap_err();
    match &error {
        CatalogueError::Interrupted { received: 500_000, total: Some(BYTES), kept: Some(kept), .. } => {
            assert_eq!(kept, &case.part())
        }
        other => panic!("{other}"),
    }
    assert!(error.to_string().contains("closed early"), "{error}");
    assert!(fs::read(case.part()).unwrap() == body()[..500_000]);
    assert!(!case.target().exists());
    server.request();
    (server, case)
}

#[test]
fn a_truncated_body_is_resumed_where_it_broke_off() {
    let (server, case) = interrupted(vec![ranged(body())]);
    let mut seen = Vec::new();
    let fetched = case
        .fetch_watched(&mut |progress| {
            seen.push(progress);
            ControlFlow::Continue(())
        })
        .unwrap();
    case.assert_complete(&fetched, Origin::Resumed);
    assert_eq!(seen.first().unwrap().received, 500_000);
    assert!(seen.iter().all(|progress| progress.total == Some(BYTES)));
    let request = server.request();
    assert!(request.contains("range: bytes=500000-\r\n"), "{request}");
}

#[test]
fn a_server_that_ignores_the_range_restarts_the_download() {
    let (server, case) = interrupted(vec![whole(body())]);
    let fetched = case.fetch().unwrap();
    case.assert_complete(&fetched, Origin::Downloaded);
    assert!(server.request().contains("range: bytes=500000-\r\n"));
}

#[test]
fn a_range_that_cannot_be_had_restarts_the_download() {
    let refusals = [
        "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0",
        "HTTP/1.1 206 Partial Content\r\nContent-Length: 0\r\nContent-Range: bytes 7-8/9",
        "HTTP/1.1 206 Partial Content\r\nContent-Length: 0",
    ];
    for refusal in refusals {
        let (server, case) = interrupted(vec![fixed(refusal, ""), whole(body())]);
        let fetched = case.fetch().unwrap();
        case.assert_complete(&fetched, Origin::Downloaded);
        assert!(server.request().contains("range: bytes=500000-\r\n"));
        assert!(!server.request().contains("range:"));
    }
}

#[test]
fn a_shorter_range_than_asked_for_is_not_the_end() {
    let head = "HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\nContent-Range: bytes 500000-500002/1288890";
    let (_server, case) = interrupted(vec![fixed(head, "851"), ranged(body())]);
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::Interrupted { received: 500_003, .. }), "{error}");
}

#[test]
fn a_partial_file_of_something_else_is_dropped() {
    let server = Server::start(vec![ranged(body()), whole(body())]);
    let case = Case::new(server.url());
    fs::write(case.part(), "not these bytes").unwrap();
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::WrongChecksum { .. }), "{error}");
    assert_eq!(case.files(), 0);
    case.assert_complete(&case.fetch().unwrap(), Origin::Downloaded);
}

#[test]
fn a_complete_partial_file_needs_no_server() {
    let case = Case::new(closed());
    fs::write(case.part(), body()).unwrap();
    case.assert_complete(&case.fetch().unwrap(), Origin::Resumed);
}

#[test]
fn redirects_are_followed_with_the_range() {
    let (server, case) = interrupted(vec![redirect("/moved".to_string()), ranged(body())]);
    case.assert_complete(&case.fetch().unwrap(), Origin::Resumed);
    assert!(server.request().starts_with("get /edm.arff "));
    let second = server.request();
    assert!(second.starts_with("get /moved ") && second.contains("range: bytes=500000-"), "{second}");
}

#[test]
fn cancelling_leaves_no_final_file_and_can_be_resumed() {
    let server = Server::start(vec![whole(body()), ranged(body())]);
    let case = Case::new(server.url());
    let error = case
        .fetch_watched(&mut |progress| {
            if progress.received > 300_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap_err();
    match &error {
        CatalogueError::Cancelled { received, kept: Some(kept) } => {
            assert_eq!(kept, &case.part());
            assert_eq!(fs::metadata(kept).unwrap().len(), *received);
        }
        other => panic!("{other}"),
    }
    assert!(!case.target().exists());
    case.assert_complete(&case.fetch().unwrap(), Origin::Resumed);
}

#[test]
fn a_partial_file_beyond_the_limit_is_dropped() {
    let server = Server::start(vec![whole(body())]);
    let mut case = Case::new(server.url());
    // A file of exactly the limit is accepted, so one byte more cannot be its beginning.
    case.options.max_bytes = BYTES;
    fs::write(case.part(), [body(), b"x".to_vec()].concat()).unwrap();
    case.assert_complete(&case.fetch().unwrap(), Origin::Downloaded);
    assert!(!server.request().contains("range:"));
}
