//! Data that break careless programs. Each works or gives a clear error; nothing panics.

use crate::{assert_close, normal, smooth, with_gaps};
use proptest::prelude::*;
use rffblr::data::{Dataset, Weights};
use rffblr::linalg::Mat;
use rffblr::{CosineSettings, FeatureCount, Form, Model, Noise, Precision, Pruning, Settings, TargetScale, fit};
use std::sync::Arc;

fn presets() -> [Settings; 8] {
    let quick = |s: Settings| Settings { max_iterations: 40, ..s };
    [
        quick(Settings::DEFAULT),
        quick(Settings { form: Form::Sinusoids { sparsity: 0.7 }, ..Settings::DEFAULT }),
        quick(Settings {
            form: Form::Drawn { features: Some(64), precision: Precision::Tied, effort: 1.0 },
            ..Settings::DEFAULT
        }),
        quick(Settings {
            form: Form::Drawn { features: Some(64), precision: Precision::Free, effort: 1.0 },
            ..Settings::DEFAULT
        }),
        quick(Settings { form: CosineSettings::DEFAULT.into(), ..Settings::DEFAULT }),
        quick(Settings { form: CosineSettings { links: true, ..CosineSettings::PAPER }.into(), ..Settings::PAPER }),
        quick(Settings {
            form: CosineSettings { links: true, target_scale: TargetScale::Raw, ..CosineSettings::PAPER }.into(),
            ..Settings::PAPER
        }),
        quick(Settings::AUTHORS),
    ]
}

/// Fits with every preset and checks that predictions are finite and deviations positive.
fn fits(what: &str, data: &Dataset) {
    for settings in presets() {
        let model = fit(data, &settings).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(model.objective().is_finite(), "{what}: bound {}", model.objective());
        let loo = model.leave_one_out(data).unwrap();
        for p in [model.predict(data.inputs()).unwrap(), loo] {
            for c in 0..p.mean.ncols() {
                for n in 0..p.mean.nrows() {
                    assert!(p.mean[(n, c)].is_finite(), "{what}: mean {}", p.mean[(n, c)]);
                    assert!(p.std[(n, c)].is_finite() && p.std[(n, c)] >= 0.0, "{what}: std {}", p.std[(n, c)]);
                }
            }
        }
        let text = model.to_json().unwrap();
        assert!(rffblr::Model::from_json(&text).is_ok(), "{what}: the file does not load");
    }
}

fn replace(data: &Dataset, change: impl Fn(usize, usize, f64) -> f64) -> Dataset {
    let x = data.inputs();
    let inputs = Mat::from_fn(x.nrows(), x.ncols(), |n, d| change(n, d, x[(n, d)]));
    Dataset::new(inputs, data.targets().to_owned()).unwrap()
}

#[test]
fn awkward_inputs_work() {
    let data = smooth(30, 4, 2, 1);
    fits("constant column", &replace(&data, |_, d, v| if d == 1 { 3.7 } else { v }));
    fits("all columns constant", &replace(&data, |_, _, _| 0.1));
    fits("duplicate rows", &data.select(&[0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4, 5]).unwrap());
    fits("all rows the same", &data.select(&[0; 12]).unwrap());
    fits("duplicate columns", &replace(&data, |n, _, _| data.inputs()[(n, 0)]));
    fits("values of 1e150", &replace(&data, |_, d, v| if d == 0 { 1e150 * v } else { v }));
    fits("values of 1e300", &replace(&data, |_, d, v| if d == 0 { 1e300 * v } else { v }));
    fits("values of 1e-300", &replace(&data, |_, d, v| if d == 0 { 1e-300 * v } else { v }));
    fits("one outlier of 1e9", &replace(&data, |n, d, v| if n == 3 && d == 0 { 1e9 } else { v }));
}

