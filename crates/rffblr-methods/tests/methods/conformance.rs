//! What every method of the registry must do, whatever it is.

use crate::{assert_tables, normal, smooth, with_gaps};
use rffblr::Result;
use rffblr::data::{Dataset, Weights};
use rffblr::linalg::Mat;
use rffblr_methods::method::{Forecast, Method, Predictor, by_name, registry};
use rffblr_methods::select::{Grid, Plan, deal};

/// Fits quickly, with the coarse grid and few inner folds: the suite is about what a method does, not what it chooses.
fn fit(method: &dyn Method, data: &Dataset, seed: u64) -> Result<Box<dyn Predictor>> {
    let inner = if data.rows() < 6 { None } else { Some(deal(data.rows(), 3, seed)?) };
    method.fit(data, &Plan { grid: Grid::Coarse, inner: inner.as_deref(), ..Plan::seeded(seed) })
}

/// Runs the check for each method; a failure names it.
fn each(mut check: impl FnMut(&str, &dyn Method)) {
    for method in registry() {
        check(method.name(), *method);
    }
}

fn bits(forecast: &Forecast) -> Vec<u64> {
    let tables = [Some(&forecast.mean), forecast.std.as_ref()];
    tables
        .into_iter()
        .flatten()
        .flat_map(|t| (0..t.ncols()).flat_map(|c| t.col_as_slice(c)))
        .map(|v| v.to_bits())
        .collect()
}

fn assert_sound(what: &str, forecast: &Forecast, rows: usize, tasks: usize) {
    assert_eq!(forecast.mean.shape(), (rows, tasks), "{what}");
    assert_eq!(forecast.std.as_ref().map_or((rows, tasks), |s| s.shape()), (rows, tasks), "{what}");
    for c in 0..tasks {
        assert!(forecast.mean.col_as_slice(c).iter().all(|v| v.is_finite()), "{what}");
        if let Some(std) = &forecast.std {
            assert!(std.col_as_slice(c).iter().all(|v| v.is_finite() && *v >= 0.0), "{what}");
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    let mut names: Vec<_> = registry().iter().map(|m| m.name()).collect();
    for name in &names {
        assert_eq!(by_name(name).unwrap().name(), *name);
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
    }
    each(|name, method| assert!(!method.describe().is_empty() && !method.describe().contains('\n'), "{name}"));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn an_unknown_name_suggests_a_near_one() {
    let message = |name| by_name(name).err().unwrap().to_string();
    assert!(message("rfblr").contains("did you mean \"rffblr\"?"), "{}", message("rfblr"));
    assert!(message("forest").contains("rffblr-paper, ") && !message("forest").contains("did you mean"));
}

#[test]
fn forecasts_have_the_shape_of_the_question() {
    let data = smooth(40, 3, 2, 50);
    each(|name, method| {
        let fitted = fit(method, &data, 0).unwrap();
        for rows in [0, 1, 17] {
            assert_sound(name, &fitted.predict(normal(rows, 3, 51).as_ref()).unwrap(), rows, 2);
        }
        assert!(fitted.active_features().is_none_or(|count| count <= 2000), "{name}");
        // Each hyper-parameter that was chosen has a name and a value of its own.
        let mut names: Vec<_> = fitted.chosen().into_iter().map(|(parameter, _)| parameter).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), fitted.chosen().len(), "{name}");
        assert!(
            fitted.chosen().iter().all(|(parameter, value)| !parameter.is_empty()
                && !value.to_string().is_empty()
                && rffblr_methods::method::Chosen::from(value.to_string()) == *value),
            "{name}"
        );
    });
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let data = smooth(60, 4, 2, 52);
    let questions = normal(20, 4, 53);
    let run = |method: &dyn Method, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bits(&fit(method, &data, 7).unwrap().predict(questions.as_ref()).unwrap()))
    };
    each(|name, method| {
        let one = run(method, 1);
        assert!(one == run(method, 1), "{name}: two runs differ");
        assert!(one == run(method, 2), "{name}: two threads differ from one");
    });
}

#[test]
fn what_was_learned_is_kept_bit_for_bit() {
    let data = smooth(40, 3, 2, 60);
    let questions = normal(20, 3, 61);
    each(|name, method| {
        let fitted = fit(method, &data, 2).unwrap();
        let text = fitted.state().unwrap().to_string();
        let again = method.restore(serde_json::from_str(&text).unwrap()).unwrap();
        let answers = [&fitted, &again].map(|known| bits(&known.predict(questions.as_ref()).unwrap()));
        assert!(answers[0] == answers[1], "{name}");
        assert_eq!((fitted.chosen(), fitted.active_features()), (again.chosen(), again.active_features()), "{name}");
        assert!(method.restore(serde_json::Value::Null).is_err(), "{name}");
    });
}

/// Small inner folds of a target with few values hold out rows in which it does not vary.
#[test]
fn targets_of_few_values_and_constant_ones_are_learned() {
    let inputs = normal(20, 3, 62);
    let targets = |levels: usize| Mat::from_fn(20, 1, |n, _| (n % levels) as f64);
    for levels in [1, 2] {
        let data = Dataset::new(inputs.clone(), targets(levels)).unwrap();
        each(|name, method| {
            let fitted = method.fit(&data, &Plan { grid: Grid::Coarse, ..Plan::seeded(0) });
            assert_sound(name, &fitted.unwrap().predict(inputs.as_ref()).unwrap(), 20, 1);
        });
    }
}

