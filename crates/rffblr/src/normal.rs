//! The standard normal distribution: density, distribution function and quantile.

use std::f64::consts::FRAC_1_SQRT_2;

/// 1/√(2π), the density at zero.
const PEAK: f64 = 0.398_942_280_401_432_7;
/// ln √(2π).
pub(crate) const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_7;
/// From here on the asymptotic series of [`mills_series`] is exact to double precision.
const SERIES_FROM: f64 = 30.0;
/// Newton needs five steps or fewer; the cap only guarantees that the loops end.
const MAX_STEPS: usize = 20;
/// Newton doubles the digits with every step, so a step this small was the last one needed.
const LAST_STEP: f64 = 1e-9;

/// Density φ(x) = exp(-x²/2) / √(2π).
pub fn pdf(x: f64) -> f64 {
    PEAK * (-0.5 * x * x).exp()
}

/// Distribution function Φ(x) = erfc(-x/√2) / 2.
///
/// The lower tail keeps its relative precision, up to the factor x² by which a rounded argument
/// is magnified there. Below x = -37.5 the result is subnormal, below about -38.5 it is 0.
pub fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// Quantile Φ⁻¹(p), to double precision for every p, subnormal ones included.
///
/// Gives -∞ at 0, ∞ at 1 and NaN for p outside [0, 1] and for NaN.
pub fn quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    // Both differences below are exact where they are used, so no digit of p is lost.
    let offset = p - 0.5;
    if offset.abs() <= 0.25 {
        central_quantile(offset)
    } else if p < 0.5 {
        -upper_quantile(p)
    } else {
        upper_quantile(1.0 - p)
    }
}

/// Solves Φ(x) - 1/2 = `offset`. Working on erf keeps the relative precision of x near zero.
/// The tangent at zero is the start; erf is concave above zero and odd, so Newton cannot diverge.
fn central_quantile(offset: f64) -> f64 {
    let mut x = offset / PEAK;
    for _ in 0..MAX_STEPS {
        let step = (offset - 0.5 * libm::erf(x * FRAC_1_SQRT_2)) / pdf(x);
        x += step;
        if step.abs() <= LAST_STEP * x.abs() {
            break;
        }
    }
    x
}

/// Solves Q(x) = `tail` for the upper tail Q = 1 - Φ, by Newton on ln Q(x) = ln `tail`.
///
/// The start comes from the bound Q(x) <= exp(-x²/2) / 2 and lies above the root. ln Q is concave
/// and decreasing, so every step stays above the root and comes closer.
fn upper_quantile(tail: f64) -> f64 {
    if tail == 0.0 {
        return f64::INFINITY;
    }
    let mut x = (-2.0 * (2.0 * tail).ln()).sqrt();
    for _ in 0..MAX_STEPS {
        // The slope of ln Q is -φ/Q, the inverse of Mills' ratio Q/φ.
        let (mills, log_excess) = if x < SERIES_FROM {
            let q = cdf(-x);
            (q / pdf(x), (q / tail).ln())
        } else {
            // erfc underflows in this region; the logarithm of the series does not.
            let mills = mills_series(x);
            let log_q = mills.ln() - 0.5 * x * x - LN_SQRT_2PI;
            (mills, log_q - tail.ln())
        };
        let step = mills * log_excess;
        x += step;
        if step.abs() <= LAST_STEP * x {
            break;
        }
    }
    x
}

