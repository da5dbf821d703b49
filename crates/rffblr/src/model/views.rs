//! Two views of one model: a sum of kernels at the training rows and a sum of sinusoids (equations 19 and 20).

use super::cosines::Cosines;
use super::waves::Waves;
use super::{Function, Model};
use crate::data::{check_inputs, expect_count};
use crate::error::{Error, Result};
use crate::fourier::{Scales, Spectrum};
use crate::kernel::Kernel;
use crate::linalg::{Accumulate, Mat, MatRef, Spectral, Threads, multiply, outer};
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
    /// The extreme-learning-machine view: every kept cosine. A kernel machine has none.
    pub fn sinusoids(&self) -> Vec<Sinusoid> {
        let Some(waves) = self.function.waves() else { return Vec::new() };
        let deviations = waves.weight_deviations();
        let tasks = 0..self.target_names().len();
        (0..waves.basis.cosines())
            .map(|m| {
                let frequency: Vec<f64> = (0..waves.basis.inputs())
                    .map(|d| waves.basis.directions[(d, m)] / self.input_scale.scale[d])
                    .collect();
                let shift: f64 = frequency.iter().zip(&self.input_scale.mean).map(|(f, mean)| f * mean).sum();
                let amplitude = |c: usize| waves.basis.amplitude * self.target_scale.scale[c];
                Sinusoid {
                    wavelength: frequency.iter().map(|f| TAU / f.abs()).collect(),
                    phase: wrapped(waves.basis.offsets[m] - shift),
                    frequency,
                    weight: tasks.clone().map(|c| amplitude(c) * waves.posterior.mean[(m, c)]).collect(),
                    weight_std: tasks.clone().map(|c| amplitude(c) * deviations[(m, c)]).collect(),
                    precision: waves.posterior.precision[m],
                }
            })
            .collect()
    }

    /// The constant of each task, on its original scale: the function is the sum of sinusoids, direct links and it. A kernel
    /// machine is not such a sum.
    pub fn constants(&self) -> Option<Vec<f64>> {
        let waves = self.function.waves()?;
        let (bias, links) = (waves.posterior.precision.len() - 1, self.links());
        let constant = |c: usize| {
            let middle: f64 = links.iter().map(|link| link.slope[c] * self.input_scale.mean[link.input]).sum();
            self.target_scale.mean[c] + self.target_scale.scale[c] * waves.posterior.mean[(bias, c)] - middle
        };
        Some((0..self.target_names.len()).map(constant).collect())
    }

    /// Every direct link; in a kernel machine every input has one.
    pub fn links(&self) -> Vec<Link> {
        // Slopes and their deviations for standardised inputs and targets, one row for each link.
        let of_waves = |waves: &Waves| {
            let inputs = waves.basis.links.clone();
            let (first, amplitude) = (waves.basis.cosines(), waves.basis.link_factor());
            let deviations = waves.weight_deviations();
            let rows =
                |table: &Mat<f64>| Mat::from_fn(inputs.len(), table.ncols(), |i, c| amplitude * table[(first + i, c)]);
            let (slope, deviation) = (rows(&waves.posterior.mean), rows(&deviations));
            (inputs, slope, deviation)
        };
        let (inputs, slope, deviation) = match &self.function {
            Function::Kernel(machines) => {
                let (slope, deviation) = machines.slopes(Threads::current());
                ((0..self.input_names.len()).collect(), slope, deviation)
            }
            Function::Sinusoids(sinusoids) => of_waves(&sinusoids.waves),
            Function::Cosines(cosines) => of_waves(&cosines.waves),
            Function::Drawn(drawn) => {
                let empty = || Mat::zeros(self.input_names.len(), self.target_names.len());
                let (mut slope, mut deviation) = (empty(), empty());
                for member in drawn.members() {
                    let (_, own_slope, own_deviation) = of_waves(&member.waves);
                    member.spread(&own_slope, &mut slope, 0);
                    member.spread(&own_deviation, &mut deviation, 0);
                }
                ((0..self.input_names.len()).collect(), slope, deviation)
            }
        };
        let link = |(i, &input): (usize, &usize)| {
            let unit = |c: usize| self.target_scale.scale[c] / self.input_scale.scale[input];
            let tasks = 0..self.target_names().len();
            Link {
                input,
                slope: tasks.clone().map(|c| unit(c) * slope[(i, c)]).collect(),
                slope_std: tasks.map(|c| unit(c) * deviation[(i, c)]).collect(),
            }
        };
        inputs.iter().enumerate().map(link).collect()
    }

    /// The learned kernels of a kernel machine, or of the one that sinusoids were fitted to, each with the tasks that
    /// share it; every task has one. None for cosines that were drawn.
    pub fn kernels(&self) -> Vec<(&[usize], &Kernel)> {
        match &self.function {
            Function::Kernel(machines) => {
                machines.members().iter().map(|member| (&*member.tasks, &member.machine.kernel)).collect()
            }
            Function::Sinusoids(sinusoids) => {
                sinusoids.origin.iter().map(|group| (&*group.tasks, &group.kernel)).collect()
            }
            Function::Drawn(drawn) => drawn.members().iter().map(|member| (&*member.tasks, &member.kernel)).collect(),
            Function::Cosines(_) => Vec::new(),
        }
    }

    /// The tasks that share a kernel, group by group: all of them, unless some were given kernels of their own.
    pub fn task_groups(&self) -> Vec<Vec<usize>> {
        match self.kernels().as_slice() {
            [] => vec![(0..self.target_names.len()).collect()],
            kernels => kernels.iter().map(|(tasks, _)| tasks.to_vec()).collect(),
        }
    }

    /// Bandwidth γ of each task's RBF kernel, for standardised inputs; of a kernel machine that of its RBF family.
    pub fn bandwidths(&self) -> Vec<f64> {
        self.of_kernels(1, |kernel, _| kernel.rbf.bandwidth, |scales, _| scales.bandwidth)
            .row(0)
            .iter()
            .copied()
            .collect()
    }

    /// Scale r of each input inside the kernel of each task: inputs × tasks.
    pub fn input_scales(&self) -> Mat<f64> {
        let inputs = self.input_names.len();
        self.of_kernels(inputs, |kernel, d| kernel.input_scales[d], |scales, d| scales.input_scales[d])
    }

    /// Distance along each input, in its own unit, effective length scale of the kernel of each task: √(2γr)·Δx = 1 for
    /// cosines; for a kernel machine, and sinusoids fitted to one, where its families together have fallen to 1/e.
    /// Infinite if they never do. Inputs × tasks.
    pub fn kernel_lengths(&self) -> Mat<f64> {
        let unit = &self.input_scale.scale;
        let of_kernel = |kernel: &Kernel, d: usize| unit[d] * kernel.length(d);
        self.of_kernels(unit.len(), of_kernel, |scales, d| unit[d] * (1.0 / scales.factor(d)))
    }

    /// A table of some rows and a column for each task, from its kernel or from the cosines that were drawn.
    fn of_kernels(
        &self,
        rows: usize,
        of_kernel: impl Fn(&Kernel, usize) -> f64,
        of_scales: impl Fn(&Scales, usize) -> f64,
    ) -> Mat<f64> {
        let mut out = Mat::zeros(rows, self.target_names.len());
        if let Function::Cosines(cosines) = &self.function {
            return Mat::from_fn(rows, out.ncols(), |d, _| of_scales(&cosines.scales, d));
        }
        for (tasks, kernel) in self.kernels() {
            let column: Vec<f64> = (0..rows).map(|d| of_kernel(kernel, d)).collect();
            tasks.iter().for_each(|&task| out.col_as_slice_mut(task).copy_from_slice(&column));
        }
        out
    }

    /// The kernel view for given rows of inputs, usually the training rows. Costs N³. A kernel machine is this view: its
    /// coefficients belong to its training rows, so that the rows given must be those. Sinusoids fitted to a kernel machine
    /// have no such view: their frequencies are not drawn from a kernel.
    pub fn kernel_view(&self, inputs: MatRef<'_, f64>) -> Result<KernelView> {
        expect_count("the input table", "columns", inputs.ncols(), self.input_names.len())?;
        check_inputs(inputs, &self.input_names)?;
        let standardised = self.input_scale.apply(inputs, &self.input_names)?;
        let mut view = match &self.function {
            Function::Sinusoids(_) | Function::Drawn(_) => return Err(Error::NoKernelView),
            Function::Cosines(cosines) => {
                let spectrum = self.settings.form.cosines().map_or(Spectrum::Rbf, |cosines| cosines.spectrum);
                cosines.kernel_view(&standardised, spectrum, Threads::current())?
            }
            Function::Kernel(machines) if **machines.inputs() == standardised => KernelView {
                coefficients: machines.coefficients(),
                kernel_rms_error: 0.0,
                kernel_max_error: 0.0,
                weights_unexplained: 0.0,
            },
            Function::Kernel(_) => return Err(Error::OtherData("the kernel view of a kernel machine")),
        };
        for (c, scale) in self.target_scale.scale.iter().enumerate() {
            view.coefficients.col_as_slice_mut(c).iter_mut().for_each(|b| *b *= scale);
        }
        Ok(view)
    }
}

impl Cosines {
    /// The kernel view for standardised rows, coefficients on the standardised scale.
    fn kernel_view(&self, standardised: &Mat<f64>, spectrum: Spectrum, threads: Threads) -> Result<KernelView> {
        let mut waves = self.waves.basis.clone();
        waves.links.clear();
        let features = waves.features(standardised.as_ref());
        let weights = self.waves.posterior.mean.as_ref().subrows(0, waves.cosines());
        let fitted = multiply(features.as_ref(), weights, threads);
        let rows = features.nrows();
        let mut gram = Mat::zeros(rows, rows);
        outer(gram.as_mut(), Accumulate::Replace, features.as_ref(), threads);

        let coefficients =
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
        let factors: Vec<f64> = (0..waves.inputs()).map(|d| self.scales.factor(d)).collect();
        let (mut square, mut largest) = (0.0, 0.0f64);
        for j in 0..rows {
            for i in 0..rows {
                let delta = factors.iter().enumerate().map(|(d, f)| f * (standardised[(i, d)] - standardised[(j, d)]));
                let error = gram[(i, j)] - spectrum.kernel(delta);
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
