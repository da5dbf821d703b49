//! Everything a user can choose. The form of the model is a type: a setting that has no meaning in a form cannot be
//! written down. `table` has every setting by name, for front ends that read text.

mod device;
mod table;
mod text;

pub use device::Device;
pub use table::{PRESETS, SETTINGS, Setting};

use crate::error::{Error, Result};
use crate::fourier::{Directions, Offsets, Spectrum};
use crate::kernel::LEARNING_ROWS;
use crate::memory::{RESERVE, available};
use crate::model::exact_bytes;
use crate::table::number_text;
use serde::{Deserialize, Serialize};

/// Most rows for which the exact form is chosen.
pub const EXACT_ROWS: usize = 3000;

/// What is fitted, and how long. Start from [`Settings::DEFAULT`] or [`Settings::PAPER`] and change fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What the function is made of.
    pub form: Form,
    /// Most steps of the fit; with drawn cosines, most sweeps of a restart.
    pub max_iterations: usize,
    /// Seed of all random draws.
    pub seed: u64,
    /// How targets are transformed before the fit.
    #[serde(rename = "target_transform")]
    pub transform: TargetTransforms,
    /// What computes the fit, and predictions of its model. In no file: what is loaded says [`Device::Auto`].
    #[serde(skip)]
    pub device: Device,
}

/// How a target is transformed before the fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransformChoice {
    /// By an asinh that is learned with the model, if that pays; the published algorithm ([`Form::Cosines`]) learns none.
    Auto,
    /// Not at all.
    None,
    /// By its logarithm; it must be positive.
    Log,
    /// By the asinh that suits it best, whether it pays or not.
    Asinh,
}

/// The transform of every target: one for all, and others for those that are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TargetTransforms {
    /// The same for all targets.
    All(TransformChoice),
    /// Others for some.
    ByName {
        /// Of all targets that are not named.
        usual: TransformChoice,
        /// Of targets by name.
        own: Vec<(String, TransformChoice)>,
    },
}

impl TargetTransforms {
    /// Each target by an asinh if that pays.
    pub const AUTO: TargetTransforms = TargetTransforms::All(TransformChoice::Auto);
    /// None.
    pub const NONE: TargetTransforms = TargetTransforms::All(TransformChoice::None);

    /// The choice of each target; a name that no target has is an error.
    pub(crate) fn of(&self, targets: &[String]) -> Result<Vec<TransformChoice>> {
        let (usual, own) = self.parts();
        if let Some((name, _)) = own.iter().find(|(name, _)| !targets.contains(name)) {
            return Err(Error::Setting { name: "target-transform", problem: format!("there is no target \"{name}\"") });
        }
        let of =
            |target: &String| own.iter().rev().find(|(name, _)| name == target).map_or(usual, |(_, choice)| *choice);
        Ok(targets.iter().map(of).collect())
    }

    /// The choices of some of the targets alone.
    pub fn among(&self, targets: &[String]) -> TargetTransforms {
        match self {
            TargetTransforms::All(usual) => TargetTransforms::All(*usual),
            TargetTransforms::ByName { usual, own } => {
                let own = own.iter().filter(|(name, _)| targets.contains(name)).cloned().collect();
                TargetTransforms::ByName { usual: *usual, own }
            }
        }
    }

    /// What holds for all targets, and for those that are named.
    fn parts(&self) -> (TransformChoice, &[(String, TransformChoice)]) {
        match self {
            TargetTransforms::All(usual) => (*usual, &[]),
            TargetTransforms::ByName { usual, own } => (*usual, own),
        }
    }
}

/// What the function is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Kernel or drawn, whichever is faster for the number of rows.
    Automatic,
    /// All cosines at once, through the kernel they add up to: a Gaussian process with a learned sum kernel, a term for
    /// every training row. The most accurate form.
    Kernel,
    /// Cosines and sines drawn from the learned kernel, for any number of rows: they approximate the kernel form.
    Drawn {
        /// How many; `None` lets the number of rows decide.
        features: Option<usize>,
        /// Tied: those of the learned kernel. Free: one for each feature, learned from the sums over the rows; features
        /// that help no target are dropped.
        precision: Precision,
        /// Work that learning may take: 1 is some minutes of two cores, and so many times as much finds more in many rows.
        #[serde(default = "usual_effort")]
        effort: f64,
    },
    /// A few sinusoids fitted to the posterior mean of the kernel form.
    Sinusoids {
        /// From just above 0 to just below 1: 0.75 keeps one sinusoid for four rows of data.
        sparsity: f64,
    },
    /// Cosines drawn at random, weighted and dropped by variational inference (the paper).
    Cosines(CosineSettings),
}

