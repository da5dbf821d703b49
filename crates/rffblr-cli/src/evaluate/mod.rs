//! `rffblr evaluate`: cross-validation of one or several methods.

mod predictions;
mod report;
pub mod selection;

use crate::output;
use crate::settings::SettingArguments;
use crate::training::{TableArguments, wrong};
use crate::watch::Watch;
use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use rffblr::data::TrainingTable;
use rffblr::metrics::SplitBy;
use rffblr_methods::evaluate::FoldResult;
use rffblr_methods::folds::Folds;
use rffblr_methods::method::{Method, RffBlr, by_name};
use rffblr_methods::select::Progress;
use rffblr_methods::{CrossValidation, Job, cross_validate};
use rffblr_tables::Writer;
use selection::{Selection, SelectionArguments};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr evaluate cohort.csv --targets glucose,pressure --ignore id
  rffblr evaluate cohort.csv --targets last:3 --folds 5 --methods rffblr,rffblr-paper,mean
  rffblr evaluate visits.csv --targets glucose --group patient --folds 5
  rffblr evaluate cohort.csv --targets glucose --sparsity 0.75 --predictions held-out.csv
  rffblr evaluate jura --fold-file folds.json --json > scores.json
  rffblr evaluate jura --methods rffblr,mmr,fnn --grid coarse --journal jura.journal")]
#[command(after_long_help = after_help())]
pub struct Arguments {
    #[command(flatten)]
    table: TableArguments,
    /// Number of folds: dealt out at random, or as --group or --time says
    #[arg(long, value_name = "K", default_value_t = 10, conflicts_with = "fold_file")]
    folds: usize,
    /// Folds from a file: a JSON list of lists of test rows, such as [[0, 3], [1, 2]]; they are counted
    /// from 0, those of --predictions from 1
    #[arg(long, value_name = "FILE", conflicts_with_all = ["group", "time"])]
    fold_file: Option<PathBuf>,
    /// Methods to compare
    #[arg(long, value_name = "NAMES", default_value = "rffblr,mean", value_delimiter = ',')]
    methods: Vec<String>,
    /// File for every held-out prediction, ending in .csv or .parquet: row (counted from 1, unlike in --fold-file), fold,
    /// method, and of each target what was observed, predicted, and its standard deviation
    #[arg(long, value_name = "FILE")]
    predictions: Option<PathBuf>,
    /// Replace the file of predictions if it exists
    #[arg(long)]
    force: bool,
    /// Print JSON with the scores of every fold and task
    #[arg(long)]
    json: bool,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    selection: SelectionArguments,
    // Of the method `rffblr`, as `fit` takes them; the seed is that of the folds and of every fit.
    #[command(flatten)]
    settings: SettingArguments,
}

fn after_help() -> String {
    let line = |method: &&dyn Method| format!("\n  {:<20} {}", method.name(), method.describe());
    let methods: String = rffblr_methods::method::registry().iter().map(line).collect();
    format!(
        "Methods:{methods}\n\n\
         Scores: task R² is the mean over targets, pooled R² takes all cells as one vector; aRRMSE is relative to the \
         mean of the training rows; a target that never varies does not count in R². Out of fold, R² is that of the held-out \
         rows of all folds together, ± its standard error over folds; NLPD, CRPS and coverage judge the uncertainty. Every fit has one thread to itself, \
         so that its seconds can be compared."
    )
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let settings = arguments.settings.settings()?;
    let own = RffBlr { name: "rffblr", describe: "RFF-BLR with the settings given", settings: settings.clone() };
    let named = methods(&arguments.methods).unwrap_or_else(|problem| wrong(ErrorKind::InvalidValue, problem));
    let methods: Vec<&dyn Method> =
        named.into_iter().map(|method| if method.name() == own.name { &own as &dyn Method } else { method }).collect();
    if arguments.settings.is_given() && !methods.iter().any(|method| method.name() == own.name) {
        wrong(
            ErrorKind::ArgumentConflict,
            "settings are those of the method rffblr, which is not among --methods; add it",
        );
    }
    if arguments.folds < 2 && !arguments.table.is_ordered() && arguments.fold_file.is_none() {
        wrong(ErrorKind::ValueValidation, "--folds is at least 2 (with --time, 1 tests the latest rows)");
    }
    if let Some(path) = &arguments.predictions {
        output::expect_apart(path, [arguments.table.data.as_path()])?;
        output::expect_writable(path, arguments.force)?;
    }
    let training = arguments.table.read(arguments.quiet)?;
    let (folds, by) = match &arguments.fold_file {
        Some(file) => (Folds::read(file, training.table().rows())?, SplitBy::Custom),
        None => Folds::of_table(&training, arguments.folds, settings.seed)?,
    };
    if !arguments.quiet {
        tell(&folds);
    }
    let selection = arguments.selection.open(arguments.fold_file.as_deref(), &training, &folds, arguments.quiet)?;
    let results = run_folds(&training, &folds, &methods, &selection, settings.seed, arguments.quiet)?;
    if let Some(path) = &arguments.predictions {
        let table = predictions::table(&training.roles().targets, &folds, &methods, &results)?;
        let cannot = || format!("cannot write {}", path.display());
        let mut writer = Writer::create(path, arguments.force).with_context(cannot)?;
        writer.write(&table).and_then(|()| writer.finish()).with_context(cannot)?;
    }
    if !arguments.quiet && results.iter().flatten().any(|fold| !fold.is_scored()) {
        output::note("folds whose test rows have no observed target are left out of the means");
    }
    let targets = &training.roles().targets;
    if let (false, Some(first)) = (arguments.quiet, results.first()) {
        tell_unknown(targets, first);
    }
    if arguments.json {
        let data = &arguments.table.data;
        let about = report::About { training: &training, data, settings: &settings, selection: &selection, by: &by };
        return output::print_json(&format!("{:#}\n", report::json(&about, &methods, &results)?));
    }
    output::print(&report::tables(targets, &methods, &results)?)
}

