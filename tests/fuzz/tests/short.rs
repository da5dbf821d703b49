//! Every seed, every past finding, and a few seconds of each target.

use rffblr_fuzz::{TARGETS, runner};
use std::time::Duration;

#[test]
fn no_input_panics_hangs_or_takes_much_memory() {
    runner::prepare();
    // The same inputs in every run, as far as the machine is as fast.
    let seconds = std::env::var("RFFBLR_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(30.0);
    let each = Duration::from_secs_f64(seconds / TARGETS.len() as f64);
    let mut found = Vec::new();
    for target in &TARGETS {
        let outcome = runner::run(target.name, each, 20_261_118);
        println!("{}: {} executions", target.name, outcome.executions);
        found.extend(outcome.findings);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
