//! GOR-ELM: generalised outlier-robust extreme learning machine (da Silva, Inaba, Salles and Ciarelli, 2020).
//!
//! A hidden layer that is drawn and never trained, H = σ(XA + b) with A and b uniform on [−1, 1], and output weights
//!
//! min_B Σ_n s_n‖(HB − T)_n‖ + λ(1−α)/2 ‖B‖² + λα Σ_j‖B_j‖
//!
//! The loss is the length of a row's error, not its square: one wild row pulls no harder than any other. The last term
//! removes whole neurons. Inputs and targets are brought to [−1, 1] by the range of the training rows; there is no
//! output bias. Row weights s_n and missing target cells enter through the loss.
//!
//! The grid is λ ∈ 2^{−20…20}, α ∈ {0, ¼, ½, ¾, 1}. [`path`] solves all of it with one decomposition of H.

mod admm;
mod path;
mod system;
mod terms;
#[cfg(test)]
mod tests;

use super::scales::Scales;
use super::stored::{restored, stored};
use super::{require_few, within_reach};
use crate::method::{Chosen, Forecast, Method, Predictor};
use crate::select::{Choice, Grid, Plan, choose};
use path::{Stopping, solve_all};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rffblr::data::Dataset;
use rffblr::internals::{map_columns, multiply, select_columns, select_rows};
use rffblr::linalg::{Mat, MatRef, Threads};
use rffblr::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use system::System;
use terms::Penalty;

/// Extreme learning machine with a robust loss and row-sparse output weights.
#[derive(Clone, Copy, Debug)]
pub struct GorElm {
    /// Neurons L of the hidden layer.
    pub neurons: usize,
    /// Iterations after which a point of the grid is taken as it is.
    pub most_iterations: usize,
}

/// More rows than this would take days to select on.
const MOST_ROWS: usize = 20_000;

impl GorElm {
    /// The sizes of the published comparison.
    pub const PAPER: GorElm = GorElm { neurons: 1000, most_iterations: Stopping::USUAL.most_iterations };
}

/// The points to try: larger λ first, of equal λ the sparser first, so that a tie goes to the simpler model.
fn grid(grid: Grid) -> Vec<Penalty> {
    let (exponents, sparsities): (Vec<i32>, &[f64]) = match grid {
        Grid::Full => ((-20..=20).rev().collect(), &[1.0, 0.75, 0.5, 0.25, 0.0]),
        Grid::Coarse => (vec![3, 0, -3, -6, -9], &[1.0, 0.25, 0.0]),
    };
    let row = |exponent: &i32| {
        let strength = f64::from(*exponent).exp2();
        sparsities.iter().map(move |&sparsity| Penalty { strength, sparsity })
    };
    exponents.iter().flat_map(row).collect()
}

/// The hidden layer as drawn.
#[derive(Serialize, Deserialize)]
struct Layer {
    /// A, D×L, and b.
    #[serde(with = "super::stored::matrix")]
    directions: Mat<f64>,
    offsets: Vec<f64>,
}

impl Layer {
    fn draw(inputs: usize, neurons: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut directions = Mat::zeros(inputs, neurons);
        for j in 0..neurons {
            directions.col_as_slice_mut(j).iter_mut().for_each(|a| *a = rng.random_range(-1.0..1.0));
        }
        Layer { directions, offsets: (0..neurons).map(|_| rng.random_range(-1.0..1.0)).collect() }
    }

    /// H for scaled inputs.
    fn output(&self, inputs: Mat<f64>, threads: Threads) -> Mat<f64> {
        let inputs = within_reach(inputs);
        let mut out = multiply(inputs.as_ref(), self.directions.as_ref(), threads);
        map_columns(&mut out, threads, |j, column| {
            column.iter_mut().for_each(|a| *a = 1.0 / (1.0 + (-(*a + self.offsets[j])).exp()));
        });
        out
    }

    /// The neurons named, and no others.
    fn keep(&self, neurons: &[usize]) -> Self {
        let offsets = neurons.iter().map(|&j| self.offsets[j]).collect();
        Layer { directions: select_columns(self.directions.as_ref(), neurons), offsets }
    }
}

/// Scaled training data behind the hidden layer.
struct Training {
    scales: Scales,
    system: System,
}

