//! What must hold for any data: each property against brute force or finite differences.

use super::*;
use crate::fourier::{Directions, Offsets, Recipe, Spectrum};
use crate::linalg::{multiply, select_rows};
use crate::settings::{GammaPrior, LinkScale, Noise, Precision, Pruning};
use crate::vb::prune;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A random small problem, described so that a failure can be read.
#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    inputs: usize,
    tasks: usize,
    features: usize,
    spectrum: Spectrum,
    links: bool,
    noise: Noise,
    precision: Precision,
    missing: f64,
    weighted: bool,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (4usize..16, 1usize..4, 1usize..4, 1usize..24);
    let kinds = (
        prop::sample::select(Spectrum::ALL.to_vec()),
        any::<bool>(),
        prop::sample::select(vec![Noise::Shared, Noise::PerTask]),
        prop::sample::select(vec![Precision::Free, Precision::Tied]),
    );
    let cells = (prop::sample::select(vec![0.0, 0.25]), any::<bool>(), any::<u64>());
    (sizes, kinds, cells).prop_map(|((rows, inputs, tasks, features), (spectrum, links, noise, precision), cells)| {
        let (missing, weighted, seed) = cells;
        Case { rows, inputs, tasks, features, spectrum, links, noise, precision, missing, weighted, seed }
    })
}

struct Tables {
    inputs: Mat<f64>,
    targets: Mat<f64>,
    weights: Option<Vec<f64>>,
    basis: Basis,
    scales: Scales,
    settings: CosineSettings,
}

impl Case {
    fn tables(&self) -> Tables {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let inputs: Mat<f64> = Mat::from_fn(self.rows, self.inputs, |_, _| StandardNormal.sample(&mut rng));
        let mut targets = Mat::from_fn(self.rows, self.tasks, |n, c| {
            let error: f64 = StandardNormal.sample(&mut rng);
            (inputs[(n, 0)] * (1.0 + c as f64)).sin() + 0.3 * error
        });
        for c in 0..self.tasks {
            // Two rows of every task stay observed.
            for n in 2..self.rows {
                if rng.random_bool(self.missing) {
                    targets[(n, c)] = f64::NAN;
                }
            }
        }
        let weights = self.weighted.then(|| (0..self.rows).map(|_| rng.random_range(0.2..3.0)).collect());
        let recipe = Recipe {
            spectrum: self.spectrum,
            offsets: Offsets::Random,
            directions: Directions::Independent,
            count: self.features,
            links: self.links,
        };
        let basis = Basis::draw(&recipe, self.inputs, &mut rng);
        let input_scales = (0..self.inputs).map(|_| rng.random_range(0.3..2.0)).collect();
        let scales = Scales { bandwidth: 0.2, input_scales };
        let settings = CosineSettings { noise: self.noise, precision: self.precision, ..CosineSettings::PAPER };
        Tables { inputs, targets, weights, basis, scales, settings }
    }

    fn state(&self) -> State {
        self.tables().state()
    }
}

impl Tables {
    fn state(&self) -> State {
        let problem = Problem::new(self.inputs.clone(), self.targets.clone(), self.weights.as_deref());
        State::new(problem, self.basis.clone(), self.scales.clone(), &self.settings)
    }
}

/// Textbook q(W) for one task: Σ by Gauss–Jordan on the observed rows, nothing shared with the library.
fn direct_weights(state: &State, tables: &Tables, task: usize) -> (Vec<f64>, Mat<f64>, f64) {
    let m = state.design.columns();
    let (alpha, tau, bias) = (state.q.alpha(), state.q.tau()[task], state.q.bias[task]);
    let features = tables.basis.scaled(&tables.scales).features(tables.inputs.as_ref());
    let rows: Vec<usize> = (0..tables.inputs.nrows()).filter(|&n| !tables.targets[(n, task)].is_nan()).collect();
    let weight = |n: usize| tables.weights.as_ref().map_or(1.0, |w| w[n]);
    let gram = |i: usize, j: usize| rows.iter().map(|&n| weight(n) * features[(n, i)] * features[(n, j)]).sum::<f64>();
    let system = Mat::from_fn(m, m, |i, j| tau * gram(i, j) + if i == j { alpha[i] } else { 0.0 });
    let (sigma, ln_det) = invert(&system);
    let right: Vec<f64> = (0..m)
        .map(|i| rows.iter().map(|&n| weight(n) * features[(n, i)] * (tables.targets[(n, task)] - bias)).sum::<f64>())
        .collect();
    let mean = (0..m).map(|i| tau * (0..m).map(|j| sigma[(i, j)] * right[j]).sum::<f64>()).collect();
    (mean, sigma, -ln_det)
}

