//! The marginal likelihood of drawn features as a function of the kernel, and its gradient (equations 40 to 43): two
//! passes over the rows, nothing of size N×N.

use super::features::Draw;
use super::marginal::{Marginal, Whitened, marginal};
use super::sums::{Sums, System, classes};
use crate::kernel::Kernel;
use crate::kernel::hyper::{HyperPrior, INPUT_SCALES, NOISE, SCALE, VARIANCE, unpack};
use crate::linalg::{
    Accumulate, Mat, Threads, fill_upper, multiply, product, scale_columns, scale_rows, select_columns, select_rows,
};
use crate::problem::Problem;
use rayon::prelude::*;
use std::ops::Range;

/// Rows whose features are held at once.
const ROWS: usize = 1024;
/// Prior standard deviation of ln σ² of a task around the shared one.
const NOISE_WIDTH: f64 = 1.0;
/// With more tasks they share one noise while the kernel is learned: each level costs a factorisation.
const MOST_LEVELS: usize = 8;

/// Log marginal likelihood plus log prior, as a function of the logarithms: those of the kernel and shared noise, then of
/// each task's noise in units of the shared one.
pub(super) struct Evidence<'a> {
    problem: &'a Problem,
    draw: &'a Draw,
    pub(super) prior: HyperPrior,
    /// N×C, times the root weights, NaN where not observed.
    targets: Mat<f64>,
    threads: Threads,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(problem: &'a Problem, draw: &'a Draw, threads: Threads) -> Evidence<'a> {
        let mut prior = HyperPrior::typical(problem);
        if problem.tasks() <= MOST_LEVELS {
            prior.mean.extend(vec![0.0; problem.tasks()]);
            prior.width.extend(vec![NOISE_WIDTH; problem.tasks()]);
        }
        Evidence { problem, draw, prior, targets: problem.targets_with_gaps(), threads }
    }

    /// Kernel and noise of each task, without what rounding adds to it.
    pub(super) fn unpack(&self, at: &[f64]) -> (Kernel, f64, Vec<f64>) {
        let own = INPUT_SCALES + self.problem.input_count();
        let (kernel, shared) = unpack(&at[..own], &self.problem.origin);
        let noise = |c: usize| shared * at.get(own + c).map_or(1.0, |offset| offset.exp());
        (kernel, shared, (0..self.problem.tasks()).map(noise).collect())
    }

    /// The objective and its gradient; `None` where a system is singular to rounding.
    pub(super) fn at(&self, at: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (kernel, _, own) = self.unpack(at);
        let noise: Vec<f64> = own.iter().zip(&self.problem.rounding).map(|(own, rounding)| own + rounding).collect();
        let deviation: Vec<f64> = self.draw.precision(&kernel).iter().map(|a| a.sqrt().recip()).collect();
        let lifted = Lifted { basis: self.draw.basis(&kernel), evidence: self };
        let systems = lifted.systems();
        let whitened: Vec<Whitened<'_>> =
            systems.iter().map(|system| Whitened::new(system, &deviation, self.problem.relative())).collect();
        let found = marginal(&whitened, &noise, true, self.threads)?;
        let mut gradient = vec![0.0; at.len()];
        let value = found.value + self.prior.add_to(at, &mut gradient);
        for (k, by_variance) in self.draw.by_family(&found.by_variance).into_iter().enumerate() {
            gradient[VARIANCE + k] += by_variance;
        }
        let first = INPUT_SCALES + self.problem.input_count();
        for (c, (own, noise)) in own.iter().zip(&noise).enumerate() {
            let slope = found.by_noise[c] * own / noise;
            gradient[NOISE] += slope;
            if let Some(g) = gradient.get_mut(first + c) {
                *g += slope;
            }
        }
        let pulled = lifted.by_frequency(&systems, &found, &noise, &deviation);
        for d in 0..self.draw.inputs() {
            let along = |p: usize| self.draw.frequency(&kernel, d, p) * pulled[(d, p)];
            gradient[SCALE] += 0.5 * self.draw.family(0).map(along).sum::<f64>();
            let rough: f64 = self.draw.family(1).map(along).sum();
            gradient[SCALE + 1] += rough;
            gradient[INPUT_SCALES + self.problem.origin[d]] += rough;
        }
        Some((value, gradient))
    }
}

/// The features at one kernel, a block of rows at a time.
struct Lifted<'a> {
    basis: crate::fourier::Basis,
    evidence: &'a Evidence<'a>,
}

