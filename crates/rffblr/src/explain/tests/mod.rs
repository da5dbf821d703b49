//! Explanations against their definitions: all coalitions, all hybrid rows, the joint covariance of the function.

mod dependence;
mod diagnostics;
mod quadrature;
mod robustness;
mod shapley;
mod texts;
mod units;

use crate::data::Dataset;
use crate::kernel::{Family, Kernel, KernelMachine, Machines, Member, Shared, TaskLevels};
use crate::linalg::{Cholesky, Mat, MatRef, Threads, dot, fill_upper, multiply, select_rows};
use crate::model::{Function, Inverse, Model, Waves, fit};
use crate::settings::{CosineSettings, Form, Precision, Settings};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A rough function of all inputs with some noise, two tasks, one cell missing.
pub(super) fn data(rows: usize, inputs: usize, seed: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let x: Mat<f64> = Mat::from_fn(rows, inputs, |_, _| StandardNormal.sample(&mut rng));
    let y = Mat::from_fn(rows, 2, |n, c| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        let all: f64 = (0..inputs).map(|d| ((1.0 + c as f64) * x[(n, d)] + d as f64).sin()).sum();
        if (n, c) == (3, 1) { f64::NAN } else { 10.0 * c as f64 + all * x[(n, 0)] + 0.1 * noise }
    });
    Dataset::new(x, y).unwrap()
}

/// The model in every form: the kernel machine, each of its families alone, a kernel for each task, sinusoids, cosines of
/// the variational algorithm, drawn from the learned kernel, and the paper's with links.
pub(super) fn forms(data: &Dataset) -> Vec<(&'static str, Model)> {
    let kernel = fit(data, &Settings::DEFAULT).unwrap();
    let sinusoids = Settings { form: Form::Sinusoids { sparsity: 0.5 }, ..Settings::DEFAULT };
    let links = Settings { form: CosineSettings { links: true, ..CosineSettings::PAPER }.into(), ..Settings::PAPER };
    let drawn = Form::Drawn { features: Some(24), precision: Precision::Tied, effort: 1.0 };
    let none = Family { variance: 0.0, bandwidth: 0.3 };
    let some = |family: Family| Family { variance: 1.0, bandwidth: family.bandwidth.max(0.2) };
    let nothing = |kernel: Kernel| Kernel { linear: 0.0, rbf: none, laplace_l1: none, ..kernel };
    vec![
        ("links alone", changed(&kernel, |k| Kernel { linear: 1.0, ..nothing(k) })),
        ("RBF alone", changed(&kernel, |k| Kernel { rbf: some(k.rbf), ..nothing(k) })),
        ("Laplace L1 alone", changed(&kernel, |k| Kernel { laplace_l1: some(k.laplace_l1), ..nothing(k) })),
        ("two kernels", kernel.regrouped(data, two_kernels(&kernel))),
        ("sinusoids", fit(data, &sinusoids).unwrap()),
        ("cosines", fit(data, &Settings { form: CosineSettings::DEFAULT.into(), ..Settings::DEFAULT }).unwrap()),
        ("drawn", fit(data, &Settings { form: drawn, ..Settings::DEFAULT }).unwrap()),
        ("paper with links", fit(data, &links).unwrap()),
        ("kernel machine", kernel),
    ]
}

/// The second task first, both with kernels that are not the learned one.
fn two_kernels(model: &Model) -> Vec<Shared> {
    let learned = model.kernels()[0].1;
    let kernel = |linear: f64, faster: f64| Kernel {
        linear,
        rbf: Family { bandwidth: faster * learned.rbf.bandwidth, ..learned.rbf },
        input_scales: learned.input_scales.iter().rev().map(|r| faster * r).collect(),
        ..learned.clone()
    };
    vec![
        Shared { tasks: vec![1], kernel: kernel(0.3, 1.7), noise: 0.05 },
        Shared { tasks: vec![0], kernel: kernel(0.8, 0.6), noise: 0.2 },
    ]
}

/// A kernel machine with another kernel but the same coefficients.
pub(super) fn changed(model: &Model, change: impl Fn(Kernel) -> Kernel) -> Model {
    with_machines(model, |m| {
        let levels = TaskLevels { noise: m.noise, amplitude: m.amplitude, correction: m.correction };
        KernelMachine::restore(change(m.kernel), m.inputs, m.root, m.observed, levels, m.coefficients).unwrap()
    })
}

/// A kernel machine with others in the place of its machines.
pub(super) fn with_machines(model: &Model, change: impl Fn(KernelMachine) -> KernelMachine) -> Model {
    let Function::Kernel(machines) = &model.function else { panic!("not a kernel machine") };
    let member = |m: &Member| Member { tasks: m.tasks.clone(), machine: change(m.machine.clone()) };
    let mut model = model.clone();
    model.function = Function::Kernel(Machines::from_members(machines.members().iter().map(member).collect()));
    model
}

/// A row whose columns in some inputs come from one row and in the others from another.
pub(super) fn hybrid(to: &[f64], from: &[f64], columns: &[Vec<usize>], coalition: usize) -> Vec<f64> {
    let mut row = from.to_vec();
    for (player, columns) in columns.iter().enumerate() {
        if coalition >> player & 1 == 1 {
            columns.iter().for_each(|&d| row[d] = to[d]);
        }
    }
    row
}

