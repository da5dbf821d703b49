//! Sums, posterior and streams against brute force.

mod accumulator;
mod ard;
mod held;
mod learn;
mod posterior;
mod stream;

use super::{Accumulator, FeatureMap};
use crate::data::{Dataset, Weights};
use crate::linalg::Mat;
use crate::settings::{Form, Precision, Settings};
use std::ops::ControlFlow;

pub(super) fn settings(features: usize) -> Settings {
    let form = Form::Drawn { features: Some(features), precision: Precision::Tied, effort: 1.0 };
    Settings { form, max_iterations: 3, seed: 4, ..Settings::DEFAULT }
}

/// Two inputs and three targets; weights are 1, 2 and 3 in turn, and a fifth of the cells of the second target is missing.
pub(super) fn data(rows: usize) -> Dataset {
    let x = Mat::from_fn(rows, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin() + (n as f64 * 0.37).cos());
    let y = Mat::from_fn(rows, 3, |n, c| match c == 1 && n % 5 == 2 {
        true => f64::NAN,
        false => (2.0 * x[(n, c % 2)]).sin() + 0.3 * (1 + c) as f64 * ((n * 7 + c) as f64).cos(),
    });
    let weights = (0..rows).map(|n| (1 + n % 3) as f64).collect();
    Dataset::new(x, y).unwrap().with_weights(Weights::Repeats(weights)).unwrap()
}

pub(super) fn learned(data: &Dataset, features: usize) -> FeatureMap {
    FeatureMap::learn(data, data.effective_rows(), &settings(features), &|_| ControlFlow::Continue(())).unwrap()
}

/// Adds blocks of some rows each, in the given order of their numbers.
pub(super) fn summed(map: &FeatureMap, data: &Dataset, size: usize, blocks: &[usize]) -> Accumulator {
    let mut sums = Accumulator::new(map);
    for &block in blocks {
        add(&mut sums, data, size, block).unwrap();
    }
    sums
}

pub(super) fn add(sums: &mut Accumulator, data: &Dataset, size: usize, block: usize) -> crate::Result<()> {
    let (start, end) = (block * size, data.rows().min((block + 1) * size));
    let rows = |table: crate::linalg::MatRef<'_, f64>| table.subrows(start, end - start).to_owned();
    let weights = data.given_weights().map(|weights| &weights.values()[start..end]);
    sums.update(block as u64, rows(data.inputs()).as_ref(), rows(data.targets()).as_ref(), weights)
}

/// The gradient of a function equals central differences.
pub(super) fn expect_gradient(at: &[f64], function: impl Fn(&[f64]) -> (f64, Vec<f64>)) {
    let (_, gradient) = function(at);
    assert_eq!(gradient.len(), at.len());
    for i in 0..at.len() {
        let shifted = |by: f64| {
            let mut moved = at.to_vec();
            moved[i] += by;
            function(&moved).0
        };
        let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
        assert!((slope - gradient[i]).abs() < 1e-6 * slope.abs().max(1.0), "{i}: {slope} {}", gradient[i]);
    }
}
