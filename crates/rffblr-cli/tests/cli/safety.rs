//! Nothing is overwritten without a request, nothing is left half-written, and a full disk is reported.

use crate::common::{Folder, Ran, cohort, fitted};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn files_are_replaced_only_by_force() {
    let folder = fitted();
    folder.put("model.json", "precious").put("out.csv", "precious");
    let fit = ["fit", "cohort.csv", "--targets=cost", "--ignore=id", "--features=10", "-omodel.json"];
    folder.fails(&fit, &["model.json already exists", "--force"]);
    assert_eq!(folder.text("model.json"), "precious");
    folder.done(&[&fit[..], &["--force"]].concat());
    let predict = ["predict", "model.json", "cohort.csv", "-o", "out.csv"];
    folder.fails(&predict, &["out.csv already exists", "--force"]);
    assert_eq!(folder.text("out.csv"), "precious");
    folder.done(&[&predict[..], &["--force"]].concat());
    assert!(folder.text("out.csv").starts_with("cost,cost_std"));
    assert_eq!(folder.names(), ["cohort.csv", "model.json", "out.csv"]);
    // By no force can a folder be replaced.
    std::fs::create_dir(folder.path("folder.csv")).unwrap();
    folder.fails(&["predict", "model.json", "cohort.csv", "-ofolder.csv", "--force"], &["is a folder"]);
}

#[cfg(unix)]
#[test]
fn new_files_have_the_usual_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = fitted();
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("model.json"), mode("cohort.csv"));
}

#[test]
fn no_force_destroys_an_input() {
    let folder = fitted();
    folder.put("settings.toml", "seed = 3\n");
    let before: Vec<String> = ["cohort.csv", "model.json", "settings.toml"].map(|name| folder.text(name)).into();
    let fit =
        ["fit", "cohort.csv", "--targets=cost", "--ignore=id", "--features=10", "--config=settings.toml", "--force"];
    for arguments in [
        &[&fit[..], &["-ocohort.csv"]].concat()[..],
        &[&fit[..], &["-o./settings.toml"]].concat(),
        &["report", "model.json", "cohort.csv", "-omodel.json", "--force"],
        &["report", "model.json", "cohort.csv", "-o-", "--card=cohort.csv", "--force"],
        &["predict", "model.json", "cohort.csv", "-ocohort.csv", "--force"],
    ] {
        folder.fails(arguments, &["is the same file as the input", "choose another name"]);
    }
    let after: Vec<String> = ["cohort.csv", "model.json", "settings.toml"].map(|name| folder.text(name)).into();
    assert_eq!(before, after);
}

#[cfg(unix)]
#[test]
fn an_input_is_known_through_a_link() {
    let folder = fitted();
    std::os::unix::fs::symlink("cohort.csv", folder.path("link.csv")).unwrap();
    let before = folder.text("cohort.csv");
    for (input, output) in [("cohort.csv", "link.csv"), ("link.csv", "cohort.csv")] {
        folder
            .fails(&["predict", "model.json", input, "-o", output, "--force"], &["is the same file as", output, input]);
    }
    assert_eq!(folder.text("cohort.csv"), before);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = fitted();
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    for bits in [0o600, 0o640] {
        folder.put("out.csv", "old");
        std::fs::set_permissions(folder.path("out.csv"), PermissionsExt::from_mode(bits)).unwrap();
        folder.done(&["predict", "model.json", "cohort.csv", "-oout.csv", "--force"]);
        assert!(folder.text("out.csv").starts_with("glucose,"));
        assert_eq!(mode("out.csv"), bits);
    }
}

/// Starts a fit that would take hours, ends it by a signal while it runs, and gives the folder back.
#[cfg(unix)]
fn interrupted(signal: &str, before: Option<&str>) -> Folder {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    if let Some(text) = before {
        folder.put("model.json", text);
    }
    let line = "fit cohort.csv --targets=glucose,cost --ignore=id --features=1500 --max-iterations=100000000 \
                --tolerance=1e-300 --threads=1 -omodel.json --force";
    let mut fit = folder.command(&line.split_whitespace().collect::<Vec<_>>());
    if cfg!(target_os = "linux") {
        // A shell's background jobs ignore the signal, and so would the fit if the tests are one of them.
        let mut heard = Command::new("env");
        heard.args(["--default-signal=INT", env!("CARGO_BIN_EXE_rffblr")]).args(fit.get_args());
        fit = heard;
        fit.current_dir(folder.path("")).stdin(Stdio::null());
    }
    let mut child = fit.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().unwrap().is_none(), "the fit ended before it could be interrupted");
    let sent = Instant::now();
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap();
    assert!(sent.elapsed() < Duration::from_secs(5), "it took {:?} to stop", sent.elapsed());
    assert!(status.signal().is_some() || status.code() != Some(0), "{status}");
    folder
}

