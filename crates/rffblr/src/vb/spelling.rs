//! Settings as text. Each has one name, one explanation and one spelling, which the command line, its help, `inspect`
//! and the Python package share.

use super::{Bandwidth, FeatureCount, Form, GammaPrior, Pruning, Relevance, Settings};
use crate::error::{Error, Result};
use crate::table::nearest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::str::FromStr;

/// Names of the presets, the usual one first.
pub const PRESETS: [&str; 3] = ["default", "cosines", "paper"];

impl Settings {
    /// Every setting by name, with what it means; those of drawn cosines come last.
    pub const NAMES: [(&'static str, &'static str); 19] = [
        ("form", "What the function is made of: kernel, sinusoids:PER_ROW or cosines"),
        ("max-iterations", "Most steps of the fit"),
        ("seed", "Seed of all random draws"),
        ("features", "Cosines to draw: 300, or per-row:2"),
        ("spectrum", "Kernel that the cosines approximate"),
        ("offsets", "Offsets of the cosines"),
        ("directions", "Directions of the cosines"),
        ("links", "Whether the inputs themselves are features too"),
        ("precision", "Prior precision of the weights: one per feature or one for all"),
        ("bandwidth", "Kernel bandwidth: learned, learned:START or fixed:VALUE"),
        ("relevance", "Scale of each input in the kernel: learned, uniform or fixed:A,B,…"),
        ("noise", "One noise level for all targets or one for each"),
        ("target-scale", "What the model sees of the targets"),
        ("weight-prior", "Gamma prior of each weight precision"),
        ("noise-prior", "Gamma prior of each noise precision"),
        ("pruning", "When features are dropped: never, or below-equal-share:FRACTION"),
        ("learning-rate", "Step size for bandwidth and input scales"),
        ("restarts", "Independent draws, of which the best is kept"),
        ("tolerance", "Change of the bound that counts as none"),
    ];

    /// The preset with this name.
    pub fn preset(name: &str) -> Result<Settings> {
        match name {
            "default" => Ok(Settings::DEFAULT),
            "cosines" => Ok(Settings::COSINES),
            "paper" => Ok(Settings::PAPER),
            _ => {
                Err(Error::Setting { name: "preset", problem: format!("\"{name}\" is none of {}", PRESETS.join(", ")) })
            }
        }
    }

    /// Settings by name and text over a preset, checked. Without a preset it is the default, or cosines if a setting of
    /// drawn cosines is given and none that says what the function is made of. `sparsity` is a name here too: 0 is the
    /// kernel machine, 0.75 keeps one sinusoid for four rows.
    pub fn named(preset: Option<&str>, given: &[(&str, &str)]) -> Result<Settings> {
        let has = |names: &[&str]| given.iter().any(|(name, _)| names.contains(name));
        let drawn = given.iter().any(|(name, _)| Settings::is_of_cosines(name)) && !has(&["form", "sparsity"]);
        let mut settings = Settings::preset(preset.unwrap_or(if drawn { "cosines" } else { "default" }))?;
        if has(&["form"]) && has(&["sparsity"]) {
            return Err(Error::Setting {
                name: "sparsity",
                problem: "says the same as `form`; give one of them".into(),
            });
        }
        for (name, text) in given {
            settings.set(name, text)?;
        }
        settings.validate()?;
        Ok(settings)
    }

    /// Whether a setting has a part in drawn cosines alone.
    pub fn is_of_cosines(name: &str) -> bool {
        Settings::NAMES[3..].iter().any(|(known, _)| *known == name)
    }

