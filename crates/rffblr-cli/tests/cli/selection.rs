//! `rffblr evaluate` with methods that choose hyper-parameters.

use crate::common::{Folder, cohort};
use crate::evaluate::{json, without_seconds};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Evaluates a method with a small grid on the cohort.
const QUICK: [&str; 6] =
    ["evaluate", "cohort.csv", "--targets=cost", "--ignore=id,glucose", "--methods=mtfl,mean", "--grid=coarse"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&QUICK, more].concat()
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    folder
}

/// Whole lines of a journal without its header.
fn lines(folder: &Folder, name: &str) -> Vec<Value> {
    folder.text(name).lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn a_journal_is_gone_on_with_and_changes_nothing() {
    let folder = folder();
    let arguments = with(&["--folds=3", "--inner-folds=4"]);
    let kept = with(&["--folds=3", "--inner-folds=4", "--journal=j.jsonl"]);
    let expected = without_seconds(json(&folder, &arguments));
    assert_eq!(without_seconds(json(&folder, &kept)), expected);
    assert_eq!(lines(&folder, "j.jsonl").len(), 12);
    let whole = fs::read(folder.path("j.jsonl")).unwrap();
    // All is known: nothing is added.
    let ran = folder.done(&kept);
    assert!(ran.err.contains("j.jsonl remembers 12 inner folds"), "{}", ran.err);
    assert_eq!(fs::read(folder.path("j.jsonl")).unwrap(), whole);
    // Cut in the middle of a line, as by a full disk or a lost machine.
    let half = whole.len() / 2;
    folder.put("j.jsonl", &whole[..half]);
    assert_eq!(without_seconds(json(&folder, &kept)), expected);
    let mut known: Vec<Vec<u8>> = whole.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let text = folder.text("j.jsonl");
    let mut after: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    // The cut line stays where it is, ended; every line of the first run is there again.
    assert_eq!(after.len(), 14);
    known.retain(|line| !line.is_empty());
    after.retain(|line| serde_json::from_slice::<Value>(line).is_ok());
    known.sort();
    after.sort();
    assert_eq!(after, known);
}

#[test]
fn a_killed_run_goes_on() {
    let folder = folder();
    let arguments = with(&["--folds=4", "--journal=j.jsonl", "--json", "--threads=1"]);
    let mut child = folder.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let known = || fs::read_to_string(folder.path("j.jsonl")).map_or(0, |text| text.lines().count());
    let start = Instant::now();
    while known() < 8 {
        assert!(start.elapsed() < Duration::from_secs(120), "{}", known());
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = lines(&folder, "j.jsonl").len();
    let plain = with(&["--folds=4"]);
    let again = with(&["--folds=4", "--journal=j.jsonl"]);
    assert_eq!(without_seconds(json(&folder, &again)), without_seconds(json(&folder, &plain)));
    assert!((7..=40).contains(&before) && lines(&folder, "j.jsonl").len() == 40, "{before}");
}

#[test]
fn chosen_values_are_reported() {
    let folder = folder();
    let report = json(&folder, &with(&["--folds=3", "--inner-folds=3"]));
    assert_eq!((&report["grid"], &report["inner_folds"]), (&json!("coarse"), &json!(3)));
    for fold in report["methods"]["mtfl"]["folds"].as_array().unwrap() {
        let chosen = fold["chosen"].as_object().unwrap();
        assert!(!chosen.is_empty() && chosen.values().all(|value| value.as_str().is_some_and(|v| !v.is_empty())));
    }
    assert_eq!(report["methods"]["mean"]["folds"][0]["chosen"], json!({}));
    let chosen = report["methods"]["mtfl"]["folds"][1]["chosen"].as_object().unwrap();
    let ran = folder.done(&with(&["--folds=3", "--inner-folds=3"]));
    assert!(ran.out.contains("value × folds") && ran.out.contains("predict seconds"), "{}", ran.out);
    for (parameter, value) in chosen {
        let line = ran.out.lines().find(|line| line.contains("mtfl") && line.contains(parameter.as_str())).unwrap();
        assert!(line.contains(&format!("{} ×", value.as_str().unwrap())), "{line}");
    }
    let tables = ran.out.lines().filter(|line| !line.starts_with("Best of"));
    assert!(tables.into_iter().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let without = ["evaluate", "cohort.csv", "--targets=cost", "--ignore=id", "--folds=2", "--methods=mean"];
    assert!(!folder.done(&without).out.contains("value × folds"));
}

#[test]
fn the_grid_is_full_unless_it_is_coarse() {
    let folder = folder();
    let points = |more: &[&str]| {
        let arguments = ["evaluate", "cohort.csv", "--targets=cost", "--ignore=id,glucose", "--methods=mtfl", "-q"];
        let split = ["--fold-file=f.json", "--inner-folds=2", "--journal=j.jsonl"];
        folder.put("f.json", "[[0, 5, 10, 15]]").put("j.jsonl", "");
        folder.done(&[&arguments, &split[..], more].concat());
        let line = &lines(&folder, "j.jsonl")[0];
        (line["grid"].as_str().unwrap().to_owned(), line["points"].as_u64().unwrap())
    };
    let (full, coarse) = (points(&[]), points(&["--grid=coarse"]));
    // The grid of the paper has eleven penalties and eleven bandwidths.
    assert_eq!(full, ("full".into(), 121));
    assert!(coarse.0 == "coarse" && (4..=20).contains(&coarse.1), "{coarse:?}");
}

#[test]
fn inner_folds_come_from_a_file() {
    let folder = folder();
    let outer: Vec<Vec<usize>> = (0..2).map(|fold| (fold..60).step_by(2).collect()).collect();
    let inner: Vec<Vec<usize>> = (0..3).map(|fold| (fold..30).step_by(3).collect()).collect();
    let inner = format!("{:?}", [&inner, &inner]);
    folder.put("f.json", format!("{outer:?}")).put("f.nested.json", &inner).put("other.json", &inner);
    let run = |more: &[&str]| {
        folder.put("j.jsonl", "");
        let ran = folder.done(&with(&[&["--fold-file=f.json", "--journal=j.jsonl", "--json"], more].concat()));
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        (report, lines(&folder, "j.jsonl"), ran.err)
    };
    let (beside, lines, notes) = run(&[]);
    assert!(notes.contains("inner folds, where needed, are those of f.nested.json"), "{notes}");
    assert_eq!((&beside["inner_folds"], lines.len()), (&json!("f.nested.json"), 6));
    let (named, _, notes) = run(&["--inner-fold-file=other.json"]);
    assert!(!notes.contains("where needed"), "{notes}");
    assert_eq!(named["inner_folds"], "other.json");
    assert_eq!(without_seconds(named)["methods"], without_seconds(beside)["methods"]);
    let (dealt, lines, notes) = run(&["--inner-folds=4"]);
    assert!(!notes.contains("where needed"), "{notes}");
    assert_eq!((&dealt["inner_folds"], lines.len()), (&json!(4), 8));
}

#[test]
fn positions_count_rows_that_are_left_out_for_want_of_a_target() {
    // Row 6 has no target. It counts in the positions of the first table and does not exist in the second.
    let row = |n: usize, y: String| format!("{},{},{y}\n", (n * 7 % 24) as f64 / 3.0, (n * 5 % 24) as f64 / 4.0);
    let y = |n: usize| format!("{:.3}", (n as f64 * 7.0 % 24.0 / 3.0).sin());
    let table = |rows: &[usize], gap: usize| {
        let row = |&n: &usize| row(n, if n == gap { String::new() } else { y(n) });
        String::from("a,b,y\n") + &rows.iter().map(row).collect::<String>()
    };
    let all: Vec<usize> = (0..24).collect();
    let others: Vec<usize> = (0..24).filter(|n| *n != 6).collect();
    // Outer folds test rows 0 to 3 and 20 to 23; inner folds hold out positions of what remains.
    let lists = |rows: &[usize], training: &dyn Fn(usize) -> bool, count: usize| -> Vec<Vec<usize>> {
        let train: Vec<usize> = rows.iter().copied().filter(|n| training(*n)).collect();
        let held = |fold: usize| (0..train.len()).filter(|at| train[*at] % count == fold).collect();
        (0..count).map(held).collect()
    };
    let folder = Folder::new();
    for (name, rows) in [("gap", &all), ("plain", &others)] {
        let outer: Vec<Vec<usize>> =
            [0..4, 20..24].map(|test| (0..rows.len()).filter(|at| test.contains(&rows[*at])).collect()).into();
        let inner = [lists(rows, &|n| n >= 4, 3), lists(rows, &|n| n < 20, 3)];
        folder.put(&format!("{name}.csv"), table(rows, 6));
        folder.put(&format!("{name}.json"), format!("{outer:?}"));
        folder.put(&format!("{name}.nested.json"), format!("{inner:?}"));
    }
    let run = |name: &str| {
        let (data, folds) = (format!("{name}.csv"), format!("--fold-file={name}.json"));
        let journal = format!("--journal={name}.jsonl");
        let arguments = ["evaluate", &data, "--targets=y", &folds, &journal, "--methods=mtfl", "--grid=coarse"];
        let report = without_seconds(json(&folder, &arguments));
        // The journal has a fingerprint of the training rows and of the positions held out, and every score.
        let mut lines: Vec<String> = lines(&folder, &format!("{name}.jsonl")).iter().map(Value::to_string).collect();
        lines.sort();
        (report["methods"].clone(), lines)
    };
    assert_eq!(run("gap").1.len(), 6);
    assert_eq!(run("gap"), run("plain"));
}

#[test]
fn what_cannot_be_chosen_is_said() {
    let folder = folder();
    let outer: Vec<Vec<usize>> = (0..2).map(|fold| (fold..60).step_by(2).collect()).collect();
    folder.put("f.json", format!("{outer:?}"));
    for (text, says) in [
        ("[[[0], [1]]]", "inner folds for 1 outer folds, but there are 2"),
        ("[[[0], [1]], [[0], [30]]]", "outer fold 2 with 30 training rows: fold 2 tests row 30"),
        ("[[[0], [0]], [[0], [1]]]", "row 0 is listed twice"),
        ("[[0], [1]]", "for each outer fold, a JSON list of lists"),
    ] {
        folder.put("inner.json", text).put("f.nested.json", text);
        folder.fails(&with(&["--fold-file=f.json", "--inner-fold-file=inner.json"]), &["inner.json", says]);
        // A file that is found is as good as one that is named.
        folder.fails(&with(&["--fold-file=f.json"]), &["f.nested.json", says]);
    }
    folder.fails(&with(&["--fold-file=f.json", "--inner-fold-file=none.json"]), &["none.json"]);
    folder.fails(&with(&["--fold-file=f.json", "--inner-folds=31"]), &["--inner-folds", "30 rows", "31 folds"]);
    folder.fails(&with(&["--fold-file=f.json", "--inner-folds=1"]), &["--inner-folds", "1 folds"]);
    let table = folder.text("cohort.csv");
    folder.fails(&with(&["--journal=cohort.csv"]), &["cohort.csv", "it begins with", "journal"]);
    assert_eq!(folder.text("cohort.csv"), table);
    folder.fails(&with(&["--journal=."]), &["not a plain file"]);
    folder.fails(&with(&["--journal=no/such/place"]), &["no/such/place"]);
    for (more, says) in [
        (vec!["--grid=medium"], "--grid"),
        (vec!["--inner-fold-file=inner.json"], "--fold-file"),
        (vec!["--fold-file=f.json", "--inner-fold-file=inner.json", "--inner-folds=3"], "--inner-fold"),
        (vec!["--inner-folds=few"], "--inner-folds"),
    ] {
        let ran = folder.run(&with(&more));
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(says), "{more:?}: {}", ran.err);
    }
}
