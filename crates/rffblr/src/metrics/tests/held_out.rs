//! Scores over all folds, against scikit-learn and by hand.

use super::{NAN, assert_close, prediction, spread, table, truth, truth_with_gaps};
use crate::linalg::Mat;
use crate::metrics::{Check, HeldOut, OutOfFold, SplitBy, with_error};

/// Consecutive rows as folds of the given sizes.
fn folds(truth: &Mat<f64>, mean: &Mat<f64>, std: Option<&Mat<f64>>, sizes: &[usize]) -> Vec<HeldOut> {
    let part = |table: &Mat<f64>, start: usize, size: usize| table.as_ref().subrows(start, size).to_owned();
    let mut next = 0;
    let mut cut = |&size: &usize| {
        let start = next;
        next += size;
        let std = std.map(|std| part(std, start, size));
        HeldOut::new(part(truth, start, size), part(mean, start, size), std)
    };
    sizes.iter().map(&mut cut).collect()
}

// scikit-learn 1.9.1: r2_score on all six rows. NumPy 2: derivatives of the weighted R² by the weight of rows 2k and 2k + 1, by
// differences, and √(3/2 Σ of their squares), which agrees with the formula to 1e-10.
#[test]
fn agrees_with_scikit_learn_and_with_numpy() {
    let found = OutOfFold::new(&folds(&truth(), &prediction(), Some(&spread()), &[2, 2, 2])).unwrap();
    assert_close(found.scores.task_r2, 0.7245030396210194);
    let errors = [0.1306816408703616, 0.07512687184839426, 0.1145544154738299];
    for (&found, expected) in found.r2_se.iter().zip(errors) {
        assert!((found - expected).abs() < 1e-13, "{found} {expected}");
    }
    assert!((found.task_r2_se - 0.02219960452439086).abs() < 1e-13);
}

// How rows are dealt to folds changes the errors alone.
#[test]
fn all_cells_count_alike_in_every_fold() {
    let (y, p, s) = (truth_with_gaps(), prediction(), spread());
    let whole = OutOfFold::new(&folds(&y, &p, Some(&s), &[6])).unwrap();
    let parts = OutOfFold::new(&folds(&y, &p, Some(&s), &[1, 2, 3])).unwrap();
    assert_eq!(whole.scores, parts.scores);
    assert_eq!(parts.scores.per_task.observed, [4, 6, 5]);
    assert!(whole.task_r2_se.is_nan() && whole.r2_se.iter().all(|se| se.is_nan()));
    // Without deviations in one fold there is no density over all.
    let mut some = folds(&y, &p, Some(&s), &[3, 3]);
    some[1].std = None;
    assert_eq!(OutOfFold::new(&some).unwrap().scores.nlpd, None);
    some[1].mean = Mat::zeros(3, 2);
    assert!(OutOfFold::new(&some).is_err());
    assert!(OutOfFold::new(&[]).unwrap().scores.task_r2.is_nan());
}

#[test]
fn folds_without_a_cell_have_no_say() {
    // Task 2 is known in the first two folds alone, and never varies without the first; task 3 never varies at all.
    let y = table(&[[1.0, 1.0, 5.0], [3.0, 2.0, 5.0], [2.0, 4.0, 5.0], [5.0, NAN, 5.0], [7.0, NAN, 5.0]]);
    let p = table(&[[2.0, 1.0, 5.0], [2.0, 2.0, 5.0], [2.0, 3.0, 4.0], [4.0, 0.0, 5.0], [6.0, 0.0, 5.0]]);
    let found = OutOfFold::new(&folds(&y, &p, None, &[2, 1, 2])).unwrap();
    let each = &found.scores.per_task;
    // Task 1: squares 4 of 23.2. Task 2: 1 of 14/3.
    assert_close(each.r2[0], 1.0 - 4.0 / 23.2);
    assert_close(each.r2[1], 1.0 - 3.0 / 14.0);
    assert!(each.r2[2].is_nan());
    assert_close(found.scores.task_r2, (each.r2[0] + each.r2[1]) / 2.0);
    // Task 1: squares 2, 0, 2 of 7.12, 2.56, 13.52; task 2, in two folds: 0, 1 of 17/9, 25/9.
    let moves = |ratio: f64, all: f64, parts: [(f64, f64); 3]| parts.map(|(a, b)| (ratio * b - a) / all);
    let first = moves(4.0 / 23.2, 23.2, [(2.0, 7.12), (0.0, 2.56), (2.0, 13.52)]);
    let second = moves(3.0 / 14.0, 14.0 / 3.0, [(0.0, 17.0 / 9.0), (1.0, 25.0 / 9.0), (0.0, 0.0)]);
    let error = |moves: &[f64]| {
        let count = moves.len() as f64;
        (count / (count - 1.0) * moves.iter().map(|d| d * d).sum::<f64>()).sqrt()
    };
    assert_close(found.r2_se[0], error(&first));
    assert_close(found.r2_se[1], error(&second[..2]));
    let both: Vec<f64> = first.iter().zip(second).map(|(a, b)| (a + b) / 2.0).collect();
    assert_close(found.task_r2_se, error(&both));
    assert!(found.r2_se[2].is_nan());
}

