use super::{data, forms, hybrid, joint_std, row, singles, table};
use crate::data::Dataset;
use crate::explain::Explainer;
use crate::linalg::{Cholesky, Mat, Threads, dot, fill_upper, multiply, select_rows};
use crate::model::{Function, Model, fit};
use crate::settings::{Form, Settings};

/// Weight of each coalition in the Shapley value of a player: plus with it, minus without it.
fn shapley_weight(coalition: usize, player: usize, players: usize) -> f64 {
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let with = coalition >> player & 1 == 1;
    let others = (coalition & !(1 << player)).count_ones() as usize;
    let weight = factorial(others) * factorial(players - others - 1) / factorial(players);
    if with { weight } else { -weight }
}

/// All hybrid rows and their weights in the value of a player.
pub(super) fn functional(
    to: &[f64],
    from: &[Vec<f64>],
    columns: &[Vec<usize>],
    player: usize,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let players = columns.len();
    let coalitions = || 0..1usize << players;
    let points = from.iter().flat_map(|from| coalitions().map(|s| hybrid(to, from, columns, s))).collect();
    let weights = from.iter().flat_map(|_| coalitions().map(|s| shapley_weight(s, player, players)));
    (points, weights.map(|w| w / from.len() as f64).collect())
}

/// All coalitions, all background rows: players×C.
pub(super) fn brute_force(model: &Model, to: &[f64], from: &[Vec<f64>], columns: &[Vec<usize>]) -> Mat<f64> {
    let mut out = Mat::zeros(columns.len(), model.target_names().len());
    for player in 0..columns.len() {
        let (points, weights) = functional(to, from, columns, player);
        let values = model.predict_mean(table(&points).as_ref()).unwrap();
        for c in 0..out.ncols() {
            out[(player, c)] = weights.iter().enumerate().map(|(i, w)| w * values[(i, c)]).sum();
        }
    }
    out
}

#[test]
fn values_are_those_of_all_coalitions_and_add_up() {
    for inputs in [1, 2, 5, 8] {
        let data = data(14, inputs, inputs as u64);
        for (form, model) in forms(&data) {
            let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
            let rows = data.inputs().subrows(0, 3).to_owned();
            let shapley = explainer.shapley(rows.as_ref(), 6).unwrap();
            assert_eq!(shapley.background.len(), 6);
            let from: Vec<Vec<f64>> = shapley.background.iter().map(|&n| row(data.inputs(), n)).collect();
            let means = model.predict_mean(table(&from).as_ref()).unwrap();
            let without_rows = explainer.shapley(rows.as_ref().subrows(0, 0), 6).unwrap();
            for c in 0..2 {
                let wanted = means.col_as_slice(c).iter().sum::<f64>() / 6.0;
                for found in [shapley.base[c], without_rows.base[c]] {
                    assert!((found - wanted).abs() < 1e-9, "{form}, {inputs} inputs: {found}, not {wanted}");
                }
            }
            for i in 0..3 {
                let expected = brute_force(&model, &row(rows.as_ref(), i), &from, &singles(inputs));
                for c in 0..2 {
                    let mut sum = shapley.base[c] - shapley.prediction[(i, c)];
                    for d in 0..inputs {
                        let (found, wanted) = (shapley.values[c][(i, d)], expected[(d, c)]);
                        assert!((found - wanted).abs() < 1e-9, "{form}, {inputs} inputs: {found}, not {wanted}");
                        sum += found;
                    }
                    assert!(sum.abs() < 1e-9, "{form}, {inputs} inputs: off by {sum}");
                }
            }
        }
    }
}

