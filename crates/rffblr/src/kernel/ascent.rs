//! Maximising a smooth function of many variables: L-BFGS with backtracking, whose first steps may be those of a known
//! information matrix.

use crate::linalg::{Cholesky, Mat, Threads, dot};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Steps whose curvature is remembered.
const MEMORY: usize = 30;
/// Fewest steps before a share of the climb is enough.
const FEWEST: usize = 4;
/// First steps that are made by the information matrix of where they start, if it is known; the last of these serves on.
const INFORMED: usize = 4;
/// With it, a climb is also at its top where the next step promises less than this share of a small gain.
const PROMISE: f64 = 0.5;
/// Longest step of any variable. Variables are logarithms: this is a factor of e².
const LONGEST: f64 = 2.0;

/// A step that gains less than any of these gains little.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Of the function.
    pub gain: f64,
    /// As a share of its value.
    pub of_value: f64,
    /// As a share of what the climb has gained since its start: one such step is enough, once there were a few.
    pub of_climb: f64,
}

impl Tolerance {
    /// A gain alone.
    pub fn gain(gain: f64) -> Tolerance {
        Tolerance { gain, of_value: 0.0, of_climb: 0.0 }
    }

    fn at(self, value: f64) -> f64 {
        self.gain.max(self.of_value * value.abs())
    }
}

/// What ended the climb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Two steps in a row gained less than the tolerance, or one a small share of the climb, or no step gains at all.
    Top,
    /// The largest number of steps was made.
    Steps,
    /// `watch` asked for it.
    Asked,
}

/// What a climb remembers of how the gradient turns: its last steps s and the changes y of the gradient of −f along them.
#[derive(Clone, Debug, Default)]
pub struct Curvature(VecDeque<(Vec<f64>, Vec<f64>)>);

impl Curvature {
    /// That of a function so many times as large.
    pub fn times(mut self, factor: f64) -> Curvature {
        self.0.iter_mut().flat_map(|(_, y)| y).for_each(|y| *y *= factor);
        self
    }
}

/// Where a climb starts, and what is known of the curvature there.
pub struct Start {
    /// The variables.
    pub at: Vec<f64>,
    /// Of a similar function around there; may be empty.
    pub curvature: Curvature,
}

impl From<Vec<f64>> for Start {
    fn from(at: Vec<f64>) -> Start {
        Start { at, curvature: Curvature::default() }
    }
}

/// Where a climb ended.
pub struct Summit {
    /// The variables.
    pub at: Vec<f64>,
    /// The function there.
    pub value: f64,
    /// Why it ended.
    pub end: End,
    /// The curvature around there.
    pub curvature: Curvature,
}

/// What a function is at a point.
pub struct Ground {
    /// The value.
    pub value: f64,
    /// The gradient.
    pub gradient: Vec<f64>,
    /// A matrix near minus the second derivatives, positive definite, if it was asked for and is cheap.
    pub information: Option<Mat<f64>>,
}

impl Ground {
    fn is_finite(&self) -> bool {
        self.value.is_finite() && self.gradient.iter().all(|g| g.is_finite())
    }
}

/// Climbs from a start; `None` if there is no value there. `function` gives value and gradient, or `None` where it has
/// none; `watch` sees every accepted point.
pub fn climb(
    start: impl Into<Start>,
    range: (f64, f64),
    steps: usize,
    tolerance: Tolerance,
    mut function: impl FnMut(&[f64]) -> Option<(f64, Vec<f64>)>,
    watch: impl FnMut(&[f64], f64) -> ControlFlow<()>,
) -> Option<Summit> {
    let ground =
        |at: &[f64], _: bool| function(at).map(|(value, gradient)| Ground { value, gradient, information: None });
    climb_informed(start, range, steps, tolerance, ground, watch)
}

