//! Shapley values of product games, eight games at a time (equations 34 and 35).
//!
//! A coalition S of inputs has the value v(S) = Π_{j∈S} a_j Π_{j∉S} b_j. The mean over all orders of what input i adds is
//! φ_i = ∫₀¹ (a_i − b_i) Π_{j≠i} (t a_j + (1−t) b_j) dt: an integral of a polynomial, which Gauss' rule with half as many
//! nodes as inputs does exactly, and far fewer do to any precision wanted (a bound says how many).
//! Products of all but one factor come from a forward and a backward pass, so that no factor is ever divided by.

use crate::simd::vectorised;

/// Games played side by side.
pub(super) const LANES: usize = 8;
/// One number for each of them.
pub(super) type Lane = [f64; LANES];

/// Sizes ρ of the ellipses around [−1, 1] on which the polynomial is bounded.
const ELLIPSES: [f64; 6] = [1.4, 2.2, 4.0, 10.0, 40.0, 300.0];

/// Gauss' rule on [−1, 1].
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) nodes: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

impl Rule {
    /// Roots of the Legendre polynomial by Newton's method.
    pub(super) fn new(count: usize) -> Rule {
        let n = count as f64;
        let root = |i: usize| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut before, mut now) = (1.0, x);
                for k in 2..=count {
                    let k = k as f64;
                    (before, now) = (now, ((2.0 * k - 1.0) * x * now - (k - 1.0) * before) / k);
                }
                slope = n * (x * now - before) / (x * x - 1.0);
                let step = now / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        };
        let (nodes, weights) = (0..count).map(root).unzip();
        Rule { nodes, weights }
    }
}

/// Rules of rising order for games of some number of inputs; the last is exact.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    /// What an integral may be wrong by.
    pub(super) tolerance: f64,
}

impl Rules {
    /// Orders are multiples of `step`; the last has at least half as many nodes as there are inputs.
    pub(super) fn new(inputs: usize, step: usize, tolerance: f64) -> Rules {
        let exact = inputs.div_ceil(2).max(1).div_ceil(step) * step;
        let mut orders = Vec::new();
        let mut order = step;
        while order < exact {
            orders.push(order);
            order = (order + step).max(order * 5 / 4 / step * step);
        }
        orders.push(exact);
        Rules { rules: orders.into_iter().map(Rule::new).collect(), tolerance }
    }

    /// The rule at a position.
    pub(super) fn get(&self, position: usize) -> &Rule {
        &self.rules[position.min(self.rules.len() - 1)]
    }

    /// The exact rule, if that is smaller than the question which one to take.
    pub(super) fn few(&self) -> Option<&Rule> {
        self.rules.last().filter(|_| self.rules.len() <= 4)
    }

    /// Position of the smallest rule that is exact to the tolerance, given ln of a bound of the integrand on an ellipse of
    /// half axes a and b: the error of T nodes is at most (64/15) M ρ^(−2T)/(1 − ρ⁻²).
    fn enough(&self, bound: impl Fn(f64, f64) -> f64) -> usize {
        let needed = ELLIPSES.map(|rho| {
            let constant = 64.0 / 15.0 / (1.0 - rho.powi(-2));
            let bound = bound(0.5 * (rho + 1.0 / rho), 0.5 * (rho - 1.0 / rho));
            (bound + (constant / self.tolerance).ln()) / (2.0 * rho.ln())
        });
        let needed = needed.into_iter().fold(f64::INFINITY, f64::min);
        self.rules.partition_point(|rule| (rule.nodes.len() as f64) < needed).min(self.rules.len() - 1)
    }

    /// Position of the rule for games of factors from 0 to 1, of given size and with −ln of the largest product given. On
    /// an ellipse of half width a a factor is at most its larger end times 1 + (a−1)/2 · (1 − smaller/larger end); `excess`
    /// bounds the sum of these last brackets.
    pub(super) fn for_products(&self, size: f64, depth: f64, excess: f64) -> usize {
        if self.few().is_some() {
            return self.rules.len() - 1;
        }
        self.enough(|a, _| size.ln() - depth + 0.5 * (a - 1.0) * excess)
    }
}

