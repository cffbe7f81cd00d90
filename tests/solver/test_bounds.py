"""The paper's inequalities hold, with the corrections; where one does not, a counterexample shows it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.results import changed

import gstar_fast as gf
from gstar_fast import datasets

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # few bins, to be quick


def normal_rows(n, d_prime, shift, rng):
    """Scores of two groups with normal cells; `d_prime` and `shift` by group."""
    labels, groups = rng.integers(0, 2, n), rng.integers(0, 2, n)
    scores = rng.normal(np.asarray(d_prime)[groups] * labels + np.asarray(shift)[groups], 1.0)
    return scores, labels, groups


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.parametrize("seed", range(6))
def test_theorems_one_to_three_hold(backend, seed):
    rng = np.random.default_rng(seed)
    rows = normal_rows(3000, rng.uniform(0.5, 2, 2), rng.uniform(-0.3, 0.3, 2), rng)
    sketch = gf.Sketch.from_rows(*rows, bins=256)
    for limits in ({"equal_opportunity": 0.0}, {"predictive_equality": 0.0}, {"equal_opportunity": 0.1}):
        found = gf.bounds(gf.solve(sketch, limits=limits), sketch, density="normal")
        for number in (1, 2, 3):
            assert found[number].holds, str(found)
            assert found[number].says_nothing == (found[number].right > found[number].largest)
        assert not np.isnan([found[number].right for number in (1, 2, 3)]).any()
        if np.isfinite(list(found.range)).all():
            assert np.isfinite(found[1].right)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning", "ignore::gstar_fast.errors.NoiseWarning")
@pytest.mark.parametrize("density", ["normal", "kde"])
def test_bounds_of_similar_groups_are_useful(density):
    """Where thresholds are close, so are the right sides; a bound above all that is possible is called so."""
    rng = np.random.default_rng(7)
    alike = gf.Sketch.from_rows(*normal_rows(40_000, (1.5, 1.5), (0.0, 0.1), rng))
    found = gf.bounds(gf.solve(alike, limits={"equal_opportunity": 0.02}), alike, density=density)
    assert not any(found[number].says_nothing for number in (1, 2)), str(found)
    assert found[1].right < 0.2
    apart = gf.Sketch.from_rows(*normal_rows(40_000, (1.5, 1.5), (0.0, 6.0), rng))
    found = gf.bounds(gf.solve(apart, limits={"equal_opportunity": 0.02}), apart, density=density)
    assert found[1].says_nothing
    assert found[1].right > 1
    assert "which says nothing here: it is at most 1" in str(found)


def test_an_infinite_threshold_gives_no_useful_bound():
    """Everybody of one group is accepted: no pdf is bounded away from zero on the way there."""
    rng = np.random.default_rng(9)
    sketch = gf.Sketch.from_rows(*normal_rows(2_000, (1, 2), (0, 0), rng), bins=128)
    result = changed(gf.solve(sketch), thresholds={0: -np.inf, 1: 0.5})
    found = gf.bounds(result, sketch, density="normal")
    assert found[1].right == found[2].right == np.inf
    assert found[1].holds
    assert found[1].says_nothing


def test_constants_are_those_of_the_densities(backend):
    """Two shifted normals: u is known in closed form, and so is the largest pdf."""
    from scipy.stats import norm

    rng = np.random.default_rng(1)
    sketch = gf.Sketch.from_rows(*normal_rows(4000, (1.5, 1.5), (0.0, 0.5), rng), bins=512)
    cells = gf.density(sketch, kind="normal")
    found = gf.bounds(gf.solve(sketch), sketch, density=cells)
    thresholds = sorted(gf.solve(sketch).thresholds.values())
    assert list(found.range) == thresholds
    x = np.linspace(*thresholds, 100_001)
    one, two = cells[0, 0].parameters, cells[0, 1].parameters
    apart = np.abs(norm.cdf(x, one["location"], one["scale"]) - norm.cdf(x, two["location"], two["scale"])).max()
    assert found[1].constants["u_0"] == pytest.approx(apart, abs=1e-6)
    peak = norm.pdf(x, two["location"], two["scale"]).max()
    assert found[1].constants["f_01"] == pytest.approx(peak, rel=1e-5)
    least = norm.pdf(x, cells[1, 0].parameters["location"], cells[1, 0].parameters["scale"]).min()
    assert found[1].constants["M_10"] == pytest.approx(1 / least, rel=1e-5)


def test_theorem_four_is_singular_at_an_optimum_of_one_rate(backend):
    """J is 2 x 2 there, so a zero of J^T r needs r = 0 or a singular J; with two rates it need not be singular."""
    table = datasets.paper_synthetic(rows=8_000, seed=1)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=512)
    cells = gf.density(sketch, kind="kde", bandwidth=0.5)
    one = gf.solve(sketch, penalties={"equal_opportunity": 1.0}, density=cells)
    two = gf.solve(sketch, penalties={"equalized_odds": 1.0}, density=cells)
    found = gf.bounds(one, sketch, density=cells)
    assert found[4].left > 1e6
    assert f"< 1: {found[4].left:.4g} > 1\n" in str(found)
    assert np.isfinite(gf.bounds(two, sketch, density=cells)[4].left)
    assert gf.bounds(gf.solve(sketch), sketch, density=cells)[4].left is None


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
def test_theorem_five_fails_for_single_thresholds_and_holds_for_mixtures(backend):
    """Two ROC curves 0.004 apart that meet only at the corners: single thresholds pay 0.42 where 0.16 is possible."""
    from scipy.stats import norm

    p = (np.arange(20_000) + 0.5) / 20_000
    scores = np.concatenate([norm.ppf(p) + d * y for d in (2.0, 2.01) for y in (0, 1)])
    labels = np.tile(np.repeat([0, 1], len(p)), 2)
    groups = np.repeat([0, 1], 2 * len(p))
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    single = gf.solve(sketch, limits={"equalized_odds": 0.0})
    mixed = gf.solve(sketch, limits={"equalized_odds": 0.0}, randomize=True)
    assert single.error > 0.4
    assert mixed.error < 0.165
    assert gf.bounds(single, sketch, density="normal")[5].right is None
    assert gf.bounds(mixed, sketch, density="normal")[5].right == 0.0


def test_text_names_every_inequality(backend):
    rng = np.random.default_rng(3)
    sketch = gf.Sketch.from_rows(*normal_rows(2000, (1, 2), (0, 0), rng), bins=128)
    text = str(gf.bounds(gf.solve(sketch, penalties={"equalized_odds": 1.0}), sketch, density="normal"))
    assert "constants between the thresholds" in text
    for words in ("|fpr_0 - fpr_1|", "|fnr_0 - fnr_1|", "L* - L~", "||Q (J^T J)^-1||", "2 d_K"):
        assert words in text


def test_wrong_questions_say_what_to_do():
    rng = np.random.default_rng(3)
    sketch = gf.Sketch.from_rows(*normal_rows(500, (1, 2), (0, 0), rng), bins=128)
    with pytest.raises(ValueError, match="needs a smooth density"):
        gf.bounds(gf.solve(sketch), sketch, density="empirical")
    three = gf.Sketch.from_rows([1, 2, 1, 2, 1, 2], [0, 1] * 3, list("aabbcc"), bins=16)
    with pytest.raises(ValueError, match="about two groups; the result has 3"):
        gf.bounds(gf.solve(three), three)
    with pytest.raises(ValueError, match="the sketch has"):
        gf.bounds(gf.solve(gf.Sketch.from_rows([1, 2, 1, 2], [0, 1] * 2, list("aabb"), bins=16)), sketch)
