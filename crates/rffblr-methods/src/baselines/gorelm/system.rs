//! What every (λ, α) of one training set shares: the hidden layer's output H, decomposed, and the targets T.

use rffblr::internals::{Accumulate, Spectral, multiply, outer, scale_columns, scale_rows, select_columns};
use rffblr::linalg::{Mat, Threads};

/// H = P diag(√d) Wᵀ, T, and the multipliers at which all weights are zero.
pub(super) struct System {
    /// d, positive.
    pub(super) squares: Vec<f64>,
    /// P, N×rank.
    pub(super) rows: Mat<f64>,
    /// Ĥ = PᵀH, rank×L.
    pub(super) hidden: Mat<f64>,
    /// Ĥᵀ once more, so that products with it need not turn it round every time.
    pub(super) across: Mat<f64>,
    /// T, N×C, zero where not observed.
    pub(super) targets: Mat<f64>,
    /// One where a target is observed, else zero.
    pub(super) observed: Mat<f64>,
    /// s_n, what the error of a row counts.
    pub(super) row_weights: Vec<f64>,
    /// PᵀT.
    pub(super) rotated_targets: Mat<f64>,
    /// ‖T‖².
    pub(super) target_square: f64,
    /// S: rows of T cut or stretched to length s_n (zero stays zero). −S is the loss's gradient where HB = 0.
    pub(super) directions: Mat<f64>,
    /// PᵀS.
    pub(super) rotated_directions: Mat<f64>,
    /// HᵀS.
    pub(super) pulled: Mat<f64>,
    /// ĤHᵀS = d PᵀS.
    pub(super) rotated_pulled: Mat<f64>,
}

impl System {
    /// NaN targets are missing: their cells add nothing to the length of a row's error.
    pub(super) fn new(hidden: &Mat<f64>, targets: &Mat<f64>, row_weights: Vec<f64>, threads: Threads) -> Self {
        let (squares, rows, rotated) = decompose(hidden, threads);
        let observed = Mat::from_fn(targets.nrows(), targets.ncols(), |n, c| f64::from(!targets[(n, c)].is_nan()));
        let targets = Mat::from_fn(targets.nrows(), targets.ncols(), |n, c| {
            if targets[(n, c)].is_nan() { 0.0 } else { targets[(n, c)] }
        });
        let length = |n: usize| (0..targets.ncols()).map(|c| targets[(n, c)].powi(2)).sum::<f64>().sqrt();
        let lengths: Vec<f64> = (0..targets.nrows()).map(length).collect();
        let directions = Mat::from_fn(targets.nrows(), targets.ncols(), |n, c| {
            if lengths[n] > 0.0 { row_weights[n] * (targets[(n, c)] / lengths[n]) } else { 0.0 }
        });
        let rotate = |table: &Mat<f64>| multiply(rows.as_ref().transpose(), table.as_ref(), threads);
        let rotated_directions = rotate(&directions);
        let mut rotated_pulled = rotated_directions.clone();
        scale_rows(&mut rotated_pulled, &squares);
        System {
            rotated_targets: rotate(&targets),
            target_square: lengths.iter().map(|l| l * l).sum(),
            pulled: multiply(rotated.as_ref().transpose(), rotated_directions.as_ref(), threads),
            rotated_directions,
            rotated_pulled,
            directions,
            squares,
            rows,
            across: rotated.transpose().to_owned(),
            hidden: rotated,
            targets,
            observed,
            row_weights,
        }
    }

    /// Number of tasks C.
    pub(super) fn tasks(&self) -> usize {
        self.targets.ncols()
    }

    /// max_j ‖(HᵀS)_j‖. If λα is at least this, all weights are zero: −S and HᵀS are multipliers that prove it.
    pub(super) fn null_from(&self) -> f64 {
        let square = |j: usize| (0..self.tasks()).map(|c| self.pulled[(j, c)].powi(2)).sum::<f64>();
        (0..self.pulled.nrows()).map(square).fold(0.0, f64::max).sqrt()
    }
}

/// d, P and PᵀH from the eigenvectors of the smaller of HHᵀ and HᵀH, without the directions that are null to rounding.
fn decompose(hidden: &Mat<f64>, threads: Threads) -> (Vec<f64>, Mat<f64>, Mat<f64>) {
    let wide = hidden.nrows() <= hidden.ncols();
    let short = if wide { hidden.as_ref() } else { hidden.as_ref().transpose() };
    let size = short.nrows();
    let mut gram = Mat::zeros(size, size);
    outer(gram.as_mut(), Accumulate::Replace, short, threads);
    let Spectral { values, vectors } =
        Spectral::new(gram).unwrap_or(Spectral { values: vec![0.0; size], vectors: Mat::zeros(size, size) });
    let cutoff = values.iter().copied().fold(0.0, f64::max) * f64::EPSILON * size as f64;
    let kept: Vec<usize> = (0..size).filter(|&i| values[i] > cutoff).collect();
    let squares: Vec<f64> = kept.iter().map(|&i| values[i]).collect();
    let vectors = select_columns(vectors.as_ref(), &kept);
    if wide {
        let rotated = multiply(vectors.as_ref().transpose(), hidden.as_ref(), threads);
        return (squares, vectors, rotated);
    }
    let mut rows = multiply(hidden.as_ref(), vectors.as_ref(), threads);
    scale_columns(&mut rows, |i| 1.0 / squares[i].sqrt());
    let mut rotated = vectors.transpose().to_owned();
    scale_rows(&mut rotated, &squares.iter().map(|d| d.sqrt()).collect::<Vec<_>>());
    (squares, rows, rotated)
}
