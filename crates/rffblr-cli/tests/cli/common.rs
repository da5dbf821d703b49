//! A temporary folder, and the real binary running in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder that vanishes with the test.
pub struct Folder(tempfile::TempDir);

/// What a command did.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of the files, sorted.
    pub fn names(&self) -> Vec<String> {
        self.names_in(".")
    }

    /// Names of the files in a folder below, sorted.
    pub fn names_in(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(below)).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The command, ready to run in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rffblr"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        // Nothing of this machine's own data is in reach.
        command.env("HOME", self.0.path()).env("XDG_CACHE_HOME", self.path("cache")).env_remove("RFFBLR_DATA");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// Runs and expects success.
    pub fn done(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        ran
    }

    /// Runs and expects a failure that says each of these, in one paragraph and without a backtrace.
    pub fn fails(&self, arguments: &[&str], says: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 1, "{arguments:?}: {}\n{}", ran.out, ran.err);
        // Notes may come first; the error is the last line.
        let mut lines = ran.err.lines().skip_while(|line| line.starts_with("note: "));
        assert!(lines.next().is_some_and(|line| line.starts_with("error: ")), "{}", ran.err);
        assert!(!ran.err.contains("panicked") && !ran.err.trim_end().contains("\n\n"), "{}", ran.err);
        for word in says {
            assert!(ran.err.contains(word), "{arguments:?} does not say {word:?}: {}", ran.err);
        }
        ran
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Sixty rows: two numbers, a text, a constant and two targets, with a gap in each kind of cell.
pub fn cohort() -> String {
    let mut text = String::from("id,age,dose,colour,site,glucose,cost\n");
    for n in 0..60 {
        let (age, dose) = ((n * 37 % 60) as f64, (n * 11 % 7) as f64 / 2.0);
        let colour = ["red", "green", "blue"][n % 3];
        let glucose = 90.0 + 10.0 * (age / 9.0).sin() + 2.0 * dose;
        let cost = 1000.0 + 12.0 * age + if n % 3 == 0 { 300.0 } else { 0.0 } + 5.0 * (n as f64 * 1.7).sin();
        let age = if n == 7 { String::new() } else { age.to_string() };
        let colour = if n == 9 { "NA" } else { colour };
        let glucose = if n == 11 { String::new() } else { format!("{glucose:.4}") };
        text += &format!("p{n},{age},{dose},{colour},main,{glucose},{cost:.3}\n");
    }
    text
}

/// Drawn cosines of one kernel, of which none is dropped: a form that is quick to fit to few rows.
pub const COSINES: [&str; 8] = [
    "--preset=paper",
    "--links=true",
    "--precision=tied",
    "--pruning=never",
    "--offsets=paired",
    "--directions=orthogonal",
    "--input-scales=learned",
    "--noise=per-task",
];

/// A folder with that table and a small model of it.
pub fn fitted() -> Folder {
    let folder = Folder::new();
    let fit = ["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "--features=60", "--max-iterations=60"];
    folder.put("cohort.csv", cohort()).done(&[&fit[..], &COSINES, &["-o", "model.json"]].concat());
    folder
}

/// A table of numbers as CSV, by column name.
pub fn read_numbers(text: &str) -> Vec<(String, Vec<f64>)> {
    let mut lines = text.lines();
    let header: Vec<String> = lines.next().unwrap().split(',').map(String::from).collect();
    let mut columns: Vec<(String, Vec<f64>)> = header.into_iter().map(|name| (name, Vec::new())).collect();
    for line in lines {
        for (column, cell) in columns.iter_mut().zip(line.split(',')) {
            column.1.push(cell.parse().unwrap());
        }
    }
    columns
}
