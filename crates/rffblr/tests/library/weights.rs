//! Row weights: what they mean and what they must not do.

use crate::{assert_close, assert_tables, normal, smooth, with_gaps};
use rffblr::data::{Dataset, Weights};
use rffblr::linalg::Mat;
use rffblr::{CosineSettings, Form, Model, Precision, Prediction, Settings, fit};

fn variational() -> Settings {
    Settings { form: CosineSettings::DEFAULT.into(), ..Settings::DEFAULT }
}

fn forms() -> Vec<Settings> {
    let short = |settings: Settings| Settings { max_iterations: 40, ..settings };
    let sinusoids = Settings { form: Form::Sinusoids { sparsity: 0.75 }, ..Settings::DEFAULT };
    let drawn = Settings {
        form: Form::Drawn { features: Some(128), precision: Precision::Tied, effort: 1.0 },
        ..Settings::DEFAULT
    };
    [Settings::DEFAULT, sinusoids, drawn, variational(), Settings::PAPER].map(short).to_vec()
}

fn relative(data: &Dataset, weights: &[f64], factor: f64) -> Dataset {
    data.clone().with_weights(Weights::Relative(weights.iter().map(|w| factor * w).collect())).unwrap()
}

#[test]
fn a_factor_on_all_relative_weights_changes_nothing() {
    let (data, new) = (with_gaps(&smooth(50, 3, 2, 3), 7), normal(9, 3, 8));
    let weights: Vec<f64> = (0..50).map(|n| if n % 9 == 4 { 0.0 } else { 0.3 + (n % 5) as f64 }).collect();
    let predict = |data: &Dataset, settings: &Settings| -> Prediction {
        fit(data, settings).unwrap().predict(new.as_ref()).unwrap()
    };
    for settings in forms() {
        let one = predict(&relative(&data, &weights, 1.0), &settings);
        assert_eq!(predict(&relative(&data, &weights, 2.0), &settings), one);
        for factor in [10.0, 1.0 / 50.0, 1e-200] {
            let other = predict(&relative(&data, &weights, factor), &settings);
            assert_tables("mean", &other.mean, &one.mean, 1e-5);
            assert_tables("std", &other.std, &one.std, 1e-5);
        }
        // Equal weights are none.
        let none = predict(&data, &settings);
        for weight in [2.0, 10.0, 1.0 / 50.0] {
            assert_eq!(predict(&relative(&data, &[1.0; 50], weight), &settings), none);
        }
    }
}

#[test]
fn a_part_of_the_rows_keeps_what_weights_mean() {
    let data = smooth(6, 2, 1, 1);
    let given = vec![1.0, 2.0, 3.0, 0.0, 5.0, 1.0];
    let rows = [4, 2, 3, 1];
    let part = relative(&data, &given, 1.0).select(&rows).unwrap();
    // The mean of 5, 3 and 2.
    let expected = [1.5, 0.9, 0.0, 0.6];
    part.weights().unwrap().iter().zip(expected).for_each(|(w, e)| assert_close("weight", *w, e, 1e-15));
    assert_eq!(part.given_weights(), Some(&Weights::Relative(vec![5.0, 3.0, 0.0, 2.0])));
    assert_eq!(part.effective_rows(), 3.0);
    let part = data.with_weights(Weights::Repeats(given)).unwrap().select(&rows).unwrap();
    assert_eq!((part.weights(), part.effective_rows()), (Some(&[5.0, 3.0, 0.0, 2.0][..]), 10.0));
}

#[test]
fn a_model_knows_what_its_weights_meant() {
    let (data, weights) = (smooth(20, 2, 1, 1), vec![2.0; 20]);
    let fitted = |weights: Option<Weights>| {
        let data = weights.map_or(data.clone(), |weights| data.clone().with_weights(weights).unwrap());
        let model = fit(&data, &Settings { max_iterations: 5, ..Settings::DEFAULT }).unwrap();
        Model::from_json(&model.to_json().unwrap()).unwrap()
    };
    assert_eq!(fitted(None).weighting(), None);
    assert_eq!(fitted(Some(Weights::Relative(weights.clone()))).weighting(), Some(Weights::Relative(())));
    assert_eq!(fitted(Some(Weights::Repeats(weights.clone()))).weighting(), Some(Weights::Repeats(())));
    let without = data.fingerprint();
    let hash = |weights: Weights| data.clone().with_weights(weights).unwrap().fingerprint();
    assert_ne!(without, hash(Weights::Repeats(vec![1.0; 20])));
    assert_eq!(hash(Weights::Relative(weights.clone())), hash(Weights::Relative(vec![1.0; 20])));
    assert_ne!(hash(Weights::Relative(vec![1.0; 20])), hash(Weights::Repeats(vec![1.0; 20])));
}

