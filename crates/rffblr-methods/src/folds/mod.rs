//! Which rows each fold of a cross-validation tests, and which it trains on.

mod nested;
mod split;
mod together;

pub use nested::NestedFolds;
pub use split::Split;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rffblr::internals::read_text_within;
use rffblr::{Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::hash::Hash;
use std::path::Path;

/// The rows of a table split for cross-validation: every fold has rows to test and rows to train on, and none of them is
/// both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    rows: usize,
    /// Rows tested by each fold, rising.
    test: Vec<Vec<usize>>,
    /// Rows trained on by each fold, rising; `None` means all that it does not test.
    train: Option<Vec<Vec<usize>>>,
}

/// A fold file is not larger: that of ten million rows has 90 MB.
const MOST_BYTES: u64 = 256 << 20;

/// The text of a fold file.
fn text_of(path: &Path) -> Result<String> {
    File::open(path).and_then(|file| read_text_within(file, MOST_BYTES)).map_err(Error::io(path))
}

impl Folds {
    /// Deals all rows out at random; the sizes of the folds differ by at most one.
    pub fn random(rows: usize, count: usize, seed: u64) -> Result<Folds> {
        if count < 2 || count > rows {
            return wrong(SPLIT, format!("{rows} rows cannot be split into {count} folds; use 2 to {rows} of them"));
        }
        let mut test = vec![Vec::new(); count];
        for (position, row) in shuffled(rows, seed).into_iter().enumerate() {
            test[position % count].push(row);
        }
        Folds::from_lists(rows, test, SPLIT)
    }

    /// Holds out whole groups: rows with the same label are tested by the same fold. Groups are dealt out by falling
    /// size, those of the same size in random order, each to the fold that has the fewest rows so far.
    pub fn by_group<L: Eq + Hash>(labels: &[L], count: usize, seed: u64) -> Result<Folds> {
        let mut place = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (row, label) in labels.iter().enumerate() {
            let group = *place.entry(label).or_insert(groups.len());
            match groups.get_mut(group) {
                Some(rows) => rows.push(row),
                None => groups.push(vec![row]),
            }
        }
        let most = groups.len();
        if count < 2 || count > most {
            return wrong(SPLIT, format!("{most} groups cannot be split into {count} folds; use 2 to {most} of them"));
        }
        let mut order = shuffled(most, seed);
        // Stable: groups of one size stay shuffled.
        order.sort_by_key(|&group| std::cmp::Reverse(groups[group].len()));
        let mut test: Vec<Vec<usize>> = vec![Vec::new(); count];
        for group in order {
            if let Some(smallest) = test.iter_mut().min_by_key(|fold| fold.len()) {
                smallest.append(&mut groups[group]);
            }
        }
        Folds::from_lists(labels.len(), test, SPLIT)
    }

    /// Tests the future: rows in the order of their times are cut into one block more than there are folds, of sizes as
    /// equal as can be; each block but the first is tested by a fold that trains on everything before it. Rows of the
    /// same time stay together. Times are finite.
    pub fn by_time(times: &[f64], count: usize) -> Result<Folds> {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
        // Positions at which a new time begins: the only places to cut at. Both zeros are one time.
        let cuts: Vec<usize> = (1..order.len()).filter(|&i| times[order[i]] != times[order[i - 1]]).collect();
        let most = cuts.len();
        if count < 1 || count > most {
            let distinct = most + usize::from(!times.is_empty());
            let use_at_most = match most {
                0 => String::new(),
                _ => format!("; use at most {most} of them"),
            };
            return wrong(SPLIT, format!("{distinct} different times cannot be split into {count} folds{use_at_most}"));
        }
        let mut chosen: Vec<usize> = Vec::with_capacity(count + 1);
        let mut next = 0;
        for fold in 0..count {
            // Rounded to the nearest.
            let ideal = (2 * times.len() * (fold + 1) + count + 1) / (2 * (count + 1));
            // Enough places must be left for the folds to come.
            let free = next..most - (count - 1 - fold);
            let Some(at) = free.min_by_key(|&at| cuts[at].abs_diff(ideal)) else { break };
            chosen.push(cuts[at]);
            next = at + 1;
        }
        chosen.push(times.len());
        let pairs = chosen.windows(2).map(|ends| (order[..ends[0]].to_vec(), order[ends[0]..ends[1]].to_vec()));
        Folds::from_pairs(times.len(), pairs.collect(), SPLIT)
    }

    /// Reads a fold file: a JSON list with one list of test rows for each fold, counted from 0.
    pub fn read(path: &Path, rows: usize) -> Result<Folds> {
        let text = text_of(path)?;
        let place = path.display().to_string();
        let test = serde_json::from_str(&text).map_err(|error| Error::Folds {
            place: place.clone(),
            problem: format!(
                "{error}; a fold file is a JSON list of lists of test rows, counted from 0, such as [[0, 3], [1, 2]]"
            ),
        })?;
        Folds::from_lists(rows, test, &place)
    }

