//! The fitted model as a Python object that never changes.

use crate::arrays::{Inputs, array, matrix, stacked};
use crate::check;
use crate::errors::Failure;
use crate::explain::{explained_inputs, explainer};
use crate::patience::{at_once, attended, heard, patiently};
use crate::training::{Given, Training, told, weights_of};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rffblr::data::{Dataset, Encoder, MissingInputs, Weights};
use rffblr::explain::VarianceShares;
use rffblr::linalg::{Mat, MatRef};
use rffblr::{Device, Error, Form, Iteration, Observer, Settings, fit_observed};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Rows predicted at once.
const ROWS: usize = 1 << 14;
/// Multiplications of a prediction that is not worth a thread of its own: a few milliseconds.
const SMALL: f64 = 2e7;

/// An array of Python.
type Array<'py> = Bound<'py, PyArray2<f64>>;
/// What a pickle holds of the training data: inputs, targets, weights, rows used, inputs of the others.
type Stored<'py> = (Array<'py>, Array<'py>, Option<(String, Vec<f64>)>, Vec<usize>, Array<'py>);
/// How Python makes an object again: a function and what it is called with.
type Recipe<'py> = (Bound<'py, PyAny>, (String, Option<Stored<'py>>));

/// What is asked for, as messages name it.
const KERNEL_VIEW: &str = "the kernel view";

/// A fitted model and, unless it was loaded from a file, the data it was fitted to.
#[pyclass(frozen, module = "rffblr._rffblr")]
pub struct Model {
    pub model: Arc<rffblr::Model>,
    pub encoder: Encoder,
    pub training: Option<Arc<Training>>,
    /// Relevance of the inputs, from when it was first asked for.
    shares: OnceLock<Arc<VarianceShares>>,
    /// Whether standard deviations were predicted before. A kernel machine from a file factorises a matrix for the first.
    factorised: AtomicBool,
}

/// The rows that explanations compare with, encoded.
#[derive(Clone)]
pub enum Around {
    /// Those of the fit.
    Training(Arc<Training>),
    /// Those that a kernel machine is made of, or that the caller gives; with their weights.
    Rows(Arc<(Mat<f64>, Option<Vec<f64>>)>),
}

impl Around {
    /// Inputs and weights.
    pub fn rows(&self) -> (MatRef<'_, f64>, Option<&[f64]>) {
        match self {
            Around::Training(training) => (training.data.inputs(), training.data.weights()),
            Around::Rows(rows) => (rows.0.as_ref(), rows.1.as_deref()),
        }
    }

    /// The number that the caller knows a row by.
    pub fn number(&self, row: usize) -> usize {
        match self {
            Around::Training(training) => training.rows[row],
            Around::Rows(_) => row,
        }
    }

    /// All rows of the caller, also those that were not learned from.
    pub fn all(&self) -> Mat<f64> {
        match self {
            Around::Training(training) => training.spread(&training.data.inputs().to_owned(), &training.unused),
            Around::Rows(rows) => rows.0.clone(),
        }
    }
}

/// Fits a model; `settings` are names and values as text. The listener gets number, objective, terms and bandwidth of every
/// step and says whether to stop with what there is.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    given: Given<'_>,
    preset: Option<&str>,
    settings: Vec<(String, String)>,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let settings = named(preset, &settings)?;
    let training = Arc::new(given.encode()?);
    let learned = training.clone();
    let fitted = stepwise(py, threads, listener, move |observer| {
        fit_observed(&learned.data, &settings, observer)?.with_encoder(learned.encoder.clone())
    })?;
    let model = fitted.map_err(Failure::from)?;
    Ok(Model {
        encoder: training.encoder.clone(),
        model: Arc::new(model),
        training: Some(training),
        shares: OnceLock::new(),
        factorised: AtomicBool::new(false),
    })
}

