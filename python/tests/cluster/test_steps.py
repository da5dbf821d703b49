"""The steps of a fit without an engine: a model of files on one machine, from parts in any number of processes."""

import pickle
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared import FEW, SIZES, TARGETS, job_of, one_by_one, parts, table

from rffblr import RFFBLRRegressor, _cluster, _rffblr
from rffblr._cluster import BLOCK, FILES, Checkpoint, Job, Layout, PartitionError, Piece

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ESTIMATOR = RFFBLRRegressor(**FEW)


def test_parts_of_whole_blocks_are_the_model_of_the_files(tmp_path):
    frames = parts([32_768, 65_536, 5000])
    for number, frame in enumerate(frames):
        frame.to_parquet(tmp_path / f"{number}.parquet", index=False)
    whole = RFFBLRRegressor(**FEW, n_jobs=2).fit_files(tmp_path, TARGETS, ignore="note", weight="weight")
    frames = [frame.drop(columns="note") for frame in frames]
    job = job_of(ESTIMATOR, frames[0], ignore=["note"], weight=("weight", "relative"))
    assert one_by_one(ESTIMATOR, frames, job) == whole.model_.to_json()


@pytest.mark.parametrize("order", [{"group": "animal"}, {"time": "animal"}])
def test_groups_and_times_are_those_of_the_files(tmp_path, order):
    frames = parts([32_768, 65_536, 5000])
    for number, frame in enumerate(frames):
        frame["animal"] = np.arange(len(frame)) * 7 % 50 + number
        frame.drop(columns=["note", "weight"], inplace=True)
        frame.to_parquet(tmp_path / f"{number}.parquet", index=False)
    whole = RFFBLRRegressor(**FEW, n_jobs=2).fit_files(tmp_path, TARGETS, **order)
    job = _cluster.Job(**{**vars(job_of(ESTIMATOR, frames[0])), **order})
    assert one_by_one(ESTIMATOR, frames, job) == whole.model_.to_json()
    assert whole.check_.headline.count("held out") == 1
    frames[1].loc[123, "animal"] = np.nan
    layout = Layout.of(len(frame) for frame in frames)
    with pytest.raises(PartitionError, match="row 124 of it: .*'animal': the .* is missing"):
        _cluster.summarised(job, layout.places[1], [frames[1]])


def test_pieces_of_a_partition_and_the_order_of_merging_change_no_bit(expected):
    frames = [part.drop(columns=["note", "weight"]) for part in parts()]
    job, layout = job_of(ESTIMATOR, frames[0]), Layout.of(len(frame) for frame in frames)
    pieces = [[frame[k : k + 777] for k in range(0, len(frame), 777)] for frame in frames]
    summaries = [_cluster.summarised(job, *pair) for pair in zip(layout.places, pieces)]
    summary = _cluster.merged_summaries(summaries)
    assert summary == _cluster.merged_summaries([_cluster.summarised(job, *pair) for pair in zip(layout.places, pieces)])
    plan = _cluster.planned(job, layout, summary, 1)
    sums = [_cluster.added(job, plan, *pair) for pair in zip(layout.places, pieces)]
    random.Random(0).shuffle(sums)
    sums = _cluster.merged_sums([_cluster.merged_sums(sums[:2]), _cluster.merged_sums(sums[2:])])
    assert _cluster.finished(plan, layout.blocks, summary, sums, 1, False)[0].to_json() == expected


def test_arrow_tables_change_no_bit(expected):
    frames = [part.drop(columns=["note", "weight"]) for part in parts()]
    job = job_of(ESTIMATOR, frames[0])
    tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in frames]
    assert all(tables[0].column(name).null_count for name in ["b", "kind", "u"])
    pieces = [[part[k : k + 777] for k in range(0, len(part), 777)] for part in tables]
    layout = Layout.of(len(part) for part in tables)
    places = list(zip(layout.places, pieces))
    summary = _cluster.merged_summaries([_cluster.summarised(job, *pair) for pair in places])
    plan = _cluster.planned(job, layout, summary, 1)
    sums = _cluster.merged_sums([_cluster.added(job, plan, *pair) for pair in places])
    assert _cluster.finished(plan, layout.blocks, summary, sums, 1, False)[0].to_json() == expected


def test_columns_of_arrow_are_those_of_pandas():
    columns = {"a": [1, None, 3], "b": [True, None, False], "c": ["x", None, "y"], "d": [None, None, None], "e": [0.5, None, 2.0]}
    types = {"a": pa.int32(), "b": pa.bool_(), "c": pa.large_string(), "d": pa.string(), "e": pa.float32()}
    rows = pa.table({name: pa.chunked_array([cells[:2], cells[2:]], types[name]) for name, cells in columns.items()})
    estimator = RFFBLRRegressor(**FEW)
    job = Job([(name, name in "cd") for name in columns], ["a"], [], None, "impute", True, None, estimator._settings())
    found, same = _cluster.cells_of(job, rows), _cluster.cells_of(job, rows.to_pandas().convert_dtypes())
    for (name, cells), (_, others) in zip(found, same, strict=True):
        if name in "cd":
            assert cells[0] == others[0] == (["x", "y"] if name == "c" else [])
            cells, others = cells[1], others[1]
        assert cells.dtype == others.dtype
        np.testing.assert_array_equal(cells, others)
    with pytest.raises(ValueError, match="column 'a' holds cells of type string, and by the table's schema numbers"):
        _cluster.cells_of(job, rows.set_column(0, "a", rows.column("c").cast(pa.string())))


