"""`frontier` with `fair_between` and `decide_by`: error against gap for thresholds by segment."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.segment_oracle import least_cost
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._question.question import Question
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.segments import frontier as ladder
from gstar_fast._solver.segments.answer import Answer

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning", "ignore::gstar_fast.errors.OverfitWarning"
)

BY = {"fair_between": 0, "decide_by": 1}


@pytest.fixture(autouse=True)
def few_questions(monkeypatch):
    monkeypatch.setattr(ladder, "ASKS", 8)


def counted(seed, rows=200, segments=2, bins=16):
    rng = np.random.default_rng(seed)
    sex, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    segment = np.clip(rng.integers(0, segments, rows) + (rng.random(rows) < 0.4) * sex, 0, segments - 1)
    score = np.rint(rng.normal(label * 1.5 + 0.6 * sex - 0.3 * segment, 1.0) * 16) / 16
    return gf.Sketch.from_rows(score, label, [sex, segment], bins=bins), (score, label, sex, segment)


def by_cell(sketch, segments):
    """Rows by label, protected group, segment and bin, for the oracle; nothing lies beyond the edges."""
    rows = np.zeros((3, 2, segments, sketch.bins + 2))
    for k, name in enumerate(sketch.groups):
        rows[: len(sketch.counts), name[0], name[1], 1:-1] = sketch.counts[:, k]
    return rows


def every_choice(sketch, rows):
    """(gap, error) of all choices of two thresholds: equal opportunity and equalized odds."""
    score, label, sex, segment = rows
    out = []
    for pair in itertools.product([-np.inf, *sketch.edges], repeat=2):
        accepted = score >= np.array(pair)[segment]
        tpr, fpr = ([accepted[(label == y) & (sex == a)].mean() for a in (0, 1)] for y in (1, 0))
        gaps = abs(tpr[0] - tpr[1]), max(abs(tpr[0] - tpr[1]), abs(fpr[0] - fpr[1]))
        out.append((*gaps, (accepted != label).mean()))
    return np.array(out)


@pytest.mark.parametrize(("criterion", "column"), [("equal_opportunity", 0), ("equalized_odds", 1)])
def test_points_are_optima_and_what_lies_between_is_bounded(backend, criterion, column):
    """Against every choice of two thresholds."""
    sketch, rows = counted(5)
    found = gf.frontier(sketch, criterion, **BY)
    tried = every_choice(sketch, rows)
    assert (np.diff(found.gaps) > 0).all()
    assert (np.diff(found.errors) < 0).all()
    assert found.proven_to == 0
    for i, (gap, error) in enumerate(zip(found.gaps, found.errors, strict=True)):
        assert tried[tried[:, column] <= gap + 1e-12, 2].min() == pytest.approx(error, abs=1e-12)
        point = found.result(i)
        assert (point.error, point.gaps[criterion]) == (pytest.approx(error), pytest.approx(gap))
        assert list(point.thresholds.values()) == found.thresholds[i].tolist()
        upto = found.gaps[i + 1] if i + 1 < len(found) else 1.1
        between = tried[(tried[:, column] >= gap) & (tried[:, column] < upto - 1e-12), 2]
        assert between.min() >= found.lower_bounds[i] - 1e-12


@pytest.mark.parametrize(("randomize", "monotone"), [(False, True), (True, False)])
def test_a_gap_is_solved_for_as_a_limit(backend, randomize, monotone):
    sketch, _ = counted(2, segments=3)
    options = {**BY, "randomize": randomize, "decide_by": gf.Segments(column=1, monotone=monotone)}
    found = gf.frontier(sketch, "equalized_odds", **options)
    again = gf.solve(sketch, limits={"equalized_odds": 0.07}, **options)
    point = found.at(gap=0.07, sketch=sketch)
    assert (point.thresholds, point.error, point.limits) == (again.thresholds, again.error, again.limits)
    listed = found.errors[found.gaps <= 0.07].min()
    assert point.error <= listed + 1e-12
    assert point.error >= found.lower_bounds[found.gaps <= 0.07][-1] - 1e-9
    assert found.at(error=float(listed)).gaps["equalized_odds"] <= 0.07 + 1e-9
    with pytest.raises(ValueError, match="gap"):
        gf.frontier(sketch, "equalized_odds", limits={"demographic_parity": 0.2}, **options).at(gap=-0.1)
    for wrong in ({}, {"sketch": counted(3, segments=3)[0]}):
        with pytest.raises(ValueError, match="pass the sketch that it was made from"):
            found.at(gap=0.07, **wrong)


@given(
    seed=st.integers(0, 10_000),
    criterion=st.sampled_from(["demographic_parity", "equalized_odds", "accuracy_parity"]),
    monotone=st.booleans(),
    randomize=st.booleans(),
    limit=st.floats(0.0, 0.4),
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_least_error_lies_between_the_bound_and_the_points(seed, criterion, monotone, randomize, limit):
    """Against HiGHS, which shares no code with the search."""
    sketch, _ = counted(seed, rows=80, segments=3, bins=16)
    try:
        found = gf.frontier(
            sketch, criterion, randomize=randomize, **BY | {"decide_by": gf.Segments(column=1, monotone=monotone)}
        )
    except ValueError:
        return
    rows = by_cell(sketch, 3)
    orders = ["rising", "falling"] if monotone else [None]
    each = [least_cost(rows, (1, 1), {criterion: limit}, whole=not randomize, order=o) for o in orders]
    costs = [c for c in each if c is not None]
    listed = np.flatnonzero(found.gaps <= limit + 1e-12)
    if not costs:
        assert len(listed) == 0
        return
    least = min(costs) / rows.sum()
    if len(listed) == 0:
        assert limit < found.proven_to
        return
    assert found.errors[listed[-1]] >= least - 1e-9
    assert found.lower_bounds[listed[-1]] <= least + 1e-9


def test_one_segment_for_each_group_has_points_of_the_groups_frontier():
    """Where segments are the protected groups under another name, the frontier is theirs."""
    rng = np.random.default_rng(0)
    sex, label = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    score = np.rint(rng.normal(label * 1.5 + 0.6 * sex) * 8) / 8
    sketch = gf.Sketch.from_rows(score, label, [sex, sex + 10], bins=32)
    found = gf.frontier(sketch, "equalized_odds", **BY)
    whole = gf.frontier(gf.Sketch.from_rows(score, label, sex, bins=32), "equalized_odds")
    points = set(zip(whole.gaps.round(12), whole.errors.round(12), strict=True))
    assert set(zip(found.gaps.round(12), found.errors.round(12), strict=True)) <= points
    same = gf.frontier(sketch, "equalized_odds", fair_between=0, decide_by=0)
    assert np.array_equal(same.gaps, whole.gaps)
    assert np.array_equal(same.thresholds, whole.thresholds)
    assert same.lower_bounds is None
    assert same.result(0).origin.digest == sketch.digest()


def test_what_does_not_go_together_is_refused():
    sketch, _ = counted(1)
    for options, words in (
        ({"by": "penalties"}, "decide_by does not go with penalties: thresholds by segment are for limits"),
        ({"confidence": 0.9}, "confidence=0.9 does not go with a frontier of thresholds by segment"),
        ({"by": "penalties", "penalties": [1.0], "density": "kde"}, "decide_by does not go with density='kde'"),
        ({"decide_by": ()}, "decide_by names no column"),
        ({"fair_between": None}, "decide_by needs fair_between too"),
        ({"decide_by": gf.Segments(column=0)}, "has segments of the column 0, and fair_between names the same"),
    ):
        with pytest.raises(ValueError, match=words):
            gf.frontier(sketch, "equalized_odds", **{**BY, **options})
    with pytest.raises(ValueError, match="limits"):
        gf.frontier(sketch, "equalized_odds", limits={"disparate_impact": 1.0, "accuracy_parity": 0.0}, **BY)


def test_the_point_without_a_gap_is_the_proven_one(backend):
    """All alike is a guess at it and has no proof; the answer for a limit of 0 has one."""
    sketch, _ = counted(5)
    found = gf.frontier(sketch, "equalized_odds", **BY)
    assert found.gaps[0] == 0
    assert found.result(0).verdict == "optimal"


def test_a_gap_that_is_no_number_is_refused():
    found = gf.frontier(counted(5)[0], "equalized_odds", **BY)
    with pytest.raises(ValueError, match="gap must be a number, got NaN"):
        found.at(gap=float("nan"))
    with pytest.raises(TypeError, match=r"error must be a number, got '0.2'"):
        found.at(error="0.2")


@pytest.mark.parametrize(
    ("limits", "ends"),
    [
        ({"selected": {"at_most": 0.7}}, [0.0]),
        ({"tpr": {"at_least": 0.6}}, [1.0]),
        ({"tpr": {"at_most": 1.0}}, [1.0, 0.0]),
        ({"selected": {"at_least": 0.1, "at_most": 0.9}}, []),
    ],
)
def test_accepting_all_rows_or_none_is_offered_where_limits_on_rates_allow_it(limits, ends):
    question = Question.of(limits=limits, evidence=0.0, **BY)
    answer = Answer(Cells.asked(counted(5)[0], question), question)
    found = ladder.Ladder(answer, "equal_opportunity", randomize=False).alike()
    assert [max(t for part in point.parts for t in part) == 0 for point in found] == [end == 1.0 for end in ends]
    assert [point.gap for point in found] == [0.0] * len(ends)
