//! `rffblr reproduce figure3`: what a fit costs against the number of tasks and of samples.

use super::cost::{Key, Record, measure, measure_apart};
use super::document::{Block, Document};
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

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce figure3 --out figure3
  rffblr reproduce figure3 --tasks 2,8,16 --samples 50,200,1000 --repetitions 2 --out quick")]
#[command(after_long_help = "\
Synthetic data: 50 normal inputs; a target is a sum of 10 random products of two inputs and noise. Every combination of \
tasks, samples and repetition is one fit on one thread, timed by the processor where that is known, and one line of \
OUT/raw.jsonl; the same command goes on where it was cut off. As in the paper, a curve averages over all values of the \
other axis and over the repetitions.")]
pub struct Arguments {
    /// Methods of `rffblr evaluate --help`
    #[arg(long, value_name = "NAMES", default_value = "rffblr-paper,rffblr-authors,rffblr", value_delimiter = ',')]
    methods: Vec<String>,
    /// Numbers of tasks [default: 2 to 16]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    tasks: Vec<u32>,
    /// Numbers of samples [default: 50 to 1000 in steps of 50]
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
        return output::print(&serde_json::to_string(&record)?);
    }
    let methods = crate::evaluate::methods(&arguments.methods)?;
    let or = |given: &[u32], usual: Vec<u32>| if given.is_empty() { usual } else { given.to_vec() };
    let tasks = or(&arguments.tasks, (2..=16).collect());
    let samples = or(&arguments.samples, (1..=20).map(|step| 50 * step).collect());
    let store: Store<Record> = Store::open(&arguments.out, EXPERIMENT)?;
    let known = store.records();
    let mut keys = Vec::new();
    for method in &methods {
        for repetition in 1..=arguments.repetitions {
            for &samples in &samples {
                for &tasks in &tasks {
                    let method = method.name().to_owned();
                    keys.push(Key { method, tasks: tasks as usize, samples: samples as usize, repetition });
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
        let place = || format!("{} samples, {} tasks", key.samples, key.tasks);
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
    title: &'static str,
    of: fn(&Key) -> usize,
    /// The curve the paper compares with.
    claim: &'static str,
    curve: fn(f64) -> f64,
}

const AXES: [Axis; 2] = [
    Axis { title: "number of tasks, C", of: |key| key.tasks, claim: "logarithmic", curve: f64::ln },
    Axis { title: "number of samples, N", of: |key| key.samples, claim: "quadratic", curve: |x| x * x },
];

/// Methods in the order of the registry.
fn methods(records: &[Record]) -> Vec<&'static str> {
    let names = rffblr_methods::method::registry().iter().map(|method| method.name());
    names.filter(|name| records.iter().any(|record| record.key.method == *name)).collect()
}

fn of<'a>(records: &'a [Record], method: &str) -> Vec<&'a Record> {
    records.iter().filter(|record| record.key.method == method).collect()
}

/// Writes figure, data and summary into the folder.
pub fn write(records: &[Record], folder: &Path) -> Result<()> {
    if records.is_empty() {
        bail!("there is no record to draw");
    }
    let picture = plot::draw(&panels(records), 2, (560.0, 400.0))?;
    let document = document(records, &picture);
    output::save_all(
        folder,
        &[
            ("figure3.svg", picture.svg.as_bytes()),
            ("figure3.png", &picture.png),
            ("figure3.csv", csv(records).as_bytes()),
            ("summary.html", document.html().as_bytes()),
            ("summary.md", document.markdown().as_bytes()),
        ],
    )
}

fn csv(records: &[Record]) -> String {
    let mut out = "method,axis,value,seconds,seconds_sd,mebibytes,mebibytes_sd\n".to_owned();
    for method in methods(records) {
        let records = of(records, method);
        for (axis, name) in AXES.iter().zip(["tasks", "samples"]) {
            let seconds = means(&records, axis.of, Record::seconds);
            let memory = means(&records, axis.of, Record::mebibytes);
            for (at, Summary { mean, sd, .. }) in seconds {
                let memory = memory.iter().find(|(other, _)| *other == at);
                let memory = memory.map_or(",".into(), |(_, memory)| format!("{},{}", memory.mean, memory.sd));
                out += &format!("{method},{name},{at},{mean},{sd},{memory}\n");
            }
        }
    }
    out
}

