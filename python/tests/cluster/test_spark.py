"""An Estimator and a Model of pyspark.ml, with two executors that are processes of their own."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared import FEW, INPUTS, SIZES, TARGETS, job_of, listening, one_by_one, parts, table

import rffblr
from rffblr import _cluster

if shutil.which("java") is None and os.environ.get("CI") != "true":
    pytest.skip("Spark needs Java: apt-get install openjdk-17-jre-headless", allow_module_level=True)

from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.ml.evaluation import RegressionEvaluator  # noqa: E402
from pyspark.ml.feature import VectorAssembler  # noqa: E402
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

from rffblr.spark import ClusterError, PartitionError, RFFBLRModel, RFFBLRRegressor  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SETTINGS = {"features": FEW["form"].features, "maxIter": FEW["max_iterations"], "threads": 1}


def session(master):
    """All of it on loopback. A small pool of memory, and every file a partition."""
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    builder = SparkSession.builder.master(master).appName("rffblr")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        # A file of this size, and no second one.
        "spark.sql.files.openCostInBytes": str(128 << 20),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@pytest.fixture(scope="module")
def spark():
    made = session("local-cluster[2,1,1024]")
    yield made
    if made.sparkContext._gateway.proc.poll() is None:
        made.stop()


def frame_of(spark, folder):
    return spark.read.parquet(str(folder))


@pytest.fixture(scope="module")
def fitted(spark, files):
    return RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, **SETTINGS).fit(frame_of(spark, files))


def test_nothing_listens_beyond_loopback(fitted):
    addresses = listening()
    assert addresses and all(address.is_loopback for address in addresses)


def test_executors_and_the_machine_alone_give_the_same_bits(fitted, expected):
    assert fitted.estimator.model_.to_json() == expected
    assert "rows held out" in fitted.headline and any("kind" in note for note in fitted.estimator.notes_)
    assert fitted.estimator.explain(table(3, seed=1)[INPUTS]).shapley.shape[0] == 3


def test_partitions_of_several_files_and_of_parts_of_them_change_no_bit(spark, fitted, files, expected, tmp_path):
    learner = RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, **SETTINGS)
    changed = {"minPartitionNum": "1", "openCostInBytes": "0", "maxPartitionBytes": str(128 << 20)}
    with configured(spark, changed):
        together = frame_of(spark, files)
        assert together.rdd.getNumPartitions() == 1
        assert learner.fit(together).estimator.model_.to_json() == expected
    # Files of whole blocks are the rows of one machine, also if every block of them is another partition.
    for number, part in enumerate(parts([3 * 32_768, 32_768, 5000])):
        path = tmp_path / f"part {number}.parquet"
        part.drop(columns=["note", "weight"]).to_parquet(path, index=False, row_group_size=32_768)
    one = rffblr.RFFBLRRegressor(**FEW, n_jobs=2).fit_files(tmp_path, TARGETS).model_.to_json()
    with configured(spark, {**changed, "maxPartitionBytes": str(600_000)}):
        apart = frame_of(spark, tmp_path)
        assert apart.rdd.getNumPartitions() > 3
        assert learner.fit(apart).estimator.model_.to_json() == one


@contextmanager
def configured(spark, settings, prefix="spark.sql.files"):
    """Another way of making partitions, of files for one."""
    names = {f"{prefix}.{name}": value for name, value in settings.items()}
    before = {name: spark.conf.get(name, None) for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def test_rows_that_are_not_those_of_files_are_numbered_by_partition(spark, files):
    data = frame_of(spark, files)
    learner = RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, **SETTINGS)
    # Spark makes partitions of the larger files first.
    largest = sorted((part.drop(columns=["note", "weight"]) for part in parts()), key=len, reverse=True)
    estimator = rffblr.RFFBLRRegressor(**FEW)
    kept = data.cache()
    try:
        model = learner.fit(kept.select("*"))
    finally:
        kept.unpersist()
    assert model.estimator.model_.to_json() == one_by_one(estimator, largest, job_of(estimator, largest[0]))
    # In partitions in which rows of all files lie among each other.
    mixed = learner.fit(data.repartition(2, F.hash("a") % 100))
    assert mixed.estimator.check_.rows == sum(SIZES) // 10


def kept(spark):
    """How many tables the executors keep."""
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def random_rows(spark, rows=9000):
    """About half of so many rows, others every time they are asked for."""
    toss = F.udf(lambda: random.SystemRandom().random(), "double").asNondeterministic()
    return spark.range(0, rows, 1, 3).select(F.rand(1).alias("a"), F.rand(2).alias("b"), toss().alias("c")).where("c < 0.5")


def test_a_table_that_is_another_every_time_is_kept_while_it_is_fitted(spark):
    data = random_rows(spark)
    assert kept(spark) == 0 and len({data.count() for _ in range(5)}) > 1
    learner = RFFBLRRegressor(featuresCols=["a", "b"], targetCols=["t"], **SETTINGS)
    model = learner.fit(data.withColumn("t", F.col("a") + F.col("b")))
    assert kept(spark) == 0 and model.estimator.check_.r2 > 0.9
    # Also if a fit fails.
    for broken in [float("inf"), None]:
        with pytest.raises(ValueError, match="infinite" if broken else "target"):
            learner.fit(data.withColumn("t", F.lit(broken).cast("double")))
        assert kept(spark) == 0


def test_a_table_whose_partitions_are_chosen_anew_for_every_query_can_be_fitted(spark):
    frame = table(60_000)[["a", "b", "c", "t"]].dropna().reset_index(names="key")
    left, right = spark.createDataFrame(frame[["key", "a", "b"]]), spark.createDataFrame(frame[["key", "c", "t"]])
    adaptive = {"advisoryPartitionSizeInBytes": "100000", "coalescePartitions.parallelismFirst": "false"}
    changed = {f"adaptive.{name}": value for name, value in adaptive.items()}
    changed |= {"shuffle.partitions": "16", "autoBroadcastJoinThreshold": "-1"}
    with configured(spark, changed, "spark.sql"):
        joined = left.join(right, "key")
        parts = {chosen.rdd.getNumPartitions() for chosen in (joined.select("a"), joined)}
        learner = RFFBLRRegressor(featuresCols=["a", "b", "c"], targetCols=["t"], **SETTINGS)
        model = learner.fit(joined)
    assert len(parts) == 2 and model.estimator.check_.r2 > 0.5
    assert kept(spark) == 0


def test_transform_adds_columns(spark, fitted, files, tmp_path, command):
    new = frame_of(spark, files)
    out = fitted.transform(new.limit(500)).toPandas()
    added = [f"prediction_{t}{e}" for t in TARGETS for e in ("", "_std", "_lower", "_upper")]
    assert list(out.columns) == [*new.columns, *added]
    np.testing.assert_array_equal(out[added], fitted.estimator.predict_frame(out[INPUTS]))
    with pytest.raises(ValueError, match="column 'prediction_t' already"):
        fitted.transform(fitted.transform(new))
    # Saved and loaded, by Spark and as the file of the command.
    fitted.write().overwrite().save(str(tmp_path / "model"))
    loaded = RFFBLRModel.load(str(tmp_path / "model"))
    again = loaded.transform(new.limit(500)).toPandas()
    assert loaded.uid == fitted.uid and loaded.getTargetCols() == TARGETS
    # Which rows a limit takes is Spark's choice each time.
    np.testing.assert_array_equal(again[added], fitted.estimator.predict_frame(again[INPUTS]))
    fitted.estimator.save(tmp_path / "model.json")
    one = rffblr.RFFBLRRegressor.load(tmp_path / "model.json")
    np.testing.assert_array_equal(one.predict(out[INPUTS]), fitted.estimator.predict(out[INPUTS]))
    assert "rows held out" in command("inspect", tmp_path / "model.json")
    fitted.estimator.report(tmp_path / "report.html")


def test_pipelines_vectors_weights_and_cross_validation(spark, tmp_path):
    frame = table(600).drop(columns="note").dropna(subset=["t"]).fillna({"b": 0.0})
    data = spark.createDataFrame(frame[["a", "b", "c", "t", "weight"]]).repartition(2).cache()
    learner = RFFBLRRegressor(targetCols=["t"], weightCol="weight", weights="repeats", holdOut=False, **SETTINGS)
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=["a", "b", "c"], outputCol="features"), learner])
    model = pipeline.fit(data)
    judge = RegressionEvaluator(labelCol="t", metricName="r2")
    score = judge.evaluate(model.transform(data))
    assert score > 0.5 and model.stages[1].estimator.model_.weighting == "repeats"
    model.write().overwrite().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert judge.evaluate(loaded.transform(data)) == pytest.approx(score, abs=1e-12)
    learner.write().overwrite().save(str(tmp_path / "learner"))
    assert RFFBLRRegressor.load(str(tmp_path / "learner")).getTargetCols() == ["t"]
    grid = ParamGridBuilder().addGrid(learner.maxIter, [1, 2]).build()
    chosen = CrossValidator(estimator=pipeline, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=1).fit(data)
    assert len(chosen.avgMetrics) == 2 and min(chosen.avgMetrics) > 0.3


def test_errors(spark, files, tmp_path):
    data = frame_of(spark, files)
    with pytest.raises(ValueError, match="targetCols is not set"):
        RFFBLRRegressor(featuresCols=INPUTS).fit(data)
    with pytest.raises(ValueError, match="no column 'tt'"):
        RFFBLRRegressor(featuresCols=["tt"], targetCols=["t"]).fit(data)
    with pytest.raises(ValueError, match="target 'kind'"):
        RFFBLRRegressor(featuresCols=["a"], targetCols=["kind"]).fit(data)
    for number, part in enumerate(parts()):
        if number == 3:
            part.loc[77, "a"] = np.inf
        part.to_parquet(tmp_path / f"part-{number}.parquet", index=False)
    with pytest.raises(PartitionError, match=r"\(part-3.parquet\), row 78 of the file: column 'a': infinite"):
        RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, **SETTINGS).fit(frame_of(spark, tmp_path))


# Faults. A function that a column passes through counts how often that happens and does harm the second time: the rows are
# summed up by columns first, then added up.


def counted(table, folder, harm):
    folder.mkdir(exist_ok=True)
    folder = str(folder)

    def passing(columns: Iterator[pd.Series]) -> Iterator[pd.Series]:
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        log = Path(folder) / f"read-{number}"
        with log.open("a") as file:
            file.write(".")
        if number == 1 and log.stat().st_size == 2:
            harm(folder)
        yield from columns

    return table.withColumn("a", F.pandas_udf(passing, "double")("a"))


def kill_executor(folder):
    """Kills the Java process that this one works for."""
    process = os.getpid()
    while "CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_text():
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    (Path(folder) / "killed").write_text(str(process))
    os.kill(process, signal.SIGKILL)
    time.sleep(60)


def test_an_executor_that_is_killed_while_rows_are_added_up_changes_no_bit(spark, files, expected, tmp_path):
    data = counted(frame_of(spark, files), tmp_path / "job", kill_executor)
    model = RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, **SETTINGS).fit(data)
    assert (tmp_path / "job" / "killed").exists()
    assert model.estimator.model_.to_json() == expected


def test_a_fit_that_was_broken_off_goes_on(spark, files, expected, tmp_path, monkeypatch):
    checkpoint = tmp_path / "checkpoint"
    learner = RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, checkpoint=str(checkpoint), **SETTINGS)

    def lost(*_):
        raise OSError("the driver was lost")

    with monkeypatch.context() as patched:
        patched.setattr(_cluster, "finished", lost)
        with pytest.raises(OSError, match="the driver was lost"):
            learner.fit(frame_of(spark, files))
    saved = ["plan.json", "sums-000", "sums-001", "sums-002", "sums-003"]
    assert sorted(path.name for path in checkpoint.iterdir()) == saved
    (checkpoint / "sums-002").unlink()
    written = {name: (checkpoint / name).stat().st_mtime_ns for name in saved if name != "sums-002"}
    with monkeypatch.context() as patched:
        patched.setattr(_cluster.Checkpoint, "remove", lambda self: None)
        model = learner.fit(frame_of(spark, files))
    # Only the rows that were missing are added up.
    assert {name: (checkpoint / name).stat().st_mtime_ns for name in written} == written
    assert (checkpoint / "sums-002").exists() and model.estimator.model_.to_json() == expected
    learner.fit(frame_of(spark, files))
    assert not checkpoint.exists()


def test_files_of_others_survive_a_checkpoint(spark, files, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    few = spark.createDataFrame(table(150)[["a", "c", "t"]].dropna()).repartition(2).cache()
    for columns, targets, data in [(INPUTS, TARGETS, frame_of(spark, files)), (["a", "c"], ["t"], few)]:
        learner = RFFBLRRegressor(featuresCols=columns, targetCols=targets, checkpoint=str(mine), **SETTINGS)
        with pytest.raises(ValueError, match="the folder has files in it"):
            learner.fit(data)
    assert [path.name for path in mine.iterdir()] == ["thesis.tex"]
    # Few rows are fitted without it: the plan of another job stays too.
    other, plan = tmp_path / "other", '{"purpose": "of another", "plan": ""}'
    other.mkdir()
    (other / "plan.json").write_text(plan)
    RFFBLRRegressor(featuresCols=["a", "c"], targetCols=["t"], checkpoint=str(other), maxIter=3, threads=1).fit(few)
    assert (other / "plan.json").read_text() == plan


def kill_driver(folder):
    """Kills the Java process of the session and the Python process that asked for the fit."""
    for process in (Path(folder).parent / "driver").read_text().split():
        os.kill(int(process), signal.SIGKILL)
    time.sleep(60)


DRIVER = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_spark import INPUTS, SETTINGS, TARGETS, RFFBLRRegressor, counted, frame_of, kill_driver, session
folder = Path(sys.argv[1])
spark = session("local-cluster[2,1,1024]")
(folder / "driver").write_text(f"{os.getpid()} {spark.sparkContext._gateway.proc.pid}")
data = counted(frame_of(spark, sys.argv[3]), folder / "job", kill_driver)
checkpoint = str(folder / "checkpoint")
RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, checkpoint=checkpoint, **SETTINGS).fit(data)
"""


