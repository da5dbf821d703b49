"""A C-contiguous array is read where it lies: by the fit, and afterwards by leave-one-out and explanations."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import smooth

from rffblr import Cosines, Drawn, RFFBLRRegressor, Sinusoids

# Few rows, few cosines: next to the inputs everything else is small, but for the buffers of 64 MiB that a thread reserves
# for its first matrix product, whatever its size. The peak is reset before the fit.
MEASURE = """
import numpy as np
from pathlib import Path
from rffblr import Cosines, RFFBLRRegressor, baselines

def peak():
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

X = np.empty((400, 40_000))
np.random.default_rng(0).standard_normal(out=X)
y = X[:, 0] + X[:, 1]
model = {model}
model.__class__().set_params(**model.get_params()).fit(X[:20, :50].copy(), y[:20])  # loads what is loaded once
Path("/proc/self/clear_refs").write_text("5")
before = peak()
model.fit(X, y)
print((peak() - before - 2**26) / X.nbytes)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="looks at /proc")
@pytest.mark.parametrize(
    "model",
    [
        "RFFBLRRegressor(form=Cosines(features=20), max_iterations=3, n_jobs=1)",
        "RFFBLRRegressor(max_iterations=1, n_jobs=1)",
    ],
)
def test_a_fit_needs_memory_for_the_standardised_inputs_and_no_more(model):
    code = MEASURE.format(model=model)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    copies = float(done.stdout)
    # The default compares transforms of the target on a part of the rows.
    assert 0.4 < copies < (1.4 if "Cosines" in model else 1.9), f"{copies} copies of the inputs"


def test_an_array_is_kept_and_not_copied():
    X, Y = smooth(rows=50)
    references = sys.getrefcount(X)
    model = RFFBLRRegressor().fit(X, Y)
    assert sys.getrefcount(X) > references
    del model
    assert sys.getrefcount(X) == references


@pytest.mark.parametrize("settings", [{}, {"preset": "paper"}, {"form": Sinusoids()}])
def test_where_the_numbers_lie_changes_no_bit(settings):
    X, Y = smooth(rows=60)
    Y[3, 0] = np.nan
    weights = np.linspace(0.5, 2, 60)
    forms = [X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], [list(row) for row in X]]
    models = [RFFBLRRegressor(**settings).fit(form, Y, sample_weight=weights) for form in forms]
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict(X), models[0].predict(X))
        for mine, first in zip(model.loo_predict(return_std=True), models[0].loo_predict(return_std=True)):
            np.testing.assert_array_equal(mine, first)


def test_an_array_that_was_changed_is_noticed():
    X, Y = smooth(rows=50)
    kept = X.copy()
    model = RFFBLRRegressor().fit(X, Y)
    left_out, relevance, predicted = model.loo_predict(), model.relevance_.copy(), model.predict(kept)
    X[7, 1] += 1
    for question in [
        model.loo_predict,
        lambda: model.explain(kept[:1]),
        lambda: model.partial_dependence(0),
    ]:
        with pytest.raises(ValueError, match="the array given to fit has been changed since"):
            question()
    for name in ["relevance_", "relevance_std_", "kernel_view_"]:
        assert not hasattr(model, name) and name not in dir(model)
        with pytest.raises(AttributeError, match="the array given to fit has been changed since"):
            getattr(model, name)
    assert "n_iter_" in model._repr_html_()
    np.testing.assert_array_equal(model.predict(kept), predicted)
    # A pickle holds no data rather than others.
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(kept), predicted)
    with pytest.raises(ValueError, match="needs the training data"):
        again.loo_predict()
    # What was put back is as good as never changed.
    X[7, 1] = kept[7, 1]
    np.testing.assert_array_equal(model.loo_predict(), left_out)
    np.testing.assert_array_equal(model.relevance_, relevance)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).loo_predict(), left_out)
    # Resized by force, its numbers are no longer there.
    X.resize((10, 3), refcheck=False)
    with pytest.raises(ValueError, match="has been changed since"):
        model.loo_predict()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_memory_mapped_arrays(tmp_path):
    """One of float64 in C order is read where it lies; where and how numbers lie changes no bit."""
    X, Y = smooth(rows=3500)
    X = X.astype(np.float32).astype(np.float64)
    forms = {"c": X, "fortran": np.asfortranarray(X), "single": X.astype(np.float32)}
    predictions = []
    for name, form in forms.items():
        np.save(tmp_path / f"{name}.npy", form)
        mapped = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
        references = sys.getrefcount(mapped)
        model = RFFBLRRegressor(max_iterations=3, form=Drawn(features=20)).fit(mapped, Y)
        assert model.model_.form == "drawn"
        assert (sys.getrefcount(mapped) > references) == (name == "c")
        predictions.append(model.predict(mapped))
    np.testing.assert_array_equal(predictions[0], predictions[1])
    np.testing.assert_array_equal(predictions[0], predictions[2])
