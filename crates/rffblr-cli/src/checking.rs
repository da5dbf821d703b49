//! The check of a model on rows it has not seen: whether it is run, how far it is, and the table of its scores.

use crate::output;
use crate::output::significant;
use crate::watch::duration;
use anyhow::Result;
use indicatif::ProgressBar;
use rffblr::Settings;
use rffblr::data::TrainingTable;
use rffblr::drawn::NotHeld;
use rffblr::metrics::{Check, SplitBy, with_error};
use rffblr_methods::evaluate::{Refits, check};
use rffblr_methods::folds::Folds;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Refits of a check that was not asked for.
const USUAL: usize = 5;
/// Seconds beyond which such a check is not run.
const PATIENCE: f64 = 120.0;
/// What is said first where there is no check.
const UNCHECKED: &str = "Not checked on rows it has not seen";
const HOW: &str = "--check K runs K refits on held-out rows";

/// What `--check` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    Off,
    Refits(usize),
}

/// Parses `--check`.
pub fn wanted(text: &str) -> Result<Wanted, String> {
    match (text, text.parse()) {
        ("off", _) => Ok(Wanted::Off),
        (_, Ok(count)) if count > 0 => Ok(Wanted::Refits(count)),
        _ => Err("write a number of refits, or off".into()),
    }
}

/// How a model will be checked. It is made before the fit, so that an impossible split fails before hours of work.
pub enum Plan {
    /// With why not, in a sentence.
    No(String),
    Refits {
        folds: Folds,
        by: SplitBy,
        /// Whether it was asked for: then it is run however long it takes, and failing is an error.
        asked: bool,
    },
}

/// Why no rows of many were held out.
pub fn not_held(why: &NotHeld) -> String {
    match why {
        NotHeld::Unasked => format!("{UNCHECKED}."),
        _ => format!("{UNCHECKED}: {why}."),
    }
}

/// A check, or why there is none.
pub type Outcome = std::result::Result<Check, String>;

impl Plan {
    pub fn new(wanted: Option<Wanted>, training: &TrainingTable, seed: u64) -> Result<Plan> {
        let most = Folds::most(training)?;
        let count = match wanted {
            Some(Wanted::Off) => return Ok(Plan::No(format!("{UNCHECKED}: {HOW}."))),
            Some(Wanted::Refits(count)) => count,
            None => most.min(USUAL),
        };
        if wanted.is_none() && count < 2 {
            return Ok(Plan::No(format!("{UNCHECKED}: there is too little to split.")));
        }
        let (folds, by) = Folds::of_table(training, count, seed)?;
        Ok(Plan::Refits { folds, by, asked: wanted.is_some() })
    }

