//! How finely a column was recorded. A value written in steps of Δ is off by up to Δ/2 either way, which adds Δ²/12 to the
//! variance of its error (Sheppard); rows that repeat then agree exactly, and without that term they look free of noise.

/// Most decimal places looked for.
const PLACES: i32 = 9;
/// Coarser steps that people round to, in units of the finest one.
const COARSER: [f64; 6] = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
/// Share of the values on a coarser step, beyond what chance puts there, from which it counts.
const HEAPED: f64 = 0.2;

/// Variance of the error of recording of a column, NaN cells aside; zero if none can be seen.
///
/// - Decimals: all values are multiples of a step Δ, the largest there is: Δ²/12.
/// - Heaping: if a share h of them is on a coarser step d (multiples of 5 among whole numbers) beyond the share that would
///   lie there by chance, those were rounded to d: h d²/12 + (1 − h) Δ²/12.
/// - Values computed from recorded ones (logarithms of counts) have no common step; where at most half of them are
///   distinct, each has the distance to its nearest neighbour for a step.
pub(crate) fn rounding_variance(column: &[f64]) -> f64 {
    let values: Vec<f64> = column.iter().copied().filter(|v| v.is_finite()).collect();
    let mut distinct = values.clone();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    let [low, .., high] = distinct[..] else { return 0.0 };
    let range = high - low;
    if !range.is_finite() {
        return 0.0;
    }
    match decimal_step(&distinct) {
        Some(step) => heaped(&values, step, range),
        None if 2 * distinct.len() <= values.len() => local(&values, &distinct),
        None => 0.0,
    }
}

fn uniform(step: f64) -> f64 {
    step * step / 12.0
}

/// Whether a value is a multiple of a step, as far as doubles can tell.
fn on(step: f64) -> impl Fn(&f64) -> bool {
    move |value| {
        let multiple = value / step;
        multiple.abs() < 1e12 && (multiple - multiple.round()).abs() < 1e-6
    }
}

