"""Fits and predictions where the rows are: Dask DataFrames and Arrays (``pip install "rffblr[dask]"``).

The estimator is that of :mod:`rffblr`; what it does to the rows is done by the workers of the current Dask client, or of the
scheduler of ``dask.config`` without one. See ``docs/cluster.md``.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

try:
    import dask
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
    from dask.delayed import Delayed, delayed
except ImportError as problem:
    raise ImportError('rffblr.dask needs Dask and pandas: pip install "rffblr[dask]"') from problem

from . import _cluster
from . import _regressor
from ._base import Floats, apart, generated
from ._cluster import Checkpoint, ClusterError, Job, Layout, PartitionError
from ._files import Path, names, one_order
from ._frames import names_of
from ._progress import Bar

__all__ = ["ClusterError", "PartitionError", "RFFBLRRegressor"]

Self = TypeVar("Self", bound="RFFBLRRegressor")


def _is_dask(data: Any) -> bool:
    return isinstance(data, (da.Array, dd.DataFrame, dd.Series))


class RFFBLRRegressor(_regressor.RFFBLRRegressor):
    """:class:`rffblr.RFFBLRRegressor` for Dask collections; it takes all others too, as that one does.

    Rows stay with the workers: they are counted, then summed up by columns with a sample of at most 116 000 rows (404 000 with
    much effort); one worker learns the kernel from the sample; then the rows of each partition become sums of M(M + 1)/2
    numbers for M features, which workers merge. What comes to the client is the model with the rows of the sample that the
    kernel was learned from, for explanations and reports; with ``keep_sample=False`` no row at all. A worker that is lost has
    its part done again by another. The model has the same bits for any number of workers and threads and any order in which
    they finish, as long as the partitions are the same; and those of :meth:`fit_files` on one machine if all partitions but the
    last have a multiple of 32 768 rows.

    Parameters are those of :class:`rffblr.RFFBLRRegressor`. ``n_jobs`` are the threads of the one task that learns; rows are
    added up on one thread for each partition.

    Examples
    --------
    >>> import dask.array as da
    >>> from rffblr import Drawn
    >>> from rffblr.dask import RFFBLRRegressor
    >>> X = da.random.default_rng(0).normal(size=(8000, 3), chunks=(2000, 3))
    >>> y = da.sin(X[:, 0]) + X[:, 1]
    >>> model = RFFBLRRegressor(form=Drawn(features=64)).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)      # lazy
    >>> bool(model.score(X, y) > 0.95), mean.chunks[0]
    (True, (2000, 2000, 2000, 2000))
    """

    def fit(
        self: Self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        hold_out: bool = True,
        checkpoint: Path | None = None,
        keep_sample: bool = True,
    ) -> Self:
        """Learns from a table.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
            Inputs, as :meth:`rffblr.RFFBLRRegressor.fit` takes them.
        y : Dask DataFrame, Series or Array of shape (n_samples,) or (n_samples, n_targets)
            Targets, in the partitions of ``X``; NaN is a cell that was not observed.
        sample_weight : Dask Series or Array of shape (n_samples,), optional
            Weight of each row.
        hold_out, checkpoint, keep_sample
            See :meth:`fit_table`, which reads the rows once less if inputs and targets are of one frame.

        Returns
        -------
        self : RFFBLRRegressor

        Examples
        --------
        See :class:`RFFBLRRegressor`.
        """
        if not _is_dask(X):
            return super().fit(X, y, sample_weight)
        tables = [data for data in (X, y, sample_weight) if data is not None]
        for data in tables:
            if not _is_dask(data):
                raise TypeError("X is a Dask collection, and so must y and sample_weight be")
        named = isinstance(X, (dd.DataFrame, dd.Series)) and names_of(_meta(X)) is not None
        parts = [_typed(data) for data in tables]
        inputs = parts[0] if named else list(zip(generated("x", len(parts[0])), (text for _, text in parts[0])))
        given = names_of(_meta(y)) if isinstance(y, dd.DataFrame) else _name_of(y)
        targets = apart(given, len(parts[1]), [name for name, _ in inputs])
        columns = [*inputs, *zip(targets, (text for _, text in parts[1]))]
        weight = None
        if sample_weight is not None:
            name = "weight"
            while name in dict(columns):
                name += "_"
            columns.append((name, False))
            weight = (name, str(self.weights))
        self._fit(tables, columns, targets, [], weight, checkpoint, hold_out, keep_sample)
        self._name(self.model_, named)
        self._flat = y.ndim == 1
        return self

    def fit_table(
        self: Self,
        table: Any,
        targets: str | Sequence[str],
        ignore: str | Sequence[str] = (),
        weight: str | None = None,
        repeats: str | None = None,
        *,
        hold_out: bool = True,
        checkpoint: Path | None = None,
        keep_sample: bool = True,
        group: str | None = None,
        time: str | None = None,
    ) -> Self:
        """Learns from one frame that has inputs and targets, as :meth:`fit_files` does from files.

        Parameters
        ----------
        table : Dask DataFrame
            All columns. Every partition has rows of one place in the order of all rows.
        targets : str or list of str
            Columns to predict. Every other column is an input, unless it is named below.
        ignore : str or list of str
            Columns to leave out.
        weight, repeats : str, optional
            Column with the relative weights of the rows, or with as how many rows each counts.
        hold_out : bool, default=True
            Whether to test the model on rows it has not seen, for ``check_`` and ``headline_``, as :meth:`fit_files` does.
        checkpoint : path, optional
            Folder that the client and all workers reach, to which sums are saved as groups of partitions are done. A fit
            that was broken off goes on from there, and ends with the same bits, if called again with the same rows and
            settings. It is made if it is not there, and removed once the fit is done. A folder with other files and no plan of
            a fit is refused; files of others are left alone. Few rows are fitted at once, without it.
        keep_sample : bool, default=True
            Whether the rows of the sample that were learned from come to the client with the model, for ``explain`` and ``report``.
        group, time : str, optional
            Column of groups that are held out whole, or of the times of which the last are held out, as in :meth:`fit_files`.

        Returns
        -------
        self : RFFBLRRegressor

        Examples
        --------
        >>> import dask.dataframe as dd
        >>> import pandas as pd
        >>> from rffblr.dask import RFFBLRRegressor
        >>> table = dd.from_pandas(pd.DataFrame({"a": range(40), "t": [a % 5 for a in range(40)]}), npartitions=3)
        >>> RFFBLRRegressor().fit_table(table, "t").predict(table[["a"]]).compute().shape
        (40,)
        """
        if not isinstance(table, dd.DataFrame):
            raise TypeError("table is no Dask DataFrame; fit takes arrays, fit_files files")
        if weight is not None and repeats is not None:
            raise ValueError("weight and repeats are two meanings of row weights; name one column")
        one_order(group, time)
        left_out, chosen = names("ignore", ignore), names("targets", targets)
        weights = (weight, "relative") if weight is not None else (repeats, "repeats")
        order = [name for name in (group, time) if name is not None]
        for name in [*left_out, *chosen, *([weights[0]] if weights[0] else []), *order]:
            if name not in list(table.columns):
                raise ValueError(f"the table has no column '{name}'")
        table = table[[name for name in table.columns if name not in left_out or name in order]]
        named = (weights[0], weights[1]) if weights[0] is not None else None
        self._fit([table], _typed(table), chosen, left_out, named, checkpoint, hold_out, keep_sample, group, time)
        self._name(self.model_, True)
        return self

    def _fit(
        self,
        tables: list[Any],
        columns: list[tuple[str, bool]],
        targets: list[str],
        ignore: list[str],
        weight: tuple[str, str] | None,
        checkpoint: Path | None,
        hold_out: bool,
        keep_sample: bool,
        group: str | None = None,
        time: str | None = None,
    ) -> None:
        for name in targets:
            if dict(columns)[name]:
                raise ValueError(f"target '{name}' is text; targets must be numbers, NaN where missing")
        job = Job(
            columns, targets, ignore, weight, self.missing, bool(hold_out), self.preset, self._settings(), group, time
        )
        folder = None if checkpoint is None else Checkpoint(checkpoint)
        with self._all_or_nothing():
            model, notes = _run(job, tables, self._threads(), folder, keep_sample, Bar() if self.verbose else None)
            self._adopt(model)
            self.notes_ = notes
        self._warn_if_exhausted()

    # Answering, partition by partition

    def _lean(self) -> Delayed:
        """What a worker predicts with: an estimator without training rows, sent once."""
        check_is_fitted(self)
        known = self.__dict__.get("_sent")
        if known is None or known[0] is not self.model_:
            model = _regressor.RFFBLRRegressor._of(_cluster.without_rows(self.model_))
            self._sent = known = (self.model_, delayed(model, pure=False))
        return known[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_sent"}

    def _lazily(self, X: Any, columns: list[str], answer: Callable[[Any, Any], Any]) -> Any:
        """A lazy table with these columns, which ``answer`` makes of an estimator and a partition."""
        lean = self._lean()
        if isinstance(X, da.Array):
            X = X.rechunk({1: -1})
            blocks = [delayed(answer)(lean, block) for block in X.to_delayed().ravel()]
            shapes = [(rows, len(columns)) for rows in X.chunks[0]]
            made = [da.from_delayed(block, shape, dtype=np.float64) for block, shape in zip(blocks, shapes)]
            return da.concatenate(made)
        meta = pd.DataFrame({name: np.empty(0) for name in columns})
        return X.map_partitions(_as_frame, lean, answer, columns, meta=meta, enforce_metadata=False)

    def _cut(self, table: Any, number: int) -> Any:
        """The columns of the targets for the first, second … time; of a single target, one column."""
        count = len(self.target_names_)
        run = slice(number * count, (number + 1) * count)
        if isinstance(table, da.Array):
            return table[:, run][:, 0] if self._flat else table[:, run]
        chosen = list(table.columns)[run]
        return table[chosen[0]] if self._flat else table[chosen]

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, point: Any = None) -> Any:
        """Predicted targets of new rows; of a Dask collection lazily, partition by partition.

        Parameters and result are those of :meth:`rffblr.RFFBLRRegressor.predict`; of a DataFrame come a Series or a DataFrame
        with the names of the targets (``_std`` added for standard deviations), of an Array an Array.
        """
        if not _is_dask(X):
            return super().predict(X, return_std, return_cov, point)
        if return_cov:
            raise ValueError("return_cov=True needs all rows in one place: give an array or a frame in memory")
        targets = [str(name) for name in self._fitted_targets()]
        if not return_std:
            return self._cut(self._lazily(X, targets, _Asked("predict", (False, False, point))), 0)
        both = [*targets, *(f"{name}_std" for name in targets)]
        table = self._lazily(X, both, _Asked("predict", (True, False, point)))
        return self._cut(table, 0), self._cut(table, 1)

    def predict_interval(self, X: Any, coverage: float | Sequence[float] = 0.9) -> Any:
        """Ends of the interval that holds an observation with the given probability; of a Dask collection lazily."""
        if not _is_dask(X):
            return super().predict_interval(X, coverage)
        if not isinstance(coverage, float):
            raise ValueError(f"coverage={coverage!r}: of a Dask collection one number, such as 0.9")
        targets = self._fitted_targets()
        columns = [f"{name}_{end}" for end in ("lower", "upper") for name in targets]
        table = self._lazily(X, columns, _Asked("predict_interval", (coverage,)))
        return self._cut(table, 0), self._cut(table, 1)

    def predict_frame(self, X: Any, coverage: float = 0.9, frame_library: str | None = None) -> Any:
        """Predictions as a named frame, as ``rffblr predict`` writes them; of a Dask collection lazily."""
        if not _is_dask(X):
            return super().predict_frame(X, coverage, frame_library)
        endings = ("", "_std", "_lower", "_upper")
        columns = [f"{name}{ending}" for name in self._fitted_targets() for ending in endings]
        if isinstance(X, da.Array):
            X = dd.from_dask_array(X)
        return self._lazily(X, columns, _Asked("predict_frame", (coverage, "pandas")))

    def _fitted_targets(self) -> list[str]:
        check_is_fitted(self)
        return [str(name) for name in self.target_names_]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean over the targets that vary of R², each over the rows in which it is known; computed by the workers."""
        if not _is_dask(X):
            return super().score(X, y, sample_weight)
        lean, tables = self._lean(), [X, y] if sample_weight is None else [X, y, sample_weight]
        parts = [delayed(_errors)(lean, *part) for part in _zipped(tables)]
        with _told(tables):
            found = dask.compute(*parts)
        mass, mean, squares, errors = found[0]
        for more, other, further, wrong in found[1:]:
            both = mass + more
            share = np.divide(more, both, out=np.zeros_like(both), where=both > 0)
            squares = squares + further + (other - mean) ** 2 * mass * share
            mass, mean, errors = both, mean + (other - mean) * share, errors + wrong
        varied = squares > 0
        return float(np.mean(1 - errors[varied] / squares[varied])) if varied.any() else float("nan")


