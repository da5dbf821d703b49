//! The flags that say what to learn from, shared by every command that learns.

use crate::reading::ReadingArguments;
use crate::{Cli, data, output};
use anyhow::{Context, Result};
use clap::CommandFactory;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use rffblr::data::{
    EncodeError, MissingInputs, Note, NoteKind, RoleChoice, TrainingTable, Weights, names_among, one_name,
};
use rffblr::internals::{excerpt, how_to_predict};
use rffblr::table::DateOrder;
use rffblr_cli::catalogue;
use rffblr_tables::{ReadOptions, TableError, TableFile};
use std::path::{Path, PathBuf};

/// A table and the parts its columns play.
#[derive(clap::Args)]
pub struct TableArguments {
    /// Table to learn from: CSV, TSV, ARFF, Parquet, Arrow, Excel or OpenDocument, also packed by gzip or zstd; - for standard
    /// input; or a name of `rffblr data list`
    pub data: PathBuf,
    /// Columns to predict: names such as a,b,c, patterns such as 'lab_*', positions such as #3, or last:3; a name that
    /// contains a comma stands in double quotes, which a quote in it doubles [needed, except with a name of `rffblr data
    /// list`, whose targets are known]
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
    /// Column that orders the rows in time, numbers or dates: where the model is tested, it is trained on the past and
    /// tested on the future. It is an input too, unless it is ignored
    #[arg(long, value_name = "NAME")]
    time: Option<String>,
    /// Columns to read as text, one level per distinct value, although they hold numbers or dates
    #[arg(long, value_name = "NAMES")]
    text: Vec<String>,
    /// How dates such as 03/04/2024 are read where no other date of their column shows it: day-first or month-first
    #[arg(long, value_name = "ORDER", value_parser = date_order())]
    dates: Option<DateOrder>,
    /// Missing inputs: take the training median and mark them, or refuse them. Missing is an empty cell, NA, N/A, NaN,
    /// null, none, ?, a point, what spreadsheets write for an error (#N/A, #N/D, #NULL!, #VALUE!, #DIV/0!, #REF!, #NUM!, #NAME?),
    /// and among numbers a limit such as <0.5, >100, <LOD or n.d.
    #[arg(long, value_name = "HOW", default_value = "impute", value_parser = missing_inputs())]
    missing: MissingInputs,
    #[command(flatten)]
    reading: ReadingArguments,
}

fn date_order() -> impl TypedValueParser<Value = DateOrder> {
    PossibleValuesParser::new(["day-first", "month-first"]).map(|order| match order.as_str() {
        "month-first" => DateOrder::MonthFirst,
        _ => DateOrder::DayFirst,
    })
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
        let how = self.reading.options();
        let path = self.file()?;
        let mut file = TableFile::open(&path, &how)?;
        let (choice, options) = self.wanted(&file.names(&how)?)?;
        let table = file.read(&options).map_err(|problem| TableArguments::classes(problem, &choice))?;
        let training = TrainingTable::new(table, choice, self.missing).map_err(|problem| in_file(problem, &path))?;
        if !quiet {
            training.notes().iter().for_each(tell);
        }
        Ok(training)
    }

    /// Whether the rows are ordered in time.
    pub fn is_ordered(&self) -> bool {
        self.time.is_some()
    }

    /// What happens to missing inputs.
    pub fn missing(&self) -> MissingInputs {
        self.missing
    }

    /// A problem with a target that may be a class, with what to do.
    fn classes(problem: TableError, choice: &RoleChoice) -> anyhow::Error {
        match &problem {
            TableError::NotNumeric { file, place, column, text } if choice.targets().contains(column) => {
                let (column, shown) = (excerpt(column), excerpt(text));
                let what = how_to_predict(text);
                anyhow::anyhow!("{file}, {place}, column {column}: {shown} is not a number, and targets are; {what}")
            }
            _ => problem.into(),
        }
    }

    /// How the file is read, whatever its columns are for.
    pub fn reading(&self) -> ReadOptions {
        self.reading.options()
    }

    /// The parts that the columns with these names play, and how to read them.
    pub fn wanted(&self, columns: &[String]) -> Result<(RoleChoice, ReadOptions)> {
        let weight = self.weight.as_deref().map(Weights::Relative);
        let weight = weight.or(self.repeats.as_deref().map(Weights::Repeats));
        let one = |name: &Option<String>| name.as_ref().map(|name| well_formed(one_name(name, columns)));
        let (group, time) = (one(&self.group), one(&self.time));
        let choice = well_formed(RoleChoice::among(columns, &self.targets(columns)?, &self.ignore, weight));
        let choice = well_formed(choice.with_order(group.as_deref(), time.as_deref()));
        let choice = choice.with_texts(well_formed(names_among(&self.text, columns)), self.dates);
        choice.expect_few_inputs(columns.len())?;
        let options = self.reading.apply(choice.read_options());
        Ok((choice, options))
    }

    /// The file to read.
    fn file(&self) -> Result<PathBuf> {
        if self.data.is_dir() { Ok(self.data.clone()) } else { file_of(&self.data) }
    }

    /// The targets: those of the catalogue unless others are asked for.
    fn targets(&self, columns: &[String]) -> Result<Vec<String>> {
        if !self.targets.is_empty() {
            return Ok(self.targets.clone());
        }
        let Some(set) = catalogued(&self.data)? else {
            let listed = (1..).zip(columns).map(|(position, name)| format!("\n  #{position:<3} {name}"));
            let shown: String = listed.take(SHOWN).collect();
            let more = match columns.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!("\n  and {more} more"),
            };
            let missing = "--targets is needed: the columns to predict, such as a,b,c, 'lab_*', #3 or last:3";
            let columns = format!("the columns of {}:{shown}{more}", self.data.display());
            wrong(ErrorKind::MissingRequiredArgument, format!("{missing}\n\n{columns}"))
        };
        Ok(vec![format!("last:{}", set.tasks)])
    }
}

/// Columns that are listed where targets are missing.
const SHOWN: usize = 40;

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
    said.unwrap_or_else(|problem| wrong(ErrorKind::ValueValidation, problem))
}

/// Ends the program as a wrong command line does, with the usage of the command that was typed.
pub fn wrong(kind: ErrorKind, problem: impl std::fmt::Display) -> ! {
    let mut command = Cli::command();
    command.build();
    let typed = std::env::args().skip(1).find(|word| command.find_subcommand(word).is_some());
    match typed.and_then(|name| command.find_subcommand_mut(&name)) {
        Some(subcommand) => subcommand.error(kind, problem).exit(),
        None => Cli::command().error(kind, problem).exit(),
    }
}

/// An error about a table with the file that it is in, and with the option that helps.
fn in_file(problem: rffblr::Error, path: &Path) -> anyhow::Error {
    let is_about_table = matches!(&problem, rffblr::Error::Encode(cause) if !matches!(cause, EncodeError::Memory(_)));
    let problem = advise(problem);
    let name = if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    if is_about_table { anyhow::anyhow!("{name}: {problem}") } else { problem }
}

/// An error with the option that helps, if one does.
pub fn advise(problem: rffblr::Error) -> anyhow::Error {
    let option = match &problem {
        rffblr::Error::Encode(EncodeError::AmbiguousDates { .. }) => "--dates day-first or --dates month-first",
        rffblr::Error::Encode(EncodeError::MostlyDates { column, .. }) => {
            return anyhow::anyhow!("{problem} (--text {})", output::shell_word(column));
        }
        _ => return problem.into(),
    };
    anyhow::anyhow!("{problem} ({option})")
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
