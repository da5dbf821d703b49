//! Linear functionals of the function: their mean and their posterior standard deviation (equation 31).
//!
//! The function is a weighted sum of terms, cosines and links or kernels at the training rows. A functional L is known by
//! what it makes of each term; its mean is the same weighted sum of those. For the spread a finite layer needs nothing
//! more, a kernel machine also the variance of L before the data, L applied to both sides of the kernel.

use crate::linalg::{Mat, Threads, multiply};
use crate::model::{Function, Model};

/// Means and, if asked for, standard deviations of functionals: one row for each, one column for each task, in the units
/// of the targets but without the constant that is added to a prediction.
pub(super) struct Applied {
    pub(super) mean: Mat<f64>,
    pub(super) std: Option<Mat<f64>>,
}

/// `terms` has one column for each functional and one row for each term; `prior` is the variance of each functional
/// before the data, which only a kernel machine looks at.
pub(super) fn apply(model: &Model, terms: &Mat<f64>, prior: Option<&[f64]>) -> Applied {
    let threads = Threads::current();
    let (mut mean, variance) = match &model.function {
        Function::Waves(waves) => {
            let mean = multiply(terms.as_ref().transpose(), waves.posterior.mean.as_ref(), threads);
            let variance = prior.map(|_| waves.posterior.variance(&terms.transpose().to_owned(), threads));
            (mean, variance)
        }
        Function::Kernel(machine) => machine.functionals(terms, prior, threads),
    };
    let scale = model.target_scale();
    let mut std = variance;
    for (c, scale) in scale.iter().enumerate() {
        mean.col_as_slice_mut(c).iter_mut().for_each(|v| *v *= scale);
        if let Some(std) = &mut std {
            std.col_as_slice_mut(c).iter_mut().for_each(|v| *v = scale * v.max(0.0).sqrt());
        }
    }
    Applied { mean, std }
}

/// How many terms the function has: rows of the table given to [`apply`].
pub(super) fn terms(model: &Model) -> usize {
    match &model.function {
        Function::Waves(waves) => waves.posterior.precision.len(),
        Function::Kernel(machine) => machine.inputs.nrows(),
    }
}
