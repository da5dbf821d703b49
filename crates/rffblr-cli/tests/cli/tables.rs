//! Tables as people have them, from file to predictions.

use crate::common::{Folder, read_numbers};

/// Thirty visits: a date, a number, a text that is not to be an input, and a target.
fn visits(date: impl Fn(usize) -> String, delimiter: &str, number: impl Fn(f64) -> String) -> String {
    let mut text = ["id", "when", "dose", "glucose"].join(delimiter) + "\n";
    for n in 0..30 {
        let dose = (n * 7 % 11) as f64 / 2.0;
        let glucose = 5.0 + dose + (n as f64 * 0.4).sin();
        text += &([format!("p{n:02}"), date(n), number(dose), number(glucose)].join(delimiter) + "\n");
    }
    text
}

fn iso(n: usize) -> String {
    format!("2024-{:02}-{:02}", 1 + n / 10, 1 + n * 3 % 28)
}

const FIT: [&str; 6] = ["--targets=glucose", "--ignore=id", "--check=off", "--max-iterations=5", "-o", "m.json"];

#[test]
fn the_same_model_from_every_kind_of_file() {
    let folder = Folder::new();
    let plain = visits(iso, ",", |x| x.to_string());
    let european = |n: usize| iso(n).split('-').rev().collect::<Vec<_>>().join(".");
    let american = |n: usize| match iso(n).split('-').collect::<Vec<_>>()[..] {
        [year, month, day] => format!("{month}/{day}/{year}"),
        _ => unreachable!(),
    };
    let german = visits(european, ";", |x| x.to_string().replace('.', ","));
    let utf16: Vec<u8> = visits(american, "\t", |x| x.to_string()).encode_utf16().flat_map(u16::to_le_bytes).collect();
    folder.put("plain.csv", &plain).put("german.csv", german).put("utf16.txt", utf16);
    let mut expected = None;
    for name in ["plain.csv", "german.csv", "utf16.txt"] {
        let ran = folder.done(&[&["fit", name, "--force"], &FIT[..]].concat());
        assert!(
            ran.err.contains("column 'when': dates, taken as days since 2024-01-01 and day of the week"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("What matters most") && ran.err.contains("3 inputs") || ran.err.contains("4 inputs"));
        let found = folder.done(&["predict", "m.json", "plain.csv", "--keep=id,when", "-q"]).out;
        assert!(found.starts_with("id,when,glucose,glucose_std,") && found.contains("\np00,2024-01-01,"), "{found}");
        assert_eq!(*expected.get_or_insert(found.clone()), found, "{name}");
    }
}

#[test]
fn ambiguous_dates_are_asked_about() {
    let folder = Folder::new();
    folder.put("t.csv", visits(|n| format!("{:02}/{:02}/2024", 1 + n % 12, 1 + n * 5 % 12), ",", |x| x.to_string()));
    folder.fails(&[&["fit", "t.csv"], &FIT[..]].concat(), &["'when'", "--dates day-first or --dates month-first"]);
    let ran = folder.done(&[&["fit", "t.csv", "--dates=month-first"], &FIT[..]].concat());
    assert!(ran.err.contains("days since 2024-01-01"), "{}", ran.err);
    let ran = folder.done(&[&["fit", "t.csv", "--text=when", "--force"], &FIT[..]].concat());
    assert!(ran.err.contains("column 'when': 12 levels"), "{}", ran.err);
}

#[test]
fn columns_by_name_position_and_pattern() {
    let folder = Folder::new();
    let mut text = String::from(",\"a, b\",\"5\"\" pipe\",lab_x,lab_y,z\n");
    (0..20).for_each(|n| text += &format!("{n},{},{},{},{},{}\n", n % 7, n % 5, n % 3, n % 4, n * n % 11));
    folder.put("t.csv", text);
    let targets = |arguments: &[&str]| {
        let fixed = ["fit", "t.csv", "--check=off", "--max-iterations=2", "--json", "--force"];
        let ran = folder.done(&[&fixed[..], arguments].concat());
        assert!(ran.err.is_empty(), "{}", ran.err);
        let facts: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert!(facts["notes"][0].as_str().unwrap().contains("column #1 has no name"), "{facts}");
        assert!(facts["relevance"]["inputs"][0]["share"].as_f64().unwrap() >= 0.0);
        (facts["targets"].to_string(), facts["inputs"].to_string())
    };
    let pair = |targets: &str, inputs: &str| (targets.to_owned(), inputs.to_owned());
    assert_eq!(targets(&["--targets=lab_*"]), pair(r#"["lab_x","lab_y"]"#, r#"["a, b","5\" pipe","z"]"#));
    assert_eq!(targets(&["--targets=a, b", "--ignore=lab_*"]), pair(r#"["a, b"]"#, r#"["5\" pipe","z"]"#));
    assert_eq!(
        targets(&["--targets=\"5\"\" pipe\",#6", "--ignore=#2"]),
        pair(r#"["5\" pipe","z"]"#, r#"["lab_x","lab_y"]"#)
    );
    // A column that is named has no second role by a pattern.
    assert_eq!(targets(&["--targets=lab_x", "--ignore=lab_*,#2,#3"]), pair(r#"["lab_x"]"#, r#"["z"]"#));
    for (arguments, says) in [
        ("--targets=#9", "no column #9; the table has 6"),
        ("--targets=q*", "no column has a name like 'q*'"),
        ("--targets=\"a", "never closed"),
    ] {
        let ran = folder.run(&["fit", "t.csv", arguments, "--force"]);
        assert!(ran.code == 2 && ran.err.contains(says), "{}", ran.err);
    }
    let ran = folder.run(&["fit", "t.csv", "--force"]);
    assert!(ran.code == 2 && ran.err.contains("Usage: rffblr fit"), "{}", ran.err);
    assert!(ran.err.contains("--targets is needed") && ran.err.contains("\n  #4   lab_x"), "{}", ran.err);
}

#[test]
fn no_rows_give_a_header_and_json_a_list() {
    let folder = Folder::new();
    folder
        .put("t.csv", visits(iso, ",", |x| x.to_string()))
        .put("none.csv", "when,dose\n")
        .put("two.csv", "when,dose\n2024-02-03,1\n,2\n");
    folder.done(&[&["fit", "t.csv", "-q"], &FIT[..]].concat());
    let ran = folder.done(&["predict", "m.json", "none.csv"]);
    assert_eq!(ran.out, "glucose,glucose_std,glucose_lower,glucose_upper\n");
    let json: serde_json::Value =
        serde_json::from_str(&folder.done(&["predict", "m.json", "two.csv", "--json", "--keep=when"]).out).unwrap();
    let found = read_numbers(&folder.done(&["predict", "m.json", "two.csv", "-q"]).out);
    assert_eq!((&json[0]["when"], &json[1]["when"]), (&"2024-02-03".into(), &serde_json::Value::Null));
    for (name, values) in found {
        assert_eq!((json[0][&name].as_f64(), json[1][&name].as_f64()), (Some(values[0]), Some(values[1])));
    }
    folder.fails(&["predict", "m.json", "two.csv", "--keep=whem"], &["'whem'", "did you mean 'when'?"]);
    folder.fails(&["fit", "none.csv", "--targets=dose"], &["none.csv has column names but no rows of data"]);
    let outcome: serde_json::Value = serde_json::from_str(&folder.done(&["verify", "m.json", "--json"]).out).unwrap();
    assert_eq!(outcome["holds"], true);
}

#[test]
fn evaluate_takes_settings_and_keeps_predictions() {
    let folder = Folder::new();
    folder.put("t.csv", visits(iso, ",", |x| x.to_string()));
    let run = ["evaluate", "t.csv", "--targets=glucose", "--ignore=id,when", "--folds=3", "--max-iterations=5"];
    let ran = folder.done(&[&run[..], &["--sparsity=0.5", "--predictions=out.csv", "--methods=rffblr,mean"]].concat());
    assert!(ran.out.contains("Best of each row is marked *. rffblr explains"), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 130), "{}", ran.out);
    let table = rffblr_tables::read(folder.path("out.csv"), &Default::default()).unwrap();
    let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["row", "fold", "method", "glucose", "glucose_predicted", "glucose_std"]);
    assert_eq!(table.rows(), 60);
    // The predictions are those that were scored.
    let facts = |more: &[&str]| -> serde_json::Value {
        serde_json::from_str(&folder.done(&[&run[..], &["--json", "-q"], more].concat()).out).unwrap()
    };
    let sparse = facts(&["--sparsity=0.5", "--methods=rffblr,mean"]);
    let numbers = |name: &str| match &table.column(name).unwrap().values {
        rffblr_tables::Values::Numeric(numbers) => numbers[..30].to_vec(),
        rffblr_tables::Values::Text { .. } => unreachable!(),
    };
    let (truth, mean) = (numbers("glucose"), numbers("glucose_predicted"));
    let square: f64 = truth.iter().zip(&mean).map(|(y, p)| (y - p).powi(2)).sum();
    let rmse = sparse["methods"]["rffblr"]["out_of_fold"]["scores"]["per_task"]["rmse"][0].as_f64().unwrap();
    assert!(((square / 30.0).sqrt() - rmse).abs() < 1e-9);
    assert_eq!(sparse["settings"]["form"]["sinusoids"]["sparsity"], 0.5);
    let kept = |facts: &serde_json::Value| facts["methods"]["rffblr"]["folds"][0]["active_features"].as_f64().unwrap();
    assert!(kept(&sparse) < kept(&facts(&[])));
    for (more, says) in [
        (&["--methods=forest"][..], "no method is called"),
        (&["--methods=mean,mean"], "listed twice"),
        (&["--sparsity=0.5", "--methods=ridge"], "which is not among --methods"),
    ] {
        let ran = folder.run(&[&run[..5], more].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{}", ran.err);
    }
    let ran = folder.run(&["evaluate", "t.csv", "--targets=glucose", "--folds=1"]);
    assert!(ran.code == 2 && ran.err.contains("--folds is at least 2"), "{}", ran.err);
}