    /// The rows tested by each fold, checked: none may be tested twice. All others train. `place` names their source in
    /// errors.
    pub fn from_lists(rows: usize, mut test: Vec<Vec<usize>>, place: &str) -> Result<Folds> {
        let mut tested_by = vec![None; rows];
        for (fold, list) in test.iter_mut().enumerate() {
            *list = checked(std::mem::take(list), rows, &format!("fold {} tests", fold + 1), place)?;
            for &row in list.iter() {
                if let Some(before) = tested_by[row].replace(fold) {
                    return wrong(
                        place,
                        format!(
                            "row {row} is listed twice, in fold {} and in fold {}; list it once",
                            before + 1,
                            fold + 1
                        ),
                    );
                }
            }
            if list.len() == rows {
                return wrong(place, format!("fold {} tests all {rows} rows and leaves none to train on", fold + 1));
            }
        }
        Folds::any(rows, test, None, place)
    }

    /// The rows each fold trains on and those it tests, in this order, checked. A row may be tested by several folds, or
    /// used by none.
    pub fn from_pairs(rows: usize, pairs: Vec<(Vec<usize>, Vec<usize>)>, place: &str) -> Result<Folds> {
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for (fold, (trained, tested)) in pairs.into_iter().enumerate() {
            let trained = checked(trained, rows, &format!("fold {} trains on", fold + 1), place)?;
            let tested = checked(tested, rows, &format!("fold {} tests", fold + 1), place)?;
            if let Some(row) = tested.iter().find(|row| trained.binary_search(row).is_ok()) {
                return wrong(place, format!("fold {} trains on row {row}, which it tests; leave it out", fold + 1));
            }
            train.push(trained);
            test.push(tested);
        }
        Folds::any(rows, test, Some(train), place)
    }

    fn any(rows: usize, test: Vec<Vec<usize>>, train: Option<Vec<Vec<usize>>>, place: &str) -> Result<Folds> {
        if test.is_empty() {
            return wrong(place, "there are no folds; list the test rows of at least one".into());
        }
        Ok(Folds { rows, test, train })
    }

    /// Folds of some rows of a table, given rising: position i becomes `chosen[i]`. The table's other rows are neither
    /// trained on nor tested.
    pub fn among(&self, chosen: &[usize], rows: usize) -> Result<Folds> {
        let named = |positions: &[usize]| positions.iter().filter_map(|&at| chosen.get(at).copied()).collect();
        let pairs = (0..self.count()).map(|fold| (named(&self.train(fold)), named(&self.test[fold])));
        Folds::from_pairs(rows, pairs.collect(), SPLIT)
    }

    /// Number of folds.
    pub fn count(&self) -> usize {
        self.test.len()
    }

    /// Rows tested by each fold, rising.
    pub fn test(&self) -> &[Vec<usize>] {
        &self.test
    }

    /// Rows trained on by a fold, rising.
    pub fn train(&self, fold: usize) -> Vec<usize> {
        match (&self.train, self.test.get(fold)) {
            (Some(train), _) => train.get(fold).cloned().unwrap_or_default(),
            (None, test) => {
                (0..self.rows).filter(|row| test.is_none_or(|test| test.binary_search(row).is_err())).collect()
            }
        }
    }

    /// How many rows at least one fold tests.
    pub fn tested(&self) -> usize {
        let mut tested = vec![false; self.rows];
        self.test.iter().flatten().for_each(|&row| tested[row] = true);
        tested.into_iter().filter(|tested| *tested).count()
    }

    /// How many rows train in some fold and are tested by none: a fold file may leave such rows, and the first block of
    /// [`by_time`](Folds::by_time) is one.
    pub fn never_tested(&self) -> usize {
        let mut unseen = vec![false; self.rows];
        (0..self.count()).for_each(|fold| self.train(fold).iter().for_each(|&row| unseen[row] = true));
        self.test.iter().flatten().for_each(|&row| unseen[row] = false);
        unseen.into_iter().filter(|unseen| *unseen).count()
    }
}

/// What errors name as the place where rows are split by a rule.
const SPLIT: &str = "cross-validation";

fn wrong<T>(place: &str, problem: String) -> Result<T> {
    Err(Error::Folds { place: place.to_owned(), problem })
}

/// The numbers below `count` in random order. Sorting by a random key depends on nothing but the generator, whose numbers
/// are fixed for good.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut dealt: Vec<(u64, usize)> = (0..count).map(|row| (rng.next_u64(), row)).collect();
    dealt.sort_unstable();
    dealt.into_iter().map(|(_, row)| row).collect()
}

