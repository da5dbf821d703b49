use super::{data, forms, joint, joint_std, rows, table};
use crate::data::Dataset;
use crate::explain::Explainer;
use crate::linalg::{Mat, Threads, multiply, select_rows};
use crate::{Settings, fit};

/// Background rows with some columns set.
pub(super) fn set(background: &[Vec<f64>], columns: &[usize], values: &[f64]) -> Vec<Vec<f64>> {
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
        let relevance = explainer.variance_shares().unwrap();
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
    }
}

/// In a wide table the inputs that matter most have deviations, and these are as they are for any input.
#[test]
fn of_many_inputs_the_most_relevant_have_deviations() {
    let data = data(10, 3000, 8);
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let found = Explainer::new(&model, data.inputs(), None).unwrap().variance_shares().unwrap();
    let known = |d: &usize| (0..2).any(|c| !found.total_std[(*d, c)].is_nan());
    let (with, without): (Vec<usize>, Vec<usize>) = (0..3000).partition(known);
    assert!(with.len() >= 48 && !without.is_empty(), "{}", with.len());
    for c in 0..2 {
        let best = (0..3000).max_by(|&a, &b| found.total[(a, c)].total_cmp(&found.total[(b, c)])).unwrap();
        assert!(with.contains(&best));
        assert!(with.iter().all(|&d| !found.total_std[(d, c)].is_nan() && !found.first_order_std[(d, c)].is_nan()));
        assert!((0..3000).all(|d| found.total[(d, c)].is_finite()));
    }
}

/// Variances as quadratic forms fᵀAf of the function at all hybrid rows, with A and the joint covariance in full; and by
/// drawing functions.
#[test]
fn deviations_of_variance_shares_are_those_of_quadratic_forms() {
    let count = 6;
    let data = data(count, 3, 8);
    let weights: Vec<f64> = (0..count).map(|n| 1.0 + (n % 3) as f64).collect();
    let share: Vec<f64> = weights.iter().map(|w| w / weights.iter().sum::<f64>()).collect();
    let product = |a: &Mat<f64>, b: &Mat<f64>| multiply(a.as_ref(), b.as_ref(), Threads::ONE);
    for (form, model) in forms(&data) {
        let explainer = Explainer::new(&model, data.inputs(), Some(&weights)).unwrap();
        let found = explainer.variance_shares().unwrap();
        assert_eq!(found.std_background, (0..count).collect::<Vec<_>>());
        for d in 0..3 {
            let hybrids =
                Mat::from_fn(count * count, 3, |i, e| data.inputs()[(if e == d { i % count } else { i / count }, e)]);
            let values = model.predict_mean(hybrids.as_ref()).unwrap();
            let covariance = joint(&model, &rows(hybrids.as_ref()));
            let centre = |x: usize, y: usize| if x == y { share[x] } else { 0.0 } - share[x] * share[y];
            let total = Mat::from_fn(count * count, count * count, |i, j| {
                let same_rest = i / count == j / count;
                if same_rest { share[i / count] * centre(i % count, j % count) } else { 0.0 }
            });
            let first = Mat::from_fn(count * count, count * count, |i, j| {
                share[i / count] * share[j / count] * centre(i % count, j % count)
            });
            let draws = model.sample(hybrids.as_ref(), 4000, 1).unwrap();
            for (c, covariance) in covariance.iter().enumerate() {
                let signal = found.signal_std[c].powi(2);
                let mean = values.as_ref().subcols(c, 1).to_owned();
                for (form_matrix, value, std) in [
                    (&first, found.first_order[(d, c)], found.first_order_std[(d, c)]),
                    (&total, found.total[(d, c)], found.total_std[(d, c)]),
                ] {
                    let quadratic = |f: &Mat<f64>| product(&f.transpose().to_owned(), &product(form_matrix, f))[(0, 0)];
                    assert!((quadratic(&mean) / signal - value).abs() < 1e-9 * value.max(1.0), "{form}");
                    let spread = product(form_matrix, covariance);
                    let trace: f64 = (0..spread.nrows()).map(|i| product(&spread, &spread)[(i, i)]).sum();
                    let along = product(form_matrix, &mean);
                    let along = product(&along.transpose().to_owned(), &product(covariance, &along))[(0, 0)];
                    let expected = (2.0 * trace + 4.0 * along).max(0.0).sqrt() / signal;
                    assert!((std - expected).abs() < 1e-6 * expected.max(1e-6), "{form}: {std}, not {expected}");
                    let drawn: Vec<f64> =
                        draws.iter().map(|draw| quadratic(&draw.as_ref().subcols(c, 1).to_owned()) / signal).collect();
                    let middle = drawn.iter().sum::<f64>() / 4000.0;
                    let by_draws = (drawn.iter().map(|v| (v - middle).powi(2)).sum::<f64>() / 4000.0).sqrt();
                    assert!((by_draws / std - 1.0).abs() < 0.15, "{form}: {std}, by draws {by_draws}");
                }
            }
        }
    }
}

/// A value so rare that the few rows behind deviations do not have it: its input must not seem to be known for certain.
#[test]
fn the_relevance_of_a_rare_value_has_a_deviation() {
    const RARE: [usize; 6] = [3, 50, 99, 147, 195, 243];
    let draw = |n: usize, d: usize| ((n * (3 * d + 5)) as f64 * 0.37).sin();
    let inputs = Mat::from_fn(300, 2, |n, d| match d {
        0 => draw(n, 0),
        _ => f64::from(u8::from(RARE.contains(&n))),
    });
    let targets = Mat::from_fn(300, 1, |n, _| inputs[(n, 0)] + 3.0 * inputs[(n, 1)] + 0.5 * draw(n, 4));
    let data = Dataset::new(inputs, targets).unwrap();
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let found = Explainer::new(&model, data.inputs(), None).unwrap().variance_shares().unwrap();
    assert!(found.std_background.iter().all(|row| !RARE.contains(row)), "{:?}", found.std_background);
    // The same distribution by few rows of which none is left out: the rare value has six of three hundred shares.
    let few: Vec<usize> = RARE.into_iter().chain((0..8).map(|i| 37 * i + 1)).collect();
    let weights: Vec<f64> = (0..14).map(|i| if i < 6 { 1.0 } else { 294.0 / 8.0 }).collect();
    let rows = select_rows(data.inputs(), &few);
    let expected = Explainer::new(&model, rows.as_ref(), Some(&weights)).unwrap().variance_shares().unwrap();
    assert_eq!(expected.std_background.len(), 14);
    let [ours, theirs] = [&found, &expected].map(|shares| shares.total_std[(1, 0)] * shares.signal_std[0].powi(2));
    assert!(ours > 0.8 * theirs && ours < 1.25 * theirs, "{ours}, not {theirs}");
}
