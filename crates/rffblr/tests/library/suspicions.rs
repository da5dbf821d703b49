//! Notes on columns that are more than an input, and on data that mislead scores.

use rffblr::data::{Encoder, MissingInputs, Note, NoteKind, Roles};
use rffblr::table::{Column, Table, Values};

fn number(name: &str, values: impl Iterator<Item = f64>) -> Column {
    Column { name: name.into(), values: Values::Numeric(values.collect()) }
}

fn text(name: &str, values: impl Iterator<Item = String>) -> Column {
    let (mut levels, mut codes): (Vec<String>, Vec<u32>) = (Vec::new(), Vec::new());
    for value in values {
        let at = levels.iter().position(|level| *level == value).unwrap_or_else(|| {
            levels.push(value);
            levels.len() - 1
        });
        codes.push(at as u32);
    }
    Column { name: name.into(), values: Values::Text { levels, codes } }
}

/// Numbers that look random, between zero and one.
fn some(n: usize, stream: usize) -> f64 {
    (((n + 1) as f64 * 12.9898 + stream as f64 * 78.233).sin() * 43_758.545).rem_euclid(1.0)
}

/// Notes on a table of which `y` is the target, beside an ordinary input.
fn notes(rows: usize, columns: Vec<Column>) -> Vec<Note> {
    let mut all = vec![number("x", (0..rows).map(|n| some(n, 1)))];
    let has_target = columns.iter().any(|column| column.name == "y");
    all.extend(columns);
    if !has_target {
        all.push(number("y", (0..rows).map(|n| some(n, 2))));
    }
    let table = Table::new(all).unwrap();
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    let (rows, _) = roles.observed_rows(&table).unwrap();
    let (encoder, mut notes) = Encoder::learn(&table, &rows, &roles, MissingInputs::Impute).unwrap();
    notes.extend(encoder.suspicions(&encoder.dataset(&table, &rows).unwrap().0, Some(&rows)));
    notes
}

fn of_kind(notes: &[Note], kind: NoteKind) -> Vec<String> {
    notes.iter().filter(|note| note.kind == kind).flat_map(|note| note.columns.clone()).collect()
}

#[test]
fn texts_that_differ_in_every_row_are_left_out_in_every_part_of_the_rows() {
    let ids = || text("id", (0..30).map(|n| format!("p{n}")));
    let table =
        Table::new(vec![ids(), number("x", (0..30).map(|n| some(n, 1))), number("y", (0..30).map(|n| some(n, 2)))]);
    let (table, roles) = (table.unwrap(), Roles { targets: vec!["y".into()], ..Roles::default() });
    for rows in [(0..30).collect::<Vec<usize>>(), vec![3, 4], (0..30).step_by(3).collect()] {
        let (encoder, notes) = Encoder::learn(&table, &rows, &roles, MissingInputs::Impute).unwrap();
        assert_eq!(encoder.encoded_names(), ["x"]);
        assert_eq!(encoder.input_columns(), ["id", "x"]);
        assert_eq!(of_kind(&notes, NoteKind::Identifier), ["id"]);
    }
    // One name twice, and it is a text like any other.
    let twice = notes(30, vec![text("id", (0..30).map(|n| format!("p{}", n.max(1))))]);
    assert!(of_kind(&twice, NoteKind::Identifier).is_empty() && of_kind(&twice, NoteKind::Levels) == ["id"]);
    // More rows than a category may have levels are not an error.
    assert_eq!(of_kind(&notes(1500, vec![text("id", (0..1500).map(|n| n.to_string()))]), NoteKind::Identifier), ["id"]);
}

#[test]
fn numbers_that_count_rows_are_named() {
    for first in [0, 1] {
        let found = notes(40, vec![number("nr", (0..40).map(|n| (n + first) as f64))]);
        assert_eq!(of_kind(&found, NoteKind::Index), ["nr"]);
    }
    for other in [|n: usize| n as f64 + 2.0, |n| 2.0 * n as f64, |n| if n == 7 { 8.0 } else { n as f64 }] {
        assert!(of_kind(&notes(40, vec![number("nr", (0..40).map(other))]), NoteKind::Index).is_empty());
    }
}

