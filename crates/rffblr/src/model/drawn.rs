//! The function as features drawn from learned kernels.

use super::Model;
use super::posterior::{Inverse, Shape};
use super::waves::Waves;
use crate::data::{Dataset, row_sample};
use crate::device::{Backend, Side};
use crate::drawn::{Accumulator, BLOCK, FeatureMap, Group, most_rows};
use crate::error::Result;
use crate::kernel::{Kernel, LeftOut, nonnegative_variance};
use crate::linalg::{Accumulate, Mat, MatRef, Threads, select_columns};
use crate::problem::{Problem, places, spread};
use crate::settings::Settings;
use crate::steps::Observer;
use rand::Rng;

/// Rows whose features are held at once.
const ROWS: usize = 4096;

/// The tasks that share a kernel, and their features. Column i of its tables is task `tasks[i]`.
#[derive(Clone, Debug)]
pub(crate) struct DrawnMember {
    pub(crate) tasks: Vec<usize>,
    pub(crate) kernel: Kernel,
    /// Pairs of the RBF family and of the Laplace family.
    pub(crate) pairs: [usize; 2],
    /// The columns of Φ that stayed, rising, if precisions are free; `None` if they are those of the kernel.
    pub(crate) kept: Option<Vec<usize>>,
    pub(crate) waves: Waves,
}

/// One weighted sum of drawn features for each group of tasks; every task is in one.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    members: Vec<DrawnMember>,
    /// For each task its group and its place there.
    place: Vec<(usize, usize)>,
}

impl Drawn {
    pub(crate) fn new(members: Vec<DrawnMember>) -> Drawn {
        let place = places(members.iter().map(|member| &member.tasks));
        Drawn { members, place }
    }

    pub(crate) fn members(&self) -> &[DrawnMember] {
        &self.members
    }

    fn tasks(&self) -> usize {
        self.place.len()
    }

    /// Variance of the noise of a task.
    pub(super) fn noise_variance(&self, task: usize) -> f64 {
        let (member, i) = self.place[task];
        let posterior = &self.members[member].waves.posterior;
        posterior.unit[i] / posterior.tau[i]
    }

    /// Mean and, if wanted, variance at standardised rows: N′×C each.
    pub(super) fn predict(
        &self,
        rows: MatRef<'_, f64>,
        uncertain: bool,
        threads: Threads,
    ) -> (Mat<f64>, Option<Mat<f64>>) {
        let empty = || Mat::zeros(rows.nrows(), self.tasks());
        let (mut mean, mut variance) = (empty(), uncertain.then(empty));
        for member in &self.members {
            let (own_mean, own_variance) = member.waves.predict(rows, uncertain, threads);
            member.spread(&own_mean, &mut mean, 0);
            if let (Some(own), Some(all)) = (own_variance, &mut variance) {
                member.spread(&own, all, 0);
            }
        }
        (mean, variance)
    }

    /// Joint draws at standardised rows: N′×C each.
    pub(super) fn sample(
        &self,
        rows: MatRef<'_, f64>,
        draws: usize,
        rng: &mut impl Rng,
        threads: Threads,
    ) -> Vec<Mat<f64>> {
        let mut out: Vec<Mat<f64>> = (0..draws).map(|_| Mat::zeros(rows.nrows(), self.tasks())).collect();
        for member in &self.members {
            let own = member.waves.sample(rows, draws, rng, threads);
            own.iter().zip(&mut out).for_each(|(own, all)| member.spread(own, all, 0));
        }
        out
    }

    /// Leaving each row of the fit out in turn, a block of rows at a time.
    pub(super) fn leave_one_out(&self, problem: &Problem, targets: &Mat<f64>, threads: Threads) -> LeftOut {
        let rows = targets.nrows();
        let mut out = LeftOut::new(rows, self.tasks());
        for start in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - start);
            let inputs = problem.inputs.as_ref().as_ref().subrows(start, count);
            let targets = targets.as_ref().subrows(start, count);
            for member in &self.members {
                let design = member.waves.features(inputs);
                let own = select_columns(targets, &member.tasks);
                let root = &problem.root[start..start + count];
                let left = member.waves.posterior.leave_one_out(&design, &own, root, threads);
                member.spread(&left.residual, &mut out.residual, start);
                member.spread(&left.variance, &mut out.variance, start);
                member.spread(&left.leverage, &mut out.leverage, start);
            }
        }
        out
    }
}

impl DrawnMember {
    /// What was learned of these tasks, with the noise that they share.
    pub(crate) fn group(&self, shared_noise: f64) -> Group {
        let noise = self.waves.posterior.tau.iter().map(|tau| tau.recip()).collect();
        Group { tasks: self.tasks.clone(), kernel: self.kernel.clone(), shared_noise, noise }
    }

