//! `rffblr reproduce`: small data under the names of the catalogue, recorded, summarised, interrupted, resumed.

use crate::common::Folder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A file of this many rows, inputs and targets, whose last columns are the targets.
fn arff(rows: usize, inputs: usize, targets: usize) -> String {
    let mut text = "@relation small\n".to_owned();
    (0..inputs + targets).for_each(|column| text += &format!("@attribute c{column} numeric\n"));
    text += "@data\n";
    for row in 0..rows {
        let x: Vec<f64> = (0..inputs).map(|d| ((row * (2 * d + 3)) as f64 * 0.7).sin()).collect();
        let y = (0..targets).map(|c| 3.0 * x[c] + x[c + 1] * x[c] + 0.3 * ((row * 5 + c) as f64 * 1.3).cos());
        let cells: Vec<String> = x.iter().copied().chain(y).map(|value| format!("{value:.6}")).collect();
        text += &format!("{}\n", cells.join(","));
    }
    text
}

/// Two small data sets with two folds each.
fn folder() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path("data")).unwrap();
    fs::create_dir(folder.path("folds")).unwrap();
    let folds =
        |rows: usize| json!([(0..rows).step_by(2).collect::<Vec<_>>(), (1..rows).step_by(2).collect::<Vec<_>>()]);
    folder.put("data/edm.arff", arff(40, 16, 2)).put("folds/edm.json", folds(40).to_string());
    folder.put("data/jura.arff", arff(36, 15, 3)).put("folds/jura.json", folds(36).to_string());
    folder
}

/// Two methods, of which one chooses among points of a grid.
const TINY: [&str; 8] = [
    "reproduce",
    "table2",
    "--data=data",
    "--fold-dir=folds",
    "--datasets=edm,jura",
    "--methods=ridge,mmr",
    "--grid=coarse",
    "--jobs=1",
];

fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&TINY, more].concat()
}

/// The records without what differs from run to run; a line that was cut off is none.
fn records(folder: &Folder, out: &str) -> Vec<Value> {
    let text = folder.text(&format!("{out}/raw.jsonl"));
    let mut lines = text.lines();
    assert!(lines.next().unwrap().contains("\"results\""));
    let timeless = |line: &str| {
        let mut record: Value = serde_json::from_str(line).ok()?;
        let fields = record.as_object_mut().unwrap();
        for time in ["fit_seconds", "predict_seconds", "cpu_seconds", "wall_seconds", "inner_folds_remembered"] {
            fields.remove(time);
        }
        Some(record)
    };
    lines.filter_map(timeless).collect()
}

/// Mean and population standard deviation, in one pass each.
fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|v| v * v).sum::<f64>() / count - mean * mean).max(0.0).sqrt())
}

