//! The Gamma distribution by shape and rate: prior and posterior of every precision.

use crate::settings::GammaPrior;
use libm::lgamma;
use serde::{Deserialize, Serialize};

/// Ga(shape, rate), mean shape/rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gamma {
    /// Shape a.
    pub shape: f64,
    /// Rate b.
    pub rate: f64,
}

impl Gamma {
    /// ⟨x⟩ = a/b.
    pub fn mean(self) -> f64 {
        self.shape / self.rate
    }

    /// ⟨1/x⟩ = b/(a − 1): for a precision, the expected variance. It is infinite for a ≤ 1, that is for one or two
    /// observations; below a = 2 we go on with 2b/a, which is equal at a = 2.
    pub fn mean_inverse(self) -> f64 {
        self.rate / (self.shape - 1.0).max(self.shape / 2.0)
    }

    /// ⟨ln x⟩ = ψ(a) − ln b.
    pub(crate) fn mean_ln(self) -> f64 {
        digamma(self.shape) - self.rate.ln()
    }

    /// a − ln b + ln Γ(a) + (1 − a) ψ(a).
    pub(crate) fn entropy(self) -> f64 {
        self.shape - self.rate.ln() + lgamma(self.shape) + (1.0 - self.shape) * digamma(self.shape)
    }

    /// E ln p(x) under the prior.
    pub(crate) fn expected_ln_prior(self, prior: GammaPrior) -> f64 {
        let GammaPrior { shape, rate } = prior;
        shape * rate.ln() - lgamma(shape) + (shape - 1.0) * self.mean_ln() - rate * self.mean()
    }
}

/// ψ(x) = d ln Γ(x)/dx for x > 0: by ψ(x) = ψ(x + 1) − 1/x up to 10, from there by the asymptotic series, whose next term
/// is below 1e-16.
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum -= x.recip();
        x += 1.0;
    }
    // B₂ₖ/2k for k = 1, 2, …
    const SERIES: [f64; 7] =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let square = (x * x).recip();
    let tail = SERIES.iter().rev().fold(0.0, |tail, term| square * (term + tail));
    sum + x.ln() - 0.5 / x - tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_has_its_known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let half = -EULER - 2.0 * std::f64::consts::LN_2;
        // ψ(1), ψ(½), ψ(n) = −γ + Σ 1/k, ψ(n + ½) = ψ(½) + Σ 2/(2k − 1).
        let harmonic = |n: u32| -EULER + (1..n).map(|k| 1.0 / f64::from(k)).sum::<f64>();
        let odd = |n: u32| half + (1..=n).map(|k| 2.0 / (2.0 * f64::from(k) - 1.0)).sum::<f64>();
        for n in [1, 2, 3, 9, 10, 11, 40, 1000] {
            assert!((digamma(f64::from(n)) - harmonic(n)).abs() < 1e-13, "{n}");
            assert!((digamma(f64::from(n) + 0.5) - odd(n)).abs() < 1e-13, "{n}");
        }
        assert!((digamma(0.5) - half).abs() < 1e-14);
        assert!((digamma(1e-6) + 1e6 + EULER).abs() < 1e-5);
        assert!((digamma(1e12) - 1e12f64.ln()).abs() < 1e-11);
    }

    /// Integrates f(x) p(x) numerically in t = ln x.
    fn expect(q: Gamma, f: impl Fn(f64) -> f64) -> f64 {
        let ln_density = |t: f64| q.shape * q.rate.ln() - lgamma(q.shape) + q.shape * t - q.rate * t.exp();
        let step = 1e-3;
        (-40_000..10_000).map(|i| i as f64 * step).map(|t| f(t.exp()) * ln_density(t).exp() * step).sum()
    }

    #[test]
    fn moments_match_numerical_integration() {
        let q = Gamma { shape: 3.7, rate: 2.1 };
        assert!((q.mean() - expect(q, |x| x)).abs() < 1e-9);
        assert!((q.mean_ln() - expect(q, f64::ln)).abs() < 1e-9);
        assert!((q.mean_inverse() - expect(q, f64::recip)).abs() < 1e-9);
        let ln_p = |g: Gamma, x: f64| g.shape * g.rate.ln() - lgamma(g.shape) + (g.shape - 1.0) * x.ln() - g.rate * x;
        assert!((q.entropy() + expect(q, |x| ln_p(q, x))).abs() < 1e-9);
        let prior = Gamma { shape: 0.5, rate: 0.25 };
        let as_prior = GammaPrior { shape: 0.5, rate: 0.25 };
        assert!((q.expected_ln_prior(as_prior) - expect(q, |x| ln_p(prior, x))).abs() < 1e-9);
    }
}
