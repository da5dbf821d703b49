"""What the model learned: relevance by input and target, the function along an input, the climb of the bound, sinusoids.

    python what_it_learned.py [FOLDER FOR THE PICTURE]
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from sklearn.inspection import PartialDependenceDisplay  # noqa: E402

from rffblr import RFFBLRRegressor  # noqa: E402

rng = np.random.default_rng(0)
rows = 240
X = pd.DataFrame(rng.uniform(-2, 2, size=(rows, 4)), columns=["age", "weight", "dose", "idle"])
X["site"] = rng.choice(["north", "south", "west"], rows)
X.loc[::12, "weight"] = np.nan
effect = 1.5 * (X["site"] == "west")
Y = pd.DataFrame(
    {
        "glucose": np.sin(2 * X["age"]) + X["dose"] ** 2 / 2 + effect,
        "pressure": X["weight"].fillna(0) + 0.5 * np.abs(X["dose"]),
    }
)
Y += 0.2 * rng.normal(size=Y.shape)

model = RFFBLRRegressor().fit(X, Y)
for note in model.notes_:
    print("note:", note)
relevance = pd.DataFrame(model.relevance_, index=model.feature_names_in_, columns=model.target_names_)
print(relevance.round(2).to_string())

figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
relevance.plot.barh(ax=axes[0, 0], width=0.8)
axes[0, 0].invert_yaxis()
axes[0, 0].set(title="Relevance: share of variance", xlabel="")
axes[0, 0].legend(frameon=False)

for c, name in enumerate(model.target_names_):
    shown = PartialDependenceDisplay.from_estimator(
        model, X.fillna({"weight": 0.0}), ["dose"], target=c, ax=axes[0, 1] if c == 0 else shown.axes_,  # noqa: F821
        line_kw={"label": name},
    )
figure_axes = shown.axes_[0, 0]
figure_axes.set(title="Mean prediction along dose", ylabel="")
figure_axes.legend(frameon=False)

axes[1, 0].plot(np.arange(1, model.n_iter_ + 1), model.trace_.bound, "o-", ms=3)
axes[1, 0].set(title=f"Bound: {'converged' if model.converged_ else 'stopped'}", xlabel="step", ylabel="nats")

few = RFFBLRRegressor(sparsity=0.9).fit(X, Y)
waves = few.sinusoids_
size = waves[[f"weight[{name}]" for name in few.target_names_]].abs().max(axis=1)
print(f"{few.n_active_} sinusoids, R² {few.score(X, Y):.3f} against {model.score(X, Y):.3f} of the kernel machine")
axes[1, 1].scatter(waves["frequency[age]"].abs(), waves["frequency[dose]"].abs(), 200 * size / size.max(), alpha=0.6)
axes[1, 1].set(title="Its sinusoids, by size of their weight", xlabel="frequency along age", ylabel="along dose")
for panel in [axes[0, 0], figure_axes, axes[1, 0], axes[1, 1]]:
    panel.spines[["top", "right"]].set_visible(False)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "what_it_learned.png", dpi=120)
print(f"wrote {folder / 'what_it_learned.png'}")
