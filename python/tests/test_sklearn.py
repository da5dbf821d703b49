"""The estimator among scikit-learn's tools."""

import copy
import io
import pickle
import sys

import joblib
import numpy as np
import pytest
from conftest import smooth
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rffblr
from rffblr import RFFBLRRegressor, Sinusoids, baselines


def deviations(estimator):
    """Checks that an estimator fails by design, and why."""
    if isinstance(estimator, RFFBLRRegressor) and estimator.weights == "relative":
        why = "relative weights have no scale: weights of 2 are weights of 1, where two copies of each row are more rows"
        return {"check_sample_weight_equivalence_on_dense_data": why}
    return {}


@parametrize_with_checks(
    [
        RFFBLRRegressor(),
        RFFBLRRegressor(weights="repeats"),
        RFFBLRRegressor(preset="paper", weights="repeats"),
        baselines.TrainingMean(),
    ],
    expected_failed_checks=deviations,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_pipeline_and_grid_search():
    X, Y = smooth(rows=60)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), RFFBLRRegressor()),
        {"rffblrregressor__form": [None, Sinusoids(sparsity=0.9)]},
        cv=3,
    )
    search.fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max() > 0.9 and scores[0] != scores[1]
    assert search.score(X, Y) > 0.9


def test_cross_validation_with_missing_targets_and_several_processes():
    X, Y = smooth(rows=60)
    Y[::4, 1] = np.nan
    scores = cross_val_score(RFFBLRRegressor(), X, Y, cv=3, scoring=rffblr.scorers.r2_task, n_jobs=2)
    alone = cross_val_score(RFFBLRRegressor(), X, Y, cv=3, scoring=rffblr.scorers.r2_task)
    assert np.array_equal(scores, alone) and scores.min() > 0.8
    held_out = cross_val_predict(RFFBLRRegressor(), X, Y, cv=3)
    assert held_out.shape == Y.shape and rffblr.metrics.r2_task(Y, held_out) > 0.8


def test_inspection():
    X, Y = smooth(rows=60)
    model = RFFBLRRegressor().fit(X, Y[:, 0])
    importance = permutation_importance(model, X, Y[:, 0], n_repeats=3, random_state=0)
    assert np.argmax(importance.importances_mean) == 0
    curve = partial_dependence(model, X, [0], grid_resolution=10)
    assert curve["average"].shape == (1, 10)


def test_partial_dependence_display():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from sklearn.inspection import PartialDependenceDisplay

    X, Y = smooth(rows=60)
    shown = PartialDependenceDisplay.from_estimator(RFFBLRRegressor().fit(X, Y), X, [0, 1], target=1)
    assert shown.axes_.size == 2


@pytest.mark.parametrize("settings", [{}, {"form": Sinusoids()}, {"preset": "paper"}])
def test_copies_predict_the_same_bits(settings, tmp_path):
    X, Y = smooth(rows=50)
    Y[3, 0] = np.nan
    Y[7] = np.nan
    model = RFFBLRRegressor(**settings).fit(X, Y)
    joblib.dump(model, tmp_path / "model")
    for copy in [pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model"), clone(model).fit(X, Y)]:
        for one, other in [(copy.predict(X, True), model.predict(X, True)), (copy.loo_predict(True), model.loo_predict(True))]:
            assert np.array_equal(one, other)


@pytest.mark.parametrize("weights", ["relative", "repeats"])
def test_copies_know_what_weights_meant(weights, tmp_path):
    X, Y = smooth(rows=50)
    model = RFFBLRRegressor(weights=weights).fit(X, Y, sample_weight=np.linspace(0.3, 4, 50))
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.loo_predict(True), model.loo_predict(True))
    model.save(tmp_path / "model.json")
    assert RFFBLRRegressor.load(tmp_path / "model.json").weights == weights


def test_baselines_survive_a_pickle():
    X, Y = smooth(rows=40)
    model = baselines.MTFL(grid="coarse", random_state=3).fit(X, Y)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X)) and copy.chosen_ == model.chosen_


@pytest.mark.parametrize("copy", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("frames", [False, True])
def test_a_copy_of_a_baseline_is_what_was_fitted(copy, frames):
    X, Y = smooth(rows=40)
    kept, weights = X.copy(), np.linspace(1, 2, 40)
    if frames:
        pd = pytest.importorskip("pandas")
        X, Y = pd.DataFrame(X, columns=list("abc")).assign(whole=1.0 * (np.arange(40) % 3)), pd.DataFrame(Y)
        kept = X.copy()
    model = baselines.Ridge().fit(X, Y, sample_weight=weights)
    expected = model.predict(kept)
    X[:], Y[:], weights[:] = 0.0, 0.0, 0.0
    assert np.array_equal(copy(model).predict(kept), expected)


def test_later_settings_do_not_change_a_copy_of_a_baseline():
    X, Y = smooth(rows=40)
    model = baselines.FNN(grid="coarse").fit(X, Y)
    expected = model.predict(X)
    model.set_params(activation="gaussian", grid="none", random_state=5)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)


def test_any_number_of_threads_gives_the_same_bits():
    X, Y = smooth(rows=120)
    one, two = (RFFBLRRegressor(n_jobs=jobs).fit(X, Y).predict(X, return_std=True) for jobs in (1, 2))
    assert np.array_equal(one, two)


class Counting:
    """Counts the steps of a fit, and asks to stop after some."""

    def __init__(self, most=None):
        self.most, self.steps, self.began, self.ended = most, 0, 0, 0

    def setup(self, estimator, context):
        self.began += 1

    def teardown(self, estimator, context):
        self.ended += 1

    def on_fit_task_begin(self, estimator, context, *, X=None):
        assert X is not None

    def on_fit_task_end(self, estimator, context, *, y=None):
        if context.task_name != "step":
            return False
        self.steps += 1
        return self.most is not None and self.steps >= self.most


def test_callbacks_see_every_step():
    pytest.importorskip("sklearn.callback")
    X, Y = smooth()
    counting = Counting()
    model = RFFBLRRegressor().set_callbacks(counting).fit(X, Y)
    # Those of the shared kernel, and those in which targets are offered kernels of their own.
    assert counting.steps >= model.n_iter_ == len(model.trace_.objective)
    assert (counting.began, counting.ended) == (1, 1)


def test_a_callback_can_end_a_fit():
    pytest.importorskip("sklearn.callback")
    X, Y = smooth(rows=400)
    whole = RFFBLRRegressor().fit(X, Y)
    model = RFFBLRRegressor().set_callbacks(Counting(most=1)).fit(X, Y)
    assert not model.converged_ and model.n_iter_ < whole.n_iter_
    assert np.all(np.isfinite(model.predict(X)))


def test_an_error_of_a_callback_is_raised():
    pytest.importorskip("sklearn.callback")

    class Failing(Counting):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == "step":
                raise KeyError("from the callback")

    X, Y = smooth()
    failing = Failing()
    with pytest.raises(KeyError, match="from the callback"):
        RFFBLRRegressor().set_callbacks(failing).fit(X, Y)
    assert failing.ended == 1


def test_verbose_prints_the_end(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    X, Y = smooth()
    RFFBLRRegressor(verbose=1).fit(X, Y)
    assert out.getvalue().startswith("converged after") and out.getvalue().count("\n") == 1
