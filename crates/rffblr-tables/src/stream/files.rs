//! Which files are read, and whether they have the same columns.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::super::records::{Batch, Records};
use super::super::source::Source;
use super::super::{
    Format, ReadOptions, TableError, Wish, delimited, format_of_content, format_of_name, parquet, plan,
};
use super::{Inner, shown};
use rffblr::internals::folder_of;

/// A file with some of the rows.
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) bytes: u64,
    modified: Option<SystemTime>,
    /// Delimiter of a text file; `None` for Parquet.
    pub(super) delimiter: Option<u8>,
}

impl Inner {
    pub(super) fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Inner, TableError> {
        let files = expand(paths)?;
        let opened = files.iter().map(|path| Part::open(path, options)).collect::<Result<Vec<_>, _>>()?;
        let (parts, headers): (Vec<Part>, Vec<Header>) = opened.into_iter().unzip();
        let names = headers[0].names();
        let wishes = plan(&parts[0].name, &names, options)?;
        // Names in the options need not be in every part: its columns are compared with those of the first.
        let lenient = ReadOptions { allow_absent: true, ..options.clone() };
        let declared = vec![None; names.len()];
        let untyped = parts[0].delimiter.is_some();
        // As `read` has it: without `allow_absent` the files have each of these.
        let ignored = if options.allow_absent { Vec::new() } else { options.ignored_columns.clone() };
        let mut inner = Inner { files, parts: Vec::new(), names, wishes, declared, untyped, ignored, options: lenient };
        for (part, header) in parts.into_iter().zip(headers) {
            inner.add(part, &header)?;
        }
        Ok(inner)
    }

    /// Adds a part, if its columns are those of the first.
    fn add(&mut self, part: Part, header: &Header) -> Result<(), TableError> {
        let (file, first) = (part.name.clone(), self.parts.first().map_or(&part.name, |part| &part.name).clone());
        if self.untyped != part.delimiter.is_some() {
            return Err(TableError::MixedFormats { file, first });
        }
        let own = header.names();
        plan(&file, &own, &self.options)?;
        let kept = |name: &&String| !self.options.ignored_columns.contains(name);
        let lacking = self.names.iter().filter(kept).find(|name| !own.contains(name));
        let extra = own.iter().filter(kept).find(|name| !self.names.contains(name));
        if let Some(column) = lacking.or(extra) {
            return Err(TableError::OtherColumns { file, first, column: column.clone(), extra: lacking.is_none() });
        }
        for (column, here) in own.into_iter().zip(header.types(&file, &self.options)?) {
            let Some(known) = self.names.iter().position(|name| *name == column) else { continue };
            match (self.declared[known], here) {
                (None, here) => self.declared[known] = here,
                (Some(there), Some(text)) if there != text && self.wishes[known] == Wish::Guess => {
                    return Err(TableError::OtherType { file, first, column, text });
                }
                _ => {}
            }
        }
        self.parts.push(part);
        Ok(())
    }
}

/// What the start of a text file or the end of a Parquet file says about its columns.
enum Header {
    Text(Vec<String>),
    Parquet(Box<parquet::Description>),
}

impl Header {
    fn names(&self) -> Vec<String> {
        match self {
            Header::Text(names) => names.clone(),
            Header::Parquet(description) => description.names(),
        }
    }

    /// Whether each column is declared as text; `None` if that is not said or the column is ignored.
    fn types(&self, file: &str, options: &ReadOptions) -> Result<Vec<Option<bool>>, TableError> {
        let Header::Parquet(description) = self else { return Ok(vec![None; self.names().len()]) };
        let stored = description.columns(file, options)?;
        let text = |name: &String| stored.iter().find(|column| column.name == *name).and_then(|column| column.text);
        Ok(self.names().iter().map(text).collect())
    }
}

