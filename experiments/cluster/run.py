"""Seconds of a fit by Dask and by Spark, two workers of one core each, beside the stream of one machine on the same files.

    python run.py [--rows 1000000] [--partitions 16] [--features 256] [--steps 2] [--fits 1] [--engines stream,dask,spark]

Every engine runs in a process of its own, on loopback, one after the other, and fits the same rows so many times in one session.
raw/results.jsonl gets a line for each; with `python run.py --table` table.md is made of it and of nothing else.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "raw" / "results.jsonl"
MARK = "RFFBLR_EXPERIMENT"
TARGETS = ["y1", "y2", "y3", "y4"]
sys.path.insert(0, str(HERE.parent / "scale"))


def files_of(rows: int, partitions: int) -> pathlib.Path:
    """Parquet files of the synthetic rows of experiments/scale: a partition each, all but the last of whole blocks."""
    import pandas as pd
    from collect import INPUTS, SEED, SYNTHETIC_TARGETS, synthetic

    folder = HERE / "tables" / f"{rows}-{partitions}"
    if folder.exists():
        return folder
    new = folder.with_suffix(".new")
    new.mkdir(parents=True)
    size = -(-rows // partitions)
    size = min(-(-size // 32768) * 32768, rows) if size > 32768 else size
    names = [f"x{d + 1}" for d in range(INPUTS)] + SYNTHETIC_TARGETS
    held, number = pd.DataFrame(columns=names, dtype=float), 0
    for x, y in synthetic(rows, SEED):
        import numpy as np

        more = pd.DataFrame(np.hstack([x, y]), columns=names)
        held = more if held.empty else pd.concat([held, more], ignore_index=True)
        while len(held) >= size:
            held[:size].to_parquet(new / f"part-{number:04}.parquet", index=False)
            held, number = held[size:].reset_index(drop=True), number + 1
    if len(held):
        held.to_parquet(new / f"part-{number:04}.parquet", index=False)
    new.rename(folder)
    return folder


def processor_seconds() -> dict[str, float]:
    """Of all processes that this run has started, and have not ended unnoticed, by what they are."""
    mark, total = f"{MARK}={os.environ[MARK]}".encode(), dict.fromkeys(["this process", "Java", "workers"], 0.0)
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
                java = b"java" in (process / "cmdline").read_bytes().split(b"\0")[0]
                what = "this process" if process.name == str(os.getpid()) else "Java" if java else "workers"
                total[what] += sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return total


class Clock:
    """Seconds and processor seconds at the end of each step of each fit."""

    def __init__(self) -> None:
        self.fits: list[dict[str, list[float]]] = []

    def begin(self) -> None:
        """A fit."""
        self.steps: dict[str, list[float]] = {}
        self.fits.append({"steps": self.steps})
        self.start = (time.monotonic(), processor_seconds())

    def at(self, step: str) -> None:
        now = processor_seconds()
        wall, spent = time.monotonic() - self.start[0], {what: now[what] - self.start[1][what] for what in now}
        self.steps.setdefault(step, [round(wall, 2), round(sum(spent.values()), 2)])
        if step == "fitted":
            self.fits[-1]["processor"] = {what: round(seconds, 2) for what, seconds in spent.items()}

    def after(self, module, function: str, step: str) -> None:
        """Notes the time when a function of the driver returns."""
        original = getattr(module, function)

        def timed(*arguments):
            found = original(*arguments)
            self.at(step)
            return found

        setattr(module, function, timed)


def stream(folder: pathlib.Path, settings: dict, fits: int) -> tuple[Clock, str]:
    from rffblr import RFFBLRRegressor, _progress

    clock = Clock()

    def passed(self, what, done, total):
        if what == "adding up rows" and done == 0:
            clock.at("learned")
        if what == "adding up rows" and done == total:
            clock.at("added")
        return False

    _progress.Steps.passed = passed
    for _ in range(fits):
        clock.begin()
        model = RFFBLRRegressor(**settings, n_jobs=2, verbose=1).fit_files(folder, TARGETS)
        clock.at("fitted")
    return clock, model.model_.to_json()


def with_dask(folder: pathlib.Path, settings: dict, fits: int) -> tuple[Clock, str]:
    import dask.dataframe as dd
    from distributed import Client
    from rffblr import _progress
    from rffblr.dask import RFFBLRRegressor

    cluster = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1"}
    cluster |= {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
    with Client(**cluster) as client:
        # Beyond start-up.
        client.run(__import__, "rffblr.dask")
        clock = Clock()

        def finish(self, text):
            clock.at({"learned from a sample": "learned", "added up": "fitted"}.get(text, "counted"))

        _progress.Bar.finish = finish
        for _ in range(fits):
            clock.begin()
            table = dd.read_parquet(folder)
            model = RFFBLRRegressor(**settings, n_jobs=2, verbose=1).fit_table(table, TARGETS, keep_sample=False)
            clock.at("fitted")
    return clock, model.model_.to_json()


def with_spark(folder: pathlib.Path, settings: dict, fits: int) -> tuple[Clock, str]:
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    from pyspark.sql import SparkSession
    from rffblr import _cluster, _spark, spark

    def loaded(batches):
        import rffblr.spark  # noqa: F401

        time.sleep(1)  # so that no executor does all of it
        yield from batches

    configuration = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "1g",
        "spark.driver.maxResultSize": "2g",
        "spark.sql.files.openCostInBytes": str(128 << 20),  # a partition for each file
        "spark.sql.execution.arrow.maxRecordsPerBatch": "32768",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in configuration.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    table = session.read.parquet(str(folder))
    # Beyond start-up: Python and its libraries are loaded on both executors.
    session.range(0, 8, 1, 8).mapInArrow(loaded, "id long").collect()
    clock = Clock()
    clock.after(_spark, "counts", "counted")
    clock.after(_spark, "_merged", "summed up")
    clock.after(_cluster, "planned", "learned")
    clock.after(_cluster, "merged_sums", "added")
    learner = spark.RFFBLRRegressor(
        featuresCols=[name for name in table.columns if name not in TARGETS],
        targetCols=TARGETS,
        features=settings["form"].features,
        maxIter=settings["max_iterations"],
        threads=2,
    )
    for _ in range(fits):
        clock.begin()
        model = learner.fit(table)
        clock.at("fitted")
    session.stop()
    return clock, model.estimator.model_.to_json()


ENGINES = {"stream": stream, "dask": with_dask, "spark": with_spark}


def one(options: argparse.Namespace) -> None:
    """Runs one engine in this process and prints what it measured."""
    import hashlib

    import rffblr

    warnings.simplefilter("ignore")
    settings = {"form": rffblr.Drawn(features=options.features), "max_iterations": options.steps}
    clock, text = ENGINES[options.one](files_of(options.rows, options.partitions), settings, options.fits)
    print("RESULT " + json.dumps({"fits": clock.fits, "model": hashlib.sha256(text.encode()).hexdigest()}))


def table() -> None:
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    names = ["commit", "rows", "partitions", "features", "engine", "fit"]
    names += ["counted", "learned", "fitted", "processor s", "of these Java"]
    out = [f"| {' | '.join([*names, 'beside the stream', 'same bits'])} |", "|---|--:|--:|--:|---|" + "--:|" * 7 + "---|"]
    for line in lines:
        same = [other for other in lines if other["engine"] == "stream" and other["run"] == line["run"]]
        usual = statistics.median(fit["steps"]["fitted"][1] for fit in same[0]["fits"]) if same else None
        bits = "yes" if same and same[0]["model"] == line["model"] else "no"
        for number, fit in enumerate(line["fits"]):
            wall, spent = fit["steps"]["fitted"]
            ratio = f"{spent / usual:.2f}×" if usual else ""
            step = [f"{fit['steps'][name][0]:.1f}" if name in fit["steps"] else "" for name in ["counted", "learned"]]
            cells = [line[name] for name in names[:5]] + [number + 1, *step, f"{wall:.1f}", f"{spent:.1f}"]
            out.append(f"| {' | '.join(map(str, [*cells, fit['processor']['Java'] or '', ratio, bits]))} |")
    (HERE / "table.md").write_text("\n".join(out) + "\n")
    print("\n".join(out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2, help="of learning, at most")
    parser.add_argument("--fits", type=int, default=1, help="in one session, one after the other")
    parser.add_argument("--engines", default="stream,dask,spark")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.one:
        return one(options)
    if options.table:
        return table()
    files_of(options.rows, options.partitions)
    run = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    where = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    RESULTS.parent.mkdir(exist_ok=True)
    for engine in options.engines.split(","):
        settings = {name: str(getattr(options, name)) for name in ["rows", "partitions", "features", "steps", "fits"]}
        line = [word for name, value in settings.items() for word in (f"--{name}", value)]
        environment = os.environ | {MARK: f"{run}-{engine}"}
        command = [sys.executable, str(pathlib.Path(__file__)), "--one", engine, *line]
        load = os.getloadavg()[0]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        found = [text for text in done.stdout.splitlines() if text.startswith("RESULT ")]
        if not found:
            raise SystemExit(f"{engine}: {done.stderr[-2000:]}")
        record = {"run": run, "commit": commit, "engine": engine, "learning_steps": options.steps}
        record |= {name: int(settings[name]) for name in ["rows", "partitions", "features"]}
        record |= {"load_before": round(load, 1), **json.loads(found[0].removeprefix("RESULT "))}
        with RESULTS.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(engine, *record["fits"], sep="\n", flush=True)


if __name__ == "__main__":
    main()
