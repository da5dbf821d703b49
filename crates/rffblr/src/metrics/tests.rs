//! Scores against hand-computed numbers, scikit-learn, scipy and numerical integration.

use super::*;
use crate::linalg::Mat;

mod held_out;
mod properties;

const NAN: f64 = f64::NAN;

fn table<const T: usize>(rows: &[[f64; T]]) -> Mat<f64> {
    Mat::from_fn(rows.len(), T, |i, j| rows[i][j])
}

fn map(m: &Mat<f64>, f: impl Fn(f64) -> f64) -> Mat<f64> {
    Mat::from_fn(m.nrows(), m.ncols(), |i, j| f(m[(i, j)]))
}

/// NaN counts as equal to NaN.
fn close(got: f64, want: f64, tolerance: f64) -> bool {
    got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= tolerance * want.abs().max(1.0)
}

#[track_caller]
fn assert_close(got: f64, want: f64) {
    assert!(close(got, want, 1e-14), "got {got:e}, want {want:e}");
}

#[track_caller]
fn assert_score(score: &TaskScore, per_task: &[f64], overall: f64) {
    assert_eq!(score.per_task.len(), per_task.len());
    for (&got, &want) in score.per_task.iter().zip(per_task) {
        assert_close(got, want);
    }
    assert_close(score.overall, overall);
}

fn truth() -> Mat<f64> {
    table(&[
        [1.5, 120.0, -0.3],
        [2.5, 80.0, 0.1],
        [-0.5, 95.0, 0.4],
        [4.0, 143.0, -0.2],
        [3.2, 60.0, 0.9],
        [0.7, 101.0, -0.6],
    ])
}

fn prediction() -> Mat<f64> {
    table(&[
        [1.1, 131.0, -0.2],
        [2.9, 88.0, 0.3],
        [0.2, 90.0, 0.1],
        [3.5, 120.0, 0.1],
        [2.2, 71.0, 0.5],
        [1.4, 99.0, -0.1],
    ])
}

fn spread() -> Mat<f64> {
    table(&[[0.5, 10.0, 0.2], [0.8, 12.0, 0.3], [0.6, 9.0, 0.25], [0.7, 15.0, 0.4], [1.1, 8.0, 0.35], [0.4, 11.0, 0.5]])
}

/// The truth with three cells taken away.
fn truth_with_gaps() -> Mat<f64> {
    let mut y = truth();
    for cell in [(1, 0), (4, 0), (0, 2)] {
        y[cell] = NAN;
    }
    y
}

fn score_all(y: &Mat<f64>, p: &Mat<f64>, s: &Mat<f64>, means: &[f64]) -> Scores {
    HeldOut::new(y.clone(), p.clone(), Some(s.clone())).scores(0.8, ReferenceMean::Train(means)).unwrap()
}

// scikit-learn 1.9.1: r2_score, root_mean_squared_error, mean_absolute_error, each with
// multioutput="raw_values", and on the raveled arrays; r2_score with "uniform_average".
#[test]
fn agrees_with_scikit_learn() {
    let (y, p) = (truth(), prediction());
    let (y, p) = (y.as_ref(), p.as_ref());
    let r2 = [0.8154848046309696, 0.7978868571874147, 0.5601374570446735];
    assert_score(&task_r2(y, p).unwrap(), &r2, 0.7245030396210194);
    assert_close(pooled_r2(y, p).unwrap(), 0.9800150976759665);
    let rmses = [0.6519202405202648, 12.0, 0.32659863237109044];
    assert_score(&rmse(y, p).unwrap(), &rmses, 6.94098135872891);
    let maes = [0.6166666666666667, 10.0, 0.3];
    assert_score(&mae(y, p).unwrap(), &maes, 3.638888888888889);
    // Ratio of the RMSE of the prediction to that of the constants 2, 100 and 0.
    let ratios = [0.42862288698892453, 0.44956118955921315, 0.659828879073858];
    let reference = ReferenceMean::Train(&[2.0, 100.0, 0.0]);
    let average = (ratios[0] + ratios[1] + ratios[2]) / 3.0;
    assert_score(&rrmse(y, p, reference).unwrap(), &ratios, average);
}

