//! The encoder of a table that is too large to be kept, learned from a summary of its rows.

use super::columns::{Facts, Reading, category, is_date, median, number, text_encoding};
use super::dates::times;
use super::{Encoder, MissingInputs, note_placeholder, suspects};
use crate::data::note::{Note, NoteKind, Notes};
use crate::data::summary::{ColumnSummary, Present, Summary};
use crate::data::{EncodeError, Roles};
use crate::table::Column;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

impl Encoder {
    /// Learns from a summary what the inputs of a table become: as [`Encoder::learn`] does from all of its rows, except
    /// for what only the sample can tell.
    ///
    /// Levels, gaps and whether a column varies are those of all rows, also of rows without any target. Medians are
    /// those of the rows of the sample with a target; if none of them has a value, the mean of all rows stands in. What
    /// a column looks like (a time, names of units, a count of rows, an identifier with more levels than are counted)
    /// is judged by the sample.
    pub fn learn_summary(
        summary: &Summary,
        roles: &Roles,
        missing: MissingInputs,
    ) -> Result<(Encoder, Vec<Note>), EncodeError> {
        let (sample, numbers) = summary.sample();
        let (rows, _) = roles.observed_rows(&sample)?;
        let columns = summary.columns().iter();
        let known: HashMap<&str, &ColumnSummary> = columns.map(|column| (column.name.as_str(), column)).collect();
        let facts = |column: &Column, rows: &[usize]| match known.get(column.name.as_str()) {
            Some(whole) => Facts::summarised(whole, column, rows, &numbers, Reading::asked(roles, &column.name)),
            None => Facts::of(column, rows, Reading::asked(roles, &column.name)),
        };
        let mut notes = Notes::default();
        let columns = roles.inputs(&sample).map(Cow::Borrowed);
        let encoder = Encoder::learn_columns(columns, &rows, facts, roles, missing, &mut notes)?;
        let targets: HashSet<&String> = roles.targets.iter().collect();
        for column in summary.columns().iter().filter(|column| targets.contains(&column.name)) {
            if matches!(&column.present, Present::Numbers(moments) if moments.min == moments.max) {
                notes.add(NoteKind::ConstantTarget, &column.name, "");
            }
        }
        for column in sample.columns().iter().filter(|column| targets.contains(&column.name)) {
            note_placeholder(column, &rows, &mut notes);
        }
        let mut told = roles.order_notes(&sample, encoder.left_out());
        told.extend(notes.told());
        Ok((encoder, told))
    }
}

impl Facts {
    /// From the summary of all rows, and a sample with the number of each of its rows.
    fn summarised(whole: &ColumnSummary, sample: &Column, rows: &[usize], numbers: &[u64], reading: Reading) -> Facts {
        let gaps = whole.missing > 0;
        let whole_number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (count, identifier, encoding) = match &whole.present {
            Present::Numbers(all) => {
                let middle = median(sample, rows).or((all.count > 0).then_some(all.mean));
                (all.count, false, Ok(number(middle, all.min == all.max, gaps)))
            }
            Present::Texts(all) => {
                let levels = all.levels();
                let identifier = match &levels {
                    Some(levels) => {
                        let different = all.count() > 1 && levels.len() as u64 == all.count();
                        different && all.count() > whole.missing
                    }
                    None => suspects::is_identifier(sample, rows),
                };
                let levels = || match levels {
                    Some(levels) => Ok(category(levels.into_iter(), gaps)),
                    // Which of them are frequent shows in the sample.
                    None => Facts::of(sample, rows, Reading::of_levels()).encoding,
                };
                let texts = || all.dates().clone();
                let of_sample = |order| times(sample, rows, order);
                let encoding = text_encoding(&whole.name, texts, reading, gaps, of_sample, levels);
                (all.count(), identifier && !is_date(&encoding), encoding)
            }
        };
        Facts {
            first_gap: whole.first_missing.map(whole_number),
            gaps: whole_number(whole.missing),
            empty: count == 0,
            index: suspects::is_index(sample, |row| numbers[row]),
            identifier,
            encoding,
        }
    }
}
