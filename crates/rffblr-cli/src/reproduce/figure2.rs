//! `rffblr reproduce figure2`: accuracy against the number of features to begin with, and how many of them stay.

use super::claims::{self, Claim, Verdict};
use super::document::{Block, Document, Entry, Table};
use super::fits::{Fit, record_all};
use super::plot::{self, Curve, Look, Numbers, Panel, Picture};
use super::record::{Key, Record};
use super::source::Source;
use super::store::{self, Store};
use super::{RunArguments, report_failures, summary, table2};
use crate::output;
use anyhow::{Result, bail};
use rffblr::{CosineSettings, FeatureCount, Form, Settings};
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
--table2 names them, else chosen anew. Beside them the default, which has no number of features, and its sinusoids, \
whose number M is also the number that stays and less than N. Every fit is a line of OUT/raw.jsonl; the same command goes on where it was cut off.")]
pub struct Arguments {
    /// Which of rffblr-paper, rffblr-paper-links, rffblr-authors, sb-elm, rffblr-sparse, rffblr [default: all]
    #[arg(long, value_name = "NAMES", default_values_t = Machine::ALL.map(|machine| machine.name().to_owned()),
          hide_default_value = true, value_delimiter = ',')]
    methods: Vec<String>,
    /// Folder with the results of `reproduce table2`
    #[arg(long, value_name = "DIR")]
    table2: Option<PathBuf>,
    #[command(flatten)]
    run: RunArguments,
}

/// A method of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    Paper,
    PaperLinks,
    Authors,
    SbElm,
    /// Sinusoids fitted to the default, as many as are asked for.
    Sparse,
    /// The default: infinitely many features.
    Default,
}

impl Machine {
    const ALL: [Machine; 6] =
        [Machine::Paper, Machine::PaperLinks, Machine::Authors, Machine::SbElm, Machine::Sparse, Machine::Default];
    /// The published algorithm in its readings.
    const PUBLISHED: [Machine; 3] = [Machine::Paper, Machine::PaperLinks, Machine::Authors];

    fn name(self) -> &'static str {
        match self {
            Machine::Paper => "rffblr-paper",
            Machine::PaperLinks => "rffblr-paper-links",
            Machine::Authors => "rffblr-authors",
            Machine::SbElm => "sb-elm",
            Machine::Sparse => "rffblr-sparse",
            Machine::Default => "rffblr",
        }
    }

    /// Features for each row it is fitted with; `None` where there is nothing to vary.
    fn per_row(self) -> Vec<Option<f64>> {
        match self {
            Machine::Default => vec![None],
            Machine::Sparse => PER_ROW.into_iter().filter(|per_row| *per_row < 1.0).map(Some).collect(),
            _ => PER_ROW.into_iter().map(Some).collect(),
        }
    }

    fn parse(name: &str) -> Result<Machine> {
        let found = Machine::ALL.into_iter().find(|machine| machine.name() == name.trim());
        match found {
            Some(machine) => Ok(machine),
            None => bail!("\"{name}\" is not in this figure; use {}", Machine::ALL.map(Machine::name).join(", ")),
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
            let values = machine.per_row();
            let keys = folds.flat_map(|fold| values.iter().map(move |per_row| key(machine, source, fold, *per_row)));
            wanted.extend(keys.map(|key| (machine, source, key)));
        }
    }
    wanted.retain(|(_, _, key)| !known.iter().any(|record| record.key == *key));
    let (bandwidths, mut failures) = Bandwidths::choose(&wanted, run, chosen, &journal)?;
    let method = |(machine, _, key): &Wanted<'_>| machine.with(key.per_row, || bandwidths.exponent(key));
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
    fn with(self, per_row: Option<f64>, exponent: impl Fn() -> Option<i32>) -> Option<Box<dyn Method>> {
        let cosines = match (self, per_row) {
            (Machine::Default, _) => return self.of(Settings::DEFAULT),
            (_, None) => return None,
            (Machine::SbElm, Some(per_row)) => {
                return Some(Box::new(SbElm { layer: Layer::Given { per_row, exponent: exponent()? } }));
            }
            (Machine::Sparse, Some(per_row)) => {
                return self.of(Settings { form: Form::Sinusoids { sparsity: 1.0 - per_row }, ..Settings::DEFAULT });
            }
            (Machine::Paper, Some(_)) => CosineSettings::PAPER,
            (Machine::PaperLinks, Some(_)) => CosineSettings { links: true, ..CosineSettings::PAPER },
            (Machine::Authors, Some(_)) => CosineSettings::AUTHORS,
        };
        let cosines = CosineSettings { features: FeatureCount::PerRow(per_row?), ..cosines };
        self.of(Settings { form: cosines.into(), ..Settings::PAPER })
    }

    fn of(self, settings: Settings) -> Option<Box<dyn Method>> {
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
    per_row: Option<f64>,
    /// Features to begin with, and features that stay.
    initial: f64,
    kept: f64,
    task_r2: Summary,
    pooled_r2: Summary,
    folds: usize,
}

