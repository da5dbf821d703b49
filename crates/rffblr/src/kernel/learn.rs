//! Learning the kernel by type-II MAP: log marginal likelihood plus log prior, its gradient, and its maximisation by
//! L-BFGS (equations 25 and 26).

use super::ascent::{Curvature, End, Ground, Start, Summit, Tolerance, climb_informed};
use super::hyper::{HyperPrior, INPUT_SCALES, NOISE, RANGE, SCALE, VARIANCE, pack, unpack};
use super::information::Information;
use super::pairs::{self, Distance, pull};
use super::{Kernel, cell};
use crate::error::{Error, Result};
use crate::linalg::{Accumulate, Cholesky, Mat, Threads, dot, map_lower, outer, scaled_outer};
use crate::problem::Problem;
use std::f64::consts::TAU;
use std::ops::ControlFlow;

/// The search ends when a step gains less than this: in nats, or as a share of the objective.
const TOLERANCE: Tolerance = Tolerance { gain: 0.1, of_value: 1e-5, of_climb: 0.0 };
/// A learned kernel.
pub(crate) struct Learned {
    pub(crate) kernel: Kernel,
    /// σ², one for all tasks.
    pub(crate) noise: f64,
    /// Minus its log prior without constants: half the squared distance from the prior mean in prior deviations.
    pub(crate) surprise: f64,
    /// Whether the search converged.
    pub(crate) converged: bool,
    /// Whether `watch` stopped it.
    pub(crate) asked: bool,
    /// Curvature of the objective around there, for each observed cell.
    curvature: Curvature,
}

impl Learned {
    /// A kernel and noise that were learned elsewhere.
    pub(crate) fn at(kernel: Kernel, noise: f64) -> Learned {
        Learned { kernel, noise, surprise: 0.0, converged: true, asked: false, curvature: Curvature::default() }
    }
}

/// Prior of the hyper-parameters.
#[derive(Clone, Copy)]
pub(crate) enum Prior<'a> {
    /// Values that are typical of standardised data.
    Typical,
    /// The kernel of all tasks, for one that may depart from it: by a factor of e in each parameter.
    Around(&'a Learned),
}

/// Learns from standardised data, starting where an earlier search ended if there was one, in at most so many steps, or
/// until a step gains less than a share of what all have gained. `watch` sees every step: kernel, noise, and the objective.
pub(crate) fn learn(
    problem: &Problem,
    prior: Prior<'_>,
    earlier: Option<&Learned>,
    (steps, of_climb): (usize, f64),
    threads: Threads,
    mut watch: impl FnMut(&Kernel, f64, f64) -> ControlFlow<()>,
) -> Result<Learned> {
    let mut evidence = Evidence::new(problem, threads);
    if let Prior::Around(centre) = prior {
        evidence.prior.mean = pack(centre, &problem.origin);
        evidence.prior.width.fill(1.0);
    }
    let cells = problem.cells().max(1.0);
    let start = match earlier {
        None => evidence.prior.start().into(),
        Some(earlier) => {
            Start { at: pack(earlier, &problem.origin), curvature: earlier.curvature.clone().times(cells) }
        }
    };
    let typical_noise = evidence.prior.mean[NOISE].exp();
    let show = |at: &[f64], value: f64| {
        let (kernel, noise) = unpack(at, &problem.origin);
        watch(&kernel, noise, value)
    };
    let ground = |at: &[f64], informed: bool| evidence.ground(at, informed);
    let found = climb_informed(start, RANGE, steps, Tolerance { of_climb, ..TOLERANCE }, ground, show);
    let Summit { at, end, curvature, .. } =
        found.ok_or(Error::Singular { size: problem.inputs.nrows(), noise: typical_noise })?;
    let (kernel, noise) = unpack(&at, &problem.origin);
    let surprise = -evidence.prior.add_to(&at, &mut vec![0.0; at.len()]);
    let (converged, asked, curvature) = (end == End::Top, end == End::Asked, curvature.times(cells.recip()));
    Ok(Learned { kernel, noise, surprise, converged, asked, curvature })
}

/// The objective, log marginal likelihood plus log prior, as a function of the logarithms.
struct Evidence<'a> {
    problem: &'a Problem,
    prior: HyperPrior,
    threads: Threads,
    tables: Tables,
    /// Derivative of the log marginal likelihood by each kernel entry.
    slope: Mat<f64>,
    /// For a factor and its inverse.
    memory: [Mat<f64>; 2],
}

