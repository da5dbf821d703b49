//! Peak memory of a fit, counted by the allocator: under three feature matrices and the smaller Gram matrix. Where that
//! is little, the eigendecomposition shows, with five Gram matrices of its own: at the end of every fit, and with noise
//! per task in every sweep beside two feature matrices. See equation 23 in `docs/derivation.md`.

use rffblr::data::Dataset;
use rffblr::linalg::Mat;
use rffblr::{CosineSettings, FeatureCount, Form, Noise, Settings, fit, memory_of_fit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, which also remembers the most that was in use at once.
struct Counting;
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What a piece of work gives, and the most bytes it had in use at once beyond those of before. Work on other threads
/// at the same time counts too.
fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    (result, PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

/// What a fit asks for before it begins is what it takes, or a little more.
#[test]
fn what_a_fit_needs_is_known_before() {
    let _alone = ALONE.lock().unwrap();
    for (rows, inputs, form) in [
        (900, 6, Form::Kernel),
        (1600, 20, Form::Kernel),
        (600, 6, Form::Sinusoids { sparsity: 0.75 }),
        (6000, 6, Form::DRAWN),
    ] {
        let x = Mat::from_fn(rows, inputs, |n, d| ((n * (d + 3)) as f64 * 0.37).sin());
        let y = Mat::from_fn(rows, 2, |n, c| (x[(n, c)] * 2.0).sin() + ((n * 7 + c) as f64 * 1.7).sin());
        let data = Dataset::new(x, y).unwrap();
        let settings = Settings { form, max_iterations: 3, ..Settings::DEFAULT };
        let estimate = memory_of_fit(&data, &settings);
        fit(&data, &settings).unwrap();
        let (_model, peak) = peak_of(|| fit(&data, &settings).unwrap());
        let share = peak as f64 / estimate;
        println!("N={rows} {:?}: {:.1} MB of {:.1} MB", settings.form, peak as f64 / 1e6, estimate / 1e6);
        assert!((0.25..1.0).contains(&share), "N={rows} {:?}: {peak} of {estimate}", settings.form);
    }
}

/// One measurement at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_fit_stays_within_its_memory() {
    let _alone = ALONE.lock().unwrap();
    let tasks = 16;
    for (rows, features, noise) in [
        (1000, 8000, Noise::Shared),
        (1000, 8000, Noise::PerTask),
        (1000, 900, Noise::Shared),
        (1000, 900, Noise::PerTask),
        (1000, 500, Noise::Shared),
    ] {
        let x = Mat::from_fn(rows, 10, |n, d| ((n * (d + 3)) as f64 * 0.37).sin());
        let y = Mat::from_fn(rows, tasks, |n, c| (x[(n, c % 10)] * 2.0).sin() + ((n * 7 + c) as f64 * 1.7).sin());
        let data = Dataset::new(x, y).unwrap();
        let settings = Settings {
            form: CosineSettings {
                features: FeatureCount::Exactly(features),
                noise,
                links: false,
                ..CosineSettings::DEFAULT
            }
            .into(),
            max_iterations: 2,
            ..Settings::COSINES
        };
        // The first products of a thread reserve its packing buffers (64 MiB each, whatever the problem): not counted.
        fit(&data, &settings).unwrap();
        let (model, peak) = peak_of(|| fit(&data, &settings).unwrap());
        let peak = peak as f64;
        drop(model);
        let feature_matrix = 8.0 * (rows * features) as f64;
        let gram = 8.0 * (rows.min(features) as f64).powi(2);
        let eigen = if noise == Noise::Shared { 0.0 } else { 2.0 * feature_matrix } + 5.5 * gram;
        let limit = (3.0 * feature_matrix + gram).max(eigen);
        assert!(memory_of_fit(&data, &settings) > limit);
        println!("N={rows} M={features} {noise:?}: peak {:.1} MB, limit {:.1} MB", peak / 1e6, limit / 1e6);
        assert!(peak < limit, "N={rows} M={features} {noise:?}: {:.1} MB over {:.1} MB", peak / 1e6, limit / 1e6);
    }
}
