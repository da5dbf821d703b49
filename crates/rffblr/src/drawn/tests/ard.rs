//! Against the variational inference that sees the rows.

use super::super::ard::Ard;
use super::super::sums::Sums;
use crate::device::Host;
use crate::fourier::{Basis, Directions, Offsets, Recipe, Spectrum};
use crate::linalg::{Mat, Threads, scale_rows};
use crate::problem::Problem;
use crate::settings::{Bandwidth, CosineSettings, GammaPrior, Noise, Pruning};
use crate::vb::{Plan, infer};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

#[test]
fn sums_give_what_the_rows_give() {
    let data = super::data(70);
    let (x, y) = (data.inputs().to_owned(), Mat::from_fn(70, 2, |n, c| data.targets()[(n, 2 * c)]));
    let recipe = Recipe {
        spectrum: Spectrum::Rbf,
        offsets: Offsets::Random,
        directions: Directions::Independent,
        count: 20,
        links: true,
    };
    let basis = Basis::draw(&recipe, 2, &mut ChaCha8Rng::seed_from_u64(3));
    for pruning in [Pruning::Never, Pruning::BelowEqualShare(0.7)] {
        let settings = CosineSettings {
            bandwidth: Bandwidth::Fixed(0.5),
            noise: Noise::PerTask,
            weight_prior: GammaPrior { shape: 1e-3, rate: 1e-3 },
            noise_prior: GammaPrior { shape: 0.1, rate: 0.01 },
            tolerance: 1e-7,
            links: true,
            pruning,
            ..CosineSettings::PAPER
        };
        let problem = Problem::new(x.clone(), y.clone(), data.weights());
        let plan = Plan { settings: &settings, max_iterations: 400, seed: 0 };
        let expected = infer(&problem, plan, basis.clone(), 0, Threads::ONE, &|_| ControlFlow::Continue(())).unwrap();

        let scales = crate::fourier::Scales::uniform(0.5, 2);
        let mut features = basis.scaled(&scales).features_and_one(x.as_ref());
        let mut folded = y.clone();
        scale_rows(&mut features, &problem.root);
        scale_rows(&mut folded, &problem.root);
        let mut sums = Sums::new(23, 2);
        sums.add_features(&features, &folded, &problem.root);
        let ard = Ard {
            systems: &sums.systems(&Host(Threads::ONE)),
            relative: false,
            weight_prior: settings.weight_prior,
            noise_prior: settings.noise_prior,
            pruning,
            max_iterations: 400,
            tolerance: 1e-7,
            threads: Threads::ONE,
        };
        let variance = problem.target_variance();
        let found = ard.run(vec![1.0 / variance; 22], vec![10.0 / variance; 2]).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs().max(1.0);
        assert_eq!(found.bounds.len(), expected.trace.len());
        for (bound, step) in found.bounds.iter().zip(&expected.trace) {
            assert!(near(*bound, step.objective), "{bound} {}", step.objective);
        }
        let sparse = pruning != Pruning::Never;
        assert_eq!((found.kept.len() < 22, found.alpha.len()), (sparse, expected.alpha.len()));
        found.alpha.iter().zip(&expected.alpha).for_each(|(a, b)| assert!(near(*a, *b), "{a} {b}"));
        for (a, b) in found.noise.iter().zip(&expected.noise) {
            assert!(near(a.shape, b.shape) && near(a.rate, b.rate), "{a:?} {b:?}");
        }
        // The features themselves.
        let cosines: Vec<usize> = found.kept.iter().copied().filter(|m| *m < 20).collect();
        assert_eq!(expected.basis.cosines(), cosines.len());
        for (i, &m) in cosines.iter().enumerate() {
            assert_eq!(expected.basis.directions.col_as_slice(i), basis.directions.col_as_slice(m));
        }
    }
}
