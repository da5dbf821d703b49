//! The verdict in words: what the model is good for, what it is not, and what to be wary of.

use super::labels::Labels;
use super::quality::{Checked, Marks, Quality};
use super::{Data, brief};
use rffblr::data::{Dataset, Weights};
use rffblr::metrics::LEVEL;
use rffblr::{Model, Stop};
use serde::Serialize;

/// Fewer observed values than this judge a target only roughly.
pub(super) const FEW: usize = 50;
/// R² above which a target counts as well predicted, usable, and better than nothing.
const STRONG: f64 = 0.8;
const FAIR: f64 = 0.5;
const WEAK: f64 = 0.2;
/// Mean error, as a share of that of the mean, below which a target of low R² is said to be predicted better than that.
const CLOSER: f64 = 0.8;
/// Reach of a 90 % interval, in standard errors.
pub(super) const REACH: f64 = 1.644_853_626_951_472_2;

#[derive(Serialize)]
pub(super) struct Verdict {
    pub(super) headline: String,
    pub(super) grade: Grade,
    /// One for each target; empty if nothing is known.
    pub(super) targets: Vec<TargetVerdict>,
    /// Where the scores come from, in words.
    pub(super) basis: String,
    pub(super) good_for: Vec<String>,
    pub(super) not_for: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// How good predictions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Grade {
    Strong,
    Fair,
    Weak,
    None,
    /// Not known.
    Open,
}

impl Grade {
    fn of(r2: f64) -> Grade {
        match r2 {
            r2 if r2.is_nan() => Grade::Open,
            r2 if r2 >= STRONG => Grade::Strong,
            r2 if r2 >= FAIR => Grade::Fair,
            r2 if r2 >= WEAK => Grade::Weak,
            _ => Grade::None,
        }
    }
}

/// What is to be expected of one target.
#[derive(Serialize)]
pub(super) struct TargetVerdict {
    pub(super) grade: Grade,
    /// The typical error in the unit of the target, beside that of guessing the mean.
    pub(super) error: String,
    /// The share of the variance that is explained, with its 90 % range.
    pub(super) explained: String,
    r2: f64,
    low: f64,
    high: f64,
}

