//! The data sets of a run with their folds, from files or dealt out.

use super::record::Setting;
use crate::training::of_catalogue;
use crate::{data, output};
use anyhow::{Context, Result, bail};
use rffblr::data::TrainingTable;
use rffblr::internals::hex;
use rffblr_cli::catalogue;
use rffblr_methods::InnerFolds;
use rffblr_methods::folds::{Folds, NestedFolds};
use rffblr_methods::select::Grid;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Outer folds where no file lists them.
const FOLDS: usize = 10;

/// Which data sets, and how their rows are split.
#[derive(clap::Args)]
pub struct SourceArguments {
    /// Data sets of `rffblr data list`, or "paper" for the eight of the paper
    #[arg(long, value_name = "NAMES", default_value = "paper", value_delimiter = ',')]
    pub datasets: Vec<String>,
    /// Folder with their files NAME.arff [default: $RFFBLR_DATA, or else the cache of `rffblr data fetch`]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Folder with fold files NAME.json and, for inner folds, NAME.nested.json [default: folds beside the folder of the
    /// data, if it is there; else ten random folds by the seed 0]
    #[arg(long, value_name = "DIR")]
    pub fold_dir: Option<PathBuf>,
}

/// A data set, read and split.
pub struct Source {
    pub name: &'static str,
    pub training: TrainingTable,
    pub folds: Folds,
    nested: Option<NestedFolds>,
    data_sha256: String,
    folds_sha256: String,
    inner_sha256: String,
}

impl SourceArguments {
    /// The names, checked.
    pub fn names(&self) -> Result<Vec<&'static str>> {
        let mut names = Vec::new();
        for asked in &self.datasets {
            if asked == "paper" {
                names.extend(catalogue::DATASETS.iter().filter(|set| set.in_paper).map(|set| set.name));
            } else {
                names.push(data::find(asked.trim())?.name);
            }
        }
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            bail!("data set \"{}\" is listed twice; list it once", twice.1);
        }
        Ok(names)
    }

    /// Reads everything before the first fit, so that a missing file is found out at once.
    pub fn read(&self) -> Result<Vec<Source>> {
        self.names()?.into_iter().map(|name| self.read_one(name)).collect()
    }

    fn read_one(&self, name: &'static str) -> Result<Source> {
        let set = data::find(name)?;
        let path = data::locate(set, self.data.as_deref())?;
        let training = of_catalogue(&path, set.tasks)?;
        let rows = training.table().rows();
        let (folds, nested) = match self.fold_file(name, &path)? {
            Some(file) => {
                let folds = Folds::read(&file, rows)?;
                let inner = file.with_extension("nested.json");
                let nested = inner.is_file().then(|| NestedFolds::read(&inner, &folds)).transpose()?;
                (folds, nested)
            }
            None => {
                output::note(&format!("{name} has no fold file; {FOLDS} random folds are used"));
                (Folds::random(rows, FOLDS, 0).with_context(|| path.display().to_string())?, None)
            }
        };
        let inner_sha256 = match &nested {
            Some(nested) => {
                let inner = |fold: usize| nested.positions(fold, &folds.train_in(&training, fold));
                digest(&(0..folds.count()).map(inner).collect::<Vec<_>>())?
            }
            None => "dealt by the seed".to_owned(),
        };
        let (data_sha256, folds_sha256) = (training.dataset().fingerprint(), digest(&folds.test())?);
        Ok(Source { name, training, folds, nested, data_sha256, folds_sha256, inner_sha256 })
    }

    /// The fold file of a data set; one that should be there and is not is an error.
    fn fold_file(&self, name: &str, data: &Path) -> Result<Option<PathBuf>> {
        let file = format!("{name}.json");
        if let Some(folder) = &self.fold_dir {
            let path = folder.join(&file);
            if !path.is_file() {
                bail!("{} is not there; --fold-dir must hold a fold file for every data set", path.display());
            }
            return Ok(Some(path));
        }
        let beside = data.parent().and_then(Path::parent).map(|folder| folder.join("folds").join(file));
        Ok(beside.filter(|path| path.is_file()))
    }
}

impl Source {
    /// What every record of this data set must share.
    pub fn setting(&self, grid: Grid) -> Setting {
        Setting {
            grid: grid.name().to_owned(),
            folds: self.folds.count(),
            data_sha256: self.data_sha256.clone(),
            folds_sha256: self.folds_sha256.clone(),
            inner_sha256: self.inner_sha256.clone(),
        }
    }

    /// Where the inner folds of every outer fold come from.
    pub fn inner_folds(&self) -> InnerFolds<'_> {
        self.nested.as_ref().map_or(InnerFolds::Usual, InnerFolds::Listed)
    }
}

/// SHA-256 of lists of rows.
fn digest(lists: &impl serde::Serialize) -> Result<String> {
    Ok(hex(Sha256::digest(serde_json::to_vec(lists)?)))
}