/// Inverse and ln-determinant by Gauss–Jordan with pivoting.
fn invert(a: &Mat<f64>) -> (Mat<f64>, f64) {
    let n = a.nrows();
    let (mut a, mut inverse, mut ln_det) = (a.clone(), Mat::<f64>::identity(n, n), 0.0);
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[(i, k)].abs().total_cmp(&a[(j, k)].abs())).unwrap();
        for j in 0..n {
            let (x, y) = (a[(k, j)], a[(pivot, j)]);
            (a[(k, j)], a[(pivot, j)]) = (y, x);
            let (x, y) = (inverse[(k, j)], inverse[(pivot, j)]);
            (inverse[(k, j)], inverse[(pivot, j)]) = (y, x);
        }
        let p = a[(k, k)];
        ln_det += p.abs().ln();
        for j in 0..n {
            a[(k, j)] /= p;
            inverse[(k, j)] /= p;
        }
        for i in (0..n).filter(|&i| i != k) {
            let f = a[(i, k)];
            for j in 0..n {
                a[(i, j)] -= f * a[(k, j)];
                inverse[(i, j)] -= f * inverse[(k, j)];
            }
        }
    }
    (inverse, ln_det)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Equations 4 and 11–15 at once: primal and dual, weights, missing cells, per-task noise, all against the textbook.
    #[test]
    fn weights_equal_brute_force(case in cases()) {
        let tables = case.tables();
        let mut state = tables.state();
        state.sweep();
        let before = state.q.clone();
        state.weights();
        let found = std::mem::replace(&mut state.q, before);
        let (mut variance, mut ln_det) = (vec![0.0; state.design.columns()], 0.0);
        for c in 0..case.tasks {
            let (mean, sigma, task_ln_det) = direct_weights(&state, &tables, c);
            ln_det += task_ln_det;
            let features = tables.basis.scaled(&tables.scales).features(tables.inputs.as_ref());
            let (mut trace, mut sum, mut square) = (0.0, 0.0, 0.0);
            for n in (0..case.rows).filter(|&n| !tables.targets[(n, c)].is_nan()) {
                let w = tables.weights.as_ref().map_or(1.0, |w| w[n]);
                let phi = |m: usize| features[(n, m)];
                let m = 0..mean.len();
                trace += w * m.clone().flat_map(|i| m.clone().map(move |j| (i, j))).map(|(i, j)| phi(i) * sigma[(i, j)] * phi(j)).sum::<f64>();
                let error = tables.targets[(n, c)] - m.map(|i| phi(i) * mean[i]).sum::<f64>();
                sum += w * error;
                square += w * error * error;
            }
            for m in 0..mean.len() {
                assert_close("mean", found.weights.mean[(m, c)], mean[m], 1e-8);
                variance[m] += sigma[(m, m)];
            }
            assert_close("trace", found.weights.trace[c], trace, 1e-8);
            assert_close("residual sum", found.weights.residual_sum[c], sum, 1e-8);
            assert_close("residual square", found.weights.residual_square[c], square, 1e-8);
        }
        for (found, expected) in found.weights.variance.iter().zip(&variance) {
            assert_close("variance", *found, *expected, 1e-8);
        }
        assert_close("ln|Σ|", found.weights.ln_det, ln_det, 1e-8);
    }

    /// Section 3: no update lowers the bound, in any order.
    #[test]
    fn the_bound_never_falls(case in cases(), order in prop::collection::vec(0usize..4, 1..12)) {
        let mut state = case.state();
        state.sweep();
        let mut before = state.bound().total();
        for update in order {
            match update {
                0 => state.weights(),
                1 => state.q.update_precisions(),
                2 => state.q.update_bias(&state.problem),
                _ => state.q.update_noise(&state.problem),
            }
            let after = state.bound().total();
            prop_assert!(after >= before - 1e-9 * before.abs().max(1.0), "update {update}: {before} to {after}");
            before = after;
        }
    }

    /// Equation 10: both gradients against central differences of the bound at fixed q.
    #[test]
    fn gradients_equal_central_differences(case in cases()) {
        let mut tables = case.tables();
        // A central difference cannot follow the very high frequencies of heavy-tailed spectra.
        for m in 0..case.features {
            tables.basis.directions.col_as_slice_mut(m).iter_mut().for_each(|w| *w = w.clamp(-5.0, 5.0));
        }
        let mut state = tables.state();
        state.sweep();
        state.weights();
        let per_input = state.gradient();
        state.sensitivity = Sensitivity::Bandwidth;
        state.weights();
        let by_bandwidth = state.gradient()[0];
        assert_close("sum over inputs", per_input.iter().sum(), by_bandwidth, 1e-8);

        let (weights, sigmas): (Vec<_>, Vec<_>) = (0..case.tasks).map(|c| { let (w, s, _) = direct_weights(&state, &tables, c); (w, s) }).unzip();
        let at = |scales: &Scales| dependent_bound(&state, &tables, &weights, &sigmas, scales);
        let step: f64 = 1e-5;
        let slope = |change: &dyn Fn(&mut Scales, f64)| {
            let (mut up, mut down) = (tables.scales.clone(), tables.scales.clone());
            change(&mut up, step.exp());
            change(&mut down, (-step).exp());
            (at(&up) - at(&down)) / (2.0 * step)
        };
        // A difference of large bounds is no more exact than their rounding over the step.
        let tolerance = 1e-5 + 1e-14 * at(&tables.scales).abs() / step;
        assert_close("by ln γ", by_bandwidth, slope(&|s, f| s.bandwidth *= f), tolerance);
        for (d, found) in per_input.iter().enumerate() {
            assert_close("by ln r", *found, slope(&|s, f| s.input_scales[d] *= f), tolerance);
        }
    }

    /// Dropping features and updating gives what a model without them ever gives.
    #[test]
    fn features_with_small_weights_in_every_task_go(case in cases(), units in 0.01..100.0f64) {
        // In other units of the targets the same features go.
        let mut kept = Vec::new();
        for factor in [1.0, units] {
            let mut tables = case.tables();
            tables.settings = CosineSettings { weight_start: 10.0, noise_start: 1.0, ..tables.settings };
            for c in 0..case.tasks {
                tables.targets.col_as_slice_mut(c).iter_mut().for_each(|y| *y *= factor);
            }
            let mut state = tables.state();
            let variance = state.problem.target_variance();
            prop_assert!(state.q.alpha().iter().all(|a| (a * variance - 10.0).abs() < 1e-9));
            prop_assert!(state.q.tau().iter().all(|t| (t * variance - 1.0).abs() < 1e-9));
            state.weights();
            let direct: Vec<Vec<f64>> = (0..case.tasks).map(|c| direct_weights(&state, &tables, c).0).collect();
            let largest = |m: usize| direct.iter().map(|w| w[m].abs()).fold(0.0, f64::max) / variance.sqrt();
            let survivors = |least: f64| {
                let found = prune::survivors(Pruning::BelowWeight(least), &state.problem, &state.design, &state.q);
                found.unwrap_or((0..state.design.columns()).collect())
            };
            for least in [1e-3, 0.03, 0.1, 0.3] {
                let expected: Vec<usize> = (0..state.design.columns()).filter(|&m| largest(m) >= least).collect();
                prop_assert_eq!(survivors(least), expected);
            }
            kept.push(survivors(0.1));
        }
        prop_assert_eq!(&kept[0], &kept[1]);
    }

    #[test]
    fn links_that_are_not_scaled_have_larger_features(case in cases()) {
        let case = Case { links: true, ..case };
        let mut tables = case.tables();
        let scaled = tables.state();
        tables.settings.link_scale = LinkScale::Unit;
        let mut state = tables.state();
        let root = |n: usize| tables.weights.as_ref().map_or(1.0, |w| w[n].sqrt());
        for m in 0..state.design.columns() {
            for n in 0..case.rows {
                let expected = match m.checked_sub(case.features) {
                    None => scaled.design.features[(n, m)],
                    Some(input) => root(n) * tables.inputs[(n, input)],
                };
                assert_close("feature", state.design.features[(n, m)], expected, 1e-12);
            }
        }
        // The same prior of the function: variance of a link, its factor squared over its precision.
        state.sweep();
        let (alpha, stated) = (state.q.alpha(), state.design.of_basis(state.q.alpha()));
        for m in 0..state.design.columns() {
            let square = if m < case.features { 1.0 } else { case.inputs as f64 };
            assert_close("precision", stated[m], alpha[m] / square, 1e-12);
        }
    }

    #[test]
    fn pruning_equals_refitting_without(case in cases(), pattern in prop::collection::vec(any::<bool>(), 30)) {
        let tables = case.tables();
        let mut state = tables.state();
        state.sweep();
        let kept: Vec<usize> = (0..state.design.columns()).filter(|&m| pattern[m]).collect();
        let (alpha, noise, bias) = (state.q.alpha(), state.q.noise.clone(), state.q.bias.clone());
        state.design.keep(&kept);
        state.q.keep(&kept);
        state.moments = no_moments(&state.problem);
        state.weights();

        let mut basis = tables.basis.clone();
        basis.keep(&kept);
        let free = CosineSettings { precision: Precision::Free, ..tables.settings.clone() };
        let mut fresh = Tables { basis, settings: free, ..tables }.state();
        for (slot, &m) in kept.iter().enumerate() {
            fresh.q.precisions[slot] = crate::vb::Gamma { shape: alpha[m], rate: 1.0 };
        }
        fresh.q.noise = noise;
        fresh.q.bias = bias;
        fresh.weights();
        assert_matrix("mean", &state.q.weights.mean, &fresh.q.weights.mean, 1e-9);
        for (a, b) in state.q.weights.variance.iter().zip(&fresh.q.weights.variance) {
            assert_close("variance", *a, *b, 1e-9);
        }
    }

    /// Sufficient statistics add up: two blocks of rows give what all rows give.
    #[test]
    fn moments_add_up_over_blocks(case in cases(), cut in 0usize..16) {
        let tables = Case { missing: 0.0, weighted: false, ..case }.tables();
        let features = tables.basis.scaled(&tables.scales).features(tables.inputs.as_ref());
        let rows = features.nrows();
        let cut = cut.min(rows);
        let mut whole = Moments::zero(features.ncols(), tables.targets.ncols());
        let mut parts = Moments::zero(features.ncols(), tables.targets.ncols());
        whole.add(&features, &vec![1.0; rows], &tables.targets, Threads::ONE);
        for block in [0..cut, cut..rows] {
            let rows: Vec<usize> = block.collect();
            let (phi, y) = (select_rows(features.as_ref(), &rows), select_rows(tables.targets.as_ref(), &rows));
            parts.add(&phi, &vec![1.0; rows.len()], &y, Threads::ONE);
        }
        assert_matrix("gram", &parts.gram, &whole.gram, 1e-12);
        assert_matrix("cross", &parts.cross, &whole.cross, 1e-12);
        assert_close("mass", parts.mass, whole.mass, 1e-12);
        for c in 0..tables.targets.ncols() {
            assert_close("target sum", parts.target_sum[c], whole.target_sum[c], 1e-12);
            assert_close("target square", parts.target_square[c], whole.target_square[c], 1e-12);
        }
    }

    /// With shared noise, C copies of a task are that task C times: same weights, precisions as from C times the data.
    #[test]
    fn copies_of_a_task_share_one_answer(case in cases(), copies in 2usize..5) {
        let case = Case { tasks: 1, missing: 0.0, noise: Noise::Shared, ..case };
        let mut single = case.tables();
        single.settings.weight_prior = GammaPrior { shape: 1e-12, rate: 1e-12 };
        single.settings.noise_prior = single.settings.weight_prior;
        let column = single.targets.clone();
        let targets = Mat::from_fn(case.rows, copies, |n, _| column[(n, 0)]);
        let (mut one, mut many) = (single.state(), Tables { targets, ..single }.state());
        for _ in 0..5 {
            one.sweep();
            many.sweep();
        }
        for c in 0..copies {
            for m in 0..one.design.columns() {
                assert_close("weight", many.q.weights.mean[(m, c)], one.q.weights.mean[(m, 0)], 1e-7);
            }
        }
        for (a, b) in one.q.alpha().iter().zip(many.q.alpha()) {
            assert_close("alpha", b / a, 1.0, 1e-7);
        }
        assert_close("noise", many.q.tau()[0] / one.q.tau()[0], 1.0, 1e-7);
    }

    /// Tied precision and fixed noise are ridge regression with penalty α/τ on centred features.
    #[test]
    fn tied_precision_is_ridge(case in cases()) {
        let case = Case { missing: 0.0, weighted: false, links: false, precision: Precision::Tied, noise: Noise::Shared, ..case };
        let tables = case.tables();
        let mut state = tables.state();
        state.q.bias.fill(0.0);
        state.weights();
        let features = tables.basis.scaled(&tables.scales).features(tables.inputs.as_ref());
        let penalty = state.q.alpha()[0] / state.q.tau()[0];
        let gram = multiply(features.as_ref().transpose(), features.as_ref(), Threads::ONE);
        let m = gram.nrows();
        let (inverse, _) = invert(&Mat::from_fn(m, m, |i, j| gram[(i, j)] + if i == j { penalty } else { 0.0 }));
        let right = multiply(features.as_ref().transpose(), tables.targets.as_ref(), Threads::ONE);
        let ridge = multiply(inverse.as_ref(), right.as_ref(), Threads::ONE);
        assert_matrix("ridge", &state.q.weights.mean, &ridge, 1e-8);
    }
}