def test_rows_are_numbered_by_file_whichever_partition_has_them(expected, tmp_path):
    frames = [part.drop(columns=["note", "weight"]) for part in parts()]
    job = job_of(ESTIMATOR, frames[0])
    paths = [f"file:/rows/part-{number}.parquet" for number in range(len(frames))]
    # The second file in two pieces of whole blocks, which come in different partitions and not in their order.
    halves = [Piece(40_000 - BLOCK, paths[1], 5000), Piece(BLOCK, paths[1], 4)]
    pieces = [[Piece(1990, paths[3]), halves[0]], [], [halves[1], Piece(10, paths[2]), Piece(3000, paths[0])]]
    rows = [[frames[3], frames[1][BLOCK:]], [], [frames[1][:BLOCK], frames[2], frames[0]]]
    layout = Layout(pieces)
    assert [[run.first_row for run in place.runs] for place in layout.places] == [[43_010, 35_768], [], [3000, 43_000, 0]]
    assert layout.blocks == 5 and layout.total == sum(SIZES)
    assert [run.before for run in layout.places[0].runs] == [0, BLOCK]
    places = list(zip(layout.places, rows))
    summary = _cluster.merged_summaries([_cluster.summarised(job, *pair) for pair in places])
    plan = _cluster.planned(job, layout, summary, 1)
    sums = _cluster.merged_sums([_cluster.added(job, plan, *pair) for pair in places])
    assert _cluster.finished(plan, layout.blocks, summary, sums, 1, False)[0].to_json() == expected
    bad = frames[1].copy()
    bad.loc[35_000, "a"] = np.inf
    with pytest.raises(PartitionError, match=r"partition 1 \(part-1.parquet\), row 35001 of the file: column 'a': infinite"):
        _cluster.added(job, plan, layout.places[0], [frames[3], bad[BLOCK:]])


def test_rows_are_numbered_by_partition_if_files_are_unknown_or_many():
    known = [[Piece(3, "b"), Piece(2, "a")], [Piece(7, "c")]]
    assert [place.runs[0].first_row for place in Layout(known).places] == [2, 5]
    for added in [[Piece(1)], [Piece(1, f"file {k}") for k in range(FILES)]]:
        layout = Layout([known[1], [*known[0], *added]])
        assert [[run.rows for run in place.runs] for place in layout.places] == [[7], [5 + len(added)]]
        assert [place.runs[0].first_row for place in layout.places] == [0, 7]


def wrong(change, missing="impute"):
    """What is said of the second part if it is changed."""
    frames = [part.drop(columns="note") for part in parts()]
    job = job_of(ESTIMATOR, frames[0], weight=("weight", "relative"))
    job = _cluster.Job(**{**vars(job), "missing": missing})
    layout = Layout.of(len(frame) for frame in frames)
    summary = _cluster.merged_summaries([_cluster.summarised(job, *pair) for pair in zip(layout.places, [[f] for f in frames])])
    change(frames[1])
    with pytest.raises(PartitionError) as problem:
        _cluster.summarised(job, layout.places[1], [frames[1]])
        _cluster.added(job, _cluster.planned(job, layout, summary, 1), layout.places[1], [frames[1]])
    told = pickle.loads(pickle.dumps(problem.value)).at(["part-1.parquet"])
    return str(told)


def test_a_bad_row_is_named():
    def infinite(frame):
        frame.loc[35_000, "c"] = np.inf

    def negative(frame):
        frame.loc[123, "weight"] = -1.0

    def shorter(frame):
        frame.drop(index=7, inplace=True)

    def words(frame):
        frame["c"] = "word"

    told = wrong(infinite)
    assert told.startswith("partition 2 (part-1.parquet), row 35001 of it: ") and "column 'c': infinite" in told
    assert wrong(negative).startswith("partition 2 (part-1.parquet), row 124 of it: ")
    assert "it had 40000 rows when they were counted, and now has 39999; persist" in wrong(shorter)
    assert "column 'c' holds cells of type" in wrong(words) and "schema numbers" in wrong(words)


def test_a_checkpoint_is_of_one_job(tmp_path):
    frames = [part.drop(columns=["note", "weight"]) for part in parts([2000, 2500])]
    job, layout = job_of(ESTIMATOR, frames[0]), Layout.of([2000, 2500])
    summary = _cluster.merged_summaries(
        [_cluster.summarised(job, place, [frame]) for place, frame in zip(layout.places, frames)]
    )
    checkpoint = Checkpoint(tmp_path / "job")
    plan = _cluster.planned(job, layout, summary, 1, checkpoint)
    assert _cluster.planned(job, layout, summary, 1, checkpoint) == plan
    other = _cluster.Job(**{**vars(job), "hold_out": False})
    with pytest.raises(ValueError, match="of other rows or settings; remove it"):
        _cluster.planned(other, layout, summary, 1, checkpoint)
    checkpoint.remove()
    assert not list(tmp_path.iterdir())


