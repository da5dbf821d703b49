//! The function at hybrid rows: one input as in one background row, all others as in another.

use super::Background;
use crate::kernel::{Distances, KernelMachine, exponentials};
use crate::linalg::{Mat, Threads, multiply, scale_columns};
use crate::model::{Part, Waves};

/// What does not depend on the input that is exchanged, for one part of a function.
pub(super) enum Around<'a> {
    Waves {
        waves: &'a Waves,
        /// B×M angles without offsets.
        angles: Mat<f64>,
        /// Slope of each input's direct link: D×C.
        slopes: Mat<f64>,
    },
    Kernel {
        machine: &'a KernelMachine,
        /// From training rows to background rows.
        distances: Distances,
        slopes: Mat<f64>,
    },
}

impl<'a> Around<'a> {
    pub(super) fn new(part: Part<'a>, background: &Background) -> Around<'a> {
        let (threads, rows) = (Threads::current(), &background.standardised);
        match part {
            Part::Waves(waves) => {
                let (basis, mean) = (&waves.basis, &waves.posterior.mean);
                let mut slopes = Mat::zeros(rows.ncols(), mean.ncols());
                for (i, &link) in basis.links.iter().enumerate() {
                    for c in 0..mean.ncols() {
                        slopes[(link, c)] = basis.link_factor() * mean[(basis.cosines() + i, c)];
                    }
                }
                let angles = multiply(rows.as_ref(), waves.basis.directions.as_ref(), threads);
                Around::Waves { waves, angles, slopes }
            }
            Part::Kernel(machine) => Around::Kernel {
                machine,
                distances: machine.kernel.without(&[]).distances(&machine.inputs, rows.as_ref(), threads),
                slopes: machine.slopes(threads).0,
            },
        }
    }

    /// The function, up to a constant and on the standardised scale, with some columns as in row x and the others as in
    /// row z: for each of its tasks a table with a row for each x and a column for each z.
    pub(super) fn values(&self, columns: &[usize], background: &Background) -> Vec<Mat<f64>> {
        let (mut values, slopes) = match self {
            Around::Waves { waves, angles, slopes } => (of_waves(waves, angles, columns, background), slopes),
            Around::Kernel { machine, distances, slopes } => {
                (of_kernel(machine, distances, columns, background), slopes)
            }
        };
        let rows = &background.standardised;
        for (c, table) in values.iter_mut().enumerate() {
            let own = |n: usize| columns.iter().map(|&d| slopes[(d, c)] * rows[(n, d)]).sum::<f64>();
            let all = |n: usize| (0..rows.ncols()).map(|d| slopes[(d, c)] * rows[(n, d)]).sum::<f64>();
            let owns: Vec<f64> = (0..rows.nrows()).map(own).collect();
            for z in 0..rows.nrows() {
                let rest = all(z) - owns[z];
                table.col_as_slice_mut(z).iter_mut().zip(&owns).for_each(|(value, own)| *value += own + rest);
            }
        }
        values
    }
}

/// cos(p + own + rest) = cos(p + own) cos(rest) − sin(p + own) sin(rest): two products of tables.
fn of_waves(waves: &Waves, angles: &Mat<f64>, columns: &[usize], background: &Background) -> Vec<Mat<f64>> {
    let (basis, rows) = (&waves.basis, &background.standardised);
    let (count, cosines) = (rows.nrows(), basis.cosines());
    let own = Mat::from_fn(count, cosines, |n, m| {
        columns.iter().map(|&d| basis.directions[(d, m)] * rows[(n, d)]).sum::<f64>()
    });
    let both = |angle: &dyn Fn(usize, usize) -> f64, sign: f64| {
        Mat::from_fn(count, 2 * cosines, |n, k| {
            if k < cosines { angle(n, k).cos() } else { sign * angle(n, k - cosines).sin() }
        })
    };
    let set = both(&|n, m| basis.offsets[m] + own[(n, m)], -1.0);
    let rest = both(&|n, m| angles[(n, m)] - own[(n, m)], 1.0);
    let task = |c: usize| {
        let mut weighted = set.clone();
        scale_columns(&mut weighted, |k| basis.amplitude * waves.posterior.mean[(k % cosines, c)]);
        multiply(weighted.as_ref(), rest.as_ref().transpose(), Threads::ONE)
    };
    (0..waves.posterior.mean.ncols()).map(task).collect()
}

fn of_kernel(
    machine: &KernelMachine,
    distances: &Distances,
    columns: &[usize],
    background: &Background,
) -> Vec<Mat<f64>> {
    let (kernel, centres, rows) = (&machine.kernel, &machine.inputs, &background.standardised);
    let (count, tasks) = (rows.nrows(), machine.coefficients.ncols());
    // Distances along the columns that are exchanged: training rows × background rows.
    let own = Owned::new(machine, columns, background);
    let mut out = vec![Mat::zeros(count, count); tasks];
    let mut values = Mat::zeros(centres.nrows(), count);
    for z in 0..count {
        let (square, weighted, absolute) = own.rest(machine, distances, columns, rows, z);
        let (mut rbf, mut laplace_l1) = (square, absolute);
        rbf.iter_mut().for_each(|d| *d *= -kernel.rbf.scale);
        laplace_l1.iter_mut().for_each(|d| *d *= -kernel.laplace_l1.scale);
        exponentials(&mut rbf);
        exponentials(&mut laplace_l1);
        for x in 0..count {
            let column = values.col_as_slice_mut(x);
            let squares = weighted.iter().zip(own.weighted.col_as_slice(x));
            column
                .iter_mut()
                .zip(squares)
                .for_each(|(value, (rest, own))| *value = -kernel.laplace.scale * (rest + own).sqrt());
            exponentials(column);
            let smooth = rbf.iter().zip(own.rbf.col_as_slice(x));
            let rough = laplace_l1.iter().zip(own.laplace_l1.col_as_slice(x));
            for ((value, (a, b)), (c, d)) in column.iter_mut().zip(smooth).zip(rough) {
                *value = kernel.laplace.variance * *value
                    + (kernel.rbf.variance * (a * b) + kernel.laplace_l1.variance * (c * d));
            }
        }
        let found = multiply(values.as_ref().transpose(), machine.coefficients.as_ref(), Threads::ONE);
        for (c, out) in out.iter_mut().enumerate() {
            out.col_as_slice_mut(z).copy_from_slice(found.col_as_slice(c));
        }
    }
    out
}

/// Along the columns that are exchanged, from training rows to background rows.
struct Owned {
    square: Mat<f64>,
    weighted: Mat<f64>,
    absolute: Mat<f64>,
    /// exp(−γ₁ square) and exp(−γ₃ absolute).
    rbf: Mat<f64>,
    laplace_l1: Mat<f64>,
}

impl Owned {
    fn new(machine: &KernelMachine, columns: &[usize], background: &Background) -> Owned {
        let (kernel, centres, rows) = (&machine.kernel, &machine.inputs, &background.standardised);
        let along = |distance: &dyn Fn(usize, f64) -> f64| {
            Mat::from_fn(centres.nrows(), rows.nrows(), |n, x| {
                columns.iter().map(|&d| distance(d, rows[(x, d)] - centres[(n, d)])).sum::<f64>()
            })
        };
        let (square, absolute) =
            (along(&|_, delta| delta * delta), along(&|d, delta| kernel.relevance[d] * delta.abs()));
        let decayed = |table: &Mat<f64>, scale: f64| {
            let mut out = Mat::zeros(table.nrows(), table.ncols());
            for x in 0..table.ncols() {
                let column = out.col_as_slice_mut(x);
                column.iter_mut().zip(table.col_as_slice(x)).for_each(|(out, d)| *out = -scale * d);
                exponentials(column);
            }
            out
        };
        Owned {
            rbf: decayed(&square, kernel.rbf.scale),
            laplace_l1: decayed(&absolute, kernel.laplace_l1.scale),
            weighted: along(&|d, delta| kernel.relevance[d] * delta * delta),
            square,
            absolute,
        }
    }

