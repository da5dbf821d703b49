//! HI-VAE: a variational autoencoder for tables with holes (Nazábal, Olmos, Ghahramani, Valera, 2020), all variables
//! real. Regression is imputation: inputs and targets are the variables of one table, and the targets to be predicted
//! are its holes.
//!
//! 50 mixture components, 50 factors, 50 numbers between factors and each variable. Adam on the bound of shuffled batches
//! of up to 100 rows, the last partial batch of an epoch left out; the temperature of the mixture falls from 1 to 0.001 in
//! the first 100 epochs. The equations are with the `model`.
//!
//! The number of epochs is chosen by the bound of rows held out, whole: the mean over [`FOLDS`] of the inner folds. One
//! training on the other rows passes through all numbers of epochs. A transductive fit to them sees no row with hidden
//! targets, since the rows that would be are those held out.

mod buffers;
mod model;
#[cfg(test)]
mod tests;

use super::batches::shuffle;
use super::require_unweighted;
use super::scales::Scales;
use super::stored::{restored, stored};
use crate::method::{Chosen, Forecast, Method, Predictor};
use crate::select::{Grid, HeldOutRows, Plan, choose_by, inner_folds};
use buffers::{Buffers, Draw, Statistics};
use model::{Model, Sizes};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rffblr::Result;
use rffblr::data::Dataset;
use rffblr::internals::Adam;
use rffblr::linalg::{Mat, MatRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Rows a step sees at most.
const BATCH: usize = 100;
/// Step size of Adam.
const RATE: f64 = 1e-3;
/// The temperature of the mixture falls by this in every epoch, down to the second number.
const COOLING: (f64, f64) = (0.01, 1e-3);
/// Inner folds the epochs are chosen by: a training takes as long as a fit, and a bound of all variables of a row varies
/// less than the R² of its targets.
const FOLDS: usize = 3;
/// Draws of noise in a bound.
const DRAWS: usize = 20;
/// Size of all three layers.
const SIZE: usize = 50;

/// Which rows the model is trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// The training rows and those to be predicted, the targets of the latter hidden: the published way. Training is
    /// part of every prediction, which depends on all rows asked together (their inputs, not only the own ones of a
    /// row) but not on when or how often it is asked.
    Transductive,
    /// The training rows alone, each twice, once with its targets hidden: the encoder must learn to do without them.
    Inductive,
}

/// Variational autoencoder that imputes the targets. It uses missing target cells as the holes they are, and refuses row
/// weights.
#[derive(Clone, Copy, Debug)]
pub struct HiVae {
    /// Rows to train on.
    pub learning: Learning,
}

/// How a model is trained.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Training {
    epochs: usize,
    seed: u64,
}

/// Data kept until it is known what to predict.
#[derive(Serialize, Deserialize)]
struct Waiting {
    scales: Scales,
    #[serde(with = "super::stored::matrix")]
    inputs: Mat<f64>,
    #[serde(with = "super::stored::matrix")]
    targets: Mat<f64>,
    training: Training,
}

#[derive(Serialize, Deserialize)]
struct Trained {
    scales: Scales,
    epochs: usize,
    model: Model,
    statistics: Statistics,
}