/// The terms of L that depend on the features, from the definition in section 4, at fixed q.
fn dependent_bound(state: &State, tables: &Tables, weights: &[Vec<f64>], sigmas: &[Mat<f64>], scales: &Scales) -> f64 {
    let features = tables.basis.scaled(scales).features(tables.inputs.as_ref());
    let mut total = 0.0;
    for (c, (w, sigma)) in weights.iter().zip(sigmas).enumerate() {
        let tau = state.q.tau()[c];
        for n in (0..tables.inputs.nrows()).filter(|&n| !tables.targets[(n, c)].is_nan()) {
            let weight = tables.weights.as_ref().map_or(1.0, |w| w[n]);
            let fit: f64 = (0..w.len()).map(|m| features[(n, m)] * w[m]).sum();
            let mut spread = 0.0;
            for i in 0..w.len() {
                for j in 0..w.len() {
                    spread += features[(n, i)] * sigma[(i, j)] * features[(n, j)];
                }
            }
            let target = tables.targets[(n, c)] - state.q.bias[c];
            total -= 0.5 * tau * weight * ((target - fit).powi(2) + spread);
        }
    }
    total
}

/// Equation 2: averaged over draws, ΦΦᵀ is the kernel, for every spectrum, offset rule and direction rule.
#[test]
fn features_average_to_the_kernel() {
    let inputs =
        Mat::from_fn(4, 3, |i, j| [[0.0, 0.0, 0.0], [0.5, -0.3, 0.2], [1.0, 0.4, -0.8], [-1.5, 0.9, 0.1]][i][j]);
    let scales = Scales { bandwidth: 0.35, input_scales: vec![1.0, 0.5, 1.7] };
    for spectrum in Spectrum::ALL {
        for offsets in [Offsets::Random, Offsets::Paired] {
            for directions in [Directions::Independent, Directions::Orthogonal] {
                if directions == Directions::Orthogonal && !spectrum.is_isotropic() {
                    continue;
                }
                let recipe = Recipe { spectrum, offsets, directions, count: 40_001, links: false };
                let basis = Basis::draw(&recipe, 3, &mut ChaCha8Rng::seed_from_u64(5));
                let phi = basis.scaled(&scales).features(inputs.as_ref());
                let gram = multiply(phi.as_ref(), phi.as_ref().transpose(), Threads::ONE);
                for i in 0..4 {
                    for j in 0..4 {
                        let delta = (0..3).map(|d| scales.factor(d) * (inputs[(i, d)] - inputs[(j, d)]));
                        let exact = spectrum.kernel(delta);
                        let error = (gram[(i, j)] - exact).abs();
                        // Four standard errors of a mean of 40 000 products bounded by two.
                        assert!(error < 0.02, "{spectrum:?} {offsets:?} {directions:?}: {} for {exact}", gram[(i, j)]);
                    }
                }
            }
        }
    }
}