/// The kernel between training rows and what it is made of: lower triangles. They are overwritten at every point, because
/// allocating this much memory takes as long as computing them.
struct Tables {
    /// XXᵀ and Σ Δ_d², which do not change.
    products: Mat<f64>,
    square: Mat<f64>,
    /// Each exp(…) alone.
    rbf: Mat<f64>,
    laplace_l1: Mat<f64>,
    /// κ.
    gram: Mat<f64>,
}

impl Tables {
    fn new(x: &Mat<f64>, threads: Threads) -> Tables {
        let empty = || Mat::zeros(x.nrows(), x.nrows());
        let (mut products, mut square) = (empty(), empty());
        outer(products.as_mut(), Accumulate::Replace, x.as_ref(), threads);
        pairs::within(x, Distance::Square, &vec![1.0; x.ncols()], &mut square, threads);
        Tables { products, square, rbf: empty(), laplace_l1: empty(), gram: empty() }
    }

    fn set(&mut self, kernel: &Kernel, x: &Mat<f64>, threads: Threads) {
        let Tables { products, square, rbf, laplace_l1, gram } = self;
        map_lower([gram, rbf, laplace_l1], cell(x.ncols()), threads, |j, [gram, rbf, laplace_l1]| {
            gram.copy_from_slice(&products.col_as_slice(j)[j..]);
            rbf.copy_from_slice(&square.col_as_slice(j)[j..]);
            let absolute = Distance::Absolute;
            pairs::distances_to((x, j), (x.as_ref(), j), absolute, &kernel.input_scales, laplace_l1);
            kernel.column(gram, rbf, laplace_l1);
        });
    }
}

impl<'a> Evidence<'a> {
    fn new(problem: &'a Problem, threads: Threads) -> Self {
        let x = &problem.inputs;
        let (slope, memory) = (Mat::zeros(x.nrows(), x.nrows()), [Mat::new(), Mat::new()]);
        let (prior, tables) = (HyperPrior::typical(problem), Tables::new(x, threads));
        Evidence { problem, prior, threads, tables, slope, memory }
    }

    /// The objective, its gradient and, if it is wanted and cheap, its information; `None` where the Gram matrix is singular to
    /// rounding.
    fn ground(&mut self, at: &[f64], informed: bool) -> Option<Ground> {
        let (kernel, noise) = unpack(at, &self.problem.origin);
        self.tables.set(&kernel, &self.problem.inputs, self.threads);
        let mut information = (informed && Information::is_cheap(self.problem)).then(|| Information::new(&self.prior));
        let (mut value, noise_slope) = self.likelihood(noise, information.as_mut().map(|found| (found, &kernel)))?;
        let mut gradient = self.chain(&kernel);
        gradient[NOISE] = noise_slope;
        value += self.prior.add_to(at, &mut gradient);
        Some(Ground { value, gradient, information: information.map(Information::matrix) })
    }

