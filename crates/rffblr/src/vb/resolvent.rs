//! Q_c = (I + τ_c S)⁻¹ for every task of a group, equation 13: one Cholesky factor if the tasks have one noise
//! precision, one eigendecomposition for all of them if they differ.

use crate::error::{Error, Result};
use crate::linalg::{
    Accumulate, Cholesky, Mat, Spectral, Threads, fill_upper, multiply, outer, product, scale_columns, scale_rows,
};

pub(crate) struct Resolvent {
    size: usize,
    tau: Vec<f64>,
    kind: Kind,
    threads: Threads,
}

enum Kind {
    /// One precision: I + τS = LLᵀ.
    One(Cholesky),
    /// Several: S = V diag(λ) Vᵀ, with √k_i, k_i = Σ_c τ_c/(1 + τ_c λ_i).
    Many(Spectral, Vec<f64>),
}

impl Resolvent {
    /// From the lower triangle of S and the noise precision of each task.
    pub(crate) fn new(mut s: Mat<f64>, tau: &[f64], threads: Threads) -> Result<Self> {
        let (size, first) = (s.nrows(), tau[0]);
        let singular = || Error::Singular { size, noise: first };
        let kind = if tau.iter().all(|&t| t == first) {
            for j in 0..size {
                let column = &mut s.col_as_slice_mut(j)[j..];
                column.iter_mut().for_each(|v| *v *= first);
                column[0] += 1.0;
            }
            Kind::One(Cholesky::new(s, threads).ok_or_else(singular)?)
        } else {
            let spectral = Spectral::new(s).ok_or_else(singular)?;
            let summed = |l: &f64| tau.iter().map(|t| t / (1.0 + t * l)).sum::<f64>().sqrt();
            let roots = spectral.values.iter().map(summed).collect();
            Kind::Many(spectral, roots)
        };
        Ok(Resolvent { size, tau: tau.to_vec(), kind, threads })
    }

    /// ln|I + τ_c S|.
    pub(crate) fn ln_det(&self, task: usize) -> f64 {
        match &self.kind {
            Kind::One(factor) => factor.ln_det(),
            Kind::Many(spectral, _) => spectral.values.iter().map(|l| (self.tau[task] * l).ln_1p()).sum(),
        }
    }

    /// tr(Q_c S), which is tr(Σ_c ΦᵀΦ); `total` is Σ_c τ_c tr(Q_c S).
    pub(crate) fn trace(&self, task: usize, total: f64) -> f64 {
        match &self.kind {
            Kind::One(_) => total / self.tau.iter().sum::<f64>(),
            Kind::Many(spectral, _) => spectral.values.iter().map(|l| l / (1.0 + self.tau[task] * l)).sum(),
        }
    }

    /// Column c of `right` ← Q_c times it.
    pub(crate) fn solve(&self, right: &mut Mat<f64>) {
        match &self.kind {
            Kind::One(factor) => {
                factor.half_solve(right.as_mut());
                factor.half_solve_transposed(right.as_mut());
            }
            Kind::Many(spectral, _) => {
                let vectors = spectral.vectors.as_ref();
                let mut rotated = multiply(vectors.transpose(), right.as_ref(), self.threads);
                for (c, tau) in self.tau.iter().enumerate() {
                    let column = rotated.col_as_slice_mut(c).iter_mut();
                    column.zip(&spectral.values).for_each(|(v, l)| *v /= 1.0 + tau * l);
                }
                product(right.as_mut(), Accumulate::Replace, vectors, rotated.as_ref(), 1.0, self.threads);
            }
        }
    }

    /// `block` ← R block, where RᵀR = Σ_c τ_c Q_c.
    pub(crate) fn half(&self, block: &mut Mat<f64>) {
        match &self.kind {
            Kind::One(factor) => {
                factor.half_solve(block.as_mut());
                let root = self.tau.iter().sum::<f64>().sqrt();
                scale_columns(block, |_| root);
            }
            Kind::Many(spectral, roots) => {
                *block = multiply(spectral.vectors.as_ref().transpose(), block.as_ref(), self.threads);
                scale_rows(block, roots);
            }
        }
    }

    /// `block` ← Rᵀ block.
    pub(crate) fn half_transposed(&self, block: &mut Mat<f64>) {
        match &self.kind {
            Kind::One(factor) => {
                factor.half_solve_transposed(block.as_mut());
                let root = self.tau.iter().sum::<f64>().sqrt();
                scale_columns(block, |_| root);
            }
            Kind::Many(spectral, roots) => {
                scale_rows(block, roots);
                *block = multiply(spectral.vectors.as_ref(), block.as_ref(), self.threads);
            }
        }
    }

    /// The diagonal of Σ_c Q_c, tr(Q_c S) for each task, and, if `full`, the whole of Σ_c τ_c Q_c.
    pub(crate) fn into_sums(self, full: bool) -> Sums {
        match self.kind {
            Kind::One(factor) => {
                let (mut diagonal, mut summed) = factor.into_inverse(full);
                let (count, total_tau) = (self.tau.len() as f64, self.tau.iter().sum::<f64>());
                diagonal.iter_mut().for_each(|q| *q *= count);
                // τ tr(QS) = n − tr Q, for all tasks together.
                let total = (count * self.size as f64 - diagonal.iter().sum::<f64>()).max(0.0);
                if let Some(summed) = &mut summed {
                    scale_columns(summed, |_| total_tau);
                    fill_upper(summed.as_mut());
                }
                Sums { diagonal, traces: vec![total / total_tau; self.tau.len()], summed }
            }
            Kind::Many(Spectral { values, mut vectors }, roots) => {
                let mut diagonal = vec![0.0; self.size];
                for (i, l) in values.iter().enumerate() {
                    let sum: f64 = self.tau.iter().map(|t| 1.0 / (1.0 + t * l)).sum();
                    diagonal.iter_mut().zip(vectors.col_as_slice(i)).for_each(|(d, v)| *d += sum * v * v);
                }
                let trace = |t: &f64| values.iter().map(|l| l / (1.0 + t * l)).sum();
                let traces = self.tau.iter().map(trace).collect();
                let summed = full.then(|| {
                    scale_columns(&mut vectors, |i| roots[i]);
                    let mut summed = Mat::zeros(self.size, self.size);
                    outer(summed.as_mut(), Accumulate::Replace, vectors.as_ref(), self.threads);
                    fill_upper(summed.as_mut());
                    summed
                });
                Sums { diagonal, traces, summed }
            }
        }
    }
}

/// What the primal form needs of the inverses.
pub(crate) struct Sums {
    pub(crate) diagonal: Vec<f64>,
    pub(crate) traces: Vec<f64>,
    pub(crate) summed: Option<Mat<f64>>,
}
