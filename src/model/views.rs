//! One model, two views: a kernel machine and a layer of sinusoids (equations 19 and 20).

use super::Model;
use crate::data::{check_inputs, expect_count};
use crate::error::{Error, Result};
use crate::linalg::{Into, Mat, MatRef, Spectral, Threads, multiply, outer};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// One kept cosine, in the units of the data: its share of target c is `weight[c] · cos(Σ_d frequency_d x_d + phase)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sinusoid {
    /// Radians per original unit of each input.
    pub frequency: Vec<f64>,
    /// Phase for inputs on their original scale, in [0, 2π).
    pub phase: f64,
    /// Length of one period along each input, in its original unit; infinite if the input plays no part.
    pub wavelength: Vec<f64>,
    /// Posterior mean for each task, on its original scale.
    pub weight: Vec<f64>,
    /// Posterior standard deviation for each task, on its original scale.
    pub weight_std: Vec<f64>,
    /// Prior precision ⟨α⟩, shared by all tasks, on the standardised scale.
    pub precision: f64,
}

/// An input that enters the function directly, in the units of the data: its share of target c is `slope[c] · x`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Position among the inputs.
    pub input: usize,
    /// Posterior mean for each task, in units of the target per unit of the input.
    pub slope: Vec<f64>,
    /// Posterior standard deviation for each task.
    pub slope_std: Vec<f64>,
}

/// The same function as a kernel machine: f_c(x) ≈ Σ_n β_nc κ(x_n, x) + links + bias.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelView {
    /// N×C coefficients β = (ΦΦᵀ)⁺Φ⟨W⟩ of the cosine part, on the original scale of each target.
    pub coefficients: Mat<f64>,
    /// Root mean square of ΦΦᵀ − κ over the pairs of rows.
    pub kernel_rms_error: f64,
    /// Largest absolute entry of ΦΦᵀ − κ.
    pub kernel_max_error: f64,
    /// ‖⟨W⟩ − Φᵀβ‖/‖⟨W⟩‖, the share of the weights that no combination of kernel functions at these rows can express:
    /// zero if the precisions of the cosines are tied or the features have full column rank.
    pub weights_unexplained: f64,
}

impl Model {
    /// The extreme-learning-machine view: every kept cosine.
    pub fn sinusoids(&self) -> Vec<Sinusoid> {
        let waves = self.basis.cosines();
        let deviations = self.weight_deviations();
        let tasks = 0..self.target_names().len();
        (0..waves)
            .map(|m| {
                let frequency: Vec<f64> = (0..self.basis.inputs())
                    .map(|d| self.scales.factor(d) * self.basis.directions[(d, m)] / self.input_scale.scale[d])
                    .collect();
                let shift: f64 = frequency.iter().zip(&self.input_scale.mean).map(|(f, mean)| f * mean).sum();
                let amplitude = |c: usize| self.basis.amplitude * self.target_scale.scale[c];
                Sinusoid {
                    wavelength: frequency.iter().map(|f| TAU / f.abs()).collect(),
                    phase: wrapped(self.basis.offsets[m] - shift),
                    frequency,
                    weight: tasks.clone().map(|c| amplitude(c) * self.posterior.mean[(m, c)]).collect(),
                    weight_std: tasks.clone().map(|c| amplitude(c) * deviations[(m, c)]).collect(),
                    precision: self.posterior.precision[m],
                }
            })
            .collect()
    }

    /// Every direct link.
    pub fn links(&self) -> Vec<Link> {
        let deviations = self.weight_deviations();
        let tasks = 0..self.target_names().len();
        let factor = self.basis.link_factor();
        let link = |(i, &input): (usize, &usize)| {
            let row = self.basis.cosines() + i;
            let unit = |c: usize| factor * self.target_scale.scale[c] / self.input_scale.scale[input];
            Link {
                input,
                slope: tasks.clone().map(|c| unit(c) * self.posterior.mean[(row, c)]).collect(),
                slope_std: tasks.clone().map(|c| unit(c) * deviations[(row, c)]).collect(),
            }
        };
        self.basis.links.iter().enumerate().map(link).collect()
    }

