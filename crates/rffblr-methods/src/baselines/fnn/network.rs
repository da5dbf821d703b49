//! The network itself: prediction, gradient and training.
//!
//! A₀ = X, A_l = f(A_{l−1} W_l + 1 b_lᵀ), the last layer linear. For a batch of n rows the gradient is that of
//! Σ‖p − y‖²/(2n) + a Σ‖W_l‖²/(2n):
//!
//! Δ_L = P − Y, Δ_{l−1} = Δ_l W_lᵀ ∘ f′, ∂W_l = (A_{l−1}ᵀ Δ_l + a W_l)/n, ∂b_l = Δ_lᵀ1/n.
//!
//! The loss that training watches divides the first term by the number of tasks too, as scikit-learn reports it.

use crate::baselines::batches::shuffle;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rffblr::internals::{Accumulate, Adam, dot, product};
use rffblr::linalg::{Mat, MatMut, MatRef, Threads};
use serde::{Deserialize, Serialize};

/// What a hidden unit makes of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activation {
    /// max(0, x).
    Relu,
    /// exp(−x²).
    Gaussian,
}

impl Activation {
    /// The value at `x`, and the derivative there.
    fn at(self, x: f64) -> (f64, f64) {
        match self {
            Activation::Relu => (x.max(0.0), f64::from(u8::from(x > 0.0))),
            Activation::Gaussian => {
                let value = (-x * x).exp();
                // Where the value has vanished the derivative has too, even if x is too large to multiply by.
                (value, if value > 0.0 { -2.0 * x * value } else { 0.0 })
            }
        }
    }
}

/// One layer: where its numbers lie in the parameters. Weights, inputs×outputs by columns, then biases.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Layer {
    inputs: usize,
    outputs: usize,
    start: usize,
}

impl Layer {
    fn biases_at(&self) -> usize {
        self.start + self.inputs * self.outputs
    }

    fn end(&self) -> usize {
        self.biases_at() + self.outputs
    }

    fn weights<'a>(&self, parameters: &'a [f64]) -> MatRef<'a, f64> {
        MatRef::from_column_major_slice(&parameters[self.start..self.biases_at()], self.inputs, self.outputs)
    }

    fn biases<'a>(&self, parameters: &'a [f64]) -> &'a [f64] {
        &parameters[self.biases_at()..self.end()]
    }
}

/// A network with its weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Network {
    activation: Activation,
    layers: Vec<Layer>,
    pub(super) parameters: Vec<f64>,
}

/// How to train.
#[derive(Clone, Copy, Debug)]
pub(super) struct Training {
    /// Penalty a on squared weights.
    pub(super) penalty: f64,
    /// Step size of Adam.
    pub(super) rate: f64,
    /// Rows a step sees at most.
    pub(super) batch: usize,
    /// Times all rows are seen at most.
    pub(super) epochs: usize,
    /// A gain of the loss below this does not count as one.
    pub(super) tolerance: f64,
    /// Training ends after more epochs than this without a gain.
    pub(super) patience: usize,
}

/// Everything one step writes to, allocated once.
pub(super) struct Buffers {
    inputs: Mat<f64>,
    targets: Mat<f64>,
    /// A_l, l = 1 … L.
    values: Vec<Mat<f64>>,
    /// f′ at the hidden layers.
    slopes: Vec<Mat<f64>>,
    /// Δ_l, l = 1 … L.
    errors: Vec<Mat<f64>>,
    pub(super) gradient: Vec<f64>,
}

impl Buffers {
    pub(super) fn new(network: &Network, rows: usize) -> Self {
        let sheets = || network.layers.iter().map(|layer| Mat::zeros(rows, layer.outputs)).collect::<Vec<_>>();
        let sizes = network.layers.first().zip(network.layers.last());
        let (inputs, targets) = sizes.map_or((0, 0), |(first, last)| (first.inputs, last.outputs));
        let mut slopes = sheets();
        slopes.pop();
        Buffers {
            inputs: Mat::zeros(rows, inputs),
            targets: Mat::zeros(rows, targets),
            values: sheets(),
            slopes,
            errors: sheets(),
            gradient: vec![0.0; network.parameters.len()],
        }
    }

