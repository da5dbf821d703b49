//! The one table of settings. Flags of the command line, files of settings, parameters in Python, what `inspect` prints
//! and the reference page are all made from it.

use super::text::{choice, number, whole, word};
use super::{CosineSettings, Form, Settings};
use crate::error::{Error, Result};
use crate::table::nearest;

/// Presets by name, the usual one first.
pub const PRESETS: [(&str, Settings, &str); 5] = [
    (
        "default",
        Settings::DEFAULT,
        "A Gaussian process with a learned kernel: exact up to 3000 rows, drawn cosines beyond",
    ),
    ("exact", Settings::EXACT, "The exact Gaussian process whatever the number of rows, up to 20 000"),
    ("cosines", Settings::COSINES, "Cosines drawn from the learned kernel whatever the number of rows"),
    ("paper", Settings::PAPER, "The published algorithm, as we read it"),
    ("authors", Settings::AUTHORS, "The published algorithm with the values of its authors' implementation"),
];

/// A setting by name: what front ends know of it.
pub struct Setting {
    /// In kebab-case; a front end may write underscores.
    pub name: &'static str,
    /// In a sentence.
    pub meaning: &'static str,
    /// Its values, if it is a choice between words; else what to write in their place, as a single entry in capitals.
    pub values: &'static [&'static str],
    /// Whether drawn cosines alone have it.
    pub of_cosines: bool,
    get: fn(&Settings) -> Option<String>,
    set: fn(&mut Settings, &str) -> std::result::Result<(), String>,
}

/// The one setting that is no property of a model.
const DEVICE: &str = "device";

/// What features drawn from the kernel alone have.
const EFFORT: &str = "effort";

