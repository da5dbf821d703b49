//! Fitting to many rows: from memory or from files that are never all in memory, with scores on rows held out until then,
//! and a checkpoint to go on from.

use crate::output;
use crate::training::tell;
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use rffblr::data::{Encoder, MissingInputs, RoleChoice, Summary, TrainingTable};
use rffblr::drawn::{Accumulator, BlockSource, SAMPLE, StreamFit};
use rffblr::internals::write_whole;
use rffblr::metrics::Check;
use rffblr::{Form, Model, Settings};
use rffblr_methods::evaluate::held_out_check;
use rffblr_tables::{Parts, ReadOptions};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Files above this size are not read into memory.
const IN_MEMORY: u64 = 64 << 20;
/// Seconds between two checkpoints.
const PAUSE: f64 = 20.0;

/// Whether tables at these paths are read block by block: several files, a folder, a pattern or a large file.
pub fn is_streamed(paths: &[PathBuf]) -> bool {
    let [path] = paths else { return true };
    let is_pattern = path.to_string_lossy().contains(['*', '?']) && !path.exists();
    let is_arff = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("arff"));
    let is_large = path.metadata().is_ok_and(|found| found.is_file() && found.len() > IN_MEMORY);
    path.is_dir() || is_pattern || (is_large && !is_arff)
}

/// A model of many rows, and how it did on rows held out.
pub struct Fitted {
    pub model: Model,
    pub check: Option<Check>,
    pub rows: u64,
    pub seconds: f64,
}

/// How the fit is watched and kept.
pub struct Watch<'a> {
    pub checkpoint: Option<&'a Path>,
    pub hold_out: bool,
    pub quiet: bool,
}

/// Fits to files.
pub fn fit_files(
    paths: &[PathBuf],
    choice: &RoleChoice,
    (options, missing): (&ReadOptions, MissingInputs),
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Fitted> {
    let parts = Parts::open(paths, options)?;
    let start = Instant::now();
    let bar = bar(watch.quiet, parts.bytes(), "first pass, what the columns are: {percent} %  {elapsed}, {eta} left");
    let found = parts.summarise(SAMPLE, settings.seed, |block| {
        bar.set_position(block.bytes_read);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let (types, summary) = found?;
    let (sample, _) = summary.sample();
    if settings.for_rows(sample.rows()).form == Form::Kernel {
        // Few rows after all: the sample has them, and the exact form is for them.
        let training = TrainingTable::new(sample, choice.clone(), missing)?;
        let (model, rows) = (training.fit(settings)?, summary.rows());
        return Ok(Fitted { model, check: None, rows, seconds: start.elapsed().as_secs_f64() });
    }
    let roles = choice.clone().resolve(&sample)?;
    let (encoder, notes) = Encoder::learn_summary(&summary, &roles, missing)?;
    if !watch.quiet {
        notes.iter().for_each(tell);
    }
    let files: Vec<String> = parts.files().iter().map(|file| file.display().to_string()).collect();
    let what = What {
        files,
        bytes: parts.bytes(),
        rows: summary.rows(),
        encoder,
        settings: settings.clone(),
        hold_out: watch.hold_out,
    };
    fit(&parts.typed(types), &summary, what, watch, start)
}

/// Fits to a table in memory.
pub fn fit_table(
    table: &rffblr::table::Table,
    encoder: &Encoder,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Fitted> {
    let start = Instant::now();
    let mut summary = Summary::new(SAMPLE, settings.seed);
    summary.add(table, 0)?;
    let rows = summary.rows();
    let what = What {
        files: Vec::new(),
        bytes: 0,
        rows,
        encoder: encoder.clone(),
        settings: settings.clone(),
        hold_out: watch.hold_out,
    };
    fit(table, &summary, what, watch, start)
}

/// What a checkpoint is of: it is of no use for anything else.
#[derive(Serialize, Deserialize, PartialEq)]
struct What {
    files: Vec<String>,
    bytes: u64,
    rows: u64,
    encoder: Encoder,
    settings: Settings,
    hold_out: bool,
}

fn fit(source: &dyn BlockSource, summary: &Summary, what: What, watch: &Watch<'_>, start: Instant) -> Result<Fitted> {
    let settings = match what.settings.form {
        Form::Automatic => Settings { form: Form::DRAWN, ..what.settings },
        _ => what.settings.clone(),
    };
    let resume = match watch.checkpoint.filter(|path| path.exists()) {
        Some(path) => Some(read_checkpoint(path, &what)?),
        None => None,
    };
    if let (Some(sums), false) = (&resume, watch.quiet) {
        output::note(&format!("going on after {} rows of the checkpoint", sums.rows()));
    }
    let learning = bar(watch.quiet, 0, "learning the kernel on a sample: step {pos}  {msg}  {elapsed}");
    let passing = bar(watch.quiet, summary.rows(), "row {human_pos} of {human_len}  {elapsed}, {eta} left");
    let job = StreamFit {
        summary,
        seed: settings.seed,
        encoder: &what.encoder,
        settings: &settings,
        hold_out: watch.hold_out,
        observer: &|step| {
            learning.inc(1);
            learning.set_message(format!("objective {:.1}", step.objective));
            ControlFlow::Continue(())
        },
        resume,
    };
    let mut written: Option<Instant> = None;
    let fitted = job.fit(source, &mut |rows, sums| {
        learning.finish_and_clear();
        passing.set_position(rows);
        if let Some(path) = watch.checkpoint
            && written.is_none_or(|written| written.elapsed().as_secs_f64() > PAUSE)
        {
            write_checkpoint(path, &what, sums)?;
            written = Some(Instant::now());
        }
        Ok(())
    });
    passing.finish_and_clear();
    let fitted = fitted?;
    let check = match fitted.held_out {
        None => None,
        Some((inputs, held_out)) => Some(held_out_check(&fitted.sample, &inputs, held_out, settings.seed)?),
    };
    Ok(Fitted { model: fitted.model, check, rows: summary.rows(), seconds: start.elapsed().as_secs_f64() })
}

fn bar(quiet: bool, length: u64, template: &str) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = output::progress(length, template);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// First line of a checkpoint; the sums follow.
#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u64,
    of: What,
}

const FORMAT: &str = "rffblr-checkpoint";
const VERSION: u64 = 1;

fn write_checkpoint(path: &Path, what: &What, sums: &Accumulator) -> rffblr::Result<()> {
    let failed = |problem: String| rffblr::Error::Checkpoint { path: path.to_owned(), problem };
    let header = serde_json::json!({ "format": FORMAT, "version": VERSION, "of": what });
    let bytes = sums.to_bytes()?;
    let write = |file: &mut dyn std::io::Write| {
        file.write_all(header.to_string().as_bytes())?;
        file.write_all(b"\n")?;
        file.write_all(&bytes)
    };
    write_whole(path, true, write).map_err(|problem: std::io::Error| failed(problem.to_string()))
}

fn read_checkpoint(path: &Path, what: &What) -> Result<Accumulator> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let header: Option<Header> = serde_json::from_slice(&bytes[..end]).ok();
    match header {
        Some(header) if header.format == FORMAT && header.version == VERSION && header.of == *what => {
            Accumulator::from_bytes(&bytes[end + 1..])
                .with_context(|| format!("{} is damaged; remove it to start again", path.display()))
        }
        Some(header) if header.format == FORMAT => {
            bail!("{} is of other data, settings or another version; name another file, or remove it", path.display())
        }
        _ => bail!("{} is not a checkpoint; name another file", path.display()),
    }
}
