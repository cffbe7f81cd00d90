"""The rivals of the paper's comparison that train a model. What is not installed is skipped."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.paper.method import Rows, Split
from benchmarks.paper.rivals import _fair_model, fgp, laftr

RIVALS = {
    "fgp": (),
    "laftr": (),
    "exponentiated_gradient": ("fairlearn", "sklearn"),
    "adv_deb": ("tensorflow", "aif360", "pandas"),
    "fairgbm": ("fairgbm",),
}


def rows_of(rng, n):
    """Rows whose second column tells the group, and whose labels depend on it."""
    a = (rng.random(n) < 0.6).astype(np.uint8)
    x = rng.normal(size=(n, 5)).astype(np.float32)
    x[:, 1] += 1.5 * a
    y = (x[:, 0] + 0.8 * x[:, 1] + rng.normal(size=n) > 0.7).astype(np.uint8)
    return Rows(x, y, a, x[:, 0].astype(np.float64), np.full(n, 0.5))


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(11)
    fit, test = rows_of(rng, 800), rows_of(rng, 300)
    nothing = rows_of(rng, 0)
    return Split("synthetic", "lr", "paper", 3, fit, nothing, test, fit.score, fit.q)


def gap(rows, accepted, label):
    here = rows.y == label
    return abs(accepted[here & (rows.a == 1)].mean() - accepted[here & (rows.a == 0)].mean())


@pytest.fixture(params=RIVALS)
def method(request):
    for package in RIVALS[request.param]:
        pytest.importorskip(package, reason=f"{request.param} needs {package}, which is not installed")
    return importlib.import_module(f"benchmarks.paper.rivals.{request.param}").METHOD


class Forbidden:
    """Rows that nobody may look at."""

    def __getattr__(self, name):
        raise AssertionError(f"fit read {name} of rows that it must not see")

    def __len__(self):
        raise AssertionError("fit counted rows that it must not see")


@pytest.mark.filterwarnings("ignore")  # theirs
def test_a_rival_learns_from_fit_rows_alone_and_answers_with_probabilities(method, split):
    hidden = replace(split, validation=Forbidden(), test=Forbidden())
    setting = method.settings("synthetic", method.criteria[0])[0]
    decide = method.fit(hidden, method.criteria[0], setting)
    accepted = decide(split.test, np.zeros(300))
    scores = decide.score(split.test)
    assert accepted.shape == scores.shape == (300,)
    assert accepted.min() >= 0
    assert accepted.max() <= 1
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 100
    assert np.mean(np.where(split.test.y == 1, accepted, 1 - accepted)) > 0.6  # it has learned
    blind = replace(split.test, y=1 - split.test.y, a=1 - split.test.a)
    assert np.array_equal(decide(blind, np.ones(300)), accepted)  # labels, groups and other scores are not asked for
    if not method.randomised:
        assert np.array_equal(accepted, scores >= 0)


@pytest.mark.filterwarnings("ignore")
def test_a_rival_repeats_itself(method, split, monkeypatch):
    monkeypatch.setattr(laftr, "LEAST_STEPS", 50)
    small = replace(split, fit=_fair_model.drawn(split.fit, 200, 0))
    setting = method.settings("synthetic", method.criteria[0])[-1]
    answers = []
    for state in (1, 2):
        np.random.seed(state)  # noqa: NPY002 - what others left behind must not matter
        answers.append(method.fit(small, method.criteria[0], setting)(split.test, split.test.score))
    assert np.array_equal(*answers)


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_has_three_settings_or_more_for_each_criterion(name):
    rival = importlib.import_module(f"benchmarks.paper.rivals.{name}").METHOD  # no package is needed to ask
    assert rival.name == name
    for data in ("adult", "compas", "german", "celeba"):
        for criterion in rival.criteria:
            assert len(rival.settings(data, criterion)) >= 3


@pytest.mark.parametrize("rival", [fgp, laftr])
def test_a_fair_setting_lowers_the_gap(rival, split):
    settings = rival.METHOD.settings("synthetic", "equalized_odds")
    fair, free = (settings[0], settings[-1]) if rival is fgp else (settings[-1], settings[0])
    gaps = []
    for setting in (fair, free):
        accepted = rival.fit(split, "equalized_odds", setting)(split.test, split.test.score)
        gaps.append(gap(split.test, accepted, 0) + gap(split.test, accepted, 1))
    assert gaps[0] < 0.6 * gaps[1]


def test_large_data_is_thinned_to_the_same_rows_each_time(split, monkeypatch):
    assert _fair_model.training_rows(split) is split.fit
    monkeypatch.setattr(_fair_model, "WHOLE", 700)
    monkeypatch.setattr(_fair_model, "MOST_ROWS", 100)
    some = _fair_model.training_rows(split)
    assert len(some) == len(np.unique(some.X[:, 0])) == 100
    assert np.array_equal(some.X, _fair_model.training_rows(split).X)
    assert not np.array_equal(some.X, _fair_model.training_rows(replace(split, seed=4)).X)


# FGP


@pytest.mark.parametrize(
    ("criterion", "labels"), [("equalized_odds", (0, 1)), ("equal_opportunity", (1,)), ("demographic_parity", ())]
)
def test_the_groups_have_equal_mean_scores_under_the_fair_prior(criterion, labels, split):
    rows = split.fit
    fair = fgp.fit(split, criterion, {"variance": 10.0, "share": 0.0}).score(rows)
    free = fgp.fit(split, criterion, {"variance": 10.0, "share": 1.0}).score(rows)
    for label in labels or (None,):
        here = np.ones(len(rows), bool) if label is None else rows.y == label
        means = [score[here & (rows.a == 1)].mean() - score[here & (rows.a == 0)].mean() for score in (fair, free)]
        assert abs(means[0]) < 1e-3
        assert abs(means[1]) > 0.3


def test_group_directions_are_orthonormal_and_hold_the_mean_differences(split):
    rows = split.fit
    unfair = fgp.group_directions(rows.X, rows.y, rows.a, "equalized_odds")
    assert np.allclose(unfair.T @ unfair, np.eye(2), atol=1e-5)
    for label in (0, 1):
        here = rows.y == label
        difference = rows.X[here & (rows.a == 1)].mean(0) - rows.X[here & (rows.a == 0)].mean(0)
        assert np.allclose(unfair @ (unfair.T @ difference), difference, atol=1e-5)


def test_features_reproduce_the_kernel_between_landmarks(split):
    features = fgp.find_features(split.fit.X, np.random.default_rng(0))
    some = features.landmarks[:20]
    phi = features(some)
    assert np.allclose(phi @ phi.T, fgp.kernel(some, some, features.bandwidth), atol=2e-3)


def test_the_posterior_mode_has_no_slope():
    rng = np.random.default_rng(2)
    phi, y = rng.normal(size=(200, 4)).astype(np.float32), (rng.random(200) < 0.4).astype(np.uint8)
    weights, intercept = fgp.posterior_mode(phi, y, 5.0)
    miss = y - 1 / (1 + np.exp(-(phi @ weights + intercept)))
    assert np.abs(phi.T @ miss - weights / 5.0).max() < 1e-2
    assert abs(miss.sum()) < 1e-2


# LAFTR: slopes against finite differences, in float64


def finite_differences(player, loss):
    slopes = np.empty_like(player.weights)
    for i in range(len(slopes)):
        kept = player.weights[i]
        values = []
        for shift in (1e-6, -1e-6):
            player.weights[i] = kept + shift
            values.append(loss())
        player.weights[i] = kept
        slopes[i] = (values[0] - values[1]) / 2e-6
    return slopes


@pytest.fixture
def game(split):
    rng = np.random.default_rng(5)
    some = slice(0, 60)
    x, y, a = split.fit.X[some].astype(float), split.fit.y[some].astype(float), split.fit.a[some].astype(float)
    model = laftr.Player(laftr.encoder_shapes(5), rng, np.float64)
    adversary = laftr.Player(laftr.adversary_shapes("equalized_odds"), rng, np.float64)
    weight = laftr.cell_weights(split.fit.y[some], split.fit.a[some], "equalized_odds").astype(float)
    return model, adversary, x, y, a, weight


def test_the_adversary_follows_the_slope_of_its_loss(game):
    model, adversary, x, y, a, weight = game
    seen = np.column_stack([laftr.encode(model, x)[1], y])
    laftr.adversary_learns(adversary, seen, a, weight)
    slopes = adversary.slopes.copy()
    found = finite_differences(adversary, lambda: laftr.adversary_learns(adversary, seen, a, weight))
    assert np.allclose(slopes, found, atol=1e-7)
    assert np.abs(slopes).max() > 1e-3


def test_the_encoder_follows_the_slope_of_cross_entropy_less_gamma_times_error(game):
    model, adversary, x, y, a, weight = game
    gamma, nothing = 3.0, np.zeros((60, laftr.CODE))

    def loss():
        inside, code = laftr.encode(model, x)
        error, _ = laftr.adversary_error(adversary, np.column_stack([code, y]), a, weight)
        return laftr.cross_entropy(model, x, y, inside, code, nothing) - gamma * error

    found = finite_differences(model, loss)
    inside, code = laftr.encode(model, x)
    _, slope = laftr.adversary_error(adversary, np.column_stack([code, y]), a, weight)
    laftr.cross_entropy(model, x, y, inside, code, -gamma * slope[:, : laftr.CODE])
    assert np.allclose(model.slopes, found, atol=1e-7)
    assert np.abs(found).max() > 1e-3


def test_always_guessing_one_group_has_error_one_half(game):
    _, adversary, _, _, a, weight = game
    assert weight.sum() == pytest.approx(1)
    adversary.weights[:] = 0
    for constant in (-20.0, 0.0, 20.0):
        adversary.parts[3][:] = constant
        error, _ = laftr.adversary_error(adversary, np.zeros((60, laftr.CODE + 1)), a, weight)
        assert error == pytest.approx(0.5)
