//! How well the model predicts rows it has not seen, row by row, and how its tasks go together (equations 37 and 38).

use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::{Mat, MatRef};
use crate::model::{Model, Prediction};

/// Leave-one-out, cell by cell: N×C tables, NaN where a target was not observed or its row has no weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// What is predicted for each row without it; see [`Model::leave_one_out`].
    pub prediction: Prediction,
    /// What was observed, in the unit of the target.
    pub observed: Mat<f64>,
    /// Observed minus point prediction, in the unit of the target.
    pub residual: Mat<f64>,
    /// Residual divided by its predicted standard deviation, both on the scale of the fit.
    pub standardised: Mat<f64>,
    /// Leverage: derivative of a fitted value by its own target, from 0 to 1.
    pub leverage: Mat<f64>,
    /// Probability integral transform: predicted probability of a value below the observed one, by the distribution that
    /// intervals are of. Uniform if calibrated.
    pub transform: Mat<f64>,
    /// How far the fitted value of a cell moves when its row is left out, in predicted standard deviations (on the scale of
    /// the fit).
    pub influence: Mat<f64>,
}

/// Share of observations inside central intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Probability the interval was made for.
    pub level: f64,
    /// Share of each task's observed cells inside.
    pub per_task: Vec<f64>,
    /// Share of all observed cells inside.
    pub overall: f64,
}

/// Correlations between tasks, C×C, over the rows in which both are observed; NaN where one of them does not vary or
/// fewer than three rows have both.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskCorrelation {
    /// Of the targets as observed.
    pub targets: Mat<f64>,
    /// Of the fitted function at the training rows (all of them).
    pub signal: Mat<f64>,
    /// Of the leave-one-out residuals: what tasks have in common beyond the inputs.
    pub residuals: Mat<f64>,
}

/// Leave-one-out diagnostics for the very data the model was fitted to.
pub fn diagnostics(model: &Model, data: &Dataset) -> Result<Diagnostics> {
    let (prediction, leverage) = model.left_out(data)?;
    Ok(Diagnostics::new(prediction, &leverage, data))
}

/// The same for rows the model was not fitted to, which are predicted as they are: they have no leverage and no influence.
pub fn new_row_diagnostics(model: &Model, data: &Dataset) -> Result<Diagnostics> {
    let prediction = model.predict(data.inputs())?;
    let none = Mat::zeros(data.rows(), data.targets().ncols());
    Ok(Diagnostics::new(prediction, &none, data))
}

impl Diagnostics {
    fn new(prediction: Prediction, leverage: &Mat<f64>, data: &Dataset) -> Diagnostics {
        let targets = data.targets();
        let counts = |n: usize, c: usize| !targets[(n, c)].is_nan() && data.weights().is_none_or(|w| w[n] > 0.0);
        let cells = |value: &dyn Fn(usize, usize) -> f64| {
            Mat::from_fn(data.rows(), targets.ncols(), |n, c| if counts(n, c) { value(n, c) } else { f64::NAN })
        };
        let point = prediction.point();
        let residual = cells(&|n, c| targets[(n, c)] - point[(n, c)]);
        let standardised = cells(&|n, c| prediction.law(n, c).z(targets[(n, c)]));
        Diagnostics {
            observed: cells(&|n, c| targets[(n, c)]),
            transform: cells(&|n, c| prediction.probability(n, c, targets[(n, c)])),
            influence: cells(&|n, c| leverage[(n, c)] * standardised[(n, c)]),
            leverage: cells(&|n, c| leverage[(n, c)]),
            residual,
            standardised,
            prediction,
        }
    }

    /// Whether each observation lies in its central interval of a level, [`Prediction::interval`]: 1, 0, or NaN where nothing
    /// was observed.
    pub fn inside(&self, level: f64) -> Result<Mat<f64>> {
        let (lower, upper) = self.prediction.interval(level)?;
        let cell = |n: usize, c: usize| match self.observed[(n, c)] {
            y if y.is_nan() => f64::NAN,
            y => f64::from(u8::from((lower[(n, c)]..=upper[(n, c)]).contains(&y))),
        };
        Ok(Mat::from_fn(self.observed.nrows(), self.observed.ncols(), cell))
    }

