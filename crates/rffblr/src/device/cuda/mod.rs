//! A GPU through CUDA's driver, cuBLAS, cuSOLVER and NVRTC, which are looked for when a device is asked for: nothing of CUDA
//! is needed to build or to run on the processor. All work of a device is on one stream, in the order in which it is asked
//! for, so results have the same bits each time.

mod open;

use super::{Backend, Side, failed};
use crate::fourier::Basis;
use crate::interrupt::go_on;
use crate::kernel::Kernel;
use crate::linalg::{Accumulate, Cholesky, Mat, MatRef, Threads};
use cudarc::cublas::sys as blas;
use cudarc::cusolver::sys as solver;
use cudarc::driver::{result as driver, sys};
use open::Inner;
use std::ffi::c_void;
use std::fmt::Display;
use std::sync::{Arc, PoisonError};

/// A device that was opened. Copies are the same device.
#[derive(Clone)]
pub(crate) struct Cuda(Arc<Inner>);

use blas::cublasSideMode_t::{CUBLAS_SIDE_LEFT as LEFT, CUBLAS_SIDE_RIGHT as RIGHT};

/// Columns of a strip of a triangle: wider ones compute more above the diagonal, narrower ones leave parts of the card without
/// work.
const STRIP: usize = 1024;

/// A column-major matrix without gaps between its columns, in the memory of a device.
pub(crate) struct Matrix {
    data: Buffer,
    rows: usize,
    columns: usize,
}

/// Memory of a device, given back when it is dropped: in the order of the stream, after all work that was asked for.
struct Buffer {
    at: sys::CUdeviceptr,
    bytes: usize,
    device: Arc<Inner>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.at != 0 {
            let _held = self.device.held.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the memory came from this stream and is not used by anything asked for later. An error leaves it to
            // the driver, which takes it back with the process.
            unsafe {
                _ = driver::ctx::set_current(self.device.context);
                _ = driver::free_async(self.at, self.device.stream);
            }
        }
    }
}

impl Clone for Matrix {
    fn clone(&self) -> Matrix {
        let cuda = Cuda(self.data.device.clone());
        let copy = cuda.uninitialised(self.rows, self.columns);
        debug_assert_eq!(copy.data.bytes, self.data.bytes);
        cuda.with(|inner| {
            // SAFETY: both have that many bytes.
            done(unsafe { driver::memcpy_dtod_async(copy.data.at, self.data.at, self.data.bytes, inner.stream) });
        });
        copy
    }
}

/// The value, or the end of the work with what CUDA says.
fn done<T, E: Display>(result: std::result::Result<T, E>) -> T {
    result.unwrap_or_else(|problem| failed(format!("the GPU reports: {problem}")))
}

fn int(size: usize) -> i32 {
    i32::try_from(size).unwrap_or_else(|_| failed(format!("a matrix of {size} rows is too large for cuBLAS")))
}

/// What a kernel is called with.
enum Argument {
    Address(sys::CUdeviceptr),
    Count(u64),
    Number(f64),
}

impl From<&Matrix> for Argument {
    fn from(matrix: &Matrix) -> Argument {
        Argument::Address(matrix.data.at)
    }
}

impl From<Option<&Matrix>> for Argument {
    fn from(matrix: Option<&Matrix>) -> Argument {
        Argument::Address(matrix.map_or(0, |matrix| matrix.data.at))
    }
}

impl From<usize> for Argument {
    fn from(count: usize) -> Argument {
        Argument::Count(count as u64)
    }
}

impl From<f64> for Argument {
    fn from(number: f64) -> Argument {
        Argument::Number(number)
    }
}

/// Launches a kernel of `kernels.cu` over so many entries, or over rows and columns.
macro_rules! launch {
    ($cuda:expr, $name:literal, ($rows:expr, $columns:expr), $($argument:expr),+) => {
        $cuda.launch($name, ($rows, $columns), &[$(Argument::from($argument)),+])
    };
    ($cuda:expr, $name:literal, $entries:expr, $($argument:expr),+) => {
        $cuda.launch($name, ($entries, 1), &[$(Argument::from($argument)),+])
    };
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cuda").field(&self.name()).finish()
    }
}

