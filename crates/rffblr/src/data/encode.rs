//! From a table with text and gaps to the numbers a model sees, and the same way again at prediction.
//!
//! The rules, all of them learned from the training rows and kept in the model:
//!
//! - A numeric input stays a number. If it has missing cells in training, they take the median and a column `age?`
//!   marks them with 1.
//! - A text that is a date or a time in every row becomes the days since the first of them and, of each cycle the training
//!   rows have seen enough of (year, week, day), cosine and sine: `when`, `when:year cos`. A column `when?` marks gaps.
//! - Any other text becomes one column of zeros and ones per level, `colour=red`, and one more, `colour?`, for cells that are
//!   missing. If a text has very many levels, the rarest share a column, `colour=(other)`.
//! - An input that is the same in all training rows, or has no value in any row, is left out, and so is a text that is
//!   different in every one: it names rows and has no information about others.
//! - At prediction, a level that training did not have is unknown: it takes `colour=(other)`, or shares the column `colour?`
//!   with missing ones if there is none, and is reported. A missing number takes the median and is reported.
//! - With [`MissingInputs::Error`] a missing input is an error, in training and at prediction.

mod columns;
mod dates;
mod leaks;
mod summarised;
mod suspects;

use super::Dataset;
use super::encode_error::EncodeError;
use super::note::{Note, NoteKind, Notes, listed, missing_cells};
use super::roles::{Roles, expect_weights, numbers};
use crate::linalg::{Mat, MatRef};
use crate::memory::{of_doubles, require};
use crate::table::{Column, ReadOptions, Table, Values, excerpt, nearest, number_text};
use crate::words::plural;
use columns::{Facts, Reading, is_missing, one_hot};
pub use dates::{Cycle, DateEncoding};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
pub use suspects::{coordinates, names_time};

/// Most levels of a text; if there are more, the most frequent ones are kept and the rest is one of them.
pub const MOST_LEVELS: usize = 1000;
/// Most input columns of a table, and most columns that they become: with more, a fit would take minutes and more.
pub const MOST_INPUTS: usize = 200_000;
/// Names that are not in a table for which the nearest that is there is looked up.
const SUGGESTED: usize = 10;
/// The level that the rest becomes.
pub const OTHER: &str = "(other)";

/// What to do with missing inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingInputs {
    /// Take the median of the training rows, and mark such cells in a column of their own.
    #[default]
    Impute,
    /// Refuse them.
    Error,
}

/// What a raw input column becomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// A number.
    Numeric {
        /// Median of the training rows, taken where the cell is missing.
        median: f64,
        /// Whether a second column marks missing cells.
        indicator: bool,
    },
    /// Only whether the number is missing: it was the same in all training rows that had it.
    Presence,
    /// Days since the first date, and cycles.
    Date(DateEncoding),
    /// One column per level, and one more for all that is none of them: a missing cell, or a level that training did not
    /// have, which is then as far from every known level as they are from each other.
    Categorical {
        /// Levels seen in training, in the order of the file; the last is [`OTHER`] if some are rare.
        levels: Vec<String>,
        /// Whether training had missing cells.
        gaps: bool,
        /// Number of levels that were too rare in training for a column of their own, and share the last.
        #[serde(default)]
        rare: usize,
    },
}

/// A raw input column and what it becomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawInput {
    /// Name in the table.
    pub name: String,
    /// What it becomes.
    pub encoding: Encoding,
}

impl RawInput {
    /// Whether a name is that of the column that marks missing cells and, of a text, levels not seen in training.
    pub fn marks(&self, encoded_name: &str) -> bool {
        encoded_name.strip_suffix('?') == Some(&self.name)
    }

    /// Number of the encoded columns.
    pub fn width(&self) -> usize {
        match &self.encoding {
            Encoding::Numeric { indicator, .. } => 1 + usize::from(*indicator),
            Encoding::Presence => 1,
            Encoding::Date(date) => date.names(&self.name).len(),
            Encoding::Categorical { levels, .. } => levels.len() + 1,
        }
    }

