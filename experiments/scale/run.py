"""Fits and predicts with the command rffblr and appends a JSON line for each case to raw/results.jsonl.

    python run.py
    python run.py --cases diamonds,synthetic-1e4 --threads 2 -- --preset exact

What stands after -- goes to `rffblr fit`. A run that is in the file already (same case, arguments, version, threads and
machine) is skipped.
"""

import pathlib
import subprocess
import sys
import tempfile

import pandas as pd

import common


def run(case: dict, rffblr: pathlib.Path, extra: list[str], threads: int, limit: int) -> dict:
    train, test = common.TABLES / case["train"], common.TABLES / case["test"]
    with tempfile.TemporaryDirectory() as folder:
        model, predictions = pathlib.Path(folder, "model.json"), pathlib.Path(folder, "predictions.csv")
        line = [rffblr, "fit", train, "--targets", ",".join(case["targets"]), "-o", model, "--force"]
        line += ["--threads", threads, *extra]
        fit, told = common.measured(line, limit, threads)
        line = [rffblr, "predict", model, test, "-o", predictions, "--force", "--threads", threads]
        predict, _ = common.measured(line, limit, threads)
        size, found = model.stat().st_size, pd.read_csv(predictions)
    truth = pd.read_parquet(test, columns=case["targets"])
    parts = [found[[target + ending for target in case["targets"]]].to_numpy() for ending in ["", "_lower", "_upper"]]
    return {
        "fit_seconds": fit["seconds"],
        "fit_cpu_seconds": fit["cpu_seconds"],
        "peak_mb": fit["peak_mb"],
        "predict_seconds": predict["seconds"],
        "predict_cpu_seconds": predict["cpu_seconds"],
        "predict_peak_mb": predict["peak_mb"],
        "model_mb": round(size / 1e6, 3),
        **common.scores(truth, *parts),
        "told": told,
    }


def main() -> None:
    words = sys.argv[1:]
    extra = words[words.index("--") + 1 :] if "--" in words else []
    parser = common.parser(__doc__.splitlines()[0])
    parser.usage = "%(prog)s [options] [-- ARGUMENTS OF FIT]"
    parser.add_argument("--rffblr", type=pathlib.Path, default=common.HERE.parents[1] / "target" / "release" / "rffblr")
    options = parser.parse_args(words[: len(words) - len(extra) - ("--" in words)])
    version = subprocess.run([options.rffblr, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    results = common.Results(options)
    for case in common.cases(options.cases):
        work = lambda: run(case, options.rffblr, extra, options.threads, options.limit)
        results.add(case, "rffblr", extra, version, work)


if __name__ == "__main__":
    main()