#[test]
fn deviations_are_those_of_the_joint_covariance() {
    for inputs in [1, 3, 5] {
        let data = data(14, inputs, 20 + inputs as u64);
        for (form, model) in forms(&data) {
            let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
            // One training row and one that is none.
            let rows =
                Mat::from_fn(2, inputs, |i, d| if i == 0 { data.inputs()[(0, d)] } else { 0.3 * d as f64 - 0.5 });
            let shapley = explainer.shapley_with_std(rows.as_ref(), 3).unwrap();
            let std = shapley.std.as_ref().unwrap();
            let from: Vec<Vec<f64>> = shapley.background.iter().map(|&n| row(data.inputs(), n)).collect();
            for i in 0..2 {
                for d in 0..inputs {
                    let (points, weights) = functional(&row(rows.as_ref(), i), &from, &singles(inputs), d);
                    let expected = joint_std(&model, &points, &weights);
                    for c in 0..2 {
                        let (found, wanted) = (std[c][(i, d)], expected[c]);
                        let error = (found - wanted).abs() / wanted.max(1e-3);
                        assert!(error < 1e-6, "{form}, {inputs} inputs: {found}, not {wanted}");
                    }
                }
            }
        }
    }
}

/// Mean and covariance at some points of the Gaussian process of a task had one training row not been there: solved
/// again from the other rows.
fn without_row(model: &Model, data: &Dataset, left: usize, task: usize, points: &[Vec<f64>]) -> (Vec<f64>, Mat<f64>) {
    let Function::Kernel(machines) = &model.function else { panic!("not a kernel machine") };
    let (machine, place) = machines.of(task);
    let (scale, shift) = (model.target_std()[task], model.target_shift()[task]);
    let others: Vec<usize> = (0..data.rows()).filter(|&n| n != left && !data.targets()[(n, task)].is_nan()).collect();
    let inputs = select_rows(machine.inputs.as_ref().as_ref(), &others);
    let points = model.standardised_inputs(table(points).as_ref()).unwrap();
    let mut gram = machine.kernel.gram(&inputs, Threads::ONE);
    (0..others.len()).for_each(|i| gram[(i, i)] += machine.noise[place]);
    let factor = Cholesky::new(gram, Threads::ONE).unwrap();
    let mut half = machine.kernel.cross(&inputs, points.as_ref(), Threads::ONE);
    factor.half_solve(half.as_mut());
    let mut y = Mat::from_fn(others.len(), 1, |i, _| (data.targets()[(others[i], task)] - shift) / scale);
    factor.half_solve(y.as_mut());
    let mean = (0..points.nrows()).map(|i| shift + scale * dot(half.col_as_slice(i), y.col_as_slice(0))).collect();
    let mut covariance = machine.kernel.gram(&points, Threads::ONE);
    fill_upper(covariance.as_mut());
    covariance -= multiply(half.as_ref().transpose(), half.as_ref(), Threads::ONE);
    (mean, super::scaled(covariance, scale * scale * machine.amplitude[place]))
}

#[test]
fn what_is_left_out_is_explained_by_the_other_rows() {
    let data = data(14, 3, 31);
    for (form, model) in forms(&data) {
        // These have coefficients that are not those of their kernel.
        if form.ends_with("alone") {
            continue;
        }
        let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
        let left_out = model.leave_one_out(&data).unwrap();
        let rows = [0, 3, 9];
        let found = explainer.shapley_left_out(&left_out, &rows, 5, true).unwrap();
        let from: Vec<Vec<f64>> = found.background.iter().map(|&n| row(data.inputs(), n)).collect();
        let std = found.std.as_ref().unwrap();
        for (i, &n) in rows.iter().enumerate() {
            for (c, std) in std.iter().enumerate() {
                let sum: f64 = (0..3).map(|d| found.values[c][(i, d)]).sum();
                assert_eq!(found.prediction[(i, c)], left_out.mean[(n, c)]);
                assert!((found.base[(i, c)] + sum - left_out.mean[(n, c)]).abs() < 1e-9, "{form}");
                if !matches!(model.function, Function::Kernel(_)) {
                    continue;
                }
                let (base, _) = without_row(&model, &data, n, c, &from);
                let base = base.iter().sum::<f64>() / base.len() as f64;
                assert!((found.base[(i, c)] - base).abs() < 1e-7, "{form}: {} {base}", found.base[(i, c)]);
                for d in 0..3 {
                    let (points, weights) = functional(&row(data.inputs(), n), &from, &singles(3), d);
                    let (mean, covariance) = without_row(&model, &data, n, c, &points);
                    let (value, wanted) = (found.values[c][(i, d)], dot(&mean, &weights));
                    assert!((value - wanted).abs() < 1e-7, "{form}, row {n}: {value}, not {wanted}");
                    let spread: f64 =
                        (0..weights.len()).map(|k| weights[k] * dot(covariance.col_as_slice(k), &weights)).sum();
                    let (value, wanted) = (std[(i, d)], spread.max(0.0).sqrt());
                    assert!((value - wanted).abs() < 1e-5 * wanted.max(1e-3), "{form}: std {value}, not {wanted}");
                }
            }
        }
    }
}

