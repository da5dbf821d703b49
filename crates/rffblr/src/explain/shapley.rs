//! Shapley values of predictions (equations 34 to 36).

use super::along::Rows;
use super::functional::{Terms, apply};
use super::game::{Angles, LANES, Lane, Rules, Scratch, waves};
use super::kernels::Games;
use super::left_out::directions;
use super::{Background, Explainer};
use crate::data::expect_count;
use crate::error::Result;
use crate::interrupt::go_on;
use crate::kernel::{KernelMachine, Metric};
use crate::linalg::{Mat, MatRef, dot, select_rows};
use crate::model::{Function, Part, Prediction, Waves};
use rayon::prelude::*;

/// Processor time that explanations may take, all of them and one row of them, so that on two cores they take ten seconds
/// and fifty milliseconds; some functions take twice as long as is reckoned here.
const NANOSECONDS: f64 = 2e10;
const NANOSECONDS_OF_ROW: f64 = 4e7;
/// And a sample of them for a report.
const NANOSECONDS_OF_SAMPLE: f64 = 1e9;
/// Nanoseconds of the double integral behind a deviation, for one input, two background rows and two nodes.
const DOUBLED: f64 = 5.0;
/// Numbers in the table of terms by functionals that is worked on at once.
const TABLE: usize = 6_000_000;

/// What each input adds to a prediction, compared with the mean prediction over the background: averaged over all orders
/// in which inputs can be changed from those of a background row to those of the explained one.
///
/// For each row and task `base + Σ values = prediction` to 1e-9 of the target's scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Shapley {
    /// Mean prediction over the background, for each task.
    pub base: Vec<f64>,
    /// rows×C predictions, on the scale of the fit.
    pub prediction: Mat<f64>,
    /// For each task, rows×inputs, on the scale of the fit.
    pub values: Vec<Mat<f64>>,
    /// Posterior standard deviation of each value, where asked for.
    pub std: Option<Vec<Mat<f64>>>,
    /// Background rows used.
    pub background: Vec<usize>,
}

/// Shapley values of what is predicted for training rows without them, at the learned hyper-parameters.
///
/// For each row and task `base + Σ values = prediction`; the base is the mean prediction over the background without the
/// row, and so differs a little from row to row.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOutShapley {
    /// The rows explained.
    pub rows: Vec<usize>,
    /// rows×C means over the background.
    pub base: Mat<f64>,
    /// rows×C predictions of each row without it, on the scale of the fit.
    pub prediction: Mat<f64>,
    /// For each task, rows×inputs, on the scale of the fit.
    pub values: Vec<Mat<f64>>,
    /// Posterior standard deviation of each value, where asked for.
    pub std: Option<Vec<Mat<f64>>>,
    /// Background rows used.
    pub background: Vec<usize>,
}

/// Rows that are to be forgotten one by one: what is predicted with and without each.
struct Forgotten<'a> {
    rows: &'a [usize],
    fitted: Prediction,
    left_out: &'a Prediction,
}

impl Forgotten<'_> {
    /// By how much the function falls at a row that is forgotten.
    fn fall(&self, row: usize, c: usize) -> f64 {
        self.fitted.law(row, c).location - self.left_out.law(self.rows[row], c).location
    }

    /// By how much its variance rises there.
    fn rise(&self, row: usize, c: usize) -> f64 {
        // The noise is in both.
        let (before, after) = (self.fitted.law(row, c).scale, self.left_out.law(self.rows[row], c).scale);
        ((after - before) * (after + before)).max(0.0)
    }
}

