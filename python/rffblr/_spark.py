"""The steps of a fit to a Spark DataFrame: what executors do to each partition, and what the driver does in between."""

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import StorageLevel, TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from . import _cluster, _rffblr
from ._base import generated
from ._cluster import Checkpoint, Group, Job, Layout, Piece, Place

# What executors hand on: sums or summaries of a group of partitions, or of some of it.
PARTIAL = "group long, part long, bytes binary"
# Steps of a plan, by the names Spark gives them: what may read files; what is cached; what leaves each row in its place.
STORED, CACHED = {"LogicalRelation", "DataSourceV2Relation"}, "InMemoryRelation"
NARROW = {*STORED, CACHED, "Project", "Filter", "SubqueryAlias", "View"}
# Columns beside those of the table: the file of a row, and the byte of it at which its part begins.
FILE, START = "__rffblr_file", "__rffblr_start"


class Expand:
    """Turns a first column of arrays into a column for each entry; leaves rows without one as they are."""

    def __init__(self, vectors: bool) -> None:
        self.vectors = vectors
        self.width: int | None = None

    def frame(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Of a frame of pandas."""
        if not self.vectors or len(rows) == 0:
            return rows
        made = self._cells(pa.array(rows.iloc[:, 0], from_pandas=True))
        return pd.concat([pd.DataFrame(made), rows.iloc[:, 1:].reset_index(drop=True)], axis=1)

    def table(self, batch: pa.RecordBatch) -> pa.Table:
        """Of some rows in Arrow's form."""
        rows = pa.Table.from_batches([batch])
        if not self.vectors or len(rows) == 0:
            return rows
        made = self._cells(batch.column(0))
        return pa.table({**made, **dict(zip(rows.column_names[1:], rows.columns[1:]))})

    def _cells(self, arrays: pa.ListArray) -> dict[str, NDArray[np.float64]]:
        there = arrays.is_valid().to_numpy(zero_copy_only=False)
        lengths = arrays.value_lengths().fill_null(0).to_numpy()
        width = self.width or int(lengths[there][0] if there.any() else 0)
        for number in np.flatnonzero(there & (lengths != width))[:1]:
            raise ValueError(f"row {number + 1}: a vector of {lengths[number]} entries where others have {width}")
        cells = np.full((width, len(arrays)), np.nan)
        cells[:, there] = arrays.flatten().to_numpy(zero_copy_only=False).reshape(there.sum(), width).T
        return dict(zip(generated("x", width), cells))


def _partial(group: int, part: int, content: bytes) -> pd.DataFrame:
    return pd.DataFrame({"group": [group], "part": [part], "bytes": [content]})


def _each(table: Any, work: Callable[[int, Iterable[pa.Table]], tuple[int, bytes] | None], expand: Expand) -> Any:
    """What ``work`` makes of every partition, a lazy table; nothing where it returns ``None``."""

    def one(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        found = work(number, map(expand.table, batches))
        if found is not None:
            yield pa.RecordBatch.from_pandas(_partial(found[0], number, found[1]), preserve_index=False)

    return table.mapInArrow(one, PARTIAL)


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


@dataclass(frozen=True)
class Source:
    """A table whose rows and partitions stay what they are while it is read several times."""

    # With FILE and START if its rows come from files.
    located: Any
    columns: list[str]
    from_files: bool

    @property
    def rows(self) -> Any:
        """Its own columns."""
        return self.located.select(*[F.col(f"`{name}`") for name in self.columns])


@contextlib.contextmanager
def lasting(table: Any) -> Iterator[Source]:
    """The table, kept by the executors meanwhile unless every reading of it gives the same rows in the same partitions.

    Files and cached tables do, also with columns and rows chosen. After a join, say, Spark chooses the partitions
    anew for every query, by the columns that are asked for.
    """
    columns = list(table.columns)
    file, start = (F.col(f"_metadata.file_{name}") for name in ("path", "block_start"))
    plan = _steps(table)
    # What is cached has no files any more, and must not be read from them again.
    from_files = CACHED not in plan and not plan.isdisjoint(STORED)
    located = table
    if from_files:
        try:
            located = table.select("*", file.alias(FILE), start.alias(START))
            # A client of Spark Connect hears here that there is no such column.
            assert FILE in located.columns
        except AnalysisException:
            from_files = False
    if plan <= NARROW and (from_files or CACHED in plan):
        yield Source(located, columns, from_files)
        return
    # Spark knows kept tables by their plans: one with a name of its own is not that of another fit, which ends sooner or later.
    mine = located.withColumn("__rffblr_fit", F.lit(uuid.uuid4().hex)).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield Source(mine, columns, from_files)
    finally:
        # Nothing is left to remove if the driver has gone.
        with contextlib.suppress(Exception):
            mine.unpersist()


def _steps(table: Any) -> set[str]:
    """Spark's names of the steps that make a table, and ``random`` if they may give other rows every time."""
    if not hasattr(table, "_jdf"):
        # A client of Spark Connect sees no plan but as text.
        return {CACHED} if "InMemory" in table._explain_string() else {*STORED, "unknown"}
    plan = table._jdf.queryExecution().withCachedData()
    names, left = set() if plan.deterministic() else {"random"}, [plan]
    while left:
        step = left.pop()
        names.add(step.getClass().getSimpleName())
        below = step.children()
        left += [below.apply(number) for number in range(below.size())]
    return names


def counts(source: Source) -> Layout:
    """Rows of each partition, by file and place in it where the rows come from files as they are."""
    part, row = F.spark_partition_id().alias("part"), F.monotonically_increasing_id().alias("row")
    file, start = (F.col(FILE), F.col(START)) if source.from_files else (F.lit(""), F.lit(0))
    rows = source.located.select(part, row, file.alias("file"), start.alias("start"))
    ends = F.min("row").alias("first"), F.max("row").alias("last")
    found = rows.groupBy("part", "file", "start").agg(F.count("row").alias("rows"), *ends).collect()
    # After a join or a shuffle rows of several files may lie among each other.
    apart = all(one["last"] - one["first"] + 1 == one["rows"] for one in found)
    pieces: list[list[Piece]] = [[] for _ in range(max((one["part"] for one in found), default=-1) + 1)]
    for one in sorted(found, key=lambda one: int(one["first"])):
        pieces[one["part"]].append(Piece(one["rows"], unquote(one["file"]) if apart else "", one["start"]))
    return Layout(pieces)


def run(
    job: Job, source: Source, expand: Expand, threads: int, checkpoint: Checkpoint | None
) -> tuple[_rffblr.Model, list[str]]:
    """All steps of a fit."""
    table = source.rows
    layout = counts(source)
    if layout.total == 0:
        raise ValueError("the table has no rows")
    places = layout.places

    def place_of(number: int) -> Place:
        return places[number] if number < len(places) else Place(number, (), layout.total)

    def summarise(number: int, frames: Iterable[pa.Table]) -> tuple[int, bytes]:
        return 0, _cluster.summarised(job, place_of(number), frames)

    summary = _merged(_each(table, summarise, expand), len(places), _cluster.merged_summaries)
    if not _cluster.is_streamed(job, layout):
        return _cluster.fitted(job, summary, threads, True)
    plan = _cluster.planned(job, layout, summary, threads, checkpoint)
    groups = _cluster.groups_of(len(places)) if checkpoint else []
    saved = [group for group in groups if checkpoint and checkpoint.has(group.name)]
    known = {number for group in saved for number in group.partitions}
    size = len(groups[0].partitions) if groups else len(places)

    def add(number: int, frames: Iterable[pa.Table]) -> tuple[int, bytes] | None:
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