/// Pairs and orthogonal directions are worth their cost: less error for the same number of features.
#[test]
fn pairs_and_orthogonal_directions_lower_the_kernel_error() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let inputs: Mat<f64> = Mat::from_fn(30, 6, |_, _| StandardNormal.sample(&mut rng));
    let scales = Scales::uniform(0.1, 6);
    let error = |offsets, directions| {
        let mut total = 0.0;
        for seed in 0..20 {
            let recipe = Recipe { spectrum: Spectrum::Rbf, offsets, directions, count: 48, links: false };
            let basis = Basis::draw(&recipe, 6, &mut ChaCha8Rng::seed_from_u64(seed));
            let phi = basis.scaled(&scales).features(inputs.as_ref());
            let gram = multiply(phi.as_ref(), phi.as_ref().transpose(), Threads::ONE);
            for i in 0..30 {
                for j in 0..30 {
                    let delta = (0..6).map(|d| scales.factor(d) * (inputs[(i, d)] - inputs[(j, d)]));
                    total += (gram[(i, j)] - Spectrum::Rbf.kernel(delta)).powi(2);
                }
            }
        }
        total
    };
    let plain = error(Offsets::Random, Directions::Independent);
    assert!(error(Offsets::Paired, Directions::Independent) < plain);
    assert!(error(Offsets::Paired, Directions::Orthogonal) < 0.8 * plain);
}

