"""The estimator."""

import os
import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _rffblr
from ._base import Floats, _warn, abreast, generated
from ._checked import Checked
from ._files import FromFiles
from ._forms import Cosines, Drawn, Exact, Preset, Sinusoids
from ._plots import Plots
from ._progress import FRAMES, CallbackSupportMixin, Steps, with_callbacks
from ._settings import Form, documented, parsed, spelled, whole

Self = TypeVar("Self", bound="RFFBLRRegressor")
Point = Literal["mean", "median"]


def resolved(model: _rffblr.Model) -> dict[str, Any]:
    """The settings of a model as parameters of the estimator."""
    values = {name: parsed(text) for name, text in model.settings()}
    form = {"kernel": Exact, "drawn": Drawn, "sinusoids": Sinusoids, "cosines": Cosines}[model.form]
    own = {name: values[name] for name in form().get_params()}
    return {
        "form": form(**own),
        "max_iterations": values["max_iterations"],
        "target_transform": values["target_transform"],
        "random_state": values["seed"],
    }


class RFFBLRRegressor(CallbackSupportMixin, FromFiles, Checked, Plots):
    """Bayesian multitask regression by random Fourier features (RFF-BLR).

    By default the limit of infinitely many features: a Gaussian process with a learned sum kernel, whose bandwidths,
    input scales and noise levels maximise the marginal likelihood times their prior, without cross-validation. It is exact
    up to 3000 rows; beyond, for any number of rows, features are drawn from the learned kernel. ``form`` chooses
    otherwise: with :class:`rffblr.Sinusoids` the posterior mean becomes a formula of few sinusoids, with
    :class:`rffblr.Cosines` features are drawn and dropped as published.

    Every setting that is ``None`` is as the preset says; giving the value it has there changes nothing. ``settings_`` shows
    what was used.

    Parameters
    ----------
    preset : {presets}, optional
        Settings to start from. Left out, it is that of the form, or the default: exact up to 3000 rows, drawn beyond.
    form : Exact, Drawn, Sinusoids or Cosines, optional
        What the function is made of, with the settings that this form alone has; left out, as the preset says. They are
        parameters too: ``set_params(form__links=True)``.
    {settings}
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    weights : {"relative", "repeats"}, default="relative"
        What ``sample_weight`` means. Relative: the noise of a row of weight w has variance σ²/w, a common factor changes
        nothing, and intervals are those of a row of average weight. Repeats: a row of weight 2 counts as two rows.
    random_state : int, RandomState or None, default=0
        Seed of all random draws. A number is the seed itself, the same as on the command line.
    n_jobs : int, optional
        Threads, as joblib counts them: one, unless a joblib context says otherwise; -1 for all cores. The result has
        the same bits for any number.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Attributes
    ----------
    headline_ : str
        The score on rows the model has not seen, in a sentence; or that it was not checked, as ``fit`` does not: call
        :meth:`check`.
    check_ : Bunch
        What :meth:`check` found; only after it, or if the model file has it.
    objective_ : float
        The objective at the end of the fit, in nats: the log marginal likelihood plus the log prior of the kernel's
        hyper-parameters, without constants; with ``preset="paper"`` the variational bound (ELBO).
    gamma_ : array of shape (n_targets,)
        Learned bandwidth of each target's RBF kernel, for standardised inputs; by default that of the RBF family.
    target_groups_ : list of lists of str
        Names of the targets that share a kernel, with its input scales: one list of all of them, unless some
        have kernels of their own.
    n_active_ : int
        Terms of the function: cosines and links, or a kernel term for each row.
    n_iter_ : int
        Steps of the fit.
    converged_ : bool
        Whether it converged. Drawn features (from 3001 rows on) often did not: they are learned for as long as their
        effort allows.
    nugget_std_ : array of shape (n_targets,)
        Nugget of each target, as a standard deviation in its unit, or on the scale of its transform: what the model takes
        for independent from row to row.
        Not an estimate of the noise, which lies between it and the error on held-out rows.
    transforms_ : dict of str
        The transform of each target that is learned transformed, in words. Predictions, intervals, draws, partial
        dependence and Shapley values come back on the original scale; ``nugget_std_``, ``links_`` and ``sinusoids_`` are on that of the transform.
    feature_importances_ : array of shape (n_features_in_,)
        How much each input matters, all targets together; they add up to one. ``relevance_`` has it by target.
    settings_ : dict
        The settings that were used, as parameters: ``RFFBLRRegressor(**model.settings_)`` is fitted in the same way.
    notes_ : list of str
        What the fit noticed in the data: levels, gaps, columns left out.
    target_names_ : array of shape (n_targets,)
        Names of the targets.
    n_features_in_, feature_names_in_
        Inputs seen during fit.

    See Also
    --------
    rffblr.FeatureMap, rffblr.Accumulator : models from blocks of rows, in any number of processes.
    rffblr.baselines : other methods with the same interface.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr import RFFBLRRegressor, Sinusoids
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(60, 2))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> model = RFFBLRRegressor().fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.converged_
    (True, True)
    >>> few = RFFBLRRegressor(form=Sinusoids(sparsity=0.75)).fit(X, y)
    >>> few.n_active_ <= 15
    True
    >>> model.settings_
    {'form': Exact(), 'max_iterations': 200, 'target_transform': 'auto', 'random_state': 0, 'missing': 'impute', 'weights': 'relative'}
    """

    _compiled = _rffblr.Model
    objective_: float
    settings_: dict[str, Any]
    gamma_: Floats
    target_groups_: list[list[str]]
    n_active_: int
    n_iter_: int
    converged_: bool
    nugget_std_: Floats

    def __init__(
        self,
        *,
        preset: Preset | None = None,
        form: Form | None = None,
        max_iterations: int | None = None,
        target_transform: str | None = None,
        device: str | None = None,
        missing: Literal["impute", "error"] = "impute",
        weights: Literal["relative", "repeats"] = "relative",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.preset = preset
        self.form = form
        self.max_iterations = max_iterations
        self.target_transform = target_transform
        self.device = device
        self.missing = missing
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self: Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learns from a table.

        A fit that stops at ``max_iterations`` before it has converged warns (``ConvergenceWarning``). One that fails or
        is interrupted leaves the estimator as it was.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Inputs. NaN is a missing cell. In frames of pandas or polars text and categories become levels, and names are
            kept if all of them are text. A C-ordered ``float64`` array without missing cells is read where it lies, a
            memory-mapped one too: beyond 3000 rows a block at a time is copied, below it the standardised inputs are.
            Anything else (``float32``, Fortran order, missing cells, frames) is first copied as a whole as ``float64``;
            :class:`rffblr.Accumulator` takes it block by block.
        y : array, series or frame of shape (n_samples,) or (n_samples, n_targets)
            Targets. NaN is a cell that was not observed; it is left out, the rest of its row is used. A target with the
            name ``t`` of an input is called ``t_target``.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row, not negative; the parameter ``weights`` says what it means.

        Returns
        -------
        self : RFFBLRRegressor

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])])
        >>> Y[5:15, 0] = np.nan
        >>> RFFBLRRegressor().fit(X, Y).predict([[1.0]]).shape
        (1, 2)
        """
        with self._all_or_nothing():
            given = self._read_training(X, y, sample_weight)
            settings = self._settings()
            steps = Steps(self, X, y, sample_weight)
            self._adopt(_rffblr.fit(given, self._preset(), settings, self._threads(), steps.listener))
            steps.end(self._ending(), self.notes_)
        self._warn_if_exhausted()
        return self

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, return_cov: Literal[False] = False, point: Point | None = None
    ) -> Floats: ...

    @overload
    def predict(
        self, X: Any, return_std: Literal[True], return_cov: Literal[False] = False, point: Point | None = None
    ) -> tuple[Floats, Floats]: ...

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, *, return_cov: Literal[True], point: Point | None = None
    ) -> tuple[Floats, Floats]: ...

    @overload
    def predict(
        self, X: Any, return_std: bool, return_cov: bool = False, point: Point | None = None
    ) -> Floats | tuple[Floats, Floats]: ...

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, point: Point | None = None
    ) -> Floats | tuple[Floats, Floats]:
        """Predicted targets of new rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Inputs; NaN is a missing cell.
        return_std : bool, default=False
            Whether to return the standard deviation of an observation too: what is not known about the function, and
            the noise.
        return_cov : bool, default=False
            Instead, the joint covariance of observations at all rows. It takes all training rows into account, where the
            standard deviations of an exact model of more than 1500 rows take a sample. A transformed target has none, which
            is a ``ValueError``: :meth:`sample_y` draws from any.
        point : {"mean", "median"}, optional
            Which number stands for the distribution of a target. Left out, it is the mean, or for a transformed target
            the median if that predicted the training rows better. For targets that are not transformed the two are the same.

        Returns
        -------
        point : array of shape (n_samples,) or (n_samples, n_targets)
        std : array of the same shape
            Only with ``return_std``.
        cov : array of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            Only with ``return_cov``.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]))
        >>> mean, std = model.predict([[1.0], [30.0]], return_std=True)
        >>> bool(abs(mean[0] - np.sin(1.0)) < 0.02), bool(std[1] > 5 * std[0])
        (True, True)
        >>> mean, cov = model.predict([[1.0], [30.0]], return_cov=True)
        >>> bool(np.allclose(np.sqrt(np.diag(cov)), std))
        True
        """
        if return_cov and return_std:
            raise ValueError("return_std and return_cov: ask for one of them; the diagonal of a covariance has the variances")
        if return_cov:
            return self.predict(X, point=point), self._covariances(X)
        if point is None:
            mean, deviation = self._answer(X, return_std)
            return self._shaped(mean) if deviation is None else (self._shaped(mean), self._shaped(deviation))
        if point not in ("mean", "median"):
            raise ValueError(f"point={point!r}: write mean or median")
        found, std, *_ = self._tables(X, point)
        return (self._shaped(found), self._shaped(std)) if return_std else self._shaped(found)

    def _covariances(self, X: Any) -> Floats:
        inputs, _ = self._read_inputs(X, reset=False)
        found, _ = self._placed().covariances(inputs, self._threads())
        return self._all_targets(abreast(found), -1)[..., 0 if self._flat else slice(None)]

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Floats:
        """Values that an observation is below with given probabilities.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Inputs; NaN is a missing cell.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            The probabilities, between 0 and 1.

        Returns
        -------
        values : array of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> model = RFFBLRRegressor().fit(X, np.exp(np.sin(X[:, 0])))
        >>> low, middle, high = model.predict_quantiles(X[:1])[0]
        >>> bool(low < middle < high)
        True
        """
        asked = [float(p) for p in quantiles]
        found = self._tables(X, quantiles=asked)[2:]
        out = np.stack(found, axis=-1) if found else np.empty((*self._answer(X, False)[0].shape, 0))
        return out[:, 0] if self._flat else out

    def _tables(
        self,
        X: Any,
        point: Point | None = None,
        coverages: Sequence[float] = (),
        quantiles: Sequence[float] = (),
        level: int = 4,
    ) -> list[Floats]:
        """Point, standard deviation, ends of each interval and quantiles, each rows × targets; warns ``level`` frames up."""
        check_is_fitted(self)
        inputs, _ = self._read_inputs(X, reset=False)
        found = self._placed().distribution(inputs, point, list(coverages), list(quantiles), self._threads())
        tables = [self._all_targets(table, 1) for table in found[0]]
        _warn(found[1], level)
        return tables

    def _spread(self, X: Any, coverages: Sequence[float]) -> tuple[Floats, Floats | None, list[tuple[Floats, Floats]]]:
        point, std, *ends = self._tables(X, coverages=coverages, level=5)
        return point, std, list(zip(ends[::2], ends[1::2]))

    def _ending(self) -> str:
        ending = "converged" if self.converged_ else "ended"
        return f"{ending} after {self.n_iter_} steps, objective {self.objective_:.1f}"

    def _warn_if_exhausted(self) -> None:
        """Warns at the line that called the method that calls this."""
        if self.model_.exhausted:
            most = dict(self.model_.settings())["max_iterations"]
            text = f"the fit stopped at max_iterations={most} before it converged; give it more to go on"
            warnings.warn(text, ConvergenceWarning, stacklevel=3 + FRAMES)

    def _preset(self) -> str:
        """The preset that the settings start from."""
        if not isinstance(self.preset, (str, type(None))):
            raise TypeError(f"preset={self.preset!r}: write one of {', '.join(_rffblr.PRESETS)}")
        if self.form is None:
            return self.preset or "default"
        if not isinstance(self.form, Form):
            raise TypeError(f"form={self.form!r}: write a form, such as rffblr.Sinusoids(sparsity=0.75)")
        preset = self.preset or self.form._presets[0]
        if preset in _rffblr.PRESETS and preset not in self.form._presets:
            name, known = type(self.form).__name__, " or ".join(repr(preset) for preset in self.form._presets)
            raise ValueError(f"preset={preset!r} is not of the form {name}; leave it out, or write {known}")
        return preset

    def _settings(self) -> list[tuple[str, str]]:
        """Names and texts of the settings that are not left to the preset."""
        self._preset()
        texts = [] if self.form is None else self.form._texts()
        if isinstance(self.form, Sinusoids) and not self.form.sparsity:
            raise ValueError(f"sparsity={self.form.sparsity!r}: write a number above 0 and below 1; without it, Exact()")
        given = [(name, getattr(self, name)) for name in ("max_iterations", "target_transform", "device")]
        texts += [(name, spelled(name, value)) for name, value in given if value is not None]
        return [*texts, ("seed", str(self._seed()))]

    def _placed(self) -> _rffblr.Model:
        # A model from a file or a pickle knows no device, and the parameter may have been changed since the fit.
        placed: _rffblr.Model = self.model_.on("auto" if self.device is None else spelled("device", self.device))
        self.model_ = placed
        return placed

    def _adopt(self, model: _rffblr.Model) -> None:
        self.model_ = model
        self.objective_ = model.objective
        self.gamma_ = np.asarray(model.gamma)
        self.target_groups_ = model.target_groups
        self.n_active_ = model.active
        self.n_iter_ = model.steps
        self.converged_ = model.converged
        self.nugget_std_ = np.asarray(model.nugget_std)
        scales = zip(model.target_names, model.scales)
        self.transforms_ = {name: scale for name, scale in scales if scale != name}
        self.notes_ = model.notes
        self.settings_ = {**resolved(model), "missing": self.missing, "weights": self.weights}

    def _name(self, model: _rffblr.Model, named: bool) -> None:
        """Takes the columns from the model: those of a fit, as far as the model knows them."""
        self.n_features_in_ = len(model.input_columns)
        if named:
            self.feature_names_in_ = np.asarray(model.input_columns, dtype=object)
        self.target_names_ = np.asarray(model.target_names, dtype=object)
        self.n_outputs_ = len(self.target_names_)
        self._flat = self.n_outputs_ == 1
        self._library = None
        self._unobserved = []

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        noise: bool = True,
    ) -> Floats:
        """Joint draws at new rows from the posterior, on the original scale of the targets.

        Parameters
        ----------
        X : array or frame of shape (n_samples_X, n_features)
            Inputs.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState or None, default=0
            Seed of the draws.
        noise : bool, default=True
            Draws of observations; without it, of the function alone, of a transformed target of its median.

        Returns
        -------
        draws : array of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]))
        >>> model.sample_y(X[:7], n_samples=3).shape
        (7, 3)
        """
        check_is_fitted(self)
        n_samples = whole("n_samples", n_samples, 0)
        inputs, _ = self._read_inputs(X, reset=False)
        if isinstance(random_state, np.random.RandomState):
            random_state = int(random_state.randint(2**31 - 1))
        generator = np.random.default_rng(random_state)
        seed = int(generator.integers(2**63))
        drawn, notes = self.model_.sample(inputs, n_samples, seed, bool(noise), self._threads())
        _warn(notes, 3)
        out = abreast(drawn) if drawn else np.empty((*self.model_.predict(inputs, False, 1)[0].shape, 0))
        out = self._all_targets(out, 1)
        return out[:, 0] if self._flat else out

    @overload
    def loo_predict(self, return_std: Literal[False] = False) -> Floats: ...

    @overload
    def loo_predict(self, return_std: Literal[True]) -> tuple[Floats, Floats]: ...

    @overload
    def loo_predict(self, return_std: bool) -> Floats | tuple[Floats, Floats]: ...

    def loo_predict(self, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """What the model would have predicted for each training row without it, at the learned hyper-parameters.

        An optimistic diagnostic: the hyper-parameters were learned with the row; :meth:`check` learns them again. In
        closed form, exact for the Gaussian process and for cosines. For sinusoids it is, for each target, the worse of
        leaving rows out of the Gaussian process they reproduce and out of their own weights. In cells that were not
        observed it is the ordinary prediction.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return the standard deviation of an observation too.

        Returns
        -------
        mean : array of shape (n_samples,) or (n_samples, n_targets)
        std : array of the same shape
            Only with ``return_std``.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> y = np.sin(X[:, 0])
        >>> bool(np.max(np.abs(RFFBLRRegressor().fit(X, y).loo_predict() - y)) < 0.1)
        True
        """
        check_is_fitted(self)
        mean, std = (self._all_targets(table, 1) for table in self.model_.leave_one_out(self._threads()))
        return (self._shaped(mean), self._shaped(std)) if return_std else self._shaped(mean)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to the file that ``rffblr predict``, ``inspect`` and ``verify`` read.

        The file is written whole or not at all; an existing one is replaced. It holds no targets. The file of a kernel
        machine, the default, holds the standardised inputs of the training rows; that of any other form holds no row.

        Parameters
        ----------
        path : str or path-like
            The file.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.json")
        ...     model.save(path)
        ...     again = RFFBLRRegressor.load(path)
        >>> bool(np.all(again.predict(X) == model.predict(X)))
        True
        """
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str]) -> Self:
        """Reads a model file, written here or by ``rffblr fit``.

        The model predicts what it did, bit for bit. What is costly is computed when it is first asked for: means need nothing,
        the first standard deviations of an exact model a factorisation. A file does not hold the training targets, so that
        ``loo_predict`` is not to be had; explanations are, where the file holds the training inputs (the exact form) or
        rows are given as ``background``. Nor does it say whether a single target was given as a column: its predictions are flat. Names ``x1``,
        ``x2``, … are those of inputs without names: frames are then read by position, unless they have these names in another
        order, which is an error.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        model : RFFBLRRegressor

        Examples
        --------
        See :meth:`save`.
        """
        return cls._of(_rffblr.Model.load(os.fspath(path)))

    @classmethod
    def _of(cls: type[Self], model: _rffblr.Model) -> Self:
        settings = resolved(model)
        usual = {name: parsed(text) for name, text in _rffblr.preset(model.preset)}
        given = {name: settings[name] for name in ("max_iterations", "target_transform")}
        given = {name: value for name, value in given.items() if value != usual[name]}
        form = settings["form"]
        if model.form != "kernel" or model.preset != "default":
            own = form.get_params().items()
            given["form"] = type(form)(**{name: value for name, value in own if value != usual.get(name)})
        seed = settings["random_state"]
        self = cls(random_state=seed, missing=model.missing, weights=model.weighting, **given)
        self._adopt(model)
        self._name(model, model.input_columns != generated("x", len(model.input_columns)))
        return self


RFFBLRRegressor.__doc__ = documented(RFFBLRRegressor.__doc__ or "")