/// Share of new observations of average weight in their 90 % intervals, over four targets.
fn coverage(data: &Dataset, settings: &Settings, noise: f64) -> f64 {
    let x = normal(600, 3, 77);
    let error = normal(600, 4, 78);
    let prediction = fit(data, settings).unwrap().predict(x.as_ref()).unwrap();
    let (lower, upper) = prediction.interval(0.9).unwrap();
    let inside = |n: usize, c: usize| {
        let y = truth(&x, n, c) + noise * error[(n, c)];
        lower[(n, c)] <= y && y <= upper[(n, c)]
    };
    let count = (0..4).map(|c| (0..600).filter(|&n| inside(n, c)).count()).sum::<usize>();
    count as f64 / 2400.0
}

fn truth(x: &Mat<f64>, n: usize, c: usize) -> f64 {
    (x[(n, 0)] + 0.3 * c as f64).sin() + 0.5 * x[(n, 1)]
}

#[test]
fn intervals_hold_with_equal_weights_and_with_true_precisions() {
    let noise = 0.5;
    let (x, error) = (normal(200, 3, 5), normal(200, 4, 6));
    // Precisions from a tenth to ten times the typical one, with mean one.
    let raw: Vec<f64> = (0..200).map(|n| 10f64.powf((n * 37 % 200) as f64 / 100.0 - 1.0)).collect();
    let mean = raw.iter().sum::<f64>() / 200.0;
    let precise: Vec<f64> = raw.iter().map(|w| w / mean).collect();
    let drawn = |precision: &dyn Fn(usize) -> f64| {
        let y = Mat::from_fn(200, 4, |n, c| truth(&x, n, c) + noise * error[(n, c)] / precision(n).sqrt());
        Dataset::new(x.clone(), y).unwrap()
    };
    for settings in [Settings::DEFAULT, Settings::COSINES, variational()] {
        let plain = drawn(&|_| 1.0);
        for weight in [2.0, 10.0, 1.0 / 200.0] {
            let held = coverage(&relative(&plain, &[1.0; 200], weight), &settings, noise);
            assert!((0.86..=0.94).contains(&held), "weight {weight}: {held}");
        }
        let held = coverage(&relative(&drawn(&|n| precise[n]), &precise, 3.0), &settings, noise);
        assert!((0.86..=0.94).contains(&held), "precisions: {held}");
    }
}

/// The noise of a target that only imprecise rows have is given for a row of average weight, as that of any other.
#[test]
fn a_target_of_rows_of_low_weight_keeps_its_noise() {
    let (x, error) = (normal(300, 2, 5), normal(300, 2, 6));
    let weight = |n: usize| if n.is_multiple_of(2) { 0.2 } else { 1.8 };
    let y = Mat::from_fn(300, 2, |n, c| {
        if c == 1 && n % 2 == 1 { f64::NAN } else { truth(&x, n, 0) + 0.3 * error[(n, c)] / f64::sqrt(weight(n)) }
    });
    let weights: Vec<f64> = (0..300).map(weight).collect();
    let data = relative(&Dataset::new(x, y).unwrap(), &weights, 1.0);
    for settings in [Settings::COSINES, variational()] {
        let noise = fit(&data, &settings).unwrap().nugget_std();
        noise.iter().for_each(|noise| assert!((0.25..0.36).contains(noise), "{noise}"));
    }
}

#[test]
fn repeats_that_count_no_rows_are_refused() {
    let data = smooth(5, 2, 1, 4);
    for settings in forms() {
        let repeated =
            |weight: f64| fit(&data.clone().with_weights(Weights::Repeats(vec![weight; 5])).unwrap(), &settings);
        for weight in [1e-300, 1e300] {
            let problem = repeated(weight).unwrap_err().to_string();
            assert!(problem.contains("which must be 1 to 1e15"), "{problem}");
        }
        assert!(repeated(0.5).is_ok());
    }
}
