"""What goes wrong is said in Python's terms, with the library's words."""

import numpy as np
import pytest
from conftest import smooth
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from rffblr import Cosines, Drawn, RFFBLRRegressor, Sinusoids, _rffblr, baselines


def test_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.json"):
        RFFBLRRegressor.load(tmp_path / "nowhere.json")
    (tmp_path / "broken.json").write_text('{"format": "rffblr-model"')
    with pytest.raises(ValueError, match="broken.json: the file ends too early"):
        RFFBLRRegressor.load(tmp_path / "broken.json")
    X, Y = smooth()
    model = RFFBLRRegressor().fit(X, Y)
    with pytest.raises(OSError, match="no/such/folder"):
        model.save(tmp_path / "no/such/folder/model.json")
    assert list(tmp_path.iterdir()) == [tmp_path / "broken.json"]


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"preset": "papre"}, "default, exact, cosines, paper, authors"),
        ({"form": Cosines(spectrum="sinc")}, "laplace-l1"),
        ({"preset": "default", "form": Drawn(features=30)}, "preset='default' is not of the form Drawn.* write 'cosines'"),
        ({"form": Sinusoids(sparsity=1.0)}, "from 0 up to"),
        ({"form": Sinusoids(sparsity=0)}, "above 0 and below 1"),
        ({"max_iterations": 0}, "at least 1"),
        ({"max_iterations": -3}, "whole number"),
        ({"form": Cosines(input_scales=[1.0])}, "1 entries, expected 3"),
        ({"form": Cosines(learning_rate=float("nan"))}, "positive finite"),
        ({"missing": "drop"}, "impute or error"),
        ({"missing": None}, "missing=None: write impute or error"),
        ({"form": Cosines(spectrum="laplace-l1", directions="orthogonal")}, "directions"),
        ({"form": Cosines(pruning=0.7, precision="tied")}, "precision free"),
        ({"form": Cosines(pruning="weight:x")}, "weight:0.1"),
        ({"preset": "authors", "form": Cosines(weight_start=0.0)}, "positive finite"),
        ({"form": Cosines(pruning_from=0)}, "at least 1"),
        ({"random_state": -1}, "seed"),
    ],
)
def test_settings(settings, words):
    X, Y = smooth()
    with pytest.raises(ValueError, match=words):
        RFFBLRRegressor(**settings).fit(X, Y)


def test_types():
    X, Y = smooth()
    with pytest.raises(TypeError, match="preset=1: write one of default, exact, cosines, paper, authors"):
        RFFBLRRegressor(preset=1).fit(X, Y)
    with pytest.raises(TypeError, match="features="):
        RFFBLRRegressor(form=Drawn(features=object())).fit(X, Y)
    with pytest.raises(TypeError, match=r"write a form, such as rffblr.Sinusoids\(sparsity=0.75\)"):
        RFFBLRRegressor(form="sinusoids").fit(X, Y)
    with pytest.raises(TypeError, match=r"give X.toarray\(\), or, if that is too large, fewer columns"):
        RFFBLRRegressor().fit(sparse.csr_array(X), Y)


def test_counts():
    X, Y = smooth()
    model = RFFBLRRegressor().fit(X, Y)
    for wrong, problem in [(-1, ValueError), (1.5, TypeError), (True, TypeError)]:
        with pytest.raises(problem, match=f"n_samples={wrong}: write a whole number from 0 on"):
            model.sample_y(X, wrong)
    for wrong, problem in [(-1, ValueError), (0, ValueError), ("a", TypeError)]:
        with pytest.raises(problem, match=f"resolution={wrong!r}: write a whole number from 2 on"):
            model.partial_dependence("x1", resolution=wrong)


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("estimator", [RFFBLRRegressor, baselines.Ridge])
def test_a_failed_fit_changes_nothing(fitted, estimator):
    X, Y = smooth()
    model = estimator()
    if fitted:
        model.fit(X, Y)
        expected = model.predict(X)
    model.set_params(**({"form": Sinusoids(sparsity=2)} if estimator is RFFBLRRegressor else {"missing": "drop"}))
    before = set(vars(model))
    with pytest.raises(ValueError):
        model.fit(X[:, :2], Y[:, 0])
    assert set(vars(model)) == before
    if fitted:
        assert np.array_equal(model.predict(X), expected)


def test_a_fit_that_ran_out_of_steps_warns():
    X, Y = smooth()
    with pytest.warns(ConvergenceWarning, match="max_iterations=2 before it converged") as heard:
        model = RFFBLRRegressor(max_iterations=2).fit(X, Y)
    assert not model.converged_ and [warning.filename for warning in heard] == [__file__]


def test_data():
    X, Y = smooth()
    fit = RFFBLRRegressor().fit
    with pytest.raises(ValueError, match="infinity"):
        fit(np.where(X > 2, np.inf, X), Y)
    with pytest.raises(ValueError, match="infinity"):
        fit(X, np.where(Y > 1, np.inf, Y))
    unknown = Y.copy()
    unknown[:, 1] = np.nan
    with pytest.raises(ValueError, match="no row has a value"):
        fit(X, np.full_like(Y, np.nan))
    with pytest.raises(ValueError, match="the same in all rows"):
        fit(np.ones_like(X), Y)
    with pytest.raises(ValueError, match="non-zero|sum to 0"):
        fit(X, Y, sample_weight=np.zeros(80))
    with pytest.raises(ValueError):
        fit(X, Y, sample_weight=np.full(80, np.nan))
    with pytest.raises(ValueError, match="weights='twice': write relative or repeats"):
        RFFBLRRegressor(weights="twice").fit(X, Y)
    with pytest.raises(ValueError, match="dim 3"):
        fit(X, Y[:, :, None])
    with pytest.raises(ValueError, match="too far outside"):
        fit(1e-10 * X, Y).predict(np.full((1, 3), 1e308))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_extreme_numbers_work():
    X, Y = smooth()
    model = RFFBLRRegressor().fit(1e300 * X, 1e-300 * Y)
    assert np.all(np.isfinite(model.predict(1e300 * X)))
    wide = np.random.default_rng(0).normal(size=(10, 60))
    assert np.all(np.isfinite(RFFBLRRegressor().fit(wide, wide[:, 0]).predict(wide)))


@pytest.mark.parametrize("settings", [{"preset": "exact"}, {"form": Drawn(features=20)}])
def test_a_kernel_machine_says_what_it_is_not_made_of(settings):
    X, Y = smooth()
    model = RFFBLRRegressor(**settings).fit(X, Y)
    for name in ["sinusoids_", "constant_"]:
        assert not hasattr(model, name) and name not in dir(model)
        with pytest.raises(AttributeError, match=r"Sinusoids\(sparsity=0.75\)"):
            getattr(model, name)


def test_a_panic_is_an_exception(capfd):
    with pytest.raises(RuntimeError, match="internal error of rffblr, please report it: on purpose"):
        _rffblr.panic_inside()
    assert capfd.readouterr().err == ""


def test_baselines_refuse_what_they_cannot_use():
    X, Y = smooth(rows=30)
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match="method mmr: it cannot use missing target cells"):
        baselines.MMR(grid="coarse").fit(X, Y)
    with pytest.raises(ValueError, match="gives no standard deviation"):
        baselines.MTFL(grid="coarse").fit(X, np.nan_to_num(Y)).predict(X, return_std=True)
    with pytest.raises(ValueError, match="write full or coarse"):
        baselines.MMR(grid="fine").fit(X, Y)
    with pytest.raises(ValueError, match="relu or gaussian"):
        baselines.FNN(activation="tanh").fit(X, Y)