    /// Changes one setting by its name (or `sparsity`) to what a text says.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let names = || Settings::NAMES.iter().map(|(known, _)| *known).chain(["sparsity"]);
        let Some(known) = names().find(|known| *known == name) else {
            let near = nearest(name, names()).map(|near| format!(" (did you mean \"{near}\"?)")).unwrap_or_default();
            let known = names().collect::<Vec<_>>().join(", ");
            let problem = format!("no setting is called \"{name}\"{near}; the settings are {known}");
            return Err(Error::Setting { name: "settings", problem });
        };
        self.assign(known, text.trim())
            .map_err(|problem| Error::Setting { name: known, problem: format!("\"{text}\": {problem}") })
    }

    fn assign(&mut self, name: &str, text: &str) -> std::result::Result<(), String> {
        match name {
            "form" => self.form = text.parse()?,
            "sparsity" => self.form = Form::of_sparsity(number(text)?)?,
            "features" => self.features = text.parse()?,
            "spectrum" => self.spectrum = choice(text)?,
            "offsets" => self.offsets = choice(text)?,
            "directions" => self.directions = choice(text)?,
            "links" => self.links = text.parse().map_err(|_| "write true or false")?,
            "precision" => self.precision = choice(text)?,
            "bandwidth" => self.bandwidth = text.parse()?,
            "relevance" => self.relevance = text.parse()?,
            "noise" => self.noise = choice(text)?,
            "target-scale" => self.targets = choice(text)?,
            "weight-prior" => self.weight_prior = text.parse()?,
            "noise-prior" => self.noise_prior = text.parse()?,
            "pruning" => self.pruning = text.parse()?,
            "learning-rate" => self.learning_rate = number(text)?,
            "restarts" => self.restarts = whole(text)?,
            "max-iterations" => self.max_iterations = whole(text)?,
            "tolerance" => self.tolerance = number(text)?,
            "seed" => self.seed = whole(text)?,
            _ => return Err("is no setting".into()),
        }
        Ok(())
    }

    /// The value of a setting as `set` would read it; empty for a name that is none.
    pub fn spelled(&self, name: &str) -> String {
        let with = |name: &str, value: f64| format!("{name}:{value}");
        let prior = |prior: GammaPrior| format!("{:e},{:e}", prior.shape, prior.rate);
        match name {
            "form" => match self.form {
                Form::Kernel => "kernel".into(),
                Form::Sinusoids { per_row } => with("sinusoids", per_row),
                Form::Cosines => "cosines".into(),
            },
            "features" => match self.features {
                FeatureCount::Exactly(count) => count.to_string(),
                FeatureCount::PerRow(count) => with("per-row", count),
            },
            "spectrum" => word(&self.spectrum),
            "offsets" => word(&self.offsets),
            "directions" => word(&self.directions),
            "links" => self.links.to_string(),
            "precision" => word(&self.precision),
            "bandwidth" => match self.bandwidth {
                Bandwidth::Fixed(value) => with("fixed", value),
                Bandwidth::Learned { start: Some(value) } => with("learned", value),
                Bandwidth::Learned { start: None } => "learned".into(),
            },
            "relevance" => match &self.relevance {
                Relevance::Uniform => "uniform".into(),
                Relevance::Learned => "learned".into(),
                Relevance::Fixed(values) => {
                    format!("fixed:{}", values.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
                }
            },
            "noise" => word(&self.noise),
            "target-scale" => word(&self.targets),
            "weight-prior" => prior(self.weight_prior),
            "noise-prior" => prior(self.noise_prior),
            "pruning" => match self.pruning {
                Pruning::Never => "never".into(),
                Pruning::BelowEqualShare(share) => with("below-equal-share", share),
            },
            "learning-rate" => self.learning_rate.to_string(),
            "restarts" => self.restarts.to_string(),
            "max-iterations" => self.max_iterations.to_string(),
            "tolerance" => format!("{:e}", self.tolerance),
            "seed" => self.seed.to_string(),
            _ => String::new(),
        }
    }
}

impl Form {
    /// From 0, a kernel term for every row and the most accurate, towards 1: 0.75 keeps one sinusoid for four rows.
    pub fn of_sparsity(share: f64) -> std::result::Result<Form, String> {
        match share {
            0.0 => Ok(Form::Kernel),
            share if share > 0.0 && share < 1.0 => Ok(Form::Sinusoids { per_row: 1.0 - share }),
            _ => Err("write a number from 0 up to, but not including, 1".into()),
        }
    }
}

impl FromStr for Form {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Form, String> {
        match text.split_once(':') {
            None if text == "kernel" => Ok(Form::Kernel),
            None if text == "cosines" => Ok(Form::Cosines),
            Some(("sinusoids", per_row)) => Ok(Form::Sinusoids { per_row: number(per_row)? }),
            _ => Err("write kernel, sinusoids:0.25 or cosines".into()),
        }
    }
}

