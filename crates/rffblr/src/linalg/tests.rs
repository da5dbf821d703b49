use super::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn normal(rows: usize, columns: usize) -> Mat<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64((rows * 1000 + columns) as u64);
    Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
}

/// Runs an operation with one, two and eight threads and wants the same bits.
fn same_bits(what: &str, f: impl Fn(Threads) -> Vec<Mat<f64>>) {
    let one = f(Threads::ONE);
    for threads in [2, 8] {
        let many = f(Threads(threads));
        assert!(one == many, "{what} with {threads} threads");
    }
}

#[test]
fn no_operation_depends_on_the_number_of_threads() {
    for (n, m) in [(310, 420), (700, 333), (129, 2100), (1100, 60)] {
        let (a, b) = (normal(n, m), normal(m, n));
        let gram = |t: Threads| {
            let mut s = Mat::zeros(n, n);
            outer(s.as_mut(), Accumulate::Replace, a.as_ref(), t);
            for i in 0..n {
                s[(i, i)] += m as f64;
            }
            s
        };
        let s = gram(Threads::ONE);
        same_bits("product", |t| vec![multiply(a.as_ref(), b.as_ref(), t)]);
        same_bits("outer", |t| vec![gram(t)]);
        same_bits("half solve", |t| {
            let factor = Cholesky::new(s.clone(), t).unwrap();
            let (mut x, mut y) = (a.clone(), a.clone());
            factor.half_solve(x.as_mut());
            factor.half_solve_transposed(y.as_mut());
            vec![x, y]
        });
        same_bits("inverse", |t| vec![Cholesky::new(s.clone(), t).unwrap().into_inverse(true).1.unwrap()]);
    }
}

#[test]
fn large_factors_and_inverses_by_blocks_are_those_at_once() {
    let (n, a) = (2500, normal(2500, 40));
    let mut s = Mat::zeros(n, n);
    outer(s.as_mut(), Accumulate::Replace, a.as_ref(), Threads(2));
    (0..n).for_each(|i| s[(i, i)] += 5.0);
    let (factor, at_once) =
        (Cholesky::new(s.clone(), Threads(2)).unwrap(), Cholesky::at_once(s.clone(), Threads(2)).unwrap());
    for j in 0..n {
        let pairs = factor.lower.col_as_slice(j)[j..].iter().zip(&at_once.lower.col_as_slice(j)[j..]);
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-10));
    }
    let mut whole = Mat::identity(n, n);
    factor.half_solve(whole.as_mut());
    let diagonal = factor.inverse_diagonal();
    assert!((0..n).all(|j| (dot(whole.col_as_slice(j), whole.col_as_slice(j)) - diagonal[j]).abs() < 1e-10));
    s[(2400, 2400)] = -1.0;
    assert!(Cholesky::new(s, Threads(2)).is_none());
}

/// Guards against a parallel kernel that drops a piece: triangular and parallel against plain loops.
#[test]
fn parallel_triangular_product_equals_sequential_full_product() {
    let a = normal(520, 400);
    let mut s = Mat::zeros(520, 520);
    outer(s.as_mut(), Accumulate::Replace, a.as_ref(), Threads(4));
    for (i, j) in [(0, 0), (519, 0), (519, 519), (260, 259), (300, 17), (511, 256), (128, 64)] {
        let direct: f64 = (0..400).map(|k| a[(i, k)] * a[(j, k)]).sum();
        assert!((s[(i, j)] - direct).abs() < 1e-10);
    }
    let full = multiply(a.as_ref(), a.as_ref().transpose(), Threads::ONE);
    for j in 0..520 {
        for i in j..520 {
            assert!((s[(i, j)] - full[(i, j)]).abs() < 1e-10);
        }
    }
}

#[test]
fn factorisations_reproduce_their_matrix() {
    let a = normal(40, 60);
    let mut s = Mat::zeros(40, 40);
    outer(s.as_mut(), Accumulate::Replace, a.as_ref(), Threads::ONE);
    let mut full = s.clone();
    fill_upper(full.as_mut());
    let (diagonal, inverse) = Cholesky::new(s.clone(), Threads::ONE).unwrap().into_inverse(true);
    let mut inverse = inverse.unwrap();
    fill_upper(inverse.as_mut());
    let identity = multiply(inverse.as_ref(), full.as_ref(), Threads::ONE);
    let Spectral { values, vectors } = Spectral::new(s.clone()).unwrap();
    let ln_det = Cholesky::new(s, Threads::ONE).unwrap().ln_det();
    assert!((values.iter().map(|v| v.ln()).sum::<f64>() - ln_det).abs() < 1e-9);
    let scaled = Mat::from_fn(40, 40, |i, j| vectors[(i, j)] * values[j]);
    let again = multiply(scaled.as_ref(), vectors.as_ref().transpose(), Threads::ONE);
    let q = orthonormal(a.transpose().to_owned());
    let qq = multiply(q.as_ref().transpose(), q.as_ref(), Threads::ONE);
    for i in 0..40 {
        assert!((diagonal[i] - inverse[(i, i)]).abs() < 1e-12);
        for j in 0..40 {
            let unit = if i == j { 1.0 } else { 0.0 };
            assert!((identity[(i, j)] - unit).abs() < 1e-9);
            assert!((again[(i, j)] - full[(i, j)]).abs() < 1e-9);
            assert!((qq[(i, j)] - unit).abs() < 1e-12);
        }
    }
    assert!(Cholesky::new(Mat::from_fn(2, 2, |i, j| if i == j { -1.0 } else { 0.0 }), Threads::ONE).is_none());
}
