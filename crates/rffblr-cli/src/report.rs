//! `rffblr report`: what a model learned and how far to trust it, as one HTML page and a model card.

use crate::checking::{Plan, Wanted, wanted};
use crate::reading::ReadingArguments;
use crate::streamed::is_streamed;
use crate::training::{advised, file_of, tell};
use crate::{VERSION, output};
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use rffblr::data::{Encoder, Encoding, Note, Roles, RowSums, Summary, TrainingTable};
use rffblr::drawn::BLOCK;
use rffblr::internals::{hex, read_within};
use rffblr::table::{DAY, Table, Values, date_text};
use rffblr::{Device, Model};
use rffblr_report::{Data, Labels, Options, Report};
use rffblr_tables::{Parts, ReadOptions, TableFile};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  rffblr report model.json train.csv                      writes model.report.html
  rffblr report model.json train.csv -o report.html --card card.md
  rffblr report model.json train.csv --no-row-data        no row of the table is in the page
  rffblr report model.json new.csv                        rows it has not seen, with targets: how well does it do there?
  rffblr report model.json data/                          all Parquet or CSV files of a folder: a sample of their rows
  rffblr report model.json train.csv --labels labels.csv  what people call the columns, and their units
  rffblr report model.json                                without the data: the model alone")]
pub struct Arguments {
    /// Model file written by fit
    model: PathBuf,
    /// Table the model was fitted to, or one of new rows with their targets; how well it does can only be shown with one
    data: Option<PathBuf>,
    /// Further files with the same columns; a folder or a pattern such as 'part-*.csv' stands for its files. Of many files, and
    /// of a large one, at most 20 000 rows drawn at random are shown, and all are read to see whether the model knows them
    more: Vec<PathBuf>,
    /// The rows of the table are none that the model was fitted to [default: a model that keeps its rows knows]
    #[arg(long, requires = "data", conflicts_with_all = ["check", "group", "time"])]
    new: bool,
    /// Table with the columns name, label and unit: what people call the columns of the data, and their units
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
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
    /// What computes: auto, cpu, cuda, or cuda:1 for the second GPU
    #[arg(long, default_value_t)]
    device: Device,
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
    let paths: Vec<PathBuf> = arguments.data.iter().chain(&arguments.more).cloned().collect();
    let table = match arguments.data.as_deref() {
        Some(path) if path.is_dir() => Some(path.to_owned()),
        path => path.map(file_of).transpose()?,
    };
    let files: Vec<&PathBuf> = [&page].into_iter().chain(card).filter(|path| !output::is_stream(path)).collect();
    for path in &files {
        let inputs = [&arguments.model].into_iter().chain(&table).chain(&arguments.more);
        output::expect_apart(path, inputs.map(PathBuf::as_path))?;
        output::expect_writable(path, arguments.force)?;
    }
    let mut model = Model::load(&arguments.model)?.with_device(arguments.device);
    let source = match table {
        Some(_) if is_streamed(&paths) => Some(Source::sampled(&model, paths, arguments)?),
        table => table.map(|table| Source::read(&model, table, arguments)).transpose()?,
    };
    if let Some(source) = source.as_ref().filter(|source| !source.is_new && source.all_rows.is_some()) {
        model = model.with_training_sample(source.training.dataset());
    }
    let table = source.as_ref().map(|source| source.training.table());
    let labels = arguments.labels.as_deref().map(|path| labels(path, &model, table)).transpose()?.unwrap_or_default();
    if let Some(source) = source.as_ref().filter(|source| !source.is_new) {
        if !arguments.quiet {
            source.warnings().for_each(tell);
        }
        model = checked(model, source, arguments)?;
    }
    let mut origin = origin(&arguments.model, source.as_ref().map(|source| (&source.paths[..], source.is_new)))?;
    if let Some((source, rows)) = source.as_ref().and_then(|source| Some((source, source.all_rows?))) {
        let sample = source.training.table().rows() as u64;
        origin.push((
            "rows of the table that are shown".into(),
            match sample == rows {
                true => format!("all {rows}"),
                false => format!("{sample} of {rows}, drawn at random"),
            },
        ));
    }
    let report = compute(&model, source.as_ref(), origin, labels, arguments)?;
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
    // Refits are to all rows.
    if arguments.check == Some(Wanted::Off) || source.all_rows.is_some() || (model.check().is_some() && !is_asked) {
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
    labels: Labels,
    arguments: &Arguments,
) -> Result<Report> {
    let name = arguments.model.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".json").trim_end_matches(".model");
    let options = Options {
        title: arguments.title.clone().unwrap_or_else(|| name.to_owned()),
        row_data: !arguments.no_row_data,
        row_numbers: source.map(Source::row_numbers).unwrap_or_default(),
        origin,
        notes: source.map(|s| s.warnings().map(|note| (note.kind, advised(note))).collect()).unwrap_or_default(),
        groups: source.and_then(|source| groups(&source.training)),
        labels,
    };
    let data = match source {
        None => Data::None,
        Some(source) if source.is_new => Data::New(source.training.dataset()),
        Some(source) => Data::Training(source.training.dataset()),
    };
    written(model, data, &options, arguments.quiet)
}

