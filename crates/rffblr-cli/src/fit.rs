//! `rffblr fit`: from a table to a model file, with a verdict on how far to trust it.

use crate::checking::{self, Plan, Wanted, wanted};
use crate::inspect;
use crate::output::{self, significant};
use crate::settings::SettingArguments;
use crate::streamed::{Fitted, fit_files, fit_table, is_streamed};
use crate::training::{TableArguments, advised, file_of, wrong};
use anyhow::{Result, bail};
use clap::error::ErrorKind;
use indicatif::ProgressBar;
use rffblr::data::{Dataset, SetAside, TrainingTable};
use rffblr::drawn::NotHeld;
use rffblr::explain::Explainer;
use rffblr::internals::plural;
use rffblr::metrics::{LEVEL, ReferenceMean, with_error};
use rffblr::{EXACT_ROWS, Form, Iteration, Model, Settings, Stop};
use rffblr_tables::{FileFit, Parts};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  rffblr fit cohort.csv --targets glucose,pressure --ignore id
  rffblr fit mulan.arff --targets last:3 --preset paper -o model.json
  rffblr fit visits.csv --targets glucose --group patient           tested on patients it has not seen
  rffblr fit cohort.csv --targets cost --repeats visits --config settings.toml --force
  rffblr fit data/ --targets delay -o model.json --checkpoint job   all Parquet or CSV files of a folder, of any size")]
pub struct Arguments {
    #[command(flatten)]
    table: TableArguments,
    /// Further files with the same columns; a folder or a pattern such as 'part-*.csv' stands for its files. Many files, and
    /// a large one, are read in blocks and never all in memory
    more: Vec<PathBuf>,
    /// File to which a fit to many rows writes how far it is, and from which the same command goes on after a break
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Model file to write, - for standard output [default: DATA with the ending .model.json]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the model file if it exists
    #[arg(long)]
    force: bool,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
    /// Print what was learned and how well as JSON, on standard output
    #[arg(long)]
    json: bool,
    /// Refits that test it on rows held out, their number or off [default: 5, fewer where there are fewer rows or groups;
    /// none where it would take minutes. With many rows, up to 20 000 of them, or a tenth of the groups or of the time, are held out until
    /// the model is scored]
    #[arg(long, value_name = "K", value_parser = wanted)]
    check: Option<Wanted>,
    #[command(flatten)]
    settings: SettingArguments,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let settings = arguments.settings.settings()?;
    let path = arguments.output.clone().unwrap_or_else(|| default_output(&arguments.table.data));
    let to_stdout = output::is_stream(&path);
    if to_stdout && arguments.json {
        wrong(
            ErrorKind::ArgumentConflict,
            "standard output cannot be both the model (-o -) and --json; name a file for one",
        );
    }
    if !to_stdout {
        let data = &arguments.table.data;
        let table = if data.is_dir() { data.clone() } else { file_of(data)? };
        let inputs = [table.as_path()].into_iter().chain(arguments.more.iter().map(PathBuf::as_path));
        output::expect_apart(&path, inputs.chain(arguments.settings.file()))?;
        output::expect_writable(&path, arguments.force)?;
    }
    if let Some(checkpoint) = arguments.checkpoint.as_deref().filter(|checkpoint| output::are_same(&path, checkpoint)) {
        bail!(
            "checkpoint {}: it is the file of the model, and a checkpoint is removed once the model is there; name another \
             file",
            checkpoint.display()
        );
    }
    let paths: Vec<PathBuf> = [&arguments.table.data].into_iter().chain(&arguments.more).cloned().collect();
    let hold_out = arguments.check != Some(Wanted::Off);
    let training = if is_streamed(&paths) || arguments.checkpoint.is_some() {
        let names = Parts::open(&paths, &arguments.table.reading())?.names().to_vec();
        let (choice, options) = arguments.table.wanted(&names)?;
        let (missing, checkpoint) = (arguments.table.missing(), arguments.checkpoint.clone());
        let job = FileFit { choice, missing, settings: settings.clone(), hold_out, checkpoint };
        expect_streamable(arguments)?;
        match fit_files(&paths, &options, job, arguments.quiet || arguments.json)? {
            Ok(fitted) => return finish_streamed(arguments, fitted, &paths, &path),
            Err(training) => training,
        }
    } else {
        arguments.table.read(arguments.quiet || arguments.json)?
    };
    let rows = training.rows().len();
    let drawn = rows > EXACT_ROWS && matches!(settings.for_rows(rows).form, Form::Drawn { .. });
    if drawn && !matches!(arguments.check, Some(Wanted::Refits(_))) {
        let fitted = fit_table(&training, &settings.for_rows(rows), hold_out, arguments.quiet || arguments.json)?;
        return finish_streamed(arguments, fitted, &paths, &path);
    }
    let plan = Plan::new(arguments.check, &training, settings.seed)?;