def test_a_driver_that_is_killed_is_followed_by_one_that_goes_on(spark, files, expected, tmp_path):
    arguments = [sys.executable, "-c", DRIVER, tmp_path, Path(__file__).parent, files]
    with open(tmp_path / "log", "w") as log:
        ended = subprocess.run(arguments, timeout=300, stdout=log, stderr=log)
    assert ended.returncode == -signal.SIGKILL, (tmp_path / "log").read_text()
    checkpoint = tmp_path / "checkpoint"
    # What was learned is there; sums are saved once all rows of their group are added up.
    assert {path.name for path in checkpoint.iterdir()} == {"plan.json"}
    learner = RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, checkpoint=str(checkpoint), **SETTINGS)
    assert learner.fit(frame_of(spark, files)).estimator.model_.to_json() == expected
    assert not checkpoint.exists()


def test_a_lost_driver_is_an_error_that_says_so(spark, files):
    """Last, as it ends the session: the executors end themselves when their driver is gone."""
    learner, data = RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, **SETTINGS), frame_of(spark, files)
    spark.sparkContext._gateway.proc.kill()
    spark.sparkContext._gateway.proc.wait()
    with pytest.raises(ClusterError, match="the Spark driver or its cluster was lost.*checkpoint"):
        learner.fit(data)
