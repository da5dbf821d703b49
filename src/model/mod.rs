//! A fitted model: predicts with uncertainty, explains itself in two views, and is kept in one file.

mod file;
mod posterior;
mod views;

pub use file::{FORMAT, FORMAT_VERSION, Verification};
pub use views::{KernelView, Link, Sinusoid};

use crate::data::{Dataset, Encoder, Standardiser, check_inputs, expect_count};
use crate::error::{Error, Result};
use crate::fourier::{Basis, Scales};
use crate::linalg::{Mat, MatRef, Threads, multiply, scale_rows};
use crate::normal;
use crate::vb::{self, Gamma, Iteration, Observer, Problem, Relevance, Settings, Stop, TargetScale};
use posterior::Posterior;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Rows predicted at once: bounds the memory of a prediction.
const ROWS: usize = 4096;

/// RFF-BLR, fitted.
#[derive(Clone, Debug)]
pub struct Model {
    settings: Settings,
    input_names: Vec<String>,
    target_names: Vec<String>,
    input_scale: Standardiser,
    target_scale: Standardiser,
    basis: Basis,
    scales: Scales,
    noise: Vec<Gamma>,
    posterior: Posterior,
    trace: Vec<Iteration>,
    stop: Stop,
    rows: usize,
    drawn: usize,
    fingerprint: String,
    encoder: Option<Encoder>,
    writer: String,
}

/// Means and standard deviations for some rows (N×C each), on the original scale of each target.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Expected target.
    pub mean: Mat<f64>,
    /// Uncertainty about the function itself.
    pub latent_std: Mat<f64>,
    /// Uncertainty about a new observation: the function's and the noise.
    pub std: Mat<f64>,
}

impl Prediction {
    /// Lower and upper end of the central interval that holds an observation with the given probability.
    pub fn interval(&self, coverage: f64) -> Result<(Mat<f64>, Mat<f64>)> {
        if !(coverage > 0.0 && coverage < 1.0) {
            return Err(Error::Setting { name: "coverage", problem: format!("{coverage} is not between 0 and 1") });
        }
        let reach = normal::quantile(0.5 + 0.5 * coverage);
        let end = |sign: f64| {
            Mat::from_fn(self.mean.nrows(), self.mean.ncols(), |i, j| {
                self.mean[(i, j)] + sign * reach * self.std[(i, j)]
            })
        };
        Ok((end(-1.0), end(1.0)))
    }
}

/// Learns from data. Threads: those of the rayon pool this is called in; the result has the same bits for any number.
pub fn fit(data: &Dataset, settings: &Settings) -> Result<Model> {
    fit_observed(data, settings, &|_| ControlFlow::Continue(()))
}

/// The same, with an observer that sees every sweep and may ask to stop.
pub fn fit_observed(data: &Dataset, settings: &Settings, observer: Observer<'_>) -> Result<Model> {
    settings.validate()?;
    if let Relevance::Fixed(values) = &settings.relevance {
        expect_count("setting `relevance`", "entries", values.len(), data.inputs().ncols())?;
    }
    let drawn = settings.feature_count(data.total_weight());
    let bytes = 8.0 * data.rows() as f64 * drawn as f64;
    if bytes > 64e9 {
        return Err(Error::Setting {
            name: "features",
            problem: format!("{drawn} cosines of {} rows need {:.0} GB a copy; use fewer", data.rows(), bytes / 1e9),
        });
    }
    let input_scale = Standardiser::new(data.inputs(), data.weights());
    let target_scale = match settings.targets {
        TargetScale::Standardised => Standardiser::new(data.targets(), data.weights()),
        TargetScale::Raw => Standardiser::identity(data.targets().ncols()),
    };
    let inputs = input_scale.apply(data.inputs(), data.input_names())?;
    let targets = target_scale.apply(data.targets(), data.target_names())?;
    check_magnitude(&targets, data)?;
    let problem = Problem::new(inputs, targets, data.weights());

    let found = vb::infer_best(&problem, settings, drawn, observer)?;

    let threads = Threads::current();
    let mut design = found.basis.features_and_one(problem.inputs.as_ref(), &found.scales);
    scale_rows(&mut design, &problem.root);
    let tau = found.noise.iter().map(|t| t.mean()).collect();
    Ok(Model {
        posterior: Posterior::new(&problem, design, &found.alpha, tau, threads)?,
        settings: settings.clone(),
        input_names: data.input_names().to_vec(),
        target_names: data.target_names().to_vec(),
        input_scale,
        target_scale,
        basis: found.basis,
        scales: found.scales,
        noise: found.noise,
        trace: found.trace,
        stop: found.stop,
        rows: data.rows(),
        drawn,
        fingerprint: data.fingerprint(),
        encoder: None,
        writer: file::WRITER.into(),
    })
}