/// The methods with these names, each once.
pub fn methods(names: &[String]) -> Result<Vec<&'static dyn Method>> {
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

/// What a user may not expect of the folds.
fn tell(folds: &Folds) {
    if folds.never_tested() > 0 {
        output::note(&format!("rows that train and that no fold tests: {}", folds.never_tested()));
    }
    if folds.test().iter().any(|test| test.len() == 1) {
        output::note("a single test row has no R²: such folds count in the R² of all held-out rows alone");
    }
}

/// Which targets are not scored in which folds, whatever the method.
fn tell_unknown(targets: &[String], folds: &[FoldResult]) {
    for (task, name) in targets.iter().enumerate() {
        let without = folds.iter().zip(1..).filter(|(fold, _)| fold.unknown.contains(&task));
        let numbers: Vec<String> = without.map(|(_, number): (_, usize)| number.to_string()).collect();
        if !numbers.is_empty() {
            output::note(&format!(
                "target \"{name}\" has no value in the training rows of fold {} and is not scored there",
                numbers.join(", ")
            ));
        }
    }
}

/// The results of every method, fold by fold.
fn run_folds(
    training: &TrainingTable,
    folds: &Folds,
    methods: &[&dyn Method],
    selection: &Selection,
    seed: u64,
    quiet: bool,
) -> Result<Vec<Vec<FoldResult>>> {
    let inner = selection.inner_folds();
    let of_fold = |fold: usize| methods.iter().map(move |&method| Job { method, training, folds, fold, seed, inner });
    let jobs: Vec<Job<'_>> = (0..folds.count()).flat_map(of_fold).collect();
    let workers = rayon::current_num_threads().min(jobs.len());
    let series = methods.iter().map(|method| (method.name().to_owned(), folds.count()));
    let watch = Watch::new(series, workers, quiet);
    let progress = |job: usize, progress: Progress| watch.inner_fold(job % methods.len(), progress);
    let (grid, journal) = (selection.grid, selection.journal.as_ref());
    let how = CrossValidation { workers, grid, journal, progress: Some(&progress) };
    let results = cross_validate(&jobs, &how, |number, result| {
        let Job { method, fold, .. } = jobs[number];
        let result = result.map_err(|problem| {
            // What a method cannot do names the method already.
            let named = matches!(problem, rffblr::Error::Unsupported { .. });
            let method = if named { String::new() } else { format!(", method {}", method.name()) };
            anyhow::Error::from(problem).context(format!("fold {}{method}", fold + 1))
        })?;
        watch.fit(number % methods.len(), result.other_seconds());
        anyhow::Ok(result)
    });
    watch.finish();
    let mut by_method: Vec<Vec<FoldResult>> = methods.iter().map(|_| Vec::new()).collect();
    for (job, result) in results?.into_iter().enumerate() {
        by_method[job % methods.len()].push(result);
    }
    Ok(by_method)
}
