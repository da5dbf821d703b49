//! Writing CSV and Parquet, and reading back what was written.

use std::io;

use crate::common::read_as;
use proptest::prelude::*;
use rffblr_tables::{Column, MISSING, ReadOptions, Table, TableError, Values, Writer, write_csv, write_parquet};

fn numeric(name: &str, numbers: &[f64]) -> Column {
    Column { name: name.into(), values: Values::Numeric(numbers.to_vec()) }
}

fn text(name: &str, levels: &[&str], codes: &[u32]) -> Column {
    Column {
        name: name.into(),
        values: Values::Text { levels: levels.iter().map(|level| level.to_string()).collect(), codes: codes.to_vec() },
    }
}

fn csv_of(table: &Table) -> String {
    let mut out = Vec::new();
    write_csv(table, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn parquet_of(table: &Table) -> Vec<u8> {
    let mut out = Vec::new();
    write_parquet(table, &mut out).unwrap();
    out
}

/// Equal tables, where NaN equals NaN and numbers are compared by their bits.
fn same_table(a: &Table, b: &Table) -> bool {
    let bits = |column: &Column| match &column.values {
        Values::Numeric(numbers) => {
            let bits = numbers.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() });
            Some(bits.collect::<Vec<u64>>())
        }
        Values::Text { .. } => None,
    };
    a.columns().len() == b.columns().len()
        && a.columns()
            .iter()
            .zip(b.columns())
            .all(|(x, y)| x.name == y.name && bits(x) == bits(y) && (bits(x).is_some() || x.values == y.values))
}

#[test]
fn csv_by_hand() {
    let table = Table::new(vec![
        numeric("x", &[1.0, 0.1, f64::NAN, -1e300, 1e-7, 123456789.0]),
        text("a,b", &["plain", "say \"hi\"", "two\nlines", " blank", ""], &[0, 1, 2, 3, 4, MISSING]),
    ])
    .unwrap();
    assert_eq!(
        csv_of(&table),
        "x,\"a,b\"\n1,plain\n0.1,\"say \"\"hi\"\"\"\n,\"two\nlines\"\n-1e300,\" blank\"\n1e-7,\"\"\n123456789,\n"
    );
    // A lone missing cell must not look like a blank line.
    let lone = Table::new(vec![numeric("x", &[1.0, f64::NAN])]).unwrap();
    assert_eq!(csv_of(&lone), "x\n1\n\"\"\n");
}

#[test]
fn tables_must_be_rectangular_and_named() {
    let message = |columns| Table::new(columns).unwrap_err().to_string();
    assert_eq!(
        message(vec![numeric("a", &[1.0]), numeric("b", &[])]),
        "column 'b': 0 rows where the first column has 1"
    );
    assert_eq!(message(vec![text("a", &["x"], &[0, 1])]), "column 'a': code 1 without a level; there are 1");
    assert!(message(vec![numeric("a", &[]), numeric("a", &[])]).contains("both named 'a'"));
    assert!(message(vec![numeric(" ", &[])]).contains("column 1 has no name"));
}

struct Full;

