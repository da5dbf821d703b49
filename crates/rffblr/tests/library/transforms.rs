//! Transformed targets: chosen where they pay, and predictions on the original scale.

use crate::{assert_close, assert_tables, normal};
use rffblr::data::Dataset;
use rffblr::explain::{Explainer, diagnostics};
use rffblr::linalg::{Mat, MatRef};
use rffblr::metrics::ReferenceMean;
use rffblr::{Form, Model, Point, Precision, Settings, Shape, TargetTransforms, Transform, TransformChoice, fit};

const NONE: Settings = Settings { transform: TargetTransforms::NONE, ..Settings::DEFAULT };

fn by_name(usual: TransformChoice, own: &[(&str, TransformChoice)]) -> Settings {
    let own = own.iter().map(|(name, choice)| (name.to_string(), *choice)).collect();
    Settings { transform: TargetTransforms::ByName { usual, own }, ..Settings::DEFAULT }
}

/// A smooth function of two inputs with noise of its own size: normal, and its exponential.
fn both(rows: usize, seed: u64) -> (Mat<f64>, Mat<f64>) {
    let (x, noise) = (normal(rows, 2, seed), normal(rows, 1, seed + 1));
    let y = Mat::from_fn(rows, 2, |n, c| {
        let value = (1.5 * x[(n, 0)]).sin() + 0.5 * x[(n, 1)] + 0.6 * noise[(n, 0)];
        if c == 0 { value } else { value.exp() }
    });
    (x, y)
}

fn column(table: &Mat<f64>, c: usize) -> Mat<f64> {
    table.as_ref().subcols(c, 1).to_owned()
}

fn nlpd(model: &Model, x: &Mat<f64>, y: &Mat<f64>) -> f64 {
    let held_out = model.predict(x.as_ref()).unwrap().held_out(y.clone()).unwrap();
    held_out.scores(0.9, ReferenceMean::Test).unwrap().nlpd.unwrap()
}

#[test]
fn a_skewed_target_is_transformed_and_a_normal_one_is_not() {
    let (x, y) = both(160, 1);
    let data = Dataset::new(x, y).unwrap();
    let (auto, plain) = (fit(&data, &Settings::DEFAULT).unwrap(), fit(&data, &NONE).unwrap());
    assert!(auto.transforms()[0].is_none(), "{:?}", auto.transforms());
    let transform = auto.transforms()[1].expect("the second target is log-normal");
    // Nearly the logarithm: small values count by their ratio.
    assert!(matches!(transform.shape, Shape::Asinh { centre: 0.0, width } if width < 0.6), "{transform:?}");
    let (new, truth) = both(400, 5);
    let [found, before] = [&auto, &plain].map(|model| model.predict(new.as_ref()).unwrap());
    // The other one shares its kernel, which is learned of both, and is predicted as well.
    let error = |mean: &Mat<f64>| (0..400).map(|n| (mean[(n, 0)] - truth[(n, 0)]).powi(2)).sum::<f64>();
    assert!(error(&found.mean) < 1.05 * error(&before.mean));
    assert!(nlpd(&auto, &new, &truth) < nlpd(&plain, &new, &truth) - 0.2);
    let (lower, upper) = found.interval(0.9).unwrap();
    let inside = (0..400).filter(|&n| (lower[(n, 1)]..=upper[(n, 1)]).contains(&truth[(n, 1)])).count();
    assert!((0..400).all(|n| lower[(n, 1)] >= 0.0) && (330..=390).contains(&inside), "{inside}");
    assert!(before.interval(0.9).unwrap().0.col(1).iter().any(|end| *end < 0.0));
    // The same bits where no target is transformed.
    let first = Dataset::new(data.inputs().to_owned(), column(&data.targets().to_owned(), 0)).unwrap();
    let [auto, plain] = [&Settings::DEFAULT, &NONE].map(|settings| fit(&first, settings).unwrap());
    assert_eq!(auto.predict(new.as_ref()).unwrap(), plain.predict(new.as_ref()).unwrap());
}

