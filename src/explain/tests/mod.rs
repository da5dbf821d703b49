//! Explanations against their definitions: all coalitions, all hybrid rows, the joint covariance of the function.

mod shapley;

use crate::data::Dataset;
use crate::kernel::{Family, Kernel, KernelMachine};
use crate::linalg::Mat;
use crate::model::{Function, Model, fit};
use crate::vb::{Form, Settings};
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

/// The model in every form: the kernel machine, each of its families alone, sinusoids, cosines with links.
pub(super) fn forms(data: &Dataset) -> Vec<(&'static str, Model)> {
    let kernel = fit(data, &Settings::DEFAULT).unwrap();
    let sinusoids = Settings { form: Form::Sinusoids { per_row: 0.5 }, ..Settings::DEFAULT };
    let links = Settings { links: true, ..Settings::PAPER };
    let none = Family { variance: 0.0, scale: 0.3 };
    let some = |family: Family| Family { variance: 1.0, scale: family.scale.max(0.2) };
    let with = |change: &dyn Fn(&Kernel, Kernel) -> Kernel| {
        let mut model = kernel.clone();
        let Function::Kernel(machine) = &kernel.function else { panic!("not a kernel machine") };
        let m = machine.clone();
        let nothing = Kernel { linear: 0.0, rbf: none, laplace: none, laplace_l1: none, ..m.kernel.clone() };
        let changed = change(&m.kernel, nothing);
        let machine =
            KernelMachine::restore(changed, m.inputs, m.root, m.observed, (m.noise, m.amplitude), m.coefficients);
        model.function = Function::Kernel(machine.unwrap());
        model
    };
    vec![
        ("links alone", with(&|_, nothing| Kernel { linear: 1.0, ..nothing })),
        ("RBF alone", with(&|old, nothing| Kernel { rbf: some(old.rbf), ..nothing })),
        ("Laplace alone", with(&|old, nothing| Kernel { laplace: some(old.laplace), ..nothing })),
        ("Laplace L1 alone", with(&|old, nothing| Kernel { laplace_l1: some(old.laplace_l1), ..nothing })),
        ("sinusoids", fit(data, &sinusoids).unwrap()),
        ("cosines", fit(data, &Settings::COSINES).unwrap()),
        ("paper with links", fit(data, &links).unwrap()),
        ("kernel machine", kernel),
    ]
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

pub(super) fn row(table: crate::linalg::MatRef<'_, f64>, n: usize) -> Vec<f64> {
    (0..table.ncols()).map(|d| table[(n, d)]).collect()
}

pub(super) fn table(rows: &[Vec<f64>]) -> Mat<f64> {
    Mat::from_fn(rows.len(), rows[0].len(), |n, d| rows[n][d])
}