impl io::Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("no space left"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn failures_to_write_are_reported() {
    let table = Table::new(vec![numeric("a", &[1.0])]).unwrap();
    for outcome in [write_csv(&table, Full), write_parquet(&table, Full)] {
        assert_eq!(outcome.unwrap_err().to_string(), "cannot write the table: no space left");
    }
}

/// The same bytes in pieces as at once, with more rows than a Parquet row group has.
#[test]
fn written_in_pieces() {
    let table = |first: u32, end: u32| {
        let numbers: Vec<f64> = (first..end).map(|i| if i % 7 == 0 { f64::NAN } else { f64::from(i) }).collect();
        // Levels in another order in every piece.
        let levels = ["a", "b,c", "d"].map(|level| level);
        let turn = first % 3;
        let turned: Vec<&str> = (0..3).map(|k| levels[((k + turn) % 3) as usize]).collect();
        let codes: Vec<u32> = (first..end).map(|i| if i % 5 == 4 { MISSING } else { (i + 3 - turn) % 3 }).collect();
        Table::new(vec![numeric("n", &numbers), text("t", &turned, &codes)]).unwrap()
    };
    let rows = 300_000;
    let whole = table(0, rows);
    let folder = tempfile::tempdir().unwrap();
    for (name, expected) in [("t.csv", csv_of(&whole).into_bytes()), ("t.parquet", parquet_of(&whole))] {
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path, false).unwrap();
        for first in (0..rows).step_by(70_001) {
            writer.write(&table(first, rows.min(first + 70_001))).unwrap();
            assert!(!path.exists());
        }
        writer.finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == expected, "{name}");
        // What is there stays, unless it may be replaced; what is not finished is never seen.
        let mut writer = Writer::create(&path, false).unwrap();
        writer.write(&table(0, 1)).unwrap();
        assert!(matches!(writer.finish(), Err(TableError::Write { .. })));
        drop(Writer::create(&path, true).unwrap());
        assert!(std::fs::read(&path).unwrap() == expected, "{name}");
        let mut writer = Writer::create(&path, true).unwrap();
        writer.write(&table(0, 1)).unwrap();
        let other = Table::new(vec![numeric("n", &[1.0]), numeric("t", &[1.0])]).unwrap();
        let message = writer.write(&other).unwrap_err().to_string();
        assert_eq!(message, "column 't': not as in the rows that were written before");
        writer.finish().unwrap();
        assert!(same_table(&rffblr_tables::read(&path, &ReadOptions::default()).unwrap(), &small(&table(0, 1))));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Without levels that no row has.
fn small(table: &Table) -> Table {
    read_as("t.parquet", &parquet_of(table), &ReadOptions::default()).unwrap()
}

#[test]
fn more_rows_than_one_parquet_row_group() {
    let rows = 600_000;
    let numbers: Vec<f64> = (0..rows).map(|i| if i % 7 == 0 { f64::NAN } else { i as f64 }).collect();
    let codes: Vec<u32> = (0..rows).map(|i| if i % 5 == 4 { MISSING } else { i % 3 }).collect();
    let table = Table::new(vec![numeric("n", &numbers), text("t", &["a", "b", "c"], &codes)]).unwrap();
    let back = read_as("t.parquet", &parquet_of(&table), &ReadOptions::default()).unwrap();
    assert!(same_table(&table, &back));
}

/// What a spreadsheet would run is a text there; what only looks like a number stays as it is.
#[test]
fn formulas_are_texts() {
    let levels = ["=1+1", "@SUM(A1)", "+a", "-cmd", "-5", "+1e3", "a=b"].map(String::from).to_vec();
    let codes = (0..levels.len() as u32).collect();
    let table = Table::new(vec![Column { name: "t".into(), values: Values::Text { levels, codes } }]).unwrap();
    assert_eq!(csv_of(&table), "t\n'=1+1\n'@SUM(A1)\n'+a\n'-cmd\n-5\n+1e3\na=b\n");
    let names =
        ["=1+1", "@x", "-5", "a=b"].map(|name| Column { name: name.into(), values: Values::Numeric(vec![1.0]) });
    assert_eq!(csv_of(&Table::new(names.into()).unwrap()), "'=1+1,'@x,-5,a=b\n1,1,1,1\n");
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        (-1000i32..1000).prop_map(|i| f64::from(i) / 8.0),
        any::<f64>().prop_filter("finite", |x| !x.is_infinite()),
    ]
}

