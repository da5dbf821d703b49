//! What the model learned: relevance, partial dependence, single predictions taken apart, correlations between targets.

use super::quality::range;
use super::{Options, briefly};
use rffblr::data::Dataset;
use rffblr::explain::{
    Diagnostics, Explainer, Kind, Point, Relevance, Shapley, TaskCorrelation, Value, task_correlation,
};
use rffblr::linalg::Mat;
use rffblr::{Model, Result};
use serde::Serialize;
use std::collections::BTreeSet;

/// Inputs whose partial dependence is drawn: most of one task, and of all tasks together.
const CURVES: usize = 12;
const ALL_CURVES: usize = 48;
/// Points of a curve, and of each side of the surface of two inputs.
const POINTS: usize = 33;
const SIDE: usize = 15;
/// Inputs named in the explanation of a row, and most numbers all such explanations may take.
const PARTS: usize = 10;
const NUMBERS: usize = 60_000;

#[derive(Serialize)]
pub(super) struct Learned {
    /// Inputs of the table, in the order of everything below.
    pub(super) inputs: Vec<InputFacts>,
    /// Rows the explanations look at the function around.
    rows: usize,
    pub(super) relevance: RelevanceFacts,
    /// For each task, inputs by falling relevance.
    order: Vec<Vec<usize>>,
    /// How many of them have a curve.
    curves_each: usize,
    curves: Vec<Curve>,
    /// For each task, the two inputs that act most together with others; `None` if there is but one.
    surfaces: Vec<Option<Surface>>,
    /// Rows taken apart in `Local`, and their Shapley values.
    #[serde(skip)]
    pub(super) explained: Vec<usize>,
    #[serde(skip)]
    pub(super) shapley: Shapley,
}

#[derive(Serialize)]
pub(super) struct InputFacts {
    name: String,
    columns: Vec<usize>,
    number: bool,
    /// How fast the kernel of each task changes along it.
    scale: Vec<f64>,
}

/// One list for each task, one entry for each input.
#[derive(Serialize)]
pub(super) struct RelevanceFacts {
    pub(super) first_order: Vec<Vec<f64>>,
    pub(super) total: Vec<Vec<f64>>,
    shapley: Vec<Vec<f64>>,
    first_order_std: Vec<Vec<f64>>,
    total_std: Vec<Vec<f64>>,
    shapley_std: Option<Vec<Vec<f64>>>,
}

/// Partial dependence on one input: numbers or labels on its axis, then a curve for each task.
#[derive(Serialize)]
struct Curve {
    input: usize,
    at: Axis,
    mean: Vec<Vec<f64>>,
    std: Vec<Vec<f64>>,
}

/// Partial dependence of one task on two inputs: the values of the second run fastest.
#[derive(Serialize)]
struct Surface {
    inputs: [usize; 2],
    at: [Axis; 2],
    mean: Vec<f64>,
}

/// What an input is set to: numbers, then labels (levels, missing).
#[derive(Serialize)]
struct Axis {
    numbers: Vec<f64>,
    labels: Vec<String>,
}

impl Learned {
    /// Around the training rows: those given, or those that a kernel machine keeps. `None` if there are none.
    pub(super) fn new(model: &Model, data: Option<&Dataset>, options: &Options) -> Result<Option<Learned>> {
        let stored = if data.is_none() { model.stored_inputs() } else { None };
        let Some(rows) = data.map(Dataset::inputs).or(stored.as_ref().map(Mat::as_ref)) else {
            return Ok(None);
        };
        let explainer = Explainer::new(model, rows, data.and_then(Dataset::weights))?;
        let relevance = explainer.relevance()?;
        let tasks = model.target_names().len();
        let order: Vec<Vec<usize>> = (0..tasks).map(|c| falling(relevance.variance.total.col_as_slice(c))).collect();
        let most_relevant = |count: usize| -> BTreeSet<usize> {
            order.iter().flat_map(|inputs| inputs.iter().take(count).copied()).collect()
        };
        let curves_each = (1..=CURVES).rev().find(|&count| most_relevant(count).len() <= ALL_CURVES).unwrap_or(1);
        let drawn = most_relevant(curves_each);
        let curve = |&input: &usize| Curve::new(&explainer, input, options.row_data);
        // What an input does beyond its own curve, it does together with others.
        let together = |c: usize| -> Vec<f64> {
            let pairs =
                relevance.variance.total.col_as_slice(c).iter().zip(relevance.variance.first_order.col_as_slice(c));
            pairs.map(|(total, alone)| total - alone).collect()
        };
        let surface = |c: usize| Surface::new(&explainer, &falling(&together(c)), c, options.row_data);
        let scales = explainer.learned_scales();
        let input = |(i, input): (usize, &rffblr::explain::Input)| InputFacts {
            name: input.name.clone(),
            columns: input.columns.clone(),
            number: matches!(input.kind, Kind::Number { .. } | Kind::Date(_)),
            scale: super::briefly(scales.row(i).iter().copied()),
        };
        Ok(Some(Learned {
            inputs: explainer.inputs().iter().enumerate().map(input).collect(),
            rows: rows.nrows(),
            curves_each,
            curves: drawn.iter().map(curve).collect::<Result<_>>()?,
            surfaces: (0..tasks).map(surface).collect::<Result<_>>()?,
            relevance: RelevanceFacts::new(&relevance),
            order,
            explained: relevance.explained,
            shapley: relevance.shapley,
        }))
    }
}

