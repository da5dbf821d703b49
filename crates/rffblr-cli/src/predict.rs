//! `rffblr predict`: a model and a table in, predictions with their uncertainty out.

use crate::output;
use crate::output::significant;
use crate::reading::ReadingArguments;
use crate::streamed::is_streamed;
use crate::training::tell;
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use rffblr::data::{EncodeError, Encoder, Encoding, Note, NoteKind, RowSums, names_among};
use rffblr::internals::{excerpt, numbers, plural};
use rffblr::linalg::Mat;
use rffblr::{Device, Model, Point, Prediction, PredictionColumns};
use rffblr_tables as table;
use rffblr_tables::{Parts, ReadOptions, Table, TableError, TableFile, Values, Writer, write_csv, write_parquet};
use serde_json::json;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  rffblr predict model.json new.csv                       CSV on standard output
  rffblr predict model.json new.csv -o predictions.csv    or .parquet
  rffblr predict model.json new.xlsx --keep id,visit       with columns of the table beside the predictions
  rffblr predict model.json data/ -o predictions.parquet  all Parquet or CSV files of a folder, of any size
  rffblr predict model.json - --interval 0.5 < new.csv
  rffblr predict model.json new.csv --point median --quantiles 0.05,0.25,0.75,0.95")]
pub struct Arguments {
    /// Model file written by fit
    model: PathBuf,
    /// Table with the inputs of the model: CSV, TSV, ARFF, Parquet, Arrow, Excel or OpenDocument, also packed by gzip or zstd; -
    /// for standard input
    data: PathBuf,
    /// Further files with the same columns; a folder or a pattern such as 'part-*.csv' stands for its files. Many files, and
    /// a large one, are read in blocks and never all in memory
    more: Vec<PathBuf>,
    /// File to write, ending in .csv or .parquet; - for CSV on standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Probability that an observation lies between lower and upper
    #[arg(long, value_name = "P", default_value_t = 0.9, value_parser = probability)]
    interval: f64,
    /// Which number the column of a target has [default: the mean, or the median where that did better in training]
    #[arg(long, value_name = "WHICH", value_parser = ["mean", "median"])]
    point: Option<String>,
    /// Further columns: values that an observation is below with these probabilities, for example 0.05,0.5,0.95
    #[arg(long, value_name = "P,...", value_delimiter = ',', value_parser = probability)]
    quantiles: Vec<f64>,
    /// Columns of the table to write before the predictions: names, patterns such as 'lab_*', positions such as #1
    #[arg(long, value_name = "NAMES")]
    keep: Vec<String>,
    /// Write a JSON list with an object for each row, on standard output
    #[arg(long, conflicts_with = "output")]
    json: bool,
    /// What computes: auto, cpu, cuda, or cuda:1 for the second GPU
    #[arg(long, default_value_t)]
    device: Device,
    #[command(flatten)]
    reading: ReadingArguments,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
}

impl Arguments {
    fn columns(&self) -> PredictionColumns<'_> {
        let point = self.point.as_deref().map(|word| if word == "mean" { Point::Mean } else { Point::Median });
        PredictionColumns { point, coverage: self.interval, quantiles: &self.quantiles }
    }
}

pub fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("write a number between 0 and 1, for example 0.9".into()),
    }
}

/// Formats that predictions are written in.
enum Format {
    Csv,
    Parquet,
}

