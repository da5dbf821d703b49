//! `rffblr reproduce table2`: every method on every data set, fold by fold.

use super::record::{Key, Record, thread_seconds};
use super::source::{Source, SourceArguments};
use super::store::Store;
use crate::harness::{in_parallel, split};
use crate::output;
use crate::watch::Watch;
use anyhow::{Result, bail};
use rffblr::evaluate::{Summary, evaluate};
use rffblr::method::Method;
use rffblr::select::{Grid, Journal, Plan, Progress};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Name of the experiment in its raw results.
pub const EXPERIMENT: &str = "table2";

/// What the paper compares, and the model as it is now: as published with and without direct links, and the default.
const METHODS: &str = "rffblr,rffblr-paper-links,rffblr-paper,mmr,fnn,mtfl,hi-vae,sb-elm,gor-elm";

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce table2 --out table2
  rffblr reproduce table2 --methods gor-elm --datasets wq --grid coarse --out table2    what takes too long
  rffblr reproduce table2 --methods rffblr,extra --seeds 5 --out seeds")]
#[command(after_long_help = "\
Every fold of every method is a line of OUT/raw.jsonl the moment it is done. The same command goes on where it was cut \
off; another one with the same --out adds to what is there. What must not be mixed, such as two grids for one method on \
one data set, is refused. The summary (summary.md, summary.csv, summary.html, table2.svg, table2.png) is made from \
raw.jsonl alone.")]
pub struct Arguments {
    /// Methods of `rffblr evaluate --help`
    #[arg(long, value_name = "NAMES", default_value = METHODS, value_delimiter = ',')]
    methods: Vec<String>,
    #[command(flatten)]
    source: SourceArguments,
    /// Number of seeds; every fold is run with 0, 1, …
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Points of a grid to try: full, or a coarse subset
    #[arg(long, value_name = "GRID", default_value = "full", value_parser = super::grids())]
    grid: Grid,
    /// Fits side by side, each on one thread [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Folder of raw results and summary
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
}

/// One fold to run.
struct Job {
    series: usize,
    fold: usize,
    seed: u64,
}

/// A method on a data set.
struct Series<'a> {
    method: &'static dyn Method,
    source: &'a Source,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let methods = crate::evaluate::methods(&arguments.methods)?;
    let sources = arguments.source.read()?;
    let store: Store<Record> = Store::open(&arguments.out, EXPERIMENT)?;
    let journal = Journal::open(&arguments.out.join("selection.journal"))?;
    let pairs = methods.iter().flat_map(|&method| sources.iter().map(move |source| Series { method, source }));
    let series: Vec<Series<'_>> = pairs.collect();
    let known = store.records();
    for series in &series {
        refuse_other_settings(series, &known, arguments.grid)?;
    }
    let jobs = missing(&series, &known, arguments.seeds);
    let failures = run_jobs(arguments, &series, &jobs, &store, &journal)?;
    super::summary::write(&store.records(), &arguments.out)?;
    if !arguments.quiet {
        output::note(&format!("tables and figure: {}", arguments.out.join("summary.html").display()));
    }
    if !failures.is_empty() {
        bail!("{} of {} fits failed; the others are recorded\n  {}", failures.len(), jobs.len(), failures.join("\n  "));
    }
    Ok(())
}

/// An error if some of these results are there already, found in another way.
fn refuse_other_settings(series: &Series<'_>, known: &[Record], grid: Grid) -> Result<()> {
    let (method, dataset) = (series.method.name(), series.source.name);
    let setting = series.source.setting(grid);
    let same = |record: &&Record| record.key.method == method && record.key.dataset == dataset;
    if let Some(difference) = known.iter().filter(same).find_map(|record| record.setting.difference(&setting)) {
        bail!(
            "{method} on {dataset} was run with {difference}; results of both cannot be mixed: run it as before, or \
             name another folder with --out"
        );
    }
    Ok(())
}

