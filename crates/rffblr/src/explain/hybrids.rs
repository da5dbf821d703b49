//! The function at hybrid rows: one input as in one background row, all others as in another.

use super::along::Rows;
use super::{Background, Explainer};
use crate::kernel::{Distances, KernelMachine};
use crate::linalg::{Mat, Threads, multiply, scale_columns, scale_rows};
use crate::model::{Part, Waves};

/// What does not depend on the input that is exchanged, for one part of a function.
pub(super) enum Around<'a> {
    Waves {
        waves: &'a Waves,
        /// B×M angles without offsets.
        angles: Mat<f64>,
        direct: Direct,
    },
    Kernel {
        machine: &'a KernelMachine,
        /// Training rows and background rows.
        along: [Rows<'a>; 2],
        /// From training rows to background rows.
        distances: Distances,
        direct: Direct,
    },
}

/// The linear part of a function.
pub(super) struct Direct {
    /// Slope of each input's direct link: D×C.
    slopes: Mat<f64>,
    /// Its values at the background rows, B×C.
    whole: Mat<f64>,
}

impl Direct {
    fn new(slopes: Mat<f64>, rows: &Mat<f64>) -> Direct {
        let whole = multiply(rows.as_ref(), slopes.as_ref(), Threads::ONE);
        Direct { slopes, whole }
    }
}

impl<'a> Around<'a> {
    pub(super) fn new(explainer: &'a Explainer<'_>, part: Part<'a>, background: &'a Background) -> Around<'a> {
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
                Around::Waves { waves, angles, direct: Direct::new(slopes, rows) }
            }
            Part::Kernel(machine) => Around::Kernel {
                machine,
                along: [&machine.inputs, rows].map(|rows| explainer.along(rows)),
                distances: machine.kernel.distances(&machine.inputs, rows.as_ref(), threads),
                direct: Direct::new(machine.slopes(threads), rows),
            },
        }
    }

    /// The function, up to a constant and on the standardised scale, with an input as in row x and the others as in
    /// row z: for each of its tasks a table with a row for each x and a column for each z.
    pub(super) fn values(&self, input: usize, columns: &[usize], background: &Background) -> Vec<Mat<f64>> {
        let (mut values, direct) = match self {
            Around::Waves { waves, angles, direct } => (of_waves(waves, angles, columns, background), direct),
            Around::Kernel { machine, along, distances, direct } => {
                (of_kernel(machine, along, distances, input), direct)
            }
        };
        let rows = &background.standardised;
        for (c, table) in values.iter_mut().enumerate() {
            let own = |n: usize| columns.iter().map(|&d| direct.slopes[(d, c)] * rows[(n, d)]).sum::<f64>();
            let owns: Vec<f64> = (0..rows.nrows()).map(own).collect();
            for z in 0..rows.nrows() {
                let rest = direct.whole[(z, c)] - owns[z];
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

/// A family is a product of its values along the exchanged input and along the others, exp(−γ own) and
/// exp(−γ (whole − own)): two products of tables again.
fn of_kernel(
    machine: &KernelMachine,
    [centres, rows]: &[Rows<'_>; 2],
    distances: &Distances,
    input: usize,
) -> Vec<Mat<f64>> {
    let (count, tasks) = (rows.count(), machine.coefficients.ncols());
    let mut out = vec![Mat::zeros(count, count); tasks];
    for (metric, whole) in machine.kernel.metrics().iter().zip(distances.by_metric()) {
        let (mut own, family) = (Mat::zeros(centres.count(), count), metric.family);
        for x in 0..count {
            centres.add(input, metric, 0, (rows, x), own.col_as_slice_mut(x));
        }
        let mut rest = whole - &own;
        for x in 0..count {
            family.decay(own.col_as_slice_mut(x));
            family.decay(rest.col_as_slice_mut(x));
        }
        for (c, out) in out.iter_mut().enumerate() {
            let coefficients = machine.coefficients.col_as_slice(c).iter();
            let mut weighted = own.clone();
            scale_rows(&mut weighted, &coefficients.map(|b| family.variance * b).collect::<Vec<_>>());
            *out += multiply(weighted.as_ref().transpose(), rest.as_ref(), Threads::ONE);
        }
    }
    out
}
