//! `rffblr reproduce table2`: every method on every data set, fold by fold.

use super::fits::{Fit, record_all};
use super::record::{Key, Record};
use super::source::Source;
use super::store::Store;
use super::{RunArguments, report_failures};
use crate::output;
use crate::watch::Watch;
use anyhow::Result;
use rffblr_methods::evaluate::Summary;
use rffblr_methods::method::Method;

/// Name of the experiment in its raw results.
pub const EXPERIMENT: &str = "table2";

/// What the paper compares, and the model as it is now: the default, and as published with and without direct links and
/// with the values of its authors' implementation.
const METHODS: &str =
    "rffblr,rffblr-paper-links,rffblr-paper,rffblr-authors,mmr,fnn,fnn-gaussian,mtfl,hi-vae,sb-elm,gor-elm";

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

pub fn run(arguments: &Arguments) -> Result<()> {
    let methods = crate::evaluate::methods(&arguments.methods)?;
    let Arguments { run, seeds, .. } = arguments;
    let sources = run.source.read()?;
    let store: Store<Record> = Store::open(&run.out, EXPERIMENT)?;
    let journal = run.open_journal()?;
    let known = store.records();
    let mut fits = Vec::new();
    for &method in &methods {
        for source in &sources {
            source.setting(run.grid).refuse_others(&known, method.name(), source.name)?;
            fits.extend((0..*seeds).flat_map(|seed| of_all_folds(method, source, seed)));
        }
    }
    fits.retain(|fit| !known.iter().any(|record| record.key == fit.key));
    let failures = record_all(&fits, run, &store, &journal, |fit, watch| {
        if !run.quiet {
            tell_finished(fit, *seeds, &store, watch);
        }
    })?;
    super::summary::write(&store.records(), &run.out)?;
    if !run.quiet {
        output::note(&format!("tables and figure: {}", run.out.join("summary.html").display()));
    }
    report_failures(&failures, fits.len())
}

/// A method on all folds of a data set.
fn of_all_folds<'a>(method: &'a dyn Method, source: &'a Source, seed: u64) -> impl Iterator<Item = Fit<'a>> {
    let (name, dataset) = (method.name().to_owned(), source.name.to_owned());
    let key = move |fold| Key { method: name.clone(), dataset: dataset.clone(), fold: fold + 1, seed, per_row: None };
    (0..source.folds.count()).map(move |fold| Fit { method, source, key: key(fold) })
}

/// Says how a method did on a data set once all its folds are there.
fn tell_finished(fit: &Fit<'_>, seeds: u64, store: &Store<Record>, watch: &Watch) {
    let Key { method, dataset, .. } = &fit.key;
    let mut records = store.records();
    records.retain(|record| record.key.method == *method && record.key.dataset == *dataset);
    if records.len() < fit.source.folds.count() * seeds as usize {
        return;
    }
    let summary = |value: fn(&Record) -> f64| Summary::of(&records.iter().map(value).collect::<Vec<f64>>());
    if let (Some(task), Some(pooled)) =
        (summary(|record| record.scores.task_r2), summary(|record| record.scores.pooled_r2))
    {
        watch.tell(&format!("{method} on {dataset}: task R² {:.3}, pooled R² {:.3}", task.mean, pooled.mean));
    }
}
