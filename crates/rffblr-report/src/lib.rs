//! The report: one HTML page that shows what a model learned and how far to trust it, and a model card in Markdown.
//!
//! This code computes one block of facts and puts it into a page that is a file of its own (`page/`): no figure is drawn
//! here, and nothing is computed there but the what-if panel, which evaluates the model file itself. The page needs no
//! network. The same model, data and program give the same bytes.

#![warn(missing_docs)]

mod card;
mod inside;
mod learned;
mod page;
mod quality;
#[cfg(test)]
mod tests;
mod verdict;
mod what_if;

use inside::Inside;
use learned::{Learned, Local, Together};
use quality::{Checked, Quality};
use rffblr::data::{Dataset, Encoding};
use rffblr::explain::diagnostics;
use rffblr::internals::expect_count;
use rffblr::{Error, Model, Result};
use serde::Serialize;
use serde_json::Value;
use verdict::Verdict;
use what_if::WhatIf;

/// Most bytes of a page. What the rest leaves of them is there for the formula of the what-if panel.
const PAGE_BYTES: usize = 4_900_000;
/// What a report should say beside what model and data say themselves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Title of the page.
    pub title: String,
    /// Whether single rows may be shown. Without them there is no what-if panel for a kernel machine, which is made of
    /// its training rows, and a text column whose values fewer than five rows share is an error.
    pub row_data: bool,
    /// Number of each row in the table it comes from; empty means 1, 2, 3, …
    pub row_numbers: Vec<usize>,
    /// Where everything comes from: files, hashes, the command. Pairs of label and value.
    pub origin: Vec<(String, String)>,
    /// What casts doubt on the scores: the [warnings](rffblr::data::Note::is_warning) among the notes on the data.
    pub notes: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        let (title, row_numbers, origin, notes) = ("Model report".into(), Vec::new(), Vec::new(), Vec::new());
        Options { title, row_data: true, row_numbers, origin, notes }
    }
}

/// A page and a model card.
pub struct Report {
    html: String,
    card: String,
}

/// Everything the page shows but the what-if panel.
#[derive(Serialize)]
struct Contents {
    title: String,
    row_data: bool,
    targets: Vec<String>,
    inputs: Vec<String>,
    /// Columns the inputs become.
    columns: Vec<String>,
    model: ModelFacts,
    verdict: Verdict,
    /// Refits on held-out folds; `None` if the model was not checked.
    check: Option<Checked>,
    /// Rows left out at fixed scales; `None` without data.
    quality: Option<Quality>,
    /// `None` without rows to look at the function around.
    learned: Option<Learned>,
    /// `None` without data or where single rows may not be shown.
    local: Option<Local>,
    together: Option<Together>,
    inside: Inside,
    origin: Vec<(String, String)>,
    settings: Value,
    card: String,
}

/// The model in a few numbers.
#[derive(Serialize)]
struct ModelFacts {
    form: &'static str,
    terms: usize,
    rows: usize,
    stop: rffblr::Stop,
    steps: usize,
    objective: f64,
    nugget_std: Vec<f64>,
    target_scale: Vec<f64>,
    /// What the function of each target, and all that explains it, is of: the target, or its transform in words.
    scale_of: Vec<String>,
}

impl Report {
    /// Computes what the report shows. Its verdict is that of the model's [check](Model::check), if it has one. `data` are
    /// the rows the model was fitted to: diagnostics need them.
    pub fn new(model: &Model, data: Option<&Dataset>, options: &Options) -> Result<Report> {
        let contents = Contents::new(model, data, options)?;
        let (before, after) = page::around(&contents.title);
        let shown = page::json(&contents)?;
        let room = PAGE_BYTES.saturating_sub(before.len() + shown.len() + after.len());
        let what_if = WhatIf::new(model, options.row_data, room)?.json()?;
        let html = before + &page::with_field(shown, "what_if", &what_if) + &after;
        Ok(Report { html, card: contents.card })
    }

    /// The page: one HTML file that needs nothing else.
    pub fn html(&self) -> &str {
        &self.html
    }

