//! Monotone transforms of targets, and what a normal law on the transformed scale is on the original one (section 13 of
//! the derivation).
//!
//! A skewed, positive or heavy-tailed target y is learned as t(y) = asinh((y − c)/w), Johnson's S_U: straight within w
//! of c, a logarithm beyond. With c at the lower end and a small w it is the logarithm, with a large w the identity.

use crate::data::back;
use crate::metrics::{gaussian_crps, gaussian_nlpd};
use crate::normal;
use serde::{Deserialize, Serialize};

/// Nodes of the quadrature of moments: from −REACH to REACH standard deviations, STEP apart. For smooth functions the
/// error of equal steps of ¼ is far below rounding.
const REACH: f64 = 8.0;
const STEP: f64 = 0.25;
/// Intervals of the quadrature of the CRPS on each side of the observation.
const PANELS: usize = 128;

/// Largest target that is transformed.
const LARGEST: f64 = 1e150;

/// Which number stands for a distribution where a single one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// Its mean, which has the least squared error if the distribution is right.
    Mean,
    /// Its median, which has the least absolute error and does not depend on how far a tail reaches.
    Median,
}

/// The family of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// ln y.
    Log,
    /// asinh((y − centre)/width).
    Asinh {
        /// Where it is steepest.
        centre: f64,
        /// How far from there it is nearly straight.
        width: f64,
    },
}

/// How a target is transformed before the fit, and what holds when predictions come back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transform {
    /// The function.
    pub shape: Shape,
    /// Second smallest and second largest value in training, rounded outwards: one wild value does not count, and a model
    /// tells nobody's. Nothing is predicted farther outside this range than it is long: beyond the data, and in the mean
    /// of a heavy tail, an exponential could be anything.
    pub range: (f64, f64),
    /// Which of mean and median predicted the training rows better by squared error, each without itself.
    pub point: Point,
}

impl Shape {
    /// t(y).
    pub fn apply(&self, y: f64) -> f64 {
        match *self {
            Shape::Log if y < 0.0 => f64::NEG_INFINITY,
            Shape::Log => y.ln(),
            Shape::Asinh { centre, width } => libm::asinh(y / width - centre / width),
        }
    }

    /// t⁻¹(z), finite for every number.
    pub fn invert(&self, z: f64) -> f64 {
        match *self {
            Shape::Log => z.exp(),
            Shape::Asinh { centre, width } => centre + width * z.sinh(),
        }
        .clamp(f64::MIN, f64::MAX)
    }

    /// Mean of t′(y)² over numbers, NaN aside.
    pub(crate) fn mean_square_slope(&self, values: &[f64]) -> f64 {
        let known: Vec<f64> = values.iter().copied().filter(|y| !y.is_nan()).collect();
        known.iter().map(|y| (2.0 * self.ln_slope(*y)).exp()).sum::<f64>() / known.len() as f64
    }

    /// ln t′(y).
    pub fn ln_slope(&self, y: f64) -> f64 {
        match *self {
            Shape::Log => -y.ln(),
            Shape::Asinh { centre, width } => -width.ln() - 0.5 * (y / width - centre / width).powi(2).ln_1p(),
        }
    }
}

/// The largest power of ten that is not larger.
fn power_of_ten(value: f64) -> f64 {
    10f64.powi(value.log10().floor() as i32)
}

impl Shape {
    /// asinh with a width of two digits and a centre to a tenth of it: that is as good, and tells nobody's value.
    pub(crate) fn asinh(centre: f64, width: f64) -> Shape {
        let step = power_of_ten(width) / 10.0;
        Shape::Asinh { centre: (centre / step).round() * step, width: (width / step).round() * step }
    }
}

/// Second smallest and second largest of some numbers, so that one wild value does not say how far predictions may go; the
/// smallest and the largest where these are one number, and the smallest where it alone is negative.
fn inner_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for y in values {
        low = if y < low[0] { [y, low[0]] } else { [low[0], low[1].min(y)] };
        high = if y > high[0] { [y, high[0]] } else { [high[0], high[1].max(y)] };
    }
    if low[1] >= high[1] {
        return (low[0], high[0]);
    }
    (if low[0] < 0.0 && low[1] >= 0.0 { low[0] } else { low[1] }, high[1])
}

