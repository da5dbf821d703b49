"""Transformed targets: chosen where they pay, predicted on their own scale."""

import numpy as np
import pytest
from scipy import stats

from rffblr import RFFBLRRegressor


def skewed(rows=120, seed=0, noise=0.6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    logs = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + noise * rng.normal(size=rows)
    return X, logs


def test_the_logarithm_is_a_model_of_logarithms():
    X, logs = skewed(noise=0.3)
    new = 0.5 * skewed(20, 1)[0]
    log = RFFBLRRegressor(target_transform="log").fit(X, np.exp(logs))
    plain = RFFBLRRegressor(target_transform="none").fit(X, logs)
    mean, std = plain.predict(new, return_std=True)
    np.testing.assert_allclose(log.predict(new, point="median"), np.exp(mean), rtol=1e-6)
    law = stats.lognorm(s=std, scale=np.exp(mean))
    probabilities = [0.05, 0.3, 0.95]
    expected = np.column_stack([law.ppf(p) for p in probabilities])
    np.testing.assert_allclose(log.predict_quantiles(new, probabilities), expected, rtol=1e-5)
    np.testing.assert_allclose(np.column_stack(log.predict_interval(new)), expected[:, [0, 2]], rtol=1e-5)
    frame = log.predict_frame(new)
    np.testing.assert_allclose(frame["y1_upper"], expected[:, 2], rtol=1e-5)
    draws = log.sample_y(new, n_samples=4000)
    np.testing.assert_allclose((draws < expected[:, 1:2]).mean(-1), 0.3, atol=0.04)
    assert np.all(log.predict(new, point="mean") > np.exp(mean))
    assert log.predict_quantiles(new, []).shape == (20, 0)
    assert log.transforms_ == {"y1": "ln(y1)"} and plain.transforms_ == {}


def test_auto_transforms_what_is_skewed_and_says_so(tmp_path):
    X, logs = skewed(160)
    Y = np.column_stack([logs, np.exp(logs)])
    model = RFFBLRRegressor().fit(X, Y)
    assert list(model.transforms_) == ["y2"] and model.transforms_["y2"].startswith("asinh(y2/")
    lower, _ = model.predict_interval(X)
    assert np.all(lower[:, 1] >= 0)
    parts = model.explain(X[:3])
    np.testing.assert_allclose(parts.base + parts.shapley.sum(axis=1), parts.prediction, atol=1e-8)
    assert parts.scales_of == ["y1", model.transforms_["y2"]]
    model.save(tmp_path / "model.json")
    again = RFFBLRRegressor.load(tmp_path / "model.json")
    assert np.array_equal(again.predict_quantiles(X), model.predict_quantiles(X))
    assert again.transforms_ == model.transforms_
    by_name = RFFBLRRegressor(target_transform="auto,y2=none").fit(X, Y)
    assert by_name.transforms_ == {}


def test_shapley_values_are_in_the_unit_of_the_target():
    X, logs = skewed(60, noise=0.3)
    Y = np.column_stack([logs, np.exp(logs)])
    model = RFFBLRRegressor(target_transform="none,y2=log").fit(X, Y)
    new = np.vstack([X[:4], 0.5 * skewed(4, 1)[0]])
    parts = model.explain(new, return_std=True)
    np.testing.assert_allclose(parts.prediction, model.predict(new, point="median"), rtol=1e-9)
    np.testing.assert_allclose(parts.base + parts.shapley.sum(axis=1), parts.prediction, rtol=1e-7)
    # Values of logarithms by their definition: the mean of two differences, each over all rows compared with.
    def log(rows):
        return np.log(model.predict(rows, point="median")[:, 1])

    compared = X[parts.background]
    base = log(compared).mean()
    assert parts.base[1] == pytest.approx(np.exp(base), rel=1e-9)
    assert parts.base[0] == pytest.approx(model.predict(compared)[:, 0].mean(), rel=1e-9)
    for row, values, stds in zip(new, parts.shapley[..., 1], parts.std[..., 1], strict=True):
        alone = [log(np.where(np.arange(2) == j, row, compared)).mean() for j in range(2)]
        prediction = log(row[None])[0]
        expected = [0.5 * (alone[j] - base + prediction - alone[1 - j]) for j in range(2)]
        factor = (np.exp(prediction) - np.exp(base)) / (prediction - base)
        np.testing.assert_allclose(values, np.multiply(expected, factor), rtol=1e-5, atol=1e-7)
        assert np.all(stds > 0)
    # A model of the logarithms themselves, which is the same function, has their values and deviations.
    of_logs = RFFBLRRegressor(target_transform="none").fit(X, logs)
    of_log = RFFBLRRegressor(target_transform="log").fit(X, np.exp(logs))
    own, found = of_logs.explain(new, return_std=True), of_log.explain(new, return_std=True)
    factor = (np.exp(own.prediction) - np.exp(own.base)) / (own.prediction - own.base)
    np.testing.assert_allclose(found.shapley, own.shapley * factor[:, None], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.std, own.std * factor[:, None], rtol=1e-4)
    # Shares of the variance are those of the logarithms.
    np.testing.assert_allclose(found.total, own.total, rtol=1e-5)


def test_wrong_wishes_are_refused():
    X, logs = skewed(40)
    with pytest.raises(ValueError, match="not positive"):
        RFFBLRRegressor(target_transform="log").fit(X, logs)
    model = RFFBLRRegressor().fit(X, logs)
    with pytest.raises(ValueError, match="mean or median"):
        model.predict(X, point="mode")
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_quantiles(X, [0.5, 1.0])
