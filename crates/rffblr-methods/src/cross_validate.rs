//! Cross-validation: methods are fitted to the training rows of folds and scored on their test rows, side by side.

use crate::evaluate::{FoldResult, Split, evaluate, in_parallel};
use crate::folds::{Folds, NestedFolds};
use crate::method::Method;
use crate::select::{Grid, Journal, Plan, Progress, deal};
use rffblr::data::TrainingTable;
use rffblr::{Error, Result};

/// One fit of a cross-validation: a method on one fold of a table.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// What is fitted.
    pub method: &'a dyn Method,
    /// To which table.
    pub training: &'a TrainingTable,
    /// How its rows are split.
    pub folds: &'a Folds,
    /// Which of the folds, counted from zero.
    pub fold: usize,
    /// Seed of the fit.
    pub seed: u64,
    /// Inner folds by which the method chooses its hyper-parameters, if it does.
    pub inner: InnerFolds<'a>,
}

/// Where inner folds come from.
#[derive(Clone, Copy, Debug, Default)]
pub enum InnerFolds<'a> {
    /// The usual number, dealt out by the seed.
    #[default]
    Usual,
    /// This many, drawn by the seed.
    Dealt(usize),
    /// A list for each fold.
    Listed(&'a NestedFolds),
}

/// How the jobs of a cross-validation are run.
#[derive(Clone, Copy)]
pub struct CrossValidation<'a> {
    /// Jobs at a time, each on one thread.
    pub workers: usize,
    /// Points that methods with hyper-parameters try.
    pub grid: Grid,
    /// Where finished inner folds are kept, so that an interrupted run can go on.
    pub journal: Option<&'a Journal>,
    /// Called with the number of the job whenever one of its inner folds is done.
    pub progress: Option<&'a (dyn Fn(usize, Progress) + Sync)>,
}

impl Default for CrossValidation<'_> {
    /// As many jobs at a time as the rayon pool has threads, full grids; no journal, no progress.
    fn default() -> Self {
        CrossValidation { workers: rayon::current_num_threads(), grid: Grid::Full, journal: None, progress: None }
    }
}

