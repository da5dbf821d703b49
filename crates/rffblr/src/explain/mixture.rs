//! exp(−√u) as a mixture of exponentials exp(−su), each of which is a product over inputs (equation 35b).

use std::f64::consts::PI;

/// First and last ln s. Below, exp(−1/4s) is nothing; what lies above is put at the last node, which is wrong only for u
/// between 10⁻²² and 10⁻¹⁸, and there by 10⁻¹⁰.
const ENDS: (f64, f64) = (-5.0, 46.0);

/// Pairs (s, weight) of rising s with Σ weight exp(−su) = exp(−√u), wrong by about the tolerance.
///
/// From 1/(2√π) ∫ s^(−3/2) exp(−1/4s − su) ds with ln s in place of s. Steps h of the trapezoidal rule there are wrong by
/// exp(−π²/h) of the integrand, which falls like s^(−½): so h may grow, π²/h = ln(1/tolerance) − ½ ln s. With the number of
/// the node as the variable that is (ln s)' = 2π²/(A − ln s), A = 2 ln(1/tolerance), whose solution is a root.
pub(super) fn exponentials_of_root(tolerance: f64) -> Vec<(f64, f64)> {
    let farthest = -2.0 * tolerance.ln();
    let room = |node: f64| ((farthest - ENDS.0).powi(2) - 4.0 * PI * PI * node).max(1.0).sqrt();
    let last = ((farthest - ENDS.0).powi(2) - (farthest - ENDS.1).max(2.0).powi(2)) / (4.0 * PI * PI);
    let node = |i: usize| {
        let room = room(i as f64);
        let (logarithm, step) = (farthest - room, 2.0 * PI * PI / room);
        let s = logarithm.exp();
        (s, 0.5 * step / PI.sqrt() * (-0.5 * logarithm - 0.25 / s).exp())
    };
    let mut nodes: Vec<(f64, f64)> = (0..=last.floor() as usize).map(node).collect();
    let total: f64 = nodes.iter().map(|(_, weight)| weight).sum();
    if let Some((_, weight)) = nodes.last_mut() {
        *weight += 1.0 - total;
    }
    nodes
}
