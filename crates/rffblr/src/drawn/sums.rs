//! Sums over rows that determine the posterior given the features: ΦᵀΦ, ΦᵀY, Σy². They add up over blocks of rows.
//!
//! A row belongs to the class of the tasks that are observed in it, and ΦᵀΦ of a task is the sum over the classes that
//! have it. Without gaps there is one class. Where gaps make more classes than there are tasks, each task is a class of
//! its own, and a row is added once for every task observed in it: C times the work and memory at most.

#[cfg(test)]
use crate::device::Host;
use crate::device::{Backend, Side};
use crate::fourier::Basis;
#[cfg(test)]
use crate::linalg::Threads;
use crate::linalg::{Accumulate, Mat, MatRef, dot, select_columns, select_rows};
use std::collections::BTreeMap;

/// Sums over the rows of one class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class<M> {
    /// ΦᵀΦ, lower triangle; rows times the root of their weight.
    pub(crate) gram: M,
    /// ΦᵀY, a column for each task of the class.
    pub(crate) cross: M,
    /// Σy² of each.
    pub(crate) square: Vec<f64>,
    /// Number of rows.
    pub(crate) rows: f64,
    /// Sum of their weights.
    pub(crate) mass: f64,
}

/// Sums by class; keys are the tasks, rising.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sums<M> {
    columns: usize,
    tasks: usize,
    pub(crate) classes: BTreeMap<Vec<usize>, Class<M>>,
}

/// What some tasks with the same observed rows are solved from.
#[derive(Clone, Debug)]
pub(crate) struct System<M> {
    pub(crate) tasks: Vec<usize>,
    pub(crate) gram: M,
    pub(crate) cross: Mat<f64>,
    pub(crate) square: Vec<f64>,
    pub(crate) rows: f64,
    pub(crate) mass: f64,
}

impl<M> System<M> {
    /// The same in the memory of the processor.
    pub(crate) fn on_host<B: Backend<Matrix = M>>(&self, backend: &B) -> System<Mat<f64>> {
        let System { tasks, gram, cross, square, rows, mass } = self;
        let (gram, cross) = (backend.get(gram), cross.clone());
        System { tasks: tasks.clone(), gram, cross, square: square.clone(), rows: *rows, mass: *mass }
    }
}

impl System<Mat<f64>> {
    /// The same for some of the features, rising.
    pub(crate) fn part(&self, columns: &[usize]) -> System<Mat<f64>> {
        let gram = Mat::from_fn(columns.len(), columns.len(), |i, j| match i < j {
            true => 0.0,
            false => self.gram[(columns[i], columns[j])],
        });
        let cross = select_rows(self.cross.as_ref(), columns);
        System { tasks: self.tasks.clone(), gram, cross, square: self.square.clone(), ..*self }
    }
}

/// Rows of a block that are of one class.
pub(crate) struct Part<M> {
    /// The tasks of the class.
    pub(crate) tasks: Vec<usize>,
    /// Standardised inputs.
    pub(crate) inputs: M,
    /// Targets of these tasks, times the roots of the weights.
    pub(crate) targets: M,
    /// Roots of the weights, unless all are one.
    pub(crate) root: Option<Vec<f64>>,
    square: Vec<f64>,
    pub(crate) rows: usize,
    mass: f64,
}

impl<M: Clone> Part<M> {
    /// [Φ, 1] times the roots of the weights, in a place that may have been used before.
    pub(crate) fn features<'m, B: Backend<Matrix = M>>(
        &self,
        backend: &B,
        basis: &Basis,
        place: &'m mut Option<M>,
    ) -> &'m mut M {
        let out = backend.room(place, self.rows, basis.columns() + 1);
        backend.features(basis, &self.inputs, self.root.as_deref(), out);
        out
    }
}

/// The rows of a block by class. Targets are times the roots of the weights, NaN where not observed.
pub(crate) fn parts<B: Backend>(
    backend: &B,
    inputs: MatRef<'_, f64>,
    targets: MatRef<'_, f64>,
    root: &[f64],
) -> Vec<Part<B::Matrix>> {
    let one = |(tasks, rows): (Vec<usize>, Option<Vec<usize>>)| {
        let y = select_columns(targets, &tasks);
        let (y, root) = match &rows {
            None => (y, root.to_vec()),
            Some(rows) => (select_rows(y.as_ref(), rows), rows.iter().map(|&row| root[row]).collect()),
        };
        let inputs = match &rows {
            None => backend.put(inputs),
            Some(rows) => backend.put(select_rows(inputs, rows).as_ref()),
        };
        Part {
            inputs,
            targets: backend.put(y.as_ref()),
            square: (0..tasks.len()).map(|c| dot(y.col_as_slice(c), y.col_as_slice(c))).collect(),
            rows: y.nrows(),
            mass: dot(&root, &root),
            root: root.iter().any(|u| *u != 1.0).then_some(root),
            tasks,
        }
    };
    classes(targets).into_iter().map(one).collect()
}

