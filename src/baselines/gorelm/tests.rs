//! The golden file, the duality gap, a linear program and limiting cases.

use super::admm::{Admm, Penalty, Pull, Tolerance};
use super::path::{Stopping, solve_all};
use super::system::System;
use crate::golden::{golden, matrix};
use crate::linalg::{Mat, Threads, multiply, select_rows};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

const ONE: Pull = Pull { error: 1.0, weights: 1.0 };
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
    let q = cut_rows(&admm.sparse_dual, pull.weights, |_| penalty.strength * penalty.sparsity);
    (admm.solution(0), p, q)
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
    let Some(file) = golden("gorelm.json") else { return };
    let (hidden, targets) = golden_data(&file);
    let expected = &file["three_iters"];
    let penalty = Penalty { strength: number(&expected["lam"]), sparsity: number(&expected["alpha"]) };
    let pull = Pull { error: number(&expected["rho"]), weights: number(&expected["rho"]) };
    let system = plain(&hidden, &targets);
    // A second problem beside it must not disturb it.
    let other = (Penalty { strength: 3.0, sparsity: 1.0 }, Pull { error: 2.0, weights: 0.5 });
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
    let Some(file) = golden("gorelm.json") else { return };
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
