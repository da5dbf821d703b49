//! Which column of a table plays which part.

use super::encode_error::EncodeError;
use super::{Note, NoteKind, Weights};
use crate::table::{Column, ReadOptions, Table, Values, excerpt, nearest};
use crate::words::plural;
use serde::{Deserialize, Serialize};

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
    /// Column whose equal values mark rows that belong together, such as visits of one patient. It is no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Column that orders the rows in time. It is an input only if it holds numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

/// Roles as a user writes them, before a table is there to check them against.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleChoice {
    targets: Targets,
    ignore: Vec<String>,
    weight: Option<Weights<String>>,
    group: Option<String>,
    time: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Targets {
    Named(Vec<String>),
    Last(usize),
}

impl RoleChoice {
    /// Reads lists of names such as `a,b,c`; a name that contains a comma stands in double quotes. Several lists are
    /// joined. `last:3` as the only list of targets means the last three columns that have no other role.
    pub fn parse(
        targets: &[String],
        ignore: &[String],
        weight: Option<Weights<&str>>,
    ) -> Result<RoleChoice, EncodeError> {
        let targets = match targets {
            [one] if one.starts_with("last:") => {
                let count = one.trim_start_matches("last:").parse().ok().filter(|&count| count > 0);
                Targets::Last(count.ok_or_else(|| EncodeError::BadLast { text: one.clone() })?)
            }
            lists => Targets::Named(split_names(lists)?),
        };
        let (ignore, weight) = (split_names(ignore)?, weight.map(|weight| weight.map(String::from)));
        let choice = RoleChoice { targets, ignore, weight, group: None, time: None };
        choice.check_overlaps()?;
        Ok(choice)
    }

    /// The same with a column that says which rows belong together, or one that orders them in time. Either may be
    /// ignored as well.
    pub fn with_order(mut self, group: Option<&str>, time: Option<&str>) -> Result<RoleChoice, EncodeError> {
        (self.group, self.time) = (group.map(String::from), time.map(String::from));
        let mut taken: Vec<(&String, &'static str)> =
            self.named_targets().iter().map(|name| (name, "a target")).collect();
        taken.extend(self.weight.iter().map(|weight| (weight.values(), "the weight")));
        for (name, second) in [(&self.group, "the group"), (&self.time, "the time")] {
            let Some(name) = name else { continue };
            if let Some(&(_, first)) = taken.iter().find(|(other, _)| *other == name) {
                return Err(EncodeError::TwoRoles { name: name.clone(), first, second });
            }
            taken.push((name, second));
        }
        Ok(self)
    }

    fn named_targets(&self) -> &[String] {
        match &self.targets {
            Targets::Named(names) => names,
            Targets::Last(_) => &[],
        }
    }

    fn check_overlaps(&self) -> Result<(), EncodeError> {
        if self.targets == Targets::Named(Vec::new()) {
            return Err(EncodeError::NoTargets);
        }
        let weight: Vec<String> = self.weight.iter().map(|weight| weight.values().clone()).collect();
        let mut taken: Vec<(&str, &'static str)> = Vec::new();
        for (names, role) in [(self.named_targets(), "a target"), (&weight, "the weight"), (&self.ignore, "ignored")] {
            for name in names {
                match taken.iter().find(|(other, _)| other == name) {
                    Some((_, first)) if *first == role => {
                        return Err(EncodeError::NamedTwice { role, name: name.clone() });
                    }
                    Some((_, first)) => {
                        return Err(EncodeError::TwoRoles { name: name.clone(), first, second: role });
                    }
                    None => taken.push((name, role)),
                }
            }
        }
        Ok(())
    }

    /// How to read the table: targets and weight must be numbers, ignored columns are not even looked at.
    pub fn read_options(&self) -> ReadOptions {
        let weight = self.weight.as_ref().map(Weights::values);
        let numeric = self.named_targets().iter().chain(weight).cloned().collect();
        let needed = |name: &String| self.group.as_ref() == Some(name) || self.time.as_ref() == Some(name);
        let ignored = self.ignore.iter().filter(|name| !needed(name)).cloned().collect();
        ReadOptions { numeric_columns: numeric, ignored_columns: ignored, ..ReadOptions::default() }
    }

    /// The roles in a given table; every name must be one of its columns.
    pub fn resolve(&self, table: &Table) -> Result<Roles, EncodeError> {
        let names: Vec<&str> = table.columns().iter().map(|c| c.name.as_str()).collect();
        let check = |role: &'static str, name: &String, known: bool| {
            if known {
                return Ok(());
            }
            let nearest = nearest(name, names.iter().copied()).map(String::from);
            Err(EncodeError::UnknownColumn { role, name: name.clone(), nearest })
        };
        for name in self.named_targets() {
            check("a target", name, names.contains(&name.as_str()))?;
        }
        let weight = self.weight.as_ref().map(Weights::values);
        if let Some(name) = weight {
            check("the weight", name, names.contains(&name.as_str()))?;
        }
        for (place, role) in [(&self.group, "the group"), (&self.time, "the time")] {
            if let Some(name) = place {
                check(role, name, names.contains(&name.as_str()))?;
            }
        }
        for name in &self.ignore {
            check("one to ignore", name, names.contains(&name.as_str()) || table.ignored().contains(name))?;
        }
        let is_date = |name: &&String| !table.column(name).is_some_and(Column::is_numeric);
        let date = self.time.as_ref().filter(is_date);
        let not_inputs = || self.ignore.iter().chain(weight).chain(&self.group).chain(date);
        let has_role = |name: &str| not_inputs().any(|other| other == name);
        let free: Vec<String> = names.iter().filter(|name| !has_role(name)).map(|name| name.to_string()).collect();
        let targets = match &self.targets {
            Targets::Named(targets) if targets.len() == free.len() => return Err(EncodeError::NoInputs),
            Targets::Named(targets) => targets.clone(),
            Targets::Last(count) if *count >= free.len() => {
                return Err(EncodeError::LastTooMany { asked: *count, available: free.len() });
            }
            Targets::Last(count) => free[free.len() - count..].to_vec(),
        };
        let (ignore, weight) = (self.ignore.clone(), self.weight.clone());
        Ok(Roles { targets, ignore, weight, group: self.group.clone(), time: self.time.clone() })
    }
}

impl Roles {
    /// [`RoleChoice::parse`] and [`RoleChoice::resolve`] in one step, for a table that is already there.
    pub fn resolve(
        table: &Table,
        targets: &[String],
        ignore: &[String],
        weight: Option<Weights<&str>>,
    ) -> Result<Roles, EncodeError> {
        RoleChoice::parse(targets, ignore, weight)?.resolve(table)
    }

