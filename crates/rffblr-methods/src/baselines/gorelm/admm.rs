//! min_B Σ_n s_n‖(HB − T)_n‖ + λ(1−α)/2 ‖B‖² + λα Σ_j‖B_j‖ by the alternating direction method of multipliers.
//!
//! With E = HB − T and Z = B as constraints, scaled multipliers U and V and penalties ρ (on E) and σ (on Z):
//!
//! ```text
//! B ← (HᵀH + ηI)⁻¹ [Hᵀ(T + E − U) + (σ/ρ)(Z − V)],       η = (σ + λ(1−α))/ρ
//! M = HB − T + U;   U ← rows of M cut to length s_n/ρ;   E ← M − U
//! M = B + V;        V ← rows of M cut to length λα/σ;    Z ← M − V
//! ```
//!
//! which is the usual row-wise soft threshold written by what it takes away. With a relaxation κ other than 1, the last two
//! lines have κ(HB − T) + (1 − κ)E for HB − T and κB + (1 − κ)Z for B, with E and Z of the step before. H = P diag(√d) Wᵀ is decomposed once for
//! every λ and α. Let Ĥ = PᵀH and a hat stand for Pᵀ times a matrix with N rows. Then, with K = (σ/ρ) Ĥ(Z − V) and
//! F = T̂ + Ê − Û, all cell by cell,
//!
//! ```text
//! B = [(σ/ρ)(Z − V) + Ĥᵀ (ηF − K)/(d + η)]/η,      ĤB = (K + dF)/(d + η)
//! ```
//!
//! Since ĤV and Û follow from ĤB, ĤZ and Ê as V and U do from B, Z and E, an iteration needs two products with Ĥ and
//! two with P, no more: 4r(N + L)C multiplications and additions for rank r. The norms of the stopping rule come from
//! the small matrices. Many (λ, α) are iterated side by side as columns of one product, which is what makes the
//! products fast.
//!
//! Where α = 0 nothing asks for Z. With σ = 0, which says so, there is no Z and no V; B is seen only as
//! ĤB = dF/(d + η), so that an iteration is two products with P, 4NrC, and B = ĤᵀF/(d + η) is computed where a
//! point is reported.

use super::system::System;
use super::terms::{Penalty, Pull, Residuals, Tolerance};
use rffblr::internals::{Accumulate, dot, multiply, product, select_columns};
use rffblr::linalg::{Mat, Threads};
use std::ops::Range;

/// After this many steps what is updated in two places is made equal again.
const REFRESH: usize = 100;

/// One (λ, α) under iteration and what depends on it alone.
struct Member {
    penalty: Penalty,
    pull: Pull,
    /// η
    ridge: f64,
    /// 1/(d + η)
    inverse: Vec<f64>,
}

impl Member {
    fn new(penalty: Penalty, pull: Pull, squares: &[f64]) -> Self {
        let ridge = (pull.weights + penalty.strength * (1.0 - penalty.sparsity)) / pull.error;
        let inverse = squares.iter().map(|d| 1.0 / (d + ridge)).collect();
        Member { penalty, pull, ridge, inverse }
    }
}

/// Several problems with the same H and T, iterated side by side: problem i has columns iC to (i+1)C of every matrix.
pub(super) struct Admm<'a> {
    system: &'a System,
    members: Vec<Member>,
    /// E, U (N rows), Z, V, B (L rows, or none where σ = 0).
    pub(super) error: Mat<f64>,
    pub(super) error_dual: Mat<f64>,
    pub(super) sparse: Mat<f64>,
    pub(super) sparse_dual: Mat<f64>,
    pub(super) weights: Mat<f64>,
    /// (F − K/η)/(d + η), from which B follows.
    inside: Mat<f64>,
    /// Ê, Û (as many rows as the rank), ĤZ, ĤV (the same, or none where σ = 0).
    rotated_error: Mat<f64>,
    rotated_error_dual: Mat<f64>,
    rotated_sparse: Mat<f64>,
    rotated_sparse_dual: Mat<f64>,
    steps: usize,
}

