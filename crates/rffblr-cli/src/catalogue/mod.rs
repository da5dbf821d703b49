//! The catalogue: data sets known by name, where their files lie, and how to fetch them.
//!
//! All of them belong to the multi-target regression collection of the Mulan project
//! (<https://mulan.sourceforge.net/datasets-mtr.html>). Each is one ARFF file whose targets are its LAST columns. Most
//! addresses name a fixed revision of the collection, so that the content behind them cannot change; the large ones (rf1,
//! rf2, scm1d, scm20d) name its newest.

mod fetch;
mod list;

use rffblr::internals::hex;
use rffblr::table::nearest;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{env, io};

pub use fetch::{FetchOptions, Fetched, fetch};
pub use list::DATASETS;

/// One data set of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dataset {
    /// Short name; the file is called `NAME.arff`.
    pub name: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Number of input columns, which come first.
    pub inputs: usize,
    /// Number of target columns, which come last.
    pub tasks: usize,
    /// What the data are about, in one line.
    pub description: &'static str,
    /// Who to cite.
    pub source: &'static str,
    /// Revision of the collection to take it from.
    pub revision: &'static str,
    /// SHA-256 of the file in lower-case hex, where it is known.
    pub sha256: Option<&'static str>,
    /// Whether the paper reports results on it.
    pub in_paper: bool,
}

impl Dataset {
    /// Name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.arff", self.name)
    }

    /// Where the file can be downloaded.
    pub fn url(&self) -> String {
        let (revision, name) = (self.revision, self.name);
        format!("https://raw.githubusercontent.com/tsoumakas/mulan/{revision}/data/multi-target/{name}.arff")
    }

    /// The SHA-256 of a file, which is an error if another one is known for this data set.
    pub fn check(&self, path: &Path) -> Result<String, CatalogueError> {
        let bytes = std::fs::read(path).map_err(at(path))?;
        let found = hex(Sha256::digest(bytes));
        match self.sha256 {
            Some(expected) if expected != found => {
                Err(CatalogueError::OtherFile { path: path.to_owned(), found, expected })
            }
            _ => Ok(found),
        }
    }
}

/// Looks a data set up by name; upper and lower case are the same.
pub fn find(name: &str) -> Result<&'static Dataset, CatalogueError> {
    DATASETS
        .iter()
        .find(|set| set.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| CatalogueError::UnknownName(name.to_owned()))
}

/// Path of the file of a data set: in `data_dir`, in the folder that `RFFBLR_DATA` names, or in the [`cache_folder`].
pub fn locate(set: &Dataset, data_dir: Option<&Path>) -> Result<PathBuf, CatalogueError> {
    let folders = data_dir.map(Path::to_owned).into_iter().chain(variable("RFFBLR_DATA")).chain(cache_folder());
    let looked: Vec<PathBuf> = folders.map(|folder| folder.join(set.file_name())).collect();
    match looked.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => Err(CatalogueError::NotFound(set.name, looked)),
    }
}

/// Where a fetched file goes: `data_dir`, the folder that `RFFBLR_DATA` names, or else the [`cache_folder`].
pub fn destination(data_dir: Option<&Path>) -> Result<PathBuf, CatalogueError> {
    let named = data_dir.map(Path::to_owned).or(variable("RFFBLR_DATA"));
    named.or_else(cache_folder).ok_or(CatalogueError::NoFolder)
}

/// Where this system keeps files that can be fetched again, if it says so.
pub fn cache_folder() -> Option<PathBuf> {
    let caches = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        // The XDG specification says that a relative folder must be ignored.
        let named = variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
        named.or(variable("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("rffblr"))
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Names that start with `name`, or else the one that was probably meant.
fn similar_names(name: &str) -> Vec<&'static str> {
    let known = || DATASETS.iter().map(|set| set.name);
    let longer: Vec<_> = known().filter(|known| known.starts_with(&name.to_ascii_lowercase())).collect();
    if name.len() >= 2 && !longer.is_empty() { longer } else { nearest(name, known()).into_iter().collect() }
}

/// Why a data set could not be found or fetched. Every message says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The name is not in the catalogue.
    #[error("no data set is called `{0}`{hint}", hint = did_you_mean(.0))]
    UnknownName(String),
    /// The file of a known data set is at none of these places.
    #[error(
        "`{0}.arff` was not found; looked for{places}\nfetch it, or set RFFBLR_DATA to the folder that holds it",
        places = .1.iter().map(|path| format!("\n  {}", path.display())).collect::<String>()
    )]
    NotFound(&'static str, Vec<PathBuf>),
    /// The system names no folder for cached files.
    #[error("this system names no folder for cached files; name a folder for the download")]
    NoFolder,
    /// The catalogue holds no checksum for this data set, and unverified files were not allowed.
    #[error("no checksum is known for `{0}`, so an altered download could not be noticed; allow unverified files")]
    ChecksumUnknown(&'static str),
    /// A file of that name is there with other content.
    #[error("{} is not the expected file: its SHA-256 is {found}, expected {expected}; move it away", .path.display())]
    #[allow(missing_docs)]
    OtherFile { path: PathBuf, found: String, expected: &'static str },
    /// The download failed, and nothing was kept.
    #[error("{url} could not be fetched: {problem}")]
    #[allow(missing_docs)]
    Download { url: String, problem: String },
    /// A file or folder could not be read or written.
    #[error("{}: {problem}; check the path, its permissions and the free space", .path.display())]
    #[allow(missing_docs)]
    Io { path: PathBuf, problem: io::Error },
}

fn at(path: &Path) -> impl Fn(io::Error) -> CatalogueError {
    |problem| CatalogueError::Io { path: path.to_owned(), problem }
}

fn did_you_mean(name: &str) -> String {
    match similar_names(name).as_slice() {
        [] => String::new(),
        names => format!("; did you mean `{}`?", names.join("` or `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn unknown_names_get_near_ones() {
        assert_eq!(find("ATP1d").unwrap().name, "atp1d");
        assert_eq!(similar_names("atp"), ["atp1d", "atp7d"]);
        assert_eq!(similar_names("oes98"), ["oes97"]);
        assert_eq!(similar_names("Jura1"), ["jura"]);
        assert!(similar_names("").is_empty());
        let message = |name| find(name).unwrap_err().to_string();
        assert_eq!(message("scfp"), "no data set is called `scfp`; did you mean `scpf`?");
        assert_eq!(message("housing"), "no data set is called `housing`");
    }

    /// Table 2 of the paper: samples, features and tasks.
    #[test]
    fn the_paper_has_the_same_shapes_in_the_same_order() {
        let listed = DATASETS.iter().filter(|set| set.in_paper).map(|set| (set.name, set.rows, set.inputs, set.tasks));
        let paper = [
            ("atp1d", 337, 411, 6),
            ("atp7d", 296, 411, 6),
            ("oes97", 334, 263, 16),
            ("oes10", 403, 298, 16),
            ("edm", 154, 16, 2),
            ("jura", 359, 15, 3),
            ("wq", 1060, 16, 14),
            ("enb", 768, 8, 2),
        ];
        assert_eq!(listed.collect::<Vec<_>>(), paper);
    }

    #[test]
    fn every_entry_is_well_formed() {
        let names: HashSet<_> = DATASETS.iter().map(|set| set.name).collect();
        assert_eq!(names.len(), DATASETS.len());
        for set in DATASETS {
            assert!(set.name.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9')));
            // Lower case matters: computed checksums are compared as text.
            let is_sum = |sum: &str| sum.len() == 64 && sum.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
            assert!(set.sha256.is_none_or(is_sum), "{}", set.name);
        }
    }
}
