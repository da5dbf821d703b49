use super::*;
use rffblr::data::Weights;
use rffblr::linalg::Mat;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// The only input is the target, so that a point is a factor of it and its R² can be worked out.
fn data(rows: usize) -> Dataset {
    let value = |n: usize| (n as f64 * 0.7).sin() + 0.1 * n as f64;
    Dataset::new(Mat::from_fn(rows, 1, |n, _| value(n)), Mat::from_fn(rows, 1, |n, _| value(n))).unwrap()
}

/// Predicts factor · x for each factor, and counts how often it is asked.
fn scan_factors(
    factors: &[f64],
    calls: &AtomicUsize,
) -> impl Fn(&Dataset, MatRef<'_, f64>, Report<'_>) -> Result<()> + Sync {
    move |_, inputs, report| {
        calls.fetch_add(1, Ordering::Relaxed);
        for (point, factor) in factors.iter().enumerate() {
            report(point, Mat::from_fn(inputs.nrows(), 1, |n, _| factor * inputs[(n, 0)]));
        }
        Ok(())
    }
}

const FACTORS: [f64; 6] = [0.0, f64::NAN, 0.9, 1.0, 1.0, f64::INFINITY];

fn run(data: &Dataset, plan: &Plan<'_>) -> (Choice, usize) {
    let calls = AtomicUsize::new(0);
    let choice = choose("factor", FACTORS.len(), data, plan, scan_factors(&FACTORS, &calls)).unwrap();
    (choice, calls.into_inner())
}

#[test]
fn the_best_point_wins_with_the_score_of_its_definition() {
    let data = data(23);
    let folds = [vec![0, 3, 4, 9], vec![1, 2, 22], vec![5, 6, 7, 8, 10]];
    let plan = Plan { inner: Some(&folds), ..Plan::seeded(0) };
    let (choice, calls) = run(&data, &plan);
    // Points 3 and 4 are equal and exact; the first is taken.
    assert_eq!((choice.index, calls), (3, 3));
    assert!((choice.scores[3] - 1.0).abs() < 1e-15 && choice.scores[4] == choice.scores[3]);
    for point in [1, 5] {
        assert_eq!(choice.scores[point], f64::NEG_INFINITY);
    }
    for point in [0, 2] {
        let r2 = folds.iter().map(|rows| {
            let y: Vec<f64> = rows.iter().map(|&n| data.targets()[(n, 0)]).collect();
            let mean = y.iter().sum::<f64>() / y.len() as f64;
            let error: f64 = y.iter().map(|y| (y - FACTORS[point] * y).powi(2)).sum();
            1.0 - error / y.iter().map(|y| (y - mean).powi(2)).sum::<f64>()
        });
        let expected = r2.sum::<f64>() / 3.0;
        assert!((choice.scores[point] - expected).abs() < 1e-12, "{} {expected}", choice.scores[point]);
    }
}

#[test]
fn each_fold_trains_on_the_rows_it_does_not_hold_out() {
    let data = data(40);
    let seen = Mutex::new(Vec::new());
    let scan = |train: &Dataset, inputs: MatRef<'_, f64>, _: Report<'_>| {
        let numbers = |table: MatRef<'_, f64>| (0..table.nrows()).map(|n| table[(n, 0)]).collect::<Vec<f64>>();
        seen.lock().unwrap().push((numbers(train.inputs()), numbers(inputs)));
        Ok(())
    };
    // Nothing is reported, so that there is nothing to choose.
    let error = choose("silent", 2, &data, &Plan::seeded(3), scan).unwrap_err().to_string();
    assert!(error.contains("method silent") && error.contains("finite predictions"), "{error}");
    let all: Vec<f64> = (0..40).map(|n| data.inputs()[(n, 0)]).collect();
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), INNER_FOLDS);
    let sorted = |mut numbers: Vec<f64>| {
        numbers.sort_by(f64::total_cmp);
        numbers
    };
    for (train, held_out) in &seen {
        assert_eq!(held_out.len(), 4);
        assert_eq!(sorted([train.clone(), held_out.clone()].concat()), sorted(all.clone()));
    }
    assert_eq!(sorted(seen.into_iter().flat_map(|(_, held_out)| held_out).collect()), sorted(all));
}

#[test]
fn threads_change_nothing() {
    let data = data(57);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&data, &Plan::seeded(1)))
    };
    let (one, calls) = with(1);
    assert_eq!(calls, INNER_FOLDS);
    let bits = |choice: &Choice| choice.scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
    for threads in [2, 5] {
        let (several, calls) = with(threads);
        assert_eq!((several.index, bits(&several), calls), (one.index, bits(&one), INNER_FOLDS));
    }
}

#[test]
fn folds_really_run_at_the_same_time() {
    // Each of two folds waits for the other, which would never end on one thread.
    let barrier = std::sync::Barrier::new(2);
    let scan = |_: &Dataset, inputs: MatRef<'_, f64>, report: Report<'_>| {
        barrier.wait();
        (0..2).for_each(|point| report(point, inputs.to_owned()));
        Ok(())
    };
    let folds = [vec![0, 1, 2], vec![3, 4, 5]];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let plan = Plan { inner: Some(&folds), ..Plan::seeded(0) };
    assert_eq!(pool.install(|| choose("wait", 2, &data(9), &plan, scan)).unwrap().index, 0);
}

