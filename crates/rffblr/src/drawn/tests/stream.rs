//! Two blocks and a part of a third.

use super::super::{Accumulator, BLOCK, FeatureMap, HeldRows, StreamFit, StreamPlan, Streamed, sample_rows};
use crate::data::{Encoder, MissingInputs, Roles, RowSums, Summary, row_hash};
use crate::error::Error;
use crate::linalg::Mat;
use crate::model::Model;
use crate::settings::{Form, Precision, Settings};
use crate::table::{Column, Table, Values};
use std::ops::ControlFlow;

const ROWS: usize = 2 * BLOCK + 4000;
const SEED: u64 = 5;

/// Rows without a target are in it; `change` is added to a target.
fn table(change: impl Fn(usize) -> f64) -> Table {
    let input = |n: usize, d: usize| ((n * (3 + 2 * d)) as f64 * 0.37).sin();
    let target = |n: usize| {
        let noise = 0.3 * ((n * 7919 % 1000) as f64 / 1000.0 - 0.5);
        if n % 50 == 7 { f64::NAN } else { (2.0 * input(n, 0)).sin() + input(n, 1) + noise + change(n) }
    };
    let column = |name: &str, value: &dyn Fn(usize) -> f64| Column {
        name: name.to_owned(),
        values: Values::Numeric((0..ROWS).map(value).collect()),
    };
    Table::new(vec![column("a", &|n| input(n, 0)), column("b", &|n| input(n, 1)), column("y", &target)]).unwrap()
}

fn encoder(table: &Table) -> (Summary, Encoder) {
    let mut summary = Summary::new(sample_rows(&Settings::DEFAULT), SEED);
    summary.add(table, 0).unwrap();
    let (encoder, _) = Encoder::learn_summary(&summary, &Roles::of_targets(["y"]), MissingInputs::Impute).unwrap();
    (summary, encoder)
}

type Watch<'a> = &'a mut dyn FnMut(u64, &Accumulator) -> crate::Result<()>;

fn stream(table: &Table, hold_out: bool, resume: Option<Accumulator>, watch: Watch<'_>) -> crate::Result<Streamed> {
    streamed(table, Precision::Tied, hold_out, resume, watch)
}

fn streamed(
    table: &Table,
    precision: Precision,
    hold_out: bool,
    resume: Option<Accumulator>,
    watch: Watch<'_>,
) -> crate::Result<Streamed> {
    let (summary, encoder) = encoder(table);
    let settings = Settings { form: Form::Drawn { features: Some(16), precision, effort: 1.0 }, ..super::settings(16) };
    let observer = &|_: &_| ControlFlow::Continue(());
    StreamFit { summary: &summary, seed: SEED, encoder: &encoder, settings: &settings, hold_out, observer, resume }
        .fit(table, watch)
}

/// The rows with the smallest hashes of those that have a target, one in ten.
fn held_out() -> Vec<usize> {
    let mut rows: Vec<usize> = (0..ROWS).filter(|n| n % 50 != 7).collect();
    rows.sort_unstable_by_key(|&n| row_hash(SEED, n as u64));
    rows.truncate(ROWS / 10);
    rows.sort_unstable();
    rows
}

fn near(a: &Mat<f64>, b: &Mat<f64>) -> bool {
    (0..a.nrows()).all(|i| (a[(i, 0)] - b[(i, 0)]).abs() < 1e-6)
}

/// All rows at once, at the hyper-parameters found without some of them.
fn at_once(map: &FeatureMap, table: &Table, without: &[usize]) -> (Model, Model) {
    let (_, encoder) = encoder(table);
    let all: Vec<usize> = (0..ROWS).collect();
    let (x, y) = encoder.test_rows(table, &all).unwrap();
    let mut part = y.clone();
    without.iter().for_each(|&n| part[(n, 0)] = f64::NAN);
    let of = |targets: &Mat<f64>| {
        let mut sums = Accumulator::new(map);
        sums.update(0, x.as_ref(), targets.as_ref(), None).unwrap();
        sums
    };
    let (part, whole) = (of(&part), of(&y));
    let first = map.solved(&part, None).unwrap();
    let last = map.solved(&whole, Some(&first)).unwrap();
    (map.model_of(&part, first), map.model_of(&whole, last))
}

#[test]
fn held_out_rows_say_nothing_about_themselves() {
    let held = held_out();
    let (plain, moved) = (table(|_| 0.0), table(|n| if held.binary_search(&n).is_ok() { 1.0 } else { 0.0 }));
    let mut map = None;
    let mut watch = |_: u64, sums: &Accumulator| {
        map = Some(sums.map().clone());
        Ok(())
    };
    let a = stream(&plain, true, None, &mut watch).unwrap();
    let b = stream(&moved, true, None, &mut |_, _| Ok(())).unwrap();
    let (held_a, held_b) = (a.held_out.unwrap(), b.held_out.unwrap());
    let (x, before, after) = (held_a.inputs, held_a.predicted, held_b.predicted);
    assert_eq!(x.nrows(), held.len());
    assert_eq!((&before.mean, &before.std), (&after.mean, &after.std));
    let raised = |i: usize| (after.truth[(i, 0)] - before.truth[(i, 0)] - 1.0).abs() < 1e-12;
    assert!((0..held.len()).all(raised));
    // The models know them.
    assert_ne!(a.model.predict_mean(x.as_ref()).unwrap(), b.model.predict_mean(x.as_ref()).unwrap());
    // Second derivation: all rows in one block.
    let (without, with) = at_once(&map.unwrap(), &plain, &held);
    let without = without.predict(x.as_ref()).unwrap();
    assert!(near(&without.mean, &before.mean) && near(&without.std, &before.std.unwrap()));
    let (all, expected) = (a.model.predict(x.as_ref()).unwrap(), with.predict(x.as_ref()).unwrap());
    assert!(near(&all.mean, &expected.mean) && near(&all.std, &expected.std));
    assert_eq!(a.model.training_rows(), (0..ROWS).filter(|n| n % 50 != 7).count());
}

