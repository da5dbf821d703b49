//! The group lasso min_W ½‖Y − ΦW‖² + ρ Σⱼ‖wⱼ‖ (rows wⱼ of W; Φ and Y centred; ρ = Nλ) along a path of falling λ.
//!
//! Coordinate descent takes one feature at a time: with R = Y − ΦW, nⱼ = ‖φⱼ‖² and g = φⱼᵀR + nⱼwⱼ,
//! wⱼ ← max(0, 1 − ρ/‖g‖) g / nⱼ. It finds out soon which features matter, but for small λ it takes many thousands of
//! epochs to find their weights. So after a few epochs the selected features are polished by Newton's method: since
//! ‖w‖ = min_d ½(‖w‖²/d + d), W minimises a ridge problem with penalties ρ/dⱼ whose value
//!
//! v(d) = ½(‖Y‖² − ⟨ΦᵀY, W⟩) + ½ρ Σ dⱼ,  W = H⁻¹ΦᵀY,  H = ΦᵀΦ + ρ diag(1/d),
//!
//! is convex in d and at its minimum, where dⱼ = ‖wⱼ‖, equals the group lasso's. In relative changes of d, with
//! uⱼ = wⱼ/dⱼ = φⱼᵀR/ρ, its slope is ½ρ dⱼ(1 − ‖uⱼ‖²) and its curvature ρ(dⱼδⱼₖ − ρ(H⁻¹)ⱼₖ)⟨uⱼ, uₖ⟩: one number for each
//! feature, however many tasks there are. A dⱼ that goes to zero takes its feature out.
//!
//! All of this runs on a working set that grows along the path. The duality gap over all features says when to stop:
//! θ = sR with s = min(1, ρ/maxⱼ‖φⱼᵀR‖) is feasible, so the objective exceeds its minimum by at most
//! P − (⟨θ, Y⟩ − ½‖θ‖²). Features outside the set with ‖φⱼᵀR‖ > ρ can lower the objective; the worst of them join.

use rffblr::internals::{Accumulate, Cholesky, dot, multiply, outer, product, select_columns, select_rows};
use rffblr::linalg::{Mat, Threads};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Duality gap over ‖Y‖².
    pub(super) gap: f64,
    /// Rounds of joining, descent and polish for one penalty.
    pub(super) rounds: usize,
}

impl Limits {
    pub(super) const DEFAULT: Limits = Limits { gap: 1e-4, rounds: 100 };
}

/// Epochs of coordinate descent in a round.
const EPOCHS: usize = 5;
/// Newton steps in a round, at most.
const STEPS: usize = 20;
/// At least this many features join at once if that many can.
const FEWEST: usize = 32;
/// The part is solved to this share of what the whole still lacks.
const SHARE: f64 = 0.3;

/// The solution for the present penalty and what the next one starts from.
pub(super) struct Path<'a> {
    features: &'a Mat<f64>,
    targets: &'a Mat<f64>,
    /// ‖Y‖².
    energy: f64,
    /// ΦᵀY, M×C.
    start: Mat<f64>,
    /// Features of the working set, in the order they joined.
    members: Vec<usize>,
    is_member: Vec<bool>,
    /// Their columns, their Gram matrix, their rows of ΦᵀY.
    columns: Mat<f64>,
    gram: Mat<f64>,
    aims: Mat<f64>,
    /// Their weights and correlations ΦᵀR, one row a feature.
    weights: Mat<f64>,
    correlations: Mat<f64>,
}

impl<'a> Path<'a> {
    /// Nothing selected yet. Columns of features and targets must have mean zero.
    pub(super) fn new(features: &'a Mat<f64>, targets: &'a Mat<f64>) -> Self {
        let tasks = targets.ncols();
        Path {
            energy: inner(targets, targets),
            start: multiply(features.as_ref().transpose(), targets.as_ref(), Threads::ONE),
            members: Vec::new(),
            is_member: vec![false; features.ncols()],
            columns: Mat::zeros(features.nrows(), 0),
            gram: Mat::zeros(0, 0),
            aims: Mat::zeros(0, tasks),
            weights: Mat::zeros(0, tasks),
            correlations: Mat::zeros(0, tasks),
            features,
            targets,
        }
    }

