//! The Gamma distribution by shape and rate: prior and posterior of every precision.

use super::settings::GammaPrior;
use libm::lgamma;
use serde::{Deserialize, Serialize};
use special::Gamma as _;

/// Ga(shape, rate), mean shape/rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
        self.shape.digamma() - self.rate.ln()
    }

    /// a − ln b + ln Γ(a) + (1 − a) ψ(a).
    pub(crate) fn entropy(self) -> f64 {
        self.shape - self.rate.ln() + lgamma(self.shape) + (1.0 - self.shape) * self.shape.digamma()
    }

    /// E ln p(x) under the prior.
    pub(crate) fn expected_ln_prior(self, prior: GammaPrior) -> f64 {
        let GammaPrior { shape, rate } = prior;
        shape * rate.ln() - lgamma(shape) + (shape - 1.0) * self.mean_ln() - rate * self.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
