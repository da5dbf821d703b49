//! The library's settings as flags and as a file: preset first, then the file, then the flags.

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rffblr::fourier::{Directions, Offsets, Spectrum};
use rffblr::{Bandwidth, FeatureCount, Form, GammaPrior, Noise, Precision, Pruning, Relevance, Settings, TargetScale};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the settings start from.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum Preset {
    /// The kernel machine: exact, input scales learned, noise per target
    Default,
    /// The kernel view by drawn cosines, for many rows
    Cosines,
    /// The published model to the letter
    Paper,
}

/// One flag for each setting of the library.
#[derive(clap::Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingArguments {
    /// Settings to start from [default: default; cosines if a setting of drawn cosines is given]
    #[arg(long, value_enum)]
    preset: Option<Preset>,
    /// From 0, a kernel term for every row and the most accurate, towards 1: 0.75 keeps one sinusoid for four rows
    #[arg(long, value_name = "SHARE", value_parser = sparsity, conflicts_with = "form")]
    sparsity: Option<Form>,
    #[arg(long, value_name = "WHAT",
        help = help("form"))]
    form: Option<Form>,
    #[arg(long, value_name = "N", help = help("max-iterations"))]
    max_iterations: Option<usize>,
    #[arg(long, value_name = "N", help = help("seed"))]
    seed: Option<u64>,
    /// TOML file of the library's settings, for example max_iterations = 50; flags win over it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[arg(long, value_name = "N", help_heading = COSINES, help = help("features"))]
    features: Option<FeatureCount>,
    #[arg(long, value_name = "KERNEL", value_parser = one_of::<Spectrum>(&["rbf", "laplace-l2", "laplace-l1", "matern32", "matern52"]),
        help_heading = COSINES, help = help("spectrum"))]
    spectrum: Option<Spectrum>,
    #[arg(long, value_name = "HOW", value_parser = one_of::<Offsets>(&["random", "paired"]),
        help_heading = COSINES, help = help("offsets"))]
    offsets: Option<Offsets>,
    #[arg(long, value_name = "HOW", value_parser = one_of::<Directions>(&["independent", "orthogonal"]),
        help_heading = COSINES, help = help("directions"))]
    directions: Option<Directions>,
    #[arg(long, value_name = "BOOL", help_heading = COSINES, help = help("links"))]
    links: Option<bool>,
    #[arg(long, value_name = "HOW", value_parser = one_of::<Precision>(&["free", "tied"]),
        help_heading = COSINES, help = help("precision"))]
    precision: Option<Precision>,
    #[arg(long, value_name = "HOW",
        help_heading = COSINES, help = help("bandwidth"))]
    bandwidth: Option<Bandwidth>,
    #[arg(long, value_name = "HOW",
        help_heading = COSINES, help = help("relevance"))]
    relevance: Option<Relevance>,
    #[arg(long, value_name = "HOW", value_parser = one_of::<Noise>(&["shared", "per-task"]),
        help_heading = COSINES, help = help("noise"))]
    noise: Option<Noise>,
    #[arg(long, value_name = "HOW", value_parser = one_of::<TargetScale>(&["standardised", "raw"]),
        help_heading = COSINES, help = help("target-scale"))]
    target_scale: Option<TargetScale>,
    #[arg(long, value_name = "SHAPE,RATE", help_heading = COSINES, help = help("weight-prior"))]
    weight_prior: Option<GammaPrior>,
    #[arg(long, value_name = "SHAPE,RATE", help_heading = COSINES, help = help("noise-prior"))]
    noise_prior: Option<GammaPrior>,
    #[arg(long, value_name = "WHEN",
        help_heading = COSINES, help = help("pruning"))]
    pruning: Option<Pruning>,
    #[arg(long, value_name = "STEP", help_heading = COSINES, help = help("learning-rate"))]
    learning_rate: Option<f64>,
    #[arg(long, value_name = "N", help_heading = COSINES, help = help("restarts"))]
    restarts: Option<usize>,
    #[arg(long, value_name = "SHARE", help_heading = COSINES, help = help("tolerance"))]
    tolerance: Option<f64>,
}

const COSINES: &str = "Settings of drawn cosines";

