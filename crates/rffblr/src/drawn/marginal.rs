//! Log marginal likelihood of the tasks given sums over the rows, and its derivatives that need nothing else: by the prior
//! variance of each feature and by the noise of each task (equations 40 to 42).
//!
//! With Ψ = ΦA⁻½, S = ΨᵀΨ and B_c = (S + σ_c²I)⁻¹, where kernel and noise of task c are both multiplied by an amplitude
//! a_c, which is at its best for the task.

use super::sums::System;
use crate::device::Backend;
use crate::linalg::{Mat, dot, scale_rows, select_columns};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// A system in units of the prior: S, Ψᵀy.
pub(super) struct Whitened<'a, B: Backend> {
    backend: &'a B,
    pub(super) system: &'a System<B::Matrix>,
    gram: B::Matrix,
    pub(super) cross: Mat<f64>,
    /// As how many observations its rows count.
    pub(super) count: f64,
}

/// What is known of a task at one noise level.
pub(super) struct Level {
    /// Log marginal likelihood.
    pub(super) value: f64,
    pub(super) amplitude: f64,
}

/// The marginal likelihood and its derivatives.
pub(super) struct Marginal<M> {
    /// Σ_c ln p(y_c).
    pub(super) value: f64,
    /// By the logarithm of each feature's prior variance.
    pub(super) by_variance: Vec<f64>,
    /// By the logarithm of each task's noise.
    pub(super) by_noise: Vec<f64>,
    pub(super) amplitude: Vec<f64>,
    /// K×C posterior means B Ψᵀy.
    pub(super) weights: Mat<f64>,
    /// Σ_c B_c over the tasks of each system, lower triangle; none unless asked for.
    pub(super) inverse: Vec<M>,
}

impl<'a, B: Backend> Whitened<'a, B> {
    /// `deviation` is the prior standard deviation of each weight.
    pub(super) fn new(backend: &'a B, system: &'a System<B::Matrix>, deviation: &[f64], relative: bool) -> Self {
        let (mut gram, mut cross) = (system.gram.clone(), system.cross.clone());
        backend.scale_both(&mut gram, deviation);
        scale_rows(&mut cross, deviation);
        Whitened { backend, system, gram, cross, count: if relative { system.rows } else { system.mass } }
    }

    /// The factor of S + σ²I.
    pub(super) fn factor(&self, noise: f64) -> Option<B::Factor> {
        self.backend.factor(&self.gram, noise)
    }

    /// The task in place `c` at a noise where ln |S + σ²I| is known, with Ψᵀy half solved.
    pub(super) fn level(&self, c: usize, noise: f64, ln_det: f64, half: &[f64]) -> Level {
        let square = &self.system.square;
        let ln_det = ln_det + (self.count - self.cross.nrows() as f64) * noise.ln();
        // yᵀ(ΨΨᵀ + σ²I)⁻¹y; the amplitude of a constant target would be zero, and its logarithm must be finite.
        let energy = (square[c] - dot(half, half)) / noise;
        let amplitude = (energy / self.count).max(1e-12);
        Level { value: -0.5 * (ln_det + self.count * (amplitude.ln() + 1.0 + TAU.ln())), amplitude }
    }

    /// ‖y − Ψw‖² for the posterior mean w of the task in place `c`, where Sw = Ψᵀy − σ²w.
    fn residual(&self, c: usize, noise: f64, w: &[f64]) -> f64 {
        (self.system.square[c] - dot(w, self.cross.col_as_slice(c)) - noise * dot(w, w)).max(0.0)
    }
}

/// The marginal likelihood at the noise of each task; `None` where a system is singular to rounding.
pub(super) fn marginal<B: Backend>(
    backend: &B,
    systems: &[Whitened<'_, B>],
    noise: &[f64],
    inverses: bool,
) -> Option<Marginal<B::Matrix>> {
    let columns = systems.first()?.cross.nrows();
    let mut out = Marginal {
        value: 0.0,
        by_variance: vec![0.0; columns],
        by_noise: vec![0.0; noise.len()],
        amplitude: vec![1.0; noise.len()],
        weights: Mat::zeros(columns, noise.len()),
        inverse: Vec::new(),
    };
    for whitened in systems {
        let mut sum = inverses.then(|| backend.zeros(columns, columns));
        // One factor serves all tasks of the same noise.
        let mut same: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (place, &task) in whitened.system.tasks.iter().enumerate() {
            same.entry(noise[task].to_bits()).or_default().push(place);
        }
        for (bits, places) in same {
            let noise = f64::from_bits(bits);
            let factor = whitened.factor(noise)?;
            let ln_det = backend.ln_det(&factor);
            let mut solved = select_columns(whitened.cross.as_ref(), &places);
            backend.half_solve(&factor, &mut solved);
            let levels: Vec<Level> = places
                .iter()
                .enumerate()
                .map(|(i, &place)| whitened.level(place, noise, ln_det, solved.col_as_slice(i)))
                .collect();
            backend.half_solve_transposed(&factor, &mut solved);
            let (diagonal, inverse) = backend.inverse(factor, inverses);
            let trace: f64 = diagonal.iter().sum();
            for (i, (&place, level)) in places.iter().zip(&levels).enumerate() {
                let (task, w) = (whitened.system.tasks[place], solved.col_as_slice(i));
                out.value += level.value;
                out.amplitude[task] = level.amplitude;
                out.weights.col_as_slice_mut(task).copy_from_slice(w);
                for ((by, w), b) in out.by_variance.iter_mut().zip(w).zip(&diagonal) {
                    *by += 0.5 * (w * w / level.amplitude + noise * b - 1.0);
                }
                let fit = whitened.residual(place, noise, w) / (level.amplitude * noise);
                out.by_noise[task] += 0.5 * (fit - (whitened.count - columns as f64) - noise * trace);
            }
            if let (Some(sum), Some(inverse)) = (&mut sum, inverse) {
                backend.add(sum, &inverse, places.len() as f64);
            }
        }
        out.inverse.extend(sum);
    }
    Some(out)
}
