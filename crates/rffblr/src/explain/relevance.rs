//! How much each input matters for each task (equation 33).

use super::hybrids::Around;
use super::quadratic::deviations;
use super::{Background, Explainer, Input};
use crate::error::Result;
use crate::linalg::{Mat, dot, select_rows};
use crate::model::Part;
use rayon::prelude::*;

/// Operations worth a few tenths of a second on two cores, for the variances and for their deviations; and the most
/// background rows all pairs of which have a joint covariance.
const OPERATIONS: f64 = 3e9;
const PAIRED: usize = 32;
/// Fewest background rows for a deviation, and the fewest inputs that have one, whatever it costs: it takes time in proportion to
/// all columns, so that those of all inputs of a wide table would take the square of that.
const FEWEST_PAIRED: usize = 4;
const FEWEST_INPUTS: usize = 48;

/// Shares of the variance of the prediction, inputs × tasks.
///
/// The distribution behind them: the input in question as in one background row, all others together as in another,
/// independent of it. Inputs other than the one in question keep their dependence among each other; shares of different
/// inputs therefore need not add up to one.
#[derive(Clone, Debug, PartialEq)]
pub struct VarianceShares {
    /// Variance of the partial dependence over the background's values of the input, as a share of the variance of the
    /// prediction over the background.
    pub first_order: Mat<f64>,
    /// Mean variance of the prediction when the input alone is exchanged, as the same share; never below `first_order`.
    /// What is more is interaction with other inputs.
    pub total: Mat<f64>,
    /// Posterior standard deviation of each `first_order`, over the rows in `std_background`; the variance of the
    /// prediction that it is a share of is taken as known. NaN for inputs of a wide table, from about two thousand columns on, that
    /// are not among those with the largest `total`.
    pub first_order_std: Mat<f64>,
    /// The same for `total`.
    pub total_std: Mat<f64>,
    /// Standard deviation of the prediction over the background, for each task, in the unit of the target.
    pub signal_std: Vec<f64>,
    /// Background rows used for the variances.
    pub background: Vec<usize>,
    /// Background rows used for their deviations. For an input that is the same in all of these, but not in all rows, half of
    /// them are others, with the share that such rows have.
    pub std_background: Vec<usize>,
}

