//! The posterior against its definition, brute force and limiting cases.

use super::super::learn::factorised;
use super::super::noise::{REACH, STEP, WIDTH};
use super::super::tests::example;
use super::*;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

fn data(weights: Option<&[f64]>) -> (Mat<f64>, Mat<f64>, KernelMachine) {
    let x = Mat::from_fn(16, 2, |n, d| ((n * 5 + d * 3) as f64 * 0.8).sin());
    let y = Mat::from_fn(16, 3, |n, c| {
        let noise = 0.3 * c as f64 * ((n * 7 + c) as f64).cos();
        if c == 1 && n % 5 == 2 { f64::NAN } else { (2.0 * x[(n, 0)]).sin() + noise }
    });
    let problem = Problem::new(x.clone(), y.clone(), weights);
    let machine = KernelMachine::new(&problem, example(2), 0.1, Threads::ONE).unwrap();
    (x, y, machine)
}

fn restored(m: KernelMachine) -> KernelMachine {
    let levels = TaskLevels { noise: m.noise, amplitude: m.amplitude, correction: m.correction };
    KernelMachine::restore(m.kernel, m.inputs, m.root, m.observed, levels, m.coefficients).unwrap()
}

/// Against a refit without the row at the same kernel, noise and amplitude; with weights, one of them zero.
#[test]
fn leave_one_out_is_what_refitting_gives() {
    let weights: Vec<f64> = (0..16).map(|n| [1.0, 0.5, 3.0, 0.0][n % 4]).collect();
    for weights in [None, Some(weights.as_slice())] {
        let (x, y, machine) = data(weights);
        let LeftOut { residual, variance, leverage } = machine.leave_one_out();
        let fitted = machine.predict(x.as_ref(), false, Threads::ONE).0;
        for task in 0..3 {
            let learned = |n: &usize| !y[(*n, task)].is_nan() && machine.root[*n] > 0.0;
            for row in (0..16).filter(learned) {
                let others: Vec<usize> = (0..16).filter(|n| *n != row && learned(n)).collect();
                let gram = machine.kernel.gram(&x, Threads::ONE);
                let root: Vec<f64> = others.iter().map(|&n| machine.root[n]).collect();
                let factor = factorised(&gram, Some(&others), &root, machine.noise[task], Threads::ONE).unwrap();
                let cross = machine.kernel.cross(&x, x.as_ref().subrows(row, 1), Threads::ONE);
                let mut k = select_rows(cross.as_ref(), &others);
                let mut z = Mat::from_fn(others.len(), 1, |i, _| y[(others[i], task)]);
                scale_rows(&mut k, &root);
                scale_rows(&mut z, &root);
                factor.half_solve(k.as_mut());
                factor.half_solve(z.as_mut());
                let mean = dot(k.col_as_slice(0), z.col_as_slice(0));
                let prior = machine.kernel.diagonal(x.as_ref().subrows(row, 1))[0];
                let left = prior - dot(k.col_as_slice(0), k.col_as_slice(0));
                assert!((y[(row, task)] - mean - residual[(row, task)]).abs() < 1e-9);
                assert!((machine.amplitude[task] * left - variance[(row, task)]).abs() < 1e-9);
                // The fitted value lies that share of the way from there to the observed one.
                let moved = leverage[(row, task)] * residual[(row, task)];
                assert!((fitted[(row, task)] - mean - moved).abs() < 1e-9);
            }
        }
    }
}

