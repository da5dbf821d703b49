//! A device against the processor. Tests whose names begin with `gpu` say so and end where there is none.

use super::*;
use crate::data::Dataset;
use crate::drawn::{Accumulator, FeatureMap, Sums, parts};
use crate::fourier::{Directions, Offsets, Recipe, Scales, Spectrum};
use crate::kernel::Family;
use crate::linalg::{fill_upper, multiply};
use crate::model::{Model, fit};
use crate::settings::{Form, Precision, Settings};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

const HOST: Host = Host(Threads::ONE);

fn gpu() -> Option<Cuda> {
    let found = Cuda::open(0);
    if let Err(problem) = &found {
        eprintln!("skipped, as there is no GPU: {problem}");
    }
    found.ok()
}

fn table(rows: usize, columns: usize, shift: usize) -> Mat<f64> {
    Mat::from_fn(rows, columns, |i, j| ((i * 7 + j * 13 + shift) as f64 * 0.71).sin())
}

/// A symmetric positive definite matrix, the upper triangle included.
fn positive(size: usize) -> Mat<f64> {
    let a = table(size, size + 3, 5);
    let mut s = multiply(a.as_ref(), a.transpose(), Threads::ONE);
    (0..size).for_each(|i| s[(i, i)] += 1.0);
    s
}

fn expect_near(found: &Mat<f64>, expected: &Mat<f64>, lower: bool) {
    assert_eq!(found.shape(), expected.shape());
    let size = expected.norm_max().max(1e-300);
    for j in 0..expected.ncols() {
        for i in if lower { j } else { 0 }..expected.nrows() {
            let (a, b) = (found[(i, j)], expected[(i, j)]);
            assert!((a - b).abs() < 1e-12 * size, "({i}, {j}): {a} {b}");
        }
    }
}

fn basis(inputs: usize, count: usize) -> Basis {
    let recipe = Recipe {
        spectrum: Spectrum::Rbf,
        offsets: Offsets::Paired,
        directions: Directions::Independent,
        count,
        links: true,
    };
    Basis::draw(&recipe, inputs, &mut ChaCha8Rng::seed_from_u64(3)).scaled(&Scales::uniform(0.7, inputs))
}

fn kernel() -> Kernel {
    Kernel {
        linear: 0.4,
        rbf: Family { variance: 0.3, bandwidth: 0.2 },
        laplace_l1: Family { variance: 0.6, bandwidth: 0.3 },
        input_scales: vec![0.4, 0.9, 1.4],
    }
}

