//! `rffblr inspect` shows what a model is; `rffblr verify` proves that its file still computes what it stored.

use crate::checking;
use crate::output::{self, significant};
use anyhow::{Result, bail};
use rffblr::data::{Encoder, Encoding, MissingInputs, Weights};
use rffblr::internals::plural;
use rffblr::kernel::{Family, Kernel};
use rffblr::linalg::Mat;
use rffblr::table::date_text;
use rffblr::{Form, Model, Point, Setting, Sinusoid, Stop, Transform};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Cosines and inputs shown in the tables; the JSON has all.
const SHOWN: usize = 10;
/// Inputs named for one cosine.
const NAMED: usize = 3;

#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  rffblr inspect model.json
  rffblr inspect model.json --json > model-facts.json")]
pub struct Arguments {
    /// Model file written by fit
    model: PathBuf,
    /// Everything as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(before_help = "Example:\n  rffblr verify model.json")]
pub struct VerifyArguments {
    /// Model file written by fit
    model: PathBuf,
    /// The outcome as JSON; the exit code is the same
    #[arg(long)]
    json: bool,
}

pub fn verify(arguments: &VerifyArguments) -> Result<()> {
    let found = Model::verify(&arguments.model)?;
    let (file, cells) = (arguments.model.display(), found.cells);
    if arguments.json {
        let (holds, difference) = (found.holds(), found.largest_difference);
        let outcome =
            json!({ "model": file.to_string(), "holds": holds, "probes": cells, "largest_difference": difference });
        output::print_json(&format!("{outcome:#}\n"))?;
    }
    let difference = format!("largest difference {:.1e} predictive standard deviations", found.largest_difference);
    if !found.holds() {
        bail!(
            "{file} does not compute what it stored: {difference} in {cells} probe predictions; do not use it with this \
             program"
        );
    }
    if arguments.json {
        return Ok(());
    }
    output::print(&format!("{file} computes what it stored: {difference} in {cells} probe predictions\n"))
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let model = Model::load(&arguments.model)?;
    if arguments.json {
        return output::print_json(&format!("{:#}\n", facts(&model)));
    }
    output::print(&words(&model))
}

fn stop_reason(model: &Model) -> &'static str {
    match model.stop() {
        Stop::Converged => "converged",
        Stop::MaxIterations => "stopped at the limit (max-iterations)",
        Stop::Effort => "ended as its effort allowed no more,",
        Stop::Requested => "stopped on request",
    }
}

/// Everything, for programs. Names of fields do not change; new ones may come.
fn facts(model: &Model) -> Value {
    let noise = model.nugget_std();
    let (scale, length, bandwidth) = (model.input_scales(), model.kernel_lengths(), model.bandwidths());
    let constants = model.constants();
    let target = |(c, name): (usize, &String)| {
        let constant = constants.as_ref().map(|constants| constants[c]);
        json!({
            "name": name, "transform": model.transforms()[c], "scale": model.scale_of(c), "nugget_std": noise[c],
            "bandwidth": bandwidth[c], "constant": constant,
        })
    };
    let by_target = |table: &Mat<f64>, d: usize| -> Vec<f64> { table.row(d).iter().copied().collect() };
    let input = |(d, name): (usize, &String)| json!({ "name": name, "scale": by_target(&scale, d), "kernel_length": by_target(&length, d) });
    let kernel = |(tasks, kernel): &(&[usize], &Kernel)| {
        let targets: Vec<&String> = tasks.iter().map(|&c| &model.target_names()[c]).collect();
        json!({ "targets": targets, "kernel": kernel })
    };
    json!({
        "writer": model.writer(),
        "training": {
            "rows": model.training_rows(),
            "sha256": model.fingerprint(),
            "weights": model.weighting().map(|weights| weights.meaning()),
            "stop": model.stop(),
            "sweeps": model.trace().len(),
            "objective": model.objective(),
        },
        "check": model.check(),
        "settings": model.settings(),
        "kernels": model.kernels().iter().map(kernel).collect::<Vec<_>>(),
        "drawn_features": model.drawn_features(),
        "active_features": model.active_features(),
        "targets": model.target_names().iter().enumerate().map(target).collect::<Vec<_>>(),
        "inputs": model.input_names().iter().enumerate().map(input).collect::<Vec<_>>(),
        "encoder": model.encoder(),
        "links": model.links(),
        "sinusoids": model.sinusoids(),
    })
}

