"""Frames of pandas and polars."""

import warnings

import numpy as np
import pytest
from conftest import smooth

from rffblr import RFFBLRRegressor, RFFBLRWarning, Sinusoids

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def both():
    """The same table of every kind of column in both libraries, and targets."""
    rng = np.random.default_rng(0)
    X, Y = smooth(rows=60)
    gaps = X[:, 1].copy()
    gaps[::9] = np.nan
    text = rng.choice(["low", "high", "mid"], 60).astype(object)
    text[::13] = None
    whole, flag, level = rng.integers(0, 9, 60), rng.random(60) > 0.5, rng.choice(["b", "a"], 60)
    pandas = pd.DataFrame({"x": X[:, 0], "gaps": gaps, "text": text, "whole": whole, "flag": flag})
    pandas["level"] = pd.Categorical(level, categories=["a", "b", "never"])
    polars = pl.DataFrame(
        {
            "x": X[:, 0],
            "gaps": pl.Series(gaps).fill_nan(None),
            "text": list(text),
            "whole": whole,
            "flag": flag,
            "level": pl.Series(list(level), dtype=pl.Enum(["a", "b", "never"])),
        }
    )
    Y = Y + (text == "high")[:, None] + flag[:, None]
    return pandas, polars, Y


def test_a_categorical_of_polars_is_text():
    _, polars, Y = both()
    levels = polars.with_columns(pl.col("text").cast(pl.Categorical))
    one, two = RFFBLRRegressor().fit(polars, Y), RFFBLRRegressor().fit(levels, Y)
    assert one.model_.to_json() == two.model_.to_json()


def test_both_libraries_give_the_same_model():
    pandas, polars, Y = both()
    one = RFFBLRRegressor().fit(pandas, pd.DataFrame(Y, columns=["t", "u"]))
    two = RFFBLRRegressor().fit(polars, pl.DataFrame(Y, schema=["t", "u"]))
    assert one.model_.to_json() == two.model_.to_json()
    assert list(one.feature_names_in_) == list(two.feature_names_in_) == list(pandas.columns)
    seen = ["x", "gaps", "gaps?", "text=", "whole", "flag", "level=a", "level=b", "level?"]
    assert [name for name in one.model_.input_names if not name.startswith("text")] == [n for n in seen if n != "text="]
    assert np.array_equal(one.predict(pandas), two.predict(polars))
    assert any("13 missing" in note or "missing" in note for note in one.notes_)


def test_frames_out_are_of_the_kind_that_came_in():
    pandas, polars, Y = both()
    pandas.index = pandas.index + 100
    one = RFFBLRRegressor().fit(pandas, pd.Series(Y[:, 0], name="zinc", index=pandas.index))
    out = one.predict_frame(pandas, coverage=0.5)
    assert list(out.columns) == ["zinc", "zinc_std", "zinc_lower", "zinc_upper"]
    assert out.index.equals(pandas.index)
    assert np.array_equal(out["zinc"], one.predict(pandas)) and one.predict(pandas).ndim == 1
    two = RFFBLRRegressor(form=Sinusoids(sparsity=0.9)).fit(polars, pl.Series("zinc", Y[:, 0]))
    assert isinstance(two.predict_frame(polars), pl.DataFrame) and isinstance(two.sinusoids_, pl.DataFrame)
    assert isinstance(two.predict_frame(polars, frame_library="pandas"), pd.DataFrame)
    with pytest.raises(ValueError, match="write pandas or polars"):
        two.predict_frame(polars, frame_library="excel")


def test_unseen_levels_and_new_gaps_are_told():
    pandas, _, Y = both()
    model = RFFBLRRegressor().fit(pandas, Y)
    new = pandas.copy()
    new.loc[0, "text"] = "unheard of"
    with pytest.warns(RFFBLRWarning, match="unheard of"):
        model.predict(new)
    new = pandas.copy()
    new.loc[3, "x"] = np.nan
    with pytest.warns(RFFBLRWarning, match="median"):
        assert np.all(np.isfinite(model.predict(new)))
    with pytest.raises(ValueError, match="input is missing"):
        RFFBLRRegressor(missing="error").fit(pandas, Y)


