//! Dates and times as people write them.

use serde::{Deserialize, Serialize};

/// Seconds of a day.
pub const DAY: f64 = 86_400.0;

/// Whether 03/04/2024 is the third of April or the fourth of March.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// The third of April.
    DayFirst,
    /// The fourth of March.
    MonthFirst,
}

/// What a text says about time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Seconds since 1970 by the clock of the place; since midnight if there is no date.
    pub seconds: f64,
    /// By how many seconds that clock is ahead of UTC, as far as the text says.
    pub offset: f64,
    /// Whether it has a date, and not the time of a day alone.
    pub dated: bool,
}

/// Reads a date, a date with a time, or the time of a day. Dates are 2024-05-31, 2024/05/31, 31.05.2024, 31/05/2024 or
/// 05/31/2024 as `order` has it, 31 May 2024, May 31, 2024, 2024-05 and 05/2024; years of two digits are those from 1969
/// to 2068. Times are 14:30, 14:30:05.25, 2:30 PM, with Z or an offset such as +02:00 behind them or not.
pub fn moment(text: &str, order: DateOrder) -> Option<Moment> {
    let text = text.trim_ascii();
    // Most texts are no dates, which shows at once.
    if !(4..=40).contains(&text.len()) || !text.is_ascii() || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let Some(colon) = text.find(':') else {
        return Some(Moment { seconds: DAY * date(text, order)? as f64, offset: 0.0, dated: true });
    };
    let (seconds, offset, days) = match text.get(..colon)?.rfind([' ', 'T', 't']) {
        None => {
            let (seconds, offset) = time_of_day(text)?;
            (seconds, offset, None)
        }
        Some(gap) => {
            let (seconds, offset) = time_of_day(text.get(gap + 1..)?)?;
            (seconds, offset, Some(date(text.get(..gap)?, order)?))
        }
    };
    Some(Moment { seconds: DAY * days.unwrap_or(0) as f64 + seconds, offset, dated: days.is_some() })
}

/// Days since 1970.
fn date(text: &str, order: DateOrder) -> Option<i64> {
    let text = text.trim_ascii();
    if text.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return named_month(text);
    }
    let separator = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| matches!(c, '-' | '/' | '.'))?;
    let parts: Vec<&str> = text.split(separator).collect();
    let digits = |part: &str| number(part, 1..=4).map(|_| part.len());
    match parts[..] {
        [year, month] if separator != '.' && digits(year)? == 4 => days(number(year, 4..=4)?, number(month, 1..=2)?, 1),
        [month, year] if separator != '.' => days(number(year, 4..=4)?, number(month, 1..=2)?, 1),
        [year, month, day] if digits(year)? == 4 => {
            days(number(year, 4..=4)?, number(month, 1..=2)?, number(day, 1..=2)?)
        }
        [first, second, year] => {
            // 1.2.10 is rather the number of a version, 1-2-10 a code.
            let short = separator == '/' || separator == '.' && first.len() == 2 && second.len() == 2;
            let year =
                if digits(year)? == 2 && short { two_digits(number(year, 2..=2)?) } else { number(year, 4..=4)? };
            let (first, second) = (number(first, 1..=2)?, number(second, 1..=2)?);
            match order {
                DateOrder::MonthFirst if separator != '.' => days(year, first, second),
                _ => days(year, second, first),
            }
        }
        _ => None,
    }
}

/// A date whose month has its English name, such as 31 May 2024, May 31, 2024, 31-May-24, Fri, 31 May 2024 or May 2024.
fn named_month(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let starts = |names: &[&str], word: &str| {
        let word = word.to_ascii_lowercase();
        names
            .iter()
            .position(|name| word.len() >= 3 && name.starts_with(&word) || word == "sept" && *name == "september")
    };
    let (mut month, mut numbers) = (None, Vec::new());
    for word in text.split([' ', ',', '-', '/', '.']).filter(|word| !word.is_empty()) {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            numbers.push(word);
        } else if let (None, Some(found)) = (month, starts(&MONTHS, word)) {
            month = Some(found as i64 + 1);
        } else if !(month.is_none() && numbers.is_empty() && starts(&DAYS, word).is_some()) {
            return None;
        }
    }
    let month = month?;
    match numbers[..] {
        [year] => days(number(year, 4..=4)?, month, 1),
        [year, day] if year.len() == 4 => days(number(year, 4..=4)?, month, number(day, 1..=2)?),
        [day, year] if year.len() == 2 => days(two_digits(number(year, 2..=2)?), month, number(day, 1..=2)?),
        [day, year] => days(number(year, 4..=4)?, month, number(day, 1..=2)?),
        _ => None,
    }
}

