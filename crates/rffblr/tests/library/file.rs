//! The model file: what goes in comes out, and nothing else gets in.

use crate::{normal, smooth, with_gaps};
use rffblr::data::Standardiser;
use rffblr::metrics::{Check, HeldOut, OutOfFold, SplitBy};
use rffblr::{CosineSettings, FORMAT_VERSION, FeatureCount, Form, Model, Precision, Settings, fit};
use serde_json::{Value, json};

fn model() -> Model {
    let data = with_gaps(&smooth(30, 3, 2, 70), 7);
    fit(
        &data,
        &Settings {
            form: CosineSettings { features: FeatureCount::Exactly(12), ..CosineSettings::DEFAULT }.into(),
            max_iterations: 15,
            ..Settings::COSINES
        },
    )
    .unwrap()
}

#[test]
fn a_saved_model_predicts_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let sparse = Settings { form: Form::Sinusoids { sparsity: 0.7 }, ..Settings::DEFAULT };
    let drawn =
        |precision| Settings { form: Form::Drawn { features: Some(40), precision, effort: 1.0 }, ..Settings::DEFAULT };
    for settings in [
        Settings::DEFAULT,
        sparse,
        drawn(Precision::Tied),
        drawn(Precision::Free),
        Settings { form: CosineSettings { links: true, ..CosineSettings::PAPER }.into(), ..Settings::PAPER },
    ] {
        let data = with_gaps(&smooth(30, 3, 2, 71), 7);
        let model = fit(&data, &Settings { max_iterations: 20, ..settings }).unwrap();
        model.save(&path).unwrap();
        let loaded = Model::load(&path).unwrap();
        let new = normal(20, 3, 72);
        assert_eq!(loaded.predict(new.as_ref()).unwrap(), model.predict(new.as_ref()).unwrap());
        assert_eq!(loaded.leave_one_out(&data).unwrap(), model.leave_one_out(&data).unwrap());
        assert_eq!(loaded.trace(), model.trace());
        assert_eq!(loaded.sinusoids(), model.sinusoids());
        assert_eq!(loaded.to_json().unwrap(), model.to_json().unwrap());
        let check = Model::verify(&path).unwrap();
        assert!(check.holds() && check.cells == 10, "{check:?}");
    }
    // Only the model is left in the folder: the temporary file is gone.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_layout_of_the_json_does_not_matter() {
    let value: Value = serde_json::from_str(&model().to_json().unwrap()).unwrap();
    assert!(Model::from_json(&serde_json::to_string_pretty(&value).unwrap()).is_ok());
}

#[test]
fn no_row_of_the_data_is_in_the_file_of_a_formula() {
    let data = smooth(30, 3, 2, 73);
    let standardised = Standardiser::new(data.inputs(), None).apply(data.inputs(), data.input_names()).unwrap();
    let sparse = Settings { form: Form::Sinusoids { sparsity: 0.7 }, ..Settings::DEFAULT };
    let holds = |settings: &Settings, number: f64| {
        fit(&data, settings).unwrap().to_json().unwrap().contains(&number.to_string())
    };
    for settings in [Settings::COSINES, sparse] {
        let text = fit(&data, &settings).unwrap().to_json().unwrap();
        for n in 0..30 {
            for number in [data.inputs()[(n, 0)], standardised[(n, 0)], data.targets()[(n, 0)]] {
                assert!(!text.contains(&number.to_string()), "row {n}: {number}");
            }
        }
    }
    // A kernel machine is made of its rows, and the test above would notice.
    assert!(holds(&Settings::DEFAULT, standardised[(4, 0)]));
}

#[test]
fn damage_anywhere_is_noticed() {
    let text = model().to_json().unwrap();
    assert!(Model::from_json(&text).is_ok());
    for cut in (0..text.len()).step_by(997) {
        assert!(Model::from_json(&text[..cut]).is_err(), "truncated at {cut}");
    }
    let mut changed = 0;
    for at in (1..text.len()).step_by(211) {
        let mut bytes = text.clone().into_bytes();
        if bytes[at].is_ascii_digit() {
            bytes[at] = if bytes[at] == b'7' { b'3' } else { b'7' };
            changed += 1;
            // A seventeenth digit may change without changing the number it stands for.
            if let Ok(same) = Model::from_json(&String::from_utf8(bytes).unwrap()) {
                assert_eq!(same.to_json().unwrap(), text, "digit at {at}");
            }
        }
    }
    assert!(changed > 50);
}

