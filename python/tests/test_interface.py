"""One source for names and defaults; stubs that match what is compiled."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import smooth
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import rffblr
from rffblr import Cosines, Drawn, Exact, RFFBLRRegressor, Sinusoids, _rffblr, baselines

FORMS = [Exact, Drawn, Sinusoids, Cosines]
OWN = {
    "preset": None,
    "missing": "impute",
    "weights": "relative",
    "random_state": 0,
    "n_jobs": None,
    "verbose": 0,
}
# Settings of the library that belong to no form.
COMMON = {"max_iterations": None, "target_transform": None, "device": None}


def test_every_setting_of_the_library_is_a_parameter_of_the_estimator_or_of_a_form():
    found = {name: parameter.default for name, parameter in inspect.signature(RFFBLRRegressor).parameters.items()}
    assert found == {**OWN, **COMMON, "form": None}
    forms = {name for form in FORMS for name in form().get_params()}
    assert forms | set(COMMON) | {"seed"} == {name for name, *_ in _rffblr.settings()}
    text = " ".join(inspect.getdoc(RFFBLRRegressor).split())
    for name, meaning, _, of_cosines, defaults in _rffblr.settings():
        if name in COMMON:
            assert f"{meaning}. [{defaults}]" in text
        elif name != "seed":
            assert any(meaning in " ".join(inspect.getdoc(form).split()) for form in FORMS), name


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_giving_a_default_changes_nothing():
    X, Y = smooth(rows=30)
    for preset in _rffblr.PRESETS:
        plain = RFFBLRRegressor(preset=preset, max_iterations=20).fit(X, Y)
        form = plain.settings_["form"]
        for name, value in form.get_params().items():
            if preset == "cosines" and name == "features":
                value = "automatic"
            given = RFFBLRRegressor(preset=preset, max_iterations=20, form=type(form)(**{name: value})) if preset != "default" else None
            assert given is None or given.fit(X, Y).model_.to_json() == plain.model_.to_json(), name
        assert RFFBLRRegressor(**plain.settings_).fit(X, Y).model_.to_json() == plain.model_.to_json()


def test_settings_that_were_used_say_what_weights_and_gaps_mean(tmp_path):
    X, Y = smooth(rows=40)
    weights = np.linspace(0.5, 3, 40)
    model = RFFBLRRegressor(weights="repeats", missing="error").fit(X, Y, sample_weight=weights)
    again = RFFBLRRegressor(**model.settings_).fit(X, Y, sample_weight=weights)
    assert again.model_.to_json() == model.model_.to_json()
    model.save(tmp_path / "model.json")
    assert repr(RFFBLRRegressor.load(tmp_path / "model.json").settings_) == repr(model.settings_)


def test_forms_are_parameters_for_scikit_learn():
    model = RFFBLRRegressor(form=Cosines(links=True))
    assert model.get_params()["form__links"] is True and repr(model) == "RFFBLRRegressor(form=Cosines(links=True))"
    copy = clone(model).set_params(form__links=False)
    assert model.form.links is True and copy.form.links is False
    X, Y = smooth(rows=40)
    search = GridSearchCV(RFFBLRRegressor(form=Sinusoids()), {"form__sparsity": [0.5, 0.9]}, cv=2).fit(X, Y)
    assert search.best_estimator_.settings_["form"].sparsity == search.best_params_["form__sparsity"]


TYPED = """
import numpy as np
from rffblr import Cosines, RFFBLRRegressor, baselines

def check(X: np.ndarray, flag: bool) -> None:
    form = Cosines(input_scales=np.ones(3), links=True, weight_prior=[1e-6, 1e-6], spectrum="matern32")
    model = RFFBLRRegressor(preset="paper", form=form).fit(X, X)
    reveal_type(model)
    reveal_type(baselines.Ridge().fit(X, X))
    reveal_type(RFFBLRRegressor.load("a"))
    reveal_type(model.predict(X))
    reveal_type(model.predict(X, return_std=True))
    reveal_type(model.predict(X, return_std=flag))
    reveal_type(model.loo_predict(return_std=flag))
"""

WRONG = """
from rffblr import Cosines, RFFBLRRegressor, Sinusoids, baselines

