//! Helpers shared by the tests of tables.
#![allow(dead_code, reason = "every test file uses its own share")]

use std::path::{Path, PathBuf};

use rffblr_tables::{MISSING, ReadOptions, Table, TableError, Values, read};

/// Writes `content` to a file called `name` and reads it.
pub fn read_as(name: &str, content: &[u8], options: &ReadOptions) -> Result<Table, TableError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    read(&path, options)
}

/// Reads text as CSV, which must succeed.
pub fn csv(text: &str) -> Table {
    read_as("t.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
}

/// Reads text as CSV, which must fail; gives the message without the folder of the file.
pub fn csv_error(text: &str) -> String {
    error(read_as("t.csv", text.as_bytes(), &ReadOptions::default()))
}

/// The message of a failure, without the folder of the file.
pub fn error(outcome: Result<Table, TableError>) -> String {
    let message = outcome.expect_err("should fail").to_string();
    match message.find("t.") {
        Some(at) if message.starts_with('/') => message[at..].to_owned(),
        _ => message,
    }
}

/// The numbers of a column.
pub fn numbers<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    match &table.column(name).expect(name).values {
        Values::Numeric(numbers) => numbers,
        Values::Text { .. } => panic!("{name} is text"),
    }
}

/// The cells of a text column, `None` for a missing one.
pub fn texts<'a>(table: &'a Table, name: &str) -> Vec<Option<&'a str>> {
    match &table.column(name).expect(name).values {
        Values::Numeric(_) => panic!("{name} is numeric"),
        Values::Text { levels, codes } => {
            codes.iter().map(|&code| (code != MISSING).then(|| levels[code as usize].as_str())).collect()
        }
    }
}

/// The levels of a text column.
pub fn levels<'a>(table: &'a Table, name: &str) -> &'a [String] {
    match &table.column(name).expect(name).values {
        Values::Numeric(_) => panic!("{name} is numeric"),
        Values::Text { levels, .. } => levels,
    }
}

/// Equal numbers, where NaN equals NaN.
pub fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y || x.is_nan() && y.is_nan())
}

/// A file beside the tests.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/table/data").join(name)
}