/// Which targets are transformed, in words; nothing if none is.
pub fn transforms(model: &Model) -> String {
    let named = |(c, transform): (usize, &Option<Transform>)| {
        let transform = transform.as_ref()?;
        let point = match transform.point {
            Point::Mean => "mean",
            Point::Median => "median",
        };
        Some(format!("  {} as {}, predicted by its {point}\n", model.target_names()[c], model.scale_of(c)))
    };
    let lines: String = model.transforms().iter().enumerate().filter_map(named).collect();
    match lines.is_empty() {
        true => lines,
        false => format!(
            "\nLearned transformed, which predicts each row without it better; predictions, intervals and \
             explanations are on the original scale, the nugget on that of the transform:\n{lines}"
        ),
    }
}

/// The same in words and tables, shortened.
fn words(model: &Model) -> String {
    let (targets, inputs) = (model.target_names(), model.input_names());
    let (sinusoids, links) = (model.sinusoids(), model.links());
    let lines = if links.is_empty() { String::new() } else { format!(", {}", plural(links.len(), "straight line")) };
    let mut text = format!(
        "A model of {} from {}: the sum of {}{lines} and a constant.\n",
        plural(targets.len(), "target"),
        plural(inputs.len(), "input"),
        match &model.settings().form {
            Form::Kernel => format!("{} kernel terms, one for each training row", model.active_features()),
            Form::Drawn { .. } => plural(model.drawn_features(), "drawn cosine"),
            Form::Automatic | Form::Sinusoids { .. } | Form::Cosines(_) => plural(sinusoids.len(), "cosine"),
        },
    );
    if model.settings().form == Form::Kernel {
        text += "The file holds the inputs of the training rows, standardised; sinusoids (fit --sparsity) would not.\n";
    }
    text += &format!(
        "Written by {}, learned from {} rows ({}), {} after {} steps, objective {:.1} nats.\n",
        model.writer(),
        model.training_rows(),
        match model.fingerprint() {
            Some(text) => format!("SHA-256 {}…", text.chars().take(12).collect::<String>()),
            None => "which is not known".into(),
        },
        stop_reason(model),
        model.trace().len(),
        model.objective(),
    );
    text += match model.weighting() {
        None => "",
        Some(Weights::Relative(())) => {
            "Rows had relative weights: noise and intervals are those of a row of average weight.\n"
        }
        Some(Weights::Repeats(())) => "Rows had weights: each is a number of identical rows.\n",
    };
    text += &match model.check() {
        Some(check) => format!("\n{}", checking::table(check, targets)),
        None => "Not checked on rows it has not seen; rffblr fit --check 5 does that.\n".into(),
    };
    text += &transforms(model);
    let noise = model.nugget_std();
    let rows = noise.iter().enumerate().map(|(c, noise)| vec![model.scale_of(c), significant(*noise)]).collect();
    text += &section(
        "Nugget: independent from row to row, a lower bound of the noise",
        output::table(["target", "nugget std"], rows),
    );
    let (groups, kernels) = (model.task_groups(), model.kernels());
    if groups.len() > 1 {
        text += &format!("\nThe targets need different inputs: {} kernels, each for some of them.\n", groups.len());
    }
    for (g, tasks) in groups.iter().enumerate() {
        let of = match groups.len() {
            1 => String::new(),
            _ => format!(" of {}", tasks.iter().map(|&c| targets[c].as_str()).collect::<Vec<_>>().join(", ")),
        };
        text += &section(&format!("Inputs{of}"), inputs_table(model, tasks[0]));
        if let Some((_, kernel)) = kernels.get(g) {
            text += &section(&format!("Kernel{of}"), kernel_table(kernel));
        }
    }
    if kernels.is_empty() {
        let spectrum = Setting::named("spectrum").ok().and_then(|spectrum| spectrum.value(model.settings()));
        let bandwidth = significant(model.bandwidths()[0]);
        text += &format!("Kernel view: {} with bandwidth {bandwidth}. ", spectrum.unwrap_or_default());
    }
    text += "Scale says how fast the function may change along an input, not how much the input matters.\n";
    if let Some(table) = sinusoid_table(model, sinusoids) {
        text += &section("Cosines with the largest weights", table);
    }
    if !links.is_empty() {
        let row = |link: &rffblr::Link| {
            let slopes = link.slope.iter().zip(&link.slope_std);
            let cells = slopes.map(|(mean, std)| format!("{} ± {}", significant(*mean), significant(*std)));
            [inputs[link.input].clone()].into_iter().chain(cells).collect()
        };
        let header = [String::from("slope per unit of")].into_iter().chain(targets.iter().cloned());
        text += &section("Straight lines", output::table(header, links.iter().map(row).collect()));
    }
    let rows = model.settings().spelled().into_iter().map(|(name, value)| vec![name.to_string(), value]).collect();
    text + &section("Settings", output::table(["setting", "value"], rows))
}

