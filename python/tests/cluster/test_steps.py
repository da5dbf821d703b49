"""The steps of a fit without an engine: a model of files on one machine, from parts in any number of processes."""

import pickle
import random

import numpy as np
import pandas as pd
import pytest
from shared import FEW, TARGETS, job_of, one_by_one, parts, table

from rffblr import RFFBLRRegressor, _cluster, _rffblr
from rffblr._cluster import Checkpoint, Layout, PartitionError

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


def test_pieces_of_a_partition_and_the_order_of_merging_change_no_bit(expected):
    frames = [part.drop(columns=["note", "weight"]) for part in parts()]
    job, layout = job_of(ESTIMATOR, frames[0]), Layout(len(frame) for frame in frames)
    pieces = [[frame[k : k + 777] for k in range(0, len(frame), 777)] for frame in frames]
    summaries = [_cluster.summarised(job, *pair) for pair in zip(layout.places, pieces)]
    summary = _cluster.merged_summaries(summaries)
    assert summary == _cluster.merged_summaries([_cluster.summarised(job, *pair) for pair in zip(layout.places, pieces)])
    plan = _cluster.planned(job, layout, summary, 1)
    sums = [_cluster.added(job, plan, *pair) for pair in zip(layout.places, pieces)]
    random.Random(0).shuffle(sums)
    sums = _cluster.merged_sums([_cluster.merged_sums(sums[:2]), _cluster.merged_sums(sums[2:])])
    assert _cluster.finished(plan, layout.blocks, summary, sums, 1, False)[0].to_json() == expected


def wrong(change, missing="impute"):
    """What is said of the second part if it is changed."""
    frames = [part.drop(columns="note") for part in parts()]
    job = job_of(ESTIMATOR, frames[0], weight=("weight", "relative"))
    job = _cluster.Job(**{**vars(job), "missing": missing})
    layout = Layout(len(frame) for frame in frames)
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
    job, layout = job_of(ESTIMATOR, frames[0]), Layout([2000, 2500])
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


def test_the_state_is_of_the_size_stated():
    """M(M + 1)/2 + M·C numbers and a few more for each set of sums, as docs/cluster.md has it."""
    frames = [part.drop(columns=["note", "weight", "u"]) for part in parts([4000])]
    job, layout = job_of(ESTIMATOR, frames[0], targets=["t"]), Layout([4000])
    summary = _cluster.summarised(job, layout.places[0], frames)
    plan = _cluster.planned(job, layout, summary, 1)
    empty = _rffblr.Plan.from_json(plan).accumulator().to_bytes()
    sums = _cluster.added(job, plan, layout.places[0], frames)
    M = 30 + 8 + 1  # cosines and sines; links of a, b and its gaps, c, three levels and gaps of kind; the constant
    assert len(sums) - len(empty) == 8 * (M * (M + 1) // 2 + M + 9)


def test_cells_are_of_the_type_of_the_table():
    job = job_of(ESTIMATOR, table(5))
    gap = table(5)
    gap["kind"] = None
    kinds = dict(_cluster.cells_of(job, gap))["kind"]
    assert kinds[0] == [] and len(kinds[1]) == 5
    assert [len(frame) for _, frame in _cluster.blocks_of([table(10)[:0], table(40_000), table(3)])] == [32_768, 7235]
    dates = pd.DataFrame({"d": pd.date_range("2024-01-01", periods=3), "o": ["x", None, "y"]})
    assert _cluster.typed(dates) == [("d", True), ("o", True)]