impl<'a> Admm<'a> {
    /// Everything at zero. Either every problem has a Z (σ > 0) or none has.
    pub(super) fn at_zero(system: &'a System, problems: &[(Penalty, Pull)]) -> Self {
        let width = problems.len() * system.tasks();
        let zeros = |rows: usize| Mat::zeros(rows, width);
        let (rows, rank) = (system.targets.nrows(), system.squares.len());
        let split = problems.iter().any(|(_, pull)| pull.weights > 0.0);
        debug_assert!(problems.iter().all(|(_, pull)| (pull.weights > 0.0) == split));
        let (neurons, images) = if split { (system.hidden.ncols(), rank) } else { (0, 0) };
        Admm {
            system,
            members: problems.iter().map(|&(penalty, pull)| Member::new(penalty, pull, &system.squares)).collect(),
            error: zeros(rows),
            error_dual: zeros(rows),
            sparse: zeros(neurons),
            sparse_dual: zeros(neurons),
            weights: zeros(neurons),
            inside: zeros(rank),
            rotated_error: zeros(rank),
            rotated_error_dual: zeros(rank),
            rotated_sparse: zeros(images),
            rotated_sparse_dual: zeros(images),
            steps: 0,
        }
    }

    /// At the minimum for a λ so large that all weights are zero: E = −T, U = −S/ρ with S the rows of T cut to length
    /// s_n, and V = HᵀS/σ (zero where α is). The next λ on a falling path is near it.
    pub(super) fn at_null_model(system: &'a System, problems: &[(Penalty, Pull)]) -> Self {
        let mut admm = Admm::at_zero(system, problems);
        for index in 0..admm.members.len() {
            let Member { penalty, pull, .. } = &admm.members[index];
            let (error, weights) = (-1.0 / pull.error, if penalty.sparsity > 0.0 { 1.0 / pull.weights } else { 0.0 });
            for (task, column) in admm.columns(index).enumerate() {
                fill(&mut admm.error, column, &system.targets, task, -1.0);
                fill(&mut admm.rotated_error, column, &system.rotated_targets, task, -1.0);
                fill(&mut admm.error_dual, column, &system.directions, task, error);
                fill(&mut admm.rotated_error_dual, column, &system.rotated_directions, task, error);
                fill(&mut admm.sparse_dual, column, &system.pulled, task, weights);
                fill(&mut admm.rotated_sparse_dual, column, &system.rotated_pulled, task, weights);
            }
        }
        admm
    }

