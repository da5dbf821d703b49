//! Inputs, targets and row weights with their names, checked once so that everything after may rely on them.

use super::{RowSums, SetAside, Weights};
use crate::error::{Error, Result};
use crate::files::hex;
use crate::linalg::{Mat, MatRef, select_rows};
use crate::table::{Column, ColumnsError, Table, Values};
use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Numbers that somebody else keeps, row after row, for as long as they are held: they are read where they lie.
pub type Lent = Arc<dyn AsRef<[f64]> + Send + Sync>;

/// A table ready for learning: rows are samples. Inputs are finite; a target cell may be NaN, which means "not
/// observed" and carries no information.
#[derive(Clone, Debug)]
pub struct Dataset {
    inputs: Inputs,
    targets: Mat<f64>,
    weights: Option<RowWeights>,
    input_names: Vec<String>,
    target_names: Vec<String>,
    one_hot: Vec<Range<usize>>,
    /// The fingerprint, once it was asked for.
    hash: OnceLock<String>,
}

#[derive(Clone, Debug)]
struct RowWeights {
    given: Weights,
    /// What a model sees: relative weights with mean one.
    scaled: Vec<f64>,
}

#[derive(Clone)]
enum Inputs {
    Own(Mat<f64>),
    Lent { numbers: Lent, rows: usize, columns: usize },
}

impl Inputs {
    fn view(&self) -> MatRef<'_, f64> {
        match self {
            Inputs::Own(matrix) => matrix.as_ref(),
            Inputs::Lent { numbers, rows, columns } => {
                MatRef::from_row_major_slice((**numbers).as_ref(), *rows, *columns)
            }
        }
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

impl Dataset {
    /// Checks the two tables and names their columns `x1, x2, …` and `y1, y2, …`.
    pub fn new(inputs: Mat<f64>, targets: Mat<f64>) -> Result<Self> {
        let numbered = |letter: &str, n: usize| (1..=n).map(|i| format!("{letter}{i}")).collect();
        let input_names = numbered("x", inputs.ncols());
        let target_names = numbered("y", targets.ncols());
        Dataset::named(inputs, targets, input_names, target_names)
    }

    /// The same with given column names.
    pub fn named(
        inputs: Mat<f64>,
        targets: Mat<f64>,
        input_names: Vec<String>,
        target_names: Vec<String>,
    ) -> Result<Self> {
        Dataset::checked(Inputs::Own(inputs), targets, input_names, target_names)
    }

    /// The same with inputs that are not copied: as many rows as there are targets, one after the other. Whoever lends
    /// them does not change them.
    pub fn lent(numbers: Lent, targets: Mat<f64>, input_names: Vec<String>, target_names: Vec<String>) -> Result<Self> {
        let (rows, columns) = (targets.nrows(), input_names.len());
        expect_count("the inputs", "numbers", (*numbers).as_ref().len(), rows * columns)?;
        Dataset::checked(Inputs::Lent { numbers, rows, columns }, targets, input_names, target_names)
    }

    fn checked(held: Inputs, targets: Mat<f64>, input_names: Vec<String>, target_names: Vec<String>) -> Result<Self> {
        let inputs = held.view();
        expect_count("the targets", "rows", targets.nrows(), inputs.nrows())?;
        expect_count("the list of input names", "entries", input_names.len(), inputs.ncols())?;
        expect_count("the list of target names", "entries", target_names.len(), targets.ncols())?;
        for (empty, what) in [
            (inputs.nrows() == 0, "rows"),
            (inputs.ncols() == 0, "input columns"),
            (targets.ncols() == 0, "target columns"),
        ] {
            if empty {
                return Err(Error::Empty(what));
            }
        }
        check_inputs(inputs, &input_names)?;
        for (column, name) in target_names.iter().enumerate() {
            let values = targets.col_as_slice(column);
            if let Some(row) = values.iter().position(|v| v.is_infinite()) {
                return Err(Error::NotFinite {
                    what: "targets",
                    row,
                    column: name.clone(),
                    value: values[row],
                    remedy: "correct it, or mark the cell as missing (NaN)",
                });
            }
            if values.iter().all(|v| v.is_nan()) {
                return Err(Error::TargetUnobserved(name.clone()));
            }
        }
        let (one_hot, hash) = (Vec::new(), OnceLock::new());
        Ok(Dataset { inputs: held, targets, weights: None, input_names, target_names, one_hot, hash })
    }

