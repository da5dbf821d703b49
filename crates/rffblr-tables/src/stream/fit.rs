//! A model from files: what the columns are in a first pass, then one pass over the rows.

use super::checkpoint::{Checkpoint, expect_usable};
use super::{Parts, Starts, Types};
use rffblr::data::{Encoder, MissingInputs, Note, RoleChoice, Summary, TrainingTable};
use rffblr::drawn::{Accumulator, StreamFit, Streamed, sample_rows};
use rffblr::memory::{of_doubles, require};
use rffblr::{Error, Form, Iteration, Result, Settings};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// What is fitted to files, and how.
pub struct FileFit {
    /// The parts that columns play.
    pub choice: RoleChoice,
    /// What happens to missing inputs.
    pub missing: MissingInputs,
    /// Of the model.
    pub settings: Settings,
    /// Whether rows are held out until the model is scored on them: whole groups, or the last rows, if a column says which
    /// these are.
    pub hold_out: bool,
    /// File to go on from.
    pub checkpoint: Option<PathBuf>,
}

/// How far a fit to files is.
pub enum Stage<'a> {
    /// The first pass: bytes that are read, of so many.
    Reading(u64, u64),
    /// A step of learning.
    Learning(&'a Iteration),
    /// The second pass: rows that are added up, of so many.
    Adding(u64, u64),
}

/// What files gave.
pub enum FromFiles {
    /// A model of drawn features.
    Model(Box<FileModel>),
    /// A table to fit to: the rows are few, or the form needs them all at once.
    Table(Box<TrainingTable>),
}

/// A model of many rows.
pub struct FileModel {
    /// The model, and how it did on rows held out.
    pub fitted: Streamed,
    /// What the columns became.
    pub encoder: Encoder,
    /// What a user should know about the files.
    pub notes: Vec<Note>,
    /// Number of rows.
    pub rows: u64,
}

impl Parts {
    /// Fits a model of drawn features, or gives the table where another form is wanted or the rows are few. Asked to stop,
    /// learning ends early; `tell` is not asked during passes.
    pub fn fit(self, job: FileFit, tell: &(dyn Fn(Stage<'_>) -> ControlFlow<()> + Sync)) -> Result<FromFiles> {
        job.checkpoint.as_deref().map_or(Ok(()), |path| expect_usable(path, self.files()))?;
        let bytes = self.bytes();
        let most = sample_rows(&job.settings);
        let start = || (Summary::new(most, job.settings.seed), Starts::default());
        let (types, (summary, starts)) = self.survey(start, |(summary, starts), block| {
            // What is wrong with the roles themselves is said where they are used.
            if let Ok(roles) = job.choice.clone().resolve(&block.table) {
                let places = || if job.hold_out { roles.expect_places(&block.table) } else { Ok(()) };
                let expected = roles.expect_weights(&block.table).and_then(|()| places());
                expected.map_err(|problem| block.starts.place(block.first_row, problem))?;
            }
            summary.add(&block.table, block.first_row)?;
            starts.extend(&block.starts);
            // The sample is taken out of the summary and encoded.
            let (sample, columns) = (summary.sample_rows(), summary.columns().len());
            let what = format!("a sample of {sample} rows and {columns} columns");
            require(3.0 * of_doubles(sample, columns), what, "ignore columns, or use a computer with more memory")?;
            let _ = tell(Stage::Reading(block.bytes_read, bytes));
            Ok(())
        })?;
        let rows = usize::try_from(summary.rows()).unwrap_or(usize::MAX);
        let settings = job.settings.for_rows(rows);
        if matches!(settings.form, Form::Drawn { .. }) {
            return self.fit_drawn(types, (&summary, &starts), &FileFit { settings, ..job }, tell);
        }
        let (table, _) = summary.sample();
        if table.rows() < rows {
            let problem =
                format!("this one needs all {rows} rows in memory, and from files takes at most {most}; use cosines");
            return Err(Error::Setting { name: "preset", problem });
        }
        let table = table.with_notes(types.notes().iter().cloned());
        let training =
            TrainingTable::new(table, job.choice, job.missing).map_err(|problem| starts.place_row(problem))?;
        Ok(FromFiles::Table(Box::new(training)))
    }

    fn fit_drawn(
        self,
        types: Types,
        (summary, starts): (&Summary, &Starts),
        job: &FileFit,
        tell: &(dyn Fn(Stage<'_>) -> ControlFlow<()> + Sync),
    ) -> Result<FromFiles> {
        let roles = job.choice.clone().resolve(&summary.sample().0)?;
        let (encoder, more) =
            Encoder::learn_summary(summary, &roles, job.missing).map_err(|problem| starts.place_row(problem.into()))?;
        let mut notes = types.notes().to_vec();
        notes.extend(more);
        let mut checkpoint = job.checkpoint.as_deref().map(|path| Checkpoint::new(path, &self, summary, &encoder, job));
        let resume = checkpoint.as_ref().map(Checkpoint::read).transpose()?.flatten();
        let observer = |step: &Iteration| tell(Stage::Learning(step));
        let fit = StreamFit {
            summary,
            seed: job.settings.seed,
            encoder: &encoder,
            settings: &job.settings,
            hold_out: job.hold_out,
            observer: &observer,
            resume,
        };
        let fitted = fit.fit(&self.typed(types), &mut |rows: u64, sums: &Accumulator| {
            if let Some(checkpoint) = &mut checkpoint {
                checkpoint.save(rows, sums)?;
            }
            let _ = tell(Stage::Adding(rows, summary.rows()));
            Ok(())
        });
        let fitted = fitted.map_err(|problem| starts.place_row(problem))?;
        notes.extend(encoder.suspicions(&fitted.sample, None));
        Ok(FromFiles::Model(Box::new(FileModel { fitted, encoder, notes, rows: summary.rows() })))
    }
}