/// A number of a fit, with its title.
type Quantity = (&'static str, fn(&Record) -> Option<f64>);

const QUANTITIES: [Quantity; 2] = [("seconds of a fit", Record::seconds), ("memory of a fit, MiB", Record::mebibytes)];

/// Time above, memory below; tasks to the left, samples to the right.
fn panels(records: &[Record]) -> Vec<Panel> {
    let mut panels = Vec::new();
    for (row, (y_title, value)) in QUANTITIES.into_iter().enumerate() {
        for axis in &AXES {
            let mut curves = Vec::new();
            for (style, method) in methods(records).into_iter().enumerate() {
                let points: Vec<(f64, f64)> =
                    means(&of(records, method), axis.of, value).into_iter().map(|(x, y)| (x, y.mean)).collect();
                if let (0, Some((a, b, _))) = (row, regress(&points, axis.curve)) {
                    let fitted = points.iter().map(|&(x, _)| (x, a + b * (axis.curve)(x))).collect();
                    curves.push(curve(format!("{method}, curve of the claim"), fitted, Look::Dashed, style));
                }
                curves.push(curve(method.to_owned(), points, Look::LineAndPoints, style));
            }
            if curves.iter().all(|curve| curve.points.is_empty()) {
                continue;
            }
            let highest = curves.iter().flat_map(|curve| &curve.points).map(|point| point.1).fold(0.0, f64::max);
            let (x_title, y_title) = (axis.title.into(), y_title.into());
            panels.push(Panel { x_title, y_title, curves, y_range: Some((0.0, 1.05 * highest)), ..Panel::default() });
        }
    }
    panels
}

fn curve(name: String, points: Vec<(f64, f64)>, look: Look, style: usize) -> Curve {
    Curve { name, points, spread: Vec::new(), labels: Vec::new(), look, style }
}

fn document(records: &[Record], picture: &Picture) -> Document {
    let mut versions: Vec<&str> = records.iter().map(|record| record.version.as_str()).collect();
    let mut machines: Vec<&str> = records.iter().map(|record| record.machine.as_str()).collect();
    for list in [&mut versions, &mut machines] {
        list.sort_unstable();
        list.dedup();
    }
    let (versions, machines) = (versions.join(", "), machines.join(", "));
    let provenance = format!("{} fits from raw.jsonl; version {versions}; machine {machines}.", records.len());
    let caption = "Mean over repetitions and over the values of the other axis; dashed the curves of the claim, fitted: logarithmic in the number of tasks, quadratic in that of samples";
    let figure = Block::Figure { file: "figure3.svg".into(), caption: caption.into(), svg: picture.svg.clone() };
    let mut blocks = vec![Block::Paragraph(provenance), figure];
    for method in methods(records) {
        let records = of(records, method);
        blocks.push(Block::Heading(method.into()));
        blocks.extend(AXES.iter().filter_map(|axis| verdict(&records, axis)).map(Block::Paragraph));
        blocks.extend(memory_in_words(&records).map(Block::Paragraph));
    }
    Document { title: "Figure 3, run again: cost of a fit".into(), blocks }
}

/// Whether time grows no faster than the claim says, from the first value to the last and where values are large.
fn verdict(records: &[&Record], axis: &Axis) -> Option<String> {
    let seconds = means(records, axis.of, Record::seconds);
    let points: Vec<(f64, f64)> = seconds.iter().map(|(x, y)| (*x, y.mean)).collect();
    let (&(first, cheap), &(last, dear)) = (points.first()?, points.last()?);
    let (exponent, _) = power_law(&points)?;
    let upper: Vec<(f64, f64)> = points.iter().copied().filter(|point| 2.0 * point.0 >= last).collect();
    let upper = power_law(&upper).map_or(f64::NAN, |(exponent, _)| exponent);
    let (_, _, explained) = regress(&points, axis.curve)?;
    let grows = dear / cheap;
    let allowed = (axis.curve)(last) / (axis.curve)(first);
    let holds = if grows <= allowed { "holds" } else { "does not hold" };
    Some(format!(
        "Against the {}: from {first} to {last} a fit takes {grows:.2} times as long; the {} curve grows {allowed:.2} \
         times, so that \"below {}\" {holds} over this range. Measured exponent {exponent:.2} over all values, \
         {upper:.2} over the upper half; the fitted {} curve explains {:.1} % of the variance of the means.",
        axis.title,
        axis.claim,
        axis.claim,
        axis.claim,
        100.0 * explained
    ))
}

fn memory_in_words(records: &[&Record]) -> Option<String> {
    let exponent = |axis: &Axis| {
        let points = means(records, axis.of, Record::mebibytes);
        power_law(&points.iter().map(|(x, y)| (*x, y.mean)).collect::<Vec<_>>()).map(|(exponent, _)| exponent)
    };
    let most = records.iter().filter_map(|record| record.mebibytes()).fold(0.0, f64::max);
    let (tasks, samples) = (exponent(&AXES[0])?, exponent(&AXES[1])?);
    Some(format!(
        "Memory: at most {most:.1} MiB; measured exponent {tasks:.2} in the number of tasks, {samples:.2} in the number \
         of samples."
    ))
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
