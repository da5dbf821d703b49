//! Which rows each fold of a cross-validation tests; all the others train.

use crate::error::{Error, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// The rows of a table split for cross-validation: no row is tested twice, and every fold has rows to test and rows
/// to train on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    rows: usize,
    /// Rows tested by each fold, rising.
    test: Vec<Vec<usize>>,
}

impl Folds {
    /// Deals all rows out at random; the sizes of the folds differ by at most one.
    pub fn random(rows: usize, count: usize, seed: u64) -> Result<Folds> {
        if count < 2 || count > rows {
            let problem = format!("{rows} rows cannot be split into {count} folds; use 2 to {rows} of them");
            return Err(Error::Folds { place: "cross-validation".into(), problem });
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Sorting by a random key depends on nothing but the generator, whose numbers are fixed for good.
        let mut dealt: Vec<(u64, usize)> = (0..rows).map(|row| (rng.next_u64(), row)).collect();
        dealt.sort_unstable();
        let mut test = vec![Vec::new(); count];
        for (position, (_, row)) in dealt.into_iter().enumerate() {
            test[position % count].push(row);
        }
        Folds::from_lists(rows, test, "cross-validation")
    }

    /// Reads a fold file: a JSON list with one list of test rows for each fold, counted from 0.
    pub fn read(path: &Path, rows: usize) -> Result<Folds> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let place = path.display().to_string();
        let test = serde_json::from_str(&text).map_err(|error| Error::Folds {
            place: place.clone(),
            problem: format!(
                "{error}; a fold file is a JSON list of lists of test rows, counted from 0, such as [[0, 3], [1, 2]]"
            ),
        })?;
        Folds::from_lists(rows, test, &place)
    }

    /// The rows tested by each fold, checked; `place` names their source in errors.
    pub fn from_lists(rows: usize, mut test: Vec<Vec<usize>>, place: &str) -> Result<Folds> {
        let wrong = |problem: String| Err(Error::Folds { place: place.to_owned(), problem });
        if test.is_empty() {
            return wrong("there are no folds; list the test rows of at least one".into());
        }
        let mut tested_by = vec![None; rows];
        for (fold, list) in test.iter_mut().enumerate() {
            if list.is_empty() {
                return wrong(format!("fold {} tests no row; list some or remove it", fold + 1));
            }
            for &row in list.iter() {
                let Some(seen) = tested_by.get_mut(row) else {
                    return wrong(format!(
                        "fold {} tests row {row}, but the data have {rows} rows, counted from 0",
                        fold + 1
                    ));
                };
                if let Some(before) = seen.replace(fold) {
                    return wrong(format!(
                        "row {row} is listed twice, in fold {} and in fold {}; list it once",
                        before + 1,
                        fold + 1
                    ));
                }
            }
            if list.len() == rows {
                return wrong(format!("fold {} tests all {rows} rows and leaves none to train on", fold + 1));
            }
            list.sort_unstable();
        }
        Ok(Folds { rows, test })
    }

    /// Number of folds.
    pub fn count(&self) -> usize {
        self.test.len()
    }

    /// Rows tested by each fold, rising.
    pub fn test(&self) -> &[Vec<usize>] {
        &self.test
    }

    /// Rows trained on by the fold that tests `test`: all others, rising.
    pub fn train(&self, test: &[usize]) -> Vec<usize> {
        (0..self.rows).filter(|row| test.binary_search(row).is_err()).collect()
    }

    /// How many rows no fold tests. Only a fold file leaves such rows; they train in every fold.
    pub fn never_tested(&self) -> usize {
        self.rows - self.test.iter().map(Vec::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn from_text(text: &str, rows: usize) -> Result<Folds> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Folds::read(file.path(), rows)
    }

    #[test]
    fn random_folds_test_every_row_once_in_nearly_equal_parts() {
        for (rows, count) in [(10, 10), (23, 4), (359, 10), (2, 2), (7, 3)] {
            let folds = Folds::random(rows, count, 5).unwrap();
            assert_eq!(folds.count(), count);
            let mut all: Vec<usize> = folds.test().concat();
            all.sort_unstable();
            assert_eq!(all, (0..rows).collect::<Vec<_>>());
            let sizes = folds.test().iter().map(Vec::len);
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            assert_eq!(folds.never_tested(), 0);
            for test in folds.test() {
                let mut both = folds.train(test);
                both.extend(test);
                both.sort_unstable();
                assert_eq!(both, (0..rows).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_seed_alone_decides() {
        assert_eq!(Folds::random(50, 5, 1).unwrap(), Folds::random(50, 5, 1).unwrap());
        assert_ne!(Folds::random(50, 5, 1).unwrap(), Folds::random(50, 5, 2).unwrap());
    }

    #[test]
    fn no_row_is_favoured() {
        // Row 0 of 20 falls into the first of 4 folds in a quarter of 4000 draws: 1000, deviation 27.
        let hits = (0..4000).filter(|&seed| Folds::random(20, 4, seed).unwrap().test()[0].contains(&0)).count();
        assert!((865..=1135).contains(&hits), "{hits}");
    }

    #[test]
    fn too_few_or_too_many_folds() {
        for count in [0, 1, 6] {
            let error = Folds::random(5, count, 0).unwrap_err().to_string();
            assert!(error.contains("5 rows") && error.contains(&format!("{count} folds")), "{error}");
        }
    }

    #[test]
    fn a_fold_file_may_leave_rows_out() {
        let folds = from_text(" [[3, 0],\n [2]] ", 6).unwrap();
        assert_eq!(folds.test(), [vec![0, 3], vec![2]]);
        assert_eq!(folds.train(&folds.test()[0]), [1, 2, 4, 5]);
        assert_eq!(folds.never_tested(), 3);
    }

    #[test]
    fn wrong_fold_files_are_refused_by_place() {
        for (text, expected) in [
            ("", "line 1"),
            ("[[0, 1], [2, 3]", "line 1 column 15"),
            ("{\"folds\": []}", "JSON list of lists"),
            ("[[[0]], [[1]]]", "JSON list of lists"),
            ("[[0], [-1]]", "-1"),
            ("[[0], [1.5]]", "1.5"),
            ("[]", "no folds"),
            ("[[0], []]", "fold 2 tests no row"),
            ("[[0], [4]]", "fold 2 tests row 4, but the data have 4 rows"),
            ("[[0, 1], [2, 1]]", "row 1 is listed twice, in fold 1 and in fold 2"),
            ("[[0, 0]]", "row 0 is listed twice, in fold 1 and in fold 1"),
            ("[[3, 1, 2, 0]]", "leaves none to train on"),
        ] {
            let error = from_text(text, 4).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = Folds::read(Path::new("no/such/file.json"), 4).unwrap_err().to_string();
        assert!(error.contains("no/such/file.json"), "{error}");
    }
}
