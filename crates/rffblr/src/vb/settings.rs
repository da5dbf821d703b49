//! Everything a user can choose, in one plain struct. Alternatives are enums: "learn it or hold it" is a type.

use crate::error::{Error, Result};
use crate::fourier::{Directions, Offsets, Spectrum};
use serde::{Deserialize, Serialize};

/// What the function is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// All cosines at once, through the kernel they add up to: a term for every training row. The densest form, and the
    /// most accurate. The settings of drawn cosines have no part in it and are refused.
    Kernel,
    /// A few sinusoids, at most this many per row of data, fitted to the function of the kernel form.
    Sinusoids {
        /// Sinusoids per row.
        per_row: f64,
    },
    /// Cosines drawn at random, weighted and dropped by variational inference (the paper).
    Cosines,
}

/// How many cosines to draw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureCount {
    /// Exactly so many.
    Exactly(usize),
    /// So many per row of data (a row that stands for several counts as these).
    PerRow(f64),
}

/// The prior precision α of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// One per feature, shared by all tasks: automatic relevance determination. Features can vanish.
    Free,
    /// One for all cosines and one for all direct links: the kernel view.
    Tied,
}

/// The kernel bandwidth γ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bandwidth {
    /// Held at this value.
    Fixed(f64),
    /// Learned from the bound, starting here; `None` starts at 1/D.
    Learned {
        /// First value of γ.
        start: Option<f64>,
    },
}

/// The relevance r of each input inside the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relevance {
    /// All inputs count the same (the paper).
    Uniform,
    /// Held at these values, one per input.
    Fixed(Vec<f64>),
    /// Learned from the bound, starting uniform.
    Learned,
}

/// The noise precision τ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// One for all tasks (the paper).
    Shared,
    /// One for each task.
    PerTask,
}

/// What the model sees of the targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetScale {
    /// Each task to mean zero and standard deviation one.
    Standardised,
    /// As they are.
    Raw,
}

/// When a feature is dropped, for all tasks at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pruning {
    /// Never.
    Never,
    /// When the variance it is expected to add to a target falls below this fraction of an equal share: the target's
    /// variance divided by the number of features drawn.
    BelowEqualShare(f64),
}

/// A Gamma prior by shape and rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GammaPrior {
    /// Shape a₀.
    pub shape: f64,
    /// Rate b₀.
    pub rate: f64,
}

impl GammaPrior {
    /// Nearly flat in the logarithm.
    pub const VAGUE: GammaPrior = GammaPrior { shape: 1e-6, rate: 1e-6 };
}

/// All settings of a fit. Start from [`Settings::DEFAULT`] or [`Settings::PAPER`] and change fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What the function is made of. Absent in files of older versions, which knew cosines alone.
    #[serde(default = "cosines")]
    pub form: Form,
    /// Number of cosines drawn.
    pub features: FeatureCount,
    /// Kernel the cosines approximate.
    pub spectrum: Spectrum,
    /// Offsets of the cosines.
    pub offsets: Offsets,
    /// Directions of the cosines.
    pub directions: Directions,
    /// Whether the inputs themselves are features too.
    pub links: bool,
    /// Prior precision of the weights.
    pub precision: Precision,
    /// Kernel bandwidth.
    pub bandwidth: Bandwidth,
    /// Input relevance.
    pub relevance: Relevance,
    /// Noise precision.
    pub noise: Noise,
    /// Scaling of the targets.
    pub targets: TargetScale,
    /// Prior of each weight precision.
    pub weight_prior: GammaPrior,
    /// Prior of each noise precision.
    pub noise_prior: GammaPrior,
    /// When features are dropped.
    pub pruning: Pruning,
    /// Step size of Adam on ln γ and ln r.
    pub learning_rate: f64,
    /// Independent draws; the one with the best bound is kept.
    pub restarts: usize,
    /// Most sweeps of a restart.
    pub max_iterations: usize,
    /// A restart has converged when the bound changes by less than this share.
    pub tolerance: f64,
    /// Seed of the draws.
    pub seed: u64,
}

fn cosines() -> Form {
    Form::Cosines
}

