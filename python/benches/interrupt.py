"""How long long calls go on after Ctrl-C: until it is raised, and until the last thread of the library has ended.

    python benches/interrupt.py [--repeat 20] [--only check sample_y]

Of each call the longest of both times, and their medians, over interrupts at random moments. Needs /proc.
"""

import argparse
import os
import random
import signal
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from rffblr import Accumulator, Drawn, FeatureMap, RFFBLRRegressor


def threads():
    """Threads of the library in this process."""
    found = 0
    for path in Path("/proc/self/task").glob("*/comm"):
        try:
            found += path.read_text().strip() == "rffblr"
        except OSError:
            pass
    return found


def interrupted(work, after):
    """Milliseconds from an interrupt to its exception, and to the end of the work; ``None`` if it was over before."""
    asked = []

    def interrupt():
        asked.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, interrupt)
    try:
        timer.start()
        work()
        timer.cancel()
        timer.join()
        time.sleep(0.01)  # an interrupt that was too late is raised here
        return None
    except KeyboardInterrupt:
        raised = time.perf_counter()
    timer.join()
    while threads():
        time.sleep(0.002)
    return 1e3 * (raised - asked[0]), 1e3 * (time.perf_counter() - asked[0])


def length(work):
    """Seconds of a call, at most two."""
    start = time.perf_counter()
    interrupted(work, 2.0)
    return time.perf_counter() - start


def calls(folder):
    """The long calls by name."""
    rng = np.random.default_rng(0)

    def table(rows, inputs, targets):
        X = rng.normal(size=(rows, inputs))
        Y = np.sin(X[:, :targets]) + X[:, 1 : targets + 1] * X[:, 2 : targets + 2] + 0.1 * rng.normal(size=(rows, targets))
        return X, Y

    X, Y = table(2500, 20, 3)
    many, few = table(20000, 20, 3)
    model = RFFBLRRegressor(max_iterations=2, target_transform="none", n_jobs=-1).fit(X, Y)
    drawn = RFFBLRRegressor(form=Drawn(features=1024), max_iterations=2, target_transform="none", n_jobs=-1).fit(many, few)
    np.savetxt(folder / "rows.csv", np.hstack([many, few]), delimiter=",", header=",".join(f"c{d}" for d in range(23)), comments="")
    targets, settings = ["c20", "c21", "c22"], {"max_iterations": 2, "target_transform": "none", "n_jobs": -1}
    of_files = RFFBLRRegressor(form=Drawn(features=1024), **settings).fit_files(folder / "rows.csv", targets, hold_out=False)
    wide = FeatureMap.learn(X, Y, rows=1e6, features=4096, max_iterations=2, n_jobs=-1)
    model.save(folder / "model.json")
    return {
        "fit_files": lambda: RFFBLRRegressor(n_jobs=-1).fit_files(folder / "rows.csv", targets),
        "predict_files": lambda: of_files.predict_files([folder / "rows.csv"] * 20, folder / "predicted.csv"),
        "Accumulator.update": lambda: Accumulator(wide, n_jobs=-1).update(0, many, few),
        "export, onnx": lambda: model.export(folder / "model.onnx", interval=0.9),
        "load": lambda: RFFBLRRegressor.load(folder / "model.json"),
        "fit": lambda: RFFBLRRegressor(n_jobs=-1).fit(X, Y),
        "fit, drawn": lambda: RFFBLRRegressor(form=Drawn(features=1024), n_jobs=-1).fit(many, few),
        "check": lambda: RFFBLRRegressor.check(model, X, Y),
        "check, drawn": lambda: RFFBLRRegressor.check(drawn, many, few),
        "predict, std": lambda: model.predict(many, return_std=True),
        "predict, cov": lambda: model.predict(X, return_cov=True),
        "predict, cov, drawn": lambda: drawn.predict(many[:3000], return_cov=True),
        "sample_y": lambda: model.sample_y(many[:3000], 200),
        "sample_y, drawn": lambda: drawn.sample_y(many[:3000], 200),
        "explain": lambda: model.explain(X, return_std=True),
        "partial_dependence": lambda: model.partial_dependence((0, 1), resolution=100),
        "relevance_": lambda: model.relevance_,
        "report": lambda: model.report(folder / "page.html"),
        "report, drawn": lambda: drawn.report(folder / "page.html"),
        "loo_predict": lambda: model.loo_predict(),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed(0)
    print(f"{'call':22} {'lasts':>8} {'raised after (median, most)':>28} {'ended after (median, most)':>28}")
    with tempfile.TemporaryDirectory() as folder:
        for name, work in calls(Path(folder)).items():
            if options.only and name not in options.only:
                continue
            seconds = length(work)
            found = [interrupted(work, random.uniform(0, 0.9 * min(seconds, 2.0))) for _ in range(options.repeat)]
            times = np.array([times for times in found if times])
            if not len(times):
                print(f"{name:22} {seconds:6.2f} s  too short to interrupt", flush=True)
                continue
            raised, ended = (f"{np.median(column):9.0f} ms {column.max():6.0f} ms" for column in times.T)
            print(f"{name:22} {seconds:6.2f} s {raised:>28} {ended:>28}", flush=True)


if __name__ == "__main__":
    main()
