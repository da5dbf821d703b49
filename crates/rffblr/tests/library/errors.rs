//! One error type from table to prediction, and messages that say what to do.

use crate::{normal, smooth};
use rffblr::data::{Dataset, Encoder, MissingInputs, RoleChoice, TrainingTable};
use rffblr::explain::Explainer;
use rffblr::linalg::Mat;
use rffblr::metrics::{ReferenceMean, Scores};
use rffblr::table::{Column, Table, Values};
use rffblr::{CosineSettings, Error, Form, Model, Settings, TargetScale, fit};

pub fn column(name: &str, cells: &[f64]) -> Column {
    Column { name: name.into(), values: Values::Numeric(cells.to_vec()) }
}

/// Every stage in one function, each with `?`; the targets are those named.
fn from_table_to_scores(columns: Vec<Column>, targets: &str, predicted_rows: usize) -> rffblr::Result<f64> {
    let table = Table::new(columns)?;
    let choice = RoleChoice::parse(&[targets.to_owned()], &[], None)?;
    let training = TrainingTable::new(table, choice, MissingInputs::Impute)?;
    let model = Model::from_json(&training.fit(&Settings::DEFAULT)?.to_json()?)?;
    let data = training.dataset();
    let mean = model.predict(data.inputs().subrows(0, predicted_rows))?.mean;
    Ok(Scores::new(data.targets(), mean.as_ref(), None, ReferenceMean::Test)?.task_r2)
}

#[test]
fn every_stage_converts_to_one_error() {
    let cells: Vec<f64> = (0..12).map(|n| (n as f64 * 1.3).sin()).collect();
    let columns = || vec![column("x", &cells), column("y", &cells)];
    assert!(from_table_to_scores(columns(), "y", 12).unwrap() > 0.9);
    let twice = vec![column("x", &cells), column("x", &cells)];
    assert!(matches!(from_table_to_scores(twice, "x", 12), Err(Error::Columns(_))));
    assert!(matches!(from_table_to_scores(columns(), "z", 12), Err(Error::Encode(_))));
    let infinite = vec![column("x", &cells), column("y", &cells.iter().map(|y| 1.0 / (y * 0.0)).collect::<Vec<_>>())];
    let refused = from_table_to_scores(infinite, "y", 12);
    assert!(matches!(refused, Err(Error::NotFinite { .. } | Error::Encode(_))), "{refused:?}");
    assert!(matches!(from_table_to_scores(columns(), "y", 11), Err(Error::Metrics(_))));
    assert!(matches!(Model::from_json("{}"), Err(Error::ModelFile { path: None, .. })));
}

#[test]
fn a_finite_number_is_not_called_infinite() {
    let targets = Mat::from_fn(20, 1, |n, _| if n == 3 { 1e200 } else { n as f64 });
    let huge = Dataset::new(normal(20, 1, 1), targets).unwrap();
    let raw = CosineSettings { target_scale: TargetScale::Raw, ..CosineSettings::DEFAULT };
    let error = fit(&huge, &Settings { form: raw.into(), ..Settings::COSINES }).unwrap_err().to_string();
    assert!(error.starts_with("targets, row 4, column \"y1\": 1e200 is too large to square; "), "{error}");
    let model = fit(&Dataset::new(normal(9, 1, 1), normal(9, 1, 2)).unwrap(), &Settings::DEFAULT).unwrap();
    let far = Mat::from_fn(1, 1, |_, _| f64::MAX);
    if let Err(error) = model.predict(far.as_ref()) {
        assert!(error.to_string().contains("1.7976931348623157e308 is too far outside"), "{error}");
    }
}

#[test]
fn what_is_not_a_setting_is_not_called_one() {
    let data = smooth(20, 2, 1, 4);
    let other = smooth(20, 2, 1, 5);
    let model = fit(&data, &Settings::DEFAULT).unwrap();
    let sparse = fit(&data, &Settings { form: Form::Sinusoids { sparsity: 0.5 }, ..Settings::DEFAULT }).unwrap();
    let explainer = Explainer::new(&model, data.inputs(), None).unwrap();
    let points = || explainer.points(0, 3).unwrap();
    let encoder = Encoder::of_numbers(&["a".into()], &["y1".into()]);
    let errors = [
        model.leave_one_out(&other).unwrap_err(),
        model.kernel_view(other.inputs()).unwrap_err(),
        sparse.kernel_view(data.inputs()).unwrap_err(),
        explainer.points(2, 3).unwrap_err(),
        explainer.partial_dependence_of_two((1, 1), (points(), points())).unwrap_err(),
        model.clone().with_encoder(encoder).unwrap_err(),
        Settings::named(None, &[("sede", "1")]).unwrap_err(),
        data.clone().with_one_hot(vec![0..1, 1..3]).unwrap_err(),
        Model::from_json("[]").unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        // What happened, and after a semicolon what to do; options of a command are for the command to name.
        assert!(!text.contains("setting `") && text.contains("; ") && !text.contains("--"), "{text}");
    }
}
