//! A table that is ready to learn from.

use super::roles::numbers;
use super::{Dataset, Encoder, MissingInputs, Note, RoleChoice, Roles, Weights, expect_count};
use crate::error::Result;
use crate::linalg::Mat;
use crate::table::Table;
use std::borrow::Cow;
use std::collections::HashSet;

/// A table, the role of each of its columns, and what follows: the rows in which a target is known, what the inputs
/// become, the numbers a model sees, and what a user should know about all of it.
///
/// [`fit`](TrainingTable::fit) learns a model from it. Cross-validation learns everything again from parts of it:
/// [`part`](TrainingTable::part) and [`held_out`](TrainingTable::held_out).
#[derive(Clone, Debug)]
pub struct TrainingTable {
    table: Table,
    roles: Roles,
    /// Of every row of the table, if they are given apart from it.
    weights: Option<Weights>,
    rows: Vec<usize>,
    encoder: Encoder,
    data: Dataset,
    notes: Vec<Note>,
}

impl TrainingTable {
    /// From a table that was read from a file or made by a caller, and the roles of its columns: [`Roles`], or a
    /// [`RoleChoice`] as users write it.
    pub fn new(table: Table, roles: impl Into<RoleChoice>, missing: MissingInputs) -> Result<TrainingTable> {
        TrainingTable::weighted(table, roles, missing, None)
    }

    /// The same with a weight for each row of the table that is given apart from it.
    pub fn weighted(
        table: Table,
        roles: impl Into<RoleChoice>,
        missing: MissingInputs,
        weights: Option<Weights>,
    ) -> Result<TrainingTable> {
        let roles = roles.into().resolve(&table)?;
        if let Some(weights) = &weights {
            expect_count("the list of row weights", "entries", weights.values().len(), table.rows())?;
        }
        let (rows, more) = roles.observed_rows(&table)?;
        let mut notes = table.notes().to_vec();
        notes.extend(more);
        let (encoder, more) = Encoder::learn(&table, &rows, &roles, missing)?;
        notes.extend(roles.order_notes(&table, encoder.left_out()));
        let data = dataset(&encoder, &table, &rows, weights.as_ref())?;
        notes.extend(more);
        notes.extend(encoder.suspicions(&data, Some(&rows)));
        Ok(TrainingTable { table, roles, weights, rows, encoder, data, notes })
    }

    /// A table that a model was fitted to before, read again: `encoder` is the model's. The roles are the encoder's too,
    /// but for the columns that say which rows belong together. Columns the encoder does not know are ignored.
    pub fn again(table: Table, mut roles: Roles, encoder: Encoder) -> Result<TrainingTable> {
        let known: HashSet<&str> = encoder.input_columns().into_iter().collect();
        let new = roles
            .inputs(&table)
            .filter(|column| !known.contains(column.name.as_str()))
            .map(|column| column.name.clone());
        roles.ignore.extend(new.collect::<Vec<_>>());
        let (rows, mut notes) = roles.observed_rows(&table)?;
        let data = dataset(&encoder, &table, &rows, None)?;
        // What was learned then is kept; what would be noted now counts, if the table can be learned from as it is.
        notes.extend(roles.order_notes(&table, encoder.left_out()));
        if let Ok((_, more)) = Encoder::learn(&table, &rows, &roles, encoder.missing_inputs()) {
            notes.extend(more);
        }
        notes.extend(encoder.suspicions(&data, Some(&rows)));
        Ok(TrainingTable { table, roles, weights: None, rows, encoder, data, notes })
    }

    /// The numbers a model sees of the rows in which a target is known.
    pub fn dataset(&self) -> &Dataset {
        &self.data
    }

    /// The rows of the table in which at least one target is known, rising: those of the dataset.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// What the inputs become.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// What a user should know about the table.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The table as it was read or given.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The roles of its columns.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// Encoder, dataset, rows and notes, without the table itself.
    pub fn into_parts(self) -> (Encoder, Dataset, Vec<usize>, Vec<Note>) {
        (self.encoder, self.data, self.rows, self.notes)
    }

    /// What is learned from some rows of the table alone: a fold trains on it. Targets of [`unknown`](Self::unknown) in
    /// these rows are left out.
    pub fn part(&self, rows: &[usize]) -> Result<(Encoder, Dataset)> {
        let (mut roles, unknown) = (self.roles.clone(), self.unknown(rows));
        if unknown.len() < roles.targets.len() {
            unknown.iter().rev().for_each(|&task| roles.ignore.push(roles.targets.remove(task)));
        }
        let encoder = self.encoder.learn_part(&self.table, rows, &roles)?;
        let data = dataset(&encoder, &self.table, rows, self.weights.as_ref())?;
        Ok((encoder, data))
    }

    /// Numbers of the targets of which some rows of the table, those of weight zero aside, have no value; rising.
    pub fn unknown(&self, rows: &[usize]) -> Vec<usize> {
        let (targets, weights) = (self.data.targets(), self.data.weights());
        let rows: Vec<usize> = rows.iter().filter_map(|row| self.rows.binary_search(row).ok()).collect();
        let counts = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
        let known = |task: usize| rows.iter().any(|&row| counts(row) && !targets[(row, task)].is_nan());
        (0..targets.ncols()).filter(|&task| !known(task)).collect()
    }

    /// Inputs and targets of some rows to judge predictions by, as an encoder of other rows of this table sees them. A
    /// target may be missing in all of them; as in [`Dataset::judged_targets`], rows of weight zero do not count.
    pub fn held_out(&self, encoder: &Encoder, rows: &[usize]) -> Result<(Mat<f64>, Mat<f64>)> {
        let (inputs, mut targets) = encoder.test_rows(&self.table, rows)?;
        let weights: Option<Cow<'_, [f64]>> = match (&self.weights, self.roles.weight_column()) {
            (Some(given), _) => Some(given.values().into()),
            (None, Some(name)) => Some(numbers(&self.table, "the weight", name)?),
            (None, None) => None,
        };
        if let Some(weights) = weights {
            for (i, _) in rows.iter().enumerate().filter(|(_, row)| weights[**row] == 0.0) {
                (0..targets.ncols()).for_each(|c| targets[(i, c)] = f64::NAN);
            }
        }
        Ok((inputs, targets))
    }
}

/// Some rows of a table as numbers, with their share of the weights that were given apart from it.
fn dataset(encoder: &Encoder, table: &Table, rows: &[usize], weights: Option<&Weights>) -> Result<Dataset> {
    let (data, _) = encoder.dataset(table, rows)?;
    match weights {
        None => Ok(data),
        Some(weights) => {
            data.with_weights(weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect()))
        }
    }
}
