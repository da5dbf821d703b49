//! Same seed and settings, same bits, for 1, 2 or 8 threads.

use crate::{normal, smooth, with_gaps};
use rffblr::{CosineSettings, FeatureCount, Form, Precision, Settings, fit};

fn bits(threads: usize, data: &rffblr::data::Dataset, settings: &Settings) -> String {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let model = fit(data, settings).unwrap();
        let p = model.predict(normal(50, data.inputs().ncols(), 3).as_ref()).unwrap();
        format!("{}{:?}{:?}", model.to_json().unwrap(), p.mean, p.std)
    })
}

#[test]
fn threads_do_not_change_a_bit() {
    let large = smooth(300, 5, 3, 40);
    let gaps = with_gaps(&smooth(80, 5, 3, 41), 6);
    for (data, settings) in [
        // Large enough that matrix products are split: dual, then primal.
        (
            &large,
            Settings {
                form: CosineSettings { features: FeatureCount::PerRow(4.0), ..CosineSettings::DEFAULT }.into(),
                max_iterations: 4,
                ..Settings::COSINES
            },
        ),
        (
            &large,
            Settings {
                form: CosineSettings { features: FeatureCount::PerRow(0.9), ..CosineSettings::DEFAULT }.into(),
                max_iterations: 4,
                ..Settings::COSINES
            },
        ),
        (
            &large,
            Settings {
                form: CosineSettings { features: FeatureCount::PerRow(3.0), links: true, ..CosineSettings::PAPER }
                    .into(),
                max_iterations: 12,
                ..Settings::PAPER
            },
        ),
        // Features drawn from the learned kernel, with gaps and without.
        (
            &large,
            Settings {
                form: Form::Drawn { features: Some(300), precision: Precision::Tied, effort: 1.0 },
                max_iterations: 4,
                ..Settings::DEFAULT
            },
        ),
        (
            &gaps,
            Settings {
                form: Form::Drawn { features: Some(60), precision: Precision::Tied, effort: 1.0 },
                ..Settings::DEFAULT
            },
        ),
        // Restarts run in parallel.
        (
            &gaps,
            Settings {
                form: CosineSettings { restarts: 5, ..CosineSettings::DEFAULT }.into(),
                max_iterations: 10,
                ..Settings::COSINES
            },
        ),
    ] {
        let one = bits(1, data, &settings);
        assert_eq!(one, bits(1, data, &settings), "same run twice");
        for threads in [2, 8] {
            assert!(one == bits(threads, data, &settings), "{threads} threads differ from one: {settings:?}");
        }
    }
}

#[test]
fn another_seed_is_another_model() {
    let data = smooth(40, 3, 2, 42);
    let with = |seed| bits(1, &data, &Settings { seed, max_iterations: 5, ..Settings::COSINES });
    assert_ne!(with(0), with(1));
}
