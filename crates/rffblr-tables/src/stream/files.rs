//! Which files are read, and whether they have the same columns.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::super::delimited::{self, Style};
use super::super::packing::{Letters, Packing};
use super::super::source::Source;
use super::super::{Format, ReadOptions, TableError, Wish, format_of, format_of_name, parquet, plan, usual_delimiter};
use super::{Inner, shown};
use rffblr::internals::{folder_of, matches};

/// A file with some of the rows.
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) bytes: u64,
    modified: Option<SystemTime>,
    /// Of a text file; `None` for Parquet.
    pub(super) style: Option<Style>,
    pub(super) packing: Packing,
    pub(super) letters: Letters,
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
        let untyped = parts[0].style.is_some();
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
        if self.untyped != part.style.is_some() {
            return Err(TableError::MixedFormats { file, first });
        }
        let own = header.names();
        plan(&file, &own, &self.options)?;
        let ignored: HashSet<&String> = self.options.ignored_columns.iter().collect();
        let kept = |name: &&String| !ignored.contains(name);
        let places: HashMap<&String, usize> = (0..).zip(&self.names).map(|(place, name)| (name, place)).collect();
        let here: HashSet<&String> = own.iter().collect();
        let lacking = self.names.iter().filter(kept).find(|name| !here.contains(name));
        let extra = own.iter().filter(kept).find(|name| !places.contains_key(name));
        if let Some(column) = lacking.or(extra) {
            return Err(TableError::OtherColumns { file, first, column: column.clone(), extra: lacking.is_none() });
        }
        for (column, here) in own.into_iter().zip(header.types(&file, &self.options)?) {
            let Some(&known) = places.get(&column) else { continue };
            let Some(here) = here else { continue };
            let there = *self.declared[known].get_or_insert(here);
            let is_asked = match self.wishes[known] {
                Wish::Text | Wish::Ignore => true,
                // What is read as numbers may be stored as text, but true and false are no numbers.
                Wish::Numeric => here == Declared::Text || there == Declared::Text,
                Wish::Guess => false,
            };
            if here != there && !is_asked {
                let (here, there) = (here.words(), there.words());
                return Err(TableError::OtherType { file, first, column, here, there });
            }
        }
        self.parts.push(part);
        Ok(())
    }
}

/// What a Parquet file says of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    Text,
    Numbers,
    Truths,
}

impl Declared {
    fn words(self) -> &'static str {
        match self {
            Declared::Text => "text",
            Declared::Numbers => "numbers",
            Declared::Truths => "true and false",
        }
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

    /// What each column is declared as; `None` if that is not said or the column is ignored.
    fn types(&self, file: &str, options: &ReadOptions) -> Result<Vec<Option<Declared>>, TableError> {
        let Header::Parquet(description) = self else { return Ok(vec![None; self.names().len()]) };
        let stored = description.columns(file, options)?;
        let declared = |name: &String| {
            let column = stored.iter().find(|column| column.name == *name)?;
            Some(match column.text? {
                true => Declared::Text,
                false if column.truths => Declared::Truths,
                false => Declared::Numbers,
            })
        };
        Ok(self.names().iter().map(declared).collect())
    }
}

impl Part {
    /// Looks at a file and at its columns, not at its rows.
    fn open(path: &Path, options: &ReadOptions) -> Result<(Part, Header), TableError> {
        let mut source = Source::new(path)?;
        let name = source.name().to_owned();
        let stream = || TableError::NotInBlocks { file: name.clone(), what: "what can be read only once" };
        let path = source.path().ok_or_else(stream)?.to_owned();
        let format = format_of(&mut source, &path, options)?;
        let found = fs::metadata(&path).map_err(|cause| TableError::Read { file: name.clone(), cause })?;
        let (packing, letters) = (source.packing, Letters::Utf8);
        let mut part =
            Part { path, name, bytes: found.len(), modified: found.modified().ok(), style: None, packing, letters };
        let what = match format {
            Format::Csv | Format::Tsv => {
                source.is_text(options.encoding)?;
                part.letters = source.letters;
                let style = delimited::style(&mut source, usual_delimiter(format), options)?;
                part.style = Some(style);
                return Ok((part, Header::Text(delimited::names(&mut source, style)?)));
            }
            Format::Parquet if packing == Packing::Plain => {
                let input = parquet::open(&part.name, &part.path)?;
                let described = parquet::guarded(&part.name, || parquet::reader(&part.name, input))?;
                let description = Box::new(parquet::Description::of(&described));
                return Ok((part, Header::Parquet(description)));
            }
            Format::Parquet => "a packed Parquet file",
            Format::Arrow => "an Arrow file",
            Format::Arff => "ARFF",
            Format::Workbook => "a workbook",
        };
        Err(TableError::NotInBlocks { file: part.name, what })
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
