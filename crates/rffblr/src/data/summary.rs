//! What is to be known of a table that is too large to be kept: counts, levels, moments and a sample of its rows.

mod bytes;
mod column;

use crate::error::Error;
use crate::table::cells::Cells;
use crate::table::{Column, ColumnsError, Table, Values};
pub use column::{ColumnSummary, LevelCounts, Moments, Present};
use rayon::prelude::*;

/// A summary of blocks of rows, in memory that does not depend on their number.
///
/// Summaries of parts of the rows can be merged. Counts, levels and sample are the same for every order and every split
/// of the rows into blocks; means and variances are so up to rounding.
///
/// The sample has the rows with the smallest [`row_hash`], so that every row has the same chance to be in it.
#[derive(Clone, Debug)]
pub struct Summary {
    most_rows: usize,
    seed: u64,
    rows: u64,
    columns: Vec<ColumnSummary>,
    /// Columns that were left out when the table was read.
    ignored: Vec<String>,
    /// Hash and number of each row that may be in the sample.
    candidates: Vec<(u64, u64)>,
    /// The cells of these rows, column by column.
    cells: Vec<Cells>,
    /// A row with a larger hash is not in the sample.
    largest: u64,
}

/// A number that is as good as drawn at random for each row, and different for each: the finaliser of SplitMix64.
pub fn row_hash(seed: u64, row: u64) -> u64 {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(GOLDEN.wrapping_mul(row)))
}

/// The rows of a sample, rising; `None` if these are all.
pub(crate) fn row_sample(rows: usize, count: usize, seed: u64) -> Option<Vec<usize>> {
    if rows <= count {
        return None;
    }
    let mut hashed: Vec<(u64, usize)> = (0..rows).map(|row| (row_hash(seed, row as u64), row)).collect();
    hashed.select_nth_unstable(count);
    let mut chosen: Vec<usize> = hashed[..count].iter().map(|(_, row)| *row).collect();
    chosen.sort_unstable();
    Some(chosen)
}

/// Most cells of a sample: the rows of wide tables are fewer.
const MOST_CELLS: usize = 150_000_000;

impl Summary {
    /// A summary of no rows, whose sample will have at most `most_rows`, and at most 1.5·10⁸ cells.
    pub fn new(most_rows: usize, seed: u64) -> Summary {
        let (columns, ignored, candidates, cells) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Summary { most_rows, seed, rows: 0, columns, ignored, candidates, cells, largest: u64::MAX }
    }

    /// The same for some of the rows of a table that has `rows` of them in all: it keeps only its share of the sample, the
    /// rows whose hashes are so small that the sample has them. Were it to err, which has a chance of 10⁻²³, the sample
    /// would be a little smaller.
    pub fn of_part(most_rows: usize, seed: u64, rows: u64) -> Summary {
        let expected = most_rows as f64;
        let share = (expected + 10.0 * expected.sqrt()) / rows as f64;
        // A share above one saturates.
        Summary { largest: (share * u64::MAX as f64) as u64, ..Summary::new(most_rows, seed) }
    }

    /// Adds the rows of a block, the first of which has the number `first_row`. No row may be added twice, and all
    /// blocks have the same columns.
    pub fn add(&mut self, table: &Table, first_row: u64) -> Result<(), ColumnsError> {
        if self.columns.is_empty() {
            self.columns = table.columns().iter().map(ColumnSummary::empty).collect();
            self.cells = table.columns().iter().map(|column| Cells::empty(!column.is_numeric())).collect();
            self.ignored = table.ignored().to_vec();
            self.most_rows = self.most_rows.min(MOST_CELLS / self.columns.len().max(1));
        }
        self.check_columns(table.columns().iter().map(|column| (column.name.as_str(), !column.is_numeric())))?;
        let mut chosen = Vec::new();
        for (row, number) in (0..table.rows()).zip(first_row..) {
            let hash = row_hash(self.seed, number);
            if hash <= self.largest {
                self.candidates.push((hash, number));
                chosen.push(row);
            }
        }
        let places = self.columns.par_iter_mut().zip(&mut self.cells).zip(table.columns());
        places.for_each(|((summary, cells), column)| {
            summary.add(column, first_row);
            cells.extend(&column.values, chosen.iter().copied());
        });
        self.rows += table.rows() as u64;
        self.shrink();
        Ok(())
    }

