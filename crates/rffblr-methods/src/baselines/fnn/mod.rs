//! A feed-forward neural network for all tasks at once; its hidden layers and how long it is trained are chosen by
//! cross-validation.
//!
//! As in scikit-learn's `MLPRegressor` with its defaults, for up to 200 or 1000 epochs: Adam on the squared error with a
//! small penalty on the weights, shuffled batches of 200 rows, until ten epochs in a row have not helped. One training
//! serves both numbers of epochs. Inputs and targets are standardised. The equations are with the `network`.

mod network;
#[cfg(test)]
mod tests;

pub use network::Activation;

use super::require_complete;
use super::scales::Scales;
use super::stored::{restored, stored};
use crate::method::{Chosen, Forecast, Method, Predictor};
use crate::select::{Grid, Plan, choose};
use network::{Network, Training};
use rffblr::Result;
use rffblr::data::Dataset;
use rffblr::linalg::{Mat, MatRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Units of the hidden layers to choose from.
const HIDDEN: [&[usize]; 5] = [&[100], &[100, 50], &[100, 50, 100], &[100, 50, 50, 100], &[100, 50, 25, 50, 100]];

/// Epochs to choose from, rising: scikit-learn's default, and five times as many.
const EPOCHS: [usize; 2] = [200, 1000];

/// How every network is trained, but for its epochs.
const TRAINING: Training =
    Training { penalty: 1e-4, rate: 1e-3, batch: 200, epochs: EPOCHS[1], tolerance: 1e-4, patience: 10 };

/// Feed-forward network.
#[derive(Clone, Copy, Debug)]
pub struct Fnn {
    /// What its hidden units compute. The paper writes of "RBF nonlinearities", which is [`Activation::Gaussian`] if
    /// taken literally; its numbers look like those of [`Activation::Relu`].
    pub activation: Activation,
}

#[derive(Serialize, Deserialize)]
struct Fitted {
    scales: Scales,
    network: Network,
    hidden: Vec<usize>,
    epochs: usize,
}

impl Method for Fnn {
    fn name(&self) -> &'static str {
        match self.activation {
            Activation::Relu => "fnn",
            Activation::Gaussian => "fnn-gaussian",
        }
    }

    fn describe(&self) -> &'static str {
        match self.activation {
            Activation::Relu => {
                "feed-forward network of rectified linear units, layers and epochs by inner cross-validation"
            }
            Activation::Gaussian => "the same with Gaussian units: the paper's \"RBF nonlinearities\" taken literally",
        }
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        require_complete(self.name(), data, usize::MAX)?;
        let lists = lists(plan.grid);
        let points = lists.len() * EPOCHS.len();
        let choice = choose(self.name(), points, data, plan, |train, inputs, report| {
            let (scales, x, y) = Scales::learn(train)?;
            let scales = scales.constants_stay(&y);
            let questions = scales.question(inputs)?;
            for (list, hidden) in lists.iter().enumerate() {
                for (limit, network) in self.after_each_limit(hidden, &x, &y, plan.seed).iter().enumerate() {
                    // A network that overflows is out of the choice, not an end to it.
                    if let Ok(predictions) = scales.restore(network.predict(questions.as_ref())) {
                        report(list * EPOCHS.len() + limit, predictions);
                    }
                }
            }
            Ok(())
        })?;
        let (hidden, epochs) = (lists[choice.index / EPOCHS.len()], EPOCHS[choice.index % EPOCHS.len()]);
        let (scales, x, y) = Scales::learn(data)?;
        let how = Training { epochs, ..TRAINING };
        let (network, _) = Network::train(hidden, self.activation, &x, &y, &how, plan.seed, |_, _| {});
        Ok(Box::new(Fitted { scales: scales.constants_stay(&y), network, hidden: hidden.to_vec(), epochs }))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        restored::<Fitted>(state)
    }
}

impl Fnn {
    /// The networks that training leaves after each of [`EPOCHS`], from one training: the shorter is the beginning of the
    /// longer. One that ends early is the network of every later limit.
    fn after_each_limit(&self, hidden: &[usize], x: &Mat<f64>, y: &Mat<f64>, seed: u64) -> Vec<Network> {
        let mut out: Vec<Network> = Vec::with_capacity(EPOCHS.len());
        let (last, _) = Network::train(hidden, self.activation, x, y, &TRAINING, seed, |network, epochs| {
            if EPOCHS[..EPOCHS.len() - 1].contains(&epochs) {
                out.push(network.clone());
            }
        });
        out.resize(EPOCHS.len(), last);
        out
    }
}

/// All five lists; for a quick look the two shallow ones, which are the fastest.
fn lists(grid: Grid) -> &'static [&'static [usize]] {
    match grid {
        Grid::Full => &HIDDEN,
        Grid::Coarse => &HIDDEN[..2],
    }
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let inputs = self.scales.question(inputs)?;
        Ok(Forecast { mean: self.scales.restore(self.network.predict(inputs.as_ref()))?, std: None, laws: None })
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        None
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        let units: Vec<String> = self.hidden.iter().map(usize::to_string).collect();
        vec![("hidden units", Chosen::Text(units.join(" "))), ("epochs at most", Chosen::Text(self.epochs.to_string()))]
    }
}
