"""The eight data sets of the paper, targets as they are beside targets transformed: raw/sets.jsonl and sets.json.

    python sets.py ../../target/release/rffblr DATASETS        (DATASETS holds NAME.arff, targets last)

The ten folds of ../folds. Nothing is chosen by these results. Standard library only.
"""

import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent / "trust"))
from run import OVERALL, over_tasks, task_scores  # noqa: E402

TARGETS = {"atp1d": 6, "atp7d": 6, "oes97": 16, "oes10": 16, "edm": 2, "jura": 3, "wq": 14, "enb": 2}
METHODS = ["rffblr-untransformed", "rffblr"]


def about(values: list[float]) -> dict:
    middle, mean, sd = statistics.median(values), statistics.fmean(values), statistics.stdev(values)
    skewness = statistics.fmean(((value - mean) / sd) ** 3 for value in values)
    return {"sd": sd, "skewness": skewness, "spread": statistics.fmean(abs(value - middle) for value in values)}


def main() -> None:
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    tables, records = [], []
    for name, count in TARGETS.items():
        lines = (folder / f"{name}.arff").read_text().splitlines()
        start = next(number for number, line in enumerate(lines) if line.strip().lower() == "@data") + 1
        rows = [line.split(",") for line in lines[start:] if line.strip() and not line.startswith("%")]
        words = [binary, "evaluate", str(folder / f"{name}.arff"), "--targets", f"last:{count}", "--json", "--quiet"]
        words += ["--fold-file", str(HERE.parent / "folds" / f"{name}.json"), "--methods", ",".join(METHODS)]
        result = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        targets = list(result["targets"])
        described = {target: about([float(row[place - count]) for row in rows]) for place, target in enumerate(targets)}
        table = {"name": name, "rows": len(rows), "targets": targets, "about_targets": described}
        tables.append(table)
        for method in METHODS:
            own = result["methods"][method]
            tasks = {target: task_scores(own, number, target, table) for number, target in enumerate(targets)}
            record = {"table": name, "rows": len(rows), "method": method, "version": result["version"]}
            records.append(record | {key: own[key]["mean"] for key in OVERALL} | over_tasks(tasks))
        print(name, *(f"{record['task_r2']:.3f}" for record in records[-2:]), flush=True)
    (HERE / "sets.json").write_text(json.dumps(tables, indent=1) + "\n")
    (HERE / "raw" / "sets.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


if __name__ == "__main__":
    main()
