//! Where the model fails: errors in parts of the table, and whether they are more than chance.

use super::quality::CROWD;
use super::{Options, brief};
use rffblr::data::Dataset;
use rffblr::explain::{Diagnostics, Explainer, Kind};
use rffblr::normal;
use serde::Serialize;

/// Inputs that divide the rows, and parts shown, by falling size of their worst error.
const DIVIDING: usize = 40;
const SHOWN: usize = 60;
/// Rows without which a part says nothing.
const FEWEST: usize = 5;
/// Rows without which a part has no say in whether errors have a pattern.
const JUDGED: usize = 10;
/// How often chance alone may look like a pattern.
const CHANCE: f64 = 0.02;
/// Reach of a 90 % interval.
const REACH: f64 = 1.644_853_626_951_472_2;

/// The rows that have something in common.
#[derive(Serialize)]
pub(super) struct Part {
    /// What they have in common: an input by its position, or the name of a column.
    input: Option<usize>,
    pub(super) column: String,
    /// Which of its values.
    pub(super) value: String,
    /// One for each task.
    pub(super) tasks: Vec<Errors>,
}

/// The errors of some rows: their mean and the mean of their sizes, each with the reach of its 90 % interval.
#[derive(Serialize)]
pub(super) struct Errors {
    pub(super) rows: usize,
    pub(super) mean: f64,
    mean_reach: f64,
    size: f64,
    size_reach: f64,
    /// Share inside their 90 % interval.
    inside: f64,
}

/// The most striking part.
pub(super) struct Pattern {
    /// Whether it is more than chance among all parts looked at.
    pub(super) real: bool,
    pub(super) task: usize,
    /// What the rows have in common.
    pub(super) column: String,
    pub(super) value: String,
    pub(super) rows: usize,
    /// Mean error, in predicted standard deviations.
    pub(super) mean: f64,
}

/// Errors by parts of the table.
pub(super) struct Groups {
    pub(super) parts: Vec<Part>,
    pub(super) pattern: Option<Pattern>,
}

struct Division {
    input: Option<usize>,
    column: String,
    value: String,
    rows: Vec<usize>,
}

impl Groups {
    /// By the values of the inputs of most relevance (`order`, for each task) and by the groups of the table.
    pub(super) fn new(
        explainer: &Explainer<'_>,
        order: &[Vec<usize>],
        data: &Dataset,
        found: &Diagnostics,
        options: &Options,
    ) -> Groups {
        let mut inputs: Vec<usize> = Vec::new();
        for place in 0..order.first().map_or(0, Vec::len) {
            for input in order.iter().map(|inputs| inputs[place]) {
                if inputs.len() < DIVIDING && !inputs.contains(&input) {
                    inputs.push(input);
                }
            }
        }
        let mut divisions: Vec<Division> =
            inputs.iter().flat_map(|&input| divided(explainer, input, data, options)).collect();
        divisions.extend(grouped(data, options));
        let fewest = if options.row_data { FEWEST } else { FEWEST.max(CROWD) };
        divisions.retain(|division| division.rows.len() >= fewest);
        let tasks = 0..data.targets().ncols();
        let pattern = pattern(&divisions, found, tasks.len());
        let mut parts: Vec<(f64, Part)> = divisions
            .into_iter()
            .map(|Division { input, column, value, rows }| {
                let tasks: Vec<Errors> = tasks.clone().map(|c| Errors::new(&rows, found, c, fewest)).collect();
                let worst = tasks.iter().map(|errors| (errors.mean / errors.mean_reach).abs()).fold(0.0, f64::max);
                (worst, Part { input, column, value, tasks })
            })
            .collect();
        parts.sort_by(|a, b| b.0.total_cmp(&a.0));
        parts.truncate(SHOWN);
        Groups { parts: parts.into_iter().map(|(_, part)| part).collect(), pattern }
    }
}

