//! Model files of every format that programs have written: `formats/VERSION/*.json`. They stay as they are. One file for each
//! form of the function, fitted to 24 rows with a text, a gap and a skewed target by version 0.1.0 (3b9db85):
//! `rffblr fit t.csv --targets=y,z --check=off` with `--preset=exact`, the same with `--sparsity=0.5`,
//! `--preset=paper --features=8 --max-iterations=20`, and `--preset=cosines --features=8 --max-iterations=5`, also with
//! `--precision=free`.

use rffblr::{FORMAT_VERSION, Model};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn files(version: u64) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/formats").join(version.to_string());
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_model_of_every_format_predicts_what_it_did() {
    for version in 1..=FORMAT_VERSION {
        let files = files(version);
        let mut forms = std::collections::BTreeSet::new();
        for path in &files {
            let what = path.display();
            let text = std::fs::read_to_string(path).unwrap();
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["format_version"], version, "{what}");
            forms.insert(value["function"].as_object().unwrap().keys().next().unwrap().clone());
            let found = Model::verify(path).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(found.holds() && found.cells == 10, "{what}: {found:?}");
            let model = Model::load(path).unwrap();
            assert_eq!(model.target_names(), ["y", "z"], "{what}");
            assert!(model.encoder().is_some(), "{what}");
            // This program's file of it is the same model.
            let again = Model::from_json(&model.to_json().unwrap()).unwrap();
            assert_eq!(again.trace(), model.trace(), "{what}");
        }
        assert_eq!(forms.into_iter().collect::<Vec<_>>(), ["cosines", "drawn", "kernel", "sinusoids"]);
    }
}

/// Fields that were added to a format can be absent: files without them are as old as the format.
#[test]
fn what_a_format_did_not_have_at_first_can_be_absent() {
    for path in files(1) {
        let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let fields = value.as_object_mut().unwrap();
        for name in ["sha256", "transforms", "encoder", "check", "error_quantiles"] {
            fields.remove(name);
        }
        let training = fields["training"].as_object_mut().unwrap();
        for name in ["rows_sha256", "inputs_sha256", "weights", "set_aside"] {
            training.remove(name);
        }
        value["sha256"] = Value::String(crate::checksum::checksum(&value));
        let model = Model::from_json(&value.to_string()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(model.encoder().is_none() && model.transforms().iter().all(Option::is_none));
    }
}
