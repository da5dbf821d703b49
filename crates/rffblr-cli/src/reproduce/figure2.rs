//! `rffblr reproduce figure2`: accuracy against the number of features to begin with, and how many of them stay.

use super::document::{Block, Document, Entry, Table};
use super::plot::{self, Curve, Look, Panel, Picture};
use super::record::{Key, Record, evaluate_timed};
use super::source::Source;
use super::store::{self, Store};
use super::{RunArguments, report_failures, summary, table2};
use crate::output;
use crate::watch::Watch;
use anyhow::{Result, bail};
use rffblr::{CosineSettings, FeatureCount, Settings};
use rffblr_methods::baselines::{Layer, SbElm};
use rffblr_methods::evaluate::{Split, Summary, in_parallel};
use rffblr_methods::method::{Chosen, Method, RffBlr};
use rffblr_methods::select::{Journal, Plan};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
    /// Which of rffblr-paper, rffblr-paper-links, sb-elm
    #[arg(long, value_name = "NAMES", default_value = "rffblr-paper,rffblr-paper-links,sb-elm", value_delimiter = ',')]
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
    SbElm,
}

impl Machine {
    const ALL: [Machine; 3] = [Machine::Paper, Machine::PaperLinks, Machine::SbElm];

    fn name(self) -> &'static str {
        match self {
            Machine::Paper => "rffblr-paper",
            Machine::PaperLinks => "rffblr-paper-links",
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
    let pairs = machines.iter().flat_map(|&machine| sources.iter().map(move |source| (machine, source)));
    let series: Vec<(Machine, &Source)> = pairs.collect();
    for (machine, source) in &series {
        source.setting(run.grid).refuse_others(&known, machine.name(), source.name)?;
    }
    let chosen = match &arguments.table2 {
        Some(folder) => store::read(folder, table2::EXPERIMENT)?,
        None => Vec::new(),
    };
    let failures = run_all(run, &series, &known, &store, &Bandwidths { chosen, journal })?;
    write(&store.records(), &run.out)?;
    if !run.quiet {
        output::note(&format!("figure: {}", run.out.join("figure2.png").display()));
    }
    report_failures(&failures.0, failures.1)
}

/// Where the bandwidth of SB-ELM comes from.
struct Bandwidths {
    /// Results of Table 2.
    chosen: Vec<Record>,
    journal: Journal,
}

impl Bandwidths {
    /// log₂ of γD for a fold: as chosen for Table 2 on the same rows and grid, or chosen now.
    fn exponent(&self, source: &Source, fold: usize, split: &Split, plan: &Plan<'_>) -> Result<i32> {
        let (setting, name) = (source.setting(plan.grid), Machine::SbElm.name());
        let same = |record: &&Record| {
            let key = &record.key;
            key.method == name
                && key.dataset == source.name
                && (key.fold, key.seed) == (fold + 1, plan.seed)
                && record.setting == setting
        };
        match self.chosen.iter().find(same).and_then(|record| record.chosen.get("gamma")) {
            Some(Chosen::TwoToPerInput(exponent)) => Ok(*exponent),
            _ => Ok(SbElm::choose_exponent(&split.train, &Plan { journal: Some(&self.journal), ..*plan })?),
        }
    }
}

/// One fold of one method on one data set, with the numbers of features still to be tried.
struct Job {
    series: usize,
    fold: usize,
    per_row: Vec<f64>,
}

fn key(machine: Machine, source: &Source, fold: usize, per_row: f64) -> Key {
    let (method, dataset) = (machine.name().to_owned(), source.name.to_owned());
    Key { method, dataset, fold: fold + 1, seed: 0, per_row: Some(per_row) }
}

/// Runs what is not recorded; gives what failed, in words, and the number of jobs.
fn run_all(
    run: &RunArguments,
    series: &[(Machine, &Source)],
    known: &[Record],
    store: &Store<Record>,
    bandwidths: &Bandwidths,
) -> Result<(Vec<String>, usize)> {
    let mut jobs = Vec::new();
    for (number, &(machine, source)) in series.iter().enumerate() {
        for fold in 0..source.folds.count() {
            let is_new = |&per_row: &f64| {
                let key = key(machine, source, fold, per_row);
                !known.iter().any(|record| record.key == key)
            };
            jobs.push(Job { series: number, fold, per_row: PER_ROW.into_iter().filter(is_new).collect() });
        }
    }
    jobs.retain(|job| !job.per_row.is_empty());
    let fits = |number: usize| jobs.iter().filter(|job| job.series == number).map(|job| job.per_row.len()).sum();
    let name = |(machine, source): &(Machine, &Source)| format!("{} on {}", machine.name(), source.name);
    let workers = run.workers(jobs.len());
    let watched = series.iter().enumerate().map(|(number, series)| (name(series), fits(number)));
    let watch = Watch::new(watched, workers, run.quiet);
    let failures = Mutex::new(Vec::new());
    in_parallel(workers, jobs.len(), |number| -> Result<()> {
        let job = &jobs[number];
        if let Err(problem) = run_job(series[job.series], job, run, store, bandwidths, &watch) {
            let text = format!("{}, fold {}: {problem:#}", name(&series[job.series]), job.fold + 1);
            watch.tell(&format!("error: {text}"));
            failures.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        }
        Ok(())
    })?;
    watch.finish();
    Ok((failures.into_inner().unwrap_or_else(PoisonError::into_inner), jobs.len()))
}

/// All numbers of features of one fold, each recorded as it is done.
fn run_job(
    (machine, source): (Machine, &Source),
    job: &Job,
    run: &RunArguments,
    store: &Store<Record>,
    bandwidths: &Bandwidths,
    watch: &Watch,
) -> Result<()> {
    let (split, rows) = Split::of_table(&source.training, &source.folds, job.fold)?;
    let inner = source.inner_folds(job.fold, &rows);
    let plan = Plan { seed: 0, grid: run.grid, inner: inner.as_deref(), journal: None, progress: None };
    let exponent = match machine {
        Machine::SbElm => bandwidths.exponent(source, job.fold, &split, &plan)?,
        Machine::Paper | Machine::PaperLinks => 0,
    };
    for &per_row in &job.per_row {
        let record = run_fit(machine, source, &split, &plan, (job.fold, per_row, exponent))?;
        watch.fit(job.series, record.fit_seconds + record.predict_seconds);
        store.add(record)?;
    }
    Ok(())
}

fn run_fit(
    machine: Machine,
    source: &Source,
    split: &Split,
    plan: &Plan<'_>,
    (fold, per_row, exponent): (usize, f64, i32),
) -> Result<Record> {
    let features = FeatureCount::PerRow(per_row);
    let cosines = CosineSettings { features, links: machine == Machine::PaperLinks, ..CosineSettings::PAPER };
    let settings = Settings { form: cosines.into(), ..Settings::PAPER };
    let paper = RffBlr { name: machine.name(), describe: "", settings };
    let elm = SbElm { layer: Layer::Given { per_row, exponent } };
    let method: &dyn Method = if machine == Machine::SbElm { &elm } else { &paper };
    let (result, cpu_seconds) = evaluate_timed(method, split, plan)?;
    Ok(Record::new(key(machine, source, fold, per_row), source.setting(plan.grid), result, cpu_seconds, 0))
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
    for machine in [Machine::Paper, Machine::PaperLinks] {
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