impl Part {
    /// Looks at a file and at its columns, not at its rows.
    fn open(path: &Path, options: &ReadOptions) -> Result<(Part, Header), TableError> {
        let mut source = Source::new(path)?;
        let name = source.name().to_owned();
        let stream = || TableError::NotInBlocks { file: name.clone(), what: "what can be read only once" };
        let path = source.path().ok_or_else(stream)?.to_owned();
        let format = match options.format.or_else(|| format_of_name(&path)) {
            Some(format) => format,
            None => format_of_content(&source.head()?),
        };
        let found = fs::metadata(&path).map_err(|cause| TableError::Read { file: name.clone(), cause })?;
        let mut part = Part { path, name, bytes: found.len(), modified: found.modified().ok(), delimiter: None };
        let usual = match format {
            Format::Csv => None,
            Format::Tsv => Some(b'\t'),
            Format::Arff => return Err(TableError::NotInBlocks { file: part.name, what: "ARFF" }),
            Format::Parquet => {
                let input = parquet::open(&part.name, &part.path)?;
                let described = parquet::guarded(&part.name, || parquet::reader(&part.name, input))?;
                let description = Box::new(parquet::Description::of(&described));
                return Ok((part, Header::Parquet(description)));
            }
        };
        let delimiter = delimited::delimiter(&mut source, usual, options)?;
        part.delimiter = Some(delimiter);
        let names = Records::new(&part.name, source.open()?, delimiter).start(&mut Batch::default())?;
        Ok((part, Header::Text(names)))
    }

    /// Opens the file for a pass, if it is the one that was looked at first.
    pub(super) fn reopen(&self) -> Result<File, TableError> {
        self.check_unchanged()?;
        File::open(&self.path).map_err(|cause| TableError::Read { file: self.name.clone(), cause })
    }

    /// Refuses a file that changed since it was looked at first.
    pub(super) fn check_unchanged(&self) -> Result<(), TableError> {
        let file = || self.name.clone();
        match fs::metadata(&self.path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(TableError::Vanished { file: file() }),
            Err(cause) => Err(TableError::Read { file: file(), cause }),
            Ok(found) if found.len() != self.bytes || found.modified().ok() != self.modified => {
                Err(TableError::Changed { file: file() })
            }
            Ok(_) => Ok(()),
        }
    }
}

/// The files that paths, folders and patterns stand for; one that is named twice is read once.
fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, TableError> {
    let mut files = Vec::new();
    for path in paths {
        let pattern = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            let is_table = |path: &Path| {
                matches!(format_of_name(path), Some(Format::Csv | Format::Tsv | Format::Parquet)) && path.is_file()
            };
            files.extend(listed(path, path, |path, _| is_table(path))?);
        } else if pattern.contains(['*', '?']) && !path.exists() {
            files.extend(listed(path, folder_of(path), |path, name| matches(&pattern, name) && path.is_file())?);
        } else {
            files.push(path.clone());
        }
    }
    let mut known = HashSet::new();
    files.retain(|file| known.insert(file.clone()));
    match files.is_empty() {
        true => Err(TableError::NoFiles { path: String::from("an empty list") }),
        false => Ok(files),
    }
}

/// Files of a folder that are wanted, sorted, without hidden ones; an error if there are none.
fn listed(asked: &Path, folder: &Path, wanted: impl Fn(&Path, &str) -> bool) -> Result<Vec<PathBuf>, TableError> {
    let failed = |cause| TableError::Read { file: shown(folder), cause };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A pattern without a folder stands for files that are named without one.
        let bare = asked != folder && asked.parent() == Some(Path::new(""));
        let path = if bare { entry.file_name().into() } else { entry.path() };
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && wanted(&path, &name) {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(TableError::NoFiles { path: shown(asked) }),
        false => Ok(files),
    }
}

/// Whether a name matches a pattern in which `*` stands for any letters and `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Of the last star: its place, and the end of what it stands for so far.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, n));
                p += 1;
            }
            (Some(letter), _) if *letter == '?' || *letter == name[n] => (p, n) = (p + 1, n + 1),
            (_, Some((at, end))) => {
                star = Some((at, end + 1));
                (p, n) = (at + 1, end + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rule itself, by recursion.
    fn by_recursion(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], _) => name.is_empty(),
            (['*', rest @ ..], _) => (0..=name.len()).any(|skipped| by_recursion(rest, &name[skipped..])),
            ([first, rest @ ..], [letter, more @ ..]) => (*first == '?' || first == letter) && by_recursion(rest, more),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

        #[test]
        fn patterns_match_by_their_rule(pattern in "[ab*?]{0,6}", name in "[ab]{0,8}") {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), by_recursion(&letters(&pattern), &letters(&name)));
        }
    }
}