    /// How many problems are left.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    fn columns(&self, index: usize) -> Range<usize> {
        index * self.system.tasks()..(index + 1) * self.system.tasks()
    }

    /// Is there a Z?
    fn split(&self) -> bool {
        self.sparse.nrows() > 0
    }

    /// The weights of a problem: Z with its exact zeros, or B where nothing asks for zeros.
    pub(super) fn solution(&self, index: usize, threads: Threads) -> Mat<f64> {
        let columns: Vec<usize> = self.columns(index).collect();
        if !self.split() {
            let inside = select_columns(self.inside.as_ref(), &columns);
            return multiply(self.system.across.as_ref(), inside.as_ref(), threads);
        }
        let sparse = self.members[index].penalty.sparsity > 0.0;
        select_columns(if sparse { self.sparse.as_ref() } else { self.weights.as_ref() }, &columns)
    }

    /// The rows that are met exactly with force to spare: ‖ρU_n‖ < s_n, from which E_n = 0.
    fn met(&self, index: usize) -> Vec<bool> {
        let force = self.members[index].pull.error;
        let lengths =
            (0..self.error.nrows()).map(|n| force * self.dual_length(&self.error_dual, self.columns(index), n));
        lengths.zip(&self.system.row_weights).map(|(length, &weight)| length < weight).collect()
    }

    /// The length of a row of multipliers over the cells that are observed.
    fn dual_length(&self, dual: &Mat<f64>, columns: Range<usize>, row: usize) -> f64 {
        let cell = |(task, column)| self.system.observed[(row, task)] * dual[(row, column)] * dual[(row, column)];
        columns.enumerate().map(cell).sum::<f64>().sqrt()
    }

    /// The solution for this and every smaller λ, if every row that counts is met with a tenth of its force to spare. At
    /// a minimum λ then makes no difference any more: B has the smallest penalty among all that meet T, and with
    /// multipliers λ'/λ times as long it has the proof of being the minimum for each smaller λ'. The tenth is for points
    /// that are near their minimum only. Where there is no Z solution and multipliers are known: B = Ĥᵀ(T̂ + Ê)/d and
    /// ρU = −λP(T̂ + Ê)/d, with E zero but for cells that are not observed.
    pub(super) fn last_solution(&self, index: usize, threads: Threads) -> Option<Mat<f64>> {
        let system = self.system;
        let Member { penalty, pull, .. } = &self.members[index];
        let are_met = |dual: &Mat<f64>, first: usize, force: f64| {
            system.row_weights.iter().enumerate().all(|(n, &weight)| {
                weight == 0.0 || force * self.dual_length(dual, first..first + system.tasks(), n) < 0.9 * weight
            })
        };
        let first = self.columns(index).start;
        if !are_met(&self.error_dual, first, pull.error) {
            return None;
        }
        if self.split() {
            return Some(self.solution(index, threads));
        }
        let inside = Mat::from_fn(system.squares.len(), system.tasks(), |i, c| {
            (system.rotated_targets[(i, c)] + self.rotated_error[(i, first + c)]) / system.squares[i]
        });
        let dual = multiply(system.rows.as_ref(), inside.as_ref(), threads);
        are_met(&dual, 0, penalty.strength).then(|| multiply(system.across.as_ref(), inside.as_ref(), threads))
    }

    /// Gives a problem another λ and goes on from where it is. E, Z and ρU stay, but multipliers that are proportional
    /// to λ as long as the same rows are met and the same neurons used change with it: σV, and ρU where E_n = 0.
    pub(super) fn change_penalty(&mut self, index: usize, penalty: Penalty, pull: Pull, threads: Threads) {
        let met = self.met(index);
        let old = std::mem::replace(&mut self.members[index], Member::new(penalty, pull, &self.system.squares));
        let by_strength = penalty.strength / old.penalty.strength;
        let error = old.pull.error / pull.error;
        let weights = if self.split() { by_strength * old.pull.weights / pull.weights } else { 0.0 };
        let columns = self.columns(index);
        for column in columns.clone() {
            for (v, met) in self.error_dual.col_as_slice_mut(column).iter_mut().zip(&met) {
                *v *= if *met { error * by_strength } else { error };
            }
            for dual in [&mut self.sparse_dual, &mut self.rotated_sparse_dual] {
                dual.col_as_slice_mut(column).iter_mut().for_each(|v| *v *= weights);
            }
        }
        let (rows, width) = (self.system.rows.as_ref().transpose(), columns.len());
        let dual = self.error_dual.as_ref().subcols(columns.start, width);
        let rotated = self.rotated_error_dual.as_mut().subcols_mut(columns.start, width);
        product(rotated, Accumulate::Replace, rows, dual, 1.0, threads);
    }

    /// Leaves out all problems but those named.
    pub(super) fn keep(&mut self, indices: &[usize]) {
        let columns: Vec<usize> = indices.iter().flat_map(|&index| self.columns(index)).collect();
        for table in [
            &mut self.error,
            &mut self.error_dual,
            &mut self.sparse,
            &mut self.sparse_dual,
            &mut self.weights,
            &mut self.inside,
            &mut self.rotated_error,
            &mut self.rotated_error_dual,
            &mut self.rotated_sparse,
            &mut self.rotated_sparse_dual,
        ] {
            *table = select_columns(table.as_ref(), &columns);
        }
        let mut position = 0;
        self.members.retain(|_| {
            position += 1;
            indices.contains(&(position - 1))
        });
    }

    /// One iteration of every problem.
    pub(super) fn step(&mut self, tolerance: Tolerance, threads: Threads) -> Vec<Residuals> {
        let system = self.system;
        let rotated_fit = self.solve(threads);
        let mut fit = Mat::zeros(system.targets.nrows(), rotated_fit.ncols());
        product(fit.as_mut(), Accumulate::Replace, system.rows.as_ref(), rotated_fit.as_ref(), 1.0, threads);

        let mut norms: Vec<Norms> = (0..self.len()).map(|index| self.shrink_errors(index, &fit)).collect();
        let old_error = std::mem::replace(&mut self.rotated_error, Mat::zeros(0, 0));
        self.rotated_error = Mat::zeros(old_error.nrows(), old_error.ncols());
        let rows = system.rows.as_ref().transpose();
        product(self.rotated_error.as_mut(), Accumulate::Replace, rows, self.error.as_ref(), 1.0, threads);

        for (index, norms) in norms.iter_mut().enumerate() {
            self.shrink_weights(index, norms);
        }
        let old_sparse = std::mem::replace(&mut self.rotated_sparse, Mat::zeros(0, 0));
        self.rotated_sparse = Mat::zeros(old_sparse.nrows(), old_sparse.ncols());
        if self.split() {
            let (images, hidden) = (self.rotated_sparse.as_mut(), system.hidden.as_ref());
            product(images, Accumulate::Replace, hidden, self.sparse.as_ref(), 1.0, threads);
        }
        self.follow_multipliers(&rotated_fit, &old_error, &old_sparse);
        self.steps += 1;
        if self.steps.is_multiple_of(REFRESH) {
            self.refresh(threads);
        }
        let residuals =
            |(index, norms): (usize, &Norms)| self.residuals(index, norms, &old_error, &old_sparse, tolerance);
        norms.iter().enumerate().map(residuals).collect()
    }

    /// B, and ĤB as the result.
    fn solve(&mut self, threads: Threads) -> Mat<f64> {
        let system = self.system;
        let tasks = system.tasks();
        let mut fit = Mat::zeros(self.inside.nrows(), self.inside.ncols());
        for column in 0..fit.ncols() {
            let Member { pull, ridge, inverse, .. } = &self.members[column / tasks];
            let ratio = pull.weights / pull.error;
            let targets = system.rotated_targets.col_as_slice(column % tasks);
            let (error, error_dual) =
                (self.rotated_error.col_as_slice(column), self.rotated_error_dual.col_as_slice(column));
            let (inside, fit) = (self.inside.col_as_slice_mut(column), fit.col_as_slice_mut(column));
            for i in 0..fit.len() {
                inside[i] = (targets[i] + error[i] - error_dual[i]) * inverse[i];
                fit[i] = system.squares[i] * inside[i];
            }
            let (sparse, sparse_dual) =
                (self.rotated_sparse.col_as_slice(column), self.rotated_sparse_dual.col_as_slice(column));
            for i in 0..sparse.len() {
                let k = ratio * (sparse[i] - sparse_dual[i]) * inverse[i];
                inside[i] -= k / ridge;
                fit[i] += k;
            }
            let (sparse, sparse_dual) = (self.sparse.col_as_slice(column), self.sparse_dual.col_as_slice(column));
            let weights = self.weights.col_as_slice_mut(column);
            for ((b, z), v) in weights.iter_mut().zip(sparse).zip(sparse_dual) {
                *b = ratio / ridge * (z - v);
            }
        }
        if self.split() {
            let (weights, across) = (self.weights.as_mut(), system.across.as_ref());
            product(weights, Accumulate::Add, across, self.inside.as_ref(), 1.0, threads);
        }
        fit
    }

    /// E and U of one problem.
    fn shrink_errors(&mut self, index: usize, fit: &Mat<f64>) -> Norms {
        let system = self.system;
        let Pull { error: pull, relaxation, .. } = self.members[index].pull;
        let columns = self.columns(index);
        let mut lengths = vec![0.0; fit.nrows()];
        for (task, column) in columns.clone().enumerate() {
            let (fit, targets) = (fit.col_as_slice(column), system.targets.col_as_slice(task));
            let (dual, observed) = (self.error_dual.col_as_slice(column), system.observed.col_as_slice(task));
            let error = self.error.col_as_slice_mut(column);
            for n in 0..lengths.len() {
                // M takes the place of E.
                error[n] = relaxation * (fit[n] - targets[n]) + (1.0 - relaxation) * error[n] + dual[n];
                lengths[n] += observed[n] * error[n] * error[n];
            }
        }
        let cut: Vec<f64> =
            lengths.iter().zip(&system.row_weights).map(|(l, s)| (s / (pull * l.sqrt())).min(1.0)).collect();
        let mut norms = Norms::default();
        for (task, column) in columns.enumerate() {
            let (fit, targets) = (fit.col_as_slice(column), system.targets.col_as_slice(task));
            let (dual, observed) = (self.error_dual.col_as_slice_mut(column), system.observed.col_as_slice(task));
            let error = self.error.col_as_slice_mut(column);
            for n in 0..cut.len() {
                dual[n] = observed[n] * cut[n] * error[n];
                error[n] -= dual[n];
                norms.primal += (fit[n] - targets[n] - error[n]).powi(2);
            }
            norms.fit += dot(fit, fit);
            norms.split += dot(error, error);
        }
        norms
    }

    /// Z and V of one problem.
    fn shrink_weights(&mut self, index: usize, norms: &mut Norms) {
        let Member { penalty, pull, .. } = &self.members[index];
        let (radius, relaxation) = (penalty.strength * penalty.sparsity / pull.weights, pull.relaxation);
        let columns = self.columns(index);
        let mut cut = vec![0.0; self.weights.nrows()];
        for column in columns.clone() {
            let (weights, sparse) = (self.weights.col_as_slice(column), self.sparse.col_as_slice(column));
            let dual = self.sparse_dual.col_as_slice_mut(column);
            for j in 0..cut.len() {
                // M takes the place of V.
                dual[j] += relaxation * weights[j] + (1.0 - relaxation) * sparse[j];
                cut[j] += dual[j] * dual[j];
            }
        }
        // A row of length zero gives 0/0 where the radius is zero too; `min` then takes the 1, and cuts nothing.
        cut.iter_mut().for_each(|length| *length = (radius / length.sqrt()).min(1.0));
        let (mut moved, mut gap) = (vec![0.0; cut.len()], vec![0.0; cut.len()]);
        for column in columns {
            let weights = self.weights.col_as_slice(column);
            let (sparse, dual) = (self.sparse.col_as_slice_mut(column), self.sparse_dual.col_as_slice_mut(column));
            for j in 0..cut.len() {
                let m = dual[j];
                dual[j] = cut[j] * m;
                let after = m - dual[j];
                gap[j] = weights[j] - after;
                moved[j] = after - sparse[j];
                sparse[j] = after;
            }
            norms.primal += dot(&gap, &gap);
            norms.moved += dot(&moved, &moved);
            norms.fit += dot(weights, weights);
            norms.split += dot(sparse, sparse);
            norms.dual += dot(dual, dual);
        }
    }

    /// Û and ĤV as U and V: plus what HB − T and B have become by relaxation, less Ê and ĤZ.
    fn follow_multipliers(&mut self, rotated_fit: &Mat<f64>, old_error: &Mat<f64>, old_sparse: &Mat<f64>) {
        for column in 0..rotated_fit.ncols() {
            let relaxation = self.members[column / self.system.tasks()].pull.relaxation;
            let relaxed = |new: f64, old: f64| relaxation * new + (1.0 - relaxation) * old;
            let targets = self.system.rotated_targets.col_as_slice(column % self.system.tasks());
            let fit = rotated_fit.col_as_slice(column);
            let (error, sparse) = (self.rotated_error.col_as_slice(column), self.rotated_sparse.col_as_slice(column));
            let (old_error, old_sparse) = (old_error.col_as_slice(column), old_sparse.col_as_slice(column));
            let error_dual = self.rotated_error_dual.col_as_slice_mut(column);
            for i in 0..fit.len() {
                error_dual[i] += relaxed(fit[i] - targets[i], old_error[i]) - error[i];
            }
            let sparse_dual = self.rotated_sparse_dual.col_as_slice_mut(column);
            for i in 0..sparse.len() {
                sparse_dual[i] += relaxed(fit[i], old_sparse[i]) - sparse[i];
            }
        }
    }

    /// Û and ĤV from U and V, for what rounding has added up between them.
    fn refresh(&mut self, threads: Threads) {
        let rows = self.system.rows.as_ref().transpose();
        product(self.rotated_error_dual.as_mut(), Accumulate::Replace, rows, self.error_dual.as_ref(), 1.0, threads);
        if self.split() {
            let (images, hidden) = (self.rotated_sparse_dual.as_mut(), self.system.hidden.as_ref());
            product(images, Accumulate::Replace, hidden, self.sparse_dual.as_ref(), 1.0, threads);
        }
    }

    /// ‖ρHᵀX + σG‖² = ρ² Σ d X̂² + 2ρσ ⟨X̂, ĤG⟩ + σ²‖G‖², for the steps X of E and G of Z. What they are relative to is
    /// the larger of ‖ρHᵀU‖ and ‖σV‖. The length of ρHᵀU + σV would not do: at the minimum that sum is −λ(1−α)B, which
    /// for α = 1 is zero.
    fn residuals(
        &self,
        index: usize,
        norms: &Norms,
        old_error: &Mat<f64>,
        old_sparse: &Mat<f64>,
        tolerance: Tolerance,
    ) -> Residuals {
        let system = self.system;
        let Pull { error: rho, weights: sigma, .. } = self.members[index].pull;
        let mut dual = sigma * sigma * norms.moved;
        let mut size = 0.0;
        for column in self.columns(index) {
            let (error, before) = (self.rotated_error.col_as_slice(column), old_error.col_as_slice(column));
            let u = self.rotated_error_dual.col_as_slice(column);
            for (i, d) in system.squares.iter().enumerate() {
                dual += d * (rho * (error[i] - before[i])).powi(2);
                size += d * (rho * u[i]).powi(2);
            }
            let (sparse, sparse_before) = (self.rotated_sparse.col_as_slice(column), old_sparse.col_as_slice(column));
            for i in 0..sparse.len() {
                dual += 2.0 * rho * sigma * (error[i] - before[i]) * (sparse[i] - sparse_before[i]);
            }
        }
        size = size.max(sigma * sigma * norms.dual);
        let tasks = system.tasks() as f64;
        let (split, neurons) = ((self.error.nrows() + self.sparse.nrows()) as f64, system.hidden.ncols() as f64);
        let largest = norms.fit.max(norms.split).max(system.target_square).sqrt();
        Residuals {
            primal: norms.primal.sqrt(),
            primal_limit: (split * tasks).sqrt() * tolerance.absolute + tolerance.relative * largest,
            dual: dual.max(0.0).sqrt(),
            dual_limit: (neurons * tasks).sqrt() * tolerance.absolute + tolerance.relative * size.sqrt(),
        }
    }
}

/// Squared norms of one problem, gathered while its matrices are at hand.
#[derive(Default)]
struct Norms {
    /// ‖HB − T − E‖² + ‖B − Z‖²
    primal: f64,
    /// ‖HB‖² + ‖B‖²
    fit: f64,
    /// ‖E‖² + ‖Z‖²
    split: f64,
    /// ‖Z − Z_old‖²
    moved: f64,
    /// ‖V‖²
    dual: f64,
}

fn fill(to: &mut Mat<f64>, column: usize, from: &Mat<f64>, task: usize, factor: f64) {
    to.col_as_slice_mut(column).iter_mut().zip(from.col_as_slice(task)).for_each(|(t, f)| *t = factor * f);
}
