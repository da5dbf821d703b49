//! Partial dependence: the mean prediction over the background when one or two inputs are set (equation 32).

use super::functional::{Applied, Terms, apply};
use super::{Background, Explainer, Kind};
use crate::error::Result;
use crate::interrupt::go_on;
use crate::kernel::{Distances, Family, Kernel, KernelMachine};
use crate::linalg::{Mat, Threads, dot};
use crate::model::{Part, Waves};
use rayon::prelude::*;

/// Most pairs of a background row and a term, or of two background rows: so many rows a partial dependence averages over,
/// thinned evenly.
const MOST_PAIRS: usize = 600_000;

/// What an input is set to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, in the unit of the input; of a date the days since its start.
    Number(f64),
    /// A level of a text.
    Level(String),
    /// A missing cell.
    Missing,
    /// A cell that is there, of an input of which the model knows no more than that.
    Present,
}

/// A value of an input and what it is in the columns of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What the input is set to.
    pub value: Value,
    /// The same in each of [`Input::columns`](super::Input::columns).
    pub encoded: Vec<f64>,
}

/// Mean prediction at each point, with its posterior standard deviation: points×C each, in the units of the targets.
/// With two inputs the points are all pairs, those of the second running fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialDependence {
    /// The inputs that are set, one or two.
    pub inputs: Vec<usize>,
    /// What each of them is set to.
    pub points: Vec<Vec<Point>>,
    /// Mean over the background of the predicted mean.
    pub mean: Mat<f64>,
    /// Standard deviation of that mean: posterior deviation of the curve, without noise and spread over rows.
    pub std: Mat<f64>,
    /// Background rows averaged over.
    pub background: Vec<usize>,
}

impl<'a> Explainer<'a> {
    /// Points to show an input at: all levels of a text; the distinct values of a number if they are at most `most`, else
    /// `most` values evenly spaced from its 1st to its 99th percentile; a missing cell last if the model knows them.
    pub fn points(&self, input: usize, most: usize) -> Result<Vec<Point>> {
        let found = self.input(input)?;
        let width = found.columns.len();
        let marked = |at: usize| (0..width).map(|i| f64::from(u8::from(i == at))).collect::<Vec<f64>>();
        let missing = |encoded: Vec<f64>| Point { value: Value::Missing, encoded };
        Ok(match &found.kind {
            Kind::Text { levels, gaps } => {
                let level =
                    |(at, level): (usize, &String)| Point { value: Value::Level(level.clone()), encoded: marked(at) };
                let levels = levels.iter().enumerate().map(level);
                levels.chain(gaps.then(|| missing(marked(width - 1)))).collect()
            }
            Kind::Presence => {
                vec![Point { value: Value::Present, encoded: vec![0.0] }, missing(vec![1.0])]
            }
            Kind::Date(date) => {
                let present = |row: &usize| !date.indicator || self.rows[(*row, found.columns[width - 1])] == 0.0;
                let rows = (0..self.rows.nrows()).filter(|row| self.share[*row] > 0.0).filter(present);
                let values = spaced(rows.map(|row| self.rows[(row, found.columns[0])]).collect(), most.max(2));
                let day = |days: f64| Point { value: Value::Number(days), encoded: date.encode(Some(days)) };
                values.into_iter().map(day).chain(date.indicator.then(|| missing(date.encode(None)))).collect()
            }
            Kind::Number { median } => {
                let present = |row: &usize| median.is_none() || self.rows[(*row, found.columns[1])] == 0.0;
                let rows = (0..self.rows.nrows()).filter(|row| self.share[*row] > 0.0).filter(present);
                let values = spaced(rows.map(|row| self.rows[(row, found.columns[0])]).collect(), most.max(2));
                let number = |value: f64| Point {
                    value: Value::Number(value),
                    encoded: std::iter::once(value).chain(median.map(|_| 0.0)).collect(),
                };
                values.into_iter().map(number).chain(median.map(|median| missing(vec![median, 1.0]))).collect()
            }
        })
    }

    /// Mean prediction over the background with an input set to each of the points.
    pub fn partial_dependence(&self, input: usize, points: Vec<Point>) -> Result<PartialDependence> {
        let columns = self.input(input)?.columns.clone();
        let set = points.iter().map(|point| point.encoded.clone()).collect();
        self.dependence(vec![input], vec![points], &columns, set)
    }

    /// The same with two inputs set to all pairs of points.
    pub fn partial_dependence_of_two(
        &self,
        inputs: (usize, usize),
        points: (Vec<Point>, Vec<Point>),
    ) -> Result<PartialDependence> {
        if inputs.0 == inputs.1 {
            return Err(crate::Error::SameInput(inputs.0));
        }
        let columns = [self.input(inputs.0)?.columns.as_slice(), &self.input(inputs.1)?.columns].concat();
        let both =
            |a: &Point| points.1.iter().map(|b| [a.encoded.as_slice(), &b.encoded].concat()).collect::<Vec<Vec<f64>>>();
        let set = points.0.iter().flat_map(both).collect();
        self.dependence(vec![inputs.0, inputs.1], vec![points.0, points.1], &columns, set)
    }

