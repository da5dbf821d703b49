//! The model file: one JSON object that holds everything prediction needs, a checksum of it, and a few probe rows with
//! their predictions, so that the file can be verified. Loading executes nothing.

mod check;
mod checksum;
mod drawn;

use super::cosines::Cosines;
use super::posterior::{Inverse, Shape};
use super::sinusoids::Sinusoids;
use super::waves::Waves;
use super::{ErrorQuantiles, Function, Model, Prediction};
use crate::data::{Encoder, SetAside, Standardiser, back};
use crate::error::{Error, Result};
use crate::files::read_text_within;
use crate::fourier::Scales;
use crate::kernel::{Kernel, Machines, Member, Shared};
use crate::linalg::Mat;
use crate::memory::require;
use crate::metrics::Check;
use crate::settings::Settings;
use crate::steps::{Iteration, Stop};
use crate::transform::Transform;
use crate::vb::Gamma;
use check::all_finite;
use checksum::checksum;
use drawn::StoredDrawn;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What the `format` field says.
pub const FORMAT: &str = "rffblr-model";
/// The version this program writes and reads.
pub const FORMAT_VERSION: u64 = 1;

/// What the `writer` field says.
pub(super) const WRITER: &str = concat!("rffblr ", env!("CARGO_PKG_VERSION"));

/// Probe rows kept in a file.
const PROBES: usize = 5;
/// Largest accepted difference between stored and recomputed probes, in units of the predictive deviation. Machines
/// differ in the last bits of a sum, not more.
const PROBE_TOLERANCE: f64 = 1e-8;

/// The outcome of [`Model::verify`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verification {
    /// Probe cells compared.
    pub cells: usize,
    /// Largest difference found, in units of the predictive standard deviation.
    pub largest_difference: f64,
}

impl Verification {
    /// Whether the model still computes what was stored.
    pub fn holds(&self) -> bool {
        self.largest_difference <= PROBE_TOLERANCE
    }
}

/// A matrix, column after column.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl From<&Mat<f64>> for Table {
    fn from(m: &Mat<f64>) -> Self {
        let values = (0..m.ncols()).flat_map(|j| m.col_as_slice(j)).copied().collect();
        Table { rows: m.nrows(), columns: m.ncols(), values }
    }
}

