"""Explanations and the report through Python."""

import itertools
import math
import time

import numpy as np
import pytest
from conftest import smooth

from rffblr import RFFBLRRegressor, RFFBLRWarning, Sinusoids

pd = pytest.importorskip("pandas")


def brute_force(model, row, background):
    """Shapley values by their definition: all coalitions, interventional, averaged over the background."""
    inputs = background.shape[1]

    def value(coalition):
        mixed = background.copy()
        mixed[:, coalition] = row[coalition]
        return model.predict(mixed).mean(axis=0)

    out = []
    for player in range(inputs):
        others = [d for d in range(inputs) if d != player]
        total = 0
        for size in range(inputs):
            weight = 1 / (inputs * math.comb(inputs - 1, size))
            for chosen in itertools.combinations(others, size):
                total = total + weight * (value([*chosen, player]) - value(list(chosen)))
        out.append(total)
    return np.array(out)


@pytest.mark.parametrize("settings", [{}, {"form": Sinusoids(sparsity=0.5)}, {"preset": "paper"}])
def test_shapley_values_are_those_of_the_definition(settings):
    X, Y = smooth()
    model = RFFBLRRegressor(**settings).fit(X, Y)
    parts = model.explain(X[:2], return_std=True)
    assert parts.shapley.shape == (2, X.shape[1], Y.shape[1]) == parts.std.shape
    scale = Y.std()
    for row in range(2):
        expected = brute_force(model, X[row], X[parts.background])
        assert np.allclose(parts.shapley[row], expected, rtol=0, atol=1e-8 * scale)
    assert np.allclose(parts.prediction, model.predict(X[:2]), rtol=0, atol=1e-12 * scale)
    assert np.allclose(parts.base + parts.shapley.sum(axis=1), parts.prediction, rtol=0, atol=1e-9 * scale)
    assert np.all(parts.std >= 0) and np.all(parts.total >= parts.first_order - 1e-9)
    assert np.array_equal(parts.total, model.relevance_)
    assert np.array_equal(parts.total_std, model.relevance_std_)
    assert parts.scales.shape == parts.total.shape and np.all(parts.scales > 0)
    assert model.explain().shapley.shape[0] == len(X)


@pytest.mark.parametrize("settings", [{}, {"form": Sinusoids(sparsity=0.5)}, {"preset": "paper"}])
def test_deviations_of_relevance_are_those_of_functions_drawn(settings):
    X, Y = smooth(rows=20)
    model = RFFBLRRegressor(**settings).fit(X, Y)
    parts = model.explain(X[:1])
    signal = model.predict(X).var(axis=0)
    for d in range(X.shape[1]):
        mixed = np.repeat(X, 20, axis=0)  # the others as in row i // 20 …
        mixed[:, d] = np.tile(X[:, d], 20)  # … and this input as in row i % 20
        draws = model.sample_y(mixed, n_samples=1500, noise=False).reshape(20, 20, Y.shape[1], -1)
        total, first = draws.var(axis=1).mean(axis=0), draws.mean(axis=0).var(axis=0)
        for drawn, std in [(total, parts.total_std[d]), (first, parts.first_order_std[d])]:
            np.testing.assert_allclose((drawn / signal[:, None]).std(axis=1), std, rtol=0.2)


def test_partial_dependence_is_a_mean_of_predictions():
    X, Y = smooth()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["kind"] = np.where(np.arange(len(X)) % 3 == 0, "left", "right")
    model = RFFBLRRegressor().fit(table, Y)
    curve = model.partial_dependence("b", resolution=6)
    parts = [f"{part}[{name}]" for part in ("mean", "lower", "upper") for name in ("y1", "y2")]
    assert list(curve.columns) == ["b", *parts]
    for at, value in enumerate(curve["b"]):
        expected = model.predict(table.assign(b=value)).mean(axis=0)
        assert np.allclose(curve[["mean[y1]", "mean[y2]"]].to_numpy()[at], expected, rtol=0, atol=1e-9)
    pair = model.partial_dependence(("kind", 0), resolution=3)
    assert list(pair["kind"]) == ["left"] * 3 + ["right"] * 3
    expected = model.predict(table.assign(kind="right", a=pair["a"].iloc[5])).mean(axis=0)
    assert np.allclose(pair[["mean[y1]", "mean[y2]"]].to_numpy()[5], expected, rtol=0, atol=1e-9)
    for wrong in ["d", 9, -1, ("a", "b", "c"), ("a", "a")]:
        with pytest.raises(ValueError, match="input"):
            model.partial_dependence(wrong)


