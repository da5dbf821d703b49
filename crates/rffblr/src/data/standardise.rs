//! Each column to mean zero and standard deviation one, and back.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use serde::{Deserialize, Serialize};

/// Mean and population standard deviation of each column, over observed cells and by row weight. A constant column
/// has scale one, so it becomes zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardiser {
    /// What is subtracted.
    pub mean: Vec<f64>,
    /// What is divided by.
    pub scale: Vec<f64>,
}

impl Standardiser {
    /// Learns from the rows given; NaN cells and rows of weight zero do not count.
    pub fn new(table: MatRef<'_, f64>, weights: Option<&[f64]>) -> Self {
        let (mean, scale) = (0..table.ncols())
            .map(|column| {
                let cells = (0..table.nrows())
                    .map(|row| (table[(row, column)], weights.map_or(1.0, |w| w[row])))
                    .filter(|(value, weight)| !value.is_nan() && *weight > 0.0);
                mean_and_scale(cells)
            })
            .unzip();
        Standardiser { mean, scale }
    }

    /// For the inputs of a model: the levels of one text share one scale, by which they have variance one together. So a
    /// text counts as much as a number however many levels it has, and any two levels are equally far apart, a rare or
    /// unknown one too.
    pub fn of_inputs(data: &Dataset) -> Self {
        let mut found = Standardiser::new(data.inputs(), data.weights());
        for block in data.one_hot() {
            // A level's deviation is at most one half; one stands for a level that does not occur.
            let occurs = |scale: &&f64| **scale < 1.0;
            let variance: f64 = found.scale[block.clone()].iter().filter(occurs).map(|scale| scale * scale).sum();
            if variance > 0.0 {
                found.scale[block.clone()].fill(variance.sqrt());
            }
        }
        found
    }

    /// The same with the middle and half the length of each column's range in place of mean and deviation: the rows
    /// given come to lie in [−1, 1]. A constant column becomes zero.
    #[doc(hidden)]
    pub fn of_range(table: MatRef<'_, f64>, weights: Option<&[f64]>) -> Self {
        let counts = |&row: &usize| weights.is_none_or(|w| w[row] > 0.0);
        let range = |column: usize| {
            let cells = (0..table.nrows()).filter(counts).map(|row| table[(row, column)]).filter(|v| !v.is_nan());
            let (low, high) = cells.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            // Halves first: the difference of two finite numbers may not be finite.
            let half = high / 2.0 - low / 2.0;
            match half.is_finite() && half > f64::MIN_POSITIVE * 1e20 && half > low.abs().max(high.abs()) * 1e-15 {
                true => (low / 2.0 + high / 2.0, half),
                false => (if low.is_finite() { low } else { 0.0 }, 1.0),
            }
        };
        let (mean, scale) = (0..table.ncols()).map(range).unzip();
        Standardiser { mean, scale }
    }

    /// Leaves every column as it is.
    pub fn identity(columns: usize) -> Self {
        Standardiser { mean: vec![0.0; columns], scale: vec![1.0; columns] }
    }

    /// Standardised copy of a table; NaN stays NaN. A finite value so far outside the training range that it
    /// overflows is an error.
    pub fn apply(&self, table: MatRef<'_, f64>, names: &[String]) -> Result<Mat<f64>> {
        let mut out = Mat::zeros(table.nrows(), table.ncols());
        for (column, (&mean, &scale)) in self.mean.iter().zip(&self.scale).enumerate() {
            let cells = out.col_as_slice_mut(column);
            for (row, cell) in cells.iter_mut().enumerate() {
                let value = table[(row, column)];
                *cell = scaled_difference(value, mean, scale);
                if cell.is_infinite() {
                    return Err(Error::TooLarge {
                        what: "the table",
                        row,
                        column: names.get(column).cloned().unwrap_or_default(),
                        value,
                        problem: "too far outside the range of the training data; correct it, or leave the row out",
                    });
                }
            }
        }
        Ok(out)
    }
}