/// The same where `function`, asked for it, may give an information matrix too: the first steps are then Newton's with it
/// instead of the second derivatives, and the last of these matrices stands for what L-BFGS has not yet learned.
pub fn climb_informed(
    start: impl Into<Start>,
    range: (f64, f64),
    steps: usize,
    tolerance: Tolerance,
    mut function: impl FnMut(&[f64], bool) -> Option<Ground>,
    mut watch: impl FnMut(&[f64], f64) -> ControlFlow<()>,
) -> Option<Summit> {
    let mut ground = |at: &[f64], informed: bool| function(at, informed).filter(Ground::is_finite);
    let factor = |found: Option<Mat<f64>>| found.and_then(|information| Cholesky::new(information, Threads::ONE));
    let Start { mut at, curvature: Curvature(mut history) } = start.into();
    let Ground { mut value, mut gradient, information } = ground(&at, true)?;
    let (mut small_gains, at_start) = (0, value);
    let ended = |at, value, end, history| Some(Summit { at, value, end, curvature: Curvature(history) });
    if watch(&at, value).is_break() {
        return ended(at, value, End::Asked, history);
    }
    let mut metric = factor(information);
    if metric.is_some() {
        history.clear();
    }
    for step_number in 1..=steps {
        let mut direction = quasi_newton(&gradient, &history, metric.as_ref());
        if dot(&direction, &gradient) <= 0.0 {
            history.clear();
            direction = quasi_newton(&gradient, &history, metric.as_ref());
        }
        let longest = direction.iter().fold(0.0f64, |m, d| m.max(d.abs())).max(f64::MIN_POSITIVE);
        let is_blind = history.is_empty() && metric.is_none();
        // Without curvature the gradient gives a direction but no length.
        let mut step = if is_blind { 0.5 / longest } else { (LONGEST / longest).min(1.0) };
        let slope = dot(&direction, &gradient);
        if metric.is_some() && 0.5 * slope < PROMISE * tolerance.at(value) {
            return ended(at, value, End::Top, history);
        }
        let (mut next, informed) = (None, step_number < INFORMED);
        for _ in 0..12 {
            let trial: Vec<f64> =
                at.iter().zip(&direction).map(|(a, d)| (a + step * d).clamp(range.0, range.1)).collect();
            match ground(&trial, informed) {
                Some(found) if found.value >= value + 1e-4 * step * slope => {
                    next = Some((trial, found));
                    break;
                }
                // The top of the parabola through what is known.
                Some(found) if metric.is_some() => {
                    let rise = step * slope;
                    step *= (0.5 * rise / (value + rise - found.value)).clamp(0.1, 0.6);
                }
                _ => step *= 0.35,
            }
        }
        let Some((trial, found)) = next else {
            if is_blind {
                return ended(at, value, End::Top, history);
            }
            // The remembered curvature misled: once more along the gradient.
            (history, metric) = (VecDeque::new(), None);
            continue;
        };
        let moved: Vec<f64> = trial.iter().zip(&at).map(|(a, b)| a - b).collect();
        // Of −f, which curves upwards at its minimum.
        let turned: Vec<f64> = gradient.iter().zip(&found.gradient).map(|(a, b)| a - b).collect();
        if dot(&moved, &turned) > 1e-10 * dot(&turned, &turned).max(f64::MIN_POSITIVE) {
            history.push_back((moved, turned));
            if history.len() > MEMORY {
                history.pop_front();
            }
        }
        let gain = found.value - value;
        small_gains = if gain < tolerance.at(value) { small_gains + 1 } else { 0 };
        let enough = step_number >= FEWEST && gain < tolerance.of_climb * (found.value - at_start);
        (at, value, gradient) = (trial, found.value, found.gradient);
        if watch(&at, value).is_break() {
            return ended(at, value, End::Asked, history);
        }
        if small_gains >= 2 || enough {
            return ended(at, value, End::Top, history);
        }
        if let Some(newer) = factor(found.information) {
            (metric, history) = (Some(newer), VecDeque::new());
        }
    }
    ended(at, value, End::Steps, history)
}