    /// Gives each row a weight, finite and not negative; a row of weight zero is not learned from.
    pub fn with_weights(mut self, weights: Weights) -> Result<Self> {
        expect_count("the row weights", "entries", weights.values().len(), self.rows())?;
        if let Some(row) = weights.values().iter().position(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::Weights(format!(
                "row {} has weight {}; weights are finite and not negative",
                row + 1,
                weights.values()[row]
            )));
        }
        let scaled = weights.scaled();
        let total: f64 = scaled.iter().sum();
        if total <= 0.0 || !total.is_finite() {
            return Err(Error::Weights(format!("they sum to {total}; the sum must be positive and finite")));
        }
        for (column, name) in self.target_names.iter().enumerate() {
            let values = self.targets.col_as_slice(column).iter();
            if values.zip(&scaled).all(|(v, &w)| v.is_nan() || w == 0.0) {
                return Err(Error::TargetUnobserved(name.clone()));
            }
        }
        self.weights = Some(RowWeights { given: weights, scaled });
        self.hash = OnceLock::new();
        Ok(self)
    }

    /// Says which columns are the levels of one text input, a range for each such input: they are one input to a model,
    /// with one scale, and one scale in the kernel.
    pub fn with_one_hot(mut self, blocks: Vec<Range<usize>>) -> Result<Self> {
        let mut next = 0;
        for block in &blocks {
            if block.start < next || block.is_empty() || block.end > self.input_names.len() {
                return Err(Error::OneHot { block: block.clone(), inputs: self.input_names.len() });
            }
            next = block.end;
        }
        self.one_hot = blocks;
        Ok(self)
    }

    /// The columns that are the levels of one text input, a range for each.
    pub fn one_hot(&self) -> &[Range<usize>] {
        &self.one_hot
    }

