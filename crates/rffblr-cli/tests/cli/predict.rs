//! `rffblr predict`: columns, intervals, scores, and tables that do not fit the model.

use crate::common::{Folder, fitted, read_numbers};
use rffblr_tables::{Values, read};

/// Row 0 of the cohort, an unseen level, a gap where training had none, and a gap where it had one.
const NEW: &str = "site,extra,colour,dose,age\nmain,1,red,0,0\nmain,1,mauve,1,20\nmain,1,blue,,33\nmain,1,,2,\n";

#[test]
fn four_columns_for_each_target() {
    let folder = fitted();
    folder.put("new.csv", NEW);
    for (more, reach) in [(&[][..], 1.6448536269514722), (&["--interval=0.5"], 0.6744897501960817)] {
        let ran = folder.done(&[&["predict", "model.json", "new.csv"], more].concat());
        let columns = read_numbers(&ran.out);
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "glucose",
            "glucose_std",
            "glucose_lower",
            "glucose_upper",
            "cost",
            "cost_std",
            "cost_lower",
            "cost_upper",
        ];
        assert_eq!(names, expected);
        for target in columns.chunks(4) {
            for row in 0..4 {
                let [mean, std, lower, upper] = [0, 1, 2, 3].map(|k| target[k].1[row]);
                assert!(std > 0.0);
                assert!((lower - (mean - reach * std)).abs() < 1e-9 * mean.abs());
                assert!((upper - (mean + reach * std)).abs() < 1e-9 * mean.abs());
            }
        }
        for word in ["'mauve' (1 row, first data row 2)", "'dose': 1 missing cell", "data row 3", "'extra'"] {
            assert!(ran.err.contains(word), "does not say {word:?}: {}", ran.err);
        }
        // This table has no targets: nothing to score.
        assert!(!ran.err.contains("R²"), "{}", ran.err);
    }
}

/// y = exp of a function of x and noise, as a table.
fn skewed() -> String {
    let noise = |n: usize| ((n * 7919 % 101) as f64 / 50.5 - 1.0) * 0.8;
    let row = |n: usize| format!("{},{}\n", n as f64 / 20.0, ((n as f64 / 10.0).sin() + noise(n)).exp());
    "x,price\n".to_string() + &(0..100).map(row).collect::<String>()
}

#[test]
fn points_and_quantiles_of_a_transformed_target() {
    let folder = Folder::new();
    folder.put("skewed.csv", skewed());
    let fit = |more: &[&str]| {
        let words = ["fit", "skewed.csv", "--targets", "price", "--check", "off", "-o", "model.json", "--force"];
        folder.done(&[&words[..], more].concat())
    };
    assert!(fit(&["--transform", "log"]).err.contains("price as ln(price)"));
    let predict = |more: &[&str]| {
        read_numbers(&folder.done(&[&["predict", "model.json", "skewed.csv", "-q"], more].concat()).out)
    };
    let found = predict(&["--point", "median", "--quantiles", "0.05,0.5,0.95"]);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["price", "price_std", "price_lower", "price_upper", "price_q0.05", "price_q0.5", "price_q0.95"];
    assert_eq!(names, expected);
    let mean = predict(&["--point", "mean"]);
    for row in 0..100 {
        let [median, _, lower, upper, low, middle, high] = [0, 1, 2, 3, 4, 5, 6].map(|k| found[k].1[row]);
        assert!(0.0 < low && (low - lower).abs() < 1e-9 * low && (high - upper).abs() < 1e-9 * high);
        assert_eq!(middle, median);
        assert!(mean[0].1[row] > median);
    }
    assert!(folder.done(&["inspect", "model.json"]).out.contains("price as ln(price), predicted by its"));
    let json: serde_json::Value = serde_json::from_str(&folder.done(&["inspect", "model.json", "--json"]).out).unwrap();
    assert_eq!(json["targets"][0]["scale"], "ln(price)");
    // Without a transform nothing is said, and lower ends may be negative.
    assert!(!fit(&["--transform", "none"]).err.contains("ln("));
    assert!(predict(&[])[2].1.iter().any(|end| *end < 0.0));
}

#[test]
fn order_of_columns_format_and_output_do_not_matter() {
    let folder = fitted();
    let text = folder.text("cohort.csv");
    let printed = folder.done(&["predict", "model.json", "cohort.csv", "-q"]);
    assert!(printed.err.is_empty());
    let reversed: Vec<String> =
        text.lines().map(|line| line.split(',').rev().collect::<Vec<_>>().join("\t") + "\n").collect();
    folder.put("reversed.tsv", reversed.concat());
    assert_eq!(folder.done(&["predict", "model.json", "reversed.tsv", "-q"]).out, printed.out);

    folder.done(&["predict", "model.json", "cohort.csv", "-o", "out.csv", "-q"]);
    assert_eq!(folder.text("out.csv"), printed.out);
    folder.done(&["predict", "model.json", "cohort.csv", "-o", "out.parquet", "-q"]);
    let table = read(folder.path("out.parquet"), &Default::default()).unwrap();
    for (name, values) in read_numbers(&printed.out) {
        assert_eq!(table.column(&name).unwrap().values, Values::Numeric(values), "{name}");
    }
    let mut command = folder.command(&["predict", "model.json", "-", "-q"]);
    command.stdin(std::fs::File::open(folder.path("cohort.csv")).unwrap());
    assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), printed.out);
}