    /// Copies the batch made of these rows to the front.
    pub(super) fn load(&mut self, inputs: &Mat<f64>, targets: &Mat<f64>, rows: &[usize]) {
        for (to, from) in [(&mut self.inputs, inputs), (&mut self.targets, targets)] {
            for column in 0..from.ncols() {
                let source = from.col_as_slice(column);
                to.col_as_slice_mut(column).iter_mut().zip(rows).for_each(|(cell, &row)| *cell = source[row]);
            }
        }
    }
}

impl Network {
    /// All weights and biases zero; `sizes` are inputs, hidden layers, outputs.
    pub(super) fn zero(sizes: &[usize], activation: Activation) -> Self {
        let mut layers: Vec<Layer> = Vec::new();
        for pair in sizes.windows(2) {
            let start = layers.last().map_or(0, Layer::end);
            layers.push(Layer { inputs: pair[0], outputs: pair[1], start });
        }
        let count = layers.last().map_or(0, Layer::end);
        Network { activation, layers, parameters: vec![0.0; count] }
    }

    /// Random weights and biases, small enough for signals to keep their size through the layers.
    pub(super) fn draw(sizes: &[usize], activation: Activation, rng: &mut ChaCha8Rng) -> Self {
        let mut network = Network::zero(sizes, activation);
        for layer in &network.layers {
            // Weights and biases start uniform on ±√(6/(inputs + outputs)).
            let bound = (6.0 / (layer.inputs + layer.outputs) as f64).sqrt();
            let cells = &mut network.parameters[layer.start..layer.end()];
            cells.iter_mut().for_each(|cell| *cell = rng.random_range(-bound..bound));
        }
        network
    }

    /// `out` ← A W + 1 bᵀ.
    fn linear(&self, layer: &Layer, from: MatRef<'_, f64>, mut out: MatMut<'_, f64>) {
        for (column, bias) in layer.biases(&self.parameters).iter().enumerate() {
            out.as_mut().col_mut(column).fill(*bias);
        }
        product(out, Accumulate::Add, from, layer.weights(&self.parameters), 1.0, Threads::ONE);
    }

    /// Predictions for each row.
    pub(super) fn predict(&self, inputs: MatRef<'_, f64>) -> Mat<f64> {
        let mut values = inputs.to_owned();
        for (depth, layer) in self.layers.iter().enumerate() {
            let mut next = Mat::zeros(inputs.nrows(), layer.outputs);
            self.linear(layer, values.as_ref(), next.as_mut());
            if depth + 1 < self.layers.len() {
                for column in 0..layer.outputs {
                    next.col_as_slice_mut(column).iter_mut().for_each(|cell| *cell = self.activation.at(*cell).0);
                }
            }
            values = next;
        }
        values
    }

    /// Values and slopes of every layer for the first `rows` rows of the loaded batch.
    fn forward(&self, buffers: &mut Buffers, rows: usize) {
        for (depth, layer) in self.layers.iter().enumerate() {
            let (before, after) = buffers.values.split_at_mut(depth);
            let from = before.last().unwrap_or(&buffers.inputs);
            let values = &mut after[0];
            self.linear(layer, from.as_ref().subrows(0, rows), values.as_mut().subrows_mut(0, rows));
            // The last layer is linear.
            let Some(slopes) = buffers.slopes.get_mut(depth) else { return };
            for column in 0..layer.outputs {
                let cells = values.col_as_slice_mut(column)[..rows].iter_mut();
                for (cell, slope) in cells.zip(slopes.col_as_slice_mut(column)) {
                    (*cell, *slope) = self.activation.at(*cell);
                }
            }
        }
    }

