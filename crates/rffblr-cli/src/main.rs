//! The command `rffblr`: a thin layer over the library. One file per subcommand; this one only dispatches.
//!
//! Its exit codes are in the help below.

mod allocation;
mod checking;
mod data;
mod demo;
mod evaluate;
mod export;
mod fit;
mod inspect;
mod output;
mod predict;
mod reading;
mod report;
mod reproduce;
mod settings;
mod shell;
mod streamed;
mod training;
mod watch;

use clap::{Parser, Subcommand};
use rffblr::data::EncodeError;
use rffblr_tables::TableError;
use std::process::ExitCode;

/// Version and, where known, the commit the command was built from.
const VERSION: &str = rffblr_methods::VERSION;

#[derive(Parser)]
#[command(name = "rffblr", version = VERSION, about, arg_required_else_help = true)]
#[command(before_help = "\
Examples:
  rffblr demo                                  fit a cohort with known truth and see how well it does
  rffblr fit data.csv --targets a,b            learn a model from a table
  rffblr predict data.model.json new.csv       predict with it
  rffblr inspect data.model.json               see what it is
  rffblr report data.model.json data.csv       see what it learned, as one HTML page
  rffblr export data.model.json --to python    write it as a program, for use without this one
  rffblr evaluate data.csv --targets a,b       cross-validate it beside other methods
  rffblr reproduce table2 --out table2         rerun the experiments of the paper
  rffblr data list                             data sets known by name")]
#[command(after_help = "\
Exit codes: 0 done, 1 it could not be done (the message says why), 2 the command line was wrong, 3 there is not enough \
memory. Ctrl-C and other signals end it at once, which a shell shows as 128 plus the number of the signal: 130 for Ctrl-C.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Threads to use; the result is the same for any number [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

#[derive(Subcommand)]
enum Command {
    /// Draw a cohort with known truth, fit it and show how well that went
    Demo(demo::Arguments),
    /// Learn a model from a table and write it to a file
    Fit(Box<fit::Arguments>),
    /// Predict the targets of a table with a model
    Predict(predict::Arguments),
    /// Show what a model is: settings, origin, inputs, noise and waves
    Inspect(inspect::Arguments),
    /// Write what a model learned, and how far to trust it, as one HTML page
    Report(Box<report::Arguments>),
    /// Write a model as ONNX, Python, C, JavaScript, SQL or a workbook, for use without this program
    Export(export::Arguments),
    /// Prove that a model file still computes what it stored
    Verify(inspect::VerifyArguments),
    /// Cross-validate one or several methods
    Evaluate(Box<evaluate::Arguments>),
    /// Rerun the experiments of the paper
    Reproduce(reproduce::Arguments),
    /// List, find and download the data sets known by name
    Data(data::Arguments),
    /// Print completions for a shell
    Completions(shell::Completions),
    /// Write manual pages, one for each command
    Man(shell::Man),
}

fn main() -> ExitCode {
    output::bear_full_quotas();
    allocation::keep_memory();
    allocation::watch_threads();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(shown) => return tell_usage(&shown),
    };
    // Zero: one for each core.
    let threads = cli.threads.unwrap_or(0).into();
    if let Err(problem) = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global() {
        output::tell(&format!(
            "error: cannot start {}, for want of memory or of places for them: {problem}",
            if threads == 0 { "threads".to_owned() } else { format!("{threads} threads") }
        ));
        let short = rffblr::memory::available().is_some_and(|available| available < FEW_BYTES);
        return if short { ExitCode::from(allocation::NO_MEMORY) } else { ExitCode::FAILURE };
    }
    let outcome = match cli.command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Verify(arguments) => inspect::verify(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Data(arguments) => data::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments),
        Command::Man(arguments) => shell::man(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            output::tell(&format!("error: {problem:#}"));
            if is_shortage(&problem) { ExitCode::from(allocation::NO_MEMORY) } else { ExitCode::FAILURE }
        }
    }
}

/// With less memory than this, it is why threads cannot be started.
const FEW_BYTES: u64 = 64 << 20;

/// Whether there was not enough memory.
fn is_shortage(problem: &anyhow::Error) -> bool {
    problem.chain().any(|cause| {
        let of_table = |problem: &EncodeError| matches!(problem, EncodeError::Memory(_));
        cause.downcast_ref().is_some_and(|problem: &rffblr::Error| match problem {
            rffblr::Error::Memory(_) => true,
            rffblr::Error::Encode(problem) => of_table(problem),
            _ => false,
        }) || cause.downcast_ref().is_some_and(of_table)
            || matches!(cause.downcast_ref(), Some(TableError::Memory(_)))
    })
}

/// Help, the version, or what is wrong with the command line.
fn tell_usage(shown: &clap::Error) -> ExitCode {
    match shown.print() {
        Err(problem) if problem.kind() != std::io::ErrorKind::BrokenPipe && !shown.use_stderr() => {
            output::tell(&format!("error: cannot write to standard output: {problem}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::from(u8::try_from(shown.exit_code()).unwrap_or(2)),
    }
}
