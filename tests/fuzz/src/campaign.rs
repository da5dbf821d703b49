//! Fuzzing on every core: each target is run by as many processes as there are cores, with seeds of their own. A process that
//! ends before its time (by a signal, a hang or too much memory) is a finding, and the others go on.

use crate::runner::{self, Record};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest time between two lines of the table of runs for a target: what is lost if the machine stops.
const ROUND: Duration = Duration::from_secs(300);
/// The first line of the table.
const HEAD: &str = "when,target,seconds,executions,findings,processes,seed,version\n";

/// What is run, and where it is written down.
pub struct Campaign {
    /// Names of targets.
    pub targets: Vec<&'static str>,
    /// Time for all of them together.
    pub time: Duration,
    /// The first process of a target has this seed, the next ones those that follow.
    pub seed: u64,
    /// How many run at once.
    pub processes: usize,
    /// The table of runs, to which lines are added.
    pub table: PathBuf,
    /// Makes the command of a process, to which its arguments are added.
    pub command: fn() -> Command,
}

/// What became of one process.
struct Share {
    executions: u64,
    findings: u64,
}

impl Campaign {
    /// Runs the targets one after the other, in rounds, and gives back the number of findings.
    pub fn run(&self) -> io::Result<u64> {
        let targets = u32::try_from(self.targets.len().max(1)).unwrap_or(u32::MAX);
        let whole = ROUND * targets;
        let (mut left, mut seed, mut found) = (self.time, self.seed, 0);
        loop {
            let each = left.min(whole) / targets;
            for target in &self.targets {
                found += self.target(target, each, seed)?;
            }
            left = left.saturating_sub(whole);
            if left.is_zero() {
                return Ok(found);
            }
            seed = seed.wrapping_add(self.processes as u64);
        }
    }

    /// One target on all cores; the line that says what came of it is there when this ends.
    fn target(&self, name: &str, time: Duration, seed: u64) -> io::Result<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let shares: Vec<Share> = std::thread::scope(|scope| {
            let start = |n| scope.spawn(move || self.share(name, time, seed.wrapping_add(n)));
            let running: Vec<_> = (0..self.processes as u64).map(start).collect();
            let ended = running.into_iter().map(|thread| thread.join().expect("a thread that only waits"));
            ended.collect::<io::Result<_>>()
        })?;
        let executions: u64 = shares.iter().map(|share| share.executions).sum();
        let findings: u64 = shares.iter().map(|share| share.findings).sum();
        let (when, seconds) = (rffblr::table::date_text(now.as_secs() as f64), time.as_secs_f64());
        let (processes, version) = (self.processes, rffblr_methods::VERSION);
        println!("{name}: {executions} executions, {findings} findings");
        add(
            &self.table,
            &format!("{when},{name},{seconds:.0},{executions},{findings},{processes},{seed},{version}\n"),
        )?;
        Ok(findings)
    }

    /// One process, from its start to its end.
    fn share(&self, name: &str, time: Duration, seed: u64) -> io::Result<Share> {
        let record = tempfile::NamedTempFile::new_in(runner::in_memory())?;
        let mut command = (self.command)();
        command.args(["--share", name, &time.as_secs_f64().to_string(), &seed.to_string()]).arg(record.path());
        // It ends when its input does, so that it does not outlive this process.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let mut out = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut out)?;
        }
        let status = child.wait()?;
        drop(input);
        let numbers: Vec<u64> = out.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        if let ([executions, findings], true) = (numbers.as_slice(), status.success()) {
            return Ok(Share { executions: *executions, findings: *findings });
        }
        // Whatever ended it, the input that did so is written down.
        let Some(Record { executions, input }) = Record::read(record.path())? else {
            return Err(io::Error::other(format!("a process for {name} ended with {status} before its first input")));
        };
        let path = runner::keep(name, &input);
        eprintln!("{name}: an input ends the process with {status} (seed {seed}): {}", path.display());
        Ok(Share { executions, findings: 1 })
    }
}

/// Adds a line to the table of runs, which other processes may do at the same time.
fn add(path: &Path, line: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(path)?;
    file.lock()?;
    let head = if file.metadata()?.len() == 0 { HEAD } else { "" };
    file.write_all(format!("{head}{line}").as_bytes())?;
    file.sync_all()
}
