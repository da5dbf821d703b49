//! The mixture of linear-Gaussian factor models: its parameters, the gradient of its bound for one batch, and imputation.
//!
//! V variables of a row, x with NaN where not observed; S components, Z factors, Y numbers between factors and each
//! variable. In a batch of B rows, with mean μ and variance s² of the observed cells of each variable:
//!
//! ```text
//! x̂ = (x − μ)/√(s² + 10⁻⁶), 0 where not observed          s² ≥ 10⁻⁶
//! encoder    π = softmax(x̂ W_s + b_s),  s = softmax((ln π + g)/t)          g Gumbel, t temperature
//!            m = [x̂, s] W_m + b_m,  ln v = [x̂, s] W_v + b_v,  z = m + √v ε
//! decoder    p(z|s) = N(s W_p + b_p, I)
//!            y_j = z W_yj + b_yj,  h_j = [y_j, s] d_j,  k_j = softplus(s u_j)
//!            x_j ~ N(√s̄_j h_j + μ_j, s̄_j k_j)                              s̄ = max(s², 10⁻³)
//! bound      Σ_observed ln N(x) + Z/2 − ½ Σ(v + (m_p − m)² − ln v) − Σ p ln p − ln S,   p ∝ π clipped
//! ```
//!
//! Nothing between z and h bends, so h_j = z a_j + c_j + s d_sj with a_j = W_yj d_yj and c_j = b_yj·d_yj: the V·Y numbers
//! of y are never formed, and the gradient goes back through a and c: ∂W_yj = ∂a_j d_yjᵀ, ∂b_yj = ∂c_j d_yj,
//! ∂d_yj = W_yjᵀ ∂a_j + b_yj ∂c_j. Everything that is linear in x̂ is one product, everything linear in s another.

use super::buffers::{Buffers, Draw, columns};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rffblr::internals::{Accumulate, dot, product};
use rffblr::linalg::{MatMut, MatRef, Threads};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Standard deviation of the weights before training.
const START: f64 = 0.05;
/// Shares below this count as this where their logarithm is taken.
const SMALLEST_SHARE: f64 = 1e-6;
/// Largest logarithm of a variance of z, up or down.
const LOG_VARIANCE: f64 = 15.0;
/// Range of the decoder's variance relative to that of the batch.
const NOISE: (f64, f64) = (1e-3, 1e20);

/// Numbers of variables, components, factors, and numbers between factors and one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sizes {
    pub(super) variables: usize,
    pub(super) components: usize,
    pub(super) factors: usize,
    pub(super) between: usize,
}

impl Sizes {
    /// Columns of what is linear in x̂: logits of π, m, ln v.
    pub(super) fn row_columns(&self) -> usize {
        self.components + 2 * self.factors
    }

    /// Columns of what is linear in s: m, ln v, m_p, h, and the argument of softplus.
    pub(super) fn component_columns(&self) -> usize {
        3 * self.factors + 2 * self.variables
    }

    /// Lengths of the parts of the parameters, in the order of [`Part`].
    fn lengths(&self) -> [usize; 7] {
        [
            self.variables * self.row_columns(),
            self.row_columns(),
            self.components * self.component_columns(),
            self.factors,
            self.factors * self.between * self.variables,
            self.between * self.variables,
            self.between * self.variables,
        ]
    }

    pub(super) fn parameters(&self) -> usize {
        self.lengths().iter().sum()
    }

    /// Where a part lies in the parameters.
    pub(super) fn range(&self, part: Part) -> Range<usize> {
        let lengths = self.lengths();
        let start = lengths[..part as usize].iter().sum();
        start..start + lengths[part as usize]
    }
}

/// The parts of the parameters; all matrices by columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// V×(S + 2Z): [W_s, rows of W_m for x̂, rows of W_v for x̂].
    RowWeights,
    /// b_s, b_m, b_v.
    RowBiases,
    /// S×(3Z + 2V): [rows of W_m for s, rows of W_v for s, W_p, d_s, u].
    ComponentWeights,
    /// b_p.
    PriorBiases,
    /// Z×(V·Y): W_y, the Y columns of a variable together.
    FactorWeights,
    /// b_y, likewise.
    FactorBiases,
    /// Y×V: d_y.
    Mixing,
}

/// Sizes and parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Model {
    pub(super) sizes: Sizes,
    pub(super) parameters: Vec<f64>,
}

