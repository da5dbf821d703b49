//! The group lasso min_W ½‖Y − ΦW‖² + Nλ Σⱼ‖wⱼ‖ (rows wⱼ of W; Φ and Y centred) along a path of falling λ.
//!
//! Cyclic coordinate descent takes one feature at a time: with g = φⱼᵀR + nⱼwⱼ, R = Y − ΦW and nⱼ = ‖φⱼ‖²,
//! wⱼ ← max(0, 1 − Nλ/‖g‖) g / nⱼ. Three things make it fast and change nothing about where it ends:
//!
//! * It runs on a **working set** of features, those that were ever needed on the path. With their Gram matrix and the
//!   correlations ΦᵀR a step costs the size of the set, and a feature that stays put costs nothing.
//! * After every few epochs the iterates are **extrapolated** (Anderson): the combination with the smallest change,
//!   taken only if it lowers the objective.
//! * The **duality gap** over all features says when to stop: θ = sR with s = min(1, Nλ/maxⱼ‖φⱼᵀR‖) is feasible, and
//!   the objective exceeds its minimum by at most P − (⟨θ, Y⟩ − ½‖θ‖²). Features outside the set with ‖φⱼᵀR‖ > Nλ
//!   are the ones that can still lower the objective; they join.

use crate::linalg::{Cholesky, Into, Mat, Threads, dot, multiply, product};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Duality gap over ‖Y‖².
    pub(super) gap: f64,
    /// Epochs for one penalty.
    pub(super) epochs: usize,
}

impl Limits {
    pub(super) const DEFAULT: Limits = Limits { gap: 1e-4, epochs: 1000 };
}

/// Epochs between two extrapolations.
const EXTRAPOLATE: usize = 5;
/// At least this many features join at once.
const FEWEST: usize = 32;

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
    iterate: Iterate,
}

