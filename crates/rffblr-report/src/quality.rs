//! How well the model does in refits on held-out folds and for rows left out at fixed scales, beside ridge regression and the mean; and what the inputs look like.

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
/// Bars of the strip that shows where the values of an input lie.
const BARS: usize = 24;
/// Without row data: fewest rows that may be shown together, and the share of rows cut off at both ends of a range.
pub(super) const CROWD: usize = 5;
const TAIL: f64 = 0.05;
/// Bars of the histogram of the probability integral transform.
const TRANSFORM_BARS: usize = 10;
/// Rows listed as influential.
const INFLUENTIAL: usize = 10;

/// What a model is judged by.
#[derive(Serialize)]
pub(super) struct Marks {
    pub(super) tasks: Vec<TaskQuality>,
    /// The model first, then ridge regression and the mean.
    pub(super) methods: Vec<MethodQuality>,
}

/// Refits on held-out folds: the marks that count.
#[derive(Serialize)]
pub(super) struct Checked {
    pub(super) headline: String,
    /// How many refits, and how rows were split, in words.
    pub(super) how: String,
    #[serde(flatten)]
    pub(super) marks: Marks,
}

impl Checked {
    pub(super) fn new(check: &Check) -> Checked {
        Checked {
            headline: check.headline(),
            how: check.how(),
            marks: Marks::new([&check.model.scores, &check.ridge.scores, &check.mean.scores], &check.model.r2_se),
        }
    }
}

/// Each row left out in turn at fixed scales: a diagnostic.
#[derive(Serialize)]
pub(super) struct Quality {
    #[serde(flatten)]
    pub(super) marks: Marks,
    /// Probabilities of intervals, and the share of values inside for each task.
    levels: Vec<f64>,
    inside: Vec<Vec<f64>>,
    /// How many values of each task lie in each tenth of their predicted distribution.
    transform: Vec<Vec<usize>>,
    strips: Vec<Strip>,
    rows: Option<Rows>,
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
}

/// Where the values of an input lie.
#[derive(Serialize)]
struct Strip {
    low: f64,
    high: f64,
    counts: Vec<usize>,
}

/// Single rows: one list for each task or input.
#[derive(Serialize)]
struct Rows {
    /// How many there are; fewer may be shown.
    total: usize,
    number: Vec<usize>,
    observed: Vec<Vec<f64>>,
    mean: Vec<Vec<f64>>,
    std: Vec<Vec<f64>>,
    /// Ends of intervals, and residuals in standard deviations on the scale of the fit, if some target is transformed.
    laws: Option<[Vec<Vec<f64>>; 3]>,
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

impl Quality {
    pub(super) fn new(
        model: &Model,
        data: &Dataset,
        found: &Diagnostics,
        shown: &[usize],
        options: &Options,
    ) -> Result<Quality> {
        let left_out = &found.prediction;
        let levels: Vec<f64> = (1..20).map(|i| f64::from(i) * 0.05).collect();
        let calibration = found.calibration(&levels);
        let inside = |c: usize| briefly(calibration.iter().map(|at| at.per_task[c]));
        let scores = left_out.clone().held_out(data.judged_targets())?.scores(LEVEL, ReferenceMean::Test)?;
        let ridge = self::scores(data, &Ridge.leave_one_out(data)?)?;
        let mean = self::scores(data, &TrainingMean.leave_one_out(data))?;
        let strip = |d: usize| Strip::new(data.inputs().col(d).iter().copied().collect(), options.row_data);
        Ok(Quality {
            marks: Marks::new([&scores, &ridge, &mean], &vec![f64::NAN; data.targets().ncols()]),
            inside: (0..data.targets().ncols()).map(inside).collect(),
            levels: briefly(levels.iter().copied()),
            transform: (0..data.targets().ncols()).map(|c| histogram(found.transform.col_as_slice(c))).collect(),
            strips: (0..data.inputs().ncols()).map(strip).collect(),
            rows: options.row_data.then(|| Rows::new(model, data, found, shown, options)),
        })
    }
}

fn scores(data: &Dataset, prediction: &Mat<f64>) -> Result<Scores> {
    Ok(Scores::new(data.judged_targets().as_ref(), prediction.as_ref(), None, ReferenceMean::Test)?)
}

impl Marks {
    /// From the scores of the model, of ridge regression and of the mean.
    fn new([model, ridge, mean]: [&Scores; 3], r2_se: &[f64]) -> Marks {
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
        }
    }
}

