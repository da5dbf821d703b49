//! From what a file says to a model: everything later code relies on is checked here.

use super::{Columns, Stored, StoredCosines, StoredFunction, StoredGroup, StoredMachine, StoredSinusoids, StoredWaves};
use crate::data::{Standardiser, Weights};
use crate::fourier::Basis;
use crate::kernel::MOST_ROWS;
use crate::kernel::{Kernel, KernelMachine, Machines, Member, TaskLevels, VARIANCE_ROWS};
use crate::linalg::Mat;
use crate::model::cosines::Cosines;
use crate::model::posterior::{Eigen, Inverse, Posterior, Shape};
use crate::model::sinusoids::Sinusoids;
use crate::model::waves::Waves;
use crate::model::{Function, Model, RowFingerprints};
use crate::transform::Transform;
use crate::vb::Gamma;
use std::sync::Arc;

pub(super) fn all_finite(what: &str, values: &[f64]) -> std::result::Result<(), String> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(format!("`{what}` has a number that is not finite (number {})", i + 1)),
    }
}

pub(super) fn all_positive(what: &str, values: &[f64], count: usize) -> std::result::Result<(), String> {
    if values.len() != count {
        return Err(format!("`{what}` has {} numbers, expected {count}", values.len()));
    }
    all_finite(what, values)?;
    match values.iter().position(|v| *v <= 0.0) {
        None => Ok(()),
        Some(i) => Err(format!("`{what}` has a number that is not positive (number {})", i + 1)),
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
        let transforms = match stored.transforms.is_empty() {
            true => vec![None; tasks],
            false => stored.transforms,
        };
        if transforms.len() != tasks {
            return Err(format!("`transforms` has {} entries, expected {tasks}", transforms.len()));
        }
        transforms.iter().flatten().try_for_each(Transform::check)?;
        let rows = stored.training.rows;
        let function = match stored.function {
            StoredFunction::Kernel(machine) => Function::Kernel(machine.read(rows, inputs, tasks)?),
            StoredFunction::Sinusoids(sinusoids) => Function::Sinusoids(Box::new(sinusoids.read(inputs, tasks)?)),
            StoredFunction::Cosines(cosines) => Function::Cosines(Box::new(cosines.read(inputs, tasks)?)),
            StoredFunction::Drawn(drawn) => Function::Drawn(Box::new(drawn.read(inputs, tasks)?)),
        };
        stored.settings.validate().map_err(|e| e.to_string())?;
        if !function.is_of(&stored.settings.form) {
            return Err("`settings.form` and `function` are of different forms".into());
        }
        if let Some(encoder) = &stored.encoder {
            encoder.check(&input_names, &target_names).map_err(|problem| format!("`encoder`: {problem}"))?;
        }
        let is_sum = |text: &&String| text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let sums = [Some(&stored.training.sha256), stored.training.inputs_sha256.as_ref()];
        // Empty: the rows came in blocks and were never held as a whole.
        if !sums.iter().flatten().all(|text| text.is_empty() || is_sum(text)) {
            return Err("`training.sha256` and `training.inputs_sha256` need 64 hexadecimal digits".into());
        }
        let meaning = |word: &String| Weights::named(word).ok_or(format!("`training.weights` is \"{word}\""));
        let weighting = stored.training.weights.as_ref().map(meaning).transpose()?;
        if stored.training.set_aside.iter().any(|cell| cell.row >= rows || cell.task >= tasks) {
            return Err("`training.set_aside` names a row or target that does not exist".into());
        }
        if stored.check.as_ref().is_some_and(|check| !check.fits(tasks)) {
            return Err(format!("`check` does not have scores of {tasks} targets"));
        }
        if let Some(quantiles) = &stored.error_quantiles {
            quantiles.check(tasks)?;
        }
        Ok(Model {
            settings: stored.settings,
            input_names,
            target_names,
            input_scale,
            target_scale,
            transforms: transforms.into(),
            function,
            trace: stored.training.trace,
            stop: stored.training.stop,
            rows,
            fingerprint: stored.training.sha256,
            row_fingerprints: stored
                .training
                .inputs_sha256
                .map(|inputs| RowFingerprints { whole: stored.training.rows_sha256, inputs }),
            sample: None,
            weighting,
            set_aside: stored.training.set_aside,
            encoder: stored.encoder,
            check: stored.check,
            error_quantiles: stored.error_quantiles.map(Arc::new),
            writer: stored.writer,
        })
    }
}

