//! A fitted model: predictive mean and deviation, its views as kernels and as sinusoids, and its file.

mod checked;
mod choose;
mod cosines;
mod drawn;
pub(crate) mod file;
mod fit;
mod function;
mod intervals;
mod needs;
pub(crate) mod plain;
mod posterior;
mod prediction;
mod seen;
mod sinusoids;
#[cfg(test)]
mod tests;
mod views;
mod waves;

pub use file::{FORMAT, FORMAT_VERSION, Verification};
pub use fit::{fit, fit_observed};
pub(crate) use intervals::normal_reach;
pub use intervals::{ErrorQuantiles, Widening, widening};
pub use needs::memory_of_fit;
pub use prediction::{Laws, Prediction, PredictionColumns};
pub use views::{KernelView, Link, Sinusoid};

use crate::data::{Dataset, Encoder, RowSums, SetAside, Standardiser, Weights, back, check_inputs, expect_count};
use crate::device::{Cuda, caught, chosen};
use crate::error::{Error, Result};
use crate::kernel::LeftOut;
use crate::linalg::{Mat, MatRef, Threads, select_rows};
use crate::metrics::Check;
use crate::problem::Problem;
use crate::settings::{Device, Settings};
use crate::steps::{Iteration, Stop};
use crate::transform::Transform;
pub(crate) use choose::{Learning, learn, transformed};
pub(crate) use drawn::{Drawn, DrawnMember};
pub(crate) use fit::rounding_of;
pub(crate) use function::{Function, Part};
pub(crate) use needs::{exact_bytes, expect_memory};
pub(crate) use posterior::{Inverse, Posterior, Shape};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::borrow::Cow;
use std::sync::Arc;
pub(crate) use waves::Waves;

/// Rows predicted at once: bounds the memory of a prediction.
const ROWS: usize = 4096;

/// RFF-BLR, fitted.
#[derive(Clone, Debug)]
pub struct Model {
    settings: Settings,
    input_names: Vec<String>,
    target_names: Vec<String>,
    input_scale: Standardiser,
    /// Of the targets once they are transformed.
    target_scale: Standardiser,
    transforms: Arc<[Option<Transform>]>,
    pub(crate) function: Function,
    trace: Vec<Iteration>,
    stop: Stop,
    rows: usize,
    /// Of the data as a whole; empty where these came in blocks.
    fingerprint: String,
    row_fingerprints: Option<RowFingerprints>,
    /// Of some of the training rows that stand for all.
    sample: Option<String>,
    weighting: Option<Weights<()>>,
    set_aside: Vec<SetAside>,
    encoder: Option<Encoder>,
    check: Option<Check>,
    error_quantiles: Option<Arc<ErrorQuantiles>>,
    writer: String,
}

/// By which the training rows are known again in any order, by a model that does not keep them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowFingerprints {
    /// Of inputs, targets and weights; a file of an earlier version has none.
    pub(crate) whole: Option<String>,
    pub(crate) inputs: String,
}

impl RowFingerprints {
    fn of(rows: &RowSums) -> RowFingerprints {
        RowFingerprints { whole: Some(rows.text()), inputs: rows.input_text() }
    }
}

/// What a model is made of, where its training data are not at hand as a whole.
pub(crate) struct Parts {
    pub(crate) settings: Settings,
    pub(crate) input_names: Vec<String>,
    pub(crate) target_names: Vec<String>,
    pub(crate) input_scale: Standardiser,
    pub(crate) target_scale: Standardiser,
    pub(crate) transforms: Vec<Option<Transform>>,
    pub(crate) function: Function,
    pub(crate) trace: Vec<Iteration>,
    pub(crate) stop: Stop,
    pub(crate) rows: usize,
    pub(crate) weighting: Option<Weights<()>>,
}

impl Model {
    pub(crate) fn of_parts(parts: Parts) -> Model {
        let Parts { settings, input_names, target_names, input_scale, target_scale, function, .. } = parts;
        Model {
            settings,
            input_names,
            target_names,
            input_scale,
            target_scale,
            transforms: parts.transforms.into(),
            function,
            trace: parts.trace,
            stop: parts.stop,
            rows: parts.rows,
            fingerprint: String::new(),
            row_fingerprints: None,
            sample: None,
            weighting: parts.weighting,
            set_aside: Vec::new(),
            encoder: None,
            check: None,
            error_quantiles: None,
            writer: file::WRITER.into(),
        }
    }

