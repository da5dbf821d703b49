//! The report: one HTML page that shows what a model learned and how far to trust it, and a model card in Markdown.
//!
//! This code computes one block of facts and puts it into a page that is a file of its own (`page/`): no figure is drawn
//! here, and nothing is computed there but the what-if panel, which evaluates the model file itself. The page needs no
//! network. The same model, data and program give the same bytes.

#![warn(missing_docs)]

mod card;
mod checks;
mod drift;
mod groups;
mod inside;
mod labels;
mod learned;
mod page;
mod quality;
mod single;
#[cfg(test)]
mod tests;
mod verdict;
mod what_if;

pub use labels::Labels;

use checks::{Known, Question};
use drift::Drift;
use groups::{Groups, Part};
use inside::Inside;
use learned::{Learned, Together};
use quality::{Checked, Quality};
use rffblr::data::{Cycle, Dataset, Encoding, NoteKind, RawInput};
use rffblr::explain::{Explainer, diagnostics, new_row_diagnostics};
use rffblr::internals::expect_count;
use rffblr::linalg::{Mat, MatRef};
use rffblr::metrics::LEVEL;
use rffblr::table::DAY;
use rffblr::{Error, Form, Model, Result, Settings};
use serde::Serialize;
use serde_json::Value;
use single::{Explained, Local, Swarm};
use verdict::Verdict;
use what_if::WhatIf;

/// Most bytes of a page. What the rest leaves of them is there for the formula of the what-if panel.
const PAGE_BYTES: usize = 4_900_000;

/// The rows a report is about.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// None: the model alone.
    None,
    /// Those the model was fitted to.
    Training(&'a Dataset),
    /// Others, with targets, encoded as the model's.
    New(&'a Dataset),
}

impl<'a> Data<'a> {
    fn rows(self) -> Option<&'a Dataset> {
        match self {
            Data::None => None,
            Data::Training(data) | Data::New(data) => Some(data),
        }
    }
}

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
    pub notes: Vec<(NoteKind, String)>,
    /// A column that says which rows belong together, and its value in each row of the data.
    pub groups: Option<(String, Vec<String>)>,
    /// What people call the columns.
    pub labels: Labels,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            title: "Model report".into(),
            row_data: true,
            row_numbers: Vec::new(),
            origin: Vec::new(),
            notes: Vec::new(),
            groups: None,
            labels: Labels::default(),
        }
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
    /// What targets and inputs are called, and their units.
    target_labels: Vec<(String, String)>,
    input_labels: Vec<(String, String)>,
    /// What is known of each input that is a date or a time.
    dates: Vec<Option<DateFacts>>,
    model: ModelFacts,
    verdict: Verdict,
    questions: Vec<Question>,
    /// What is missing; `None` without data.
    gaps: Option<Gaps>,
    /// Refits on held-out folds; `None` if the model was not checked.
    check: Option<Checked>,
    /// Rows predicted without them; `None` without data.
    quality: Option<Quality>,
    /// Errors in the parts of the table that stand out most, and how many were looked at.
    parts: Vec<Part>,
    parts_total: usize,
    /// How far new rows are from those of the fit; `None` if there are none, or if these are not known.
    drift: Option<Drift>,
    /// `None` without rows to look at the function around.
    learned: Option<Learned>,
    /// `None` without data or where single rows may not be shown.
    local: Option<Local>,
    /// For each task; empty without data.
    swarms: Vec<Vec<Swarm>>,
    together: Option<Together>,
    inside: Inside,
    /// What the Gaussian process explains that a formula of sinusoids reproduces, each row left out at fixed scales.
    process_r2: Option<f64>,
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
    /// Ends of the 90 % interval of each target in standard deviations, on the scale of its function.
    reach: Vec<(f64, f64)>,
}

impl Report {
    /// Computes what the report shows. Its verdict is that of new rows, if they are given, else of the model's
    /// [check](Model::check), if it has one.
    pub fn new(model: &Model, data: Data<'_>, options: &Options) -> Result<Report> {
        Report::watched(model, data, options, &|_| {})
    }

