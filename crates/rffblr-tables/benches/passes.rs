//! What a fit to files costs beside the model: `cargo bench -p rffblr-tables -- 'data/*.parquet' y1,y2` prints seconds and
//! processor seconds of a pass that only reads, of the first pass (types, summary, sample) and of one that makes numbers.
//!
//! Threads: `RAYON_NUM_THREADS`, as everywhere.

use rffblr::Settings;
use rffblr::data::{Encoder, MissingInputs, RoleChoice, Roles};
use rffblr::drawn::{BLOCK, sample_rows};
use rffblr_tables::Parts;
use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::time::Instant;

/// Seconds of this process on all its threads so far; none where the system does not say.
fn processor_seconds() -> Option<f64> {
    const TICKS: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    // Time in the program and in the system are fields 14 and 15, counted from 1; the first two are cut off.
    Some((fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?) / TICKS)
}

fn timed<T>(what: &str, work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<T, Box<dyn Error>> {
    let (start, before) = (Instant::now(), processor_seconds());
    let made = work()?;
    let used = processor_seconds().zip(before).map_or(f64::NAN, |(after, before)| after - before);
    println!("{what:40} {:8.2} s, processor {used:8.2} s", start.elapsed().as_secs_f64());
    Ok(made)
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds an argument of its own.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(path), Some(targets)) = (arguments.next(), arguments.next()) else {
        println!("give a file, a folder or a pattern, and the targets: 'data/*.parquet' y1,y2");
        return Ok(());
    };
    let targets = targets.split(',').map(String::from).collect();
    let choice = RoleChoice::from(Roles { targets, ..Roles::default() });
    let parts = Parts::open(&[path.into()], &choice.read_options())?;
    println!("{} bytes, {} threads", parts.bytes(), rayon::current_num_threads());
    let (types, summary) = timed("first pass: types, summary, sample", || {
        Ok(parts.summarise(sample_rows(&Settings::DEFAULT), 0, |_| ControlFlow::Continue(()))?)
    })?;
    let rows = timed("a pass that reads", || {
        let mut rows = 0;
        for block in parts.blocks(&types, BLOCK) {
            rows += block?.table.rows();
        }
        Ok(rows)
    })?;
    let roles = choice.resolve(&summary.sample().0)?;
    let (encoder, _) =
        timed("what the columns become", || Ok(Encoder::learn_summary(&summary, &roles, MissingInputs::Impute)?))?;
    let cells = timed("a pass that makes numbers", || {
        let mut cells = 0;
        for block in parts.blocks(&types, BLOCK) {
            let table = block?.table;
            let rows: Vec<usize> = (0..table.rows()).collect();
            let (inputs, targets) = encoder.test_rows(&table, &rows)?;
            cells += inputs.nrows() * (inputs.ncols() + targets.ncols());
        }
        Ok(cells)
    })?;
    println!("{rows} rows, {cells} numbers");
    Ok(())
}
