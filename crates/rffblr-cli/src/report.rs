//! `rffblr report`: what a model learned and how far to trust it, as one HTML page and a model card.

use crate::checking::{Plan, Wanted, wanted};
use crate::reading::ReadingArguments;
use crate::training::{advised, file_of, tell};
use crate::{VERSION, output};
use anyhow::{Context, Result, bail};
use rffblr::Model;
use rffblr::data::{Encoder, Encoding, Note, Roles, TrainingTable};
use rffblr::internals::hex;
use rffblr_report::{Options, Report};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  rffblr report model.json train.csv                      writes model.report.html
  rffblr report model.json train.csv -o report.html --card card.md
  rffblr report model.json train.csv --no-row-data        no row of the table is in the page
  rffblr report model.json                                without the data: the model alone")]
pub struct Arguments {
    /// Model file written by fit
    model: PathBuf,
    /// Table the model was fitted to; how well it does can only be shown with it
    data: Option<PathBuf>,
    /// Page to write, - for standard output [default: MODEL with the ending .report.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the model card too, as Markdown, - for standard output (the page has it behind a button)
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// Leave out everything that shows single rows; refuse text values that fewer than five rows share
    #[arg(long)]
    no_row_data: bool,
    /// Title of the page [default: the name of the model file]
    #[arg(long)]
    title: Option<String>,
    /// Refits that test the model on rows held out, their number or off [default: the check that is in the model file; if
    /// there is none, 5 refits unless they would take minutes]
    #[arg(long, value_name = "K", value_parser = wanted, requires = "data")]
    check: Option<Wanted>,
    /// Column whose equal values mark rows that belong together: whole groups are held out by the refits [default: that of
    /// the fit]
    #[arg(long, value_name = "NAME", conflicts_with = "time", requires = "data")]
    group: Option<String>,
    /// Column that orders the rows in time: the refits are trained on the past and tested on the future [default: that of
    /// the fit]
    #[arg(long, value_name = "NAME", requires = "data")]
    time: Option<String>,
    #[command(flatten)]
    reading: ReadingArguments,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let page = arguments.output.clone().unwrap_or_else(|| default_output(&arguments.model));
    let card = arguments.card.as_ref();
    if card == Some(&page) {
        bail!("page and card cannot both be {}", page.display());
    }
    let table = arguments.data.as_deref().map(file_of).transpose()?;
    let files: Vec<&PathBuf> = [&page].into_iter().chain(card).filter(|path| !output::is_stream(path)).collect();
    for path in &files {
        output::expect_apart(path, [&arguments.model].into_iter().chain(&table).map(PathBuf::as_path))?;
        output::expect_writable(path, arguments.force)?;
    }
    let mut model = Model::load(&arguments.model)?;
    let source = table.map(|table| Source::read(&model, table, arguments)).transpose()?;
    if let Some(source) = &source {
        if !arguments.quiet {
            source.warnings().for_each(tell);
        }
        model = checked(model, source, arguments)?;
    }
    let origin = origin(&arguments.model, source.as_ref().map(|source| source.path.as_path()))?;
    let report = compute(&model, source.as_ref(), origin, arguments)?;
    output::deliver(report.html(), &page, arguments.force)?;
    if let Some(card) = card {
        output::deliver(report.card(), card, arguments.force)?;
    }
    if !arguments.quiet {
        files.iter().for_each(|path| output::tell(&format!("Wrote {}", path.display())));
    }
    Ok(())
}

/// The model with a check, if there is one or one was asked for.
fn checked(model: Model, source: &Source, arguments: &Arguments) -> Result<Model> {
    let is_asked = arguments.check.is_some() || arguments.group.is_some() || arguments.time.is_some();
    if arguments.check == Some(Wanted::Off) || (model.check().is_some() && !is_asked) {
        return Ok(model);
    }
    let plan = Plan::new(arguments.check, &source.training, model.settings().seed)?;
    match plan.run(&source.training, model.settings(), None, arguments.quiet)? {
        Ok(check) => Ok(model.with_check(check)?),
        Err(why_not) => {
            if !arguments.quiet {
                output::note(&why_not);
            }
            Ok(model)
        }
    }
}

