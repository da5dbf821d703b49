//! The verdict in words: what the model is good for, what it is not, and what to be wary of.

use super::quality::{Checked, Marks, Quality};
use rffblr::data::{Dataset, Weights};
use rffblr::metrics::LEVEL;
use rffblr::{Model, Stop};
use serde::Serialize;

/// Fewer observed values than this judge a target only roughly.
const FEW: usize = 50;
/// R² above which a target counts as well predicted, usable, and better than nothing.
const STRONG: f64 = 0.8;
const FAIR: f64 = 0.5;
const WEAK: f64 = 0.2;
/// What a simple model may lack in R² and still be as good.
const AS_GOOD: f64 = 0.02;
/// Standard deviations of a count beyond which it is not due to chance.
const CHANCE: f64 = 2.6;

#[derive(Serialize)]
pub(super) struct Verdict {
    pub(super) headline: String,
    pub(super) good_for: Vec<String>,
    pub(super) not_for: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl Verdict {
    /// By refits on held-out folds, if there were any; else by leaving out rows at fixed scales, if there are data.
    pub(super) fn new(
        model: &Model,
        data: Option<&Dataset>,
        checked: Option<&Checked>,
        quality: Option<&Quality>,
        notes: &[String],
    ) -> Verdict {
        let mut verdict = match (checked, quality) {
            (Some(checked), _) => judged(model, &checked.marks, checked.headline.clone()),
            (None, Some(quality)) => judged(model, &quality.marks, unchecked(model, &quality.marks)),
            (None, None) => Verdict {
                headline:
                    "Not judged: the model was not checked by refits on held-out rows, and what else there is to \
                           say on how well it does needs its training data."
                        .into(),
                good_for: Vec::new(),
                not_for: Vec::new(),
                warnings: Vec::new(),
            },
        };
        verdict.not_for.push(
            "Rows unlike the training rows: the function is learned only where data are; far away its interval is wide \
             and should be believed."
                .into(),
        );
        verdict.not_for.push("Causes: it says what goes together with a target, not what would change it.".into());
        match model.stop() {
            Stop::Converged => {}
            Stop::MaxIterations => verdict.warnings.push(format!(
                "The fit ended at its limit of {} steps before it converged; allow more (max-iterations).",
                model.settings().max_iterations
            )),
            Stop::Requested => verdict.warnings.push("The fit was stopped before it converged.".into()),
        }
        verdict.warnings.extend(notes.iter().map(|note| sentence(note)));
        let (rows, inputs) = (model.training_rows(), model.input_names().len());
        if inputs > rows {
            verdict.warnings.push(format!(
                "There are more inputs ({inputs}) than rows ({rows}): which of several similar inputs is relevant is \
                 partly arbitrary."
            ));
        }
        if checked.is_none() && quality.is_some() {
            verdict.warnings.push(
                "The model was not checked by refits on held-out rows. Scores are those of single rows left out at fixed \
                 scales: on new rows it will do worse."
                    .into(),
            );
        }
        match data.and_then(Dataset::given_weights) {
            None => {}
            Some(Weights::Relative(_)) => verdict.warnings.push(
                "Rows have relative weights; the scores count every row once, and intervals are those of a row of \
                 average weight."
                    .into(),
            ),
            Some(Weights::Repeats(_)) => {
                verdict.warnings.push("Rows stand for several; the scores count every row once.".into());
            }
        }
        verdict
    }
}

/// A note as a sentence.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// The headline of a model without a check.
fn unchecked(model: &Model, marks: &Marks) -> String {
    let names = model.target_names();
    let [share, ridge] = [0, 1].map(|i| format!("{:.0} %", 100.0 * marks.methods[i].task_r2.max(0.0)));
    let of = match names {
        [name] => format!("of {name}"),
        many => format!("on average over {} targets", many.len()),
    };
    format!(
        "Not checked by refits on held-out rows. With single rows left out at fixed scales, which flatters, it explains \
         {share} of the variance {of}; ridge regression explains {ridge}."
    )
}

fn judged(model: &Model, marks: &Marks, headline: String) -> Verdict {
    let names = model.target_names();
    let (mut strong, mut fair, mut weak, mut none) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut constant = Vec::new();
    let (mut straight, mut narrow, mut wide, mut few) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (c, (name, task)) in names.iter().zip(&marks.tasks).enumerate() {
        let score = format!("{name} (R² {:.2}, typical error {})", task.r2, significant(task.rmse));
        match task.r2 {
            r2 if r2.is_nan() => constant.push(name.clone()),
            r2 if r2 >= STRONG => strong.push(score),
            r2 if r2 >= FAIR => fair.push(score),
            r2 if r2 >= WEAK => weak.push(score),
            _ => none.push(score),
        }
        let ridge = marks.methods[1].r2[c];
        // Written so that NaN warns of nothing.
        if ridge >= task.r2 - AS_GOOD && ridge > WEAK {
            straight.push(format!("{name} (R² {ridge:.2} against {:.2})", task.r2));
        }
        let expected = (LEVEL * (1.0 - LEVEL) / task.observed.max(1) as f64).sqrt();
        let inside = format!("{name} (hold {:.0} %)", 100.0 * task.coverage);
        if task.coverage - LEVEL > CHANCE * expected {
            wide.push(inside);
        } else if LEVEL - task.coverage > CHANCE * expected {
            narrow.push(inside);
        }
        if task.observed < FEW {
            few.push(format!("{name} ({})", task.observed));
        }
    }
    let level = format!("{:.0} %", 100.0 * LEVEL);
    let lines = |groups: Vec<(String, Vec<String>)>| -> Vec<String> {
        let line = |(words, group): (String, Vec<String>)| {
            (!group.is_empty()).then(|| format!("{words}: {}.", group.join(", ")))
        };
        groups.into_iter().filter_map(line).collect()
    };
    Verdict {
        headline,
        good_for: lines(vec![
            ("Predicted well".into(), strong),
            ("Predicted usably, with wide intervals".into(), fair),
        ]),
        not_for: lines(vec![
            ("Single predictions, which only show a tendency".into(), weak),
            ("Hardly better than the mean".into(), none),
            ("Nothing to judge by, as the target never varies".into(), constant),
        ]),
        warnings: lines(vec![
            ("Ridge regression does as well; straight lines would be enough".into(), straight),
            (format!("Intervals of {level} are too narrow"), narrow),
            (format!("Intervals of {level} are wider than needed"), wide),
            ("Few values to judge by, so that the scores are rough".into(), few),
        ]),
    }
}

/// Three significant digits.
pub(super) fn significant(value: f64) -> String {
    rffblr::internals::significant(value, 3)
}
