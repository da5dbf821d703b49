//! The summary of Table 2, made from raw records and nothing else.

use super::claims;
use super::document::{Block, Document, Entry, Table};
use super::plot::{self, Curve, Look, Panel, Picture};
use super::published::{self, Measure};
use super::record::Record;
use crate::output;
use anyhow::Result;
use rffblr_cli::catalogue;
use rffblr_methods::evaluate::Summary;
use std::collections::BTreeMap;
use std::path::Path;

/// A number of each record.
pub struct Quantity {
    key: &'static str,
    pub title: &'static str,
    digits: usize,
    best: Best,
    value: fn(&Record) -> Option<f64>,
}

/// Which of several values stands in bold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Best {
    Highest,
    Lowest,
    None,
}

pub const TASK_R2: Quantity = Quantity {
    key: "task_r2",
    title: "Task R²",
    digits: 3,
    best: Best::Highest,
    value: |record| Some(record.scores.task_r2),
};
pub const POOLED_R2: Quantity = Quantity {
    key: "pooled_r2",
    title: "Pooled R²",
    digits: 3,
    best: Best::Highest,
    value: |record| Some(record.scores.pooled_r2),
};
pub const FEATURES: Quantity = Quantity {
    key: "features",
    title: "Features kept",
    digits: 0,
    best: Best::None,
    value: |record| record.active_features.map(|count| count as f64),
};
/// The same two at inputs held in the range of the training rows.
const IN_RANGE: [Quantity; 2] = [
    Quantity {
        key: "task_r2_in_range",
        title: "Task R², inputs held in the training range",
        digits: 3,
        best: Best::Highest,
        value: |record| record.scores_in_range.as_ref().map(|scores| scores.task_r2),
    },
    Quantity {
        key: "pooled_r2_in_range",
        title: "Pooled R², inputs held in the training range",
        digits: 3,
        best: Best::Highest,
        value: |record| record.scores_in_range.as_ref().map(|scores| scores.pooled_r2),
    },
];
const OTHERS: [Quantity; 5] = [
    Quantity {
        key: "arrmse",
        title: "aRRMSE: error relative to the mean of the training rows",
        digits: 3,
        best: Best::Lowest,
        value: |record| Some(record.scores.arrmse),
    },
    Quantity {
        key: "nlpd",
        title: "NLPD: negative log density of the test cells, on the scale of the targets",
        digits: 2,
        best: Best::Lowest,
        value: |record| record.scores.nlpd,
    },
    Quantity {
        key: "coverage90",
        title: "Share of test cells inside the 90 % interval",
        digits: 3,
        best: Best::None,
        value: |record| record.scores.coverage,
    },
    FEATURES,
    Quantity {
        key: "seconds",
        title: "Seconds of a fold on one core: choice of hyper-parameters, fit and prediction",
        digits: 2,
        best: Best::None,
        value: Record::seconds,
    },
];

/// All results, by method and data set.
pub struct Comparison {
    methods: Vec<String>,
    pub datasets: Vec<String>,
    cells: BTreeMap<(String, String), Vec<Record>>,
}

impl Comparison {
    /// Of all methods of the registry.
    pub fn new(records: &[Record]) -> Comparison {
        Self::of(rffblr_methods::method::registry().iter().map(|method| method.name().to_owned()), records)
    }

    /// Of methods by these names, those that have records.
    pub fn of(methods: impl Iterator<Item = String>, records: &[Record]) -> Comparison {
        let mut cells: BTreeMap<(String, String), Vec<Record>> = BTreeMap::new();
        for record in records {
            let cell = (record.key.method.clone(), record.key.dataset.clone());
            cells.entry(cell).or_default().push(record.clone());
        }
        // Runs side by side end in any order; sums must not depend on it.
        for records in cells.values_mut() {
            records.sort_by_key(|record| (record.key.seed, record.key.fold));
        }
        let methods = methods.filter(|name| cells.keys().any(|cell| cell.0 == *name)).collect();
        Comparison { methods, datasets: datasets(records), cells }
    }

