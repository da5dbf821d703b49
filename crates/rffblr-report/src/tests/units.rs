//! Targets in their own units, and intervals as they are shown.

use super::*;
use crate::verdict::percent;
use rffblr::explain::diagnostics;
use rffblr::metrics::{Check, LEVEL};
use rffblr::{TargetTransforms, TransformChoice};

/// A skewed target of two inputs, and a model of its logarithm.
fn skewed(rows: usize) -> (Dataset, Model) {
    let inputs = Mat::from_fn(rows, 2, wave);
    let targets = Mat::from_fn(rows, 1, |n, _| (3.0 + inputs[(n, 0)] + 0.5 * inputs[(n, 1)] + 0.4 * draw(n, 7)).exp());
    let data = Dataset::new(inputs, targets).unwrap();
    let transform = TargetTransforms::All(TransformChoice::Log);
    let model = fit(&data, &Settings { transform, ..Settings::DEFAULT }).unwrap();
    assert!(model.transforms()[0].is_some());
    (data, model)
}

/// Curves, the parts of rows and straight lines, each by brute force.
#[test]
fn what_explains_a_transformed_target_is_in_its_unit() {
    let (data, model) = skewed(50);
    let facts = facts(&model, Data::Training(&data), &Options::default());
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-4 * expected.abs().max(1e-2), "{found}, not {expected}");
    };
    let logs = |rows: &Mat<f64>| -> f64 {
        let medians = model.predict(rows.as_ref()).unwrap().median();
        (0..rows.nrows()).map(|n| medians[(n, 0)].ln()).sum::<f64>() / rows.nrows() as f64
    };
    for curve in facts["learned"]["curves"].as_array().unwrap() {
        let input = curve["input"].as_u64().unwrap() as usize;
        let [mean, lower, upper] = ["mean", "lower", "upper"].map(|part| numbers(&curve[part][0]));
        for (i, value) in numbers(&curve["at"]["numbers"]).into_iter().enumerate() {
            let set = Mat::from_fn(50, 2, |n, d| if d == input { value } else { data.inputs()[(n, d)] });
            near(mean[i], logs(&set).exp());
            // Symmetric on the scale of the logarithm.
            near(lower[i] * upper[i], mean[i] * mean[i]);
            assert!(lower[i] < mean[i]);
        }
    }
    let surface = &facts["learned"]["surfaces"][0];
    let value = |k: usize| numbers(&surface["at"][k]["numbers"])[3];
    let first = surface["inputs"][0].as_u64().unwrap() as usize;
    let set = Mat::from_fn(50, 2, |_, d| if d == first { value(0) } else { value(1) });
    let second = numbers(&surface["at"][1]["numbers"]).len();
    near(numbers(&surface["mean"])[3 * second + 3], logs(&set).exp());
    let medians = model.leave_one_out(&data).unwrap().median();
    let local = &facts["local"];
    for (i, row) in local["rows"].as_array().unwrap().iter().enumerate() {
        let parts: f64 = local["parts"][0][i].as_array().unwrap().iter().map(|p| p[1].as_f64().unwrap()).sum();
        let sum = parts + local["rest"][0][i].as_f64().unwrap() + local["base"][0][i].as_f64().unwrap();
        near(sum, medians[(row.as_u64().unwrap() as usize, 0)]);
    }
    let middle = (0..50).map(|n| data.targets()[(n, 0)].ln()).sum::<f64>() / 50.0;
    for (link, found) in model.links().iter().zip(facts["inside"]["links"].as_array().unwrap()) {
        let by = link.slope[0] * model.input_std()[link.input];
        near(found["effect"][0].as_f64().unwrap(), (middle + by).exp() - middle.exp());
        assert!(
            found["low"][0].as_f64() < found["effect"][0].as_f64()
                && found["effect"][0].as_f64() < found["high"][0].as_f64()
        );
    }
}

fn checked(data: &Dataset, model: &Model) -> Check {
    let folds = Folds::random(data.rows(), 4, 3).unwrap();
    let training =
        TrainingTable::new(data.table().unwrap(), Roles::of_targets(data.target_names()), MissingInputs::Error)
            .unwrap();
    let by = SplitBy::Random { seed: 3 };
    check(model.settings(), &training, &folds, by, &|_| ControlFlow::Continue(())).unwrap().unwrap().0
}