    /// The model card: Markdown with the headings of Annex IV of the EU AI Act and of TRIPOD+AI, filled as far as the
    /// program knows; what a person has to add is marked.
    pub fn card(&self) -> &str {
        &self.card
    }
}

impl Contents {
    fn new(model: &Model, data: Option<&Dataset>, options: &Options) -> Result<Contents> {
        if let Some(data) = data
            && !options.row_numbers.is_empty()
        {
            expect_count("the list of row numbers", "entries", options.row_numbers.len(), data.rows())?;
        }
        if !options.row_data {
            refuse_rare_levels(model, data)?;
        }
        let learned = Learned::new(model, data, options)?;
        let explained = learned.as_ref().map_or(&[][..], |learned| &learned.explained);
        let shown = quality::shown_rows(model, explained);
        let left_out = data.map(|data| diagnostics(model, data)).transpose()?;
        let judged = data.zip(left_out.as_ref());
        let quality = judged.map(|(data, found)| Quality::new(model, data, found, &shown, options)).transpose()?;
        let check = model.check().map(Checked::new);
        let rows_allowed = data.is_some() && options.row_data;
        let mut contents = Contents {
            title: options.title.clone(),
            row_data: options.row_data,
            targets: model.target_names().to_vec(),
            inputs: model.table_encoder().raw_inputs().iter().map(|input| input.name.clone()).collect(),
            columns: model.input_names().to_vec(),
            model: ModelFacts::new(model),
            verdict: Verdict::new(model, data, check.as_ref(), quality.as_ref(), &options.notes),
            check,
            local: learned.as_ref().filter(|_| rows_allowed).map(|learned| Local::new(learned, &shown)),
            learned,
            together: judged.map(|(data, found)| Together::new(model, data, found)).transpose()?,
            inside: Inside::new(model),
            origin: options.origin.clone(),
            settings: serde_json::to_value(model.settings()).unwrap_or_default(),
            card: String::new(),
            quality,
        };
        contents.card = card::write(&contents, model);
        Ok(contents)
    }
}

/// A value of a text column that few rows share discloses them; the page would name it.
fn refuse_rare_levels(model: &Model, data: Option<&Dataset>) -> Result<()> {
    let Some(encoder) = model.encoder() else { return Ok(()) };
    let stored = model.stored_inputs();
    let rows = data.map(|data| data.inputs()).or(stored.as_ref().map(|rows| rows.as_ref()));
    let mut first = 0;
    for input in encoder.raw_inputs() {
        let columns = first..first + input.encoded_names().len();
        first = columns.end;
        let Encoding::Categorical { levels, .. } = &input.encoding else { continue };
        let name = &input.name;
        let Some(rows) = rows else {
            return Err(Error::RowData(format!(
                "whether rows share the values of the text column `{name}` shows in the data: give them"
            )));
        };
        let shared = |d: &usize| rows.col(*d).iter().filter(|v| **v > 0.5).count() >= quality::CROWD;
        let rare = columns.take(levels.len()).filter(|d| !shared(d)).count();
        if rare > 0 {
            return Err(Error::RowData(format!(
                "{rare} of {} values of the text column `{name}` stand in fewer than {} rows each and would show them: \
                 merge them in the table, or leave the column out, and fit again",
                levels.len(),
                quality::CROWD
            )));
        }
    }
    Ok(())
}

impl ModelFacts {
    fn new(model: &Model) -> ModelFacts {
        ModelFacts {
            form: model.settings().form.name(),
            terms: model.active_features(),
            rows: model.training_rows(),
            stop: model.stop(),
            steps: model.trace().len(),
            objective: model.objective(),
            nugget_std: model.nugget_std(),
            target_scale: model.target_std().to_vec(),
            scale_of: (0..model.target_names().len()).map(|task| model.scale_of(task)).collect(),
        }
    }
}

/// Seven significant digits: more than a figure shows, and half the bytes.
fn brief(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn briefly(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    values.into_iter().map(brief).collect()
}