impl Table {
    fn read(&self, what: &str, rows: usize, columns: usize) -> std::result::Result<Mat<f64>, String> {
        let cells = rows.checked_mul(columns);
        if self.rows != rows || self.columns != columns || Some(self.values.len()) != cells {
            return Err(format!(
                "`{what}` is {}×{} with {} numbers, expected {rows}×{columns}",
                self.rows,
                self.columns,
                self.values.len()
            ));
        }
        all_finite(what, &self.values)?;
        Ok(Mat::from_fn(rows, columns, |i, j| self.values[j * rows + i]))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    names: Vec<String>,
    mean: Vec<f64>,
    scale: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredShape {
    tasks: Vec<usize>,
    values: Vec<f64>,
    vectors: Table,
}

/// A weighted sum of cosines and direct links.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredWaves {
    /// D×K, for standardised inputs.
    frequencies: Table,
    phases: Vec<f64>,
    amplitude: f64,
    links: Vec<usize>,
    /// Weights of the cosines, of the links, and the bias.
    mean: Table,
    precision: Vec<f64>,
    shapes: Vec<StoredShape>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSinusoids {
    waves: StoredWaves,
    noise: Vec<Gamma>,
    origin: Vec<Shared>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCosines {
    waves: StoredWaves,
    noise: Vec<Gamma>,
    scales: Scales,
    drawn: usize,
}

/// What the function is made of.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFunction {
    Kernel(StoredMachine),
    Sinusoids(StoredSinusoids),
    Cosines(StoredCosines),
    Drawn(StoredDrawn),
}

/// A kernel machine: the standardised training inputs, and hyper-parameters and coefficients of each group of tasks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMachine {
    rows: Table,
    root_weights: Vec<f64>,
    groups: Vec<StoredGroup>,
}

/// Tasks that share a kernel; lists and columns are in their order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredGroup {
    tasks: Vec<usize>,
    kernel: Kernel,
    /// Rows in which each task was observed; null means all.
    observed: Vec<Option<Vec<usize>>>,
    noise: Vec<f64>,
    amplitude: Vec<f64>,
    /// κ of each task, if variances come from a sample of the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    variance_correction: Vec<f64>,
    coefficients: Table,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Training {
    rows: usize,
    /// Empty if the data came in blocks.
    sha256: String,
    /// Of the sums over the rows, unless the rows themselves are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows_sha256: Option<String>,
    /// The same of the inputs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inputs_sha256: Option<String>,
    /// What row weights meant, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<String>,
    /// Target cells that were not learned from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set_aside: Vec<SetAside>,
    stop: Stop,
    trace: Vec<Iteration>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Probes {
    inputs: Table,
    mean: Table,
    std: Table,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: String,
    format_version: u64,
    writer: String,
    settings: Settings,
    inputs: Columns,
    targets: Columns,
    /// One for each target, null for one that is learned as it is; absent if all are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    transforms: Vec<Option<Transform>>,
    function: StoredFunction,
    training: Training,
    probes: Probes,
    /// Absent if the model was fitted to numbers rather than to a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoder: Option<Encoder>,
    /// Absent if the model was not checked by refits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<Check>,
    /// Absent if intervals are those of the normal distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_quantiles: Option<ErrorQuantiles>,
}

impl Model {
    /// Writes the model, whole or not at all; an existing file is replaced.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, text) = (path.as_ref(), self.to_json()?);
        crate::files::write_whole(path, true, |file| file.write_all(text.as_bytes())).map_err(Error::io(path))
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        parse(&read(path)?).and_then(model_of).map_err(|problem| in_file(path, problem))
    }

    /// Recomputes the stored probe rows of a file and reports the largest difference. `load` has already checked that
    /// the file is undamaged; this checks that this program on this machine still computes the same function.
    pub fn verify(path: impl AsRef<Path>) -> Result<Verification> {
        let path = path.as_ref();
        let wrong = |problem: String| in_file(path, problem);
        let stored = parse(&read(path)?).map_err(wrong)?;
        let probes =
            Table::read(&stored.probes.inputs, "probes.inputs", stored.probes.inputs.rows, stored.inputs.names.len());
        let probes = probes.map_err(wrong)?;
        let shape = (probes.nrows(), stored.targets.names.len());
        let mean = stored.probes.mean.read("probes.mean", shape.0, shape.1).map_err(wrong)?;
        let std = stored.probes.std.read("probes.std", shape.0, shape.1).map_err(wrong)?;
        let model = model_of(stored).map_err(wrong)?;
        let now = model.predict(probes.as_ref())?;
        let mut largest = 0.0f64;
        for c in 0..shape.1 {
            for i in 0..shape.0 {
                let unit = std[(i, c)].max(f64::MIN_POSITIVE);
                let difference = (now.mean[(i, c)] - mean[(i, c)]).abs().max((now.std[(i, c)] - std[(i, c)]).abs());
                // A NaN must not pass for agreement.
                let share = difference / unit;
                largest = if share.is_nan() { f64::INFINITY } else { largest.max(share) };
            }
        }
        Ok(Verification { cells: shape.0 * shape.1, largest_difference: largest })
    }

    /// The file's text.
    pub fn to_json(&self) -> Result<String> {
        Ok(file_value(self)?.to_string())
    }

    /// A model from a file's text.
    pub fn from_json(text: &str) -> Result<Model> {
        parse(text).and_then(model_of).map_err(|problem| Error::ModelFile { path: None, problem })
    }

    /// Points drawn around the training data, not rows of it: a model file shows nobody's record.
    fn probe_rows(&self) -> Mat<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(u64::MAX);
        Mat::from_fn(PROBES, self.input_names.len(), |_, d| {
            let z: f64 = StandardNormal.sample(&mut rng);
            back(self.input_scale.mean[d], self.input_scale.scale[d], z)
        })
    }