fn usual_effort() -> f64 {
    1.0
}

impl Form {
    /// Drawn features, as many as the number of rows says, with the prior of the learned kernel.
    pub const DRAWN: Form = Form::Drawn { features: None, precision: Precision::Tied, effort: 1.0 };

    /// The form in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Form::Automatic => "automatic",
            Form::Kernel => "kernel",
            Form::Drawn { .. } => "drawn",
            Form::Sinusoids { .. } => "sinusoids",
            Form::Cosines(_) => "cosines",
        }
    }

    /// The settings of drawn cosines, if the function is made of them.
    pub fn cosines(&self) -> Option<&CosineSettings> {
        match self {
            Form::Cosines(cosines) => Some(cosines),
            Form::Automatic | Form::Kernel | Form::Drawn { .. } | Form::Sinusoids { .. } => None,
        }
    }
}

impl From<CosineSettings> for Form {
    fn from(cosines: CosineSettings) -> Form {
        Form::Cosines(cosines)
    }
}

/// How many cosines to draw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureCount {
    /// Exactly this many.
    Exactly(usize),
    /// This many per row of data (a row repeated by its weight counts as often).
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

/// The scale r of each input inside the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputScales {
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

/// What a direct link is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkScale {
    /// 1/√D: all links together vary as much as all cosines together.
    Shared,
    /// One: each link varies as much as all cosines together.
    Unit,
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
    /// When its expected weight is smaller than this in every task, in units of the standard deviation of a target.
    BelowWeight(f64),
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
    /// That of the authors' public implementation.
    pub const AUTHORS: GammaPrior = GammaPrior { shape: 1e-14, rate: 1e-14 };
}

/// Settings of drawn cosines: what is drawn, the priors, and how bandwidth and input scales are learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CosineSettings {
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
    /// Scale of these links.
    pub link_scale: LinkScale,
    /// Prior precision of the weights.
    pub precision: Precision,
    /// Kernel bandwidth.
    pub bandwidth: Bandwidth,
    /// Scale of each input inside the kernel.
    pub input_scales: InputScales,
    /// Noise precision.
    pub noise: Noise,
    /// Scaling of the targets.
    pub target_scale: TargetScale,
    /// Prior of each weight precision.
    pub weight_prior: GammaPrior,
    /// Prior of each noise precision.
    pub noise_prior: GammaPrior,
    /// Weight precision ⟨α⟩ before the first sweep, in units of one over the variance of a target.
    pub weight_start: f64,
    /// Noise precision ⟨τ⟩ before the first sweep, in the same units.
    pub noise_start: f64,
    /// When features are dropped.
    pub pruning: Pruning,
    /// Number of the sweep after which they are dropped for the first time.
    pub pruning_from: usize,
    /// Step size of Adam on ln γ and ln r.
    pub learning_rate: f64,
    /// Independent draws; the one with the best bound is kept.
    pub restarts: usize,
    /// A restart has converged when the bound changes by less than this share.
    pub tolerance: f64,
}

/// Each keeps a whole fit until the best is known.
const MOST_RESTARTS: usize = 1000;

impl CosineSettings {
    /// A reading of the paper: RBF cosines with random offsets, one noise precision, free precisions with vague priors,
    /// pruning, γ by Adam on the bound. What the text leaves open (start, pruning, scale of the targets, step size, when to
    /// stop) is chosen by us; `docs/paper.md` lists every choice with its reason. Direct links are off: the paper does not
    /// mention them, but its published numbers need them (set `links` for those).
    pub const PAPER: CosineSettings = CosineSettings {
        features: FeatureCount::PerRow(2.0),
        spectrum: Spectrum::Rbf,
        offsets: Offsets::Random,
        directions: Directions::Independent,
        links: false,
        link_scale: LinkScale::Shared,
        precision: Precision::Free,
        bandwidth: Bandwidth::Learned { start: None },
        input_scales: InputScales::Uniform,
        noise: Noise::Shared,
        target_scale: TargetScale::Standardised,
        weight_prior: GammaPrior::VAGUE,
        noise_prior: GammaPrior::VAGUE,
        weight_start: 1.0,
        noise_start: 10.0,
        pruning: Pruning::BelowEqualShare(0.7),
        pruning_from: 1,
        learning_rate: 0.1,
        restarts: 1,
        tolerance: 1e-5,
    };

