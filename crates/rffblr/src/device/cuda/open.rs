//! Finding a device and what it needs, once for each.

use super::{done, failed};
use cudarc::driver::{result as driver, sys};
use cudarc::{cublas, cusolver, nvrtc};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex, PoisonError};

const KERNELS: &str = include_str!("kernels.cu");
const NAMES: [&str; 12] = [
    "lift",
    "scale_columns",
    "scale_both",
    "fill_upper",
    "residual",
    "pull",
    "add",
    "add_to_diagonal",
    "diagonal",
    "row_squares",
    "kernel_of_rows",
    "weighted",
];

/// Pieces in which data travel to the device, and how many may be on their way.
const PIECE: usize = 4 << 20;
const PIECES: usize = 4;

/// A device with its stream, libraries and kernels. It lives as long as the process.
pub(super) struct Inner {
    pub(super) name: String,
    pub(super) context: sys::CUcontext,
    pub(super) stream: sys::CUstream,
    pub(super) blas: cublas::sys::cublasHandle_t,
    pub(super) solver: cusolver::sys::cusolverDnHandle_t,
    functions: BTreeMap<&'static str, sys::CUfunction>,
    pool: sys::CUmemoryPool,
    staging: Mutex<Staging>,
    /// Whoever has this may ask for work.
    pub(super) held: Mutex<()>,
}

// SAFETY: the handles may be used from any thread, one at a time, which `held` sees to.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// Memory from which the device copies by itself while the processor goes on: pieces in turn, each with the event after
/// which it may be written again.
struct Staging {
    pieces: Vec<(*mut c_void, sys::CUevent)>,
    next: usize,
}

impl Inner {
    /// The device, opened when it is first asked for.
    pub(super) fn open(ordinal: usize) -> Result<Arc<Inner>, String> {
        static OPENED: Mutex<BTreeMap<usize, Result<Arc<Inner>, String>>> = Mutex::new(BTreeMap::new());
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        opened.entry(ordinal).or_insert_with(|| Inner::new(ordinal).map(Arc::new)).clone()
    }

    fn new(ordinal: usize) -> Result<Inner, String> {
        // SAFETY: loading a library of this name runs what its maker put there, as for every user of CUDA.
        let libraries: [(&str, bool); 4] = unsafe {
            [
                ("the driver (libcuda)", sys::is_culib_present()),
                ("cuBLAS", cublas::sys::is_culib_present()),
                ("cuSOLVER", cusolver::sys::is_culib_present()),
                ("NVRTC", nvrtc::sys::is_culib_present()),
            ]
        };
        let missing: Vec<&str> = libraries.iter().filter(|(_, present)| !present).map(|(name, _)| *name).collect();
        if !missing.is_empty() {
            return Err(format!(
                "{} of CUDA 12 or 13 cannot be loaded; install CUDA's libraries, have LD_LIBRARY_PATH name their folder, or \
                 set device cpu",
                missing.join(", ")
            ));
        }
        driver::init().map_err(|problem| format!("CUDA's driver does not start: {problem}"))?;
        let count = driver::device::get_count().map_err(|problem| problem.to_string())?;
        if ordinal >= count as usize {
            return Err(format!("there is no device {ordinal}: {count} found, counted from 0"));
        }
        let problem = |problem: &dyn std::fmt::Display| format!("device {ordinal} cannot be used: {problem}");
        // SAFETY: the device exists, and what is made of it is kept as long as the process runs.
        unsafe {
            let device = driver::device::get(ordinal as i32).map_err(|e| problem(&e))?;
            let name = driver::device::get_name(device).map_err(|e| problem(&e))?;
            let context = driver::primary_ctx::retain(device).map_err(|e| problem(&e))?;
            driver::ctx::set_current(context).map_err(|e| problem(&e))?;
            let stream = driver::stream::create(driver::stream::StreamKind::NonBlocking).map_err(|e| problem(&e))?;
            // Memory that was given back is kept for what is asked for next.
            let pool = driver::device::get_default_mem_pool(device).map_err(|e| problem(&e))?;
            let mut all = u64::MAX;
            let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            driver::mem_pool::set_attribute(pool, threshold, std::ptr::from_mut(&mut all).cast())
                .map_err(|e| problem(&e))?;
            let blas = cublas::result::create_handle().map_err(|e| problem(&e))?;
            cublas::result::set_stream(blas, stream.cast()).map_err(|e| problem(&e))?;
            let solver = cusolver::result::dn_create().map_err(|e| problem(&e))?;
            cusolver::result::dn_set_stream(solver, stream.cast()).map_err(|e| problem(&e))?;
            let functions = kernels(device).map_err(|e| problem(&e))?;
            let mut pieces = Vec::new();
            for _ in 0..PIECES {
                let piece = driver::malloc_host(PIECE, 0).map_err(|e| problem(&e))?;
                let event = driver::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
                pieces.push((piece, event.map_err(|e| problem(&e))?));
            }
            let staging = Mutex::new(Staging { pieces, next: 0 });
            Ok(Inner { name, context, stream, blas, solver, functions, pool, staging, held: Mutex::new(()) })
        }
    }

