//! A feed-forward neural network for all tasks at once; its hidden layers are chosen by cross-validation.
//!
//! As in scikit-learn's `MLPRegressor` with its defaults, but for up to 1000 epochs: Adam on the squared error with a
//! small penalty on the weights, shuffled batches of 200 rows, until ten epochs in a row have not helped. Inputs and
//! targets are standardised. The equations are with the `network`.

mod network;
#[cfg(test)]
mod tests;

pub use network::Activation;

use super::require_complete;
use super::scales::Scales;
use crate::method::{Chosen, Forecast, Method, Predictor};
use crate::select::{Grid, Plan, choose};
use network::{Network, Training};
use rffblr::Result;
use rffblr::data::Dataset;
use rffblr::linalg::MatRef;

/// Units of the hidden layers to choose from.
const HIDDEN: [&[usize]; 5] = [&[100], &[100, 50], &[100, 50, 100], &[100, 50, 50, 100], &[100, 50, 25, 50, 100]];

/// How every network is trained.
const TRAINING: Training =
    Training { penalty: 1e-4, rate: 1e-3, batch: 200, epochs: 1000, tolerance: 1e-4, patience: 10 };

/// Feed-forward network.
#[derive(Clone, Copy, Debug)]
pub struct Fnn {
    /// What its hidden units compute. The paper writes of "RBF nonlinearities", which is [`Activation::Gaussian`] if
    /// taken literally; its numbers look like those of [`Activation::Relu`].
    pub activation: Activation,
}

struct Fitted {
    scales: Scales,
    network: Network,
    hidden: &'static [usize],
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
            Activation::Relu => "feed-forward network of rectified linear units, layers by inner cross-validation",
            Activation::Gaussian => "the same with Gaussian units: the paper's \"RBF nonlinearities\" taken literally",
        }
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        require_complete(self.name(), data, usize::MAX)?;
        let lists = lists(plan.grid);
        let choice = choose(self.name(), lists.len(), data, plan, |train, inputs, report| {
            let (scales, x, y) = Scales::learn(train)?;
            let scales = scales.constants_stay(&y);
            let questions = scales.question(inputs)?;
            for (point, hidden) in lists.iter().enumerate() {
                let (network, _) = Network::train(hidden, self.activation, &x, &y, &TRAINING, plan.seed);
                // A network that overflows is out of the choice, not an end to it.
                if let Ok(predictions) = scales.restore(network.predict(questions.as_ref())) {
                    report(point, predictions);
                }
            }
            Ok(())
        })?;
        let hidden = lists[choice.index];
        let (scales, x, y) = Scales::learn(data)?;
        let (network, _) = Network::train(hidden, self.activation, &x, &y, &TRAINING, plan.seed);
        Ok(Box::new(Fitted { scales: scales.constants_stay(&y), network, hidden }))
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
        Ok(Forecast { mean: self.scales.restore(self.network.predict(inputs.as_ref()))?, std: None })
    }

    fn active_features(&self) -> Option<usize> {
        None
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        let units: Vec<String> = self.hidden.iter().map(usize::to_string).collect();
        vec![("hidden units", Chosen::Text(units.join(" ")))]
    }
}
