//! The golden file, the duality gap, a linear program and limiting cases.

use super::admm::Admm;
use super::path::{Stopping, solve_all};
use super::system::System;
use super::terms::{Penalty, Pull, Tolerance};
use super::{GorElm, Layer};
use crate::baselines::extremes::survives_extremes;
use crate::golden::{golden, matrix};
use crate::method::Method;
use crate::select::{Grid, Plan};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rffblr::data::Dataset;
use rffblr::internals::{Cholesky, multiply, select_columns, select_rows};
use rffblr::linalg::{Mat, Threads};
use serde_json::Value;

const ONE: Pull = Pull { error: 1.0, weights: 1.0, relaxation: 1.0 };
const NEVER: Tolerance = Tolerance { absolute: 0.0, relative: 0.0 };

fn row_length(table: &Mat<f64>, row: usize) -> f64 {
    (0..table.ncols()).map(|c| table[(row, c)].powi(2)).sum::<f64>().sqrt()
}

fn plain(hidden: &Mat<f64>, targets: &Mat<f64>) -> System {
    System::new(hidden, targets, vec![1.0; hidden.nrows()], Threads::ONE)
}

fn uniform(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Mat::from_fn(rows, columns, |_, _| rng.random_range(-1.0..1.0))
}

/// The objective by its definition; NaN targets do not count.
fn objective(hidden: &Mat<f64>, targets: &Mat<f64>, row_weights: &[f64], weights: &Mat<f64>, penalty: Penalty) -> f64 {
    let fit = multiply(hidden.as_ref(), weights.as_ref(), Threads::ONE);
    let error = Mat::from_fn(fit.nrows(), fit.ncols(), |n, c| {
        if targets[(n, c)].is_nan() { 0.0 } else { fit[(n, c)] - targets[(n, c)] }
    });
    let loss: f64 = (0..error.nrows()).map(|n| row_weights[n] * row_length(&error, n)).sum();
    let lengths = (0..weights.nrows()).map(|j| row_length(weights, j));
    let Penalty { strength, sparsity } = penalty;
    loss + lengths.map(|l| strength * (0.5 * (1.0 - sparsity) * l * l + sparsity * l)).sum::<f64>()
}

/// A lower bound of the objective from multipliers made feasible, for α < 1. In the words of the specification:
/// −⟨P, T⟩ − ‖HᵀP + Q‖²/(2λ(1−α)) with rows of P no longer than s_n and of Q no longer than λα.
fn dual_value(hidden: &Mat<f64>, targets: &Mat<f64>, p: &Mat<f64>, q: &Mat<f64>, penalty: Penalty) -> f64 {
    let inner: f64 = (0..targets.ncols())
        .flat_map(|c| (0..targets.nrows()).map(move |n| (n, c)))
        .filter(|&cell| !targets[cell].is_nan())
        .map(|cell| p[cell] * targets[cell])
        .sum();
    let gradient = multiply(hidden.as_ref().transpose(), p.as_ref(), Threads::ONE) + q;
    let square: f64 = (0..gradient.nrows()).map(|j| row_length(&gradient, j).powi(2)).sum();
    -inner - square / (2.0 * penalty.strength * (1.0 - penalty.sparsity))
}

fn cut_rows(table: &Mat<f64>, factor: f64, longest: impl Fn(usize) -> f64) -> Mat<f64> {
    Mat::from_fn(table.nrows(), table.ncols(), |i, j| {
        let length = factor * row_length(table, i);
        factor * table[(i, j)] * if length > longest(i) { longest(i) / length } else { 1.0 }
    })
}

/// Iterates until nothing moves and returns the weights and ρU, σV made feasible.
fn converge(system: &System, penalty: Penalty, pull: Pull, iterations: usize) -> (Mat<f64>, Mat<f64>, Mat<f64>) {
    let mut admm = Admm::at_zero(system, &[(penalty, pull)]);
    let tight = Tolerance { absolute: 1e-15, relative: 1e-15 };
    for _ in 0..iterations {
        if admm.step(tight, Threads::ONE)[0].are_small() {
            break;
        }
    }
    let p = cut_rows(&admm.error_dual, pull.error, |n| system.row_weights[n]);
    let q = if pull.weights > 0.0 {
        cut_rows(&admm.sparse_dual, pull.weights, |_| penalty.strength * penalty.sparsity)
    } else {
        Mat::zeros(system.hidden.ncols(), system.tasks())
    };
    (admm.solution(0, Threads::ONE), p, q)
}

