//! SB-ELM: sparse Bayesian extreme learning machine (Luo, Vong and Wong, 2014) for regression, one model per task.
//!
//! The hidden layer is M cosines (2N unless said otherwise), φ_m(x) = cos(ω_mᵀx + p_m) with ω_m ~ N(0, 2γI) and p_m uniform on [0, 2π), and a
//! column of ones like any other. Each task has its own noise precision β and one weight precision α_m per feature,
//!
//! t | w ~ N(Φw, β⁻¹I),   w_m ~ N(0, α_m⁻¹),
//!
//! both by maximal evidence p(t | α, β), from α = M/2, where the function has unit variance; see [`evidence`]. Most α_m grow without bound, and their features leave. Inputs
//! and targets are standardised. Row weights and missing target cells are used: a task learns from its observed rows.
//!
//! The bandwidth γ ∈ 2^{−10…0}/D is chosen by cross-validation; all bandwidths share their draws.

mod evidence;
#[cfg(test)]
mod tests;

use super::scales::Scales;
use super::stored::{restored, stored};
use super::{require_few, within_reach};
use crate::method::{Chosen, Forecast, Method, Predictor};
use crate::select::{Choice, Grid, Plan, choose};
use evidence::{Posterior, Relevance, Rule, maximise};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rffblr::data::Dataset;
use rffblr::fourier::{Basis, Directions, Offsets, Recipe, Spectrum};
use rffblr::internals::{Problem, scale_rows, select_columns};
use rffblr::linalg::{Mat, MatRef, Threads};
use rffblr::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Sparse Bayesian regression on random cosines, one model per task.
#[derive(Clone, Copy, Debug)]
pub struct SbElm {
    /// Its hidden layer.
    pub layer: Layer,
}

/// How the hidden layer comes about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layer {
    /// Two cosines for each row, their bandwidth chosen by cross-validation.
    Chosen,
    /// This many cosines for each row, of this bandwidth; nothing is selected.
    Given {
        /// Cosines for each row; at least one is drawn.
        per_row: f64,
        /// log₂ of γD.
        exponent: i32,
    },
}

/// Cosines for each row of [`Layer::Chosen`].
const PER_ROW: f64 = 2.0;

impl SbElm {
    /// As the comparison of the paper has it.
    pub const PAPER: SbElm = SbElm { layer: Layer::Chosen };

    /// log₂ of γD as cross-validation chooses it for [`Layer::Chosen`].
    fn choose_exponent(data: &Dataset, plan: &Plan<'_>) -> Result<i32> {
        require_few(SbElm::PAPER.name(), data, MOST_ROWS)?;
        let exponents = grid(plan.grid);
        let name = SbElm::PAPER.name();
        let Choice { index, .. } = choose(name, exponents.len(), data, plan, |train, held_out, report| {
            scan(&exponents, plan.seed, train, held_out, report)
        })?;
        Ok(exponents[index])
    }
}

/// More rows than this would take hours an evaluation.
const MOST_ROWS: usize = 3000;

/// log₂ of γD for the points to try; smoother functions first, so that a tie goes to them.
fn grid(grid: Grid) -> Vec<i32> {
    match grid {
        Grid::Full => (-10..=0).collect(),
        Grid::Coarse => vec![-8, -6, -4, -2],
    }
}

/// Standardised data and drawn features.
struct Training {
    scales: Scales,
    problem: Problem,
    basis: Basis,
    /// Angles of the cosines at unit bandwidth, and one more column.
    angles: Mat<f64>,
}

