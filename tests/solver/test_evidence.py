"""`evidence`: every group gets the unified threshold unless thresholds by group cost significantly less."""

import json
import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from helpers.notes import texts
from helpers.problems import random_question, random_rows, sketch_of
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._question.question import Question
from gstar_fast._solver.finish import needed_z
from gstar_fast.errors import OptionTypeError, OptionValueError

pytestmark = pytest.mark.filterwarnings(
    *(f"ignore::gstar_fast.errors.{name}Warning" for name in ("Degenerate", "Noise", "Overfit", "MissingClass"))
)
ODDS = {"equalized_odds": 0.05}


def people(rows=4_000, groups=3, seed=0, differ=0.0):
    """Rows of groups that differ by a given amount; by default not at all."""
    rng = np.random.default_rng([seed, rows, groups])
    labels, group = (rng.random(rows) < 0.4).astype(int), rng.integers(0, groups, rows)
    return rng.normal(size=rows) + 1.2 * labels + differ * group, labels, group


def z_of_rows(rows, result, unified, prices=(1, 1), weights=None):
    """The paired z from the rows themselves."""
    scores, labels, groups = rows
    mixtures = result.mixtures or {name: ((t, 1.0),) for name, t in result.thresholds.items()}
    accepted = np.array([sum(p for t, p in mixtures[g] if s >= t) for s, g in zip(scores, groups, strict=True)])
    more = accepted - (scores >= unified)
    saved = np.where(labels == 1, prices[1] * more, -prices[0] * more) * (1 if weights is None else weights)
    return saved.sum() / math.sqrt((saved**2).sum())


def same_answer(one, two):
    return (one.thresholds, one.mixtures, one.error, one.gaps) == (two.thresholds, two.mixtures, two.error, two.gaps)


# ---------------------------------------------------------------------------------------------------------------- laws


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), n_groups=st.integers(2, 4), randomize=st.booleans())
def test_the_answer_is_the_optimum_or_the_unified_threshold(backend, seed, n_groups, randomize):
    rng = np.random.default_rng(seed)
    sketch = sketch_of(*random_rows(rng, n_groups))
    limits, _ = random_question(rng, "limits")
    level = float(rng.choice([0.5, 0.8, 0.95, 0.999]))
    try:
        best = gf.solve(sketch, limits=limits, randomize=randomize, evidence=0)
    except ValueError as error:
        if "needs two groups" not in str(error):
            raise
        return
    result = gf.solve(sketch, limits=limits, randomize=randomize, evidence=level)
    assert best.evidence is None
    assert result.evidence.level == level
    if result.verdict != "unified":
        assert same_answer(result, best)
        assert result.verdict == best.verdict
        assert result.evidence.z is None or result.evidence.z > result.evidence.needed
        return
    assert set(result.thresholds.values()) == {result.thresholds.default}
    assert (result.error, result.cost) == (result.before_error, result.before_cost)
    assert result.gaps == pytest.approx(result.gaps.before)
    assert result.meets_limits
    assert result.evidence.cost == best.cost <= result.cost + 1e-12
    assert result.evidence.z <= result.evidence.needed
    assert result.lower_bound == best.lower_bound
    result.check(sketch)


@pytest.mark.parametrize(
    "asked", [{}, {"objective": {"fp": 5, "fn": 1}}, {"objective": "balanced_error"}, {"randomize": True}], ids=str
)
def test_z_is_that_of_the_rows(backend, asked):
    rows = people(differ=0.05)
    sketch = gf.Sketch.from_rows(*rows)
    limits = {"equalized_odds": 0.2}
    best = gf.solve(sketch, limits=limits, **asked, evidence=0)
    result = gf.solve(sketch, limits=limits, **asked)
    n = np.bincount(rows[1])
    question = Question.of(objective=asked.get("objective", "error"))
    prices = (1 / n[0], 1 / n[1]) if question.balanced else question.costs
    assert result.evidence.z == pytest.approx(z_of_rows(rows, best, best.thresholds.default, prices))
    assert result.evidence.needed == pytest.approx(1.1 * math.sqrt(3) - 0.2 + 0.5 * NormalDist().inv_cdf(0.95))