impl Lifted<'_> {
    /// The blocks of rows.
    fn blocks(&self) -> Vec<Range<usize>> {
        let rows = self.evidence.problem.inputs.nrows();
        (0..rows).step_by(ROWS).map(|start| start..rows.min(start + ROWS)).collect()
    }

    /// [Φ, 1] times root weights of a block, into a table that may have been used before.
    fn features(&self, rows: &Range<usize>, out: &mut Mat<f64>, threads: Threads) {
        let problem = self.evidence.problem;
        if out.nrows() != rows.len() {
            *out = Mat::zeros(rows.len(), self.evidence.draw.columns());
        }
        let inputs = problem.inputs.as_ref().as_ref().subrows(rows.start, rows.len());
        self.basis.features_into(out, inputs, threads);
        let root = &problem.root[rows.clone()];
        if root.iter().any(|u| *u != 1.0) {
            scale_rows(out, root);
        }
    }

    fn targets(&self, rows: &Range<usize>) -> Mat<f64> {
        self.evidence.targets.as_ref().subrows(rows.start, rows.len()).to_owned()
    }

    fn systems(&self) -> Vec<System> {
        let Evidence { problem, draw, threads, .. } = self.evidence;
        let (mut sums, mut features) = (Sums::new(draw.columns(), problem.tasks()), Mat::new());
        for rows in self.blocks() {
            self.features(&rows, &mut features, *threads);
            sums.add_rows(&features, &self.targets(&rows), &problem.root[rows], *threads);
        }
        sums.systems()
    }

    /// Derivative by each frequency: D×P. With G = ∂L/∂Ψ = −ΨΣB_c + Σ_c (y_c − Ψw_c)w_cᵀ/(a_cσ_c²), and Ψ = s cos A and
    /// s sin A for a pair, ∂L/∂A = −G_cos Ψ_sin + G_sin Ψ_cos.
    fn by_frequency(&self, systems: &[System], found: &Marginal, noise: &[f64], deviation: &[f64]) -> Mat<f64> {
        let mut inverses = found.inverse.clone();
        inverses.iter_mut().for_each(|inverse| fill_upper(inverse.as_mut()));
        let one = |buffers: &mut [Mat<f64>; 2], rows: Range<usize>| {
            let [psi, g] = buffers;
            self.features(&rows, psi, Threads::ONE);
            scale_columns(psi, |j| deviation[j]);
            self.pull(&rows, psi, g, (systems, &inverses), found, noise)
        };
        let buffers = || [Mat::new(), Mat::new()];
        let blocks = self.blocks();
        // Blocks side by side, each on one thread; their shares are added in order.
        let shares: Vec<Mat<f64>> = match self.evidence.threads {
            Threads::ONE => {
                let mut buffers = buffers();
                blocks.into_iter().map(|rows| one(&mut buffers, rows)).collect()
            }
            _ => blocks.into_par_iter().map_init(buffers, one).collect(),
        };
        let draw = self.evidence.draw;
        let zero = Mat::zeros(draw.inputs(), draw.pairs());
        shares.into_iter().fold(zero, |total, share| total + share)
    }

    /// The share of one block.
    fn pull(
        &self,
        block: &Range<usize>,
        psi: &Mat<f64>,
        g: &mut Mat<f64>,
        (systems, inverses): (&[System], &[Mat<f64>]),
        found: &Marginal,
        noise: &[f64],
    ) -> Mat<f64> {
        let (draw, threads) = (self.evidence.draw, Threads::ONE);
        let (pairs, targets) = (draw.pairs(), self.targets(block));
        let mut pulled = Mat::zeros(psi.nrows(), pairs);
        for (tasks, rows) in classes(&targets) {
            let part = rows.as_ref().map(|rows| select_rows(psi.as_ref(), rows));
            let own = part.as_ref().unwrap_or(psi);
            let weights = select_columns(found.weights.as_ref(), &tasks);
            let mut residual = multiply(own.as_ref(), weights.as_ref(), threads);
            for (i, &task) in tasks.iter().enumerate() {
                let share = 1.0 / (found.amplitude[task] * noise[task]);
                let observed = targets.col_as_slice(task);
                for (k, r) in residual.col_as_slice_mut(i).iter_mut().enumerate() {
                    *r = share * (observed[rows.as_ref().map_or(k, |rows| rows[k])] - *r);
                }
            }
            if g.nrows() != own.nrows() {
                *g = Mat::zeros(own.nrows(), 2 * pairs);
            }
            let weights = weights.as_ref().transpose().subcols(0, 2 * pairs);
            product(g.as_mut(), Accumulate::Replace, residual.as_ref(), weights, 1.0, threads);
            for (system, inverse) in systems.iter().zip(inverses) {
                if system.tasks.iter().all(|task| tasks.contains(task)) {
                    let inverse = inverse.as_ref().subcols(0, 2 * pairs);
                    product(g.as_mut(), Accumulate::Add, own.as_ref(), inverse, -1.0, threads);
                }
            }
            for p in 0..pairs {
                let (cos, sin) = (own.col_as_slice(2 * p), own.col_as_slice(2 * p + 1));
                let (by_cos, by_sin) = (g.col_as_slice(2 * p), g.col_as_slice(2 * p + 1));
                let to = pulled.col_as_slice_mut(p);
                for k in 0..cos.len() {
                    to[rows.as_ref().map_or(k, |rows| rows[k])] += by_sin[k] * cos[k] - by_cos[k] * sin[k];
                }
            }
        }
        let inputs = self.evidence.problem.inputs.as_ref().as_ref().subrows(block.start, block.len());
        multiply(inputs.transpose(), pulled.as_ref(), threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::learn::tests::eliminated;
    use std::f64::consts::TAU;

    /// Three tasks, weights 1, 2 and 0.5, the last two inputs one text, the second target rounded.
    fn problem(weighted: bool, gap: &dyn Fn(usize, usize) -> bool) -> Problem {
        let x = Mat::from_fn(30, 3, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
        let y = Mat::from_fn(30, 3, |n, c| {
            if gap(n, c) { f64::NAN } else { (2.0 * x[(n, c)]).sin() + 0.1 * ((n * 7 + c) as f64).cos() }
        });
        let weights: Vec<f64> = (0..30).map(|n| [1.0, 2.0, 0.5][n % 3]).collect();
        let text = 1..3;
        Problem::new(x, y, weighted.then_some(&weights)).knowing(std::slice::from_ref(&text), vec![0.0, 0.07, 0.0])
    }

    fn somewhere(evidence: &Evidence<'_>) -> Vec<f64> {
        evidence.prior.mean.iter().enumerate().map(|(i, s)| s + 0.4 * ((i * 3) as f64).sin()).collect()
    }

    #[test]
    fn the_gradient_equals_central_differences() {
        let draw = Draw::new(3, [4, 5], 3);
        let none = |_, _| false;
        let some = |n: usize, c: usize| c == 2 && n % 4 == 1;
        let many = |n: usize, c: usize| (n >> c) & 1 == 1;
        let gaps: [&dyn Fn(usize, usize) -> bool; 3] = [&none, &some, &many];
        for (weighted, gap) in [(false, gaps[0]), (true, gaps[0]), (true, gaps[1]), (true, gaps[2])] {
            let problem = problem(weighted, gap);
            let evidence = Evidence::new(&problem, &draw, Threads::ONE);
            let at = somewhere(&evidence);
            let (_, gradient) = evidence.at(&at).unwrap();
            for i in 0..at.len() {
                let shifted = |by: f64| {
                    let mut moved = at.clone();
                    moved[i] += by;
                    evidence.at(&moved).unwrap().0
                };
                let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                assert!((slope - gradient[i]).abs() < 1e-6 * slope.abs().max(1.0), "{i}: {slope} {}", gradient[i]);
            }
        }
    }

    /// The value is Σ_c ln N(y_c | 0, a_c(ΨΨᵀ + σ_c²I)) at the best a_c, by elimination over the observed rows, each
    /// repeated as often as its weight says.
    #[test]
    fn the_value_is_the_gaussian_log_density_of_the_repeated_rows() {
        let x = Mat::from_fn(9, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
        let missing = |n: usize, c: usize| c == 1 && n == 3;
        let y = Mat::from_fn(9, 2, |n, c| if missing(n, c) { f64::NAN } else { ((n * 3 + c) as f64).cos() });
        let weights: Vec<f64> = (0..9).map(|n| (1 + n % 3) as f64).collect();
        let problem = Problem::new(x.clone(), y.clone(), Some(&weights)).knowing(&[], vec![0.0, 0.03]);
        let draw = Draw::new(2, [3, 2], 1);
        let evidence = Evidence::new(&problem, &draw, Threads::ONE);
        let at = somewhere(&evidence);
        let (kernel, _, noise) = evidence.unpack(&at);
        let mut psi = draw.basis(&kernel).features_and_one(x.as_ref());
        let precision = draw.precision(&kernel);
        scale_columns(&mut psi, |j| precision[j].sqrt().recip());
        let full = multiply(psi.as_ref(), psi.as_ref().transpose(), Threads::ONE);
        let mut expected = 0.0;
        for c in 0..2 {
            let rows: Vec<usize> =
                (0..9).filter(|&n| !missing(n, c)).flat_map(|n| std::iter::repeat_n(n, weights[n] as usize)).collect();
            let (size, noise) = (rows.len(), noise[c] + problem.rounding[c]);
            let k = Mat::from_fn(size, size, |i, j| full[(rows[i], rows[j])] + if i == j { noise } else { 0.0 });
            let (ln_det, energy) = eliminated(k, rows.iter().map(|&n| y[(n, c)]).collect());
            let amplitude = energy / size as f64;
            expected -= 0.5 * (ln_det + size as f64 * (amplitude * TAU).ln() + energy / amplitude);
        }
        expected += evidence.prior.add_to(&at, &mut vec![0.0; at.len()]);
        let (value, _) = evidence.at(&at).unwrap();
        assert!((value - expected).abs() < 1e-8, "{value} {expected}");
    }
}