impl Explainer<'_> {
    /// Shapley values of what is predicted for some training rows without each of them: `left_out` is
    /// [`Model::leave_one_out`](crate::Model::leave_one_out), whose rows must be those of the explainer (equation 36a).
    pub fn shapley_left_out(
        &self,
        left_out: &Prediction,
        rows: &[usize],
        background: usize,
        uncertain: bool,
    ) -> Result<LeftOutShapley> {
        expect_count("the leave-one-out prediction", "rows", left_out.mean.nrows(), self.rows.nrows())?;
        let inputs = select_rows(self.rows.as_ref(), rows);
        let forgotten = Forgotten { rows, fitted: self.model.predict(inputs.as_ref())?, left_out };
        let found = self.shapley_values(inputs.as_ref(), background, uncertain, Some(&forgotten))?;
        let prediction = Mat::from_fn(rows.len(), left_out.mean.ncols(), |i, c| left_out.law(rows[i], c).location);
        let parts = |i: usize, c: usize| found.values[c].row(i).iter().sum::<f64>();
        let base = Mat::from_fn(rows.len(), prediction.ncols(), |i, c| prediction[(i, c)] - parts(i, c));
        let Shapley { values, std, background, .. } = found;
        Ok(LeftOutShapley { rows: rows.to_vec(), base, prediction, values, std, background })
    }

    /// Shapley values of each row of inputs (on their original scale), against at most `background` rows, evenly spaced
    /// among those of the explainer.
    pub fn shapley(&self, inputs: MatRef<'_, f64>, background: usize) -> Result<Shapley> {
        self.shapley_values(inputs, background, false, None)
    }

    /// The same with posterior standard deviations. For a kernel machine they cost the square of the background.
    pub fn shapley_with_std(&self, inputs: MatRef<'_, f64>, background: usize) -> Result<Shapley> {
        self.shapley_values(inputs, background, true, None)
    }

    fn shapley_values(
        &self,
        inputs: MatRef<'_, f64>,
        background: usize,
        uncertain: bool,
        forgotten: Option<&Forgotten<'_>>,
    ) -> Result<Shapley> {
        let prediction = self.model.predict_function(inputs)?;
        let rows = self.model.standardised_inputs(inputs)?;
        let background = self.background(background);
        let (count, players, tasks) = (rows.nrows(), self.inputs.len(), prediction.ncols());
        let empty = || vec![Mat::zeros(count, players); tasks];
        let (mut values, mut std) = (empty(), uncertain.then(empty));
        let terms = self.model.function.parts().iter().map(|(_, part)| part.terms()).max().unwrap_or(0);
        let block = (TABLE / (players * terms).max(1)).clamp(1, 64);
        for start in (0..count).step_by(block) {
            let part = rows.as_ref().subrows(start, block.min(count - start)).to_owned();
            let table = self.table(&part, &background);
            let own = start..start + part.nrows();
            let applied = apply(self.model, |function| Terms {
                values: table.games(function),
                prior: uncertain.then(|| table.variances(function)),
                directions: forgotten.map(|forgotten| directions(function, &forgotten.rows[own.clone()], &part)),
            });
            let follows = |at: usize, c: usize| applied.follows.as_ref().map_or(0.0, |table| table[(at, c)]);
            let fall = |row: usize, c: usize| forgotten.map_or(0.0, |forgotten| forgotten.fall(row, c));
            let rise = |row: usize, c: usize| forgotten.map_or(0.0, |forgotten| forgotten.rise(row, c));
            for (i, row) in own.clone().enumerate() {
                for p in 0..players {
                    let at = i * players + p;
                    for (c, values) in values.iter_mut().enumerate() {
                        values[(row, p)] = applied.mean[(at, c)] - follows(at, c) * fall(row, c);
                    }
                    for (c, std) in std.iter_mut().flatten().enumerate() {
                        let known = applied.std.as_ref().map_or(0.0, |found| found[(at, c)]);
                        std[(row, p)] = known.hypot(follows(at, c).abs() * rise(row, c).sqrt());
                    }
                }
            }
        }
        let base = if count == 0 { self.base(&background)? } else { left_over(&prediction, &values) };
        Ok(Shapley { base, prediction, values, std, background: background.rows })
    }

    /// Mean prediction over the background, where no row is explained.
    fn base(&self, background: &Background) -> Result<Vec<f64>> {
        let rows = select_rows(self.rows.as_ref(), &background.rows);
        let mean = self.model.predict_function(rows.as_ref())?;
        // Relative to the first: the mean of huge numbers must not overflow on the way.
        let task = |c: usize| {
            let first = mean[(0, c)];
            let column = mean.col_as_slice(c).iter().zip(&background.share);
            first + column.map(|(v, share)| share * (v - first)).sum::<f64>()
        };
        Ok((0..mean.ncols()).map(task).collect())
    }

    fn table<'b>(&'b self, rows: &'b Mat<f64>, background: &'b Background) -> Table<'b> {
        let mean = |d: usize| dot(&background.share, background.standardised.col_as_slice(d));
        Table {
            rows,
            background,
            along_rows: self.along(rows),
            along_background: self.along(&background.standardised),
            means: (0..rows.ncols()).map(mean).collect(),
            players: self.inputs.iter().map(|input| input.columns.as_slice()).collect(),
        }
    }

    /// The largest background for which the Shapley values of this many rows take less than ten seconds on two cores, and
    /// less than fifty milliseconds each.
    pub fn affordable_background(&self, rows: usize) -> usize {
        self.affordable(time_of(rows) / (rows.max(1) as f64 * self.cost()))
    }

    /// The same for the Shapley values with their deviations.
    pub fn affordable_background_with_std(&self, rows: usize) -> usize {
        let plain = self.affordable_background(rows);
        match &self.model.function {
            Function::Sinusoids(_) | Function::Cosines(_) | Function::Drawn(_) => plain,
            Function::Kernel(_) => {
                plain.min(self.affordable((time_of(rows) / (rows.max(1) as f64 * self.cost_of_std())).sqrt()))
            }
        }
    }

    /// The most rows whose deviations take no longer than that, if against one background row alone. Those of cosines
    /// cost no more than the values, and have no such limit.
    pub fn affordable_rows_with_std(&self) -> usize {
        match &self.model.function {
            Function::Sinusoids(_) | Function::Cosines(_) | Function::Drawn(_) => usize::MAX,
            Function::Kernel(_) => (NANOSECONDS / self.cost_of_std()).max(1.0) as usize,
        }
    }

    /// How many rows to explain one by one, and against how many, so that a report on them takes about half a second on
    /// two cores: all rows against fewer if these are still enough, else as many of both.
    pub fn affordable_sample(&self) -> (usize, usize) {
        const ENOUGH: f64 = 50.0;
        let worth = NANOSECONDS_OF_SAMPLE / self.cost();
        let even = worth.sqrt();
        let against = self.affordable((worth / self.share.len() as f64).clamp(even.min(ENOUGH), even));
        (self.affordable(worth / against as f64), against)
    }

    /// Against how many rows so many can have deviations too, in as long, and the values that come with them in as long again;
    /// `None` if these are too few to mean anything.
    pub fn affordable_sample_with_std(&self, rows: usize) -> Option<usize> {
        const FEWEST: f64 = 8.0;
        let (worth, all) = (NANOSECONDS_OF_SAMPLE / rows.max(1) as f64, self.share.len() as f64);
        let against = match &self.model.function {
            Function::Kernel(_) => (worth / self.cost_of_std()).sqrt().min(worth / self.cost()),
            Function::Sinusoids(_) | Function::Cosines(_) | Function::Drawn(_) => worth / self.cost(),
        };
        (against >= FEWEST.min(all)).then(|| self.affordable(against))
    }

    fn affordable(&self, rows: f64) -> usize {
        rows.clamp(1.0, self.share.len() as f64) as usize
    }

    /// Measured nanoseconds of the deviations of a kernel machine, for one row and one pair of others.
    fn cost_of_std(&self) -> f64 {
        let inputs = self.inputs.len() as f64;
        let nodes = (0.5 * inputs).ceil().min(60.0);
        DOUBLED * nodes * nodes * inputs * self.model.function.parts().len() as f64
    }

    /// Measured nanoseconds to explain one row against one other.
    fn cost(&self) -> f64 {
        // Cosines of many inputs need fewer nodes than the exact rule has.
        let many = self.inputs.len() >= 32;
        let each = |(_, part): (Vec<usize>, Part<'_>)| {
            let (terms, each) = match part {
                Part::Waves(waves) => (waves.basis.cosines(), if many { 5.0 } else { 8.0 }),
                Part::Kernel(machine) => (machine.inputs.nrows(), 8.0),
            };
            (terms * self.inputs.len()).max(1) as f64 * each
        };
        self.model.function.parts().into_iter().map(each).sum()
    }
}