/// Runs jobs side by side. Everything about a fold, its encoder too, is learned from its training rows alone. The result of
/// a job goes to `done`, with the number of the job, as soon as it is there; what `done` makes of it is given back in the
/// order of the jobs, and does not depend on the number of workers. An error of `done` ends the run.
///
/// ```
/// use rffblr::data::{MissingInputs, Roles, TrainingTable};
/// use rffblr_methods::folds::Folds;
/// use rffblr_methods::method::by_name;
/// use rffblr_methods::{CrossValidation, InnerFolds, Job, cross_validate};
///
/// # fn main() -> rffblr::Result<()> {
/// # let table = rffblr::data::cohort(40, 0)?.train.table()?;
/// let training = TrainingTable::new(table, Roles::of_targets(["glucose", "cost"]), MissingInputs::Impute)?;
/// let (folds, _) = Folds::of_table(&training, 4, 0)?;
/// let (method, training, folds) = (by_name("ridge")?, &training, &folds);
/// let job = |fold| Job { method, training, folds, fold, seed: 0, inner: InnerFolds::Usual };
/// let jobs: Vec<Job> = (0..4).map(job).collect();
/// let results = cross_validate(&jobs, &CrossValidation::default(), |_, result| result)?;
/// assert!(results.iter().all(|fold| fold.scores.rmse > 0.0));
/// # Ok(())
/// # }
/// ```
pub fn cross_validate<T: Send, E: From<Error> + Send>(
    jobs: &[Job<'_>],
    how: &CrossValidation<'_>,
    done: impl Fn(usize, Result<FoldResult>) -> std::result::Result<T, E> + Sync,
) -> std::result::Result<Vec<T>, E> {
    in_parallel(how.workers.min(jobs.len()), jobs.len(), |number| done(number, run(number, &jobs[number], how)))
}

fn run(number: usize, job: &Job<'_>, how: &CrossValidation<'_>) -> Result<FoldResult> {
    let (split, rows) = Split::of_table(job.training, job.folds, job.fold)?;
    let inner = match job.inner {
        InnerFolds::Usual => None,
        InnerFolds::Dealt(count) => Some(deal(rows.len(), count, job.seed)?),
        InnerFolds::Listed(nested) => Some(nested.positions(job.fold, &rows)),
    };
    let tell = |progress: Progress| {
        if let Some(tell) = how.progress {
            tell(number, progress);
        }
    };
    let CrossValidation { grid, journal, .. } = *how;
    let plan = Plan { seed: job.seed, grid, inner: inner.as_deref(), journal, progress: Some(&tell) };
    evaluate(job.method, &split, &plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::by_name;
    use rffblr::data::{Dataset, MissingInputs, Roles};
    use rffblr::linalg::Mat;
    use rffblr::table::{Column, Table, Values};
    use std::sync::Mutex;

    /// A number, and a text of which row 0 alone has the level "rare".
    fn training() -> TrainingTable {
        let wave = |n: usize| (n as f64 * 1.7).sin();
        let levels = ["rare", "a", "b"].map(String::from).to_vec();
        let codes = (0..24).map(|n| if n == 0 { 0 } else { 1 + n % 2 }).collect();
        let number = |name: &str, value: &dyn Fn(usize) -> f64| Column {
            name: name.into(),
            values: Values::Numeric((0..24).map(value).collect()),
        };
        let table = Table::new(vec![
            number("x", &wave),
            Column { name: "c".into(), values: Values::Text { levels, codes } },
            number("y", &|n| 2.0 * wave(n) + (n % 2) as f64 + 0.1 * wave(7 * n)),
        ]);
        TrainingTable::new(table.unwrap(), Roles::of_targets(["y"]), MissingInputs::Impute).unwrap()
    }

    fn jobs<'a>(training: &'a TrainingTable, folds: &'a Folds, methods: &[&'a dyn Method]) -> Vec<Job<'a>> {
        let inner = InnerFolds::Dealt(3);
        let of_fold = |fold: usize| {
            methods.iter().map(move |&method| Job { method, training, folds, fold, seed: 1, inner }).collect::<Vec<_>>()
        };
        (0..folds.count()).flat_map(of_fold).collect()
    }

    #[test]
    fn results_are_those_of_fits_one_by_one_whatever_the_order() {
        let (training, methods) = (training(), ["ridge", "mtfl"].map(|name| by_name(name).unwrap()));
        let (folds, _) = Folds::of_table(&training, 4, 0).unwrap();
        let jobs = jobs(&training, &folds, &methods);
        let (order, inner) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let progress = |number: usize, progress: Progress| inner.lock().unwrap().push((number, progress.total));
        let run = |workers: usize| {
            let how = CrossValidation { workers, grid: Grid::Coarse, progress: Some(&progress), ..Default::default() };
            cross_validate(&jobs, &how, |number, result| -> Result<_> {
                order.lock().unwrap().push(number);
                Ok((number, result?.held_out.mean))
            })
            .unwrap()
        };
        let (one, three) = (run(1), run(3));
        assert_eq!(one, three);
        let mut handed_over = order.into_inner().unwrap();
        assert_eq!(handed_over[..8], [0, 1, 2, 3, 4, 5, 6, 7]);
        handed_over.sort_unstable();
        assert_eq!(handed_over, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        // Ridge regression has no inner folds; the other has three in each of four folds of two runs.
        let inner = inner.into_inner().unwrap();
        assert!(inner.len() == 24 && inner.iter().all(|&(number, total)| number % 2 == 1 && total == 3), "{inner:?}");
        for (fold, test) in folds.test().iter().enumerate() {
            let rows = folds.train(fold);
            // The columns by hand: without row 0 there is no level "rare", and its cells fall to the last column.
            let levels: &[u32] = if rows.contains(&0) { &[0, 1, 2] } else { &[1, 2] };
            let column = |name: &str| training.table().column(name).unwrap();
            let Values::Text { codes, .. } = &column("c").values else { unreachable!() };
            let Values::Numeric(x) = &column("x").values else { unreachable!() };
            let Values::Numeric(y) = &column("y").values else { unreachable!() };
            let cell = |row: usize, d: usize| match d {
                0 => x[row],
                d if d <= levels.len() => f64::from(u8::from(codes[row] == levels[d - 1])),
                _ => f64::from(u8::from(!levels.contains(&codes[row]))),
            };
            let inputs = |rows: &[usize]| Mat::from_fn(rows.len(), levels.len() + 2, |i, d| cell(rows[i], d));
            let data = Dataset::new(inputs(&rows), Mat::from_fn(rows.len(), 1, |i, _| y[rows[i]])).unwrap();
            let data = data.with_one_hot(std::iter::once(1..levels.len() + 2).collect()).unwrap();
            let fitted = methods[0].fit(&data, &Plan::seeded(1)).unwrap();
            assert_eq!(one[2 * fold].1, fitted.predict(inputs(test).as_ref()).unwrap().mean);
        }
    }

    #[test]
    fn a_failure_goes_on_or_ends_the_run_as_asked() {
        let (training, methods) = (training(), ["ridge", "mtfl"].map(|name| by_name(name).unwrap()));
        let folds = Folds::from_lists(24, vec![vec![0], (1..23).collect()], "test").unwrap();
        let jobs = jobs(&training, &folds, &methods);
        let how = CrossValidation { workers: 1, grid: Grid::Coarse, ..Default::default() };
        // The two training rows of fold 2 cannot be dealt out into three inner folds.
        let kept = cross_validate(&jobs, &how, |_, result| -> Result<_> { Ok(result.is_ok()) }).unwrap();
        assert_eq!(kept, [true, true, false, false]);
        let seen = Mutex::new(0);
        let ended = cross_validate(&jobs, &how, |number, _| {
            *seen.lock().unwrap() += 1;
            if number == 1 { Err(Error::Empty("time")) } else { Ok(()) }
        });
        assert!(matches!(ended, Err(Error::Empty("time"))) && seen.into_inner().unwrap() == 2);
    }
}