impl Model {
    /// Random weights, biases zero.
    pub(super) fn draw(sizes: Sizes, rng: &mut impl Rng) -> Self {
        let mut parameters = vec![0.0; sizes.parameters()];
        for part in [Part::RowWeights, Part::ComponentWeights, Part::FactorWeights, Part::Mixing] {
            for cell in &mut parameters[sizes.range(part)] {
                let normal: f64 = StandardNormal.sample(rng);
                *cell = START * normal;
            }
        }
        Model { sizes, parameters }
    }

    fn part(&self, part: Part) -> &[f64] {
        &self.parameters[self.sizes.range(part)]
    }

    fn row_weights(&self) -> MatRef<'_, f64> {
        columns(self.part(Part::RowWeights), self.sizes.variables)
    }

    fn component_weights(&self) -> MatRef<'_, f64> {
        columns(self.part(Part::ComponentWeights), self.sizes.components)
    }

    /// Everything up to the decoder's h and argument of softplus, for the rows in the buffers.
    pub(super) fn forward(&self, buffers: &mut Buffers, draw: &Draw, temperature: f64) {
        self.encode_shares(buffers);
        let cells = buffers.components.iter_mut().zip(&buffers.shares).zip(&draw.waits);
        cells.for_each(|((s, share), wait)| *s = (share.max(SMALLEST_SHARE) / wait).ln() / temperature);
        softmax(&mut buffers.components, &mut buffers.per_row);
        self.encode_factors(buffers);
        let cells = buffers.factors.iter_mut().zip(&buffers.deviations).zip(&draw.normals);
        cells.for_each(|((z, deviation), normal)| *z += deviation * normal);
        self.decode(buffers);
    }

    /// The same with the likeliest component and the mean of z: the best single guess.
    pub(super) fn forward_without_noise(&self, buffers: &mut Buffers) {
        self.encode_shares(buffers);
        let rows = buffers.rows();
        buffers.components.fill(0.0);
        for row in 0..rows {
            let shares = buffers.shares[row..].iter().step_by(rows);
            let likeliest = shares
                .enumerate()
                .fold((0, f64::NEG_INFINITY), |best, (k, share)| if *share > best.1 { (k, *share) } else { best });
            buffers.components[likeliest.0 * rows + row] = 1.0;
        }
        self.encode_factors(buffers);
        self.decode(buffers);
    }

    /// All that is linear in x̂, and π.
    fn encode_shares(&self, buffers: &mut Buffers) {
        let rows = buffers.rows();
        for (column, bias) in buffers.row_part.chunks_exact_mut(rows).zip(self.part(Part::RowBiases)) {
            column.fill(*bias);
        }
        let into = MatMut::from_column_major_slice_mut(&mut buffers.row_part, rows, self.sizes.row_columns());
        product(into, Accumulate::Add, columns(&buffers.normalised, rows), self.row_weights(), 1.0, Threads::ONE);
        let logits = &buffers.row_part[..buffers.shares.len()];
        buffers.shares.copy_from_slice(logits);
        softmax(&mut buffers.shares, &mut buffers.per_row);
    }

    /// All that is linear in s, then m (also as the start of z), ln v and √v.
    fn encode_factors(&self, buffers: &mut Buffers) {
        let rows = buffers.rows();
        let into =
            MatMut::from_column_major_slice_mut(&mut buffers.component_part, rows, self.sizes.component_columns());
        let components = columns(&buffers.components, rows);
        product(into, Accumulate::Replace, components, self.component_weights(), 1.0, Threads::ONE);
        let (from_row, size) = (&buffers.row_part[buffers.shares.len()..], buffers.factors.len());
        let (mean_and_variance, rest) = buffers.component_part.split_at_mut(2 * size);
        mean_and_variance.iter_mut().zip(from_row).for_each(|(cell, other)| *cell += other);
        let (mean, log_variance) = mean_and_variance.split_at_mut(size);
        buffers.factors.copy_from_slice(mean);
        for (cell, deviation) in log_variance.iter_mut().zip(&mut buffers.deviations) {
            *cell = cell.clamp(-LOG_VARIANCE, LOG_VARIANCE);
            *deviation = (0.5 * *cell).exp();
        }
        for (column, bias) in rest[..size].chunks_exact_mut(rows).zip(self.part(Part::PriorBiases)) {
            column.iter_mut().for_each(|cell| *cell += bias);
        }
    }

    /// a and c, and h of the z in the buffers.
    fn decode(&self, buffers: &mut Buffers) {
        let (rows, sizes) = (buffers.rows(), self.sizes);
        buffers.loadings.fill(0.0);
        let weights = self.part(Part::FactorWeights).chunks_exact(sizes.factors * sizes.between);
        let mixing = self.part(Part::Mixing).chunks_exact(sizes.between);
        let biases = self.part(Part::FactorBiases).chunks_exact(sizes.between);
        let loadings = buffers.loadings.chunks_exact_mut(sizes.factors).zip(&mut buffers.offsets);
        for (((loading, offset), weights), (mixing, biases)) in loadings.zip(weights).zip(mixing.zip(biases)) {
            for (weights, factor) in weights.chunks_exact(sizes.factors).zip(mixing) {
                loading.iter_mut().zip(weights).for_each(|(a, w)| *a += factor * w);
            }
            *offset = dot(biases, mixing);
        }
        let outputs = &mut buffers.component_part[3 * rows * sizes.factors..][..rows * sizes.variables];
        for (column, offset) in outputs.chunks_exact_mut(rows).zip(&buffers.offsets) {
            column.iter_mut().for_each(|h| *h += offset);
        }
        let into = MatMut::from_column_major_slice_mut(outputs, rows, sizes.variables);
        let loadings = columns(&buffers.loadings, sizes.factors);
        product(into, Accumulate::Add, columns(&buffers.factors, rows), loadings, 1.0, Threads::ONE);
    }

    /// The gradient of minus the bound at what [`forward`](Self::forward) left, which it overwrites. As in the published
    /// code, the KL of q(s) counts as a constant.
    pub(super) fn backward(&self, buffers: &mut Buffers, draw: &Draw, temperature: f64) {
        self.decoder_slopes(buffers);
        self.loading_slopes(buffers);
        factor_slopes(buffers, draw);
        self.component_slopes(buffers);
        logit_slopes(buffers, temperature);
        self.weight_slopes(buffers);
    }

    /// ∂h and the gradient of softplus's argument in place of h and that argument.
    fn decoder_slopes(&self, buffers: &mut Buffers) {
        let (rows, share) = (buffers.rows(), 1.0 / buffers.rows() as f64);
        let decoder = &mut buffers.component_part[3 * buffers.factors.len()..];
        let (h, raw) = decoder.split_at_mut(rows * self.sizes.variables);
        let both = h.chunks_exact_mut(rows).zip(raw.chunks_exact_mut(rows));
        for (variable, ((h, raw), x)) in both.zip(buffers.table.chunks_exact(rows)).enumerate() {
            let (mean, variance) = buffers.statistics.decoder(variable);
            let scale = 1.0 / variance.sqrt();
            for ((h, raw), x) in h.iter_mut().zip(raw).zip(x) {
                if x.is_nan() {
                    (*h, *raw) = (0.0, 0.0);
                    continue;
                }
                let (noise, slope) = clipped_softplus(*raw);
                let miss = ((x - mean) * scale - *h) / noise;
                *h = -share * miss;
                *raw = 0.5 * share * (1.0 / noise - miss * miss) * slope;
            }
        }
    }

    /// From ∂h: ∂z, and through a and c the gradients of W_y, b_y and d_y.
    fn loading_slopes(&self, buffers: &mut Buffers) {
        let (rows, sizes) = (buffers.rows(), self.sizes);
        let slopes = &buffers.component_part[3 * rows * sizes.factors..][..rows * sizes.variables];
        let from = columns(slopes, rows);
        let into = MatMut::from_column_major_slice_mut(&mut buffers.factor_slopes, rows, sizes.factors);
        let loadings = columns(&buffers.loadings, sizes.factors);
        product(into, Accumulate::Replace, from, loadings.transpose(), 1.0, Threads::ONE);
        let into = MatMut::from_column_major_slice_mut(&mut buffers.loading_slopes, sizes.factors, sizes.variables);
        product(into, Accumulate::Replace, columns(&buffers.factors, rows).transpose(), from, 1.0, Threads::ONE);
        let parts = buffers.gradient[sizes.range(Part::FactorWeights).start..]
            .split_at_mut(self.part(Part::FactorWeights).len());
        let (weight_slopes, rest) = parts;
        let (bias_slopes, mixing_slopes) = rest.split_at_mut(sizes.between * sizes.variables);
        for variable in 0..sizes.variables {
            let loading = &buffers.loading_slopes[variable * sizes.factors..][..sizes.factors];
            let offset: f64 = slopes[variable * rows..][..rows].iter().sum();
            for cell in variable * sizes.between..(variable + 1) * sizes.between {
                let place = cell * sizes.factors..(cell + 1) * sizes.factors;
                let (factor, bias) = (self.part(Part::Mixing)[cell], self.part(Part::FactorBiases)[cell]);
                weight_slopes[place.clone()].iter_mut().zip(loading).for_each(|(w, a)| *w = factor * a);
                bias_slopes[cell] = offset * factor;
                mixing_slopes[cell] = dot(&self.part(Part::FactorWeights)[place], loading) + bias * offset;
            }
        }
    }

    /// ∂s from everything linear in s.
    fn component_slopes(&self, buffers: &mut Buffers) {
        let rows = buffers.rows();
        let into = MatMut::from_column_major_slice_mut(&mut buffers.component_slopes, rows, self.sizes.components);
        let from = columns(&buffers.component_part, rows);
        product(into, Accumulate::Replace, from, self.component_weights().transpose(), 1.0, Threads::ONE);
    }

    /// The gradients of all weights of s and of x̂, and of the biases beside them.
    fn weight_slopes(&self, buffers: &mut Buffers) {
        let (rows, sizes) = (buffers.rows(), self.sizes);
        let size = buffers.factors.len();
        for (part, from, slopes) in [
            (Part::RowWeights, &buffers.normalised, &buffers.row_part),
            (Part::ComponentWeights, &buffers.components, &buffers.component_part),
        ] {
            let (from, slopes) = (columns(from, rows), columns(slopes, rows));
            let into = &mut buffers.gradient[sizes.range(part)];
            let into = MatMut::from_column_major_slice_mut(into, from.ncols(), slopes.ncols());
            product(into, Accumulate::Replace, from.transpose(), slopes, 1.0, Threads::ONE);
        }
        let prior = &buffers.component_part[2 * size..3 * size];
        for (part, slopes) in [(Part::RowBiases, &buffers.row_part[..]), (Part::PriorBiases, prior)] {
            for (slope, column) in buffers.gradient[sizes.range(part)].iter_mut().zip(slopes.chunks_exact(rows)) {
                *slope = column.iter().sum();
            }
        }
    }

    /// The bound at what [`forward`](Self::forward) left, mean over the rows.
    pub(super) fn bound(&self, buffers: &Buffers) -> f64 {
        let (rows, size) = (buffers.rows(), buffers.factors.len());
        let (encoder, decoder) = buffers.component_part.split_at(3 * size);
        let (h, raw) = decoder.split_at(rows * self.sizes.variables);
        let mut total = 0.0;
        let both = h.chunks_exact(rows).zip(raw.chunks_exact(rows));
        for (variable, ((h, raw), x)) in both.zip(buffers.table.chunks_exact(rows)).enumerate() {
            let (mean, variance) = buffers.statistics.decoder(variable);
            for ((h, raw), x) in h.iter().zip(raw).zip(x).filter(|(_, x)| !x.is_nan()) {
                let noise = clipped_softplus(*raw).0;
                let miss = (x - mean) / variance.sqrt() - h;
                total -= 0.5 * ((std::f64::consts::TAU * variance * noise).ln() + miss * miss / noise);
            }
        }
        for i in 0..size {
            let (mean, log_variance, prior) = (encoder[i], encoder[size + i], encoder[2 * size + i]);
            total -= 0.5 * (log_variance.exp() + (prior - mean).powi(2) - log_variance - 1.0);
        }
        for row in 0..rows {
            let clipped: Vec<f64> = buffers.shares[row..].iter().step_by(rows).map(|s| s.max(SMALLEST_SHARE)).collect();
            let whole: f64 = clipped.iter().sum();
            total -= clipped.iter().map(|s| s / whole * (s / whole).ln()).sum::<f64>() + (clipped.len() as f64).ln();
        }
        total / rows as f64
    }

    /// Expected value and variance of every cell, at what [`forward_without_noise`](Self::forward_without_noise) left.
    /// The variance is the decoder's plus that of z: s̄ (k + Σ a² v).
    pub(super) fn cell(&self, buffers: &Buffers, row: usize, variable: usize) -> (f64, f64) {
        let (rows, sizes) = (buffers.rows(), self.sizes);
        let at = |column: usize| buffers.component_part[column * rows + row];
        let (mean, variance) = buffers.statistics.decoder(variable);
        let noise = clipped_softplus(at(3 * sizes.factors + sizes.variables + variable)).0;
        let loading = &buffers.loadings[variable * sizes.factors..][..sizes.factors];
        let deviations = buffers.deviations[row..].iter().step_by(rows);
        let open: f64 = loading.iter().zip(deviations).map(|(a, deviation)| (a * deviation).powi(2)).sum();
        (mean + variance.sqrt() * at(3 * sizes.factors + variable), variance * (noise + open))
    }
}