    /// The share of observations [inside](Diagnostics::inside) central intervals of each level.
    pub fn calibration(&self, levels: &[f64]) -> Result<Vec<Calibration>> {
        let share = |cells: &mut dyn Iterator<Item = f64>| {
            let (inside, count) =
                cells.filter(|cell| !cell.is_nan()).fold((0.0, 0.0), |(sum, count), cell| (sum + cell, count + 1.0));
            inside / count
        };
        let at = |&level: &f64| {
            let inside = self.inside(level)?;
            let column = |c: usize| inside.col_as_slice(c).iter().copied();
            let tasks = 0..inside.ncols();
            Ok(Calibration {
                level,
                per_task: tasks.clone().map(|c| share(&mut column(c))).collect(),
                overall: share(&mut tasks.flat_map(column)),
            })
        };
        levels.iter().map(at).collect()
    }

    /// The rows whose leaving out moves their own fit most, by the root mean square of their influence over the observed
    /// tasks: positions and that number, largest first.
    pub fn most_influential(&self, count: usize) -> Vec<(usize, f64)> {
        let total = |n: usize| {
            let cells = (0..self.influence.ncols()).map(|c| self.influence[(n, c)]).filter(|v| !v.is_nan());
            let (sum, number) = cells.fold((0.0, 0.0), |(sum, number), v| (sum + v * v, number + 1.0));
            (number > 0.0).then(|| (n, (sum / number).sqrt()))
        };
        let mut rows: Vec<(usize, f64)> = (0..self.influence.nrows()).filter_map(total).collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        rows.truncate(count);
        rows
    }
}

/// Correlations between tasks, for the very data the model was fitted to and its diagnostics. Row weights count.
pub fn task_correlation(model: &Model, data: &Dataset, left_out: &Diagnostics) -> Result<TaskCorrelation> {
    let signal = model.predict_function(data.inputs())?;
    Ok(TaskCorrelation {
        targets: correlations(data.targets(), data.weights()),
        signal: correlations(signal.as_ref(), data.weights()),
        residuals: correlations(left_out.residual.as_ref(), data.weights()),
    })
}

/// Pearson's correlation of every two columns over the rows in which both are there.
fn correlations(table: MatRef<'_, f64>, weights: Option<&[f64]>) -> Mat<f64> {
    let tasks = table.ncols();
    let mut out = Mat::zeros(tasks, tasks);
    for a in 0..tasks {
        for b in a..tasks {
            let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
            let there = |row: &usize| !table[(*row, a)].is_nan() && !table[(*row, b)].is_nan() && weight(*row) > 0.0;
            let rows: Vec<usize> = (0..table.nrows()).filter(there).collect();
            let value = correlation(&rows, &weight, &|row| (table[(row, a)], table[(row, b)]));
            (out[(a, b)], out[(b, a)]) = (value, value);
        }
    }
    out
}

fn correlation(rows: &[usize], weight: &dyn Fn(usize) -> f64, pair: &dyn Fn(usize) -> (f64, f64)) -> f64 {
    if rows.len() < 3 {
        return f64::NAN;
    }
    let table = |pick: &dyn Fn((f64, f64)) -> f64| Mat::from_fn(rows.len(), 1, |i, _| pick(pair(rows[i])));
    let weights: Vec<f64> = rows.iter().map(|&row| weight(row)).collect();
    // The standardiser knows how to take huge numbers and offsets.
    let scores = |column: Mat<f64>| {
        let scale = crate::data::Standardiser::new(column.as_ref(), Some(&weights));
        scale.apply(column.as_ref(), &[]).ok()
    };
    let (Some(x), Some(y)) = (scores(table(&|p| p.0)), scores(table(&|p| p.1))) else { return f64::NAN };
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (i, w) in weights.iter().enumerate() {
        let (a, b) = (x[(i, 0)], y[(i, 0)]);
        xy += w * a * b;
        xx += w * a * a;
        yy += w * b * b;
    }
    if xx > 0.0 && yy > 0.0 { (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0) } else { f64::NAN }
}