    pub fn records(&self, method: &str, dataset: &str) -> &[Record] {
        self.cells.get(&(method.to_owned(), dataset.to_owned())).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn summary(&self, method: &str, dataset: &str, quantity: &Quantity) -> Option<Summary> {
        let scored = self.records(method, dataset).iter().filter(|record| record.is_scored());
        Summary::of(&scored.map(quantity.value).collect::<Option<Vec<f64>>>()?)
    }

    /// Mean over all data sets of this comparison; `None` if one of them is missing or has folds missing.
    pub fn average(&self, method: &str, quantity: &Quantity) -> Option<f64> {
        let mean = |dataset: &String| {
            let summary = self.summary(method, dataset, quantity)?;
            self.is_complete(method, dataset).then_some(summary.mean)
        };
        let means: Option<Vec<f64>> = self.datasets.iter().map(mean).collect();
        Some(Summary::of(&means?)?.mean)
    }

    /// Records there should be: every fold with every seed any of them has.
    fn expected(records: &[Record]) -> usize {
        let mut seeds: Vec<u64> = records.iter().map(|record| record.key.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        records.first().map_or(0, |record| record.setting.folds * seeds.len())
    }

    pub fn is_complete(&self, method: &str, dataset: &str) -> bool {
        let records = self.records(method, dataset);
        records.len() == Self::expected(records)
    }

    pub fn is_coarse(&self, method: &str, dataset: &str) -> bool {
        self.records(method, dataset).iter().any(|record| record.setting.grid != "full")
    }

    /// Whether a cell has records from before there were scores at inputs held in the training range.
    pub fn is_older(&self, method: &str, dataset: &str) -> bool {
        self.records(method, dataset).iter().any(|record| record.scores_in_range.is_none())
    }

    /// What sets a cell apart: a coarse grid, folds that are missing.
    fn mark(&self, method: &str, dataset: &str) -> String {
        let records = self.records(method, dataset);
        let coarse = if self.is_coarse(method, dataset) { "°" } else { "" };
        match self.is_complete(method, dataset) {
            true => coarse.to_owned(),
            false => format!("{coarse} [{} of {} folds]", records.len(), Self::expected(records)),
        }
    }

    /// An average in words, marked if a cell of it is of a coarse grid.
    fn average_text(&self, method: &str, quantity: &Quantity) -> String {
        let coarse = if self.datasets.iter().any(|dataset| self.is_coarse(method, dataset)) { "°" } else { "" };
        self.average(method, quantity).map_or("–".into(), |mean| format!("{mean:.*}{coarse}", quantity.digits))
    }
}

/// The data sets of records, those of the paper first and in its order.
pub fn datasets(records: &[Record]) -> Vec<String> {
    let others = catalogue::DATASETS.iter().map(|set| set.name);
    let others = others.filter(|name| !published::DATASETS.contains(name));
    let all = published::DATASETS.into_iter().chain(others);
    all.filter(|name| records.iter().any(|record| record.key.dataset == *name)).map(str::to_owned).collect()
}

/// Versions, machines, seeds and what the numbers come from.
pub fn provenance<'a>(records: impl Iterator<Item = &'a Record> + Clone) -> String {
    let counted = |value: fn(&Record) -> &str| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        records.clone().for_each(|record| *counts.entry(value(record)).or_default() += 1);
        counts.into_iter().map(|(name, count)| format!("{name} ({count} records)")).collect::<Vec<_>>().join(", ")
    };
    let seeds = records.clone().map(|record| record.key.seed).max().map_or(0, |seed| seed + 1);
    format!(
        "{} records from raw.jsonl; version {}; machine {}; {seeds} seed{}. Data, folds and inner folds are named by \
         their SHA-256 in every record.",
        records.clone().count(),
        counted(|record| &record.version),
        counted(|record| &record.machine),
        if seeds == 1 { "" } else { "s" },
    )
}

