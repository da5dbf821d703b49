//! MMR, multi-target regression by a kernel machine with a structure matrix (Zhen, Yu, He, Li: TPAMI 40(2), 2018).
//!
//! Latent functions z(x) = A k(x), one for each of the C tasks, are mixed by a C×C matrix S of low rank: the
//! prediction is S z(x), with k(x) the kernel values of x with the N training rows. Columns of Y (C×N) are the
//! standardised targets. A and S minimise
//!
//! J = ‖Y − SAK‖²/N + λ tr(AKAᵀ) + β‖S‖_* + γ‖S‖²
//!
//! from S = I. One eigendecomposition of K serves every (λ, β, γ); see `solver.rs`. λ, β and γ are chosen among 10⁻⁵ to
//! 10³, and so is whether the inputs of the kernel are standardised or raw, by cross-validation inside the training rows.
//!
//! J has a symmetry that halves the work: with S = √λ S' the problem in S' depends on γλ and β√λ alone. Points of the
//! grid that agree in both describe the same models; the one with the smallest λ is computed for all of them. There
//! S = I is the largest start, which is the least likely to end at S = 0 where a better minimum exists.

mod kernel;
mod solver;
#[cfg(test)]
mod tests;

use super::require_complete;
use super::scales::Scales;
use super::stored::{restored, stored};
use crate::method::{Chosen, Forecast, Method, Predictor};
use crate::select::{Grid, Plan, choose};
use kernel::{Kernel, Scaling};
use rffblr::data::Dataset;
use rffblr::internals::{Spectral, multiply};
use rffblr::linalg::{Mat, MatRef, Threads};
use rffblr::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use solver::{Limits, Penalties, Rotated};
use std::collections::BTreeMap;

/// Kernel regression with a low-rank structure matrix between the tasks.
#[derive(Clone, Copy, Debug)]
pub struct Mmr;

/// More rows than this would take minutes for a single eigendecomposition.
const MOST_ROWS: usize = 5000;

/// Powers of ten of the penalties.
const SMALLEST: i32 = -5;
const LARGEST: i32 = 3;

/// A point of the grid; penalties by their power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Point {
    scaling: Scaling,
    latent: i32,
    trace: i32,
    square: i32,
}

impl Point {
    fn penalties(&self) -> Penalties {
        let power = |exponent: i32| 10f64.powi(exponent);
        Penalties { latent: power(self.latent), trace: power(self.trace), square: power(self.square) }
    }

    /// The point of the full grid with the smallest λ among those with the same γλ and β√λ, so with the same models.
    fn canonical(&self) -> Point {
        let mut point = *self;
        while point.latent - 2 >= SMALLEST && point.trace < LARGEST && point.square + 2 <= LARGEST {
            point.latent -= 2;
            point.trace += 1;
            point.square += 2;
        }
        point
    }
}

/// All points, strong penalties first.
fn points(grid: Grid) -> Vec<Point> {
    let exponents: [Vec<i32>; 3] = match grid {
        Grid::Full => [(); 3].map(|()| (SMALLEST..=LARGEST).rev().collect()),
        // One λ is enough for a look, by the symmetry of J.
        Grid::Coarse => [vec![-1], vec![-2, -3, -5], vec![-3, -4, -5]],
    };
    let [latent, trace, square] = &exponents;
    let mut points = Vec::new();
    for scaling in [Scaling::Standardised, Scaling::Raw] {
        for &latent in latent {
            for &trace in trace {
                points.extend(square.iter().map(|&square| Point { scaling, latent, trace, square }));
            }
        }
    }
    points
}

/// Everything that depends on the training rows and the scaling but not on the penalties.
struct Prepared {
    scales: Scales,
    kernel: Kernel,
    /// Q.
    vectors: Mat<f64>,
    rotated: Rotated,
}