/// A list of rows in rising order, if it has some and the data have all of them.
fn checked(mut list: Vec<usize>, rows: usize, what: &str, place: &str) -> Result<Vec<usize>> {
    list.sort_unstable();
    match list.last() {
        None => wrong(place, format!("{what} no row; list some or remove it")),
        Some(&row) if row >= rows => {
            wrong(place, format!("{what} row {row}, but the data have {rows} rows, counted from 0"))
        }
        Some(_) => Ok(list),
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
            for (fold, test) in folds.test().iter().enumerate() {
                let mut both = folds.train(fold);
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
        assert_eq!(folds.train(0), [1, 2, 4, 5]);
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

    #[test]
    fn whole_groups_are_held_out_in_parts_as_equal_as_greed_makes_them() {
        // Sizes 4, 3, 2, 2, 1: largest first, each to the smaller fold, gives 4 + 2 and 3 + 2 + 1.
        let labels: Vec<char> = "abacabdeacbd".chars().collect();
        for seed in 0..20 {
            let folds = Folds::by_group(&labels, 2, seed).unwrap();
            assert_eq!(folds.test().iter().map(Vec::len).collect::<Vec<_>>(), [6, 6], "{seed}");
            for (fold, test) in folds.test().iter().enumerate() {
                let train = folds.train(fold);
                assert_eq!(train.len() + test.len(), 12);
                assert!(test.iter().all(|&row| train.iter().all(|&other| labels[other] != labels[row])));
            }
            assert_eq!(folds, Folds::by_group(&labels, 2, seed).unwrap());
        }
        // Groups of one row each are rows dealt out at random: the seed decides.
        let alone: Vec<usize> = (0..30).collect();
        assert_ne!(Folds::by_group(&alone, 3, 0).unwrap(), Folds::by_group(&alone, 3, 1).unwrap());
        let error = Folds::by_group(&labels, 6, 0).unwrap_err().to_string();
        assert!(error.contains("5 groups cannot be split into 6 folds"), "{error}");
    }

    #[test]
    fn the_future_is_tested_and_ties_stay_together() {
        // In order of time: 0 2 2 | 3 5 5 5 | 7 8 8, cut where times change, nearest to positions 3 and 7 of ten.
        let times = [5.0, 2.0, 8.0, 0.0, 5.0, 3.0, 7.0, 2.0, 5.0, 8.0];
        let folds = Folds::by_time(&times, 2).unwrap();
        assert_eq!(folds.test(), [vec![0, 4, 5, 8], vec![2, 6, 9]]);
        assert_eq!([folds.train(0), folds.train(1)], [vec![1, 3, 7], vec![0, 1, 3, 4, 5, 7, 8]]);
        assert_eq!((folds.never_tested(), folds.tested()), (3, 7));
        // However they are cut, nothing is trained on that is not strictly before what is tested.
        for count in 1..=5 {
            let folds = Folds::by_time(&times, count).unwrap();
            assert_eq!(folds.count(), count);
            for (fold, test) in folds.test().iter().enumerate() {
                let last = folds.train(fold).iter().map(|&row| times[row]).fold(f64::MIN, f64::max);
                assert!(test.iter().all(|&row| times[row] > last), "{count}");
            }
        }
        let error = Folds::by_time(&times, 6).unwrap_err().to_string();
        assert!(error.contains("6 different times") && error.contains("at most 5"), "{error}");
        assert!(Folds::by_time(&[1.0, 1.0], 1).is_err() && Folds::by_time(&[], 1).is_err());
        // Distinct times in equal steps are cut into blocks whose sizes differ by at most one.
        for (rows, count) in [(10, 4), (11, 3), (100, 9), (7, 6)] {
            let steps: Vec<f64> = (0..rows).map(f64::from).collect();
            let folds = Folds::by_time(&steps, count).unwrap();
            let sizes: Vec<usize> = folds.test().iter().map(Vec::len).chain([folds.train(0).len()]).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        }
    }

    #[test]
    fn pairs_say_what_trains_and_what_is_tested() {
        let pairs = vec![(vec![4, 0], vec![1]), (vec![0], vec![1, 5])];
        let folds = Folds::from_pairs(6, pairs, "cv").unwrap();
        assert_eq!((folds.train(0), folds.train(1), folds.test()[1].clone()), (vec![0, 4], vec![0], vec![1, 5]));
        assert_eq!((folds.tested(), folds.never_tested()), (2, 2));
        for (pair, expected) in [
            ((vec![], vec![1]), "fold 1 trains on no row"),
            ((vec![1], vec![]), "fold 1 tests no row"),
            ((vec![0, 2], vec![1, 2]), "fold 1 trains on row 2, which it tests"),
            ((vec![0], vec![6]), "fold 1 tests row 6, but the data have 6 rows"),
        ] {
            let error = Folds::from_pairs(6, vec![pair], "cv").unwrap_err().to_string();
            assert!(error.starts_with("cv: ") && error.contains(expected), "{error}");
        }
        assert!(Folds::from_pairs(6, vec![], "cv").is_err());
    }

    #[test]
    fn folds_of_some_rows_leave_the_others_alone() {
        let folds = Folds::from_lists(3, vec![vec![0], vec![2]], "test").unwrap().among(&[1, 4, 6], 8).unwrap();
        assert_eq!(folds.test(), [vec![1], vec![6]]);
        assert_eq!([folds.train(0), folds.train(1)], [vec![4, 6], vec![1, 4]]);
        assert_eq!((folds.tested(), folds.never_tested()), (2, 1));
    }
}
