//! The data as inference sees them: standardised, multiplied by the root of the row weights, and with tasks that
//! share their observed rows put together.

use crate::data::{Dataset, Weights};
use crate::linalg::{Mat, dot, select_columns, select_rows};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Tasks observed in exactly the same rows: one factorisation serves them all (equation 15).
pub struct Group {
    /// Their columns, rising.
    pub tasks: Vec<usize>,
    /// The observed rows; `None` means all.
    pub rows: Option<Vec<usize>>,
    /// Their targets in those rows.
    pub targets: Mat<f64>,
    /// Root weights of those rows.
    pub root: Vec<f64>,
    /// As how many observations they count: the sum of their weights, or if these are relative, the rows of weight.
    pub count: f64,
}

/// Standardised data with the row weights folded in, tasks grouped by their observed rows.
pub struct Problem {
    /// N×D standardised inputs, not multiplied by anything; a kernel machine shares them.
    pub inputs: Arc<Mat<f64>>,
    /// u, root of the row weights: integer weights then equal repeated rows (equation 14).
    pub root: Vec<f64>,
    /// N×C targets times u, zero where not observed.
    pub targets: Mat<f64>,
    /// The tasks in groups.
    pub groups: Vec<Group>,
    /// Sum of the weights of each task's observed rows.
    pub mass: Vec<f64>,
    /// As how many observations they count.
    pub count: Vec<f64>,
    /// Whether weights say how precise rows are rather than how often they are there.
    relative: bool,
    /// Which input each column of `inputs` belongs to, counted from 0: the levels of a text are one.
    pub origin: Vec<usize>,
    /// Variance that rounding adds to the noise of each task.
    pub rounding: Vec<f64>,
}

impl Problem {
    /// From the standardised inputs and targets of a dataset, with its weights and what they mean.
    pub fn of(inputs: impl Into<Arc<Mat<f64>>>, targets: Mat<f64>, data: &Dataset) -> Self {
        let problem = Problem::new(inputs, targets, data.weights());
        match data.given_weights() {
            Some(Weights::Relative(_)) => problem.with_relative_weights(),
            Some(Weights::Repeats(_)) | None => problem,
        }
    }

    /// From standardised tables; NaN targets are missing, and weights are repeats.
    pub fn new(inputs: impl Into<Arc<Mat<f64>>>, targets: Mat<f64>, weights: Option<&[f64]>) -> Self {
        let inputs = inputs.into();
        let root: Vec<f64> = weights.map_or(vec![1.0; inputs.nrows()], |w| w.iter().map(|w| w.sqrt()).collect());
        let folded = Mat::from_fn(targets.nrows(), targets.ncols(), |n, c| root[n] * targets[(n, c)]);
        Problem::folded(inputs, folded, root)
    }

    /// The same from targets that are multiplied by the roots of the weights already.
    fn folded(inputs: Arc<Mat<f64>>, mut targets: Mat<f64>, root: Vec<f64>) -> Self {
        let rows = inputs.nrows();
        let mut patterns: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for task in 0..targets.ncols() {
            let column = targets.col_as_slice_mut(task);
            patterns.entry((0..rows).filter(|&row| !column[row].is_nan()).collect()).or_default().push(task);
            column.iter_mut().filter(|y| y.is_nan()).for_each(|y| *y = 0.0);
        }
        let mut mass = vec![0.0; targets.ncols()];
        let groups = patterns
            .into_iter()
            .map(|(observed, tasks)| {
                for &task in &tasks {
                    mass[task] = observed.iter().map(|&n| root[n] * root[n]).sum();
                }
                Group {
                    targets: Mat::from_fn(observed.len(), tasks.len(), |i, j| targets[(observed[i], tasks[j])]),
                    root: observed.iter().map(|&n| root[n]).collect(),
                    count: mass[tasks[0]],
                    rows: (observed.len() < rows).then_some(observed),
                    tasks,
                }
            })
            .collect();
        let count = mass.clone();
        let (origin, rounding) = ((0..inputs.ncols()).collect(), vec![0.0; targets.ncols()]);
        Problem { inputs, root, targets, groups, mass, count, relative: false, origin, rounding }
    }