impl Method for HiVae {
    fn name(&self) -> &'static str {
        match self.learning {
            Learning::Transductive => "hi-vae",
            Learning::Inductive => "hi-vae-inductive",
        }
    }

    fn describe(&self) -> &'static str {
        match self.learning {
            Learning::Transductive => {
                "variational autoencoder trained on all rows, those to be predicted with hidden targets"
            }
            Learning::Inductive => {
                "variational autoencoder trained on the training rows, each with and without targets"
            }
        }
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        require_unweighted(self.name(), data)?;
        let points = epochs(plan.grid);
        let inner = inner_folds(data.rows(), plan)?;
        let plan = &Plan { inner: Some(&inner[..inner.len().min(FOLDS)]), ..*plan };
        // Too few rows to hold some out leave the first point.
        let choice = match inner.is_empty() {
            true => 0,
            false => {
                choose_by(self.name(), points.len(), data, plan, |train, held_out, report| {
                    self.scan(points, plan.seed, train, held_out, report)
                })?
                .index
            }
        };
        let training = Training { epochs: points[choice], seed: plan.seed };
        let (scales, inputs, targets) = Scales::learn(data)?;
        let scales = scales.constants_stay(&targets);
        if self.learning == Learning::Transductive {
            return Ok(Box::new(Waiting { scales, inputs, targets, training }));
        }
        let table = self.table(&inputs, &targets);
        let model = train(&table, &training, |_, _| {});
        let statistics = statistics_of(&table, &model.sizes);
        Ok(Box::new(Trained { scales, epochs: training.epochs, model, statistics }))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        match self.learning {
            Learning::Transductive => restored::<Waiting>(state),
            Learning::Inductive => restored::<Trained>(state),
        }
    }
}

impl HiVae {
    /// The bound of the held-out rows after each number of epochs (rising), on one inner training set.
    fn scan(
        &self,
        epochs: &[usize],
        seed: u64,
        data: &Dataset,
        held_out: &HeldOutRows,
        report: &mut dyn FnMut(usize, f64),
    ) -> Result<()> {
        let (scales, inputs, targets) = Scales::learn(data)?;
        let table = self.table(&inputs, &targets);
        let questions = scales.question(held_out.inputs.as_ref())?;
        let answers = scales.targets.apply(held_out.targets.as_ref(), data.target_names())?;
        let new = with_hidden_targets(&questions, &answers, &Mat::zeros(0, questions.ncols()));
        let most = epochs.iter().copied().max().unwrap_or(0);
        let mut whole = None;
        train(&table, &Training { epochs: most, seed }, |model, epoch| {
            if let Some(point) = epochs.iter().position(|&at| at == epoch) {
                let statistics = whole.get_or_insert_with(|| statistics_of(&table, &model.sizes));
                report(point, bound_of(model, &new, statistics, seed));
            }
        });
        Ok(())
    }

    /// What is trained on, apart from rows to be predicted.
    fn table(&self, inputs: &Mat<f64>, targets: &Mat<f64>) -> Mat<f64> {
        match self.learning {
            Learning::Transductive => with_hidden_targets(inputs, targets, &Mat::zeros(0, inputs.ncols())),
            Learning::Inductive => with_hidden_targets(inputs, targets, inputs),
        }
    }
}

/// Epochs to choose from, rising; the bound still rises slowly after 2000 of them on large tables. A quick look takes a
/// tenth, without a choice.
fn epochs(grid: Grid) -> &'static [usize] {
    match grid {
        Grid::Full => &[200, 500, 1000, 2000],
        Grid::Coarse => &[200],
    }
}

/// Mean and variance of the variables of a table.
fn statistics_of(table: &Mat<f64>, sizes: &Sizes) -> Statistics {
    let mut whole = Buffers::new(sizes, table.nrows());
    whole.load(table);
    whole.statistics
}

/// The bound of a row of the table, mean over its rows and over draws of the noise, with the mixture at its coldest.
fn bound_of(model: &Model, table: &Mat<f64>, statistics: &Statistics, seed: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut buffers = Buffers::new(&model.sizes, table.nrows());
    let mut draw = Draw::new(&model.sizes, table.nrows());
    buffers.load_by(table, statistics);
    let bound = |_| {
        draw.renew(&mut rng);
        model.forward(&mut buffers, &draw, COOLING.1);
        model.bound(&buffers)
    };
    (0..DRAWS).map(bound).sum::<f64>() / DRAWS as f64
}

