use super::{data, forms, hybrid, joint_std, row, singles, table};
use crate::explain::Explainer;
use crate::linalg::Mat;
use crate::model::Model;

/// Weight of each coalition in the Shapley value of a player: plus with it, minus without it.
fn shapley_weight(coalition: usize, player: usize, players: usize) -> f64 {
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let with = coalition >> player & 1 == 1;
    let others = (coalition & !(1 << player)).count_ones() as usize;
    let weight = factorial(others) * factorial(players - others - 1) / factorial(players);
    if with { weight } else { -weight }
}

/// All hybrid rows and their weights in the value of a player.
fn functional(to: &[f64], from: &[Vec<f64>], columns: &[Vec<usize>], player: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
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