fn method(name: &'static str, scores: &Scores) -> MethodQuality {
    MethodQuality {
        name,
        task_r2: brief(scores.task_r2),
        r2: briefly(scores.per_task.r2.iter().copied()),
        rmse: briefly(scores.per_task.rmse.iter().copied()),
    }
}

/// How many probabilities lie in each tenth.
fn histogram(probabilities: &[f64]) -> Vec<usize> {
    let mut counts = vec![0; TRANSFORM_BARS];
    for p in probabilities.iter().filter(|p| !p.is_nan()) {
        counts[((p * TRANSFORM_BARS as f64) as usize).min(TRANSFORM_BARS - 1)] += 1;
    }
    counts
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

impl Strip {
    fn new(values: Vec<f64>, row_data: bool) -> Strip {
        let [low, high] = range(values.clone(), row_data);
        let mut counts = vec![0; BARS];
        for value in values.iter().filter(|value| (low..=high).contains(*value)) {
            // Halves first: the range of finite numbers may not be finite.
            let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            let bar = if share.is_finite() { (share * BARS as f64) as usize } else { 0 };
            counts[bar.min(BARS - 1)] += 1;
        }
        if !row_data {
            counts.iter_mut().filter(|count| **count < CROWD).for_each(|count| *count = 0);
        }
        Strip { low: brief(low), high: brief(high), counts }
    }
}

/// Rows that are shown one by one: evenly through the table, and those explained, in rising order.
pub(super) fn shown_rows(model: &Model, explained: &[usize]) -> Vec<usize> {
    let rows = model.training_rows();
    let most = ROWS.min(TARGET_CELLS / model.target_names().len()).clamp(1, rows.max(1));
    let mut chosen: Vec<usize> = (0..most).map(|i| i * rows / most).chain(explained.iter().copied()).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

impl Rows {
    fn new(model: &Model, data: &Dataset, found: &Diagnostics, chosen: &[usize], options: &Options) -> Rows {
        let in_formula = model.settings().form == Form::Kernel;
        let columns = |table: MatRef<'_, f64>| -> Vec<Vec<f64>> {
            (0..table.ncols()).map(|c| briefly(chosen.iter().map(|&row| table[(row, c)]))).collect()
        };
        let number = |&row: &usize| options.row_numbers.get(row).copied().unwrap_or(row + 1);
        // As they are in the table: a row that is loaded into the what-if panel gives the model's own prediction.
        let inputs = |d: usize| chosen.iter().map(|&row| data.inputs()[(row, d)]).collect();
        let few = chosen.len() * data.inputs().ncols() <= INPUT_CELLS;
        let laws = found.prediction.laws().and_then(|_| found.prediction.interval(LEVEL).ok());
        let laws = laws.map(|(lower, upper)| [lower, upper, found.standardised.clone()].map(|t| columns(t.as_ref())));
        Rows {
            total: data.rows(),
            number: chosen.iter().map(number).collect(),
            position: chosen.to_vec(),
            observed: columns(data.targets()),
            mean: columns(found.prediction.point().as_ref()),
            std: columns(found.prediction.std.as_ref()),
            laws,
            leverage: columns(found.leverage.as_ref()),
            influence: columns(found.influence.as_ref()),
            most_influential: found
                .most_influential(INFLUENTIAL)
                .iter()
                .map(|(row, size)| (number(row), brief(*size)))
                .collect(),
            inputs: if few && !in_formula { (0..data.inputs().ncols()).map(inputs).collect() } else { Vec::new() },
        }
    }
}