    pub(super) fn function(&self, name: &str) -> sys::CUfunction {
        self.functions.get(name).copied().unwrap_or_else(|| failed(format!("kernel {name} is missing")))
    }

    /// Bytes that are free, those of the pool that are not in use included.
    pub(super) fn free(&self) -> usize {
        let attribute = |which| {
            let mut value = 0u64;
            // SAFETY: both attributes are 64 bits wide.
            unsafe { driver::mem_pool::get_attribute(self.pool, which, std::ptr::from_mut(&mut value).cast()) }
                .map_or(0, |()| value as usize)
        };
        let reserved = attribute(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        let used = attribute(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        driver::mem_get_info().map_or(0, |(free, _)| free) + reserved.saturating_sub(used)
    }

    /// Copies numbers to the device. They may change when this returns; the device gets them in the order of its work.
    pub(super) fn upload<T: Copy>(&self, to: sys::CUdeviceptr, values: &[T]) {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        let each = PIECE / size_of::<T>();
        for (k, part) in values.chunks(each).enumerate() {
            let next = staging.next;
            staging.next = (next + 1) % PIECES;
            let (piece, event) = staging.pieces[next];
            debug_assert!(size_of_val(part) <= PIECE && piece.cast::<T>().is_aligned());
            // SAFETY: the piece has room for the part, and the event says that the device has read what was there before.
            unsafe {
                done(driver::event::synchronize(event));
                let there = std::slice::from_raw_parts_mut(piece.cast::<T>(), part.len());
                there.copy_from_slice(part);
                let to = to + (k * each * size_of::<T>()) as u64;
                done(driver::memcpy_htod_async(to, there, self.stream));
                done(driver::event::record(event, self.stream));
            }
        }
    }

    /// Copies numbers from the device when it has done all that was asked for before.
    pub(super) fn download(&self, to: &mut [f64], from: sys::CUdeviceptr) {
        if to.is_empty() {
            return;
        }
        // SAFETY: `from` has at least as many numbers, and they are all there when the stream is done.
        unsafe {
            done(driver::memcpy_dtoh_async(to, from, self.stream));
            done(driver::stream::synchronize(self.stream));
        }
    }
}

/// Compiles the kernels for the device and loads them.
///
/// # Safety
///
/// The driver is loaded and started, and a context of the device is current.
unsafe fn kernels(device: sys::CUdevice) -> Result<BTreeMap<&'static str, sys::CUfunction>, String> {
    use sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
    };
    let text = |problem: &dyn std::fmt::Display| problem.to_string();
    // SAFETY: strings end in zero, and every handle is used while it lives.
    unsafe {
        let attribute = |which| driver::device::get_attribute(device, which).map_err(|e| text(&e));
        // The oldest that today's compilers know; the driver translates for newer ones.
        let capability = (10 * attribute(MAJOR)? + attribute(MINOR)?).min(75);
        let source = CString::new(KERNELS).map_err(|e| text(&e))?;
        let program = nvrtc::result::create_program(&source, None).map_err(|e| text(&e))?;
        let compiled = nvrtc::result::compile_program(program, &[format!("--gpu-architecture=compute_{capability}")]);
        if let Err(problem) = compiled {
            let log = nvrtc::result::get_program_log(program).unwrap_or_default();
            let log: String = log.iter().map(|c| char::from(*c as u8)).filter(|c| *c != '\0').collect();
            return Err(format!("its kernels do not compile: {problem} {log}"));
        }
        let code = nvrtc::result::get_ptx(program).map_err(|e| text(&e))?;
        _ = nvrtc::result::destroy_program(program);
        let module = driver::module::load_data(code.as_ptr().cast()).map_err(|e| text(&e))?;
        let function = |name: &'static str| {
            let spelled = CString::new(name).map_err(|e| text(&e))?;
            let spelled: &CStr = &spelled;
            Ok((name, driver::module::get_function(module, spelled.to_owned()).map_err(|e| text(&e))?))
        };
        NAMES.into_iter().map(function).collect()
    }
}