#[test]
fn units_with_several_rows_are_told_from_ordinary_inputs() {
    let units = |rows: usize, column: Column| !of_kind(&notes(rows, vec![column]), NoteKind::Units).is_empty();
    // Fifty chicks of twelve rows, by number; twelve subjects of eleven; thirty plots of four; ten in turn.
    assert!(units(600, number("Chick", (0..600).map(|n| (n / 12 + 1) as f64))));
    assert!(units(132, text("Subject", (0..132).map(|n| format!("s{}", n / 11)))));
    assert!(units(120, text("where", (0..120).map(|n| format!("plot {}", n % 30)))));
    assert!(units(100, number("subject", (0..100).map(|n| (300 + n % 10) as f64))));
    assert!(units(120, number("series", (0..120).map(|n| (n / 6) as f64))));
    // Factors of few levels, ages, counts, doses, numbers with a fraction, texts that are nearly all different.
    assert!(!units(120, text("colour", (0..120).map(|n| format!("c{}", n % 4)))));
    assert!(!units(60, text("treatment", (0..60).map(|n| format!("t{}", n % 6)))));
    assert!(!units(300, number("age", (0..300).map(|n| (20.0 + 60.0 * some(n, 5)).floor()))));
    assert!(!units(300, number("children", (0..300).map(|n| (12.0 * some(n, 5)).floor()))));
    assert!(!units(100, number("dose", (0..100).map(|n| (n / 5) as f64 * 0.5))));
    assert!(!units(100, text("remark", (0..100).map(|n| format!("r{}", n.max(5))))));
}

#[test]
fn times_are_told_by_their_dates_or_by_name_and_order() {
    let times = |rows: usize, column: Column| !of_kind(&notes(rows, vec![column]), NoteKind::Time).is_empty();
    assert!(times(60, text("admitted", (0..60).map(|n| format!("2024-0{}-{:02}", 1 + n % 3, 1 + n % 17)))));
    assert!(times(28, text("at", (0..28).map(|n| format!("2024-02-{:02}T08:30:00", n + 1)))));
    assert!(times(60, number("year", (0..60).map(|n| (1950 + n / 2) as f64))));
    assert!(times(60, number("startDate", (0..60).map(|n| (20_240_500 - n) as f64))));
    assert!(!times(60, number("year", (0..60).map(|n| (1950 + n * 7 % 30) as f64))));
    assert!(!times(60, number("length", (0..60).map(|n| n as f64 * 0.5))));
    assert!(!times(60, number("year", (0..60).map(|n| if n < 30 { 1999.0 } else { 2008.0 }))));
    let told = notes(60, vec![text("day", (0..60).map(|n| format!("2024-01-{:02}", 1 + n % 20)))]);
    let told: Vec<String> = told.iter().map(Note::to_string).collect();
    assert!(told.iter().any(|note| note.contains("'day' looks like a time;")), "{told:?}");
}

#[test]
fn rows_that_repeat_are_counted() {
    let repeating = |targets: fn(usize) -> f64| {
        let table = Table::new(vec![number("a", (0..20).map(|n| (n % 8) as f64)), number("y", (0..20).map(targets))]);
        let (table, roles) = (table.unwrap(), Roles { targets: vec!["y".into()], ..Roles::default() });
        let rows: Vec<usize> = (0..20).collect();
        let (encoder, _) = Encoder::learn(&table, &rows, &roles, MissingInputs::Impute).unwrap();
        let notes = encoder.suspicions(&encoder.dataset(&table, &rows).unwrap().0, Some(&rows));
        notes.iter().find(|note| note.kind == NoteKind::Repeated).unwrap().to_string()
    };
    assert_eq!(repeating(|n| some(n, 2)), "12 of 20 rows have the inputs of an earlier row");
    assert_eq!(repeating(|n| (n % 8) as f64), "12 of 20 rows have the inputs of an earlier row, and its targets");
    let told = repeating(|n| if n < 9 { (n % 8) as f64 } else { some(n, 2) });
    assert_eq!(told, "12 of 20 rows have the inputs of an earlier row, 1 of them its targets too");
    assert!(of_kind(&notes(20, Vec::new()), NoteKind::Repeated).is_empty());
}

