//! The small words of the problem and of its iteration.

use serde::{Deserialize, Serialize};

/// How hard the weights are held down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Penalty {
    /// λ, its strength.
    pub(super) strength: f64,
    /// α, the part of it that removes whole neurons.
    pub(super) sparsity: f64,
}

/// ρ, σ and κ. They change how fast the iteration converges, not what to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pull {
    pub(super) error: f64,
    /// Zero: the weights are not split, for which α must be zero.
    pub(super) weights: f64,
    /// κ, between 0 and 2: how far a step goes.
    pub(super) relaxation: f64,
}

impl Pull {
    /// σ = 4λ: the multiplier of Z must reach length λα whatever λ, and steps of a size that grows with λ get it there.
    /// With σ = 1 most of the grid is far from its minimum after a thousand iterations. κ = 1.7 takes a quarter fewer
    /// iterations than κ = 1, and ends nearer to the minimum. σ = 0 where α = 0: there is no Z.
    pub(super) fn suited_to(penalty: Penalty) -> Self {
        let weights = if penalty.sparsity > 0.0 { 4.0 * penalty.strength } else { 0.0 };
        Pull { error: 1.0, weights, relaxation: 1.7 }
    }
}

/// Residuals of one iteration and what they must fall below.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Residuals {
    pub(super) primal: f64,
    pub(super) primal_limit: f64,
    pub(super) dual: f64,
    pub(super) dual_limit: f64,
}

/// When to stop: the absolute and the relative tolerance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    pub(super) absolute: f64,
    pub(super) relative: f64,
}

impl Residuals {
    pub(super) fn are_small(&self) -> bool {
        self.primal <= self.primal_limit && self.dual <= self.dual_limit
    }
}
