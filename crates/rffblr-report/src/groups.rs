//! Where the model fails: errors in parts of the table, and whether they are more than chance.

use super::quality::CROWD;
use super::{Options, brief};
use rffblr::data::Dataset;
use rffblr::explain::{Diagnostics, Explainer, Kind};
use rffblr::internals::significant;
use rffblr::linalg::Mat;
use rffblr::metrics::LEVEL;
use rffblr::table::{DAY, date_text};
use rffblr::{Result, normal};
use serde::Serialize;

/// Inputs that divide the rows, and parts shown, by falling size of their worst error.
const DIVIDING: usize = 40;
const SHOWN: usize = 60;
/// Rows without which a part says nothing.
const FEWEST: usize = 5;
/// Rows without which a part has no say in whether errors have a pattern, or are larger.
const JUDGED: usize = 10;
/// Values of a number that make a part each; of one with more, every quarter does.
const VALUES: usize = 6;
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
    /// Whether they are larger than those of all rows by more than chance, among all parts looked at.
    larger: bool,
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
    /// Those that stand out most, and how many were looked at.
    pub(super) parts: Vec<Part>,
    pub(super) total: usize,
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
    ) -> Result<Groups> {
        let inside = found.inside(LEVEL)?;
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
        divisions.retain(|division| (fewest..data.rows()).contains(&division.rows.len()));
        let tasks = 0..data.targets().ncols();
        let pattern = pattern(&divisions, found, tasks.len());
        let (total, all) = (divisions.len(), tasks.clone().map(|c| AllErrors::new(found, c)).collect::<Vec<_>>());
        let limit = limit(total * tasks.len());
        let mut parts: Vec<(f64, Part)> = divisions
            .into_iter()
            .map(|Division { input, column, value, rows }| {
                let errors = |c: usize| Errors::new(&rows, (found, &inside), c, fewest, &all[c], limit);
                let (worst, tasks): (Vec<f64>, Vec<Errors>) = tasks.clone().map(errors).unzip();
                (worst.into_iter().fold(0.0, f64::max), Part { input, column, value, tasks })
            })
            .collect();
        parts.sort_by(|a, b| b.0.total_cmp(&a.0));
        parts.truncate(SHOWN);
        Ok(Groups { parts: parts.into_iter().map(|(_, part)| part).collect(), total, pattern })
    }
}

/// The values of a number, or its quarters if there are many, and the levels of a text, in the data.
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
            let sorted: Vec<f64> = there.iter().map(|&n| value(n)).collect();
            let part = |pair: &[usize]| {
                let rows = there[pair[0]..pair[1]].to_vec();
                let [low, high] = [sorted[pair[0]], sorted[pair[1] - 1]];
                // The ends of quarters are values of rows.
                let [low, high] = [low, high].map(|end| if options.row_data { end } else { rounded(end, high - low) });
                let text = |value: f64| match &facts.kind {
                    Kind::Date(date) if !date.is_clock() => date_text(date.start + DAY * value).replace('T', " "),
                    // Four digits, without the zeros at their end.
                    _ => {
                        significant(value, 4).parse().map_or_else(|_| value.to_string(), |short: f64| short.to_string())
                    }
                };
                division(if low == high { text(low) } else { format!("{} to {}", text(low), text(high)) }, rows)
            };
            let parts = bounds(&sorted);
            parts.windows(2).filter(|pair| pair[0] < pair[1]).map(part).chain(missing()).collect()
        }
    }
}

