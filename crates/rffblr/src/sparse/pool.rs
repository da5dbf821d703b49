//! Frequencies drawn from the learned spectra: each family of a kernel gives its share.

use crate::fourier::{Basis, Directions, Offsets, Recipe, Spectrum};
use crate::kernel::Kernel;
use crate::linalg::{Mat, MatMut, Threads, multiply};
use rand::Rng;

/// Largest standard deviation of a drawn sinusoid's angle over the training rows, in radians. The tails of the rough
/// spectrum are heavy, and faster sinusoids than this differ from noise only where rows are dense.
const FASTEST: f64 = 6.0;

/// D×`count` frequencies of each kernel, one kernel after the other.
pub(super) fn draw(kernels: &[&Kernel], x: &Mat<f64>, count: usize, rng: &mut impl Rng, threads: Threads) -> Mat<f64> {
    let mut out = Mat::zeros(x.ncols(), count * kernels.len());
    for (k, kernel) in kernels.iter().enumerate() {
        draw_from(kernel, out.as_mut().subcols_mut(k * count, count), rng);
    }
    slow_down(&mut out, x, threads);
    out
}

/// Frequencies of one kernel; its families have shares of the draw as they have of the variance.
fn draw_from(kernel: &Kernel, mut out: MatMut<'_, f64>, rng: &mut impl Rng) {
    let (inputs, count) = out.shape();
    let total = kernel.rbf.variance + kernel.laplace_l1.variance;
    // A share of 0/0 becomes none, and the last family has the rest.
    let rbf = ((count as f64 * kernel.rbf.variance / total).round() as usize).min(count);
    let scales = scales(kernel);
    let families = [(Spectrum::Rbf, rbf, &scales[0]), (Spectrum::LaplaceL1, count - rbf, &scales[1])];
    let mut first = 0;
    for (spectrum, count, scale) in families {
        let (offsets, directions) = (Offsets::Random, Directions::Independent);
        let drawn = Basis::draw(&Recipe { spectrum, offsets, directions, count, links: false }, inputs, rng).directions;
        for k in 0..count {
            for d in 0..inputs {
                out[(d, first + k)] = scale[d] * drawn[(d, k)];
            }
        }
        first += count;
    }
}

/// Shortens frequencies faster than [`FASTEST`] and sets any that is not finite to zero.
fn slow_down(frequencies: &mut Mat<f64>, x: &Mat<f64>, threads: Threads) {
    let angles = multiply(x.as_ref(), frequencies.as_ref(), threads);
    for k in 0..frequencies.ncols() {
        let square = angles.col_as_slice(k).iter().map(|a| a * a).sum::<f64>() / x.nrows() as f64;
        let slower = (FASTEST / square.sqrt()).min(1.0);
        let column = frequencies.col_as_slice_mut(k);
        column.iter_mut().for_each(|w| *w = if (*w * slower).is_finite() { *w * slower } else { 0.0 });
    }
}

/// What a standard draw of each spectrum is multiplied by, for each input, so that it gives the family's kernel.
fn scales(kernel: &Kernel) -> [Vec<f64>; 2] {
    let by = |f: &dyn Fn(f64) -> f64| kernel.input_scales.iter().map(|&r| f(r)).collect();
    [by(&|_| (2.0 * kernel.rbf.bandwidth).sqrt()), by(&|r| kernel.laplace_l1.bandwidth * r)]
}

/// Typical size of a frequency for each input: the root of the mean square scale of all families.
pub(super) fn typical(kernels: &[&Kernel]) -> Vec<f64> {
    let families = |kernel: &&Kernel| {
        let variances = [kernel.rbf.variance, kernel.laplace_l1.variance];
        variances.into_iter().zip(scales(kernel))
    };
    let families: Vec<(f64, Vec<f64>)> = kernels.iter().flat_map(families).collect();
    let total: f64 = families.iter().map(|(variance, _)| variance).sum();
    let input = |d: usize| {
        let square = families.iter().map(|(variance, scale)| variance * scale[d].powi(2)).sum::<f64>() / total;
        if square.is_normal() { square.sqrt() } else { 1.0 }
    };
    (0..kernels[0].input_scales.len()).map(input).collect()
}

