//! `rffblr demo`: data it makes itself, three ways to fit them, how far each is from the truth, and files to go on with.

use crate::checking::Plan;
use crate::{output, report};
use anyhow::{Context, Result, bail};
use rffblr::data::{Cohort, MissingInputs, Roles, TrainingTable, cohort};
use rffblr::{CosineSettings, Form, InputScales, Model, PredictionColumns, Settings, Stop, metrics};
use rffblr_report::{Data, Options};
use rffblr_tables::write_csv;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr demo                    200 rows; files go to ./rffblr-demo
  rffblr demo --rows 500 -o big  more rows, another folder")]
pub struct Arguments {
    /// Rows to learn from; as many again are held out
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=20_000))]
    rows: u32,
    /// Seed of the cohort and of the fits
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder for the data, the model and its predictions; it is made if it is not there
    #[arg(short, long, value_name = "FOLDER", default_value = "rffblr-demo")]
    output: PathBuf,
    /// Use the folder even if there are files in it, and replace those of an earlier demo
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let is_new = !arguments.output.exists();
    prepare(&arguments.output, arguments.force)?;
    let done = fill(arguments);
    if done.is_err() && is_new {
        // Only if nothing is in it: nothing was written.
        let _ = std::fs::remove_dir(&arguments.output);
    }
    done
}

fn fill(arguments: &Arguments) -> Result<()> {
    let cohort = cohort(arguments.rows as usize, arguments.seed)?;
    let (inputs, tasks) = (cohort.train.inputs().ncols(), cohort.train.targets().ncols());
    let missing = (0..tasks).flat_map(|c| cohort.train.targets().col(c).iter().copied()).filter(|y| y.is_nan()).count();
    output::print(&format!(
        "A cohort of {} rows to learn from and as many held out: {inputs} inputs, of which 4\nmatter, {tasks} targets, \
         {missing} target cells missing.\n\n",
        arguments.rows
    ))?;
    let paper = CosineSettings { links: true, ..CosineSettings::PAPER };
    let scaled = CosineSettings { input_scales: InputScales::Learned, ..paper.clone() };
    let presets = [
        ("default", Settings::DEFAULT),
        ("paper", Settings { form: paper.into(), ..Settings::PAPER }),
        ("paper + input scales", Settings { form: scaled.into(), ..Settings::PAPER }),
    ];
    let roles = Roles::of_targets(cohort.train.target_names());
    let training = TrainingTable::new(cohort.train.table()?, roles, MissingInputs::Impute)?;
    let (mut summary, mut per_task, mut kept) = (Vec::new(), Vec::new(), None);
    for (name, settings) in presets {
        let start = Instant::now();
        let model = training.fit(&Settings { seed: arguments.seed, ..settings })?;
        let seconds = start.elapsed().as_secs_f64();
        let (scores, coverage) = judge(&model, &cohort)?;
        summary.push(vec![
            name.to_string(),
            format!("{:.3}", scores.overall),
            format!("{:.0} %", 100.0 * coverage),
            match &model.settings().form {
                Form::Cosines(_) => format!("{} of {}", model.active_features(), model.drawn_features() + inputs),
                _ => model.active_features().to_string(),
            },
            format!("{:.1}", model.objective()),
            format!("{}{}", model.trace().len(), if model.stop() == Stop::Converged { "" } else { " (limit)" }),
            format!("{seconds:.2}"),
        ]);
        per_task.push(score_row(name, &scores));
        kept = kept.or(Some((model, seconds)));
    }
    per_task.push(score_row("the truth itself", &metrics::task_r2(cohort.test.targets(), cohort.truth.as_ref())?));
    let header = ["held-out rows", "task R²", "in 90 %", "terms", "objective", "steps", "seconds"];
    output::print(&format!("{}\n\n", output::table(header, summary)))?;
    let header = ["R² by target"].into_iter().chain(cohort.test.target_names().iter().map(String::as_str));
    output::print(&format!("{}\n\n", output::table(header, per_task)))?;
    output::print(
        "In 90 %: how many held-out values lie in their 90 % interval. No model can beat the\nlast line: what it lacks \
         to 1 is the noise of each target.\n",
    )?;
    match kept {
        Some((model, seconds)) => save(&cohort, &training, model, seconds, arguments),
        None => Ok(()),
    }
}

/// The folder, there and free to use.
fn prepare(folder: &Path, force: bool) -> Result<()> {
    let cannot = || format!("cannot use the folder {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    if !force && std::fs::read_dir(folder).with_context(cannot)?.next().is_some() {
        bail!("{} has files in it; choose another folder with -o, or use it with --force", folder.display());
    }
    Ok(())
}

fn judge(model: &Model, cohort: &Cohort) -> Result<(metrics::TaskScore, f64)> {
    let prediction = model.predict(cohort.test.inputs())?;
    let (lower, upper) = prediction.interval(0.9)?;
    let scores = metrics::task_r2(cohort.test.targets(), prediction.mean.as_ref())?;
    let coverage = metrics::coverage(cohort.test.targets(), lower.as_ref(), upper.as_ref())?;
    Ok((scores, coverage.overall))
}

fn score_row(name: &str, scores: &metrics::TaskScore) -> Vec<String> {
    let numbers = scores.per_task.iter().map(|score| format!("{score:.3}"));
    [name.to_string()].into_iter().chain(numbers).collect()
}

/// Writes the cohort, the default model and its predictions, and says what to do with them.
fn save(
    cohort: &Cohort,
    training: &TrainingTable,
    mut model: Model,
    seconds: f64,
    arguments: &Arguments,
) -> Result<()> {
    let plan = Plan::new(None, training, arguments.seed)?;
    if let Ok(check) = plan.run(training, model.settings(), Some(seconds), false)? {
        model = model.with_check(check)?;
    }
    let predictions = model.prediction_table(&model.predict(cohort.test.inputs())?, &PredictionColumns::usual(0.9))?;
    let file = |name: &str| arguments.output.join(name);
    for (name, table) in
        [("train.csv", training.table()), ("test.csv", &cohort.test.table()?), ("predictions.csv", &predictions)]
    {
        output::save(&file(name), arguments.force, |out| Ok(write_csv(table, out)?))?;
    }
    let text = model.to_json()?;
    output::save(&file("model.json"), arguments.force, |out| Ok(out.write_all(text.as_bytes())?))?;
    let options = Options {
        title: "Demo cohort".into(),
        origin: report::origin(&file("model.json"), Some((&[file("train.csv")], false)))?,
        ..Options::default()
    };
    let page = report::written(&model, Data::Training(training.dataset()), &options, false)?;
    output::deliver(page.html(), &file("report.html"), arguments.force)?;

    let word = |name: &str| output::shell_word(&file(name).display().to_string());
    output::tell(&format!(
        "\nWrote train.csv, test.csv, model.json (the default one), predictions.csv and a report on\nit into {}. Open \
         the report in a browser:\n  {}\nNext:\n  rffblr predict {} {}\n  rffblr inspect {}\n  rffblr fit {} --targets {}",
        arguments.output.display(),
        file("report.html").display(),
        word("model.json"),
        word("test.csv"),
        word("model.json"),
        word("train.csv"),
        cohort.train.target_names().join(",")
    ));
    Ok(())
}