#[test]
fn the_summary_is_what_the_raw_results_give() {
    let folder = folder();
    folder.done(&tiny(&["--out=run"]));
    let records = records(&folder, "run");
    assert_eq!(records.len(), 8);
    // By hand from the records: every number of the CSV.
    let mut expected: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for record in &records {
        let mut add = |quantity: &str, value: &Value| {
            if let Some(value) = value.as_f64() {
                let cell = format!("{},{}", record["method"].as_str().unwrap(), record["dataset"].as_str().unwrap());
                expected.entry(format!("{cell},{quantity}")).or_default().push(value);
            }
        };
        let scores = &record["scores"];
        for (quantity, score) in [
            ("task_r2", "task_r2"),
            ("pooled_r2", "pooled_r2"),
            ("arrmse", "arrmse"),
            ("nlpd", "nlpd"),
            ("coverage90", "coverage"),
        ] {
            add(quantity, &scores[score]);
        }
        for quantity in ["task_r2", "pooled_r2"] {
            add(&format!("{quantity}_in_range"), &record["scores_in_range"][quantity]);
        }
        add("features", &record["active_features"]);
        // What a record says of its tasks agrees with what it says of all of them.
        let tasks: Vec<f64> =
            scores["per_task"]["r2"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert!((mean_and_sd(&tasks).0 - scores["task_r2"].as_f64().unwrap()).abs() < 1e-12);
        assert_eq!(record["chosen"].as_object().unwrap().is_empty(), record["method"] == "ridge");
    }
    let csv = folder.text("run/summary.csv");
    let mut found = 0;
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells[5], cells[6], cells[7]), ("2", "2", "coarse"));
        let Some(values) = expected.get(&cells[..3].join(",")) else {
            assert_eq!(cells[2], "seconds");
            continue;
        };
        let (mean, sd) = mean_and_sd(values);
        let close = |text: &str, value: f64| (text.parse::<f64>().unwrap() - value).abs() < 1e-7 * (1.0 + value.abs());
        assert!(values.len() == 2 && close(cells[3], mean) && close(cells[4], sd), "{line}: {mean} {sd}");
        found += 1;
    }
    assert_eq!(found, expected.len());
    // The same numbers in words, the printed ones of the paper only where they are of the same kind.
    let markdown = folder.text("run/summary.md");
    let (mean, sd) = mean_and_sd(&expected["mmr,edm,task_r2"]);
    assert!(markdown.contains(&format!("{mean:.3} ± {sd:.3}° (0.36 ± 0.22)")), "{markdown}");
    let (mean, sd) = mean_and_sd(&expected["mmr,edm,pooled_r2"]);
    let pooled = markdown.split("## Pooled R²\n").nth(1).unwrap();
    let cell = format!("{mean:.3} ± {sd:.3}°");
    assert!(pooled.contains(&cell) && !pooled.contains(&format!("{cell} (")), "{pooled}");
    assert!(markdown.contains("## Task R², inputs held in the training range"));
    // Made again from the raw results alone: the same files to the bit.
    let names = ["summary.md", "summary.csv", "summary.html", "table2.svg", "table2.png"];
    let files = || names.map(|name| fs::read(folder.path(&format!("run/{name}"))).unwrap());
    let first = files();
    names.iter().for_each(|name| fs::remove_file(folder.path(&format!("run/{name}"))).unwrap());
    folder.done(&["reproduce", "summary", "run"]);
    assert!(files() == first);
    assert!(first[4].starts_with(b"\x89PNG") && first[2].ends_with(b"</html>\n"));
    // Records from before there were scores in range: the same summary without them.
    let raw = folder.text("run/raw.jsonl");
    let old: Vec<String> = raw
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("scores_in_range");
            line.to_string()
        })
        .collect();
    fs::create_dir(folder.path("old")).unwrap();
    // The first line must be what it was, to the letter.
    let header = raw.lines().next().unwrap();
    folder.put("old/raw.jsonl", format!("{header}\n{}\n", old[1..].join("\n")));
    folder.done(&["reproduce", "summary", "old"]);
    assert!(!folder.text("old/summary.md").contains("training range"));
    let kept = csv.lines().filter(|line| !line.contains("_in_range"));
    assert!(folder.text("old/summary.csv").lines().eq(kept));
}

#[test]
fn what_is_recorded_is_not_run_again_and_a_damaged_end_is_run_again() {
    let folder = folder();
    folder.done(&tiny(&["--out=run"]));
    let whole = fs::read(folder.path("run/raw.jsonl")).unwrap();
    folder.done(&tiny(&["--out=run"]));
    assert_eq!(fs::read(folder.path("run/raw.jsonl")).unwrap(), whole);
    let expected = records(&folder, "run");
    // Cut in the middle of a line, with and without the inner folds it had done.
    for journal in [true, false] {
        fs::write(folder.path("run/raw.jsonl"), &whole[..whole.len() * 2 / 3]).unwrap();
        if !journal {
            fs::remove_file(folder.path("run/selection.journal")).unwrap();
        }
        let ran = folder.done(&tiny(&["--out=run"]));
        assert!(ran.err.contains("cannot be read") && ran.err.contains("run again"), "{}", ran.err);
        assert_eq!(records(&folder, "run"), expected);
    }
    // More than one worker: the same records in some order.
    folder.done(&[&TINY[..7], &["--jobs=3", "--out=three"]].concat());
    let sorted = |mut records: Vec<Value>| {
        records.sort_by_key(Value::to_string);
        records
    };
    assert_eq!(sorted(records(&folder, "three")), sorted(expected));
}

#[test]
fn a_killed_run_goes_on() {
    let folder = folder();
    // The network is trained long enough to be caught at it.
    let slow = [&TINY[..5], &["--methods=ridge,fnn", "--grid=coarse", "--jobs=1"]].concat();
    let with = |out: &'static str| [&slow[..], &[out]].concat();
    folder.done(&with("--out=whole"));
    let mut child = folder.command(&with("--out=cut")).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let lines = || fs::read_to_string(folder.path("cut/raw.jsonl")).map_or(0, |text| text.lines().count());
    while lines() < 3 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = lines() - 1;
    assert!((2..8).contains(&done), "{done} of 8 records when it was killed");
    folder.done(&with("--out=cut"));
    assert_eq!(records(&folder, "cut"), records(&folder, "whole"));
}

