//! Partial dependence: the mean prediction over the background when one or two inputs are set (equation 32).

use super::along::Rows;
use super::functional::{Applied, Terms, apply};
use super::{Background, Explainer, Kind};
use crate::error::Result;
use crate::interrupt::go_on;
use crate::kernel::{Distances, KernelMachine, Metric};
use crate::linalg::{Mat, Threads, dot, multiply};
use crate::model::{Part, Waves, normal_reach};
use crate::transform::{Law, Transform};
use rayon::prelude::*;
use std::sync::Arc;

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

/// Mean prediction at each point, with its posterior standard deviation: points×C each, on the scale on which each target
/// was learned ([`Model::scale_of`](crate::Model::scale_of)); [`band`](PartialDependence::band) has it in the unit of the
/// target. With two inputs the points are all pairs, those of the second running fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialDependence {
    /// The inputs that are set, one or two.
    pub inputs: Vec<usize>,
    /// What each of them is set to.
    pub points: Vec<Vec<Point>>,
    /// Mean of the function over the background.
    pub mean: Mat<f64>,
    /// Standard deviation of that mean: posterior deviation of the curve, without noise and spread over rows.
    pub std: Mat<f64>,
    /// Background rows averaged over.
    pub background: Vec<usize>,
    transforms: Arc<[Option<Transform>]>,
}

/// A partial dependence in the units of the targets, and where it lies with some probability: points×C each.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The mean prediction over the background. Of a transformed target the mean is taken on the scale of its transform
    /// and brought back (equation 32c): of a logarithm it is the geometric mean of the medians of the rows.
    pub mean: Mat<f64>,
    /// Lower end of the band.
    pub lower: Mat<f64>,
    /// Upper end of the band.
    pub upper: Mat<f64>,
}

impl PartialDependence {
    /// The same in the units of the targets, with a central band that holds the curve at each point with the given posterior
    /// probability.
    pub fn band(&self, coverage: f64) -> Result<Band> {
        let (_, reach) = normal_reach(coverage)?;
        let at = |z: f64| {
            Mat::from_fn(self.mean.nrows(), self.mean.ncols(), |i, c| {
                let (location, scale) = (self.mean[(i, c)], self.std[(i, c)]);
                Law { transform: self.transforms[c].as_ref(), location, scale }.at(z)
            })
        };
        Ok(Band { mean: at(0.0), lower: at(-reach), upper: at(reach) })
    }
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
        let set = points.iter().map(|point| point.encoded.clone()).collect();
        self.dependence(vec![input], vec![points], set)
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
        let both =
            |a: &Point| points.1.iter().map(|b| [a.encoded.as_slice(), &b.encoded].concat()).collect::<Vec<Vec<f64>>>();
        let set = points.0.iter().flat_map(both).collect();
        self.dependence(vec![inputs.0, inputs.1], vec![points.0, points.1], set)
    }

    fn dependence(
        &self,
        inputs: Vec<usize>,
        points: Vec<Vec<Point>>,
        encoded: Vec<Vec<f64>>,
    ) -> Result<PartialDependence> {
        let Averaged { background, distances } = self.averaged.get_or_init(|| self.averaged());
        let columns = inputs.iter().map(|&input| Ok(self.input(input)?.columns.as_slice()));
        let columns = columns.collect::<Result<Vec<&[usize]>>>()?.concat();
        let values = self.standardised_points(&columns, &encoded, background)?;
        let set = Set { inputs: &inputs, columns: &columns, values: &values };
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
                    let rows = self.along(&background.standardised);
                    let over =
                        Averaging { metrics: machine.kernel.metrics(), set: &set, share: &background.share, rows };
                    (
                        averaged_kernel(machine, &over, self.along(&values), &whole.to_rows),
                        averaged_prior(machine, &over, &whole.within),
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
        let transforms = self.model.transforms().into();
        Ok(PartialDependence { inputs, points, mean, std, background: background.rows.clone(), transforms })
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

    /// Encoded values of some columns on the scale of the fit, and means over the background in all others.
    fn standardised_points(
        &self,
        columns: &[usize],
        encoded: &[Vec<f64>],
        background: &Background,
    ) -> Result<Mat<f64>> {
        let mut set = Mat::from_fn(encoded.len(), self.rows.ncols(), |_, d| self.rows[(0, d)]);
        for (i, values) in encoded.iter().enumerate() {
            crate::data::expect_count("a point", "values", values.len(), columns.len())?;
            columns.iter().zip(values).for_each(|(&d, value)| set[(i, d)] = *value);
        }
        let mut set = self.model.standardised_inputs(set.as_ref())?;
        for d in (0..set.ncols()).filter(|d| !columns.contains(d)) {
            set.col_as_slice_mut(d).fill(dot(&background.share, background.standardised.col_as_slice(d)));
        }
        Ok(set)
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

/// Some inputs set to each row of a table of standardised values, which has means in all other columns.
struct Set<'a> {
    inputs: &'a [usize],
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
            let own = set.columns.iter().map(|&d| frequency(d, m) * set.values[(v, d)]);
            let angle = basis.offsets[m] + own.sum::<f64>();
            out[(m, v)] = basis.amplitude * (angle.cos() * cosine - angle.sin() * sine);
        }
    }
    for (i, &link) in basis.links.iter().enumerate() {
        for v in 0..set.values.nrows() {
            out[(basis.cosines() + i, v)] = basis.link_factor() * set.values[(v, link)];
        }
    }
    out.row_mut(terms - 1).fill(1.0);
    out
}

