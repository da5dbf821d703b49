//! Fitting, one way for each form.

use super::choose::given_transforms;
use super::needs::expect_memory;
use super::sinusoids::Sinusoids;
use super::{Function, Learning, Model, Parts, cosines, drawn, learn, transformed};
use crate::data::{Dataset, Standardiser, TrainingTable, expect_count, expect_repeats, rounding_variance, row_sample};
use crate::device::{Cuda, caught, chosen};
use crate::error::{Error, Result};
use crate::kernel::{Groups, MOST_ROWS, MOST_ROWS_HERE, Machines};
use crate::linalg::{Mat, Threads};
use crate::memory::of_doubles;
use crate::problem::Problem;
use crate::settings::{CosineSettings, EXACT_ROWS, Form, InputScales, Settings, TargetScale};
use crate::steps::{Iteration, Observer, Stop};
use crate::transform::Transform;
use crate::vb::Plan;
use std::borrow::Cow;
use std::ops::ControlFlow;

/// What fitting found out.
pub(super) struct Found {
    pub(super) function: Function,
    pub(super) trace: Vec<Iteration>,
    pub(super) stop: Stop,
}

/// Learns from data. Threads: those of the rayon pool this is called in; the result has the same bits for any number.
pub fn fit(data: &Dataset, settings: &Settings) -> Result<Model> {
    fit_observed(data, settings, &|_| ControlFlow::Continue(()))
}

/// The same, with an observer that sees every sweep and may ask to stop.
pub fn fit_observed(data: &Dataset, settings: &Settings, observer: Observer<'_>) -> Result<Model> {
    settings.validate()?;
    settings.expect_device()?;
    let settings = &settings.for_rows(data.rows());
    // The published algorithm learns from whatever it is given.
    let wild = if settings.form.cosines().is_some() { Vec::new() } else { data.wild_cells() };
    match wild.is_empty() {
        true => fit_all(data, settings, observer),
        false => {
            let model = fit_all(&data.without(&wild), settings, observer)?.with_training_data(data);
            Ok(Model { set_aside: wild, ..model })
        }
    }
}

fn fit_all(data: &Dataset, settings: &Settings, observer: Observer<'_>) -> Result<Model> {
    expect_repeats(data.effective_rows())?;
    if matches!(settings.form, Form::Drawn { .. }) {
        return drawn::fit(data, settings, observer);
    }
    if let Form::Sinusoids { sparsity } = settings.form
        && data.rows() > EXACT_ROWS
    {
        return many_rows_as_sinusoids(data, settings, sparsity, observer);
    }
    let cosines = settings.form.cosines();
    if let Some(CosineSettings { input_scales: InputScales::Fixed(values), .. }) = cosines {
        expect_count("setting `input-scales`", "entries", values.len(), data.inputs().ncols())?;
    }
    expect_memory(data, settings)?;
    let input_scale = Standardiser::of_inputs(data);
    let inputs = input_scale.apply(data.inputs(), data.input_names())?;
    let (found, target_scale, transforms) = match &settings.form {
        Form::Cosines(cosines) => fit_cosines(data, inputs, settings, cosines, observer)?,
        Form::Automatic | Form::Drawn { .. } | Form::Kernel => {
            let device = device_of_exact(data, settings)?;
            let Learning { problem, groups, target_scale, transforms } = learn(data, inputs, settings, observer)?;
            (fit_kernel(&problem, groups, device)?, target_scale, transforms)
        }
        Form::Sinusoids { sparsity } => {
            let Learning { problem, groups, target_scale, transforms } = learn(data, inputs, settings, observer)?;
            let wanted = (1.0 - sparsity) * data.effective_rows();
            (fit_sinusoids(&problem, groups, wanted, settings.seed)?, target_scale, transforms)
        }
    };
    let model = Model::of_parts(Parts {
        settings: settings.clone(),
        input_names: data.input_names().to_vec(),
        target_names: data.target_names().to_vec(),
        input_scale,
        target_scale,
        transforms,
        function: found.function,
        trace: found.trace,
        stop: found.stop,
        rows: data.rows(),
        weighting: data.given_weights().map(|weights| weights.as_ref().map(|_| ())),
    });
    Ok(model.with_training_data(data))
}

impl TrainingTable {
    /// Learns a model, which keeps the encoder and so predicts from tables of the same kind.
    pub fn fit(&self, settings: &Settings) -> Result<Model> {
        fit(self.dataset(), settings)?.with_encoder(self.encoder().clone())
    }

    /// The same, with an observer that sees every sweep and may ask to stop.
    pub fn fit_observed(&self, settings: &Settings, observer: Observer<'_>) -> Result<Model> {
        fit_observed(self.dataset(), settings, observer)?.with_encoder(self.encoder().clone())
    }
}

/// The published algorithm; its transforms are given, not learned.
fn fit_cosines(
    data: &Dataset,
    inputs: Mat<f64>,
    settings: &Settings,
    cosines: &CosineSettings,
    observer: Observer<'_>,
) -> Result<(Found, Standardiser, Vec<Option<Transform>>)> {
    let transforms = given_transforms(data, settings)?;
    let targets = transformed(data.targets(), &transforms, data.target_names())?;
    let target_scale = match cosines.target_scale {
        TargetScale::Standardised => Standardiser::new(targets.as_ref(), data.weights()),
        TargetScale::Raw => Standardiser::identity(targets.ncols()),
    };
    let targets = target_scale.apply(targets.as_ref(), data.target_names())?;
    check_magnitude(&targets, data)?;
    let rounding = rounding_of(data, &transforms, &target_scale);
    let problem = Problem::of(inputs, targets, data).knowing(data.one_hot(), rounding);
    let plan = Plan { settings: cosines, max_iterations: settings.max_iterations, seed: settings.seed };
    Ok((cosines::fit(&problem, plan, data.effective_rows(), observer)?, target_scale, transforms))
}

