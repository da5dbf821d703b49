//! Symmetries of a whole fit, its settings and its trace.

use crate::{assert_close, assert_tables, normal, smooth, with_gaps};
use rffblr::data::{Dataset, Weights, cohort};
use rffblr::linalg::Mat;
use rffblr::{
    Bandwidth, CosineSettings, Error, FeatureCount, GammaPrior, InputScales, LinkScale, Noise, Precision, Pruning,
    Settings, Stop, TargetScale, fit, fit_observed, metrics,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

fn few() -> CosineSettings {
    CosineSettings { features: FeatureCount::Exactly(40), ..CosineSettings::DEFAULT }
}

fn drawn(cosines: CosineSettings) -> Settings {
    Settings { form: cosines.into(), max_iterations: 60, ..Settings::COSINES }
}

fn quick() -> Settings {
    drawn(few())
}

#[test]
fn the_default_recovers_a_cohort_with_known_truth() {
    let cohort = cohort(200, 7).unwrap();
    let model = fit(&cohort.train, &Settings::DEFAULT).unwrap();
    let p = model.predict(cohort.test.inputs()).unwrap();
    let r2 = metrics::task_r2(cohort.test.targets(), p.mean.as_ref()).unwrap();
    // The noise alone caps each task; with 200 rows and 12 inputs most of the rest is found.
    let best = metrics::task_r2(cohort.test.targets(), cohort.truth.as_ref()).unwrap();
    assert!(r2.overall > 0.6 * best.overall, "{:?} of {:?}", r2, best);
    let (lower, upper) = p.interval(0.9).unwrap();
    let covered = metrics::coverage(cohort.test.targets(), lower.as_ref(), upper.as_ref()).unwrap().overall;
    assert!((0.82..0.97).contains(&covered), "{covered}");
}

#[test]
fn permuted_rows_and_tasks_give_permuted_results() {
    let data = with_gaps(&smooth(40, 3, 3, 1), 7);
    let rows: Vec<usize> = (0..40).map(|n| (n * 17) % 40).collect();
    let tasks = [2, 0, 1];
    let shuffled = data.select(&rows).unwrap();
    let y = Mat::from_fn(40, 3, |n, c| shuffled.targets()[(n, tasks[c])]);
    let shuffled = Dataset::new(shuffled.inputs().to_owned(), y).unwrap();
    for settings in [
        quick(),
        Settings {
            form: CosineSettings { links: true, features: FeatureCount::Exactly(60), ..CosineSettings::PAPER }.into(),
            max_iterations: 30,
            ..Settings::PAPER
        },
    ] {
        let (a, b) = (fit(&data, &settings).unwrap(), fit(&shuffled, &settings).unwrap());
        let new = normal(10, 3, 99);
        let (p, q) = (a.predict(new.as_ref()).unwrap(), b.predict(new.as_ref()).unwrap());
        for (c, &original) in tasks.iter().enumerate() {
            for n in 0..10 {
                assert_close("mean", q.mean[(n, c)], p.mean[(n, original)], 1e-6);
                assert_close("std", q.std[(n, c)], p.std[(n, original)], 1e-6);
            }
        }
    }
}

#[test]
fn repeats_equal_repeated_rows() {
    for settings in [
        Settings {
            form: CosineSettings { features: FeatureCount::PerRow(0.8), ..CosineSettings::DEFAULT }.into(),
            max_iterations: 40,
            ..Settings::COSINES
        },
        Settings {
            form: CosineSettings { features: FeatureCount::PerRow(1.5), links: true, ..CosineSettings::PAPER }.into(),
            max_iterations: 40,
            ..Settings::PAPER
        },
    ] {
        let data = with_gaps(&smooth(25, 2, 2, 4), 6);
        let counts: Vec<usize> = (0..25).map(|n| [1, 3, 2, 0, 1][n % 5]).collect();
        let weighted = data.clone().with_weights(Weights::Repeats(counts.iter().map(|&w| w as f64).collect())).unwrap();
        let repeated: Vec<usize> = (0..25).flat_map(|n| vec![n; counts[n]]).collect();
        let repeated = data.select(&repeated).unwrap();
        let (a, b) = (fit(&weighted, &settings).unwrap(), fit(&repeated, &settings).unwrap());
        assert_close("bound", a.objective(), b.objective(), 1e-7);
        let new = normal(12, 2, 5);
        let (p, q) = (a.predict(new.as_ref()).unwrap(), b.predict(new.as_ref()).unwrap());
        assert_tables("mean", &p.mean, &q.mean, 1e-7);
        assert_tables("std", &p.std, &q.std, 1e-7);
    }
}

#[test]
fn scaling_a_target_scales_its_prediction_and_nothing_else() {
    let data = smooth(50, 3, 3, 2);
    let factor = [1.0, 1000.0, 1.0];
    let y = Mat::from_fn(50, 3, |n, c| factor[c] * data.targets()[(n, c)]);
    let scaled = Dataset::new(data.inputs().to_owned(), y).unwrap();
    let (a, b) = (fit(&data, &quick()).unwrap(), fit(&scaled, &quick()).unwrap());
    assert_close("bandwidth", b.bandwidths()[0], a.bandwidths()[0], 1e-9);
    let new = normal(8, 3, 6);
    let (p, q) = (a.predict(new.as_ref()).unwrap(), b.predict(new.as_ref()).unwrap());
    for (c, factor) in factor.iter().enumerate() {
        for n in 0..8 {
            assert_close("mean", q.mean[(n, c)] / factor, p.mean[(n, c)], 1e-9);
            assert_close("std", q.std[(n, c)] / factor, p.std[(n, c)], 1e-9);
        }
    }
}

#[test]
fn restarts_use_different_draws_and_keep_the_best_bound() {
    let data = smooth(40, 3, 2, 3);
    let settings = drawn(CosineSettings { restarts: 4, ..few() });
    let bounds = std::sync::Mutex::new(vec![f64::NEG_INFINITY; 4]);
    let model = fit_observed(&data, &settings, &|i| {
        bounds.lock().unwrap()[i.restart] = i.objective;
        ControlFlow::Continue(())
    })
    .unwrap();
    let bounds = bounds.into_inner().unwrap();
    assert!(bounds.iter().all(|b| *b <= model.objective()));
    assert!(bounds.contains(&model.objective()));
    assert!(bounds.windows(2).all(|pair| pair[0] != pair[1]), "{bounds:?}");
}

#[test]
fn every_way_to_stop_is_reported() {
    let data = smooth(30, 2, 1, 8);
    let converged = fit(&data, &Settings { max_iterations: 5000, ..quick() }).unwrap();
    assert_eq!(converged.stop(), Stop::Converged);
    let [.., a, b] = converged.trace() else { panic!("too short") };
    assert!((b.objective - a.objective).abs() <= 1e-5 * b.objective.abs());

    let short = fit(&data, &Settings { max_iterations: 3, ..quick() }).unwrap();
    assert_eq!((short.stop(), short.trace().len()), (Stop::MaxIterations, 3));

    let seen = AtomicUsize::new(0);
    let asked = fit_observed(&data, &quick(), &|_| match seen.fetch_add(1, Ordering::Relaxed) {
        4 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .unwrap();
    assert_eq!((asked.stop(), asked.trace().len()), (Stop::Requested, 5));
    assert!(asked.predict(data.inputs()).is_ok());
}

#[test]
fn the_trace_rises_while_features_are_fixed() {
    let data = smooth(40, 3, 3, 12);
    for precision in [Precision::Free, Precision::Tied] {
        for noise in [Noise::Shared, Noise::PerTask] {
            let settings = drawn(CosineSettings {
                precision,
                noise,
                pruning: Pruning::Never,
                bandwidth: Bandwidth::Fixed(0.2),
                ..few()
            });
            let model = fit(&data, &settings).unwrap();
            assert!(model.bandwidths().iter().all(|bandwidth| *bandwidth == 0.2));
            let bounds: Vec<f64> = model.trace().iter().map(|i| i.objective).collect();
            assert!(bounds.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9 * pair[0].abs()), "{bounds:?}");
        }
    }
}

#[test]
fn learning_the_bandwidth_raises_the_bound() {
    let data = smooth(60, 2, 2, 13);
    for start in [0.005, 1.5] {
        let with = |bandwidth| {
            let settings = Settings {
                max_iterations: 300,
                ..drawn(CosineSettings { bandwidth, input_scales: InputScales::Uniform, links: false, ..few() })
            };
            fit(&data, &settings).unwrap()
        };
        let (fixed, learned) = (with(Bandwidth::Fixed(start)), with(Bandwidth::Learned { start: Some(start) }));
        assert!(learned.objective() > fixed.objective() + 5.0, "{} after {}", learned.objective(), fixed.objective());
    }
}

#[test]
fn learned_input_scales_find_the_inputs_that_matter() {
    let x = normal(150, 6, 20);
    let error = normal(150, 1, 21);
    let y = Mat::from_fn(150, 1, |n, _| (2.0 * x[(n, 2)]).sin() + 0.1 * error[(n, 0)]);
    let data = Dataset::new(x, y).unwrap();
    let settings = Settings {
        form: CosineSettings {
            input_scales: InputScales::Learned,
            links: false,
            features: FeatureCount::Exactly(300),
            ..CosineSettings::DEFAULT
        }
        .into(),
        max_iterations: 150,
        ..Settings::COSINES
    };
    let r = fit(&data, &settings).unwrap().input_scales().col_as_slice(0).to_vec();
    assert_close("mean", r.iter().sum::<f64>() / 6.0, 1.0, 1e-9);
    let others = (0..6).filter(|&d| d != 2).map(|d| r[d]).fold(0.0, f64::max);
    assert!(r[2] > 5.0 * others, "{r:?}");
}

#[test]
fn the_paper_preset_is_sparse_and_accurate_on_easy_data() {
    let data = smooth(120, 2, 4, 30);
    let test = smooth(120, 2, 4, 31);
    for (links, targets) in
        [(false, TargetScale::Standardised), (true, TargetScale::Standardised), (true, TargetScale::Raw)]
    {
        let model = fit(
            &data,
            &Settings {
                form: CosineSettings { links, target_scale: targets, ..CosineSettings::PAPER }.into(),
                ..Settings::PAPER
            },
        )
        .unwrap();
        let drawn = model.drawn_features() + if links { 2 } else { 0 };
        assert!(model.active_features() < drawn / 3, "{} of {drawn}", model.active_features());
        let p = model.predict(test.inputs()).unwrap();
        let r2 = metrics::task_r2(test.targets(), p.mean.as_ref()).unwrap().overall;
        assert!(r2 > 0.85, "{r2}");
    }
}

/// Links x with precision α are links x/√D with precision α/D, whose Gamma prior has D times the rate.
#[test]
fn the_scale_of_links_is_a_matter_of_their_precision() {
    let (data, test) = (smooth(40, 4, 2, 5), smooth(20, 4, 2, 6));
    let prior = |rate: f64| GammaPrior { shape: 0.3, rate };
    let unit = CosineSettings {
        features: FeatureCount::Exactly(0),
        weight_prior: prior(0.2),
        pruning: Pruning::Never,
        ..CosineSettings::AUTHORS
    };
    let shared = CosineSettings {
        link_scale: LinkScale::Shared,
        weight_start: unit.weight_start / 4.0,
        weight_prior: prior(0.8),
        ..unit.clone()
    };
    let few_sweeps = |cosines: CosineSettings| Settings { max_iterations: 3, ..drawn(cosines) };
    let (unit, shared) = (fit(&data, &few_sweeps(unit)).unwrap(), fit(&data, &few_sweeps(shared)).unwrap());
    assert!((unit.objective() - shared.objective()).abs() < 1e-9 * shared.objective().abs());
    let [unit, shared] = [&unit, &shared].map(|model| model.predict(test.inputs()).unwrap());
    for (n, c) in (0..20).flat_map(|n| [(n, 0), (n, 1)]) {
        assert!((unit.mean[(n, c)] - shared.mean[(n, c)]).abs() < 1e-9);
        assert!((unit.std[(n, c)] - shared.std[(n, c)]).abs() < 1e-9);
    }
}

#[test]
fn features_are_dropped_from_the_sweep_that_is_asked_for() {
    let data = smooth(40, 2, 2, 5);
    for from in [1, 2, 7] {
        for pruning in [Pruning::BelowEqualShare(1e9), Pruning::BelowWeight(1e9)] {
            let cosines = CosineSettings { pruning, pruning_from: from, tolerance: 1e-300, ..CosineSettings::PAPER };
            let model = fit(&data, &Settings { max_iterations: 9, ..drawn(cosines) }).unwrap();
            let active: Vec<usize> = model.trace().iter().map(|sweep| sweep.active).collect();
            assert_eq!(active, [vec![80; from], vec![0; 9 - from]].concat());
        }
    }
}

#[test]
fn settings_are_checked_by_name() {
    let data = smooth(10, 2, 1, 1);
    for (settings, name) in [
        (drawn(CosineSettings { restarts: 0, ..few() }), "restarts"),
        (Settings { max_iterations: 0, ..quick() }, "max-iterations"),
        (drawn(CosineSettings { tolerance: -1.0, ..few() }), "tolerance"),
        (drawn(CosineSettings { learning_rate: f64::NAN, ..few() }), "learning-rate"),
        (drawn(CosineSettings { bandwidth: Bandwidth::Fixed(0.0), ..few() }), "bandwidth"),
        (drawn(CosineSettings { input_scales: InputScales::Fixed(vec![1.0, -1.0]), ..few() }), "input-scales"),
        (drawn(CosineSettings { features: FeatureCount::Exactly(0), links: false, ..few() }), "features"),
        (drawn(CosineSettings { pruning: Pruning::BelowEqualShare(0.1), ..few() }), "pruning"),
        (drawn(CosineSettings { spectrum: rffblr::fourier::Spectrum::LaplaceL1, ..few() }), "directions"),
        (drawn(CosineSettings { pruning: Pruning::BelowWeight(f64::NAN), ..CosineSettings::PAPER }), "pruning"),
        (drawn(CosineSettings { pruning_from: 0, ..few() }), "pruning-from"),
        (drawn(CosineSettings { weight_start: -1.0, ..few() }), "weight-start"),
        (drawn(CosineSettings { noise_start: 0.0, ..few() }), "noise-start"),
    ] {
        match fit(&data, &settings) {
            Err(Error::Setting { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{name}: {:?}", other.map(|_| "fitted")),
        }
    }
    let wrong = drawn(CosineSettings { input_scales: InputScales::Fixed(vec![1.0]), ..few() });
    assert!(matches!(fit(&data, &wrong), Err(Error::Shape { .. })));
    let many = drawn(CosineSettings { features: FeatureCount::Exactly(usize::MAX), ..few() });
    assert!(matches!(fit(&data, &many), Err(Error::Memory(_) | Error::Setting { name: "features", .. })));
}
