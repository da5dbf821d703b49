"""What Python costs: a fit here against the same fit by the compiled part, predictions against the formula in numpy.

Both of a pair run in turn, in this one process, on one thread each. Times are those of the processor, since a machine is
rarely alone with a benchmark; the shortest of each is taken.
    python benches/overhead.py [--rows 1000] [--new 100000] [--repeat 5]
"""

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json  # noqa: E402

import numpy as np  # noqa: E402

from rffblr import Cosines, RFFBLRRegressor, _rffblr  # noqa: E402


def data(rows, inputs=8, targets=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, inputs))
    Y = np.column_stack([np.sin(X[:, c]) + X[:, c + 1] for c in range(targets)])
    return X, Y + 0.3 * rng.normal(size=Y.shape)


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def shortest(repeat, *works):
    """The shortest time of each piece of work, run in turn."""
    return np.min([[seconds(work) for work in works] for _ in range(repeat)], axis=0)


def fit_ratio(rows, repeat, **settings):
    """Seconds of a fit from Python, and of the same fit by the compiled part alone."""
    X, Y = data(rows)
    model = RFFBLRRegressor(**settings)
    given = model._read_training(X, Y, None)
    settings = model._settings()
    compiled = lambda: _rffblr.fit(given, model.preset, settings, 1, None)  # noqa: E731
    return tuple(shortest(repeat, lambda: model.fit(X, Y), compiled))


def cosines_in_numpy(model):
    """The function of the paper's cosines as a function of numpy arrays."""
    parts, (inputs, slope, _) = model.model_.sinusoids(), model.model_.links()
    frequency, phase, weight = parts["frequency"].T.copy(), parts["phase"], parts["weight"]
    lines = np.zeros((len(frequency), weight.shape[1]))
    lines[inputs] = slope
    origin = np.zeros((1, len(frequency)))
    bias = model.predict(origin)[0] - np.cos(phase) @ weight

    def function(X):
        angle = X @ frequency
        angle += phase
        np.cos(angle, out=angle)
        return angle @ weight + X @ lines + bias

    return function


def machine_in_numpy(model):
    """The function of a kernel machine as a function of numpy arrays, a block of rows at a time."""
    file = json.loads(model.model_.to_json())
    machine = file["function"]["kernel"]

    def table(entry):
        return np.reshape(entry["values"], (entry["columns"], entry["rows"])).T

    rows = table(machine["rows"])
    groups = [(group["tasks"], group["kernel"], table(group["coefficients"])) for group in machine["groups"]]
    mean, scale = np.asarray(file["inputs"]["mean"]), np.asarray(file["inputs"]["scale"])
    shift, unit = np.asarray(file["targets"]["mean"]), np.asarray(file["targets"]["scale"])

    def squares(A, B):
        return np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T, 0)

    def kappa(kernel, Z):
        relevance = np.asarray(kernel["input_scales"])
        out = 1 + kernel["linear"] / Z.shape[1] * (Z @ rows.T)
        out += kernel["rbf"]["variance"] * np.exp(-kernel["rbf"]["bandwidth"] * squares(Z, rows))
        absolute = np.zeros_like(out)
        for d, r in enumerate(relevance):
            absolute += r * np.abs(Z[:, d, None] - rows[:, d])
        return out + kernel["laplace_l1"]["variance"] * np.exp(-kernel["laplace_l1"]["bandwidth"] * absolute)

    def function(X):
        out = np.empty((len(X), len(unit)))
        for start in range(0, len(X), 2000):
            Z = (X[start : start + 2000] - mean) / scale
            for tasks, kernel, beta in groups:
                out[start : start + 2000, tasks] = shift[tasks] + unit[tasks] * (kappa(kernel, Z) @ beta)
        return out

    return function


def predict_ratio(new, repeat, in_numpy, rows, **settings):
    """Seconds of predicting many rows here and by the formula, which must agree."""
    model = RFFBLRRegressor(**settings).fit(*data(rows))
    function = in_numpy(model)
    X, _ = data(new, seed=1)
    np.testing.assert_allclose(model.predict(X[:500]), function(X[:500]), rtol=1e-6, atol=1e-6)
    return tuple(shortest(repeat, lambda: model.predict(X), lambda: function(X)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--new", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    for name, settings in [("kernel machine", {}), ("paper", {"preset": "paper"})]:
        here, library = fit_ratio(asked.rows, asked.repeat, **settings)
        print(f"fit, {name}, {asked.rows} rows: {here:.3f} s from Python, {library:.3f} s inside: {here / library:.3f}")
    cases = [
        ("kernel machine of 200 rows", machine_in_numpy, 200, {}),
        ("400 cosines", cosines_in_numpy, 200, {"form": Cosines(pruning="never")}),
    ]
    for name, in_numpy, rows, settings in cases:
        here, formula = predict_ratio(asked.new, asked.repeat, in_numpy, rows, **settings)
        print(f"predict, {name}, {asked.new} rows: {here:.3f} s here, {formula:.3f} s in numpy: {here / formula:.3f}")


if __name__ == "__main__":
    main()