/// The mean prediction over the background of each task: what the values leave of the first row's prediction. To predict the
/// background would take as long as to explain a row.
fn left_over(prediction: &Mat<f64>, values: &[Mat<f64>]) -> Vec<f64> {
    values.iter().enumerate().map(|(c, values)| prediction[(0, c)] - values.row(0).iter().sum::<f64>()).collect()
}

/// Processor time for the explanations of this many rows.
fn time_of(rows: usize) -> f64 {
    NANOSECONDS.min(rows.max(1) as f64 * NANOSECONDS_OF_ROW)
}

/// Rows to explain, background and columns of each player.
pub(super) struct Table<'a> {
    pub(super) rows: &'a Mat<f64>,
    pub(super) background: &'a Background,
    pub(super) along_rows: Rows<'a>,
    pub(super) along_background: Rows<'a>,
    /// Mean of each column over the background.
    pub(super) means: Vec<f64>,
    pub(super) players: Vec<&'a [usize]>,
}

impl Table<'_> {
    /// Shapley values of every term of a part: terms × (rows·players), players running fastest.
    fn games(&self, part: Part<'_>) -> Mat<f64> {
        match part {
            Part::Waves(waves) => self.of_waves(waves, part.terms()),
            Part::Kernel(machine) => self.of_kernel(machine),
        }
    }

    /// Their prior variance, which only a kernel machine needs.
    fn variances(&self, part: Part<'_>) -> Vec<f64> {
        match part {
            Part::Waves(_) => vec![0.0; self.rows.nrows() * self.players.len()],
            Part::Kernel(machine) => self.priors(machine),
        }
    }

    /// Puts what each chunk of terms gave in its place.
    fn gather(&self, terms: usize, order: &[usize], chunks: &[Vec<Lane>]) -> Mat<f64> {
        let mut out = Mat::zeros(terms, self.rows.nrows() * self.players.len());
        for functional in 0..out.ncols() {
            let column = out.col_as_slice_mut(functional);
            for (some, chunk) in order.chunks(LANES).zip(chunks) {
                some.iter().zip(chunk[functional]).for_each(|(&term, value)| column[term] = value);
            }
        }
        out
    }

    fn of_waves(&self, function: &Waves, terms: usize) -> Mat<f64> {
        let basis = &function.basis;
        let cosines = basis.cosines();
        let speed = |m: usize| (0..basis.inputs()).map(|d| frequency(function, d, m).powi(2)).sum::<f64>();
        let mut order: Vec<(f64, usize)> = (0..cosines).map(|m| (speed(m), m)).collect();
        // Similar cosines need equally many nodes.
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let order: Vec<usize> = order.into_iter().map(|(_, m)| m).collect();
        let rules = Rules::new(self.players.len(), 2, tolerance(&function.posterior.mean));
        let chunks: Vec<Vec<Lane>> =
            order.par_chunks(LANES).map(|some| self.chunk_of_waves(function, some, &rules)).collect();
        let mut out = self.gather(terms, &order, &chunks);
        for (i, &link) in basis.links.iter().enumerate() {
            let Some(player) = self.players.iter().position(|columns| columns.contains(&link)) else { continue };
            for row in 0..self.rows.nrows() {
                let change = self.rows[(row, link)] - self.means[link];
                out[(cosines + i, row * self.players.len() + player)] = basis.link_factor() * change;
            }
        }
        out
    }

    /// Games of up to eight cosines.
    fn chunk_of_waves(&self, function: &Waves, some: &[usize], rules: &Rules) -> Vec<Lane> {
        let (basis, players) = (&function.basis, self.players.len());
        let half_angle = |table: &Mat<f64>, row: usize, player: usize| -> Lane {
            std::array::from_fn(|l| {
                let angle = |m: usize| -> f64 {
                    self.players[player].iter().map(|&d| frequency(function, d, m) * table[(row, d)]).sum()
                };
                some.get(l).map_or(0.0, |&m| 0.5 * angle(m))
            })
        };
        let halves = |table: &Mat<f64>| -> Vec<Lane> {
            (0..table.nrows() * players).map(|i| half_angle(table, i / players, i % players)).collect()
        };
        let (x, z) = (halves(self.rows), halves(&self.background.standardised));
        let total = |halves: &[Lane]| -> Vec<Lane> {
            let sum = |row: &[Lane]| std::array::from_fn(|l| row.iter().map(|lane| lane[l]).sum::<f64>());
            halves.chunks(players).map(sum).collect()
        };
        let (x_total, z_total) = (total(&x), total(&z));
        let both = |halves: &[Lane]| -> (Vec<Lane>, Vec<Lane>) {
            halves.iter().map(|lane| (lane.map(f64::cos), lane.map(f64::sin))).unzip()
        };
        let ((x_cosine, x_sine), (z_cosine, z_sine)) = (both(&x), both(&z));
        let mut scratch = Scratch::new(players);
        let mut out = vec![[0.0; LANES]; x.len()];
        for (b, share) in self.background.share.iter().enumerate() {
            go_on();
            let place = b * players..(b + 1) * players;
            let from = Angles { cosine: &z_cosine[place.clone()], sine: &z_sine[place] };
            for (row, x_total) in x_total.iter().enumerate() {
                let place = row * players..(row + 1) * players;
                let size: Lane = std::array::from_fn(|l| {
                    let angle = |m: usize| basis.offsets[m] + x_total[l] + z_total[b][l];
                    some.get(l).map_or(0.0, |&m| -share * basis.amplitude * angle(m).sin())
                });
                let to = Angles { cosine: &x_cosine[place.clone()], sine: &x_sine[place.clone()] };
                waves(&to, &from, &size, rules, &mut scratch, &mut out[place]);
            }
        }
        out
    }

    fn of_kernel(&self, machine: &KernelMachine) -> Mat<f64> {
        let (kernel, centres) = (&machine.kernel, &machine.inputs);
        let rules = Rules::new(self.players.len(), 1, tolerance(&machine.coefficients));
        let (along, metrics) = (self.along_rows.of_other(centres), kernel.metrics());
        let chunks: Vec<Vec<Lane>> = (0..centres.nrows().div_ceil(LANES))
            .into_par_iter()
            .map(|chunk| self.chunk_of_kernel(&metrics, (&along, chunk * LANES), &rules))
            .collect();
        let order: Vec<usize> = (0..centres.nrows()).collect();
        let mut out = self.gather(centres.nrows(), &order, &chunks);
        let unit = kernel.linear / centres.ncols() as f64;
        for row in 0..self.rows.nrows() {
            for (player, columns) in self.players.iter().enumerate() {
                let column = out.col_as_slice_mut(row * self.players.len() + player);
                for &d in *columns {
                    let change = unit * (self.rows[(row, d)] - self.means[d]);
                    column.iter_mut().zip(centres.col_as_slice(d)).for_each(|(cell, at)| *cell += change * at);
                }
            }
        }
        out
    }

    /// Games of the kernels at eight training rows.
    fn chunk_of_kernel(&self, metrics: &[Metric], centres: (&Rows<'_>, usize), rules: &Rules) -> Vec<Lane> {
        let players = self.players.len();
        let mut out = vec![[0.0; LANES]; self.rows.nrows() * players];
        for metric in metrics {
            let lanes = |rows: &Rows<'_>| -> Vec<Lane> {
                let (centres, first) = centres;
                let along = |i: usize| centres.eight(i % players, metric, first, (rows, i / players));
                (0..rows.count() * players).map(along).collect()
            };
            let (x, z) = (lanes(&self.along_rows), lanes(&self.along_background));
            let share = &self.background.share;
            Games { players, x, z, share, family: metric.family, rules }.play(&mut out);
        }
        out
    }
}

/// Frequency of a cosine along a standardised input.
fn frequency(function: &Waves, d: usize, m: usize) -> f64 {
    function.basis.directions[(d, m)]
}

/// What the Shapley value of a term may be wrong by: with these weights all of them together by 1e-10 at worst.
fn tolerance(weights: &Mat<f64>) -> f64 {
    let sum = |c: usize| weights.col_as_slice(c).iter().map(|w| w.abs()).sum::<f64>();
    let largest = (0..weights.ncols()).map(sum).fold(1.0, f64::max);
    (1e-10 / largest).max(1e-14)
}