impl FromStr for FeatureCount {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<FeatureCount, String> {
        match text.strip_prefix("per-row:") {
            Some(count) => Ok(FeatureCount::PerRow(number(count)?)),
            None => text.parse().map(FeatureCount::Exactly).map_err(|_| "write a whole number, or per-row:2".into()),
        }
    }
}

impl FromStr for Bandwidth {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Bandwidth, String> {
        match text.split_once(':') {
            None if text == "learned" => Ok(Bandwidth::Learned { start: None }),
            Some(("learned", start)) => Ok(Bandwidth::Learned { start: Some(number(start)?) }),
            Some(("fixed", value)) => Ok(Bandwidth::Fixed(number(value)?)),
            _ => Err("write learned, learned:0.1 or fixed:0.1".into()),
        }
    }
}

impl FromStr for Relevance {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Relevance, String> {
        match text.split_once(':') {
            None if text == "learned" => Ok(Relevance::Learned),
            None if text == "uniform" => Ok(Relevance::Uniform),
            Some(("fixed", values)) => {
                Ok(Relevance::Fixed(values.split(',').map(number).collect::<std::result::Result<_, _>>()?))
            }
            _ => Err("write learned, uniform or fixed:1,0.5,2 with one number per input".into()),
        }
    }
}

impl FromStr for Pruning {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Pruning, String> {
        match text.split_once(':') {
            None if text == "never" => Ok(Pruning::Never),
            Some(("below-equal-share", share)) => Ok(Pruning::BelowEqualShare(number(share)?)),
            _ => Err("write never, or below-equal-share:0.5".into()),
        }
    }
}

impl FromStr for GammaPrior {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<GammaPrior, String> {
        let (shape, rate) = text.split_once(',').ok_or("write shape and rate, for example 1e-6,1e-6")?;
        Ok(GammaPrior { shape: number(shape)?, rate: number(rate)? })
    }
}

fn number(text: &str) -> std::result::Result<f64, String> {
    text.trim().parse().map_err(|_| format!("'{text}' is not a number"))
}

fn whole<T: FromStr>(text: &str) -> std::result::Result<T, String> {
    text.parse().map_err(|_| "write a whole number that is not negative".into())
}

/// A choice by its kebab-case name; the error lists the names.
fn choice<T: DeserializeOwned>(text: &str) -> std::result::Result<T, String> {
    serde_json::from_value(Value::String(text.into())).map_err(|problem| problem.to_string())
}

/// The kebab-case name of a choice.
fn word(choice: &impl Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|value| value.as_str().map(String::from)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_can_be_spelled_and_read_back() {
        for preset in PRESETS {
            let settings = Settings::preset(preset).unwrap();
            let mut copy = Settings { max_iterations: 1, seed: 99, learning_rate: 7.0, ..Settings::PAPER };
            for (name, _) in Settings::NAMES {
                assert!(!settings.spelled(name).is_empty(), "{name}");
                copy.set(name, &settings.spelled(name)).unwrap();
            }
            assert_eq!(copy, settings);
        }
    }

    #[test]
    fn names_choose_the_preset() {
        let form = |given: &[(&str, &str)]| Settings::named(None, given).unwrap().form;
        assert_eq!(form(&[]), Form::Kernel);
        assert_eq!(form(&[("sparsity", "0.75")]), Form::Sinusoids { per_row: 0.25 });
        assert_eq!(form(&[("features", "30")]), Form::Cosines);
        let refused = |preset, given: &[(&str, &str)]| Settings::named(preset, given).unwrap_err().to_string();
        assert!(refused(Some("default"), &[("features", "30")]).contains("features"));
        assert!(refused(None, &[("form", "kernel"), ("sparsity", "0.5")]).contains("give one of them"));
        assert!(refused(None, &[("spectrm", "rbf")]).contains("did you mean \"spectrum\""));
        assert!(refused(None, &[("spectrum", "sinc")]).contains("laplace-l1"));
        assert!(refused(Some("papre"), &[]).contains("paper"));
    }
}