    /// Keeps what tells whether data are those the model was fitted to, for one that was fitted to them in blocks.
    pub fn with_training_data(mut self, data: &Dataset) -> Model {
        (self.rows, self.fingerprint) = (data.rows(), data.fingerprint());
        let keeps_rows = matches!(self.function, Function::Kernel(_));
        self.row_fingerprints = (!keeps_rows).then(|| RowFingerprints::of(&data.row_sums()));
        self
    }

    /// The same for one whose data were never in memory as a whole.
    pub(crate) fn with_training_rows(mut self, rows: &RowSums) -> Model {
        (self.rows, self.row_fingerprints) = (rows.rows() as usize, Some(RowFingerprints::of(rows)));
        self
    }

    /// From now on some of the training rows, as who calls knows that they are, do for what is computed of all of them. A
    /// kernel machine needs all of them, and a file does not keep this.
    pub fn with_training_sample(mut self, data: &Dataset) -> Model {
        self.sample = Some(data.fingerprint());
        self
    }

    /// Mean and uncertainty for rows of inputs on their original scale. Memory: blocks of a few thousand rows.
    pub fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Prediction> {
        Ok(self.predict_blocks(inputs, true)?.back(&self.transforms))
    }

    /// The means alone, at a fraction of the cost unless a target is transformed.
    pub fn predict_mean(&self, inputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        match self.transforms.iter().all(Option::is_none) {
            true => self.predict_function(inputs),
            false => Ok(self.predict(inputs)?.mean),
        }
    }

    /// The point predictions alone, as [`Prediction::point`] has them.
    pub fn predict_point(&self, inputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        match self.transforms.iter().all(Option::is_none) {
            true => self.predict_function(inputs),
            false => Ok(self.predict(inputs)?.point()),
        }
    }

    /// Means of the function itself: of a transformed target, on the scale of its transform. Explanations add up to this.
    pub fn predict_function(&self, inputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        Ok(self.predict_blocks(inputs, false)?.mean)
    }

    /// On the scale of the fit, where targets are transformed.
    fn predict_blocks(&self, inputs: MatRef<'_, f64>, uncertain: bool) -> Result<Prediction> {
        expect_count("the input table", "columns", inputs.ncols(), self.input_names.len())?;
        check_inputs(inputs, &self.input_names)?;
        let threads = Threads::current();
        let (rows, tasks) = (inputs.nrows(), self.target_names.len());
        let empty = || Mat::zeros(if uncertain { rows } else { 0 }, tasks);
        let errors = self.error_quantiles.clone();
        let mut out =
            Prediction { mean: Mat::zeros(rows, tasks), latent_std: empty(), std: empty(), errors, laws: None };
        let cuda = self.device_for(rows, uncertain)?;
        let there = match (&cuda, &self.function) {
            (Some(cuda), Function::Drawn(drawn)) => Some(caught(|| Ok(drawn.there(cuda)))?),
            _ => None,
        };
        for start in (0..rows).step_by(ROWS) {
            let block = inputs.subrows(start, ROWS.min(rows - start));
            let block = self.input_scale.apply(block, &self.input_names)?;
            let (mean, variance) = match &there {
                None => self.function.predict(block.as_ref(), uncertain, threads),
                Some(there) => caught(|| Ok(there.predict(block.as_ref(), uncertain)))?,
            };
            for c in 0..tasks {
                let (shift, scale) = (self.target_scale.mean[c], self.target_scale.scale[c]);
                let noise = self.function.noise_variance(c);
                for i in 0..block.nrows() {
                    out.mean[(start + i, c)] = back(shift, scale, mean[(i, c)]);
                    if let Some(variance) = &variance {
                        out.latent_std[(start + i, c)] = back(0.0, scale, variance[(i, c)].sqrt());
                        out.std[(start + i, c)] = back(0.0, scale, (variance[(i, c)] + noise).sqrt());
                    }
                }
            }
        }
        Ok(out)
    }

