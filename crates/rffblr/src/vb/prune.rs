//! Which features stay. A feature goes for all tasks at once.

use super::beliefs::Beliefs;
use super::design::Design;
use crate::linalg::dot;
use crate::problem::Problem;
use crate::settings::Pruning;

/// The columns to keep, or `None` if all stay. Feature m is expected to add E‖w_m‖²/C · mean(φ_m²) to the variance of
/// a target; it goes when that is less than the given fraction of an equal share, the mean variance of the targets
/// divided by the number of features drawn (equation 21a).
pub(crate) fn survivors(rule: Pruning, problem: &Problem, design: &Design, q: &Beliefs) -> Option<Vec<usize>> {
    let Pruning::BelowEqualShare(share) = rule else {
        return None;
    };
    let tasks = problem.tasks();
    let variance = problem.target_variance();
    let mass = dot(&problem.root, &problem.root);
    let stays = |&(m, weight): &(usize, f64)| {
        let phi = design.features.col_as_slice(m);
        let feature = dot(phi, phi) / mass;
        weight / tasks as f64 * feature >= share * variance / design.drawn as f64
    };
    let kept: Vec<usize> = q.weight_square().into_iter().enumerate().filter(stays).map(|(m, _)| m).collect();
    (kept.len() < design.columns()).then_some(kept)
}