/// Raw targets are squared and summed as they are: refuse what would overflow.
fn check_magnitude(targets: &Mat<f64>, data: &Dataset) -> Result<()> {
    for (column, name) in data.target_names().iter().enumerate() {
        if let Some(row) = targets.col_as_slice(column).iter().position(|v| v.abs() > 1e100) {
            return Err(Error::NotFinite {
                what: "targets",
                row,
                column: name.clone(),
                value: targets[(row, column)],
                remedy: "too large to square; standardise the targets",
            });
        }
    }
    Ok(())
}

impl Model {
    /// Mean and uncertainty for rows of inputs on their original scale. Memory: blocks of a few thousand rows.
    pub fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Prediction> {
        self.predict_blocks(inputs, true)
    }

    /// The means alone, at a fraction of the cost.
    pub fn predict_mean(&self, inputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        Ok(self.predict_blocks(inputs, false)?.mean)
    }

    fn predict_blocks(&self, inputs: MatRef<'_, f64>, uncertain: bool) -> Result<Prediction> {
        expect_count("the input table", "columns", inputs.ncols(), self.input_names.len())?;
        check_inputs(inputs, &self.input_names)?;
        let threads = Threads::current();
        let (rows, tasks) = (inputs.nrows(), self.target_names.len());
        let empty = || Mat::zeros(if uncertain { rows } else { 0 }, tasks);
        let mut out = Prediction { mean: Mat::zeros(rows, tasks), latent_std: empty(), std: empty() };
        for start in (0..rows).step_by(ROWS) {
            let block = inputs.subrows(start, ROWS.min(rows - start));
            let design = self.design(block)?;
            let mean = multiply(design.as_ref(), self.posterior.mean.as_ref(), threads);
            let variance = uncertain.then(|| self.posterior.variance(&design, threads));
            for c in 0..tasks {
                let (shift, scale) = (self.target_scale.mean[c], self.target_scale.scale[c]);
                let noise = self.noise[c].mean_inverse();
                for i in 0..block.nrows() {
                    out.mean[(start + i, c)] = shift + scale * mean[(i, c)];
                    if let Some(variance) = &variance {
                        out.latent_std[(start + i, c)] = scale * variance[(i, c)].sqrt();
                        out.std[(start + i, c)] = scale * (variance[(i, c)] + noise).sqrt();
                    }
                }
            }
        }
        Ok(out)
    }

    /// Joint draws of the function at the given rows: one N×C table per draw. Add noise of
    /// [`noise_std`](Model::noise_std) for draws of observations.
    pub fn sample(&self, inputs: MatRef<'_, f64>, draws: usize, seed: u64) -> Result<Vec<Mat<f64>>> {
        expect_count("the input table", "columns", inputs.ncols(), self.input_names.len())?;
        check_inputs(inputs, &self.input_names)?;
        let threads = Threads::current();
        let design = self.design(inputs)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let draw = |_| {
            let weights = self.posterior.sample(&mut rng);
            let mut values = multiply(design.as_ref(), weights.as_ref(), threads);
            for c in 0..values.ncols() {
                let (shift, scale) = (self.target_scale.mean[c], self.target_scale.scale[c]);
                values.col_as_slice_mut(c).iter_mut().for_each(|v| *v = shift + scale * *v);
            }
            values
        };
        Ok((0..draws).map(draw).collect())
    }