/// A few sinusoids fitted to the posterior mean of kernel machines.
fn fit_sinusoids(problem: &Problem, groups: Groups, wanted: f64, seed: u64) -> Result<Found> {
    let Groups { groups, trace, stop } = groups;
    // Never more than rows, however much these weigh.
    let count = wanted.floor().clamp(1.0, problem.inputs.nrows() as f64) as usize;
    let function = Function::Sinusoids(Box::new(Sinusoids::distilled(problem, groups, count, seed)?));
    Ok(Found { function, trace, stop })
}

/// The same of drawn features, which are reproduced at a sample of the rows; never more sinusoids than make a formula.
fn many_rows_as_sinusoids(data: &Dataset, settings: &Settings, sparsity: f64, observer: Observer<'_>) -> Result<Model> {
    const MOST_SINUSOIDS: f64 = 500.0;
    let teacher = drawn::fit(data, &Settings { form: Form::DRAWN, ..settings.clone() }, observer)?;
    let Function::Drawn(drawn) = &teacher.function else { return Err(Error::NoKernelView) };
    let sample = match row_sample(data.rows(), EXACT_ROWS, settings.seed) {
        Some(rows) => Cow::Owned(data.select(&rows)?),
        None => Cow::Borrowed(data),
    };
    let inputs = teacher.input_scale.apply(sample.inputs(), sample.input_names())?;
    let targets = transformed(sample.targets(), &teacher.transforms, sample.target_names())?;
    let targets = teacher.target_scale.apply(targets.as_ref(), sample.target_names())?;
    let rounding = rounding_of(&sample, &teacher.transforms, &teacher.target_scale);
    let problem = Problem::of(inputs, targets.clone(), &sample).knowing(sample.one_hot(), rounding);
    let count = ((1.0 - sparsity) * data.effective_rows()).floor().clamp(1.0, MOST_SINUSOIDS) as usize;
    let sinusoids = Sinusoids::of_drawn(&problem, &targets, drawn, count, settings.seed)?;
    Ok(Model { function: Function::Sinusoids(Box::new(sinusoids)), settings: settings.clone(), ..teacher })
}

fn fit_kernel(problem: &Problem, groups: Groups, device: Option<Cuda>) -> Result<Found> {
    let Groups { groups, trace, stop } = groups;
    let machines = match device {
        None => Machines::new(problem, &groups, Threads::current())?,
        Some(cuda) => caught(|| Machines::there(&cuda, problem, &groups))?,
    };
    Ok(Found { function: Function::Kernel(machines), trace, stop })
}

/// The exact form factorises matrices of the size of the rows, some dozen of them for each noise level of a task.
fn device_of_exact(data: &Dataset, settings: &Settings) -> Result<Option<Cuda>> {
    let rows = data.rows();
    let most = |count| Error::Setting {
        name: "preset",
        problem: format!("the exact form takes at most {count} rows, not {rows}; use preset cosines"),
    };
    if rows > MOST_ROWS {
        return Err(most(format!("{MOST_ROWS_HERE} (with a GPU {MOST_ROWS})")));
    }
    let work = 12.0 * (rows as f64).powi(3) / 3.0;
    let found = chosen(settings.device, work, 2.5 * of_doubles(rows, rows) + 1e9, "the kernel matrix and its factor")?;
    match found {
        None if rows > MOST_ROWS_HERE => Err(most(format!("{MOST_ROWS_HERE} without a GPU"))),
        found => Ok(found),
    }
}

/// Variance that rounding adds to the noise of each task, on the scale of the fit. Copies of a row are one row: that their
/// targets agree says nothing of how finely these were recorded.
/// A transform of slope t′ turns it into E[t′(y)²] times as much.
pub(crate) fn rounding_of(data: &Dataset, transforms: &[Option<Transform>], scale: &Standardiser) -> Vec<f64> {
    let (targets, rows) = (data.targets(), data.distinct_rows());
    let variance = |c: usize| {
        let column: Vec<f64> = rows.iter().map(|&row| targets[(row, c)]).collect();
        rounding_variance(&column) * transforms[c].map_or(1.0, |t| t.shape.mean_square_slope(&column))
            / scale.scale[c].powi(2)
    };
    // A target of two equally frequent values has a third; with more nothing could be learned.
    (0..targets.ncols()).map(variance).map(|v| if v.is_finite() { v.min(1.0 / 3.0) } else { 0.0 }).collect()
}

/// Raw targets are squared and summed: refuse what would overflow.
fn check_magnitude(targets: &Mat<f64>, data: &Dataset) -> Result<()> {
    for (column, name) in data.target_names().iter().enumerate() {
        if let Some(row) = targets.col_as_slice(column).iter().position(|v| v.abs() > 1e100) {
            return Err(Error::TooLarge {
                what: "targets",
                row,
                column: name.clone(),
                value: targets[(row, column)],
                problem: "too large to square; standardise the targets, or choose a larger unit",
            });
        }
    }
    Ok(())
}
