//! `rffblr reproduce views`: how far the kernel machine and the extreme learning machine of the paper are apart, against
//! the number of features.

use super::claims::{self, Claim, Verdict};
use super::cost::{Data, draw};
use super::document::{Block, Document, Entry, Table};
use super::figure3::power_law;
use super::plot::{self, Curve, Look, Panel, Picture};
use super::record::machine;
use super::source::SourceArguments;
use super::store::Store;
use crate::output;
use crate::watch::Watch;
use anyhow::{Result, bail};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rffblr::data::{Dataset, Standardiser};
use rffblr::fourier::{Basis, Directions, Offsets, Recipe, Scales, Spectrum};
use rffblr::internals::{multiply, select_rows};
use rffblr::linalg::{Mat, Threads};
use rffblr_methods::evaluate::{Split, Summary};
use rffblr_methods::views::{
    Elm, KernelMachine, Machine, Penalty, Regulariser, expected_kernel_error, gaussian_kernel, relative_difference,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Name of the experiment in its raw results.
pub const EXPERIMENT: &str = "views";

/// Name of the data set that is drawn.
const SYNTHETIC: &str = "synthetic";
/// Its training and test rows, and its tasks.
const SIZES: (usize, usize, usize) = (300, 100, 4);
/// Its seed.
const SEED: u64 = 0;

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce views --out views
  rffblr reproduce views --datasets jura,synthetic --features 100,1000 --draws 3 --out quick")]
#[command(after_long_help = "\
The paper writes one model as two optimisation problems: a kernel machine with coefficients β, and an extreme learning \
machine with weights w on M random cosines, held down by the regulariser of the kernel machine at β = (ΦΦᵀ)⁻¹Φw. Both are \
solved with the squared loss and two regularisers, βᵀKβ and ‖β‖², on the training rows of the first fold of every data set, \
inputs and targets standardised. Recorded are relative differences, in Frobenius norm: of w and Φᵀβ, of predictions of the \
test rows, of ΦΦᵀ and the kernel matrix. Every draw is a line of OUT/raw.jsonl; the same command goes on where it was cut \
off.")]
pub struct Arguments {
    /// Data sets of `rffblr data list`, and "synthetic"
    #[arg(long, value_name = "NAMES", default_value = "edm,oes97,enb,synthetic", value_delimiter = ',')]
    datasets: Vec<String>,
    /// Folder with their files NAME.arff [default: $RFFBLR_DATA, or else the cache of `rffblr data fetch`]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder with fold files NAME.json [default: as for table2]
    #[arg(long, value_name = "DIR")]
    fold_dir: Option<PathBuf>,
    /// Numbers of features M [default: powers of two from 64 to 32768]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    features: Vec<u32>,
    /// Draws of the features at every M
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    draws: u64,
    /// Bandwidth γ of the Gaussian kernel times the number of inputs
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    bandwidth: f64,
    /// λ
    #[arg(long, value_name = "X", default_value_t = 0.1)]
    strength: f64,
    /// Folder of raw results and figure
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
}

/// One draw of features for one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    #[serde(flatten)]
    pub key: Key,
    #[serde(flatten)]
    pub setting: Setting,
    pub version: String,
    pub machine: String,
    pub seconds: f64,
    /// ‖ΦΦᵀ − K‖/‖K‖, and the root of the mean of its square over draws, in closed form.
    pub kernel: f64,
    pub kernel_expected: f64,
    /// With Ω = βᵀKβ, and with Ω = ‖β‖².
    pub function: Differences,
    pub coefficients: Differences,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    pub dataset: String,
    pub features: usize,
    /// Counted from 1; also the seed.
    pub draw: u64,
}

/// What must be the same for all records of a data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    pub bandwidth_times_inputs: f64,
    pub strength: f64,
    pub inputs: usize,
    pub tasks: usize,
    pub train_rows: usize,
    pub test_rows: usize,
    /// SHA-256 of the training rows.
    pub data_sha256: String,
}

/// How far the two solutions are apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// ‖w − Φᵀβ‖/‖Φᵀβ‖.
    pub weights: f64,
    /// ‖f − g‖/‖g‖ at the test rows, with f of the ELM and g of the kernel machine.
    pub predictions: f64,
}

const REGULARISERS: [Regulariser; 2] = [Regulariser::Function, Regulariser::Coefficients];

/// A data set with its kernel view solved.
struct Prepared {
    name: String,
    setting: Setting,
    inputs: Mat<f64>,
    targets: Mat<f64>,
    test_inputs: Mat<f64>,
    bandwidth: f64,
    kernel: Mat<f64>,
    /// For each regulariser the kernel machine and its predictions of the test rows.
    machines: Vec<(Machine, Mat<f64>)>,
}

