//! The golden file, the two forms against each other, the evidence by its definition, and limiting cases.

use super::evidence::{Climb, Design, Moment, Posterior, Relevance, Rule, maximise};
use super::{Layer, PER_ROW, SbElm, Training, grid};
use crate::baselines::extremes::survives_extremes;
use crate::golden::{golden, matrix, vector};
use crate::method::{Chosen, Method};
use crate::select::{Grid, Plan};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rffblr::data::Dataset;
use rffblr::internals::{Cholesky, dot, multiply, scale_columns, scale_rows, select_columns, select_rows};
use rffblr::linalg::{Mat, Threads};
use serde_json::Value;
use std::f64::consts::TAU;

fn normal(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() < tolerance * e.abs().max(1.0), "{what}: {f} for {e}");
    }
}

/// C = I/β + ΦA⁻¹Φᵀ.
fn covariance(features: &Mat<f64>, precisions: &[f64], noise: f64) -> Mat<f64> {
    let mut scaled = features.clone();
    scale_columns(&mut scaled, |m| 1.0 / precisions[m]);
    let mut c = multiply(scaled.as_ref(), features.as_ref().transpose(), Threads::ONE);
    (0..c.nrows()).for_each(|n| c[(n, n)] += 1.0 / noise);
    c
}

/// ln N(t | 0, C).
fn ln_density(features: &Mat<f64>, targets: &[f64], precisions: &[f64], noise: f64) -> f64 {
    let factor = Cholesky::new(covariance(features, precisions, noise), Threads::ONE).unwrap();
    let mut y = Mat::from_fn(targets.len(), 1, |n, _| targets[n]);
    factor.half_solve(y.as_mut());
    -0.5 * (targets.len() as f64 * TAU.ln() + factor.ln_det() + dot(y.col_as_slice(0), y.col_as_slice(0)))
}

/// Weights spread over all features, zero where one has left.
fn spread(relevance: &Relevance, count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    relevance.active.iter().zip(&relevance.weights).for_each(|(&m, w)| out[m] = *w);
    out
}

/// The posterior in one of the two forms.
fn moment(climb: &mut Climb<'_>, by_rows: bool) -> Moment {
    let threads = Threads::ONE;
    let spread = if by_rows { climb.spread_by_rows(threads) } else { climb.spread_by_features(threads) };
    spread.unwrap().moment(climb, threads)
}

/// One task alone.
fn maximise_one(features: &Mat<f64>, targets: &[f64], mass: f64, rule: Rule) -> Relevance {
    let targets = Mat::from_fn(targets.len(), 1, |n, _| targets[n]);
    maximise(features, &targets, mass, rule, Threads::ONE).remove(0)
}

#[test]
fn the_first_step_of_the_golden_file_in_both_forms() {
    let file = golden("sbelm.json");
    for (case, expected) in [(&file, &file["iter1"]), (&file["wide"], &file["wide"])] {
        let (features, targets) = (matrix(&case["Phi"]), vector(&case["t"]));
        let (precision, noise) = (number(&case["alpha0"]), number(&case["beta0"]));
        let evidence = ln_density(&features, &targets, &vec![precision; features.ncols()], noise);
        assert!((evidence - number(&expected["log_evidence"])).abs() < 1e-10);
        for by_rows in [false, true] {
            let design = Design::new(&features);
            let mut climb = Climb::new(&design, &targets, targets.len() as f64, precision, noise);
            let moment = moment(&mut climb, by_rows);
            climb.update(&moment, f64::INFINITY);
            close("mu", &moment.weights, &vector(&expected["mu"]), 1e-10);
            close("alpha", &climb.precisions, &vector(&expected["alpha"]), 1e-9);
            close("beta", &[climb.noise], &[number(&expected["beta"])], 1e-10);
        }
    }
}