impl Verdict {
    /// By refits on held-out folds, if there were any; else by leaving out rows at fixed scales, if there are data. New rows
    /// come first, if they were given.
    pub(super) fn new(
        model: &Model,
        data: Data<'_>,
        checked: Option<&Checked>,
        quality: Option<&Quality>,
        notes: &[String],
        labels: &Labels,
    ) -> Verdict {
        let new_rows = quality.filter(|quality| quality.new);
        let (marks, basis) = match (new_rows, checked, quality) {
            (Some(new), _, _) => (
                Some(&new.marks),
                format!("on {} rows that the model has never seen", data.rows().map_or(0, Dataset::rows)),
            ),
            (None, Some(checked), _) => (Some(&checked.marks), format!("on rows it has not seen: {}", checked.how)),
            (None, None, Some(quality)) => {
                (Some(&quality.marks), "with single rows left out at fixed scales, which flatters".into())
            }
            (None, None, None) => (None, String::new()),
        };
        let mut verdict = match marks {
            Some(marks) => judged(model, marks, basis, labels),
            None => Verdict {
                headline:
                    "Not judged: the model was not checked by refits on held-out rows, and what else there is to say \
                           on how well it does needs its training data."
                        .into(),
                grade: Grade::Open,
                targets: Vec::new(),
                basis,
                good_for: Vec::new(),
                not_for: Vec::new(),
                warnings: Vec::new(),
            },
        };
        if checked.is_none() && new_rows.is_none() && quality.is_some() {
            verdict.headline = format!("Not checked by refits on held-out rows. {}", verdict.headline);
            verdict.warnings.push(
                "The model was not checked by refits on held-out rows. Scores are those of single rows left out at fixed \
                 scales: on new rows it will do worse."
                    .into(),
            );
        }
        if let (Some(_), None, Some(check)) = (checked, new_rows, model.check()) {
            verdict.warnings.extend(check.notes(model.target_names()));
        }
        verdict.not_for.push(
            "Rows unlike the training rows: the function is learned only where data are; far away its interval is wide \
             and should be believed."
                .into(),
        );
        verdict.not_for.push("Causes: it says what goes together with a target, not what would change it.".into());
        match model.stop() {
            Stop::Converged | Stop::Effort => {}
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
        match data.rows().and_then(Dataset::given_weights) {
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

/// A share as whole percents; nothing below zero is explained.
pub(super) fn percent(share: f64) -> String {
    if share.is_nan() { "–".into() } else { format!("{}\u{a0}%", whole(share)) }
}

/// The number of percents: what is nearly all is not said to be all.
fn whole(share: f64) -> String {
    match 100.0 * share.clamp(0.0, 1.0) {
        nearly if (99.5..100.0).contains(&nearly) => format!("{:.1}", nearly.min(99.9)),
        percent => format!("{percent:.0}"),
    }
}

/// A share with its 90 % range, where that is known.
fn with_range(share: f64, se: f64) -> String {
    if se.is_nan() {
        return percent(share);
    }
    format!("{} ({} to {})", percent(share), whole(share - REACH * se), whole(share + REACH * se))
}

fn judged(model: &Model, marks: &Marks, basis: String, labels: &Labels) -> Verdict {
    let names = model.target_names();
    let (mut strong, mut fair, mut weak, mut none) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut constant, mut few, mut closer) = (Vec::new(), Vec::new(), Vec::new());
    let mut targets = Vec::new();
    for (c, (name, task)) in names.iter().zip(&marks.tasks).enumerate() {
        let called = labels.name(name);
        let grade = Grade::of(task.r2);
        let score = format!("{called} (R² {:.2}, off by {} on average)", task.r2, labels.amount(name, task.mae));
        match grade {
            Grade::Open => constant.push(called.clone()),
            Grade::Strong => strong.push(score),
            Grade::Fair => fair.push(score),
            Grade::Weak => weak.push(score),
            Grade::None => none.push(score),
        }
        let mean_error = marks.methods[2].mae[c];
        if matches!(grade, Grade::Weak | Grade::None) && task.mae < CLOSER * mean_error {
            let [own, mean] = [task.mae, mean_error].map(|error| labels.amount(name, error));
            closer.push(format!("{called} (off by {own} on average, the mean by {mean})"));
        }
        if task.observed < FEW {
            few.push(format!("{called} ({})", task.observed));
        }
        let ends = [task.r2 - REACH * task.r2_se, task.r2 + REACH * task.r2_se];
        targets.push(TargetVerdict {
            grade,
            error: format!(
                "off by {} on average; guessing the mean: {}",
                labels.amount(name, task.mae),
                labels.amount(name, marks.methods[2].mae[c])
            ),
            explained: format!("explains {} of the variance", with_range(task.r2, task.r2_se)),
            r2: task.r2,
            low: brief(ends[0]),
            high: brief(ends[1].min(1.0)),
        });
    }
    let lines = |groups: Vec<(&str, Vec<String>)>| -> Vec<String> {
        let line = |(words, group): (&str, Vec<String>)| {
            (!group.is_empty()).then(|| format!("{words}: {}.", group.join(", ")))
        };
        groups.into_iter().filter_map(line).collect()
    };
    let [task_r2, ridge] = [0, 1].map(|i| marks.methods[i].task_r2);
    let of = match names {
        [name] => format!("of {}", labels.name(name)),
        many => format!("on average over {} targets", many.len()),
    };
    let beside = if ridge.is_nan() { String::new() } else { format!("; ridge regression explains {}", percent(ridge)) };
    Verdict {
        headline: match task_r2.is_nan() {
            true => "No target varies in the rows that were held out.".into(),
            false => format!(
                "Explains {} of the variance {of}{beside}.{}",
                with_range(task_r2, marks.task_r2_se),
                off_by(names, marks, labels)
            ),
        },
        grade: Grade::of(task_r2),
        targets,
        basis,
        good_for: lines(vec![("Predicted well", strong), ("Predicted usably, with wide intervals", fair)]),
        not_for: lines(vec![
            ("Single predictions, which only show a tendency", weak),
            ("Hardly better than the mean", none),
            ("Nothing to judge by, as the target never varies", constant),
        ]),
        warnings: lines(vec![
            ("Few values to judge by, so that the scores are rough", few),
            (
                "R² counts squared errors, which a few large ones decide; errors as such are clearly smaller than those of the mean",
                closer,
            ),
        ]),
    }
}

/// The typical error of every target in its unit, if there are few.
fn off_by(names: &[String], marks: &Marks, labels: &Labels) -> String {
    const MOST: usize = 3;
    let one = |(c, name): (usize, &String)| {
        let [own, mean] = [marks.tasks[c].mae, marks.methods[2].mae[c]].map(|mae| labels.amount(name, mae));
        let of = if names.len() > 1 { format!("{} by ", labels.name(name)) } else { "by ".into() };
        format!("{of}{own} (guessing the mean: {mean})")
    };
    let each: Vec<String> = names.iter().enumerate().filter(|(c, _)| !marks.tasks[*c].r2.is_nan()).map(one).collect();
    if each.is_empty() || names.len() > MOST { String::new() } else { format!(" Off on average: {}.", each.join(", ")) }
}

/// Whether 90 % intervals hold what they say: below zero too narrow, above too wide, zero as far as chance allows.
pub(super) fn calibration(coverage: f64, observed: usize) -> i32 {
    /// Standard deviations of a count beyond which it is not due to chance.
    const CHANCE: f64 = 2.6;
    let expected = (LEVEL * (1.0 - LEVEL) / observed.max(1) as f64).sqrt();
    match coverage - LEVEL {
        more if more > CHANCE * expected => 1,
        less if less < -CHANCE * expected => -1,
        _ => 0,
    }
}

/// Three significant digits.
pub(super) fn significant(value: f64) -> String {
    rffblr::internals::significant(value, 3)
}
