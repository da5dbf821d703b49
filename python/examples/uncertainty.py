"""Uncertainty, against a Gaussian process of scikit-learn.

Two targets, one smooth with little noise and one with a jump and much noise, each on its own scale. The Gaussian process
has one kernel and one noise level for both; the model here has one kernel and a noise level for each.

    python uncertainty.py [FOLDER FOR THE PICTURE]
"""

import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: E402
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel  # noqa: E402

from rffblr import RFFBLRRegressor, metrics  # noqa: E402


def draw(rows, rng):
    x = rng.uniform(-3, 3, size=(rows, 1))
    truth = np.column_stack([np.sin(2 * x[:, 0]), np.where(x[:, 0] > 0.5, 40.0, 0.0)])
    return x, truth + rng.normal(size=truth.shape) * [0.05, 8.0]


rng = np.random.default_rng(1)
x, Y = draw(120, rng)
gap = (x[:, 0] > -2) & (x[:, 0] < -1)  # nothing is known here
x, Y = x[~gap], Y[~gap]
new, truth = draw(2000, rng)

ours = RFFBLRRegressor().fit(x, Y)
kernel = ConstantKernel() * RBF() + WhiteKernel()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    process = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=3, random_state=0).fit(x, Y)

grid = np.linspace(-3, 3, 400).reshape(-1, 1)
figure, axes = plt.subplots(2, 2, figsize=(9, 5.4), sharex=True, sharey="row", layout="constrained")
for column, (name, model) in enumerate([("rffblr", ours), ("Gaussian process (scikit-learn)", process)]):
    mean, std = model.predict(new, return_std=True)
    print(f"{name}:")
    for c in range(2):
        print(
            f"  target {c + 1}: R² {metrics.r2_task(truth[:, c], mean[:, c]):.3f}, "
            f"negative log density {metrics.nlpd(truth[:, c], mean[:, c], std[:, c]):7.3f}, "
            f"inside 90 % intervals {metrics.coverage(truth[:, c], mean[:, c], std[:, c]):.0%}"
        )
    mean, std = model.predict(grid, return_std=True)
    for c in range(2):
        panel = axes[c, column]
        panel.fill_between(grid[:, 0], *(mean[:, c] + s * 1.645 * std[:, c] for s in (-1, 1)), alpha=0.25, lw=0)
        panel.plot(grid[:, 0], mean[:, c], lw=1.5)
        panel.plot(x[:, 0], Y[:, c], "k.", ms=3)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_ylabel(f"target {c + 1}")
    axes[0, column].set_title(name)
    axes[1, column].set_xlabel("input")
figure.suptitle("Mean and 90 % interval of an observation")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "uncertainty.png", dpi=120)
print(f"wrote {folder / 'uncertainty.png'}")