    /// The selected features and their weights, one row each.
    pub(super) fn selected(&self) -> (Vec<usize>, Mat<f64>) {
        let kept = nonzero_rows(&self.weights);
        (kept.iter().map(|&j| self.members[j]).collect(), select_rows(self.weights.as_ref(), &kept))
    }

    /// Solves for λ, starting from the present weights. Returns the duality gap: a proven bound on how far the objective
    /// of the module header is above its minimum.
    pub(super) fn solve(&mut self, penalty: f64, limits: Limits) -> f64 {
        let threshold = penalty * self.features.nrows() as f64;
        let goal = limits.gap * self.energy;
        for round in 0.. {
            let lengths = self.refresh();
            let gap = self.gap(threshold, lengths.iter().copied().fold(0.0, f64::max));
            if gap <= goal || round == limits.rounds {
                return gap;
            }
            self.admit(&lengths, threshold);
            for _ in 0..EPOCHS {
                self.epoch(threshold);
            }
            self.polish(threshold, SHARE * goal.max(gap));
        }
        f64::INFINITY
    }

    /// Correlations of all features with the residual, computed afresh; returns their lengths.
    fn refresh(&mut self) -> Vec<f64> {
        let mut residual = self.targets.clone();
        product(residual.as_mut(), Accumulate::Add, self.columns.as_ref(), self.weights.as_ref(), -1.0, Threads::ONE);
        let all = multiply(self.features.as_ref().transpose(), residual.as_ref(), Threads::ONE);
        self.correlations = select_rows(all.as_ref(), &self.members);
        row_lengths(&all)
    }

    /// P − D for correlations no longer than `longest`.
    fn gap(&self, threshold: f64, longest: f64) -> f64 {
        let aligned = self.energy - inner(&self.weights, &self.aims);
        let square = aligned - inner(&self.weights, &self.correlations);
        gap(aligned, square, threshold, longest, total_length(&self.weights))
    }

    /// ½‖R‖² + ρ Σ‖wⱼ‖ by what is kept of the working set.
    fn objective(&self, threshold: f64) -> f64 {
        let square = self.energy - inner(&self.weights, &self.aims) - inner(&self.weights, &self.correlations);
        0.5 * square + threshold * total_length(&self.weights)
    }

