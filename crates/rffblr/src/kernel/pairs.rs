//! Distances between all pairs of rows and their derivatives, vectorised.
//!
//! For rows i > j and weights r: Σ_d r_d |x_id − x_jd| or Σ_d r_d (x_id − x_jd)². Sums have a fixed
//! shape: the same bits on every machine and for any number of threads.

use crate::interrupt::go_on;
use crate::linalg::{Mat, MatRef, Threads};
use crate::simd::vectorised;
use rayon::prelude::*;

/// Inputs per pass, which share the loads of the sums.
const INPUTS: usize = 4;
/// Running sums of a reduction.
const LANES: usize = 8;

/// What is summed over inputs.
#[derive(Clone, Copy)]
pub(crate) enum Distance {
    /// |Δ|.
    Absolute,
    /// Δ².
    Square,
}

/// Up to four inputs: their columns, the row the distance is measured from, their weights.
type Block<'a> = (&'a [&'a [f64]], &'a [f64], &'a [f64]);

/// `out[i] += Σ_d r_d size(x_d[i] − at_d)`.
#[inline(always)]
fn add_distances((x, at, r): Block<'_>, size: impl Fn(f64) -> f64, out: &mut [f64]) {
    if let ([a, b, c, d], [p, q, s, t], [u, v, w, z]) = (x, at, r) {
        let count = out.len();
        let (a, b, c, d) = (&a[..count], &b[..count], &c[..count], &d[..count]);
        for (i, out) in out.iter_mut().enumerate() {
            *out += (u * size(a[i] - p) + v * size(b[i] - q)) + (w * size(c[i] - s) + z * size(d[i] - t));
        }
        return;
    }
    for ((x, at), r) in x.iter().zip(at).zip(r) {
        out.iter_mut().zip(*x).for_each(|(out, x)| *out += r * size(x - at));
    }
}

#[inline(always)]
fn forward_body(block: Block<'_>, distance: Distance, out: &mut [f64]) {
    match distance {
        Distance::Absolute => add_distances(block, f64::abs, out),
        Distance::Square => add_distances(block, |delta| delta * delta, out),
    }
}

/// Σ_i slope[i] |x[i] − at|.
#[inline(always)]
fn backward_body(x: &[f64], at: f64, slope: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (x_blocks, x_rest) = x.as_chunks::<LANES>();
    let (s_blocks, s_rest) = slope.as_chunks::<LANES>();
    for (x, s) in x_blocks.iter().zip(s_blocks) {
        for i in 0..LANES {
            sums[i] = (x[i] - at).abs().mul_add(s[i], sums[i]);
        }
    }
    let rest = x_rest.iter().zip(s_rest);
    rest.fold(sums.iter().sum::<f64>(), |total, (x, s)| (x - at).abs().mul_add(*s, total))
}

/// `x[i] ← eˣ` for x ≤ 0, within a few units in the last place; below −700 it is zero.
#[inline(always)]
fn exponentials_body(x: &mut [f64]) {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
    x.iter_mut().for_each(|x| {
        let bounded = x.clamp(-700.0, 0.0);
        let shifted = bounded.mul_add(std::f64::consts::LOG2_E, ROUND);
        let k = shifted - ROUND;
        let r = k.mul_add(-LN_2[1], k.mul_add(-LN_2[0], bounded));
        // Taylor's series on |r| ≤ ln 2 / 2: the first term left out is below 1e-17.
        let mut p = 1.0 / 6_227_020_800.0;
        for term in [
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
            1.0,
            1.0,
        ] {
            p = r.mul_add(p, term);
        }
        // The low bits of `shifted` hold k: added to the exponent they multiply by 2ᵏ.
        let scaled = f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52));
        *x = if *x < -700.0 { 0.0 } else { scaled };
    });
}

/// `k[i] ← 1 + u k[i] + v rbf[i] + w laplace[i]`.
#[inline(always)]
fn weighted_sum_body(k: &mut [f64], rbf: &[f64], laplace: &[f64], [u, v, w]: [f64; 3]) {
    for ((k, rbf), laplace) in k.iter_mut().zip(rbf).zip(laplace) {
        *k = w.mul_add(*laplace, v.mul_add(*rbf, u.mul_add(*k, 1.0)));
    }
}

