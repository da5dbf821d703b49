"""What run.py and peers.py share: the cases, the measuring of a command, the file of results."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TABLES = HERE / "tables"
RESULTS = HERE / "raw" / "results.jsonl"
# What makes two runs the same one, so that the second is skipped.
IDENTITY = ["case", "method", "arguments", "version", "threads", "cpu", "cores"]


class Failed(Exception):
    pass


def parser(description: str) -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--cases", help="names of tables.json, separated by commas [default: all that are collected]")
    options.add_argument("--threads", type=int, default=cores(), help="[default: all cores]")
    options.add_argument("--limit", type=int, default=3600, metavar="SECONDS", help="most of one command [%(default)s]")
    options.add_argument("--again", action="store_true", help="run also what is in the results already")
    options.add_argument("--results", type=pathlib.Path, default=RESULTS)
    return options


def cases(names: str | None) -> list[dict]:
    """The cases asked for; without names all whose files are there."""
    known = {case["name"]: case for case in json.loads((HERE / "tables.json").read_text())}
    if names is None:
        return [case for case in known.values() if (TABLES / case["train"]).exists()]
    for name in names.split(","):
        if name not in known:
            raise SystemExit(f"no case {name}; there are {', '.join(known)}")
        if not (TABLES / known[name]["train"]).exists():
            raise SystemExit(f"{TABLES / known[name]['train']} is not there: run collect.py")
    return [known[name] for name in names.split(",")]


def cores() -> int:
    return len(os.sched_getaffinity(0))


def machine() -> dict:
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {"cpu": names[0] if names else platform.machine(), "cores": cores()}


def measured(command: list, limit: int, threads: int) -> tuple[dict, str]:
    """Runs a command; its seconds and memory, and what it printed."""
    variables = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = os.environ | dict.fromkeys(variables, str(threads))
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        line = [sys.executable, "-I", "-S", HERE / "measure.py", report.name, limit, *command]
        line = [str(word) for word in line]
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        # Without the folders of this machine.
        told = re.sub(r"(/[^\s'`]+)?/(tables|tmp\w+)/", "", done.stdout.strip())
        if done.returncode != 0:
            raise Failed(told)
        usage = json.load(open(report.name))
    if usage.pop("exit") != 0:
        over = usage["seconds"] >= limit
        raise Failed(f"stopped after {limit} s" if over else told[-2000:] or "killed, perhaps for want of memory")
    return usage, told


def scores(truth, mean, lower=None, upper=None) -> dict:
    """R² of each target about the mean of the test rows, and the share of rows inside the intervals."""
    import numpy as np

    truth, mean = np.asarray(truth, float), np.asarray(mean, float)
    r2 = 1 - ((truth - mean) ** 2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
    out = {"r2": [round(float(value), 5) for value in r2], "mean_r2": round(float(r2.mean()), 5)}
    if lower is not None:
        inside = ((truth >= lower) & (truth <= upper)).mean(axis=0)
        out["coverage90"] = [round(float(value), 4) for value in inside]
        out["mean_coverage90"] = round(float(inside.mean()), 4)
    return out


class Results:
    """The file of results: what is in it is not run again, failures included, unless that is asked for."""

    def __init__(self, options: argparse.Namespace):
        self.path, self.again, self.threads = options.results, options.again, options.threads
        self.path.parent.mkdir(exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.known = {self.identity(json.loads(line)) for line in lines}

    @staticmethod
    def identity(record: dict) -> str:
        return json.dumps([record[key] for key in IDENTITY])

    def add(self, case: dict, method: str, arguments: list[str], version: str, work) -> None:
        """Runs `work`, unless its result is known, and appends what it measured or why it failed."""
        record = {"case": case["name"], "data_set": case["data_set"], "method": method, "arguments": arguments}
        record |= {"version": version, "threads": self.threads, **machine()}
        title = " ".join([case["name"], method, *arguments])
        if self.identity(record) in self.known and not self.again:
            print(f"{title}: is there")
            return
        record["date"] = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        record |= {key: case[key] for key in ["rows", "test_rows", "inputs", "targets", "best_r2"]}
        try:
            record |= work()
        except Failed as failure:
            record["error"] = str(failure)
        with self.path.open("a") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self.known.add(self.identity(record))
        if "error" in record:
            print(f"{title}: failed: {record['error']}", flush=True)
            return
        spent = f"fit {record['fit_seconds']} s, {record['peak_mb']:.0f} MB, predict {record['predict_seconds']} s"
        print(f"{title}: {spent}, mean R² {record['mean_r2']:.4f}", flush=True)
