//! The oracles: numbers of an independent implementation, brute-force linear algebra, finite differences, the
//! proximal S-step of the paper's problem, and limits.

use super::kernel::{Kernel, Scaling};
use super::solver::{Limits, Penalties, Rotated, Structure};
use super::{Prepared, points, scan};

use crate::golden::{golden, matrix};
use crate::select::Grid;
use rffblr::data::{Dataset, Standardiser};
use rffblr::internals::{Cholesky, Spectral, multiply};
use rffblr::linalg::{Mat, Threads};

const TIGHT: Limits = Limits { tolerance: 1e-13, sweeps: 5000 };

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs().max(1.0), "{what}: {found}, expected {expected}");
}

fn close_tables(what: &str, found: &Mat<f64>, expected: &Mat<f64>, tolerance: f64) {
    assert_eq!(found.shape(), expected.shape(), "{what}");
    for j in 0..found.ncols() {
        for i in 0..found.nrows() {
            close(&format!("{what}[{i},{j}]"), found[(i, j)], expected[(i, j)], tolerance);
        }
    }
}

fn times(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    multiply(a.as_ref(), b.as_ref(), Threads::ONE)
}

fn transposed(a: &Mat<f64>) -> Mat<f64> {
    a.transpose().to_owned()
}

/// Singular values and both sets of vectors through SᵀS; for matrices of full rank.
fn svd(s: &Mat<f64>) -> (Mat<f64>, Vec<f64>, Mat<f64>) {
    let Spectral { values, vectors } = Spectral::new(times(&transposed(s), s)).unwrap();
    let singular: Vec<f64> = values.iter().map(|v| v.sqrt()).collect();
    let mut left = times(s, &vectors);
    rffblr::internals::scale_columns(&mut left, |i| 1.0 / singular[i]);
    (left, singular, vectors)
}

/// A problem as the definitions see it: samples are columns.
struct Plain {
    /// C×N.
    y: Mat<f64>,
    k: Mat<f64>,
    penalties: Penalties,
}

