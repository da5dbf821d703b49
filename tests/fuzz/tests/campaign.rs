//! The runner on several cores.

use rffblr_fuzz::campaign::Campaign;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn campaign(table: &Path, time: Duration, command: fn() -> Command) -> Campaign {
    Campaign { targets: vec!["settings", "folds"], time, seed: 7, processes: 3, table: table.to_owned(), command }
}

fn lines(table: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(table).unwrap();
    text.lines().map(|line| line.split(',').map(String::from).collect()).collect()
}

/// Two runs at the same time: every process counts, and no line of the table is lost or mixed with another.
#[test]
fn every_process_counts_and_every_run_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("fuzz.csv");
    let real = || Command::new(env!("CARGO_BIN_EXE_rffblr-fuzz"));
    std::thread::scope(|scope| {
        let run = || campaign(&table, Duration::from_secs(1), real).run().unwrap();
        let both = [scope.spawn(run), scope.spawn(run)];
        both.into_iter().for_each(|run| assert_eq!(run.join().unwrap(), 0));
    });
    let lines = lines(&table);
    assert_eq!(lines[0].join(","), "when,target,seconds,executions,findings,processes,seed,version");
    assert_eq!(lines.len(), 5, "{lines:?}");
    for target in ["settings", "folds"] {
        let of: Vec<_> = lines.iter().filter(|line| line[1] == target).collect();
        assert_eq!(of.len(), 2);
        for line in of {
            // More than the seeds of three processes.
            assert!(line[3].parse::<u64>().unwrap() > 12, "{line:?}");
            assert_eq!(line[4..7], ["0", "3", "7"].map(String::from));
            assert!(line[7].starts_with(env!("CARGO_PKG_VERSION")), "{line:?}");
        }
    }
}

/// A process that a signal ends is a finding, with the input that it was about to try.
#[test]
#[cfg(unix)]
fn a_process_that_ends_before_its_time_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("fuzz.csv");
    let fails = || {
        // As the runner writes it down: executions, length, input. Only the process with seed 8 fails.
        let script = "test $4 = 8 || { echo 5 0; exit 0; }; \
                      printf '\\011\\0\\0\\0\\0\\0\\0\\0\\026\\0\\0\\0\\0\\0\\0\\0not a finding in truthXX' > \"$5\"; kill -ABRT $$";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]);
        command
    };
    let mut only = campaign(&table, Duration::ZERO, fails);
    only.targets = vec!["settings"];
    // FNV-1a of the input, by which findings are named.
    let input = b"not a finding in truth";
    let hash = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    let kept: PathBuf = rffblr_fuzz::runner::folder().join("findings/settings").join(format!("{hash:016x}"));
    let found = only.run().unwrap();
    let content = std::fs::read(&kept);
    let _ = std::fs::remove_file(&kept);
    let _ = std::fs::remove_dir(kept.parent().unwrap());
    assert_eq!((found, content.unwrap().as_slice()), (1, input.as_slice()));
    assert_eq!(lines(&table)[1][1..7], ["settings", "0", "19", "1", "3", "7"].map(String::from));
}