impl Transform {
    /// A transform of targets with these values, NaN cells aside; `None` if it cannot be applied to all of them.
    pub fn new(shape: Shape, targets: impl Iterator<Item = f64> + Clone) -> Option<Transform> {
        let known = targets.filter(|y| !y.is_nan());
        let range = inner_range(known.clone());
        let fits = range.0 <= range.1 && known.clone().all(|y| shape.apply(y).is_finite());
        let step = power_of_ten(range.1 - range.0) / 10.0;
        let rounded = ((range.0 / step).floor() * step, (range.1 / step).ceil() * step);
        let range = if range.0 < range.1 { rounded } else { range };
        let found = Transform { shape, range, point: Point::Mean };
        (fits && found.check().is_ok()).then_some(found)
    }

    /// Whether predictions come back finite whatever the fit says.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let (low, high) = self.range;
        let shape = match self.shape {
            Shape::Log => low >= 0.0,
            Shape::Asinh { centre, width } => {
                width > 0.0 && width.is_finite() && centre.is_finite() && (centre / width).is_finite()
            }
        };
        // Squares of what is in the range must be finite.
        match shape && low <= high && low.abs().max(high.abs()) < LARGEST {
            true => Ok(()),
            false => Err("`transforms` has one whose width is not positive or whose range is none".into()),
        }
    }

    /// t⁻¹(z), within [`bounds`](Transform::bounds).
    pub fn invert(&self, z: f64) -> f64 {
        let (least, most) = self.bounds();
        self.shape.invert(z).clamp(least, most)
    }

    /// What is predicted at least and at most: as far outside the range of training as that is long, and nothing negative
    /// if no target was.
    pub fn bounds(&self) -> (f64, f64) {
        let (low, high) = self.range;
        let (least, most) = (low - (high - low), high + (high - low));
        (if low >= 0.0 { least.max(0.0) } else { least }, most)
    }

    /// In words, with the name of the target in it.
    pub fn describe(&self, target: &str) -> String {
        let number = |value: f64| crate::words::significant(value, 3);
        match self.shape {
            Shape::Log => format!("ln({target})"),
            Shape::Asinh { centre: 0.0, width } => format!("asinh({target}/{})", number(width)),
            Shape::Asinh { centre, width } if centre < 0.0 => {
                format!("asinh(({target} + {})/{})", number(-centre), number(width))
            }
            Shape::Asinh { centre, width } => format!("asinh(({target} - {})/{})", number(centre), number(width)),
        }
    }
}

/// The predictive distribution of one cell: normal on the scale of the fit, brought back by the transform of its target.
#[derive(Clone, Copy, Debug)]
pub struct Law<'a> {
    /// `None` is the identity.
    pub transform: Option<&'a Transform>,
    /// Mean on the transformed scale.
    pub location: f64,
    /// Standard deviation on the transformed scale.
    pub scale: f64,
}

