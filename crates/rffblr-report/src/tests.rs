//! What the block of facts says, against the model it comes from. The page that shows it is tested in a browser.

use super::checks::State;
use super::*;
use rffblr::data::{MissingInputs, Roles, TrainingTable, cohort};
use rffblr::linalg::Mat;
use rffblr::metrics::SplitBy;
use rffblr::table::{Column, Table, Values};
use rffblr::{fit, normal};
use rffblr_methods::evaluate::check;
use rffblr_methods::folds::Folds;
use std::ops::ControlFlow;

mod units;

fn wave(n: usize, d: usize) -> f64 {
    ((n * (2 * d + 3)) as f64 * 0.7).sin() + 0.1 * ((n * 13 + d) as f64).cos()
}

/// Between −1 and 1, as if drawn.
fn draw(n: usize, d: usize) -> f64 {
    2.0 * ((n as f64 * 12.9898 + d as f64 * 78.233).sin() * 43_758.545).rem_euclid(1.0) - 1.0
}

fn small() -> Dataset {
    let inputs = Mat::from_fn(60, 3, wave);
    let targets = Mat::from_fn(60, 2, |n, c| match (n % 9 == 4, c) {
        (true, 0) => f64::NAN,
        (_, 0) => (2.0 * inputs[(n, 0)]).sin() + 0.2 * wave(n, 9),
        _ => 100.0 * inputs[(n, 1)] + 5.0 * wave(n, 5),
    });
    Dataset::new(inputs, targets).unwrap()
}

fn facts(model: &Model, data: Data<'_>, options: &Options) -> Value {
    facts_of(&Report::new(model, data, options).unwrap())
}

fn contents(model: &Model, data: Data<'_>, options: &Options) -> Contents {
    Contents::new(model, data, options, &|_| {}).unwrap()
}

