//! Which frequencies of a pool to start from: orthogonal matching pursuit for all tasks together, phases free.
//!
//! A frequency ω offers every combination of cos ωᵀx and sin ωᵀx, that is, one sinusoid of any phase. What is left of
//! the two columns after the sinusoids picked so far has Gram matrix G (2×2) and correlations H (2×C) with what is left
//! of f; the best single combination v explains the largest eigenvalue of L⁻¹HHᵀL⁻ᵀ (G = LLᵀ) of the sum of squares,
//! and L ᵀv is its eigenvector. Both G and H are updated without touching the columns: with q the newly picked sinusoid
//! made orthonormal to the earlier ones and t = (columns)ᵀq, G loses ttᵀ and H loses t(qᵀf).

use crate::fourier::cosines;
use crate::linalg::{Into, Mat, Threads, dot, map_columns, multiply, product};
use std::f64::consts::FRAC_PI_2;

/// Share of a column's own square added to its diagonal of G: what is nearly explained already must not be picked for
/// the rounding left of it.
const RIDGE: f64 = 1e-3;
/// A gain below this share of all there was to explain is rounding.
const NOTHING: f64 = 1e-13;

/// The best combination of cosine and sine of one frequency.
struct Offer {
    gain: f64,
    /// Weights of cosine and sine.
    mix: [f64; 2],
}

/// Picks up to `count` sinusoids (at least one) for the columns of `values`: frequencies and phases.
pub(super) fn pick(
    rows: &Mat<f64>,
    values: &Mat<f64>,
    pool: &Mat<f64>,
    count: usize,
    threads: Threads,
) -> (Mat<f64>, Vec<f64>) {
    let (size, tasks) = (pool.ncols(), values.ncols());
    // Cosines, then sines.
    let columns = pairs(rows, pool, threads);
    let centred = centre(values);
    let everything: f64 = (0..tasks).map(|c| dot(centred.col_as_slice(c), centred.col_as_slice(c))).sum();
    let mut left = multiply(columns.as_ref().transpose(), centred.as_ref(), threads);
    let square = |j: usize| dot(columns.col_as_slice(j), columns.col_as_slice(j));
    let own: Vec<f64> = (0..2 * size).map(square).collect();
    let mut squares = own.clone();
    let mut cross: Vec<f64> = (0..size).map(|m| dot(columns.col_as_slice(m), columns.col_as_slice(size + m))).collect();
    let mut picked = Mat::zeros(rows.nrows(), count);
    let (mut order, mut phases) = (Vec::new(), Vec::new());
    let mut along = Mat::zeros(2 * size, 1);
    while order.len() < count {
        let offers = (0..size).map(|m| {
            let gram = [squares[m] + RIDGE * own[m], cross[m], squares[size + m] + RIDGE * own[size + m]];
            (m, offer(gram, &left, m, size + m))
        });
        // Of equal offers the first counts; one that is not a number never does.
        let best = offers.fold(None, |best: Option<(usize, Offer)>, (m, offer)| match &best {
            Some((_, b)) if offer.gain.is_nan() || offer.gain <= b.gain => best,
            _ => Some((m, offer)),
        });
        let Some((m, Offer { gain, mix })) = best else { break };
        let enough = gain.is_nan() || gain <= NOTHING * everything;
        if enough && !order.is_empty() {
            break;
        }
        // v₁ cos a + v₂ sin a is a multiple of cos(a + p).
        phases.push(if enough { 0.0 } else { (-mix[1]).atan2(mix[0]) });
        order.push(m);
        let done = order.len() - 1;
        let (earlier, mut this) = picked.as_mut().split_at_col_mut(done);
        let mut q = Mat::from_fn(rows.nrows(), 1, |n, _| mix[0] * columns[(n, m)] + mix[1] * columns[(n, size + m)]);
        // Twice, for rounding.
        for _ in 0..2 {
            let overlap = multiply(earlier.as_ref().transpose(), q.as_ref(), threads);
            product(q.as_mut(), Into::Add, earlier.as_ref(), overlap.as_ref(), -1.0, threads);
        }
        let length = dot(q.col_as_slice(0), q.col_as_slice(0)).sqrt();
        if length.is_nan() || length <= 0.0 {
            break;
        }
        q.col_as_slice_mut(0).iter_mut().for_each(|v| *v /= length);
        this.as_mut().col_mut(0).copy_from(q.as_ref().col(0));
        product(along.as_mut(), Into::Replace, columns.as_ref().transpose(), q.as_ref(), 1.0, threads);
        let explained = multiply(q.as_ref().transpose(), centred.as_ref(), threads);
        let t = along.col_as_slice(0);
        for c in 0..tasks {
            left.col_as_slice_mut(c).iter_mut().zip(t).for_each(|(l, t)| *l -= t * explained[(0, c)]);
        }
        squares.iter_mut().zip(t).for_each(|(s, t)| *s = (*s - t * t).max(0.0));
        cross.iter_mut().enumerate().for_each(|(m, x)| *x -= t[m] * t[size + m]);
    }
    (Mat::from_fn(pool.nrows(), order.len(), |d, k| pool[(d, order[k])]), phases)
}

/// Columns cos(Xω) and sin(Xω) of every frequency, each with its mean taken off.
fn pairs(rows: &Mat<f64>, pool: &Mat<f64>, threads: Threads) -> Mat<f64> {
    let size = pool.ncols();
    let mut columns = Mat::zeros(rows.nrows(), 2 * size);
    product(columns.as_mut().subcols_mut(0, size), Into::Replace, rows.as_ref(), pool.as_ref(), 1.0, threads);
    let (angles, mut sines) = columns.as_mut().split_at_col_mut(size);
    sines.copy_from(angles.as_ref());
    map_columns(&mut columns, threads, |j, column| {
        cosines(column, 1.0, if j < size { 0.0 } else { -FRAC_PI_2 }, 1.0);
        centre_column(column);
    });
    columns
}

/// Takes the mean off and returns it.
pub(super) fn centre_column(column: &mut [f64]) -> f64 {
    let mean = column.iter().sum::<f64>() / column.len().max(1) as f64;
    column.iter_mut().for_each(|v| *v -= mean);
    mean
}

/// A copy with the mean of each column taken off.
fn centre(table: &Mat<f64>) -> Mat<f64> {
    let mut out = table.clone();
    for j in 0..out.ncols() {
        centre_column(out.col_as_slice_mut(j));
    }
    out
}

/// The best combination of rows `a` and `b` of H = `left`, for G = [[g₀, g₁], [g₁, g₂]].
fn offer(gram: [f64; 3], left: &Mat<f64>, a: usize, b: usize) -> Offer {
    let l11 = gram[0].sqrt();
    let l21 = gram[1] / l11;
    let l22 = (gram[2] - l21 * l21).max(RIDGE * gram[2]).sqrt();
    let (mut uu, mut uw, mut ww) = (0.0, 0.0, 0.0);
    for c in 0..left.ncols() {
        let u = left[(a, c)] / l11;
        let w = (left[(b, c)] - l21 * u) / l22;
        (uu, uw, ww) = (uu + u * u, uw + u * w, ww + w * w);
    }
    let angle = 0.5 * (2.0 * uw).atan2(uu - ww);
    let gain = 0.5 * (uu + ww) + (0.25 * (uu - ww).powi(2) + uw * uw).sqrt();
    let second = angle.sin() / l22;
    Offer { gain, mix: [(angle.cos() - l21 * second) / l11, second] }
}