impl Cuda {
    /// Opens a device, or finds out in milliseconds why it cannot be had.
    pub(crate) fn open(ordinal: usize) -> std::result::Result<Cuda, String> {
        Inner::open(ordinal).map(Cuda)
    }

    /// What the maker calls it.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Bytes that are free, those that were set aside and are not in use included.
    pub(crate) fn free(&self) -> usize {
        self.with(Inner::free)
    }

    /// Runs `f` with the device to itself.
    fn with<T>(&self, f: impl FnOnce(&Inner) -> T) -> T {
        go_on();
        let _held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the context lives as long as the process.
        done(unsafe { driver::ctx::set_current(self.0.context) });
        f(&self.0)
    }

    fn buffer(&self, bytes: usize) -> Buffer {
        let at = self.with(|inner| match bytes {
            0 => 0,
            // SAFETY: the stream lives as long as the process.
            _ => unsafe { driver::malloc_async(inner.stream, bytes) }.unwrap_or_else(|problem| {
                let free = inner.free();
                failed(format!(
                    "{} has {:.1} GB left and needs {:.1} GB more ({problem}); fewer features or rows need less, or set \
                     device cpu",
                    inner.name,
                    free as f64 / 1e9,
                    bytes as f64 / 1e9
                ))
            }),
        });
        Buffer { at, bytes, device: self.0.clone() }
    }

    fn uninitialised(&self, rows: usize, columns: usize) -> Matrix {
        Matrix { data: self.buffer(rows * columns * size_of::<f64>()), rows, columns }
    }

    /// Copies plain numbers.
    fn list<T: Copy>(&self, values: &[T]) -> Matrix {
        const { assert!(size_of::<T>() == 8) }
        let out = self.uninitialised(values.len(), 1);
        self.with(|inner| inner.upload(out.data.at, values));
        out
    }