fn close(what: &str, found: &Mat<f64>, expected: &Mat<f64>, tolerance: f64) {
    assert_eq!(found.shape(), expected.shape(), "{what}");
    for j in 0..found.ncols() {
        for i in 0..found.nrows() {
            let (f, e) = (found[(i, j)], expected[(i, j)]);
            assert!((f - e).abs() < tolerance, "{what} ({i}, {j}): {f} for {e}");
        }
    }
}

fn golden_data(file: &Value) -> (Mat<f64>, Mat<f64>) {
    (matrix(&file["H"]), matrix(&file["T"]))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn three_iterations_of_the_golden_file() {
    let file = golden("gorelm.json");
    let (hidden, targets) = golden_data(&file);
    let expected = &file["three_iters"];
    let penalty = Penalty { strength: number(&expected["lam"]), sparsity: number(&expected["alpha"]) };
    let pull = Pull { error: number(&expected["rho"]), weights: number(&expected["rho"]), relaxation: 1.0 };
    let system = plain(&hidden, &targets);
    // A second problem beside it must not disturb it.
    let other = (Penalty { strength: 3.0, sparsity: 1.0 }, Pull { error: 2.0, weights: 0.5, relaxation: 1.5 });
    let mut admm = Admm::at_zero(&system, &[other, (penalty, pull)]);
    for _ in 0..3 {
        admm.step(NEVER, Threads::ONE);
    }
    admm.keep(&[1]);
    for (what, found) in [
        ("B", &admm.weights),
        ("E", &admm.error),
        ("Z", &admm.sparse),
        ("U", &admm.error_dual),
        ("V", &admm.sparse_dual),
    ] {
        close(what, found, &matrix(&expected[what]), 1e-12);
    }
}

#[test]
fn every_case_of_the_golden_file_with_its_certificate() {
    let file = golden("gorelm.json");
    let (hidden, targets) = golden_data(&file);
    let system = plain(&hidden, &targets);
    let ones = vec![1.0; hidden.nrows()];
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 15);
    for case in cases {
        let penalty = Penalty { strength: number(&case["lam"]), sparsity: number(&case["alpha"]) };
        for pull in [ONE, Pull::suited_to(penalty)] {
            let (weights, p, q) = converge(&system, penalty, pull, 150_000);
            let value = objective(&hidden, &targets, &ones, &weights, penalty);
            let what = format!("{penalty:?} with {pull:?}");
            assert!((value - number(&case["obj"])).abs() < 1e-9, "{what}: {value}");
            close(&what, &weights, &matrix(&case["W"]), 1e-6);
            let zero_rows = (0..weights.nrows()).filter(|&j| row_length(&weights, j) == 0.0).count();
            assert_eq!(zero_rows as u64, case["zero_rows"].as_u64().unwrap(), "{what}");
            if penalty.sparsity < 1.0 {
                let gap = value - dual_value(&hidden, &targets, &p, &q, penalty);
                assert!((-1e-11..1e-9).contains(&gap), "{what}: gap {gap}");
            } else {
                let off = multiply(hidden.as_ref().transpose(), p.as_ref(), Threads::ONE) + &q;
                let bound: f64 = -(0..targets.ncols())
                    .flat_map(|c| (0..targets.nrows()).map(move |n| (n, c)))
                    .map(|cell| p[cell] * targets[cell])
                    .sum::<f64>();
                let off = (0..off.nrows()).map(|j| row_length(&off, j)).fold(0.0, f64::max);
                assert!(off < 1e-9, "{what}: {off}");
                assert!((value - bound).abs() < 1e-8, "{what}: {value} over {bound}");
            }
        }
    }
}

