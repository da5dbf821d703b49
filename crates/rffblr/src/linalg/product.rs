//! Products of matrices.

use super::threads::{Threads, glance, work};
use crate::interrupt::go_on;
use faer::Accum;
use faer::linalg::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::prelude::ReborrowMut;
use faer::{Mat, MatMut, MatRef};

/// What a product does with the numbers already at its destination.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Accumulate {
    /// They go.
    Replace,
    /// The product is added to them.
    Add,
}

impl From<Accumulate> for Accum {
    fn from(mode: Accumulate) -> Accum {
        match mode {
            Accumulate::Replace => Accum::Replace,
            Accumulate::Add => Accum::Add,
        }
    }
}

/// `dst ← [dst +] factor · a b`.
pub fn product(
    mut dst: MatMut<'_, f64>,
    mode: Accumulate,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    factor: f64,
    threads: Threads,
) {
    let part = glance(b.ncols(), work(a.nrows(), a.ncols(), 1));
    for first in (0..b.ncols()).step_by(part) {
        go_on();
        let count = part.min(b.ncols() - first);
        let par = threads.par(work(a.nrows(), a.ncols(), count));
        let to = dst.rb_mut().subcols_mut(first, count);
        matmul::matmul(to, Accum::from(mode), a, b.subcols(first, count), factor, par);
    }
}

/// A new matrix `a b`.
pub fn multiply(a: MatRef<'_, f64>, b: MatRef<'_, f64>, threads: Threads) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    product(out.as_mut(), Accumulate::Replace, a, b, 1.0, threads);
    out
}

/// Lower triangle of `dst ← [dst +] a aᵀ`.
pub fn outer(dst: MatMut<'_, f64>, mode: Accumulate, a: MatRef<'_, f64>, threads: Threads) {
    scaled_outer(dst, mode, a, 1.0, threads);
}

/// Lower triangle of `dst ← [dst +] factor · a aᵀ`.
pub fn scaled_outer(dst: MatMut<'_, f64>, mode: Accumulate, a: MatRef<'_, f64>, factor: f64, threads: Threads) {
    go_on();
    let par = threads.par(work(a.nrows(), a.nrows(), a.ncols()) / 2.0);
    triangular::matmul(
        dst,
        BlockStructure::TriangularLower,
        Accum::from(mode),
        a,
        BlockStructure::Rectangular,
        a.transpose(),
        BlockStructure::Rectangular,
        factor,
        par,
    );
}

/// Copies the lower triangle into the upper one.
pub fn fill_upper(mut s: MatMut<'_, f64>) {
    for col in 1..s.ncols() {
        go_on();
        for row in 0..col {
            s[(row, col)] = s[(col, row)];
        }
    }
}
