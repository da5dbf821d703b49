//! What the guide shows is what the command prints, seconds aside.

use crate::common::Folder;
use std::path::Path;

fn repository(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// Text that holds no measured time: "0.04 s" at the end of a line, and the last number of a row of the demo's table.
fn without_seconds(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_time = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    match words.as_slice() {
        [rest @ .., time, "s."] if is_time(time) => format!("{} …", rest.join(" ")),
        [rest @ .., time] if rest.contains(&"%") && is_time(time) => format!("{} …", rest.join(" ")),
        words => words.join(" "),
    }
}

/// The block of a page that starts with a line.
fn block(page: &str, first: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| !line.starts_with(first));
    lines.take_while(|line| !line.starts_with("```")).map(without_seconds).filter(|line| !line.is_empty()).collect()
}

fn assert_shown(expected: &[String], printed: &str) {
    let printed: Vec<String> = printed.lines().map(without_seconds).collect();
    assert!(expected.len() >= 3);
    for line in expected {
        assert!(printed.contains(line), "the guide shows\n{line}\nbut the command prints\n{}", printed.join("\n"));
    }
}

#[test]
fn the_worked_example() {
    let guide = repository("docs/guide/first-fit.md");
    let folder = Folder::new();
    folder.put("soil.csv", repository("examples/soil.csv"));
    let shown = block(&guide, "$ head -3 soil.csv");
    assert_shown(&shown[1..4], &folder.text("soil.csv"));
    let shown = block(&guide, "$ rffblr fit soil.csv");
    let arguments: Vec<&str> = shown[0].trim_start_matches("$ rffblr ").split(' ').collect();
    let ran = folder.done(&arguments);
    assert_eq!(ran.out, "");
    let printed: Vec<String> = ran.err.lines().map(without_seconds).filter(|line| !line.is_empty()).collect();
    assert_eq!(shown[1..], printed, "every line, in order");
    // The commands it suggests work.
    folder.put("NEW.csv", repository("examples/soil.csv"));
    folder.done(&["predict", "soil.model.json", "NEW.csv", "-o", "predictions.csv"]);
    folder.done(&["inspect", "soil.model.json"]);
}

#[test]
fn the_demo() {
    let shown = block(&repository("docs/guide/install.md"), " held-out rows");
    let folder = Folder::new();
    assert_shown(&shown, &folder.done(&["demo"]).out);
}

/// Every function and type that the walk from the paper to the code names is where its link points, and every link of the
/// pages about the paper leads to a file.
#[test]
fn the_walk_from_the_paper_leads_to_the_code() {
    let docs = format!("{}/../../docs", env!("CARGO_MANIFEST_DIR"));
    let mut named = 0;
    for page in ["from-paper-to-code.md", "paper.md"] {
        let text = std::fs::read_to_string(format!("{docs}/{page}")).unwrap();
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap_or_default()) {
            let file = link.split('#').next().unwrap_or_default();
            assert!(link.starts_with("http") || std::fs::metadata(format!("{docs}/{file}")).is_ok(), "{page}: {link}");
        }
        for (name, rest) in text.split("[`").skip(1).filter_map(|rest| rest.split_once("`](")) {
            let file = rest.split(')').next().unwrap_or_default();
            let source = std::fs::read_to_string(format!("{docs}/{file}")).unwrap();
            let defines = |line: &str| {
                ["fn", "struct", "enum"].iter().any(|kind| {
                    let after = line.split_once(&format!("{kind} {name}")).map(|(_, after)| after.chars().next());
                    after.is_some_and(|next| !next.is_some_and(|next| next.is_alphanumeric() || next == '_'))
                })
            };
            assert!(source.lines().any(defines), "{page}: {file} has no {name}");
            named += 1;
        }
    }
    assert!(named > 30, "{named}");
}
