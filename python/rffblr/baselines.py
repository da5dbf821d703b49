"""Other methods with the interface of :class:`rffblr.RFFBLRRegressor`, to compare it with.

The six methods that the publication compares with, a Gaussian process, ridge regression and the mean. Those with
hyper-parameters choose them by cross-validation inside the training rows, on the grid of the publication or on a coarse
one. Missing target cells that a method cannot use it refuses by a ``ValueError``; one that cannot use row weights has no
``sample_weight``. A pickle holds what was learned: loading it learns nothing.
"""

from typing import Any, Literal, TypeVar

from numpy.typing import ArrayLike

from . import _rffblr
from ._base import Estimator
from ._progress import Bar

__all__ = [
    "FNN",
    "GORELM",
    "HIVAE",
    "MMR",
    "MTFL",
    "SBELM",
    "GaussianProcess",
    "Ridge",
    "TrainingMean",
]


Self = TypeVar("Self", bound="Baseline")


class Baseline(Estimator):
    """Base of the baselines: ``_method`` is the name of the method on the command line."""

    _method: Any = None
    _compiled = _rffblr.Baseline
    chosen_: dict[str, str]
    n_active_: int
    # Methods that draw nothing and choose nothing have neither of these parameters.
    random_state: Any = 0
    grid: Literal["full", "coarse"] = "full"

    def fit(self: Self, X: Any, y: Any) -> Self:
        """Learns from a table; see :meth:`rffblr.RFFBLRRegressor.fit`. The method cannot use row weights.

        Returns
        -------
        self : the estimator
        """
        return self._fit(X, y, None)

    def _fit(self: Self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        with self._all_or_nothing():
            given, seed, method = self._read_training(X, y, sample_weight), self._seed(), self._method
            bar = Bar() if self.verbose else None
            listener = (lambda done, total: bar.show(f"{method}: inner fold {done} of {total}")) if bar else None
            self.model_ = _rffblr.fit_baseline(method, given, seed, self.grid, self._threads(), listener)
            if bar:
                bar.finish(f"{method} fitted")
            self.chosen_ = dict(self.model_.chosen)
            self.notes_ = self.model_.notes
            self.__dict__.pop("n_active_", None)
            if self.model_.active is not None:
                self.n_active_ = self.model_.active
        return self


class Weighted(Baseline):
    """Those that can use row weights."""

    def fit(self: Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learns from a table; see :meth:`rffblr.RFFBLRRegressor.fit`.

        Returns
        -------
        self : the estimator
        """
        return self._fit(X, y, sample_weight)


class Fixed(Baseline):
    """Base of the methods without anything to choose or to draw."""

    def __init__(self, *, missing: Literal["impute", "error"] = "impute", n_jobs: int | None = None, verbose: int = 0) -> None:
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose


class Weighing(Weighted, Fixed):
    """Those of them to which it makes a difference what row weights mean."""

    def __init__(
        self,
        *,
        missing: Literal["impute", "error"] = "impute",
        weights: Literal["relative", "repeats"] = "relative",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(missing=missing, n_jobs=n_jobs, verbose=verbose)
        self.weights = weights


class Selecting(Baseline):
    """Base of the methods that choose hyper-parameters."""

    def __init__(
        self,
        *,
        grid: Literal["full", "coarse"] = "full",
        missing: Literal["impute", "error"] = "impute",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.grid = grid
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SelectingWeighing(Weighted, Selecting):
    """Those of them that have row weights."""

    def __init__(
        self,
        *,
        grid: Literal["full", "coarse"] = "full",
        missing: Literal["impute", "error"] = "impute",
        weights: Literal["relative", "repeats"] = "relative",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(grid=grid, missing=missing, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
        self.weights = weights


class TrainingMean(Weighted, Fixed):
    """The training mean of each target, whatever the inputs: the least a method must beat.

    Parameters
    ----------
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import TrainingMean
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = TrainingMean().fit(X, y)
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> mean.shape, std.shape
    ((3,), (3,))
    """

    _method = "mean"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class Ridge(Weighing):
    """Linear regression with one ridge penalty per target, chosen by generalised cross-validation.

    Parameters
    ----------
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    weights : {"relative", "repeats"}, default="relative"
        What ``sample_weight`` means; see :class:`rffblr.RFFBLRRegressor`.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = Ridge().fit(X, y)
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> mean.shape, std.shape
    ((3,), (3,))
    """

    _method = "ridge"


class GaussianProcess(Weighing):
    """Gaussian process, RBF plus linear kernel shared by all targets, parameters by evidence.

    Parameters
    ----------
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    weights : {"relative", "repeats"}, default="relative"
        What ``sample_weight`` means; see :class:`rffblr.RFFBLRRegressor`.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import GaussianProcess
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = GaussianProcess().fit(X, y)
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> mean.shape, std.shape
    ((3,), (3,))
    """

    _method = "gp"


class MMR(Selecting):
    """Kernel regression with a low-rank structure matrix between the targets.

    Parameters
    ----------
    grid : {"full", "coarse"}, default="full"
        Hyper-parameters to try.
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    random_state : int, RandomState or None, default=0
        Seed of all random draws.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Attributes
    ----------
    chosen_ : dict
        Hyper-parameters found by selection.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import MMR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = MMR(grid="coarse").fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _method = "mmr"


class GORELM(SelectingWeighing):
    """1000 random neurons, robust loss and row-sparse output weights shared by all targets.

    Parameters
    ----------
    grid : {"full", "coarse"}, default="full"
        Hyper-parameters to try.
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    weights : {"relative", "repeats"}, default="relative"
        What ``sample_weight`` means; see :class:`rffblr.RFFBLRRegressor`.
    random_state : int, RandomState or None, default=0
        Seed of all random draws.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Attributes
    ----------
    chosen_ : dict
        Hyper-parameters found by selection.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import GORELM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = GORELM(grid="coarse").fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _method = "gor-elm"


class MTFL(Selecting):
    """Group lasso on random Fourier features: each is used by all targets or none.

    Parameters
    ----------
    grid : {"full", "coarse"}, default="full"
        Hyper-parameters to try.
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    random_state : int, RandomState or None, default=0
        Seed of all random draws.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Attributes
    ----------
    chosen_ : dict
        Hyper-parameters found by selection.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import MTFL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = MTFL(grid="coarse").fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _method = "mtfl"


class SBELM(SelectingWeighing):
    """Sparse Bayesian regression on random cosines, one model per target.

    Parameters
    ----------
    grid : {"full", "coarse"}, default="full"
        Hyper-parameters to try.
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    weights : {"relative", "repeats"}, default="relative"
        What ``sample_weight`` means; see :class:`rffblr.RFFBLRRegressor`.
    random_state : int, RandomState or None, default=0
        Seed of all random draws.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Attributes
    ----------
    chosen_ : dict
        Hyper-parameters found by selection.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import SBELM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = SBELM(grid="coarse").fit(X, y)
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> mean.shape, std.shape
    ((3,), (3,))
    """

    _method = "sb-elm"


class FNN(Selecting):
    """Feed-forward network, layers by inner cross-validation.

    Parameters
    ----------
    activation : {"relu", "gaussian"}, default="relu"
        What a neuron computes.
    grid : {"full", "coarse"}, default="full"
        Hyper-parameters to try.
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    random_state : int, RandomState or None, default=0
        Seed of all random draws.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Attributes
    ----------
    chosen_ : dict
        Hyper-parameters found by selection.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import FNN
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = FNN(grid="coarse").fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        *,
        activation: Literal["relu", "gaussian"] = "relu",
        grid: Literal["full", "coarse"] = "full",
        missing: Literal["impute", "error"] = "impute",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(grid=grid, missing=missing, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
        self.activation = activation

    @property
    def _method(self) -> str:
        return _variant("activation", self.activation, {"relu": "fnn", "gaussian": "fnn-gaussian"})


class HIVAE(Selecting):
    """Variational autoencoder in which the targets of the rows to be predicted are missing cells.

    Parameters
    ----------
    learning : {"transductive", "inductive"}, default="transductive"
        Whether the rows to be predicted take part in the training (their inputs, not their targets). Then every call of
        ``predict`` trains.
    grid : {"full", "coarse"}, default="full"
        Training of full length, or short.
    missing : {"impute", "error"}, default="impute"
        Missing inputs: take the training median and mark them, or refuse them.
    random_state : int, RandomState or None, default=0
        Seed of all random draws.
    n_jobs : int, optional
        Threads, as joblib counts them.
    verbose : int, default=0
        Whether to print the progress of the fit on standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.baselines import HIVAE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(24, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=24)
    >>> model = HIVAE(learning="inductive", grid="coarse").fit(X, y)
    >>> model.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        *,
        learning: Literal["transductive", "inductive"] = "transductive",
        grid: Literal["full", "coarse"] = "full",
        missing: Literal["impute", "error"] = "impute",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(grid=grid, missing=missing, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
        self.learning = learning

    @property
    def _method(self) -> str:
        return _variant(
            "learning", self.learning, {"transductive": "hi-vae", "inductive": "hi-vae-inductive"}
        )


def _variant(name: str, value: str, known: dict[str, str]) -> str:
    if value not in known:
        raise ValueError(f"{name}={value!r}: write {' or '.join(known)}")
    return known[value]