    /// What the model would have predicted for each training row without it, at the learned hyper-parameters:
    /// equation 18. In cells that were not observed this is the ordinary prediction.
    pub fn leave_one_out(&self, data: &Dataset) -> Result<Prediction> {
        if data.fingerprint() != self.fingerprint {
            return Err(Error::Setting {
                name: "data",
                problem: "leave-one-out needs the very data the model was fitted to; these differ".into(),
            });
        }
        let threads = Threads::current();
        let mut out = self.predict(data.inputs())?;
        let design = self.design(data.inputs())?;
        let targets = self.target_scale.apply(data.targets(), &self.target_names)?;
        let root: Vec<f64> = (0..data.rows()).map(|n| data.weights().map_or(1.0, |w| w[n].sqrt())).collect();
        let (residual, variance) = self.posterior.leave_one_out(&design, &targets, &root, threads);
        for c in 0..self.target_names.len() {
            let (scale, noise) = (self.target_scale.scale[c], self.noise[c].mean_inverse());
            for row in 0..data.rows() {
                let observed = data.targets()[(row, c)];
                // A row of weight zero was never in.
                if observed.is_nan() || root[row] == 0.0 {
                    continue;
                }
                out.mean[(row, c)] = observed - scale * residual[(row, c)] / root[row];
                out.latent_std[(row, c)] = scale * variance[(row, c)].sqrt();
                out.std[(row, c)] = scale * (variance[(row, c)] + noise).sqrt();
            }
        }
        Ok(out)
    }

    /// [Φ, 1] for raw inputs.
    fn design(&self, inputs: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let standardised = self.input_scale.apply(inputs, &self.input_names)?;
        Ok(self.basis.features_and_one(standardised.as_ref(), &self.scales))
    }

    /// Keeps how the inputs were made from a table, so that the model predicts from tables of the same kind.
    pub fn with_encoder(mut self, encoder: Encoder) -> Result<Model> {
        encoder
            .check(&self.input_names, &self.target_names)
            .map_err(|problem| Error::Setting { name: "encoder", problem })?;
        self.encoder = Some(encoder);
        Ok(self)
    }

    /// How the inputs were made from a table, if the model was fitted to one.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.encoder.as_ref()
    }

    /// The settings of the fit.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Names of the inputs, in the order `predict` expects.
    pub fn input_names(&self) -> &[String] {
        &self.input_names
    }

    /// Names of the targets, in the order `predict` gives.
    pub fn target_names(&self) -> &[String] {
        &self.target_names
    }

    /// Learned bandwidth γ, for standardised inputs.
    pub fn bandwidth(&self) -> f64 {
        self.scales.bandwidth
    }

    /// Scale r of each input inside the kernel.
    pub fn relevance(&self) -> &[f64] {
        &self.scales.relevance
    }

    /// Features that were kept: cosines and direct links.
    pub fn active_features(&self) -> usize {
        self.basis.columns()
    }

    /// Cosines that were drawn.
    pub fn drawn_features(&self) -> usize {
        self.drawn
    }

    /// The bound where the fit ended, in nats.
    pub fn bound(&self) -> f64 {
        self.trace.last().map_or(f64::NAN, |last| last.bound.total())
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

    /// SHA-256 of the training data.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The program that wrote the file the model was loaded from, or this one.
    pub fn writer(&self) -> &str {
        &self.writer
    }

    /// What each input is divided by before the fit: its standard deviation.
    pub fn input_scale(&self) -> &[f64] {
        &self.input_scale.scale
    }

    /// What each task is divided by before the fit: its standard deviation, or one.
    pub fn target_scale(&self) -> &[f64] {
        &self.target_scale.scale
    }

    /// Standard deviation of the noise of each task, on its original scale.
    pub fn noise_std(&self) -> Vec<f64> {
        self.noise.iter().zip(&self.target_scale.scale).map(|(t, scale)| scale * t.mean_inverse().sqrt()).collect()
    }
}
