//! Cholesky factors, what they solve, and inverses from them.

use super::columns::scale_columns;
use super::product::{Accumulate, scaled_outer};
use super::threads::{Threads, glance, work};
use crate::interrupt::go_on;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{matmul, triangular_solve};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, Mat, MatMut, Par};
use rayon::prelude::*;

/// The lower Cholesky factor `L` of a symmetric positive definite matrix, `L Lᵀ = s`.
#[derive(Clone, Debug)]
pub struct Cholesky {
    pub(super) lower: Mat<f64>,
    threads: Threads,
}

impl Cholesky {
    /// Factorises in place; `None` if a pivot is not positive. A large matrix goes by blocks of columns: what is left of a
    /// block has its part taken off, its own square is factorised, and what is below is solved by that, in pieces of rows.
    pub fn new(mut s: Mat<f64>, threads: Threads) -> Option<Self> {
        const BLOCK: usize = 64;
        const PIECE: usize = 128;
        let n = s.nrows();
        if n <= 1024 {
            return Cholesky::at_once(s, threads);
        }
        for first in (0..n).step_by(BLOCK) {
            let count = BLOCK.min(n - first);
            let (left, right) = s.as_mut().subrows_mut(first, n - first).split_at_col_mut(first);
            let (above, below) = left.rb().split_at_row(count);
            let (mut square, mut rest) = right.subcols_mut(0, count).split_at_row_mut(count);
            scaled_outer(square.rb_mut(), Accumulate::Add, above, -1.0, Threads::ONE);
            let factor = Cholesky::at_once(square.rb().to_owned(), Threads::ONE)?;
            square.copy_from(&factor.lower);
            let pieces = rest.rb_mut().par_row_chunks_mut(PIECE).zip(below.par_row_chunks(PIECE));
            in_parallel(pieces, threads.par(work(n - first, first, count)), |(mut piece, left)| {
                matmul::matmul(piece.rb_mut(), Accum::Add, left, above.transpose(), -1.0, Par::Seq);
                // X Lᵀ = B is L Xᵀ = Bᵀ.
                let solved = piece.transpose_mut();
                triangular_solve::solve_lower_triangular_in_place(factor.lower.as_ref(), solved, Par::Seq);
            });
        }
        Some(Cholesky { lower: s, threads })
    }

    /// On one thread: of so small a matrix, the products wait for each other longer than they take.
    pub(super) fn at_once(mut s: Mat<f64>, threads: Threads) -> Option<Self> {
        go_on();
        let scratch = llt::factor::cholesky_in_place_scratch::<f64>(s.nrows(), Par::Seq, Default::default());
        llt::factor::cholesky_in_place(
            s.as_mut(),
            Default::default(),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            Default::default(),
        )
        .ok()?;
        Some(Cholesky { lower: s, threads })
    }

    /// A factor that was computed before: its lower triangle.
    pub fn from_lower(lower: Mat<f64>, threads: Threads) -> Self {
        Cholesky { lower, threads }
    }

    /// The lower triangle `L`.
    pub fn lower(&self) -> &Mat<f64> {
        &self.lower
    }

    /// `factor · L`.
    pub fn scaled(mut self, factor: f64) -> Self {
        scale_columns(&mut self.lower, |_| factor);
        self
    }

    /// `L` with every number rounded to single precision.
    pub fn in_single_precision(mut self) -> Self {
        for j in 0..self.lower.ncols() {
            self.lower.col_as_slice_mut(j).iter_mut().for_each(|v| *v = f64::from(*v as f32));
        }
        self
    }

    /// `ln |s|`.
    pub fn ln_det(&self) -> f64 {
        (0..self.lower.nrows()).map(|i| 2.0 * self.lower[(i, i)].ln()).sum()
    }

    /// `b ← L⁻¹ b`.
    pub fn half_solve(&self, b: MatMut<'_, f64>) {
        self.solve(b, |b, par| triangular_solve::solve_lower_triangular_in_place(self.lower.as_ref(), b, par));
    }

    /// `b ← L⁻ᵀ b`.
    pub fn half_solve_transposed(&self, b: MatMut<'_, f64>) {
        let upper = self.lower.as_ref().transpose();
        self.solve(b, |b, par| triangular_solve::solve_upper_triangular_in_place(upper, b, par));
    }

