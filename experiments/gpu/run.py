"""Fits and predicts on a GPU and on the processor of the same machine; a JSON line for each run goes to raw/results.jsonl.

    run.sh [BINARY|-] [--cases flights,exact-40000] [--devices cuda,cpu] [--limit S] [--budget S]

Called through run.sh. Runs that are in the file already (same case, device, version and machine) are skipped, so that a
call which was broken off goes on; failures are tried again. Python's standard library is all it needs; scikit-learn, if it is
there, for boosting.
"""

import argparse
import csv
import datetime
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "scale"))
import common  # noqa: E402

SYNTHETIC = [f"y{c}" for c in range(1, 5)]
FLIGHTS = ["air_time", "dep_delay", "arr_delay"]
TEXTS = ["carrier", "origin", "dest"]
MANY = ["--preset", "cosines", "--features", "4096"]
EXACT = ["--preset", "exact", "--check", "off"]
# Rows, targets, arguments of `fit`, and devices with the most seconds of a fit on each.
CASES = {
    "flights": (307_346, FLIGHTS, [], {"cuda": 150, "cpu": 150}),
    "flights-effort-4": (307_346, FLIGHTS, ["--preset", "cosines", "--effort", "4"], {"cuda": 100, "cpu": 420}),
    "flights-effort-20": (307_346, FLIGHTS, ["--preset", "cosines", "--effort", "20"], {"cuda": 100}),
    "synthetic-1e7": (10_000_000, SYNTHETIC, MANY, {"cuda": 240, "cpu": 420}),
    "exact-40000": (40_000, SYNTHETIC, EXACT, {"cuda": 150}),
    "exact-10000": (10_000, SYNTHETIC, EXACT, {"cuda": 60, "cpu": 120}),
    "synthetic-1e5": (100_000, SYNTHETIC, [], {"cuda": 90, "cpu": 150}),
    "synthetic-1e6": (1_000_000, SYNTHETIC, [], {"cuda": 90, "cpu": 150}),
    # For a try on a small machine.
    "synthetic-1e4": (10_000, SYNTHETIC, ["--preset", "cosines"], {"cuda": 60, "cpu": 60}),
}
# The most important first; the last case only where it is named. Cases on the processor that take minutes come last.
ORDER = [
    ("flights", "cuda"), ("flights-effort-4", "cuda"), ("flights-effort-20", "cuda"), ("synthetic-1e7", "cuda"),
    ("exact-40000", "cuda"), ("exact-10000", "cuda"), ("synthetic-1e6", "cuda"), ("synthetic-1e5", "cuda"),
    ("flights", "boosting"), ("exact-10000", "cpu"), ("flights", "cpu"), ("synthetic-1e5", "cpu"), ("synthetic-1e6", "cpu"),
    ("synthetic-1e7", "cpu"), ("flights-effort-4", "cpu"),
]
TEST_ROWS = 3_000


def libraries() -> str:
    """Where cuBLAS, cuSOLVER and NVRTC may lie: the toolkit, and PyPI's packages."""
    folders = glob.glob("/usr/local/cuda*/lib64")
    for path in sys.path:
        folders += sorted(glob.glob(f"{path}/nvidia/*/lib"))
    return ":".join([*filter(None, [os.environ.get("LD_LIBRARY_PATH")]), *folders])


def gpu() -> str | None:
    """Name, memory and driver of the first GPU."""
    line = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


