//! One Gaussian process for each group of tasks that share a kernel, all on the same training rows.

use super::{Kernel, KernelMachine, LeftOut};
use crate::device::Backend;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, Threads};
use crate::problem::{Problem, places, spread};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most rows of machines that are fitted side by side.
const SIDE_BY_SIDE: usize = 1024;

/// Hyper-parameters that some tasks share. With the training data they determine their machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shared {
    /// The tasks, rising.
    pub(crate) tasks: Vec<usize>,
    pub(crate) kernel: Kernel,
    /// σ², from which each task's own may depart.
    pub(crate) noise: f64,
}

/// A machine and the tasks it serves: its task i is task `tasks[i]` of the model.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) tasks: Vec<usize>,
    pub(crate) machine: KernelMachine,
}

impl Member {
    /// Puts the columns of a table of this machine's tasks where they are in one of all tasks.
    fn spread(&self, from: &Mat<f64>, to: &mut Mat<f64>) {
        spread(&self.tasks, from, to, 0);
    }
}

/// The machines of a model: at least one, every task in exactly one of them, the same inputs and weights in all.
#[derive(Clone, Debug)]
pub(crate) struct Machines {
    members: Vec<Member>,
    /// For each task its machine and its place there.
    place: Vec<(usize, usize)>,
}

impl Machines {
    /// Fits every task of a problem with the kernel of its group; together the groups must have every task once.
    pub(crate) fn new(problem: &Problem, groups: &[Shared], threads: Threads) -> Result<Self> {
        let member = |Shared { tasks, kernel, noise }: &Shared| {
            let machine = match tasks.len() == problem.tasks() {
                true => KernelMachine::new(problem, kernel.clone(), *noise, threads)?,
                false => KernelMachine::new(&problem.of_tasks(tasks), kernel.clone(), *noise, threads)?,
            };
            Ok(Member { tasks: tasks.clone(), machine })
        };
        // Of few rows, a factor keeps one thread busy, and several have room.
        let members = match threads == Threads::ONE || problem.inputs.nrows() > SIDE_BY_SIDE {
            true => groups.iter().map(member).collect::<Result<_>>()?,
            false => groups.par_iter().map(member).collect::<Result<_>>()?,
        };
        Ok(Machines::from_members(members))
    }

    /// The same by a device, one after the other.
    pub(crate) fn there<B: Backend>(device: &B, problem: &Problem, groups: &[Shared]) -> Result<Self> {
        let member = |Shared { tasks, kernel, noise }: &Shared| {
            let own = (tasks.len() < problem.tasks()).then(|| problem.of_tasks(tasks));
            let machine = KernelMachine::fitted_there(device, own.as_ref().unwrap_or(problem), kernel.clone(), *noise)?;
            Ok(Member { tasks: tasks.clone(), machine })
        };
        Ok(Machines::from_members(groups.iter().map(member).collect::<Result<_>>()?))
    }

    /// Machines with the same inputs that together have every task once.
    pub(crate) fn from_members(members: Vec<Member>) -> Self {
        let place = places(members.iter().map(|member| &member.tasks));
        Machines { members, place }
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The machine of a task, and the number of the task there.
    pub(crate) fn of(&self, task: usize) -> (&KernelMachine, usize) {
        let (member, i) = self.place[task];
        (&self.members[member].machine, i)
    }

    /// N×D standardised training inputs.
    pub(crate) fn inputs(&self) -> &Arc<Mat<f64>> {
        &self.members[0].machine.inputs
    }

    /// Root of the weight of each training row.
    pub(crate) fn root(&self) -> &[f64] {
        &self.members[0].machine.root
    }

    /// Number of tasks.
    pub(crate) fn tasks(&self) -> usize {
        self.place.len()
    }

    /// Variance of the noise of a task.
    pub(crate) fn noise_variance(&self, task: usize) -> f64 {
        let (machine, i) = self.of(task);
        machine.noise_variance(i)
    }

    /// A table of all tasks from one of each machine.
    fn gathered(&self, rows: usize, of: impl Fn(&KernelMachine) -> Mat<f64>) -> Mat<f64> {
        let mut out = Mat::zeros(rows, self.tasks());
        self.members.iter().for_each(|member| member.spread(&of(&member.machine), &mut out));
        out
    }

    /// N×C coefficients β.
    pub(crate) fn coefficients(&self) -> Mat<f64> {
        self.gathered(self.inputs().nrows(), |machine| machine.coefficients.clone())
    }

    /// The posterior means alone at many rows, in blocks.
    pub(crate) fn means(&self, new: MatRef<'_, f64>, threads: Threads) -> Mat<f64> {
        self.gathered(new.nrows(), |machine| machine.means(new, threads))
    }

    /// Mean and, if wanted, variance of the function at standardised rows: N′×C each.
    pub(crate) fn predict(
        &self,
        new: MatRef<'_, f64>,
        uncertain: bool,
        threads: Threads,
    ) -> (Mat<f64>, Option<Mat<f64>>) {
        let empty = || Mat::zeros(new.nrows(), self.tasks());
        let (mut mean, mut variance) = (empty(), uncertain.then(empty));
        for member in &self.members {
            let (own_mean, own_variance) = member.machine.predict(new, uncertain, threads);
            member.spread(&own_mean, &mut mean);
            if let (Some(own), Some(all)) = (own_variance, &mut variance) {
                member.spread(&own, all);
            }
        }
        (mean, variance)
    }

    /// Leaving each row out in turn.
    pub(crate) fn leave_one_out(&self) -> LeftOut {
        let mut out = LeftOut::new(self.inputs().nrows(), self.tasks());
        for member in &self.members {
            let own = member.machine.leave_one_out();
            member.spread(&own.residual, &mut out.residual);
            member.spread(&own.variance, &mut out.variance);
            member.spread(&own.leverage, &mut out.leverage);
        }
        out
    }

    /// Slope of the direct link of each input and its standard deviation: D×C each.
    pub(crate) fn slopes(&self, threads: Threads) -> (Mat<f64>, Mat<f64>) {
        let inputs = self.inputs().ncols();
        (
            self.gathered(inputs, |machine| machine.slopes(threads)),
            self.gathered(inputs, KernelMachine::slope_deviations),
        )
    }

    /// Joint draws of the function at standardised rows: N′×C each. Costs N′³.
    pub(crate) fn sample(
        &self,
        new: MatRef<'_, f64>,
        draws: usize,
        rng: &mut impl Rng,
        threads: Threads,
    ) -> Vec<Mat<f64>> {
        // In the order of draws and tasks, whatever machine and share they are in.
        let mut out: Vec<Mat<f64>> =
            (0..draws).map(|_| Mat::from_fn(new.nrows(), self.tasks(), |_, _| StandardNormal.sample(rng))).collect();
        for member in &self.members {
            let mut own: Vec<Mat<f64>> =
                out.iter().map(|draw| crate::linalg::select_columns(draw.as_ref(), &member.tasks)).collect();
            member.machine.sample(new, &mut own, threads);
            own.iter().zip(&mut out).for_each(|(own, all)| member.spread(own, all));
        }
        out
    }
}