/// What the script element of the page holds.
fn facts_of(report: &Report) -> Value {
    let (_, rest) = report.html().split_once("id=\"facts\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect()
}

#[test]
fn the_shares_of_a_row_add_up_to_its_prediction_without_it() {
    let data = cohort(50, 1).unwrap().train;
    for form in [Form::Kernel, Form::Sinusoids { sparsity: 0.75 }] {
        let model = fit(&data, &Settings { form, ..Settings::DEFAULT }).unwrap();
        let facts = facts(&model, Data::Training(&data), &Options::default());
        let prediction = model.leave_one_out(&data).unwrap().mean;
        let local = &facts["local"];
        assert_eq!(local["others"], 2);
        for c in 0..4 {
            for (i, row) in local["rows"].as_array().unwrap().iter().enumerate() {
                let parts: f64 = local["parts"][c][i].as_array().unwrap().iter().map(|p| p[1].as_f64().unwrap()).sum();
                let sum = parts + local["rest"][c][i].as_f64().unwrap() + local["base"][c][i].as_f64().unwrap();
                let expected = prediction[(row.as_u64().unwrap() as usize, c)];
                assert!((sum - expected).abs() < 1e-5 * expected.abs().max(1.0), "{sum} for {expected}");
            }
        }
    }
}

#[test]
fn shares_of_inputs_add_up_to_one_and_correlated_inputs_are_named() {
    let inputs = Mat::from_fn(60, 3, |n, d| if d == 2 { wave(n, 0) + 0.1 * wave(n, 7) } else { wave(n, d) });
    let targets = Mat::from_fn(60, 1, |n, _| inputs[(n, 0)] + (2.0 * inputs[(n, 1)]).sin() + 0.1 * wave(n, 9));
    let data = Dataset::new(inputs, targets).unwrap();
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let facts = facts(&model, Data::Training(&data), &Options::default());
    let relevance = &facts["learned"]["relevance"];
    let (share, alone) = (numbers(&relevance["share"][0]), numbers(&relevance["alone"][0]));
    assert!((share.iter().sum::<f64>() - 1.0).abs() < 1e-5);
    share.iter().zip(&alone).for_each(|(share, alone)| assert!(*alone <= share + 1e-6 && *alone >= 0.0));
    let correlated = facts["learned"]["correlated"].as_array().unwrap();
    assert_eq!(correlated.len(), 1);
    assert!(correlated[0][2].as_f64().unwrap() > 0.9, "{correlated:?}");
}

#[test]
fn the_central_row_is_the_medoid_and_missing_cells_are_not_counted() {
    let column = |name: &str, values: Vec<f64>| Column { name: name.into(), values: Values::Numeric(values) };
    let a = |n: usize| if n % 6 == 2 { f64::NAN } else { wave(n, 0) };
    let table = Table::new(vec![
        column("a", (0..60).map(a).collect()),
        column("b", (0..60).map(|n| wave(n, 1)).collect()),
        column("y", (0..60).map(|n| wave(n, 0) + wave(n, 1) + 0.1 * wave(n, 8)).collect()),
    ])
    .unwrap();
    let training = TrainingTable::new(table, Roles::of_targets(["y"]), MissingInputs::Impute).unwrap();
    let model = training.fit(&Settings::DEFAULT).unwrap();
    let data = training.dataset();
    let facts = facts(&model, Data::Training(data), &Options::default());
    let input = &facts["learned"]["inputs"][0];
    assert_eq!(input["missing"], 10);
    assert_eq!(numbers(&input["histogram"]["counts"]).iter().sum::<f64>(), 50.0);
    assert_eq!(facts["gaps"]["inputs"], serde_json::json!([[0, 10]]));
    let at = |n: usize, d: usize| data.inputs()[(n, d)] / model.input_std()[d];
    let total = |n: usize| (0..60).map(|m| (0..3).map(|d| (at(n, d) - at(m, d)).abs()).sum::<f64>()).sum::<f64>();
    let best = (0..60).min_by(|&a, &b| total(a).total_cmp(&total(b))).unwrap();
    assert_eq!(facts["learned"]["central_row"], best);
    // The axes of the two inputs have no place for a missing cell, and no row is counted that is not near.
    let surface = &facts["learned"]["surfaces"][0];
    assert!(surface["at"].as_array().unwrap().iter().all(|axis| axis["labels"].as_array().unwrap().is_empty()));
    let near = numbers(&surface["rows"]);
    assert!(near.contains(&0.0) && near.iter().all(|count| *count <= 50.0));
}

#[test]
fn errors_by_part_are_those_of_its_rows() {
    let data = small();
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let left_out = model.leave_one_out(&data).unwrap();
    let groups: Vec<String> = (0..60).map(|n| ["even", "odd"][n % 2].to_owned()).collect();
    let options = Options { groups: Some(("side".into(), groups)), ..Options::default() };
    let facts = facts(&model, Data::Training(&data), &options);
    let parts = facts["parts"].as_array().unwrap();
    let part = parts.iter().find(|part| part["column"] == "side" && part["value"] == "odd").unwrap();
    let errors: Vec<f64> = (0..60)
        .filter(|n| n % 2 == 1)
        .map(|n| data.targets()[(n, 0)] - left_out.mean[(n, 0)])
        .filter(|e| !e.is_nan())
        .collect();
    let count = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / count;
    let spread = (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (count - 1.0) / count).sqrt();
    let task = &part["tasks"][0];
    assert_eq!(task["rows"], errors.len());
    let near = |name: &str, expected: f64| {
        let found = task[name].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-6 * expected.abs().max(1e-3), "{name}: {found}, not {expected}");
    };
    near("mean", mean);
    near("mean_reach", 1.644_853_626_951_472_2 * spread);
    near("size", errors.iter().map(|e| e.abs()).sum::<f64>() / count);
    // The quarters of an input hold every row once.
    let quarters = parts.iter().filter(|part| part["column"] == "x1");
    assert_eq!(quarters.map(|part| part["tasks"][1]["rows"].as_u64().unwrap()).sum::<u64>(), 60);
}

