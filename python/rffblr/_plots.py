"""The main pictures of a model, drawn by matplotlib, which is needed for nothing else: ``pip install "rffblr[plots]"``."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _rffblr
from ._base import Floats
from ._learned import Learned

# Reach of a 90 % interval, in standard deviations: the convention of every picture.
REACH = 1.6448536269514722
LEVEL = 0.9
# Colours that every kind of colour vision tells apart.
BLUE, ORANGE, GREY = "#0068a3", "#b84700", "#767f87"


def _axes(axes: Any, height: float = 4.0) -> Any:
    """The axes given, or new ones."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as problem:
        raise ImportError('pictures need matplotlib: pip install "rffblr[plots]"') from problem
    return pyplot.subplots(figsize=(5.5, height), layout="constrained")[1]


class Plots(Learned):
    """An estimator with pictures. Every one returns the matplotlib axes it was drawn on."""

    def _target(self, target: int | str) -> int:
        names: list[str] = self.model_.target_names
        if isinstance(target, str):
            if target not in names:
                raise ValueError(f"there is no target {target!r}; they are {', '.join(names)}")
            return names.index(target)
        if not 0 <= target < len(names):
            raise ValueError(f"there is no target {target}; they are numbered from 0 to {len(names) - 1}")
        return int(target)

    def plot_importance(self, target: int | str = 0, most: int = 15, ax: Any = None) -> Any:
        """Which inputs matter for a target: their shares in all that inputs do, which add up to one, with 90 % intervals.

        Parameters
        ----------
        target : int or str, default=0
            The target, by position or by name.
        most : int, default=15
            Most inputs to show.
        ax : matplotlib axes, optional
            Where to draw.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> axes = model.plot_importance()  # doctest: +SKIP
        """
        check_is_fitted(self)
        c = self._target(target)
        total, std = self.relevance_[:, c], self.relevance_std_[:, c]
        whole = total.sum() or 1.0
        order = np.argsort(-total, kind="stable")[:most][::-1]
        share, reach = total[order] / whole, REACH * std[order] / whole
        names = np.asarray(_rffblr.explained_inputs(self.model_), dtype=object)[order]
        axes = _axes(ax, 1.2 + 0.3 * len(order))
        axes.barh(np.arange(len(order)), share, color=BLUE, alpha=0.6)
        ends = np.clip([share - reach, share + reach], 0.0, 1.0)
        axes.hlines(np.arange(len(order)), *ends, color="black", linewidth=1)
        axes.set_yticks(np.arange(len(order)), names)
        axes.set_xlabel(f"share in all that inputs do to {self.model_.target_names[c]}")
        return axes

    def plot_partial_dependence(self, input: int | str, target: int | str = 0, ax: Any = None) -> Any:
        """The mean prediction over the training rows when one input is set, with its 90 % band, in the unit of the target.

        Of a transformed target the mean is that of :meth:`partial_dependence`.

        Parameters
        ----------
        input : int or str
            The input, by position in ``explain().inputs`` or by name.
        target : int or str, default=0
            The target, by position or by name.
        ax : matplotlib axes, optional
            Where to draw.
        """
        check_is_fitted(self)
        c = self._target(target)
        name = self.model_.target_names[c]
        curve = self.partial_dependence(input)
        column = list(curve.columns)[0]
        values = list(curve[column])
        mean, lower, upper = (np.asarray(curve[f"{part}[{name}]"]) for part in ("mean", "lower", "upper"))
        number = np.array([isinstance(value, float) and not np.isnan(value) for value in values])
        axes = _axes(ax)
        if number.any():
            at = np.array([value for value, is_number in zip(values, number) if is_number])
            axes.fill_between(at, lower[number], upper[number], color=BLUE, alpha=0.2, linewidth=0)
            axes.plot(at, mean[number], color=BLUE)
            if not number.all():
                axes.axhline(mean[~number][0], color=GREY, linestyle="--", label="missing")
                axes.legend()
        else:
            places = np.arange(len(values))
            axes.errorbar(places, mean, yerr=[mean - lower, upper - mean], fmt="o", color=BLUE)
            axes.set_xticks(places, ["missing" if value is None else str(value) for value in values], rotation=45)
        axes.set_xlabel(column)
        axes.set_ylabel(f"mean prediction of {name}")
        return axes

    def _judged(self, X: Any, y: Any, coverage: float) -> tuple[Floats, Floats, Floats, Floats]:
        """What was observed, the mean, and the ends of the interval: of rows given, or of training rows left out."""
        if (X is None) != (y is None):
            raise ValueError("give both X and y, or neither for the training rows, each predicted without it")
        if X is None:
            observed, mean, lower, upper, _ = _rffblr.judged(self.model_, coverage, self._threads())
            return observed, mean, lower, upper
        observed = np.asarray(y, dtype=float)
        mean, (lower, upper) = self.predict(X), self.predict_interval(X, coverage)
        columns = len(self.target_names_)
        observed, mean, lower, upper = (np.reshape(table, (-1, columns)) for table in (observed, mean, lower, upper))
        return observed, mean, lower, upper

    def plot_observed(self, target: int | str = 0, X: Any = None, y: Any = None, ax: Any = None) -> Any:
        """Observed against predicted values with their 90 % intervals; what lies outside of its interval is a cross.

        Parameters
        ----------
        target : int or str, default=0
            The target, by position or by name.
        X, y : rows the model has not seen, optional
            Without them the training rows are shown, each predicted without it at fixed hyper-parameters, which flatters.
        ax : matplotlib axes, optional
            Where to draw.
        """
        check_is_fitted(self)
        c = self._target(target)
        observed, mean, lower, upper = (table[:, c] for table in self._judged(X, y, LEVEL))
        known = ~np.isnan(observed)
        observed, mean, lower, upper = observed[known], mean[known], lower[known], upper[known]
        inside = (lower <= observed) & (observed <= upper)
        axes = _axes(ax)
        for rows, colour, marker in [(inside, BLUE, "o"), (~inside, ORANGE, "x")]:
            axes.hlines(observed[rows], lower[rows], upper[rows], color=colour, alpha=0.2, linewidth=1)
            axes.scatter(mean[rows], observed[rows], s=14, color=colour, marker=marker)
        ends = [min(observed.min(), mean.min()), max(observed.max(), mean.max())] if len(observed) else [0.0, 1.0]
        axes.plot(ends, ends, color=GREY, linewidth=1)
        name = self.model_.target_names[c]
        axes.set_xlabel(f"predicted {name}")
        axes.set_ylabel(f"observed {name}")
        return axes

    def plot_calibration(self, target: int | str = 0, X: Any = None, y: Any = None, ax: Any = None) -> Any:
        """How many values lie in intervals of each probability; below the diagonal intervals are too narrow.

        Parameters
        ----------
        target : int or str, default=0
            The target, by position or by name.
        X, y : rows the model has not seen, optional
            Without them the training rows are counted, each predicted without it at fixed hyper-parameters.
        ax : matplotlib axes, optional
            Where to draw.
        """
        check_is_fitted(self)
        c = self._target(target)
        levels = np.arange(1, 20) / 20
        inside = []
        for level in levels:
            observed, _, lower, upper = (table[:, c] for table in self._judged(X, y, float(level)))
            known = ~np.isnan(observed)
            inside.append(np.mean((lower <= observed)[known] & (observed <= upper)[known]))
        axes = _axes(ax)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1)
        axes.plot(levels, inside, color=BLUE, marker="o", markersize=4)
        axes.set_xlabel("probability of the interval")
        axes.set_ylabel(f"share of {self.model_.target_names[c]} inside")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        return axes