impl Training {
    fn new(data: &Dataset, per_row: f64, seed: u64, threads: Threads) -> Result<Self> {
        let (scales, inputs, targets) = Scales::learn(data)?;
        let problem = Problem::of(inputs, targets, data);
        let recipe = Recipe {
            spectrum: Spectrum::Rbf,
            offsets: Offsets::Random,
            directions: Directions::Independent,
            count: cosines(data.rows(), per_row)?,
            links: false,
        };
        let inputs = &problem.inputs;
        let drawn = Basis::draw(&recipe, inputs.ncols(), &mut ChaCha8Rng::seed_from_u64(seed));
        let basis = Basis { amplitude: 1.0, ..drawn };
        let angles = angles(&basis, inputs, threads);
        Ok(Training { scales, problem, basis, angles })
    }

    /// γ for a point of the grid.
    fn bandwidth(&self, exponent: i32) -> f64 {
        f64::from(exponent).exp2() / self.basis.inputs() as f64
    }

    /// α of every feature at the start: M/2, since the variance of the function is then Σ_m φ_m²/α ≈ 1, that of a
    /// standardised target.
    fn first_precision(&self) -> f64 {
        self.basis.cosines() as f64 / 2.0
    }

    /// [Φ, 1] at a bandwidth.
    fn features(&self, bandwidth: f64, threads: Threads) -> Mat<f64> {
        let mut out = self.angles.clone();
        self.basis.lift(&mut out, self.problem.inputs.as_ref().as_ref(), bandwidth, threads);
        out
    }

    /// What each task finds relevant at a bandwidth, in the order of the tasks.
    fn learn(&self, bandwidth: f64, threads: Threads) -> Vec<Relevance> {
        let features = self.features(bandwidth, threads);
        let rule = Rule { first_precision: self.first_precision(), ..Rule::USUAL };
        let mut by_task: Vec<(usize, Relevance)> = Vec::new();
        for group in &self.problem.groups {
            let mut features = group.rows_of(&features).into_owned();
            scale_rows(&mut features, &group.root);
            // Tasks of a group have the same rows, and so the same sum of weights.
            let mass = group.tasks.first().map_or(0.0, |&task| self.problem.count[task]);
            let found = maximise(&features, &group.targets, mass, rule, threads);
            by_task.extend(group.tasks.iter().copied().zip(found));
        }
        by_task.sort_by_key(|(task, _)| *task);
        by_task.into_iter().map(|(_, relevance)| relevance).collect()
    }
}

/// Cosines of the layer; more than a fit could hold are refused.
fn cosines(rows: usize, per_row: f64) -> Result<usize> {
    const MOST: f64 = 1e6;
    let count = (rows as f64 * per_row).round().max(1.0);
    if count.is_finite() && per_row > 0.0 && count <= MOST {
        return Ok(count as usize);
    }
    Err(Error::Setting { name: "per_row", problem: format!("{per_row} cosines for each of {rows} rows; 0.1 to 10 do") })
}

/// √2 XΩ₀, and a column more for the ones.
fn angles(basis: &Basis, inputs: &Mat<f64>, threads: Threads) -> Mat<f64> {
    let mut out = Mat::zeros(inputs.nrows(), basis.cosines() + 1);
    basis.project(&mut out, inputs.as_ref(), &vec![1.0; basis.inputs()], threads);
    out
}

/// Φμ for one task, standardised.
fn mean_of(features: &Mat<f64>, relevance: &Relevance) -> Vec<f64> {
    let mut out = vec![0.0; features.nrows()];
    for (&column, weight) in relevance.active.iter().zip(&relevance.weights) {
        out.iter_mut().zip(features.col_as_slice(column)).for_each(|(o, f)| *o += weight * f);
    }
    out
}

