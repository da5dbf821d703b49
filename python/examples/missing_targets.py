"""Missing target cells: used, not dropped.

A costly measurement is known for few rows, a cheap one that goes with it for all. Rows without the costly one still tell
where the function bends, because both targets share the kernel.

    python missing_targets.py [FOLDER FOR THE PICTURE]
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from rffblr import RFFBLRRegressor, metrics  # noqa: E402


def function(X):
    return np.sin(3 * X[:, 0]) + 0.5 * np.abs(X[:, 1])


shares = [1.0, 0.5, 0.25, 0.125]
found = {"with the cheap target beside it": [], "rows with gaps dropped": []}
for share in shares:
    scores = {name: [] for name in found}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, size=(500, 8))
        truth = function(X)
        cheap = truth + 0.15 * rng.normal(size=500)
        costly = 10 * truth + 1.5 * rng.normal(size=500)
        known = np.arange(200) < 200 * share
        Y = np.column_stack([np.where(known, costly[:200], np.nan), cheap[:200]])
        both = RFFBLRRegressor().fit(X[:200], Y)
        alone = RFFBLRRegressor().fit(X[:200][known], costly[:200][known])
        scores["with the cheap target beside it"].append(metrics.r2_task(costly[200:], both.predict(X[200:])[:, 0]))
        scores["rows with gaps dropped"].append(metrics.r2_task(costly[200:], alone.predict(X[200:])))
    for name, values in scores.items():
        found[name].append(np.mean(values))
    print(f"known {share:5.0%}: " + ", ".join(f"{name} {values[-1]:.3f}" for name, values in found.items()))

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for (name, values), style in zip(found.items(), ["o-", "s--"]):
    axes.plot([f"{share:.0%}" for share in shares], values, style, label=name)
axes.set(xlabel="rows of 200 in which the costly target is known", ylabel="R² on new rows, mean of 8 draws")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "missing_targets.png", dpi=120)
print(f"wrote {folder / 'missing_targets.png'}")