#[test]
fn missing_targets_are_used_or_refused() {
    let data = with_gaps(&smooth(50, 3, 2, 54), 5);
    let (mut used, mut refused) = (Vec::new(), Vec::new());
    each(|name, method| match fit(method, &data, 0) {
        Ok(fitted) => {
            assert_sound(name, &fitted.predict(data.inputs()).unwrap(), 50, 2);
            used.push(name.to_owned());
        }
        Err(error) => refused.push((name.to_owned(), error.to_string())),
    });
    // Whoever is refused reads who can, by name or by the name it is a variant of, and of none who cannot.
    for (name, error) in &refused {
        let able = error.split_once("a method that can:").unwrap_or_else(|| panic!("{name}: {error}")).1;
        let words: Vec<&str> = able.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        for used in &used {
            assert!(words.iter().any(|word| used.starts_with(word)), "{name} does not name {used}");
        }
        assert!(refused.iter().all(|(other, _)| !words.contains(&other.as_str())), "{name}: {able}");
    }
}

#[test]
fn row_weights_are_used_or_refused() {
    // Two sets that differ in targets of weight zero: a method that did not look at the weights would tell them apart.
    let weighted = |outlier: f64| {
        let plain = smooth(40, 3, 2, 66);
        let y = Mat::from_fn(40, 2, |n, c| if n % 7 == 3 { outlier } else { plain.targets()[(n, c)] });
        let weights = (0..40).map(|n| if n % 7 == 3 { 0.0 } else { 1.0 + (n % 2) as f64 }).collect();
        Dataset::new(plain.inputs().to_owned(), y).unwrap().with_weights(Weights::Repeats(weights)).unwrap()
    };
    let (one, other) = (weighted(50.0), weighted(-3.0));
    let questions = normal(10, 3, 67);
    each(|name, method| match fit(method, &one, 0) {
        Err(error) => assert!(error.to_string().contains("weights"), "{name}: {error}"),
        Ok(fitted) => {
            let forecast = fitted.predict(questions.as_ref()).unwrap();
            assert_sound(name, &forecast, 10, 2);
            let same = fit(method, &other, 0).unwrap().predict(questions.as_ref()).unwrap();
            assert_tables(name, &forecast.mean, &same.mean, 1e-6);
        }
    });
}

#[test]
fn a_constant_target_is_predicted() {
    let x = normal(30, 3, 55);
    let y = Mat::from_fn(30, 2, |n, c| if c == 0 { 5.0 } else { x[(n, 0)].sin() });
    let data = Dataset::new(x, y).unwrap();
    each(|name, method| {
        let forecast = fit(method, &data, 0).unwrap().predict(data.inputs()).unwrap();
        assert_sound(name, &forecast, 30, 2);
        for value in forecast.mean.col_as_slice(0) {
            assert!((value - 5.0).abs() < 1e-6, "{name}: {value}");
        }
    });
}

#[test]
fn one_row_is_enough_or_refused() {
    let data = Dataset::new(normal(1, 2, 56), normal(1, 2, 57)).unwrap();
    each(|name, method| match fit(method, &data, 0) {
        Ok(fitted) => assert_sound(name, &fitted.predict(normal(3, 2, 58).as_ref()).unwrap(), 3, 2),
        Err(error) => assert!(error.to_string().contains("rows"), "{name}: {error}"),
    });
}

#[test]
fn wrong_inputs_are_refused_by_place() {
    let data = smooth(20, 3, 2, 59);
    each(|name, method| {
        let fitted = fit(method, &data, 0).unwrap();
        let mut x = normal(5, 3, 60);
        x[(3, 1)] = f64::NAN;
        let error = fitted.predict(x.as_ref()).unwrap_err().to_string();
        assert!(error.contains("row 4") && error.contains("\"x2\""), "{name}: {error}");
        let error = fitted.predict(normal(5, 4, 60).as_ref()).unwrap_err().to_string();
        assert!(error.contains("4 columns, expected 3"), "{name}: {error}");
    });
}

#[test]
fn every_method_beats_or_equals_the_mean_on_an_easy_problem() {
    let (train, test) = (smooth(120, 2, 1, 61), smooth(120, 2, 1, 63));
    each(|name, method| {
        let forecast = fit(method, &train, 0).unwrap().predict(test.inputs()).unwrap();
        let r2 = rffblr::metrics::task_r2(test.targets(), forecast.mean.as_ref()).unwrap().overall;
        // Noise of 0.2 on a signal of variance one half or more leaves R² of 0.9 to reach; a line gets part of the way.
        let least = match name {
            "mean" => -0.1,
            // HI-VAE is a mixture of linear models.
            "ridge" | "hi-vae" | "hi-vae-inductive" => 0.3,
            _ => 0.8,
        };
        assert!(r2 > least, "{name}: {r2}");
    });
}

#[test]
fn the_mean_is_the_mean_by_hand() {
    let y = Mat::from_fn(4, 2, |n, c| if c == 1 { 7.0 } else { [1.0, f64::NAN, 3.0, 99.0][n] });
    let data =
        Dataset::new(normal(4, 2, 64), y).unwrap().with_weights(Weights::Repeats(vec![1.0, 1.0, 3.0, 0.0])).unwrap();
    let forecast = fit(by_name("mean").unwrap(), &data, 0).unwrap().predict(normal(2, 2, 65).as_ref()).unwrap();
    let std = forecast.std.unwrap();
    for n in 0..2 {
        // (1 + 3·3)/4, and √((1.5² + 3·0.5²)/4).
        assert!((forecast.mean[(n, 0)] - 2.5).abs() < 1e-15 && (std[(n, 0)] - 0.75f64.sqrt()).abs() < 1e-15);
        assert!(forecast.mean[(n, 1)] == 7.0 && std[(n, 1)] == 0.0);
    }
}
