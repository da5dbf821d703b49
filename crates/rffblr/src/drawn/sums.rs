//! Sums over rows that determine the posterior given the features: ΦᵀΦ, ΦᵀY, Σy². They add up over blocks of rows.
//!
//! A row belongs to the class of the tasks that are observed in it, and ΦᵀΦ of a task is the sum over the classes that
//! have it. Without gaps there is one class. Where gaps make more classes than there are tasks, each task is a class of
//! its own, and a row is added once for every task observed in it: C times the work and memory at most.

use crate::linalg::{Accumulate, Mat, Threads, dot, outer, product, select_columns, select_rows};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Sums over the rows of one class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    /// ΦᵀΦ, lower triangle; rows times the root of their weight.
    pub(crate) gram: Mat<f64>,
    /// ΦᵀY, a column for each task of the class.
    pub(crate) cross: Mat<f64>,
    /// Σy² of each.
    pub(crate) square: Vec<f64>,
    /// Number of rows.
    pub(crate) rows: f64,
    /// Sum of their weights.
    pub(crate) mass: f64,
}

/// Sums by class; keys are the tasks, rising.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sums {
    columns: usize,
    tasks: usize,
    pub(crate) classes: BTreeMap<Vec<usize>, Class>,
}

/// What some tasks with the same observed rows are solved from.
#[derive(Clone, Debug)]
pub(crate) struct System {
    pub(crate) tasks: Vec<usize>,
    pub(crate) gram: Mat<f64>,
    pub(crate) cross: Mat<f64>,
    pub(crate) square: Vec<f64>,
    pub(crate) rows: f64,
    pub(crate) mass: f64,
}

impl System {
    /// The same for some of the features, rising.
    pub(crate) fn part(&self, columns: &[usize]) -> System {
        let gram = Mat::from_fn(columns.len(), columns.len(), |i, j| match i < j {
            true => 0.0,
            false => self.gram[(columns[i], columns[j])],
        });
        let cross = select_rows(self.cross.as_ref(), columns);
        System { tasks: self.tasks.clone(), gram, cross, square: self.square.clone(), ..*self }
    }
}

/// The classes of some rows, each with its tasks and rows (`None` for all): of rows that observe the same tasks, or of
/// each task if there are fewer tasks than those. NaN is a target that was not observed.
pub(crate) fn classes(targets: &Mat<f64>) -> Vec<(Vec<usize>, Option<Vec<usize>>)> {
    let (rows, tasks) = targets.shape();
    let gaps = |c: usize| targets.col_as_slice(c).iter().any(|y| y.is_nan());
    if !(0..tasks).any(gaps) {
        return vec![((0..tasks).collect(), None)];
    }
    let observed = |row: usize| (0..tasks).filter(move |&c| !targets[(row, c)].is_nan());
    let mut found: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for row in 0..rows {
        found.entry(observed(row).collect()).or_default().push(row);
    }
    found.remove([].as_slice());
    if found.len() > tasks {
        let of_task = |c: usize| (vec![c], (0..rows).filter(|&row| !targets[(row, c)].is_nan()).collect::<Vec<_>>());
        found = (0..tasks).map(of_task).filter(|(_, rows)| !rows.is_empty()).collect();
    }
    found.into_iter().map(|(tasks, list)| (tasks, (list.len() < rows).then_some(list))).collect()
}

impl Class {
    fn new(columns: usize, tasks: usize) -> Class {
        let (gram, cross) = (Mat::zeros(columns, columns), Mat::zeros(columns, tasks));
        Class { gram, cross, square: vec![0.0; tasks], rows: 0.0, mass: 0.0 }
    }

    /// Adds another class's sums; `places` are the columns of its tasks that are meant.
    fn add(&mut self, other: &Class, places: &[usize]) {
        for j in 0..self.gram.ncols() {
            let from = &other.gram.col_as_slice(j)[j..];
            self.gram.col_as_slice_mut(j)[j..].iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
        for (to, &from) in places.iter().enumerate() {
            let column = self.cross.col_as_slice_mut(to).iter_mut();
            column.zip(other.cross.col_as_slice(from)).for_each(|(to, from)| *to += from);
            self.square[to] += other.square[from];
        }
        self.rows += other.rows;
        self.mass += other.mass;
    }
}

impl Sums {
    pub(crate) fn new(columns: usize, tasks: usize) -> Sums {
        Sums { columns, tasks, classes: BTreeMap::new() }
    }

    /// Adds rows: features and targets times the root of the weights, which must be positive.
    pub(crate) fn add_rows(&mut self, features: &Mat<f64>, targets: &Mat<f64>, root: &[f64], threads: Threads) {
        for (tasks, rows) in classes(targets) {
            let of = |table: &Mat<f64>| rows.as_ref().map(|rows| select_rows(table.as_ref(), rows));
            let phi = of(features).map_or(Cow::Borrowed(features), Cow::Owned);
            let y = of(targets).map_or(Cow::Borrowed(targets), Cow::Owned);
            let y = if tasks.len() < self.tasks { Cow::Owned(select_columns(y.as_ref().as_ref(), &tasks)) } else { y };
            let weight = |list: &[usize]| list.iter().map(|&row| root[row] * root[row]).sum::<f64>();
            let class = self.classes.entry(tasks.clone()).or_insert_with(|| Class::new(self.columns, tasks.len()));
            outer(class.gram.as_mut(), Accumulate::Add, phi.as_ref().transpose(), threads);
            let transposed = phi.as_ref().transpose();
            product(class.cross.as_mut(), Accumulate::Add, transposed, y.as_ref().as_ref(), 1.0, threads);
            for (c, square) in class.square.iter_mut().enumerate() {
                *square += dot(y.col_as_slice(c), y.col_as_slice(c));
            }
            class.rows += phi.nrows() as f64;
            class.mass += rows.as_deref().map_or_else(|| dot(root, root), weight);
        }
        self.limit();
    }