/// The golden fixed point, which scikit-learn's `ARDRegression` shares.
#[test]
fn the_fixed_point_of_the_golden_file() {
    let file = golden("sbelm.json");
    let (features, targets) = (matrix(&file["Phi"]), vector(&file["t"]));
    let mean = targets.iter().sum::<f64>() / 25.0;
    let variance = targets.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 25.0;
    assert!((number(&file["beta0"]) - 1.0 / variance).abs() < 1e-12);
    let design = Design::new(&features);
    let mut climb = Climb::new(&design, &targets, 25.0, number(&file["alpha0"]), number(&file["beta0"]));
    for _ in 0..2000 {
        let moment = climb.moment(Threads::ONE).unwrap();
        climb.update(&moment, f64::INFINITY);
        climb.prune(1e9);
    }
    let moment = climb.moment(Threads::ONE).unwrap();
    let mut weights = vec![0.0; 10];
    climb.active.iter().zip(&moment.weights).for_each(|(&m, w)| weights[m] = *w);
    for (name, tolerance) in [("converged", 1e-9), ("sklearn", 1e-8)] {
        close(name, &weights, &vector(&file[name]["w"]), tolerance);
        close(name, &[climb.noise], &[number(&file[name]["beta"])], 1e-7);
    }
    let kept = select_columns(features.as_ref(), &climb.active);
    let evidence = ln_density(&kept, &targets, &climb.precisions, climb.noise);
    assert!((evidence - number(&file["converged"]["log_evidence"])).abs() < 1e-7, "{evidence}");
    // The usual start and stop come out near it: t is not quite centred, so β starts elsewhere.
    let usual = maximise_one(&features, &targets, 25.0, Rule::USUAL);
    close("usual", &spread(&usual, 10), &vector(&file["converged"]["w"]), 1e-2);
}

/// Both forms give the same posterior and the same step at any α and β, with row weights too.
#[test]
fn primal_is_dual() {
    for (rows, count) in [(12, 5), (8, 20), (9, 9)] {
        let mut features = normal(rows, count, 1);
        let mut targets = normal(rows, 1, 2);
        let root: Vec<f64> = (0..rows).map(|n| [1.0, 2f64.sqrt(), 0.0][n % 3]).collect();
        scale_rows(&mut features, &root);
        scale_rows(&mut targets, &root);
        let mass = dot(&root, &root);
        let design = Design::new(&features);
        let step = |by_rows: bool| {
            let mut climb = Climb::new(&design, targets.col_as_slice(0), mass, 1.0, 3.0);
            climb.precisions = (0..count).map(|m| 10f64.powi(m as i32 % 7 - 2)).collect();
            let moment = moment(&mut climb, by_rows);
            climb.update(&moment, f64::INFINITY);
            (moment, climb)
        };
        let ((rows_moment, rows_climb), (moment, climb)) = (step(true), step(false));
        close("mu", &rows_moment.weights, &moment.weights, 1e-11);
        close("g", &rows_moment.determined, &moment.determined, 1e-11);
        close("beta", &[rows_climb.noise], &[climb.noise], 1e-9);
    }
}

/// Tasks that share their start and ΦᵀΦ find what each finds alone, by rows as long as there are more features than rows
/// and by features of its own afterwards.
#[test]
fn sharing_changes_nothing() {
    let (rows, count) = (60, 121);
    let features = normal(rows, count, 30);
    let noise = normal(rows, 3, 31);
    let mut targets = Mat::from_fn(rows, 3, |n, c| features[(n, c)] - 0.4 * features[(n, 7)] + 0.5 * noise[(n, c)]);
    for c in 0..3 {
        let root = (dot(targets.col_as_slice(c), targets.col_as_slice(c)) / rows as f64).sqrt();
        // The last has another variance, and so a start of its own.
        let scale = if c == 2 { 2.0 } else { 1.0 };
        targets.col_as_slice_mut(c).iter_mut().for_each(|t| *t *= scale / root);
    }
    let rule = Rule { first_precision: 60.0, ..Rule::USUAL };
    let found = maximise(&features, &targets, rows as f64, rule, Threads::ONE);
    for (c, found) in found.iter().enumerate() {
        let targets = targets.col_as_slice(c);
        let variance = dot(targets, targets) / rows as f64;
        let design = Design::new(&features);
        let mut climb = Climb::new(&design, targets, rows as f64, 60.0, 1.0 / variance);
        let mut now = moment(&mut climb, true);
        let mut forms = [0; 2];
        for _ in 0..rule.most_iterations {
            let moved = climb.update(&now, rule.largest_noise_precision / variance);
            climb.prune(rule.largest_precision);
            let by_rows = climb.active.len() > rows;
            forms[usize::from(by_rows)] += 1;
            now = moment(&mut climb, by_rows);
            if moved < rule.tolerance {
                break;
            }
        }
        assert!(forms[0] > 0 && forms[1] > 0, "{forms:?}");
        assert_eq!(found.active, climb.active);
        close("weights", &found.weights, &now.weights, 1e-9);
        close("precisions", &found.precisions, &climb.precisions, 1e-7);
        close("noise", &[found.noise_variance], &[1.0 / climb.noise], 1e-9);
    }
}

