//! A model from a table that comes in blocks, with scores on rows that it has not seen.

use super::accumulator::{Accumulator, BLOCK};
use super::learn::most_rows;
use super::map::FeatureMap;
use crate::data::roles::numbers;
use crate::data::{Dataset, Encoder, Summary, row_hash};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::metrics::HeldOut;
use crate::model::{ErrorQuantiles, Model};
use crate::settings::Settings;
use crate::steps::Observer;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most rows that are held out, and the most that a sample needs to learn from.
const HELD_OUT: usize = 20_000;
/// Of fewer rows, one in so many is held out.
const ONE_IN: usize = 10;
/// Rows that a [`Summary`] should keep for [`StreamFit::fit`].
pub fn sample_rows(settings: &Settings) -> usize {
    most_rows(settings.effort()) + HELD_OUT
}

/// What is done with a block: the number of its first row, the table that has it, and where in that table it lies.
pub type EachBlock<'a> = &'a mut dyn FnMut(u64, &Table, Range<usize>) -> Result<()>;

/// The rows of a table, the same in every pass.
pub trait BlockSource {
    /// Calls `f` for every [`BLOCK`] of rows in order, the last of which may be shorter.
    fn each(&self, f: EachBlock<'_>) -> Result<()>;
}

impl BlockSource for Table {
    fn each(&self, f: EachBlock<'_>) -> Result<()> {
        (0..self.rows())
            .step_by(BLOCK)
            .try_for_each(|start| f(start as u64, self, start..self.rows().min(start + BLOCK)))
    }
}

/// What to fit, and to whom to tell.
pub struct StreamFit<'a> {
    /// Of all rows, with a sample of [`sample_rows`] of them.
    pub summary: &'a Summary,
    /// Seed of that sample.
    pub seed: u64,
    /// What the columns become.
    pub encoder: &'a Encoder,
    /// Those of preset cosines.
    pub settings: &'a Settings,
    /// Whether the model is scored on rows that are held out until then.
    pub hold_out: bool,
    /// Sees every step of learning.
    pub observer: Observer<'a>,
    /// Sums of an earlier pass over the same rows that was broken off.
    pub resume: Option<Accumulator>,
}

/// A fitted model and how it did.
pub struct Streamed {
    /// Of all rows.
    pub model: Model,
    /// The rows the kernel was learned from.
    pub sample: Dataset,
    /// Inputs of the rows that were held out, and what a model of all other rows said of them.
    pub held_out: Option<(Mat<f64>, HeldOut)>,
}

impl StreamFit<'_> {
    /// Learns from the sample, then passes once over the rows. `watch` sees the sums after every block, with the number of
    /// rows that are done; an error of it ends the fit.
    pub fn fit(
        mut self,
        source: &dyn BlockSource,
        watch: &mut dyn FnMut(u64, &Accumulator) -> Result<()>,
    ) -> Result<Streamed> {
        let summary = self.summary;
        let (plan, mut sums) = match self.resume.take() {
            Some(sums) => (self.plan(|_| Ok(sums.map().clone()))?, sums),
            None => {
                let plan = self.learn()?;
                let sums = plan.accumulator();
                (plan, sums)
            }
        };
        sums = sums.on(self.settings.device, summary.rows() as f64)?;
        watch(0, &sums)?;
        let mut blocks = 0;
        source.each(&mut |first, block, range| {
            let number = first / BLOCK as u64;
            blocks = number + 1;
            if !sums.has(number) {
                plan.add(&mut sums, number, first, block, range.clone())?;
            }
            watch(first + range.len() as u64, &sums)
        })?;
        plan.finish(summary, sums, blocks)
    }

    /// Learns from the sample: what is fixed before any row is added up.
    pub fn learn(&self) -> Result<StreamPlan> {
        let rows = self.summary.rows() as f64;
        self.plan(|sample| FeatureMap::learn(sample, rows, self.settings, self.observer))
    }

    fn plan(&self, map: impl FnOnce(&Dataset) -> Result<FeatureMap>) -> Result<StreamPlan> {
        let StreamFit { summary, seed, encoder, hold_out, .. } = *self;
        let dealt = Dealt::new(summary, encoder, seed)?;
        let one_in_ten = usize::try_from(summary.rows()).unwrap_or(usize::MAX) / ONE_IN;
        let count = if hold_out { HELD_OUT.min(one_in_ten).min(dealt.rows.len() / 2) } else { 0 };
        let bound = dealt.rows[..count].last().map(|(hash, _)| *hash);
        let (sample, _) = encoder.dataset(&dealt.table, &dealt.learned(bound, most_rows(self.settings.effort())))?;
        Ok(StreamPlan { encoder: encoder.clone(), map: map(&sample)?, seed, bound })
    }
}

/// The rows of a sample that have a target, by their hashes, rising: the first are held out, the next are learned from.
struct Dealt {
    table: Table,
    rows: Vec<(u64, usize)>,
}

