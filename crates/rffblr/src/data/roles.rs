//! Which column of a table plays which part.

use super::encode::expect_few_inputs;
use super::encode_error::EncodeError;
use super::{Note, NoteKind, Weights};
use crate::table::pattern::matches;
use crate::table::{Column, DateOrder, ReadOptions, Table, Values, excerpt, nearest};
use crate::words::plural;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What each column of a table is for; every column not named here is an input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Roles {
    /// Columns to predict, in this order.
    pub targets: Vec<String>,
    /// Columns that are left out.
    pub ignore: Vec<String>,
    /// Column with the row weights, and what they mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weights<String>>,
    /// Column whose equal values mark rows that belong together, such as visits of one patient. It is not an input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Column that orders the rows in time. It is an input too, unless it is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Columns whose levels count, although they hold numbers or dates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// How a date such as 03/04/2024 is read, where the others of its column do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dates: Option<DateOrder>,
}

/// Roles as a user writes them, before a table is there to check them against.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleChoice {
    roles: Roles,
    /// Number of last columns without another role that are the targets, which are not named then.
    last: Option<usize>,
}

impl From<Roles> for RoleChoice {
    fn from(roles: Roles) -> RoleChoice {
        RoleChoice { roles, last: None }
    }
}

impl RoleChoice {
    /// Reads lists of names such as `a,b,c`; a name that contains a comma stands in double quotes, and a double quote in it
    /// is written twice. Several lists are joined. `last:3` as the only list of targets means the last three columns that
    /// have no other role.
    pub fn parse(
        targets: &[String],
        ignore: &[String],
        weight: Option<Weights<&str>>,
    ) -> Result<RoleChoice, EncodeError> {
        RoleChoice::among(&[], targets, ignore, weight)
    }

    /// The same for a table whose columns are known: a list may also be the name of a column as it is, and a name may be
    /// `#3`, the third column, or a pattern such as `lab_*`. A column that a pattern finds has no second role by it.
    pub fn among(
        columns: &[String],
        targets: &[String],
        ignore: &[String],
        weight: Option<Weights<&str>>,
    ) -> Result<RoleChoice, EncodeError> {
        let (mut targets, last) = match targets {
            [one] if one.starts_with("last:") && !columns.contains(one) => {
                let count = one.trim_start_matches("last:").parse().ok().filter(|&count| count > 0);
                (Vec::new(), Some(count.ok_or_else(|| EncodeError::BadLast { text: one.clone() })?))
            }
            lists => (found_names(lists, columns)?, None),
        };
        let mut ignore = found_names(ignore, columns)?;
        let weight = match weight {
            Some(weight) => {
                let name = one_name(weight.values(), columns)?;
                Some(weight.map(|_| name))
            }
            None => None,
        };
        let named =
            |found: &[Found]| found.iter().filter(|f| !f.by_pattern).map(|f| f.name.clone()).collect::<HashSet<_>>();
        let (named_targets, named_ignore) = (named(&targets), named(&ignore));
        targets.retain(|found| !(found.by_pattern && named_ignore.contains(&found.name)));
        let all_targets: HashSet<&String> =
            named_targets.iter().chain(targets.iter().map(|found| &found.name)).collect();
        ignore.retain(|found| !(found.by_pattern && all_targets.contains(&found.name)));
        let names = |found: Vec<Found>| found.into_iter().map(|found| found.name).collect();
        let roles = Roles { targets: names(targets), ignore: names(ignore), weight, ..Roles::default() };
        RoleChoice { roles, last }.checked()
    }

    /// The same with a column that says which rows belong together, or one that orders them in time. Either may be
    /// ignored as well.
    pub fn with_order(mut self, group: Option<&str>, time: Option<&str>) -> Result<RoleChoice, EncodeError> {
        (self.roles.group, self.roles.time) = (group.map(String::from), time.map(String::from));
        self.checked()
    }

    /// The same with columns whose levels count, although they hold numbers or dates, and with the order in which dates are
    /// read where their column does not show it.
    pub fn with_texts(mut self, text: Vec<String>, dates: Option<DateOrder>) -> RoleChoice {
        (self.roles.text, self.roles.dates) = (text, dates);
        self
    }

