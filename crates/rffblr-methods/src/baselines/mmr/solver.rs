//! Minimises J over the structure matrix, the latent coefficients A always at their optimum.
//!
//! With K = Q diag(d) Qᵀ, T = QᵀY (N×C) and S = U diag(s) Vᵀ, the best A for S is, in the rotated basis,
//! sᵢ wᵢⱼ / (sᵢ²dⱼ + λN) with W = TU, and J loses A and V:
//!
//! J(U, s) = λ Σᵢⱼ wᵢⱼ²/(sᵢ²dⱼ + λN) + (‖T‖² − ‖W‖²)/N + β Σ sᵢ + γ Σ sᵢ².
//!
//! A sweep is three kinds of exact descent. Each bounds the trace norm from above by a quadratic that touches it at the
//! present S; none can raise J, and their common fixed points are those of alternating between A and S:
//!
//! * **structure**: A stays. S ← P (G + NγI + ½Nβ diag(1/s))⁻¹ with Z = AK, G = ZZᵀ, P = YZᵀ.
//! * **fit**: the fitted values F stay and A = S⁻¹FK⁻¹ follows. J is λ tr(B⁻¹M) + tr(κB) with B = SSᵀ, M = FK⁻¹Fᵀ and
//!   κ = γ + β/(2s), so BκB = λM. This moves fast where the plain alternation crawls: small penalties.
//! * **scale**: U stays. Each sᵢ² = u solves q(u) = λ Σⱼ wᵢⱼ²dⱼ/(u dⱼ + λN)² = κᵢ; q^(−1/2) is concave and nearly a
//!   line in u, so Newton's method on it needs a step or two.
//!
//! A singular value that is zero stays zero in all of them. S = 0 is where strong penalties end; since the first term
//! of J is convex in B with slope −q at B = 0, nothing beats S = 0 once γ exceeds the largest eigenvalue of that slope.

use rffblr::internals::{
    Accumulate, Cholesky, Spectral, dot, multiply, product, scale_columns, scale_rows, select_columns,
};
use rffblr::linalg::{Mat, Threads};

/// The three penalties: λ on the latent functions, β on the trace norm and γ on the squared norm of S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Penalties {
    pub(super) latent: f64,
    pub(super) trace: f64,
    pub(super) square: f64,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Relative change of J in a sweep.
    pub(super) tolerance: f64,
    /// Number of sweeps.
    pub(super) sweeps: usize,
}

impl Limits {
    pub(super) const DEFAULT: Limits = Limits { tolerance: 1e-5, sweeps: 100 };
}

/// Centred targets in the eigenbasis of the kernel matrix: all that the grid shares.
pub(super) struct Rotated {
    /// Eigenvalues d of K, never negative.
    pub(super) spectrum: Vec<f64>,
    /// T = QᵀY, N×C.
    pub(super) targets: Mat<f64>,
    /// ‖T‖².
    energy: f64,
    /// Largest eigenvalue of Tᵀ diag(d) T / N²: over λ, how steeply J falls at S = 0.
    slope: f64,
}

/// S = U diag(s), up to a rotation from the right that neither J nor the predictions see.
#[derive(Clone)]
pub(super) struct Structure {
    /// U, C×r with orthonormal columns.
    pub(super) directions: Mat<f64>,
    /// s, positive.
    pub(super) singular: Vec<f64>,
    /// W = TU, N×r.
    pub(super) projected: Mat<f64>,
    /// J.
    pub(super) objective: f64,
}

impl Rotated {
    pub(super) fn new(spectrum: Vec<f64>, targets: Mat<f64>) -> Self {
        let tasks = targets.ncols();
        let energy = (0..tasks).map(|c| dot(targets.col_as_slice(c), targets.col_as_slice(c))).sum();
        let mut weighted = targets.clone();
        scale_rows(&mut weighted, &spectrum);
        let slopes = multiply(targets.as_ref().transpose(), weighted.as_ref(), Threads::ONE);
        let largest = Spectral::new(slopes).and_then(|s| s.values.last().copied()).unwrap_or(f64::INFINITY);
        let slope = largest / (targets.nrows() as f64).powi(2);
        Rotated { spectrum, targets, energy, slope }
    }

    fn rows(&self) -> f64 {
        self.targets.nrows() as f64
    }

