//! `rffblr inspect` and `rffblr verify`.

use crate::common::{Folder, fitted};
use rffblr::Model;
use serde_json::Value;

#[test]
fn a_model_is_told_in_words() {
    let folder = fitted();
    let ran = folder.done(&["inspect", "model.json"]);
    assert!(ran.err.is_empty());
    for word in [
        "A model of 2 targets from 7 inputs: the sum of 60 cosines, 7 straight lines and a constant.",
        "rffblr 0.1.0",
        "60 rows",
        "nugget std",
        "colour=red",
        "1 for this level",
        "number, missing as 30.00",
        "kernel length",
        "Kernel view: rbf",
        "Cosines with the largest weights",
        "max-iterations",
    ] {
        assert!(ran.out.contains(word), "does not say {word:?}: {}", ran.out);
    }
}

#[test]
fn without_further_settings_it_is_a_kernel_machine() {
    let folder = Folder::new();
    folder.put("cohort.csv", crate::common::cohort());
    let fit = folder.done(&["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "-omodel.json"]);
    assert!(
        fit.err.contains("A Gaussian process on 60 rows, the exact kernel, as up to 3000 rows: it takes 1 MB."),
        "{}",
        fit.err
    );
    let ran = folder.done(&["inspect", "model.json"]);
    for word in [
        "the sum of 60 kernel terms, one for each training row, 7 straight lines and a constant.",
        "The file holds the inputs of the training rows",
        "Laplace L1",
        "colour=red",
        "Straight lines",
    ] {
        assert!(ran.out.contains(word), "does not say {word:?}: {}", ran.out);
    }
    let facts: Value = serde_json::from_str(&folder.done(&["inspect", "model.json", "--json"]).out).unwrap();
    let model = Model::load(folder.path("model.json")).unwrap();
    let kernels = model.kernels();
    for (said, (tasks, kernel)) in facts["kernels"].as_array().unwrap().iter().zip(&kernels) {
        let names: Vec<&String> = tasks.iter().map(|&c| &model.target_names()[c]).collect();
        assert_eq!(said["targets"], serde_json::json!(names));
        assert_eq!(said["kernel"]["laplace_l1"]["bandwidth"], kernel.laplace_l1.bandwidth);
    }
    assert_eq!(facts["kernels"].as_array().unwrap().len(), kernels.len());
    assert_eq!(facts["sinusoids"].as_array().unwrap().len(), 0);
    assert!(folder.done(&["verify", "model.json"]).out.contains("10 probe predictions"));
}

/// One group of two targets is two groups of one with the same kernel; if they differ, they are listed by name.
#[test]
fn targets_with_kernels_of_their_own_are_told_apart() {
    let folder = Folder::new();
    folder.put("cohort.csv", crate::common::cohort());
    folder.done(&["fit", "cohort.csv", "--targets=glucose,cost", "--ignore=id", "-omodel.json", "--max-iterations=5"]);
    change(&folder, |value| {
        let groups = value["function"]["kernel"]["groups"].as_array().unwrap();
        let one = |task: usize| {
            let group = groups.iter().find(|g| g["tasks"].as_array().unwrap().contains(&task.into())).unwrap();
            let at = group["tasks"].as_array().unwrap().iter().position(|c| *c == task).unwrap();
            let rows = group["coefficients"]["rows"].as_u64().unwrap() as usize;
            let column = &group["coefficients"]["values"].as_array().unwrap()[at * rows..(at + 1) * rows];
            serde_json::json!({
                "tasks": [task],
                "kernel": group["kernel"],
                "observed": [group["observed"][at]],
                "noise": [group["noise"][at]],
                "amplitude": [group["amplitude"][at]],
                "coefficients": { "rows": rows, "columns": 1, "values": column },
            })
        };
        value["function"]["kernel"]["groups"] = serde_json::json!([one(1), one(0)]);
    });
    assert!(folder.done(&["verify", "changed.json"]).out.contains("10 probe predictions"));
    let ran = folder.done(&["inspect", "changed.json"]);
    for word in ["2 kernels, each for some of them", "Inputs of cost", "Kernel of cost", "Inputs of glucose"] {
        assert!(ran.out.contains(word), "does not say {word:?}: {}", ran.out);
    }
    let facts: Value = serde_json::from_str(&folder.done(&["inspect", "changed.json", "--json"]).out).unwrap();
    assert_eq!(facts["kernels"][0]["targets"], serde_json::json!(["cost"]));
    assert_eq!(facts["kernels"][1]["targets"], serde_json::json!(["glucose"]));
}

/// What `inspect` prints is the function: between two rows, the sinusoids differ as the predictions do.
#[test]
fn a_sparse_model_is_its_formula() {
    let folder = Folder::new();
    folder.put("t.csv", {
        let row = |n: usize| {
            let (a, b) = ((n as f64 * 0.7).sin() * 2.0, (n as f64 * 1.3).cos());
            format!("{a},{b},{},{}\n", a.sin() + b, a * b)
        };
        String::from("a,b,y,z\n") + &(0..80).map(row).collect::<String>()
    });
    folder.put("new.csv", "a,b\n0.5,0.2\n-1,0.7\n");
    folder.done(&["fit", "t.csv", "--targets=y,z", "--sparsity=0.75", "-om.json"]);
    assert!(folder.done(&["inspect", "m.json"]).out.contains(" cosines and a constant."));
    let facts: Value = serde_json::from_str(&folder.done(&["inspect", "m.json", "--json"]).out).unwrap();
    let waves = facts["sinusoids"].as_array().unwrap();
    assert!(!waves.is_empty() && waves.len() <= 20, "{}", waves.len());
    let number = |value: &Value| value.as_f64().unwrap();
    let value = |row: [f64; 2], task: usize| -> f64 {
        let wave = |w: &Value| {
            let angle = number(&w["phase"]) + (0..2).map(|d| number(&w["frequency"][d]) * row[d]).sum::<f64>();
            number(&w["weight"][task]) * angle.cos()
        };
        waves.iter().map(wave).sum()
    };
    let predicted = crate::common::read_numbers(&folder.done(&["predict", "m.json", "new.csv"]).out);
    for (task, name) in ["y", "z"].iter().enumerate() {
        let column = predicted.iter().find(|(found, _)| found.starts_with(name)).unwrap();
        let (expected, found) = (column.1[1] - column.1[0], value([-1.0, 0.7], task) - value([0.5, 0.2], task));
        assert!((expected - found).abs() < 1e-9, "{name}: {expected} {found}");
    }
}

#[test]
fn the_json_holds_the_same_as_the_model() {
    let folder = fitted();
    let facts: Value = serde_json::from_str(&folder.done(&["inspect", "model.json", "--json"]).out).unwrap();
    let model = Model::load(folder.path("model.json")).unwrap();
    assert_eq!(facts["writer"], model.writer());
    assert_eq!(facts["training"]["rows"], 60);
    assert_eq!(facts["training"]["sha256"], model.fingerprint().unwrap());
    assert_eq!(facts["training"]["sweeps"], model.trace().len());
    assert_eq!(facts["settings"]["max_iterations"], 60);
    assert_eq!(facts["kernels"].as_array().unwrap().len(), 0);
    assert_eq!(facts["active_features"], 67);
    assert_eq!(facts["targets"][1]["name"], "cost");
    assert_eq!(facts["targets"][1]["nugget_std"], model.nugget_std()[1]);
    assert_eq!(facts["targets"][1]["bandwidth"], model.bandwidths()[1]);
    assert_eq!(facts["inputs"][2]["name"], "dose");
    assert_eq!(facts["inputs"][2]["scale"][1], model.input_scales()[(2, 1)]);
    assert_eq!(facts["inputs"][2]["kernel_length"][1], model.kernel_lengths()[(2, 1)]);
    assert_eq!(facts["links"].as_array().unwrap().len(), 7);
    assert_eq!(facts["sinusoids"].as_array().unwrap().len(), 60);
    assert_eq!(facts["encoder"]["roles"]["ignore"][0], "id");
}

/// Changes a model file and gives it a checksum to match.
fn change(folder: &Folder, edit: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(&folder.text("model.json")).unwrap();
    edit(&mut value);
    value.as_object_mut().unwrap().remove("sha256");
    value["sha256"] = crate::checksum::checksum(&value).into();
    folder.put("changed.json", value.to_string());
}

#[test]
fn verify_distinguishes_whole_from_changed() {
    let folder = fitted();
    let ran = folder.done(&["verify", "model.json"]);
    assert!(ran.out.contains("largest difference") && ran.out.contains("10 probe predictions"), "{}", ran.out);
    change(&folder, |value| {
        let mean = &mut value["probes"]["mean"]["values"][3];
        *mean = (mean.as_f64().unwrap() + 1.0).into();
    });
    folder.fails(&["verify", "changed.json"], &["changed.json", "does not compute what it stored"]);
    // A byte that changes a number breaks the checksum.
    let damaged = folder.text("model.json").replacen("\"seed\":0", "\"seed\":1", 1);
    folder.put("damaged.json", damaged);
    for command in ["verify", "inspect"] {
        folder.fails(&[command, "damaged.json"], &["damaged.json", "checksum"]);
        folder.fails(&[command, "absent.json"], &["absent.json"]);
        folder.fails(&[command, "cohort.csv"], &["cohort.csv", "JSON"]);
    }
    change(&folder, |value| value["format_version"] = 99.into());
    folder.fails(&["inspect", "changed.json"], &["newer program", "upgrade"]);
}