impl Prepared {
    fn new(name: &str, train: &Dataset, test_inputs: &Mat<f64>, arguments: &Arguments) -> Result<Prepared> {
        let (input_scale, target_scale) = (Standardiser::of_inputs(train), Standardiser::new(train.targets(), None));
        let inputs = input_scale.apply(train.inputs(), train.input_names())?;
        let targets = target_scale.apply(train.targets(), train.target_names())?;
        if (0..targets.ncols()).any(|task| targets.col_as_slice(task).iter().any(|y| y.is_nan())) {
            bail!("{name} has missing targets, which the two problems do not know; use another data set");
        }
        let test_inputs = input_scale.apply(test_inputs.as_ref(), train.input_names())?;
        let setting = Setting {
            bandwidth_times_inputs: arguments.bandwidth,
            strength: arguments.strength,
            inputs: inputs.ncols(),
            tasks: targets.ncols(),
            train_rows: inputs.nrows(),
            test_rows: test_inputs.nrows(),
            data_sha256: train.fingerprint(),
        };
        let bandwidth = arguments.bandwidth / inputs.ncols() as f64;
        let kernel = gaussian_kernel(inputs.as_ref(), inputs.as_ref(), bandwidth);
        let cross = gaussian_kernel(test_inputs.as_ref(), inputs.as_ref(), bandwidth);
        let view = KernelMachine { kernel: kernel.as_ref(), targets: targets.as_ref() };
        let solved = REGULARISERS.map(|regulariser| {
            let machine = view.solve(Penalty { regulariser, strength: arguments.strength })?;
            let predictions = machine.predict(cross.as_ref());
            Ok::<_, anyhow::Error>((machine, predictions))
        });
        let machines = solved.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(Prepared { name: name.to_owned(), setting, inputs, targets, test_inputs, bandwidth, kernel, machines })
    }

