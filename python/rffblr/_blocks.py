"""Models from blocks of rows that may lie anywhere: what a cluster sits on."""

import numbers
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import ArrayLike

from . import _rffblr
from ._base import _warn, generated
from ._forms import Drawn
from ._frames import table_of
from ._progress import Steps
from ._regressor import RFFBLRRegressor
from ._settings import whole


class FeatureMap:
    """What turns rows into features: kernels learned from a sample, scales, levels of texts, and a seed.

    Every process that has the map computes the same features of any rows. It is made by :meth:`learn`, goes to other
    processes as a pickle or as JSON, and makes a model of what :class:`Accumulator` has added up.

    Attributes
    ----------
    features : int
        Number of cosines and sines.
    notes : list of str
        What was noticed in the sample; empty for a map from a pickle or from JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr import Accumulator, FeatureMap
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(4000, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=4000)
    >>> features = FeatureMap.learn(X[::4], y[::4], rows=4000, features=64)
    >>> here, there = Accumulator(features), Accumulator(features)       # in two processes, say
    >>> for block in range(4):
    ...     part = slice(1000 * block, 1000 * (block + 1))
    ...     _ = (here, there)[block % 2].update(block, X[part], y[part])
    >>> here.merge(there).rows
    4000
    >>> model = features.model(here)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(self, _map: _rffblr.FeatureMap, _notes: list[str] | None = None) -> None:
        self._map = _map
        self.notes = _notes or []

    @classmethod
    def learn(
        cls,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        rows: float,
        features: int | None = None,
        max_iterations: int | None = None,
        device: str | None = None,
        seed: int = 0,
        missing: Literal["impute", "error"] = "impute",
        weights: Literal["relative", "repeats"] = "relative",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> "FeatureMap":
        """Learns a map from a random sample of the rows.

        Parameters
        ----------
        X, y : array or frame
            Inputs and targets of the sample, as :meth:`RFFBLRRegressor.fit` takes them. More than 96 000 rows, times
            ``effort``, are of no more use. A level of a text that the sample does not have is taken for unknown later on.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row. If the sample has weights, so must all blocks.
        rows : int
            About how many rows there are in all: how many features they afford, and how long learning may take.
        features : int, optional
            Number of cosines and sines; by default 512, or 1024 or 2048 if there are 100 rows for each.
        seed : int, default=0
            Seed of all random draws.
        max_iterations, device, missing, weights, n_jobs, verbose
            As in :class:`RFFBLRRegressor`.

        Returns
        -------
        map : FeatureMap
        """
        if isinstance(rows, (bool, np.bool_)) or not isinstance(rows, numbers.Real) or not 1 <= rows < float("inf"):
            raise ValueError(f"rows={rows!r}: write the number of rows of all blocks together, about")
        estimator = RFFBLRRegressor(
            form=Drawn(features=None if features is None else whole("features", features, 2)),
            max_iterations=max_iterations,
            device=device,
            missing=missing,
            weights=weights,
            random_state=seed,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        given = estimator._read_training(X, y, sample_weight)
        steps = Steps(estimator, X, y, sample_weight)
        found, notes = _rffblr.learn(
            given, float(rows), estimator._settings(), estimator._threads(), steps.listener
        )
        steps.end(f"{found.features} features", notes)
        return cls(found, notes)

    @property
    def features(self) -> int:
        """Number of cosines and sines."""
        return self._map.features

    def model(self, accumulator: "Accumulator", n_jobs: int | None = None) -> RFFBLRRegressor:
        """The model of the rows that were added up.

        Parameters
        ----------
        accumulator : Accumulator
            All blocks, merged. It is left as it is: more blocks can be added for another model.
        n_jobs : int, optional
            Threads, as joblib counts them.

        Returns
        -------
        model : RFFBLRRegressor
            Fitted. As one that was loaded from a file it does not have the training rows: there is no ``loo_predict``, and
            explanations need rows as ``background``. Predictions of a single target are flat.
        """
        threads = int(joblib.effective_n_jobs(n_jobs))
        return RFFBLRRegressor._of(self._map.model(accumulator._sums, threads))

    def to_json(self) -> str:
        """As text that :meth:`from_json` reads."""
        return self._map.to_json()

    @classmethod
    def from_json(cls, text: str) -> "FeatureMap":
        """From the text of :meth:`to_json`."""
        return cls(_rffblr.FeatureMap.from_json(text))

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return FeatureMap.from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureMap) and self._map == other._map

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"FeatureMap(features={self.features}, targets={self._map.target_names})"


class Accumulator:
    """Sums over blocks of rows, of which :meth:`FeatureMap.model` makes a model.

    Blocks may be added in any order, by any number of processes whose accumulators are merged: the model has the same
    bits. For M features it takes 8·M² bytes for each block that waits for a neighbour, so that blocks with consecutive
    numbers belong in one process. Several threads may add blocks at once.

    Parameters
    ----------
    feature_map : FeatureMap
        What turns rows into features.
    n_jobs : int, optional
        Threads, as joblib counts them: one, unless a joblib context says otherwise; -1 for all cores.

    Examples
    --------
    See :class:`FeatureMap`.
    """

    def __init__(self, feature_map: FeatureMap, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self._hold(_rffblr.Accumulator(feature_map._map))

    def _hold(self, sums: _rffblr.Accumulator) -> None:
        self._sums = sums
        # Reads blocks by the rules of an estimator that was fitted to the sample.
        self._reader = RFFBLRRegressor()
        columns = sums.map.input_columns
        self._reader.n_features_in_ = len(columns)
        if columns != generated("x", len(columns)):
            self._reader.feature_names_in_ = np.asarray(columns, dtype=object)

    def update(self, number: int, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> "Accumulator":
        """Adds a block of rows; if that fails or is interrupted, nothing has changed.

        Parameters
        ----------
        number : int
            Number of the block, not negative; each is added once. Blocks of some 30 000 rows are a good size.
        X, y : array or frame
            Inputs and targets, with the columns of the sample. NaN in ``y`` is a cell that was not observed.
        sample_weight : array of shape (n_samples,), optional
            Weights, if the map was learned with weights.

        Returns
        -------
        self : Accumulator
        """
        number = whole("number", number, 0)
        X, y = table_of(X), table_of(y)
        if len(X) == 0:
            return self
        inputs, _ = self._reader._read_inputs(X, reset=False)
        rows = len(inputs) if isinstance(inputs, np.ndarray) else X.shape[0]
        targets, _, _ = self._reader._read_targets(y, rows)
        weights = self._reader._read_weights(sample_weight, rows)
        notes = self._sums.update(number, inputs, targets, weights, int(joblib.effective_n_jobs(self.n_jobs)))
        _warn(notes, 3)
        return self

    def merge(self, other: "Accumulator") -> "Accumulator":
        """Adds the blocks of another accumulator of the same map, which is left as it is.

        Parameters
        ----------
        other : Accumulator
            Another, without a block that is in this one.

        Returns
        -------
        self : Accumulator
        """
        self._sums.merge(other._sums)
        return self

    def has(self, number: int) -> bool:
        """Whether a block was added."""
        return self._sums.has(whole("number", number, 0))

    @property
    def rows(self) -> int:
        """Rows that were added, without those that have no target or no weight."""
        return self._sums.rows

    @property
    def feature_map(self) -> FeatureMap:
        """The map it is for."""
        return FeatureMap(self._sums.map)

    def to_bytes(self) -> bytes:
        """As bytes that :meth:`from_bytes` reads on any machine, the map included."""
        return self._sums.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Accumulator":
        """From the bytes of :meth:`to_bytes`."""
        self = cls.__new__(cls)
        self.n_jobs = None
        self._hold(_rffblr.Accumulator.from_bytes(data))
        return self

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return Accumulator.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"Accumulator(rows={self.rows}, features={self.feature_map.features})"