    /// The same with weights that say how precise a row is: one observation each.
    fn with_relative_weights(mut self) -> Self {
        self.relative = true;
        for group in &mut self.groups {
            group.count = group.root.iter().filter(|u| **u > 0.0).count() as f64;
            group.tasks.iter().for_each(|&task| self.count[task] = group.count);
        }
        self
    }

    /// The same where ranges of columns are the levels of one text each, and targets are known to be rounded.
    pub fn knowing(mut self, one_hot: &[Range<usize>], rounding: Vec<f64>) -> Self {
        let mut continues = vec![false; self.origin.len()];
        for column in one_hot.iter().flat_map(|block| block.clone().skip(1)) {
            continues[column] = true;
        }
        let mut next = 0;
        for (column, (origin, continues)) in self.origin.iter_mut().zip(continues).enumerate() {
            next += usize::from(column > 0 && !continues);
            *origin = next;
        }
        self.rounding = rounding;
        self
    }

    /// As how many observations all targets count.
    pub fn cells(&self) -> f64 {
        self.count.iter().sum()
    }

    /// Number of inputs, the levels of a text counted as one.
    pub fn input_count(&self) -> usize {
        self.origin.last().map_or(0, |last| last + 1)
    }

    /// Mean over the observed cells of the squared distance from their task's mean: one for standardised targets. For
    /// constant targets it is one too, so that it can be divided by.
    pub fn target_variance(&self) -> f64 {
        let mut total = 0.0;
        for group in &self.groups {
            for (j, &task) in group.tasks.iter().enumerate() {
                let y = group.targets.col_as_slice(j);
                let mean = dot(y, &group.root) / self.mass[task];
                total += y.iter().zip(&group.root).map(|(y, u)| (y - mean * u).powi(2)).sum::<f64>();
            }
        }
        let variance = total / self.mass.iter().sum::<f64>();
        if variance > 0.0 { variance } else { 1.0 }
    }

    /// A part with this many of its rows, chosen by the seed; `None` if these are all.
    pub fn part(&self, count: usize, seed: u64) -> Option<Problem> {
        let chosen = self.choose(count, seed);
        (chosen.len() < self.root.len()).then(|| self.of_rows(&chosen))
    }

    /// This many of its rows, or as many as there are, chosen by the seed; rows of weight zero have nothing to say.
    pub fn choose(&self, count: usize, seed: u64) -> Vec<usize> {
        let rows = (0..self.root.len()).filter(|&row| self.root[row] > 0.0);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut dealt: Vec<(u64, usize)> = rows.map(|row| (rng.next_u64(), row)).collect();
        dealt.sort_unstable();
        let mut chosen: Vec<usize> = dealt.iter().take(count).map(|(_, row)| *row).collect();
        chosen.sort_unstable();
        chosen
    }

    /// Some of its rows.
    pub fn of_rows(&self, chosen: &[usize]) -> Problem {
        let mut targets = Mat::full(chosen.len(), self.tasks(), f64::NAN);
        for group in &self.groups {
            for (i, &row) in chosen.iter().enumerate() {
                let Some(at) = group.position(row) else { continue };
                group.tasks.iter().enumerate().for_each(|(c, &task)| targets[(i, task)] = group.targets[(at, c)]);
            }
        }
        let root = chosen.iter().map(|&row| self.root[row]).collect();
        let part = Problem::folded(Arc::new(select_rows(self.inputs.as_ref().as_ref(), chosen)), targets, root);
        let part = if self.relative { part.with_relative_weights() } else { part };
        Problem { origin: self.origin.clone(), rounding: self.rounding.clone(), ..part }
    }