/// The largest step, a whole number of some power of ten, of which all differences are multiples.
fn decimal_step(distinct: &[f64]) -> Option<f64> {
    let (low, high) = (distinct[0], distinct[distinct.len() - 1]);
    // The smallest place that can matter: no finer than doubles resolve, no coarser than the range.
    let first = -((high - low).log10().floor() as i32);
    for places in first..=first.max(0) + PLACES {
        let unit = 10f64.powi(-places);
        if distinct.iter().all(on(unit)) {
            let steps = distinct.iter().map(|value| ((value - low) / unit).round() as u64);
            return Some(unit * steps.fold(0, greatest_common_divisor).max(1) as f64);
        }
    }
    None
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn heaped(values: &[f64], step: f64, range: f64) -> f64 {
    let share = |ratio: f64| {
        let (on_it, mut off): (Vec<f64>, Vec<f64>) = values.iter().partition(|v| on(ratio * step)(v));
        // Those who did not round that far must have used the finer step: sixths written as decimals are not heaps.
        let places = (range / step * (1.0 - 1.0 / ratio)).min(off.len() as f64);
        off.sort_unstable_by(f64::total_cmp);
        off.dedup();
        let finer = 2.0 * off.len() as f64 >= places;
        let heaped = (on_it.len() as f64 / values.len() as f64 - 1.0 / ratio) / (1.0 - 1.0 / ratio);
        if finer { heaped } else { 0.0 }
    };
    let shares: Vec<(f64, f64)> =
        COARSER.iter().filter(|ratio| *ratio * step <= 0.25 * range).map(|&ratio| (ratio, share(ratio))).collect();
    let most = shares.iter().fold(0.0, |most: f64, (_, share)| most.max(*share));
    // Multiples of ten are multiples of two and five too, and half of them of twenty: the coarsest that has nearly all.
    match shares.iter().rev().find(|(_, share)| *share >= HEAPED && *share > 0.85 * most) {
        Some((ratio, share)) => share * uniform(ratio * step) + (1.0 - share) * uniform(step),
        None => uniform(step),
    }
}

fn local(values: &[f64], distinct: &[f64]) -> f64 {
    let step = |value: &f64| {
        let at = distinct.partition_point(|other| other < value);
        let below = at.checked_sub(1).map_or(f64::INFINITY, |below| value - distinct[below]);
        let above = distinct.get(at + 1).map_or(f64::INFINITY, |above| above - value);
        below.min(above)
    };
    values.iter().map(|value| uniform(step(value))).sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn steps_by_hand() {
        close(rounding_variance(&[3.0, 4.0, 7.0, 12.0, f64::NAN]), 1.0 / 12.0);
        close(rounding_variance(&[0.25, 0.5, 1.75, 3.0]), 0.0625 / 12.0);
        close(rounding_variance(&[1200.0, 1500.0, 2100.0, 2700.0]), 300.0 * 300.0 / 12.0);
        close(rounding_variance(&[36.6, 36.7, 37.2, 38.9]), 0.01 / 12.0);
        close(rounding_variance(&[0.0, 1.0, 1.0, 0.0]), 1.0 / 12.0);
        close(rounding_variance(&[1e-7, 3e-7, 4e-7]), 1e-14 / 12.0);
        for nothing in [&[][..], &[5.0, 5.0], &[f64::NAN], &[f64::MIN, f64::MAX]] {
            assert_eq!(rounding_variance(nothing), 0.0);
        }
    }

    #[test]
    fn what_was_not_rounded_has_no_step_to_speak_of() {
        let values: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.7311).sin()).collect();
        assert!(rounding_variance(&values) < 1e-15);
    }

    /// What rounding does to numbers that were not rounded, measured.
    #[test]
    fn the_variance_is_that_of_the_error() {
        for (step, offset) in [(1.0, 0.0), (0.05, 2.0), (20.0, 300.0)] {
            let exact: Vec<f64> = (0..5000).map(|i| offset + 40.0 * step * (f64::from(i) * 0.7311).sin()).collect();
            let recorded: Vec<f64> = exact.iter().map(|v| (v / step).round() * step).collect();
            let error = exact.iter().zip(&recorded).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 5000.0;
            assert!((rounding_variance(&recorded) / error - 1.0).abs() < 0.05);
        }
    }

    #[test]
    fn heaping_is_a_mixture_of_two_steps() {
        // Three of five people round to tens, the others to ones.
        let exact: Vec<f64> = (0..5000).map(|i| 95.0 + 110.0 * (f64::from(i) * 0.618_033_988_7).fract()).collect();
        let step = |i: usize| if i % 5 < 3 { 10.0 } else { 1.0 };
        let recorded: Vec<f64> = exact.iter().enumerate().map(|(i, v)| (v / step(i)).round() * step(i)).collect();
        let error = exact.iter().zip(&recorded).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 5000.0;
        assert!((rounding_variance(&recorded) / error - 1.0).abs() < 0.1, "{} {error}", rounding_variance(&recorded));
    }

    #[test]
    fn sixths_written_as_decimals_are_no_heaps() {
        let values: Vec<f64> = (0..300).map(|i| (f64::from(i * 7 % 31) / 6.0 * 1000.0).round() / 1000.0).collect();
        close(rounding_variance(&values), 1e-6 / 12.0);
    }

    #[test]
    fn logarithms_of_counts_have_steps_that_shrink() {
        let values: Vec<f64> = (0..400).map(|i| (1.0 + f64::from(i % 4)).ln()).collect();
        let ln = f64::ln;
        // To the nearer neighbour: 1–2, 2–3, 3–4, 4–3.
        let steps = [ln(2.0), ln(1.5), ln(4.0 / 3.0), ln(4.0 / 3.0)];
        close(rounding_variance(&values), steps.iter().map(|s| s * s / 12.0).sum::<f64>() / 4.0);
    }
}
