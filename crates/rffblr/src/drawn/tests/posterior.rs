//! The posterior in function space: with K = ΦA⁻¹Φᵀ over the rows, each repeated as often as its weight says.

use super::super::features::Draw;
use super::super::learn::Group;
use super::super::posterior::{Context, refine, refinement, solve};
use super::super::sums::{Sums, System};
use super::{data, expect_gradient};
use crate::data::Dataset;
use crate::device::Host;
use crate::kernel::{Family, Kernel, KernelMachine};
use crate::linalg::{Cholesky, Mat, Threads, dot, multiply, scale_columns, scale_rows, select_rows};
use crate::model::{Function, Model, Posterior, fit};
use crate::problem::Problem;
use crate::settings::{Form, Precision, Settings};

const ONE: Threads = Threads::ONE;

fn kernel() -> Kernel {
    Kernel {
        linear: 0.4,
        rbf: Family { variance: 0.7, bandwidth: 0.3 },
        laplace_l1: Family { variance: 0.5, bandwidth: 0.4 },
        input_scales: vec![0.8, 1.3],
    }
}

fn group(noise: [f64; 3]) -> Group {
    Group { tasks: vec![0, 1, 2], kernel: kernel(), shared_noise: 0.1, noise: noise.to_vec() }
}

fn root(data: &Dataset) -> Vec<f64> {
    data.weights().map_or(vec![1.0; data.rows()], |weights| weights.iter().map(|w| w.sqrt()).collect())
}

fn systems(draw: &Draw, data: &Dataset) -> Vec<System<Mat<f64>>> {
    let (mut features, mut y) = (draw.basis(&kernel()).features_and_one(data.inputs()), data.targets().to_owned());
    scale_rows(&mut features, &root(data));
    scale_rows(&mut y, &root(data));
    let mut sums = Sums::new(draw.columns(), 3);
    sums.add_features(&features, &y, &root(data));
    sums.systems(&Host(ONE))
}

fn context(rounding: &[f64; 3]) -> Context<'_, Host> {
    Context { backend: &Host(ONE), rounding, relative: false }
}

fn predicted(draw: &Draw, posterior: &Posterior, new: &Mat<f64>) -> (Mat<f64>, Mat<f64>) {
    let design = draw.basis(&kernel()).features_and_one(new.as_ref());
    (multiply(design.as_ref(), posterior.mean.as_ref(), ONE), posterior.variance(&design, ONE))
}

fn places(rows: usize) -> Mat<f64> {
    Mat::from_fn(rows, 2, |n, d| (n as f64 * 1.3 + d as f64).sin() * 1.5)
}

#[test]
fn it_is_the_posterior_given_every_row_as_often_as_its_weight_says() {
    let (data, new) = (data(40), places(6));
    let draw = Draw::new(2, [3, 4], 1);
    let noise = [0.05, 0.3, 0.05];
    let (_, posterior) = solve(&systems(&draw, &data), &draw, group(noise), true, context(&[0.0; 3])).unwrap();
    // One factor for the tasks of the same rows and noise.
    assert_eq!(posterior.shapes.iter().map(|shape| shape.tasks.len()).collect::<Vec<_>>(), [1, 2]);
    let (mean, variance) = predicted(&draw, &posterior, &new);
    let whitened = |rows: &Mat<f64>| {
        let mut psi = draw.basis(&kernel()).features_and_one(rows.as_ref());
        let precision = draw.precision(&kernel());
        scale_columns(&mut psi, |j| precision[j].sqrt().recip());
        psi
    };
    for c in 0..3 {
        let repeats = |n: usize| std::iter::repeat_n(n, data.weights().unwrap()[n] as usize);
        let rows: Vec<usize> = (0..40).filter(|&n| !data.targets()[(n, c)].is_nan()).flat_map(repeats).collect();
        let psi = whitened(&select_rows(data.inputs(), &rows));
        let mut k = multiply(psi.as_ref(), psi.transpose(), ONE);
        (0..rows.len()).for_each(|i| k[(i, i)] += noise[c]);
        let factor = Cholesky::new(k, ONE).unwrap();
        let mut y = Mat::from_fn(rows.len(), 1, |i, _| data.targets()[(rows[i], c)]);
        factor.half_solve(y.as_mut());
        let amplitude = dot(y.col_as_slice(0), y.col_as_slice(0)) / rows.len() as f64;
        assert!((posterior.unit[c] / amplitude - 1.0).abs() < 1e-8);
        let at = whitened(&new);
        let mut cross = multiply(psi.as_ref(), at.transpose(), ONE);
        factor.half_solve(cross.as_mut());
        for i in 0..6 {
            let k = cross.col_as_slice(i);
            assert!((mean[(i, c)] - dot(k, y.col_as_slice(0))).abs() < 1e-8);
            let prior: f64 = (0..at.ncols()).map(|j| at[(i, j)].powi(2)).sum();
            let expected = amplitude * (prior - dot(k, k));
            // The factor is kept in single precision.
            assert!((variance[(i, c)] / expected - 1.0).abs() < 2e-5, "{} {expected}", variance[(i, c)]);
        }
    }
}

