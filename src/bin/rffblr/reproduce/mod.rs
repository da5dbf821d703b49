//! `rffblr reproduce`: the experiments of the paper, one command each. Raw results are kept as they come, so that a run
//! can be interrupted; tables and figures are made from them alone.

mod document;
mod plot;
mod published;
mod record;
mod source;
mod store;
mod summary;
mod table2;

use anyhow::{Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rffblr::select::Grid;
use std::path::{Path, PathBuf};
use store::Store;

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce table2 --out table2                          every method on every data set: hours
  rffblr reproduce table2 --methods rffblr,mmr --datasets edm --out quick")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Accuracy of every method on every data set (Table 2)
    Table2(table2::Arguments),
    /// Make tables and figures again from the raw results in a folder
    Summary {
        /// Folder with raw.jsonl
        folder: PathBuf,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Table2(arguments) => table2::run(arguments),
        Command::Summary { folder } => summarise(folder),
    }
}

/// Makes the files of whatever experiment lies in a folder.
fn summarise(folder: &Path) -> Result<()> {
    match store::experiment(folder)?.as_str() {
        table2::EXPERIMENT => summary::write(&Store::open(folder, table2::EXPERIMENT)?.records(), folder),
        other => bail!("{} holds results of {other}, which this version does not know", folder.display()),
    }
}

/// Parses `--grid`.
fn grids() -> impl TypedValueParser<Value = Grid> {
    PossibleValuesParser::new(["full", "coarse"]).map(|choice| match choice.as_str() {
        "coarse" => Grid::Coarse,
        _ => Grid::Full,
    })
}
