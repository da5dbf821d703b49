//! `rffblr evaluate`.

use crate::common::{Folder, cohort};
use serde_json::Value;

const KEYS: [&str; 9] = [
    "task_r2",
    "pooled_r2",
    "arrmse",
    "nlpd",
    "crps",
    "coverage90",
    "fit_seconds",
    "predict_seconds",
    "active_features",
];

pub fn json(folder: &Folder, arguments: &[&str]) -> Value {
    serde_json::from_str(&folder.done(&[arguments, &["--json"]].concat()).out).unwrap()
}

/// The same without what the clock says.
pub fn without_seconds(mut value: Value) -> Value {
    for method in value["methods"].as_object_mut().unwrap().values_mut() {
        for key in ["fit_seconds", "predict_seconds"] {
            method.as_object_mut().unwrap().remove(key).unwrap();
            for fold in method["folds"].as_array_mut().unwrap() {
                fold.as_object_mut().unwrap().remove(key).unwrap();
            }
        }
    }
    value
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-12, "found {found}, expected {expected}");
}

#[test]
fn the_mean_scores_as_worked_out_by_hand() {
    let folder = Folder::new();
    folder.put("t.csv", "x,y,z\n1,1,0\n2,3,\n3,5,2\n4,11,4\n").put("f.json", "[[0, 1], [2, 3]]");
    let report = json(&folder, &["evaluate", "t.csv", "--targets=y,z", "--fold-file=f.json", "--methods=mean"]);
    assert_eq!(report["targets"], serde_json::json!(["y", "z"]));
    let mean = &report["methods"]["mean"];
    let [first, second] = [0, 1].map(|fold| &mean["folds"][fold]);
    // y: fold 1 predicts 8 for 1 and 3, around whose mean 2 the squares sum to 2; fold 2 predicts 2 for 5 and 11.
    close(&first["per_task"]["r2"][0], 1.0 - (49.0 + 25.0) / 2.0);
    close(&second["per_task"]["r2"][0], 1.0 - (9.0 + 81.0) / 18.0);
    // z: fold 1 tests one value, which has no R² and does not count. Fold 2 predicts 0 for 2 and 4.
    assert!(first["per_task"]["r2"][1].is_null());
    close(&second["per_task"]["r2"][1], 1.0 - (4.0 + 16.0) / 2.0);
    assert_eq!(first["per_task"]["observed"], serde_json::json!([2, 1]));
    let (one, two) = (-36.0, (-4.0 - 9.0) / 2.0);
    close(&first["task_r2"], one);
    close(&second["task_r2"], two);
    close(&mean["task_r2"]["mean"], (one + two) / 2.0);
    close(&mean["task_r2"]["sd"], ((one - two) / 2.0f64).abs());
    close(&mean["tasks"]["y"]["r2"]["mean"], (-36.0 - 4.0) / 2.0);
    close(&mean["tasks"]["z"]["r2"]["mean"], -9.0);
    // All held-out rows together: y 49 + 25 + 9 + 81 of 16 + 4 + 0 + 36 around 5, z 9 + 4 + 16 of 4 + 0 + 4 around 2.
    let together = &mean["out_of_fold"];
    close(&together["scores"]["per_task"]["r2"][0], 1.0 - 164.0 / 56.0);
    close(&together["scores"]["per_task"]["r2"][1], 1.0 - 29.0 / 8.0);
    close(&together["scores"]["task_r2"], (2.0 - 164.0 / 56.0 - 29.0 / 8.0) / 2.0);
    // Fold 1 moves the R² of y by as much as fold 2 moves it back.
    close(&together["r2_se"][0], 2.0 * (74.0 - 164.0 / 56.0 * 20.0) / 56.0);
    // The training mean is the reference of the relative error.
    close(&mean["arrmse"]["mean"], 1.0);
    // Fold 1, y: 7 and 5 away from 8, both beyond 1.645 deviations of 3, which is 4.93.
    close(&first["per_task"]["coverage90"][0], 0.0);
    assert!(mean["active_features"]["mean"].is_null() && second["active_features"].is_null());
    assert_eq!((&first["train_rows"], &first["test_rows"]), (&2.into(), &2.into()));
}

