//! The formula, evaluated as its documentation says, has the numbers of `predict`, for every form.

use super::*;
use crate::{Dialect, ExportError, Options, Target as To, export};
use rffblr::data::{Dataset, Roles, TrainingTable};
use rffblr::table::{Column as TableColumn, Table, Values};
use rffblr::{CosineSettings, Precision, PredictionColumns, Settings, TargetTransforms, TransformChoice};

/// Sixty rows: a number with gaps, a text, dates, and two targets, one skewed and with gaps.
fn table() -> Table {
    let rows = 60;
    let x = |n: usize| (n as f64 * 0.7).sin() * 2.0;
    let text = |levels: &[&str], codes: Vec<u32>| Values::Text {
        levels: levels.iter().map(|level| (*level).into()).collect(),
        codes,
    };
    let days: Vec<String> =
        (0..rows).map(|n| format!("2023-{:02}-{:02} {:02}:30", 1 + n % 12, 1 + n % 28, n % 24)).collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    let column = |name: &str, values| TableColumn { name: name.into(), values };
    let numbers = |of: &dyn Fn(usize) -> f64| Values::Numeric((0..rows).map(of).collect());
    Table::new(vec![
        column("x", numbers(&|n| if n % 9 == 4 { f64::NAN } else { x(n) })),
        column("w", numbers(&|n| (n * n % 17) as f64)),
        column("colour", text(&["red", "green"], (0..rows as u32).map(|n| n * 7 % 5 % 2).collect())),
        column("when", text(&days, (0..rows as u32).collect())),
        column("y", numbers(&|n| x(n).sin() + 0.1 * (n * 37 % 11) as f64 + (n % 2) as f64)),
        column("z", numbers(&|n| if n % 7 == 1 { f64::NAN } else { (x(n) + 0.05 * (n * 13 % 7) as f64).exp() })),
    ])
    .unwrap()
}

fn fitted(form: Form) -> (Model, Table) {
    let transforms = TargetTransforms::ByName {
        usual: TransformChoice::None,
        // The published algorithm takes the logarithm alone.
        own: match form {
            Form::Cosines(_) => vec![("z".into(), TransformChoice::Log)],
            _ => vec![("y".into(), TransformChoice::Asinh), ("z".into(), TransformChoice::Log)],
        },
    };
    let settings = Settings { form, max_iterations: 15, transform: transforms, ..Settings::DEFAULT };
    let training = TrainingTable::new(table(), Roles::of_targets(["y", "z"]), MissingInputs::Impute).unwrap();
    (training.fit(&settings).unwrap(), table())
}

