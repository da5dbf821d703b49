//! `rffblr demo`.

use crate::common::{Folder, Ran, read_numbers};
use std::io::Read;
use std::process::Stdio;

#[test]
fn the_demo_leaves_files_to_go_on_with() {
    let folder = Folder::new();
    let ran = folder.done(&["demo", "--rows", "60"]);
    assert!(ran.out.contains("60 rows") && ran.out.contains("glucose") && ran.out.contains("the truth itself"));
    for line in ran.out.lines().chain(ran.err.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(!ran.err.contains(['\r', '\u{1b}']));
    assert_eq!(
        folder.names_in("rffblr-demo"),
        ["model.json", "predictions.csv", "report.html", "test.csv", "train.csv"]
    );
    // Every command it suggests works, and prediction gives what the demo stored.
    let commands: Vec<&str> = ran.err.lines().filter_map(|line| line.trim().strip_prefix("rffblr ")).collect();
    assert_eq!(commands.len(), 3, "{}", ran.err);
    assert!(ran.err.contains("  rffblr-demo/report.html\n"), "{}", ran.err);
    assert!(folder.text("rffblr-demo/report.html").contains("<title>Demo cohort</title>"));
    for command in &commands {
        folder.done(&command.split(' ').collect::<Vec<_>>());
    }
    let again = folder.done(&["predict", "rffblr-demo/model.json", "rffblr-demo/test.csv"]).out;
    assert_eq!(again, folder.text("rffblr-demo/predictions.csv"));
    let train = read_numbers(&folder.text("rffblr-demo/test.csv"));
    assert_eq!((train.len(), train[0].1.len()), (16, 60));
}

#[test]
fn a_folder_with_files_is_used_only_by_force() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("mine")).unwrap();
    folder.put("mine/train.csv", "mine").put("mine/notes.txt", "mine");
    let demo = ["demo", "--rows", "20", "-o", "mine"];
    folder.fails(&demo, &["mine has files in it", "--force"]);
    assert_eq!(folder.text("mine/train.csv"), "mine");
    folder.done(&[demo.as_slice(), &["--force"]].concat());
    assert_eq!(folder.text("mine/notes.txt"), "mine");
    assert!(folder.text("mine/train.csv").starts_with("age,weight,dose,"));
    folder.put("file", "");
    folder.fails(&["demo", "-o", "file/below"], &["cannot use the folder file/below"]);
    folder.fails(&["demo", "-o", "file"], &["cannot use the folder file"]);
}

#[test]
fn the_seed_and_not_the_threads_decide() {
    let folder = Folder::new();
    for (name, seed, threads) in [("a", "1", "1"), ("b", "1", "2"), ("c", "2", "1")] {
        folder.done(&["demo", "--rows", "30", "--seed", seed, "--threads", threads, "-o", name]);
    }
    let model = |name: &str| folder.text(&format!("{name}/model.json"));
    assert!(model("a") == model("b") && model("a") != model("c"));
}

#[test]
fn wrong_numbers_of_rows_are_refused() {
    for rows in ["1", "20001", "many"] {
        let folder = Folder::new();
        let ran: Ran = folder.run(&["demo", "--rows", rows]);
        assert!(ran.code == 2 && ran.err.contains("--rows"), "{}", ran.err);
        assert!(folder.names().is_empty());
    }
}

#[test]
fn a_killed_demo_leaves_no_file() {
    let folder = Folder::new();
    let mut child = folder.command(&["demo", "--rows", "5000"]).stdout(Stdio::piped()).spawn().unwrap();
    // The first lines come before the fits, which take far longer than the rest of this test.
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"A cohort o");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(folder.names_in("rffblr-demo").is_empty());
}
