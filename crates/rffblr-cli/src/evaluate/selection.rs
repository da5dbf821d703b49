//! How methods choose their hyper-parameters: the flags, and what they mean for one outer fold.

use crate::output;
use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rffblr::data::TrainingTable;
use rffblr_methods::InnerFolds;
use rffblr_methods::folds::{Folds, NestedFolds};
use rffblr_methods::select::{Grid, INNER_FOLDS, Journal, deal};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(next_help_heading = "Choice of hyper-parameters, for methods that need it")]
pub struct SelectionArguments {
    /// Points to try: full, or a coarse subset for a quick look
    #[arg(long, value_name = "GRID", default_value = "full", value_parser = grids())]
    grid: Grid,
    /// Number of inner folds, dealt out at random among the training rows [default: 10, fewer with less than 20 rows]
    #[arg(long, value_name = "K", conflicts_with = "inner_fold_file")]
    inner_folds: Option<usize>,
    /// Inner folds from a file: for each fold of --fold-file a list of lists of positions among its training rows,
    /// counted from 0 [default: NAME.nested.json beside --fold-file NAME.json, if it is there]
    #[arg(long, value_name = "FILE", requires = "fold_file")]
    inner_fold_file: Option<PathBuf>,
    /// File that remembers every finished inner fold: after an interruption the same command goes on where it stopped
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
}

/// Parses `--grid`.
pub fn grids() -> impl TypedValueParser<Value = Grid> {
    PossibleValuesParser::new(["full", "coarse"]).map(|choice| match choice.as_str() {
        "coarse" => Grid::Coarse,
        _ => Grid::Full,
    })
}

/// Where inner folds come from.
enum Inner {
    /// The library deals them out.
    Usual,
    /// This many, drawn by the seed.
    Dealt(usize),
    Listed(PathBuf, NestedFolds),
}

/// Everything about the choice that is the same for all fits.
pub struct Selection {
    pub grid: Grid,
    pub journal: Option<Journal>,
    inner: Inner,
}

impl SelectionArguments {
    /// Reads the files; notes say what is used without having been asked for.
    pub fn open(
        &self,
        fold_file: Option<&Path>,
        training: &TrainingTable,
        folds: &Folds,
        quiet: bool,
    ) -> Result<Selection> {
        let beside = fold_file.map(nested_name).filter(|file| self.inner_folds.is_none() && file.is_file());
        if let (Some(file), None, false) = (&beside, &self.inner_fold_file, quiet) {
            let file = file.display();
            output::note(&format!("inner folds, where needed, are those of {file}; others with --inner-folds"));
        }
        let inner = match (self.inner_fold_file.clone().or(beside), self.inner_folds) {
            (Some(file), _) => {
                let nested = NestedFolds::read(&file, folds)?;
                Inner::Listed(file, nested)
            }
            (None, Some(count)) => {
                // Printed before the first fit.
                for fold in 0..folds.count() {
                    deal(folds.train_in(training, fold).len(), count, 0).context("--inner-folds")?;
                }
                Inner::Dealt(count)
            }
            (None, None) => Inner::Usual,
        };
        let journal = self.journal.as_deref().map(Journal::open).transpose()?;
        if let (Some(journal), Some(file), false) = (&journal, &self.journal, quiet)
            && !journal.is_empty()
        {
            let (file, known) = (file.display(), journal.len());
            output::note(&format!("{file} remembers {known} inner folds; those of this very run are not run again"));
        }
        Ok(Selection { grid: self.grid, journal, inner })
    }
}

/// `folds.nested.json` for `folds.json`.
fn nested_name(fold_file: &Path) -> PathBuf {
    fold_file.with_extension("nested.json")
}

impl Selection {
    /// Where the inner folds of every outer fold come from.
    pub fn inner_folds(&self) -> InnerFolds<'_> {
        match &self.inner {
            Inner::Usual => InnerFolds::Usual,
            Inner::Dealt(count) => InnerFolds::Dealt(*count),
            Inner::Listed(_, nested) => InnerFolds::Listed(nested),
        }
    }

    /// Where inner folds came from, for the record.
    pub fn inner_json(&self) -> Value {
        match &self.inner {
            Inner::Usual => json!(INNER_FOLDS),
            Inner::Dealt(count) => json!(count),
            Inner::Listed(file, _) => json!(file.display().to_string()),
        }
    }
}