impl SettingArguments {
    /// Preset, file and flags in one, checked.
    pub fn settings(&self) -> Result<Settings> {
        let mut settings = match self.preset {
            None if self.names_cosines() => Settings::COSINES,
            None | Some(Preset::Default) => Settings::DEFAULT,
            Some(Preset::Cosines) => Settings::COSINES,
            Some(Preset::Paper) => Settings::PAPER,
        };
        if let Some(path) = &self.config {
            let read = || format!("cannot read the settings in {}", path.display());
            let text = std::fs::read_to_string(path).with_context(read)?;
            settings = overlay(&settings, &text).with_context(read)?;
        }
        let flags = self;
        set(&mut settings.form, &flags.form);
        set(&mut settings.form, &flags.sparsity);
        set(&mut settings.features, &flags.features);
        set(&mut settings.spectrum, &flags.spectrum);
        set(&mut settings.offsets, &flags.offsets);
        set(&mut settings.directions, &flags.directions);
        set(&mut settings.links, &flags.links);
        set(&mut settings.precision, &flags.precision);
        set(&mut settings.bandwidth, &flags.bandwidth);
        set(&mut settings.relevance, &flags.relevance);
        set(&mut settings.noise, &flags.noise);
        set(&mut settings.targets, &flags.target_scale);
        set(&mut settings.weight_prior, &flags.weight_prior);
        set(&mut settings.noise_prior, &flags.noise_prior);
        set(&mut settings.pruning, &flags.pruning);
        set(&mut settings.learning_rate, &flags.learning_rate);
        set(&mut settings.restarts, &flags.restarts);
        set(&mut settings.max_iterations, &flags.max_iterations);
        set(&mut settings.tolerance, &flags.tolerance);
        set(&mut settings.seed, &flags.seed);
        settings.validate().map_err(|problem| match self.remedy(&settings) {
            Some(remedy) => anyhow!(remedy),
            None => problem.into(),
        })?;
        Ok(settings)
    }

    /// The file of settings, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// What to change on the command line, where the settings contradict each other in a field that nobody gave.
    fn remedy(&self, settings: &Settings) -> Option<String> {
        let preset =
            self.preset.filter(|preset| *preset != Preset::Default).and_then(|preset| preset.to_possible_value());
        let asked = if self.sparsity.is_some() { "--sparsity" } else { "--form" };
        if let Some(preset) = preset
            && settings.form != Form::Cosines
            && (self.sparsity.is_some() || self.form.is_some())
        {
            let preset = preset.get_name();
            return Some(format!(
                "--preset {preset} is made of drawn cosines, and {asked} asks for another form; leave out one of the two"
            ));
        }
        if settings.directions == Directions::Orthogonal && !settings.spectrum.is_isotropic() {
            let spectrum = settings.spelled("spectrum");
            return Some(format!(
                "--spectrum {spectrum} is a product over inputs, which orthogonal directions cannot give; add \
                 --directions independent"
            ));
        }
        None
    }
}

impl SettingArguments {
    /// Whether a flag was given that only drawn cosines have, and none that says otherwise.
    fn names_cosines(&self) -> bool {
        let flags = [
            self.features.is_some(),
            self.spectrum.is_some(),
            self.offsets.is_some(),
            self.directions.is_some(),
            self.links.is_some(),
            self.precision.is_some(),
            self.bandwidth.is_some(),
            self.relevance.is_some(),
            self.noise.is_some(),
            self.target_scale.is_some(),
            self.weight_prior.is_some(),
            self.noise_prior.is_some(),
            self.pruning.is_some(),
            self.learning_rate.is_some(),
            self.restarts.is_some(),
            self.tolerance.is_some(),
        ];
        self.form.is_none() && self.sparsity.is_none() && flags.contains(&true)
    }
}

fn set<T: Clone>(field: &mut T, flag: &Option<T>) {
    if let Some(value) = flag {
        *field = value.clone();
    }
}

/// The settings with those of a TOML text in their place.
fn overlay(settings: &Settings, text: &str) -> Result<Settings> {
    // On its own first: this error knows line and column.
    toml::from_str::<Settings>(text)?;
    let mut all = serde_json::to_value(settings)?;
    if let (Some(all), Value::Object(given)) = (all.as_object_mut(), toml::from_str(text)?) {
        all.extend(given);
    }
    Ok(serde_json::from_value(all)?)
}

/// The explanation of a flag, with its value in both presets.
fn help(name: &str) -> String {
    let explanation = Settings::NAMES.iter().find(|(flag, _)| *flag == name).map_or("", |(_, explanation)| explanation);
    let (default, paper) = (Settings::DEFAULT.spelled(name), Settings::PAPER.spelled(name));
    if default == paper {
        format!("{explanation} [default: {default}]")
    } else {
        format!("{explanation} [default: {default}; paper: {paper}]")
    }
}

