//! The real binary when the system fails it: calls that fail, kills, too little memory, jumping clocks, company.
//!
//! Each command is run again and again, and the k-th call of a kind fails, for every k until none is left. Whatever fails,
//! what was there before is whole or replaced by what is whole, the error is a sentence, and a run without faults works.
//! `tests/faults/run` does the same at length.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest time of any run, on a busy machine.
const HANGING: Duration = Duration::from_secs(120);

/// The library that makes calls fail; `None` where there is no C compiler, which Rust itself mostly needs.
fn shim() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("fail.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/fail.c");
        let status =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path).args([source, "-ldl"]).status();
        if !status.is_ok_and(|status| status.success()) {
            println!("skipped: there is no C compiler to build {source}");
            return None;
        }
        Some((folder, path))
    });
    built.as_ref().map(|(_, path)| path.as_path())
}

fn table(rows: usize) -> String {
    let mut text = String::from("a,b,kind,y\n");
    for n in 0..rows {
        let (a, b) = ((n as f64 * 0.618).fract() * 4.0, (n as f64 * 0.414).fract() * 4.0);
        text += &format!("{a:.4},{b:.4},{},{:.4}\n", ["p", "q"][n % 2], a.sin() + 0.5 * b);
    }
    text
}

/// A folder with a table, a larger one, a model, and a data set under a name of the catalogue.
struct Bench(TempDir);

impl Bench {
    fn new() -> Bench {
        let bench = Bench(TempDir::new().unwrap());
        fs::create_dir(bench.path("data")).unwrap();
        fs::write(bench.path("t.csv"), table(30)).unwrap();
        fs::write(bench.path("many.csv"), table(200)).unwrap();
        let mut arff = String::from("@relation r\n");
        (0..18).for_each(|d| arff += &format!("@attribute c{d} numeric\n"));
        arff += "@data\n";
        for n in 0..24 {
            let cells: Vec<String> =
                (0..18).map(|d| format!("{:.3}", ((n * (2 * d + 3)) as f64 * 0.7).sin())).collect();
            arff += &format!("{}\n", cells.join(","));
        }
        fs::write(bench.path("data/edm.arff"), arff).unwrap();
        fs::create_dir(bench.path("folds")).unwrap();
        fs::write(bench.path("folds/edm.json"), "[[0,1,2,3,4,5,6,7,8,9,10,11],[12,13,14,15,16,17,18,19,20,21,22,23]]")
            .unwrap();
        let made = bench.run("fit t.csv --targets=y --check=off -omodel.json", &[]);
        assert_eq!(made.code, Some(0), "{}", made.err);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rffblr"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("HOME", self.0.path()).env("XDG_CACHE_HOME", self.path("cache")).env_remove("RFFBLR_DATA");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Ran {
        ended(self.command(line).envs(variables.iter().copied()).spawn().unwrap(), line)
    }

    /// Names of all files, but for those that a kill may leave.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    names.push(entry.path().strip_prefix(self.0.path()).unwrap().display().to_string());
                }
            }
        }
        names.sort();
        names
    }

    fn whole(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    /// Whether a file is all that the command writes. A page and a model that was checked say how long that took: the page
    /// must end as pages do, and the model prove itself.
    fn is_whole(&self, name: &str, reference: &[u8]) -> bool {
        let Some(found) = self.whole(name) else { return false };
        match name.rsplit('.').next() {
            _ if found == reference => true,
            Some("html") => {
                let text = String::from_utf8_lossy(&found);
                text.trim_end().ends_with("</html>") && found.len().abs_diff(reference.len()) < 2000
            }
            Some("json") => self.run(&format!("verify {name}"), &[]).code == Some(0),
            _ => false,
        }
    }

    /// What the command writes if nothing fails.
    fn references(&self, work: &Work) -> Vec<Vec<u8>> {
        let ran = self.run(&work.line, &[]);
        assert_eq!(ran.code, Some(0), "{}: {}", work.line, ran.err);
        work.wholes.iter().map(|name| self.whole(name).unwrap()).collect()
    }

    /// Everything that the command makes is as if it had never run.
    fn forget(&self, work: &Work) {
        work.wholes.iter().chain(work.grows).for_each(|name| drop(fs::remove_file(self.path(name))));
    }
}

struct Ran {
    code: Option<i32>,
    err: String,
}