/// ln y learned as it is, and y by the transform log, are the same model; its laws are log-normal.
#[test]
fn the_logarithm_is_a_model_of_logarithms() {
    let (x, y) = both(60, 11);
    let skewed = Dataset::new(x.clone(), column(&y, 1)).unwrap();
    let logs = Dataset::new(x, Mat::from_fn(60, 1, |n, _| y[(n, 1)].ln())).unwrap();
    let (new, truth) = both(30, 12);
    for form in [
        Form::Kernel,
        Form::Sinusoids { sparsity: 0.7 },
        Form::Drawn { features: Some(40), precision: Precision::Tied, effort: 1.0 },
    ] {
        let log = Settings { form: form.clone(), transform: TargetTransforms::All(TransformChoice::Log), ..NONE };
        let (a, b) = (fit(&skewed, &log).unwrap(), fit(&logs, &Settings { form, ..NONE }).unwrap());
        let (p, q) = (a.predict(new.as_ref()).unwrap(), b.predict(new.as_ref()).unwrap());
        assert_tables("function", &a.predict_function(new.as_ref()).unwrap(), &q.mean, 1e-6);
        let (median, tail) = (p.median(), p.quantile(0.975).unwrap());
        let (lower, _) = p.interval(0.95).unwrap();
        let most = a.transforms()[0].unwrap().bounds().1;
        for n in 0..30 {
            let (m, s) = (q.mean[(n, 0)], q.std[(n, 0)]);
            assert_close("median", median[(n, 0)].ln(), m.min(most.ln()), 1e-6);
            assert_close("quantile", tail[(n, 0)].ln(), (m + 1.959963984540054 * s).min(most.ln()), 1e-6);
            assert_close("lower", lower[(n, 0)].ln(), m - 1.959963984540054 * s, 1e-6);
            // ln N(ln y) − ln y.
            let y = truth[(n, 1)];
            let density = -0.5 * ((y.ln() - m) / s).powi(2) - (s * (2.0 * std::f64::consts::PI).sqrt()).ln() - y.ln();
            assert_close("density", p.law(n, 0).nlpd(y), -density, 1e-5);
        }
        let (left, expected) = (a.leave_one_out(&skewed).unwrap(), b.leave_one_out(&logs).unwrap());
        for n in 0..60 {
            assert_close("left out", left.median()[(n, 0)].ln(), expected.mean[(n, 0)], 1e-5);
        }
        let found = diagnostics(&a, &skewed).unwrap();
        let wanted = diagnostics(&b, &logs).unwrap();
        assert_tables("standardised", &found.standardised, &wanted.standardised, 1e-4);
        assert_tables("transform", &found.transform, &wanted.transform, 1e-4);
        assert!((a.nugget_std()[0] / b.nugget_std()[0] - 1.0).abs() < 1e-4);
    }
}

/// Draws of observations have the predicted quantiles; those of the function are their medians.
#[test]
fn draws_have_the_predicted_quantiles() {
    let (x, y) = both(60, 21);
    let log = Settings { transform: TargetTransforms::All(TransformChoice::Log), ..Settings::DEFAULT };
    let model = fit(&Dataset::new(x, column(&y, 1)).unwrap(), &log).unwrap();
    let new = normal(2, 2, 22);
    let prediction = model.predict(new.as_ref()).unwrap();
    let draws = model.sample_observations(new.as_ref(), 4000, 3).unwrap();
    for p in [0.1, 0.5, 0.9] {
        let bound = prediction.quantile(p).unwrap();
        for n in 0..2 {
            let share = draws.iter().filter(|draw| draw[(n, 0)] < bound[(n, 0)]).count() as f64 / 4000.0;
            assert!((share - p).abs() < 0.03, "{p}: {share}");
        }
    }
    let function = model.sample(new.as_ref(), 2000, 3).unwrap();
    let spread = |draws: &[Mat<f64>]| {
        draws.iter().map(|d| (d[(0, 0)].ln() - prediction.median()[(0, 0)].ln()).powi(2)).sum::<f64>()
    };
    assert!(spread(&function) < spread(&draws));
}

/// Shapley values of a transformed target add up to the function, on the scale of the transform.
#[test]
fn explanations_add_up_on_the_scale_of_the_transform() {
    let (x, y) = both(60, 31);
    let asinh = by_name(TransformChoice::Asinh, &[("y1", TransformChoice::None)]);
    let data = Dataset::named(x, y, vec!["a".into(), "b".into()], vec!["y1".into(), "y2".into()]).unwrap();
    let model = fit(&data, &asinh).unwrap();
    assert!(model.transforms()[0].is_none() && model.transforms()[1].is_some());
    assert_eq!(model.scale_of(0), "y1");
    assert!(model.scale_of(1).starts_with("asinh(y2/"), "{}", model.scale_of(1));
    let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
    let shapley = explainer.shapley(data.inputs().subrows(0, 3), 100).unwrap();
    let function = model.predict_function(data.inputs()).unwrap();
    let median = model.predict(data.inputs()).unwrap().median();
    let shape = model.transforms()[1].unwrap().shape;
    for n in 0..3 {
        for c in 0..2 {
            let sum = shapley.base[c] + shapley.values[c][(n, 0)] + shapley.values[c][(n, 1)];
            assert_close("sum", sum, function[(n, c)], 1e-8);
        }
        assert_close("median", shape.apply(median[(n, 1)]), function[(n, 1)], 1e-9);
    }
}

