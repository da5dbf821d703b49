//! Bayesian multitask regression by random Fourier features, RFF-BLR, and by their limit, a Gaussian process.
//!
//! Inputs are lifted by M random cosines whose dot product approximates a kernel; a Bayesian linear model on them
//! serves all tasks at once. There are four forms of it. [`Form::Kernel`] is the limit of infinitely many cosines: a
//! Gaussian process with a learned sum kernel, whose hyper-parameters maximise the marginal likelihood times their prior.
//! [`Form::Drawn`] approximates it by cosines drawn from the learned kernel, whose weights are solved from sums over the
//! rows: any number of rows, in blocks ([`drawn`]). [`Form::Sinusoids`] is a sparse approximation of its posterior mean.
//! [`Form::Cosines`] is the published algorithm. The default, [`Form::Automatic`], takes the first up to 3000 rows and the
//! second beyond. The published algorithm in ten lines:
//!
//! ```text
//! φ(x) = √(2/M) cos(Ωᵀx + p)                 features; Ω scaled by bandwidth γ and input scales r
//! y_n  = Wᵀφ(x_n) + b + ε_n                  one row of W per feature, one column per task
//! ε_c  ~ N(0, 1/τ_c)                         noise, shared or per task
//! w_m  ~ N(0, I/α_m)                         one precision per feature, shared by all tasks:
//! α_m  ~ Gamma(a₀, b₀)                       a feature that helps no task vanishes for all
//! q(W) q(b) q(τ) Π q(α_m)                    mean-field posterior, closed-form updates
//! L(q, γ, r) ≤ ln p(Y)                       the bound: rises with every update,
//! ∂L/∂ln γ, ∂L/∂ln r                         and is climbed in bandwidth and input scales
//! f(x) = Σ_m w_m cos(ω_mᵀx + p_m) + b        one model, two views: a layer of sinusoids,
//!      ≈ Σ_n β_n κ(x_n, x) + b               or a kernel machine
//! ```
//!
//! # Quick start
//!
//! ```
//! use rffblr::{Settings, data::Dataset, fit, linalg::Mat};
//!
//! # fn main() -> rffblr::Result<()> {
//! // Rows are samples. A NaN target cell means "not observed" and is used as such.
//! let inputs = Mat::from_fn(60, 2, |n, d| ((n * (d + 2)) as f64 * 0.7).sin());
//! let mut targets = Mat::from_fn(60, 2, |n, c| (2.0 * inputs[(n, c)]).sin());
//! targets[(3, 0)] = f64::NAN;
//!
//! let model = fit(&Dataset::new(inputs.clone(), targets)?, &Settings::DEFAULT)?;
//! let prediction = model.predict(inputs.as_ref())?;
//! let (lower, upper) = prediction.interval(0.9)?;
//! assert!(lower[(0, 0)] < prediction.mean[(0, 0)] && prediction.mean[(0, 0)] < upper[(0, 0)]);
//! # Ok(())
//! # }
//! ```
//!
//! The equations, their derivation and their numbers are in `docs/derivation.md`; a table of symbols in
//! `docs/notation.md`; the map of the code in `ARCHITECTURE.md`.

#![warn(missing_docs)]

mod adam;
pub mod data;
mod device;
pub mod drawn;
mod error;
pub mod explain;
mod files;
pub mod fourier;
#[cfg(test)]
mod golden;
#[doc(hidden)]
pub mod internals;
mod interrupt;
pub mod kernel;
pub mod linalg;
pub mod memory;
pub mod metrics;
mod model;
pub mod normal;
mod packed;
mod problem;
mod settings;
mod simd;
mod sparse;
mod steps;
pub mod table;
mod transform;
mod vb;
mod words;

// Files that tests of other crates include name the model by its crate.
#[cfg(test)]
extern crate self as rffblr;

pub use error::{Error, Result};
pub use model::{
    ErrorQuantiles, FORMAT, FORMAT_VERSION, KernelView, Laws, Link, Model, Prediction, PredictionColumns, Sinusoid,
    Verification, fit, fit_observed, memory_of_fit,
};
pub use settings::{
    Bandwidth, CosineSettings, Device, EXACT_ROWS, FeatureCount, Form, GammaPrior, InputScales, LinkScale, Noise,
    PRESETS, Precision, Pruning, SETTINGS, Setting, Settings, TargetScale, TargetTransforms, TransformChoice,
};
pub use steps::{Iteration, Observer, Stop};
pub use transform::{Law, Point, Shape, Transform};
pub use vb::Gamma;