/// Writes all files of the summary into the folder.
pub fn write(records: &[Record], folder: &Path) -> Result<()> {
    let comparison = Comparison::new(records);
    let picture = comparison.picture()?;
    let document = comparison.document(&picture);
    output::save_all(
        folder,
        &[
            ("table2.svg", picture.svg.as_bytes()),
            ("table2.png", &picture.png),
            ("summary.csv", comparison.csv().as_bytes()),
            ("summary.html", document.html().as_bytes()),
            ("summary.md", document.markdown().as_bytes()),
        ],
    )
}

impl Comparison {
    /// One line for each method, data set and number.
    pub fn csv(&self) -> String {
        let mut out = "method,dataset,quantity,mean,sd,records,expected,grid,paper_mean,paper_sd\n".to_owned();
        for method in &self.methods {
            for dataset in &self.datasets {
                let records = self.records(method, dataset);
                let grid = records.first().map_or("", |record| record.setting.grid.as_str());
                for quantity in [&TASK_R2, &POOLED_R2].into_iter().chain(&IN_RANGE).chain(&OTHERS) {
                    let Some(Summary { mean, sd }) = self.summary(method, dataset, quantity) else { continue };
                    let paper = printed(method, dataset, quantity);
                    let paper = paper.map_or(",".into(), |paper| format!("{},{}", paper.mean, paper.sd));
                    let (key, count, expected) = (quantity.key, records.len(), Self::expected(records));
                    out += &format!("{method},{dataset},{key},{mean},{sd},{count},{expected},{grid},{paper}\n");
                }
            }
        }
        out
    }

    fn document(&self, picture: &Picture) -> Document {
        let text = |text: &str| Block::Paragraph(text.to_owned());
        let mut blocks = vec![Block::Paragraph(provenance(self.cells.values().flatten()))];
        blocks.push(Block::Figure { file: "table2.svg".into(), caption: FIGURE.into(), svg: picture.svg.clone() });
        for quantity in [&TASK_R2, &POOLED_R2] {
            blocks.push(Block::Heading(format!("{} at a glance", quantity.title)));
            blocks.push(Block::Table(self.glance(quantity)));
        }
        blocks.push(Block::Heading(TASK_R2.title.into()));
        blocks.push(text(
            "Mean over the targets of the R² of each, mean ± standard deviation of the folds; in brackets what the paper \
             prints, for its baselines, whose column is of this kind. The highest of a row is bold.",
        ));
        blocks.push(Block::Table(self.table(&TASK_R2)));
        blocks.push(Block::Heading(POOLED_R2.title.into()));
        blocks.push(text(
            "R² of all targets as one vector, which counts it as success to know that targets have different means; in \
             brackets what the paper prints for RFF-BLR, whose column is of this kind.",
        ));
        blocks.push(Block::Table(self.table(&POOLED_R2)));
        if self.has_marks() {
            blocks.push(text(
                "° run with the coarse grid (HI-VAE: a tenth of its epochs), because the full one takes hours, and an average \
                 with such a cell in it. Cells with folds missing say so and are never bold. An average needs every fold of \
                 every data set.",
            ));
        }
        blocks.push(Block::Heading("What agrees with the paper".into()));
        blocks.extend(self.agreement().into_iter().map(Block::Paragraph));
        blocks.extend(claims::of_accuracy(self));
        if self.cells.values().flatten().any(|record| record.scores_in_range.is_some()) {
            for quantity in &IN_RANGE {
                blocks.push(Block::Heading(quantity.title.into()));
                blocks.push(text(IN_RANGE_NOTE));
                blocks.push(Block::Table(self.table(quantity)));
            }
        }
        for quantity in &OTHERS {
            blocks.push(Block::Heading(quantity.title.into()));
            blocks.push(Block::Table(self.table(quantity)));
        }
        Document { title: "Table 2, run again".into(), blocks }
    }