/// With one task and α = 1 the problem is least absolute deviations with a lasso: a linear program. Values of
/// scipy 1.17.1, `linprog` with HiGHS, on the golden data.
#[test]
fn one_task_and_full_sparsity_is_a_linear_program() {
    let file = golden("gorelm.json");
    let (hidden, targets) = golden_data(&file);
    for (task, strength, expected) in [
        (0, 0.5, 8.266_067_748_134_674),
        (1, 0.5, 23.940_271_315_095_19),
        (2, 0.5, 29.759_536_500_599_847),
        (0, 2.0, 9.387_997_319_372_905),
        (1, 0.2, 20.563_875_749_323_177),
    ] {
        let penalty = Penalty { strength, sparsity: 1.0 };
        let targets = select_columns(targets.as_ref(), &[task]);
        let (weights, ..) = converge(&plain(&hidden, &targets), penalty, Pull::suited_to(penalty), 100_000);
        let value = objective(&hidden, &targets, &[1.0; 10], &weights, penalty);
        assert!((value - expected).abs() < 1e-7, "task {task}, {strength}: {value} for {expected}");
    }
}

/// Row 2 of the golden targets is twenty times too large. Putting it right moves the fit of the other rows by this
/// much (the specification's numbers): little for the robust loss, a lot for squares with the same λ.
#[test]
fn one_wild_row_moves_the_others_less_than_under_squares() {
    let file = golden("gorelm.json");
    let (hidden, wild) = golden_data(&file);
    let tame = Mat::from_fn(wild.nrows(), wild.ncols(), |n, c| wild[(n, c)] / if n == 2 { 20.0 } else { 1.0 });
    let others: Vec<usize> = (0..wild.nrows()).filter(|&n| n != 2).collect();
    let moved = |a: &Mat<f64>, b: &Mat<f64>| {
        let change = multiply(hidden.as_ref(), (a - b).as_ref(), Threads::ONE);
        let change = select_rows(change.as_ref(), &others);
        (0..change.nrows()).map(|n| row_length(&change, n).powi(2)).sum::<f64>().sqrt()
    };
    for (strength, robust, squares, tolerance) in
        [(0.5, 0.39, 5.9, 0.05), (4.0, 0.0, 6.3, 0.05), (0.05, 3.2, 5.0, 0.06)]
    {
        let penalty = Penalty { strength, sparsity: 0.5 };
        let solve =
            |targets: &Mat<f64>| converge(&plain(&hidden, targets), penalty, Pull::suited_to(penalty), 50_000).0;
        let found = moved(&solve(&wild), &solve(&tame));
        assert!((found - robust).abs() < tolerance, "{strength}: {found} for {robust}");
        let found = moved(&ridge(&hidden, &wild, strength), &ridge(&hidden, &tame, strength));
        assert!((found - squares).abs() < tolerance, "{strength}: {found} for {squares}");
    }
}

/// (HᵀH + λI)⁻¹HᵀT.
fn ridge(hidden: &Mat<f64>, targets: &Mat<f64>, penalty: f64) -> Mat<f64> {
    let mut gram = multiply(hidden.as_ref().transpose(), hidden.as_ref(), Threads::ONE);
    (0..gram.nrows()).for_each(|j| gram[(j, j)] += penalty);
    let factor = Cholesky::new(gram, Threads::ONE).unwrap();
    let mut out = multiply(hidden.as_ref().transpose(), targets.as_ref(), Threads::ONE);
    factor.half_solve(out.as_mut());
    factor.half_solve_transposed(out.as_mut());
    out
}

