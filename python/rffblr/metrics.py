"""Scores of predictions that leave out the cells whose truth is NaN; the formulas are those of the command line.

Truth and predictions are of shape (n_samples,) or (n_samples, n_targets).
"""

from typing import Any

import numpy as np

from . import _rffblr
from ._base import Floats, judged_cells, r2
from ._frames import table_of, targets_of

__all__ = ["coverage", "crps", "nlpd", "r2_pooled", "r2_task"]


def _score(name: str, y: Any, mean: Any, std: Any = None, level: float = 0.9) -> float:
    tables = {"y": _table("y", y), "mean": _table("mean", mean)}
    if name in ("nlpd", "crps", "coverage"):
        tables["std"] = _table("std", std)
        if np.any(tables["std"] < 0):
            raise ValueError("std has a negative entry; standard deviations are from 0 on")
    shape = tables["y"].shape
    for part, table in tables.items():
        if table.shape != shape:
            raise ValueError(f"{part} has {_counted(table)}, but y has {_counted(tables['y'])}")
    if not 0 < level < 1:
        raise ValueError(f"level={level!r}: write a probability between 0 and 1")
    if name == "r2_task":
        return r2(tables["y"], tables["mean"], None, 4)
    tables["y"] = judged_cells(tables["y"], tables["mean"], 5)
    tables = {part: np.where(np.isnan(tables["y"]), 0.0, table) if part != "y" else table for part, table in tables.items()}
    return float(_rffblr.scores(tables["y"], tables["mean"], tables.get("std"), level)[name])


def _table(name: str, values: Any) -> Floats:
    numbers: Floats = np.asarray(targets_of(table_of(values))[0], dtype=np.float64)
    if numbers.ndim not in (1, 2) or not numbers.size:
        shapes = "(n_samples,) or (n_samples, n_targets), with at least one row"
        raise ValueError(f"{name} has shape {numbers.shape}, expected {shapes}")
    return numbers.reshape(len(numbers), -1)


def _counted(table: Floats) -> str:
    return f"{table.shape[0]} rows of {table.shape[1]} targets"


def r2_task(y: Any, mean: Any) -> float:
    """Mean over the targets that vary of R², each over the rows in which it is known. Higher is better.

    A target that never varies has nothing to explain and does not count; without any other the score is NaN, with a
    warning. Cells whose prediction is NaN are left out, with a warning too. It is what ``score`` of every estimator returns.

    Examples
    --------
    >>> import numpy as np
    >>> from rffblr.metrics import r2_task
    >>> y = np.array([[1.0, 10.0], [2.0, np.nan], [3.0, 30.0]])
    >>> r2_task(y, y + [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    0.75
    """
    return _score("r2_task", y, mean)


def r2_pooled(y: Any, mean: Any) -> float:
    """R² of all known cells taken as one long vector. Higher is better.

    Examples
    --------
    >>> from rffblr.metrics import r2_pooled
    >>> round(r2_pooled([[0.0, 10.0], [2.0, 12.0]], [[1.0, 11.0], [1.0, 11.0]]), 3)
    0.962
    """
    return _score("r2_pooled", y, mean)


def nlpd(y: Any, mean: Any, std: Any) -> float:
    """Negative log density of the truth under normal predictions, mean over all known cells, in nats. Lower is better.

    Examples
    --------
    >>> from rffblr.metrics import nlpd
    >>> round(nlpd([0.0, 0.0], [0.0, 0.0], [1.0, 1.0]), 4)
    0.9189
    """
    return _score("nlpd", y, mean, std)


def crps(y: Any, mean: Any, std: Any) -> float:
    """Continuous ranked probability score of normal predictions, mean over all known cells. Lower is better.

    Examples
    --------
    >>> from rffblr.metrics import crps
    >>> round(crps([0.0], [0.0], [1.0]), 4)
    0.2337
    """
    return _score("crps", y, mean, std)


def coverage(y: Any, mean: Any, std: Any, level: float = 0.9) -> float:
    """Share of all known cells inside the central interval of probability ``level``; best close to it.

    Examples
    --------
    >>> from rffblr.metrics import coverage
    >>> coverage([0.0, 5.0], [0.0, 0.0], [1.0, 1.0])
    0.5
    """
    return _score("coverage", y, mean, std, level)