    /// ln p(Y) and its derivative by ln σ², to which rounding adds; the derivative by each kernel entry goes to
    /// `self.slope` (lower triangle; an entry off the diagonal stands for two).
    fn likelihood(&mut self, own: f64, mut informed: Option<(&mut Information, &Kernel)>) -> Option<(f64, f64)> {
        let (mut value, mut noise_slope) = (0.0, 0.0);
        for j in 0..self.slope.ncols() {
            self.slope.col_as_slice_mut(j)[j..].fill(0.0);
        }
        // A task may be observed in none of the selected rows.
        for group in self.problem.groups.iter().filter(|group| !group.root.is_empty()) {
            let noise = own + group.rounding(self.problem);
            let memory = std::mem::replace(&mut self.memory, [Mat::new(), Mat::new()]);
            let [for_factor, for_inverse] = memory.map(|memory| sized(memory, group.root.len()));
            let gram = (&self.tables.gram, group.rows.as_deref());
            let factor = factorised_in(for_factor, gram, &group.root, noise, self.threads)?;
            let (count, tasks) = (group.root.len(), group.tasks.len() as f64);
            let mut solved = group.targets.clone();
            factor.half_solve(solved.as_mut());
            factor.half_solve_transposed(solved.as_mut());
            let mass = group.count;
            value -= 0.5 * tasks * (factor.ln_det() + mass * TAU.ln() + (mass - count as f64) * noise.ln());
            for c in 0..solved.ncols() {
                value -= 0.5 * dot(solved.col_as_slice(c), group.targets.col_as_slice(c));
            }
            if let Some((information, kernel)) = &mut informed {
                let Tables { products, square, rbf, laplace_l1, .. } = &self.tables;
                let tables = [products, square, rbf, laplace_l1];
                information.add((self.problem, group), kernel, tables, (&factor, &solved), own, self.threads);
            }
            // K′⁻¹ − BBᵀ/C in the place of the inverse.
            let (mut left, half) = factor.into_inverse_with(for_inverse);
            scaled_outer(left.as_mut(), Accumulate::Add, solved.as_ref(), -1.0 / tasks, self.threads);
            noise_slope -= 0.5 * tasks * own * (0..count).map(|i| left[(i, i)]).sum::<f64>();
            noise_slope -= 0.5 * tasks * (mass - count as f64) * own / noise;
            match &group.rows {
                None => {
                    _ = map_lower([&mut self.slope], 16, self.threads, |j, [to]| {
                        let (from, u) = (left.col_as_slice(j)[j..].iter(), -tasks * group.root[j]);
                        to.iter_mut().zip(from).zip(&group.root[j..]).for_each(|((to, from), v)| *to += from * u * v);
                    })
                }
                Some(rows) => {
                    for j in 0..count {
                        let (to, u) = (self.slope.col_as_slice_mut(rows[j]), -tasks * group.root[j]);
                        for ((&row, from), v) in rows[j..].iter().zip(&left.col_as_slice(j)[j..]).zip(&group.root[j..])
                        {
                            to[row] += from * u * v;
                        }
                    }
                }
            }
            self.memory = [left, half];
        }
        for j in 0..self.slope.ncols() {
            self.slope[(j, j)] *= 0.5;
        }
        Some((value, noise_slope))
    }

    /// From the derivative by each kernel entry to the derivative by each logarithm.
    fn chain(&mut self, kernel: &Kernel) -> Vec<f64> {
        let (tables, slope, x) = (&mut self.tables, &self.slope, &self.problem.inputs);
        let mut gradient = vec![0.0; self.prior.mean.len()];
        let (products, square, rbf) = (&tables.products, &tables.square, &tables.rbf);
        let columns = map_lower([&mut tables.laplace_l1], 16, self.threads, |j, [laplace_l1]| {
            let below = |from| lower_column(from, j);
            pairs::weigh(below(slope), below(products), below(rbf), below(square), laplace_l1)
        });
        let sum = |k: usize| columns.iter().map(|sums| sums[k]).sum::<f64>();
        let (rbf, laplace_l1) = (kernel.rbf, kernel.laplace_l1);
        gradient[VARIANCE] = kernel.linear / x.ncols() as f64 * sum(0);
        gradient[VARIANCE + 1] = rbf.variance * sum(1);
        gradient[SCALE] = -rbf.bandwidth * rbf.variance * sum(2);
        gradient[VARIANCE + 2] = laplace_l1.variance * sum(3);
        // ∂ Σ r|Δ| / ∂ ln r_d = r_d |Δ_d|; all of these together are the derivative by ln γ.
        let pulled = pull(x, &tables.laplace_l1, self.threads);
        for ((input, pulled), r) in self.problem.origin.iter().zip(pulled).zip(&kernel.input_scales) {
            let slope = laplace_l1.bandwidth * laplace_l1.variance * r * pulled;
            gradient[INPUT_SCALES + input] -= slope;
            gradient[SCALE + 1] -= slope;
        }
        gradient
    }
}

/// A column from its diagonal on.
fn lower_column(from: &Mat<f64>, j: usize) -> &[f64] {
    &from.col_as_slice(j)[j..]
}

/// The factor of u K uᵀ + σ²I over the given rows of the Gram matrix (lower triangle).
#[cfg(test)]
pub(super) fn factorised(
    gram: &Mat<f64>,
    rows: Option<&[usize]>,
    root: &[f64],
    noise: f64,
    threads: Threads,
) -> Option<Cholesky> {
    factorised_in(Mat::zeros(root.len(), root.len()), (gram, rows), root, noise, threads)
}