impl Explainer<'_> {
    /// Relevance of every input. Where all rows would take longer than about half a second on two cores, rows are thinned
    /// evenly; the result names those used.
    pub fn variance_shares(&self) -> Result<VarianceShares> {
        let (background, few) = (self.background(self.affordable_pairs()), self.background(self.affordable_joint()));
        let signal = self.signal(&background)?;
        let found = self.exchanged(&background);
        let judged = self.largest(&found, self.affordable_inputs());
        let deviation = |part: Part<'_>, columns: &[usize]| match self.varied(&few, columns) {
            Some(varied) => deviations(part, columns, &varied),
            None => deviations(part, columns, &few),
        };
        let spread = self.model.function.by_task(|part| {
            self.of_inputs(|input, columns| match judged[input] {
                true => deviation(part, columns),
                false => vec![(f64::NAN, f64::NAN); part.tasks()],
            })
        });
        let shares = |table: &[Vec<(f64, f64)>], pick: fn(&(f64, f64)) -> f64| {
            // A signal that does not vary leaves nothing to share.
            Mat::from_fn(self.inputs.len(), signal.len(), |input, c| match signal[c] > 0.0 {
                true => pick(&table[c][input]) / signal[c],
                false => 0.0,
            })
        };
        Ok(VarianceShares {
            first_order: shares(&found, |pair| pair.0),
            total: shares(&found, |pair| pair.1),
            first_order_std: shares(&spread, |pair| pair.0),
            total_std: shares(&spread, |pair| pair.1),
            signal_std: signal.iter().zip(self.model.target_std()).map(|(v, scale)| scale * v.sqrt()).collect(),
            background: background.rows,
            std_background: few.rows,
        })
    }

    /// The total shares alone, over few background rows: a first look that takes a fraction of a second on two cores.
    /// Inputs × tasks, and the number of rows.
    pub fn first_look(&self) -> Result<(Mat<f64>, usize)> {
        const FEWEST: usize = 8;
        let background = self.background((self.affordable_pairs() / 5).max(FEWEST));
        let (signal, found) = (self.signal(&background)?, self.exchanged(&background));
        let share = |input: usize, c: usize| if signal[c] > 0.0 { found[c][input].1 / signal[c] } else { 0.0 };
        Ok((Mat::from_fn(self.inputs.len(), signal.len(), share), background.rows.len()))
    }

    /// First-order and total variance of each input, for each task.
    fn exchanged(&self, background: &Background) -> Vec<Vec<(f64, f64)>> {
        self.model.function.by_task(|part| {
            let around = Around::new(self, part, background);
            self.of_inputs(|input, columns| {
                let tables = around.values(input, columns, background);
                tables.iter().map(|table| variances(table, &background.share)).collect()
            })
        })
    }

    /// For each task a list with an entry for each input, from what that and its columns give for every task.
    fn of_inputs<T: Clone + Send>(&self, of: impl Fn(usize, &[usize]) -> Vec<T> + Sync) -> Vec<Vec<T>> {
        let one = |(input, facts): (usize, &Input)| of(input, &facts.columns);
        let found: Vec<Vec<T>> = self.inputs.par_iter().enumerate().map(one).collect();
        let tasks = found.first().map_or(0, Vec::len);
        (0..tasks).map(|c| found.iter().map(|tasks| tasks[c].clone()).collect()).collect()
    }

    /// Variance of the prediction over the background, standardised scale.
    fn signal(&self, background: &Background) -> Result<Vec<f64>> {
        let rows = select_rows(self.rows.as_ref(), &background.rows);
        let prediction = self.model.predict_function(rows.as_ref())?;
        let (shift, scale) = (self.model.target_shift(), self.model.target_std());
        let task = |c: usize| {
            let values: Vec<f64> =
                prediction.col_as_slice(c).iter().map(|v| v / scale[c] - shift[c] / scale[c]).collect();
            variance(&values, &background.share)
        };
        Ok((0..prediction.ncols()).map(task).collect())
    }

    /// A background in which these columns vary, if they do not in this one: a rare value, without which the input would seem
    /// to do nothing for certain.
    fn varied(&self, few: &Background, columns: &[usize]) -> Option<Background> {
        let first = few.rows[0];
        let differs = |row: &usize| columns.iter().any(|&d| self.rows[(*row, d)] != self.rows[(first, d)]);
        if few.rows.iter().any(differs) {
            return None;
        }
        let rare: Vec<usize> = (0..self.share.len()).filter(|&row| self.share[row] > 0.0).filter(differs).collect();
        let (half, count) = (few.rows.len() / 2, rare.len().min(few.rows.len() / 2));
        if count == 0 {
            return None;
        }
        let rare_share: f64 = rare.iter().map(|&row| self.share[row]).sum();
        let chosen: Vec<usize> = (0..count).map(|i| rare[i * rare.len() / count]).collect();
        let usual = &few.rows[..few.rows.len() - half];
        let [of_usual, of_rare] = [usual, &chosen[..]].map(|rows| rows.iter().map(|&row| self.share[row]).sum::<f64>());
        let share = |row: &usize| match differs(row) {
            true => self.share[*row] / of_rare * rare_share,
            false => self.share[*row] / of_usual * (1.0 - rare_share),
        };
        let rows = [usual, &chosen].concat();
        Some(Background {
            standardised: select_rows(self.standardised.as_ref(), &rows),
            share: rows.iter().map(share).collect(),
            rows,
        })
    }

    /// Background rows all pairs of which can be looked at for every input and task.
    fn affordable_pairs(&self) -> usize {
        let operations = |(tasks, part): &(Vec<usize>, Part<'_>)| match part {
            Part::Waves(waves) => 2 * waves.basis.cosines() * tasks.len(),
            Part::Kernel(machine) => 2 * machine.inputs.nrows() * tasks.len(),
        };
        let each: usize = self.model.function.parts().iter().map(operations).sum();
        (OPERATIONS / (each * self.inputs.len()).max(1) as f64).sqrt() as usize
    }

    /// Whether each input is among so many with the largest total variance: in any task the first of all, then the second …
    fn largest(&self, found: &[Vec<(f64, f64)>], most: usize) -> Vec<bool> {
        if most >= self.inputs.len() {
            return vec![true; self.inputs.len()];
        }
        let order = |task: &Vec<(f64, f64)>| -> Vec<usize> {
            let mut order: Vec<usize> = (0..task.len()).collect();
            order.sort_by(|&a, &b| task[b].1.total_cmp(&task[a].1));
            order
        };
        let orders: Vec<Vec<usize>> = found.iter().map(order).collect();
        let (mut chosen, mut left) = (vec![false; self.inputs.len()], most);
        for input in (0..self.inputs.len()).flat_map(|place| orders.iter().map(move |order| order[place])) {
            if left > 0 && !chosen[input] {
                (chosen[input], left) = (true, left - 1);
            }
        }
        chosen
    }

    /// How many inputs can have deviations, over the fewest rows if not all can.
    fn affordable_inputs(&self) -> usize {
        let one = self.joint_cost(FEWEST_PAIRED) / self.inputs.len().max(1) as f64;
        ((OPERATIONS / one) as usize).max(FEWEST_INPUTS)
    }

    /// Background rows whose pairs can have their joint covariance computed for every input and task.
    fn affordable_joint(&self) -> usize {
        let affordable = |rows: &usize| self.joint_cost(*rows) <= OPERATIONS;
        (FEWEST_PAIRED..=PAIRED).rev().find(affordable).unwrap_or(FEWEST_PAIRED)
    }

    /// Operations behind the joint covariances of the pairs of so many background rows, for all inputs.
    fn joint_cost(&self, rows: usize) -> f64 {
        let parts = self.model.function.parts();
        let (inputs, columns) = (self.inputs.len() as f64, self.standardised.ncols() as f64);
        let cost_of_part = |part: &Part<'_>, rows: usize| {
            let (rank, factors) = match part {
                Part::Waves(waves) => {
                    let largest = waves.posterior.shapes.iter().map(|shape| shape.inverse.rank()).max();
                    (largest.unwrap_or(0), waves.posterior.mean.ncols())
                }
                Part::Kernel(machine) => (machine.inputs.nrows(), machine.factors()),
            };
            let (terms, rank, factors, pairs) =
                (part.terms() as f64, rank as f64, factors as f64, (rows * rows) as f64);
            inputs * pairs * (terms * columns + factors * rank * (terms + 2.0 * pairs) + pairs * columns)
        };
        parts.iter().map(|(_, part)| cost_of_part(part, rows)).sum()
    }
}

/// First-order and total variance, from the function with the input as in row x and the others as in column z.
fn variances(table: &Mat<f64>, share: &[f64]) -> (f64, f64) {
    let mut curve = vec![0.0; table.nrows()];
    let mut total = 0.0;
    for (z, share_of_z) in share.iter().enumerate() {
        let column = table.col_as_slice(z);
        curve.iter_mut().zip(column).for_each(|(sum, value)| *sum += share_of_z * value);
        total += share_of_z * variance(column, share);
    }
    (variance(&curve, share), total)
}

fn variance(values: &[f64], share: &[f64]) -> f64 {
    let mean = dot(values, share);
    values.iter().zip(share).map(|(value, share)| share * (value - mean).powi(2)).sum()
}