/// Every setting; those of drawn cosines come last.
pub static SETTINGS: [Setting; 26] = [
    Setting {
        name: "sparsity",
        meaning: "From 0, a kernel term for every row and the most accurate, towards 1: 0.75 keeps one sinusoid for four rows",
        values: &["SHARE"],
        of_cosines: false,
        get: |settings| match settings.form {
            Form::Automatic | Form::Kernel => Some("0".into()),
            Form::Sinusoids { sparsity } => Some(sparsity.to_string()),
            Form::Drawn { .. } | Form::Cosines(_) => None,
        },
        set: |settings, text| {
            settings.form = match (&settings.form, number(text)?) {
                (Form::Cosines(_) | Form::Drawn { .. }, _) => {
                    return Err("is a setting of the exact kernel form; leave out the preset or this".into());
                }
                (form, 0.0) => form.clone(),
                (_, sparsity) if sparsity > 0.0 && sparsity < 1.0 => Form::Sinusoids { sparsity },
                _ => return Err("write a number from 0 up to, but not including, 1".into()),
            };
            Ok(())
        },
    },
    Setting {
        name: "max-iterations",
        meaning: "Most steps of the fit",
        values: &["N"],
        of_cosines: false,
        get: |settings| Some(settings.max_iterations.to_string()),
        set: |settings, text| put(&mut settings.max_iterations, whole(text)),
    },
    Setting {
        name: "seed",
        meaning: "Seed of all random draws",
        values: &["N"],
        of_cosines: false,
        get: |settings| Some(settings.seed.to_string()),
        set: |settings, text| put(&mut settings.seed, whole(text)),
    },
    Setting {
        name: "target-transform",
        meaning: "Transform of targets: auto (an asinh, learned, where it pays), none, log or asinh; of single ones by name: auto,price=log",
        values: &["HOW"],
        of_cosines: false,
        get: |settings| Some(settings.transform.to_string()),
        set: |settings, text| put(&mut settings.transform, text.parse()),
    },
    Setting {
        name: DEVICE,
        meaning: "What computes: auto (the GPU where there is one and it is measured to be faster), cpu, cuda, or cuda:1 for the second GPU",
        values: &["DEVICE"],
        of_cosines: false,
        get: |settings| Some(settings.device.to_string()),
        set: |settings, text| put(&mut settings.device, text.parse()),
    },
    Setting {
        name: "features",
        meaning: "Cosines to draw: 300, automatic (by the number of rows), or with preset paper per-row:2",
        values: &["N"],
        of_cosines: true,
        get: |settings| match &settings.form {
            Form::Drawn { features, .. } => Some(features.map_or("automatic".into(), |count| count.to_string())),
            form => Some(form.cosines()?.features.to_string()),
        },
        set: |settings, text| match &mut settings.form {
            Form::Drawn { features, .. } if text == "automatic" => put(features, Ok(None)),
            Form::Drawn { features, .. } => put(features, whole(text).map(Some)),
            _ => put(&mut cosines(settings)?.features, text.parse()),
        },
    },
    Setting {
        name: "spectrum",
        meaning: "Kernel that the cosines approximate",
        values: &["rbf", "laplace-l2", "laplace-l1", "matern32", "matern52"],
        of_cosines: true,
        get: |settings| Some(word(&settings.form.cosines()?.spectrum)),
        set: |settings, text| put(&mut cosines(settings)?.spectrum, choice(text)),
    },
    Setting {
        name: "offsets",
        meaning: "Offsets of the cosines",
        values: &["random", "paired"],
        of_cosines: true,
        get: |settings| Some(word(&settings.form.cosines()?.offsets)),
        set: |settings, text| put(&mut cosines(settings)?.offsets, choice(text)),
    },
    Setting {
        name: "directions",
        meaning: "Directions of the cosines",
        values: &["independent", "orthogonal"],
        of_cosines: true,
        get: |settings| Some(word(&settings.form.cosines()?.directions)),
        set: |settings, text| put(&mut cosines(settings)?.directions, choice(text)),
    },
    Setting {
        name: "links",
        meaning: "Whether the inputs themselves are features too",
        values: &["true", "false"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.links.to_string()),
        set: |settings, text| {
            put(&mut cosines(settings)?.links, text.parse().map_err(|_| "write true or false".to_string()))
        },
    },
    Setting {
        name: "link-scale",
        meaning: "Links divided by the square root of the number of inputs (shared) or not (unit)",
        values: &["shared", "unit"],
        of_cosines: true,
        get: |settings| Some(word(&settings.form.cosines()?.link_scale)),
        set: |settings, text| put(&mut cosines(settings)?.link_scale, choice(text)),
    },
    Setting {
        name: "precision",
        meaning: "Prior precision of the weights: one per feature (free) or one for all (tied)",
        values: &["free", "tied"],
        of_cosines: true,
        get: |settings| match &settings.form {
            Form::Drawn { precision, .. } => Some(word(precision)),
            form => Some(word(&form.cosines()?.precision)),
        },
        set: |settings, text| match &mut settings.form {
            Form::Drawn { precision, .. } => put(precision, choice(text)),
            _ => put(&mut cosines(settings)?.precision, choice(text)),
        },
    },
    Setting {
        name: EFFORT,
        meaning: "Work that learning from many rows may take: 1 is some minutes of two cores, 30 a minute of a fast GPU",
        values: &["TIMES"],
        of_cosines: true,
        get: |settings| match &settings.form {
            Form::Drawn { effort, .. } => Some(effort.to_string()),
            _ => None,
        },
        set: |settings, text| match &mut settings.form {
            Form::Drawn { effort, .. } => put(effort, number(text)),
            _ => Err("is a setting of preset cosines".into()),
        },
    },
    Setting {
        name: "bandwidth",
        meaning: "Kernel bandwidth: learned, learned:0.1 to start there, or 0.1 to hold it there",
        values: &["HOW"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.bandwidth.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.bandwidth, text.parse()),
    },
    Setting {
        name: "input-scales",
        meaning: "Scale of each input in the kernel: learned, uniform, or one number per input: 1,0.5",
        values: &["HOW"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.input_scales.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.input_scales, text.parse()),
    },
    Setting {
        name: "noise",
        meaning: "One noise level for all targets or one for each",
        values: &["shared", "per-task"],
        of_cosines: true,
        get: |settings| Some(word(&settings.form.cosines()?.noise)),
        set: |settings, text| put(&mut cosines(settings)?.noise, choice(text)),
    },
    Setting {
        name: "target-scale",
        meaning: "What the model sees of the targets",
        values: &["standardised", "raw"],
        of_cosines: true,
        get: |settings| Some(word(&settings.form.cosines()?.target_scale)),
        set: |settings, text| put(&mut cosines(settings)?.target_scale, choice(text)),
    },
    Setting {
        name: "weight-prior",
        meaning: "Gamma prior of each weight precision",
        values: &["SHAPE,RATE"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.weight_prior.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.weight_prior, text.parse()),
    },
    Setting {
        name: "noise-prior",
        meaning: "Gamma prior of each noise precision",
        values: &["SHAPE,RATE"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.noise_prior.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.noise_prior, text.parse()),
    },
    Setting {
        name: "weight-start",
        meaning: "Weight precision before the first sweep, in units of one over the variance of a target",
        values: &["PRECISION"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.weight_start.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.weight_start, number(text)),
    },
    Setting {
        name: "noise-start",
        meaning: "Noise precision before the first sweep, in the same units",
        values: &["PRECISION"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.noise_start.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.noise_start, number(text)),
    },
    Setting {
        name: "pruning",
        meaning: "When features are dropped: never; 0.7, below this fraction of an equal share of the variance; weight:0.1, below this weight in every target",
        values: &["WHEN"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.pruning.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.pruning, text.parse()),
    },
    Setting {
        name: "pruning-from",
        meaning: "Sweep after which features are dropped for the first time",
        values: &["SWEEP"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.pruning_from.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.pruning_from, whole(text)),
    },
    Setting {
        name: "learning-rate",
        meaning: "Step size for bandwidth and input scales",
        values: &["STEP"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.learning_rate.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.learning_rate, number(text)),
    },
    Setting {
        name: "restarts",
        meaning: "Independent draws, of which the best is kept",
        values: &["N"],
        of_cosines: true,
        get: |settings| Some(settings.form.cosines()?.restarts.to_string()),
        set: |settings, text| put(&mut cosines(settings)?.restarts, whole(text)),
    },
    Setting {
        name: "tolerance",
        meaning: "Relative change of the bound that counts as converged",
        values: &["SHARE"],
        of_cosines: true,
        get: |settings| Some(format!("{:e}", settings.form.cosines()?.tolerance)),
        set: |settings, text| put(&mut cosines(settings)?.tolerance, number(text)),
    },
];

