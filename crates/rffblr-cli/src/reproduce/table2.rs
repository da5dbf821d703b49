//! `rffblr reproduce table2`: every method on every data set, fold by fold.

use super::record::{Key, Record, evaluate_timed};
use super::source::Source;
use super::store::Store;
use super::{RunArguments, report_failures};
use crate::output;
use crate::watch::Watch;
use anyhow::Result;
use rffblr_methods::evaluate::{Split, Summary, in_parallel};
use rffblr_methods::method::Method;
use rffblr_methods::select::{Grid, Journal, Plan, Progress};
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
  rffblr reproduce table2 --methods rffblr,fnn --seeds 5 --out seeds")]
#[command(after_long_help = "\
Every fold of every method is a line of OUT/raw.jsonl the moment it is done. The same command goes on where it was cut \
off; another one with the same --out adds to what is there. What must not be mixed, such as two grids for one method on \
one data set, is refused. The summary (summary.md, summary.csv, summary.html, table2.svg, table2.png) is made from \
raw.jsonl alone.")]
pub struct Arguments {
    /// Methods of `rffblr evaluate --help`
    #[arg(long, value_name = "NAMES", default_value = METHODS, value_delimiter = ',')]
    methods: Vec<String>,
    /// Number of seeds; every fold is run with 0, 1, …
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    #[command(flatten)]
    run: RunArguments,
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
    let Arguments { run, seeds, .. } = arguments;
    let sources = run.source.read()?;
    let store: Store<Record> = Store::open(&run.out, EXPERIMENT)?;
    let journal = run.open_journal()?;
    let pairs = methods.iter().flat_map(|&method| sources.iter().map(move |source| Series { method, source }));
    let series: Vec<Series<'_>> = pairs.collect();
    let known = store.records();
    for Series { method, source } in &series {
        source.setting(run.grid).refuse_others(&known, method.name(), source.name)?;
    }
    let jobs = missing(&series, &known, *seeds);
    let failures = run_jobs(run, *seeds, &series, &jobs, &store, &journal)?;
    super::summary::write(&store.records(), &run.out)?;
    if !run.quiet {
        output::note(&format!("tables and figure: {}", run.out.join("summary.html").display()));
    }
    report_failures(&failures, jobs.len())
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
    run: &RunArguments,
    seeds: u64,
    series: &[Series<'_>],
    jobs: &[Job],
    store: &Store<Record>,
    journal: &Journal,
) -> Result<Vec<String>> {
    let workers = run.workers(jobs.len());
    let left = |number: usize| jobs.iter().filter(|job| job.series == number).count();
    let name = |series: &Series<'_>| format!("{} on {}", series.method.name(), series.source.name);
    let watched = series.iter().enumerate().map(|(number, series)| (name(series), left(number)));
    let watch = Watch::new(watched, workers, run.quiet);
    let failures = Mutex::new(Vec::new());
    in_parallel(workers, jobs.len(), |number| -> Result<()> {
        let job = &jobs[number];
        let this = &series[job.series];
        match run_job(this, job, run.grid, journal, &watch) {
            Ok(record) => {
                store.add(record)?;
                if !run.quiet {
                    tell_finished(this, seeds, store, &watch);
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
    let (split, rows) = Split::of_table(&source.training, &source.folds, job.fold)?;
    let inner = source.inner_folds(job.fold, &rows);
    let plan =
        Plan { seed: job.seed, grid, inner: inner.as_deref(), journal: Some(journal), progress: Some(&progress) };
    let (result, cpu_seconds) = evaluate_timed(*method, &split, &plan)?;
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