impl Settings {
    /// The paper's model to the letter: RBF cosines with random offsets, one noise precision, free precisions with
    /// vague priors, pruning, γ by Adam on the bound. Direct links are off: the paper does not mention them, but
    /// its published numbers need them (set `links` for those).
    pub const PAPER: Settings = Settings {
        form: Form::Cosines,
        features: FeatureCount::PerRow(2.0),
        spectrum: Spectrum::Rbf,
        offsets: Offsets::Random,
        directions: Directions::Independent,
        links: false,
        precision: Precision::Free,
        bandwidth: Bandwidth::Learned { start: None },
        relevance: Relevance::Uniform,
        noise: Noise::Shared,
        targets: TargetScale::Standardised,
        weight_prior: GammaPrior::VAGUE,
        noise_prior: GammaPrior::VAGUE,
        pruning: Pruning::BelowEqualShare(0.7),
        learning_rate: 0.1,
        restarts: 1,
        max_iterations: 500,
        tolerance: 1e-5,
        seed: 0,
    };

    /// The kernel machine: exact, relevance of the inputs learned, noise per task.
    pub const DEFAULT: Settings = Settings { form: Form::Kernel, ..Settings::COSINES };

    /// The kernel view by drawn cosines, for more rows than the exact kernel can take: orthogonal cosine–sine pairs and
    /// direct links with one precision each, relevance of the inputs learned, noise per task.
    pub const COSINES: Settings = Settings {
        offsets: Offsets::Paired,
        directions: Directions::Orthogonal,
        links: true,
        precision: Precision::Tied,
        relevance: Relevance::Learned,
        noise: Noise::PerTask,
        pruning: Pruning::Never,
        max_iterations: 200,
        ..Settings::PAPER
    };

    /// Checks every field; the error names it.
    pub fn validate(&self) -> Result<()> {
        let wrong = |name, problem: String| Err(Error::Setting { name, problem });
        let positive = |name, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(Error::Setting { name, problem: format!("{value} is not a positive finite number") })
            }
        };
        if let Form::Sinusoids { per_row } = self.form {
            positive("form.per_row", per_row)?;
        }
        if self.form != Form::Cosines {
            self.refuse_idle_settings()?;
        }
        match self.features {
            FeatureCount::Exactly(0) if !self.links => {
                return wrong("features", "0 cosines and no links leave no model; use at least 1".into());
            }
            FeatureCount::Exactly(_) => {}
            FeatureCount::PerRow(per_row) => positive("features", per_row)?,
        }
        if self.directions == Directions::Orthogonal && !self.spectrum.is_isotropic() {
            return wrong(
                "directions",
                "orthogonal directions need an isotropic spectrum; laplace-l1 is a product over inputs".into(),
            );
        }
        match self.bandwidth {
            Bandwidth::Fixed(value) | Bandwidth::Learned { start: Some(value) } => positive("bandwidth", value)?,
            Bandwidth::Learned { start: None } => {}
        }
        if let Relevance::Fixed(values) = &self.relevance
            && let Some(bad) = values.iter().find(|v| **v < 0.0 || !v.is_finite())
        {
            return wrong("relevance", format!("{bad} is negative or not finite"));
        }
        if self.pruning != Pruning::Never && self.precision == Precision::Tied {
            return wrong("pruning", "needs free precisions; with tied ones no feature can vanish".into());
        }
        if let Pruning::BelowEqualShare(share) = self.pruning {
            positive("pruning", share)?;
        }
        positive("weight_prior.shape", self.weight_prior.shape)?;
        positive("weight_prior.rate", self.weight_prior.rate)?;
        positive("noise_prior.shape", self.noise_prior.shape)?;
        positive("noise_prior.rate", self.noise_prior.rate)?;
        positive("learning_rate", self.learning_rate)?;
        positive("tolerance", self.tolerance)?;
        for (name, value) in [("restarts", self.restarts), ("max_iterations", self.max_iterations)] {
            if value == 0 {
                return wrong(name, "must be at least 1".into());
            }
        }
        Ok(())
    }

    /// A setting that would do nothing is more likely a mistake than a wish.
    fn refuse_idle_settings(&self) -> Result<()> {
        let used =
            Settings { form: self.form, max_iterations: self.max_iterations, seed: self.seed, ..Settings::DEFAULT };
        let fields = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
        let (given, used) = (fields(self), fields(&used));
        let idle = given.as_object().into_iter().flatten().find(|(name, value)| used.get(name) != Some(value));
        match idle {
            None => Ok(()),
            Some((name, _)) => Err(Error::Setting {
                name: "form",
                problem: format!(
                    "`{name}` is a setting of drawn cosines and has no part in this form; use form cosines"
                ),
            }),
        }
    }

    /// Number of cosines for data that count as so many rows.
    pub(crate) fn feature_count(&self, rows: f64) -> usize {
        match self.features {
            FeatureCount::Exactly(count) => count,
            FeatureCount::PerRow(per_row) => (per_row * rows).ceil().clamp(1.0, 1e6) as usize,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::DEFAULT
    }
}