#[test]
fn texts_that_make_nearly_as_many_columns_as_rows_are_named() {
    let wide = notes(
        60,
        vec![
            text("colour", (0..60).map(|n| format!("c{}", n % 3))),
            text("code", (0..60).map(|n| format!("k{}", n % 40))),
        ],
    );
    let told = wide.iter().find(|note| note.kind == NoteKind::Wide).unwrap();
    assert_eq!(
        told.to_string(),
        "text makes 44 columns for 60 rows; group or leave out: 'code' (40 levels), 'colour' (3 levels)"
    );
    assert_eq!(told.columns, ["code", "colour"]);
    assert!(wide.iter().all(|note| note.kind != NoteKind::Wide || note.is_warning()));
    // Many numeric columns are not counted as columns of texts.
    let numbers = (0..40).map(|d| number(&format!("v{d}"), (0..60).map(move |n| some(n, 10 + d)))).collect();
    assert!(notes(60, numbers).iter().all(|note| note.kind != NoteKind::Wide));
}

#[test]
fn inputs_that_tell_a_target_are_named_and_good_ones_are_not() {
    let y = |n: usize| 10.0 + 90.0 * some(n, 2);
    let leaks =
        |column: Column| !of_kind(&notes(60, vec![number("y", (0..60).map(y)), column]), NoteKind::Leak).is_empty();
    // In another unit, upside down, its logarithm, rounded, in 25 classes, with a gap.
    assert!(leaks(number("copy", (0..60).map(|n| 2.54 * y(n) - 3.0))));
    assert!(leaks(number("minus", (0..60).map(|n| -y(n)))));
    assert!(leaks(number("log", (0..60).map(|n| y(n).ln()))));
    assert!(leaks(number("steep", (0..60).map(|n| (y(n) / 3.0).exp()))));
    assert!(leaks(number("rounded", (0..60).map(|n| y(n).round()))));
    assert!(leaks(text("class", (0..60).map(|n| format!("from {}", (y(n) / 4.0).floor())))));
    assert!(leaks(number("gaps", (0..60).map(|n| if n % 6 == 0 { f64::NAN } else { y(n) }))));
    // A good input is not a leak, nor is one row that is far out in both, nor a text with a level for every other row.
    assert!(!leaks(number("good", (0..60).map(|n| y(n) + 12.0 * some(n, 9)))));
    assert!(!leaks(text("pairs", (0..60).map(|n| format!("p{}", n / 2)))));
    assert!(!leaks(text("many", (0..60).map(|n| format!("p{}", n.min(52))))));
    let far = |n: usize, stream: usize| if n == 5 { 1e6 } else { some(n, stream) };
    let found = notes(60, vec![number("y", (0..60).map(|n| far(n, 2))), number("z", (0..60).map(|n| far(n, 4)))]);
    assert!(of_kind(&found, NoteKind::Leak).is_empty());
    // A target with gaps is reported as well.
    let gaps = |n: usize| if n.is_multiple_of(3) { f64::NAN } else { y(n) };
    let found = notes(60, vec![number("y", (0..60).map(gaps)), number("log", (0..60).map(|n| y(n).ln()))]);
    let told = found.iter().find(|note| note.kind == NoteKind::Leak).unwrap().to_string();
    assert!(told.starts_with("input 'log' predicts target 'y' (correlation 1.0000): too well"), "{told}");
}

#[test]
fn a_row_that_is_most_of_the_variance_is_named() {
    let target = |far: f64| number("y", (0..60).map(move |n| if n == 17 { far } else { some(n, 2) }));
    let found = notes(60, vec![target(1e4)]);
    assert_eq!(of_kind(&found, NoteKind::OneRow), ["y"]);
    let told = found.iter().find(|note| note.kind == NoteKind::OneRow).unwrap();
    assert_eq!(told.to_string(), "data row 18 is 98 % of the variance of target 'y': its R² says little");
    assert!(told.is_warning());
    for far in [3.0, f64::NAN] {
        assert!(of_kind(&notes(60, vec![target(far)]), NoteKind::OneRow).is_empty());
    }
    // Nothing overflows.
    assert_eq!(of_kind(&notes(60, vec![target(f64::MAX)]), NoteKind::OneRow), ["y"]);
}