/// A constant that is added to the targets of some rows after the fit is a pattern; without it there is none.
#[test]
fn a_pattern_in_the_errors_is_found() {
    let inputs = Mat::from_fn(120, 2, wave);
    let draw = |n: usize| ((n as f64 * 12.9898).sin() * 43_758.545).rem_euclid(1.0) - 0.5;
    let targets = |bump: f64| {
        Mat::from_fn(120, 1, |n, _| inputs[(n, 0)] + 0.4 * draw(n) + if inputs[(n, 1)] > 0.7 { bump } else { 0.0 })
    };
    let plain = Dataset::new(inputs.clone(), targets(0.0)).unwrap();
    let model = fit(&plain, &Settings::DEFAULT).unwrap();
    let state = |data: &Dataset| {
        let questions = contents(&model, Data::New(data), &Options::default()).questions;
        questions.into_iter().find(|q| q.id == "patternless").unwrap()
    };
    assert_eq!(state(&plain).state, State::Pass);
    let bumped = Dataset::new(inputs.clone(), targets(1.0)).unwrap();
    let found = state(&bumped);
    assert!(found.state == State::Fail && found.answer.contains("x2"), "{}", found.answer);
}

/// Of many parts some have larger errors by chance: that is no alarm. Rows with more noise are one.
#[test]
fn errors_that_are_larger_are_told_from_chance() {
    let inputs = Mat::from_fn(240, 10, draw);
    let targets = |seed: usize, worse: f64| {
        Mat::from_fn(240, 1, |n, _| {
            let noise = normal::quantile(0.5 + 0.499 * draw(n, seed));
            inputs[(n, 0)] + noise * if inputs[(n, 3)] > 0.5 { worse } else { 1.0 }
        })
    };
    let model = fit(&Dataset::new(inputs.clone(), targets(99, 1.0)).unwrap(), &Settings::DEFAULT).unwrap();
    let larger = |seed: usize, worse: f64| -> Vec<(String, String)> {
        let data = Dataset::new(inputs.clone(), targets(seed, worse)).unwrap();
        let facts = facts(&model, Data::New(&data), &Options::default());
        let parts = facts["parts"].as_array().unwrap();
        assert!(facts["parts_total"] == 40 && parts.len() == 40);
        let found = parts.iter().filter(|part| part["tasks"][0]["larger"] == true);
        found.map(|part| (part["column"].to_string(), part["value"].to_string())).collect()
    };
    for seed in 100..104 {
        assert_eq!(larger(seed, 1.0), [], "seed {seed}");
    }
    let found = larger(200, 3.0);
    assert!(found.len() == 1 && found[0].0.contains("x4"), "{found:?}");
}