/// A report, with a line on a terminal that says what is being done.
pub fn written(model: &Model, data: Data<'_>, options: &Options, quiet: bool) -> Result<Report> {
    let bar = if quiet { ProgressBar::hidden() } else { output::progress(1, "report: {msg}  {elapsed}") };
    bar.enable_steady_tick(Duration::from_millis(200));
    let made = Report::watched(model, data, options, &|what| bar.set_message(what));
    bar.finish_and_clear();
    Ok(made?)
}

/// The value of the column that says which rows belong together, in each row of the dataset.
fn groups(training: &TrainingTable) -> Option<(String, Vec<String>)> {
    let name = training.roles().group.as_ref()?;
    let column = training.table().columns().iter().find(|column| column.name == *name)?;
    let value = |&row: &usize| match &column.values {
        Values::Numeric(numbers) => numbers.get(row).map_or_else(String::new, f64::to_string),
        Values::Text { levels, codes } => {
            codes.get(row).and_then(|&code| levels.get(code as usize)).cloned().unwrap_or_default()
        }
    };
    Some((name.clone(), training.rows().iter().map(value).collect()))
}

/// A file of labels is not larger: one for each of 200 000 columns.
const MOST_LABELS: u64 = 64 << 20;

/// What people call the columns, from a table; they are those of the model or of its table.
fn labels(path: &Path, model: &Model, of_rows: Option<&Table>) -> Result<Labels> {
    let file = path.display();
    // Once to see which columns there are, and once to read them as text.
    let bytes = File::open(path).and_then(|file| read_within(file, MOST_LABELS));
    let bytes = bytes.with_context(|| format!("cannot read {file}"))?;
    let read = |options: &ReadOptions| TableFile::of_bytes(&file.to_string(), bytes.clone(), options)?.read(options);
    let found = read(&ReadOptions::default())?;
    let text_columns: Vec<String> = found.columns().iter().map(|column| column.name.clone()).collect();
    if let Some(missing) =
        ["name", "label", "unit"].iter().find(|name| !text_columns.iter().any(|column| column == **name))
    {
        bail!("{file} has no column '{missing}'; its first line should be name,label,unit");
    }
    let table = read(&ReadOptions { text_columns, ..ReadOptions::default() })?;
    let cell = |name: &str, row: usize| -> String {
        let column = table.columns().iter().find(|column| column.name == name);
        match column.map(|column| &column.values) {
            Some(Values::Text { levels, codes }) => {
                codes.get(row).and_then(|&code| levels.get(code as usize)).cloned().unwrap_or_default()
            }
            Some(Values::Numeric(_)) | None => String::new(),
        }
    };
    let encoder = model.table_encoder();
    let own = encoder.raw_inputs().iter().map(|input| &input.name).chain(model.target_names());
    let roles = encoder.roles();
    let unused = roles.ignore.iter().chain(roles.weight_column()).chain(&roles.group).chain(&roles.time);
    let read = of_rows.into_iter().flat_map(|table| table.columns()).map(|column| &column.name);
    let known: BTreeSet<&String> = own.chain(unused).chain(read).collect();
    let (mut labels, mut lines) = (Labels::default(), BTreeMap::new());
    for row in 0..table.rows() {
        let (name, line) = (cell("name", row), row + 2);
        if !known.contains(&name) {
            bail!(
                "{file}, line {line}: '{name}' is no column of the model or its table; correct the name or leave out the line"
            );
        }
        if let Some(first) = lines.insert(name.clone(), line) {
            bail!("{file}, line {line}: '{name}' has a label already, in line {first}; leave out one of them");
        }
        labels.insert(name, cell("label", row), cell("unit", row));
    }
    Ok(labels)
}