def test_rows_without_any_target_are_predicted_not_learned_from():
    pandas, _, Y = both()
    Y[5] = np.nan
    model = RFFBLRRegressor().fit(pandas, Y)
    rest = RFFBLRRegressor().fit(pandas.drop(index=5), np.delete(Y, 5, axis=0))
    assert np.array_equal(model.predict(pandas), rest.predict(pandas))
    np.testing.assert_allclose(model.loo_predict()[5], model.predict(pandas)[5], rtol=1e-12)
    assert np.array_equal(np.delete(model.loo_predict(), 5, axis=0), rest.loo_predict())
    assert model.kernel_view_.coefficients.shape == Y.shape and not model.kernel_view_.coefficients[5].any()


def test_columns_that_cannot_be_used_are_named():
    pandas, polars, Y = both()
    spans = pd.timedelta_range("1 day", periods=60)
    with pytest.raises(TypeError, match="column 'when'.*days"):
        RFFBLRRegressor().fit(pandas.assign(when=spans), Y)
    with pytest.raises(TypeError, match="column 'when'.*days"):
        RFFBLRRegressor().fit(polars.with_columns(when=pl.Series(spans.to_pytimedelta())), Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_dates_of_every_kind_are_the_same():
    pandas, polars, Y = both()
    days = pd.date_range("2026-01-01", periods=60)
    frames = [
        pandas.assign(when=days),
        pandas.assign(when=days.tz_localize("Europe/Berlin")),
        pandas.assign(when=[str(day.date()) for day in days]),
        pandas.assign(when=pd.Series(days.date, dtype=object)),
        polars.with_columns(when=pl.Series(list(days.to_pydatetime()))),
        polars.with_columns(when=pl.Series(list(days.date))),
    ]
    expected = None
    for frame in frames:
        model = RFFBLRRegressor(max_iterations=3).fit(frame, Y)
        found = model.predict(frame)
        expected = found if expected is None else expected
        assert np.array_equal(found, expected)


def test_names_are_checked():
    pandas, _, Y = both()
    model = RFFBLRRegressor().fit(pandas, Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pandas[pandas.columns[::-1]])
    # A target does not take the name of an input either.
    model = RFFBLRRegressor().fit(pandas, pd.DataFrame(Y, columns=["t", "x"]))
    assert list(model.target_names_) == ["t", "x_target"] == model.model_.target_names
    # Targets without a name do not take one that an input has.
    plain = pd.DataFrame(smooth()[0], columns=["y1", "y2", "c"])
    assert not set(RFFBLRRegressor().fit(plain, smooth()[1]).target_names_) & set(plain.columns)


def test_text_targets_are_refused():
    pandas, _, _ = both()
    with pytest.raises(ValueError, match="text"):
        RFFBLRRegressor().fit(pandas[["x"]], pandas[["text"]])


def test_a_frame_of_numbers_is_an_array_with_names():
    X, Y = smooth()
    frame = pd.DataFrame(X, columns=list("abc"))
    one, two = RFFBLRRegressor().fit(frame, Y), RFFBLRRegressor().fit(X, Y)
    assert np.array_equal(one.predict(frame), two.predict(X))
    assert one.model_.input_names == ["a", "b", "c"]


def test_columns_without_names():
    X, Y = smooth()
    plain = RFFBLRRegressor().fit(X, Y)
    model = RFFBLRRegressor().fit(pd.DataFrame(X), pd.DataFrame(Y))
    assert not hasattr(model, "feature_names_in_") and list(model.target_names_) == ["y1", "y2"]
    assert model.model_.to_json() == plain.model_.to_json()
    one = RFFBLRRegressor().fit(X, pd.Series(Y[:, 0], name=7))
    assert list(one.target_names_) == ["y1"]


def test_a_target_may_be_an_input():
    X, Y = smooth()
    frame = pd.DataFrame(X, columns=list("abc"))
    for kind in (np.float64, np.float32):
        model = RFFBLRRegressor().fit(frame.astype(kind), frame["a"])
        assert list(model.target_names_) == ["a_target"] and model.score(frame, frame["a"]) > 0.99
    taken = frame.rename(columns={"b": "a_target"})
    assert list(RFFBLRRegressor().fit(taken, frame["a"]).target_names_) == ["a_target_"]
    both = RFFBLRRegressor().fit(frame, pd.DataFrame(Y, columns=["a", "a_target"]))
    assert list(both.target_names_) == ["a_target_", "a_target"]


@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("names", [None, ["x1", "x2", "x3"], ["a", "b", "c"]])
@pytest.mark.filterwarnings("ignore:X has feature names", "ignore:X does not have valid feature names")
def test_columns_are_never_swapped_silently(tmp_path, kind, loaded, names):
    X, Y = smooth()
    X = np.round(10 * X)
    model = RFFBLRRegressor().fit(X if names is None else pd.DataFrame(X, columns=names), Y)
    if loaded:
        model.save(tmp_path / "model.json")
        model = RFFBLRRegressor.load(tmp_path / "model.json")
    expected = model.predict(X)
    own = names or ["x1", "x2", "x3"]
    frame = pd.DataFrame(X, columns=own).astype(kind)
    for given in (frame, pl.from_pandas(frame)):
        assert np.array_equal(model.predict(given), expected)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(given[own[::-1]])
    # Without names of its own the model goes by position, and scikit-learn warns of the names it does not know.
    other = frame.set_axis(["p", "q", "r"], axis=1)
    assert np.array_equal(model.predict(frame.set_axis([0, 1, 2], axis=1)), expected)
    if names == ["a", "b", "c"] or (names and not loaded):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(other)
    else:
        with pytest.warns(UserWarning, match="X has feature names"):
            assert np.array_equal(model.predict(other), expected)


def test_text_columns_go_by_position_where_the_model_has_no_names():
    X, Y = smooth()
    text = pd.DataFrame({0: X[:, 0], 1: np.where(X[:, 1] > 0, "up", "down")})
    model = RFFBLRRegressor().fit(text, Y)
    with pytest.warns(UserWarning, match="X has feature names"):
        assert np.array_equal(model.predict(text.set_axis(["a", "b"], axis=1)), model.predict(text))


def test_names_of_targets_that_collide_with_those_of_their_deviations():
    X, Y = smooth()
    model = RFFBLRRegressor().fit(X, pd.DataFrame(Y, columns=["u", "u_std"]))
    with pytest.raises(ValueError, match="'u' and 'u_std'.*column 'u_std'"):
        model.predict_frame(X)


def test_warnings_are_those_of_the_line_that_called():
    pandas, _, Y = both()
    model = RFFBLRRegressor().fit(pandas, Y)
    new = pandas.iloc[:3].copy()
    new.loc[0, "text"] = "unheard of"
    for call in [model.predict, model.predict_frame, model.sample_y, model.explain]:
        with pytest.warns(RFFBLRWarning, match="unheard of") as heard:
            call(new)
        assert {warning.filename for warning in heard} == {__file__}, call


def test_notes_name_what_would_mislead():
    X, Y = smooth(rows=60)
    table = pd.DataFrame(X[:, :2], columns=["a", "b"])
    table["row"] = [f"r{n}" for n in range(60)]
    table["subject"] = [f"s{n % 12}" for n in range(60)]
    table["day"] = np.repeat(np.arange(20.0), 3)
    table["copy"] = 1000 * Y[:, 0] + 3
    model = RFFBLRRegressor().fit(table, Y)
    assert "row" not in model.model_.input_names and model.n_features_in_ == 6
    for words in ["'row' is different in every row", "'subject' looks like the name of 12 units", "GroupKFold",
                  "'day' looks like a time", "TimeSeriesSplit", "input 'copy' predicts target 'y1'"]:
        assert any(words in note for note in model.notes_), words
    # Predicting the rows it has seen is nobody's mistake here.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table)
    plain = RFFBLRRegressor().fit(*smooth(rows=60))
    assert plain.notes_ == []


def test_lazy_frames_and_arrow_tables_are_read():
    pl = pytest.importorskip("polars")
    X, Y = smooth()
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": np.where(X[:, 2] > 0, "high", "low")})
    targets = pl.DataFrame({"t": Y[:, 0], "u": Y[:, 1]})
    expected = RFFBLRRegressor().fit(frame, targets)
    tables = [(frame.lazy(), targets.lazy())]
    try:
        import pyarrow  # noqa: F401

        tables.append((frame.to_arrow(), targets.to_arrow()))
    except ImportError:
        pass
    for table, target in tables:
        model = RFFBLRRegressor().fit(table, target)
        assert np.array_equal(model.predict(table), expected.predict(frame)) and list(model.feature_names_in_) == ["a", "b", "kind"]
        assert model.score(table, target) == expected.score(frame, targets)
        assert list(model.predict_frame(table).columns)[0] == "t" and model.check(table, target, cv=2).rows == 80