/// ∂m, ∂ln v and ∂m_p in place of m, ln v and m_p.
fn factor_slopes(buffers: &mut Buffers, draw: &Draw) {
    let share = 1.0 / buffers.rows() as f64;
    let size = buffers.factors.len();
    let (mean, rest) = buffers.component_part.split_at_mut(size);
    let (log_variance, prior) = rest.split_at_mut(size);
    let known = buffers.deviations.iter().zip(&draw.normals).zip(&buffers.factor_slopes);
    let cells = mean.iter_mut().zip(log_variance).zip(prior);
    for (((mean, log_variance), prior), ((deviation, normal), slope)) in cells.zip(known) {
        let gap = share * (*prior - *mean);
        let free = log_variance.abs() < LOG_VARIANCE;
        let variance_slope = 0.5 * slope * normal * deviation + 0.5 * share * (deviation * deviation - 1.0);
        (*mean, *prior) = (slope - gap, gap);
        *log_variance = if free { variance_slope } else { 0.0 };
    }
}

/// From ∂s: the gradients of the logits, of m and of ln v into the row part.
fn logit_slopes(buffers: &mut Buffers, temperature: f64) {
    let rows = buffers.rows();
    let Buffers { component_slopes, components, share_slopes, shares, per_row, row_part, component_part, .. } = buffers;
    row_products(component_slopes, components, per_row);
    let columns = share_slopes.chunks_exact_mut(rows).zip(shares.chunks_exact(rows));
    let sources = component_slopes.chunks_exact(rows).zip(components.chunks_exact(rows));
    for ((slopes, shares), (component_slopes, components)) in columns.zip(sources) {
        let cells = slopes.iter_mut().zip(shares).zip(component_slopes.iter().zip(components)).zip(&*per_row);
        for (((slope, share), (component_slope, s)), mean) in cells {
            let total = s * (component_slope - mean) / temperature;
            *slope = if *share > SMALLEST_SHARE { total / share } else { 0.0 };
        }
    }
    row_products(share_slopes, shares, per_row);
    let (logits, rest) = row_part.split_at_mut(shares.len());
    let columns = share_slopes.chunks_exact(rows).zip(shares.chunks_exact(rows));
    for (logits, (slopes, shares)) in logits.chunks_exact_mut(rows).zip(columns) {
        let cells = logits.iter_mut().zip(slopes.iter().zip(shares)).zip(&*per_row);
        cells.for_each(|((logit, (slope, share)), mean)| *logit = share * (slope - mean));
    }
    rest.copy_from_slice(&component_part[..rest.len()]);
}

