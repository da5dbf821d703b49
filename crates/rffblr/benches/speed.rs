//! Speed of the parts and of whole fits. `cargo bench` prints a table; `benches/compare.py` runs single cases beside
//! numpy in one run.
//!
//! Threads: `RAYON_NUM_THREADS`, as everywhere.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rffblr::data::Dataset;
use rffblr::drawn::{Accumulator, FeatureMap};
use rffblr::fourier::{Basis, Directions, Offsets, Recipe, Scales, Spectrum};
use rffblr::internals::{Accumulate, outer};
use rffblr::linalg::{Mat, Threads};
use rffblr::{Bandwidth, CosineSettings, FeatureCount, Form, Precision, Pruning, Settings, fit_observed};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

const INPUTS: usize = 16;

fn normal(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
}

fn dataset(rows: usize, tasks: usize) -> Dataset {
    let x = normal(rows, INPUTS, 1);
    let error = normal(rows, tasks, 2);
    let y = Mat::from_fn(rows, tasks, |n, c| (x[(n, c % INPUTS)] + x[(n, 0)]).sin() + 0.3 * error[(n, c)]);
    Dataset::new(x, y).expect("finite numbers")
}

/// Shortest seconds of one evaluation of the feature matrix, memory reused.
fn features(rows: usize, count: usize, repeats: usize) -> f64 {
    let x = normal(rows, INPUTS, 1);
    let recipe = Recipe {
        spectrum: Spectrum::Rbf,
        offsets: Offsets::Random,
        directions: Directions::Independent,
        count,
        links: false,
    };
    let basis = Basis::draw(&recipe, INPUTS, &mut ChaCha8Rng::seed_from_u64(3));
    let basis = basis.scaled(&Scales::uniform(0.05, INPUTS));
    let one = || {
        let start = Instant::now();
        std::hint::black_box(basis.features(x.as_ref()));
        start.elapsed().as_secs_f64()
    };
    (0..repeats).map(|_| one()).fold(f64::INFINITY, f64::min)
}

/// Shortest seconds between two sweeps of the paper's model without pruning; with γ learned a sweep includes the
/// bandwidth step and the new features.
fn sweep(rows: usize, tasks: usize, count: usize, learned: bool, repeats: usize) -> f64 {
    let settings = Settings {
        form: CosineSettings {
            features: FeatureCount::Exactly(count),
            bandwidth: if learned { Bandwidth::Learned { start: Some(0.05) } } else { Bandwidth::Fixed(0.05) },
            pruning: Pruning::Never,
            tolerance: 1e-300,
            ..CosineSettings::PAPER
        }
        .into(),
        max_iterations: repeats + 1,
        ..Settings::PAPER
    };
    let times = Mutex::new(Vec::new());
    let record = |_: &rffblr::Iteration| {
        times.lock().expect("no panic holds it").push(Instant::now());
        ControlFlow::Continue(())
    };
    fit_observed(&dataset(rows, tasks), &settings, &record).expect("well-behaved data");
    let times = times.into_inner().expect("no panic held it");
    times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).fold(f64::INFINITY, f64::min)
}

/// Seconds and sweeps of a whole fit with the paper's settings and links.
fn whole(rows: usize, tasks: usize, count: usize) -> (f64, usize) {
    let data = dataset(rows, tasks);
    let settings = Settings {
        form: CosineSettings { features: FeatureCount::Exactly(count), links: true, ..CosineSettings::PAPER }.into(),
        ..Settings::PAPER
    };
    let start = Instant::now();
    let model = rffblr::fit(&data, &settings).expect("well-behaved data");
    (start.elapsed().as_secs_f64(), model.trace().len())
}

/// Shortest seconds of adding a block of rows to an accumulator with `count` features, and of the products ΦᵀΦ alone, on
/// features of the same shapes.
fn pass(rows: usize, tasks: usize, count: usize, repeats: usize) -> (f64, f64) {
    let data = dataset(rows, tasks);
    let form = Form::Drawn { features: Some(count), precision: Precision::Tied, effort: 1.0 };
    let settings = Settings { form, max_iterations: 1, ..Settings::DEFAULT };
    let sample = data.select(&(0..500).collect::<Vec<_>>()).expect("rows");
    let map = FeatureMap::learn(&sample, 500.0, &settings, &|_| ControlFlow::Continue(())).expect("well-behaved data");
    // As `Accumulator` does it: some rows at a time.
    const ROWS: usize = 2048;
    let phi = normal(ROWS, count + INPUTS + 1, 5);
    let mut gram = Mat::zeros(phi.ncols(), phi.ncols());
    let (mut whole, mut products) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..repeats {
        let mut sums = Accumulator::new(&map);
        let start = Instant::now();
        sums.update(0, data.inputs(), data.targets(), None).expect("well-behaved data");
        whole = whole.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        for _ in 0..rows / ROWS {
            outer(gram.as_mut(), Accumulate::Add, phi.as_ref().transpose(), Threads::current());
        }
        products = products.min(start.elapsed().as_secs_f64());
    }
    (whole, products)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [kind, rows, tasks, count, repeats] = &arguments[..] {
        let number = |text: &String| text.parse::<usize>().expect("a whole number");
        let (rows, tasks, count, repeats) = (number(rows), number(tasks), number(count), number(repeats));
        let seconds = match kind.as_str() {
            "features" => features(rows, count, repeats),
            "sweep" => sweep(rows, tasks, count, false, repeats),
            "pass" => pass(rows, tasks, count, repeats).0,
            "bandwidth" => sweep(rows, tasks, count, true, repeats),
            _ => whole(rows, tasks, count).0,
        };
        println!("{seconds:e}");
        return;
    }
    println!("threads {}, D = {INPUTS}, milliseconds", rayon::current_num_threads());
    println!(
        "{:>5} {:>3} {:>5} {:>9} {:>9} {:>12} {:>9} {:>7}",
        "N", "C", "M", "features", "sweep", "with γ step", "fit", "sweeps"
    );
    for rows in [150usize, 400, 1000] {
        for tasks in [2, 16] {
            for count in [rows / 2, 2 * rows, 8 * rows] {
                let repeats = (2_000_000_000usize / (rows.min(count).pow(2) * rows.max(count))).clamp(3, 50);
                let ms = |seconds: f64| 1e3 * seconds;
                let (fit, sweeps) = whole(rows, tasks, count);
                println!(
                    "{rows:>5} {tasks:>3} {count:>5} {:>9.2} {:>9.2} {:>12.2} {:>9.0} {sweeps:>7}",
                    ms(features(rows, count, repeats)),
                    ms(sweep(rows, tasks, count, false, repeats)),
                    ms(sweep(rows, tasks, count, true, repeats)),
                    ms(fit),
                );
            }
        }
    }
    println!("a block of 32768 rows, one target: milliseconds, share of ΦᵀΦ, rate of ΦᵀΦ");
    for count in [512, 1024, 2048] {
        let (whole, products) = pass(32_768, 1, count, 5);
        let rate = 32_768.0 * ((count + INPUTS + 1) as f64).powi(2) / products * 1e-9;
        println!("M {count:>5} {:>9.1} {:>5.0} % {rate:>7.1} GFLOP/s", 1e3 * whole, 100.0 * products / whole);
    }
}
