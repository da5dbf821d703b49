use super::shapley::brute_force;
use super::{changed, data, forms, row, with_machines};
use crate::data::{Dataset, MissingInputs, Roles, TrainingTable};
use crate::explain::{Explainer, Kind, Value};
use crate::kernel::{Kernel, KernelMachine, TaskLevels};
use crate::linalg::Mat;
use crate::model::{Function, Model, fit};
use crate::settings::{CosineSettings, Form, Settings};
use crate::table::{Column, Table, Values};
use proptest::prelude::*;

/// A table with a text, a number with gaps and a number without.
fn encoded() -> (Model, Dataset) {
    let numbers = |name: &str, value: &dyn Fn(usize) -> f64| Column {
        name: name.to_owned(),
        values: Values::Numeric((0..24).map(value).collect()),
    };
    let colours = Values::Text {
        levels: ["red", "green", "blue"].map(String::from).to_vec(),
        codes: (0..24).map(|n| n * 7 % 3).collect(),
    };
    let table = Table::new(vec![
        Column { name: "colour".to_owned(), values: colours },
        numbers("age", &|n| if n % 5 == 0 { f64::NAN } else { (20 + n * 11 % 37) as f64 }),
        numbers("size", &|n| (n % 9) as f64),
        numbers("y", &|n| (n as f64 * 0.9).sin() + (n * 7 % 3) as f64),
    ])
    .unwrap();
    let training = TrainingTable::new(table, Roles::of_targets(["y"]), MissingInputs::Impute).unwrap();
    (training.fit(&Settings::DEFAULT).unwrap(), training.dataset().clone())
}

#[test]
fn columns_of_one_input_are_one_player() {
    let (model, data) = encoded();
    let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
    let names: Vec<&str> = explainer.inputs().iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["colour", "age", "size"]);
    let columns: Vec<Vec<usize>> = explainer.inputs().iter().map(|input| input.columns.clone()).collect();
    assert_eq!(columns, [vec![0, 1, 2, 3], vec![4, 5], vec![6]]);
    assert!(matches!(&explainer.inputs()[0].kind, Kind::Text { levels, gaps: false } if levels.len() == 3));
    let shapley = explainer.shapley(data.inputs().subrows(2, 1), 5).unwrap();
    let from: Vec<Vec<f64>> = shapley.background.iter().map(|&n| row(data.inputs(), n)).collect();
    let expected = brute_force(&model, &row(data.inputs(), 2), &from, &columns);
    for input in 0..3 {
        assert!((shapley.values[0][(0, input)] - expected[(input, 0)]).abs() < 1e-9);
    }
    let levels = explainer.points(0, 2).unwrap();
    assert_eq!(levels.len(), 3);
    assert_eq!(levels.iter().map(|point| point.encoded.iter().sum::<f64>()).sum::<f64>(), 3.0);
    let ages = explainer.points(1, 5).unwrap();
    assert_eq!((ages.len(), &ages[5].value, ages[5].encoded[1]), (6, &Value::Missing, 1.0));
    assert!(ages[..5].iter().all(|point| point.encoded[1] == 0.0));
    let curve = explainer.partial_dependence(0, levels).unwrap();
    assert_eq!(curve.mean.nrows(), 3);
    assert_eq!(explainer.variance_shares().unwrap().total.nrows(), 3);
}

/// An input that never varies adds nothing; two that are the same add the same.
#[test]
fn dummies_and_twins() {
    let first = data(12, 3, 4);
    let x = Mat::from_fn(12, 5, |n, d| match d {
        0..3 => first.inputs()[(n, d)],
        3 => first.inputs()[(n, 1)],
        _ => 7.0,
    });
    let data = Dataset::new(x, first.targets().to_owned()).unwrap();
    for (form, model) in forms(&data) {
        let alike = |kernel: Kernel| Kernel { input_scales: vec![0.5, 1.2, 0.7, 1.2, 3.0], ..kernel };
        let twins = matches!(model.function, Function::Kernel(_));
        let model = if twins { changed(&model, alike) } else { model };
        let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
        let shapley = explainer.shapley_with_std(data.inputs().subrows(0, 2), 4).unwrap();
        let (values, std) = (&shapley.values[0], &shapley.std.as_ref().unwrap()[0]);
        assert!(values[(1, 4)].abs() < 1e-14 && std[(1, 4)] < 1e-7, "{form}: {} {}", values[(1, 4)], std[(1, 4)]);
        if twins {
            assert!((values[(0, 1)] - values[(0, 3)]).abs() < 1e-12, "{form}");
        }
        let relevance = explainer.variance_shares().unwrap();
        assert!(relevance.total[(4, 0)] < 1e-12, "{form}");
    }
}

