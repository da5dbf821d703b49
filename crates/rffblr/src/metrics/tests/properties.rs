//! Properties that hold for every table.

use super::{NAN, close, map, score_all};
use crate::linalg::Mat;
use crate::metrics::gaussian_crps;
use crate::normal;
use proptest::prelude::*;

/// Truth (with gaps), prediction and standard deviation of 3 to 12 rows and 1 to 4 tasks.
/// Errors stay below 34 deviations, where the density itself does not underflow yet.
fn any_tables() -> impl Strategy<Value = (Mat<f64>, Mat<f64>, Mat<f64>)> {
    (3..13_usize, 1..5_usize).prop_flat_map(|(rows, tasks)| {
        let cell = (-100.0..100.0, -100.0..100.0, 6.0..30.0, 0..5);
        prop::collection::vec(cell, rows * tasks).prop_map(move |cells| {
            let at = |i, j| -> (f64, f64, f64, i32) { cells[i * tasks + j] };
            let truth = |i, j| if at(i, j).3 == 0 { NAN } else { at(i, j).0 };
            (
                Mat::from_fn(rows, tasks, truth),
                Mat::from_fn(rows, tasks, |i, j| at(i, j).1),
                Mat::from_fn(rows, tasks, |i, j| at(i, j).2),
            )
        })
    })
}

proptest! {
    // Each task is cut down to its observed rows and scored by the textbook sums.
    #[test]
    fn gaps_equal_removed_rows((y, p, s) in any_tables()) {
        let got = score_all(&y, &p, &s, &vec![1.0; y.ncols()]);
        let half = normal::quantile(0.9);
        let mut cells = 0.0;
        let mut sums = [0.0; 5];
        for j in 0..y.ncols() {
            let rows: Vec<usize> = (0..y.nrows()).filter(|&i| !y[(i, j)].is_nan()).collect();
            let n = rows.len() as f64;
            let sum = |f: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
                rows.iter().map(|&i| f(y[(i, j)], p[(i, j)], s[(i, j)])).sum()
            };
            let mean = sum(&|y, _, _| y) / n;
            let (sse, sst) = (sum(&|y, p, _| (y - p).powi(2)), sum(&|y, _, _| (y - mean).powi(2)));
            let sums_here = [
                sse,
                sum(&|y, p, _| (y - p).abs()),
                sum(&|y, p, s| -(normal::pdf((y - p) / s) / s).ln()),
                sum(&|y, p, s| gaussian_crps(y, p, s)),
                sum(&|y, p, s| f64::from(p - half * s <= y && y <= p + half * s)),
            ];
            let task = &got.per_task;
            prop_assert_eq!(task.observed[j], rows.len());
            if n > 1.0 {
                prop_assert!(close(task.r2[j], 1.0 - sse / sst, 1e-9));
            }
            let around_one = sum(&|y, _, _| (y - 1.0).powi(2));
            prop_assert!(close(task.rrmse[j], (sse / around_one).sqrt(), 1e-9));
            prop_assert!(close(task.rmse[j], (sse / n).sqrt(), 1e-12));
            prop_assert!(close(task.mae[j], sums_here[1] / n, 1e-12));
            let optional = [&task.nlpd, &task.crps, &task.coverage];
            for (list, total) in optional.iter().zip(&sums_here[2..]) {
                prop_assert!(close(list.as_ref().unwrap()[j], total / n, 1e-10));
            }
            cells += n;
            for (all, here) in sums.iter_mut().zip(sums_here) {
                *all += here;
            }
        }
        prop_assert!(close(got.rmse, (sums[0] / cells).sqrt(), 1e-12));
        let optional = [Some(got.mae), got.nlpd, got.crps, got.coverage];
        for (value, total) in optional.iter().zip(&sums[1..]) {
            prop_assert!(close(value.unwrap(), total / cells, 1e-10));
        }
    }

    // Scaling truth and prediction by 1000.
    #[test]
    fn scale_of_the_units((y, p, s) in any_tables()) {
        let times = |m: &Mat<f64>| map(m, |v| 1000.0 * v);
        let one = score_all(&y, &p, &s, &vec![1.0; y.ncols()]);
        let thousand = score_all(&times(&y), &times(&p), &times(&s), &vec![1000.0; y.ncols()]);
        prop_assert!(close(thousand.task_r2, one.task_r2, 1e-9));
        prop_assert!(close(thousand.pooled_r2, one.pooled_r2, 1e-9));
        prop_assert!(close(thousand.arrmse, one.arrmse, 1e-9));
        prop_assert!(close(thousand.rmse, 1000.0 * one.rmse, 1e-12));
        prop_assert!(close(thousand.mae, 1000.0 * one.mae, 1e-12));
        prop_assert!(close(thousand.crps.unwrap(), 1000.0 * one.crps.unwrap(), 1e-12));
        let shift = 1000f64.ln();
        prop_assert!(close(thousand.nlpd.unwrap(), one.nlpd.unwrap() + shift, 1e-10));
    }

    // The order of the rows carries no information.
    #[test]
    fn order_of_the_rows(
        ((y, p, s), order) in any_tables().prop_flat_map(|tables| {
            let rows: Vec<usize> = (0..tables.0.nrows()).collect();
            (Just(tables), Just(rows).prop_shuffle())
        })
    ) {
        let shuffled = |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(order[i], j)]);
        let means = vec![1.0; y.ncols()];
        let plain = score_all(&y, &p, &s, &means);
        let other = score_all(&shuffled(&y), &shuffled(&p), &shuffled(&s), &means);
        prop_assert!(close(other.task_r2, plain.task_r2, 1e-9));
        prop_assert!(close(other.pooled_r2, plain.pooled_r2, 1e-9));
        prop_assert!(close(other.arrmse, plain.arrmse, 1e-9));
        prop_assert!(close(other.rmse, plain.rmse, 1e-12));
        prop_assert!(close(other.mae, plain.mae, 1e-12));
        prop_assert!(close(other.nlpd.unwrap(), plain.nlpd.unwrap(), 1e-12));
        prop_assert!(close(other.crps.unwrap(), plain.crps.unwrap(), 1e-12));
        prop_assert_eq!(&other.per_task.observed, &plain.per_task.observed);
        prop_assert!(close(other.coverage.unwrap(), plain.coverage.unwrap(), 1e-12));
    }
}