/// `laplace[i] ← s[i] laplace[i]`, and the sums of s·products, s·rbf, s·rbf·square and s·laplace.
#[inline(always)]
fn weigh_body(s: &[f64], products: &[f64], rbf: &[f64], square: &[f64], laplace: &mut [f64]) -> [f64; 4] {
    let mut sums = [[0.0; LANES]; 4];
    let mut add = |k: usize, [s, p, e, q]: [f64; 4], l: &mut f64| {
        let pulled = s * e;
        *l *= s;
        sums[0][k] = s.mul_add(p, sums[0][k]);
        sums[1][k] += pulled;
        sums[2][k] = pulled.mul_add(q, sums[2][k]);
        sums[3][k] += *l;
    };
    let ((s, s_rest), (p, p_rest)) = (s.as_chunks::<LANES>(), products.as_chunks::<LANES>());
    let ((e, e_rest), (q, q_rest)) = (rbf.as_chunks::<LANES>(), square.as_chunks::<LANES>());
    let (l, l_rest) = laplace.as_chunks_mut::<LANES>();
    for ((((s, p), e), q), l) in s.iter().zip(p).zip(e).zip(q).zip(l) {
        for k in 0..LANES {
            add(k, [s[k], p[k], e[k], q[k]], &mut l[k]);
        }
    }
    for (k, l) in l_rest.iter_mut().enumerate() {
        add(k, [s_rest[k], p_rest[k], e_rest[k], q_rest[k]], l);
    }
    sums.map(|lanes| lanes.iter().sum())
}

