//! MTFL, multi-task feature learning as the paper uses it: the group lasso on random Fourier features.
//!
//! min over W, b of ‖Y − ΦW − 1bᵀ‖²/(2N) + λ Σⱼ‖wⱼ‖ with φⱼ(x) = cos(√(2γ) ωⱼᵀx + pⱼ), ωⱼ ~ N(0, I), pⱼ uniform, and
//! M = 2N features; inputs and targets standardised. A row wⱼ is zero for all tasks or for none. The intercept is not
//! penalised: Φ and Y are centred and b follows (after Argyriou, Evgeniou, Pontil: NIPS 2006).
//!
//! λ is chosen among 10⁻⁵ to 10⁵ and γ among 2⁻¹⁰/D to 1/D by cross-validation inside the training rows. All γ share
//! one draw; for each γ the features are computed once and λ falls along a path of warm starts; see `solver.rs`.

mod solver;
#[cfg(test)]
mod tests;

use super::require_complete;
use super::scales::Scales;
use super::stored::{restored, stored};
use crate::method::{Chosen, Forecast, Method, Predictor};
use crate::select::{Grid, Plan, choose};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rffblr::Result;
use rffblr::data::Dataset;
use rffblr::fourier::{Basis, Directions, Offsets, Recipe, Spectrum};
use rffblr::internals::{dot, multiply, select_columns};
use rffblr::linalg::{Mat, MatRef, Threads};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use solver::{Limits, Path};

/// The group lasso on random Fourier features.
#[derive(Clone, Copy, Debug)]
pub struct Mtfl;

/// More rows than this would need gigabytes for the features.
const MOST_ROWS: usize = 5000;

/// Penalties by their power of ten, falling, and bandwidths times D by their power of two, rising. Points of the grid
/// are numbered with the bandwidth running fastest: the simplest models come first.
struct Points {
    penalties: Vec<i32>,
    bandwidths: Vec<i32>,
}

impl Points {
    fn new(grid: Grid) -> Self {
        match grid {
            Grid::Full => Points { penalties: (-5..=5).rev().collect(), bandwidths: (-10..=0).collect() },
            Grid::Coarse => Points { penalties: vec![-1, -2, -3, -4], bandwidths: vec![-9, -6, -3] },
        }
    }

    fn count(&self) -> usize {
        self.penalties.len() * self.bandwidths.len()
    }

    fn index(&self, penalty: usize, bandwidth: usize) -> usize {
        penalty * self.bandwidths.len() + bandwidth
    }
}

fn penalty(exponent: i32) -> f64 {
    10f64.powi(exponent)
}

/// Standardised data and the draw: what all points share.
struct Prepared {
    scales: Scales,
    targets: Mat<f64>,
    basis: Basis,
    /// The angles of the training rows at unit bandwidth, without offsets.
    angles: Mat<f64>,
}

impl Prepared {
    fn new(data: &Dataset, seed: u64) -> Result<Self> {
        let (scales, inputs, targets) = Scales::learn(data)?;
        let recipe = Recipe {
            spectrum: Spectrum::Rbf,
            offsets: Offsets::Random,
            directions: Directions::Independent,
            count: 2 * data.rows(),
            links: false,
        };
        let mut basis = Basis::draw(&recipe, inputs.ncols(), &mut ChaCha8Rng::seed_from_u64(seed));
        basis.amplitude = 1.0;
        let angles = angles(&basis, inputs.as_ref());
        Ok(Prepared { scales, targets, basis, angles })
    }

    fn bandwidth(&self, exponent: i32) -> f64 {
        2f64.powi(exponent) / self.basis.inputs() as f64
    }

    /// Features for this bandwidth, each with its mean taken off, and the means.
    fn features(&self, exponent: i32) -> (Mat<f64>, Vec<f64>) {
        let mut features = lifted(&self.basis, self.angles.clone(), self.bandwidth(exponent));
        let ones = vec![1.0; features.nrows()];
        let means = (0..features.ncols())
            .map(|j| {
                let column = features.col_as_slice_mut(j);
                let mean = dot(column, &ones) / ones.len() as f64;
                column.iter_mut().for_each(|v| *v -= mean);
                mean
            })
            .collect();
        (features, means)
    }
}

fn angles(basis: &Basis, inputs: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(inputs.nrows(), basis.columns());
    basis.project(&mut out, inputs, &vec![1.0; basis.inputs()], Threads::current());
    for j in 0..out.ncols() {
        // A row so far away that its angle overflows: there every value of a wave is as good as any other.
        out.col_as_slice_mut(j).iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = 0.0);
    }
    out
}

