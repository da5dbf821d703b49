//! A model from a table that comes in blocks, with scores on rows that it has not seen.

use super::accumulator::{Accumulator, BLOCK};
use super::held::{Dealt, HELD_OUT, NotHeld, Rule};
use super::learn::most_rows;
use super::map::FeatureMap;
use super::needs::expect_room;
use crate::data::roles::numbers;
use crate::data::{Dataset, Encoder, Summary, row_hash};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::metrics::{HeldOut, SplitBy};
use crate::model::{ErrorQuantiles, Model};
use crate::settings::Settings;
use crate::steps::Observer;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Number of the first block of rows that are held out; those of block n are block `APART` + n. No tree reaches that far, so that
/// the sums of both never meet before the end.
const APART: u64 = 1 << 40;

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
    /// Whether the model is scored on rows that are held out until then: whole groups, or the last rows, if the roles of the
    /// encoder have a column of groups or of times.
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
    /// The rows that were held out, or why none were.
    pub held_out: std::result::Result<HeldRows, NotHeld>,
}

/// Rows of the sample that were held out.
pub struct HeldRows {
    /// Their inputs.
    pub inputs: Mat<f64>,
    /// What a model of all other rows said of them.
    pub predicted: HeldOut,
    /// The unit of each, from 0 on: its group, its place in time, or just the row itself. Units were held out independently of
    /// each other, but for times, which are in order.
    pub units: Vec<usize>,
    /// How they were chosen.
    pub split: SplitBy,
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
        sums = sums.on(self.settings.device, summary.rows() as f64, plan.rule.is_apart())?;
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
        let (dealt, roles) = (Dealt::new(summary, encoder, seed)?, encoder.roles());
        let most = most_rows(self.settings.effort());
        let rule = match hold_out {
            true => dealt.rule(summary, roles, seed, most)?,
            false => Rule::Nothing(NotHeld::Unasked),
        };
        let (_, learned) = dealt.split(&rule, roles, most)?;
        let (sample, _) = encoder.dataset(&dealt.table, &learned)?;
        let plan = StreamPlan { encoder: encoder.clone(), map: map(&sample)?, seed, rule };
        expect_room(&plan.accumulator(), sample.targets(), summary.rows(), plan.rule.is_apart())?;
        Ok(plan)
    }
}

/// What is fixed before the rows are added up: what columns become, the features, and which rows are held out. A process that
/// adds rows needs nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPlan {
    encoder: Encoder,
    map: FeatureMap,
    seed: u64,
    rule: Rule,
}

/// A plan in which the map is text that checks itself.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    encoder: Encoder,
    map: String,
    seed: u64,
    rule: Rule,
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

    /// Adds a block: some rows of a table, the first of which has the number `first` among all rows. Rows that are held out are
    /// left to the end, or added apart.
    pub fn add(
        &self,
        sums: &mut Accumulator,
        number: u64,
        first: u64,
        table: &Table,
        rows: Range<usize>,
    ) -> Result<()> {
        let rows = match &self.rule {
            Rule::Nothing(_) => rows.collect(),
            Rule::Rows { largest } => {
                let hash = |row: usize| row_hash(self.seed, first + (row - rows.start) as u64);
                rows.clone().filter(|&row| hash(row) > *largest).collect()
            }
            rule => {
                let roles = self.encoder.roles();
                let known = roles.rows_with_target(table, rows)?;
                let is_held = rule.are_held(roles, table, &known)?;
                let of = |held: bool| -> Vec<usize> {
                    known.iter().zip(&is_held).filter(|(_, is)| **is == held).map(|(row, _)| *row).collect()
                };
                // First, so that a block is whole once its own number is there.
                let held = of(true);
                if !held.is_empty() {
                    self.add_rows(sums, APART + number, table, &held)?;
                }
                of(false)
            }
        };
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
        let (map, encoder, roles) = (&self.map, &self.encoder, self.encoder.roles());
        let dealt = Dealt::new(summary, encoder, self.seed)?;
        let (rows, learned) = dealt.split(&self.rule, roles, most_rows(map.settings.effort()))?;
        let (sample, _) = encoder.dataset(&dealt.table, &learned)?;
        if rows.is_empty() {
            let why = match &self.rule {
                Rule::Nothing(why) => why.clone(),
                _ => NotHeld::Few,
            };
            return Ok(Streamed {
                model: map.model(&sums)?.with_encoder(encoder.clone())?,
                sample,
                held_out: Err(why),
            });
        }
        let apart = sums.split_off(APART);
        let first = map.solved(&sums, None)?;
        let model = map.model_of(&sums, first.clone());
        let (inputs, truth) = encoder.test_rows(&dealt.table, &rows)?;
        let predicted = model.predict(inputs.as_ref())?.held_out(truth)?;
        let (units, split) = self.rule.told(roles, &dealt, &rows, (self.seed, apart.rows()))?;
        // The final model has these rows too.
        sums.merge(apart)?;
        if !self.rule.is_apart() && !sums.has(blocks) {
            self.add_rows(&mut sums, blocks, &dealt.table, &rows)?;
        }
        let model = map.model_of(&sums, map.solved(&sums, Some(&first))?).with_encoder(encoder.clone())?;
        let model = model.with_error_quantiles(ErrorQuantiles::new(&predicted));
        Ok(Streamed { model, sample, held_out: Ok(HeldRows { inputs, predicted, units, split }) })
    }

    /// As JSON.
    pub fn to_json(&self) -> Result<String> {
        let StreamPlan { encoder, map, seed, rule } = self.clone();
        let stored = Stored { encoder, map: map.to_json()?, seed, rule };
        serde_json::to_string(&stored).map_err(unreadable)
    }

    /// From JSON.
    pub fn from_json(text: &str) -> Result<StreamPlan> {
        let Stored { encoder, map, seed, rule } = serde_json::from_str(text).map_err(unreadable)?;
        Ok(StreamPlan { encoder, map: FeatureMap::from_json(&map)?, seed, rule })
    }
}

fn unreadable(problem: serde_json::Error) -> Error {
    Error::Json { what: "the plan of a pass", problem: problem.to_string() }
}
