//! Questions that a reader should ask first, answered by yes or no.

use super::drift::Drift;
use super::groups::Groups;
use super::labels::Labels;
use super::quality::{Checked, Marks, Quality};
use super::verdict::{FEW, calibration, percent, significant};
use rffblr::Model;
use rffblr::data::{Encoding, NoteKind, RawInput};
use rffblr::internals::{coordinates, names_time};
use rffblr::metrics::{Check, SplitBy};
use serde::Serialize;

/// What a simple model may lack in R² and still be as good.
const AS_GOOD: f64 = 0.02;
/// Share of new rows that may be far from all training rows.
const APART: f64 = 0.1;

/// A question and its answer.
#[derive(Serialize)]
pub(super) struct Question {
    pub(super) id: &'static str,
    pub(super) question: &'static str,
    pub(super) state: State,
    pub(super) answer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Pass,
    Warn,
    Fail,
    Unknown,
}

/// What is known.
pub(super) struct Known<'a> {
    pub(super) model: &'a Model,
    pub(super) check: Option<&'a Checked>,
    pub(super) quality: Option<&'a Quality>,
    pub(super) groups: Option<&'a Groups>,
    pub(super) drift: Option<&'a Drift>,
    /// Names of the inputs that a drift is about.
    pub(super) inputs: &'a [String],
    /// The kinds of the notes on the training table; `None` if it was not given.
    pub(super) notes: Option<Vec<NoteKind>>,
    pub(super) labels: &'a Labels,
}