    fn launch(&self, name: &'static str, (rows, columns): (usize, usize), arguments: &[Argument]) {
        const THREADS: usize = 256;
        // The second dimension of a grid has so many places.
        const MOST_COLUMNS: usize = 65_535;
        if rows == 0 || columns == 0 {
            return;
        }
        let mut places: Vec<*mut c_void> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Address(at) => std::ptr::from_ref(at).cast_mut().cast(),
                Argument::Count(count) => std::ptr::from_ref(count).cast_mut().cast(),
                Argument::Number(number) => std::ptr::from_ref(number).cast_mut().cast(),
            })
            .collect();
        self.with(|inner| {
            let function = inner.function(name);
            let blocks = u32::try_from(rows.div_ceil(THREADS)).ok().filter(|_| columns <= MOST_COLUMNS);
            let blocks = blocks.unwrap_or_else(|| failed("a matrix is too large for the GPU".into()));
            // SAFETY: each call here names the arguments in the order of its kernel, and their sizes are those of the
            // matrices; a kernel touches no entry beyond them. The driver copies the arguments before it returns.
            done(unsafe {
                let grid = (blocks, columns as u32, 1);
                driver::launch_kernel(function, grid, (THREADS as u32, 1, 1), 0, inner.stream, &mut places)
            });
        });
    }

    /// `c ← [c +] factor · a b`, where c has so many rows and columns and a so many columns.
    fn gemm(
        &self,
        c: At,
        (rows, columns, inner): (usize, usize, usize),
        (factor, a, b): (f64, At, At),
        mode: Accumulate,
    ) {
        if rows == 0 || columns == 0 {
            return;
        }
        debug_assert!(c.holds(rows, columns) && a.holds(rows, inner) && b.holds(inner, columns));
        let beta = if mode == Accumulate::Add { 1.0 } else { 0.0 };
        let (rows, columns, inner) = (int(rows), int(columns), int(inner));
        self.with(|device| {
            // SAFETY: the callers name shapes that lie within the matrices.
            let status = unsafe {
                blas::cublasDgemm_v2(
                    device.blas,
                    operation(a.transposed),
                    operation(b.transposed),
                    rows,
                    columns,
                    inner,
                    &factor,
                    a.first,
                    a.stride,
                    b.first,
                    b.stride,
                    &beta,
                    c.first,
                    c.stride,
                )
            };
            done(status.result());
        });
    }

    /// The lower triangle of `[dst +] aᵀa`, a strip of columns after the other from the diagonal down: cuBLAS has the full speed of
    /// the card for products of general matrices alone. Of a lower triangular `a` what is zero is left out.
    fn gram_in_strips(&self, dst: &mut Matrix, mode: Accumulate, a: &Matrix, triangular: bool) {
        for (first, width) in strips(dst.columns) {
            let zero = if triangular { first } else { 0 };
            let shape = (dst.rows - first, width, a.rows - zero);
            let from = At::column(a, first).row(zero);
            self.gemm(At::column(dst, first).row(first), shape, (1.0, from.transposed(), from), mode);
        }
    }

    /// Solves with a factor, or its transpose, on one side of a matrix of so many rows and columns, in place.
    fn triangular(&self, l: At, side: blas::cublasSideMode_t, b: At, (rows, columns): (usize, usize)) {
        if rows == 0 || columns == 0 {
            return;
        }
        let order = if side == LEFT { rows } else { columns };
        debug_assert!(b.holds(rows, columns) && l.holds(order, order));
        let (rows, columns) = (int(rows), int(columns));
        self.with(|inner| {
            // SAFETY: the callers name shapes that lie within the matrices, and as much of the factor as the side asks.
            let status = unsafe {
                blas::cublasDtrsm_v2(
                    inner.blas,
                    side,
                    blas::cublasFillMode_t::CUBLAS_FILL_MODE_LOWER,
                    operation(l.transposed),
                    blas::cublasDiagType_t::CUBLAS_DIAG_NON_UNIT,
                    rows,
                    columns,
                    &1.0,
                    l.first,
                    l.stride,
                    b.first,
                    b.stride,
                )
            };
            done(status.result());
        });
    }

    /// `b ← L⁻¹ b`, or with its transpose, of a table in the memory of the processor.
    fn solved(&self, l: At, b: &mut Mat<f64>) {
        let there = self.put(b.as_ref());
        self.triangular(l, LEFT, At::of(&there), b.shape());
        *b = self.get(&there);
    }

    /// ‖L⁻¹z‖² for each row z, which is lost: X Lᵀ = Z, so that a row of X is L⁻¹z.
    fn squares(&self, l: At, rows: &mut Matrix) -> Vec<f64> {
        let out = self.uninitialised(rows.rows, 1);
        self.triangular(l.transposed(), RIGHT, At::of(rows), (rows.rows, rows.columns));
        launch!(self, "row_squares", rows.rows, &out, rows.rows, &*rows, rows.columns);
        self.get(&out).col_as_slice(0).to_vec()
    }

    /// The first rows of a unit matrix, all of them or fewer.
    fn unit(&self, rows: usize, columns: usize) -> Matrix {
        let out = self.zeros(rows, columns);
        launch!(self, "add_to_diagonal", rows, &out, rows, 1.0);
        out
    }

    /// The factor in the place of a matrix; `None` if a pivot is not positive.
    fn factorise(&self, a: Matrix) -> Option<Matrix> {
        debug_assert_eq!(a.rows, a.columns);
        let n = int(a.rows);
        let lower = solver::cublasFillMode_t::CUBLAS_FILL_MODE_LOWER;
        let mut size = 0;
        self.with(|inner| {
            // SAFETY: a is n×n.
            done(unsafe {
                solver::cusolverDnDpotrf_bufferSize(inner.solver, lower, n, pointer(&a), n, &mut size).result()
            });
        });
        let (work, info) = (self.uninitialised(size as usize, 1), self.zeros(1, 1));
        self.with(|inner| {
            // SAFETY: a is n×n, the memory for work has the size that was asked for, and `info` has room for an int.
            done(unsafe {
                let (work, info) = (pointer(&work), info.data.at as *mut i32);
                solver::cusolverDnDpotrf(inner.solver, lower, n, pointer(&a), n, work, size, info).result()
            });
        });
        (self.status(&info) == 0).then_some(a)
    }

    /// (LLᵀ)⁻¹ = YᵀY with Y = L⁻¹, in the place of the factor: lower triangle.
    fn inverted(&self, mut l: Matrix) -> Matrix {
        let y = self.unit(l.rows, l.rows);
        for (first, width) in strips(l.rows) {
            let corner = |matrix| At::column(matrix, first).row(first);
            self.triangular(corner(&l), LEFT, corner(&y), (l.rows - first, width));
        }
        self.gram_in_strips(&mut l, Accumulate::Replace, &y, true);
        l
    }

    /// The diagonal of (LLᵀ)⁻¹, in little memory.
    fn inverse_diagonal(&self, l: &Matrix) -> Vec<f64> {
        let strip =
            |(first, width)| self.squares(At::column(l, first).row(first), &mut self.unit(width, l.rows - first));
        strips(l.rows).flat_map(strip).collect()
    }

    /// What cuSOLVER says of its last call.
    fn status(&self, info: &Matrix) -> i32 {
        let bits = self.get(info)[(0, 0)].to_bits();
        bits as u32 as i32
    }
}

