"""The estimator."""

import os
import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from . import _rffblr
from ._base import Estimator, Floats, _warn, generated
from ._files import write_whole
from ._frames import frame
from ._progress import FRAMES, CallbackSupportMixin, Steps, with_callbacks
from ._settings import spelled, whole

Self = TypeVar("Self", bound="RFFBLRRegressor")

# What takes long to compute, and is therefore never shown unasked.
COSTLY = {"relevance_": "relevance", "relevance_std_": "relevance", "kernel_view_": "the kernel view"}
# With fewer rows to compare with, Shapley values say more about these than about the data.
FEW = 10


class RFFBLRRegressor(CallbackSupportMixin, Estimator):
    """Bayesian multitask regression on random Fourier features.

    By default an exact kernel machine: all cosines at once, with bandwidths, the noise of each target and the scale of
    each input learned from the model's own evidence, without cross-validation. With ``sparsity`` it is a formula of few
    sinusoids; with ``preset="paper"`` or ``"cosines"`` the cosines are drawn at random.

    Every setting that is ``None`` is as the preset says. Values can be written as on the command line
    (``features="per-row:2"``) or as Python values (``features=300``, ``bandwidth=0.1`` to hold it there,
    ``relevance=[1, 0.5]``, ``weight_prior=(1e-6, 1e-6)``).

    Parameters
    ----------
    preset : {"default", "cosines", "paper"}, optional
        Settings to start from. Left out, it is the default; but cosines if any of the settings marked (drawn cosines)
        below is given, even with the value it has anyway, and neither ``form`` nor ``sparsity`` is. Write
        ``preset="default"`` to have such a setting refused instead.
    sparsity : float, optional
        From 0, a kernel term for every row and the most accurate, towards 1: 0.75 keeps one sinusoid for four rows.
    form : str, optional
        What the function is made of: kernel, sinusoids:PER_ROW or cosines. [kernel; paper: cosines]
    max_iterations : int, optional
        Most steps of the fit. [200; paper: 500]
    features : int or str, optional
        Cosines to draw: 300, or per-row:2. [per-row:2] (drawn cosines)
    spectrum : {"rbf", "laplace-l2", "laplace-l1", "matern32", "matern52"}, optional
        Kernel that the cosines approximate. [rbf] (drawn cosines) laplace-l1 needs
        ``directions="independent"``.
    offsets : {"random", "paired"}, optional
        Offsets of the cosines. [paired; paper: random] (drawn cosines)
    directions : {"independent", "orthogonal"}, optional
        Directions of the cosines. [orthogonal; paper: independent] (drawn cosines)
    links : bool or str, optional
        Whether the inputs themselves are features too. [true; paper: false] (drawn cosines)
    precision : {"free", "tied"}, optional
        Prior precision of the weights: one per feature or one for all. [tied; paper: free] (drawn cosines)
    bandwidth : float or str, optional
        Kernel bandwidth: learned, learned:START or fixed:VALUE. [learned] (drawn cosines)
    relevance : array of float or str, optional
        Scale of each input in the kernel: learned, uniform or fixed:A,B,…. [learned; paper: uniform] (drawn cosines)
    noise : {"shared", "per-task"}, optional
        One noise level for all targets or one for each. [per-task; paper: shared] (drawn cosines)
    target_scale : {"standardised", "raw"}, optional
        What the model sees of the targets. [standardised] (drawn cosines)
    weight_prior : (float, float) or str, optional
        Gamma prior of each weight precision. [1e-6,1e-6] (drawn cosines)
    noise_prior : (float, float) or str, optional
        Gamma prior of each noise precision. [1e-6,1e-6] (drawn cosines)
    pruning : float or str, optional
        When features are dropped: never, or below-equal-share:FRACTION. [never; paper: below-equal-share:0.7]
        (drawn cosines)
        Other than never it needs ``precision="free"``.
    learning_rate : float, optional
        Step size for bandwidth and input scales. [0.1] (drawn cosines)
    restarts : int, optional
        Independent draws, of which the best is kept. [1] (drawn cosines)
    tolerance : float, optional
        Change of the bound that counts as none. [1e-5] (drawn cosines)
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    random_state : int, RandomState or None, default=0
        Seed of all random draws. A number is the seed itself, the same as on the command line.
    n_jobs : int, optional
        Threads, as joblib counts them: one, unless a joblib context says otherwise; -1 for all cores. The result has
        the same bits for any number.
    verbose : int, default=0
        Whether to tell on standard error how far the fit is.

    Attributes
    ----------
    elbo_ : float
        The bound where the fit ended, in nats.
    gamma_ : float
        Learned bandwidth of the RBF kernel, for standardised inputs; of a kernel machine that of its RBF family.
    n_active_ : int
        Terms of the function: kept cosines and links, or a kernel term for each row.
    n_iter_ : int
        Steps of the fit.
    converged_ : bool
        Whether it converged.
    noise_std_ : array of shape (n_targets,)
        Standard deviation of the noise of each target, in its unit. The rough part of the default kernel can take up some
        of the noise: the deviations of ``predict`` have both parts, this one alone may be too small.
    notes_ : list of str
        What the fit noticed in the data: levels, gaps, columns left out.
    target_names_ : array of shape (n_targets,)
        Names of the targets.
    n_features_in_, feature_names_in_
        Inputs seen during fit.

    See Also
    --------
    rffblr.baselines : other methods with the same interface.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr import RFFBLRRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(60, 2))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> model = RFFBLRRegressor().fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.converged_
    (True, True)
    >>> few = RFFBLRRegressor(sparsity=0.75).fit(X, y)
    >>> few.n_active_ <= 15
    True
    """

    elbo_: float
    gamma_: float
    n_active_: int
    n_iter_: int
    converged_: bool
    noise_std_: Floats

    def __init__(
        self,
        *,
        preset: str | None = None,
        sparsity: float | None = None,
        form: str | None = None,
        max_iterations: int | None = None,
        features: int | str | None = None,
        spectrum: str | None = None,
        offsets: str | None = None,
        directions: str | None = None,
        links: bool | str | None = None,
        precision: str | None = None,
        bandwidth: float | str | None = None,
        relevance: Sequence[float] | Floats | str | None = None,
        noise: str | None = None,
        target_scale: str | None = None,
        weight_prior: Sequence[float] | Floats | str | None = None,
        noise_prior: Sequence[float] | Floats | str | None = None,
        pruning: float | str | None = None,
        learning_rate: float | None = None,
        restarts: int | None = None,
        tolerance: float | None = None,
        missing: str = "impute",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.preset = preset
        self.sparsity = sparsity
        self.form = form
        self.max_iterations = max_iterations
        self.features = features
        self.spectrum = spectrum
        self.offsets = offsets
        self.directions = directions
        self.links = links
        self.precision = precision
        self.bandwidth = bandwidth
        self.relevance = relevance
        self.noise = noise
        self.target_scale = target_scale
        self.weight_prior = weight_prior
        self.noise_prior = noise_prior
        self.pruning = pruning
        self.learning_rate = learning_rate
        self.restarts = restarts
        self.tolerance = tolerance
        self.missing = missing
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
            kept if all of them are text.
        y : array, series or frame of shape (n_samples,) or (n_samples, n_targets)
            Targets. NaN is a cell that was not observed; it is left out, the rest of its row is used. A target with the
            name ``t`` of an input is called ``t_target``.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row; weight 2 means the row counts twice.

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
            given = self._read_training(X, y, sample_weight, self.missing)
            settings = self._settings()
            steps = Steps(self, X, y, sample_weight)
            self._adopt(_rffblr.fit(given, self.preset, settings, self._threads(), steps.listener))
            ending = "converged" if self.converged_ else "stopped"
            steps.end(f"{ending} after {self.n_iter_} steps, bound {self.elbo_:.1f}", self.notes_)
        if self.model_.exhausted:
            most = dict(self.model_.settings())["max_iterations"]
            text = f"the fit stopped at max_iterations={most} before it converged; give it more to go on"
            warnings.warn(text, ConvergenceWarning, stacklevel=2 + FRAMES)
        return self

    def _settings(self) -> list[tuple[str, str]]:
        """Names and texts of the settings that are not left to the preset."""
        if not isinstance(self.preset, (str, type(None))):
            raise TypeError(f"preset={self.preset!r}: write one of {', '.join(_rffblr.PRESETS)}")
        names = ["sparsity", *(name for name, _, _ in _rffblr.settings() if name != "seed")]
        given = [(name, getattr(self, name)) for name in names]
        texts = [(name.replace("_", "-"), spelled(name, value)) for name, value in given if value is not None]
        return [*texts, ("seed", str(self._seed()))]

    def _adopt(self, model: _rffblr.Model) -> None:
        self.model_ = model
        self.elbo_ = model.bound
        self.gamma_ = model.gamma
        self.n_active_ = model.active
        self.n_iter_ = model.steps
        self.converged_ = model.converged
        self.noise_std_ = np.asarray(model.noise_std)
        self.notes_ = model.notes

    def __dir__(self) -> list[str]:
        # scikit-learn asks for every attribute whether it is there, which would compute those that are costly.
        present = "model_" in vars(self)
        costly = [name for name, what in COSTLY.items() if present and not self.model_.absent(what)]
        names = (name for name in object.__dir__(self) if name not in COSTLY)
        return [*(name for name in names if hasattr(self, name)), *costly]

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        # scikit-learn reads every attribute of what it shows: here one that has all the facts and nothing to compute.
        facts = Estimator.__new__(Estimator)
        facts.__dict__.update(vars(self))
        shown = Estimator._get_fitted_attr_html(facts, doc_link)
        shown.estimator_class = type(self)
        return shown

    def _need_training(self, name: str) -> None:
        """That an attribute needs data which are not there is no reason for ``hasattr`` to fail."""
        check_is_fitted(self)
        problem = self.model_.absent(COSTLY[name])
        if problem:
            raise AttributeError(problem)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        noise: bool = True,
    ) -> Floats:
        """Joint draws at new rows from what the model believes.

        Parameters
        ----------
        X : array or frame of shape (n_samples_X, n_features)
            Inputs.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState or None, default=0
            Seed of the draws.
        noise : bool, default=True
            Draws of observations; without it, of the function alone.

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
        draws, notes = self.model_.sample(inputs, n_samples, int(generator.integers(2**63)), self._threads())
        _warn(notes, 3)
        out = np.stack(draws, axis=-1) if draws else np.empty((*self.model_.predict(inputs, False, 1)[0].shape, 0))
        if noise:
            out += self.noise_std_[:, None] * generator.normal(size=out.shape)
        return out[:, 0] if self._flat else out

    @overload
    def loo_predict(self, return_std: Literal[False] = False) -> Floats: ...

    @overload
    def loo_predict(self, return_std: Literal[True]) -> tuple[Floats, Floats]: ...

    @overload
    def loo_predict(self, return_std: bool) -> Floats | tuple[Floats, Floats]: ...

    def loo_predict(self, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """What the model would have predicted for each training row without it, at the learned hyper-parameters.

        Exact for the kernel machine and for cosines, from the one fit. Sinusoids are judged by the worse of two for each
        target: leaving rows out of the kernel machine they reproduce, and out of their own weights. In cells that were not observed it is the ordinary prediction.

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
        mean, std = self.model_.leave_one_out(self._threads())
        return (self._shaped(mean), self._shaped(std)) if return_std else self._shaped(mean)

    @property
    def relevance_(self) -> Floats:
        """How much each input (rows) matters for each target (columns): the total share of variance.

        What becomes of the prediction when the input alone is exchanged between training rows, as a share of the
        variance of the prediction; interactions with other inputs are in it, so that shares may add up to more than one.
        A text column is one input, whatever number of levels it has. Computed from the training rows when first asked
        for; a model from a file does not have it.
        """
        self._need_training("relevance_")
        total: Floats = self.model_.relevance(self._threads())[0]
        return total

    @property
    def relevance_std_(self) -> Floats:
        """Posterior standard deviation of ``relevance_``: what the data leave open about it."""
        self._need_training("relevance_std_")
        std: Floats = self.model_.relevance(self._threads())[1]
        return std

    @property
    def sinusoids_(self) -> Any:
        """The kept cosines as a frame, a row for each, in the units of the data.

        Columns: ``phase``, ``frequency[input]``, ``wavelength[input]``, ``weight[target]``, ``weight_std[target]`` and
        ``precision``. Its share of target ``t`` is ``weight[t] * cos(sum(frequency[d] * x[d]) + phase)``; with those of
        ``links_`` and ``constant_`` they add up to the prediction. A kernel machine has none: fit with ``sparsity``.
        """
        self._need_sinusoids("sinusoids_")
        parts = self.model_.sinusoids()
        inputs, targets = self.model_.input_names, self.model_.target_names
        columns = {"phase": parts["phase"]}
        for part, names in [("frequency", inputs), ("wavelength", inputs), ("weight", targets), ("weight_std", targets)]:
            columns.update({f"{part}[{name}]": parts[part][:, at] for at, name in enumerate(names)})
        columns["precision"] = parts["precision"]
        return frame(columns, self._library)

    @property
    def constant_(self) -> Floats:
        """What is added to the sinusoids and links of each target, in its unit."""
        self._need_sinusoids("constant_")
        return np.asarray(self.model_.constants())

    def _need_sinusoids(self, name: str) -> None:
        check_is_fitted(self)
        if self._form() == "kernel":
            raise AttributeError(
                "a kernel machine is not made of sinusoids; fit with sparsity=0.75, or with preset=\"cosines\", for a "
                f"model that has {name}"
            )

    @property
    def links_(self) -> Any:
        """The straight lines in the function as a frame: input, ``slope[target]`` and ``slope_std[target]``."""
        check_is_fitted(self)
        inputs, slope, deviation = self.model_.links()
        columns = {"input": [self.model_.input_names[d] for d in inputs]}
        for part, table in [("slope", slope), ("slope_std", deviation)]:
            columns.update({f"{part}[{name}]": table[:, c] for c, name in enumerate(self.model_.target_names)})
        return frame(columns, self._library)

    @property
    def kernel_view_(self) -> Bunch:
        """The model as a kernel machine: ``coefficients`` (rows × targets), and how well the kernel explains it.

        A kernel machine is this view, with errors of zero. For cosines the coefficients are those closest to it, at the
        price of one decomposition of rows × rows: ``kernel_rms_error`` and ``kernel_max_error`` compare the drawn
        cosines with the kernel they approximate, ``weights_unexplained`` is the share of the weights that no combination
        of kernel functions at these rows can express. It needs the training rows; a model from a file does not have it.
        """
        self._need_training("kernel_view_")
        coefficients, rms, largest, unexplained = self.model_.kernel_view(self._threads())
        return Bunch(
            coefficients=coefficients,
            kernel_rms_error=rms,
            kernel_max_error=largest,
            weights_unexplained=unexplained,
        )

    @property
    def trace_(self) -> Bunch:
        """The steps of the fit: ``bound``, ``active``, ``gamma`` and ``noise_precision``, an entry for each."""
        check_is_fitted(self)
        return Bunch(**self.model_.trace())

    def explain(self, X: Any = None, return_std: bool = False) -> Bunch:
        """Takes predictions apart: what each input adds to each of them, and how much it matters at all.

        Shapley values, exact and not sampled, against the training rows. Where all of these would take longer than some
        twenty seconds of one core for the rows explained together, they are evenly thinned, down to one if need be:
        ``background`` names those used, and fewer than ten are warned of. Text columns count as one input. For every
        row and target ``base + shapley.sum(axis=1)`` is the prediction.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features), optional
            Rows to explain; all training rows, in their order, if left out.
        return_std : bool, default=False
            Whether to compute the posterior standard deviation of each value too. Of a kernel machine they cost the
            square of the background, which is therefore smaller; more rows than can be compared with even one training
            row in that time are refused by a ``ValueError`` that says how many can.

        Returns
        -------
        explanation : Bunch
            ``inputs`` : names, in the order of the arrays;
            ``shapley`` : array (n_samples, n_inputs, n_targets), in the units of the targets;
            ``std`` : the same shape, or None;
            ``base`` : array (n_targets,), the mean prediction over the background;
            ``prediction`` : array (n_samples, n_targets);
            ``background`` : training rows compared with;
            ``total`` and ``first_order`` : arrays (n_inputs, n_targets), shares of the variance of the prediction
            with and without interactions;
            ``total_std`` and ``first_order_std`` : their posterior standard deviations;
            ``scales`` : array (n_inputs,), how fast the kernel changes along each input, which is no relevance.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> parts = model.explain(X[:5])
        >>> parts.shapley.shape
        (5, 3, 1)
        >>> bool(np.allclose(parts.base + parts.shapley.sum(axis=1), parts.prediction, rtol=0, atol=1e-9))
        True
        """
        check_is_fitted(self)
        inputs = None if X is None else self._read_inputs(X, reset=False)[0]
        parts = _rffblr.explain(self.model_, inputs, return_std, self._threads())
        notes, rows, background = parts.pop("notes"), parts.pop("training_rows"), len(parts["background"])
        if background < min(FEW, rows):
            notes.append(
                f"explained against {background} of {rows} training rows to end in time; explain fewer rows at once "
                "for a better comparison"
            )
        _warn(notes, 3)
        for name in ("shapley", "std"):
            if parts[name] is not None:
                parts[name] = np.stack(parts[name], axis=-1)
        return Bunch(**parts)

    def partial_dependence(self, inputs: int | str | Sequence[int | str], resolution: int = 40) -> Any:
        """The mean prediction over the training rows when one input, or two, are set; exact, with its deviation.

        Parameters
        ----------
        inputs : int, str or a pair of them
            Which inputs, by name or by position in ``explain().inputs``.
        resolution : int, default=40
            Most values of a number to show, at least 2; texts are shown at all levels.

        Returns
        -------
        dependence : frame
            A column for each input (``None`` is a missing cell), then ``mean[target]`` and ``std[target]``.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> list(model.partial_dependence("x1", resolution=5).columns)
        ['x1', 'mean[y1]', 'std[y1]']
        """
        check_is_fitted(self)
        resolution = whole("resolution", resolution, 2)
        names = _rffblr.explained_inputs(self.model_)
        asked = [inputs] if isinstance(inputs, (int, np.integer, str)) else list(inputs)
        if len(asked) not in (1, 2):
            raise ValueError(f"partial dependence is on one input or two, not on {len(asked)}")
        for name in asked:
            if isinstance(name, str) and name not in names:
                raise ValueError(f"there is no input {name!r}; they are {', '.join(names)}")
            if not isinstance(name, str) and not 0 <= name < len(names):
                raise ValueError(f"there is no input {name}; they are numbered from 0 to {len(names) - 1}")
        places = [names.index(name) if isinstance(name, str) else int(name) for name in asked]
        values, mean, std = _rffblr.dependence(self.model_, places, resolution, self._threads())
        if len(values) == 2:
            values = [[first for first in values[0] for _ in values[1]], values[1] * len(values[0])]
        columns: dict[str, Any] = {names[place]: cells for place, cells in zip(places, values)}
        for part, table in [("mean", mean), ("std", std)]:
            columns.update({f"{part}[{name}]": table[:, c] for c, name in enumerate(self.model_.target_names)})
        return frame(columns, self._library)

    def report(
        self,
        path: str | os.PathLike[str],
        card: str | os.PathLike[str] | None = None,
        title: str | None = None,
        row_data: bool = True,
    ) -> None:
        """Writes what the model learned, and how far to trust it, as one HTML page that needs no network.

        The same page as ``rffblr report``. A model that was loaded from a file does not know its training data: the
        page then shows the model alone.

        Parameters
        ----------
        path : str or path-like
            The page; an existing one is replaced.
        card : str or path-like, optional
            A model card in Markdown.
        title : str, optional
            Title of the page.
        row_data : bool, default=True
            Whether single rows may be shown.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = os.path.join(folder, "report.html")
        ...     model.report(page)
        ...     with open(page, encoding="utf-8") as file:
        ...         file.read().startswith("<!doctype html>")
        True
        """
        check_is_fitted(self)
        page, text = _rffblr.report(self.model_, title or "Model report", row_data, self._threads())
        write_whole(path, page)
        if card is not None:
            write_whole(card, text)

    def _form(self) -> str:
        form: str = dict(self.model_.settings())["form"]
        return form.split(":")[0]

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

        The model predicts what it did, bit for bit. A file does not hold the training data, so that ``loo_predict`` is
        not to be had, nor whether a single target was given as a column: its predictions are flat. Names ``x1``,
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
        settings = dict(model.settings())
        seed = int(settings.pop("seed"))
        usual = {name: values[0] for name, _, values in _rffblr.settings()}
        # The form is said aloud: it decides which preset the others belong to.
        given: dict[str, Any] = {name: value for name, value in settings.items() if name == "form" or value != usual[name]}
        self = cls(random_state=seed, missing=model.missing, **given)
        self._adopt(model)
        names = model.input_columns
        self.n_features_in_ = len(names)
        if names != generated("x", len(names)):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.target_names_ = np.asarray(model.target_names, dtype=object)
        self.n_outputs_ = len(self.target_names_)
        self._flat = self.n_outputs_ == 1
        self._library = None
        return self
