//! `rffblr reproduce figure2`: accuracy against the number of features to begin with, and how many of them stay.

use super::document::{Block, Document, Entry, Table};
use super::fits::{Fit, record_all};
use super::plot::{self, Curve, Look, Panel, Picture};
use super::record::{Key, Record};
use super::source::Source;
use super::store::{self, Store};
use super::{RunArguments, report_failures, summary, table2};
use crate::output;
use anyhow::{Result, bail};
use rffblr::{CosineSettings, FeatureCount, Settings};
use rffblr_methods::baselines::{Layer, SbElm};
use rffblr_methods::evaluate::Summary;
use rffblr_methods::method::{Chosen, Method, RffBlr};
use rffblr_methods::select::Journal;
use rffblr_methods::{CrossValidation, Job, cross_validate};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the experiment in its raw results.
pub const EXPERIMENT: &str = "figure2";

/// Features for each training row.
const PER_ROW: [f64; 15] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0];

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce figure2 --out figure2
  rffblr reproduce figure2 --datasets edm,jura --out figure2       two panels now, the others later
  rffblr reproduce figure2 --table2 table2 --out figure2           bandwidths of SB-ELM as chosen there")]
#[command(after_long_help = "\
The initial number of features M runs over 0.1 to 5 times the number of training rows N. RFF-BLR learns its bandwidth \
anew for every M. SB-ELM has that of Table 2, chosen by inner folds at M = 2N: from the results of that table where \
--table2 names them, else chosen anew. Every fit is a line of OUT/raw.jsonl; the same command goes on where it was cut off.")]
pub struct Arguments {
    /// Which of rffblr-paper, rffblr-paper-links, rffblr-authors, sb-elm [default: all]
    #[arg(long, value_name = "NAMES", default_values_t = Machine::ALL.map(|machine| machine.name().to_owned()),
          hide_default_value = true, value_delimiter = ',')]
    methods: Vec<String>,
    /// Folder with the results of `reproduce table2`
    #[arg(long, value_name = "DIR")]
    table2: Option<PathBuf>,
    #[command(flatten)]
    run: RunArguments,
}

/// A method whose number of features can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    Paper,
    PaperLinks,
    Authors,
    SbElm,
}

impl Machine {
    const ALL: [Machine; 4] = [Machine::Paper, Machine::PaperLinks, Machine::Authors, Machine::SbElm];

    fn name(self) -> &'static str {
        match self {
            Machine::Paper => "rffblr-paper",
            Machine::PaperLinks => "rffblr-paper-links",
            Machine::Authors => "rffblr-authors",
            Machine::SbElm => "sb-elm",
        }
    }

    fn parse(name: &str) -> Result<Machine> {
        let found = Machine::ALL.into_iter().find(|machine| machine.name() == name.trim());
        match found {
            Some(machine) => Ok(machine),
            None => bail!(
                "\"{name}\" has no number of features to vary; use {}",
                Machine::ALL.map(Machine::name).join(", ")
            ),
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let machines = arguments.methods.iter().map(|name| Machine::parse(name)).collect::<Result<Vec<Machine>>>()?;
    let run = &arguments.run;
    let sources = run.source.read()?;
    let store: Store<Record> = Store::open(&run.out, EXPERIMENT)?;
    let journal = run.open_journal()?;
    let known = store.records();
    let chosen: Vec<Record> = match &arguments.table2 {
        Some(folder) => store::read(folder, table2::EXPERIMENT)?,
        None => Vec::new(),
    };
    let mut wanted = Vec::new();
    for &machine in &machines {
        for source in &sources {
            source.setting(run.grid).refuse_others(&known, machine.name(), source.name)?;
            let folds = 0..source.folds.count();
            let keys = folds.flat_map(|fold| PER_ROW.map(|per_row| key(machine, source, fold, Some(per_row))));
            wanted.extend(keys.map(|key| (machine, source, key)));
        }
    }
    wanted.retain(|(_, _, key)| !known.iter().any(|record| record.key == *key));
    let (bandwidths, mut failures) = Bandwidths::choose(&wanted, run, chosen, &journal)?;
    let method = |(machine, _, key): &Wanted<'_>| machine.with(key.per_row?, || bandwidths.exponent(key));
    let methods: Vec<Option<Box<dyn Method>>> = wanted.iter().map(method).collect();
    let fits = wanted
        .iter()
        .zip(&methods)
        .filter_map(|((_, source, key), method)| Some(Fit { method: method.as_deref()?, source, key: key.clone() }));
    let fits: Vec<Fit<'_>> = fits.collect();
    failures.extend(record_all(&fits, run, &store, &journal, |_, _| {})?);
    write(&store.records(), &run.out)?;
    if !run.quiet {
        output::note(&format!("figure: {}", run.out.join("figure2.png").display()));
    }
    report_failures(&failures, wanted.len())
}

/// A fit that is not recorded yet.
type Wanted<'a> = (Machine, &'a Source, Key);