    /// The minimum reached from S = I.
    pub(super) fn solve(&self, penalties: Penalties, limits: Limits) -> Structure {
        if self.slope / penalties.latent <= penalties.square {
            return self.collapsed();
        }
        let start = self.start(&penalties);
        // Else penalties far from the scale of S = I throw the first structure step too far.
        let mut state = self.scale_step(start, &penalties).unwrap_or_else(|| self.collapsed());
        for _ in 0..limits.sweeps {
            let before = state.objective;
            state = self.sweep(state, &penalties);
            if before - state.objective <= limits.tolerance * state.objective.abs() {
                let kept = state.singular.len();
                state = self.without_useless(state, &penalties);
                if state.singular.len() == kept {
                    break;
                }
            }
            if self.dominated(&state, &penalties) {
                return self.collapsed();
            }
        }
        state
    }

    /// S = 0, which predicts the mean.
    pub(super) fn collapsed(&self) -> Structure {
        Structure {
            directions: Mat::zeros(self.targets.ncols(), 0),
            singular: Vec::new(),
            projected: Mat::zeros(self.targets.nrows(), 0),
            objective: self.energy / self.rows(),
        }
    }

    /// S = I.
    pub(super) fn start(&self, penalties: &Penalties) -> Structure {
        let tasks = self.targets.ncols();
        self.structure(Mat::identity(tasks, tasks), vec![1.0; tasks], self.targets.clone(), penalties)
    }

    /// Completes a structure by its objective.
    pub(super) fn structure(
        &self,
        directions: Mat<f64>,
        singular: Vec<f64>,
        projected: Mat<f64>,
        penalties: &Penalties,
    ) -> Structure {
        let (ridge, mut loss, mut captured) = (penalties.latent * self.rows(), 0.0, 0.0);
        for (i, s) in singular.iter().enumerate() {
            let (square, column) = (s * s, projected.col_as_slice(i));
            captured += dot(column, column);
            loss += penalties.latent * resolvent_sums(column, &self.spectrum, square, ridge)[0];
            loss += penalties.trace * s + penalties.square * square;
        }
        let objective = loss + (self.energy - captured).max(0.0) / self.rows();
        Structure { directions, singular, projected, objective }
    }

    /// One sweep; a half that rounding makes useless is not taken.
    fn sweep(&self, state: Structure, penalties: &Penalties) -> Structure {
        let halves = [Self::structure_step, Self::fit_step];
        halves.into_iter().fold(state, |state, half| {
            let next = half(self, &state, penalties).and_then(|next| self.scale_step(next, penalties));
            match next {
                Some(next) if next.objective <= state.objective => next,
                _ => state,
            }
        })
    }

    /// κ: the slope of the penalties in s².
    fn pull(penalties: &Penalties, singular: f64) -> f64 {
        penalties.square + penalties.trace / (2.0 * singular)
    }

    /// Column i of W with each entry times `factor(s, d, 1/(s²d + λN))`.
    fn weighted(&self, state: &Structure, penalties: &Penalties, factor: impl Fn(f64, f64, f64) -> f64) -> Mat<f64> {
        let ridge = penalties.latent * self.rows();
        let mut out = state.projected.clone();
        for (i, &s) in state.singular.iter().enumerate() {
            let cells = out.col_as_slice_mut(i).iter_mut().zip(&self.spectrum);
            cells.for_each(|(w, &d)| *w *= factor(s, d, 1.0 / (s * s * d + ridge)));
        }
        out
    }

    /// Aᵀ in the rotated basis (N×r), the exact minimiser for this S.
    pub(super) fn latent(&self, state: &Structure, penalties: &Penalties) -> Mat<f64> {
        self.weighted(state, penalties, |s, _, inverse| s * inverse)
    }

    /// (SA)ᵀ in the rotated basis (N×C): what kernel values are multiplied by to predict.
    pub(super) fn coefficients(&self, state: &Structure, penalties: &Penalties) -> Mat<f64> {
        let mut latent = self.latent(state, penalties);
        scale_columns(&mut latent, |i| state.singular[i]);
        multiply(latent.as_ref(), state.directions.as_ref().transpose(), Threads::ONE)
    }