    /// The device that predicts so many rows, if that is asked for or quicker: features drawn from a kernel alone have one.
    fn device_for(&self, rows: usize, uncertain: bool) -> Result<Option<Cuda>> {
        let Function::Drawn(drawn) = &self.function else { return Ok(None) };
        let work = if uncertain { rows as f64 * drawn.work() } else { 0.0 };
        let bytes = 8.0 * (2.0 * drawn.work() + 4.0 * ROWS as f64 * drawn.work().sqrt());
        chosen(self.settings.device, work, bytes, "predictions")
    }

    /// Joint covariance of new observations at the given rows, noise included: N′×N′ for each target. From all training rows,
    /// also where [`predict`](Model::predict) takes variances from a sample of them. A transformed target has none in
    /// closed form, which is an error.
    pub fn covariances(&self, inputs: MatRef<'_, f64>) -> Result<Vec<Mat<f64>>> {
        if let Some(task) = self.transforms.iter().position(Option::is_some) {
            return Err(Error::TransformedCovariance(self.target_names[task].clone()));
        }
        let rows = self.standardised_inputs(inputs)?;
        let mut out = self.function.covariances(&rows, Threads::current());
        for (c, covariance) in out.iter_mut().enumerate() {
            let (noise, unit) = (self.function.noise_variance(c), self.target_scale.scale[c].powi(2));
            (0..rows.nrows()).for_each(|i| covariance[(i, i)] = covariance[(i, i)].max(0.0) + noise);
            crate::linalg::scale_columns(covariance, |_| unit);
        }
        Ok(out)
    }

    /// Joint draws of the function at the given rows: one N×C table per draw. Of a transformed target they are draws of its
    /// median.
    pub fn sample(&self, inputs: MatRef<'_, f64>, draws: usize, seed: u64) -> Result<Vec<Mat<f64>>> {
        self.draws(inputs, draws, seed, false)
    }

    /// Joint draws of observations: of the function, and noise.
    pub fn sample_observations(&self, inputs: MatRef<'_, f64>, draws: usize, seed: u64) -> Result<Vec<Mat<f64>>> {
        self.draws(inputs, draws, seed, true)
    }

    fn draws(&self, inputs: MatRef<'_, f64>, draws: usize, seed: u64, noisy: bool) -> Result<Vec<Mat<f64>>> {
        expect_count("the input table", "columns", inputs.ncols(), self.input_names.len())?;
        check_inputs(inputs, &self.input_names)?;
        let threads = Threads::current();
        let inputs = self.input_scale.apply(inputs, &self.input_names)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut values = self.function.sample(inputs.as_ref(), draws, &mut rng, threads);
        for draw in &mut values {
            for c in 0..draw.ncols() {
                let (shift, scale) = (self.target_scale.mean[c], self.target_scale.scale[c]);
                let noise = if noisy { self.function.noise_variance(c).sqrt() } else { 0.0 };
                for value in draw.col_as_slice_mut(c) {
                    let z: f64 = if noisy { StandardNormal.sample(&mut rng) } else { 0.0 };
                    *value = back(shift, scale, *value + noise * z);
                    if let Some(transform) = &self.transforms[c] {
                        *value = transform.invert(*value);
                    }
                }
            }
        }
        Ok(values)
    }

    /// What the model would have predicted for each training row without it, at the learned hyper-parameters: equation 27
    /// for a kernel machine, 18 for cosines. Sinusoids fitted to a kernel machine are judged by the worse of two for each
    /// target: leaving rows out of that machine, and out of the sinusoids' weights (equation 30a). In cells that were not
    /// observed, and rows of weight zero, this is the ordinary prediction.
    pub fn leave_one_out(&self, data: &Dataset) -> Result<Prediction> {
        Ok(self.left_out(data)?.0)
    }

    /// Leverage of each observed cell (N×C), the h of equations 18 and 37; for sinusoids fitted to a kernel machine, of
    /// the function that [`leave_one_out`](Model::leave_one_out) uses. Zero in cells not observed.
    pub fn leverage(&self, data: &Dataset) -> Result<Mat<f64>> {
        Ok(self.left_out(data)?.1)
    }