#[cfg(test)]
impl Matrix {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }
}

/// Where a matrix begins, how far its columns are apart, and how it is meant.
#[derive(Clone, Copy)]
struct At {
    first: *mut f64,
    /// Numbers from there to the end of the matrix.
    left: usize,
    stride: i32,
    transposed: bool,
}

impl At {
    fn of(matrix: &Matrix) -> At {
        let left = matrix.rows * matrix.columns;
        At { first: pointer(matrix), left, stride: int(matrix.rows.max(1)), transposed: false }
    }

    fn side(side: Side<'_, Matrix>) -> At {
        match side {
            Side::Plain(matrix) => At::of(matrix),
            Side::Transposed(matrix) => At::of(matrix).transposed(),
        }
    }

    fn transposed(self) -> At {
        At { transposed: true, ..self }
    }

    /// From one of its columns on.
    fn column(matrix: &Matrix, first: usize) -> At {
        let at = At::of(matrix);
        let skipped = first * matrix.rows;
        At { first: at.first.wrapping_add(skipped), left: at.left.saturating_sub(skipped), ..at }
    }

    /// From one of its rows on.
    fn row(self, first: usize) -> At {
        At { first: self.first.wrapping_add(first), left: self.left.saturating_sub(first), ..self }
    }

    /// Whether so many rows and columns lie within the matrix; of a transposed one those of its transpose.
    fn holds(self, rows: usize, columns: usize) -> bool {
        let (rows, columns) = if self.transposed { (columns, rows) } else { (rows, columns) };
        rows == 0 || columns == 0 || (columns - 1) * self.stride as usize + rows <= self.left
    }
}

/// First column and width of each strip of so many columns.
fn strips(columns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..columns).step_by(STRIP).map(move |first| (first, STRIP.min(columns - first)))
}

/// Columns that travel together where they do not follow each other in the memory of the processor.
fn columns_at_once(rows: usize) -> usize {
    const NUMBERS: usize = 1 << 22;
    (NUMBERS / rows.max(1)).max(1)
}

fn operation(transposed: bool) -> blas::cublasOperation_t {
    match transposed {
        false => blas::cublasOperation_t::CUBLAS_OP_N,
        true => blas::cublasOperation_t::CUBLAS_OP_T,
    }
}

fn pointer(matrix: &Matrix) -> *mut f64 {
    matrix.data.at as *mut f64
}

impl Backend for Cuda {
    type Matrix = Matrix;
    type Factor = Matrix;

    fn put(&self, a: MatRef<'_, f64>) -> Matrix {
        let (rows, columns) = a.shape();
        let out = self.uninitialised(rows, columns);
        let dense = a.try_as_col_major().filter(|a| a.col_stride() as usize == rows || columns <= 1);
        self.with(|inner| match dense {
            Some(dense) if columns > 0 => {
                let first = dense.col(0).as_slice().as_ptr();
                // SAFETY: columns follow each other without gaps, so these are rows × columns numbers.
                inner.upload(out.data.at, unsafe { std::slice::from_raw_parts(first, rows * columns) });
            }
            _ => {
                let at_once = columns_at_once(rows);
                let mut dense = Vec::with_capacity(at_once.min(columns) * rows);
                for first in (0..columns).step_by(at_once) {
                    dense.clear();
                    (first..columns.min(first + at_once)).for_each(|j| dense.extend((0..rows).map(|i| a[(i, j)])));
                    inner.upload(out.data.at + (first * rows * size_of::<f64>()) as u64, &dense);
                }
            }
        });
        out
    }

