//! The noise of each task, searched on a grid around the one that all share.

use crate::error::Result;
use std::collections::BTreeMap;

/// Step of the search over ln σ² of a task, which starts at the ln σ² shared by all tasks.
pub(super) const STEP: f64 = 0.5;
/// Most steps of [`STEP`] between ln σ² of a task and the shared one.
pub(super) const REACH: i32 = 24;
/// Most steps upwards where less noise would fall below the variance of rounding.
const FARTHEST: i32 = 40;
/// Prior standard deviation of ln σ² of a task around the shared one.
pub(super) const WIDTH: f64 = 1.0;

/// Best noise of a task in units of its amplitude, that amplitude, and log marginal likelihood without constants.
pub(crate) struct Level {
    pub(crate) noise: f64,
    pub(crate) amplitude: f64,
    pub(crate) evidence: f64,
}

/// Noise and amplitude of each task. `score` gives for a noise the log marginal likelihood of every task at its best
/// amplitude, and that amplitude; minus infinity means too little noise.
pub(crate) fn best_noise(
    shared: f64,
    tasks: usize,
    score: impl Fn(f64) -> Result<Vec<(f64, f64)>>,
) -> Result<Vec<Level>> {
    let level = |offset: i32| (shared.ln() + STEP * f64::from(offset)).exp();
    let scored = |offset: i32| -> Result<Vec<(f64, f64)>> {
        let surprise = f64::from(offset) * STEP / WIDTH;
        let mut found = score(level(offset))?;
        found.iter_mut().for_each(|(value, _)| *value -= 0.5 * surprise * surprise);
        Ok(found)
    };
    let mut tried: BTreeMap<i32, Vec<(f64, f64)>> = BTreeMap::new();
    for offset in [-1, 0, 1] {
        tried.insert(offset, scored(offset)?);
    }
    let best = |tried: &BTreeMap<i32, Vec<(f64, f64)>>, c: usize| {
        let scored = tried.iter().map(|(offset, all)| (*offset, all[c].0, all[c].1));
        // Of equals the last: where no step has noise enough, the largest.
        scored.fold((0, f64::NEG_INFINITY, 1.0), |best, next| if next.1 >= best.1 { next } else { best })
    };
    for direction in [-1, 1] {
        let mut end: i32 = direction;
        // A task whose best is the last one tried goes on, for longer if that has too little noise.
        let goes_on = |tried: &BTreeMap<i32, Vec<(f64, f64)>>, end: i32| {
            (0..tasks).map(|c| best(tried, c)).any(|(offset, value, _)| {
                let reach = if value == f64::NEG_INFINITY { direction * FARTHEST } else { REACH };
                offset == end && end.abs() < reach
            })
        };
        while goes_on(&tried, end) {
            end += direction;
            tried.insert(end, scored(end)?);
        }
    }
    Ok((0..tasks)
        .map(|c| best(&tried, c))
        .map(|(offset, evidence, amplitude)| Level { noise: level(offset), amplitude, evidence })
        .collect())
}
