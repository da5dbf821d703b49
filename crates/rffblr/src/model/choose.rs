//! Kernels and transforms of targets, learned together (section 13 of the derivation): the kernels of the targets as they
//! are, at these the transform of each target by leave-one-out density, and the kernels once more if one is transformed.

use super::rounding_of;
use crate::data::{Dataset, Standardiser, rounding_variance};
use crate::error::{Error, Result};
use crate::kernel::{Climbed, Groups, KernelMachine, Learned, Search, first_rows};
use crate::linalg::{Mat, MatRef, Threads};
use crate::normal;
use crate::problem::Problem;
use crate::settings::{Settings, TransformChoice};
use crate::steps::Observer;
use crate::transform::{Law, Point, Shape, Transform};
use std::sync::Arc;

/// Least gain in leave-one-out log density for a target to be transformed, in nats: in all, and for each observation.
const GAIN: (f64, f64) = (5.0, 0.1);
/// Largest squared leave-one-out error on the original scale, as a share of that without the transform.
const ERROR: f64 = 1.0;
/// Widths that are tried, in units of a target's own scale.
const WIDTHS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
/// Fewest observations, and different values among them, of a target that is transformed.
const FEWEST: (usize, usize) = (20, 5);

/// Kernels and transforms, and the problem they were learned on.
pub(crate) struct Learning {
    pub(crate) problem: Problem,
    pub(crate) groups: Groups,
    /// Of the transformed targets.
    pub(crate) target_scale: Standardiser,
    pub(crate) transforms: Vec<Option<Transform>>,
}

/// The transforms that settings give; those that are learned come later.
pub(super) fn given_transforms(data: &Dataset, settings: &Settings) -> Result<Vec<Option<Transform>>> {
    let targets = data.targets();
    let given = |(c, choice): (usize, &TransformChoice)| {
        if *choice != TransformChoice::Log {
            return Ok(None);
        }
        let transform = Transform::new(Shape::Log, (0..targets.nrows()).map(|row| targets[(row, c)]));
        transform.map(Some).ok_or_else(|| Error::Setting {
            name: "target-transform",
            problem: format!(
                "target \"{}\" has values that are not positive and so no logarithm; asinh takes them",
                data.target_names()[c]
            ),
        })
    };
    settings.transform.of(data.target_names())?.iter().enumerate().map(given).collect()
}

/// Targets as their transforms have them.
pub(crate) fn transformed(
    targets: MatRef<'_, f64>,
    transforms: &[Option<Transform>],
    names: &[String],
) -> Result<Mat<f64>> {
    let mut out = targets.to_owned();
    for (column, transform) in transforms.iter().enumerate().filter_map(|(c, t)| Some((c, t.as_ref()?))) {
        for (row, cell) in out.col_as_slice_mut(column).iter_mut().enumerate().filter(|(_, cell)| !cell.is_nan()) {
            let value = std::mem::replace(cell, transform.shape.apply(*cell));
            if !cell.is_finite() {
                return Err(Error::TooLarge {
                    what: "targets",
                    row,
                    column: names.get(column).cloned().unwrap_or_default(),
                    value,
                    problem: "outside what its transform takes; correct it, or choose another transform",
                });
            }
        }
    }
    Ok(out)
}

/// Learns from standardised inputs and the targets of a dataset. A first look at few rows decides on the transforms.
pub(crate) fn learn(data: &Dataset, inputs: Mat<f64>, settings: &Settings, observer: Observer<'_>) -> Result<Learning> {
    let inputs = Arc::new(inputs);
    let plain = Prepared::new(data, &inputs, given_transforms(data, settings)?)?;
    let count = first_rows(inputs.nrows());
    let rows = plain.problem.choose(count, settings.seed);
    let mut search = Search::new(inputs.nrows(), settings, observer);
    let judge = Judge::new(data, &plain.problem, &rows);
    let first = search.climb(&judge.problem, None)?;
    let (chosen, start) = match first.asked() {
        true => (plain, first),
        false => judge.choose(plain, first, &inputs, settings, &mut search)?,
    };
    let learned =
        if count == inputs.nrows() || start.asked() { start } else { search.climb(&chosen.problem, Some(&start))? };
    let groups = search.groups(&chosen.problem, learned)?;
    Ok(chosen.with(groups))
}