/// A square matrix of this size, which may have any values: the given one if it fits.
pub(crate) fn sized(memory: Mat<f64>, size: usize) -> Mat<f64> {
    if memory.nrows() == size { memory } else { Mat::zeros(size, size) }
}

/// The factor of u K uᵀ + σ²I over the given rows of the Gram matrix (lower triangle), in the place of another matrix.
pub(crate) fn factorised_in(
    mut k: Mat<f64>,
    (gram, rows): (&Mat<f64>, Option<&[usize]>),
    root: &[f64],
    noise: f64,
    threads: Threads,
) -> Option<Cholesky> {
    for j in 0..root.len() {
        let (to, u) = (&mut k.col_as_slice_mut(j)[j..], root[j]);
        match rows {
            None => {
                let from = gram.col_as_slice(j)[j..].iter().zip(&root[j..]);
                to.iter_mut().zip(from).for_each(|(to, (from, v))| *to = from * u * v);
            }
            Some(rows) => {
                let from = gram.col_as_slice(rows[j]);
                for ((to, &row), v) in to.iter_mut().zip(&rows[j..]).zip(&root[j..]) {
                    *to = from[row] * u * v;
                }
            }
        }
        to[0] += noise;
    }
    Cholesky::new(k, threads)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// ln |K| and zᵀK⁻¹z by elimination.
    pub(crate) fn eliminated(mut k: Mat<f64>, mut z: Vec<f64>) -> (f64, f64) {
        let (mut ln_det, mut energy) = (0.0, 0.0);
        for p in 0..z.len() {
            ln_det += k[(p, p)].ln();
            energy += z[p] * z[p] / k[(p, p)];
            for i in p + 1..z.len() {
                let share = k[(i, p)] / k[(p, p)];
                for j in p..z.len() {
                    let v = k[(p, j)];
                    k[(i, j)] -= share * v;
                }
                z[i] -= share * z[p];
            }
        }
        (ln_det, energy)
    }

    /// Three tasks, the last with gaps; weights 1, 2 and 0.5.
    fn problem(weighted: bool, gaps: bool) -> Problem {
        let x = Mat::from_fn(14, 3, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
        let y = Mat::from_fn(14, 3, |n, c| {
            let missing = gaps && c == 2 && n % 4 == 1;
            if missing { f64::NAN } else { (2.0 * x[(n, c)]).sin() + 0.1 * ((n * 7 + c) as f64).cos() }
        });
        let weights: Vec<f64> = (0..14).map(|n| [1.0, 2.0, 0.5][n % 3]).collect();
        // The last two columns are one text, the second target is rounded.
        let text = 1..3;
        Problem::new(x, y, weighted.then_some(&weights)).knowing(std::slice::from_ref(&text), vec![0.0, 0.07, 0.0])
    }

    impl Evidence<'_> {
        fn at(&mut self, at: &[f64]) -> Option<(f64, Vec<f64>)> {
            self.ground(at, false).map(|ground| (ground.value, ground.gradient))
        }
    }

    fn somewhere(evidence: &Evidence<'_>) -> Vec<f64> {
        evidence.prior.start().iter().enumerate().map(|(i, s)| s + 0.3 * ((i * 3) as f64).sin()).collect()
    }

    #[test]
    fn the_gradient_equals_central_differences() {
        for (weighted, gaps) in [(false, false), (true, false), (true, true)] {
            let problem = problem(weighted, gaps);
            let mut evidence = Evidence::new(&problem, Threads::ONE);
            let at = somewhere(&evidence);
            let (_, gradient) = evidence.at(&at).unwrap();
            for i in 0..at.len() {
                let mut shifted = |by: f64| {
                    let mut moved = at.clone();
                    moved[i] += by;
                    evidence.at(&moved).unwrap().0
                };
                let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                assert!((slope - gradient[i]).abs() < 1e-6 * slope.abs().max(1.0), "{i}: {slope} {}", gradient[i]);
            }
        }
    }

    /// Σ_c ln N(y_c | 0, K + σ²I) by elimination over the observed rows, each repeated as often as its weight says.
    #[test]
    fn the_value_is_the_gaussian_log_density_of_the_repeated_rows() {
        let x = Mat::from_fn(8, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
        let missing = |n: usize, c: usize| c == 1 && n == 3;
        let y = Mat::from_fn(8, 2, |n, c| if missing(n, c) { f64::NAN } else { ((n * 3 + c) as f64).cos() });
        let weights: Vec<f64> = (0..8).map(|n| (n % 3) as f64).collect();
        let problem = Problem::new(x.clone(), y.clone(), Some(&weights)).knowing(&[], vec![0.0, 0.03]);
        let mut evidence = Evidence::new(&problem, Threads::ONE);
        let at = somewhere(&evidence);
        let (kernel, noise) = unpack(&at, &problem.origin);
        let full = kernel.cross(&x, x.as_ref(), Threads::ONE);
        let mut expected = 0.0;
        for c in 0..2 {
            let rows: Vec<usize> =
                (0..8).filter(|&n| !missing(n, c)).flat_map(|n| std::iter::repeat_n(n, weights[n] as usize)).collect();
            let (size, noise) = (rows.len(), noise + problem.rounding[c]);
            let k = Mat::from_fn(size, size, |i, j| full[(rows[i], rows[j])] + if i == j { noise } else { 0.0 });
            let (ln_det, energy) = eliminated(k, rows.iter().map(|&n| y[(n, c)]).collect());
            expected -= 0.5 * (ln_det + energy + size as f64 * TAU.ln());
        }
        for (i, (at, typical)) in at.iter().zip(&evidence.prior.mean).enumerate() {
            let width = [3.0, 3.0, 3.0, 1.0, 1.0, 0.7, 0.7, 0.7][i];
            expected -= 0.5 * ((at - typical) / width).powi(2);
        }
        let (value, _) = evidence.at(&at).unwrap();
        assert!((value - expected).abs() < 1e-9, "{value} {expected}");
    }

    /// ½ Σ_c b_cᵀ K_i K⁻¹ K_j b_c with the derivatives of K by central differences and elimination for K⁻¹.
    #[test]
    fn the_information_is_that_of_central_differences() {
        for (weighted, gaps) in [(false, false), (true, true)] {
            let problem = problem(weighted, gaps);
            let mut evidence = Evidence::new(&problem, Threads::ONE);
            let at = somewhere(&evidence);
            let (kernel, noise) = unpack(&at, &problem.origin);
            evidence.tables.set(&kernel, &problem.inputs, Threads::ONE);
            let mut found = Information::new(&evidence.prior);
            evidence.likelihood(noise, Some((&mut found, &kernel))).unwrap();
            let found = found.matrix();
            let mut expected = Mat::<f64>::zeros(at.len(), at.len());
            for group in &problem.groups {
                let all: Vec<usize> = (0..14).collect();
                let rows = group.rows.as_ref().unwrap_or(&all);
                let (count, rounding) = (rows.len(), group.rounding(&problem));
                let covariance = |at: &[f64]| {
                    let (kernel, noise) = unpack(at, &problem.origin);
                    let x: &Mat<f64> = &problem.inputs;
                    let full = kernel.cross(x, x.as_ref(), Threads::ONE);
                    Mat::from_fn(count, count, |i, j| {
                        let signal = full[(rows[i], rows[j])] * group.root[i] * group.root[j];
                        signal + if i == j { noise + rounding } else { 0.0 }
                    })
                };
                let derivative = |i: usize| {
                    let shifted = |by: f64| {
                        let mut moved = at.clone();
                        moved[i] += by;
                        covariance(&moved)
                    };
                    let (above, below) = (shifted(1e-5), shifted(-1e-5));
                    Mat::from_fn(count, count, |k, l| (above[(k, l)] - below[(k, l)]) / 2e-5)
                };
                let derivatives: Vec<Mat<f64>> = (0..at.len()).map(derivative).collect();
                let k = covariance(&at);
                // aᵀK⁻¹c by polarisation of the energies that elimination gives.
                let energy = |z: Vec<f64>| eliminated(k.clone(), z).1;
                let both = |a: &[f64], c: &[f64]| {
                    let mixed = |sign: f64| a.iter().zip(c).map(|(a, c)| a + sign * c).collect();
                    0.25 * (energy(mixed(1.0)) - energy(mixed(-1.0)))
                };
                for c in 0..group.tasks.len() {
                    let y = group.targets.col_as_slice(c);
                    let unit = |i: usize| (0..count).map(|k| f64::from(u8::from(k == i))).collect::<Vec<f64>>();
                    let b: Vec<f64> = (0..count).map(|i| both(&unit(i), y)).collect();
                    let turned = |m: &Mat<f64>| -> Vec<f64> {
                        (0..count).map(|i| (0..count).map(|j| m[(i, j)] * b[j]).sum()).collect()
                    };
                    let turned: Vec<Vec<f64>> = derivatives.iter().map(turned).collect();
                    for i in 0..at.len() {
                        for j in 0..at.len() {
                            expected[(i, j)] += 0.5 * both(&turned[i], &turned[j]);
                        }
                    }
                }
            }
            for i in 0..at.len() {
                expected[(i, i)] += evidence.prior.width[i].powi(-2);
                for j in 0..at.len() {
                    let (found, expected) = (found[(i, j)], expected[(i, j)]);
                    assert!((found - expected).abs() < 1e-5 * expected.abs().max(1.0), "{i} {j}: {found} {expected}");
                }
            }
        }
    }

    /// The top is the same, and there are fewer steps on the way.
    #[test]
    fn information_saves_steps() {
        let x = Mat::from_fn(160, 3, |n, d| ((n * (3 + 2 * d)) as f64 * 0.77 + d as f64).sin() * 1.4);
        let y = Mat::from_fn(160, 1, |n, _| (2.0 * x[(n, 1)]).sin() + x[(n, 0)] + 0.2 * ((n * n) as f64).cos());
        let problem = Problem::new(x, y, None);
        assert!(Information::is_cheap(&problem));
        let run = |informed: bool| {
            let (mut evidence, mut calls) = (Evidence::new(&problem, Threads::ONE), 0);
            let start = evidence.prior.start();
            let ground = |at: &[f64], wanted: bool| {
                calls += 1;
                evidence.ground(at, wanted && informed)
            };
            let on = |_: &[f64], _: f64| ControlFlow::Continue(());
            let top = climb_informed(start, RANGE, 200, TOLERANCE, ground, on).unwrap();
            assert_eq!(top.end, End::Top);
            (calls, top.value)
        };
        let (with, without) = (run(true), run(false));
        assert!(with.1 > without.1 - 0.1 && with.0 < without.0, "{with:?} {without:?}");
    }

    #[test]
    fn a_climb_goes_on_where_another_ended() {
        let problem = problem(true, true);
        let on = |_: &Kernel, _: f64, _: f64| ControlFlow::Continue(());
        let whole = learn(&problem, Prior::Typical, None, (40, 0.0), Threads::ONE, on).unwrap();
        let again = unpack(&pack(&whole, &problem.origin), &problem.origin);
        assert!((again.1 / whole.noise - 1.0).abs() < 1e-12);
        assert!(
            again.0.input_scales[1] == again.0.input_scales[2] && again.0.input_scales[0] != again.0.input_scales[1]
        );
        assert!((again.0.laplace_l1.variance / whole.kernel.laplace_l1.variance - 1.0).abs() < 1e-12);
        let half = learn(&problem, Prior::Typical, None, (4, 0.0), Threads::ONE, on).unwrap();
        let mut evidence = Evidence::new(&problem, Threads::ONE);
        let mut value = |l: &Learned| evidence.at(&pack(l, &problem.origin)).unwrap().0;
        let rest = learn(&problem, Prior::Typical, Some(&half), (40, 0.0), Threads::ONE, on).unwrap();
        assert!(value(&rest) > value(&half));
    }

    #[test]
    fn input_scales_find_the_input_that_matters() {
        let x = Mat::from_fn(60, 4, |n, d| ((n * (3 + 2 * d)) as f64 * 0.77 + d as f64).sin() * 1.4);
        let y = Mat::from_fn(60, 1, |n, _| (2.5 * x[(n, 1)]).sin().signum());
        let problem = Problem::new(x, y, None);
        let found = learn(&problem, Prior::Typical, None, (60, 0.0), Threads::ONE, |_, _, _| ControlFlow::Continue(()))
            .unwrap();
        let r = &found.kernel.input_scales;
        assert!([0, 2, 3].iter().all(|&d| r[1] > 3.0 * r[d]), "{r:?}");
    }
}
