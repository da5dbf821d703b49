//! Folds inside folds: which training rows of an outer fold each of its inner folds holds out.

use super::{Folds, text_of};
use rffblr::{Error, Result};
use std::path::Path;

/// The inner folds of every outer fold, for choosing hyper-parameters without a look at the outer test rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedFolds {
    /// For each outer fold and each of its inner folds the rows of the table held out, rising.
    held_out: Vec<Vec<Vec<usize>>>,
}

impl NestedFolds {
    /// Reads a file with one list of inner folds for each outer fold; an inner fold lists the positions it holds out
    /// among the training rows of its outer fold, which are all rows that the outer fold does not test, in their order
    /// in the table, counted from 0.
    pub fn read(path: &Path, outer: &Folds) -> Result<NestedFolds> {
        let text = text_of(path)?;
        let place = path.display().to_string();
        let wrong = |problem: String| Error::Folds { place: place.clone(), problem };
        let lists: Vec<Vec<Vec<usize>>> = serde_json::from_str(&text).map_err(|error| {
            wrong(format!(
                "{error}; a file of inner folds has, for each outer fold, a JSON list of lists of positions among its \
                 training rows, counted from 0, such as [[[0, 2], [1, 3]], [[0, 1], [2, 3]]]"
            ))
        })?;
        if lists.len() != outer.count() {
            return Err(wrong(format!(
                "it has inner folds for {} outer folds, but there are {}; the two files must belong together",
                lists.len(),
                outer.count()
            )));
        }
        let mut held_out = Vec::new();
        for (number, inner) in lists.into_iter().enumerate() {
            let train = outer.train(number);
            let place = format!("{place}, outer fold {} with {} training rows", number + 1, train.len());
            let inner = Folds::from_lists(train.len(), inner, &place)?;
            held_out.push(inner.test().iter().map(|fold| fold.iter().map(|&at| train[at]).collect()).collect());
        }
        Ok(NestedFolds { held_out })
    }

    /// The inner folds of an outer fold as positions in `kept`, its training rows in use, rising. Rows that are not in
    /// use (those without any target value) are not held out either, and an inner fold without any other row is left
    /// out.
    pub fn positions(&self, outer: usize, kept: &[usize]) -> Vec<Vec<usize>> {
        let inner = self.held_out.get(outer).map(Vec::as_slice).unwrap_or_default();
        let position = |row: &usize| kept.binary_search(row).ok();
        let folds = inner.iter().map(|fold| fold.iter().filter_map(position).collect::<Vec<usize>>());
        folds.filter(|fold| !fold.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn outer() -> Folds {
        Folds::from_lists(7, vec![vec![1, 4], vec![0, 6]], "test").unwrap()
    }

    fn from_text(text: &str) -> Result<NestedFolds> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        NestedFolds::read(file.path(), &outer())
    }

    #[test]
    fn positions_count_the_training_rows_in_use() {
        // Outer fold 1 trains on rows 0 2 3 5 6, outer fold 2 on rows 1 2 3 4 5.
        let nested = from_text("[[[4, 0], [1, 2], [3]], [[0, 1], [2, 3, 4]]]").unwrap();
        assert_eq!(nested.positions(0, &[0, 2, 3, 5, 6]), [vec![0, 4], vec![1, 2], vec![3]]);
        assert_eq!(nested.positions(1, &[1, 2, 3, 4, 5]), [vec![0, 1], vec![2, 3, 4]]);
        // Rows 0 and 5 are not in use: the others move up, and the inner fold of row 5 alone is gone.
        assert_eq!(nested.positions(0, &[2, 3, 6]), [vec![2], vec![0, 1]]);
    }

    #[test]
    fn the_files_of_the_paper_hold_every_training_row_out_once() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/folds");
        for (name, rows) in [("edm", 154), ("jura", 359), ("oes97", 334), ("wq", 1060)] {
            let outer = Folds::read(&folder.join(format!("{name}.json")), rows).unwrap();
            let nested = NestedFolds::read(&folder.join(format!("{name}.nested.json")), &outer).unwrap();
            assert_eq!((outer.count(), outer.never_tested()), (10, 0), "{name}");
            for number in 0..outer.count() {
                let train = outer.train(number);
                let inner = nested.positions(number, &train);
                let mut all = inner.concat();
                all.sort_unstable();
                assert!(inner.len() == 10 && all == (0..train.len()).collect::<Vec<_>>(), "{name}, fold {number}");
            }
        }
    }

    #[test]
    fn wrong_files_are_refused_by_place() {
        for (text, expected) in [
            ("[[0, 1], [2, 3]]", "for each outer fold, a JSON list of lists"),
            ("[[[0], [1]]]", "inner folds for 1 outer folds, but there are 2"),
            ("[[[0], [1]], [[0], [5]]]", "outer fold 2 with 5 training rows: fold 2 tests row 5"),
            ("[[[0], [1, 0]], [[0], [1]]]", "outer fold 1 with 5 training rows: row 0 is listed twice"),
            ("[[[0], []], [[0], [1]]]", "outer fold 1 with 5 training rows: fold 2 tests no row"),
            ("[[[0], [1]], []]", "outer fold 2 with 5 training rows: there are no folds"),
            ("[[[0, 1, 2, 3, 4]], [[0]]]", "outer fold 1 with 5 training rows: fold 1 tests all 5 rows"),
        ] {
            let error = from_text(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = NestedFolds::read(Path::new("no/such/file.json"), &outer()).unwrap_err().to_string();
        assert!(error.contains("no/such/file.json"), "{error}");
    }
}
