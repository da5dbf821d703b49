//! `tests/fuzz/run SECONDS [TARGET [SEED]]`: each target for its share of the time, on every core; what came of it is added
//! to a table. With the same seed the processes try the same inputs, as far as they get.

use rffblr_fuzz::campaign::Campaign;
use rffblr_fuzz::{TARGETS, runner};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--share", target, seconds, seed, record] => share(target, seconds, seed, record),
        _ => std::process::exit(campaign(&arguments)),
    }
}

fn usage() -> ! {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    eprintln!("usage: run SECONDS [TARGET [SEED]], where TARGET is one of {}", names.join(", "));
    std::process::exit(2)
}

fn time(seconds: &str) -> Option<Duration> {
    seconds.parse().ok().and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok())
}

/// All of it: the exit code.
fn campaign(arguments: &[String]) -> i32 {
    let Some(time) = arguments.first().and_then(|text| time(text)) else { usage() };
    let chosen = |name: &str| arguments.get(1).is_none_or(|wanted| wanted == name);
    let targets: Vec<&str> = TARGETS.iter().map(|target| target.name).filter(|name| chosen(name)).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = arguments.get(2).map_or(Some(now.as_nanos() as u64), |text| text.parse().ok());
    let (Some(seed), false) = (seed, targets.is_empty()) else { usage() };
    let processes = std::thread::available_parallelism().map_or(1, usize::from);
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/faults/fuzz.csv");
    let command = || Command::new(std::env::current_exe().expect("this program"));
    match (Campaign { targets, time, seed, processes, table, command }).run() {
        Ok(found) => i32::from(found > 0),
        Err(problem) => {
            eprintln!("the run cannot go on: {problem}");
            2
        }
    }
}

/// One process of it: a target, for some time; its numbers of executions and findings are all that it prints.
fn share(target: &str, seconds: &str, seed: &str, record: &str) {
    let target = TARGETS.iter().find(|one| one.name == target);
    let (Some(target), Some(time), Ok(seed)) = (target, time(seconds), seed.parse()) else { usage() };
    runner::prepare();
    runner::record_in(Path::new(record)).expect("the file for inputs");
    runner::end_with_input();
    let outcome = runner::run(target.name, time, seed);
    outcome.findings.iter().for_each(|finding| eprintln!("{finding}"));
    println!("{} {}", outcome.executions, outcome.findings.len());
}
