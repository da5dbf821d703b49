"""The estimator among scikit-learn's tools."""

import copy
import io
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from conftest import smooth
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import rffblr
from rffblr import Cosines, Drawn, Exact, RFFBLRRegressor, Sinusoids, baselines


SAMPLE_WEIGHTS = "check_sample_weight_equivalence_on_dense_data"


def deviations(estimator):
    """Checks that an estimator fails by design, and why."""
    found = {}
    if getattr(estimator, "weights", None) == "relative" and not isinstance(estimator, baselines.TrainingMean):
        found[SAMPLE_WEIGHTS] = "relative weights have no scale: weights of 2 are weights of 1, two copies of a row are more rows"
    if isinstance(estimator, (baselines.SBELM, baselines.GORELM)):
        found[SAMPLE_WEIGHTS] = "features are drawn, and inner folds dealt out, by the number of rows"
    if isinstance(estimator, (baselines.Ridge, baselines.GaussianProcess)):
        found[SAMPLE_WEIGHTS] = "equal to 1e-8 only (ridge), or as far as two climbs of the likelihood end at the same place"
    if isinstance(getattr(estimator, "form", None), Sinusoids):
        found[SAMPLE_WEIGHTS] = "a weight of 2 is nearly two rows: sinusoids are dropped by the number of rows"
    if isinstance(estimator, baselines.HIVAE):
        found["check_regressors_train"] = "the short training of the coarse grid is too short for this table"
        if estimator.learning == "transductive":
            why = "the rows to be predicted take part in the training"
            found |= {"check_methods_sample_order_invariance": why, "check_methods_subset_invariance": why}
    return found


EVERY = [
    RFFBLRRegressor(),
    RFFBLRRegressor(form=Exact()),
    RFFBLRRegressor(preset="authors"),
    RFFBLRRegressor(weights="repeats"),
    RFFBLRRegressor(form=Sinusoids(), weights="repeats"),
    RFFBLRRegressor(form=Drawn(features=32), weights="repeats"),
    RFFBLRRegressor(form=Cosines(), weights="repeats"),
    baselines.TrainingMean(),
    baselines.Ridge(weights="repeats"),
    baselines.GaussianProcess(weights="repeats"),
    baselines.MMR(grid="coarse"),
    baselines.GORELM(grid="coarse", weights="repeats"),
    baselines.MTFL(grid="coarse"),
    baselines.SBELM(grid="coarse", weights="repeats"),
    baselines.FNN(grid="coarse"),
    baselines.FNN(grid="coarse", activation="gaussian"),
    baselines.HIVAE(grid="coarse"),
    baselines.HIVAE(grid="coarse", learning="inductive"),
]


@parametrize_with_checks(EVERY, expected_failed_checks=deviations)
def test_estimator_checks(estimator, check):
    name = getattr(check, "func", check).__name__
    slow = isinstance(estimator, baselines.GORELM) or getattr(estimator, "activation", None) == "gaussian"
    if slow and name in ("check_regressor_data_not_an_array", "check_regressors_train"):
        pytest.skip("25 of some 40 seconds of this method, for code of Python that it shares with the others")
    check(estimator)


def test_only_methods_that_can_use_weights_have_them():
    refused = [baselines.MMR, baselines.MTFL, baselines.FNN, baselines.HIVAE]
    assert [has_fit_parameter(method(), "sample_weight") for method in refused] == [False] * 4
    others = [getattr(baselines, name) for name in baselines.__all__ if getattr(baselines, name) not in refused]
    assert all(has_fit_parameter(method(), "sample_weight") for method in [RFFBLRRegressor, *others])


@pytest.mark.parametrize("estimator", [RFFBLRRegressor, baselines.Ridge])
def test_tags_say_whether_missing_inputs_are_taken(estimator):
    assert get_tags(estimator()).input_tags.allow_nan and not get_tags(estimator(missing="error")).input_tags.allow_nan
    X, Y = smooth(rows=30)
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="missing"):
        estimator(missing="error").fit(X, Y)


def test_inputs_are_selected_by_what_they_do_to_all_targets():
    X, Y = smooth(rows=80, inputs=6, targets=2)
    X[:, [0, 1, 4, 5]] = X[:, [4, 5, 0, 1]]  # those that matter are now the last
    model = RFFBLRRegressor().fit(X, Y)
    assert model.feature_importances_.shape == (6,) and model.feature_importances_.sum() == pytest.approx(1)
    mean = model.relevance_.mean(axis=1)
    np.testing.assert_allclose(model.feature_importances_, mean / mean.sum())
    assert set(np.flatnonzero(RFE(RFFBLRRegressor(), n_features_to_select=2).fit(X, Y).support_)) == {4, 5}
    chosen = SelectFromModel(RFFBLRRegressor(), max_features=2, threshold=-np.inf).fit(X, Y)
    assert set(np.flatnonzero(chosen.get_support())) == {4, 5}