    /// Distances along all other columns, from each training row to background row z: the whole less its own part, or
    /// summed again where that difference has lost its digits.
    fn rest(
        &self,
        machine: &KernelMachine,
        distances: &Distances,
        columns: &[usize],
        rows: &Mat<f64>,
        z: usize,
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let less = |whole: &Mat<f64>, own: &Mat<f64>| -> Vec<f64> {
            whole.col_as_slice(z).iter().zip(own.col_as_slice(z)).map(|(whole, own)| whole - own).collect()
        };
        let mut square = less(&distances.square, &self.square);
        let mut weighted = less(&distances.weighted, &self.weighted);
        let mut absolute = less(&distances.absolute, &self.absolute);
        let lost = |n: usize, left: f64| left <= 1e-6 * distances.weighted[(n, z)];
        for n in 0..square.len() {
            if lost(n, weighted[n]) || square[n] <= 1e-6 * distances.square[(n, z)] {
                (square[n], weighted[n], absolute[n]) = (0.0, 0.0, 0.0);
                for d in (0..rows.ncols()).filter(|d| !columns.contains(d)) {
                    let (delta, r) = ((rows[(z, d)] - machine.inputs[(n, d)]).abs(), machine.kernel.relevance[d]);
                    square[n] += delta * delta;
                    weighted[n] += r * delta * delta;
                    absolute[n] += r * delta;
                }
            }
        }
        (square, weighted, absolute)
    }
}
