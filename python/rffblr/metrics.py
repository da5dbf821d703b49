"""Scores of predictions that leave out the cells whose truth is NaN; the formulas are those of the command line.

Truth and predictions are of shape (n_samples,) or (n_samples, n_targets).
"""

import numpy as np

from . import _rffblr
from ._frames import targets_of

__all__ = ["coverage", "crps", "nlpd", "r2_pooled", "r2_task"]


def _score(name, y, mean, std=None, level=0.9):
    tables = [None if table is None else _table(table) for table in (y, mean, std)]
    return _rffblr.scores(*tables, level)[name]


def _table(values):
    values = np.asarray(targets_of(values)[0], dtype=np.float64)
    return values.reshape(len(values), -1)


def r2_task(y, mean):
    """Mean over targets of R², each over the rows in which it is known. Higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.metrics import r2_task
    >>> y = np.array([[1.0, 10.0], [2.0, np.nan], [3.0, 30.0]])
    >>> r2_task(y, y + [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    0.75
    """
    return _score("r2_task", y, mean)


def r2_pooled(y, mean):
    """R² of all known cells taken as one long vector. Higher is better.

    Examples
    --------
    >>> from rffblr.metrics import r2_pooled
    >>> round(r2_pooled([[0.0, 10.0], [2.0, 12.0]], [[1.0, 11.0], [1.0, 11.0]]), 3)
    0.962
    """
    return _score("r2_pooled", y, mean)


def nlpd(y, mean, std):
    """Negative log density of the truth under normal predictions, mean over all known cells, in nats. Lower is better.

    Examples
    --------
    >>> from rffblr.metrics import nlpd
    >>> round(nlpd([0.0, 0.0], [0.0, 0.0], [1.0, 1.0]), 4)
    0.9189
    """
    return _score("nlpd", y, mean, std)


def crps(y, mean, std):
    """Continuous ranked probability score of normal predictions, mean over all known cells. Lower is better.

    Examples
    --------
    >>> from rffblr.metrics import crps
    >>> round(crps([0.0], [0.0], [1.0]), 4)
    0.2337
    """
    return _score("crps", y, mean, std)


def coverage(y, mean, std, level=0.9):
    """Share of all known cells inside the central interval of probability ``level``; best close to it.

    Examples
    --------
    >>> from rffblr.metrics import coverage
    >>> coverage([0.0, 5.0], [0.0, 0.0], [1.0, 1.0])
    0.5
    """
    return _score("coverage", y, mean, std, level)
