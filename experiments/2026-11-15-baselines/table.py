"""Prints the tables of README.md from raw/NAME.METHOD.json (outputs of `rffblr evaluate --json`)."""
import glob, json, os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SETS = ["atp1d", "atp7d", "oes97", "oes10", "edm", "jura", "wq", "enb"]
METHODS = ["hi-vae", "fnn", "mtfl", "mmr", "gor-elm", "sb-elm"]
found = {}
for path in glob.glob(HERE + "/raw/*.json"):
    data, method = os.path.basename(path)[:-5].split(".")
    found[data, method] = json.load(open(path))["methods"][method]


def block(title, cell):
    print(f"\n**{title}**\n\n| | " + " | ".join(METHODS) + " |\n|---|" + "---|" * len(METHODS))
    for data in SETS:
        cells = [cell(found[data, m]) if (data, m) in found else "" for m in METHODS]
        if any(cells):
            print(f"| {data} | " + " | ".join(cells) + " |")


block("Task R², mean ± sd of ten folds", lambda r: f"{r['task_r2']['mean']:.3f} ± {r['task_r2']['sd']:.3f}")
block("Pooled R²", lambda r: f"{r['pooled_r2']['mean']:.3f}")
block(
    "Cost of the cell: core seconds of ten fits with their selection, and of their predictions",
    lambda r: f"{sum(f['fit_seconds'] + f['predict_seconds'] for f in r['folds']):.0f}",
)

print("\n**Cells not run: what `evaluate` itself estimates after its first inner folds, two cores** (`raw/estimates.txt`)\n")
print("| cell | estimate |\n|---|---|")
for line in open(HERE + "/raw/estimates.txt"):
    data, method, rest = line.strip().split(" ", 2)
    print(f"| {data} {method} | {rest.split('will take about ')[1].split(' more')[0]} |")