/// A problem with transformed targets.
struct Prepared {
    problem: Problem,
    target_scale: Standardiser,
    transforms: Vec<Option<Transform>>,
}

impl Prepared {
    fn new(data: &Dataset, inputs: &Arc<Mat<f64>>, transforms: Vec<Option<Transform>>) -> Result<Prepared> {
        let targets = transformed(data.targets(), &transforms, data.target_names())?;
        let target_scale = Standardiser::new(targets.as_ref(), data.weights());
        let targets = target_scale.apply(targets.as_ref(), data.target_names())?;
        let rounding = rounding_of(data, &transforms, &target_scale);
        let problem = Problem::of(inputs.clone(), targets, data).knowing(data.one_hot(), rounding);
        Ok(Prepared { problem, target_scale, transforms })
    }

    fn with(self, groups: Groups) -> Learning {
        Learning { problem: self.problem, groups, target_scale: self.target_scale, transforms: self.transforms }
    }
}

/// A target under one transform, and later what is predicted for each row without it, on the transformed scale.
struct Candidate {
    task: usize,
    transform: Option<Transform>,
    /// Transformed, NaN where not observed; then standardised.
    values: Vec<f64>,
    shift: f64,
    unit: f64,
    rounding: f64,
    location: Vec<f64>,
    scale: Vec<f64>,
}

impl Candidate {
    fn law(&self, row: usize) -> Law<'_> {
        Law { transform: self.transform.as_ref(), location: self.location[row], scale: self.scale[row] }
    }
}

/// Compares transforms on some rows.
struct Judge<'a> {
    problem: Problem,
    data: &'a Dataset,
    /// Which rows of the data.
    rows: &'a [usize],
    weights: Vec<f64>,
    /// What rounding adds to each target as it is.
    rounding: Vec<f64>,
}

