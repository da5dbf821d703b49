//! `rffblr data`: the data sets known by name.

use crate::output;
use anyhow::Result;
use comfy_table::{CellAlignment, ContentArrangement};
use indicatif::HumanBytes;
use rffblr_cli::catalogue::{self, DATASETS, Dataset, FetchOptions, Origin};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr data list               what there is, and what is on this machine
  rffblr data fetch jura         download one and check it
  rffblr data path jura          where its file lies
  rffblr evaluate jura           use one by its name")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show all data sets, and which of them are on this machine
    #[command(before_long_help = "\
Examples:
  rffblr data list
  rffblr data list --json        with description, address and checksum")]
    List {
        #[command(flatten)]
        place: Place,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print where the file of a data set lies
    #[command(before_long_help = "\
Examples:
  rffblr data path jura
  rffblr data path jura --data-dir ~/mulan")]
    Path {
        /// Name of the data set
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Download a data set and check it; a download that broke off is continued
    #[command(before_long_help = "\
Examples:
  rffblr data fetch jura
  rffblr data fetch sf1 --allow-unverified
  rffblr data fetch jura --url https://mirror.example/jura.arff --data-dir .")]
    Fetch {
        /// Name of the data set
        name: String,
        #[command(flatten)]
        place: Place,
        /// Replace an existing file that is not the expected one
        #[arg(long)]
        force: bool,
        /// Another address to download it from
        #[arg(long)]
        url: Option<String>,
        /// Accept a file whose checksum is not known; it is shown instead
        #[arg(long)]
        allow_unverified: bool,
    },
}

#[derive(clap::Args)]
struct Place {
    /// Folder with data files [default: $RFFBLR_DATA, or else the cache of this user]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::List { place, json } => list(place.data_dir.as_deref(), *json),
        Command::Path { name, place } => {
            output::print(&format!("{}\n", catalogue::locate(name, place.data_dir.as_deref())?.display()))
        }
        Command::Fetch { name, place, force, url, allow_unverified } => {
            let options = FetchOptions {
                url: url.clone(),
                force: *force,
                allow_unverified: *allow_unverified,
                ..FetchOptions::DEFAULT
            };
            fetch(catalogue::find(name)?, place.data_dir.as_deref(), &options)
        }
    }
}

fn list(data_dir: Option<&Path>, json: bool) -> Result<()> {
    let found = |set: &Dataset| catalogue::locate(set.name, data_dir).ok().map(|path| path.display().to_string());
    if json {
        let sets: Vec<_> = DATASETS
            .iter()
            .map(|set| {
                json!({
                    "name": set.name, "rows": set.rows, "inputs": set.inputs, "tasks": set.tasks,
                    "description": set.description, "source": set.source, "url": set.url, "sha256": set.sha256,
                    "in_paper": set.in_paper, "path": found(set),
                })
            })
            .collect();
        return output::print(&format!("{:#}\n", json!(sets)));
    }
    let row = |set: &Dataset| {
        let here = found(set).unwrap_or_else(|| "not here".into());
        let numbers = [set.rows, set.inputs, set.tasks].map(|n| n.to_string());
        [set.name.to_string()].into_iter().chain(numbers).chain([set.source.to_string(), here]).collect()
    };
    let header = ["name", "rows", "inputs", "tasks", "source", "file"];
    let mut table = output::table(header, DATASETS.iter().map(row).collect());
    table.set_content_arrangement(ContentArrangement::Dynamic);
    for column in table.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    output::print(&format!("{table}\n"))
}

fn fetch(set: &Dataset, data_dir: Option<&Path>, options: &FetchOptions) -> Result<()> {
    let bar = output::progress(0, "{msg} {bar:30} {bytes}/{total_bytes} {eta}").with_message(set.file_name());
    let fetched = catalogue::fetch(set, &destination(data_dir)?, options, &mut |progress| {
        bar.set_length(progress.total.unwrap_or(0));
        bar.set_position(progress.received);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let fetched = fetched?;
    let how = match fetched.origin {
        Origin::AlreadyThere => "was there already",
        Origin::Downloaded => "downloaded",
        Origin::Resumed => "download completed",
    };
    let checked = if fetched.verified { "SHA-256 as expected" } else { "NOT verified, no checksum is known; SHA-256" };
    output::note(&format!("{} {how}, {}, {checked}: {}", set.name, HumanBytes(fetched.bytes), fetched.sha256));
    output::print(&format!("{}\n", fetched.path.display()))
}

/// Where a download goes: the folder named on the command line or in the environment, or else the cache.
fn destination(data_dir: Option<&Path>) -> Result<PathBuf> {
    let variable = std::env::var_os("RFFBLR_DATA").filter(|value| !value.is_empty());
    match data_dir.map(Path::to_path_buf).or(variable.map(PathBuf::from)) {
        Some(folder) => Ok(folder),
        None => Ok(catalogue::cache_folder()?),
    }
}