/// shift + scale · value. What lies beyond the largest number is that number, so that targets of any finite size are predicted
/// as finite numbers; what is made of a number that is not finite is not.
pub(crate) fn back(shift: f64, scale: f64, value: f64) -> f64 {
    let plain = shift + scale * value;
    if plain.is_finite() || !(shift.is_finite() && scale.is_finite() && value.is_finite()) {
        return plain;
    }
    // A quarter of it may be finite where the product is not.
    (4.0 * (0.25 * shift + 0.25 * scale * value)).clamp(f64::MIN, f64::MAX)
}

/// (value − mean) / scale without overflow in the difference.
fn scaled_difference(value: f64, mean: f64, scale: f64) -> f64 {
    let difference = value - mean;
    if difference.is_infinite() { value / scale - mean / scale } else { difference / scale }
}

/// Two passes over values shifted by the first and divided by the largest magnitude: exact zero for a constant
/// column, no overflow for any finite values, no cancellation for a large common offset.
fn mean_and_scale(cells: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let Some((first, _)) = cells.clone().next() else {
        return (0.0, 1.0);
    };
    let largest = cells.clone().fold(0.0, |m: f64, (v, _)| m.max(v.abs()));
    let range = cells.clone().fold(0.0, |m: f64, (v, _)| m.max((v / 2.0 - first / 2.0).abs()));
    // A spread that vanishes, or is below what doubles resolve, is not information.
    if range <= f64::MIN_POSITIVE * 1e20 || range < largest * 1e-15 {
        return (first, 1.0);
    }
    let shifted = |value: f64| (value / 2.0 - first / 2.0) / range;
    let total: f64 = cells.clone().map(|(_, w)| w).sum();
    let mean = cells.clone().map(|(v, w)| w * shifted(v)).sum::<f64>() / total;
    let variance = cells.map(|(v, w)| w * (shifted(v) - mean).powi(2)).sum::<f64>() / total;
    let scale = 2.0 * (variance.sqrt() * range);
    (first + 2.0 * (mean * range), scale.min(f64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[f64]) -> Mat<f64> {
        Mat::from_fn(values.len(), 1, |i, _| values[i])
    }

    #[test]
    fn matches_hand_computed_mean_and_population_deviation() {
        let s = Standardiser::new(column(&[1.0, 2.0, 3.0, 6.0]).as_ref(), None);
        assert!((s.mean[0] - 3.0).abs() < 1e-15);
        assert!((s.scale[0] - 3.5f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn missing_cells_and_zero_weights_do_not_count() {
        let table = column(&[1.0, f64::NAN, 3.0, 99.0]);
        let s = Standardiser::new(table.as_ref(), Some(&[1.0, 1.0, 3.0, 0.0]));
        assert!((s.mean[0] - 2.5).abs() < 1e-15);
        assert!((s.scale[0] - 0.75f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn extreme_columns_stay_finite() {
        for values in [
            vec![1e300, -1e300, 5e299],
            vec![f64::MAX, f64::MIN, 0.0],
            vec![1e150, 2e150, 3e150],
            vec![1e-300, 2e-300, 3e-300],
            vec![0.1, 0.1, 0.1],
            vec![7.0],
            vec![1e-320, 0.0, 2e-320],
        ] {
            let table = column(&values);
            let s = Standardiser::new(table.as_ref(), None);
            let z = s.apply(table.as_ref(), &["x".into()]).unwrap();
            for row in 0..values.len() {
                assert!(z[(row, 0)].abs() < 10.0, "{values:?} gives {}", z[(row, 0)]);
            }
        }
    }

    #[test]
    fn ranges_by_hand() {
        let table = Mat::from_fn(4, 5, |n, c| match c {
            0 => [3.0, -1.0, 1.0, 900.0][n],
            1 => [f64::MAX, f64::MIN, 0.0, 0.0][n],
            2 => 0.1,
            3 => [f64::NAN, 2.0, 4.0, 0.0][n],
            _ => [f64::NAN, f64::NAN, f64::NAN, 1.0][n],
        });
        let s = Standardiser::of_range(table.as_ref(), Some(&[1.0, 1.0, 2.0, 0.0]));
        assert_eq!(s.mean, [1.0, 0.0, 0.1, 3.0, 0.0]);
        assert_eq!(s.scale, [2.0, f64::MAX, 1.0, 1.0, 1.0]);
        let names: Vec<String> = (0..5).map(|c| c.to_string()).collect();
        let z = s.apply(table.as_ref(), &names).unwrap();
        assert_eq!(
            [z[(0, 0)], z[(1, 0)], z[(2, 0)], z[(0, 1)], z[(1, 1)], z[(1, 2)]],
            [1.0, -1.0, 0.0, 1.0, -1.0, 0.0]
        );
    }

    #[test]
    fn the_way_back_ends_at_the_largest_number() {
        assert_eq!(back(1.0, 2.0, 3.0), 7.0);
        // The product alone is too large.
        assert!((back(-f64::MAX, f64::MAX, 1.5) / f64::MAX - 0.5).abs() < 1e-15);
        assert_eq!(back(f64::MAX, f64::MAX, 3.0), f64::MAX);
        assert_eq!(back(0.0, -1e308, 1e308), f64::MIN);
        assert!(back(0.0, 1.0, f64::NAN).is_nan() && back(0.0, 1.0, f64::INFINITY).is_infinite());
    }

    #[test]
    fn a_constant_column_becomes_exactly_zero() {
        let table = column(&[0.1; 7]);
        let s = Standardiser::new(table.as_ref(), None);
        let z = s.apply(table.as_ref(), &["x".into()]).unwrap();
        assert!((0..7).all(|row| z[(row, 0)] == 0.0));
    }

    /// Whatever their frequencies: variance one together, one distance between any two levels, the unknown one included.
    #[test]
    fn the_levels_of_a_text_are_one_input() {
        let level = |n: usize| [0, 0, 0, 0, 0, 1, 1, 2][n % 8];
        let inputs = Mat::from_fn(40, 5, |n, d| match d {
            0 => n as f64,
            d => f64::from(u8::from(level(n) == d - 1)),
        });
        let text = 1..5;
        let data = Dataset::new(inputs, Mat::from_fn(40, 1, |n, _| n as f64)).unwrap();
        let data = data.with_one_hot(vec![text]).unwrap();
        let s = Standardiser::of_inputs(&data);
        let names: Vec<String> = (0..5).map(|d| d.to_string()).collect();
        let z = s.apply(data.inputs(), &names).unwrap();
        let variance = |d: usize| (0..40).map(|n| z[(n, d)].powi(2)).sum::<f64>() / 40.0;
        assert!((variance(0) - 1.0).abs() < 1e-12 && ((1..5).map(variance).sum::<f64>() - 1.0).abs() < 1e-12);
        let known = Mat::from_fn(4, 5, |k, d| f64::from(u8::from(d == k + 1)));
        let known = s.apply(known.as_ref(), &names).unwrap();
        let distance = |a: usize, b: usize| (1..5).map(|d| (known[(a, d)] - known[(b, d)]).abs()).sum::<f64>();
        for (a, b) in [(0, 1), (0, 2), (1, 2), (0, 3), (2, 3)] {
            assert!((distance(a, b) - distance(0, 1)).abs() < 1e-12);
        }
    }

    #[test]
    fn a_small_spread_on_a_large_offset_is_kept() {
        let table = column(&[1e9 + 0.001, 1e9 + 0.002, 1e9 + 0.003]);
        let s = Standardiser::new(table.as_ref(), None);
        assert!((s.scale[0] / (0.001 * (2.0f64 / 3.0).sqrt()) - 1.0).abs() < 1e-3);
    }
}