    /// Leave-one-out predictions and leverages.
    pub(crate) fn left_out(&self, data: &Dataset) -> Result<(Prediction, Mat<f64>)> {
        self.check_training_data(data)?;
        let data = &match self.set_aside.is_empty() {
            true => Cow::Borrowed(data),
            false => Cow::Owned(data.without(&self.set_aside)),
        };
        let threads = Threads::current();
        let judged = data.judged_targets();
        let (rows, tasks) = judged.shape();
        let empty = || Mat::zeros(rows, tasks);
        let errors = self.error_quantiles.clone();
        let mut out = Prediction { mean: empty(), latent_std: empty(), std: empty(), errors, laws: None };
        // Cells that were not learned from are predicted as they are.
        let open: Vec<usize> = (0..rows).filter(|&n| (0..tasks).any(|c| judged[(n, c)].is_nan())).collect();
        let plain = self.predict_blocks(select_rows(data.inputs(), &open).as_ref(), true)?;
        let problem = || {
            let inputs = self.input_scale.apply(data.inputs(), &self.input_names)?;
            let targets = transformed(data.targets(), &self.transforms, &self.target_names)?;
            let targets = self.target_scale.apply(targets.as_ref(), &self.target_names)?;
            let rounding = rounding_of(data, &self.transforms, &self.target_scale);
            Ok((Problem::of(inputs, targets.clone(), data).knowing(data.one_hot(), rounding), targets))
        };
        let LeftOut { residual, variance, leverage } = self.function.leave_one_out(problem, threads)?;
        for c in 0..tasks {
            for (i, &row) in open.iter().enumerate() {
                out.mean[(row, c)] = plain.mean[(i, c)];
                out.latent_std[(row, c)] = plain.latent_std[(i, c)];
                out.std[(row, c)] = plain.std[(i, c)];
            }
            let (scale, noise) = (self.target_scale.scale[c], self.function.noise_variance(c));
            for row in (0..rows).filter(|&row| !judged[(row, c)].is_nan()) {
                let y =
                    self.transforms[c].map_or(judged[(row, c)], |transform| transform.shape.apply(judged[(row, c)]));
                out.mean[(row, c)] = back(y, -scale, residual[(row, c)]);
                out.latent_std[(row, c)] = back(0.0, scale, variance[(row, c)].sqrt());
                out.std[(row, c)] = back(0.0, scale, (variance[(row, c)] + noise).sqrt());
            }
        }
        Ok((out.back(&self.transforms), leverage))
    }

    fn check_training_data(&self, data: &Dataset) -> Result<()> {
        // The rows too: a file may say anything.
        let is_same = match &self.function {
            // Each of its rows is judged by itself.
            Function::Drawn(_) => self.sample == Some(data.fingerprint()) || self.is_fitted_to(data) == Some(true),
            _ => data.fingerprint() == self.fingerprint && data.rows() == self.rows,
        };
        match is_same {
            true => Ok(()),
            false => Err(Error::OtherData("leave-one-out")),
        }
    }

    /// Keeps how the inputs were made from a table, so that the model predicts from tables of the same kind.
    pub fn with_encoder(mut self, encoder: Encoder) -> Result<Model> {
        encoder
            .check(&self.input_names, &self.target_names)
            .map_err(|problem| Error::Foreign { what: "encoder", problem })?;
        self.encoder = Some(encoder);
        Ok(self)
    }

