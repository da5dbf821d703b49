"""Fits and predictions by the workers of a Dask cluster."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from shared import FEW, INPUTS, SIZES, TARGETS, listening, parts, table

import rffblr
from rffblr import _cluster
from rffblr.dask import ClusterError, PartitionError, RFFBLRRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def local(workers):
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    )


@pytest.fixture(scope="module")
def client():
    with local(2) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def fitted(client, files):
    return RFFBLRRegressor(**FEW).fit_table(dd.read_parquet(files), TARGETS)


def test_nothing_listens_beyond_loopback(client):
    addresses = listening()
    assert addresses and all(address.is_loopback for address in addresses)


def test_any_number_of_workers_and_the_machine_alone_give_the_same_bits(fitted, files, expected):
    assert fitted.model_.to_json() == expected
    for scheduler in ["sync", "threads"]:
        with dask.config.set(scheduler=scheduler):
            model = RFFBLRRegressor(**FEW).fit_table(dd.read_parquet(files), TARGETS)
        assert model.model_.to_json() == expected


def test_inputs_targets_and_weights_apart_are_one_table(client, files):
    frames = [part.drop(columns="note") for part in parts()]
    whole = dd.concat([dd.from_pandas(frame, npartitions=1) for frame in frames])
    one = RFFBLRRegressor(**FEW).fit_table(whole, TARGETS, weight="weight")
    apart = RFFBLRRegressor(**FEW).fit(whole[INPUTS], whole[TARGETS], whole["weight"])
    new = table(50, seed=1)[INPUTS]
    np.testing.assert_array_equal(apart.predict(new, return_std=True), one.predict(new, return_std=True))
    assert list(apart.feature_names_in_) == INPUTS and list(apart.target_names_) == TARGETS
    repeats = RFFBLRRegressor(**FEW, weights="repeats").fit(whole[INPUTS], whole[TARGETS], whole["weight"])
    assert repeats.model_.weighting == "repeats"


def test_arrays_with_gaps(client):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = np.sin(X[:, 0]) + X[:, 1]
    X[::9, 2] = y[::5] = np.nan
    lazy, answers = da.from_array(X, chunks=(2500, 2)), da.from_array(y, chunks=2500)
    model = RFFBLRRegressor(**FEW).fit(lazy, answers)
    assert model.n_features_in_ == 3 and not hasattr(model, "feature_names_in_")
    mean, std = model.predict(lazy, return_std=True)
    assert isinstance(mean, da.Array) and mean.chunks == answers.chunks
    here = model.predict(X, return_std=True)
    np.testing.assert_array_equal(dask.compute(mean, std), here)
    np.testing.assert_array_equal(dask.compute(*model.predict_interval(lazy)), model.predict_interval(X))
    assert model.score(lazy, answers) == pytest.approx(model.score(X, y), abs=1e-12)
    # Chunks of unknown sizes are counted.
    unknown = lazy[lazy[:, 0] > -9]
    again = RFFBLRRegressor(**FEW).fit(unknown, answers[lazy[:, 0] > -9])
    assert again.model_.to_json() == model.model_.to_json()


def test_predictions_are_lazy_and_those_of_the_ordinary_model(fitted, files, tmp_path, command):
    frame = dd.read_parquet(files)
    here = pd.concat(parts())
    mean = fitted.predict(frame[INPUTS])
    assert isinstance(mean, dd.DataFrame) and list(mean.columns) == TARGETS and mean.npartitions == len(SIZES)
    np.testing.assert_array_equal(mean.compute(), fitted.predict(here[INPUTS]))
    named = fitted.predict_frame(frame[INPUTS], coverage=0.8).compute()
    pd.testing.assert_frame_equal(named.reset_index(drop=True), fitted.predict_frame(here[INPUTS], 0.8).reset_index(drop=True))
    lower, upper = fitted.predict_interval(frame[INPUTS])
    assert list(lower.columns) == ["t_lower", "u_lower"] and (lower.compute() < upper.compute().to_numpy()).all().all()
    assert fitted.score(frame[INPUTS], frame[TARGETS]) == pytest.approx(fitted.score(here[INPUTS], here[TARGETS]), abs=1e-9)
    # The file, the report and the explanations are those of any model.
    fitted.save(tmp_path / "model.json")
    loaded = rffblr.RFFBLRRegressor.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(here[INPUTS]), fitted.predict(here[INPUTS]))
    assert fitted.explain(here[INPUTS][:3]).shapley.shape[0] == 3 and fitted.relevance_.shape == (4, 2)
    fitted.report(tmp_path / "report.html")
    here[INPUTS][:100].to_parquet(tmp_path / "new.parquet", index=False)
    command("predict", tmp_path / "model.json", tmp_path / "new.parquet", "-o", tmp_path / "predicted.csv")
    predicted = pd.read_csv(tmp_path / "predicted.csv")
    np.testing.assert_allclose(predicted[TARGETS], fitted.predict(here[INPUTS][:100]), rtol=1e-12)
    assert "rows held out" in command("inspect", tmp_path / "model.json")
    assert "rows held out" in fitted.headline_ and any("kind" in note for note in fitted.notes_)


def test_few_rows_are_fitted_exactly(client):
    frame = table(150).drop(columns=["note", "weight"])
    model = RFFBLRRegressor(max_iterations=10).fit_table(dd.from_pandas(frame, npartitions=3), TARGETS)
    whole = rffblr.RFFBLRRegressor(max_iterations=10).fit(frame[INPUTS], frame[TARGETS])
    assert model.model_.form == "kernel"
    np.testing.assert_array_equal(model.predict(frame[INPUTS]), whole.predict(frame[INPUTS]))


def test_no_row_is_handled_by_the_client(client, files, expected, monkeypatch):
    def refuse(*_):
        raise AssertionError("rows in the client")

    monkeypatch.setattr(_cluster, "cells_of", refuse)
    model = RFFBLRRegressor(**FEW).fit_table(dd.read_parquet(files), TARGETS, keep_sample=False)
    assert model.model_.to_json() == expected and model.check_.rows == sum(SIZES) // 10
    with pytest.raises(AttributeError, match="needs rows to compare with"):
        model.relevance_


def test_errors(client, files, tmp_path):
    frame, model = dd.read_parquet(files), RFFBLRRegressor(**FEW)
    with pytest.raises(ValueError, match="no column 'tt'"):
        model.fit_table(frame, "tt")
    with pytest.raises(ValueError, match="target 'kind' is text"):
        model.fit_table(frame, "kind")
    with pytest.raises(ValueError, match="different numbers of partitions: 4, 1"):
        model.fit(frame[INPUTS], frame[TARGETS].repartition(npartitions=1))
    with pytest.raises(TypeError, match="must y"):
        model.fit(frame[INPUTS], np.zeros(3))
    assert not hasattr(model, "model_")
    for number, part in enumerate(parts()):
        if number == 1:
            part.loc[35_000, "a"] = -np.inf
        part.to_parquet(tmp_path / f"part-{number}.parquet", index=False)
        part.to_csv(tmp_path / f"part-{number}.csv", index=False)
    for bad in [dd.read_parquet(str(tmp_path / "*.parquet")), dd.read_csv(str(tmp_path / "*.csv"))]:
        with pytest.raises(PartitionError, match=r"partition 2 \(part-1\.\w+\), row 35001 of it: column 'a': infinite"):
            model.fit_table(bad, TARGETS, ignore=["note", "weight"])


# Faults. The partitions are read by a function that counts how often it is called and, at a certain call, does harm.


def load(number, folder, harm=None):
    log = Path(folder) / f"read-{number}"
    with log.open("a") as file:
        file.write(".")
    # The rows are counted first, then summed up by columns; the third time they are added up.
    if harm is not None and number == 2 and log.stat().st_size == 3:
        harm(folder)
    return parts()[number].drop(columns=["note", "weight"])


def lazy(folder, harm=None):
    folder.mkdir(exist_ok=True)
    meta = parts()[0][:0].drop(columns=["note", "weight"])
    return dd.from_map(partial(load, folder=str(folder), harm=harm), range(len(SIZES)), meta=meta)


def reads(folder):
    return [len((folder / f"read-{number}").read_text()) for number in range(len(SIZES))]


def kill_worker(folder):
    (Path(folder) / "killed").write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_while_rows_are_added_up_changes_no_bit(client, expected, tmp_path):
    model = RFFBLRRegressor(**FEW).fit_table(lazy(tmp_path / "job", kill_worker), TARGETS)
    assert (tmp_path / "job" / "killed").exists() and reads(tmp_path / "job")[2] > 3
    assert model.model_.to_json() == expected


def fail(folder):
    # Once all others are done.
    deadline = time.time() + 60
    while len(list((Path(folder).parent / "checkpoint").glob("sums-*"))) < 3 and time.time() < deadline:
        time.sleep(0.05)
    raise OSError("a disk was lost")


def test_a_fit_that_was_broken_off_goes_on(client, expected, tmp_path):
    folder, checkpoint = tmp_path / "job", tmp_path / "checkpoint"
    model = RFFBLRRegressor(**FEW)
    # Held to the end, as a notebook holds the last error: it must not keep anything on the scheduler.
    with pytest.raises(OSError, match="a disk was lost") as held:
        model.fit_table(lazy(folder, fail), TARGETS, checkpoint=checkpoint)
    assert sorted(path.name for path in checkpoint.iterdir()) == ["plan.json", "sums-000", "sums-001", "sums-003"]
    with pytest.raises(ValueError, match="of other rows or settings"):
        RFFBLRRegressor(form=rffblr.Drawn(features=32)).fit_table(lazy(tmp_path / "other"), TARGETS, checkpoint=checkpoint)
    before = reads(folder)
    model.fit_table(lazy(folder, fail), TARGETS, checkpoint=checkpoint)
    # Counted and summed up again; only the rows that were missing are added up.
    assert [now - then for now, then in zip(reads(folder), before)] == [2, 2, 3, 2]
    assert model.model_.to_json() == expected and not checkpoint.exists()
    assert held.value.__traceback__ is not None


def test_files_of_others_survive_a_checkpoint(client, tmp_path):
    few = table(150).drop(columns=["note", "weight"])
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    model = RFFBLRRegressor(**FEW)
    with pytest.raises(ValueError, match="the folder has files in it"):
        model.fit_table(dd.from_pandas(few, npartitions=2), TARGETS, checkpoint=mine)
    with pytest.raises(ValueError, match="the folder has files in it"):
        model.fit_table(lazy(tmp_path / "job"), TARGETS, checkpoint=mine)
    assert [path.name for path in mine.iterdir()] == ["thesis.tex"]
    # Few rows are fitted without it: the plan of another job stays too.
    other = tmp_path / "other"
    plan = '{"purpose": "of another", "plan": ""}'
    other.mkdir()
    (other / "plan.json").write_text(plan)
    RFFBLRRegressor(max_iterations=3).fit_table(dd.from_pandas(few, npartitions=2), TARGETS, checkpoint=other)
    assert (other / "plan.json").read_text() == plan


class Panic(BaseException):
    """Like that of the compiled part, it cannot be sent to another process."""

    def __reduce__(self):
        raise TypeError("cannot pickle a panic")


def panic(folder):
    usual = _cluster.cells_of

    def once(*_):
        _cluster.cells_of = usual
        raise Panic("on purpose")

    _cluster.cells_of = once


def test_a_panic_in_a_worker_ends_the_fit_with_an_error(client, tmp_path):
    with pytest.raises(RuntimeError, match="internal error of rffblr, please report it: on purpose"):
        RFFBLRRegressor(**FEW).fit_table(lazy(tmp_path / "job", panic), TARGETS)


def abort(folder):
    log = Path(folder) / "read-2"
    log.write_text("..")  # at every call from here on
    os.abort()


def test_a_partition_that_kills_every_worker_ends_the_fit_with_an_error(client, tmp_path):
    with pytest.raises(ClusterError, match="KilledWorker.*4 different workers"):
        RFFBLRRegressor(**FEW).fit_table(lazy(tmp_path / "job", abort), TARGETS)


def kill_scheduler(folder):
    fail_pid = int((Path(folder).parent / "scheduler").read_text())
    os.kill(fail_pid, signal.SIGKILL)
    time.sleep(60)


@pytest.fixture
def processes():
    started = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def start(processes, folder, *arguments):
    command = [sys.executable, "-m", "dask", *arguments]
    with open(folder / "log", "a") as log:
        processes.append(subprocess.Popen(command, cwd=folder, stdout=log, stderr=log))
    return processes[-1]


def test_a_lost_scheduler_is_an_error_that_says_so(tmp_path, processes, expected):
    address = tmp_path / "address.json"
    place = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    scheduler = start(processes, tmp_path, "scheduler", "--port", "0", "--scheduler-file", address, *place)
    (tmp_path / "scheduler").write_text(str(scheduler.pid))
    start(processes, tmp_path, "worker", "--no-nanny", "--nthreads", "1", "--scheduler-file", address, *place)
    deadline = time.time() + 60
    while not address.exists() and time.time() < deadline:
        time.sleep(0.1)
    checkpoint = tmp_path / "checkpoint"
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}), Client(scheduler_file=str(address)):
        with pytest.raises(ClusterError, match="the Dask scheduler or its workers were lost.*checkpoint="):
            RFFBLRRegressor(**FEW).fit_table(lazy(tmp_path / "job", kill_scheduler), TARGETS, checkpoint=checkpoint)
    # Another cluster, which here is one process, goes on.
    assert (checkpoint / "plan.json").exists()
    with dask.config.set(scheduler="sync"):
        model = RFFBLRRegressor(**FEW).fit_table(lazy(tmp_path / "again"), TARGETS, checkpoint=checkpoint)
    assert model.model_.to_json() == expected and not checkpoint.exists()


def kill_client(folder):
    """Kills the process that asked for the fit, once all others of its sums are saved."""
    deadline = time.time() + 60
    while len(list((Path(folder).parent / "checkpoint").glob("sums-*"))) < 3 and time.time() < deadline:
        time.sleep(0.05)
    os.kill(int((Path(folder).parent / "client").read_text()), signal.SIGKILL)
    time.sleep(60)


CLIENT = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from distributed import Client
from test_dask import FEW, TARGETS, RFFBLRRegressor, kill_client, lazy
folder = Path(sys.argv[1])
(folder / "client").write_text(str(os.getpid()))
with Client(sys.argv[3]):
    RFFBLRRegressor(**FEW).fit_table(lazy(folder / "job", kill_client), TARGETS, checkpoint=folder / "checkpoint")
"""


def test_a_client_that_is_killed_is_followed_by_one_that_goes_on(expected, tmp_path):
    with local(2) as cluster, Client(cluster) as client:
        arguments = [sys.executable, "-c", CLIENT, tmp_path, Path(__file__).parent, cluster.scheduler_address]
        ended = subprocess.run(arguments, timeout=300, stderr=subprocess.PIPE)
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
        assert sorted(path.name for path in (tmp_path / "checkpoint").iterdir()) == [
            "plan.json", "sums-000", "sums-001", "sums-003",
        ]  # fmt: skip
        client.restart()  # the worker that waits
        model = RFFBLRRegressor(**FEW).fit_table(lazy(tmp_path / "again"), TARGETS, checkpoint=tmp_path / "checkpoint")
    assert reads(tmp_path / "again") == [2, 2, 3, 2]
    assert model.model_.to_json() == expected and not (tmp_path / "checkpoint").exists()
