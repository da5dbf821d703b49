//! `rffblr fit`: what it writes, what it says, and how settings reach the model.

use crate::common::{COSINES, Folder, cohort, fitted};
use rffblr::data::Encoding;
use rffblr::{CosineSettings, FeatureCount, Model, Settings};

fn quick() -> Vec<&'static str> {
    [&["--features=20", "--max-iterations=5"], &COSINES[..]].concat()
}

fn fit<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["fit", "cohort.csv"], more, &quick()].concat()
}

#[test]
fn one_command_gives_a_model_beside_the_data() {
    let folder = Folder::new();
    let ran = folder.put("cohort.csv", cohort()).done(&fit(&["--targets=glucose,cost", "--ignore=id"]));
    assert_eq!(folder.names(), ["cohort.csv", "cohort.model.json"]);
    assert!(ran.out.is_empty());
    for word in [
        "'site' is the same in all rows",
        "'age': 1 missing cell",
        "'colour': 3 levels",
        "glucose",
        "R²",
        "90 % holds",
        "Kept 27 of 27 features",
        "rffblr predict cohort.model.json",
        "rffblr inspect cohort.model.json",
        "rffblr report cohort.model.json cohort.csv",
    ] {
        assert!(ran.err.contains(word), "does not say {word:?}: {}", ran.err);
    }
    let model = Model::load(folder.path("cohort.model.json")).unwrap();
    assert_eq!(model.input_names(), ["age", "age?", "dose", "colour=red", "colour=green", "colour=blue", "colour?"]);
    assert_eq!(model.target_names(), ["glucose", "cost"]);
    assert_eq!(model.training_rows(), 60);
    // The ages are 0 to 59 without the one of row 7, 259 mod 60 = 19: the median of the other 59 is 30.
    let encoder = model.encoder().unwrap();
    assert_eq!(encoder.raw_inputs()[0].encoding, Encoding::Numeric { median: 30.0, indicator: true });
}

#[test]
fn steps_are_counted_the_same_way_in_every_form() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    for form in ["--sparsity=0", "--sparsity=0.5", "--preset=paper"] {
        let fit = ["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "--max-iterations=3", "--force", form];
        let said = folder.done(&fit).err;
        assert!(said.contains("Stopped at --max-iterations after 3 steps"), "{form}: {said}");
        let words = folder.done(&["inspect", "cohort.model.json"]).out;
        assert!(words.contains("after 3 steps"), "{form}: {words}");
        let facts: serde_json::Value =
            serde_json::from_str(&folder.done(&["inspect", "cohort.model.json", "--json"]).out).unwrap();
        assert_eq!(facts["training"]["sweeps"], 3, "{form}");
    }
}

#[test]
fn settings_that_do_not_go_together_say_what_to_change() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let fit = ["fit", "cohort.csv", "--targets=cost", "--ignore=id"];
    let problem = folder.fails(
        &[&fit[..], &["--preset=paper", "--sparsity=0.5"]].concat(),
        &["sparsity", "exact kernel form", "leave out"],
    );
    assert!(!problem.err.contains("directions"), "{}", problem.err);
    folder.fails(
        &[&fit[..], &["--spectrum=laplace-l1", "--directions=orthogonal"]].concat(),
        &["directions independent"],
    );
}

#[test]
fn the_summary_shows_what_the_library_computes() {
    let folder = fitted();
    let model = Model::load(folder.path("model.json")).unwrap();
    let table = rffblr_tables::read(folder.path("cohort.csv"), &Default::default()).unwrap();
    let (data, _) = model.encoder().unwrap().dataset(&table, &(0..60).collect::<Vec<_>>()).unwrap();
    let left_out = model.leave_one_out(&data).unwrap();
    let r2 = rffblr::metrics::task_r2(data.targets(), left_out.mean.as_ref()).unwrap();
    let rmse = rffblr::metrics::rmse(data.targets(), left_out.mean.as_ref()).unwrap();
    let fit = ["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "--features=60", "--max-iterations=60"];
    let again = folder.done(&[&fit[..], &COSINES, &["-omodel.json", "--force"]].concat());
    for (c, target) in ["glucose", "cost"].iter().enumerate() {
        let (_, diagnostic) = again.err.split_once("Each row left out in turn").unwrap();
        let line = diagnostic.lines().find(|line| line.trim_start().starts_with(target)).unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[1], ["59", "60"][c]);
        assert_eq!(cells[2], format!("{:.3}", r2.per_task[c]));
        let shown: f64 = cells[3].parse().unwrap();
        assert!((shown / rmse.per_task[c] - 1.0).abs() < 1e-3, "{line}");
    }
}

