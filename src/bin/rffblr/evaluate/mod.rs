//! `rffblr evaluate`: cross-validation of one or several methods.

mod report;

use crate::output;
use crate::training::{TableArguments, Training};
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use rffblr::data::{Encoder, Folds};
use rffblr::evaluate::{FoldResult, Split, evaluate};
use rffblr::method::{Method, by_name};
use rffblr::select::Plan;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr evaluate cohort.csv --targets glucose,pressure --ignore id
  rffblr evaluate cohort.csv --targets last:3 --folds 5 --methods rffblr,rffblr-paper,mean
  rffblr evaluate jura --fold-file folds.json --json > scores.json")]
#[command(after_long_help = after_help())]
pub struct Arguments {
    #[command(flatten)]
    table: TableArguments,
    /// Number of folds, dealt out at random
    #[arg(long, value_name = "K", default_value_t = 10, conflicts_with = "fold_file")]
    folds: usize,
    /// Folds from a file: a JSON list of lists of test rows, counted from 0, such as [[0, 3], [1, 2]]
    #[arg(long, value_name = "FILE")]
    fold_file: Option<PathBuf>,
    /// Methods to compare
    #[arg(long, value_name = "NAMES", default_value = "rffblr,mean", value_delimiter = ',')]
    methods: Vec<String>,
    /// Seed of the folds and of every fit
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print JSON with the scores of every fold and task
    #[arg(long)]
    json: bool,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
}

fn after_help() -> String {
    let line = |method: &&dyn Method| format!("\n  {:<20} {}", method.name(), method.describe());
    let methods: String = rffblr::method::registry().iter().map(line).collect();
    format!(
        "Methods:{methods}\n\n\
         Scores: task R² is the mean over targets, pooled R² takes all cells as one vector; aRRMSE is relative to the \
         mean of the training rows; NLPD, CRPS and coverage judge the uncertainty. Every fit has one thread to itself, \
         so that its seconds can be compared."
    )
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let methods = methods(&arguments.methods)?;
    let training = arguments.table.read()?;
    let folds = match &arguments.fold_file {
        Some(file) => Folds::read(file, training.table.rows())?,
        None => Folds::random(training.table.rows(), arguments.folds, arguments.seed)?,
    };
    if !arguments.quiet {
        tell(&training, &folds)?;
    }
    let results = cross_validate(&training, &folds, &methods, arguments)?;
    if !arguments.quiet && results.iter().flatten().any(|fold| !fold.is_scored()) {
        output::note("folds whose test rows have no observed target are left out of the means");
    }
    let targets = &training.roles.targets;
    output::print(&if arguments.json {
        let about = report::About { training: &training, data: &arguments.table.data, seed: arguments.seed };
        format!("{:#}\n", report::json(&about, &methods, &results))
    } else {
        report::tables(targets, &methods, &results)
    })
}

fn methods(names: &[String]) -> Result<Vec<&'static dyn Method>> {
    let mut methods: Vec<&dyn Method> = Vec::new();
    for name in names {
        let method = by_name(name.trim())?;
        if methods.iter().any(|other| other.name() == method.name()) {
            bail!("method \"{name}\" is listed twice; list it once");
        }
        methods.push(method);
    }
    Ok(methods)
}

/// What a user may not expect of the table and of the folds.
fn tell(training: &Training, folds: &Folds) -> Result<()> {
    training.encode(false)?;
    if folds.never_tested() > 0 {
        output::note(&format!("rows that no fold tests, so that they train in every fold: {}", folds.never_tested()));
    }
    if folds.test().iter().any(|test| test.len() == 1) {
        output::note("R² of a single test row is 1 if it is predicted exactly, else 0: larger folds say more");
    }
    Ok(())
}

/// The results of every method, fold by fold.
fn cross_validate(
    training: &Training,
    folds: &Folds,
    methods: &[&dyn Method],
    arguments: &Arguments,
) -> Result<Vec<Vec<FoldResult>>> {
    let jobs = folds.count() * methods.len();
    let bar = if arguments.quiet { ProgressBar::hidden() } else { bar(jobs) };
    let results = in_parallel(jobs, |job| {
        let (fold, method) = (job / methods.len(), methods[job % methods.len()]);
        let result = split(training, folds, fold)
            .and_then(|split| Ok(evaluate(method, &split, &Plan::seeded(arguments.seed))?))
            .with_context(|| format!("fold {}, method {}", fold + 1, method.name()));
        bar.inc(1);
        result
    });
    bar.finish_and_clear();
    let mut by_method: Vec<Vec<FoldResult>> = methods.iter().map(|_| Vec::new()).collect();
    for (job, result) in results?.into_iter().enumerate() {
        by_method[job % methods.len()].push(result);
    }
    Ok(by_method)
}

fn bar(fits: usize) -> ProgressBar {
    let bar = output::progress(fits as u64, "{bar:30} {pos} of {len} fits  {elapsed}, about {eta} left");
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// Encodes one fold: everything about the columns is learned from its training rows alone.
fn split(training: &Training, folds: &Folds, fold: usize) -> Result<Split> {
    let test = &folds.test()[fold];
    let train: Vec<usize> =
        folds.train(test).into_iter().filter(|row| training.rows.binary_search(row).is_ok()).collect();
    if train.is_empty() {
        bail!("no training row has a target value; use fewer or other folds");
    }
    let (encoder, _) = Encoder::learn(&training.table, &train, &training.roles, training.missing)?;
    let (train, _) = encoder.dataset(&training.table, &train)?;
    let (test_inputs, test_targets) = encoder.test_rows(&training.table, test)?;
    Ok(Split { train, test_inputs, test_targets })
}

/// Runs jobs 0, 1, … on as many workers as there are threads and gives the results in order, or the error of the first
/// job that failed. Each worker is a pool of one thread, so that no job takes time from another.
fn in_parallel<T: Send>(jobs: usize, job: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::new());
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= jobs {
                break;
            }
            let result = job(index);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, result));
        }
    };
    let pools: Vec<rayon::ThreadPool> = (0..rayon::current_num_threads().min(jobs))
        .map(|_| rayon::ThreadPoolBuilder::new().num_threads(1).build())
        .collect::<Result<_, _>>()
        .context("cannot start threads")?;
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| pool.install(work));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
