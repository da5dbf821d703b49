use super::data;
use crate::data::Dataset;
use crate::explain::{diagnostics, task_correlation};
use crate::linalg::Mat;
use crate::model::fit;
use crate::normal;
use crate::settings::{CosineSettings, Form, Settings};

/// Leverage is how much the fitted value follows its own target.
#[test]
fn leverage_is_the_derivative_of_the_fit() {
    let data = data(18, 2, 8);
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let found = diagnostics(&model, &data).unwrap();
    let fitted = model.predict_mean(data.inputs()).unwrap();
    for c in 0..2 {
        for n in 0..18 {
            let y = data.targets()[(n, c)];
            if y.is_nan() {
                assert!(found.residual[(n, c)].is_nan() && found.leverage[(n, c)].is_nan());
                continue;
            }
            // e = (1 − h) e_loo, by (18).
            let expected = 1.0 - (y - fitted[(n, c)]) / found.residual[(n, c)];
            assert!((found.leverage[(n, c)] - expected).abs() < 1e-8, "{} {expected}", found.leverage[(n, c)]);
            let z = found.residual[(n, c)] / found.prediction.std[(n, c)];
            assert!((found.transform[(n, c)] - normal::cdf(z)).abs() < 1e-15);
        }
    }
}

#[test]
fn every_form_has_leverage_between_zero_and_one() {
    let data = data(18, 2, 9);
    let sinusoids = Settings { form: Form::Sinusoids { sparsity: 0.5 }, ..Settings::DEFAULT };
    let variational = Settings { form: CosineSettings::DEFAULT.into(), ..Settings::DEFAULT };
    for settings in [Settings::DEFAULT, Settings::COSINES, variational, Settings::PAPER, sinusoids] {
        let model = fit(&data, &settings).unwrap();
        let found = diagnostics(&model, &data).unwrap();
        let fitted = model.predict_mean(data.inputs()).unwrap();
        for n in 0..18 {
            let h = found.leverage[(n, 0)];
            assert!((found.influence[(n, 0)] - h * found.standardised[(n, 0)]).abs() < 1e-12);
            if matches!(settings.form, Form::Sinusoids { .. }) {
                // Judged by the machine, whose fitted value is another.
                assert!((0.0..=1.0).contains(&h));
                continue;
            }
            let expected = 1.0 - (data.targets()[(n, 0)] - fitted[(n, 0)]) / found.residual[(n, 0)];
            assert!((0.0..=1.0).contains(&h) && (h - expected).abs() < 1e-6, "{h}, not {expected}");
        }
    }
}

#[test]
fn calibration_counts_cells() {
    let data = data(30, 2, 10);
    let found = diagnostics(&fit(&data, &Settings::DEFAULT).unwrap(), &data).unwrap();
    let (lower, upper) = found.prediction.interval(0.8).unwrap();
    let inside = |c: usize| {
        let cells = (0..30).filter(|&n| !data.targets()[(n, c)].is_nan());
        let kept = |&n: &usize| (lower[(n, c)]..=upper[(n, c)]).contains(&data.targets()[(n, c)]);
        (cells.clone().filter(kept).count(), cells.count())
    };
    let calibration = &found.calibration(&[0.5, 0.8]).unwrap()[1];
    let (a, b) = (inside(0), inside(1));
    assert_eq!(calibration.per_task, [a.0 as f64 / a.1 as f64, b.0 as f64 / b.1 as f64]);
    assert_eq!(calibration.overall, (a.0 + b.0) as f64 / 59.0);
    let worst = found.most_influential(30);
    assert_eq!(worst.len(), 30);
    assert!(worst.is_sorted_by(|a, b| a.1 >= b.1));
    let (n, size) = worst[0];
    let expected: f64 = (0..2).map(|c| found.influence[(n, c)].powi(2)).filter(|v| !v.is_nan()).sum();
    assert!((size - (expected / 2.0).sqrt()).abs() < 1e-12 || n == 3);
}

#[test]
fn correlations_by_hand() {
    let x = Mat::from_fn(6, 1, |n, _| n as f64);
    let y = Mat::from_fn(6, 4, |n, c| match c {
        0 => [1.0, 2.0, 4.0, 3.0, f64::NAN, 9.0][n],
        1 => [-2e300, -4e300, -8e300, -6e300, 1e300, f64::NAN][n] * 1e-1,
        2 => 5.0,
        _ => [f64::NAN, f64::NAN, f64::NAN, f64::NAN, 1.0, 2.0][n],
    });
    let data = Dataset::new(x, y).unwrap();
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let found = task_correlation(&model, &data, &diagnostics(&model, &data).unwrap()).unwrap();
    assert!((found.targets[(0, 1)] + 1.0).abs() < 1e-12, "{}", found.targets[(0, 1)]);
    assert!((found.targets[(0, 0)] - 1.0).abs() < 1e-12);
    assert!(found.targets[(0, 2)].is_nan() && found.targets[(0, 3)].is_nan());
    assert!((found.signal[(1, 0)] - found.signal[(0, 1)]).abs() == 0.0);
}
