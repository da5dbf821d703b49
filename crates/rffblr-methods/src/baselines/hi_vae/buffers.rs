//! What one evaluation reads and writes, allocated once for a number of rows. Tables are slices by columns.

use super::model::Sizes;
use rand::Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rffblr::linalg::{Mat, MatRef};
use serde::{Deserialize, Serialize};

/// Least variance the encoder scales by; also added to every variance there.
const LEAST_ENCODER_VARIANCE: f64 = 1e-6;
/// Least variance the decoder scales by.
const LEAST_DECODER_VARIANCE: f64 = 1e-3;

/// A slice by columns as a matrix.
pub(super) fn columns(cells: &[f64], rows: usize) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(cells, rows, cells.len() / rows)
}

/// What is random in one evaluation of the bound.
pub(super) struct Draw {
    /// B×S waiting times: g = −ln of an exponential variable is a Gumbel variable.
    pub(super) waits: Vec<f64>,
    /// B×Z: ε.
    pub(super) normals: Vec<f64>,
}

impl Draw {
    pub(super) fn new(sizes: &Sizes, rows: usize) -> Self {
        Draw { waits: vec![1.0; rows * sizes.components], normals: vec![0.0; rows * sizes.factors] }
    }

    /// Fresh numbers.
    pub(super) fn renew(&mut self, rng: &mut impl Rng) {
        for cell in &mut self.waits {
            let wait: f64 = Exp1.sample(rng);
            // It is divided by.
            *cell = wait.max(f64::MIN_POSITIVE);
        }
        self.normals.iter_mut().for_each(|cell| *cell = StandardNormal.sample(rng));
    }
}

/// Mean and variance of the observed cells of each variable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Statistics {
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl Statistics {
    fn new(variables: usize) -> Self {
        Statistics { mean: vec![0.0; variables], variance: vec![1.0; variables] }
    }

    /// Measures a table by columns. A variable that nobody observed in it gets mean zero and variance one, which it has
    /// in the whole, standardised table.
    fn measure(&mut self, table: &[f64], rows: usize) {
        let both = self.mean.iter_mut().zip(&mut self.variance);
        for ((mean, variance), column) in both.zip(table.chunks_exact(rows)) {
            let observed = || column.iter().filter(|cell| !cell.is_nan());
            let count = observed().count() as f64;
            (*mean, *variance) = (0.0, 1.0);
            if count > 0.0 {
                *mean = observed().sum::<f64>() / count;
                *variance = observed().map(|x| (x - *mean).powi(2)).sum::<f64>() / count;
                *variance = variance.max(LEAST_ENCODER_VARIANCE);
            }
        }
    }

    /// x̂ of a table by columns.
    fn normalise(&self, table: &[f64], rows: usize, out: &mut [f64]) {
        let statistics = self.mean.iter().zip(&self.variance);
        for ((out, column), (mean, variance)) in
            out.chunks_exact_mut(rows).zip(table.chunks_exact(rows)).zip(statistics)
        {
            let scale = 1.0 / (variance + LEAST_ENCODER_VARIANCE).sqrt();
            let cells = out.iter_mut().zip(column);
            cells.for_each(|(out, x)| *out = if x.is_nan() { 0.0 } else { (x - mean) * scale });
        }
    }

    /// μ and s̄.
    pub(super) fn decoder(&self, variable: usize) -> (f64, f64) {
        (self.mean[variable], self.variance[variable].max(LEAST_DECODER_VARIANCE))
    }
}

/// Everything an evaluation for B rows touches.
pub(super) struct Buffers {
    /// B×V: the rows themselves, NaN where not observed, and x̂.
    pub(super) table: Vec<f64>,
    pub(super) normalised: Vec<f64>,
    pub(super) statistics: Statistics,
    /// B×(S + 2Z): what is linear in x̂; then its gradient.
    pub(super) row_part: Vec<f64>,
    /// B×(3Z + 2V): what is linear in s, completed to m, ln v, m_p, h and the argument of softplus; then its gradient.
    pub(super) component_part: Vec<f64>,
    /// B×S: π and s, and the gradients of ln π (then π) and s.
    pub(super) shares: Vec<f64>,
    pub(super) components: Vec<f64>,
    pub(super) share_slopes: Vec<f64>,
    pub(super) component_slopes: Vec<f64>,
    /// B×Z: z, √v, and the gradient of z.
    pub(super) factors: Vec<f64>,
    pub(super) deviations: Vec<f64>,
    pub(super) factor_slopes: Vec<f64>,
    /// Z×V and V: a and c, and the gradient of a.
    pub(super) loadings: Vec<f64>,
    pub(super) offsets: Vec<f64>,
    pub(super) loading_slopes: Vec<f64>,
    /// B: a number for each row.
    pub(super) per_row: Vec<f64>,
    pub(super) gradient: Vec<f64>,
}

impl Buffers {
    pub(super) fn new(sizes: &Sizes, rows: usize) -> Self {
        let by_rows = |columns: usize| vec![0.0; rows * columns];
        Buffers {
            table: by_rows(sizes.variables),
            normalised: by_rows(sizes.variables),
            statistics: Statistics::new(sizes.variables),
            row_part: by_rows(sizes.row_columns()),
            component_part: by_rows(sizes.component_columns()),
            shares: by_rows(sizes.components),
            components: by_rows(sizes.components),
            share_slopes: by_rows(sizes.components),
            component_slopes: by_rows(sizes.components),
            factors: by_rows(sizes.factors),
            deviations: by_rows(sizes.factors),
            factor_slopes: by_rows(sizes.factors),
            loadings: vec![0.0; sizes.factors * sizes.variables],
            offsets: vec![0.0; sizes.variables],
            loading_slopes: vec![0.0; sizes.factors * sizes.variables],
            per_row: by_rows(1),
            gradient: vec![0.0; sizes.parameters()],
        }
    }

    /// Number of rows B.
    pub(super) fn rows(&self) -> usize {
        self.per_row.len()
    }

    /// Takes all rows of a table in, normalised by their own statistics.
    pub(super) fn load(&mut self, table: &Mat<f64>) {
        let all: Vec<usize> = (0..table.nrows()).collect();
        self.load_rows(table, &all);
    }

    /// The same with some rows, as many as there is room for.
    pub(super) fn load_rows(&mut self, table: &Mat<f64>, rows: &[usize]) {
        self.copy(table, rows);
        self.statistics.measure(&self.table, rows.len());
        self.statistics.normalise(&self.table, rows.len(), &mut self.normalised);
    }

    /// Takes all rows of a table in, normalised by given statistics.
    pub(super) fn load_by(&mut self, table: &Mat<f64>, statistics: &Statistics) {
        let all: Vec<usize> = (0..table.nrows()).collect();
        self.copy(table, &all);
        self.statistics.clone_from(statistics);
        self.statistics.normalise(&self.table, all.len(), &mut self.normalised);
    }

    fn copy(&mut self, table: &Mat<f64>, rows: &[usize]) {
        for (column, cells) in self.table.chunks_exact_mut(rows.len()).enumerate() {
            let source = table.col_as_slice(column);
            cells.iter_mut().zip(rows).for_each(|(cell, &row)| *cell = source[row]);
        }
    }
}
