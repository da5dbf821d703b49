//! The kernels the features approximate, each with the law its directions are drawn from (equations 2a–2e).

use rand::Rng;
use rand_distr::{Cauchy, ChiSquared, Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// A stationary kernel κ(x, x') = k(d) of the scaled difference δ_d = √(2γ r_d)·(x_d − x'_d).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spectrum {
    /// exp(−‖δ‖²/2) = exp(−γ Σ r_d (x_d − x'_d)²): the paper's kernel.
    Rbf,
    /// exp(−‖δ‖₂).
    LaplaceL2,
    /// exp(−‖δ‖₁): a product over inputs.
    LaplaceL1,
    /// (1 + √3 ‖δ‖) exp(−√3 ‖δ‖).
    Matern32,
    /// (1 + √5 ‖δ‖ + 5/3 ‖δ‖²) exp(−√5 ‖δ‖).
    Matern52,
}

impl Spectrum {
    /// All of them.
    pub const ALL: [Spectrum; 5] =
        [Spectrum::Rbf, Spectrum::LaplaceL2, Spectrum::LaplaceL1, Spectrum::Matern32, Spectrum::Matern52];

    /// The kernel at a scaled difference δ.
    pub fn kernel(self, delta: impl Iterator<Item = f64>) -> f64 {
        if self == Spectrum::LaplaceL1 {
            return (-delta.map(f64::abs).sum::<f64>()).exp();
        }
        let square: f64 = delta.map(|d| d * d).sum();
        let distance = square.sqrt();
        match self {
            Spectrum::Rbf => (-0.5 * square).exp(),
            Spectrum::LaplaceL1 | Spectrum::LaplaceL2 => (-distance).exp(),
            Spectrum::Matern32 => {
                let z = 3f64.sqrt() * distance;
                (1.0 + z) * (-z).exp()
            }
            Spectrum::Matern52 => {
                let z = 5f64.sqrt() * distance;
                (1.0 + z + z * z / 3.0) * (-z).exp()
            }
        }
    }

    /// Whether the law of the directions depends on their length alone, so that they may be made orthogonal.
    pub fn is_isotropic(self) -> bool {
        self != Spectrum::LaplaceL1
    }

    /// One direction, unscaled.
    pub(super) fn direction(self, out: &mut [f64], rng: &mut impl Rng) {
        if self == Spectrum::LaplaceL1 {
            let cauchy = Cauchy::new(0.0, 1.0).expect("a positive scale");
            out.fill_with(|| cauchy.sample(rng));
        } else {
            out.fill_with(|| StandardNormal.sample(rng));
            let stretch = self.stretch(rng);
            out.iter_mut().for_each(|v| *v *= stretch);
        }
    }

    /// The random length by which an isotropic law differs from the normal one: ω = stretch · z, z ~ N(0, I).
    pub(super) fn stretch(self, rng: &mut impl Rng) -> f64 {
        let degrees = match self {
            Spectrum::Rbf | Spectrum::LaplaceL1 => return 1.0,
            Spectrum::LaplaceL2 => 1.0,
            Spectrum::Matern32 => 3.0,
            Spectrum::Matern52 => 5.0,
        };
        let chi: f64 = ChiSquared::new(degrees).expect("positive degrees of freedom").sample(rng);
        // A vanishing divisor has probability zero, but an infinite frequency would be useless.
        (degrees / chi.max(1e-18)).sqrt()
    }
}