#[test]
fn what_is_wrong_with_the_text_is_said() {
    let problem = |text: &str| Model::from_json(text).unwrap_err().to_string();
    assert!(problem("{\"format\": \"rffblr-mo").contains("the file ends too early"));
    for start in ["[", "{\"a\":"] {
        let deep = problem(&start.repeat(1000));
        assert!(
            deep.contains("nested deeper than that of any model") && !deep.contains("fit the model again"),
            "{deep}"
        );
    }
    assert!(problem("a,b\n1,2\n").contains("it is not JSON"));
}

/// Signs a changed file anew, so that only the checks behind the checksum are left.
fn waves(file: &mut Value) -> &mut Value {
    &mut file["function"]["cosines"]["waves"]
}

fn signed(change: impl Fn(&mut Value)) -> rffblr::Result<Model> {
    resigned(&model().to_json().unwrap(), change)
}

fn resigned(text: &str, change: impl Fn(&mut Value)) -> rffblr::Result<Model> {
    let mut value: Value = serde_json::from_str(text).unwrap();
    value.as_object_mut().unwrap().remove("sha256");
    change(&mut value);
    value["sha256"] = Value::String(crate::checksum::checksum(&value));
    Model::from_json(&value.to_string())
}

fn asinh(width: f64, range: (f64, f64)) -> Value {
    json!({"shape": {"asinh": {"centre": 0.0, "width": width}}, "range": range, "point": "mean"})
}

/// Whatever transform a file says, what it predicts is finite.
#[test]
fn a_crafted_transform_predicts_finite_numbers() {
    for (width, range) in [(1e-300, (0.0, 1e149)), (1e300, (-1e149, 1e149)), (1.0, (0.0, 0.0))] {
        let crafted = signed(|v| {
            v["transforms"] = json!([asinh(width, range), null]);
            v["targets"]["scale"][0] = json!(1e200);
        });
        let crafted = crafted.unwrap();
        let found = crafted.predict(normal(5, 3, 1).as_ref()).unwrap();
        let (lower, upper) = found.interval(0.9).unwrap();
        for table in [&found.mean, &found.std, &found.latent_std, &lower, &upper, &found.median()] {
            assert!((0..5).all(|n| table[(n, 0)].is_finite()), "{width} {range:?}: {table:?}");
        }
    }
}

