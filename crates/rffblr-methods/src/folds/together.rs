//! Rows that belong together: folds that follow a column of groups or of times.

use super::Folds;
use rffblr::data::{EncodeError, TrainingTable};
use rffblr::internals::numbers;
use rffblr::metrics::SplitBy;
use rffblr::table::{Column, Table, Values, nearest};

const SECONDS_A_DAY: f64 = 86_400.0;

impl Folds {
    /// Splits the rows of a table in which a target is known: whole groups held out if there is a column of groups, the
    /// future tested if there is one of times, otherwise at random. Other rows are neither trained on nor tested. A
    /// missing group or time is an error: a row that may belong to any group cannot be kept apart from it.
    pub fn of_table(training: &TrainingTable, count: usize, seed: u64) -> rffblr::Result<(Folds, SplitBy)> {
        let (roles, table, rows) = (training.roles(), training.table(), training.rows());
        let (folds, split) = match (&roles.group, &roles.time) {
            (Some(column), _) => {
                let folds = Folds::by_group(&groups(table, column, rows)?, count, seed)?;
                (folds, SplitBy::Group { column: Some(column.clone()), seed })
            }
            (None, Some(column)) => {
                (Folds::by_time(&times(table, column, rows)?, count)?, SplitBy::Time { column: column.clone() })
            }
            (None, None) => (Folds::random(rows.len(), count, seed)?, SplitBy::Random { seed }),
        };
        Ok((folds.among(rows, table.rows())?, split))
    }

    /// Rows of a table that a fold trains on, rising: those in which a target is known.
    pub fn train_in(&self, training: &TrainingTable, fold: usize) -> Vec<usize> {
        let mut rows = self.train(fold);
        rows.retain(|row| training.rows().binary_search(row).is_ok());
        rows
    }

    /// Most folds that a table can be split into: no more than it has rows in which a target is known, or groups of them,
    /// or times less one.
    pub fn most(training: &TrainingTable) -> rffblr::Result<usize> {
        let distinct = |mut values: Vec<u64>| {
            values.sort_unstable();
            values.dedup();
            values.len()
        };
        let (roles, table, rows) = (training.roles(), training.table(), training.rows());
        Ok(match (&roles.group, &roles.time) {
            (Some(column), _) => distinct(groups(table, column, rows)?),
            (None, Some(column)) => {
                let times = times(table, column, rows)?;
                distinct(times.iter().map(|time| (time + 0.0).to_bits()).collect()).saturating_sub(1)
            }
            (None, None) => rows.len(),
        })
    }
}

