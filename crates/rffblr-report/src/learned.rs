//! What the model learned: relevance, partial dependence, correlations between inputs and between targets.

use super::quality::{CROWD, range};
use super::{Options, brief, briefly};
use rffblr::data::Dataset;
use rffblr::explain::{
    Diagnostics, Explainer, Input, Kind, Point, TaskCorrelation, Value, VarianceShares, task_correlation,
};
use rffblr::linalg::Mat;
use rffblr::metrics::LEVEL;
use rffblr::{Model, Result};
use serde::Serialize;
use std::collections::BTreeSet;

/// Inputs whose partial dependence is drawn: most of one task, and of all tasks together.
const CURVES: usize = 12;
const ALL_CURVES: usize = 48;
/// Points of a curve, and of each side of the surface of two inputs.
const POINTS: usize = 33;
const SIDE: usize = 15;
/// Bars of the histogram of an input.
const BARS: usize = 24;
/// Inputs that are looked at for correlations, and from where on these are named.
const COMPARED: usize = 40;
const CORRELATED: f64 = 0.7;
/// Most rows among which the most central one is looked for.
const CENTRAL: usize = 400;

#[derive(Serialize)]
pub(super) struct Learned {
    /// Inputs of the table, in the order of everything below.
    pub(super) inputs: Vec<InputFacts>,
    /// Rows the explanations look at the function around.
    rows: usize,
    pub(super) relevance: RelevanceFacts,
    /// For each task, inputs by falling relevance.
    pub(super) order: Vec<Vec<usize>>,
    /// Pairs of inputs that go together, with their correlation.
    correlated: Vec<(usize, usize, f64)>,
    /// How many of them have a curve.
    curves_each: usize,
    /// Rows that the means of curves and surfaces are taken over.
    averaged_over: usize,
    curves: Vec<Curve>,
    /// For each task, the two inputs that act most together with others; `None` if there is but one.
    surfaces: Vec<Option<Surface>>,
    /// The most central row, as the columns of the model see it; `None` where no row may be shown.
    central: Option<Vec<f64>>,
    /// Its position among the rows.
    central_row: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct InputFacts {
    pub(super) name: String,
    columns: Vec<usize>,
    number: bool,
    /// How fast the kernel of each task changes along it.
    scale: Vec<f64>,
    /// Where its values lie, those that are missing not counted; `None` for a text.
    histogram: Option<Histogram>,
    /// How many rows have each level of a text.
    counts: Vec<usize>,
    /// How many rows have no value.
    pub(super) missing: usize,
}

/// How many values lie between every two edges: bars are equally wide, or, where no row may be shown, equally full.
#[derive(Serialize)]
struct Histogram {
    edges: Vec<f64>,
    counts: Vec<usize>,
}

/// Shares of each input in all of what inputs do to the prediction of a task: they add up to one. One list for each task,
/// one entry for each input.
#[derive(Serialize)]
pub(super) struct RelevanceFacts {
    /// With everything an input does together with others.
    pub(super) share: Vec<Vec<f64>>,
    /// Posterior standard deviation of that.
    share_std: Vec<Vec<f64>>,
    /// What the input does alone.
    alone: Vec<Vec<f64>>,
    /// Background rows behind the shares, and behind their deviations.
    rows: usize,
    interval_rows: usize,
}

/// Partial dependence on one input: numbers or labels on its axis, then a curve for each task with its 90 % band, in the unit
/// of the target.
#[derive(Serialize)]
struct Curve {
    input: usize,
    at: Axis,
    mean: Vec<Vec<f64>>,
    lower: Vec<Vec<f64>>,
    upper: Vec<Vec<f64>>,
    #[serde(skip)]
    averaged_over: usize,
}

/// Partial dependence of one task on two inputs, in its unit: the values of the second run fastest.
#[derive(Serialize)]
struct Surface {
    inputs: [usize; 2],
    at: [Axis; 2],
    mean: Vec<f64>,
    /// How many rows are near each pair of values.
    rows: Vec<usize>,
}

/// What an input is set to: numbers, then labels (levels, missing).
#[derive(Serialize)]
struct Axis {
    numbers: Vec<f64>,
    labels: Vec<String>,
}

impl Learned {
    /// What an explainer says of a model.
    pub(super) fn new(model: &Model, explainer: &Explainer<'_>, options: &Options) -> Result<Learned> {
        let shares = explainer.variance_shares()?;
        let relevance = RelevanceFacts::new(&shares);
        let tasks = model.target_names().len();
        let order: Vec<Vec<usize>> = relevance.share.iter().map(|share| falling(share)).collect();
        let most_relevant = |count: usize| -> BTreeSet<usize> {
            order.iter().flat_map(|inputs| inputs.iter().take(count).copied()).collect()
        };
        let curves_each = (1..=CURVES).rev().find(|&count| most_relevant(count).len() <= ALL_CURVES).unwrap_or(1);
        let drawn = most_relevant(curves_each);
        let curve = |&input: &usize| Curve::new(explainer, input, options.row_data);
        // What an input does beyond its own curve, it does together with others.
        let together = |c: usize| -> Vec<f64> {
            let pairs = shares.total.col_as_slice(c).iter().zip(shares.first_order.col_as_slice(c));
            pairs.map(|(total, alone)| total - alone).collect()
        };
        let surface = |c: usize| Surface::new(explainer, &falling(&together(c)), c, options.row_data);
        let scales = explainer.learned_scales();
        let input = |(i, input): (usize, &Input)| {
            InputFacts::new(explainer, input, briefly(scales.row(i).iter().copied()), options.row_data)
        };
        let central_row = options.row_data.then(|| central(model, explainer));
        let curves = drawn.iter().map(curve).collect::<Result<Vec<Curve>>>()?;
        Ok(Learned {
            inputs: explainer.inputs().iter().enumerate().map(input).collect(),
            rows: explainer.rows().nrows(),
            correlated: correlated(explainer, &order),
            curves_each,
            averaged_over: curves.first().map_or(0, |curve| curve.averaged_over),
            curves,
            surfaces: (0..tasks).map(surface).collect::<Result<_>>()?,
            central: central_row.map(|row| explainer.rows().row(row).iter().copied().collect()),
            central_row,
            relevance,
            order,
        })
    }
}

/// Positions by falling value.
pub(super) fn falling(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
}

fn by_task(table: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..table.ncols()).map(|c| briefly(table.col_as_slice(c).iter().copied())).collect()
}