/// H g by the two-loop recursion over the remembered steps s and changes of the gradient y, from the inverse of `metric` if there
/// is one, else from a multiple of the identity.
fn quasi_newton(gradient: &[f64], history: &VecDeque<(Vec<f64>, Vec<f64>)>, metric: Option<&Cholesky>) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut shares = Vec::with_capacity(history.len());
    for (s, y) in history.iter().rev() {
        let share = dot(s, &q) / dot(s, y);
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= share * y);
        shares.push(share);
    }
    if let Some(metric) = metric {
        let mut column = Mat::from_fn(q.len(), 1, |i, _| q[i]);
        metric.half_solve(column.as_mut());
        metric.half_solve_transposed(column.as_mut());
        q.copy_from_slice(column.col_as_slice(0));
    } else if let Some((s, y)) = history.back() {
        let scale = dot(s, y) / dot(y, y);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((s, y), share) in history.iter().zip(shares.iter().rev()) {
        let back = dot(y, &q) / dot(s, y);
        q.iter_mut().zip(s).for_each(|(q, s)| *q += (share - back) * s);
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go_on(_: &[f64], _: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Rosenbrock's valley, turned upside down: its top is at (1, 1).
    fn valley(p: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (x, y) = (p[0], p[1]);
        let value = (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
        Some((-value, vec![2.0 * (1.0 - x) + 400.0 * x * (y - x * x), -200.0 * (y - x * x)]))
    }

    #[test]
    fn finds_the_top_of_a_curved_ridge() {
        let Summit { at, value, end, .. } =
            climb(vec![-1.2, 1.0], (-9.0, 9.0), 200, Tolerance::gain(1e-12), valley, go_on).unwrap();
        assert_eq!(end, End::Top);
        assert!((at[0] - 1.0).abs() < 1e-4 && (at[1] - 1.0).abs() < 1e-4 && value > -1e-8, "{at:?}");
    }

    #[test]
    fn stays_in_range_never_descends_and_stops_when_asked() {
        let mut seen = Vec::new();
        let watch = |_: &[f64], v: f64| {
            seen.push(v);
            ControlFlow::Continue(())
        };
        let Summit { at, .. } = climb(vec![0.0, 0.0], (-0.5, 0.5), 100, Tolerance::gain(1e-9), valley, watch).unwrap();
        assert!(at.iter().all(|a| a.abs() <= 0.5));
        assert!(seen.is_sorted());
        let asked =
            climb(vec![0.0, 0.0], (-9.0, 9.0), 100, Tolerance::gain(1e-9), valley, |_, _| ControlFlow::Break(()))
                .unwrap();
        assert_eq!(asked.end, End::Asked);
        assert!(climb(vec![0.0], (-1.0, 1.0), 9, Tolerance::gain(1e-9), |_| None, go_on).is_none());
        assert_eq!(
            climb(vec![0.0, 0.0], (-9.0, 9.0), 3, Tolerance::gain(1e-9), valley, go_on).unwrap().end,
            End::Steps
        );
    }

    /// A long ridge across eight variables; the same one, twice as high and a little aside, is climbed in fewer steps by what
    /// was learned of the first.
    #[test]
    fn curvature_of_a_similar_function_saves_steps() {
        let ridge = |height: f64, aside: f64, p: &[f64]| {
            let steepness = |i: usize| height * 4f64.powi(i as i32);
            let off = |i: usize| (p[i] + p[(i + 1) % 8]) - aside;
            let value = -0.5 * (0..8).map(|i| steepness(i) * off(i).powi(2) + p[i].powi(2)).sum::<f64>();
            let slope = |i: usize| -steepness(i) * off(i) - steepness((i + 7) % 8) * off((i + 7) % 8) - p[i];
            Some((value, (0..8).map(slope).collect()))
        };
        let count = |start: Start| {
            let mut calls = 0;
            let function = |p: &[f64]| {
                calls += 1;
                ridge(2.0, 0.3, p)
            };
            let top = climb(start, (-9.0, 9.0), 500, Tolerance::gain(1e-9), function, go_on).unwrap();
            assert_eq!(top.end, End::Top);
            (calls, top.value)
        };
        let start = (0..8).map(|i| 3.0 * f64::from(i).sin()).collect::<Vec<f64>>();
        let first = climb(start, (-9.0, 9.0), 500, Tolerance::gain(1e-9), |p| ridge(1.0, 0.0, p), go_on).unwrap();
        let alone = count(first.at.clone().into());
        let helped = count(Start { at: first.at, curvature: first.curvature.times(2.0) });
        assert!((alone.1 - helped.1).abs() < 1e-6, "{alone:?} {helped:?}");
        assert!(3 * helped.0 < 2 * alone.0, "{helped:?} calls, {alone:?} without");
    }

    /// A climb that may end at a share of what it gained ends earlier, and not far below the top.
    #[test]
    fn a_share_of_the_climb_is_enough() {
        let run = |of_climb: f64| {
            let tolerance = Tolerance { of_climb, ..Tolerance::gain(1e-12) };
            let mut steps = 0;
            let watch = |_: &[f64], _: f64| {
                steps += 1;
                ControlFlow::Continue(())
            };
            let top = climb(vec![-1.2, 1.0], (-9.0, 9.0), 200, tolerance, valley, watch).unwrap();
            (steps, top.value)
        };
        let ((all, top), (fewer, lower)) = (run(0.0), run(0.01));
        // It starts at −24.2.
        assert!(fewer < all && lower > -5.0 && top > -1e-8, "{fewer} of {all} steps, {lower}");
    }
}
