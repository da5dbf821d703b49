"""Forms of the function. Made from the library's table of settings by `UPDATE=1 cargo test -p rffblr reference`."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ._settings import Form

Preset = Literal["default", "exact", "cosines", "paper", "authors"]


class Exact(Form):
    """The exact Gaussian process whatever the number of rows, up to 20 000.

    Examples
    --------
    >>> from rffblr import Exact, RFFBLRRegressor
    >>> RFFBLRRegressor(form=Exact())
    RFFBLRRegressor(form=Exact())
    """

    _presets = ("exact",)


class Drawn(Form):
    """Cosines drawn from the learned kernel, for any number of rows.

    Parameters
    ----------
    features : int or "automatic", optional
        Cosines to draw: 300, automatic (by the number of rows), or with preset paper per-row:2. [automatic]
    precision : {"free", "tied"}, optional
        Prior precision of the weights: one per feature (free) or one for all (tied). [tied]
    effort : float, optional
        Work that learning from many rows may take: 1 is some minutes of two cores, 30 a minute of a fast GPU. [1]

    Examples
    --------
    >>> from rffblr import Drawn, RFFBLRRegressor
    >>> RFFBLRRegressor(form=Drawn(features=64))
    RFFBLRRegressor(form=Drawn(features=64))
    """

    _presets = ("cosines",)

    def __init__(
        self,
        *,
        features: int | Literal["automatic"] | None = None,
        precision: Literal["free", "tied"] | None = None,
        effort: float | None = None,
    ) -> None:
        self.features = features
        self.precision = precision
        self.effort = effort


class Sinusoids(Form):
    """A formula of few sinusoids, fitted to the posterior mean.

    Parameters
    ----------
    sparsity : float, optional
        From 0, a kernel term for every row and the most accurate, towards 1: 0.75 keeps one sinusoid for four rows. [0.75]

    Examples
    --------
    >>> from rffblr import Sinusoids, RFFBLRRegressor
    >>> RFFBLRRegressor(form=Sinusoids(sparsity=0.9))
    RFFBLRRegressor(form=Sinusoids(sparsity=0.9))
    """

    _presets = ("default",)

    def __init__(
        self,
        *,
        sparsity: float = 0.75,
    ) -> None:
        self.sparsity = sparsity


class Cosines(Form):
    """Cosines drawn at random, weighted and dropped as published.

    Parameters
    ----------
    features : int or str, optional
        Cosines to draw: 300, automatic (by the number of rows), or with preset paper per-row:2. [paper: per-row:2; authors: per-row:1.5]
    spectrum : {"rbf", "laplace-l2", "laplace-l1", "matern32", "matern52"}, optional
        Kernel that the cosines approximate. [rbf]
    offsets : {"random", "paired"}, optional
        Offsets of the cosines. [random]
    directions : {"independent", "orthogonal"}, optional
        Directions of the cosines. [independent]
    links : bool, optional
        Whether the inputs themselves are features too. [paper: false; authors: true]
    link_scale : {"shared", "unit"}, optional
        Links divided by the square root of the number of inputs (shared) or not (unit). [paper: shared; authors: unit]
    precision : {"free", "tied"}, optional
        Prior precision of the weights: one per feature (free) or one for all (tied). [free]
    bandwidth : float or str, optional
        Kernel bandwidth: learned, learned:0.1 to start there, or 0.1 to hold it there. [learned]
    input_scales : sequence of float or str, optional
        Scale of each input in the kernel: learned, uniform, or one number per input: 1,0.5. [uniform]
    noise : {"shared", "per-task"}, optional
        One noise level for all targets or one for each. [shared]
    target_scale : {"standardised", "raw"}, optional
        What the model sees of the targets. [standardised]
    weight_prior : (float, float) or str, optional
        Gamma prior of each weight precision. [paper: 1e-6,1e-6; authors: 1e-14,1e-14]
    noise_prior : (float, float) or str, optional
        Gamma prior of each noise precision. [paper: 1e-6,1e-6; authors: 1e-14,1e-14]
    weight_start : float, optional
        Weight precision before the first sweep, in units of one over the variance of a target. [paper: 1; authors: 10]
    noise_start : float, optional
        Noise precision before the first sweep, in the same units. [paper: 10; authors: 1]
    pruning : float or str, optional
        When features are dropped: never; 0.7, below this fraction of an equal share of the variance; weight:0.1, below this weight in every target. [paper: 0.7; authors: weight:0.1]
    pruning_from : int, optional
        Sweep after which features are dropped for the first time. [1]
    learning_rate : float, optional
        Step size for bandwidth and input scales. [0.1]
    restarts : int, optional
        Independent draws, of which the best is kept. [1]
    tolerance : float, optional
        Relative change of the bound that counts as converged. [1e-5]

    Examples
    --------
    >>> from rffblr import Cosines, RFFBLRRegressor
    >>> RFFBLRRegressor(form=Cosines(links=True))
    RFFBLRRegressor(form=Cosines(links=True))
    """

    _presets = ("paper", "authors",)

    def __init__(
        self,
        *,
        features: int | str | None = None,
        spectrum: Literal["rbf", "laplace-l2", "laplace-l1", "matern32", "matern52"] | None = None,
        offsets: Literal["random", "paired"] | None = None,
        directions: Literal["independent", "orthogonal"] | None = None,
        links: bool | None = None,
        link_scale: Literal["shared", "unit"] | None = None,
        precision: Literal["free", "tied"] | None = None,
        bandwidth: float | str | None = None,
        input_scales: Sequence[float] | NDArray[np.float64] | str | None = None,
        noise: Literal["shared", "per-task"] | None = None,
        target_scale: Literal["standardised", "raw"] | None = None,
        weight_prior: Sequence[float] | NDArray[np.float64] | str | None = None,
        noise_prior: Sequence[float] | NDArray[np.float64] | str | None = None,
        weight_start: float | None = None,
        noise_start: float | None = None,
        pruning: float | str | None = None,
        pruning_from: int | None = None,
        learning_rate: float | None = None,
        restarts: int | None = None,
        tolerance: float | None = None,
    ) -> None:
        self.features = features
        self.spectrum = spectrum
        self.offsets = offsets
        self.directions = directions
        self.links = links
        self.link_scale = link_scale
        self.precision = precision
        self.bandwidth = bandwidth
        self.input_scales = input_scales
        self.noise = noise
        self.target_scale = target_scale
        self.weight_prior = weight_prior
        self.noise_prior = noise_prior
        self.weight_start = weight_start
        self.noise_start = noise_start
        self.pruning = pruning
        self.pruning_from = pruning_from
        self.learning_rate = learning_rate
        self.restarts = restarts
        self.tolerance = tolerance