/// The families the kernel is the sum of.
fn kernel_table(kernel: &Kernel) -> comfy_table::Table {
    let row = |name: &str, family: &Family| {
        vec![name.to_string(), significant(family.variance), significant(family.bandwidth)]
    };
    let rows = vec![
        vec!["straight lines".into(), significant(kernel.linear), "–".into()],
        row("smooth (RBF), one scale for all inputs", &kernel.rbf),
        row("rough along the axes (Laplace L1), by input scale", &kernel.laplace_l1),
    ];
    output::table(["share of the function", "variance", "bandwidth"], rows)
}

fn section(title: &str, table: comfy_table::Table) -> String {
    format!("\n{title}\n{table}\n")
}

/// The encoded inputs by falling scale in the kernel of a task, and what raw column each comes from.
fn inputs_table(model: &Model, task: usize) -> comfy_table::Table {
    let (scale, length) = (model.input_scales(), model.kernel_lengths());
    let (scale, length) = (scale.col_as_slice(task), length.col_as_slice(task));
    let origins = model.encoder().map(Encoder::origins).unwrap_or_default();
    let made_of = |d: usize| {
        let Some(encoder) = model.encoder() else { return String::new() };
        let origin = origins.get(d).and_then(|&raw| encoder.raw_inputs().get(raw));
        match origin.map(|raw| (&raw.encoding, raw.name == model.input_names()[d])) {
            Some((Encoding::Numeric { median, indicator: true }, true)) => {
                format!("number, missing as {}", significant(*median))
            }
            Some((Encoding::Numeric { .. }, true)) if encoder.missing_inputs() == MissingInputs::Error => {
                "number, never missing".into()
            }
            Some((Encoding::Numeric { .. }, true)) => "number".into(),
            Some((Encoding::Categorical { .. }, _)) if origin.is_some_and(|raw| raw.marks(&model.input_names()[d])) => {
                "1 where missing or a new level".into()
            }
            Some((Encoding::Categorical { .. }, _)) => "1 for this level".into(),
            Some((Encoding::Date(date), true)) => format!("days since {}", date_text(date.start)),
            Some((Encoding::Date(_), _)) if !origin.is_some_and(|raw| raw.marks(&model.input_names()[d])) => {
                "cycle of the date".into()
            }
            Some((Encoding::Numeric { .. } | Encoding::Presence | Encoding::Date(_), _)) => "1 where missing".into(),
            None => String::new(),
        }
    };
    let mut order: Vec<usize> = (0..scale.len()).collect();
    order.sort_by(|&a, &b| scale[b].total_cmp(&scale[a]));
    let row =
        |&d: &usize| vec![model.input_names()[d].clone(), significant(scale[d]), significant(length[d]), made_of(d)];
    output::table(["input", "scale", "kernel length (its unit)", "encoding"], order.iter().map(row).collect())
}

/// The cosines that move the targets most, each with the inputs along which it turns fastest.
fn sinusoid_table(model: &Model, sinusoids: Vec<Sinusoid>) -> Option<comfy_table::Table> {
    let weight = |s: &Sinusoid| -> f64 { s.weight.iter().zip(model.target_std()).map(|(w, t)| (w / t).powi(2)).sum() };
    let mut ranked: Vec<(f64, Sinusoid)> = sinusoids.into_iter().map(|s| (weight(&s), s)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let row = |(_, s): &(f64, Sinusoid)| {
        // Turns over one standard deviation: comparable between inputs of different units.
        let turns = |d: usize| s.frequency[d].abs() * model.input_std()[d];
        let mut inputs: Vec<usize> = (0..s.frequency.len()).filter(|&d| s.frequency[d] != 0.0).collect();
        inputs.sort_by(|&a, &b| turns(b).total_cmp(&turns(a)));
        let wave = |&d: &usize| format!("{} {}", model.input_names()[d], significant(s.wavelength[d]));
        let waves = inputs.iter().take(NAMED).map(wave).collect::<Vec<_>>().join(", ");
        [waves].into_iter().chain(s.weight.iter().map(|w| significant(*w))).collect()
    };
    let rows: Vec<Vec<String>> = ranked.iter().take(SHOWN).map(row).collect();
    let header = [String::from("shortest waves along")].into_iter().chain(model.target_names().iter().cloned());
    (!rows.is_empty()).then(|| output::table(header, rows))
}