vectorised!(fn forward(block: Block<'_>, distance: Distance, out: &mut [f64]) = forward_body);
vectorised!(fn backward(x: &[f64], at: f64, slope: &[f64]) -> f64 = backward_body);
vectorised!(
    /// `k[i] ← 1 + u k[i] + v rbf[i] + w laplace[i]`.
    pub(super) fn weighted_sum(k: &mut [f64], rbf: &[f64], laplace: &[f64], weights: [f64; 3]) = weighted_sum_body
);
vectorised!(
    /// `laplace[i] ← s[i] laplace[i]`, and the sums of s·products, s·rbf, s·rbf·square and s·laplace.
    pub(super) fn weigh(s: &[f64], products: &[f64], rbf: &[f64], square: &[f64], laplace: &mut [f64]) -> [f64; 4] = weigh_body
);
vectorised!(
    /// `x[i] ← eˣ` for x ≤ 0.
    pub(crate) fn exponentials(x: &mut [f64]) = exponentials_body
);

/// Adds the distances, along some inputs, of row `at` of `b` to the rows of `a` from `first` on.
pub(super) fn add_along(
    inputs: impl ExactSizeIterator<Item = usize>,
    (a, first): (&Mat<f64>, usize),
    (b, at): (MatRef<'_, f64>, usize),
    (distance, r): (Distance, &[f64]),
    out: &mut [f64],
) {
    let mut inputs = inputs;
    while inputs.len() > 0 {
        let count = inputs.len().min(INPUTS);
        let mut x: [&[f64]; INPUTS] = [&[]; INPUTS];
        let (mut from, mut weight) = ([0.0; INPUTS], [0.0; INPUTS]);
        for (k, d) in inputs.by_ref().take(count).enumerate() {
            (x[k], from[k], weight[k]) = (&a.col_as_slice(d)[first..], b[(at, d)], r[d]);
        }
        forward((&x[..count], &from[..count], &weight[..count]), distance, out);
    }
}

/// Distances of row `at` of `b` to the rows of `a` from `first` on.
pub(super) fn distances_to(
    (a, first): (&Mat<f64>, usize),
    (b, at): (MatRef<'_, f64>, usize),
    distance: Distance,
    r: &[f64],
    out: &mut [f64],
) {
    out.fill(0.0);
    add_along(0..a.ncols(), (a, first), (b, at), (distance, r), out);
}

/// Distances between all rows of `x`, into a lower triangle.
pub(super) fn within(x: &Mat<f64>, distance: Distance, r: &[f64], out: &mut Mat<f64>, threads: Threads) {
    each_column(out, x.ncols(), threads, |j, column| {
        distances_to((x, j), (x.as_ref(), j), distance, r, &mut column[j..]);
    });
}

/// Distances from the rows of `x` to those of `new`: N×N′.
pub(super) fn between(x: &Mat<f64>, new: MatRef<'_, f64>, distance: Distance, r: &[f64], threads: Threads) -> Mat<f64> {
    let mut out = Mat::zeros(x.nrows(), new.nrows());
    each_column(&mut out, x.ncols(), threads, |j, column| distances_to((x, 0), (new, j), distance, r, column));
    out
}

/// Runs `f` on every column; a cell costs as much as there are inputs.
pub(super) fn each_column(out: &mut Mat<f64>, inputs: usize, threads: Threads, f: impl Fn(usize, &mut [f64]) + Sync) {
    let (rows, columns) = out.shape();
    if threads == Threads::ONE || rows * columns * inputs < 200_000 {
        for j in 0..columns {
            go_on();
            f(j, out.col_as_slice_mut(j));
        }
        return;
    }
    out.as_mut().par_col_iter_mut().enumerate().with_min_len(8).for_each(|(j, column)| {
        go_on();
        let column = column.try_as_col_major_mut().expect("a Mat is column-major");
        f(j, column.as_slice_mut());
    });
}

/// Σ_{i>j} slope_ij |x_id − x_jd| for every input d: lower triangle.
pub(super) fn pull(x: &Mat<f64>, slope: &Mat<f64>, threads: Threads) -> Vec<f64> {
    let rows = x.nrows();
    let one_input = |d: usize| {
        let column = x.col_as_slice(d);
        (0..rows).map(|j| backward(&column[j..], column[j], &slope.col_as_slice(j)[j..])).sum::<f64>()
    };
    if threads == Threads::ONE || rows * rows * x.ncols() < 200_000 {
        (0..x.ncols()).map(one_input).collect()
    } else {
        (0..x.ncols()).into_par_iter().map(one_input).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::tests::same_at_every_level;

    fn table(rows: usize, columns: usize) -> Mat<f64> {
        Mat::from_fn(rows, columns, |i, j| ((i * 7 + j * 13) as f64 * 0.71).sin() * 2.0)
    }

    #[test]
    fn distances_and_their_derivatives_against_plain_loops() {
        for inputs in [1, 3, 4, 5, 9] {
            let x = table(37, inputs);
            let r: Vec<f64> = (0..inputs).map(|d| 0.2 + d as f64).collect();
            let mut expected = vec![0.0; inputs];
            for distance in [Distance::Absolute, Distance::Square] {
                let mut inside = Mat::zeros(37, 37);
                within(&x, distance, &r, &mut inside, Threads::ONE);
                let across = between(&x, x.as_ref(), distance, &r, Threads::ONE);
                let power = if matches!(distance, Distance::Square) { 2 } else { 1 };
                for j in 0..37 {
                    for i in j..37 {
                        let delta = |d: usize| (x[(i, d)] - x[(j, d)]).abs();
                        let sum = (0..inputs).map(|d| r[d] * delta(d).powi(power)).sum::<f64>();
                        assert!((inside[(i, j)] - sum).abs() < 1e-12 && (across[(i, j)] - sum).abs() < 1e-12);
                    }
                }
            }
            let slope = table(37, 37);
            for j in 0..37 {
                for i in j..37 {
                    (0..inputs).for_each(|d| expected[d] += slope[(i, j)] * (x[(i, d)] - x[(j, d)]).abs());
                }
            }
            for (found, expected) in pull(&x, &slope, Threads::ONE).iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn exponentials_agree_with_the_standard_library() {
        let values: Vec<f64> = (0..200_000).map(|i| -0.003_71 * f64::from(i)).chain([-1e300, -f64::INFINITY]).collect();
        let run = || {
            let mut found = values.clone();
            exponentials(&mut found);
            found
        };
        same_at_every_level(run);
        for (x, found) in values.iter().zip(&run()) {
            let expected = if *x < -700.0 { 0.0 } else { x.exp() };
            assert!((found - expected).abs() <= 4e-16 * expected, "e^{x}: {found}, not {expected}");
        }
    }

    #[test]
    fn every_variant_and_number_of_threads_gives_the_same_bits() {
        let x = table(150, 11);
        let r: Vec<f64> = (0..11).map(|d| 0.3 + 0.1 * d as f64).collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut out = Mat::zeros(150, 150);
                within(&x, Distance::Absolute, &r, &mut out, Threads::current());
                let pulled = pull(&x, &out, Threads::current());
                (out, pulled)
            })
        };
        assert!(run(1) == run(2));
        same_at_every_level(|| run(1));
    }
}