/// E, U, Z, V and B after some steps of the recursion as it is written down, with a dense solve, row by row.
fn naive(
    hidden: &Mat<f64>,
    targets: &Mat<f64>,
    row_weights: &[f64],
    (penalty, pull): (Penalty, Pull),
    steps: usize,
) -> [Mat<f64>; 5] {
    let (rows, neurons, tasks) = (hidden.nrows(), hidden.ncols(), targets.ncols());
    let t = Mat::from_fn(rows, tasks, |n, c| if targets[(n, c)].is_nan() { 0.0 } else { targets[(n, c)] });
    let (mut e, mut u) = (Mat::<f64>::zeros(rows, tasks), Mat::<f64>::zeros(rows, tasks));
    let (mut z, mut v) = (Mat::<f64>::zeros(neurons, tasks), Mat::<f64>::zeros(neurons, tasks));
    let mut b = z.clone();
    let (ratio, relaxed) = (pull.weights / pull.error, |new: f64, old: f64| old + pull.relaxation * (new - old));
    let eta = ratio + penalty.strength * (1.0 - penalty.sparsity) / pull.error;
    for _ in 0..steps {
        // The ridge solution for targets T + E − U, and for the pull towards Z − V the same with an identity below H.
        let tall = Mat::from_fn(rows + neurons, neurons, |i, j| match i.checked_sub(rows) {
            None => hidden[(i, j)],
            Some(i) => f64::from(i == j) * ratio.sqrt(),
        });
        let goal = Mat::from_fn(rows + neurons, tasks, |i, c| match i.checked_sub(rows) {
            None => t[(i, c)] + e[(i, c)] - u[(i, c)],
            Some(j) => ratio.sqrt() * (z[(j, c)] - v[(j, c)]),
        });
        b = ridge(&tall, &goal, eta - ratio);
        let fit = multiply(hidden.as_ref(), b.as_ref(), Threads::ONE);
        for n in 0..rows {
            let m: Vec<f64> = (0..tasks).map(|c| relaxed(fit[(n, c)] - t[(n, c)], e[(n, c)]) + u[(n, c)]).collect();
            let seen = |c: usize| !targets[(n, c)].is_nan();
            let length = (0..tasks).filter(|&c| seen(c)).map(|c| m[c] * m[c]).sum::<f64>().sqrt();
            let shrink = (1.0 - row_weights[n] / pull.error / length).max(0.0);
            for c in 0..tasks {
                e[(n, c)] = if seen(c) { shrink * m[c] } else { m[c] };
                u[(n, c)] = m[c] - e[(n, c)];
            }
        }
        for j in 0..neurons {
            let m: Vec<f64> = (0..tasks).map(|c| relaxed(b[(j, c)], z[(j, c)]) + v[(j, c)]).collect();
            let length = m.iter().map(|m| m * m).sum::<f64>().sqrt();
            let shrink = (1.0 - penalty.strength * penalty.sparsity / pull.weights / length).max(0.0);
            for c in 0..tasks {
                z[(j, c)] = shrink * m[c];
                v[(j, c)] = m[c] - z[(j, c)];
            }
        }
    }
    [e, u, z, v, b]
}