    /// Names of the encoded columns.
    pub fn encoded_names(&self) -> Vec<String> {
        let mark = || format!("{}?", self.name);
        let (mut names, indicator) = match &self.encoding {
            Encoding::Numeric { indicator, .. } => (vec![self.name.clone()], *indicator),
            Encoding::Date(date) => (date.names(&self.name), false),
            Encoding::Presence => (Vec::new(), true),
            Encoding::Categorical { levels, .. } => {
                (levels.iter().map(|level| format!("{}={level}", self.name)).collect(), true)
            }
        };
        if indicator {
            names.push(mark());
        }
        names
    }
}

/// An error if a table has more inputs than a model can be fitted to in reasonable time.
pub(crate) fn expect_few_inputs(inputs: usize) -> Result<(), EncodeError> {
    if inputs > MOST_INPUTS { Err(EncodeError::TooManyInputs { inputs, most: MOST_INPUTS }) } else { Ok(()) }
}

/// What was learned about the columns of the training table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    roles: Roles,
    missing: MissingInputs,
    inputs: Vec<RawInput>,
    /// Inputs without a value or the same in all training rows, and texts that were different in every one.
    left_out: Vec<String>,
    /// All input columns in the order of the training table.
    order: Vec<String>,
}

impl Encoder {
    /// Learns from some rows of a table what its inputs become. The notes say what a user may not expect.
    pub fn learn(
        table: &Table,
        rows: &[usize],
        roles: &Roles,
        missing: MissingInputs,
    ) -> Result<(Encoder, Vec<Note>), EncodeError> {
        check_rows(table, rows)?;
        let mut notes = Notes::default();
        let columns = roles.inputs(table).map(Cow::Borrowed);
        let facts = |column: &Column, rows: &[usize]| Facts::of(column, rows, Reading::asked(roles, &column.name));
        let encoder = Encoder::learn_columns(columns, rows, facts, roles, missing, &mut notes)?;
        let targets: HashSet<&String> = roles.targets.iter().collect();
        for column in table.columns().iter().filter(|column| targets.contains(&column.name)) {
            if is_constant_target(column, rows) {
                notes.add(NoteKind::ConstantTarget, &column.name, "");
            }
            note_placeholder(column, rows, &mut notes);
        }
        Ok((encoder, notes.told()))
    }

    /// The same from all rows of a table of numbers, NaN where missing, of which one column at a time is copied.
    pub fn learn_numbers(
        inputs: MatRef<'_, f64>,
        names: &[String],
        roles: &Roles,
        missing: MissingInputs,
    ) -> Result<(Encoder, Vec<Note>), EncodeError> {
        let rows: Vec<usize> = (0..inputs.nrows()).collect();
        let column = |(d, name): (usize, &String)| {
            Cow::Owned(Column { name: name.clone(), values: Values::Numeric(inputs.col(d).iter().copied().collect()) })
        };
        let mut notes = Notes::default();
        let columns = names.iter().enumerate().map(column);
        let facts = |column: &Column, rows: &[usize]| Facts::of(column, rows, Reading::asked(roles, &column.name));
        let encoder = Encoder::learn_columns(columns, &rows, facts, roles, missing, &mut notes)?;
        Ok((encoder, notes.told()))
    }

    /// Learns again from some rows of the table that this encoder was learned from. Whether a text is a date, and the order of
    /// day and month, is taken from all rows: the few that show it may not be among these.
    pub(crate) fn learn_part(&self, table: &Table, rows: &[usize], roles: &Roles) -> Result<Encoder, EncodeError> {
        check_rows(table, rows)?;
        let of = |input: &'_ RawInput| Some((input.name.clone(), Reading::known(&input.encoding)?));
        let known: HashMap<String, Reading> = self.inputs.iter().filter_map(of).collect();
        let reading = |name: &str| known.get(name).copied().unwrap_or_else(|| Reading::asked(roles, name));
        let facts = |column: &Column, rows: &[usize]| Facts::of(column, rows, reading(&column.name));
        let columns = roles.inputs(table).map(Cow::Borrowed);
        Encoder::learn_columns(columns, rows, facts, roles, self.missing, &mut Notes::default())
    }