    fn has_marks(&self) -> bool {
        self.cells.keys().any(|(method, dataset)| !self.mark(method, dataset).is_empty())
    }

    fn table(&self, quantity: &Quantity) -> Table {
        let has_any = |method: &&String| self.datasets.iter().any(|set| self.summary(method, set, quantity).is_some());
        let methods: Vec<&String> = self.methods.iter().filter(has_any).collect();
        let header = [String::new()].into_iter().chain(methods.iter().map(|name| (*name).clone())).collect();
        let mut rows: Vec<Vec<Entry>> = Vec::new();
        for dataset in &self.datasets {
            let values = methods.iter().map(|method| {
                let mean = self.summary(method, dataset, quantity).map(|summary| summary.mean);
                mean.filter(|_| self.is_complete(method, dataset))
            });
            let best = best(&values.collect::<Vec<_>>(), quantity.best);
            let cells = methods.iter().enumerate().map(|(column, method)| Entry {
                text: self.cell(method, dataset, quantity),
                is_bold: best == Some(column),
            });
            rows.push([Entry::plain(dataset.as_str())].into_iter().chain(cells).collect());
        }
        let averages: Vec<Option<f64>> = methods.iter().map(|method| self.average(method, quantity)).collect();
        let best = best(&averages, quantity.best);
        let cells = methods.iter().zip(&averages).enumerate().map(|(column, (method, average))| {
            let paper = average.and(printed_column(method, quantity)).and_then(|column| column.average(&self.datasets));
            let paper = paper.map_or(String::new(), |mean| format!(" ({mean:.2})"));
            Entry { text: self.average_text(method, quantity) + &paper, is_bold: best == Some(column) }
        });
        rows.push([Entry::plain("average")].into_iter().chain(cells).collect());
        Table { header, rows }
    }

    /// Means alone, a row for each method.
    pub fn glance(&self, quantity: &Quantity) -> Table {
        let mean = |method: &str, dataset: &str| self.summary(method, dataset, quantity).map(|summary| summary.mean);
        let is_best = |method: &String, values: &dyn Fn(&str) -> Option<f64>| {
            let values: Vec<Option<f64>> = self.methods.iter().map(|name| values(name)).collect();
            best(&values, quantity.best).is_some_and(|at| self.methods[at] == *method)
        };
        let row = |method: &String| {
            let cells = self.datasets.iter().map(|dataset| Entry {
                text: mean(method, dataset)
                    .map_or("–".into(), |mean| format!("{mean:.*}{}", quantity.digits, self.mark(method, dataset))),
                is_bold: is_best(method, &|name| mean(name, dataset).filter(|_| self.is_complete(name, dataset))),
            });
            let average = Entry {
                text: self.average_text(method, quantity),
                is_bold: is_best(method, &|name| self.average(name, quantity)),
            };
            [Entry::plain(method.as_str())].into_iter().chain(cells).chain([average]).collect()
        };
        let header = [String::new()].into_iter().chain(self.datasets.clone()).chain(["average".into()]);
        Table { header: header.collect(), rows: self.methods.iter().map(row).collect() }
    }

    fn cell(&self, method: &str, dataset: &str, quantity: &Quantity) -> String {
        let Some(Summary { mean, sd }) = self.summary(method, dataset, quantity) else { return "–".into() };
        let paper = printed(method, dataset, quantity);
        let paper = paper.map_or(String::new(), |Summary { mean, sd }| format!(" ({mean:.2} ± {sd:.2})"));
        format!("{mean:.0$} ± {sd:.0$}{1}{paper}", quantity.digits, self.mark(method, dataset))
    }

