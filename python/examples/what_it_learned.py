"""What the model learned: relevance by input and target, the function along an input, the steps of the fit, sinusoids.

    python what_it_learned.py [FOLDER FOR THE PICTURE]
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from sklearn.inspection import partial_dependence  # noqa: E402

from rffblr import RFFBLRRegressor, Sinusoids  # noqa: E402

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
relevance.plot.barh(ax=axes[0, 0], width=0.8, xerr=model.relevance_std_.T, error_kw={"linewidth": 0.8})
axes[0, 0].invert_yaxis()
axes[0, 0].set(title="Relevance: share of variance", xlabel="")
axes[0, 0].legend(frameon=False)

along = partial_dependence(model, X.fillna({"weight": 0.0}), ["dose"])
for name, curve in zip(model.target_names_, along["average"]):
    axes[0, 1].plot(along["grid_values"][0], curve, label=name)
axes[0, 1].plot(X["dose"], np.full(rows, axes[0, 1].get_ylim()[0]), "k|", ms=6, alpha=0.3)
axes[0, 1].set(title="Mean prediction along dose", xlabel="dose")
axes[0, 1].legend(frameon=False)

axes[1, 0].plot(np.arange(1, model.n_iter_ + 1), model.trace_.objective, "o-", ms=3)
axes[1, 0].set(title=f"Bound: {'converged' if model.converged_ else 'stopped'}", xlabel="step", ylabel="nats")

few = RFFBLRRegressor(form=Sinusoids(sparsity=0.9)).fit(X, Y)
print(few.sinusoids_[["phase", "frequency[age]", "frequency[dose]", "weight[glucose]"]].head(3).round(3).to_string())
print(f"{few.n_active_} sinusoids, R² {few.score(X, Y):.3f} against {model.score(X, Y):.3f} of the kernel machine")
for name, exact, formula in zip(model.target_names_, model.predict(X).T, few.predict(X).T):
    axes[1, 1].plot(exact, formula, ".", ms=4, label=name)
axes[1, 1].axline((0, 0), slope=1, color="k", lw=0.8)
axes[1, 1].set(title="As a formula", xlabel="kernel machine", ylabel=f"{few.n_active_} sinusoids")
axes[1, 1].legend(frameon=False)
for panel in axes.flat:
    panel.spines[["top", "right"]].set_visible(False)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "what_it_learned.png", dpi=120)
print(f"wrote {folder / 'what_it_learned.png'}")