class _Asked:
    """A method of an estimator with its arguments, whose answers stand side by side in one table of numbers."""

    def __init__(self, method: str, arguments: tuple[Any, ...]) -> None:
        self.method, self.arguments = method, arguments

    @_cluster.contained
    def __call__(self, estimator: Any, part: Any) -> Floats:
        if len(part) == 0:
            return np.empty((0, 0))
        found = getattr(estimator, self.method)(part, *self.arguments)
        tables = found if isinstance(found, tuple) else (found,)
        return np.column_stack([np.asarray(table, dtype=np.float64) for table in tables])


def _as_frame(part: Any, estimator: Any, answer: _Asked, columns: list[str]) -> Any:
    if isinstance(part, pd.Series):
        part = part.to_frame()
    values = answer(estimator, part) if len(part) else np.empty((0, len(columns)))
    return pd.DataFrame(values, columns=columns, index=part.index)


@_cluster.contained
def _errors(estimator: Any, X: Any, y: Any, weight: Any = None) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each target in a partition: weight, mean, squared deviations from it, and squared errors."""
    truth = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
    masses = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    mean = truth if len(X) == 0 else np.asarray(estimator.predict(X)).reshape(truth.shape)
    weights = np.where(np.isnan(truth), 0.0, masses[:, None])
    truth, mean = np.nan_to_num(truth), np.where(np.isnan(truth), 0.0, mean)
    total = weights.sum(axis=0)
    centre = np.divide((weights * truth).sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    squares = (weights * (truth - centre) ** 2).sum(axis=0)
    return total, centre, squares, (weights * (truth - mean) ** 2).sum(axis=0)


# Fitting


def _meta(data: Any) -> Any:
    meta = data._meta
    return meta.to_frame() if isinstance(data, dd.Series) else meta


def _typed(data: Any) -> list[tuple[str, bool]]:
    """Of each column its name and whether it is text."""
    if isinstance(data, da.Array):
        return [(name, False) for name in generated("x", 1 if data.ndim == 1 else data.shape[1])]
    return _cluster.typed(_meta(data))


def _name_of(data: Any) -> list[str] | None:
    name = getattr(data, "name", None) if isinstance(data, dd.Series) else None
    return [name] if isinstance(name, str) and name else None


def _parts(data: Any) -> list[Delayed]:
    if isinstance(data, da.Array):
        return list((data.rechunk({1: -1}) if data.ndim == 2 else data).to_delayed().ravel())
    return list(data.to_delayed())


def _zipped(tables: list[Any]) -> list[tuple[Delayed, ...]]:
    """The partitions of tables side by side."""
    parts = [_parts(table) for table in tables]
    if len({len(part) for part in parts}) > 1:
        counts = ", ".join(str(len(part)) for part in parts)
        raise ValueError(f"X, y and sample_weight have different numbers of partitions: {counts}")
    return list(zip(*parts))


def _joined(*parts: Any) -> Any:
    """The columns of one partition, of which each part has some, side by side."""
    frames = [part if isinstance(part, pd.DataFrame) else pd.DataFrame(part) for part in parts]
    if len({len(frame) for frame in frames}) > 1:
        raise ValueError(f"X and y have {' and '.join(str(len(frame)) for frame in frames)} rows in one partition")
    if len(frames) == 1:
        return frames[0]
    return pd.concat([frame.reset_index(drop=True) for frame in frames], axis=1)


def _summarised(job: Job, place: _cluster.Place, *parts: Any) -> bytes:
    return _cluster.summarised(job, place, [_joined(*parts)])


def _added(job: Job, plan: str, place: _cluster.Place, *parts: Any) -> bytes:
    return _cluster.added(job, plan, place, [_joined(*parts)])


def _counts(tables: list[Any]) -> Layout:
    """Rows of each partition, from a single column."""
    first = tables[0]
    if isinstance(first, da.Array):
        if not any(np.isnan(rows) for rows in first.chunks[0]):
            return Layout.of(first.chunks[0])
        column = first[:, :1]
    else:
        column = first if isinstance(first, dd.Series) else first[[first.columns[0]]]
    with _told(tables):
        return Layout.of(dask.compute(*[delayed(len)(part) for part in _parts(column)]))


def _tree(parts: list[Delayed], merge: Any) -> Delayed:
    """Merged by eights in their order, and these again."""
    while len(parts) > 1:
        runs = _cluster.bunches(len(parts), _cluster.WIDTH)
        parts = [delayed(merge)([parts[k] for k in run]) for run in runs]
    return parts[0]


@contextmanager
def _holding() -> Iterator[list[Any]]:
    """Futures of results that stay with the workers until the end of a fit.

    A scheduler that is to keep a result keeps the tasks it was made of too, those that read the table among them, and the
    error of one that failed. Left to be collected, the futures would live as long as the error whose traceback refers to them.
    """
    futures: list[Any] = []
    try:
        yield futures
    finally:
        for future in futures:
            future.release()


def _with_workers(result: Delayed, held: list[Any]) -> Delayed:
    """A result that is computed now and stays with the workers while its futures, added to these, are held."""
    (made,) = dask.persist(result)
    distributed: Any = sys.modules.get("distributed")
    futures = distributed.futures_of(made) if distributed else []
    held.extend(futures)
    while any(future.status == "pending" for future in futures):
        distributed.wait(futures)
    for future in futures:
        if future.status != "finished":
            future.result()  # raises
    return made


def _run(
    job: Job, tables: list[Any], threads: int, checkpoint: Checkpoint | None, keep_sample: bool, bar: Bar | None
) -> tuple[Any, list[str]]:
    """All steps of a fit."""

    def tell(text: str) -> None:
        if bar:
            bar.finish(text)

    layout = _counts(tables)
    if layout.total == 0:
        raise ValueError("the table has no rows")
    tell(f"{layout.total} rows in {len(layout.places)} partitions")
    rows = _zipped(tables)
    with _told(tables), _holding() as held:
        parts = [delayed(_summarised)(job, place, *part) for place, part in zip(layout.places, rows)]
        summary = _with_workers(_tree(parts, _cluster.merged_summaries), held)
        if not _cluster.is_streamed(job, layout):
            (model,) = dask.compute(delayed(_cluster.fitted)(job, summary, threads, keep_sample))
            tell("fitted")
            return model  # type: ignore[no-any-return]
        # Once it is there, the files of the checkpoint are of this plan.
        plan = _with_workers(delayed(_cluster.planned)(job, layout, summary, threads, checkpoint), held)
        tell("learned from a sample")
        groups = []
        for group in _cluster.groups_of(len(rows)):
            if checkpoint and checkpoint.has(group.name):
                groups.append(delayed(_cluster.found)(checkpoint, group))
                continue
            parts = [delayed(_added)(job, plan, layout.places[k], *rows[k]) for k in group.partitions]
            sums = _tree(parts, _cluster.merged_sums)
            groups.append(delayed(_cluster.kept)(checkpoint, group, sums) if checkpoint else sums)
        sums = _tree(groups, _cluster.merged_sums)
        model = delayed(_cluster.finished)(plan, layout.blocks, summary, sums, threads, keep_sample)
        (found,) = dask.compute(model)
        if checkpoint:
            checkpoint.remove()
        tell("added up")
        return found  # type: ignore[no-any-return]


@contextmanager
def _told(tables: list[Any]) -> Iterator[None]:
    """Errors of the workers with the file they come from, and those of the cluster in words."""
    try:
        yield
    except PartitionError as problem:
        files = {name: None for table in tables for name in _files(_parts(table)[problem.partition])}
        raise problem.at(files) from None
    except Exception as problem:
        if not type(problem).__module__.startswith("distributed") and not _is_lost(problem):
            raise
        reason = " ".join(str(problem).split())[:200]
        raise ClusterError(
            f"the Dask scheduler or its workers were lost ({type(problem).__name__}: {reason}); connect to a cluster and fit "
            "again: with checkpoint=, a fit goes on from what was done"
        ) from problem


def _is_lost(problem: BaseException) -> bool:
    """Whether a future was cancelled, as all are when the scheduler is lost."""
    return any(kind.__name__ == "CancelledError" for kind in type(problem).__mro__)


def _files(thing: Any, depth: int = 12) -> Iterator[str]:
    """Names of files in a task that reads them."""
    path = thing if isinstance(thing, str) else getattr(thing, "path", None)
    if isinstance(path, str):
        name = os.path.basename(path)
        if os.path.splitext(name)[1].lower() in {".parquet", ".pq", ".csv", ".tsv", ".gz", ".zst"}:
            yield name
    elif depth > 0:
        inner: list[Any] = []
        if isinstance(thing, Delayed):
            inner = [dict(dask.optimize(thing)[0].__dask_graph__())]  # of this partition alone
        elif isinstance(thing, dict):
            inner = list(thing.values())
        elif isinstance(thing, (list, tuple, set)):
            inner = list(thing)
        else:
            inner = [getattr(thing, name) for name in ("args", "kwargs", "value", "func") if hasattr(thing, name)]
        for part in inner:
            yield from _files(part, depth - 1)
