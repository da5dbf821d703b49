//! The check of a model: its recipe fitted again without some rows, and tested on them.

use crate::baselines::{Ridge, TrainingMean};
use crate::cross_validate::{CrossValidation, InnerFolds, Job, cross_validate};
use crate::folds::Folds;
use crate::method::{Method, Predictor};
use crate::select::Plan;
use rffblr::data::{Dataset, TrainingTable};
use rffblr::drawn::HeldRows;
use rffblr::internals::{Widening, widening};
use rffblr::metrics::{Check, HeldOut, LEVEL, OutOfFold, SplitBy};
use rffblr::{Error, ErrorQuantiles, Result, Settings, fit_observed};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refits {
    /// Refits that are finished.
    pub done: usize,
    /// All of them.
    pub total: usize,
}

/// What a check refits: a model with given settings, watched at every step.
struct Recipe<'a> {
    settings: &'a Settings,
    tell: &'a (dyn Fn() -> ControlFlow<()> + Sync),
}

impl Method for Recipe<'_> {
    fn name(&self) -> &'static str {
        "model"
    }

    fn describe(&self) -> &'static str {
        "the model that is checked"
    }

    fn fit(&self, data: &Dataset, _: &Plan<'_>) -> Result<Box<dyn Predictor>> {
        let transform = self.settings.transform.among(data.target_names());
        let settings = Settings { transform, ..self.settings.clone() };
        Ok(Box::new(fit_observed(data, &settings, &|_| (self.tell)())?))
    }
}

/// Why refits ended early.
enum Halt {
    Asked,
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Halt {
        Halt::Failed(error)
    }
}