#[test]
fn awkward_targets_work() {
    let x = normal(30, 3, 2);
    let column = |f: &dyn Fn(usize) -> f64| Mat::from_fn(30, 2, |n, c| if c == 0 { f(n) } else { x[(n, 0)].sin() });
    for (what, y) in [
        ("constant target", column(&|_| 5.0)),
        ("zero target", column(&|_| 0.0)),
        ("one observed cell", column(&|n| if n == 4 { 1.0 } else { f64::NAN })),
        ("two observed cells", column(&|n| if n < 2 { n as f64 } else { f64::NAN })),
        ("noise-free target", column(&|n| 2.0 * x[(n, 1)] + 1.0)),
    ] {
        fits(what, &Dataset::new(x.clone(), y).unwrap());
    }
    let huge = Dataset::new(x.clone(), column(&|n| 1e150 * x[(n, 0)])).unwrap();
    let model = fit(&huge, &Settings::DEFAULT).unwrap();
    assert!(model.predict(x.as_ref()).unwrap().std[(0, 0)].is_finite());
    let raw = fit(
        &huge,
        &Settings {
            form: CosineSettings { target_scale: TargetScale::Raw, ..CosineSettings::PAPER }.into(),
            ..Settings::PAPER
        },
    );
    assert!(raw.unwrap_err().to_string().contains("standardise"));
}

#[test]
fn the_smallest_problems_work() {
    fits("N = 1", &Dataset::new(normal(1, 2, 1), normal(1, 2, 2)).unwrap());
    fits("N = 2", &Dataset::new(normal(2, 2, 1), normal(2, 2, 2)).unwrap());
    fits("D = 1, C = 1", &Dataset::new(normal(20, 1, 1), normal(20, 1, 2)).unwrap());
    fits("D = 411, N = 50", &Dataset::new(normal(50, 411, 1), normal(50, 3, 2)).unwrap());
    let data = smooth(20, 2, 2, 3);
    for links in [true, false] {
        let one = Settings {
            form: CosineSettings { features: FeatureCount::Exactly(1), links, ..CosineSettings::DEFAULT }.into(),
            ..Settings::COSINES
        };
        let p = fit(&data, &one).unwrap().predict(data.inputs()).unwrap();
        assert!(p.mean[(0, 0)].is_finite());
    }
    let only_links = Settings {
        form: CosineSettings { features: FeatureCount::Exactly(0), links: true, ..CosineSettings::DEFAULT }.into(),
        ..Settings::COSINES
    };
    assert_eq!(fit(&data, &only_links).unwrap().active_features(), 2);
}

#[test]
fn a_target_of_pure_noise_prunes_to_the_mean() {
    let data = Dataset::new(normal(60, 2, 8), normal(60, 5, 9)).unwrap();
    let model = fit(
        &data,
        &Settings {
            form: CosineSettings { pruning: rffblr::Pruning::BelowEqualShare(50.0), ..CosineSettings::PAPER }.into(),
            ..Settings::PAPER
        },
    )
    .unwrap();
    assert_eq!(model.active_features(), 0);
    let p = model.predict(data.inputs()).unwrap();
    for c in 0..5 {
        let mean = (0..60).map(|n| data.targets()[(n, c)]).sum::<f64>() / 60.0;
        assert!((p.mean[(7, c)] - mean).abs() < 1e-9);
    }
}

#[test]
fn numbers_that_are_none_are_refused_by_place() {
    let y = normal(5, 1, 1);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut x = normal(5, 3, 2);
        x[(3, 1)] = bad;
        let names = |l: &str, n: usize| (0..n).map(|i| format!("{l}{i}")).collect::<Vec<_>>();
        let error = Dataset::named(x.clone(), y.clone(), names("in", 3), names("out", 1)).unwrap_err().to_string();
        assert!(error.contains("row 4") && error.contains("\"in1\""), "{error}");
        let good = Dataset::new(normal(5, 3, 2), y.clone()).unwrap();
        let model = fit(&good, &Settings::DEFAULT).unwrap();
        let error = model.predict(x.as_ref()).unwrap_err().to_string();
        assert!(error.contains("row 4") && error.contains("\"x2\""), "{error}");
    }
    let mut targets = y.clone();
    targets[(2, 0)] = f64::INFINITY;
    let error = Dataset::new(normal(5, 3, 2), targets).unwrap_err().to_string();
    assert!(error.contains("row 3") && error.contains("y1"), "{error}");
    let unobserved = Mat::from_fn(5, 1, |_, _| f64::NAN);
    assert!(Dataset::new(normal(5, 3, 2), unobserved).unwrap_err().to_string().contains("no observed value"));
}

