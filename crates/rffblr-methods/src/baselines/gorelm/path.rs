//! Every point of a grid on one training set: for each α a path of falling λ, each point started where the last ended.

use super::admm::Admm;
use super::system::System;
use super::terms::{Penalty, Pull, Tolerance};
use rffblr::linalg::{Mat, Threads};

/// When to give up on a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopping {
    pub(super) tolerance: Tolerance,
    pub(super) most_iterations: usize,
}

impl Stopping {
    pub(super) const USUAL: Stopping =
        Stopping { tolerance: Tolerance { absolute: 1e-5, relative: 1e-4 }, most_iterations: 1000 };
}

/// One α on its way to smaller λ.
struct Walker {
    /// Points still to solve, the next one last.
    ahead: Vec<(usize, Penalty)>,
    /// The point under iteration.
    point: usize,
    iterations: usize,
}

/// Solves all points and gives each one's weights (L×C) to `report` as soon as they are known.
pub(super) fn solve_all(
    system: &System,
    points: &[Penalty],
    stopping: Stopping,
    threads: Threads,
    mut report: impl FnMut(usize, Mat<f64>),
) {
    let null_from = system.null_from();
    let (null, active): (Vec<usize>, Vec<usize>) = (0..points.len())
        .partition(|&i| points[i].sparsity > 0.0 && points[i].strength * points[i].sparsity >= null_from);
    for point in null {
        report(point, Mat::zeros(system.hidden.ncols(), system.tasks()));
    }
    let mut walkers = walkers(points, &active);
    let starts: Vec<(Penalty, Pull)> =
        walkers.iter().map(|walker| (points[walker.point], Pull::suited_to(points[walker.point]))).collect();
    let mut admm = Admm::at_null_model(system, &starts);
    while !walkers.is_empty() {
        let residuals = admm.step(stopping.tolerance, threads);
        let mut going = Vec::with_capacity(walkers.len());
        for (index, walker) in walkers.iter_mut().enumerate() {
            walker.iterations += 1;
            if !residuals[index].are_small() && walker.iterations < stopping.most_iterations {
                going.push(index);
                continue;
            }
            report(walker.point, admm.solution(index));
            if let Some((point, penalty)) = walker.ahead.pop() {
                (walker.point, walker.iterations) = (point, 0);
                admm.change_penalty(index, penalty, Pull::suited_to(penalty));
                going.push(index);
            }
        }
        if going.len() < walkers.len() {
            admm.keep(&going);
            let mut position = 0;
            walkers.retain(|_| {
                position += 1;
                going.contains(&(position - 1))
            });
        }
    }
}

/// The points by α, each with its largest λ first.
fn walkers(points: &[Penalty], active: &[usize]) -> Vec<Walker> {
    let mut sparsities: Vec<f64> = Vec::new();
    for &i in active {
        if !sparsities.contains(&points[i].sparsity) {
            sparsities.push(points[i].sparsity);
        }
    }
    let path = |sparsity: &f64| {
        let chosen = active.iter().filter(|&&i| points[i].sparsity == *sparsity);
        let mut ahead: Vec<(usize, Penalty)> = chosen.map(|&i| (i, points[i])).collect();
        ahead.sort_by(|a, b| a.1.strength.total_cmp(&b.1.strength));
        let (point, _) = ahead.pop()?;
        Some(Walker { ahead, point, iterations: 0 })
    };
    sparsities.iter().filter_map(path).collect()
}