/// Task R² or pooled R².
type Measure = fn(&Point) -> Summary;

const MEASURES: [(&str, Measure); 2] = [("task R²", |point| point.task_r2), ("pooled R²", |point| point.pooled_r2)];

/// The curve of a method on a data set.
fn points(records: &[Record], machine: Machine, dataset: &str) -> Vec<Point> {
    let records = select(records, machine.name(), dataset);
    let point = |per_row: Option<f64>| {
        let here: Vec<&&Record> = records.iter().filter(|record| record.key.per_row == per_row).collect();
        let summary = |value: &dyn Fn(&Record) -> f64| Summary::of(&here.iter().map(|r| value(r)).collect::<Vec<_>>());
        let kept = summary(&|record| record.active_features.map_or(f64::NAN, |count| count as f64))?.mean;
        let drawn = |per_row: f64| summary(&|record| (record.train_rows as f64 * per_row).round());
        Some(Point {
            per_row,
            initial: if machine == Machine::Sparse { kept } else { drawn(per_row.unwrap_or(1.0))?.mean },
            kept,
            task_r2: summary(&|record| record.scores.task_r2)?,
            pooled_r2: summary(&|record| record.scores.pooled_r2)?,
            folds: here.len(),
        })
    };
    machine.per_row().into_iter().filter_map(point).collect()
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
    let panels = datasets.iter().flat_map(|dataset| MEASURES.map(|measure| panel(records, dataset, measure)));
    let picture = plot::draw(&panels.collect::<Vec<_>>(), 2, (560.0, 430.0))?;
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
            for point in points(records, machine, dataset) {
                let Point { per_row, initial, kept, task_r2, pooled_r2, folds } = point;
                let features = per_row.map_or(",".into(), |per_row| format!("{per_row},{initial}"));
                let scores = format!("{},{},{},{}", task_r2.mean, task_r2.sd, pooled_r2.mean, pooled_r2.sd);
                out += &format!("{},{dataset},{features},{kept},{scores},{folds}\n", machine.name());
            }
        }
    }
    out
}

/// Values of M / N under which the numbers of features that stay are written: every one would be too many.
const NUMBERED: [f64; 6] = [0.1, 0.3, 0.6, 1.0, 2.0, 5.0];

