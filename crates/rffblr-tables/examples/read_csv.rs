//! Reads a table and prints its size, the sum of its numbers and the seconds it took.
//!
//! `benches/read_csv.py` runs it against pandas.

use std::path::Path;
use std::time::Instant;

use rffblr_tables::{ReadOptions, Values, read};

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let start = Instant::now();
    let table = match read(Path::new(&path), &ReadOptions::default()) {
        Ok(table) => table,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut sum = 0.0;
    for column in table.columns() {
        if let Values::Numeric(numbers) = &column.values {
            sum += numbers.iter().filter(|x| !x.is_nan()).sum::<f64>();
        }
    }
    println!("{} {} {sum:?} {seconds:.3}", table.rows(), table.columns().len());
}
