use crate::explain::game::{LANES, Lane, Rule, Rules, Scratch, TOLERANCE, products};
use crate::explain::mixture::exponentials_of_root;

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

#[test]
fn the_mixture_is_the_exponential_of_a_root() {
    let mixture = exponentials_of_root(1.0);
    let logarithms = (0..120).map(|i| 10f64.powf(-15.0 + 0.15 * f64::from(i)));
    for u in logarithms.chain([0.0]) {
        let found: f64 = mixture.iter().map(|(s, weight)| weight * (-s * u).exp()).sum();
        let expected = (-u.sqrt()).exp();
        assert!((found - expected).abs() < 2e-13, "u = {u}: {found}, not {expected}");
    }
}

/// Many inputs: the bound chooses few nodes; the exact rule, half as many nodes as inputs, must agree.
#[test]
fn few_nodes_do_what_the_exact_rule_does() {
    for (inputs, size) in [(40, 0.5), (90, 0.05), (90, 3.0), (200, 40.0)] {
        let factor = |j: usize, l: usize, seed: usize| -> f64 {
            (-size * (((j * 7 + l * 13 + seed * 29) as f64 * 0.73).sin().abs())).exp()
        };
        let factors =
            |seed: usize| -> Vec<Lane> { (0..inputs).map(|j| std::array::from_fn(|l| factor(j, l, seed))).collect() };
        let (a, mut b) = (factors(1), factors(2));
        // One game from a point itself: all factors one.
        b.iter_mut().for_each(|lane| lane[3] = 1.0);
        let play = |tolerance: f64| {
            let mut out = vec![[0.0; LANES]; inputs];
            let rules = Rules::new(inputs, 1, tolerance);
            products(&a, &b, 1.0, &rules, &mut Scratch::new(inputs), &mut out);
            out
        };
        let (found, exact) = (play(TOLERANCE), play(f64::MIN_POSITIVE));
        for l in 0..LANES {
            let all = |factors: &[Lane]| factors.iter().map(|lane| lane[l]).product::<f64>();
            let sum: f64 = found.iter().map(|lane| lane[l]).sum();
            assert!((sum - (all(&a) - all(&b))).abs() < 1e-12);
            for j in 0..inputs {
                assert!((found[j][l] - exact[j][l]).abs() < TOLERANCE, "{} {}", found[j][l], exact[j][l]);
            }
        }
    }
}