#[test]
fn targets_in_the_table_are_scored_on_standard_error() {
    let folder = fitted();
    let ran = folder.done(&["predict", "model.json", "cohort.csv"]);
    let predicted = read_numbers(&ran.out);
    let text = folder.text("cohort.csv");
    let truth = text.lines().skip(1).map(|line| line.split(',').nth(5).unwrap());
    let pairs: Vec<(f64, f64)> =
        truth.zip(&predicted[0].1).filter(|(y, _)| !y.is_empty()).map(|(y, p)| (y.parse().unwrap(), *p)).collect();
    let mean = pairs.iter().map(|(y, _)| y).sum::<f64>() / pairs.len() as f64;
    let error: f64 = pairs.iter().map(|(y, p)| (y - p).powi(2)).sum();
    let spread: f64 = pairs.iter().map(|(y, _)| (y - mean).powi(2)).sum();
    let line = ran.err.lines().find(|line| line.trim_start().starts_with("glucose")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[..3], ["glucose", "59", &format!("{:.3}", 1.0 - error / spread)]);
    assert!(ran.err.contains("Task R²") && ran.err.contains("pooled R²"), "{}", ran.err);
}

#[test]
fn a_changed_schema_is_a_clear_error() {
    let folder = fitted();
    for (table, says) in [
        ("age,colour\n1,red\n", &["1 input column", "'dose'"][..]),
        ("Age,doze,colour\n1,2,red\n", &["2 input columns", "did you mean 'Age'?", "did you mean 'doze'?"]),
        ("age,dose,colour\n1,2,red\nold,2,red\n", &["new.csv, line 3", "'age'", "'old'"]),
        ("", &["new.csv", "empty"]),
    ] {
        folder.put("new.csv", table);
        let ran = folder.fails(&["predict", "model.json", "new.csv"], says);
        assert!(ran.out.is_empty());
    }
    folder.fails(&["predict", "model.json", "absent.csv"], &["absent.csv"]);
    folder.fails(&["predict", "absent.json", "cohort.csv"], &["absent.json"]);
    folder.fails(&["predict", "cohort.csv", "cohort.csv"], &["cohort.csv", "JSON"]);
    folder.fails(&["predict", "model.json", "cohort.csv", "-o", "out.xlsx"], &["out.xlsx", ".csv or .parquet"]);
    folder.fails(&["predict", "model.json", "cohort.csv", "-o", "no/out.csv"], &["no/out.csv"]);
}

#[test]
fn missing_inputs_stay_refused_and_text_stays_text() {
    let folder = Folder::new();
    let mut text = String::from("code,x,y\n");
    (0..12).for_each(|n| text += &format!("{},{},{}\n", n % 3, n, n % 3 * 10));
    folder.put("t.csv", text).put("new.csv", "code,x\n2,1\n7,1\n").put("gap.csv", "code,x\n2,1\n1,\n");
    folder.done(&["fit", "t.csv", "--targets=y", "--text=code", "--missing=error", "--features=10", "-q"]);
    let ran = folder.done(&["predict", "t.model.json", "new.csv"]);
    assert!(ran.err.contains("'7' (1 row, first data row 2)"), "{}", ran.err);
    folder.fails(&["predict", "t.model.json", "gap.csv"], &["data row 2", "'x'", "missing"]);
}

#[test]
fn a_model_of_numbers_reads_columns_by_their_names() {
    let folder = Folder::new();
    let inputs = rffblr::linalg::Mat::from_fn(20, 2, |n, d| (n * (d + 3) % 11) as f64);
    let targets = rffblr::linalg::Mat::from_fn(20, 1, |n, _| inputs[(n, 0)] - inputs[(n, 1)]);
    let model = rffblr::fit(&rffblr::data::Dataset::new(inputs, targets).unwrap(), &Default::default()).unwrap();
    model.save(folder.path("m.json")).unwrap();
    folder.put("new.csv", "x2,x1\n3,5\n");
    let found = read_numbers(&folder.done(&["predict", "m.json", "new.csv"]).out);
    let probe = rffblr::linalg::Mat::from_fn(1, 2, |_, d| [5.0, 3.0][d]);
    assert_eq!(found[0].1[0], model.predict(probe.as_ref()).unwrap().mean[(0, 0)]);
}

#[test]
fn the_device_changes_no_prediction_and_is_in_no_model() {
    let folder = fitted();
    folder.put("new.csv", NEW);
    let predicted = |device: &str| folder.done(&["predict", "model.json", "new.csv", "-q", "--device", device]).out;
    assert_eq!(predicted("cpu"), predicted("auto"));
    let ran = folder.run(&["predict", "model.json", "new.csv", "--device", "gpu"]);
    assert!(ran.code == 2 && ran.err.contains("cuda:1"), "{}", ran.err);
    assert!(!folder.text("model.json").contains("device"));
    assert!(!folder.done(&["inspect", "model.json"]).out.contains("device"));
}

#[test]
fn rows_far_beyond_the_training_range_are_counted() {
    let folder = Folder::new();
    let rows: String = (0..20).map(|n| format!("{n},{},{}\n", n % 3, n * n)).collect();
    folder.put("t.csv", format!("budget,x,y\n{rows}"));
    folder.done(&["fit", "t.csv", "--targets=y", "--check=off", "-q"]);
    folder.put("new.csv", "budget,x\n3,1\n1e12,1\n-500,9\n30,2\n");
    let ran = folder.done(&["predict", "t.model.json", "new.csv"]);
    let expected = "2 of 4 rows lie beyond the training rows by more than the range of these, where predictions are guesses: 'budget', 'x'";
    assert!(ran.err.contains(expected), "{}", ran.err);
    folder.put("near.csv", "budget,x\n30,4\n");
    assert!(!folder.done(&["predict", "t.model.json", "near.csv"]).err.contains("beyond"));
}
