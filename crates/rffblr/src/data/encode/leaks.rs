//! Signs, in the encoded numbers, that scores will be too good or that there is too little to learn from.

use super::{Encoder, Encoding};
use crate::data::note::{Note, NoteKind, Notes, listed};
use crate::data::{Dataset, Standardiser};
use crate::linalg::{Mat, MatRef};
use crate::table::excerpt;
use crate::words::plural;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;

/// Correlation from which one input predicts a target suspiciously well.
const TOO_WELL: f64 = 0.995;
/// Correlation of ranks without which a correlation of numbers may be due to a single row.
const NOT_ONE_ROW: f64 = 0.9;
/// Share of the variance of a target beyond which a single row makes its scores.
const MOST_OF_VARIANCE: f64 = 0.9;
/// Fewest rows, beyond the levels of a text, that show it.
const FEWEST_ROWS: usize = 10;

impl Encoder {
    /// What in the training data looks as if it would mislead: rows that repeat, nearly as many columns as rows, inputs
    /// that predict a target too well to be true, and targets most of whose variance is one row, which is named if `rows`
    /// are those of the table.
    pub fn suspicions(&self, data: &Dataset, rows: Option<&[usize]>) -> Vec<Note> {
        let mut notes: Vec<Note> = repeated(data).into_iter().chain(self.wide(data.rows())).collect();
        notes.extend(rows.map(|rows| one_row(data, rows)).unwrap_or_default());
        notes.extend(self.leaks(data));
        notes
    }

    fn wide(&self, rows: usize) -> Option<Note> {
        let (mut texts, mut others): (Vec<(usize, &str)>, usize) = (Vec::new(), 0);
        for input in &self.inputs {
            match &input.encoding {
                Encoding::Categorical { levels, .. } => texts.push((levels.len(), &input.name)),
                Encoding::Numeric { .. } | Encoding::Presence | Encoding::Date(_) => others += input.width(),
            }
        }
        let columns = others + texts.iter().map(|(levels, _)| levels).sum::<usize>();
        if 2 * columns <= rows || 2 * others > rows {
            return None;
        }
        texts.sort_by_key(|(levels, _)| std::cmp::Reverse(*levels));
        let most = listed(texts.iter().map(|(levels, name)| format!("{} ({levels} levels)", excerpt(name))));
        let text = format!("text makes {columns} columns for {}; group or leave out: {most}", plural(rows, "row"));
        Some(Note::new(NoteKind::Wide, texts.iter().map(|(_, name)| name.to_string()).collect(), text))
    }

    fn leaks(&self, data: &Dataset) -> Vec<Note> {
        let mut notes = Notes::default();
        // Targets that are known in the same rows are ranked against the same ranks of inputs.
        let mut patterns: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        let targets = data.judged_targets();
        for task in 0..targets.ncols() {
            let known = (0..data.rows()).filter(|&row| !targets[(row, task)].is_nan()).collect();
            patterns.entry(known).or_default().push(task);
        }
        let mut found: Vec<(usize, f64, &str)> = Vec::new();
        for (known, tasks) in &patterns {
            let mut first = 0;
            for input in &self.inputs {
                let width = input.width();
                let cells = data.inputs().subcols(first, width);
                first += width;
                let correlations: Vec<f64> = match &input.encoding {
                    Encoding::Numeric { indicator, .. } => {
                        let there = |row: &usize| !*indicator || cells[(*row, 1)] == 0.0;
                        let rows: Vec<usize> = known.iter().copied().filter(there).collect();
                        by_number(cells, &rows, &targets, tasks)
                    }
                    Encoding::Date(date) => {
                        let there = |row: &usize| !date.indicator || cells[(*row, width - 1)] == 0.0;
                        let rows: Vec<usize> = known.iter().copied().filter(there).collect();
                        by_number(cells, &rows, &targets, tasks)
                    }
                    Encoding::Presence => by_number(cells, known, &targets, tasks),
                    Encoding::Categorical { .. } => by_level(cells, known, &targets, tasks),
                };
                let suspect = tasks.iter().zip(correlations).filter(|(_, correlation)| *correlation >= TOO_WELL);
                found.extend(suspect.map(|(&task, correlation)| (task, correlation, input.name.as_str())));
            }
        }
        found.sort_by(|a, b| (a.0, b.1).partial_cmp(&(b.0, a.1)).unwrap_or(std::cmp::Ordering::Equal));
        for (task, correlation, input) in found {
            let (target, name) = (excerpt(&data.target_names()[task]), excerpt(input));
            let detail = format!("input {name} predicts target {target} (correlation {:.4})", correlation.min(1.0));
            notes.add(NoteKind::Leak, input, detail);
        }
        notes.told()
    }
}

/// Targets most of whose variance is one row.
fn one_row(data: &Dataset, rows: &[usize]) -> Vec<Note> {
    let (targets, mut notes) = (data.judged_targets(), Notes::default());
    for (task, name) in data.target_names().iter().enumerate() {
        let cells = || targets.col_as_slice(task).iter().enumerate().filter(|(_, y)| !y.is_nan());
        let count = cells().count() as f64;
        // Divided by the number of cells first, no sum overflows.
        let mean = cells().map(|(_, y)| y / count).sum::<f64>();
        let largest = cells().fold(0.0, |largest: f64, (_, y)| largest.max((y - mean).abs()));
        let relative = |y: f64| ((y - mean) / largest).powi(2);
        let share = 1.0 / cells().map(|(_, y)| relative(*y)).sum::<f64>();
        if share > MOST_OF_VARIANCE
            && let Some((row, _)) = cells().find(|(_, y)| relative(**y) == 1.0)
        {
            let line = rows.get(row).map_or(row, |row| *row) + 1;
            // Never 100 %, as the others vary too.
            let percent = (100.0 * share).floor().min(99.0);
            let detail = format!("data row {line} is {percent} % of the variance of target {}", excerpt(name));
            notes.add(NoteKind::OneRow, name, detail);
        }
    }
    notes.told()
}

