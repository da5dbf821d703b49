//! Target cells that are wild: a slip of a factor of a thousand, a code for "missing" that was not known as one. A single one
//! sets the scale of its target, and with it everything that is learned of the others.

use super::Dataset;
use serde::{Deserialize, Serialize};

/// How many times as far from the median as any other value a wild one is. Of 200 log-normal values (σ = 1) fewer than one in
/// ten thousand is, of 200 with a tail as 1/y three in a hundred.
const RATIO: f64 = 30.0;
/// Fewest values among which one can be wild, and one in how many at most.
const FEWEST: usize = 20;
const ONE_IN: usize = 100;

/// A target cell that was not learned from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAside {
    /// Row of the data, counted from zero.
    pub row: usize,
    /// Target, counted from zero.
    pub task: usize,
    /// How many times as far from the median it is as any value that is not wild.
    pub ratio: f64,
}

impl Dataset {
    /// Target cells that are wild, row by row. Rows of weight zero are not learned from anyway.
    pub(crate) fn wild_cells(&self) -> Vec<SetAside> {
        let targets = self.judged_targets();
        let of_task = |task: usize| {
            let found = wild(targets.col_as_slice(task)).into_iter();
            found.map(move |(row, ratio)| SetAside { row, task, ratio }).collect::<Vec<_>>()
        };
        let mut cells: Vec<SetAside> = (0..targets.ncols()).flat_map(of_task).collect();
        cells.sort_by_key(|cell| (cell.row, cell.task));
        cells
    }
}

/// Positions of wild values, NaN aside, and how many times as far from the median they are as any other.
fn wild(values: &[f64]) -> Vec<(usize, f64)> {
    let mut known: Vec<usize> = (0..values.len()).filter(|&row| !values[row].is_nan()).collect();
    if known.len() < FEWEST {
        return Vec::new();
    }
    known.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let middle = values[known[known.len() / 2]];
    // Halves, as the difference of two finite numbers may not be finite.
    let distance = |row: usize| (values[row] / 2.0 - middle / 2.0).abs();
    known.sort_by(|a, b| distance(*b).total_cmp(&distance(*a)));
    // Where most values are the same, all others are far from it, and nothing is wild.
    if distance(known[known.len() / 2]) == 0.0 {
        return Vec::new();
    }
    let most = (known.len() / ONE_IN).max(1);
    let gap = (1..=most).find(|&count| distance(known[count - 1]) > RATIO * distance(known[count]));
    let Some(count) = gap else { return Vec::new() };
    let rest = distance(known[count]);
    known[..count].iter().map(|&row| (row, (distance(row) / rest).min(f64::MAX))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(count: usize, of: impl Fn(f64) -> f64) -> Vec<f64> {
        // Quantiles of the uniform law in another order.
        (0..count).map(|n| of((((n * 37) % count) as f64 + 0.5) / count as f64)).collect()
    }

    #[test]
    fn a_slip_of_a_thousand_is_wild() {
        let mut column = values(200, |p| 20.0 + 10.0 * p);
        assert_eq!(wild(&column), []);
        column[17] *= 1000.0;
        let found = wild(&column);
        assert_eq!((found.len(), found[0].0), (1, 17));
        assert!(found[0].1 > 1000.0);
        // Two of them, of either sign, and gaps elsewhere.
        column[40] = -9e9;
        column[3] = f64::NAN;
        let mut rows: Vec<usize> = wild(&column).iter().map(|(row, _)| *row).collect();
        rows.sort_unstable();
        // Among 199 only one in a hundred may be: the farther one.
        assert_eq!(rows, [40]);
        let mut many = values(400, |p| p);
        (many[7], many[9]) = (4e5, -3e5);
        assert_eq!(wild(&many).len(), 2);
    }

    #[test]
    fn heavy_tails_counts_and_few_values_are_not_wild() {
        assert_eq!(wild(&values(200, |p| (1.5 * crate::normal::quantile(p)).exp())), []);
        assert_eq!(wild(&values(200, |p| 1.0 / (1.0 - p))), []);
        assert_eq!(wild(&values(200, |p| if p > 0.995 { 900.0 } else { 0.0 })), []);
        assert_eq!(wild(&[1.0, 2.0, 3.0, 4e9]), []);
        assert_eq!(wild(&values(50, |_| 3.0)), []);
        assert_eq!(wild(&[f64::MAX; 30]), []);
    }
}