    /// The same; `watch` is told what is being done.
    pub fn watched(model: &Model, data: Data<'_>, options: &Options, watch: &dyn Fn(&'static str)) -> Result<Report> {
        let contents = Contents::new(model, data, options, watch)?;
        watch("writing the page");
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
    fn new(model: &Model, data: Data<'_>, options: &Options, watch: &dyn Fn(&'static str)) -> Result<Contents> {
        let (rows, labels) = (data.rows(), &options.labels);
        if let Some(rows) = rows
            && !options.row_numbers.is_empty()
        {
            expect_count("the list of row numbers", "entries", options.row_numbers.len(), rows.rows())?;
        }
        if !options.row_data {
            refuse_rare_levels(model, rows)?;
        }
        watch("predicting every row without it");
        let is_new = matches!(data, Data::New(_));
        let found = match data {
            Data::None => None,
            Data::Training(data) => Some(diagnostics(model, data)?),
            Data::New(data) => Some(new_row_diagnostics(model, data)?),
        };
        watch("what was learned");
        let stored = if matches!(data, Data::Training(_)) { None } else { model.stored_inputs() };
        let known = stored.as_ref().map(Mat::as_ref).or(rows.map(Dataset::inputs));
        let weights = rows.filter(|_| stored.is_none()).and_then(Dataset::weights);
        let explainer = known.map(|known| Explainer::new(model, known, weights)).transpose()?;
        let learned = explainer.as_ref().map(|explainer| Learned::new(model, explainer, options)).transpose()?;
        watch("taking single predictions apart");
        let both = explainer.as_ref().zip(learned.as_ref());
        let explained = match (both, &found) {
            (Some((explainer, _)), Some(found)) => Explained::new(model, explainer, data, found)?,
            _ => None,
        };
        let listed = explained.as_ref().map_or(&[][..], |explained| &explained.rows);
        let shown = quality::shown_rows(rows.map_or(0, Dataset::rows), model.target_names().len(), listed);
        let judged = rows.zip(found.as_ref());
        let quality =
            judged.map(|(data, found)| Quality::new(model, data, is_new, found, &shown, options)).transpose()?;
        let groups = both
            .zip(judged)
            .map(|((explainer, learned), (data, found))| Groups::new(explainer, &learned.order, data, found, options))
            .transpose()?;
        let drift = match (data, &explainer, &stored) {
            (Data::New(data), Some(explainer), Some(_)) => Some(Drift::new(explainer, model.input_std(), data)),
            _ => None,
        };
        let check = model.check().map(Checked::new);
        let inputs: Vec<String> = model.table_encoder().raw_inputs().iter().map(|input| input.name.clone()).collect();
        let questions = Known {
            model,
            check: check.as_ref(),
            quality: quality.as_ref(),
            groups: groups.as_ref(),
            drift: drift.as_ref(),
            inputs: &inputs,
            notes: rows.filter(|_| !is_new).map(|_| options.notes.iter().map(|(kind, _)| *kind).collect()),
            labels,
        }
        .questions();
        let notes: Vec<String> = options.notes.iter().map(|(_, text)| text.clone()).collect();
        let swarms = match (&explained, both) {
            (Some(explained), Some((explainer, learned))) => {
                Swarm::of_tasks(explained, explainer, learned, data, options.row_data)
            }
            _ => Vec::new(),
        };
        let called = |names: &[String]| names.iter().map(|name| (labels.name(name), labels.unit(name))).collect();
        let mut contents = Contents {
            title: options.title.clone(),
            row_data: options.row_data,
            targets: model.target_names().to_vec(),
            target_labels: called(model.target_names()),
            input_labels: called(&inputs),
            dates: dates(model, known),
            inputs,
            columns: model.input_names().to_vec(),
            model: ModelFacts::new(model)?,
            verdict: Verdict::new(model, data, check.as_ref(), quality.as_ref(), &notes, labels),
            questions,
            gaps: rows.map(|rows| Gaps::new(model, rows)),
            parts_total: groups.as_ref().map_or(0, |groups| groups.total),
            parts: groups.map_or_else(Vec::new, |groups| groups.parts),
            drift,
            check,
            local: explained.as_ref().filter(|_| options.row_data).map(|explained| Local::new(explained, &shown)),
            swarms,
            learned,
            together: judged.map(|(data, found)| Together::new(model, data, found)).transpose()?,
            inside: Inside::new(model),
            process_r2: match data {
                Data::Training(data) => process_r2(model, data)?,
                Data::None | Data::New(_) => None,
            },
            origin: options.origin.clone(),
            settings: serde_json::to_value(model.settings()).unwrap_or_default(),
            card: String::new(),
            quality,
        };
        contents.card = card::write(&contents, model);
        Ok(contents)
    }
}

