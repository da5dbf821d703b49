//! The oracles: solutions of scikit-learn, optimality conditions, the ordinary lasso, the top of the path.

use super::solver::{Limits, Path};
use super::{Points, Prepared, scan};
use crate::golden::{golden, matrix, vector};
use crate::select::Grid;
use rffblr::data::Dataset;
use rffblr::internals::multiply;
use rffblr::linalg::{Mat, Threads};

const TIGHT: Limits = Limits { gap: 1e-12, rounds: 200 };

fn centred(table: &Mat<f64>) -> (Mat<f64>, Vec<f64>) {
    let rows = table.nrows() as f64;
    let means: Vec<f64> = (0..table.ncols()).map(|c| table.col_as_slice(c).iter().sum::<f64>() / rows).collect();
    (Mat::from_fn(table.nrows(), table.ncols(), |i, c| table[(i, c)] - means[c]), means)
}

fn full(path: &Path<'_>, features: usize, tasks: usize) -> Mat<f64> {
    let (members, rows) = path.selected();
    let mut weights = Mat::zeros(features, tasks);
    for (k, &j) in members.iter().enumerate() {
        (0..tasks).for_each(|c| weights[(j, c)] = rows[(k, c)]);
    }
    weights
}

fn row(table: &Mat<f64>, j: usize) -> f64 {
    (0..table.ncols()).map(|c| table[(j, c)].powi(2)).sum::<f64>().sqrt()
}

/// The smallest λ for which all weights are zero: maxⱼ ‖φⱼᵀY‖/N.
fn largest_penalty(phi: &Mat<f64>, y: &Mat<f64>) -> f64 {
    let slope = multiply(phi.as_ref().transpose(), y.as_ref(), Threads::ONE);
    (0..slope.nrows()).map(|j| row(&slope, j)).fold(0.0, f64::max) / phi.nrows() as f64
}

/// 1/(2N)‖Y − ΦW − 1bᵀ‖² + λ Σ‖wⱼ‖ by its definition.
fn objective(phi: &Mat<f64>, y: &Mat<f64>, w: &Mat<f64>, b: &[f64], penalty: f64) -> f64 {
    let fit = multiply(phi.as_ref(), w.as_ref(), Threads::ONE);
    let mut square = 0.0;
    for c in 0..y.ncols() {
        for n in 0..y.nrows() {
            square += (y[(n, c)] - fit[(n, c)] - b[c]).powi(2);
        }
    }
    square / (2.0 * y.nrows() as f64) + penalty * (0..w.nrows()).map(|j| row(w, j)).sum::<f64>()
}

/// Twenty features of twelve rows: more unknowns than equations.
fn example(tasks: usize) -> (Mat<f64>, Mat<f64>) {
    let phi = Mat::from_fn(12, 20, |n, j| ((n * n * 3 + j * 7) as f64 * 0.31 + (n * j) as f64 * 0.17).cos());
    let y = Mat::from_fn(12, tasks, |n, c| phi[(n, 3)] - 0.5 * phi[(n, 11)] + 0.3 * ((n * 5 + c * c) as f64).sin());
    (centred(&phi).0, centred(&y).0)
}

#[test]
fn every_solution_of_the_golden_file() {
    let file = golden("mtfl.json");
    let (raw, targets) = (matrix(&file["Phi"]), matrix(&file["Y"]));
    let ((phi, phi_means), (y, y_means)) = (centred(&raw), centred(&targets));
    let mut path = Path::new(&phi, &y);
    let top = file["lam_max"].as_f64().unwrap();
    assert!((largest_penalty(&phi, &y) - top).abs() < 1e-12);
    let mut cases: Vec<_> = file["cases"].as_array().unwrap().iter().collect();
    let penalty_of = |case: &serde_json::Value| case["lam"].as_f64().unwrap();
    cases.sort_by(|a, b| penalty_of(b).total_cmp(&penalty_of(a)));
    assert_eq!(cases.len(), 6);
    for case in cases {
        let penalty = penalty_of(case);
        let gap = path.solve(penalty, TIGHT);
        let w = full(&path, 12, 3);
        let b: Vec<f64> = (0..3).map(|c| y_means[c] - (0..12).map(|j| phi_means[j] * w[(j, c)]).sum::<f64>()).collect();
        let found = objective(&raw, &targets, &w, &b, penalty);
        let (theirs, expected) = (matrix(&case["W"]), case["obj"].as_f64().unwrap());
        let theirs_again = objective(&raw, &targets, &theirs, &vector(&case["b"]), penalty);
        assert!((theirs_again - expected).abs() < 1e-9, "λ {penalty}: the fixture is read wrongly");
        assert!((found - expected).abs() < 1e-8, "λ {penalty}: {found}, expected {expected}, gap {gap}");
    }
}