/// Weights of the working set and its correlations ΦᵀR, one row a feature.
#[derive(Clone)]
struct Iterate {
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
            iterate: Iterate { weights: Mat::zeros(0, tasks), correlations: Mat::zeros(0, tasks) },
            features,
            targets,
        }
    }

    /// The selected features and their weights, one row each.
    pub(super) fn selected(&self) -> (Vec<usize>, Mat<f64>) {
        let weights = &self.iterate.weights;
        let kept: Vec<usize> =
            (0..weights.nrows()).filter(|&j| (0..weights.ncols()).any(|c| weights[(j, c)] != 0.0)).collect();
        let rows = crate::linalg::select_rows(weights.as_ref(), &kept);
        (kept.iter().map(|&j| self.members[j]).collect(), rows)
    }

    /// Solves for λ, starting from the present weights. Returns the duality gap: a proven bound on how far the objective
    /// of the module header is above its minimum.
    pub(super) fn solve(&mut self, penalty: f64, limits: Limits) -> f64 {
        let threshold = penalty * self.features.nrows() as f64;
        let goal = limits.gap * self.energy;
        let mut epochs = 0;
        loop {
            let lengths = self.refresh();
            let gap = self.gap(threshold, lengths.iter().copied().fold(0.0, f64::max));
            if gap <= goal || epochs >= limits.epochs {
                return gap;
            }
            self.admit(&lengths, threshold);
            // No use in solving the part much better than the whole is known to be solved.
            epochs += self.descend(threshold, goal.max(0.1 * gap), limits.epochs - epochs);
        }
    }

    /// Correlations of all features with the residual, computed afresh; returns their lengths.
    fn refresh(&mut self) -> Vec<f64> {
        let mut residual = self.targets.clone();
        product(residual.as_mut(), Into::Add, self.columns.as_ref(), self.iterate.weights.as_ref(), -1.0, Threads::ONE);
        let all = multiply(self.features.as_ref().transpose(), residual.as_ref(), Threads::ONE);
        self.iterate.correlations = crate::linalg::select_rows(all.as_ref(), &self.members);
        row_lengths(&all)
    }

    /// P − D for correlations no longer than `longest`. With A = ΦᵀY: ⟨R, Y⟩ = ‖Y‖² − ⟨W, A⟩ and
    /// ‖R‖² = ‖Y‖² − ⟨W, A + ΦᵀR⟩.
    fn gap(&self, threshold: f64, longest: f64) -> f64 {
        let aligned = self.energy - inner(&self.iterate.weights, &self.aims);
        let square = (aligned - inner(&self.iterate.weights, &self.iterate.correlations)).max(0.0);
        let scale = if longest > threshold { threshold / longest } else { 1.0 };
        let dual = scale * aligned - 0.5 * scale * scale * square;
        0.5 * square + threshold * total_length(&self.iterate.weights) - dual
    }

    /// Adds the features that violate optimality most, at most doubling the set.
    fn admit(&mut self, lengths: &[f64], threshold: f64) {
        let mut new: Vec<usize> =
            (0..lengths.len()).filter(|&j| !self.is_member[j] && lengths[j] > threshold).collect();
        new.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]).then(a.cmp(&b)));
        new.truncate(self.members.len().max(FEWEST));
        if new.is_empty() {
            return;
        }
        let (old, tasks) = (self.members.len(), self.targets.ncols());
        let size = old + new.len();
        self.members.extend(&new);
        new.iter().for_each(|&j| self.is_member[j] = true);
        let joined = crate::linalg::select_columns(self.features.as_ref(), &new);
        self.columns.resize_with(joined.nrows(), size, |i, j| joined[(i, j - old)]);
        let cross = multiply(self.columns.as_ref().transpose(), joined.as_ref(), Threads::ONE);
        self.gram.resize_with(size, size, |i, j| if j >= old { cross[(i, j - old)] } else { cross[(j, i - old)] });
        self.aims.resize_with(size, tasks, |i, c| self.start[(self.members[i], c)]);
        self.iterate.weights.resize_with(size, tasks, |_, _| 0.0);
        // Correlations of those that joined are theirs by definition: φᵀY − Gw.
        let Path { gram, aims, iterate, .. } = self;
        let mut correlations = aims.clone();
        product(correlations.as_mut(), Into::Add, gram.as_ref(), iterate.weights.as_ref(), -1.0, Threads::ONE);
        iterate.correlations = correlations;
    }

    /// Epochs on the working set until its own gap is at most `goal`.
    fn descend(&mut self, threshold: f64, goal: f64, most: usize) -> usize {
        let mut history = vec![self.iterate.clone()];
        for epoch in 1..=most {
            let moved = self.epoch(threshold);
            history.push(self.iterate.clone());
            if history.len() <= EXTRAPOLATE {
                continue;
            }
            self.extrapolate(&history, threshold);
            history = vec![self.iterate.clone()];
            let longest = row_lengths(&self.iterate.correlations).into_iter().fold(0.0, f64::max);
            if !moved || self.gap(threshold, longest) <= goal {
                return epoch;
            }
        }
        most.max(1)
    }

    /// One pass over the working set; whether anything moved.
    fn epoch(&mut self, threshold: f64) -> bool {
        let Iterate { weights, correlations } = &mut self.iterate;
        let tasks = weights.ncols();
        let (mut pull, mut moved) = (vec![0.0; tasks], false);
        for j in 0..weights.nrows() {
            let own = self.gram[(j, j)];
            if own <= 0.0 {
                continue;
            }
            for (c, pull) in pull.iter_mut().enumerate() {
                *pull = correlations[(j, c)] + own * weights[(j, c)];
            }
            let length = dot(&pull, &pull).sqrt();
            let factor = if length > threshold { (1.0 - threshold / length) / own } else { 0.0 };
            let column = self.gram.col_as_slice(j);
            for (c, pull) in pull.iter().enumerate() {
                let change = factor * pull - weights[(j, c)];
                if change != 0.0 {
                    moved = true;
                    weights[(j, c)] = factor * pull;
                    let cells = correlations.col_as_slice_mut(c).iter_mut();
                    cells.zip(column).for_each(|(r, g)| *r -= change * g);
                }
            }
        }
        moved
    }

    /// Replaces the iterate by the affine combination of the last ones whose change is smallest, if that is better.
    /// Correlations are affine in the weights, so they combine with the same numbers.
    fn extrapolate(&mut self, history: &[Iterate], threshold: f64) {
        let steps = history.len() - 1;
        let changes: Vec<Mat<f64>> = history.windows(2).map(|pair| &pair[1].weights - &pair[0].weights).collect();
        let mut products =
            Mat::from_fn(steps, steps, |i, j| if i >= j { inner(&changes[i], &changes[j]) } else { 0.0 });
        let trace: f64 = (0..steps).map(|i| products[(i, i)]).sum();
        for i in 0..steps {
            products[(i, i)] += 1e-12 * trace;
        }
        let Some(factor) = Cholesky::new(products, Threads::ONE) else { return };
        let mut shares = Mat::from_fn(steps, 1, |_, _| 1.0);
        factor.half_solve(shares.as_mut());
        factor.half_solve_transposed(shares.as_mut());
        let total: f64 = shares.col_as_slice(0).iter().sum();
        if !total.is_finite() || total == 0.0 {
            return;
        }
        let shares: Vec<f64> = shares.col_as_slice(0).iter().map(|share| share / total).collect();
        let combine = |part: fn(&Iterate) -> &Mat<f64>| {
            let mut sum = Mat::zeros(self.members.len(), self.targets.ncols());
            for (share, iterate) in shares.iter().zip(&history[1..]) {
                for c in 0..sum.ncols() {
                    let cells = sum.col_as_slice_mut(c).iter_mut().zip(part(iterate).col_as_slice(c));
                    cells.for_each(|(sum, value)| *sum += share * value);
                }
            }
            sum
        };
        let candidate = Iterate { weights: combine(|i| &i.weights), correlations: combine(|i| &i.correlations) };
        if self.objective(&candidate, threshold) < self.objective(&self.iterate, threshold) {
            self.iterate = candidate;
        }
    }

    /// ½‖R‖² + Nλ Σ‖wⱼ‖.
    fn objective(&self, iterate: &Iterate, threshold: f64) -> f64 {
        let square = self.energy - inner(&iterate.weights, &self.aims) - inner(&iterate.weights, &iterate.correlations);
        0.5 * square + threshold * total_length(&iterate.weights)
    }
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
    squares.iter_mut().for_each(|v| *v = v.sqrt());
    squares
}

/// Sum of the lengths of the rows.
fn total_length(table: &Mat<f64>) -> f64 {
    row_lengths(table).iter().sum()
}
