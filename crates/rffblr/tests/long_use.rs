//! Many fits and predictions in one process: neither memory nor open files grow. RFFBLR_FITS=20000 is a day's worth.
#![cfg(target_os = "linux")]

use rffblr::data::Dataset;
use rffblr::linalg::Mat;
use rffblr::{Model, Settings, fit};

/// Memory in use in kilobytes, and the number of open files.
fn in_use() -> (i64, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes = line.split_whitespace().next().unwrap().parse().unwrap();
    (kilobytes, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

#[test]
fn fits_without_number_take_no_more_memory() {
    let fits: usize = std::env::var("RFFBLR_FITS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let presets = ["exact", "paper"].map(|name| {
        let given = [("max-iterations".to_owned(), "3".to_owned())];
        Settings::named(Some(name), &given).unwrap()
    });
    let mut before = None;
    for round in 0..fits {
        let inputs = Mat::from_fn(10 + round % 5, 2, |n, d| ((n * (d + 2) + round) as f64 * 0.7).sin());
        let targets = Mat::from_fn(inputs.nrows(), 1, |n, _| inputs[(n, 0)] + 0.3 * inputs[(n, 1)]);
        let data = Dataset::new(inputs, targets).unwrap();
        fit(&data, &presets[round % 2]).unwrap().save(&path).unwrap();
        let predicted = Model::load(&path).unwrap().predict(data.inputs()).unwrap();
        assert!(predicted.mean[(0, 0)].is_finite());
        // By then all threads and buffers are there.
        if round == fits / 3 {
            before = Some(in_use());
        }
    }
    let ((memory, files), (after, open)) = (before.unwrap(), in_use());
    println!("{fits} fits: {memory} kB after a third of them, {after} kB at the end");
    assert!(after < memory + 20_000, "{memory} kB became {after} kB");
    assert!(open <= files, "{files} open files became {open}");
}
