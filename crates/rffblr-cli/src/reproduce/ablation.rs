//! `rffblr reproduce ablation`: which of the values that the paper does not state decide its numbers.

use super::document::{Block, Document, Entry, Table};
use super::fits::{Fit, record_all};
use super::record::{Key, Record};
use super::store::Store;
use super::summary::{Comparison, FEATURES, POOLED_R2, TASK_R2, is_met, provenance};
use super::{RunArguments, published, report_failures};
use crate::output;
use anyhow::Result;
use rffblr::data::Dataset;
use rffblr::linalg::MatRef;
use rffblr::{Bandwidth, CosineSettings, FeatureCount, Model, Settings};
use rffblr_cli::catalogue;
use rffblr_methods::evaluate::Summary;
use rffblr_methods::method::{Chosen, Forecast, Method, Predictor};
use rffblr_methods::select::Plan;
use serde_json::Value;
use std::path::Path;

/// Name of the experiment in its raw results.
pub const EXPERIMENT: &str = "ablation";

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce ablation --out ablation
  rffblr reproduce ablation --datasets edm,jura --out ablation       two data sets now, the others later")]
#[command(after_long_help = "\
Variants of rffblr-authors: start of the updates as in it or as in rffblr-paper; pruning as in it, by its rule from sweep 20 \
on, or as in rffblr-paper; with links or without; bandwidth learned or held at 1/D; and links alone, without cosines. Everything \
else (1.5 features for each row, priors, links that are not scaled) as in rffblr-authors. Every fit is a line of OUT/raw.jsonl; \
the same command goes on where it was cut off.")]
pub struct Arguments {
    #[command(flatten)]
    run: RunArguments,
}

/// Of each factor which value it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    /// Whether the start is that of the authors' implementation.
    start: bool,
    pruning: When,
    terms: Terms,
    /// Whether the bandwidth is learned.
    learned: bool,
}

/// When features are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// By the authors' rule from the first sweep on, as in their implementation, or later.
    Authors,
    AuthorsLate,
    Ours,
}

/// What a function is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terms {
    CosinesAndLinks,
    Cosines,
    Links,
}

/// The sweep from which on the authors' rule is used late.
const LATE: usize = 20;

impl Variant {
    const AUTHORS: Variant =
        Variant { start: true, pruning: When::Authors, terms: Terms::CosinesAndLinks, learned: true };

    /// Every combination, the authors' first, and links alone.
    fn all() -> Vec<Variant> {
        let mut out = vec![Variant::AUTHORS, Variant { terms: Terms::Links, ..Variant::AUTHORS }];
        for start in [true, false] {
            for pruning in [When::Authors, When::AuthorsLate, When::Ours] {
                for terms in [Terms::CosinesAndLinks, Terms::Cosines] {
                    out.extend([true, false].map(|learned| Variant { start, pruning, terms, learned }));
                }
            }
        }
        // The authors' own came first.
        out.remove(2);
        out
    }

    fn words(self) -> String {
        let mut parts = vec![
            if self.start { "authors' start" } else { "our start" }.to_owned(),
            match self.pruning {
                When::Authors => "authors' pruning".into(),
                When::AuthorsLate => format!("authors' pruning from sweep {LATE}"),
                When::Ours => "our pruning".into(),
            },
            match self.terms {
                Terms::CosinesAndLinks => "links",
                Terms::Cosines => "no links",
                Terms::Links => "links alone",
            }
            .into(),
        ];
        if self.terms != Terms::Links {
            parts.push(if self.learned { "bandwidth learned" } else { "bandwidth fixed" }.into());
        }
        parts.join("; ")
    }

    fn settings(self, inputs: usize) -> CosineSettings {
        let mut out = CosineSettings { links: self.terms != Terms::Cosines, ..CosineSettings::AUTHORS };
        let ours = CosineSettings::PAPER;
        if self.terms == Terms::Links {
            out.features = FeatureCount::Exactly(0);
        }
        if !self.start {
            (out.weight_start, out.noise_start) = (ours.weight_start, ours.noise_start);
        }
        match self.pruning {
            When::Authors => {}
            When::AuthorsLate => out.pruning_from = LATE,
            When::Ours => (out.pruning, out.pruning_from) = (ours.pruning, ours.pruning_from),
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
        let settings = Settings { form: cosines.into(), seed: plan.seed, ..Settings::AUTHORS };
        Ok(Box::new(Counted(rffblr::fit(data, &settings)?)))
    }
}

/// A model that also says how many of its features are links.
struct Counted(Model);

const LINKS: &str = "links kept";

impl Predictor for Counted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> rffblr::Result<Forecast> {
        Predictor::predict(&self.0, inputs)
    }

    fn state(&self) -> rffblr::Result<Value> {
        self.0.state()
    }

    fn active_features(&self) -> Option<usize> {
        Predictor::active_features(&self.0)
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        vec![(LINKS, Chosen::Text(self.0.links().len().to_string()))]
    }
}