/// Where the parts of rising values begin, and their number: each of a few values is one, else each quarter. Equal values
/// stay together.
fn bounds(sorted: &[f64]) -> Vec<usize> {
    let starts = || (1..sorted.len()).filter(|&i| sorted[i - 1] < sorted[i]);
    let inner: Vec<usize> = match starts().nth(VALUES - 1) {
        None => starts().collect(),
        Some(_) => {
            let mut inner = Vec::new();
            for at in (1..4).filter_map(|k| sorted.get(k * sorted.len() / 4)) {
                let before = sorted.partition_point(|value| value < at);
                // A value that more than a quarter of the rows have is a part of its own.
                let end = if inner.last().copied().unwrap_or(0) < before {
                    before
                } else {
                    sorted.partition_point(|value| value <= at)
                };
                if end < sorted.len() && inner.last().is_none_or(|last| *last < end) {
                    inner.push(end);
                }
            }
            inner
        }
    };
    [vec![0], inner, vec![sorted.len()]].concat()
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

/// What the errors of parts are compared with: those of all rows.
struct AllErrors {
    count: f64,
    root_mean_square: f64,
    /// Mean, standard deviation and skewness of their sizes.
    size: f64,
    spread: f64,
    skewness: f64,
}

impl AllErrors {
    fn new(found: &Diagnostics, task: usize) -> AllErrors {
        let errors: Vec<f64> = found.residual.col_as_slice(task).iter().copied().filter(|e| !e.is_nan()).collect();
        let count = errors.len() as f64;
        let mean = |of: &dyn Fn(f64) -> f64| errors.iter().map(|&e| of(e) / count).sum::<f64>();
        let size = mean(&f64::abs);
        let spread = mean(&|e| (e.abs() - size).powi(2)).sqrt();
        AllErrors {
            root_mean_square: mean(&|e| e * e).sqrt(),
            skewness: mean(&|e| ((e.abs() - size) / spread).powi(3)),
            count,
            size,
            spread,
        }
    }

    /// By how many standard deviations the mean size of some errors is above that of as many drawn from all without
    /// replacement, and by how many it may be where a normal variable may be by `limit`: sums of few skewed sizes have
    /// longer tails (Cornish and Fisher's first term).
    fn judged(&self, size: f64, count: f64, limit: f64) -> (f64, f64) {
        let deviation = self.spread * ((1.0 / count - 1.0 / self.count).max(0.0)).sqrt();
        let above = if deviation > 0.0 { (size - self.size) / deviation } else { 0.0 };
        (above, limit + (limit * limit - 1.0) * self.skewness / (6.0 * count.sqrt()))
    }
}

impl Errors {
    /// And by how many standard deviations they stand out, by their mean or by their size.
    fn new(
        rows: &[usize],
        (found, inside): (&Diagnostics, &Mat<f64>),
        task: usize,
        fewest: usize,
        all: &AllErrors,
        limit: f64,
    ) -> (f64, Errors) {
        let errors: Vec<f64> = rows.iter().map(|&n| found.residual[(n, task)]).filter(|e| !e.is_nan()).collect();
        if errors.len() < fewest {
            let [mean, mean_reach, size, size_reach, inside] = [f64::NAN; 5];
            let rows = errors.len();
            return (0.0, Errors { rows, mean, mean_reach, size, size_reach, larger: false, inside });
        }
        let sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
        let (mean, mean_reach) = mean_of(&errors);
        let (size, size_reach) = mean_of(&sizes);
        let count = errors.len() as f64;
        let inside = rows.iter().map(|&n| inside[(n, task)]).filter(|held| !held.is_nan()).sum::<f64>() / count;
        let (above, may_be) = all.judged(size, count, limit);
        let stands_out = above.max(mean.abs() * count.sqrt() / all.root_mean_square);
        let larger = errors.len() >= JUDGED && above > may_be;
        let [mean, mean_reach, size, size_reach, inside] = [mean, mean_reach, size, size_reach, inside].map(brief);
        (stands_out, Errors { rows: errors.len(), mean, mean_reach, size, size_reach, larger, inside })
    }
}

/// A mean and the reach of its 90 % interval.
fn mean_of(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().map(|v| v / count).sum::<f64>();
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, REACH * (variance / count).sqrt())
}

/// What a normal variable exceeds by chance alone when so many are looked at (Bonferroni's bound).
fn limit(looked_at: usize) -> f64 {
    normal::quantile(1.0 - CHANCE / looked_at.max(1) as f64)
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
    // The mean may be off to either side.
    let limit = limit(2 * looked_at);
    worst.map(|(size, pattern)| Pattern { real: size > limit, ..pattern })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_many_rows_are_parts_of_their_own() {
        let of = |values: &[(f64, usize)]| {
            let mut all: Vec<f64> = values.iter().flat_map(|&(value, rows)| vec![value; rows]).collect();
            all.sort_by(f64::total_cmp);
            bounds(&all)
        };
        // Nine of ten are zero, and the rest one, or all different.
        assert_eq!(of(&[(0.0, 90), (1.0, 10)]), [0, 90, 100]);
        let rest: Vec<(f64, usize)> = (1..=10).map(|i| (f64::from(i), 1)).collect();
        assert_eq!(of(&[&[(0.0, 90)], &rest[..]].concat()), [0, 90, 100]);
        assert_eq!(of(&[&[(11.0, 90)], &rest[..]].concat()), [0, 10, 100]);
        let even: Vec<(f64, usize)> = (0..40).map(|i| (f64::from(i), 1)).collect();
        assert_eq!(of(&even), [0, 10, 20, 30, 40]);
        assert_eq!(of(&even[..6]), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!((of(&[(2.0, 9)]), of(&[])), (vec![0, 9], vec![0, 0]));
    }
}