#[test]
fn the_rotated_recursion_is_the_plain_one() {
    // Wide, tall and rank deficient hidden layers; uneven weights, one of them zero; a missing cell.
    for (rows, neurons, repeated) in [(7, 11, false), (12, 5, false), (9, 9, true), (6, 14, true)] {
        let mut hidden = uniform(rows, neurons, 3);
        if repeated {
            (0..neurons).for_each(|j| hidden[(1, j)] = hidden[(0, j)]);
        }
        let mut targets = uniform(rows, 2, 4);
        targets[(2, 1)] = f64::NAN;
        let row_weights: Vec<f64> = (0..rows).map(|n| [1.0, 0.3, 2.0, 0.0][n % 4]).collect();
        let system = System::new(&hidden, &targets, row_weights.clone(), Threads::ONE);
        let problems = [
            (Penalty { strength: 0.7, sparsity: 0.4 }, Pull { error: 0.8, weights: 2.5, relaxation: 1.0 }),
            (Penalty { strength: 0.2, sparsity: 0.0 }, ONE),
            (Penalty { strength: 0.1, sparsity: 1.0 }, Pull { error: 3.0, weights: 0.2, relaxation: 1.6 }),
        ];
        let mut admm = Admm::at_zero(&system, &problems);
        // Past the step at which rounding is swept out.
        for _ in 0..105 {
            admm.step(NEVER, Threads::ONE);
        }
        let found = [&admm.error, &admm.error_dual, &admm.sparse, &admm.sparse_dual, &admm.weights];
        for (index, problem) in problems.iter().enumerate() {
            let expected = naive(&hidden, &targets, &row_weights, *problem, 105);
            for (found, expected) in found.iter().zip(&expected) {
                let found = select_columns(found.as_ref(), &[2 * index, 2 * index + 1]);
                close(&format!("{rows}×{neurons}, {problem:?}"), &found, expected, 1e-9);
            }
        }
        // Without Z.
        let (penalty, last) = (Penalty { strength: 0.9, sparsity: 0.0 }, Penalty { strength: 0.2, sparsity: 0.0 });
        let pull = Pull { error: 0.8, weights: 0.0, relaxation: 1.3 };
        let mut admm = Admm::at_zero(&system, &[(last, pull), (penalty, pull)]);
        for _ in 0..105 {
            admm.step(NEVER, Threads::ONE);
        }
        for (index, penalty) in [last, penalty].into_iter().enumerate() {
            let [e, u, _, _, b] = naive(&hidden, &targets, &row_weights, (penalty, pull), 105);
            let columns = [2 * index, 2 * index + 1];
            let what = format!("{rows}×{neurons}, {penalty:?} without Z");
            close(&what, &select_columns(admm.error.as_ref(), &columns), &e, 1e-9);
            close(&what, &select_columns(admm.error_dual.as_ref(), &columns), &u, 1e-9);
            close(&what, &admm.solution(index, Threads::ONE), &b, 1e-9);
        }
    }
}

/// The residuals from the small matrices against their definition, with Z and without.
#[test]
fn residuals_by_definition() {
    let (hidden, targets) = (uniform(8, 13, 5), uniform(8, 3, 6));
    let system = plain(&hidden, &targets);
    let tolerance = Tolerance { absolute: 1e-2, relative: 1e-3 };
    let norm = |table: &Mat<f64>| (0..table.nrows()).map(|i| row_length(table, i).powi(2)).sum::<f64>();
    let back = |x: &Mat<f64>, rho: f64| {
        let product = multiply(hidden.as_ref().transpose(), x.as_ref(), Threads::ONE);
        Mat::from_fn(13, 3, |j, c| rho * product[(j, c)])
    };
    for (sparsity, sigma) in [(0.6, 1.9), (0.0, 0.0)] {
        let pull = Pull { error: 0.7, weights: sigma, relaxation: 1.4 };
        let mut admm = Admm::at_zero(&system, &[(Penalty { strength: 0.3, sparsity }, pull)]);
        let scaled = |g: &Mat<f64>| Mat::from_fn(13, 3, |j, c| if sigma > 0.0 { sigma * g[(j, c)] } else { 0.0 });
        for _ in 0..30 {
            let (error, sparse) = (admm.error.clone(), admm.sparse.clone());
            let found = admm.step(tolerance, Threads::ONE)[0];
            let weights = if sigma > 0.0 { admm.weights.clone() } else { admm.solution(0, Threads::ONE) };
            let fit = multiply(hidden.as_ref(), weights.as_ref(), Threads::ONE);
            let (mut primal, mut largest) = (norm(&(&fit - &targets - &admm.error)), [norm(&fit), norm(&admm.error)]);
            if sigma > 0.0 {
                primal += norm(&(&weights - &admm.sparse));
                largest = [largest[0] + norm(&weights), largest[1] + norm(&admm.sparse)];
            }
            let largest = largest.into_iter().fold(norm(&targets), f64::max).sqrt();
            let split: f64 = if sigma > 0.0 { 63.0 } else { 24.0 };
            let moved = back(&(&admm.error - &error), pull.error) + scaled(&(&admm.sparse - &sparse));
            let pulls = norm(&back(&admm.error_dual, pull.error)).max(norm(&scaled(&admm.sparse_dual))).sqrt();
            for (found, expected) in [
                (found.primal, primal.sqrt()),
                (found.primal_limit, split.sqrt() * 1e-2 + 1e-3 * largest),
                (found.dual, norm(&moved).sqrt()),
                (found.dual_limit, 39f64.sqrt() * 1e-2 + 1e-3 * pulls),
            ] {
                assert!((found - expected).abs() < 1e-10, "{found} for {expected}");
            }
        }
    }
}