#[test]
fn json_has_every_score_for_every_method_and_fold() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let arguments = ["evaluate", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "--folds=3"];
    let report = json(&folder, &[arguments.as_slice(), &["--methods=rffblr,mean,rffblr-paper-links"]].concat());
    assert_eq!(report["methods"].as_object().unwrap().len(), 3);
    for (name, method) in report["methods"].as_object().unwrap() {
        let folds = method["folds"].as_array().unwrap();
        assert_eq!(folds.len(), 3);
        for key in KEYS {
            let values: Option<Vec<f64>> = folds.iter().map(|fold| fold[key].as_f64()).collect();
            let Some(values) = values else {
                assert!(name == "mean" && key == "active_features", "{name} {key}");
                continue;
            };
            let mean = values.iter().sum::<f64>() / 3.0;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 3.0;
            close(&method[key]["mean"], mean);
            close(&method[key]["sd"], variance.sqrt());
        }
        for task in ["glucose", "cost"] {
            assert!(method["tasks"][task]["r2"]["mean"].is_number(), "{name}");
        }
        assert_eq!(folds.iter().map(|fold| fold["test_rows"].as_u64().unwrap()).sum::<u64>(), 60);
    }
    // The cost is nearly linear in the age and the colour: learning must show.
    let r2 = |name: &str| report["methods"][name]["tasks"]["cost"]["r2"]["mean"].as_f64().unwrap();
    assert!(r2("rffblr") > 0.9 && r2("mean") < 0.1, "{} {}", r2("rffblr"), r2("mean"));
}

#[test]
fn the_seed_and_not_the_threads_decide() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let with = |seed: &str, threads: &str| {
        let arguments = ["evaluate", "cohort.csv", "--targets=cost", "--ignore=id", "--folds=4"];
        let more = ["--methods=rffblr-paper,mean", "--seed", seed, "--threads", threads];
        without_seconds(json(&folder, &[arguments.as_slice(), &more].concat()))
    };
    let one = with("3", "1");
    assert_eq!(one, with("3", "2"));
    assert_eq!(one, with("3", "7"));
    assert_ne!(one["methods"], with("4", "1")["methods"]);
}

#[test]
fn tables_are_narrow_and_there_is_no_bar_without_a_terminal() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let ran = folder.done(&["evaluate", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "--folds=2"]);
    for word in ["mean ± sd of 2 folds", "task R²", "aRRMSE", "90 % coverage", "fit seconds", "R² by target", "glucose"]
    {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80 || !line.starts_with([' ', '─'])), "{}", ran.out);
    assert!(ran.err.lines().all(|line| line.starts_with("note: ")), "{}", ran.err);
    assert!(ran.err.contains("'site'") && !ran.err.contains(['\r', '\u{1b}']), "{}", ran.err);
    let quiet = ["evaluate", "cohort.csv", "--targets=cost", "--ignore=id", "--folds=2", "--methods=mean", "-q"];
    assert_eq!(folder.done(&quiet).err, "");
}

#[test]
fn everything_about_the_columns_is_learned_from_the_training_rows() {
    // The level c and the number in row 4 are in the test rows alone; so is the only value of z beside row 0.
    let folder = Folder::new();
    folder.put("t.csv", "k,x,y,z\na,1,1,5\nb,2,2,\na,,3,\nb,,4,\nc,9,5,6\n").put("f.json", "[[4]]");
    let ran = folder.done(&["evaluate", "t.csv", "--targets=y,z", "--fold-file=f.json", "--methods=rffblr,mean"]);
    assert!(ran.err.contains("rows that train and that no fold tests: 4"), "{}", ran.err);
    // A fold that leaves a target without a training value says so.
    folder.put("g.json", "[[0, 4]]");
    let ran = folder.done(&["evaluate", "t.csv", "--targets=y,z", "--fold-file=g.json", "--methods=mean"]);
    assert!(ran.err.contains("target \"z\" has no value in the training rows of fold 1 and is not"), "{}", ran.err);
}