/// Seconds since midnight by the clock, and by how many it is ahead of UTC.
fn time_of_day(text: &str) -> Option<(f64, f64)> {
    let text = text.trim_ascii();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(text.len());
    let (clock, rest) = (text.get(..end)?, text.get(end..)?.trim_ascii());
    let (half, rest) = match rest.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("am") => (Some(0), rest.get(2..)?.trim_ascii()),
        Some("pm") => (Some(12), rest.get(2..)?.trim_ascii()),
        _ => (None, rest),
    };
    let offset = match rest {
        "" | "Z" | "z" | "UTC" | "GMT" => 0,
        _ => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let digits = rest.strip_prefix(['+', '-'])?.replace(':', "");
            let hours = number(digits.get(..2)?, 2..=2).filter(|hours| *hours < 24)?;
            let minutes = match digits.get(2..)? {
                "" => 0,
                minutes => number(minutes, 2..=2).filter(|minutes| *minutes < 60)?,
            };
            sign * (3600 * hours + 60 * minutes)
        }
    };
    let mut parts = clock.splitn(3, ':');
    let hours = parts.next().and_then(|part| number(part, 1..=2))?;
    let hours = match half {
        None => Some(hours).filter(|hours| *hours < 24),
        Some(half) => Some(hours % 12 + half).filter(|_| (1..=12).contains(&hours)),
    }?;
    let minutes = parts.next().and_then(|part| number(part, 2..=2)).filter(|minutes| *minutes < 60)?;
    let seconds = match parts.next() {
        None => 0.0,
        Some(part) => {
            number(part.split('.').next()?, 2..=2).filter(|seconds| *seconds <= 60)?;
            part.parse::<f64>().ok()?
        }
    };
    Some(((3600 * hours + 60 * minutes) as f64 + seconds, offset as f64))
}

/// A whole number of so many digits.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    (digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// The year that two digits mean, as POSIX has it.
fn two_digits(year: i64) -> i64 {
    if year < 69 { 2000 + year } else { 1900 + year }
}

/// Days since 1970 of a date of the Gregorian calendar; nothing if there is no such day.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let of_month = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=of_month).contains(&day) {
        return None;
    }
    // Counted in years that begin in March, so that a leap day is the last of its year.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    Some(365 * years + leap + (153 * months + 2) / 5 + day - 1 - 719_468)
}

/// Year, month and day, the other way round.
fn calendar(days: i64) -> (i64, i64, i64) {
    let since = days + 719_468;
    let (century, of_400) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let years = (of_400 - of_400 / 1460 + of_400 / 36_524 - of_400 / 146_096) / 365;
    let of_year = of_400 - (365 * years + years / 4 - years / 100);
    let months = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * months + 2) / 5 + 1, if months < 10 { months + 3 } else { months - 9 });
    (400 * century + years + i64::from(month <= 2), month, day)
}

/// Day of the month, from 1.
pub(crate) fn day_of_month(seconds: f64) -> i64 {
    calendar((seconds / DAY).floor() as i64).2
}

/// Seconds since 1970 as a text that [`moment`] reads: 2024-05-31, with a time of day unless it is midnight.
pub fn date_text(seconds: f64) -> String {
    // Microseconds are what a double of seconds resolves.
    let seconds = (seconds * 1e6).round() / 1e6;
    let midnight = (seconds / DAY).floor();
    let (year, month, day) = calendar(midnight as i64);
    let rest = (seconds - midnight * DAY).clamp(0.0, DAY - 1e-6);
    let (whole, fraction) = (rest.floor() as i64, rest.fract());
    let date = format!("{year:04}-{month:02}-{day:02}");
    if rest == 0.0 {
        return date;
    }
    let mut text = format!("{date}T{:02}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    if fraction > 0.0 {
        let digits = format!("{fraction:.6}");
        text += digits.trim_start_matches('0').trim_end_matches('0');
    }
    text
}

/// What the texts of a column are as dates, read with the day first and with the month first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DateTexts {
    cells: u64,
    /// Cells that are dates in either order, and earliest and latest of them.
    read: [u64; 2],
    span: [Option<(f64, f64)>; 2],
    /// Cells with the time of a day and no date.
    clocks: u64,
    /// The first in the alphabet of those that are one date in one order and another in the other.
    differs: Option<String>,
    /// The first in the alphabet of those that are no dates.
    other: Option<String>,
}

/// Whether a column holds dates.
#[derive(Clone, Debug, PartialEq)]
pub enum AreDates {
    /// All of it, read in this order.
    Yes(DateOrder),
    /// None or some.
    No,
    /// Nearly all of many; this text is none.
    Nearly {
        /// Cells that are dates.
        dates: u64,
        /// A cell that is none.
        other: String,
    },
    /// All of it, but they may be read in either order; this text for one.
    Either(String),
}

