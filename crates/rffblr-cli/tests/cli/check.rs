//! Scores on rows the model has not seen: `--check`, `--group` and `--time` of fit, evaluate and report.

use crate::common::{Folder, cohort, fitted};
use crate::evaluate::json;
use rffblr::Model;
use serde_json::Value;

/// Twelve animals of five visits each. Weight has a level for each animal that `tag`, a number of its own, gives away.
fn visits() -> String {
    let mut text = String::from("animal,tag,day,week,dose,weight\n");
    for n in 0..60 {
        let (animal, visit) = (n % 12, n / 12);
        let level = ((animal * animal * 7 + 3) % 11) as f64;
        let dose = ((n * 17) % 13) as f64 / 4.0;
        let tag = 100 + (animal * 5) % 12;
        let (month, day) = (1 + visit, 1 + 2 * animal);
        let weight = 3.0 * level + dose + 0.2 * (n as f64 * 1.3).sin();
        text += &format!("a{animal},{tag},2024-{month:02}-{day:02},{visit},{dose},{weight:.4}\n");
    }
    text
}

fn check(folder: &Folder, file: &str) -> Value {
    let facts: Value = serde_json::from_str(&folder.done(&["inspect", file, "--json"]).out).unwrap();
    facts["check"].clone()
}

fn r2(check: &Value) -> f64 {
    check["model"]["scores"]["task_r2"].as_f64().unwrap()
}

#[test]
fn a_fit_is_checked_as_evaluate_would() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let table = ["cohort.csv", "--targets=glucose,cost", "--ignore=id"];
    let said = folder.done(&[&["fit"], &table[..], &["-om.json", "--seed=3"]].concat()).err;
    let arguments = [&["evaluate"], &table[..], &["--folds=5", "--seed=3", "--methods=rffblr,ridge,mean"]].concat();
    let evaluated = json(&folder, &arguments);
    let check = check(&folder, "m.json");
    for (part, method) in [("model", "rffblr"), ("ridge", "ridge"), ("mean", "mean")] {
        assert_eq!(check[part], evaluated["methods"][method]["out_of_fold"], "{part}");
    }
    assert_eq!(check["split"], serde_json::json!({ "by": "random", "seed": 3 }));
    assert_eq!(check["split"], evaluated["split"]);
    assert_eq!((&check["folds"], &check["rows"]), (&5.into(), &60.into()));
    // The table comes first, and leave-one-out under a name of its own.
    let (first, second) = said.split_once("Each row left out in turn at fixed scales: a diagnostic").unwrap();
    let scores = &check["model"]["scores"]["per_task"];
    let line = |text: &str| text.lines().find(|line| line.trim_start().starts_with("cost ")).unwrap().to_owned();
    let number = |value: &Value| format!("{:.3}", value.as_f64().unwrap());
    let shown = format!("{} ± {}", number(&scores["r2"][1]), number(&check["model"]["r2_se"][1]));
    assert!(line(first).contains(&shown), "{first}");
    assert!(line(first).contains(&number(&check["ridge"]["scores"]["per_task"]["r2"][1])), "{first}");
    assert!(
        first.contains("On rows it has not seen: 5 refits, random folds") && second.contains("90 % holds"),
        "{said}"
    );
    let model = Model::load(folder.path("m.json")).unwrap();
    let headline = model.check().unwrap().headline();
    assert!(first.contains(&headline), "{headline}");
    assert!(folder.done(&["inspect", "m.json"]).out.contains(&headline));
    // The same for any number of threads.
    let text = |threads: &str| folder.done(&[&["fit"], &table[..], &["-o-", "-q", "--threads", threads]].concat()).out;
    assert_eq!(text("1"), text("3"));
}