fn key(machine: Machine, source: &Source, fold: usize, per_row: Option<f64>) -> Key {
    let (method, dataset) = (machine.name().to_owned(), source.name.to_owned());
    Key { method, dataset, fold: fold + 1, seed: 0, per_row }
}

impl Machine {
    /// With this many features for each row; for SB-ELM also with log₂ of its γD, `None` if that is missing.
    fn with(self, per_row: f64, exponent: impl Fn() -> Option<i32>) -> Option<Box<dyn Method>> {
        let cosines = match self {
            Machine::SbElm => {
                return Some(Box::new(SbElm { layer: Layer::Given { per_row, exponent: exponent()? } }));
            }
            Machine::Paper => CosineSettings::PAPER,
            Machine::PaperLinks => CosineSettings { links: true, ..CosineSettings::PAPER },
            Machine::Authors => CosineSettings::AUTHORS,
        };
        let cosines = CosineSettings { features: FeatureCount::PerRow(per_row), ..cosines };
        let settings = Settings { form: cosines.into(), ..Settings::PAPER };
        Some(Box::new(RffBlr { name: self.name(), describe: "", settings }))
    }
}

/// log₂ of γD of SB-ELM by data set and fold.
struct Bandwidths(BTreeMap<(String, usize), i32>);

impl Bandwidths {
    /// For all fits that are wanted: as chosen for Table 2 on the same rows and grid, or else chosen now, as there. Also
    /// gives what failed, in words.
    fn choose(
        wanted: &[Wanted<'_>],
        run: &RunArguments,
        chosen: Vec<Record>,
        journal: &Journal,
    ) -> Result<(Bandwidths, Vec<String>)> {
        let (mut found, mut left) = (BTreeMap::new(), BTreeMap::new());
        for (machine, source, key) in wanted.iter().filter(|(machine, ..)| *machine == Machine::SbElm) {
            let (place, key) = ((key.dataset.clone(), key.fold), self::key(*machine, source, key.fold - 1, None));
            let setting = source.setting(run.grid);
            let known = chosen.iter().find(|record| record.key == key && record.setting == setting);
            match known.and_then(|record| exponent(record.chosen.get("gamma"))) {
                Some(exponent) => found.insert(place, exponent).map(drop),
                None => left.insert(place, Fit { method: &SbElm::PAPER, source, key }).map(drop),
            };
        }
        let jobs: Vec<Job<'_>> = left.values().map(Fit::job).collect();
        let how = CrossValidation {
            workers: run.workers(jobs.len()),
            grid: run.grid,
            journal: Some(journal),
            progress: None,
        };
        let results = cross_validate(&jobs, &how, |_, result| -> Result<_> { Ok(result) })?;
        let mut failures = Vec::new();
        for ((dataset, fold), result) in left.into_keys().zip(results) {
            match result {
                Ok(result) => {
                    let gamma = result.chosen.iter().find(|(name, _)| *name == "gamma");
                    found.extend(exponent(gamma.map(|(_, value)| value)).map(|exponent| ((dataset, fold), exponent)));
                }
                Err(problem) => {
                    failures.push(format!("{} on {dataset}, fold {fold}: {problem}", Machine::SbElm.name()))
                }
            }
        }
        Ok((Bandwidths(found), failures))
    }

    fn exponent(&self, key: &Key) -> Option<i32> {
        self.0.get(&(key.dataset.clone(), key.fold)).copied()
    }
}

fn exponent(gamma: Option<&Chosen>) -> Option<i32> {
    match gamma {
        Some(Chosen::TwoToPerInput(exponent)) => Some(*exponent),
        _ => None,
    }
}

/// One point of a curve.
struct Point {
    per_row: f64,
    /// Features to begin with, and features that stay.
    initial: f64,
    kept: f64,
    task_r2: Summary,
    pooled_r2: Summary,
    folds: usize,
}

/// The curve of a method on a data set.
fn points(records: &[&Record]) -> Vec<Point> {
    let point = |per_row: f64| {
        let here: Vec<&&Record> = records.iter().filter(|record| record.key.per_row == Some(per_row)).collect();
        let summary = |value: &dyn Fn(&Record) -> f64| Summary::of(&here.iter().map(|r| value(r)).collect::<Vec<_>>());
        Some(Point {
            per_row,
            initial: summary(&|record| (record.train_rows as f64 * per_row).round())?.mean,
            kept: summary(&|record| record.active_features.map_or(f64::NAN, |count| count as f64))?.mean,
            task_r2: summary(&|record| record.scores.task_r2)?,
            pooled_r2: summary(&|record| record.scores.pooled_r2)?,
            folds: here.len(),
        })
    };
    PER_ROW.into_iter().filter_map(point).collect()
}

/// Everything of one method on one data set, in the order of folds.
fn select<'a>(records: &'a [Record], method: &str, dataset: &str) -> Vec<&'a Record> {
    let mut out: Vec<&Record> =
        records.iter().filter(|record| record.key.method == method && record.key.dataset == dataset).collect();
    out.sort_by_key(|record| record.key.fold);
    out
}

