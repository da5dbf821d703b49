//! Against the golden file (scikit-learn's numbers), finite differences, and points that any network must learn.

use super::network::{Activation, Buffers, Network, Training};
use super::*;
use crate::golden::{golden, matrix, vector};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rffblr::linalg::Mat;
use serde_json::Value;

const ALL: [Activation; 2] = [Activation::Relu, Activation::Gaussian];

fn wave(rows: usize, columns: usize, frequency: f64) -> Mat<f64> {
    Mat::from_fn(rows, columns, |n, d| ((n * 7 + d * 13) as f64 * frequency).sin() * 1.3)
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs().max(1.0), "{what}: {found}, expected {expected}");
}

/// Weights by columns, then biases, layer after layer.
fn flat(weights: &Value, biases: &Value) -> Vec<f64> {
    let layers = weights.as_array().unwrap().iter().zip(biases.as_array().unwrap());
    let cells = |(weights, biases)| {
        let weights = matrix(weights);
        let columns = (0..weights.ncols()).flat_map(|c| weights.col_as_slice(c).to_vec()).collect::<Vec<_>>();
        columns.into_iter().chain(vector(biases))
    };
    layers.flat_map(cells).collect()
}

/// The gradient and the loss at all rows.
fn evaluate(network: &Network, x: &Mat<f64>, y: &Mat<f64>, penalty: f64) -> (Vec<f64>, f64) {
    let mut buffers = Buffers::new(network, x.nrows() + 2);
    let all: Vec<usize> = (0..x.nrows()).collect();
    buffers.load(x, y, &all);
    let loss = network.gradient(&mut buffers, all.len(), penalty);
    (buffers.gradient, loss)
}

#[test]
fn every_number_of_the_golden_file() {
    let file = golden("mlp.json");
    let (x, y, penalty) = (matrix(&file["X"]), matrix(&file["Y"]), file["alpha"].as_f64().unwrap());
    let mut network = Network::zero(&[3, 4, 2, 2], Activation::Relu);
    network.parameters = flat(&file["W"], &file["b"]);
    let predictions = network.predict(x.as_ref());
    let expected = matrix(&file["pred"]);
    for c in 0..2 {
        for n in 0..5 {
            close("prediction", predictions[(n, c)], expected[(n, c)], 1e-13);
        }
    }
    let (gradient, loss) = evaluate(&network, &x, &y, penalty);
    close("loss", loss, file["loss_sklearn"].as_f64().unwrap(), 1e-13);
    let expected = flat(&file["grad_W"], &file["grad_b"]);
    assert_eq!(gradient.len(), expected.len());
    gradient.iter().zip(expected).for_each(|(found, expected)| close("gradient", *found, expected, 1e-13));
}

/// Σ‖p − y‖²/(2n) + a Σ‖W‖²/(2n) from predictions alone.
fn objective(network: &Network, sizes: &[usize], x: &Mat<f64>, y: &Mat<f64>, penalty: f64) -> f64 {
    let p = network.predict(x.as_ref());
    let misses: f64 =
        (0..y.ncols()).flat_map(|c| (0..y.nrows()).map(move |n| (n, c))).map(|at| (p[at] - y[at]).powi(2)).sum();
    let (mut size, mut start) = (0.0, 0);
    for pair in sizes.windows(2) {
        size += network.parameters[start..start + pair[0] * pair[1]].iter().map(|w| w * w).sum::<f64>();
        start += pair[0] * pair[1] + pair[1];
    }
    (misses + penalty * size) / (2.0 * x.nrows() as f64)
}

#[test]
fn gradients_equal_central_differences_for_every_activation() {
    let (x, y) = (wave(7, 3, 0.37), wave(7, 2, 0.53));
    for activation in ALL {
        for sizes in [&[3, 2][..], &[3, 5, 2], &[3, 6, 4, 3, 2]] {
            let mut network = Network::draw(sizes, activation, &mut ChaCha8Rng::seed_from_u64(4));
            let (gradient, _) = evaluate(&network, &x, &y, 0.3);
            for (i, slope) in gradient.into_iter().enumerate() {
                let at = network.parameters[i];
                let mut moved = |step: f64| {
                    network.parameters[i] = at + step;
                    objective(&network, sizes, &x, &y, 0.3)
                };
                let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                network.parameters[i] = at;
                close(&format!("{activation:?} {sizes:?} {i}"), slope, difference, 1e-8);
            }
        }
    }
}

