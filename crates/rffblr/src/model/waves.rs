//! A weighted sum of cosines and direct links, and the posterior of its weights: what drawn cosines and fitted sinusoids
//! have in common, on the standardised scale.

use super::posterior::Posterior;
use crate::fourier::Basis;
use crate::linalg::{Mat, MatRef, Threads, multiply};
use rand::Rng;

/// f_c(x) = Σ_k w_kc a cos(ω_kᵀx + p_k) + Σ_d s_dc x_d/√D + b_c.
#[derive(Clone, Debug)]
pub(crate) struct Waves {
    /// Its directions are the frequencies ω.
    pub(crate) basis: Basis,
    pub(crate) posterior: Posterior,
}

impl Waves {
    /// [Φ, 1] at standardised rows.
    pub(crate) fn features(&self, rows: MatRef<'_, f64>) -> Mat<f64> {
        self.basis.features_and_one(rows)
    }

    /// Mean and, if wanted, variance at standardised rows: N′×C each.
    pub(super) fn predict(
        &self,
        rows: MatRef<'_, f64>,
        uncertain: bool,
        threads: Threads,
    ) -> (Mat<f64>, Option<Mat<f64>>) {
        let design = self.features(rows);
        let mean = multiply(design.as_ref(), self.posterior.mean.as_ref(), threads);
        (mean, uncertain.then(|| self.posterior.variance(&design, threads)))
    }

    /// Joint draws at standardised rows: N′×C each.
    pub(super) fn sample(
        &self,
        rows: MatRef<'_, f64>,
        draws: usize,
        rng: &mut impl Rng,
        threads: Threads,
    ) -> Vec<Mat<f64>> {
        let design = self.features(rows);
        (0..draws).map(|_| multiply(design.as_ref(), self.posterior.sample(rng).as_ref(), threads)).collect()
    }

    /// Posterior standard deviation of every weight and bias: K×C.
    pub(super) fn weight_deviations(&self) -> Mat<f64> {
        let mut variance = self.posterior.marginal();
        for c in 0..variance.ncols() {
            variance.col_as_slice_mut(c).iter_mut().for_each(|v| *v = v.sqrt());
        }
        variance
    }
}