/// Room for the passes over the inputs of one game.
pub(super) struct Scratch {
    /// Sine and cosine of half the difference of two angles.
    odd: Vec<Lane>,
    even: Vec<Lane>,
    /// Products of the factors before each input, for the nodes of one pass.
    before: Vec<[Lane; 4]>,
}

impl Scratch {
    pub(super) fn new(inputs: usize) -> Scratch {
        let lanes = || vec![[0.0; LANES]; inputs];
        Scratch { odd: lanes(), even: lanes(), before: vec![[[0.0; LANES]; 4]; inputs] }
    }
}

/// `out[i] += size · φ_i` by a rule, for factors neither negative nor above one.
#[inline(always)]
fn play_body(a: &[Lane], b: &[Lane], size: &Lane, rule: &Rule, scratch: &mut Scratch, out: &mut [Lane]) {
    let before = &mut scratch.before;
    for (nodes, weights) in rule.nodes.chunks(4).zip(rule.weights.chunks(4)) {
        match (nodes, weights) {
            (&[n0, n1, n2, n3], &[w0, w1, w2, w3]) => {
                pass([n0, n1, n2, n3], [w0, w1, w2, w3], size, (a, b), before, out);
            }
            (&[n0, n1, n2], &[w0, w1, w2]) => pass([n0, n1, n2], [w0, w1, w2], size, (a, b), before, out),
            (&[n0, n1], &[w0, w1]) => pass([n0, n1], [w0, w1], size, (a, b), before, out),
            (&[n0], &[w0]) => pass([n0], [w0], size, (a, b), before, out),
            _ => {}
        }
    }
}

/// Both passes for a few nodes at once: they share what is loaded.
#[inline(always)]
fn pass<const NODES: usize>(
    nodes: [f64; NODES],
    weights: [f64; NODES],
    size: &Lane,
    (a, b): (&[Lane], &[Lane]),
    before: &mut [[Lane; 4]],
    out: &mut [Lane],
) {
    let at = nodes.map(|x| 0.5 + 0.5 * x);
    let mut product = weights.map(|w| size.map(|size| 0.5 * w * size));
    for ((a, b), before) in a.iter().zip(b).zip(before.iter_mut()) {
        for k in 0..NODES {
            before[k] = product[k];
            for l in 0..LANES {
                product[k][l] *= at[k].mul_add(a[l] - b[l], b[l]);
            }
        }
    }
    let mut after = [[1.0; LANES]; NODES];
    for (((a, b), before), out) in a.iter().zip(b).zip(before.iter()).zip(out.iter_mut()).rev() {
        let mut sum = [0.0; LANES];
        for k in 0..NODES {
            for l in 0..LANES {
                sum[l] = before[k][l].mul_add(after[k][l], sum[l]);
                after[k][l] *= at[k].mul_add(a[l] - b[l], b[l]);
            }
        }
        for l in 0..LANES {
            out[l] = sum[l].mul_add(a[l] - b[l], out[l]);
        }
    }
}

/// Cosines and sines of half the angle of each input at one row.
pub(super) struct Angles<'a> {
    pub(super) cosine: &'a [Lane],
    pub(super) sine: &'a [Lane],
}