def test_names_and_order_of_groups_change_nothing(backend):
    scores, labels, groups = people(groups=4)
    names = np.array(["z", "b", "x", "a"])
    asked = {"limits": {"equalized_odds": 0.2}, "randomize": True}
    one = gf.solve(gf.Sketch.from_rows(scores, labels, groups), **asked)
    two = gf.solve(gf.Sketch.from_rows(scores[::-1], labels[::-1], names[groups[::-1]]), **asked)
    assert one.verdict == two.verdict == "unified"
    assert one.evidence.z == pytest.approx(two.evidence.z)
    assert one.evidence.needed == two.evidence.needed


def test_backends_agree():
    rows = people(groups=5)
    found = []
    for backend in ("native", "numba", "numpy"):
        with gf.use_backend(backend):
            found.append(gf.solve(gf.Sketch.from_rows(*rows), limits={"equalized_odds": 0.2}))
    assert found[0].verdict == "unified"
    assert found[0].evidence == found[1].evidence == found[2].evidence
    assert found[0].message == found[1].message == found[2].message


def test_more_evidence_never_turns_to_thresholds_by_group(backend):
    sketch = gf.Sketch.from_rows(*people(differ=0.03))
    verdicts = [gf.solve(sketch, evidence=level).verdict for level in (0, 1e-12, 0.2, 0.5, 0.8, 0.95, 0.999999)]
    assert verdicts[0] == "optimal"
    assert verdicts == sorted(verdicts)  # "optimal" comes before "unified"
    assert verdicts[-1] == "unified"


def test_chance_gives_more_with_more_groups_and_less_confidence():
    assert [round(needed_z(0.95, k), 2) for k in (2, 3, 5, 10, 20)] == [2.18, 2.53, 3.08, 4.1, 5.54]
    assert needed_z(0.99, 5) > needed_z(0.95, 5) > needed_z(0.5, 5) > needed_z(1e-9, 5)


def test_identical_groups_get_one_threshold(backend):
    """In 40 draws at most 5 % and three standard errors get their own."""
    own = [gf.solve(gf.Sketch.from_rows(*people(2_000, seed=seed))).verdict != "unified" for seed in range(40)]
    assert sum(own) <= 40 * 0.05 + 3 * math.sqrt(40 * 0.05 * 0.95)


def test_groups_that_differ_get_their_own(backend):
    sketch = gf.Sketch.from_rows(*people(20_000, differ=0.8))
    result = gf.solve(sketch)
    assert same_answer(result, gf.solve(sketch, evidence=0))
    assert result.evidence.z > 5
    strict = gf.solve(sketch, limits=ODDS)  # which the unified threshold misses
    assert strict.gaps.before["equalized_odds"] > 0.05
    assert same_answer(strict, gf.solve(sketch, limits=ODDS, evidence=0))
    assert strict.evidence == gf.results.Evidence(0.95)


# --------------------------------------------------------------------------------------------------------------- edges


def test_one_group_has_the_optimum(backend):
    scores, labels, _ = people()
    result = gf.solve(gf.Sketch.from_rows(scores, labels, np.zeros(len(scores), dtype=int)))
    assert result.verdict == "optimal"
    assert result.evidence.z is None


def test_constant_scores_leave_nothing_to_compare(backend):
    labels = np.array([0, 1, 1] * 20)
    result = gf.solve(gf.Sketch.from_rows(np.zeros(60), labels, np.arange(60) % 2), limits={"demographic_parity": 0.1})
    assert result.verdict == "optimal"
    assert len(set(result.thresholds.values())) == 1


def test_groups_without_labels_are_not_counted(backend):
    """Their thresholds cannot lower the cost, so chance gives no more with them."""
    scores, labels, groups = people(groups=4)
    known = groups != 3
    sketch = gf.Sketch.from_rows(scores[known], labels[known], groups[known])
    sketch.update(scores[~known], None, groups[~known])
    assert gf.solve(sketch).evidence.needed == needed_z(0.95, 3)


def test_a_group_without_positives_is_compared_by_its_negatives(backend):
    scores, labels, groups = people(groups=3)
    rows = scores, np.where(groups == 2, 0, labels), groups
    sketch = gf.Sketch.from_rows(*rows)
    best, result = gf.solve(sketch, evidence=0), gf.solve(sketch)
    assert result.verdict == "optimal"  # all its rows are rejected: it does differ
    assert result.evidence.z == pytest.approx(z_of_rows(rows, best, best.thresholds.default))


