"""How well a fitted model does on rows it has not seen."""

import html
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from . import _rffblr
from ._base import Estimator
from ._frames import RFFBLRWarning, frame, table_of
from ._progress import Bar
from ._settings import whole

UNCHECKED = (
    "Not checked on rows it has not seen: model.check(X, y) refits it on held-out folds, with groups= or cv= for rows "
    "that belong together."
)


class Splitting:
    """How the compiled part is to split the rows."""

    def __init__(self, rows: int, cv: Any, groups: Any, X: Any, y: Any) -> None:
        self.pairs: list[tuple[list[int], list[int]]] | None = None
        self.groups: list[int] | None = None
        name = getattr(groups, "name", None)
        self.name = name if isinstance(name, str) and name else None
        self.count = 0
        if cv is None or isinstance(cv, (int, np.integer)):
            self.count = whole("cv", 5 if cv is None else cv, 2)
            if groups is not None:
                self.groups = self._codes(rows, groups)
            return
        splits = check_cv(cv).split(X, y, groups)
        self.pairs = [(np.arange(rows)[train].tolist(), np.arange(rows)[test].tolist()) for train, test in splits]

    @staticmethod
    def _codes(rows: int, groups: Any) -> list[int]:
        labels = np.asarray(groups, dtype=object)
        check_consistent_length(np.empty(rows), labels)
        missing = [row for row, label in enumerate(labels) if label is None or label != label]
        if missing:
            raise ValueError(f"groups has no label in row {missing[0]}; fill it in, or leave the row out")
        codes: dict[Any, int] = {}
        return [codes.setdefault(label, len(codes)) for label in labels.tolist()]


class Checked(Estimator):
    """An estimator that can be tested by refits."""

    @property
    def headline_(self) -> str:
        """The first thing to know about the model: its score on rows it has not seen, or that there is none yet."""
        check_is_fitted(self)
        found = self.model_.check()
        headline: str = UNCHECKED if found is None else found["headline"]
        return headline

    @property
    def check_(self) -> Bunch:
        """What :meth:`check` found, or what the model file kept of it."""
        check_is_fitted(self)
        found = self.model_.check()
        if found is None:
            raise AttributeError(UNCHECKED)
        return Bunch(**{**found, "targets": frame(found["targets"], self._library)})

    def check(
        self, X: Any, y: Any, cv: Any = 5, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Tests the fitted model on rows it has not seen: fits it again without them, and scores what it predicts.

        Every refit learns everything, levels and medians of the inputs too, from its training rows alone; ridge
        regression and the training mean are tested on the same folds. ``fit`` does not do this by itself, as it is
        called inside cross-validations: the price is ``cv`` more fits, as many at a time as ``n_jobs`` allows. The
        scores are kept with the model, in its file and in its report; no row is.

        Parameters
        ----------
        X, y
            What the model was fitted to.
        cv : int, cross-validation splitter or iterable of (train, test), default=5
            Number of folds, dealt out at random by the seed of the model; or how to split, as everywhere in
            scikit-learn: ``TimeSeriesSplit()`` tests the future.
        groups : array of shape (n_samples,), optional
            Label of each row. With a number for ``cv`` whole groups are held out; else they are passed to the splitter.
        sample_weight : array of shape (n_samples,), optional
            The weights of the fit. Scores count every row once, those of weight zero not at all.

        Returns
        -------
        check : Bunch
            Also kept as ``check_``.
            ``headline`` : the score in a sentence;
            ``r2`` and ``r2_se`` : R² over all held-out cells, mean over the targets that vary, and its standard error, that of
            a ratio of sums over folds, to first order;
            ``ridge_r2`` and ``mean_r2`` : that of ridge regression and of the training mean;
            ``targets`` : a frame with ``r2``, ``r2_se``, ``rmse``, ``mae``, ``coverage90`` (share of values in their 90 %
            interval), ``nlpd``, ``ridge_r2``, ``ridge_mae``, ``mean_r2`` and ``mean_mae`` of each target;
            ``split``, ``folds``, ``rows`` : how it was tested, and how many rows were;
            ``notes`` : what the scores leave out: a target of which the training rows of a fold have no value is not scored
            in that fold. They are warnings too (``RFFBLRWarning``).

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> rng = np.random.default_rng(0)
        >>> animal = np.repeat(np.arange(10), 6)
        >>> X = np.column_stack([rng.normal(size=10)[animal], rng.normal(size=60)])
        >>> y = X[:, 1] + rng.normal(size=10)[animal]
        >>> model = RFFBLRRegressor().fit(X, y)
        >>> random, apart = model.check(X, y).r2, model.check(X, y, groups=animal).r2
        >>> bool(apart < random - 0.1)
        True
        >>> model.check_.split
        'whole groups held out'
        """
        check_is_fitted(self)
        X, y = table_of(X), table_of(y)
        with self._all_or_nothing():
            given = self._read_training(X, y, sample_weight)
            splitting = Splitting(len(given.targets), cv, groups, X, y)
            bar = Bar() if self.verbose else None

            def tell(done: int, total: int) -> None:
                if bar:
                    bar.show(f"{done} of {total} refits")

            self.model_ = _rffblr.check(self.model_, given, splitting, self._threads(), tell if bar else None)
        if bar:
            bar.finish(self.headline_)
        for note in self.check_.notes:
            warnings.warn(note, RFFBLRWarning, stacklevel=2)
        return self.check_

    def _repr_html_inner(self) -> str:
        return self._headline_html() + str(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] = self._headline_html() + shown["text/html"]
        return shown

    def _headline_html(self) -> str:
        return f"<p>{html.escape(self.headline_)}</p>" if "model_" in vars(self) else ""
