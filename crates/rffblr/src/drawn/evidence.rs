//! The marginal likelihood of drawn features as a function of the kernel or of the frequencies themselves, and its gradient
//! (equations 40 to 44): two passes over the rows, nothing of size N×N.

use super::features::Draw;
use super::marginal::{Marginal, Whitened, marginal};
use super::sums::{Part, Sums, System, parts};
use crate::device::{Backend, Side};
use crate::fourier::Basis;
use crate::kernel::Kernel;
use crate::kernel::hyper::{HyperPrior, INPUT_SCALES, NOISE, SCALE, VARIANCE, unpack};
use crate::linalg::{Accumulate, Mat, dot, scale_rows, select_columns};
use crate::problem::Problem;
use std::borrow::Cow;
use std::cell::RefCell;

/// Rows whose features are held at once.
const ROWS: usize = 1024;
/// Prior standard deviation of ln σ² of a task around the shared one.
const NOISE_WIDTH: f64 = 1.0;
/// With more tasks they share one noise while the kernel is learned: each level costs a factorisation.
const MOST_LEVELS: usize = 8;
/// Prior standard deviation of an unscaled frequency around the one that was drawn, in units of the distance to its
/// neighbours: any of them may take the place of the next.
const FREQUENCY_WIDTH: f64 = 1.5;
/// Degrees of freedom of Student's t, by which rows that are checked are judged.
const FREEDOM: f64 = 4.0;

/// What is observed, by blocks of rows and what is observed in them.
pub(super) struct Rows<'a, B: Backend> {
    problem: &'a Problem,
    backend: &'a B,
    parts: Vec<Part<B::Matrix>>,
}

/// The log marginal likelihood and its derivatives by the logarithms of the three prior variances and of the noise of each
/// task, and by the frequencies: D×P.
struct Slopes {
    value: f64,
    by_variance: [f64; 3],
    by_noise: Vec<f64>,
    by_frequency: Mat<f64>,
    /// What follows for new rows.
    fitted: Fitted,
}

/// Posterior means of the weights of [Φ, 1], and the variance of the noise of each task.
struct Fitted {
    basis: Basis,
    weights: Mat<f64>,
    noise: Vec<f64>,
}

impl<'a, B: Backend> Rows<'a, B> {
    /// For features of so many columns.
    pub(super) fn new(problem: &'a Problem, columns: usize, backend: &'a B) -> Rows<'a, B> {
        let (inputs, targets) = (problem.inputs.as_ref().as_ref(), problem.targets_with_gaps());
        let (rows, step) = (inputs.nrows(), backend.rows_at_once(ROWS, columns));
        let block = |start: usize| {
            let count = step.min(rows - start);
            let root = &problem.root[start..start + count];
            parts(backend, inputs.subrows(start, count), targets.as_ref().subrows(start, count), root)
        };
        let parts = (0..rows).step_by(step).flat_map(block).collect();
        Rows { problem, backend, parts }
    }

    /// Number of observed cells, by their weight.
    pub(super) fn cells(&self) -> f64 {
        self.problem.cells()
    }

    /// At the noise of each task, to which rounding is added; `None` where a system is singular to rounding.
    fn slopes(&self, kernel: &Kernel, draw: &Draw, own: &[f64]) -> Option<Slopes> {
        let backend = self.backend;
        let noise: Vec<f64> = own.iter().zip(&self.problem.rounding).map(|(own, rounding)| own + rounding).collect();
        let deviation: Vec<f64> = draw.precision(kernel).iter().map(|a| a.sqrt().recip()).collect();
        let lifted = Lifted { basis: draw.basis(kernel), draw, rows: self };
        let systems = lifted.systems();
        let whitened: Vec<Whitened<'_, B>> =
            systems.iter().map(|system| Whitened::new(backend, system, &deviation, self.problem.relative())).collect();
        let mut found = marginal(backend, &whitened, &noise, true)?;
        drop(whitened);
        let by_noise = found.by_noise.iter().zip(own).zip(&noise).map(|((by, own), noise)| by * own / noise).collect();
        let by_frequency = lifted.by_frequency(&systems, &mut found, &noise, &deviation);
        let by_variance = draw.by_family(&found.by_variance);
        let noise = noise.iter().zip(&found.amplitude).map(|(noise, amplitude)| noise * amplitude).collect();
        let mut weights = found.weights;
        scale_rows(&mut weights, &deviation);
        let fitted = Fitted { basis: lifted.basis, weights, noise };
        Some(Slopes { value: found.value, by_variance, by_noise, by_frequency, fitted })
    }

    /// Log density of these rows given weights and noise that were found on others, up to a constant: Student's t around the
    /// means, for which no single row decides.
    fn density(&self, Fitted { basis, weights, noise }: &Fitted) -> f64 {
        let (backend, mut features) = (self.backend, None);
        let mut total = 0.0;
        for part in &self.parts {
            let features = part.features(backend, basis, &mut features);
            let mut left = backend.zeros(part.rows, part.tasks.len());
            let weights = backend.put(select_columns(weights.as_ref(), &part.tasks).as_ref());
            backend.product(&mut left, Accumulate::Replace, Side::Plain(features), Side::Plain(&weights), 1.0);
            backend.residual(&part.targets, &mut left, &vec![1.0; part.tasks.len()]);
            let left = backend.get(&left);
            for (c, &task) in part.tasks.iter().enumerate() {
                let tail = |left: &f64| (FREEDOM + 1.0) * (left * left / (FREEDOM * noise[task])).ln_1p();
                let left = left.col_as_slice(c);
                total -= 0.5 * (left.iter().map(tail).sum::<f64>() + left.len() as f64 * noise[task].ln());
            }
        }
        total
    }
}