impl StoredWaves {
    /// The sum with the noise precision of each task and the unit of its covariance; `what` is where it stands.
    fn read(self, what: &str, inputs: usize, tau: Vec<f64>, unit: Vec<f64>) -> std::result::Result<Waves, String> {
        let at = |field: &str| format!("{what}.{field}");
        let tasks = tau.len();
        all_finite(&at("phases"), &self.phases)?;
        all_positive(&at("amplitude"), &[self.amplitude], 1)?;
        if self.links.iter().any(|&d| d >= inputs) || !self.links.is_sorted_by(|a, b| a < b) {
            return Err(format!("`{what}.links` does not name inputs in rising order"));
        }
        let basis = Basis {
            directions: self.frequencies.read(&at("frequencies"), inputs, self.phases.len())?,
            offsets: self.phases,
            amplitude: self.amplitude,
            links: self.links,
        };
        let k = basis.columns() + 1;
        all_positive(&at("precision"), &self.precision, k)?;
        each_task_once(&at("shapes"), self.shapes.iter().map(|shape| shape.tasks.as_slice()), tasks)?;
        let mut shapes = Vec::new();
        for shape in self.shapes {
            all_finite(&at("shapes.values"), &shape.values)?;
            if shape.values.len() > k || shape.values.iter().any(|l| *l < 0.0) {
                return Err(format!("`{what}.shapes` has more eigenvalues than terms, or a negative one"));
            }
            let vectors = shape.vectors.read(&at("shapes.vectors"), k, shape.values.len())?;
            let inverse = Inverse::Spectral(Eigen { vectors, values: shape.values });
            shapes.push(Shape { tasks: shape.tasks, inverse });
        }
        let mean = self.mean.read(&at("mean"), k, tasks)?;
        Ok(Waves { basis, posterior: Posterior { mean, precision: self.precision, tau, unit, shapes } })
    }
}

/// E[1/τ] of each task.
fn noise_variances(what: &str, noise: &[Gamma], tasks: usize) -> std::result::Result<Vec<f64>, String> {
    let numbers: Vec<f64> = noise.iter().flat_map(|g| [g.shape, g.rate]).collect();
    all_positive(what, &numbers, 2 * tasks)?;
    let variances: Vec<f64> = noise.iter().map(|noise| noise.mean_inverse()).collect();
    all_positive(what, &variances, tasks)?;
    Ok(variances)
}

impl StoredSinusoids {
    fn read(self, inputs: usize, tasks: usize) -> std::result::Result<Sinusoids, String> {
        let unit = noise_variances("function.sinusoids.noise", &self.noise, tasks)?;
        let groups = self.origin.iter().map(|group| group.tasks.as_slice());
        each_task_once("function.sinusoids.origin", groups, tasks)?;
        for group in &self.origin {
            check_kernel("function.sinusoids.origin.kernel", &group.kernel, inputs)?;
            all_positive("function.sinusoids.origin.noise", &[group.noise], 1)?;
        }
        let waves = self.waves.read("function.sinusoids.waves", inputs, vec![1.0; tasks], unit)?;
        Ok(Sinusoids { waves, noise: self.noise, origin: self.origin })
    }
}