class Watch(threading.Thread):
    """The largest memory in use on the first GPU, looked at four times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.over = 0.0, threading.Event()

    def run(self) -> None:
        line = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        while not self.over.wait(0.25):
            try:
                told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
                self.peak = max(self.peak, float(told.splitlines()[0]))
            except (OSError, ValueError, IndexError, subprocess.CalledProcessError):
                return


def tables(name: str, options: argparse.Namespace) -> tuple[pathlib.Path, pathlib.Path]:
    """Files of training and test rows. Synthetic ones are written where they are missing."""
    if name.startswith("flights"):
        return options.work / "flights-train.csv", options.work / "flights-test.csv"
    rows, made = CASES[name][0], []
    # Both folders are drawn with a seed of their own.
    for rows, seed, ending in [(rows, 17, "parquet"), (TEST_ROWS, 18, "csv")]:
        folder = options.work / f"synthetic-{rows}-{seed}"
        if not folder.exists():
            new = folder.with_suffix(".new")
            subprocess.run([options.work / "synthetic", new, str(rows), str(seed), ending], check=True)
            new.rename(folder)
        made.append(folder)
    return made[0], made[1] / "part-000.csv"


def columns(path: pathlib.Path, names: list[str] | None = None) -> tuple[list[str], list[list[str]]]:
    """Names and rows of a CSV file; only the named columns, if any are named."""
    with path.open(newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        if names is None:
            return header, list(reader)
        places = [header.index(name) for name in names]
        return names, [[row[place] for place in places] for row in reader]


def fit(name: str, device: str, options: argparse.Namespace, limit: int) -> dict:
    rows, targets, extra, _ = CASES[name]
    train, test = tables(name, options)
    os.environ["LD_LIBRARY_PATH"] = libraries()
    where = ["--device", device, "--threads", options.threads]
    with tempfile.TemporaryDirectory() as folder:
        model, predictions = pathlib.Path(folder, "model.json"), pathlib.Path(folder, "predictions.csv")
        watch = Watch()
        watch.start()
        line = [options.rffblr, "fit", train, "--targets", ",".join(targets), "-o", model, *extra, *where]
        used, told = common.measured(line, limit, options.threads)
        watch.over.set()
        watch.join()
        line = [options.rffblr, "predict", model, test, "-o", predictions, *where]
        predict, _ = common.measured(line, limit, options.threads)
        size = model.stat().st_size
        of = lambda ending: columns(predictions, [target + ending for target in targets])[1]
        found = common.scores(columns(test, targets)[1], of(""), as_numbers(of("_lower")), as_numbers(of("_upper")))
    return {
        "fit_seconds": used["seconds"],
        "fit_cpu_seconds": used["cpu_seconds"],
        "peak_mb": used["peak_mb"],
        "peak_gpu_mb": watch.peak if device == "cuda" else None,
        "predict_seconds": predict["seconds"],
        "predict_cpu_seconds": predict["cpu_seconds"],
        "model_mb": round(size / 1e6, 3),
        **found,
        "told": told.replace(f"{options.work}/", ""),
    }


def as_numbers(rows: list[list[str]]):
    import numpy as np

    return np.asarray(rows, float)


def boosting(name: str, options: argparse.Namespace, limit: int) -> dict:
    """In a process of its own, whose memory and processor seconds are taken."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        line = [sys.executable, __file__, "--boosting", report.name, "--work", options.work]
        used, told = common.measured(line, limit, options.threads)
        found = json.load(open(report.name))
    return found | {"fit_cpu_seconds": used["cpu_seconds"], "peak_mb": used["peak_mb"], "told": told}