impl<'a> Judge<'a> {
    fn new(data: &'a Dataset, problem: &Problem, rows: &'a [usize]) -> Judge<'a> {
        let problem = problem.of_rows(rows);
        let (targets, distinct) = (data.targets(), data.distinct_rows());
        let column = |c: usize| distinct.iter().map(|&row| targets[(row, c)]).collect::<Vec<f64>>();
        Judge {
            weights: problem.root.iter().map(|u| u * u).collect(),
            rounding: (0..targets.ncols()).map(|c| rounding_variance(&column(c))).collect(),
            problem,
            data,
            rows,
        }
    }

    /// The transforms that pay, of those that are to be learned, and the kernel for them, learned from these rows.
    fn choose(
        &self,
        plain: Prepared,
        first: Climbed,
        inputs: &Arc<Mat<f64>>,
        settings: &Settings,
        search: &mut Search<'_>,
    ) -> Result<(Prepared, Climbed)> {
        let choices = settings.transform.of(self.data.target_names())?;
        let must = |task: usize| choices[task] == TransformChoice::Asinh;
        let open = (0..choices.len()).filter(|&task| must(task) || choices[task] == TransformChoice::Auto);
        let before = self.left_out(open.map(|task| self.column(task, None)).collect(), &first.learned)?;
        let proposed = self.propose(&before, &first.learned, must)?;
        if proposed.is_empty() {
            return Ok((plain, first));
        }
        let with = |found: &[(usize, Transform)]| {
            let mut all = plain.transforms.clone();
            found.iter().for_each(|(task, transform)| all[*task] = Some(*transform));
            Prepared::new(self.data, inputs, all)
        };
        let of_rows = |prepared: &Prepared| prepared.problem.of_rows(self.rows);
        let mut second = search.attempt(&of_rows(&with(&proposed)?), &first)?;
        if second.asked() {
            return Ok((plain, second.instead(first)));
        }
        let columns = proposed.iter().map(|(task, transform)| self.column(*task, Some(*transform))).collect();
        let after = self.left_out(columns, &second.learned)?;
        let keeps = |(i, (task, transform)): (usize, &(usize, Transform))| {
            let earlier = before.iter().find(|column| column.task == *task)?;
            let point = self.accepts(earlier, &after[i], must(*task))?;
            Some((*task, Transform { point, ..*transform }))
        };
        let kept: Vec<(usize, Transform)> = proposed.iter().enumerate().filter_map(keeps).collect();
        if kept.is_empty() {
            return Ok((plain, first));
        }
        let chosen = with(&kept)?;
        if kept.len() < proposed.len() {
            second = search.attempt(&of_rows(&chosen), &second)?;
        }
        Ok((chosen, second.converged_like(&first)))
    }

    /// The observed values of a target in these rows, NaN where there is none.
    fn truth(&self, task: usize) -> Vec<f64> {
        self.rows.iter().map(|&row| self.data.targets()[(row, task)]).collect()
    }

    fn column(&self, task: usize, transform: Option<Transform>) -> Candidate {
        let truth = self.truth(task);
        let slope = transform.map_or(1.0, |transform| transform.shape.mean_square_slope(&truth));
        let values: Vec<f64> = match transform {
            Some(transform) => truth.iter().map(|y| transform.shape.apply(*y)).collect(),
            None => truth,
        };
        let table = Mat::from_fn(values.len(), 1, |n, _| values[n]);
        let scale = Standardiser::new(table.as_ref(), Some(&self.weights));
        let (shift, unit) = (scale.mean[0], scale.scale[0]);
        let rounding = self.rounding[task] * slope / unit.powi(2);
        let rounding = if rounding.is_finite() { rounding.min(1.0 / 3.0) } else { 1.0 / 3.0 };
        Candidate { task, transform, values, shift, unit, rounding, location: Vec::new(), scale: Vec::new() }
    }

    /// The candidates with what is predicted for every row without it.
    fn left_out(&self, mut candidates: Vec<Candidate>, learned: &Learned) -> Result<Vec<Candidate>> {
        if candidates.is_empty() {
            return Ok(candidates);
        }
        let value = |n: usize, i: usize| (candidates[i].values[n] - candidates[i].shift) / candidates[i].unit;
        let targets = Mat::from_fn(self.rows.len(), candidates.len(), value);
        let rounding = candidates.iter().map(|candidate| candidate.rounding).collect();
        let problem = self.problem.with_targets(&targets, rounding);
        let machine = KernelMachine::new(&problem, learned.kernel.clone(), learned.noise, Threads::current())?;
        let left = machine.leave_one_out();
        for (i, candidate) in candidates.iter_mut().enumerate() {
            let noise = machine.noise_variance(i);
            let at = |n: usize| candidate.values[n] - candidate.unit * left.residual[(n, i)];
            let deviation = |n: usize| candidate.unit * (left.variance[(n, i)] + noise).sqrt();
            let found = (0..self.rows.len()).map(|n| (at(n), deviation(n))).unzip();
            (candidate.location, candidate.scale) = found;
        }
        Ok(candidates)
    }

    /// For each target the transform that gains most in density and is not refused; `before` are the targets as they are.
    fn propose(
        &self,
        before: &[Candidate],
        learned: &Learned,
        must: impl Fn(usize) -> bool,
    ) -> Result<Vec<(usize, Transform)>> {
        let of_task = |plain: &Candidate| {
            let truth = self.truth(plain.task);
            let fits = |shape: Shape| Transform::new(shape, truth.iter().copied());
            shapes(&truth).into_iter().filter_map(fits).map(|t| self.column(plain.task, Some(t))).collect::<Vec<_>>()
        };
        let candidates = self.left_out(before.iter().flat_map(of_task).collect(), learned)?;
        let best = |plain: &Candidate| {
            let own = candidates.iter().filter(|candidate| candidate.task == plain.task);
            let mut ranked: Vec<(f64, &Candidate)> = own.map(|other| (self.gain(plain, other), other)).collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
            let found = ranked.iter().find(|(_, other)| self.accepts(plain, other, must(plain.task)).is_some())?;
            Some((plain.task, found.1.transform?))
        };
        Ok(before.iter().filter_map(best).collect())
    }

    /// Whether a transform pays, and the better point prediction with it.
    fn accepts(&self, plain: &Candidate, other: &Candidate, must: bool) -> Option<Point> {
        let count = plain.values.iter().filter(|y| !y.is_nan()).count() as f64;
        let gains = self.gain(plain, other) > GAIN.0 + GAIN.1 * count;
        if !gains && !must {
            return None;
        }
        let [mean, median] = [Point::Mean, Point::Median].map(|point| self.error(other, point));
        let point = if median < mean { Point::Median } else { Point::Mean };
        (must || mean.min(median) <= ERROR * self.error(plain, Point::Mean)).then_some(point)
    }

    /// By how many nats the second predicts the observations better.
    fn gain(&self, plain: &Candidate, other: &Candidate) -> f64 {
        let truth = self.truth(plain.task);
        let cells = cells(&truth);
        let known = (0..truth.len()).filter(|&n| !truth[n].is_nan());
        let score = |candidate: &Candidate, n: usize| log_score(candidate.law(n), truth[n], cells[n]);
        known.map(|n| self.weights[n] * (score(other, n) - score(plain, n))).sum()
    }

    /// Sum of squared errors on the original scale.
    fn error(&self, candidate: &Candidate, point: Point) -> f64 {
        let truth = self.truth(candidate.task);
        let guess = |n: usize| match point {
            Point::Mean => candidate.law(n).moments().0,
            Point::Median => candidate.law(n).median(),
        };
        let known = (0..truth.len()).filter(|&n| !truth[n].is_nan());
        known.map(|n| self.weights[n] * (truth[n] - guess(n)).powi(2)).sum()
    }
}

