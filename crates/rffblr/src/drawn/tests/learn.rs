//! What learning the frequencies is for.

use super::summed;
use crate::data::Dataset;
use crate::drawn::features::Draw;
use crate::drawn::{FeatureMap, most_rows};
use crate::linalg::Mat;
use crate::settings::{Form, Precision, Settings};
use crate::steps::Stop;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Waves along three directions of six inputs, with noise; another part of the same law for another `part`.
fn waves(rows: usize, part: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(part);
    let x = Mat::from_fn(rows, 6, |_, _| rng.random_range(-1.0..1.0_f64));
    let y = Mat::from_fn(rows, 1, |n, _| {
        let along = |k: usize| (4.0 * x[(n, 2 * k)] - 3.0 * x[(n, 2 * k + 1)]).sin();
        along(0) + along(1) + along(2) + 0.2 * rng.random_range(-1.0..1.0)
    });
    Dataset::new(x, y).unwrap()
}

fn settings() -> Settings {
    Settings { form: Form::Drawn { features: Some(160), precision: Precision::Tied, effort: 1.0 }, ..Settings::DEFAULT }
}

/// Share of the variance of new rows that is not explained.
fn error(map: &FeatureMap, data: &Dataset) -> f64 {
    let model = map.model(&summed(map, data, data.rows(), &[0])).unwrap();
    let new = waves(1000, 1);
    let found = model.predict_mean(new.inputs()).unwrap();
    let square = |of: &dyn Fn(usize) -> f64| (0..new.rows()).map(|n| of(n).powi(2)).sum::<f64>();
    square(&|n| new.targets()[(n, 0)] - found[(n, 0)]) / square(&|n| new.targets()[(n, 0)])
}

/// Few features that learned their frequencies explain most of what as many drawn from the same kernel do not.
#[test]
fn learned_frequencies_predict_better_than_drawn_ones() {
    let data = waves(3000, 0);
    let map = FeatureMap::learn(&data, 3000.0, &settings(), &|_| ControlFlow::Continue(())).unwrap();
    let mut drawn = map.clone();
    drawn.draws = vec![Draw::new(6, map.draws[0].counts(), settings().seed)];
    assert!(drawn.draws != map.draws);
    let (learned, drawn) = (error(&map, &data), error(&drawn, &data));
    assert!(learned < 0.5 * drawn, "{learned} {drawn}");
}

#[test]
fn it_is_said_what_ended_the_search() {
    let data = waves(3000, 0);
    let stop = |effort: f64, max_iterations: usize| {
        let form = Form::Drawn { features: Some(400), precision: Precision::Tied, effort };
        let settings = Settings { form, max_iterations, ..Settings::DEFAULT };
        let map = FeatureMap::learn(&data, 3000.0, &settings, &|_| ControlFlow::Continue(())).unwrap();
        map.model(&summed(&map, &data, 3000, &[0])).unwrap().stop()
    };
    // A step costs 1.5 · 2700 · 401² = 6.5 · 10⁸ multiplications, of which a hundredth of the usual effort has 10¹⁰.
    assert_eq!(stop(0.01, Settings::DEFAULT.max_iterations), Stop::Effort);
    assert_eq!(stop(1.0, 3), Stop::MaxIterations);
}

/// Rows that have nothing to tell leave the frequencies as drawn, or near.
#[test]
fn frequencies_stay_where_nothing_is_to_be_learned() {
    let data = waves(3000, 0);
    let noise = Mat::from_fn(3000, 1, |n, _| ((n * 7919 + 13) % 2003) as f64 / 2003.0);
    let data = Dataset::new(data.inputs().to_owned(), noise).unwrap();
    let map = FeatureMap::learn(&data, 3000.0, &settings(), &|_| ControlFlow::Continue(())).unwrap();
    let model = map.model(&summed(&map, &data, 3000, &[0])).unwrap();
    let fitted = model.predict_mean(data.inputs()).unwrap();
    let spread = (0..3000).map(|n| (fitted[(n, 0)] - 0.5).powi(2)).sum::<f64>() / 3000.0;
    // Of a variance of 1/12.
    assert!(spread < 0.01, "{spread}");
}

/// An observer may stop it anywhere; what is there then is a model.
#[test]
fn it_stops_when_asked() {
    let data = waves(600, 0);
    for last in [1, 30, 60] {
        let stop = |step: &crate::Iteration| match step.number >= last {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let map = FeatureMap::learn(&data, 600.0, &settings(), &stop).unwrap();
        let model = map.model(&summed(&map, &data, 600, &[0])).unwrap();
        assert!(model.stop() == Stop::Requested && model.trace().len() <= last + 1, "{}", model.trace().len());
    }
}

/// Of 300 000 rows, four times the usual effort learns from all; less than the usual from as many as that.
#[test]
fn more_effort_learns_from_more_rows() {
    assert_eq!([0.1, 1.0, 2.0, 4.0, 50.0].map(most_rows), [96_000, 96_000, 192_000, 384_000, 384_000]);
}