/// With α = 1 the multipliers cancel at the minimum. The rule for stopping must not be relative to what is left.
#[test]
fn full_sparsity_stops_by_itself_near_the_minimum() {
    let (hidden, targets) = (uniform(30, 60, 21), uniform(30, 3, 22));
    let system = plain(&hidden, &targets);
    for strength in [4.0, 1.0, 0.25] {
        let penalty = Penalty { strength, sparsity: 1.0 };
        let mut admm = Admm::at_zero(&system, &[(penalty, Pull::suited_to(penalty))]);
        let steps = (1..=1000).find(|_| admm.step(Stopping::USUAL.tolerance, Threads::ONE)[0].are_small());
        let value = |weights: &Mat<f64>| objective(&hidden, &targets, &[1.0; 30], weights, penalty);
        let lowest = value(&converge(&system, penalty, Pull::suited_to(penalty), 50_000).0);
        let found = value(&admm.solution(0, Threads::ONE));
        assert!(steps.is_some(), "{penalty:?}: a thousand steps");
        assert!(found - lowest < 2e-3 * lowest, "{penalty:?}: {found} over {lowest} after {steps:?}");
    }
}

/// A path at a tight tolerance against cold starts, for hidden layers of full and of low rank, with and without missing
/// cells. Where T can be met, small λ share one solution, which each cold start finds too.
#[test]
fn paths_end_where_cold_starts_do() {
    let low = multiply(uniform(9, 4, 23).as_ref(), uniform(4, 14, 24).as_ref(), Threads::ONE);
    for (what, hidden, met) in [("full", uniform(9, 14, 25), true), ("low", low, false)] {
        let mut targets = uniform(9, 2, 26);
        targets[(3, 1)] = f64::NAN;
        let row_weights: Vec<f64> = (0..9).map(|n| [1.0, 0.5, 0.0][n % 3]).collect();
        let system = System::new(&hidden, &targets, row_weights.clone(), Threads::ONE);
        assert_eq!(system.squares.len(), if met { 9 } else { 4 });
        let points: Vec<Penalty> = (-8..=2)
            .flat_map(|exponent| [0.0, 0.5, 1.0].map(|sparsity| (f64::from(-exponent).exp2(), sparsity)))
            .map(|(strength, sparsity)| Penalty { strength: strength / 64.0, sparsity })
            .collect();
        let patient = Stopping { tolerance: Tolerance { absolute: 1e-11, relative: 1e-11 }, most_iterations: 200_000 };
        let mut found = vec![Mat::zeros(0, 0); points.len()];
        solve_all(&system, &points, patient, Threads::ONE, |point, weights| found[point] = weights);
        for (weights, penalty) in found.iter().zip(&points) {
            let (cold, p, q) = converge(&system, *penalty, Pull::suited_to(*penalty), 200_000);
            let value = |weights: &Mat<f64>| objective(&hidden, &targets, &row_weights, weights, *penalty);
            let what = format!("{what} rank, {penalty:?}");
            assert!((value(weights) - value(&cold)).abs() < 1e-8, "{what}: {} {}", value(weights), value(&cold));
            close(&what, weights, &cold, 1e-6);
            if penalty.sparsity < 1.0 {
                let gap = value(weights) - dual_value(&hidden, &targets, &p, &q, *penalty);
                assert!((-1e-9..1e-8).contains(&gap), "{what}: gap {gap}");
            }
        }
        for sparsity in [0.0, 0.5, 1.0] {
            let path: Vec<&Mat<f64>> =
                found.iter().zip(&points).filter(|(_, p)| p.sparsity == sparsity).map(|(w, _)| w).collect();
            let shared = path.windows(2).filter(|pair| pair[0] == pair[1]).count();
            assert_eq!(shared > 0, met, "{what} rank, α = {sparsity}: {shared} points share a solution");
        }
    }
}

