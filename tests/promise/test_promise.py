"""`solve` with a confidence: what is promised holds, what is refused says why, and nothing else changes."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
from helpers.notes import texts

import gstar_fast as gf
from tests.helpers.promise_rows import normal_rows, normal_sketch, true_gap

ODDS = {"equalized_odds": 0.06}
pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # few bins, to be quick


def same_thresholds(one, two):
    return one.thresholds == two.thresholds and one.mixtures == two.mixtures


def test_promises_hold_on_rows_to_come():
    """With 0.8 confidence, at most 0.2 and two standard errors of all calls may be false; plain breaks far more."""
    draws = 40
    broken = plain = 0
    for seed in range(draws):
        result = gf.solve(normal_sketch(6000, seed, bins=128), limits=ODDS, confidence=0.8)
        broken += result.verdict == "promised" and true_gap(result.thresholds) > 0.06
        plain += true_gap(result.promise.plain.thresholds) > 0.06
    assert broken <= draws * (0.2 + 2 * np.sqrt(0.16 / draws))
    assert plain > broken


def test_without_confidence_nothing_changes(backend):
    sketch = normal_sketch(6000, 1)
    result = gf.solve(sketch, limits=ODDS)
    promised = gf.solve(sketch, limits=ODDS, confidence=0.9)
    assert result.promise is None
    assert "promise" not in json.loads(result.to_json())
    assert promised.promise.plain == result
    assert promised.promise.plain.to_json() == result.to_json()


def test_all_backends_give_the_same_promise(fast_backend):
    rows = normal_rows(6000, 2)
    for asked in ({}, {"randomize": True}, {"unified": True}, {"objective": {"fp": 1, "fn": 2}}):
        found = []
        for name in (fast_backend, "numpy"):
            with gf.use_backend(name):
                sketch = gf.Sketch.from_rows(*rows, bins=256, range=(-8, 8))
                found.append(gf.solve(sketch, limits=ODDS, confidence=0.9, **asked))
        assert found[0].to_json() == found[1].to_json()


@pytest.mark.parametrize("many", [2, 6])
def test_names_and_their_order_change_nothing(backend, many):
    how = {}
    if many == 6:
        how = {name: (value,) * 6 for name, value in (("positive", 0.4), ("distance", 1.6), ("shift", 0.1))}
        how["shares"] = (0.3, 0.25, 0.2, 0.1, 0.1, 0.05)
    scores, labels, groups = normal_rows(20_000, 3, **how)
    names = np.array(["g", "a", "z", "m", "c", "q"])
    one = gf.Sketch.from_rows(scores, labels, groups, bins=256, range=(-8, 8))
    two = gf.Sketch.from_rows(scores, labels, names[groups], bins=256, range=(-8, 8))
    asked = {"limits": {"equalized_odds": 0.1}, "confidence": 0.95, "evidence": 0}
    first, second = (gf.solve(sketch, **asked) for sketch in (one, two))
    assert first.verdict == second.verdict == "promised"
    assert {str(names[k]): t for k, t in first.thresholds.items()} == second.thresholds
    assert (first.promise.chance, first.promise.upper) == (second.promise.chance, second.promise.upper)


@pytest.mark.parametrize("randomize", [False, True])
def test_higher_confidence_never_lowers_the_error(randomize):
    sketch = normal_sketch(8000, 4)
    errors = []
    for confidence in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999):
        result = gf.solve(sketch, limits=ODDS, confidence=confidence, randomize=randomize)
        if result.verdict == "unpromised":
            break
        assert result.promise.chance <= 1 - confidence
        errors.append(result.error)
    assert len(errors) > 3
    assert errors == sorted(errors)


def test_promised_result_says_what_it_costs(backend):
    result = gf.solve(normal_sketch(12_000, 5), limits=ODDS, confidence=0.95)
    promise = result.promise
    assert result.verdict == "promised"
    assert result.meets_limits
    assert promise.confidence == 0.95
    assert promise.rows_needed is None
    assert promise.cost == pytest.approx(result.error - promise.plain.error, abs=1e-12)
    assert promise.chance <= 0.05 < promise.plain_chance
    assert result.gaps["equalized_odds"] < promise.upper["equalized_odds"] <= 0.06
    assert "0.95 confidence" in result.message
    assert f"{promise.cost:.4f}" in result.message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.decider()


def test_unpromised_result_has_the_plain_thresholds_and_says_why(backend):
    result = gf.solve(normal_sketch(1500, 6, shares=(0.9, 0.1)), limits=ODDS, confidence=0.95)
    promise = result.promise
    assert result.verdict == "unpromised"
    assert same_thresholds(result, promise.plain)
    assert promise.cost == 0
    assert promise.chance == promise.plain_chance > 0.05
    assert promise.upper["equalized_odds"] > 0.06
    assert promise.rows_needed.times > 1
    for word in ("1 has", "known to within", "could be promised", "times the rows", "chance of"):
        assert word in result.message, word
    with pytest.warns(
        gf.errors.UnpromisedWarning, match="unpromised: the counts cannot promise equalized_odds <= 0.06"
    ):
        result.decider()


@pytest.mark.slow
def test_near_constant_rules_are_no_success():
    """Of all limits and numbers of rows: a promise keeps three quarters of what plain thresholds gain."""
    made = 0
    for rows in (800, 3000, 20_000):
        sketch = normal_sketch(rows, rows)
        for limit in (0.02, 0.05, 0.1, 0.3):
            result = gf.solve(sketch, limits={"equalized_odds": limit}, confidence=0.95)
            if result.verdict == "promised":
                constant = min(sketch.counts[label].sum() for label in (0, 1)) / sketch.n_rows
                assert constant - result.error >= 0.75 * (constant - result.promise.plain.error) - 1e-12
                made += 1
    assert made


CRITERIA = [
    {"demographic_parity": 0.1},
    {"equal_opportunity": 0.1},
    {"predictive_equality": 0.05},
    {"accuracy_parity": 0.1},
    {"balanced_accuracy_parity": 0.08},
    {"disparate_impact": 0.7},
    {"equalized_odds": 0.1, "demographic_parity": 0.2},
]


@pytest.mark.parametrize("limits", CRITERIA, ids=lambda limits: "_".join(limits))
def test_every_criterion_can_be_promised_and_saved(limits, tmp_path):
    sketch = normal_sketch(20_000, 7)
    for asked in ({}, {"randomize": True}, {"objective": "balanced_error"}):
        result = gf.solve(sketch, limits=limits, confidence=0.9, **asked)
        assert result.verdict == "promised", result.message
        for name, limit in limits.items():
            upper = result.promise.upper[name]
            assert upper >= limit if name == "disparate_impact" else upper <= limit
        result.save(tmp_path / "thresholds.json")
        assert gf.Result.load(tmp_path / "thresholds.json") == result == pickle.loads(pickle.dumps(result))


def test_saved_unpromised_result_warns_whoever_decides_by_it(backend, tmp_path):
    result = gf.solve(normal_sketch(1000, 8), limits=ODDS, confidence=0.95)
    result.save(tmp_path / "thresholds.json")
    assert gf.Result.load(tmp_path / "thresholds.json") == result
    with pytest.warns(gf.errors.UnpromisedWarning, match="is unpromised"):
        gf.Decider.load(tmp_path / "thresholds.json")


def test_infeasible_stays_infeasible(backend):
    """Deciding all rows alike has an accuracy that is the base rate, so no thresholds at all have this accuracy gap."""
    scores = np.zeros(400)
    labels = [1, 0] * 100 + [1, 1, 1, 0] * 50
    sketch = gf.Sketch.from_rows(scores, labels, ["a"] * 200 + ["b"] * 200, bins=16)
    asked = {"limits": {"accuracy_parity": 0.0}, "unified": True}
    result = gf.solve(sketch, **asked, confidence=0.95)
    assert result.verdict == "infeasible"
    assert same_thresholds(result, gf.solve(sketch, **asked))
    assert result.promise.chance > 0.05
    assert result.promise.rows_needed is None
    assert gf.Result.from_json(result.to_json()) == result


def test_pooled_groups_are_promised_together(backend):
    scores, labels, groups = normal_rows(20_000, 9)
    groups = np.where(np.arange(len(groups)) % 100 < 3, 2 + np.arange(len(groups)) % 3, groups)
    sketch = gf.Sketch.from_rows(scores, labels, groups, bins=256, range=(-8, 8))
    result = gf.solve(sketch, limits={"equal_opportunity": 0.2}, confidence=0.9, min_rows=1000)
    assert result.verdict == "promised"
    assert set(result.thresholds) == set(result.promise.plain.thresholds) == {0, 1, 2, 3, 4}
    small = gf.solve(sketch, limits={"equal_opportunity": 0.02}, confidence=0.9, min_rows=1000)
    assert small.verdict == "unpromised"
    assert set(small.promise.rows_needed.by_group) == {0, 1, 2, 3, 4}


def test_group_without_positives_is_left_out(backend):
    scores, labels, groups = normal_rows(20_000, 10)
    labels[:200], groups[:200] = 0, 2
    sketch = gf.Sketch.from_rows(scores, labels, groups, bins=256, range=(-8, 8))
    with pytest.warns(gf.errors.MissingClassWarning):
        result = gf.solve(sketch, limits={"equal_opportunity": 0.1}, confidence=0.9)
    assert result.verdict == "promised"
    assert any("left out" in note for note in texts(result))


# -------------------------------------------------------------------------------------------------------------- weights


def test_weights_count_as_effective_rows(backend):
    """Half the rows with weight 1.5, half with 0.5: (sum w)^2 / sum w^2 is 0.8 of the rows."""
    scores, labels, groups = normal_rows(12_000, 11)
    weights = np.where(np.arange(12_000) % 2, 1.5, 0.5)
    plain = gf.Sketch.from_rows(scores, labels, groups, bins=256, range=(-8, 8))
    weighted = gf.Sketch(bins=256, range=(-8, 8)).update(scores, labels, groups, weights=weights)
    from gstar_fast._solver.cells import Cells, effective_rows

    twice = plain + plain  # later the digest is known, and this warns
    rows, effective = (effective_rows(Cells.of(sketch)) for sketch in (plain, weighted))
    assert np.array_equal(rows[1], plain.counts[0].sum(axis=1))
    assert effective == pytest.approx(0.8 * rows, rel=0.05)
    result = gf.solve(weighted, limits={"equalized_odds": 0.1}, confidence=0.9)
    assert result.promised
    same = gf.Sketch(bins=256, range=(-8, 8)).update(scores, labels, groups, repeats=np.full(12_000, 2))
    assert gf.solve(same, limits=ODDS, confidence=0.9) == gf.solve(twice, limits=ODDS, confidence=0.9)


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"confidence": 95, "limits": ODDS}, "95 % is 0.95"),
        ({"confidence": "high", "limits": ODDS}, "must be a number"),
        ({"confidence": 0.95}, "confidence=0.95 needs limits too"),
        ({"confidence": 0.95, "limits": ODDS, "penalties": {"equalized_odds": 1}}, "does not go with penalties"),
        ({"confidence": 0.95, "limits": ODDS, "max_seconds": 1}, "does not go with"),
        (
            {"confidence": 0.95, "penalties": {"equalized_odds": 1}, "density": "kde"},
            "confidence=0.95 needs limits too",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, said):
    with pytest.raises((TypeError, ValueError), match=said):
        gf.solve(normal_sketch(500, 1), **asked)
