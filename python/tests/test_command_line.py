"""The same model file and the same numbers as the command line, bit for bit."""

import json

import numpy as np
import pytest
from conftest import smooth
from sklearn.metrics import r2_score

from rffblr import Cosines, Drawn, RFFBLRRegressor, Sinusoids, metrics

pd = pytest.importorskip("pandas")


def survey(rows=90, seed=0):
    """A table with numbers, text, gaps in an input and gaps in a target."""
    rng = np.random.default_rng(seed)
    X, Y = smooth(rows, seed=seed)
    frame = pd.DataFrame(X, columns=["east", "north", "depth, m"])
    frame["land"] = rng.choice(["forest", "meadow", "crop"], rows)
    frame.loc[frame.index % 11 == 3, "depth, m"] = np.nan
    frame.loc[frame.index % 17 == 5, "land"] = None
    targets = pd.DataFrame(Y, columns=["zinc", "lead"]) + (frame["land"] == "crop").to_numpy()[:, None]
    targets.loc[targets.index % 7 == 2, "lead"] = np.nan
    return frame, targets


def numbers(text):
    """The table a command printed, with every digit."""
    lines = [line.split(",") for line in text.splitlines()]
    return np.array([[float(cell) for cell in line] for line in lines[1:]]), lines[0]


# Settings here, and the flags that mean the same.
FORMS = [
    ({}, []),
    ({"form": Sinusoids(sparsity=0.75)}, ["--sparsity=0.75"]),
    ({"preset": "paper"}, ["--preset=paper"]),
    (
        {"form": Drawn(features=60), "max_iterations": 1000, "random_state": 5},
        ["--preset=cosines", "--features=60", "--max-iterations=1000", "--seed=5"],
    ),
]


@pytest.mark.parametrize("settings, flags", FORMS)
def test_a_model_fitted_here_predicts_the_same_from_the_shell(command, settings, flags):
    X, Y = survey()
    model = RFFBLRRegressor(**settings).fit(X, Y)
    model.save(command.folder / "model.json")
    new, _ = survey(rows=40, seed=1)
    new.to_csv(command.folder / "new.csv", index=False)
    shell, names = numbers(command("predict", "model.json", "new.csv", "-q"))
    here = model.predict_frame(new)
    assert names == list(here.columns)
    assert np.array_equal(shell, here.to_numpy())
    assert "computes what it stored" in command("verify", "model.json")


@pytest.mark.filterwarnings("ignore:Intervals of")
@pytest.mark.parametrize("settings, flags", FORMS)
def test_a_model_fitted_in_the_shell_predicts_the_same_here(command, settings, flags):
    X, Y = survey()
    pd.concat([X, Y], axis=1).to_csv(command.folder / "survey.csv", index=False)
    command("fit", "survey.csv", "--targets", "zinc,lead", "-o", "model.json", "-q", *flags)
    loaded = RFFBLRRegressor.load(command.folder / "model.json")
    new, _ = survey(rows=40, seed=1)
    new.to_csv(command.folder / "new.csv", index=False)
    shell, _ = numbers(command("predict", "model.json", "new.csv", "-q"))
    assert np.array_equal(shell, loaded.predict_frame(new).to_numpy())
    # And the same fit and check, here, give the same model: only the name of the writer could differ.
    here = RFFBLRRegressor(**settings).fit(X, Y)
    here.check(X, Y)
    assert here.model_.to_json() == (command.folder / "model.json").read_text()


def test_arrays_with_gaps_and_constant_columns(command):
    X, Y = smooth()
    X = np.column_stack([np.ones(80), X])
    X[4, 2] = np.nan
    model = RFFBLRRegressor().fit(X, Y)
    model.save(command.folder / "model.json")
    loaded = RFFBLRRegressor.load(command.folder / "model.json")
    assert np.array_equal(loaded.predict(X), model.predict(X)) and loaded.n_features_in_ == 4
    pd.DataFrame(X, columns=["x1", "x2", "x3", "x4"]).to_csv(command.folder / "new.csv", index=False)
    shell, _ = numbers(command("predict", "model.json", "new.csv", "-q"))
    assert np.array_equal(shell, model.predict_frame(X).to_numpy())


def test_settings_come_back_from_a_file(tmp_path):
    X, Y = smooth()
    settings = {"form": Cosines(features=40, bandwidth=0.25, links=True), "random_state": 7}
    model = RFFBLRRegressor(**settings).fit(X, Y)
    model.save(tmp_path / "model.json")
    loaded = RFFBLRRegressor.load(tmp_path / "model.json")
    again = RFFBLRRegressor(**loaded.get_params(deep=False)).fit(X, Y)
    assert again.model_.to_json() == model.model_.to_json()
    assert (loaded.objective_, loaded.n_iter_, loaded.n_active_) == (model.objective_, model.n_iter_, model.n_active_)
    with pytest.raises(ValueError, match="fit the model again"):
        loaded.loo_predict()


