//! Where the heavy computations run: on the processor, or on a GPU. What is computed is written once, over [`Backend`];
//! a backend says where matrices are and how they are multiplied, factorised and filled.

mod cuda;
mod host;

pub(crate) use cuda::Cuda;
pub(crate) use host::Host;

use crate::error::{Error, Result};
use crate::fourier::Basis;
use crate::kernel::Kernel;
use crate::linalg::{Accumulate, Cholesky, Mat, MatRef, Threads};
use crate::settings::Device;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::time::Instant;

/// A factor of a product: as it is, or transposed.
#[derive(Clone, Copy)]
pub(crate) enum Side<'a, M> {
    /// As it is.
    Plain(&'a M),
    /// Transposed.
    Transposed(&'a M),
}

/// Column-major matrices of doubles and what is done with them. Symmetric results are in the lower triangle alone, unless
/// said otherwise.
pub(crate) trait Backend: Clone + Send + Sync {
    /// In the memory of the backend.
    type Matrix: Clone + Send + Sync;
    /// The lower Cholesky factor L of a matrix.
    type Factor: Send + Sync;

    /// Copies a matrix to the backend.
    fn put(&self, a: MatRef<'_, f64>) -> Self::Matrix;

    /// Copies a matrix from the backend.
    fn get(&self, a: &Self::Matrix) -> Mat<f64>;

    /// Zeros.
    fn zeros(&self, rows: usize, columns: usize) -> Self::Matrix;

    /// A matrix whose numbers do not matter: the given one, if it has that shape.
    fn room<'m>(&self, a: &'m mut Option<Self::Matrix>, rows: usize, columns: usize) -> &'m mut Self::Matrix;

    /// Rows whose features are held at once, where the processor would take so many.
    fn rows_at_once(&self, on_processor: usize, columns: usize) -> usize;

    /// Runs `f` for every number below `count`, side by side if that pays, each on one thread. `start` makes what calls that
    /// follow each other share.
    fn each<S, T: Send>(
        &self,
        count: usize,
        start: impl Fn() -> S + Send + Sync,
        f: impl Fn(&Self, &mut S, usize) -> T + Send + Sync,
    ) -> Vec<T>;

    /// `dst ← [dst +] factor · a b`; of a plain `b` that has more columns than `dst` the first are taken.
    fn product(
        &self,
        dst: &mut Self::Matrix,
        mode: Accumulate,
        a: Side<'_, Self::Matrix>,
        b: Side<'_, Self::Matrix>,
        factor: f64,
    );

    /// Lower triangle of `dst ← dst + aᵀa`.
    fn add_gram(&self, dst: &mut Self::Matrix, a: &Self::Matrix);

    /// `dst ← dst + factor · a`.
    fn add(&self, dst: &mut Self::Matrix, a: &Self::Matrix, factor: f64);

    /// Column j times `factors[j]`.
    fn scale_columns(&self, a: &mut Self::Matrix, factors: &[f64]);

    /// Entry (i, j) of a lower triangle times `factors[i] · factors[j]`.
    fn scale_both(&self, a: &mut Self::Matrix, factors: &[f64]);

    /// The diagonal of a square matrix.
    fn diagonal_of(&self, a: &Self::Matrix) -> Vec<f64>;

    /// Copies the lower triangle into the upper one.
    fn fill_upper(&self, a: &mut Self::Matrix);

    /// [Φ, 1] of a scaled basis for standardised inputs, rows times `root` if that is given.
    fn features(&self, basis: &Basis, inputs: &Self::Matrix, root: Option<&[f64]>, out: &mut Self::Matrix);

    /// `mean ← share (y − mean)`, with a share for each column.
    fn residual(&self, y: &Self::Matrix, mean: &mut Self::Matrix, share: &[f64]);

    /// For pairs of columns, cosine and sine, and slopes by them, g: g_sin cos − g_cos sin, a column for each pair.
    fn pull(&self, cosines: &Self::Matrix, slopes: &Self::Matrix, out: &mut Self::Matrix);

    /// The factor of `a + noise I`; `None` if a pivot is not positive.
    fn factor(&self, a: &Self::Matrix, noise: f64) -> Option<Self::Factor>;

    /// ln |LLᵀ|.
    fn ln_det(&self, l: &Self::Factor) -> f64;

    /// `b ← L⁻¹ b`.
    fn half_solve(&self, l: &Self::Factor, b: &mut Mat<f64>);

    /// `b ← L⁻ᵀ b`.
    fn half_solve_transposed(&self, l: &Self::Factor, b: &mut Mat<f64>);

    /// The diagonal of (LLᵀ)⁻¹, and its lower triangle too if `full`.
    fn inverse(&self, l: Self::Factor, full: bool) -> (Vec<f64>, Option<Self::Matrix>);

    /// The factor in the memory of the processor.
    fn lower(&self, l: Self::Factor) -> Cholesky;

    /// κ between all rows: lower triangle.
    fn gram(&self, kernel: &Kernel, inputs: &Mat<f64>) -> Self::Matrix;

    /// The factor of u K uᵀ + σ²I over the given rows of the kernel, or all of them; in the place of a factor of that size that
    /// is not needed any more, if there is one.
    fn weighted_factor(
        &self,
        place: Option<Self::Factor>,
        gram: &Self::Matrix,
        rows: Option<&[usize]>,
        root: &[f64],
        noise: f64,
    ) -> Option<Self::Factor>;

    /// A factor that is in the memory of the processor.
    fn carried(&self, l: &Cholesky) -> Self::Factor;

    /// ‖L⁻¹z‖² for each row z.
    fn explained(&self, l: &Self::Factor, rows: &Self::Matrix) -> Vec<f64>;
}

/// Multiplications above which a device is worth asking for: a minute of one core, about.
const WORTH_ASKING: f64 = 5e11;

impl Device {
    /// An error if a device was asked for that cannot be used: found out in milliseconds.
    pub(crate) fn expect(self) -> Result<()> {
        match self {
            Device::Cuda(ordinal) => Cuda::open(ordinal).map(drop).map_err(Error::Device),
            Device::Auto | Device::Cpu => Ok(()),
        }
    }
}

/// The device for work of so many multiplications that needs so many bytes there: the one that was asked for, or the first
/// if it is quicker; `None` is the processor.
pub(crate) fn chosen(device: Device, multiplications: f64, bytes: f64, what: &str) -> Result<Option<Cuda>> {
    let found = match device {
        Device::Cpu => return Ok(None),
        Device::Auto if multiplications < WORTH_ASKING => return Ok(None),
        Device::Auto => Cuda::open(0).ok().filter(quicker),
        Device::Cuda(ordinal) => Some(Cuda::open(ordinal).map_err(Error::Device)?),
    };
    let Some(cuda) = found else { return Ok(None) };
    let free = cuda.free() as f64;
    match (bytes <= free, device) {
        (true, _) => Ok(Some(cuda)),
        (false, Device::Auto) => Ok(None),
        (false, _) => Err(Error::Device(format!(
            "{what} need about {:.1} GB on {}, which has {:.1} GB free; fewer features need less, by their square, or set \
             device cpu",
            bytes / 1e9,
            cuda.name(),
            free / 1e9
        ))),
    }
}

/// Whether the device multiplies matrices quicker than the processor does: measured once, as cards differ thirtyfold.
fn quicker(cuda: &Cuda) -> bool {
    static QUICKER: OnceLock<bool> = OnceLock::new();
    *QUICKER.get_or_init(|| {
        let host = Host(Threads::current());
        caught(|| Ok(seconds(cuda) < seconds(&host))).unwrap_or(false)
    })
}

/// Seconds of a product, the second time.
fn seconds<B: Backend>(backend: &B) -> f64 {
    const SIZE: usize = 1024;
    let a = backend.put(Mat::from_fn(SIZE, SIZE, |i, j| ((i + 3 * j) % 7) as f64).as_ref());
    let mut out = backend.zeros(SIZE, SIZE);
    let mut once = || {
        let start = Instant::now();
        for _ in 0..3 {
            backend.product(&mut out, Accumulate::Replace, Side::Plain(&a), Side::Plain(&a), 1.0);
        }
        // What is still under way is waited for.
        _ = backend.diagonal_of(&out);
        start.elapsed().as_secs_f64()
    };
    once();
    once()
}

/// Why work on a device ended.
struct Failure(String);

/// Ends the work on a device by unwinding to [`caught`], without the message of a panic.
fn failed(problem: String) -> ! {
    resume_unwind(Box::new(Failure(problem)))
}

/// Runs work that may be on a device; if that fails, its end is an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(payload) => match payload.downcast::<Failure>() {
            Ok(failure) => Err(Error::Device(failure.0)),
            Err(other) => resume_unwind(other),
        },
    }
}

#[cfg(test)]
mod tests;