#[test]
fn settings_are_not_mixed() {
    let folder = folder();
    folder.done(&tiny(&["--out=run"]));
    let before = fs::read(folder.path("run/raw.jsonl")).unwrap();
    let full: Vec<&str> = tiny(&["--out=run"]).into_iter().filter(|word| *word != "--grid=coarse").collect();
    folder.fails(&full, &["ridge on edm was run with grid coarse, not full", "--out"]);
    folder.put("folds/edm.json", json!([(0..20).collect::<Vec<_>>(), (20..40).collect::<Vec<_>>()]).to_string());
    folder.fails(&tiny(&["--out=run"]), &["ridge on edm was run with folds", "cannot be mixed"]);
    folder.put("data/jura.arff", arff(36, 15, 3).replace("0.3", "0.4"));
    folder.fails(
        &[&TINY[..4], &["--datasets=jura", "--methods=mmr", "--grid=coarse", "--out=run"]].concat(),
        &["mmr on jura was run with data"],
    );
    folder.fails(
        &["reproduce", "figure2", "--datasets=jura", "--data=data", "--out=run"],
        &["it begins with {\"results\":\"table2\""],
    );
    assert_eq!(fs::read(folder.path("run/raw.jsonl")).unwrap(), before);
}

#[test]
fn what_cannot_be_done_is_said_at_once() {
    let folder = folder();
    folder.fails(&tiny(&["--out=x", "--datasets=nothing"]), &["nothing"]);
    folder.fails(&["reproduce", "table2", "--datasets=wq", "--out=x"], &["wq", "rffblr data fetch wq"]);
    folder.put("data/enb.arff", arff(40, 8, 2));
    folder.fails(&[&TINY[..4], &["--datasets=enb", "--out=x"]].concat(), &["enb.json is not there"]);
    folder.fails(&["reproduce", "summary", "."], &["holds no results"]);
    folder.fails(&["reproduce", "figure2", "--methods=mmr", "--out=x"], &["mmr", "rffblr-paper"]);
    assert!(!folder.path("x").exists());
    // One fold that cannot be fitted does not stop the others.
    let rows: String = arff(40, 16, 2)
        .lines()
        .map(|line| match line.starts_with('-') {
            true => format!("{},?\n", line.rsplit_once(',').unwrap().0),
            false => format!("{line}\n"),
        })
        .collect();
    folder.put("data/edm.arff", rows);
    let ran = folder.run(&tiny(&["--out=run"]));
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("error: mmr on edm, fold 1") && ran.err.contains("2 of 8 fits failed"), "{}", ran.err);
    assert_eq!(records(&folder, "run").len(), 6);
    assert!(folder.text("run/summary.md").contains("| edm |"));
}

