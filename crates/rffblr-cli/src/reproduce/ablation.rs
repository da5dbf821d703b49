//! `rffblr reproduce ablation`: which of the values that the paper does not state decide its numbers.

use super::document::{Block, Document, Entry};
use super::fits::{Fit, record_all};
use super::record::{Key, Record};
use super::store::Store;
use super::summary::{Comparison, FEATURES, POOLED_R2, TASK_R2, is_met, provenance};
use super::{RunArguments, published, report_failures};
use crate::output;
use anyhow::Result;
use rffblr::data::Dataset;
use rffblr::{Bandwidth, CosineSettings, Settings};
use rffblr_methods::evaluate::Summary;
use rffblr_methods::method::{Method, Predictor};
use rffblr_methods::select::Plan;
use std::path::Path;

/// Name of the experiment in its raw results.
pub const EXPERIMENT: &str = "ablation";

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce ablation --out ablation
  rffblr reproduce ablation --datasets edm,jura --out ablation       two data sets now, the others later")]
#[command(after_long_help = "\
Sixteen variants of rffblr-authors: start of the updates and pruning as in it or as in rffblr-paper, with links or without, \
bandwidth learned or held at 1/D; everything else (1.5 features for each row, priors, links that are not scaled) as in \
rffblr-authors. Every fit is a line of OUT/raw.jsonl; the same command goes on where it was cut off.")]
pub struct Arguments {
    #[command(flatten)]
    run: RunArguments,
}

/// Of each factor whether it is as in the authors' implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    start: bool,
    pruning: bool,
    links: bool,
    learned: bool,
}

impl Variant {
    const AUTHORS: Variant = Variant { start: true, pruning: true, links: true, learned: true };

    /// Every combination, the authors' first.
    fn all() -> [Variant; 16] {
        std::array::from_fn(|number| {
            let is_theirs = |bit: usize| number >> bit & 1 == 0;
            Variant { start: is_theirs(3), pruning: is_theirs(2), links: is_theirs(1), learned: is_theirs(0) }
        })
    }

    fn words(self) -> String {
        [
            if self.start { "authors' start" } else { "our start" },
            if self.pruning { "authors' pruning" } else { "our pruning" },
            if self.links { "links" } else { "no links" },
            if self.learned { "bandwidth learned" } else { "bandwidth fixed" },
        ]
        .join("; ")
    }

    fn settings(self, inputs: usize) -> CosineSettings {
        let mut out = CosineSettings { links: self.links, ..CosineSettings::AUTHORS };
        let ours = CosineSettings::PAPER;
        if !self.start {
            (out.weight_start, out.noise_start) = (ours.weight_start, ours.noise_start);
        }
        if !self.pruning {
            (out.pruning, out.pruning_from) = (ours.pruning, ours.pruning_from);
        }
        if !self.learned {
            // Where learning begins.
            out.bandwidth = Bandwidth::Fixed(1.0 / inputs as f64);
        }
        out
    }
}

impl Method for Variant {
    fn name(&self) -> &'static str {
        EXPERIMENT
    }

    fn describe(&self) -> &'static str {
        ""
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> rffblr::Result<Box<dyn Predictor>> {
        let cosines = self.settings(data.inputs().ncols());
        Ok(Box::new(rffblr::fit(data, &Settings { form: cosines.into(), seed: plan.seed, ..Settings::AUTHORS })?))
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let run = &arguments.run;
    let sources = run.source.read()?;
    let store: Store<Record> = Store::open(&run.out, EXPERIMENT)?;
    let journal = run.open_journal()?;
    let known = store.records();
    let variants = Variant::all();
    let mut fits = Vec::new();
    for source in &sources {
        for variant in &variants {
            source.setting(run.grid).refuse_others(&known, &variant.words(), source.name)?;
            fits.extend((1..=source.folds.count()).map(|fold| {
                let (method, dataset) = (variant.words(), source.name.to_owned());
                Fit { method: variant, source, key: Key { method, dataset, fold, seed: 0, per_row: None } }
            }));
        }
    }
    fits.retain(|fit| !known.iter().any(|record| record.key == fit.key));
    let failures = record_all(&fits, run, &store, &journal, |_, _| {})?;
    write(&store.records(), &run.out)?;
    if !run.quiet {
        output::note(&format!("tables: {}", run.out.join("summary.html").display()));
    }
    report_failures(&failures, fits.len())
}

