//! The scores of a cross-validation as tables and as JSON.

use super::selection::Selection;
use crate::output;
use anyhow::Result;
use rffblr::Settings;
use rffblr::data::TrainingTable;
use rffblr::metrics::{OutOfFold, PerTask, SplitBy, with_error};
use rffblr_methods::evaluate::{FoldResult, Summary};
use rffblr_methods::method::{Chosen, Method};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A number of each fold: its key in JSON, its label in the table (if it stands there), and where it is found.
type Quantity = (&'static str, Option<&'static str>, fn(&FoldResult) -> Option<f64>);

const QUANTITIES: [Quantity; 11] = [
    ("task_r2", Some("task R²"), |fold| Some(fold.scores.task_r2)),
    ("pooled_r2", Some("pooled R²"), |fold| Some(fold.scores.pooled_r2)),
    ("arrmse", Some("aRRMSE"), |fold| Some(fold.scores.arrmse)),
    ("rmse", None, |fold| Some(fold.scores.rmse)),
    ("mae", None, |fold| Some(fold.scores.mae)),
    ("nlpd", Some("NLPD"), |fold| fold.scores.nlpd),
    ("crps", Some("CRPS"), |fold| fold.scores.crps),
    ("coverage90", Some("90 % coverage"), |fold| fold.scores.coverage),
    ("fit_seconds", Some("fit seconds"), |fold| Some(fold.fit_seconds)),
    ("predict_seconds", Some("predict seconds"), |fold| Some(fold.predict_seconds)),
    ("active_features", Some("active features"), |fold| fold.active_features.map(|count| count as f64)),
];

