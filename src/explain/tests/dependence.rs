use super::{data, forms, joint_std, rows, table};
use crate::explain::Explainer;
use crate::linalg::Mat;

/// Background rows with some columns set.
fn set(background: &[Vec<f64>], columns: &[usize], values: &[f64]) -> Vec<Vec<f64>> {
    let change = |row: &Vec<f64>| {
        let mut row = row.clone();
        columns.iter().zip(values).for_each(|(&d, v)| row[d] = *v);
        row
    };
    background.iter().map(change).collect()
}

#[test]
fn partial_dependence_is_the_average_of_predictions() {
    let data = data(15, 4, 3);
    let weights: Vec<f64> = (0..15).map(|n| (n % 4) as f64).collect();
    let share: Vec<f64> = weights.iter().map(|w| w / weights.iter().sum::<f64>()).collect();
    let background = rows(data.inputs());
    for (form, model) in forms(&data) {
        let explainer = Explainer::new(&model, data.inputs(), Some(&weights)).unwrap();
        let (one, two) = (explainer.points(1, 4).unwrap(), explainer.points(3, 3).unwrap());
        let single = explainer.partial_dependence(1, one.clone()).unwrap();
        let double = explainer.partial_dependence_of_two((1, 3), (one.clone(), two.clone())).unwrap();
        assert_eq!((single.mean.nrows(), double.mean.nrows()), (4, 12));
        for i in 0..16 {
            let (found, at, points) = match i {
                0..4 => (&single, i, set(&background, &[1], &one[i].encoded)),
                _ => {
                    let (a, b) = ((i - 4) / 3, (i - 4) % 3);
                    (&double, i - 4, set(&background, &[1, 3], &[one[a].encoded[0], two[b].encoded[0]]))
                }
            };
            let values = model.predict_mean(table(&points).as_ref()).unwrap();
            // Rows without weight do not count.
            let expected_std = joint_std(&model, &points, &share);
            for c in 0..2 {
                let expected: f64 = (0..15).map(|n| share[n] * values[(n, c)]).sum();
                assert!((found.mean[(at, c)] - expected).abs() < 1e-9, "{form}: {} {expected}", found.mean[(at, c)]);
                let (std, wanted) = (found.std[(at, c)], expected_std[c]);
                assert!((std - wanted).abs() < 1e-7 * wanted.max(1e-2), "{form}: {std}, not {wanted}");
            }
        }
    }
}

#[test]
fn relevance_is_that_of_all_hybrid_rows() {
    let data = data(13, 3, 5);
    let weights: Vec<f64> = (0..13).map(|n| 1.0 + (n % 3) as f64).collect();
    let share: Vec<f64> = weights.iter().map(|w| w / weights.iter().sum::<f64>()).collect();
    let variance = |values: &dyn Fn(usize) -> f64| {
        let mean: f64 = (0..13).map(|n| share[n] * values(n)).sum();
        (0..13).map(|n| share[n] * (values(n) - mean).powi(2)).sum::<f64>()
    };
    for (form, model) in forms(&data) {
        let explainer = Explainer::new(&model, data.inputs(), Some(&weights)).unwrap();
        let relevance = explainer.relevance().unwrap();
        let fitted = model.predict_mean(data.inputs()).unwrap();
        for c in 0..2 {
            let signal = variance(&|n| fitted[(n, c)]);
            assert!((relevance.signal_std[c] / signal.sqrt() - 1.0).abs() < 1e-9, "{form}");
            for d in 0..3 {
                // Row x in column d, row z in the others.
                let hybrids = Mat::from_fn(169, 3, |i, e| data.inputs()[(if e == d { i / 13 } else { i % 13 }, e)]);
                let values = model.predict_mean(hybrids.as_ref()).unwrap();
                let curve = |x: usize| (0..13).map(|z| share[z] * values[(x * 13 + z, c)]).sum::<f64>();
                let first = variance(&curve) / signal;
                let total: f64 =
                    (0..13).map(|z| share[z] * variance(&|x| values[(x * 13 + z, c)])).sum::<f64>() / signal;
                let (a, b) = (relevance.first_order[(d, c)], relevance.total[(d, c)]);
                assert!((a - first).abs() < 1e-9 * first.max(1.0), "{form}: {a}, not {first}");
                assert!((b - total).abs() < 1e-9 * total.max(1.0), "{form}: {b}, not {total}");
                assert!(a <= b + 1e-12);
            }
        }
        let all = explainer.shapley(data.inputs(), 13).unwrap();
        let mean: f64 = (0..13).map(|n| share[n] * all.values[1][(n, 2)].abs()).sum();
        assert!((relevance.mean_absolute_shapley[(2, 1)] - mean).abs() < 1e-12);
    }
}
