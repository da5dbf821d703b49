//! Every point of a grid on one training set: for each α a path of falling λ, each point started where the last ended,
//! as far as λ makes a difference.

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
    // One iterated without Z cannot be beside those with.
    let (smooth, sparse): (Vec<usize>, Vec<usize>) = active.into_iter().partition(|&i| points[i].sparsity == 0.0);
    for side in [smooth, sparse] {
        walk(system, points, walkers(points, &side), stopping, threads, &mut report);
    }
}

fn walk(
    system: &System,
    points: &[Penalty],
    mut walkers: Vec<Walker>,
    stopping: Stopping,
    threads: Threads,
    report: &mut impl FnMut(usize, Mat<f64>),
) {
    let starts: Vec<(Penalty, Pull)> =
        walkers.iter().map(|walker| (points[walker.point], Pull::suited_to(points[walker.point]))).collect();
    let mut admm = Admm::at_null_model(system, &starts);
    while !walkers.is_empty() {
        let residuals = admm.step(stopping.tolerance, threads);
        let mut going = Vec::with_capacity(walkers.len());
        for (index, walker) in walkers.iter_mut().enumerate() {
            walker.iterations += 1;
            let arrived = residuals[index].are_small();
            if !arrived && walker.iterations < stopping.most_iterations {
                going.push(index);
                continue;
            }
            let last = if arrived { admm.last_solution(index, threads) } else { None };
            if let Some(solution) = &last {
                walker.ahead.drain(..).for_each(|(point, _)| report(point, solution.clone()));
            }
            report(walker.point, last.unwrap_or_else(|| admm.solution(index, threads)));
            if let Some((point, penalty)) = walker.ahead.pop() {
                (walker.point, walker.iterations) = (point, 0);
                admm.change_penalty(index, penalty, Pull::suited_to(penalty), threads);
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
