//! Tables to learn from.

use crate::errors::column;
use rffblr::data::{EncodeError, Encoder, MissingInputs, NoteKind, RoleChoice, Roles, TrainingTable, Weights};
use rffblr::table::{Column, Table, Values};
use rffblr::{Error, Settings, fit};

const ROWS: usize = 12;

fn wave(n: usize, d: usize) -> f64 {
    ((n * (2 * d + 3)) as f64 * 0.7).sin()
}

/// Text of which one level stands in the last row alone, a number with gaps, a target unknown in row 2, and weights of
/// which that of row 3 is zero.
fn columns() -> Vec<Column> {
    let codes = (0..ROWS as u32).map(|n| if n == 11 { 2 } else { n % 2 }).collect();
    let levels = ["red", "green", "blue"].map(String::from).to_vec();
    let numbers = |value: &dyn Fn(usize) -> f64| (0..ROWS).map(value).collect::<Vec<f64>>();
    vec![
        Column { name: "colour".into(), values: Values::Text { levels, codes } },
        column("age", &numbers(&|n| if n == 5 { f64::NAN } else { wave(n, 1) })),
        column("y", &numbers(&|n| if n == 2 { f64::NAN } else { wave(n, 2) })),
        column("w", &numbers(&|n| [1.0, 2.0, 0.5, 0.0][n % 4])),
    ]
}

fn table(columns: Vec<Column>) -> Table {
    Table::new(columns).unwrap()
}

fn by_column() -> Roles {
    Roles { weight: Some(Weights::Repeats("w".into())), ..Roles::of_targets(["y"]) }
}

fn training() -> TrainingTable {
    TrainingTable::new(table(columns()), by_column(), MissingInputs::Impute).unwrap()
}

#[test]
fn a_table_is_learned_from_as_stage_by_stage() {
    let (training, table) = (training(), table(columns()));
    let (rows, _) = by_column().observed_rows(&table).unwrap();
    let (encoder, _) = Encoder::learn(&table, &rows, &by_column(), MissingInputs::Impute).unwrap();
    let (data, _) = encoder.dataset(&table, &rows).unwrap();
    assert_eq!(training.rows(), [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!((training.encoder(), training.dataset().fingerprint()), (&encoder, data.fingerprint()));
    let kinds: Vec<NoteKind> = training.notes().iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::NoTarget, NoteKind::Filled, NoteKind::Levels]);
    let model = fit(&data, &Settings::DEFAULT).unwrap().with_encoder(encoder).unwrap();
    assert_eq!(training.fit(&Settings::DEFAULT).unwrap().to_json().unwrap(), model.to_json().unwrap());
    // Whoever writes roles by hand is checked too.
    for (roles, says) in [
        (Roles::of_targets(["z"]), "no column 'z' to use as a target"),
        (Roles::of_targets(["y", "y"]), "'y' is named twice as a target"),
        (Roles { group: Some("y".into()), ..Roles::of_targets(["y"]) }, "as a target and as the group"),
        (Roles::default(), "no target was named"),
    ] {
        let error = TrainingTable::new(table.clone(), roles, MissingInputs::Impute).unwrap_err();
        assert!(matches!(&error, Error::Encode(_)) && error.to_string().contains(says), "{error}");
    }
    let last = RoleChoice::parse(&["last:1".into()], &["w".into()], None).unwrap();
    assert_eq!(TrainingTable::new(table, last, MissingInputs::Impute).unwrap().roles().targets, ["y"]);
}

#[test]
fn a_part_knows_nothing_of_the_other_rows() {
    let training = training();
    let (encoder, data) = training.part(&[0, 1, 3, 4]).unwrap();
    // Neither the level nor the gap that stand elsewhere.
    assert_eq!(encoder.encoded_names(), ["colour=red", "colour=green", "colour?", "age"]);
    assert_eq!(data.rows(), 4);
    let (inputs, targets) = training.held_out(&encoder, &[2, 5, 7, 11]).unwrap();
    // The level of row 11 is unknown, the gap of row 5 takes the median of rows 0, 1, 3 and 4.
    assert_eq!((inputs[(3, 2)], inputs[(3, 0)], inputs[(3, 1)]), (1.0, 0.0, 0.0));
    let mut ages = [0, 1, 3, 4].map(|n| wave(n, 1));
    ages.sort_by(f64::total_cmp);
    assert_eq!(inputs[(1, 3)], 0.5 * ages[1] + 0.5 * ages[2]);
    // Unknown, known, of weight zero, of weight zero.
    assert_eq!([0, 1, 2, 3].map(|i| targets[(i, 0)].is_nan()), [true, false, true, true]);
}

#[test]
fn weights_given_apart_are_those_of_a_column() {
    let mut columns = columns();
    let weights = match columns.pop().unwrap().values {
        Values::Numeric(weights) => weights,
        Values::Text { .. } => unreachable!(),
    };
    let roles = || Roles::of_targets(["y"]);
    let weighted = |weights| {
        TrainingTable::weighted(table(columns.clone()), roles(), MissingInputs::Impute, Some(Weights::Repeats(weights)))
    };
    let (apart, column) = (weighted(weights.clone()).unwrap(), training());
    assert_eq!(apart.dataset().fingerprint(), column.dataset().fingerprint());
    let parts = [&apart, &column].map(|training| training.part(&[0, 1, 3, 4]).unwrap());
    assert_eq!(parts[0].1.fingerprint(), parts[1].1.fingerprint());
    let held_out = [&apart, &column].map(|training| training.held_out(&parts[0].0, &[6, 7]).unwrap().1);
    assert!(held_out.iter().all(|targets| !targets[(0, 0)].is_nan() && targets[(1, 0)].is_nan()));
    assert!(matches!(weighted(weights[1..].to_vec()), Err(Error::Shape { found: 11, expected: 12, .. })));
}

#[test]
fn a_table_read_again_is_encoded_as_it_was() {
    let before = training();
    let mut more = columns();
    more.push(column("new", &[1.0, f64::NAN, 3.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]));
    let again = TrainingTable::again(table(more), by_column(), before.encoder().clone()).unwrap();
    assert_eq!(again.dataset().fingerprint(), before.dataset().fingerprint());
    // Refits have the inputs of the model, not the column that it never had.
    assert_eq!(again.part(&[0, 1, 3, 4]).unwrap().0.input_columns(), ["colour", "age"]);
    let without = columns().into_iter().filter(|column| column.name != "age").collect();
    let lacking = TrainingTable::again(table(without), by_column(), before.encoder().clone());
    assert!(matches!(lacking, Err(Error::Encode(EncodeError::MissingColumns(_)))));
}