/// What every operation gives, in the memory of the processor: matrices, and which of them are lower triangles.
fn operations<B: Backend>(backend: &B) -> Vec<(Mat<f64>, bool)> {
    use Side::{Plain, Transposed};
    let put = |a: &Mat<f64>| backend.put(a.as_ref());
    let (a, b, c) = (table(70, 30, 0), table(30, 20, 1), table(70, 20, 2));
    let mut out = Vec::new();
    let mut product = put(&c);
    backend.product(&mut product, Accumulate::Add, Plain(&put(&a)), Plain(&put(&b)), 0.7);
    out.push((backend.get(&product), false));
    // Of a plain factor with more columns than asked for the first are taken.
    let mut some = backend.zeros(30, 7);
    backend.product(&mut some, Accumulate::Replace, Transposed(&put(&a)), Plain(&put(&c)), -1.0);
    out.push((backend.get(&some), false));
    let mut transposed = backend.zeros(70, 30);
    backend.product(&mut transposed, Accumulate::Replace, Plain(&put(&c)), Transposed(&put(&b)), 1.0);
    out.push((backend.get(&transposed), false));
    let mut gram = put(&positive(30));
    backend.add_gram(&mut gram, &put(&a));
    out.push((backend.get(&gram), true));
    let mut sum = put(&a);
    backend.add(&mut sum, &put(&table(70, 30, 9)), 0.3);
    backend.scale_columns(&mut sum, a.col_as_slice(0).split_at(30).0);
    out.push((backend.get(&sum), false));
    let mut lower = put(&positive(30));
    backend.scale_both(&mut lower, b.col_as_slice(3));
    backend.fill_upper(&mut lower);
    out.push((backend.get(&lower), false));
    let root: Vec<f64> = (0..70).map(|n| 1.0 + (n % 3) as f64).collect();
    let mut place = None;
    for root in [None, Some(root.as_slice())] {
        let features = backend.room(&mut place, 70, 24 + 3 + 1);
        backend.features(&basis(3, 24), &put(&table(70, 3, 4)), root, features);
        out.push((backend.get(features), false));
    }
    let mut mean = put(&c);
    backend.residual(&put(&table(70, 20, 8)), &mut mean, b.col_as_slice(0).split_at(20).0);
    out.push((backend.get(&mean), false));
    let mut pulled = backend.zeros(70, 10);
    backend.pull(&put(&a), &put(&c), &mut pulled);
    out.push((backend.get(&pulled), false));
    let s = put(&positive(70));
    let factor = backend.factor(&s, 0.5).unwrap();
    let mut solved = c.clone();
    backend.half_solve(&factor, &mut solved);
    out.push((solved, false));
    let mut solved = c.clone();
    backend.half_solve_transposed(&factor, &mut solved);
    out.push((solved, false));
    out.push((Mat::from_fn(1, 1, |_, _| backend.ln_det(&factor)), false));
    let explained = backend.explained(&factor, &put(&table(9, 70, 6)));
    out.push((Mat::from_fn(9, 1, |i, _| explained[i]), false));
    let carried = backend.carried(&HOST.factor(&positive(70), 0.5).unwrap());
    let explained = backend.explained(&carried, &put(&table(9, 70, 6)));
    out.push((Mat::from_fn(9, 1, |i, _| explained[i]), false));
    let (diagonal, inverse) = backend.inverse(factor, true);
    out.push((Mat::from_fn(70, 1, |i, _| diagonal[i]), false));
    out.push((backend.get(&inverse.unwrap()), true));
    out.push((backend.lower(backend.factor(&s, 0.5).unwrap()).lower().clone(), true));
    let gram = backend.gram(&kernel(), &table(70, 3, 4));
    out.push((backend.get(&gram), true));
    let rows: Vec<usize> = (0..70).filter(|n| n % 4 != 1).collect();
    let some: Vec<f64> = rows.iter().map(|&n| root[n]).collect();
    for (rows, root) in [(None, root.as_slice()), (Some(rows.as_slice()), some.as_slice())] {
        let factor = backend.weighted_factor(None, &gram, rows, root, 0.2).unwrap();
        let again = backend.weighted_factor(Some(factor), &gram, rows, root, 0.1).unwrap();
        out.push((backend.lower(again).lower().clone(), true));
    }
    let diagonal = backend.diagonal_of(&s);
    out.push((Mat::from_fn(70, 1, |i, _| diagonal[i]), false));
    out
}