#[test]
fn parts_do_not_hold_all_rows_and_dates_are_dates() {
    let column = |name: &str, values: Vec<f64>| Column { name: name.into(), values: Values::Numeric(values) };
    let levels: Vec<String> = (0..60).map(|n| format!("2024-{:02}-{:02}", 1 + n / 28, 1 + n % 28)).collect();
    let days = Values::Text { levels, codes: (0..60).collect() };
    let table = Table::new(vec![
        column("rock", (0..60).map(|n| f64::from(u8::from(n % 10 == 3))).collect()),
        column("a", (0..60).map(|n| wave(n, 1)).collect()),
        Column { name: "day".into(), values: days },
        column("y", (0..60).map(|n| wave(n, 1) + 0.1 * wave(n, 8)).collect()),
    ])
    .unwrap();
    let training = TrainingTable::new(table, Roles::of_targets(["y"]), MissingInputs::Impute).unwrap();
    let model = training.fit(&Settings::DEFAULT).unwrap();
    let facts = facts(&model, Data::Training(training.dataset()), &Options::default());
    let parts = facts["parts"].as_array().unwrap();
    let of = |name: &str| -> Vec<(&str, u64)> {
        let own = parts.iter().filter(|part| part["column"] == name);
        own.map(|part| (part["value"].as_str().unwrap(), part["tasks"][0]["rows"].as_u64().unwrap())).collect()
    };
    let mut rock = of("rock");
    rock.sort_unstable();
    assert_eq!(rock, [("0", 54), ("1", 6)]);
    let days = of("day");
    assert!(days.len() == 4 && days.iter().any(|(value, _)| value.starts_with("2024-01-01 to 2024-0")), "{days:?}");
    assert_eq!(
        facts["dates"],
        serde_json::json!([null, null, { "since": 1_704_067_200.0, "times": false, "clock": false }])
    );
    // What the panel takes for the ends of the data is not rounded.
    let edges = numbers(&facts["learned"]["inputs"][1]["histogram"]["edges"]);
    let own: Vec<f64> = (0..60).map(|n| wave(n, 1)).collect();
    let ends = own.iter().fold((f64::MAX, f64::MIN), |(low, high), &v| (low.min(v), high.max(v)));
    assert_eq!((edges[0], edges[edges.len() - 1]), ends);
}

#[test]
fn places_and_times_leave_open_whether_rows_were_held_out_fairly() {
    let answer = |names: [&str; 2], by: SplitBy| {
        let column = |name: &str, d: usize| Column {
            name: name.into(),
            values: Values::Numeric((0..40).map(|n| wave(n, d)).collect()),
        };
        let table = Table::new(vec![column(names[0], 0), column(names[1], 1), column("z", 5)]).unwrap();
        let settings = Settings { max_iterations: 2, ..Settings::DEFAULT };
        let training = TrainingTable::new(table, Roles::of_targets(["z"]), MissingInputs::Error).unwrap();
        let folds = Folds::random(40, 2, 3).unwrap();
        let (check, _) = check(&settings, &training, &folds, by, &|_| ControlFlow::Continue(())).unwrap().unwrap();
        let model = training.fit(&settings).unwrap().with_check(check).unwrap();
        let questions = contents(&model, Data::Training(training.dataset()), &Options::default()).questions;
        let found = questions.into_iter().find(|q| q.id == "folds").unwrap();
        (found.state, found.answer)
    };
    let random = || SplitBy::Random { seed: 3 };
    let (state, said) = answer(["easting", "northing"], random());
    assert!(state == State::Unknown && said.contains("easting and northing") && said.contains("--group"), "{said}");
    let (state, said) = answer(["x1", "year"], random());
    assert!(state == State::Unknown && said.contains("--time"), "{said}");
    assert_eq!(answer(["x1", "x2"], random()).0, State::Pass);
    let grouped = SplitBy::Group { column: Some("area".into()), seed: 3 };
    assert_eq!(answer(["easting", "northing"], grouped).0, State::Pass);
}

#[test]
fn new_rows_are_judged_by_their_own_predictions() {
    let (all, model) = {
        let all = small();
        let first: Vec<usize> = (0..40).collect();
        let model = fit(&all.select(&first).unwrap(), &Settings::DEFAULT).unwrap();
        (all, model)
    };
    let new = all.select(&(40..60).collect::<Vec<_>>()).unwrap();
    let facts = facts(&model, Data::New(&new), &Options::default());
    let predicted = model.predict_mean(new.inputs()).unwrap();
    let expected = rffblr::metrics::task_r2(new.targets(), predicted.as_ref()).unwrap().overall;
    let found = facts["quality"]["methods"][0]["task_r2"].as_f64().unwrap();
    assert!((found - expected).abs() < 1e-6 && facts["quality"]["new"] == true);
    assert!(facts["verdict"]["basis"].as_str().unwrap().contains("20 rows that the model has never seen"));
    assert!(
        facts["drift"]["apart"].as_f64().unwrap() < 0.5
            && facts["quality"]["rows"]["influence"] == serde_json::json!([])
    );
    // Rows far away are said to be.
    let far = Mat::from_fn(20, 3, |n, d| new.inputs()[(n, d)] + 30.0);
    let far = Dataset::new(far, new.targets().to_owned()).unwrap();
    let questions = contents(&model, Data::New(&far), &Options::default()).questions;
    let drift = questions.iter().find(|q| q.id == "drift").unwrap();
    assert!(drift.state == State::Fail && drift.answer.contains("x1 +"), "{}", drift.answer);
}

