//! Version, help, completions and manual pages.

use crate::{fail, folder, names, rffblr, succeed, text};
use std::fs;
use std::io::Read;
use std::process::Stdio;

#[test]
fn the_version_names_the_package_version() {
    let folder = folder();
    let version = succeed(folder.path(), &["--version"]);
    assert!(version.starts_with(concat!("rffblr ", env!("CARGO_PKG_VERSION"))), "{version}");
    // With a commit behind it, or nothing.
    let rest = version.trim_end().strip_prefix(concat!("rffblr ", env!("CARGO_PKG_VERSION"))).unwrap();
    let commit = rest.strip_prefix(" (").and_then(|r| r.strip_suffix(')'));
    assert!(rest.is_empty() || commit.is_some_and(|c| c.len() >= 10 && c.chars().all(|l| l.is_ascii_hexdigit())));
}

#[test]
fn long_help_of_every_command_leads_with_examples() {
    let folder = folder();
    for command in COMMANDS {
        let mut arguments: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        arguments.push("--help");
        let help = succeed(folder.path(), &arguments);
        assert!(help.starts_with("Examples:\n  rffblr "), "{command}: {help}");
        assert!(help.contains("Usage: rffblr"), "{command}: {help}");
    }
}

/// Every command, by the words that call it.
const COMMANDS: [&str; 9] =
    ["", "demo", "evaluate", "data", "data list", "data path", "data fetch", "completions", "man"];

#[test]
fn a_wrong_command_line_exits_with_2() {
    let folder = folder();
    for (arguments, expected) in [
        (vec!["evalaute"], "'evaluate'"),
        (vec!["data", "list", "--jsn"], "--json"),
        (vec!["data", "path"], "NAME"),
        (vec!["completions", "tcsh"], "tcsh"),
        (vec!["--threads", "0", "demo"], "--threads"),
    ] {
        let message = fail(folder.path(), &arguments, 2);
        assert!(message.contains(expected), "{message}");
    }
    let nothing = crate::run(folder.path(), &[]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("Usage: rffblr"));
}

#[test]
fn completions_know_the_commands() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = succeed(folder.path(), &["completions", shell]);
        assert!(script.contains("evaluate") && script.contains("fold-file"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let folder = folder();
    let mut child = rffblr(folder.path())
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Closed without reading: what is written comes to nothing.
    drop(child.stdout.take());
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{message}");
    assert_eq!(message, "");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_reported() {
    let folder = folder();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = rffblr(folder.path()).args(["completions", "zsh"]).stdout(full).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.starts_with("error: cannot write to standard output: No space left"), "{message}");
}

#[test]
fn one_manual_page_for_each_command() {
    let folder = folder();
    let pages = folder.path().join("man/man1");
    let printed = succeed(folder.path(), &["man", "man/man1"]);
    let found = names(&pages);
    assert_eq!(printed.lines().count(), found.len());
    for command in COMMANDS {
        let name = format!("rffblr {command}").trim().replace(' ', "-");
        assert!(found.contains(&format!("{name}.1")), "{name}: {found:?}");
        let page = fs::read_to_string(pages.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        assert!(page.contains(".SH EXAMPLES\n.nf\n\\&rffblr "), "{page}");
    }
}

#[test]
fn manual_pages_are_not_replaced_unasked() {
    let folder = folder();
    let page = folder.path().join("rffblr-data.1");
    fs::write(&page, "mine").unwrap();
    let message = fail(folder.path(), &["man", "."], 1);
    assert!(message.contains("rffblr-data.1 already exists") && message.contains("--force"), "{message}");
    assert_eq!(names(folder.path()), ["rffblr-data.1"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    succeed(folder.path(), &["man", ".", "--force"]);
    assert!(fs::read_to_string(&page).unwrap().contains(".TH rffblr-data 1"));
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(fail(folder.path(), &["man", "file/man1"], 1).contains("cannot make the folder file/man1"));
}
