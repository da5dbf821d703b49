"""Scores on rows the model has not seen, against scikit-learn's own cross-validation."""

import io
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import smooth
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit, TimeSeriesSplit, cross_val_predict

from rffblr import RFFBLRRegressor, RFFBLRWarning, baselines, metrics


def table(rows=60):
    """Numbers with gaps, and text."""
    X, Y = smooth(rows=rows)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[::9, "b"] = np.nan
    frame["kind"] = np.where(np.arange(rows) % 3 == 0, "left", "right")
    return frame, pd.DataFrame(Y, columns=["u", "v"])


@pytest.mark.parametrize(
    "cv, groups",
    [(KFold(4), None), (GroupKFold(5), np.arange(60) // 4), (list(KFold(3).split(np.zeros(60))), None)],
    ids=["k", "group", "list"],
)
def test_it_is_the_r2_of_cross_val_predict(cv, groups):
    X, Y = table()
    check = RFFBLRRegressor().fit(X, Y).check(X, Y, cv=cv, groups=groups)
    held_out = cross_val_predict(RFFBLRRegressor(), X, Y, cv=cv, groups=groups)
    np.testing.assert_allclose(check.targets["r2"], r2_score(Y, held_out, multioutput="raw_values"), atol=1e-9)
    np.testing.assert_allclose(check.targets["mae"], mean_absolute_error(Y, held_out, multioutput="raw_values"))
    assert check.r2 == pytest.approx(r2_score(Y, held_out), abs=1e-9)
    assert list(check.targets["target"]) == ["u", "v"]
    assert check.folds == (len(cv) if isinstance(cv, list) else cv.get_n_splits())


def test_what_is_beside_it_and_its_error():
    X, Y = smooth(rows=60)
    Y[::7, 0] = np.nan
    cv = KFold(5, shuffle=True, random_state=1)
    model = RFFBLRRegressor(n_jobs=2).fit(X, Y)
    check = model.check(X, Y, cv=cv)
    means = np.empty_like(Y)
    ridge = np.empty_like(Y)
    for train, test in cv.split(X):
        means[test] = np.nanmean(Y[train], axis=0)
        ridge[test] = baselines.Ridge().fit(X[train], Y[train]).predict(X[test])
    for name, prediction in [("mean", means), ("ridge", ridge)]:
        known = ~np.isnan(Y[:, 0])
        assert check.targets[f"{name}_r2"][0] == pytest.approx(r2_score(Y[known, 0], prediction[known, 0]), abs=1e-9)
        assert check[f"{name}_r2"] == pytest.approx(metrics.r2_task(Y, prediction), abs=1e-9)
    # That of a ratio of sums over folds, to first order, for the second target.
    held_out = cross_val_predict(RFFBLRRegressor(), X, Y, cv=cv)[:, 1]
    errors, spread = (Y[:, 1] - held_out) ** 2, (Y[:, 1] - Y[:, 1].mean()) ** 2
    moves = [errors[test].sum() - errors.sum() / spread.sum() * spread[test].sum() for _, test in cv.split(X)]
    expected = np.sqrt(5 / 4 * np.square(moves).sum()) / spread.sum()
    assert check.targets["r2_se"][1] == pytest.approx(expected, abs=1e-9)


def test_numbers_are_those_of_the_command_line(command):
    X, Y = table()
    pd.concat([X, Y], axis=1).to_csv(command.folder / "t.csv", index=False)
    command("fit", "t.csv", "--targets=u,v", "-om.json", "-q")
    model = RFFBLRRegressor().fit(X, Y)
    check = model.check(X, Y)
    loaded = RFFBLRRegressor.load(command.folder / "m.json")
    assert loaded.headline_ == check.headline == model.headline_
    pd.testing.assert_frame_equal(loaded.check_.targets, check.targets, rtol=1e-9)
    assert (check.split, check.folds, check.rows) == ("random folds", 5, 60)


@pytest.mark.filterwarnings("ignore:Intervals of")
def test_groups_are_held_out_whole():
    rng = np.random.default_rng(0)
    animal = pd.Series(np.repeat([f"a{i}" for i in range(12)], 5), name="animal")
    tag = np.repeat(np.arange(12.0), 5)
    X = np.column_stack([tag, rng.normal(size=60)])
    y = 3 * rng.normal(size=12)[tag.astype(int)] + X[:, 1]
    model = RFFBLRRegressor().fit(X, y)
    alone, together = model.check(X, y).r2, model.check(X, y, groups=animal)
    assert alone > 0.8 and together.r2 < 0.5
    assert together.split == "whole groups of animal held out"
    assert model.check(X, y, groups=animal, cv=12).r2 == pytest.approx(
        model.check(X, y, cv=LeaveOneGroupOut(), groups=animal).r2, abs=1e-9
    )
    future = model.check(X, y, cv=TimeSeriesSplit(4))
    assert future.rows == 48 and future.folds == 4
    # Rows may be tested more than once.
    assert model.check(X, y, cv=ShuffleSplit(3, test_size=0.5, random_state=0)).targets["values"][0] == 90


def test_a_model_shows_its_score_first_or_that_it_has_none(tmp_path):
    X, Y = smooth(rows=50)
    model = RFFBLRRegressor()
    assert "<p>" not in model._repr_html_()[:20]
    with pytest.raises(NotFittedError):
        model.check(X, Y)
    model.fit(X, Y)
    assert not hasattr(model, "check_") and "model.check(X, y)" in model.headline_
    assert model._repr_html_().startswith("<p>Not checked on rows it has not seen")
    model.report(tmp_path / "page.html")
    assert "Not checked by refits" in (tmp_path / "page.html").read_text(encoding="utf-8")
    check = model.check(X, Y, cv=3)
    assert model._repr_html_().startswith("<p>Explains ") and model._repr_mimebundle_()["text/html"].startswith("<p>Explains ")
    assert f"task R² {check.r2:.3f} ± {check.r2_se:.3f}; 3 refits" in model.headline_
    model.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 refits, random folds" in page and "Not checked by refits" not in page
    # A new fit is another model.
    assert not hasattr(model.fit(X, Y), "check_")


def test_what_cannot_be_checked_changes_nothing():
    X, Y = smooth(rows=40)
    model = RFFBLRRegressor().fit(X, Y)
    before = dict(vars(model))
    for arguments, words in [
        ({"cv": 1}, "cv"),
        ({"cv": 41}, "40 rows cannot be split into 41 folds"),
        ({"groups": np.repeat([1, 2], 20)}, "2 groups cannot be split into 5 folds"),
        ({"groups": [1.0, np.nan] * 20}, "groups has no label in row 1"),
        ({"groups": [1, 2]}, "inconsistent numbers of samples"),
        ({"cv": [([0, 1], [1, 2])]}, "fold 1 trains on row 1, which it tests"),
        ({"sample_weight": np.arange(40.0)}, "the very rows, and weights"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.check(X, Y, **arguments)
    with pytest.raises(ValueError, match="the very rows"):
        model.check(X[:30], Y[:30])
    assert vars(model) == before


def test_weights_and_progress(monkeypatch):
    X, Y = smooth(rows=40)
    weights = np.ones(40)
    weights[:8] = 0
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    model = RFFBLRRegressor(verbose=1).fit(X, Y, sample_weight=weights)
    check = model.check(X, Y, sample_weight=weights)
    assert list(check.targets["values"]) == [32, 32]
    assert model.headline_ in out.getvalue()


def test_a_target_that_never_varies_does_not_count():
    X, Y = smooth(rows=60, targets=2)
    Y = np.column_stack([Y, np.full(60, 7.0)])
    model = RFFBLRRegressor().fit(X, Y)
    both = r2_score(Y[:, :2], model.predict(X)[:, :2])
    assert model.score(X, Y) == pytest.approx(both, abs=1e-12)
    assert metrics.r2_task(Y, model.predict(X)) == pytest.approx(both, abs=1e-12)
    assert metrics.r2_task(Y, np.full_like(Y, 7.0)) == pytest.approx(r2_score(Y[:, :2], np.full((60, 2), 7.0)), abs=1e-12)
    model.fit(X, Y[:, 2])
    for score in [lambda: metrics.r2_task(Y[:, 2], Y[:, 2]), lambda: model.score(X, Y[:, 2])]:
        with pytest.warns(RFFBLRWarning, match="no target varies"):
            assert np.isnan(score())
    # Weights decide what varies.
    weights = np.zeros(60)
    weights[:30] = 1
    one = np.where(np.arange(60) < 30, 1.0, Y[:, 0])
    two = np.column_stack([one, Y[:, 1]])
    model = baselines.Ridge().fit(X, two)
    assert model.score(X, two, weights) == pytest.approx(
        r2_score(two[:30, 1], model.predict(X)[:30, 1]), abs=1e-12
    )


def test_a_target_that_no_training_row_of_a_fold_knows_is_not_scored_there():
    X, Y = table()
    Y = Y.copy()
    Y.loc[12:, "v"] = np.nan
    blocks = [(np.r_[0:start, start + 12 : 60], np.arange(start, start + 12)) for start in range(0, 60, 12)]
    model = RFFBLRRegressor().fit(X, Y)
    with pytest.warns(RFFBLRWarning, match='Target "v" has no value in the training rows of 1 of 5 refits') as told:
        check = model.check(X, Y, cv=blocks)
    assert [str(note.message) for note in told] == check.notes == model.check_.notes
    # Its only values are those of the first fold.
    assert list(check.targets["values"]) == [60, 0] and np.isnan(check.targets["r2"][1])
    assert check.r2 == check.targets["r2"][0] > 0
    # The first fold learns the other target as if it were alone.
    alone = RFFBLRRegressor().fit(X[12:], Y["u"][12:]).predict(X[:12])
    first = [blocks[0]]
    with pytest.warns(RFFBLRWarning, match="1 of 1 refits"):
        check = model.check(X, Y, cv=first)
    assert check.targets["r2"][0] == pytest.approx(r2_score(Y["u"][:12], alone), abs=1e-9)
    # With values in two folds every fold has some to learn from.
    Y.loc[12:13, "v"] = [0.5, 0.7]
    check = RFFBLRRegressor().fit(X, Y).check(X, Y, cv=blocks)
    assert list(check.targets["values"]) == [60, 14] and check.notes == []
