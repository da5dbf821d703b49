//! How well the model does in refits on held-out folds and for rows left out at fixed scales, beside ridge regression and the mean.

use super::{Options, brief, briefly};
use rffblr::data::Dataset;
use rffblr::explain::Diagnostics;
use rffblr::linalg::{Mat, MatRef};
use rffblr::metrics::{Check, LEVEL, ReferenceMean, Scores};
use rffblr::{Form, Model, Result};
use rffblr_methods::baselines::{Ridge, TrainingMean};
use serde::Serialize;

/// Most rows shown one by one, most cells of targets in them, most cells of inputs.
const ROWS: usize = 2000;
const TARGET_CELLS: usize = 40_000;
const INPUT_CELLS: usize = 60_000;
/// Without row data: fewest rows that may be shown together, and the share of rows cut off at both ends of a range.
pub(super) const CROWD: usize = 5;
const TAIL: f64 = 0.05;
/// Bars of the histogram of the probability integral transform.
const TRANSFORM_BARS: usize = 10;
/// Squares on a side that stand for single rows where these may not be shown, at most and at least.
const SIDE: usize = 14;
const FEW_SQUARES: usize = 3;
/// How far squares of standardised residuals reach at least: so many times as far as their 90 % interval.
const EDGE: f64 = 1.2;
/// Rows listed as influential.
const INFLUENTIAL: usize = 10;

/// What a model is judged by.
#[derive(Serialize)]
pub(super) struct Marks {
    pub(super) tasks: Vec<TaskQuality>,
    /// The model first, then ridge regression and the mean.
    pub(super) methods: Vec<MethodQuality>,
    /// Standard error of the task R² of the model; NaN where it is not known.
    pub(super) task_r2_se: f64,
}

/// Refits on held-out folds: the marks that count.
#[derive(Serialize)]
pub(super) struct Checked {
    /// How many refits, and how rows were split, in words.
    pub(super) how: String,
    #[serde(flatten)]
    pub(super) marks: Marks,
}

impl Checked {
    pub(super) fn new(check: &Check) -> Checked {
        let methods = [&check.model.scores, &check.ridge.scores, &check.mean.scores];
        Checked { how: check.how(), marks: Marks::new(methods, check.model.task_r2_se, &check.model.r2_se) }
    }
}

/// The rows of a table, each predicted without it: training rows left out in turn at fixed scales, or new rows.
#[derive(Serialize)]
pub(super) struct Quality {
    /// Whether the rows are none that the model was fitted to.
    pub(super) new: bool,
    #[serde(flatten)]
    pub(super) marks: Marks,
    /// Probabilities of intervals, and the share of values inside for each task.
    levels: Vec<f64>,
    inside: Vec<Vec<f64>>,
    /// How many values of each task lie in each tenth of their predicted distribution.
    transform: Vec<Vec<usize>>,
    pub(super) rows: Option<Rows>,
    /// What stands for the rows where they may not be shown, for each task.
    squares: Vec<Squares>,
}

#[derive(Serialize)]
pub(super) struct TaskQuality {
    pub(super) observed: usize,
    pub(super) r2: f64,
    /// Standard error of R²; NaN where it is not known.
    pub(super) r2_se: f64,
    pub(super) rmse: f64,
    pub(super) mae: f64,
    pub(super) nlpd: f64,
    /// Share of observed values inside their 90 % interval.
    pub(super) coverage: f64,
}

#[derive(Serialize)]
pub(super) struct MethodQuality {
    pub(super) name: &'static str,
    pub(super) task_r2: f64,
    pub(super) r2: Vec<f64>,
    pub(super) rmse: Vec<f64>,
    pub(super) mae: Vec<f64>,
}

/// Single rows: one list for each task or input.
#[derive(Serialize)]
pub(super) struct Rows {
    /// How many there are; fewer may be shown.
    total: usize,
    number: Vec<usize>,
    observed: Vec<Vec<f64>>,
    mean: Vec<Vec<f64>>,
    /// Ends of the 90 % interval.
    lower: Vec<Vec<f64>>,
    upper: Vec<Vec<f64>>,
    /// Observed minus predicted, in predicted standard deviations.
    standardised: Vec<Vec<f64>>,
    /// Empty for new rows, as is what follows.
    leverage: Vec<Vec<f64>>,
    /// How far a fitted value moves when its row is left out, in predicted standard deviations.
    influence: Vec<Vec<f64>>,
    /// The rows that do so most over all tasks: number in the table and root mean square.
    most_influential: Vec<(usize, f64)>,
    /// Positions among the rows of the data.
    position: Vec<usize>,
    /// Empty if there are too many, or if the formula of a kernel machine has them.
    inputs: Vec<Vec<f64>>,
}

