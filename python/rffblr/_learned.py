"""What a fitted model has learned: its parts, what matters to it, explanations, the report."""

import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from . import _rffblr
from ._base import Estimator, Floats, _warn
from ._frames import frame, table_of
from ._settings import whole

# Attributes that take long to compute: displaying an estimator must not compute them.
COSTLY = {
    "feature_importances_": "relevance",
    "relevance_": "relevance",
    "relevance_std_": "relevance",
    "kernel_view_": "the kernel view",
}
# With fewer rows to compare with, Shapley values say more about these than about the data.
FEW = 10


class Learned(Estimator):
    """An estimator with explanations."""

    def __dir__(self) -> list[str]:
        # scikit-learn asks for every attribute whether it is there, which would compute those that are costly.
        present = "model_" in vars(self)
        costly = [name for name, what in COSTLY.items() if present and not self.model_.absent(what)]
        names = (name for name in object.__dir__(self) if name not in COSTLY)
        return [*(name for name in names if hasattr(self, name)), *costly]

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        # scikit-learn reads every attribute of what it shows: here one that has all the facts and nothing to compute.
        facts = Estimator.__new__(Estimator)
        facts.__dict__.update(vars(self))
        shown = Estimator._get_fitted_attr_html(facts, doc_link)
        shown.estimator_class = type(self)
        return shown

    def _need_training(self, name: str) -> None:
        """Turns the error for missing training data into one that ``hasattr`` understands."""
        check_is_fitted(self)
        problem = self.model_.absent(COSTLY[name])
        if problem:
            raise AttributeError(problem)

    @property
    def relevance_(self) -> Floats:
        """How much each input (rows) matters for each target (columns): the total share of variance.

        What becomes of the prediction when the input alone is exchanged between training rows, as a share of the
        variance of the prediction; interactions with other inputs are in it, so that shares may add up to more than one.
        A text column is one input, whatever number of levels it has. Computed when first asked for, from the training rows;
        a model from a file has it if the file holds these, as that of the exact form does.
        """
        self._need_training("relevance_")
        total: Floats = self.model_.relevance(self._threads())[0]
        return total

    @property
    def feature_importances_(self) -> Floats:
        """How much each input matters, one number for each, as ``RFE`` and ``SelectFromModel`` of scikit-learn read it.

        The mean over the targets of ``relevance_``, divided by its sum over the inputs.
        """
        self._need_training("feature_importances_")
        mean: Floats = np.mean(self.model_.relevance(self._threads())[0], axis=1)
        return mean / (mean.sum() or 1.0)

    @property
    def relevance_std_(self) -> Floats:
        """Posterior standard deviation of ``relevance_``."""
        self._need_training("relevance_std_")
        std: Floats = self.model_.relevance(self._threads())[1]
        return std

    @property
    def sinusoids_(self) -> Any:
        """The kept cosines as a frame, a row for each, in the units of the data.

        Columns: ``phase``, ``frequency[input]``, ``wavelength[input]``, ``weight[target]``, ``weight_std[target]`` and
        ``precision``. Its share of target ``t`` is ``weight[t] * cos(sum(frequency[d] * x[d]) + phase)``; with those of
        ``links_`` and ``constant_`` they add up to the prediction. A kernel machine, and cosines drawn from one, do not have
        them: fit with ``form=Sinusoids()`` or ``preset="paper"``.
        """
        self._need_sinusoids("sinusoids_")
        parts = self.model_.sinusoids()
        inputs, targets = self.model_.input_names, self.model_.target_names
        columns = {"phase": parts["phase"]}
        for part, names in [("frequency", inputs), ("wavelength", inputs), ("weight", targets), ("weight_std", targets)]:
            columns.update({f"{part}[{name}]": parts[part][:, at] for at, name in enumerate(names)})
        columns["precision"] = parts["precision"]
        return frame(columns, self._library)

    @property
    def constant_(self) -> Floats:
        """What is added to the sinusoids and links of each target, in its unit."""
        self._need_sinusoids("constant_")
        return np.asarray(self.model_.constants())

    def _need_sinusoids(self, name: str) -> None:
        check_is_fitted(self)
        what = {
            "kernel": "a kernel machine is not made of sinusoids",
            "drawn": "cosines drawn from a learned kernel are too many to be listed",
        }.get(self.model_.form)
        if what:
            raise AttributeError(f'{what}; fit with form=Sinusoids(sparsity=0.75), or with preset="paper", for a model that has {name}')

    @property
    def links_(self) -> Any:
        """The straight lines in the function as a frame: input, ``slope[target]`` and ``slope_std[target]``."""
        check_is_fitted(self)
        inputs, slope, deviation = self.model_.links()
        columns = {"input": [self.model_.input_names[d] for d in inputs]}
        for part, table in [("slope", slope), ("slope_std", deviation)]:
            columns.update({f"{part}[{name}]": table[:, c] for c, name in enumerate(self.model_.target_names)})
        return frame(columns, self._library)

    @property
    def kernel_view_(self) -> Bunch:
        """The model as a kernel machine: ``coefficients`` (rows × targets), and how well the kernel explains it.

        A kernel machine is this view, with errors of zero. For cosines with ``preset="paper"`` the coefficients are those closest to it, at the
        price of one decomposition of rows × rows: ``kernel_rms_error`` and ``kernel_max_error`` compare the drawn
        cosines with the kernel they approximate, ``weights_unexplained`` is the share of the weights that no combination
        of kernel functions at these rows can express. It needs the training rows; a model from a file does not have it,
        nor has one of sinusoids or of cosines drawn from a learned kernel.
        """
        self._need_training("kernel_view_")
        coefficients, rms, largest, unexplained = self.model_.kernel_view(self._threads())
        return Bunch(
            coefficients=coefficients,
            kernel_rms_error=rms,
            kernel_max_error=largest,
            weights_unexplained=unexplained,
        )

    @property
    def trace_(self) -> Bunch:
        """The steps of the fit: ``objective``, ``active``, ``gamma`` and ``noise_precision``, an entry for each."""
        check_is_fitted(self)
        return Bunch(**self.model_.trace())

    def explain(self, X: Any = None, return_std: bool = False, background: Any = None) -> "Explanation":
        """Takes predictions apart: what each input adds to each of them, and how much it matters at all.

        Shapley values, exact and not sampled, against the training rows. Where all of these would take longer than some
        twenty seconds of one core for the rows explained together, they are evenly thinned, down to one if need be:
        ``background`` names those used, and fewer than ten are warned of. Text columns count as one input. For every
        row and target ``base + shapley.sum(axis=1)`` is the prediction, all of them in the unit of the target.

        A function that is learned transformed (``transforms_``) is a sum on the scale of its transform only. The mean and the
        prediction are brought back from there, the prediction as the median, and all values of a row multiplied by the one
        factor with which they add up to the difference of the two: they keep their signs and proportions. Their
        deviations are multiplied by it too, which is right to first order.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features), optional
            Rows to explain; all training rows, in their order, if left out. After :meth:`fit_files` the training rows
            are the sample of them that the kernel was learned from.
        return_std : bool, default=False
            Whether to compute the posterior standard deviation of each value too. Of a kernel machine they cost the
            square of the background, which is therefore smaller; more rows than can be compared with even one training
            row in that time are refused by a ``ValueError`` that says how many can.
        background : array or frame of shape (n_rows, n_features), optional
            Rows to compare with in place of the training rows: a model from a file knows these only if it is exact.

        Returns
        -------
        explanation : Explanation
            A ``Bunch``; ``to_shap()`` makes a ``shap.Explanation`` of it, for the plots of that package.
            ``inputs`` : names, in the order of the arrays;
            ``shapley`` : array (n_samples, n_inputs, n_targets), in the units of the targets;
            ``std`` : the same shape, or None;
            ``base`` : array (n_targets,), the mean prediction over the background, of a transformed target taken on the
            scale of its transform;
            ``prediction`` : array (n_samples, n_targets), the median of a transformed target, the mean of others;
            ``scales_of`` : list of str, what was learned of each target, of which ``total`` and ``first_order`` are shares:
            the target itself, or its transform;
            ``background`` : training rows, or rows given, that were compared with;
            ``total`` and ``first_order`` : arrays (n_inputs, n_targets), shares of the variance of the prediction
            with and without interactions;
            ``total_std`` and ``first_order_std`` : their posterior standard deviations, of thousands of inputs NaN but for
            the most relevant ones;
            ``data`` : the cells of ``inputs`` in ``X``, None without ``X``;
            ``targets`` : their names;
            ``scales`` : array (n_inputs, n_targets), how fast the kernel of each target changes along each input, which is
            no relevance.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> parts = model.explain(X[:5])
        >>> parts.shapley.shape
        (5, 3, 1)
        >>> bool(np.allclose(parts.base + parts.shapley.sum(axis=1), parts.prediction, rtol=0, atol=1e-9))
        True
        """
        check_is_fitted(self)
        X = table_of(X)
        inputs = None if X is None else self._read_inputs(X, reset=False)[0]
        parts = _rffblr.explain(self.model_, inputs, self._rows(background), return_std, self._threads())
        notes, rows, background = parts.pop("notes"), parts.pop("training_rows"), len(parts["background"])
        if background < min(FEW, rows):
            notes.append(
                f"explained against {background} of {rows} training rows to end in time; explain fewer rows at once "
                "for a better comparison"
            )
        _warn(notes, 3)
        for name in ("shapley", "std"):
            if parts[name] is not None:
                parts[name] = np.stack(parts[name], axis=-1)
        data = None
        if X is not None:
            places = [self.model_.input_columns.index(name) for name in parts["inputs"]]
            data = np.asarray(X)[:, places]
        return Explanation(scales_of=self.model_.scales, data=data, targets=self.model_.target_names, **parts)

    def _rows(self, background: Any) -> Any:
        return None if background is None else self._read_inputs(background, reset=False)[0]

    def partial_dependence(
        self,
        inputs: int | str | Sequence[int | str],
        resolution: int = 40,
        background: Any = None,
        coverage: float = 0.9,
    ) -> Any:
        """The mean prediction over the training rows when one input, or two, are set; exact, with its band.

        In the unit of each target. Of a transformed target (``transforms_``) the mean is taken on the scale of its
        transform and brought back: of a logarithm it is the geometric mean of the median predictions of the rows, which
        are not held within the range of the training values here.

        Parameters
        ----------
        inputs : int, str or a pair of them
            Which inputs, by name or by position in ``explain().inputs``.
        resolution : int, default=40
            Most values of a number to show, at least 2; texts are shown at all levels.
        background : array or frame of shape (n_rows, n_features), optional
            Rows to average over in place of the training rows: a model from a file knows these only if it is exact.
        coverage : float, default=0.9
            Posterior probability with which the mean curve lies in its band, at each point; single rows differ from it by
            more.

        Returns
        -------
        dependence : frame
            A column for each input (``None`` is a missing cell), then ``mean[target]``, ``lower[target]`` and
            ``upper[target]``.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> list(model.partial_dependence("x1", resolution=5).columns)
        ['x1', 'mean[y1]', 'lower[y1]', 'upper[y1]']
        """
        check_is_fitted(self)
        resolution = whole("resolution", resolution, 2)
        names = _rffblr.explained_inputs(self.model_)
        asked = [inputs] if isinstance(inputs, (int, np.integer, str)) else list(inputs)
        if len(asked) not in (1, 2):
            raise ValueError(f"partial dependence is on one input or two, not on {len(asked)}")
        for name in asked:
            if isinstance(name, str) and name not in names:
                raise ValueError(f"there is no input {name!r}; they are {', '.join(names)}")
            if not isinstance(name, str) and not 0 <= name < len(names):
                raise ValueError(f"there is no input {name}; they are numbered from 0 to {len(names) - 1}")
        places = [names.index(name) if isinstance(name, str) else int(name) for name in asked]
        values, tables = _rffblr.dependence(
            self.model_, places, self._rows(background), resolution, float(coverage), self._threads()
        )
        if len(values) == 2:
            values = [[first for first in values[0] for _ in values[1]], values[1] * len(values[0])]
        columns: dict[str, Any] = {names[place]: cells for place, cells in zip(places, values)}
        for part, table in zip(("mean", "lower", "upper"), tables):
            columns.update({f"{part}[{name}]": table[:, c] for c, name in enumerate(self.model_.target_names)})
        return frame(columns, self._library)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        card: str | os.PathLike[str] | None = None,
        title: str | None = None,
        row_data: bool = True,
        labels: Mapping[str, str | tuple[str, str]] | None = None,
    ) -> "Page":
        """What the model learned, and how far to trust it, as one HTML page that needs no network.

        In a notebook the page that is returned shows itself. Its verdict is that of :meth:`check`, if it was called; else
        the page says that the model was not checked. The same page as ``rffblr report``. A model that was loaded from a
        file does not know its training data, and one made by :meth:`fit_files` only a sample of them: the page then shows
        the model alone.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write the page; an existing one is replaced.
        card : str or path-like, optional
            Where to write a model card in Markdown.
        title : str, optional
            Title of the page.
        row_data : bool, default=True
            Whether single rows may be shown.
        labels : dict, optional
            What people call the columns: a label, or a label and a unit, by name.

        Returns
        -------
        page : Page
            ``html`` and ``card`` as text, and ``save(path)``.

        Examples
        --------
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> model = RFFBLRRegressor().fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> model.report(title="Waves", labels={"x1": ("Time", "s")})
        <report 'Waves'>
        """
        check_is_fitted(self)
        pairs = ((name, (label, "") if isinstance(label, str) else label) for name, label in (labels or {}).items())
        called = [(name, label, unit) for name, (label, unit) in pairs]
        title = title or "Model report"
        page = Page(title, *_rffblr.report(self.model_, title, row_data, called, self._threads()))
        if path is not None:
            page.save(path)
        if card is not None:
            _rffblr.write_whole(card, page.card)
        return page

    def export(
        self,
        path: str | os.PathLike[str],
        to: str | None = None,
        interval: float | None = 0.9,
        dialect: str = "sqlite",
        table: str = "data",
        keep: Sequence[str] = (),
    ) -> None:
        """Writes the model for use without this package: as ONNX, Python, C, JavaScript, SQL or a workbook.

        The same as ``rffblr export``; ``docs/exports.md`` says what each target carries, how precise it is and what it
        cannot do. Existing files are replaced. Beside an ONNX file a file with the ending ``.inputs.json`` says what its
        inputs are.

        Parameters
        ----------
        path : str or path-like
            The file.
        to : {"onnx", "python", "c", "javascript", "sql", "xlsx"}, optional
            What to write; by default what the ending of the path stands for (.onnx, .py, .h, .mjs or .js, .sql, .xlsx).
        interval : float or None, default=0.9
            Probability of the interval. None leaves out standard deviations and intervals, which makes the file smaller;
            of a transformed target the median is predicted then.
        dialect : {"sqlite", "postgresql", "duckdb"}, default="sqlite"
            Of SQL.
        table : str, default="data"
            Of SQL, the table with the inputs.
        keep : sequence of str, default=()
            Of SQL, columns of that table to write before the predictions.

        Examples
        --------
        >>> import importlib.util, os, tempfile
        >>> import numpy as np
        >>> from rffblr import RFFBLRRegressor, Sinusoids
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> model = RFFBLRRegressor(form=Sinusoids(sparsity=0.9)).fit(X, np.sin(X[:, 0]) + X[:, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "waves.py")
        ...     model.export(path)
        ...     spec = importlib.util.spec_from_file_location("waves", path)
        ...     waves = importlib.util.module_from_spec(spec)
        ...     spec.loader.exec_module(waves)
        >>> alone = waves.predict({"x1": X[0, 0], "x2": X[0, 1]})["y1"]
        >>> bool(np.isclose(alone, model.predict(X[:1])[0], rtol=1e-9))
        True
        """
        check_is_fitted(self)
        _rffblr.export(self.model_, path, to, interval, dialect, table, list(keep), self._threads())


