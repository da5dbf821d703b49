//! The model card: what the program knows under the headings of Annex IV of the EU AI Act (Regulation (EU) 2024/1689)
//! and of TRIPOD+AI (2024), and a mark where a person has to write.

use super::Contents;
use super::checks::State;
use super::quality::Marks;
use super::verdict::significant;
use rffblr::data::{Encoding, MissingInputs};
use rffblr::metrics::with_error;
use rffblr::{Form, Model, Stop};

/// A part of the card that only a person can write.
fn blank(what: &str) -> String {
    format!("**[to be filled: {what}]**")
}

pub(super) fn write(report: &Contents, model: &Model) -> String {
    let facts = Facts { report, model };
    let mut text = format!("# Model card: {}\n\n", plain(&report.title));
    text += "Written by rffblr from the model file and, where given, its training data. What stands in **[brackets]** the \
             program cannot know; a card with such a mark is not finished.\n\n";
    text += "## Verdict\n\n";
    text += &format!("{}\n\n", plain(&report.verdict.headline));
    for (title, lines) in [
        ("Good for", &report.verdict.good_for),
        ("Not for", &report.verdict.not_for),
        ("Warnings", &report.verdict.warnings),
    ] {
        if !lines.is_empty() {
            text += &format!(
                "{title}:\n\n{}\n",
                lines.iter().map(|line| format!("- {}\n", plain(line))).collect::<String>()
            );
        }
    }
    text += "# EU AI Act, Annex IV\n\n";
    text += &sections(&annex_iv(&facts));
    text += "# TRIPOD+AI\n\n";
    text += &sections(&tripod(&facts));
    text.trim_end().to_owned() + "\n"
}

fn sections(sections: &[(&str, String)]) -> String {
    sections.iter().map(|(title, body)| format!("## {title}\n\n{}\n\n", body.trim_end())).collect()
}

fn annex_iv(facts: &Facts<'_>) -> Vec<(&'static str, String)> {
    vec![
        (
            "1. General description",
            format!(
                "- Intended purpose: {}\n- Provider and version of the system: {}\n- Software: {}\n- Hardware: an ordinary \
                 computer; no accelerator is used\n- Form: one model file (JSON) that executes nothing on load; \
                 predictions by the command line, the library or this report's what-if panel\n- Instructions for use: {}",
                blank("what decisions it supports, for whom"),
                blank("name, version, date"),
                plain(facts.model.writer()),
                blank("how those who use it are to act on a prediction and its interval"),
            ),
        ),
        (
            "2. Elements and development",
            format!(
                "Methods: {}\n\nDesign: one model for all targets; scales and noise maximise the marginal likelihood \
                 times a prior (drawn cosines: a lower bound on it); neither cross-validation nor a pretrained part is \
                 used to choose them.\n\nData:\n\n{}\n\n- Origin, selection and labelling of the rows: {}\n\nInputs:\n\n{}\n\nHuman \
                 oversight: {}\n\nChanges foreseen: {}\n\nValidation: {}; see section 4.\n\nCybersecurity: the file carries a checksum and probe predictions (rffblr \
                 verify). {}",
                facts.method(),
                facts.data(),
                blank("source, period, how values were measured, known bias"),
                facts.inputs(),
                blank("who checks predictions, and how they can be overruled"),
                blank("when the model will be fitted again"),
                facts.validation(),
                blank("access to the system and its data"),
            ),
        ),
        (
            "3. Monitoring, functioning and control",
            format!(
                "Capabilities and limits: see the verdict above.\n\nChecks:\n\n{}\n\nErrors in parts of the table: see the report. \
                 Accuracy for specific groups of persons: {}\n\nForeseeable unintended outcomes: {}\n\nWhat input data must \
                 look like: the columns named in section 2, in the same units; {}",
                facts.questions(),
                blank("scores by group"),
                blank("risks to health, safety, rights; discrimination"),
                facts.missing(),
            ),
        ),
        (
            "4. Performance metrics",
            format!(
                "{}\n\nR² is the share of the variance explained (± its standard error); RMSE the typical error in the unit \
                 of the target; the last column how many values lie in their 90 % interval. Why these metrics fit the purpose: {}",
                facts.scores(),
                blank("which error matters and what is acceptable")
            ),
        ),
        ("5. Risk management", blank("the system of Article 9")),
        ("6. Changes through the lifecycle", blank("changes made by the provider")),
        ("7. Standards applied", blank("harmonised standards or other specifications")),
        ("8. EU declaration of conformity", blank("copy of the declaration")),
        ("9. Evaluation after placing on the market", blank("the plan of Article 72")),
    ]
}