/// The task R² of the Gaussian process behind a formula, which is fitted for that. Where that would take long it is not
/// known.
fn process_r2(model: &Model, data: &Dataset) -> Result<Option<f64>> {
    const ROWS: usize = 1500;
    if !matches!(model.settings().form, Form::Sinusoids { .. }) || data.rows() > ROWS {
        return Ok(None);
    }
    let process = rffblr::fit(data, &Settings { form: Form::Kernel, ..model.settings().clone() })?;
    let left_out = process.leave_one_out(data)?;
    let found = rffblr::metrics::task_r2(data.judged_targets().as_ref(), left_out.mean.as_ref())?;
    Ok(Some(brief(found.overall)))
}

/// How the days of a date are to be read.
#[derive(Serialize)]
struct DateFacts {
    /// Seconds since 1970 from which its days are counted.
    since: f64,
    /// Whether it has times, and not days alone.
    times: bool,
    /// Whether it is the time of a day, without a date.
    clock: bool,
}

/// Of each input that is one; what rows are known say whether it has times.
fn dates(model: &Model, known: Option<MatRef<'_, f64>>) -> Vec<Option<DateFacts>> {
    let mut first = 0;
    let mut of = |input: &RawInput| {
        let column = first;
        first += input.width();
        let Encoding::Date(date) = &input.encoding else { return None };
        let parts_of_a_day = known.is_some_and(|rows| rows.col(column).iter().any(|days| days.fract() != 0.0));
        let times = parts_of_a_day || date.start % DAY != 0.0 || date.cycles.contains(&Cycle::Day);
        Some(DateFacts { since: date.start, times, clock: date.is_clock() })
    };
    model.table_encoder().raw_inputs().iter().map(&mut of).collect()
}

/// Missing cells: of each input that has any, and of each target.
#[derive(Serialize)]
struct Gaps {
    inputs: Vec<(usize, usize)>,
    targets: Vec<usize>,
    rows: usize,
}

impl Gaps {
    fn new(model: &Model, data: &Dataset) -> Gaps {
        let encoder = model.table_encoder();
        let mut first = 0;
        let mut missing = |input: &RawInput| {
            let names = input.encoded_names();
            first += names.len();
            let marked = names.last().is_some_and(|name| input.marks(name));
            if marked { data.inputs().col(first - 1).iter().filter(|value| **value == 1.0).count() } else { 0 }
        };
        let each: Vec<usize> = encoder.raw_inputs().iter().map(&mut missing).collect();
        let count = |c: usize| data.targets().col(c).iter().filter(|y| y.is_nan()).count();
        Gaps {
            inputs: each.into_iter().enumerate().filter(|(_, count)| *count > 0).collect(),
            targets: (0..data.targets().ncols()).map(count).collect(),
            rows: data.rows(),
        }
    }
}

/// A value of a text column that few rows share discloses them; the page would name it.
fn refuse_rare_levels(model: &Model, data: Option<&Dataset>) -> Result<()> {
    let Some(encoder) = model.encoder() else { return Ok(()) };
    let stored = model.stored_inputs();
    let rows = data.map(|data| data.inputs()).or(stored.as_ref().map(|rows| rows.as_ref()));
    let mut first = 0;
    for input in encoder.raw_inputs() {
        let columns = first..first + input.width();
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
    fn new(model: &Model) -> Result<ModelFacts> {
        Ok(ModelFacts {
            form: model.settings().form.name(),
            terms: model.active_features(),
            rows: model.training_rows(),
            stop: model.stop(),
            steps: model.trace().len(),
            objective: model.objective(),
            nugget_std: model.nugget_std(),
            target_scale: model.target_std().to_vec(),
            scale_of: (0..model.target_names().len()).map(|task| model.scale_of(task)).collect(),
            reach: model.reach(LEVEL)?.into_iter().map(|(low, high)| (brief(low), brief(high))).collect(),
        })
    }
}

/// Seven significant digits: more than a figure shows, and half the bytes.
fn brief(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn briefly(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    values.into_iter().map(brief).collect()
}
