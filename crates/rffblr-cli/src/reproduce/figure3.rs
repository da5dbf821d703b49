//! `rffblr reproduce figure3`: what a fit costs against the number of tasks and of samples.

use super::claims::{self, Claim, Verdict};
use super::cost::{Data, Key, Record, measure, measure_apart};
use super::document::{Block, Document, Entry, Table};
use super::plot::{self, Curve, Look, Panel, Picture};
use super::store::Store;
use crate::output;
use crate::watch::Watch;
use anyhow::{Context, Result, bail};
use rffblr_methods::evaluate::Summary;
use rffblr_methods::method::Method;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the experiment in its raw results.
pub const EXPERIMENT: &str = "figure3";

/// The published algorithm in its readings, and the default.
const METHODS: &str = "rffblr-paper,rffblr-paper-links,rffblr-authors,rffblr";

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce figure3 --out figure3
  rffblr reproduce figure3 --tasks 2,8,16 --samples 50,200,1000 --repetitions 2 --out quick
  rffblr reproduce figure3 --kinds linear --repetitions 1 --out figure3")]
#[command(after_long_help = "\
Synthetic data: 50 normal inputs. Of \"products\" a target is a sum of 10 random products of two inputs and noise; of \
\"linear\", as the paper's authors draw them, it is linear in 20 inputs, with noise a fifth of the signal's variance. Every \
combination of data, method, tasks, samples and repetition is one fit on one thread, timed by the processor where that is known, and one line of \
OUT/raw.jsonl; the same command goes on where it was cut off. As in the paper, a curve averages over all values of the \
other axis and over the repetitions.")]
pub struct Arguments {
    /// Methods of `rffblr evaluate --help`
    #[arg(long, value_name = "NAMES", default_value = METHODS, value_delimiter = ',')]
    methods: Vec<String>,
    /// Kinds of data
    #[arg(long, value_name = "KINDS", default_values_t = Data::ALL, value_delimiter = ',')]
    kinds: Vec<Data>,
    /// Numbers of tasks [default: 2 to 16]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    tasks: Vec<u32>,
    /// Numbers of samples [default: 15 from 50 to 1000, each 1.24 times the last]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=20000))]
    samples: Vec<u32>,
    /// Data sets drawn for every combination
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Folder of raw results and figure
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
    /// Measure one combination and print its record: this command runs itself so for every fit
    #[arg(long, hide = true)]
    one: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(key) = &arguments.one {
        let record = measure(&serde_json::from_str(key)?)?;
        return output::print_json(&serde_json::to_string(&record)?);
    }
    let methods = crate::evaluate::methods(&arguments.methods)?;
    let or = |given: &[u32], usual: Vec<u32>| if given.is_empty() { usual } else { given.to_vec() };
    let tasks = or(&arguments.tasks, (2..=16).collect());
    let samples =
        or(&arguments.samples, (0..15).map(|step| (50.0 * 20f64.powf(step as f64 / 14.0)).round() as u32).collect());
    let store: Store<Record> = Store::open(&arguments.out, EXPERIMENT)?;
    let known = store.records();
    let mut keys = Vec::new();
    // Repetitions one after the other: a run that is cut off has whole ones.
    for repetition in 1..=arguments.repetitions {
        for &data in &arguments.kinds {
            for method in &methods {
                for &samples in &samples {
                    keys.extend(tasks.iter().map(|&tasks| {
                        let (method, tasks, samples) = (method.name().to_owned(), tasks as usize, samples as usize);
                        Key { method, data, tasks, samples, repetition }
                    }));
                }
            }
        }
    }
    keys.retain(|key| !known.iter().any(|record| record.key == *key));
    let left = |method: &dyn Method| keys.iter().filter(|key| key.method == method.name()).count();
    let series = methods.iter().map(|method| (method.name().to_owned(), left(*method)));
    let watch = Watch::new(series, 1, arguments.quiet);
    // One at a time: fits must not take time from each other.
    for key in &keys {
        let place = || format!("{} samples, {} tasks, {} data", key.samples, key.tasks, key.data);
        let record = measure_apart(key, &arguments.out).with_context(place)?;
        let series = methods.iter().position(|method| method.name() == key.method).unwrap_or(0);
        watch.fit(series, record.wall_seconds);
        store.add(record)?;
    }
    watch.finish();
    write(&store.records(), &arguments.out)?;
    if !arguments.quiet {
        output::note(&format!("figure: {}", arguments.out.join("figure3.png").display()));
    }
    Ok(())
}