fn tripod(facts: &Facts<'_>) -> Vec<(&'static str, String)> {
    let targets = facts.model.target_names().iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ");
    vec![
        ("1. Title", format!("Development of a model that predicts {targets}. {}", blank("population and setting"))),
        ("2. Abstract", blank("after TRIPOD+AI for Abstracts")),
        ("3. Background", blank("context, existing models, intended users, health inequalities")),
        ("4. Objectives", blank("development, evaluation or both")),
        ("5. Data", format!("{}\n\n- Sources, dates: {}", facts.data(), blank("where, when, why representative"))),
        ("6. Participants", blank("setting, eligibility, treatments")),
        ("7. Data preparation", format!("{}\n\n{}", facts.inputs(), blank("what was done before this table"))),
        ("8. Outcome", format!("{targets}. {}", blank("definition, time horizon, how assessed, blinding"))),
        (
            "9. Predictors",
            format!("{} inputs, listed under 7. {}", facts.raw_inputs(), blank("why these, how measured")),
        ),
        (
            "10. Sample size",
            format!("{} rows, not computed in advance. {}", facts.model.training_rows(), blank("why it is enough")),
        ),
        ("11. Missing data", facts.missing()),
        (
            "12. Analytical methods",
            format!(
                "{}\n\nPredictions are compared with ridge regression and the mean. Subgroups: {}",
                facts.method(),
                blank("differences between groups or sites")
            ),
        ),
        ("13. Class imbalance", "Does not apply: the targets are numbers.".into()),
        ("14. Fairness", blank("how fairness was considered")),
        (
            "15. Model output",
            "For each target a mean, a standard deviation and an interval, on the scale of the target.".into(),
        ),
        (
            "16. Training and evaluation",
            format!(
                "Both use the same table: {}. No other setting was tested: {}",
                facts.validation(),
                blank("external validation")
            ),
        ),
        ("17. Ethical approval", blank("committee and number, or why not needed")),
        (
            "18. Open science",
            format!(
                "- Funding, conflicts of interest, protocol, registration: {}\n- Data: {}\n- Code: rffblr, MIT or \
                 Apache-2.0; the model is the file named below\n\n{}",
                blank("each of them"),
                blank("whether and how available"),
                facts.origin()
            ),
        ),
        ("19. Patient and public involvement", blank("or that there was none")),
        ("20. Participants", format!("{}\n\n{}", facts.data(), blank("characteristics, by group"))),
        ("21. Model development", facts.data()),
        ("22. Model specification", facts.specification()),
        ("23. Model performance", facts.scores()),
        ("24. Model updating", "Does not apply: the model was not updated.".into()),
        ("25. Interpretation", blank("results against objectives and earlier studies")),
        (
            "26. Limitations",
            format!(
                "{}\n{}",
                facts.report.verdict.warnings.iter().map(|line| format!("- {}\n", plain(line))).collect::<String>(),
                blank("bias of the sample, generalisability")
            ),
        ),
        ("27. Usability", blank("poor or missing inputs in practice, skills needed, next steps")),
    ]
}

/// What both lists ask for.
struct Facts<'a> {
    report: &'a Contents,
    model: &'a Model,
}

