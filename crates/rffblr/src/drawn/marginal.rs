//! Log marginal likelihood of the tasks given sums over the rows, and its derivatives that need nothing else: by the prior
//! variance of each feature and by the noise of each task (equations 40 to 42).
//!
//! With Ψ = ΦA⁻½, S = ΨᵀΨ and B_c = (S + σ_c²I)⁻¹, where kernel and noise of task c are both multiplied by an amplitude
//! a_c, which is at its best for the task.

use super::sums::System;
use crate::linalg::{Cholesky, Mat, Threads, dot};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// A system in units of the prior: S, Ψᵀy.
pub(super) struct Whitened<'a> {
    pub(super) system: &'a System,
    gram: Mat<f64>,
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
pub(super) struct Marginal {
    /// Σ_c ln p(y_c).
    pub(super) value: f64,
    /// By the logarithm of each feature's prior variance.
    pub(super) by_variance: Vec<f64>,
    /// By the logarithm of each task's noise.
    pub(super) by_noise: Vec<f64>,
    pub(super) amplitude: Vec<f64>,
    /// K×C posterior means B Ψᵀy.
    pub(super) weights: Mat<f64>,
    /// Σ_c B_c over the tasks of each system, lower triangle; empty unless asked for.
    pub(super) inverse: Vec<Mat<f64>>,
}

impl<'a> Whitened<'a> {
    /// `deviation` is the prior standard deviation of each weight.
    pub(super) fn new(system: &'a System, deviation: &[f64], relative: bool) -> Whitened<'a> {
        let (mut gram, mut cross) = (system.gram.clone(), system.cross.clone());
        for j in 0..gram.ncols() {
            let column = gram.col_as_slice_mut(j)[j..].iter_mut().zip(&deviation[j..]);
            column.for_each(|(v, deviation_i)| *v *= deviation_i * deviation[j]);
        }
        crate::linalg::scale_rows(&mut cross, deviation);
        Whitened { system, gram, cross, count: if relative { system.rows } else { system.mass } }
    }

    /// The factor of S + σ²I.
    pub(super) fn factor(&self, noise: f64, threads: Threads) -> Option<Cholesky> {
        let mut s = self.gram.clone();
        (0..s.nrows()).for_each(|i| s[(i, i)] += noise);
        Cholesky::new(s, threads)
    }

    /// The task in place `c` at a noise whose factor is given, with Ψᵀy half solved.
    pub(super) fn level(&self, c: usize, noise: f64, factor: &Cholesky, half: &[f64]) -> Level {
        let square = &self.system.square;
        let ln_det = factor.ln_det() + (self.count - self.gram.nrows() as f64) * noise.ln();
        // yᵀ(ΨΨᵀ + σ²I)⁻¹y; the amplitude of a constant target would be zero, and its logarithm must be finite.
        let energy = (square[c] - dot(half, half)) / noise;
        let amplitude = (energy / self.count).max(1e-12);
        Level { value: -0.5 * (ln_det + self.count * (amplitude.ln() + 1.0 + TAU.ln())), amplitude }
    }

    /// ‖y − Ψw‖² for the weights w of the task in place `c`.
    fn residual(&self, c: usize, w: &[f64]) -> f64 {
        let k = w.len();
        let mut energy = self.system.square[c] - 2.0 * dot(w, self.cross.col_as_slice(c));
        for j in 0..k {
            let column = self.gram.col_as_slice(j);
            energy += w[j] * (column[j] * w[j] + 2.0 * dot(&column[j + 1..], &w[j + 1..]));
        }
        energy.max(0.0)
    }
}

/// The marginal likelihood at the noise of each task; `None` where a system is singular to rounding.
pub(super) fn marginal(systems: &[Whitened<'_>], noise: &[f64], inverses: bool, threads: Threads) -> Option<Marginal> {
    let columns = systems.first()?.gram.nrows();
    let mut out = Marginal {
        value: 0.0,
        by_variance: vec![0.0; columns],
        by_noise: vec![0.0; noise.len()],
        amplitude: vec![1.0; noise.len()],
        weights: Mat::zeros(columns, noise.len()),
        inverse: Vec::new(),
    };
    for whitened in systems {
        let mut sum = Mat::zeros(if inverses { columns } else { 0 }, if inverses { columns } else { 0 });
        // One factor serves all tasks of the same noise.
        let mut same: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (place, &task) in whitened.system.tasks.iter().enumerate() {
            same.entry(noise[task].to_bits()).or_default().push(place);
        }
        for (bits, places) in same {
            let noise = f64::from_bits(bits);
            let factor = whitened.factor(noise, threads)?;
            let mut solved = crate::linalg::select_columns(whitened.cross.as_ref(), &places);
            factor.half_solve(solved.as_mut());
            let levels: Vec<Level> = places
                .iter()
                .enumerate()
                .map(|(i, &place)| whitened.level(place, noise, &factor, solved.col_as_slice(i)))
                .collect();
            factor.half_solve_transposed(solved.as_mut());
            let (diagonal, inverse) = factor.into_inverse(inverses);
            let trace: f64 = diagonal.iter().sum();
            for (i, (&place, level)) in places.iter().zip(&levels).enumerate() {
                let (task, w) = (whitened.system.tasks[place], solved.col_as_slice(i));
                out.value += level.value;
                out.amplitude[task] = level.amplitude;
                out.weights.col_as_slice_mut(task).copy_from_slice(w);
                for ((by, w), b) in out.by_variance.iter_mut().zip(w).zip(&diagonal) {
                    *by += 0.5 * (w * w / level.amplitude + noise * b - 1.0);
                }
                let fit = whitened.residual(place, w) / (level.amplitude * noise);
                out.by_noise[task] += 0.5 * (fit - (whitened.count - columns as f64) - noise * trace);
            }
            if let Some(inverse) = inverse {
                let times = places.len() as f64;
                for j in 0..columns {
                    let column = sum.col_as_slice_mut(j)[j..].iter_mut();
                    column.zip(&inverse.col_as_slice(j)[j..]).for_each(|(to, from)| *to += times * from);
                }
            }
        }
        out.inverse.push(sum);
    }
    Some(out)
}
