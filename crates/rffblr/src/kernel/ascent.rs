//! Maximising a smooth function of many variables: L-BFGS with backtracking.

use crate::linalg::dot;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Steps whose curvature is remembered.
const MEMORY: usize = 30;
/// Fewest steps before a share of the climb is enough.
const FEWEST: usize = 4;
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

/// Climbs from a start; `None` if there is no value there. `function` gives value and gradient, or `None` where it has
/// none; `watch` sees every accepted point.
pub fn climb(
    start: impl Into<Start>,
    range: (f64, f64),
    steps: usize,
    tolerance: Tolerance,
    mut function: impl FnMut(&[f64]) -> Option<(f64, Vec<f64>)>,
    mut watch: impl FnMut(&[f64], f64) -> ControlFlow<()>,
) -> Option<Summit> {
    let finite =
        |found: Option<(f64, Vec<f64>)>| found.filter(|(v, g)| v.is_finite() && g.iter().all(|g| g.is_finite()));
    let Start { mut at, curvature: Curvature(mut history) } = start.into();
    let (mut value, mut gradient) = finite(function(&at))?;
    let (mut small_gains, at_start) = (0, value);
    let ended = |at, value, end, history| Some(Summit { at, value, end, curvature: Curvature(history) });
    if watch(&at, value).is_break() {
        return ended(at, value, End::Asked, history);
    }
    for step_number in 1..=steps {
        let mut direction = quasi_newton(&gradient, &history);
        if dot(&direction, &gradient) <= 0.0 {
            history.clear();
            direction.clone_from(&gradient);
        }
        let longest = direction.iter().fold(0.0f64, |m, d| m.max(d.abs())).max(f64::MIN_POSITIVE);
        // Without curvature the gradient gives a direction but no length.
        let mut step = if history.is_empty() { 0.5 / longest } else { (LONGEST / longest).min(1.0) };
        let slope = dot(&direction, &gradient);
        let mut next = None;
        for _ in 0..12 {
            let trial: Vec<f64> =
                at.iter().zip(&direction).map(|(a, d)| (a + step * d).clamp(range.0, range.1)).collect();
            match finite(function(&trial)) {
                Some((v, g)) if v >= value + 1e-4 * step * slope => {
                    next = Some((trial, v, g));
                    break;
                }
                _ => step *= 0.35,
            }
        }
        let Some((trial, v, g)) = next else {
            if history.is_empty() {
                return ended(at, value, End::Top, history);
            }
            // The remembered curvature misled: once more along the gradient.
            history.clear();
            continue;
        };
        let moved: Vec<f64> = trial.iter().zip(&at).map(|(a, b)| a - b).collect();
        // Of −f, which curves upwards at its minimum.
        let turned: Vec<f64> = gradient.iter().zip(&g).map(|(a, b)| a - b).collect();
        if dot(&moved, &turned) > 1e-10 * dot(&turned, &turned).max(f64::MIN_POSITIVE) {
            history.push_back((moved, turned));
            if history.len() > MEMORY {
                history.pop_front();
            }
        }
        let gain = v - value;
        small_gains = if gain < tolerance.at(value) { small_gains + 1 } else { 0 };
        let enough = step_number >= FEWEST && gain < tolerance.of_climb * (v - at_start);
        (at, value, gradient) = (trial, v, g);
        if watch(&at, value).is_break() {
            return ended(at, value, End::Asked, history);
        }
        if small_gains >= 2 || enough {
            return ended(at, value, End::Top, history);
        }
    }
    ended(at, value, End::Steps, history)
}

/// H g by the two-loop recursion over the remembered steps s and changes of the gradient y.
fn quasi_newton(gradient: &[f64], history: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut shares = Vec::with_capacity(history.len());
    for (s, y) in history.iter().rev() {
        let share = dot(s, &q) / dot(s, y);
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= share * y);
        shares.push(share);
    }
    if let Some((s, y)) = history.back() {
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