impl Law<'_> {
    /// Mean and standard deviation.
    pub fn moments(&self) -> (f64, f64) {
        let Some(transform) = self.transform else { return (self.location, self.scale) };
        let nodes = (2.0 * REACH / STEP) as i32;
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        // Around the median, so that squares do not cancel.
        let middle = transform.invert(self.location);
        for k in 0..=nodes {
            let z = STEP * f64::from(k) - REACH;
            let weight = normal::pdf(z);
            let y = transform.invert(self.location + self.scale * z) - middle;
            total += weight;
            first += weight * y;
            second += weight * y * y;
        }
        let mean = first / total;
        (middle + mean, (second / total - mean * mean).max(0.0).sqrt())
    }

    /// The value that an observation is below with probability ½.
    pub fn median(&self) -> f64 {
        self.at(0.0)
    }

    /// The value at so many standard deviations from the mean of the transformed scale.
    pub fn at(&self, z: f64) -> f64 {
        let value = back(self.location, self.scale, z);
        self.transform.map_or(value, |transform| transform.invert(value))
    }

    /// The value that an observation is below with probability p.
    pub fn quantile(&self, p: f64) -> f64 {
        self.at(normal::quantile(p))
    }

    /// How many standard deviations of the transformed scale an observation is from the mean there.
    pub fn z(&self, y: f64) -> f64 {
        let error = self.transform.map_or(y, |transform| transform.shape.apply(y)) - self.location;
        match self.scale {
            scale if scale < 0.0 => f64::NAN,
            _ if error == 0.0 => 0.0,
            scale => error / scale,
        }
    }

    /// Probability of an observation of at most y.
    pub fn cdf(&self, y: f64) -> f64 {
        normal::cdf(self.z(y))
    }

    /// Minus the logarithm of the density at y: that of the transformed scale, minus ln t′(y).
    pub fn nlpd(&self, y: f64) -> f64 {
        match self.transform {
            None => gaussian_nlpd(y, self.location, self.scale),
            // What the logarithm does not take has no density.
            Some(transform) if transform.shape.apply(y).is_infinite() => f64::INFINITY,
            Some(Transform { shape, .. }) => {
                gaussian_nlpd(shape.apply(y), self.location, self.scale) - shape.ln_slope(y)
            }
        }
    }

    /// Continuous ranked probability score, the integral of (F(u) − 1[u ≥ y])².
    pub fn crps(&self, y: f64) -> f64 {
        if self.transform.is_none() {
            return gaussian_crps(y, self.location, self.scale);
        }
        if self.scale < 0.0 || !self.location.is_finite() {
            return f64::NAN;
        }
        // Where y is on the scale of z; beyond the reach of the law the integrand is one.
        let split = if self.scale == 0.0 { 0.0 } else { self.z(y) };
        let split = if split.is_nan() { -REACH } else { split.clamp(-REACH, REACH) };
        let side = |from: f64, to: f64, height: &dyn Fn(f64) -> f64| {
            let node = |k: usize| from + (to - from) * k as f64 / PANELS as f64;
            let (mut sum, mut before) = (0.0, (height(from), self.at(from)));
            for k in 1..=PANELS {
                let next = (height(node(k)), self.at(node(k)));
                sum += 0.5 * (before.0 + next.0) * (next.1 - before.1);
                before = next;
            }
            sum
        };
        let below = side(-REACH, split, &|z| normal::cdf(z).powi(2));
        let above = side(split, REACH, &|z| normal::cdf(-z).powi(2));
        below + above + (y - self.at(split)).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asinh_of(centre: f64, width: f64, range: (f64, f64)) -> Transform {
        Transform { shape: Shape::Asinh { centre, width }, range, point: Point::Mean }
    }

    #[test]
    fn the_way_back_undoes_the_way_there_and_the_slope_is_the_derivative() {
        for shape in [Shape::Log, Shape::Asinh { centre: 3.0, width: 0.2 }, Shape::Asinh { centre: -40.0, width: 1e3 }]
        {
            for y in [1e-3, 0.7, 3.0, 55.0, 1e6] {
                assert!((shape.invert(shape.apply(y)) / y - 1.0).abs() < 1e-9, "{shape:?} {y}");
                let h = 1e-5 * y;
                let slope = (shape.apply(y + h) - shape.apply(y - h)) / (2.0 * h);
                assert!((shape.ln_slope(y) - slope.ln()).abs() < 1e-6, "{shape:?} {y}");
            }
        }
        let odd = Shape::Asinh { centre: 2.0, width: 3.0 };
        for d in [0.1, 4.0, 1e9] {
            assert!((odd.apply(2.0 + d) + odd.apply(2.0 - d)).abs() < 1e-12);
        }
    }

    /// Small widths are the logarithm, large ones the identity, both up to a straight line.
    #[test]
    fn the_limits_are_logarithm_and_identity() {
        let line = |shape: Shape, of: fn(f64) -> f64| {
            let (a, b, y) = (shape.apply(1.0), shape.apply(9.0), shape.apply(4.0));
            ((y - a) / (b - a) - (of(4.0) - of(1.0)) / (of(9.0) - of(1.0))).abs()
        };
        assert!(line(Shape::Asinh { centre: 0.0, width: 1e-4 }, f64::ln) < 1e-6);
        assert!(line(Shape::Asinh { centre: 0.0, width: 1e4 }, |y| y) < 1e-6);
    }

    /// E sinh Z = e^{σ²/2} sinh μ, E sinh² Z = (e^{2σ²} cosh 2μ − 1)/2; of the logarithm the moments of the log-normal law.
    #[test]
    fn moments_are_those_in_closed_form() {
        for (location, scale) in [(0.0f64, 0.3f64), (1.2, 0.8), (-0.7, 1.1)] {
            let transform = asinh_of(5.0, 2.0, (-1e9, 1e9));
            let (mean, std) = Law { transform: Some(&transform), location, scale }.moments();
            let first = (0.5 * scale * scale).exp() * location.sinh();
            let second = 0.5 * ((2.0 * scale * scale).exp() * (2.0 * location).cosh() - 1.0);
            assert!((mean - 5.0 - 2.0 * first).abs() < 1e-9, "{mean}");
            // What is beyond eight standard deviations.
            assert!((std / (2.0 * (second - first * first).sqrt()) - 1.0).abs() < 1e-6, "{std}");
            let log = Transform { shape: Shape::Log, range: (1e-9, 1e9), point: Point::Mean };
            let (mean, std) = Law { transform: Some(&log), location, scale }.moments();
            let expected = (location + 0.5 * scale * scale).exp();
            assert!((mean / expected - 1.0).abs() < 1e-9);
            assert!((std / (expected * (scale * scale).exp_m1().sqrt()) - 1.0).abs() < 1e-6);
        }
    }

    /// Values outside the range count only so far, and never below zero where none was.
    #[test]
    fn moments_are_bounded_and_respect_zero() {
        let log = Transform { shape: Shape::Log, range: (1.0, 11.0), point: Point::Mean };
        let wide = Law { transform: Some(&log), location: 2.0, scale: 40.0 };
        let (mean, std) = wide.moments();
        assert!(mean > 1.0 && mean < 21.0 && std < 21.0, "{mean} {std}");
        assert!((0.0..1e-30).contains(&wide.quantile(0.01)) && wide.quantile(0.99) == 21.0);
        let counts = asinh_of(0.0, 1.0, (0.0, 30.0));
        let law = Law { transform: Some(&counts), location: -0.5, scale: 1.0 };
        assert_eq!((law.quantile(0.05), law.median()), (0.0, 0.0));
        // E max(sinh Z, 0) = ½ [e^{μ+σ²/2} Φ(μ/σ + σ) − e^{−μ+σ²/2} Φ(μ/σ − σ)], μ = −½, σ = 1.
        let expected = 0.5 * (normal::cdf(0.5) - 1f64.exp() * normal::cdf(-1.5));
        assert!((law.moments().0 - expected).abs() < 2e-3, "{} {expected}", law.moments().0);
        for (location, scale) in [(1e300, 1.0), (-1e300, 1e300), (700.0, 1e10), (0.0, f64::MAX)] {
            let law = Law { transform: Some(&counts), location, scale };
            let (mean, std) = law.moments();
            assert!(mean.is_finite() && std.is_finite() && law.quantile(0.999).is_finite(), "{location} {scale}");
        }
    }

    /// The density is the derivative of the distribution function, the quantile its inverse.
    #[test]
    fn density_distribution_and_quantile_belong_together() {
        let transform = asinh_of(-2.0, 0.7, (-50.0, 50.0));
        let law = Law { transform: Some(&transform), location: 0.4, scale: 0.9 };
        for p in [0.01, 0.3, 0.5, 0.9, 0.999] {
            let y = law.quantile(p);
            assert!((law.cdf(y) - p).abs() < 1e-12);
            let h = 1e-5;
            let density = (law.cdf(y + h) - law.cdf(y - h)) / (2.0 * h);
            assert!((law.nlpd(y) + density.ln()).abs() < 1e-5, "{p}");
        }
        let log = Transform { shape: Shape::Log, range: (1.0, 2.0), point: Point::Mean };
        let law = Law { transform: Some(&log), location: 0.0, scale: 1.0 };
        assert!([-1.0, 0.0].iter().all(|y| law.nlpd(*y) == f64::INFINITY && law.cdf(*y) == 0.0));
    }

    /// CRPS = E|Y − y| − ½ E|Y − Y′|. Of c + w sinh Z the second mean is 2w e^{σ²/2} cosh μ (2Φ(σ/√2) − 1), as sinh Z − sinh Z′
    /// is twice the product of independent factors; the first is a sum of four normal probabilities.
    #[test]
    fn the_crps_is_that_in_closed_form() {
        let (centre, width, location, scale) = (1.0, 2.0, 0.3, 0.7);
        let transform = asinh_of(centre, width, (-1e9, 1e9));
        let law = Law { transform: Some(&transform), location, scale };
        let part = |sign: f64, below: f64| {
            // E[e^{sign Z}; Z < below]
            (sign * location + 0.5 * scale * scale).exp() * normal::cdf((below - location) / scale - sign * scale)
        };
        let whole = |sign: f64| (sign * location + 0.5 * scale * scale).exp();
        for y in [-30.0, -1.0, 1.0, 2.0, 40.0] {
            let at = libm::asinh((y - centre) / width);
            let below = 0.5 * (part(1.0, at) - part(-1.0, at));
            let sinh = 0.5 * (whole(1.0) - whole(-1.0));
            let share = normal::cdf((at - location) / scale);
            let distance = width * (sinh - 2.0 * below) + (y - centre) * (2.0 * share - 1.0);
            let spread = 2.0
                * width
                * (0.5 * scale * scale).exp()
                * location.cosh()
                * (2.0 * normal::cdf(scale / std::f64::consts::SQRT_2) - 1.0);
            let expected = distance - 0.5 * spread;
            assert!((law.crps(y) / expected - 1.0).abs() < 2e-3, "{y}: {} {expected}", law.crps(y));
        }
        let wide = asinh_of(0.0, 1e6, (-1e9, 1e9));
        let law = Law { transform: Some(&wide), location: 2e-6, scale: 3e-6 };
        assert!((law.crps(1.0) / gaussian_crps(1.0, 2.0, 3.0) - 1.0).abs() < 2e-3);
        let exact = Law { transform: Some(&transform), location: 0.0, scale: 0.0 };
        assert!((exact.crps(4.0) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_applied_is_refused() {
        let some = |values: &'static [f64], shape| Transform::new(shape, values.iter().copied());
        let near = |t: Transform, low: f64, high: f64| (t.range.0 - low).abs() + (t.range.1 - high).abs() < 1e-9;
        assert!(some(&[1.0, f64::NAN, 3.0], Shape::Log).is_some_and(|t| near(t, 1.0, 3.0)));
        assert!(some(&[0.123, 87.77], Shape::Log).is_some_and(|t| near(t, 0.0, 88.0)));
        assert!(some(&[7.0, 7.0], Shape::Log).is_some_and(|t| near(t, 7.0, 7.0)));
        // One wild value at either end does not count, unless without it nothing is left, or nothing negative.
        assert!(some(&[0.001, 2.0, 3.0, 4.0, 9e9], Shape::Log).is_some_and(|t| near(t, 2.0, 4.0)));
        assert!(some(&[1.0, 1.0, 1.0, 9.0], Shape::Log).is_some_and(|t| near(t, 1.0, 9.0)));
        let asinh = Shape::Asinh { centre: 0.0, width: 1.0 };
        assert!(some(&[-7.0, 0.0, 3.0, 4.0, 4.0], asinh).is_some_and(|t| near(t, -7.0, 4.0)));
        let Shape::Asinh { centre, width } = Shape::asinh(123.456, 7.891) else { panic!() };
        assert!((centre - 123.5).abs() < 1e-9 && (width - 7.9).abs() < 1e-9);
        assert!(some(&[0.0, 3.0], Shape::Log).is_none() && some(&[f64::NAN], Shape::Log).is_none());
        assert!(some(&[1.0, 2.0], Shape::Asinh { centre: 1.0, width: 0.0 }).is_none());
        assert!(some(&[f64::MIN, f64::MAX], Shape::Asinh { centre: 1.0, width: 1.0 }).is_none());
    }

    #[test]
    fn words_name_the_target() {
        assert_eq!(asinh_of(0.0, 2.5, (0.0, 1.0)).describe("lead"), "asinh(lead/2.50)");
        assert_eq!(asinh_of(-3.0, 1.0, (0.0, 1.0)).describe("lead"), "asinh((lead + 3.00)/1.00)");
        assert_eq!(Transform { shape: Shape::Log, range: (1.0, 2.0), point: Point::Mean }.describe("lead"), "ln(lead)");
    }
}