#[cfg(unix)]
#[test]
fn a_fit_that_is_killed_or_interrupted_leaves_nothing() {
    for signal in ["-KILL", "-INT"] {
        assert_eq!(interrupted(signal, None).names(), ["cohort.csv"], "{signal}");
        let folder = interrupted(signal, Some("old"));
        assert_eq!(folder.names(), ["cohort.csv", "model.json"], "{signal}");
        assert_eq!(folder.text("model.json"), "old");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = fitted();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [
        &["predict", "model.json", "cohort.csv"][..],
        &["fit", "cohort.csv", "--targets=cost", "--ignore=id", "--features=10", "-o-"],
        &["inspect", "model.json"],
        &["inspect", "model.json", "--json"],
        &["verify", "model.json"],
        &["--help"],
        &["--version"],
    ] {
        let ran = Ran::from(folder.command(arguments).stdout(full()).output().unwrap());
        assert_eq!(ran.code, 1, "{arguments:?}");
        assert!(ran.err.contains("error: cannot write to standard output"), "{arguments:?}: {}", ran.err);
    }
    // A full standard error cannot be reported; the work is still done.
    let fit = ["fit", "cohort.csv", "--targets=cost", "--ignore=id", "--features=10", "-ounheard.json"];
    for (arguments, code) in [(&fit[..], 0), (&fit[..], 1), (&["fit"], 2)] {
        let ran = Ran::from(folder.command(arguments).stderr(full()).output().unwrap());
        assert_eq!(ran.code, code, "{arguments:?}");
    }
    assert!(folder.names().contains(&"unheard.json".to_string()));
    folder
        .fails(&["fit", "cohort.csv", "--targets=cost", "--ignore=id", "--features=10", "-o/dev/full"], &["/dev/full"]);
}

/// Found out before the fit, not after it.
#[test]
fn an_output_that_cannot_be_written_is_refused_at_once() {
    let folder = fitted();
    std::fs::create_dir(folder.path("results")).unwrap();
    let long = format!("-o{}.json", "x".repeat(300));
    for (output, why) in [("-oresults", "results is a folder; name a file in it"), (&long, "cannot write xxx")] {
        let ran = folder.fails(&["fit", "cohort.csv", "--targets=cost", output], &[why]);
        assert!(!ran.err.contains("note:"), "{}", ran.err);
    }
}

#[test]
fn names_from_files_do_not_command_a_terminal() {
    let folder = Folder::new();
    let rows: String = (0..12).map(|n| format!("{n},{},{}\n", n % 5, 2 * n)).collect();
    folder.put("escape.csv", format!("a\u{1b}[31m,b\u{202e},y\n{rows}"));
    let ran = folder.run(&["fit", "escape.csv", "--targets=y", "--check=off", "-om.json"]);
    let missing = folder.run(&["fit", "escape.csv", "--targets=z\u{1b}c", "-on.json"]);
    let shown = folder.run(&["inspect", "m.json"]);
    assert_eq!((ran.code, missing.code, shown.code), (0, 1, 0), "{}{}{}", ran.err, missing.err, shown.err);
    for text in [&ran.err, &missing.err, &shown.out] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
    assert!(shown.out.contains(r"a\u{1b}[31m"), "{}", shown.out);
    // A model file says who wrote it, too.
    let mut value: serde_json::Value = serde_json::from_str(&folder.text("m.json")).unwrap();
    value["writer"] = "a\u{1b}]0;owned\u{7}\u{9b}2J".into();
    let sealed = |value: &mut serde_json::Value| {
        value.as_object_mut().unwrap().remove("sha256");
        value["sha256"] = crate::checksum::checksum(value).into();
        value.to_string()
    };
    folder.put("m.json", sealed(&mut value));
    let (words, json) = (folder.done(&["inspect", "m.json"]), folder.done(&["inspect", "m.json", "--json"]));
    assert!(words.out.contains(r"Written by a\u{1b}]0;owned\u{7}\u{9b}2J, learned"), "{}", words.out);
    for text in [&words.out, &json.out] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{text:?}");
    }
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json.out).unwrap()["writer"], value["writer"]);
    value["training"]["sha256"] = "\u{1b}c".into();
    folder.put("m.json", sealed(&mut value));
    folder.fails(&["inspect", "m.json"], &["`training.sha256`", "64 hexadecimal digits"]);
}

