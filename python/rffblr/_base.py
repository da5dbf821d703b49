"""What every estimator of the package shares: reading inputs and targets, predicting, scoring."""

import numbers
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Literal, TypeVar, overload

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._frames import (
    RFFBLRWarning, aligned, columns_of, frame, is_frame, library_of, names_of, numbers_of, table_of, targets_of,
)
from ._progress import FRAMES
from ._rffblr import reach


Floats = NDArray[np.float64]


Self = TypeVar("Self", bound="Estimator")


class Given:
    """Inputs, targets, names and weights as the compiled part reads them."""

    def __init__(
        self,
        inputs: Any,
        input_names: list[str],
        targets: Floats,
        target_names: list[str],
        weights: Floats | None,
        weighting: str,
        missing: str,
    ) -> None:
        self.inputs = inputs
        self.input_names = input_names
        self.targets = targets
        self.target_names = target_names
        self.weights = weights
        self.weighting = weighting
        self.missing = missing


def generated(letter: str, count: int) -> list[str]:
    """``x1, x2, …`` as the library names columns without a name."""
    return [f"{letter}{number}" for number in range(1, count + 1)]


def abreast(tables: Sequence[Floats]) -> Floats:
    """Tables of one shape along a last axis, some rows at a time: between them an interrupt is heard."""
    first = tables[0]
    if len(tables) == 1:
        return first[..., np.newaxis]
    out = np.empty((*first.shape, len(tables)))
    rows = max(1, 2**20 // max(1, first.shape[1] * len(tables)))
    for start in range(0, len(out), rows):
        run = slice(start, start + rows)
        np.stack([table[run] for table in tables], axis=-1, out=out[run])
    return out


def apart(target_names: list[str] | None, count: int, input_names: list[str]) -> list[str]:
    """Names of the targets that no input has: those given, with ``_target`` added where an input has the same."""
    taken = set(input_names)
    if target_names is None:
        letter = "y"
        while taken & set(generated(letter, count)):
            letter += "_"
        return generated(letter, count)
    taken |= set(target_names)
    out = []
    for name in target_names:
        if name in input_names:
            name += "_target"
            while name in taken:
                name += "_"
            taken.add(name)
        out.append(name)
    return out


class Estimator(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Base of the estimators. A fitted one holds the compiled model in ``model_``."""

    missing: Literal["impute", "error"]
    # Methods for which all weights mean the same, or that have none, have no such parameter.
    weights: Literal["relative", "repeats"] = "relative"
    random_state: Any
    n_jobs: int | None
    verbose: int
    model_: Any
    # The class of what is compiled, which can be restored.
    _compiled: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_outputs_: int
    target_names_: NDArray[Any]
    notes_: list[str]
    _flat: bool
    _library: str | None
    # Positions of targets of which the training rows have no value.
    _unobserved: list[int] = []

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "impute"
        tags.target_tags.required = True
        return tags

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """If a fit fails, restores the estimator to its earlier state, fitted or not."""

        def learned() -> dict[str, Any]:
            own = ("_flat", "_library", "_unobserved")
            return {name: value for name, value in vars(self).items() if name in own or name.endswith("_")}

        before = learned()
        try:
            yield
        except BaseException:
            for name in learned():
                delattr(self, name)
            self.__dict__.update(before)
            raise

    # A pickle, and a file of skops, hold texts and arrays alone: what the compiled model is made of.

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = state["model_"].__reduce__()[1]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            state = {**state, "model_": self._compiled.restore(*state["model_"])}
        super().__setstate__(state)

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        # The compiled model never changes and need not be copied.
        copy = type(self).__new__(type(self))
        memo[id(self)] = copy
        copy.__dict__.update(deepcopy(self.__dict__, memo))
        return copy

    # Reading

    def _read_inputs(self, X: Any, reset: bool) -> tuple[Any, list[str]]:
        """Inputs for the compiled part (an array, or a list of columns) and their names."""
        X = table_of(X)
        if is_frame(X):
            validate_data(self, X=X, reset=reset, skip_check_array=True)
            if X.shape[1] == 0:
                raise ValueError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
            if reset and X.shape[0] < 2:
                raise ValueError(f"Found a frame with {X.shape[0]} sample(s) while a minimum of 2 is required.")
            names = self._input_names(X)
            numbers = numbers_of(X)
            if numbers is None:
                return columns_of(X, names), names
            return self._check_numbers(numbers), names
        X = validate_data(
            self,
            X=X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        return aligned(X), generated("x", X.shape[1])

    def _input_names(self, frame: Any) -> list[str]:
        """What the model calls the columns of a frame that scikit-learn's rules have let pass: they go by position."""
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        names = generated("x", frame.shape[1])
        found = names_of(frame)
        # A file does not say whether names were given or generated.
        if found and found != names and sorted(found) == sorted(names):
            raise ValueError(
                f"The feature names should match those of the model, in the same order: {', '.join(names[:5])}"
                f"{', …' if len(names) > 5 else ''}"
            )
        return names

    def _check_numbers(self, numbers: Any) -> Any:
        found = check_array(numbers, dtype=np.float64, ensure_all_finite="allow-nan", estimator=self, input_name="X")
        return aligned(found)

    def _read_training(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Given:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        for name, known in (("missing", ("impute", "error")), ("weights", ("relative", "repeats"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: write {' or '.join(known)}")
        X = table_of(X)
        inputs, input_names = self._read_inputs(X, reset=True)
        rows = len(inputs) if isinstance(inputs, np.ndarray) else X.shape[0]
        targets, target_names, self._flat = self._read_targets(y, rows)
        target_names = apart(target_names, targets.shape[1], input_names)
        weights = self._read_weights(sample_weight, rows)
        self.n_outputs_ = targets.shape[1]
        self.target_names_ = np.asarray(target_names, dtype=object)
        self._library = library_of(X)
        empty: NDArray[np.bool_] = np.all(np.isnan(targets), axis=0)
        self._unobserved = [] if empty.all() else np.flatnonzero(empty).tolist()
        for c in self._unobserved:
            text = (
                f"target '{target_names[c]}' has no value in the training rows: nothing is learned of it, and its predictions are "
                "NaN; shuffle the rows into folds that have some, or score by rffblr.scorers, which leave it out with a warning"
            )
            warnings.warn(text, RFFBLRWarning, stacklevel=3 + FRAMES)
        if self._unobserved:
            targets, target_names = targets[:, ~empty], [name for name, out in zip(target_names, empty) if not out]
        return Given(inputs, input_names, targets, target_names, weights, self.weights, self.missing)

    def _all_targets(self, table: Floats, axis: int) -> Floats:
        """A table of the targets that were learned as one of all targets: those of which nothing is known are NaN."""
        if not self._unobserved:
            return table
        places = [place - before for before, place in enumerate(self._unobserved)]
        return np.insert(table, places, np.nan, axis=axis)

    def _read_targets(self, y: Any, rows: int) -> tuple[Floats, list[str] | None, bool]:
        """Targets as rows × targets, their names if they have any, and whether they were a single column without them."""
        targets, names = targets_of(table_of(y))
        targets = check_array(
            targets, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", estimator=self, input_name="y"
        )
        check_consistent_length(np.empty(rows), targets)
        targets = aligned(targets)
        flat = targets.ndim == 1
        return targets.reshape(-1, 1) if flat else targets, names, flat

    def _read_weights(self, sample_weight: ArrayLike | None, rows: int) -> Floats | None:
        if sample_weight is None:
            return None
        weights: Floats = _check_sample_weight(
            sample_weight, np.empty((rows, 1)), dtype=np.float64, ensure_non_negative=True
        )
        return aligned(weights)

    def _seed(self) -> int:
        """The seed itself if it is a number; else one drawn from it."""
        if isinstance(self.random_state, (int, np.integer)) and not isinstance(self.random_state, bool):
            if not 0 <= self.random_state < 2**64:
                raise ValueError(f"random_state={self.random_state}: a seed is a whole number from 0 to 2**64 - 1")
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _threads(self) -> int:
        return int(joblib.effective_n_jobs(self.n_jobs))

    # Answering

    def _shaped(self, table: Floats) -> Floats:
        return table[:, 0] if self._flat else table

    def _placed(self) -> Any:
        """The compiled model, where predictions are to be computed."""
        return self.model_

    def _answer(self, X: Any, uncertain: bool) -> tuple[Floats, Floats | None]:
        """Mean and, if wanted and known, standard deviation, each rows × targets."""
        check_is_fitted(self)
        inputs, _ = self._read_inputs(X, reset=False)
        mean, std, notes = self._placed().predict(inputs, uncertain, self._threads())
        _warn(notes, 4)
        return self._all_targets(mean, 1), None if std is None else self._all_targets(std, 1)

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Floats: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Floats, Floats]: ...

    @overload
    def predict(self, X: Any, return_std: bool) -> Floats | tuple[Floats, Floats]: ...

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Expected targets of new rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Inputs; NaN is a missing cell.
        return_std : bool, default=False
            Whether to return the standard deviation of an observation too: what is not known about the function, and
            the noise.

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
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]))
        >>> mean, std = model.predict([[1.0], [30.0]], return_std=True)
        >>> bool(abs(mean[0] - np.sin(1.0)) < 0.02), bool(std[1] > 5 * std[0])
        (True, True)
        """
        mean, std = self._answer(X, return_std)
        if not return_std:
            return self._shaped(mean)
        return self._shaped(mean), self._shaped(self._known(std))

    def predict_interval(self, X: Any, coverage: float | Sequence[float] = 0.9) -> tuple[Floats, Floats]:
        """Ends of the central interval that holds an observation with the given probability.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Inputs; NaN is a missing cell.
        coverage : float or sequence of float, default=0.9
            The probability, between 0 and 1; or several.

        Returns
        -------
        lower, upper : arrays of shape (n_samples,) or (n_samples, n_targets)
            With several probabilities there is one more axis, the last, for these.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> y = np.sin(X[:, 0])
        >>> model = RFFBLRRegressor().fit(X, y)
        >>> lower, upper = model.predict_interval(X, coverage=0.95)
        >>> bool(np.mean((lower <= y) & (y <= upper)) > 0.9)
        True
        >>> lower, upper = model.predict_interval(X, coverage=[0.5, 0.9])
        >>> lower.shape
        (40, 2)
        """
        if isinstance(coverage, (float, int, numbers.Real)):
            _, std, [(lower, upper)] = self._spread(X, [float(coverage)])
        else:
            _, std, ends = self._spread(X, [float(each) for each in coverage])
            shape = (*self._known(std).shape, 0)
            lower, upper = (np.stack(side, axis=-1) for side in zip(*ends)) if ends else (np.empty(shape), np.empty(shape))
        self._known(std)
        return self._shaped(lower), self._shaped(upper)

    def _spread(self, X: Any, coverages: Sequence[float]) -> tuple[Floats, Floats | None, list[tuple[Floats, Floats]]]:
        """Point prediction, standard deviation if there is one, and ends of each interval, each rows × targets."""
        reaches = [reach(coverage) for coverage in coverages]
        mean, std = self._answer(X, True)
        return mean, std, [(mean, mean) if std is None else (mean - half * std, mean + half * std) for half in reaches]

    def predict_frame(self, X: Any, coverage: float = 0.9, frame_library: str | None = None) -> Any:
        """Predictions as a named frame: for each target a point, its standard deviation and interval.

        The columns are those that ``rffblr predict`` writes: ``t``, ``t_std``, ``t_lower``, ``t_upper`` for a target
        ``t``.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Inputs; NaN is a missing cell.
        coverage : float, default=0.9
            Probability that an observation lies between lower and upper.
        frame_library : {"pandas", "polars"}, optional
            Kind of the frame; that of ``X`` if it is one, else pandas, else polars.

        Returns
        -------
        frame : DataFrame with a row for each of ``X``, and its index if it has one

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> list(RFFBLRRegressor().fit(X, np.sin(X[:, 0])).predict_frame(X).columns)
        ['y1', 'y1_std', 'y1_lower', 'y1_upper']
        """
        mean, std, [(lower, upper)] = self._spread(X, [coverage])
        columns: dict[str, Floats] = {}
        owners: dict[str, str] = {}
        for c, name in enumerate(self.target_names_):
            parts = {name: mean[:, c]}
            if std is not None:
                parts[f"{name}_std"] = std[:, c]
                parts[f"{name}_lower"] = lower[:, c]
                parts[f"{name}_upper"] = upper[:, c]
            for column in parts:
                if column in columns:
                    raise ValueError(
                        f"targets {owners[column]!r} and {name!r} would both have a column {column!r}; rename one"
                    )
                owners[column] = name
            columns.update(parts)
        X = table_of(X)
        library = frame_library or library_of(X)
        return frame(columns, library, getattr(X, "index", None) if library == "pandas" else None)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Mean over the targets that vary of R², each over the rows in which it is known; NaN if none varies.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Inputs.
        y : array or frame of shape (n_samples,) or (n_samples, n_targets)
            True targets; NaN cells are left out.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        score : float

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> y = np.sin(X[:, 0])
        >>> y[3] = np.nan
        >>> bool(RFFBLRRegressor().fit(X, y).score(X, y) > 0.999)
        True
        """
        mean, _ = self._answer(X, False)
        truth = np.asarray(targets_of(table_of(y))[0], dtype=np.float64)
        if truth.shape != mean.shape and (mean.shape[1] > 1 or truth.shape != mean.shape[:1]):
            expected = mean.shape if mean.shape[1] > 1 else mean.shape[:1]
            raise ValueError(f"y has shape {truth.shape}, but the predictions have shape {expected}")
        return r2(truth.reshape(mean.shape), mean, sample_weight, 4)

    def _known(self, std: Floats | None) -> Floats:
        if std is None:
            raise ValueError(f"{type(self).__name__} gives no standard deviation; RFFBLRRegressor does")
        return std


def judged_cells(truth: Floats, mean: Floats, level: int) -> Floats:
    """The truth without cells that were not predicted, which are warned of ``level`` frames up."""
    unknown = np.isnan(mean) & ~np.isnan(truth)
    if unknown.any():
        columns = int(unknown.any(axis=0).sum())
        _warn([f"{unknown.sum()} cells of {columns} target(s) were not predicted (NaN) and are left out of the score"], level)
        truth = np.where(unknown, np.nan, truth)
    return truth


def r2(truth: Floats, mean: Floats, sample_weight: ArrayLike | None, level: int) -> float:
    """Mean of R² over the targets that vary; warns ``level`` frames up where there is none."""
    truth = judged_cells(truth, mean, level + 1)
    weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != truth.shape[:1]:
        raise ValueError(f"sample_weight has shape {weights.shape}, expected {truth.shape[:1]}: one for each row")
    scores = []
    for c, known in enumerate((~np.isnan(truth) & (weights > 0)[:, None]).T):
        if len(np.unique(truth[known, c])) > 1:
            weight = None if sample_weight is None else weights[known]
            scores.append(r2_score(truth[known, c], mean[known, c], sample_weight=weight))
    if not scores:
        _warn(["R² is not defined (NaN): no target varies among the cells that are known"], level + 1)
    return float(np.mean(scores)) if scores else float("nan")


def _warn(notes: Iterable[str], level: int) -> None:
    """Warns of notes at the line of the caller, ``level`` frames up as in ``warnings.warn``."""
    for note in notes:
        warnings.warn(note, RFFBLRWarning, stacklevel=level)