/// Log marginal likelihood plus log prior, as a function of the kernel and, if they may move, of the frequencies. The
/// variables are logarithms of the hyper-parameters and of the shared noise, then of each task's noise in units of the shared
/// one, then how far each unscaled frequency moves from where it was drawn, in units of its prior.
pub(super) struct Evidence<'a, B: Backend> {
    rows: &'a Rows<'a, B>,
    draw: &'a Draw,
    prior: HyperPrior,
    /// At the point that was asked for last.
    fitted: RefCell<Option<Fitted>>,
}

impl<'a, B: Backend> Evidence<'a, B> {
    pub(super) fn new(rows: &'a Rows<'a, B>, draw: &'a Draw) -> Evidence<'a, B> {
        let mut prior = HyperPrior::typical(rows.problem);
        if rows.problem.tasks() <= MOST_LEVELS {
            prior.mean.extend(vec![0.0; rows.problem.tasks()]);
            prior.width.extend(vec![NOISE_WIDTH; rows.problem.tasks()]);
        }
        Evidence { rows, draw, prior, fitted: RefCell::new(None) }
    }

    /// Number of variables of the kernel and of noise.
    pub(super) fn of_kernel(&self) -> usize {
        self.prior.mean.len()
    }

    /// Number of variables of the frequencies.
    pub(super) fn of_frequencies(&self) -> usize {
        self.draw.inputs() * self.draw.pairs()
    }

    /// Kernel, shared noise and noise of each task, without what rounding adds to it.
    pub(super) fn unpack(&self, at: &[f64]) -> (Kernel, f64, Vec<f64>) {
        with_tasks(&at[..self.of_kernel()], self.rows.problem, self.rows.problem.tasks())
    }

    /// The frequencies where they moved to.
    pub(super) fn moved(&self, at: &[f64]) -> Cow<'a, Draw> {
        match &at[self.of_kernel()..] {
            [] => Cow::Borrowed(self.draw),
            moves => Cow::Owned(self.draw.moved(moves, FREQUENCY_WIDTH)),
        }
    }

    /// Log density of other rows at the point that was asked for last, up to a constant.
    pub(super) fn density(&self, other: &Rows<'_, B>) -> f64 {
        self.fitted.borrow().as_ref().map_or(f64::NEG_INFINITY, |fitted| other.density(fitted))
    }

    /// The objective and its gradient; `None` where a system is singular to rounding. Without variables of the frequencies
    /// they are as drawn.
    pub(super) fn at(&self, at: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (problem, draw) = (self.rows.problem, self.moved(at));
        let (kernel, _, noise) = self.unpack(at);
        let found = self.rows.slopes(&kernel, &draw, &noise)?;
        *self.fitted.borrow_mut() = Some(found.fitted);
        let (of_kernel, moves) = at.split_at(self.of_kernel());
        let mut gradient = vec![0.0; of_kernel.len()];
        let value = found.value + self.prior.add_to(of_kernel, &mut gradient) - 0.5 * dot(moves, moves);
        gradient[VARIANCE..SCALE].iter_mut().zip(found.by_variance).for_each(|(g, by)| *g += by);
        let first = INPUT_SCALES + problem.input_count();
        for (c, slope) in found.by_noise.iter().enumerate() {
            gradient[NOISE] += slope;
            if let Some(g) = gradient.get_mut(first + c) {
                *g += slope;
            }
        }
        for d in 0..draw.inputs() {
            let along = |p: usize| draw.frequency(&kernel, d, p) * found.by_frequency[(d, p)];
            gradient[SCALE] += 0.5 * draw.family(0).map(along).sum::<f64>();
            let rough: f64 = draw.family(1).map(along).sum();
            gradient[SCALE + 1] += rough;
            gradient[INPUT_SCALES + problem.origin[d]] += rough;
        }
        let inputs = draw.inputs();
        gradient.extend(moves.iter().enumerate().map(|(k, u)| {
            let (d, p) = (k % inputs, k / inputs);
            found.by_frequency[(d, p)] * draw.unit(&kernel, d, p) * self.draw.width(d, p) * FREQUENCY_WIDTH - u
        }));
        Some((value, gradient))
    }
}