fn panel(records: &[Record], dataset: &str, (title, measure): (&str, Measure)) -> Panel {
    let rows = records.iter().filter(|record| record.key.dataset == dataset).map(|record| record.train_rows);
    let rows = Summary::of(&rows.map(|rows| rows as f64).collect::<Vec<_>>()).map_or(1.0, |rows| rows.mean);
    let x_range = (0.08 * rows, 6.2 * rows);
    let (mut curves, mut numbers) = (Vec::new(), Vec::new());
    for (style, machine) in Machine::ALL.into_iter().enumerate() {
        let points = points(records, machine, dataset);
        let mut curve = Curve::new(machine.name(), Vec::new(), Look::LineAndPoints, style);
        for point in points.iter().filter(|point| measure(point).mean.is_finite()) {
            let Summary { mean, sd } = measure(point);
            let error = summary::standard_error(sd, point.folds);
            let is_flat = point.per_row.is_none();
            curve.look = if is_flat { Look::Dashed } else { Look::LineAndPoints };
            // What has no number of features is drawn from one side to the other.
            for x in if is_flat { vec![x_range.0, x_range.1] } else { vec![point.initial] } {
                curve.points.push((x, mean));
                curve.spread.push((mean - error, mean + error));
            }
        }
        let is_numbered = |point: &&Point| point.per_row.is_some_and(|per_row| NUMBERED.contains(&per_row));
        let at: Vec<(f64, String)> =
            points.iter().filter(is_numbered).map(|point| (point.initial, format!("{:.0}", point.kept))).collect();
        // Sinusoids that are asked for stay: their number is where they stand.
        if !at.is_empty() && machine != Machine::Sparse {
            numbers.push(Numbers { style, at });
        }
        if !curve.points.is_empty() {
            curves.push(curve);
        }
    }
    let ends = || curves.iter().flat_map(|curve| &curve.spread);
    let highest = ends().map(|end| end.1).fold(f64::NEG_INFINITY, f64::max);
    let lowest = ends().map(|end| end.0).fold(f64::INFINITY, f64::min).max(summary::LOWEST);
    let margin = 0.07 * (highest - lowest).max(0.05);
    Panel {
        title: dataset.to_owned(),
        x_title: "features to begin with, M (below the curves: features that stay)".into(),
        y_title: title.into(),
        curves,
        numbers,
        mark: Some((rows, "M = N".into())),
        x_range: Some(x_range),
        y_range: (highest > f64::NEG_INFINITY).then_some((lowest - margin, highest + margin)),
        is_x_logarithmic: true,
        ..Panel::default()
    }
}

fn document(records: &[Record], datasets: &[String], picture: &Picture) -> Document {
    let caption = "R² against the number of features to begin with, by both measures: mean of the folds, bands of one standard \
                   error. Below the curves, in their colours, the features that stay; the dotted line is at as many features \
                   as training rows; ↓ a value below the axis. rffblr, dashed, has infinitely many features; rffblr-sparse \
                   has as many sinusoids as are asked for";
    let figure = Block::Figure { file: "figure2.svg".into(), caption: caption.into(), svg: picture.svg.clone() };
    let mut blocks = vec![Block::Paragraph(summary::provenance(records.iter())), figure];
    blocks.extend(claims::section(EXPLANATION, judge(records, datasets)));
    blocks.push(Block::Heading("In numbers".into()));
    blocks.push(Block::Table(overview(records, datasets)));
    for dataset in datasets {
        blocks.push(Block::Heading(format!("{dataset}: task R² / pooled R² (features that stay)")));
        blocks.push(Block::Table(table(records, dataset)));
    }
    Document { title: "Figure 2, run again: features to begin with and features that stay".into(), blocks }
}