    fn stored(&self, probes: Probes) -> Stored {
        let columns = |names: &[String], scale: &Standardiser| Columns {
            names: names.to_vec(),
            mean: scale.mean.clone(),
            scale: scale.scale.clone(),
        };
        Stored {
            format: FORMAT.into(),
            format_version: FORMAT_VERSION,
            writer: WRITER.into(),
            settings: self.settings.clone(),
            inputs: columns(&self.input_names, &self.input_scale),
            targets: columns(&self.target_names, &self.target_scale),
            transforms: match self.transforms.iter().all(Option::is_none) {
                true => Vec::new(),
                false => self.transforms.to_vec(),
            },
            function: match &self.function {
                Function::Kernel(machines) => StoredFunction::Kernel(machines.into()),
                Function::Sinusoids(sinusoids) => {
                    let Sinusoids { waves, noise, origin } = sinusoids.as_ref();
                    let (noise, origin) = (noise.clone(), origin.clone());
                    StoredFunction::Sinusoids(StoredSinusoids { waves: waves.into(), noise, origin })
                }
                Function::Cosines(cosines) => {
                    let Cosines { waves, scales, noise, drawn } = cosines.as_ref();
                    let (noise, scales, drawn) = (noise.clone(), scales.clone(), *drawn);
                    StoredFunction::Cosines(StoredCosines { waves: waves.into(), noise, scales, drawn })
                }
                Function::Drawn(drawn) => StoredFunction::Drawn(drawn.as_ref().into()),
            },
            training: Training {
                rows: self.rows,
                sha256: self.fingerprint.clone(),
                rows_sha256: self.row_fingerprints.as_ref().and_then(|known| known.whole.clone()),
                inputs_sha256: self.row_fingerprints.as_ref().map(|known| known.inputs.clone()),
                weights: self.weighting.map(|weights| weights.meaning().into()),
                set_aside: self.set_aside.clone(),
                stop: self.stop,
                trace: self.trace.clone(),
            },
            probes,
            encoder: self.encoder.clone(),
            check: self.check.clone(),
            error_quantiles: self.error_quantiles.as_deref().cloned(),
        }
    }
}

/// What the file of a model holds.
pub fn file_value(model: &Model) -> Result<Value> {
    let probes = model.probe_rows();
    let Prediction { mean, std, .. } = model.predict(probes.as_ref())?;
    let stored = model.stored(Probes { inputs: (&probes).into(), mean: (&mean).into(), std: (&std).into() });
    let wrong = |problem: serde_json::Error| Error::Json { what: "the model", problem: problem.to_string() };
    let mut value = serde_json::to_value(stored).map_err(wrong)?;
    let sum = checksum(&value);
    if let Value::Object(fields) = &mut value {
        fields.insert("sha256".into(), Value::String(sum));
    }
    Ok(value)
}

impl From<&Waves> for StoredWaves {
    fn from(waves: &Waves) -> Self {
        let shape = |shape: &Shape| {
            let Inverse::Spectral(eigen) = &shape.inverse else { return None };
            let (values, vectors) = (eigen.values.clone(), (&eigen.vectors).into());
            Some(StoredShape { tasks: shape.tasks.clone(), values, vectors })
        };
        StoredWaves {
            frequencies: (&waves.basis.directions).into(),
            phases: waves.basis.offsets.clone(),
            amplitude: waves.basis.amplitude,
            links: waves.basis.links.clone(),
            mean: (&waves.posterior.mean).into(),
            precision: waves.posterior.precision.clone(),
            shapes: waves.posterior.shapes.iter().filter_map(shape).collect(),
        }
    }
}

impl From<&Machines> for StoredMachine {
    fn from(machines: &Machines) -> Self {
        let group = |Member { tasks, machine }: &Member| StoredGroup {
            tasks: tasks.clone(),
            kernel: machine.kernel.clone(),
            observed: machine.observed.clone(),
            noise: machine.noise.clone(),
            amplitude: machine.amplitude.clone(),
            variance_correction: machine.correction.clone(),
            coefficients: (&machine.coefficients).into(),
        };
        StoredMachine {
            rows: machines.inputs().as_ref().into(),
            root_weights: machines.root().to_vec(),
            groups: machines.members().iter().map(group).collect(),
        }
    }
}

/// No model has a larger file: most of it are the rows of an exact fit.
const MOST_BYTES: u64 = 4 << 30;
/// Memory that a file takes while it is read, for each of its bytes: the text, its values, the model.
const BYTES_EACH: f64 = 5.0;