    /// How the inputs were made from a table, if the model was fitted to one.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.encoder.as_ref()
    }

    /// How inputs are made from a table: as in training or, if the model was fitted to numbers, from columns of numbers with
    /// the names of its inputs.
    pub fn table_encoder(&self) -> Cow<'_, Encoder> {
        match &self.encoder {
            Some(encoder) => Cow::Borrowed(encoder),
            None => Cow::Owned(Encoder::of_numbers(&self.input_names, &self.target_names)),
        }
    }

    /// The settings of the fit.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Predictions are computed by this device from now on; a model that was loaded says [`Device::Auto`].
    #[must_use]
    pub fn with_device(mut self, device: Device) -> Model {
        self.settings.device = device;
        self
    }

    /// Names of the inputs, in the order `predict` expects.
    pub fn input_names(&self) -> &[String] {
        &self.input_names
    }

    /// Names of the targets, in the order `predict` gives.
    pub fn target_names(&self) -> &[String] {
        &self.target_names
    }

    /// Terms of the function: cosines and direct links that were kept, or one kernel term for each training row.
    pub fn active_features(&self) -> usize {
        match &self.function {
            Function::Kernel(machines) => machines.inputs().nrows(),
            Function::Sinusoids(sinusoids) => sinusoids.waves.basis.columns(),
            Function::Cosines(cosines) => cosines.waves.basis.columns(),
            Function::Drawn(drawn) => drawn.members()[0].waves.basis.columns(),
        }
    }

    /// Cosines that were drawn, if any were.
    pub fn drawn_features(&self) -> usize {
        match &self.function {
            Function::Cosines(cosines) => cosines.drawn,
            Function::Drawn(drawn) => 2 * drawn.members()[0].pairs.iter().sum::<usize>(),
            Function::Kernel(_) | Function::Sinusoids(_) => 0,
        }
    }

    /// The objective at the end of the fit, in nats: see [`Iteration::objective`].
    pub fn objective(&self) -> f64 {
        self.trace.last().map_or(f64::NAN, |last| last.objective)
    }

    /// Every sweep of the restart that was kept.
    pub fn trace(&self) -> &[Iteration] {
        &self.trace
    }

    /// Why the fit ended.
    pub fn stop(&self) -> Stop {
        self.stop
    }

    /// Number of training rows.
    pub fn training_rows(&self) -> usize {
        self.rows
    }

    /// SHA-256 of the training data, or of the sums over their rows if they came in blocks ([`RowSums`](crate::data::RowSums));
    /// `None` if it is not known.
    pub fn fingerprint(&self) -> Option<&str> {
        let of_rows = || self.row_fingerprints.as_ref()?.whole.as_deref();
        Some(self.fingerprint.as_str()).filter(|text| !text.is_empty()).or_else(of_rows)
    }

    /// Target cells that were not learned from, because they are far outside what all others are.
    pub fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    /// What the row weights of the training data meant, if there were any.
    pub fn weighting(&self) -> Option<Weights<()>> {
        self.weighting
    }

    /// The program that wrote the file the model was loaded from, or this one.
    pub fn writer(&self) -> &str {
        &self.writer
    }

    /// The training inputs on their original scale, to rounding, if the model keeps them: a kernel machine does.
    pub fn stored_inputs(&self) -> Option<Mat<f64>> {
        let Function::Kernel(machines) = &self.function else { return None };
        let (Standardiser { mean, scale }, inputs) = (&self.input_scale, machines.inputs());
        Some(Mat::from_fn(inputs.nrows(), inputs.ncols(), |n, d| mean[d] + scale[d] * inputs[(n, d)]))
    }

    /// The weights of these rows, up to a factor.
    pub fn stored_weights(&self) -> Option<Vec<f64>> {
        let Function::Kernel(machines) = &self.function else { return None };
        Some(machines.root().iter().map(|root| root * root).collect())
    }

    /// What is added to each standardised task to bring it back to its own level: its mean; of a transformed target, that of
    /// the transform.
    pub fn target_shift(&self) -> &[f64] {
        &self.target_scale.mean
    }

    /// Checked inputs on the scale of the fit.
    pub(crate) fn standardised_inputs(&self, inputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        expect_count("the input table", "columns", inputs.ncols(), self.input_names.len())?;
        check_inputs(inputs, &self.input_names)?;
        self.input_scale.apply(inputs, &self.input_names)
    }

    /// What each input is divided by before the fit: its standard deviation.
    pub fn input_std(&self) -> &[f64] {
        &self.input_scale.scale
    }

    /// What each task is divided by before the fit: its standard deviation, or one; of a transformed target, that of the
    /// transform.
    pub fn target_std(&self) -> &[f64] {
        &self.target_scale.scale
    }

    /// Nugget of each task, as a standard deviation on its original scale, or on that of its transform: what the model takes for independent from row to
    /// row. It is not an estimate of the noise: the rough family of the kernel can fit noise too, so that the nugget
    /// can be far too small where the function is hard to learn; the noise lies between it and the error on held-out
    /// rows.
    pub fn nugget_std(&self) -> Vec<f64> {
        let scales = self.target_scale.scale.iter().enumerate();
        scales.map(|(c, scale)| scale * self.function.noise_variance(c).sqrt()).collect()
    }
}