#[test]
fn labels_and_units_are_used() {
    let data = small();
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let mut labels = Labels::default();
    labels.insert("y1", "Length of stay", "days");
    labels.insert("x2", "Age", "");
    let facts = facts(&model, Data::Training(&data), &Options { labels, ..Options::default() });
    assert_eq!(facts["target_labels"][0], serde_json::json!(["Length of stay", "days"]));
    assert_eq!(facts["input_labels"][1], serde_json::json!(["Age", ""]));
    let error = facts["verdict"]["targets"][0]["error"].as_str().unwrap();
    let [own, mean] =
        error.strip_prefix("off by ").unwrap().split_once(" on average; guessing the mean: ").unwrap().into();
    assert!(own.ends_with("\u{a0}days") && mean.ends_with("\u{a0}days"), "{error}");
    let headline = facts["verdict"]["headline"].as_str().unwrap();
    assert!(
        headline.contains(&format!("Off on average: Length of stay by {own} (guessing the mean: {mean}), y2 by")),
        "{headline}"
    );
}

#[test]
fn the_rows_shown_are_those_left_out() {
    let data = small();
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let left_out = model.leave_one_out(&data).unwrap();
    let options = Options { row_numbers: (0..60).map(|n| 2 * n + 10).collect(), ..Options::default() };
    let facts = facts(&model, Data::Training(&data), &options);
    let (lower, upper) = left_out.interval(0.9).unwrap();
    let rows = &facts["quality"]["rows"];
    assert_eq!(rows["number"][7], 24);
    for c in 0..2 {
        for n in 0..60 {
            let near = |name: &str, expected: f64| match rows[name][c][n].as_f64() {
                Some(found) => (found - expected).abs() <= 1e-6 * expected.abs(),
                None => expected.is_nan(),
            };
            assert!(near("observed", data.targets()[(n, c)]) && near("mean", left_out.mean[(n, c)]));
            assert!(near("lower", lower[(n, c)]) && near("upper", upper[(n, c)]));
        }
    }
    // Every observed value is counted once.
    let counted: f64 = numbers(&facts["quality"]["transform"][0]).iter().sum();
    assert_eq!(counted, 53.0);
    assert_eq!(numbers(&facts["learned"]["inputs"][1]["histogram"]["counts"]).iter().sum::<f64>(), 60.0);
    let wrong = Options { row_numbers: vec![1, 2], ..Options::default() };
    assert!(Report::new(&model, Data::Training(&data), &wrong).is_err());
}

#[test]
fn the_verdict_says_what_the_scores_say() {
    let line = |n: usize| n as f64 * 0.37 % 5.0;
    let linear = Dataset::new(
        Mat::from_fn(80, 2, |n, d| if d == 0 { line(n) } else { wave(n, 7) }),
        Mat::from_fn(
            80,
            2,
            |n, c| if c == 0 { 3.0 * line(n) + 0.3 * wave(n, 3) } else { ((n * n * 7919) % 101) as f64 },
        ),
    )
    .unwrap();
    let model = fit(&linear, &Settings { max_iterations: 2, ..Settings::DEFAULT }).unwrap();
    let judged = contents(&model, Data::Training(&linear), &Options::default());
    let Verdict { headline, good_for, not_for, warnings, .. } = judged.verdict;
    assert!(headline.starts_with("Not checked by refits"), "{headline}");
    assert!(good_for.len() == 1 && good_for[0].starts_with("Predicted well: y1 (R² "), "{good_for:?}");
    assert!(not_for[0].starts_with("Hardly better than the mean: y2 ("), "{not_for:?}");
    let ridge = judged.questions.iter().find(|q| q.id == "ridge").unwrap();
    assert!(ridge.state != State::Pass, "{}", ridge.answer);
    assert!(warnings.iter().any(|line| line.contains("limit of 2 steps")), "{warnings:?}");
    let alone = contents(&model, Data::None, &Options::default());
    assert!(alone.verdict.headline.contains("Not judged") && alone.card.contains("[to be filled: scores"));
}