    let start = Instant::now();
    let bar = if arguments.quiet || arguments.json { ProgressBar::hidden() } else { sweeps_bar(&settings) };
    let fitted = training.fit_observed(&settings, &|sweep| {
        show(&bar, sweep);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let mut model = fitted?;
    let seconds = start.elapsed().as_secs_f64();
    let checked = plan.run(&training, &settings, Some(seconds), arguments.quiet || arguments.json)?;
    let why_not = match checked {
        Ok(check) => {
            model = model.with_check(check)?;
            String::new()
        }
        Err(why_not) => format!("{why_not}\n"),
    };

    output::deliver(&model.to_json()?, &path, arguments.force)?;
    if arguments.json {
        let mut notes: Vec<String> = training.notes().iter().map(advised).collect();
        notes.extend(model.check().into_iter().flat_map(|check| check.notes(model.target_names())));
        return output::print_json(&facts(&model, &path, training.dataset(), seconds, notes)?);
    }
    if !arguments.quiet {
        set_aside(&model, &training).iter().for_each(|note| output::note(note));
        let checked = model.check().map_or(why_not, |check| checking::table(check, model.target_names()));
        let mut text = format!("\n{checked}{}", summary(&settings, &model, training.dataset(), seconds)?);
        text += &what_matters(&model, training.dataset())?;
        if !to_stdout {
            text += &next_steps(&path, &paths);
        }
        output::tell(&text);
    }
    Ok(())
}

/// Target cells that were not learned from, with their rows in the table.
fn set_aside(model: &Model, training: &TrainingTable) -> Vec<String> {
    let note = |cell: &SetAside| {
        format!(
            "row {}: {} = {} is {} times as far from the median as any other value; it was not learned from",
            training.rows()[cell.row] + 1,
            model.target_names()[cell.task],
            significant(training.dataset().targets()[(cell.row, cell.task)]),
            significant(cell.ratio),
        )
    };
    model.set_aside().iter().map(note).collect()
}

/// What needs all rows at once is refused.
fn expect_streamable(arguments: &Arguments) -> Result<()> {
    if matches!(arguments.check, Some(Wanted::Refits(_))) {
        bail!("refits need all rows in memory, and these are read in blocks; leave --check out to hold rows out");
    }
    Ok(())
}

/// Writes the model and says how it did.
fn finish_streamed(arguments: &Arguments, fitted: Fitted, paths: &[PathBuf], path: &Path) -> Result<()> {
    let Fitted { model, rows, seconds, sample, unchecked, mut notes } = fitted;
    output::deliver(&model.to_json()?, path, arguments.force)?;
    if let Some(checkpoint) = &arguments.checkpoint {
        // The model is there: the way to it is not needed any more.
        let _ = std::fs::remove_file(checkpoint);
    }
    if arguments.json {
        notes.extend(unchecked.filter(|why| *why != NotHeld::Unasked).as_ref().map(checking::not_held));
        return output::print_json(&facts(&model, path, &sample, seconds, notes)?);
    }
    if arguments.quiet {
        return Ok(());
    }
    let checked = match model.check() {
        Some(check) => checking::table(check, model.target_names()),
        None => format!("{}\n", checking::not_held(&unchecked.unwrap_or(NotHeld::Unasked))),
    };
    let why = reason(&arguments.settings.settings()?, &model);
    let mut text = format!(
        "\n{checked}\n{rows} rows, {}, {}. {}{why}. {} after {}, {seconds:.1} s.\n",
        plural(model.input_names().len(), "input"),
        plural(model.target_names().len(), "target"),
        made_of(&model),
        ended(&model),
        plural(model.trace().len(), "step"),
    );
    text += &inspect::transforms(&model);
    text += &what_matters(&model, &sample)?;
    if !output::is_stream(path) {
        text += &next_steps(path, paths);
    }
    output::tell(&text);
    Ok(())
}

fn ended(model: &Model) -> &'static str {
    match model.stop() {
        Stop::Converged => "Converged",
        Stop::MaxIterations => "Stopped at --max-iterations",
        Stop::Effort => "Ended as --effort allows no more,",
        Stop::Requested => "Stopped on request",
    }
}

/// `cohort.csv` gives `cohort.model.json` beside it; standard input gives `rffblr.model.json`.
fn default_output(data: &Path) -> PathBuf {
    let is_pattern = data.to_string_lossy().contains(['*', '?']);
    // The folder one is in has no name here.
    match output::is_stream(data) || is_pattern || data.file_name().is_none() {
        true => "rffblr.model.json".into(),
        false => data.with_extension("model.json"),
    }
}

fn sweeps_bar(settings: &Settings) -> ProgressBar {
    let restarts = settings.form.cosines().map_or(1, |cosines| cosines.restarts);
    let sweeps = (settings.max_iterations as u64).saturating_mul(restarts as u64);
    let bar = output::progress(sweeps, "step {pos} of at most {len}  {msg}  {elapsed}, at most {eta} left");
    bar.set_message("starting");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn show(bar: &ProgressBar, sweep: &Iteration) {
    bar.inc(1);
    if !bar.is_hidden() {
        let (objective, active, bandwidth) = (sweep.objective, sweep.active, sweep.bandwidth);
        bar.set_message(format!("objective {objective:.1}  features {active}  bandwidth {bandwidth:.4}"));
    }
}

/// What to type next.
fn next_steps(model: &Path, data: &[PathBuf]) -> String {
    let word = |path: &Path| output::shell_word(&path.display().to_string());
    // What came from standard input cannot be read again.
    let read = data.iter().filter(|path| !output::is_stream(path));
    let (path, table) = (word(model), read.map(|path| format!(" {}", word(path))).collect::<String>());
    format!(
        "\nWrote {path}. Next:\n  rffblr predict {path} NEW.csv -o predictions.csv\n  rffblr inspect {path}\n  \
         rffblr report {path}{table}"
    )
}

/// The scores at fixed scales, and what was learned.
fn summary(settings: &Settings, model: &Model, data: &Dataset, seconds: f64) -> Result<String> {
    let left_out = model.leave_one_out(data)?;
    let (lower, upper) = left_out.interval(LEVEL)?;
    let judged = data.judged_targets();
    let coverage = rffblr::metrics::coverage(judged.as_ref(), lower.as_ref(), upper.as_ref())?.per_task;
    let scores = left_out.held_out(judged)?.scores(LEVEL, ReferenceMean::Test)?;
    let each = &scores.per_task;
    let row = |(c, name): (usize, &String)| {
        vec![
            name.clone(),
            each.observed[c].to_string(),
            with_error(each.r2[c], f64::NAN),
            significant(each.rmse[c]),
            checking::percent(coverage[c]),
        ]
    };
    let rows = model.target_names().iter().enumerate().map(row).collect();
    let header = ["target", "values", "R²", "RMSE", "90 % holds"];
    let worse = model.check().and_then(|check| checking::overfitted(check, scores.task_r2));
    let kinder = if worse.is_none() { ", and kinder than new rows will be" } else { "" };
    Ok(format!(
        "\nEach row left out in turn at fixed scales: a diagnostic{kinder}\n{}\n{}{}, {}, {}. {}{}. {} \
         after {}, {seconds:.2} s.\n{}",
        output::table(header, rows),
        worse.unwrap_or_default(),
        plural(data.rows(), "row"),
        plural(model.input_names().len(), "input"),
        plural(model.target_names().len(), "target"),
        made_of(model),
        reason(settings, model),
        ended(model),
        plural(model.trace().len(), "step"),
        inspect::transforms(model),
    ))
}

/// The inputs that move the predictions most, with the share of their variance that is due to each, on average over the
/// targets, and the number of rows that were looked at.
fn most_relevant(model: &Model, data: &Dataset) -> Result<(Vec<(String, f64)>, usize)> {
    let explainer = Explainer::new(model, data.inputs(), data.weights())?;
    let (shares, rows) = explainer.first_look()?;
    let mean = |input: usize| shares.row(input).iter().sum::<f64>() / shares.ncols() as f64;
    let inputs = explainer.inputs().iter().enumerate();
    let mut inputs: Vec<(String, f64)> = inputs.map(|(i, input)| (input.name.clone(), mean(i))).collect();
    inputs.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok((inputs, rows))
}

/// The same in a sentence.
fn what_matters(model: &Model, data: &Dataset) -> Result<String> {
    const SHOWN: usize = 5;
    let (mut inputs, rows) = most_relevant(model, data)?;
    // Exchanging one of two inputs that move together moves the prediction by more than it ever varies.
    let together = inputs.iter().any(|(_, share)| *share > 1.0);
    if together {
        let all: f64 = inputs.iter().map(|(_, share)| share).sum();
        inputs.iter_mut().for_each(|(_, share)| *share /= all);
    }
    let shown: Vec<String> =
        inputs.iter().take(SHOWN).map(|(name, share)| format!("{name} {}", checking::percent(*share))).collect();
    let average = if model.target_names().len() > 1 { ", mean of the targets" } else { "" };
    let of = if together { "all these shares, as inputs move together" } else { "the variance of the prediction" };
    Ok(format!("What matters most (share of {of}{average}; {}): {}.\n", plural(rows, "row"), shown.join(", ")))
}

/// What was learned and how well, for programs.
fn facts(model: &Model, path: &Path, data: &Dataset, seconds: f64, notes: Vec<String>) -> Result<String> {
    let (inputs, rows) = most_relevant(model, data)?;
    let share = |(name, share): &(String, f64)| json!({ "input": name, "share": share });
    let facts = json!({
        "model": path.display().to_string(),
        "rows": model.training_rows(),
        "inputs": model.input_names(),
        "targets": model.target_names(),
        "form": model.settings().form.name(),
        "stop": model.stop(),
        "steps": model.trace().len(),
        "objective": model.objective(),
        "seconds": seconds,
        "check": model.check(),
        "relevance": { "rows": rows, "inputs": inputs.iter().map(share).collect::<Vec<_>>() },
        "notes": notes,
    });
    Ok(format!("{facts:#}\n"))
}

/// Why the program took this form, if it was left to it, with what it costs.
fn reason(settings: &Settings, model: &Model) -> String {
    if settings.form != Form::Automatic {
        return String::new();
    }
    let (rows, features) = (model.training_rows() as f64, model.drawn_features() as f64);
    let bytes = |matrices: f64, size: f64| format!("{} MB", (8e-6 * matrices * size * size).ceil());
    // Kernel, factors and inverse of the exact form, a dozen factors for each noise level; sums of drawn features.
    let (exact, work) = (bytes(5.0, rows), 4.0 * rows.powi(3));
    match &model.settings().form {
        Form::Drawn { .. } if model.training_rows() <= EXACT_ROWS => {
            format!(", as the {exact} of the exact kernel are more than there is memory for")
        }
        Form::Drawn { .. } => {
            let groups = model.task_groups().len() as f64;
            let (sums, pass) = (bytes(8.0, features), rows * groups * features * features);
            format!(
                ", as above {EXACT_ROWS} rows: {pass:.0e} multiplications and {sums} for the rows instead of {work:.0e} and \
                 {exact} with the exact kernel"
            )
        }
        _ => format!(", the exact kernel, as up to {EXACT_ROWS} rows: it takes {exact}"),
    }
}

fn made_of(model: &Model) -> String {
    let (kept, inputs) = (model.active_features(), model.input_names().len());
    match &model.settings().form {
        Form::Automatic | Form::Kernel => format!("A Gaussian process on {kept} rows"),
        Form::Drawn { .. } => format!("{} cosines of the learned kernel", model.drawn_features()),
        Form::Sinusoids { .. } => format!("{kept} sinusoids"),
        Form::Cosines(cosines) => {
            let drawn = model.drawn_features() + if cosines.links { inputs } else { 0 };
            format!("Kept {kept} of {drawn} features")
        }
    }
}