/// How many rows lie in each square of predicted and observed values, and of predicted values and residuals.
#[derive(Serialize)]
struct Squares {
    predicted: [f64; 2],
    observed: [f64; 2],
    counts: Vec<Vec<usize>>,
    residual: [f64; 2],
    residual_counts: Vec<Vec<usize>>,
}

impl Quality {
    pub(super) fn new(
        model: &Model,
        data: &Dataset,
        new: bool,
        found: &Diagnostics,
        shown: &[usize],
        options: &Options,
    ) -> Result<Quality> {
        let prediction = &found.prediction;
        let levels: Vec<f64> = (1..20).map(|i| f64::from(i) * 0.05).collect();
        let calibration = found.calibration(&levels)?;
        let inside = |c: usize| briefly(calibration.iter().map(|at| at.per_task[c]));
        let tasks = data.targets().ncols();
        let scores = prediction.clone().held_out(data.judged_targets())?.scores(LEVEL, ReferenceMean::Test)?;
        // What ridge regression would have said of new rows needs those it learns from; the mean is then theirs.
        let (ridge, mean) = match new {
            true => (Mat::full(data.rows(), tasks, f64::NAN), own_means(data)),
            false => (Ridge.leave_one_out(data)?, TrainingMean.leave_one_out(data)),
        };
        let (ridge, mean) = (scores_of(data, &ridge)?, scores_of(data, &mean)?);
        let reach = model.reach(LEVEL)?;
        let squares = |c: usize| Squares::new(data, found, c, reach[c]);
        let mut marks = Marks::new([&scores, &ridge, &mean], f64::NAN, &vec![f64::NAN; tasks]);
        // Of the intervals that are shown, which held-out rows may have made wider.
        let shown_intervals = found.calibration(&[LEVEL])?.remove(0);
        for (task, inside) in marks.tasks.iter_mut().zip(shown_intervals.per_task) {
            task.coverage = brief(inside);
        }
        Ok(Quality {
            new,
            marks,
            inside: (0..tasks).map(inside).collect(),
            levels: briefly(levels.iter().copied()),
            transform: (0..tasks).map(|c| histogram(found.transform.col_as_slice(c))).collect(),
            rows: options.row_data.then(|| Rows::new(model, data, new, found, shown, options)).transpose()?,
            squares: if options.row_data { Vec::new() } else { (0..tasks).map(squares).collect() },
        })
    }
}

/// The mean of each target, in every row.
fn own_means(data: &Dataset) -> Mat<f64> {
    let judged = data.judged_targets();
    let mean = |c: usize| {
        let known: Vec<f64> = judged.col_as_slice(c).iter().copied().filter(|y| !y.is_nan()).collect();
        known.iter().map(|y| y / known.len() as f64).sum::<f64>()
    };
    let means: Vec<f64> = (0..judged.ncols()).map(mean).collect();
    Mat::from_fn(judged.nrows(), means.len(), |_, c| means[c])
}

fn scores_of(data: &Dataset, prediction: &Mat<f64>) -> Result<Scores> {
    Ok(Scores::new(data.judged_targets().as_ref(), prediction.as_ref(), None, ReferenceMean::Test)?)
}

impl Marks {
    /// From the scores of the model, of ridge regression and of the mean.
    fn new([model, ridge, mean]: [&Scores; 3], task_r2_se: f64, r2_se: &[f64]) -> Marks {
        let each = &model.per_task;
        let of = |list: &Option<Vec<f64>>, c: usize| list.as_ref().map_or(f64::NAN, |list| list[c]);
        let task = |c: usize| TaskQuality {
            observed: each.observed[c],
            r2: brief(each.r2[c]),
            r2_se: brief(r2_se[c]),
            rmse: brief(each.rmse[c]),
            mae: brief(each.mae[c]),
            nlpd: brief(of(&each.nlpd, c)),
            coverage: brief(of(&each.coverage, c)),
        };
        Marks {
            tasks: (0..r2_se.len()).map(task).collect(),
            methods: vec![method("this model", model), method("ridge regression", ridge), method("the mean", mean)],
            task_r2_se: brief(task_r2_se),
        }
    }
}

fn method(name: &'static str, scores: &Scores) -> MethodQuality {
    MethodQuality {
        name,
        task_r2: brief(scores.task_r2),
        r2: briefly(scores.per_task.r2.iter().copied()),
        rmse: briefly(scores.per_task.rmse.iter().copied()),
        mae: briefly(scores.per_task.mae.iter().copied()),
    }
}

/// How many probabilities lie in each tenth.
fn histogram(probabilities: &[f64]) -> Vec<usize> {
    let mut counts = vec![0; TRANSFORM_BARS];
    for p in probabilities.iter().filter(|p| !p.is_nan()) {
        counts[bar_of(*p, [0.0, 1.0], TRANSFORM_BARS)] += 1;
    }
    counts
}