#[test]
fn too_few_rows_or_points_leave_nothing_to_choose() {
    for (rows, expected) in [(1, 0), (3, 0), (4, 2), (7, 3), (19, 9), (20, 10), (200, 10)] {
        assert_eq!(run(&data(rows), &Plan::seeded(0)).1, expected, "{rows} rows");
    }
    let calls = AtomicUsize::new(0);
    let one = choose("one", 1, &data(30), &Plan::seeded(0), scan_factors(&[1.0], &calls)).unwrap();
    assert_eq!((one.index, one.scores.len(), calls.into_inner()), (0, 0, 0));
    let none = choose("none", 0, &data(30), &Plan::seeded(0), |_, _, _| Ok(())).unwrap_err();
    assert!(none.to_string().contains("method none: its grid has no point"), "{none}");
}

#[test]
fn folds_that_cannot_be_learned_from_or_scored_are_left_out() {
    // The second target is known in row 0 alone, the first everywhere but in rows 4 and 5.
    let y = Mat::from_fn(8, 2, |n, c| if (c == 1 && n > 0) || n == 4 || n == 5 { f64::NAN } else { n as f64 });
    let data = Dataset::new(Mat::from_fn(8, 1, |n, _| n as f64), y).unwrap();
    let scan = |train: &Dataset, inputs: MatRef<'_, f64>, report: Report<'_>| {
        assert!(train.rows() == 6 && inputs[(0, 0)] == 6.0, "only the last fold is of use");
        (0..2).for_each(|point| report(point, Mat::from_fn(2, 2, |n, _| inputs[(n, 0)] * (0.5 + point as f64))));
        Ok(())
    };
    let folds = [vec![0, 1], vec![4, 5], vec![6, 7]];
    let plan = Plan { inner: Some(&folds), ..Plan::seeded(0) };
    // 3.0 and 3.5 for 6 and 7, and 9.0 and 10.5: the squares around 6.5 sum to 0.5.
    let scores = choose("gaps", 2, &data, &plan, scan).unwrap().scores;
    assert!((scores[0] - (1.0 - 21.25 / 0.5)).abs() < 1e-12 && (scores[1] - (1.0 - 21.25 / 0.5)).abs() < 1e-12);
    let plan = Plan { inner: Some(&folds[..2]), ..plan };
    assert_eq!(choose("gaps", 2, &data, &plan, scan).unwrap(), Choice { index: 0, scores: Vec::new() });
}

#[test]
fn rows_of_weight_zero_are_not_scored() {
    let weights = |n: usize| if n % 5 == 2 { 0.0 } else { 2.0 };
    let weighted = |outlier: f64| {
        let known = data(30);
        let y = Mat::from_fn(30, 1, |n, _| if n % 5 == 2 { outlier } else { known.targets()[(n, 0)] });
        let data = Dataset::new(known.inputs().to_owned(), y).unwrap();
        run(&data.with_weights(Weights::Repeats((0..30).map(weights).collect())).unwrap(), &Plan::seeded(0)).0
    };
    assert_eq!(weighted(1e9), weighted(-3.0));
}

#[test]
fn errors_and_wrong_folds_are_passed_on() {
    let data = data(12);
    let scan =
        |train: &Dataset, _: MatRef<'_, f64>, _: Report<'_>| Err(Error::Singular { size: train.rows(), noise: 1.0 });
    assert!(matches!(choose("bad", 2, &data, &Plan::seeded(0), scan), Err(Error::Singular { size: 10, .. })));
    for (folds, says) in [(vec![vec![12]], "row 12"), (vec![vec![1], vec![1]], "twice"), (vec![], "no folds")] {
        let plan = Plan { inner: Some(&folds), ..Plan::seeded(0) };
        let error = choose("bad", 2, &data, &plan, scan).unwrap_err().to_string();
        assert!(error.contains("inner folds") && error.contains(says), "{error}");
    }
    let wrong_shape = |_: &Dataset, _: MatRef<'_, f64>, report: Report<'_>| {
        report(0, Mat::zeros(1, 7));
        Ok(())
    };
    assert!(matches!(choose("bad", 2, &data, &Plan::seeded(0), wrong_shape), Err(Error::Metrics(_))));
}

#[test]
fn progress_counts_every_fold() {
    let told = Mutex::new(Vec::new());
    let tell = |progress: Progress| told.lock().unwrap().push(progress);
    let journal = tempfile::NamedTempFile::new().unwrap();
    let journal = Journal::open(journal.path()).unwrap();
    let plan = Plan { progress: Some(&tell), journal: Some(&journal), ..Plan::seeded(0) };
    for known in [false, true] {
        run(&data(30), &plan);
        let mut told: Vec<Progress> = told.lock().unwrap().drain(..).collect();
        told.sort_by_key(|progress| progress.done);
        for (n, progress) in told.iter().enumerate() {
            assert_eq!((progress.done, progress.total, progress.seconds.is_none()), (n + 1, 10, known));
        }
        assert_eq!(told.len(), 10);
    }
}