#[test]
fn preset_then_file_then_flags() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort()).put("s.toml", "max_iterations = 7\nseed = 4\nfeatures = 9\n");
    let base = ["fit", "cohort.csv", "--targets=last:2", "--ignore=id", "-o-", "-q", "--preset=paper"];
    let settings = |more: &[&str]| {
        let ran = folder.done(&[&base, more].concat());
        Model::from_json(&ran.out).unwrap().settings().clone()
    };
    let nine = CosineSettings { features: FeatureCount::Exactly(9), ..CosineSettings::PAPER };
    let file = Settings { form: nine.clone().into(), max_iterations: 7, seed: 4, ..Settings::PAPER };
    assert_eq!(settings(&["--config=s.toml"]), file);
    let both = settings(&["--config=s.toml", "--seed=5", "--noise=per-task"]);
    let noise = rffblr::Noise::PerTask;
    assert_eq!(both, Settings { form: CosineSettings { noise, ..nine }.into(), seed: 5, ..file });
    folder.put("bad.toml", "seed = 1\nfeature = 3\n");
    let wrong = [&base[..], &["--config=bad.toml"]].concat();
    folder.fails(&wrong, &["bad.toml", "line 2", "feature"]);
    let absent = [&base[..], &["--config=none.toml"]].concat();
    folder.fails(&absent, &["none.toml"]);
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_a_seed_that_matters() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let json = |more: &str| folder.done(&fit(&["--targets=cost", "--ignore=id", "-o-", "-q", more])).out;
    assert_eq!(json("--threads=1"), json("--threads=3"));
    assert_ne!(json("--seed=1"), json("--seed=2"));
}

#[test]
fn quiet_is_quiet_and_nothing_but_words_goes_to_a_pipe() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let ran = folder.done(&fit(&["--targets=cost", "--ignore=id", "-q"]));
    assert!(ran.out.is_empty() && ran.err.is_empty(), "{}", ran.err);
    let ran = folder.done(&fit(&["--targets=cost", "--ignore=id", "--force"]));
    assert!(!ran.err.contains(['\r', '\u{1b}']) && !ran.err.contains("sweep 1"), "{}", ran.err);
}

#[test]
fn progress_is_shown_on_a_terminal() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    // The program `script` gives its child a terminal.
    let line = format!(
        "{} fit cohort.csv --targets=cost --ignore=id --preset=paper --features=600 --max-iterations=30",
        env!("CARGO_BIN_EXE_rffblr")
    );
    let script = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(folder.path(""))
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(output) = script else {
        println!("skipped: no program `script` to give the command a terminal");
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout);
    for word in ["step ", "of at most 30", "objective ", "features ", "bandwidth ", "left"] {
        assert!(shown.contains(word), "does not show {word:?}: {shown}");
    }
}

#[test]
fn repeats_count_like_repeated_rows() {
    let folder = Folder::new();
    let (mut weighted, mut repeated) = (String::from("x,w,y\n"), String::from("x,y\n"));
    for n in 0..20 {
        let (x, y) = (n as f64 / 3.0, (n as f64 / 2.0).sin());
        let times = 1 + n % 3;
        weighted += &format!("{x},{times},{y}\n");
        (0..times).for_each(|_| repeated += &format!("{x},{y}\n"));
    }
    folder.put("w.csv", weighted).put("r.csv", repeated).put("new.csv", "x\n0.5\n3.3\n");
    folder.done(&[&["fit", "w.csv", "--targets=y", "--repeats=w", "-q"][..], &quick()].concat());
    folder.done(&[&["fit", "r.csv", "--targets=y", "-q"][..], &quick()].concat());
    let predict = |model: &str| crate::common::read_numbers(&folder.done(&["predict", model, "new.csv"]).out);
    for ((_, a), (_, b)) in predict("w.model.json").iter().zip(&predict("r.model.json")) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-7, "{a} and {b}");
        }
    }
}