/// A number of each task of a fold: its key in JSON, and where it is found.
type TaskQuantity = (&'static str, fn(&PerTask) -> Option<&[f64]>);

const TASK_QUANTITIES: [TaskQuantity; 8] = [
    ("r2", |tasks| Some(&tasks.r2)),
    ("rrmse", |tasks| Some(&tasks.rrmse)),
    ("rmse", |tasks| Some(&tasks.rmse)),
    ("mae", |tasks| Some(&tasks.mae)),
    ("nlpd", |tasks| tasks.nlpd.as_deref()),
    ("crps", |tasks| tasks.crps.as_deref()),
    ("coverage90", |tasks| tasks.coverage.as_deref()),
    ("largest_z", |tasks| tasks.largest_z.as_deref()),
];

/// Most methods side by side, so that tables stay narrow.
const ABREAST: usize = 3;

/// Over the folds that could be scored; `None` for a method that does not have this number.
fn summary(folds: &[FoldResult], key: &str, value: fn(&FoldResult) -> Option<f64>) -> Option<Summary> {
    let varies = |fold: &FoldResult| (0..fold.scores.per_task.r2.len()).any(|task| fold.varies(task));
    let scored = folds.iter().filter(|fold| if key == "task_r2" { varies(fold) } else { fold.is_scored() });
    Summary::of(&scored.map(value).collect::<Option<Vec<f64>>>()?)
}

/// The same for one task, over the folds in which it was observed, and varies if the number is an R².
fn task_summary(
    folds: &[FoldResult],
    task: usize,
    key: &str,
    values: fn(&PerTask) -> Option<&[f64]>,
) -> Option<Summary> {
    let counts = |fold: &&FoldResult| match key {
        "r2" => fold.varies(task),
        _ => fold.scores.per_task.observed[task] > 0,
    };
    let observed = folds.iter().filter(counts).map(|fold| &fold.scores.per_task);
    Summary::of(&observed.map(|tasks| values(tasks).map(|all| all[task])).collect::<Option<Vec<f64>>>()?)
}

/// A table of all scores, and one for each of two scores by target.
pub fn tables(targets: &[String], methods: &[&dyn Method], results: &[Vec<FoldResult>]) -> Result<String> {
    let folds = results.first().map_or(0, Vec::len);
    let together = results.iter().map(|folds| out_of_fold(folds)).collect::<Result<Vec<OutOfFold>>>()?;
    let (mut text, all) = (String::new(), &together);
    let chunks = methods.chunks(ABREAST).zip(results.chunks(ABREAST)).zip(together.chunks(ABREAST));
    for ((methods, results), together) in chunks {
        let header = |first: String| [first].into_iter().chain(methods.iter().map(|method| method.name().to_owned()));
        let row = |label: &str, value: &dyn Fn(&[FoldResult]) -> Option<Summary>| {
            [label.to_owned()].into_iter().chain(results.iter().map(|folds| mean_and_sd(value(folds)))).collect()
        };
        let scored = |label: &str, score: &dyn Fn(&OutOfFold) -> (f64, f64)| -> Vec<String> {
            let most = all.iter().map(|method| score(method).0).fold(f64::NEG_INFINITY, f64::max);
            let cells = together.iter().map(|method| {
                let (score, error) = score(method);
                let mark = if all.len() > 1 && score == most { " *" } else { "" };
                with_error(score, error) + mark
            });
            [label.to_owned()].into_iter().chain(cells).collect()
        };
        let mut rows = vec![scored("task R²", &|method| (method.scores.task_r2, method.task_r2_se))];
        let each = targets.iter().enumerate();
        rows.extend(
            each.map(|(task, name)| scored(name, &|method| (method.scores.per_task.r2[task], method.r2_se[task]))),
        );
        text += &format!("{}\n\n", output::table(header(String::from("R² of all held-out rows")), rows));
        let shown = QUANTITIES.iter().filter_map(|(key, label, value)| Some((key, label.as_ref()?, value)));
        let rows = shown.map(|(key, label, &value)| row(label, &|folds| summary(folds, key, value))).collect();
        text += &format!("{}\n\n", output::table(header(format!("mean ± sd of {folds} folds")), rows));
        for (title, key) in [("R² by target", "r2"), ("90 % coverage by target", "coverage90")] {
            let Some(&(_, values)) = TASK_QUANTITIES.iter().find(|(name, _)| *name == key) else { continue };
            let rows = targets.iter().enumerate();
            let rows = rows.map(|(task, name)| row(name, &|folds| task_summary(folds, task, key, values))).collect();
            text += &format!("{}\n\n", output::table(header(title.to_owned()), rows));
        }
    }
    text += &chosen_table(methods, results).map_or(String::new(), |table| format!("{table}\n\n"));
    Ok(text + &verdict(targets, methods, &together) + "\n")
}

/// What the tables say, in a sentence.
fn verdict(targets: &[String], methods: &[&dyn Method], together: &[OutOfFold]) -> String {
    let scores = methods.iter().zip(together).map(|(method, found)| (method.name(), found));
    let mut order: Vec<(&str, &OutOfFold)> = scores.filter(|(_, found)| !found.scores.task_r2.is_nan()).collect();
    order.sort_by(|a, b| b.1.scores.task_r2.total_cmp(&a.1.scores.task_r2));
    let share = |found: &OutOfFold| format!("{:.0} %", 100.0 * found.scores.task_r2.max(0.0));
    let over = if targets.len() == 1 { String::new() } else { format!(", on average over {} targets", targets.len()) };
    match &order[..] {
        [] => "No target varies in the rows that were held out.".into(),
        [(name, found)] => format!("{name} explains {} of the variance of rows it has not seen{over}.", share(found)),
        [(first, best), (second, next), ..] => {
            let gap = best.scores.task_r2 - next.scores.task_r2;
            let error = best.task_r2_se.hypot(next.task_r2_se);
            // Both have the same rows held out, so that this is on the safe side.
            let close = if gap <= error { ", which is not clearly less" } else { "" };
            format!(
                "Best of each row is marked *. {first} explains {} of the variance of rows it has not seen{over}; next is \
                 {second} with {}{close}.",
                share(best),
                share(next)
            )
        }
    }
}

/// The scores of the held-out rows of all folds together.
fn out_of_fold(folds: &[FoldResult]) -> Result<OutOfFold> {
    Ok(OutOfFold::new(&folds.iter().map(|fold| fold.held_out.clone()).collect::<Vec<_>>())?)
}

/// How often each value of a hyper-parameter was chosen; `None` if no method chooses.
fn chosen_table(methods: &[&dyn Method], results: &[Vec<FoldResult>]) -> Option<comfy_table::Table> {
    let mut rows = Vec::new();
    for (method, folds) in methods.iter().zip(results) {
        let parameters = folds.first().map(|fold| fold.chosen.as_slice()).unwrap_or_default();
        for (parameter, _) in parameters {
            let values = folds.iter().flat_map(|fold| &fold.chosen).filter(|(name, _)| name == parameter);
            let counts = counts(values.map(|(_, value)| value));
            rows.push(vec![method.name().to_owned(), (*parameter).to_owned(), counts]);
        }
    }
    let header = ["chosen by", "parameter", "value × folds"];
    (!rows.is_empty()).then(|| output::table(header, rows))
}

/// Values with their number, the most frequent first; of many the first few.
fn counts<'a>(values: impl Iterator<Item = &'a Chosen>) -> String {
    const SHOWN: usize = 4;
    let mut counts: Vec<(&Chosen, usize)> = Vec::new();
    for value in values {
        match counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    // Stable: of equals the one of the earlier fold comes first.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut shown: Vec<String> = counts.iter().take(SHOWN).map(|(value, count)| format!("{value} × {count}")).collect();
    let others: usize = counts.iter().skip(SHOWN).map(|(_, count)| count).sum();
    if others > 0 {
        shown.push(format!("others × {others}"));
    }
    shown.join(", ")
}

fn mean_and_sd(summary: Option<Summary>) -> String {
    match summary {
        None => "–".into(),
        Some(Summary { mean, sd }) => {
            let decimals = match mean.abs() {
                size if size >= 1000.0 => 0,
                size if size >= 100.0 => 1,
                _ => 3,
            };
            format!("{mean:.decimals$} ± {sd:.decimals$}")
        }
    }
}

/// What was evaluated on what.
pub struct About<'a> {
    pub training: &'a TrainingTable,
    pub data: &'a Path,
    pub settings: &'a Settings,
    pub selection: &'a Selection,
    pub by: &'a SplitBy,
}

