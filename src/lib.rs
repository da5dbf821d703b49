//! Sparse Bayesian multitask regression on random Fourier features: RFF-BLR.
//!
//! Inputs are lifted by M random cosines whose dot product approximates a kernel; a Bayesian linear model on them
//! serves all tasks at once. In ten lines:
//!
//! ```text
//! φ(x) = √(2/M) cos(Ωᵀx + p)                 features; Ω scaled by bandwidth γ and relevance r
//! y_n  = Wᵀφ(x_n) + b + ε_n                  one row of W per feature, one column per task
//! ε_c  ~ N(0, 1/τ_c)                         noise, shared or per task
//! w_m  ~ N(0, I/α_m)                         one precision per feature, shared by all tasks:
//! α_m  ~ Gamma(a₀, b₀)                       a feature that helps no task vanishes for all
//! q(W) q(b) q(τ) Π q(α_m)                    mean-field posterior, closed-form updates
//! L(q, γ, r) ≤ ln p(Y)                       the bound: rises with every update,
//! ∂L/∂ln γ, ∂L/∂ln r                         and is climbed in bandwidth and relevance
//! f(x) = Σ_m w_m cos(ω_mᵀx + p_m) + b        one model, two views: a layer of sinusoids,
//!      ≈ Σ_n β_n κ(x_n, x) + b               or a kernel machine
//! ```
//!
//! [`Form`] says which view a fit takes at its word: by default the exact kernel machine, the limit of infinitely many
//! cosines; a few sinusoids that reproduce it; or drawn cosines as above.
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
pub mod baselines;
pub mod catalogue;
pub mod data;
mod error;
pub mod evaluate;
pub mod explain;
pub mod fourier;
#[cfg(test)]
mod golden;
pub mod kernel;
pub mod linalg;
pub mod method;
pub mod metrics;
mod model;
pub mod normal;
pub mod report;
pub mod select;
mod simd;
mod sparse;
pub mod table;
mod vb;

pub use error::{Error, Result};
pub use model::{
    FORMAT, FORMAT_VERSION, KernelView, Link, Model, Prediction, Sinusoid, Verification, fit, fit_observed,
};
pub use vb::{
    Bandwidth, Bound, FeatureCount, Form, Gamma, GammaPrior, Iteration, Noise, Observer, PRESETS, Precision, Pruning,
    Relevance, Settings, Stop, TargetScale,
};