    /// The same rows with other targets, standardised and NaN where not observed, and what rounding adds to their noise.
    pub fn with_targets(&self, targets: &Mat<f64>, rounding: Vec<f64>) -> Problem {
        let folded = Mat::from_fn(targets.nrows(), targets.ncols(), |n, c| self.root[n] * targets[(n, c)]);
        let other = Problem::folded(self.inputs.clone(), folded, self.root.clone());
        let other = if self.relative { other.with_relative_weights() } else { other };
        Problem { origin: self.origin.clone(), rounding, ..other }
    }

    /// Some of its tasks alone, in rising order, with the same rows.
    pub fn of_tasks(&self, tasks: &[usize]) -> Problem {
        let own = |group: &Group| {
            let kept: Vec<usize> = (0..group.tasks.len()).filter(|&c| tasks.contains(&group.tasks[c])).collect();
            let place = |&c: &usize| tasks.iter().position(|task| *task == group.tasks[c]);
            let group = Group {
                tasks: kept.iter().filter_map(place).collect(),
                rows: group.rows.clone(),
                targets: select_columns(group.targets.as_ref(), &kept),
                root: group.root.clone(),
                count: group.count,
            };
            (!kept.is_empty()).then_some(group)
        };
        let chosen = |all: &[f64]| tasks.iter().map(|&task| all[task]).collect();
        Problem {
            inputs: self.inputs.clone(),
            root: self.root.clone(),
            targets: select_columns(self.targets.as_ref(), tasks),
            groups: self.groups.iter().filter_map(own).collect(),
            mass: chosen(&self.mass),
            count: chosen(&self.count),
            relative: self.relative,
            origin: self.origin.clone(),
            rounding: chosen(&self.rounding),
        }
    }

    /// Whether weights say how precise rows are rather than how often they are there.
    pub fn relative(&self) -> bool {
        self.relative
    }

    /// N×C targets times the root weights, NaN where not observed.
    pub fn targets_with_gaps(&self) -> Mat<f64> {
        let mut targets = Mat::full(self.root.len(), self.tasks(), f64::NAN);
        for group in &self.groups {
            for (j, &task) in group.tasks.iter().enumerate() {
                for (i, y) in group.targets.col_as_slice(j).iter().enumerate() {
                    targets[(group.rows.as_ref().map_or(i, |rows| rows[i]), task)] = *y;
                }
            }
        }
        targets
    }

    /// Number of tasks C.
    pub fn tasks(&self) -> usize {
        self.targets.ncols()
    }
}

/// Where each task is if some lists together name every task once: its list, and its place there.
pub fn places<'a>(lists: impl Iterator<Item = &'a Vec<usize>>) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, (usize, usize))> = Vec::new();
    for (list, tasks) in lists.enumerate() {
        found.extend(tasks.iter().enumerate().map(|(place, &task)| (task, (list, place))));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, place)| place).collect()
}

/// Puts the columns of a table of some tasks where they are in one of all tasks, from a row on.
pub fn spread(tasks: &[usize], from: &Mat<f64>, to: &mut Mat<f64>, start: usize) {
    for (i, &task) in tasks.iter().enumerate() {
        to.col_as_slice_mut(task)[start..start + from.nrows()].copy_from_slice(from.col_as_slice(i));
    }
}

impl Group {
    /// Mean over its tasks of what rounding adds to their noise.
    pub fn rounding(&self, problem: &Problem) -> f64 {
        self.tasks.iter().map(|&task| problem.rounding[task]).sum::<f64>() / self.tasks.len() as f64
    }

    /// Where a row of the data stands among the group's rows.
    pub fn position(&self, row: usize) -> Option<usize> {
        match &self.rows {
            None => Some(row),
            Some(rows) => rows.binary_search(&row).ok(),
        }
    }