def boost(report: str, options: argparse.Namespace) -> None:
    """HistGradientBoostingRegressor(max_iter=300) for each target; seconds include reading the table."""
    import numpy as np
    import sklearn
    from sklearn.ensemble import HistGradientBoostingRegressor

    start = time.perf_counter()
    train, test = tables("flights", options)
    header, rows = columns(train)
    inputs = [name for name in header if name not in FLIGHTS]
    levels = {name: {} for name in TEXTS}

    def numbers(rows: list[list[str]], name: str) -> "np.ndarray":
        place = header.index(name)
        if name not in TEXTS:
            return np.array([float(row[place] or "nan") for row in rows])
        known = levels[name]
        learn = not known
        codes = [known.setdefault(row[place], len(known)) if learn else known.get(row[place], -1) for row in rows]
        return np.array(codes, float)

    matrix = lambda rows, names: np.column_stack([numbers(rows, name) for name in names])
    x, y = matrix(rows, inputs), matrix(rows, FLIGHTS)
    settings = {"max_iter": 300, "categorical_features": [inputs.index(name) for name in TEXTS], "random_state": 0}
    models = [HistGradientBoostingRegressor(**settings).fit(x, y[:, c]) for c in range(len(FLIGHTS))]
    fitted = time.perf_counter()
    held_out, rows = columns(test)
    assert held_out == header
    mean = np.column_stack([model.predict(matrix(rows, inputs)) for model in models])
    seconds = {"fit_seconds": round(fitted - start, 3), "predict_seconds": round(time.perf_counter() - fitted, 3)}
    print(f"scikit-learn {sklearn.__version__}")
    pathlib.Path(report).write_text(json.dumps(seconds | common.scores(matrix(rows, FLIGHTS), mean)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rffblr", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder of tables and programs")
    parser.add_argument("--cases", help=f"of {', '.join(CASES)}; separated by commas")
    parser.add_argument("--devices", default="cuda,boosting,cpu", help="[%(default)s]")
    parser.add_argument("--threads", type=int, default=common.cores(), help="[all cores]")
    parser.add_argument("--limit", type=int, metavar="SECONDS", help="most of one fit [its own for each case]")
    parser.add_argument("--budget", type=int, default=520, metavar="SECONDS", help="of all runs together [%(default)s]")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "raw" / "results.jsonl")
    parser.add_argument("--boosting", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.boosting:
        return boost(options.boosting, options)
    end = time.monotonic() + options.budget
    version = subprocess.run([options.rffblr, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    wanted, named = options.devices.split(","), options.cases.split(",") if options.cases else None
    for name in named or []:
        if name not in CASES:
            raise SystemExit(f"no case {name}; there are {', '.join(CASES)}")
    order = ORDER + [(name, device) for name in named or [] for device in CASES[name][3]]
    about = {"version": version, "threads": options.threads, **common.machine(), "gpu": gpu()}
    options.results.parent.mkdir(parents=True, exist_ok=True)
    known = set()
    for file in {options.results, HERE / "raw" / "results.jsonl"}:
        for line in file.read_text().splitlines() if file.exists() else []:
            record = json.loads(line)
            if "error" not in record:
                known.add(identity(record))
    for name, device in dict.fromkeys(order):
        if device not in wanted or (named is not None and name not in named):
            continue
        rows, targets, extra, limits = CASES[name]
        extra = [] if device == "boosting" else extra
        record = {"case": name, "device": device, "rows": rows, "targets": targets, "arguments": extra, **about}
        left = int(end - time.monotonic())
        if identity(record) in known:
            print(f"{name} {device}: is there")
            continue
        if left < 5:
            print(f"{name} {device}: no time left")
            continue
        record["date"] = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        limit = min(options.limit or limits.get(device, 120), left)
        try:
            record |= boosting(name, options, limit) if device == "boosting" else fit(name, device, options, limit)
        except common.Failed as failure:
            record["error"] = str(failure)
        except (OSError, subprocess.CalledProcessError) as failure:
            record["error"] = f"{type(failure).__name__}: {failure}"
        with options.results.open("a") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        if "error" in record:
            print(f"{name} {device}: failed: {record['error']}", flush=True)
            continue
        spent = f"fit {record['fit_seconds']} s, {record['peak_mb']:.0f} MB, predict {record['predict_seconds']} s"
        print(f"{name} {device}: {spent}, mean R² {record['mean_r2']:.4f}", flush=True)


def identity(record: dict) -> str:
    keys = ["case", "device", "arguments", "version", "threads", "cpu", "cores", "gpu"]
    # Boosting is the same beside every version of the command.
    return json.dumps([record[key] for key in keys if record["device"] != "boosting" or key != "version"])


if __name__ == "__main__":
    main()