/// Σ_k a_nk b_nk for each row n of two tables by columns.
fn row_products(a: &[f64], b: &[f64], out: &mut [f64]) {
    let rows = out.len();
    out.fill(0.0);
    for (a, b) in a.chunks_exact(rows).zip(b.chunks_exact(rows)) {
        out.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
}

/// Softmax over each row of a table by columns.
fn softmax(table: &mut [f64], per_row: &mut [f64]) {
    let rows = per_row.len();
    per_row.fill(f64::NEG_INFINITY);
    for column in table.chunks_exact(rows) {
        per_row.iter_mut().zip(column).for_each(|(largest, cell)| *largest = largest.max(*cell));
    }
    for column in table.chunks_exact_mut(rows) {
        column.iter_mut().zip(&*per_row).for_each(|(cell, largest)| *cell = (*cell - largest).exp());
    }
    per_row.fill(0.0);
    for column in table.chunks_exact(rows) {
        per_row.iter_mut().zip(column).for_each(|(sum, cell)| *sum += cell);
    }
    per_row.iter_mut().for_each(|sum| *sum = 1.0 / *sum);
    for column in table.chunks_exact_mut(rows) {
        column.iter_mut().zip(&*per_row).for_each(|(cell, factor)| *cell *= factor);
    }
}

/// ln(1 + eˣ) held in [`NOISE`], and its derivative: zero where it is held.
fn clipped_softplus(x: f64) -> (f64, f64) {
    let small = (-x.abs()).exp();
    let value = x.max(0.0) + small.ln_1p();
    let sigmoid = if x >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
    let free = value > NOISE.0 && value < NOISE.1;
    (value.clamp(NOISE.0, NOISE.1), if free { sigmoid } else { 0.0 })
}