fn one_of<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(Value::String(name)))
}

fn sparsity(text: &str) -> Result<Form, String> {
    Form::of_sparsity(text.trim().parse().map_err(|_| format!("'{text}' is not a number"))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        settings: SettingArguments,
    }

    /// Settings that differ from both presets in every field.
    fn unusual() -> Settings {
        Settings {
            form: Form::Cosines,
            features: FeatureCount::Exactly(77),
            spectrum: Spectrum::Matern52,
            offsets: Offsets::Random,
            directions: Directions::Orthogonal,
            links: true,
            precision: Precision::Free,
            bandwidth: Bandwidth::Learned { start: Some(0.25) },
            relevance: Relevance::Fixed(vec![1.0, 0.5]),
            noise: Noise::PerTask,
            targets: TargetScale::Raw,
            weight_prior: GammaPrior { shape: 0.5, rate: 2e-3 },
            noise_prior: GammaPrior { shape: 3.0, rate: 0.125 },
            pruning: Pruning::BelowEqualShare(0.75),
            learning_rate: 0.03125,
            restarts: 3,
            max_iterations: 41,
            tolerance: 2e-7,
            seed: 9,
        }
    }

    fn from_flags(settings: &Settings, preset: &str) -> Settings {
        let flags = Settings::NAMES.iter().flat_map(|(name, _)| [format!("--{name}"), settings.spelled(name)]);
        let line = ["rffblr".to_string(), format!("--preset={preset}")].into_iter().chain(flags);
        Flags::parse_from(line).settings.settings().unwrap()
    }

    #[test]
    fn flags_spelled_from_settings_give_those_settings() {
        for preset in ["default", "cosines", "paper"] {
            let sparse = Settings { form: Form::Sinusoids { per_row: 0.25 }, ..Settings::DEFAULT };
            for settings in [Settings::DEFAULT, Settings::COSINES, Settings::PAPER, sparse, unusual()] {
                assert_eq!(from_flags(&settings, preset), settings);
            }
        }
        for bandwidth in [Bandwidth::Fixed(0.5), Bandwidth::Learned { start: None }] {
            let settings = Settings { bandwidth, ..unusual() };
            assert_eq!(from_flags(&settings, "default"), settings);
        }
    }

    #[test]
    fn flags_say_what_the_function_is_made_of() {
        let settings = |flags: &[&str]| Flags::parse_from([&["rffblr"], flags].concat()).settings.settings();
        let form = |flags: &[&str]| settings(flags).unwrap().form;
        assert_eq!(form(&[]), Form::Kernel);
        assert_eq!(form(&["--sparsity=0"]), Form::Kernel);
        assert_eq!(form(&["--sparsity=0.75"]), Form::Sinusoids { per_row: 0.25 });
        assert_eq!(form(&["--features=30"]), Form::Cosines);
        assert_eq!(form(&["--preset=paper"]), Form::Cosines);
        // A setting that would do nothing is refused.
        let problem = settings(&["--preset=default", "--features=30"]).unwrap_err().to_string();
        assert!(problem.contains("features"), "{problem}");
        let problem = settings(&["--preset=paper", "--sparsity=0.5"]).unwrap_err().to_string();
        assert!(problem.contains("--preset paper") && problem.contains("--sparsity"), "{problem}");
        assert!(!problem.contains("directions"), "{problem}");
        let problem = settings(&["--preset=paper", "--form=kernel"]).unwrap_err().to_string();
        assert!(problem.contains("--preset paper") && problem.contains("--form"), "{problem}");
        let problem = settings(&["--spectrum=laplace-l1"]).unwrap_err().to_string();
        assert!(problem.contains("--directions independent"), "{problem}");
        assert!(settings(&["--spectrum=laplace-l1", "--directions=independent"]).is_ok());
    }

    #[test]
    fn a_file_changes_only_what_it_names() {
        let text = "features = { exactly = 5 }\nbandwidth = { learned = { start = 0.5 } }\nseed = 3";
        for preset in [Settings::COSINES, Settings::PAPER] {
            let expected = Settings {
                features: FeatureCount::Exactly(5),
                bandwidth: Bandwidth::Learned { start: Some(0.5) },
                seed: 3,
                ..preset.clone()
            };
            assert_eq!(overlay(&preset, text).unwrap(), expected);
        }
        let problem = overlay(&Settings::DEFAULT, "seed = 3\nsede = 4").unwrap_err().to_string();
        assert!(problem.contains("line 2") && problem.contains("sede"), "{problem}");
    }
}