    /// S-step with A held, the trace norm by its quadratic bound.
    pub(super) fn structure_step(&self, state: &Structure, penalties: &Penalties) -> Option<Structure> {
        let rank = state.singular.len();
        let z = self.weighted(state, penalties, |s, d, inverse| s * d * inverse);
        let mut h = multiply(z.as_ref().transpose(), z.as_ref(), Threads::ONE);
        for (i, &s) in state.singular.iter().enumerate() {
            h[(i, i)] += self.rows() * Self::pull(penalties, s);
        }
        // Sᵀ = H⁻¹Pᵀ.
        let mut s = multiply(z.as_ref().transpose(), self.targets.as_ref(), Threads::ONE);
        let factor = Cholesky::new(h, Threads::ONE)?;
        factor.half_solve(s.as_mut());
        factor.half_solve_transposed(s.as_mut());
        // S = U diag(s) Vᵀ through SᵀS = V diag(s²) Vᵀ; V is dropped.
        let mut gram = Mat::zeros(rank, rank);
        product(gram.as_mut(), Accumulate::Replace, s.as_ref(), s.as_ref().transpose(), 1.0, Threads::ONE);
        let Spectral { values, vectors } = Spectral::new(gram)?;
        let mut directions = multiply(s.as_ref().transpose(), vectors.as_ref(), Threads::ONE);
        let mut singular = Vec::with_capacity(rank);
        for i in 0..rank {
            let column = directions.col_as_slice_mut(i);
            let length = dot(column, column).sqrt();
            singular.push(length);
            column.iter_mut().for_each(|v| *v /= length);
        }
        let kept: Vec<usize> = (0..rank).filter(|&i| values[i] > 0.0 && singular[i] > 0.0).collect();
        let directions = select_columns(directions.as_ref(), &kept);
        let singular = kept.iter().map(|&i| singular[i]).collect();
        let projected = multiply(self.targets.as_ref(), directions.as_ref(), Threads::ONE);
        Some(self.structure(directions, singular, projected, penalties))
    }

    /// Step with the fitted values held: B = κ^(−½) (λ κ^½ M κ^½)^½ κ^(−½), all in the basis U.
    pub(super) fn fit_step(&self, state: &Structure, penalties: &Penalties) -> Option<Structure> {
        let rank = state.singular.len();
        let pulls: Vec<f64> = state.singular.iter().map(|&s| Self::pull(penalties, s).sqrt()).collect();
        let root = penalties.latent.sqrt();
        let mut f = self.weighted(state, penalties, |s, d, inverse| root * s * s * d.sqrt() * inverse);
        scale_columns(&mut f, |i| pulls[i]);
        let gram = multiply(f.as_ref().transpose(), f.as_ref(), Threads::ONE);
        let Spectral { values, vectors } = Spectral::new(gram)?;
        // B = XXᵀ with X = κ^(−½) E diag(m^¼).
        let quarter: Vec<f64> = values.iter().map(|m| m.sqrt().sqrt()).collect();
        let x = Mat::from_fn(rank, rank, |i, k| vectors[(i, k)] * quarter[k] / pulls[i]);
        let square = multiply(x.as_ref(), x.as_ref().transpose(), Threads::ONE);
        let Spectral { values, vectors } = Spectral::new(square)?;
        let kept: Vec<usize> = (0..rank).filter(|&i| values[i] > 0.0).collect();
        let vectors = select_columns(vectors.as_ref(), &kept);
        let directions = multiply(state.directions.as_ref(), vectors.as_ref(), Threads::ONE);
        let projected = multiply(state.projected.as_ref(), vectors.as_ref(), Threads::ONE);
        let singular = kept.iter().map(|&i| values[i].sqrt()).collect();
        Some(self.structure(directions, singular, projected, penalties))
    }

    /// Moves each singular value to its own minimum, by no more than a factor of ten downwards, so that a direction
    /// can still turn before it dies; drops those that are small already, shrink, and are not worth their penalty.
    pub(super) fn scale_step(&self, mut state: Structure, penalties: &Penalties) -> Option<Structure> {
        const SMALL: f64 = 1e-3;
        let lines: Vec<Line<'_>> = (0..state.singular.len()).map(|i| self.line(&state, i, penalties)).collect();
        let squares: Vec<f64> = lines.iter().map(|line| line.step()).collect();
        let largest = squares.iter().copied().fold(0.0, f64::max);
        let useless = |i: usize| {
            squares[i] < SMALL * SMALL * largest && squares[i] < lines[i].square && lines[i].better_at_zero(squares[i])
        };
        let kept: Vec<usize> = (0..squares.len()).filter(|&i| squares[i] > 0.0 && !useless(i)).collect();
        let singular: Vec<f64> = kept.iter().map(|&i| squares[i].sqrt()).collect();
        if singular.iter().any(|s| !s.is_finite()) {
            return None;
        }
        if kept.len() < squares.len() {
            state.directions = select_columns(state.directions.as_ref(), &kept);
            state.projected = select_columns(state.projected.as_ref(), &kept);
        }
        Some(self.structure(state.directions, singular, state.projected, penalties))
    }

