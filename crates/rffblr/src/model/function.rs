//! The function of a model, on the standardised scale, in each of its forms.

use super::cosines::Cosines;
use super::drawn::Drawn;
use super::sinusoids::Sinusoids;
use super::waves::Waves;
use crate::error::Result;
use crate::kernel::{KernelMachine, LeftOut, Machines};
use crate::linalg::{Mat, MatRef, Threads, fill_upper, scale_columns};
use crate::problem::Problem;
use crate::settings::Form;
use rand::Rng;

/// What the function is made of: the cases of [`Form`].
#[derive(Clone, Debug)]
pub(crate) enum Function {
    Kernel(Machines),
    Sinusoids(Box<Sinusoids>),
    Cosines(Box<Cosines>),
    Drawn(Box<Drawn>),
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

    /// How many tasks it is of.
    pub(crate) fn tasks(&self) -> usize {
        match self {
            Part::Waves(waves) => waves.posterior.mean.ncols(),
            Part::Kernel(machine) => machine.coefficients.ncols(),
        }
    }
}

impl Function {
    /// Whether settings of this form give such a function.
    pub(super) fn is_of(&self, form: &Form) -> bool {
        match self {
            Function::Kernel(_) => matches!(form, Form::Kernel),
            Function::Sinusoids(_) => matches!(form, Form::Sinusoids { .. }),
            Function::Cosines(_) => matches!(form, Form::Cosines(_)),
            Function::Drawn(_) => matches!(form, Form::Drawn { .. }),
        }
    }

    /// The weighted sum of cosines, if it is one for all tasks and meant to be read.
    pub(crate) fn waves(&self) -> Option<&Waves> {
        match self {
            Function::Kernel(_) | Function::Drawn(_) => None,
            Function::Sinusoids(sinusoids) => Some(&sinusoids.waves),
            Function::Cosines(cosines) => Some(&cosines.waves),
        }
    }

    /// The parts, each with its tasks; every task is in one of them.
    pub(crate) fn parts(&self) -> Vec<(Vec<usize>, Part<'_>)> {
        fn all(waves: &Waves) -> Vec<(Vec<usize>, Part<'_>)> {
            vec![((0..waves.posterior.mean.ncols()).collect(), Part::Waves(waves))]
        }
        match self {
            Function::Kernel(machines) => {
                machines.members().iter().map(|member| (member.tasks.clone(), Part::Kernel(&member.machine))).collect()
            }
            Function::Sinusoids(sinusoids) => all(&sinusoids.waves),
            Function::Cosines(cosines) => all(&cosines.waves),
            Function::Drawn(drawn) => {
                drawn.members().iter().map(|member| (member.tasks.clone(), Part::Waves(&member.waves))).collect()
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
            Function::Kernel(machines) => machines.predict(rows, uncertain, threads),
            Function::Sinusoids(sinusoids) => sinusoids.waves.predict(rows, uncertain, threads),
            Function::Cosines(cosines) => cosines.waves.predict(rows, uncertain, threads),
            Function::Drawn(drawn) => drawn.predict(rows, uncertain, threads),
        }
    }

    /// Joint posterior covariance at standardised rows: N′×N′ for each task.
    pub(super) fn covariances(&self, rows: &Mat<f64>, threads: Threads) -> Vec<Mat<f64>> {
        self.by_task(|part| {
            let found = match part {
                Part::Waves(waves) => waves.posterior.covariances(&waves.features(rows.as_ref()), threads),
                Part::Kernel(machine) => {
                    let mut prior = machine.kernel.gram(rows, threads);
                    fill_upper(prior.as_mut());
                    machine.covariances(&machine.kernel.cross(&machine.inputs, rows.as_ref(), threads), &prior, threads)
                }
            };
            let mut each: Vec<(usize, Mat<f64>)> = Vec::new();
            for (tasks, covariance) in found {
                for (task, amplitude) in tasks {
                    let mut own = covariance.clone();
                    scale_columns(&mut own, |_| amplitude);
                    each.push((task, own));
                }
            }
            each.sort_by_key(|(task, _)| *task);
            each.into_iter().map(|(_, covariance)| covariance).collect()
        })
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
            Function::Kernel(machines) => machines.sample(rows, draws, rng, threads),
            Function::Sinusoids(sinusoids) => sinusoids.waves.sample(rows, draws, rng, threads),
            Function::Cosines(cosines) => cosines.waves.sample(rows, draws, rng, threads),
            Function::Drawn(drawn) => drawn.sample(rows, draws, rng, threads),
        }
    }

    /// Variance of the noise of a task.
    pub(super) fn noise_variance(&self, task: usize) -> f64 {
        match self {
            Function::Kernel(machines) => machines.noise_variance(task),
            Function::Sinusoids(sinusoids) => sinusoids.noise[task].mean_inverse(),
            Function::Cosines(cosines) => cosines.noise[task].mean_inverse(),
            Function::Drawn(drawn) => drawn.noise_variance(task),
        }
    }

    /// Leaving each training row out in turn. `problem` and the standardised `targets` are those of the fit.
    pub(super) fn leave_one_out(
        &self,
        problem: impl FnOnce() -> Result<(Problem, Mat<f64>)>,
        threads: Threads,
    ) -> Result<LeftOut> {
        match self {
            Function::Kernel(machines) => Ok(machines.leave_one_out()),
            Function::Sinusoids(sinusoids) => {
                let (problem, targets) = problem()?;
                sinusoids.leave_one_out(&problem, &targets, threads)
            }
            Function::Cosines(cosines) => {
                let (problem, targets) = problem()?;
                let design = cosines.waves.features(problem.inputs.as_ref().as_ref());
                Ok(cosines.waves.posterior.leave_one_out(&design, &targets, &problem.root, threads))
            }
            Function::Drawn(drawn) => {
                let (problem, targets) = problem()?;
                Ok(drawn.leave_one_out(&problem, &targets, threads))
            }
        }
    }
}