/// At the usual tolerance too: where T can be met and α = 0, the shared solution meets it to rounding, and its
/// multipliers prove it the minimum.
#[test]
fn what_small_penalties_share_without_sparsity_is_exact() {
    let (hidden, targets) = (uniform(9, 14, 25), uniform(9, 2, 26));
    let system = plain(&hidden, &targets);
    let points: Vec<Penalty> =
        (0..=20).map(|exponent| Penalty { strength: f64::from(-exponent).exp2(), sparsity: 0.0 }).collect();
    let mut found = vec![Mat::zeros(0, 0); points.len()];
    solve_all(&system, &points, Stopping::USUAL, Threads::ONE, |point, weights| found[point] = weights);
    let (weights, penalty) = (&found[20], points[20]);
    assert_eq!(weights, &found[19], "shared");
    let fit = multiply(hidden.as_ref(), weights.as_ref(), Threads::ONE);
    close("fit", &fit, &targets, 1e-11);
    let (_, p, q) = converge(&system, penalty, Pull::suited_to(penalty), 200_000);
    let value = objective(&hidden, &targets, &[1.0; 9], weights, penalty);
    let gap = value - dual_value(&hidden, &targets, &p, &q, penalty);
    assert!(gap.abs() < 1e-4 * value, "{value}: gap {gap}");
}

/// Without zero rows in T the bound is sharp: at it all weights are zero, just below it some are not. The iteration
/// itself, which knows nothing of the bound, agrees.
#[test]
fn the_null_model_begins_where_it_should() {
    let (hidden, targets) = (uniform(9, 15, 7), uniform(9, 2, 8));
    let system = plain(&hidden, &targets);
    for sparsity in [0.25, 1.0] {
        for (factor, null) in [(1.001, true), (0.98, false)] {
            let penalty = Penalty { strength: factor * system.null_from() / sparsity, sparsity };
            let (weights, ..) = converge(&system, penalty, Pull::suited_to(penalty), 20_000);
            let largest = (0..15).map(|j| row_length(&weights, j)).fold(0.0, f64::max);
            assert_eq!(largest == 0.0, null, "{penalty:?}: {largest}");
            solve_all(&system, &[penalty], Stopping::USUAL, Threads::ONE, |_, found| {
                assert_eq!((0..15).all(|j| row_length(&found, j) == 0.0), null, "{penalty:?}");
            });
        }
    }
}

/// Every point of a path is near its minimum, which a tight run from zero with other penalties finds; weights and
/// missing cells included.
#[test]
fn paths_reach_the_minimum() {
    let (hidden, mut targets) = (uniform(12, 20, 9), uniform(12, 2, 10));
    targets[(4, 0)] = f64::NAN;
    let row_weights: Vec<f64> = (0..12).map(|n| [1.0, 0.5, 2.0][n % 3]).collect();
    let system = System::new(&hidden, &targets, row_weights.clone(), Threads::ONE);
    let points: Vec<Penalty> = [8.0, 2.0, 0.5, 0.125]
        .into_iter()
        .flat_map(|strength| [0.0, 0.5, 1.0].map(|sparsity| Penalty { strength, sparsity }))
        .collect();
    let mut seen = vec![0; points.len()];
    let patient = Stopping { tolerance: Tolerance { absolute: 1e-9, relative: 1e-9 }, most_iterations: 20_000 };
    solve_all(&system, &points, patient, Threads::ONE, |point, weights| {
        seen[point] += 1;
        let penalty = points[point];
        let value = |weights: &Mat<f64>| objective(&hidden, &targets, &row_weights, weights, penalty);
        let (tight, p, q) = converge(&system, penalty, ONE, 100_000);
        assert!((value(&weights) - value(&tight)).abs() < 1e-6, "{penalty:?}: {} {}", value(&weights), value(&tight));
        if penalty.sparsity < 1.0 {
            let gap = value(&weights) - dual_value(&hidden, &targets, &p, &q, penalty);
            assert!((-1e-9..1e-6).contains(&gap), "{penalty:?}: gap {gap}");
        }
    });
    assert!(seen.iter().all(|&count| count == 1), "{seen:?}");
}