fn table(records: &[Record], dataset: &str) -> Table {
    let curves: Vec<(Machine, Vec<Point>)> = Machine::ALL
        .into_iter()
        .map(|machine| (machine, points(records, machine, dataset)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let header = ["M / N".to_owned()].into_iter().chain(curves.iter().map(|(machine, _)| machine.name().to_owned()));
    let row = |per_row: Option<f64>| {
        let cells = curves.iter().map(|(_, points)| {
            let point = points.iter().find(|point| point.per_row == per_row);
            let text = |point: &Point| {
                let partial = if point.folds < 10 { format!(" [{} folds]", point.folds) } else { String::new() };
                let [task, pooled] =
                    [point.task_r2, point.pooled_r2].map(|r2| format!("{:.3} ± {:.3}", r2.mean, r2.sd));
                format!("{task} / {pooled} ({:.0}){partial}", point.kept)
            };
            Entry::plain(point.map_or("–".into(), text))
        });
        let label = per_row.map_or("∞".into(), |per_row| per_row.to_string());
        [Entry::plain(label)].into_iter().chain(cells).collect()
    };
    let has_limit = curves.iter().any(|(machine, _)| *machine == Machine::Default);
    let values = PER_ROW.into_iter().map(Some).chain(has_limit.then_some(None));
    Table { header: header.collect(), rows: values.map(row).collect() }
}

/// Mean over M of task R² and of pooled R² of each fold.
type ByFold = BTreeMap<usize, (f64, f64)>;

/// What a curve comes to.
struct Course {
    /// Mean over M of task R² and of pooled R².
    task_r2: f64,
    pooled_r2: f64,
    folds: ByFold,
    /// How far task R² moves over all M, and from M = N/2 on.
    swing: f64,
    late_swing: f64,
    /// Features that stay at the largest M, and their share.
    kept: f64,
    share: f64,
}

impl Course {
    fn of(points: &[Point], records: &[&Record]) -> Option<Course> {
        let mean =
            |value: &dyn Fn(&Point) -> f64| Some(Summary::of(&points.iter().map(value).collect::<Vec<_>>())?.mean);
        let swing = |from: f64| {
            let values = points.iter().filter(|point| point.per_row.is_some_and(|per_row| per_row >= from));
            let values = || values.clone().map(|point| point.task_r2.mean);
            values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
        };
        let last = points.last()?;
        Some(Course {
            task_r2: mean(&|point| point.task_r2.mean)?,
            pooled_r2: mean(&|point| point.pooled_r2.mean)?,
            folds: by_fold(records),
            swing: swing(0.0),
            late_swing: swing(0.5),
            kept: last.kept,
            share: last.kept / last.initial,
        })
    }
}

/// Courses of a machine on the data sets where it has every point.
fn courses(records: &[Record], machine: Machine, datasets: &[String]) -> Vec<(String, Course)> {
    let course = |dataset: &String| {
        let points = points(records, machine, dataset);
        let is_whole = points.len() == machine.per_row().len();
        let records = select(records, machine.name(), dataset);
        Some((dataset.clone(), Course::of(&points, &records).filter(|_| is_whole)?))
    };
    datasets.iter().filter_map(course).collect()
}

/// Of records in the order of folds.
fn by_fold(records: &[&Record]) -> ByFold {
    let mean = |records: &[&Record]| {
        let mean = |value: fn(&Record) -> f64| records.iter().map(|r| value(r)).sum::<f64>() / records.len() as f64;
        (records[0].key.fold, (mean(|record| record.scores.task_r2), mean(|record| record.scores.pooled_r2)))
    };
    records.chunk_by(|a, b| a.key.fold == b.key.fold).map(mean).collect()
}

/// Is the mean difference of the folds more than two of its standard errors?
fn is_clearly_above(ours: &ByFold, theirs: &ByFold, measure: fn(&(f64, f64)) -> f64) -> bool {
    let difference = |(fold, ours)| Some(measure(ours) - measure(theirs.get(fold)?));
    let differences: Vec<f64> = ours.iter().filter_map(difference).collect();
    claims::in_errors(&differences).is_some_and(|errors| errors > 2.0)
}

/// A row for each method whose number of features varies, means over the data sets.
fn overview(records: &[Record], datasets: &[String]) -> Table {
    let header = [
        "",
        "data sets",
        "mean task R²",
        "mean pooled R²",
        "task R² moves by",
        "from M = N/2 on",
        "stay at the largest M",
    ];
    let row = |machine: Machine| {
        let courses = courses(records, machine, datasets);
        let mean = |value: fn(&Course) -> f64| {
            let values: Vec<f64> = courses.iter().map(|(_, course)| value(course)).collect();
            Summary::of(&values).map(|summary| summary.mean)
        };
        let cells = [
            machine.name().to_owned(),
            courses.len().to_string(),
            format!("{:.3}", mean(|course| course.task_r2)?),
            format!("{:.3}", mean(|course| course.pooled_r2)?),
            format!("{:.3}", mean(|course| course.swing)?),
            format!("{:.3}", mean(|course| course.late_swing)?),
            format!("{:.0} ({:.0} %)", mean(|course| course.kept)?, 100.0 * mean(|course| course.share)?),
        ];
        Some(cells.into_iter().map(Entry::plain).collect())
    };
    let varied = Machine::PUBLISHED.into_iter().chain([Machine::SbElm]);
    Table { header: header.map(str::to_owned).into(), rows: varied.filter_map(row).collect() }
}

const EXPLANATION: &str = "\
Judged by rffblr-authors, the published algorithm with the values of its authors' implementation, and by task R², the measure \
that the text names, on the data sets where it and SB-ELM have every point; the other readings stand beside it. Means are \
over all M of the figure; clearly higher is more than two standard errors of the differences of the folds. The features of \
SB-ELM are those that some task uses.";

/// The claims on this figure.
fn judge(records: &[Record], datasets: &[String]) -> Vec<Claim> {
    let theirs = courses(records, Machine::SbElm, datasets);
    let compare = |machine: Machine, is_met: fn(&Course, &Course) -> bool| {
        let ours = courses(records, machine, datasets);
        let pairs = theirs.iter().filter_map(|(name, theirs)| {
            let (_, ours) = ours.iter().find(|(other, _)| other == name)?;
            Some(is_met(ours, theirs))
        });
        let met: Vec<bool> = pairs.collect();
        (!met.is_empty()).then(|| (met.iter().filter(|met| **met).count(), met.len()))
    };
    let (most, all_but_one) = (|all: usize| all / 2 + 1, |all: usize| all - 1);
    let claim =
        |claim: &'static str, what: &str, claimed: &dyn Fn(usize) -> usize, is_met: fn(&Course, &Course) -> bool| {
            let (met, all) = compare(Machine::Authors, is_met)?;
            let each = [Machine::Authors, Machine::PaperLinks, Machine::Paper].into_iter().filter_map(|machine| {
                let (met, all) = compare(machine, is_met)?;
                Some(format!("{} on {met} of {all}", machine.name()))
            });
            Some(Claim {
                claim,
                place: "Results, on Figure 2",
                measured: format!("{what}: {}", each.collect::<Vec<_>>().join(", ")),
                verdict: Verdict::of(met, claimed(all)),
            })
        };
    [
        claim(
            "In 7 of 8 problems RFF-BLR has clearly higher R² than SB-ELM",
            "mean task R² above SB-ELM's by more than two standard errors",
            &all_but_one,
            |ours, theirs| is_clearly_above(&ours.folds, &theirs.folds, |r2| r2.0),
        ),
        claim(
            "The same by pooled R², which is what the paper prints",
            "mean pooled R² above SB-ELM's by more than two standard errors",
            &all_but_one,
            |ours, theirs| is_clearly_above(&ours.folds, &theirs.folds, |r2| r2.1),
        ),
        claim(
            "In most cases its R² is not very sensitive to the initial M, unlike SB-ELM's",
            "task R² moves less than SB-ELM's",
            &most,
            |ours, theirs| ours.swing < theirs.swing,
        ),
        claim(
            "In most cases it keeps far fewer features than SB-ELM",
            "at the largest M fewer features stay than half of SB-ELM's",
            &most,
            |ours, theirs| ours.kept < 0.5 * theirs.kept,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearly_above_is_beyond_two_standard_errors() {
        // Standard deviation 1 (population), 10 folds: a standard error of 1/3. One fold more in theirs has no partner.
        let fold = |fold: usize, mean: f64| (fold, (0.5, 0.5 + mean + if fold.is_multiple_of(2) { 1.0 } else { -1.0 }));
        let theirs: ByFold = (1..12).map(|fold| (fold, (0.5, 0.5))).collect();
        let judge = |mean: f64| is_clearly_above(&(1..11).map(|n| fold(n, mean)).collect(), &theirs, |r2| r2.1);
        assert_eq!([0.67, 0.66, -0.7].map(judge), [true, false, false]);
        assert!(!is_clearly_above(&theirs, &theirs, |r2| r2.0));
    }

    #[test]
    fn methods_are_found_by_name() {
        for machine in Machine::ALL {
            assert_eq!(Machine::parse(machine.name()).unwrap(), machine);
            assert!(rffblr_methods::method::by_name(machine.name()).is_ok());
        }
        assert!(Machine::parse("mmr").is_err());
    }
}