#[test]
fn features_to_begin_with_and_features_that_stay() {
    let folder = folder();
    let arguments =
        ["reproduce", "figure2", "--data=data", "--fold-dir=folds", "--datasets=edm", "--grid=coarse", "--out=f"];
    folder.done(&arguments);
    let records = records(&folder, "f");
    // Four methods with fifteen numbers of features, sinusoids with nine, and the default with none.
    assert_eq!(records.len(), (4 * 15 + 9 + 1) * 2);
    let csv = folder.text("f/figure2.csv");
    assert_eq!(csv.lines().count(), 1 + 4 * 15 + 9 + 1);
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        let per_row = cells[2].parse::<f64>().ok();
        assert_eq!(per_row.is_none(), cells[0] == "rffblr");
        let here = records.iter().filter(|r| r["method"] == cells[0] && r["per_row"].as_f64() == per_row);
        let values = |of: &dyn Fn(&Value) -> f64| mean_and_sd(&here.clone().map(of).collect::<Vec<_>>()).0;
        assert!((number(5) - values(&|r| r["scores"]["task_r2"].as_f64().unwrap())).abs() < 1e-12);
        assert!((number(4) - values(&|r| r["active_features"].as_f64().unwrap())).abs() < 1e-12);
        // 20 training rows; direct links and a constant may come on top of the cosines.
        match cells[0] {
            "rffblr" => assert_eq!(number(4), 20.0),
            "rffblr-sparse" => assert!(number(3) == number(4) && number(4) <= 20.0 * number(2) + 1e-9, "{line}"),
            _ => {
                assert_eq!(number(3), (20.0 * number(2)).round());
                assert!(number(4) <= number(3) + 16.0);
            }
        }
    }
    // At M = 2N (1.5N with the authors' values) this is the method of the registry, to the bit.
    let methods = "--methods=sb-elm,rffblr-paper,rffblr-authors,rffblr";
    let table = [&arguments[..2], &[methods], &arguments[2..6], &["--out=t"]].concat();
    let table: Vec<&str> = table.iter().map(|word| if *word == "figure2" { "table2" } else { word }).collect();
    folder.done(&table);
    for expected in self::records(&folder, "t") {
        let per_row = match expected["method"].as_str() {
            Some("rffblr") => Value::Null,
            Some("rffblr-authors") => json!(1.5),
            _ => json!(2.0),
        };
        let same = |r: &&Value| ["method", "fold"].iter().all(|key| r[key] == expected[key]) && r["per_row"] == per_row;
        assert_eq!(records.iter().find(same).unwrap()["scores"], expected["scores"]);
    }
    // Bandwidths read from there: the same curve again, and no inner fold is run.
    folder.done(&[&arguments[..6], &["--methods=sb-elm", "--table2=t", "--out=g"]].concat());
    let sb_elm = |records: Vec<Value>| {
        let mut lines: Vec<String> = records.iter().filter(|r| r["method"] == "sb-elm").map(Value::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(sb_elm(self::records(&folder, "g")), sb_elm(records));
    assert_eq!(folder.text("g/selection.journal").lines().count(), 1);
    let png = fs::read(folder.path("f/figure2.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    let summary = folder.text("f/summary.md");
    assert!(summary.contains("| In 7 of 8 problems RFF-BLR has clearly higher R² than SB-ELM |"), "{summary}");
}

#[test]
fn values_that_the_paper_leaves_open_are_compared() {
    let folder = folder();
    let common = ["--data=data", "--fold-dir=folds", "--datasets=edm,jura"];
    let ablation = [&["reproduce", "ablation"], &common[..], &["--out=a"]].concat();
    folder.done(&ablation);
    let records = records(&folder, "a");
    assert_eq!(records.len(), 25 * 2 * 2);
    // The first variant is the method of the registry, to the bit.
    folder.done(&[&["reproduce", "table2", "--methods=rffblr-authors"], &common[..], &["--out=t"]].concat());
    for expected in self::records(&folder, "t") {
        let same = |r: &&Value| {
            r["method"] == "authors' start; authors' pruning; links; bandwidth learned"
                && ["dataset", "fold"].iter().all(|key| r[key] == expected[key])
        };
        assert_eq!(records.iter().find(same).unwrap()["scores"], expected["scores"]);
    }
    // Every value makes a difference to some fit, and every mean of the table is that of the records.
    let scores = |variant: &str, dataset: &str| {
        let here = records.iter().filter(|r| r["method"] == variant && r["dataset"] == dataset);
        let mut here: Vec<&Value> = here.collect();
        here.sort_by_key(|r| r["fold"].as_u64());
        here.iter().map(|r| r["scores"]["pooled_r2"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let csv = folder.text("a/summary.csv");
    let markdown = folder.text("a/summary.md");
    let mut rows = 0;
    for line in csv.lines().filter(|line| line.contains(",pooled_r2,")) {
        let cells: Vec<&str> = line.split(',').collect();
        let (mean, _) = mean_and_sd(&scores(cells[0], cells[1]));
        assert!((cells[3].parse::<f64>().unwrap() - mean).abs() < 1e-12, "{line}");
        let row = markdown.lines().find(|row| row.starts_with(&format!("| {} |", cells[0]))).unwrap();
        assert!(row.contains(&format!("{mean:.3}")), "{row}");
        rows += 1;
    }
    assert_eq!(rows, 50);
    let ours = ["our start", "our pruning", "no links", "bandwidth learned"];
    let others = ["authors' start", "authors' pruning", "links", "bandwidth fixed"].into_iter().enumerate();
    for (at, other) in others.chain([(1, "authors' pruning from sweep 20")]) {
        let mut changed = ours;
        changed[at] = other;
        assert_ne!(scores(&ours.join("; "), "jura"), scores(&changed.join("; "), "jura"), "{other}");
    }
    // The printed average is of all eight data sets.
    assert!(markdown.contains("| printed | 0.49 ± 0.14 | 0.85 ± 0.07 | – |"), "{markdown}");
    assert!(markdown.contains("; with links alone "), "{markdown}");
    // Every feature is a link or a cosine; links alone are no more than the inputs.
    for record in &records {
        let (kept, links) = (record["active_features"].as_u64().unwrap(), record["chosen"]["links kept"].as_str());
        let (links, name) = (links.unwrap().parse::<u64>().unwrap(), record["method"].as_str().unwrap());
        assert!(links <= kept && links <= 16, "{record}");
        assert!(!name.contains("no links") || links == 0, "{record}");
        assert!(!name.contains("links alone") || (links == kept && kept > 0), "{record}");
    }
    let counts = markdown.split("## Links and cosines kept").nth(1).unwrap();
    let theirs = |dataset: &str| {
        let name = "authors' start; authors' pruning; links; bandwidth learned";
        let here = records.iter().filter(|r| r["method"] == name && r["dataset"] == dataset);
        let links = here.map(|r| r["chosen"]["links kept"].as_str().unwrap().parse().unwrap());
        mean_and_sd(&links.collect::<Vec<f64>>()).0
    };
    let row = format!("| links | {:.1} of 16 | {:.1} of 15 |", theirs("edm"), theirs("jura"));
    assert!(counts.contains(&row), "{row} {counts}");
    // Nothing is run twice; the summary comes from the raw results alone.
    let (raw, html) = (folder.text("a/raw.jsonl"), folder.text("a/summary.html"));
    folder.done(&ablation);
    assert_eq!(folder.text("a/raw.jsonl"), raw);
    fs::remove_file(folder.path("a/summary.html")).unwrap();
    folder.done(&["reproduce", "summary", "a"]);
    assert_eq!(folder.text("a/summary.html"), html);
}

#[test]
fn costs_are_measured_and_gone_on_with() {
    let folder = Folder::new();
    let arguments = ["reproduce", "figure3", "--tasks=2,4", "--samples=20,40,400", "--out=f"];
    let arguments = [&arguments[..], &["--methods=rffblr,ridge", "--kinds=products"]].concat();
    folder.done(&[&arguments[..], &["--repetitions=1"]].concat());
    let first = folder.text("f/raw.jsonl");
    folder.done(&[&arguments[..], &["--repetitions=2"]].concat());
    let text = folder.text("f/raw.jsonl");
    assert!(text.starts_with(&first) && text.lines().count() == 1 + 24);
    let records: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    // The memory of a kernel machine is that of its matrices: a few times N², and far from nothing.
    #[cfg(target_os = "linux")]
    for record in records.iter().filter(|record| record["method"] == "rffblr" && record["samples"] == 400) {
        let matrices = record["peak_bytes"].as_f64().unwrap() / (8.0 * 400.0 * 400.0);
        assert!((2.0..50.0).contains(&matrices), "{matrices}");
    }
    let csv = folder.text("f/figure3.csv");
    assert_eq!(csv.lines().count(), 1 + 2 * (2 + 3));
    let line = csv.lines().find(|line| line.starts_with("products,ridge,samples,40,")).unwrap();
    let here = records.iter().filter(|record| record["method"] == "ridge" && record["samples"] == 40);
    let seconds = |record: &Value| record["cpu_seconds"].as_f64().or(record["wall_seconds"].as_f64()).unwrap();
    let (mean, _) = mean_and_sd(&here.map(seconds).collect::<Vec<_>>());
    let found: f64 = line.split(',').nth(4).unwrap().parse().unwrap();
    assert!((found - mean).abs() < 1e-12 * mean.max(1.0));
    assert!(folder.text("f/summary.md").contains("| ridge | products |"));
    // Linear data are added to the same folder, and the claims are judged once a published form is there.
    assert!(!folder.text("f/summary.md").contains("What the paper says"));
    let more = ["--methods=rffblr-authors", "--kinds=linear", "--repetitions=1"];
    folder.done(&[&arguments[..5], &more[..]].concat());
    assert_eq!(folder.text("f/raw.jsonl").lines().count(), 1 + 24 + 6);
    let summary = folder.text("f/summary.md");
    assert!(summary.contains("| Cost in the number of tasks is slightly below a logarithmic curve |"), "{summary}");
    assert!(summary.contains("| rffblr-authors | linear |"), "{summary}");
}

#[test]
fn two_views_come_closer_with_every_feature() {
    let folder = folder();
    let arguments = [
        "reproduce",
        "views",
        "--data=data",
        "--fold-dir=folds",
        "--datasets=edm,synthetic",
        "--features=32,128,512,2048",
        "--out=v",
    ];
    folder.done(&[&arguments[..], &["--draws=1"]].concat());
    let first = folder.text("v/raw.jsonl");
    folder.done(&[&arguments[..], &["--draws=3"]].concat());
    let text = folder.text("v/raw.jsonl");
    assert!(text.starts_with(&first) && text.lines().count() == 1 + 2 * 4 * 3);
    let records = records(&folder, "v");
    let mean = |dataset: &str, features: u64, value: &dyn Fn(&Value) -> f64| {
        let here = records.iter().filter(|r| r["dataset"] == dataset && r["features"] == features);
        mean_and_sd(&here.map(value).collect::<Vec<_>>())
    };
    let csv = folder.text("v/views.csv");
    assert_eq!(csv.lines().count(), 1 + 2 * 4 * 5);
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let value = |record: &Value| match cells[2].split_once('_') {
            Some((regulariser, what)) => record[regulariser][what].as_f64().unwrap(),
            None => record[cells[2]].as_f64().unwrap(),
        };
        let (found, sd) = mean(cells[0], cells[1].parse().unwrap(), &value);
        assert!((cells[3].parse::<f64>().unwrap() - found).abs() < 1e-12, "{line}");
        assert!((cells[4].parse::<f64>().unwrap() - sd).abs() < 1e-7, "{line}");
        // 64 times as many features: about 8 times closer, less where the fewest say next to nothing.
        let ratio = mean(cells[0], 32, &value).0 / mean(cells[0], 2048, &value).0;
        assert!((1.2..20.0).contains(&ratio), "{line}: {ratio}");
    }
    for record in &records {
        let ratio = record["kernel"].as_f64().unwrap() / record["kernel_expected"].as_f64().unwrap();
        assert!((0.6..1.6).contains(&ratio), "{record}");
    }
    assert!(folder.text("v/summary.md").contains("weights, Ω(β) = βᵀKβ"));
    assert!(fs::read(folder.path("v/views.png")).unwrap().starts_with(b"\x89PNG"));
    let files = || ["summary.md", "views.csv", "views.svg"].map(|name| folder.text(&format!("v/{name}")));
    let before = files();
    folder.done(&["reproduce", "summary", "v"]);
    assert_eq!(files(), before);
    folder.fails(&[&arguments[..], &["--strength=2"]].concat(), &["edm was run with other settings", "--out"]);
    folder.fails(&[&arguments[..], &["--bandwidth=0"]].concat(), &["--bandwidth 0", "positive"]);
    assert_eq!(folder.text("v/raw.jsonl"), text);
}

/// The table of the guide is that of the committed run, line by line, and so is that of the README, to three digits.
#[test]
fn the_tables_show_what_was_measured() {
    let read = |path: &str| fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let rows = |path: &str, mark: &str| -> Vec<String> {
        let text = read(path);
        let shown = text.split(mark).nth(1).unwrap_or_else(|| panic!("{path} marks its table by {mark}"));
        shown.lines().filter(|line| line.starts_with('|')).map(String::from).collect()
    };
    let summary = read("experiments/2026-11-15-table2/summary.md");
    let lines = rows("docs/reproduce.md", "<!-- table2 -->");
    assert!(lines.len() > 8, "{lines:?}");
    for line in &lines {
        assert!(summary.lines().any(|other| other == line), "{line}");
    }
    let cells = |line: &str| -> Vec<String> {
        let plain = line.replace('*', "").replace(" 0.", " .").replace(" -0.", " -.");
        plain.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
    };
    let shown = rows("README.md", "<!-- scores -->");
    let names =
        [("rffblr", "rffblr"), ("rffblr --sparsity", "rffblr-sparse"), ("Gaussian process", "gp"), ("ridge", "ridge")];
    for (shown, (label, method)) in shown[2..].iter().zip(names) {
        let (shown, measured) =
            (cells(shown), lines.iter().map(|line| cells(line)).find(|line| line[0] == method).unwrap());
        assert!(shown[0].starts_with(label), "{shown:?}");
        assert_eq!(shown[1..], measured[1..], "{method}");
    }
    let trees = read("experiments/2026-11-15-default/README.md");
    let trees = trees.lines().find(|line| line.starts_with("| extra trees")).map(cells);
    assert_eq!(shown.last().map(|line| cells(line)), trees);
}
