//! How well the model does for rows left out, beside ridge regression and the mean; and what the inputs look like.

use super::{Options, brief, briefly};
use crate::baselines::{Ridge, TrainingMean};
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::{Mat, MatRef};
use crate::metrics::{MetricsError, ReferenceMean, Scores, Spread};
use crate::{Error, Model};
use serde::Serialize;

/// Probability of the intervals that are judged.
pub(super) const LEVEL: f64 = 0.9;
/// Most rows shown one by one.
const ROWS: usize = 2000;
/// Most cells of inputs of those rows.
const CELLS: usize = 150_000;
/// Bars of the strip that shows where the values of an input lie.
const BARS: usize = 24;
/// Without row data: fewest rows that may be told of together, and the share of rows cut off at both ends of a range.
const CROWD: usize = 5;
const TAIL: f64 = 0.05;

#[derive(Serialize)]
pub(super) struct Quality {
    pub(super) task_r2: f64,
    pub(super) pooled_r2: f64,
    pub(super) tasks: Vec<TaskQuality>,
    /// The model first, then ridge regression and the mean.
    pub(super) methods: Vec<MethodQuality>,
    strips: Vec<Strip>,
    rows: Option<Rows>,
}

#[derive(Serialize)]
pub(super) struct TaskQuality {
    pub(super) observed: usize,
    pub(super) r2: f64,
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
    /// Empty if there are too many.
    inputs: Vec<Vec<f64>>,
}

impl Quality {
    pub(super) fn new(model: &Model, data: &Dataset, options: &Options) -> Result<Quality> {
        let left_out = model.leave_one_out(data)?;
        let spread = Spread { std: left_out.std.as_ref(), level: LEVEL };
        let scores = scores(data, &left_out.mean, Some(spread))?;
        let each = &scores.per_task;
        let of = |list: &Option<Vec<f64>>, c: usize| list.as_ref().map_or(f64::NAN, |list| list[c]);
        let task = |c: usize| TaskQuality {
            observed: each.observed[c],
            r2: brief(each.r2[c]),
            rmse: brief(each.rmse[c]),
            mae: brief(each.mae[c]),
            nlpd: brief(of(&each.nlpd, c)),
            coverage: brief(of(&each.coverage, c)),
        };
        let ridge = self::scores(data, &Ridge.leave_one_out(data)?, None)?;
        let mean = self::scores(data, &TrainingMean.leave_one_out(data), None)?;
        let strip = |d: usize| Strip::new(data.inputs().col(d).iter().copied().collect(), options.row_data);
        Ok(Quality {
            task_r2: brief(scores.task_r2),
            pooled_r2: brief(scores.pooled_r2),
            tasks: (0..data.targets().ncols()).map(task).collect(),
            methods: vec![method("this model", &scores), method("ridge regression", &ridge), method("the mean", &mean)],
            strips: (0..data.inputs().ncols()).map(strip).collect(),
            rows: options.row_data.then(|| Rows::new(data, &left_out, options)),
        })
    }
}

fn scores(data: &Dataset, prediction: &Mat<f64>, spread: Option<Spread<'_>>) -> Result<Scores> {
    let wrong = |e: MetricsError| Error::Setting { name: "data", problem: e.to_string() };
    // Rows of weight zero were never learned from and are not judged.
    let observed = |row: usize| data.weights().is_none_or(|w| w[row] > 0.0);
    let truth = Mat::from_fn(data.rows(), data.targets().ncols(), |row, c| {
        if observed(row) { data.targets()[(row, c)] } else { f64::NAN }
    });
    Scores::new(truth.as_ref(), prediction.as_ref(), spread, ReferenceMean::Test).map_err(wrong)
}

fn method(name: &'static str, scores: &Scores) -> MethodQuality {
    MethodQuality {
        name,
        task_r2: brief(scores.task_r2),
        r2: briefly(scores.per_task.r2.iter().copied()),
        rmse: briefly(scores.per_task.rmse.iter().copied()),
    }
}

impl Strip {
    fn new(mut values: Vec<f64>, row_data: bool) -> Strip {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
        let (low, high) = if row_data { (at(0.0), at(1.0)) } else { (at(TAIL), at(1.0 - TAIL)) };
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

impl Rows {
    fn new(data: &Dataset, left_out: &crate::Prediction, options: &Options) -> Rows {
        let total = data.rows();
        let shown = total.min(ROWS);
        // Evenly through the table.
        let chosen: Vec<usize> = (0..shown).map(|i| i * total / shown).collect();
        let columns = |table: MatRef<'_, f64>| -> Vec<Vec<f64>> {
            (0..table.ncols()).map(|c| briefly(chosen.iter().map(|&row| table[(row, c)]))).collect()
        };
        let number = |&row: &usize| options.row_numbers.get(row).copied().unwrap_or(row + 1);
        // As they are in the table: a row that is loaded into the what-if panel gives the model's own prediction.
        let inputs = |d: usize| chosen.iter().map(|&row| data.inputs()[(row, d)]).collect();
        let few = shown * data.inputs().ncols() <= CELLS;
        Rows {
            total,
            number: chosen.iter().map(number).collect(),
            observed: columns(data.targets()),
            mean: columns(left_out.mean.as_ref()),
            std: columns(left_out.std.as_ref()),
            inputs: if few { (0..data.inputs().ncols()).map(inputs).collect() } else { Vec::new() },
        }
    }
}
