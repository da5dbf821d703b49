//! From what a file says to a model: everything later code relies on is checked here.

use super::{Columns, Stored, StoredGroup, StoredMachine, StoredWaves};
use crate::data::{Standardiser, Weights};
use crate::fourier::Basis;
use crate::kernel::{Kernel, KernelMachine, Machines, Member};
use crate::linalg::Mat;
use crate::model::posterior::{Posterior, Shape};
use crate::model::waves::Waves;
use crate::model::{Function, KERNEL_ROWS, Model};
use std::sync::Arc;

pub(super) fn all_finite(what: &str, values: &[f64]) -> std::result::Result<(), String> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(format!("`{what}` has a number that is not finite, the {}th", i + 1)),
    }
}

fn all_positive(what: &str, values: &[f64], count: usize) -> std::result::Result<(), String> {
    if values.len() != count {
        return Err(format!("`{what}` has {} numbers, expected {count}", values.len()));
    }
    all_finite(what, values)?;
    match values.iter().position(|v| *v <= 0.0) {
        None => Ok(()),
        Some(i) => Err(format!("`{what}` has a number that is not positive, the {}th", i + 1)),
    }
}

impl Columns {
    fn read(self, what: &str) -> std::result::Result<(Vec<String>, Standardiser), String> {
        if self.names.is_empty() || self.mean.len() != self.names.len() {
            return Err(format!("`{what}` has {} names and {} means", self.names.len(), self.mean.len()));
        }
        all_finite(what, &self.mean)?;
        all_positive(what, &self.scale, self.names.len())?;
        Ok((self.names, Standardiser { mean: self.mean, scale: self.scale }))
    }
}

impl TryFrom<Stored> for Model {
    type Error = String;

    fn try_from(stored: Stored) -> std::result::Result<Model, String> {
        let (input_names, input_scale) = stored.inputs.read("inputs")?;
        let (target_names, target_scale) = stored.targets.read("targets")?;
        let (inputs, tasks) = (input_names.len(), target_names.len());
        let rows = stored.training.rows;
        let function = match (stored.waves, stored.machine) {
            (Some(waves), None) => Function::Waves(Box::new(waves.read(inputs, tasks)?)),
            (None, Some(machine)) => Function::Kernel(machine.read(rows, inputs, tasks)?),
            _ => return Err("it needs either `features`, `scales`, `noise` and `posterior`, or `machine`".into()),
        };
        stored.settings.validate().map_err(|e| e.to_string())?;
        if let Some(encoder) = &stored.encoder {
            encoder.check(&input_names, &target_names)?;
        }
        let column = stored.encoder.as_ref().and_then(|encoder| encoder.roles().weight.as_ref());
        let weighting = match &stored.training.weights {
            Some(word) => Some(Weights::named(word).ok_or(format!("`training.weights` is \"{word}\""))?),
            None => column.map(|column| column.as_ref().map(|_| ())),
        };
        if stored.check.as_ref().is_some_and(|check| !check.fits(tasks)) {
            return Err(format!("`check` does not have scores of {tasks} targets"));
        }
        Ok(Model {
            settings: stored.settings,
            input_names,
            target_names,
            input_scale,
            target_scale,
            function,
            trace: stored.training.trace,
            stop: stored.training.stop,
            rows,
            fingerprint: stored.training.sha256,
            input_fingerprint: stored.training.inputs_sha256,
            weighting,
            encoder: stored.encoder,
            check: stored.check,
            writer: stored.writer,
        })
    }
}

impl StoredWaves {
    fn read(self, inputs: usize, tasks: usize) -> std::result::Result<Waves, String> {
        let features = self.features;
        let waves = features.offsets.len();
        all_finite("features.offsets", &features.offsets)?;
        all_positive("features.amplitude", &[features.amplitude], 1)?;
        if features.links.iter().any(|&d| d >= inputs) || !features.links.is_sorted_by(|a, b| a < b) {
            return Err("`features.links` does not name inputs in rising order".into());
        }
        let basis = Basis {
            spectrum: features.spectrum,
            directions: features.directions.read("features.directions", inputs, waves)?,
            offsets: features.offsets,
            amplitude: features.amplitude,
            links: features.links,
        };
        let scales = self.scales;
        all_positive("scales.bandwidth", &[scales.bandwidth], 1)?;
        relevance("scales.relevance", &scales.relevance, inputs)?;
        let gammas: Vec<f64> = self.noise.iter().flat_map(|g| [g.shape, g.rate]).collect();
        all_positive("noise", &gammas, 2 * tasks)?;

        let k = basis.columns() + 1;
        all_positive("posterior.precision", &self.posterior.precision, k)?;
        let named = self.posterior.shapes.iter().map(|shape| shape.tasks.as_slice());
        each_task_once("posterior.shapes", named, tasks)?;
        let mut shapes = Vec::new();
        for shape in self.posterior.shapes {
            if shape.values.len() > k || shape.values.iter().any(|l| *l < 0.0) {
                return Err("`posterior.shapes` has more eigenvalues than features, or a negative one".into());
            }
            all_finite("posterior.shapes", &shape.values)?;
            let vectors = shape.vectors.read("posterior.shapes", k, shape.values.len())?;
            shapes.push(Shape { tasks: shape.tasks, vectors, values: shape.values });
        }
        let noise: Vec<f64> = self.noise.iter().map(|noise| noise.mean_inverse()).collect();
        all_positive("noise", &noise, tasks)?;
        let (tau, unit) = match self.posterior.noise_is_unit {
            true => (vec![1.0; tasks], Some(noise)),
            false => (self.noise.iter().map(|noise| noise.mean()).collect(), None),
        };
        let posterior = Posterior {
            mean: self.posterior.mean.read("posterior.mean", k, tasks)?,
            precision: self.posterior.precision,
            tau,
            unit,
            shapes,
        };
        if !self.origin.is_empty() {
            each_task_once("origin", self.origin.iter().map(|group| group.tasks.as_slice()), tasks)?;
        }
        for group in &self.origin {
            check_kernel("origin.kernel", &group.kernel, inputs)?;
            all_positive("origin.noise", &[group.noise], 1)?;
        }
        Ok(Waves { basis, scales, noise: self.noise, posterior, drawn: features.drawn, origin: self.origin })
    }
}