/// Means over everything but one axis, at each of its values.
fn means(records: &[&Record], axis: fn(&Key) -> usize, value: fn(&Record) -> Option<f64>) -> Vec<(f64, Summary)> {
    let mut groups: BTreeMap<usize, Vec<&Record>> = BTreeMap::new();
    for record in records {
        groups.entry(axis(&record.key)).or_default().push(record);
    }
    let summary = |(at, mut group): (usize, Vec<&Record>)| {
        group.sort_by_key(|record| (record.key.repetition, record.key.samples, record.key.tasks));
        let values: Vec<f64> = group.into_iter().filter_map(value).collect();
        Some((at as f64, Summary::of(&values)?))
    };
    groups.into_iter().filter_map(summary).collect()
}

/// Least squares y ≈ a + b g(x): a, b and the share of the variance of y it explains.
fn regress(points: &[(f64, f64)], g: fn(f64) -> f64) -> Option<(f64, f64, f64)> {
    let count = points.len() as f64;
    let mean_g = points.iter().map(|point| g(point.0)).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let (mut gg, mut gy, mut yy) = (0.0, 0.0, 0.0);
    for &(x, y) in points {
        gg += (g(x) - mean_g).powi(2);
        gy += (g(x) - mean_g) * (y - mean_y);
        yy += (y - mean_y).powi(2);
    }
    (gg > 0.0 && yy > 0.0).then(|| (mean_y - gy / gg * mean_g, gy / gg, gy * gy / (gg * yy)))
}

/// The exponent p of y ≈ c xᵖ, and c.
pub fn power_law(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let logarithms: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
    regress(&logarithms, |x| x).map(|(intercept, slope, _)| (slope, intercept.exp()))
}

/// One of the two axes of the experiment.
struct Axis {
    key: &'static str,
    title: &'static str,
    of: fn(&Key) -> usize,
    /// The curve the paper compares with.
    claim: &'static str,
    curve: fn(f64) -> f64,
}

const AXES: [Axis; 2] = [
    Axis { key: "tasks", title: "number of tasks, C", of: |key| key.tasks, claim: "ln C", curve: f64::ln },
    Axis { key: "samples", title: "number of samples, N", of: |key| key.samples, claim: "N²", curve: |x| x * x },
];

/// A number of a fit, with its title.
type Quantity = (&'static str, fn(&Record) -> Option<f64>);

const QUANTITIES: [Quantity; 2] = [("seconds of a fit", Record::seconds), ("memory of a fit, MiB", Record::mebibytes)];

/// The fits of one method to one kind of data.
struct Series<'a> {
    data: Data,
    method: &'static str,
    /// How its curves look: the same for all kinds of data.
    style: usize,
    records: Vec<&'a Record>,
}

/// In the order of data and of the registry.
fn series(records: &[Record]) -> Vec<Series<'_>> {
    let names = rffblr_methods::method::registry().iter().map(|method| method.name());
    let names: Vec<&str> = names.filter(|name| records.iter().any(|record| record.key.method == *name)).collect();
    let mut out = Vec::new();
    for data in Data::ALL {
        for (style, &method) in names.iter().enumerate() {
            let of = |record: &&Record| record.key.data == data && record.key.method == method;
            let records: Vec<&Record> = records.iter().filter(of).collect();
            if !records.is_empty() {
                out.push(Series { data, method, style, records });
            }
        }
    }
    out
}

/// Mean over the values of the other axis, at a value of this one, with the lowest and the highest of the repetitions.
struct Point {
    at: f64,
    mean: f64,
    lowest: f64,
    highest: f64,
}

