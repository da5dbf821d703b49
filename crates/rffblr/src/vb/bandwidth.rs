//! Bandwidth and input scales by ascent on the bound, equation 10.

use super::beliefs::Beliefs;
use super::design::{Design, Sensitivity};
use super::weights::blocks;
use crate::adam::Adam;
use crate::fourier::Scales;
use crate::linalg::{Accumulate, Mat, multiply, product};
use crate::problem::Problem;
use crate::settings::{Bandwidth, CosineSettings, InputScales};

/// ∂L/∂ln γ (one number) or ∂L/∂ln r_d (one per input, summing to ∂L/∂ln γ) at the current q.
///
/// With noise per task this is exact right after the update of q(W); with shared noise always.
pub(crate) fn gradient(problem: &Problem, design: &Design, q: &Beliefs, sensitivity: Sensitivity) -> Vec<f64> {
    if sensitivity == Sensitivity::None {
        return Vec::new();
    }
    let tau = q.tau();
    let mean_tau = tau.iter().sum::<f64>() / tau.len() as f64;
    let mut total: Vec<f64> = q.weights.trace_gradient.iter().map(|g| mean_tau * g).collect();

    // τ_c (y_c − b_c u − Φw_c) in observed cells, then G = that times Wᵀ.
    let fitted = multiply(design.features.as_ref(), q.weights.mean.as_ref(), design.threads);
    let mut residual = Mat::zeros(fitted.nrows(), fitted.ncols());
    let mut observe = |row: usize, c: usize| {
        let error = problem.targets[(row, c)] - q.bias[c] * problem.root[row] - fitted[(row, c)];
        residual[(row, c)] = tau[c] * error;
    };
    for group in &problem.groups {
        for &c in &group.tasks {
            match &group.rows {
                None => (0..problem.targets.nrows()).for_each(|row| observe(row, c)),
                Some(rows) => rows.iter().for_each(|&row| observe(row, c)),
            }
        }
    }
    let view = design.view(problem);
    let all = 0..residual.nrows();
    for columns in blocks(view.cosines()) {
        let mut block = Mat::zeros(all.len(), columns.len());
        let weights = q.weights.mean.as_ref().subrows(columns.start, columns.len());
        product(block.as_mut(), Accumulate::Replace, residual.as_ref(), weights.transpose(), 1.0, design.threads);
        view.pull_back(all.clone(), columns, &mut block, sensitivity, &mut total);
    }
    total
}

/// Adam on ln γ and ln r.
pub(crate) struct Ascent {
    pub(crate) sensitivity: Sensitivity,
    learns_bandwidth: bool,
    adam: Adam,
}

impl Ascent {
    pub(crate) fn new(settings: &CosineSettings, inputs: usize) -> Self {
        let learns_bandwidth = matches!(settings.bandwidth, Bandwidth::Learned { .. });
        let sensitivity = match (&settings.input_scales, learns_bandwidth) {
            (InputScales::Learned, _) => Sensitivity::InputScales,
            (_, true) => Sensitivity::Bandwidth,
            (_, false) => Sensitivity::None,
        };
        let parameters =
            sensitivity.len(inputs) + usize::from(sensitivity == Sensitivity::InputScales && learns_bandwidth);
        Ascent { sensitivity, learns_bandwidth, adam: Adam::new(settings.learning_rate, parameters) }
    }

    /// The scales one step uphill.
    pub(crate) fn step(&mut self, scales: &Scales, mut gradient: Vec<f64>) -> Scales {
        if self.sensitivity == Sensitivity::InputScales && self.learns_bandwidth {
            gradient.push(gradient.iter().sum());
        }
        // Uphill on the bound is downhill on its negative.
        gradient.iter_mut().for_each(|g| *g = -*g);
        let mut moves = vec![0.0; gradient.len()];
        self.adam.descend(&mut moves, &gradient);
        let moved = |value: f64, step: f64| (value.ln() + step).clamp(-60.0, 60.0).exp();
        let mut next = scales.clone();
        if self.sensitivity == Sensitivity::InputScales {
            for (r, step) in next.input_scales.iter_mut().zip(&moves) {
                *r = moved(*r, *step);
            }
        }
        if self.learns_bandwidth
            && let Some(&step) = moves.last()
        {
            next.bandwidth = moved(next.bandwidth, step);
            // γ and r share a scale: r has mean one, γ carries the rest.
            let mean = next.input_scales.iter().sum::<f64>() / next.input_scales.len() as f64;
            if self.sensitivity == Sensitivity::InputScales && mean > 0.0 {
                next.input_scales.iter_mut().for_each(|r| *r /= mean);
                next.bandwidth *= mean;
            }
        }
        next
    }
}