/// Inputs that never vary change nothing for the others; but with this many the shortcuts for many inputs are taken.
#[test]
fn idle_inputs_change_nothing() {
    let few = data(16, 5, 12);
    let many = Mat::from_fn(16, 45, |n, d| if d % 9 == 0 { few.inputs()[(n, d / 9)] } else { 1.0 });
    let many = Dataset::new(many, few.targets().to_owned()).unwrap();
    let small = fit(&few, &Settings::DEFAULT).unwrap();
    let small = changed(&small, |kernel| Kernel { linear: 0.0, ..kernel });
    let wider = with_machines(&small, |m| {
        let input_scales = (0..45).map(|d| if d % 9 == 0 { m.kernel.input_scales[d / 9] } else { 1.0 }).collect();
        let inputs = Mat::from_fn(16, 45, |n, d| if d % 9 == 0 { m.inputs[(n, d / 9)] } else { 0.0 });
        let kernel = Kernel { input_scales, ..m.kernel };
        let levels = TaskLevels { noise: m.noise, amplitude: m.amplitude, correction: m.correction };
        KernelMachine::restore(kernel, inputs.into(), m.root, m.observed, levels, m.coefficients).unwrap()
    });
    let mut large = fit(&many, &Settings::DEFAULT).unwrap();
    large.function = wider.function;
    let explain = |model: &Model, data: &Dataset| {
        let explainer = Explainer::new(model, data.inputs(), None).unwrap();
        explainer.shapley_with_std(data.inputs().subrows(0, 2), 5).unwrap()
    };
    let (a, b) = (explain(&small, &few), explain(&large, &many));
    for c in 0..2 {
        for (row, input) in [(0, 0), (0, 1), (1, 2), (1, 3), (1, 4)] {
            let found = (b.values[c][(row, 9 * input)], b.std.as_ref().unwrap()[c][(row, 9 * input)]);
            let wanted = (a.values[c][(row, input)], a.std.as_ref().unwrap()[c][(row, input)]);
            assert!((found.0 - wanted.0).abs() < 1e-9, "{} {}", found.0, wanted.0);
            assert!((found.1 - wanted.1).abs() < 1e-6 * wanted.1, "{} {}", found.1, wanted.1);
        }
    }
}

#[test]
fn one_row_and_huge_numbers() {
    let lonely = Dataset::new(Mat::full(1, 2, 3.0), Mat::full(1, 1, 5.0)).unwrap();
    let model = fit(&lonely, &Settings::DEFAULT).unwrap();
    let explainer = Explainer::new(&model, lonely.inputs(), None).unwrap();
    let shapley = explainer.shapley_with_std(lonely.inputs(), 10).unwrap();
    assert_eq!((shapley.values[0][(0, 0)], shapley.base[0]), (0.0, shapley.prediction[(0, 0)]));
    let relevance = explainer.variance_shares().unwrap();
    assert_eq!((relevance.first_order[(0, 0)], relevance.total[(1, 0)]), (0.0, 0.0));
    assert_eq!(explainer.partial_dependence(0, explainer.points(0, 5).unwrap()).unwrap().mean.nrows(), 1);

    let small = data(12, 3, 6);
    let huge = Dataset::new(
        Mat::from_fn(12, 3, |n, d| small.inputs()[(n, d)] * 1e299),
        Mat::from_fn(12, 1, |n, _| small.targets()[(n, 0)] * 1e299),
    )
    .unwrap();
    for settings in [Settings::DEFAULT, Settings { form: Form::Sinusoids { sparsity: 0.5 }, ..Settings::DEFAULT }] {
        let model = fit(&huge, &settings).unwrap();
        let explainer = Explainer::new(&model, huge.inputs(), None).unwrap();
        let shapley = explainer.shapley_with_std(huge.inputs(), 12).unwrap();
        let relevance = explainer.variance_shares().unwrap();
        let points = explainer.points(0, 5).unwrap();
        let curve = explainer.partial_dependence(0, points).unwrap();
        for d in 0..3 {
            let total = relevance.total[(d, 0)];
            assert!(total.is_finite() && total > 0.0);
        }
        assert!((0..5).all(|v| curve.mean[(v, 0)].is_finite() && curve.std[(v, 0)].is_finite()));
        for n in 0..12 {
            let sum: f64 = (0..3).map(|d| shapley.values[0][(n, d)] / 1e299).sum();
            assert!((shapley.base[0] / 1e299 + sum - shapley.prediction[(n, 0)] / 1e299).abs() < 1e-9);
        }
    }
    assert!(Explainer::new(&model, Mat::zeros(0, 2).as_ref(), None).is_err());
    assert!(Explainer::new(&model, Mat::zeros(3, 2).as_ref(), Some(&[0.0; 3])).is_err());
    assert!(Explainer::new(&model, Mat::zeros(3, 5).as_ref(), None).is_err());
    assert!(explainer.partial_dependence(7, Vec::new()).is_err());
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let data = data(40, 6, 11);
    for settings in [Settings::DEFAULT, Settings::COSINES] {
        let model = fit(&data, &settings).unwrap();
        let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let points = explainer.points(2, 6).unwrap();
                let curve = explainer.partial_dependence(2, points).unwrap();
                let some = data.inputs().subrows(0, 5);
                (explainer.shapley_with_std(some, 9).unwrap(), curve, explainer.variance_shares().unwrap())
            })
        };
        assert!(run(1) == run(3));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn values_add_up(rows in 4usize..30, inputs in 1usize..60, seed in 0u64..1000, form in 0usize..3) {
        let data = data(rows, inputs, seed);
        let settings = match form {
            0 => Settings::DEFAULT,
            1 => Settings { form: Form::Sinusoids { sparsity: 0.6 }, ..Settings::DEFAULT },
            _ => Settings { form: CosineSettings { links: true, ..CosineSettings::PAPER }.into(), ..Settings::PAPER },
        };
        let model = fit(&data, &settings).unwrap();
        let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
        let shapley = explainer.shapley(data.inputs().subrows(0, 2), 5).unwrap();
        for c in 0..2 {
            for n in 0..2 {
                let sum: f64 = (0..inputs).map(|d| shapley.values[c][(n, d)]).sum();
                let off = shapley.base[c] + sum - shapley.prediction[(n, c)];
                prop_assert!(off.abs() < 1e-9, "off by {off}");
            }
        }
    }
}
