//! Downloads that must fail, with a clear message, in bounded time and without a trace.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rffblr_cli::catalogue::CatalogueError;

use crate::server::{Reply, Server, fixed, redirect, whole};
use crate::{BYTES, Case, SHA256, SHA256_ABC, body, closed};

#[test]
fn a_wrong_checksum_names_both_sums_and_keeps_nothing() {
    let server = Server::start(vec![fixed("HTTP/1.1 200 OK\r\nContent-Length: 3", "abc")]);
    let case = Case::new(server.url());
    let error = case.fetch().unwrap_err();
    assert!(matches!(&error, CatalogueError::WrongChecksum { bytes: 3, .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains(SHA256_ABC) && message.contains(SHA256), "{message}");
    assert_eq!(case.files(), 0);
}

#[test]
fn nobody_at_the_address() {
    let case = Case::new(closed());
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::Refused { .. }), "{error}");
    assert_eq!(case.files(), 0);
}

#[test]
fn a_server_name_that_cannot_exist() {
    // Labels of more than 63 letters cannot be asked for (RFC 1035), so no name server is needed;
    // coming from this machine, the request takes no proxy either.
    let location = format!("https://{}.invalid/edm.arff", "a".repeat(64));
    let server = Server::start(vec![redirect(location)]);
    let case = Case::new(server.url());
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::HostNotFound { .. }), "{error}");
    assert_eq!(case.files(), 0);
}

#[test]
fn http_errors_name_the_status() {
    for (head, expected, hint) in [
        ("HTTP/1.1 404 Not Found", 404, "no longer there"),
        ("HTTP/1.1 503 Service Unavailable", 503, "try again later"),
        ("HTTP/1.1 204 No Content", 204, "check it"),
    ] {
        let server = Server::start(vec![fixed(head, "")]);
        let case = Case::new(server.url());
        let error = case.fetch().unwrap_err();
        assert!(matches!(error, CatalogueError::Status { status, .. } if status == expected), "{error}");
        assert!(error.to_string().contains(hint), "{error}");
        assert_eq!(case.files(), 0);
    }
}

#[test]
fn a_circle_of_redirects_ends() {
    let replies = (0..20).map(|_| redirect("/again".to_string())).collect();
    let server = Server::start(replies);
    let case = Case::new(server.url());
    let error = case.fetch().unwrap_err();
    assert!(error.to_string().contains("redirect"), "{error}");
    for _ in 0..6 {
        server.request();
    }
    assert!(server.is_quiet());
}

#[test]
#[cfg(unix)] // 0.0.0.0 reaches this machine there, without being a loopback address.
fn a_redirect_to_plain_http_elsewhere_is_refused() {
    let elsewhere = Server::start(vec![whole(body())]);
    let location = format!("http://0.0.0.0:{}/edm.arff", elsewhere.port());
    let server = Server::start(vec![redirect(location)]);
    let case = Case::new(server.url());
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::BadUrl { .. }), "{error}");
    assert_eq!(case.files(), 0);
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
        let case = Case::new(url.to_string());
        let error = case.fetch().unwrap_err();
        assert!(matches!(error, CatalogueError::BadUrl { .. }), "{url}: {error}");
        assert_eq!(case.files(), 0);
    }
}

#[test]
fn an_endless_body_is_cut_off() {
    const OFFERED: usize = 256 * 1024 * 1024;
    let (sender, sent) = channel();
    let endless: Reply = Box::new(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        let block = vec![b'x'; 1024 * 1024];
        let mut total = 0;
        while total < OFFERED && stream.write_all(&block).is_ok() {
            total += block.len();
        }
        sender.send(total).unwrap();
    });
    let server = Server::start(vec![endless]);
    let mut case = Case::new(server.url());
    case.options.max_bytes = 1_000_000;
    let mut most = 0;
    let error = case
        .fetch_watched(&mut |progress| {
            most = most.max(progress.received);
            ControlFlow::Continue(())
        })
        .unwrap_err();
    assert!(matches!(error, CatalogueError::TooLarge { limit: 1_000_000, .. }), "{error}");
    assert!(most <= 1_000_000);
    assert_eq!(case.files(), 0);
    let sent = sent.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(sent < OFFERED / 4, "{sent} bytes left the server");
}

#[test]
fn a_file_that_says_it_is_too_large_is_not_begun() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000";
    let server = Server::start(vec![fixed(head, "abc")]);
    let case = Case::new(server.url());
    let error = case.fetch_watched(&mut |_| panic!("nothing should be received")).unwrap_err();
    assert!(matches!(error, CatalogueError::TooLarge { .. }), "{error}");
    assert_eq!(case.files(), 0);
}

#[test]
fn an_empty_answer_is_no_file() {
    let server = Server::start(vec![fixed("HTTP/1.1 200 OK\r\nContent-Length: 0", "")]);
    let mut case = Case::new(server.url());
    case.dataset.sha256 = None;
    case.options.allow_unverified = true;
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::Interrupted { received: 0, .. }), "{error}");
    assert_eq!(case.files(), 0);
}

/// Sends `blocks` blocks of 1000 bytes of the body, 100 ms apart, and then nothing for two seconds.
fn slow(blocks: usize) -> Reply {
    Box::new(move |_, stream| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
        if blocks > 0 {
            let _ = stream.write_all(head.as_bytes());
        }
        for block in body().chunks(1000).take(blocks) {
            let _ = stream.write_all(block);
            thread::sleep(Duration::from_millis(100));
        }
        thread::sleep(Duration::from_secs(2));
    })
}

#[test]
fn silence_before_the_answer_times_out() {
    let server = Server::start(vec![slow(0)]);
    let mut case = Case::new(server.url());
    case.options.stall_timeout = Duration::from_millis(300);
    let begin = Instant::now();
    let error = case.fetch().unwrap_err();
    assert!(matches!(error, CatalogueError::TimedOut { seconds: 0.3, .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_millis(1500));
    assert_eq!(case.files(), 0);
}

#[test]
fn silence_within_the_body_times_out_and_keeps_the_beginning() {
    let server = Server::start(vec![slow(1)]);
    let mut case = Case::new(server.url());
    case.options.stall_timeout = Duration::from_millis(300);
    let error = case.fetch().unwrap_err();
    assert!(error.to_string().contains("within 0.3 s"), "{error}");
    assert!(fs::read(case.part()).unwrap() == body()[..1000]);
    assert!(!case.target().exists());
}

#[test]
fn a_trickle_meets_the_total_limit() {
    let server = Server::start(vec![slow(50)]);
    let mut case = Case::new(server.url());
    case.options.total_timeout = Duration::from_millis(500);
    let begin = Instant::now();
    let error = case.fetch().unwrap_err();
    assert!(error.to_string().contains("within 0.5 s"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(case.part().exists() && !case.target().exists());
}
