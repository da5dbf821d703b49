//! What the command says about tables that would mislead: at the fit, at the evaluation, in the report, at prediction.

use crate::common::{Folder, fitted};

/// Twenty animals of six visits in the order of dates, a copy of the target in another unit, a name for every row.
fn visits() -> String {
    let mut text = String::from("visit,animal,date,age,grams,ounces\n");
    for n in 0..120 {
        let (animal, age) = (n % 20, 3 + n / 20);
        let grams = 40.0 + 3.0 * (animal * 7 % 20) as f64 + 11.0 * age as f64 + (n as f64 * 1.7).sin();
        let date = format!("2024-{:02}-{:02}", 1 + n / 20, 1 + n % 20 / 2);
        text += &format!("v{n},a{animal},{date},{age},{grams:.3},{:.4}\n", grams / 28.35);
    }
    text
}

#[test]
fn fit_evaluate_and_report_say_what_would_mislead() {
    let folder = Folder::new();
    folder.put("visits.csv", visits());
    let said = [
        "column 'visit' is different in every row and was left out",
        "column 'animal' looks like the name of 20 units",
        "whole units are held out (--group animal)",
        "column 'date' looks like a time;",
        "the latest rows are held out (--time date)",
        "input 'ounces' predicts target 'grams' (correlation 1.0000)",
        "(--ignore ounces)",
    ];
    let fit = folder.done(&["fit", "visits.csv", "--targets=grams", "-om.json"]);
    let evaluate = folder.done(&["evaluate", "visits.csv", "--targets=grams", "--folds=3", "--methods=mean"]);
    for ran in [&fit, &evaluate] {
        said.iter().for_each(|words| assert!(ran.err.contains(words), "does not say {words:?}: {}", ran.err));
        // One line for each kind.
        assert!(ran.err.lines().filter(|line| line.starts_with("note: ")).count() <= 7, "{}", ran.err);
    }
    let report = folder.done(&["report", "m.json", "visits.csv", "-op.html"]);
    let page = folder.text("p.html");
    for words in &said[1..] {
        // The page makes sentences of them, with a capital letter.
        assert!(report.err.contains(words) && page.contains(&words[1..]), "does not say {words:?}: {}", report.err);
    }
    assert!(page.contains("Input 'ounces' predicts target 'grams'"));
    assert!(folder.done(&["fit", "visits.csv", "--targets=grams", "-oq.json", "-q"]).err.is_empty());
    // No note on rows that belong together, or on time, where the options have named them.
    for option in ["--group=animal", "--time=date"] {
        let ran = folder.done(&["fit", "visits.csv", "--targets=grams", option, "--check=off", "-og.json", "--force"]);
        assert!(!ran.err.contains("looks like") && ran.err.contains("'ounces' predicts"), "{}", ran.err);
    }
    // The column that was left out may be there or not when predicting, without a note.
    let ran = folder.done(&["predict", "m.json", "visits.csv"]);
    assert!(!ran.err.contains("visit'"), "{}", ran.err);
}

#[test]
fn an_ordinary_table_is_not_suspected() {
    let folder = fitted();
    let ran = folder.done(&["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "-oother.json"]);
    for word in ["looks like", "held out", "predicts target", "counts the rows", "earlier row", "text makes"] {
        assert!(!ran.err.contains(word), "{}", ran.err);
    }
}

#[test]
fn many_notes_of_a_kind_are_one() {
    let folder = Folder::new();
    let header: Vec<String> = (0..40).map(|d| format!("c{d}")).collect();
    let row = |n: usize| format!("{},{}7,{}\n", n as f64 * 0.7, "7,".repeat(39), (n * n) % 11);
    folder.put("t.csv", format!("x,{},y\n", header.join(",")) + &(0..20).map(row).collect::<String>());
    let ran = folder.done(&["fit", "t.csv", "--targets=y"]);
    let line = "note: 40 columns are the same in all rows and were left out: 'c0', 'c1', 'c2', 'c3', 'c4' and 35 more";
    assert!(ran.err.lines().any(|found| found == line), "{}", ran.err);
}

#[test]
fn predicting_the_training_rows_is_told() {
    let folder = fitted();
    let says = |table: &str, model: &str| {
        let err = folder.done(&["predict", model, table]).err;
        err.lines().find(|line| line.contains("the model learned from")).map(String::from)
    };
    folder.done(&["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "-okernel.json", "-q"]);
    let table = folder.text("cohort.csv");
    let lines: Vec<&str> = table.lines().collect();
    // With other rows, without targets, in another order, and rows that only look the same.
    let shuffled = |rows: &mut dyn Iterator<Item = usize>| {
        let body: String = rows.map(|n| format!("{}\n", lines[n])).collect();
        format!("{}\n{body}", lines[0])
    };
    let other = |n: usize| format!("q{n},{}.5,1,red,main,,\n", 60 + n);
    folder.put("part.csv", shuffled(&mut (1..=40).rev()) + &(0..20).map(other).collect::<String>());
    folder.put("new.csv", shuffled(&mut (1..=10)) + &(0..20).map(other).collect::<String>());
    let whole = "note: these 60 rows are ones the model learned from, and flatter it";
    for model in ["kernel.json", "model.json"] {
        assert!(says("cohort.csv", model).unwrap().starts_with(whole));
        assert_eq!(says("new.csv", model), None);
    }
    assert!(says("part.csv", "kernel.json").unwrap().contains("40 of these 60 rows"));
    // Cosines know all rows or none, whether or not others without a target stand between them.
    assert_eq!(says("part.csv", "model.json"), None);
    folder.put("more.csv", table.clone() + "q,1.5,1,red,main,,\n");
    assert!(says("more.csv", "model.json").unwrap().contains("60 of these 61 rows"));
    assert!(folder.done(&["predict", "kernel.json", "cohort.csv", "-q"]).err.is_empty());
}