/// Precisions are learned without the held-out rows, and kept when these are added.
#[test]
fn free_precisions_are_those_of_the_rows_that_were_not_held_out() {
    let table = table(|_| 0.0);
    let fitted = streamed(&table, Precision::Free, true, None, &mut |_, _| Ok(())).unwrap();
    let HeldRows { inputs: x, predicted: held, .. } = fitted.held_out.unwrap();
    let found = fitted.model.predict(x.as_ref()).unwrap();
    // Rows that are a tenth of the data move the prediction by little, but they do.
    assert!(found.mean != held.mean && (0..x.nrows()).all(|i| (found.mean[(i, 0)] - held.mean[(i, 0)]).abs() < 0.02));
    let again = Model::from_json(&fitted.model.to_json().unwrap()).unwrap();
    assert_eq!(again.predict(x.as_ref()).unwrap(), found);
}

#[test]
fn a_fit_that_was_broken_off_goes_on_to_the_same_bits() {
    let table = table(|_| 0.0);
    for hold_out in [true, false] {
        let (mut kept, mut calls) = (Vec::new(), 0);
        let mut watch = |_: u64, sums: &Accumulator| {
            calls += 1;
            kept.push(sums.to_bytes()?);
            Ok(())
        };
        let expected = stream(&table, hold_out, None, &mut watch).unwrap().model.to_json().unwrap();
        // Before the first block, and after each of three.
        assert_eq!(calls, 4);
        let mut left = 0;
        let stopped = stream(&table, hold_out, None, &mut |rows, sums| {
            left = sums.rows();
            if rows >= BLOCK as u64 { Err(Error::Accumulator("stop".into())) } else { Ok(()) }
        });
        assert!(stopped.is_err_and(|problem| problem.to_string().contains("stop")));
        assert!(left > 0 && left <= BLOCK as u64);
        for bytes in &kept {
            let resume = Accumulator::from_bytes(bytes).unwrap();
            let again = stream(&table, hold_out, Some(resume), &mut |_, _| Ok(())).unwrap();
            assert!(again.model.to_json().unwrap() == expected);
        }
    }
}

/// Summaries, plan and sums go to other processes and come back as bytes; what each does is one step of a fit.
#[test]
fn the_steps_of_a_fit_in_several_processes_are_a_fit() {
    let table = table(|_| 0.0);
    let settings = super::settings(16);
    let observer = &|_: &_| ControlFlow::Continue(());
    for hold_out in [true, false] {
        let expected = stream(&table, hold_out, None, &mut |_, _| Ok(())).unwrap();
        let (summary, encoder) = encoder(&table);
        let summary = Summary::from_bytes(&summary.to_bytes().unwrap()).unwrap();
        let fit = StreamFit {
            summary: &summary,
            seed: SEED,
            encoder: &encoder,
            settings: &settings,
            hold_out,
            observer,
            resume: None,
        };
        let plan = fit.learn().unwrap();
        assert_eq!(StreamPlan::from_json(&plan.to_json().unwrap()).unwrap(), plan);
        let mut sums = plan.accumulator();
        for number in [2, 0, 1] {
            let (mut part, first) = (plan.accumulator(), number * BLOCK);
            plan.add(&mut part, number as u64, first as u64, &table, first..ROWS.min(first + BLOCK)).unwrap();
            sums.merge(Accumulator::from_bytes(&part.to_bytes().unwrap()).unwrap()).unwrap();
        }
        let found = plan.finish(&summary, sums, 3).unwrap();
        assert!(found.model.to_json().unwrap() == expected.model.to_json().unwrap());
        assert_eq!(found.sample.fingerprint(), expected.sample.fingerprint());
    }
}

#[test]
fn rows_that_came_in_blocks_are_known_again() {
    let plain = table(|_| 0.0);
    let (_, encoder) = encoder(&plain);
    let known = RowSums::of_table(&encoder, &plain).unwrap();
    let dataset = |table: &Table| {
        let (rows, _) = encoder.roles().observed_rows(table).unwrap();
        encoder.dataset(table, &rows).unwrap().0
    };
    let data = dataset(&plain);
    assert_eq!(data.row_sums(), known);
    for hold_out in [true, false] {
        let model = stream(&plain, hold_out, None, &mut |_, _| Ok(())).unwrap().model;
        let model = Model::from_json(&model.to_json().unwrap()).unwrap();
        assert_eq!(model.fingerprint(), Some(known.text().as_str()));
        assert_eq!(model.is_fitted_to(&data), Some(true));
        assert_eq!(model.learned_from(data.inputs()).unwrap(), data.rows());
        let other = dataset(&table(|n| if n == 60_000 { 1e-9 } else { 0.0 }));
        assert_eq!(model.is_fitted_to(&other), Some(false));
        // Their inputs are the same.
        assert_eq!(model.learned_from(other.inputs()).unwrap(), data.rows());
        assert_eq!(model.learned_from(data.inputs().subrows(0, 9)).unwrap(), 0);
        // Each row is left out in turn, of all of them or of some that are known to be among them.
        let whole = model.leave_one_out(&data).unwrap();
        let some = data.select(&[5, 3, 800]).unwrap();
        assert!(model.leave_one_out(&some).is_err());
        let part = model.with_training_sample(&some).leave_one_out(&some).unwrap();
        let of = |row: usize| whole.mean[(row, 0)];
        assert!([5, 3, 800].into_iter().enumerate().all(|(i, row)| (part.mean[(i, 0)] - of(row)).abs() < 1e-9));
    }
}
