//! Work on rows and columns.

use super::threads::{Threads, work};
use crate::interrupt::go_on;
use faer::{ColMut, Mat, MatRef, Par};
use rayon::prelude::*;

/// Column j times `factor(j)`.
pub fn scale_columns(block: &mut Mat<f64>, factor: impl Fn(usize) -> f64) {
    for j in 0..block.ncols() {
        let factor = factor(j);
        block.col_as_slice_mut(j).iter_mut().for_each(|v| *v *= factor);
    }
}

/// Row i times `factors[i]`.
pub fn scale_rows(block: &mut Mat<f64>, factors: &[f64]) {
    for j in 0..block.ncols() {
        block.col_as_slice_mut(j).iter_mut().zip(factors).for_each(|(v, f)| *v *= f);
    }
}

/// aᵀb. Eight running sums let the processor add in parallel; their number is fixed, so the bits are too.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// Runs `f` on every column, in parallel if that pays, and returns what it gave in the order of the columns.
pub fn map_columns<T: Send>(a: &mut Mat<f64>, threads: Threads, f: impl Fn(usize, &mut [f64]) -> T + Sync) -> Vec<T> {
    let columns = a.ncols();
    // A column cell costs about as much as a few dozen multiplications of a matrix product.
    if threads.par(32.0 * work(a.nrows(), columns, 1)) == Par::Seq {
        let one = |j: usize| {
            go_on();
            f(j, a.col_as_slice_mut(j))
        };
        return (0..columns).map(one).collect();
    }
    a.as_mut()
        .par_col_iter_mut()
        .enumerate()
        .with_min_len(16)
        .map(|(j, column)| {
            go_on();
            let column = column.try_as_col_major_mut().expect("a Mat is column-major");
            f(j, column.as_slice_mut())
        })
        .collect()
}

/// Runs `f` on every column of some square matrices of one size, from its diagonal on, in parallel if that pays, and returns
/// what it gave in the order of the columns. A cell costs as much as so many multiplications of a matrix product.
pub fn map_lower<const K: usize, T: Send>(
    matrices: [&mut Mat<f64>; K],
    cell: usize,
    threads: Threads,
    f: impl Fn(usize, [&mut [f64]; K]) -> T + Sync,
) -> Vec<T> {
    let size = matrices.first().map_or(0, |matrix| matrix.ncols());
    let mut columns = matrices.map(|matrix| matrix.as_mut().col_iter_mut().enumerate());
    fn below((j, column): (usize, ColMut<'_, f64>)) -> &mut [f64] {
        let column = column.try_as_col_major_mut().expect("a Mat is column-major");
        &mut column.as_slice_mut()[j..]
    }
    let one = |(j, columns)| {
        go_on();
        f(j, columns)
    };
    let columns = (0..size).map(|_| columns.each_mut().map(|next| below(next.next().expect("matrices of one size"))));
    if threads.par(work(size, size, cell) / 2.0) == Par::Seq {
        return columns.enumerate().map(one).collect();
    }
    columns.collect::<Vec<_>>().into_par_iter().enumerate().with_min_len(16).map(one).collect()
}

/// The chosen rows of a matrix.
pub fn select_rows(a: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), a.ncols(), |i, j| a[(rows[i], j)])
}

/// The chosen columns of a matrix.
pub fn select_columns(a: MatRef<'_, f64>, columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(a.nrows(), columns.len(), |i, j| a[(i, columns[j])])
}