/// The search tries few levels; trying all of them finds no better one. Noisier tasks get more noise.
#[test]
fn each_task_finds_its_own_noise() {
    let (x, y, machine) = data(None);
    let gram = machine.kernel.gram(&x, Threads::ONE);
    for task in 0..3 {
        let rows: Vec<usize> = (0..16).filter(|&n| !y[(n, task)].is_nan()).collect();
        let count = rows.len() as f64;
        // (27), with nothing shared.
        let score = |offset: i32| {
            let noise = 0.1 * (STEP * f64::from(offset)).exp();
            let factor = factorised(&gram, Some(&rows), &vec![1.0; rows.len()], noise, Threads::ONE).unwrap();
            let mut z = Mat::from_fn(rows.len(), 1, |i, _| y[(rows[i], task)]);
            factor.half_solve(z.as_mut());
            let amplitude = dot(z.col_as_slice(0), z.col_as_slice(0)) / count;
            let away = STEP * f64::from(offset) / WIDTH;
            (-0.5 * factor.ln_det() - 0.5 * count * amplitude.ln() - 0.5 * away * away, noise)
        };
        let best = (-REACH..=REACH).map(score).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert!((machine.noise[task] / best.1 - 1.0).abs() < 1e-12, "{} {}", machine.noise[task], best.1);
    }
    assert!(machine.noise_variance(0) < machine.noise_variance(1));
    assert!(machine.noise_variance(1) < machine.noise_variance(2));
}

#[test]
fn predictions_in_blocks_equal_those_at_once() {
    let (_, _, machine) = data(None);
    let new = Mat::from_fn(BLOCK + 3, 2, |n, d| (n as f64 * 0.01).sin() - d as f64);
    let (at_once, _) = machine.predict(new.as_ref(), false, Threads::ONE);
    let means = machine.means(new.as_ref(), Threads::ONE);
    let rows = (0..at_once.nrows()).flat_map(|i| (0..3).map(move |c| (i, c)));
    assert!(rows.into_iter().all(|cell| (means[cell] - at_once[cell]).abs() < 1e-12));
}

#[test]
fn an_integer_weight_is_a_repeated_row() {
    let weights: Vec<f64> = (0..16).map(|n| (n % 3) as f64).collect();
    let (x, y, weighted) = data(Some(&weights));
    let rows: Vec<usize> = (0..16).flat_map(|n| std::iter::repeat_n(n, weights[n] as usize)).collect();
    let problem = Problem::new(select_rows(x.as_ref(), &rows), select_rows(y.as_ref(), &rows), None);
    let repeated = KernelMachine::new(&problem, example(2), 0.1, Threads::ONE).unwrap();
    let new = Mat::from_fn(5, 2, |n, d| (n as f64 - 2.0) * 0.6 + d as f64);
    let (a, b) =
        (weighted.predict(new.as_ref(), true, Threads::ONE), repeated.predict(new.as_ref(), true, Threads::ONE));
    let (va, vb) = (a.1.unwrap(), b.1.unwrap());
    for c in 0..3 {
        assert!((weighted.noise_variance(c) - repeated.noise_variance(c)).abs() < 1e-9);
        for i in 0..5 {
            assert!((a.0[(i, c)] - b.0[(i, c)]).abs() < 1e-9 && (va[(i, c)] - vb[(i, c)]).abs() < 1e-9);
        }
    }
}

#[test]
fn draws_have_the_predicted_mean_and_variance() {
    let (_, _, machine) = data(None);
    let new = Mat::from_fn(3, 2, |n, d| n as f64 * 0.7 - d as f64 * 0.4);
    let (mean, variance) = machine.predict(new.as_ref(), true, Threads::ONE);
    let variance = variance.unwrap();
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let mut draws: Vec<Mat<f64>> =
        (0..4000).map(|_| Mat::from_fn(3, 3, |_, _| StandardNormal.sample(&mut rng))).collect();
    machine.sample(new.as_ref(), &mut draws, Threads::ONE);
    for c in 0..3 {
        for i in 0..3 {
            let values: Vec<f64> = draws.iter().map(|d| d[(i, c)]).collect();
            let centre = values.iter().sum::<f64>() / 4000.0;
            let spread = values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / 4000.0;
            // Five standard errors.
            assert!((centre - mean[(i, c)]).abs() < 5.0 * (variance[(i, c)] / 4000.0).sqrt());
            assert!((spread / variance[(i, c)] - 1.0).abs() < 5.0 * (2.0f64 / 4000.0).sqrt());
        }
    }
}