fn format_of(path: &Path) -> Result<Format> {
    match path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("parquet" | "pq") => Ok(Format::Parquet),
        Some("csv") => Ok(Format::Csv),
        _ => bail!("{}: predictions are written as .csv or .parquet; end the name in one of them", path.display()),
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let path = &arguments.output;
    let file = if output::is_stream(path) { None } else { Some((path, format_of(path)?)) };
    if let Some((path, _)) = file {
        let inputs = [&arguments.model, &arguments.data].into_iter().chain(&arguments.more);
        output::expect_apart(path, inputs.map(PathBuf::as_path))?;
        output::expect_writable(path, arguments.force)?;
    }
    let model = Model::load(&arguments.model)?.with_device(arguments.device);
    let encoder = model.table_encoder();
    let mut options = arguments.reading.apply(encoder.read_options());
    let paths: Vec<PathBuf> = [&arguments.data].into_iter().chain(&arguments.more).cloned().collect();
    if is_streamed(&paths) {
        let names = Parts::open(&paths, &options)?.names().to_vec();
        let kept = arguments.kept(&names, &mut options)?;
        return in_blocks(arguments, &paths, &model, &encoder, &options, &kept);
    }
    let mut opened = TableFile::open(&arguments.data, &options)?;
    let kept = match arguments.keep.is_empty() {
        true => Vec::new(),
        false => arguments.kept(&opened.names(&options)?, &mut options)?,
    };
    let table = opened.read(&options)?;
    let (inputs, notes) =
        encoder.inputs(&table).with_context(|| format!("{} does not fit the model", arguments.data.display()))?;
    if !arguments.quiet {
        table.notes().iter().for_each(tell);
        notes.iter().filter(|note| !is_about(note, &kept)).for_each(tell);
    }
    let prediction = model.predict(inputs.as_ref())?;
    if !arguments.quiet {
        let mut seen = Seen::default();
        seen.add(&model, &encoder, &table, &inputs)?;
        seen.note(&model).iter().chain(&note_on_range(&model, &encoder, &inputs)).for_each(|note| output::note(note));
    }
    let predictions = beside(&table, &kept, model.prediction_table(&prediction, &arguments.columns())?)?;
    match file {
        None if arguments.json => output::print_json(&records(&predictions)?)?,
        None => {
            let mut text = Vec::new();
            write_csv(&predictions, &mut text)?;
            output::print_data(&String::from_utf8(text)?)?;
        }
        Some((path, format)) => output::save(path, arguments.force, |mut file| {
            match format {
                Format::Csv => write_csv(&predictions, &mut file)?,
                Format::Parquet => {
                    let mut bytes = Vec::new();
                    write_parquet(&predictions, &mut bytes)?;
                    file.write_all(&bytes)?;
                }
            }
            Ok(())
        })?,
    }
    if !arguments.quiet
        && let Some(truth) = encoder.targets_if_present(&table)
    {
        let mut scores = Scores::new(&model);
        scores.add(&prediction, &truth, arguments.interval)?;
        output::tell(&scores.told(&model, arguments.interval));
    }
    Ok(())
}

/// Predicts files block by block, in memory that does not depend on their rows.
fn in_blocks(
    arguments: &Arguments,
    paths: &[PathBuf],
    model: &Model,
    encoder: &Encoder,
    options: &ReadOptions,
    kept: &[String],
) -> Result<()> {
    /// Rows read and predicted at once.
    const ROWS: usize = 1 << 14;
    if arguments.json {
        bail!("--json needs all rows in memory, and these are read in blocks; write CSV or Parquet");
    }
    let mut parts = Parts::open(paths, options)?;
    if !arguments.quiet {
        // Text files declare no types: what is no number is no reason not to predict, so targets are read as they are written.
        let types = parts.declared_types();
        let open = |name: &&String| {
            parts.names().iter().position(|own| own == *name).is_some_and(|place| types.is_text(place).is_none())
        };
        let targets: Vec<String> = model.target_names().iter().filter(open).cloned().collect();
        let text_columns = options.text_columns.iter().cloned().chain(targets).collect();
        parts = Parts::open(paths, &ReadOptions { text_columns, ..options.clone() })?;
    }
    let output = &arguments.output;
    if !output::is_stream(output) {
        output::expect_apart(output, parts.files().iter().map(PathBuf::as_path))?;
    }
    let types = parts.declared_types();
    let cannot = || format!("cannot write {}", arguments.output.display());
    let mut writer = Writer::create(&arguments.output, arguments.force).with_context(cannot)?;
    let bar = match arguments.quiet {
        true => ProgressBar::hidden(),
        false => output::progress(parts.bytes(), "{percent} %  {elapsed}, {eta} left"),
    };
    let (mut told, mut seen, mut scores, mut spoiled) = (false, Seen::default(), None, false);
    for block in parts.blocks(&types, ROWS) {
        let block = block?;
        let (inputs, notes) = encoder.inputs(&block.table).map_err(|problem| block.placed(problem.into()))?;
        // Later blocks mostly repeat what was said of the first.
        if !arguments.quiet && !told {
            notes.iter().filter(|note| !is_about(note, kept)).for_each(tell);
            told = !notes.is_empty();
        }
        let prediction = model.predict(inputs.as_ref())?;
        let predictions = model.prediction_table(&prediction, &arguments.columns())?;
        if let Err(problem) = writer.write(&beside(&block.table, kept, predictions)?) {
            return ended_early(output, problem).with_context(cannot);
        }
        if !arguments.quiet {
            seen.add(model, encoder, &block.table, &inputs)?;
            spoiled |= model.target_names().iter().any(|name| numbers(&block.table, "a target", name).is_err());
            if let Some(truth) = encoder.targets_if_present(&block.table) {
                scores.get_or_insert_with(|| Scores::new(model)).add(&prediction, &truth, arguments.interval)?;
            }
        }
        bar.set_position(block.bytes_read);
    }
    bar.finish_and_clear();
    if let Err(problem) = writer.finish() {
        return ended_early(output, problem).with_context(cannot);
    }
    if spoiled && scores.is_some() {
        output::note("not scored: not all targets are there as numbers");
    }
    seen.note(model).iter().for_each(|note| output::note(note));
    if let Some(scores) = scores.as_ref().filter(|_| !spoiled) {
        output::tell(&scores.told(model, arguments.interval));
    }
    Ok(())
}