/// Where the fixed point rests, the density of the targets is stationary in every ln α and in ln β.
#[test]
fn the_fixed_point_is_a_summit_of_the_evidence() {
    for (rows, count) in [(30, 8), (15, 25)] {
        let features = normal(rows, count, 3);
        let noise = normal(rows, 1, 4);
        let targets: Vec<f64> =
            (0..rows).map(|n| features[(n, 0)] - 0.5 * features[(n, 3)] + 0.3 * noise[(n, 0)]).collect();
        let rule = Rule { tolerance: 1e-10, most_iterations: 20_000, ..Rule::USUAL };
        let found = maximise_one(&features, &targets, rows as f64, rule);
        assert!(found.active.contains(&0) && found.active.len() < count, "{:?}", found.active);
        let kept = select_columns(features.as_ref(), &found.active);
        let noise = 1.0 / found.noise_variance;
        let at = |index: usize, step: f64| {
            let mut precisions = found.precisions.clone();
            let mut noise = noise;
            match precisions.get_mut(index) {
                Some(alpha) => *alpha *= step.exp(),
                None => noise *= step.exp(),
            }
            ln_density(&kept, &targets, &precisions, noise)
        };
        let first = ln_density(&features, &targets, &vec![1.0; count], rows as f64 / dot(&targets, &targets));
        assert!(at(0, 0.0) > first);
        for index in 0..=found.active.len() {
            let slope = (at(index, 1e-4) - at(index, -1e-4)) / 2e-4;
            assert!(slope.abs() < 1e-5, "{rows} rows, {index}: {slope}");
        }
    }
}

