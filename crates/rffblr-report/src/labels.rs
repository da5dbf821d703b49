//! What people call the columns, and in which units they measure them.

use std::collections::BTreeMap;

/// Labels and units of columns, by their names in the table. A column without one is called by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels(BTreeMap<String, Label>);

#[derive(Clone, Debug, PartialEq)]
struct Label {
    label: String,
    unit: String,
}

impl Labels {
    /// Adds a column. Empty text stands for nothing.
    pub fn insert(&mut self, column: impl Into<String>, label: impl Into<String>, unit: impl Into<String>) {
        self.0.insert(column.into(), Label { label: label.into(), unit: unit.into() });
    }

    /// The columns that have an entry.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What a column is called.
    pub(super) fn name(&self, column: &str) -> String {
        match self.0.get(column) {
            Some(Label { label, .. }) if !label.is_empty() => label.clone(),
            _ => column.to_owned(),
        }
    }

    /// Its unit; empty if it has none.
    pub(super) fn unit(&self, column: &str) -> String {
        self.0.get(column).map(|label| label.unit.clone()).unwrap_or_default()
    }

    /// An amount of a column, with three significant digits and its unit.
    pub(super) fn amount(&self, column: &str, value: f64) -> String {
        let unit = self.unit(column);
        let gap = if unit.is_empty() { "" } else { "\u{a0}" };
        format!("{}{gap}{unit}", super::verdict::significant(value))
    }
}