impl RelevanceFacts {
    fn new(shares: &VarianceShares) -> RelevanceFacts {
        let normalised = |table: &Mat<f64>, c: usize| {
            let all: f64 = shares.total.col_as_slice(c).iter().sum();
            let share = |value: &f64| if all > 0.0 { value / all } else { 0.0 };
            briefly(table.col_as_slice(c).iter().map(share))
        };
        let of = |table: &Mat<f64>| (0..table.ncols()).map(|c| normalised(table, c)).collect();
        RelevanceFacts {
            share: of(&shares.total),
            share_std: of(&shares.total_std),
            alone: of(&shares.first_order),
            rows: shares.background.len(),
            interval_rows: shares.std_background.len(),
        }
    }
}

/// Whether a cell of an input is there: it was not filled in.
fn present(explainer: &Explainer<'_>, input: &Input, row: usize) -> bool {
    !input.mark().is_some_and(|column| explainer.rows()[(row, column)] == 1.0)
}

/// The values of a number, without those that are missing.
fn values(explainer: &Explainer<'_>, input: &Input) -> Vec<f64> {
    let there = (0..explainer.rows().nrows()).filter(|&row| present(explainer, input, row));
    there.map(|row| explainer.rows()[(row, input.columns[0])]).collect()
}

impl InputFacts {
    fn new(explainer: &Explainer<'_>, input: &Input, scale: Vec<f64>, row_data: bool) -> InputFacts {
        let rows = explainer.rows();
        let marked = |d: &usize| rows.col(*d).iter().filter(|value| **value == 1.0).count();
        let number = input.kind.is_number();
        InputFacts {
            name: input.name.clone(),
            columns: input.columns.clone(),
            number,
            scale,
            histogram: number.then(|| Histogram::new(values(explainer, input), row_data)),
            counts: match &input.kind {
                Kind::Text { levels, .. } => input.columns.iter().take(levels.len()).map(marked).collect(),
                _ => Vec::new(),
            },
            missing: (0..rows.nrows()).filter(|&row| !present(explainer, input, row)).count(),
        }
    }
}