    /// The choice itself, if no column has two roles.
    fn checked(self) -> Result<RoleChoice, EncodeError> {
        let Roles { targets, ignore, weight, group, time, .. } = &self.roles;
        if targets.is_empty() && self.last.is_none() {
            return Err(EncodeError::NoTargets);
        }
        let named = targets.iter().map(|name| (name, "a target"));
        let named = named.chain(weight.iter().map(|weight| (weight.values(), "the weight")));
        let ignored = ignore.iter().map(|name| (name, "ignored"));
        let order = group.iter().map(|name| (name, "the group")).chain(time.iter().map(|name| (name, "the time")));
        no_name_twice(named.clone().chain(ignored))?;
        no_name_twice(named.chain(order))?;
        Ok(self)
    }

    /// The targets, as far as they are named.
    pub fn targets(&self) -> &[String] {
        &self.roles.targets
    }

    /// An error if a table with so many columns has more inputs than can be learned from, before its rows are read.
    pub fn expect_few_inputs(&self, columns: usize) -> Result<(), EncodeError> {
        let Roles { targets, ignore, weight, group, .. } = &self.roles;
        let others = targets.len() + ignore.len() + self.last.unwrap_or(0);
        let others = others.saturating_add(usize::from(weight.is_some()) + usize::from(group.is_some()));
        expect_few_inputs(columns.saturating_sub(others))
    }

    /// How to read the table: targets and weight must be numbers, ignored columns are not even looked at.
    pub fn read_options(&self) -> ReadOptions {
        let Roles { targets, ignore, group, time, .. } = &self.roles;
        let numeric_columns = targets.iter().chain(self.roles.weight_column()).cloned().collect();
        let needed = |name: &String| group.as_ref() == Some(name) || time.as_ref() == Some(name);
        let ignored_columns = ignore.iter().filter(|name| !needed(name)).cloned().collect();
        let text_columns = self.roles.text.clone();
        ReadOptions { numeric_columns, ignored_columns, text_columns, ..ReadOptions::default() }
    }

    /// The roles in a given table; every name must be one of its columns.
    pub fn resolve(self, table: &Table) -> Result<Roles, EncodeError> {
        let RoleChoice { mut roles, last } = self.checked()?;
        let columns = || table.columns().iter().map(|column| column.name.as_str());
        let named = roles.targets.iter().map(|name| (name, "a target"));
        let named = named.chain(roles.weight_column().map(|name| (name, "the weight")));
        let named = named.chain(roles.group.iter().map(|name| (name, "the group")));
        let named = named.chain(roles.time.iter().map(|name| (name, "the time")));
        let unread: HashSet<&String> = table.ignored().iter().collect();
        let was_read = |name: &&String| !unread.contains(name);
        let ignored = roles.ignore.iter().filter(was_read).map(|name| (name, "one to ignore"));
        for (name, role) in named.chain(ignored) {
            if table.column(name).is_none() {
                let nearest = nearest(name, columns()).map(String::from);
                return Err(EncodeError::UnknownColumn { role, name: name.clone(), nearest });
            }
        }
        let free: Vec<String> = roles.inputs(table).map(|column| column.name.clone()).collect();
        expect_few_inputs(free.len().saturating_sub(last.unwrap_or(0)))?;
        match last {
            None if free.is_empty() => return Err(EncodeError::NoInputs),
            None => {}
            Some(asked) if asked >= free.len() => {
                return Err(EncodeError::LastTooMany { asked, available: free.len() });
            }
            Some(count) => roles.targets = free[free.len() - count..].to_vec(),
        }
        Ok(roles)
    }
}

/// An error if a column is named twice, in one role or in two.
fn no_name_twice<'a>(named: impl Iterator<Item = (&'a String, &'static str)>) -> Result<(), EncodeError> {
    let mut taken: HashMap<&String, &'static str> = HashMap::new();
    for (name, role) in named {
        match taken.insert(name, role) {
            None => {}
            Some(first) if first == role => return Err(EncodeError::NamedTwice { role, name: name.clone() }),
            Some(first) => return Err(EncodeError::TwoRoles { name: name.clone(), first, second: role }),
        }
    }
    Ok(())
}

impl Roles {
    /// These columns to predict, all others as inputs.
    pub fn of_targets<T: Into<String>>(targets: impl IntoIterator<Item = T>) -> Roles {
        Roles { targets: targets.into_iter().map(Into::into).collect(), ..Roles::default() }
    }

