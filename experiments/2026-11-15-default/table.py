"""Prints the tables of README.md from raw/."""
import json, os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SETS = ["atp1d", "atp7d", "oes97", "oes10", "edm", "jura", "wq", "enb"]
# Printed in the paper's Table 2 for RFF-BLR: pooled R².
PAPER = dict(zip(SETS, [0.83, 0.74, 0.83, 0.83, 0.49, 0.85, 0.21, 0.96]))
raw = {name: json.load(open(f"{HERE}/raw/{name}.json"))["methods"] for name in SETS}
trees = json.load(open(HERE + "/raw/extra_trees.json"))
METHODS = ["rffblr", "rffblr-sparse", "gp", "ridge"]


def row(label, values, digits=3):
    print(f"| {label} | " + " | ".join(f"{v:.{digits}f}" for v in values) + f" | {np.mean(values):.{digits}f} |")


def block(title, key, digits=3):
    print(f"\n**{title}**\n\n| | " + " | ".join(SETS) + " | mean |\n|---|" + "---|" * (len(SETS) + 1))
    for method in METHODS:
        values = [raw[s][method][key]["mean"] for s in SETS]
        if all(v is not None for v in values):
            row(method, values, digits)
    if key in ("task_r2", "pooled_r2"):
        row("extra trees (200)", [trees[s][key] for s in SETS], digits)
    if key == "pooled_r2":
        row("printed in the paper", [PAPER[s] for s in SETS], digits)


block("Task R²", "task_r2")
block("Pooled R²", "pooled_r2")
block("Negative log predictive density (original units; differences count)", "nlpd")
block("90 % intervals hold", "coverage90")
block("Terms of the function", "active_features", 0)
block("Fit seconds, one thread, two fits at a time", "fit_seconds", 2)
better = sum(raw[s]["rffblr"]["nlpd"]["mean"] < raw[s]["gp"]["nlpd"]["mean"] for s in SETS)
paper = [s for s in SETS if raw[s]["rffblr"]["pooled_r2"]["mean"] >= PAPER[s]]
print(f"\nDensity better than the Gaussian process on {better} of 8. Pooled R² at or above the paper's on {len(paper)} of 8 ({', '.join(paper)}).")