/// Mills' ratio Q(x)/φ(x) ~ (1 - 1/x² + 3/x⁴ - 15/x⁶ + 105/x⁸ - 945/x¹⁰) / x for large x.
fn mills_series(x: f64) -> f64 {
    let u = 1.0 / (x * x);
    (1.0 - u * (1.0 - 3.0 * u * (1.0 - 5.0 * u * (1.0 - 7.0 * u * (1.0 - 9.0 * u))))) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_relative(got: f64, want: f64, tolerance: f64, what: &str) {
        assert!((got - want).abs() <= tolerance * want.abs(), "{what}: got {got:e}, want {want:e}");
    }

    // scipy 1.17.1, scipy.stats.norm.ppf; scipy itself is off by up to 3 units in the last place.
    #[test]
    fn quantile_agrees_with_scipy() {
        let table = [
            (5e-324, -38.467405617144344),
            (1e-300, -37.0470962993612),
            (1e-200, -30.20559417957964),
            (1e-100, -21.273453560965322),
            (1e-50, -14.933337534788487),
            (1e-20, -9.262340089798409),
            (1e-10, -6.361340902404056),
            (1e-05, -4.264890793922825),
            (0.001, -3.090232306167813),
            (0.01, -2.3263478740408408),
            (0.025, -1.9599639845400545),
            (0.05, -1.6448536269514729),
            (0.1, -1.2815515655446004),
            (0.2, -0.8416212335729142),
            (0.25, -0.6744897501960817),
            (0.3, -0.5244005127080409),
            (0.4, -0.2533471031357997),
            (0.499999, -2.5066282745665593e-06),
            (0.5000000001, 2.506628482030354e-10),
            (0.6, 0.2533471031357997),
            (0.75, 0.6744897501960817),
            (0.8, 0.8416212335729143),
            (0.9, 1.2815515655446004),
            (0.95, 1.6448536269514722),
            (0.975, 1.959963984540054),
            (0.995, 2.5758293035489004),
            (0.999999, 4.753424308817087),
            (1.0 - f64::EPSILON / 2.0, 8.209536151601387),
        ];
        for (p, want) in table {
            assert_relative(quantile(p), want, 1e-15, &format!("quantile({p:e})"));
        }
    }

    #[test]
    fn quantile_outside_the_open_interval() {
        assert_eq!(quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(quantile(1.0), f64::INFINITY);
        assert_eq!(quantile(0.5), 0.0);
        for p in [-1e-300, 1.0 + f64::EPSILON, f64::INFINITY, f64::NAN] {
            assert!(quantile(p).is_nan(), "quantile({p})");
        }
    }

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for exponent in 1..=307 {
            let p = 0.7 * 10f64.powi(-exponent);
            let x = quantile(p);
            // Rounding x alone moves the tail by about x² units in the last place.
            let tolerance = 4.0 * f64::EPSILON * (1.0 + x * x);
            assert_relative(cdf(x), p, tolerance, &format!("cdf(quantile({p:e}))"));
        }
        for k in 1..1024 {
            // k/1024 and 1 - k/1024 are both exact, so the symmetry must be exact as well.
            let p = f64::from(k) / 1024.0;
            assert_eq!(quantile(p), -quantile(1.0 - p), "p = {p}");
            let back = cdf(quantile(p));
            assert_relative(back, p, 1e-14, &format!("cdf(quantile({p}))"));
        }
    }

    // mpmath 1.4.1 with 30 digits, ncdf and npdf.
    #[test]
    fn cdf_and_pdf_agree_with_mpmath() {
        let table: [(f64, f64, f64); 10] = [
            (-37.0, 5.725571222524577e-300, 2.1200065515246056e-298),
            (-20.0, 2.7536241186062337e-89, 5.520948362159764e-88),
            (-8.3, 5.205569744890254e-17, 4.3816394355093325e-16),
            (-5.0, 2.866515718791939e-07, 1.4867195147342977e-06),
            (-1.96, 0.024997895148220435, 0.05844094433345146),
            (-1.0, 0.15865525393145705, 0.24197072451914334),
            (0.0, 0.5, 0.3989422804014327),
            (0.3, 0.6179114221889526, 0.3813878154605241),
            (2.5, 0.993790334674224, 0.017528300493568537),
            (6.0, 0.9999999990134123, 6.075882849823285e-09),
        ];
        for (x, want_cdf, want_pdf) in table {
            let tolerance = 2.0 * f64::EPSILON * (1.0 + x * x);
            assert_relative(cdf(x), want_cdf, tolerance, &format!("cdf({x})"));
            assert_relative(pdf(x), want_pdf, tolerance, &format!("pdf({x})"));
        }
        assert_eq!((cdf(f64::NEG_INFINITY), cdf(f64::INFINITY)), (0.0, 1.0));
        assert_eq!(pdf(f64::INFINITY), 0.0);
        assert!(cdf(f64::NAN).is_nan() && pdf(f64::NAN).is_nan());
    }

    #[test]
    fn log_constant_matches_the_density() {
        assert_relative(-LN_SQRT_2PI, PEAK.ln(), 1e-15, "ln φ(0)");
        assert_relative(PEAK, 1.0 / (2.0 * std::f64::consts::PI).sqrt(), 1e-15, "φ(0)");
    }
}