    /// The same with the values of the authors' public implementation, which the paper does not state. Whatever these do
    /// not decide is as in [`PAPER`](Self::PAPER).
    pub const AUTHORS: CosineSettings = CosineSettings {
        features: FeatureCount::PerRow(1.5),
        links: true,
        link_scale: LinkScale::Unit,
        weight_prior: GammaPrior::AUTHORS,
        noise_prior: GammaPrior::AUTHORS,
        weight_start: 10.0,
        noise_start: 1.0,
        pruning: Pruning::BelowWeight(0.1),
        ..CosineSettings::PAPER
    };

    /// The kernel view by drawn cosines: orthogonal cosine–sine pairs and direct links with one precision each, scales of
    /// the inputs learned, noise per task.
    pub const DEFAULT: CosineSettings = CosineSettings {
        offsets: Offsets::Paired,
        directions: Directions::Orthogonal,
        links: true,
        precision: Precision::Tied,
        input_scales: InputScales::Learned,
        noise: Noise::PerTask,
        pruning: Pruning::Never,
        ..CosineSettings::PAPER
    };

    /// Number of cosines for data that count as this many rows.
    pub(crate) fn feature_count(&self, rows: f64) -> usize {
        match self.features {
            FeatureCount::Exactly(count) => count,
            FeatureCount::PerRow(per_row) => (per_row * rows).ceil().clamp(1.0, 1e6) as usize,
        }
    }

    fn validate(&self) -> Result<()> {
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
                "orthogonal directions need an isotropic spectrum; laplace-l1 is a product over inputs: use \
                 directions independent"
                    .into(),
            );
        }
        match self.bandwidth {
            Bandwidth::Fixed(value) | Bandwidth::Learned { start: Some(value) } => positive("bandwidth", value)?,
            Bandwidth::Learned { start: None } => {}
        }
        if let InputScales::Fixed(values) = &self.input_scales
            && let Some(bad) = values.iter().find(|v| **v < 0.0 || !v.is_finite())
        {
            return wrong("input-scales", format!("{bad} is negative or not finite"));
        }
        if self.pruning != Pruning::Never && self.precision == Precision::Tied {
            return wrong("pruning", "needs precision free; with tied precisions no feature can vanish".into());
        }
        if let Pruning::BelowEqualShare(limit) | Pruning::BelowWeight(limit) = self.pruning {
            positive("pruning", limit)?;
        }
        at_least_one("pruning-from", self.pruning_from)?;
        positive("weight-start", self.weight_start)?;
        positive("noise-start", self.noise_start)?;
        for (name, prior) in [("weight-prior", self.weight_prior), ("noise-prior", self.noise_prior)] {
            positive(name, prior.shape)?;
            positive(name, prior.rate)?;
        }
        positive("learning-rate", self.learning_rate)?;
        positive("tolerance", self.tolerance)?;
        if self.restarts > MOST_RESTARTS {
            let problem = format!("{} are too many; take at most {MOST_RESTARTS}", self.restarts);
            return Err(Error::Setting { name: "restarts", problem });
        }
        at_least_one("restarts", self.restarts)
    }
}

impl Settings {
    /// The kernel form, or features drawn from it if there are many rows.
    pub const DEFAULT: Settings = Settings {
        form: Form::Automatic,
        max_iterations: 200,
        seed: 0,
        transform: TargetTransforms::AUTO,
        device: Device::Auto,
    };

    /// The kernel form whatever the number of rows, of which it takes at most 20 000.
    pub const EXACT: Settings = Settings { form: Form::Kernel, ..Settings::DEFAULT };

    /// Features drawn from the learned kernel whatever the number of rows.
    pub const COSINES: Settings = Settings { form: Form::DRAWN, ..Settings::DEFAULT };

