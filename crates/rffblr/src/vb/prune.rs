//! Which features stay. A feature goes for all tasks at once.

use super::beliefs::Beliefs;
use super::design::Design;
use crate::linalg::dot;
use crate::problem::Problem;
use crate::settings::Pruning;

/// The columns to keep, or `None` if all stay.
pub(crate) fn survivors(rule: Pruning, problem: &Problem, design: &Design, q: &Beliefs) -> Option<Vec<usize>> {
    let kept = match rule {
        Pruning::Never => return None,
        Pruning::BelowEqualShare(share) => with_their_share(share, problem, design, q),
        Pruning::BelowWeight(least) => with_a_weight(least, problem, design, q),
    };
    (kept.len() < design.columns()).then_some(kept)
}

/// Feature m is expected to add E‖w_m‖²/C · mean(φ_m²) to the variance of a target; it goes when that is less than the
/// given fraction of an equal share, the mean variance of the targets divided by the number of features drawn (equation
/// 21a).
fn with_their_share(share: f64, problem: &Problem, design: &Design, q: &Beliefs) -> Vec<usize> {
    let least = share * problem.target_variance() / design.drawn as f64;
    let mass = dot(&problem.root, &problem.root);
    let stays = |&(m, weight): &(usize, f64)| {
        let phi = design.features.col_as_slice(m);
        let feature = dot(phi, phi) / mass;
        weight / problem.tasks() as f64 * feature >= least
    };
    q.weight_square().into_iter().enumerate().filter(stays).map(|(m, _)| m).collect()
}

/// Feature m goes when |⟨w_mc⟩| is less than this many standard deviations of a target in every task (equation 21c).
fn with_a_weight(least: f64, problem: &Problem, design: &Design, q: &Beliefs) -> Vec<usize> {
    let least = least * problem.target_variance().sqrt();
    let stays = |&m: &usize| (0..problem.tasks()).any(|c| q.weights.mean[(m, c)].abs() >= least);
    (0..design.columns()).filter(stays).collect()
}
