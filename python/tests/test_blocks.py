"""Models from blocks of rows: the same bits in any order, from any number of processes."""

import pickle
import random

import numpy as np
import pytest
from conftest import smooth

from rffblr import Accumulator, Drawn, FeatureMap, RFFBLRRegressor, RFFBLRWarning

ROWS, SIZE = 3000, 250

# Few steps, as it is not about what is learned.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    X, Y = smooth(rows=ROWS)
    Y[::5, 1] = np.nan
    return X, Y


@pytest.fixture(scope="module")
def features(data):
    return FeatureMap.learn(data[0][:800], data[1][:800], rows=ROWS, features=40, max_iterations=5)


def block(data, number):
    rows = slice(number * SIZE, (number + 1) * SIZE)
    return [part[rows] for part in data]


def added(features, data, numbers):
    sums = Accumulator(features)
    for number in numbers:
        assert not sums.has(number)
        sums.update(number, *block(data, number))
        assert sums.has(number)
    return sums


def test_order_and_division_change_no_bit(features, data):
    numbers = list(range(ROWS // SIZE))
    expected = features.model(added(features, data, numbers)).predict(data[0], return_std=True)
    random.Random(0).shuffle(numbers)
    mixed = added(features, data, numbers)
    parts = [added(features, data, numbers[k::3]) for k in range(3)]
    there = FeatureMap.from_json(features.to_json())
    assert there == features and hash(there) == hash(features)
    parts[0] = pickle.loads(pickle.dumps(parts[0]))
    parts[1] = Accumulator.from_bytes(parts[1].to_bytes())
    merged = parts[2].merge(parts[0]).merge(parts[1])
    assert mixed.rows == merged.rows == ROWS and merged.feature_map == features
    for sums, of in [(mixed, features), (merged, pickle.loads(pickle.dumps(features))), (merged, there)]:
        for found, wanted in zip(of.model(sums).predict(data[0], return_std=True), expected):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("weights", [None, "relative", "repeats"])
def test_one_block_of_all_rows_is_a_fit(data, weights):
    weight = None if weights is None else 1.0 + np.arange(ROWS) % 3
    total = weight.sum() if weights == "repeats" else ROWS
    settings = {"max_iterations": 5, "weights": weights or "relative"}
    whole = RFFBLRRegressor(form=Drawn(features=30), **settings).fit(*data, sample_weight=weight)
    features = FeatureMap.learn(*data, weight, rows=total, features=30, **settings)
    assert features.features == 30
    model = features.model(Accumulator(features).update(0, *data, weight))
    np.testing.assert_array_equal(model.predict(data[0], return_std=True), whole.predict(data[0], return_std=True))
    # Other blocks are other sums of the same numbers.
    sums = Accumulator(features, n_jobs=2)
    for number in range(ROWS // SIZE):
        given = None if weight is None else weight[number * SIZE : (number + 1) * SIZE]
        sums.update(number, *block(data, number), given)
    np.testing.assert_allclose(features.model(sums).predict(data[0]), whole.predict(data[0]), rtol=1e-6, atol=1e-6)


def test_a_model_of_blocks_is_an_estimator(features, data, tmp_path):
    model = features.model(added(features, data, [0, 1, 5]))
    assert (model.n_features_in_, model.n_outputs_) == (3, 2) and not hasattr(model, "feature_names_in_")
    assert model.score(*data) > 0.9
    model.save(tmp_path / "model.json")
    again = RFFBLRRegressor.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))
    assert again.get_params() == model.get_params() and again.form == Drawn(features=40)
    with pytest.raises(ValueError, match="needs the training data"):
        model.loo_predict()
    with pytest.raises(ValueError, match="background=rows"):
        model.explain(data[0][:1])
    assert model.explain(data[0][:1], background=data[0][:50]).shapley.shape == (1, 3, 2)


def test_frames_with_text_and_gaps():
    pd = pytest.importorskip("pandas")
    X, Y = smooth(rows=900)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 2] > 0, "high", "low")
    frame.loc[::9, "b"] = np.nan
    targets = pd.DataFrame(Y, columns=["t", "u"])
    features = FeatureMap.learn(frame[:400], targets[:400], rows=900, features=20, max_iterations=5)
    sums = Accumulator(features)
    for number in range(3):
        rows = slice(300 * number, 300 * number + 300)
        sums = pickle.loads(pickle.dumps(sums)).update(number, frame[rows], targets[rows])
    model = pickle.loads(pickle.dumps(features)).model(sums)
    assert list(model.feature_names_in_) == ["a", "b", "c", "kind"] and list(model.target_names_) == ["t", "u"]
    assert model.predict(frame).shape == (900, 2)
    # A level that the sample did not have is told of.
    with pytest.warns(RFFBLRWarning, match="kind"):
        sums.update(7, frame[:10].assign(kind="medium"), targets[:10])
    with pytest.raises(ValueError, match="feature names"):
        sums.update(8, frame[["b", "a", "c", "kind"]], targets)


def test_a_single_target_is_flat():
    X, y = smooth(rows=200, targets=1)
    features = FeatureMap.learn(X, y[:, 0], rows=200, features=10, max_iterations=5)
    assert features.model(Accumulator(features).update(3, X, y[:, 0])).predict(X).shape == (200,)


def test_what_does_not_fit_is_refused_and_changes_nothing(features, data):
    sums = added(features, data, [2])
    before = sums.to_bytes()
    X, Y = block(data, 3)
    wrong = [
        ((2, X, Y), "block 2 was added before"),
        ((3, X[:, :2], Y), "expecting 3 features"),
        ((3, X, Y[:, :1]), "targets has 1 columns, expected 2"),
        ((3, X, Y[:-1]), "inconsistent numbers of samples"),
        ((3, X, np.where(Y > 1, np.inf, Y)), "infinity"),
        ((3, X, Y, np.ones(SIZE)), "learned without row weights"),
        ((-1, X, Y), "number=-1"),
    ]
    for arguments, words in wrong:
        with pytest.raises(ValueError, match=words):
            sums.update(*arguments)
    with pytest.raises(TypeError, match="number=1.5"):
        sums.update(1.5, X, Y)
    other = FeatureMap.learn(data[0][:800], data[1][:800], rows=ROWS, features=40, max_iterations=5, seed=1)
    with pytest.raises(ValueError, match="another map"):
        sums.merge(Accumulator(other).update(3, X, Y))
    with pytest.raises(ValueError, match="another map"):
        other.model(sums)
    with pytest.raises(ValueError, match="block 2 was added before"):
        sums.merge(added(features, data, [2]))
    assert sums.update(4, X[:0], Y[:0]).to_bytes() == before
    with pytest.raises(ValueError, match="no rows were added"):
        features.model(Accumulator(features))


def test_damaged_texts_and_bytes_are_refused(features, data):
    good = added(features, data, [0]).to_bytes()
    flipped = good[:-40] + bytes([good[-40] ^ 1]) + good[-39:]
    for bad in [b"", good[:20], good[:-1], b"x" + good, flipped]:
        with pytest.raises(ValueError, match="accumulator"):
            Accumulator.from_bytes(bad)
    for bad in ["", "{}", features.to_json()[:-1], features.to_json().replace('"features"', '"feature"')]:
        with pytest.raises(ValueError):
            FeatureMap.from_json(bad)
    for rows in [0, float("nan"), "many", True]:
        with pytest.raises(ValueError, match="rows="):
            FeatureMap.learn(*data, rows=rows)
    with pytest.raises(ValueError, match="features=1"):
        FeatureMap.learn(*data, rows=ROWS, features=1)
