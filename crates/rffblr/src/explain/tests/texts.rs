//! A text of many levels, whose columns are looked at cell by cell.

use super::dependence::set;
use super::shapley::{brute_force, functional};
use super::{joint_std, row, rows, table};
use crate::data::{Dataset, MissingInputs, Roles, TrainingTable};
use crate::explain::{Explainer, Input};
use crate::linalg::Mat;
use crate::model::Model;
use crate::settings::{Form, Precision, Settings};
use crate::table::{Column, Table, Values};

const ROWS: usize = 40;
const LEVELS: usize = 11;

/// A text of eleven levels with gaps and a number, two targets; as a kernel machine and as drawn features.
fn encoded() -> (Vec<Model>, Dataset) {
    let code = |n: usize| n * 7 % (LEVELS + 1);
    let text = Values::Text {
        levels: (0..LEVELS).map(|level| format!("level {level}")).chain([String::new()]).collect(),
        codes: (0..ROWS).map(|n| code(n) as u32).collect(),
    };
    let numbers = |name: &str, value: &dyn Fn(usize) -> f64| Column {
        name: name.to_owned(),
        values: Values::Numeric((0..ROWS).map(value).collect()),
    };
    let table = Table::new(vec![
        numbers("size", &|n| (n as f64 * 1.7).cos()),
        Column { name: "text".to_owned(), values: text },
        numbers("y", &|n| (n as f64 * 0.9).sin() + (code(n) % 4) as f64),
        numbers("z", &|n| (n as f64 * 1.7).cos() * (code(n) % 3) as f64),
    ])
    .unwrap();
    let training = TrainingTable::new(table, Roles::of_targets(["y", "z"]), MissingInputs::Impute).unwrap();
    let drawn = Form::Drawn { features: Some(24), precision: Precision::Tied, effort: 1.0 };
    let forms = [Settings::DEFAULT, Settings { form: drawn, ..Settings::DEFAULT }];
    (forms.iter().map(|settings| training.fit(settings).unwrap()).collect(), training.dataset().clone())
}

fn columns_of(inputs: &[Input]) -> Vec<Vec<usize>> {
    inputs.iter().map(|input| input.columns.clone()).collect()
}

#[test]
fn shapley_values_are_those_of_all_coalitions() {
    let (models, data) = encoded();
    // Rows of the table, one of no level and one of half a level and half another.
    let mut inputs = data.inputs().subrows(0, 4).to_owned();
    (1..inputs.ncols()).for_each(|d| inputs[(2, d)] = 0.0);
    (1..inputs.ncols()).for_each(|d| inputs[(3, d)] = if d == 2 || d == 5 { 0.5 } else { 0.0 });
    for model in models {
        let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
        let columns = columns_of(explainer.inputs());
        assert!(columns[1].len() > LEVELS);
        let shapley = explainer.shapley_with_std(inputs.as_ref(), 13).unwrap();
        let from: Vec<Vec<f64>> = shapley.background.iter().map(|&n| row(data.inputs(), n)).collect();
        for n in 0..inputs.nrows() {
            let to = row(inputs.as_ref(), n);
            let expected = brute_force(&model, &to, &from, &columns);
            for player in 0..2 {
                let (points, weights) = functional(&to, &from, &columns, player);
                let expected_std = joint_std(&model, &points, &weights);
                for c in 0..2 {
                    let (found, wanted) = (shapley.values[c][(n, player)], expected[(player, c)]);
                    assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
                    let (found, wanted) = (shapley.std.as_ref().unwrap()[c][(n, player)], expected_std[c]);
                    assert!((found - wanted).abs() < 1e-6 * wanted.max(1e-2), "{found}, not {wanted}");
                }
            }
        }
    }
}

#[test]
fn curves_and_relevance_are_averages_of_predictions() {
    let (models, data) = encoded();
    let (background, share) = (rows(data.inputs()), vec![1.0 / ROWS as f64; ROWS]);
    for model in models {
        let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
        let columns = columns_of(explainer.inputs());
        let (sizes, texts) = (explainer.points(0, 3).unwrap(), explainer.points(1, 3).unwrap());
        let curve = explainer.partial_dependence(1, texts.clone()).unwrap();
        let surface = explainer.partial_dependence_of_two((1, 0), (texts.clone(), sizes.clone())).unwrap();
        let points = |v: usize| set(&background, &columns[1], &texts[v].encoded);
        for v in 0..texts.len() {
            let single = points(v);
            let double = set(&single, &columns[0], &sizes[1].encoded);
            for (found, at, points) in [(&curve, v, single), (&surface, v * sizes.len() + 1, double)] {
                let (values, std) =
                    (model.predict_mean(table(&points).as_ref()).unwrap(), joint_std(&model, &points, &share));
                for (c, std) in std.iter().enumerate() {
                    let expected = values.col_as_slice(c).iter().sum::<f64>() / ROWS as f64;
                    assert!((found.mean[(at, c)] - expected).abs() < 1e-9);
                    assert!((found.std[(at, c)] - std).abs() < 1e-7 * std.max(1e-2));
                }
            }
        }
        let relevance = explainer.variance_shares().unwrap();
        let of = |row: &Vec<f64>| columns[1].iter().map(|&d| row[d]).collect::<Vec<f64>>();
        let curves: Vec<Mat<f64>> = background
            .iter()
            .map(|x| model.predict_mean(table(&set(&background, &columns[1], &of(x))).as_ref()).unwrap())
            .collect();
        for c in 0..2 {
            let means: Vec<f64> = curves.iter().map(|z| z.col_as_slice(c).iter().sum::<f64>() / ROWS as f64).collect();
            let total: f64 = (0..ROWS).map(|z| variance(curves.iter().map(|curve| curve[(z, c)]))).sum();
            let signal = relevance.signal_std[c].powi(2);
            let (first_order, total) = (variance(means) / signal, total / ROWS as f64 / signal);
            assert!((relevance.first_order[(1, c)] - first_order).abs() < 1e-9 * first_order.max(1.0));
            assert!((relevance.total[(1, c)] - total).abs() < 1e-9 * total.max(1.0));
        }
    }
}

fn variance(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64
}
