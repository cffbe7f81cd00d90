"""Limits out of reach: what is shown misses them by the least, with the least error of what does."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import brute_force
from helpers.problems import random_question, random_rows, sketch_of

import gstar_fast as gf
from gstar_fast._backends.common.choices import allowed
from gstar_fast._question.question import Question
from gstar_fast._solver import search as searching
from gstar_fast._solver.cells import Cells

pytestmark = [
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning"),  # few bins, to be quick
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.MissingClassWarning"),
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning"),  # a few rows and limits of 0
]

STEP = 1e-5


def looser(limits, slack):
    signs = {name: -1 if name == "disparate_impact" else 1 for name in limits}
    return {name: min(max(limit + signs[name] * slack, 0.0), 1.0) for name, limit in limits.items()}


def slack_of(result):
    return result.proof.slack.each


def infeasible_problems(seed, n, n_groups=(2, 2, 3), **options):
    """Random problems that `solve` calls infeasible, with what it says."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(100 * n):
        scores, labels, groups = random_rows(rng, int(rng.choice(n_groups)), 20)
        sketch = sketch_of(scores, labels, groups)
        limits, _ = random_question(rng, "limits")
        limits["accuracy_parity"] = 0.0
        try:
            result = gf.solve(sketch, limits=limits, **options)
        except ValueError as error:
            if "needs two groups" not in str(error):
                raise
            continue
        if result.verdict == "infeasible":
            found += 1
            yield sketch, brute_force.Rows(scores, labels, groups, sketch.edges), limits, result
        if found == n:
            return
    raise AssertionError("too few problems are infeasible")


@pytest.mark.parametrize("unified", [False, True])
def test_thresholds_are_the_answer_to_the_looser_question(backend, unified):
    for sketch, rows, limits, result in infeasible_problems(1, 12, unified=unified):
        slack = slack_of(result)
        assert "the thresholds shown come as close as possible" in result.message
        assert brute_force.solve(rows, looser(limits, slack - STEP), {}, unified=unified) is None
        expected = brute_force.solve(rows, looser(limits, slack), {}, unified=unified)
        wanted = [rows.candidates[name][c] for name, c in zip(rows.names, expected[2], strict=True)]
        assert list(result.thresholds.values()) == wanted
        again = gf.solve(sketch, limits=looser(limits, slack), unified=unified)
        assert (again.verdict, again.thresholds) == ("optimal", result.thresholds)
        assert not result.meets_limits
        assert again.meets_limits


def test_with_penalties_the_least_loss_is_taken(backend):
    penalties = {"equal_opportunity": 3.0}
    for sketch, _, limits, result in infeasible_problems(2, 6, penalties=penalties):
        again = gf.solve(sketch, limits=looser(limits, slack_of(result)), penalties=penalties)
        assert again.verdict == "optimal"
        assert again.thresholds == result.thresholds


def test_violation_is_smaller_than_that_of_the_unified_threshold(backend):
    for _, _, limits, result in infeasible_problems(3, 10):
        misses = {}
        for when, gaps in (("after", result.gaps), ("before", result.gaps.before)):
            signed = [gaps[n] - v if n != "disparate_impact" else v - gaps[n] for n, v in limits.items()]
            misses[when] = max(signed)
        assert misses["after"] <= misses["before"] + STEP
        assert misses["after"] <= slack_of(result) + 1e-12


def saturated():
    """Scores of +inf are accepted at every threshold, so that even mixtures cannot treat these groups alike."""
    scores = [np.inf, np.inf, np.inf, 1, 3, 1, 2, 4]
    return gf.Sketch.from_rows(scores, [0, 0, 1, 1, 0, 1, 1, 1], list("aaaabbbb"))


def test_a_mixture_out_of_reach_misses_by_the_least(backend):
    sketch = saturated()
    limits = {"predictive_equality": 0.0, "accuracy_parity": 0.0, "equal_opportunity": 0.0}
    result = gf.solve(sketch, limits=limits, randomize=True)
    assert result.verdict == "infeasible"
    assert "the mixtures shown come as close as possible" in result.message
    slack = slack_of(result)
    again = gf.solve(sketch, limits=looser(limits, slack), randomize=True)
    assert again.verdict == "optimal"
    assert again.error == pytest.approx(result.error, abs=1e-9)
    assert max(result.gaps[name] for name in limits) == pytest.approx(slack, abs=1e-9)
    assert gf.solve(sketch, limits=looser(limits, slack - STEP), randomize=True).verdict == "infeasible"
    with pytest.warns(gf.errors.InfeasibleWarning, match="the mixtures shown come as close as possible"):
        result.decider()


@pytest.mark.parametrize("unified", [False, True])
def test_smooth_densities_too(backend, unified):
    rng = np.random.default_rng(4)
    labels, groups = rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    scores = np.where(groups == 0, rng.normal(3.0 * labels), rng.normal(size=600))
    sketch = gf.Sketch.from_rows(scores, labels, groups, bins=64)
    limits = {"accuracy_parity": 0.0, "predictive_equality": 0.0, "equal_opportunity": 0.0}
    result = gf.solve(sketch, limits=limits, density="kde", unified=unified)
    assert result.verdict == "infeasible"
    missed = max(result.gaps[name] for name in limits)
    assert missed <= slack_of(result) + 1e-9
    assert missed < max(result.gaps.before[name] for name in limits)


# --------------------------------------------------------------------------------------------- a search that is cut off


def hard():
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    return gf.Sketch.from_rows(rng.normal(size=300) + labels * (1 + groups), labels, groups)


def cut_off(monkeypatch, limits):
    """What `solve` says out of boxes, where accepting everybody breaks a limit on accuracies."""
    best = gf.solve(hard(), limits=limits)
    monkeypatch.setattr(searching, "BOX_LIMIT", 1)
    search = searching.prepare(Cells.of(hard()), Question.of(limits=limits))
    assert not allowed(search.arrays, np.zeros(2, dtype=np.int64)), "accepting everybody breaks the limit"
    choice = searching.choose(search)
    assert choice.numbers is None
    assert not choice.proven
    result = gf.solve(hard(), limits=limits)
    assert result.verdict == "not_converged"
    return best, result


def test_a_search_cut_short_claims_no_limit_it_did_not_prove(backend, monkeypatch):
    limits = {"accuracy_parity": 0.001, "equalized_odds": 0.01}
    _, result = cut_off(monkeypatch, limits)
    assert "does not prove that there are none" in result.message
    slack = slack_of(result)
    assert all(result.gaps[name] <= limit + slack + 1e-12 for name, limit in limits.items())
    assert not result.meets_limits
    with pytest.warns(gf.errors.InfeasibleWarning, match="not_converged"):
        result.decider()


def test_a_search_cut_short_returns_the_best_it_found(backend, monkeypatch):
    best, result = cut_off(monkeypatch, {"accuracy_parity": 0.0})
    assert result.meets_limits
    assert result.lower_bound <= best.loss <= result.loss
    assert result.message.startswith("proven to within")
    result.decider()  # without a warning


def test_accepting_everybody_is_the_answer_where_limits_allow_it(backend, monkeypatch):
    monkeypatch.setattr(searching, "BOX_LIMIT", 1)
    result = gf.solve(hard(), limits={"equalized_odds": 0.0})
    assert result.verdict == "not_converged"
    assert result.meets_limits
    assert {at.selection_rate for at in result.rates.values()} == {1.0}
    result.decider()  # without a warning