#[test]
fn lent_numbers_are_read_where_they_lie_and_mean_the_same() {
    let (x, y) = (normal(9, 3, 2), normal(9, 2, 1));
    let rows: Vec<f64> = (0..27).map(|i| x[(i / 3, i % 3)]).collect();
    let (place, lent) = (rows.as_ptr(), Arc::new(rows));
    let names = |l: &str, n: usize| (1..=n).map(|i| format!("{l}{i}")).collect::<Vec<_>>();
    let own = Dataset::new(x.clone(), y.clone()).unwrap();
    let data = Dataset::lent(lent.clone(), y.clone(), names("x", 3), names("y", 2)).unwrap();
    assert_eq!(data.inputs().as_ptr(), place);
    assert_eq!((data.inputs(), data.fingerprint()), (x.as_ref(), own.fingerprint()));
    let [a, b] = [&own, &data].map(|data| fit(data, &Settings::DEFAULT).unwrap().to_json().unwrap());
    assert_eq!(a, b);
    assert_eq!(own.select(&[4, 1]).unwrap().inputs(), data.select(&[4, 1]).unwrap().inputs());
    let error = Dataset::lent(lent, y, names("x", 2), names("y", 2)).unwrap_err().to_string();
    assert!(error.contains("27 numbers, expected 18"), "{error}");
    let (bad, one) = (Arc::new(vec![1.0, f64::NAN]), Mat::from_fn(2, 1, |n, _| n as f64));
    assert!(Dataset::lent(bad, one, names("x", 1), names("y", 1)).unwrap_err().to_string().contains("row 2"));
}

#[test]
fn shapes_and_weights_are_checked() {
    let (x, y) = (normal(5, 3, 2), normal(4, 1, 1));
    assert!(Dataset::new(x.clone(), y).unwrap_err().to_string().contains("4 rows, expected 5"));
    assert!(Dataset::new(Mat::zeros(0, 3), Mat::zeros(0, 1)).is_err());
    assert!(Dataset::new(Mat::zeros(3, 0), Mat::zeros(3, 1)).is_err());
    assert!(Dataset::new(Mat::zeros(3, 1), Mat::zeros(3, 0)).is_err());
    let data = Dataset::new(x, normal(5, 1, 1)).unwrap();
    for weights in [vec![1.0; 4], vec![0.0; 5], vec![1.0, -1.0, 1.0, 1.0, 1.0], vec![f64::NAN; 5]] {
        assert!(data.clone().with_weights(Weights::Repeats(weights.clone())).is_err());
        assert!(data.clone().with_weights(Weights::Relative(weights)).is_err());
    }
    // Counts this large are unrealistic, but equal weights are equal however large.
    assert!(data.clone().with_weights(Weights::Repeats(vec![f64::MAX; 5])).is_err());
    assert!(data.clone().with_weights(Weights::Relative(vec![f64::MAX; 5])).is_ok());
    assert!(data.select(&[0, 5]).is_err());
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    assert!(model.predict(normal(2, 4, 1).as_ref()).unwrap_err().to_string().contains("4 columns, expected 3"));
    assert_eq!(model.predict(normal(0, 3, 1).as_ref()).unwrap().mean.nrows(), 0);
}

