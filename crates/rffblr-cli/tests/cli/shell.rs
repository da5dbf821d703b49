//! Version, help, completions and manual pages.

use crate::common::{Folder, Ran};
use std::fs;
use std::io::Read;
use std::process::Stdio;

#[test]
fn the_version_names_the_package_version() {
    let folder = Folder::new();
    let version = folder.done(&["--version"]).out;
    assert!(version.starts_with(concat!("rffblr ", env!("CARGO_PKG_VERSION"))), "{version}");
    // With a commit behind it, or nothing.
    let rest = version.trim_end().strip_prefix(concat!("rffblr ", env!("CARGO_PKG_VERSION"))).unwrap();
    let commit = rest.strip_prefix(" (").and_then(|r| r.strip_suffix(')'));
    assert!(rest.is_empty() || commit.is_some_and(|c| c.len() >= 10 && c.chars().all(|l| l.is_ascii_hexdigit())));
}

#[test]
fn the_help_lists_the_exit_codes() {
    let folder = Folder::new();
    for flag in ["-h", "--help"] {
        let help = folder.done(&[flag]).out;
        for word in ["Exit codes: 0 done", "1 it could not be done", "2 the command line was wrong", "130"] {
            assert!(help.contains(word), "{flag} does not say {word:?}: {help}");
        }
    }
    assert_eq!(folder.run(&["inspect", "absent.json"]).code, 1);
    assert_eq!(folder.run(&["inspect"]).code, 2);
    assert!(folder.done(&["help", "fit"]).out.contains("#DIV/0!"));
}

#[test]
fn long_help_of_every_command_leads_with_examples() {
    let folder = Folder::new();
    for command in COMMANDS {
        let mut arguments: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        arguments.push("--help");
        let help = folder.done(&arguments).out;
        assert!(
            help.starts_with("Example") && help.lines().nth(1).unwrap().starts_with("  rffblr "),
            "{command}: {help}"
        );
        assert!(help.contains("Usage: rffblr"), "{command}: {help}");
    }
}

/// Every command, by the words that call it.
const COMMANDS: [&str; 15] = [
    "",
    "demo",
    "fit",
    "predict",
    "inspect",
    "report",
    "export",
    "verify",
    "evaluate",
    "data",
    "data list",
    "data path",
    "data fetch",
    "completions",
    "man",
];

#[test]
fn a_wrong_command_line_exits_with_2() {
    let folder = Folder::new();
    for (arguments, expected) in [
        (vec!["evalaute"], "'evaluate'"),
        (vec!["data", "list", "--jsn"], "--json"),
        (vec!["data", "path"], "NAME"),
        (vec!["completions", "tcsh"], "tcsh"),
        (vec!["--threads", "0", "demo"], "--threads"),
    ] {
        let ran = folder.run(&arguments);
        assert!(ran.code == 2 && ran.out.is_empty(), "{arguments:?}: {}", ran.err);
        assert!(ran.err.starts_with("error: ") && ran.err.contains(expected), "{}", ran.err);
    }
    let nothing = folder.run(&[]);
    assert!(nothing.code == 2 && nothing.err.contains("Usage: rffblr"), "{}", nothing.err);
}

#[test]
fn completions_know_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.done(&["completions", shell]).out;
        assert!(script.contains("evaluate") && script.contains("fold-file"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let folder = Folder::new();
    let mut child =
        folder.command(&["completions", "zsh"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
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
    let folder = Folder::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Ran::from(folder.command(&["completions", "zsh"]).stdout(full).output().unwrap());
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.starts_with("error: cannot write to standard output: No space left"), "{}", ran.err);
}

#[test]
fn one_manual_page_for_each_command() {
    let folder = Folder::new();
    let pages = folder.path("man/man1");
    let printed = folder.done(&["man", "man/man1"]).out;
    let found = folder.names_in("man/man1");
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
    let folder = Folder::new();
    let page = folder.path("rffblr-data.1");
    fs::write(&page, "mine").unwrap();
    let message = folder.fails(&["man", "."], &[]).err;
    assert!(message.contains("rffblr-data.1 already exists") && message.contains("--force"), "{message}");
    assert_eq!(folder.names(), ["rffblr-data.1"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    folder.done(&["man", ".", "--force"]);
    assert!(fs::read_to_string(&page).unwrap().contains(".TH rffblr-data 1"));
    fs::write(folder.path("file"), "").unwrap();
    assert!(folder.fails(&["man", "file/man1"], &[]).err.contains("cannot make the folder file/man1"));
}