impl StoredCosines {
    fn read(self, inputs: usize, tasks: usize) -> std::result::Result<Cosines, String> {
        noise_variances("function.cosines.noise", &self.noise, tasks)?;
        all_positive("function.cosines.scales.bandwidth", &[self.scales.bandwidth], 1)?;
        input_scales("function.cosines.scales.input_scales", &self.scales.input_scales, inputs)?;
        let tau = self.noise.iter().map(|noise| noise.mean()).collect();
        let waves = self.waves.read("function.cosines.waves", inputs, tau, vec![1.0; tasks])?;
        Ok(Cosines { waves, scales: self.scales, noise: self.noise, drawn: self.drawn })
    }
}

impl StoredMachine {
    fn read(self, rows: usize, inputs: usize, tasks: usize) -> std::result::Result<Machines, String> {
        if self.root_weights.len() != rows || !(1..=MOST_ROWS).contains(&rows) {
            let found = self.root_weights.len();
            return Err(format!(
                "`function.kernel` has {found} rows, `training` {rows}; they must be the same, 1 to {MOST_ROWS}"
            ));
        }
        all_finite("function.kernel.root_weights", &self.root_weights)?;
        if self.root_weights.iter().any(|u| *u < 0.0) {
            return Err("`function.kernel.root_weights` has a negative number".into());
        }
        each_task_once("function.kernel.groups", self.groups.iter().map(|group| group.tasks.as_slice()), tasks)?;
        let table = Arc::new(self.rows.read("function.kernel.rows", rows, inputs)?);
        let members = self.groups.into_iter().map(|group| group.read(&table, &self.root_weights));
        Ok(Machines::from_members(members.collect::<std::result::Result<_, String>>()?))
    }
}

impl StoredGroup {
    fn read(self, table: &Arc<Mat<f64>>, root: &[f64]) -> std::result::Result<Member, String> {
        let (rows, tasks) = (table.nrows(), self.tasks.len());
        check_kernel("function.kernel.groups.kernel", &self.kernel, table.ncols())?;
        all_positive("function.kernel.groups.noise", &self.noise, tasks)?;
        all_positive("function.kernel.groups.amplitude", &self.amplitude, tasks)?;
        if self.observed.len() != tasks {
            return Err(format!(
                "`function.kernel.groups.observed` has {} lists, expected {tasks}",
                self.observed.len()
            ));
        }
        for observed in self.observed.iter().flatten() {
            if observed.iter().any(|&row| row >= rows) || !observed.is_sorted_by(|a, b| a < b) {
                return Err("`function.kernel.groups.observed` does not name rows in rising order".into());
            }
        }
        let coefficients = self.coefficients.read("function.kernel.groups.coefficients", rows, tasks)?;
        let correction = self.variance_correction;
        let expected = if rows > VARIANCE_ROWS { tasks } else { 0 };
        if correction.len() != expected || correction.iter().any(|k| !(0.0..=1.0).contains(k)) {
            return Err(format!("`function.kernel.groups.variance_correction` needs {expected} numbers from 0 to 1"));
        }
        let levels = TaskLevels { noise: self.noise, amplitude: self.amplitude, correction };
        let machine =
            KernelMachine::restore(self.kernel, table.clone(), root.to_vec(), self.observed, levels, coefficients);
        Ok(Member { tasks: self.tasks, machine: machine.map_err(|e| e.to_string())? })
    }
}

/// Lists of tasks, none empty and each rising, that together name every task once.
pub(super) fn each_task_once<'a>(
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

fn input_scales(what: &str, values: &[f64], inputs: usize) -> std::result::Result<(), String> {
    all_finite(what, values)?;
    if values.len() != inputs || values.iter().any(|r| *r < 0.0) {
        return Err(format!("`{what}` needs {inputs} numbers, none negative"));
    }
    Ok(())
}

pub(super) fn check_kernel(what: &str, kernel: &Kernel, inputs: usize) -> std::result::Result<(), String> {
    let Kernel { linear, rbf, laplace_l1, input_scales: scales } = kernel;
    all_positive(what, &[*linear, rbf.variance, rbf.bandwidth, laplace_l1.variance, laplace_l1.bandwidth], 5)?;
    input_scales(&format!("{what}.input_scales"), scales, inputs)
}
