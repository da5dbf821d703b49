//! Tables that are read in blocks: folders, patterns, checkpoints.

use crate::common::{Folder, read_numbers};
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

/// Rows of a smooth function with a little noise, from one number on.
fn rows(first: usize, count: usize) -> String {
    let mut text = String::from("a,b,kind,y\n");
    for n in first..first + count {
        let (a, b) = ((n as f64 * 0.618).fract() * 4.0, (n as f64 * 0.414).fract() * 4.0);
        let kind = ["p", "q"][n % 2];
        let y = a.sin() + 0.5 * b + if n % 2 == 0 { 1.0 } else { 0.0 } + 0.05 * ((n * n) as f64).sin();
        text += &format!("{a},{b},{kind},{y}\n");
    }
    text
}

fn parts() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.put("data/1.csv", rows(0, 2000)).put("data/2.csv", rows(2000, 2500)).put("all.csv", rows(0, 4500));
    folder
}

const QUICK: [&str; 3] = ["--targets=y", "--features=64", "--max-iterations=8"];

#[test]
fn a_folder_a_pattern_and_one_file_give_the_same_model() {
    let folder = parts();
    let fit = |from: &[&str], to: &str| folder.done(&[&["fit"], from, &QUICK, &[to]].concat()).err;
    let said = fit(&["data"], "-ofolder.json");
    assert!(said.contains("450 rows held out, scored before it learned from them"), "{said}");
    assert!(said.contains("64 cosines of the learned kernel"), "{said}");
    fit(&["data/*.csv"], "-opattern.json");
    fit(&["data/1.csv", "data/2.csv"], "-olist.json");
    fit(&["all.csv"], "-ofile.json");
    let predictions = |model: &str, table: &str| folder.done(&["predict", model, table, "-q"]).out;
    let first = predictions("folder.json", "data");
    assert_eq!(first.lines().count(), 4501);
    for model in ["pattern.json", "list.json", "file.json"] {
        for table in ["data", "all.csv"] {
            let (found, expected) = (read_numbers(&predictions(model, table)), read_numbers(&first));
            for ((_, found), (name, expected)) in found.iter().zip(&expected) {
                let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
                assert!(close && found.len() == 4500, "{model} {table} {name}");
            }
        }
    }
    let y = read_numbers(&rows(0, 4500).replace(",p,", ",0,").replace(",q,", ",1,"));
    let (truth, found) = (&y[3].1, &read_numbers(&first)[0].1);
    let error: f64 = truth.iter().zip(found).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 4500.0;
    assert!(error < 0.02, "{error}");
}

#[test]
fn a_killed_fit_goes_on_from_its_checkpoint_to_the_same_bits() {
    let folder = parts();
    let fit = |to: &'static str| [&["fit", "data", "-q"], &QUICK[..], &[to, "--force", "--checkpoint=job"]].concat();
    folder.done(&fit("-oone.json"));
    // The model is there, the checkpoint is not needed any more.
    assert!(!folder.path("job").exists());
    // Killed once it has learned, before the model is there.
    let broken_off = (0..20).any(|_| {
        let mut child = folder.command(&fit("-otwo.json")).spawn().unwrap();
        while !folder.path("job").exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        folder.path("job").exists() && !folder.path("two.json").exists()
    });
    assert!(broken_off);
    // It is read: with a byte that is wrong nothing goes on.
    let saved = std::fs::read(folder.path("job")).unwrap();
    let mut damaged = saved.clone();
    *damaged.last_mut().unwrap() ^= 1;
    folder.put("job", damaged);
    folder.fails(&fit("-otwo.json"), &["damaged"]);
    folder.put("job", saved);
    folder.done(&fit("-otwo.json"));
    assert!(folder.text("one.json") == folder.text("two.json") && !folder.path("job").exists());
}