    fn solve(&self, mut b: MatMut<'_, f64>, solve: impl Fn(MatMut<'_, f64>, Par)) {
        let (rows, columns) = b.shape();
        let each = work(rows, rows, 1) / 2.0;
        let part = glance(columns, each);
        for first in (0..columns).step_by(part) {
            go_on();
            let count = part.min(columns - first);
            solve(b.rb_mut().subcols_mut(first, count), self.threads.par(each * count as f64));
        }
    }

    /// The diagonal of the inverse.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        diagonal_of_inverse(&self.half_inverse(Mat::zeros(self.lower.nrows(), self.lower.nrows())))
    }

    /// The diagonal of the inverse, and its lower triangle too if `full`. Needs one more matrix of this size.
    pub fn into_inverse(self, full: bool) -> (Vec<f64>, Option<Mat<f64>>) {
        let half = self.half_inverse(Mat::zeros(self.lower.nrows(), self.lower.nrows()));
        (diagonal_of_inverse(&half), full.then(|| self.into_inverse_from(&half)))
    }

    /// The lower triangle of the inverse, and `memory`, a matrix of this size that was needed for it.
    pub fn into_inverse_with(self, memory: Mat<f64>) -> (Mat<f64>, Mat<f64>) {
        let half = self.half_inverse(memory);
        (self.into_inverse_from(&half), half)
    }

    /// The memory of the factor.
    pub fn into_memory(self) -> Mat<f64> {
        self.lower
    }

    /// L⁻¹, in the lower triangle of a matrix of this size.
    fn half_inverse(&self, mut half: Mat<f64>) -> Mat<f64> {
        let lower = self.lower.as_ref();
        by_column_blocks(&mut half, self.threads, |first, mut block| {
            let (rows, columns) = block.shape();
            block.fill(0.0);
            (0..columns).for_each(|j| block[(j, j)] = 1.0);
            let rest = lower.submatrix(first, first, rows, rows);
            triangular_solve::solve_lower_triangular_in_place(rest, block, Par::Seq);
        });
        half
    }

    /// L⁻ᵀL⁻¹ in the place of the factor, which is not needed any more.
    fn into_inverse_from(self, half: &Mat<f64>) -> Mat<f64> {
        let (mut inverse, threads) = (self.lower, self.threads);
        by_column_blocks(&mut inverse, threads, |first, block| {
            let (rows, columns) = block.shape();
            let rest = half.as_ref().submatrix(first, first, rows, rows);
            triangular::matmul(
                block,
                BlockStructure::Rectangular,
                Accum::Replace,
                rest.transpose(),
                BlockStructure::TriangularUpper,
                rest.subcols(0, columns),
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
        });
        inverse
    }
}

/// The diagonal of L⁻ᵀL⁻¹.
fn diagonal_of_inverse(half: &Mat<f64>) -> Vec<f64> {
    (0..half.ncols()).map(|j| half.col_as_slice(j)[j..].iter().map(|v| v * v).sum()).collect()
}

/// Runs `f` on every item, in parallel or not.
fn in_parallel<T: Send>(items: impl IndexedParallelIterator<Item = T>, par: Par, f: impl Fn(T) + Sync + Send) {
    let all_on_one = if par == Par::Seq { usize::MAX } else { 1 };
    items.with_min_len(all_on_one).for_each(|item| {
        go_on();
        f(item);
    });
}

/// Runs `f` on every block of columns of a square matrix, from its diagonal on: work of the square of its rows for each
/// column, in parallel if that pays.
fn by_column_blocks(a: &mut Mat<f64>, threads: Threads, f: impl Fn(usize, MatMut<'_, f64>) + Sync + Send) {
    let n = a.nrows();
    let count = (n / 24).clamp(64, 128);
    let (mut rest, mut blocks) = (a.as_mut(), Vec::new());
    for first in (0..n).step_by(count) {
        let (block, others) = rest.split_at_col_mut(count.min(n - first));
        blocks.push((first, block.subrows_mut(first, n - first)));
        rest = others;
    }
    if threads.par(work(n, n, n) / 3.0) == Par::Seq {
        blocks.into_iter().for_each(|(first, block)| {
            go_on();
            f(first, block);
        });
        return;
    }
    // The first blocks are the longest: taken one by one, they leave no thread waiting for another.
    let f = &f;
    rayon::scope(|scope| {
        for (first, block) in blocks {
            scope.spawn(move |_| {
                go_on();
                f(first, block);
            });
        }
    });
}