impl Dealt {
    fn new(summary: &Summary, encoder: &Encoder, seed: u64) -> Result<Dealt> {
        let (table, numbers) = summary.sample();
        let (known, _) = encoder.roles().observed_rows(&table)?;
        let mut rows: Vec<(u64, usize)> = known.iter().map(|&row| (row_hash(seed, numbers[row]), row)).collect();
        rows.sort_unstable();
        Ok(Dealt { table, rows })
    }

    fn held_out(&self, bound: Option<u64>) -> Vec<usize> {
        in_order(self.rows.iter().take_while(|(hash, _)| is_held_out(*hash, bound)))
    }

    fn learned(&self, bound: Option<u64>, count: usize) -> Vec<usize> {
        in_order(self.rows.iter().skip_while(|(hash, _)| is_held_out(*hash, bound)).take(count))
    }
}

fn is_held_out(hash: u64, bound: Option<u64>) -> bool {
    bound.is_some_and(|bound| hash <= bound)
}

fn in_order<'a>(dealt: impl Iterator<Item = &'a (u64, usize)>) -> Vec<usize> {
    let mut rows: Vec<usize> = dealt.map(|(_, row)| *row).collect();
    rows.sort_unstable();
    rows
}

/// What is fixed before the rows are added up: what columns become, the features, and which rows are held out. A process that
/// adds rows needs nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPlan {
    encoder: Encoder,
    map: FeatureMap,
    seed: u64,
    /// The largest hash of a row that is held out.
    bound: Option<u64>,
}

/// A plan in which the map is text that checks itself.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    encoder: Encoder,
    map: String,
    seed: u64,
    bound: Option<u64>,
}

impl StreamPlan {
    /// What the columns become.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// What turns rows into features.
    pub fn map(&self) -> &FeatureMap {
        &self.map
    }

    /// Seed of the sample.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Sums of no rows.
    pub fn accumulator(&self) -> Accumulator {
        Accumulator::new(&self.map)
    }

    /// Adds a block but for the rows that are held out: some rows of a table, the first of which has the number `first`
    /// among all rows.
    pub fn add(
        &self,
        sums: &mut Accumulator,
        number: u64,
        first: u64,
        table: &Table,
        rows: Range<usize>,
    ) -> Result<()> {
        let hash = |row: usize| row_hash(self.seed, first + (row - rows.start) as u64);
        let rows: Vec<usize> = rows.clone().filter(|&row| !is_held_out(hash(row), self.bound)).collect();
        self.add_rows(sums, number, table, &rows)
    }

    fn add_rows(&self, sums: &mut Accumulator, number: u64, table: &Table, rows: &[usize]) -> Result<()> {
        let (inputs, targets) = self.encoder.test_rows(table, rows)?;
        let weight = self.encoder.roles().weight_column();
        let weights = weight.map(|name| numbers(table, "the weight", name)).transpose()?;
        let weights: Option<Vec<f64>> = weights.map(|all| rows.iter().map(|&row| all[row]).collect());
        sums.update(number, inputs.as_ref(), targets.as_ref(), weights.as_deref())
    }

    /// The model of all rows, when all blocks are added, so many; `summary` is the one that was learned from.
    pub fn finish(&self, summary: &Summary, mut sums: Accumulator, blocks: u64) -> Result<Streamed> {
        let (map, encoder) = (&self.map, &self.encoder);
        let dealt = Dealt::new(summary, encoder, self.seed)?;
        let learned = dealt.learned(self.bound, most_rows(map.settings.effort()));
        let (sample, _) = encoder.dataset(&dealt.table, &learned)?;
        let rows = dealt.held_out(self.bound);
        if rows.is_empty() {
            return Ok(Streamed { model: map.model(&sums)?.with_encoder(encoder.clone())?, sample, held_out: None });
        }
        let first = map.solved(&sums, None)?;
        let model = map.model_of(&sums, first.clone());
        let (inputs, truth) = encoder.test_rows(&dealt.table, &rows)?;
        let held_out = model.predict(inputs.as_ref())?.held_out(truth)?;
        // The final model has these rows too.
        if !sums.has(blocks) {
            self.add_rows(&mut sums, blocks, &dealt.table, &rows)?;
        }
        let model = map.model_of(&sums, map.solved(&sums, Some(&first))?).with_encoder(encoder.clone())?;
        let model = model.with_error_quantiles(ErrorQuantiles::new(&held_out));
        Ok(Streamed { model, sample, held_out: Some((inputs, held_out)) })
    }

    /// As JSON.
    pub fn to_json(&self) -> Result<String> {
        let stored =
            Stored { encoder: self.encoder.clone(), map: self.map.to_json()?, seed: self.seed, bound: self.bound };
        serde_json::to_string(&stored).map_err(unreadable)
    }

    /// From JSON.
    pub fn from_json(text: &str) -> Result<StreamPlan> {
        let Stored { encoder, map, seed, bound } = serde_json::from_str(text).map_err(unreadable)?;
        Ok(StreamPlan { encoder, map: FeatureMap::from_json(&map)?, seed, bound })
    }
}

fn unreadable(problem: serde_json::Error) -> Error {
    Error::Json { what: "the plan of a pass", problem: problem.to_string() }
}