/// Size of the correlation of a number with each target: of the numbers, or of their ranks.
fn by_number(cells: MatRef<'_, f64>, rows: &[usize], targets: &Mat<f64>, tasks: &[usize]) -> Vec<f64> {
    if rows.len() < FEWEST_ROWS {
        return vec![0.0; tasks.len()];
    }
    let standardised = |mut values: Vec<f64>| {
        let table = MatRef::from_column_major_slice(&values, values.len(), 1);
        let scale = Standardiser::new(table, None);
        values.iter_mut().for_each(|value| *value = (*value - scale.mean[0]) / scale.scale[0]);
        values
    };
    let x: Vec<f64> = rows.iter().map(|&row| cells[(row, 0)]).collect();
    let (x_ranks, x) = (standardised(ranks(&x)), standardised(x));
    let mean_product = |a: &[f64], b: &[f64]| (a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len() as f64).abs();
    let correlation = |&task: &usize| {
        let y: Vec<f64> = rows.iter().map(|&row| targets[(row, task)]).collect();
        let of_ranks = mean_product(&x_ranks, &standardised(ranks(&y)));
        let of_numbers = mean_product(&x, &standardised(y));
        if of_ranks >= NOT_ONE_ROW { of_ranks.max(of_numbers) } else { of_ranks }
    };
    tasks.iter().map(correlation).collect()
}

/// The same for the levels of a text: √η² of their means, less what this many levels explain by chance.
fn by_level(cells: MatRef<'_, f64>, rows: &[usize], targets: &Mat<f64>, tasks: &[usize]) -> Vec<f64> {
    let mut level = vec![cells.ncols(); cells.nrows()];
    for k in 0..cells.ncols() {
        cells.col(k).iter().zip(&mut level).filter(|(cell, _)| **cell == 1.0).for_each(|(_, level)| *level = k);
    }
    let mut counts = vec![0.0; cells.ncols() + 1];
    rows.iter().for_each(|&row| counts[level[row]] += 1.0);
    let levels = counts.iter().filter(|count| **count > 0.0).count();
    if levels < 2 || rows.len() < levels + FEWEST_ROWS {
        return vec![0.0; tasks.len()];
    }
    let correlation = |&task: &usize| {
        let y: Vec<f64> = rows.iter().map(|&row| targets[(row, task)]).collect();
        let scale = Standardiser::new(MatRef::from_column_major_slice(&y, y.len(), 1), None);
        let (mut sums, mut squares) = (vec![0.0; counts.len()], 0.0);
        for (&row, y) in rows.iter().zip(&y) {
            let z = (y - scale.mean[0]) / scale.scale[0];
            sums[level[row]] += z;
            squares += z * z;
        }
        let between: f64 = sums.iter().zip(&counts).filter(|(_, n)| **n > 0.0).map(|(sum, n)| sum * sum / n).sum();
        if squares <= 0.0 {
            return 0.0;
        }
        let chance = (rows.len() as f64 - 1.0) / (rows.len() - levels) as f64;
        (1.0 - (1.0 - between / squares).max(0.0) * chance).max(0.0).sqrt()
    };
    tasks.iter().map(correlation).collect()
}

/// Ranks, the mean of them where values are equal.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut below) = (vec![0.0; values.len()], 0.0);
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let count = tied.len() as f64;
        tied.iter().for_each(|&at| ranks[at] = below + 0.5 * (count - 1.0));
        below += count;
    }
    ranks
}

/// How many rows have the inputs of an earlier row.
fn repeated(data: &Dataset) -> Option<Note> {
    let (mut inputs, mut whole) = (BTreeSet::new(), BTreeSet::new());
    for row in 0..data.rows() {
        // Both zeros are one; so is every NaN.
        let bits = |value: f64| if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() };
        let mut hash = DefaultHasher::new();
        data.inputs().row(row).iter().for_each(|value| hash.write_u64(bits(*value)));
        inputs.insert(hash.finish());
        data.targets().row(row).iter().for_each(|value| hash.write_u64(bits(*value)));
        whole.insert(hash.finish());
    }
    let (rows, copies) = (data.rows() - inputs.len(), data.rows() - whole.len());
    if rows == 0 {
        return None;
    }
    let also = match copies {
        0 => String::new(),
        some if some == rows => ", and its targets".into(),
        some => format!(", {some} of them its targets too"),
    };
    let (have, of) = (if rows == 1 { "has" } else { "have" }, data.rows());
    let text = format!("{rows} of {of} rows {have} the inputs of an earlier row{also}");
    Some(Note::new(NoteKind::Repeated, Vec::new(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_by_hand() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 0.5, 3.0]), [3.0, 1.0, 3.0, 0.0, 3.0]);
        assert_eq!(ranks(&[2.0, 2.0]), [0.5, 0.5]);
        assert!(ranks(&[]).is_empty());
    }
}