@pytest.mark.parametrize("weight", [0.375, 2.5, 10])
@pytest.mark.parametrize("differ", [0.0, 0.3])
def test_constant_weights_give_the_answer_of_none(backend, weight, differ):
    rows = people(6_000, differ=differ)
    limits = {"equalized_odds": 0.5}
    plain = gf.solve(gf.Sketch.from_rows(*rows), limits=limits)
    equal = gf.solve(gf.Sketch.from_rows(*rows, weights=np.full(6_000, weight)), limits=limits)
    assert plain.verdict == equal.verdict == ("optimal" if differ else "unified")
    assert equal.thresholds == plain.thresholds
    assert equal.evidence.z == pytest.approx(plain.evidence.z)
    assert equal.evidence.needed == plain.evidence.needed
    assert equal.message == plain.message


@pytest.mark.parametrize(
    "asked", [{}, {"objective": {"fp": 5, "fn": 1}}, {"objective": "balanced_error"}, {"randomize": True}], ids=str
)
@pytest.mark.parametrize("slope", [-1.0, 0.8])
def test_z_of_weighted_rows_has_the_squares_of_those_between_the_thresholds(backend, asked, slope):
    """Weights that depend on scores: the rows between two thresholds do not have the average square of their group."""
    rows = people(6_000, differ=0.05)
    scores, labels, _ = rows
    weights = np.exp(slope * scores)
    sketch = gf.Sketch.from_rows(*rows, weights=weights)
    limits = {"equalized_odds": 0.4}
    best, result = (gf.solve(sketch, limits=limits, **asked, evidence=level) for level in (0, 0.95))
    question = Question.of(objective=asked.get("objective", "error"))
    prices = question.costs
    if question.balanced:
        prices = tuple(1 / weights[labels == label].sum() for label in (0, 1))
    exact = z_of_rows(rows, best, best.thresholds.default, prices, weights)
    assert result.evidence.z == pytest.approx(exact, rel=1e-4)  # weights are rounded to multiples of 2**-20


def test_z_of_weighted_segments_is_that_of_the_rows(backend):
    scores, labels, segments = rows = people(3_000)
    groups = np.random.default_rng(1).integers(0, 2, 3_000)
    weights = np.exp(0.8 * scores)
    sketch = gf.Sketch.from_rows(scores, labels, [groups, segments], bins=64, weights=weights)
    by = {"limits": {"equalized_odds": 0.3}, "fair_between": 0, "decide_by": 1}
    best, result = (gf.solve(sketch, **by, evidence=level) for level in (0, 0.95))
    exact = z_of_rows(rows, best, best.thresholds.default, weights=weights)
    assert result.evidence.z == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("asked", [{}, {"randomize": True}, {"decide_by": gf.Segments(column=1)}], ids=str)
def test_segments_get_one_threshold_without_evidence(backend, asked):
    scores, labels, segments = people(3_000)
    groups = np.random.default_rng(1).integers(0, 2, 3_000)
    sketch = gf.Sketch.from_rows(scores, labels, [groups, segments], bins=64)
    by = {"fair_between": 0, "decide_by": 1, **asked}
    limits = {"equalized_odds": 0.2}
    best, result = gf.solve(sketch, limits=limits, **by, evidence=0), gf.solve(sketch, limits=limits, **by)
    assert result.verdict == "unified"
    assert set(result.thresholds.values()) == {result.thresholds.default}
    assert result.gaps == pytest.approx(result.gaps.before)
    assert result.evidence.z == pytest.approx(z_of_rows((scores, labels, segments), best, best.thresholds.default))
    assert "thresholds by segment have" in result.message
    result.check(sketch)
    assert gf.Result.from_json(result.to_json()) == result