/// [inputs, targets] and below it [more inputs, NaN].
fn with_hidden_targets(inputs: &Mat<f64>, targets: &Mat<f64>, more: &Mat<f64>) -> Mat<f64> {
    let (rows, columns) = (inputs.nrows(), inputs.ncols());
    Mat::from_fn(rows + more.nrows(), columns + targets.ncols(), |row, column| match (row < rows, column < columns) {
        (true, true) => inputs[(row, column)],
        (true, false) => targets[(row, column - columns)],
        (false, true) => more[(row - rows, column)],
        (false, false) => f64::NAN,
    })
}

/// A model of the rows of a table, NaN where a cell is not observed. `seen` is called after every epoch with the model as
/// it is and the number of epochs so far.
fn train(table: &Mat<f64>, training: &Training, mut seen: impl FnMut(&Model, usize)) -> Model {
    let sizes = Sizes { variables: table.ncols(), components: SIZE, factors: SIZE, between: SIZE };
    let mut rng = ChaCha8Rng::seed_from_u64(training.seed);
    let mut model = Model::draw(sizes, &mut rng);
    let batch = table.nrows().min(BATCH);
    let mut buffers = Buffers::new(&sizes, batch);
    let mut draw = Draw::new(&sizes, batch);
    let mut adam = Adam::new(RATE, model.parameters.len());
    let mut order: Vec<usize> = (0..table.nrows()).collect();
    for epoch in 0..training.epochs {
        let temperature = (1.0 - COOLING.0 * epoch as f64).max(COOLING.1);
        shuffle(&mut order, &mut rng);
        for rows in order.chunks_exact(batch) {
            buffers.load_rows(table, rows);
            draw.renew(&mut rng);
            model.forward(&mut buffers, &draw, temperature);
            model.backward(&mut buffers, &draw, temperature);
            adam.descend(&mut model.parameters, &buffers.gradient);
        }
        seen(&model, epoch + 1);
    }
    model
}

/// The last columns of the rows from `first` on, imputed.
fn impute(model: &Model, buffers: &mut Buffers, scales: &Scales, first: usize) -> Result<Forecast> {
    model.forward_without_noise(buffers);
    let tasks = scales.tasks();
    let inputs = model.sizes.variables - tasks;
    let rows = buffers.rows() - first;
    let mean = Mat::from_fn(rows, tasks, |row, task| model.cell(buffers, first + row, inputs + task).0);
    let std = Mat::from_fn(rows, tasks, |row, task| model.cell(buffers, first + row, inputs + task).1.sqrt());
    Ok(Forecast { mean: scales.restore(mean)?, std: Some(scales.restore_deviations(std)?), laws: None })
}

fn chosen(epochs: usize) -> Vec<(&'static str, Chosen)> {
    vec![("epochs", Chosen::Text(epochs.to_string()))]
}

fn nothing(scales: &Scales) -> Forecast {
    Forecast { mean: Mat::zeros(0, scales.tasks()), std: Some(Mat::zeros(0, scales.tasks())), laws: None }
}

impl Predictor for Waiting {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let inputs = self.scales.question(inputs)?;
        if inputs.nrows() == 0 {
            return Ok(nothing(&self.scales));
        }
        let table = with_hidden_targets(&self.inputs, &self.targets, &inputs);
        let model = train(&table, &self.training, |_, _| {});
        let mut buffers = Buffers::new(&model.sizes, table.nrows());
        buffers.load(&table);
        impute(&model, &mut buffers, &self.scales, self.inputs.nrows())
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        None
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        chosen(self.training.epochs)
    }
}

impl Predictor for Trained {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let inputs = self.scales.question(inputs)?;
        if inputs.nrows() == 0 {
            return Ok(nothing(&self.scales));
        }
        let none = Mat::zeros(0, self.scales.tasks());
        let table = with_hidden_targets(&Mat::zeros(0, inputs.ncols()), &none, &inputs);
        let mut buffers = Buffers::new(&self.model.sizes, table.nrows());
        buffers.load_by(&table, &self.statistics);
        impute(&self.model, &mut buffers, &self.scales, 0)
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        None
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        chosen(self.epochs)
    }
}
