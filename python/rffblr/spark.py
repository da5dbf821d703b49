"""Fits and predictions where the rows are: an Estimator and a Model for ``pyspark.ml`` (``pip install "rffblr[spark]"``).

The steps are those of :mod:`rffblr.dask`: rows stay with the executors, which send summaries and sums. See
``docs/cluster.md``.
"""

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import unquote

import joblib
import numpy as np

try:
    import pandas as pd
    import pyarrow  # noqa: F401
    from pyspark import SparkContext, TaskContext
    from pyspark.errors import AnalysisException
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import vector_to_array
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.param.shared import HasFeaturesCol, HasPredictionCol, HasSeed, HasWeightCol
    from pyspark.ml.util import (
        DefaultParamsReadable,
        DefaultParamsReader,
        DefaultParamsWritable,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
except ImportError as problem:
    raise ImportError('rffblr.spark needs pyspark, pandas and pyarrow: pip install "rffblr[spark]"') from problem

from . import _cluster, _regressor, _rffblr
from ._base import generated
from ._cluster import Checkpoint, ClusterError, Group, Job, Layout, PartitionError, Piece, Place
from ._forms import Drawn

__all__ = ["ClusterError", "PartitionError", "RFFBLRModel", "RFFBLRRegressor"]

# What executors hand on: sums or summaries of a group of partitions, or of some of it.
PARTIAL = "group long, part long, bytes binary"


class _Shared(HasFeaturesCol, HasPredictionCol, HasWeightCol, HasSeed):
    """The parameters of both."""

    featuresCols: Any = Param(
        Params._dummy(),
        "featuresCols",
        "input columns: numbers, truth values, text, dates. If not set, the vector or array in featuresCol is the input",
        TypeConverters.toListString,
    )
    targetCols: Any = Param(
        Params._dummy(), "targetCols", "columns to predict; null is a cell that was not observed", TypeConverters.toListString
    )
    weights: Any = Param(
        Params._dummy(),
        "weights",
        "what weightCol means: relative (precisions) or repeats (as how many rows a row counts)",
        TypeConverters.toString,
    )
    coverage: Any = Param(
        Params._dummy(), "coverage", "probability of the intervals of transform", TypeConverters.toFloat
    )
    preset: Any = Param(Params._dummy(), "preset", "settings to start from", TypeConverters.toString)
    features: Any = Param(Params._dummy(), "features", "number of cosines and sines", TypeConverters.toInt)
    maxIter: Any = Param(Params._dummy(), "maxIter", "most steps of learning (max_iterations)", TypeConverters.toInt)
    settings: Any = Param(
        Params._dummy(), "settings", "other settings of rffblr.RFFBLRRegressor, as JSON by name", TypeConverters.toString
    )
    missing: Any = Param(
        Params._dummy(), "missing", "missing inputs: impute or error", TypeConverters.toString
    )
    holdOut: Any = Param(
        Params._dummy(), "holdOut", "whether to test the model on rows it has not seen", TypeConverters.toBoolean
    )
    checkpoint: Any = Param(
        Params._dummy(),
        "checkpoint",
        "folder that driver and executors reach, from which a fit that was broken off goes on",
        TypeConverters.toString,
    )
    threads: Any = Param(
        Params._dummy(), "threads", "threads of the driver while it learns; -1 for all cores", TypeConverters.toInt
    )

    def _defaults(self) -> None:
        self._setDefault(
            predictionCol="prediction",
            weights="relative",
            coverage=0.9,
            seed=0,
            settings="{}",
            missing="impute",
            holdOut=True,
            threads=-1,
        )

    def _value(self, name: str) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    def getTargetCols(self) -> list[str]:
        """Columns to predict."""
        return list(self.getOrDefault(self.targetCols))

    def getFeaturesCols(self) -> list[str] | None:
        """Input columns, if they are not in one vector."""
        return None if self._value("featuresCols") is None else list(self.getOrDefault(self.featuresCols))

    def _inputs(self, dataset: Any) -> list[Any]:
        """The input columns in the types that executors get: numbers, text, or one array of numbers."""
        names = self.getFeaturesCols()
        if names is not None:
            return [_plain(dataset, name) for name in names]
        column = self.getFeaturesCol()
        if isinstance(_type_of(dataset, column), T.ArrayType):
            return [F.col(f"`{column}`").cast("array<double>").alias(column)]
        return [vector_to_array(F.col(f"`{column}`")).alias(column)]


class RFFBLRRegressor(_Shared, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """Bayesian multitask regression on a Spark DataFrame.

    Rows stay with the executors: they are counted, then summed up by columns with a sample of at most 116 000 rows (404 000
    with much effort); the driver learns the kernel from the sample; then the rows of each partition become sums of M(M + 1)/2
    numbers for M features, which executors merge. An executor that is lost has its part done again by another. The model has
    the same bits for any number of executors and any order in which they finish. Rows of a table that is read from files are
    numbered by file, as they are on one machine: the bits are those of :meth:`rffblr.RFFBLRRegressor.fit_files` if all files
    but the last have a multiple of 32 768 rows. Rows of other tables are numbered by partition.

    Parameters
    ----------
    featuresCols : list of str, optional
        Input columns: numbers, truth values, text, dates.
    featuresCol : str, default="features"
        Without featuresCols, a column of vectors or arrays, such as VectorAssembler makes.
    targetCols : list of str
        Columns to predict; null is a cell that was not observed.
    predictionCol : str, default="prediction"
        Columns that transform adds: ``prediction``, ``prediction_std``, ``prediction_lower``, ``prediction_upper`` of a single
        target; of several, ``prediction_t`` and so on for a target ``t``.
    weightCol, weights, coverage, preset, features, maxIter, settings, missing, seed, holdOut, checkpoint, threads
        See ``explainParams()``; those with a counterpart in :class:`rffblr.RFFBLRRegressor` mean the same.
    """

    def __init__(
        self,
        *,
        featuresCols: list[str] | None = None,
        featuresCol: str | None = None,
        targetCols: list[str] | None = None,
        predictionCol: str | None = None,
        weightCol: str | None = None,
        weights: str | None = None,
        coverage: float | None = None,
        preset: str | None = None,
        features: int | None = None,
        maxIter: int | None = None,
        settings: str | None = None,
        missing: str | None = None,
        seed: int | None = None,
        holdOut: bool | None = None,
        checkpoint: str | None = None,
        threads: int | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__()
        self._defaults()
        self.setParams(**given)

    def setParams(self, **given: Any) -> "RFFBLRRegressor":
        """Sets parameters by name; those that are ``None`` stay as they are."""
        self._set(**{name: value for name, value in given.items() if value is not None})
        return self

    def _ordinary(self) -> _regressor.RFFBLRRegressor:
        """The estimator of one machine with the same settings."""
        features = self._value("features")
        return _regressor.RFFBLRRegressor(
            preset=self._value("preset"),
            form=None if features is None else Drawn(features=features),
            max_iterations=self._value("maxIter"),
            missing=self._value("missing"),
            weights=self._value("weights"),
            random_state=self.getSeed(),
            **json.loads(self._value("settings")),
        )

    def _fit(self, dataset: Any) -> "RFFBLRModel":
        return _told(lambda: self._fit_table(dataset), dataset)  # type: ignore[no-any-return]

    def _fit_table(self, dataset: Any) -> "RFFBLRModel":
        if not self.isDefined(self.targetCols):
            raise ValueError("targetCols is not set: name the columns to predict")
        estimator = self._ordinary()
        targets, weight = self.getTargetCols(), self._value("weightCol")
        inputs, expand = self._inputs(dataset), _Expand(self.getFeaturesCols() is None)
        numbers = [F.col(f"`{name}`").cast("double").alias(name) for name in [*targets, *([weight] if weight else [])]]
        for name in targets:
            if not isinstance(_type_of(dataset, name), (T.NumericType, T.BooleanType)):
                raise ValueError(f"target '{name}' is no column of numbers")
        table = dataset.select(*inputs, *numbers)
        columns = [(field.name, isinstance(field.dataType, T.StringType)) for field in table.schema.fields]
        if expand.vectors:
            first = table.where(F.col(table.columns[0]).isNotNull()).select(F.size(table.columns[0])).first()
            expand.width = int(first[0]) if first else 0
            columns = [(name, False) for name in generated("x", expand.width)] + columns[1:]
        preset, settings = self._value("preset"), estimator._settings()
        weighting = None if weight is None else (weight, str(self._value("weights")))
        missing, hold_out = str(self._value("missing")), bool(self._value("holdOut"))
        job = Job(columns, targets, [], weighting, missing, hold_out, preset, settings)
        folder = self._value("checkpoint")
        checkpoint = None if folder is None else Checkpoint(folder)
        threads = int(joblib.effective_n_jobs(self._value("threads")))
        model, notes = _run(job, table, expand, threads, checkpoint)
        fitted = _regressor.RFFBLRRegressor._of(model)
        fitted.notes_ = notes
        return self._copyValues(RFFBLRModel(fitted))  # type: ignore[no-any-return]


class RFFBLRModel(_Shared, Model, MLReadable, MLWritable):
    """A fitted model. ``estimator`` is the ordinary :class:`rffblr.RFFBLRRegressor`: it saves, explains and reports."""

    def __init__(self, estimator: _regressor.RFFBLRRegressor | None = None) -> None:
        super().__init__()
        self._defaults()
        self.estimator = estimator

    def _fitted(self) -> _regressor.RFFBLRRegressor:
        if self.estimator is None:
            raise ValueError("this RFFBLRModel is not fitted; RFFBLRRegressor.fit makes one that is")
        return self.estimator

    @property
    def headline(self) -> str:
        """The score on rows the model has not seen, in a sentence."""
        return self._fitted().headline_

    def predictionColumns(self) -> list[str]:
        """Names of the columns that transform adds."""
        base, targets = self.getPredictionCol(), self._fitted().target_names_
        stems = [base] if len(targets) == 1 else [f"{base}_{name}" for name in targets]
        return [f"{stem}{ending}" for stem in stems for ending in ("", "_std", "_lower", "_upper")]

    def _transform(self, dataset: Any) -> Any:
        names = self.predictionColumns()
        taken = sorted(set(names) & set(dataset.columns))
        if taken:
            raise ValueError(f"the table has a column '{taken[0]}' already; set another predictionCol")
        text = _cluster.without_rows(self._fitted().model_).to_json()
        predict = _Predict(text, _Expand(self.getFeaturesCols() is None), self.getOrDefault(self.coverage))
        schema = T.StructType([T.StructField(f"c{k}", T.DoubleType()) for k in range(len(names))])

        def answer(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            return predict(frames)

        made = F.pandas_udf(answer, schema)(F.struct(*self._inputs(dataset)))
        whole = dataset.withColumn("__rffblr", made)
        added = [F.col(f"__rffblr.c{k}").alias(name) for k, name in enumerate(names)]
        return whole.select(*[F.col(f"`{name}`") for name in dataset.columns], *added)

    def copy(self, extra: Any = None) -> "RFFBLRModel":
        """The same model with other parameters."""
        return super().copy(extra)  # type: ignore[no-any-return]

    def write(self) -> MLWriter:
        """What saves the model to a folder."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """What loads a model from a folder."""
        return _Reader()


class _Writer(MLWriter):
    """The parameters, and the text of the model file beside them."""

    def __init__(self, instance: RFFBLRModel) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        text = self.instance._fitted().model_.to_json()
        DefaultParamsWriter.saveMetadata(self.instance, path, _context(self), extraMetadata={"model": text})


class _Reader(MLReader):
    def load(self, path: str) -> RFFBLRModel:
        metadata = DefaultParamsReader.loadMetadata(path, _context(self))
        model = _rffblr.Model.restore(metadata["model"], None)
        out = RFFBLRModel(_regressor.RFFBLRRegressor._of(model))
        out._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(out, metadata)
        return out


def _context(of: Any) -> Any:
    """What Spark 4 writes with, the session, or Spark 3, the context."""
    import pyspark

    return of.sc if pyspark.__version__.startswith("3.") else of.sparkSession


# Columns


def _type_of(dataset: Any, name: str) -> Any:
    for field in dataset.schema.fields:
        if field.name == name:
            return field.dataType
    raise ValueError(f"the table has no column '{name}'")


def _plain(dataset: Any, name: str) -> Any:
    """A column as numbers or as text."""
    kind, column = _type_of(dataset, name), F.col(f"`{name}`")
    if isinstance(kind, (T.NumericType, T.BooleanType)):
        return column.cast("double").alias(name)
    if isinstance(kind, T.StringType):
        return column.alias(name)
    if isinstance(kind, T.DateType):
        return column.cast("string").alias(name)
    if isinstance(kind, (T.TimestampType, T.TimestampNTZType)):
        return F.date_format(column, "yyyy-MM-dd'T'HH:mm:ss").alias(name)
    raise ValueError(f"column '{name}' is of type {kind.simpleString()}, which is neither a number nor text nor a date")


class _Expand:
    """Turns a first column of arrays into a column for each entry; leaves frames without one as they are."""

    def __init__(self, vectors: bool) -> None:
        self.vectors = vectors
        self.width: int | None = None

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        if not self.vectors or len(frame) == 0:
            return frame
        column = frame.iloc[:, 0]
        width = self.width or next((len(row) for row in column if row is not None), 0)
        cells = np.full((len(frame), width), np.nan)
        for number, row in enumerate(column):
            if row is not None:
                if len(row) != width:
                    raise ValueError(f"row {number + 1}: a vector of {len(row)} entries where others have {width}")
                cells[number] = row
        made = pd.DataFrame(cells, columns=generated("x", width))
        return pd.concat([made, frame.iloc[:, 1:].reset_index(drop=True)], axis=1)


# Predicting


@functools.lru_cache(maxsize=4)
def _estimator(text: str) -> _regressor.RFFBLRRegressor:
    """The model of a text, once in each process."""
    return _regressor.RFFBLRRegressor._of(_rffblr.Model.restore(text, None))


class _Predict:
    """Predictions for batches of rows: point, standard deviation and ends of the interval of each target."""

    def __init__(self, text: str, expand: _Expand, coverage: float) -> None:
        self.text, self.expand, self.coverage = text, expand, coverage

    def __call__(self, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        estimator = _estimator(self.text)
        for frame in frames:
            columns = 4 * len(estimator.target_names_)
            values = np.empty((0, columns))
            if len(frame):
                values = estimator.predict_frame(self.expand(frame), self.coverage, "pandas").to_numpy()
            yield pd.DataFrame(values, columns=[f"c{k}" for k in range(columns)])


# Fitting


def _partial(group: int, part: int, content: bytes) -> pd.DataFrame:
    return pd.DataFrame({"group": [group], "part": [part], "bytes": [content]})


def _each(table: Any, work: Callable[[int, Iterable[pd.DataFrame]], tuple[int, bytes] | None], expand: _Expand) -> Any:
    """What ``work`` makes of every partition, a lazy table; nothing where it returns ``None``."""

    def one(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        found = work(number, map(expand, frames))
        if found is not None:
            yield _partial(found[0], number, found[1])

    return table.mapInPandas(one, PARTIAL)


def _level(parts: Any, merge: Callable[[list[bytes]], bytes], done: Callable[[int, bytes], bytes] | None = None) -> Any:
    """Runs of eight parts of a group merged in their order; ``done`` sees what they became."""

    def one(frame: pd.DataFrame) -> pd.DataFrame:
        ordered = frame.sort_values("part")
        group, part = int(frame["group"].iloc[0]), int(frame["part"].iloc[0]) // _cluster.WIDTH
        merged = merge([bytes(content) for content in ordered["bytes"]])
        return _partial(group, part, done(group, merged) if done else merged)

    run = F.floor(F.col("part") / _cluster.WIDTH).alias("run")
    return parts.groupBy("group", run).applyInPandas(one, PARTIAL)


def _kept(
    parts: Any, size: int, merge: Callable[[list[bytes]], bytes], keep: Callable[[int, bytes], bytes]
) -> Any:
    """All parts of each group of so many merged by executors, and kept there; the groups as parts."""
    parts = parts.withColumn("part", F.col("part") % size)
    while size > _cluster.WIDTH:
        parts, size = _level(parts, merge), -(-size // _cluster.WIDTH)
    parts = _level(parts, merge, keep)
    return parts.select(F.lit(0).cast("long").alias("group"), F.col("group").alias("part"), "bytes")


def _merged(parts: Any, count: int, merge: Callable[[list[bytes]], bytes]) -> bytes:
    """All parts, numbered below ``count``, merged: by executors, the last two by the driver."""
    while count > 2:
        parts, count = _level(parts, merge), -(-count // _cluster.WIDTH)
    return merge([bytes(row["bytes"]) for row in sorted(parts.collect(), key=lambda row: row["part"])])


def _counts(table: Any) -> Layout:
    """Rows of each partition, by file and place in it where the rows come from files as they are."""
    part, row = F.spark_partition_id().alias("part"), F.monotonically_increasing_id().alias("row")
    file, start = F.lit("").alias("file"), F.lit(0).alias("start")
    rows = table.select(part, row, file, start)
    # What is cached has no files any more, and must not be read from them again.
    if "InMemory" not in _plan(table):
        try:
            file, start = (F.col(f"_metadata.file_{name}").alias(name) for name in ("path", "block_start"))
            rows = table.select(part, row, file.alias("file"), start.alias("start"))
        except AnalysisException:
            pass
    ends = F.min("row").alias("first"), F.max("row").alias("last")
    found = rows.groupBy("part", "file", "start").agg(F.count("row").alias("rows"), *ends).collect()
    # After a join or a shuffle rows of several files may lie among each other.
    apart = all(one["last"] - one["first"] + 1 == one["rows"] for one in found)
    pieces: list[list[Piece]] = [[] for _ in range(max((one["part"] for one in found), default=-1) + 1)]
    for one in sorted(found, key=lambda one: int(one["first"])):
        pieces[one["part"]].append(Piece(one["rows"], unquote(one["file"]) if apart else "", one["start"]))
    return Layout(pieces)


def _plan(table: Any) -> str:
    """How Spark makes a table, in its words."""
    if hasattr(table, "_jdf"):
        return str(table._jdf.queryExecution().withCachedData().toString())
    return str(table._explain_string())


def _run(
    job: Job, table: Any, expand: _Expand, threads: int, checkpoint: Checkpoint | None
) -> tuple[_rffblr.Model, list[str]]:
    """All steps of a fit."""
    layout = _counts(table)
    if layout.total == 0:
        raise ValueError("the table has no rows")
    places = layout.places

    def place_of(number: int) -> Place:
        return places[number] if number < len(places) else Place(number, (), layout.total)

    def summarise(number: int, frames: Iterable[pd.DataFrame]) -> tuple[int, bytes]:
        return 0, _cluster.summarised(job, place_of(number), frames)

    summary = _merged(_each(table, summarise, expand), len(places), _cluster.merged_summaries)
    if not _cluster.is_streamed(job, layout):
        return _cluster.fitted(job, summary, threads, True)
    plan = _cluster.planned(job, layout, summary, threads, checkpoint)
    groups = _cluster.groups_of(len(places)) if checkpoint else []
    saved = [group for group in groups if checkpoint and checkpoint.has(group.name)]
    known = {number for group in saved for number in group.partitions}
    size = len(groups[0].partitions) if groups else len(places)

    def add(number: int, frames: Iterable[pd.DataFrame]) -> tuple[int, bytes] | None:
        if number in known:
            return None
        return number // size, _cluster.added(job, plan, place_of(number), frames)

    def keep(number: int, sums: bytes) -> bytes:
        return sums if checkpoint is None else _cluster.kept(checkpoint, Group(number, range(0)), sums)

    sums = [_cluster.found(checkpoint, group) for group in saved if checkpoint]
    if not groups:
        sums.append(_merged(_each(table, add, expand), len(places), _cluster.merged_sums))
    elif len(saved) < len(groups):
        parts = _kept(_each(table, add, expand), size, _cluster.merged_sums, keep)
        sums.append(_merged(parts, len(groups), _cluster.merged_sums))
    found = _cluster.finished(plan, layout.blocks, summary, _cluster.merged_sums(sums), threads, True)
    if checkpoint:
        checkpoint.remove()
    return found


def _told(work: Callable[[], Any], dataset: Any) -> Any:
    """Runs work; errors of executors come with the file, and those of the cluster in words."""
    try:
        return work()
    except Exception as problem:
        text = str(problem)
        bad = re.search(r"PartitionError: partition (\d+)(?: \((.*?)\))?(?:, row (\d+) of (it|the file))?: (.*)", text)
        if bad:
            row = int(bad[3]) - 1 if bad[3] else None
            files = tuple(bad[2].split(", ")) if bad[2] else ()
            raise PartitionError(bad[5], int(bad[1]) - 1, row, files, bad[4] == "the file") from None
        if not _is_lost(problem, text, dataset):
            raise
        reason = " ".join(text.split())[:200]
        raise ClusterError(
            f"the Spark driver or its cluster was lost ({type(problem).__name__}: {reason}); "
            "start a session and fit again: with checkpoint, a fit goes on from what was done"
        ) from problem


def _is_lost(problem: Exception, text: str, dataset: Any) -> bool:
    """Whether there is no driver any more, or none that has a cluster."""
    stopped = "connect" not in type(dataset).__module__ and SparkContext._active_spark_context is None
    errors = ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError")
    words = ("SparkContext was shut down", "cancelled because SparkContext", "stopped SparkContext", "Connection refused")
    return stopped or type(problem).__name__ in errors or any(word in text for word in words)
