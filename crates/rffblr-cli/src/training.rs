//! The flags that say what to learn from, shared by every command that learns.

use crate::{Cli, data, output};
use anyhow::{Context, Result};
use clap::CommandFactory;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use rffblr::data::{
    Dataset, EncodeError, Encoder, MissingInputs, Note, NoteKind, RoleChoice, Roles, Weights, split_names,
};
use rffblr::metrics::SplitBy;
use rffblr_cli::catalogue;
use rffblr_methods::folds::{Folds, Split};
use rffblr_tables as table;
use rffblr_tables::{Table, TableError};
use std::path::{Path, PathBuf};

/// A table and the parts its columns play.
#[derive(clap::Args)]
pub struct TableArguments {
    /// Table to learn from: CSV, TSV, ARFF or Parquet; - for standard input; or a name of `rffblr data list`
    pub data: PathBuf,
    /// Columns to predict: a,b,c or last:3; put a name that contains a comma in double quotes [needed, except with a
    /// name of `rffblr data list`, whose targets are known]
    #[arg(long, value_name = "NAMES")]
    targets: Vec<String>,
    /// Columns to leave out
    #[arg(long, value_name = "NAMES")]
    ignore: Vec<String>,
    /// Column of relative row weights: the noise of a row of weight w has variance σ²/w, and a common factor changes
    /// nothing; intervals are those of a row of average weight
    #[arg(long, value_name = "NAME", conflicts_with = "repeats")]
    weight: Option<String>,
    /// Column of counts: a row with 2 is learned from as if it were written twice
    #[arg(long, value_name = "NAME")]
    repeats: Option<String>,
    /// Column whose equal values mark rows that belong together, such as visits of one patient: whole groups are held out
    /// where the model is tested. It is no input
    #[arg(long, value_name = "NAME", conflicts_with = "time")]
    group: Option<String>,
    /// Column that orders the rows in time, numbers or dates such as 2024-05-31: where the model is tested, it is trained
    /// on the past and tested on the future. Dates are no input
    #[arg(long, value_name = "NAME")]
    time: Option<String>,
    /// Columns to read as text, one level per distinct value, although they hold numbers
    #[arg(long, value_name = "NAMES")]
    text: Vec<String>,
    /// Character between the cells of a text file, or tab [default: recognised]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Missing inputs: take the training median and mark them, or refuse them. Missing is an empty cell, NA, N/A, NaN,
    /// null, none, ?, and what spreadsheets write for an error: #N/A, #N/D, #NULL!, #VALUE!, #DIV/0!, #REF!, #NUM!, #NAME?
    #[arg(long, value_name = "HOW", default_value = "impute", value_parser = missing_inputs())]
    missing: MissingInputs,
}

/// A single character, or the word for one that is hard to type.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" => Ok(b'\t'),
        [character] => Ok(*character),
        _ => Err("write one ASCII character, or tab".into()),
    }
}

fn missing_inputs() -> impl TypedValueParser<Value = MissingInputs> {
    PossibleValuesParser::new(["impute", "error"]).map(|choice| match choice.as_str() {
        "error" => MissingInputs::Error,
        _ => MissingInputs::Impute,
    })
}

/// A table as it was read, its roles, and the rows that tell something about a target.
pub struct Training {
    pub table: Table,
    pub roles: Roles,
    pub rows: Vec<usize>,
    pub missing: MissingInputs,
    /// What the user should know about the rows.
    pub notes: Vec<Note>,
}

impl TableArguments {
    /// Reads the table and settles who plays which part.
    pub fn read(&self) -> Result<Training> {
        let (path, targets) = self.source()?;
        let weight = self.weight.as_deref().map(Weights::Relative);
        let weight = weight.or(self.repeats.as_deref().map(Weights::Repeats));
        let choice = well_formed(RoleChoice::parse(&targets, &self.ignore, weight));
        let choice = well_formed(choice.with_order(self.group.as_deref(), self.time.as_deref()));
        let mut options = choice.read_options();
        options.text_columns = well_formed(split_names(&self.text));
        options.delimiter = self.delimiter;
        let table = table::read(&path, &options)?;
        let roles = choice.resolve(&table)?;
        let (rows, mut notes) = roles.observed_rows(&table)?;
        notes.extend(roles.order_notes(&table));
        Ok(Training { table, roles, rows, missing: self.missing, notes })
    }