/// The processor's operations against their definitions, entry by entry.
#[test]
fn operations_are_what_they_say() {
    let found = operations(&HOST);
    let (a, b, c) = (table(70, 30, 0), table(30, 20, 1), table(70, 20, 2));
    let sum = |count: usize, f: &dyn Fn(usize) -> f64| (0..count).map(f).sum::<f64>();
    expect_near(
        &found[0].0,
        &Mat::from_fn(70, 20, |i, j| c[(i, j)] + 0.7 * sum(30, &|k| a[(i, k)] * b[(k, j)])),
        false,
    );
    expect_near(&found[1].0, &Mat::from_fn(30, 7, |i, j| -sum(70, &|k| a[(k, i)] * c[(k, j)])), false);
    expect_near(&found[2].0, &Mat::from_fn(70, 30, |i, j| sum(20, &|k| c[(i, k)] * b[(j, k)])), false);
    let s = positive(30);
    expect_near(&found[3].0, &Mat::from_fn(30, 30, |i, j| s[(i, j)] + sum(70, &|k| a[(k, i)] * a[(k, j)])), true);
    let other = table(70, 30, 9);
    let scaled = |i: usize, j: usize| (a[(i, j)] + 0.3 * other[(i, j)]) * a[(j, 0)];
    expect_near(&found[4].0, &Mat::from_fn(70, 30, scaled), false);
    expect_near(&found[5].0, &Mat::from_fn(30, 30, |i, j| s[(i, j)] * b[(i, 3)] * b[(j, 3)]), false);
    let (basis, x) = (basis(3, 24), table(70, 3, 4));
    let feature = |i: usize, m: usize| match m {
        m if m < 24 => basis.amplitude * (sum(3, &|d| x[(i, d)] * basis.directions[(d, m)]) + basis.offsets[m]).cos(),
        m if m < 27 => x[(i, m - 24)] / 3f64.sqrt(),
        _ => 1.0,
    };
    expect_near(&found[6].0, &Mat::from_fn(70, 28, feature), false);
    expect_near(&found[7].0, &Mat::from_fn(70, 28, |i, m| (1.0 + (i % 3) as f64) * feature(i, m)), false);
    let y = table(70, 20, 8);
    expect_near(&found[8].0, &Mat::from_fn(70, 20, |i, j| b[(j, 0)] * (y[(i, j)] - c[(i, j)])), false);
    let pulled = |i: usize, p: usize| c[(i, 2 * p + 1)] * a[(i, 2 * p)] - c[(i, 2 * p)] * a[(i, 2 * p + 1)];
    expect_near(&found[9].0, &Mat::from_fn(70, 10, pulled), false);
}

#[test]
fn gpu_operations_equal_those_of_the_processor() {
    let Some(cuda) = gpu() else { return };
    for (number, ((found, lower), (expected, _))) in operations(&cuda).iter().zip(operations(&HOST)).enumerate() {
        eprintln!("operation {number}");
        expect_near(found, &expected, *lower);
    }
    // A matrix that is not positive definite has no factor, and the device goes on.
    let mut s = positive(20);
    s[(7, 7)] = -1.0;
    assert!(cuda.factor(&cuda.put(s.as_ref()), 0.0).is_none());
    assert_eq!(operations(&cuda).len(), operations(&HOST).len());
}

/// Triangles that are wider than a strip.
#[test]
fn gpu_inverses_of_several_strips_equal_those_of_the_processor() {
    let Some(cuda) = gpu() else { return };
    let s = positive(2100);
    let factor = |backend: &Cuda| backend.factor(&backend.put(s.as_ref()), 500.0).unwrap();
    let (expected, inverse) = HOST.inverse(HOST.factor(&s, 500.0).unwrap(), true);
    let column = |diagonal: &[f64]| Mat::from_fn(2100, 1, |i, _| diagonal[i]);
    let (diagonal, found) = cuda.inverse(factor(&cuda), true);
    expect_near(&cuda.get(&found.unwrap()), &inverse.unwrap(), true);
    expect_near(&column(&diagonal), &column(&expected), false);
    let (diagonal, none) = cuda.inverse(factor(&cuda), false);
    assert!(none.is_none());
    expect_near(&column(&diagonal), &column(&expected), false);
    let (mut gram, mut whole) = (cuda.zeros(2100, 2100), HOST.zeros(2100, 2100));
    cuda.add_gram(&mut gram, &cuda.put(s.as_ref()));
    HOST.add_gram(&mut whole, &s);
    expect_near(&cuda.get(&gram), &whole, true);
}

