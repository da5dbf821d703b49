"""Scorers for ``scoring=`` of scikit-learn that leave out the cells whose truth is NaN.

A scorer must be better the higher it is: :func:`neg_nlpd` and :func:`neg_crps` are ``nlpd`` and ``crps`` of
:mod:`rffblr.metrics` with the sign turned. :func:`coverage` is a diagnostic, not to be maximised: the best is close to 0.9.

>>> import numpy as np
>>> from sklearn.model_selection import cross_validate
>>> from rffblr import RFFBLRRegressor, scorers
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(-2, 2, size=(60, 2))
>>> Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(60, 2))
>>> Y[::5, 0] = np.nan
>>> scoring = {"r2": scorers.r2_task, "nlpd": scorers.neg_nlpd, "coverage": scorers.coverage}
>>> found = cross_validate(RFFBLRRegressor(), X, Y, cv=3, scoring=scoring)
>>> bool(found["test_r2"].min() > 0.8)
True
"""

from typing import Any

from . import metrics

__all__ = ["coverage", "neg_crps", "neg_nlpd", "r2_pooled", "r2_task"]


def r2_task(estimator: Any, X: Any, y: Any) -> float:
    """Mean of R² over the targets that vary.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr import RFFBLRRegressor, scorers
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> bool(scorers.r2_task(RFFBLRRegressor().fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0])) > 0.999)
    True
    """
    return metrics.r2_task(y, estimator.predict(X))


def r2_pooled(estimator: Any, X: Any, y: Any) -> float:
    """R² of all known cells as one vector.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr import RFFBLRRegressor, scorers
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> bool(scorers.r2_pooled(RFFBLRRegressor().fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0])) > 0.999)
    True
    """
    return metrics.r2_pooled(y, estimator.predict(X))


def neg_nlpd(estimator: Any, X: Any, y: Any) -> float:
    """Mean log density of the truth: minus the negative log predictive density.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr import RFFBLRRegressor, scorers
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> bool(scorers.neg_nlpd(RFFBLRRegressor().fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0])) > 0)
    True
    """
    return -metrics.nlpd(y, *estimator.predict(X, return_std=True))


def neg_crps(estimator: Any, X: Any, y: Any) -> float:
    """Minus the continuous ranked probability score.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr import RFFBLRRegressor, scorers
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> bool(scorers.neg_crps(RFFBLRRegressor().fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0])) > -0.1)
    True
    """
    return -metrics.crps(y, *estimator.predict(X, return_std=True))


def coverage(estimator: Any, X: Any, y: Any) -> float:
    """Share of the truth inside the 90 % intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr import RFFBLRRegressor, scorers
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> bool(scorers.coverage(RFFBLRRegressor().fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0])) > 0.8)
    True
    """
    return metrics.coverage(y, *estimator.predict(X, return_std=True))
