//! A runner for the stable toolchain: inputs are changed at random, beginning with the seeds; one that goes another way than
//! those before, by what the target says of it, is kept and changed further.

use crate::{TARGETS, Target, memory};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Longest input, longest time and most memory of one execution.
const LONGEST: usize = 1 << 16;
const HANGING: Duration = Duration::from_secs(20);
/// How often a thread looks what is running.
const LOOK: Duration = Duration::from_millis(500);
const MOST_MEMORY: usize = 512 << 20;
/// Most inputs that are kept to be changed.
const MOST_KEPT: usize = 2000;

/// What is running: the name of the target, its input and how often it was seen there.
static RUNNING: Mutex<Option<(&'static str, Vec<u8>, u128)>> = Mutex::new(None);
/// Where every input is written before it is tried, if something watches this process.
static RECORD: OnceLock<File> = OnceLock::new();
/// Where the last panic was, and what it said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// How a run ended.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many inputs were tried.
    pub executions: u64,
    /// What was found, in words; the inputs are in the folder of findings.
    pub findings: Vec<String>,
}

/// The folder with seeds and findings of all targets.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// A folder in memory, where there is such a one, or else that of temporary files.
pub fn in_memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// What a process was about to do when it ended.
pub struct Record {
    /// How many inputs it had tried, this one among them.
    pub executions: u64,
    /// What it tried.
    pub input: Vec<u8>,
}

impl Record {
    /// The numbers of executions and of bytes, then the input.
    fn write(mut file: &File, executions: u64, input: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(16 + input.len());
        bytes.extend(executions.to_le_bytes());
        bytes.extend((input.len() as u64).to_le_bytes());
        bytes.extend(input);
        file.seek(SeekFrom::Start(0))?;
        // What is left of a longer one is not read.
        file.write_all(&bytes)
    }

    /// What the file of a process says; `None` if it came to no input.
    pub fn read(path: &Path) -> io::Result<Option<Record>> {
        let mut bytes = Vec::new();
        File::open(path)?.read_to_end(&mut bytes)?;
        let number = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let (Some(executions), Some(length)) = (number(0), number(8)) else { return Ok(None) };
        let input = bytes[16..].iter().copied().take(length as usize).collect();
        Ok(Some(Record { executions, input }))
    }
}

/// Every input is written into this file from now on, before it is tried.
pub fn record_in(path: &Path) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    RECORD.set(file).map_err(|_| io::Error::other("there is one already"))
}

/// Ends the process when whoever writes its standard input has ended.
pub fn end_with_input() {
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(1)
    });
}

/// Prepares the process: panics are kept quiet, and a thread watches for hangs.
pub fn prepare() {
    set_hook(Box::new(|info| {
        if let Ok(mut panic) = PANIC.lock() {
            *panic = info.to_string();
        }
    }));
    // One at a time: what is counted then belongs to one input.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(LOOK);
            // Looks are counted, not seconds: a process that was stopped for a while does not hang.
            let hangs = RUNNING.lock().is_ok_and(|mut running| {
                running.as_mut().is_some_and(|(_, _, seen)| {
                    *seen += 1;
                    *seen * LOOK.as_millis() > HANGING.as_millis()
                })
            });
            if hangs {
                end("hangs");
            }
        }
    });
}

/// Ends the process with what is running as a finding: for what cannot be caught.
pub fn end(problem: &str) -> ! {
    // Whoever holds it is not going to let go of it if this is the same thread.
    if let Ok(running) = RUNNING.try_lock()
        && let Some((name, input, _)) = running.as_ref()
    {
        let path = keep(name, input);
        eprintln!("{name}: an input {problem}: {}", path.display());
    }
    std::process::exit(1)
}

/// Writes an input into the folder of findings.
pub fn keep(target: &str, input: &[u8]) -> PathBuf {
    let hash = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    let folder = folder().join("findings").join(target);
    let path = folder.join(format!("{hash:016x}"));
    let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, input));
    path
}

/// Seeds and past findings of a target.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let mut inputs = (target.seeds)();
    for kind in ["seeds", "findings"] {
        let Ok(entries) = std::fs::read_dir(folder().join(kind).join(target.name)) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        inputs.extend(paths.iter().filter_map(|path| std::fs::read(path).ok()));
    }
    inputs
}

/// Runs the target of a name for some time; every seed and past finding first, whatever time that takes.
pub fn run(name: &'static str, time: Duration, seed: u64) -> Outcome {
    // In the pool of threads, so that nothing is handed over to it.
    rayon::scope(|_| run_here(name, time, seed))
}

