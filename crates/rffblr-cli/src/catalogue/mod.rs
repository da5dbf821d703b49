//! The catalogue: data sets known by name, where their files lie, and how to fetch them.
//!
//! All of them belong to the multi-target regression collection of the Mulan project
//! (<https://mulan.sourceforge.net/datasets-mtr.html>). Each is one ARFF file whose targets are
//! its LAST columns. Most addresses name a fixed revision of the collection, so that the content
//! behind them cannot change; the large ones (rf1, rf2, scm1d, scm20d) name its newest.

mod error;
mod fetch;
mod list;
mod part;

use rffblr::table::nearest;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use error::CatalogueError;
pub use fetch::{FetchOptions, Fetched, Origin, Progress, fetch};
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
    /// Where the file can be downloaded.
    pub url: &'static str,
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
}

/// Looks a data set up by name; upper and lower case are the same.
pub fn find(name: &str) -> Result<&'static Dataset, CatalogueError> {
    DATASETS
        .iter()
        .find(|dataset| dataset.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| CatalogueError::UnknownName { name: name.to_string(), suggestions: similar_names(name) })
}

/// Path of the file of a data set, from the first of [`folders`] that holds it.
pub fn locate(name: &str, data_dir: Option<&Path>) -> Result<PathBuf, CatalogueError> {
    locate_in(find(name)?, folders(data_dir))
}

fn locate_in(dataset: &Dataset, looked: Vec<PathBuf>) -> Result<PathBuf, CatalogueError> {
    let file_name = dataset.file_name();
    looked
        .iter()
        .map(|folder| folder.join(&file_name))
        .find(|path| path.is_file())
        .ok_or(CatalogueError::NotFound { name: dataset.name, looked })
}

/// Folders that [`locate`] searches, in order: `data_dir`, `$RFFBLR_DATA`, `../shared/datasets`,
/// and the [`cache_folder`].
pub fn folders(data_dir: Option<&Path>) -> Vec<PathBuf> {
    folders_for(data_dir, std::env::consts::OS, &|name| std::env::var_os(name))
}

/// Where fetched files are kept when no other folder is named.
pub fn cache_folder() -> Result<PathBuf, CatalogueError> {
    cache_folder_for(std::env::consts::OS, &|name| std::env::var_os(name))
}

// The system and its variables are arguments so that every system can be tested on any other.
fn folders_for(data_dir: Option<&Path>, system: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let from_variable = variable("RFFBLR_DATA").filter(|value| !value.is_empty());
    data_dir
        .map(Path::to_path_buf)
        .into_iter()
        .chain(from_variable.map(PathBuf::from))
        .chain([Path::new("..").join("shared").join("datasets")])
        .chain(cache_folder_for(system, variable))
        .collect()
}

fn cache_folder_for(system: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, CatalogueError> {
    let folder = |name: &'static str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
            .ok_or(CatalogueError::NoCacheFolder { variable: name })
    };
    let caches = match system {
        "windows" => folder("LOCALAPPDATA")?,
        "macos" => folder("HOME")?.join("Library").join("Caches"),
        // The XDG specification says that a relative XDG_CACHE_HOME must be ignored.
        _ => match folder("XDG_CACHE_HOME") {
            Ok(caches) if caches.is_absolute() => caches,
            _ => folder("HOME")?.join(".cache"),
        },
    };
    Ok(caches.join("rffblr"))
}

/// Names that start with `name`, or else the one that was probably meant.
fn similar_names(name: &str) -> Vec<&'static str> {
    let known = || DATASETS.iter().map(|dataset| dataset.name);
    let longer: Vec<_> = known().filter(|known| known.starts_with(&name.to_ascii_lowercase())).collect();
    if name.len() >= 2 && !longer.is_empty() { longer } else { nearest(name, known()).into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn variables(pairs: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<OsString> {
        |asked| {
            let found = pairs.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| OsString::from(value))
        }
    }

    #[test]
    fn unknown_names_get_near_ones() {
        assert_eq!(similar_names("scfp"), ["scpf"]);
        assert_eq!(similar_names("atp"), ["atp1d", "atp7d"]);
        assert_eq!(similar_names("oes98"), ["oes97"]);
        assert_eq!(similar_names("Jura1"), ["jura"]);
        assert_eq!(similar_names("sf3"), ["sf1"]);
        assert!(similar_names("housing").is_empty());
        assert!(similar_names("").is_empty());
        let message = find("scfp").unwrap_err().to_string();
        assert_eq!(message, "no data set is called `scfp`; did you mean `scpf`? `rffblr data list` shows all names");
        let message = find("housing").unwrap_err().to_string();
        assert_eq!(message, "no data set is called `housing`; `rffblr data list` shows all names");
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(find("ATP1d").unwrap().name, "atp1d");
    }

    #[test]
    fn folders_come_in_the_promised_order() {
        let set = variables(&[("RFFBLR_DATA", "/env"), ("HOME", "/home/ada")]);
        let expected = ["/given", "/env", "../shared/datasets", "/home/ada/.cache/rffblr"];
        assert_eq!(folders_for(Some(Path::new("/given")), "linux", &set), expected.map(PathBuf::from));
        let unset = variables(&[("RFFBLR_DATA", "")]);
        assert_eq!(folders_for(None, "linux", &unset), [PathBuf::from("../shared/datasets")]);
    }

    #[test]
    #[cfg(unix)] // Path separators and "absolute" are those of the system the test runs on.
    fn cache_folders_of_three_systems() {
        let home = variables(&[("HOME", "/h"), ("XDG_CACHE_HOME", "relative")]);
        let xdg = variables(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]);
        let windows = variables(&[("LOCALAPPDATA", "/local")]);
        let cache = |system, set: &dyn Fn(&str) -> Option<OsString>| {
            cache_folder_for(system, set).map(|path| path.display().to_string())
        };
        assert_eq!(cache("linux", &home).unwrap(), "/h/.cache/rffblr");
        assert_eq!(cache("linux", &xdg).unwrap(), "/x/rffblr");
        assert_eq!(cache("macos", &xdg).unwrap(), "/h/Library/Caches/rffblr");
        assert_eq!(cache("windows", &windows).unwrap(), "/local/rffblr");
        let error = cache("windows", &home).unwrap_err().to_string();
        assert!(error.contains("LOCALAPPDATA"), "{error}");
    }

    #[test]
    fn the_first_folder_with_the_file_wins() {
        let root = tempfile::tempdir().unwrap();
        let [empty, second, third] = ["a", "b", "c"].map(|name| root.path().join(name));
        // A folder that merely has the name of the file is no match.
        fs::create_dir_all(empty.join("edm.arff")).unwrap();
        for folder in [&second, &third] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("edm.arff"), "").unwrap();
        }
        let edm = find("edm").unwrap();
        let found = locate_in(edm, vec![empty.clone(), second.clone(), third]).unwrap();
        assert_eq!(found, second.join("edm.arff"));

        let error = locate_in(edm, vec![empty.clone(), "/nowhere".into()]).unwrap_err();
        let expected = format!(
            "`edm.arff` was not found; looked in:\n  {}\n  /nowhere\ntype `rffblr data fetch edm` \
             to download it, or set RFFBLR_DATA to the folder that holds it",
            empty.display()
        );
        assert_eq!(error.to_string(), expected);
        let given = locate("edm", Some(&second)).unwrap();
        assert_eq!(given, second.join("edm.arff"));
    }
}
