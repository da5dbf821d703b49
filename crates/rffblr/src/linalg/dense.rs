//! Dense linear algebra: the only file that names faer's decompositions.
//!
//! Matrices are column-major `f64`; rows are samples. Symmetric results are stored in the LOWER triangle alone.

use crate::interrupt::go_on;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::qr::no_pivoting as qr;
use faer::linalg::{householder, matmul, triangular_inverse, triangular_solve};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, Par};
use rayon::prelude::*;
use std::cell::Cell;
use std::sync::OnceLock;

pub use faer::{Mat, MatMut, MatRef};

/// How many threads a computation may use. Results have the same bits for any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads(usize);

impl Threads {
    /// One thread: for work that is itself one of many parallel pieces.
    pub const ONE: Threads = Threads(1);

    /// The threads of the rayon pool this is called in, but never more than the machine has cores; one inside of [`alone`].
    pub fn current() -> Self {
        if ALONE.get() {
            return Threads::ONE;
        }
        // Asking the system takes longer than a small product.
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        Threads(rayon::current_num_threads().clamp(1, cores))
    }

    /// Threads pay off only above a few million multiplications; below, starting them costs more than they save.
    fn par(self, multiplications: f64) -> Par {
        const WORTH_SPLITTING: f64 = 1.5e7;
        if self.0 <= 1 || multiplications < WORTH_SPLITTING { Par::Seq } else { Par::rayon(self.0) }
    }
}

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs work on this thread without asking for a pool: to be had only for work too small to be split, which would otherwise
/// start the threads of the global one.
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _back = Back(ALONE.replace(true));
    work()
}

fn work(a: usize, b: usize, c: usize) -> f64 {
    a as f64 * b as f64 * c as f64
}

/// What a product does with the numbers already at its destination.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Accumulate {
    /// They go.
    Replace,
    /// The product is added to them.
    Add,
}

impl From<Accumulate> for Accum {
    fn from(mode: Accumulate) -> Accum {
        match mode {
            Accumulate::Replace => Accum::Replace,
            Accumulate::Add => Accum::Add,
        }
    }
}

/// Multiplications after which a long computation looks whether it is still wanted: some hundredths of a second.
const GLANCE: f64 = 5e8;

/// Columns of a long computation that are worked on at once, if each takes so many multiplications. It does not depend on
/// threads, nor on whether anyone can interrupt the work: bits would.
fn glance(columns: usize, each: f64) -> usize {
    const FEWEST: usize = 32;
    ((GLANCE / each.max(1.0)) as usize).clamp(FEWEST, columns.max(FEWEST))
}

/// `dst ← [dst +] factor · a b`.
pub fn product(
    mut dst: MatMut<'_, f64>,
    mode: Accumulate,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    factor: f64,
    threads: Threads,
) {
    let part = glance(b.ncols(), work(a.nrows(), a.ncols(), 1));
    for first in (0..b.ncols()).step_by(part) {
        go_on();
        let count = part.min(b.ncols() - first);
        let par = threads.par(work(a.nrows(), a.ncols(), count));
        let to = dst.rb_mut().subcols_mut(first, count);
        matmul::matmul(to, Accum::from(mode), a, b.subcols(first, count), factor, par);
    }
}

/// A new matrix `a b`.
pub fn multiply(a: MatRef<'_, f64>, b: MatRef<'_, f64>, threads: Threads) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    product(out.as_mut(), Accumulate::Replace, a, b, 1.0, threads);
    out
}

/// Lower triangle of `dst ← [dst +] a aᵀ`.
pub fn outer(dst: MatMut<'_, f64>, mode: Accumulate, a: MatRef<'_, f64>, threads: Threads) {
    go_on();
    let par = threads.par(work(a.nrows(), a.nrows(), a.ncols()) / 2.0);
    triangular::matmul(
        dst,
        BlockStructure::TriangularLower,
        Accum::from(mode),
        a,
        BlockStructure::Rectangular,
        a.transpose(),
        BlockStructure::Rectangular,
        1.0,
        par,
    );
}

/// Copies the lower triangle into the upper one.
pub fn fill_upper(mut s: MatMut<'_, f64>) {
    for col in 1..s.ncols() {
        go_on();
        for row in 0..col {
            s[(row, col)] = s[(col, row)];
        }
    }
}

/// The lower Cholesky factor `L` of a symmetric positive definite matrix, `L Lᵀ = s`.
#[derive(Clone, Debug)]
pub struct Cholesky {
    lower: Mat<f64>,
    threads: Threads,
}