/// Positions by falling value.
fn falling(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
}

fn by_task(table: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..table.ncols()).map(|c| briefly(table.col_as_slice(c).iter().copied())).collect()
}

impl RelevanceFacts {
    fn new(relevance: &Relevance) -> RelevanceFacts {
        RelevanceFacts {
            first_order: by_task(&relevance.variance.first_order),
            total: by_task(&relevance.variance.total),
            shapley: by_task(&relevance.mean_absolute_shapley),
            first_order_std: by_task(&relevance.variance.first_order_std),
            total_std: by_task(&relevance.variance.total_std),
            shapley_std: relevance.mean_absolute_shapley_std.as_ref().map(by_task),
        }
    }
}

impl Curve {
    fn new(explainer: &Explainer<'_>, input: usize, row_data: bool) -> Result<Curve> {
        let points = points(explainer, input, POINTS, row_data)?;
        let found = explainer.partial_dependence(input, points)?;
        Ok(Curve { input, at: Axis::new(&found.points[0]), mean: by_task(&found.mean), std: by_task(&found.std) })
    }
}

impl Surface {
    fn new(explainer: &Explainer<'_>, order: &[usize], task: usize, row_data: bool) -> Result<Option<Surface>> {
        let &[first, second, ..] = order else { return Ok(None) };
        let points = |input| points(explainer, input, SIDE, row_data);
        let found = explainer.partial_dependence_of_two((first, second), (points(first)?, points(second)?))?;
        Ok(Some(Surface {
            inputs: [first, second],
            at: [Axis::new(&found.points[0]), Axis::new(&found.points[1])],
            mean: briefly(found.mean.col_as_slice(task).iter().copied()),
        }))
    }
}

/// Where an input is shown. Without row data a number is not shown at values of rows, but evenly between its percentiles.
fn points(explainer: &Explainer<'_>, input: usize, most: usize, row_data: bool) -> Result<Vec<Point>> {
    let mut points = explainer.points(input, most)?;
    let facts = &explainer.inputs()[input];
    if row_data || !matches!(facts.kind, Kind::Number { .. } | Kind::Date(_)) {
        return Ok(points);
    }
    points.retain(|point| point.value == Value::Missing);
    let values = explainer.rows().col(facts.columns[0]).iter().copied().collect();
    let [low, high] = range(values, false);
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
                Value::Number(value) => numbers.push(super::brief(*value)),
                Value::Level(level) => labels.push(level.clone()),
                Value::Missing => labels.push("(missing)".into()),
                Value::Present => labels.push("(present)".into()),
            }
        }
        Axis { numbers, labels }
    }
}

/// An input, its share of a prediction, and the standard deviation of that where it is known.
type Part = (usize, f64, Option<f64>);

/// Predictions of single rows taken apart: Shapley values.
#[derive(Serialize)]
pub(super) struct Local {
    /// Positions among the rows shown.
    rows: Vec<usize>,
    /// Mean prediction for each task.
    base: Vec<f64>,
    /// For each task and row, the inputs of largest share.
    parts: Vec<Vec<Vec<Part>>>,
    /// How many inputs are not among them, and their shares together.
    others: usize,
    rest: Vec<Vec<f64>>,
    background: usize,
}

impl Local {
    /// From the rows explained; `shown` are the rows that the report shows, those among them.
    pub(super) fn new(learned: &Learned, shown: &[usize]) -> Local {
        let Learned { shapley: found, explained, .. } = learned;
        let (tasks, inputs) = (found.values.len(), found.values[0].ncols());
        let most = (NUMBERS / (3 * PARTS * tasks)).clamp(1, explained.len());
        let chosen: Vec<usize> = (0..most).map(|i| i * explained.len() / most).collect();
        let place = |row: &usize| shown.binary_search(row).unwrap_or_else(|next| next);
        let rows = chosen.iter().map(|&i| place(&explained[i])).collect();
        let part = |c: usize, row: usize| -> Vec<Part> {
            let values: Vec<f64> = (0..inputs).map(|i| found.values[c][(row, i)]).collect();
            let size: Vec<f64> = values.iter().map(|value| value.abs()).collect();
            let std = |i: usize| found.std.as_ref().map(|std| super::brief(std[c][(row, i)]));
            falling(&size).into_iter().take(PARTS).map(|i| (i, super::brief(values[i]), std(i))).collect()
        };
        let parts: Vec<Vec<_>> = (0..tasks).map(|c| chosen.iter().map(|&row| part(c, row)).collect()).collect();
        // What is left to the prediction, so that the shares shown add up to it.
        let rest = |c: usize| {
            let left = |(i, &row): (usize, &usize)| {
                let shown: f64 = parts[c][i].iter().map(|part| part.1).sum();
                found.prediction[(row, c)] - found.base[c] - shown
            };
            briefly(chosen.iter().enumerate().map(left))
        };
        Local {
            base: briefly(found.base.iter().copied()),
            others: inputs.saturating_sub(PARTS),
            rest: (0..tasks).map(rest).collect(),
            background: found.background.len(),
            parts,
            rows,
        }
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