const ORDERS: [DateOrder; 2] = [DateOrder::DayFirst, DateOrder::MonthFirst];

impl DateTexts {
    /// Of a column with so many cells that have each of these texts.
    pub fn of<'a>(texts: impl IntoIterator<Item = (&'a str, u64)>) -> DateTexts {
        let mut found = DateTexts::default();
        texts.into_iter().for_each(|(text, cells)| found.add(text, cells));
        found
    }

    /// Adds cells with the same text.
    pub fn add(&mut self, text: &str, cells: u64) {
        self.cells += cells;
        let read = ORDERS.map(|order| moment(text, order));
        for (k, found) in read.iter().enumerate() {
            if let Some(moment) = found {
                self.read[k] += cells;
                self.span[k] = wider(self.span[k], Some((moment.seconds, moment.seconds)));
            }
        }
        self.clocks += if read[0].is_some_and(|moment| !moment.dated) { cells } else { 0 };
        match read {
            [None, None] => first(&mut self.other, text),
            [Some(one), Some(two)] if one != two => first(&mut self.differs, text),
            _ => {}
        }
    }

    /// Adds the cells of another part of the column.
    pub fn merge(&mut self, other: DateTexts) {
        self.cells += other.cells;
        self.clocks += other.clocks;
        for k in 0..2 {
            self.read[k] += other.read[k];
            self.span[k] = wider(self.span[k], other.span[k]);
        }
        other.differs.iter().for_each(|text| first(&mut self.differs, text));
        other.other.iter().for_each(|text| first(&mut self.other, text));
    }

    /// Whether these are dates; `wanted` decides where the texts do not.
    pub fn are_dates(&self, wanted: Option<DateOrder>) -> AreDates {
        const MOSTLY: f64 = 0.9;
        const MANY: u64 = 20;
        let all = self.read.map(|read| read == self.cells);
        let mixed = self.clocks > 0 && self.clocks < self.cells;
        match (all, &self.differs, wanted) {
            _ if self.cells == 0 || mixed => AreDates::No,
            ([true, true], _, Some(wanted)) => AreDates::Yes(wanted),
            ([true, true], Some(text), None) => AreDates::Either(text.clone()),
            ([true, _], ..) => AreDates::Yes(DateOrder::DayFirst),
            ([false, true], ..) => AreDates::Yes(DateOrder::MonthFirst),
            ([false, false], ..) => {
                let dates = self.read[0].max(self.read[1]);
                match &self.other {
                    Some(other) if dates > MANY && dates as f64 >= MOSTLY * self.cells as f64 => {
                        AreDates::Nearly { dates, other: other.clone() }
                    }
                    _ => AreDates::No,
                }
            }
        }
    }

    /// Earliest and latest.
    pub fn span(&self, order: DateOrder) -> Option<(f64, f64)> {
        self.span[usize::from(order == DateOrder::MonthFirst)]
    }

    /// Whether these are times of a day.
    pub fn are_clocks(&self) -> bool {
        self.clocks == self.cells
    }

    /// Number of cells.
    pub fn cells(&self) -> u64 {
        self.cells
    }
}

