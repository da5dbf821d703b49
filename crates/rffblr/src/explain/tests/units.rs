//! Explanations of transformed targets in their own units.

use super::dependence::set;
use super::{data, rows, table};
use crate::data::Dataset;
use crate::explain::Explainer;
use crate::linalg::Mat;
use crate::model::{Model, fit};
use crate::settings::{Form, Precision, Settings, TargetTransforms, TransformChoice};

const SETTINGS: Settings = Settings { transform: TargetTransforms::All(TransformChoice::Asinh), ..Settings::DEFAULT };

/// Two skewed targets, of which one is also shifted; and the model in every form that transforms targets.
fn skewed() -> (Dataset, Vec<(&'static str, Model)>) {
    let plain = data(40, 3, 21);
    let targets = Mat::from_fn(40, 2, |n, c| {
        let y = plain.targets()[(n, c)];
        if c == 0 { (0.5 * y).exp() } else { 50.0 - (0.3 * (y - 10.0)).exp() }
    });
    let data = Dataset::new(plain.inputs().to_owned(), targets).unwrap();
    let drawn = Form::Drawn { features: Some(24), precision: Precision::Tied, effort: 1.0 };
    let forms = [("kernel machine", Form::Kernel), ("sinusoids", Form::Sinusoids { sparsity: 0.5 }), ("drawn", drawn)];
    let models = forms.map(|(name, form)| {
        let model = fit(&data, &Settings { form, ..SETTINGS.clone() }).unwrap();
        assert!(model.transforms().iter().all(|own| own.is_some()), "{name}: {:?}", model.transforms());
        (name, model)
    });
    (data, models.into())
}

/// The mean of the medians of all background rows, taken on the scale of the transform and brought back; and its band, by
/// functions drawn from the posterior.
#[test]
fn bands_are_those_of_the_medians_of_all_rows() {
    let (data, models) = skewed();
    let background = rows(data.inputs());
    for (form, model) in &models {
        let explainer = Explainer::new(model, data.inputs(), None).unwrap();
        let found = explainer.partial_dependence(1, explainer.points(1, 4).unwrap()).unwrap();
        let (band, half) = (found.band(0.9).unwrap(), found.band(0.5).unwrap());
        for (i, point) in found.points[0].iter().enumerate() {
            let hybrids = table(&set(&background, &[1], &point.encoded));
            let medians = model.predict(hybrids.as_ref()).unwrap().median();
            let draws = model.sample(hybrids.as_ref(), 2000, 3).unwrap();
            for c in 0..2 {
                let transform = model.transforms()[c].unwrap();
                let middle = |values: &Mat<f64>| {
                    let sum: f64 = (0..40).map(|n| transform.shape.apply(values[(n, c)])).sum();
                    transform.invert(sum / 40.0)
                };
                let (mean, expected) = (band.mean[(i, c)], middle(&medians));
                assert!((mean / expected - 1.0).abs() < 1e-6, "{form}: {mean}, not {expected}");
                let mut drawn: Vec<f64> = draws.iter().map(middle).collect();
                drawn.sort_by(f64::total_cmp);
                let width = drawn[1900] - drawn[100];
                for (end, expected) in
                    [(&band.lower, 100), (&band.upper, 1900), (&half.lower, 500), (&half.upper, 1500)]
                {
                    let (end, expected) = (end[(i, c)], drawn[expected]);
                    assert!((end - expected).abs() < 0.08 * width, "{form}: {end}, not {expected} ± {width}");
                }
            }
        }
        assert!(found.band(1.0).is_err() && found.band(f64::NAN).is_err());
    }
}

/// What is not transformed stays as it is.
#[test]
fn bands_of_other_targets_are_mean_and_deviations() {
    let data = data(20, 3, 22);
    let model = fit(&data, &Settings { transform: TargetTransforms::NONE, ..SETTINGS }).unwrap();
    let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
    let found = explainer.partial_dependence(0, explainer.points(0, 5).unwrap()).unwrap();
    let band = found.band(0.9).unwrap();
    assert_eq!(band.mean, found.mean);
    let reach = 1.644_853_626_951_472;
    for i in 0..5 {
        let (mean, std) = (found.mean[(i, 1)], found.std[(i, 1)]);
        assert!((band.lower[(i, 1)] - (mean - reach * std)).abs() < 1e-9);
        assert!((band.upper[(i, 1)] - (mean + reach * std)).abs() < 1e-9);
    }
    let shapley = explainer.shapley_with_std(data.inputs(), 5).unwrap();
    assert_eq!(shapley.clone().in_units(&model), shapley);
}

/// Values in the unit of the target add up to the median, keep their signs and proportions, and for a small change are that
/// of the transform.
#[test]
fn shapley_values_add_up_in_the_unit_of_the_target() {
    let (data, models) = skewed();
    for (form, model) in &models {
        let explainer = Explainer::new(model, data.inputs(), None).unwrap();
        let own = explainer.shapley_with_std(data.inputs(), 20).unwrap();
        let found = own.clone().in_units(model);
        let medians = model.predict(data.inputs()).unwrap().median();
        let left_out = model.leave_one_out(&data).unwrap();
        let without = explainer.shapley_left_out(&left_out, &[3, 7], 20, false).unwrap().in_units(model);
        let medians_without = left_out.median();
        for c in 0..2 {
            let transform = model.transforms()[c].unwrap();
            assert!((found.base[c] - transform.invert(own.base[c])).abs() < 1e-12);
            for n in 0..40 {
                let sum: f64 = found.values[c].row(n).iter().sum();
                let median = medians[(n, c)];
                assert!((found.base[c] + sum - median).abs() < 1e-6 * median.abs().max(1.0), "{form}: row {n}");
                assert!((found.prediction[(n, c)] - median).abs() < 1e-9 * median.abs().max(1.0));
                let factor = found.values[c][(n, 0)] / own.values[c][(n, 0)];
                let [std, before] = [&found, &own].map(|values| values.std.as_ref().unwrap()[c][(n, 1)]);
                assert!(factor > 0.0 && (std / before / factor - 1.0).abs() < 1e-6);
            }
            for (i, n) in [3, 7].into_iter().enumerate() {
                let sum: f64 = without.values[c].row(i).iter().sum();
                let median = medians_without[(n, c)];
                assert!((without.base[(i, c)] + sum - median).abs() < 1e-6 * median.abs().max(1.0), "{form}: row {n}");
            }
        }
    }
    // Where prediction and base are the same, the factor is the slope of the transform's inverse.
    let (_, model) = &models[0];
    let at = |prediction: f64| {
        let mut one = Explainer::new(model, data.inputs(), None).unwrap().shapley(data.inputs(), 5).unwrap();
        (one.base[0], one.prediction[(0, 0)], one.values[0][(0, 0)]) = (1.3, prediction, 1.0);
        one.in_units(model).values[0][(0, 0)]
    };
    assert!((at(1.3) / at(1.3 + 1e-5) - 1.0).abs() < 1e-4 && at(1.3) > 0.0);
}