impl Cholesky {
    /// Factorises in place; `None` if a pivot is not positive. A large matrix goes by blocks of columns: what is left of a
    /// block has its part taken off, then its own square is factorised, and what is below is solved by that.
    pub fn new(mut s: Mat<f64>, threads: Threads) -> Option<Self> {
        const BLOCK: usize = 1024;
        if s.nrows() <= 2 * BLOCK {
            return Cholesky::at_once(s, threads);
        }
        let n = s.nrows();
        for first in (0..n).step_by(BLOCK) {
            let count = BLOCK.min(n - first);
            let (left, mut right) = s.as_mut().subrows_mut(first, n - first).split_at_col_mut(first);
            let (left, mut block) = (left.rb(), right.rb_mut().subcols_mut(0, count));
            product(block.rb_mut(), Accumulate::Add, left, left.subrows(0, count).transpose(), -1.0, threads);
            let (mut square, below) = block.split_at_row_mut(count);
            let factor = Cholesky::at_once(square.rb().to_owned(), threads)?;
            square.copy_from(&factor.lower);
            // X Lᵀ = B is L Xᵀ = Bᵀ.
            factor.half_solve(below.transpose_mut());
        }
        Some(Cholesky { lower: s, threads })
    }

    fn at_once(mut s: Mat<f64>, threads: Threads) -> Option<Self> {
        go_on();
        let n = s.nrows();
        let par = threads.par(work(n, n, n) / 6.0);
        let scratch = llt::factor::cholesky_in_place_scratch::<f64>(n, par, Default::default());
        llt::factor::cholesky_in_place(
            s.as_mut(),
            Default::default(),
            par,
            MemStack::new(&mut MemBuffer::new(scratch)),
            Default::default(),
        )
        .ok()?;
        Some(Cholesky { lower: s, threads })
    }

    /// A factor that was computed before: its lower triangle.
    pub fn from_lower(lower: Mat<f64>, threads: Threads) -> Self {
        Cholesky { lower, threads }
    }

    /// The lower triangle `L`.
    pub fn lower(&self) -> &Mat<f64> {
        &self.lower
    }

    /// `factor · L`.
    pub fn scaled(mut self, factor: f64) -> Self {
        scale_columns(&mut self.lower, |_| factor);
        self
    }

    /// `L` with every number rounded to single precision.
    pub fn in_single_precision(mut self) -> Self {
        for j in 0..self.lower.ncols() {
            self.lower.col_as_slice_mut(j).iter_mut().for_each(|v| *v = f64::from(*v as f32));
        }
        self
    }

    /// `ln |s|`.
    pub fn ln_det(&self) -> f64 {
        (0..self.lower.nrows()).map(|i| 2.0 * self.lower[(i, i)].ln()).sum()
    }

    /// `b ← L⁻¹ b`.
    pub fn half_solve(&self, b: MatMut<'_, f64>) {
        self.solve(b, |b, par| triangular_solve::solve_lower_triangular_in_place(self.lower.as_ref(), b, par));
    }

    /// `b ← L⁻ᵀ b`.
    pub fn half_solve_transposed(&self, b: MatMut<'_, f64>) {
        let upper = self.lower.as_ref().transpose();
        self.solve(b, |b, par| triangular_solve::solve_upper_triangular_in_place(upper, b, par));
    }

