"""Numbers against a second derivation: formulas in numpy, scikit-learn, scipy."""

import json

import numpy as np
import pytest
from conftest import smooth
from scipy import stats
from sklearn.metrics import r2_score

from rffblr import Cosines, Drawn, RFFBLRRegressor, Sinusoids, baselines, metrics, scorers


def kernel_of(group, A, B):
    """κ of `docs/derivation.md` (24) for standardised rows, from what the file says of a group of targets."""
    kernel, r = group["kernel"], np.asarray(group["kernel"]["input_scales"])
    delta = A[:, None, :] - B[None, :, :]
    families = [
        ("rbf", (delta**2).sum(-1)),
        ("laplace_l1", (r * np.abs(delta)).sum(-1)),
    ]
    out = 1 + kernel["linear"] * (A @ B.T) / A.shape[1]
    for name, distance in families:
        out += kernel[name]["variance"] * np.exp(-kernel[name]["bandwidth"] * distance)
    return out


def test_a_kernel_machine_is_the_formula_in_its_file(tmp_path):
    X, Y = smooth(rows=60)
    Y[::5, 1] = np.nan
    model = RFFBLRRegressor().fit(X, Y)
    model.save(tmp_path / "model.json")
    file = json.loads((tmp_path / "model.json").read_text())
    machine = file["function"]["kernel"]

    def table(entry):
        return np.reshape(entry["values"], (entry["columns"], entry["rows"])).T

    rows = table(machine["rows"])
    new = np.random.default_rng(5).normal(size=(9, 3))
    Z = (new - file["inputs"]["mean"]) / file["inputs"]["scale"]
    mean, std = model.predict(new, return_std=True)
    places = [(group, i, c) for group in machine["groups"] for i, c in enumerate(group["tasks"])]
    assert sorted(c for _, _, c in places) == [0, 1]
    for group, i, c in places:
        observed = group["observed"][i] if group["observed"][i] is not None else np.arange(60)
        K = kernel_of(group, rows, rows)[np.ix_(observed, observed)] + group["noise"][i] * np.eye(len(observed))
        y = (Y[observed, c] - file["targets"]["mean"][c]) / file["targets"]["scale"][c]
        k = kernel_of(group, Z, rows)[:, observed]
        expected = k @ np.linalg.solve(K, y)
        variance = np.diag(kernel_of(group, Z, Z)) - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
        spread = np.sqrt(group["amplitude"][i] * (variance + group["noise"][i]))
        assert model.gamma_[c] == group["kernel"]["rbf"]["bandwidth"]
        assert model.target_names_[c] in model.target_groups_[machine["groups"].index(group)]
        scale = file["targets"]["scale"][c]
        np.testing.assert_allclose(mean[:, c], file["targets"]["mean"][c] + scale * expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(std[:, c], scale * spread, rtol=1e-8)


def test_leave_one_out_is_leaving_one_out(tmp_path):
    """At the learned kernel: the row's equation is removed and the rest solved again."""
    X, Y = smooth(rows=30, targets=1)
    model = RFFBLRRegressor().fit(X, Y)
    model.save(tmp_path / "model.json")
    file = json.loads((tmp_path / "model.json").read_text())
    machine = file["function"]["kernel"]
    rows = np.reshape(machine["rows"]["values"], (3, 30)).T
    (group,) = machine["groups"]
    K = kernel_of(group, rows, rows)
    y = (Y[:, 0] - file["targets"]["mean"][0]) / file["targets"]["scale"][0]
    for i in range(30):
        others = np.arange(30) != i
        inner = K[np.ix_(others, others)] + group["noise"][0] * np.eye(29)
        expected = file["targets"]["mean"][0] + file["targets"]["scale"][0] * K[i, others] @ np.linalg.solve(inner, y[others])
        assert model.loo_predict()[i, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("settings", [{"form": Sinusoids()}, {"preset": "paper"}, {"form": Cosines(links=True), "max_iterations": 1000}])
def test_sinusoids_and_links_are_the_function(settings):
    X, Y = smooth(rows=60)
    model = RFFBLRRegressor(**settings).fit(X, Y)
    waves, links = model.sinusoids_, model.links_
    new = np.random.default_rng(1).normal(size=(20, 3))
    angles = new @ np.array([waves[f"frequency[x{d}]"] for d in (1, 2, 3)]) + np.asarray(waves["phase"])
    for c, target in enumerate(["y1", "y2"]):
        shares = np.cos(angles) @ np.asarray(waves[f"weight[{target}]"])
        for name, slope in zip(links["input"], links[f"slope[{target}]"]):
            shares = shares + slope * new[:, int(name[1:]) - 1]
        np.testing.assert_allclose(model.predict(new)[:, c], shares + model.constant_[c], atol=1e-9)
    assert model.n_active_ == len(waves) + len(links)


def test_the_view_as_a_kernel_machine():
    X, Y = smooth(rows=50)
    view = RFFBLRRegressor().fit(X, Y).kernel_view_
    assert view.coefficients.shape == (50, 2) and view.kernel_max_error == 0
    drawn = RFFBLRRegressor(form=Cosines(features=400, precision="tied", pruning="never")).fit(X, Y).kernel_view_
    assert 0 < drawn.kernel_rms_error < 0.2
    # Nobody drew the sinusoids of a sparse model from a kernel, and those of a learned one have three families.
    for settings in [{"form": Sinusoids()}, {"form": Drawn(features=20)}]:
        without = RFFBLRRegressor(**settings).fit(X, Y)
        assert not hasattr(without, "kernel_view_") and "kernel_view_" not in dir(without)
        with pytest.raises(AttributeError, match="have no kernel view; fit"):
            without.kernel_view_
        assert len(without.trace_.noise_precision) == without.n_iter_


def test_intervals_are_those_of_the_normal_distribution():
    X, Y = smooth()
    model = RFFBLRRegressor().fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    for coverage in (0.5, 0.9, 0.99):
        lower, upper = model.predict_interval(X, coverage)
        expected = stats.norm.interval(coverage, mean, std)
        np.testing.assert_allclose([lower, upper], expected, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_interval(X, 1.0)


def test_draws_have_the_moments_of_the_prediction():
    X, Y = smooth(rows=40)
    model = RFFBLRRegressor().fit(X, Y)
    new = X[:3] + 0.3
    mean, std = model.predict(new, return_std=True)
    draws = model.sample_y(new, n_samples=20_000)
    assert draws.shape == (3, 2, 20_000)
    assert np.abs(draws.mean(-1) - mean).max() < 0.05 * std.max()
    np.testing.assert_allclose(draws.std(-1), std, rtol=0.05)
    latent = np.sqrt(std**2 - model.nugget_std_**2)
    np.testing.assert_allclose(model.sample_y(new, 20_000, noise=False).std(-1), latent, rtol=0.05)
    assert np.array_equal(draws[..., :5], model.sample_y(new, n_samples=20_000)[..., :5])
    assert model.sample_y(new, n_samples=0).shape == (3, 2, 0)


def test_a_factor_on_all_weights_changes_nothing():
    X, Y = smooth(rows=40)
    weights = np.random.default_rng(0).uniform(0.5, 4, 40)
    for model in [RFFBLRRegressor(), RFFBLRRegressor(form=Sinusoids()), baselines.Ridge(), baselines.GaussianProcess()]:
        one = model.fit(X, Y, sample_weight=weights).predict(X, True)
        assert np.array_equal(model.fit(X, Y, sample_weight=2 * weights).predict(X, True), one)
        for factor in [10, 1 / 40]:
            other = model.fit(X, Y, sample_weight=factor * weights).predict(X, True)
            np.testing.assert_allclose(other, one, atol=1e-5)
        plain = model.fit(X, Y).predict(X, True)
        assert np.array_equal(model.fit(X, Y, sample_weight=np.full(40, 10.0)).predict(X, True), plain)
        assert not np.allclose(plain, one, atol=1e-3)


def test_intervals_hold_with_equal_weights_and_with_true_precisions():
    rng = np.random.default_rng(0)

    def draw(rows, precision):
        X = rng.normal(size=(rows, 3))
        truth = np.column_stack([np.sin(X[:, 0] + 0.3 * c) + 0.5 * X[:, 1] for c in range(4)])
        return X, truth + 0.5 * rng.normal(size=truth.shape) / np.sqrt(precision)[:, None]

    def held(sample_weight, precision):
        X, Y = draw(200, precision)
        lower, upper = RFFBLRRegressor().fit(X, Y, sample_weight=sample_weight).predict_interval(X_new)
        return np.mean((lower <= Y_new) & (Y_new <= upper))

    X_new, Y_new = draw(600, np.ones(600))
    for weight in [2, 10, 1 / 200]:
        assert 0.86 <= held(np.full(200, weight), np.ones(200)) <= 0.94
    precision = rng.gamma(2.0, size=200)
    precision /= precision.mean()
    assert 0.86 <= held(7 * precision, precision) <= 0.94


def test_weights_are_repeated_rows():
    X, Y = smooth(rows=40)
    weights = np.random.default_rng(0).integers(0, 6, 40)
    # One target: which of several depart from the shared kernel is judged by leaving rows out, and a copy is a row.
    Y = Y[:, :1]
    weighted = RFFBLRRegressor(weights="repeats").fit(X, Y, sample_weight=weights)
    repeated = RFFBLRRegressor().fit(X.repeat(weights, axis=0), Y.repeat(weights, axis=0))
    np.testing.assert_allclose(weighted.predict(X, True), repeated.predict(X, True), atol=1e-7)


def test_scores():
    rng = np.random.default_rng(0)
    y, mean = rng.normal(size=(2, 50, 3))
    y[:, 2] *= 40
    std = rng.uniform(0.5, 2, size=y.shape)
    assert metrics.r2_task(y, mean) == pytest.approx(r2_score(y, mean, multioutput="uniform_average"), abs=1e-12)
    assert metrics.r2_pooled(y, mean) == pytest.approx(r2_score(y.ravel(), mean.ravel()), abs=1e-12)
    assert metrics.nlpd(y, mean, std) == pytest.approx(-stats.norm(mean, std).logpdf(y).mean(), rel=1e-12)
    lower, upper = stats.norm.interval(0.8, mean, std)
    assert metrics.coverage(y, mean, std, 0.8) == np.mean((lower <= y) & (y <= upper))
    # CRPS is the integral of the squared difference between the two distribution functions.
    at = np.linspace(-200, 200, 400_001)
    first = np.trapezoid((stats.norm(mean[0, 0], std[0, 0]).cdf(at) - (at >= y[0, 0])) ** 2, at)
    assert metrics.crps(y[:1, :1], mean[:1, :1], std[:1, :1]) == pytest.approx(first, abs=1e-3)


def test_scores_leave_missing_cells_out():
    X, Y = smooth()
    model = RFFBLRRegressor().fit(X, Y)
    full = {name: getattr(scorers, name)(model, X, Y) for name in scorers.__all__}
    assert full["r2_task"] == pytest.approx(model.score(X, Y), abs=1e-12)
    gaps = Y.copy()
    gaps[10:, 1] = np.nan
    mean = model.predict(X)
    by_hand = (r2_score(Y[:, 0], mean[:, 0]) + r2_score(Y[:10, 1], mean[:10, 1])) / 2
    assert model.score(X, gaps) == pytest.approx(by_hand, abs=1e-12)
    assert scorers.r2_task(model, X, gaps) == pytest.approx(by_hand, abs=1e-12)
    weights = np.arange(80.0)
    weighted = r2_score(Y, mean, sample_weight=weights)
    assert model.score(X, Y, sample_weight=weights) == pytest.approx(weighted, abs=1e-12)


def test_missing_targets_are_used_not_dropped():
    """Half of one target is missing where the other, twice the same function, is known."""
    X, Y = smooth(rows=120, noise=0.05)
    gaps = Y.copy()
    gaps[60:, 1] = np.nan
    model = RFFBLRRegressor().fit(X, gaps)
    assert metrics.r2_task(Y[60:, 1], model.predict(X[60:])[:, 1]) > 0.9


def test_shapes_follow_the_targets():
    X, Y = smooth()
    assert RFFBLRRegressor().fit(X, Y[:, 0]).predict(X).shape == (80,)
    assert RFFBLRRegressor().fit(X, Y[:, :1]).predict(X).shape == (80, 1)
    for order in "CF":
        array = np.array(X, order=order)
        array.setflags(write=False)
        assert np.array_equal(RFFBLRRegressor().fit(array, Y).predict(array), RFFBLRRegressor().fit(X, Y).predict(X[::1]))
    assert np.array_equal(
        RFFBLRRegressor().fit(X, Y).predict(np.repeat(X, 2, axis=0)[::2]), RFFBLRRegressor().fit(X, Y).predict(X)
    )


def test_relevance_is_the_variance_lost_by_exchanging_an_input():
    """By the definition: one input of a row is taken from every other row."""
    X, Y = smooth(rows=40)
    X = np.column_stack([X, np.ones(40)])
    for settings in ({}, {"form": Sinusoids()}):
        model = RFFBLRRegressor(**settings).fit(X, Y)
        found = model.relevance_
        assert found.shape == (4, 2) and not found[3].any()
        signal = model.predict(X).var(axis=0)
        for d in range(3):
            tables = []
            for value in X[:, d]:
                exchanged = X.copy()
                exchanged[:, d] = value
                tables.append(model.predict(exchanged))
            # The variance over the values of the input, then the mean over the rows that keep all others.
            expected = np.var(tables, axis=0).mean(axis=0) / signal
            np.testing.assert_allclose(found[d], expected, rtol=1e-8, atol=1e-10)


def test_relevance_joins_the_levels_of_a_text():
    pd = pytest.importorskip("pandas")
    X, Y = smooth(rows=60)
    frame = pd.DataFrame({"x": X[:, 0], "idle": X[:, 2], "group": np.random.default_rng(0).choice(list("abc"), 60)})
    target = 2.0 * (frame["group"] == "b").to_numpy() + 0.1 * X[:, 1]
    found = RFFBLRRegressor().fit(frame, target).relevance_
    assert found.shape == (3, 1) and found[2] > 0.5 > 10 * found[1]


def test_scores_of_targets_of_another_shape_are_refused():
    X, Y = smooth()
    two, one = RFFBLRRegressor().fit(X, Y), RFFBLRRegressor().fit(X, Y[:, 0])
    for model, y, shapes in [
        (two, Y[:, 0], r"\(80,\).*\(80, 2\)"),
        (two, np.r_[Y[:, 0], Y[:, 0]], r"\(160,\).*\(80, 2\)"),
        (two, Y.T, r"\(2, 80\).*\(80, 2\)"),
        (one, Y, r"\(80, 2\).*\(80,\)"),
        (one, Y[:5, 0], r"\(5,\).*\(80,\)"),
    ]:
        with pytest.raises(ValueError, match=shapes):
            model.score(X, y)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\), expected \(80,\)"):
        two.score(X, Y, sample_weight=[1, 2, 3])
    assert one.score(X, Y[:, :1]) == one.score(X, Y[:, 0])


def test_scores_name_what_they_cannot_use():
    _, Y = smooth()
    for question, words in [
        (lambda: metrics.coverage(Y, Y, 1.0), "std has shape"),
        (lambda: metrics.coverage(Y, Y, np.ones_like(Y), 1.5), "level=1.5.*between 0 and 1"),
        (lambda: metrics.r2_task([], []), "y has shape"),
        (lambda: metrics.nlpd(Y, Y, -np.ones_like(Y)), "std has a negative entry"),
        (lambda: metrics.crps(Y, Y[:3], np.ones_like(Y)), "mean has 3 rows of 2 targets, but y has 80 rows"),
    ]:
        with pytest.raises(ValueError, match=words):
            question()


def test_several_coverages_and_joint_covariances():
    X, Y = smooth()
    model = RFFBLRRegressor(target_transform="none").fit(X, Y)
    lower, upper = model.predict_interval(X[:5], coverage=[0.5, 0.9])
    assert lower.shape == upper.shape == (5, 2, 2)
    for at, coverage in enumerate([0.5, 0.9]):
        one = model.predict_interval(X[:5], coverage=coverage)
        assert np.array_equal(lower[..., at], one[0]) and np.array_equal(upper[..., at], one[1])
    for model in [model, RFFBLRRegressor(form=Drawn(features=32), target_transform="none").fit(X, Y)]:
        mean, cov = model.predict(X[:5] + 0.1, return_cov=True)
        std = model.predict(X[:5] + 0.1, return_std=True)[1]
        assert cov.shape == (5, 5, 2) and np.array_equal(mean, model.predict(X[:5] + 0.1))
        np.testing.assert_allclose(np.sqrt(np.diagonal(cov)).T, std, rtol=1e-6)
        draws = model.sample_y(X[:5] + 0.1, n_samples=4000)
        drawn = np.cov(draws[:, 1])
        assert np.abs(drawn - cov[:, :, 1]).max() < 5 * np.sqrt(2 / 4000) * std[:, 1].max() ** 2
    assert RFFBLRRegressor(target_transform="none").fit(X, Y[:, 0]).predict(X[:3], return_cov=True)[1].shape == (3, 3)
    with pytest.raises(ValueError, match="learned transformed.*draw from it"):
        RFFBLRRegressor(target_transform="log").fit(X, np.exp(Y)).predict(X, return_cov=True)
    with pytest.raises(ValueError, match="ask for one of them"):
        model.predict(X, return_std=True, return_cov=True)


def test_draws_at_many_rows_are_those_of_the_posterior():
    X, Y = smooth()
    model = RFFBLRRegressor(target_transform="none").fit(X, Y[:, 0])
    new = np.random.default_rng(1).normal(size=(600, 3))
    new[300:] = new[:300]  # rows that are there twice have the same value of the function
    draws = model.sample_y(new, n_samples=400, noise=False)
    mean, std = model.predict(new, return_std=True)
    spread = np.sqrt(std**2 - model.nugget_std_[0] ** 2)
    assert np.abs(draws[300:] - draws[:300]).max() < 1e-3 * std.max()
    assert np.abs((draws.mean(axis=1) - mean) / spread).max() < 5 / np.sqrt(400)
    np.testing.assert_allclose(draws.std(axis=1), spread, rtol=0.25)