fn compute(
    model: &Model,
    source: Option<&Source>,
    origin: Vec<(String, String)>,
    arguments: &Arguments,
) -> Result<Report> {
    let name = arguments.model.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".json").trim_end_matches(".model");
    let options = Options {
        title: arguments.title.clone().unwrap_or_else(|| name.to_owned()),
        row_data: !arguments.no_row_data,
        row_numbers: source.map(|s| s.training.rows().iter().map(|row| row + 1).collect()).unwrap_or_default(),
        origin,
        notes: source.map(|s| s.warnings().map(advised).collect()).unwrap_or_default(),
    };
    Ok(Report::new(model, source.map(|s| s.training.dataset()), &options)?)
}

/// Where a report comes from, as far as the command knows.
pub fn origin(model: &Path, table: Option<&Path>) -> Result<Vec<(String, String)>> {
    let mut origin = vec![
        ("command".into(), command_line()),
        ("program".into(), format!("rffblr {VERSION}")),
        ("model file".into(), model.display().to_string()),
        ("SHA-256 of the model file".into(), sha256(model)?),
    ];
    if let Some(table) = table {
        origin.push(("training table".into(), table.display().to_string()));
        origin.push(("SHA-256 of the training table".into(), sha256(table)?));
    }
    Ok(origin)
}

/// `soil.model.json` gives `soil.report.html` beside it.
fn default_output(model: &Path) -> PathBuf {
    let plain = if output::is_stream(model) { PathBuf::from("rffblr") } else { model.with_extension("") };
    let plain =
        if plain.extension().is_some_and(|ending| ending == "model") { plain.with_extension("") } else { plain };
    plain.with_added_extension("report.html")
}

/// The table a model was fitted to.
struct Source {
    path: PathBuf,
    training: TrainingTable,
}

impl Source {
    fn read(model: &Model, path: PathBuf, arguments: &Arguments) -> Result<Source> {
        if output::is_stream(&path) {
            bail!("the training table is read twice, for its numbers and for its hash: name a file");
        }
        let encoder = model.table_encoder().into_owned();
        let differs = || format!("{} is not the table the model was fitted to", path.display());
        let mut options = arguments.reading.apply(encoder.training_options());
        let roles = self::roles(&encoder, arguments)?;
        let needed = [&roles.group, &roles.time];
        options.ignored_columns.retain(|name| !needed.contains(&&Some(name.clone())));
        let table = rffblr_tables::read(&path, &options)?;
        let training = TrainingTable::again(table, roles, encoder).with_context(differs)?;
        if training.dataset().fingerprint() != model.fingerprint() {
            bail!("{}: its numbers differ; use the training table, or leave it out", differs());
        }
        Ok(Source { path, training })
    }

    /// What casts doubt on the scores.
    fn warnings(&self) -> impl Iterator<Item = &Note> {
        self.training.notes().iter().filter(|note| note.is_warning())
    }
}

/// The roles of the fit, with another column to split the rows by if one was asked for.
fn roles(encoder: &Encoder, arguments: &Arguments) -> Result<Roles> {
    let mut roles = encoder.roles().clone();
    if arguments.group.is_none() && arguments.time.is_none() {
        return Ok(roles);
    }
    let input = |name: &String| encoder.raw_inputs().iter().find(|input| input.name == *name);
    if let Some(name) = arguments.group.as_ref().filter(|name| input(name).is_some()) {
        bail!("column '{name}' is an input of the model, which a group cannot be; fit it again with --group {name}");
    }
    let is_text = |name: &&String| input(name).is_some_and(|i| matches!(i.encoding, Encoding::Categorical { .. }));
    if let Some(name) = arguments.time.as_ref().filter(is_text) {
        bail!("column '{name}' is an input of the model as text; fit it again with --time {name}");
    }
    // What was no input of the fit is none of the refits.
    let before = [roles.group.take(), roles.time.take()];
    roles.ignore.extend(before.into_iter().flatten().filter(|name| input(name).is_none()));
    (roles.group, roles.time) = (arguments.group.clone(), arguments.time.clone());
    Ok(roles)
}

fn sha256(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex(Sha256::digest(bytes)))
}

/// What was typed.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| output::shell_word(&word.to_string_lossy()));
    ["rffblr".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