/// Everything, for programs. NaN and infinity, which JSON lacks, are null.
pub fn json(about: &About<'_>, methods: &[&dyn Method], results: &[Vec<FoldResult>]) -> Result<Value> {
    let targets = &about.training.roles().targets;
    let mut all = Map::new();
    for (method, folds) in methods.iter().zip(results) {
        let mut facts = method_json(targets, folds);
        facts.insert("out_of_fold".into(), json!(out_of_fold(folds)?));
        all.insert(method.name().to_owned(), Value::Object(facts));
    }
    Ok(json!({
        "version": crate::VERSION,
        "data": about.data.display().to_string(),
        "rows": about.training.table().rows(),
        "targets": targets,
        "split": about.by,
        "seed": about.settings.seed,
        "settings": about.settings,
        "grid": about.selection.grid.name(),
        "inner_folds": about.selection.inner_json(),
        "methods": all,
    }))
}

fn method_json(targets: &[String], folds: &[FoldResult]) -> Map<String, Value> {
    let null = json!({"mean": null, "sd": null});
    let or_null = |summary: Option<Summary>| summary.map_or(null.clone(), |summary| json!(summary));
    let mut out: Map<String, Value> =
        QUANTITIES.iter().map(|&(key, _, value)| (key.to_owned(), or_null(summary(folds, key, value)))).collect();
    let task = |(task, name): (usize, &String)| {
        let scores = TASK_QUANTITIES.iter();
        let scores = scores.map(|&(key, values)| (key.to_owned(), or_null(task_summary(folds, task, key, values))));
        (name.clone(), Value::Object(scores.collect()))
    };
    out.insert("tasks".into(), Value::Object(targets.iter().enumerate().map(task).collect()));
    out.insert("folds".into(), folds.iter().map(|fold| Value::Object(fold_json(fold))).collect());
    out
}

fn fold_json(fold: &FoldResult) -> Map<String, Value> {
    let mut out: Map<String, Value> =
        QUANTITIES.iter().map(|&(key, _, value)| (key.to_owned(), json!(value(fold)))).collect();
    let per_task = &fold.scores.per_task;
    let mut tasks: Map<String, Value> =
        TASK_QUANTITIES.iter().map(|&(key, values)| (key.to_owned(), json!(values(per_task)))).collect();
    tasks.insert("observed".into(), json!(per_task.observed));
    out.insert("per_task".into(), Value::Object(tasks));
    let chosen: Map<String, Value> =
        fold.chosen.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    out.insert("chosen".into(), Value::Object(chosen));
    out.insert("train_rows".into(), json!(fold.train_rows));
    out.insert("test_rows".into(), json!(fold.test_rows));
    out
}