impl Prepared {
    fn new(data: &Dataset, scaling: Scaling) -> Result<Self> {
        let (scales, inputs, targets) = Scales::learn(data)?;
        let (kernel, matrix) = Kernel::new(inputs, &scales.inputs.scale, scaling);
        let Some(Spectral { values, vectors }) = Spectral::new(matrix) else {
            let problem = "the eigendecomposition of its kernel matrix did not converge".into();
            return Err(Error::Unsupported { method: "mmr", problem });
        };
        let targets = multiply(vectors.as_ref().transpose(), targets.as_ref(), Threads::current());
        Ok(Prepared { scales, kernel, rotated: Rotated::new(values, targets), vectors })
    }
}

/// Fits all points to one training set and reports their predictions.
fn scan(
    points: &[Point],
    data: &Dataset,
    questions: MatRef<'_, f64>,
    report: &mut dyn FnMut(usize, Mat<f64>),
) -> Result<()> {
    for scaling in [Scaling::Standardised, Scaling::Raw] {
        let mut classes: BTreeMap<[i32; 3], Vec<usize>> = BTreeMap::new();
        for (index, point) in points.iter().enumerate().filter(|(_, point)| point.scaling == scaling) {
            let Point { latent, trace, square, .. } = point.canonical();
            classes.entry([latent, trace, square]).or_default().push(index);
        }
        if classes.is_empty() {
            continue;
        }
        let prepared = Prepared::new(data, scaling)?;
        let kernel = prepared.kernel.against(prepared.scales.question(questions)?);
        let kernel = multiply(kernel.as_ref(), prepared.vectors.as_ref(), Threads::current());
        for ([latent, trace, square], members) in classes {
            let penalties = Point { scaling, latent, trace, square }.penalties();
            let state = prepared.rotated.solve(penalties, Limits::DEFAULT);
            let coefficients = prepared.rotated.coefficients(&state, &penalties);
            let predictions = multiply(kernel.as_ref(), coefficients.as_ref(), Threads::ONE);
            if let Ok(predictions) = prepared.scales.restore(predictions) {
                members.iter().for_each(|&index| report(index, predictions.clone()));
            }
        }
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
struct Fitted {
    scales: Scales,
    kernel: Kernel,
    /// (SA)ᵀ, N×C.
    #[serde(with = "super::stored::matrix")]
    coefficients: Mat<f64>,
    point: Point,
    /// Rank of S.
    rank: usize,
}

impl Method for Mmr {
    fn name(&self) -> &'static str {
        "mmr"
    }

    fn describe(&self) -> &'static str {
        "kernel regression with a low-rank structure matrix between the targets; penalties by inner cross-validation"
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        require_complete(self.name(), data, MOST_ROWS)?;
        let points = points(plan.grid);
        let choice = choose(self.name(), points.len(), data, plan, |train, questions, report| {
            scan(&points, train, questions, report)
        })?;
        let point = points[choice.index];
        let Prepared { scales, kernel, vectors, rotated } = Prepared::new(data, point.scaling)?;
        let penalties = point.canonical().penalties();
        let state = rotated.solve(penalties, Limits::DEFAULT);
        let coefficients = rotated.coefficients(&state, &penalties);
        let coefficients = multiply(vectors.as_ref(), coefficients.as_ref(), Threads::current());
        Ok(Box::new(Fitted { scales, kernel, coefficients, point, rank: state.singular.len() }))
    }

    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        restored::<Fitted>(state)
    }
}

impl Predictor for Fitted {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let kernel = self.kernel.against(self.scales.question(inputs)?);
        let mean = multiply(kernel.as_ref(), self.coefficients.as_ref(), Threads::current());
        Ok(Forecast { mean: self.scales.restore(mean)?, std: None, laws: None })
    }

    fn state(&self) -> Result<Value> {
        stored(self)
    }

    fn active_features(&self) -> Option<usize> {
        None
    }

    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        let inputs = match self.point.scaling {
            Scaling::Standardised => "standardised",
            Scaling::Raw => "raw",
        };
        vec![
            ("lambda", Chosen::TenTo(self.point.latent)),
            ("beta", Chosen::TenTo(self.point.trace)),
            ("gamma", Chosen::TenTo(self.point.square)),
            ("inputs", Chosen::Text(inputs.into())),
            ("rank", Chosen::Text(self.rank.to_string())),
        ]
    }
}