/// Counts that are nearly always zero, and values of few levels, are left alone; so is what has too few rows to tell.
#[test]
fn what_a_transform_cannot_help_is_left_alone() {
    let x = normal(200, 2, 41);
    let targets: [fn(usize, MatRef<'_, f64>) -> f64; 3] = [
        |n, _| if n % 29 == 0 { (1 + n % 7) as f64 } else { 0.0 },
        |n, x| if x[(n, 0)] > 0.3 { 1.0 } else { 0.0 },
        |n, x| (x[(n, 0)] + 0.3 * x[(n, 1)]).round(),
    ];
    for (k, target) in targets.into_iter().enumerate() {
        let data = Dataset::new(x.clone(), Mat::from_fn(200, 1, |n, _| target(n, x.as_ref()))).unwrap();
        assert_eq!(fit(&data, &Settings::DEFAULT).unwrap().transforms(), [None], "{k}");
    }
    let (x, y) = both(12, 42);
    assert_eq!(fit(&Dataset::new(x, column(&y, 1)).unwrap(), &Settings::DEFAULT).unwrap().transforms(), [None]);
}

/// In any unit the same predictions: a factor of ten to some power changes nothing else.
#[test]
fn the_unit_of_a_target_does_not_matter() {
    let (x, y) = both(100, 51);
    let model = |factor: f64| {
        fit(&Dataset::new(x.clone(), Mat::from_fn(100, 1, |n, _| factor * y[(n, 1)])).unwrap(), &Settings::DEFAULT)
            .unwrap()
    };
    let (one, other, new) = (model(1.0), model(1e-5), normal(20, 2, 52));
    assert!(one.transforms()[0].is_some());
    let (p, q) = (one.predict(new.as_ref()).unwrap(), other.predict(new.as_ref()).unwrap());
    for n in 0..20 {
        assert!((1e5 * q.mean[(n, 0)] / p.mean[(n, 0)] - 1.0).abs() < 1e-3);
        assert!((1e5 * q.std[(n, 0)] / p.std[(n, 0)] - 1.0).abs() < 1e-3);
    }
}

#[test]
fn wrong_choices_are_explained() {
    let (x, y) = both(30, 61);
    let data = Dataset::named(x, y, vec!["a".into(), "b".into()], vec!["y1".into(), "y2".into()]).unwrap();
    let refused = |settings: Settings| fit(&data, &settings).unwrap_err().to_string();
    let log = refused(Settings { transform: TargetTransforms::All(TransformChoice::Log), ..Settings::DEFAULT });
    assert!(log.contains("\"y1\"") && log.contains("asinh"), "{log}");
    assert!(refused(by_name(TransformChoice::None, &[("y3", TransformChoice::Log)])).contains("\"y3\""));
    let asinh = Settings { transform: TargetTransforms::All(TransformChoice::Asinh), ..Settings::PAPER };
    assert!(refused(asinh).contains("none or log"));
    // The published algorithm takes a logarithm that is asked for.
    let paper = Settings {
        transform: by_name(TransformChoice::None, &[("y2", TransformChoice::Log)]).transform,
        ..Settings::PAPER
    };
    let model = fit(&data, &paper).unwrap();
    let found = model.predict(data.inputs()).unwrap();
    assert!(found.interval(0.9).unwrap().0.col(1).iter().all(|end| *end > 0.0));
}

/// A point is chosen by squared error, and the other can be had.
#[test]
fn points_are_means_or_medians() {
    let (x, y) = both(120, 71);
    let asinh = by_name(TransformChoice::Asinh, &[]);
    let model = fit(&Dataset::new(x, column(&y, 1)).unwrap(), &asinh).unwrap();
    let transform: Transform = model.transforms()[0].unwrap();
    let prediction = model.predict(normal(5, 2, 72).as_ref()).unwrap();
    let wanted = if transform.point == Point::Mean { prediction.mean.clone() } else { prediction.median() };
    assert_eq!(prediction.point(), wanted);
    assert!((0..5).all(|n| prediction.mean[(n, 0)] > prediction.median()[(n, 0)]));
    assert_eq!(model.predict_point(normal(5, 2, 72).as_ref()).unwrap(), wanted);
}
