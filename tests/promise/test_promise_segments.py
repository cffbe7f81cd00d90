"""`solve(confidence=)` for thresholds by segment: what is promised of protected groups, and what selection adds."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._promise import by_segment as promise
from gstar_fast._question.question import Question
from gstar_fast._question.roles import asked_roles
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.segments.answer import Answer

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning", "ignore::gstar_fast.errors.OverfitWarning"
)

BY = {"fair_between": 0, "decide_by": 1}
LIMITS = {"equalized_odds": 0.15}


@pytest.fixture(autouse=True)
def few_replicates(monkeypatch):
    monkeypatch.setattr(promise, "REPLICATES", 4)
    monkeypatch.setattr(promise, "WIDTHS", (1.0, 2.0))


def people(rows, seed=0, segments=3):
    rng = np.random.default_rng(seed)
    sex, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    segment = np.clip(rng.integers(0, segments, rows) + (rng.random(rows) < 0.4) * sex, 0, segments - 1)
    score = np.rint(rng.normal(label * 1.5 + 0.6 * sex - 0.3 * segment, 1.0) * 16) / 16
    return score, label, np.array(["F", "M"])[sex], segment


def counted(rows, seed=0, segments=3):
    score, label, sex, segment = people(rows, seed, segments)
    return gf.Sketch.from_rows(score, label, [sex, segment], bins=32)


def known_of(sketch, limits, randomize=False, monotone=False):
    answer = Answer(Cells.of(sketch, asked_roles(sketch, (0,), (1,))), Question.of(limits=limits))
    return promise.SegmentsKnown.of(answer, randomize)


@pytest.mark.parametrize("asked", [{}, {"decide_by": gf.Segments(column=1)}, {"randomize": True}])
def test_a_promise_keeps_the_limit_and_says_what_it_costs(backend, asked):
    sketch = counted(4000)
    result = gf.solve(sketch, limits=LIMITS, confidence=0.9, **BY | asked)
    plain = gf.solve(sketch, limits=LIMITS, **BY | asked)
    assert result.verdict == "promised"
    made = result.promise
    assert made.chance <= 0.1 + 1e-12
    assert made.plain_chance > made.chance or made.cost == 0
    assert made.plain.thresholds == plain.thresholds
    assert result.error == pytest.approx(plain.error + made.cost, abs=1e-12)
    assert result.gaps["equalized_odds"] <= 0.15 + 1e-9
    assert made.upper["equalized_odds"] <= 0.15
    assert "holds on new rows with 0.9 confidence" in result.message
    assert gf.Result.from_json(result.to_json()) == result
    assert result.decider()([0.0], [1], **({"keys": [1]} if result.randomized else {})).shape == (1,)


@pytest.mark.parametrize("randomize", [False, True])
def test_few_rows_promise_nothing_and_say_how_many_would(backend, randomize):
    sketch = counted(240)
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, confidence=0.95, randomize=randomize, **BY)
    assert result.verdict == "unpromised"
    assert result.thresholds == gf.solve(sketch, limits={"equalized_odds": 0.05}, randomize=randomize, **BY).thresholds
    needed = result.promise.rows_needed
    assert list(needed.by_group) == ["F", "M"]
    assert gf.rows_needed(sketch, limits={"equalized_odds": 0.05}, randomize=randomize, **BY) == needed
    assert needed.times is None or needed.times > 1
    assert gf.Result.from_json(result.to_json()) == result
    with pytest.warns(gf.errors.UnpromisedWarning):
        result.decider()


def test_rows_needed_by_group_alone_are_those_of_protected_groups():
    score, label, sex, segment = people(1500)
    both = gf.Sketch.from_rows(score, label, [sex, segment], bins=32)
    alone = gf.Sketch.from_rows(score, label, sex, bins=32)
    ask = {"limits": {"equalized_odds": 0.02}, "confidence": 0.95}
    assert gf.rows_needed(both, fair_between=0, decide_by=0, **ask) == gf.rows_needed(alone, **ask)
    unified = gf.rows_needed(both, fair_between=0, unified=True, **ask)
    assert unified == gf.rows_needed(alone, unified=True, **ask)


@given(seed=st.integers(0, 1000), randomize=st.booleans())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_beliefs_are_what_new_rows_have(seed, randomize):
    """Mean and spread of the rates at fixed thresholds, against rows drawn one by one from the counted ones."""
    score, label, sex, segment = rows = people(600, seed)
    sketch = gf.Sketch.from_rows(score, label, [sex, segment], bins=32)
    known = known_of(sketch, {"equalized_odds": 0.1, "demographic_parity": 0.1}, randomize)
    rng = np.random.default_rng(seed)
    edges = Cells.of(sketch).candidates
    parts = []
    for _ in range(3):
        at = np.sort(rng.choice(np.arange(8, 28), 2 if randomize else 1, replace=False))
        share = rng.uniform(0.2, 0.8)
        parts.append(dict(zip(at.tolist(), [share, 1 - share] if randomize else [1.0], strict=True)))
    beliefs = known.beliefs(parts)
    probability = np.zeros(600)
    for j, part in enumerate(parts):
        for t, w in part.items():
            probability[segment == j] += w * (score[segment == j] >= edges[t])
    for k, name in enumerate(("F", "M")):
        for i, wanted in enumerate((label == 1, label == 0, label >= 0)):
            values = probability[wanted & (sex == name)]
            drawn = values[rng.integers(0, len(values), (400, len(values)))].mean(axis=1)
            total = beliefs.a[i, k] + beliefs.b[i, k]
            mean = beliefs.a[i, k] / total
            spread = np.sqrt(mean * (1 - mean) / (total + 1))
            assert mean == pytest.approx(values.mean(), abs=1.0 / len(values))
            assert spread == pytest.approx(drawn.std(), rel=0.25, abs=0.005)
    assert len(rows) == 4


def test_what_selection_adds_is_seen_on_new_rows():
    """Few rows for many rows: the rates' shift points to the gap that new rows have."""
    gaps, shifted, counted_gaps = [], [], []
    whole = people(60_000, 99, segments=8)
    for seed in range(6):
        sketch = counted(1200, seed, segments=8)
        known = known_of(sketch, LIMITS)
        option = known.best(known.searches, known.asked)
        shift = known.shift(option, promise.replicates_of(known.cells, known.question))
        edges = Cells.of(sketch).candidates
        at = np.array([edges[next(iter(part))] for part in option.chosen.parts])
        score, label, sex, segment = whole
        accepted = score >= at[segment]
        rates = [[accepted[(label == y) & (sex == g)].mean() for g in ("F", "M")] for y in (1, 0)]
        gaps.append(np.ptp(rates, axis=1).max())
        counted_gaps.append(np.ptp(known.rates(option.chosen.parts)[:2], axis=1).max())
        shifted.append(np.ptp((known.rates(option.chosen.parts) + shift)[:2], axis=1).max())
    assert np.mean(gaps) > np.mean(counted_gaps)
    assert np.mean(counted_gaps) < np.mean(shifted) < np.mean(gaps) + 0.05