/// Runs work whose steps an observer sees; they are told to the listener.
pub fn stepwise<T: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    listener: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(Observer<'_>) -> T + Send + 'static,
) -> PyResult<T> {
    let hear = listener.map(|listener| move |step: Iteration| listener.call1(told_of(&step))?.is_truthy());
    let hear = hear.as_ref().map(|hear| hear as &dyn Fn(Iteration) -> PyResult<bool>);
    patiently(py, threads, hear, move |progress| {
        // Several restarts may report at once.
        let progress = std::sync::Mutex::new(progress);
        work(&|step| {
            let progress = progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if progress.tell(|| step.clone()) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    })
}

/// What a listener gets to know of a step.
pub fn told_of(step: &Iteration) -> (usize, usize, f64, usize, f64) {
    (step.restart, step.number, step.objective, step.active, step.bandwidth)
}

/// Settings from a preset and texts by name.
pub fn named(preset: Option<&str>, settings: &[(String, String)]) -> PyResult<Settings> {
    Ok(Settings::named(preset, settings).map_err(Failure::from)?)
}

impl Model {
    pub fn of(model: rffblr::Model, training: Option<Training>) -> Model {
        let encoder = model.table_encoder().into_owned();
        let training = training.map(Arc::new);
        let (shares, factorised) = (OnceLock::new(), AtomicBool::new(false));
        Model { model: Arc::new(model), encoder, training, shares, factorised }
    }

    /// The same function and training data, with other facts stored beside it, such as a check.
    pub fn replaced_by(&self, model: rffblr::Model) -> Model {
        let (encoder, training) = (self.encoder.clone(), self.training.clone());
        let (shares, factorised) = (self.shares.clone(), AtomicBool::new(false));
        Model { model: Arc::new(model), encoder, training, shares, factorised }
    }

    /// The data it was fitted to, or an error that says what needs them.
    pub fn training(&self, py: Python<'_>, what: &str) -> PyResult<&Arc<Training>> {
        let problem = match &self.training {
            Some(training) if self.is_unchanged(py, training) => return Ok(training),
            Some(_) => "the array given to fit has been changed since; fit the model again, or fit it to a copy",
            None => "a model file does not hold them; fit the model again",
        };
        Err(PyValueError::new_err(format!("{what} needs the training data: {problem}")))
    }

    /// The rows to compare with: those given, those of the fit, or those that the model is made of.
    pub fn around(&self, py: Python<'_>, what: &str, given: Option<&Inputs<'_>>) -> PyResult<Around> {
        if let Some(given) = given {
            let (rows, _) = given.encode(&self.encoder)?;
            return Ok(Around::Rows(Arc::new((rows.into_owned(), None))));
        }
        if self.training.is_some() {
            return Ok(Around::Training(self.training(py, what)?.clone()));
        }
        match (self.model.stored_inputs(), self.model.stored_weights()) {
            (Some(rows), weights) => Ok(Around::Rows(Arc::new((rows, weights)))),
            _ => Err(PyValueError::new_err(format!(
                "{what} needs rows to compare with, and the file of a model of this form ({}) holds none: give some in \
                 explain(X, background=rows) or partial_dependence(inputs, background=rows)",
                self.form()
            ))),
        }
    }

    /// The same if these are all the rows it was fitted to.
    fn whole_training(&self, py: Python<'_>, what: &str) -> PyResult<&Arc<Training>> {
        let training = self.training(py, what)?;
        match training.lent.is_some() || self.model.is_fitted_to(&training.data) == Some(true) {
            true => Ok(training),
            false => Err(PyValueError::new_err(format!(
                "{what} needs all training rows, and of those in files a sample is kept; fit the model to an array or a \
                 frame"
            ))),
        }
    }

    /// What each input has of the variance of the prediction. Computed once for the model's own rows, which do not change.
    pub fn variance_shares(
        &self,
        py: Python<'_>,
        around: &Around,
        own: bool,
        count: usize,
    ) -> PyResult<Arc<VarianceShares>> {
        if let Some(shares) = self.shares.get().filter(|_| own) {
            return Ok(shares.clone());
        }
        let (model, around) = (self.model.clone(), around.clone());
        let found = heard(py, count, move || explainer(&model, &around)?.variance_shares())?;
        let found = Arc::new(found.map_err(Failure::from)?);
        Ok(if own { self.shares.get_or_init(|| found).clone() } else { found })
    }

    /// Tables with a row for each of the inputs, block by block.
    fn by_blocks(
        &self,
        py: Python<'_>,
        inputs: MatRef<'_, f64>,
        (count, uncertain): (usize, bool),
        tables: impl Fn(MatRef<'_, f64>) -> rffblr::Result<Vec<Mat<f64>>> + Sync,
    ) -> Result<Vec<Mat<f64>>, Failure> {
        let (rows, terms) = (inputs.nrows(), self.model.active_features() as f64);
        // The mean of a transformed target needs its variance.
        let transformed = |(c, name): (usize, &String)| self.model.scale_of(c) != *name;
        let uncertain = uncertain || self.model.target_names().iter().enumerate().any(transformed);
        let each = if uncertain { terms * terms * self.model.target_names().len() as f64 } else { terms * 100.0 };
        let small = rows as f64 * each <= SMALL;
        if small && (!uncertain || self.factorised.load(Ordering::Relaxed)) {
            return Ok(at_once(py, || tables(inputs))??);
        }
        let mut out: Vec<Mat<f64>> = Vec::new();
        // One block at least, which says how many columns there are.
        for start in (0..rows.max(1)).step_by(ROWS) {
            let block = inputs.subrows(start, ROWS.min(rows - start));
            let found = attended(py, count, || tables(block))??;
            if out.is_empty() {
                out = found.iter().map(|table| Mat::zeros(rows, table.ncols())).collect();
            }
            for (to, from) in out.iter_mut().zip(&found) {
                to.as_mut().subrows_mut(start, block.nrows()).copy_from(from);
            }
        }
        self.factorised.fetch_or(uncertain, Ordering::Relaxed);
        Ok(out)
    }

    /// Whether the data are still those of the fit: an array of the caller may have been written to.
    fn is_unchanged(&self, py: Python<'_>, training: &Training) -> bool {
        let Some(lent) = &training.lent else { return true };
        lent.is_in_place(py) && py.detach(|| self.model.is_fitted_to(&training.data)) == Some(true)
    }
}

#[pymethods]
impl Model {
    /// Point prediction, standard deviation if wanted, and notes on the inputs.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        inputs: Inputs<'py>,
        uncertain: bool,
        threads: usize,
    ) -> PyResult<(Array<'py>, Option<Array<'py>>, Vec<String>)> {
        let (encoded, notes) = inputs.encode(&self.encoder)?;
        let model = &self.model;
        let found = self.by_blocks(py, encoded.as_ref(), (threads, uncertain), |block| match uncertain {
            true => model.predict(block).map(|prediction| vec![prediction.point(), prediction.std]),
            false => Ok(vec![model.predict_point(block)?]),
        })?;
        let std = found.get(1).map(|std| array(py, std)).transpose()?;
        Ok((array(py, &found[0])?, std, told(&notes)))
    }

    /// Point prediction (mean, median, or the one that suits each target), standard deviation, ends of the interval, then
    /// quantiles; and notes on the inputs. The ends are those of each coverage in turn.
    fn distribution<'py>(
        &self,
        py: Python<'py>,
        inputs: Inputs<'py>,
        point: Option<&str>,
        coverages: Vec<f64>,
        quantiles: Vec<f64>,
        threads: usize,
    ) -> PyResult<(Vec<Array<'py>>, Vec<String>)> {
        let (encoded, notes) = inputs.encode(&self.encoder)?;
        let model = &self.model;
        let found = self.by_blocks(py, encoded.as_ref(), (threads, true), |block| {
            let prediction = model.predict(block)?;
            let point = match point {
                Some("mean") => prediction.mean.clone(),
                Some(_) => prediction.median(),
                None => prediction.point(),
            };
            let mut found = vec![point, prediction.std.clone()];
            for coverage in &coverages {
                let (lower, upper) = prediction.interval(*coverage)?;
                found.extend([lower, upper]);
            }
            for p in &quantiles {
                found.push(prediction.quantile(*p)?);
            }
            Ok(found)
        })?;
        Ok((found.iter().map(|table| array(py, table)).collect::<PyResult<_>>()?, told(&notes)))
    }

    /// Joint covariance of observations at new rows, for each target; and notes on the inputs.
    fn covariances<'py>(
        &self,
        py: Python<'py>,
        inputs: Inputs<'py>,
        count: usize,
    ) -> PyResult<(Vec<Array<'py>>, Vec<String>)> {
        let (encoded, notes) = inputs.encode(&self.encoder)?;
        let (model, rows) = (self.model.clone(), encoded.into_owned());
        let found = heard(py, count, move || model.covariances(rows.as_ref()))?.map_err(Failure::from)?;
        Ok((found.iter().map(|table| array(py, table)).collect::<PyResult<_>>()?, told(&notes)))
    }

    /// Joint draws: of observations, or without noise of the function.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        inputs: Inputs<'py>,
        draws: usize,
        seed: u64,
        noise: bool,
        count: usize,
    ) -> PyResult<(Vec<Array<'py>>, Vec<String>)> {
        let (encoded, notes) = inputs.encode(&self.encoder)?;
        let (model, rows) = (self.model.clone(), encoded.into_owned());
        let draws = heard(py, count, move || match noise {
            true => model.sample_observations(rows.as_ref(), draws, seed),
            false => model.sample(rows.as_ref(), draws, seed),
        })?
        .map_err(Failure::from)?;
        Ok((draws.iter().map(|draw| array(py, draw)).collect::<PyResult<_>>()?, told(&notes)))
    }

    /// Mean and standard deviation for every training row as if it had been left out.
    fn leave_one_out<'py>(&self, py: Python<'py>, count: usize) -> PyResult<(Array<'py>, Array<'py>)> {
        let training = self.whole_training(py, "leave-one-out")?;
        let (model, data) = (self.model.clone(), training.clone());
        let found =
            heard(py, count, move || Ok((model.leave_one_out(&data.data)?, model.predict(data.unused.as_ref())?)))?;
        let (used, unused) = found.map_err(|error: rffblr::Error| Failure::from(error))?;
        let mean = training.spread(&used.point(), &unused.point());
        Ok((array(py, &mean)?, array(py, &training.spread(&used.std, &unused.std))?))
    }

    /// Coefficients of the kernel machine that is, or is closest to, the model; and how close.
    fn kernel_view<'py>(&self, py: Python<'py>, count: usize) -> PyResult<(Array<'py>, f64, f64, f64)> {
        let training = self.whole_training(py, KERNEL_VIEW)?;
        let (model, data) = (self.model.clone(), training.clone());
        let view = heard(py, count, move || model.kernel_view(data.data.inputs()))?.map_err(Failure::from)?;
        let none = Mat::zeros(training.unused.nrows(), view.coefficients.ncols());
        let coefficients = array(py, &training.spread(&view.coefficients, &none))?;
        Ok((coefficients, view.kernel_rms_error, view.kernel_max_error, view.weights_unexplained))
    }

    /// Relevance of each input column (rows) for each target: the share of the variance of the prediction that is lost
    /// or gained when the column alone is exchanged between training rows; and its standard deviation.
    fn relevance<'py>(&self, py: Python<'py>, count: usize) -> PyResult<(Array<'py>, Array<'py>)> {
        let around = self.around(py, "relevance", None)?;
        let shares = self.variance_shares(py, &around, true, count)?;
        let names = explained_inputs(self);
        // A column that never varied is not an input of the model.
        let columns = self.encoder.input_columns();
        let place: Vec<Option<usize>> =
            columns.iter().map(|column| names.iter().position(|name| name == column)).collect();
        let spread = |table: &Mat<f64>| {
            Mat::from_fn(columns.len(), table.ncols(), |d, c| place[d].map_or(0.0, |at| table[(at, c)]))
        };
        Ok((array(py, &spread(&shares.total))?, array(py, &spread(&shares.total_std))?))
    }

    /// Why something is not available: training data are missing, or this form of model does not have it.
    fn absent(&self, py: Python<'_>, what: &str) -> Option<String> {
        let without = match self.model.settings().form {
            Form::Sinusoids { .. } => Some("sinusoids have no kernel view; fit with form=Exact()"),
            Form::Drawn { .. } => {
                Some("cosines drawn from a learned kernel have no kernel view; fit with form=Exact()")
            }
            _ => None,
        };
        if let Some(without) = without.filter(|_| what == KERNEL_VIEW) {
            return Some(without.into());
        }
        let missing = match what {
            KERNEL_VIEW => self.training(py, what).err(),
            _ => self.around(py, what, None).err(),
        };
        missing.map(|problem| problem.value(py).to_string())
    }

    /// Frequencies, phases, wavelengths, weights, their deviations and precisions of the cosines, a row for each.
    fn sinusoids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = self.model.sinusoids();
        let (inputs, tasks) = (self.model.input_names().len(), self.model.target_names().len());
        let table = |part: fn(&rffblr::Sinusoid) -> &Vec<f64>, columns: usize| {
            stacked(py, &all.iter().map(|s| part(s).clone()).collect::<Vec<_>>(), columns)
        };
        let out = PyDict::new(py);
        out.set_item("frequency", table(|s| &s.frequency, inputs)?)?;
        out.set_item("wavelength", table(|s| &s.wavelength, inputs)?)?;
        out.set_item("weight", table(|s| &s.weight, tasks)?)?;
        out.set_item("weight_std", table(|s| &s.weight_std, tasks)?)?;
        out.set_item("phase", PyArray1::from_iter(py, all.iter().map(|s| s.phase)))?;
        out.set_item("precision", PyArray1::from_iter(py, all.iter().map(|s| s.precision)))?;
        Ok(out)
    }

    /// The constant of each target beside cosines and links; nothing if the function is not such a sum.
    fn constants(&self) -> Option<Vec<f64>> {
        self.model.constants()
    }

    /// Inputs with a direct link, slopes and their deviations, a row for each.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<(Vec<usize>, Array<'py>, Array<'py>)> {
        let (all, tasks) = (self.model.links(), self.model.target_names().len());
        let slope: Vec<Vec<f64>> = all.iter().map(|link| link.slope.clone()).collect();
        let deviation: Vec<Vec<f64>> = all.iter().map(|link| link.slope_std.clone()).collect();
        let inputs = all.iter().map(|link| link.input).collect();
        Ok((inputs, stacked(py, &slope, tasks)?, stacked(py, &deviation, tasks)?))
    }

    /// Objective, terms, bandwidth and noise precisions of every step.
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let steps = self.model.trace();
        let levels = steps.iter().map(|step| step.noise_precision.len()).max().unwrap_or(1);
        // Drawn features are learned with one noise for all targets first, and with that of each later on.
        let noise = |step: &Iteration| match step.noise_precision.as_slice() {
            [shared] => vec![*shared; levels],
            own => (0..levels).map(|c| own.get(c).copied().unwrap_or(f64::NAN)).collect(),
        };
        let noise: Vec<Vec<f64>> = steps.iter().map(noise).collect();
        let out = PyDict::new(py);
        out.set_item("objective", PyArray1::from_iter(py, steps.iter().map(|step| step.objective)))?;
        out.set_item("active", PyArray1::from_iter(py, steps.iter().map(|step| step.active as i64)))?;
        out.set_item("gamma", PyArray1::from_iter(py, steps.iter().map(|step| step.bandwidth)))?;
        out.set_item("noise_precision", stacked(py, &noise, levels)?)?;
        Ok(out)
    }

    /// The settings of the fit, by name and as text.
    fn settings(&self) -> Vec<(String, String)> {
        self.model.settings().spelled().into_iter().map(|(name, value)| (name.replace('-', "_"), value)).collect()
    }

    /// What a check on held-out rows found; nothing if there was none.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        check::facts(py, &self.model)
    }

    /// The model whose predictions this device computes: itself if it does already.
    fn on<'py>(model: &Bound<'py, Model>, device: &str) -> PyResult<Bound<'py, Model>> {
        let read = device.parse::<Device>();
        let device = read.map_err(|problem| Failure::from(Error::Setting { name: "device", problem }))?;
        let own = model.get();
        match own.model.settings().device == device {
            true => Ok(model.clone()),
            false => Bound::new(model.py(), own.replaced_by((*own.model).clone().with_device(device))),
        }
    }

    /// Writes the model file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let model = self.model.clone();
        Ok(heard(py, 1, move || model.save(&path))?.map_err(Failure::from)?)
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        let model = heard(py, 1, move || rffblr::Model::load(&path))?;
        Ok(Model::of(model.map_err(Failure::from)?, None))
    }

    /// The text of the model file.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let model = self.model.clone();
        Ok(heard(py, 1, move || model.to_json())?.map_err(Failure::from)?)
    }

    /// The model that a pickle holds.
    #[staticmethod]
    fn restore(py: Python<'_>, text: String, training: Option<Stored<'_>>) -> PyResult<Model> {
        let model = heard(py, 1, move || rffblr::Model::from_json(&text))?;
        let mut out = Model::of(model.map_err(Failure::from)?, None);
        if let Some((inputs, targets, weights, rows, unused)) = training {
            let [inputs, targets, unused] = [inputs, targets, unused].map(|array| matrix(&array.readonly()));
            let names = (out.model.input_names().to_vec(), out.model.target_names().to_vec());
            let mut data = Dataset::named(inputs, targets, names.0, names.1).map_err(Failure::from)?;
            if let Some((weighting, weights)) = weights {
                data = data.with_weights(weights_of(&weighting, weights)?).map_err(Failure::from)?;
            }
            let encoder = out.encoder.clone();
            out.training = Some(Arc::new(Training { encoder, data, lent: None, rows, unused, notes: Vec::new() }));
        }
        Ok(out)
    }

    /// What a pickle holds: the model file, and the training data if they are known.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Recipe<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let stored = |training: &Arc<Training>| -> PyResult<Stored<'py>> {
            let data = &training.data;
            let inputs = array(py, &data.inputs().to_owned())?;
            let targets = array(py, &data.targets().to_owned())?;
            let weights = data.given_weights().map(|given| (given.meaning().to_owned(), given.values().clone()));
            Ok((inputs, targets, weights, training.rows.clone(), array(py, &training.unused)?))
        };
        // Data that are not what they were would be of no use to the model that is made again.
        let training = this.training.as_ref().filter(|training| this.is_unchanged(py, training));
        let training = training.map(stored).transpose()?;
        Ok((slf.get_type().getattr("restore")?, (this.to_json(py)?, training)))
    }

    /// A copy of what never changes is itself.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// What the fit noticed in the data.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.training.as_ref().map(|training| told(&training.notes)).unwrap_or_default()
    }

    /// Names of the columns the model sees.
    #[getter]
    fn input_names(&self) -> Vec<String> {
        self.model.input_names().to_vec()
    }

    /// Names of the columns of the training table.
    #[getter]
    fn input_columns(&self) -> Vec<String> {
        self.encoder.input_columns().into_iter().map(String::from).collect()
    }

    /// Names of the targets.
    #[getter]
    fn target_names(&self) -> Vec<String> {
        self.model.target_names().to_vec()
    }

    /// Bandwidth of the RBF kernel of each target.
    #[getter]
    fn gamma(&self) -> Vec<f64> {
        self.model.bandwidths()
    }

    /// Names of the targets that share a kernel, group by group.
    #[getter]
    fn target_groups(&self) -> Vec<Vec<String>> {
        let names = self.model.target_names();
        self.model.task_groups().iter().map(|tasks| tasks.iter().map(|&c| names[c].clone()).collect()).collect()
    }

    /// Terms of the function.
    #[getter]
    fn active(&self) -> usize {
        self.model.active_features()
    }

    /// What the function is made of: kernel, drawn, sinusoids or cosines.
    #[getter]
    fn form(&self) -> &'static str {
        self.model.settings().form.name()
    }

    /// The preset that leads to this form for as many rows.
    #[getter]
    fn preset(&self) -> &'static str {
        match self.model.settings().form {
            Form::Kernel if Settings::DEFAULT.for_rows(self.model.training_rows()).form != Form::Kernel => "exact",
            Form::Automatic | Form::Kernel | Form::Sinusoids { .. } => "default",
            Form::Drawn { .. } => "cosines",
            Form::Cosines(_) => "paper",
        }
    }

    /// The objective at the end of the fit.
    #[getter]
    fn objective(&self) -> f64 {
        self.model.objective()
    }

    /// Whether the fit converged.
    #[getter]
    fn converged(&self) -> bool {
        self.model.stop() == rffblr::Stop::Converged
    }

    /// Whether the fit ended at its largest number of steps.
    #[getter]
    fn exhausted(&self) -> bool {
        self.model.stop() == rffblr::Stop::MaxIterations
    }

    /// What becomes of missing inputs.
    #[getter]
    fn missing(&self) -> &'static str {
        match self.encoder.missing_inputs() {
            MissingInputs::Impute => "impute",
            MissingInputs::Error => "error",
        }
    }

    /// What row weights mean to the model: without any, what they would by default.
    #[getter]
    fn weighting(&self) -> &'static str {
        self.model.weighting().unwrap_or(Weights::Relative(())).meaning()
    }

    /// Steps of the fit.
    #[getter]
    fn steps(&self) -> usize {
        self.model.trace().len()
    }

    /// What the function of each target, and all that explains it, is of: the target, or its transform in words.
    #[getter]
    fn scales(&self) -> Vec<String> {
        (0..self.model.target_names().len()).map(|task| self.model.scale_of(task)).collect()
    }

    /// Standard deviation of the noise of each target.
    #[getter]
    fn nugget_std(&self) -> Vec<f64> {
        self.model.nugget_std()
    }

    /// SHA-256 of the training data, if it is known.
    #[getter]
    fn fingerprint(&self) -> Option<&str> {
        self.model.fingerprint()
    }
}
