//! Dates and times as numbers: how long since the first one, and where in the year, the week and the day.

use super::Encoding;
use crate::data::EncodeError;
use crate::table::{AreDates, Column, DAY, DateOrder, DateTexts, Values, date_text, day_of_month, moment, number_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::f64::consts::TAU;

/// What a column of dates becomes: days since the first of the training rows, cosine and sine of each cycle, and a mark for
/// missing cells. A missing cell takes the median day and the centre of each cycle, as far from every part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DateEncoding {
    /// First of the training rows, in seconds since 1970.
    pub start: f64,
    /// Median of the training rows, in days since the first.
    pub median: f64,
    /// Cycles of which the training rows have seen enough.
    pub cycles: Vec<Cycle>,
    /// How a date such as 03/04/2024 is read.
    pub order: DateOrder,
    /// Whether a last column marks missing cells.
    pub indicator: bool,
}

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cycle {
    /// The season.
    Year,
    /// The day of the week.
    Week,
    /// The time of the day.
    Day,
}

/// Days of a year on average.
const YEAR: f64 = 365.2425;

impl Cycle {
    /// In the names of encoded columns.
    pub fn name(self) -> &'static str {
        match self {
            Cycle::Year => "year",
            Cycle::Week => "week",
            Cycle::Day => "day",
        }
    }

    /// What it stands for, in a sentence.
    fn meaning(self) -> &'static str {
        match self {
            Cycle::Year => "season",
            Cycle::Week => "day of the week",
            Cycle::Day => "time of day",
        }
    }

    /// Where in the cycle a moment is, from 0 to 1. Weeks begin on Mondays.
    pub fn phase(self, seconds: f64) -> f64 {
        let days = seconds / DAY;
        match self {
            Cycle::Year => (days / YEAR).rem_euclid(1.0),
            Cycle::Week => (days.floor() + 3.0).rem_euclid(7.0) / 7.0,
            Cycle::Day => days.rem_euclid(1.0),
        }
    }

    /// The same as numbers: the phase is the fraction of (days since 1970 + shift)/period, of whole days if the last is true.
    pub fn terms(self) -> (f64, f64, bool) {
        match self {
            Cycle::Year => (YEAR, 0.0, false),
            Cycle::Week => (7.0, 3.0, true),
            Cycle::Day => (1.0, 0.0, false),
        }
    }

    /// Whether times that span so many seconds have seen enough of it to tell it from the course of time.
    fn is_seen(self, times: &[f64], span: f64) -> bool {
        let distinct =
            |parts: f64| times.iter().map(|&t| (self.phase(t) * parts) as u32).collect::<BTreeSet<_>>().len();
        match self {
            // Some of the year is there twice, and not the same month all the time.
            Cycle::Year => span >= 1.5 * YEAR * DAY && distinct(12.0) >= 3,
            // Ends and beginnings of months fall on any day of the week, which means nothing.
            Cycle::Week => {
                let days: BTreeSet<i64> = times.iter().map(|&time| day_of_month(time)).collect();
                span >= 14.0 * DAY && distinct(7.0) >= 2 && days.len() > 4
            }
            Cycle::Day => span >= 2.0 * DAY && distinct(1440.0) >= 2,
        }
    }
}

impl DateEncoding {
    /// From times of training rows, at least one, and the span of all of them; nothing if all are the same.
    fn new(mut times: Vec<f64>, texts: &DateTexts, order: DateOrder, indicator: bool) -> Option<DateEncoding> {
        times.sort_unstable_by(f64::total_cmp);
        let (start, end) = texts.span(order).filter(|(start, end)| start < end)?;
        let start = if texts.are_clocks() { 0.0 } else { start };
        let median = (times.get(times.len() / 2).copied().unwrap_or(start) - start) / DAY;
        let seen = |cycle: &Cycle| match texts.are_clocks() {
            true => *cycle == Cycle::Day,
            false => cycle.is_seen(&times, end - start),
        };
        let cycles = [Cycle::Year, Cycle::Week, Cycle::Day].into_iter().filter(seen).collect();
        Some(DateEncoding { start, median, cycles, order, indicator })
    }

    /// Names of the encoded columns of an input with this name.
    pub(super) fn names(&self, name: &str) -> Vec<String> {
        let of_cycle = |cycle: &Cycle| ["cos", "sin"].map(|wave| format!("{name}:{} {wave}", cycle.name()));
        let names = std::iter::once(name.to_owned()).chain(self.cycles.iter().flat_map(of_cycle));
        names.chain(self.indicator.then(|| format!("{name}?"))).collect()
    }