    /// The group's rows of a matrix, copied only if they are not all of them.
    pub fn rows_of<'a>(&self, table: &'a Mat<f64>) -> std::borrow::Cow<'a, Mat<f64>> {
        match &self.rows {
            None => std::borrow::Cow::Borrowed(table),
            Some(rows) => std::borrow::Cow::Owned(select_rows(table.as_ref(), rows)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tasks, one known in half the rows, of weights 0, 1, 2, 3, …
    #[test]
    fn repeats_add_up_and_relative_weights_count_rows() {
        let y = Mat::from_fn(8, 2, |n, c| if c == 1 && n % 2 == 0 { f64::NAN } else { n as f64 });
        let weights: Vec<f64> = (0..8).map(f64::from).collect();
        let repeats = Problem::new(Mat::zeros(8, 1), y.clone(), Some(&weights));
        for (found, expected) in repeats.count.iter().chain(&repeats.mass).zip([28.0, 16.0, 28.0, 16.0]) {
            assert!((found - expected).abs() < 1e-12);
        }
        let data = Dataset::new(Mat::zeros(8, 1), y.clone()).unwrap();
        let data = data.with_weights(Weights::Relative(weights)).unwrap();
        let relative = Problem::of(Mat::zeros(8, 1), y, &data);
        assert_eq!(relative.count, [7.0, 4.0]);
        // The mean of 1 to 7 is 4.
        assert!((relative.mass[0] - 7.0).abs() < 1e-12 && (relative.mass[1] - 4.0).abs() < 1e-12);
        let part = relative.part(5, 1).unwrap();
        assert_eq!(part.count[0], 5.0);
        let of_groups: f64 = part.groups.iter().map(|group| group.count * group.tasks.len() as f64).sum();
        assert_eq!(of_groups, part.count.iter().sum::<f64>());
    }

    /// Some tasks of a problem are the problem of those tasks: gaps, groups and weights.
    #[test]
    fn some_tasks_are_a_problem_of_their_own() {
        let weights: Vec<f64> = (0..12).map(|n| 0.5 + (n % 3) as f64).collect();
        let x = Mat::from_fn(12, 1, |n, _| n as f64);
        let y = Mat::from_fn(12, 4, |n, c| if c % 3 == 0 && n % 5 == 2 { f64::NAN } else { (n * (c + 1)) as f64 });
        let whole = Problem::new(x.clone(), y.clone(), Some(&weights));
        for tasks in [vec![0, 1, 2, 3], vec![1, 3], vec![0, 3], vec![2]] {
            let (some, alone) =
                (whole.of_tasks(&tasks), Problem::new(x.clone(), select_columns(y.as_ref(), &tasks), Some(&weights)));
            assert!(some.targets == alone.targets && some.mass == alone.mass && some.root == alone.root);
            assert!(some.count == alone.count);
            assert!(Arc::ptr_eq(&some.inputs, &whole.inputs) && some.groups.len() == alone.groups.len());
            for (a, b) in some.groups.iter().zip(&alone.groups) {
                assert!(a.tasks == b.tasks && a.rows == b.rows && a.targets == b.targets && a.root == b.root);
            }
        }
    }

    /// Only rows of weight are worth learning from, and all rows of weight are a part if others are there.
    #[test]
    fn a_part_has_only_rows_of_weight() {
        let weights: Vec<f64> = (0..40).map(|n| if n % 4 == 1 { 0.5 + n as f64 } else { 0.0 }).collect();
        let (x, y) = (Mat::from_fn(40, 1, |n, _| n as f64), Mat::from_fn(40, 2, |n, c| (n * (c + 1)) as f64));
        let problem = Problem::new(x, y, Some(&weights));
        for (asked, given) in [(6, 6), (10, 10), (30, 10)] {
            let part = problem.part(asked, 3).unwrap();
            assert_eq!(part.inputs.nrows(), given);
            for n in 0..given {
                let row = part.inputs[(n, 0)] as usize;
                assert!(row % 4 == 1 && (part.root[n].powi(2) - weights[row]).abs() < 1e-12);
                assert!((part.groups[0].targets[(n, 1)] - part.root[n] * 2.0 * row as f64).abs() < 1e-9);
            }
        }
        assert!(Problem::new(Mat::zeros(5, 1), Mat::zeros(5, 1), None).part(5, 0).is_none());
    }
}