/// Logarithm of the density at an observation, or of its mean over the cell of a value that was recorded more than once.
fn log_score(law: Law<'_>, y: f64, cell: Option<(f64, f64)>) -> f64 {
    let Some((low, high)) = cell else { return -law.nlpd(y) };
    let (a, b) = (law.z(low), law.z(high));
    // From the nearer tail, which keeps its digits.
    let mass = if a > 0.0 { normal::cdf(-a) - normal::cdf(-b) } else { normal::cdf(b) - normal::cdf(a) };
    if mass > 1e-300 { (mass / (high - low)).ln() } else { -law.nlpd(y) }
}

/// For every value that occurs more than once, half way to its neighbours: so much of the line was recorded as this value.
/// Its density alone would be the larger the more a transform spreads the line there, without any limit.
fn cells(values: &[f64]) -> Vec<Option<(f64, f64)>> {
    let mut distinct: Vec<f64> = values.iter().copied().filter(|y| !y.is_nan()).collect();
    distinct.sort_unstable_by(f64::total_cmp);
    let sorted = distinct.clone();
    distinct.dedup();
    let cell = |y: &f64| {
        let times = sorted.partition_point(|other| other <= y) - sorted.partition_point(|other| other < y);
        if y.is_nan() || times < 2 || distinct.len() < 2 {
            return None;
        }
        let at = distinct.partition_point(|other| other < y);
        let below = at.checked_sub(1).map(|below| y - distinct[below]);
        let above = distinct.get(at + 1).map(|above| above - y);
        // An end of the range is as wide outwards as inwards.
        let (below, above) = (below.or(above)?, above.or(below)?);
        Some((y - 0.5 * below, y + 0.5 * above))
    };
    values.iter().map(cell).collect()
}

/// The transforms that are tried for a target: around zero if it is never negative, else around its ends; and around its
/// median. None for a target with few observations or different values, or one that has the same in more than half of the rows.
fn shapes(values: &[f64]) -> Vec<Shape> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|y| !y.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut distinct = sorted.clone();
    distinct.dedup();
    let times = |y: &f64| sorted.partition_point(|other| other <= y) - sorted.partition_point(|other| other < y);
    // What is nearly always the same value is no skewed law but a mixture, which no transform describes.
    if sorted.len() < FEWEST.0 || distinct.len() < FEWEST.1 || distinct.iter().any(|y| 2 * times(y) > sorted.len()) {
        return Vec::new();
    }
    let at = |p: f64| sorted[(p * (sorted.len() - 1) as f64).round() as usize];
    let (low, middle, high) = (sorted[0], at(0.5), sorted[sorted.len() - 1]);
    let spread = (at(0.75) - at(0.25)).max((high - low) / 100.0);
    let around = |centre: f64, unit: f64, widths: &'static [f64]| {
        widths.iter().map(move |width| Shape::asinh(centre, width * unit))
    };
    let middle_ones = around(middle, spread, &WIDTHS[3..]);
    if low >= 0.0 {
        let positive = sorted.partition_point(|y| *y <= 0.0);
        let unit = sorted[positive + (sorted.len() - positive) / 2];
        return around(0.0, unit, &WIDTHS).chain(middle_ones).collect();
    }
    around(low, spread, &WIDTHS[2..]).chain(around(high, spread, &WIDTHS[2..])).chain(middle_ones).collect()
}