impl Histogram {
    fn new(mut values: Vec<f64>, row_data: bool) -> Histogram {
        let [low, high] = range(values.clone(), row_data);
        values.retain(|value| (low..=high).contains(value));
        values.sort_by(f64::total_cmp);
        let inner = if row_data { evenly(low, high) } else { equally_full(&values) };
        let edges = [vec![low], inner, vec![high]].concat();
        let below = |edge: f64| values.partition_point(|value| *value < edge);
        let starts: Vec<usize> =
            edges[..edges.len() - 1].iter().map(|&edge| below(edge)).chain([values.len()]).collect();
        // The ends say where the data end, and are not rounded.
        let last = edges.len() - 1;
        let rounded = edges.iter().enumerate().map(|(i, &edge)| if i == 0 || i == last { edge } else { brief(edge) });
        Histogram { edges: rounded.collect(), counts: starts.windows(2).map(|pair| pair[1] - pair[0]).collect() }
    }
}

/// The inner edges of equally wide bars.
fn evenly(low: f64, high: f64) -> Vec<f64> {
    let at = |i: usize| low * (1.0 - i as f64 / BARS as f64) + high * (i as f64 / BARS as f64);
    if low < high { (1..BARS).map(at).collect() } else { Vec::new() }
}

/// The inner edges of bars that are as full as each other, as far as equal values allow, each between two rising values.
fn equally_full(values: &[f64]) -> Vec<f64> {
    let bars = (values.len() / (2 * CROWD)).clamp(1, BARS);
    let (mut edges, mut last) = (Vec::new(), 0);
    for i in 1..values.len() {
        let full = i * bars >= (edges.len() + 1) * values.len() && i >= last + CROWD && i + CROWD <= values.len();
        let edge = values[i - 1] / 2.0 + values[i] / 2.0;
        if full && values[i - 1] < edge {
            edges.push(edge);
            last = i;
        }
    }
    edges
}

/// Pairs of numbers that go together, among the inputs that matter most for any task; missing cells are not counted.
fn correlated(explainer: &Explainer<'_>, order: &[Vec<usize>]) -> Vec<(usize, usize, f64)> {
    let mut compared: Vec<usize> = Vec::new();
    let places = order.first().map_or(0, Vec::len);
    for place in 0..places {
        for input in order.iter().map(|inputs| inputs[place]) {
            let number = explainer.inputs()[input].kind.is_number();
            if number && compared.len() < COMPARED && !compared.contains(&input) {
                compared.push(input);
            }
        }
    }
    let mut pairs = Vec::new();
    for (k, &a) in compared.iter().enumerate() {
        for &b in &compared[k + 1..] {
            let r = correlation(explainer, a, b);
            if r.abs() >= CORRELATED {
                pairs.push((a, b, brief(r)));
            }
        }
    }
    pairs
}