    fn learn_columns<'a>(
        columns: impl Iterator<Item = Cow<'a, Column>>,
        rows: &[usize],
        facts: impl Fn(&Column, &[usize]) -> Facts,
        roles: &Roles,
        missing: MissingInputs,
        notes: &mut Notes,
    ) -> Result<Encoder, EncodeError> {
        let (inputs, left_out, order) = (Vec::new(), Vec::new(), Vec::new());
        let mut encoder = Encoder { roles: roles.clone(), missing, inputs, left_out, order };
        let mut counting = Vec::new();
        for column in columns {
            let column = column.as_ref();
            encoder.order.push(column.name.clone());
            let facts = facts(column, rows);
            if missing == MissingInputs::Error
                && let Some(row) = facts.first_gap
            {
                return Err(EncodeError::MissingInput { column: column.name.clone(), row: row + 1 });
            }
            let orders = roles.time.as_ref() == Some(&column.name);
            if facts.empty && orders {
                return Err(EncodeError::EmptyColumn { column: column.name.clone() });
            }
            let dates = matches!(facts.encoding, Ok(Some(Encoding::Date(_))));
            note_placeholder(column, rows, notes);
            if facts.index {
                counting.push(column.name.clone());
            } else if roles.group.is_none() && roles.time.is_none() {
                note_suspects(column, rows, dates, notes);
            }
            let encoding = if facts.identifier || facts.empty { None } else { facts.encoding? };
            let Some(encoding) = encoding else {
                let kind = match (facts.empty, facts.identifier) {
                    (true, _) => NoteKind::Empty,
                    (false, true) => NoteKind::Identifier,
                    (false, false) => NoteKind::Constant,
                };
                // The note on the order of the rows says it.
                if !orders {
                    notes.add(kind, &column.name, "");
                }
                encoder.left_out.push(column.name.clone());
                continue;
            };
            note_encoding(&column.name, &encoding, facts.gaps, notes);
            encoder.inputs.push(RawInput { name: column.name.clone(), encoding });
        }
        if encoder.inputs.is_empty() {
            return Err(EncodeError::NoInputs);
        }
        // The only input there is will be more than a count of rows.
        for name in counting.iter().filter(|_| encoder.inputs.len() > 1) {
            notes.add(NoteKind::Index, name, "");
        }
        encoder.check_names()?;
        expect_few_inputs(encoder.inputs.iter().map(RawInput::width).sum())?;
        Ok(encoder)
    }

    /// For a model that was fitted to numbers: every input is a number and none may be missing.
    pub fn of_numbers(input_names: &[String], target_names: &[String]) -> Encoder {
        let number = |name: &String| RawInput {
            name: name.clone(),
            encoding: Encoding::Numeric { median: 0.0, indicator: false },
        };
        Encoder {
            roles: Roles { targets: target_names.to_vec(), ..Roles::default() },
            missing: MissingInputs::Error,
            inputs: input_names.iter().map(number).collect(),
            left_out: Vec::new(),
            order: input_names.to_vec(),
        }
    }

    /// Two raw columns must not become columns of the same name.
    fn check_names(&self) -> Result<(), EncodeError> {
        let mut owner: HashMap<String, &str> = HashMap::new();
        for input in &self.inputs {
            for name in input.encoded_names() {
                if let Some(first) = owner.insert(name.clone(), &input.name) {
                    let (first, second) = (first.to_owned(), input.name.clone());
                    return Err(EncodeError::SameEncodedName { name, first, second });
                }
            }
        }
        Ok(())
    }

    /// Inputs, targets and weights of some rows, with notes as from [`Encoder::inputs`].
    pub fn dataset(&self, table: &Table, rows: &[usize]) -> crate::Result<(Dataset, Vec<Note>)> {
        check_rows(table, rows)?;
        let mut notes = Notes::default();
        let inputs = self.encode(table, rows, &mut notes)?;
        let (targets, notes) = (self.targets(table, rows)?, notes.told());
        let data = Dataset::named(inputs, targets, self.encoded_names(), self.roles.targets.clone())?
            .with_one_hot(self.one_hot())?;
        let Some(weight) = &self.roles.weight else {
            return Ok((data, notes));
        };
        let name = weight.values();
        let weights = numbers(table, "the weight", name)?;
        expect_weights(name, &weights, rows)?;
        let weights = weight.as_ref().map(|_| rows.iter().map(|&row| weights[row]).collect());
        Ok((data.with_weights(weights)?, notes))
    }

    /// Inputs and targets of some rows to judge predictions by: unlike in a [`Dataset`], a target may be missing in all
    /// of them.
    pub fn test_rows(&self, table: &Table, rows: &[usize]) -> Result<(Mat<f64>, Mat<f64>), EncodeError> {
        check_rows(table, rows)?;
        Ok((self.encode(table, rows, &mut Notes::default())?, self.targets(table, rows)?))
    }

    fn targets(&self, table: &Table, rows: &[usize]) -> Result<Mat<f64>, EncodeError> {
        let mut targets = Mat::zeros(rows.len(), self.roles.targets.len());
        for (c, name) in self.roles.targets.iter().enumerate() {
            let values = numbers(table, "a target", name)?;
            targets.col_as_slice_mut(c).iter_mut().zip(rows).for_each(|(cell, &row)| *cell = values[row]);
        }
        Ok(targets)
    }

    /// The inputs of all rows of a table, which may have more columns than were used in training. The notes name
    /// levels that training did not have, of missing cells and of columns without a use.
    pub fn inputs(&self, table: &Table) -> Result<(Mat<f64>, Vec<Note>), EncodeError> {
        let rows: Vec<usize> = (0..table.rows()).collect();
        let mut notes = Notes::default();
        let inputs = self.encode(table, &rows, &mut notes)?;
        let roles = self.roles.targets.iter().chain(&self.roles.ignore).chain(self.roles.weight_column());
        let roles = roles.chain(&self.roles.group).chain(&self.roles.time);
        let known: HashSet<&String> = roles.chain(&self.left_out).chain(self.inputs.iter().map(|i| &i.name)).collect();
        for column in table.columns().iter().filter(|column| !known.contains(&column.name)) {
            notes.add(NoteKind::Unknown, &column.name, "");
        }
        Ok((inputs, notes.told()))
    }

    /// The targets of all rows, NaN where missing; `None` unless the table has all of them as numbers and at least one
    /// value.
    pub fn targets_if_present(&self, table: &Table) -> Option<Mat<f64>> {
        let mut targets = Mat::zeros(table.rows(), self.roles.targets.len());
        let mut any = false;
        for (c, name) in self.roles.targets.iter().enumerate() {
            let values = numbers(table, "a target", name).ok()?;
            any |= values.iter().any(|value| !value.is_nan());
            targets.col_as_slice_mut(c).copy_from_slice(&values);
        }
        any.then_some(targets)
    }

    /// How to read a table for prediction: text stays text even if this file has only numbers in it, and columns of no
    /// use are not looked at.
    pub fn read_options(&self) -> ReadOptions {
        let (mut text_columns, mut numeric_columns) = (Vec::new(), Vec::new());
        for input in &self.inputs {
            match input.encoding {
                Encoding::Categorical { .. } | Encoding::Date(_) => text_columns.push(input.name.clone()),
                Encoding::Numeric { .. } | Encoding::Presence => numeric_columns.push(input.name.clone()),
            }
        }
        let is_input = |name: &&String| self.inputs.iter().any(|input| input.name == **name);
        let unused = self.roles.ignore.iter().chain(self.roles.weight_column()).chain(&self.roles.group);
        let date = self.roles.time.as_ref().filter(|name| !is_input(name));
        let mut met = HashSet::new();
        let first = unused.chain(&self.left_out).chain(date).filter(|name| met.insert(*name));
        let ignored_columns: Vec<String> = first.cloned().collect();
        let (allow_absent, allow_empty) = (true, true);
        ReadOptions {
            text_columns,
            numeric_columns,
            ignored_columns,
            allow_absent,
            allow_empty,
            ..ReadOptions::default()
        }
    }

    /// How to read the training table again: as for prediction, and targets and weights must be numbers. What says which
    /// rows belong together is read too.
    pub fn training_options(&self) -> ReadOptions {
        let mut options = self.read_options();
        let Roles { targets, group, time, .. } = &self.roles;
        let weight = self.roles.weight_column();
        options.numeric_columns.extend(targets.iter().chain(weight).cloned());
        options.ignored_columns.retain(|name| ![weight, group.as_ref(), time.as_ref()].contains(&Some(name)));
        options
    }

    /// Names of the encoded columns, in order.
    pub fn encoded_names(&self) -> Vec<String> {
        self.inputs.iter().flat_map(RawInput::encoded_names).collect()
    }

    /// The encoded columns of each text input.
    fn one_hot(&self) -> Vec<Range<usize>> {
        let mut next = 0;
        let block = |input: &RawInput| {
            let first = next;
            next += input.width();
            matches!(input.encoding, Encoding::Categorical { .. }).then_some(first..next)
        };
        self.inputs.iter().filter_map(block).collect()
    }

    /// For each encoded column, the position in [`Encoder::raw_inputs`] of the column it comes from.
    pub fn origins(&self) -> Vec<usize> {
        let columns = |(index, input): (usize, &RawInput)| vec![index; input.width()];
        self.inputs.iter().enumerate().flat_map(columns).collect()
    }

    /// The raw inputs in the order of the training table, without those left out.
    pub fn raw_inputs(&self) -> &[RawInput] {
        &self.inputs
    }

    /// Every input column of the training table in its order, also those left out.
    pub fn input_columns(&self) -> Vec<&str> {
        self.order.iter().map(String::as_str).collect()
    }

    /// The input columns of the training table that are not used: without a value, the same in all rows, or a text that is
    /// different in every row.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The roles of the training table.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// What happens to missing inputs.
    pub fn missing_inputs(&self) -> MissingInputs {
        self.missing
    }

    fn encode(&self, table: &Table, rows: &[usize], notes: &mut Notes) -> Result<Mat<f64>, EncodeError> {
        let names = || table.columns().iter().map(|c| c.name.as_str());
        let absent: Vec<(String, Option<String>)> = self
            .inputs
            .iter()
            .filter(|input| table.column(&input.name).is_none())
            .enumerate()
            .map(|(count, input)| {
                let suggested = if count < SUGGESTED { nearest(&input.name, names()).map(String::from) } else { None };
                (input.name.clone(), suggested)
            })
            .collect();
        if !absent.is_empty() {
            return Err(EncodeError::MissingColumns(absent));
        }
        let columns = self.inputs.iter().map(RawInput::width).sum();
        require(
            of_doubles(rows.len(), columns),
            format!("a table of {} rows and {columns} columns of numbers", rows.len()),
            "leave out columns, texts of many levels first, or take fewer rows",
        )?;
        let mut out = Mat::zeros(rows.len(), columns);
        let mut next = 0;
        for input in &self.inputs {
            let Some(column) = table.column(&input.name) else { continue };
            if self.missing == MissingInputs::Error
                && let Some(&row) = rows.iter().find(|&&row| is_missing(column, row))
            {
                return Err(EncodeError::MissingInput { column: column.name.clone(), row: row + 1 });
            }
            match &input.encoding {
                Encoding::Numeric { median, indicator } => {
                    let values = numbers(table, "this input", &input.name)?;
                    for (i, &row) in rows.iter().enumerate() {
                        let gap = values[row].is_nan();
                        out[(i, next)] = if gap { *median } else { values[row] };
                        if *indicator {
                            out[(i, next + 1)] = f64::from(u8::from(gap));
                        }
                    }
                    if !indicator {
                        let treated = format!("take the training median {}", shown(*median));
                        note_gaps(column, rows, &treated, notes);
                    }
                }
                Encoding::Presence => {
                    let values = numbers(table, "this input", &input.name)?;
                    for (i, &row) in rows.iter().enumerate() {
                        out[(i, next)] = f64::from(u8::from(values[row].is_nan()));
                    }
                }
                Encoding::Date(date) => {
                    for (i, days) in date.days(column, rows)?.into_iter().enumerate() {
                        let encoded = date.encode(days);
                        encoded.into_iter().enumerate().for_each(|(k, value)| out[(i, next + k)] = value);
                    }
                    if !date.indicator {
                        note_gaps(column, rows, "take the median date of training", notes);
                    }
                }
                Encoding::Categorical { levels, gaps, rare } => {
                    let unseen = one_hot(column, rows, (levels, *rare > 0), next, &mut out);
                    if !unseen.is_empty() {
                        notes.add(NoteKind::NewLevels, &input.name, new_levels(&unseen, *rare > 0));
                    }
                    if !gaps {
                        note_gaps(column, rows, "are taken as an unknown level", notes);
                    }
                }
            }
            next += input.width();
        }
        Ok(out)
    }

    /// What a model file must hold for the encoder to fit the model it is stored with.
    pub(crate) fn check(&self, input_names: &[String], target_names: &[String]) -> Result<(), String> {
        if self.encoded_names() != input_names || self.roles.targets != target_names {
            return Err("it names other inputs or targets".into());
        }
        let flaw = |input: &RawInput| match &input.encoding {
            Encoding::Numeric { median, .. } if !median.is_finite() => Some("median is not finite"),
            Encoding::Date(date) => date.flaw(),
            Encoding::Categorical { levels, rare: 1.., .. } if levels.last().is_none_or(|last| last != OTHER) => {
                Some("there are rare levels but no level for them")
            }
            _ => None,
        };
        match self.inputs.iter().find_map(|input| flaw(input).map(|flaw| (input, flaw))) {
            Some((input, flaw)) => Err(format!("of {}, {flaw}", excerpt(&input.name))),
            None => Ok(()),
        }
    }
}