/// `out[i] += size · φ_i` of the games v(S) = cos(p + Σ_{j∈S} θ_j(x) + Σ_{j∉S} θ_j(z)). With h half the difference of an
/// angle, φ_i = −sin(p + mean angle) sin h_i ∫₋₁¹ Π_{j≠i} (cos h_j + i s sin h_j) ds; s and −s give conjugates, so nodes
/// above zero are enough. `size` is −sin(p + mean angle) times the weight of the game.
#[inline(always)]
fn waves_body(x: &Angles<'_>, z: &Angles<'_>, size: &Lane, rules: &Rules, scratch: &mut Scratch, out: &mut [Lane]) {
    let count = x.cosine.len();
    let (cx, sx, cz, sz) = (&x.cosine[..count], &x.sine[..count], &z.cosine[..count], &z.sine[..count]);
    let (odd, even, out) = (&mut scratch.odd[..count], &mut scratch.even[..count], &mut out[..count]);
    let (mut tilt, mut spread) = ([0.0; LANES], [0.0; LANES]);
    for j in 0..count {
        for l in 0..LANES {
            let sine = sx[j][l].mul_add(cz[j][l], -(cx[j][l] * sz[j][l]));
            let cosine = cx[j][l].mul_add(cz[j][l], sx[j][l] * sz[j][l]);
            (odd[j][l], even[j][l]) = (sine, cosine);
            tilt[l] = sine.mul_add(cosine, tilt[l]);
            spread[l] = sine.mul_add(sine, spread[l]);
        }
    }
    // |Π (cos h + i z sin h)| ≤ exp(b |Σ sin h cos h| + ½b² Σ sin² h) on an ellipse of half height b; without one input
    // the first sum may be larger by what that had in it: at most ½, and at most the root of the second.
    let lanes = 0..LANES;
    let rule = rules.get(rules.enough(|_, b| {
        let single = |l: usize| spread[l].sqrt().min(0.5);
        let one = |l: usize| size[l].abs().ln() + b * (tilt[l].abs() + single(l)) + 0.5 * b * b * spread[l];
        lanes.clone().map(one).fold(f64::NEG_INFINITY, f64::max)
    }));
    let half = rule.nodes.len() / 2;
    let (nodes, weights) = (&rule.nodes[..half], &rule.weights[..half]);
    let before = &mut scratch.before[..count];
    for (nodes, weights) in nodes.chunks(2).zip(weights.chunks(2)) {
        match (nodes, weights) {
            (&[n0, n1], &[w0, w1]) => wave_pass([n0, n1], [w0, w1], size, (odd, even), before, out),
            (&[n0], &[w0]) => wave_pass([n0], [w0], size, (odd, even), before, out),
            _ => {}
        }
    }
}

#[inline(always)]
fn wave_pass<const NODES: usize>(
    nodes: [f64; NODES],
    weights: [f64; NODES],
    size: &Lane,
    (odd, even): (&[Lane], &[Lane]),
    before: &mut [[Lane; 4]],
    out: &mut [Lane],
) {
    let times = |re: &mut Lane, im: &mut Lane, s: f64, odd: &Lane, even: &Lane| {
        for l in 0..LANES {
            let imaginary = s * odd[l];
            let (r, i) = (re[l], im[l]);
            re[l] = r.mul_add(even[l], -(i * imaginary));
            im[l] = r.mul_add(imaginary, i * even[l]);
        }
    };
    let mut re = weights.map(|w| size.map(|size| 2.0 * w * size));
    let mut im = [[0.0; LANES]; NODES];
    for ((odd, even), before) in odd.iter().zip(even).zip(before.iter_mut()) {
        for k in 0..NODES {
            (before[2 * k], before[2 * k + 1]) = (re[k], im[k]);
            times(&mut re[k], &mut im[k], nodes[k], odd, even);
        }
    }
    let (mut re, mut im) = ([[1.0; LANES]; NODES], [[0.0; LANES]; NODES]);
    for (((odd, even), before), out) in odd.iter().zip(even).zip(before.iter()).zip(out.iter_mut()).rev() {
        let mut sum = [0.0; LANES];
        for k in 0..NODES {
            for l in 0..LANES {
                sum[l] = before[2 * k][l].mul_add(re[k][l], sum[l]);
                sum[l] = (-before[2 * k + 1][l]).mul_add(im[k][l], sum[l]);
            }
            times(&mut re[k], &mut im[k], nodes[k], odd, even);
        }
        for l in 0..LANES {
            out[l] = sum[l].mul_add(odd[l], out[l]);
        }
    }
}

vectorised!(
    /// `out[i] += size · φ_i` of games of products.
    pub(super) fn play(
        a: &[Lane],
        b: &[Lane],
        size: &Lane,
        rule: &Rule,
        scratch: &mut Scratch,
        out: &mut [Lane]
    ) = play_body
);

vectorised!(
    /// `out[i] += size · φ_i` of games of cosines.
    pub(super) fn waves(
        x: &Angles<'_>,
        z: &Angles<'_>,
        size: &Lane,
        rules: &Rules,
        scratch: &mut Scratch,
        out: &mut [Lane]
    ) = waves_body
);