fn read(path: &Path) -> Result<String> {
    // What does not even begin as one is not read to its end, which there may not be.
    let mut start = Vec::new();
    let mut file = File::open(path).map_err(Error::io(path))?;
    file.by_ref().take(512).read_to_end(&mut start).map_err(Error::io(path))?;
    if start.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(in_file(path, NO_OBJECT.to_owned()));
    }
    let bytes = file.metadata().map_err(Error::io(path))?.len();
    let what = format!("the model file {}", path.display());
    require(BYTES_EACH * bytes.min(MOST_BYTES) as f64, what, "end other programs, or fit a model to fewer rows")?;
    read_text_within(start.as_slice().chain(file), MOST_BYTES).map_err(Error::io(path))
}

const NO_OBJECT: &str = "not a model file: the JSON is not an object; name a file of a saved model";

fn in_file(path: &Path, problem: String) -> Error {
    Error::ModelFile { path: Some(path.to_owned()), problem }
}

/// A model file with the checksum that belongs to what it says; `None` if it is no JSON object.
pub fn with_checksum(text: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    value.as_object_mut()?.remove("sha256");
    let sum = checksum(&value);
    value.as_object_mut()?.insert("sha256".into(), sum.into());
    serde_json::to_string(&value).ok()
}

/// The model, if what is stored makes one. An error here is not damage to the file: the checksum has matched.
fn model_of(stored: Stored) -> std::result::Result<Model, String> {
    let model = Model::try_from(stored).and_then(|model| computes(&model).map(|()| model));
    model.map_err(|problem| format!("{problem}; fit the model again"))
}

/// An error if numbers that are finite one by one give predictions that are not, for average inputs and for others that
/// are three standard deviations from them.
fn computes(model: &Model) -> std::result::Result<(), String> {
    let (mean, std) = (&model.input_scale.mean, model.input_std());
    let inputs = Mat::from_fn(3, mean.len(), |row, d| back(mean[d], std[d], 3.0 * (row as f64 - 1.0)));
    let predicted = model.predict(inputs.as_ref()).map_err(|problem| problem.to_string())?;
    let finite = |table: &Mat<f64>| (0..table.ncols()).all(|c| table.col_as_slice(c).iter().all(|v| v.is_finite()));
    match finite(&predicted.mean) && finite(&predicted.std) {
        true => Ok(()),
        false => Err("its numbers give predictions that are not finite".into()),
    }
}

fn parse(text: &str) -> std::result::Result<Stored, String> {
    let mut value: Value = serde_json::from_str(text).map_err(|e| match e.classify() {
        Category::Eof => format!("the file ends too early ({e}); take another copy, or fit the model again"),
        _ if e.to_string().contains("recursion limit") => {
            format!("its JSON is nested deeper than that of any model ({e}); name a file of a saved model")
        }
        _ => format!("not a model file: it is not JSON ({e}); name a file of a saved model, or take an undamaged copy"),
    })?;
    let fields = value.as_object_mut().ok_or(NO_OBJECT)?;
    if fields.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return Err(format!("not a model file: `format` is not \"{FORMAT}\"; name a file of a saved model"));
    }
    match fields.get("format_version").and_then(Value::as_u64) {
        Some(FORMAT_VERSION) => {}
        Some(version) if version > FORMAT_VERSION => {
            return Err(format!(
                "written by a newer program (format {version}, this one reads {FORMAT_VERSION}); upgrade rffblr"
            ));
        }
        _ => return Err("`format_version` is missing or not a positive whole number; fit the model again".into()),
    }
    let sum = match fields.remove("sha256") {
        Some(Value::String(sum)) => sum,
        _ => return Err("the checksum `sha256` is missing; fit the model again, or take an undamaged copy".into()),
    };
    if checksum(&value) != sum {
        return Err(
            "the checksum does not match: the file is damaged or was edited; take another copy, or fit the model again"
                .into(),
        );
    }
    serde_path_to_error::deserialize(value).map_err(|e| match e.path().to_string().as_str() {
        "." => format!("not a model of this format: {}; fit the model again", e.inner()),
        field => format!("not a model of this format: `{field}`: {}; fit the model again", e.inner()),
    })
}
