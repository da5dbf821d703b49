//! The processor.

use super::{Backend, Side};
use crate::fourier::Basis;
use crate::kernel::{Kernel, factorised_in, sized};
use crate::linalg::{
    Accumulate, Cholesky, Mat, MatRef, Threads, dot, fill_upper, outer, product, scale_columns, scale_rows,
};
use rayon::prelude::*;

/// The processor, with so many threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host(pub(crate) Threads);

impl Backend for Host {
    type Matrix = Mat<f64>;
    type Factor = Cholesky;

    fn put(&self, a: MatRef<'_, f64>) -> Mat<f64> {
        a.to_owned()
    }

    fn get(&self, a: &Mat<f64>) -> Mat<f64> {
        a.clone()
    }

    fn zeros(&self, rows: usize, columns: usize) -> Mat<f64> {
        Mat::zeros(rows, columns)
    }

    fn room<'m>(&self, a: &'m mut Option<Mat<f64>>, rows: usize, columns: usize) -> &'m mut Mat<f64> {
        if a.as_ref().is_some_and(|a| a.shape() != (rows, columns)) {
            *a = None;
        }
        a.get_or_insert_with(|| Mat::zeros(rows, columns))
    }

    fn rows_at_once(&self, on_processor: usize, _: usize) -> usize {
        on_processor
    }

    fn each<S, T: Send>(
        &self,
        count: usize,
        start: impl Fn() -> S + Send + Sync,
        f: impl Fn(&Self, &mut S, usize) -> T + Send + Sync,
    ) -> Vec<T> {
        let one = Host(Threads::ONE);
        match self.0 {
            Threads::ONE => {
                let mut state = start();
                (0..count).map(|i| f(&one, &mut state, i)).collect()
            }
            _ => (0..count).into_par_iter().map_init(start, |state, i| f(&one, state, i)).collect(),
        }
    }

    fn product(&self, dst: &mut Mat<f64>, mode: Accumulate, a: Side<'_, Mat<f64>>, b: Side<'_, Mat<f64>>, factor: f64) {
        let a = match a {
            Side::Plain(a) => a.as_ref(),
            Side::Transposed(a) => a.transpose(),
        };
        let b = match b {
            Side::Plain(b) => b.as_ref().subcols(0, dst.ncols()),
            Side::Transposed(b) => b.transpose(),
        };
        product(dst.as_mut(), mode, a, b, factor, self.0);
    }

    fn add_gram(&self, dst: &mut Mat<f64>, a: &Mat<f64>) {
        outer(dst.as_mut(), Accumulate::Add, a.transpose(), self.0);
    }

    fn add(&self, dst: &mut Mat<f64>, a: &Mat<f64>, factor: f64) {
        for j in 0..a.ncols() {
            let column = dst.col_as_slice_mut(j).iter_mut().zip(a.col_as_slice(j));
            column.for_each(|(to, from)| *to += factor * from);
        }
    }

    fn scale_columns(&self, a: &mut Mat<f64>, factors: &[f64]) {
        scale_columns(a, |j| factors[j]);
    }

    fn scale_both(&self, a: &mut Mat<f64>, factors: &[f64]) {
        for j in 0..a.ncols() {
            let column = a.col_as_slice_mut(j)[j..].iter_mut().zip(&factors[j..]);
            column.for_each(|(v, factor)| *v *= factor * factors[j]);
        }
    }

    fn diagonal_of(&self, a: &Mat<f64>) -> Vec<f64> {
        (0..a.nrows()).map(|i| a[(i, i)]).collect()
    }

    fn fill_upper(&self, a: &mut Mat<f64>) {
        fill_upper(a.as_mut());
    }

    fn features(&self, basis: &Basis, inputs: &Mat<f64>, root: Option<&[f64]>, out: &mut Mat<f64>) {
        basis.features_into(out, inputs.as_ref(), self.0);
        if let Some(root) = root {
            scale_rows(out, root);
        }
    }

    fn residual(&self, y: &Mat<f64>, mean: &mut Mat<f64>, share: &[f64]) {
        for (c, share) in share.iter().enumerate() {
            let column = mean.col_as_slice_mut(c).iter_mut().zip(y.col_as_slice(c));
            column.for_each(|(mean, y)| *mean = share * (y - *mean));
        }
    }

    fn pull(&self, cosines: &Mat<f64>, slopes: &Mat<f64>, out: &mut Mat<f64>) {
        for p in 0..out.ncols() {
            let (cos, sin) = (cosines.col_as_slice(2 * p), cosines.col_as_slice(2 * p + 1));
            let (by_cos, by_sin) = (slopes.col_as_slice(2 * p), slopes.col_as_slice(2 * p + 1));
            let to = out.col_as_slice_mut(p);
            for k in 0..to.len() {
                to[k] = by_sin[k] * cos[k] - by_cos[k] * sin[k];
            }
        }
    }

    fn factor(&self, a: &Mat<f64>, noise: f64) -> Option<Cholesky> {
        let mut s = a.clone();
        (0..s.nrows()).for_each(|i| s[(i, i)] += noise);
        Cholesky::new(s, self.0)
    }

    fn ln_det(&self, l: &Cholesky) -> f64 {
        l.ln_det()
    }

    fn half_solve(&self, l: &Cholesky, b: &mut Mat<f64>) {
        l.half_solve(b.as_mut());
    }

    fn half_solve_transposed(&self, l: &Cholesky, b: &mut Mat<f64>) {
        l.half_solve_transposed(b.as_mut());
    }

    fn inverse(&self, l: Cholesky, full: bool) -> (Vec<f64>, Option<Mat<f64>>) {
        l.into_inverse(full)
    }

    fn lower(&self, l: Cholesky) -> Cholesky {
        l
    }

    fn gram(&self, kernel: &Kernel, inputs: &Mat<f64>) -> Mat<f64> {
        kernel.gram(inputs, self.0)
    }

    fn weighted_factor(
        &self,
        place: Option<Cholesky>,
        gram: &Mat<f64>,
        rows: Option<&[usize]>,
        root: &[f64],
        noise: f64,
    ) -> Option<Cholesky> {
        let place = sized(place.map_or(Mat::new(), Cholesky::into_memory), root.len());
        factorised_in(place, (gram, rows), root, noise, self.0)
    }

    fn carried(&self, l: &Cholesky) -> Cholesky {
        l.clone()
    }

    fn explained(&self, l: &Cholesky, rows: &Mat<f64>) -> Vec<f64> {
        let mut columns = rows.transpose().to_owned();
        l.half_solve(columns.as_mut());
        (0..columns.ncols()).map(|j| dot(columns.col_as_slice(j), columns.col_as_slice(j))).collect()
    }
}