def test_a_folder_of_others_is_no_checkpoint(tmp_path):
    """Nothing that a job did not write is removed, and a folder named by mistake is not used."""
    for name, content in [("thesis.tex", "years of work"), ("plan.json", "[1, 2]"), ("plan.json", '{"purpose": "world"}')]:
        folder = tmp_path / f"mine {len(content)}"
        folder.mkdir()
        (folder / name).write_text(content)
        with pytest.raises(ValueError, match="name a.* folder"):
            Checkpoint(folder)
        assert (folder / name).read_text() == content
    with pytest.raises(ValueError, match="not a folder; name one"):
        Checkpoint(tmp_path / "mine 6" / "plan.json")
    # Sums without a plan are nobody's.
    (tmp_path / "sums").mkdir()
    (tmp_path / "sums" / "sums-000").write_bytes(b"")
    with pytest.raises(ValueError, match="no plan of a fit"):
        Checkpoint(tmp_path / "sums")
    # What a kill left is used, and what others put beside it stays.
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / ".rffblr-x1y2.part").write_text("half")
    checkpoint = Checkpoint(folder)
    checkpoint.write("plan.json", b'{"purpose": "p", "plan": "q"}')
    for name in ["sums-000", "sums-063"]:
        checkpoint.write(name, b"sums")
    for name in ["notes.txt", "sums-of-money"]:
        (folder / name).write_text("mine")
    assert Checkpoint(folder).plan() == {"purpose": "p", "plan": "q"}
    checkpoint.remove()
    assert sorted(path.name for path in folder.iterdir()) == ["notes.txt", "sums-of-money"]


def test_what_a_checkpoint_cannot_write_is_not_left(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "job")
    checkpoint.write("sums-000", b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    for name in ["fsync", "replace"]:
        with monkeypatch.context() as patched:
            patched.setattr(_cluster.os, name, full)
            with pytest.raises(OSError, match="No space"):
                checkpoint.write("sums-000", b"new")
        assert [path.name for path in (tmp_path / "job").iterdir()] == ["sums-000"]
        assert checkpoint.read("sums-000") == b"old"


def test_the_state_is_of_the_size_stated():
    """M(M + 1)/2 + M·C numbers and a few more for each set of sums, as docs/cluster.md has it."""
    frames = [part.drop(columns=["note", "weight", "u"]) for part in parts([4000])]
    job, layout = job_of(ESTIMATOR, frames[0], targets=["t"]), Layout.of([4000])
    summary = _cluster.summarised(job, layout.places[0], frames)
    plan = _cluster.planned(job, layout, summary, 1)
    empty = _rffblr.Plan.from_json(plan).accumulator().to_bytes()
    sums = _cluster.added(job, plan, layout.places[0], frames)
    M = 30 + 8 + 1  # cosines and sines; links of a, b and its gaps, c, three levels and gaps of kind; the constant
    # The last eight say which rows were added: sums of their hashes.
    assert len(sums) - len(empty) == 8 * (M * (M + 1) // 2 + M + 9 + 8)


def test_cells_are_of_the_type_of_the_table():
    job = job_of(ESTIMATOR, table(5))
    gap = table(5)
    gap["kind"] = None
    kinds = dict(_cluster.cells_of(job, gap))["kind"]
    assert kinds[0] == [] and len(kinds[1]) == 5
    rows = _cluster.Rows([table(10)[:0], table(40), table(3)])
    assert [list(rows.take(count)["note"]) for count in (7, 35)] == [
        [f"row {row}" for row in range(7)],
        [f"row {row}" for row in [*range(7, 40), 0, 1]],
    ]
    assert len(rows.take(5)) == 1 and rows.take(5) is None
    dates = pd.DataFrame({"d": pd.date_range("2024-01-01", periods=3), "o": ["x", None, "y"]})
    assert _cluster.typed(dates) == [("d", True), ("o", True)]


def test_numbers_may_lie_at_any_byte():
    """As those do that were sent by another process."""
    bytes_ = np.zeros(8 * 4000 * 3 + 1, dtype=np.uint8)
    numbers = bytes_[1:].view(np.float64).reshape(4000, 3)
    numbers[:] = np.random.default_rng(0).normal(size=(4000, 3))
    assert not numbers.flags.aligned
    frame = pd.DataFrame(numbers, columns=["a", "b", "t"], copy=False)
    job = job_of(ESTIMATOR, frame, targets=["t"])
    assert one_by_one(ESTIMATOR, [frame], job) == one_by_one(ESTIMATOR, [frame.copy()], job)
    model = RFFBLRRegressor(**FEW).fit(numbers[:, :2], numbers[:, 2], numbers[:, 0] ** 2)
    np.testing.assert_array_equal(model.predict(numbers[:, :2]), model.predict(numbers[:, :2].copy()))
