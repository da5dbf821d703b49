//! The library's table of settings as flags and as a file: preset first, then the file, then the flags.

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use rffblr::internals::read_text_within;
use rffblr::{PRESETS, SETTINGS, Settings};
use rffblr_cli::settings_file::settings_of;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What was given of the settings.
pub struct SettingArguments {
    preset: Option<String>,
    config: Option<PathBuf>,
    /// Names and texts.
    flags: Vec<(String, String)>,
}

/// A file of settings is not larger.
const MOST_BYTES: u64 = 1 << 20;

const HEADING: &str = "Settings";
const COSINES: &str = "Settings of drawn cosines";

/// One flag for each setting of the table.
impl Args for SettingArguments {
    fn augment_args(command: Command) -> Command {
        let preset = Arg::new("preset")
            .long("preset")
            .help_heading(HEADING)
            .value_parser(PossibleValuesParser::new(PRESETS.map(|(name, ..)| name)))
            .help("Settings to start from [default: default; cosines if a setting of drawn cosines is given]");
        let config = Arg::new("config")
            .long("config")
            .help_heading(HEADING)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("TOML file of settings, for example max_iterations = 50; flags win over it");
        let flags = SETTINGS.iter().map(|setting| {
            let flag = Arg::new(setting.name)
                .long(setting.name)
                .help_heading(if setting.of_cosines { COSINES } else { HEADING })
                .help(format!("{} [{}]", setting.meaning, setting.defaults()));
            let flag = if setting.name == "target-transform" { flag.visible_alias("transform") } else { flag };
            match setting.values {
                [placeholder] => flag
                    .value_name(*placeholder)
                    .value_parser(|text: &str| setting.check(text).map(|()| text.to_string())),
                words => flag.value_name("HOW").value_parser(PossibleValuesParser::new(words)),
            }
        });
        command.arg(preset).args(flags).arg(config)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &'static str| Some((name.into(), matches.get_one::<String>(name)?.clone()));
        Ok(SettingArguments {
            preset: matches.get_one("preset").cloned(),
            config: matches.get_one("config").cloned(),
            flags: SETTINGS.iter().filter_map(|setting| given(setting.name)).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = SettingArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

impl SettingArguments {
    /// Preset, file and flags in one, checked.
    pub fn settings(&self) -> Result<Settings> {
        let mut given = Vec::new();
        let mut preset = self.preset.clone();
        if let Some(path) = &self.config {
            let read = || format!("cannot use the settings in {}", path.display());
            let text = File::open(path).and_then(|file| read_text_within(file, MOST_BYTES)).with_context(read)?;
            let mut file = settings_of(&text).with_context(read)?;
            preset = preset.or(file.remove("preset"));
            file.retain(|name, _| !self.flags.iter().any(|(flag, _)| flag == name));
            given.extend(file);
        }
        given.extend(self.flags.iter().cloned());
        let settings = Settings::named(preset.as_deref(), &given)?;
        settings.expect_device()?;
        Ok(settings)
    }

    /// Whether any was given, the seed aside.
    pub fn is_given(&self) -> bool {
        self.preset.is_some() || self.config.is_some() || self.flags.iter().any(|(name, _)| name != "seed")
    }

    /// The file of settings, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use rffblr::{
        Bandwidth, CosineSettings, FeatureCount, Form, GammaPrior, InputScales, TargetTransforms, TransformChoice,
    };

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        settings: SettingArguments,
    }

    fn parsed(flags: &[String]) -> Result<Settings> {
        Flags::parse_from(["rffblr".to_string()].iter().chain(flags)).settings.settings()
    }

    /// A flag and a line of a file spell every value in the same way.
    #[test]
    fn flags_and_files_give_the_settings_they_were_spelled_from() {
        let own = TargetTransforms::ByName {
            usual: TransformChoice::None,
            own: vec![("price".into(), TransformChoice::Log)],
        };
        let sparse = Settings {
            form: Form::Sinusoids { sparsity: 0.75 },
            max_iterations: 3,
            seed: 9,
            transform: own,
            ..Settings::DEFAULT
        };
        let unusual = CosineSettings {
            features: FeatureCount::Exactly(77),
            bandwidth: Bandwidth::Learned { start: Some(0.25) },
            input_scales: InputScales::Fixed(vec![1.0, 0.5]),
            weight_prior: GammaPrior { shape: 0.5, rate: 2e-3 },
            learning_rate: 0.03125,
            restarts: 3,
            ..CosineSettings::PAPER
        };
        let unusual = Settings { form: unusual.into(), max_iterations: 41, seed: 2, ..Settings::PAPER };
        let presets = PRESETS.map(|(name, settings, _)| (name, settings));
        for (preset, settings) in presets.into_iter().chain([("default", sparse), ("paper", unusual)]) {
            let flags = settings.spelled().into_iter().map(|(name, value)| format!("--{name}={value}"));
            let flags: Vec<String> = [format!("--preset={preset}")].into_iter().chain(flags).collect();
            assert_eq!(parsed(&flags).unwrap(), settings);
            let line = |(name, value): (&str, String)| format!("{} = \"{value}\"\n", name.replace('-', "_"));
            let text: String = settings.spelled().into_iter().map(line).collect();
            let read: Vec<(String, String)> = settings_of(&text).unwrap().into_iter().collect();
            assert_eq!(Settings::named(Some(preset), &read).unwrap(), settings);
        }
    }

    #[test]
    fn a_file_may_have_numbers_lists_and_a_preset() {
        let text = "preset = \"paper\"\nfeatures = 5\nlinks = true\ninput_scales = [1, 0.5]\nbandwidth = 0.5\nseed = 3";
        let mut read = settings_of(text).unwrap();
        let preset = read.remove("preset");
        let expected = CosineSettings {
            features: FeatureCount::Exactly(5),
            links: true,
            input_scales: InputScales::Fixed(vec![1.0, 0.5]),
            bandwidth: Bandwidth::Fixed(0.5),
            ..CosineSettings::PAPER
        };
        let given: Vec<(String, String)> = read.into_iter().collect();
        let found = Settings::named(preset.as_deref(), &given).unwrap();
        assert_eq!(found, Settings { form: expected.into(), seed: 3, ..Settings::PAPER });
        let problem = |text| format!("{:#}", settings_of(text).unwrap_err());
        assert!(problem("seed = 3\nsede = 4").contains("line 2"), "{}", problem("seed = 3\nsede = 4"));
        assert!(problem("seed = 3\nsede = 4").contains("seed"));
        assert!(problem("seed = { exactly = 4 }").contains("line 1"));
    }
}