#[test]
fn the_refits_have_the_verdict_even_without_data() {
    let data = small();
    let settings = Settings::DEFAULT;
    let folds = Folds::random(60, 4, 3).unwrap();
    let by = SplitBy::Group { column: Some("a_b".into()), seed: 3 };
    let roles = Roles::of_targets(data.target_names());
    let training = TrainingTable::new(data.table().unwrap(), roles, MissingInputs::Error).unwrap();
    let found = check(&settings, &training, &folds, by, &|_| ControlFlow::Continue(()));
    let (check, _) = found.unwrap().unwrap();
    let model = fit(&data, &settings).unwrap().with_check(check.clone()).unwrap();
    for data in [Data::Training(&data), Data::None] {
        let report = Report::new(&model, data, &Options::default()).unwrap();
        let facts = facts_of(&report);
        let explained = format!("Explains {:.0}\u{a0}% (", 100.0 * check.model.scores.task_r2);
        assert!(facts["verdict"]["headline"].as_str().unwrap().starts_with(&explained), "{}", facts["verdict"]);
        assert!(facts["verdict"]["basis"].as_str().unwrap().contains("4 refits, whole groups of a_b held out"));
        assert!(!facts["verdict"]["warnings"].to_string().contains("not checked"));
        // The card has both scores under their names, those of the refits first.
        let card = report.card();
        let [refits, score] =
            ["Held-out rows: 4 refits, whole groups of a\\_b held out", "| y1 | 53 | "].map(|text| card.find(text));
        assert!(refits.unwrap() < score.unwrap(), "{card}");
        let shown = format!("| y1 | 53 | {:.3} ± {:.3} |", check.model.scores.per_task.r2[0], check.model.r2_se[0]);
        assert!(card.contains(&shown), "{shown}");
        assert_eq!(card.contains("at fixed scales (a diagnostic that flatters)"), data.rows().is_some());
        assert_eq!(facts["check"]["methods"][1]["name"], "ridge regression");
        assert_eq!(facts["quality"].is_null(), data.rows().is_none());
    }
}

#[test]
fn the_kernel_curves_are_the_kernel() {
    let data = small();
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let kernel = model.kernels()[0].1;
    let facts = facts(&model, Data::None, &Options::default());
    for profile in facts["inside"]["kernels"][0]["profiles"].as_array().unwrap() {
        let input = profile["input"].as_u64().unwrap() as usize;
        let (distance, correlation) = (numbers(&profile["distance"]), numbers(&profile["kernel"]));
        for i in [0, 17, 60] {
            // Two rows that differ in one input alone; what is constant or straight is taken off.
            let z = distance[i] / model.input_std()[input];
            let rows = Mat::from_fn(2, 3, |n, d| if n == 1 && d == input { z } else { 0.0 });
            let gram = kernel.gram(&rows, rffblr::linalg::Threads::ONE);
            let expected = (gram[(1, 0)] - 1.0) / (gram[(0, 0)] - 1.0);
            assert!((correlation[i] - expected).abs() < 1e-6, "{} for {expected}", correlation[i]);
        }
    }
}

