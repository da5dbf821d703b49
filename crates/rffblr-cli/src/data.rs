//! `rffblr data`: the data sets known by name.

use crate::output;
use anyhow::{Result, anyhow};
use comfy_table::{CellAlignment, ContentArrangement};
use rffblr_cli::catalogue::{self, CatalogueError, DATASETS, Dataset, FetchOptions};
use serde_json::json;
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
    /// Download a data set and check it
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
            output::print_data(&format!("{}\n", locate(find(name)?, place.data_dir.as_deref())?.display()))
        }
        Command::Fetch { name, place, force, url, allow_unverified } => {
            let options = FetchOptions {
                url: url.clone(),
                force: *force,
                allow_unverified: *allow_unverified,
                ..FetchOptions::default()
            };
            fetch(find(name)?, place.data_dir.as_deref(), &options)
        }
    }
}

/// The data set of this name.
pub fn find(name: &str) -> Result<&'static Dataset> {
    catalogue::find(name).map_err(advised)
}

/// The file of a data set, with a note if it is not the one that the catalogue knows.
pub fn locate(set: &Dataset, data_dir: Option<&Path>) -> Result<PathBuf> {
    let path = catalogue::locate(set, data_dir).map_err(advised)?;
    if set.sha256.is_some()
        && let Err(problem) = set.check(&path)
    {
        output::note(&problem.to_string());
    }
    Ok(path)
}

/// A problem with the command or the option that follows its advice.
fn advised(problem: CatalogueError) -> anyhow::Error {
    let advice = match &problem {
        CatalogueError::UnknownName(_) => "`rffblr data list` shows all names".to_owned(),
        CatalogueError::NotFound(name, _) => format!("`rffblr data fetch {name}` downloads it"),
        CatalogueError::NoFolder => "--data-dir FOLDER".to_owned(),
        CatalogueError::ChecksumUnknown(_) => "--allow-unverified downloads it and shows its SHA-256".to_owned(),
        CatalogueError::OtherFile { .. } => "--force replaces it".to_owned(),
        _ => return problem.into(),
    };
    anyhow!("{problem}; {advice}")
}

fn list(data_dir: Option<&Path>, json: bool) -> Result<()> {
    let found = |set: &Dataset| catalogue::locate(set, data_dir).ok().map(|path| path.display().to_string());
    if json {
        let sets: Vec<_> = DATASETS
            .iter()
            .map(|set| {
                json!({
                    "name": set.name, "rows": set.rows, "inputs": set.inputs, "tasks": set.tasks,
                    "description": set.description, "source": set.source, "url": set.url(), "sha256": set.sha256,
                    "in_paper": set.in_paper, "path": found(set),
                })
            })
            .collect();
        return output::print_json(&format!("{:#}\n", json!(sets)));
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
    let folder = catalogue::destination(data_dir).map_err(advised)?;
    let bar = output::progress(0, "{msg} {bar:30} {bytes}/{total_bytes} {eta}").with_message(set.file_name());
    let fetched = catalogue::fetch(set, &folder, options, &mut |received, total| {
        bar.set_length(total.unwrap_or(0));
        bar.set_position(received);
    });
    bar.finish_and_clear();
    let fetched = fetched.map_err(advised)?;
    let how = if fetched.is_new { "downloaded" } else { "was there already" };
    let is_known = set.sha256.is_some();
    let checked = if is_known { "SHA-256 as expected" } else { "NOT verified, no checksum is known; SHA-256" };
    output::note(&format!("{} {how}, {checked}: {}", set.name, fetched.sha256));
    output::print_data(&format!("{}\n", fetched.path.display()))
}
