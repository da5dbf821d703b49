//! Linear functionals of the function: their mean and their posterior standard deviation (equation 31).
//!
//! The function is a weighted sum of terms, cosines and links or kernels at the training rows; in a model of several
//! kernels those of a task are the terms of its part. A functional L is given by its value at each term; its
//! posterior mean is the same weighted sum of those. For the posterior variance a kernel machine also needs the prior
//! variance of L, which is L applied to both sides of the kernel.

use crate::linalg::{Mat, Threads, dot, multiply};
use crate::model::{Model, Part};

/// Means and, if asked for, standard deviations of functionals: one row for each, one column for each task, in the units
/// of the targets but without the constant that is added to a prediction.
pub(super) struct Applied {
    pub(super) mean: Mat<f64>,
    pub(super) std: Option<Mat<f64>>,
    /// By how much each falls for every unit by which the function falls at its row, where directions were given.
    pub(super) follows: Option<Mat<f64>>,
}

/// Values of functionals at the terms of one part.
pub(super) struct Terms {
    /// A column for each functional and a row for each term.
    pub(super) values: Mat<f64>,
    /// The prior variance of each functional, used by kernel machines only; given if deviations are asked for.
    pub(super) prior: Option<Vec<f64>>,
    /// For each task of the part the directions in which the weights of its terms move: terms × rows, where the
    /// functionals are equally many for each of these rows, one row after the other.
    pub(super) directions: Option<Vec<Mat<f64>>>,
}

/// Applies functionals to every part of a model.
pub(super) fn apply(model: &Model, of: impl Fn(Part<'_>) -> Terms) -> Applied {
    let threads = Threads::current();
    let columns = |table: &Mat<f64>| (0..table.ncols()).map(|c| table.col_as_slice(c).to_vec()).collect::<Vec<_>>();
    let optional = |table: Option<Vec<Vec<f64>>>, tasks: usize| -> Vec<Option<Vec<f64>>> {
        table.map_or(vec![None; tasks], |all| all.into_iter().map(Some).collect())
    };
    let found = model.function.by_task(|part| {
        let Terms { values, prior, directions } = of(part);
        let (mean, variance) = match part {
            Part::Waves(waves) => {
                let mean = multiply(values.as_ref().transpose(), waves.posterior.mean.as_ref(), threads);
                let variance = prior.map(|_| waves.posterior.variance(&values.transpose().to_owned(), threads));
                (mean, variance)
            }
            Part::Kernel(machine) => machine.functionals(&values, prior.as_deref(), threads),
        };
        let variances = optional(variance.map(|all| columns(&all)), mean.ncols());
        let follows = directions.map(|all| all.iter().map(|direction| along(&values, direction)).collect());
        let follows = optional(follows, mean.ncols());
        columns(&mean).into_iter().zip(variances.into_iter().zip(follows)).collect()
    });
    type Lists = Vec<Option<Vec<f64>>>;
    let scale = model.target_std();
    let (means, others): (Vec<Vec<f64>>, Vec<_>) = found.into_iter().unzip();
    let (variances, follows): (Lists, Lists) = others.into_iter().unzip();
    let count = means.first().map_or(0, Vec::len);
    let all = |lists: Lists| lists.into_iter().collect::<Option<Vec<Vec<f64>>>>();
    Applied {
        mean: Mat::from_fn(count, means.len(), |i, c| means[c][i] * scale[c]),
        std: all(variances).map(|all| Mat::from_fn(count, all.len(), |i, c| scale[c] * all[c][i].max(0.0).sqrt())),
        follows: all(follows).map(|all| Mat::from_fn(count, all.len(), |i, c| all[c][i])),
    }
}

/// Each functional applied to the direction of its row.
fn along(values: &Mat<f64>, directions: &Mat<f64>) -> Vec<f64> {
    let each = values.ncols() / directions.ncols().max(1);
    let one = |i: usize| dot(values.col_as_slice(i), directions.col_as_slice(i / each.max(1)));
    (0..values.ncols()).map(one).collect()
}