/// φⱼᵀR/N = λwⱼ/‖wⱼ‖ where wⱼ ≠ 0, and no longer than λ elsewhere.
#[test]
fn solutions_meet_the_optimality_conditions() {
    let (phi, y) = example(3);
    let mut path = Path::new(&phi, &y);
    for penalty in [0.2, 0.05, 0.01, 0.001] {
        path.solve(penalty, TIGHT);
        let w = full(&path, 20, 3);
        let fit = multiply(phi.as_ref(), w.as_ref(), Threads::ONE);
        let residual = Mat::from_fn(12, 3, |n, c| y[(n, c)] - fit[(n, c)]);
        let slope = multiply(phi.as_ref().transpose(), residual.as_ref(), Threads::ONE);
        for j in 0..20 {
            let length = row(&w, j);
            for c in (0..3).filter(|_| length > 0.0) {
                let expected = penalty * w[(j, c)] / length;
                assert!((slope[(j, c)] / 12.0 - expected).abs() < 1e-5 * penalty.max(0.01), "{penalty} {j} {c}");
            }
            assert!(row(&slope, j) / 12.0 <= penalty * (1.0 + 1e-3), "{penalty} {j}");
        }
        assert!((0..20).any(|j| row(&w, j) > 0.0));
    }
}

/// The gap bounds the distance to the minimum from above, at every accuracy asked for.
#[test]
fn the_gap_is_a_bound_and_is_reached() {
    let (phi, y) = example(2);
    let energy: f64 = (0..2).flat_map(|c| y.col_as_slice(c)).map(|v| v * v).sum();
    for penalty in [0.1, 0.003] {
        let mut path = Path::new(&phi, &y);
        path.solve(penalty, TIGHT);
        let least = 12.0 * objective(&phi, &y, &full(&path, 20, 2), &[0.0; 2], penalty);
        for gap in [1e-1, 1e-2, 1e-4, 1e-6] {
            let mut path = Path::new(&phi, &y);
            let goal = gap * energy;
            let gap = path.solve(penalty, Limits { gap, rounds: 200 });
            let value = 12.0 * objective(&phi, &y, &full(&path, 20, 2), &[0.0; 2], penalty);
            assert!(gap <= goal, "gap {gap}");
            assert!(value - least <= gap + 1e-9 && value >= least - 1e-9, "{value} {least} gap {gap}");
        }
    }
}