    /// Name of the column with the row weights.
    pub fn weight_column(&self) -> Option<&String> {
        self.weight.as_ref().map(Weights::values)
    }

    /// Columns that play the part of inputs.
    pub fn inputs<'a>(&self, table: &'a Table) -> impl Iterator<Item = &'a Column> {
        let other = self.targets.iter().chain(&self.ignore).chain(self.weight_column()).chain(&self.group);
        let other: HashSet<String> = other.cloned().collect();
        table.columns().iter().filter(move |column| !other.contains(&column.name))
    }

    /// Rows in which at least one target is known, and a note about the others: they say nothing about any target.
    pub fn observed_rows(&self, table: &Table) -> Result<(Vec<usize>, Vec<Note>), EncodeError> {
        let rows = self.rows_with_target(table, 0..table.rows())?;
        if rows.is_empty() {
            return Err(EncodeError::NoRows { targets: self.targets.len() });
        }
        let left_out = table.rows() - rows.len();
        let text = || format!("{} without any target value left out", plural(left_out, "row"));
        let note = (left_out > 0).then(|| Note::new(NoteKind::NoTarget, Vec::new(), text()));
        Ok((rows, note.into_iter().collect()))
    }

    /// The rows among these in which at least one target is known.
    pub(crate) fn rows_with_target(&self, table: &Table, rows: Range<usize>) -> Result<Vec<usize>, EncodeError> {
        let targets = self.targets.iter().map(|name| numbers(table, "a target", name));
        let targets = targets.collect::<Result<Vec<_>, _>>()?;
        Ok(rows.filter(|&row| targets.iter().any(|numbers| !numbers[row].is_nan())).collect())
    }

    /// The rows in which each target is known.
    pub(crate) fn rows_of_targets(&self, table: &Table) -> Result<Vec<Vec<usize>>, EncodeError> {
        let rows = |name: &String| {
            let numbers = numbers(table, "a target", name)?;
            Ok((0..numbers.len()).filter(|&row| !numbers[row].is_nan()).collect())
        };
        self.targets.iter().map(rows).collect()
    }

    /// An error about the first row with a target whose weight is none.
    pub fn expect_weights(&self, table: &Table) -> Result<(), EncodeError> {
        let Some(name) = self.weight_column() else { return Ok(()) };
        let weights = numbers(table, "the weight", name)?;
        expect_weights(name, &weights, &self.rows_with_target(table, 0..table.rows())?)
    }

    /// What a user may not expect of the columns that say which rows belong together; `left_out` are inputs that the encoder
    /// does not use.
    pub fn order_notes(&self, table: &Table, left_out: &[String]) -> Vec<Note> {
        let shown = |name: &String| excerpt(name);
        let group = self
            .group
            .iter()
            .map(|name| format!("column {} says which rows belong together and is not an input", shown(name)));
        let is_input =
            |name: &String| !left_out.contains(name) && self.inputs(table).any(|column| column.name == *name);
        let time = self.time.iter().map(|name| match is_input(name) {
            true => format!("column {} orders the rows in time and is an input too", shown(name)),
            false => format!("column {} orders the rows in time and is not an input", shown(name)),
        });
        let columns = self.group.iter().chain(&self.time).cloned();
        columns.zip(group.chain(time)).map(|(column, text)| Note::new(NoteKind::Order, vec![column], text)).collect()
    }
}

/// An error about the first of some rows whose weight is none.
pub(super) fn expect_weights(name: &str, weights: &[f64], rows: &[usize]) -> Result<(), EncodeError> {
    // Written so that NaN is refused too.
    match rows.iter().find(|&&row| !(weights[row] >= 0.0 && weights[row].is_finite())) {
        Some(&row) => Err(EncodeError::BadWeight { column: name.to_owned(), row: row + 1, value: weights[row] }),
        None => Ok(()),
    }
}