/// Fits with these settings to the training rows of each fold and scores the predictions of its test rows; ridge
/// regression and the training mean beside it, on the same folds.
///
/// Fits run side by side on as many threads as the rayon pool of the caller has, one thread each, and give the same bits
/// for any number. A target of which the training rows of a fold have no value is not scored in that fold, and
/// [`Check::unscored`] counts such folds. The observer sees every step of every refit and may ask to stop: then there is no check. Beside
/// the check come the predictions of every fold, whose rows are those of [`Folds::test`].
pub fn check(
    settings: &Settings,
    training: &TrainingTable,
    folds: &Folds,
    by: SplitBy,
    observer: &(dyn Fn(Refits) -> ControlFlow<()> + Sync),
) -> Result<Option<(Check, Vec<HeldOut>)>> {
    let total = folds.count();
    let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let tell = || {
        let asked = observer(Refits { done: done.load(Ordering::Relaxed), total }).is_break();
        match stopped.fetch_or(asked, Ordering::Relaxed) || asked {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let methods: [&dyn Method; 3] = [&Recipe { settings, tell: &tell }, &Ridge, &TrainingMean];
    let job = |method, fold| Job { method, training, folds, fold, seed: settings.seed, inner: InnerFolds::Usual };
    let jobs: Vec<Job<'_>> = (0..total).flat_map(|fold| methods.map(|method| job(method, fold))).collect();
    let found = cross_validate(&jobs, &CrossValidation::default(), |number, result| {
        let named = |problem| Error::Refit { number: jobs[number].fold + 1, total, problem: Box::new(problem) };
        let result = result.map_err(named);
        if number % methods.len() == 0 && result.is_ok() {
            done.fetch_add(1, Ordering::Relaxed);
        }
        // A refit that was stopped early does not count.
        if tell().is_break() {
            Err(Halt::Asked)
        } else {
            result.map(|fold| (fold.held_out, fold.unknown)).map_err(Halt::from)
        }
    });
    let (predicted, unknown): (Vec<HeldOut>, Vec<Vec<usize>>) = match found {
        Ok(found) => found.into_iter().unzip(),
        Err(Halt::Asked) => return Ok(None),
        Err(Halt::Failed(problem)) => return Err(problem),
    };
    let of = |method: usize| predicted.iter().skip(method).step_by(methods.len()).cloned().collect::<Vec<HeldOut>>();
    let held_out = of(0);
    let mut model = OutOfFold::new(&held_out)?;
    let wider = widened(&held_out, |_| true, &mut model);
    let check = Check {
        split: by,
        folds: total,
        rows: folds.tested(),
        model,
        ridge: OutOfFold::new(&of(1))?,
        mean: OutOfFold::new(&of(2))?,
        unscored: counted(unknown.iter().step_by(methods.len()).flatten(), training.roles().targets.len()),
        wider,
    };
    Ok(Some((check, held_out)))
}

/// How many times as wide the intervals of each task that is `asked` for must be; nothing if none must. The coverage among the
/// scores becomes that of the wider ones.
fn widened(held_out: &[HeldOut], asked: impl Fn(usize) -> bool, scored: &mut OutOfFold) -> Vec<f64> {
    let of_task = |task: usize| if asked(task) { widening(held_out, task) } else { None };
    let found: Vec<Option<Widening>> = (0..scored.scores.per_task.r2.len()).map(of_task).collect();
    let each = &mut scored.scores.per_task;
    if let Some(coverage) = each.coverage.as_mut().filter(|_| found.iter().any(Option::is_some)) {
        for (share, found) in coverage.iter_mut().zip(&found) {
            *share = found.map_or(*share, |found| found.coverage);
        }
        let cells = || coverage.iter().zip(&each.observed).filter(|(share, _)| !share.is_nan());
        let inside: f64 = cells().map(|(share, &count)| share * count as f64).sum();
        scored.scores.coverage = Some(inside / cells().map(|(_, &count)| count as f64).sum::<f64>());
        return found.iter().map(|found| found.map_or(1.0, |found| found.factor)).collect();
    }
    Vec::new()
}

/// How often each of these tasks comes; nothing if none does.
fn counted<'a>(tasks: impl Iterator<Item = &'a usize>, count: usize) -> Vec<usize> {
    let mut out = Vec::new();
    for &task in tasks {
        out.resize(count, 0);
        out[task] += 1;
    }
    out
}

/// Most rows of a sample that ridge regression learns from beside a model that was scored on held-out rows.
const RIDGE_ROWS: usize = 20_000;
/// Parts of the held-out rows from which the standard errors follow.
const PARTS: usize = 5;

/// The record of a model's predictions for rows that were held out, with ridge regression and the mean of a sample of the
/// other rows beside it. Standard errors are those of units: groups that were held out, or stretches of time.
pub fn held_out_check(sample: &Dataset, rows: HeldRows, seed: u64) -> Result<Check> {
    let HeldRows { inputs, predicted: held_out, units, split } = rows;
    // Spread over the sample, which is in the order of the table.
    let count = sample.rows().min(RIDGE_ROWS);
    let spread: Vec<usize> = (0..count).map(|k| k * sample.rows() / count).collect();
    let sample = sample.select(&spread)?;
    let plan = Plan::seeded(seed);
    let beside = |method: &dyn Method| -> Result<HeldOut> {
        let forecast = method.fit(&sample, &plan)?.predict(inputs.as_ref())?;
        forecast.held_out(held_out.truth.clone())
    };
    let scored = |all: &HeldOut| OutOfFold::new(&parts(all, &units)).map_err(Error::from);
    let (ridge, mean) = (beside(&Ridge)?, beside(&TrainingMean)?);
    let mut model = scored(&held_out)?;
    // Of many cells the errors themselves make the intervals, fewer may show that these are too narrow.
    let kept = ErrorQuantiles::new(&held_out);
    let (coverage, overall) = calibrated_coverage(&held_out, &kept, &units);
    (model.scores.per_task.coverage, model.scores.coverage) = (Some(coverage), Some(overall));
    let wider = widened(&parts(&held_out, &units), |task| !kept.has(task), &mut model);
    Ok(Check {
        split,
        folds: 1,
        rows: held_out.truth.nrows(),
        model,
        ridge: scored(&ridge)?,
        mean: scored(&mean)?,
        unscored: Vec::new(),
        wider,
    })
}

/// Share of each task's cells, and of all, in the intervals, which for tasks of which errors are kept those of other rows made:
/// even units judge those of odd ones, and odd ones those of even ones. A single unit is judged row by row.
fn calibrated_coverage(all: &HeldOut, kept: &ErrorQuantiles, units: &[usize]) -> (Vec<f64>, f64) {
    let tasks = all.truth.ncols();
    let (mut inside, mut seen) = (vec![0.0; tasks], vec![0.0; tasks]);
    let alone = units.iter().all(|unit| *unit == 0);
    let half = |row: &usize| if alone { row % 2 } else { units[*row] % 2 };
    let halves =
        [0, 1].map(|odd| all.select(&(0..all.truth.nrows()).filter(|row| half(row) == odd).collect::<Vec<_>>()));
    for (judge, judged) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
        let errors = kept.from_part(judge);
        for c in 0..tasks {
            let (low, high) = (errors.quantile(c, 0.5 - 0.5 * LEVEL), errors.quantile(c, 0.5 + 0.5 * LEVEL));
            for n in (0..judged.truth.nrows()).filter(|&n| !judged.truth[(n, c)].is_nan()) {
                inside[c] += f64::from(u8::from((low..=high).contains(&judged.z(n, c))));
                seen[c] += 1.0;
            }
        }
    }
    let overall = inside.iter().sum::<f64>() / seen.iter().sum::<f64>();
    (inside.iter().zip(&seen).map(|(inside, seen)| inside / seen).collect(), overall)
}

