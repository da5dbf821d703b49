//! Values of settings as text, read and written in the same form.

use super::{Bandwidth, FeatureCount, GammaPrior, InputScales, Pruning, TargetTransforms, TransformChoice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

type Read<T> = std::result::Result<T, String>;

impl FromStr for FeatureCount {
    type Err = String;

    fn from_str(text: &str) -> Read<FeatureCount> {
        match text.strip_prefix("per-row:") {
            Some(count) => Ok(FeatureCount::PerRow(number(count)?)),
            None => text.parse().map(FeatureCount::Exactly).map_err(|_| "write a whole number, or per-row:2".into()),
        }
    }
}

impl Display for FeatureCount {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            FeatureCount::Exactly(count) => write!(f, "{count}"),
            FeatureCount::PerRow(count) => write!(f, "per-row:{count}"),
        }
    }
}

impl FromStr for Bandwidth {
    type Err = String;

    fn from_str(text: &str) -> Read<Bandwidth> {
        match text.split_once(':') {
            None if text == "learned" => Ok(Bandwidth::Learned { start: None }),
            Some(("learned", start)) => Ok(Bandwidth::Learned { start: Some(number(start)?) }),
            None => number(text).map(Bandwidth::Fixed).map_err(|_| "write learned, learned:0.1 or 0.1".into()),
            Some(_) => Err("write learned, learned:0.1 to start there, or 0.1 to hold it there".into()),
        }
    }
}

impl Display for Bandwidth {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Bandwidth::Fixed(value) => write!(f, "{value}"),
            Bandwidth::Learned { start: Some(value) } => write!(f, "learned:{value}"),
            Bandwidth::Learned { start: None } => write!(f, "learned"),
        }
    }
}

impl FromStr for InputScales {
    type Err = String;

    fn from_str(text: &str) -> Read<InputScales> {
        match text {
            "learned" => Ok(InputScales::Learned),
            "uniform" => Ok(InputScales::Uniform),
            values => match values.split(',').map(number).collect::<Read<_>>() {
                Ok(values) => Ok(InputScales::Fixed(values)),
                Err(_) => Err("write learned, uniform, or one number per input: 1,0.5,2".into()),
            },
        }
    }
}

impl Display for InputScales {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            InputScales::Uniform => write!(f, "uniform"),
            InputScales::Learned => write!(f, "learned"),
            InputScales::Fixed(values) => {
                write!(f, "{}", values.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl FromStr for Pruning {
    type Err = String;

    fn from_str(text: &str) -> Read<Pruning> {
        match text {
            "never" => Ok(Pruning::Never),
            limit => match limit.strip_prefix("weight:") {
                Some(weight) => number(weight).map(Pruning::BelowWeight),
                None => number(limit).map(Pruning::BelowEqualShare),
            }
            .map_err(|_| {
                "write never, a fraction of an equal share such as 0.7, or a weight such as weight:0.1".into()
            }),
        }
    }
}

impl Display for Pruning {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Pruning::Never => write!(f, "never"),
            Pruning::BelowEqualShare(share) => write!(f, "{share}"),
            Pruning::BelowWeight(weight) => write!(f, "weight:{weight}"),
        }
    }
}

impl FromStr for GammaPrior {
    type Err = String;

    fn from_str(text: &str) -> Read<GammaPrior> {
        let (shape, rate) = text.split_once(',').ok_or("write shape and rate, for example 1e-6,1e-6")?;
        Ok(GammaPrior { shape: number(shape)?, rate: number(rate)? })
    }
}

impl Display for GammaPrior {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:e},{:e}", self.shape, self.rate)
    }
}

impl FromStr for TargetTransforms {
    type Err = String;

    fn from_str(text: &str) -> Read<TargetTransforms> {
        let (mut usual, mut own) = (TransformChoice::Auto, Vec::new());
        for (place, part) in text.split(',').enumerate() {
            let what = part.rsplit_once('=').map_or(part, |(_, what)| what);
            let choice: TransformChoice = choice(what.trim()).map_err(|_| {
                format!("'{what}' is none of auto, none, log and asinh; write one, then others by name: auto,price=log")
            })?;
            match part.rsplit_once('=') {
                Some((name, _)) => own.push((name.trim().into(), choice)),
                None if place == 0 => usual = choice,
                None => return Err("write what holds for all targets first: none,price=log".into()),
            }
        }
        Ok(if own.is_empty() { TargetTransforms::All(usual) } else { TargetTransforms::ByName { usual, own } })
    }
}

impl Display for TargetTransforms {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (usual, own) = self.parts();
        write!(f, "{}", word(&usual))?;
        own.iter().try_for_each(|(name, choice)| write!(f, ",{name}={}", word(choice)))
    }
}

pub(super) fn number(text: &str) -> Read<f64> {
    text.trim().parse().map_err(|_| format!("'{text}' is not a number"))
}

pub(super) fn whole<T: FromStr>(text: &str) -> Read<T> {
    text.parse().map_err(|_| "write a whole number that is not negative".into())
}

/// A choice by its name; the error lists the names.
pub(super) fn choice<T: DeserializeOwned>(text: &str) -> Read<T> {
    serde_json::from_value(Value::String(text.into())).map_err(|problem| problem.to_string())
}

/// The name of a choice.
pub(super) fn word(choice: &impl Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|value| value.as_str().map(String::from)).unwrap_or_default()
}
