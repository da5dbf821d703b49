//! Distances between rows along single inputs.
//!
//! Of the many columns of a text, a row has one that is not as in most rows; the distance of two rows is in the one or two
//! columns that this concerns, and no other is looked at.

use super::game::{LANES, Lane};
use super::{Explainer, Input};
use crate::kernel::Metric;
use crate::linalg::Mat;

/// From so many columns on, an input is looked at cell by cell.
const WIDE: usize = 8;

/// Column and value of a cell.
type Cell = (usize, f64);

/// Standardised rows, ready for distances along each input.
pub(super) struct Rows<'a> {
    table: &'a Mat<f64>,
    inputs: &'a [Input],
    /// Lowest value of each column in the background: zero before it was standardised, for a column of a text.
    lowest: &'a [f64],
    /// Of each input of many columns, for each row the cells that have another value, by column.
    cells: Vec<Vec<Vec<Cell>>>,
}

impl Explainer<'_> {
    /// Rows of all columns of the model.
    pub(super) fn along<'b>(&'b self, table: &'b Mat<f64>) -> Rows<'b> {
        Rows::new(table, &self.inputs, &self.lowest)
    }
}

fn other_cells(columns: &[usize], table: &Mat<f64>, usual: &[f64]) -> Vec<Vec<Cell>> {
    let mut cells = vec![Vec::new(); table.nrows()];
    for &d in columns {
        for (cells, &value) in cells.iter_mut().zip(table.col_as_slice(d)) {
            if value != usual[d] {
                cells.push((d, value));
            }
        }
    }
    cells
}

impl<'a> Rows<'a> {
    fn new(table: &'a Mat<f64>, inputs: &'a [Input], lowest: &'a [f64]) -> Rows<'a> {
        let cells = |input: &Input| match input.columns.len() {
            ..WIDE => Vec::new(),
            _ => other_cells(&input.columns, table, lowest),
        };
        Rows { table, inputs, lowest, cells: inputs.iter().map(cells).collect() }
    }

    /// Those of another table of the same columns.
    pub(super) fn of_other<'b>(&self, table: &'b Mat<f64>) -> Rows<'b>
    where
        'a: 'b,
    {
        Rows::new(table, self.inputs, self.lowest)
    }

    pub(super) fn count(&self) -> usize {
        self.table.nrows()
    }

    /// Adds the distances along an input of a row of another table to the rows from `first` on.
    pub(super) fn add(
        &self,
        input: usize,
        metric: &Metric,
        first: usize,
        (other, row): (&Rows<'_>, usize),
        out: &mut [f64],
    ) {
        let columns = &self.inputs[input].columns;
        if columns.len() < WIDE {
            metric.add(columns, (self.table, first), (other.table, row), out);
            return;
        }
        let theirs = &other.cells[input][row];
        for (out, own) in out.iter_mut().zip(&self.cells[input][first..]) {
            *out += apart(own, theirs, self.lowest, metric);
        }
    }

    /// The same for eight rows; the last one stands in for those that are not there.
    pub(super) fn eight(&self, input: usize, metric: &Metric, first: usize, other: (&Rows<'_>, usize)) -> Lane {
        let mut lane = [0.0; LANES];
        let there = LANES.min(self.count() - first);
        self.add(input, metric, first, other, &mut lane[..there]);
        let last = lane[there - 1];
        lane[there..].fill(last);
        lane
    }
}

/// Distance of two rows given by the cells in which they are not as usual.
fn apart(a: &[Cell], b: &[Cell], usual: &[f64], metric: &Metric) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() || j < b.len() {
        let (left, right) = (a.get(i), b.get(j));
        let column = |cell: Option<&Cell>| cell.map_or(usize::MAX, |cell| cell.0);
        let d = column(left).min(column(right));
        let value = |cell: Option<&Cell>| cell.filter(|cell| cell.0 == d).map_or(usual[d], |cell| cell.1);
        sum += metric.part(d, value(left) - value(right));
        i += usize::from(column(left) == d);
        j += usize::from(column(right) == d);
    }
    sum
}
