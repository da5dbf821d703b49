//! How the function moves when a training row is forgotten (equation 36a).

use crate::linalg::{Mat, Threads};
use crate::model::Part;

/// For each task of a part and some training rows (their positions, and their standardised inputs): the change of the
/// weights of all terms, terms × rows, by which the function falls by one at the row that is forgotten. Zero where
/// there is nothing to forget.
pub(super) fn directions(part: Part<'_>, rows: &[usize], inputs: &Mat<f64>) -> Vec<Mat<f64>> {
    match part {
        Part::Waves(waves) => waves.posterior.directions(&waves.features(inputs.as_ref()), Threads::current()),
        Part::Kernel(machine) => machine.directions(rows),
    }
}
