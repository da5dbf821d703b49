//! `rffblr export`: files, endings, what is refused. That exports have the numbers of `predict` is for `tests/exports`.

use crate::common::{Folder, fitted};

#[test]
fn every_target_is_written_where_it_should_be() {
    let folder = fitted();
    for (to, file, says) in [
        ("python", "model.py", "def predict(row):"),
        ("c", "model.h", "static inline int model_predict("),
        ("javascript", "model.mjs", "export function predict(row)"),
        ("sql", "model.sql", "\"glucose_upper\""),
    ] {
        let ran = folder.done(&["export", "model.json", "--to", to]);
        assert!(ran.err.contains(&format!("Wrote {file}")), "{}", ran.err);
        assert!(folder.text(file).contains(says), "{to}");
        folder.fails(&["export", "model.json", "--to", to], &[file, "already exists", "--force"]);
        // The same on standard output.
        assert_eq!(folder.done(&["export", "model.json", "--to", to, "-o", "-"]).out, folder.text(file));
    }
    folder.done(&["export", "model.json", "-o", "a.onnx", "-q"]);
    folder.done(&["export", "model.json", "-o", "a.xlsx", "-q"]);
    let facts: serde_json::Value = serde_json::from_str(&folder.text("a.inputs.json")).unwrap();
    assert_eq!(facts["targets"][0], "glucose");
    assert_eq!(facts["numbers"][0]["name"], "age");
    let names = folder.names();
    for name in ["a.onnx", "a.inputs.json", "a.xlsx"] {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }
}

#[test]
fn statements_name_table_dialect_and_kept_columns() {
    let folder = fitted();
    let more = ["--dialect", "postgresql", "--table", "the cohort", "--keep", "id"];
    let text = folder.done(&[&["export", "model.json", "--to", "sql", "-o", "-"], &more[..]].concat()).out;
    for word in [
        "FROM \"the cohort\" AS rffblr_data",
        "rffblr_data.\"age\"",
        "rffblr_data.\"id\" AS k0",
        "double precision",
        "k0 AS \"id\"",
        "WITH rffblr_nodes AS MATERIALIZED",
    ] {
        assert!(text.contains(word), "{word}");
    }
    let less = folder.done(&["export", "model.json", "--to", "sql", "-o", "-", "--no-std"]).out;
    assert!(less.len() < text.len() && !less.contains("_upper"));
}

#[test]
fn what_cannot_be_exported_says_why() {
    let folder = fitted();
    folder.fails(&["export", "model.json"], &["--to onnx", "--to xlsx"]);
    folder.fails(&["export", "model.json", "-o", "a.txt"], &["a.txt", "--to"]);
    folder.fails(&["export", "model.json", "--to", "xlsx", "-o", "-"], &["no text", "-o"]);
    folder.fails(&["export", "model.json", "--to", "python", "-o", "model.json", "--force"], &["same file"]);
    assert_eq!(folder.run(&["export", "model.json", "--to", "cobol"]).code, 2);
}

#[test]
fn a_machine_too_large_for_a_target_names_the_flags() {
    let folder = Folder::new();
    let row = |n: usize| format!("{},{}\n", n as f64 / 20.0, (n as f64 / 10.0).sin());
    folder.put("wave.csv", "x,y\n".to_string() + &(0..300).map(row).collect::<String>());
    let fit = ["fit", "wave.csv", "--targets", "y", "--check", "off", "--max-iterations", "2", "-o", "m.json", "-q"];
    folder.done(&fit);
    let says = ["a kernel machine of 300 rows", "sql takes at most 40000", "--no-std", "--sparsity"];
    folder.fails(&["export", "m.json", "--to", "sql"], &says);
    folder.done(&["export", "m.json", "--to", "sql", "--no-std"]);
}