fn wider(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

fn first(known: &mut Option<String>, text: &str) {
    if known.as_deref().is_none_or(|known| text < known) {
        *known = Some(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Python 3.11: datetime.fromisoformat(text).replace(tzinfo=utc where none).timestamp().
    #[test]
    fn dates_agree_with_another_calendar() {
        for (text, expected) in [
            ("1970-01-01", 0.0),
            ("2024-02-29", 1_709_164_800.0),
            ("2000-03-01", 951_868_800.0),
            ("1900-03-01", -2_203_891_200.0),
            ("0001-01-01", -62_135_596_800.0),
            ("9999-12-31", 253_402_214_400.0),
            ("2024-05-31 14:30", 1_717_165_800.0),
            ("2024-05-31T14:30:05.25", 1_717_165_805.25),
            ("2024-05-31T14:30:05Z", 1_717_165_805.0),
            ("2024-05-31T14:30:05+02:00", 1_717_158_605.0),
            ("2024-05-31T14:30:05-0530", 1_717_185_605.0),
        ] {
            let found = moment(text, DateOrder::DayFirst).unwrap();
            assert_eq!((found.seconds - found.offset, found.dated), (expected, true), "{text}");
        }
        for days in (-800_000..800_000).step_by(37) {
            let (year, month, day) = calendar(days);
            assert_eq!(super::days(year, month, day), Some(days));
        }
    }

    #[test]
    fn the_same_day_in_many_forms() {
        let day = 1_717_113_600.0;
        for text in [
            "2024-05-31",
            "2024/5/31",
            "2024.05.31",
            "31.05.2024",
            "31.5.2024",
            "31/05/2024",
            "31-05-2024",
            "31/5/24",
            "31.05.24",
            "31 May 2024",
            "31-May-2024",
            "31-MAY-24",
            "May 31, 2024",
            "Friday, 31 May 2024",
            "2024-May-31",
            " 2024-05-31 ",
        ] {
            assert_eq!(moment(text, DateOrder::DayFirst).map(|m| m.seconds), Some(day), "{text}");
        }
        for text in ["05/31/2024", "5/31/24", "05-31-2024"] {
            assert_eq!(moment(text, DateOrder::MonthFirst).map(|m| m.seconds), Some(day), "{text}");
            assert_eq!(moment(text, DateOrder::DayFirst), None, "{text}");
        }
        for (text, hours) in [("2:30 PM", 14.5), ("14:30", 14.5), ("12:00 am", 0.0), ("12:15pm", 12.25), ("9:45", 9.75)]
        {
            let dated = moment(&format!("31.05.2024 {text}"), DateOrder::MonthFirst).unwrap();
            assert_eq!((dated.seconds, dated.dated), (day + 3600.0 * hours, true), "{text}");
            let clock = moment(text, DateOrder::DayFirst).unwrap();
            assert_eq!((clock.seconds, clock.dated), (3600.0 * hours, false), "{text}");
        }
        for (text, first) in [("2024-05", "2024-05-01"), ("05/2024", "2024-05-01"), ("May 2024", "2024-05-01")] {
            assert_eq!(moment(text, DateOrder::DayFirst), moment(first, DateOrder::DayFirst), "{text}");
        }
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "red",
            "",
            "-",
            "12",
            "1.2.3",
            "1.2.10",
            "a-b-c",
            "0-1",
            "1-2-10",
            "192.168.0.1",
            "2024-99-01",
            "2023-02-29",
            "10-20-thirty",
            "12-red-2024",
            "05.2024",
            "2024",
            "25:00",
            "13:00 pm",
            "1:2:3:4",
            "A:12",
            "12:3",
            "Mayor 2024",
            "12 of May 2024",
            "é 2024-05-31",
            "2024-05-31T",
            "31/04/2024",
            "2024-13-01",
            "1900-02-29",
            "2024-04-31",
            "24-05-31",
            "2024-05-31T24:00",
            "2024-05-31T14",
            "2024-05-31T14:60",
            "2024-05-31T14:30:61",
            "2024-05-31T14:30:-1",
            "2024-05-31T14:30:5e1",
            "2024-05-31T14:30+",
            "2024-05-31T14:30+2",
            "2024-05-31T14:30 CET",
        ] {
            for order in ORDERS {
                assert_eq!(moment(text, order), None, "{text}");
            }
        }
    }

    #[test]
    fn texts_of_dates_are_read_back() {
        for seconds in [0.0, -1.0, 86_399.5, 1_717_165_805.25, 253_402_214_400.0, -2_203_891_199.999999, 1e9 + 0.000001]
        {
            let text = date_text(seconds);
            assert_eq!(moment(&text, DateOrder::DayFirst).unwrap().seconds, seconds, "{text}");
        }
        assert_eq!(date_text(1_717_165_800.0), "2024-05-31T14:30:00");
    }

    #[test]
    fn a_column_decides_on_its_order() {
        let found = |texts: &[&str], wanted| DateTexts::of(texts.iter().map(|text| (*text, 1))).are_dates(wanted);
        let (day, month) = (DateOrder::DayFirst, DateOrder::MonthFirst);
        assert_eq!(found(&["03/04/2024", "31/12/2023"], None), AreDates::Yes(day));
        assert_eq!(found(&["03/04/2024", "12/31/2023"], Some(day)), AreDates::Yes(month));
        assert_eq!(found(&["05/04/2024", "03/04/2024", "02/02/2024"], None), AreDates::Either("03/04/2024".into()));
        assert_eq!(found(&["03/04/2024"], Some(month)), AreDates::Yes(month));
        // Points mean that the day is first; the same number twice is the same either way.
        assert_eq!(found(&["03.04.2024", "02/02/2024"], None), AreDates::Yes(day));
        assert_eq!(found(&["31/12/2024", "12/31/2024"], None), AreDates::No);
        assert_eq!(found(&["2024-05-31", "14:30"], None), AreDates::No);
        assert_eq!(found(&["09:15", "14:30"], None), AreDates::Yes(day));
        assert_eq!(found(&[], None), AreDates::No);
        let mut texts = DateTexts::of([("2024-05-31", 30)]);
        texts.merge(DateTexts::of([("unknown", 1), ("later", 1)]));
        assert_eq!(texts.are_dates(None), AreDates::Nearly { dates: 30, other: "later".into() });
        assert_eq!(texts.span(day), Some((1_717_113_600.0, 1_717_113_600.0)));
    }
}