/// A number for each row, the same for rows of one group.
fn groups(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<u64>, EncodeError> {
    let column = find(table, "the group", name)?;
    let label = |&row: &usize| match &column.values {
        Values::Numeric(numbers) => Some(numbers[row]).filter(|number| !number.is_nan()).map(|n| (n + 0.0).to_bits()),
        Values::Text { levels, codes } => Some(u64::from(codes[row])).filter(|&code| (code as usize) < levels.len()),
    };
    let absent = |row: usize| EncodeError::NoPlace { role: "the group", column: name.to_owned(), row: row + 1 };
    rows.iter().map(|row| label(row).ok_or_else(|| absent(*row))).collect()
}

/// The time of each row: the number itself, or the seconds of a date.
fn times(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<f64>, EncodeError> {
    let column = find(table, "the time", name)?;
    let absent = |row: usize| EncodeError::NoPlace { role: "the time", column: name.to_owned(), row: row + 1 };
    match &column.values {
        Values::Numeric(_) => {
            let numbers = numbers(table, "the time", name)?;
            let time = |&row: &usize| Some(numbers[row]).filter(|time| time.is_finite()).ok_or_else(|| absent(row));
            rows.iter().map(time).collect()
        }
        Values::Text { levels, codes } => {
            let time = |&row: &usize| {
                let text = levels.get(codes[row] as usize).ok_or_else(|| absent(row))?;
                let wrong = || EncodeError::NotATime { column: name.to_owned(), row: row + 1, text: text.clone() };
                seconds(text.trim()).ok_or_else(wrong)
            };
            rows.iter().map(time).collect()
        }
    }
}

fn find<'a>(table: &'a Table, role: &'static str, name: &str) -> Result<&'a Column, EncodeError> {
    table.column(name).ok_or_else(|| {
        let names = table.columns().iter().map(|column| column.name.as_str());
        EncodeError::UnknownColumn { role, name: name.to_owned(), nearest: nearest(name, names).map(String::from) }
    })
}

/// Seconds since 1970 of an ISO 8601 date, with or without a time of day and an offset; without one it is taken as UTC.
fn seconds(text: &str) -> Option<f64> {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at)?, Some(text.get(at + 1..)?)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let [year, month, day] = [(4, 0..=9999), (2, 1..=12), (2, 1..=31)]
        .map(|(digits, range)| parts.next().and_then(|part| whole(part, digits)).filter(|part| range.contains(part)));
    let (year, month, day) = (year?, month?, day?);
    let days_of_month = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if day > days_of_month {
        return None;
    }
    // Counted in years that begin in March, so that a leap day is the last of its year.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * years + years.div_euclid(4) - years.div_euclid(100)
        + years.div_euclid(400)
        + (153 * months + 2) / 5
        + day
        - 1
        - 719_468;
    Some(days as f64 * SECONDS_A_DAY + time.map_or(Some(0.0), time_of_day)?)
}

/// Seconds since midnight of UTC.
fn time_of_day(text: &str) -> Option<f64> {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (text.get(..at)?, text.get(at..)?),
        None => (text, ""),
    };
    let offset = match offset {
        "" | "Z" | "z" => 0,
        _ => {
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            let digits = offset.get(1..)?.replace(':', "");
            let hours = whole(digits.get(..2)?, 2).filter(|hours| *hours < 24)?;
            let minutes = match digits.get(2..)? {
                "" => 0,
                minutes => whole(minutes, 2).filter(|minutes| *minutes < 60)?,
            };
            sign * (3600 * hours + 60 * minutes)
        }
    };
    let mut parts = clock.splitn(3, ':');
    let hours = parts.next().and_then(|part| whole(part, 2)).filter(|hours| *hours < 24)?;
    let minutes = parts.next().and_then(|part| whole(part, 2)).filter(|minutes| *minutes < 60)?;
    let seconds = match parts.next() {
        None => 0.0,
        Some(part) => {
            let plain = part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let whole = whole(part.split('.').next()?, 2).filter(|seconds| *seconds <= 60);
            whole.filter(|_| plain).and_then(|_| part.parse::<f64>().ok())?
        }
    };
    Some((3600 * hours + 60 * minutes - offset) as f64 + seconds)
}