#[test]
fn a_factor_on_all_weights_changes_nothing_and_inspect_says_what_they_meant() {
    let folder = Folder::new();
    let table = |factor: f64| {
        let row = |n: usize| format!("{},{},{}\n", n as f64 / 3.0, factor * (1 + n % 3) as f64, (n as f64 / 2.0).sin());
        String::from("x,w,y\n") + &(0..24).map(row).collect::<String>()
    };
    folder.put("new.csv", "x\n0.5\n3.3\n");
    let predictions = |factor: f64, options: &[&str]| {
        folder.put("t.csv", table(factor));
        folder.done(&[&["fit", "t.csv", "--targets=y", "-q", "--force", "-om.json"], options].concat());
        let inspected = folder.done(&["inspect", "m.json"]).out;
        let told =
            serde_json::from_str::<serde_json::Value>(&folder.done(&["inspect", "m.json", "--json"]).out).unwrap();
        (folder.done(&["predict", "m.json", "new.csv"]).out, inspected, told["training"]["weights"].clone())
    };
    let (one, inspected, told) = predictions(1.0, &["--weight=w"]);
    assert!(inspected.contains("Rows had relative weights") && told == "relative", "{inspected}");
    assert_eq!(predictions(4.0, &["--weight=w"]).0, one);
    for factor in [10.0, 1.0 / 24.0] {
        let other = predictions(factor, &["--weight=w"]).0;
        for ((_, a), (_, b)) in crate::common::read_numbers(&other).iter().zip(crate::common::read_numbers(&one)) {
            a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{a} and {b}"));
        }
    }
    let (counted, inspected, told) = predictions(1.0, &["--repeats=w"]);
    assert!(
        counted != one && inspected.contains("each is a number of identical rows") && told == "repeats",
        "{inspected}"
    );
    let (_, inspected, told) = predictions(1.0, &["--ignore=w"]);
    assert!(!inspected.contains("weights:") && told.is_null(), "{inspected}");
    let ran = folder.run(&["fit", "t.csv", "--targets=y", "--weight=w", "--repeats=w"]);
    assert!(ran.code == 2 && ran.err.contains("--weight") && ran.err.contains("--repeats"), "{}", ran.err);
}

#[test]
fn arff_parquet_and_standard_input_are_read_too() {
    let folder = Folder::new();
    let mut arff =
        String::from("@relation r\n@attribute x numeric\n@attribute c {b,a,never}\n@attribute y real\n@data\n");
    (0..12).for_each(|n| arff += &format!("{n},{},{}\n", ["a", "b"][n % 2], n * n));
    folder.put("t.arff", arff);
    folder.done(&[&["fit", "t.arff", "--targets=last:1", "-q"][..], &quick()].concat());
    let model = Model::load(folder.path("t.model.json")).unwrap();
    // Declared order, without the level no row has.
    assert_eq!(model.input_names(), ["x", "c=b", "c=a", "c?"]);

    folder.put("cohort.csv", cohort());
    let mut command = folder.command(&[&["fit", "-", "--targets=cost", "--ignore=id", "-q"][..], &quick()].concat());
    command.stdin(std::fs::File::open(folder.path("cohort.csv")).unwrap());
    assert!(command.status().unwrap().success());
    assert!(folder.names().contains(&"rffblr.model.json".to_string()));
}

#[test]
fn wrong_command_lines_exit_with_2() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    for arguments in [
        &["fit", "cohort.csv"][..],
        &["fit", "--targets=cost"],
        &["fit", "cohort.csv", "--targets=cost", "--features=many"],
        &["fit", "cohort.csv", "--targets=cost", "--spectrum=rbg"],
        &["fit", "cohort.csv", "--targets=cost", "--bandwidth=wide"],
        &["fit", "cohort.csv", "--targets=cost", "--input-scales=fixed"],
        &["fit", "cohort.csv", "--targets=cost", "--pruning=always"],
        &["fit", "cohort.csv", "--targets=cost", "--noise-prior=1"],
        &["fit", "cohort.csv", "--targets=cost", "--missing=drop"],
        &["fit", "cohort.csv", "--targets=cost", "--threads=0"],
        &["fit", "cohort.csv", "--targets=cost", "--delimiter=::"],
        &["predict", "model.json"],
        &["predict", "m", "d", "--interval=1.5"],
        &["inspect"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.out.is_empty());
    }
    // Settings that the library refuses are named.
    folder.fails(&fit(&["--targets=cost", "--restarts=0"]), &["restarts", "at least 1"]);
    folder.fails(&["fit", "cohort.csv", "--targets=cost", "--input-scales=1,2"], &["input-scales"]);
    assert_eq!(folder.names(), ["cohort.csv"]);
}

#[test]
fn a_target_that_never_varies_is_named() {
    let folder = Folder::new();
    let table: String = (0..20).map(|n| format!("{n},{},7\n", (n * n) % 11)).collect();
    folder.put("t.csv", format!("a,y,k\n{table}"));
    let ran = folder.done(&["fit", "t.csv", "--targets=y,k"]);
    assert!(ran.err.contains("target 'k' never varies"), "{}", ran.err);
}