/// A reader that has closed the pipe is not a failure.
fn ended_early(output: &Path, problem: TableError) -> Result<()> {
    match problem {
        TableError::Write { cause } if cause.kind() == ErrorKind::BrokenPipe && output::is_stream(output) => Ok(()),
        problem => Err(problem.into()),
    }
}

impl Arguments {
    /// The columns to keep of a table with these names, which are then read: as they are written, unless they are inputs.
    fn kept(&self, names: &[String], options: &mut ReadOptions) -> Result<Vec<String>> {
        let kept = names_among(&self.keep, names)?;
        let known: HashSet<&String> = names.iter().collect();
        let (wanted, typed): (HashSet<&String>, HashSet<String>) =
            (kept.iter().collect(), options.numeric_columns.iter().chain(&options.text_columns).cloned().collect());
        options.ignored_columns.retain(|ignored| !wanted.contains(ignored));
        for name in &kept {
            if !known.contains(name) {
                let nearest = table::nearest(name, names.iter().map(String::as_str)).map(String::from);
                let role = "one to keep";
                return Err(EncodeError::UnknownColumn { role, name: name.clone(), nearest }.into());
            }
            if !typed.contains(name) {
                options.text_columns.push(name.clone());
            }
        }
        Ok(kept)
    }
}

/// Whether a note says that the model does not know columns that are kept for another reason.
fn is_about(note: &Note, kept: &[String]) -> bool {
    let kept: HashSet<&String> = kept.iter().collect();
    note.kind == NoteKind::Unknown && note.columns.iter().all(|column| kept.contains(column))
}

/// Predictions with columns of the table before them.
fn beside(table: &Table, kept: &[String], predictions: Table) -> Result<Table> {
    if kept.is_empty() {
        return Ok(predictions);
    }
    let kept = kept.iter().filter_map(|name| table.column(name)).cloned();
    Table::new(kept.chain(predictions.into_columns()).collect())
        .context("a column that is kept has the name of a prediction; leave it out, or rename it in the table")
}

/// A list with an object for each row; a missing cell is null.
fn records(table: &Table) -> Result<String> {
    let cell = |values: &Values, row: usize| match values {
        Values::Numeric(numbers) => json!(numbers[row]),
        Values::Text { levels, codes } => json!(levels.get(codes[row] as usize)),
    };
    let row = |row: usize| {
        let cells = table.columns().iter().map(|column| (column.name.clone(), cell(&column.values, row)));
        serde_json::Value::Object(cells.collect())
    };
    Ok(format!("{:#}\n", serde_json::Value::Array((0..table.rows()).map(row).collect())))
}

/// What is known of the rows so far: how many of them the model learned from.
#[derive(Default)]
struct Seen {
    rows: usize,
    /// Rows that were found one by one.
    known: usize,
    all: RowSums,
    /// Those with a target, the only ones that are learned from.
    observed: RowSums,
}

impl Seen {
    fn add(&mut self, model: &Model, encoder: &Encoder, table: &Table, inputs: &Mat<f64>) -> Result<()> {
        self.rows += inputs.nrows();
        if model.stored_inputs().is_some() {
            self.known += model.learned_from(inputs.as_ref())?;
            return Ok(());
        }
        self.all = self.all.merged(RowSums::of(inputs.as_ref(), None, None));
        if let Ok((rows, _)) = encoder.roles().observed_rows(table) {
            self.observed = self.observed.merged(RowSums::of_rows(&rows, inputs.as_ref(), None, None));
        }
        Ok(())
    }

    /// What is predicted for the rows a model learned from says little about others.
    fn note(&self, model: &Model) -> Option<String> {
        let sums = [self.all, self.observed].into_iter().find(|sums| model.learned_from_rows(sums));
        let known = sums.map_or(self.known, |sums| sums.rows() as usize);
        if known == 0 || 2 * known < self.rows {
            return None;
        }
        let whose = match known == self.rows {
            true if known == 1 => "this row is one the model learned from".into(),
            true => format!("these {known} rows are ones the model learned from"),
            false => format!("{known} of these {} rows are ones the model learned from", self.rows),
        };
        Some(format!("{whose}, and flatter it; `rffblr report` and `rffblr evaluate` judge it by rows held out"))
    }
}

/// How well the predictions do against targets, from sums over the rows.
struct Scores {
    tasks: Vec<TaskSums>,
}