#[test]
fn a_check_can_be_left_out_or_asked_for() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let fit = |more: &[&'static str]| {
        folder.done(&[&["fit", "cohort.csv", "--targets=cost", "--ignore=id", "--force"], more].concat()).err
    };
    let said = fit(&["--check=off"]);
    assert!(said.contains("Not checked on rows it has not seen") && !said.contains("refits, random"), "{said}");
    assert!(check(&folder, "cohort.model.json").is_null());
    assert!(folder.done(&["inspect", "cohort.model.json"]).out.contains("Not checked on rows it has not seen"));
    assert!(fit(&["--check=3"]).contains("3 refits, random folds"));
    assert_eq!(check(&folder, "cohort.model.json")["folds"], 3);
    folder.fails(
        &["fit", "cohort.csv", "--targets=cost", "--ignore=id", "--force", "--check=61"],
        &["60 rows cannot be split into 61 folds"],
    );
    for wrong in ["--check=0", "--check=few", "--check=-1"] {
        let ran = folder.run(&["fit", "cohort.csv", "--targets=cost", "--ignore=id", wrong]);
        assert!(ran.code == 2 && ran.err.contains("a number of refits, or off"), "{}", ran.err);
    }
    // With three rows there are three refits; a target that one of them cannot learn is not scored.
    folder.put("few.csv", "x,y,z\n1,1,\n2,4,\n3,5,1\n");
    let said = folder.done(&["fit", "few.csv", "--targets=y"]).err;
    assert!(said.contains("3 refits, random folds"), "{said}");
    let said = folder.done(&["fit", "few.csv", "--targets=y,z", "--force"]).err;
    assert!(said.contains("Target \"z\" has no value in the training rows of 1 of 3 refits"), "{said}");
}

#[test]
fn whole_groups_are_held_out() {
    let folder = Folder::new();
    folder.put("visits.csv", visits());
    let base = ["visits.csv", "--targets=weight", "--ignore=day"];
    folder.done(&[&["fit"], &base[..], &["--ignore=animal", "-oalone.json"]].concat());
    let said = folder.done(&[&["fit"], &base[..], &["--group=animal", "-otogether.json"]].concat()).err;
    assert!(said.contains("note: column 'animal' says which rows belong together and is not an input"), "{said}");
    assert!(said.contains("5 refits, whole groups of animal held out"), "{said}");
    let [alone, together] = ["alone.json", "together.json"].map(|file| check(&folder, file));
    // The tag gives the animal away where other visits of it are trained on.
    assert!(r2(&alone) > 0.9 && r2(&together) < 0.5, "{} {}", r2(&alone), r2(&together));
    let [first, second] = ["alone.json", "together.json"].map(|file| Model::load(folder.path(file)).unwrap());
    // The model itself is the same.
    assert_eq!((first.input_names(), first.fingerprint()), (second.input_names(), second.fingerprint()));
    assert_eq!(first.input_names(), ["tag", "week", "dose"]);
    // Evaluate follows the groups too, with the same folds.
    let arguments = [&["evaluate"], &base[..], &["--group=animal", "--folds=5"]].concat();
    let evaluated = json(&folder, &arguments);
    assert_eq!(evaluated["split"], serde_json::json!({ "by": "group", "column": "animal", "seed": 0 }));
    assert_eq!(evaluated["methods"]["rffblr"]["out_of_fold"], together["model"]);
    let table = folder.done(&arguments).out;
    assert!(table.contains("R² of all held-out rows"), "{table}");
    // New rows need no group.
    folder.put("new.csv", "tag,week,dose\n100,1,2\n");
    assert_eq!(folder.done(&["predict", "together.json", "new.csv"]).err, "");
    // There are twelve.
    let many = [&["fit"], &base[..], &["--group=animal", "--check=13", "--force", "-otogether.json"]].concat();
    folder.fails(&many, &["12 groups cannot be split into 13 folds"]);
}

