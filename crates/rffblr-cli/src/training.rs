//! The flags that say what to learn from, shared by every command that learns.

use crate::{Cli, data, output};
use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use rffblr::data::{EncodeError, MissingInputs, Note, NoteKind, RoleChoice, TrainingTable, Weights, split_names};
use rffblr_cli::catalogue;
use rffblr_tables::{ReadOptions, TableError};
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
    /// where the model is tested. It is not an input
    #[arg(long, value_name = "NAME", conflicts_with = "time")]
    group: Option<String>,
    /// Column that orders the rows in time, numbers or dates such as 2024-05-31: where the model is tested, it is trained
    /// on the past and tested on the future. Dates are not an input
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

impl TableArguments {
    /// Reads the table and settles who plays which part; the notes on it go to standard error unless `quiet`.
    pub fn read(&self, quiet: bool) -> Result<TrainingTable> {
        let (path, choice, options) = self.wanted()?;
        let training = TrainingTable::new(rffblr_tables::read(&path, &options)?, choice, self.missing)?;
        if !quiet {
            training.notes().iter().for_each(tell);
        }
        Ok(training)
    }

    /// An error if rows belong together: which are held out is then decided with all of them in memory.
    pub fn expect_no_order(&self) -> Result<()> {
        match self.group.is_some() || self.time.is_some() {
            true => bail!("--group and --time need all rows in memory, and these are read in blocks; leave them out"),
            false => Ok(()),
        }
    }

    /// What happens to missing inputs.
    pub fn missing(&self) -> MissingInputs {
        self.missing
    }

    /// The file, the parts its columns play, and how to read it.
    pub fn wanted(&self) -> Result<(PathBuf, RoleChoice, ReadOptions)> {
        let (path, targets) = self.source()?;
        let weight = self.weight.as_deref().map(Weights::Relative);
        let weight = weight.or(self.repeats.as_deref().map(Weights::Repeats));
        let choice = well_formed(RoleChoice::parse(&targets, &self.ignore, weight));
        let choice = well_formed(choice.with_order(self.group.as_deref(), self.time.as_deref()));
        let mut options = choice.read_options();
        options.text_columns = well_formed(split_names(&self.text));
        options.delimiter = self.delimiter;
        Ok((path, choice, options))
    }

    /// The file to read and the targets: those of the catalogue unless others are asked for.
    fn source(&self) -> Result<(PathBuf, Vec<String>)> {
        let file = if self.data.is_dir() { self.data.clone() } else { file_of(&self.data)? };
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

/// A table of the catalogue, whose last columns are its targets.
pub fn of_catalogue(path: &Path, tasks: usize) -> Result<TrainingTable> {
    let choice = RoleChoice::parse(&[format!("last:{tasks}")], &[], None)?;
    let table = rffblr_tables::read(path, &choice.read_options())?;
    Ok(TrainingTable::new(table, choice, MissingInputs::Impute)?)
}

/// Prints a note, with the option that follows its advice.
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