    /// Puts a table of this group's tasks where they are in one of all tasks, from a row on.
    pub(super) fn spread(&self, from: &Mat<f64>, to: &mut Mat<f64>, start: usize) {
        spread(&self.tasks, from, to, start);
    }
}

/// What predictions need, with a backend.
pub(super) struct There<'a, B: Backend> {
    backend: &'a B,
    drawn: &'a Drawn,
    /// Of each group.
    members: Vec<MemberThere<B>>,
}

struct MemberThere<B: Backend> {
    mean: B::Matrix,
    /// The prior standard deviation of each weight.
    deviation: Vec<f64>,
    /// For tasks that share a covariance, its factor.
    shapes: Vec<(Vec<usize>, B::Factor)>,
}

impl Drawn {
    /// Multiplications of predicting a row with its variance.
    pub(super) fn work(&self) -> f64 {
        let of = |member: &DrawnMember| {
            let posterior = &member.waves.posterior;
            (posterior.precision.len() as f64).powi(2) * posterior.shapes.len() as f64
        };
        self.members.iter().map(of).sum()
    }

    /// Carries over what predictions need.
    pub(super) fn there<'a, B: Backend>(&'a self, backend: &'a B) -> There<'a, B> {
        let one = |member: &DrawnMember| {
            let posterior = &member.waves.posterior;
            let shape = |shape: &Shape| match &shape.inverse {
                Inverse::Factor(factor) => Some((shape.tasks.clone(), backend.carried(factor))),
                Inverse::Spectral(_) => None,
            };
            MemberThere {
                mean: backend.put(posterior.mean.as_ref()),
                deviation: posterior.precision.iter().map(|a| a.sqrt().recip()).collect(),
                shapes: posterior.shapes.iter().filter_map(shape).collect(),
            }
        };
        There { backend, drawn: self, members: self.members.iter().map(one).collect() }
    }
}

impl<B: Backend> There<'_, B> {
    /// Mean and, if wanted, variance at standardised rows: N′×C each.
    pub(super) fn predict(&self, rows: MatRef<'_, f64>, uncertain: bool) -> (Mat<f64>, Option<Mat<f64>>) {
        let (backend, count) = (self.backend, rows.nrows());
        let empty = || Mat::zeros(count, self.drawn.tasks());
        let (mut mean, mut variance) = (empty(), uncertain.then(empty));
        let (inputs, mut place) = (backend.put(rows), None);
        for (member, there) in self.drawn.members.iter().zip(&self.members) {
            let Waves { basis, posterior } = &member.waves;
            let design = backend.room(&mut place, count, basis.columns() + 1);
            backend.features(basis, &inputs, None, design);
            let mut own = backend.zeros(count, member.tasks.len());
            backend.product(&mut own, Accumulate::Replace, Side::Plain(design), Side::Plain(&there.mean), 1.0);
            member.spread(&backend.get(&own), &mut mean, 0);
            let Some(variance) = &mut variance else { continue };
            backend.scale_columns(design, &there.deviation);
            let mut own = Mat::zeros(count, member.tasks.len());
            for (tasks, factor) in &there.shapes {
                let left = backend.explained(factor, design);
                for &task in tasks {
                    let column = own.col_as_slice_mut(task).iter_mut().zip(&left);
                    column.for_each(|(to, left)| *to = posterior.unit[task] * nonnegative_variance(*left));
                }
            }
            member.spread(&own, variance, 0);
        }
        (mean, variance)
    }
}

/// Learns from data in memory.
pub(super) fn fit(data: &Dataset, settings: &Settings, observer: Observer<'_>) -> Result<Model> {
    let rows = row_sample(data.rows(), most_rows(settings.effort()), settings.seed);
    let part = rows.map(|rows| data.select(&rows)).transpose()?;
    let map = FeatureMap::learn(part.as_ref().unwrap_or(data), data.effective_rows(), settings, observer)?;
    let mut sums = Accumulator::new(&map).on(settings.device, data.rows() as f64, false)?;
    let weights = data.given_weights().map(|weights| weights.values().as_slice());
    for (number, start) in (0..data.rows()).step_by(BLOCK).enumerate() {
        let count = BLOCK.min(data.rows() - start);
        let weights = weights.map(|weights| &weights[start..start + count]);
        let (inputs, targets) = (data.inputs().subrows(start, count), data.targets().subrows(start, count));
        sums.update(number as u64, inputs, targets, weights)?;
    }
    Ok(map.model(&sums)?.with_training_data(data))
}