    /// Δ_L = P − Y into the buffers; returns the sum of its squares.
    fn miss(buffers: &mut Buffers, rows: usize) -> f64 {
        let last = buffers.values.len() - 1;
        let (values, errors) = (&buffers.values[last], &mut buffers.errors[last]);
        let mut square = 0.0;
        for column in 0..values.ncols() {
            let error = &mut errors.col_as_slice_mut(column)[..rows];
            let cells = values.col_as_slice(column).iter().zip(buffers.targets.col_as_slice(column));
            error.iter_mut().zip(cells).for_each(|(error, (value, target))| *error = value - target);
            square += dot(error, error);
        }
        square
    }

    /// The gradient at the first `rows` rows of the loaded batch, into the buffers; returns the loss as reported.
    pub(super) fn gradient(&self, buffers: &mut Buffers, rows: usize, penalty: f64) -> f64 {
        self.forward(buffers, rows);
        let misses = Self::miss(buffers, rows) / buffers.targets.ncols() as f64;
        let share = 1.0 / rows as f64;
        let mut size = 0.0;
        for (depth, layer) in self.layers.iter().enumerate().rev() {
            let weights = &self.parameters[layer.start..layer.biases_at()];
            size += dot(weights, weights);
            let (below, here) = buffers.errors.split_at_mut(depth);
            let error = here[0].as_ref().subrows(0, rows);
            let from = if depth == 0 { &buffers.inputs } else { &buffers.values[depth - 1] };
            let (slopes, rest) = buffers.gradient[layer.start..layer.end()].split_at_mut(weights.len());
            let into = MatMut::from_column_major_slice_mut(slopes, layer.inputs, layer.outputs);
            product(into, Accumulate::Replace, from.as_ref().subrows(0, rows).transpose(), error, share, Threads::ONE);
            slopes.iter_mut().zip(weights).for_each(|(slope, weight)| *slope += penalty * share * weight);
            for (column, slope) in rest.iter_mut().enumerate() {
                *slope = share * here[0].col_as_slice(column)[..rows].iter().sum::<f64>();
            }
            if let Some(next) = below.last_mut() {
                let back = layer.weights(&self.parameters).transpose();
                product(next.as_mut().subrows_mut(0, rows), Accumulate::Replace, error, back, 1.0, Threads::ONE);
                for column in 0..next.ncols() {
                    let cells = next.col_as_slice_mut(column)[..rows].iter_mut();
                    let slopes = buffers.slopes[depth - 1].col_as_slice(column);
                    cells.zip(slopes).for_each(|(cell, slope)| *cell *= slope);
                }
            }
        }
        0.5 * share * (misses + penalty * size)
    }

    /// A network drawn and trained by the seed; also how many epochs it took. `seen` is called after every epoch with
    /// the network as it is and the number of epochs so far.
    pub(super) fn train(
        hidden: &[usize],
        activation: Activation,
        inputs: &Mat<f64>,
        targets: &Mat<f64>,
        how: &Training,
        seed: u64,
        mut seen: impl FnMut(&Network, usize),
    ) -> (Self, usize) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let sizes: Vec<usize> =
            [inputs.ncols()].into_iter().chain(hidden.iter().copied()).chain([targets.ncols()]).collect();
        let mut network = Network::draw(&sizes, activation, &mut rng);
        let batch = how.batch.min(inputs.nrows()).max(1);
        let mut buffers = Buffers::new(&network, batch);
        let mut adam = Adam::new(how.rate, network.parameters.len());
        let mut order: Vec<usize> = (0..inputs.nrows()).collect();
        let (mut best, mut idle, mut epochs) = (f64::INFINITY, 0, 0);
        while epochs < how.epochs && idle <= how.patience {
            shuffle(&mut order, &mut rng);
            let mut loss = 0.0;
            for rows in order.chunks(batch) {
                buffers.load(inputs, targets, rows);
                loss += rows.len() as f64 * network.gradient(&mut buffers, rows.len(), how.penalty);
                adam.descend(&mut network.parameters, &buffers.gradient);
            }
            loss /= order.len() as f64;
            epochs += 1;
            seen(&network, epochs);
            idle = if loss > best - how.tolerance { idle + 1 } else { 0 };
            best = best.min(loss);
            if !loss.is_finite() {
                break;
            }
        }
        (network, epochs)
    }
}
