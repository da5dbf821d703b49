"""What every estimator of the package shares: reading inputs and targets, predicting, scoring."""

import warnings

import joblib
import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._frames import RFFBLRWarning, columns_of, frame, is_frame, library_of, names_of, numbers_of, targets_of
from ._rffblr import reach


class Given:
    """Inputs, targets, names and weights as the compiled part reads them."""

    def __init__(self, inputs, input_names, targets, target_names, weights, missing):
        self.inputs = inputs
        self.input_names = input_names
        self.targets = targets
        self.target_names = target_names
        self.weights = weights
        self.missing = missing


def generated(letter, count):
    """``x1, x2, …`` as the library names columns without a name."""
    return [f"{letter}{number}" for number in range(1, count + 1)]


class Estimator(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Base of the estimators. A fitted one holds the compiled model in ``model_``."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    # Reading

    def _read_inputs(self, X, reset):
        """Inputs for the compiled part (an array, or a list of columns) and their names."""
        if is_frame(X):
            validate_data(self, X=X, reset=reset, skip_check_array=True)
            if X.shape[1] == 0:
                raise ValueError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
            if reset and X.shape[0] < 2:
                raise ValueError(f"Found a frame with {X.shape[0]} sample(s) while a minimum of 2 is required.")
            numbers = numbers_of(X)
            if numbers is None:
                return columns_of(X), names_of(X)
            return self._check_numbers(numbers), names_of(X)
        X = validate_data(
            self,
            X=X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        return X, generated("x", X.shape[1])

    def _check_numbers(self, numbers):
        return check_array(numbers, dtype=np.float64, ensure_all_finite="allow-nan", estimator=self, input_name="X")

    def _read_training(self, X, y, sample_weight, missing):
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        inputs, input_names = self._read_inputs(X, reset=True)
        targets, target_names = targets_of(y)
        targets = check_array(
            targets, dtype=np.float64, ensure_2d=False, ensure_all_finite="allow-nan", estimator=self, input_name="y"
        )
        self._flat = targets.ndim == 1
        if self._flat:
            targets = targets.reshape(-1, 1)
        rows = len(inputs) if isinstance(inputs, np.ndarray) else X.shape[0]
        check_consistent_length(np.empty(rows), targets)
        if target_names is None:
            letter = "y"
            while set(generated(letter, targets.shape[1])) & set(input_names):
                letter += "_"
            target_names = generated(letter, targets.shape[1])
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, np.empty((rows, 1)), dtype=np.float64, ensure_non_negative=True
            )
        self.n_outputs_ = targets.shape[1]
        self.target_names_ = np.asarray(target_names, dtype=object)
        self._library = library_of(X)
        return Given(inputs, input_names, targets, target_names, sample_weight, missing)

    def _seed(self):
        """The seed itself if it is a number; else one drawn from it."""
        if isinstance(self.random_state, (int, np.integer)) and not isinstance(self.random_state, bool):
            if not 0 <= self.random_state < 2**64:
                raise ValueError(f"random_state={self.random_state}: a seed is a whole number from 0 to 2**64 - 1")
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _threads(self):
        return joblib.effective_n_jobs(self.n_jobs)

    # Answering

    def _shaped(self, table):
        return table[:, 0] if self._flat else table

    def _answer(self, X, uncertain):
        """Mean and, if wanted and known, standard deviation, each rows × targets."""
        check_is_fitted(self)
        inputs, _ = self._read_inputs(X, reset=False)
        mean, std, notes = self.model_.predict(inputs, uncertain, self._threads())
        _warn(notes)
        return mean, std

    def predict(self, X, return_std=False):
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
        self._require_std(std)
        return self._shaped(mean), self._shaped(std)

    def predict_interval(self, X, coverage=0.9):
        """Ends of the central interval that holds an observation with the given probability.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Inputs; NaN is a missing cell.
        coverage : float, default=0.9
            The probability, between 0 and 1.

        Returns
        -------
        lower, upper : arrays of shape (n_samples,) or (n_samples, n_targets)

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
        >>> y = np.sin(X[:, 0])
        >>> lower, upper = RFFBLRRegressor().fit(X, y).predict_interval(X, coverage=0.95)
        >>> bool(np.mean((lower <= y) & (y <= upper)) > 0.9)
        True
        """
        mean, std = self._answer(X, True)
        self._require_std(std)
        half = reach(coverage) * std
        return self._shaped(mean - half), self._shaped(mean + half)

    def predict_frame(self, X, coverage=0.9, frame_library=None):
        """Predictions as a named frame: for each target its mean, standard deviation and interval.

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
        mean, std = self._answer(X, True)
        columns = {}
        for c, name in enumerate(self.target_names_):
            columns[name] = mean[:, c]
            if std is not None:
                half = reach(coverage) * std[:, c]
                columns[f"{name}_std"] = std[:, c]
                columns[f"{name}_lower"] = mean[:, c] - half
                columns[f"{name}_upper"] = mean[:, c] + half
        library = frame_library or library_of(X)
        return frame(columns, library, getattr(X, "index", None) if library == "pandas" else None)

    def score(self, X, y, sample_weight=None):
        """Mean over targets of R², each over the rows in which it is known.

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
        truth = np.asarray(targets_of(y)[0], dtype=np.float64).reshape(len(mean), -1)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        known = ~np.isnan(truth)
        scores = [
            r2_score(truth[k, c], mean[k, c], sample_weight=None if weights is None else weights[k])
            for c, k in enumerate(known.T)
            if k.any()
        ]
        return float(np.mean(scores)) if scores else float("nan")

    def _require_std(self, std):
        if std is None:
            raise ValueError(f"{type(self).__name__} gives no standard deviation; RFFBLRRegressor does")


def _warn(notes):
    for note in notes:
        warnings.warn(note, RFFBLRWarning, stacklevel=4)