def test_the_curve_of_a_transformed_target_is_in_its_unit():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 2))
    dose = np.exp(3 + 0.5 * np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.2 * rng.normal(size=50))
    model = RFFBLRRegressor(target_transform="log").fit(X, dose)
    curve = model.partial_dependence(0, resolution=5)
    for at, value in enumerate(curve["x1"]):
        mixed = X.copy()
        mixed[:, 0] = value
        # The geometric mean of the medians of all rows, and of each function drawn from the posterior.
        expected = np.exp(np.log(model.predict_quantiles(mixed, [0.5])).mean())
        assert curve["mean[y1]"][at] == pytest.approx(expected, rel=1e-9)
        drawn = np.exp(np.log(model.sample_y(mixed, n_samples=3000, noise=False)).reshape(50, -1).mean(axis=0))
        low, high = np.quantile(drawn, [0.05, 0.95])
        assert abs(curve["lower[y1]"][at] - low) < 0.1 * (high - low)
        assert abs(curve["upper[y1]"][at] - high) < 0.1 * (high - low)
    wide = model.partial_dependence(0, resolution=5, coverage=0.99)
    assert (wide["lower[y1]"] < curve["lower[y1]"]).all() and (wide["upper[y1]"] > curve["upper[y1]"]).all()
    axes = model.plot_partial_dependence(0)
    expected = model.partial_dependence(0)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), expected["mean[y1]"])
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == expected["lower[y1]"].min() and band.max() == expected["upper[y1]"].max()
    with pytest.raises(ValueError, match="coverage"):
        model.partial_dependence(0, coverage=1.0)
    pyplot.close("all")


def test_reports(tmp_path):
    X, Y = smooth()
    model = RFFBLRRegressor().fit(X, Y)
    page, card = tmp_path / "report.html", tmp_path / "card.md"
    model.report(page, card=card, title="Soil & stones")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "Soil &amp; stones" in text and len(text) < 5_000_000
    assert card.read_text(encoding="utf-8").startswith("# ")
    # Without single rows, and from a file that does not hold the data.
    model.report(page, row_data=False)
    assert len(page.read_text(encoding="utf-8")) < len(text)
    model.save(tmp_path / "model.json")
    loaded = RFFBLRRegressor.load(tmp_path / "model.json")
    loaded.report(page)
    assert loaded.explain(X[:1]).shapley.shape == (1, 3, 2)
    with pytest.raises(OSError):
        model.report(tmp_path / "nowhere" / "report.html")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["card.md", "model.json", "report.html"]


@pytest.mark.parametrize("form", [None, Sinusoids(sparsity=0.5)])
def test_a_loaded_model_explains_as_far_as_its_file_goes(form, tmp_path):
    X, Y = smooth()
    model = RFFBLRRegressor(form=form).fit(X, Y)
    model.save(tmp_path / "model.json")
    loaded = RFFBLRRegressor.load(tmp_path / "model.json")
    expected, curve = model.explain(X[:2]), model.partial_dependence("x1", resolution=4)
    background = None
    if form is not None:
        with pytest.raises(AttributeError, match=r"file of a model of this form \(sinusoids\) holds none.*background=rows"):
            loaded.feature_importances_
        with pytest.raises(ValueError, match="background=rows"):
            loaded.explain(X)
        background = X
    else:
        np.testing.assert_allclose(loaded.feature_importances_, model.feature_importances_, rtol=1e-9)
    found = loaded.explain(X[:2], background=background)
    np.testing.assert_allclose(found.shapley, expected.shapley, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.total, expected.total, rtol=1e-9)
    np.testing.assert_allclose(loaded.partial_dependence("x1", 4, background), curve, rtol=0, atol=1e-9)
    near = model.explain(X[:2], background=X[:5])
    assert list(near.background) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(near.base, model.predict(X[:5]).mean(axis=0), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_explanations_of_shap():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    shap = pytest.importorskip("shap")
    X, Y = smooth()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0, "high", "low"), same=1.0)
    parts = RFFBLRRegressor().fit(frame, Y).explain(frame[:4], return_std=True)
    both, second = parts.to_shap(), parts.to_shap("y2")
    assert list(both.feature_names) == ["a", "b", "c", "kind"] and list(both.data[0]) == list(frame.iloc[0, :4])
    assert both.values.shape == (4, 4, 2) and both.base_values.shape == (4, 2)
    np.testing.assert_array_equal(second.values, parts.shapley[..., 1])
    np.testing.assert_allclose(second.base_values + second.values.sum(axis=1), parts.prediction[:, 1], atol=1e-9)
    assert isinstance(second[0], shap.Explanation) and second[0].output_names == "y2"
    axes = shap.plots.waterfall(second[0], show=False)
    assert any("kind" in label.get_text() for label in axes.get_yticklabels())
    shap.plots.beeswarm(second, show=False)
    with pytest.raises(ValueError, match="there is no target 'lead'"):
        parts.to_shap("lead")