fn correlation(explainer: &Explainer<'_>, a: usize, b: usize) -> f64 {
    let (rows, [a, b]) = (explainer.rows(), [a, b].map(|input| &explainer.inputs()[input]));
    let both: Vec<usize> =
        (0..rows.nrows()).filter(|&row| present(explainer, a, row) && present(explainer, b, row)).collect();
    // In units of the largest, so that squares of huge numbers are finite.
    let centred = |input: &Input| -> Vec<f64> {
        let values: Vec<f64> = both.iter().map(|&row| rows[(row, input.columns[0])]).collect();
        let count = values.len() as f64;
        let mean: f64 = values.iter().map(|v| v / count).sum();
        let largest = values.iter().map(|v| (v - mean).abs()).fold(0.0, f64::max);
        values.iter().map(|v| (v - mean) / largest).collect()
    };
    let (x, y) = (centred(a), centred(b));
    let sum = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| p * q).sum::<f64>();
    sum(&x, &y) / (sum(&x, &x) * sum(&y, &y)).sqrt()
}

/// The row with the smallest sum of distances to others (the medoid), in standard deviations; a few hundred rows are looked
/// at, spread evenly.
fn central(model: &Model, explainer: &Explainer<'_>) -> usize {
    let (rows, scale) = (explainer.rows(), model.input_std());
    let count = rows.nrows().min(CENTRAL);
    let some: Vec<usize> = (0..count).map(|i| i * rows.nrows() / count).collect();
    let mut totals = vec![0.0; count];
    for (d, scale) in scale.iter().enumerate() {
        let column: Vec<f64> = some.iter().map(|&row| rows[(row, d)] / scale).collect();
        for other in &column {
            totals.iter_mut().zip(&column).for_each(|(total, own)| *total += (own - other).abs());
        }
    }
    let best = totals.iter().zip(some).min_by(|a, b| a.0.total_cmp(b.0));
    best.map_or(0, |(_, row)| row)
}

impl Curve {
    fn new(explainer: &Explainer<'_>, input: usize, row_data: bool) -> Result<Curve> {
        let points = points(explainer, input, POINTS, row_data)?;
        let found = explainer.partial_dependence(input, points)?;
        let band = found.band(LEVEL)?;
        Ok(Curve {
            input,
            at: Axis::new(&found.points[0]),
            mean: by_task(&band.mean),
            lower: by_task(&band.lower),
            upper: by_task(&band.upper),
            averaged_over: found.background.len(),
        })
    }
}

impl Surface {
    fn new(explainer: &Explainer<'_>, order: &[usize], task: usize, row_data: bool) -> Result<Option<Surface>> {
        let &[first, second, ..] = order else { return Ok(None) };
        // A missing cell has no place on an axis of numbers.
        let points = |input| -> Result<Vec<Point>> {
            let mut found = points(explainer, input, SIDE, row_data)?;
            if explainer.inputs()[input].kind.is_number() {
                found.retain(|point| point.value != Value::Missing);
            }
            Ok(found)
        };
        let points = (points(first)?, points(second)?);
        let rows = near(explainer, (first, second), (&points.0, &points.1));
        let found = explainer.partial_dependence_of_two((first, second), points)?;
        let crowd = if row_data { 1 } else { CROWD };
        Ok(Some(Surface {
            inputs: [first, second],
            at: [Axis::new(&found.points[0]), Axis::new(&found.points[1])],
            mean: briefly(found.band(LEVEL)?.mean.col_as_slice(task).iter().copied()),
            rows: rows.into_iter().map(|count| if count < crowd { 0 } else { count }).collect(),
        }))
    }
}