#[test]
fn the_future_is_tested() {
    let folder = Folder::new();
    folder.put("visits.csv", visits());
    let fit = |time: &'static str, output: &'static str| {
        let fit =
            ["fit", "visits.csv", "--targets=weight", "--ignore=animal,tag", "--check=4", "-o", output, "--time", time];
        folder.done(&fit).err
    };
    let said = fit("day", "day.json");
    assert!(said.contains("note: column 'day' orders the rows in time and is an input too"), "{said}");
    assert!(said.contains("4 refits, trained on the past, tested on the future by day"), "{said}");
    // A fifth of sixty rows is trained on first.
    assert_eq!(check(&folder, "day.json")["rows"], 48);
    let said = fit("week", "week.json");
    assert!(said.contains("note: column 'week' orders the rows in time and is an input too"), "{said}");
    let names = |file: &str| Model::load(folder.path(file)).unwrap().input_names().to_vec();
    for file in ["day.json", "week.json"] {
        let inputs = names(file);
        assert!(["week", "day", "dose"].iter().all(|name| inputs.iter().any(|i| i.starts_with(name))), "{inputs:?}");
    }
    let ran = folder.done(&["evaluate", "visits.csv", "--targets=weight", "--time=day", "--folds=2", "--methods=mean"]);
    assert!(ran.err.contains("rows that train and that no fold tests: 20"), "{}", ran.err);
}

#[test]
fn what_has_no_place_is_an_error_before_the_fit() {
    let folder = Folder::new();
    folder.put("t.csv", "g,t,s,x,y\na,2024-01-01,1,1,1\n,2024-02-30,2,2,4\nb,soon,,3,5\nb,2024-01-03,4,4,\n");
    let base = ["fit", "t.csv", "--targets=y", "--ignore=g,t,s"];
    for (flag, says) in [
        ("--group=g", vec!["data row 2, column 'g': the group is missing"]),
        ("--time=t", vec!["data row 2, column 't': '2024-02-30' is not a time", "2024-05-31"]),
        ("--time=s", vec!["data row 3, column 's': the time is missing"]),
        ("--group=gg", vec!["no column 'gg' to use as the group"]),
    ] {
        folder.fails(&[&base[..], &[flag]].concat(), &says);
        folder.fails(&[&["evaluate"], &base[1..], &[flag, "--folds=2", "--methods=mean"]].concat(), &says);
    }
    for wrong in [["--group=g", "--time=t"], ["--group=y", "-q"], ["--time=y", "-q"]] {
        let ran = folder.run(&[&base[..], &wrong].concat());
        assert!(ran.code == 2 && ran.out.is_empty(), "{}", ran.err);
    }
    let files = ["evaluate", "t.csv", "--targets=y", "--group=g", "--fold-file=f.json"];
    assert_eq!(folder.run(&files).code, 2);
    assert_eq!(folder.names(), ["t.csv"]);
}