    /// Adds the features that violate optimality most, a quarter as many as are selected.
    fn admit(&mut self, lengths: &[f64], threshold: f64) {
        let mut new: Vec<usize> =
            (0..lengths.len()).filter(|&j| !self.is_member[j] && lengths[j] > threshold).collect();
        new.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]).then(a.cmp(&b)));
        new.truncate((nonzero_rows(&self.weights).len() / 4).max(FEWEST));
        if new.is_empty() {
            return;
        }
        let (old, tasks) = (self.members.len(), self.targets.ncols());
        let size = old + new.len();
        self.members.extend(&new);
        new.iter().for_each(|&j| self.is_member[j] = true);
        let joined = select_columns(self.features.as_ref(), &new);
        self.columns.resize_with(joined.nrows(), size, |i, j| joined[(i, j - old)]);
        let cross = multiply(self.columns.as_ref().transpose(), joined.as_ref(), Threads::ONE);
        self.gram.resize_with(size, size, |i, j| if j >= old { cross[(i, j - old)] } else { cross[(j, i - old)] });
        self.aims.resize_with(size, tasks, |i, c| self.start[(self.members[i], c)]);
        self.weights.resize_with(size, tasks, |_, _| 0.0);
        self.correlate();
    }

    /// ΦᵀR = ΦᵀY − ΦᵀΦ W on the working set.
    fn correlate(&mut self) {
        self.correlations = self.aims.clone();
        let (gram, weights) = (self.gram.as_ref(), self.weights.as_ref());
        product(self.correlations.as_mut(), Accumulate::Add, gram, weights, -1.0, Threads::ONE);
    }

    /// One pass of coordinate descent over the working set.
    fn epoch(&mut self, threshold: f64) {
        let mut pull = vec![0.0; self.weights.ncols()];
        for j in 0..self.members.len() {
            let own = self.gram[(j, j)];
            if own <= 0.0 {
                continue;
            }
            for (c, pull) in pull.iter_mut().enumerate() {
                *pull = self.correlations[(j, c)] + own * self.weights[(j, c)];
            }
            let length = dot(&pull, &pull).sqrt();
            let factor = if length > threshold { (1.0 - threshold / length) / own } else { 0.0 };
            let column = self.gram.col_as_slice(j);
            for (c, pull) in pull.iter().enumerate() {
                let change = factor * pull - self.weights[(j, c)];
                if change != 0.0 {
                    self.weights[(j, c)] = factor * pull;
                    let cells = self.correlations.col_as_slice_mut(c).iter_mut();
                    cells.zip(column).for_each(|(r, g)| *r -= change * g);
                }
            }
        }
    }

    /// Newton's method on the selected features until their own gap is at most `goal`.
    fn polish(&mut self, threshold: f64, goal: f64) {
        let before = self.objective(threshold);
        let mut kept = nonzero_rows(&self.weights);
        let lengths = row_lengths(&self.weights);
        let sizes = kept.iter().map(|&j| lengths[j]).collect();
        let Some(mut state) = self.ridge(&kept, sizes, threshold) else { return };
        for _ in 0..STEPS {
            if state.gap(self.energy, threshold) <= goal {
                break;
            }
            let Some(next) = state.newton(threshold).and_then(|step| self.search(&kept, &state, &step, threshold))
            else {
                break;
            };
            let staying = next.staying();
            state = next;
            if staying.len() < kept.len() {
                kept = staying.iter().map(|&j| kept[j]).collect();
                let sizes = staying.iter().map(|&j| state.sizes[j]).collect();
                let Some(smaller) = self.ridge(&kept, sizes, threshold) else { return };
                state = smaller;
            }
        }
        let (weights, correlations) = (self.weights.clone(), self.correlations.clone());
        self.weights = Mat::zeros(weights.nrows(), weights.ncols());
        for (k, &j) in kept.iter().enumerate() {
            (0..weights.ncols()).for_each(|c| self.weights[(j, c)] = state.weights[(k, c)]);
        }
        self.correlate();
        // Exact arithmetic cannot raise the objective.
        let after = self.objective(threshold);
        if after.is_nan() || after > before {
            (self.weights, self.correlations) = (weights, correlations);
        }
    }

    /// The ridge problem for these d on part of the working set.
    fn ridge(&self, kept: &[usize], sizes: Vec<f64>, threshold: f64) -> Option<Ridge> {
        let mut h = Mat::zeros(kept.len(), kept.len());
        for (j, (&own, size)) in kept.iter().zip(&sizes).enumerate() {
            let column = self.gram.col_as_slice(own);
            let cells = h.col_as_slice_mut(j)[j..].iter_mut().zip(&kept[j..]);
            cells.for_each(|(cell, &other)| *cell = column[other]);
            h[(j, j)] += threshold / size;
        }
        let aims = select_rows(self.aims.as_ref(), kept);
        let factor = Cholesky::new(h, Threads::ONE)?;
        let mut weights = aims.clone();
        factor.half_solve(weights.as_mut());
        factor.half_solve_transposed(weights.as_mut());
        let aligned = inner(&weights, &aims);
        let value = 0.5 * (self.energy - aligned + threshold * sizes.iter().sum::<f64>());
        value.is_finite().then_some(Ridge { sizes, weights, aligned, value, factor })
    }

    /// The longest of the step, 0.4 of it, … that does not raise the value. No d shrinks by more than a factor of 20.
    fn search(&self, kept: &[usize], from: &Ridge, step: &[f64], threshold: f64) -> Option<Ridge> {
        (0..10).find_map(|shorter| {
            let part = 0.4f64.powi(shorter);
            let sizes = from.sizes.iter().zip(step).map(|(d, step)| d * (1.0 + part * step).max(0.05)).collect();
            self.ridge(kept, sizes, threshold).filter(|next| next.value < from.value)
        })
    }
}

/// The ridge problem whose penalties are ρ/d, solved.
struct Ridge {
    /// d.
    sizes: Vec<f64>,
    weights: Mat<f64>,
    /// ⟨ΦᵀY, W⟩.
    aligned: f64,
    /// v(d).
    value: f64,
    /// Of H.
    factor: Cholesky,
}