#[test]
fn a_checkpoint_that_would_do_harm_is_refused_before_any_work() {
    let folder = parts();
    let refused = |checkpoint: &str, says: &[&str]| {
        let before = folder.names();
        let option = format!("--checkpoint={checkpoint}");
        // Nothing is read: the last file has a line that is wrong, after what is looked at to find out what it is.
        let words = [&["fit", "data", "all.csv"], &QUICK[..], &["-om.json", "--force", &option]].concat();
        folder.fails(&words, says);
        assert_eq!(folder.names(), before, "{checkpoint}");
    };
    folder.put("all.csv", rows(0, 60_000) + "1,2\n").put("job", "not one");
    refused("m.json", &["checkpoint m.json", "the file of the model", "name another file"]);
    refused("./m.json", &["the file of the model"]);
    refused("data/2.csv", &["checkpoint data/2.csv", "the same file as the input", "name another file"]);
    refused("job", &["checkpoint job", "not a checkpoint", "name another file"]);
    assert_eq!(folder.text("job"), "not one");
    refused("data", &["checkpoint data", "a folder; name a file in it"]);
    refused("absent/job", &["checkpoint absent/job", "there is no folder absent; make it"]);
}

#[test]
fn a_streamed_model_knows_its_rows() {
    let folder = parts();
    folder.done(&[&["fit", "data", "-om.json", "-q"], &QUICK[..]].concat());
    let known = "these 4500 rows are ones the model learned from";
    for table in ["data", "all.csv", "data/1.csv data/2.csv", "data/2.csv data/1.csv"] {
        let words: Vec<&str> = table.split(' ').collect();
        let said = folder.done(&[&["predict", "m.json"], &words[..]].concat()).err;
        assert!(said.contains(known), "{table}: {said}");
        assert!(said.contains("against the targets in the table") && said.contains("4500"), "{table}: {said}");
        folder.done(&[&["report", "m.json"], &words[..], &["-op.html", "--force", "-q"]].concat());
        let new = [&["report", "m.json", "--new"], &words[..], &["-op.html", "--force"]].concat();
        folder.fails(&new, &["its rows are not new"]);
    }
    let some = folder.done(&["predict", "m.json", "data/1.csv"]).err;
    assert!(!some.contains("learned from"), "{some}");
    folder
        .fails(&["report", "m.json", "data/1.csv"], &["data/1.csv", "not the table the model was fitted to", "--new"]);
    folder.put("other.csv", rows(7, 100));
    folder.fails(&["report", "m.json", "data", "other.csv"], &["not the table the model was fitted to", "--new"]);
    let file: serde_json::Value = serde_json::from_str(&folder.text("m.json")).unwrap();
    let sum = file["training"]["rows_sha256"].as_str().unwrap();
    assert!(folder.done(&["inspect", "m.json"]).out.contains(&format!("(SHA-256 {}…)", &sum[..12])));
}

#[test]
fn a_model_without_a_fingerprint_says_that_it_does_not_know() {
    let folder = parts();
    folder.done(&[&["fit", "data", "-om.json", "-q"], &QUICK[..]].concat());
    let mut file: serde_json::Value = serde_json::from_str(&folder.text("m.json")).unwrap();
    let training = file["training"].as_object_mut().unwrap();
    assert!(training.remove("rows_sha256").is_some() && training.remove("inputs_sha256").is_some());
    folder.put("old.json", rffblr::internals::with_checksum(&file.to_string()).unwrap());
    folder.fails(&["report", "old.json", "data"], &["it is not known whether data is the table", "--new"]);
    let said = folder.done(&["inspect", "old.json"]).out;
    assert!(said.contains("which is not known") && !said.contains("SHA-256"), "{said}");
}

