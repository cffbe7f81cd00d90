"""Odd questions to `solve`: answered, or refused with words that say what to write."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gstar_fast as gf

# a few rows and limits of 0 make degenerate answers; test_degenerate.py is about their warning
pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")


def test_accepting_everybody_is_found_and_said(backend):
    """When only the corners of two ROC curves meet, a limit of 0 accepts or rejects everybody, in plain words."""
    sketch = gf.Sketch.from_rows([1, 2, 3, 4, 1, 2, 3, 4, 5], [0, 1, 0, 1, 1, 0, 1, 0, 1], list("aaaabbbbb"), bins=16)
    result = gf.solve(sketch, limits={"equalized_odds": 0.0})
    assert result.gaps["equalized_odds"] == 0
    assert "everybody" in str(result)


def test_one_group_has_no_gaps(backend):
    sketch = gf.Sketch.from_rows([1.0, 2.0, 3.0], [0, 1, 1], ["a", "a", "a"], bins=16)
    result = gf.solve(sketch)
    assert result.error == 0
    assert set(result.gaps.values()) == {0.0, 1.0}


@pytest.mark.parametrize(
    "asked",
    [
        {"limits": {"equalized_odds": 0.0}},
        {"limits": {"demographic_parity": 0.1}, "randomize": True},
        {"limits": {"disparate_impact": 0.8}, "unified": True},
        {"penalties": {"equal_opportunity": 5.0}},
        {"penalties": {"equal_opportunity": 5.0}, "density": "kde"},
    ],
)
def test_one_group_cannot_be_compared(backend, asked):
    """As in the estimator: a column of groups that was forgotten must not pass for gaps of 0."""
    rng = np.random.default_rng(0)
    sketch = gf.Sketch.from_rows(rng.normal(size=50), rng.integers(0, 2, 50), ["everybody"] * 50)
    words = r"limits and penalties compare groups, but there is only one, 'everybody'; \w+ needs two groups"
    with pytest.raises(ValueError, match=words):
        gf.solve(sketch, **asked)
    with pytest.raises(ValueError, match=words):
        gf.frontier(sketch, "equalized_odds")


def test_predictive_parity_is_not_taken_for_predictive_equality(backend):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    for ask in (
        lambda: gf.solve(sketch, limits={"predictive_parity": 0.02}),
        lambda: gf.solve(sketch, penalties={"predictive_parity": 1.0}),
        lambda: gf.frontier(sketch, "predictive_parity"),
    ):
        with pytest.raises(ValueError, match=r"equal ppv\) is not offered.*gap in audit.*can widen it$") as error:
            ask()
        assert "did you mean" not in str(error.value)


def test_equalized_odds_widens_the_gap_in_ppv_where_base_rates_differ(backend):
    """Why the error for predictive parity recommends no other criterion."""
    rng = np.random.default_rng(3)
    groups, labels = np.repeat([0, 1], 20_000), np.concatenate([rng.random(20_000) < rate for rate in (0.1, 0.4)])
    scores = np.log(np.where(groups == 0, 0.1 / 0.9, 0.4 / 0.6)) + 3 * (rng.normal(size=40_000) + 2 * labels - 1)
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    unified = gf.solve(sketch, unified=True)
    limited = gf.solve(sketch, limits={"equalized_odds": 0.02})
    before, after = (gf.audit(one.thresholds, sketch).gaps["predictive_parity"].value for one in (unified, limited))
    assert after > before + 0.05


@pytest.mark.parametrize("name", ["predictive_value_parity", "Predictive-Parity", "predictive_partiy", "ppv_parity"])
def test_other_words_for_predictive_parity_are_understood(name):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(ValueError, match=r"equal ppv\) is not offered") as error:
        gf.solve(sketch, limits={name: 0.02})
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("statistical_parity", "demographic_parity"),
        ("true_positive_rate_parity", "equal_opportunity"),
        ("false_positive_rate_parity", "predictive_equality"),
        ("predictive_equalty", "predictive_equality"),
        ("equalised_odds", "equalized_odds"),
    ],
)
def test_names_of_other_libraries_and_slips_get_the_right_hint(name, meant):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(ValueError, match=f"; did you mean '{meant}'\\?$"):
        gf.solve(sketch, limits={name: 0.02})


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (
            0.02,
            r"0.02 lets one group be accepted 50 times as often as another; did you mean 0.98, 0.8 \(the four-fifths",
        ),
        (0.2, r"5 times as often as another; did you mean 0.8 \(the four-fifths rule\), or limits=\{'demographic"),
        (0.0, r"accepted and another not at all; did you mean 1, "),
    ],
)
def test_a_disparate_impact_limit_that_looks_like_a_gap_warns(backend, ratio, words):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.warns(UserWarning, match=words):
        assert gf.solve(sketch, limits={"disparate_impact": ratio}).verdict == "optimal"
    with pytest.warns(UserWarning, match=words):
        gf.frontier(sketch, "equal_opportunity", limits={"disparate_impact": ratio})


def test_ratios_that_are_asked_for_are_not_questioned(backend):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    for ratio in (0.25, 0.5, 0.8, 1.0):
        gf.solve(sketch, limits={"disparate_impact": ratio})


def test_group_without_a_class_is_left_out_with_a_warning(backend):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2, 1, 2], [0, 1, 0, 1, 0, 0], list("aabbcc"), bins=16)
    with pytest.warns(gf.errors.MissingClassWarning, match="having no positive labels: 'c'"):
        result = gf.solve(sketch, limits={"equal_opportunity": 0.0})
    assert "left out of the tpr gap" in str(result)
    assert result.rates["c"].tpr is None


def test_too_few_groups_for_a_criterion_raises(backend):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 0], list("aabb"), bins=16)
    with pytest.raises(ValueError, match=r"group 'b' has no positive labels.*equal_opportunity needs two groups"):
        gf.solve(sketch, limits={"equal_opportunity": 0.1})


def test_infeasible_says_how_far(backend):
    """Two groups with perfectly separated accuracies: no thresholds make them equal."""
    sketch = gf.Sketch.from_rows([1] * 4 + [1] * 4, [1, 1, 1, 0, 1, 0, 0, 1], list("aaaabbbb"), bins=16)
    result = gf.solve(sketch, limits={"accuracy_parity": 0.1})
    assert result.verdict == "infeasible"
    assert "0.15" in result.message
    assert set(result.thresholds.values()) == {result.thresholds.default}


def test_tuple_and_mixed_names(backend):
    names = [("f", 1), ("f", 2), 7, "x"]
    sketch = gf.Sketch(bins=16)
    for name in names:
        sketch.update([1.0, 2.0, 3.0], [0, 1, 1], [name] * 3)
    assert gf.solve(sketch, limits={"equalized_odds": 0}).groups == (7, "x", ("f", 1), ("f", 2))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limits": {"equalised_odds": 0.1}}, "did you mean 'equalized_odds'"),
        ({"limits": {"equalized_odds": -0.1}}, r"limits\['equalized_odds'\] is a largest gap and must be from 0 to 1"),
        ({"limits": {"equalized_odds": math.nan}}, "got nan"),
        ({"limits": {"disparate_impact": 1.2}}, "is a least ratio and must be from 0 to 1"),
        ({"penalties": {"disparate_impact": 1}}, "is a ratio and cannot be a penalty"),
        ({"penalties": {"equalized_odds": -1}}, "must be finite and not negative"),
        ({"penalties": {"equalized_odds": math.inf}}, "must be finite"),
        ({"objective": {"fp": 1}}, "or prices such as"),
        ({"objective": {"fp": 0, "fn": 0}}, "not both 0"),
        ({"objective": {"fp": -1, "fn": 1}}, "not negative"),
        ({"objective": 3}, "or prices such as"),
        ({"method": "magic"}, "method must be one of exact, alternating"),
        ({"method": "alternating", "penalties": {"equalized_odds": 1}}, "needs density too; pass a smooth one"),
        ({"randomize": True, "penalties": {"equalized_odds": 1}}, "randomize=True does not go with penalties"),
        ({"max_seconds": 0}, "max_seconds must be above 0; got 0; leave it out for no limit"),
        ({"max_seconds": float("nan")}, "max_seconds must be above 0"),
        ({"max_seconds": 1, "unified": True}, "max_seconds=1.0 does not go with unified=True"),
    ],
)
def test_wrong_options_say_what_to_write(options, words):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(ValueError, match=words):
        gf.solve(sketch, **options)


@pytest.mark.parametrize("limits", [[("equalized_odds", 0.1)], {"equalized_odds": "low"}, {"equalized_odds": True}])
def test_wrong_types_are_refused_with_the_right_one(limits):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(TypeError, match="limits"):
        gf.solve(sketch, limits=limits)


@pytest.mark.parametrize("given", ["1", True, [1]])
def test_max_seconds_is_a_number(given):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(TypeError, match="max_seconds must be a number of seconds or None"):
        gf.solve(sketch, max_seconds=given)


def test_empty_and_unlabelled_sketches_say_so():
    with pytest.raises(ValueError, match="the sketch has no rows"):
        gf.solve(gf.Sketch())
    sketch = gf.Sketch()
    sketch.update([1.0, 2.0], None, ["a", "b"])
    with pytest.raises(ValueError, match="no labelled rows"):
        gf.solve(sketch, limits={"demographic_parity": 0.1})
    with pytest.raises(ValueError, match="objective weighs both classes alike, and there are no negative labels"):
        gf.solve(gf.Sketch.from_rows([1, 2], [1, 1], ["a", "b"]), objective="balanced_error")
