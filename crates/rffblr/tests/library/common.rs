//! Data for tests, and comparisons of numbers; the tests of other crates include this file.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rffblr::data::Dataset;
use rffblr::linalg::Mat;

/// Normal numbers.
pub fn normal(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
}

/// A smooth function of the first two inputs, `tasks` variations of it, and some noise.
pub fn smooth(rows: usize, inputs: usize, tasks: usize, seed: u64) -> Dataset {
    let x = normal(rows, inputs, seed);
    let error = normal(rows, tasks, seed + 1);
    let y = Mat::from_fn(rows, tasks, |n, c| {
        let second = x[(n, 1.min(inputs - 1))];
        (1.3 * x[(n, 0)]).sin() + (c as f64 - 1.0) * 0.5 * second + 0.2 * error[(n, c)]
    });
    Dataset::new(x, y).unwrap()
}

/// The same dataset with some target cells missing.
pub fn with_gaps(data: &Dataset, every: usize) -> Dataset {
    let y = Mat::from_fn(data.rows(), data.targets().ncols(), |n, c| {
        if (n + 3 * c) % every == 0 { f64::NAN } else { data.targets()[(n, c)] }
    });
    Dataset::new(data.inputs().to_owned(), y).unwrap()
}

pub fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    assert!(error < tolerance, "{what}: found {found}, expected {expected}");
}

pub fn assert_tables(what: &str, found: &Mat<f64>, expected: &Mat<f64>, tolerance: f64) {
    assert_eq!((found.nrows(), found.ncols()), (expected.nrows(), expected.ncols()));
    for j in 0..found.ncols() {
        for i in 0..found.nrows() {
            assert_close(&format!("{what}[{i},{j}]"), found[(i, j)], expected[(i, j)], tolerance);
        }
    }
}