fn put<T>(field: &mut T, value: std::result::Result<T, String>) -> std::result::Result<(), String> {
    *field = value?;
    Ok(())
}

fn cosines(settings: &mut Settings) -> std::result::Result<&mut CosineSettings, String> {
    match &mut settings.form {
        Form::Cosines(cosines) => Ok(cosines),
        Form::Automatic | Form::Kernel | Form::Drawn { .. } | Form::Sinusoids { .. } => {
            Err("is a setting of the published algorithm; use preset paper".into())
        }
    }
}

impl Setting {
    /// The setting with this name, written with hyphens or underscores.
    pub fn named(name: &str) -> Result<&'static Setting> {
        let wanted = name.replace('_', "-");
        SETTINGS.iter().find(|setting| setting.name == wanted).ok_or_else(|| {
            let names = || SETTINGS.iter().map(|setting| setting.name);
            Error::Unknown {
                kind: "setting",
                name: name.to_owned(),
                nearest: nearest(&wanted, names()),
                known: names().collect(),
            }
        })
    }

    /// Whether a text can be a value of this setting; the error says what to write.
    pub fn check(&self, text: &str) -> std::result::Result<(), String> {
        let presets: &[Settings] =
            if self.of_cosines { &[Settings::PAPER, Settings::COSINES] } else { &[Settings::DEFAULT] };
        let mut problem = Ok(());
        for preset in presets {
            problem = (self.set)(&mut preset.clone(), text.trim());
            if problem.is_ok() {
                break;
            }
        }
        problem
    }

    /// The value in these settings, as [`Settings::named`] reads it; none if their form has no such setting.
    pub fn value(&self, settings: &Settings) -> Option<String> {
        (self.get)(settings)
    }

    /// The value in each preset that has this setting.
    pub fn defaults(&self) -> String {
        let of = |(name, settings, _): &(&str, Settings, &str)| Some((name.to_string(), self.value(settings)?));
        let values: Vec<(String, String)> = PRESETS.iter().filter_map(of).collect();
        match values.as_slice() {
            [(_, first), rest @ ..] if rest.iter().all(|(_, value)| value == first) => format!("default: {first}"),
            values => values.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("; "),
        }
    }
}

impl Settings {
    /// The preset with this name.
    pub fn preset(name: &str) -> Result<Settings> {
        match PRESETS.into_iter().find(|(known, ..)| *known == name) {
            Some((_, settings, _)) => Ok(settings),
            None => {
                let known = PRESETS.map(|(name, ..)| name).join(", ");
                Err(Error::Setting { name: "preset", problem: format!("\"{name}\" is none of {known}") })
            }
        }
    }

