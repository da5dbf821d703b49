"""Runs `rffblr evaluate` on the tables of tables.json and appends a JSON line for each table, method and seed.

    python run.py ../../target/release/rffblr raw/references.jsonl --methods mean,ridge,gp --seeds 1,2 --part all

What is in the file already is not run again, so that an interrupted run goes on where it stopped; failures are recorded
and tried again only with --again. Environment variables reach the command. Standard library only.

Methods that cannot use gaps in targets (gp) are fitted to each target alone where a table has some, to the rows in
which it is known, with the same folds.
"""

import argparse
import csv
import io
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from folds import folds as dealt_folds

HERE = pathlib.Path(__file__).parent
SMALL, FEW_FOLDS = 30, 5
COMPLETE_ONLY = {"gp"}
OVERALL = ["task_r2", "pooled_r2", "nlpd", "crps", "coverage90", "mae", "rmse", "fit_seconds"]
BY_TASK = ["r2", "rmse", "mae", "nlpd", "crps", "coverage90"]


class Failed(Exception):
    pass


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--methods", default="rffblr,ridge,gp")
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--folds", type=int, default=10, help=f"{FEW_FOLDS} at most below {SMALL} rows")
    parser.add_argument("--part", choices=["dev", "confirm", "all"], default="dev")
    parser.add_argument("--only", help="names of tables, separated by commas")
    parser.add_argument("--kinds", help="only tables with one of these tags, separated by commas")
    parser.add_argument("--max-rows", type=int, default=2000, help="only tables of at most so many rows")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once, each with one thread")
    parser.add_argument("--label", default="", help="goes into the records, to tell runs apart")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for one call of the command")
    parser.add_argument("--again", action="store_true", help="try what failed once more")
    parser.add_argument("--extra", default="", help="further arguments of evaluate, separated by blanks")
    return parser.parse_args()