// scikit-learn 1.9.1 and scipy 1.17.1 on boolean-masked arrays.
#[test]
fn gaps_agree_with_masked_arrays() {
    let s = score_all(&truth_with_gaps(), &prediction(), &spread(), &[0.0; 3]);
    let r2 = [0.8720956981826548, 0.7978868571874147, 0.5183486238532109];
    for (&got, want) in s.per_task.r2.iter().zip(r2) {
        assert_close(got, want);
    }
    let rmses = [0.5894913061275798, 12.0, 0.354964786985977];
    for (&got, want) in s.per_task.rmse.iter().zip(rmses) {
        assert_close(got, want);
    }
    assert_close(s.pooled_r2, 0.9781691209060946);
    assert_close(s.rmse, 7.598333150544708);
    assert_close(s.mae, 4.266666666666667);
    assert_close(s.nlpd.unwrap(), 1.9006731256924787);
    assert_eq!(s.per_task.observed, [4, 6, 5]);
}

// scipy 1.17.1: scipy.stats.norm.logpdf and norm.interval(0.8).
#[test]
fn densities_and_coverage_agree_with_scipy() {
    let (y, p, s) = (truth(), prediction(), spread());
    let score = nlpd(y.as_ref(), p.as_ref(), s.as_ref()).unwrap();
    let per_task = [1.0389983474078461, 3.8004457876631084, 0.19269992185455828];
    assert_score(&score, &per_task, 1.6773813523085044);
    assert_close(gaussian_nlpd(0.3, -1.2, 0.7), 2.8581819566128788);
    assert_close(gaussian_nlpd(5.0, 5.0, 2.0), 1.612085713764618);
    assert_close(gaussian_nlpd(40.0, -1.0, 1.5), 374.87995919686836);
    assert_close(gaussian_nlpd(0.001, 0.0, 0.0001), 41.708598161228494);
    // Five, four and six of six cells lie inside.
    let all = score_all(&y, &p, &s, &[0.0; 3]);
    assert_eq!(all.per_task.coverage.unwrap(), [5.0 / 6.0, 4.0 / 6.0, 1.0]);
    assert_eq!((all.coverage, all.level), (Some(15.0 / 18.0), Some(0.8)));
}

// By hand. Task 1: errors 0, 0, -1; squares 1; mean 2, SST 2 -> R² 1/2, RMSE √(1/3), MAE 1/3.
// Around the training mean 0 the squares are 1 + 4 + 9 = 14 -> RRMSE √(1/14).
// Task 2 (one gap): errors 1, 3; squares 10; mean 15, SST 50 -> R² 4/5, RMSE √5, MAE 2.
// Around the training mean 5 the squares are 25 + 225 = 250 -> RRMSE √(1/25).
// Pooled: 1, 2, 3, 10, 20 with mean 7.2; SST 514 - 5 * 51.84 = 254.8; SSE 11.
#[test]
fn small_case_by_hand() {
    let y = table(&[[1.0, 10.0], [2.0, NAN], [3.0, 20.0]]);
    let p = table(&[[1.0, 9.0], [2.0, 7.0], [4.0, 17.0]]);
    let (y, p) = (y.as_ref(), p.as_ref());
    assert_score(&task_r2(y, p).unwrap(), &[0.5, 0.8], 0.65);
    assert_close(pooled_r2(y, p).unwrap(), 1.0 - 11.0 / 254.8);
    let rmses = [(1.0_f64 / 3.0).sqrt(), 5.0_f64.sqrt()];
    assert_score(&rmse(y, p).unwrap(), &rmses, (11.0_f64 / 5.0).sqrt());
    assert_score(&mae(y, p).unwrap(), &[1.0 / 3.0, 2.0], 1.0);
    let ratios = [(1.0_f64 / 14.0).sqrt(), 0.2];
    let train = rrmse(y, p, ReferenceMean::Train(&[0.0, 5.0])).unwrap();
    assert_score(&train, &ratios, (ratios[0] + ratios[1]) / 2.0);
    // With the test mean RRMSE² = 1 - R².
    let ratios = [0.5_f64.sqrt(), 0.2_f64.sqrt()];
    let test = rrmse(y, p, ReferenceMean::Test).unwrap();
    assert_score(&test, &ratios, (ratios[0] + ratios[1]) / 2.0);
    // Bounds count as inside: of 1, 2, 3 in [1, 2] two, of 10, 20 in [11, 30] one.
    let low = table(&[[1.0, 11.0], [1.0, 0.0], [1.0, 11.0]]);
    let high = table(&[[2.0, 30.0], [2.0, 0.0], [2.0, 30.0]]);
    let share = coverage(y, low.as_ref(), high.as_ref()).unwrap();
    assert_score(&share, &[2.0 / 3.0, 0.5], 3.0 / 5.0);
}