#[test]
fn a_method_that_cannot_use_gaps_names_those_that_can() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let run = ["evaluate", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "--folds=2", "--grid=coarse"];
    for method in ["gp", "mmr", "mtfl", "fnn"] {
        let ran = folder.fails(&[&run[..], &["--methods", method]].concat(), &["missing target cells"]);
        assert_eq!(ran.err.matches(&format!("method {method}")).count(), 1, "{}", ran.err);
        // The gap is in one half, so the other fold trains on it.
        assert!(ran.err.contains("error: fold ") && ran.err.contains(&format!(": method {method}: it")), "{}", ran.err);
        let (_, named) = ran.err.split_once("a method that can: ").unwrap();
        assert_eq!(named.trim(), "rffblr in all its forms, gor-elm, sb-elm, hi-vae, ridge, mean");
    }
    // They do.
    folder.done(&[&run[..], &["--methods=rffblr,rffblr-sparse,rffblr-cosines,rffblr-paper,ridge,mean"]].concat());
    folder.done(&[&run[..], &["--methods=gor-elm,sb-elm,hi-vae,hi-vae-inductive"]].concat());
}

#[test]
fn folds_without_a_target_value_are_left_out() {
    let folder = Folder::new();
    folder.put("t.csv", "x,y\n1,1\n2,2\n3,4\n4,\n5,3\n").put("f.json", "[[0, 1], [3]]");
    let arguments = ["evaluate", "t.csv", "--targets=y", "--fold-file=f.json", "--methods=mean"];
    let report = json(&folder, &arguments);
    let mean = &report["methods"]["mean"];
    assert!(mean["folds"][1]["task_r2"].is_null());
    assert_eq!(mean["task_r2"]["mean"], mean["folds"][0]["task_r2"]);
    let notes = folder.done(&arguments).err;
    assert!(notes.contains("left out of the means") && notes.contains("1 row without any target"), "{notes}");
}

#[test]
fn a_data_set_is_known_by_its_name() {
    let folder = Folder::new();
    folder.put(
        "edm.arff",
        "@relation r\n@attribute a real\n@attribute b real\n@attribute c real\n@data\n1,2,3\n2,1,4\n3,5,5\n4,4,7\n",
    );
    let mut command = folder.command(&["evaluate", "edm", "--folds=2", "--methods=mean", "--json"]);
    let output = command.env("RFFBLR_DATA", ".").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // The catalogue says that edm has two targets.
    assert_eq!(report["targets"], serde_json::json!(["b", "c"]));
    folder.fails(&["evaluate", "enb"], &["enb.arff", "rffblr data fetch enb"]);
    folder.fails(&["evaluate", "jurra"], &["there is no file jurra", "did you mean `jura`?"]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = Folder::new();
    folder.put("t.csv", "x,y\n1,1\n2,2\n3,4\n").put("bad.json", "[[0], [7]]").put("text.json", "folds");
    let with = |more: &[&'static str]| [&["evaluate", "t.csv", "--targets=y"], more].concat();
    folder.fails(&with(&["--folds=4"]), &["3 rows cannot be split into 4 folds"]);
    folder.fails(&with(&["--fold-file=bad.json"]), &["bad.json", "fold 2 tests row 7"]);
    folder.fails(&with(&["--fold-file=text.json"]), &["text.json", "line 1", "JSON list of lists"]);
    folder.fails(&with(&["--fold-file=none.json"]), &["none.json"]);
    folder.fails(&["evaluate", "none.csv", "--targets=y"], &["none.csv"]);
    folder.fails(&["evaluate", "t.csv", "--targets=yy"], &["'yy'"]);
    for (arguments, says) in [
        (vec!["evaluate", "t.csv"], "--targets"),
        (vec!["evaluate", "--targets=y"], "DATA"),
        (with(&["--folds=2", "--fold-file=bad.json"]), "--fold-file"),
        (with(&["--folds=few"]), "--folds"),
        (with(&["--folds=1"]), "--folds is at least 2"),
        (with(&["--methods=rffblr,forest"]), "no method is called \"forest\""),
        (with(&["--methods=rfblr"]), "did you mean \"rffblr\"?"),
        (with(&["--methods=mean,mean"]), "listed twice"),
    ] {
        let ran = folder.run(&arguments);
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(says), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(folder.names(), ["bad.json", "t.csv", "text.json"]);
}