/// The folds not recorded yet, in the order of methods, data sets, seeds.
fn missing(series: &[Series<'_>], known: &[Record], seeds: u64) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (number, Series { method, source }) in series.iter().enumerate() {
        for seed in 0..seeds {
            for fold in 0..source.folds.count() {
                let key = key(*method, source, fold, seed);
                if !known.iter().any(|record| record.key == key) {
                    jobs.push(Job { series: number, fold, seed });
                }
            }
        }
    }
    jobs
}

fn key(method: &dyn Method, source: &Source, fold: usize, seed: u64) -> Key {
    let (method, dataset) = (method.name().to_owned(), source.name.to_owned());
    Key { method, dataset, fold: fold + 1, seed, per_row: None }
}

/// Runs and records all jobs; gives what failed, in words.
fn run_jobs(
    arguments: &Arguments,
    series: &[Series<'_>],
    jobs: &[Job],
    store: &Store<Record>,
    journal: &Journal,
) -> Result<Vec<String>> {
    let workers = arguments.jobs.map_or_else(rayon::current_num_threads, usize::from).min(jobs.len().max(1));
    let left = |number: usize| jobs.iter().filter(|job| job.series == number).count();
    let name = |series: &Series<'_>| format!("{} on {}", series.method.name(), series.source.name);
    let watched = series.iter().enumerate().map(|(number, series)| (name(series), left(number)));
    let watch = Watch::new(watched, workers, arguments.quiet);
    let failures = Mutex::new(Vec::new());
    in_parallel(workers, jobs.len(), |number| {
        let job = &jobs[number];
        let this = &series[job.series];
        match run_job(this, job, arguments.grid, journal, &watch) {
            Ok(record) => {
                store.add(record)?;
                if !arguments.quiet {
                    tell_finished(this, arguments.seeds, store, &watch);
                }
            }
            Err(problem) => {
                let text = format!("{}, fold {}: {problem:#}", name(this), job.fold + 1);
                watch.tell(&format!("error: {text}"));
                failures.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        }
        Ok(())
    })?;
    watch.finish();
    Ok(failures.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn run_job(series: &Series<'_>, job: &Job, grid: Grid, journal: &Journal, watch: &Watch) -> Result<Record> {
    let Series { method, source } = series;
    // Seconds spent on inner folds, and how many needed none because an earlier run had done them.
    let inner_seconds = Mutex::new((0.0, 0));
    let progress = |progress: Progress| {
        let mut spent = inner_seconds.lock().unwrap_or_else(PoisonError::into_inner);
        match progress.seconds {
            Some(seconds) => spent.0 += seconds,
            None => spent.1 += 1,
        }
        watch.inner_fold(job.series, progress);
    };
    let (split, rows) = split(&source.training, &source.folds, job.fold)?;
    let inner = source.inner_folds(job.fold, &rows);
    let plan =
        Plan { seed: job.seed, grid, inner: inner.as_deref(), journal: Some(journal), progress: Some(&progress) };
    let start = thread_seconds();
    let result = evaluate(*method, &split, &plan)?;
    let cpu_seconds = thread_seconds().zip(start).map(|(end, start)| end - start);
    let (selecting, remembered) = *inner_seconds.lock().unwrap_or_else(PoisonError::into_inner);
    watch.fit(job.series, (result.fit_seconds + result.predict_seconds - selecting).max(0.0));
    Ok(Record::new(key(*method, source, job.fold, job.seed), source.setting(grid), result, cpu_seconds, remembered))
}

/// Says how a method did on a data set once all its folds are there.
fn tell_finished(series: &Series<'_>, seeds: u64, store: &Store<Record>, watch: &Watch) {
    let (method, dataset) = (series.method.name(), series.source.name);
    let mut records = store.records();
    records.retain(|record| record.key.method == method && record.key.dataset == dataset);
    if records.len() < series.source.folds.count() * seeds as usize {
        return;
    }
    let summary = |value: fn(&Record) -> f64| Summary::of(&records.iter().map(value).collect::<Vec<f64>>());
    if let (Some(task), Some(pooled)) =
        (summary(|record| record.scores.task_r2), summary(|record| record.scores.pooled_r2))
    {
        watch.tell(&format!("{method} on {dataset}: task R² {:.3}, pooled R² {:.3}", task.mean, pooled.mean));
    }
}