    fn get(&self, a: &Matrix) -> Mat<f64> {
        let mut out = Mat::zeros(a.rows, a.columns);
        let (rows, at_once) = (a.rows, columns_at_once(a.rows));
        let mut dense = vec![0.0; rows * at_once.min(a.columns)];
        for first in (0..a.columns).step_by(at_once) {
            let columns = first..a.columns.min(first + at_once);
            let dense = &mut dense[..rows * columns.len()];
            self.with(|inner| inner.download(dense, a.data.at + (first * rows * size_of::<f64>()) as u64));
            for (j, column) in columns.zip(dense.chunks_exact(rows.max(1))) {
                out.col_as_slice_mut(j).copy_from_slice(column);
            }
        }
        out
    }

    fn zeros(&self, rows: usize, columns: usize) -> Matrix {
        let out = self.uninitialised(rows, columns);
        if out.data.bytes > 0 {
            // SAFETY: the memory has that many bytes.
            self.with(|inner| done(unsafe { driver::memset_d8_async(out.data.at, 0, out.data.bytes, inner.stream) }));
        }
        out
    }

    fn room<'m>(&self, a: &'m mut Option<Matrix>, rows: usize, columns: usize) -> &'m mut Matrix {
        if a.as_ref().is_some_and(|a| (a.rows, a.columns) != (rows, columns)) {
            *a = None;
        }
        a.get_or_insert_with(|| self.uninitialised(rows, columns))
    }

    /// So many that a product keeps the device busy and the features take two gigabytes at most.
    fn rows_at_once(&self, on_processor: usize, columns: usize) -> usize {
        const BYTES: usize = 2_000_000_000;
        let fit = BYTES / (size_of::<f64>() * columns.max(1)) / 1024 * 1024;
        fit.clamp(on_processor, 65_536.max(on_processor))
    }

    fn each<S, T: Send>(
        &self,
        count: usize,
        start: impl Fn() -> S + Send + Sync,
        f: impl Fn(&Self, &mut S, usize) -> T + Send + Sync,
    ) -> Vec<T> {
        let mut state = start();
        (0..count).map(|i| f(self, &mut state, i)).collect()
    }

    fn product(&self, dst: &mut Matrix, mode: Accumulate, a: Side<'_, Matrix>, b: Side<'_, Matrix>, factor: f64) {
        let (rows, columns) = (dst.rows, dst.columns);
        let inner = match a {
            Side::Plain(a) => a.columns,
            Side::Transposed(a) => a.rows,
        };
        self.gemm(At::of(dst), (rows, columns, inner), (factor, At::side(a), At::side(b)), mode);
    }

    fn add_gram(&self, dst: &mut Matrix, a: &Matrix) {
        self.gram_in_strips(dst, Accumulate::Add, a, false);
    }

    fn add(&self, dst: &mut Matrix, a: &Matrix, factor: f64) {
        let entries = a.rows * a.columns;
        launch!(self, "add", entries, &*dst, entries, a, factor);
    }

    fn scale_columns(&self, a: &mut Matrix, factors: &[f64]) {
        let factors = self.list(factors);
        launch!(self, "scale_columns", (a.rows, a.columns), &*a, a.rows, &factors);
    }

    fn scale_both(&self, a: &mut Matrix, factors: &[f64]) {
        let factors = self.list(factors);
        launch!(self, "scale_both", (a.rows, a.columns), &*a, a.rows, &factors);
    }

    fn diagonal_of(&self, a: &Matrix) -> Vec<f64> {
        let out = self.uninitialised(a.rows, 1);
        launch!(self, "diagonal", a.rows, &out, a.rows, a);
        self.get(&out).col_as_slice(0).to_vec()
    }

    fn fill_upper(&self, a: &mut Matrix) {
        launch!(self, "fill_upper", (a.rows, a.columns), &*a, a.rows);
    }

    fn features(&self, basis: &Basis, inputs: &Matrix, root: Option<&[f64]>, out: &mut Matrix) {
        let waves = basis.cosines();
        let directions = self.put(basis.directions.as_ref());
        // The angles are the first columns of `out`.
        let shape = (out.rows, waves, inputs.columns);
        self.gemm(At::of(out), shape, (1.0, At::of(inputs), At::of(&directions)), Accumulate::Replace);
        let links: Vec<u64> = basis.links.iter().map(|link| *link as u64).collect();
        let (offsets, links) = (self.list(&basis.offsets), self.list(&links));
        let root = root.map(|root| self.list(root));
        launch!(
            self,
            "lift",
            (out.rows, out.columns),
            &*out,
            out.rows,
            &offsets,
            waves,
            basis.amplitude,
            inputs,
            &links,
            basis.links.len(),
            basis.link_factor(),
            root.as_ref()
        );
    }

    fn residual(&self, y: &Matrix, mean: &mut Matrix, share: &[f64]) {
        let share = self.list(share);
        launch!(self, "residual", (mean.rows, mean.columns), &*mean, mean.rows, y, &share);
    }

    fn pull(&self, cosines: &Matrix, slopes: &Matrix, out: &mut Matrix) {
        launch!(self, "pull", (out.rows, out.columns), &*out, out.rows, cosines, slopes);
    }

    fn factor(&self, a: &Matrix, noise: f64) -> Option<Matrix> {
        let copy = a.clone();
        launch!(self, "add_to_diagonal", copy.rows, &copy, copy.rows, noise);
        self.factorise(copy)
    }

    fn ln_det(&self, l: &Matrix) -> f64 {
        self.diagonal_of(l).iter().map(|v| 2.0 * v.ln()).sum()
    }

    fn half_solve(&self, l: &Matrix, b: &mut Mat<f64>) {
        self.solved(At::of(l), b);
    }

    fn half_solve_transposed(&self, l: &Matrix, b: &mut Mat<f64>) {
        self.solved(At::of(l).transposed(), b);
    }

    fn inverse(&self, l: Matrix, full: bool) -> (Vec<f64>, Option<Matrix>) {
        match full {
            false => (self.inverse_diagonal(&l), None),
            true => {
                let inverse = self.inverted(l);
                (self.diagonal_of(&inverse), Some(inverse))
            }
        }
    }

    fn lower(&self, l: Matrix) -> Cholesky {
        let mut lower = self.get(&l);
        // What cuSOLVER leaves above the diagonal means nothing.
        (1..lower.ncols()).for_each(|j| lower.col_as_slice_mut(j)[..j].fill(0.0));
        Cholesky::from_lower(lower, Threads::current())
    }

    fn gram(&self, kernel: &Kernel, inputs: &Mat<f64>) -> Matrix {
        let (n, x) = (inputs.nrows(), self.put(inputs.as_ref()));
        let (out, scales) = (self.uninitialised(n, n), self.list(&kernel.input_scales));
        let linear = kernel.linear / inputs.ncols() as f64;
        let (rbf, laplace) = (kernel.rbf, kernel.laplace_l1);
        launch!(
            self,
            "kernel_of_rows",
            (n, n),
            &out,
            n,
            &x,
            inputs.ncols(),
            &scales,
            linear,
            rbf.variance,
            rbf.bandwidth,
            laplace.variance,
            laplace.bandwidth
        );
        out
    }

    fn weighted_factor(
        &self,
        place: Option<Matrix>,
        gram: &Matrix,
        rows: Option<&[usize]>,
        root: &[f64],
        noise: f64,
    ) -> Option<Matrix> {
        let n = root.len();
        let chosen: Option<Vec<u64>> = rows.map(|rows| rows.iter().map(|row| *row as u64).collect());
        let chosen = chosen.map(|chosen| self.list(&chosen));
        let out = place.filter(|place| place.rows == n).unwrap_or_else(|| self.uninitialised(n, n));
        let root = self.list(root);
        launch!(self, "weighted", (n, n), &out, n, gram, gram.rows, chosen.as_ref(), &root, noise);
        self.factorise(out)
    }

    fn carried(&self, l: &Cholesky) -> Matrix {
        self.put(l.lower().as_ref())
    }

    fn explained(&self, l: &Matrix, rows: &Matrix) -> Vec<f64> {
        self.squares(At::of(l), &mut rows.clone())
    }
}
