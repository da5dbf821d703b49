//! Single predictions taken apart: Shapley values of what is predicted for a row without it, in the unit of each target.

use super::learned::{Learned, falling};
use super::{Data, brief, briefly};
use rffblr::explain::{Diagnostics, Explainer, LeftOutShapley, Shapley};
use rffblr::internals::select_rows;
use rffblr::linalg::Mat;
use rffblr::{Model, Result};
use serde::Serialize;

/// Inputs named in the explanation of a row, and most numbers all such explanations may take.
const PARTS: usize = 10;
const NUMBERS: usize = 60_000;
/// Inputs whose shares are shown for all rows.
const SWARMS: usize = 10;

/// Rows explained one by one.
pub(super) struct Explained {
    /// Positions among the rows of the data.
    pub(super) rows: Vec<usize>,
    /// rows×C means over the background, and predictions.
    base: Mat<f64>,
    prediction: Mat<f64>,
    /// For each task, rows×inputs.
    values: Vec<Mat<f64>>,
    std: Option<Vec<Mat<f64>>>,
    /// Rows compared with.
    background: usize,
}

impl Explained {
    /// As many rows as take about half a second; deviations where they take no longer.
    pub(super) fn new(
        model: &Model,
        explainer: &Explainer<'_>,
        data: Data<'_>,
        left_out: &Diagnostics,
    ) -> Result<Option<Explained>> {
        let (most, against) = explainer.affordable_sample();
        let spread = |count: usize| -> Vec<usize> {
            let most = most.min(count);
            (0..most).map(|i| i * count / most).collect()
        };
        match data {
            Data::None => Ok(None),
            Data::Training(data) => {
                let rows = spread(data.rows());
                let explain = |against, std| -> Result<LeftOutShapley> {
                    Ok(explainer.shapley_left_out(&left_out.prediction, &rows, against, std)?.in_units(model))
                };
                let found = explain(against, false)?;
                let few = explainer.affordable_sample_with_std(rows.len());
                let std = few.map(|few| explain(few, true)).transpose()?.and_then(|found| found.std);
                let (base, prediction, values) = (found.base, found.prediction, found.values);
                Ok(Some(Explained { base, prediction, values, std, background: found.background.len(), rows }))
            }
            Data::New(data) => {
                let rows = spread(data.rows());
                let inputs = select_rows(data.inputs(), &rows);
                let found = explainer.shapley(inputs.as_ref(), against)?.in_units(model);
                let few = explainer.affordable_sample_with_std(rows.len());
                let with_std =
                    |few| -> Result<Shapley> { Ok(explainer.shapley_with_std(inputs.as_ref(), few)?.in_units(model)) };
                let std = few.map(with_std).transpose()?;
                Ok(Some(Explained {
                    base: Mat::from_fn(rows.len(), found.base.len(), |_, c| found.base[c]),
                    prediction: found.prediction,
                    values: found.values,
                    std: std.and_then(|found| found.std),
                    background: found.background.len(),
                    rows,
                }))
            }
        }
    }
}

/// An input, its share of a prediction, and the standard deviation of that where it is known.
type Part = (usize, f64, Option<f64>);

/// Predictions of single rows taken apart.
#[derive(Serialize)]
pub(super) struct Local {
    /// Positions among the rows shown.
    rows: Vec<usize>,
    /// For each task and row: the mean prediction, that of the row, and the inputs of largest share.
    base: Vec<Vec<f64>>,
    prediction: Vec<Vec<f64>>,
    parts: Vec<Vec<Vec<Part>>>,
    /// How many inputs are not among them, and their shares together.
    others: usize,
    rest: Vec<Vec<f64>>,
    background: usize,
}