    /// Which printed cells are met within their spread, and which are not.
    fn agreement(&self) -> Vec<String> {
        let baselines = self.compare(Measure::TaskR2, &TASK_R2);
        let own = self.compare(Measure::PooledR2, &POOLED_R2);
        let mut out = Vec::new();
        if !baselines.is_empty() {
            out.push(in_words("The baselines (task R²)", &baselines));
        }
        if !own.is_empty() {
            out.push(in_words("RFF-BLR (pooled R²)", &own));
        }
        out.push(REASONS.into());
        out
    }

    /// Whole cells beside the printed ones, by method.
    fn compare(&self, measure: Measure, quantity: &Quantity) -> Vec<(&str, Vec<Comparand>)> {
        let cells = |method: &String| {
            let column = published::column(method).filter(|column| column.measure == measure)?;
            let cell = |dataset: &String| {
                let (ours, printed) = (self.summary(method, dataset, quantity)?, column.cell(dataset)?);
                let name = format!("{method} on {dataset}");
                self.is_complete(method, dataset).then_some(Comparand { name, ours: ours.mean, printed })
            };
            let cells: Vec<Comparand> = self.datasets.iter().filter_map(cell).collect();
            (!cells.is_empty()).then_some(cells)
        };
        self.methods.iter().filter_map(|method| Some((method.as_str(), cells(method)?))).collect()
    }

    fn picture(&self) -> Result<Picture> {
        let panels = [self.panel(&TASK_R2, true), self.panel(&POOLED_R2, false)];
        plot::draw(&panels, 1, (1100.0, 440.0))
    }

    fn panel(&self, quantity: &Quantity, is_first: bool) -> Panel {
        // The methods of one data set stand side by side.
        let offset = |number: usize| 0.8 * ((number as f64 + 0.5) / self.methods.len() as f64 - 0.5);
        let mut lowest = 0.0f64;
        let mut curves = Vec::new();
        for (number, method) in self.methods.iter().enumerate() {
            let mut curve = Curve::new(method, Vec::new(), Look::Points, number);
            for (at, dataset) in self.datasets.iter().enumerate() {
                if let Some(Summary { mean, sd }) = self.summary(method, dataset, quantity)
                    && mean.is_finite()
                {
                    let error = standard_error(sd, self.records(method, dataset).len());
                    lowest = lowest.min(mean - error);
                    curve.points.push((at as f64 + 1.0 + offset(number), mean));
                    curve.spread.push((mean - error, mean + error));
                    curve.labels.push(self.mark(method, dataset).trim().to_owned());
                }
            }
            curves.push(curve);
        }
        Panel {
            title: if is_first { "Accuracy on rows not seen, ten folds".into() } else { String::new() },
            x_title: if is_first { String::new() } else { "data set".into() },
            y_title: quantity.title.into(),
            curves,
            y_range: Some(((lowest - 0.05).max(2.0 * LOWEST), 1.05)),
            categories: self.datasets.clone(),
            ..Panel::default()
        }
    }
}

const FIGURE: &str = "Task R² (above) and pooled R² (below) of every method: mean of the folds, bars of one standard error; \
                      ° coarse grid, ↓ a value or the end of a bar below the axis";

/// Of a mean over folds, from their population standard deviation.
pub fn standard_error(sd: f64, folds: usize) -> f64 {
    sd / (folds.max(2) as f64 - 1.0).sqrt()
}

/// R² below this is not drawn in place but at the edge, with its value; bars are drawn to twice as far.
pub const LOWEST: f64 = -0.5;

const IN_RANGE_NOTE: &str = "\
Of the same fits: every test input that lies outside the values it has in the training rows is moved to the nearest of \
them before it is predicted from. A few rows far outside decide whole folds of some data sets; how far a method follows them \
is the difference to the table above.";