def test_a_fold_that_lacks_a_target_is_scored_without_it():
    X, Y = smooth(rows=60)
    Y[:40, 1] = np.nan  # of three folds in order, the last has all of it
    with pytest.warns(rffblr.RFFBLRWarning) as heard:
        scores = cross_val_score(RFFBLRRegressor(), X, Y, cv=3)
        held_out = cross_val_predict(RFFBLRRegressor(), X, Y, cv=3)
    texts = {str(warning.message) for warning in heard}
    assert any("target 'y2' has no value in the training rows" in text for text in texts)
    assert any("20 cells of 1 target(s) were not predicted" in text for text in texts)
    assert np.all(scores > 0.8) and np.isnan(held_out[40:, 1]).all() and np.isfinite(held_out[:, 0]).all()
    with pytest.warns(rffblr.RFFBLRWarning, match="y2"):
        model = RFFBLRRegressor().fit(X[:40], Y[:40])
    for score in [model.score, lambda X, y: rffblr.metrics.r2_task(y, model.predict(X))]:
        with pytest.warns(rffblr.RFFBLRWarning, match="not predicted"):
            assert score(X[40:], Y[40:]) == pytest.approx(scores[2], abs=1e-12)
    # Whatever is asked for has a place for the target of which nothing is known.
    lower, upper = model.predict_interval(X[:3])
    for table in [lower, upper, model.predict_quantiles(X[:3]), model.sample_y(X[:3], 2), model.loo_predict()[:3]]:
        assert table.shape[:2] == (3, 2) and np.isnan(table[:, 1]).all() and np.isfinite(table[:, 0]).all()
    assert np.isnan(pickle.loads(pickle.dumps(model)).predict(X)[:, 1]).all()
    assert list(model.predict_frame(X).columns)[4:6] == ["y2", "y2_std"] and model.relevance_.shape == (3, 1)


def test_no_score_is_nan_without_a_word():
    X, Y = smooth(rows=60)
    kept = Y.copy()
    Y[:40, 1] = np.nan
    with pytest.warns(UserWarning) as heard:
        scores = cross_val_score(RFFBLRRegressor(), X, Y, cv=3, scoring="r2")
    texts = [str(warning.message) for warning in heard]
    assert np.isnan(scores).all() and sum("Scoring failed" in text for text in texts) == 3
    lacking = [text for text in texts if "target 'y2' has no value in the training rows" in text]
    assert len(lacking) == 1 and "shuffle the rows" in lacking[0] and "rffblr.scorers" in lacking[0]
    # Also where the truth is complete and only the predictions are not.
    with pytest.warns(rffblr.RFFBLRWarning, match="y2"):
        model = RFFBLRRegressor().fit(X[:40], Y[:40])
    with pytest.raises(ValueError, match="NaN"):
        r2_score(kept[40:], model.predict(X[40:]))


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


def test_baselines_survive_a_pickle_and_learn_nothing_again(monkeypatch):
    X, Y = smooth(rows=40)
    models = [baselines.MTFL(grid="coarse", random_state=3), baselines.GaussianProcess(), baselines.FNN(grid="coarse")]
    models = [model.fit(X, Y) for model in models]
    monkeypatch.setattr("rffblr._rffblr.fit_baseline", None)
    for model in models:
        copy = pickle.loads(pickle.dumps(model))
        assert np.array_equal(copy.predict(X), model.predict(X)) and copy.chosen_ == model.chosen_


@pytest.mark.parametrize("estimator", [RFFBLRRegressor(form=Sinusoids()), baselines.Ridge()])
def test_skops_loads_what_it_saved(estimator):
    skops = pytest.importorskip("skops.io")
    X, Y = smooth(rows=40)
    saved = skops.dumps(estimator.fit(X, Y))
    unknown = skops.get_untrusted_types(data=saved)
    assert all(name.startswith("rffblr.") for name in unknown)
    copy = skops.loads(saved, trusted=unknown)
    assert np.array_equal(copy.predict(X, return_std=True), estimator.predict(X, return_std=True))


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


IN_A_NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
import numpy as np
from rffblr import RFFBLRRegressor

shell = InteractiveShell.instance()
shell.kernel = object()  # what tells a notebook from a terminal
X = np.random.default_rng(0).normal(size=(1000, 8))
Y = np.sin(X[:, :2]) + X[:, 1:3]
with capture_output() as heard:
    RFFBLRRegressor(verbose=1).fit(X, Y)
shown = [output.data["text/plain"] for output in heard.outputs]
assert len(shown) > 1 and shown[0].startswith("step") and shown[-1].startswith("converged after"), shown
assert not heard.stderr, heard.stderr
"""


def test_progress_is_shown_in_a_notebook():
    pytest.importorskip("IPython")
    # In a process of its own: a shell takes over much of the one it is in.
    ran = subprocess.run([sys.executable, "-c", IN_A_NOTEBOOK], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_verbose_prints_the_end(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    X, Y = smooth()
    RFFBLRRegressor(verbose=1).fit(X, Y)
    assert out.getvalue().startswith("converged after") and out.getvalue().count("\n") == 1
