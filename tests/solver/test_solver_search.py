"""A search of many choices proves what it finds; one that is cut short says how much it has proven."""

from __future__ import annotations

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._backends import interface
from gstar_fast._solver import search
from gstar_fast._solver.smooth import smooth

# a few rows and limits of 0 make degenerate answers; test_degenerate.py is about their warning
pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")


def three_uneven_groups():
    """Accuracies that no pair of edges brings together easily."""
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 3, 900)
    labels = rng.integers(0, 2, 900)
    scores = rng.normal(labels * np.array([0.2, 1.0, 3.0])[groups], 1.0)
    return gf.Sketch.from_rows(scores, labels, groups, bins=256)


@pytest.mark.parametrize("density", ["empirical", "normal"])
def test_a_search_cut_short_proves_nothing(backend, monkeypatch, density):
    """Out of boxes without a choice is not `infeasible`."""
    sketch = three_uneven_groups()
    limits, penalties = {"accuracy_parity": 0.0005}, {"equal_opportunity": 1.0}
    assert gf.solve(sketch, limits={"accuracy_parity": 0.01}, penalties=penalties).verdict == "optimal"
    for module in (search, smooth):
        monkeypatch.setattr(module, "BOX_LIMIT", 1)
    monkeypatch.setattr(interface, "NODE_LIMIT", 1)
    monkeypatch.setattr(search, "BOXES", 50)
    result = gf.solve(sketch, limits=limits, penalties=penalties, density=density)
    assert result.verdict == "not_converged"
    assert "does not prove that there are none" in result.message
    assert result.lower_bound == 0


def test_a_search_cut_short_accepts_everybody_where_that_is_allowed(backend, monkeypatch):
    monkeypatch.setattr(search, "BOX_LIMIT", 1)
    monkeypatch.setattr(interface, "NODE_LIMIT", 1)
    result = gf.solve(three_uneven_groups(), limits={"equalized_odds": 0.001}, penalties={"demographic_parity": 1.0})
    assert result.verdict == "not_converged"
    assert result.gaps["equalized_odds"] <= 0.001
    assert result.lower_bound <= result.loss


def hundred_groups(rows, bins=256):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 100, rows)
    shift, apart, base = rng.normal(0, 0.5, 100), rng.uniform(1.2, 2.5, 100), rng.uniform(0.2, 0.6, 100)
    labels = (rng.random(rows) < base[groups]).astype(np.uint8)
    scores = rng.normal(shift[groups] + apart[groups] * (labels - 0.5))
    return gf.Sketch.from_rows(scores, labels, groups, bins=bins)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_penalties_of_a_hundred_groups_are_proven(fast_backend, penalty):
    """Targets and tangents prove it in hundreds of nodes, where the first bound left a gap after twenty thousand."""
    result = gf.solve(hundred_groups(4_000), penalties={"equalized_odds": penalty})
    assert result.verdict == "optimal"
    assert result.proof.iterations < 2_000


def test_a_search_ends_after_a_number_of_nodes(backend, monkeypatch):
    """Fewer for more groups; the answer is then the best found, with its bound, the same on every backend."""
    assert [interface.node_limit(n) for n in (3, 50, 100, 1000)] == [20_000, 20_000, 10_000, 1_000]
    monkeypatch.setattr(interface, "NODE_LIMIT", 200)
    sketch = hundred_groups(4_000)
    result = gf.solve(sketch, penalties={"equalized_odds": 1.0})
    assert result.verdict == "not_converged"
    assert result.proof.iterations == 100
    assert 0 < result.lower_bound < result.loss < gf.solve(sketch).loss + 0.1
    assert result.optimality_gap < 0.05 * result.loss
    assert "the search was ended after 100 boxes" in result.message
    with gf.use_backend("numpy"):
        again = gf.solve(sketch, penalties={"equalized_odds": 1.0})
    assert (again.thresholds, again.loss, again.lower_bound) == (result.thresholds, result.loss, result.lower_bound)


@pytest.mark.slow
def test_nodes_with_many_candidates_count_as_several(backend, monkeypatch):
    """So that the limit bounds the work, which grows with the candidates and the rates of a node."""
    monkeypatch.setattr(interface, "NODE_LIMIT", 200)
    sketch = hundred_groups(60_000, bins=1024)
    asked = {"equalized_odds": 10.0, "demographic_parity": 3.0, "accuracy_parity": 5.0}
    result = gf.solve(sketch, penalties=asked)
    assert result.verdict == "not_converged"
    assert 5 < result.proof.iterations < 50
    assert 0 < result.lower_bound < result.loss
    with gf.use_backend("numpy"):
        again = gf.solve(sketch, penalties=asked)
    assert (again.thresholds, again.lower_bound) == (result.thresholds, result.lower_bound)
    assert again.proof.iterations == result.proof.iterations


def test_max_seconds_ends_a_search(backend):
    sketch = hundred_groups(4_000)
    for asked in ({"penalties": {"equalized_odds": 1.0}}, {"limits": {"equalized_odds": 0.01}}):
        result = gf.solve(sketch, **asked, max_seconds=1e-9)
        assert result.verdict == "not_converged"
        assert result.meets_limits
        assert result.lower_bound <= result.loss
    patient = gf.solve(sketch, penalties={"demographic_parity": 0.1}, max_seconds=1e6)
    assert patient.thresholds == gf.solve(sketch, penalties={"demographic_parity": 0.1}).thresholds


def test_groups_far_beyond_two(backend):
    rng = np.random.default_rng(8)
    labels, groups = rng.integers(0, 2, 3000), rng.integers(0, 30, 3000)
    scores = rng.normal(labels * 1.5 + 0.1 * groups, 1.0)
    sketch = gf.Sketch.from_rows(scores, labels, groups, bins=64)
    result = gf.solve(sketch, limits={"demographic_parity": 0.1})
    assert result.verdict == "optimal"
    assert result.gaps["demographic_parity"] <= 0.1 + 1e-12
