//! `x ← scale · cos(slope · x + offset)` over a slice, at the speed of the machine.

use crate::simd::vectorised;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// π/2 as an unevaluated sum of three doubles: good for arguments far beyond [`LARGEST`].
const HALF_PI: [f64; 3] = [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
/// Adding this rounds to an integer and leaves that integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Larger arguments go to the standard library.
const LARGEST: f64 = 1.0e9;

vectorised!(
    /// `x[i] ← scale · cos(slope · x[i] + offset)`, within 2 units in the last place of `scale`.
    pub(crate) fn cosines(x: &mut [f64], slope: f64, offset: f64, scale: f64) = body
);

#[inline(always)]
fn body(x: &mut [f64], slope: f64, offset: f64, scale: f64) {
    for block in x.chunks_mut(64) {
        if block.iter().any(|x| slope.mul_add(*x, offset).abs() > LARGEST) {
            block.iter_mut().for_each(|x| *x = scale * careful(slope.mul_add(*x, offset)));
        } else {
            block.iter_mut().for_each(|x| *x = scale * cosine(slope.mul_add(*x, offset)));
        }
    }
}

/// For a block with a large angle in it: the others must not notice.
fn careful(angle: f64) -> f64 {
    if angle.abs() > LARGEST { angle.cos() } else { cosine(angle) }
}

/// cos of an angle of moderate size: the nearest multiple k of π/2 is taken off, then Taylor's series of sine or
/// cosine on [−π/4, π/4] is exact to rounding, and k mod 4 says which of the two and with which sign.
#[inline(always)]
fn cosine(angle: f64) -> f64 {
    let shifted = angle.mul_add(FRAC_2_PI, ROUND);
    let quadrant = shifted.to_bits();
    let k = ROUND - shifted;
    let r = k.mul_add(HALF_PI[0], angle);
    let r = k.mul_add(HALF_PI[1], r);
    let r = k.mul_add(HALF_PI[2], r);
    let r2 = r * r;

    let mut c = 1.0 / 20_922_789_888_000.0;
    for term in [
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5,
        1.0,
    ] {
        c = r2.mul_add(c, term);
    }
    let mut s = 1.0 / 355_687_428_096_000.0;
    for term in [
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
    ] {
        s = r2.mul_add(s, term);
    }
    let s = (r * r2).mul_add(s, r);

    let value = if quadrant & 1 == 0 { c } else { s };
    // Quadrants 1 and 2 are negative: −sin and −cos.
    f64::from_bits(value.to_bits() ^ ((quadrant.wrapping_add(1) & 2) << 62))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::tests::same_at_every_level;
    use proptest::prelude::*;

    fn one(x: f64, slope: f64, offset: f64) -> f64 {
        let mut values = [x];
        cosines(&mut values, slope, offset, 1.0);
        values[0]
    }

    #[test]
    fn agrees_with_the_standard_library_everywhere() {
        for i in -200_000..200_000 {
            let x = i as f64 * 0.001_7;
            assert!((one(x, 1.0, 0.0) - x.cos()).abs() < 3e-16, "cos({x})");
        }
        for x in [0.0, 1e8, -9.99e8, 1.1e9, 1e15, -1e22, 1e300] {
            assert!((one(x, 1.0, 0.0) - x.cos()).abs() < 3e-16, "cos({x})");
        }
        assert!(one(f64::INFINITY, 1.0, 0.0).is_nan());
    }

    #[test]
    fn every_compiled_variant_gives_the_same_bits() {
        let x: Vec<f64> = (0..5000).map(|i| (i as f64 - 2500.0) * 0.37).collect();
        same_at_every_level(|| {
            let mut values = x.clone();
            cosines(&mut values, 1.3, 0.2, 0.5);
            values
        });
    }

    proptest! {
        #[test]
        fn affine_arguments(x in -50.0..50.0f64, slope in -5.0..5.0f64, offset in 0.0..7.0f64) {
            let expected = slope.mul_add(x, offset).cos();
            prop_assert!((one(x, slope, offset) - expected).abs() < 3e-16);
        }
    }
}
