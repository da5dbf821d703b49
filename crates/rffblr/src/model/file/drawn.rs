//! Drawn features in a file. Large tables are packed: little-endian numbers in base64.

use super::Table;
use super::check::{all_finite, all_positive, check_kernel, each_task_once};
use crate::drawn::{basis_of_kept, basis_of_pairs, precision_of_pairs};
use crate::kernel::Kernel;
use crate::linalg::{Cholesky, Mat, Threads};
use crate::model::{Drawn, DrawnMember, Inverse, Posterior, Shape, Waves};
use crate::packed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredDrawn {
    groups: Vec<StoredDrawnGroup>,
}

/// Tasks that share a kernel; lists and columns are in their order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredDrawnGroup {
    tasks: Vec<usize>,
    kernel: Kernel,
    /// Pairs of the RBF family and of the Laplace family.
    pairs: [usize; 2],
    /// D×P frequencies for standardised inputs, column after column: doubles. With free precisions those of the cosines and
    /// sines that stayed.
    frequencies: String,
    /// What stayed with free precisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<StoredKept>,
    /// Weights of cosine and sine of each pair, of the links, and the bias.
    mean: Table,
    noise: Vec<f64>,
    amplitude: Vec<f64>,
    factors: Vec<StoredFactor>,
}

/// Features with a precision of their own.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKept {
    /// Which of the cosine and sine of each pair and the links, rising.
    columns: Vec<usize>,
    /// Prior precision of the weight of each.
    precision: Vec<f64>,
}

/// The Cholesky factor of I + ΨᵀΨ/σ² that some of the group's tasks have.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredFactor {
    tasks: Vec<usize>,
    /// Lower triangle, column after column: single precision.
    lower: String,
}

impl From<&Drawn> for StoredDrawn {
    fn from(drawn: &Drawn) -> StoredDrawn {
        StoredDrawn { groups: drawn.members().iter().map(StoredDrawnGroup::from).collect() }
    }
}

impl From<&DrawnMember> for StoredDrawnGroup {
    fn from(member: &DrawnMember) -> StoredDrawnGroup {
        let DrawnMember { tasks, kernel, pairs, kept, waves: Waves { basis, posterior } } = member;
        // Cosine and sine of a pair have the same frequencies.
        let directions = (0..basis.cosines()).step_by(if kept.is_some() { 1 } else { 2 });
        let frequencies = directions.flat_map(|m| basis.directions.col_as_slice(m).iter().copied());
        let factor = |shape: &Shape| {
            let Inverse::Factor(factor) = &shape.inverse else { return None };
            let lower = factor.lower();
            let numbers = (0..lower.ncols()).flat_map(|j| lower.col_as_slice(j)[j..].iter().copied());
            Some(StoredFactor { tasks: shape.tasks.clone(), lower: packed::singles(numbers) })
        };
        StoredDrawnGroup {
            tasks: tasks.clone(),
            kernel: kernel.clone(),
            pairs: *pairs,
            frequencies: packed::doubles(frequencies),
            kept: kept.as_ref().map(|columns| StoredKept {
                columns: columns.clone(),
                precision: posterior.precision[..columns.len()].to_vec(),
            }),
            mean: (&posterior.mean).into(),
            noise: posterior.tau.iter().map(|tau| tau.recip()).collect(),
            amplitude: posterior.unit.clone(),
            factors: posterior.shapes.iter().filter_map(factor).collect(),
        }
    }
}

impl StoredDrawn {
    pub(super) fn read(self, inputs: usize, tasks: usize) -> Result<Drawn, String> {
        each_task_once("function.drawn.groups", self.groups.iter().map(|group| group.tasks.as_slice()), tasks)?;
        let members = self.groups.into_iter().map(|group| group.read(inputs)).collect::<Result<_, String>>()?;
        Ok(Drawn::new(members))
    }
}

impl StoredDrawnGroup {
    fn read(self, inputs: usize) -> Result<DrawnMember, String> {
        let at = |field: &str| format!("function.drawn.groups.{field}");
        let tasks = self.tasks.len();
        check_kernel(&at("kernel"), &self.kernel, inputs)?;
        all_positive(&at("noise"), &self.noise, tasks)?;
        all_positive(&at("amplitude"), &self.amplitude, tasks)?;
        let wrong = |field: &str| format!("`{}` is not a table of the size that the rest implies", at(field));
        let count = self.pairs[0].checked_add(self.pairs[1]).filter(|_| self.pairs.iter().all(|p| *p > 0));
        let count = count.ok_or_else(|| wrong("pairs"))?;
        let frequencies = packed::from_doubles(&self.frequencies).ok_or_else(|| wrong("frequencies"))?;
        let columns = count.checked_mul(2).and_then(|cosines| cosines.checked_add(inputs));
        let columns = columns.ok_or_else(|| wrong("pairs"))?;
        if let Some(StoredKept { columns: kept, precision }) = &self.kept {
            if !kept.is_sorted_by(|a, b| a < b) || kept.last().is_some_and(|last| *last >= columns) {
                return Err(wrong("kept.columns"));
            }
            all_positive(&at("kept.precision"), precision, kept.len())?;
        }
        let cosines = self.kept.as_ref().map_or(count, |kept| kept.columns.partition_point(|m| *m < 2 * count));
        if Some(frequencies.len()) != inputs.checked_mul(cosines) {
            return Err(wrong("frequencies"));
        }
        all_finite(&at("frequencies"), &frequencies)?;
        let (basis, precision, kept) = match self.kept {
            None => {
                let basis = basis_of_pairs(inputs, count, |d, p| frequencies[p * inputs + d]);
                (basis, precision_of_pairs(&self.kernel, self.pairs), None)
            }
            Some(StoredKept { columns, mut precision }) => {
                precision.push(1.0);
                (basis_of_kept(inputs, count, &columns, &frequencies), precision, Some(columns))
            }
        };
        let columns = precision.len();
        let mean = self.mean.read(&at("mean"), columns, tasks)?;
        each_task_once(&at("factors"), self.factors.iter().map(|factor| factor.tasks.as_slice()), tasks)?;
        let mut shapes = Vec::new();
        for factor in self.factors {
            let values = packed::from_singles(&factor.lower);
            let values = values.filter(|values| values.len() == columns * (columns + 1) / 2);
            let values = values.ok_or_else(|| wrong("factors.lower"))?;
            all_finite(&at("factors.lower"), &values)?;
            let (mut lower, mut rest) = (Mat::zeros(columns, columns), values.as_slice());
            for j in 0..columns {
                let (column, others) = rest.split_at(columns - j);
                if column[0] <= 0.0 {
                    return Err(wrong("factors.lower"));
                }
                lower.col_as_slice_mut(j)[j..].copy_from_slice(column);
                rest = others;
            }
            let inverse = Inverse::Factor(Cholesky::from_lower(lower, Threads::current()));
            shapes.push(Shape { tasks: factor.tasks, inverse });
        }
        let tau = self.noise.iter().map(|noise| noise.recip()).collect();
        let posterior = Posterior { mean, precision, tau, unit: self.amplitude, shapes };
        let waves = Waves { basis, posterior };
        Ok(DrawnMember { tasks: self.tasks, kernel: self.kernel, pairs: self.pairs, kept, waves })
    }
}
