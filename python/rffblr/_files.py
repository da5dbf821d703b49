"""Models from files, and predictions for files, that need not fit in memory."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from sklearn.utils.validation import check_is_fitted

from . import _rffblr
from ._base import Estimator, _warn
from ._progress import Steps, with_callbacks

Path = str | os.PathLike[str]
Self = TypeVar("Self", bound="FromFiles")


def listed(paths: Path | Sequence[Path]) -> list[str]:
    """Paths as texts; one alone is a list of one."""
    return [os.fspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]


def names(what: str, given: str | Sequence[str]) -> list[str]:
    """Names of columns; one alone is a list of one."""
    found = [given] if isinstance(given, str) else list(given)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"{what}={given!r}: write names of columns")
    return found


def one_order(group: str | None, time: str | None) -> None:
    """Rows are held out by their groups or by their times."""
    if group is not None and time is not None:
        raise ValueError("group and time are two ways to hold rows out; name one column")


class Files:
    """Which files, and what their columns are for, as the compiled part reads it."""

    def __init__(
        self,
        paths: list[str],
        targets: list[str],
        ignore: list[str],
        weight: tuple[str, str] | None,
        group: str | None,
        time: str | None,
        missing: str,
        hold_out: bool,
        checkpoint: str | None,
    ) -> None:
        self.paths = paths
        self.targets = targets
        self.ignore = ignore
        self.weight = weight
        self.group = group
        self.time = time
        self.missing = missing
        self.hold_out = hold_out
        self.checkpoint = checkpoint


class FromFiles(Estimator):
    """An estimator that reads and writes files."""

    preset: str | None

    if TYPE_CHECKING:  # what the estimator has

        def _settings(self) -> list[tuple[str, str]]: ...
        def _adopt(self, model: _rffblr.Model) -> None: ...
        def _name(self, model: _rffblr.Model, named: bool) -> None: ...
        def _ending(self) -> str: ...
        def _warn_if_exhausted(self) -> None: ...

    @with_callbacks
    def fit_files(
        self: Self,
        paths: Path | Sequence[Path],
        targets: str | Sequence[str],
        ignore: str | Sequence[str] = (),
        weight: str | None = None,
        repeats: str | None = None,
        checkpoint: Path | None = None,
        hold_out: bool = True,
        group: str | None = None,
        time: str | None = None,
    ) -> Self:
        """Learns from CSV or Parquet files of any number of rows, in memory that does not depend on it.

        One pass finds out the types of the columns, their levels, gaps and scales, and a sample of at most 116 000 rows (404
        000 with much effort); the kernel is learned from the sample, and a second pass adds up what the model needs of all
        rows. Medians, which stand in for missing inputs, are those of the sample. With ``preset="default"`` 3000 rows or fewer,
        and with the other presets and forms as many as the sample has, are kept and fitted as :meth:`fit` does.

        Parameters
        ----------
        paths : path or list of paths
            Files, folders (their CSV, TSV and Parquet files, not those of the folders in them) or patterns such as
            ``"data/part-*.parquet"``. All files have the same columns, in any order.
        targets : str or list of str
            Columns to predict. Every other column is an input, unless it is named below.
        ignore : str or list of str
            Columns to leave out.
        weight : str, optional
            Column with the relative weights of the rows; see ``weights="relative"``.
        repeats : str, optional
            Instead, column that says as how many rows each row counts; see ``weights="repeats"``.
        checkpoint : path, optional
            File to which the sums are saved twice a minute. A fit that was broken off goes on from there, and ends with
            the same bits, if called again with the same files and settings. It is removed once the fit is done.
        hold_out : bool, default=True
            Whether to test the model on rows it has not seen, for ``check_`` and ``headline_``: up to 20 000 rows, one in
            ten at most, are held out, predicted by the model of all others, and then learned from too. Of 3000 rows or
            fewer it is fitted again to five folds, as :meth:`check` does.
        group : str, optional
            Column whose equal values mark rows that belong together, such as visits of one patient: whole groups are held
            out, about a tenth of the rows. It is not an input.
        time : str, optional
            Instead, column that orders the rows, numbers or dates: the last ones are held out, about a tenth. It is an input
            too, unless it is ignored.

        Returns
        -------
        self : RFFBLRRegressor

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from rffblr import Drawn, RFFBLRRegressor
        >>> rng = np.random.default_rng(0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for part in range(3):
        ...         x = rng.uniform(-3, 3, size=(400, 2))
        ...         rows = np.column_stack([x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=400)])
        ...         path = os.path.join(folder, f"part-{part}.csv")
        ...         np.savetxt(path, rows, delimiter=",", header="a,b,target", comments="")
        ...     model = RFFBLRRegressor(form=Drawn(features=64)).fit_files(folder, "target")
        ...     rows = model.predict_files(folder, os.path.join(folder, "predicted.parquet"))
        >>> rows, bool(model.check_.r2 > 0.95)
        (1200, True)
        """
        if weight is not None and repeats is not None:
            raise ValueError("weight and repeats are two meanings of row weights; name one column")
        one_order(group, time)
        column = (weight, "relative") if weight is not None else (repeats, "repeats")
        files = Files(
            listed(paths),
            names("targets", targets),
            names("ignore", ignore),
            (column[0], column[1]) if column[0] is not None else None,
            group,
            time,
            self.missing,
            bool(hold_out),
            None if checkpoint is None else os.fspath(checkpoint),
        )
        with self._all_or_nothing():
            settings = self._settings()
            steps = Steps(self, None, None, None)
            listener = steps if steps.listener else None
            model = _rffblr.fit_files(files, self._preset(), settings, self._threads(), listener)
            self._adopt(model)
            self._name(model, True)
            steps.end(self._ending(), self.notes_)
        self._warn_if_exhausted()
        return self

    def predict_files(self, paths: Path | Sequence[Path], output: Path, coverage: float = 0.9) -> int:
        """Writes predictions for the rows of files, in memory that does not depend on their number.

        The columns are those of :meth:`predict_frame`, the rows those of the files, one after the other.

        Parameters
        ----------
        paths : path or list of paths
            Files, folders or patterns, as in :meth:`fit_files`, with the input columns of the model; others are passed over.
        output : path
            File to write: Parquet if its name ends in ``.parquet`` or ``.pq``, else CSV. It is written whole or not at all;
            an existing one is replaced.
        coverage : float, default=0.9
            Probability that an observation lies between lower and upper.

        Returns
        -------
        rows : int
            Number of rows.

        Examples
        --------
        See :meth:`fit_files`.
        """
        check_is_fitted(self)
        steps = Steps(self, None, None, None) if self.verbose else None
        rows, notes = _rffblr.predict_files(
            self._placed(), listed(paths), os.fspath(output), coverage, self._threads(), steps
        )
        if steps:
            steps.end(f"predicted {rows} rows", [])
        _warn(notes, 3)
        return rows
