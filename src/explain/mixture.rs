//! exp(−√u) as a mixture of exponentials exp(−su), each of which is a product over inputs (equation 35b).

/// Distance of two nodes in ln s. The trapezoidal rule is wrong by about exp(−π²/step).
const STEP: f64 = 0.32;
/// First and last ln s. Below, exp(−1/4s) is nothing; what lies above is put at the last node, which is wrong only for u
/// between 10⁻²² and 10⁻¹⁸, and there by 10⁻¹⁰.
const ENDS: (f64, f64) = (-5.0, 46.0);

/// Pairs (s, weight) with Σ weight exp(−su) = exp(−√u). From 1/(2√π) ∫ s^(−3/2) exp(−1/4s − su) ds with ln s in place
/// of s.
pub(super) fn exponentials_of_root(coarseness: f64) -> Vec<(f64, f64)> {
    let step = STEP * coarseness;
    let count = ((ENDS.1 - ENDS.0) / step).ceil() as usize;
    let node = |i: usize| {
        let logarithm = ENDS.0 + step * i as f64;
        let s = logarithm.exp();
        (s, 0.5 * step / std::f64::consts::PI.sqrt() * (-0.5 * logarithm - 0.25 / s).exp())
    };
    let mut nodes: Vec<(f64, f64)> = (0..=count).map(node).collect();
    let total: f64 = nodes.iter().map(|(_, weight)| weight).sum();
    if let Some((_, weight)) = nodes.last_mut() {
        *weight += 1.0 - total;
    }
    nodes
}
