//! The feature matrix of the moment, and how it answers to bandwidth and input scales (equations 1 and 10).

use crate::fourier::{Basis, Scales, cosines};
use crate::linalg::{Accumulate, Mat, Threads, dot, map_columns, product, scale_rows, select_columns};
use crate::problem::{Group, Problem};
use crate::settings::LinkScale;
use std::borrow::Cow;
use std::f64::consts::FRAC_PI_2;
use std::ops::Range;

/// Features at the current bandwidth and input scales. Memory: two N×M matrices, Φ and the angles it came from.
pub(crate) struct Design {
    pub(crate) basis: Basis,
    pub(crate) scales: Scales,
    /// P, so that the angles are √γ P + p: a change of γ alone needs no matrix product.
    projection: Mat<f64>,
    /// Φ, rows multiplied by the root weights.
    pub(crate) features: Mat<f64>,
    /// Columns before any pruning.
    pub(crate) drawn: usize,
    /// What links are multiplied by besides the factor of the basis: √D, where they are not to be scaled.
    link_factor: f64,
    pub(crate) threads: Threads,
}

/// What the bound is differentiated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sensitivity {
    /// Nothing.
    None,
    /// ln γ: one number.
    Bandwidth,
    /// ln r_d: one number per input. Their sum is the derivative by ln γ.
    InputScales,
}

impl Sensitivity {
    pub(crate) fn len(self, inputs: usize) -> usize {
        match self {
            Sensitivity::None => 0,
            Sensitivity::Bandwidth => 1,
            Sensitivity::InputScales => inputs,
        }
    }
}

/// The rows of a design that one group of tasks has observed.
pub(crate) struct View<'a> {
    design: &'a Design,
    inputs: Cow<'a, Mat<f64>>,
    projection: Cow<'a, Mat<f64>>,
    pub(crate) features: Cow<'a, Mat<f64>>,
    root: &'a [f64],
}

impl Design {
    pub(crate) fn new(problem: &Problem, basis: Basis, scales: Scales, links: LinkScale, threads: Threads) -> Self {
        let rows = problem.inputs.nrows();
        let mut projection = Mat::zeros(rows, basis.cosines());
        basis.project(&mut projection, problem.inputs.as_ref().as_ref(), &scales.input_scales, threads);
        let features = Mat::zeros(rows, basis.columns());
        let drawn = basis.columns();
        let link_factor = match links {
            LinkScale::Shared => 1.0,
            LinkScale::Unit => 1.0 / basis.link_factor(),
        };
        let mut design = Design { basis, scales, projection, features, drawn, link_factor, threads };
        design.fill(problem);
        design
    }

    /// Forgets what only a change of the scales would need.
    pub(crate) fn freeze(&mut self) {
        self.projection = Mat::zeros(0, self.basis.cosines());
    }

    /// Takes new scales and recomputes the features.
    pub(crate) fn rescale(&mut self, problem: &Problem, scales: Scales) {
        if scales.input_scales != self.scales.input_scales {
            let inputs = problem.inputs.as_ref().as_ref();
            self.basis.project(&mut self.projection, inputs, &scales.input_scales, self.threads);
        }
        self.scales = scales;
        self.fill(problem);
    }

    fn fill(&mut self, problem: &Problem) {
        for m in 0..self.projection.ncols() {
            self.features.col_as_slice_mut(m).copy_from_slice(self.projection.col_as_slice(m));
        }
        self.basis.lift(&mut self.features, problem.inputs.as_ref().as_ref(), self.scales.bandwidth, self.threads);
        if self.link_factor != 1.0 {
            for m in self.basis.cosines()..self.basis.columns() {
                self.features.col_as_slice_mut(m).iter_mut().for_each(|cell| *cell *= self.link_factor);
            }
        }
        if problem.root.iter().any(|&u| u != 1.0) {
            scale_rows(&mut self.features, &problem.root);
        }
    }