/// The numbers of a column; text in it is an error, unless all of it is missing.
pub fn numbers<'a>(
    table: &'a Table,
    role: &'static str,
    name: &str,
) -> Result<std::borrow::Cow<'a, [f64]>, EncodeError> {
    let Some(column) = table.column(name) else {
        let names = table.columns().iter().map(|c| c.name.as_str());
        let nearest = nearest(name, names).map(String::from);
        return Err(EncodeError::UnknownColumn { role, name: name.to_owned(), nearest });
    };
    match &column.values {
        Values::Numeric(numbers) => Ok(numbers.into()),
        Values::Text { levels, codes } => {
            let number = |(row, &code): (usize, &u32)| match levels.get(code as usize) {
                None => Ok(f64::NAN),
                Some(text) => match text.trim().parse::<f64>() {
                    Ok(number) if number.is_finite() => Ok(number),
                    _ => {
                        Err(EncodeError::NotNumeric { role, column: name.to_owned(), row: row + 1, text: text.clone() })
                    }
                },
            };
            codes.iter().enumerate().map(number).collect::<Result<Vec<f64>, _>>().map(Into::into)
        }
    }
}

/// A name that was asked for.
struct Found {
    name: String,
    by_pattern: bool,
}

/// The names in lists, each once for every time it is named, for a table with these columns.
pub fn names_among(lists: &[String], columns: &[String]) -> Result<Vec<String>, EncodeError> {
    Ok(found_names(lists, columns)?.into_iter().map(|found| found.name).collect())
}

/// One name for a table with these columns: as it is, by its position or by a pattern.
pub fn one_name(name: &str, columns: &[String]) -> Result<String, EncodeError> {
    let known: HashSet<&str> = columns.iter().map(String::as_str).collect();
    match &found(name, columns, &known)?[..] {
        [one] => Ok(one.name.clone()),
        many => Err(EncodeError::SeveralColumns { text: name.to_owned(), found: many.len() }),
    }
}

fn found_names(lists: &[String], columns: &[String]) -> Result<Vec<Found>, EncodeError> {
    let mut names: Vec<Found> = Vec::new();
    let known: HashSet<&str> = columns.iter().map(String::as_str).collect();
    for list in lists {
        let whole = known.contains(list.as_str()).then(|| vec![(list.clone(), true)]);
        for (name, quoted) in whole.map_or_else(|| split(list), Ok)? {
            match quoted {
                true => names.push(Found { name, by_pattern: false }),
                false => names.extend(found(&name, columns, &known)?),
            }
        }
    }
    // What two patterns find is named once.
    let mut met = HashSet::new();
    names.retain(|found| met.insert(found.name.clone()) || !found.by_pattern);
    Ok(names)
}

/// The columns that a name stands for. One that is not there is taken as it is, and missed later.
fn found(name: &str, columns: &[String], known: &HashSet<&str>) -> Result<Vec<Found>, EncodeError> {
    let exact = |name: &str| Ok(vec![Found { name: name.to_owned(), by_pattern: false }]);
    if columns.is_empty() || known.contains(name) {
        return exact(name);
    }
    if let Some(position) = name.strip_prefix('#').and_then(|digits| digits.parse::<usize>().ok()) {
        let column = position.checked_sub(1).and_then(|index| columns.get(index));
        return match column {
            Some(column) => exact(column),
            None => Err(EncodeError::NoSuchColumn { position, columns: columns.len() }),
        };
    }
    if !name.contains(['*', '?']) {
        return exact(name);
    }
    let fitting = columns.iter().filter(|column| !column.trim().is_empty() && matches(name, column));
    let fitting: Vec<Found> = fitting.map(|column| Found { name: column.clone(), by_pattern: true }).collect();
    match fitting.is_empty() {
        true => Err(EncodeError::NoMatch { pattern: name.to_owned() }),
        false => Ok(fitting),
    }
}

/// Splits a list such as `a,"b, c",d` at the commas that stand outside double quotes; of each name whether it stood in them.
fn split(list: &str) -> Result<Vec<(String, bool)>, EncodeError> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let (mut inside, mut quoted) = (false, false);
    let mut letters = list.chars().chain([',']).peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // Twice in quotes, it is one of the name.
            '"' if inside && letters.peek() == Some(&'"') => {
                letters.next();
                name.push('"');
            }
            // A quote inside a name, as in 5" pipe, is part of it.
            '"' if inside || name.trim().is_empty() => (inside, quoted) = (!inside, true),
            ',' if !inside => {
                let finished = std::mem::take(&mut name);
                if !finished.trim().is_empty() {
                    names.push((finished.trim().to_owned(), quoted));
                }
                quoted = false;
            }
            other => name.push(other),
        }
    }
    match inside {
        true => Err(EncodeError::Quote { text: list.to_owned() }),
        false => Ok(names),
    }
}