/// Where a report comes from, as far as the command knows; of a table also whether its rows are new.
pub fn origin(model: &Path, table: Option<(&[PathBuf], bool)>) -> Result<Vec<(String, String)>> {
    let mut origin = vec![
        ("command".into(), command_line()),
        ("program".into(), format!("rffblr {VERSION}")),
        ("model file".into(), model.display().to_string()),
        ("SHA-256 of the model file".into(), sha256(model)?),
    ];
    let days = [("model file written", last_written(model)), ("report made", day_of(SystemTime::now()))];
    origin.extend(days.into_iter().filter_map(|(what, day)| Some((what.into(), day?))));
    if let Some((paths, is_new)) = table {
        let what = if is_new { "table of new rows" } else { "training table" };
        let named: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        origin.push((what.into(), named.join(", ")));
        if let [file] = paths
            && file.is_file()
        {
            origin.push((format!("SHA-256 of the {what}"), sha256(file)?));
        }
    }
    Ok(origin)
}

/// The day a file was last written.
fn last_written(path: &Path) -> Option<String> {
    day_of(path.metadata().ok()?.modified().ok()?)
}

/// The day of a moment, in UTC.
fn day_of(moment: SystemTime) -> Option<String> {
    let days = moment.duration_since(UNIX_EPOCH).ok()?.as_secs() / 86_400;
    Some(format!("{} (UTC)", date_text(DAY * days as f64)))
}

/// `soil.model.json` gives `soil.report.html` beside it.
fn default_output(model: &Path) -> PathBuf {
    let plain = if output::is_stream(model) { PathBuf::from("rffblr") } else { model.with_extension("") };
    let plain =
        if plain.extension().is_some_and(|ending| ending == "model") { plain.with_extension("") } else { plain };
    plain.with_added_extension("report.html")
}

/// The table a model was fitted to, or new rows.
struct Source {
    paths: Vec<PathBuf>,
    training: TrainingTable,
    is_new: bool,
    /// Number of rows, where the table is some of them, and the number of each of these.
    all_rows: Option<u64>,
    numbers: Vec<u64>,
}

/// Most rows of many that are shown.
const SHOWN: usize = 20_000;