/// Runs with the journal at this path.
fn run_kept(path: &Path, data: &Dataset) -> (Choice, usize) {
    let journal = Journal::open(path).unwrap();
    run(data, &Plan { journal: Some(&journal), ..Plan::seeded(0) })
}

#[test]
fn a_killed_selection_goes_on_and_chooses_the_same() {
    let data = data(50);
    let (expected, _) = run(&data, &Plan::seeded(0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    let (first, calls) = run_kept(&path, &data);
    assert_eq!((&first, calls), (&expected, 10));
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    assert_eq!(ends.len(), 11);
    // Cut in the middle of a line, just before and just after the end of one, in the header, and to nothing.
    for (cut, known) in [(ends[6] + 40, 6), (ends[4], 4), (ends[4] + 1, 4), (ends[10], 10), (5, 0), (0, 0)] {
        fs::write(&path, &whole[..cut]).unwrap();
        let (again, calls) = run_kept(&path, &data);
        assert_eq!((&again, calls), (&expected, 10 - known), "cut at {cut}");
        // What was added can be read, and nothing is left to do.
        assert_eq!(run_kept(&path, &data), (expected.clone(), 0), "cut at {cut}");
    }
    // Damage in the middle costs that line alone.
    let mut damaged = whole.clone();
    damaged[ends[2] + 20..ends[2] + 25].copy_from_slice(b"\xff\x00\"}{");
    fs::write(&path, &damaged).unwrap();
    assert_eq!(run_kept(&path, &data), (expected, 1));
}

#[test]
fn anything_that_differs_is_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    let journal = Journal::open(&path).unwrap();
    let folds: Vec<Vec<usize>> = (0..5).map(|fold| vec![fold, fold + 5]).collect();
    let plan = Plan { inner: Some(&folds), journal: Some(&journal), ..Plan::seeded(0) };
    let calls = |method: &'static str, factors: &[f64], data: &Dataset, plan: &Plan<'_>| {
        let calls = AtomicUsize::new(0);
        choose(method, factors.len(), data, plan, scan_factors(factors, &calls)).unwrap();
        calls.into_inner()
    };
    let known = data(20);
    assert_eq!(calls("a", &FACTORS, &known, &plan), 5);
    assert_eq!(calls("a", &FACTORS, &known, &plan), 0);
    assert_eq!(calls("b", &FACTORS, &known, &plan), 5);
    assert_eq!(calls("a", &FACTORS[..4], &known, &plan), 5);
    assert_eq!(calls("a", &FACTORS, &known, &Plan { seed: 1, ..plan }), 5);
    assert_eq!(calls("a", &FACTORS, &known, &Plan { grid: Grid::Coarse, ..plan }), 5);
    assert_eq!(calls("a", &FACTORS, &data(21), &plan), 5);
    let mut moved = folds.clone();
    moved[3] = vec![3, 15];
    assert_eq!(calls("a", &FACTORS, &known, &Plan { inner: Some(&moved), ..plan }), 1);
    moved.swap(0, 1);
    assert_eq!(calls("a", &FACTORS, &known, &Plan { inner: Some(&moved), ..plan }), 2);
    // Another version of the program, and a line with a wrong number of scores.
    let other = fs::read_to_string(&path).unwrap().replace(crate::VERSION, "0.0.9");
    let short = fs::read_to_string(&path).unwrap().replace("\"scores\":[", "\"scores\":[1.0,");
    for text in [other, short] {
        fs::write(&path, text).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert_eq!(calls("a", &FACTORS, &known, &Plan { journal: Some(&journal), ..plan }), 5);
    }
}

#[test]
fn several_writers_leave_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    // As two programs with two threads each.
    let journals = [Journal::open(&path).unwrap(), Journal::open(&path).unwrap()];
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let journal = &journals[worker / 2];
            scope.spawn(move || {
                for fold in 0..50 {
                    let identity = Identity::new("m", 300, &Plan::seeded(worker as u64), fold, &[fold], "data");
                    journal.add(identity, &vec![fold as f64; 300]).unwrap();
                }
            });
        }
    });
    let journal = Journal::open(&path).unwrap();
    assert_eq!((journal.len(), fs::read_to_string(&path).unwrap().lines().count()), (200, 201));
    let identity = Identity::new("m", 300, &Plan::seeded(2), 7, &[7], "data");
    assert_eq!(journal.find(&identity), Some(vec![7.0; 300]));
}

#[test]
fn a_file_that_is_no_journal_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, "x,y\n1,2\n").unwrap();
    let error = Journal::open(&path).unwrap_err().to_string();
    assert!(error.contains("t.csv") && error.contains("it begins with x,y"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "x,y\n1,2\n");
    assert!(Journal::open(folder.path()).unwrap_err().to_string().contains("not a plain file"));
    assert!(Journal::open(&folder.path().join("no/such/place")).is_err());
}
