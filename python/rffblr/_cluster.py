"""A fit to rows that lie in many processes, without an engine: what is done to the rows of one partition, how results are
merged, and what is done once.

Every function is pure: the same arguments give the same bytes, in any process and however often. An engine (Dask, Spark)
calls them where the rows are and merges what they return in the order of the partitions.

1. The rows of each partition are counted (:class:`Piece`): every row and every block then has a number (:class:`Layout`).
2. :func:`summarised` in each partition, :func:`merged_summaries`: what the columns are, and a sample.
3. :func:`planned` once: the kernel is learned from the sample.
4. :func:`added` in each partition, :func:`merged_sums`: the sums over all rows.
5. :func:`finished` once: the model.

Few rows are fitted by :func:`fitted` after the second step.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np

from . import _rffblr
from ._frames import MISSING, _arrow_cells, _pandas_cells
from ._rffblr import BLOCK

# Partial results that one task merges.
WIDTH = 8
# Files of a checkpoint with sums, at most.
GROUPS = 64
# Files of a partition whose rows are numbered by file, at most: every file has a set of sums of its own.
FILES = 16


@dataclass(frozen=True)
class Job:
    """What is fitted: the names have the meanings of :meth:`RFFBLRRegressor.fit_files`."""

    # Of every column its name, in the order of the partitions, and whether it is text.
    columns: list[tuple[str, bool]]
    targets: list[str]
    ignore: list[str]
    weight: tuple[str, str] | None
    missing: str
    hold_out: bool
    preset: str | None
    settings: list[tuple[str, str]]
    group: str | None = None
    time: str | None = None

    @property
    def seed(self) -> int:
        return int(dict(self.settings)["seed"])


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a partition, as they were counted."""

    rows: int
    # Path of the file they come from and the byte of it at which they begin, where the engine tells.
    file: str = ""
    start: int = 0

    @property
    def key(self) -> tuple[list[str], int]:
        """What files are sorted by: one machine reads those of a folder in this order."""
        return self.file.split("/"), self.start

    @property
    def name(self) -> str:
        return self.file.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Run:
    """Rows of a partition that are consecutive among all rows. Its blocks have ``BLOCK`` rows each but for its last."""

    rows: int
    first_row: int
    first_block: int
    # The name of their file, if rows are numbered by file, and how many of its rows come before.
    file: str = ""
    before: int = 0


@dataclass(frozen=True)
class Place:
    """Where the rows of a partition stand among all rows."""

    partition: int
    runs: tuple[Run, ...]
    # Rows of all partitions.
    total: int
    # Names of the files in the partition.
    files: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(run.rows for run in self.runs)


