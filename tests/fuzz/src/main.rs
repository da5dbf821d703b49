//! `tests/fuzz/run SECONDS [TARGET]`: each target for its share of the time; what came of it is added to a table.

use rffblr_fuzz::{TARGETS, runner};
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(seconds) = arguments.first().and_then(|text| text.parse::<f64>().ok()).filter(|s| *s >= 0.0) else {
        eprintln!("usage: run SECONDS [TARGET]");
        std::process::exit(2)
    };
    let chosen = |name: &str| arguments.get(1).is_none_or(|wanted| wanted == name);
    let targets: Vec<&str> = TARGETS.iter().map(|target| target.name).filter(|name| chosen(name)).collect();
    runner::prepare();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let each = seconds / targets.len().max(1) as f64;
    let mut found = 0;
    for name in targets {
        let outcome = runner::run(name, Duration::from_secs_f64(each), now.as_nanos() as u64);
        outcome.findings.iter().for_each(|finding| eprintln!("{finding}"));
        println!("{name}: {} executions, {} findings", outcome.executions, outcome.findings.len());
        let when = rffblr::table::date_text(now.as_secs() as f64);
        let line = format!("{when},{name},{each:.0},{},{}\n", outcome.executions, outcome.findings.len());
        if let Err(problem) = add(&line) {
            eprintln!("the table of runs cannot be added to: {problem}");
        }
        found += outcome.findings.len();
    }
    std::process::exit(i32::from(found > 0))
}

/// Adds a line to the table of runs.
fn add(line: &str) -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/faults/fuzz.csv");
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if file.metadata()?.len() == 0 {
        file.write_all(b"when,target,seconds,executions,findings\n")?;
    }
    file.write_all(line.as_bytes())
}
