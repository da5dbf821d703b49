//! Quadratic functionals of the function: posterior deviations of the variances behind relevance (equation 33a).

use super::Background;
use crate::linalg::{Mat, Threads, dot, multiply};
use crate::model::Part;

/// For each task of a part, posterior standard deviations of the first-order and of the total variance of the input that has these
/// columns, on the standardised scale.
pub(super) fn deviations(part: Part<'_>, columns: &[usize], background: &Background) -> Vec<(f64, f64)> {
    let hybrids = hybrids(columns, &background.standardised);
    let one = Threads::ONE;
    let (mean, covariances) = match part {
        Part::Waves(waves) => {
            let terms = waves.features(hybrids.as_ref());
            let terms = centred(terms.transpose().to_owned(), &background.share).transpose().to_owned();
            let mean = multiply(terms.as_ref(), waves.posterior.mean.as_ref(), one);
            (mean, waves.posterior.covariances(&terms, one))
        }
        Part::Kernel(machine) => {
            let terms = centred(machine.kernel.cross(&machine.inputs, hybrids.as_ref(), one), &background.share);
            let prior = centred(machine.kernel.cross(&hybrids, hybrids.as_ref(), one), &background.share);
            let prior = centred(prior.transpose().to_owned(), &background.share);
            let mean = multiply(terms.as_ref().transpose(), machine.coefficients.as_ref(), one);
            (mean, machine.covariances(&terms, &prior, one))
        }
    };
    let root: Vec<f64> = background.share.iter().map(|share| share.sqrt()).collect();
    let mut out = vec![(0.0, 0.0); mean.ncols()];
    for (tasks, covariance) in covariances {
        let curve_covariance = over_rest(&over_rest(&covariance, &root).transpose().to_owned(), &root);
        let sizes = (squares(&curve_covariance), squares(&covariance));
        for (task, amplitude) in tasks {
            let total = mean.as_ref().subcols(task, 1).to_owned();
            let curve = over_rest(&total, &root);
            let deviation = |size: f64, mean: &Mat<f64>, covariance: &Mat<f64>| {
                let product = multiply(covariance.as_ref(), mean.as_ref(), one);
                let along = dot(product.col_as_slice(0), mean.col_as_slice(0)).max(0.0);
                (2.0 * amplitude * amplitude * size + 4.0 * amplitude * along).sqrt()
            };
            out[task] = (deviation(sizes.0, &curve, &curve_covariance), deviation(sizes.1, &total, &covariance));
        }
    }
    out
}

/// One row for each pair of background rows: these columns as in row x, which runs fastest, the others as in row z.
fn hybrids(columns: &[usize], rows: &Mat<f64>) -> Mat<f64> {
    let count = rows.nrows();
    Mat::from_fn(count * count, rows.ncols(), |i, d| {
        rows[(if columns.contains(&d) { i % count } else { i / count }, d)]
    })
}

/// √(π_x π_z) (f(x, z) − Σ_x π_x f(x, z)) for functionals f in the columns: their squares sum to the total variance.
fn centred(mut table: Mat<f64>, share: &[f64]) -> Mat<f64> {
    let (rows, count) = (table.nrows(), share.len());
    for (z, share_of_z) in share.iter().enumerate() {
        let mut mean = vec![0.0; rows];
        for (x, share) in share.iter().enumerate() {
            let column = table.col_as_slice(z * count + x);
            mean.iter_mut().zip(column).for_each(|(mean, value)| *mean += share * value);
        }
        for (x, share) in share.iter().enumerate() {
            let root = (share * share_of_z).sqrt();
            let column = table.col_as_slice_mut(z * count + x);
            column.iter_mut().zip(&mean).for_each(|(value, mean)| *value = root * (*value - mean));
        }
    }
    table
}

/// Σ_z √π_z of the rows that differ in z alone: the squares of what is left sum to the first-order variance.
fn over_rest(table: &Mat<f64>, root: &[f64]) -> Mat<f64> {
    let count = root.len();
    let mut out = Mat::zeros(count, table.ncols());
    for j in 0..table.ncols() {
        for (block, root) in table.col_as_slice(j).chunks(count).zip(root) {
            out.col_as_slice_mut(j).iter_mut().zip(block).for_each(|(sum, value)| *sum += root * value);
        }
    }
    out
}

fn squares(table: &Mat<f64>) -> f64 {
    (0..table.ncols()).map(|j| dot(table.col_as_slice(j), table.col_as_slice(j))).sum()
}