/// The background of a kernel, and what is set in it.
struct Averaging<'a> {
    metrics: [Metric; 2],
    set: &'a Set<'a>,
    share: &'a [f64],
    rows: Rows<'a>,
}

impl Averaging<'_> {
    /// What each family has on average over the background along the inputs that are not set, from a row to which the
    /// whole distances are known.
    fn averages(&self, whole: &Distances, (rows, n): (&Rows<'_>, usize)) -> [f64; 2] {
        let whole = whole.by_metric();
        std::array::from_fn(|k| {
            let own = self.set_distances(k, &self.rows, (rows, n));
            let mut rest: Vec<f64> =
                whole[k].col_as_slice(n).iter().zip(&own).map(|(whole, own)| whole - own).collect();
            self.metrics[k].family.decay(&mut rest);
            dot(self.share, &rest)
        })
    }

    /// Distances of a family along what is set, from some rows to one row.
    fn set_distances(&self, family: usize, from: &Rows<'_>, to: (&Rows<'_>, usize)) -> Vec<f64> {
        let mut out = vec![0.0; from.count()];
        self.set.inputs.iter().for_each(|&input| from.add(input, &self.metrics[family], 0, to, &mut out));
        out
    }
}

/// κ from each training row to the set rows, averaged over the background.
fn averaged_kernel(machine: &KernelMachine, over: &Averaging<'_>, points: Rows<'_>, whole: &Distances) -> Mat<f64> {
    let (kernel, centres) = (&machine.kernel, machine.inputs.as_ref());
    let (along, values) = (points.of_other(centres), over.set.values);
    let mut out = multiply(centres.as_ref(), values.as_ref().transpose(), Threads::current());
    let one_centre = |n: usize| {
        go_on();
        // Both families are products of what is set and the rest.
        let rest = over.averages(whole, (&along, n));
        let [rbf, laplace_l1]: [Vec<f64>; 2] = std::array::from_fn(|k| {
            let mut own = over.set_distances(k, &points, (&along, n));
            over.metrics[k].family.decay(&mut own);
            own.iter().map(|own| rest[k] * own).collect()
        });
        (rbf, laplace_l1)
    };
    let families: Vec<(Vec<f64>, Vec<f64>)> = (0..centres.nrows()).into_par_iter().map(one_centre).collect();
    for v in 0..values.nrows() {
        go_on();
        for (product, (rbf, laplace_l1)) in out.col_as_slice_mut(v).iter_mut().zip(&families) {
            *product = kernel.sum(*product, rbf[v], laplace_l1[v]);
        }
    }
    out
}

/// Prior variance of a partial dependence: κ between all pairs of background rows set to the same point, where
/// what is set makes no difference but in the links.
fn averaged_prior(machine: &KernelMachine, over: &Averaging<'_>, whole: &Distances) -> Vec<f64> {
    let (kernel, values) = (&machine.kernel, over.set.values);
    let one_row = |z: usize| {
        let [rbf, laplace_l1] = over.averages(whole, (&over.rows, z));
        kernel.sum(0.0, rbf, laplace_l1)
    };
    let each: Vec<f64> = (0..over.share.len()).into_par_iter().map(one_row).collect();
    let curved = dot(over.share, &each);
    let straight = |v: usize| values.row(v).iter().map(|value| value * value).sum::<f64>();
    let unit = kernel.linear / values.ncols() as f64;
    (0..values.nrows()).map(|v| curved + unit * straight(v)).collect()
}
