//! Sums of hashes over rows, by which rows are known again that were never in memory together.

use super::Encoder;
use super::dataset::canonical;
use super::roles::numbers;
use crate::error::Result;
use crate::files::hex;
use crate::linalg::MatRef;
use crate::table::Table;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

/// SHA-256 of each row, added up: the same for the same rows in any order, and however they are divided into parts whose
/// sums are merged. It tells tables apart that differ by accident, not those that someone made to be confused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSums {
    rows: u64,
    /// Of the inputs alone.
    inputs: [u64; 4],
    /// Of inputs, targets and weight.
    whole: [u64; 4],
}

impl RowSums {
    /// Of all rows: inputs, and if there are any targets and weights as they are given.
    pub fn of(inputs: MatRef<'_, f64>, targets: Option<MatRef<'_, f64>>, weights: Option<&[f64]>) -> RowSums {
        let rows: Vec<usize> = (0..inputs.nrows()).collect();
        RowSums::of_rows(&rows, inputs, targets, weights)
    }

    /// The same of some of them.
    pub fn of_rows(
        rows: &[usize],
        inputs: MatRef<'_, f64>,
        targets: Option<MatRef<'_, f64>>,
        weights: Option<&[f64]>,
    ) -> RowSums {
        let row = |&n: &usize| {
            let mut hash = Sha256::new();
            (0..inputs.ncols()).for_each(|d| hash.update(canonical(inputs[(n, d)]).to_le_bytes()));
            let inputs = hash.finalize();
            let mut hash = Sha256::new();
            hash.update(inputs);
            if let Some(targets) = targets {
                (0..targets.ncols()).for_each(|c| hash.update(canonical(targets[(n, c)]).to_le_bytes()));
            }
            weights.iter().for_each(|weights| hash.update(canonical(weights[n]).to_le_bytes()));
            RowSums { rows: 1, inputs: words(&inputs), whole: words(&hash.finalize()) }
        };
        rows.par_iter().map(row).reduce(RowSums::default, RowSums::merged)
    }

    /// Of the rows of a table that are learned from: those with a target and without weight zero.
    pub fn of_table(encoder: &Encoder, table: &Table) -> Result<RowSums> {
        let roles = encoder.roles();
        let mut known = vec![false; table.rows()];
        for name in &roles.targets {
            let cells = numbers(table, "a target", name)?;
            known.iter_mut().zip(cells.iter()).for_each(|(known, cell)| *known |= !cell.is_nan());
        }
        let weights = roles.weight_column().map(|name| numbers(table, "the weight", name)).transpose()?;
        let counts = |row: &usize| known[*row] && weights.as_ref().is_none_or(|weights| weights[*row] > 0.0);
        let rows: Vec<usize> = (0..table.rows()).filter(counts).collect();
        let (inputs, targets) = encoder.test_rows(table, &rows)?;
        let weights: Option<Vec<f64>> = weights.map(|weights| rows.iter().map(|&row| weights[row]).collect());
        Ok(RowSums::of(inputs.as_ref(), Some(targets.as_ref()), weights.as_deref()))
    }

    /// Of these rows and others.
    pub fn merged(mut self, other: RowSums) -> RowSums {
        self.rows = self.rows.wrapping_add(other.rows);
        for (own, other) in [(&mut self.inputs, other.inputs), (&mut self.whole, other.whole)] {
            own.iter_mut().zip(other).for_each(|(own, other)| *own = own.wrapping_add(other));
        }
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Hexadecimal digits that stand for inputs, targets and weights.
    pub fn text(&self) -> String {
        self.digits(&self.whole)
    }

    /// Those that stand for the inputs alone.
    pub fn input_text(&self) -> String {
        self.digits(&self.inputs)
    }

    fn digits(&self, sums: &[u64; 4]) -> String {
        let mut hash = Sha256::new();
        [self.rows].iter().chain(sums).for_each(|number| hash.update(number.to_le_bytes()));
        hex(hash.finalize())
    }

    /// As numbers, for a file.
    pub(crate) fn numbers(&self) -> [u64; 9] {
        let mut out = [self.rows; 9];
        out[1..5].copy_from_slice(&self.inputs);
        out[5..].copy_from_slice(&self.whole);
        out
    }

    pub(crate) fn from_numbers([rows, a, b, c, d, e, f, g, h]: [u64; 9]) -> RowSums {
        RowSums { rows, inputs: [a, b, c, d], whole: [e, f, g, h] }
    }
}

fn words(digest: &[u8]) -> [u64; 4] {
    let (chunks, _) = digest.as_chunks::<8>();
    let mut out = [0; 4];
    out.iter_mut().zip(chunks).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;
    use sha2::{Digest, Sha256};

    #[test]
    fn order_and_division_do_not_matter_and_every_cell_does() {
        let inputs = Mat::from_fn(6, 3, |n, d| (n * 3 + d) as f64);
        let targets = Mat::from_fn(6, 2, |n, c| if n == 1 { f64::NAN } else { (n + c) as f64 });
        let weights: Vec<f64> = (0..6).map(f64::from).collect();
        let of = |rows: &[usize], change: f64| {
            let take = |table: &Mat<f64>| Mat::from_fn(rows.len(), table.ncols(), |n, c| table[(rows[n], c)]);
            let mut targets = take(&targets);
            targets[(0, 0)] += change;
            let weights: Vec<f64> = rows.iter().map(|&row| weights[row]).collect();
            RowSums::of(take(&inputs).as_ref(), Some(targets.as_ref()), Some(&weights))
        };
        let all = of(&[0, 1, 2, 3, 4, 5], 0.0);
        assert_eq!(of(&[4, 0, 1], 0.0).merged(of(&[5, 3, 2], 0.0)), all);
        assert_eq!(RowSums::from_numbers(all.numbers()), all);
        let other = of(&[0, 1, 2, 3, 4, 5], 1e-9);
        assert!(other.text() != all.text() && other.input_text() == all.input_text());
        // A row that stands twice is no row less.
        assert_ne!(of(&[0, 0, 1], 0.0).text(), of(&[1], 0.0).text());
        assert_ne!(of(&[0, 0, 1], 0.0).text(), of(&[0, 1, 1], 0.0).text());
    }

    #[test]
    fn one_row_by_hand() {
        let found = RowSums::of(Mat::full(1, 1, 2.5).as_ref(), None, None);
        let row = Sha256::digest(2.5f64.to_bits().to_le_bytes());
        let mut bytes = 1u64.to_le_bytes().to_vec();
        bytes.extend(row);
        assert_eq!(found.input_text(), hex(Sha256::digest(&bytes)));
    }
}
