//! `rffblr reproduce`: the experiments of the paper, one command each. Raw results are kept as they come, so that a run
//! can be interrupted; tables and figures are made from them alone.

mod ablation;
mod claims;
mod cost;
mod document;
mod figure2;
mod figure3;
mod fits;
mod plot;
mod published;
mod record;
mod source;
mod store;
mod summary;
mod table2;
mod views;

use crate::evaluate::selection::grids;
use anyhow::{Result, bail};
use rffblr_methods::select::{Grid, Journal};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr reproduce table2 --out table2                          the methods of the paper and ours on all data: hours
  rffblr reproduce table2 --methods rffblr,mmr --datasets edm --out quick
  rffblr reproduce figure2 --out figure2                        features to begin with, features that stay
  rffblr reproduce figure3 --out figure3                        what a fit costs
  rffblr reproduce ablation --out ablation                      what the printed numbers depend on
  rffblr reproduce views --out views                            kernel machine and ELM against each other
  rffblr reproduce summary table2                               tables and figures again from the raw results")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Accuracy of every method on every data set (Table 2)
    Table2(table2::Arguments),
    /// Accuracy against the number of features to begin with (Figure 2)
    Figure2(figure2::Arguments),
    /// Cost of a fit against the number of tasks and of samples (Figure 3)
    Figure3(figure3::Arguments),
    /// Accuracy with our values and with the authors' for what the paper leaves open
    Ablation(ablation::Arguments),
    /// Difference of the paper's two optimisation problems, kernel machine and ELM, against the number of features
    Views(views::Arguments),
    /// Make tables and figures again from the raw results in a folder
    Summary {
        /// Folder with raw.jsonl
        folder: PathBuf,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Table2(arguments) => table2::run(arguments),
        Command::Figure2(arguments) => figure2::run(arguments),
        Command::Figure3(arguments) => figure3::run(arguments),
        Command::Ablation(arguments) => ablation::run(arguments),
        Command::Views(arguments) => views::run(arguments),
        Command::Summary { folder } => summarise(folder),
    }
}

/// What every experiment on data sets needs to know.
#[derive(clap::Args)]
struct RunArguments {
    #[command(flatten)]
    source: source::SourceArguments,
    /// Points of a grid to try: full, or a coarse subset
    #[arg(long, value_name = "GRID", default_value = "full", value_parser = grids())]
    grid: Grid,
    /// Fits side by side, each on one thread [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Folder of raw results and summary
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// File that remembers every finished inner fold [default: selection.journal in the folder of --out]
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Say nothing unless it fails
    #[arg(short, long)]
    quiet: bool,
}

impl RunArguments {
    fn workers(&self, jobs: usize) -> usize {
        self.jobs.map_or_else(rayon::current_num_threads, usize::from).min(jobs.max(1))
    }

    /// Needs the folder, which opening the results makes.
    fn open_journal(&self) -> Result<Journal> {
        Ok(Journal::open(self.journal.as_deref().unwrap_or(&self.out.join("selection.journal")))?)
    }
}

/// The end of an experiment: what failed is an error, now that everything else is kept.
fn report_failures(failures: &[String], jobs: usize) -> Result<()> {
    match failures.len() {
        0 => Ok(()),
        count => bail!("{count} of {jobs} fits failed; the others are recorded\n  {}", failures.join("\n  ")),
    }
}

/// Makes the files of whatever experiment lies in a folder.
fn summarise(folder: &Path) -> Result<()> {
    match store::experiment(folder)?.as_str() {
        table2::EXPERIMENT => summary::write(&store::read(folder, table2::EXPERIMENT)?, folder),
        figure2::EXPERIMENT => figure2::write(&store::read(folder, figure2::EXPERIMENT)?, folder),
        figure3::EXPERIMENT => figure3::write(&store::read(folder, figure3::EXPERIMENT)?, folder),
        ablation::EXPERIMENT => ablation::write(&store::read(folder, ablation::EXPERIMENT)?, folder),
        views::EXPERIMENT => views::write(&store::read(folder, views::EXPERIMENT)?, folder),
        other => bail!("{} holds results of {other}, which this version does not know", folder.display()),
    }
}