class Layout:
    """Numbers of rows and blocks.

    Rows are numbered in the order of the files they come from, whichever partition has them, so that they have the numbers
    they have on one machine. Where the files are not known, or a partition has more than ``FILES``, the order is that of the
    partitions.
    """

    def __init__(self, partitions: Iterable[Sequence[Piece]]) -> None:
        parts = [tuple(pieces) for pieces in partitions]
        files = [tuple(sorted({piece.name for piece in pieces if piece.file})) for pieces in parts]
        if not all(len(pieces) <= FILES and all(piece.file for piece in pieces) for pieces in parts):
            parts = [(Piece(sum(piece.rows for piece in pieces)),) for pieces in parts]
        pieces = [(piece.key, part, place, piece) for part, all_ in enumerate(parts) for place, piece in enumerate(all_)]
        runs: dict[tuple[int, int], Run] = {}
        row = block = first = 0
        last = ""
        for _, part, place, piece in sorted(pieces, key=lambda entry: entry[:3]):
            first, last = (first if piece.file == last else row), piece.file
            runs[part, place] = Run(piece.rows, row, block, piece.name, row - first)
            row, block = row + piece.rows, block - (-piece.rows // BLOCK)
        self.total, self.blocks = row, block
        self.places = [
            Place(part, tuple(runs[part, place] for place in range(len(all_))), row, files[part])
            for part, all_ in enumerate(parts)
        ]

    @classmethod
    def of(cls, rows: Iterable[int]) -> "Layout":
        """Of partitions with so many rows each."""
        return cls([Piece(int(count))] for count in rows)


class PartitionError(ValueError):
    """A partition that cannot be used, by its number and, if it is one row's fault, the number of that row; both from 0.

    Rows are those of the partition, or of its file if ``of_file``.
    """

    def __init__(
        self, problem: str, partition: int, row: int | None = None, files: tuple[str, ...] = (), of_file: bool = False
    ) -> None:
        super().__init__(problem, partition, row, files, of_file)
        self.problem, self.partition, self.row, self.files, self.of_file = problem, partition, row, files, of_file

    def __str__(self) -> str:
        files = f" ({', '.join(self.files[:5])})" if self.files else ""
        row = "" if self.row is None else f", row {self.row + 1} of {'the file' if self.of_file else 'it'}"
        return f"partition {self.partition + 1}{files}{row}: {self.problem}"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionError, self.args

    def at(self, files: Iterable[str]) -> "PartitionError":
        """The same with the names of the files in which the partition lies."""
        return PartitionError(self.problem, self.partition, self.row, tuple(files))


class ClusterError(RuntimeError):
    """The cluster, or what schedules its work, was lost."""


Given = ParamSpec("Given")
Made = TypeVar("Made")


def contained(step: Callable[Given, Made]) -> Callable[Given, Made]:
    """A step for a worker, whose panics are errors like others.

    A panic of the compiled part is no ``Exception`` and cannot be pickled: a Dask worker that meets one never reports it.
    """

    @functools.wraps(step)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        try:
            return step(*args, **kwargs)
        except (Exception, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as panic:
            text = str(panic)
        # Here, so that it goes to another process without the panic as its context.
        raise RuntimeError(f"internal error of rffblr, please report it: {text}")

    return run


# The rows of a partition


def typed(frame: Any) -> list[tuple[str, bool]]:
    """Name of each column of a frame of pandas, which may be without rows, and whether it is text by its type."""
    import pandas as pd

    types = pd.api.types
    numeric = [types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype) for dtype in frame.dtypes]
    return [(str(name), not numbers) for name, numbers in zip(frame.columns, numeric)]


def cells_of(job: Job, frame: Any) -> list[tuple[str, Any]]:
    """The columns of a part of the rows, of the types they have in all parts."""
    out = []
    for position, (name, text) in enumerate(job.columns):
        if _is_pandas(frame):
            column = frame.iloc[:, position]
            cells, kept_as = _pandas_cells(column), column.dtype
        else:
            column = frame.column(position)
            cells, kept_as = _arrow_cells(column), column.type
        if text and isinstance(cells, np.ndarray) and np.isnan(cells).all():
            cells = ([], np.full(len(cells), MISSING, dtype=np.uint32))
        if cells is None or isinstance(cells, tuple) != text:
            kind = "text" if text else "numbers"
            raise ValueError(f"column '{name}' holds cells of type {kept_as}, and by the table's schema {kind}")
        out.append((name, cells))
    return out


def _is_pandas(frame: Any) -> bool:
    """Whether this is a frame of pandas, and no Arrow table."""
    return hasattr(frame, "iloc")


def _cut(frame: Any, start: int, stop: int) -> Any:
    """Consecutive rows of a frame of pandas or an Arrow table."""
    return frame.iloc[start:stop] if _is_pandas(frame) else frame.slice(start, stop - start)


def _joined(frames: list[Any]) -> Any:
    """The rows of all of them."""
    if len(frames) == 1:
        return frames[0]
    if _is_pandas(frames[0]):
        import pandas as pd

        return pd.concat(frames, ignore_index=True)
    import pyarrow as pa

    return pa.concat_tables(frames)


class Rows:
    """The rows of frames of pandas or of Arrow tables, so many at a time."""

    def __init__(self, frames: Iterable[Any]) -> None:
        self._frames = iter(frames)
        self._held: list[Any] = []

    def take(self, count: int) -> Any:
        """The next rows as one frame: fewer if there are no more, ``None`` if there are none."""
        taken: list[Any] = []
        while count:
            frame = self._held.pop() if self._held else next(self._frames, None)
            if frame is None:
                break
            part, rest = _cut(frame, 0, count), _cut(frame, count, len(frame))
            count -= len(part)
            taken += [part] if len(part) else []
            self._held = [rest] if len(rest) else []
        return _joined(taken) if taken else None


def _each_block(place: Place, frames: Iterable[Any], make: Callable[[int, int, Any], Made]) -> Iterator[Made]:
    """What ``make`` makes of every block of a partition, from the number of its first row, its own number and its frame."""
    rows, met = Rows(frames), 0
    for run in place.runs:
        for start in range(0, run.rows, BLOCK):
            size = min(BLOCK, run.rows - start)
            frame = rows.take(size)
            met += 0 if frame is None else len(frame)
            if frame is None or len(frame) < size:
                raise _changed(place, met)
            try:
                yield make(run.first_row + start, run.first_block + start // BLOCK, frame)
            except (TypeError, ValueError) as problem:
                numbers = (run.first_row + start, run.first_block)
                row, text = _first_bad(frame, lambda part: make(*numbers, part), str(problem))
                if run.file:
                    row = None if row is None else run.before + start + row
                    raise PartitionError(text, place.partition, row, (run.file,), True) from problem
                row = None if row is None else start + row
                raise PartitionError(text, place.partition, row, place.files) from problem
    while (frame := rows.take(BLOCK)) is not None:
        met += len(frame)
    if met != place.rows:
        raise _changed(place, met)


def _changed(place: Place, now: int) -> PartitionError:
    return PartitionError(
        f"it had {place.rows} rows when they were counted, and now has {now}; persist (Dask) or cache (Spark) the table "
        "before the fit, so that its rows stay what they are",
        place.partition,
        None,
        place.files,
    )


def _first_bad(frame: Any, use: Callable[[Any], object], text: str) -> tuple[int | None, str]:
    """The first row that cannot be used, and what is wrong with it; no row if it is not the fault of one."""

    def fault(part: Any) -> str | None:
        try:
            use(part)
        except (TypeError, ValueError) as problem:
            return str(problem)
        return None

    fine, bad = 0, len(frame)
    while bad - fine > 1:
        middle = (fine + bad) // 2
        fine, bad = (fine, middle) if fault(_cut(frame, 0, middle)) else (middle, bad)
    alone = fault(_cut(frame, fine, bad))
    if alone is None or (fine == 0 and len(frame) > 1 and fault(_cut(frame, len(frame) - 1, len(frame)))):
        return None, text
    return fine, re.sub(r"\b(data )?row 1(, | )", "", alone)


@contained
def summarised(job: Job, place: Place, frames: Iterable[Any]) -> bytes:
    """What is known of the rows of a partition, with their share of the sample."""
    out = _rffblr.Summary(job, place.total)

    def make(first: int, number: int, frame: Any) -> _rffblr.Summary:
        block = _rffblr.Summary(job, place.total)
        block.add(first, cells_of(job, frame), job.ignore)
        return block

    for block in _each_block(place, frames, make):
        out.merge(block)
    return out.to_bytes()


@contained
def added(job: Job, plan: str, place: Place, frames: Iterable[Any]) -> bytes:
    """The sums over the rows of a partition."""
    chosen = _rffblr.Plan.from_json(plan)
    out = chosen.accumulator()

    def make(first: int, number: int, frame: Any) -> _rffblr.Accumulator:
        block = chosen.accumulator()
        # On one thread: an engine runs as many tasks as it has cores.
        chosen.add(block, number, first, cells_of(job, frame), 1)
        return block

    for block in _each_block(place, frames, make):
        out.merge(block)
    return out.to_bytes()


# Merging


@contained
def merged_summaries(parts: Sequence[bytes]) -> bytes:
    """Summaries of several partitions as one."""
    first, *others = parts
    if not others:
        return first
    out = _rffblr.Summary.from_bytes(first)
    for other in others:
        out.merge(_rffblr.Summary.from_bytes(other))
    return out.to_bytes()


@contained
def merged_sums(parts: Sequence[bytes]) -> bytes:
    """Sums over the rows of several partitions as one; the order does not matter."""
    first, *others = parts
    if not others:
        return first
    out = _rffblr.Accumulator.from_bytes(first)
    for other in others:
        out.merge(_rffblr.Accumulator.from_bytes(other))
    return out.to_bytes()


def bunches(count: int, size: int) -> list[range]:
    """The numbers below ``count`` in runs of ``size``."""
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


# What is done once


def is_streamed(job: Job, layout: Layout) -> bool:
    """Whether rows are added up; few are fitted as they are, and so are those of other presets."""
    return _rffblr.is_streamed(job, layout.total)


@contained
def planned(job: Job, layout: Layout, summary: bytes, threads: int, checkpoint: "Checkpoint | None" = None) -> str:
    """Learns the kernel from the sample, or finds in the checkpoint what was learned."""
    purpose = _purpose(job, layout, summary)
    known = checkpoint.plan() if checkpoint else None
    if known is not None:
        if known["purpose"] != purpose:
            raise ValueError(
                f"checkpoint {checkpoint}: it is of other rows or settings; remove it, or name another folder"
            )
        return known["plan"]
    plan = _rffblr.learn_plan(_rffblr.Summary.from_bytes(summary), job, threads, None).to_json()
    if checkpoint:
        checkpoint.write("plan.json", json.dumps({"purpose": purpose, "plan": plan}).encode())
    return plan


def _purpose(job: Job, layout: Layout, summary: bytes) -> str:
    about = json.dumps([asdict(job), [asdict(place) for place in layout.places], _rffblr.__version__])
    return hashlib.sha256(about.encode() + summary).hexdigest()


@contained
def finished(
    plan: str, blocks: int, summary: bytes, sums: bytes, threads: int, keep_sample: bool
) -> tuple[_rffblr.Model, list[str]]:
    """The model of all rows, and notes."""
    parts = (_rffblr.Summary.from_bytes(summary), _rffblr.Accumulator.from_bytes(sums))
    model = _rffblr.Plan.from_json(plan).finish(*parts, blocks, threads)
    return (model if keep_sample else without_rows(model)), model.notes


@contained
def fitted(job: Job, summary: bytes, threads: int, keep_sample: bool) -> tuple[_rffblr.Model, list[str]]:
    """The model of few rows, all of which are in the summary, and notes."""
    model = _rffblr.fit_summary(_rffblr.Summary.from_bytes(summary), job, threads, None)
    return (model if keep_sample else without_rows(model)), model.notes


def without_rows(model: _rffblr.Model) -> _rffblr.Model:
    """The same model without any row of the training data."""
    return _rffblr.Model.restore(model.to_json(), None)


class Checkpoint:
    """A folder that all processes reach, in which a job leaves what it has so far.

    Nothing else in it is touched, and a folder with files but without a plan of ours is refused: it was named by mistake.
    """

    # Names of what is not yet whole begin and end like those of other files of this program.
    TEMPORARY = (".rffblr-", ".part")
    SUMS = re.compile(r"sums-\d{3}")

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.path.abspath(os.fspath(folder))
        with contextlib.suppress(FileNotFoundError):
            try:
                names = os.listdir(self.folder)
            except NotADirectoryError:
                raise ValueError(f"checkpoint {self}: it is not a folder; name one, which is made if it is not there") from None
            if any(not self._is_temporary(name) for name in names) and self.plan() is None:
                raise ValueError(
                    f"checkpoint {self}: the folder has files in it, and no plan of a fit; name a new or an empty folder"
                )

    def _is_temporary(self, name: str) -> bool:
        first, last = self.TEMPORARY
        return name.startswith(first) and name.endswith(last)

    def plan(self) -> dict[str, str] | None:
        """What was learned, and of which rows and settings."""
        known = self.read("plan.json")
        if known is None:
            return None
        try:
            found = json.loads(known)
            return {name: str(found[name]) for name in ("purpose", "plan")}
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ValueError(f"checkpoint {self}: plan.json in it is not one of rffblr; name another folder") from None

    def read(self, name: str) -> bytes | None:
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all, also if two processes write the same."""
        os.makedirs(self.folder, exist_ok=True)
        first, last = self.TEMPORARY
        number, path = tempfile.mkstemp(prefix=first, suffix=last, dir=self.folder)
        try:
            with open(number, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(number)
            os.replace(path, os.path.join(self.folder, name))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.folder, name))

    def remove(self) -> None:
        """Removes what the job left, once the model is there, and the folder if nothing else is in it.

        What cannot be removed does no harm. The plan goes last: sums without it would be nobody's.
        """
        with contextlib.suppress(OSError):
            names = os.listdir(self.folder)
            for name in names:
                if self.SUMS.fullmatch(name) or self._is_temporary(name):
                    os.unlink(os.path.join(self.folder, name))
            if "plan.json" in names:
                os.unlink(os.path.join(self.folder, "plan.json"))
            os.rmdir(self.folder)

    def __str__(self) -> str:
        return self.folder


@dataclass(frozen=True)
class Group:
    """Consecutive partitions whose sums are one file of a checkpoint."""

    number: int
    partitions: range

    @property
    def name(self) -> str:
        return f"sums-{self.number:03}"


def groups_of(partitions: int) -> list[Group]:
    """All partitions in at most ``GROUPS`` groups."""
    size = max(1, -(-partitions // GROUPS))
    return [Group(number, run) for number, run in enumerate(bunches(partitions, size))]


def kept(checkpoint: Checkpoint, group: Group, sums: bytes) -> bytes:
    """The sums of a group, saved."""
    checkpoint.write(group.name, sums)
    return sums


def found(checkpoint: Checkpoint, group: Group) -> bytes:
    """The sums of a group that were saved."""
    sums = checkpoint.read(group.name)
    if sums is None:
        raise FileNotFoundError(f"checkpoint {checkpoint}: {group.name} has gone; every process must reach this folder")
    return sums