impl Facts<'_> {
    fn method(&self) -> String {
        let terms = self.model.active_features();
        let form = match &self.model.settings().form {
            Form::Kernel => {
                format!("a Gaussian process with a learned sum kernel, on {terms} training rows{}", self.groups())
            }
            Form::Sinusoids { .. } => format!("{terms} sinusoids that reproduce a Gaussian process{}", self.groups()),
            Form::Drawn { .. } => format!(
                "a Bayesian linear model on {terms} cosines and straight lines drawn from a learned kernel{}",
                self.groups()
            ),
            Form::Automatic | Form::Cosines(_) => {
                format!("a Bayesian linear model on {terms} cosines and straight lines")
            }
        };
        let stop = match self.model.stop() {
            Stop::Converged => "converged",
            Stop::MaxIterations => "stopped at its limit",
            Stop::Effort => "ended, as its effort allowed no more,",
            Stop::Requested => "was stopped",
        };
        format!(
            "Bayesian multitask regression (RFF-BLR): {form}. The fit {stop} after {} steps.",
            self.model.trace().len()
        )
    }

    /// Which targets share a kernel, if not all of them do.
    fn groups(&self) -> String {
        let (groups, names) = (self.model.task_groups(), self.model.target_names());
        let named = |tasks: &Vec<usize>| tasks.iter().map(|&c| plain(&names[c])).collect::<Vec<_>>().join(", ");
        match groups.len() {
            1 => String::new(),
            count => {
                let groups = groups.iter().map(named).collect::<Vec<_>>().join("; ");
                format!(" with {count} kernels, each for targets that need the same inputs ({groups})")
            }
        }
    }

    fn raw_inputs(&self) -> usize {
        self.model.encoder().map_or(self.model.input_names().len(), |encoder| encoder.raw_inputs().len())
    }

    fn data(&self) -> String {
        let mut lines = vec![format!(
            "- {} rows, {} inputs, {} targets; SHA-256 of the encoded training data {}",
            self.model.training_rows(),
            self.raw_inputs(),
            self.model.target_names().len(),
            self.model.fingerprint().unwrap_or("not known")
        )];
        if let Some(quality) = &self.report.quality {
            let observed = self.model.target_names().iter().zip(&quality.marks.tasks);
            let observed: Vec<String> =
                observed.map(|(name, task)| format!("{} {}", plain(name), task.observed)).collect();
            lines.push(format!("- observed values by target: {}", observed.join(", ")));
        }
        lines.join("\n")
    }

    fn inputs(&self) -> String {
        let Some(encoder) = self.model.encoder() else {
            return "All inputs are numbers.".into();
        };
        let line = |input: &rffblr::data::RawInput| {
            let what = match &input.encoding {
                Encoding::Numeric { median, indicator: true } => {
                    format!("number; where missing, the median {} and a mark", significant(*median))
                }
                Encoding::Numeric { .. } => "number".into(),
                Encoding::Presence => "whether it is missing".into(),
                Encoding::Date(date) => format!("date: {}", date.describe()),
                Encoding::Categorical { levels, rare: 0, .. } => format!("one of {} levels", levels.len()),
                Encoding::Categorical { levels, rare, .. } => {
                    format!("one of {} levels, the last of them any of {rare} rarer ones", levels.len())
                }
            };
            format!("- {}: {what}", plain(&input.name))
        };
        encoder.raw_inputs().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn missing(&self) -> String {
        let inputs = match self.model.encoder().map(|encoder| encoder.missing_inputs()) {
            Some(MissingInputs::Impute) => {
                "a missing number takes the median of the training rows, a missing text has no level, and a column \
                 marks both where training had such gaps"
            }
            Some(MissingInputs::Error) | None => "missing inputs are refused",
        };
        format!("{inputs}. Missing target cells carry no information and are left out one by one, not with their row.")
    }

    fn validation(&self) -> String {
        let checked =
            self.report.check.as_ref().map(|check| {
                format!("everything learned again without the rows it is tested on ({})", plain(&check.how))
            });
        let left_out = self.report.quality.as_ref().map(|quality| match quality.new {
            true => "rows the model was not fitted to".to_owned(),
            false => "each row left out in turn at the scales learned with it, a diagnostic that flatters".to_owned(),
        });
        match checked.into_iter().chain(left_out).collect::<Vec<_>>() {
            none if none.is_empty() => blank("how the model was validated; a report with the training data does it"),
            both => both.join("; and "),
        }
    }

    fn questions(&self) -> String {
        let line = |question: &super::checks::Question| {
            let state = match question.state {
                State::Pass => "yes",
                State::Warn => "mind",
                State::Fail => "no",
                State::Unknown => "not known",
            };
            format!("- {} {state}: {}", question.question, plain(&question.answer))
        };
        self.report.questions.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn scores(&self) -> String {
        let checked = self.report.check.as_ref().map(|check| (format!("Held-out rows: {}", check.how), &check.marks));
        let left_out = self.report.quality.as_ref().map(|quality| {
            let how = match quality.new {
                true => "Rows the model was not fitted to",
                false => "Each row left out in turn at fixed scales (a diagnostic that flatters)",
            };
            (how.to_owned(), &quality.marks)
        });
        let tables: Vec<String> =
            checked.into_iter().chain(left_out).map(|(title, marks)| self.marks(&title, marks)).collect();
        match tables.is_empty() {
            true => blank("scores; a report with the training data has them"),
            false => tables.join("\n"),
        }
    }

    fn marks(&self, title: &str, marks: &Marks) -> String {
        let mut text = format!(
            "{}:\n\n| target | values | R² | ridge R² | mean R² | RMSE | in 90 % |\n|---|---|---|---|---|---|---|\n",
            plain(title)
        );
        for (c, (name, task)) in self.model.target_names().iter().zip(&marks.tasks).enumerate() {
            text += &format!(
                "| {} | {} | {} | {} | {} | {} | {:.0} % |\n",
                plain(name),
                task.observed,
                with_error(task.r2, task.r2_se),
                with_error(marks.methods[1].r2[c], f64::NAN),
                with_error(marks.methods[2].r2[c], f64::NAN),
                significant(task.rmse),
                100.0 * task.coverage
            );
        }
        text
    }

    fn specification(&self) -> String {
        format!(
            "The model file is the specification: {} Everything needed to compute a prediction is in it, and the report \
             evaluates it in the browser.",
            match &self.model.settings().form {
                Form::Kernel =>
                    "f(x) = Σ βₙ κ(xₙ, x), with the learned kernel κ of the target and the standardised training inputs xₙ.",
                _ if self.model.links().is_empty() => "f(x) = Σ wₘ cos(ωₘ·x + pₘ) + b.",
                Form::Automatic | Form::Drawn { .. } | Form::Sinusoids { .. } | Form::Cosines(_) =>
                    "f(x) = Σ wₘ cos(ωₘ·x + pₘ) + straight lines + b.",
            }
        )
    }

    fn origin(&self) -> String {
        let line = |(label, value): &(String, String)| format!("- {}: {}\n", plain(label), plain(value));
        self.report.origin.iter().map(line).collect()
    }
}

/// Text as it can stand anywhere in Markdown: a name must not make a heading, a link or a tag.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out += "&lt;",
            '&' => out += "&amp;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => out.extend(['\\', letter]),
            '\n' | '\r' | '\t' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}