/// Larger than the pieces in which data travel.
#[test]
fn gpu_large_matrices_come_back_as_they_went() {
    let Some(cuda) = gpu() else { return };
    let a = table(5000, 700, 0);
    assert_eq!(cuda.get(&cuda.put(a.as_ref())), a);
    let part = a.as_ref().submatrix(17, 3, 4100, 600);
    assert_eq!(cuda.get(&cuda.put(part)), part.to_owned());
    let mut s = positive(600);
    fill_upper(s.as_mut());
    assert_eq!(cuda.get(&cuda.put(s.as_ref()).clone()), s);
}

#[test]
fn gpu_too_much_memory_is_refused_with_the_numbers() {
    let Some(cuda) = gpu() else { return };
    let problem = chosen(Device::Cuda(0), 1.0, 1e15, "sums").unwrap_err().to_string();
    assert!(problem.contains("1000000.0 GB") && problem.contains(cuda.name()) && problem.contains("free"), "{problem}");
    let problem = caught(|| Ok(cuda.zeros(1 << 24, 1 << 20).rows())).unwrap_err().to_string();
    assert!(problem.contains("GB"), "{problem}");
    // Asked for by itself, it is the processor's work.
    assert!(chosen(Device::Auto, 1e18, 1e15, "sums").unwrap().is_none());
}

/// Three targets, the second with gaps, and weights if asked for.
fn data(rows: usize, weighted: bool) -> Dataset {
    let x = Mat::from_fn(rows, 3, |n, d| ((n * (5 + d) + d * 3) as f64 * 0.813).sin() + (n as f64 * 0.37).cos());
    let y = Mat::from_fn(rows, 3, |n, c| match c == 1 && n % 5 == 2 {
        true => f64::NAN,
        false => (2.0 * x[(n, c)]).sin() + x[(n, 2)] + 0.2 * ((n * n % 1013 * (7 + c)) as f64).cos(),
    });
    let data = Dataset::new(x, y).unwrap();
    match weighted {
        false => data,
        true => {
            data.with_weights(crate::data::Weights::Repeats((0..rows).map(|n| (1 + n % 3) as f64).collect())).unwrap()
        }
    }
}

/// Of means and deviations, and of the deviations of the function, which rounding touches most: they are small.
fn differences(a: &Model, b: &Model, inputs: MatRef<'_, f64>) -> [f64; 2] {
    let (a, b) = (a.predict(inputs).unwrap(), b.predict(inputs).unwrap());
    let of = |a: &Mat<f64>, b: &Mat<f64>| (a - b).norm_max() / b.norm_max();
    [of(&a.mean, &b.mean).max(of(&a.std, &b.std)), of(&a.latent_std, &b.latent_std)]
}

/// Given the features, sums and solutions are those of the processor to rounding, and merged over both.
#[test]
fn gpu_sums_of_a_map_equal_those_of_the_processor() {
    let Some(_) = gpu() else { return };
    for (weighted, precision) in [(false, Precision::Tied), (true, Precision::Tied), (false, Precision::Free)] {
        let data = data(4000, weighted);
        let form = Form::Drawn { features: Some(200), precision, effort: 0.01 };
        let settings = Settings { form, device: Device::Cpu, ..Settings::DEFAULT };
        let map = FeatureMap::learn(&data, 4000.0, &settings, &|_| ControlFlow::Continue(())).unwrap();
        let on = |device| Accumulator::new(&map).on(device, 4000.0, false).unwrap();
        let add = |sums: &mut Accumulator, block: usize| {
            let weights = data.given_weights().map(|weights| &weights.values()[1000 * block..1000 * (block + 1)]);
            let (x, y) = (data.inputs().subrows(1000 * block, 1000), data.targets().subrows(1000 * block, 1000));
            sums.update(block as u64, x, y, weights).unwrap();
        };
        let (mut here, mut there, mut both) = (on(Device::Cpu), on(Device::Cuda(0)), on(Device::Cuda(0)));
        (0..4).for_each(|block| add(&mut here, block));
        [2, 0, 3, 1].into_iter().for_each(|block| add(&mut there, block));
        let mut other = on(Device::Cpu);
        [0, 3].into_iter().for_each(|block| add(&mut other, block));
        [1, 2].into_iter().for_each(|block| add(&mut both, block));
        both.merge(Accumulator::from_bytes(&other.to_bytes().unwrap()).unwrap()).unwrap();
        let again = Accumulator::from_bytes(&there.to_bytes().unwrap()).unwrap();
        let expected = map.model(&here).unwrap();
        for sums in [there, both, again] {
            let worst = differences(&map.model(&sums).unwrap(), &expected, data.inputs().subrows(0, 300));
            eprintln!("weights {weighted}, {precision:?}: largest relative differences {worst:?}");
            assert!(worst[0] < 1e-8 && worst[1] < 1e-6, "{worst:?}");
        }
    }
}