    /// Settings by name and text over a preset, checked. Without a preset it is the default; cosines if the number of
    /// features is given; paper if a setting is that it alone has.
    pub fn named(preset: Option<&str>, given: &[(impl AsRef<str>, impl AsRef<str>)]) -> Result<Settings> {
        let mut found = Vec::with_capacity(given.len());
        for (name, text) in given {
            found.push((Setting::named(name.as_ref())?, text.as_ref().trim()));
        }
        let of_cosines: Vec<&str> =
            found.iter().filter(|(setting, _)| setting.of_cosines).map(|(setting, _)| setting.name).collect();
        let usual = match of_cosines.as_slice() {
            [] => "default",
            names if names.iter().all(|name| ["features", EFFORT].contains(name)) => "cosines",
            _ => "paper",
        };
        let mut settings = Settings::preset(preset.unwrap_or(usual))?;
        for (setting, text) in found {
            (setting.set)(&mut settings, text)
                .map_err(|problem| Error::Setting { name: setting.name, problem: format!("\"{text}\": {problem}") })?;
        }
        settings.validate()?;
        Ok(settings)
    }

    /// Names and values of the settings that this form has, but for the device: what a model is made by, not what computes it.
    pub fn spelled(&self) -> Vec<(&'static str, String)> {
        let of_model = SETTINGS.iter().filter(|setting| setting.name != DEVICE);
        of_model.filter_map(|setting| Some((setting.name, setting.value(self)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{
        Bandwidth, Device, InputScales, LinkScale, Precision, Pruning, TargetTransforms, TransformChoice,
    };

    const NOTHING: [(&str, &str); 0] = [];

    /// Every preset, and settings that differ from all presets in every value.
    fn examples() -> Vec<(&'static str, Settings)> {
        let own = TargetTransforms::ByName {
            usual: TransformChoice::Asinh,
            own: vec![("a = b".into(), TransformChoice::Log), ("c".into(), TransformChoice::None)],
        };
        let sparse = Settings {
            form: Form::Sinusoids { sparsity: 0.75 },
            max_iterations: 7,
            seed: 9,
            transform: own,
            ..Settings::DEFAULT
        };
        let unusual = CosineSettings {
            bandwidth: Bandwidth::Learned { start: Some(0.25) },
            input_scales: InputScales::Fixed(vec![1.0, 0.5]),
            link_scale: LinkScale::Unit,
            weight_start: 0.125,
            noise_start: 3.5,
            pruning: Pruning::BelowWeight(0.02),
            pruning_from: 12,
            tolerance: 2e-7,
            ..CosineSettings::PAPER
        };
        let held = CosineSettings { bandwidth: Bandwidth::Fixed(0.5), ..unusual.clone() };
        let counted = Settings {
            form: Form::Drawn { features: Some(700), precision: Precision::Free, effort: 2.5 },
            max_iterations: 7,
            seed: 9,
            transform: TargetTransforms::NONE,
            ..Settings::DEFAULT
        };
        let drawn = |cosines: CosineSettings| Settings {
            form: cosines.into(),
            max_iterations: 41,
            seed: 3,
            transform: TargetTransforms::NONE,
            ..Settings::DEFAULT
        };
        let presets = PRESETS.into_iter().map(|(name, settings, _)| (name, settings));
        presets
            .chain([("default", sparse), ("cosines", counted), ("paper", drawn(unusual)), ("paper", drawn(held))])
            .collect()
    }

    #[test]
    fn what_is_spelled_is_read_back() {
        for (preset, settings) in examples() {
            assert_eq!(Settings::named(Some(preset), &settings.spelled()).unwrap(), settings);
        }
    }

    #[test]
    fn every_field_is_in_the_table() {
        // Fields of the serialised settings, the form aside, against the names; the device is not written.
        let json = serde_json::to_value(Settings::PAPER).unwrap();
        let fields = |value: &serde_json::Value| -> Vec<String> {
            value.as_object().unwrap().keys().map(|name| name.replace('_', "-")).collect()
        };
        let mut expected = [
            fields(&json),
            fields(&json["form"]["cosines"]),
            vec!["sparsity".into(), "device".into(), "effort".into()],
        ]
        .concat();
        expected.retain(|name| name != "form");
        expected.sort();
        let mut names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        names.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn the_words_of_a_choice_are_those_that_are_read() {
        for setting in SETTINGS.iter().filter(|setting| setting.values.len() > 1) {
            let read = |text: &str| (setting.set)(&mut Settings::PAPER.clone(), text);
            setting.values.iter().for_each(|word| read(word).unwrap());
            let problem = read("?").unwrap_err();
            assert!(setting.values.iter().all(|word| problem.contains(word)), "{problem}");
            assert_eq!(problem.matches('`').count() % (2 * setting.values.len() + 2), 0, "{problem}");
        }
    }

    #[test]
    fn names_choose_the_preset() {
        let form = |given: &[(&str, &str)]| Settings::named(None, given).unwrap().form;
        assert_eq!(form(&NOTHING), Form::Automatic);
        assert_eq!(form(&[("sparsity", "0")]), Form::Automatic);
        assert_eq!(form(&[("sparsity", "0.75")]), Form::Sinusoids { sparsity: 0.75 });
        assert_eq!(
            form(&[("features", "30")]),
            Form::Drawn { features: Some(30), precision: Precision::Tied, effort: 1.0 }
        );
        assert!(form(&[("features", "30"), ("restarts", "2")]).cosines().is_some());
        assert_eq!(form(&[("max_iterations", "3")]), Form::Automatic);
        let refused = |preset, given: &[(&str, &str)]| Settings::named(preset, given).unwrap_err().to_string();
        assert!(refused(Some("default"), &[("features", "30")]).contains("features"));
        assert!(refused(Some("paper"), &[("sparsity", "0.5")]).contains("exact kernel"));
        assert!(refused(None, &[("features", "30"), ("sparsity", "0.5")]).contains("sparsity"));
        assert!(refused(None, &[("sparsity", "1")]).contains("sparsity"));
        assert!(refused(None, &[("spectrm", "rbf")]).contains("did you mean \"spectrum\""));
        assert!(refused(None, &[("spectrum", "sinc")]).contains("laplace-l1"));
        assert!(refused(None, &[("spectrum", "laplace-l1"), ("directions", "orthogonal")]).contains("independent"));
        assert!(refused(Some("papre"), &NOTHING).contains("paper"));
        assert!(refused(None, &[("pruning", "weight")]).contains("weight:0.1"));
        assert!(refused(None, &[("pruning", "weight:-1")]).contains("not a positive finite number"));
        assert!(refused(None, &[("weight-start", "0")]).contains("weight-start"));
        assert!(refused(None, &[("noise-start", "inf")]).contains("noise-start"));
        assert!(refused(None, &[("pruning-from", "0")]).contains("at least 1"));
        assert!(refused(None, &[("link-scale", "half")]).contains("unit"));
        assert!(refused(None, &[("target-transform", "sqrt")]).contains("asinh"));
        assert!(refused(None, &[("target-transform", "log,price=cube")]).contains("price=log"));
        assert!(refused(None, &[("target-transform", "price=log,none")]).contains("first"));
        assert!(refused(Some("paper"), &[("target-transform", "asinh")]).contains("none or log"));
    }

    #[test]
    fn the_device_is_read_and_in_no_file() {
        let device = |text: &str| Settings::named(None, &[("device", text)]).map(|settings| settings.device);
        for (text, meant) in
            [("auto", Device::Auto), ("cpu", Device::Cpu), ("cuda", Device::Cuda(0)), ("cuda:3", Device::Cuda(3))]
        {
            assert_eq!(device(text).unwrap(), meant);
            assert_eq!(device(&meant.to_string()).unwrap(), meant);
        }
        for wrong in ["gpu", "cuda:", "cuda:-1", "cuda:x", "CPU", ""] {
            assert!(device(wrong).unwrap_err().to_string().contains("cuda:1"), "{wrong}");
        }
        let elsewhere = Settings { device: Device::Cuda(1), ..Settings::PAPER };
        let json = serde_json::to_string(&elsewhere).unwrap();
        assert_eq!(json, serde_json::to_string(&Settings::PAPER).unwrap());
        assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), Settings::PAPER);
        assert_eq!(elsewhere.spelled(), Settings::PAPER.spelled());
    }
}