/// Forty folds of ten rows: the deviation of R² over resampled folds. With one row that is nearly all of the variance R² says
/// little, and its error stays below one.
#[test]
fn standard_errors_are_those_of_the_bootstrap() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let mut uniform = || rng.random::<f64>() - 0.5;
    let y = Mat::from_fn(400, 1, |_, _| 4.0 * uniform());
    let p = Mat::from_fn(400, 1, |n, _| 0.9 * y[(n, 0)] + 1.5 * uniform() * (1.0 + y[(n, 0)].abs()));
    let all = folds(&y, &p, None, &[10; 40]);
    let resampled = |_| {
        let chosen: Vec<HeldOut> = (0..40).map(|_| all[((uniform() + 0.5) * 40.0) as usize].clone()).collect();
        OutOfFold::new(&chosen).unwrap().scores.task_r2
    };
    let scores: Vec<f64> = (0..400).map(resampled).collect();
    let mean = scores.iter().sum::<f64>() / 400.0;
    let deviation = (scores.iter().map(|r2| (r2 - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
    let found = OutOfFold::new(&all).unwrap();
    assert!((found.r2_se[0] / deviation - 1.0).abs() < 0.15, "{} {deviation}", found.r2_se[0]);
    assert_close(found.task_r2_se, found.r2_se[0]);
    let wild = Mat::from_fn(400, 1, |n, _| if n == 0 { 1e6 } else { y[(n, 0)] });
    let found = OutOfFold::new(&folds(&wild, &p, None, &[10; 40])).unwrap();
    assert!(found.r2_se[0] < 1.0, "{}", found.r2_se[0]);
}

fn check() -> Check {
    let scored = |p: &Mat<f64>, std| OutOfFold::new(&folds(&truth(), p, std, &[2, 2, 2])).unwrap();
    let mean = Mat::from_fn(6, 3, |_, c| [1.9, 99.0, 0.1][c]);
    Check {
        split: SplitBy::Time { column: "day".into() },
        folds: 3,
        rows: 6,
        model: scored(&prediction(), Some(&spread())),
        ridge: scored(&mean, None),
        mean: scored(&mean, None),
        unscored: Vec::new(),
        wider: Vec::new(),
    }
}

#[test]
fn a_check_is_a_sentence_and_a_record() {
    let check = check();
    assert_eq!(
        check.headline(),
        "Explains 72 % of the variance of rows it has not seen, on average over 3 targets (task R² 0.725 ± 0.022; 3 refits, \
         trained on the past, tested on the future by day); ridge regression 0 %."
    );
    let text = serde_json::to_string(&check).unwrap();
    assert!(text.contains(r#""split":{"by":"time","column":"day"}"#), "{text}");
    assert_eq!(serde_json::from_str::<Check>(&text).unwrap(), check);
    assert!(check.fits(3) && !check.fits(2));
    let mut short = check.clone();
    short.ridge.scores.per_task.rmse.pop();
    assert!(!short.fits(3));
    let gaps = Check { unscored: vec![0, 2, 0], ..check.clone() };
    assert!(gaps.fits(3) && serde_json::from_str::<Check>(&serde_json::to_string(&gaps).unwrap()).unwrap() == gaps);
    assert!(!Check { unscored: vec![1], ..check.clone() }.fits(3));
    let wide = Check { wider: vec![1.0, 2.5, 1.0], ..check.clone() };
    assert!(wide.fits(3) && serde_json::from_str::<Check>(&serde_json::to_string(&wide).unwrap()).unwrap() == wide);
    let names = ["a", "b", "c"].map(String::from);
    assert!(
        wide.notes(&names).len() == 1 && wide.notes(&names)[0].starts_with("Intervals of \"b\" are 2.50 times as wide")
    );
    for wrong in [vec![2.0], vec![1.0, 0.5, 1.0], vec![1.0, f64::NAN, 1.0]] {
        assert!(!Check { wider: wrong, ..check.clone() }.fits(3));
    }
    let constant = OutOfFold::new(&folds(&table(&[[1.0], [1.0]]), &table(&[[1.0], [2.0]]), None, &[1, 1])).unwrap();
    let nothing = Check { model: constant, ..check };
    assert!(nothing.headline().starts_with("No target varies"));
    let back: Check = serde_json::from_str(&serde_json::to_string(&nothing).unwrap()).unwrap();
    assert!(back.model.scores.task_r2.is_nan() && back.model.r2_se[0].is_nan());
}

#[test]
fn scores_read_well() {
    assert_eq!(with_error(0.12345, 0.01), "0.123 ± 0.010");
    assert_eq!(with_error(-0.5, NAN), "-0.500");
    assert_eq!(with_error(NAN, 0.1), "–");
}