/// Angles at unit bandwidth to features; there are no links, so the inputs are not needed.
fn lifted(basis: &Basis, mut angles: Mat<f64>, bandwidth: f64) -> Mat<f64> {
    let none = Mat::zeros(0, 0);
    basis.lift(&mut angles, none.as_ref(), bandwidth, Threads::current());
    angles
}

/// Σⱼ (φⱼ(x) − mean of φⱼ) wⱼ over the selected features; standardised targets have mean zero.
fn predictions(features: &Mat<f64>, means: &[f64], selected: &[usize], weights: &Mat<f64>) -> Mat<f64> {
    let mut features = select_columns(features.as_ref(), selected);
    for (j, &feature) in selected.iter().enumerate() {
        features.col_as_slice_mut(j).iter_mut().for_each(|v| *v -= means[feature]);
    }
    multiply(features.as_ref(), weights.as_ref(), Threads::ONE)
}

/// Fits all points to one training set and reports their predictions.
fn scan(
    points: &Points,
    seed: u64,
    data: &Dataset,
    questions: MatRef<'_, f64>,
    report: &mut dyn FnMut(usize, Mat<f64>),
) -> Result<()> {
    let prepared = Prepared::new(data, seed)?;
    let questions = prepared.scales.question(questions)?;
    let new_angles = angles(&prepared.basis, questions.as_ref());
    for (b, &bandwidth) in points.bandwidths.iter().enumerate() {
        let (features, means) = prepared.features(bandwidth);
        let new = lifted(&prepared.basis, new_angles.clone(), prepared.bandwidth(bandwidth));
        let mut path = Path::new(&features, &prepared.targets);
        for (p, &exponent) in points.penalties.iter().enumerate() {
            path.solve(penalty(exponent), Limits::DEFAULT);
            let (selected, weights) = path.selected();
            if let Ok(predictions) = prepared.scales.restore(predictions(&new, &means, &selected, &weights)) {
                report(points.index(p, b), predictions);
            }
        }
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct Fitted {
    scales: Scales,
    /// The selected features and their means over the training rows.
    #[serde(with = "super::stored::StoredBasis")]
    basis: Basis,
    means: Vec<f64>,
    #[serde(with = "super::stored::matrix")]
    weights: Mat<f64>,
    bandwidth: f64,
    /// Exponents of the chosen penalty and bandwidth.
    point: (i32, i32),
}

impl Method for Mtfl {
    fn name(&self) -> &'static str {
        "mtfl"
    }

    fn describe(&self) -> &'static str {
        "group lasso on random Fourier features: each is used by all targets or none; penalty by inner cross-validation"
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        require_complete(self.name(), data, MOST_ROWS)?;
        let points = Points::new(plan.grid);
        let choice = choose(self.name(), points.count(), data, plan, |train, questions, report| {
            scan(&points, plan.seed, train, questions, report)
        })?;
        let width = points.bandwidths.len();
        let (chosen, bandwidth) = (choice.index / width, points.bandwidths[choice.index % width]);
        let prepared = Prepared::new(data, plan.seed)?;
        let (features, means) = prepared.features(bandwidth);
        let mut path = Path::new(&features, &prepared.targets);
        for &exponent in &points.penalties[..=chosen] {
            path.solve(penalty(exponent), Limits::DEFAULT);
        }
        let (mut selected, weights) = path.selected();
        let mut order: Vec<usize> = (0..selected.len()).collect();
        order.sort_unstable_by_key(|&k| selected[k]);
        let weights = rffblr::internals::select_rows(weights.as_ref(), &order);
        selected.sort_unstable();
        let mut basis = prepared.basis.clone();
        basis.keep(&selected);
        Ok(Box::new(Fitted {
            bandwidth: prepared.bandwidth(bandwidth),
            scales: prepared.scales,
            basis,
            means: selected.iter().map(|&j| means[j]).collect(),
            weights,
            point: (points.penalties[chosen], bandwidth),
        }))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        restored::<Fitted>(state)
    }
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let inputs = self.scales.question(inputs)?;
        let features = lifted(&self.basis, angles(&self.basis, inputs.as_ref()), self.bandwidth);
        let all: Vec<usize> = (0..self.means.len()).collect();
        let mean = predictions(&features, &self.means, &all, &self.weights);
        Ok(Forecast { mean: self.scales.restore(mean)?, std: None, laws: None })
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        Some(self.means.len())
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        let (penalty, bandwidth) = self.point;
        vec![("lambda", Chosen::TenTo(penalty)), ("gamma", Chosen::TwoToPerInput(bandwidth))]
    }
}
