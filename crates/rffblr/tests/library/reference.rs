//! `docs/settings.md` and the forms of the Python package are made from the library's table of settings; `UPDATE=1 cargo
//! test -p rffblr reference` writes them.

use rffblr::{Form, PRESETS, SETTINGS, Setting, Settings};

fn page() -> String {
    let mut page = String::from(
        "# Settings\n\nMade from the table in `crates/rffblr/src/settings/table.rs`, which also makes the flags of `rffblr fit` \
         (`--max-iterations 50`),\nthe lines of a `--config` file (`max_iterations = 50`) and the parameters of \
         `RFFBLRRegressor` (`max_iterations=50`) and of its forms (`form=Cosines(links=True)`).\n\n| preset | what |\n|---|---|\n",
    );
    for (name, _, meaning) in PRESETS {
        page += &format!("| `{name}` | {meaning} |\n");
    }
    page += "\nOn the command line, without a preset, `features` alone chooses the preset `cosines`, another setting of cosines the preset \
             `paper`; with\nthe preset `default` or `exact` it is refused.\n";
    for (title, of_cosines) in [
        ("Every form", false),
        ("Cosines (all in presets `paper` and `authors`, `features` and `precision` also in `cosines`)", true),
    ] {
        page += &format!("\n## {title}\n\n| setting | values | meaning | in the presets |\n|---|---|---|---|\n");
        for setting in SETTINGS.iter().filter(|setting| setting.of_cosines == of_cosines) {
            let values = setting.values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
            page += &format!("| `{}` | {values} | {} | {} |\n", setting.name, setting.meaning, setting.defaults());
        }
    }
    page
}

/// A form as a class of Python: its name, what it is, the presets whose settings it has, and how it is used.
const FORMS: [(&str, &str, &[&str], &str); 4] = [
    ("Exact", "The exact Gaussian process whatever the number of rows, up to 20 000.", &["exact"], "Exact()"),
    ("Drawn", "Cosines drawn from the learned kernel, for any number of rows.", &["cosines"], "Drawn(features=64)"),
    ("Sinusoids", "A formula of few sinusoids, fitted to the posterior mean.", &["default"], "Sinusoids(sparsity=0.9)"),
    (
        "Cosines",
        "Cosines drawn at random, weighted and dropped as published.",
        &["paper", "authors"],
        "Cosines(links=True)",
    ),
];

/// Settings of every form are parameters of the estimator.
fn belongs(setting: &Setting, form: &str, preset: &Settings) -> bool {
    match setting.name {
        "sparsity" => form == "Sinusoids",
        _ => setting.of_cosines && setting.value(preset).is_some(),
    }
}

/// The type of a setting in Python, and in words.
fn types(setting: &Setting, drawn: bool) -> (String, String) {
    let (exact, words) = match (setting.name, setting.values) {
        (_, ["true", "false"]) => ("bool", "bool"),
        ("features", _) if drawn => ("int | Literal[\"automatic\"]", "int or \"automatic\""),
        ("features", _) => ("int | str", "int or str"),
        ("bandwidth" | "pruning", _) => ("float | str", "float or str"),
        ("input-scales", _) => ("Sequence[float] | NDArray[np.float64] | str", "sequence of float or str"),
        (_, ["SHAPE,RATE"]) => ("Sequence[float] | NDArray[np.float64] | str", "(float, float) or str"),
        (_, ["N" | "SWEEP"]) => ("int", "int"),
        (_, [_]) => ("float", "float"),
        (_, values) => {
            let values = values.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(", ");
            return (format!("Literal[{values}]"), format!("{{{values}}}"));
        }
    };
    (exact.into(), words.into())
}

/// The module of the forms.
fn module() -> String {
    let presets = PRESETS.map(|(name, ..)| format!("\"{name}\"")).join(", ");
    let mut out = format!(
        "\"\"\"Forms of the function. Made from the library's table of settings by `UPDATE=1 cargo test -p rffblr reference`.\"\"\"\n\n\
         from collections.abc import Sequence\nfrom typing import Literal\n\nimport numpy as np\nfrom numpy.typing import NDArray\n\n\
         from ._settings import Form\n\nPreset = Literal[{presets}]\n"
    );
    for (class, meaning, presets, example) in FORMS {
        let usual = Settings::preset(presets[0]).unwrap();
        let own: Vec<&Setting> = SETTINGS.iter().filter(|setting| belongs(setting, class, &usual)).collect();
        let drawn = matches!(usual.form, Form::Drawn { .. });
        out += &format!("\n\nclass {class}(Form):\n    \"\"\"{meaning}\n\n");
        if !own.is_empty() {
            out += "    Parameters\n    ----------\n";
        }
        for setting in &own {
            let default = match setting.name {
                "sparsity" => "0.75".into(),
                _ => {
                    let value = |name: &str| setting.value(&Settings::preset(name).unwrap()).unwrap();
                    let values: Vec<(&str, String)> = presets.iter().map(|name| (*name, value(name))).collect();
                    match values.iter().all(|(_, value)| *value == values[0].1) {
                        true => values[0].1.clone(),
                        false => {
                            values.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("; ")
                        }
                    }
                }
            };
            let (name, (_, words)) = (setting.name.replace('-', "_"), types(setting, drawn));
            out += &format!("    {name} : {words}, optional\n        {}. [{default}]\n", setting.meaning);
        }
        let gap = if own.is_empty() { "" } else { "\n" };
        out += &format!(
            "{gap}    Examples\n    --------\n    >>> from rffblr import {class}, RFFBLRRegressor\n    >>> RFFBLRRegressor(form={example})\n    \
             RFFBLRRegressor(form={example})\n    \"\"\"\n\n"
        );
        let names = presets.iter().map(|name| format!("\"{name}\",")).collect::<Vec<_>>().join(" ");
        out += &format!("    _presets = ({names})\n");
        if own.is_empty() {
            continue;
        }
        out += "\n    def __init__(\n        self,\n        *,\n";
        for setting in &own {
            let (name, (exact, _)) = (setting.name.replace('-', "_"), types(setting, drawn));
            out += &match setting.name {
                "sparsity" => format!("        {name}: {exact} = 0.75,\n"),
                _ => format!("        {name}: {exact} | None = None,\n"),
            };
        }
        out += "    ) -> None:\n";
        for setting in &own {
            let name = setting.name.replace('-', "_");
            out += &format!("        self.{name} = {name}\n");
        }
    }
    out
}

/// The file is this text; with `UPDATE` set it is written first.
fn is_made(path: &str, text: &str) {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{path}: UPDATE=1 writes it");
}

#[test]
fn the_reference_page_is_the_table() {
    is_made("docs/settings.md", &page());
}

#[test]
fn the_forms_of_python_are_the_table() {
    is_made("python/rffblr/_forms.py", &module());
}