impl Known<'_> {
    /// All questions that can be answered.
    pub(super) fn questions(&self) -> Vec<Question> {
        [self.calibrated(), self.patternless(), self.beats_ridge(), self.held_out_fairly(), self.leak(), self.drifted()]
            .into_iter()
            .flatten()
            .chain(self.enough())
            .collect()
    }

    /// The scores that count.
    fn marks(&self) -> Option<&Marks> {
        let new = self.quality.filter(|quality| quality.new).map(|quality| &quality.marks);
        new.or(self.check.map(|check| &check.marks)).or(self.quality.map(|quality| &quality.marks))
    }

    fn target(&self, c: usize) -> String {
        self.labels.name(&self.model.target_names()[c])
    }

    fn calibrated(&self) -> Option<Question> {
        let tasks = &self.marks()?.tasks;
        let of = |sign: i32| -> Vec<String> {
            let off = |(c, task): (usize, &super::quality::TaskQuality)| {
                (calibration(task.coverage, task.observed) == sign)
                    .then(|| format!("{} {}", self.target(c), percent(task.coverage)))
            };
            tasks.iter().enumerate().filter_map(off).collect()
        };
        let (narrow, wide) = (of(-1), of(1));
        let cells: usize = tasks.iter().map(|task| task.observed).sum();
        let all: f64 = tasks.iter().filter(|task| task.observed > 0).map(|t| t.coverage * t.observed as f64).sum();
        let (state, mut answer) = match (narrow.is_empty(), wide.is_empty()) {
            (false, _) => {
                (State::Fail, format!("Too narrow: they hold less than they promise ({}).", narrow.join(", ")))
            }
            (_, false) => (State::Warn, format!("Wider than needed: {}.", wide.join(", "))),
            _ => (State::Pass, format!("They hold {} of the values.", percent(all / cells.max(1) as f64))),
        };
        // The intervals are those that the model gives, which the refits may have made wider.
        let wider = self.model.check().map_or(&[][..], |check| &check.wider);
        let factors: Vec<String> = wider
            .iter()
            .enumerate()
            .filter(|(_, factor)| **factor > 1.0)
            .map(|(c, factor)| format!("{} {factor:.2}", self.target(c)))
            .collect();
        if !factors.is_empty() {
            answer += &format!(
                " That is of intervals made wider by what the refits showed, by a factor of: {}.",
                factors.join(", ")
            );
        }
        Some(Question { id: "calibrated", question: "Do 90 % intervals hold 90 %?", state, answer })
    }

    fn patternless(&self) -> Option<Question> {
        let pattern = self.groups?.pattern.as_ref()?;
        let side = if pattern.mean > 0.0 { "below" } else { "above" };
        let answer = match pattern.real {
            false => "No part of the table is missed to one side by more than chance.".into(),
            true => format!(
                "Where {} is {}, {} is predicted {} standard deviations {side} what was observed, on average over {} rows.",
                self.labels.name(&pattern.column),
                pattern.value,
                self.target(pattern.task),
                significant(pattern.mean.abs()),
                pattern.rows
            ),
        };
        let state = if pattern.real { State::Fail } else { State::Pass };
        Some(Question { id: "patternless", question: "Are the errors without pattern?", state, answer })
    }

    fn beats_ridge(&self) -> Option<Question> {
        let marks = self.check.map(|check| &check.marks).or(self.quality.map(|quality| &quality.marks))?;
        let [own, ridge] = [0, 1].map(|i| marks.methods[i].task_r2);
        if own.is_nan() || ridge.is_nan() {
            return None;
        }
        let beside = format!("It explains {}, ridge regression {}", percent(own), percent(ridge));
        let (state, answer) = match own - ridge {
            more if more > AS_GOOD => (State::Pass, format!("{beside}.")),
            less if less < -AS_GOOD => (State::Fail, format!("{beside}: straight lines are better here.")),
            _ => (State::Warn, format!("{beside}: straight lines would be enough.")),
        };
        Some(Question { id: "ridge", question: "Does it beat straight lines?", state, answer })
    }

    /// Whether random folds held out rows that are like those to come.
    fn held_out_fairly(&self) -> Option<Question> {
        let (notes, split) = (self.notes.as_ref()?, self.model.check().map(|check: &Check| &check.split)?);
        let random = matches!(split, SplitBy::Random { .. } | SplitBy::HeldOut { .. });
        let has = |kind: NoteKind| notes.contains(&kind);
        let (state, answer) = match (random, has(NoteKind::Units), has(NoteKind::Time), has(NoteKind::Repeated)) {
            (true, true, _, _) => {
                (State::Fail, "Rows of one unit were on both sides: hold out whole units (see the warnings).")
            }
            (true, _, true, _) => (
                State::Warn,
                "If the rows to predict are later ones: train on the past and test on the future (see the warnings).",
            ),
            (true, _, _, true) => (State::Warn, "Rows that repeat were on both sides (see the warnings)."),
            _ => (State::Pass, "Nothing in the table says that other rows should have been held out together."),
        };
        let question = "Was it tested on rows like those to come?";
        let (state, answer) = match self.neighbours().filter(|_| random && state == State::Pass) {
            Some(doubt) => (State::Unknown, doubt),
            None => (state, answer.to_owned()),
        };
        Some(Question { id: "folds", question, state, answer })
    }

    /// Why rows held out at random may have had neighbours among those learned from, and the remedy: places and times are
    /// among the inputs.
    fn neighbours(&self) -> Option<String> {
        let encoder = self.model.table_encoder();
        let raw = encoder.raw_inputs();
        let names: Vec<&str> = raw.iter().map(|input| input.name.as_str()).collect();
        if let Some((x, y)) = coordinates(&names) {
            return Some(format!(
                "{} and {} look like coordinates: rows held out had neighbours among those learned from. If the rows to \
                 predict are elsewhere, name a column of areas (--group).",
                self.labels.name(x),
                self.labels.name(y)
            ));
        }
        let is_time = |input: &&RawInput| matches!(input.encoding, Encoding::Date(_)) || names_time(&input.name);
        let time = raw.iter().find(is_time)?;
        Some(format!(
            "{} looks like a time: if the rows to predict are later ones, train on the past and test on the future (--time).",
            self.labels.name(&time.name)
        ))
    }

    fn leak(&self) -> Option<Question> {
        let found = self.notes.as_ref()?.contains(&NoteKind::Leak);
        let (state, answer) = match found {
            true => (State::Fail, "An input predicts a target too well to be true (see the warnings)."),
            false => (State::Pass, "No single input predicts a target nearly perfectly."),
        };
        Some(Question { id: "leak", question: "Is it free of leaks?", state, answer: answer.into() })
    }

    fn drifted(&self) -> Option<Question> {
        let drift = self.drift?;
        let name = |(input, by): &(usize, f64)| {
            let sign = if *by > 0.0 { "+" } else { "−" };
            format!("{} {sign}{}", self.labels.name(&self.inputs[*input]), significant(by.abs()))
        };
        let moved: Vec<String> = drift.moved.iter().take(5).map(name).collect();
        let apart = format!("{} of the rows are far from all training rows", percent(drift.apart));
        let (state, answer) = match (drift.apart > APART, moved.is_empty()) {
            (false, true) => (State::Pass, format!("{apart}; no input has moved.")),
            (far, _) => {
                let moved = match moved.is_empty() {
                    true => String::new(),
                    false => format!("; inputs that moved, in standard deviations: {}", moved.join(", ")),
                };
                (if far { State::Fail } else { State::Warn }, format!("{apart}{moved}."))
            }
        };
        Some(Question { id: "drift", question: "Are the new rows like the training rows?", state, answer })
    }

    fn enough(&self) -> Option<Question> {
        let fewest = self.marks()?.tasks.iter().map(|task| task.observed).min()?;
        let (state, answer) = match fewest < FEW {
            true => (State::Warn, format!("A target has {fewest} values: its scores are rough.")),
            false => (State::Pass, format!("Every target has at least {fewest} values to judge by.")),
        };
        Some(Question { id: "enough", question: "Are there enough values to judge by?", state, answer })
    }
}