    fn solve(&self, mut b: MatMut<'_, f64>, solve: impl Fn(MatMut<'_, f64>, Par)) {
        let (rows, columns) = b.shape();
        let each = work(rows, rows, 1) / 2.0;
        let part = glance(columns, each);
        for first in (0..columns).step_by(part) {
            go_on();
            let count = part.min(columns - first);
            solve(b.rb_mut().subcols_mut(first, count), self.threads.par(each * count as f64));
        }
    }

    /// The diagonal of the inverse, and its lower triangle too if `full`. Needs one more matrix of this size.
    pub fn into_inverse(self, full: bool) -> (Vec<f64>, Option<Mat<f64>>) {
        let n = self.lower.nrows();
        let half = self.half_inverse(Mat::zeros(n, n));
        let diagonal = (0..n).map(|j| half.col_as_slice(j)[j..].iter().map(|v| v * v).sum()).collect();
        (diagonal, full.then(|| self.into_inverse_from(&half)))
    }

    /// The lower triangle of the inverse, and `memory`, a matrix of this size that was needed for it.
    pub fn into_inverse_with(self, memory: Mat<f64>) -> (Mat<f64>, Mat<f64>) {
        let half = self.half_inverse(memory);
        (self.into_inverse_from(&half), half)
    }

    /// L⁻¹, in the lower triangle of a matrix of this size. That of a large one goes by blocks of columns.
    fn half_inverse(&self, mut half: Mat<f64>) -> Mat<f64> {
        const BLOCK: usize = 256;
        let n = self.lower.nrows();
        if n <= 2048 {
            go_on();
            triangular_inverse::invert_lower_triangular(half.as_mut(), self.lower.as_ref(), self.inverse_par());
            return half;
        }
        for first in (0..n).step_by(BLOCK) {
            go_on();
            let (left, count) = (n - first, BLOCK.min(n - first));
            let mut block = half.as_mut().submatrix_mut(first, first, left, count);
            block.fill(0.0);
            (0..count).for_each(|j| block[(j, j)] = 1.0);
            let rest = self.lower.as_ref().submatrix(first, first, left, left);
            triangular_solve::solve_lower_triangular_in_place(rest, block, self.threads.par(work(left, left, count)));
        }
        half
    }

    /// L⁻ᵀL⁻¹ in the place of the factor, which is not needed any more.
    fn into_inverse_from(self, half: &Mat<f64>) -> Mat<f64> {
        go_on();
        let par = self.inverse_par();
        let mut lower = self.lower;
        triangular::matmul(
            lower.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Replace,
            half.as_ref().transpose(),
            BlockStructure::TriangularUpper,
            half.as_ref(),
            BlockStructure::TriangularLower,
            1.0,
            par,
        );
        lower
    }

    fn inverse_par(&self) -> Par {
        let n = self.lower.nrows();
        self.threads.par(work(n, n, n) / 6.0)
    }
}

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

/// Column j times `factor(j)`.
pub fn scale_columns(block: &mut Mat<f64>, factor: impl Fn(usize) -> f64) {
    for j in 0..block.ncols() {
        let factor = factor(j);
        block.col_as_slice_mut(j).iter_mut().for_each(|v| *v *= factor);
    }
}

/// Row i times `factors[i]`.
pub fn scale_rows(block: &mut Mat<f64>, factors: &[f64]) {
    for j in 0..block.ncols() {
        block.col_as_slice_mut(j).iter_mut().zip(factors).for_each(|(v, f)| *v *= f);
    }
}

/// aᵀb. Eight running sums let the processor add in parallel; their number is fixed, so the bits are too.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// Runs `f` on every column, in parallel if that pays, and returns what it gave in the order of the columns.
pub fn map_columns<T: Send>(a: &mut Mat<f64>, threads: Threads, f: impl Fn(usize, &mut [f64]) -> T + Sync) -> Vec<T> {
    let columns = a.ncols();
    // A column cell costs about as much as a few dozen multiplications of a matrix product.
    if threads.par(32.0 * work(a.nrows(), columns, 1)) == Par::Seq {
        let one = |j: usize| {
            go_on();
            f(j, a.col_as_slice_mut(j))
        };
        return (0..columns).map(one).collect();
    }
    a.as_mut()
        .par_col_iter_mut()
        .enumerate()
        .with_min_len(16)
        .map(|(j, column)| {
            go_on();
            let column = column.try_as_col_major_mut().expect("a Mat is column-major");
            f(j, column.as_slice_mut())
        })
        .collect()
}

/// The chosen rows of a matrix.
pub fn select_rows(a: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), a.ncols(), |i, j| a[(rows[i], j)])
}

