"""RFF-BLR: Bayesian multitask regression by random Fourier features or by their limit.

By default it is a Gaussian process with a learned sum kernel, the limit of infinitely many random Fourier features; beyond
3000 rows features are drawn from the learned kernel, for any number of rows.

>>> import numpy as np
>>> from rffblr import RFFBLRRegressor
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(80, 3))
>>> Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.normal(size=(80, 2))
>>> Y[::7, 1] = np.nan                       # missing target cells are used as such
>>> model = RFFBLRRegressor().fit(X, Y)
>>> mean, std = model.predict(X[:5], return_std=True)
>>> mean.shape, std.shape
((5, 2), (5, 2))
>>> bool(model.score(X, Y) > 0.9)
True
"""

from . import baselines, metrics, scorers
from ._blocks import Accumulator, FeatureMap
from ._forms import Cosines, Drawn, Exact, Sinusoids
from ._frames import RFFBLRWarning
from ._regressor import RFFBLRRegressor
from ._rffblr import __version__

__all__ = [
    "Accumulator",
    "Cosines",
    "Drawn",
    "Exact",
    "FeatureMap",
    "RFFBLRRegressor",
    "RFFBLRWarning",
    "Sinusoids",
    "__version__",
    "baselines",
    "metrics",
    "scorers",
]