fn check_rows(table: &Table, rows: &[usize]) -> Result<(), EncodeError> {
    match rows.iter().find(|&&row| row >= table.rows()) {
        Some(row) => Err(EncodeError::NoSuchRow { row: row + 1, rows: table.rows() }),
        None => Ok(()),
    }
}

/// Scores count a constant that is predicted as it is for a perfect prediction.
fn is_constant_target(target: &Column, rows: &[usize]) -> bool {
    let Values::Numeric(values) = &target.values else { return false };
    let mut observed = rows.iter().map(|&row| values[row]).filter(|value| !value.is_nan());
    observed.next().is_some_and(|first| observed.all(|value| value == first))
}

/// What the user should know about the encoding of a training column.
fn note_encoding(name: &str, encoding: &Encoding, gaps: usize, notes: &mut Notes) {
    let gaps = || missing_cells(gaps);
    match encoding {
        Encoding::Numeric { indicator: false, .. } => {}
        Encoding::Numeric { median, .. } => {
            let detail = format!("{} set to the median {}", gaps(), shown(*median));
            notes.add(NoteKind::Filled, name, detail);
        }
        Encoding::Presence => notes.add(NoteKind::Presence, name, gaps()),
        Encoding::Date(date) => {
            let more = if date.indicator { format!("; {} marked", gaps()) } else { String::new() };
            notes.add(NoteKind::Dates, name, date.describe() + &more);
        }
        Encoding::Categorical { levels, gaps: some, rare } => {
            let rare = if *rare > 0 { format!(", one of them for {rare} rare ones") } else { String::new() };
            let more = if *some { format!("{rare}, {} as one more", gaps()) } else { rare };
            notes.add(NoteKind::Levels, name, plural(levels.len(), "level") + &more);
        }
    }
}