    /// Adds sums over other rows.
    pub(crate) fn merge(&mut self, other: Sums) {
        for (tasks, class) in other.classes {
            match self.classes.get_mut(&tasks) {
                Some(own) => own.add(&class, &(0..tasks.len()).collect::<Vec<_>>()),
                None => drop(self.classes.insert(tasks, class)),
            }
        }
        self.limit();
    }

    /// Where classes outnumber the tasks, those of several tasks are added to those of each.
    fn limit(&mut self) {
        if self.classes.len() <= self.tasks {
            return;
        }
        for (tasks, class) in std::mem::take(&mut self.classes) {
            for (place, &task) in tasks.iter().enumerate() {
                let own = self.classes.entry(vec![task]).or_insert_with(|| Class::new(self.columns, 1));
                own.add(&class, &[place]);
            }
        }
    }

    /// One system for all tasks that are in the same classes; a task that was never observed is in none.
    pub(crate) fn systems(&self) -> Vec<System> {
        let mut same: BTreeMap<Vec<&Vec<usize>>, Vec<usize>> = BTreeMap::new();
        for task in 0..self.tasks {
            let of_task: Vec<&Vec<usize>> = self.classes.keys().filter(|key| key.contains(&task)).collect();
            same.entry(of_task).or_default().push(task);
        }
        same.remove([].as_slice());
        let system = |(keys, tasks): (Vec<&Vec<usize>>, Vec<usize>)| {
            let mut sum = Class::new(self.columns, tasks.len());
            for key in keys {
                let places = tasks.iter().filter_map(|task| key.binary_search(task).ok()).collect::<Vec<_>>();
                sum.add(&self.classes[key], &places);
            }
            let Class { gram, cross, square, rows, mass } = sum;
            System { tasks, gram, cross, square, rows, mass }
        };
        same.into_iter().map(system).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize, columns: usize, shift: usize) -> Mat<f64> {
        Mat::from_fn(rows, columns, |i, j| ((i * 7 + j * 13 + shift) as f64 * 0.71).sin())
    }

    /// The sums of every task are those over its own rows, whatever classes the rows fell into and however they came in.
    #[test]
    fn every_task_has_the_sums_of_its_own_rows() {
        let phi = table(40, 5, 0);
        let root: Vec<f64> = (0..40).map(|n| 0.5 + (n % 3) as f64).collect();
        let gappy: [&dyn Fn(usize, usize) -> bool; 4] = [
            &|_, _| false,
            &|n, c| c == 2 && n % 4 == 1,
            // Every pattern of three tasks, more than there are tasks.
            &|n, c| (n >> c) & 1 == 1,
            &|n, c| c == 1 || n < 4,
        ];
        for gap in gappy {
            let y = Mat::from_fn(40, 3, |n, c| if gap(n, c) { f64::NAN } else { ((n * 3 + c) as f64).cos() });
            for step in [40, 16, 3] {
                let mut sums = Sums::new(5, 3);
                for start in (0..40).step_by(step) {
                    let rows: Vec<usize> = (start..40.min(start + step)).collect();
                    let part = |table: &Mat<f64>| select_rows(table.as_ref(), &rows);
                    let mut own = Sums::new(5, 3);
                    own.add_rows(&part(&phi), &part(&y), &root[start..start + rows.len()], Threads::ONE);
                    sums.merge(own);
                }
                assert!(sums.classes.len() <= 3);
                let mut seen = [false; 3];
                for system in sums.systems() {
                    for (i, &task) in system.tasks.iter().enumerate() {
                        seen[task] = true;
                        let rows: Vec<usize> = (0..40).filter(|&n| !y[(n, task)].is_nan()).collect();
                        let sum = |f: &dyn Fn(usize) -> f64| rows.iter().map(|&n| f(n)).sum::<f64>();
                        assert!((system.rows - rows.len() as f64).abs() < 1e-12);
                        assert!((system.mass - sum(&|n| root[n] * root[n])).abs() < 1e-10);
                        assert!((system.square[i] - sum(&|n| y[(n, task)].powi(2))).abs() < 1e-10);
                        for k in 0..5 {
                            assert!((system.cross[(k, i)] - sum(&|n| phi[(n, k)] * y[(n, task)])).abs() < 1e-10);
                            for j in 0..=k {
                                assert!((system.gram[(k, j)] - sum(&|n| phi[(n, k)] * phi[(n, j)])).abs() < 1e-10);
                            }
                        }
                    }
                }
                assert_eq!(seen, [true, !gap(39, 1) || !gap(20, 1), true]);
            }
        }
    }
}