def check_cell(command, table, targets, folds, name):
    """The scores of fold 0 as the command prints them, against scikit-learn's of predictions made here."""
    found = json.loads(command("evaluate", name, "--fold-file", "folds.json", "--json", "-q", "--methods=rffblr", "--transform=none", *targets))
    names = found["targets"]
    X, Y = table.drop(columns=names), table[names]
    test = np.asarray(folds[0])
    train = np.setdiff1d(np.arange(len(table)), test)
    model = RFFBLRRegressor(target_transform="none").fit(X.iloc[train], Y.iloc[train])
    mean, std = model.predict(X.iloc[test], return_std=True)
    truth = Y.iloc[test].to_numpy()
    scores = found["methods"]["rffblr"]["folds"][0]
    assert scores["task_r2"] == pytest.approx(r2_score(truth, mean, multioutput="uniform_average"), abs=1e-12)
    assert scores["pooled_r2"] == pytest.approx(r2_score(truth.ravel(), mean.ravel()), abs=1e-12)
    assert scores["nlpd"] == pytest.approx(metrics.nlpd(truth, mean, std), abs=1e-12)


def test_scores_of_a_cell_agree_with_scikit_learn(command):
    X, Y = smooth(rows=60)
    table = pd.DataFrame(np.column_stack([X, Y]), columns=["a", "b", "c", "t1", "t2"])
    table.to_csv(command.folder / "data.csv", index=False)
    folds = [list(range(0, 60, 3)), list(range(1, 60, 3)), list(range(2, 60, 3))]
    (command.folder / "folds.json").write_text(json.dumps(folds))
    check_cell(command, table, ["--targets=t1,t2"], folds, "data.csv")


@pytest.mark.parametrize("name, targets", [("jura", 3)])
def test_scores_of_a_real_cell_agree_with_scikit_learn(command, shared, name, targets):
    from scipy.io import arff

    table = pd.DataFrame(arff.loadarff(shared / "datasets" / f"{name}.arff")[0])
    folds = json.loads((shared / "folds" / f"{name}.json").read_text())
    (command.folder / "folds.json").write_text(json.dumps(folds[:1]))
    check_cell(command, table, [f"--targets=last:{targets}"], folds, shared / "datasets" / f"{name}.arff")


def test_a_record_of_table_2_agrees_with_scikit_learn(command, shared):
    """The raw results of ``rffblr reproduce table2``, one real cell, both averages."""
    from scipy.io import arff

    table = pd.DataFrame(arff.loadarff(shared / "datasets" / "edm.arff")[0])
    folds = json.loads((shared / "folds" / "edm.json").read_text())
    source = [f"--data={shared / 'datasets'}", f"--fold-dir={shared / 'folds'}", "--datasets=edm"]
    command("reproduce", "table2", *source, "--methods=rffblr", "--out=run", "-q")
    lines = (command.folder / "run" / "raw.jsonl").read_text().splitlines()[1:]
    records = {record["fold"]: record for record in map(json.loads, lines)}
    assert len(records) == len(folds) == 10
    X, Y = table.iloc[:, :-2], table.iloc[:, -2:]
    for fold in (1, 6):
        test = np.asarray(folds[fold - 1])
        train = np.setdiff1d(np.arange(len(table)), test)
        mean = RFFBLRRegressor().fit(X.iloc[train], Y.iloc[train]).predict(X.iloc[test])
        truth, scores = Y.iloc[test].to_numpy(), records[fold]["scores"]
        assert scores["task_r2"] == pytest.approx(r2_score(truth, mean, multioutput="uniform_average"), abs=1e-12)
        assert scores["pooled_r2"] == pytest.approx(r2_score(truth.ravel(), mean.ravel()), abs=1e-12)
        assert scores["per_task"]["r2"] == pytest.approx(r2_score(truth, mean, multioutput="raw_values"), abs=1e-12)


def test_a_loaded_model_is_shown_and_completed(tmp_path):
    X, Y = smooth()
    model = RFFBLRRegressor().fit(X, Y)
    model.save(tmp_path / "model.json")
    loaded = RFFBLRRegressor.load(tmp_path / "model.json")
    assert "RFFBLRRegressor" in loaded._repr_html_() and "gamma_" in dir(loaded)
    assert "relevance_" in dir(loaded) and "feature_importances_" in dir(loaded)
    assert "kernel_view_" in dir(model) and "kernel_view_" not in dir(loaded) and not hasattr(loaded, "kernel_view_")
    with pytest.raises(AttributeError, match="fit the model again"):
        loaded.kernel_view_


def test_what_becomes_of_missing_inputs_comes_back_from_a_file(tmp_path):
    X, Y = smooth()
    for missing in ("error", "impute"):
        RFFBLRRegressor(missing=missing).fit(X, Y).save(tmp_path / "model.json")
        assert RFFBLRRegressor.load(tmp_path / "model.json").missing == missing