/// ∫ (Φ((x - mean) / std) - [x >= y])² dx by Simpson's rule on both sides of the jump at y.
fn crps_by_integration(y: f64, mean: f64, std: f64) -> f64 {
    let simpson = |from: f64, to: f64, f: &dyn Fn(f64) -> f64| {
        let n = 4000;
        let h = (to - from) / f64::from(n);
        let weight = |k| match k {
            k if k == 0 || k == n => 1.0,
            k if k % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let sum: f64 = (0..=n).map(|k| weight(k) * f(from + h * f64::from(k))).sum();
        sum * h / 3.0
    };
    let below = |x: f64| normal::cdf((x - mean) / std).powi(2);
    let above = |x: f64| normal::cdf((mean - x) / std).powi(2);
    let (low, high) = (mean - 12.0 * std, mean + 12.0 * std);
    simpson(low.min(y), y, &below) + simpson(y, high.max(y), &above)
}

#[test]
fn crps_agrees_with_numerical_integration() {
    let (means, stds) = ([-3.0, 0.0, 2.5], [0.1, 1.0, 7.0]);
    for (mean, std) in means.iter().flat_map(|&m| stds.map(|s| (m, s))) {
        for z in [-9.0, -2.0, -0.5, 0.0, 0.3, 1.7, 6.0] {
            let y = mean + std * z;
            let (got, want) = (gaussian_crps(y, mean, std), crps_by_integration(y, mean, std));
            assert!((got - want).abs() <= 1e-9 * std, "y {y}, mean {mean}, std {std}: {got} {want}");
        }
    }
    let (y, p, s) = (truth(), prediction(), spread());
    let score = crps(y.as_ref(), p.as_ref(), s.as_ref()).unwrap();
    let mut overall = 0.0;
    for j in 0..3 {
        let cell = |i| crps_by_integration(y[(i, j)], p[(i, j)], s[(i, j)]);
        let want = (0..6).map(cell).sum::<f64>() / 6.0;
        assert!(close(score.per_task[j], want, 1e-9));
        overall += want / 3.0;
    }
    assert!(close(score.overall, overall, 1e-9));
}

#[test]
fn certain_predictions() {
    assert_eq!(gaussian_crps(3.0, 1.0, 0.0), 2.0);
    assert_eq!(gaussian_crps(3.0, 1.0, 1e-320), 2.0);
    assert_eq!(gaussian_crps(1.0, 1.0, 0.0), 0.0);
    assert_eq!(gaussian_nlpd(1.0, 1.0, 0.0), f64::NEG_INFINITY);
    assert_eq!(gaussian_nlpd(3.0, 1.0, 0.0), f64::INFINITY);
    assert_eq!(gaussian_nlpd(3.0, 1.0, 1e-320), f64::INFINITY);
    for std in [-1.0, -1e-320, NAN] {
        assert!(gaussian_nlpd(3.0, 1.0, std).is_nan());
        assert!(gaussian_crps(3.0, 1.0, std).is_nan());
    }
}

#[test]
fn constant_truth() {
    let y = map(&Mat::zeros(1000, 1), |_: f64| 0.1);
    let off = map(&y, |v| v + 1.0);
    for (p, r2) in [(&y, 1.0), (&off, 0.0)] {
        let got = task_r2(y.as_ref(), p.as_ref()).unwrap();
        assert!(got.per_task[0].is_nan() && got.overall.is_nan());
        assert_eq!(pooled_r2(y.as_ref(), p.as_ref()), Ok(r2));
        let ratio = rrmse(y.as_ref(), p.as_ref(), ReferenceMean::Test).unwrap();
        assert_eq!(ratio.overall, 1.0 - r2);
    }
    // Far from zero the spread still counts: SST 1 + 0 + 1, SSE 1 + 0 + 0.
    let y = table(&[[1e15 + 1.0], [1e15 + 2.0], [1e15 + 3.0]]);
    let p = table(&[[1e15], [1e15 + 2.0], [1e15 + 3.0]]);
    assert_close(task_r2(y.as_ref(), p.as_ref()).unwrap().overall, 0.5);
    // A task that never varies does not count, however it is predicted; the others do: 1 - (0 + 1)/2.
    for second in [7.0, 8.0] {
        let (y, p) = (table(&[[1.0, 7.0], [3.0, 7.0]]), table(&[[1.0, second], [2.0, 7.0]]));
        let got = task_r2(y.as_ref(), p.as_ref()).unwrap();
        assert_score(&got, &[0.5, NAN], 0.5);
    }
    // A single row has no R², but an RRMSE with a training mean.
    let (y, p) = (table(&[[4.0, 1.0]]), table(&[[3.0, 1.0]]));
    let got = Scores::new(y.as_ref(), p.as_ref(), None, ReferenceMean::Train(&[0.0; 2])).unwrap();
    assert!(got.per_task.r2.iter().all(|r2| r2.is_nan()) && got.task_r2.is_nan());
    assert_eq!((got.per_task.rrmse, got.arrmse), (vec![0.25, 0.0], 0.125));
    assert_eq!(got.per_task.rmse, [1.0, 0.0]);
}

#[test]
fn nothing_observed() {
    // The second task has no observed cell: every mean is that of the first task alone.
    let y = table(&[[1.0, NAN], [3.0, NAN]]);
    let p = table(&[[1.0, 0.0], [2.0, 0.0]]);
    let ones = map(&p, |_| 1.0);
    let s = score_all(&y, &p, &ones, &[0.0, 0.0]);
    assert_close(s.task_r2, 0.5);
    assert_close(s.pooled_r2, 0.5);
    assert_close(s.arrmse, (1.0_f64 / 10.0).sqrt());
    assert_eq!((s.mae, s.coverage), (0.5, Some(1.0)));
    assert_eq!(s.per_task.observed, [2, 0]);
    let t = &s.per_task;
    for v in [&t.r2, &t.rrmse, &t.rmse, &t.mae] {
        assert!(!v[0].is_nan() && v[1].is_nan());
    }
    for v in [&t.nlpd, &t.crps, &t.coverage] {
        let v = v.as_ref().unwrap();
        assert!(!v[0].is_nan() && v[1].is_nan());
    }
    for (rows, tasks) in [(0, 0), (0, 2), (3, 0), (3, 2)] {
        let y = map(&Mat::zeros(rows, tasks), |_: f64| NAN);
        let p = Mat::zeros(rows, tasks);
        let s = score_all(&y, &p, &p, &vec![0.0; tasks]);
        for v in [s.task_r2, s.pooled_r2, s.arrmse, s.rmse, s.mae] {
            assert!(v.is_nan());
        }
        for v in [s.nlpd, s.crps, s.coverage] {
            assert!(v.unwrap().is_nan());
        }
        assert!(s.per_task.r2.len() == tasks && s.per_task.r2.iter().all(|v| v.is_nan()));
    }
}

#[test]
fn failed_predictions_are_not_hidden() {
    let mut p = prediction();
    p[(2, 1)] = NAN;
    let s = score_all(&truth(), &p, &spread(), &[0.0; 3]);
    for v in [s.task_r2, s.pooled_r2, s.arrmse, s.rmse, s.mae] {
        assert!(v.is_nan());
    }
    for v in [s.nlpd, s.crps, s.coverage] {
        assert!(v.unwrap().is_nan());
    }
    // Only the task with the failure is lost.
    assert_close(s.per_task.r2[0], 0.8154848046309696);
    assert!(s.per_task.r2[1].is_nan());
    // A NaN among errors of zero, and behind a gap of the truth.
    let y = table(&[[1.0], [1.0]]);
    let p = table(&[[1.0], [NAN]]);
    assert!(task_r2(y.as_ref(), p.as_ref()).unwrap().overall.is_nan());
    assert!(rmse(y.as_ref(), p.as_ref()).unwrap().overall.is_nan());
    let y = table(&[[1.0], [NAN]]);
    assert_eq!(rmse(y.as_ref(), p.as_ref()).unwrap().overall, 0.0);
    // An infinite prediction is infinitely bad; a negative deviation and a NaN bound are NaN.
    let (y, p) = (table(&[[1.0], [2.0]]), table(&[[1.0], [f64::INFINITY]]));
    assert_eq!(task_r2(y.as_ref(), p.as_ref()).unwrap().overall, f64::NEG_INFINITY);
    let s = score_all(&y, &y, &map(&y, |v| -v), &[0.0]);
    assert!(s.nlpd.unwrap().is_nan() && s.crps.unwrap().is_nan() && s.coverage.unwrap().is_nan());
    let bounds = table(&[[0.0], [NAN]]);
    assert!(coverage(y.as_ref(), bounds.as_ref(), p.as_ref()).unwrap().overall.is_nan());
}

#[test]
fn huge_and_tiny_values() {
    let means = [2.0, 100.0, 0.0];
    let plain = score_all(&truth(), &prediction(), &spread(), &means);
    for scale in [1e150, 1e200, 1e300, 1e-200, 1e-300] {
        let scaled = |m: &Mat<f64>| map(m, |v| v * scale);
        let s = score_all(&scaled(&truth()), &scaled(&prediction()), &scaled(&spread()), &means.map(|v| v * scale));
        // Rounding by the scale leaves about 1e-15 per value.
        let same = |got: f64, want: f64| assert!(close(got, want, 1e-13), "{got} {want}");
        same(s.task_r2, plain.task_r2);
        same(s.pooled_r2, plain.pooled_r2);
        same(s.arrmse, plain.arrmse);
        same(s.rmse / scale, plain.rmse);
        same(s.mae / scale, plain.mae);
        same(s.crps.unwrap() / scale, plain.crps.unwrap());
        same(s.nlpd.unwrap() - scale.ln(), plain.nlpd.unwrap());
        assert_eq!(s.coverage, plain.coverage);
    }
}

#[test]
fn wrong_shapes_and_levels_are_errors() {
    let (y, p, s) = (truth(), Mat::zeros(6, 2), Mat::zeros(5, 3));
    let (y, p, s) = (y.as_ref(), p.as_ref(), s.as_ref());
    let mismatch = |what, found| {
        let expected = (6, 3);
        Some(MetricsError::ShapeMismatch { what, expected, found })
    };
    assert_eq!(task_r2(y, p).err(), mismatch("prediction", (6, 2)));
    assert_eq!(pooled_r2(y, p).err(), mismatch("prediction", (6, 2)));
    assert_eq!(rmse(y, p).err(), mismatch("prediction", (6, 2)));
    assert_eq!(mae(y, p).err(), mismatch("prediction", (6, 2)));
    assert_eq!(nlpd(y, p, y).err(), mismatch("prediction", (6, 2)));
    assert_eq!(nlpd(y, y, s).err(), mismatch("standard deviation", (5, 3)));
    assert_eq!(crps(y, p, y).err(), mismatch("prediction", (6, 2)));
    assert_eq!(crps(y, y, s).err(), mismatch("standard deviation", (5, 3)));
    assert_eq!(coverage(y, p, y).err(), mismatch("lower bound", (6, 2)));
    assert_eq!(coverage(y, y, s).err(), mismatch("upper bound", (5, 3)));
    let error = rrmse(y, y, ReferenceMean::Train(&[0.0; 2])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "list of training means is 1 x 2, but the truth asks for 1 x 3 (rows x tasks): \
         pass the same rows and tasks in both"
    );
    let new = |std, level| {
        let held_out = HeldOut::new(y.to_owned(), y.to_owned(), Some(MatRef::to_owned(&std)));
        held_out.scores(level, ReferenceMean::Test).err()
    };
    assert_eq!(new(s, 0.9), mismatch("standard deviation", (5, 3)));
    for level in [0.0, 1.0, 90.0, -0.1] {
        assert_eq!(new(y, level), Some(MetricsError::Level(level)));
    }
    assert!(matches!(new(y, NAN), Some(MetricsError::Level(_))));
    assert!(Scores::new(y, p, None, ReferenceMean::Test).is_err());
}

#[test]
fn json_round_trip() {
    let s = score_all(&truth_with_gaps(), &prediction(), &spread(), &[0.0; 3]);
    let text = serde_json::to_string(&s).unwrap();
    assert_eq!(serde_json::from_str::<Scores>(&text).unwrap(), s);
    // A task without cells is null in the file and NaN again in memory.
    let y = table(&[[1.0, NAN], [3.0, NAN]]);
    let s = Scores::new(y.as_ref(), y.as_ref(), None, ReferenceMean::Test).unwrap();
    let text = serde_json::to_string(&s).unwrap();
    assert!(text.contains("\"r2\":[1.0,null]"), "{text}");
    let back: Scores = serde_json::from_str(&text).unwrap();
    assert!(back.per_task.r2[0] == 1.0 && back.per_task.r2[1].is_nan());
    assert_eq!((back.nlpd, back.per_task.nlpd), (None, None));
    // A list that is missing altogether is not a list of NaN.
    let broken = text.replace("\"r2\":[1.0,null]", "\"r2\":null");
    assert!(serde_json::from_str::<Scores>(&broken).is_err());
}