def names_list(names: list[str]) -> str:
    """As --targets and --ignore want it: a name with a comma or a quote stands in double quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def key_of(record: dict) -> tuple:
    # With rows and columns: a table that was collected anew is another one.
    return tuple(record[part] for part in ("table", "rows", "columns", "method", "seed", "folds", "label"))


def known_keys(path: pathlib.Path, again: bool) -> set[tuple]:
    if not path.exists():
        return set()
    records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return {key_of(record) for record in records if not (again and "error" in record)}


def call(options: argparse.Namespace, file: pathlib.Path, roles: dict[str, list[str]], more: list[str]) -> dict:
    words = [str(options.binary.resolve()), "evaluate", str(file)]
    for role, names in roles.items():
        words += [f"--{role}", names_list(names)] if names else []
    words += ["--json", "--quiet", *more, *options.extra.split()]
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=options.timeout)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"more than {options.timeout:g} s") from error
    if done.returncode != 0:
        raise Failed(done.stderr.strip()[-500:] or f"exit code {done.returncode}")
    return json.loads(done.stdout)


def whole(options: argparse.Namespace, table: dict, record: dict) -> dict:
    method, targets = record["method"], table["targets"]
    more = ["--methods", method, "--seed", str(record["seed"]), "--folds", str(record["folds"])]
    roles = {"targets": targets, "ignore": table["ignore"], "text": table["text"]}
    result = call(options, HERE / table["file"], roles, more)
    own = result["methods"][method]
    tasks = {name: task_scores(own, number, name, table) for number, name in enumerate(targets)}
    return {"version": result["version"], **{key: own[key]["mean"] for key in OVERALL}, **over_tasks(tasks)}


def target_by_target(options: argparse.Namespace, table: dict, record: dict) -> dict:
    """The scores of whole() for a method that cannot use gaps in targets."""
    method, tasks, seconds, result = record["method"], {}, 0.0, {}
    with (HERE / table["file"]).open(newline="") as file:
        header, *rows = list(csv.reader(file))
    splits = dealt_folds(len(rows), record["folds"], record["seed"])
    for target in table["targets"]:
        column = header.index(target)
        known = [number for number, row in enumerate(rows) if row[column] != ""]
        place = {row: number for number, row in enumerate(known)}
        lists = [[place[row] for row in split if row in place] for split in splits]
        with tempfile.TemporaryDirectory() as folder:
            part, split_file = pathlib.Path(folder) / "part.csv", pathlib.Path(folder) / "folds.json"
            with part.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([header] + [rows[number] for number in known])
            split_file.write_text(json.dumps([split for split in lists if split]))
            others = [name for name in table["targets"] if name != target] + table["ignore"]
            more = ["--methods", method, "--seed", str(record["seed"]), "--fold-file", str(split_file)]
            result = call(options, part, {"targets": [target], "ignore": others, "text": table["text"]}, more)
        own = result["methods"][method]
        tasks[target] = task_scores(own, 0, target, table)
        seconds += own["fit_seconds"]["mean"]
    scores = over_tasks(tasks)
    cells = {name: table["about_targets"][name]["observed"] for name in tasks}
    overall: dict[str, float | None] = {"pooled_r2": None, "rmse": None, "fit_seconds": seconds}
    for key in ["nlpd", "crps", "coverage90", "mae"]:
        overall[key] = sum(cells[name] * task[key] for name, task in tasks.items()) / sum(cells.values())
    overall["task_r2"] = statistics.fmean(task["r2"] for task in tasks.values())
    return {"version": result["version"], "target_by_target": True, **overall, **scores}


def task_scores(own: dict, number: int, name: str, table: dict) -> dict:
    """Means over folds of one target, and its NLPD and R² in forms that can be averaged over targets and tables."""
    task = {key: own["tasks"][name][key]["mean"] for key in BY_TASK}
    deviation = table["about_targets"][name]["sd"]
    task["nlpd_std"] = None if task["nlpd"] is None else task["nlpd"] - math.log(deviation)
    # R² of all held-out cells together: a fold of few rows has an R² of its own that says little.
    folds = [(fold["per_task"]["observed"][number], fold["per_task"]["rmse"][number]) for fold in own["folds"]]
    folds = [(count, rmse) for count, rmse in folds if count > 0]
    task["r2_all"] = None
    if folds and all(rmse is not None for _, rmse in folds):
        wrong = sum(count * rmse**2 for count, rmse in folds)
        task["r2_all"] = 1.0 - wrong / (sum(count for count, _ in folds) * deviation**2)
    largest = [fold["per_task"]["largest_z"] for fold in own["folds"] if fold["per_task"].get("largest_z")]
    largest = [values[number] for values in largest if values[number] is not None]
    task["largest_z"] = max(largest) if largest else None
    return task


def over_tasks(tasks: dict[str, dict]) -> dict:
    def mean(key: str) -> float | None:
        values = [task[key] for task in tasks.values()]
        return None if any(value is None for value in values) else statistics.fmean(values)

    largest = [task["largest_z"] for task in tasks.values() if task["largest_z"] is not None]
    return {"largest_z": max(largest) if largest else None, "nlpd_std": mean("nlpd_std"), "r2_all": mean("r2_all"), "tasks": tasks}


def evaluate(options: argparse.Namespace, table: dict, record: dict) -> dict:
    began = time.monotonic()
    gaps = any(about["observed"] < table["rows"] for about in table["about_targets"].values())
    try:
        way = target_by_target if gaps and record["method"] in COMPLETE_ONLY else whole
        record |= way(options, table, record)
    except Failed as error:
        record["error"] = str(error)
    except (OSError, ValueError, KeyError, TypeError) as error:
        record["error"] = f"{type(error).__name__}: {error}"
    record["seconds"] = round(time.monotonic() - began, 2)
    return record


def chosen_tables(options: argparse.Namespace) -> list[dict]:
    tables = json.loads((HERE / "tables.json").read_text())
    if options.part != "all":
        tables = [table for table in tables if table["part"] == options.part]
    if options.only:
        wanted = set(options.only.split(","))
        tables = [table for table in tables if table["name"] in wanted]
        unknown = wanted - {table["name"] for table in tables}
        if unknown:
            sys.exit(f"no such tables in this part: {', '.join(sorted(unknown))}")
    if options.kinds:
        tables = [table for table in tables if set(table["kinds"]) & set(options.kinds.split(","))]
    return [table for table in tables if table["rows"] <= options.max_rows]


def main() -> None:
    options = arguments()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    known = known_keys(options.out, options.again)
    jobs = []
    for seed in options.seeds.split(","):
        for table in chosen_tables(options):
            folds = options.folds if table["rows"] >= SMALL else min(options.folds, FEW_FOLDS)
            for method in options.methods.split(","):
                record = {"table": table["name"], "rows": table["rows"], "columns": table["inputs"]}
                record |= {"method": method, "seed": int(seed), "folds": folds, "label": options.label}
                if key_of(record) not in known:
                    jobs.append((table, record))
    if options.jobs > 1:  # the longest first, so that none is left over at the end
        jobs.sort(key=lambda job: job[0]["rows"], reverse=True)
    failures = 0
    with options.out.open("a") as out, ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(evaluate, options, table, record) for table, record in jobs]
        for number, future in enumerate(as_completed(futures), 1):
            record = future.result()
            out.write(json.dumps(record) + "\n")
            out.flush()
            failures += "error" in record
            said = record.get("error") or f"R² {show(record['task_r2'])}  NLPD {show(record['nlpd_std'])}"
            place = f"{record['table']} {record['method']} seed {record['seed']}"
            print(f"{number}/{len(jobs)} {place}: {said}  ({record['seconds']} s)", flush=True)
    print(f"{len(jobs)} runs, {failures} failed")


def show(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