    fn dependence(
        &self,
        inputs: Vec<usize>,
        points: Vec<Vec<Point>>,
        columns: &[usize],
        set: Vec<Vec<f64>>,
    ) -> Result<PartialDependence> {
        let Averaged { background, distances } = self.averaged.get_or_init(|| self.averaged());
        let values = self.standardised_points(columns, &set)?;
        let set = Set { columns, values: &values };
        let Applied { mut mean, std, .. } = apply(self.model, |part| {
            let (values, prior) = match part {
                Part::Waves(waves) => {
                    (averaged_waves(waves, &set, background, part.terms()), vec![0.0; values.nrows()])
                }
                Part::Kernel(machine) => {
                    let known = distances.iter().find(|whole| std::ptr::eq(whole.machine, machine));
                    let again;
                    let whole = match known {
                        Some(whole) => whole,
                        None => {
                            again = Whole::new(machine, background);
                            &again
                        }
                    };
                    (
                        averaged_kernel(machine, &set, background, &whole.to_rows),
                        averaged_prior(machine, &set, background, &whole.within),
                    )
                }
            };
            Terms { values, prior: Some(prior), directions: None }
        });
        let shift = self.model.target_shift();
        for (c, shift) in shift.iter().enumerate() {
            mean.col_as_slice_mut(c).iter_mut().for_each(|v| *v += shift);
        }
        let std = std.unwrap_or_else(|| Mat::zeros(mean.nrows(), mean.ncols()));
        Ok(PartialDependence { inputs, points, mean, std, background: background.rows.clone() })
    }

    /// The rows to average over, and how far they are from the training rows and from each other.
    fn averaged(&self) -> Averaged<'a> {
        let parts = self.model.function.parts();
        let terms = parts.iter().map(|(_, part)| part.terms()).max().unwrap_or(1);
        let most = (1..=self.rows.nrows()).rev().find(|&rows| rows * rows.max(terms) <= MOST_PAIRS);
        let background = self.background(most.unwrap_or(1));
        let distances = |(_, part): (Vec<usize>, Part<'a>)| match part {
            Part::Waves(_) => None,
            Part::Kernel(machine) => Some(Whole::new(machine, &background)),
        };
        let distances = parts.into_iter().filter_map(distances).collect();
        Averaged { background, distances }
    }

    /// Encoded values of some columns, on the scale of the fit: points×columns.
    fn standardised_points(&self, columns: &[usize], set: &[Vec<f64>]) -> Result<Mat<f64>> {
        for values in set {
            crate::data::expect_count("a point", "values", values.len(), columns.len())?;
        }
        let mut table = Mat::from_fn(set.len(), self.rows.ncols(), |_, d| self.rows[(0, d)]);
        for (i, values) in set.iter().enumerate() {
            columns.iter().zip(values).for_each(|(&d, value)| table[(i, d)] = *value);
        }
        let standardised = self.model.standardised_inputs(table.as_ref())?;
        Ok(crate::linalg::select_columns(standardised.as_ref(), columns))
    }
}

/// What all partial dependences of a model have in common.
pub(super) struct Averaged<'a> {
    background: Background,
    /// For each machine.
    distances: Vec<Whole<'a>>,
}

/// Distances from the background rows along all inputs, in the kernel of one machine.
struct Whole<'a> {
    machine: &'a KernelMachine,
    /// To the training rows.
    to_rows: Distances,
    /// To each other.
    within: Distances,
}

impl<'a> Whole<'a> {
    fn new(machine: &'a KernelMachine, background: &Background) -> Whole<'a> {
        let (rows, threads) = (&background.standardised, Threads::current());
        Whole {
            machine,
            to_rows: machine.kernel.distances(rows, machine.inputs.as_ref().as_ref(), threads),
            within: machine.kernel.distances(rows, rows.as_ref(), threads),
        }
    }
}

/// Some columns set to each row of a table of standardised values.
struct Set<'a> {
    columns: &'a [usize],
    values: &'a Mat<f64>,
}

/// Distinct values, or this many evenly spaced between the 1st and the 99th percentile.
fn spaced(mut values: Vec<f64>, most: usize) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    let (Some(last), mut distinct) = (values.len().checked_sub(1), values.clone()) else { return Vec::new() };
    distinct.dedup();
    if distinct.len() <= most {
        return distinct;
    }
    let (low, high) = (values[last / 100], values[last - last / 100]);
    // Written so that the difference of the ends need not be finite.
    let at = |i: usize| i as f64 / (most - 1) as f64;
    (0..most).map(|i| low * (1.0 - at(i)) + high * at(i)).collect()
}