impl StoredMachine {
    fn read(self, rows: usize, inputs: usize, tasks: usize) -> std::result::Result<Machines, String> {
        if self.root_weights.len() != rows || !(1..=KERNEL_ROWS).contains(&rows) {
            let found = self.root_weights.len();
            return Err(format!(
                "`machine` has {found} rows, `training` {rows}; they must be the same, 1 to {KERNEL_ROWS}"
            ));
        }
        all_finite("machine.root_weights", &self.root_weights)?;
        if self.root_weights.iter().any(|u| *u < 0.0) {
            return Err("`machine.root_weights` has a negative number".into());
        }
        each_task_once("machine.groups", self.groups.iter().map(|group| group.tasks.as_slice()), tasks)?;
        let table = Arc::new(self.rows.read("machine.rows", rows, inputs)?);
        let members = self.groups.into_iter().map(|group| group.read(&table, &self.root_weights));
        Ok(Machines::from_members(members.collect::<std::result::Result<_, String>>()?))
    }
}

impl StoredGroup {
    fn read(self, table: &Arc<Mat<f64>>, root: &[f64]) -> std::result::Result<Member, String> {
        let (rows, tasks) = (table.nrows(), self.tasks.len());
        check_kernel("machine.groups.kernel", &self.kernel, table.ncols())?;
        all_positive("machine.groups.noise", &self.noise, tasks)?;
        all_positive("machine.groups.amplitude", &self.amplitude, tasks)?;
        if self.observed.len() != tasks {
            return Err(format!("`machine.groups.observed` has {} lists, expected {tasks}", self.observed.len()));
        }
        for observed in self.observed.iter().flatten() {
            if observed.iter().any(|&row| row >= rows) || !observed.is_sorted_by(|a, b| a < b) {
                return Err("`machine.groups.observed` does not name rows in rising order".into());
            }
        }
        let coefficients = self.coefficients.read("machine.groups.coefficients", rows, tasks)?;
        let spread = (self.noise, self.amplitude);
        let machine =
            KernelMachine::restore(self.kernel, table.clone(), root.to_vec(), self.observed, spread, coefficients);
        Ok(Member { tasks: self.tasks, machine: machine.map_err(|e| e.to_string())? })
    }
}

/// Lists of tasks, none empty and each rising, that together name every task once.
fn each_task_once<'a>(
    what: &str,
    lists: impl Iterator<Item = &'a [usize]>,
    tasks: usize,
) -> std::result::Result<(), String> {
    let mut times = vec![0usize; tasks];
    for list in lists {
        if list.is_empty() {
            return Err(format!("`{what}` has a list of no task"));
        }
        if !list.is_sorted_by(|a, b| a < b) {
            return Err(format!("`{what}` does not name tasks in rising order"));
        }
        for &task in list {
            *times.get_mut(task).ok_or_else(|| format!("`{what}` names a task that does not exist"))? += 1;
        }
    }
    if times.iter().any(|&times| times != 1) {
        return Err(format!("`{what}` does not name every task exactly once"));
    }
    Ok(())
}

fn relevance(what: &str, values: &[f64], inputs: usize) -> std::result::Result<(), String> {
    all_finite(what, values)?;
    if values.len() != inputs || values.iter().any(|r| *r < 0.0) {
        return Err(format!("`{what}` needs {inputs} numbers, none negative"));
    }
    Ok(())
}

fn check_kernel(what: &str, kernel: &Kernel, inputs: usize) -> std::result::Result<(), String> {
    let Kernel { linear, rbf, laplace_l1, relevance: scales } = kernel;
    all_positive(what, &[*linear, rbf.variance, rbf.scale, laplace_l1.variance, laplace_l1.scale], 5)?;
    relevance(&format!("{what}.relevance"), scales, inputs)
}