#[test]
fn inconsistent_files_are_refused() {
    assert!(signed(|_| {}).is_ok());
    type Change = Box<dyn Fn(&mut Value)>;
    let changes: Vec<(&str, Change)> = vec![
        ("newer", Box::new(|v| v["format_version"] = json!(FORMAT_VERSION + 1))),
        ("format_version", Box::new(|v| v["format_version"] = json!(0))),
        ("format_version", Box::new(|v| v["format_version"] = json!("1"))),
        ("format", Box::new(|v| v["format"] = json!("something"))),
        ("inputs", Box::new(|v| v["inputs"]["mean"] = json!([1.0]))),
        ("inputs", Box::new(|v| v["inputs"]["scale"] = json!([1.0, 0.0, 1.0]))),
        ("targets", Box::new(|v| v["targets"]["names"] = json!([]))),
        ("cosines.waves.frequencies", Box::new(|v| waves(v)["frequencies"]["rows"] = json!(4))),
        ("cosines.waves.frequencies", Box::new(|v| waves(v)["frequencies"]["values"] = json!([1.0]))),
        ("cosines.waves.amplitude", Box::new(|v| waves(v)["amplitude"] = json!(-1.0))),
        ("cosines.waves.links", Box::new(|v| waves(v)["links"] = json!([2, 1, 0]))),
        ("cosines.waves.links", Box::new(|v| waves(v)["links"] = json!([0, 1, 9]))),
        ("cosines.scales.bandwidth", Box::new(|v| v["function"]["cosines"]["scales"]["bandwidth"] = json!(0.0))),
        (
            "cosines.scales.input_scales",
            Box::new(|v| v["function"]["cosines"]["scales"]["input_scales"] = json!([1.0])),
        ),
        ("cosines.noise", Box::new(|v| v["function"]["cosines"]["noise"] = json!([{"shape": 1.0, "rate": 1.0}]))),
        ("cosines.waves.precision", Box::new(|v| waves(v)["precision"][0] = json!(-1.0))),
        ("cosines.waves.mean", Box::new(|v| waves(v)["mean"]["columns"] = json!(1))),
        ("cosines.waves.shapes", Box::new(|v| waves(v)["shapes"][0]["tasks"] = json!([7]))),
        (
            "no task",
            Box::new(|v| {
                let mut more = waves(v)["shapes"][0].clone();
                more["tasks"] = json!([]);
                waves(v)["shapes"].as_array_mut().unwrap().push(more);
            }),
        ),
        ("cosines.waves.shapes", Box::new(|v| waves(v)["shapes"][0]["values"][0] = json!(-1.0))),
        ("restarts", Box::new(|v| v["settings"]["form"]["cosines"]["restarts"] = json!(0))),
        ("different forms", Box::new(|v| v["settings"]["form"] = json!("kernel"))),
        ("settings.form", Box::new(|v| v["settings"]["form"] = json!("waves"))),
        ("function.cosines.waves.phases", Box::new(|v| waves(v)["phases"][1] = json!("x"))),
        ("missing field `phases`", Box::new(|v| drop(waves(v).as_object_mut().unwrap().remove("phases")))),
        ("probes", Box::new(|v| v["probes"] = json!(3))),
        ("`transforms` has 1", Box::new(|v| v["transforms"] = json!([null]))),
        ("transforms", Box::new(|v| v["transforms"] = json!([null, asinh(0.0, (0.0, 1.0))]))),
        ("transforms", Box::new(|v| v["transforms"] = json!([null, asinh(-1.0, (0.0, 1.0))]))),
        ("transforms", Box::new(|v| v["transforms"] = json!([null, asinh(1.0, (2.0, 1.0))]))),
        ("transforms", Box::new(|v| v["transforms"] = json!([null, asinh(1.0, (0.0, 1e200))]))),
        ("transforms[0]", Box::new(|v| v["transforms"] = json!([{"shape": "cube"}, null]))),
    ];
    for (expected, change) in changes {
        match signed(change) {
            Ok(_) => panic!("{expected}: accepted"),
            Err(problem) => assert!(problem.to_string().contains(expected), "{expected}: {problem}"),
        }
    }
}