/// The same data, but for the last bit of half of the targets.
fn shaken(data: &Dataset) -> Dataset {
    let change = |n: usize, c: usize| if (n * 7 + c).is_multiple_of(2) { 1.0 } else { 1.0 + f64::EPSILON };
    let (rows, tasks) = data.targets().shape();
    let targets = Mat::from_fn(rows, tasks, |n, c| data.targets()[(n, c)] * change(n, c));
    let shaken = Dataset::new(data.inputs().to_owned(), targets).unwrap();
    match data.given_weights() {
        None => shaken,
        Some(weights) => shaken.with_weights(weights.clone()).unwrap(),
    }
}

/// After few steps the models are the same to 10⁻⁸. Hundreds of them enlarge whatever differs: then a device differs from the
/// processor as the processor does from itself where targets change in their last bit.
#[test]
fn gpu_models_equal_those_of_the_processor() {
    let Some(_) = gpu() else { return };
    let drawn = |precision| Form::Drawn { features: Some(200), precision, effort: 1.0 };
    for (form, rows, weighted) in [
        (drawn(Precision::Tied), 3000, false),
        (drawn(Precision::Tied), 3000, true),
        (drawn(Precision::Free), 1500, false),
        (Form::Kernel, 700, true),
        (Form::Kernel, 1900, false),
    ] {
        let data = data(rows, weighted);
        for max_iterations in [4, Settings::DEFAULT.max_iterations] {
            let few = max_iterations == 4;
            let settings = |device| Settings { form: form.clone(), device, max_iterations, ..Settings::DEFAULT };
            let on = |device| fit(&data, &settings(device)).unwrap();
            let (there, again, here) = (on(Device::Cuda(0)), on(Device::Cuda(0)), on(Device::Cpu));
            let inputs = data.inputs().subrows(0, 300);
            let found = differences(&there, &here, inputs);
            let usual = differences(&fit(&shaken(&data), &settings(Device::Cpu)).unwrap(), &here, inputs);
            eprintln!("{form:?}, {rows} rows, weights {weighted}, at most {max_iterations} steps a search: {found:?}");
            eprintln!("  where targets change in their last bit: {usual:?}");
            match few {
                true => assert!(found[0] < 1e-8 && found[1] < 1e-6, "{found:?}"),
                false => assert!(found.iter().zip(&usual).all(|(found, usual)| *found < 1e-8_f64.max(100.0 * usual))),
            }
            // The same bits on repeat.
            assert!(differences(&there, &again, inputs) == [0.0, 0.0]);
            if few {
                let left = |model: &Model| model.leave_one_out(&data).unwrap().mean;
                let (a, b) = (left(&there), left(&here));
                assert!((&a - &b).norm_max() < 1e-8 * b.norm_max());
            }
        }
    }
}