/// β⁻¹ + φᵀΣφ against the Gaussian process of the same prior, conditioned on the data: k − kᵀC⁻¹k.
#[test]
fn variances_are_those_of_the_gaussian_process() {
    for (rows, count) in [(20, 6), (7, 15)] {
        let (features, questions) = (normal(rows, count, 5), normal(4, count + 2, 6));
        let relevance = Relevance {
            active: (1..=count).collect(),
            precisions: (0..count).map(|m| 0.2 + m as f64).collect(),
            weights: vec![0.0; count],
            noise_variance: 0.3,
        };
        let precisions = relevance.precisions.clone();
        let posterior = Posterior::new(&features, relevance, Threads::ONE).unwrap();
        let found = posterior.variances(&questions);
        let mut scaled = Mat::from_fn(4, count, |n, m| questions[(n, m + 1)]);
        let plain = scaled.clone();
        scale_columns(&mut scaled, |m| 1.0 / precisions[m]);
        let factor = Cholesky::new(covariance(&features, &precisions, 1.0 / 0.3), Threads::ONE).unwrap();
        let mut cross = multiply(features.as_ref(), scaled.as_ref().transpose(), Threads::ONE);
        factor.half_solve(cross.as_mut());
        for n in 0..4 {
            let prior: f64 = (0..count).map(|m| plain[(n, m)] * scaled[(n, m)]).sum();
            let expected = 0.3 + prior - dot(cross.col_as_slice(n), cross.col_as_slice(n));
            assert!((found[n] - expected).abs() < 1e-10, "{} for {expected}", found[n]);
        }
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let (features, targets) = (normal(14, 6, 7), normal(14, 1, 8));
    let rows: Vec<usize> = (0..14).chain([2, 9]).collect();
    let root: Vec<f64> = (0..14).map(|n| if n == 2 || n == 9 { 2f64.sqrt() } else { 1.0 }).collect();
    let (mut weighted, mut weighted_targets) = (features.clone(), targets.clone());
    scale_rows(&mut weighted, &root);
    scale_rows(&mut weighted_targets, &root);
    let (repeated, repeated_targets) = (select_rows(features.as_ref(), &rows), select_rows(targets.as_ref(), &rows));
    let a = maximise_one(&weighted, weighted_targets.col_as_slice(0), 16.0, Rule::USUAL);
    let b = maximise_one(&repeated, repeated_targets.col_as_slice(0), 16.0, Rule::USUAL);
    assert_eq!(a.active, b.active);
    close("weights", &a.weights, &b.weights, 1e-8);
    close("noise", &[a.noise_variance], &[b.noise_variance], 1e-8);
}

#[test]
fn limiting_targets() {
    let features = normal(10, 12, 9);
    let constant = maximise_one(&features, &[0.0; 10], 10.0, Rule::USUAL);
    assert!(constant.active.is_empty() && constant.noise_variance == 0.0);
    // Orthogonal to every feature: all leave, and what remains is noise.
    let ones = Mat::from_fn(10, 3, |n, _| f64::from(n < 5));
    let targets: Vec<f64> =
        (0..10).map(|n| if n % 2 == 0 { 1.0 } else { -1.0 } * f64::from(!(4..=5).contains(&n))).collect();
    let nothing = maximise_one(&ones, &targets, 10.0, Rule::USUAL);
    assert!(nothing.active.is_empty(), "{nothing:?}");
    assert!((nothing.noise_variance - 0.8).abs() < 1e-12);
    // A target the features meet exactly: the noise stops at its bound, and nothing is infinite.
    let exact: Vec<f64> = (0..10).map(|n| features[(n, 2)]).collect();
    let met = maximise_one(&features, &exact, 10.0, Rule::USUAL);
    assert!(met.weights.iter().all(|w| w.is_finite()));
    assert!(met.noise_variance >= 0.99e-6 * dot(&exact, &exact) / 10.0, "{}", met.noise_variance);
}

/// 2 E[φ(x)φ(x')] = exp(−γ‖x − x'‖²): cosines without a factor in front.
#[test]
fn features_approximate_the_kernel() {
    let inputs = normal(6, 3, 10);
    let data = Dataset::new(inputs, normal(6, 1, 11)).unwrap();
    let draws = 4000;
    let mut mean = Mat::<f64>::zeros(6, 6);
    let mut gamma = 0.0;
    let mut training = Training::new(&data, PER_ROW, 0, Threads::ONE).unwrap();
    for seed in 0..draws {
        training = Training::new(&data, PER_ROW, seed, Threads::ONE).unwrap();
        gamma = training.bandwidth(-1);
        let features = training.features(gamma, Threads::ONE);
        assert_eq!(features.ncols(), 13);
        let waves = select_columns(features.as_ref(), &(0..12).collect::<Vec<_>>());
        mean += multiply(waves.as_ref(), waves.as_ref().transpose(), Threads::ONE);
    }
    assert!((gamma - 0.5 / 3.0).abs() < 1e-15);
    let x = &training.problem.inputs;
    for i in 0..6 {
        for j in 0..6 {
            let square: f64 = (0..3).map(|d| (x[(i, d)] - x[(j, d)]).powi(2)).sum();
            let found = 2.0 * mean[(i, j)] / (12.0 * draws as f64);
            assert!((found - (-gamma * square).exp()).abs() < 0.02, "{found} for {}", (-gamma * square).exp());
        }
    }
}

/// At the start the function has the variance of a standardised target, however many cosines there are.
#[test]
fn the_prior_starts_at_unit_variance_of_the_function() {
    let data = Dataset::new(normal(80, 3, 20), normal(80, 1, 21)).unwrap();
    for per_row in [0.5, 2.0, 8.0] {
        let variance = |seed: u64| {
            let training = Training::new(&data, per_row, seed, Threads::ONE).unwrap();
            let features = training.features(training.bandwidth(-1), Threads::ONE);
            assert_eq!(training.first_precision(), 40.0 * per_row);
            let prior = covariance(&features, &vec![40.0 * per_row; features.ncols()], f64::INFINITY);
            (0..80).map(|n| prior[(n, n)]).sum::<f64>() / 80.0
        };
        let mean = (0..100).map(variance).sum::<f64>() / 100.0;
        // The column of ones adds 1/α; squares of cosines are ½ on average.
        assert!((mean - 1.0 - 1.0 / (40.0 * per_row)).abs() < 0.02, "{per_row}: {mean}");
    }
}

#[test]
fn tasks_with_gaps_learn_from_their_own_rows() {
    // A task with gaps is fitted as if the others were not there.
    let inputs = normal(40, 2, 12);
    let targets = Mat::from_fn(40, 2, |n, c| {
        if c == 1 && n % 4 == 0 { f64::NAN } else { (2.0 * inputs[(n, 0)]).sin() + c as f64 * inputs[(n, 1)] }
    });
    let data = Dataset::new(inputs, targets).unwrap();
    let training = Training::new(&data, PER_ROW, 5, Threads::ONE).unwrap();
    let gamma = training.bandwidth(-2);
    let found = training.learn(gamma, Threads::ONE);
    let observed: Vec<usize> = (0..40).filter(|n| n % 4 != 0).collect();
    let features = select_rows(training.features(gamma, Threads::ONE).as_ref(), &observed);
    let scale = &training.scales.targets;
    let alone: Vec<f64> = observed.iter().map(|&n| (data.targets()[(n, 1)] - scale.mean[1]) / scale.scale[1]).collect();
    let rule = Rule { first_precision: 40.0, ..Rule::USUAL };
    let expected = maximise_one(&features, &alone, 30.0, rule);
    assert_eq!(found[1].active, expected.active);
    close("weights", &found[1].weights, &expected.weights, 1e-10);
}

#[test]
fn the_method_counts_the_union_of_features_and_names_its_bandwidth() {
    let inputs = normal(50, 2, 13);
    let noise = normal(50, 2, 14);
    let targets = Mat::from_fn(50, 2, |n, c| (2.0 * inputs[(n, c)]).sin() + 0.1 * noise[(n, c)]);
    let data = Dataset::new(inputs, targets).unwrap();
    let plan = Plan { grid: Grid::Coarse, ..Plan::seeded(1) };
    let fitted = SbElm::PAPER.fit(&data, &plan).unwrap();
    let chosen = fitted.chosen();
    let [("gamma", Chosen::TwoToPerInput(exponent))] = chosen[..] else { panic!("{chosen:?}") };
    assert!(grid(Grid::Coarse).contains(&exponent));
    let training = Training::new(&data, PER_ROW, 1, Threads::ONE).unwrap();
    let mut union: Vec<usize> =
        training.learn(training.bandwidth(exponent), Threads::ONE).into_iter().flat_map(|r| r.active).collect();
    union.sort_unstable();
    union.dedup();
    assert_eq!(fitted.active_features(), Some(union.len()));
    // Predictions of the training rows from the kept features equal those from all of them.
    let forecast = fitted.predict(data.inputs()).unwrap();
    let features = training.features(training.bandwidth(exponent), Threads::ONE);
    for (task, relevance) in training.learn(training.bandwidth(exponent), Threads::ONE).iter().enumerate() {
        let all =
            multiply(features.as_ref(), Mat::from_fn(101, 1, |m, _| spread(relevance, 101)[m]).as_ref(), Threads::ONE);
        let scale = &training.scales.targets;
        for n in 0..50 {
            let expected = scale.mean[task] + scale.scale[task] * all[(n, 0)];
            assert!((forecast.mean[(n, task)] - expected).abs() < 1e-9);
        }
    }
    assert_eq!(grid(Grid::Full).len(), 11);
    // The layer that was chosen, given: the same model. Another one has its own number of cosines.
    assert_eq!(SbElm::choose_exponent(&data, &plan).unwrap(), exponent);
    let given = |per_row: f64| SbElm { layer: Layer::Given { per_row, exponent } }.fit(&data, &plan);
    assert_eq!(given(PER_ROW).unwrap().predict(data.inputs()).unwrap(), forecast);
    assert!(given(0.001).unwrap().active_features().unwrap() <= 2);
    assert!([0.0, -1.0, f64::NAN, f64::INFINITY, 1e9].into_iter().all(|per_row| given(per_row).is_err()));
}

#[test]
fn extreme_tables_give_numbers_or_errors() {
    survives_extremes(&SbElm::PAPER);
}
