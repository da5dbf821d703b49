//! Every held-out prediction of a cross-validation, as a table.

use anyhow::Result;
use rffblr_methods::evaluate::FoldResult;
use rffblr_methods::folds::Folds;
use rffblr_methods::method::Method;
use rffblr_tables::{Column, Table, Values};

/// A row for each method, fold and held-out row: the data row, counted from 1, the fold, the method, and for each target what
/// was observed, what was predicted, and the standard deviation of that.
pub fn table(targets: &[String], folds: &Folds, methods: &[&dyn Method], results: &[Vec<FoldResult>]) -> Result<Table> {
    let (mut rows, mut numbers, mut codes) = (Vec::new(), Vec::new(), Vec::new());
    let mut cells: Vec<[Vec<f64>; 3]> = targets.iter().map(|_| Default::default()).collect();
    for (code, method) in (0..).zip(results) {
        for (fold, (test, result)) in folds.test().iter().zip(method).enumerate() {
            rows.extend(test.iter().map(|row| (row + 1) as f64));
            numbers.extend(test.iter().map(|_| (fold + 1) as f64));
            codes.extend(test.iter().map(|_| code));
            let held_out = &result.held_out;
            for (c, [truth, mean, std]) in cells.iter_mut().enumerate() {
                truth.extend(held_out.truth.col_as_slice(c));
                mean.extend(held_out.mean.col_as_slice(c));
                match &held_out.std {
                    Some(found) => std.extend(found.col_as_slice(c)),
                    None => std.extend(test.iter().map(|_| f64::NAN)),
                }
            }
        }
    }
    let levels = methods.iter().map(|method| method.name().to_owned()).collect();
    let number = |name: String, values| Column { name, values: Values::Numeric(values) };
    let mut columns = vec![number("row".into(), rows), number("fold".into(), numbers)];
    columns.push(Column { name: "method".into(), values: Values::Text { levels, codes } });
    for (name, [truth, mean, std]) in targets.iter().zip(cells) {
        columns.push(number(name.clone(), truth));
        columns.push(number(format!("{name}_predicted"), mean));
        columns.push(number(format!("{name}_std"), std));
    }
    Ok(Table::new(columns)?)
}