impl Plain {
    /// N = 9 rows in the plane with three correlated tasks.
    fn example(penalties: Penalties) -> Plain {
        let x = Mat::from_fn(9, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
        let k = Mat::from_fn(9, 9, |i, j| (-(0..2).map(|d| (x[(i, d)] - x[(j, d)]).powi(2)).sum::<f64>()).exp());
        let y = Mat::from_fn(3, 9, |c, n| {
            (2.0 * x[(n, 0)]).sin() + (c as f64 - 0.7) * x[(n, 1)] + 0.2 * ((n * 7 + c * c) as f64).cos()
        });
        Plain { y, k, penalties }
    }

    fn rows(&self) -> f64 {
        self.y.ncols() as f64
    }

    fn rotated(&self) -> (Rotated, Mat<f64>) {
        let Spectral { values, vectors } = Spectral::new(self.k.clone()).unwrap();
        let targets = times(&transposed(&vectors), &transposed(&self.y));
        (Rotated::new(values, targets), vectors)
    }

    /// J by its definition.
    fn objective(&self, a: &Mat<f64>, s: &Mat<f64>) -> f64 {
        let ak = times(a, &self.k);
        let fit = times(s, &ak);
        let mut loss = 0.0;
        for n in 0..self.y.ncols() {
            for c in 0..self.y.nrows() {
                loss += (self.y[(c, n)] - fit[(c, n)]).powi(2) / self.rows();
            }
            loss += (0..a.nrows()).map(|i| self.penalties.latent * ak[(i, n)] * a[(i, n)]).sum::<f64>();
        }
        let squares = Spectral::new(times(&transposed(s), s)).unwrap().values;
        loss + squares.iter().map(|v| self.penalties.trace * v.sqrt() + self.penalties.square * v).sum::<f64>()
    }

    /// The exact A of a full-rank S, by the code under test.
    fn latent(&self, s: &Mat<f64>) -> Mat<f64> {
        let (rotated, q) = self.rotated();
        let (left, singular, right) = svd(s);
        let projected = times(&rotated.targets, &left);
        let state = rotated.structure(left, singular, projected, &self.penalties);
        let a = rotated.latent(&state, &self.penalties);
        times(&right, &times(&transposed(&a), &transposed(&q)))
    }

    /// G and P of the S-step.
    fn statistics(&self, a: &Mat<f64>) -> (Mat<f64>, Mat<f64>) {
        let z = times(a, &self.k);
        (times(&z, &transposed(&z)), times(&self.y, &transposed(&z)))
    }

    /// The S-step of the specification: proximal gradient steps with soft-thresholded singular values.
    fn proximal(&self, a: &Mat<f64>, s: &Mat<f64>, steps: usize) -> Mat<f64> {
        let (g, p) = self.statistics(a);
        let largest = Spectral::new(g.clone()).unwrap().values.last().copied().unwrap();
        if largest == 0.0 {
            return Mat::zeros(s.nrows(), s.ncols());
        }
        let t = self.rows() / (2.0 * largest);
        let mut s = s.clone();
        for _ in 0..steps {
            let sg = times(&s, &g);
            let moved =
                Mat::from_fn(s.nrows(), s.ncols(), |i, j| s[(i, j)] - t * 2.0 / self.rows() * (sg[(i, j)] - p[(i, j)]));
            // M V diag(f) Vᵀ is M with its singular values σ multiplied by f(σ).
            let Spectral { values, vectors } = Spectral::new(times(&transposed(&moved), &moved)).unwrap();
            let kept = |square: f64| (1.0 - t * self.penalties.trace / square.sqrt().max(1e-300)).max(0.0);
            let mut shrunk = vectors.clone();
            rffblr::internals::scale_columns(&mut shrunk, |i| {
                kept(values[i]) / (1.0 + 2.0 * t * self.penalties.square)
            });
            s = times(&times(&moved, &shrunk), &transposed(&vectors));
        }
        s
    }
}

fn penalties(latent: f64, trace: f64, square: f64) -> Penalties {
    Penalties { latent, trace, square }
}

/// S with V dropped.
fn matrix_of(state: &Structure) -> Mat<f64> {
    let mut s = state.directions.clone();
    rffblr::internals::scale_columns(&mut s, |i| state.singular[i]);
    s
}

fn some_structure() -> Mat<f64> {
    Mat::from_fn(3, 3, |i, j| ((i * 5 + j * 2) as f64).sin() + if i == j { 1.5 } else { 0.0 })
}

#[test]
fn every_number_of_the_golden_file() {
    let case = golden("mmr.json");
    let number = |name: &str| case[name].as_f64().unwrap();
    let table = |name: &str| matrix(&case[name]);
    let problem =
        Plain { y: table("Y"), k: table("K"), penalties: penalties(number("lam"), number("beta"), number("gamma")) };
    let scale = Standardiser::new(table("X").as_ref(), None);
    let standardised = |name: &str| scale.apply(table(name).as_ref(), &[]).unwrap();
    let (kernel, k) = Kernel::new(standardised("X"), &scale.scale, Scaling::Raw);
    for j in 0..15 {
        for i in j..15 {
            close("kernel", k[(i, j)], problem.k[(i, j)], 1e-12);
        }
    }
    close("J of given A and S", problem.objective(&table("A_given"), &table("S_given")), number("J_given"), 1e-12);
    let (rotated, q) = problem.rotated();
    let start = rotated.start(&problem.penalties);
    close("J at S = I", start.objective, number("J_init_SI"), 1e-12);
    let a = transposed(&times(&q, &rotated.latent(&start, &problem.penalties)));
    close_tables("A at S = I", &a, &table("A_SI"), 1e-9);
    let first = problem.proximal(&a, &Mat::identity(4, 4), 50);
    close("J after 50 proximal steps", problem.objective(&a, &first), number("J_after_first_S"), 1e-12);

    let end = rotated.solve(problem.penalties, TIGHT);
    close("J", end.objective, number("J_final"), 1e-10);
    close("J by gradient descent", end.objective, number("J_final_grad"), 1e-10);
    let (_, singular, _) = svd(&table("S_final"));
    for (found, expected) in end.singular.iter().rev().zip(singular.iter().rev()) {
        close("singular value of S", *found, *expected, 1e-5);
    }
    // Rotations of S and A cancel in SA. The fixture stopped at a change of 1e-12 in J, hence 1e-5 in SA.
    let coefficients = times(&q, &rotated.coefficients(&end, &problem.penalties));
    close_tables("SA", &transposed(&coefficients), &table("F_final"), 1e-4);
    let new = kernel.against(standardised("Xtest"));
    close_tables("prediction", &times(&new, &coefficients), &table("pred"), 1e-5);
}

#[test]
fn with_the_identity_it_is_kernel_ridge() {
    let problem = Plain::example(penalties(0.01, 0.1, 0.1));
    let a = problem.latent(&Mat::identity(3, 3));
    // (K + λN I) Aᵀ = Yᵀ.
    let mut left = times(&problem.k, &transposed(&a));
    for c in 0..3 {
        for n in 0..9 {
            left[(n, c)] += 0.01 * 9.0 * a[(c, n)];
        }
    }
    close_tables("(K + λN I) Aᵀ", &left, &transposed(&problem.y), 1e-12);
}

#[test]
fn the_latent_step_solves_the_sylvester_equation() {
    let problem = Plain::example(penalties(0.02, 0.1, 0.1));
    let s = some_structure();
    let a = problem.latent(&s);
    // (K ⊗ SᵀS + λN I) vec A = vec SᵀY, solved as one system.
    let gram = times(&transposed(&s), &s);
    let system = Mat::from_fn(27, 27, |i, j| {
        problem.k[(i / 3, j / 3)] * gram[(i % 3, j % 3)] + if i == j { 0.02 * 9.0 } else { 0.0 }
    });
    let right = times(&transposed(&s), &problem.y);
    let mut direct = Mat::from_fn(27, 1, |i, _| right[(i % 3, i / 3)]);
    let factor = Cholesky::new(system, Threads::ONE).unwrap();
    factor.half_solve(direct.as_mut());
    factor.half_solve_transposed(direct.as_mut());
    let direct = Mat::from_fn(3, 9, |c, n| direct[(n * 3 + c, 0)]);
    close_tables("A", &a, &direct, 1e-11);
}

#[test]
fn the_latent_step_leaves_no_slope_and_its_objective_is_the_definition() {
    let problem = Plain::example(penalties(0.02, 0.1, 0.3));
    let s = some_structure();
    let a = problem.latent(&s);
    let (left, singular, _) = svd(&s);
    let (rotated, _) = problem.rotated();
    let projected = times(&rotated.targets, &left);
    let state = rotated.structure(left, singular, projected, &problem.penalties);
    let value = problem.objective(&a, &s);
    close("J without A", state.objective, value, 1e-12);
    for c in 0..3 {
        for n in 0..9 {
            let shifted = |by: f64| {
                let mut moved = a.clone();
                moved[(c, n)] += by;
                problem.objective(&moved, &s)
            };
            let slope = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
            assert!(slope.abs() < 1e-9, "A[{c},{n}]: {slope}");
        }
    }
}

/// 2/N (SG − P) + β UVᵀ + 2γS against differences of J, and zero at the structure that is found.
#[test]
fn the_slope_in_the_structure() {
    let problem = Plain::example(penalties(0.02, 0.003, 0.005));
    let slope_of = |s: &Mat<f64>| {
        let (g, p) = problem.statistics(&problem.latent(s));
        let (left, _, right) = svd(s);
        let (sg, polar) = (times(s, &g), times(&left, &transposed(&right)));
        Mat::from_fn(3, 3, |i, j| {
            2.0 / 9.0 * (sg[(i, j)] - p[(i, j)]) + 0.003 * polar[(i, j)] + 2.0 * 0.005 * s[(i, j)]
        })
    };
    let s = some_structure();
    let a = problem.latent(&s);
    let formula = slope_of(&s);
    for i in 0..3 {
        for j in 0..3 {
            let shifted = |by: f64| {
                let mut moved = s.clone();
                moved[(i, j)] += by;
                problem.objective(&a, &moved)
            };
            let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            close("slope", formula[(i, j)], slope, 1e-8);
        }
    }
    let (rotated, _) = problem.rotated();
    let end = rotated.solve(problem.penalties, TIGHT);
    assert_eq!(end.singular.len(), 3);
    close_tables("slope at the end", &slope_of(&matrix_of(&end)), &Mat::zeros(3, 3), 1e-6);
}

/// J by its definition after each kind of step, for many penalties; at the end it is no worse than where the
/// specification's own alternation (exact A, proximal S) ends, and usually the same.
#[test]
fn no_half_step_raises_the_objective_and_the_end_is_that_of_the_alternation() {
    let mut same = 0;
    let grid = [1e-4, 1e-2, 0.3];
    for (latent, trace, square) in grid.iter().flat_map(|&l| grid.iter().flat_map(move |&t| grid.map(|s| (l, t, s)))) {
        let problem = Plain::example(penalties(latent, trace, square));
        let (rotated, q) = problem.rotated();
        let mut state = rotated.start(&problem.penalties);
        for sweep in 0..12 {
            let half = if sweep % 2 == 0 { Rotated::structure_step } else { Rotated::fit_step };
            let moved = half(&rotated, &state, &problem.penalties).unwrap();
            let scaled = rotated.scale_step(moved.clone(), &problem.penalties).unwrap();
            for next in [moved, scaled] {
                assert!(next.objective <= state.objective * (1.0 + 1e-13), "{latent} {trace} {square} {sweep}");
                let a = transposed(&times(&q, &rotated.latent(&next, &problem.penalties)));
                let value = problem.objective(&a, &matrix_of(&next));
                close("J", next.objective, value, 1e-11);
                state = next;
            }
        }
        let end = rotated.solve(problem.penalties, TIGHT).objective;
        let mut s = Mat::identity(3, 3);
        let mut reference = f64::INFINITY;
        for _ in 0..3000 {
            let a = problem.latent_of_any(&s);
            s = problem.proximal(&a, &s, 5);
            let value = problem.objective(&problem.latent_of_any(&s), &s);
            if reference - value <= 1e-12 * value {
                break;
            }
            reference = value;
        }
        assert!(end <= reference * (1.0 + 1e-7), "{latent} {trace} {square}: {end}, alternation {reference}");
        same += usize::from((end - reference).abs() <= 1e-5 * reference);
    }
    assert!(same >= 24, "{same} of 27");
}

impl Plain {
    /// The exact A of any S, also a singular one: the Sylvester equation as one system.
    fn latent_of_any(&self, s: &Mat<f64>) -> Mat<f64> {
        let (tasks, rows) = (self.y.nrows(), self.y.ncols());
        let gram = times(&transposed(s), s);
        let system = Mat::from_fn(tasks * rows, tasks * rows, |i, j| {
            let own = if i == j { self.penalties.latent * self.rows() } else { 0.0 };
            self.k[(i / tasks, j / tasks)] * gram[(i % tasks, j % tasks)] + own
        });
        let right = times(&transposed(s), &self.y);
        let mut a = Mat::from_fn(tasks * rows, 1, |i, _| right[(i % tasks, i / tasks)]);
        let factor = Cholesky::new(system, Threads::ONE).unwrap();
        factor.half_solve(a.as_mut());
        factor.half_solve_transposed(a.as_mut());
        Mat::from_fn(tasks, rows, |c, n| a[(n * tasks + c, 0)])
    }
}

/// A large β leaves nothing: S = 0, J = ‖Y‖²/N, predictions are the mean. A large γ does too, and is seen at once.
#[test]
fn strong_penalties_collapse() {
    let problem = Plain::example(penalties(1e-3, 1e-5, 1e-5));
    let (rotated, _) = problem.rotated();
    let energy: f64 = (0..9).flat_map(|n| problem.y.col_as_slice(n)).map(|v| v * v).sum();
    for strong in [penalties(1e-3, 1e3, 1e-5), penalties(1e-3, 1e-5, 1e3), penalties(1e3, 1e3, 1e3)] {
        let state = rotated.solve(strong, Limits::DEFAULT);
        assert!(state.singular.is_empty(), "{strong:?}");
        close("J", state.objective, energy / 9.0, 1e-12);
        let coefficients = rotated.coefficients(&state, &strong);
        assert!((0..3).all(|c| coefficients.col_as_slice(c).iter().all(|v| *v == 0.0)), "{strong:?}");
    }
    assert_eq!(rotated.solve(problem.penalties, Limits::DEFAULT).singular.len(), 3);
}

/// Where collapse is declared without a sweep, the sweeps collapse too; just below, S = 0 is not the end.
#[test]
fn collapse_is_declared_where_it_is_due() {
    let problem = Plain::example(penalties(0.1, 0.0, 0.0));
    let (rotated, _) = problem.rotated();
    // The largest γ for which J falls at S = 0: the top eigenvalue of YKYᵀ/(λN²).
    let slopes = times(&times(&problem.y, &problem.k), &transposed(&problem.y));
    let top = Spectral::new(slopes).unwrap().values[2] / (0.1 * 81.0);
    let empty = rotated.collapsed().objective;
    assert!(rotated.solve(penalties(0.1, 0.0, 1.001 * top), TIGHT).singular.is_empty());
    let below = rotated.solve(penalties(0.1, 0.0, 0.9 * top), TIGHT);
    assert!(below.objective < empty * (1.0 - 1e-6) && below.singular.len() == 1);
}

/// Two columns in very different units, and targets that share a shape.
fn dataset() -> Dataset {
    let x = Mat::from_fn(24, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin() * if d == 0 { 1.0 } else { 40.0 });
    let y = Mat::from_fn(24, 3, |n, c| {
        7.0 + (2.0 * x[(n, 0)]).sin() + (c as f64 - 0.7) * x[(n, 1)] / 40.0 + 0.3 * ((n * 7 + c * c) as f64).cos()
    });
    Dataset::new(x, y).unwrap()
}

/// Points of one class share a fit; each must get the predictions of its own.
#[test]
fn shared_fits_are_those_of_every_point() {
    let data = dataset();
    let questions = Mat::from_fn(5, 2, |n, d| (n as f64 - 2.0) * if d == 0 { 0.4 } else { 15.0 });
    let all = points(Grid::Full);
    assert_eq!(all.len(), 1458);
    assert!(all.iter().enumerate().all(|(i, point)| !all[..i].contains(point)));
    assert!(points(Grid::Coarse).iter().all(|point| all.contains(point)));
    let mut reported: Vec<Option<Mat<f64>>> = vec![None; all.len()];
    scan(&all, &data, questions.as_ref(), &mut |index, predictions| {
        assert!(reported[index].replace(predictions).is_none());
    })
    .unwrap();
    let mut same = 0;
    for scaling in [Scaling::Standardised, Scaling::Raw] {
        let Prepared { scales, kernel, vectors, rotated } = Prepared::new(&data, scaling).unwrap();
        let kernel = times(&kernel.against(scales.question(questions.as_ref()).unwrap()), &vectors);
        for (index, point) in all.iter().enumerate().filter(|(_, point)| point.scaling == scaling) {
            let own = rotated.solve(point.penalties(), TIGHT);
            let shared = rotated.solve(point.canonical().penalties(), TIGHT);
            // From another start there may be another minimum, but none that is worse.
            assert!(shared.objective <= own.objective * (1.0 + 1e-9), "{point:?}");
            if shared.objective < own.objective * (1.0 - 1e-6) {
                continue;
            }
            let expected = times(&kernel, &rotated.coefficients(&own, &point.penalties()));
            let expected = scales.restore(expected).unwrap();
            close_tables(&format!("{point:?}"), reported[index].as_ref().unwrap(), &expected, 0.02);
            same += 1;
        }
    }
    assert!(same >= 1400, "{same} of 1458");
}
