"""Quick start: fit, predict with uncertainty, check without cross-validation, save.

Needs nothing but the package. Run it from any folder: python quick_start.py
"""

import tempfile
from pathlib import Path

import numpy as np

from rffblr import RFFBLRRegressor, metrics

# 120 rows of 5 inputs, two targets on scales a thousand times apart, the second known for a part of the rows.
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(160, 5))
smooth = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
Y = np.column_stack([smooth, 1000 * (smooth + X[:, 2])]) + rng.normal(size=(160, 2)) * [0.1, 200]
train, test = slice(0, 120), slice(120, None)
learn = Y[train].copy()
learn[::3, 1] = np.nan

model = RFFBLRRegressor().fit(X[train], learn)
mean, std = model.predict(X[test], return_std=True)
lower, upper = model.predict_interval(X[test], coverage=0.9)

print(f"R² on rows it has not seen:   {model.score(X[test], Y[test]):.3f}")
print(f"the same by leaving one out:  {metrics.r2_task(learn, model.loo_predict()):.3f}")
print(f"noise it found (0.1 and 200): {model.noise_std_[0]:.2f} and {model.noise_std_[1]:.0f}")
print(f"inside the 90 % intervals:    {np.mean((lower <= Y[test]) & (Y[test] <= upper)):.0%}")
print("relevance of each input for each target:")
for name, shares in zip(model.model_.input_names, model.relevance_):
    print(f"  {name}  {shares[0]:.2f}  {shares[1]:.2f}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.json"
    model.save(path)  # also for `rffblr predict` and `rffblr inspect` in a shell
    again = RFFBLRRegressor.load(path)
    assert np.array_equal(again.predict(X[test]), mean)
    print(f"saved and loaded: the same bits from {path.stat().st_size / 1000:.0f} kB")
