//! A tiny HTTP server on this machine: every connection gets the next scripted reply.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Writes one answer.
pub type Reply = Box<dyn FnOnce(&mut TcpStream) + Send>;

/// A running server. It ends after its last reply, or after ten seconds without a connection.
pub struct Server {
    port: u16,
    requests: Receiver<()>,
}

impl Server {
    /// Starts on a port chosen by the system.
    pub fn start(replies: Vec<Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = channel();
        thread::spawn(move || {
            for reply in replies {
                let Some(mut stream) = accept(&listener) else {
                    return;
                };
                read_head(&mut stream);
                // The test may be over already; then nobody asks for the request.
                let _ = sender.send(());
                reply(&mut stream);
            }
        });
        Server { port, requests }
    }

    /// Address of a file on this server.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/edm.arff", self.port)
    }

    /// Whether no further request has arrived.
    pub fn is_quiet(&self) -> bool {
        self.requests.try_recv().is_err()
    }
}

fn accept(listener: &TcpListener) -> Option<TcpStream> {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        match listener.accept() {
            Ok((stream, _)) => {
                let timeout = Some(Duration::from_secs(10));
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(timeout).unwrap();
                stream.set_write_timeout(timeout).unwrap();
                return Some(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("{error}"),
        }
    }
    None
}

fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 10_000 {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            break;
        }
        head.extend(byte);
    }
}

fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
    // A client that stops reading early is what some tests are about.
    let _ = stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes());
    let _ = stream.write_all(body);
}

/// The whole file.
pub fn whole(body: Vec<u8>) -> Reply {
    let length = body.len();
    short(body, length)
}

/// Promises the whole file but closes the connection after `sent` bytes.
pub fn short(body: Vec<u8>, sent: usize) -> Reply {
    Box::new(move |stream| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}", body.len());
        send(stream, &head, &body[..sent]);
    })
}

/// A fixed head (status line and headers) and body.
pub fn fixed(head: &'static str, body: &'static str) -> Reply {
    Box::new(move |stream| send(stream, head, body.as_bytes()))
}

/// A redirect.
pub fn redirect(location: String) -> Reply {
    Box::new(move |stream| {
        let head = format!("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: {location}");
        send(stream, &head, b"");
    })
}
