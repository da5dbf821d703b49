//! Data no method should meet, for the tests of all of them.

use crate::method::Method;
use crate::select::{Grid, Plan};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rffblr::data::{Dataset, Weights};
use rffblr::linalg::Mat;

/// Fits small tables full of extreme numbers: every fit is refused or predicts numbers, never NaN, never a panic.
pub(crate) fn survives_extremes(method: &dyn Method) {
    let numbers = || {
        prop::sample::select(vec![0.0, 1.0, -1.0, 0.5, 3.0, 1e300, -1e300, f64::MAX, f64::MIN, 5e-324, 1e-300, 1e150])
    };
    let targets = || prop_oneof![4 => numbers(), 1 => Just(f64::NAN)];
    let weights = prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 2.5, 1e-300, 1e300]), 7);
    let weights = prop_oneof![weights.clone().prop_map(Weights::Relative), weights.prop_map(Weights::Repeats)];
    let weights = prop::option::of(weights);
    let table = (prop::collection::vec(numbers(), 21), prop::collection::vec(targets(), 14), weights);
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 60, failure_persistence: None, ..Config::default() },
        prop::test_runner::TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha),
    );
    let check = |(inputs, targets, weights): (Vec<f64>, Vec<f64>, Option<Weights>)| {
        let x = Mat::from_fn(7, 3, |n, d| inputs[3 * n + d]);
        let y = Mat::from_fn(7, 2, |n, c| targets[2 * n + c]);
        let data = Dataset::new(x.clone(), y).and_then(|data| match weights {
            Some(weights) => data.with_weights(weights),
            None => Ok(data),
        });
        let plan = Plan { grid: Grid::Coarse, ..Plan::seeded(1) };
        let Ok(fitted) = data.and_then(|data| method.fit(&data, &plan)) else { return Ok(()) };
        let far = Mat::from_fn(3, 3, |n, d| if n == d { f64::MAX } else { -1e300 });
        for questions in [x, far] {
            let Ok(forecast) = fitted.predict(questions.as_ref()) else { continue };
            let std = forecast.std.unwrap_or(Mat::zeros(0, 0));
            for table in [forecast.mean, std] {
                for c in 0..table.ncols() {
                    prop_assert!(table.col_as_slice(c).iter().all(|v| !v.is_nan()), "{table:?}");
                }
            }
        }
        Ok(())
    };
    runner.run(&table, check).unwrap();
    // Inputs that were constant in training have scale one: whatever comes later is as far out as it is large.
    let flat = (0..21).map(|i| if i % 3 == 2 { 1.0 } else { (i as f64).sin() }).collect();
    let targets = (0..14).map(|i| (i as f64 * 1.7).cos()).collect();
    check((flat, targets, None)).unwrap();
}
