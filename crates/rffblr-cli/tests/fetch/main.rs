//! Downloads against a server on this machine.

mod failures;
mod files;
mod server;
mod transfer;

use std::fs;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::PathBuf;

use rffblr_cli::catalogue::{CatalogueError, Dataset, FetchOptions, Fetched, Origin, Progress, fetch, find};
use tempfile::TempDir;

/// GNU coreutils 9.1: `seq 0 199999 | sha256sum`.
const SHA256: &str = "6f90caf91bd7362f38cdd423e205c1738dd29f3ff95e6db3cc2b0eafc806547a";
/// GNU coreutils 9.1: `seq 0 199999 | wc -c`.
const BYTES: u64 = 1_288_890;
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
        let options = FetchOptions { url: Some(url), ..FetchOptions::DEFAULT };
        Case { folder: TempDir::new().unwrap(), dataset, options }
    }

    fn fetch(&self) -> Result<Fetched, CatalogueError> {
        self.fetch_watched(&mut |_| ControlFlow::Continue(()))
    }

    fn fetch_watched(&self, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Fetched, CatalogueError> {
        fetch(&self.dataset, self.folder.path(), &self.options, progress)
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("edm.arff")
    }

    fn part(&self) -> PathBuf {
        self.folder.path().join("edm.arff.part")
    }

    fn files(&self) -> usize {
        fs::read_dir(self.folder.path()).unwrap().count()
    }

    /// Exactly the right file is in place, and nothing else.
    fn assert_complete(&self, fetched: &Fetched, origin: Origin) {
        let expected =
            Fetched { path: self.target(), bytes: BYTES, sha256: SHA256.to_string(), verified: true, origin };
        assert_eq!(fetched, &expected);
        assert!(fs::read(self.target()).unwrap() == body());
        assert_eq!(self.files(), 1);
    }
}

/// An address where nothing listens.
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}/edm.arff")
}
