"""Writes README.md: head.md, then the tables made from raw/. Usage: python table.py > README.md"""
import glob, json, os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
print(open(HERE + "/head.md").read() + "## Raw tables\n")
# Columns of a result: mean over folds.
TASK, POOLED, NLPD, COVERAGE, LOO, BOUND = range(6)
trees = {}
for line in open(HERE + "/raw/extra_trees.jsonl"):
    record = json.loads(line)
    trees["dev/" + record["name"]] = record["r2"]


def mean(result, group, column):
    # A data set no method can predict must not decide the mean.
    values = [v[column] for n, v in result.items() if n.startswith(group) and v[column] is not None]
    # Some settings were tried on two of the eight sets: no mean of the eight.
    if group == "real" and len(values) < 8:
        return float("nan")
    return np.mean(np.maximum(values, -0.5)) if values else float("nan")


def kernel(settings):
    words = []
    for shape, space in settings["fams"]:
        words.append(shape + ("" if space == "raw" else "@" + space))
    return " + ".join(words)


print("Extra trees (200), dev: %.4f\n" % np.mean([max(v, -0.5) for v in trees.values()]))
for path in sorted(glob.glob(HERE + "/raw/run*.jsonl")):
    print("### " + os.path.basename(path)[:-6] + "\n")
    print("| name | kernel | other settings | dev task R² | syn task R² | dev coverage | dev LOO R² | eight sets LOO R² |")
    print("|---|---|---|---|---|---|---|---|")
    for line in open(path):
        record = json.loads(line)
        settings, result = record["set"], record["res"]
        other = ", ".join(f"{k} {v}" for k, v in settings.items() if k != "fams")
        cells = [("dev", TASK), ("syn", TASK), ("dev", COVERAGE), ("dev", LOO), ("real", LOO)]
        numbers = " | ".join("" if np.isnan(m := mean(result, g, c)) else "%.4f" % m for g, c in cells)
        print(f"| {record['cfg']} | {kernel(settings)} | {other} | {numbers} |")
    print()