/// Writes figure, data and summary into the folder.
pub fn write(records: &[Record], folder: &Path) -> Result<()> {
    let datasets = summary::datasets(records);
    let panels: Vec<Panel> = datasets.iter().map(|dataset| panel(records, dataset)).collect();
    let picture = plot::draw(&panels, 2, (560.0, 380.0))?;
    let document = document(records, &datasets, &picture);
    output::save_all(
        folder,
        &[
            ("figure2.svg", picture.svg.as_bytes()),
            ("figure2.png", &picture.png),
            ("figure2.csv", csv(records, &datasets).as_bytes()),
            ("summary.html", document.html().as_bytes()),
            ("summary.md", document.markdown().as_bytes()),
        ],
    )
}

fn csv(records: &[Record], datasets: &[String]) -> String {
    let mut out = "method,dataset,features_per_row,initial_features,kept_features,task_r2,task_r2_sd,pooled_r2,\
                   pooled_r2_sd,folds\n"
        .to_owned();
    for machine in Machine::ALL {
        for dataset in datasets {
            for point in points(&select(records, machine.name(), dataset)) {
                let Point { per_row, initial, kept, task_r2, pooled_r2, folds } = point;
                let scores = format!("{},{},{},{}", task_r2.mean, task_r2.sd, pooled_r2.mean, pooled_r2.sd);
                out += &format!("{},{dataset},{per_row},{initial},{kept},{scores},{folds}\n", machine.name());
            }
        }
    }
    out
}

/// R² below this is drawn at the edge: such a model is useless, however far below it is.
const LOWEST: f64 = -0.25;

fn panel(records: &[Record], dataset: &str) -> Panel {
    let mut curves = Vec::new();
    let mut lowest = f64::INFINITY;
    let mut highest = f64::NEG_INFINITY;
    for (style, machine) in Machine::ALL.into_iter().enumerate() {
        let points = points(&select(records, machine.name(), dataset));
        let shown = |point: &Point| (point.initial, point.task_r2.mean.max(LOWEST));
        let places: Vec<(f64, f64)> = points.iter().map(shown).filter(|place| place.1.is_finite()).collect();
        places.iter().for_each(|&(_, y)| {
            lowest = lowest.min(y);
            highest = highest.max(y);
        });
        // Every label would be too many: those of the ends and of some between.
        let labelled = [0.1, 0.3, 0.6, 1.0, 2.0, 5.0];
        let label = |point: &Point| match labelled.contains(&point.per_row) {
            true => format!("{:.0}", point.kept),
            false => String::new(),
        };
        let labels = points.iter().map(label).collect();
        let (name, look) = (machine.name().to_owned(), Look::LineAndPoints);
        curves.push(Curve { name, points: places, spread: Vec::new(), labels, look, style });
    }
    curves.retain(|curve| !curve.points.is_empty());
    let rows = records.iter().filter(|record| record.key.dataset == dataset).map(|record| record.train_rows);
    let rows = Summary::of(&rows.map(|rows| rows as f64).collect::<Vec<_>>()).map_or(1.0, |rows| rows.mean);
    let margin = 0.1 * (highest - lowest).max(0.05);
    Panel {
        title: dataset.to_owned(),
        x_title: "features to begin with, M (numbers: features that stay)".into(),
        y_title: "task R²".into(),
        curves,
        mark: Some((rows, "M = N".into())),
        y_range: (highest > f64::NEG_INFINITY).then_some((lowest - margin, highest + 1.5 * margin)),
        is_x_logarithmic: true,
        ..Panel::default()
    }
}