/// Mean scale of each input over the kernels.
pub(super) fn mean_scales(kernels: &[&Kernel]) -> Vec<f64> {
    let mean = |d: usize| kernels.iter().map(|kernel| kernel.input_scales[d]).sum::<f64>() / kernels.len() as f64;
    (0..kernels[0].input_scales.len()).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Family;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn kernel() -> Kernel {
        Kernel {
            linear: 0.3,
            rbf: Family { variance: 0.5, bandwidth: 0.05 },
            laplace_l1: Family { variance: 0.5, bandwidth: 0.02 },
            input_scales: vec![0.5, 1.5],
        }
    }

    /// The mean of cos(ωᵀΔ) over the pool is the kernel, up to its direct links and bias.
    #[test]
    fn the_pool_has_the_spectrum_of_the_kernel() {
        let x = Mat::from_fn(5, 2, |n, d| ((n * 3 + d) as f64 * 0.9).sin());
        let (kernel, count) = (kernel(), 100_000);
        let pool = draw(&[&kernel], &x, count, &mut ChaCha8Rng::seed_from_u64(3), Threads::ONE);
        let alone = Kernel { linear: 0.0, ..kernel };
        let gram = alone.gram(&x, Threads::ONE);
        for j in 0..5 {
            for i in j..5 {
                let angle = |k: usize| (0..2).map(|d| pool[(d, k)] * (x[(i, d)] - x[(j, d)])).sum::<f64>();
                let mean = (0..count).map(|k| angle(k).cos()).sum::<f64>() / count as f64;
                // Slowing the tails down costs a little of the exactness.
                assert!((mean + 1.0 - gram[(i, j)]).abs() < 0.01, "{mean} {}", gram[(i, j)]);
            }
        }
    }

    /// Every kernel has as many, and the first the same as alone; what is typical lies between those of each.
    #[test]
    fn several_kernels_have_a_pool_each() {
        let x = Mat::from_fn(5, 2, |n, d| ((n * 3 + d) as f64 * 0.9).sin());
        let (first, second) = (kernel(), Kernel { input_scales: vec![3.0, 0.1], ..kernel() });
        let drawn = |kernels: &[&Kernel]| draw(kernels, &x, 50, &mut ChaCha8Rng::seed_from_u64(3), Threads::ONE);
        let (one, both) = (drawn(&[&first]), drawn(&[&first, &second]));
        assert!(both.ncols() == 100 && both.as_ref().subcols(0, 50) == one.as_ref());
        let (a, b, between) = (typical(&[&first]), typical(&[&second]), typical(&[&first, &second]));
        assert!((0..2).all(|d| between[d] > a[d].min(b[d]) && between[d] < a[d].max(b[d])));
        assert_eq!(mean_scales(&[&first, &second]), [1.75, 0.8]);
    }

    #[test]
    fn no_frequency_is_too_fast_or_not_finite() {
        let x = Mat::from_fn(30, 2, |n, d| ((n * 3 + d) as f64 * 0.9).sin());
        for scale in [1e-300, 1.0, 1e300] {
            let mut kernel = kernel();
            (kernel.rbf.bandwidth, kernel.laplace_l1.bandwidth) = (scale, scale);
            let pool = draw(&[&kernel], &x, 300, &mut ChaCha8Rng::seed_from_u64(3), Threads::ONE);
            let angles = multiply(x.as_ref(), pool.as_ref(), Threads::ONE);
            for k in 0..300 {
                let square = angles.col_as_slice(k).iter().map(|a| a * a).sum::<f64>() / 30.0;
                assert!(square.sqrt() <= FASTEST * 1.000_001);
            }
            assert!(typical(&[&kernel]).iter().all(|t| t.is_finite()));
        }
    }
}
