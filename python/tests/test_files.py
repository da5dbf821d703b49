"""Models from files that are read block by block."""

import os
import signal
import threading

import numpy as np
import pytest
from conftest import smooth

from rffblr import Drawn, RFFBLRRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = 4000

# Few steps, as it is not about what is learned.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FEW = {"form": Drawn(features=50), "max_iterations": 5}


def table(rows=ROWS, seed=0):
    """Numbers, text, gaps in an input and in a target, a column of weights and one without use."""
    X, Y = smooth(rows, seed=seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["red", "green", "blue"], rows)
    frame["t"] = Y[:, 0] + (frame["kind"] == "red")
    frame["u"] = Y[:, 1]
    frame["weight"] = 1.0 + rng.integers(0, 3, rows)
    frame["note"] = [f"row {row}" for row in range(rows)]
    frame.loc[::11, "b"] = np.nan
    frame.loc[::7, "u"] = np.nan
    return frame


ROLES = {"targets": ["t", "u"], "ignore": ["note", "weight"]}
INPUTS = ["a", "b", "c", "kind"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same table as one CSV file, as CSV parts and as Parquet parts."""
    folder, frame = tmp_path_factory.mktemp("files"), table()
    frame.to_csv(folder / "whole.csv", index=False)
    for kind in ["csv", "parquet"]:
        (folder / kind).mkdir()
    for number, start in enumerate(range(0, ROWS, 1500)):
        part = frame[start : start + 1500]
        part.to_csv(folder / "csv" / f"part-{number}.csv", index=False)
        pl.DataFrame({name: part[name].to_list() for name in part}).fill_nan(None).write_parquet(
            folder / "parquet" / f"part-{number}.parquet"
        )
    return folder


@pytest.fixture(scope="module")
def fitted(files):
    return RFFBLRRegressor(**FEW).fit_files(files / "whole.csv", **ROLES)


def test_text_and_parquet_whole_and_in_parts_are_one_model(files, fitted):
    new = table(200, seed=1)[INPUTS]
    expected = fitted.predict(new, return_std=True)
    for paths in [files / "csv", str(files / "csv" / "part-?.csv"), files / "parquet", sorted((files / "parquet").iterdir())]:
        model = RFFBLRRegressor(**FEW, n_jobs=2).fit_files(paths, **ROLES)
        np.testing.assert_array_equal(model.predict(new, return_std=True), expected)


def test_it_is_fitted_as_to_a_frame(fitted):
    frame = table()
    assert list(fitted.feature_names_in_) == INPUTS and fitted.n_features_in_ == 4
    assert list(fitted.target_names_) == ["t", "u"] and fitted.n_outputs_ == 2
    # The same recipe on the same rows in memory, which learns from the rows that are held out here too.
    whole = RFFBLRRegressor(**FEW).fit(frame[INPUTS], frame[["t", "u"]])
    new = table(500, seed=1)
    score = fitted.score(new[INPUTS], new[["t", "u"]])
    assert score == pytest.approx(whole.score(new[INPUTS], new[["t", "u"]]), abs=0.05)
    assert score == pytest.approx(fitted.check_.r2, abs=0.05)
    assert fitted.check_.rows == ROWS // 10 and "400 rows held out" in fitted.headline_
    assert list(fitted.check_.targets["target"]) == ["t", "u"]
    assert any("kind" in note for note in fitted.notes_)
    # Explanations compare with the sample; what needs every row says so.
    parts = fitted.explain(new[INPUTS][:3])
    np.testing.assert_allclose(parts.base + parts.shapley.sum(axis=1), parts.prediction, rtol=0, atol=1e-9)
    assert fitted.relevance_.shape == (4, 2) and "relevance_" in dir(fitted)
    with pytest.raises(ValueError, match="needs all training rows"):
        fitted.loo_predict()


def test_a_report_and_a_file(fitted, tmp_path):
    fitted.report(tmp_path / "report.html", card=tmp_path / "card.md")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    fitted.save(tmp_path / "model.json")
    loaded = RFFBLRRegressor.load(tmp_path / "model.json")
    new = table(50, seed=1)[INPUTS]
    np.testing.assert_array_equal(loaded.predict(new), fitted.predict(new))
    assert loaded.check_.r2 == fitted.check_.r2


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_for_files_are_those_for_frames(files, fitted, ending, tmp_path):
    expected = fitted.predict_frame(table()[INPUTS], coverage=0.8)
    for paths in [files / "csv", files / "parquet"]:
        out = tmp_path / f"predicted.{ending}"
        assert fitted.predict_files(paths, out, coverage=0.8) == ROWS
        found = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
        assert found.columns == list(expected.columns)
        np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


def test_few_rows_are_fitted_exactly_and_checked_by_refits(tmp_path):
    frame = table(120).drop(columns="note")
    frame[:70].to_csv(tmp_path / "1.csv", index=False)
    frame[70:].to_csv(tmp_path / "2.csv", index=False)
    model = RFFBLRRegressor(max_iterations=20).fit_files([tmp_path / "1.csv", tmp_path / "2.csv"], ["t", "u"], repeats="weight")
    weights = RFFBLRRegressor(max_iterations=20, weights="repeats")
    whole = weights.fit(frame[INPUTS], frame[["t", "u"]], sample_weight=frame["weight"])
    assert model.model_.form == "kernel"
    np.testing.assert_array_equal(model.predict(frame[INPUTS]), whole.predict(frame[INPUTS]))
    np.testing.assert_array_equal(model.loo_predict(), whole.loo_predict())
    assert model.check_.folds == 5
    unchecked = RFFBLRRegressor(max_iterations=20).fit_files(tmp_path, "t", hold_out=False)
    assert not hasattr(unchecked, "check_") and unchecked.predict(frame[["a", "b", "c", "kind", "u", "weight"]]).ndim == 1


def test_weights_count(files, tmp_path):
    """A row of weight zero is not there."""
    frame = table()
    frame["weight"] = np.where(np.arange(ROWS) % 2, 1.0, 0.0)
    frame.loc[::2, ["t", "u"]] += 5.0
    frame.to_csv(tmp_path / "w.csv", index=False)
    new = table(200, seed=1)
    for role in ["weight", "repeats"]:
        model = RFFBLRRegressor(**FEW).fit_files(tmp_path / "w.csv", ["t", "u"], "note", **{role: "weight"})
        assert model.score(new[INPUTS], new[["t", "u"]]) > 0.8
    with pytest.raises(ValueError, match="name one column"):
        model.fit_files(tmp_path / "w.csv", "t", weight="weight", repeats="weight")


def test_errors(files, fitted, tmp_path):
    fit, new = RFFBLRRegressor(form=Drawn(features=20)).fit_files, table(50)
    with pytest.raises(FileNotFoundError, match="no.csv"):
        fit(tmp_path / "no.csv", "t")
    with pytest.raises(FileNotFoundError, match="names no CSV"):
        fit(tmp_path, "t")
    with pytest.raises(FileNotFoundError, match="names no CSV"):
        fit(str(tmp_path / "*.parquet"), "t")
    with pytest.raises(ValueError, match="no column 'tt'"):
        fit(files / "csv", "tt")
    with pytest.raises(ValueError, match="different formats"):
        fit([files / "csv", files / "parquet"], **ROLES)
    with pytest.raises(TypeError, match="targets="):
        fit(files / "csv", [1])
    new.to_csv(tmp_path / "1.csv", index=False)
    new.drop(columns="a").to_csv(tmp_path / "2.csv", index=False)
    with pytest.raises(ValueError, match="2.csv has no column 'a'"):
        fit(tmp_path, **ROLES)
    (tmp_path / "2.csv").write_text((tmp_path / "1.csv").read_text() + "1,2\n")
    with pytest.raises(ValueError, match="2.csv, line 52: 2 cells where 8 columns"):
        fit(tmp_path, **ROLES)
    out = tmp_path / "out.csv"
    with pytest.raises(ValueError, match="lacks 1 input column"):
        new.drop(columns="a").to_csv(tmp_path / "2.csv", index=False)
        fitted.predict_files(tmp_path / "2.csv", out)
    with pytest.raises(OSError, match="write the predictions to another"):
        fitted.predict_files(tmp_path / "1.csv", tmp_path / "1.csv")
    with pytest.raises(FileNotFoundError):
        fitted.predict_files(tmp_path / "1.csv", tmp_path / "no" / "out.csv")
    with pytest.raises(ValueError, match="between 0 and 1"):
        fitted.predict_files(tmp_path / "1.csv", out, coverage=1.5)
    assert not out.exists() and len(list(tmp_path.iterdir())) == 2


class Halt(Exception):
    pass


def test_a_fit_that_was_broken_off_goes_on(files, fitted, tmp_path, monkeypatch):
    checkpoint = tmp_path / "checkpoint"
    model = RFFBLRRegressor(**FEW, verbose=1)
    seen = []

    def passed(self, what, done, total):
        seen.append((what, done, total))
        if what == "adding up rows":
            raise Halt

    from rffblr import _progress

    monkeypatch.setattr(_progress.Steps, "passed", passed)
    with pytest.raises(Halt):
        model.fit_files(files / "whole.csv", **ROLES, checkpoint=checkpoint)
    assert not hasattr(model, "model_") and checkpoint.exists()
    assert seen[0][0] == "reading" and seen[-1] == ("adding up rows", 0, ROWS)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="other files or settings"):
        model.fit_files(files / "csv", **ROLES, checkpoint=checkpoint)
    with pytest.raises(ValueError, match="other files or settings"):
        model.fit_files(files / "whole.csv", **ROLES, checkpoint=checkpoint, hold_out=False)
    steps = []
    monkeypatch.setattr(_progress.Steps, "step", lambda self, *step: steps.append(step))
    model.fit_files(files / "whole.csv", **ROLES, checkpoint=checkpoint)
    assert not steps and not checkpoint.exists()
    new = table(200, seed=1)[INPUTS]
    np.testing.assert_array_equal(model.predict(new, return_std=True), fitted.predict(new, return_std=True))
    checkpoint.write_text("something else")
    with pytest.raises(ValueError, match="not a checkpoint"):
        model.fit_files(files / "whole.csv", **ROLES, checkpoint=checkpoint)
    assert checkpoint.read_text() == "something else"


def test_groups_and_times_are_held_out(tmp_path):
    rng, rows = np.random.default_rng(0), 5000
    frame = pd.DataFrame({"animal": [f"a{n * 7 % 50}" for n in range(rows)], "day": np.arange(rows) * 31 % 300})
    number = frame["animal"].str[1:].astype(int)
    frame["tag"], frame["dose"] = number * 37 % 50, rng.uniform(size=rows)
    frame["t"] = 2 * frame["dose"] + 2 * np.sin(1.7 * (number**2 + 3 * number)) + 0.05 * rng.normal(size=rows)
    frame.to_csv(tmp_path / "visits.csv", index=False)

    def fit(**order):
        return RFFBLRRegressor(**FEW).fit_files(tmp_path / "visits.csv", "t", **order)

    alone, together = fit(ignore=["animal", "day"]), fit(ignore="day", group="animal")
    assert alone.check_.r2 > 0.25 and together.check_.r2 < 0.0
    assert "500 rows of 5 whole groups of animal held out" in together.headline_
    assert list(together.feature_names_in_) == list(alone.feature_names_in_) == ["tag", "dose"]
    assert "the last 500 rows by day held out, from 270 on" in fit(ignore=["animal", "tag"], time="day").headline_
    with pytest.raises(ValueError, match="two ways to hold rows out"):
        fit(group="animal", time="day")
    # Few rows are refitted to five folds of whole groups.
    frame[:1000].to_csv(tmp_path / "visits.csv", index=False)
    few = RFFBLRRegressor().fit_files(tmp_path / "visits.csv", "t", ignore="day", group="animal")
    assert "5 refits, whole groups of animal held out" in few.headline_


def test_an_interrupt_ends_it(files):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            RFFBLRRegressor(form=Drawn(features=1000)).fit_files(files / "whole.csv", **ROLES)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_progress_is_shown(files, capsys):
    RFFBLRRegressor(**FEW, verbose=1).fit_files(files / "parquet", **ROLES)
    shown = capsys.readouterr().err
    assert "converged after" in shown or "ended after" in shown
    assert "note: " in shown
