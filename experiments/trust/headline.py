"""Is the score that `fit` puts first what ten folds find? One JSON line for each table: `fit --check 5` beside ten folds.

    python headline.py ../../target/release/rffblr raw/headline.jsonl [--max-rows 400]     resumable
    python headline.py --show raw/headline.jsonl raw/rffblr.jsonl                          medians and the noise tables
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed

from run import HERE, names_list


def checked(binary: str, table: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.json"
        words = [binary, "fit", str(HERE / table["file"]), "--check", "5", "-q", "-o", str(model)]
        for role, names in {"targets": table["targets"], "ignore": table["ignore"], "text": table["text"]}.items():
            words += [f"--{role}", names_list(names)] if names else []
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "RAYON_NUM_THREADS": "1"})
        if done.returncode != 0:
            return {"error": done.stderr.strip()[-300:]}
        return {"check": json.loads(model.read_text())["check"]}


def show(headlines: pathlib.Path, ten: pathlib.Path) -> None:
    tables = {table["name"]: table for table in json.loads((HERE / "tables.json").read_text())}
    folds: dict[str, list[float]] = {}
    for line in ten.read_text().splitlines():
        record = json.loads(line)
        if record.get("r2_all") is not None:
            folds.setdefault(record["table"], []).append(record["r2_all"])
    gaps, noise = [], []
    for line in headlines.read_text().splitlines():
        record = json.loads(line)
        name, r2 = record["table"], record.get("task_r2")
        if r2 is None:
            print(f"{name}: {record.get('error', 'no score')}")
        elif "noise" in tables[name]["kinds"]:
            noise.append(r2)
        elif name in folds:
            gaps.append(r2 - statistics.fmean(folds[name]))
    print(f"{len(gaps)} tables: headline minus ten folds, median {statistics.median(gaps):+.4f}")
    print(f"{len(noise)} tables of pure noise: mean headline {statistics.fmean(noise):+.4f}, largest {max(noise):+.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs=2)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--max-rows", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1, help="processes at once, each with one thread")
    options = parser.parse_args()
    if options.show:
        return show(pathlib.Path(options.paths[0]), pathlib.Path(options.paths[1]))
    binary, out = options.paths[0], pathlib.Path(options.paths[1])
    known = {json.loads(line)["table"] for line in out.read_text().splitlines()} if out.exists() else set()
    tables = sorted(json.loads((HERE / "tables.json").read_text()), key=lambda table: table["rows"])
    wanted = [table for table in tables if table["name"] not in known and table["rows"] <= options.max_rows]
    with out.open("a") as file, ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(checked, binary, table): table for table in wanted}
        for job in as_completed(jobs):
            record = {"table": jobs[job]["name"], "rows": jobs[job]["rows"], **job.result()}
            if "check" in record:
                record["task_r2"] = record["check"]["model"]["scores"]["task_r2"]
            file.write(json.dumps(record) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