const REASONS: &str = "\
Why cells differ: which test rows the paper used is not known (the fold files in experiments/folds are random folds that the \
paper's group published with a related project of theirs; whether the paper used them is not known), and with 154 to 1060 \
rows other folds alone move a mean by its spread. Nor does the paper state where the updates \
of RFF-BLR start and when features are dropped (docs/paper.md; `rffblr reproduce ablation` shows what that changes). The paper's RFF-BLR column is a pooled R² of a model with \
direct links from inputs to targets, its baselines' columns are means over targets; they are compared here only with \
numbers of their own kind. The baselines are fitted to convergence here (the minimum of MMR, MTFL and GOR-ELM is checked \
by tests), which the paper does not report. Nor does it say of which units FNN is made and when its training stops: here \
rectified ones (fnn-gaussian: the Gaussian ones of its text), trained for up to 200 or 1000 epochs, whichever the inner \
folds choose.";

/// A printed cell beside ours.
struct Comparand {
    name: String,
    ours: f64,
    printed: Summary,
}

/// What the paper prints, if it prints this quantity for this method.
fn printed(method: &str, dataset: &str, quantity: &Quantity) -> Option<Summary> {
    printed_column(method, quantity)?.cell(dataset)
}

fn printed_column(method: &str, quantity: &Quantity) -> Option<&'static published::Column> {
    published::column(method).filter(|column| match column.measure {
        Measure::TaskR2 => quantity.key == TASK_R2.key,
        Measure::PooledR2 => quantity.key == POOLED_R2.key,
    })
}

/// The position of the best of several values.
fn best(values: &[Option<f64>], best: Best) -> Option<usize> {
    let sign = match best {
        Best::Highest => 1.0,
        Best::Lowest => -1.0,
        Best::None => return None,
    };
    let finite =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, sign * value.filter(|v| v.is_finite())?)));
    finite.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(at, _)| at)
}

/// How far a mean may be off because what is printed has two decimals.
const ROUNDING: f64 = 0.005;

/// Whether a mean lies within the printed standard deviation of the printed mean.
pub fn is_met(ours: f64, printed: &Summary) -> bool {
    (ours - printed.mean).abs() <= printed.sd + ROUNDING
}

/// Counted by method: several may stand for one printed column.
fn in_words(what: &str, methods: &[(&str, Vec<Comparand>)]) -> String {
    let count = |(method, cells): &(&str, Vec<Comparand>)| {
        let met = cells.iter().filter(|cell| is_met(cell.ours, &cell.printed)).count();
        format!("{method} {met} of {}", cells.len())
    };
    let counts: Vec<String> = methods.iter().map(count).collect();
    let list = |wanted: fn(f64) -> bool| {
        let missed = methods.iter().flat_map(|(_, cells)| cells).filter(|cell| !is_met(cell.ours, &cell.printed));
        let chosen = missed.filter(|cell| wanted(cell.ours - cell.printed.mean));
        let described = chosen.map(|Comparand { name, ours, printed }| {
            format!("{name} ({ours:.3}, printed {:.2} ± {:.2})", printed.mean, printed.sd)
        });
        let described: Vec<String> = described.collect();
        if described.is_empty() { "none".into() } else { described.join("; ") }
    };
    format!(
        "{what}: printed cells met within the printed standard deviation, of those that were run, each method by itself: {}. \
         Above it: {}. Below it: {}.",
        counts.join(", "),
        list(|difference| difference > 0.0),
        list(|difference| difference < 0.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(values: &[f64]) -> Vec<Comparand> {
        let printed = Summary { mean: 0.5, sd: 0.1 };
        values.iter().map(|&ours| Comparand { name: format!("at {ours}"), ours, printed }).collect()
    }

    /// Two readings of one printed column are not added up.
    #[test]
    fn printed_cells_are_counted_by_method() {
        let text = in_words("Nets", &[("a", cells(&[0.5, 0.604, 0.2])), ("b", cells(&[0.7]))]);
        assert!(text.contains("a 2 of 3, b 0 of 1."), "{text}");
        assert!(text.contains("Above it: at 0.7 (0.700, printed 0.50 ± 0.10). Below it: at 0.2 (0.200"), "{text}");
    }
}
