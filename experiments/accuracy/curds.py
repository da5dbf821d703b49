"""Can targets help each other once more, after the fit? Breiman and Friedman's "curds and whey": the predictions of all targets
are multiplied by a matrix, learned by ridge regression towards the identity of the targets on their leave-one-out predictions.

python curds.py data.npz PREDICTIONS.npz NAME: the data of prepare.py, what explore.py saved ("save" in its specification), and
which of its settings. Beside it: each target's predictions times a number of its own.
"""

import json
import sys

import numpy as np


def standardise(table):
    mean, scale = table.mean(0), table.std(0)
    scale[scale < 1e-12 * np.maximum(1, np.abs(mean))] = 1
    return mean, scale


def task_r2(truth, predicted):
    total = ((truth - truth.mean(0)) ** 2).sum(0)
    left = ((truth - predicted) ** 2).sum(0)
    return (1 - left[total > 0] / total[total > 0]).mean()


def matrix(truth, left_out):
    """The strength of the ridge is chosen by its own leave-one-out error."""
    best = (np.inf, None)
    for strength in len(truth) * 10.0 ** np.arange(-3, 3.1, 0.5):
        unit = np.eye(truth.shape[1])
        inverse = np.linalg.inv(left_out.T @ left_out + strength * unit)
        found = inverse @ (left_out.T @ truth + strength * unit)
        leverage = np.einsum("ij,jk,ik->i", left_out, inverse, left_out)
        error = (((truth - left_out @ found) / (1 - leverage)[:, None]) ** 2).sum()
        best = min(best, (error, found), key=lambda pair: pair[0])
    return best[1]


def main(data, predictions, setting):
    tables, saved = np.load(data), np.load(predictions)
    folds = json.loads(str(tables["folds"]))
    scores = {}
    for i, name in enumerate(map(str, tables["names"])):
        group, Y = name.split("/")[0], tables[f"{i}_Y"]
        if group == "real":
            continue
        found = []
        for fold, test in enumerate(folds[i]):
            train = np.setdiff1d(np.arange(len(Y)), test)
            mean, scale = standardise(Y[train])
            truth, held_out = (Y[train] - mean) / scale, (Y[test] - mean) / scale
            left_out, predicted = (saved[f"{setting}|{name}|{fold}|{k}"].astype(float) for k in ("loo", "mean"))
            own = (truth * left_out).sum(0) / ((left_out**2).sum(0) + 1e-12)
            tried = [predicted, predicted * np.clip(own, 0, 1.5), predicted @ matrix(truth, left_out)]
            found.append([task_r2(held_out, p) for p in tried])
        scores.setdefault(group, []).append(np.maximum(np.mean(found, axis=0), -0.5))
    for group, rows in scores.items():
        print(group, dict(zip(["as they are", "own number", "matrix"], np.mean(rows, axis=0).round(4).tolist())))


main(*sys.argv[1:])