    /// Name of the column with the row weights.
    pub fn weight_column(&self) -> Option<&String> {
        self.weight.as_ref().map(Weights::values)
    }

    /// Columns that play the part of inputs.
    pub fn inputs<'a>(&self, table: &'a Table) -> impl Iterator<Item = &'a Column> {
        table.columns().iter().filter(|column| {
            let mut other = self.targets.iter().chain(&self.ignore).chain(self.weight_column()).chain(&self.group);
            let is_date = !column.is_numeric() && self.time.as_ref() == Some(&column.name);
            !is_date && !other.any(|name| *name == column.name)
        })
    }

    /// Rows in which at least one target is known, and a note about the others: they say nothing about any target.
    pub fn observed_rows(&self, table: &Table) -> Result<(Vec<usize>, Vec<Note>), EncodeError> {
        let mut known = vec![false; table.rows()];
        for name in &self.targets {
            let numbers = numbers(table, "a target", name)?;
            known.iter_mut().zip(numbers.iter()).for_each(|(known, value)| *known |= !value.is_nan());
        }
        let rows: Vec<usize> = (0..table.rows()).filter(|&row| known[row]).collect();
        if rows.is_empty() {
            return Err(EncodeError::NoRows { targets: self.targets.len() });
        }
        let left_out = table.rows() - rows.len();
        let text = || format!("{} without any target value left out", plural(left_out, "row"));
        let note = (left_out > 0).then(|| Note::new(NoteKind::NoTarget, Vec::new(), text()));
        Ok((rows, note.into_iter().collect()))
    }

    /// What a user may not expect of the columns that say which rows belong together.
    pub fn order_notes(&self, table: &Table) -> Vec<Note> {
        let shown = |name: &String| excerpt(name);
        let group = self
            .group
            .iter()
            .map(|name| format!("column {} says which rows belong together and is no input", shown(name)));
        let time = self.time.iter().map(|name| match self.inputs(table).any(|column| column.name == *name) {
            true => format!("column {} orders the rows in time and is an input too", shown(name)),
            false => format!("column {} orders the rows in time and is no input", shown(name)),
        });
        let columns = self.group.iter().chain(&self.time).cloned();
        columns.zip(group.chain(time)).map(|(column, text)| Note::new(NoteKind::Order, vec![column], text)).collect()
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

/// Splits lists such as `a,"b, c",d` at the commas that stand outside double quotes.
pub fn split_names(lists: &[String]) -> Result<Vec<String>, EncodeError> {
    let mut names = Vec::new();
    for list in lists {
        let (mut name, mut quoted) = (String::new(), false);
        for letter in list.chars().chain([',']) {
            match letter {
                // A quote inside a name, as in 5" pipe, is part of it.
                '"' if quoted || name.trim().is_empty() => quoted = !quoted,
                ',' if !quoted => {
                    let finished = std::mem::take(&mut name);
                    if !finished.trim().is_empty() {
                        names.push(finished.trim().to_owned());
                    }
                }
                other => name.push(other),
            }
        }
        if quoted {
            return Err(EncodeError::Quote { text: list.clone() });
        }
    }
    Ok(names)
}
