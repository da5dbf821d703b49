"""A table in Markdown from raw results of ../trust/run.py: targets as they are beside targets transformed where it pays.

    python summary.py raw/tables.jsonl raw/sets.jsonl > table.md

NLPD is in units of each target's standard deviation, R² that of all held-out rows, the absolute error that of the median of
each prediction divided by that of the constant median of the target. Means over targets, then over tables. Standard
library only.
"""

import csv
import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).parent
TRUST = HERE.parent / "trust"
PLAIN, AUTO = "rffblr-untransformed", "rffblr"
SKEWED = 2.0  # largest skewness of a table's targets from which it counts as skewed
WORSE = {"nlpd": 0.1, "mae": 0.03, "r2": -0.03}  # a change beyond this is listed
FLOOR, CEILING = -0.5, 3.0  # what a table counts at least (R²) and at most (NLPD) in a mean


def tables() -> dict[str, dict]:
    about = {table["name"]: table for table in json.loads((TRUST / "tables.json").read_text())}
    sets = HERE / "sets.json"
    return about | ({table["name"]: table for table in json.loads(sets.read_text())} if sets.exists() else {})


def spread(table: dict, target: str) -> float:
    """Mean distance of a target from its median."""
    if "spread" in table["about_targets"][target]:
        return table["about_targets"][target]["spread"]
    with (TRUST / table["file"]).open(newline="") as file:
        cells = [row[target] for row in csv.DictReader(file)]
    values = [float(cell) for cell in cells if cell != ""]
    middle = statistics.median(values)
    return statistics.fmean(abs(value - middle) for value in values)


def scores(record: dict, table: dict) -> dict[str, float]:
    tasks = record["tasks"]
    return {
        "nlpd": statistics.fmean(task["nlpd_std"] for task in tasks.values()),
        "mae": statistics.fmean(task["mae"] / spread(table, name) for name, task in tasks.items()),
        "r2": statistics.fmean(task["r2_all"] for task in tasks.values()),
        "coverage": statistics.fmean(task["coverage90"] for task in tasks.values()),
    }


def main() -> None:
    about = tables()
    found: dict[str, dict[str, dict]] = {}
    for path in sys.argv[1:]:
        for line in pathlib.Path(path).read_text().splitlines():
            record = json.loads(line)
            if "error" not in record:
                found.setdefault(record["table"], {})[record["method"]] = record
    print("| table | rows | targets | skewness | NLPD | absolute error | R² | 90 % holds | fit, seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    changes: list[dict] = []
    for name in sorted(found):
        if {PLAIN, AUTO} - found[name].keys():
            continue
        table = about[name]
        before, after = (scores(found[name][method], table) for method in (PLAIN, AUTO))
        skewness = max(abs(target["skewness"] or 0.0) for target in table["about_targets"].values())
        seconds = [found[name][method]["fit_seconds"] for method in (PLAIN, AUTO)]
        changes.append({"name": name, "skewness": skewness, "before": before, "after": after, "seconds": seconds})
        shown = " | ".join(f"{before[key]:.3f} → {after[key]:.3f}" for key in ("nlpd", "mae", "r2", "coverage"))
        times = f"{seconds[0]:.2f} → {seconds[1]:.2f}"
        print(f"| {name} | {table['rows']} | {len(table['targets'])} | {skewness:.1f} | {shown} | {times} |")

    def mean(rows: list[dict], key: str) -> str:
        held = {"nlpd": lambda v: min(v, CEILING), "r2": lambda v: max(v, FLOOR)}.get(key, lambda v: v)
        pair = [statistics.fmean(held(row[when][key]) for row in rows) for when in ("before", "after")]
        return f"{pair[0]:.3f} → {pair[1]:.3f} ({pair[1] - pair[0]:+.3f})"

    moved = [row for row in changes if row["before"] != row["after"]]
    skewed = [row for row in changes if row["skewness"] > SKEWED]
    print("\n| | tables | NLPD | absolute error | R² | 90 % holds |\n|---|---|---|---|---|---|")
    for label, rows in [("all", changes), ("some target transformed", moved), (f"skewness above {SKEWED:g}", skewed)]:
        if rows:
            parts = " | ".join(mean(rows, key) for key in ("nlpd", "mae", "r2", "coverage"))
            print(f"| {label} | {len(rows)} | {parts} |")
    total = [sum(row["seconds"][k] for row in changes) for k in (0, 1)]
    print(f"\nFits take {total[1] / total[0]:.2f} times as long in all.")
    for key, limit in WORSE.items():
        gap = {row["name"]: row["after"][key] - row["before"][key] for row in changes}
        worse = [f"{name} {g:+.3f}" for name, g in gap.items() if (g > limit if limit > 0 else g < limit)]
        print(f"\nWorse in {key} by more than {abs(limit)}: {', '.join(worse) or 'none'}.")


if __name__ == "__main__":
    main()