    /// The file to read and the targets: those of the catalogue unless others are asked for.
    fn source(&self) -> Result<(PathBuf, Vec<String>)> {
        let file = file_of(&self.data)?;
        if !self.targets.is_empty() {
            return Ok((file, self.targets.clone()));
        }
        let Some(set) = catalogued(&self.data)? else {
            let missing = "--targets is needed: the columns to predict, such as a,b,c or last:3";
            Cli::command().error(ErrorKind::MissingRequiredArgument, missing).exit()
        };
        Ok((file, vec![format!("last:{}", set.tasks)]))
    }
}

/// The file that holds a table, also one that is named as in the catalogue.
pub fn file_of(path: &Path) -> Result<PathBuf> {
    if path.is_dir() {
        return Err(TableError::Folder { file: path.display().to_string() }.into());
    }
    Ok(match catalogued(path)? {
        Some(set) => data::locate(set, None)?,
        None => path.to_owned(),
    })
}

/// The data set of the catalogue that a name means, unless a file has it.
pub fn catalogued(path: &Path) -> Result<Option<&'static catalogue::Dataset>> {
    let name = path.to_string_lossy();
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric());
    if !is_name || path.exists() {
        return Ok(None);
    }
    Ok(Some(data::find(&name).with_context(|| format!("there is no file {name}"))?))
}

/// What was said on the command line, or the end of the program with the exit code of a wrong command line.
fn well_formed<T>(said: std::result::Result<T, EncodeError>) -> T {
    said.unwrap_or_else(|problem| Cli::command().error(ErrorKind::ValueValidation, problem).exit())
}

impl Training {
    /// A table of the catalogue, whose last columns are its targets.
    pub fn of_catalogue(path: &Path, tasks: usize) -> Result<Training> {
        let choice = RoleChoice::parse(&[format!("last:{tasks}")], &[], None)?;
        let table = table::read(path, &choice.read_options())?;
        let roles = choice.resolve(&table)?;
        let (rows, notes) = roles.observed_rows(&table)?;
        Ok(Training { table, roles, rows, missing: MissingInputs::Impute, notes })
    }

    /// Encoder and numbers of all rows, with the notes told on standard error unless `quiet`.
    pub fn encode(&self, quiet: bool) -> Result<(Encoder, Dataset)> {
        let (encoder, notes) = Encoder::learn(&self.table, &self.rows, &self.roles, self.missing)?;
        let (data, _) = encoder.dataset(&self.table, &self.rows)?;
        if !quiet {
            self.notes.iter().chain(&notes).chain(&encoder.suspicions(&data)).for_each(tell);
        }
        Ok((encoder, data))
    }

    /// Folds of the rows that tell something about a target, as the columns of groups or times ask.
    pub fn folds(&self, count: usize, seed: u64) -> Result<(Folds, SplitBy)> {
        Ok(Folds::by_roles(&self.roles, &self.table, &self.rows, count, seed)?)
    }

    /// One fold, encoded by what its training rows tell alone. Also gives those rows.
    pub fn split(&self, folds: &Folds, fold: usize) -> Result<(Split, Vec<usize>)> {
        Ok(Split::of_table(&self.table, &self.roles, self.missing, &self.rows, folds, fold)?)
    }
}

/// Tells a note, with the option that follows its advice.
pub fn tell(note: &Note) {
    output::note(&advised(note));
}

/// A note with the option that follows its advice.
pub fn advised(note: &Note) -> String {
    let column = note.columns.first().map_or("NAME".into(), |name| output::shell_word(name));
    let option = match note.kind {
        NoteKind::Index | NoteKind::Leak => "ignore",
        NoteKind::Units => "group",
        NoteKind::Time => "time",
        _ => return note.to_string(),
    };
    format!("{note} (--{option} {column})")
}