/// Everything pruned is a legal model: it predicts the bias.
#[test]
fn a_model_without_features_predicts_the_mean() {
    let case = Case {
        rows: 12,
        inputs: 2,
        tasks: 2,
        features: 5,
        spectrum: Spectrum::Rbf,
        links: true,
        noise: Noise::PerTask,
        precision: Precision::Free,
        missing: 0.25,
        weighted: true,
        seed: 3,
    };
    let tables = case.tables();
    let mut state = tables.state();
    state.sweep();
    let all = prune::survivors(Pruning::BelowEqualShare(1e9), &state.problem, &state.design, &state.q);
    assert_eq!(all, Some(vec![]));
    state.design.keep(&[]);
    state.q.keep(&[]);
    state.moments = no_moments(&state.problem);
    for _ in 0..200 {
        state.sweep();
    }
    assert!(state.bound().total().is_finite());
    assert!(state.gradient().iter().all(|g| *g == 0.0));
    for c in 0..2 {
        let cells: Vec<usize> = (0..12).filter(|&n| !tables.targets[(n, c)].is_nan()).collect();
        let weight = |n: usize| tables.weights.as_ref().unwrap()[n];
        let mass: f64 = cells.iter().map(|&n| weight(n)).sum();
        let sum: f64 = cells.iter().map(|&n| weight(n) * tables.targets[(n, c)]).sum();
        // The N(0, 1) prior of the bias shrinks the mean by Nτ/(Nτ + 1).
        let shrink = mass * state.q.tau()[c] / (mass * state.q.tau()[c] + 1.0);
        assert_close("bias", state.q.bias[c], shrink * sum / mass, 1e-9);
    }
}