fn links_kept(record: &Record) -> Option<f64> {
    record.chosen.get(LINKS)?.to_string().parse().ok()
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
    blocks.push(Block::Heading("Links and cosines kept with the authors' values".into()));
    blocks.push(text("Means of the folds; how many there were to begin with."));
    blocks.push(Block::Table(kept(comparison)));
    Document { title: "What the printed numbers depend on".into(), blocks }
}

/// Links and cosines that the authors' variant keeps, and had.
fn kept(comparison: &Comparison) -> Table {
    let header = [String::new()].into_iter().chain(comparison.datasets.clone()).collect();
    let name = Variant::AUTHORS.words();
    let row = |what: &str, value: &dyn Fn(&Record) -> Option<f64>, drawn: &dyn Fn(&str, &Record) -> Option<f64>| {
        let cell = |dataset: &String| {
            let records = comparison.records(&name, dataset);
            let mean = |value: &dyn Fn(&Record) -> Option<f64>| {
                let values: Vec<f64> = records.iter().map(value).collect::<Option<_>>()?;
                Summary::of(&values).map(|summary| summary.mean)
            };
            Some(format!("{:.1} of {:.0}", mean(value)?, mean(&|record| drawn(dataset, record))?))
        };
        let cells = comparison.datasets.iter().map(|dataset| cell(dataset).unwrap_or("–".into()));
        [what.to_owned()].into_iter().chain(cells).map(Entry::plain).collect()
    };
    let inputs = |dataset: &str, _: &Record| catalogue::find(dataset).ok().map(|known| known.inputs as f64);
    let cosines = |record: &Record| Some(record.active_features? as f64 - links_kept(record)?);
    let rows = vec![
        row("links", &links_kept, &inputs),
        row("cosines", &cosines, &|_, record| Some((1.5 * record.train_rows as f64).ceil())),
    ];
    Table { header, rows }
}

/// What the paper prints for a data set.
fn printed_cell(dataset: &str) -> Option<Summary> {
    published::column("rffblr-authors")?.cell(dataset)
}

/// The printed column as a row.
fn printed(comparison: &Comparison) -> Vec<Entry> {
    let cells = comparison.datasets.iter().map(|dataset| printed_cell(dataset));
    let text = cells.map(|cell| cell.map_or("–".into(), |cell| format!("{:.2} ± {:.2}", cell.mean, cell.sd)));
    let average = published::column("rffblr-authors").and_then(|column| column.average(&comparison.datasets));
    let average = average.map_or("–".into(), |mean| format!("{mean:.2}"));
    ["printed".into()].into_iter().chain(text).chain([average]).map(|text: String| Entry::plain(text)).collect()
}

/// What the table shows: how much is lost when values of the authors' are replaced, one at a time, and the start together
/// with the pruning.
fn in_words(comparison: &Comparison) -> Option<String> {
    let theirs = Variant::AUTHORS;
    let late = Variant { pruning: When::AuthorsLate, ..theirs };
    let ours = Variant { pruning: When::Ours, ..theirs };
    let result = |variant: Variant| {
        let name = variant.words();
        let mean = comparison.average(&name, &POOLED_R2)?;
        let cells = comparison.datasets.iter().filter_map(|dataset| {
            let (ours, printed) = (comparison.summary(&name, dataset, &POOLED_R2)?, printed_cell(dataset)?);
            Some(is_met(ours.mean, &printed))
        });
        let cells: Vec<bool> = cells.collect();
        let met = cells.iter().filter(|is_met| **is_met).count();
        Some(format!("{mean:.3} ({met} of {})", cells.len()))
    };
    let changes = [
        ("our start", Variant { start: false, ..theirs }),
        ("their pruning late", late),
        ("both of these", Variant { start: false, ..late }),
        ("our pruning", ours),
        ("our start and our pruning", Variant { start: false, ..ours }),
        ("no links", Variant { terms: Terms::Cosines, ..theirs }),
        ("links alone", Variant { terms: Terms::Links, ..theirs }),
        ("the bandwidth held at its start", Variant { learned: false, ..theirs }),
    ];
    let words = |(words, variant): (&str, Variant)| Some(format!("with {words} {}", result(variant)?));
    let parts: Vec<String> = changes.into_iter().map(words).collect::<Option<_>>()?;
    Some(format!(
        "Mean pooled R² over the data sets, in brackets on how many of them the printed value is met within its spread: as \
         in the authors' implementation {}; {}. Late is from sweep {LATE} on.",
        result(theirs)?,
        parts.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_and_links_alone() {
        let names: Vec<String> = Variant::all().into_iter().map(Variant::words).collect();
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!((names.len(), distinct.len()), (2 * 3 * 2 * 2 + 1, 25));
        assert_eq!(names[0], Variant::AUTHORS.words());
        assert_eq!(Variant::AUTHORS.settings(7), CosineSettings::AUTHORS);
    }
}