impl Series<'_> {
    /// Whether this is a reading of the published algorithm.
    fn is_published(&self) -> bool {
        ["rffblr-paper", "rffblr-paper-links", "rffblr-authors"].contains(&self.method)
    }

    fn repetitions(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.records.iter().map(|record| record.key.repetition).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The curve of one repetition.
    fn repetition(&self, number: u32, axis: &Axis, value: fn(&Record) -> Option<f64>) -> Vec<(f64, f64)> {
        let here: Vec<&Record> =
            self.records.iter().copied().filter(|record| record.key.repetition == number).collect();
        means(&here, axis.of, value).into_iter().map(|(at, summary)| (at, summary.mean)).collect()
    }

    fn points(&self, axis: &Axis, value: fn(&Record) -> Option<f64>) -> Vec<Point> {
        let repetitions: Vec<Vec<(f64, f64)>> =
            self.repetitions().into_iter().map(|number| self.repetition(number, axis, value)).collect();
        let point = |(at, summary): (f64, Summary)| {
            let here = || repetitions.iter().flatten().filter(move |point| point.0 == at).map(|point| point.1);
            let (lowest, highest) = (here().fold(f64::INFINITY, f64::min), here().fold(f64::NEG_INFINITY, f64::max));
            Point { at, mean: summary.mean, lowest, highest }
        };
        means(&self.records, axis.of, value).into_iter().map(point).collect()
    }

    /// The exponent of the cost where the axis has at least this value, and its spread over the repetitions.
    fn exponent(&self, axis: &Axis, value: fn(&Record) -> Option<f64>, from: f64) -> Option<Summary> {
        let exponents = self.repetitions().into_iter().filter_map(|number| {
            let curve = self.repetition(number, axis, value).into_iter().filter(|point| point.0 >= from);
            power_law(&curve.collect::<Vec<_>>()).map(|(exponent, _)| exponent)
        });
        Summary::of(&exponents.collect::<Vec<f64>>())
    }

    /// How many times as long a fit takes at the last value as at the first, and how many times the claimed curve grows.
    fn growth(&self, axis: &Axis) -> Option<(f64, f64)> {
        let points = self.points(axis, Record::seconds);
        let (first, last) = (points.first()?, points.last()?);
        Some((last.mean / first.mean, (axis.curve)(last.at) / (axis.curve)(first.at)))
    }
}

/// Writes figure, data and summary into the folder.
pub fn write(records: &[Record], folder: &Path) -> Result<()> {
    if records.is_empty() {
        bail!("there is no record to draw");
    }
    let series = series(records);
    let picture = plot::draw(&panels(&series), 2, (560.0, 400.0))?;
    let document = document(records, &series, &picture);
    output::save_all(
        folder,
        &[
            ("figure3.svg", picture.svg.as_bytes()),
            ("figure3.png", &picture.png),
            ("figure3.csv", csv(&series).as_bytes()),
            ("summary.html", document.html().as_bytes()),
            ("summary.md", document.markdown().as_bytes()),
        ],
    )
}

