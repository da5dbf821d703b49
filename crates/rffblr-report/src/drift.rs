//! Whether new rows are like those the model was fitted to.

use super::brief;
use rffblr::data::Dataset;
use rffblr::explain::Explainer;
use serde::Serialize;

/// What new rows have that training rows did not.
#[derive(Serialize)]
pub(super) struct Drift {
    /// By how many training standard deviations the mean of each number has moved, the farthest first.
    pub(super) moved: Vec<(usize, f64)>,
    /// Share of rows with a number outside of the range of training, where that is known.
    pub(super) outside: f64,
    /// Share of rows that are farther from all training rows than nearly all of these are from each other.
    pub(super) apart: f64,
}

/// Standard deviations from which on a mean counts as moved.
const MOVED: f64 = 0.25;
/// Training rows that new ones are compared with.
const COMPARED: usize = 500;

impl Drift {
    /// Of new rows against those the explainer holds, which must be those of the fit.
    pub(super) fn new(explainer: &Explainer<'_>, scale: &[f64], data: &Dataset) -> Drift {
        let (old, new) = (explainer.rows(), data.inputs());
        let mean = |table: rffblr::linalg::MatRef<'_, f64>, d: usize| {
            table.col(d).iter().map(|v| v / table.nrows() as f64).sum::<f64>()
        };
        let numbers: Vec<(usize, usize)> = explainer
            .inputs()
            .iter()
            .enumerate()
            .filter(|(_, input)| input.kind.is_number())
            .map(|(i, input)| (i, input.columns[0]))
            .collect();
        let mut moved: Vec<(usize, f64)> =
            numbers.iter().map(|&(i, d)| (i, (mean(new, d) - mean(old, d)) / scale[d])).collect();
        // Means of few rows move by chance.
        let chance = 2.6 * (1.0 / new.nrows() as f64 + 1.0 / old.nrows() as f64).sqrt();
        moved.retain(|(_, by)| by.abs() > MOVED.max(chance));
        moved.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let ends =
            |d: usize| old.col(d).iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let ends: Vec<(usize, (f64, f64))> = numbers.iter().map(|&(_, d)| (d, ends(d))).collect();
        let out = |n: &usize| ends.iter().any(|&(d, (low, high))| new[(*n, d)] < low || new[(*n, d)] > high);
        let share = |count: usize| brief(count as f64 / new.nrows().max(1) as f64);
        let count = old.nrows().min(COMPARED);
        let some: Vec<usize> = (0..count).map(|i| i * old.nrows() / count).collect();
        let distance = |a: &dyn Fn(usize) -> f64, b: usize| -> f64 {
            (0..old.ncols()).map(|d| (a(d) / scale[d] - old[(b, d)] / scale[d]).abs()).sum()
        };
        let nearest = |at: &dyn Fn(usize) -> f64, but: Option<usize>| {
            some.iter().filter(|b| Some(**b) != but).map(|&b| distance(at, b)).fold(f64::INFINITY, f64::min)
        };
        let mut usual: Vec<f64> = some.iter().map(|&a| nearest(&|d| old[(a, d)], Some(a))).collect();
        usual.sort_by(f64::total_cmp);
        let limit = usual.get((0.99 * usual.len() as f64) as usize).or(usual.last()).copied().unwrap_or(f64::INFINITY);
        let looked_at = new.nrows().min(COMPARED);
        let apart = (0..looked_at)
            .map(|i| i * new.nrows() / looked_at)
            .filter(|&n| nearest(&|d| new[(n, d)], None) > limit)
            .count();
        Drift {
            moved: moved.into_iter().map(|(input, by)| (input, brief(by))).collect(),
            outside: share((0..new.nrows()).filter(out).count()),
            apart: brief(apart as f64 / looked_at.max(1) as f64),
        }
    }
}