pub(super) fn row(table: MatRef<'_, f64>, n: usize) -> Vec<f64> {
    (0..table.ncols()).map(|d| table[(n, d)]).collect()
}

pub(super) fn rows(table: MatRef<'_, f64>) -> Vec<Vec<f64>> {
    (0..table.nrows()).map(|n| row(table, n)).collect()
}

pub(super) fn table(rows: &[Vec<f64>]) -> Mat<f64> {
    Mat::from_fn(rows.len(), rows[0].len(), |n, d| rows[n][d])
}

pub(super) fn singles(inputs: usize) -> Vec<Vec<usize>> {
    (0..inputs).map(|d| vec![d]).collect()
}

/// Standard deviation of Σ weight · f(point) for each task, from the joint covariance of the function at the points.
pub(super) fn joint_std(model: &Model, points: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let weights = Mat::from_fn(weights.len(), 1, |i, _| weights[i]);
    let std = |covariance: &Mat<f64>| {
        let product = multiply(covariance.as_ref(), weights.as_ref(), Threads::ONE);
        dot(product.col_as_slice(0), weights.col_as_slice(0)).max(0.0).sqrt()
    };
    joint(model, points).iter().map(std).collect()
}

/// ΦΣ_cΦᵀ at standardised points, with Σ_c in full.
fn waves_covariance(waves: &Waves, task: usize, points: &Mat<f64>) -> Mat<f64> {
    let (posterior, one) = (&waves.posterior, Threads::ONE);
    let shape = posterior.shapes.iter().find(|shape| shape.tasks.contains(&task)).unwrap();
    let k = posterior.precision.len();
    let inside = match &shape.inverse {
        // V/(1 + τλ)Vᵀ + I − VVᵀ.
        Inverse::Spectral(eigen) => Mat::from_fn(k, k, |i, j| {
            let shrunk = |n: usize| 1.0 / (1.0 + posterior.tau[task] * eigen.values[n]) - 1.0;
            let v = &eigen.vectors;
            let sum: f64 = (0..v.ncols()).map(|n| v[(i, n)] * shrunk(n) * v[(j, n)]).sum();
            sum + if i == j { 1.0 } else { 0.0 }
        }),
        // (LLᵀ)⁻¹ by elimination in LLᵀ.
        Inverse::Factor(factor) => {
            let lower = Mat::from_fn(k, k, |i, j| if i < j { 0.0 } else { factor.lower()[(i, j)] });
            let product = multiply(lower.as_ref(), lower.as_ref().transpose(), one);
            let mut inverse = Mat::<f64>::identity(k, k);
            let again = Cholesky::new(product, one).unwrap();
            again.half_solve(inverse.as_mut());
            again.half_solve_transposed(inverse.as_mut());
            inverse
        }
    };
    let covariance = Mat::from_fn(k, k, |i, j| {
        posterior.unit[task] * inside[(i, j)] / (posterior.precision[i] * posterior.precision[j]).sqrt()
    });
    let features = waves.features(points.as_ref());
    multiply(multiply(features.as_ref(), covariance.as_ref(), one).as_ref(), features.transpose(), one)
}

/// Joint covariance of the function at some points, for each task.
pub(super) fn joint(model: &Model, points: &[Vec<f64>]) -> Vec<Mat<f64>> {
    let points = model.standardised_inputs(table(points).as_ref()).unwrap();
    let one = Threads::ONE;
    let covariance = |task: usize| match &model.function {
        Function::Sinusoids(_) | Function::Cosines(_) => {
            waves_covariance(model.function.waves().unwrap(), task, &points)
        }
        Function::Drawn(drawn) => {
            let member = drawn.members().iter().find(|member| member.tasks.contains(&task)).unwrap();
            let place = member.tasks.iter().position(|own| *own == task).unwrap();
            waves_covariance(&member.waves, place, &points)
        }
        Function::Kernel(machines) => {
            let (machine, task) = machines.of(task);
            let all: Vec<usize> = (0..machine.inputs.nrows()).collect();
            let seen = machine.observed[task].as_ref().unwrap_or(&all);
            let inputs = select_rows(machine.inputs.as_ref().as_ref(), seen);
            let mut gram = machine.kernel.gram(&inputs, one);
            for (i, &n) in seen.iter().enumerate() {
                gram[(i, i)] += machine.noise[task] / machine.root[n].powi(2);
            }
            let mut cross = machine.kernel.cross(&inputs, points.as_ref(), one);
            Cholesky::new(gram, one).unwrap().half_solve(cross.as_mut());
            let mut joint = machine.kernel.gram(&points, one);
            fill_upper(joint.as_mut());
            joint -= multiply(cross.as_ref().transpose(), cross.as_ref(), one);
            scaled(joint, machine.amplitude[task])
        }
    };
    let scale = model.target_std();
    (0..scale.len()).map(|c| scaled(covariance(c), scale[c] * scale[c])).collect()
}

fn scaled(mut table: Mat<f64>, factor: f64) -> Mat<f64> {
    crate::linalg::scale_columns(&mut table, |_| factor);
    table
}
