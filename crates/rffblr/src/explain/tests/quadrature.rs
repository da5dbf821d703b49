use crate::explain::game::{Angles, LANES, Lane, Rule, Rules, Scratch, play, waves};
use crate::explain::kernels::Games;
use crate::kernel::Family;
use crate::simd::tests::same_at_every_level;

const TOLERANCE: f64 = 1e-13;

#[test]
fn gauss_rules_integrate_polynomials() {
    for count in [1, 2, 3, 8, 21, 206] {
        let rule = Rule::new(count);
        for degree in [0, 1, count - 1, 2 * count - 2, 2 * count - 1] {
            let found: f64 = rule.nodes.iter().zip(&rule.weights).map(|(x, w)| w * x.powi(degree as i32)).sum();
            let expected = if degree % 2 == 1 { 0.0 } else { 2.0 / (degree + 1) as f64 };
            assert!((found - expected).abs() < 1e-13, "{count} nodes, degree {degree}: {found}");
        }
        assert!(rule.nodes.is_sorted_by(|a, b| a > b));
    }
}

/// Distances of many inputs to eight centres, in the first two of which one of the rows lies itself.
fn distances(inputs: usize, size: f64, seed: usize) -> Vec<Lane> {
    // Every ninth input counts a hundred times as much as the others.
    let weight = |j: usize| if j % 9 == 4 { 100.0 } else { 1.0 };
    let one = |j: usize, l: usize| size * weight(j) * ((j * 7 + l * 13 + seed * 29) as f64 * 0.73).sin().powi(2);
    let lane = |j: usize| std::array::from_fn(|l| if l == seed { 0.0 } else { one(j, l) });
    (0..inputs).map(lane).collect()
}

/// Few nodes must give what the exact rule, half as many nodes as inputs, gives.
#[test]
fn few_nodes_do_what_the_exact_rule_does() {
    for (inputs, size) in [(40, 0.5), (90, 0.002), (90, 0.1), (130, 3.0)] {
        let (x, z) = (distances(inputs, size, 0), distances(inputs, size, 1));
        let rules = Rules::new(inputs, 1, TOLERANCE);
        for scale in [0.003, 0.1, 2.0] {
            let (mut found, family) = (vec![[0.0; LANES]; inputs], Family { variance: 0.7, bandwidth: scale });
            let games = Games { players: inputs, x: x.clone(), z: z.clone(), share: &[1.0], family, rules: &rules };
            games.play(&mut found);
            same_at_every_level(|| {
                let mut out = vec![[0.0; LANES]; inputs];
                games.play(&mut out);
                out
            });
            let (mut exact, rule) = (vec![[0.0; LANES]; inputs], Rule::new(inputs.div_ceil(2)));
            let decayed = |u: &[Lane]| u.iter().map(|lane| lane.map(|u| (-scale * u).exp())).collect::<Vec<_>>();
            play(&decayed(&x), &decayed(&z), &[0.7; LANES], &rule, &mut Scratch::new(inputs), &mut exact);
            for l in 0..LANES {
                let all = |u: &[Lane]| 0.7 * (-scale * u.iter().map(|lane| lane[l]).sum::<f64>()).exp();
                let sum: f64 = found.iter().map(|lane| lane[l]).sum();
                assert!((sum - (all(&x) - all(&z))).abs() < 1e-11, "{inputs}, {size}: {sum}, {}", all(&x) - all(&z));
                for j in 0..inputs {
                    let (a, b) = (found[j][l], exact[j][l]);
                    assert!((a - b).abs() < TOLERANCE, "{inputs} inputs of size {size}, lane {l}: {a}, not {b}");
                }
            }
        }
    }
}

/// The same for cosines, slow and fast.
#[test]
fn few_nodes_of_cosines_do_what_the_exact_rule_does() {
    for (inputs, size) in [(40, 0.02), (60, 0.3), (60, 2.0)] {
        let angles = |seed: usize| -> (Vec<Lane>, Vec<Lane>) {
            let angle = |j: usize, l: usize| size * ((j * 7 + l * 13 + seed * 29) as f64 * 0.73).sin();
            let lane = |j: usize| std::array::from_fn(|l| angle(j, l));
            (0..inputs).map(lane).map(|lane: Lane| (lane.map(f64::cos), lane.map(f64::sin))).unzip()
        };
        let ((x_cosine, x_sine), (z_cosine, z_sine)) = (angles(1), angles(2));
        let play = |tolerance: f64| {
            let (mut out, rules) = (vec![[0.0; LANES]; inputs], Rules::new(inputs, 2, tolerance));
            let (x, z) = (Angles { cosine: &x_cosine, sine: &x_sine }, Angles { cosine: &z_cosine, sine: &z_sine });
            waves(&x, &z, &[0.7; LANES], &rules, &mut Scratch::new(inputs), &mut out);
            out
        };
        same_at_every_level(|| play(TOLERANCE));
        // No bound is good enough for the smallest positive number, so that the last rule is taken.
        let (found, exact) = (play(TOLERANCE), play(f64::MIN_POSITIVE));
        for (found, exact) in found.as_flattened().iter().zip(exact.as_flattened()) {
            assert!((found - exact).abs() < TOLERANCE, "{inputs} inputs of size {size}: {found}, not {exact}");
        }
    }
}