@pytest.mark.parametrize("monotone", [False, True])
def test_names_of_protected_groups_do_not_matter(monotone):
    score, label, sex, segment = people(1500, 3)
    names = np.where(sex == "F", "z", "a")
    one = gf.Sketch.from_rows(score, label, [sex, segment], bins=32)
    two = gf.Sketch.from_rows(score, label, [names, segment], bins=32)
    ask = {"limits": LIMITS, "confidence": 0.9, **BY, "decide_by": gf.Segments(column=1, monotone=monotone)}
    first, second = gf.solve(one, **ask), gf.solve(two, **ask)
    assert (first.verdict, first.error) == (second.verdict, pytest.approx(second.error, abs=1e-12))
    assert first.promise.chance == pytest.approx(second.promise.chance, abs=1e-9)


@pytest.mark.slow
def test_backends_agree():
    sketch, found = counted(1500, 5), []
    for name in ("native", "numba", "numpy"):
        with gf.use_backend(name):
            found.append(gf.solve(sketch, limits=LIMITS, confidence=0.9, **BY))
    assert found[0] == found[1] == found[2]


def test_more_confidence_costs_no_less():
    sketch = counted(12_000, 1)
    found = [gf.solve(sketch, limits=LIMITS, confidence=c, **BY) for c in (0.6, 0.8, 0.9)]
    assert {result.verdict for result in found} == {"promised"}
    assert [r.error for r in found] == sorted(r.error for r in found)


def test_limits_that_cannot_be_met_stay_so():
    sketch = counted(400)
    impossible = {"accuracy_parity": 0.0, "disparate_impact": 1.0}
    result = gf.solve(sketch, limits=impossible, confidence=0.9, **BY)
    assert result.verdict in ("infeasible", "not_converged")
    assert result.promise.rows_needed is None


def test_a_result_inside_a_promise_has_the_same_roles(tmp_path):
    result = gf.solve(counted(4000), limits=LIMITS, confidence=0.9, **BY)
    content = json.loads(result.to_json())
    assert content["promise"]["plain"]["question"]["fair_between"] == [0]
    assert [one["name"] for one in content["promise"]["plain"]["protected"]] == list(result.rates)
    path = tmp_path / "t.json"
    result.save(path)
    assert gf.Result.load(path) == result
    assert replace(result, promise=None) != result


def test_the_command_line_promises(tmp_path, monkeypatch, capsys):
    from gstar_fast.__main__ import main

    monkeypatch.chdir(tmp_path)
    counted(4000).save("s.gstar")
    words = ["solve", "s.gstar", "--limit", "equalized_odds=0.15", "--fair-between", "0", "--decide-by", "1"]
    assert main([*words, "--confidence", "0.9", "-o", "t.json"]) == 0
    assert capsys.readouterr().out.startswith("promised: the limit holds on new rows")
    assert gf.Result.load("t.json").promise.confidence == 0.9
    assert main(["solve", "s.gstar", "--limit", "equalized_odds=0.001", *words[4:], "--confidence", "0.95"]) == 3


def test_a_limit_on_the_sum_of_two_gaps_is_promised():
    sketch = counted(6000, 2)
    result = gf.solve(sketch, limits={"equalized_odds_sum": 0.25}, confidence=0.9, randomize=True, **BY)
    assert result.verdict == "promised"
    assert result.promise.chance <= 0.1 < result.promise.plain_chance
    assert result.gaps["equalized_odds_sum"] < result.promise.plain.gaps["equalized_odds_sum"]
    found = gf.frontier(sketch, "equalized_odds_sum", randomize=True, **BY)
    assert found.at(gap=0.25, sketch=sketch).error == pytest.approx(result.promise.plain.error, abs=1e-9)