@pytest.mark.parametrize("randomize", [False, True])
def test_one_threshold_for_all_segments_and_a_promise_are_not_said_to_overfit(backend, randomize):
    scores, labels, segments = people(2_000)
    groups, weights = np.random.default_rng(1).integers(0, 2, 2_000), np.random.default_rng(3).lognormal(size=2_000)
    sketch = gf.Sketch.from_rows(scores, labels, [groups, segments], bins=64, weights=weights)
    asked = {"limits": {"equalized_odds": 0.4}, "fair_between": 0, "decide_by": 1, "randomize": randomize}
    for more, verdict, told in (
        ({}, "unified", False),
        ({"confidence": 0.9}, "unified", False),
        ({"evidence": 0}, "optimal", True),
        ({"evidence": 0, "confidence": 0.9}, "promised", False),
    ):
        result = gf.solve(sketch, **asked, **more)
        assert result.verdict == verdict
        assert any(note.startswith("overfit: ") for note in texts(result)) == told
        result.check(sketch)


def test_with_confidence_the_unified_threshold_is_promised(backend):
    sketch = gf.Sketch.from_rows(*people(20_000))
    result = gf.solve(sketch, limits={"equalized_odds": 0.1}, confidence=0.95)
    assert result.verdict == "unified"
    assert result.promised
    assert result.promise.chance <= 0.05
    assert result.promise.plain == gf.solve(sketch, limits={"equalized_odds": 0.1})
    assert "the limit holds on new rows with 0.95 confidence" in result.message
    result.check(sketch)
    assert gf.Result.from_json(result.to_json()) == result


def test_without_a_promise_the_unified_threshold_is_not_preferred(backend):
    """Thresholds by group are returned if they can be promised; otherwise the plain thresholds are."""
    verdicts = set()
    for limit in (0.05, 0.055, 0.06, 0.07):
        sketch = gf.Sketch.from_rows(*people(6_000, seed=1))
        result = gf.solve(sketch, limits={"equalized_odds": limit}, confidence=0.95)
        plain = gf.solve(sketch, limits={"equalized_odds": limit})
        assert plain.verdict == "unified"
        assert result.promise.plain == plain
        verdicts.add(result.verdict)
        if result.verdict == "unpromised":
            assert not result.promised
            assert result.thresholds == plain.thresholds
        elif result.verdict == "promised":
            assert result.promise.chance <= 0.05 < result.promise.plain_chance
    assert "unpromised" in verdicts


def test_small_groups_may_be_pooled(backend):
    scores, labels, groups = people(groups=2)
    groups[:30] = 2
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    result = gf.solve(sketch, min_rows=100)
    assert result.verdict == "unified"
    assert set(result.thresholds.values()) == {result.thresholds.default}
    assert set(result.thresholds) == {0, 1, 2}


@pytest.mark.parametrize(
    "asked",
    [{"penalties": {"equalized_odds": 0.1}}, {"unified": True}, {"density": "kde"}],
    ids=["penalties", "unified", "density"],
)
def test_other_methods_ignore_evidence(backend, asked):
    sketch = gf.Sketch.from_rows(*people(1_000))
    result = gf.solve(sketch, **asked)
    assert result.verdict != "unified"
    assert result.evidence is None
    assert same_answer(result, gf.solve(sketch, **asked, evidence=0))


@pytest.mark.parametrize("wrong", [-0.1, 1, 1.5, 95, math.nan, math.inf])
def test_evidence_is_at_least_0_and_below_1(wrong):
    sketch = gf.Sketch.from_rows(*people(100))
    with pytest.raises(OptionValueError, match="evidence must be at least 0 and below 1"):
        gf.solve(sketch, evidence=wrong)


def test_percents_are_recognised():
    with pytest.raises(OptionValueError, match=r"got 95; 95 % is 0\.95"):
        gf.solve(gf.Sketch.from_rows(*people(100)), evidence=95)


@pytest.mark.parametrize("wrong", [True, np.True_, "0.95", None, [0.95]])
def test_evidence_is_a_number(wrong):
    with pytest.raises(OptionTypeError, match=r"evidence must be a number such as 0\.95"):
        gf.solve(gf.Sketch.from_rows(*people(100)), evidence=wrong)


# --------------------------------------------------------------------------------------------------------------- words


def test_the_message_has_both_costs_and_they_differ(backend):
    sketch = gf.Sketch.from_rows(*people())
    for asked, what in (({}, "error"), ({"objective": {"fp": 5, "fn": 1}}, "cost")):
        result = gf.solve(sketch, limits={"equalized_odds": 0.1}, **asked)
        assert result.verdict == "unified"
        words = result.message.split("; ")
        one, two = words[0].split()[-1], words[1].split(" have ")[1].split(",")[0]
        assert words[0].startswith(f"the best unified threshold meets the limits with {what} ")
        assert one != two
        assert float(one) == pytest.approx(result.cost, abs=1e-4)
        assert float(two) == pytest.approx(result.evidence.cost, abs=1e-4)
    assert str(result).startswith(f"unified: {result.message}\n")