/// All points on one inner training set.
fn scan(
    exponents: &[i32],
    seed: u64,
    train: &Dataset,
    held_out: MatRef<'_, f64>,
    report: &mut dyn FnMut(usize, Mat<f64>),
) -> Result<()> {
    let threads = Threads::ONE;
    let training = Training::new(train, PER_ROW, seed, threads)?;
    let inputs = within_reach(training.scales.question(held_out)?);
    let angles = angles(&training.basis, &inputs, threads);
    for (point, &exponent) in exponents.iter().enumerate() {
        let bandwidth = training.bandwidth(exponent);
        let tasks = training.learn(bandwidth, threads);
        let mut features = angles.clone();
        training.basis.lift(&mut features, inputs.as_ref(), bandwidth, threads);
        let mut out = Mat::zeros(inputs.nrows(), tasks.len());
        for (task, relevance) in tasks.iter().enumerate() {
            out.col_as_slice_mut(task).copy_from_slice(&mean_of(&features, relevance));
        }
        if let Ok(predictions) = training.scales.restore(out) {
            report(point, predictions);
        }
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct Fitted {
    scales: Scales,
    /// The cosines that some task uses.
    #[serde(with = "super::stored::StoredBasis")]
    basis: Basis,
    bandwidth: f64,
    exponent: i32,
    /// One for each task, its columns among those cosines and the ones after them.
    tasks: Vec<Posterior>,
    /// How many features the tasks use together.
    active: usize,
}

impl Method for SbElm {
    fn name(&self) -> &'static str {
        "sb-elm"
    }

    fn describe(&self) -> &'static str {
        "sparse Bayesian regression on random cosines, one model per target"
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        require_few(self.name(), data, MOST_ROWS)?;
        let (per_row, exponent) = match self.layer {
            Layer::Chosen => (PER_ROW, SbElm::choose_exponent(data, plan)?),
            Layer::Given { per_row, exponent } => (per_row, exponent),
        };
        let threads = Threads::current();
        let training = Training::new(data, per_row, plan.seed, threads)?;
        let bandwidth = training.bandwidth(exponent);
        let features = training.features(bandwidth, threads);
        let learned = training.learn(bandwidth, threads);
        let union: BTreeSet<usize> = learned.iter().flat_map(|relevance| relevance.active.iter().copied()).collect();
        let ones = training.basis.cosines();
        let kept: Vec<usize> = union.iter().copied().filter(|&column| column < ones).collect();
        let mut tasks = Vec::with_capacity(learned.len());
        for (task, mut relevance) in learned.into_iter().enumerate() {
            let group = training.problem.groups.iter().find(|group| group.tasks.contains(&task));
            let root = group.map_or(&training.problem.root, |group| &group.root);
            let rows = group.map_or(std::borrow::Cow::Borrowed(&features), |group| group.rows_of(&features));
            let mut used = select_columns(rows.as_ref().as_ref(), &relevance.active);
            scale_rows(&mut used, root);
            for column in relevance.active.iter_mut() {
                *column = kept.binary_search(column).unwrap_or(kept.len());
            }
            tasks.push(Posterior::new(&used, relevance, threads)?);
        }
        let Training { scales, mut basis, .. } = training;
        basis.keep(&kept);
        Ok(Box::new(Fitted { scales, basis, bandwidth, exponent, tasks, active: union.len() }))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        restored::<Fitted>(state)
    }
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let threads = Threads::current();
        let inputs = within_reach(self.scales.question(inputs)?);
        let mut features = angles(&self.basis, &inputs, threads);
        self.basis.lift(&mut features, inputs.as_ref(), self.bandwidth, threads);
        let shape = (features.nrows(), self.tasks.len());
        let (mut mean, mut std) = (Mat::zeros(shape.0, shape.1), Mat::zeros(shape.0, shape.1));
        for (task, posterior) in self.tasks.iter().enumerate() {
            mean.col_as_slice_mut(task).copy_from_slice(&mean_of(&features, &posterior.relevance));
            let variance = posterior.variances(&features);
            std.col_as_slice_mut(task).iter_mut().zip(variance).for_each(|(o, v)| *o = v.sqrt());
        }
        Ok(Forecast { mean: self.scales.restore(mean)?, std: Some(self.scales.restore_deviations(std)?), laws: None })
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        Some(self.active)
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        vec![("gamma", Chosen::TwoToPerInput(self.exponent))]
    }
}