/// Writes the summary into the folder.
pub fn write(records: &[Record], folder: &Path) -> Result<()> {
    let comparison = Comparison::of(Variant::all().into_iter().map(Variant::words), records);
    let document = document(records, &comparison);
    output::save_all(
        folder,
        &[
            ("summary.csv", comparison.csv().as_bytes()),
            ("summary.html", document.html().as_bytes()),
            ("summary.md", document.markdown().as_bytes()),
        ],
    )
}

fn document(records: &[Record], comparison: &Comparison) -> Document {
    let text = |text: &str| Block::Paragraph(text.to_owned());
    let mut pooled = comparison.glance(&POOLED_R2);
    pooled.rows.insert(0, printed(comparison));
    let mut blocks = vec![Block::Paragraph(provenance(records.iter()))];
    blocks.extend(in_words(comparison).map(Block::Paragraph));
    blocks.push(Block::Heading(POOLED_R2.title.into()));
    blocks.push(text(
        "Mean of the folds, and what the paper prints, which is of this kind. The highest of a column is bold.",
    ));
    blocks.push(Block::Table(pooled));
    for quantity in [&TASK_R2, &FEATURES] {
        blocks.push(Block::Heading(quantity.title.into()));
        blocks.push(Block::Table(comparison.glance(quantity)));
    }
    Document { title: "What the printed numbers depend on".into(), blocks }
}

/// What the paper prints for a data set.
fn printed_cell(dataset: &str) -> Option<Summary> {
    published::column("rffblr-authors")?.cell(dataset)
}

/// The printed column as a row.
fn printed(comparison: &Comparison) -> Vec<Entry> {
    let cells = comparison.datasets.iter().map(|dataset| printed_cell(dataset));
    let means: Option<Vec<f64>> = cells.clone().map(|cell| Some(cell?.mean)).collect();
    let average = means.filter(|means| !means.is_empty()).map(|means| means.iter().sum::<f64>() / means.len() as f64);
    let text = cells.map(|cell| cell.map_or("–".into(), |cell| format!("{:.2} ± {:.2}", cell.mean, cell.sd)));
    let average = average.map_or("–".into(), |mean| format!("{mean:.2}"));
    ["printed".into()].into_iter().chain(text).chain([average]).map(|text: String| Entry::plain(text)).collect()
}

/// What the table shows: how much is lost when single values of the authors' are replaced by ours, and which of these
/// losses are large.
fn in_words(comparison: &Comparison) -> Option<String> {
    let theirs = Variant::AUTHORS;
    let single = [
        ("start", "our start", Variant { start: false, ..theirs }),
        ("pruning", "our pruning", Variant { pruning: false, ..theirs }),
        ("links", "no links", Variant { links: false, ..theirs }),
        ("bandwidth", "the bandwidth held at its start", Variant { learned: false, ..theirs }),
    ];
    let result = |variant: Variant| {
        let name = variant.words();
        let mean = comparison.average(&name, &POOLED_R2)?;
        let cells = comparison.datasets.iter().filter_map(|dataset| {
            let (ours, printed) = (comparison.summary(&name, dataset, &POOLED_R2)?, printed_cell(dataset)?);
            Some(is_met(ours.mean, &printed))
        });
        let cells: Vec<bool> = cells.collect();
        let met = cells.iter().filter(|is_met| **is_met).count();
        Some((mean, format!("{mean:.3} ({met} of {})", cells.len())))
    };
    let (best, text) = result(theirs)?;
    let (_, neither) = result(Variant { start: false, pruning: false, ..theirs })?;
    let mut parts = vec![format!("with our start and our pruning {neither}")];
    let mut losses = Vec::new();
    for (factor, words, variant) in single {
        let (mean, text) = result(variant)?;
        parts.push(format!("with {words} {text}"));
        losses.push((factor, best - mean));
    }
    let most = losses.iter().map(|loss| loss.1).fold(0.0, f64::max);
    let large = losses.iter().filter(|loss| most > 0.0 && loss.1 >= 0.5 * most).map(|loss| loss.0);
    let large = match large.collect::<Vec<_>>().as_slice() {
        [] => "none loses anything".to_owned(),
        factors => factors.join(" and "),
    };
    Some(format!(
        "Mean pooled R² over the data sets, in brackets on how many of them the printed value is met within its spread: as \
         in the authors' implementation {text}; {}. Single changes that lose at least half as much as the largest: {large}.",
        parts.join("; ")
    ))
}