    /// Runs the check. `seconds` is what the fit took, if known; else the time is estimated from the first refits.
    pub fn run(
        self,
        training: &TrainingTable,
        settings: &Settings,
        seconds: Option<f64>,
        quiet: bool,
    ) -> Result<Outcome> {
        let (folds, by, asked) = match self {
            Plan::No(why) => return Ok(Err(why)),
            Plan::Refits { folds, by, asked } => (folds, by, asked),
        };
        let count = folds.count();
        let workers = rayon::current_num_threads().min(count);
        let rounds = |refits: usize| refits.div_ceil(workers) as f64;
        let too_long = |seconds: f64| format!("{UNCHECKED}: that would take about {}; {HOW}.", duration(seconds));
        if let Some(fit) = seconds.filter(|_| !asked) {
            let expected = fit * (count - 1) as f64 / count as f64 * rounds(count);
            if expected > PATIENCE {
                return Ok(Err(too_long(expected)));
            }
        }
        let (start, bar) = (Instant::now(), if quiet { ProgressBar::hidden() } else { refits_bar(count) });
        let expected = |refits: Refits| start.elapsed().as_secs_f64() * rounds(count) / rounds(refits.done).max(1.0);
        let is_timed = !asked && seconds.is_none();
        let observer = |refits: Refits| {
            bar.set_position(refits.done as u64);
            let too_long = is_timed && refits.done < count && expected(refits) > PATIENCE;
            if too_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = check(settings, training, &folds, by, &observer);
        bar.finish_and_clear();
        match found {
            Ok(Some((check, _))) => Ok(Ok(check)),
            Ok(None) => Ok(Err(too_long(PATIENCE.max(start.elapsed().as_secs_f64())))),
            Err(problem) if asked => Err(problem.into()),
            Err(problem) => Ok(Err(format!("{UNCHECKED}: {problem:#}."))),
        }
    }
}

fn refits_bar(count: usize) -> ProgressBar {
    let bar = output::progress(count as u64, "check on held-out rows: {pos} of {len} refits  {elapsed}");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The scores of a check by target, and the sentence that sums them up.
pub fn table(check: &Check, targets: &[String]) -> String {
    let (each, ridge, mean) = (&check.model.scores.per_task, &check.ridge.scores.per_task, &check.mean.scores.per_task);
    let coverage = |c: usize| each.coverage.as_ref().map_or(f64::NAN, |cells| cells[c]);
    let row = |(c, name): (usize, &String)| {
        vec![
            name.clone(),
            each.observed[c].to_string(),
            with_error(each.r2[c], check.model.r2_se[c]),
            if each.rmse[c].is_nan() { "–".into() } else { significant(each.rmse[c]) },
            percent(coverage(c)),
            with_error(ridge.r2[c], f64::NAN),
            with_error(mean.r2[c], f64::NAN),
        ]
    };
    let header = ["target", "values", "R²", "RMSE", "90 % holds", "ridge R²", "mean R²"];
    format!(
        "On rows it has not seen: {}\n{}\n{}\n",
        check.how(),
        output::table(header, targets.iter().enumerate().map(row).collect()),
        [vec![check.headline()], check.notes(targets), intervals(check, targets)].concat().join("\n")
    )
}

/// Fewest cells whose intervals are judged, and the shares of them between which 90 % intervals are as they should be.
const JUDGED: usize = 100;
const HELD: std::ops::RangeInclusive<f64> = 0.8..=0.97;

/// Targets whose intervals are too narrow or too wide, a sentence for each.
fn intervals(check: &Check, targets: &[String]) -> Vec<String> {
    let each = &check.model.scores.per_task;
    let Some(coverage) = &each.coverage else { return Vec::new() };
    let judged = targets.iter().zip(coverage).zip(&each.observed);
    let off = judged.filter(|((_, share), count)| **count >= JUDGED && !share.is_nan() && !HELD.contains(*share));
    let tell = |((name, share), count): ((&String, &f64), &usize)| {
        let (are, held) = (if *share < 0.9 { "narrow" } else { "wide" }, percent(*share));
        format!("The 90 % intervals of \"{name}\" are too {are}: they hold {held} of {count} values.")
    };
    off.map(tell).collect()
}

/// What to say of a model whose rows, each left out in turn, are predicted clearly worse than by its refits.
pub fn overfitted(check: &Check, left_out: f64) -> Option<String> {
    let (refits, error) = (check.model.scores.task_r2, check.model.task_r2_se);
    let clearly = (2.0 * error).max(0.02);
    (refits - left_out > clearly).then(|| {
        format!(
            "Refits on fewer rows do better (task R² {} against {left_out:.3}): what this model learned may be overfitted; try \
             another --seed, or more rows.\n",
            with_error(refits, error)
        )
    })
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    if share.is_nan() { "–".into() } else { format!("{:.0} %", 100.0 * share) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffblr::linalg::Mat;
    use rffblr::metrics::{HeldOut, OutOfFold};

    /// Two folds of a target that is predicted with errors of ±0.5 and deviations of this size.
    fn checked(rows: usize, deviation: f64) -> Check {
        let truth = |n: usize| (n % 10) as f64;
        let fold = |first: usize| {
            let one = |value: &dyn Fn(usize) -> f64| Mat::from_fn(rows, 1, |n, _| value(first + n));
            let mean = one(&|n| truth(n) + if n % 2 == 0 { 0.5 } else { -0.5 });
            HeldOut::new(one(&truth), mean, Some(one(&|_| deviation)))
        };
        let scores = OutOfFold::new(&[fold(0), fold(rows)]).unwrap();
        Check {
            split: SplitBy::Custom,
            folds: 2,
            rows: 2 * rows,
            model: scores.clone(),
            ridge: scores.clone(),
            mean: scores,
            unscored: Vec::new(),
            wider: Vec::new(),
        }
    }

    #[test]
    fn intervals_that_hold_too_few_or_too_many_are_told() {
        let told = |rows, deviation| intervals(&checked(rows, deviation), &["dose".into()]).join("|");
        assert_eq!(told(60, 0.1), "The 90 % intervals of \"dose\" are too narrow: they hold 0 % of 120 values.");
        assert_eq!(told(60, 9.0), "The 90 % intervals of \"dose\" are too wide: they hold 100 % of 120 values.");
        assert_eq!(told(40, 0.1), "");
        assert!(table(&checked(60, 0.1), &["dose".into()]).contains("too narrow"));
    }

    #[test]
    fn a_model_that_is_worse_than_its_refits_is_told() {
        let check = checked(60, 0.5);
        let r2 = check.model.scores.task_r2;
        assert!(r2 > 0.9 && check.model.task_r2_se < 0.01);
        assert!(overfitted(&check, r2 - 0.3).unwrap().contains("try another --seed"));
        assert!(overfitted(&check, r2 - 0.015).is_none() && overfitted(&check, r2 + 0.1).is_none());
        assert!(overfitted(&check, f64::NAN).is_none());
    }
}