    /// Adds the rows of another summary with the same seed and size of sample.
    pub fn merge(&mut self, other: Summary) -> Result<(), ColumnsError> {
        if self.columns.is_empty() {
            *self = other;
            return Ok(());
        }
        if other.columns.is_empty() {
            return Ok(());
        }
        self.check_columns(other.columns.iter().map(|column| (column.name.as_str(), column.is_text())))?;
        self.rows += other.rows;
        self.largest = self.largest.min(other.largest);
        self.candidates.extend(&other.candidates);
        for (mine, theirs) in self.columns.iter_mut().zip(other.columns) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.cells.iter_mut().zip(other.cells) {
            let values = theirs.finish();
            mine.extend(&values, 0..values.len());
        }
        self.shrink();
        Ok(())
    }

    /// As bytes that [`from_bytes`](Summary::from_bytes) reads on any machine, with a version and a checksum.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        bytes::write(self)
    }

    /// A summary from its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Summary, Error> {
        bytes::read(bytes)
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of rows of the sample.
    pub fn sample_rows(&self) -> usize {
        self.candidates.len().min(self.most_rows)
    }

    /// What is known of each column, in the order of the table.
    pub fn columns(&self) -> &[ColumnSummary] {
        &self.columns
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&ColumnSummary> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The sample and the number of each of its rows, in the order of the numbers.
    pub fn sample(&self) -> (Table, Vec<u64>) {
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        order.sort_unstable_by_key(|&k| self.candidates[k].0);
        order.truncate(self.most_rows);
        order.sort_unstable_by_key(|&k| self.candidates[k].1);
        let column = |(column, cells): (&ColumnSummary, &Cells)| {
            let values = match cells {
                Cells::Numbers(numbers) => Values::Numeric(order.iter().map(|&k| numbers[k]).collect()),
                Cells::Text(_) => chosen(cells.clone(), &order),
            };
            Column { name: column.name.clone(), values }
        };
        let columns: Vec<Column> = self.columns.par_iter().zip(&self.cells).map(column).collect();
        let numbers = order.iter().map(|&k| self.candidates[k].1).collect();
        let table = Table::new(columns).unwrap_or_else(|_| unreachable!("columns of tables, of one length"));
        (table.leaving_out(self.ignored.clone()), numbers)
    }

    /// Drops rows that cannot be in the sample, once there are as many of them as it holds.
    fn shrink(&mut self) {
        if self.candidates.len() <= 2 * self.most_rows {
            return;
        }
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        if self.most_rows > 0 {
            order.select_nth_unstable_by_key(self.most_rows - 1, |&k| self.candidates[k].0);
            self.largest = self.candidates[order[self.most_rows - 1]].0;
        }
        order.truncate(self.most_rows);
        self.candidates = order.iter().map(|&k| self.candidates[k]).collect();
        for cells in &mut self.cells {
            let values = cells.take();
            cells.extend(&values, order.iter().copied());
        }
    }

    /// An error unless these are the columns of all rows so far; of each its name and whether it is text.
    fn check_columns<'a>(&self, other: impl Iterator<Item = (&'a str, bool)>) -> Result<(), ColumnsError> {
        let differs = |column: &str, message: &str| {
            Err(ColumnsError::BadColumn { column: column.to_owned(), message: message.to_owned() })
        };
        let mut mine = self.columns.iter();
        for (name, text) in other {
            match mine.next() {
                Some(column) if column.name != name => return differs(name, "not in the same place in all blocks"),
                Some(column) if column.is_text() != text => {
                    return differs(name, "text in some blocks and numbers in others");
                }
                Some(_) => {}
                None => return differs(name, "not in all blocks"),
            }
        }
        match mine.next() {
            Some(column) => differs(&column.name, "not in all blocks"),
            None => Ok(()),
        }
    }
}

/// Some rows of a column; levels in the order of these rows.
fn chosen(cells: Cells, rows: &[usize]) -> Values {
    let mut out = Cells::empty(cells.is_text());
    out.extend(&cells.finish(), rows.iter().copied());
    out.finish()
}

#[cfg(test)]
mod tests;