/// A number in a note: a whole one as it is, another with six significant digits.
fn shown(number: f64) -> String {
    let rounded = if number.fract() == 0.0 { number } else { format!("{number:.5e}").parse().unwrap_or(number) };
    number_text(rounded)
}

/// What a training column may be besides an input.
fn note_suspects(column: &Column, rows: &[usize], dates: bool, notes: &mut Notes) {
    if dates || suspects::is_time(column, rows) {
        notes.add(NoteKind::Time, &column.name, "");
    } else if let Some(units) = suspects::units(column, rows) {
        notes.add(NoteKind::Units, &column.name, plural(units, "unit"));
    }
}

/// A number that may stand for missing values of an input or a target.
fn note_placeholder(column: &Column, rows: &[usize], notes: &mut Notes) {
    if let Some(number) = suspects::placeholder(column, rows) {
        notes.add(NoteKind::Placeholder, &column.name, shown(number));
    }
}

fn note_gaps(column: &Column, rows: &[usize], treated: &str, notes: &mut Notes) {
    let gaps: Vec<usize> = rows.iter().copied().filter(|&row| is_missing(column, row)).collect();
    if let Some(first) = gaps.first() {
        let cells = missing_cells(gaps.len());
        let detail = format!("{cells}, first in data row {}, {treated}", first + 1);
        notes.add(NoteKind::NewGaps, &column.name, detail);
    }
}

fn new_levels(unseen: &BTreeMap<String, (usize, usize)>, rare: bool) -> String {
    let one = |(level, (count, first)): (&String, &(usize, usize))| {
        format!("{} ({}, first data row {})", excerpt(level), plural(*count, "row"), first + 1)
    };
    let levels = listed(unseen.iter().map(one));
    let why = match rare {
        true => "that training had rarely or not at all, taken as (other)",
        false => "that training did not have, taken as an unknown level",
    };
    format!("{} {why}: {levels}", plural(unseen.len(), "level"))
}