/// A quota of a few kilobytes in place of a small disk: the write in the middle of the file fails.
#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_leaves_nothing_half_written() {
    let folder = fitted();
    let long: String = (0..200).map(|n| format!("{n},1,red\n")).collect();
    folder.put("long.csv", format!("age,dose,colour\n{long}"));
    let before = folder.names();
    for line in [
        "fit cohort.csv --targets=glucose,cost --ignore=id --max-iterations=3 -obig.json",
        "predict model.json long.csv -obig.csv",
        "predict model.json long.csv -obig.parquet",
        "fit cohort.csv --targets=glucose,cost --ignore=id --max-iterations=3 -omodel.json --force",
        "evaluate cohort.csv --targets=glucose,cost --ignore=id --methods=mean,ridge --folds=2 --predictions=big.csv",
    ] {
        let model = folder.text("model.json");
        let limited = format!("ulimit -f 8; exec {} {line}", env!("CARGO_BIN_EXE_rffblr"));
        let output = Command::new("sh").args(["-c", &limited]).current_dir(folder.path("")).output().unwrap();
        let ran = Ran::from(output);
        assert_eq!(ran.code, 1, "{line}: {}", ran.err);
        let named = if line.contains("big.") { "big." } else { "model.json" };
        assert!(ran.err.contains(&format!("error: cannot write {named}")), "{line}: {}", ran.err);
        assert!(!ran.err.contains(".part"), "{line}: {}", ran.err);
        assert_eq!(folder.names(), before, "{line}");
        assert_eq!(folder.text("model.json"), model);
    }
}

#[cfg(unix)]
#[test]
fn a_demo_without_room_leaves_no_folder() {
    let folder = Folder::new();
    let limited = format!("ulimit -f 0; exec {} demo --rows=4", env!("CARGO_BIN_EXE_rffblr"));
    let output = Command::new("sh").args(["-c", &limited]).current_dir(folder.path("")).output().unwrap();
    let ran = Ran::from(output);
    assert_eq!((ran.code, folder.names()), (1, Vec::new()), "{}", ran.err);
    assert!(ran.err.contains("error: cannot write rffblr-demo/train.csv"), "{}", ran.err);
}

/// Files that have no end.
#[cfg(target_os = "linux")]
#[test]
fn what_is_read_whole_has_a_bound() {
    let folder = fitted();
    let fit = ["fit", "cohort.csv", "--targets=cost", "--ignore=id", "-on.json"];
    let evaluate = ["evaluate", "cohort.csv", "--targets=cost", "--ignore=id"];
    let report = ["report", "model.json", "cohort.csv", "-on.html", "--check=off"];
    for (arguments, why) in [
        (&["inspect", "/dev/zero"][..], "the JSON is not an object"),
        (&["verify", "/dev/zero"][..], "the JSON is not an object"),
        (&["predict", "/dev/zero", "cohort.csv"][..], "the JSON is not an object"),
        (&[&fit[..], &["--config=/dev/zero"]].concat()[..], "more than 1 MiB, which no such file has; name another"),
        (&[&evaluate[..], &["--fold-file=/dev/zero"]].concat()[..], "more than 256 MiB"),
        (&[&report[..], &["--labels=/dev/zero"]].concat()[..], "more than 64 MiB"),
        (&[&fit[..], &["--preset=cosines", "--checkpoint=/dev/zero"]].concat()[..], "no file that can be replaced"),
    ] {
        folder.fails(arguments, &[why]);
    }
}

#[test]
fn a_folder_that_does_not_exist_is_told_before_the_fit() {
    let folder = Folder::new();
    folder.put("cohort.csv", cohort());
    let start = Instant::now();
    let hours = ["--features=1500", "--max-iterations=100000000", "--tolerance=1e-300"];
    let fit = ["fit", "cohort.csv", "--targets=cost", "--ignore=id", "-ono/model.json"];
    folder.fails(&[&fit[..], &hours].concat(), &["no/model.json"]);
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// Quadratic in the columns, either would take minutes.
#[test]
fn many_columns_take_time_in_proportion_or_are_refused() {
    let folder = Folder::new();
    let table = |columns: usize| {
        let names: Vec<String> = (0..columns).map(|d| format!("c{d}")).collect();
        let row = |n: usize| (0..columns).map(|d| format!("{}", (n * 7 + d * 13) % 31)).collect::<Vec<_>>().join(",");
        format!("{}\n{}\n", names.join(","), (0..6).map(row).collect::<Vec<_>>().join("\n"))
    };
    let start = Instant::now();
    folder.put("wide.csv", table(40_000)).put("wider.csv", table(250_000));
    folder.done(&["fit", "wide.csv", "--targets=c0", "--check=off", "-om.json"]);
    folder.done(&["inspect", "m.json"]);
    folder.done(&["predict", "m.json", "wider.csv", "-op.csv"]);
    folder.fails(&["fit", "wider.csv", "--targets=c0,c1", "-on.json"], &["249998 input columns", "200000", "ignore"]);
    folder.done(&["fit", "wider.csv", "--targets=c0,c1", "--ignore=c1*,c2*,c3*,c4*,c5*", "--check=off", "-on.json"]);
    folder.put("other.csv", table(40_000).replace('c', "e"));
    let ran = folder.fails(&["predict", "m.json", "other.csv"], &["39999 input columns", "and 39989 more"]);
    assert!(ran.err.len() < 2000, "{}", ran.err.len());
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
    let start = Instant::now();
    folder.put("wide.csv", table(10_000));
    folder.done(&["fit", "wide.csv", "--targets=c0", "--check=off", "-ow.json"]);
    folder.done(&["report", "w.json", "wide.csv", "--check=off", "-or.html"]);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