    fn line<'a>(&'a self, state: &'a Structure, i: usize, penalties: &Penalties) -> Line<'a> {
        let singular = state.singular[i];
        Line {
            projected: state.projected.col_as_slice(i),
            spectrum: &self.spectrum,
            latent: penalties.latent,
            ridge: penalties.latent * self.rows(),
            trace: penalties.trace,
            penalty: penalties.square,
            pull: Self::pull(penalties, singular),
            square: singular * singular,
        }
    }

    /// Without the directions whose removal lowers J.
    fn without_useless(&self, state: Structure, penalties: &Penalties) -> Structure {
        let kept: Vec<usize> = (0..state.singular.len())
            .filter(|&i| {
                let line = self.line(&state, i, penalties);
                !line.better_at_zero(line.square)
            })
            .collect();
        if kept.len() == state.singular.len() {
            return state;
        }
        let directions = select_columns(state.directions.as_ref(), &kept);
        let projected = select_columns(state.projected.as_ref(), &kept);
        self.structure(directions, kept.iter().map(|&i| state.singular[i]).collect(), projected, penalties)
    }

    /// Whether every S of at most this size is worse than S = 0: J(S) − J(0) ≥ β‖S‖_* − (slope/λ − γ)‖S‖².
    fn dominated(&self, state: &Structure, penalties: &Penalties) -> bool {
        let largest = state.singular.iter().copied().fold(0.0, f64::max);
        largest * (self.slope / penalties.latent - penalties.square) <= penalties.trace
    }
}

/// J along the square u of one singular value.
struct Line<'a> {
    projected: &'a [f64],
    spectrum: &'a [f64],
    latent: f64,
    ridge: f64,
    trace: f64,
    penalty: f64,
    /// κ at the present u.
    pull: f64,
    /// The present u.
    square: f64,
}

impl Line<'_> {
    /// λ Σ w²/(ud + λN), q which is minus its slope, and the slope of q.
    fn data(&self, u: f64) -> [f64; 3] {
        let [value, q, slope] = resolvent_sums(self.projected, self.spectrum, u, self.ridge);
        [self.latent * value, self.latent * q, -2.0 * self.latent * slope]
    }

    /// Newton's step from u for q(u)^(−½) = κ^(−½). It never ends beyond the root.
    fn newton(&self, u: f64, q: f64, slope: f64) -> f64 {
        let root = q.sqrt();
        u + (1.0 / self.pull.sqrt() - 1.0 / root) * -2.0 * q * root / slope
    }

    /// A better u: towards the root of q(u) = κ, kept only if the bounded objective does not rise.
    fn step(&self) -> f64 {
        let [value, q, slope] = self.data(self.square);
        let mut u = self.newton(self.square, q, slope);
        let least = 0.01 * self.square;
        if u.is_nan() || u < least {
            let [_, q, slope] = self.data(least);
            // The root lies above `least` where q still exceeds κ there.
            u = if q > self.pull { self.newton(least, q, slope) } else { least };
        }
        let after = self.data(u)[0];
        if after + self.pull * u <= value + self.pull * self.square { u } else { self.square }
    }

    /// Whether u = 0 has the smaller objective.
    fn better_at_zero(&self, u: f64) -> bool {
        self.data(0.0)[0] <= self.data(u)[0] + self.trace * u.sqrt() + self.penalty * u
    }
}

/// Σ w² r, Σ w² d r² and Σ w² d² r³ with r = 1/(ud + ridge). Running sums that do not wait for each other let the
/// processor divide in parallel; their number is fixed, so the bits are too.
fn resolvent_sums(projected: &[f64], spectrum: &[f64], u: f64, ridge: f64) -> [f64; 3] {
    const LANES: usize = 8;
    let mut sums = [[0.0; LANES]; 3];
    let mut add = |lane: usize, w: f64, d: f64| {
        let inverse = 1.0 / (u * d + ridge);
        let (value, ratio) = (w * w * inverse, d * inverse);
        sums[0][lane] += value;
        sums[1][lane] += value * ratio;
        sums[2][lane] += value * ratio * ratio;
    };
    let ((w_blocks, w_rest), (d_blocks, d_rest)) = (projected.as_chunks::<LANES>(), spectrum.as_chunks::<LANES>());
    for (w, d) in w_blocks.iter().zip(d_blocks) {
        for lane in 0..LANES {
            add(lane, w[lane], d[lane]);
        }
    }
    for (lane, (w, d)) in w_rest.iter().zip(d_rest).enumerate() {
        add(lane, *w, *d);
    }
    sums.map(|lanes| lanes.iter().sum())
}