/// Waits for the end, but not for ever.
fn ended(mut child: Child, line: &str) -> Ran {
    let start = Instant::now();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reading = std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
    let hearing = std::thread::spawn(move || {
        let mut text = Vec::new();
        err.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > HANGING {
            child.kill().unwrap();
            panic!("{line} hangs");
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    reading.join().unwrap().unwrap();
    Ran { code: status.code(), err: hearing.join().unwrap().unwrap() }
}

/// A command, the files that it writes as wholes, and those that it adds to.
struct Work {
    line: String,
    wholes: &'static [&'static str],
    grows: &'static [&'static str],
}

fn works(port: u16) -> Vec<Work> {
    let work = |line: &str, wholes, grows| Work { line: line.to_owned(), wholes, grows };
    vec![
        work("fit t.csv --targets=y --check=off -ofit.json --force", &["fit.json"], &[]),
        work(
            "fit many.csv --targets=y --preset=cosines --features=16 --max-iterations=3 --checkpoint=job -ostream.json --force",
            &["stream.json"],
            &["job"],
        ),
        work("predict model.json t.csv -op.csv --force", &["p.csv"], &[]),
        work("predict model.json t.csv -op.parquet --force", &["p.parquet"], &[]),
        work(
            "evaluate t.csv --targets=y --folds=2 --methods=ridge,mmr --grid=coarse --journal=journal --predictions=e.csv --force",
            &["e.csv"],
            &["journal"],
        ),
        work("report model.json t.csv -or.html --check=off --force", &["r.html"], &[]),
        work("export model.json -oe.onnx --force", &["e.onnx", "e.inputs.json"], &[]),
        work("export model.json -oe.xlsx --force", &["e.xlsx"], &[]),
        work(
            "demo --rows=4 -odemo --force",
            &["demo/train.csv", "demo/test.csv", "demo/predictions.csv", "demo/model.json", "demo/report.html"],
            &[],
        ),
        work(
            "reproduce table2 --data=data --datasets=edm --methods=ridge,mean --fold-dir=folds --jobs=1 --out=out",
            &[],
            &["out/raw.jsonl", "out/summary.md"],
        ),
        work(
            &format!(
                "data fetch sf1 --url=http://127.0.0.1:{port}/sf1.arff --data-dir=fetched --allow-unverified --force"
            ),
            &["fetched/sf1.arff"],
            &[],
        ),
    ]
}

/// A server that answers every request with the same file.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 30000\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&[b'x'; 30_000]);
        }
    });
    port
}

fn expect_sentence(ran: &Ran, line: &str) {
    assert!(!ran.err.contains("panicked"), "{line}: {}", ran.err);
    match ran.code {
        Some(0) => {}
        Some(1 | 3) => assert!(ran.err.contains("error: "), "{line}: {}", ran.err),
        code => panic!("{line} ended with {code:?}: {}", ran.err),
    }
}

#[test]
fn whichever_call_fails_nothing_is_lost_and_the_next_run_works() {
    let Some(shim) = shim() else { return };
    let (bench, port) = (Bench::new(), server());
    let mark = bench.path("mark");
    let (mut runs, mut faults) = (0, [("open", 0), ("write", 0), ("full", 0), ("fsync", 0), ("rename", 0)]);
    for work in works(port) {
        let reference = bench.references(&work);
        let names = bench.names();
        for (kind, count) in faults.iter_mut().map(|(kind, count)| (*kind, count)) {
            for call in 1.. {
                // From nothing, as well as over what is there.
                for name in work.grows.iter().filter(|_| call % 2 == 0) {
                    let _ = fs::remove_file(bench.path(name));
                }
                for name in work.wholes {
                    fs::write(bench.path(name), "old").unwrap();
                }
                let variables = [
                    ("LD_PRELOAD", shim.to_str().unwrap()),
                    ("FAULT_CALL", kind),
                    ("FAULT_AT", &call.to_string()),
                    ("FAULT_MARK", mark.to_str().unwrap()),
                ];
                let ran = bench.run(&work.line, &variables);
                runs += 1;
                let failed = fs::remove_file(&mark).is_ok();
                *count += usize::from(failed);
                let what = format!("{kind} {call} of {}", work.line);
                expect_sentence(&ran, &what);
                for (name, reference) in work.wholes.iter().zip(&reference) {
                    let found = bench.whole(name).unwrap_or_else(|| panic!("{what}: {name} is gone"));
                    let replaced = bench.is_whole(name, reference);
                    assert!(replaced || found == b"old", "{what}: {name} is damaged");
                    assert!(ran.code != Some(0) || replaced, "{what}: it ended well without {name}");
                }
                // What an interrupted job goes on from stays.
                let known = |name: &String| names.contains(name) || work.grows.contains(&name.as_str());
                let more: Vec<String> = bench.names().into_iter().filter(|name| !known(name)).collect();
                assert!(more.is_empty(), "{what} left {more:?}");
                if !failed {
                    assert_eq!(ran.code, Some(0), "{what}: {}", ran.err);
                    break;
                }
            }
            let again = bench.run(&work.line, &[]);
            assert_eq!(again.code, Some(0), "{} after faults of {kind}: {}", work.line, again.err);
            for (name, reference) in work.wholes.iter().zip(&reference) {
                assert!(bench.is_whole(name, reference), "{name} after faults of {kind}");
            }
        }
    }
    // A library that goes past the calls of the C library would make this test say nothing.
    assert!(faults.iter().all(|(_, count)| *count > 0), "{faults:?}");
    println!("{runs} runs with a fault: {faults:?}");
}