/// With one task: the plain lasso, solved by proximal gradient steps on all features.
#[test]
fn one_task_is_the_lasso() {
    let (phi, y) = example(1);
    let penalty = 0.02;
    let mut path = Path::new(&phi, &y);
    path.solve(penalty, TIGHT);
    let found = objective(&phi, &y, &full(&path, 20, 1), &[0.0], penalty);
    let mut w = Mat::<f64>::zeros(20, 1);
    // ‖Φ‖² is at most the sum of the squares.
    let step = 1.0 / (0..20).map(|j| phi.col_as_slice(j).iter().map(|v| v * v).sum::<f64>()).sum::<f64>();
    for _ in 0..50_000 {
        let fit = multiply(phi.as_ref(), w.as_ref(), Threads::ONE);
        for j in 0..20 {
            let slope: f64 = (0..12).map(|n| phi[(n, j)] * (y[(n, 0)] - fit[(n, 0)])).sum();
            let moved = w[(j, 0)] + step * slope;
            w[(j, 0)] = moved.signum() * (moved.abs() - step * 12.0 * penalty).max(0.0);
        }
    }
    let expected = objective(&phi, &y, &w, &[0.0], penalty);
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

#[test]
fn at_the_top_of_the_path_nothing_is_selected_and_just_below_it_something_is() {
    let (phi, y) = example(3);
    let mut path = Path::new(&phi, &y);
    let top = largest_penalty(&phi, &y);
    for penalty in [1e5, 2.0 * top, top] {
        path.solve(penalty, TIGHT);
        assert!(path.selected().0.is_empty(), "{penalty}");
    }
    path.solve(0.99 * top, TIGHT);
    assert_eq!(path.selected().0.len(), 1);
}

/// A warm path and a cold start end at the same objective.
#[test]
fn the_path_does_not_matter() {
    let (phi, y) = example(2);
    let mut warm = Path::new(&phi, &y);
    for penalty in [0.3, 0.1, 0.03, 0.01, 0.003] {
        warm.solve(penalty, TIGHT);
        let mut cold = Path::new(&phi, &y);
        cold.solve(penalty, TIGHT);
        let value = |path: &Path<'_>| objective(&phi, &y, &full(path, 20, 2), &[0.0; 2], penalty);
        assert!((value(&warm) - value(&cold)).abs() < 1e-9, "{penalty}");
    }
}

/// The average of 2 φ(x)φ(x') over many draws is exp(−γ‖x − x'‖²).
#[test]
fn features_give_the_kernel() {
    let x = Mat::from_fn(10, 2, |n, d| ((n * 5 + d * 3) as f64).sin() * 2.0);
    let data = Dataset::new(x.clone(), x.clone()).unwrap();
    let z = rffblr::data::Standardiser::new(x.as_ref(), None).apply(x.as_ref(), data.input_names()).unwrap();
    let (mut sum, seeds) = (Mat::<f64>::zeros(10, 10), 5000);
    for seed in 0..seeds {
        let prepared = Prepared::new(&data, seed).unwrap();
        let (mut phi, means) = prepared.features(-1);
        for (j, mean) in means.iter().enumerate() {
            phi.col_as_slice_mut(j).iter_mut().for_each(|v| *v += mean);
        }
        sum += multiply(phi.as_ref(), phi.as_ref().transpose(), Threads::ONE);
    }
    for i in 0..10 {
        for j in 0..10 {
            let square: f64 = (0..2).map(|d| (z[(i, d)] - z[(j, d)]).powi(2)).sum();
            let found = 2.0 * sum[(i, j)] / (20 * seeds) as f64;
            assert!((found - (-0.25 * square).exp()).abs() < 0.02, "{found}");
        }
    }
}

/// What the grid reports for a point is the model of that point on its own, with its intercept and scales.
#[test]
fn the_grid_reports_every_point_once() {
    let x = Mat::from_fn(30, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
    let y = Mat::from_fn(30, 2, |n, c| 50.0 + 9.0 * (2.0 * x[(n, c)]).sin() + ((n * 7 + c) as f64).cos());
    let data = Dataset::new(x.clone(), y).unwrap();
    let points = Points::new(Grid::Full);
    assert_eq!(points.count(), 121);
    let coarse = Points::new(Grid::Coarse);
    assert!(coarse.penalties.iter().all(|p| points.penalties.contains(p)));
    assert!(coarse.bandwidths.iter().all(|b| points.bandwidths.contains(b)));
    let mut reported: Vec<Option<Mat<f64>>> = vec![None; points.count()];
    scan(&points, 3, &data, data.inputs(), &mut |index, predictions| {
        assert!(reported[index].replace(predictions).is_none());
    })
    .unwrap();
    let prepared = Prepared::new(&data, 3).unwrap();
    let (p, b) = (7, 8);
    let (phi, _) = prepared.features(points.bandwidths[b]);
    let mut path = Path::new(&phi, &prepared.targets);
    path.solve(super::penalty(points.penalties[p]), TIGHT);
    let fit = multiply(phi.as_ref(), full(&path, 60, 2).as_ref(), Threads::ONE);
    let found = reported[points.index(p, b)].as_ref().unwrap();
    for c in 0..2 {
        let (mean, scale) = (prepared.scales.targets.mean[c], prepared.scales.targets.scale[c]);
        for n in 0..30 {
            assert!((found[(n, c)] - mean - scale * fit[(n, c)]).abs() < 0.2, "{n} {c}");
        }
        // The largest penalty selects nothing.
        assert!(reported[0].as_ref().unwrap().col_as_slice(c).iter().all(|v| (v - mean).abs() < 1e-12));
    }
}
