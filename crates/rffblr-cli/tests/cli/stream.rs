//! Tables that are read in blocks: folders, patterns, checkpoints.

use crate::common::{Folder, read_numbers};

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
fn a_checkpoint_is_used_and_one_of_other_data_is_refused() {
    let folder = parts();
    let fit = |to: &'static str| [&["fit", "data"], &QUICK[..], &[to, "--checkpoint=job"]].concat();
    folder.done(&fit("-oone.json"));
    // The model is there, the checkpoint is not needed any more.
    assert!(!folder.path("job").exists());
    folder.put("job", "not one");
    folder.fails(&fit("-otwo.json"), &["job", "not a checkpoint", "name another file"]);
    assert_eq!(folder.text("job"), "not one");
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
