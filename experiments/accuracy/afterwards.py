"""What could still be done to the predictions of a fitted model? All learned from leave-one-out predictions of training rows:

- own number: each target's predictions times a number;
- matrix: Breiman and Friedman's "curds and whey", the predictions of all targets times a matrix, by ridge regression towards the identity;
- degree 1 to 3: a polynomial of the prediction is added to it, by ridge regression;
- isotonic: a rising step function of the prediction instead of it;

and, with nothing learned, clipped: to the range of the training targets; half and quarter trees: mixed with 200 extra trees;
half isotropic: mixed with the setting named third.

python afterwards.py data.npz NAME ISOTROPIC PREDICTIONS.npz...: the data of prepare.py, two settings of explore.py, and the files it
saved their predictions in ("save" in its specification).
"""

import json
import sys

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.isotonic import IsotonicRegression


def standardise(table):
    mean, scale = table.mean(0), table.std(0)
    scale[scale < 1e-12 * np.maximum(1, np.abs(mean))] = 1
    return mean, scale


def task_r2(truth, predicted):
    total = ((truth - truth.mean(0)) ** 2).sum(0)
    left = ((truth - predicted) ** 2).sum(0)
    return (1 - left[total > 0] / total[total > 0]).mean()


def ridge(inputs, targets, towards, penalties):
    """The coefficients whose strength of the ridge has the least leave-one-out error, and that error."""
    best = (np.inf, None)
    for strength in len(inputs) * 10.0 ** np.arange(-3, 3.1, 0.5):
        pull = np.diag(strength * penalties)
        inverse = np.linalg.inv(inputs.T @ inputs + pull)
        found = inverse @ (inputs.T @ targets + pull @ towards)
        leverage = np.einsum("ij,jk,ik->i", inputs, inverse, inputs)
        error = (((targets - inputs @ found) / (1 - leverage)[:, None]) ** 2).sum()
        best = min(best, (error, found), key=lambda pair: pair[0])
    return best


def matrix(truth, left_out, predicted):
    tasks = truth.shape[1]
    return predicted @ ridge(left_out, truth, np.eye(tasks), np.ones(tasks))[1]


def polynomial(degree, truth, left_out, predicted):
    """For one target; nothing is added where leave-one-out says that nothing is gained."""
    scale = left_out.std() + 1e-12
    powers = lambda v: np.clip(v / scale, -3, 3)[:, None] ** np.arange(degree + 1)
    wrong = (truth - left_out)[:, None]
    penalties = np.r_[1e-3, np.ones(degree)]
    error, found = ridge(powers(left_out), wrong, np.zeros((degree + 1, 1)), penalties)
    return predicted + (powers(predicted) @ found)[:, 0] if error < (wrong**2).sum() else predicted


def isotonic(truth, left_out, predicted):
    return IsotonicRegression(out_of_bounds="clip").fit(left_out, truth).predict(predicted)


def each(curve, truth, left_out, predicted):
    return np.stack([curve(*columns) for columns in zip(truth.T, left_out.T, predicted.T)], 1)


def main(data, setting, isotropic, *files):
    tables, saved = np.load(data), {k: v for path in files for k, v in np.load(path).items()}
    folds = json.loads(str(tables["folds"]))
    scores = {}
    for i, name in enumerate(map(str, tables["names"])):
        group, X, Y = name.split("/")[0], tables[f"{i}_X"], tables[f"{i}_Y"]
        if group == "real":
            continue
        found = []
        for fold, test in enumerate(folds[i]):
            train = np.setdiff1d(np.arange(len(Y)), test)
            mean, scale = standardise(Y[train])
            truth, held_out = (Y[train] - mean) / scale, (Y[test] - mean) / scale
            of = lambda which, part: saved[f"{which}|{name}|{fold}|{part}"].astype(float)
            three = truth, of(setting, "loo"), of(setting, "mean")
            _, left_out, predicted = three
            own = (truth * left_out).sum(0) / ((left_out**2).sum(0) + 1e-12)
            forest = ExtraTreesRegressor(200, random_state=0, n_jobs=2).fit(X[train], np.squeeze(truth))
            trees = forest.predict(X[test]).reshape(predicted.shape)
            tried = {
                "as they are": predicted,
                "own number": predicted * np.clip(own, 0, 1.5),
                "matrix": matrix(*three),
                **{f"degree {d}": each(lambda *a: polynomial(d, *a), *three) for d in (1, 2, 3)},
                "isotonic": each(isotonic, *three),
                "clipped": np.clip(predicted, truth.min(0), truth.max(0)),
                "half trees": (predicted + trees) / 2,
                "quarter trees": (3 * predicted + trees) / 4,
                "half isotropic": (predicted + of(isotropic, "mean")) / 2,
            }
            found.append({k: task_r2(held_out, v) for k, v in tried.items()})
        rows = {k: max(np.mean([f[k] for f in found]), -0.5) for k in found[0]}
        scores.setdefault(group, []).append(rows)
    for group, rows in scores.items():
        print(group, {k: round(float(np.mean([r[k] for r in rows])), 4) for k in rows[0]})


main(*sys.argv[1:])