/// A number of exactly this many digits.
fn whole(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffblr::data::{MissingInputs, Roles};

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
            ("2024-05-31T14:30+02", 1_717_158_600.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "2024",
            "2024-05",
            "31.05.2024",
            "5/31/2024",
            "2024-13-01",
            "2023-02-29",
            "1900-02-29",
            "2024-04-31",
            "2024-5-31",
            "24-05-31",
            "2024-05-31T",
            "2024-05-31T24:00",
            "2024-05-31T14",
            "2024-05-31T14:60",
            "2024-05-31T14:30:61",
            "2024-05-31T14:30:-1",
            "2024-05-31T14:30:5e1",
            "2024-05-31T14:30+",
            "2024-05-31T14:30+2",
            "2024-05-31T14:30 CET",
            "Montag",
            "2024-05-31é",
            "é",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    fn text(name: &str, cells: &[&str]) -> Column {
        let levels: Vec<String> = cells.iter().filter(|cell| !cell.is_empty()).map(|cell| cell.to_string()).collect();
        let code = |cell: &&str| levels.iter().position(|level| level == cell).map_or(u32::MAX, |at| at as u32);
        Column {
            name: name.into(),
            values: Values::Text { codes: cells.iter().map(code).collect(), levels: levels.clone() },
        }
    }

    fn number(name: &str, cells: &[f64]) -> Column {
        Column { name: name.into(), values: Values::Numeric(cells.to_vec()) }
    }

    /// The target is not known in the rows named.
    fn table(unknown: &[usize]) -> Table {
        let y: Vec<f64> = (0..6).map(|row| if unknown.contains(&row) { f64::NAN } else { row as f64 }).collect();
        Table::new(vec![
            text("animal", &["a", "b", "a", "", "c", "b"]),
            text("day", &["2024-02-10", "2024-01-09", "2024-01-10", "2023-12-31", "soon", "2024-01-10"]),
            number("week", &[5.0, 1.0, 2.0, f64::NAN, 4.0, -0.0]),
            number("y", &y),
        ])
        .unwrap()
    }

    fn roles(group: Option<&str>, time: Option<&str>) -> Roles {
        let (group, time) = (group.map(String::from), time.map(String::from));
        Roles { group, time, ..Roles::of_targets(["y"]) }
    }

    fn training(unknown: &[usize], roles: Roles) -> rffblr::Result<TrainingTable> {
        TrainingTable::new(table(unknown), roles, MissingInputs::Impute)
    }

    #[test]
    fn folds_follow_the_column() {
        let by_animal = training(&[3], roles(Some("animal"), None)).unwrap();
        let (folds, split) = Folds::of_table(&by_animal, 3, 7).unwrap();
        let mut tests = folds.test().to_vec();
        tests.sort();
        assert_eq!(tests, [vec![0, 2], vec![1, 5], vec![4]]);
        assert_eq!(split, SplitBy::Group { column: Some("animal".into()), seed: 7 });
        assert_eq!(Folds::most(&by_animal).unwrap(), 3);
        // Two rows of 2024-01-10 stay together.
        let by_day = training(&[4], roles(None, Some("day"))).unwrap();
        let (folds, _) = Folds::of_table(&by_day, 2, 0).unwrap();
        assert_eq!((folds.train(0), folds.test()), (vec![1, 3], &[vec![2, 5], vec![0]][..]));
        assert_eq!(Folds::most(&by_day).unwrap(), 3);
        let by_week = training(&[3], roles(None, Some("week"))).unwrap();
        let (folds, split) = Folds::of_table(&by_week, 1, 0).unwrap();
        assert_eq!((folds.train(0), folds.test()), (vec![1, 2, 5], &[vec![0, 4]][..]));
        assert_eq!(split.to_string(), "trained on the past, tested on the future by week");
    }

    #[test]
    fn numbers_of_time_stay_inputs_and_dates_do_not() {
        let table = table(&[]);
        let inputs = |roles: Roles| roles.inputs(&table).map(|column| column.name.clone()).collect::<Vec<_>>();
        assert_eq!(inputs(roles(Some("animal"), None)), ["day", "week"]);
        assert_eq!(inputs(roles(None, Some("week"))), ["animal", "day", "week"]);
        assert_eq!(inputs(roles(None, Some("day"))), ["animal", "week"]);
        assert!(roles(None, Some("day")).order_notes(&table)[0].to_string().contains("is not an input"));
        assert!(roles(None, Some("week")).order_notes(&table)[0].to_string().contains("is an input too"));
    }

    #[test]
    fn what_has_no_place_is_named_by_its_row() {
        for (roles, expected) in [
            (roles(Some("animal"), None), "data row 4, column 'animal': the group is missing"),
            (roles(None, Some("week")), "data row 4, column 'week': the time is missing"),
            (roles(None, Some("day")), "data row 5, column 'day': 'soon' is not a time"),
            (roles(Some("animals"), None), "no column 'animals' to use as the group; did you mean 'animal'?"),
        ] {
            let error =
                training(&[], roles).and_then(|training| Folds::of_table(&training, 2, 0)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
