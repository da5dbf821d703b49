"""How long it takes to load a model and to predict one row and many, with and without standard deviations.

    python benches/latency.py [--repeat 300]

The hyper-parameters are those of two steps of a fit: they change no time that is measured here.
"""

import argparse
import os
import platform
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from rffblr import Drawn, Exact, RFFBLRRegressor, _rffblr


def milliseconds(work, repeat):
    """Median of the times, after a first call that is not counted."""
    work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * np.median(times)


def measured(rows, form, path, repeat):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)
    settings = {"max_iterations": 2, "target_transform": "none", "n_jobs": -1}
    RFFBLRRegressor(form=form, **settings).fit(X, y).save(path)
    model, row, new = RFFBLRRegressor.load(path), X[:1], rng.normal(size=(3000, 10))
    few = max(repeat // 20, 3)
    return {
        "load and mean": milliseconds(lambda: RFFBLRRegressor.load(path).predict(row), few),
        "load, mean and std of 3000 rows": milliseconds(lambda: RFFBLRRegressor.load(path).predict(new, return_std=True), few),
        "mean": milliseconds(lambda: model.predict(row), repeat),
        "mean and std": milliseconds(lambda: model.predict(row, return_std=True), repeat),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=300)
    repeat = parser.parse_args().repeat
    warnings.simplefilter("ignore")
    print(f"rffblr {_rffblr.BUILD}, Python {platform.python_version()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        for rows, form in [(1500, Exact()), (3000, Exact()), (5000, Exact()), (5000, Drawn(features=512)), (20000, None)]:
            found = measured(rows, form, Path(folder) / "model.json", repeat)
            name = "the default form" if form is None else form
            print(f"{rows} rows, {name}: " + ", ".join(f"{name} {time:.2f} ms" for name, time in found.items()), flush=True)


if __name__ == "__main__":
    main()