/// The error of mean and standard deviation falls with the number of pairs, the latter down to what frequencies beyond
/// the limit would add.
#[test]
fn with_many_features_it_is_the_kernel_machine() {
    let (data, new) = (data(40), places(9));
    // Copies of a row agree, which says that there is little noise unless targets are rounded.
    let problem = Problem::new(data.inputs().to_owned(), data.targets().to_owned(), data.weights())
        .knowing(&[], vec![0.1, 0.2, 0.6]);
    let machine = KernelMachine::new(&problem, kernel(), 0.1, ONE).unwrap();
    let (exact, variance) = machine.predict(new.as_ref(), true, ONE);
    let variance = variance.unwrap();
    let noise = [machine.noise[0], machine.noise[1], machine.noise[2]];
    let error = |pairs: [usize; 2]| {
        let (mut mean, mut deviation) = (0.0, 0.0);
        for seed in 0..12 {
            let draw = Draw::new(2, pairs, seed);
            let (_, posterior) = solve(&systems(&draw, &data), &draw, group(noise), true, context(&[0.0; 3])).unwrap();
            let (m, v) = predicted(&draw, &posterior, &new);
            for (i, c) in (0..9).flat_map(|i| (0..3).map(move |c| (i, c))) {
                mean += (m[(i, c)] - exact[(i, c)]).powi(2);
                deviation += (v[(i, c)].sqrt() - variance[(i, c)].sqrt()).powi(2);
            }
        }
        [(mean / 324.0).sqrt(), (deviation / 324.0).sqrt()]
    };
    let (few, many) = (error([17, 13]), error([272, 208]));
    for k in 0..2 {
        let ratio = few[k] / many[k];
        assert!(ratio > [3.0, 1.5][k] && ratio < 5.5 && many[k] < 0.05, "{few:?} {many:?}");
    }
}

#[test]
fn the_gradient_of_the_refinement_equals_central_differences() {
    let data = data(40);
    let draw = Draw::new(2, [3, 4], 1);
    let (systems, rounding) = (systems(&draw, &data), [0.0, 0.04, 0.0]);
    let value = |at: &[f64]| refinement(&systems, &draw, &kernel(), at, context(&rounding)).unwrap();
    let at: Vec<f64> = [0.3, 0.5, 0.8, 0.05, 0.2, 0.1].map(f64::ln).to_vec();
    expect_gradient(&at, value);
}

#[test]
fn refinement_raises_the_marginal_likelihood() {
    let data = data(40);
    let draw = Draw::new(2, [3, 4], 1);
    let (systems, rounding) = (systems(&draw, &data), [0.0; 3]);
    let value = |group: &Group| {
        let Kernel { linear, rbf, laplace_l1, .. } = &group.kernel;
        let at: Vec<f64> =
            [*linear, rbf.variance, laplace_l1.variance].iter().chain(&group.noise).map(|v| v.ln()).collect();
        refinement(&systems, &draw, &kernel(), &at, context(&rounding)).unwrap()
    };
    let start = group([0.5, 0.01, 2.0]);
    let mut refined = start.clone();
    assert!(refine(&systems, &draw, &mut refined, context(&rounding)));
    let (before, after) = (value(&start), value(&refined));
    assert!(after.0 > before.0 + 1.0, "{} {}", before.0, after.0);
    let steepest = |gradient: &[f64]| gradient.iter().fold(0.0f64, |most, g| most.max(g.abs()));
    assert!(steepest(&after.1) < 0.2 * steepest(&before.1), "{:?} {:?}", before.1, after.1);
    // Frequencies are those of the sums.
    assert_eq!(refined.kernel.rbf.bandwidth, start.kernel.rbf.bandwidth);
    assert_eq!(refined.kernel.input_scales, start.kernel.input_scales);
}