impl Ridge {
    /// The gap of the group lasso on these features, with φⱼᵀR = ρwⱼ/dⱼ.
    fn gap(&self, energy: f64, threshold: f64) -> f64 {
        let lengths = row_lengths(&self.weights);
        let ratios = lengths.iter().zip(&self.sizes).map(|(length, size)| length / size);
        let longest = threshold * ratios.clone().fold(0.0, f64::max);
        let aligned = energy - self.aligned;
        let square = aligned - threshold * ratios.zip(&lengths).map(|(ratio, length)| ratio * length).sum::<f64>();
        gap(aligned, square, threshold, longest, lengths.iter().sum())
    }

    /// Features to go on with. One that is small and shrinks leaves: the sooner, the cheaper, and should it have been
    /// wrong, its correlation brings it back.
    fn staying(&self) -> Vec<usize> {
        let largest = self.sizes.iter().copied().fold(0.0, f64::max);
        let lengths = row_lengths(&self.weights);
        let leaves = |j: usize| {
            let size = self.sizes[j];
            size <= 1e-7 * largest || (size < 0.01 * largest && lengths[j] < 0.7 * size)
        };
        (0..self.sizes.len()).filter(|&j| !leaves(j)).collect()
    }

    /// Newton's step for v in relative changes of d.
    fn newton(&self, threshold: f64) -> Option<Vec<f64>> {
        let size = self.sizes.len();
        let directions = Mat::from_fn(size, self.weights.ncols(), |j, c| self.weights[(j, c)] / self.sizes[j]);
        let squares: Vec<f64> = row_lengths(&directions).iter().map(|length| length * length).collect();
        let mut curvature = Mat::zeros(size, size);
        outer(curvature.as_mut(), Accumulate::Replace, directions.as_ref(), Threads::ONE);
        let inverse = self.factor.clone().into_inverse(true).1?;
        for j in 0..size {
            let cells = curvature.col_as_slice_mut(j)[j..].iter_mut().zip(&inverse.col_as_slice(j)[j..]);
            cells.for_each(|(m, inverse)| *m *= -threshold * threshold * inverse);
            curvature[(j, j)] += threshold * self.sizes[j] * squares[j];
        }
        // A trace of ridge: features may be copies of each other.
        let mean = (0..size).map(|j| curvature[(j, j)]).sum::<f64>() / size as f64;
        (0..size).for_each(|j| curvature[(j, j)] += 1e-9 * mean);
        let mut step = Mat::from_fn(size, 1, |j, _| 0.5 * threshold * self.sizes[j] * (squares[j] - 1.0));
        let factor = Cholesky::new(curvature, Threads::ONE)?;
        factor.half_solve(step.as_mut());
        factor.half_solve_transposed(step.as_mut());
        Some(step.col_as_slice(0).to_vec())
    }
}

/// P − D from ⟨R, Y⟩, ‖R‖², ρ, the longest correlation and Σ‖wⱼ‖.
fn gap(aligned: f64, square: f64, threshold: f64, longest: f64, length: f64) -> f64 {
    let square = square.max(0.0);
    let scale = if longest > threshold { threshold / longest } else { 1.0 };
    0.5 * square + threshold * length - (scale * aligned - 0.5 * scale * scale * square)
}

/// ⟨a, b⟩.
fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|c| dot(a.col_as_slice(c), b.col_as_slice(c))).sum()
}

/// Length of each row.
fn row_lengths(table: &Mat<f64>) -> Vec<f64> {
    let mut squares = vec![0.0; table.nrows()];
    for c in 0..table.ncols() {
        squares.iter_mut().zip(table.col_as_slice(c)).for_each(|(sum, v)| *sum += v * v);
    }
    squares.iter_mut().for_each(|v: &mut f64| *v = v.sqrt());
    squares
}

/// Sum of the lengths of the rows.
fn total_length(table: &Mat<f64>) -> f64 {
    row_lengths(table).iter().sum()
}

/// Rows that are not all zero.
fn nonzero_rows(table: &Mat<f64>) -> Vec<usize> {
    let lengths = row_lengths(table);
    (0..table.nrows()).filter(|&j| lengths[j] > 0.0).collect()
}
