//! The two traits of the project: a [`Method`] learns from data, and the [`Predictor`] it gives predicts. Everything
//! that compares methods works on the [`registry`]; a new method is one entry there.

use crate::baselines::{
    Activation, Fnn, GaussianProcess, GorElm, HiVae, Learning, Mmr, Mtfl, Ridge, SbElm, TrainingMean,
};
use crate::select::Plan;
use rffblr::data::Dataset;
use rffblr::internals::file_value;
use rffblr::linalg::{Mat, MatRef};
use rffblr::metrics::HeldOut;
use rffblr::table::nearest;
use rffblr::{CosineSettings, Error, Form, Laws, Model, Result, Settings, TargetTransforms, fit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A way to learn from data.
pub trait Method: Sync {
    /// Short name in lower case, unique in the [`registry`].
    fn name(&self) -> &'static str;

    /// What it does, in one line.
    fn describe(&self) -> &'static str;

    /// Learns from data as the plan says. The same data and seed give the same bits for any number of threads. NaN
    /// targets are cells that were not observed; a method that cannot use them refuses them by an error.
    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>>;

    /// The predictor with this [`Predictor::state`], which predicts the same bits. As written here, for methods that learn a
    /// [`Model`].
    fn restore(&self, state: Value) -> Result<Box<dyn Predictor>> {
        Ok(Box::new(Model::from_json(&state.to_string())?))
    }
}

/// What a method has learned.
pub trait Predictor: Send + Sync {
    /// Predicts the targets of each row of inputs.
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast>;

    /// Everything that was learned, for [`Method::restore`].
    fn state(&self) -> Result<Value>;

    /// How many features the prediction is made of, for methods that choose among features.
    fn active_features(&self) -> Option<usize>;

    /// The hyper-parameters found by selection, by name; none for methods that do not select.
    fn chosen(&self) -> Vec<(&'static str, Chosen)> {
        Vec::new()
    }
}

/// The value of a hyper-parameter found by selection. Tables, reports and files show it as text, and read it from there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Chosen {
    /// 10ᵉ, shown as `1e-3`.
    TenTo(i32),
    /// 2ᵉ, shown as `2^-3`.
    TwoTo(i32),
    /// 2ᵉ/D with the number D of inputs, shown as `2^-3/D`.
    TwoToPerInput(i32),
    /// Another number, or a word.
    Text(String),
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Chosen::TenTo(exponent) => write!(f, "1e{exponent}"),
            Chosen::TwoTo(exponent) => write!(f, "2^{exponent}"),
            Chosen::TwoToPerInput(exponent) => write!(f, "2^{exponent}/D"),
            Chosen::Text(text) => f.write_str(text),
        }
    }
}

impl From<Chosen> for String {
    fn from(chosen: Chosen) -> String {
        chosen.to_string()
    }
}

impl From<String> for Chosen {
    fn from(text: String) -> Chosen {
        let ten = text.strip_prefix("1e").and_then(|rest| rest.parse().ok());
        let two = text.strip_prefix("2^").and_then(|rest| rest.parse().ok());
        let per_input = text.strip_prefix("2^").and_then(|rest| rest.strip_suffix("/D")?.parse().ok());
        let power = ten.map(Chosen::TenTo).or(two.map(Chosen::TwoTo)).or(per_input.map(Chosen::TwoToPerInput));
        power.unwrap_or(Chosen::Text(text))
    }
}

/// Predicted targets (N×C), on their original scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Point prediction: the expected target, unless the method says otherwise.
    pub mean: Mat<f64>,
    /// Standard deviation of a new observation around it, noise included; `None` for methods without uncertainty.
    pub std: Option<Mat<f64>>,
    /// The distributions, if they are not normal with this mean and standard deviation.
    pub laws: Option<Laws>,
}

impl Forecast {
    /// With what was observed, to be scored.
    pub fn held_out(self, truth: Mat<f64>) -> Result<HeldOut> {
        let own = self.laws.map(|laws| laws.judged(truth.as_ref())).transpose()?;
        Ok(HeldOut { own, ..HeldOut::new(truth, self.mean, self.std) })
    }
}

/// RFF-BLR with given settings; the seed of a fit takes the place of theirs.
#[derive(Clone, Debug)]
pub struct RffBlr {
    /// Short name.
    pub name: &'static str,
    /// What sets it apart, in one line.
    pub describe: &'static str,
    /// Settings of every fit.
    pub settings: Settings,
}

impl Method for RffBlr {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> &'static str {
        self.describe
    }

    fn fit(&self, data: &Dataset, plan: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        Ok(Box::new(fit(data, &Settings { seed: plan.seed, ..self.settings.clone() })?))
    }
}

impl Predictor for Model {
    fn predict(&self, inputs: MatRef<'_, f64>) -> Result<Forecast> {
        let prediction = Model::predict(self, inputs)?;
        let laws = prediction.laws().cloned();
        Ok(Forecast { mean: prediction.point(), std: Some(prediction.std), laws })
    }

    fn state(&self) -> Result<Value> {
        file_value(self)
    }

    fn active_features(&self) -> Option<usize> {
        Some(Model::active_features(self))
    }
}

static REGISTRY: &[&dyn Method] = &[
    &RffBlr {
        name: "rffblr",
        describe: "RFF-BLR with the default settings: a Gaussian process with a learned sum kernel and input scales",
        settings: Settings::DEFAULT,
    },
    &RffBlr {
        name: "rffblr-untransformed",
        describe: "the same with every target as it is, whatever its distribution",
        settings: Settings { transform: TargetTransforms::NONE, ..Settings::DEFAULT },
    },
    &RffBlr {
        name: "rffblr-sparse",
        describe: "its posterior mean as sinusoids, at most one for every four rows",
        settings: Settings { form: Form::Sinusoids { sparsity: 0.75 }, ..Settings::DEFAULT },
    },
    &RffBlr {
        name: "rffblr-cosines",
        describe: "RFF-BLR with cosines drawn from the learned kernel: an approximate Gaussian process for any number of rows",
        settings: Settings::COSINES,
    },
    &RffBlr {
        name: "rffblr-paper",
        describe: "RFF-BLR as we read the paper: sparse, one bandwidth, one noise level",
        settings: Settings::PAPER,
    },
    &RffBlr {
        name: "rffblr-paper-links",
        describe: "the same with the inputs themselves among the features, as its published numbers need",
        settings: Settings {
            form: Form::Cosines(CosineSettings { links: true, ..CosineSettings::PAPER }),
            ..Settings::PAPER
        },
    },
    &RffBlr {
        name: "rffblr-authors",
        describe: "the same with start, pruning, priors and number of features of its authors' public implementation",
        settings: Settings::AUTHORS,
    },
    &Mmr,
    &GorElm::PAPER,
    &Mtfl,
    &SbElm::PAPER,
    &Fnn { activation: Activation::Relu },
    &Fnn { activation: Activation::Gaussian },
    &HiVae { learning: Learning::Transductive },
    &HiVae { learning: Learning::Inductive },
    &GaussianProcess,
    &Ridge,
    &TrainingMean,
];

/// Every method, RFF-BLR first.
pub fn registry() -> &'static [&'static dyn Method] {
    REGISTRY
}

/// The method with this name; an unknown name is an error that lists the known ones.
pub fn by_name(name: &str) -> Result<&'static dyn Method> {
    let names = || registry().iter().map(|method| method.name());
    registry().iter().copied().find(|method| method.name() == name).ok_or_else(|| Error::Unknown {
        kind: "method",
        name: name.to_owned(),
        nearest: nearest(name, names()),
        known: names().collect(),
    })
}