/// The classes of some rows, each with its tasks and rows (`None` for all): of rows that observe the same tasks, or of
/// each task if there are fewer tasks than those. NaN is a target that was not observed.
fn classes(targets: MatRef<'_, f64>) -> Vec<(Vec<usize>, Option<Vec<usize>>)> {
    let (rows, tasks) = targets.shape();
    let gaps = |c: usize| (0..rows).any(|row| targets[(row, c)].is_nan());
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

impl<M: Clone> Class<M> {
    fn new<B: Backend<Matrix = M>>(backend: &B, columns: usize, tasks: usize) -> Class<M> {
        let (gram, cross) = (backend.zeros(columns, columns), backend.zeros(columns, tasks));
        Class { gram, cross, square: vec![0.0; tasks], rows: 0.0, mass: 0.0 }
    }

    /// Adds another class's sums; `places` are the columns of its tasks that are meant.
    fn add<B: Backend<Matrix = M>>(&mut self, backend: &B, other: &Class<M>, places: &[usize]) {
        backend.add(&mut self.gram, &other.gram, 1.0);
        match places.iter().copied().eq(0..other.square.len()) {
            true => backend.add(&mut self.cross, &other.cross, 1.0),
            false => {
                let some = select_columns(backend.get(&other.cross).as_ref(), places);
                backend.add(&mut self.cross, &backend.put(some.as_ref()), 1.0);
            }
        }
        for (to, &from) in self.square.iter_mut().zip(places) {
            *to += other.square[from];
        }
        self.rows += other.rows;
        self.mass += other.mass;
    }
}

impl<M: Clone> Sums<M> {
    pub(crate) fn new(columns: usize, tasks: usize) -> Sums<M> {
        Sums { columns, tasks, classes: BTreeMap::new() }
    }

    /// Adds rows whose features, times the roots of the weights, are given.
    pub(crate) fn add_rows<B: Backend<Matrix = M>>(&mut self, backend: &B, part: &Part<M>, features: &M) {
        let new = || Class::new(backend, self.columns, part.tasks.len());
        let class = self.classes.entry(part.tasks.clone()).or_insert_with(new);
        backend.add_gram(&mut class.gram, features);
        let (features, targets) = (Side::Transposed(features), Side::Plain(&part.targets));
        backend.product(&mut class.cross, Accumulate::Add, features, targets, 1.0);
        class.square.iter_mut().zip(&part.square).for_each(|(to, from)| *to += from);
        class.rows += part.rows as f64;
        class.mass += part.mass;
        self.limit(backend);
    }

    /// Adds sums over other rows.
    pub(crate) fn merge<B: Backend<Matrix = M>>(&mut self, backend: &B, other: Sums<M>) {
        for (tasks, class) in other.classes {
            match self.classes.get_mut(&tasks) {
                Some(own) => own.add(backend, &class, &(0..tasks.len()).collect::<Vec<_>>()),
                None => drop(self.classes.insert(tasks, class)),
            }
        }
        self.limit(backend);
    }

    /// Where classes outnumber the tasks, those of several tasks are added to those of each.
    fn limit<B: Backend<Matrix = M>>(&mut self, backend: &B) {
        if self.classes.len() <= self.tasks {
            return;
        }
        for (tasks, class) in std::mem::take(&mut self.classes) {
            for (place, &task) in tasks.iter().enumerate() {
                let new = || Class::new(backend, self.columns, 1);
                self.classes.entry(vec![task]).or_insert_with(new).add(backend, &class, &[place]);
            }
        }
    }

    /// One system for all tasks that are in the same classes; a task that was never observed is in none.
    pub(crate) fn systems<B: Backend<Matrix = M>>(&self, backend: &B) -> Vec<System<M>> {
        let mut same: BTreeMap<Vec<&Vec<usize>>, Vec<usize>> = BTreeMap::new();
        for task in 0..self.tasks {
            let of_task: Vec<&Vec<usize>> = self.classes.keys().filter(|key| key.contains(&task)).collect();
            same.entry(of_task).or_default().push(task);
        }
        same.remove([].as_slice());
        let system = |(keys, tasks): (Vec<&Vec<usize>>, Vec<usize>)| {
            let mut sum = Class::new(backend, self.columns, tasks.len());
            for key in keys {
                let places = tasks.iter().filter_map(|task| key.binary_search(task).ok()).collect::<Vec<_>>();
                sum.add(backend, &self.classes[key], &places);
            }
            let Class { gram, cross, square, rows, mass } = sum;
            System { tasks, gram, cross: backend.get(&cross), square, rows, mass }
        };
        same.into_iter().map(system).collect()
    }

    /// The same sums where matrices are brought elsewhere by `carry`.
    pub(crate) fn carried<N>(self, carry: impl Fn(M) -> N) -> Sums<N> {
        let class = |Class { gram, cross, square, rows, mass }: Class<M>| Class {
            gram: carry(gram),
            cross: carry(cross),
            square,
            rows,
            mass,
        };
        let classes = self.classes.into_iter().map(|(tasks, sums)| (tasks, class(sums))).collect();
        Sums { columns: self.columns, tasks: self.tasks, classes }
    }
}

#[cfg(test)]
impl Sums<Mat<f64>> {
    /// Adds rows by their features and targets, both times the roots of the weights.
    pub(crate) fn add_features(&mut self, features: &Mat<f64>, targets: &Mat<f64>, root: &[f64]) {
        let host = Host(Threads::ONE);
        for part in parts(&host, features.as_ref(), targets.as_ref(), root) {
            self.add_rows(&host, &part, &part.inputs);
        }
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
        let (phi, host) = (table(40, 5, 0), Host(Threads::ONE));
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
                    own.add_features(&part(&phi), &part(&y), &root[start..start + rows.len()]);
                    sums.merge(&host, own);
                }
                assert!(sums.classes.len() <= 3);
                let mut seen = [false; 3];
                for system in sums.systems(&host) {
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