/// The rows in a few parts with consecutive units each.
fn parts(all: &HeldOut, units: &[usize]) -> Vec<HeldOut> {
    let count = units.iter().max().map_or(0, |last| last + 1);
    let of = |part: usize| (0..units.len()).filter(move |&row| units[row] * PARTS / count == part).collect::<Vec<_>>();
    (0..PARTS).map(of).filter(|rows| !rows.is_empty()).map(|rows| all.select(&rows)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rffblr::data::{MissingInputs, Roles};
    use rffblr::fit;
    use rffblr::linalg::Mat;
    use std::sync::Mutex;

    fn data() -> Dataset {
        let wave = |n: usize, d: usize| ((n * (2 * d + 3)) as f64 * 0.7).sin() + 0.1 * ((n * 13 + d) as f64).cos();
        let inputs = Mat::from_fn(40, 2, wave);
        let targets = Mat::from_fn(40, 2, |n, c| match (n % 7, c) {
            (3, 0) => f64::NAN,
            _ => (2.0 * inputs[(n, c)]).sin() + 0.3 * wave(n, 5),
        });
        Dataset::new(inputs, targets).unwrap()
    }

    fn table(data: &Dataset) -> TrainingTable {
        let roles = Roles::of_targets(data.target_names());
        TrainingTable::new(data.table().unwrap(), roles, MissingInputs::Error).unwrap()
    }

    fn run(data: &Dataset, folds: &Folds, threads: usize) -> (Check, Vec<HeldOut>) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (training, go_on) = (table(data), |_| ControlFlow::Continue(()));
        let found = pool.install(|| check(&Settings::DEFAULT, &training, folds, SplitBy::Custom, &go_on));
        found.unwrap().unwrap()
    }

    #[test]
    fn refits_are_fits_to_the_other_rows() {
        let data = data();
        let folds = Folds::random(40, 4, 1).unwrap();
        let (check, held_out) = run(&data, &folds, 2);
        let (mut error, mut total, mut truth) = (0.0, 0.0, Vec::new());
        for (fold, held_out) in held_out.iter().enumerate() {
            let model = fit(&data.select(&folds.train(fold)).unwrap(), &Settings::DEFAULT).unwrap();
            for (i, &row) in folds.test()[fold].iter().enumerate() {
                let input = Mat::from_fn(1, 2, |_, d| data.inputs()[(row, d)]);
                let prediction = model.predict(input.as_ref()).unwrap();
                for c in 0..2 {
                    assert!((held_out.mean[(i, c)] - prediction.mean[(0, c)]).abs() < 1e-9);
                    assert!((held_out.std.as_ref().unwrap()[(i, c)] - prediction.std[(0, c)]).abs() < 1e-9);
                }
                let y = data.targets()[(row, 0)];
                if !y.is_nan() {
                    error += (y - prediction.mean[(0, 0)]).powi(2);
                    truth.push(y);
                }
            }
        }
        let mean = truth.iter().sum::<f64>() / truth.len() as f64;
        truth.iter().for_each(|y| total += (y - mean).powi(2));
        let scores = &check.model.scores.per_task;
        assert!((scores.r2[0] - (1.0 - error / total)).abs() < 1e-8);
        assert_eq!((scores.observed[0], check.rows, check.folds), (truth.len(), 40, 4));
        // A mean of other rows explains nothing of these.
        assert!(check.mean.scores.task_r2 < 0.0 && check.ridge.scores.task_r2 > check.mean.scores.task_r2);
        assert_eq!(run(&data, &folds, 1).0, check);
    }

    #[test]
    fn what_is_tested_cannot_be_seen() {
        // Another truth in the test rows of the only fold changes nothing that is predicted.
        let data = data();
        let folds = Folds::from_lists(40, vec![(30..40).collect()], "test").unwrap();
        let (inputs, targets) = (data.inputs().to_owned(), data.targets());
        let other = Mat::from_fn(40, 2, |n, c| if n < 30 { targets[(n, c)] } else { 1e3 * n as f64 });
        let other = Dataset::new(inputs, other).unwrap();
        let [before, after] = [&data, &other].map(|data| run(data, &folds, 1).1.remove(0));
        assert_eq!((before.mean, before.std), (after.mean, after.std));
    }

    /// Of the first target fold 1 alone has values: it is tested on them, and trained on none.
    #[test]
    fn a_target_that_no_training_row_knows_is_not_scored() {
        let (data, folds) =
            (data(), Folds::from_lists(40, vec![(0..10).collect(), (20..40).collect()], "test").unwrap());
        let (inputs, known) = (data.inputs().to_owned(), data.targets());
        let gaps = Mat::from_fn(40, 2, |n, c| if c == 0 && n >= 10 { f64::NAN } else { known[(n, c)] });
        let gaps = Dataset::new(inputs.clone(), gaps).unwrap();
        let own = vec![("y1".to_owned(), rffblr::TransformChoice::None)];
        let transform = rffblr::TargetTransforms::ByName { usual: rffblr::TransformChoice::None, own };
        let settings = Settings { transform, ..Settings::DEFAULT };
        let run = |data: &Dataset, settings: &Settings| {
            check(settings, &table(data), &folds, SplitBy::Custom, &|_| ControlFlow::Continue(())).unwrap().unwrap()
        };
        assert_eq!(gaps.target_names()[0], "y1");
        let (found, held_out) = run(&gaps, &settings);
        assert_eq!(found.unscored, [1, 0]);
        let tell = "Target \"y1\" has no value in the training rows of 1 of 2 refits and is not scored there.";
        assert_eq!(found.notes(gaps.target_names()), [tell]);
        for method in [&found.model, &found.ridge, &found.mean] {
            let each = &method.scores.per_task;
            assert_eq!(each.observed, [0, 30]);
            assert!(each.r2[0].is_nan() && each.r2[1].is_finite() && method.scores.task_r2 == each.r2[1]);
        }
        assert!(held_out[0].mean.col(0).iter().all(|cell| cell.is_nan()));
        // The other target is learned in fold 1 as if it were alone.
        let second =
            Dataset::named(inputs, known.subcols(1, 1).to_owned(), data.input_names().to_vec(), vec!["y2".into()]);
        let plain = Settings { transform: rffblr::TargetTransforms::NONE, ..Settings::DEFAULT };
        let alone = run(&second.unwrap(), &plain).1;
        assert_eq!(alone[0].mean.col(0), held_out[0].mean.col(1));
    }

    /// Errors of the second target are three times as large as the deviations say, on whole groups that no refit has seen.
    #[test]
    fn a_check_shows_what_wider_intervals_hold() {
        let uneven = |n: usize| 1.7 * ((n * 7 + n * n % 11) as f64).sin();
        let fold = |k: usize| {
            let truth = Mat::from_fn(60, 2, |n, c| uneven(60 * k + n) * if c == 1 { 3.0 } else { 0.9 });
            HeldOut::new(truth, Mat::zeros(60, 2), Some(Mat::full(60, 2, 1.0)))
        };
        let folds: Vec<HeldOut> = (0..5).map(fold).collect();
        let mut scored = OutOfFold::new(&folds).unwrap();
        let before = scored.scores.per_task.coverage.clone().unwrap();
        let wider = widened(&folds, |_| true, &mut scored);
        let after = scored.scores.per_task.coverage.clone().unwrap();
        assert!(before[1] < 0.5 && (after[1] - LEVEL).abs() < 0.04, "{before:?} {after:?}");
        assert!(before[0] == after[0] && wider[0] == 1.0 && wider[1] > 2.0, "{wider:?}");
        assert!((scored.scores.coverage.unwrap() - 0.5 * (after[0] + after[1])).abs() < 1e-12);
        let first = |table: &Mat<f64>| table.subcols(0, 1).to_owned();
        let calm = |fold: &HeldOut| HeldOut::new(first(&fold.truth), first(&fold.mean), fold.std.as_ref().map(first));
        let calm: Vec<HeldOut> = folds.iter().map(calm).collect();
        let mut scored = OutOfFold::new(&calm).unwrap();
        assert!(widened(&calm, |_| true, &mut scored).is_empty());
        let mut scored = OutOfFold::new(&folds).unwrap();
        assert!(widened(&folds, |task| task == 0, &mut scored).is_empty());
    }

    /// Rows that were held out once, in 60 stretches of time. Errors of the first target, of which one cell in `one_in` is known,
    /// are spread evenly to where nine tenths of them lie within `apart` times the usual 1.645 deviations; those of the
    /// second are of a law far from normal.
    fn held_out_once(rows: usize, apart: f64, one_in: usize) -> Check {
        let even = |n: usize| 2.0 * ((n as f64 + 0.5) * 0.618_033_988_75).fract() - 1.0;
        let truth = Mat::from_fn(rows, 2, |n, c| match (n % one_in, c) {
            (0, 0) => apart * 1.645 / 0.9 * even(n / one_in),
            (_, 0) => f64::NAN,
            _ => 4.0 * even(n).powi(3),
        });
        let predicted = HeldOut::new(truth, Mat::zeros(rows, 2), Some(Mat::full(rows, 2, 1.0)));
        let inputs = Mat::from_fn(rows, 2, |n, d| ((n * (d + 2)) as f64).sin());
        let units = (0..rows).map(|n| n * 60 / rows).collect();
        held_out_check(&data(), HeldRows { inputs, predicted, units, split: SplitBy::HeldOut { seed: 1 } }, 1).unwrap()
    }

    /// Fewer than 1000 cells make intervals wider where they show them to be too narrow, more make the intervals themselves; either
    /// way the coverage that is told is that of the intervals of the model.
    #[test]
    fn rows_held_out_once_make_narrow_intervals_wider() {
        let check = held_out_once(1600, 2.0, 4);
        let coverage = check.model.scores.per_task.coverage.clone().unwrap();
        assert_eq!(check.model.scores.per_task.observed, [400, 1600]);
        assert!((check.wider[0] - 2.0).abs() < 0.1 && check.wider[1] == 1.0, "{:?}", check.wider);
        assert!(coverage.iter().all(|share| (share - LEVEL).abs() < 0.03), "{coverage:?}");
        let all = (400.0 * coverage[0] + 1600.0 * coverage[1]) / 2000.0;
        assert!((check.model.scores.coverage.unwrap() - all).abs() < 1e-12);
        assert!(check.notes(&["a".into(), "b".into()])[0].starts_with("Intervals of \"a\" are 2.0"));
        // As wide as promised, or too few cells to tell.
        assert!(held_out_once(1600, 1.0, 4).wider.is_empty());
        assert!(held_out_once(1600, 2.0, 80).wider.is_empty());
    }

    #[test]
    fn progress_is_told_and_a_stop_is_heard() {
        let data = data();
        let folds = Folds::random(40, 3, 1).unwrap();
        let seen = Mutex::new(Vec::new());
        let ask = |most: usize| {
            let observer = |refits: Refits| {
                seen.lock().unwrap().push(refits);
                if refits.done >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            check(&Settings::DEFAULT, &table(&data), &folds, SplitBy::Custom, &observer).unwrap()
        };
        assert!(ask(9).is_some());
        let told = std::mem::take(&mut *seen.lock().unwrap());
        assert!(told.contains(&Refits { done: 0, total: 3 }) && told.contains(&Refits { done: 3, total: 3 }));
        assert!(ask(1).is_none() && ask(0).is_none());
        assert!(seen.lock().unwrap().iter().all(|refits| refits.done < 3));
    }

    #[test]
    fn a_refit_that_fails_is_named() {
        let folds = Folds::from_lists(20, vec![(0..10).collect(), (10..20).collect()], "test").unwrap();
        let huge = Dataset::new(Mat::from_fn(20, 1, |n, _| n as f64), Mat::from_fn(20, 1, |n, _| 1e200 * n as f64));
        let raw = rffblr::CosineSettings { target_scale: rffblr::TargetScale::Raw, ..rffblr::CosineSettings::DEFAULT };
        let (huge, raw) = (huge.unwrap(), Settings { form: raw.into(), ..Settings::COSINES });
        let found = check(&raw, &table(&huge), &folds, SplitBy::Custom, &|_| ControlFlow::Continue(()));
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with("refit 1 of 2: targets, row"), "{error}");
    }
}