    /// N×D inputs.
    pub fn inputs(&self) -> MatRef<'_, f64> {
        self.inputs.view()
    }

    /// N×C targets, NaN where not observed.
    pub fn targets(&self) -> MatRef<'_, f64> {
        self.targets.as_ref()
    }

    /// The targets by which predictions are judged: rows of weight zero were never learned from and do not count, their
    /// cells are NaN.
    pub fn judged_targets(&self) -> Mat<f64> {
        let counts = |row: usize| self.weights().is_none_or(|w| w[row] > 0.0);
        let targets = self.targets();
        Mat::from_fn(targets.nrows(), targets.ncols(), |n, c| if counts(n) { targets[(n, c)] } else { f64::NAN })
    }

    /// Row weights as a model sees them, if any were given: relative ones have mean one.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_ref().map(|weights| weights.scaled.as_slice())
    }

    /// Row weights as they were given, and with them what they mean.
    pub fn given_weights(&self) -> Option<&Weights> {
        self.weights.as_ref().map(|weights| &weights.given)
    }

    /// The number of rows that the rows of weight count as: repeats add up, relative weights leave it as it is.
    pub fn effective_rows(&self) -> f64 {
        match &self.weights {
            None => self.rows() as f64,
            Some(RowWeights { given: Weights::Repeats(counts), .. }) => counts.iter().sum(),
            Some(RowWeights { scaled, .. }) => scaled.iter().filter(|w| **w > 0.0).count() as f64,
        }
    }

    /// Number of rows N.
    pub fn rows(&self) -> usize {
        self.targets.nrows()
    }

    /// Names of the D inputs.
    pub fn input_names(&self) -> &[String] {
        &self.input_names
    }

    /// Names of the C targets.
    pub fn target_names(&self) -> &[String] {
        &self.target_names
    }

    /// The dataset made of the chosen rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Result<Dataset> {
        if let Some(&row) = rows.iter().find(|&&row| row >= self.rows()) {
            return Err(Error::Shape { what: "the dataset", unit: "rows", found: self.rows(), expected: row + 1 });
        }
        let chosen = Dataset::named(
            select_rows(self.inputs(), rows),
            select_rows(self.targets(), rows),
            self.input_names.clone(),
            self.target_names.clone(),
        )?
        .with_one_hot(self.one_hot.clone())?;
        match &self.weights {
            None => Ok(chosen),
            Some(RowWeights { given, .. }) => {
                chosen.with_weights(given.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect()))
            }
        }
    }

    /// The same where some target cells were not observed.
    pub(crate) fn without(&self, cells: &[SetAside]) -> Dataset {
        let mut rest = Dataset { hash: OnceLock::new(), ..self.clone() };
        cells.iter().for_each(|cell| rest.targets[(cell.row, cell.task)] = f64::NAN);
        rest
    }

    /// The rows of weight, of rows that are copies of each other (inputs and targets) the first.
    pub(crate) fn distinct_rows(&self) -> Vec<usize> {
        let columns = |row: usize| {
            let inputs = (0..self.input_names.len()).map(move |d| self.inputs()[(row, d)]);
            inputs.chain((0..self.target_names.len()).map(move |c| self.targets[(row, c)])).map(canonical)
        };
        let order = |a: &usize, b: &usize| columns(*a).cmp(columns(*b));
        let mut rows: Vec<usize> =
            (0..self.rows()).filter(|&row| self.weights().is_none_or(|w| w[row] > 0.0)).collect();
        rows.sort_by(order);
        rows.dedup_by(|a, b| order(a, b).is_eq());
        rows
    }

    /// Inputs and targets as the columns of a table.
    pub fn table(&self) -> std::result::Result<Table, ColumnsError> {
        let inputs = self.input_names.iter().zip(self.inputs().col_iter());
        let targets = self.target_names.iter().zip(self.targets().col_iter());
        let columns = inputs.chain(targets).map(|(name, values)| Column {
            name: name.clone(),
            values: Values::Numeric(values.iter().copied().collect()),
        });
        Table::new(columns.collect())
    }

    /// SHA-256 of names, shapes, numbers, and weights as a model sees them: equal for equal data on every machine.
    pub fn fingerprint(&self) -> String {
        match &self.inputs {
            Inputs::Own(_) => self.hash.get_or_init(|| self.hashed()).clone(),
            // Whoever lent them may have written to them since.
            Inputs::Lent { .. } => self.hashed(),
        }
    }

    fn hashed(&self) -> String {
        let mut hash = Sha256::new();
        for names in [&self.input_names, &self.target_names] {
            hash.update((names.len() as u64).to_le_bytes());
            for name in names {
                hash.update((name.len() as u64).to_le_bytes());
                hash.update(name.as_bytes());
            }
        }
        hash.update((self.rows() as u64).to_le_bytes());
        hash_numbers(&mut hash, self.inputs());
        hash_numbers(&mut hash, self.targets());
        if let Some(RowWeights { given: Weights::Relative(_), .. }) = &self.weights {
            hash.update(b"relative");
        }
        for weight in self.weights().into_iter().flatten() {
            hash.update(weight.to_bits().to_le_bytes());
        }
        text_of(hash)
    }

    /// Sums of hashes over the rows that are learned from: those with a target and without weight zero.
    pub fn row_sums(&self) -> RowSums {
        let targets = self.targets();
        let counts = |n: &usize| {
            let observed = (0..targets.ncols()).any(|c| !targets[(*n, c)].is_nan());
            observed && self.weights().is_none_or(|weights| weights[*n] > 0.0)
        };
        let rows: Vec<usize> = (0..self.rows()).filter(counts).collect();
        RowSums::of_rows(
            &rows,
            self.inputs(),
            Some(targets),
            self.given_weights().map(|given| given.values().as_slice()),
        )
    }
}

fn hash_numbers(hash: &mut Sha256, table: MatRef<'_, f64>) {
    for column in 0..table.ncols() {
        for value in table.col(column).iter() {
            hash.update(canonical(*value).to_le_bytes());
        }
    }
}

/// One bit pattern for every NaN and for both zeros.
pub(super) fn canonical(value: f64) -> u64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }.to_bits()
}

fn text_of(hash: Sha256) -> String {
    hex(hash.finalize())
}

/// An error unless two counts agree.
pub fn expect_count(what: &'static str, unit: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, unit, found, expected }) }
}

/// An error naming the first input that is NaN or infinite.
pub fn check_inputs(inputs: MatRef<'_, f64>, names: &[String]) -> Result<()> {
    for (column, name) in names.iter().enumerate() {
        for row in 0..inputs.nrows() {
            let value = inputs[(row, column)];
            if !value.is_finite() {
                return Err(Error::NotFinite {
                    what: "inputs",
                    row,
                    column: name.clone(),
                    value,
                    remedy: "correct it, or impute missing inputs before the fit",
                });
            }
        }
    }
    Ok(())
}