/// Without sparsity and away from kinks the objective is smooth: Hᵀ(error directions) + λB = 0.
#[test]
fn without_sparsity_the_gradient_vanishes() {
    let (hidden, near) = (uniform(10, 6, 11), uniform(10, 2, 12));
    let targets = Mat::from_fn(10, 2, |n, c| 3.0 + near[(n, c)]);
    let penalty = Penalty { strength: 5.0, sparsity: 0.0 };
    let (weights, ..) = converge(&plain(&hidden, &targets), penalty, Pull::suited_to(penalty), 20_000);
    let error = multiply(hidden.as_ref(), weights.as_ref(), Threads::ONE) - &targets;
    assert!((0..10).all(|n| row_length(&error, n) > 1e-3), "a row is met exactly: no gradient there");
    let unit = Mat::from_fn(10, 2, |n, c| error[(n, c)] / row_length(&error, n));
    let gradient = multiply(hidden.as_ref().transpose(), unit.as_ref(), Threads::ONE);
    for j in 0..6 {
        for c in 0..2 {
            assert!((gradient[(j, c)] + 5.0 * weights[(j, c)]).abs() < 1e-8);
        }
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let (hidden, targets) = (uniform(8, 12, 13), uniform(8, 2, 14));
    let rows: Vec<usize> = (0..8).chain([3, 5]).collect();
    let weights: Vec<f64> = (0..8).map(|n| if n == 3 || n == 5 { 2.0 } else { 1.0 }).collect();
    let penalty = Penalty { strength: 0.5, sparsity: 0.5 };
    let weighted = System::new(&hidden, &targets, weights, Threads::ONE);
    let repeated = plain(&select_rows(hidden.as_ref(), &rows), &select_rows(targets.as_ref(), &rows));
    let solve = |system: &System| converge(system, penalty, Pull::suited_to(penalty), 50_000).0;
    close("weights", &solve(&weighted), &solve(&repeated), 1e-7);
}

#[test]
fn extreme_inputs_saturate_the_neurons() {
    let layer = Layer::draw(3, 50, 1);
    let far = Mat::from_fn(2, 3, |n, d| if n == 0 { f64::MAX } else { -1e300 * d as f64 });
    let out = layer.output(far, Threads::ONE);
    assert!((0..50).all(|j| out.col_as_slice(j).iter().all(|h| (0.0..=1.0).contains(h))));
}

/// The whole method on data with a wild row in each fold: near the truth, which squares are not.
#[test]
fn a_robust_fit_ignores_wild_rows() {
    let inputs = uniform(60, 2, 15);
    let truth = |x: &Mat<f64>, n: usize| (2.0 * x[(n, 0)]).sin() + x[(n, 1)];
    let targets = Mat::from_fn(60, 1, |n, _| if n % 9 == 4 { 25.0 } else { truth(&inputs, n) });
    let data = Dataset::new(inputs, targets).unwrap();
    let plan = Plan { grid: Grid::Coarse, ..Plan::seeded(3) };
    let fitted = GorElm { neurons: 80, ..GorElm::PAPER }.fit(&data, &plan).unwrap();
    let questions = uniform(30, 2, 16);
    let forecast = fitted.predict(questions.as_ref()).unwrap();
    let error = (0..30).map(|n| (forecast.mean[(n, 0)] - truth(&questions, n)).abs()).sum::<f64>() / 30.0;
    // The wild rows lift the mean of the targets by three.
    assert!(error < 1.0, "{error}");
    assert!(fitted.active_features().is_some_and(|count| count <= 80));
    assert_eq!(fitted.chosen().len(), 2);
}

#[test]
fn extreme_tables_give_numbers_or_errors() {
    survives_extremes(&GorElm { neurons: 30, most_iterations: 200 });
}
