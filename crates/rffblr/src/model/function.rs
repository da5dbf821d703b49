//! The function of a model, on the standardised scale, whatever it is made of.

use super::waves::Waves;
use crate::kernel::{KernelMachine, Machines};
use crate::linalg::{Mat, MatRef, Threads};
use rand::Rng;

/// What the function is made of.
#[derive(Clone, Debug)]
pub(crate) enum Function {
    Waves(Box<Waves>),
    Kernel(Machines),
}

/// A part of the function: some of its tasks, made of the same terms. Cosines are one part.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Waves(&'a Waves),
    Kernel(&'a KernelMachine),
}

impl Part<'_> {
    /// How many terms the part is the weighted sum of.
    pub(crate) fn terms(&self) -> usize {
        match self {
            Part::Waves(waves) => waves.posterior.precision.len(),
            Part::Kernel(machine) => machine.inputs.nrows(),
        }
    }
}

impl Function {
    /// The parts, each with its tasks; every task is in one of them.
    pub(crate) fn parts(&self) -> Vec<(Vec<usize>, Part<'_>)> {
        match self {
            Function::Waves(waves) => vec![((0..waves.noise.len()).collect(), Part::Waves(waves))],
            Function::Kernel(machines) => {
                machines.members().iter().map(|member| (member.tasks.clone(), Part::Kernel(&member.machine))).collect()
            }
        }
    }

    /// Something for every task, from what each part has for its own.
    pub(crate) fn by_task<T>(&self, of: impl Fn(Part<'_>) -> Vec<T>) -> Vec<T> {
        let each = |(tasks, part): (Vec<usize>, Part<'_>)| tasks.into_iter().zip(of(part));
        let mut found: Vec<(usize, T)> = self.parts().into_iter().flat_map(each).collect();
        found.sort_by_key(|(task, _)| *task);
        found.into_iter().map(|(_, value)| value).collect()
    }

    /// Mean and, if wanted, variance at standardised rows: N′×C each.
    pub(super) fn predict(
        &self,
        rows: MatRef<'_, f64>,
        uncertain: bool,
        threads: Threads,
    ) -> (Mat<f64>, Option<Mat<f64>>) {
        match self {
            Function::Waves(waves) => waves.predict(rows, uncertain, threads),
            Function::Kernel(machines) => machines.predict(rows, uncertain, threads),
        }
    }

    /// Joint draws at standardised rows: N′×C each.
    pub(super) fn sample(
        &self,
        rows: MatRef<'_, f64>,
        draws: usize,
        rng: &mut impl Rng,
        threads: Threads,
    ) -> Vec<Mat<f64>> {
        match self {
            Function::Waves(waves) => waves.sample(rows, draws, rng, threads),
            Function::Kernel(machines) => machines.sample(rows, draws, rng, threads),
        }
    }

    /// Variance of the noise of a task.
    pub(super) fn noise_variance(&self, task: usize) -> f64 {
        match self {
            Function::Waves(waves) => waves.noise[task].mean_inverse(),
            Function::Kernel(machines) => machines.noise_variance(task),
        }
    }
}