#[test]
fn five_points_are_learned_by_heart() {
    let (x, y) = (wave(5, 2, 0.41), wave(5, 2, 0.77));
    let how = Training { rate: 4e-3, epochs: 1000, patience: 1000, ..TRAINING };
    for activation in ALL {
        for hidden in [HIDDEN[0], HIDDEN[4]] {
            let (network, _) = Network::train(hidden, activation, &x, &y, &how, 1, |_, _| {});
            let p = network.predict(x.as_ref());
            let worst =
                (0..2).flat_map(|c| (0..5).map(move |n| (n, c))).map(|at| (p[at] - y[at]).abs()).fold(0.0, f64::max);
            assert!(worst < 0.05, "{activation:?} {hidden:?}: {worst}");
        }
    }
}

#[test]
fn training_stops_when_ten_epochs_do_not_help() {
    let (x, y) = (wave(30, 2, 0.41), wave(30, 1, 0.77));
    let epochs = |how: Training| Network::train(&[10], Activation::Gaussian, &x, &y, &how, 1, |_, _| {}).1;
    // No gain is ever enough: the first epoch is one over infinity, then patience and one more run out.
    assert_eq!(epochs(Training { tolerance: 1e9, ..TRAINING }), 12);
    assert_eq!(epochs(Training { tolerance: 1e9, patience: 3, ..TRAINING }), 5);
    assert_eq!(epochs(Training { tolerance: -1e9, epochs: 77, ..TRAINING }), 77);
    // With the usual tolerance it stops by itself, later, before the limit.
    let usual = epochs(Training { epochs: 100_000, ..TRAINING });
    assert!(usual > 100 && usual < 20_000, "{usual}");
}

/// One training gives the networks that trainings of their own would give.
#[test]
fn a_longer_training_begins_as_a_shorter_one() {
    let (x, y) = (wave(30, 2, 0.41), wave(30, 2, 0.77));
    let method = Fnn { activation: Activation::Relu };
    let alone = |epochs: usize, y: &Mat<f64>| {
        Network::train(HIDDEN[1], method.activation, &x, y, &Training { epochs, ..TRAINING }, 5, |_, _| {})
    };
    let networks = method.after_each_limit(HIDDEN[1], &x, &y, 5);
    assert_eq!(networks.len(), EPOCHS.len());
    for (network, epochs) in networks.iter().zip(EPOCHS) {
        let (expected, taken) = alone(epochs, &y);
        assert!(network.parameters == expected.parameters && taken > EPOCHS[0] - 1, "{epochs}: {taken}");
    }
    assert!(networks[0].parameters != networks[1].parameters);
    // Nothing to learn: training ends long before either limit.
    let nothing = Mat::zeros(30, 2);
    let networks = method.after_each_limit(HIDDEN[1], &x, &nothing, 5);
    let (expected, taken) = alone(EPOCHS[0], &nothing);
    assert!(taken < EPOCHS[0], "{taken}");
    assert!(networks.iter().all(|network| network.parameters == expected.parameters));
}

#[test]
fn starting_weights_fill_their_range() {
    for activation in ALL {
        let network = Network::draw(&[40, 60], activation, &mut ChaCha8Rng::seed_from_u64(2));
        let bound = (6.0 / 100.0f64).sqrt();
        let variance = network.parameters.iter().map(|w| w * w).sum::<f64>() / network.parameters.len() as f64;
        assert!(network.parameters.iter().all(|w| w.abs() <= bound));
        assert!((variance / (bound * bound / 3.0) - 1.0).abs() < 0.08, "{variance}");
    }
}

#[test]
fn a_row_far_outside_is_refused_or_finite() {
    let data = Dataset::new(wave(12, 2, 0.3), wave(12, 1, 0.9)).unwrap();
    for activation in ALL {
        let fitted = Fnn { activation }.fit(&data, &Plan { grid: Grid::Coarse, ..Plan::seeded(0) }).unwrap();
        for far in [1e6, 1e300, -1e308] {
            match fitted.predict(Mat::from_fn(2, 2, |_, _| far).as_ref()) {
                Ok(forecast) => assert!(forecast.mean.col_as_slice(0).iter().all(|v| v.is_finite())),
                Err(error) => assert!(error.to_string().contains("too far outside"), "{error}"),
            }
        }
    }
}
