//! `rffblr report`: the page as a file. What it shows is tested in a browser, by tests/browser/run.

use crate::common::{Folder, cohort, fitted};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The block of facts inside a page.
fn facts(page: &str) -> Value {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="facts">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_and_a_card_are_written() {
    let folder = fitted();
    let ran = folder.done(&["report", "model.json", "cohort.csv", "--card", "card.md"]);
    assert!(ran.err.contains("Wrote model.report.html") && ran.err.contains("Wrote card.md"), "{}", ran.err);
    let page = folder.text("model.report.html");
    assert!(page.len() < 5_000_000);
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http") && !page.contains("{{"));
    let facts = facts(&page);
    assert_eq!(facts["title"], "model");
    assert_eq!(facts["targets"].as_array().unwrap().len(), 2);
    assert_eq!(facts["inputs"], serde_json::json!(["age", "dose", "colour"]));
    assert_eq!(facts["quality"]["rows"]["number"].as_array().unwrap().len(), 60);
    assert!(facts["what_if"]["file"]["function"]["cosines"].is_object());
    let sum: String = Sha256::digest(folder.text("cohort.csv")).iter().map(|b| format!("{b:02x}")).collect();
    assert!(facts["origin"].to_string().contains(&sum));
    assert!(facts["origin"].to_string().contains("rffblr report model.json cohort.csv --card card.md"));
    let card = folder.text("card.md");
    assert_eq!(facts["card"], card);
    for word in ["# EU AI Act, Annex IV", "# TRIPOD+AI", "[to be filled:", "| glucose | 59 |"] {
        assert!(card.contains(word), "{word}");
    }
}

#[test]
fn the_card_goes_to_standard_output_too() {
    let folder = fitted();
    let card = folder.done(&["report", "model.json", "cohort.csv", "--card=-", "-opage.html"]).out;
    assert_eq!(facts(&folder.text("page.html"))["card"], card);
    assert_eq!(folder.names(), ["cohort.csv", "model.json", "page.html"]);
    folder.fails(&["report", "model.json", "cohort.csv", "--card=-", "-o-"], &["cannot both be -"]);
}

#[test]
fn the_same_model_and_data_give_the_same_page() {
    let folder = fitted();
    let page = |threads: &str| folder.done(&["report", "model.json", "cohort.csv", "-o-", "--threads", threads]).out;
    // The command is part of the page, and the only part that may differ.
    assert_eq!(page("1").replace("--threads 1", "--threads 2"), page("2"));
}

#[test]
fn without_data_the_model_alone_is_shown() {
    let folder = fitted();
    folder.done(&["report", "model.json", "-o", "page.html", "-q"]);
    let facts = facts(&folder.text("page.html"));
    assert!(facts["quality"].is_null() && facts["local"].is_null() && facts["together"].is_null());
    // Its check needs no data.
    assert!(facts["verdict"]["basis"].as_str().unwrap().contains("rows it has not seen"));
    assert!(!facts["inside"]["trace"]["objective"].as_array().unwrap().is_empty());
}

#[test]
fn row_data_can_be_left_out() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    folder.done(&["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "-omodel.json", "-q"]);
    folder.done(&["report", "model.json", "cohort.csv", "--no-row-data", "-opage.html", "-q"]);
    let facts = facts(&folder.text("page.html"));
    assert!(facts["quality"]["rows"].is_null() && facts["local"].is_null() && facts["what_if"]["file"].is_null());
    assert!(facts["what_if"]["absent"].as_str().unwrap().contains("asked to show no row"));
    // What speaks of all rows together stays.
    assert!(facts["quality"]["tasks"][0]["r2"].as_f64().unwrap() > 0.0);
}

/// A name that one row has is that row.
#[test]
fn without_row_data_no_value_of_few_rows_is_named() {
    let folder = Folder::new();
    let table: String = (0..40).map(|n| format!("{n},{},{}\n", ["often", "rarely"][n / 37], (n * n) % 11)).collect();
    folder.put("t.csv", format!("a,place,y\n{table}"));
    let report = ["report", "m.json", "t.csv", "--no-row-data", "-op.html"];
    for sparsity in [&[][..], &["--sparsity=0.8"]] {
        folder.done(&[&["fit", "t.csv", "--targets=y", "-om.json", "-q", "--force"], sparsity].concat());
        let ran = folder.fails(&report, &["1 of 2 values", "`place`", "fewer than 5 rows"]);
        assert!(!ran.err.contains("rarely") && !folder.path("p.html").exists());
    }
    // The formula alone does not know its rows.
    folder.fails(&["report", "m.json", "--no-row-data", "-op.html"], &["`place`", "give them"]);
    folder.done(&["report", "m.json", "t.csv", "-op.html", "-q"]);
}

/// What `fit` prints and what the page says is the same, also where rows have no weight.
#[test]
fn the_page_says_what_the_fit_has_printed() {
    let folder = Folder::new();
    let table: String =
        (0..40).map(|n| format!("{n},{},{},{}\n", n % 7, (n as f64 * 0.4).sin() + (n % 3) as f64, n % 2)).collect();
    folder.put("t.csv", format!("a,b,y,w\n{table}"));
    let ran = folder.done(&["fit", "t.csv", "--targets=y", "--weight=w", "-om.json"]);
    folder.done(&["report", "m.json", "t.csv", "-op.html", "-q"]);
    let facts = facts(&folder.text("p.html"));
    let (refits, left_out) = ran.err.split_once("Each row left out in turn").unwrap();
    for (part, printed) in [("check", refits), ("quality", left_out)] {
        let task = &facts[part]["tasks"][0];
        assert_eq!(task["observed"], 20);
        let line = printed.lines().find(|line| line.trim_start().starts_with('y')).unwrap();
        let expected = format!("{:.3}", task["r2"].as_f64().unwrap());
        assert!(line.contains(" 20 ") && line.contains(&expected), "{line}: {expected}");
    }
}

#[test]
fn names_from_the_data_cannot_leave_their_place() {
    let folder = Folder::new();
    let evil = "</script><script>alert(1)</script> {{style}}";
    let table: String = (0..40).map(|n| format!("{n},{},{}\n", n % 7, (n * n) % 11)).collect();
    folder.put("t.csv", format!("a,b,{evil}\n{table}"));
    folder.done(&["fit", "t.csv", "--targets=last:1", "-om.json", "-q"]);
    folder.done(&["report", "m.json", "t.csv", "-op.html", "--title", evil, "--card", "c.md", "-q"]);
    let page = folder.text("p.html");
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(facts(&page)["targets"][0], evil);
    assert!(page.contains("<title>&lt;/script&gt;"));
    assert!(!folder.text("c.md").contains("<script"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = fitted();
    folder.fails(&["report", "absent.json"], &["absent.json"]);
    folder.put("other.csv", cohort().replace("p3,51,", "p3,52,"));
    let other = ["other.csv", "not the table the model was fitted to", "--new"];
    folder.fails(&["report", "model.json", "other.csv"], &other);
    folder.fails(&["report", "model.json", "cohort.csv", "--new"], &["cohort.csv", "its rows are not new"]);
    folder.put("short.csv", "age,dose\n1,2\n");
    folder.fails(&["report", "model.json", "short.csv"], &["short.csv", "glucose"]);
    folder.put("mine.html", "mine");
    folder.fails(&["report", "model.json", "cohort.csv", "-o", "mine.html"], &["mine.html already exists", "--force"]);
    assert_eq!(folder.text("mine.html"), "mine");
    folder.fails(&["report", "model.json", "--card", "x", "-o", "x"], &["cannot both be x"]);
    folder.done(&["report", "model.json", "cohort.csv", "-o", "mine.html", "--force"]);
    assert!(folder.text("mine.html").starts_with("<!doctype html>"));
}

/// A model that keeps its rows knows which tables are new; others have to be told.
#[test]
fn rows_the_model_has_not_seen_are_judged_as_such() {
    let folder = Folder::new();
    let line = |n: usize| format!("{},{},{}\n", n % 13, (n * 7) % 11, (n % 13) * 2 + (n * n) % 3);
    let table = |rows: std::ops::Range<usize>| format!("a,b,y\n{}", rows.map(line).collect::<String>());
    folder.put("old.csv", table(0..60));
    folder.put("new.csv", table(70..100));
    folder.put("mixed.csv", table(40..100));
    folder.done(&["fit", "old.csv", "--targets=y", "-om.json", "-q"]);
    folder.done(&["report", "m.json", "new.csv", "-op.html", "-q"]);
    let facts = facts(&folder.text("p.html"));
    assert_eq!(facts["quality"]["new"], true);
    assert!(facts["verdict"]["basis"].as_str().unwrap().contains("30 rows that the model has never seen"));
    assert!(!facts["drift"].is_null() && facts["origin"].to_string().contains("table of new rows"));
    folder.fails(&["report", "m.json", "mixed.csv", "-oq.html"], &["mixed.csv", "learned from 20 of its 60 rows"]);
    folder.fails(&["report", "m.json", "new.csv", "--check=3", "-oq.html"], &["--check", "training table"]);
    folder.done(&["fit", "old.csv", "--targets=y", "--sparsity=0.7", "-os.json", "-q"]);
    folder.fails(&["report", "s.json", "new.csv", "-oq.html"], &["new.csv", "--new"]);
    folder.done(&["report", "s.json", "new.csv", "--new", "-oq.html", "-q"]);
}

#[test]
fn columns_have_labels_and_units() {
    let folder = fitted();
    folder.put("labels.csv", "name,label,unit\nage,Age at entry,years\nglucose,Blood glucose,mg/dl\n");
    folder.done(&["report", "model.json", "cohort.csv", "--labels=labels.csv", "-op.html", "-q"]);
    let found = facts(&folder.text("p.html"));
    assert_eq!(found["target_labels"][0], serde_json::json!(["Blood glucose", "mg/dl"]));
    assert_eq!(found["input_labels"][0], serde_json::json!(["Age at entry", "years"]));
    folder.put("wrong.csv", "name,label,unit\nage,Age,years\nagee,Age,years\n");
    folder.fails(&["report", "model.json", "--labels=wrong.csv", "-oq.html"], &["wrong.csv, line 3", "'agee'"]);
    // Columns of the table that are no inputs may be named; each line needs a label, a unit and a column of its own.
    folder.put(
        "grouped.csv",
        folder
            .text("cohort.csv")
            .lines()
            .enumerate()
            .map(|(n, line)| format!("{line},{}\n", if n == 0 { "ward".into() } else { (n % 7).to_string() }))
            .collect::<String>(),
    );
    folder.done(&[
        "fit",
        "grouped.csv",
        "--targets=glucose",
        "--group=ward",
        "--ignore=dose",
        "--check=off",
        "-og.json",
        "-q",
    ]);
    folder.put("more.csv", "name,label,unit\nward,Ward,\ndose,Dose,mg\nage,Age,years\n");
    folder.done(&["report", "g.json", "grouped.csv", "--labels=more.csv", "--check=off", "-og.html", "-q"]);
    folder.done(&["report", "g.json", "--labels=more.csv", "-oh.html", "-q"]);
    folder.put("twice.csv", "name,label,unit\nage,Age,years\nglucose,Glucose,\nage,Years,\n");
    folder
        .fails(&["report", "model.json", "--labels=twice.csv", "-oq.html"], &["twice.csv, line 4", "'age'", "line 2"]);
    folder.put("bare.csv", "name,label\nage,Age\n");
    folder
        .fails(&["report", "model.json", "--labels=bare.csv", "-oq.html"], &["bare.csv", "'unit'", "name,label,unit"]);
    folder.put("none.csv", "column,label\nage,Age\n");
    folder
        .fails(&["report", "model.json", "--labels=none.csv", "-oq.html"], &["none.csv", "'name'", "name,label,unit"]);
}