#[test]
fn a_model_that_drops_every_feature_predicts_the_mean() {
    let data = smooth(30, 2, 2, 95);
    for noise in [Noise::Shared, Noise::PerTask] {
        // No feature can add ten thousand times the variance of the targets.
        let settings = Settings {
            form: CosineSettings { pruning: Pruning::BelowEqualShare(1e6), noise, ..CosineSettings::PAPER }.into(),
            ..Settings::PAPER
        };
        for data in [data.clone(), with_gaps(&data, 5)] {
            let model = fit(&data, &settings).unwrap();
            assert_eq!(model.active_features(), 0);
            let prediction = model.predict(normal(4, 2, 96).as_ref()).unwrap();
            for c in 0..2 {
                let seen: Vec<f64> = data.targets().col(c).iter().copied().filter(|y| !y.is_nan()).collect();
                let mean = seen.iter().sum::<f64>() / seen.len() as f64;
                for row in 0..4 {
                    assert_close("mean", prediction.mean[(row, c)], mean, 1e-6);
                    assert!(prediction.std[(row, c)] > 0.0);
                }
            }
            assert!(model.leave_one_out(&data).unwrap().std.col(0).iter().all(|s| s.is_finite()));
            let again = Model::from_json(&model.to_json().unwrap()).unwrap();
            assert!(again.sinusoids().is_empty() && again.links().is_empty());
        }
    }
}

/// What a model predicts for its rows is finite, and its file gives back the same numbers.
fn expect_kept(model: &Model, data: &Dataset) {
    let predicted = model.predict(data.inputs()).unwrap();
    let (lower, upper) = predicted.interval(0.99).unwrap();
    for table in [&predicted.mean, &predicted.std, &predicted.latent_std, &lower, &upper] {
        let cells = (0..table.ncols()).flat_map(|c| table.col_as_slice(c));
        assert!(cells.clone().all(|v| v.is_finite()), "{:?}", cells.collect::<Vec<_>>());
    }
    let loaded = Model::from_json(&model.to_json().unwrap()).unwrap();
    assert_eq!(loaded.predict(data.inputs()).unwrap().mean, predicted.mean);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any table of any doubles: an error or an answer, never a panic. Without weights the predictions are finite, and the
    /// model's file gives them back.
    #[test]
    fn strange_numbers_never_panic(
        rows in 1usize..7,
        inputs in 1usize..4,
        tasks in 1usize..3,
        picks in prop::collection::vec(0usize..13, 36),
        weights in prop::option::of(prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 2.5, 1e-300, 1e300]), 7)),
        repeats in any::<bool>(),
        which in 0usize..5,
    ) {
        let strange = [
            0.0, 1.0, -1.0, 0.5, 3.0, 1e300, -1e300, f64::MAX, f64::MIN, 5e-324, 1e-300, f64::NAN, f64::INFINITY,
        ];
        let at = |i: usize| strange[picks[i % picks.len()]];
        // Mostly finite inputs, or nothing would ever be fitted.
        let finite = |v: f64| if v.is_finite() { v } else { 2.0 };
        let x = Mat::from_fn(rows, inputs, |n, d| finite(at(n * inputs + d)));
        let y = Mat::from_fn(rows, tasks, |n, c| at(20 + n * tasks + c));
        let mut settings = Settings { max_iterations: 6, ..presets()[which].clone() };
        if let Form::Cosines(cosines) = &mut settings.form {
            // A weight of 1e300 stands for as many rows: per row there would be a million cosines.
            cosines.features = FeatureCount::Exactly(9);
        }
        let data = Dataset::new(x, y).and_then(|data| match &weights {
            Some(weights) if repeats => data.with_weights(Weights::Repeats(weights[..rows].to_vec())),
            Some(weights) => data.with_weights(Weights::Relative(weights[..rows].to_vec())),
            None => Ok(data),
        });
        if let Ok(data) = data
            && let Ok(model) = fit(&data, &settings)
        {
            if weights.is_none() {
                expect_kept(&model, &data);
            }
            let _ = model.predict(data.inputs());
            let _ = model.to_json().map(|text| Model::from_json(&text).map(|_| ()));
            let _ = model.leave_one_out(&data);
            let _ = model.kernel_view(data.inputs());
            let _ = model.sinusoids();
            let _ = model.sample(data.inputs(), 1, 0);
        }
    }
}