/// Runs work that is done on the device in the end, and gives seconds of the best of three rounds.
fn timed(cuda: &Cuda, mut work: impl FnMut()) -> f64 {
    let mut once = || {
        let start = Instant::now();
        work();
        _ = cuda.get(&cuda.zeros(1, 1));
        start.elapsed().as_secs_f64()
    };
    once();
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// What the pass over rows takes, uploads included, beside a large product: half of its rate from 4096 features on, a third with
/// fewer, whose uploads and cosines weigh more.
#[test]
fn gpu_pass_keeps_the_device_busy() {
    let Some(cuda) = gpu() else { return };
    let size = 8192;
    let (a, mut out) = (cuda.put(table(size, size, 0).as_ref()), cuda.zeros(size, size));
    let seconds = timed(&cuda, || {
        cuda.product(&mut out, Accumulate::Replace, Side::Plain(&a), Side::Plain(&a), 1.0);
    });
    let rate = 2.0 * (size as f64).powi(3) / seconds;
    eprintln!("{}: products at {:.1} TFLOP/s", cuda.name(), rate / 1e12);
    for (cosines, least) in [(2048, 0.33), (4096, 0.5), (8192, 0.5)] {
        let (inputs, basis) = (table(32_768, 20, 1), basis(20, cosines));
        let columns = basis.columns() + 1;
        let mut sums = Sums::new(columns, 4);
        let (targets, root, mut place) = (table(32_768, 4, 2), vec![1.0; 32_768], None);
        let blocks = 4;
        let seconds = timed(&cuda, || {
            for _ in 0..blocks {
                for part in parts(&cuda, inputs.as_ref(), targets.as_ref(), &root) {
                    let features = part.features(&cuda, &basis, &mut place);
                    sums.add_rows(&cuda, &part, features);
                }
            }
        });
        // A lower triangle of products and sums.
        let operations = 32_768.0 * (columns as f64).powi(2);
        let pass = blocks as f64 * operations / seconds;
        let milliseconds = |work: &mut dyn FnMut()| 1e3 * timed(&cuda, work);
        let part = &parts(&cuda, inputs.as_ref(), targets.as_ref(), &root)[0];
        let carried = milliseconds(&mut || drop(parts(&cuda, inputs.as_ref(), targets.as_ref(), &root)));
        let lifted = milliseconds(&mut || drop(part.features(&cuda, &basis, &mut place).clone()));
        let features = part.features(&cuda, &basis, &mut place);
        let mut gram = cuda.zeros(columns, columns);
        let lower = milliseconds(&mut || cuda.add_gram(&mut gram, features));
        let whole = milliseconds(&mut || {
            let (a, b) = (Side::Transposed(&*features), Side::Plain(&*features));
            cuda.product(&mut gram, Accumulate::Add, a, b, 1.0);
        });
        let mut cross = cuda.zeros(columns, 4);
        let crossed = milliseconds(&mut || {
            let (features, targets) = (Side::Transposed(&*features), Side::Plain(&part.targets));
            cuda.product(&mut cross, Accumulate::Add, features, targets, 1.0);
        });
        eprintln!(
            "{columns} columns: pass at {:.1} TFLOP/s, {:.2} of a product's; ms of a block of 32 768 rows: rows {carried:.1}, features and a copy \
             {lifted:.1}, gram {lower:.1} (as a product {whole:.1}), cross {crossed:.1}",
            pass / 1e12,
            pass / rate,
        );
        assert!(pass > least * rate, "{} of the rate of products", pass / rate);
        let gram = cuda.put(positive(columns.min(2069)).as_ref());
        let factor = milliseconds(&mut || drop(cuda.factor(&gram, 1.0)));
        let inverse = milliseconds(&mut || drop(cuda.inverse(cuda.factor(&gram, 1.0).unwrap(), true))) - factor;
        let factored = cuda.factor(&gram, 1.0).unwrap();
        let rows = cuda.put(table(16_384, gram.rows(), 7).as_ref());
        let explained = milliseconds(&mut || drop(cuda.explained(&factored, &rows)));
        eprintln!(
            "  of {} columns: factor {factor:.1} ms, inverse {inverse:.1} ms, variances of 16 384 rows {explained:.1} ms",
            gram.rows()
        );
    }
}