#[test]
fn a_report_shows_the_check_of_the_model_or_runs_one() {
    let facts = |page: &str| -> Value {
        let (_, rest) = page.split_once(r#"<script type="application/json" id="facts">"#).unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    };
    let folder = Folder::new();
    folder.put("visits.csv", visits());
    let fit = |more: &[&'static str]| {
        folder
            .done(&[&["fit", "visits.csv", "--targets=weight", "--ignore=day,animal", "--force", "-q"], more].concat());
    };
    let report = |more: &[&str]| facts(&folder.done(&[&["report", "visits.model.json"], more, &["-o-"]].concat()).out);
    let how = |facts: &Value| facts["check"]["how"].as_str().unwrap_or_default().to_owned();
    fit(&["--check=3"]);
    let kept = check(&folder, "visits.model.json");
    for more in [&["visits.csv"][..], &[], &["visits.csv", "--check=off"]] {
        let shown = report(more);
        assert_eq!(how(&shown), "3 refits, random folds");
        let r2 = shown["check"]["tasks"][0]["r2"].as_f64().unwrap();
        assert!((r2 - kept["model"]["scores"]["per_task"]["r2"][0].as_f64().unwrap()).abs() < 1e-6);
        assert!(shown["verdict"]["headline"].as_str().unwrap().starts_with("Explains "), "{}", shown["verdict"]);
    }
    // Other folds, if they are asked for; an ignored column may say which rows belong together.
    assert_eq!(how(&report(&["visits.csv", "--check=4"])), "4 refits, random folds");
    let grouped = report(&["visits.csv", "--group=animal"]);
    assert_eq!(how(&grouped), "5 refits, whole groups of animal held out");
    let score = grouped["check"]["tasks"][0]["r2"].as_f64().unwrap();
    folder.fails(&["report", "visits.model.json", "visits.csv", "--group=tag"], &["'tag' is an input of the model"]);
    fit(&["--group=animal"]);
    let fitted_so = check(&folder, "visits.model.json");
    assert!((score - r2(&fitted_so)).abs() < 1e-6);
    // The model knows its groups.
    assert_eq!(how(&report(&["visits.csv", "--check=4"])), "4 refits, whole groups of animal held out");
    assert_eq!(
        how(&report(&["visits.csv", "--check=2", "--time=day"])),
        "2 refits, trained on the past, tested on the future by day"
    );
    fit(&["--check=off"]);
    assert_eq!(how(&report(&["visits.csv"])), "5 refits, random folds");
    let without = report(&["visits.csv", "--check=off"]);
    assert!(without["check"].is_null());
    assert!(without["verdict"]["headline"].as_str().unwrap().starts_with("Not checked by refits"));
    assert!(report(&[])["verdict"]["headline"].as_str().unwrap().contains("Not judged"));
    let ran = folder.run(&["report", "visits.model.json", "--check=3"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    // The same with the table that has text and gaps.
    let folder = fitted();
    let page = folder.done(&["report", "model.json", "cohort.csv", "-o-", "--check=5"]).out;
    let checked = facts(&page);
    assert_eq!(checked["check"]["tasks"][1]["r2"].as_f64().map(|r2| format!("{r2:.6}")), {
        let kept = check(&folder, "model.json");
        kept["model"]["scores"]["per_task"]["r2"][1].as_f64().map(|r2| format!("{r2:.6}"))
    });
}

/// Of the second target one group alone has values: the fold that tests it learns from none.
#[test]
fn a_target_that_a_fold_cannot_learn_is_named_and_not_scored_there() {
    let folder = Folder::new();
    let row = |n: usize| {
        let x = (1.7 * n as f64).sin();
        let rare = if n.is_multiple_of(3) { format!("{}", 1.0 - x) } else { String::new() };
        format!("{},{x},{},{rare}\n", ["a", "b", "c"][n % 3], 2.0 * x + 0.1 * (n as f64).cos())
    };
    folder.put("t.csv", format!("g,x,u,v\n{}", (0..45).map(row).collect::<String>()));
    let table = ["t.csv", "--targets=u,v", "--group=g"];
    let tell = "arget \"v\" has no value in the training rows of ";
    let fitted = folder.done(&[&["fit"], &table[..], &["--check=3"]].concat());
    assert!(fitted.err.contains(&format!("{tell}1 of 3 refits and is not scored there.")), "{}", fitted.err);
    let facts = folder.done(&[&["fit"], &table[..], &["--check=3", "--json", "--force"]].concat()).out;
    assert!(facts.contains("in the training rows of 1 of 3 refits") && !facts.contains("NaN"), "{facts}");
    assert_eq!(check(&folder, "t.model.json")["model"]["scores"]["per_task"]["observed"], serde_json::json!([45, 0]));
    assert!(folder.done(&["inspect", "t.model.json"]).out.contains(tell));
    let page = folder.done(&["report", "t.model.json", "-o-"]).out;
    assert!(page.contains("in the training rows of 1 of 3 refits"));
    let evaluated = folder.done(&[&["evaluate"], &table[..], &["--methods=ridge,mean", "--folds=3"]].concat());
    assert_eq!(evaluated.err.matches(&format!("{tell}fold ")).count(), 1, "{}", evaluated.err);
    assert!(!evaluated.out.contains("NaN"), "{}", evaluated.out);
}
