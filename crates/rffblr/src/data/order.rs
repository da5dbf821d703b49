//! Columns that say which rows belong together, or in which order they came.

use super::encode_error::EncodeError;
use super::roles::Roles;
use crate::table::{AreDates, Column, DateOrder, DateTexts, Table, Values, moment, nearest};
use sha2::{Digest, Sha256};

const GROUP: &str = "the group";
const TIME: &str = "the time";

/// A number for each of some rows, the same for rows of one group of this table.
pub fn group_labels(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<u64>, EncodeError> {
    labelled(table, name, rows, |code, _| u64::from(code))
}

/// The same, but for a group of this name in any table: groups that are told apart have different ones, but for a chance of
/// 10⁻⁹ among 100 000 of them.
pub(crate) fn group_hashes(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<u64>, EncodeError> {
    let mut known: Vec<Option<u64>> = Vec::new();
    labelled(table, name, rows, |code, level| {
        let code = code as usize;
        known.resize(known.len().max(code + 1), None);
        *known[code].get_or_insert_with(|| {
            let digest = Sha256::digest(level);
            digest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
        })
    })
}

/// Numbers of groups; of a text from the code of its level and the level, of a number from its bits.
fn labelled(
    table: &Table,
    name: &str,
    rows: &[usize],
    mut text: impl FnMut(u32, &str) -> u64,
) -> Result<Vec<u64>, EncodeError> {
    let column = find(table, GROUP, name)?;
    let mut label = |row: usize| match &column.values {
        Values::Numeric(numbers) => Some(numbers[row]).filter(|number| !number.is_nan()).map(|n| (n + 0.0).to_bits()),
        Values::Text { levels, codes } => levels.get(codes[row] as usize).map(|level| text(codes[row], level)),
    };
    let absent = |row: usize| EncodeError::NoPlace { role: GROUP, column: name.to_owned(), row: row + 1 };
    rows.iter().map(|&row| label(row).ok_or_else(|| absent(row))).collect()
}

/// The order in which the dates of a column of times are read: `wanted` where they do not show it. Texts that are no dates
/// are found where they stand, by [`times`].
pub(crate) fn order_of(texts: &DateTexts, name: &str, wanted: Option<DateOrder>) -> Result<DateOrder, EncodeError> {
    match texts.are_dates(wanted) {
        AreDates::Yes(order) => Ok(order),
        AreDates::Either(text) => Err(EncodeError::AmbiguousDates { column: name.to_owned(), row: None, text }),
        AreDates::No | AreDates::Nearly { .. } => Ok(wanted.unwrap_or(DateOrder::DayFirst)),
    }
}

/// The time of each of some rows of a table that has all of them.
pub fn times_of(table: &Table, name: &str, rows: &[usize], wanted: Option<DateOrder>) -> Result<Vec<f64>, EncodeError> {
    let order = match &find(table, TIME, name)?.values {
        Values::Numeric(_) => DateOrder::DayFirst,
        Values::Text { levels, codes } => {
            let used = rows.iter().filter_map(|&row| Some((levels.get(codes[row] as usize)?.as_str(), 1)));
            order_of(&DateTexts::of(used), name, wanted)?
        }
    };
    times(table, name, rows, order)
}

/// The time of each of some rows: the number itself, or the seconds of a date that is read in this order.
pub(crate) fn times(table: &Table, name: &str, rows: &[usize], order: DateOrder) -> Result<Vec<f64>, EncodeError> {
    let absent = |row: usize| EncodeError::NoPlace { role: TIME, column: name.to_owned(), row: row + 1 };
    match &find(table, TIME, name)?.values {
        Values::Numeric(numbers) => {
            let time = |&row: &usize| Some(numbers[row]).filter(|time| time.is_finite()).ok_or_else(|| absent(row));
            rows.iter().map(time).collect()
        }
        Values::Text { levels, codes } => {
            let time = |&row: &usize| {
                let text = levels.get(codes[row] as usize).ok_or_else(|| absent(row))?;
                let wrong = || EncodeError::NotATime { column: name.to_owned(), row: row + 1, text: text.clone() };
                moment(text, order).map(|found| found.seconds - found.offset).ok_or_else(wrong)
            };
            rows.iter().map(time).collect()
        }
    }
}

impl Roles {
    /// An error about the first row with a target whose group or time is missing, or is a text that is no time however dates
    /// are read.
    pub fn expect_places(&self, table: &Table) -> Result<(), EncodeError> {
        if self.group.is_none() && self.time.is_none() {
            return Ok(());
        }
        let rows = self.rows_with_target(table, 0..table.rows())?;
        if let Some(name) = &self.group {
            group_labels(table, name, &rows)?;
        }
        if let Some(name) = &self.time {
            let by_day = times(table, name, &rows, DateOrder::DayFirst);
            by_day.or_else(|problem| times(table, name, &rows, DateOrder::MonthFirst).map_err(|_| problem))?;
        }
        Ok(())
    }
}

fn find<'a>(table: &'a Table, role: &'static str, name: &str) -> Result<&'a Column, EncodeError> {
    table.column(name).ok_or_else(|| {
        let names = table.columns().iter().map(|column| column.name.as_str());
        EncodeError::UnknownColumn { role, name: name.to_owned(), nearest: nearest(name, names).map(String::from) }
    })
}