fn document(records: &[Record], datasets: &[String], picture: &Picture) -> Document {
    let caption = "Task R² against the number of features to begin with; the numbers are features that stay, mean of \
                   the folds; the dotted line is at as many features as training rows; what is below −0.25 is drawn \
                   there";
    let figure = Block::Figure { file: "figure2.svg".into(), caption: caption.into(), svg: picture.svg.clone() };
    let mut blocks = vec![Block::Paragraph(summary::provenance(records.iter())), figure];
    blocks.extend(in_words(records, datasets).map(Block::Paragraph));
    for dataset in datasets {
        blocks.push(Block::Heading(format!("{dataset}: task R² (features that stay)")));
        blocks.push(Block::Table(table(records, dataset)));
    }
    Document { title: "Figure 2, run again: features to begin with and features that stay".into(), blocks }
}

fn table(records: &[Record], dataset: &str) -> Table {
    let curves: Vec<(Machine, Vec<Point>)> = Machine::ALL
        .into_iter()
        .map(|machine| (machine, points(&select(records, machine.name(), dataset))))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let header = ["M / N".to_owned()].into_iter().chain(curves.iter().map(|(machine, _)| machine.name().to_owned()));
    let rows = PER_ROW.into_iter().map(|per_row| {
        let cells = curves.iter().map(|(_, points)| {
            let point = points.iter().find(|point| point.per_row == per_row);
            let text = |point: &Point| {
                let partial = if point.folds < 10 { format!(" [{} folds]", point.folds) } else { String::new() };
                format!("{:.3} ± {:.3} ({:.0}){partial}", point.task_r2.mean, point.task_r2.sd, point.kept)
            };
            Entry::plain(point.map_or("–".into(), text))
        });
        [Entry::plain(format!("{per_row}"))].into_iter().chain(cells).collect()
    });
    Table { header: header.collect(), rows: rows.collect() }
}

/// What the curves say: where RFF-BLR is ahead, how much M matters to each, and what stays.
fn in_words(records: &[Record], datasets: &[String]) -> Option<String> {
    let mut parts = Vec::new();
    let curve = |machine: Machine, dataset: &str| points(&select(records, machine.name(), dataset));
    for machine in Machine::ALL {
        let curves: Vec<Vec<Point>> =
            datasets.iter().map(|set| curve(machine, set)).filter(|c| !c.is_empty()).collect();
        let range = |curve: &Vec<Point>| {
            let values = || curve.iter().filter(|point| point.per_row >= 0.5).map(|point| point.task_r2.mean);
            values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
        };
        let share = |curve: &Vec<Point>| curve.last().map_or(f64::NAN, |point| point.kept / point.initial);
        let mean = |values: Vec<f64>| Summary::of(&values).map(|summary| summary.mean);
        let swing = mean(curves.iter().map(range).collect());
        let kept = mean(curves.iter().map(share).collect());
        if let (Some(swing), Some(kept)) = (swing, kept) {
            parts.push(format!(
                "{} on {} data sets: from M = N/2 on its task R² moves by {swing:.3} on average, and at the largest M it \
                 keeps {:.0} % of its features.",
                machine.name(),
                curves.len(),
                100.0 * kept
            ));
        }
    }
    for machine in [Machine::Paper, Machine::PaperLinks, Machine::Authors] {
        let ahead = |dataset: &&String| {
            let best = |points: Vec<Point>| points.iter().map(|point| point.task_r2.mean).fold(f64::NAN, f64::max);
            let (ours, theirs) = (best(curve(machine, dataset)), best(curve(Machine::SbElm, dataset)));
            (!ours.is_nan() && !theirs.is_nan()).then_some(ours > theirs)
        };
        let verdicts: Vec<bool> = datasets.iter().filter_map(|dataset| ahead(&dataset)).collect();
        if !verdicts.is_empty() {
            let wins = verdicts.iter().filter(|ahead| **ahead).count();
            let (name, count) = (machine.name(), verdicts.len());
            parts.push(format!("At its best M {name} is ahead of sb-elm at its best on {wins} of {count}."));
        }
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_by_name() {
        for machine in Machine::ALL {
            assert_eq!(Machine::parse(machine.name()).unwrap(), machine);
            assert!(rffblr_methods::method::by_name(machine.name()).is_ok());
        }
        assert!(Machine::parse("mmr").is_err());
    }
}