fn csv(series: &[Series<'_>]) -> String {
    let mut out = "data,method,axis,value,seconds,seconds_sd,mebibytes,mebibytes_sd\n".to_owned();
    for Series { data, method, records, .. } in series {
        for axis in &AXES {
            let seconds = means(records, axis.of, Record::seconds);
            let memory = means(records, axis.of, Record::mebibytes);
            for (at, Summary { mean, sd, .. }) in seconds {
                let memory = memory.iter().find(|(other, _)| *other == at);
                let memory = memory.map_or(",".into(), |(_, memory)| format!("{},{}", memory.mean, memory.sd));
                out += &format!("{data},{method},{},{at},{mean},{sd},{memory}\n", axis.key);
            }
        }
    }
    out
}

/// A row of panels for each number and kind of data; tasks to the left, samples to the right.
fn panels(series: &[Series<'_>]) -> Vec<Panel> {
    let mut panels = Vec::new();
    for (y_title, value) in QUANTITIES {
        for data in Data::ALL {
            for axis in &AXES {
                let here: Vec<&Series<'_>> = series.iter().filter(|series| series.data == data).collect();
                panels.extend(
                    panel(&here, axis, (y_title, value)).map(|panel| Panel { title: format!("{data}"), ..panel }),
                );
            }
        }
    }
    panels
}

/// The curve that the paper compares with, through the first point of a published form.
fn claimed(series: &[&Series<'_>], axis: &Axis) -> Option<Curve> {
    let points = series.iter().find(|series| series.is_published())?.points(axis, Record::seconds);
    let first = points.first()?;
    let scale = first.mean / (axis.curve)(first.at);
    let curve = points.iter().map(|point| (point.at, scale * (axis.curve)(point.at)));
    Some(Curve::new("claim: ln C, N²", curve.collect(), Look::Dashed, CLAIM))
}

/// Curves with their exponents and, for seconds, the curve of the claim.
fn panel(series: &[&Series<'_>], axis: &Axis, (y_title, value): Quantity) -> Option<Panel> {
    let is_time = y_title == QUANTITIES[0].0;
    let mut curves: Vec<Curve> = claimed(series, axis).filter(|_| is_time).into_iter().collect();
    for series in series {
        let points = series.points(axis, value);
        let places: Vec<(f64, f64)> = points.iter().map(|point| (point.at, point.mean)).collect();
        let exponent = series.exponent(axis, value, 0.0).map_or(String::new(), |found| format!("{:.2}", found.mean));
        let last = places.len().saturating_sub(1);
        let labels = (0..places.len()).map(|at| if at == last { exponent.clone() } else { String::new() });
        let spread = points.iter().map(|point| (point.lowest, point.highest)).collect();
        let curve = Curve::new(series.method, places, Look::LineAndPoints, series.style);
        curves.push(Curve { spread, labels: labels.collect(), ..curve });
    }
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let ends = |value: fn(&(f64, f64)) -> f64| {
        let (low, high) = (all().map(value).fold(f64::INFINITY, f64::min), all().map(value).fold(0.0, f64::max));
        (low > 0.0 && high > low).then_some((low / 1.3, 1.7 * high))
    };
    let (x_range, y_range) = (ends(|point| point.0), ends(|point| point.1));
    let (x_title, y_title) = (axis.title.into(), y_title.into());
    let panel = Panel {
        x_title,
        y_title,
        x_range,
        y_range,
        is_x_logarithmic: true,
        is_y_logarithmic: true,
        ..Panel::default()
    };
    (!curves.is_empty()).then_some(Panel { curves, ..panel })
}

/// Style of the curve that is claimed: black.
const CLAIM: usize = 6;

fn document(records: &[Record], series: &[Series<'_>], picture: &Picture) -> Document {
    let mut versions: Vec<&str> = records.iter().map(|record| record.version.as_str()).collect();
    let mut machines: Vec<&str> = records.iter().map(|record| record.machine.as_str()).collect();
    for list in [&mut versions, &mut machines] {
        list.sort_unstable();
        list.dedup();
    }
    let (versions, machines) = (versions.join(", "), machines.join(", "));
    let repetitions = records.iter().map(|record| record.key.repetition).max().unwrap_or(0);
    let provenance = format!(
        "{} fits from raw.jsonl, up to {repetitions} repetitions; version {versions}; machine {machines}.",
        records.len()
    );
    let caption = "Mean over repetitions and over the values of the other axis, both axes logarithmic; bands from the lowest \
                   to the highest repetition; the number at the end of a curve is its exponent. Dashed the curve of the \
                   claim, through the first point of a published form. Targets are sums of products of inputs, or linear in \
                   them";
    let figure = Block::Figure { file: "figure3.svg".into(), caption: caption.into(), svg: picture.svg.clone() };
    let mut blocks = vec![Block::Paragraph(provenance), figure];
    blocks.extend(claims::section(EXPLANATION, judge(series)));
    blocks.push(Block::Heading("Exponents".into()));
    blocks.push(Block::Paragraph(EXPONENTS.into()));
    blocks.push(Block::Table(exponents(series)));
    Document { title: "Figure 3, run again: cost of a fit".into(), blocks }
}

const EXPONENTS: &str = "\
The exponent p of cost ≈ c xᵖ, by least squares through the logarithms of the means, over all values and over those from half \
of the largest on; mean ± standard deviation of the repetitions. \"grows\" is the ratio of the cost at the last value to that \
at the first.";

fn exponents(series: &[Series<'_>]) -> Table {
    let header = [
        "",
        "data",
        "seconds in C",
        "upper half",
        "grows",
        "seconds in N",
        "upper half",
        "grows",
        "memory in C",
        "memory in N",
        "most MiB",
    ];
    let row = |series: &Series<'_>| {
        let exponent = |axis: &Axis, value: fn(&Record) -> Option<f64>, share: f64| {
            let last = series.points(axis, value).last().map_or(0.0, |point| point.at);
            let found = series.exponent(axis, value, share * last);
            let is_one = series.repetitions().len() < 2;
            found.map_or("–".into(), |Summary { mean, sd }| match is_one {
                true => format!("{mean:.2}"),
                false => format!("{mean:.2} ± {sd:.2}"),
            })
        };
        let grows = |axis: &Axis| series.growth(axis).map_or("–".into(), |(growth, _)| format!("{growth:.1}"));
        let most = series.records.iter().filter_map(|record| record.mebibytes()).fold(0.0, f64::max);
        let [tasks, samples] = &AXES;
        let cells = [
            series.method.to_owned(),
            series.data.to_string(),
            exponent(tasks, Record::seconds, 0.0),
            exponent(tasks, Record::seconds, 0.5),
            grows(tasks),
            exponent(samples, Record::seconds, 0.0),
            exponent(samples, Record::seconds, 0.5),
            grows(samples),
            exponent(tasks, Record::mebibytes, 0.0),
            exponent(samples, Record::mebibytes, 0.0),
            format!("{most:.1}"),
        ];
        cells.into_iter().map(Entry::plain).collect()
    };
    Table { header: header.map(str::to_owned).into(), rows: series.iter().map(row).collect() }
}

const EXPLANATION: &str = "\
Judged by the readings of the published algorithm on both kinds of data: a claim is met where the cost grows no faster from \
the first value to the last than the curve it names.";

/// The claims on cost.
fn judge(series: &[Series<'_>]) -> Vec<Claim> {
    let claim = |claim: &'static str, axis: &Axis| {
        let published: Vec<&Series<'_>> = series.iter().filter(|series| series.is_published()).collect();
        let grown: Vec<(&&Series<'_>, f64, f64)> = published
            .iter()
            .filter_map(|series| series.growth(axis).map(|(growth, allowed)| (series, growth, allowed)))
            .collect();
        let (_, _, allowed) = *grown.first()?;
        let met = grown.iter().filter(|(_, growth, allowed)| growth <= allowed).count();
        let words = grown.iter().map(|(series, growth, _)| format!("{} {growth:.1} ({})", series.method, series.data));
        let words = words.collect::<Vec<_>>().join(", ");
        Some(Claim {
            claim,
            place: "Results, on Figure 3",
            measured: format!(
                "{} grows {allowed:.1} times over the range; a fit takes this many times as long: {words}",
                axis.claim
            ),
            verdict: Verdict::of(met, grown.len()),
        })
    };
    [
        claim("Cost in the number of tasks is slightly below a logarithmic curve", &AXES[0]),
        claim(
            "Cost in the number of samples is below a quadratic curve, and so below that of kernel methods",
            &AXES[1],
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
    fn curves_that_are_known_are_found() {
        let points = |f: fn(f64) -> f64| (1..30).map(|x| (f64::from(x), f(f64::from(x)))).collect::<Vec<_>>();
        let (a, b, explained) = regress(&points(|x| 2.0 + 3.0 * x.ln()), f64::ln).unwrap();
        assert!((a - 2.0).abs() < 1e-12 && (b - 3.0).abs() < 1e-12 && (explained - 1.0).abs() < 1e-12);
        let (exponent, factor) = power_law(&points(|x| 0.5 * x.powf(1.7))).unwrap();
        assert!((exponent - 1.7).abs() < 1e-12 && (factor - 0.5).abs() < 1e-12);
        assert_eq!(regress(&[(1.0, 2.0)], f64::ln), None);
    }
}