    /// The published model as we read it, [`CosineSettings::PAPER`].
    pub const PAPER: Settings = Settings {
        form: Form::Cosines(CosineSettings::PAPER),
        max_iterations: 500,
        transform: TargetTransforms::NONE,
        ..Settings::DEFAULT
    };

    /// The published model with the values of its authors' implementation, [`CosineSettings::AUTHORS`].
    pub const AUTHORS: Settings = Settings { form: Form::Cosines(CosineSettings::AUTHORS), ..Settings::PAPER };

    /// An error if a device is asked for that cannot be used: found out in milliseconds, before any data are read.
    pub fn expect_device(&self) -> Result<()> {
        self.device.expect()
    }

    /// The same with the form that is used for so many rows: the automatic one is drawn above [`EXACT_ROWS`], and where the
    /// exact kernel does not fit in the memory that is left.
    pub fn for_rows(&self, rows: usize) -> Settings {
        let form = match &self.form {
            Form::Automatic => automatic(rows, available()),
            form => form.clone(),
        };
        Settings { form, ..self.clone() }
    }

    /// How much of the usual effort learning drawn features may take.
    pub(crate) fn effort(&self) -> f64 {
        match self.form {
            Form::Drawn { effort, .. } => effort,
            _ => usual_effort(),
        }
    }

    /// Checks every value; the error names the setting.
    pub fn validate(&self) -> Result<()> {
        at_least_one("max-iterations", self.max_iterations)?;
        match &self.form {
            Form::Automatic | Form::Kernel => Ok(()),
            Form::Drawn { features: Some(0 | 1), .. } => wrong("features", "use at least 2".into()),
            Form::Drawn { effort, .. } if !(0.01..=1e4).contains(effort) => {
                wrong("effort", format!("{effort} is not from 0.01 to 10000"))
            }
            Form::Drawn { .. } => Ok(()),
            Form::Sinusoids { sparsity } if *sparsity > 0.0 && *sparsity < 1.0 => Ok(()),
            Form::Sinusoids { sparsity } => wrong("sparsity", format!("{sparsity} is not between 0 and 1")),
            Form::Cosines(cosines) => {
                let (usual, own) = self.transform.parts();
                if own.iter().map(|(_, choice)| *choice).chain([usual]).any(|choice| choice == TransformChoice::Asinh) {
                    return wrong("target-transform", "the published algorithm learns none; use none or log".into());
                }
                cosines.validate()
            }
        }
    }
}

/// The form for so many rows and so much memory.
fn automatic(rows: usize, available: Option<u64>) -> Form {
    // With fewer rows drawn features need as much, since their kernel is learned from these rows.
    let is_large = rows > LEARNING_ROWS;
    let fits = available.is_none_or(|bytes| exact_bytes(rows) <= bytes.saturating_sub(RESERVE) as f64);
    if rows > EXACT_ROWS || (is_large && !fits) { Form::DRAWN } else { Form::Kernel }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::DEFAULT
    }
}

fn wrong(name: &'static str, problem: String) -> Result<()> {
    Err(Error::Setting { name, problem })
}

fn positive(name: &'static str, value: f64) -> Result<()> {
    match value > 0.0 && value.is_finite() {
        true => Ok(()),
        false => wrong(name, format!("{} is not a positive finite number", number_text(value))),
    }
}

fn at_least_one(name: &'static str, value: usize) -> Result<()> {
    match value {
        0 => wrong(name, "must be at least 1".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_whose_kernel_does_not_fit_are_drawn() {
        // 3000 rows take 5·8·3000² bytes, which is 360 MB.
        let [little, enough] = [300, 500].map(|megabytes| Some(megabytes * 1_000_000));
        assert_eq!(automatic(3000, enough), Form::Kernel);
        assert_eq!(automatic(3000, little), Form::DRAWN);
        assert_eq!(automatic(3000, None), Form::Kernel);
        assert_eq!(automatic(3001, None), Form::DRAWN);
        // Too few for drawn features to need less.
        assert_eq!(automatic(1500, Some(0)), Form::Kernel);
        assert_eq!(Settings::EXACT.for_rows(20_000).form, Form::Kernel);
    }
}