    /// Keeps the named columns (rising) and forgets the others for good.
    pub(crate) fn keep(&mut self, columns: &[usize]) {
        let cosines = self.basis.cosines();
        let waves = &columns[..columns.partition_point(|&c| c < cosines)];
        self.projection = select_columns(self.projection.as_ref(), waves);
        self.features = select_columns(self.features.as_ref(), columns);
        self.basis.keep(columns);
    }

    pub(crate) fn columns(&self) -> usize {
        self.features.ncols()
    }

    /// Precisions of weights of these features as precisions of weights of the basis: one of s·φ with precision α is one
    /// of φ with precision α/s².
    pub(crate) fn of_basis(&self, mut alpha: Vec<f64>) -> Vec<f64> {
        alpha[self.basis.cosines()..].iter_mut().for_each(|alpha| *alpha /= self.link_factor.powi(2));
        alpha
    }

    /// All rows.
    pub(crate) fn view<'a>(&'a self, problem: &'a Problem) -> View<'a> {
        View {
            design: self,
            inputs: Cow::Borrowed(&problem.inputs),
            projection: Cow::Borrowed(&self.projection),
            features: Cow::Borrowed(&self.features),
            root: &problem.root,
        }
    }

    /// A group's rows; what only derivatives need is left out unless they are asked for.
    pub(crate) fn group_view<'a>(
        &'a self,
        problem: &'a Problem,
        group: &'a Group,
        sensitivity: Sensitivity,
    ) -> View<'a> {
        let only_for = |needed: bool, table: &'a Mat<f64>| match needed {
            true => group.rows_of(table),
            false => Cow::Owned(Mat::new()),
        };
        View {
            design: self,
            inputs: only_for(sensitivity == Sensitivity::InputScales, &problem.inputs),
            projection: only_for(sensitivity != Sensitivity::None, &self.projection),
            features: group.rows_of(&self.features),
            root: &group.root,
        }
    }
}

impl View<'_> {
    /// Number of cosine columns: the ones that answer to bandwidth and input scales.
    pub(crate) fn cosines(&self) -> usize {
        self.design.basis.cosines()
    }

    /// The chain rule from features to scales, equation 10: given G = ∂L/∂Φ for a block of rows and cosine columns,
    /// adds the block's share of ∂L/∂ln γ or ∂L/∂ln r to `total`. The block is overwritten by ∂L/∂A.
    pub(crate) fn pull_back(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        block: &mut Mat<f64>,
        sensitivity: Sensitivity,
        total: &mut [f64],
    ) {
        let Design { basis, scales, threads, .. } = self.design;
        let slope = scales.bandwidth.sqrt();
        let root = &self.root[rows.clone()];
        // ∂L/∂A = −√(2/M) G ∘ u sin A, and sin a = cos(a − π/2).
        let one_column = |m: usize, g: &mut [f64]| {
            let angles = &self.projection.col_as_slice(m)[rows.clone()];
            let mut sines = angles.to_vec();
            cosines(&mut sines, slope, basis.offsets[m] - FRAC_PI_2, -basis.amplitude);
            g.iter_mut().zip(&sines).zip(root).for_each(|((g, sine), u)| *g *= sine * u);
            dot(g, angles)
        };
        let along = map_columns(block, *threads, |j, g| one_column(columns.start + j, g));
        match sensitivity {
            Sensitivity::None => {}
            // A − p = √γ P, and ∂A/∂ln γ = (A − p)/2.
            Sensitivity::Bandwidth => total[0] += 0.5 * slope * along.iter().sum::<f64>(),
            Sensitivity::InputScales => {
                let mut pulled = Mat::zeros(basis.inputs(), columns.len());
                product(
                    pulled.as_mut(),
                    Accumulate::Replace,
                    self.inputs.as_ref().as_ref().subrows(rows.start, rows.len()).transpose(),
                    block.as_ref(),
                    1.0,
                    *threads,
                );
                for (d, total) in total.iter_mut().enumerate() {
                    let omega = |m: usize| basis.directions[(d, m)];
                    let sum: f64 = columns.clone().map(|m| omega(m) * pulled[(d, m - columns.start)]).sum();
                    *total += 0.5 * scales.factor(d) * sum;
                }
            }
        }
    }
}