RFFBLRRegressor(preset="papr")
RFFBLRRegressor(form="cosines")
RFFBLRRegressor(missing="drop")
Cosines(spectrum="sinc")
Sinusoids(features=3)
baselines.FNN(grid="fine")
"""


def test_types_are_known_to_a_checker(tmp_path):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "typed.py").write_text(TYPED)
    config = Path(__file__).parents[1] / "pyproject.toml"
    out, _, code = api.run([f"--config-file={config}", f"--cache-dir={tmp_path}", str(tmp_path / "typed.py")])
    found = [line.split("Revealed type is ")[1].strip('"') for line in out.splitlines() if "Revealed type" in line]
    assert code == 0, out
    assert [text.split(".")[-1] for text in found[:3]] == ["RFFBLRRegressor", "Ridge", "RFFBLRRegressor"]
    assert ["tuple[numpy" in text for text in found[3:]] == [False, True, True, True]
    assert [" | " in text for text in found[3:]] == [False, False, True, True]
    (tmp_path / "wrong.py").write_text(WRONG)
    out, _, _ = api.run([f"--config-file={config}", f"--cache-dir={tmp_path}", str(tmp_path / "wrong.py")])
    assert {int(line.split(":")[1]) for line in out.splitlines() if ": error:" in line} == {4, 5, 6, 7, 8, 9}, out


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_setting_left_out_is_the_preset():
    X, Y = smooth()
    for preset in _rffblr.PRESETS:
        fitted = dict(RFFBLRRegressor(preset=preset).fit(X, Y).model_.settings())
        of_cosines = {name for name, _, _, drawn, _ in _rffblr.settings() if drawn} - {"effort"}
        own = {"cosines": {"features", "precision", "effort"}, "paper": of_cosines, "authors": of_cosines}.get(preset, {"sparsity"})
        assert set(fitted) == {"max_iterations", "seed", "target_transform"} | own
        for name, _, _, _, defaults in _rffblr.settings():
            # The number that was chosen for the rows takes the place of "automatic".
            if name in fitted and (preset, name) != ("cosines", "features"):
                assert defaults == f"default: {fitted[name]}" or f"{preset}: {fitted[name]}" in defaults


def test_values_of_python_are_those_of_the_command_line():
    X, Y = smooth()
    settings = {
        "features": 30,
        "bandwidth": 0.1,
        "input_scales": [1, 0.5, np.float64(0.25)],
        "weight_prior": (1e-3, 2e-3),
        "links": False,
        "link_scale": "unit",
        "weight_start": 10,
        "noise_start": np.float64(0.5),
        "pruning": "weight:0.1",
        "pruning_from": 3,
        "restarts": np.int64(2),
        "tolerance": 1e-4,
    }
    fitted = dict(RFFBLRRegressor(form=Cosines(**settings)).fit(X, Y).model_.settings())
    assert fitted["features"] == "30" and fitted["bandwidth"] == "0.1"
    assert fitted["input_scales"] == "1,0.5,0.25" and fitted["weight_prior"] == "1e-3,2e-3"
    assert fitted["link_scale"] == "unit" and fitted["weight_start"] == "10" and fitted["noise_start"] == "0.5"
    assert fitted["pruning"] == "weight:0.1" and fitted["pruning_from"] == "3"
    assert fitted["links"] == "false" and fitted["restarts"] == "2" and fitted["tolerance"] == "1e-4"


def test_every_other_method_is_a_baseline():
    names = {name for name, _ in _rffblr.methods() if not name.startswith("rffblr")}
    found = set()
    for each in baselines.__all__:
        estimator = getattr(baselines, each)
        for choice in [{}, {"activation": "gaussian"}, {"learning": "inductive"}]:
            if set(choice) <= set(inspect.signature(estimator).parameters):
                found.add(estimator(**choice)._method)
    assert found == names


def test_docstrings_have_an_example_that_is_run():
    public = [RFFBLRRegressor, *FORMS, *(getattr(baselines, name) for name in baselines.__all__)]
    public += [getattr(module, name) for module in (rffblr.metrics, rffblr.scorers) for name in module.__all__]
    public += [rffblr.FeatureMap]
    methods = ["fit", "fit_files", "predict", "predict_interval", "predict_frame", "sample_y", "score", "loo_predict", "save"]
    for item in [*public, *(getattr(RFFBLRRegressor, name) for name in methods)]:
        assert ">>>" in inspect.getdoc(item), item


def test_stubs_name_what_is_compiled():
    stub = ast.parse((Path(rffblr.__file__).parent / "_rffblr.pyi").read_text())
    assert (Path(rffblr.__file__).parent / "py.typed").exists()
    named = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    constants = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    compiled = {name for name in dir(_rffblr) if not name.startswith("__")} | {"__version__"}
    assert set(named) | constants == compiled
    for name, node in named.items():
        item = getattr(_rffblr, name)
        if isinstance(node, ast.FunctionDef):
            assert [a.arg for a in node.args.args] == list(inspect.signature(item).parameters), name
            continue
        members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        own = {member for member in vars(item) if not member.startswith("__")}
        assert {m for m in members if not m.startswith("__")} == own, name


def test_baselines_fit_several_targets_and_frames():
    pd = pytest.importorskip("pandas")
    X, Y = smooth(rows=30)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = baselines.Ridge().fit(frame, pd.DataFrame(Y, columns=["t", "u"]))
    assert list(model.predict_frame(frame).columns) == ["t", "t_std", "t_lower", "t_upper", "u", "u_std", "u_lower", "u_upper"]
    chosen = baselines.SBELM(grid="coarse").fit(X, Y).chosen_
    assert chosen