impl Local {
    /// `shown` are the rows that the report shows, those explained among them.
    pub(super) fn new(found: &Explained, shown: &[usize]) -> Local {
        let (tasks, inputs) = (found.values.len(), found.values.first().map_or(0, Mat::ncols));
        let most = (NUMBERS / (3 * PARTS * tasks.max(1))).clamp(1, found.rows.len().max(1));
        let chosen: Vec<usize> = (0..most).map(|i| i * found.rows.len() / most).collect();
        let place = |row: &usize| shown.binary_search(row).unwrap_or_else(|next| next);
        let part = |c: usize, row: usize| -> Vec<Part> {
            let values: Vec<f64> = (0..inputs).map(|i| found.values[c][(row, i)]).collect();
            let size: Vec<f64> = values.iter().map(|value| value.abs()).collect();
            let std = |i: usize| found.std.as_ref().map(|std| brief(std[c][(row, i)]));
            falling(&size).into_iter().take(PARTS).map(|i| (i, brief(values[i]), std(i))).collect()
        };
        let parts: Vec<Vec<_>> = (0..tasks).map(|c| chosen.iter().map(|&row| part(c, row)).collect()).collect();
        // What is left to the prediction, so that the shares shown add up to it.
        let rest = |c: usize| {
            let left = |(i, &row): (usize, &usize)| {
                let shown: f64 = parts[c][i].iter().map(|part| part.1).sum();
                found.prediction[(row, c)] - found.base[(row, c)] - shown
            };
            briefly(chosen.iter().enumerate().map(left))
        };
        let of = |table: &Mat<f64>, c: usize| briefly(chosen.iter().map(|&row| table[(row, c)]));
        Local {
            rows: chosen.iter().map(|&i| place(&found.rows[i])).collect(),
            base: (0..tasks).map(|c| of(&found.base, c)).collect(),
            prediction: (0..tasks).map(|c| of(&found.prediction, c)).collect(),
            others: inputs.saturating_sub(PARTS),
            rest: (0..tasks).map(rest).collect(),
            background: found.background,
            parts,
        }
    }
}

/// What each input adds to the predictions of all rows explained.
#[derive(Serialize)]
pub(super) struct Swarm {
    input: usize,
    /// Each row's share and where its value lies among those of all rows, from 0 to 1; empty where no row may be shown.
    values: Vec<f64>,
    at: Vec<f64>,
    /// 5th, 25th, 50th, 75th and 95th percentile.
    quantiles: [f64; 5],
}

impl Swarm {
    /// For each task, the most relevant inputs.
    pub(super) fn of_tasks(
        found: &Explained,
        explainer: &Explainer<'_>,
        learned: &Learned,
        data: Data<'_>,
        row_data: bool,
    ) -> Vec<Vec<Swarm>> {
        let Some(table) = data.rows() else { return Vec::new() };
        let tasks = found.values.len();
        let most = (NUMBERS / (2 * SWARMS * tasks.max(1))).clamp(1, found.rows.len().max(1));
        let chosen: Vec<usize> = (0..most).map(|i| i * found.rows.len() / most).collect();
        let swarm = |c: usize, input: usize| {
            let values: Vec<f64> = chosen.iter().map(|&row| found.values[c][(row, input)]).collect();
            let facts = &explainer.inputs()[input];
            let own: Vec<f64> = chosen.iter().map(|&row| table.inputs()[(found.rows[row], facts.columns[0])]).collect();
            let marked =
                |i: usize| facts.mark().is_some_and(|mark| table.inputs()[(found.rows[chosen[i]], mark)] == 1.0);
            let missing = |i: usize| !facts.kind.is_number() || marked(i);
            let mut sorted = own.clone();
            sorted.sort_by(f64::total_cmp);
            let last = sorted.len().saturating_sub(1).max(1) as f64;
            let rank = |value: f64| {
                let (below, not_above) =
                    (sorted.partition_point(|v| *v < value), sorted.partition_point(|v| *v <= value));
                (below + not_above).saturating_sub(1) as f64 / 2.0 / last
            };
            let at = |i: usize| if missing(i) { f64::NAN } else { (rank(own[i]) * 1e3).round() / 1e3 };
            Swarm {
                input,
                quantiles: quantiles(&values),
                at: if row_data { (0..own.len()).map(at).collect() } else { Vec::new() },
                values: if row_data { briefly(values) } else { Vec::new() },
            }
        };
        let of_task = |c: usize| learned.order[c].iter().take(SWARMS).map(|&input| swarm(c, input)).collect();
        (0..tasks).map(of_task).collect()
    }
}

/// Each the middle of two neighbours.
fn quantiles(values: &[f64]) -> [f64; 5] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    [0.05, 0.25, 0.5, 0.75, 0.95].map(|p| {
        let place = (p * last as f64) as usize;
        let at = |i: usize| sorted.get(i.min(last)).copied().unwrap_or(f64::NAN);
        brief(at(place) / 2.0 + at(place + 1) / 2.0)
    })
}