#[test]
fn what_fit_proposes_works() {
    let folder = parts();
    let said = folder.done(&[&["fit", "data", "-om.json"], &QUICK[..]].concat()).err;
    let proposed = said.lines().find(|line| line.trim_start().starts_with("rffblr report")).unwrap();
    let words: Vec<&str> = proposed.split_whitespace().skip(1).collect();
    assert_eq!(words, ["report", "m.json", "data"]);
    folder.done(&words);
    let page = folder.text("m.report.html");
    assert!(page.contains("rows of the table that are shown") && page.contains("all 4500"));
}

#[test]
fn scores_of_blocks_are_those_of_a_table() {
    let folder = parts();
    // Several blocks, with gaps, and a target that is read from text.
    let text = rows(9000, 40_000);
    let gaps: String = text
        .lines()
        .enumerate()
        .map(|(n, line)| match n % 7 {
            3 => format!("{},\n", line.rsplit_once(',').unwrap().0),
            _ => format!("{line}\n"),
        })
        .collect();
    folder.put("new.csv", &gaps);
    std::fs::create_dir(folder.path("new")).unwrap();
    folder.put("new/1.csv", &gaps);
    folder.done(&[&["fit", "data", "-om.json", "-q"], &QUICK[..]].concat());
    let scores = |table: &str| {
        let said = folder.done(&["predict", "m.json", table, "-op.csv", "--force"]).err;
        said.split_once("against the targets").unwrap().1.to_owned()
    };
    assert_eq!(scores("new.csv"), scores("new"));
    // What is no number is no reason not to predict.
    folder.put("new/2.csv", "a,b,kind,y\n1,2,p,soon\n");
    let said = folder.done(&["predict", "m.json", "new", "-op.csv", "--force"]).err;
    assert!(said.contains("not scored") && !said.contains("R²"), "{said}");
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let folder = parts();
    folder.done(&[&["fit", "data", "-om.json", "-q"], &QUICK[..]].concat());
    for table in ["all.csv", "data"] {
        let mut command = folder.command(&["predict", "m.json", table, "-q"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success() && said.is_empty(), "{table}: {said}");
    }
}

#[test]
fn rows_of_parts_are_named_by_their_part() {
    let folder = parts();
    let weighted = |first: usize, bad: &str| {
        let row = |(n, line): (usize, &str)| match n {
            0 => format!("{line},w\n"),
            1500 => format!("{line},{bad}\n"),
            _ => format!("{line},2\n"),
        };
        rows(first, 2000).lines().enumerate().map(row).collect::<String>()
    };
    folder.put("data/1.csv", weighted(0, "1")).put("data/2.csv", weighted(2000, "-2"));
    let fit = [&["fit", "data", "--weight=w", "-om.json"], &QUICK[..]].concat();
    folder.fails(&fit, &["data/2.csv: data row 1500, column 'w': the row weight is -2"]);
    folder.put("data/2.csv", weighted(2000, "2").replacen(",p,", ",,", 1));
    let strict = [&["fit", "data", "--weight=w", "-om.json", "--missing=error"], &QUICK[..]].concat();
    folder.fails(&strict, &["data/2.csv: data row 1, column 'kind': the input is missing"]);
    folder.put("data/2.csv", weighted(2000, "2"));
    folder.done(&[&strict[..], &["-q"]].concat());
    folder.put("data/2.csv", "a,b,kind\n1,2,p\n1,2,\n").put("data/1.csv", "a,b,kind\n1,2,p\n");
    folder.fails(&["predict", "m.json", "data"], &["data/2.csv: data row 2, column 'kind': the input is missing"]);
}

#[test]
fn a_bad_line_deep_in_a_part_is_named() {
    let folder = parts();
    let mut text = rows(0, 3000);
    text += "1,2\n";
    folder.put("data/3.csv", text);
    folder.fails(&[&["fit", "data"], &QUICK[..], &["-om.json"]].concat(), &["3.csv", "line 3002"]);
    assert!(!folder.path("m.json").exists());
}

/// Visits of animals in two files, whose tag gives an animal away, and days in no order.
fn visits(rows: usize) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    let row = |n: usize| {
        let (animal, day) = (n * 7 % 50, n * 31 % 300);
        let effect = 2.0 * ((animal * animal + 3 * animal) as f64 * 1.7).sin();
        let dose = (n as f64 * 0.618).fract();
        let y = 2.0 * dose + effect + 0.05 * ((n * n) as f64).sin();
        format!("a{animal},{},{},{dose},{y}\n", animal * 37 % 50, rffblr::table::date_text(day as f64 * 86_400.0))
    };
    let part = |rows: std::ops::Range<usize>| "animal,tag,day,dose,y\n".to_owned() + &rows.map(row).collect::<String>();
    folder.put("data/1.csv", part(0..rows / 2)).put("data/2.csv", part(rows / 2..rows)).put("all.csv", part(0..rows));
    folder
}

