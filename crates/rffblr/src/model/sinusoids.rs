//! The function as a few sinusoids fitted to the posterior mean of Gaussian processes.

use super::drawn::{Drawn, DrawnMember};
use super::posterior::Posterior;
use super::waves::Waves;
use crate::error::Result;
use crate::kernel::{Kernel, LeftOut, Machines, Shared};
use crate::linalg::{Mat, MatRef, Threads, multiply, scale_rows, select_rows};
use crate::problem::Problem;
use crate::settings::EXACT_ROWS;
use crate::sparse::{Original, distil};
use crate::vb::Gamma;

/// Sinusoids, and what they were fitted to.
#[derive(Clone, Debug)]
pub(crate) struct Sinusoids {
    pub(crate) waves: Waves,
    /// Belief about the noise precision of each task.
    pub(crate) noise: Vec<Gamma>,
    /// With the training data these determine the kernel machines that the sinusoids reproduce.
    pub(crate) origin: Vec<Shared>,
}

/// What sinusoids are fitted to.
struct Teacher<'a> {
    /// Variance of the noise of each task.
    noise: Vec<f64>,
    mean: &'a dyn Fn(MatRef<'_, f64>) -> Mat<f64>,
    /// Of each row left out in turn; zero where not observed.
    residual: Mat<f64>,
}

impl Sinusoids {
    /// Sinusoids that reproduce the kernel machines of some groups of tasks. Their weights are those that do; the noise of
    /// a task is what its machine's leave-one-out residuals and the difference of the two functions leave to it (equation
    /// 30). The machine's own noise would not do: what a rough kernel takes for a narrow spike at a row is noise to a few
    /// sinusoids.
    pub(super) fn distilled(problem: &Problem, groups: Vec<Shared>, count: usize, seed: u64) -> Result<Sinusoids> {
        let threads = Threads::current();
        let machines = Machines::new(problem, &groups, threads)?;
        let LeftOut { residual, .. } = machines.leave_one_out();
        let teacher = Teacher {
            noise: (0..problem.tasks()).map(|c| machines.noise_variance(c)).collect(),
            mean: &|rows: MatRef<'_, f64>| machines.means(rows, threads),
            residual,
        };
        Sinusoids::taught(problem, groups, &teacher, count, seed)
    }

    /// The same from drawn features, at some of their training rows.
    pub(super) fn of_drawn(
        problem: &Problem,
        targets: &Mat<f64>,
        drawn: &Drawn,
        count: usize,
        seed: u64,
    ) -> Result<Sinusoids> {
        let threads = Threads::current();
        let noise: Vec<f64> = (0..problem.tasks()).map(|c| drawn.noise_variance(c)).collect();
        let group = |member: &DrawnMember| {
            let own = member.tasks.iter().map(|&task| noise[task]).sum::<f64>() / member.tasks.len() as f64;
            Shared { tasks: member.tasks.clone(), kernel: member.kernel.clone(), noise: own }
        };
        let groups = drawn.members().iter().map(group).collect();
        let LeftOut { mut residual, .. } = drawn.leave_one_out(problem, targets, threads);
        for c in 0..residual.ncols() {
            residual.col_as_slice_mut(c).iter_mut().filter(|e| e.is_nan()).for_each(|e| *e = 0.0);
        }
        let mean = |rows: MatRef<'_, f64>| drawn.predict(rows, false, threads).0;
        Sinusoids::taught(problem, groups, &Teacher { noise, mean: &mean, residual }, count, seed)
    }