/// Kernel, shared noise and noise of each of so many tasks, from the variables of [`Evidence`] for the inputs of a problem.
pub(super) fn with_tasks(at: &[f64], problem: &Problem, tasks: usize) -> (Kernel, f64, Vec<f64>) {
    let own = INPUT_SCALES + problem.input_count();
    let (kernel, shared) = unpack(&at[..own], &problem.origin);
    let noise = |c: usize| shared * at.get(own + c).map_or(1.0, |offset| offset.exp());
    (kernel, shared, (0..tasks).map(noise).collect())
}

/// The features at one kernel, a block of rows at a time.
struct Lifted<'a, B: Backend> {
    basis: Basis,
    draw: &'a Draw,
    rows: &'a Rows<'a, B>,
}

impl<B: Backend> Lifted<'_, B> {
    fn systems(&self) -> Vec<System<B::Matrix>> {
        let Rows { problem, backend, parts } = self.rows;
        let (mut sums, mut features) = (Sums::new(self.draw.columns(), problem.tasks()), None);
        for part in parts {
            let features = part.features(*backend, &self.basis, &mut features);
            sums.add_rows(*backend, part, features);
        }
        sums.systems(*backend)
    }

    /// Derivative by each frequency: D×P. With G = ∂L/∂Ψ = −ΨΣB_c + Σ_c (y_c − Ψw_c)w_cᵀ/(a_cσ_c²), and Ψ = s cos A and
    /// s sin A for a pair, ∂L/∂A = −G_cos Ψ_sin + G_sin Ψ_cos.
    fn by_frequency(
        &self,
        systems: &[System<B::Matrix>],
        found: &mut Marginal<B::Matrix>,
        noise: &[f64],
        deviation: &[f64],
    ) -> Mat<f64> {
        let Rows { backend, parts, .. } = self.rows;
        found.inverse.iter_mut().for_each(|inverse| backend.fill_upper(inverse));
        let found = &*found;
        // Blocks side by side; their shares are added in order.
        let shares = backend.each(parts.len(), Default::default, |backend, places: &mut [Option<B::Matrix>; 3], i| {
            self.pulled(backend, &parts[i], places, (systems, found), noise, deviation)
        });
        let zero = Mat::zeros(self.draw.inputs(), self.draw.pairs());
        shares.into_iter().fold(zero, |total, share| total + share)
    }

    /// The share of one part of the rows.
    fn pulled(
        &self,
        backend: &B,
        part: &Part<B::Matrix>,
        [psi, g, pulled]: &mut [Option<B::Matrix>; 3],
        (systems, found): (&[System<B::Matrix>], &Marginal<B::Matrix>),
        noise: &[f64],
        deviation: &[f64],
    ) -> Mat<f64> {
        use Side::{Plain, Transposed};
        let (pairs, rows) = (self.draw.pairs(), part.rows);
        let psi = part.features(backend, &self.basis, psi);
        backend.scale_columns(psi, deviation);
        let weights = select_columns(found.weights.as_ref(), &part.tasks);
        let mut residual = backend.zeros(rows, part.tasks.len());
        let all = backend.put(weights.as_ref());
        backend.product(&mut residual, Accumulate::Replace, Plain(psi), Plain(&all), 1.0);
        let share: Vec<f64> = part.tasks.iter().map(|&task| 1.0 / (found.amplitude[task] * noise[task])).collect();
        backend.residual(&part.targets, &mut residual, &share);
        let g = backend.room(g, rows, 2 * pairs);
        let of_pairs = backend.put(weights.as_ref().subrows(0, 2 * pairs));
        backend.product(g, Accumulate::Replace, Plain(&residual), Transposed(&of_pairs), 1.0);
        for (system, inverse) in systems.iter().zip(&found.inverse) {
            if system.tasks.iter().all(|task| part.tasks.contains(task)) {
                backend.product(g, Accumulate::Add, Plain(psi), Plain(inverse), -1.0);
            }
        }
        let pulled = backend.room(pulled, rows, pairs);
        backend.pull(psi, g, pulled);
        let mut out = backend.zeros(self.draw.inputs(), pairs);
        backend.product(&mut out, Accumulate::Replace, Transposed(&part.inputs), Plain(pulled), 1.0);
        backend.get(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Host;
    use crate::drawn::tests::expect_gradient;
    use crate::kernel::learn::tests::eliminated;
    use crate::linalg::{Threads, multiply, scale_columns};
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

    fn somewhere(evidence: &Evidence<'_, Host>) -> Vec<f64> {
        evidence.prior.mean.iter().enumerate().map(|(i, s)| s + 0.4 * ((i * 3) as f64).sin()).collect()
    }

    #[test]
    fn gradients_equal_central_differences() {
        let draw = Draw::new(3, [4, 5], 3);
        let none = |_, _| false;
        let some = |n: usize, c: usize| c == 2 && n % 4 == 1;
        let many = |n: usize, c: usize| (n >> c) & 1 == 1;
        let gaps: [&dyn Fn(usize, usize) -> bool; 3] = [&none, &some, &many];
        for (weighted, gap) in [(false, gaps[0]), (true, gaps[0]), (true, gaps[1]), (true, gaps[2])] {
            let problem = problem(weighted, gap);
            let rows = Rows::new(&problem, draw.columns(), &Host(Threads::ONE));
            let evidence = Evidence::new(&rows, &draw);
            let mut at = somewhere(&evidence);
            expect_gradient(&at, |at| evidence.at(at).unwrap());
            at.extend((0..evidence.of_frequencies()).map(|i| 0.5 * ((i * 7) as f64).sin()));
            expect_gradient(&at, |at| evidence.at(at).unwrap());
        }
    }

    /// Many tasks share their noise; frequencies that stay have the likelihood of the kernel alone.
    #[test]
    fn many_tasks_and_frequencies_that_stay() {
        let x = Mat::from_fn(20, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
        let y = Mat::from_fn(20, 9, |n, c| ((n * 3 + c) as f64).cos());
        let problem = Problem::new(x, y, None).knowing(&[], vec![0.0; 9]);
        let draw = Draw::new(2, [3, 2], 1);
        let rows = Rows::new(&problem, draw.columns(), &Host(Threads::ONE));
        let evidence = Evidence::new(&rows, &draw);
        let mut at = somewhere(&evidence);
        assert_eq!(at.len(), INPUT_SCALES + 2);
        let alone = evidence.at(&at).unwrap().0;
        at.extend(vec![0.0; evidence.of_frequencies()]);
        let stays = evidence.at(&at).unwrap().0;
        assert!((alone - stays).abs() < 1e-9 * alone.abs(), "{alone} {stays}");
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
        let rows = Rows::new(&problem, draw.columns(), &Host(Threads::ONE));
        let evidence = Evidence::new(&rows, &draw);
        let at = somewhere(&evidence);
        let (kernel, _, noise) = evidence.unpack(&at);
        let mut psi = draw.basis(&kernel).features_and_one(x.as_ref());
        let precision = draw.precision(&kernel);
        scale_columns(&mut psi, |j| precision[j].sqrt().recip());
        let full = multiply(psi.as_ref(), psi.as_ref().transpose(), Threads::ONE);
        let mut expected = 0.0;
        for c in 0..2 {
            let repeated: Vec<usize> =
                (0..9).filter(|&n| !missing(n, c)).flat_map(|n| std::iter::repeat_n(n, weights[n] as usize)).collect();
            let (size, noise) = (repeated.len(), noise[c] + problem.rounding[c]);
            let k =
                Mat::from_fn(size, size, |i, j| full[(repeated[i], repeated[j])] + if i == j { noise } else { 0.0 });
            let (ln_det, energy) = eliminated(k, repeated.iter().map(|&n| y[(n, c)]).collect());
            let amplitude = energy / size as f64;
            expected -= 0.5 * (ln_det + size as f64 * (amplitude * TAU).ln() + energy / amplitude);
        }
        expected += evidence.prior.add_to(&at, &mut vec![0.0; at.len()]);
        let (value, _) = evidence.at(&at).unwrap();
        assert!((value - expected).abs() < 1e-8, "{value} {expected}");
    }
}
