//! The variational lower bound on ln p(Y), term by term: equation 9.

use super::beliefs::Beliefs;
use crate::problem::Problem;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// The nine terms of the bound, in nats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// E ln p(Y | W, b, τ)
    pub likelihood: f64,
    /// E ln p(W | α)
    pub weights_prior: f64,
    /// E ln p(α)
    pub precision_prior: f64,
    /// E ln p(τ)
    pub noise_prior: f64,
    /// E ln p(b)
    pub bias_prior: f64,
    /// H\[q(W)\]
    pub weights_entropy: f64,
    /// Σ H\[q(α)\]
    pub precision_entropy: f64,
    /// Σ H\[q(τ)\]
    pub noise_entropy: f64,
    /// H\[q(b)\]
    pub bias_entropy: f64,
}

impl Bound {
    /// The bound itself.
    pub fn total(&self) -> f64 {
        self.likelihood
            + self.weights_prior
            + self.precision_prior
            + self.noise_prior
            + self.bias_prior
            + self.weights_entropy
            + self.precision_entropy
            + self.noise_entropy
            + self.bias_entropy
    }

    pub(crate) fn of(q: &Beliefs, problem: &Problem) -> Bound {
        let tasks = problem.tasks();
        let (c, ln_two_pi) = (tasks as f64, TAU.ln());
        let likelihood = (0..tasks)
            .map(|c| {
                let noise = q.noise_of(c);
                0.5 * problem.count[c] * (noise.mean_ln() - ln_two_pi) - 0.5 * noise.mean() * q.residual(problem, c)
            })
            .sum();
        let weights_prior = q
            .precision_of
            .iter()
            .zip(q.weight_square())
            .map(|(&i, square)| {
                let alpha = q.precisions[i];
                0.5 * c * (alpha.mean_ln() - ln_two_pi) - 0.5 * alpha.mean() * square
            })
            .sum();
        let bias_square: f64 = q.bias.iter().zip(&q.bias_variance).map(|(b, v)| b * b + v).sum();
        Bound {
            likelihood,
            weights_prior,
            precision_prior: q.precisions.iter().map(|a| a.expected_ln_prior(q.weight_prior)).sum(),
            noise_prior: q.noise.iter().map(|t| t.expected_ln_prior(q.noise_prior)).sum(),
            bias_prior: -0.5 * (c * ln_two_pi + bias_square),
            weights_entropy: 0.5 * q.precision_of.len() as f64 * c * (1.0 + ln_two_pi) + 0.5 * q.weights.ln_det,
            precision_entropy: q.precisions.iter().map(|a| a.entropy()).sum(),
            noise_entropy: q.noise.iter().map(|t| t.entropy()).sum(),
            bias_entropy: 0.5 * q.bias_variance.iter().map(|v| 1.0 + ln_two_pi + v.ln()).sum::<f64>(),
        }
    }
}