/// Which of equally wide bars between two ends a value is in.
fn bar_of(value: f64, [low, high]: [f64; 2], bars: usize) -> usize {
    // Halves first: the range of finite numbers may not be finite.
    let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    if share.is_finite() { ((share * bars as f64).max(0.0) as usize).min(bars - 1) } else { 0 }
}

/// The ends of the range in which values are shown: the smallest and the largest, or, where single rows may not be
/// shown, the middle of two neighbours near the 5th and the 95th percentile.
pub(super) fn range(mut values: Vec<f64>, row_data: bool) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return [0.0, 0.0] };
    if row_data {
        return [values[0], values[last]];
    }
    let cut = (TAIL * last as f64) as usize;
    let middle = |a: usize, b: usize| values[a] / 2.0 + values[b.min(last)] / 2.0;
    [middle(cut, cut + 1), middle(last - cut, (last - cut).saturating_sub(1))]
}

impl Squares {
    fn new(data: &Dataset, found: &Diagnostics, c: usize, reach: (f64, f64)) -> Squares {
        let cells: Vec<[f64; 3]> = (0..data.rows())
            .map(|n| [found.prediction.mean[(n, c)], data.targets()[(n, c)], found.standardised[(n, c)]])
            .filter(|cell| !cell[2].is_nan())
            .collect();
        let ends = |k: usize| range(cells.iter().map(|cell| cell[k]).collect(), false);
        let [predicted, observed, [low, high]] = [0, 1, 2].map(ends);
        // Where nine of ten should be is always in sight.
        let residual = [low.min(EDGE * reach.0), high.max(EDGE * reach.1)];
        // So few that most of them hold enough rows to be shown.
        let squares = (((cells.len() / (2 * CROWD)) as f64).sqrt() as usize).clamp(FEW_SQUARES, SIDE);
        let count = |k: usize, side: [f64; 2]| {
            let mut counts = vec![vec![0; squares]; squares];
            for cell in &cells {
                let inside = |value: f64, [low, high]: [f64; 2]| (low..=high).contains(&value);
                if inside(cell[0], predicted) && inside(cell[k], side) {
                    counts[bar_of(cell[0], predicted, squares)][bar_of(cell[k], side, squares)] += 1;
                }
            }
            counts.iter_mut().flatten().filter(|count| **count < CROWD).for_each(|count| *count = 0);
            counts
        };
        let brief = |ends: [f64; 2]| ends.map(brief);
        Squares {
            counts: count(1, observed),
            residual_counts: count(2, residual),
            predicted: brief(predicted),
            observed: brief(observed),
            residual: brief(residual),
        }
    }
}

/// Rows that are shown one by one: evenly through the table, and those explained, in rising order.
pub(super) fn shown_rows(rows: usize, tasks: usize, explained: &[usize]) -> Vec<usize> {
    let most = ROWS.min(TARGET_CELLS / tasks.max(1)).clamp(1, rows.max(1));
    let mut chosen: Vec<usize> = (0..most).map(|i| i * rows / most).chain(explained.iter().copied()).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

impl Rows {
    fn new(
        model: &Model,
        data: &Dataset,
        new: bool,
        found: &Diagnostics,
        chosen: &[usize],
        options: &Options,
    ) -> Result<Rows> {
        let in_formula = model.settings().form == Form::Kernel && !new;
        let columns = |table: MatRef<'_, f64>| -> Vec<Vec<f64>> {
            (0..table.ncols()).map(|c| briefly(chosen.iter().map(|&row| table[(row, c)]))).collect()
        };
        let old = |table: &Mat<f64>| if new { Vec::new() } else { columns(table.as_ref()) };
        let number = |&row: &usize| options.row_numbers.get(row).copied().unwrap_or(row + 1);
        let influential = if new { Vec::new() } else { found.most_influential(INFLUENTIAL) };
        let (lower, upper) = found.prediction.interval(LEVEL)?;
        // As they are in the table: a row that is loaded into the what-if panel gives the model's own prediction.
        let inputs = |d: usize| chosen.iter().map(|&row| data.inputs()[(row, d)]).collect();
        let few = chosen.len() * data.inputs().ncols() <= INPUT_CELLS;
        Ok(Rows {
            total: data.rows(),
            number: chosen.iter().map(number).collect(),
            position: chosen.to_vec(),
            observed: columns(data.targets()),
            mean: columns(found.prediction.point().as_ref()),
            lower: columns(lower.as_ref()),
            upper: columns(upper.as_ref()),
            standardised: columns(found.standardised.as_ref()),
            leverage: old(&found.leverage),
            influence: old(&found.influence),
            most_influential: influential.iter().map(|(row, size)| (number(row), brief(*size))).collect(),
            inputs: if few && !in_formula { (0..data.inputs().ncols()).map(inputs).collect() } else { Vec::new() },
        })
    }
}
