//! Sufficient statistics of the data under given features. They add up over blocks of rows, and the primal form of
//! q(W) needs nothing else: data that do not fit in memory can come through here.

use crate::linalg::{Accumulate, Mat, MatRef, Threads, dot, outer, product};

/// ΦᵀΦ, ΦᵀY, Φᵀu, Yᵀu, Σy² and uᵀu, where u is the column that multiplies the bias (the root of the row weights:
/// ones without weights) and rows are already multiplied by it (equation 11).
pub(crate) struct Moments {
    /// ΦᵀΦ, lower triangle.
    pub(crate) gram: Mat<f64>,
    /// ΦᵀY.
    pub(crate) cross: Mat<f64>,
    /// Φᵀu.
    pub(crate) sum: Vec<f64>,
    /// Yᵀu.
    pub(crate) target_sum: Vec<f64>,
    /// Column sums of Y².
    pub(crate) target_square: Vec<f64>,
    /// uᵀu: the number of rows, or the sum of their weights.
    pub(crate) mass: f64,
}

impl Moments {
    pub(crate) fn zero(features: usize, tasks: usize) -> Self {
        Moments {
            gram: Mat::zeros(features, features),
            cross: Mat::zeros(features, tasks),
            sum: vec![0.0; features],
            target_sum: vec![0.0; tasks],
            target_square: vec![0.0; tasks],
            mass: 0.0,
        }
    }

    /// Adds a block of rows.
    pub(crate) fn add(&mut self, features: &Mat<f64>, root: &[f64], targets: &Mat<f64>, threads: Threads) {
        let phi: MatRef<'_, f64> = features.as_ref();
        outer(self.gram.as_mut(), Accumulate::Add, phi.transpose(), threads);
        product(self.cross.as_mut(), Accumulate::Add, phi.transpose(), targets.as_ref(), 1.0, threads);
        for (m, sum) in self.sum.iter_mut().enumerate() {
            *sum += dot(features.col_as_slice(m), root);
        }
        for c in 0..targets.ncols() {
            let y = targets.col_as_slice(c);
            self.target_sum[c] += dot(y, root);
            self.target_square[c] += dot(y, y);
        }
        self.mass += dot(root, root);
    }
}
