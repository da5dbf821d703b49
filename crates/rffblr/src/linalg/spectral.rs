//! Eigenvectors and orthonormal columns.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder;
use faer::linalg::qr::no_pivoting as qr;
use faer::{Mat, Par};

/// Eigenvalues (ascending, never negative) and orthonormal eigenvectors of a positive semidefinite matrix given by
/// its lower triangle. `None` if the iteration does not converge, which finite input does not cause.
pub struct Spectral {
    /// Eigenvalues.
    pub values: Vec<f64>,
    /// Eigenvectors, in the same order.
    pub vectors: Mat<f64>,
}

impl Spectral {
    /// Of the matrix with this lower triangle.
    pub fn new(s: Mat<f64>) -> Option<Self> {
        let n = s.nrows();
        if n == 0 {
            // faer subtracts one from the size.
            return Some(Spectral { values: Vec::new(), vectors: s });
        }
        // Sequential: faer's parallel tridiagonalisation has other bits for other numbers of threads.
        let par = Par::Seq;
        let mut values = faer::Col::zeros(n);
        let mut vectors = Mat::zeros(n, n);
        let scratch = faer::linalg::evd::self_adjoint_evd_scratch::<f64>(
            n,
            faer::linalg::evd::ComputeEigenvectors::Yes,
            par,
            Default::default(),
        );
        faer::linalg::evd::self_adjoint_evd(
            s.as_ref(),
            values.as_mut().as_diagonal_mut(),
            Some(vectors.as_mut()),
            par,
            MemStack::new(&mut MemBuffer::new(scratch)),
            Default::default(),
        )
        .ok()?;
        let values = values.iter().map(|v: &f64| v.max(0.0)).collect();
        Some(Spectral { values, vectors })
    }
}

/// Orthonormal columns spanning the columns of `a`, which must be at least as tall as wide: column k is the k-th
/// column of `a` made orthogonal to the earlier ones. Null columns at the end are completed to an orthonormal set.
/// Sequential: faer's parallel Householder reduction has other bits for other numbers of threads.
pub fn orthonormal(mut a: Mat<f64>) -> Mat<f64> {
    let (rows, columns) = (a.nrows(), a.ncols());
    let par = Par::Seq;
    let block = qr::factor::recommended_block_size::<f64>(rows, columns);
    let mut coefficients = Mat::zeros(block, columns);
    let scratch = qr::factor::qr_in_place_scratch::<f64>(rows, columns, block, par, Default::default())
        .or(householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(rows, block, columns));
    let mut memory = MemBuffer::new(scratch);
    qr::factor::qr_in_place(a.as_mut(), coefficients.as_mut(), par, MemStack::new(&mut memory), Default::default());
    let mut q = Mat::identity(rows, columns);
    householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        a.as_ref(),
        coefficients.as_ref(),
        faer::Conj::No,
        q.as_mut(),
        par,
        MemStack::new(&mut memory),
    );
    q
}