/// The quarters of a number and the levels of a text, in the data.
fn divided(explainer: &Explainer<'_>, input: usize, data: &Dataset, options: &Options) -> Vec<Division> {
    let facts = &explainer.inputs()[input];
    let division =
        |value: String, rows: Vec<usize>| Division { input: Some(input), column: facts.name.clone(), value, rows };
    let marked = |d: usize| -> Vec<usize> { (0..data.rows()).filter(|&n| data.inputs()[(n, d)] == 1.0).collect() };
    let missing = || facts.mark().map(|d| division("missing".into(), marked(d)));
    match &facts.kind {
        Kind::Presence => missing().into_iter().collect(),
        Kind::Text { levels, gaps } => {
            let levels = levels.iter().zip(&facts.columns).map(|(level, &d)| division(level.clone(), marked(d)));
            levels.chain(missing().filter(|_| *gaps)).collect()
        }
        Kind::Number { .. } | Kind::Date(_) => {
            let gap = |n: usize| facts.mark().is_some_and(|mark| data.inputs()[(n, mark)] == 1.0);
            let value = |n: usize| data.inputs()[(n, facts.columns[0])];
            let mut there: Vec<usize> = (0..data.rows()).filter(|&n| !gap(n)).collect();
            there.sort_by(|&a, &b| value(a).total_cmp(&value(b)));
            // Equal values stay together: a quarter ends where the value changes.
            let ends: Vec<usize> = (0..=4)
                .map(|k| match there.get(k * there.len() / 4) {
                    Some(&at) if k > 0 => there.partition_point(|&n| value(n) < value(at)),
                    Some(_) => 0,
                    None => there.len(),
                })
                .collect();
            let quarter = |pair: &[usize]| {
                let rows = there[pair[0]..pair[1]].to_vec();
                let [low, high] = [rows.first(), rows.last()].map(|n| n.map_or(f64::NAN, |&n| value(n)));
                // The ends of quarters are values of rows.
                let [low, high] = [low, high].map(|end| if options.row_data { end } else { rounded(end, high - low) });
                let text = super::verdict::significant;
                division(if low == high { text(low) } else { format!("{} to {}", text(low), text(high)) }, rows)
            };
            let quarters = ends.windows(2).filter(|pair| pair[0] < pair[1]).map(quarter);
            quarters.chain(missing()).collect()
        }
    }
}

/// A number without the digits below a tenth of a range.
fn rounded(value: f64, range: f64) -> f64 {
    let step = 10f64.powf((range.abs() / 10.0).log10().ceil());
    if step.is_finite() && step > 0.0 { (value / step).round() * step } else { value }
}

/// The groups of the table; their names may be those of persons.
fn grouped(data: &Dataset, options: &Options) -> Vec<Division> {
    let Some((column, names)) = options.groups.as_ref().filter(|(_, names)| names.len() == data.rows()) else {
        return Vec::new();
    };
    let mut of: std::collections::BTreeMap<&str, Vec<usize>> = std::collections::BTreeMap::new();
    for (row, name) in names.iter().enumerate() {
        of.entry(name).or_default().push(row);
    }
    let division = |(k, (name, rows)): (usize, (&str, Vec<usize>))| {
        let value = if options.row_data { name.to_owned() } else { format!("group {}", k + 1) };
        Division { input: None, column: column.clone(), value, rows }
    };
    of.into_iter().enumerate().map(division).collect()
}

impl Errors {
    fn new(rows: &[usize], found: &Diagnostics, task: usize, fewest: usize) -> Errors {
        let errors: Vec<f64> = rows.iter().map(|&n| found.residual[(n, task)]).filter(|e| !e.is_nan()).collect();
        if errors.len() < fewest {
            let [mean, mean_reach, size, size_reach, inside] = [f64::NAN; 5];
            return Errors { rows: errors.len(), mean, mean_reach, size, size_reach, inside };
        }
        let sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
        let (mean, mean_reach) = mean_of(&errors);
        let (size, size_reach) = mean_of(&sizes);
        let held = rows.iter().map(|&n| found.transform[(n, task)]).filter(|p| !p.is_nan());
        let inside = held.filter(|p| (0.05..=0.95).contains(p)).count() as f64 / errors.len() as f64;
        let [mean, mean_reach, size, size_reach, inside] = [mean, mean_reach, size, size_reach, inside].map(brief);
        Errors { rows: errors.len(), mean, mean_reach, size, size_reach, inside }
    }
}

/// A mean and the reach of its 90 % interval.
fn mean_of(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().map(|v| v / count).sum::<f64>();
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, REACH * (variance / count).sqrt())
}

/// The part whose mean standardised error is farthest from zero, judged against chance by Bonferroni's bound.
fn pattern(divisions: &[Division], found: &Diagnostics, tasks: usize) -> Option<Pattern> {
    let mut worst: Option<(f64, Pattern)> = None;
    let mut looked_at = 0;
    for task in 0..tasks {
        let all: Vec<f64> = found.standardised.col_as_slice(task).iter().copied().filter(|z| !z.is_nan()).collect();
        let spread = (all.iter().map(|z| z * z).sum::<f64>() / all.len().max(1) as f64).sqrt();
        for division in divisions {
            let own: Vec<f64> =
                division.rows.iter().map(|&n| found.standardised[(n, task)]).filter(|z| !z.is_nan()).collect();
            if own.len() < JUDGED {
                continue;
            }
            looked_at += 1;
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            let size = mean.abs() * (own.len() as f64).sqrt() / spread;
            if worst.as_ref().is_none_or(|(largest, _)| size > *largest) {
                let (column, value) = (division.column.clone(), division.value.clone());
                worst = Some((size, Pattern { real: false, task, column, value, rows: own.len(), mean }));
            }
        }
    }
    let limit = normal::quantile(1.0 - 0.5 * CHANCE / f64::from(looked_at.max(1)));
    worst.map(|(size, pattern)| Pattern { real: size > limit, ..pattern })
}