/// The chosen columns of a matrix.
pub fn select_columns(a: MatRef<'_, f64>, columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(a.nrows(), columns.len(), |i, j| a[(i, columns[j])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    fn normal(rows: usize, columns: usize) -> Mat<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64((rows * 1000 + columns) as u64);
        Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
    }

    /// Runs an operation with one, two and eight threads and wants the same bits.
    fn same_bits(what: &str, f: impl Fn(Threads) -> Vec<Mat<f64>>) {
        let one = f(Threads::ONE);
        for threads in [2, 8] {
            let many = f(Threads(threads));
            assert!(one == many, "{what} with {threads} threads");
        }
    }

    #[test]
    fn no_operation_depends_on_the_number_of_threads() {
        for (n, m) in [(310, 420), (700, 333), (129, 2100)] {
            let (a, b) = (normal(n, m), normal(m, n));
            let gram = |t: Threads| {
                let mut s = Mat::zeros(n, n);
                outer(s.as_mut(), Accumulate::Replace, a.as_ref(), t);
                for i in 0..n {
                    s[(i, i)] += m as f64;
                }
                s
            };
            let s = gram(Threads::ONE);
            same_bits("product", |t| vec![multiply(a.as_ref(), b.as_ref(), t)]);
            same_bits("outer", |t| vec![gram(t)]);
            same_bits("half solve", |t| {
                let factor = Cholesky::new(s.clone(), t).unwrap();
                let (mut x, mut y) = (a.clone(), a.clone());
                factor.half_solve(x.as_mut());
                factor.half_solve_transposed(y.as_mut());
                vec![x, y]
            });
            same_bits("inverse", |t| vec![Cholesky::new(s.clone(), t).unwrap().into_inverse(true).1.unwrap()]);
        }
    }

    #[test]
    fn large_factors_and_inverses_by_blocks_are_those_at_once() {
        let (n, a) = (2500, normal(2500, 40));
        let mut s = Mat::zeros(n, n);
        outer(s.as_mut(), Accumulate::Replace, a.as_ref(), Threads(2));
        (0..n).for_each(|i| s[(i, i)] += 5.0);
        let (factor, at_once) =
            (Cholesky::new(s.clone(), Threads(2)).unwrap(), Cholesky::at_once(s.clone(), Threads(2)).unwrap());
        for j in 0..n {
            let pairs = factor.lower.col_as_slice(j)[j..].iter().zip(&at_once.lower.col_as_slice(j)[j..]);
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-10));
        }
        let mut whole = Mat::identity(n, n);
        factor.half_solve(whole.as_mut());
        let (diagonal, _) = factor.into_inverse(false);
        assert!((0..n).all(|j| (dot(whole.col_as_slice(j), whole.col_as_slice(j)) - diagonal[j]).abs() < 1e-10));
        s[(2400, 2400)] = -1.0;
        assert!(Cholesky::new(s, Threads(2)).is_none());
    }

    /// Guards against a parallel kernel that drops a piece: triangular and parallel against plain loops.
    #[test]
    fn parallel_triangular_product_equals_sequential_full_product() {
        let a = normal(520, 400);
        let mut s = Mat::zeros(520, 520);
        outer(s.as_mut(), Accumulate::Replace, a.as_ref(), Threads(4));
        for (i, j) in [(0, 0), (519, 0), (519, 519), (260, 259), (300, 17), (511, 256), (128, 64)] {
            let direct: f64 = (0..400).map(|k| a[(i, k)] * a[(j, k)]).sum();
            assert!((s[(i, j)] - direct).abs() < 1e-10);
        }
        let full = multiply(a.as_ref(), a.as_ref().transpose(), Threads::ONE);
        for j in 0..520 {
            for i in j..520 {
                assert!((s[(i, j)] - full[(i, j)]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn factorisations_reproduce_their_matrix() {
        let a = normal(40, 60);
        let mut s = Mat::zeros(40, 40);
        outer(s.as_mut(), Accumulate::Replace, a.as_ref(), Threads::ONE);
        let mut full = s.clone();
        fill_upper(full.as_mut());
        let (diagonal, inverse) = Cholesky::new(s.clone(), Threads::ONE).unwrap().into_inverse(true);
        let mut inverse = inverse.unwrap();
        fill_upper(inverse.as_mut());
        let identity = multiply(inverse.as_ref(), full.as_ref(), Threads::ONE);
        let Spectral { values, vectors } = Spectral::new(s.clone()).unwrap();
        let ln_det = Cholesky::new(s, Threads::ONE).unwrap().ln_det();
        assert!((values.iter().map(|v| v.ln()).sum::<f64>() - ln_det).abs() < 1e-9);
        let scaled = Mat::from_fn(40, 40, |i, j| vectors[(i, j)] * values[j]);
        let again = multiply(scaled.as_ref(), vectors.as_ref().transpose(), Threads::ONE);
        let q = orthonormal(a.transpose().to_owned());
        let qq = multiply(q.as_ref().transpose(), q.as_ref(), Threads::ONE);
        for i in 0..40 {
            assert!((diagonal[i] - inverse[(i, i)]).abs() < 1e-12);
            for j in 0..40 {
                let unit = if i == j { 1.0 } else { 0.0 };
                assert!((identity[(i, j)] - unit).abs() < 1e-9);
                assert!((again[(i, j)] - full[(i, j)]).abs() < 1e-9);
                assert!((qq[(i, j)] - unit).abs() < 1e-12);
            }
        }
        assert!(Cholesky::new(Mat::from_fn(2, 2, |i, j| if i == j { -1.0 } else { 0.0 }), Threads::ONE).is_none());
    }
}