#[test]
fn a_kill_at_any_time_loses_nothing() {
    let kills: usize = std::env::var("RFFBLR_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let (bench, port) = (Bench::new(), server());
    let works = works(port);
    let mut prepared = Vec::new();
    for work in &works {
        let start = Instant::now();
        let wholes = bench.references(work);
        prepared.push((start.elapsed(), wholes));
    }
    let mut random = 20_261_118_u64;
    let mut killed = 0;
    for round in 0.. {
        if killed == kills {
            break;
        }
        let (work, (time, references)) = (&works[round % works.len()], &prepared[round % works.len()]);
        for name in work.grows.iter().filter(|_| (round / works.len()).is_multiple_of(3)) {
            let _ = fs::remove_file(bench.path(name));
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let wait = time.mul_f64(1.1 * (random >> 11) as f64 / (1u64 << 53) as f64);
        let mut child = bench.command(&work.line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(wait);
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        for (name, reference) in work.wholes.iter().zip(references) {
            assert!(bench.is_whole(name, reference), "{}: {name} is damaged or gone", work.line);
        }
        let known = |name: &str| name.contains(".rffblr-") && name.ends_with(".part");
        let left: Vec<String> = bench.names().into_iter().filter(|name| known(name)).collect();
        left.iter().for_each(|name| fs::remove_file(bench.path(name)).unwrap());
    }
    for work in &works {
        let again = bench.run(&work.line, &[]);
        assert_eq!(again.code, Some(0), "{} after kills: {}", work.line, again.err);
    }
    println!("{killed} kills");
}

#[test]
fn too_little_memory_is_a_sentence() {
    let bench = Bench::new();
    fs::write(bench.path("large.csv"), table(3000)).unwrap();
    let commands = [
        "fit large.csv --targets=y --check=off -om.json --force",
        "fit many.csv --targets=y --preset=cosines --features=512 --max-iterations=3 -os.json --force",
        "predict model.json large.csv -op.csv --force",
        "report model.json t.csv -or.html --check=off --force",
        "inspect model.json",
    ];
    let mut short = 0;
    for line in commands {
        for kibibytes in [20_000, 60_000, 90_000, 120_000, 150_000, 200_000, 300_000, 500_000] {
            let limited = format!("ulimit -v {kibibytes}; exec \"$0\" --threads=2 {line}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &limited, env!("CARGO_BIN_EXE_rffblr")]).current_dir(bench.0.path());
            shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let ran = ended(shell.spawn().unwrap(), &limited);
            // Below that the system cannot even load the program.
            let unloaded = ran.code.is_none() && ran.err.is_empty();
            if unloaded || ran.code == Some(127) || ran.err.contains("error while loading") {
                continue;
            }
            assert!(!ran.err.contains("panicked"), "{limited}: {}", ran.err);
            assert!(matches!(ran.code, Some(0 | 3)), "{limited} ended with {:?}: {}", ran.code, ran.err);
            assert!(ran.code == Some(0) || ran.err.contains("memory"), "{limited}: {}", ran.err);
            short += usize::from(ran.code == Some(3));
        }
    }
    assert!(short > 0, "no limit was too low for anything");
    println!("{short} runs with too little memory");
}

/// A table that the memory does not hold is refused before it is taken.
#[test]
fn a_file_that_memory_does_not_hold_is_a_sentence() {
    use rffblr_tables::{Column, Table, Values, write_parquet};
    let bench = Bench::new();
    let column = |d: usize| {
        let values = Values::Numeric((0..100_000).map(|n| ((n * (d + 3)) % 997) as f64).collect());
        Column { name: format!("c{d}"), values }
    };
    let table = Table::new((0..40).map(column).collect()).unwrap();
    write_parquet(&table, fs::File::create(bench.path("t.parquet")).unwrap()).unwrap();
    // Sparse rows, each a few bytes for two thousand zeros.
    let attributes: String = (0..2000).map(|d| format!("@attribute c{d} numeric\n")).collect();
    fs::write(bench.path("t.arff"), format!("@relation r\n{attributes}@data\n{}", "{0 1}\n".repeat(20_000))).unwrap();
    for (file, needs) in [
        ("t.parquet", "a table of 100000 rows and 40 columns, needs about"),
        ("t.arff --allow-expansion", "whose rows take more than 67 MB, needs about"),
    ] {
        let refused = (90_000..400_000).step_by(10_000).find_map(|kibibytes| {
            let line = format!("fit {file} --targets=c0 --check=off -om.json");
            let limited = format!("ulimit -v {kibibytes}; exec \"$0\" --threads=1 {line}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &limited, env!("CARGO_BIN_EXE_rffblr")]).current_dir(bench.0.path());
            shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let ran = ended(shell.spawn().unwrap(), &limited);
            ran.err.contains(needs).then_some(ran)
        });
        assert_eq!(refused.unwrap_or_else(|| panic!("no limit was too low for {file}")).code, Some(3));
    }
}

/// The k-th large piece of memory is not to be had.
#[test]
fn whichever_allocation_fails_nothing_is_half_written() {
    let Some(shim) = shim() else { return };
    let bench = Bench::new();
    fs::write(bench.path("large.csv"), table(400)).unwrap();
    let mark = bench.path("mark");
    let mut failures = 0;
    for (line, output) in [
        ("fit large.csv --targets=y --check=off -om.json --force", "m.json"),
        ("fit large.csv --targets=y --preset=cosines --features=400 --max-iterations=3 -os.json --force", "s.json"),
        ("predict m.json large.csv -op.csv --force", "p.csv"),
    ] {
        let work = Work { line: format!("{line} --threads=2"), wholes: &[], grows: &[] };
        bench.references(&work);
        let reference = bench.whole(output).unwrap();
        let mut call = 1;
        loop {
            fs::write(bench.path(output), "old").unwrap();
            let variables = [
                ("LD_PRELOAD", shim.to_str().unwrap()),
                ("FAULT_CALL", "memory"),
                ("FAULT_AT", &call.to_string()),
                ("FAULT_MARK", mark.to_str().unwrap()),
            ];
            let ran = bench.run(&work.line, &variables);
            let failed = fs::remove_file(&mark).is_ok();
            let what = format!("allocation {call} of {line}");
            assert!(!ran.err.contains("panicked"), "{what}: {}", ran.err);
            match ran.code {
                Some(0) => assert!(bench.is_whole(output, &reference), "{what}: {output} is another"),
                Some(3) => assert!(ran.err.contains("error: ") && ran.err.contains("memory"), "{what}: {}", ran.err),
                code => panic!("{what} ended with {code:?}: {}", ran.err),
            }
            // What is said once the file is written may fail too.
            let is_old = bench.whole(output).unwrap() == b"old";
            assert!(is_old || bench.is_whole(output, &reference), "{what}: {output} is damaged");
            failures += usize::from(ran.code == Some(3));
            if !failed {
                assert_eq!(ran.code, Some(0), "{what}: {}", ran.err);
                break;
            }
            // Every one at first, then some of the many.
            call += 1 + call / 8;
        }
        bench.references(&work);
    }
    assert!(failures > 0, "no allocation was large");
    println!("{failures} runs with a failing allocation");
}

/// Times are measured by a clock that does not jump, and the calendar decides nothing.
#[test]
fn a_clock_that_jumps_changes_nothing() {
    let Some(shim) = shim() else { return };
    let (bench, port) = (Bench::new(), server());
    for work in works(port) {
        let references = bench.references(&work);
        bench.forget(&work);
        let ran = bench.run(&work.line, &[("LD_PRELOAD", shim.to_str().unwrap()), ("FAULT_CLOCK", "1")]);
        assert_eq!(ran.code, Some(0), "{}: {}", work.line, ran.err);
        for (name, reference) in work.wholes.iter().zip(&references) {
            assert!(bench.is_whole(name, reference), "{}: {name} is another", work.line);
        }
    }
}

#[test]
fn two_processes_share_a_journal_an_output_and_a_cache() {
    let (bench, port) = (Bench::new(), server());
    for work in works(port) {
        let references = bench.references(&work);
        bench.forget(&work);
        let start = |_| bench.command(&work.line).spawn().unwrap();
        let both: Vec<Child> = (0..2).map(start).collect();
        let both: Vec<Ran> = both.into_iter().map(|child| ended(child, &work.line)).collect();
        both.iter().for_each(|ran| expect_sentence(ran, &work.line));
        assert!(both.iter().any(|ran| ran.code == Some(0)), "{}: {} {}", work.line, both[0].err, both[1].err);
        let again = bench.run(&work.line, &[]);
        assert_eq!(again.code, Some(0), "{}: {}", work.line, again.err);
        for (name, reference) in work.wholes.iter().zip(&references) {
            assert!(bench.is_whole(name, reference), "{}: {name} is another", work.line);
        }
    }
    assert!(!bench.names().iter().any(|name| name.ends_with(".part")));
}