class Explanation(Bunch):
    """What :meth:`RFFBLRRegressor.explain` found, by name."""

    def to_shap(self, target: int | str | None = None) -> Any:
        """The values as a ``shap.Explanation``, for the plots of the package shap, which must be installed.

        Parameters
        ----------
        target : int or str, optional
            The target, by position or by name. Left out, all targets, along a third axis; the only one if there is one.
        """
        try:
            import shap
        except ImportError as problem:
            raise ImportError("the package shap is not installed: pip install shap") from problem
        names = list(self.targets)
        if target is None and len(names) == 1:
            target = 0
        if isinstance(target, str):
            if target not in names:
                raise ValueError(f"there is no target {target!r}; they are {', '.join(names)}")
            target = names.index(target)
        chosen: Any = slice(None) if target is None else target
        base = np.broadcast_to(self.base, (len(self.shapley), len(names)))[:, chosen]
        return shap.Explanation(
            values=self.shapley[..., chosen],
            base_values=np.ascontiguousarray(base),
            data=self.data,
            feature_names=list(self.inputs),
            output_names=names if target is None else names[target],
            error_std=None if self.std is None else self.std[..., chosen],
        )


class Page:
    """A report; in a notebook it shows itself."""

    def __init__(self, title: str, html: str, card: str) -> None:
        self.title = title
        self.html = html
        self.card = card

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; an existing one is replaced."""
        _rffblr.write_whole(path, self.html)

    def __repr__(self) -> str:
        return f"<report {self.title!r}>"

    def _repr_html_(self) -> str:
        # A frame of its own: neither its style nor its script meets those of the notebook.
        page = escape(self.html, quote=True)
        return (
            f'<iframe title="{escape(self.title, quote=True)}" srcdoc="{page}" '
            'sandbox="allow-scripts allow-downloads allow-modals" style="width: 100%; height: 44rem; border: 1px solid #767f87">'
            "</iframe>"
        )
