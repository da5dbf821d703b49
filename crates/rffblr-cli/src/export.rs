//! `rffblr export`: a model as a program, a statement, a graph or a workbook that needs nothing of this one.

use crate::output;
use anyhow::{Context, Result, anyhow, bail};
use rffblr::Model;
use rffblr_export::{Dialect, ExportError, Options, Target, export, inputs_path};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  rffblr export soil.model.json --to python              writes soil.py: python soil.py new.csv > predictions.csv
  rffblr export soil.model.json -o soil.onnx             the ending says what; beside it soil.inputs.json says what inputs are
  rffblr export soil.model.json --to c -o soil.h         soil_predict(&inputs, predictions)
  rffblr export soil.model.json --to javascript          import { predict } from './soil.mjs'
  rffblr export soil.model.json --to sql --dialect duckdb --table sites --keep site
  rffblr export soil.model.json --to xlsx                type inputs, see predictions")]
#[command(after_help = "\
Every target has the same numbers as predict: the prediction of each target, and its standard deviation and interval. Small \
models suit all of them; a large one may be too large for sql and xlsx, and without --no-std for a program. \
docs/exports.md says what each target carries, how precise it is and what it cannot do.")]
pub struct Arguments {
    /// Model file written by fit
    model: PathBuf,
    /// What to write [default: what the ending of the output stands for]
    #[arg(long, value_name = "WHAT", value_parser = Target::NAMES)]
    to: Option<String>,
    /// File to write, - for standard output [default: the name of the model with the usual ending]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Probability that an observation lies between lower and upper
    #[arg(long, value_name = "P", default_value_t = 0.9, value_parser = crate::predict::probability)]
    interval: f64,
    /// Leave out standard deviations and intervals; of a transformed target the median is predicted then
    #[arg(long, conflicts_with = "interval")]
    no_std: bool,
    /// Dialect of SQL
    #[arg(long, value_name = "NAME", default_value = "sqlite", value_parser = Dialect::NAMES)]
    dialect: String,
    /// Of SQL, the table with the inputs
    #[arg(long, value_name = "NAME", default_value = "data")]
    table: String,
    /// Of SQL, columns of that table to write before the predictions
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    keep: Vec<String>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let target = target(arguments)?;
    let usual = usual_output(&arguments.model, target);
    let path = arguments.output.clone().unwrap_or_else(|| usual.clone());
    let beside = (target == Target::Onnx && !output::is_stream(&path)).then(|| inputs_path(&path));
    let files: Vec<&Path> =
        [&path].into_iter().chain(&beside).map(PathBuf::as_path).filter(|path| !output::is_stream(path)).collect();
    for path in &files {
        output::expect_apart(path, [arguments.model.as_path()])?;
        output::expect_writable(path, arguments.force)?;
    }
    let model = Model::load(&arguments.model)?;
    // The names in a header begin with that of its file.
    let named = if output::is_stream(&path) { &usual } else { &path };
    let options = Options {
        name: named.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        coverage: (!arguments.no_std).then_some(arguments.interval),
        table: arguments.table.clone(),
        keep: arguments.keep.clone(),
    };
    let written = export(&model, target, &options).map_err(advised)?;
    match output::is_stream(&path) {
        true => {
            let text = String::from_utf8(written.bytes);
            output::print_data(&text.map_err(|_| anyhow!("{} is no text; name a file with -o", target.name()))?)?;
        }
        false => output::save(&path, arguments.force, |file| Ok(file.write_all(&written.bytes)?))?,
    }
    if let (Some(beside), Some(inputs)) = (&beside, &written.inputs) {
        output::save(beside, arguments.force, |file| Ok(file.write_all(inputs.as_bytes())?))?;
    }
    if !arguments.quiet {
        files.iter().for_each(|path| output::tell(&format!("Wrote {}", path.display())));
    }
    Ok(())
}

fn target(arguments: &Arguments) -> Result<Target> {
    let target = match (&arguments.to, &arguments.output) {
        (Some(name), _) => name.parse::<Target>()?,
        (None, Some(path)) => path
            .extension()
            .and_then(|ending| Target::of_ending(&ending.to_string_lossy()))
            .with_context(|| format!("{}: the ending says nothing; use --to", path.display()))?,
        (None, None) => bail!("say what to write: --to {}", Target::NAMES.join(", --to ")),
    };
    Ok(if let Target::Sql(_) = target { Target::Sql(arguments.dialect.parse()?) } else { target })
}

/// data/soil.py, of data/soil.model.json.
fn usual_output(model: &Path, target: Target) -> PathBuf {
    let name = model.to_string_lossy();
    format!("{}.{}", name.trim_end_matches(".json").trim_end_matches(".model"), target.ending()).into()
}

/// The error with the flags that help.
fn advised(problem: ExportError) -> anyhow::Error {
    let advice = match &problem {
        ExportError::TooLarge { fits_without: true, .. } => {
            "; leave out standard deviations with --no-std, or fit a formula of few sinusoids with --sparsity 0.75"
        }
        ExportError::TooLarge { .. } | ExportError::TooWide { .. } => {
            "; fit a formula of few sinusoids with --sparsity 0.75, or export to onnx"
        }
        _ => "",
    };
    match advice {
        "" => problem.into(),
        advice => anyhow!("{problem}{advice}"),
    }
}