#[test]
fn noise_is_no_less_than_rounding() {
    let data = data(40);
    let draw = Draw::new(2, [3, 4], 1);
    let (systems, rounding) = (systems(&draw, &data), [0.02, 0.0, 0.3]);
    for refined in [true, false] {
        let (group, posterior) = solve(&systems, &draw, group([1e-4, 0.2, 0.05]), refined, context(&rounding)).unwrap();
        for (c, rounding) in rounding.iter().enumerate() {
            assert!(
                posterior.unit[c] * group.noise[c] >= 0.998 * rounding,
                "{c}: {:?} {:?}",
                posterior.unit,
                group.noise
            );
        }
    }
}

/// Against the weights and their covariance from all rows but one, at the learned hyper-parameters.
#[test]
fn leaving_a_row_out_is_solving_without_it() {
    let data = data(40);
    for precision in [Precision::Tied, Precision::Free] {
        let form = Form::Drawn { features: Some(14), precision, effort: 1.0 };
        left_out_by_hand(&data, &fit(&data, &Settings { form, ..super::settings(14) }).unwrap());
    }
}

fn left_out_by_hand(data: &Dataset, model: &Model) {
    let (found, leverage) = (model.leave_one_out(data).unwrap(), model.leverage(data).unwrap());
    let fitted = model.predict_mean(data.inputs()).unwrap();
    let Function::Drawn(drawn) = &model.function else { panic!("not drawn") };
    let x = model.standardised_inputs(data.inputs()).unwrap();
    for member in drawn.members() {
        let (posterior, design) = (&member.waves.posterior, member.waves.features(x.as_ref()));
        let k = posterior.precision.len();
        for (i, &c) in member.tasks.iter().enumerate() {
            let (shift, scale) = (model.target_shift()[c], model.target_std()[c]);
            let seen: Vec<usize> = (0..40).filter(|&n| !data.targets()[(n, c)].is_nan()).collect();
            for &row in seen.iter().step_by(3) {
                let others = || seen.iter().filter(|n| **n != row).map(|&n| (n, data.weights().unwrap()[n]));
                let tau = posterior.tau[i];
                let precision = Mat::from_fn(k, k, |a, b| {
                    let prior = if a == b { posterior.precision[a] } else { 0.0 };
                    prior + others().map(|(n, w)| tau * w * design[(n, a)] * design[(n, b)]).sum::<f64>()
                });
                let factor = Cholesky::new(precision, ONE).unwrap();
                let y = |n: usize| (data.targets()[(n, c)] - shift) / scale;
                let mut right = Mat::from_fn(k, 2, |a, column| match column {
                    0 => others().map(|(n, w)| tau * w * design[(n, a)] * y(n)).sum(),
                    _ => design[(row, a)],
                });
                factor.half_solve(right.as_mut());
                let mean = dot(right.col_as_slice(0), right.col_as_slice(1));
                let deviation = (posterior.unit[i] * dot(right.col_as_slice(1), right.col_as_slice(1))).sqrt();
                assert!((found.mean[(row, c)] - shift - scale * mean).abs() < 1e-4);
                assert!((found.latent_std[(row, c)] / (scale * deviation) - 1.0).abs() < 1e-4);
                let moved = leverage[(row, c)] * (data.targets()[(row, c)] - found.mean[(row, c)]);
                assert!((fitted[(row, c)] - found.mean[(row, c)] - moved).abs() < 1e-4);
            }
        }
    }
}

/// A target that is one of the features, and one of the inputs: what is free keeps those, and little else.
#[test]
fn free_precisions_keep_what_the_targets_are_made_of() {
    let x = Mat::from_fn(300, 2, |n, d| ((n * (3 + 2 * d)) as f64 * 0.37).sin());
    let noise = |n: usize| 0.1 * ((n * 7919 % 1000) as f64 / 1000.0 - 0.5);
    let y = Mat::from_fn(300, 1, |n, _| x[(n, 1)] + noise(n));
    let data = Dataset::new(x, y).unwrap();
    let fitted = |precision| {
        fit(&data, &Settings { form: Form::Drawn { features: Some(60), precision, effort: 1.0 }, ..Settings::DEFAULT })
            .unwrap()
    };
    let (tied, free) = (fitted(Precision::Tied), fitted(Precision::Free));
    assert_eq!((tied.active_features(), tied.drawn_features(), free.drawn_features()), (62, 60, 60));
    assert!(free.active_features() < 20, "{}", free.active_features());
    let Function::Drawn(drawn) = &free.function else { panic!("not drawn") };
    assert!(drawn.members()[0].kept.as_ref().unwrap().contains(&61));
    let new = places(20);
    let found = free.predict_mean(new.as_ref()).unwrap();
    assert!((0..20).all(|n| (found[(n, 0)] - new[(n, 1)]).abs() < 0.1));
}