/// Intervals that a check has made twice as wide: every share of values inside is that of the wider ones, and what is said of
/// them too.
#[test]
fn intervals_are_judged_as_they_are_shown() {
    let (data, plain) = skewed(60);
    let check = Check { wider: vec![2.0], ..checked(&data, &plain) };
    let model = plain.clone().with_check(check).unwrap();
    let share = |model: &Model, level: f64| {
        let left_out = model.leave_one_out(&data).unwrap();
        let (lower, upper) = left_out.interval(level).unwrap();
        let inside = |n: &usize| (lower[(*n, 0)]..=upper[(*n, 0)]).contains(&data.targets()[(*n, 0)]);
        (0..60).filter(inside).count() as f64 / 60.0
    };
    let report = contents(&model, Data::Training(&data), &Options::default());
    let found = report.quality.as_ref().unwrap().marks.tasks[0].coverage;
    assert!((found - share(&model, LEVEL)).abs() < 1e-6 && share(&model, 0.5) > share(&plain, 0.5) + 0.1);
    let facts = facts(&model, Data::Training(&data), &Options::default());
    let (levels, inside) = (numbers(&facts["quality"]["levels"]), numbers(&facts["quality"]["inside"][0]));
    for (level, inside) in levels.into_iter().zip(inside) {
        assert!((inside - share(&model, level)).abs() < 1e-6, "{level}: {inside}");
    }
    let reach = numbers(&facts["model"]["reach"][0]);
    assert!((reach[0] + 3.2897).abs() < 1e-3 && (reach[1] - 3.2897).abs() < 1e-3, "{reach:?}");
    // Where values lie in their distribution: twice as far from both ends.
    let [wide, own] = [&model, &plain].map(|model| diagnostics(model, &data).unwrap());
    for n in 0..60 {
        let expected = normal::cdf(normal::quantile(own.transform[(n, 0)]) / 2.0);
        assert!((wide.transform[(n, 0)] - expected).abs() < 3e-3, "{} {expected}", wide.transform[(n, 0)]);
    }
    let said = &report.questions.iter().find(|q| q.id == "calibrated").unwrap().answer;
    assert!(said.ends_with("made wider by what the refits showed, by a factor of: y1 2.00."), "{said}");
    // New rows that lie beyond the plain 90 % intervals, at 2.6 standard deviations, nine tenths of them within those that are shown.
    let predicted = plain.predict(data.inputs()).unwrap();
    let (near, far) = (predicted.interval(0.99).unwrap(), predicted.interval(0.9999).unwrap());
    let shifted = Mat::from_fn(60, 1, |n, _| {
        let (lower, upper) = if n % 10 == 0 { &far } else { &near };
        if n % 2 == 0 { lower[(n, 0)] } else { upper[(n, 0)] }
    });
    let new = Dataset::new(data.inputs().to_owned(), shifted).unwrap();
    let state = |model: &Model| {
        let questions = contents(model, Data::New(&new), &Options::default()).questions;
        questions.into_iter().find(|q| q.id == "calibrated").unwrap().state
    };
    assert_eq!((state(&plain), state(&model) == State::Fail), (State::Fail, false));
}

#[test]
fn what_is_nearly_all_is_not_called_all() {
    let said = [0.994, 0.9951, 0.99996, 1.0, 1.2, -0.3, f64::NAN].map(percent);
    assert_eq!(said, ["99\u{a0}%", "99.5\u{a0}%", "99.9\u{a0}%", "100\u{a0}%", "100\u{a0}%", "0\u{a0}%", "–"]);
}

/// Few large errors make R² small where errors as such are not.
#[test]
fn errors_that_are_smaller_than_those_of_the_mean_are_said_to_be() {
    let (data, plain) = skewed(40);
    let check = checked(&data, &plain);
    for (r2, mae, expected) in [(0.1, 1.0, true), (0.1, 1.7, false), (0.9, 1.0, false)] {
        let mut check = check.clone();
        check.model.scores.per_task.r2[0] = r2;
        check.model.scores.per_task.mae[0] = mae;
        check.mean.scores.per_task.mae[0] = 2.0;
        let model = plain.clone().with_check(check).unwrap();
        let warnings = contents(&model, Data::None, &Options::default()).verdict.warnings;
        let said = warnings.iter().find(|line| line.starts_with("R² counts squared errors"));
        assert_eq!(said.is_some(), expected, "{warnings:?}");
        assert!(said.is_none_or(|line| line.ends_with("y1 (off by 1.00 on average, the mean by 2.00).")), "{said:?}");
    }
}