/// The same of cosines: a model whose only change is that one target is not there, at the precisions of the first.
#[test]
fn cosines_forget_a_row_as_their_leave_one_out_does() {
    let data = data(14, 3, 32);
    for (form, model) in forms(&data) {
        let Some(waves) = model.function.waves().filter(|_| form != "sinusoids") else { continue };
        let inputs = model.standardised_inputs(data.inputs()).unwrap();
        let design = waves.features(inputs.as_ref());
        let left_out = model.leave_one_out(&data).unwrap();
        let fitted = model.predict_mean(data.inputs()).unwrap();
        for (c, directions) in waves.posterior.directions(&design, Threads::ONE).iter().enumerate() {
            let tau = waves.posterior.tau[c];
            let alpha = &waves.posterior.precision;
            for n in (0..14).filter(|&n| !data.targets()[(n, c)].is_nan()) {
                // (Φᵀτ Φ + A)⁻¹Φᵀτ y over the other rows.
                let others: Vec<usize> = (0..14).filter(|&m| m != n && !data.targets()[(m, c)].is_nan()).collect();
                let rest = select_rows(design.as_ref(), &others);
                let mut gram = multiply(rest.as_ref().transpose(), rest.as_ref(), Threads::ONE);
                gram = super::scaled(gram, tau);
                alpha.iter().enumerate().for_each(|(k, a)| gram[(k, k)] += a);
                let (scale, shift) = (model.target_std()[c], model.target_shift()[c]);
                let y = Mat::from_fn(others.len(), 1, |i, _| tau * (data.targets()[(others[i], c)] - shift) / scale);
                let mut weights = multiply(rest.as_ref().transpose(), y.as_ref(), Threads::ONE);
                let factor = Cholesky::new(gram, Threads::ONE).unwrap();
                factor.half_solve(weights.as_mut());
                factor.half_solve_transposed(weights.as_mut());
                let fall = (fitted[(n, c)] - left_out.mean[(n, c)]) / scale;
                for k in 0..alpha.len() {
                    let found = waves.posterior.mean[(k, c)] - fall * directions[(k, n)];
                    assert!((found - weights[(k, 0)]).abs() < 1e-6, "{form}: {found}, not {}", weights[(k, 0)]);
                }
            }
        }
    }
}

/// The deviations of a report take a second of the processor, and the values that are computed with them another one: with one
/// input the pairs of rows for the deviations are cheap, but the kernel has a term for every training row.
#[test]
fn deviations_of_a_report_are_against_no_more_rows_than_their_values_can_be() {
    let data = data(300, 1, 5);
    let model = fit(&data, &Settings { max_iterations: 2, form: Form::Kernel, ..Settings::DEFAULT }).unwrap();
    let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
    // Eight nanoseconds for a row, a background row, a term and an input.
    let seconds = |rows: usize, against: usize| 8e-9 * (rows * against * 300 * model.kernels().len()) as f64;
    for rows in [100, 1000, 5000, 20_000] {
        let against = explainer.affordable_sample_with_std(rows).unwrap();
        assert!(seconds(rows, against) <= 1.0, "{rows} rows against {against}");
        assert!(against == 300 || seconds(rows, against + 1) > 1.0, "{rows} rows against {against} only");
    }
}