/// Text that reading does not trim or take for missing, with everything that needs quotes.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::from(",")),
        Just(String::from("\"")),
        Just(String::from("\n")),
        Just(String::from("\r\n")),
        Just(String::from(";")),
        Just(String::from("\t")),
        Just(String::from("\u{feff}")),
        "[a-z0-9 .é漢🙂-]{0,4}",
        "\\PC{0,3}",
    ];
    proptest::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat().trim_ascii().to_owned()).prop_filter(
        "missing",
        |text| {
            let words = ["", ".", "na", "nan", "-nan", "?", "n/a", "null", "none"];
            let formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
            !formula && !words.contains(&text.to_lowercase().as_str())
        },
    )
}

fn any_table() -> impl Strategy<Value = Table> {
    (1usize..5, 1usize..12).prop_flat_map(|(columns, rows)| {
        let numeric = proptest::collection::vec(any_number(), rows).prop_map(Values::Numeric);
        let cell = proptest::option::weighted(0.8, any_text());
        let text = proptest::collection::vec(cell, rows).prop_map(|cells| {
            let (mut levels, mut codes) = (Vec::new(), Vec::new());
            for cell in cells {
                codes.push(match cell {
                    None => MISSING,
                    Some(text) => {
                        let known = levels.iter().position(|level| *level == text);
                        known.unwrap_or_else(|| {
                            levels.push(text);
                            levels.len() - 1
                        }) as u32
                    }
                });
            }
            Values::Text { levels, codes }
        });
        let values = proptest::collection::vec(prop_oneof![numeric, text], columns);
        (proptest::collection::vec(any_text(), columns), values).prop_filter_map("names differ", |(names, values)| {
            let column = |(name, values)| Column { name, values };
            Table::new(names.into_iter().zip(values).map(column).collect()).ok()
        })
    })
}

/// Options that name the types, since a text column may hold only numbers by chance.
fn typed(table: &Table) -> ReadOptions {
    let mut options = ReadOptions { delimiter: Some(b','), ..ReadOptions::default() };
    for column in table.columns() {
        match column.values {
            Values::Numeric(_) => options.numeric_columns.push(column.name.clone()),
            Values::Text { .. } => options.text_columns.push(column.name.clone()),
        }
    }
    options
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_table_survives_csv(table in any_table()) {
        let text = csv_of(&table);
        let back = read_as("t.csv", text.as_bytes(), &typed(&table)).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(same_table(&table, &back), "{text}\n{back:?}");
    }

    #[test]
    fn any_table_survives_parquet(table in any_table()) {
        let back = read_as("t.parquet", &parquet_of(&table), &ReadOptions::default()).unwrap();
        prop_assert!(same_table(&table, &back), "{back:?}");
    }

    #[test]
    fn any_number_survives_csv(bits in any::<u64>()) {
        let number = f64::from_bits(bits);
        prop_assume!(number.is_finite());
        let table = Table::new(vec![numeric("x", &[number])]).unwrap();
        let back = read_as("t.csv", csv_of(&table).as_bytes(), &ReadOptions::default()).unwrap();
        prop_assert!(same_table(&table, &back), "{}", csv_of(&table));
    }

    /// The fast parser against the one of the standard library, on text that is nearly a number.
    #[test]
    fn numbers_agree_with_the_standard_library(text in "[+-]?[0-9.]{0,25}([eE][+-]?[0-9]{0,3})?") {
        let options = ReadOptions { ignored_columns: vec!["b".into()], ..ReadOptions::default() };
        let outcome = read_as("t.csv", format!("a,b\n{text},1\n").as_bytes(), &options);
        match (text.parse::<f64>(), outcome) {
            (Ok(number), Ok(table)) => {
                let expected = Table::new(vec![numeric("a", &[number])]).unwrap();
                prop_assert!(same_table(&table, &expected));
            }
            (Ok(number), Err(TableError::Infinite { .. })) => prop_assert!(number.is_infinite()),
            (Err(_), Ok(table)) => {
                let missing = text.is_empty() || text == ".";
                let is_text = matches!(table.columns()[0].values, Values::Text { .. });
                prop_assert!(missing != is_text);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}
