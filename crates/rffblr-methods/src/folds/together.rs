//! Rows that belong together: folds that follow a column of groups or of times.

use super::Folds;
use rffblr::data::TrainingTable;
use rffblr::internals::{group_labels, times_of};
use rffblr::metrics::SplitBy;

impl Folds {
    /// Splits the rows of a table in which a target is known: whole groups held out if there is a column of groups, the
    /// future tested if there is one of times, otherwise at random. Other rows are neither trained on nor tested. A
    /// missing group or time is an error: a row that may belong to any group cannot be kept apart from it.
    pub fn of_table(training: &TrainingTable, count: usize, seed: u64) -> rffblr::Result<(Folds, SplitBy)> {
        let (roles, table, rows) = (training.roles(), training.table(), training.rows());
        let (folds, split) = match (&roles.group, &roles.time) {
            (Some(column), _) => {
                let folds = Folds::by_group(&group_labels(table, column, rows)?, count, seed)?;
                (folds, SplitBy::Group { column: Some(column.clone()), seed })
            }
            (None, Some(column)) => (
                Folds::by_time(&times_of(table, column, rows, roles.dates)?, count)?,
                SplitBy::Time { column: column.clone() },
            ),
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
            (Some(column), _) => distinct(group_labels(table, column, rows)?),
            (None, Some(column)) => {
                let times = times_of(table, column, rows, roles.dates)?;
                distinct(times.iter().map(|time| (time + 0.0).to_bits()).collect()).saturating_sub(1)
            }
            (None, None) => rows.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffblr::data::{MissingInputs, Roles};
    use rffblr::table::{Column, Table, Values};

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
    fn times_stay_inputs() {
        let table = table(&[]);
        let inputs = |roles: Roles| roles.inputs(&table).map(|column| column.name.clone()).collect::<Vec<_>>();
        assert_eq!(inputs(roles(Some("animal"), None)), ["day", "week"]);
        assert_eq!(inputs(roles(None, Some("week"))), ["animal", "day", "week"]);
        assert_eq!(inputs(roles(None, Some("day"))), ["animal", "day", "week"]);
        assert!(roles(None, Some("week")).order_notes(&table, &[])[0].to_string().contains("is an input too"));
        let ignored = Roles { ignore: vec!["day".into()], ..roles(None, Some("day")) };
        let unused = roles(None, Some("week")).order_notes(&table, &["week".into()]);
        assert!(unused[0].to_string().contains("is not an input"));
        assert!(ignored.order_notes(&table, &[])[0].to_string().contains("is not an input"));
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