#[test]
fn a_check_is_kept_and_holds_no_row() {
    let data = with_gaps(&smooth(30, 3, 2, 77), 7);
    let settings = Settings { max_iterations: 10, form: Form::Sinusoids { sparsity: 0.7 }, ..Settings::DEFAULT };
    let fold = |fold: usize| {
        let (test, train): (Vec<usize>, Vec<usize>) = (0..30).partition(|row| row % 3 == fold);
        let (train, test) = (data.select(&train).unwrap(), data.select(&test).unwrap());
        let found = fit(&train, &settings).unwrap().predict(test.inputs()).unwrap();
        HeldOut::new(test.targets().to_owned(), found.mean, Some(found.std))
    };
    let scores = OutOfFold::new(&[0, 1, 2].map(fold)).unwrap();
    let split = SplitBy::Random { seed: 1 };
    let found = Check {
        split,
        folds: 3,
        rows: 30,
        model: scores.clone(),
        ridge: scores.clone(),
        mean: scores,
        unscored: Vec::new(),
        wider: vec![1.0, 2.0],
    };
    let text = fit(&data, &settings).unwrap().with_check(found.clone()).unwrap().to_json().unwrap();
    let loaded = Model::from_json(&text).unwrap();
    assert_eq!((loaded.check(), loaded.to_json().unwrap()), (Some(&found), text.clone()));
    // The intervals of a target that the check found too narrow are wider, also after loading; the deviations are as they were.
    let ends = loaded.reach(0.9).unwrap();
    assert!((ends[1].1 / ends[0].1 - 2.0).abs() < 1e-9 && (ends[1].0 / ends[0].0 - 2.0).abs() < 1e-9);
    for n in 0..30 {
        assert!(!text.contains(&data.targets()[(n, 0)].to_string()), "row {n}");
    }
    // Files of before have none; scores of other targets are refused, from a file and from a caller.
    assert!(resigned(&text, |v| v["check"] = Value::Null).unwrap().check().is_none());
    for change in ["r2_se", "scores"] {
        let cut = |v: &mut Value| match change {
            "r2_se" => v["check"]["ridge"]["r2_se"] = json!([0.1]),
            _ => v["check"]["model"]["scores"]["per_task"]["coverage"] = json!([0.9]),
        };
        let problem = resigned(&text, cut).unwrap_err();
        assert!(problem.to_string().contains("`check` does not have scores of 2 targets"), "{problem}");
    }
    let other = fit(&smooth(30, 3, 1, 78), &settings).unwrap();
    assert!(other.with_check(found).is_err());
}

#[test]
fn inconsistent_kernel_machines_are_refused() {
    let data = smooth(12, 3, 2, 76);
    let text = fit(&data, &Settings { max_iterations: 3, ..Settings::DEFAULT }).unwrap().to_json().unwrap();
    type Change = Box<dyn Fn(&mut Value)>;
    let changes: Vec<(&str, Change)> = vec![
        ("function.kernel.rows", Box::new(|v| v["function"]["kernel"]["rows"]["rows"] = json!(11))),
        ("13", Box::new(|v| v["training"]["rows"] = json!(13))),
        (
            "function.kernel.groups.kernel",
            Box::new(|v| v["function"]["kernel"]["groups"][0]["kernel"]["linear"] = json!(-1.0)),
        ),
        (
            "function.kernel.groups.kernel",
            Box::new(|v| v["function"]["kernel"]["groups"][0]["kernel"]["rbf"]["bandwidth"] = json!(0.0)),
        ),
        (
            "function.kernel.groups.kernel.input_scales",
            Box::new(|v| v["function"]["kernel"]["groups"][0]["kernel"]["input_scales"] = json!([1.0])),
        ),
        ("function.kernel.groups.noise", Box::new(|v| v["function"]["kernel"]["groups"][0]["noise"][0] = json!(0.0))),
        (
            "function.kernel.groups.amplitude",
            Box::new(|v| v["function"]["kernel"]["groups"][0]["amplitude"] = json!([1.0])),
        ),
        (
            "function.kernel.groups.observed",
            Box::new(|v| v["function"]["kernel"]["groups"][0]["observed"][0] = json!([0, 99])),
        ),
        (
            "function.kernel.groups.observed",
            Box::new(|v| v["function"]["kernel"]["groups"][0]["observed"] = json!([null])),
        ),
        (
            "function.kernel.groups.coefficients",
            Box::new(|v| v["function"]["kernel"]["groups"][0]["coefficients"]["columns"] = json!(3)),
        ),
        ("function.kernel.root_weights", Box::new(|v| v["function"]["kernel"]["root_weights"][2] = json!(-1.0))),
        ("function.kernel.groups", Box::new(|v| v["function"]["kernel"]["groups"] = json!([]))),
        ("function.kernel.groups", Box::new(|v| v["function"]["kernel"]["groups"][0]["tasks"] = json!([0, 2]))),
        ("function.kernel.groups", Box::new(|v| v["function"]["kernel"]["groups"][0]["tasks"] = json!([0]))),
        ("rising", Box::new(|v| v["function"]["kernel"]["groups"][0]["tasks"] = json!([1, 0]))),
        (
            "exactly once",
            Box::new(|v| {
                let twice = v["function"]["kernel"]["groups"][0].clone();
                v["function"]["kernel"]["groups"].as_array_mut().unwrap().push(twice);
            }),
        ),
        ("function", Box::new(|v| v["function"]["kernel"] = Value::Null)),
    ];
    assert!(resigned(&text, |_| {}).is_ok());
    for (expected, change) in changes {
        match resigned(&text, change) {
            Ok(_) => panic!("{expected}: accepted"),
            Err(problem) => assert!(problem.to_string().contains(expected), "{expected}: {problem}"),
        }
    }
}