    /// The ELM view for one draw, beside the kernel view.
    fn compare(&self, features: usize, draw: u64) -> Result<Record> {
        let start = Instant::now();
        let (spectrum, offsets, directions) = (Spectrum::Rbf, Offsets::Random, Directions::Independent);
        let recipe = Recipe { spectrum, offsets, directions, count: features, links: false };
        let basis = Basis::draw(&recipe, self.setting.inputs, &mut ChaCha8Rng::seed_from_u64(draw));
        let basis = basis.scaled(&Scales::uniform(self.bandwidth, self.setting.inputs));
        let (phi, new) = (basis.features(self.inputs.as_ref()), basis.features(self.test_inputs.as_ref()));
        let elm = Elm::new(phi.as_ref(), self.targets.as_ref())?;
        let differences = |regulariser: Regulariser| -> Result<Differences> {
            let (kernel_machine, predictions) = &self.machines[regulariser as usize];
            let found = elm.solve(Penalty { regulariser, strength: self.setting.strength })?;
            let beta = kernel_machine.weights.as_ref();
            let mapped = multiply(phi.as_ref().transpose(), beta, Threads::current());
            Ok(Differences {
                weights: relative_difference(&found.weights, &mapped),
                predictions: relative_difference(&found.predict(new.as_ref()), predictions),
            })
        };
        let (function, coefficients) = (differences(Regulariser::Function)?, differences(Regulariser::Coefficients)?);
        Ok(Record {
            key: Key { dataset: self.name.clone(), features, draw },
            setting: self.setting.clone(),
            version: crate::VERSION.to_owned(),
            machine: machine(),
            kernel: relative_difference(&elm.kernel(), &self.kernel),
            kernel_expected: expected_kernel_error(self.kernel.as_ref(), features),
            function,
            coefficients,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    for (name, value) in [("--bandwidth", arguments.bandwidth), ("--strength", arguments.strength)] {
        if !(value > 0.0 && value.is_finite()) {
            bail!("{name} {value}: a positive number is needed");
        }
    }
    let prepared = prepare(arguments)?;
    let store: Store<Record> = Store::open(&arguments.out, EXPERIMENT)?;
    let known = store.records();
    for data in &prepared {
        if known.iter().any(|record| record.key.dataset == data.name && record.setting != data.setting) {
            bail!(
                "{} was run with other settings or data; results of both cannot be mixed: run it as before, or name \
                 another folder with --out",
                data.name
            );
        }
    }
    let features: Vec<usize> = match arguments.features.is_empty() {
        true => (6..=15).map(|power| 1 << power).collect(),
        false => arguments.features.iter().map(|&count| count as usize).collect(),
    };
    let mut keys = Vec::new();
    for (series, data) in prepared.iter().enumerate() {
        for draw in 1..=arguments.draws {
            for &features in &features {
                keys.push((series, Key { dataset: data.name.clone(), features, draw }));
            }
        }
    }
    keys.retain(|(_, key)| !known.iter().any(|record| record.key == *key));
    let left = |series: usize| keys.iter().filter(|(at, _)| *at == series).count();
    let series = prepared.iter().enumerate().map(|(series, data)| (data.name.clone(), left(series)));
    let watch = Watch::new(series, 1, arguments.quiet);
    for (series, key) in &keys {
        let record = prepared[*series].compare(key.features, key.draw)?;
        watch.fit(*series, record.seconds);
        store.add(record)?;
    }
    watch.finish();
    write(&store.records(), &arguments.out)?;
    if !arguments.quiet {
        output::note(&format!("figure: {}", arguments.out.join("views.png").display()));
    }
    Ok(())
}

/// Every data set, read and solved in the kernel view before the first draw.
fn prepare(arguments: &Arguments) -> Result<Vec<Prepared>> {
    let names = |is_drawn: bool| arguments.datasets.iter().filter(move |name| (*name == SYNTHETIC) == is_drawn);
    let source = SourceArguments {
        datasets: names(false).cloned().collect(),
        data: arguments.data.clone(),
        fold_dir: arguments.fold_dir.clone(),
    };
    let mut out = Vec::new();
    for source in source.read()? {
        let (split, _) = Split::of_table(&source.training, &source.folds, 0)?;
        out.push(Prepared::new(source.name, &split.train, &split.test_inputs, arguments)?);
    }
    if names(true).next().is_some() {
        let (train, test, tasks) = SIZES;
        let all = draw(Data::Products, train + test, tasks, SEED)?;
        let (first, last): (Vec<usize>, Vec<usize>) = (0..train + test).partition(|&row| row < train);
        out.push(Prepared::new(SYNTHETIC, &all.select(&first)?, &select_rows(all.inputs(), &last), arguments)?);
    }
    Ok(out)
}

/// A number of a record.
struct Quantity {
    key: &'static str,
    title: &'static str,
    value: fn(&Record) -> f64,
}

const KERNEL: Quantity = Quantity { key: "kernel", title: "kernel matrix", value: |record| record.kernel };
/// What is recorded for each regulariser.
const BY_REGULARISER: [(&str, [Quantity; 2]); 2] = [
    (
        "Ω(β) = βᵀKβ",
        [
            Quantity { key: "function_weights", title: "weights", value: |record| record.function.weights },
            Quantity { key: "function_predictions", title: "predictions", value: |record| record.function.predictions },
        ],
    ),
    (
        "Ω(β) = ‖β‖²",
        [
            Quantity { key: "coefficients_weights", title: "weights", value: |record| record.coefficients.weights },
            Quantity {
                key: "coefficients_predictions",
                title: "predictions",
                value: |record| record.coefficients.predictions,
            },
        ],
    ),
];

fn quantities() -> impl Iterator<Item = &'static Quantity> {
    [&KERNEL].into_iter().chain(BY_REGULARISER.iter().flat_map(|(_, quantities)| quantities))
}

/// Names of the data sets in the order of their first record.
fn datasets(records: &[Record]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for record in records {
        if !names.contains(&record.key.dataset.as_str()) {
            names.push(&record.key.dataset);
        }
    }
    names
}

/// Mean and spread over draws at each number of features.
fn summaries(records: &[Record], dataset: &str, value: fn(&Record) -> f64) -> Vec<(f64, Summary)> {
    let mut groups: BTreeMap<usize, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.key.dataset == dataset) {
        groups.entry(record.key.features).or_default().push(record);
    }
    let summary = |(features, mut group): (usize, Vec<&Record>)| {
        group.sort_by_key(|record| record.key.draw);
        Some((features as f64, Summary::of(&group.into_iter().map(value).collect::<Vec<f64>>())?))
    };
    groups.into_iter().filter_map(summary).collect()
}

/// Writes figure, data and summary into the folder.
pub fn write(records: &[Record], folder: &Path) -> Result<()> {
    if records.is_empty() {
        bail!("there is no record to draw");
    }
    let names = datasets(records);
    let picture = plot::draw(&panels(records, &names), names.len(), (380.0, 340.0))?;
    let document = document(records, &names, &picture);
    output::save_all(
        folder,
        &[
            ("views.svg", picture.svg.as_bytes()),
            ("views.png", &picture.png),
            ("views.csv", csv(records, &names).as_bytes()),
            ("summary.html", document.html().as_bytes()),
            ("summary.md", document.markdown().as_bytes()),
        ],
    )
}

fn csv(records: &[Record], names: &[&str]) -> String {
    let mut out = "dataset,features,quantity,mean,sd\n".to_owned();
    for name in names {
        for quantity in quantities() {
            for (features, Summary { mean, sd }) in summaries(records, name, quantity.value) {
                out += &format!("{name},{features},{},{mean},{sd}\n", quantity.key);
            }
        }
    }
    out
}

/// One row of panels for each regulariser, one column for each data set.
fn panels(records: &[Record], names: &[&str]) -> Vec<Panel> {
    let mut panels = Vec::new();
    for (row, (regulariser, quantities)) in BY_REGULARISER.iter().enumerate() {
        for (column, name) in names.iter().enumerate() {
            let expected = summaries(records, name, |record| record.kernel_expected);
            let expected = expected.into_iter().map(|(features, summary)| (features, summary.mean)).collect();
            let mut curves = vec![Curve::new("kernel matrix, expected", expected, Look::Dashed, 0)];
            for (style, quantity) in [&KERNEL].into_iter().chain(quantities).enumerate() {
                let found = summaries(records, name, quantity.value);
                let points = found.iter().map(|(features, summary)| (*features, summary.mean)).collect();
                let spread = found.iter().map(|(_, Summary { mean, sd })| (mean - sd, mean + sd)).collect();
                curves.push(Curve { spread, ..Curve::new(quantity.title, points, Look::LineAndPoints, style) });
            }
            panels.push(Panel {
                title: format!("{name}, {regulariser}"),
                x_title: if row == 1 { "number of features, M".into() } else { String::new() },
                y_title: if column == 0 { "relative difference".into() } else { String::new() },
                curves,
                is_x_logarithmic: true,
                is_y_logarithmic: true,
                ..Panel::default()
            });
        }
    }
    panels
}

fn document(records: &[Record], names: &[&str], picture: &Picture) -> Document {
    let unique = |value: fn(&Record) -> String| {
        let mut all: Vec<String> = records.iter().map(value).collect();
        all.sort_unstable();
        all.dedup();
        all.join(", ")
    };
    let provenance = format!(
        "{} draws from raw.jsonl; version {}; machine {}; γD {}, λ {}. Training rows are named by their SHA-256 in every \
         record.",
        records.len(),
        unique(|record| record.version.clone()),
        unique(|record| record.machine.clone()),
        unique(|record| record.setting.bandwidth_times_inputs.to_string()),
        unique(|record| record.setting.strength.to_string()),
    );
    let caption = "Relative difference of the two views against the number of features: mean and standard deviation of \
                   the draws; dashed the root mean square of the kernel's in closed form";
    let figure = Block::Figure { file: "views.svg".into(), caption: caption.into(), svg: picture.svg.clone() };
    let text = |text: &str| Block::Paragraph(text.to_owned());
    let mut blocks = vec![Block::Paragraph(provenance), figure];
    blocks.extend(claims::section(EXPLANATION, judge(records, names)));
    blocks.extend([
        Block::Heading("Rates".into()),
        text(
            "The exponent p of difference ≈ c Mᵖ, by least squares through the logarithms of the means, over all M and \
             over those of at least 2N. A mean of M independent terms has p = −1/2: features ten times closer to the \
             kernel take a hundred times as many.",
        ),
        Block::Table(rates(records, names)),
        Block::Heading("Differences".into()),
        text(
            "At the smallest M of at least 2N, where the paper calls the approximation reasonably good, and at the \
             largest M of the run: mean ± standard deviation of the draws, in percent.",
        ),
        Block::Table(differences(records, names)),
    ]);
    Document { title: "The two views: kernel machine and ELM".into(), blocks }
}

const EXPLANATION: &str = "\
A difference counts as small below 10 %. A rate that is exponential in M would let the exponent of the tables below fall \
without end as M grows.";

/// The claims on the two views.
fn judge(records: &[Record], names: &[&str]) -> Vec<Claim> {
    let found: Vec<(&str, Vec<(f64, Summary)>)> = names
        .iter()
        .flat_map(|name| quantities().map(move |quantity| (*name, summaries(records, name, quantity.value))))
        .collect();
    let (Some(_), Some(largest)) = (found.first(), records.iter().map(|record| record.key.features).max()) else {
        return Vec::new();
    };
    let exponent = |(name, curve): &(&str, Vec<(f64, Summary)>)| {
        let enough = 2.0 * rows_of(records, name);
        let points = curve.iter().filter(|(m, _)| *m >= enough).map(|(m, summary)| (*m, summary.mean));
        power_law(&points.collect::<Vec<_>>()).map(|(exponent, _)| exponent)
    };
    let exponents: Vec<f64> = found.iter().filter_map(exponent).collect();
    let at_twice = |(name, curve): &(&str, Vec<(f64, Summary)>)| {
        let enough = 2.0 * rows_of(records, name);
        curve.iter().find(|(m, _)| *m >= enough).map(|(_, summary)| summary.mean)
    };
    let differences: Vec<f64> = found.iter().filter_map(at_twice).collect();
    if exponents.is_empty() || differences.is_empty() {
        return Vec::new();
    }
    let ends = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let (least, most) = ends(&exponents);
    let (small, large) = ends(&differences);
    let shrinking = exponents.iter().filter(|exponent| **exponent < 0.0).count();
    let near = differences.iter().filter(|difference| **difference < 0.1).count();
    vec![
        Claim {
            claim: "With M large enough the ELM's solution is close to that of the kernel machine",
            place: "Section 3, end",
            measured: format!(
                "{shrinking} of {} differences of kernel, weights and predictions shrink as M grows, up to M = {largest}",
                exponents.len()
            ),
            verdict: Verdict::of(shrinking, exponents.len()),
        },
        Claim {
            claim: "The approximation converges exponentially in M",
            place: "Section 3, on the size of M",
            measured: format!(
                "differences fall as a power of M, with exponents from {least:.2} to {most:.2} beyond M = 2N"
            ),
            verdict: if least < -1.0 { Verdict::InPart } else { Verdict::Fails },
        },
        Claim {
            claim: "M > 2N gives reasonably good approximations",
            place: "Section 3, on the size of M",
            measured: format!(
                "at the smallest M of at least 2N, differences from {:.0} % to {:.0} %; {near} of {} below 10 %",
                100.0 * small,
                100.0 * large,
                differences.len()
            ),
            verdict: Verdict::of(near, differences.len()),
        },
    ]
}

fn rows_of(records: &[Record], name: &str) -> f64 {
    records.iter().find(|record| record.key.dataset == name).map_or(0.0, |record| record.setting.train_rows as f64)
}

/// A row for each quantity, with the title of its regulariser.
fn titled() -> Vec<(String, &'static Quantity)> {
    let of = |(regulariser, quantities): &'static (&'static str, [Quantity; 2])| {
        quantities.iter().map(move |quantity| (format!("{}, {regulariser}", quantity.title), quantity))
    };
    [(KERNEL.title.to_owned(), &KERNEL)].into_iter().chain(BY_REGULARISER.iter().flat_map(of)).collect()
}

