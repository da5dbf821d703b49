//! Numbers of independent implementations, for tests: `golden/*.json` beside the checkout, or under `$RFFBLR_DATA`.

use rffblr::linalg::Mat;
use serde_json::Value;
use std::path::PathBuf;

/// A golden file, or `None` with a word about it where there is none.
pub(crate) fn golden(name: &str) -> Option<Value> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let given = std::env::var_os("RFFBLR_DATA").map(PathBuf::from);
    let folders = given.into_iter().flat_map(|data| [data.join(".."), data]).chain([beside]);
    let path = folders.map(|folder| folder.join("golden").join(name)).find(|path| path.exists());
    let Some(path) = path else {
        eprintln!("SKIPPED: golden/{name} is neither in $RFFBLR_DATA nor in ../shared");
        return None;
    };
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// A list of numbers.
pub(crate) fn vector(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// A list of rows.
pub(crate) fn matrix(value: &Value) -> Mat<f64> {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(vector).collect();
    Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}