impl Training {
    fn new(data: &Dataset, layer: &Layer, threads: Threads) -> Result<Self> {
        let (scales, inputs, targets) = Scales::of_range(data)?;
        let hidden = layer.output(inputs, threads);
        let row_weights = data.weights().map_or(vec![1.0; data.rows()], <[f64]>::to_vec);
        let system = System::new(&hidden, &targets, row_weights, threads);
        Ok(Training { scales, system })
    }
}

#[derive(Serialize, Deserialize)]
struct Fitted {
    scales: Scales,
    /// The neurons with weights that are not zero, and those weights.
    layer: Layer,
    #[serde(with = "super::stored::matrix")]
    weights: Mat<f64>,
    penalty: Penalty,
}

impl Method for GorElm {
    fn name(&self) -> &'static str {
        "gor-elm"
    }

    fn describe(&self) -> &'static str {
        "1000 random neurons, robust loss and row-sparse output weights shared by all targets"
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        require_few(self.name(), data, MOST_ROWS)?;
        let layer = Layer::draw(data.inputs().ncols(), self.neurons, plan.seed);
        let points = grid(plan.grid);
        let Choice { index, .. } = choose(self.name(), points.len(), data, plan, |train, held_out, report| {
            self.scan(&points, &layer, train, held_out, report)
        })?;
        let penalty = points[index];
        let training = Training::new(data, &layer, Threads::current())?;
        let weights = self.solve_one(&points, penalty, &training.system);
        let sound = (0..weights.ncols()).all(|c| weights.col_as_slice(c).iter().all(|w| w.is_finite()));
        if !sound {
            let problem = "its weights overflow; rescale the row weights".into();
            return Err(Error::Unsupported { method: self.name(), problem });
        }
        let kept: Vec<usize> =
            (0..weights.nrows()).filter(|&j| (0..weights.ncols()).any(|c| weights[(j, c)] != 0.0)).collect();
        Ok(Box::new(Fitted {
            scales: training.scales,
            layer: layer.keep(&kept),
            weights: select_rows(weights.as_ref(), &kept),
            penalty,
        }))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        restored::<Fitted>(state)
    }
}

impl GorElm {
    fn stopping(&self) -> Stopping {
        Stopping { most_iterations: self.most_iterations, ..Stopping::USUAL }
    }

    /// All points on one inner training set.
    fn scan(
        &self,
        points: &[Penalty],
        layer: &Layer,
        train: &Dataset,
        held_out: MatRef<'_, f64>,
        report: &mut dyn FnMut(usize, Mat<f64>),
    ) -> Result<()> {
        let threads = Threads::ONE;
        let Training { scales, system } = Training::new(train, layer, threads)?;
        let hidden = layer.output(scales.question(held_out)?, threads);
        solve_all(&system, points, self.stopping(), threads, |point, weights| {
            if let Ok(predictions) = scales.restore(multiply(hidden.as_ref(), weights.as_ref(), threads)) {
                report(point, predictions);
            }
        });
        Ok(())
    }

    /// The weights at one point, reached along the path that selection has judged it on.
    fn solve_one(&self, points: &[Penalty], penalty: Penalty, system: &System) -> Mat<f64> {
        let on_path = |p: &&Penalty| p.sparsity == penalty.sparsity && p.strength >= penalty.strength;
        let path: Vec<Penalty> = points.iter().filter(on_path).copied().collect();
        let mut found = Mat::zeros(system.hidden.ncols(), system.tasks());
        solve_all(system, &path, self.stopping(), Threads::current(), |point, weights| {
            if path[point] == penalty {
                found = weights;
            }
        });
        found
    }
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let threads = Threads::current();
        let hidden = self.layer.output(self.scales.question(inputs)?, threads);
        let mean = multiply(hidden.as_ref(), self.weights.as_ref(), threads);
        Ok(Forecast { mean: self.scales.restore(mean)?, std: None, laws: None })
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        Some(self.weights.nrows())
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        let Penalty { strength, sparsity } = self.penalty;
        vec![("lambda", Chosen::TwoTo(strength.log2() as i32)), ("alpha", Chosen::Text(sparsity.to_string()))]
    }
}
