"""Default fits beside scikit-learn's extra trees, in one run, interleaved.

python crates/rffblr-cli/benches/trees.py DATASETS FOLDS [--rffblr target/release/rffblr] [--rounds 3]
DATASETS holds NAME.arff, FOLDS NAME.json. Each fits the training rows of the first fold: rffblr with two threads (its own
seconds, reading excluded), ExtraTreesRegressor(200) with one. Prints the best of the rounds and their ratio.
"""
import argparse, json, re, subprocess, tempfile, time
from pathlib import Path
import numpy as np, sklearn
from sklearn.ensemble import ExtraTreesRegressor

TARGETS = {"atp1d": 6, "atp7d": 6, "oes97": 16, "oes10": 16, "edm": 2, "jura": 3, "wq": 14, "enb": 2}
options = argparse.ArgumentParser()
options.add_argument("datasets", type=Path)
options.add_argument("folds", type=Path)
options.add_argument("--rffblr", default="target/release/rffblr")
options.add_argument("--rounds", type=int, default=3)
options = options.parse_args()


def rffblr(table, count, folder, *flags):
    line = [options.rffblr, "fit", table, "--targets", f"last:{count}", "--threads=2", "--force", "-o", folder + "/m.json", *flags]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stderr
    return float(re.search(r"steps, ([0-9.]+) s", told).group(1))


def trees(inputs, targets):
    start = time.perf_counter()
    ExtraTreesRegressor(200, random_state=0, n_jobs=1).fit(inputs, targets)
    return time.perf_counter() - start


print(f"scikit-learn {sklearn.__version__}, best of {options.rounds} rounds, seconds\n")
print("| data set | rows | inputs | targets | rffblr | rffblr --sparsity 0.75 | extra trees | rffblr / trees |")
print("|---|---|---|---|---|---|---|---|")
for name, count in TARGETS.items():
    text = (options.datasets / f"{name}.arff").read_text()
    lines = text[text.lower().index("@data") + 5 :].strip().split("\n")
    table = np.array([[float(v) for v in line.split(",")] for line in lines if line.strip() and line[0] != "%"])
    test = json.loads((options.folds / f"{name}.json").read_text())[0]
    train = np.delete(table, test, axis=0)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/train.csv"
        header = ",".join(f"c{i}" for i in range(train.shape[1]))
        np.savetxt(path, train, delimiter=",", header=header, comments="", fmt="%.17g")
        times = []
        for _ in range(options.rounds):
            sparse = rffblr(path, count, folder, "--sparsity=0.75")
            times.append((rffblr(path, count, folder), sparse, trees(train[:, :-count], train[:, -count:])))
    ours, sparse, theirs = np.min(times, axis=0)
    inputs = train.shape[1] - count
    print(f"| {name} | {len(train)} | {inputs} | {count} | {ours:.2f} | {sparse:.2f} | {theirs:.2f} | {ours / theirs:.2f} |", flush=True)