def test_relevance_is_computed_once_and_never_to_be_shown():
    X, Y = smooth(rows=200, inputs=40)
    model = RFFBLRRegressor().fit(X, Y)

    def seconds(work):
        start = time.process_time()
        work()
        return time.process_time() - start

    shown = seconds(lambda: (model._repr_html_(), dir(model)))
    first = seconds(lambda: model.relevance_)
    again = seconds(lambda: (model.relevance_, model.relevance_std_, model.explain(X[:1])))
    assert first > 0.1 and shown < 0.2 * first and again < 0.5 * first


def test_deviations_of_many_rows_end_in_time():
    X, Y = smooth(rows=200, inputs=120)
    model = RFFBLRRegressor().fit(X, Y)
    start = time.process_time()
    with pytest.warns(RFFBLRWarning, match="of 200 training rows"):
        parts = model.explain(X, return_std=True)
    # Twenty seconds are the aim; a background of the size for one row would take an hour.
    assert time.process_time() - start < 60
    assert parts.std.shape == (200, 120, 2) and 1 < len(parts.background) < 10
    assert np.allclose(parts.base + parts.shapley.sum(axis=1), parts.prediction, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match=r"60000 rows.*at most \d+ rows at once"):
        model.explain(np.tile(X, (300, 1)), return_std=True)


def test_every_training_row_is_explained():
    X, Y = smooth()
    Y[5] = np.nan
    Y[9, 0] = np.nan
    model = RFFBLRRegressor().fit(X, Y)
    parts = model.explain()
    np.testing.assert_allclose(parts.prediction, model.predict(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(parts.shapley, model.explain(X).shapley)


def test_a_report_shows_itself_in_a_notebook():
    model = RFFBLRRegressor().fit(*smooth())
    page = model.report(title="Soil & stones", labels={"x1": ("Depth", "cm"), "y1": "Lead"})
    shown = page._repr_html_()
    # A frame of its own, whose document is the whole page and nothing that the notebook could run.
    assert shown.startswith('<iframe title="Soil &amp; stones" srcdoc="&lt;!doctype html&gt;') and "<script" not in shown
    assert '["Depth","cm"]' in page.html and '["Lead",""]' in page.html
    with pytest.raises(ValueError, match="`x9` is neither an input nor a target"):
        model.report(labels={"x9": "nothing"})


def test_pictures_show_what_the_numbers_say():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, y = smooth()
    model = RFFBLRRegressor().fit(X, y)
    total = model.relevance_[:, 0]
    bars = [bar.get_width() for bar in model.plot_importance().patches]
    np.testing.assert_allclose(sorted(bars), np.sort(total / total.sum()))
    curve = model.partial_dependence("x1")
    axes = model.plot_partial_dependence("x1", target="y1")
    np.testing.assert_allclose(axes.lines[0].get_ydata(), curve["mean[y1]"])
    # One mark for each row that was observed; those outside of their interval are of another shape.
    axes = model.plot_observed()
    mean, std = model.loo_predict(return_std=True)
    observed = np.reshape(y, (len(y), -1))[:, 0]
    mean, std = np.reshape(mean, (len(y), -1))[:, 0], np.reshape(std, (len(y), -1))[:, 0]
    known = ~np.isnan(observed)
    outside = np.abs(observed - mean)[known] > 1.6448536269514722 * std[known]
    assert [len(dots.get_offsets()) for dots in axes.collections[1::2]] == [np.sum(~outside), np.sum(outside)]
    shares = model.plot_calibration().lines[1].get_ydata()
    np.testing.assert_allclose(shares[17], np.mean(~outside))
    assert model.plot_calibration(X=X, y=y).lines[1].get_ydata()[17] >= shares[17]
    with pytest.raises(ValueError, match="there is no target 'lead'"):
        model.plot_observed("lead")
    pyplot.close("all")