/// A GPU fits machines of more rows than the processor takes; their files are read everywhere. Each row stands in the file as
/// often as `COPIES` says and with so much less weight, so that the means are those of the few rows.
#[test]
fn machines_of_more_rows_than_the_processor_fits_are_read() {
    const COPIES: usize = 3000;
    let data = smooth(12, 3, 2, 79);
    let text = fit(&data, &Settings { max_iterations: 3, ..Settings::EXACT }).unwrap().to_json().unwrap();
    let tiled = |copies: usize| {
        resigned(&text, |v| {
            let repeat = |table: &mut Value, factor: f64| {
                let columns = table["values"].as_array().unwrap().chunks(12);
                let tiled = columns.flat_map(|column| column.iter().cycle().take(12 * copies));
                let values: Vec<f64> = tiled.map(|cell| cell.as_f64().unwrap() * factor).collect();
                table["values"] = json!(values);
                table["rows"] = json!(12 * copies);
            };
            v["training"]["rows"] = json!(12 * copies);
            let machine = &mut v["function"]["kernel"];
            repeat(&mut machine["rows"], 1.0);
            machine["root_weights"] = json!(vec![1.0; 12 * copies]);
            for group in machine["groups"].as_array_mut().unwrap() {
                repeat(&mut group["coefficients"], 1.0 / copies as f64);
                group["variance_correction"] = json!(vec![0.5; group["tasks"].as_array().unwrap().len()]);
            }
        })
    };
    let new = normal(5, 3, 80);
    let few = Model::from_json(&text).unwrap().predict_mean(new.as_ref()).unwrap();
    let many = tiled(COPIES).unwrap().predict_mean(new.as_ref()).unwrap();
    for (few, many) in few.col_iter().zip(many.col_iter()) {
        assert!(few.iter().zip(many.iter()).all(|(a, b)| (a - b).abs() < 1e-9 * a.abs().max(1.0)));
    }
    let problem = tiled(3334).unwrap_err().to_string();
    assert!(problem.contains("1 to 40000"), "{problem}");
}

