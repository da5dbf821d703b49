"""Fits and predictions where the rows are: an Estimator and a Model for ``pyspark.ml`` (``pip install "rffblr[spark]"``).

The steps are those of :mod:`rffblr.dask`: rows stay with the executors, which send summaries and sums. See
``docs/cluster.md``.
"""

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np

try:
    import pandas as pd
    import pyarrow  # noqa: F401
    from pyspark import SparkContext
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

from . import _cluster, _regressor, _rffblr, _spark
from ._base import generated
from ._cluster import Checkpoint, ClusterError, Job, PartitionError
from ._forms import Drawn
from ._spark import Expand

__all__ = ["ClusterError", "PartitionError", "RFFBLRModel", "RFFBLRRegressor"]


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
        inputs, expand = self._inputs(dataset), Expand(self.getFeaturesCols() is None)
        numbers = [F.col(f"`{name}`").cast("double").alias(name) for name in [*targets, *([weight] if weight else [])]]
        for name in targets:
            if not isinstance(_type_of(dataset, name), (T.NumericType, T.BooleanType)):
                raise ValueError(f"target '{name}' is no column of numbers")
        table = dataset.select(*inputs, *numbers)
        columns = [(field.name, isinstance(field.dataType, T.StringType)) for field in table.schema.fields]
        preset, settings = self._value("preset"), estimator._settings()
        weighting = None if weight is None else (weight, str(self._value("weights")))
        missing, hold_out = str(self._value("missing")), bool(self._value("holdOut"))
        folder = self._value("checkpoint")
        checkpoint = None if folder is None else Checkpoint(folder)
        threads = int(joblib.effective_n_jobs(self._value("threads")))
        with _spark.lasting(table) as source:
            if expand.vectors:
                first = source.rows.where(F.col(table.columns[0]).isNotNull()).select(F.size(table.columns[0])).first()
                expand.width = int(first[0]) if first else 0
                columns = [(name, False) for name in generated("x", expand.width)] + columns[1:]
            job = Job(columns, targets, [], weighting, missing, hold_out, preset, settings)
            model, notes = _spark.run(job, source, expand, threads, checkpoint)
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
        predict = _Predict(text, Expand(self.getFeaturesCols() is None), self.getOrDefault(self.coverage))
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


# Predicting


@functools.lru_cache(maxsize=4)
def _estimator(text: str) -> _regressor.RFFBLRRegressor:
    """The model of a text, once in each process."""
    return _regressor.RFFBLRRegressor._of(_rffblr.Model.restore(text, None))


class _Predict:
    """Predictions for batches of rows: point, standard deviation and ends of the interval of each target."""

    def __init__(self, text: str, expand: Expand, coverage: float) -> None:
        self.text, self.expand, self.coverage = text, expand, coverage

    def __call__(self, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        estimator = _estimator(self.text)
        for frame in frames:
            columns = 4 * len(estimator.target_names_)
            values = np.empty((0, columns))
            if len(frame):
                values = estimator.predict_frame(self.expand.frame(frame), self.coverage, "pandas").to_numpy()
            yield pd.DataFrame(values, columns=[f"c{k}" for k in range(columns)])


# Errors


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