/// Share of rows that a model may have learned from for a table to count as new.
const KNOWN: f64 = 0.1;

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
        let data = training.dataset();
        let fitted_to = model.is_fitted_to(data);
        let is_new = fitted_to != Some(true);
        if is_new {
            let known = (model.learned_from(data.inputs())?, data.rows());
            expect_new(model, known, fitted_to, arguments, &path.display().to_string())?;
        } else if arguments.new {
            bail!("{} is the table the model was fitted to: its rows are not new", path.display());
        }
        Ok(Source { paths: vec![path], training, is_new, all_rows: None, numbers: Vec::new() })
    }

    /// The same from files that are not read into memory: a sample of their rows.
    fn sampled(model: &Model, paths: Vec<PathBuf>, arguments: &Arguments) -> Result<Source> {
        let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let shown = shown.join(", ");
        let refits = [("--check", matches!(arguments.check, Some(Wanted::Refits(_))))];
        let asked =
            refits.into_iter().chain([("--group", arguments.group.is_some()), ("--time", arguments.time.is_some())]);
        if let Some((flag, _)) = asked.into_iter().find(|(_, asked)| *asked) {
            bail!("{shown}: {flag} needs all rows in memory, and these are read in blocks; leave it out");
        }
        let encoder = model.table_encoder().into_owned();
        let parts = Parts::open(&paths, &arguments.reading.apply(encoder.training_options()))?;
        let types = parts.declared_types();
        let bar = match arguments.quiet {
            true => ProgressBar::hidden(),
            false => output::progress(parts.bytes(), "reading rows: {percent} %  {elapsed}, {eta} left"),
        };
        let mut summary = Summary::new(SHOWN, model.settings().seed);
        let (mut seen, mut known) = (RowSums::default(), 0);
        for block in parts.blocks(&types, BLOCK) {
            let block = block?;
            seen = seen.merged(RowSums::of_table(&encoder, &block.table).map_err(|problem| block.placed(problem))?);
            if model.stored_inputs().is_some() {
                known += model.learned_from(encoder.inputs(&block.table)?.0.as_ref())?;
            }
            summary.add(&block.table, block.first_row)?;
            bar.set_position(block.bytes_read);
        }
        bar.finish_and_clear();
        let (table, numbers) = summary.sample();
        let training = TrainingTable::again(table, encoder.roles().clone(), encoder)
            .with_context(|| format!("{shown} is not the table the model was fitted to"))?;
        let all = training.table().rows() as u64 == summary.rows();
        let fitted_to = match all {
            true => model.is_fitted_to(training.dataset()).or_else(|| model.is_fitted_to_rows(&seen)),
            false => model.is_fitted_to_rows(&seen),
        };
        let is_new = fitted_to != Some(true);
        if is_new {
            expect_new(model, (known, seen.rows() as usize), fitted_to, arguments, &shown)?;
        } else if arguments.new {
            bail!("{shown} is the table the model was fitted to: its rows are not new");
        }
        Ok(Source { paths, training, is_new, all_rows: Some(summary.rows()), numbers })
    }

    /// The number of each row of the dataset in the table, from one.
    fn row_numbers(&self) -> Vec<usize> {
        let number = |&row: &usize| self.numbers.get(row).map_or(row, |number| *number as usize) + 1;
        self.training.rows().iter().map(number).collect()
    }

    /// What casts doubt on the scores.
    fn warnings(&self) -> impl Iterator<Item = &Note> {
        self.training.notes().iter().filter(|note| note.is_warning())
    }
}

/// An error unless rows that are not all those of the fit, of which the model knows some, may be new.
fn expect_new(
    model: &Model,
    (known, rows): (usize, usize),
    fitted_to: Option<bool>,
    arguments: &Arguments,
    shown: &str,
) -> Result<()> {
    let differs = format!("{shown} is not the table the model was fitted to");
    if known as f64 > KNOWN * rows as f64 {
        bail!(
            "{differs}: its numbers differ, but the model learned from {known} of its {rows} rows; use the training table, or \
             rows it has not seen"
        );
    }
    if model.stored_inputs().is_none() && !arguments.new {
        match fitted_to {
            None => bail!(
                "it is not known whether {shown} is the table the model was fitted to, as its file does not say; fit the \
                 model again or, if it has not seen these rows, say so with --new"
            ),
            Some(_) => bail!(
                "{differs}: its numbers differ; use the training table or, if the model has not seen these rows, say so \
                 with --new"
            ),
        }
    }
    let other = [("--check", arguments.check.is_some()), ("--group", arguments.group.is_some())];
    let asked = other.into_iter().chain([("--time", arguments.time.is_some())]).find(|(_, asked)| *asked);
    match asked {
        Some((flag, _)) => bail!("{differs}: {flag} tests the model on rows of its training table"),
        None => Ok(()),
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
    let cannot = || format!("cannot read {}", path.display());
    let (mut file, mut hash, mut part) = (File::open(path).with_context(cannot)?, Sha256::new(), Vec::new());
    while file.by_ref().take(1 << 20).read_to_end(&mut part).with_context(cannot)? > 0 {
        hash.update(&part);
        part.clear();
    }
    Ok(hex(hash.finalize()))
}

/// What was typed.
fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| output::shell_word(&word.to_string_lossy()));
    ["rffblr".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