fn forms() -> Vec<Form> {
    let cosines = CosineSettings { links: true, ..CosineSettings::DEFAULT };
    vec![
        Form::Kernel,
        Form::Sinusoids { sparsity: 0.8 },
        Form::Drawn { features: Some(24), precision: Precision::Tied, effort: 1.0 },
        Form::Cosines(cosines),
    ]
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Steps 2 to 5 for encoded numbers: prediction, deviation, ends, of each target.
fn evaluated(formula: &Formula, encoded: &[f64]) -> Vec<[f64; 4]> {
    let z: Vec<f64> = formula.columns.iter().zip(encoded).map(|(c, x)| (x - c.mean) / c.scale).collect();
    let (mut f, mut v) = (vec![0.0; formula.targets.len()], vec![0.0; formula.targets.len()]);
    for part in &formula.parts {
        let kernel = |row: &[f64]| match &part.terms {
            Terms::Kernel { linear, rbf, laplace, scales, .. } => {
                let square: f64 = row.iter().zip(&z).map(|(a, b)| (a - b) * (a - b)).sum();
                let absolute: f64 = row.iter().zip(&z).zip(scales).map(|((a, b), r)| r * (a - b).abs()).sum();
                1.0 + linear * dot(row, &z) + rbf[0] * (-rbf[1] * square).exp() + laplace[0] * (-absolute).exp()
            }
            Terms::Waves { .. } => 0.0,
        };
        let phi: Vec<f64> = match &part.terms {
            Terms::Kernel { rows, .. } => rows.iter().map(|row| kernel(row)).collect(),
            Terms::Waves { amplitude, frequencies, phases, link, links } => {
                let waves = frequencies.iter().zip(phases).map(|(omega, p)| amplitude * (dot(omega, &z) + p).cos());
                waves.chain(links.iter().map(|&d| link * z[d])).chain([1.0]).collect()
            }
        };
        assert_eq!(phi.len(), part.terms.count());
        part.tasks.iter().zip(&part.weights).for_each(|(&task, weights)| f[task] = dot(weights, &phi));
        for spread in &part.spreads {
            let own: Vec<f64> = match spread.terms.is_empty() {
                true => phi.clone(),
                false => spread.terms.iter().map(|&k| phi[k]).collect(),
            };
            let square: f64 = spread.factor.iter().map(|line| dot(line, &own).powi(2)).sum();
            let left = if matches!(part.terms, Terms::Kernel { .. }) { (kernel(&z) - square).max(0.0) } else { square };
            spread.tasks.iter().zip(&spread.unit).for_each(|(&task, unit)| v[task] = unit * left);
        }
    }
    let target = |(target, (f, v)): (&Target, (&f64, &f64))| {
        let (location, std) = (target.shift + target.scale * f, target.scale * (v + target.noise).sqrt());
        let back = |u: f64| {
            let Some(of) = target.transform.first() else { return u };
            let inside = u.clamp(of.low, of.high);
            let curve = if of.shape == Curve::Exp { inside.exp() } else { inside.sinh() };
            (of.centre + of.width * curve).clamp(of.least, of.most)
        };
        let (mut point, mut deviation) = (back(location), std);
        if let Some(of) = target.transform.first() {
            let nodes: Vec<f64> = (-SIDE..=SIDE).map(|k| STEP * f64::from(k)).collect();
            let weights: Vec<f64> = nodes.iter().map(|z| (-0.5 * z * z).exp()).collect();
            let values: Vec<f64> = nodes.iter().map(|z| back(location + std * z) - point).collect();
            let (total, first) = (weights.iter().sum::<f64>(), dot(&weights, &values));
            let second: f64 = weights.iter().zip(&values).map(|(w, y)| w * y * y).sum();
            let first = first / total;
            deviation = (second / total - first * first).max(0.0).sqrt();
            point += if of.median == 1 { 0.0 } else { first };
        }
        let [low, high] = target.reach.map(|reach| back(location + reach * std));
        [point, deviation, low, high]
    };
    formula.targets.iter().zip(f.iter().zip(&v)).map(target).collect()
}

#[test]
fn the_formula_has_the_numbers_of_predict() {
    for form in forms() {
        let (model, table) = fitted(form.clone());
        let (inputs, _) = model.table_encoder().inputs(&table).unwrap();
        let predicted = model.predict(inputs.as_ref()).unwrap();
        let shown = model.prediction_table(&predicted, &PredictionColumns::usual(0.8)).unwrap();
        let formula = Formula::new(&model, Some(0.8), String::new()).unwrap();
        for n in 0..inputs.nrows() {
            let encoded: Vec<f64> = inputs.row(n).iter().copied().collect();
            for (c, found) in evaluated(&formula, &encoded).iter().enumerate() {
                for (k, value) in found.iter().enumerate() {
                    let Values::Numeric(column) = &shown.columns()[4 * c + k].values else { panic!("no numbers") };
                    let unit = column[n].abs().max(found[1]);
                    assert!((value - column[n]).abs() < 1e-10 * unit, "{form:?} {n} {c} {k}: {value} {}", column[n]);
                }
            }
        }
    }
}

/// The size is told before anything is computed, and is that of the formula.
#[test]
fn the_size_of_a_formula_is_known_before() {
    for form in forms() {
        let (model, _) = fitted(form);
        for coverage in [None, Some(0.9)] {
            let formula = Formula::new(&model, coverage, String::new()).unwrap();
            let of_part = |part: &Part| {
                let factors: usize = part.spreads.iter().flat_map(|spread| &spread.factor).map(Vec::len).sum();
                part.terms.count() * (formula.columns.len() + part.tasks.len()) + factors
            };
            let numbers: usize = formula.parts.iter().map(of_part).sum();
            assert_eq!(rffblr::internals::plain_size(&model, coverage.is_some()), numbers);
        }
    }
}

#[test]
fn every_target_is_written_and_the_same_each_time() {
    let (model, _) = fitted(Form::Sinusoids { sparsity: 0.9 });
    let dialects = [Dialect::Sqlite, Dialect::Postgresql, Dialect::Duckdb].map(To::Sql);
    for target in [To::Onnx, To::Python, To::C, To::JavaScript, To::Xlsx].into_iter().chain(dialects) {
        for coverage in [Some(0.9), None] {
            let options = Options { coverage, ..Options::default() };
            let written = export(&model, target, &options).unwrap();
            assert!(written.bytes.len() > 1000);
            assert_eq!(written, export(&model, target, &options).unwrap(), "{target:?}");
            assert_eq!(written.inputs.is_some(), target == To::Onnx);
        }
        if let To::Sql(_) = target {
            continue;
        }
        assert_eq!(To::of_ending(target.ending()), Some(target));
        assert_eq!(target.name().parse::<To>().unwrap(), target);
    }
    assert!(matches!("cobol".parse::<To>(), Err(ExportError::Unknown { .. })));
}

#[test]
fn a_machine_that_is_too_large_says_so() {
    let x = Mat::from_fn(300, 2, |n, d| ((n * (d + 2)) as f64 * 0.7).sin());
    let y = Mat::from_fn(300, 1, |n, _| x[(n, 0)] + x[(n, 1)]);
    let settings = Settings { max_iterations: 2, ..Settings::EXACT };
    let model = rffblr::fit(&Dataset::new(x, y).unwrap(), &settings).unwrap();
    let (to, options) = (To::Sql(Dialect::Sqlite), Options::default());
    let problem = export(&model, to, &options).unwrap_err();
    let text = problem.to_string();
    assert!(text.contains("a kernel machine of 300 rows") && text.contains("40000"), "{text}");
    assert!(matches!(problem, ExportError::TooLarge { fits_without: true, .. }));
    assert!(export(&model, to, &Options { coverage: None, ..options }).is_ok());
}
