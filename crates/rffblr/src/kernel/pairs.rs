//! Distances between all pairs of rows and their derivatives, at the speed of the machine.
//!
//! For rows i > j and relevances r: d₁ = Σ_d r_d |x_id − x_jd| and d₂² = Σ_d r_d (x_id − x_jd)². Each body is compiled
//! three times (AVX-512, AVX2, plain) and chosen when the program runs; every step is a fused multiply-add or exact and
//! every sum has a fixed shape, so all three give the same bits, for any number of threads.

use crate::linalg::{Mat, MatRef, Threads, dot};
use rayon::prelude::*;

/// Inputs taken at once: their loads are shared.
const INPUTS: usize = 4;
/// Running sums of a reduction.
const LANES: usize = 8;

/// `one[i] += Σ_d r_d |x_d[i] − at_d|` and `two[i] += Σ_d r_d (x_d[i] − at_d)²` for up to four inputs.
type Forward<'a> = (&'a [&'a [f64]], &'a [f64], &'a [f64]);

#[inline(always)]
fn forward_body((x, at, r): Forward<'_>, one: &mut [f64], two: &mut [f64]) {
    let count = one.len().min(two.len());
    let (one, two) = (&mut one[..count], &mut two[..count]);
    if let ([a, b, c, d], [p, q, s, t], [u, v, w, z]) = (x, at, r) {
        let (a, b, c, d) = (&a[..count], &b[..count], &c[..count], &d[..count]);
        for i in 0..count {
            let (e, f, g, h) = ((a[i] - p).abs(), (b[i] - q).abs(), (c[i] - s).abs(), (d[i] - t).abs());
            let (ue, vf, wg, zh) = (u * e, v * f, w * g, z * h);
            one[i] += (ue + vf) + (wg + zh);
            two[i] += ue.mul_add(e, vf * f) + wg.mul_add(g, zh * h);
        }
        return;
    }
    for ((x, at), r) in x.iter().zip(at).zip(r) {
        for ((one, two), x) in one.iter_mut().zip(two.iter_mut()).zip(*x) {
            let e = (x - at).abs();
            *one += r * e;
            *two += (r * e) * e;
        }
    }
}

/// Σ_i |x[i] − at| (linear[i] + square[i] |x[i] − at|).
#[inline(always)]
fn backward_body(x: &[f64], at: f64, linear: &[f64], square: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (x_blocks, x_rest) = x.as_chunks::<LANES>();
    let (l_blocks, l_rest) = linear.as_chunks::<LANES>();
    let (s_blocks, s_rest) = square.as_chunks::<LANES>();
    for ((x, l), s) in x_blocks.iter().zip(l_blocks).zip(s_blocks) {
        for i in 0..LANES {
            let e = (x[i] - at).abs();
            sums[i] = e.mul_add(s[i].mul_add(e, l[i]), sums[i]);
        }
    }
    let mut total = sums.iter().sum::<f64>();
    for ((x, l), s) in x_rest.iter().zip(l_rest).zip(s_rest) {
        let e = (x - at).abs();
        total = e.mul_add(s.mul_add(e, *l), total);
    }
    total
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

fn forward(block: Forward<'_>, one: &mut [f64], two: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,fma")]
        fn avx512(block: Forward<'_>, one: &mut [f64], two: &mut [f64]) {
            forward_body(block, one, two);
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(block: Forward<'_>, one: &mut [f64], two: &mut [f64]) {
            forward_body(block, one, two);
        }
        match level() {
            // SAFETY: `level` found the features on this machine.
            Level::Avx512 => return unsafe { avx512(block, one, two) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(block, one, two) },
            Level::Plain => {}
        }
    }
    forward_body(block, one, two);
}

fn backward(x: &[f64], at: f64, linear: &[f64], square: &[f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,fma")]
        fn avx512(x: &[f64], at: f64, linear: &[f64], square: &[f64]) -> f64 {
            backward_body(x, at, linear, square)
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(x: &[f64], at: f64, linear: &[f64], square: &[f64]) -> f64 {
            backward_body(x, at, linear, square)
        }
        match level() {
            // SAFETY: `level` found the features on this machine.
            Level::Avx512 => return unsafe { avx512(x, at, linear, square) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(x, at, linear, square) },
            Level::Plain => {}
        }
    }
    backward_body(x, at, linear, square)
}

/// `x[i] ← eˣ` for x ≤ 0.
pub(crate) fn exponentials(x: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512dq,fma")]
        fn avx512(x: &mut [f64]) {
            exponentials_body(x);
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(x: &mut [f64]) {
            exponentials_body(x);
        }
        match level() {
            // SAFETY: `level` found the features on this machine.
            Level::Avx512 => return unsafe { avx512(x) },
            // SAFETY: as above.
            Level::Avx2 => return unsafe { avx2(x) },
            Level::Plain => {}
        }
    }
    exponentials_body(x);
}

#[cfg(target_arch = "x86_64")]
pub(crate) enum Level {
    Avx512,
    Avx2,
    Plain,
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn level() -> Level {
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
        Level::Avx512
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        Level::Avx2
    } else {
        Level::Plain
    }
}

/// d₁ and d₂² of row `at` of `b` to the rows of `a` from `first` on.
fn distances_to(
    a: &Mat<f64>,
    first: usize,
    b: MatRef<'_, f64>,
    at: usize,
    r: &[f64],
    one: &mut [f64],
    two: &mut [f64],
) {
    one.fill(0.0);
    two.fill(0.0);
    let inputs: Vec<usize> = (0..a.ncols()).collect();
    for block in inputs.chunks(INPUTS) {
        let mut x: [&[f64]; INPUTS] = [&[]; INPUTS];
        let (mut from, mut weight) = ([0.0; INPUTS], [0.0; INPUTS]);
        for (k, &d) in block.iter().enumerate() {
            (x[k], from[k], weight[k]) = (&a.col_as_slice(d)[first..], b[(at, d)], r[d]);
        }
        let count = block.len();
        forward((&x[..count], &from[..count], &weight[..count]), one, two);
    }
}

/// d₁ and d₂² between all rows of `x`, into lower triangles.
pub(super) fn within(x: &Mat<f64>, r: &[f64], one: &mut Mat<f64>, two: &mut Mat<f64>, threads: Threads) {
    each_pair_of_columns(one, two, x.ncols(), threads, |j, one, two| {
        distances_to(x, j, x.as_ref(), j, r, &mut one[j..], &mut two[j..]);
    });
}

/// d₁ and d₂² from the rows of `x` to those of `new`: N×N′.
pub(super) fn between(x: &Mat<f64>, new: MatRef<'_, f64>, r: &[f64], threads: Threads) -> (Mat<f64>, Mat<f64>) {
    let (mut one, mut two) = (Mat::zeros(x.nrows(), new.nrows()), Mat::zeros(x.nrows(), new.nrows()));
    each_pair_of_columns(&mut one, &mut two, x.ncols(), threads, |j, one, two| {
        distances_to(x, 0, new, j, r, one, two);
    });
    (one, two)
}

/// Runs `f` on column j of both matrices, for every j.
fn each_pair_of_columns(
    one: &mut Mat<f64>,
    two: &mut Mat<f64>,
    inputs: usize,
    threads: Threads,
    f: impl Fn(usize, &mut [f64], &mut [f64]) + Sync,
) {
    let (rows, columns) = one.shape();
    if threads == Threads::ONE || rows * columns * inputs < 200_000 {
        for j in 0..columns {
            f(j, one.col_as_slice_mut(j), two.col_as_slice_mut(j));
        }
        return;
    }
    let pairs = one.as_mut().par_col_iter_mut().zip(two.as_mut().par_col_iter_mut()).enumerate();
    pairs.with_min_len(8).for_each(|(j, (one, two))| {
        let slices = (one.try_as_col_major_mut(), two.try_as_col_major_mut());
        if let (Some(one), Some(two)) = slices {
            f(j, one.as_slice_mut(), two.as_slice_mut());
        }
    });
}

/// Σ_{i>j} (linear_ij |x_id − x_jd| + square_ij (x_id − x_jd)²) for every input d: lower triangles.
pub(super) fn pull(x: &Mat<f64>, linear: &Mat<f64>, square: &Mat<f64>, threads: Threads) -> Vec<f64> {
    let rows = x.nrows();
    let one_input = |d: usize| {
        let column = x.col_as_slice(d);
        (0..rows)
            .map(|j| backward(&column[j..], column[j], &linear.col_as_slice(j)[j..], &square.col_as_slice(j)[j..]))
            .sum::<f64>()
    };
    if threads == Threads::ONE || rows * rows * x.ncols() < 200_000 {
        (0..x.ncols()).map(one_input).collect()
    } else {
        (0..x.ncols()).into_par_iter().map(one_input).collect()
    }
}

/// Σ over the lower triangle of a product of two matrices.
pub(super) fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|j| dot(&a.col_as_slice(j)[j..], &b.col_as_slice(j)[j..])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize, columns: usize) -> Mat<f64> {
        Mat::from_fn(rows, columns, |i, j| ((i * 7 + j * 13) as f64 * 0.71).sin() * 2.0)
    }

    #[test]
    fn distances_and_their_derivatives_against_plain_loops() {
        for inputs in [1, 3, 4, 5, 9] {
            let x = table(37, inputs);
            let r: Vec<f64> = (0..inputs).map(|d| 0.2 + d as f64).collect();
            let (mut one, mut two) = (Mat::zeros(37, 37), Mat::zeros(37, 37));
            within(&x, &r, &mut one, &mut two, Threads::ONE);
            let (cross_one, cross_two) = between(&x, x.as_ref(), &r, Threads::ONE);
            let (linear, square) = (table(37, 37), table(37, 37));
            let mut expected = vec![0.0; inputs];
            for j in 0..37 {
                for i in j..37 {
                    let (mut a, mut b) = (0.0, 0.0);
                    for d in 0..inputs {
                        let e = (x[(i, d)] - x[(j, d)]).abs();
                        a += r[d] * e;
                        b += r[d] * e * e;
                        expected[d] += linear[(i, j)] * e + square[(i, j)] * e * e;
                    }
                    for (one, two) in [(&one, &two), (&cross_one, &cross_two)] {
                        assert!((one[(i, j)] - a).abs() < 1e-12 && (two[(i, j)] - b).abs() < 1e-12);
                    }
                }
            }
            for (found, expected) in pull(&x, &linear, &square, Threads::ONE).iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn exponentials_agree_with_the_standard_library() {
        let values: Vec<f64> = (0..200_000).map(|i| -0.003_71 * f64::from(i)).chain([-1e300, -f64::INFINITY]).collect();
        let (mut chosen, mut plain) = (values.clone(), values.clone());
        exponentials(&mut chosen);
        exponentials_body(&mut plain);
        assert_eq!(chosen, plain, "the compiled variants differ");
        for (x, found) in values.iter().zip(&chosen) {
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
                let (mut one, mut two) = (Mat::zeros(150, 150), Mat::zeros(150, 150));
                within(&x, &r, &mut one, &mut two, Threads::current());
                let pulled = pull(&x, &one, &two, Threads::current());
                (one, two, pulled)
            })
        };
        assert!(run(1) == run(2));
        let (a, b) = (x.col_as_slice(0), x.col_as_slice(1));
        assert_eq!(backward(a, 0.3, b, a), backward_body(a, 0.3, b, a));
    }
}