    /// Distance along each input, in its own unit, at which the scaled difference of the kernel is one: √(2γr)·Δx = 1.
    /// Infinite if the input plays no part in the kernel.
    pub fn kernel_lengths(&self) -> Vec<f64> {
        (0..self.basis.inputs()).map(|d| self.input_scale.scale[d] / self.scales.factor(d)).collect()
    }

    /// Posterior standard deviation of every weight and bias, standardised scale.
    fn weight_deviations(&self) -> Mat<f64> {
        let k = self.posterior.precision.len();
        let mut variance = self.posterior.variance(&Mat::identity(k, k), Threads::current());
        for c in 0..variance.ncols() {
            variance.col_as_slice_mut(c).iter_mut().for_each(|v| *v = v.sqrt());
        }
        variance
    }

    /// The kernel view for given rows of inputs, usually the training rows. Costs N³.
    pub fn kernel_view(&self, inputs: MatRef<'_, f64>) -> Result<KernelView> {
        expect_count("the input table", "columns", inputs.ncols(), self.input_names.len())?;
        check_inputs(inputs, &self.input_names)?;
        let threads = Threads::current();
        let standardised = self.input_scale.apply(inputs, &self.input_names)?;
        let mut waves = self.basis.clone();
        waves.links.clear();
        let features = waves.features(standardised.as_ref(), &self.scales);
        let weights = self.posterior.mean.as_ref().subrows(0, waves.cosines());
        let fitted = multiply(features.as_ref(), weights, threads);
        let rows = features.nrows();
        let mut gram = Mat::zeros(rows, rows);
        outer(gram.as_mut(), Into::Replace, features.as_ref(), threads);

        let mut coefficients =
            pseudo_solve(gram.clone(), &fitted, threads).ok_or(Error::Singular { size: rows, noise: 0.0 })?;
        crate::linalg::fill_upper(gram.as_mut());
        let expressed = multiply(features.as_ref().transpose(), coefficients.as_ref(), threads);
        let (mut missed, mut all) = (0.0, 0.0);
        for c in 0..fitted.ncols() {
            for m in 0..waves.cosines() {
                missed += (weights[(m, c)] - expressed[(m, c)]).powi(2);
                all += weights[(m, c)].powi(2);
            }
        }
        for c in 0..fitted.ncols() {
            let scale = self.target_scale.scale[c];
            coefficients.col_as_slice_mut(c).iter_mut().for_each(|b| *b *= scale);
        }

        let factors: Vec<f64> = (0..waves.inputs()).map(|d| self.scales.factor(d)).collect();
        let (mut square, mut largest) = (0.0, 0.0f64);
        for j in 0..rows {
            for i in 0..rows {
                let delta = factors.iter().enumerate().map(|(d, f)| f * (standardised[(i, d)] - standardised[(j, d)]));
                let error = gram[(i, j)] - waves.spectrum.kernel(delta);
                square += error * error;
                largest = largest.max(error.abs());
            }
        }
        Ok(KernelView {
            coefficients,
            kernel_rms_error: (square / (rows * rows).max(1) as f64).sqrt(),
            kernel_max_error: largest,
            weights_unexplained: if all > 0.0 { (missed / all).sqrt() } else { 0.0 },
        })
    }
}

/// An angle brought to [0, 2π). A tiny negative one rounds to 2π itself, which is 0.
fn wrapped(angle: f64) -> f64 {
    let turned = angle.rem_euclid(TAU);
    if turned < TAU { turned } else { 0.0 }
}

/// G⁺ f for a positive semidefinite G (lower triangle), dropping directions below rounding.
fn pseudo_solve(gram: Mat<f64>, right: &Mat<f64>, threads: Threads) -> Option<Mat<f64>> {
    let Spectral { values, vectors } = Spectral::new(gram)?;
    let largest = values.last().copied().unwrap_or(0.0);
    let cutoff = largest * f64::EPSILON * values.len() as f64;
    let mut inside = multiply(vectors.as_ref().transpose(), right.as_ref(), threads);
    for c in 0..inside.ncols() {
        let column = inside.col_as_slice_mut(c).iter_mut();
        column.zip(&values).for_each(|(v, l)| *v = if *l > cutoff { *v / l } else { 0.0 });
    }
    Some(multiply(vectors.as_ref(), inside.as_ref(), threads))
}
