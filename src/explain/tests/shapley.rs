use super::{data, forms, hybrid, row, table};
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

/// All coalitions, all background rows: players×C.
fn brute_force(model: &Model, to: &[f64], from: &[Vec<f64>], share: &[f64], columns: &[Vec<usize>]) -> Mat<f64> {
    let players = columns.len();
    let mut out = Mat::zeros(players, model.target_names().len());
    for (from, share) in from.iter().zip(share) {
        let rows: Vec<Vec<f64>> = (0..1 << players).map(|s| hybrid(to, from, columns, s)).collect();
        let values = model.predict_mean(table(&rows).as_ref()).unwrap();
        for coalition in 0..1 << players {
            for player in 0..players {
                let weight = share * shapley_weight(coalition, player, players);
                for c in 0..out.ncols() {
                    out[(player, c)] += weight * values[(coalition, c)];
                }
            }
        }
    }
    out
}

#[test]
fn values_are_those_of_all_coalitions() {
    for inputs in [1, 2, 5, 8] {
        let data = data(14, inputs, inputs as u64);
        for (form, model) in forms(&data) {
            let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
            let rows = data.inputs().subrows(0, 3).to_owned();
            let shapley = explainer.shapley(rows.as_ref(), 6).unwrap();
            assert_eq!(shapley.background.len(), 6);
            let from: Vec<Vec<f64>> = shapley.background.iter().map(|&n| row(data.inputs(), n)).collect();
            let columns: Vec<Vec<usize>> = (0..inputs).map(|d| vec![d]).collect();
            for i in 0..3 {
                let expected = brute_force(&model, &row(rows.as_ref(), i), &from, &[1.0 / 6.0; 6], &columns);
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