/// Packed tables of another length, and numbers that are none.
#[test]
fn inconsistent_drawn_features_are_refused() {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let data = with_gaps(&smooth(40, 3, 2, 79), 7);
    let drawn = Settings {
        form: Form::Drawn { features: Some(8), precision: Precision::Tied, effort: 1.0 },
        max_iterations: 3,
        ..Settings::DEFAULT
    };
    let text = fit(&data, &drawn).unwrap().to_json().unwrap();
    fn group(file: &mut Value) -> &mut Value {
        &mut file["function"]["drawn"]["groups"][0]
    }
    fn repacked(packed: &mut Value, change: impl Fn(&mut Vec<u8>)) {
        let mut bytes = STANDARD.decode(packed.as_str().unwrap()).unwrap();
        change(&mut bytes);
        *packed = Value::String(STANDARD.encode(bytes));
    }
    let shorter = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 8);
    let odd = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 1);
    type Change = Box<dyn Fn(&mut Value)>;
    let changes: Vec<(&str, Change)> = vec![
        ("drawn.groups.frequencies", Box::new(move |v| repacked(&mut group(v)["frequencies"], shorter))),
        ("drawn.groups.frequencies", Box::new(move |v| repacked(&mut group(v)["frequencies"], odd))),
        ("drawn.groups.frequencies", Box::new(|v| group(v)["frequencies"] = json!("?"))),
        (
            "drawn.groups.frequencies",
            Box::new(|v| repacked(&mut group(v)["frequencies"], |b| b[8..16].copy_from_slice(&f64::NAN.to_le_bytes()))),
        ),
        ("factors.lower", Box::new(move |v| repacked(&mut group(v)["factors"][0]["lower"], shorter))),
        ("factors.lower", Box::new(move |v| repacked(&mut group(v)["factors"][0]["lower"], odd))),
        (
            "factors.lower",
            Box::new(|v| {
                let negative = |b: &mut Vec<u8>| b[0..4].copy_from_slice(&(-1f32).to_le_bytes());
                repacked(&mut group(v)["factors"][0]["lower"], negative);
            }),
        ),
        ("drawn.groups.factors", Box::new(|v| group(v)["factors"][0]["tasks"] = json!([5]))),
        ("drawn.groups.pairs", Box::new(|v| group(v)["pairs"] = json!([0, 4]))),
        ("drawn.groups.pairs", Box::new(|v| group(v)["pairs"] = json!([usize::MAX, 4]))),
        ("drawn.groups.frequencies", Box::new(|v| group(v)["pairs"] = json!([1_000_000_000_000u64, 4]))),
        ("drawn.groups.mean", Box::new(|v| group(v)["mean"]["columns"] = json!(7))),
        ("drawn.groups.noise", Box::new(|v| group(v)["noise"][0] = json!(0.0))),
        ("drawn.groups.amplitude", Box::new(|v| group(v)["amplitude"] = json!([1.0, 1.0, 1.0]))),
        ("drawn.groups.kernel", Box::new(|v| group(v)["kernel"]["input_scales"] = json!([1.0]))),
        ("drawn.groups", Box::new(|v| v["function"]["drawn"]["groups"] = json!([]))),
        ("different forms", Box::new(|v| v["settings"]["form"] = json!("kernel"))),
    ];
    let form = Form::Drawn { features: Some(8), precision: Precision::Free, effort: 1.0 };
    let free = fit(&data, &Settings { form, ..drawn }).unwrap().to_json().unwrap();
    let kept: Vec<(&str, Change)> = vec![
        ("kept.columns", Box::new(|v| group(v)["kept"]["columns"][0] = json!(11))),
        ("kept.precision", Box::new(|v| group(v)["kept"]["precision"][0] = json!(-1.0))),
        ("drawn.groups.frequencies", Box::new(|v| repacked(&mut group(v)["frequencies"], |b| b.extend([0; 8])))),
    ];
    for (text, changes) in [(text, changes), (free, kept)] {
        assert!(resigned(&text, |_| {}).is_ok());
        for (expected, change) in changes {
            match resigned(&text, change) {
                Ok(_) => panic!("{expected}: accepted"),
                Err(problem) => assert!(problem.to_string().contains(expected), "{expected}: {problem}"),
            }
        }
    }
}

#[test]
fn verify_notices_a_different_function() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let changed = signed(|v| waves(v)["mean"]["values"][0] = json!(1.5)).unwrap();
    // Stored probes of the old function beside the weights of the new one.
    let mut value: Value = serde_json::from_str(&changed.to_json().unwrap()).unwrap();
    let old: Value = serde_json::from_str(&model().to_json().unwrap()).unwrap();
    value["probes"] = old["probes"].clone();
    value.as_object_mut().unwrap().remove("sha256");
    value["sha256"] = Value::String(crate::checksum::checksum(&value));
    std::fs::write(&path, value.to_string()).unwrap();
    assert!(!Model::verify(&path).unwrap().holds());
}

#[test]
fn files_that_are_no_models_give_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("thing.json");
    assert!(Model::load(&path).unwrap_err().to_string().contains("thing.json"));
    for text in [
        "",
        "{}",
        "[]",
        "null",
        "not json",
        "{\"format\":\"rffblr-model\"}",
        "{\"format\":\"rffblr-model\",\"format_version\":1}",
    ] {
        std::fs::write(&path, text).unwrap();
        assert!(Model::load(&path).is_err() && Model::verify(&path).is_err(), "{text}");
    }
    std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    assert!(Model::load(&path).is_err());
    assert!(model().save(folder.path().join("no/such/folder.json")).is_err());
}
