"""What computes, which changes no model."""

import pickle
import shutil

import numpy as np
import pytest
from conftest import smooth
from sklearn.base import clone

from rffblr import Drawn, Exact, FeatureMap, RFFBLRRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_the_device_is_a_parameter_and_no_property_of_a_model():
    X, Y = smooth(rows=60)
    plain = RFFBLRRegressor(max_iterations=5).fit(X, Y)
    model = RFFBLRRegressor(max_iterations=5, device="cpu").fit(X, Y)
    assert model.model_.to_json() == plain.model_.to_json()
    assert model.settings_ == plain.settings_ and "device" not in model.settings_
    for copy in (pickle.loads(pickle.dumps(model)), model.set_params(device="auto"), clone(model).fit(X, Y)):
        assert np.array_equal(copy.predict(X), plain.predict(X))
    assert RFFBLRRegressor(device="auto").device == "auto"


def test_what_is_no_device_is_refused():
    X, Y = smooth(rows=60)
    with pytest.raises(ValueError, match="device.*cuda:1"):
        RFFBLRRegressor(device="gpu").fit(X, Y)
    with pytest.raises(ValueError, match="device.*cuda:1"):
        FeatureMap.learn(X, Y, rows=60, features=4, device="gpu")
    model = RFFBLRRegressor(form=Drawn(features=4), max_iterations=2).fit(X, Y).set_params(device="gpu")
    with pytest.raises(ValueError, match="device.*cuda:1"):
        model.predict(X)


def test_a_gpu_that_is_not_there():
    if shutil.which("nvidia-smi"):
        pytest.skip("there may be a GPU")
    X, Y = smooth(rows=60)
    for form in (Exact(), Drawn(features=8)):
        with pytest.raises(ValueError, match="device: .*CUDA.*set device cpu"):
            RFFBLRRegressor(form=form, max_iterations=2, device="cuda").fit(X, Y)
        auto = RFFBLRRegressor(form=form, max_iterations=5, device="auto").fit(X, Y)
        host = RFFBLRRegressor(form=form, max_iterations=5, device="cpu").fit(X, Y)
        assert auto.model_.to_json() == host.model_.to_json()
    # The exact form predicts on the processor.
    with pytest.raises(ValueError, match="device: .*CUDA.*set device cpu"):
        auto.set_params(device="cuda").predict(X)