/// How many rows have each pair of points as the nearest, or as a neighbour of it along an axis of numbers.
fn near(explainer: &Explainer<'_>, inputs: (usize, usize), points: (&[Point], &[Point])) -> Vec<usize> {
    let places = |input: usize, points: &[Point], row: usize| -> Vec<usize> {
        let input = &explainer.inputs()[input];
        if !present(explainer, input, row) && input.kind.is_number() {
            return Vec::new();
        }
        let off = |point: &Point| -> f64 {
            let cells = input.columns.iter().zip(&point.encoded);
            cells.map(|(&d, value)| (explainer.rows()[(row, d)] / 2.0 - value / 2.0).abs()).sum()
        };
        let nearest = (0..points.len()).min_by(|&a, &b| off(&points[a]).total_cmp(&off(&points[b])));
        match (nearest, &input.kind) {
            (None, _) => Vec::new(),
            (Some(place), kind) if kind.is_number() => {
                (place.saturating_sub(1)..(place + 2).min(points.len())).collect()
            }
            (Some(place), _) => vec![place],
        }
    };
    let mut counts = vec![0; points.0.len() * points.1.len()];
    for row in 0..explainer.rows().nrows() {
        let second = places(inputs.1, points.1, row);
        for a in places(inputs.0, points.0, row) {
            second.iter().for_each(|b| counts[a * points.1.len() + b] += 1);
        }
    }
    counts
}

/// Where an input is shown. Without row data a number is not shown at values of rows, but evenly between its percentiles.
fn points(explainer: &Explainer<'_>, input: usize, most: usize, row_data: bool) -> Result<Vec<Point>> {
    let mut points = explainer.points(input, most)?;
    let facts = &explainer.inputs()[input];
    if row_data || !facts.kind.is_number() {
        return Ok(points);
    }
    points.retain(|point| point.value == Value::Missing);
    let [low, high] = range(values(explainer, facts), false);
    let at = |i: usize| {
        let share = i as f64 / (most - 1) as f64;
        let value = low * (1.0 - share) + high * share;
        let encoded = match &facts.kind {
            Kind::Date(date) => date.encode(Some(value)),
            _ => [vec![value], vec![0.0; facts.columns.len() - 1]].concat(),
        };
        Point { value: Value::Number(value), encoded }
    };
    Ok((0..most).map(at).chain(points).collect())
}

impl Axis {
    fn new(points: &[Point]) -> Axis {
        let (mut numbers, mut labels) = (Vec::new(), Vec::new());
        for point in points {
            match &point.value {
                Value::Number(value) => numbers.push(brief(*value)),
                Value::Level(level) => labels.push(level.clone()),
                Value::Missing => labels.push("(missing)".into()),
                Value::Present => labels.push("(present)".into()),
            }
        }
        Axis { numbers, labels }
    }
}

/// Correlations between targets, row after row of each table.
#[derive(Serialize)]
pub(super) struct Together {
    targets: Vec<Vec<f64>>,
    signal: Vec<Vec<f64>>,
    residuals: Vec<Vec<f64>>,
}

impl Together {
    pub(super) fn new(model: &Model, data: &Dataset, left_out: &Diagnostics) -> Result<Together> {
        let TaskCorrelation { targets, signal, residuals } = task_correlation(model, data, left_out)?;
        Ok(Together { targets: by_task(&targets), signal: by_task(&signal), residuals: by_task(&residuals) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_row_data_bars_have_no_holes() {
        // Skewed, with rows far out, and mostly zeros: bars of equal width would be empty or hold single rows.
        let skewed: Vec<f64> = (0..200).map(|n| (f64::from(n) / 25.0).exp()).collect();
        let zeros: Vec<f64> = (0..200).map(|n| f64::from((n - 150).max(0))).collect();
        for (values, least) in [(skewed, 15), (zeros, 3)] {
            let found = Histogram::new(values.clone(), false);
            assert!(
                found.counts.len() >= least && found.counts.iter().all(|count| *count >= CROWD),
                "{:?}",
                found.counts
            );
            assert!(
                found.edges.windows(2).all(|pair| pair[0] < pair[1]) && found.edges.len() == found.counts.len() + 1
            );
            let inside =
                values.iter().filter(|value| (found.edges[0]..=found.edges[found.counts.len()]).contains(*value));
            assert_eq!(found.counts.iter().sum::<usize>(), inside.count());
        }
        let found = Histogram::new((0..240).map(f64::from).collect(), true);
        assert_eq!((found.counts, found.edges.len()), (vec![10; 24], 25));
    }
}
