"""Methods of scikit-learn on the same files; appends the same JSON lines to raw/results.jsonl as run.py.

    python peers.py [--methods boosting,trees,nystroem] [--cases synthetic-1e3,diamonds]

Each runs in a process of its own, whose peak memory is reported. Seconds of the fit include reading and encoding the
training table, not the start of Python.
"""

import json
import pathlib
import sys
import tempfile
import time

import common

BOOSTING_ROUNDS = 300
TREES, TREES_ROWS = 200, 100_000
LANDMARKS, ALPHA_ROWS, BLOCK = 2048, 5_000, 20_000
ABOUT = {
    "boosting": f"HistGradientBoostingRegressor(max_iter={BOOSTING_ROUNDS}), one for each target, texts as categories",
    "trees": f"ExtraTreesRegressor({TREES}) on at most {TREES_ROWS} rows, texts as codes",
    "nystroem": f"Nystroem({LANDMARKS}), then ridge; RidgeCV chooses alpha on {ALPHA_ROWS} rows; one-hot, standardised",
}


def boosting(inputs, targets, threads: int):
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingRegressor

    # Texts are categories, of which scikit-learn takes those of the training rows and treats others as missing.
    texts = [name for name in inputs if inputs[name].dtype.kind not in "iuf"]
    levels = {name: inputs[name].astype("category").dtype for name in texts}
    inputs = inputs.astype(levels)
    settings = {"max_iter": BOOSTING_ROUNDS, "categorical_features": "from_dtype", "random_state": 0}
    models = [HistGradientBoostingRegressor(**settings).fit(inputs, targets[name]) for name in targets]
    return lambda new: np.column_stack([model.predict(new.astype(levels)) for model in models])


def trees(inputs, targets, threads: int):
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    if len(inputs) > TREES_ROWS:
        inputs = inputs.sample(TREES_ROWS, random_state=0)
        targets = targets.loc[inputs.index]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encode = make_column_transformer((codes, make_column_selector(dtype_exclude="number")), remainder="passthrough")
    forest = ExtraTreesRegressor(TREES, random_state=0, n_jobs=threads)
    return make_pipeline(encode, forest).fit(inputs, targets).predict


def nystroem(inputs, targets, threads: int):
    """Ridge on all rows needs the moments of the features only; all features at once would be 16 GB for 10⁶ rows."""
    import numpy as np
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    one_hot = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    encode = make_column_transformer((one_hot, make_column_selector(dtype_exclude="number")), remainder="passthrough")
    encode = make_pipeline(encode, StandardScaler()).fit(inputs)
    sample = inputs.sample(min(len(inputs), ALPHA_ROWS), random_state=0)
    map_ = Nystroem(n_components=min(LANDMARKS, len(inputs)), random_state=0).fit(encode.transform(sample))
    features = lambda rows: map_.transform(encode.transform(rows))

    centre, scale = targets.mean().to_numpy(), targets.std().to_numpy()
    y = (targets.to_numpy() - centre) / scale
    positions = inputs.index.get_indexer(sample.index)
    search = RidgeCV(alphas=np.logspace(-4, 3, 15), alpha_per_target=True).fit(features(sample), y[positions])
    size = map_.n_components
    gram, moments, sums = np.zeros((size, size)), np.zeros((size, y.shape[1])), np.zeros(size)
    for start in range(0, len(inputs), BLOCK):
        block = features(inputs.iloc[start : start + BLOCK])
        gram += block.T @ block
        moments += block.T @ y[start : start + BLOCK]
        sums += block.sum(axis=0)
    mean = sums / len(inputs)
    gram -= np.outer(mean, sums)
    moments -= np.outer(mean, y.sum(axis=0))
    solve = lambda c, alpha: np.linalg.solve(gram + alpha * np.eye(size), moments[:, c])
    weights = np.column_stack([solve(c, alpha) for c, alpha in enumerate(search.alpha_)])
    return lambda new: centre + scale * ((features(new) - mean) @ weights)


METHODS = {"boosting": boosting, "trees": trees, "nystroem": nystroem}


def one(name: str, method: str, threads: int, report: str) -> None:
    """Fits and scores one method on one case in this process."""
    import pandas as pd
    import sklearn.ensemble, sklearn.kernel_approximation  # noqa: F401  not part of the seconds

    case = common.cases(name)[0]
    start = time.perf_counter(), time.process_time()
    table = pd.read_parquet(common.TABLES / case["train"])
    predict = METHODS[method](table.drop(columns=case["targets"]), table[case["targets"]], threads)
    fitted = time.perf_counter(), time.process_time()
    test = pd.read_parquet(common.TABLES / case["test"])
    mean = predict(test.drop(columns=case["targets"]))
    done = time.perf_counter()
    used = min(case["rows"], TREES_ROWS) if method == "trees" else case["rows"]
    pathlib.Path(report).write_text(json.dumps({
        "rows_used": used,
        "fit_seconds": round(fitted[0] - start[0], 3),
        "fit_cpu_seconds": round(fitted[1] - start[1], 3),
        "predict_seconds": round(done - fitted[0], 3),
        **common.scores(test[case["targets"]], mean),
    }))


def run(case: dict, method: str, threads: int, limit: int) -> dict:
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        line = [sys.executable, __file__, "--one", method, "--cases", case["name"], "--threads", threads]
        usage, told = common.measured([*line, "--report", report.name], limit, threads)
        return json.load(open(report.name)) | {"peak_mb": usage["peak_mb"], "told": told}


def main() -> None:
    import sklearn

    parser = common.parser(__doc__.splitlines()[0])
    parser.add_argument("--methods", default=",".join(METHODS), help="[%(default)s]")
    parser.add_argument("--one", help="run this method here, as the processes do that this program starts")
    parser.add_argument("--report", help="where --one writes what it measured")
    options = parser.parse_args()
    if options.one:
        return one(options.cases, options.one, options.threads, options.report)
    results = common.Results(options)
    for case in common.cases(options.cases):
        for method in options.methods.split(","):
            work = lambda: run(case, method, options.threads, options.limit)
            results.add(case, method, [], f"scikit-learn {sklearn.__version__}", work)


if __name__ == "__main__":
    main()