fn run_here(name: &'static str, time: Duration, seed: u64) -> Outcome {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of this name");
    let (mut outcome, mut met, mut places) = (Outcome::default(), HashSet::new(), HashSet::new());
    let mut kept = corpus(target);
    assert!(!kept.is_empty(), "{name} has no seeds");
    let mut random = Random(seed.wrapping_add(name.bytes().map(u64::from).sum()));
    let (seeds, start) = (kept.len(), Instant::now());
    while outcome.executions < seeds as u64 || start.elapsed() < time {
        let fresh = kept.get(outcome.executions as usize).filter(|_| outcome.executions < seeds as u64).cloned();
        let is_seed = fresh.is_some();
        let input = fresh.unwrap_or_else(|| random.changed(&kept, target.words));
        outcome.executions += 1;
        if let Some(file) = RECORD.get() {
            Record::write(file, outcome.executions, &input).expect("the input can be written down");
        }
        match tried(target, &input) {
            Ok(way) => {
                if met.insert(way) && !is_seed && kept.len() < MOST_KEPT {
                    kept.push(input);
                }
            }
            Err(problem) => {
                // One for each place is enough.
                let place: String = problem.lines().take(1).collect();
                if places.insert(place) {
                    let path = keep(name, &input);
                    outcome.findings.push(format!("{name}: {problem}: {}", path.display()));
                }
            }
        }
    }
    outcome
}

/// What the target says of an input, or what is wrong with that.
fn tried(target: &Target, input: &[u8]) -> Result<String, String> {
    if let Ok(mut running) = RUNNING.lock() {
        *running = Some((target.name, input.to_vec(), 0));
    }
    let (result, bytes) = memory::most_during(|| catch_unwind(AssertUnwindSafe(|| (target.run)(input))));
    if let Ok(mut running) = RUNNING.lock() {
        *running = None;
    }
    match result {
        Err(_) => Err(PANIC.lock().map(|panic| panic.clone()).unwrap_or_default()),
        Ok(_) if bytes > MOST_MEMORY => Err(format!("takes {} MB", bytes >> 20)),
        Ok(way) => Ok(way),
    }
}

/// Random numbers by SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a limit; zero if that is zero.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// A part of a list of this length, mostly a short one.
    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.below(4) > 0 { 16 } else { length };
        start..(start + self.below(most + 1)).min(length)
    }

    /// One of the inputs, changed in some places.
    fn changed(&mut self, kept: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
        const NUMBERS: [u64; 12] =
            [0, 1, 127, 128, 255, 256, 32_767, 65_535, 0x7fff_ffff, 0xffff_ffff, u64::MAX / 2, u64::MAX];
        let mut bytes = kept[self.below(kept.len())].clone();
        for _ in 0..1 << self.below(4) {
            let (at, length) = (self.below(bytes.len()), bytes.len());
            match self.below(11) {
                0 if at < length => bytes[at] ^= 1 << self.below(8),
                1 if at < length => bytes[at] = self.next() as u8,
                2 if at < length => bytes[at] = bytes[at].wrapping_add((self.below(71) as u8).wrapping_sub(35)),
                // A number of 1 to 8 bytes.
                3 => {
                    let number = NUMBERS[self.below(NUMBERS.len())].to_le_bytes();
                    let width = (1 << self.below(4)).min(length - at.min(length));
                    bytes[at..at + width].copy_from_slice(&number[..width]);
                }
                4 => bytes.truncate(at),
                5 => {
                    let part = self.part(length);
                    bytes.drain(part);
                }
                6 => {
                    let part = bytes[self.part(length)].to_vec();
                    bytes.splice(at..at, part);
                }
                // A part of another one.
                7 => {
                    let other = &kept[self.below(kept.len())];
                    let part = other[self.part(other.len())].to_vec();
                    let end = (at + self.below(part.len() + 1)).min(length);
                    bytes.splice(at..end, part);
                }
                8 if at < length => {
                    // The same digit or letter many times.
                    let byte = bytes[at];
                    let times = 1 << self.below(9);
                    bytes.splice(at..at, std::iter::repeat_n(byte, times));
                }
                _ if !words.is_empty() => {
                    let word = words[self.below(words.len())].bytes();
                    let end = if self.below(2) == 0 { at } else { (at + word.len()).min(length) };
                    bytes.splice(at..end, word);
                }
                _ => bytes.insert(at, self.0 as u8),
            }
        }
        bytes.truncate(LONGEST);
        bytes
    }
}
