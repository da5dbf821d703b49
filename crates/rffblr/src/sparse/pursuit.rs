//! Which frequencies of a pool to start from: orthogonal matching pursuit for all tasks together, phases free.
//!
//! A frequency ω offers every combination of cos ωᵀx and sin ωᵀx, that is, one sinusoid of any phase. What is left of
//! the two columns after the sinusoids picked so far has Gram matrix G (2×2) and correlations H (2×C) with what is left
//! of f; the best single combination v explains the largest eigenvalue of L⁻¹HHᵀL⁻ᵀ (G = LLᵀ) of the sum of squares,
//! and Lᵀv is its eigenvector. Both G and H are updated without touching the columns: with q the newly picked sinusoid
//! made orthonormal to the earlier ones and t = (columns)ᵀq, G loses ttᵀ and H loses t(qᵀf).

use crate::fourier::cosines;
use crate::linalg::{Accumulate, Mat, MatRef, Threads, dot, map_columns, multiply, product};
use std::f64::consts::FRAC_PI_2;

/// Share of a column's own square added to its diagonal of G, so that a column in the span of those picked is not
/// picked for its rounding errors.
const RIDGE: f64 = 1e-3;
/// A gain below this share of the sum of squares of f is rounding.
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
    let mut pursuit = Pursuit::new(rows, values, pool, threads);
    let everything: f64 = (0..values.ncols()).map(|c| square(pursuit.values.col_as_slice(c))).sum();
    let mut basis = Mat::zeros(rows.nrows(), count);
    let (mut order, mut phases) = (Vec::new(), Vec::new());
    while order.len() < count {
        let Some((m, Offer { gain, mix })) = pursuit.best() else { break };
        if gain <= NOTHING * everything {
            break;
        }
        let Some(direction) = pursuit.direction(m, mix, basis.as_ref().subcols(0, order.len())) else { break };
        basis.as_mut().col_mut(order.len()).copy_from(direction.as_ref().col(0));
        pursuit.explain(&direction);
        order.push(m);
        // v₁ cos a + v₂ sin a is a multiple of cos(a + p).
        phases.push((-mix[1]).atan2(mix[0]));
    }
    if order.is_empty() {
        // A constant function: any sinusoid will do, with weight zero.
        (order, phases) = (vec![0], vec![0.0]);
    }
    (Mat::from_fn(pool.nrows(), order.len(), |d, k| pool[(d, order[k])]), phases)
}

/// State of the pursuit: the residual of f and of the columns.
struct Pursuit {
    /// Cosines of the pool, then sines, less their means.
    columns: Mat<f64>,
    /// f less its means.
    values: Mat<f64>,
    /// Sum of squares of each column.
    own: Vec<f64>,
    /// Sum of squares of each column's residual: the diagonals of G.
    squares: Vec<f64>,
    /// Off the diagonal of G, for each frequency.
    cross: Vec<f64>,
    /// H of all columns.
    left: Mat<f64>,
    threads: Threads,
}

impl Pursuit {
    fn new(rows: &Mat<f64>, values: &Mat<f64>, pool: &Mat<f64>, threads: Threads) -> Self {
        let columns = pairs(rows, pool, threads);
        let values = centre(values);
        let size = pool.ncols();
        let own: Vec<f64> = (0..2 * size).map(|j| square(columns.col_as_slice(j))).collect();
        let cross = (0..size).map(|m| dot(columns.col_as_slice(m), columns.col_as_slice(size + m))).collect();
        let left = multiply(columns.as_ref().transpose(), values.as_ref(), threads);
        Pursuit { squares: own.clone(), columns, values, own, cross, left, threads }
    }

    /// The frequency with the best offer; of equal ones the first, and never one that is not a number.
    fn best(&self) -> Option<(usize, Offer)> {
        let size = self.cross.len();
        let offers = (0..size).map(|m| {
            let diagonal = |j: usize| self.squares[j] + RIDGE * self.own[j];
            (m, offer([diagonal(m), self.cross[m], diagonal(size + m)], &self.left, m, size + m))
        });
        offers.filter(|(_, offer)| !offer.gain.is_nan()).reduce(|a, b| if b.1.gain > a.1.gain { b } else { a })
    }

    /// The sinusoid of a mix as a unit column orthogonal to `basis`; `None` if nothing is left of it.
    fn direction(&self, m: usize, mix: [f64; 2], basis: MatRef<'_, f64>) -> Option<Mat<f64>> {
        let (cosine, sine) = (self.columns.col_as_slice(m), self.columns.col_as_slice(self.cross.len() + m));
        let mut q = Mat::from_fn(cosine.len(), 1, |n, _| mix[0] * cosine[n] + mix[1] * sine[n]);
        // Twice, for rounding.
        for _ in 0..2 {
            let overlap = multiply(basis.transpose(), q.as_ref(), self.threads);
            product(q.as_mut(), Accumulate::Add, basis, overlap.as_ref(), -1.0, self.threads);
        }
        let length = square(q.col_as_slice(0)).sqrt();
        q.col_as_slice_mut(0).iter_mut().for_each(|v| *v /= length);
        (length > 0.0).then_some(q)
    }

    /// Subtracts what a unit column explains from G and H.
    fn explain(&mut self, direction: &Mat<f64>) {
        let along = multiply(self.columns.as_ref().transpose(), direction.as_ref(), self.threads);
        let explained = multiply(direction.as_ref().transpose(), self.values.as_ref(), self.threads);
        let t = along.col_as_slice(0);
        for c in 0..self.left.ncols() {
            self.left.col_as_slice_mut(c).iter_mut().zip(t).for_each(|(l, t)| *l -= t * explained[(0, c)]);
        }
        self.squares.iter_mut().zip(t).for_each(|(s, t)| *s = (*s - t * t).max(0.0));
        let size = self.cross.len();
        self.cross.iter_mut().enumerate().for_each(|(m, x)| *x -= t[m] * t[size + m]);
    }
}

fn square(column: &[f64]) -> f64 {
    dot(column, column)
}

/// Columns cos(Xω) and sin(Xω) of every frequency, each minus its mean.
fn pairs(rows: &Mat<f64>, pool: &Mat<f64>, threads: Threads) -> Mat<f64> {
    let size = pool.ncols();
    let mut columns = Mat::zeros(rows.nrows(), 2 * size);
    product(columns.as_mut().subcols_mut(0, size), Accumulate::Replace, rows.as_ref(), pool.as_ref(), 1.0, threads);
    let (angles, mut sines) = columns.as_mut().split_at_col_mut(size);
    sines.copy_from(angles.as_ref());
    map_columns(&mut columns, threads, |j, column| {
        cosines(column, 1.0, if j < size { 0.0 } else { -FRAC_PI_2 }, 1.0);
        centre_column(column);
    });
    columns
}

/// Subtracts the mean and returns it.
pub(super) fn centre_column(column: &mut [f64]) -> f64 {
    let mean = column.iter().sum::<f64>() / column.len().max(1) as f64;
    column.iter_mut().for_each(|v| *v -= mean);
    mean
}

/// A copy with the mean of each column subtracted.
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