#[test]
fn a_formula_that_is_too_large_is_left_out_and_that_is_said() {
    let rows = 150;
    let targets = |x: &Mat<f64>| Mat::from_fn(rows, 1, |n, _| x[(n, 0)] + wave(n, 3));
    let x = Mat::from_fn(rows, 2, wave);
    let many = Settings {
        form: rffblr::CosineSettings {
            features: rffblr::FeatureCount::Exactly(300),
            ..rffblr::CosineSettings::DEFAULT
        }
        .into(),
        max_iterations: 1,
        ..Settings::COSINES
    };
    let model = fit(&Dataset::new(x.clone(), targets(&x)).unwrap(), &many).unwrap();
    let what_if = WhatIf::new(&model, true, 200_000).unwrap();
    assert!(!what_if.intervals && what_if.file.is_some());
    assert!(what_if.absent.unwrap().contains("Intervals are left out"));

    let data = small();
    let model = fit(&data, &Settings { max_iterations: 2, ..Settings::DEFAULT }).unwrap();
    let what_if = WhatIf::new(&model, true, 3000).unwrap();
    assert!(what_if.file.is_none() && what_if.absent.unwrap().contains("too long for this page"));
    let report = Report::new(&model, Data::Training(&data), &Options::default()).unwrap();
    assert!(report.html().len() < PAGE_BYTES && report.html().contains("\"coefficients\":"));
}

#[test]
fn the_report_of_the_demo_is_small() {
    let data = cohort(200, 1).unwrap().train;
    let report =
        Report::new(&fit(&data, &Settings::DEFAULT).unwrap(), Data::Training(&data), &Options::default()).unwrap();
    assert!(report.html().len() < 2_000_000, "{} bytes", report.html().len());
}

#[test]
fn hostile_names_stay_text() {
    assert_eq!(page::escaped(r#"<a b="c">&'"#), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
    assert_eq!(page::filled("a{{x}}b{{y}}c", |name| format!("[{name}{{{{y}}}}]")), "a[x{{y}}]b[y{{y}}]c");
    assert_eq!(brief(1.23456789e-300), 1.234568e-300);
    assert!(brief(f64::NAN).is_nan());
}

/// What the report says of a kernel it says of the targets that share it.
#[test]
fn the_report_shows_the_kernel_of_each_target() {
    // Draws between −2 and 2; the second target needs other inputs than the two beside it.
    let draw =
        |n: usize, d: usize| 4.0 * ((n as f64 * 12.9898 + d as f64 * 78.233).sin() * 43_758.545).rem_euclid(1.0) - 2.0;
    let inputs = Mat::from_fn(120, 6, draw);
    let targets = Mat::from_fn(120, 3, |n, c| {
        let first = if c == 1 { 4 } else { 0 };
        (1.5 * inputs[(n, first)]).sin() + inputs[(n, first + 1)] + 0.1 * draw(n, 10 + c)
    });
    let data = Dataset::new(inputs, targets).unwrap();
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    assert_eq!(model.task_groups(), [vec![0, 2], vec![1]]);
    let report = Report::new(&model, Data::Training(&data), &Options::default()).unwrap();
    let card = report.card();
    assert!(card.contains("2 kernels, each for targets that need the same inputs (y1, y3; y2)"), "{card}");
    let facts = facts_of(&report);
    let kernels = facts["inside"]["kernels"].as_array().unwrap();
    for (said, (tasks, kernel)) in kernels.iter().zip(model.kernels()) {
        assert_eq!(said["targets"], serde_json::json!(tasks));
        assert_eq!(said["families"][1]["scale"], brief(kernel.rbf.bandwidth));
        for input in 0..6 {
            for &task in tasks {
                assert_eq!(facts["learned"]["inputs"][input]["scale"][task], brief(kernel.input_scales[input]));
            }
        }
    }
    let mut file: Value = serde_json::from_str(&model.to_json().unwrap()).unwrap();
    file["training"]["trace"] = Value::Null;
    assert_eq!(facts["what_if"]["file"], file);
}
