"""What an "unpromised" verdict suggests is promised when asked for, and poor thresholds are never promised."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.notes import texts

import gstar_fast as gf
from gstar_fast._promise import by_segment as promise
from gstar_fast._promise.choose import looser
from gstar_fast._question.question import Question
from tests.helpers.promise_rows import normal_sketch

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.ResolutionWarning",  # few bins, to be quick
    "ignore::gstar_fast.errors.DegenerateWarning",
    "ignore::gstar_fast.errors.OverfitWarning",
)
BY = {"fair_between": 0, "decide_by": 1}
KINDS = {
    "groups": ("equalized_odds", 0.02, {}),
    "groups_ratio": ("disparate_impact", 0.97, {}),
    "unified": ("demographic_parity", 0.06, {"unified": True}),
    "costs": ("equal_opportunity", 0.02, {"objective": {"fp": 1, "fn": 3}}),
    "mixtures": ("equalized_odds", 0.02, {"randomize": True}),
    "segments": ("equalized_odds", 0.05, BY),
    "segments_mixed": ("equal_opportunity", 0.03, {**BY, "randomize": True}),
}


def case(kind, seed):
    """A sketch of few rows, and a question that it cannot be promised."""
    if "decide_by" not in KINDS[kind][2]:
        shift = (0.0, 0.1) if kind == "unified" else (0.0, 0.3)
        return normal_sketch(1500 + 100 * seed, seed, bins=128, shift=shift)
    rng = np.random.default_rng([5, seed])
    rows = 1200 + 100 * seed
    sex, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    segment = np.clip(rng.integers(0, 3, rows) + (rng.random(rows) < 0.4) * sex, 0, 2)
    score = np.rint(rng.normal(label * 1.5 + 0.4 * sex - 0.3 * segment, 1.0) * 8) / 8
    return gf.Sketch.from_rows(score, label, [sex, segment], bins=64)


def offered(result):
    """The looser limit that a message names."""
    found = re.search(r"a limit of ([0-9.]+) could be promised, with (error|cost) ([0-9.]+)", result.message)
    return None if found is None else (float(found[1]), float(found[3]))


def ask_again(kind, seed):
    """How often the limit that a message named was promised: 1, 0, or None where none was named."""
    name, limit, asked = KINDS[kind]
    sketch = case(kind, seed)
    result = gf.solve(sketch, limits={name: limit}, confidence=0.95, **asked)
    if result.verdict != "unpromised" or (named := offered(result)) is None:
        return None
    again = gf.solve(sketch, limits={name: named[0]}, confidence=0.95, **asked)
    assert again.promise is not None
    assert round(float(np.sqrt(again.loss)), 4) == named[1]
    return again.promised


@pytest.mark.slow
def test_every_looser_limit_that_is_named_is_promised():
    """60 cases of all kinds; a limit was named in nearly all of them."""
    cases = [(kind, seed) for seed in range(9) for kind in KINDS][:60]
    found = [ask_again(kind, seed) for kind, seed in cases]
    named = [one for one in found if one is not None]
    assert len(named) >= 50
    assert all(named), [cases[i] for i, one in enumerate(found) if one is False]


@pytest.fixture
def few_replicates(monkeypatch):
    monkeypatch.setattr(promise, "REPLICATES", 4)
    monkeypatch.setattr(promise, "WIDTHS", (1.0, 2.0))


@pytest.mark.parametrize("kind", KINDS)
def test_named_limits_are_promised_on_every_backend(backend, kind, few_replicates):
    assert ask_again(kind, 20) is True


def test_tries_from_the_guess_upwards_and_then_halves_the_distance():
    tried = []

    def granted(question):
        (limit,) = question.limits
        tried.append(limit.most)
        return 0.25 if limit.most >= 0.0538 else None

    asked = Question.of(limits={"equalized_odds": 0.02})
    assert looser(asked, {"equalized_odds": 0.05}, granted) == (0.0541, 0.25)
    assert tried == [0.05, 0.053, 0.0575, 0.0552, 0.0541, 0.0535]
    assert looser(asked, {"equalized_odds": 0.05}, lambda _: None) is None
    two = {"equalized_odds": 0.02, "demographic_parity": 0.02}
    assert looser(Question.of(limits=two), two, lambda _: 0.25) is None


# ------------------------------------------------------------------------------------------------------------- mixtures


def mixing_would_do(seed=0):
    """Groups of 99 and 1 % of the rows: rates of the small one are known too roughly, unless a coin decides in part."""
    return normal_sketch(16_000, seed, bins=128, shares=(0.99, 0.01)), {"equalized_odds": 0.12}


def test_mixtures_are_named_where_they_would_be_promised(backend):
    sketch, limits = mixing_would_do()
    result = gf.solve(sketch, limits=limits, confidence=0.95)
    mixed = gf.solve(sketch, limits=limits, confidence=0.95, randomize=True)
    assert (result.verdict, mixed.verdict) == ("unpromised", "promised")
    said = f"mixtures of thresholds (randomize=True) could be promised, with error {mixed.error:.4f}"
    assert said in result.message


def test_mixtures_are_not_named_where_they_would_not_be_promised(backend):
    sketch = normal_sketch(600, 3, bins=128)
    limits = {"equalized_odds": 0.01}
    result = gf.solve(sketch, limits=limits, confidence=0.95)
    assert gf.solve(sketch, limits=limits, confidence=0.95, randomize=True).verdict == "unpromised"
    assert "randomize=True" not in result.message


# ------------------------------------------------------------------------------------------------- poor thresholds


def unequal(rows=40_000):
    """Groups whose ROC curves are far apart: equal odds need a rule that hardly decides."""
    return normal_sketch(rows, 4, bins=128, distance=(0.3, 3.0), shift=(0.0, 0.0), positive=(0.4, 0.4))


@pytest.mark.parametrize("weighed", [{}, {"objective": {"fp": 2, "fn": 1}}])
def test_thresholds_much_worse_than_the_unified_one_are_not_promised(backend, weighed):
    sketch = unequal()
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, confidence=0.95, **weighed)
    assert result.verdict == "unpromised"
    assert result.promise.rows_needed.times is None
    assert gf.rows_needed(sketch, limits={"equalized_odds": 0.05}, **weighed).times is None
    what = "cost" if weighed else "error"
    found = re.search(
        rf"the least {what} within this limit is ([0-9.]+), which loses more than a quarter of what the best unified "
        r"threshold \(([0-9.]+)\) gains over a constant decision \(([0-9.]+)\)",
        result.message,
    )
    least, unified, constant = map(float, found.groups())
    assert least == pytest.approx(np.sqrt(result.loss), abs=5e-5)
    free = gf.solve(sketch, unified=True, **weighed)
    assert unified == pytest.approx(np.sqrt(free.loss), abs=5e-5)
    assert constant - least < 0.75 * (constant - unified)


@pytest.mark.slow
def test_every_promise_keeps_three_quarters_of_what_the_unified_threshold_gains():
    made = refused = 0
    for rows in (2_000, 40_000):
        for distance in ((1.6, 1.5), (1.6, 0.9), (0.3, 3.0)):
            sketch = normal_sketch(rows, rows, bins=128, distance=distance, positive=(0.5, 0.4))
            constant = min(sketch.counts[label].sum() for label in (0, 1)) / sketch.n_rows
            for limit in (0.03, 0.1, 0.3):
                for asked in ({}, {"randomize": True}, {"unified": True}):
                    result = gf.solve(sketch, limits={"equalized_odds": limit}, confidence=0.9, **asked)
                    if result.verdict == "promised":
                        assert constant - result.error >= 0.75 * (constant - result.before_error) - 1e-12
                        made += 1
                    refused += "more than a quarter" in result.message
    assert made > 5
    assert refused > 5


@pytest.mark.slow
def test_promised_curve_has_useful_points_only():
    sketch = unequal()
    constant = min(sketch.counts[label].sum() for label in (0, 1)) / sketch.n_rows
    unified = gf.solve(sketch, unified=True).error
    curve = gf.frontier(sketch, "equalized_odds", confidence=0.9)
    assert (constant - curve.costs >= 0.75 * (constant - unified) - 1e-12).all()


# ------------------------------------------------------------------------------------------------------- many questions


@pytest.mark.parametrize("kind", ["groups", "segments"])
@pytest.mark.parametrize("limit", [0.01, 0.3])
def test_a_note_says_how_to_ask_more_than_once(backend, kind, limit, few_replicates):
    sketch, asked = case(kind, 1), KINDS[kind][2]
    result = gf.solve(sketch, limits={"equalized_odds": limit}, confidence=0.9, **asked)
    assert result.verdict == "unpromised" if limit < 0.1 else result.promised
    note = (
        "this confidence is for one question; for k questions about the same rows, ask each with confidence "
        "1 - (1 - 0.9) / k (0.98 for k = 5)"
    )
    assert note in texts(result)
    assert f"note: {note}" in str(result)
    assert note not in texts(result.promise.plain)
    assert note in texts(gf.Result.from_json(result.to_json()))


def test_a_promised_frontier_says_that_its_points_hold_one_at_a_time():
    curve = gf.frontier(normal_sketch(4_000, 3, bins=128), "equalized_odds", confidence=0.9)
    assert str(curve).endswith("; the promises of its points hold one at a time")
    assert "one_question" in [note.code for note in curve.result(0).notes]
    assert "one at a time" not in str(gf.frontier(normal_sketch(4_000, 3, bins=128), "equalized_odds"))