    /// The encoded columns at some days since the start; `None` is a missing cell.
    pub fn encode(&self, days: Option<f64>) -> Vec<f64> {
        let wave = |cycle: &Cycle| match days {
            None => [0.0, 0.0],
            Some(days) => {
                let angle = TAU * cycle.phase(self.start + DAY * days);
                [angle.cos(), angle.sin()]
            }
        };
        let encoded = std::iter::once(days.unwrap_or(self.median)).chain(self.cycles.iter().flat_map(wave));
        encoded.chain(self.indicator.then(|| f64::from(u8::from(days.is_none())))).collect()
    }

    /// Days since the start of every cell of a column, `None` where missing; the error is about the first of the rows
    /// whose text is no date.
    pub(super) fn days(&self, column: &Column, rows: &[usize]) -> Result<Vec<Option<f64>>, EncodeError> {
        let days = |text: &str| Some((moment(text, self.order)?.seconds - self.start) / DAY);
        let wrong = |row: usize, text: &str| EncodeError::NotADate {
            column: column.name.clone(),
            row: row + 1,
            text: text.to_owned(),
        };
        match &column.values {
            Values::Text { levels, codes } => {
                let known: Vec<Option<f64>> = levels.iter().map(|level| days(level)).collect();
                let cell = |&row: &usize| match levels.get(codes[row] as usize) {
                    None => Ok(None),
                    Some(text) => known[codes[row] as usize].map(Some).ok_or_else(|| wrong(row, text)),
                };
                rows.iter().map(cell).collect()
            }
            Values::Numeric(numbers) => {
                let cell = |&row: &usize| match numbers[row] {
                    number if number.is_nan() => Ok(None),
                    number => Err(wrong(row, &number_text(number))),
                };
                rows.iter().map(cell).collect()
            }
        }
    }

    /// Whether the texts were times of a day, which have no date to begin with.
    pub fn is_clock(&self) -> bool {
        self.start == 0.0 && self.cycles == [Cycle::Day]
    }

    /// What it becomes, in words: days since 2024-05-31, season and day of the week.
    pub fn describe(&self) -> String {
        let since = (!self.is_clock()).then(|| format!("days since {}", date_text(self.start).replace('T', " ")));
        let parts = since.into_iter().chain(self.cycles.iter().map(|cycle| cycle.meaning().to_owned()));
        let parts: Vec<String> = parts.collect();
        match &parts[..] {
            [one] => one.clone(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
            [] => String::new(),
        }
    }

    /// What of it is not a number that can be computed with, if anything.
    pub(super) fn flaw(&self) -> Option<&'static str> {
        let finite = self.start.is_finite() && self.median.is_finite();
        let twice = (1..self.cycles.len()).any(|k| self.cycles[..k].contains(&self.cycles[k]));
        match (finite, twice) {
            (false, _) => Some("start or median is not finite"),
            (true, true) => Some("cycles name one twice"),
            (true, false) => None,
        }
    }
}

/// What a text becomes that may be dates: nothing if it is not; `times` are those of the training rows.
pub(super) fn dates(
    name: &str,
    texts: &DateTexts,
    wanted: Option<DateOrder>,
    gaps: bool,
    times: impl FnOnce(DateOrder) -> Vec<f64>,
) -> Result<Option<Option<Encoding>>, EncodeError> {
    let column = name.to_owned();
    match texts.are_dates(wanted) {
        AreDates::No => Ok(None),
        AreDates::Yes(order) => Ok(Some(match DateEncoding::new(times(order), texts, order, gaps) {
            Some(date) => Some(Encoding::Date(date)),
            None => gaps.then_some(Encoding::Presence),
        })),
        AreDates::Nearly { dates, other } => {
            Err(EncodeError::MostlyDates { column, row: None, text: other, dates, cells: texts.cells() })
        }
        AreDates::Either(text) => Err(EncodeError::AmbiguousDates { column, row: None, text }),
    }
}

/// The times of some rows of a text, read in an order.
pub(super) fn times(column: &Column, rows: &[usize], order: DateOrder) -> Vec<f64> {
    let Values::Text { levels, codes } = &column.values else { return Vec::new() };
    let known: Vec<Option<f64>> = levels.iter().map(|level| moment(level, order).map(|found| found.seconds)).collect();
    rows.iter().filter_map(|&row| *known.get(codes[row] as usize)?).collect()
}
