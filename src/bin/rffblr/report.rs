//! `rffblr report`: what a model learned and how far to trust it, as one HTML page and a model card.

use crate::training::{advised, delimiter, file_of, tell};
use crate::{VERSION, output};
use anyhow::{Context, Result, bail};
use rffblr::Model;
use rffblr::data::{Dataset, Encoder, Note};
use rffblr::report::{Options, Report};
use rffblr::table;
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
    /// Character between the cells of a text file, or tab [default: recognised]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
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
    let model = Model::load(&arguments.model)?;
    let training = table.map(|table| Training::read(&model, table, arguments.delimiter)).transpose()?;
    if let (Some(training), false) = (&training, arguments.quiet) {
        training.warnings.iter().for_each(tell);
    }
    let origin = origin(&arguments.model, training.as_ref().map(|training| training.path.as_path()))?;
    let report = compute(&model, training.as_ref(), origin, arguments)?;
    output::deliver(&report.html()?, &page, arguments.force)?;
    if let Some(card) = card {
        output::deliver(report.card(), card, arguments.force)?;
    }
    if !arguments.quiet {
        files.iter().for_each(|path| output::tell(&format!("Wrote {}", path.display())));
    }
    Ok(())
}

fn compute(
    model: &Model,
    training: Option<&Training>,
    origin: Vec<(String, String)>,
    arguments: &Arguments,
) -> Result<Report> {
    let name = arguments.model.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".json").trim_end_matches(".model");
    let options = Options {
        title: arguments.title.clone().unwrap_or_else(|| name.to_owned()),
        row_data: !arguments.no_row_data,
        row_numbers: training.map(|t| t.rows.iter().map(|row| row + 1).collect()).unwrap_or_default(),
        origin,
        notes: training.map(|t| t.warnings.iter().map(advised).collect()).unwrap_or_default(),
    };
    Ok(Report::new(model, training.map(|t| &t.data), &options)?)
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
struct Training {
    path: PathBuf,
    data: Dataset,
    /// Rows of the table that tell something about a target.
    rows: Vec<usize>,
    /// What casts doubt on the scores.
    warnings: Vec<Note>,
}

impl Training {
    fn read(model: &Model, path: PathBuf, delimiter: Option<u8>) -> Result<Training> {
        if output::is_stream(&path) {
            bail!("the training table is read twice, for its numbers and for its hash: name a file");
        }
        let plain;
        let encoder = match model.encoder() {
            Some(encoder) => encoder,
            None => {
                plain = Encoder::of_numbers(model.input_names(), model.target_names());
                &plain
            }
        };
        let differs = || format!("{} is not the table the model was fitted to", path.display());
        let table = table::read(&path, &table::ReadOptions { delimiter, ..encoder.training_options() })?;
        let (rows, _) = encoder.roles().observed_rows(&table).with_context(differs)?;
        let (data, _) = encoder.dataset(&table, &rows).with_context(differs)?;
        if data.fingerprint() != model.fingerprint() {
            bail!("{}: its numbers differ; use the training table, or leave it out", differs());
        }
        // Columns that the model does not know may be anything.
        let learned = Encoder::learn(&table, &rows, encoder.roles(), encoder.missing_inputs());
        let mut warnings = learned.map(|(_, notes)| notes).unwrap_or_default();
        warnings.extend(encoder.suspicions(&data));
        warnings.retain(Note::is_warning);
        Ok(Training { path, data, rows, warnings })
    }
}

fn sha256(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What was typed.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| output::shell_word(&word.to_string_lossy()));
    ["rffblr".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