#[test]
fn groups_and_times_are_held_out_of_a_stream() {
    let folder = visits(5000);
    let fit = |from: &'static str, more: &[&'static str]| {
        let said = folder.done(&[&["fit", from, "-om.json", "--force"], &QUICK[..], more].concat()).err;
        let model: serde_json::Value = serde_json::from_str(&folder.text("m.json")).unwrap();
        (said, model["check"]["model"]["scores"]["task_r2"].as_f64().unwrap(), folder.text("m.json"))
    };
    let (_, alone, _) = fit("data", &["--ignore=animal,day"]);
    let (said, together, model) = fit("data", &["--ignore=day", "--group=animal"]);
    assert!(said.contains("note: column 'animal' says which rows belong together and is not an input"), "{said}");
    assert!(
        said.contains("500 rows of 5 whole groups of animal held out, scored before it learned from them"),
        "{said}"
    );
    assert!(alone > 0.4 && together < 0.2, "{alone} {together}");
    // Rows in memory are treated alike.
    let (said, in_memory, _) = fit("all.csv", &["--ignore=day", "--group=animal"]);
    assert!(
        said.contains("500 rows of 5 whole groups of animal held out") && (in_memory - together).abs() < 1e-9,
        "{said}"
    );
    let (_, _, again) = fit("data", &["--ignore=day", "--group=animal", "--threads=1"]);
    assert!(again == model);
    let (said, _, _) = fit("data", &["--ignore=animal,tag", "--time=day"]);
    // The last thirty of 300 days.
    assert!(said.contains("the last 500 rows by day held out, from 1970-09-28 on, scored before"), "{said}");
    assert!(folder.done(&["inspect", "m.json"]).out.contains("the last 500 rows by day held out"));
    let said = folder
        .done(&[&["fit", "data", "-om.json", "--force"], &QUICK[..], &["--group=animal", "--check=off"]].concat())
        .err;
    assert!(said.contains("Not checked on rows it has not seen."), "{said}");
}

#[test]
fn a_row_without_a_group_or_a_time_is_named_before_anything_is_learned() {
    let folder = visits(5000);
    let mut lines: Vec<String> = folder.text("data/2.csv").lines().map(String::from).collect();
    let fit = |more: &'static str| [&["fit", "data", "-om.json", more], &QUICK[..]].concat();
    for (line, more, says) in [
        (",1,1970-01-01,0.5,1", "--group=animal", "data row 1700, column 'animal': the group is missing"),
        ("a1,1,,0.5,1", "--time=day", "data row 1700, column 'day': the time is missing"),
        ("a1,1,soon,0.5,1", "--time=day", "data row 1700, column 'day': 'soon' is not a time"),
    ] {
        lines[1700] = line.into();
        folder.put("data/2.csv", lines.join("\n"));
        folder.fails(&fit(more), &["data/2.csv", says]);
    }
    // A row without a target needs neither.
    lines[1700] = ",1,1970-01-01,0.5,".into();
    folder.put("data/2.csv", lines.join("\n"));
    folder.done(&fit("--group=animal"));
}