/// Sums over the observed cells of a target.
#[derive(Clone, Copy, Default)]
struct TaskSums {
    count: f64,
    mean: f64,
    /// Of squared distances from the mean, and from the predictions.
    spread: f64,
    errors: f64,
    inside: f64,
}

impl TaskSums {
    /// Those of these cells and of others.
    fn merged(self, other: TaskSums) -> TaskSums {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let apart = other.mean - self.mean;
        TaskSums {
            count,
            mean: self.mean + apart * (other.count / count),
            spread: self.spread + other.spread + apart * apart * (self.count * (other.count / count)),
            errors: self.errors + other.errors,
            inside: self.inside + other.inside,
        }
    }

    /// NaN for cells that do not vary.
    fn r2(&self) -> f64 {
        if self.spread > 0.0 { 1.0 - self.errors / self.spread } else { f64::NAN }
    }
}

impl Scores {
    fn new(model: &Model) -> Scores {
        Scores { tasks: vec![TaskSums::default(); model.target_names().len()] }
    }

    fn add(&mut self, prediction: &Prediction, truth: &Mat<f64>, interval: f64) -> Result<()> {
        let point = prediction.point();
        // The intervals that were written, whose ends need not be those of the normal distribution.
        let (lower, upper) = prediction.interval(interval)?;
        for (c, sums) in self.tasks.iter_mut().enumerate() {
            let cell = |n: usize| {
                let y = truth[(n, c)];
                let inside = (lower[(n, c)]..=upper[(n, c)]).contains(&y);
                TaskSums {
                    count: 1.0,
                    mean: y,
                    spread: 0.0,
                    errors: (y - point[(n, c)]).powi(2),
                    inside: f64::from(u8::from(inside)),
                }
            };
            let known = (0..truth.nrows()).filter(|&n| !truth[(n, c)].is_nan());
            *sums = sums.merged(known.map(cell).fold(TaskSums::default(), TaskSums::merged));
        }
        Ok(())
    }

    fn told(&self, model: &Model, interval: f64) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let row = |(name, sums): (&String, &TaskSums)| {
            vec![
                name.clone(),
                sums.count.to_string(),
                format!("{:.3}", sums.r2()),
                significant((sums.errors / sums.count).sqrt()),
                percent(sums.inside / sums.count),
            ]
        };
        let rows = model.target_names().iter().zip(&self.tasks).map(row).collect();
        let holds =
            format!("{} % interval holds", significant(100.0 * interval).trim_end_matches('0').trim_end_matches('.'));
        let table = output::table(["against the targets in the table", "rows", "R²", "RMSE", &holds], rows);
        let all = self.tasks.iter().copied().fold(TaskSums::default(), TaskSums::merged);
        let varying: Vec<f64> = self.tasks.iter().map(TaskSums::r2).filter(|r2| !r2.is_nan()).collect();
        let mean = varying.iter().sum::<f64>() / varying.len() as f64;
        format!(
            "\n{table}\n{}{} of all cells inside.",
            match self.tasks.len() {
                1 => String::new(),
                _ => format!("Task R² {mean:.3} (mean over targets), pooled R² {:.3}, ", all.r2()),
            },
            percent(all.inside / all.count)
        )
    }
}

/// Rows with numbers or dates far beyond those of training, if the model keeps them.
fn note_on_range(model: &Model, encoder: &Encoder, inputs: &Mat<f64>) -> Option<String> {
    let known = model.stored_inputs()?;
    let (mut rows, mut names, mut next) = (vec![false; inputs.nrows()], Vec::new(), 0);
    for input in encoder.raw_inputs() {
        let column = next;
        next += input.width();
        if !matches!(input.encoding, Encoding::Numeric { .. } | Encoding::Date(_)) {
            continue;
        }
        let cells = known.col_as_slice(column).iter();
        let (low, high) = cells.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
        // Halves first: the difference of two finite numbers may not be finite.
        let reach = high / 2.0 - low / 2.0;
        let is_far = |x: f64| reach > 0.0 && (x / 2.0 - high / 2.0).max(low / 2.0 - x / 2.0) > reach;
        let mut far = false;
        for (row, _) in rows.iter_mut().zip(inputs.col_as_slice(column)).filter(|(_, x)| is_far(**x)) {
            (*row, far) = (true, true);
        }
        names.extend(far.then(|| excerpt(&input.name)));
    }
    let (count, of) = (rows.iter().filter(|row| **row).count(), rows.len());
    let more = match names.len().saturating_sub(5) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(5);
    (count > 0).then(|| {
        format!(
            "{count} of {} lie beyond the training rows by more than the range of these, where predictions are guesses: {}{more}",
            plural(of, "row"),
            names.join(", ")
        )
    })
}
