"""Scores of scikit-learn's ExtraTreesRegressor(200) on the same folds: python extra_trees.py DATASETS FOLDS > raw/extra_trees.json"""
import json, sys
import numpy as np, sklearn
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.metrics import r2_score

TARGETS = {"atp1d": 6, "atp7d": 6, "oes97": 16, "oes10": 16, "edm": 2, "jura": 3, "wq": 14, "enb": 2}
out = {"version": sklearn.__version__}
for name, count in TARGETS.items():
    text = open(f"{sys.argv[1]}/{name}.arff").read()
    lines = text[text.lower().index("@data") + 5 :].strip().split("\n")
    table = np.array([[float(v) for v in line.split(",")] for line in lines if line.strip() and line[0] != "%"])
    folds = []
    for test in json.load(open(f"{sys.argv[2]}/{name}.json")):
        train = np.delete(table, test, axis=0)
        model = ExtraTreesRegressor(200, random_state=0, n_jobs=2).fit(train[:, :-count], train[:, -count:])
        found, truth = model.predict(table[test][:, :-count]), table[test][:, -count:]
        folds.append((r2_score(truth, found), r2_score(truth.ravel(), found.ravel())))
    out[name] = {"task_r2": float(np.mean(folds, 0)[0]), "pooled_r2": float(np.mean(folds, 0)[1])}
    print(name, out[name], file=sys.stderr)
print(json.dumps(out, indent=1))
