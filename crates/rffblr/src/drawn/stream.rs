//! A model from a table that comes in blocks, with scores on rows that it has not seen.

use super::accumulator::{Accumulator, BLOCK};
use super::learn::MOST_ROWS;
use super::map::FeatureMap;
use crate::data::roles::numbers;
use crate::data::{Dataset, Encoder, Summary, row_hash};
use crate::error::Result;
use crate::linalg::Mat;
use crate::metrics::HeldOut;
use crate::model::{ErrorQuantiles, Model};
use crate::settings::Settings;
use crate::steps::Observer;
use crate::table::Table;
use std::ops::Range;

/// Most rows that are held out, and the most that a sample needs to learn from.
const HELD_OUT: usize = 20_000;
/// Of fewer rows, one in so many is held out.
const ONE_IN: usize = 10;
/// Rows that a [`Summary`] should keep for [`StreamFit::fit`].
pub const SAMPLE: usize = MOST_ROWS + HELD_OUT;

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
    /// Of all rows, with a sample of [`SAMPLE`] of them.
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
        self,
        source: &dyn BlockSource,
        watch: &mut dyn FnMut(u64, &Accumulator) -> Result<()>,
    ) -> Result<Streamed> {
        let StreamFit { summary, seed, encoder, settings, hold_out, observer, resume } = self;
        let (table, numbers) = summary.sample();
        let (known, _) = encoder.roles().observed_rows(&table)?;
        let mut dealt: Vec<(u64, usize)> = known.iter().map(|&row| (row_hash(seed, numbers[row]), row)).collect();
        dealt.sort_unstable();
        let one_in_ten = usize::try_from(summary.rows()).unwrap_or(usize::MAX) / ONE_IN;
        let count = if hold_out { HELD_OUT.min(one_in_ten).min(dealt.len() / 2) } else { 0 };
        let (tested, learned) = dealt.split_at(count);
        let bound = tested.last().map(|(hash, _)| *hash);
        let rows_of = |part: &[(u64, usize)]| {
            let mut rows: Vec<usize> = part.iter().map(|(_, row)| *row).collect();
            rows.sort_unstable();
            rows
        };
        let (sample, _) = encoder.dataset(&table, &rows_of(&learned[..learned.len().min(MOST_ROWS)]))?;
        let mut sums = match resume {
            Some(sums) => sums,
            None => Accumulator::new(&FeatureMap::learn(&sample, summary.rows() as f64, settings, observer)?),
        };
        let map = sums.map().clone();
        watch(0, &sums)?;
        let mut blocks = 0;
        source.each(&mut |first, block, range| {
            let number = first / BLOCK as u64;
            blocks = number + 1;
            if !sums.has(number) {
                let held = |row: usize| {
                    let hash = row_hash(seed, first + (row - range.start) as u64);
                    bound.is_some_and(|bound| hash <= bound)
                };
                let rows: Vec<usize> = range.clone().filter(|&row| !held(row)).collect();
                add(&mut sums, number, encoder, block, &rows)?;
            }
            watch(first + range.len() as u64, &sums)
        })?;
        if tested.is_empty() {
            return Ok(Streamed { model: map.model(&sums)?.with_encoder(encoder.clone())?, sample, held_out: None });
        }
        let first = map.solved(&sums, None)?;
        let model = map.model_of(&sums, first.clone());
        let rows = rows_of(tested);
        let (inputs, truth) = encoder.test_rows(&table, &rows)?;
        let prediction = model.predict(inputs.as_ref())?;
        let held_out = prediction.held_out(truth)?;
        // The final model has these rows too.
        if !sums.has(blocks) {
            add(&mut sums, blocks, encoder, &table, &rows)?;
        }
        let model = map.model_of(&sums, map.solved(&sums, Some(&first))?).with_encoder(encoder.clone())?;
        let model = model.with_error_quantiles(ErrorQuantiles::new(&held_out));
        Ok(Streamed { model, sample, held_out: Some((inputs, held_out)) })
    }
}

fn add(sums: &mut Accumulator, number: u64, encoder: &Encoder, table: &Table, rows: &[usize]) -> Result<()> {
    let (inputs, targets) = encoder.test_rows(table, rows)?;
    let weights = encoder.roles().weight_column().map(|name| numbers(table, "the weight", name)).transpose()?;
    let weights: Option<Vec<f64>> = weights.map(|all| rows.iter().map(|&row| all[row]).collect());
    sums.update(number, inputs.as_ref(), targets.as_ref(), weights.as_deref())
}