/// Of few rows and of many, all of which are there twice, so that the matrix is singular.
#[test]
fn a_square_root_times_itself_is_the_matrix() {
    let kernel = example(2);
    for rows in [40, 700] {
        let x = Mat::from_fn(rows, 2, |n, d| ((n % (rows / 2) * 5 + d * 3) as f64 * 0.8).sin());
        let mut s = kernel.gram(&x, Threads::ONE);
        fill_upper(s.as_mut());
        let root = square_root(s.clone(), &kernel.diagonal(x.as_ref()), Threads::ONE).unwrap();
        let product = multiply(root.as_ref(), root.as_ref().transpose(), Threads::ONE);
        assert!((0..rows).all(|j| (0..rows).all(|i| (product[(i, j)] - s[(i, j)]).abs() < 1e-8)));
    }
}

#[test]
fn a_restored_machine_predicts_the_same_bits() {
    let (_, _, machine) = data(None);
    let again = restored(machine.clone());
    let new = Mat::from_fn(7, 2, |n, d| n as f64 * 0.3 - d as f64);
    assert!(machine.predict(new.as_ref(), true, Threads::ONE) == again.predict(new.as_ref(), true, Threads::ONE));
}

/// A machine of more rows than variances are computed from: far from all rows the prior variance stays, at new rows of the
/// same kind the variance is nearly that given all rows, on average without bias, and a restored machine has the same bits.
#[test]
fn variances_from_a_sample_of_the_rows_are_nearly_exact() {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
    let mut normal = |rows: usize, columns: usize| -> Mat<f64> {
        Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
    };
    let rows = variance::VARIANCE_ROWS + 700;
    let (x, noise, new) = (normal(rows, 2), normal(rows, 2), normal(60, 2));
    let y = Mat::from_fn(rows, 2, |n, c| {
        let seen = (2.0 * x[(n, 0)]).sin() + x[(n, 1)] + (0.2 + c as f64) * noise[(n, c)];
        if c == 1 && n % 10 == 3 { f64::NAN } else { seen }
    });
    let machine = KernelMachine::new(&Problem::new(x, y, None), example(2), 0.1, Threads::current()).unwrap();
    assert!(machine.correction.iter().all(|k| *k > 0.0 && *k < 1.0), "{:?}", machine.correction);
    let (_, found) = machine.predict(new.as_ref(), true, Threads::current());
    let cross = machine.kernel.cross(&machine.inputs, new.as_ref(), Threads::current());
    let (_, exact) = machine.functionals(&cross, Some(&machine.kernel.diagonal(new.as_ref())), Threads::current());
    let (found, exact) = (found.unwrap(), exact.unwrap());
    for c in 0..2 {
        let ratio = |i: usize| (found[(i, c)] / exact[(i, c)]).sqrt();
        let mean = (0..60).map(ratio).sum::<f64>() / 60.0;
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
        assert!((0..60).all(|i| (0.7..1.5).contains(&ratio(i))), "{:?}", (0..60).map(ratio).collect::<Vec<_>>());
    }
    // Only the linear part and the bias reach that far.
    let far = Mat::from_fn(1, 2, |_, d| 40.0 - 80.0 * d as f64);
    let (_, left) = machine.predict(far.as_ref(), true, Threads::current());
    let smooth = machine.kernel.rbf.variance + machine.kernel.laplace_l1.variance;
    let left = left.unwrap()[(0, 0)] / machine.amplitude[0];
    assert!(left > 0.999 * smooth, "{left} of {smooth}");
    let again = restored(machine.clone());
    assert!(again.predict(new.as_ref(), true, Threads::current()).1.unwrap() == found);
}

/// What a device does, done by the processor: the same machine, and leave-one-out without its factors.
#[test]
fn a_machine_of_a_backend_is_the_machine() {
    for weights in [None, Some((0..16).map(|n| (n % 3) as f64).collect::<Vec<_>>())] {
        let (x, y, machine) = data(weights.as_deref());
        let problem = Problem::new(x, y, weights.as_deref());
        let there = KernelMachine::fitted_there(&Host(Threads::ONE), &problem, example(2), 0.1).unwrap();
        assert_eq!(there.noise, machine.noise);
        assert!(there.coefficients == machine.coefficients && there.shares.get().is_none());
        let (a, b) = (there.leave_one_out(), machine.leave_one_out());
        assert!(a.residual == b.residual && a.variance == b.variance && a.leverage == b.leverage);
        assert!(there.shares.get().is_none());
    }
}