    fn taught(
        problem: &Problem,
        groups: Vec<Shared>,
        teacher: &Teacher<'_>,
        count: usize,
        seed: u64,
    ) -> Result<Sinusoids> {
        let threads = Threads::current();
        let tasks = problem.tasks();
        // Rows of weight zero are left out.
        let seen: Vec<usize> = (0..problem.root.len()).filter(|&n| problem.root[n] > 0.0).collect();
        let inputs = select_rows(problem.inputs.as_ref().as_ref(), &seen);
        let weight = problem.root.iter().map(|u| u * u).sum::<f64>();
        let kernels: Vec<&Kernel> = groups.iter().map(|group| &group.kernel).collect();
        let original = Original {
            inputs: &inputs,
            weight,
            kernels: &kernels,
            noise: teacher.noise.iter().sum::<f64>() / tasks as f64,
            mean: teacher.mean,
        };
        let sinusoids = distil(&original, count, seed, threads)?;
        let basis = sinusoids.basis();
        let (bias, weights) = (&sinusoids.bias, &sinusoids.weights);
        let mean =
            Mat::from_fn(
                weights.nrows() + 1,
                tasks,
                |k, c| {
                    if k < weights.nrows() { weights[(k, c)] } else { bias[c] }
                },
            );
        let design = basis.features_and_one(problem.inputs.as_ref().as_ref());
        let square = |c: usize| mean_square(problem, &teacher.residual, c) + sinusoids.misfit[c];
        // All rows together have the weight of the training rows: values computed from those add no information.
        let share = weight / sinusoids.rows.nrows() as f64;
        let weights = vec![share; sinusoids.rows.nrows()];
        let around = Problem::new(sinusoids.rows.clone(), Mat::zeros(weights.len(), tasks), Some(&weights));
        let mut read_off = basis.features_and_one(around.inputs.as_ref().as_ref());
        scale_rows(&mut read_off, &around.root);
        // In units of each task's noise, which everything is proportional to.
        let mut posterior = Posterior::new(&around, read_off, &sinusoids.ratio, vec![1.0; tasks], threads)?;
        // Residuals hold the noise and the posterior variance of the function.
        let open = posterior.variance(&design, threads);
        let open = open.col_as_slice(0).iter().sum::<f64>() / design.nrows() as f64;
        // E[1/τ] is the noise, known as well as its rows allow.
        let belief = |c: usize| {
            let half = 0.5 * problem.count[c];
            // Rows of next to no weight leave it next to nothing, which is still positive.
            Gamma { shape: 1.0 + half, rate: (half * square(c) / (1.0 + open)).max(f64::MIN_POSITIVE) }
        };
        let noise: Vec<Gamma> = (0..tasks).map(belief).collect();
        posterior.mean = mean;
        posterior.unit = noise.iter().map(|noise| noise.mean_inverse()).collect();
        Ok(Sinusoids { waves: Waves { basis, posterior }, noise, origin: groups })
    }

    /// Leave-one-out of sinusoids that reproduce kernel machines (equation 30a). That of the machines ignores the
    /// error of the approximation; their own is optimistic, as all rows chose the frequencies. Each task has the worse.
    /// With more rows than the exact form takes, for which there is no machine, it is their own.
    pub(super) fn leave_one_out(&self, problem: &Problem, targets: &Mat<f64>, threads: Threads) -> Result<LeftOut> {
        let root = &problem.root;
        let design = self.waves.features(problem.inputs.as_ref().as_ref());
        let fitted = multiply(design.as_ref(), self.waves.posterior.mean.as_ref(), threads);
        let of_machines = match targets.nrows() <= EXACT_ROWS {
            true => Some(Machines::new(problem, &self.origin, threads)?.leave_one_out()),
            false => None,
        };
        let alone = of_machines.is_none();
        let before = of_machines.unwrap_or_else(|| LeftOut::new(targets.nrows(), targets.ncols()));
        let mut out = LeftOut { variance: self.waves.posterior.variance(&design, threads), ..before };
        for (c, noise) in self.noise.iter().enumerate() {
            // q of equation 30a: variance of the function in units of the row's noise; the leverage is q/(1 + q).
            let adds = |n: usize| root[n].powi(2) * out.variance[(n, c)] / noise.mean_inverse();
            let own = |n: usize| (targets[(n, c)] - fitted[(n, c)]) * (1.0 + adds(n));
            let rows: Vec<usize> =
                (0..targets.nrows()).filter(|&n| !targets[(n, c)].is_nan() && root[n] > 0.0).collect();
            let sum = |residual: &dyn Fn(usize) -> f64| -> f64 {
                rows.iter().map(|&n| (root[n] * residual(n)).powi(2)).sum()
            };
            if alone || sum(&own) > sum(&|n| out.residual[(n, c)]) {
                let shares: Vec<(f64, f64)> = rows.iter().map(|&n| (own(n), adds(n) / (1.0 + adds(n)))).collect();
                for (&n, (residual, leverage)) in rows.iter().zip(shares) {
                    (out.residual[(n, c)], out.leverage[(n, c)]) = (residual, leverage);
                }
            }
        }
        Ok(out)
    }
}

/// Weighted mean square of the observed residuals of a task; the others are zero.
fn mean_square(problem: &Problem, residual: &Mat<f64>, task: usize) -> f64 {
    let column = residual.col_as_slice(task).iter().zip(&problem.root);
    let sum: f64 = column.map(|(residual, root)| (root * residual).powi(2)).sum();
    // A target hit exactly still needs a noise that can be divided by.
    (sum / problem.count[task]).max(1e-12)
}