def test_saved_results_have_it(backend):
    result = gf.solve(gf.Sketch.from_rows(*people()), limits=ODDS, evidence=0.9)
    saved = json.loads(result.to_json())
    assert saved["evidence"]["level"] == 0.9
    assert gf.Result.from_json(result.to_json()) == result
    assert gf.Decider.from_json(result.to_json())([9.0, -9.0], [0, 1]).tolist() == [True, False]


# ---------------------------------------------------------------------------------------------------------- wider gaps


def test_without_a_limit_a_note_says_which_gap_is_wider(backend):
    result = gf.solve(gf.Sketch.from_rows(*people()), evidence=0)
    wider = {name: gap - result.gaps.before[name] for name, gap in result.gaps.items()}
    [note] = [note for note in texts(result) if note.startswith("no limit was asked for")]
    name = note.split("the ")[1].split(" gap")[0]
    assert wider[name] > 0
    assert f"{result.gaps[name]:.4f}" in note
    assert f"{result.gaps.before[name]:.4f}" in note
    assert f"note: {note}" in str(result)


def test_an_asked_gap_that_is_wider_has_a_note(backend):
    sketch = gf.Sketch.from_rows(*people())
    result = gf.solve(sketch, limits={"equalized_odds": 0.1, "disparate_impact": 0.5}, evidence=0)
    before, after = result.gaps.before, result.gaps
    assert after["equalized_odds"] > before["equalized_odds"]
    where = "at the best unified threshold"
    gaps = [f"{gap['equalized_odds']:.4f}" for gap in (after, before)]
    ratios = [f"{gap['disparate_impact']:.4f}" for gap in (after, before)]
    assert [note for note in texts(result) if where in note] == [
        f"the equalized_odds gap is {gaps[0]}, wider than {gaps[1]} {where}",
        f"the disparate_impact ratio is {ratios[0]}, lower than {ratios[1]} {where}",
    ]


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.UnpromisedWarning")
@pytest.mark.parametrize("randomize", [False, True])
@pytest.mark.parametrize("by_segment", [False, True])
def test_results_with_the_note_are_proven_by_check(backend, by_segment, randomize):
    """Also those behind a promise, and those read from a file; without the note they are not those of `solve`."""
    scores, labels, segments = people(1_200)
    groups = np.random.default_rng(0).integers(0, 2, 1_200)
    sketch = gf.Sketch.from_rows(scores, labels, [groups, segments] if by_segment else segments, bins=32)
    by = {"fair_between": 0, "decide_by": 1} if by_segment else {}
    for asked in ({}, {"limits": {"equalized_odds": 0.3}}, {"limits": {"equalized_odds": 0.3}, "confidence": 0.9}):
        result = gf.solve(sketch, **asked, **by, randomize=randomize, evidence=0)
        assert any("at the best unified threshold" in note for note in texts(result))
        result.check(sketch)
        gf.Result.from_json(result.to_json()).check(sketch)
        with pytest.raises(ValueError, match="the proof does not hold on this sketch: notes is"):
            replace(result, notes=()).check(sketch)


def test_promised_thresholds_have_the_note_once(backend):
    sketch = gf.Sketch.from_rows(*people(20_000))
    result = gf.solve(sketch, limits={"equalized_odds": 0.1}, confidence=0.9, evidence=0)
    assert result.verdict == "promised"
    assert len(result.notes) == len(set(result.notes))
    wider = result.gaps["equalized_odds"] > result.gaps.before["equalized_odds"]
    assert wider == any("wider" in note for note in texts(result))
    assert result.promise.plain == gf.solve(sketch, limits={"equalized_odds": 0.1}, evidence=0)


def test_one_threshold_has_no_such_note(backend):
    sketch = gf.Sketch.from_rows(*people())
    for asked in ({}, {"unified": True}, {"limits": ODDS}):
        result = gf.solve(sketch, **asked)
        assert len(set(result.thresholds.values())) == 1
        assert result.notes == ()
