//! The kernel exp(−‖x − x'‖²/(2σ²)) with σ the mean distance of two training rows.
//!
//! Such a kernel does not change when all inputs are shifted or multiplied by one number. So "raw" inputs are the
//! standardised ones times the ratio of each column's deviation to the largest: no overflow, whatever the units.

use rffblr::internals::{Accumulate, dot, multiply, outer, scale_columns};
use rffblr::linalg::{Mat, Threads};
use serde::{Deserialize, Serialize};

/// How inputs enter the distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Scaling {
    /// Every column with deviation one.
    Standardised,
    /// In the units of the data.
    Raw,
}

/// Training rows and the width that goes with them.
#[derive(Serialize, Deserialize)]
pub(super) struct Kernel {
    factors: Vec<f64>,
    #[serde(with = "super::super::stored::matrix")]
    inputs: Mat<f64>,
    /// Squared length of each training row.
    lengths: Vec<f64>,
    /// 1/(2σ²).
    rate: f64,
}

impl Kernel {
    /// The kernel of standardised training rows whose columns had these deviations, and the lower triangle of its
    /// matrix.
    pub(super) fn new(mut inputs: Mat<f64>, deviations: &[f64], scaling: Scaling) -> (Self, Mat<f64>) {
        let factors = factors(deviations, &inputs, scaling);
        scale_columns(&mut inputs, |j| factors[j]);
        let rows = inputs.nrows();
        let mut k = Mat::zeros(rows, rows);
        outer(k.as_mut(), Accumulate::Replace, inputs.as_ref(), Threads::current());
        let lengths: Vec<f64> = (0..rows).map(|n| k[(n, n)]).collect();
        let mut distance = 0.0;
        for j in 0..rows {
            let cells = k.col_as_slice_mut(j)[j..].iter_mut().zip(&lengths[j..]);
            cells.for_each(|(k, length)| *k = (length + lengths[j] - 2.0 * *k).max(0.0));
            k[(j, j)] = 0.0;
            distance += k.col_as_slice(j)[j..].iter().map(|square| square.sqrt()).sum::<f64>();
        }
        let pairs = (rows * rows.saturating_sub(1) / 2).max(1);
        let width = distance / pairs as f64;
        // Rows that are all the same have distance zero and any width will do.
        let rate = if width > 0.0 { 0.5 / (width * width) } else { 1.0 };
        for j in 0..rows {
            k.col_as_slice_mut(j)[j..].iter_mut().for_each(|k| *k = (-rate * *k).exp());
        }
        (Kernel { factors, inputs, lengths, rate }, k)
    }

    /// Kernel values of new rows, standardised in the same way, with the training rows.
    pub(super) fn against(&self, mut new: Mat<f64>) -> Mat<f64> {
        scale_columns(&mut new, |j| self.factors[j]);
        let lengths: Vec<f64> = (0..new.nrows()).map(|n| square_length(&new, n)).collect();
        let mut k = multiply(new.as_ref(), self.inputs.as_ref().transpose(), Threads::current());
        for (j, own) in self.lengths.iter().enumerate() {
            for (k, length) in k.col_as_slice_mut(j).iter_mut().zip(&lengths) {
                let square = length + own - 2.0 * *k;
                // A row so far away that its length overflows has nothing in common with any training row.
                *k = if square.is_finite() { (-self.rate * square.max(0.0)).exp() } else { 0.0 };
            }
        }
        k
    }
}

fn square_length(table: &Mat<f64>, row: usize) -> f64 {
    let cells: Vec<f64> = (0..table.ncols()).map(|j| table[(row, j)]).collect();
    dot(&cells, &cells)
}

/// What standardised columns are multiplied by.
fn factors(deviations: &[f64], inputs: &Mat<f64>, scaling: Scaling) -> Vec<f64> {
    let varies = |j: usize| inputs.col_as_slice(j).iter().any(|v| *v != 0.0);
    let varying = (0..inputs.ncols()).filter(|&j| varies(j)).map(|j| deviations[j]);
    let largest = varying.fold(0.0, f64::max);
    // A column that is constant in training has deviation one and may vary later; the bound keeps zeros zero.
    let ratio = |own: f64| if largest > 0.0 { (own / largest).min(f64::MAX) } else { 1.0 };
    match scaling {
        Scaling::Standardised => vec![1.0; inputs.ncols()],
        Scaling::Raw => deviations.iter().map(|&own| ratio(own)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffblr::data::Standardiser;

    /// The kernel of rows in any units, its matrix, and its values for new rows.
    fn kernel(x: &Mat<f64>, new: &Mat<f64>, scaling: Scaling) -> (Mat<f64>, Mat<f64>) {
        let scale = Standardiser::new(x.as_ref(), None);
        let standardised = |table: &Mat<f64>| scale.apply(table.as_ref(), &[]).unwrap();
        let (kernel, k) = Kernel::new(standardised(x), &scale.scale, scaling);
        (k, kernel.against(standardised(new)))
    }

    fn same(a: &Mat<f64>, b: &Mat<f64>) {
        assert_eq!(a.shape(), b.shape());
        assert!((0..a.ncols()).all(|j| (0..a.nrows()).all(|i| (a[(i, j)] - b[(i, j)]).abs() < 1e-9)));
    }

    /// A kernel whose width is the mean distance does not see the units of the data as a whole, however extreme.
    #[test]
    fn units_do_not_matter_to_the_kernel() {
        let x =
            Mat::from_fn(7, 3, |n, d| if d == 2 { 4.0 } else { ((n * 5 + d * 3) as f64).sin() * (1 + 9 * d) as f64 });
        for scaling in [Scaling::Standardised, Scaling::Raw] {
            // A column without deviation cannot be standardised, so there its units do matter.
            let moved = |d: usize| d < 2 || scaling == Scaling::Raw;
            let new = Mat::from_fn(2, 3, |n, d| x[(n, d)] + if moved(d) { 0.1 } else { 0.0 });
            let (k, against) = kernel(&x, &new, scaling);
            for unit in [1e-250, 1e5, 1e300] {
                let scaled = |table: &Mat<f64>| Mat::from_fn(table.nrows(), 3, |i, j| unit * (table[(i, j)] - 0.5));
                let (other, other_against) = kernel(&scaled(&x), &scaled(&new), scaling);
                same(&other, &k);
                same(&other_against, &against);
            }
        }
        // Raw differs from standardised where columns have different units, and distances are the plain ones.
        let (k, _) = kernel(&x, &x, Scaling::Raw);
        let distance = |i: usize, j: usize| (0..3).map(|d| (x[(i, d)] - x[(j, d)]).powi(2)).sum::<f64>().sqrt();
        let pairs: Vec<f64> = (0..7).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| distance(i, j)).collect();
        let width = pairs.iter().sum::<f64>() / 21.0;
        let expected = (-distance(5, 2).powi(2) / (2.0 * width * width)).exp();
        assert!((k[(5, 2)] - expected).abs() < 1e-12);
    }
}