/// Each term of a layer of cosines, averaged: cos(p + set + rest) = cos(p + set) cos(rest) − sin(p + set) sin(rest), and
/// only the second factors know the row.
fn averaged_waves(waves: &Waves, set: &Set<'_>, background: &Background, terms: usize) -> Mat<f64> {
    let basis = &waves.basis;
    let frequency = |d: usize, m: usize| basis.directions[(d, m)];
    let rest: Vec<usize> = (0..basis.inputs()).filter(|d| !set.columns.contains(d)).collect();
    let average = |d: usize| dot(&background.share, background.standardised.col_as_slice(d));
    let mut out = Mat::zeros(terms, set.values.nrows());
    for m in 0..basis.cosines() {
        go_on();
        let (mut cosine, mut sine) = (0.0, 0.0);
        for (z, share) in background.share.iter().enumerate() {
            let angle: f64 = rest.iter().map(|&d| frequency(d, m) * background.standardised[(z, d)]).sum();
            cosine += share * angle.cos();
            sine += share * angle.sin();
        }
        for v in 0..set.values.nrows() {
            let own = set.columns.iter().enumerate().map(|(i, &d)| frequency(d, m) * set.values[(v, i)]);
            let angle = basis.offsets[m] + own.sum::<f64>();
            out[(m, v)] = basis.amplitude * (angle.cos() * cosine - angle.sin() * sine);
        }
    }
    for (i, &link) in basis.links.iter().enumerate() {
        let position = set.columns.iter().position(|&d| d == link);
        for v in 0..set.values.nrows() {
            let value = position.map_or_else(|| average(link), |p| set.values[(v, p)]);
            out[(basis.cosines() + i, v)] = basis.link_factor() * value;
        }
    }
    out.row_mut(terms - 1).fill(1.0);
    out
}

/// κ from each training row to the set rows, averaged over the background.
fn averaged_kernel(machine: &KernelMachine, set: &Set<'_>, background: &Background, whole: &Distances) -> Mat<f64> {
    let (kernel, centres) = (&machine.kernel, machine.inputs.as_ref());
    let others: Vec<usize> = (0..centres.ncols()).filter(|d| !set.columns.contains(d)).collect();
    let linear: Vec<f64> =
        others.iter().map(|&d| dot(&background.share, background.standardised.col_as_slice(d))).collect();
    let points = set.values.nrows();
    let one_centre = |n: usize| {
        go_on();
        // Both families are products of what is set and the rest.
        let [rbf, laplace_l1] = averages(kernel, whole, (centres, n), set, background);
        let straight: f64 = others.iter().zip(&linear).map(|(&d, mean)| mean * centres[(n, d)]).sum();
        let at = |v: usize| {
            let (mut square, mut absolute, mut product) = (0.0, 0.0, straight);
            for (i, &d) in set.columns.iter().enumerate() {
                let value = set.values[(v, i)];
                let delta = value - centres[(n, d)];
                square += delta * delta;
                absolute += kernel.input_scales[d] * delta.abs();
                product += value * centres[(n, d)];
            }
            kernel.sum(
                product,
                rbf * (-kernel.rbf.bandwidth * square).exp(),
                laplace_l1 * (-kernel.laplace_l1.bandwidth * absolute).exp(),
            )
        };
        (0..points).map(at).collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..centres.nrows()).into_par_iter().map(one_centre).collect();
    Mat::from_fn(centres.nrows(), points, |n, v| {
        if n == 0 {
            go_on();
        }
        columns[n][v]
    })
}

/// What each family has on average over the background along the inputs that are not set, from a row to which the whole
/// distances are known.
fn averages(
    kernel: &Kernel,
    whole: &Distances,
    (rows, n): (&Mat<f64>, usize),
    set: &Set<'_>,
    background: &Background,
) -> [f64; 2] {
    let average = |family: Family, whole: &Mat<f64>, size: &dyn Fn(usize, f64) -> f64| {
        let mut rest = whole.col_as_slice(n).to_vec();
        for &d in set.columns {
            let column = background.standardised.col_as_slice(d).iter();
            rest.iter_mut().zip(column).for_each(|(rest, value)| *rest -= size(d, value - rows[(n, d)]));
        }
        family.decay(&mut rest);
        dot(&background.share, &rest)
    };
    [
        average(kernel.rbf, &whole.square, &|_, delta| delta * delta),
        average(kernel.laplace_l1, &whole.absolute, &|d, delta| kernel.input_scales[d] * delta.abs()),
    ]
}

/// Prior variance of a partial dependence: κ between all pairs of background rows set to the same point, where
/// what is set makes no difference but in the links.
fn averaged_prior(machine: &KernelMachine, set: &Set<'_>, background: &Background, whole: &Distances) -> Vec<f64> {
    let (kernel, rows) = (&machine.kernel, &background.standardised);
    let count = background.share.len();
    let one_row = |z: usize| {
        let [rbf, laplace_l1] = averages(kernel, whole, (rows, z), set, background);
        kernel.sum(0.0, rbf, laplace_l1)
    };
    let each: Vec<f64> = (0..count).into_par_iter().map(one_row).collect();
    let others = (0..rows.ncols()).filter(|d| !set.columns.contains(d));
    let straight: f64 = others.map(|d| dot(&background.share, rows.col_as_slice(d)).powi(2)).sum();
    let unit = kernel.linear / rows.ncols() as f64;
    let curved = dot(&background.share, &each) + unit * straight;
    let own = |v: usize| (0..set.columns.len()).map(|i| set.values[(v, i)].powi(2)).sum::<f64>();
    (0..set.values.nrows()).map(|v| curved + unit * own(v)).collect()
}
