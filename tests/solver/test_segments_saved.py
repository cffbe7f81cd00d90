"""Segments with cut points: monotone by default, and the cut points go with the thresholds wherever these go."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning", "ignore::gstar_fast.errors.OverfitWarning"
)

BY = {"fair_between": 0, "decide_by": 1, "limits": {"equalized_odds": 0.05}}
CUT = gf.Segments((0.3, 0.5, 0.7))


def people(seed=0, rows=900):
    """Scores, labels, sex, and a number that tells women from men, poorly."""
    rng = np.random.default_rng(seed)
    sex, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    q = np.clip(0.35 + 0.3 * sex + rng.normal(0, 0.2, rows), 0, 1)
    score = np.rint(rng.normal(label * 1.5 + 0.6 * sex, 1.0) * 16) / 16
    return score, label, np.array(["F", "M"])[sex], q


def counted(seed=0, cut=CUT, **options):
    score, label, sex, q = people(seed, **options)
    return gf.Sketch.from_rows(score, label, [sex, cut.cut(q)], bins=64)


def test_thresholds_are_monotone_by_default_where_segments_were_cut(backend):
    sketch = counted()
    plain, cut = gf.solve(sketch, **BY), gf.solve(sketch, **BY | {"decide_by": CUT.of(1)})
    assert (plain.question.monotone, plain.question.cuts) == (False, None)
    assert (cut.question.monotone, cut.question.cuts) == (True, CUT.cuts)
    steps = np.diff(list(cut.thresholds.values()))
    assert (steps >= 0).all() or (steps <= 0).all()
    assert cut.thresholds == gf.solve(sketch, **BY | {"decide_by": gf.Segments(column=1, monotone=True)}).thresholds
    free = gf.solve(sketch, **BY | {"decide_by": replace(CUT.of(1), monotone=False)})
    assert (free.question.monotone, free.thresholds) == (False, plain.thresholds)
    not_meant = gf.Segments(CUT.cuts, monotone=False)
    assert gf.solve(sketch, **BY | {"decide_by": not_meant.of(1)}).question.monotone is False
    cut.check(sketch)


@settings(max_examples=6)
@given(st.integers(0, 10**6), st.booleans())
def test_one_file_is_enough_to_decide(backend, seed, randomize):
    """The decider of the saved result takes q itself, and has the error that the result says."""
    score, label, _, q = people(seed, rows=300)
    result = gf.solve(counted(seed, rows=300), randomize=randomize, **BY | {"decide_by": CUT.of(1)})
    again = gf.Result.from_json(result.to_json())
    assert again == result
    assert str(again) == str(result)
    assert "segments are cut at 0.3000, 0.5000, 0.7000" in str(result)
    assert again.origin.group_column is None  # of q nobody knows the column
    keys = {"keys": np.arange(300)} if randomize else {}
    decisions = result._decider()(score, q, **keys)
    for decider in (gf.Decider.from_json(result.to_json()), pickle.loads(pickle.dumps(result))._decider()):
        assert decider.cuts == CUT.cuts
        assert np.array_equal(decider(score, q, **keys), decisions)
    if not randomize:
        assert (decisions != label).mean() == pytest.approx(result.error, abs=1e-12)


def test_a_segment_without_rows_has_no_threshold(backend):
    cut = gf.Segments((-5.0, 0.5))
    result = gf.solve(counted(cut=cut), **BY | {"decide_by": cut.of(1)})
    assert list(result.thresholds) == [1, 2]
    with pytest.raises(ValueError, match="segment 0 has no threshold"):
        result.decider().one(0.5, -6.0)
    assert result.decider(unknown=0.25).one(0.5, -6.0) is True


@pytest.mark.slow
def test_an_audit_measures_it_between_protected_groups():
    sketch = counted()
    result = gf.solve(sketch, **BY | {"decide_by": CUT.of(1)})
    audit = gf.audit(result, sketch)
    assert audit.gaps["equalized_odds"].value == pytest.approx(result.gaps["equalized_odds"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decide_by": (0.3, 0.5)}, "decide_by must be the name of a group column, its position, .*; got 0.3"),
        ({"decide_by": gf.Segments((0.5,), column=1)}, "segments 0 to 1, and the sketch counted rows of 2"),
        ({"fair_between": 1, "decide_by": CUT.of(0)}, "segments 0 to 3, and the sketch counted rows of 'F'"),
        ({"decide_by": CUT.of(0)}, "has segments of the column 0, and fair_between names the same"),
        ({"decide_by": CUT}, "decide_by has segments of a column without a name"),
        ({"fair_between": None, "decide_by": CUT.of(1)}, "decide_by needs fair_between too"),
    ],
)
def test_cut_points_of_something_else_are_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        gf.solve(counted(), **{**BY, **options})


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.NoiseWarning", "ignore::gstar_fast.errors.UnpromisedWarning")
def test_promises_and_points_of_a_frontier_keep_the_cut_points():
    sketch = counted(rows=3000)
    asked = {name: value for name, value in BY.items() if name != "limits"} | {"decide_by": CUT.of(1)}
    promised = gf.solve(sketch, confidence=0.9, limits={"equalized_odds": 0.3}, **asked)
    assert promised.promise is not None
    again = gf.Result.from_json(promised.to_json())
    assert (again.question.cuts, again.promise.plain.question.cuts, again.question.monotone) == (
        CUT.cuts,
        CUT.cuts,
        True,
    )
    found = gf.frontier(sketch, "equalized_odds", **asked)
    point = found.result(-1)
    assert (point.question.cuts, point.question.monotone) == (CUT.cuts, True)
    threshold = point.thresholds[1]
    assert [point.decider().one(score, 0.4) for score in (threshold, threshold - 1)] == [True, False]
    with pytest.raises(ValueError, match="decide_by needs fair_between too"):
        gf.frontier(sketch, "equalized_odds", decide_by=CUT.of(1))