fn table(records: &[Record], names: &[&str], cell: impl Fn(&[(f64, Summary)], f64) -> String) -> Table {
    let heading = |name: &&str| format!("{name} (N = {})", rows_of(records, name));
    let header = [String::new()].into_iter().chain(names.iter().map(heading)).collect();
    let row = |(title, quantity): (String, &Quantity)| {
        let cells = names
            .iter()
            .map(|name| Entry::plain(cell(&summaries(records, name, quantity.value), 2.0 * rows_of(records, name))));
        [Entry::plain(title)].into_iter().chain(cells).collect()
    };
    Table { header, rows: titled().into_iter().map(row).collect() }
}

fn rates(records: &[Record], names: &[&str]) -> Table {
    table(records, names, |found, enough| {
        let exponent = |least: f64| {
            let points: Vec<(f64, f64)> =
                found.iter().filter(|(m, _)| *m >= least).map(|(m, summary)| (*m, summary.mean)).collect();
            power_law(&points).map_or("–".into(), |(exponent, _)| format!("{exponent:.3}"))
        };
        format!("{} / {}", exponent(0.0), exponent(enough))
    })
}

fn differences(records: &[Record], names: &[&str]) -> Table {
    table(records, names, |found, enough| {
        let percent = |(features, Summary { mean, sd }): &(f64, Summary)| {
            format!("{:.2} ± {:.2} (M = {features})", 100.0 * mean, 100.0 * sd)
        };
        let first = found.iter().find(|(features, _)| *features >= enough).map(percent);
        let last = found.last().map(percent);
        [first, last].into_iter().flatten().collect::<Vec<_>>().join("; ")
    })
}
