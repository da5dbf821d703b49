//! Tables to numbers: every expectation here is worked out by hand.

use rffblr::data::{EncodeError, Encoder, Encoding, MOST_LEVELS, MissingInputs, Note, RoleChoice, Roles, Weights};
use rffblr::linalg::Mat;
use rffblr::table::{Column, MISSING, Table, Values};
use rffblr::{CosineSettings, FeatureCount, Model, Settings, fit};

const NAN: f64 = f64::NAN;

fn number(name: &str, values: &[f64]) -> Column {
    Column { name: name.into(), values: Values::Numeric(values.to_vec()) }
}

/// An empty text is a missing cell.
fn text(name: &str, values: &[&str]) -> Column {
    let mut levels: Vec<String> = Vec::new();
    let mut code = |value: &&str| {
        if value.is_empty() {
            return MISSING;
        }
        let known = levels.iter().position(|level| level == value);
        known.unwrap_or_else(|| {
            levels.push(value.to_string());
            levels.len() - 1
        }) as u32
    };
    let codes = values.iter().map(&mut code).collect();
    Column { name: name.into(), values: Values::Text { levels, codes } }
}

/// age has a gap, dose none, colour one, site is constant, note is constant where present.
fn table() -> Table {
    Table::new(vec![
        number("age", &[40.0, NAN, 10.0, 30.0, 20.0]),
        number("dose", &[1.0, 2.0, 3.0, 4.0, 5.0]),
        text("colour", &["red", "blue", "", "red", "blue"]),
        text("sex", &["f", "m", "m", "f", "m"]),
        text("site", &["A", "A", "A", "A", "A"]),
        number("note", &[7.0, 7.0, NAN, 7.0, 7.0]),
        number("w", &[1.0, 2.0, 1.0, 0.0, 3.0]),
        number("y", &[0.1, 0.2, NAN, 0.4, 0.5]),
        number("z", &[1.0, 2.0, NAN, 4.0, NAN]),
    ])
    .unwrap()
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn roles(table: &Table) -> Roles {
    RoleChoice::parse(&list(&["y,z"]), &[], Some(Weights::Repeats("w"))).unwrap().resolve(table).unwrap()
}

fn learned() -> (Encoder, Vec<Note>) {
    let table = table();
    Encoder::learn(&table, &[0, 1, 2, 3, 4], &roles(&table), MissingInputs::Impute).unwrap()
}

/// Equal cell by cell, NaN to NaN.
fn assert_cells(found: &Mat<f64>, expected: &[&[f64]]) {
    assert_eq!((found.nrows(), found.ncols()), (expected.len(), expected[0].len()));
    for (i, row) in expected.iter().enumerate() {
        for (j, cell) in row.iter().enumerate() {
            let same = found[(i, j)] == *cell || (found[(i, j)].is_nan() && cell.is_nan());
            assert!(same, "cell {i},{j}: {} instead of {cell}", found[(i, j)]);
        }
    }
}

fn said(notes: &[Note], words: &[&str]) -> bool {
    notes.iter().map(Note::to_string).any(|note| words.iter().all(|word| note.contains(word)))
}

#[test]
fn each_kind_of_column_becomes_what_the_rules_say() {
    let (encoder, notes) = learned();
    let names = ["age", "age?", "dose", "colour=red", "colour=blue", "colour?", "sex=f", "sex=m", "sex?", "note?"];
    assert_eq!(encoder.encoded_names(), names);
    assert_eq!(encoder.origins(), [0, 0, 1, 2, 2, 2, 3, 3, 3, 4]);
    // The median of 10, 20, 30, 40.
    assert_eq!(encoder.raw_inputs()[0].encoding, Encoding::Numeric { median: 25.0, indicator: true });
    assert_eq!(encoder.raw_inputs()[4].encoding, Encoding::Presence);
    assert!(said(&notes, &["'site'", "left out"]), "{notes:?}");
    assert!(said(&notes, &["'age'", "1 missing cell", "25"]), "{notes:?}");

    let (data, _) = encoder.dataset(&table(), &[0, 1, 2, 4]).unwrap();
    assert_cells(
        &data.inputs().to_owned(),
        &[
            &[40.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            &[25.0, 1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            &[10.0, 0.0, 3.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0],
            &[20.0, 0.0, 5.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        ],
    );
    // The two texts.
    assert_eq!(data.one_hot(), [3..6, 6..9]);
    assert_cells(&data.targets().to_owned(), &[&[0.1, 1.0], &[0.2, 2.0], &[NAN, NAN], &[0.5, NAN]]);
    assert_eq!(data.weights(), Some(&[1.0, 2.0, 1.0, 3.0][..]));
}

#[test]
fn only_the_training_rows_count() {
    let table = table();
    let (encoder, _) = Encoder::learn(&table, &[0, 3, 4], &roles(&table), MissingInputs::Impute).unwrap();
    // No gap in these rows: numbers have no indicators, and `note` is constant. The median of 40, 30, 20 is 30.
    let names = ["age", "dose", "colour=red", "colour=blue", "colour?", "sex=f", "sex=m", "sex?"];
    assert_eq!(encoder.encoded_names(), names);
    let (inputs, notes) = encoder.inputs(&table).unwrap();
    assert_eq!(inputs[(1, 0)], 30.0);
    assert_eq!((inputs[(2, 2)], inputs[(2, 3)], inputs[(2, 4)]), (0.0, 0.0, 1.0));
    assert!(said(&notes, &["'age'", "training had none", "data row 2", "30"]), "{notes:?}");
    assert!(said(&notes, &["'colour'", "training had none", "data row 3", "unknown level"]), "{notes:?}");
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn new_levels_are_unknown_and_new_columns_count_for_nothing_and_both_are_reported() {
    let (encoder, _) = learned();
    let new = Table::new(vec![
        number("more", &[1.0, 1.0, 1.0]),
        text("sex", &["m", "f", "m"]),
        text("colour", &["mauve", "red", "mauve"]),
        number("age", &[1.0, NAN, 3.0]),
        number("note", &[7.0, NAN, 8.0]),
        number("dose", &[1.0, 2.0, 3.0]),
    ])
    .unwrap();
    let (inputs, notes) = encoder.inputs(&new).unwrap();
    assert_cells(
        &inputs,
        &[
            &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
            &[25.0, 1.0, 2.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0],
            &[3.0, 0.0, 3.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        ],
    );
    assert!(said(&notes, &["'colour'", "'mauve'", "2 rows", "first data row 1"]), "{notes:?}");
    assert!(said(&notes, &["1 column not known", "'more'"]), "{notes:?}");
    assert!(encoder.targets_if_present(&new).is_none());
    let targets = encoder.targets_if_present(&table()).unwrap();
    assert_cells(&targets, &[&[0.1, 1.0], &[0.2, 2.0], &[NAN, NAN], &[0.4, 4.0], &[0.5, NAN]]);
}

#[test]
fn a_changed_schema_is_an_error_that_names_everything() {
    let (encoder, _) = learned();
    let fewer = Table::new(vec![number("Dose", &[1.0]), text("colour", &["red"]), text("sex", &["m"])]).unwrap();
    let problem = encoder.inputs(&fewer).unwrap_err().to_string();
    for word in ["3 input columns", "'age'", "'note'", "'dose' (did you mean 'Dose'?)"] {
        assert!(problem.contains(word), "{problem}");
    }
    let words = Table::new(vec![
        text("age", &["12", "old"]),
        number("dose", &[1.0, 2.0]),
        text("colour", &["red", "red"]),
        text("sex", &["m", "m"]),
        number("note", &[7.0, 7.0]),
    ]);
    let problem = encoder.inputs(&words.unwrap()).unwrap_err().to_string();
    assert!(problem.contains("data row 2") && problem.contains("'age'") && problem.contains("'old'"), "{problem}");
}

#[test]
fn missing_inputs_can_be_refused() {
    let table = table();
    let refuse = |rows: &[usize]| Encoder::learn(&table, rows, &roles(&table), MissingInputs::Error);
    let problem = refuse(&[0, 1]).unwrap_err().to_string();
    assert!(problem.contains("data row 2, column 'age'"), "{problem}");
    let (encoder, _) = refuse(&[0, 3, 4]).unwrap();
    let problem = encoder.inputs(&table).unwrap_err().to_string();
    assert!(problem.contains("data row 2, column 'age'"), "{problem}");
}

#[test]
fn roles_are_checked_against_each_other_and_the_table() {
    let table = table();
    let resolve = |targets: &[&str], ignore: &[&str], weight: Option<&'static str>| {
        RoleChoice::parse(&list(targets), &list(ignore), weight.map(Weights::Relative))?.resolve(&table)
    };
    // The last two that have no other role.
    assert_eq!(resolve(&["last:2"], &["z"], Some("w")).unwrap().targets, ["note", "y"]);
    assert_eq!(resolve(&["y", "z"], &["site,note"], None).unwrap().targets, ["y", "z"]);
    for (targets, ignore, weight, says) in [
        (&["y,colr"][..], &[][..], None, "'colr'"),
        (&["y"], &["aeg"], None, "did you mean 'age'?"),
        (&["y"], &[], Some("W1"), "the weight"),
        (&["y,z"], &["z"], None, "'z' is named as a target and as ignored"),
        (&["y"], &[], Some("y"), "a target and as the weight"),
        (&["y,y"], &[], None, "named twice"),
        (&[""], &[], None, "no target"),
        (&["last:0"], &[], None, "last:3"),
        (&["last:x"], &[], None, "'last:x'"),
        (&["last:9"], &[], None, "the table has 9"),
        (&["\"y"], &[], None, "never closed"),
        (&["y"], &["age,dose,colour,sex,site,note,w,z"], None, "no input column"),
    ] {
        let problem = resolve(targets, ignore, weight).unwrap_err().to_string();
        assert!(problem.contains(says), "{problem} does not say {says}");
    }
    let quoted = RoleChoice::parse(&list(&["\"a,b\", c", "5\" pipe"]), &[], None).unwrap();
    let odd = Table::new(["a,b", "c", "5\" pipe", "x"].iter().map(|n| number(n, &[1.0])).collect()).unwrap();
    assert_eq!(quoted.resolve(&odd).unwrap().targets, ["a,b", "c", "5\" pipe"]);
}

#[test]
fn rows_without_any_target_are_left_out() {
    let (rows, notes) = roles(&table()).observed_rows(&table()).unwrap();
    assert_eq!(rows, [0, 1, 3, 4]);
    assert!(notes.len() == 1 && notes[0].to_string() == "1 row without any target value left out", "{notes:?}");
    let none = Table::new(vec![number("x", &[1.0, 2.0]), number("y", &[NAN, NAN])]).unwrap();
    let roles = Roles { targets: list(&["y"]), ..Roles::default() };
    assert!(matches!(roles.observed_rows(&none), Err(EncodeError::NoRows { targets: 1 })));
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let learn = |columns: Vec<Column>, weight: Option<&str>| {
        let table = Table::new(columns).unwrap();
        let roles = Roles {
            targets: list(&["y"]),
            weight: weight.map(|name| Weights::Relative(name.to_owned())),
            ..Roles::default()
        };
        let rows: Vec<usize> = (0..table.rows()).collect();
        let (encoder, _) = Encoder::learn(&table, &rows, &roles, MissingInputs::Impute)?;
        rffblr::Result::Ok(encoder.dataset(&table, &rows)?.0)
    };
    let (x, y) = (number("x", &[1.0, 2.0]), number("y", &[1.0, 2.0]));
    let same = number("s", &[1.0, 1.0]);
    for (columns, weight, says) in [
        (vec![same.clone(), y.clone()], None, "no input column"),
        (vec![number("empty", &[NAN, NAN]), y.clone()], None, "no input column"),
        (vec![x.clone(), text("y", &["1", "high"])], None, "data row 2, column 'y': 'high'"),
        (vec![x.clone(), y.clone(), number("w", &[1.0, -2.0])], Some("w"), "data row 2, column 'w'"),
        (vec![x.clone(), y.clone(), number("w", &[NAN, 1.0])], Some("w"), "weight is missing"),
        (vec![x.clone(), number("y", &[NAN, NAN])], None, "no observed value"),
        (
            vec![text("c", &["a", "b", "a"]), number("c=a", &[1.0, 2.0, 3.0]), number("y", &[1.0, 2.0, 3.0])],
            None,
            "'c=a'",
        ),
        (vec![text("c", &["a", "b"]), y.clone()], None, "no input column"),
    ] {
        let problem = learn(columns, weight).unwrap_err().to_string();
        assert!(problem.contains(says), "{problem} does not say {says}");
    }
    let many: Vec<String> = (0..1002).map(|n| format!("id{}", n.max(1))).collect();
    let ids = text("id", &many.iter().map(String::as_str).collect::<Vec<_>>());
    let numbers: Vec<f64> = (0..1002).map(f64::from).collect();
    // 1001 levels, of which one is in two rows: it is the first of the 1000 that are kept.
    let data = learn(vec![ids, number("y", &numbers)], None).unwrap();
    assert_eq!(data.inputs().ncols(), MOST_LEVELS + 1);
    assert_eq!((data.input_names()[0].as_str(), data.input_names()[999].as_str()), ("id=id1", "id=(other)"));
    assert_eq!((0..1002).map(|row| data.inputs()[(row, 999)]).sum::<f64>(), 2.0);
    let table = table();
    let out_of_range = Encoder::learn(&table, &[5], &roles(&table), MissingInputs::Impute);
    assert!(matches!(out_of_range, Err(EncodeError::NoSuchRow { row: 6, rows: 5 })));
}

#[test]
fn a_model_keeps_its_encoder_and_refuses_another() {
    let (encoder, _) = learned();
    let (data, _) = encoder.dataset(&table(), &[0, 1, 3, 4]).unwrap();
    let settings = Settings {
        form: CosineSettings { features: FeatureCount::Exactly(4), ..CosineSettings::DEFAULT }.into(),
        max_iterations: 3,
        ..Settings::COSINES
    };
    let bare = fit(&data, &settings).unwrap();
    assert!(bare.encoder().is_none() && !bare.to_json().unwrap().contains("\"encoder\""));
    let other = Encoder::of_numbers(&list(&["age"]), &list(&["y", "z"]));
    assert!(bare.clone().with_encoder(other).is_err());

    let model = bare.with_encoder(encoder.clone()).unwrap();
    let stored = model.to_json().unwrap();
    assert_eq!(Model::from_json(&stored).unwrap().encoder(), Some(&encoder));
    // A file whose encoder was exchanged, with a checksum to match.
    let mut value: serde_json::Value = serde_json::from_str(&stored).unwrap();
    value["encoder"]["inputs"][1]["name"] = "height".into();
    value.as_object_mut().unwrap().remove("sha256");
    value["sha256"] = crate::checksum::checksum(&value).into();
    let problem = Model::from_json(&value.to_string()).unwrap_err().to_string();
    assert!(problem.contains("encoder"), "{problem}");
}

#[test]
fn links_are_slopes_in_the_units_of_the_data() {
    // With links alone the function is linear: its slope is the difference of two predictions one unit apart.
    let data = crate::smooth(40, 3, 2, 90);
    let settings = Settings {
        form: CosineSettings { features: FeatureCount::Exactly(0), ..CosineSettings::DEFAULT }.into(),
        ..Settings::COSINES
    };
    let model = fit(&data, &settings).unwrap();
    let probe = Mat::from_fn(4, 3, |i, d| if i == d + 1 { 1.0 } else { 0.0 });
    let mean = model.predict_mean(probe.as_ref()).unwrap();
    let links = model.links();
    assert_eq!(links.len(), 3);
    let draws = model.sample(probe.as_ref(), 4000, 1).unwrap();
    for link in &links {
        for c in 0..2 {
            crate::assert_close("slope", link.slope[c], mean[(link.input + 1, c)] - mean[(0, c)], 1e-12);
            // The deviation of 4000 draws is off by 1 % or so.
            let square = |draw: &Mat<f64>| (draw[(link.input + 1, c)] - draw[(0, c)] - link.slope[c]).powi(2);
            let std = (draws.iter().map(square).sum::<f64>() / draws.len() as f64).sqrt();
            assert!((std / link.slope_std[c] - 1.0).abs() < 0.05, "{std} and {}", link.slope_std[c]);
        }
    }
}

#[test]
fn numbers_in_a_table_or_in_a_matrix_teach_the_same() {
    let inputs = Mat::from_fn(6, 4, |n, d| match d {
        2 => 5.0,
        3 if n == 1 => NAN,
        _ => ((7 * n + 3 * d) % 11) as f64,
    });
    let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
    let mut columns: Vec<Column> = names.iter().enumerate().map(|(d, n)| number(n, inputs.col_as_slice(d))).collect();
    columns.push(number("y", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let table = Table::new(columns).unwrap();
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    let rows: Vec<usize> = (0..6).collect();
    let from_table = Encoder::learn(&table, &rows, &roles, MissingInputs::Impute).unwrap();
    assert_eq!(Encoder::learn_numbers(inputs.as_ref(), &names, &roles, MissingInputs::Impute).unwrap(), from_table);
    assert_eq!(from_table.0.encoded_names(), ["a", "b", "d", "d?"]);
    assert!(Encoder::learn_numbers(inputs.as_ref(), &names, &roles, MissingInputs::Error).is_err());
}
