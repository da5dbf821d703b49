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
    assert!(facts["what_if"]["file"]["posterior"].is_object());
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
    assert!(facts["verdict"]["headline"].as_str().unwrap().contains("Not judged"));
    assert!(!facts["inside"]["trace"]["bound"].as_array().unwrap().is_empty());
}

#[test]
fn row_data_can_be_left_out() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    folder.done(&["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "-omodel.json", "-q"]);
    folder.done(&["report", "model.json", "cohort.csv", "--no-row-data", "-opage.html", "-q"]);
    let facts = facts(&folder.text("page.html"));
    assert!(facts["quality"]["rows"].is_null() && facts["local"].is_null() && facts["what_if"]["file"].is_null());
    assert!(facts["what_if"]["absent"].as_str().unwrap().contains("--no-row-data"));
    // What speaks of all rows together stays.
    assert!(facts["quality"]["tasks"][0]["r2"].as_f64().unwrap() > 0.0);
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
    folder.fails(&["report", "model.json", "other.csv"], &["other.csv", "not the table the model was fitted to"]);
    folder.put("short.csv", "age,dose\n1,2\n");
    folder.fails(&["report", "model.json", "short.csv"], &["short.csv", "glucose"]);
    folder.put("mine.html", "mine");
    folder.fails(&["report", "model.json", "cohort.csv", "-o", "mine.html"], &["mine.html already exists", "--force"]);
    assert_eq!(folder.text("mine.html"), "mine");
    folder.fails(&["report", "model.json", "--card", "x", "-o", "x"], &["cannot both be x"]);
    folder.done(&["report", "model.json", "cohort.csv", "-o", "mine.html", "--force"]);
    assert!(folder.text("mine.html").starts_with("<!doctype html>"));
}
